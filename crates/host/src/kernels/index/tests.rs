//! Compares gathers and scatters of every form with the interpreter.

use crate::kernels::testing::{parse, run};
use shardwise_base::{Complex32, DType, Literal};
use shardwise_ir::Module;

/// A generator of pseudo-random numbers, which are the same each time for one seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn some_of(&mut self, of: usize) -> Vec<usize> {
        (0..of).filter(|_| self.below(2) == 0).collect()
    }
}

/// A gather or scatter with all its dimension numbers.
struct Case {
    operand: Vec<usize>,
    indices: Vec<usize>,
    slices: Vec<usize>,
    sizes: Vec<usize>,
    dims: [String; 4],
    map: String,
}

fn case(r: &mut Random) -> Case {
    let operand: Vec<usize> = (0..1 + r.below(3)).map(|_| 1 + r.below(5)).collect();
    let indexed = r.some_of(operand.len());
    let collapsed: Vec<usize> = indexed.iter().copied().filter(|_| r.below(2) == 0).collect();
    let batching: Vec<usize> = (0..operand.len()).filter(|d| !indexed.contains(d) && r.below(4) == 0).collect();
    let dropped = |d: &usize| collapsed.contains(d) || batching.contains(d);
    let size = |d: usize, r: &mut Random| if dropped(&d) { 1 } else { 1 + r.below(operand[d]) };
    let sizes: Vec<usize> = (0..operand.len()).map(|d| size(d, r)).collect();
    let mut indices: Vec<usize> = batching.iter().map(|&d| operand[d]).collect();
    indices.extend((0..r.below(3)).map(|_| 1 + r.below(4)));
    indices.push(indexed.len());
    let (batch_rank, window_rank) = (indices.len() - 1, operand.len() - collapsed.len() - batching.len());
    let mut order: Vec<bool> = (0..batch_rank + window_rank).map(|i| i < window_rank).collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, r.below(i + 1)));
    let window: Vec<usize> = (0..order.len()).filter(|&d| order[d]).collect();
    let mut walked = (0..operand.len()).filter(|d| !dropped(d)).map(|d| sizes[d]);
    let mut batch = indices[..batch_rank].iter().copied();
    let slices = order.iter().map(|&w| if w { walked.next() } else { batch.next() }.unwrap()).collect();
    let list = |v: &[usize]| format!("{v:?}");
    let firsts: Vec<usize> = (0..batching.len()).collect();
    drop((walked, batch));
    Case {
        slices,
        dims: [list(&window), list(&collapsed), list(&batching), list(&firsts)],
        map: list(&indexed),
        operand,
        indices,
        sizes,
    }
}

fn tensor(shape: &[usize], dtype: &str) -> String {
    let dims: String = shape.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{dims}{dtype}>")
}

impl Case {
    fn gather(&self) -> String {
        let [window, collapsed, batching, indices_batching] = &self.dims;
        let (x, i, y) = (tensor(&self.operand, "f32"), tensor(&self.indices, "i32"), tensor(&self.slices, "f32"));
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        format!(
            r#"func.func @main(%x: {x}, %i: {i}) -> {y} {{
  %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = {window}, collapsed_slice_dims = {collapsed}, operand_batching_dims = {batching}, start_indices_batching_dims = {indices_batching}, start_index_map = {map}, index_vector_dim = {vector}>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : ({x}, {i}) -> {y}
  return %0 : {y}
}}"#,
            map = self.map,
            vector = self.indices.len() - 1,
            sizes = sizes.join(", ")
        )
    }

    fn scatter(&self, dtype: &str, way: &str) -> String {
        let [window, collapsed, batching, indices_batching] = &self.dims;
        let (x, i, y) = (tensor(&self.operand, dtype), tensor(&self.indices, "i32"), tensor(&self.slices, dtype));
        let (compute, given) = match way {
            "replace" => (String::new(), "%b"),
            op => (format!("%1 = stablehlo.{op} %a, %b : tensor<{dtype}>"), "%1"),
        };
        format!(
            r#"func.func @main(%x: {x}, %i: {i}, %u: {y}) -> {x} {{
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {window}, inserted_window_dims = {collapsed}, input_batching_dims = {batching}, scatter_indices_batching_dims = {indices_batching}, scatter_dims_to_operand_dims = {map}, index_vector_dim = {vector}>, indices_are_sorted = false, unique_indices = false}}> ({{
  ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>):
{compute}
stablehlo.return {given} : tensor<{dtype}>
  }}) : ({x}, {i}, {y}) -> {x}
  return %0 : {x}
}}"#,
            map = self.map,
            vector = self.indices.len() - 1,
        )
    }
}

fn inputs(module: &Module, r: &mut Random) -> Vec<Literal> {
    let body = &module.main().unwrap().body;
    let types = body.args().iter().map(|&v| body.ty(v).as_tensor().unwrap());
    let mut made = |t: &shardwise_ir::TensorType| {
        let values: Vec<f32> = (0..t.size()).map(|_| r.below(100) as f32 / 8.0 - 3.0).collect();
        let indices: Vec<i32> = (0..t.size()).map(|_| r.below(8) as i32 - 1).collect();
        let exact = if t.dtype == DType::I32 {
            Literal::new(t.shape.to_vec(), &indices)
        } else {
            Literal::new(t.shape.to_vec(), &values)
        };
        if t.dtype == DType::BF16 {
            let rounded: Vec<shardwise_base::bf16> = values.into_iter().map(shardwise_base::bf16::from_f32).collect();
            return Literal::new(t.shape.to_vec(), &rounded);
        }
        if t.dtype == DType::C64 {
            return Literal::from_fn(t.shape.to_vec(), |i| Complex32::new(values[i], -values[values.len() - 1 - i]));
        }
        exact
    };
    types.map(&mut made).collect()
}

/// Runs a program and compares its results with the interpreter's. Returns true if all its instructions have kernels.
fn check(source: &str, r: &mut Random) -> bool {
    let inputs = inputs(&parse(source), r);
    run(source, &inputs).iter().all(|t| !t.is_fallback)
}

#[test]
fn gathers_and_scatters_of_every_form_are_as_the_interpreter_has_them() {
    let mut kernels = 0;
    for seed in 0..300 {
        let r = &mut Random(seed);
        let case = case(r);
        assert!(check(&case.gather(), r), "seed {seed}");
        let complex = "complex<f32>";
        let ways = [("f32", "add"), ("f32", "replace"), ("bf16", "add"), ("i32", "maximum"), ("f32", "minimum")];
        let ways = [&ways[..], &[(complex, "add"), (complex, "multiply"), (complex, "replace")]].concat();
        let (dtype, way) = ways[r.below(ways.len())];
        kernels += usize::from(check(&case.scatter(dtype, way), r));
    }
    assert!(kernels > 200, "{kernels} scatters had a kernel");
}

#[test]
fn workers_share_the_columns_of_long_windows() {
    let r = &mut Random(7);
    let rows = |n, width| Case {
        operand: vec![9, width],
        indices: vec![n, 1],
        slices: vec![n, width],
        sizes: vec![1, width],
        dims: ["[1]".into(), "[0]".into(), "[]".into(), "[]".into()],
        map: "[0]".into(),
    };
    assert!(check(&rows(400, 300).scatter("f32", "add"), r));
    assert!(check(&rows(400, 300).gather(), r));
}

#[test]
fn workers_share_the_columns_of_an_operand_whose_windows_overlap() {
    let r = &mut Random(8);
    let shifted = Case {
        operand: vec![2000],
        indices: vec![400, 1],
        slices: vec![400, 600],
        sizes: vec![600],
        dims: ["[1]".into(), "[]".into(), "[]".into(), "[]".into()],
        map: "[0]".into(),
    };
    assert!(check(&shifted.scatter("f32", "add"), r));
    assert!(check(&shifted.gather(), r));
}

#[test]
fn workers_share_the_columns_of_a_result() {
    let r = &mut Random(9);
    let columns = |batch: Vec<usize>| Case {
        operand: vec![300, 50],
        indices: [&batch[..], &[1]].concat(),
        slices: [&[300], &batch[..]].concat(),
        sizes: vec![300, 1],
        dims: ["[0]".into(), "[1]".into(), "[]".into(), "[]".into()],
        map: "[1]".into(),
    };
    assert!(check(&columns(vec![400]).gather(), r));
    assert!(check(&columns(vec![1, 25, 16]).gather(), r));
}

/// Tests scatters whose region computes with wider elements than those of the operands, among other ops on small
/// arrays.
#[test]
fn wider_regions_are_left_to_the_reference() {
    for (from, to) in [("i32", "i64"), ("f32", "f64")] {
        let update = |body: &str| {
            format!(
                r#"func.func @main(%x: tensor<4x{from}>, %i: tensor<2x1xi32>, %u: tensor<2x{from}>) -> tensor<4x{to}> {{
  %0 = stablehlo.negate %u : tensor<2x{from}>
  %1 = "stablehlo.scatter"(%x, %i, %0) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<{to}>, %b: tensor<{to}>):
{body}  }}) : (tensor<4x{from}>, tensor<2x1xi32>, tensor<2x{from}>) -> tensor<4x{to}>
  %2 = stablehlo.negate %1 : tensor<4x{to}>
  return %2 : tensor<4x{to}>
}}"#
            )
        };
        let add = format!("    %s = stablehlo.add %a, %b : tensor<{to}>\n    stablehlo.return %s : tensor<{to}>\n");
        let numbers = |n: usize| match from {
            "i32" => Literal::from_fn([n], |i| i as i32 + 1),
            _ => Literal::from_fn([n], |i| i as f32 + 0.5),
        };
        for body in [add, format!("    stablehlo.return %b : tensor<{to}>\n")] {
            run(&update(&body), &[numbers(4), Literal::new([2, 1], &[2i32, 0]), numbers(2)]);
        }
    }
}
