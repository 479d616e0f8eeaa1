//! The measured constants of a host: what the cores of a machine do in a second.
//!
//! A host runs all devices of a program. Its section in a file of machines starts with `host NAME "TITLE"`, and each of
//! its lines is one constant, as for chips. The names of the constants are these, where `TYPE` is a type of elements,
//! `OP` the name of an op, and `BYTES`, `FLOPS` and `WORK` a number:
//!
//! | name | value |
//! |---|---|
//! | `workers` | the number of workers |
//! | `memory_bytes` | the size of the memory |
//! | `instruction_s` | the time that each instruction takes beside its work |
//! | `launch_s` | the time that an instruction that computes or moves elements takes in addition |
//! | `instance_s` | the time that each instance of such an instruction takes beside its work |
//! | `turn_s` | the time that each turn of a loop takes beside its instructions |
//! | `small_program_s` | the time that each instance of a small program takes beside its ops |
//! | `small_op_s`, `small_element_s` | the time of an op of a small program, and of each element of its results |
//! | `small_moved_s`, `small_product_s` | the same for each element that is moved, and for each multiply-add of a product |
//! | `barrier_s` | the time that workers need to share an instruction |
//! | `speedup` | how much faster all workers are than one |
//! | `peak.TYPE` | the flops in a second of multiply-adds in registers |
//! | `level.NAME.bytes` | the size of a memory of all workers |
//! | `level.NAME.bytes_per_s` | the fastest of the rates of this memory |
//! | `level.NAME.read_bytes_per_s`, and with `write` and `copy` | the bytes that are read and written in a second |
//! | `stream.BYTES` | the bytes that an elementwise instruction of so many bytes reads and writes in a second |
//! | `element.OP.TYPE` | the elements that one worker computes in a second |
//! | `product.TYPE.MxKxN` | the flops in a second of products of this shape |
//! | `batched.TYPE.MxKxN` | the same for batches of such products, by one worker |
//! | `flops.OP.TYPE.FLOPS` | the flops in a second of other products with so many flops |
//! | `flops.OP.narrow.TYPE.FLOPS` | the same, if few results are computed from the same elements |
//! | `op.OP.kept.TYPE.WORK`, `op.OP.moved.TYPE.WORK` | the bytes in a second that other instructions read and write that have so many. `kept`: the last dimension stays the last one, and the op does the same for all positions along it |
//! | `op.OP.flops.kept.TYPE.WORK`, and with `moved` | the flops in a second of windows and of ops that are no reductions, if their cost has flops |
//! | the same with `single.`, `running.` or `several.` before `kept` or `moved` | gathers and scatters of single elements, cumulative reductions, ops with several results |
//! | `op.OP.TYPE.WORK` | what is taken if none of these was measured |
//! | `collective.OP.BYTES` | the bytes that a collective with results of so many bytes writes in a second |
//! | `error.CLASS` | the typical error of predictions for `product`, `element`, `op` or `collective`, as a fraction |
//!
//! Between the sizes that were measured, rates are interpolated in logarithms. Beyond them, the rate of a product stays
//! that of the last size. For others, the last slope goes on, but neither so that the time falls with the size nor so
//! that it grows faster than the size.

use crate::Fact;
use shardwise_base::DType;
use shardwise_view::{Limits, MemoryLevel, PeakRate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The constants of one word without which a host cannot be simulated. It also needs a `stream.BYTES`.
pub(crate) const REQUIRED: [&str; 4] = ["workers", "memory_bytes", "instruction_s", "speedup"];

/// The other constants that have a name of one word.
const OPTIONAL: [&str; 9] =
    ["turn_s", "barrier_s", LAUNCH, INSTANCE, SMALL_PROGRAM, SMALL_OP, SMALL_ELEMENT, SMALL_MOVED, SMALL_PRODUCT];

/// The time that an instruction takes in addition, unless it is a collective whose rate was measured.
pub(crate) const LAUNCH: &str = "launch_s";

/// The time that each instance of an instruction takes beside its work, unless it is a collective whose rate was
/// measured.
pub(crate) const INSTANCE: &str = "instance_s";

/// The time that each instance of a small program takes beside its ops.
pub(crate) const SMALL_PROGRAM: &str = "small_program_s";

/// The time that an op of a small program takes beside its elements. Without it, a host has no small programs.
pub(crate) const SMALL_OP: &str = "small_op_s";

/// The time that an op of a small program takes for each element of its results, or for a reduction of its operand.
pub(crate) const SMALL_ELEMENT: &str = "small_element_s";

/// The time that an op of a small program that moves elements takes for each of them. Without it, that of
/// [`SMALL_ELEMENT`].
pub(crate) const SMALL_MOVED: &str = "small_moved_s";

/// The time that a product of a small program takes for each multiply-add. Without it, an eighth of [`SMALL_ELEMENT`].
pub(crate) const SMALL_PRODUCT: &str = "small_product_s";

/// The words with which the other names start, except those of typical errors.
const FAMILIES: [&str; 9] = ["peak", "level", "stream", "element", PRODUCT, BATCHED, "flops", "op", "collective"];

/// The family of the rates of single products.
pub(crate) const PRODUCT: &str = "product";

/// The family of the rates of batches of products.
pub(crate) const BATCHED: &str = "batched";

/// The classes of instructions whose typical errors can be among the constants.
const CLASSES: [&str; 4] = ["product", "element", "op", "collective"];

pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    REQUIRED.into_iter().chain(OPTIONAL).chain(FAMILIES).chain(["error"])
}

pub(crate) fn is_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_type = |text: &str| DType::parse(text).is_some();
    let is_number = |text: &str| text.parse::<u64>().is_ok_and(|n| n > 0);
    match &parts[..] {
        [word] => REQUIRED.contains(word) || OPTIONAL.contains(word),
        ["peak", dtype] => is_type(dtype),
        ["level", name, "bytes" | "bytes_per_s"] => !name.is_empty(),
        ["level", name, "read_bytes_per_s" | "write_bytes_per_s" | "copy_bytes_per_s"] => !name.is_empty(),
        ["stream", bytes] => is_number(bytes),
        ["element", op @ .., dtype] => !op.is_empty() && is_type(dtype),
        [PRODUCT | BATCHED, dtype, shape] => is_type(dtype) && shape_of(shape).is_some(),
        ["op" | "flops", op @ .., dtype, bytes] => !op.is_empty() && is_type(dtype) && is_number(bytes),
        ["collective", op @ .., bytes] => !op.is_empty() && is_number(bytes),
        ["error", class] => CLASSES.contains(class),
        _ => false,
    }
}

/// Reads three sizes, as `64x512x8`. Returns `None` for another text, and if a size is 0.
fn shape_of(text: &str) -> Option<[u32; 3]> {
    let sizes: Vec<u32> = text.split('x').map(|n| n.parse().ok().filter(|&n| n > 0)).collect::<Option<_>>()?;
    sizes.try_into().ok()
}

/// The constants of a host, arranged by what they are about.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rates {
    pub(crate) facts: BTreeMap<Arc<str>, Fact>,
    /// The points of each curve, as pairs of a size and a rate, sorted by size.
    curves: BTreeMap<String, Vec<(f64, f64)>>,
    /// The measured products of each family and type, as `product.f32`.
    products: BTreeMap<String, Grid>,
}

impl Rates {
    /// Arranges constants, whose names must be ones for which [`is_name`] is true. Those that are 0 are in no curve and
    /// no grid of products.
    pub(crate) fn new(facts: BTreeMap<Arc<str>, Fact>) -> Rates {
        let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut products: BTreeMap<String, Vec<([u32; 3], f64)>> = BTreeMap::new();
        for (name, fact) in facts.iter().filter(|(_, fact)| fact.value > 0.0) {
            let Some((curve, last)) = name.rsplit_once('.') else { continue };
            if let Some(shape) = shape_of(last) {
                products.entry(curve.into()).or_default().push((shape, fact.value));
            } else if let Ok(size) = last.parse::<u64>() {
                curves.entry(curve.into()).or_default().push((size as f64, fact.value));
            }
        }
        for points in curves.values_mut() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            // `8` and `08` are one size.
            points.dedup_by_key(|point| point.0);
        }
        let products = products.into_iter().map(|(name, points)| (name, Grid::new(points))).collect();
        Rates { facts, curves, products }
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.facts.get(name).map(|fact| fact.value)
    }

    pub(crate) fn or_zero(&self, name: &str) -> f64 {
        self.get(name).unwrap_or(0.0)
    }

    pub(crate) fn at(&self, curve: &str, size: f64) -> Option<f64> {
        let points = self.curves.get(curve)?;
        Some(interpolated(points, size))
    }

    /// Returns the flops in a second of products of this shape, or `None` if no products of the type were measured.
    /// `family` is [`PRODUCT`] or [`BATCHED`].
    pub(crate) fn product(&self, family: &str, dtype: DType, shape: [f64; 3]) -> Option<f64> {
        self.products.get(&format!("{family}.{}", dtype.name())).map(|grid| grid.rate(shape))
    }

    pub(crate) fn limits(&self, title: &str) -> Limits {
        let peak = |(name, fact): (&Arc<str>, &Fact)| {
            let dtype = DType::parse(name.strip_prefix("peak.")?)?;
            Some(PeakRate { dtype, flops_per_s: fact.value })
        };
        let level = |(name, fact): (&Arc<str>, &Fact)| {
            let name = name.strip_prefix("level.")?.strip_suffix(".bytes")?;
            let bytes_per_s = self.get(&format!("level.{name}.bytes_per_s"))?;
            Some(MemoryLevel { name: name.into(), bytes: fact.value, bytes_per_s })
        };
        let rates = self.facts.iter().filter_map(peak).filter(|rate| rate.flops_per_s > 0.0).collect();
        let mut memory: Vec<MemoryLevel> = self.facts.iter().filter_map(level).collect();
        memory.retain(|level| level.bytes_per_s > 0.0);
        memory.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        Limits { source: format!("{title}, measured"), rates, memory }
    }
}

/// Returns the value at `x` of a curve with these points, of which there is at least one, all of them positive. They
/// are sorted by size, and no size occurs twice. A size below 1 counts as 1.
fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    let [first @ .., last] = points else { return 0.0 };
    let Some(first) = first.first() else { return last.1 };
    let x = x.max(1.0);
    let after = points.iter().position(|point| point.0 >= x).unwrap_or(points.len() - 1).max(1);
    let (a, b) = (points[after - 1], points[after]);
    let mut slope = (b.1 / a.1).ln() / (b.0 / a.0).ln();
    if x < first.0 || x > last.0 {
        // Time never falls with the size, and never grows faster than the size.
        slope = slope.clamp(0.0, 1.0);
    }
    let from = if x > last.0 { *last } else { a };
    from.1 * ((x / from.0).ln() * slope).exp()
}

/// The rates of products over a grid of shapes.
#[derive(Clone, PartialEq, Debug)]
struct Grid {
    points: BTreeMap<[u32; 3], f64>,
    /// The sizes along each of the three dimensions, in ascending order.
    sizes: [Vec<u32>; 3],
}

impl Grid {
    fn new(points: Vec<([u32; 3], f64)>) -> Grid {
        let sizes = [0, 1, 2].map(|dim| {
            let mut sizes: Vec<u32> = points.iter().map(|(shape, _)| shape[dim]).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        });
        Grid { points: points.into_iter().collect(), sizes }
    }

    /// Returns the rate of a shape: between the eight corners of the cell of the grid that it is in, or at the border
    /// of the grid. A corner that was not measured has the rate of the nearest shape that was.
    fn rate(&self, shape: [f64; 3]) -> f64 {
        let at = [0, 1, 2].map(|dim| cell(&self.sizes[dim], shape[dim]));
        let corner = |upper: usize| {
            let is_upper = |dim: usize| upper >> dim & 1 == 1;
            let shape = [0, 1, 2].map(|dim| if is_upper(dim) { at[dim].1 } else { at[dim].0 });
            let weight = |dim: usize| if is_upper(dim) { at[dim].2 } else { 1.0 - at[dim].2 };
            (0..3).map(weight).product::<f64>() * self.nearest(shape).ln()
        };
        (0..8).map(corner).sum::<f64>().exp()
    }

    fn nearest(&self, shape: [u32; 3]) -> f64 {
        let distance = |other: &[u32; 3]| -> f64 {
            let log = |dim: usize| (f64::from(shape[dim]) / f64::from(other[dim])).ln().abs();
            (0..3).map(log).sum()
        };
        let known = self.points.get(&shape).copied();
        let nearest =
            || self.points.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0))).map(|(_, &rate)| rate);
        known.or_else(nearest).unwrap_or(1.0)
    }
}

/// Returns the two neighbours of a size in `sizes`, and how far it is from the first to the second one, between 0 and
/// 1, in logarithms. A size beyond all others counts as the last one. For the first size, and below it, both neighbours
/// are the first one. `sizes` must not be empty, and is in ascending order.
fn cell(sizes: &[u32], size: f64) -> (u32, u32, f64) {
    let size = size.clamp(f64::from(sizes[0]), f64::from(sizes[sizes.len() - 1]));
    let after = sizes.iter().position(|&s| f64::from(s) >= size).unwrap_or(sizes.len() - 1);
    let (low, high) = (sizes[after.saturating_sub(1)], sizes[after]);
    let weight = if low == high { 0.0 } else { (size / f64::from(low)).ln() / (f64::from(high) / f64::from(low)).ln() };
    (low, high, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(facts: &[(&str, f64)]) -> Rates {
        let fact = |value| Fact { value, source: "by hand".into(), is_verified: true };
        Rates::new(facts.iter().map(|&(name, value)| (name.into(), fact(value))).collect())
    }

    fn near(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9)
    }

    #[test]
    fn curves_are_interpolated_in_logarithms() {
        let rates = rates(&[("stream.100", 10.0), ("stream.10000", 1000.0), ("stream.1000000", 500.0)]);
        assert!(near(rates.at("stream", 1000.0), 100.0) && near(rates.at("stream", 100.0), 10.0));
        // Below the first size the slope goes on, and beyond the last one a rate that falls stays as it is.
        assert!(near(rates.at("stream", 10.0), 1.0) && near(rates.at("stream", 1e9), 500.0));
        assert_eq!(rates.at("op.a.f32", 1.0), None);
    }

    #[test]
    fn products_are_interpolated_between_shapes() {
        let names = ["8x8x8", "8x8x32", "8x32x8", "8x32x32", "32x8x8", "32x8x32", "32x32x8", "32x32x32"];
        let facts: Vec<(String, f64)> =
            names.iter().enumerate().map(|(i, shape)| (format!("product.f32.{shape}"), 4f64.powi(i as i32))).collect();
        let rates = rates(&facts.iter().map(|(name, rate)| (&name[..], *rate)).collect::<Vec<_>>());
        let at = |shape| rates.product(PRODUCT, DType::F32, shape);
        assert!(near(at([8.0, 8.0, 32.0]), 4.0) && near(at([8.0, 8.0, 16.0]), 2.0) && near(at([1.0, 1.0, 1.0]), 1.0));
        assert!(near(at([16.0, 16.0, 16.0]), 2f64.powi(7)) && near(at([1e9, 1e9, 1e9]), 4f64.powi(7)));
        assert_eq!(rates.product(PRODUCT, DType::F64, [8.0; 3]), None);
        assert_eq!(rates.product(BATCHED, DType::F32, [8.0; 3]), None);
    }

    #[test]
    fn names_are_checked() {
        for name in ["workers", "peak.f32", "level.L2.bytes", "stream.64", "element.stablehlo.add.f32", "error.op"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["product.bf16.1x2x3", "op.stablehlo.sort.f32.4096", "op.stablehlo.reduce.kept.f32.8"] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["batched.f32.2x2x2", "op.stablehlo.sort.flops.several.moved.i32.8", "flops.a.narrow.f32.1", "launch_s"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "worker", "peak", "peak.f31", "stream.0", "stream.x", "product.f32.1x2", "element.f32", "op.8"]
        {
            assert!(!is_name(name), "{name}");
        }
    }
}
