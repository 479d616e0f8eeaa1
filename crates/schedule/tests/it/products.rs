//! Products beside their collectives, in all arrangements of dimensions: generated per-device programs whose scheduled
//! forms have the same results, except for the signs of zeros, on values whose sums are exact.

use crate::programs::{agree, check, localized, predicted, shown};
use shardwise_base::{DType, Literal};
use shardwise_check::choose::{Chooser, cases};
use shardwise_check::run::on;
use shardwise_check::single::Fill;
use shardwise_host::HostEngine;
use shardwise_ir::Module;
use shardwise_schedule::{Options, schedule};
use shardwise_sim::{Overlap, Topology};

const MESHES: [[usize; 2]; 9] = [[2, 4], [4, 2], [3, 2], [8, 1], [1, 5], [2, 2], [1, 2], [1, 3], [2, 8]];
const AXES: [&[&str]; 5] = [&["Y"], &["X"], &["X", "Y"], &["Y", "X"], &["Y"]];
const DTYPES: [&str; 10] = ["f32", "i32", "bf16", "f16", "f64", "i8", "ui16", "i64", "f32", "bf16"];

/// The kinds of dimensions of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dim {
    Batch,
    Left,
    Right,
    Summed,
}

/// A product of two operands, and the dimension along which its collective is.
pub struct Product {
    mesh: [usize; 2],
    axes: &'static [&'static str],
    dtype: &'static str,
    result: &'static str,
    /// The dimensions of each operand, with their sizes on a device as the product sees them.
    operands: [Vec<(Dim, usize)>; 2],
    /// The operand that is gathered and its dimension, or `None` if the result is scattered.
    gathered: Option<(usize, usize)>,
    /// The dimension of the result that is scattered, if no operand is gathered.
    scattered: usize,
}

impl Product {
    fn count(&self) -> usize {
        self.axes.iter().map(|&axis| self.mesh[usize::from(axis == "Y")]).product()
    }

    /// Returns the result's dimensions: batch, left, right.
    fn result_dims(&self) -> Vec<(Dim, usize)> {
        let of = |i: usize, dim: Dim| self.operands[i].iter().copied().filter(move |(d, _)| *d == dim);
        of(0, Dim::Batch).chain(of(0, Dim::Left)).chain(of(1, Dim::Right)).collect()
    }

    pub fn text(&self) -> String {
        let shape = |dims: &[usize]| dims.iter().map(|n| format!("{n}x")).collect::<String>();
        let ty = |dims: &[usize], dtype: &str| format!("tensor<{}{dtype}>", shape(dims));
        let global = |dims: &[usize]| {
            let mut dims = dims.to_vec();
            dims[0] *= self.mesh[0] * self.mesh[1];
            dims
        };
        let sizes = |dims: &[(Dim, usize)]| dims.iter().map(|(_, n)| *n).collect::<Vec<_>>();
        let (n, dtype) = (self.count(), self.dtype);
        let seen = [0, 1].map(|i| sizes(&self.operands[i]));
        let mut own = seen.clone();
        let mut body = String::new();
        let mut names = ["%a".to_string(), "%b".to_string()];
        let groups = self.groups();
        if let Some((i, dim)) = self.gathered {
            own[i][dim] /= n;
            body += &format!(
                "    %g = \"stablehlo.all_gather\"({}) <{{all_gather_dim = {dim} : i64, {groups}}}> : ({}) -> {}\n",
                names[i],
                ty(&own[i], dtype),
                ty(&seen[i], dtype)
            );
            names[i] = "%g".into();
        }
        let at = |i: usize, dim: Dim| {
            let of_kind = |(_, d): &(usize, &(Dim, usize))| d.0 == dim;
            self.operands[i].iter().enumerate().filter(of_kind).map(|(d, _)| d).collect::<Vec<_>>()
        };
        let mut out = sizes(&self.result_dims());
        body += &format!(
            "    %p = stablehlo.dot_general {}, {}, batching_dims = {:?} x {:?}, contracting_dims = {:?} x {:?}\n        : ({}, {}) -> {}\n",
            names[0],
            names[1],
            at(0, Dim::Batch),
            at(1, Dim::Batch),
            at(0, Dim::Summed),
            at(1, Dim::Summed),
            ty(&seen[0], dtype),
            ty(&seen[1], dtype),
            ty(&out, self.result)
        );
        let mut result = "%p";
        if self.gathered.is_none() {
            let whole = ty(&out, self.result);
            out[self.scattered] /= n;
            let scalar = format!("tensor<{}>", self.result);
            body += &format!(
                "    %s = \"stablehlo.reduce_scatter\"(%p) <{{scatter_dimension = {} : i64, {groups}}}> ({{\n\
                 ^bb0(%x: {scalar}, %y: {scalar}):\n %z = stablehlo.add %x, %y : {scalar}\n\
                 stablehlo.return %z : {scalar}\n}}) : ({whole}) -> {}\n",
                self.scattered,
                ty(&out, self.result)
            );
            result = "%s";
        }
        let spec = |rank: usize| format!("<@mesh, [{{\"X\", \"Y\"}}{}]>", ", {}".repeat(rank - 1));
        let specs = [spec(own[0].len()), spec(own[1].len())];
        let globals = [ty(&global(&own[0]), dtype), ty(&global(&own[1]), dtype), ty(&global(&out), self.result)];
        format!(
            "sdy.mesh @mesh = <[\"X\"={}, \"Y\"={}]>\n\
             func.func @main(%arg0: {g0} {{sdy.sharding = #sdy.sharding{s0}}}, %arg1: {g1} {{sdy.sharding = \
             #sdy.sharding{s1}}}) -> {g2} {{\n  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[{s0}, {s1}] \
             out_shardings=[{s2}] manual_axes={{\"X\", \"Y\"}} (%a: {l0}, %b: {l1}) {{\n{body}    sdy.return {result} : \
             {l2}\n  }} : ({g0}, {g1}) -> {g2}\n  return %0 : {g2}\n}}",
            self.mesh[0],
            self.mesh[1],
            g0 = globals[0],
            g1 = globals[1],
            g2 = globals[2],
            s0 = specs[0],
            s1 = specs[1],
            s2 = spec(out.len()),
            l0 = ty(&own[0], dtype),
            l1 = ty(&own[1], dtype),
            l2 = ty(&out, self.result),
        )
    }

    fn groups(&self) -> String {
        let [nx, ny] = self.mesh;
        let size = |axis: &str| if axis == "X" { nx } else { ny };
        let device = |at: &dyn Fn(&str) -> usize| at("X") * ny + at("Y");
        let outer: Vec<&str> = ["X", "Y"].into_iter().filter(|axis| !self.axes.contains(axis)).collect();
        let outer_count: usize = outer.iter().map(|axis| size(axis)).product();
        let coordinate = |axes: &[&str], mut index: usize, axis: &str| {
            for &other in axes.iter().rev() {
                if other == axis {
                    return Some(index % size(other));
                }
                index /= size(other);
            }
            None
        };
        let row = |group: usize| {
            let member = |i: usize| {
                device(&|axis| coordinate(self.axes, i, axis).or(coordinate(&outer, group, axis)).unwrap_or(0))
            };
            format!("{:?}", (0..self.count()).map(member).collect::<Vec<_>>())
        };
        let rows: Vec<String> = (0..outer_count).map(row).collect();
        format!(
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, replica_groups = \
             dense<[{}]> : tensor<{}x{}xi64>",
            rows.join(", "),
            outer_count,
            self.count()
        )
    }
}

/// Returns the product of a seed.
pub fn product(seed: u64) -> Product {
    let mut choose = Chooser::new(seed);
    let mesh = *choose.of(&MESHES);
    let axes = *choose.of(&AXES);
    let dtype = *choose.of(&DTYPES);
    let is_narrow = ["bf16", "f16", "i8"].contains(&dtype);
    let result = if is_narrow && choose.one_in(3) { if dtype == "i8" { "i32" } else { "f32" } } else { dtype };
    let kinds = [Dim::Batch, Dim::Left, Dim::Right, Dim::Summed];
    let size = |choose: &mut Chooser| *choose.of(&[1, 2, 3, 4]);
    let sizes: Vec<(Dim, usize)> = kinds
        .into_iter()
        .filter(|&dim| dim != Dim::Batch || choose.one_in(2))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|dim| (dim, size(&mut choose)))
        .collect();
    let has = |i: usize, dim: Dim| match dim {
        Dim::Batch | Dim::Summed => true,
        Dim::Left => i == 0,
        Dim::Right => i == 1,
    };
    let mut operands = [0, 1].map(|i| sizes.iter().copied().filter(|(dim, _)| has(i, *dim)).collect::<Vec<_>>());
    operands.iter_mut().for_each(|dims| choose.shuffle(dims));
    let is_gathered = !choose.one_in(3);
    let mut product = Product { mesh, axes, dtype, result, operands, gathered: None, scattered: 0 };
    let n = product.count();
    let kind = match is_gathered {
        true => {
            let i = choose.below(2);
            let dim = choose.below(product.operands[i].len());
            product.gathered = Some((i, dim));
            product.operands[i][dim].0
        }
        false => {
            let dims = product.result_dims();
            product.scattered = choose.below(dims.len());
            dims[product.scattered].0
        }
    };
    let widen = |dims: &mut Vec<(Dim, usize)>| dims.iter_mut().filter(|(d, _)| *d == kind).for_each(|d| d.1 *= n);
    product.operands.iter_mut().for_each(widen);
    product
}

/// Returns inputs of small whole numbers.
pub fn inputs(module: &Module, seed: u64) -> Vec<Literal> {
    let signature = shardwise_engine::Signature::of(module.main().unwrap()).unwrap();
    let mut choose = Chooser::new(seed);
    signature.inputs.iter().map(|input| Fill::Small.literal(&mut choose, &input.ty)).collect()
}

/// Checks the product of a seed on several topologies, with changes forced and decided. Returns true if one was made.
/// Fails if the program cannot be scheduled, or if a scheduled one does not keep what was promised.
fn check_product(seed: u64) -> Result<bool, String> {
    let product = product(seed);
    let text = product.text();
    let at = |what: &str| format!("seed {seed}: {what}\n{text}");
    let module = localized(&text);
    let inputs = inputs(&module, seed);
    let n = product.mesh[0] * product.mesh[1];
    let mut is_cut = false;
    for topology in [format!("v5e:{n}x1"), format!("h100:1x{n}"), format!("v4:1x1x{n}"), format!("v5e:1x1*{n}")] {
        let Ok(topology) = Topology::parse(&topology) else { continue };
        for overlap in [Overlap::Auto, Overlap::Force] {
            let out = schedule(&module, &topology, overlap, &Options::default()).map_err(|e| at(&e.to_string()))?;
            check(&out, &topology).map_err(|e| at(&format!("{e}\n{}", shown(&out.module))))?;
            if overlap == Overlap::Auto && out.after > predicted(&module, &topology, Overlap::Off).end() {
                return Err(at("it takes longer than before"));
            }
            is_cut |= out.decisions.iter().any(|decision| decision.is_taken);
            agree(&module, &out.module, &inputs).map_err(|e| at(&format!("{e}\n{}", shown(&out.module))))?;
        }
    }
    Ok(is_cut)
}

#[test]
fn products_in_pieces_are_equal() {
    let mut cut = 0;
    let count = cases(120);
    for seed in 0..count {
        cut += u64::from(check_product(seed).unwrap_or_else(|e| panic!("{e}")));
    }
    // The others have groups of one device.
    assert!(2 * cut > count, "only {cut} of {count} were cut");
}

#[test]
fn sums_are_taken_in_wide_types() {
    let is_narrow = |dtype: DType| dtype.is_float() && dtype.bits() < 32;
    for seed in (0..400).filter(|&seed| product(seed).dtype == "bf16").take(20) {
        let module = localized(&product(seed).text());
        let n = product(seed).mesh.iter().product::<usize>();
        let topology = Topology::parse(&format!("v5e:{n}x1")).unwrap();
        let out = schedule(&module, &topology, Overlap::Force, &Options::default()).unwrap();
        let body = &out.module.main().unwrap().body;
        for op in body[body.entry()].ops.iter().map(|&op| out.module.view(body, op)) {
            let is_sum = op.name() == "stablehlo.add";
            assert!(!is_sum || !is_narrow(op.result_tensor(0).dtype), "seed {seed}: {}", shown(&out.module));
        }
    }
}

/// Checks that sums that are not exact are still close in another order: they differ by at most a millionth of the
/// largest element.
#[test]
fn other_sums_are_close() {
    let mut count = 0;
    for seed in (0..400).filter(|&seed| product(seed).dtype == "f32" && product(seed).result == "f32").take(30) {
        let module = localized(&product(seed).text());
        let mut choose = Chooser::new(seed);
        let numbers = |input: &Literal, choose: &mut Chooser| {
            let values = (0..input.size()).map(|_| choose.between(-1_000_000, 1_000_000) as f32 / 999_983.0);
            Literal::new(input.shape(), &values.collect::<Vec<f32>>())
        };
        let inputs: Vec<Literal> = inputs(&module, seed).iter().map(|input| numbers(input, &mut choose)).collect();
        let n = product(seed).mesh.iter().product::<usize>();
        let topology = Topology::parse(&format!("v5e:{n}x1")).unwrap();
        let out = schedule(&module, &topology, Overlap::Force, &Options::default()).unwrap();
        count += usize::from(out.decisions.iter().any(|decision| decision.is_taken));
        let host = HostEngine::default();
        let [want, got] = [&module, &out.module].map(|module| on(&host, module, &inputs).unwrap());
        for (want, got) in want.iter().zip(&got) {
            let most = (0..want.size()).map(|i| want.get_f64(i).abs()).fold(0.0, f64::max);
            let apart = (0..want.size()).map(|i| (want.get_f64(i) - got.get_f64(i)).abs()).fold(0.0, f64::max);
            assert!(apart <= 1e-6 * most, "seed {seed}: {apart} of {most}");
        }
    }
    assert!(count > 10, "only {count} were cut");
}
