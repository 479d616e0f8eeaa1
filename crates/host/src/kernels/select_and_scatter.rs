//! `select_and_scatter` whose selection is a comparison: the gradient of max-pooling.
//!
//! The block machine finds, for all windows, the position that each selects, by a chain of comparisons through the
//! elements that are inside. The sources are then combined into their positions one after the other, in the row-major
//! order of the reference. Workers share the leading dimensions along which windows are single elements, because the
//! windows are independent there.

use crate::block::{self, Binary, Comparison, Operand, Program};
use crate::elem::Elem;
use crate::kernels::buffers::{read, write, written};
use crate::kernels::context::PlanCx;
use crate::kernels::reducers::by_reducer;
use crate::kernels::strides::row_major;
use crate::kernels::window::{Part, parts};
use crate::memory::{Buffer, OutOfMemory};
use crate::operand::{Source, Target};
use crate::parts::Pace;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use shardwise_ir::OpView;
use shardwise_ops::elementwise::Compare;
use shardwise_ops::reducer::reduce_kind;
use shardwise_ops::window::{WindowDim, selecting_window};
use shardwise_ops::{Opcode, ReduceKind};

/// Ops with windows of more elements than this run by the reference evaluation.
const MAX_CHAIN: usize = 128;
/// With fewer windows than this in all instances together, no worker is woken to combine the sources.
const SMALL: usize = 1 << 14;

/// The most sources that are combined between two calls of [`Pace::spend`].
const LONG: usize = 1 << 16;

/// Combines sources into the sums at their positions. The first of `sums` has the position `first`. Sources with
/// positions below 0 are skipped.
type Scatter = fn(sums: &mut [u8], sources: &[u8], places: &[i32], first: usize);

struct SelectAndScatter {
    /// For each part of the windows, what [`selection`] returns: its kernel, the offsets in the operand at which the
    /// kernel reads, and the offset in the positions at which it writes. Both are in bytes.
    selections: Vec<(block::Kernel, Vec<usize>, usize)>,
    /// Sets all sums to the initial value.
    start: block::Kernel,
    /// Conversions from the source to the type of the sums, and from the sums to the result, if these types differ.
    conversions: Option<[block::Kernel; 2]>,
    scatter: Scatter,
    /// The types of the sums and of the result.
    elems: [Elem; 2],
    /// The numbers of elements of the result and of the source.
    counts: [usize; 2],
    /// The number of pieces into which result and source are divided. Each piece of the source is combined into the
    /// piece of the result with the same number.
    pieces: usize,
}

/// Returns the step of a `select_and_scatter`. Returns `None` for arrays without elements, for operands of more
/// elements than an `i32` counts, for windows of more than [`MAX_CHAIN`] elements, for selections other than `GE`,
/// `GT`, `LE` and `LT` of both elements, for scatters without a named reducer, and for types and windows without a
/// kernel.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = kernel(view)?;
    Some(plan.kernel(view, kernel))
}

fn kernel(view: &OpView<'_>) -> Option<SelectAndScatter> {
    let (x, source, window) = (view.operand_tensor(0), view.operand_tensor(1), selecting_window(view));
    let counts = [x, source].map(|t| t.shape.iter().product::<usize>());
    let size = window.iter().try_fold(1usize, |n, w| n.checked_mul(w.size))?;
    if counts.contains(&0) || i32::try_from(counts[0]).is_err() || size > MAX_CHAIN {
        return None;
    }
    let (elem, keeps) = (Elem::of(x.dtype)?, comparison(view)?);
    let sum = elem.summed();
    let to = row_major(&source.shape);
    let selections = parts(&window, &x.shape, &source.shape)?.into_iter();
    let selections = selections.map(|part| selection(&part, elem, keeps, &to)).collect::<Option<_>>()?;
    let kind = reduce_kind(view.module, view.body, view.regions()[1])?;
    let pieces = window.iter().zip(&x.shape).take_while(|(w, _)| WindowDim::is_identity(w)).map(|(_, &n)| n).product();
    let [up, down] = [(elem, sum, counts[1]), (sum, elem, counts[0])].map(|(from, to, n)| conversion(from, to, n, 1));
    Some(SelectAndScatter {
        selections,
        start: conversion(elem, sum, counts[0], 0)?,
        conversions: if sum == elem { None } else { Some([up?, down?]) },
        scatter: scatter(sum, kind)?,
        elems: [sum, elem],
        counts,
        pieces,
    })
}

fn comparison(view: &OpView<'_>) -> Option<Comparison> {
    let region = view.regions()[0];
    let compare = view.at(view.body.def_op(view.body.region_results(region)[0])?);
    let is_plain = Opcode::of_view(&compare) == Opcode::Compare
        && compare.operands() == &view.body[region].args[..]
        && !Compare::is_total_order(&compare);
    match Compare::direction(&compare).filter(|_| is_plain)? {
        "GE" => Some(Comparison::Ge),
        "GT" => Some(Comparison::Gt),
        "LE" => Some(Comparison::Le),
        "LT" => Some(Comparison::Lt),
        _ => None,
    }
}

/// Returns the kernel that finds, for each window of a part, the position in the operand of the element that it
/// selects, or -1 if there is only padding. Also returns the offsets in bytes at which the kernel reads the operand,
/// and the offset in bytes of the first position that it writes. `to` has the strides of the positions, in elements.
/// Returns `None` if block programs do not compare elements of the type, or if a stride does not fit into an `i32`.
fn selection(part: &Part, elem: Elem, keeps: Comparison, to: &[isize]) -> Option<(block::Kernel, Vec<usize>, usize)> {
    let mut program = Program::of(elem, &part.sizes);
    let mut best = None;
    for &offset in part.places.iter().flatten() {
        let x = program.input(elem, &part.strides);
        let place = program.constant(Elem::I32, &i32::try_from(offset).ok()?.to_le_bytes());
        best = Some(match best {
            None => (x, place),
            Some((value, at)) => {
                let kept = program.binary(Binary::Compare(keeps), value, x)?;
                (program.select(kept, value, x), program.select(kept, at, place))
            }
        });
    }
    let mut place = match best {
        Some((_, place)) => place,
        None => program.constant(Elem::I32, &(-1i32).to_le_bytes()),
    };
    for (d, &stride) in part.strides.iter().enumerate().filter(|_| best.is_some()) {
        let (index, stride) = (program.index(Elem::I32, d), i32::try_from(stride).ok()?);
        let stride = program.constant(Elem::I32, &stride.to_le_bytes());
        let along = program.binary(Binary::Mul, index, stride)?;
        place = program.binary(Binary::Add, place, along)?;
    }
    program.output(place, to);
    let offsets = part.places.iter().flatten().map(|&o| Some(usize::try_from(o).ok()? * elem.size()));
    let (offsets, start) = (offsets.collect::<Option<_>>()?, usize::try_from(part.start).ok()? * Elem::I32.size());
    Some((program.compile().ok()?, offsets, start))
}

/// Returns the kernel that converts `count` elements to another type, or `None` if there is none. They are `stride`
/// elements apart: with stride 0, the first element is used for all.
fn conversion(from: Elem, to: Elem, count: usize, stride: isize) -> Option<block::Kernel> {
    let mut program = Program::of(from, &[count]);
    let x = program.input(from, &[stride]);
    let x = program.convert(x, to)?;
    program.output(x, &[1]);
    program.compile().ok()
}

impl Kernel for SelectAndScatter {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let inputs = |k: usize| cx.instances.iter().map(|&i| cx.input(k, i)).collect::<Vec<&Buffer>>();
        let sum = self.elems[0].size();
        let mut places = cx.allocate(self.counts[1] * Elem::I32.size())?;
        self.select(&inputs(0), &mut places);
        let mut sums = cx.allocate(self.counts[0] * sum)?;
        run(&self.start, &inputs(2), &mut sums);
        let Some([up, down]) = &self.conversions else {
            self.scatter(&inputs(1), &places, &mut sums);
            cx.set(0, sums);
            return Ok(());
        };
        let mut sources = cx.allocate(self.counts[1] * sum)?;
        run(up, &inputs(1), &mut sources);
        self.scatter(&sources.iter().collect::<Vec<_>>(), &places, &mut sums);
        let mut results = cx.allocate(self.counts[0] * self.elems[1].size())?;
        run(down, &sums.iter().collect::<Vec<_>>(), &mut results);
        cx.set(0, results);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (workers, count, sum) = (Workers::global(), cx.instances.len(), self.elems[0].size());
        let _places = cx.allocate(self.counts[1] * Elem::I32.size())?;
        cx.predict_scratch(self.select_scratch(count))?;
        let sums = cx.allocate(self.counts[0] * sum)?;
        cx.predict_scratch(self.start.scratch_bytes(workers, count))?;
        let Some([up, down]) = &self.conversions else {
            cx.set(0, sums);
            return Ok(());
        };
        let _sources = cx.allocate(self.counts[1] * sum)?;
        cx.predict_scratch(up.scratch_bytes(workers, count))?;
        cx.predict(self.counts[0] * self.elems[1].size(), down.scratch_bytes(workers, count))
    }
}

fn run(kernel: &block::Kernel, from: &[&Buffer], to: &mut [Buffer]) {
    let operands: Vec<Operand> = from.iter().zip(to).flat_map(|(from, to)| [read(from), write(to)]).collect();
    kernel.run(Workers::global(), &operands, false);
}

impl SelectAndScatter {
    fn select_scratch(&self, count: usize) -> usize {
        self.selections.iter().map(|part| part.0.scratch_bytes(Workers::global(), count)).max().unwrap_or(0)
    }

    fn select(&self, inputs: &[&Buffer], places: &mut [Buffer]) {
        for (kernel, offsets, start) in &self.selections {
            let mut operands = Vec::with_capacity(inputs.len() * (offsets.len() + 1));
            for (x, places) in inputs.iter().zip(&mut *places) {
                operands.extend(offsets.iter().map(|&o| Operand::Read(Source::at(x.bytes(), o))));
                operands.push(Operand::Write(Target::at(written(places), *start)));
            }
            kernel.run(Workers::global(), &operands, false);
        }
    }

    fn scatter(&self, sources: &[&Buffer], places: &[Buffer], sums: &mut [Buffer]) {
        let size = self.elems[0].size();
        let effort = if self.counts[1] * sums.len() < SMALL { Effort::Small } else { Effort::Large };
        let piece = |count: usize| count / self.pieces;
        let mut parts = Vec::with_capacity(sums.len() * self.pieces);
        for ((source, places), sums) in sources.iter().zip(places).zip(sums) {
            let sources = source.bytes().chunks(piece(self.counts[1]) * size);
            let places = places.elements::<i32>().chunks(piece(self.counts[1]));
            let sums = written(sums).chunks_mut(piece(self.counts[0]) * size);
            parts.extend(sources.zip(places).zip(sums).enumerate());
        }
        Workers::global().run_each(parts, effort, |(i, ((sources, places), sums))| {
            let first = i * piece(self.counts[0]);
            let mut pace = Pace::default();
            for (sources, places) in sources.chunks(LONG * size).zip(places.chunks(LONG)) {
                (self.scatter)(sums, sources, places, first);
                pace.spend(4 * places.len());
            }
        });
    }
}

fn scatter(elem: Elem, kind: ReduceKind) -> Option<Scatter> {
    macro_rules! with {
        ($T:ty, $widen:expr, $op:expr, $narrow:expr) => {{
            fn each(sums: &mut [u8], sources: &[u8], places: &[i32], first: usize) {
                let (sums, sources) =
                    (bytemuck::cast_slice_mut::<u8, $T>(sums), bytemuck::cast_slice::<u8, $T>(sources));
                for (&source, &place) in sources.iter().zip(places).filter(|(_, place)| **place >= 0) {
                    let sum = &mut sums[place as usize - first];
                    *sum = $narrow($op($widen(*sum), $widen(source)));
                }
            }
            Some(each as Scatter)
        }};
    }
    by_reducer!(elem, kind, with)
}

#[cfg(test)]
mod tests {
    use crate::block::tests::Random;
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    fn generated(seed: u64) -> Option<(String, [Literal; 2])> {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = random.next());
        let mut below = |n: u64| (random.next() % n) as i64;
        let (mut shape, mut out, mut window, mut strides, mut pads) = (vec![], vec![], vec![], vec![], vec![]);
        for _ in 0..1 + below(3) {
            let n = 1 + below(6);
            let [size, stride, low, high] = match below(3) {
                0 => [1, 1, 0, 0],
                _ => [1 + below(3), 1 + below(3), below(4) - 1, below(4) - 1],
            };
            let room = n + low + high - size;
            if room < 0 || n + low + high <= 0 {
                return None;
            }
            shape.push(n as usize);
            out.push((room / stride + 1) as usize);
            window.push(size);
            strides.push(stride);
            pads.push([low, high]);
        }
        let elem = ["f32", "bf16", "f64", "i8", "i32", "i64", "f16", "ui8"][below(8) as usize];
        let direction = ["GE", "GE", "GT", "LE", "LT"][below(5) as usize];
        let scatter = ["add", "add", "maximum", "multiply"][below(4) as usize];
        let (given, x, y) = (tensor(&shape, "f32"), tensor(&shape, elem), tensor(&out, elem));
        let source = tensor(&out, "f32");
        let list = |l: &[i64]| l.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let text = format!(
            "func.func @main(%x: {given}, %y: {source}) -> {x} {{
  %0 = stablehlo.convert %x : ({given}) -> {x}
  %1 = stablehlo.convert %y : ({source}) -> {y}
  %i = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.convert %i : (tensor<i32>) -> tensor<{elem}>
  %3 = \"stablehlo.select_and_scatter\"(%0, %1, %2) <{{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, padding = dense<{pads:?}> : tensor<{}x2xi64>}}> ({{
  ^bb0(%a: tensor<{elem}>, %b: tensor<{elem}>):
    %c = stablehlo.compare {direction}, %a, %b : (tensor<{elem}>, tensor<{elem}>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<{elem}>, %b: tensor<{elem}>):
    %c = stablehlo.{scatter} %a, %b : tensor<{elem}>
    stablehlo.return %c : tensor<{elem}>
  }}) : ({x}, {y}, tensor<{elem}>) -> {x}
  return %3 : {x}
}}",
            list(&window),
            list(&strides),
            shape.len()
        );
        let mut random = Random(seed + 1);
        let mut values = |shape: &[usize]| {
            let draw =
                |_: usize| if random.next().is_multiple_of(30) { f32::NAN } else { (random.next() % 7) as f32 / 3.0 };
            Literal::new(shape, &(0..shape.iter().product()).map(draw).collect::<Vec<_>>())
        };
        let args = [values(&shape), values(&out)];
        Some((text, args))
    }

    #[test]
    fn any_window_and_comparison() {
        let mut cases = 0;
        for (text, args) in (0..300).filter_map(generated) {
            run_by_kernels(&text, &args);
            cases += 1;
        }
        assert!(cases > 100, "{cases}");
    }
}
