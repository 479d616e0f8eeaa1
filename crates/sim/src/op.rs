//! The times of ops that compute: a product runs on the matrix units, everything else on the vector units, and both
//! read and write memory in windows.
//!
//! With `n` windows, of which each is loaded while the one before is computed:
//!
//! ```text
//! latency + in/nB + work/n + (n-1)/n max(work, (in+out)/B) + out/nB + latency + (n-1) w
//! ```
//!
//! `B` is the rate of the memory, `work` the largest of the times to compute, to store results, and to use the fast
//! memory, and `w` the time that a further window adds. The simulator takes the `n` with which the time is least, among
//! those whose windows fit into the fast memory twice. Sources: libtpu's cost model has the same form; the constants
//! are those of the machine.

use crate::machine::{Constants, Machine};
use shardwise_base::{DType, DTypeKind};
use shardwise_ir::{Attr, OpView};
use shardwise_ops::{Linear, Opcode, PropagationClass};

/// How many powers of two, from 1 on, are tried as numbers of windows, and each of them except 1 also times 1.5.
const WINDOWS: u32 = 11;

/// A product of matrices, once for each batch: `m x k` times `k x n`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Product {
    pub(crate) batch: f64,
    pub(crate) m: f64,
    pub(crate) n: f64,
    pub(crate) k: f64,
    /// The element type of the operands, or the one that costs more if they differ.
    pub(crate) dtype: DType,
    pub(crate) precision: Precision,
    /// The bytes of an element of the operands, or the larger number if they differ. At least 0.5.
    pub(crate) element_bytes: f64,
    /// The elements of both operands, for each element of the matrices, at most 1. It is less than 1 for a convolution
    /// whose windows overlap.
    pub(crate) density: f64,
}

/// The precision that a product of f32 asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Precision {
    Default,
    High,
    Highest,
}

/// The work of a fused group of ops on one device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Work {
    pub(crate) product: Option<Product>,
    /// The flops of all ops but the product.
    pub(crate) vector_flops: f64,
    /// The bytes that are read from the main memory.
    pub(crate) hbm_in: f64,
    /// The bytes that are written to the main memory.
    pub(crate) hbm_out: f64,
    /// The bytes that are read from and written to the fast memory only.
    pub(crate) fast_bytes: f64,
    /// The number of elements of the first result, or 0 if it is no array.
    pub(crate) results: f64,
    /// The bytes of an element of the first result, or 4 if it is no array.
    pub(crate) result_bytes: f64,
}

/// Returns true if an op is a product, such as a `dot_general` or a convolution. A product has two arrays as operands,
/// a result that is not empty, no regions and a sharding rule, passes no dimensions on as elementwise ops do, and takes
/// at least two flops for each element of its result. It is linear in each operand, or its result has another type and
/// it sums over factors that both operands have. Whether matrix units or vector units compute it depends on the
/// machine.
pub fn is_product(view: &OpView<'_>) -> bool {
    Product::of(view).is_some()
}

impl Product {
    /// Returns the product that an op computes, or `None` if the op is none. A product has two arrays as operands, a
    /// result that is not empty, no regions and a sharding rule, passes no dimensions on as elementwise ops do, and
    /// takes at least two flops for each element of its result. It is linear in each operand, or its result has another
    /// type and it sums over factors that both operands have.
    pub(crate) fn of(view: &OpView<'_>) -> Option<Product> {
        let facts = Opcode::of_view(view).facts();
        let is_plain = view.operands().len() == 2 && view.results().len() == 1 && view.regions().is_empty();
        if !is_plain || facts.propagation_class(view) != PropagationClass::Other {
            return None;
        }
        let [lhs, rhs] = [0, 1].map(|i| view.operand_type(i).as_tensor());
        let (lhs, rhs, result) = (lhs?, rhs?, view.result_type(0).as_tensor()?);
        let elements = result.size() as f64;
        let sums = facts.cost(view).flops / (2.0 * elements);
        if !(sums >= 1.0 && elements >= 1.0) {
            return None;
        }
        // A product with results of another type may not be linear, but it sums over factors of both operands.
        if facts.linear(view) != Linear::Each && lhs.dtype == result.dtype {
            return None;
        }
        let rule = facts.rule(view).rule().cloned()?;
        let is_summed = |f| rule.operands.iter().all(|m| m.contains(f)) && !rule.results[0].contains(f);
        if facts.linear(view) != Linear::Each && !rule.all_factors().any(is_summed) {
            return None;
        }
        let size_of = |is_in: &dyn Fn(bool, bool) -> bool| -> f64 {
            let factors = rule.results[0].factors();
            let chosen = factors.filter(|&f| is_in(rule.operands[0].contains(f), rule.operands[1].contains(f)));
            chosen.map(|f| rule.size(f) as f64).product()
        };
        let (batch, n) = (size_of(&|l, r| l && r), size_of(&|l, r| r && !l));
        let costs = |dtype: DType| (dtype.kind() == DTypeKind::Float || dtype.bits() > 8, dtype.bits());
        let dtype = if costs(lhs.dtype) >= costs(rhs.dtype) { lhs.dtype } else { rhs.dtype };
        let m = elements / (batch * n);
        let element_bytes = (lhs.dtype.bits().max(rhs.dtype.bits()) as f64 / 8.0).max(0.5);
        let density = (lhs.size() + rhs.size()) as f64 / (batch * sums * (m + n));
        let density = density.min(1.0);
        Some(Product { batch, m, n, k: sums, dtype, precision: precision(view), element_bytes, density })
    }

    pub(crate) fn flops(&self) -> f64 {
        2.0 * self.batch * self.m * self.n * self.k
    }

    /// Returns the number of bf16 products that one product of the element type takes, or `None` if the vector units
    /// compute it.
    fn passes(&self, c: &Constants) -> Option<f64> {
        let passes = match (self.dtype.kind(), self.dtype.bits()) {
            (DTypeKind::Complex, bits) => 4.0 * float_passes(c, bits / 2, self.precision),
            (DTypeKind::Float, bits) => float_passes(c, bits, self.precision),
            (DTypeKind::Signed | DTypeKind::Unsigned, ..=8) => c.passes_int8,
            (DTypeKind::Signed | DTypeKind::Unsigned, ..=32) => c.passes_int32,
            (DTypeKind::Signed | DTypeKind::Unsigned, _) => 0.0,
            _ => c.passes_int8,
        };
        (passes > 0.0).then_some(passes)
    }

    /// Returns the time on the matrix units, with padding and the loading of weight tiles, in the better of both
    /// orientations.
    fn seconds(&self, c: &Constants, passes: f64) -> f64 {
        let cycles = |m: f64, n: f64| {
            let tile = c.mxu_tile;
            let tiles = self.batch * round_up(self.k, tile) / tile * round_up(n, tile) / tile;
            let stream = round_up(m, 8.0) * tile * tile * c.matrix_units / c.macs_per_cycle;
            tiles / c.matrix_units * (stream.max(c.push_cycles) + c.push_exposed * c.push_cycles)
        };
        let is_wide = self.dtype.is_integer() && self.dtype.bits() > 8;
        let fixed = if is_wide { c.dot_cycles_int32 } else { c.dot_cycles };
        let cycles = cycles(self.m, self.n).min(cycles(self.n, self.m)) * passes / c.mxu_efficiency;
        (cycles + fixed) / c.clock_hz
    }

    /// Returns the bytes of the operands that are read if operands and result do not fit into the fast memory together:
    /// each part of the result, as large as fits, needs its rows and columns. Returns 0 if they fit.
    fn traffic(&self, c: &Constants) -> f64 {
        let element_bytes = self.element_bytes * self.density;
        let operands = self.batch * self.k * (self.m + self.n) * element_bytes;
        let results = self.batch * self.m * self.n * 4.0;
        if operands + results <= c.vmem_bytes {
            return 0.0;
        }
        let side = (c.vmem_bytes / 16.0).sqrt();
        let reads = self.batch * self.m * self.n * self.k * element_bytes;
        reads / side.min(self.m) + reads / side.min(self.n)
    }
}

fn float_passes(c: &Constants, bits: usize, precision: Precision) -> f64 {
    match (bits, precision) {
        (..=8, _) => c.passes_fp8,
        (..=16, _) => 1.0,
        (..=32, Precision::Default) => c.passes_f32,
        (..=32, Precision::High) => c.passes_f32_high,
        (..=32, Precision::Highest) => c.passes_f32_highest,
        _ => c.passes_f64,
    }
}

fn precision(view: &OpView<'_>) -> Precision {
    let Some(Attr::Array(each)) = view.attr("precision_config") else { return Precision::Default };
    let one = |attr: &Attr| match attr.as_str() {
        Some("HIGH") => Precision::High,
        Some("HIGHEST") => Precision::Highest,
        _ => Precision::Default,
    };
    each.iter().map(one).max().unwrap_or(Precision::Default)
}

fn round_up(n: f64, to: f64) -> f64 {
    (n / to).ceil() * to
}

impl Work {
    pub(crate) fn flops(&self) -> f64 {
        self.vector_flops + self.product.map_or(0.0, |p| p.flops())
    }

    pub(crate) fn seconds(&self, machine: &Machine) -> f64 {
        let c = &machine.constants;
        let compute = self.compute_seconds(c);
        let rate = c.hbm_bytes_per_s * c.hbm_efficiency;
        let [read, written] = [self.read_bytes(c), self.hbm_out].map(|bytes| bytes / rate);
        let fast = self.fast_bytes / c.vmem_bytes_per_s;
        let work = compute.max(self.store_seconds(c)).max(fast);
        if read + written == 0.0 {
            return work + if self.product.is_some() { 0.0 } else { c.window_s };
        }
        let latency = |time: f64| if time > 0.0 { c.dma_latency_s } else { 0.0 };
        let least = (2.0 * (read + written) * rate / c.vmem_bytes).min(f64::from(1 << (WINDOWS - 1)));
        let time = |windows: f64| {
            let rest = (windows - 1.0) / windows;
            latency(read)
                + (read + written + work) / windows
                + rest * work.max(read + written)
                + latency(written)
                + (windows - 1.0) * c.window_s
        };
        let counts = (0..WINDOWS).flat_map(|p| [f64::from(1 << p), 1.5 * f64::from(1 << p)]);
        let fitting = counts.filter(|n| n.fract() == 0.0 && (*n >= least || *n >= f64::from(1 << (WINDOWS - 1))));
        fitting.map(time).fold(f64::INFINITY, f64::min)
    }

    /// Returns the longer one of two times: that of the product, or of the other flops if there is no product, at the
    /// peak rate, and that of the data at the rate of the main memory.
    pub(crate) fn least_seconds(&self, machine: &Machine) -> f64 {
        let c = &machine.constants;
        let passes = self.product.map(|p| (p.flops(), p.passes(c)));
        let compute = match passes {
            Some((flops, Some(passes))) => flops * passes / c.peak_flops,
            Some((flops, None)) => flops / c.vector_flops_per_s,
            None => self.vector_flops / c.vector_flops_per_s,
        };
        compute.max((self.hbm_in + self.hbm_out) / c.hbm_bytes_per_s)
    }

    fn compute_seconds(&self, c: &Constants) -> f64 {
        let vector = self.vector_flops / c.vector_flops_per_s;
        let product = self.product.map_or(0.0, |product| match product.passes(c) {
            Some(passes) => product.seconds(c, passes),
            None => product.flops() / c.vector_flops_per_s,
        });
        // Both kinds of units work at the same time on different parts.
        vector.max(product)
    }

    fn read_bytes(&self, c: &Constants) -> f64 {
        match self.product {
            Some(product) if self.hbm_in > 0.0 => self.hbm_in.max(product.traffic(c)),
            _ => self.hbm_in,
        }
    }

    fn store_seconds(&self, c: &Constants) -> f64 {
        if self.product.is_none() {
            return 0.0;
        }
        let cycles = if self.result_bytes <= 2.0 { c.store_cycles_bf16 } else { c.store_cycles_f32 };
        self.results / 1024.0 * cycles / c.clock_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(n: f64, dtype: DType, is_in_memory: bool) -> Work {
        let element_bytes = dtype.bits() as f64 / 8.0;
        let product =
            Product { batch: 1.0, m: n, n, k: n, dtype, precision: Precision::Default, element_bytes, density: 1.0 };
        let bytes = if is_in_memory { n * n * element_bytes } else { 0.0 };
        Work {
            product: Some(product),
            vector_flops: 0.0,
            hbm_in: 2.0 * bytes,
            hbm_out: bytes,
            fast_bytes: 0.0,
            results: n * n,
            result_bytes: element_bytes,
        }
    }

    #[test]
    fn a_product_in_vmem_takes_what_libtpus_compilation_takes() {
        // 512x512x2048 on v5e, 8192 cycles of bf16 products.
        let v5e = Machine::find("v5e").unwrap();
        let cycles = |dtype: DType, precision: Precision| {
            let mut work = square(0.0, dtype, false);
            let product = Product {
                batch: 1.0,
                m: 512.0,
                n: 2048.0,
                k: 512.0,
                dtype,
                precision,
                element_bytes: 4.0,
                density: 1.0,
            };
            work.product = Some(product);
            (work.seconds(&v5e) * v5e.constants.clock_hz).round()
        };
        assert_eq!(cycles(DType::BF16, Precision::Default), 8448.0);
        assert_eq!(cycles(DType::F32, Precision::High), 24832.0);
        assert_eq!(cycles(DType::I32, Precision::Default), 82944.0);
    }

    #[test]
    fn skinny_products_load_weights_or_store_results() {
        let v5e = Machine::find("v5e").unwrap();
        let time = |m: f64, k: f64, n: f64| {
            let product = Product {
                batch: 1.0,
                m,
                n,
                k,
                dtype: DType::BF16,
                precision: Precision::Default,
                element_bytes: 2.0,
                density: 1.0,
            };
            let mut work = square(0.0, DType::BF16, false);
            (work.product, work.results) = (Some(product), m * n);
            work.seconds(&v5e)
        };
        // One row takes as long as 40.
        assert_eq!(time(1.0, 4096.0, 4096.0), time(40.0, 4096.0, 4096.0));
        assert!(time(1.0, 4096.0, 4096.0) < time(48.0, 4096.0, 4096.0));
        // 2048x128x4096 is bound by its stores: 8192 tiles of 15 cycles.
        let stores = time(2048.0, 128.0, 4096.0);
        assert!((stores - 8192.0 * 15.0 / 1.5e9).abs() < 1e-9, "{stores}");
    }

    #[test]
    fn more_work_never_takes_less_time() {
        for machine in Machine::all() {
            let mut last = 0.0;
            for n in (64..4096).step_by(64) {
                let time = square(n as f64, DType::BF16, true).seconds(machine);
                assert!(time >= last, "{} at {n}", machine.name);
                last = time;
            }
        }
    }
}
