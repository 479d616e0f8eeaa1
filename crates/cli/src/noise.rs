//! Moves the terms of all sums of a program by a few units in the last place. How far the results move shows how far
//! another order of summation may move them.
//!
//! Before each op that sums or multiplies floats in any order, or may do so, every operand of floats or complex numbers
//! is multiplied by a constant whose elements are nearly 1:
//! ```text
//! %r = stablehlo.reduce(%x init: %z) applies stablehlo.add ..
//!   ->
//! %n = stablehlo.constant dense<[1.00000048, 0.99999952, ..]>
//! %m = stablehlo.multiply %x, %n
//! %r = stablehlo.reduce(%m init: %z) applies stablehlo.add ..
//! ```

use shardwise_base::compare::epsilon;
use shardwise_base::threefry::Stream;
use shardwise_base::{AxisRef, Complex32, Complex64, DType, Literal, LiteralWriter, Mesh, bf16, f16};
use shardwise_ir::{Attr, Attrs, Body, Builder, Module, Op, OpView, Region, TensorType, Value};
use shardwise_ops::collective::{CollectiveView, Groups, IdSpace, process_count};
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::{Combine, Opcode, ReduceKind};

/// The direction in which each term is moved.
#[derive(Clone, Copy)]
pub enum Direction {
    Up,
    Down,
    /// A random direction for each term, from this seed.
    Random(u64),
}

/// The directions that are tried. These are enough to move almost every element that can move: a large term beside
/// small ones may take them all up.
pub const DIRECTIONS: [Direction; 6] = [
    Direction::Up,
    Direction::Down,
    Direction::Random(0),
    Direction::Random(1),
    Direction::Random(2),
    Direction::Random(3),
];

/// Returns the program with the terms of its sums moved in this direction.
pub fn with_noise(module: &Module, direction: Direction) -> Module {
    let mut out = module.without_funcs();
    let mut stream = Stream::new(if let Direction::Random(seed) = direction { seed } else { 0 }, 0);
    let mut is_above = || match direction {
        Direction::Up => true,
        Direction::Down => false,
        Direction::Random(_) => stream.next_u32().is_multiple_of(2),
    };
    for func in module.funcs.iter() {
        let mut func = func.clone();
        for r in 0..func.body.region_count() {
            move_terms(module, &mut func.body, Region::new(r), &mut is_above);
        }
        out.funcs.push(func);
    }
    out
}

fn move_terms(module: &Module, body: &mut Body, region: Region, is_above: &mut dyn FnMut() -> bool) {
    let ops = std::mem::take(&mut body.region_mut(region).ops);
    for op in ops {
        if terms(&module.view(body, op)) > 0 {
            move_operands(body, region, op, is_above);
        }
        body.region_mut(region).ops.push(op);
    }
}

fn move_operands(body: &mut Body, region: Region, op: Op, is_above: &mut dyn FnMut() -> bool) {
    for i in 0..body.op(op).operands.len() {
        let operand = body.op(op).operands[i];
        let Some(noise) = body.ty(operand).as_tensor().and_then(|ty| noise(ty, is_above)) else { continue };
        let loc = body.op(op).loc.clone();
        let mut b = Builder::at(body, region, loc);
        let moved = multiplied(&mut b, operand, noise);
        body.op_mut(op).operands[i] = moved;
    }
}

fn multiplied(b: &mut Builder<'_>, x: Value, noise: Literal) -> Value {
    let ty = b.body.ty(x).clone();
    let noise = b.value(Opcode::Constant, [], shardwise_ops::shapes::Constant::attrs(noise), ty.clone());
    b.value(Opcode::Multiply, [x, noise], Attrs::default(), ty)
}

/// Returns the number of units in the last place by which each term is moved: enough for the sums to move after they
/// are rounded. A few units of a float of 8 bits or less would be as large as the term.
pub fn places(dtype: DType) -> f64 {
    if dtype.bits() <= 8 { 1.0 } else { 4.0 }
}

/// Returns an array of this type whose elements are 1 plus or minus some units in the last place ([`places`]).
/// `is_above` is called for each element, and returns true for plus. Returns `None` for types other than floats and
/// complex numbers, and for `f8E8M0FNU`, which has powers of two only.
fn noise(ty: &TensorType, is_above: &mut dyn FnMut() -> bool) -> Option<Literal> {
    let is_number = ty.dtype.is_float() || ty.dtype.is_complex();
    if !is_number || !ty.dtype.has_zero() {
        return None;
    }
    let (shape, step) = (ty.shape.clone(), places(ty.dtype) * epsilon(ty.dtype));
    let mut near_one = || if is_above() { 1.0 + step } else { 1.0 - step };
    if ty.dtype.bits() <= 8 {
        let mut out = LiteralWriter::new(ty.dtype, &ty.shape);
        let codes = (0..ty.size()).map(|_| ty.dtype.small_float_code(near_one()).expect("a small float"));
        codes.for_each(|code| out.push(&[code]));
        return Some(out.finish());
    }
    Some(match ty.dtype {
        DType::F64 => Literal::from_fn(shape, |_| near_one()),
        DType::F32 => Literal::from_fn(shape, |_| near_one() as f32),
        DType::F16 => Literal::from_fn(shape, |_| f16::from_f64(near_one())),
        DType::BF16 => Literal::from_fn(shape, |_| bf16::from_f64(near_one())),
        DType::C64 => Literal::from_fn(shape, |_| Complex32::new(near_one() as f32, 0.0)),
        _ => Literal::from_fn(shape, |_| Complex64::new(near_one(), 0.0)),
    })
}

/// Returns an upper bound on the number of terms of the program's longest sum or product of floats or complex numbers
/// in no fixed order. It is the size of the largest operand of an op that computes one, or may do so. For a collective,
/// it is this size times the number of devices of a group, as far as the module states how many there are. Returns 0 if
/// there is no such op.
pub fn longest_sum(module: &Module) -> usize {
    let of = |f: &shardwise_ir::Func| f.body.walk().into_iter().map(|op| terms(&module.view(&f.body, op))).max();
    module.funcs.iter().filter_map(of).max().unwrap_or(0)
}

/// Returns an upper bound on the number of terms of an op's sums or products, as [`longest_sum`] does.
fn terms(op: &OpView<'_>) -> usize {
    let is_sum = match Opcode::of_view(op).facts().combine(op) {
        Combine::With(kind) => matches!(kind, ReduceKind::Add | ReduceKind::Mul),
        Combine::No(_) | Combine::Gather => has_free_order(op),
    };
    let floats = |v: &Value| op.body.ty(*v).as_tensor().filter(|t| t.dtype.is_float() || t.dtype.is_complex());
    if !is_sum || !op.results().iter().any(|v| floats(v).is_some()) {
        return 0;
    }
    let largest = op.operands().iter().filter_map(floats).map(|t| t.size()).max().unwrap_or(1).max(1);
    largest.saturating_mul(group_size(op).max(1))
}

/// Returns an upper bound on the number of devices in a group of a collective, as far as the module states the number
/// of its processes. Returns 1 for other ops.
fn group_size(op: &OpView<'_>) -> usize {
    let of_axes = |mesh: &Mesh, axes: &[AxisRef]| AxisRef::total_size(mesh, axes);
    if matches!(Opcode::of_view(op), Opcode::SdyAllReduce | Opcode::SdyReduceScatter) {
        let sizes = op.attrs().iter().map(|(_, attr)| match attr {
            Attr::Axes { mesh, axes } => of_axes(mesh, axes),
            Attr::AxesPerDim { mesh, dims } => of_axes(mesh, &dims.concat()),
            _ => 1,
        });
        return sizes.product();
    }
    let Some(collective) = CollectiveView::of(op) else { return 1 };
    match &collective.groups {
        Groups::Axes { mesh, axes } => of_axes(mesh, axes),
        // Every replica in the group takes part with all of its partitions.
        Groups::Dense(_) if collective.ids == IdSpace::CrossReplicaAndPartition => {
            process_count(op).or(collective.groups.group_size()).unwrap_or(1)
        }
        Groups::Dense(_) => collective.groups.group_size().unwrap_or(1),
        Groups::All => process_count(op).unwrap_or(1),
    }
}

/// Returns true if the op sums or multiplies terms in any order, or may do so, although not over a factor of its rule.
fn has_free_order(op: &OpView<'_>) -> bool {
    use Opcode::*;
    match Opcode::of_view(op) {
        ReduceWindow | SelectAndScatter | AllReduce | ReduceScatter | CollectiveReduce | Scatter => {
            reduce_kind_of_op(op).is_none_or(|kind| matches!(kind, ReduceKind::Add | ReduceKind::Mul))
        }
        opcode => {
            matches!(opcode, BatchNormTraining | BatchNormGrad | BatchNormInference | Fft | Cholesky)
                || matches!(opcode, TriangularSolve | SdyAllReduce | SdyReduceScatter | Composite | CustomCall)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sums_of_floats_have_a_free_order() {
        let longest = |op: &str, ty: &str| {
            let text = format!(
                "func.func @main(%a: tensor<4x{ty}>) -> tensor<4x{ty}> {{\n{op}\nreturn %b : tensor<4x{ty}>\n}}"
            );
            longest_sum(&crate::source::parse("sum.mlir", &text).unwrap_or_else(|e| panic!("{e}")))
        };
        let cumulative = |ty: &str| {
            format!(
                "%z = stablehlo.constant dense<0{}> : tensor<{ty}>\n%b = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}}> ({{ ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>): %s = stablehlo.add %x, %y : tensor<{ty}>\nstablehlo.return %s : tensor<{ty}> }}) : (tensor<4x{ty}>, tensor<{ty}>) -> tensor<4x{ty}>",
                if ty == "f32" { ".0" } else { "" }
            )
        };
        assert_eq!(longest("%b = stablehlo.add %a, %a : tensor<4xf32>", "f32"), 0);
        assert_eq!(longest(&cumulative("f32"), "f32"), 4);
        assert_eq!(longest(&cumulative("i32"), "i32"), 0);
    }

    #[test]
    fn the_devices_of_a_collective_are_counted() {
        let longest = |groups: &str| {
            let text = format!(
                "module attributes {{mhlo.num_partitions = 8 : i32}} {{\nfunc.func @main(%a: tensor<f32>) -> tensor<f32> {{\n\
                %b = \"stablehlo.all_reduce\"(%a) <{{{groups}}}> ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32>\n\
                stablehlo.return %s : tensor<f32> }}) : (tensor<f32>) -> tensor<f32>\nreturn %b : tensor<f32>\n}}\n}}"
            );
            longest_sum(&crate::source::parse("sum.mlir", &text).unwrap_or_else(|e| panic!("{e}")))
        };
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        let all = "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>";
        let pairs = "replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>";
        let one_replica = "replica_groups = dense<[[0]]> : tensor<1x1xi64>";
        assert_eq!(longest(&format!("{all}, {channel}, use_global_device_ids")), 8);
        assert_eq!(longest(&format!("{pairs}, {channel}, use_global_device_ids")), 2);
        assert_eq!(longest(&format!("{one_replica}, {channel}")), 8);
    }

    #[test]
    fn axes_of_a_sum_are_counted() {
        let text = "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n\
            func.func @main(%a: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={\"y\"}>}) -> tensor<3xf32> {\n\
            %b = sdy.all_reduce {\"y\"} %a out_sharding=<@mesh, [{}]> : tensor<3xf32>\nreturn %b : tensor<3xf32>\n}";
        let module = crate::source::parse("sum.mlir", text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(longest_sum(&module), 12);
    }

    #[test]
    fn every_term_is_moved() {
        let text = "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> {\n\
            %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>\n\
            return %r : tensor<f32>\n}";
        let module = with_noise(&crate::source::parse("dot.mlir", text).unwrap(), Direction::Random(1));
        assert!(!shardwise_ir::verify(&module).has_errors());
        let inputs = [Literal::new([4], &[1e4f32, 1.0, -1e4, 1.0]), Literal::new([4], &[1f32; 4])];
        let moved = shardwise_interp::run(&module, &inputs).unwrap()[0].get::<f32>(0);
        assert!(moved != 2.0 && (moved - 2.0).abs() < 0.01, "{moved}");
    }
}
