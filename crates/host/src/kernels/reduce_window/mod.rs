//! Windows that are combined: pooling, cumulative sums, and windows with any region.
//!
//! With a named reducer, a window is one chain in the block machine, from the initial value through its elements in
//! order, as in the reference. Positions of a window that are outside of the operand have the initial value. The result
//! is therefore divided into [`Part`]s in each of which the same positions are inside. Windows from the start of a
//! dimension on have their own kernel ([`running`]). All other windows are folded as reductions are, with one pass over
//! all results for each position of the window.

mod running;
#[cfg(test)]
mod tests;

use crate::block::{self, Operand, Program};
use crate::elem::Elem;
use crate::kernels::buffers::{output_bytes, written};
use crate::kernels::context::PlanCx;
use crate::kernels::copies::{Moves, prepared};
use crate::kernels::fold::{Elements, FoldKernel, MAX_FOLDED};
use crate::kernels::reducers::reducer;
use crate::kernels::strides::{positions, row_major};
use crate::kernels::window::{Part, Seen, parts};
use crate::memory::OutOfMemory;
use crate::movement::Move;
use crate::operand::{self, Target};
use crate::plan::{Input, Kernel, KernelCx, Points, Step, StepKind};
use crate::pool::Workers;
use crate::small::Routine;
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::window::{WindowDim, reduced_window};

/// The largest number of elements of a window that a [`Chain`] combines. Larger windows need another kernel.
const MAX_CHAIN: usize = 128;

/// Returns the step of a `reduce_window`. Returns `None` if the operands or the results have no elements. If neither
/// [`running`] nor a [`Chain`] on the operand suits, also returns `None` if the copy of an operand would be too large
/// ([`MAX_SPREAD`]) and, unless a [`Chain`] on the copy suits, as [`fold`] does. Steps that copy operands are added to
/// the plan.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let window = reduced_window(view);
    if view.operand_shape(0).contains(&0) || view.result_shape(0).contains(&0) {
        return None;
    }
    if let Some(kernel) = running::kernel(plan, view, &window) {
        return Some(plan.kernel(view, kernel));
    }
    if let Some(kernel) = chain(view, &window, view.operand_shape(0)) {
        return Some(plan.kernel(view, kernel));
    }
    let source = Source::new(view, window)?;
    let kernel: Box<dyn Kernel> = match chain(view, &source.window, &source.sizes) {
        Some(kernel) => Box::new(kernel),
        None => Box::new(fold(plan, view, &source)?),
    };
    let points = plan.points(view.result(0));
    let n = view.results().len();
    let mut inputs: Vec<Input> = vec![];
    for i in 0..n {
        inputs.push(source.read(plan, view, i, &points)?);
    }
    inputs.extend((n..2 * n).map(|i| plan.input(view.operand(i), &points)).collect::<Vec<_>>());
    let outputs = view.results().iter().map(|&v| plan.slot(v)).collect();
    Some(plan.step_with(view, StepKind::Kernel(kernel), inputs, outputs, points))
}

/// Returns the routine for a `reduce_window` of one small array by a named reducer. Returns `None` for other reducers
/// and several arrays, and if neither [`running`] nor a [`Chain`] computes the result from the operand without a copy.
pub fn routine(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    let window = reduced_window(view);
    if let Some(kernel) = running::kernel(plan, view, &window) {
        return Some(Box::new(kernel));
    }
    Some(Box::new(chain(view, &window, view.operand_shape(0))?))
}

/// The operands as arrays in which padding and holes are initial values. The operands are copied if padding or holes
/// are among the positions from the first window to the last, or if a low padding is negative.
struct Source {
    sizes: Vec<usize>,
    /// The windows on the arrays, one for each dimension.
    window: Vec<WindowDim>,
    /// For each dimension, the elements of the operands that the copies hold. It is `None` if the operands are read
    /// without a copy.
    seen: Option<Vec<Seen>>,
}

/// If the copy of an operand would have more than this many times the elements of operand and result together, the
/// reference evaluation runs instead.
const MAX_SPREAD: usize = 16;

impl Source {
    fn new(view: &OpView<'_>, window: Vec<WindowDim>) -> Option<Source> {
        let (shape, out) = (view.operand_shape(0), view.result_shape(0));
        let seen = (0..shape.len()).map(|d| Seen::new(&window[d], shape[d], out[d])).collect::<Option<Vec<_>>>()?;
        let window = window.into_iter().map(|w| WindowDim { low: 0, high: 0, base_dilation: 1, ..w }).collect();
        if seen.iter().all(Seen::is_plain) {
            return Some(Source { sizes: shape.to_vec(), window, seen: None });
        }
        let sizes: Vec<usize> = seen.iter().map(|s| s.extent).collect();
        let count = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s))?;
        let known: usize = [shape, out].iter().map(|s| s.iter().product::<usize>()).sum();
        (count / MAX_SPREAD <= known).then_some(Source { sizes, window, seen: Some(seen) })
    }

    fn read<'m>(&self, plan: &mut PlanCx<'m>, view: &OpView<'m>, i: usize, points: &Points) -> Option<Input> {
        let (from, init) = (view.operand(i), view.operand(view.results().len() + i));
        let Some(seen) = &self.seen else { return Some(plan.input(from, points)) };
        let ty = TensorType::new(view.operand_tensor(i).dtype, self.sizes.clone());
        let moves = spread(seen, view.operand_shape(0), &self.sizes, Elem::of(ty.dtype)?.size());
        Some(prepared(plan, view, &[from, init], moves, ty, points))
    }
}

/// Returns the kernel that copies the elements that [`Seen`] describes to an array of shape `sizes`, among initial
/// values. Elements have `size` bytes.
fn spread(seen: &[Seen], shape: &[usize], sizes: &[usize], size: usize) -> Moves {
    let (from, to) = (row_major(shape), row_major(sizes));
    let counts: Vec<usize> = seen.iter().map(|s| s.count).collect();
    // A dimension of one element may have any step.
    let steps: Vec<isize> = seen.iter().zip(&to).map(|(s, t)| (s.step as isize).wrapping_mul(*t)).collect();
    let start: usize = seen.iter().zip(&from).map(|(s, &f)| s.first * f as usize).sum();
    let at: usize = seen.iter().zip(&to).map(|(s, &t)| s.at * t as usize).sum();
    let offsets = [start, at].map(|o| o * size);
    let bytes = sizes.iter().product::<usize>() * size;
    Moves::among(Move::new(size, &counts, &from, &steps), offsets, bytes)
}

struct Chain {
    /// For each part of the result: its kernel, the offsets in the operand at which the kernel reads, and the offset in
    /// the result at which it writes. Both are in bytes.
    parts: Vec<(block::Kernel, Vec<usize>, usize)>,
    output_bytes: usize,
}

fn chain(view: &OpView<'_>, window: &[WindowDim], shape: &[usize]) -> Option<Chain> {
    let kind = reduce_kind_of_op(view).filter(|_| view.results().len() == 1)?;
    let (x, out) = (view.operand_tensor(0), view.result_tensor(0));
    let size: usize = window.iter().try_fold(1usize, |n, w| n.checked_mul(w.size))?;
    if x.dtype != out.dtype || size > MAX_CHAIN {
        return None;
    }
    let (elem, reducer) = (Elem::of(x.dtype)?, reducer(kind));
    let (from, to) = (row_major(shape), row_major(&out.shape));
    let compiled = |part: Part| {
        let sum = elem.summed();
        let mut program = Program::of(sum, &part.sizes);
        let init = program.input(elem, &vec![0; from.len()]);
        let init = program.convert(init, sum)?;
        let mut total = init;
        let mut offsets = vec![];
        for place in &part.places {
            let element = match place {
                Some(offset) => {
                    offsets.push(usize::try_from(*offset).ok()? * elem.size());
                    let x = program.input(elem, &part.strides);
                    program.convert(x, sum)?
                }
                None => init,
            };
            total = program.combine(reducer, total, element)?;
        }
        let total = program.convert(total, elem)?;
        program.output(total, &to);
        Some((program.compile().ok()?, offsets, usize::try_from(part.start).ok()? * elem.size()))
    };
    let parts = parts(window, shape, &out.shape)?.into_iter().map(compiled).collect::<Option<_>>()?;
    Some(Chain { parts, output_bytes: output_bytes(view) })
}

impl Chain {
    /// Computes the results of all instances. Each has the bytes of its operands, and those of its result.
    fn compute(&self, mut instances: Vec<([&[u8]; 2], &mut [u8])>) {
        for (kernel, offsets, start) in &self.parts {
            let mut operands = Vec::with_capacity(instances.len() * (offsets.len() + 2));
            for ([x, init], output) in &mut instances {
                operands.push(Operand::Read(operand::Source::of(init)));
                operands.extend(offsets.iter().map(|&o| Operand::Read(operand::Source::at(x, o))));
                operands.push(Operand::Write(Target::at(output, *start)));
            }
            kernel.run(Workers::global(), &operands, false);
        }
    }
}

impl Routine for Chain {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        self.compute(vec![([operands[0], operands[1]], &mut *results[0])]);
    }
}

impl Kernel for Chain {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let instances = cx.instances.iter().zip(&mut outputs);
        self.compute(instances.map(|(&i, to)| ([0, 1].map(|k| cx.input(k, i).bytes()), written(to))).collect());
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let scratch = self.parts.iter().map(|part| part.0.scratch_bytes(Workers::global(), cx.instances.len()));
        cx.predict(self.output_bytes, scratch.max().unwrap_or(0))
    }
}

/// Returns the kernel for any region of elementwise ops: for each position of the window, one pass over all results.
/// Returns `None` for a named reducer of `bf16` or `f16`, which rounds only once, if an operand and its result have
/// different types or one that kernels do not compute on, if a window has more than [`MAX_FOLDED`] elements, or if
/// [`FoldKernel::new`] returns `None`.
fn fold(plan: &PlanCx<'_>, view: &OpView<'_>, source: &Source) -> Option<FoldKernel> {
    let (n, out) = (view.results().len(), view.result_shape(0));
    let elems = (0..n).map(|i| Elem::of(view.operand_tensor(i).dtype)).collect::<Option<Vec<_>>>()?;
    let is_same = (0..n).all(|i| view.operand_tensor(i).dtype == view.result_tensor(i).dtype);
    let is_named = reduce_kind_of_op(view).is_some() && n == 1;
    let size = source.window.iter().try_fold(1usize, |n, w| n.checked_mul(w.size));
    // Named reducers round once, regions round each time.
    if size.is_none_or(|size| size > MAX_FOLDED) || !is_same || (is_named && elems[0] != elems[0].summed()) {
        return None;
    }
    let strides = row_major(&source.sizes);
    let element: Vec<isize> =
        strides.iter().zip(&source.window).map(|(s, w)| s.wrapping_mul(w.stride as isize)).collect();
    let offsets =
        positions(0, source.window.iter().zip(&strides).map(|(w, s)| (w.size, s.wrapping_mul(w.dilation as isize))));
    let sizes: Vec<usize> = elems.iter().map(|e| e.size()).collect();
    let operands = [vec![row_major(out); n], vec![element; n]].concat();
    let elements = (0..sizes.len()).map(Elements::Input).collect();
    FoldKernel::new(plan, view, out, &operands, &offsets, sizes, elements)
}
