//! `select_and_scatter` whose selection is a comparison: the gradient of max-pooling.
//!
//! The block machine finds, for all windows, the place that each selects: a chain of comparisons through the elements that
//! are inside. Sources then go to their places one after the other, in row-major order as the reference has it; workers
//! share what windows keep apart, the leading dimensions along which they are single elements.

use crate::block::{self, Binary, Comparison, Pointer, Program};
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, row_major};
use crate::kernels::index::{Combine, combine};
use crate::kernels::moves::input;
use crate::kernels::window::{Part, parts};
use crate::memory::{Buffer, OutOfMemory};
use crate::pool::{Effort, Workers};
use shardwise_ir::OpView;
use shardwise_ops::reducer::reduce_kind;
use shardwise_ops::window::{WindowDim, selecting_window};

/// Windows of more elements are left to the reference evaluation.
const MAX_CHAIN: usize = 128;
/// Below this many windows, nobody is woken.
const SMALL: usize = 1 << 14;

struct SelectAndScatter {
    /// For each part of the windows: its kernel, where its elements lie in the operand, and where it starts.
    selections: Vec<(block::Kernel, Vec<isize>, isize)>,
    /// From the initial value to all sums.
    start: block::Kernel,
    /// From the source to what is summed, and from sums to the result, where those are of another type.
    conversions: Option<[block::Kernel; 2]>,
    combine: Combine,
    /// What is summed, and the result.
    elems: [Elem; 2],
    /// Elements of the result and of the source.
    counts: [usize; 2],
    /// Pieces of both that have nothing to do with each other.
    pieces: usize,
}

/// The step of a `select_and_scatter`, if there is a kernel for it.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = kernel(view)?;
    Some(lowering.step(view, StepKind::Kernel(Box::new(kernel))))
}

fn kernel(view: &OpView<'_>) -> Option<SelectAndScatter> {
    let (x, source, window) = (view.operand_tensor(0), view.operand_tensor(1), selecting_window(view));
    let counts = [x, source].map(|t| t.shape.iter().product::<usize>());
    let size = window.iter().try_fold(1usize, |n, w| n.checked_mul(w.size))?;
    if counts.contains(&0) || i32::try_from(counts[0]).is_err() || size > MAX_CHAIN {
        return None;
    }
    let (elem, keeps) = (elem(x.dtype)?, comparison(view)?);
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
        combine: combine(sum, kind)?,
        elems: [sum, elem],
        counts,
        pieces,
    })
}

/// The comparison by which an element, the first, is kept.
fn comparison(view: &OpView<'_>) -> Option<Comparison> {
    let region = view.regions()[0];
    let compare = view.at(view.body.def_op(view.body.region_results(region)[0])?);
    let is_plain = compare.name() == "stablehlo.compare"
        && compare.operands() == &view.body[region].args[..]
        && compare.attrs().str("compare_type") != Some("TOTALORDER");
    match compare.attrs().str("comparison_direction").filter(|_| is_plain)? {
        "GE" => Some(Comparison::Ge),
        "GT" => Some(Comparison::Gt),
        "LE" => Some(Comparison::Le),
        "LT" => Some(Comparison::Lt),
        _ => None,
    }
}

/// For each window of a part, the place in the operand that it selects; -1: there is only padding.
fn selection(part: &Part, elem: Elem, keeps: Comparison, to: &[isize]) -> Option<(block::Kernel, Vec<isize>, isize)> {
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
    let offsets = part.places.iter().flatten().map(|o| o * elem.size() as isize).collect();
    Some((program.compile().ok()?, offsets, part.start * Elem::I32.size() as isize))
}

/// Elements as another type; the first for all where the stride is 0.
fn conversion(from: Elem, to: Elem, count: usize, stride: isize) -> Option<block::Kernel> {
    let mut program = Program::of(from, &[count]);
    let x = program.input(from, &[stride]);
    let x = program.convert(x, to)?;
    program.output(x, &[1]);
    program.compile().ok()
}

impl Kernel for SelectAndScatter {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let allocate = |cx: &KernelCx<'_>, bytes: usize| -> Result<Vec<Buffer>, OutOfMemory> {
            cx.instances.iter().map(|_| cx.memory.allocate(bytes)).collect()
        };
        let at = |buffers: &[Buffer]| buffers.iter().map(|b| Pointer(b.as_ptr())).collect::<Vec<_>>();
        let inputs = |cx: &KernelCx<'_>, k: usize| cx.instances.iter().map(|&i| input(cx, k, i)).collect::<Vec<_>>();
        let sum = self.elems[0].size();
        let places = allocate(cx, self.counts[1] * Elem::I32.size())?;
        self.select(&inputs(cx, 0), &at(&places));
        let sums = allocate(cx, self.counts[0] * sum)?;
        run(&self.start, &inputs(cx, 2), &at(&sums));
        let Some([up, down]) = &self.conversions else {
            self.scatter(&inputs(cx, 1), &at(&places), &at(&sums));
            return give(cx, sums);
        };
        let sources = allocate(cx, self.counts[1] * sum)?;
        run(up, &inputs(cx, 1), &at(&sources));
        self.scatter(&at(&sources), &at(&places), &at(&sums));
        let results = allocate(cx, self.counts[0] * self.elems[1].size())?;
        run(down, &at(&sums), &at(&results));
        give(cx, results)
    }
}

fn give(cx: &mut KernelCx<'_>, results: Vec<Buffer>) -> Result<(), OutOfMemory> {
    for (i, result) in cx.instances.clone().into_iter().zip(results) {
        cx.outputs[0][i] = Some(result);
    }
    Ok(())
}

fn run(kernel: &block::Kernel, from: &[Pointer], to: &[Pointer]) {
    let pointers: Vec<Pointer> = from.iter().zip(to).flat_map(|(&from, &to)| [from, to]).collect();
    // SAFETY: both have the elements that the kernel was made for, and `to` is new.
    unsafe { kernel.run(Workers::global(), &pointers, false) };
}

impl SelectAndScatter {
    fn select(&self, operands: &[Pointer], places: &[Pointer]) {
        for (kernel, offsets, start) in &self.selections {
            let of = |(x, places): (&Pointer, &Pointer)| {
                let elements: Vec<Pointer> = offsets.iter().map(|&o| x.offset(o)).collect();
                [elements, vec![places.offset(*start)]].concat()
            };
            let pointers: Vec<Pointer> = operands.iter().zip(places).flat_map(of).collect();
            // SAFETY: the elements of a part's windows are inside, and parts have different places, which are new.
            unsafe { kernel.run(Workers::global(), &pointers, false) };
        }
    }

    fn scatter(&self, sources: &[Pointer], places: &[Pointer], sums: &[Pointer]) {
        let (windows, size) = (self.counts[1] / self.pieces, self.elems[0].size() as isize);
        let effort = if self.counts[1] * sums.len() < SMALL { Effort::Small } else { Effort::Large };
        Workers::global().run(sums.len() * self.pieces, effort, |part| {
            let (i, piece) = (part / self.pieces, part % self.pieces);
            let places = places[i].0.cast::<i32>().cast_const();
            for w in piece * windows..(piece + 1) * windows {
                // SAFETY: each window has a place, which is in this piece of the sums or negative, and a source.
                unsafe {
                    let place = places.add(w).read() as isize;
                    if place >= 0 {
                        (self.combine)(sums[i].offset(place * size).0, sources[i].offset(w as isize * size).0, 1);
                    }
                }
            }
        });
    }
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
