//! Gathers and scatters: windows of an array at places that a tensor of indices names.

use crate::block::Pointer;
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Kernel, KernelCx, Step, StepKind};
use crate::kernels::by_reducer::by_reducer;
use crate::kernels::fuse::{elem, row_major};
use crate::kernels::moves::{allocate, clamp, input, output, output_bytes, own_or_copy, read_index, size_of};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::move_rows;
use crate::pool::{Effort, Workers, piece};
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::index::IndexDims;
use shardwise_ops::{Opcode, ReduceKind, reducer};
use std::ops::Range;

/// Below this many bytes, nobody is woken.
const SMALL: usize = 1 << 18;
/// Windows of more pieces than this are left to the reference evaluation.
const MAX_RUNS: usize = 1 << 16;

/// The step of a gather or scatter, if there is a kernel for it.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel: Box<dyn Kernel> = match Opcode::of_view(view) {
        Opcode::Gather => match rows(view) {
            Some(kernel) => Box::new(kernel),
            None => Box::new(gather(view)?),
        },
        Opcode::Scatter => Box::new(scatter(view)?),
        _ => return None,
    };
    Some(lowering.step(view, StepKind::Kernel(kernel)))
}

/// A gather whose slices are whole rows of the operand's trailing dimensions.
struct RowsKernel {
    row_bytes: usize,
    /// Of the leading dimensions that the indices pick in: the largest index and the stride in rows.
    picked: Vec<(usize, usize)>,
    index_dtype: DType,
    output_bytes: usize,
}

fn rows(view: &OpView<'_>) -> Option<RowsKernel> {
    let numbers = view.attr("dimension_numbers")?.as_record()?;
    let list = |name: &str| numbers.sizes(name).unwrap_or_default();
    let (shape, sizes) = (view.operand_shape(0), view.sizes("slice_sizes"));
    let (map, offset) = (list("start_index_map"), list("offset_dims"));
    let (indices, result_rank) = (view.operand_tensor(1), view.result_shape(0).len());
    let vector_dim = numbers.size("index_vector_dim").unwrap_or(0);
    let leading: Vec<usize> = (0..map.len()).collect();
    let is_trailing = offset.iter().enumerate().all(|(i, &d)| d == result_rank - offset.len() + i);
    let is_rows = map == leading
        && list("collapsed_slice_dims") == leading
        && list("operand_batching_dims").is_empty()
        && is_trailing
        && sizes[map.len()..] == shape[map.len()..]
        && (vector_dim + 1 == indices.rank() || (vector_dim == indices.rank() && map.len() == 1));
    if !is_rows || map.is_empty() || shape[..map.len()].contains(&0) || !indices.dtype.is_integer() {
        return None;
    }
    let row_bytes = shape[map.len()..].iter().product::<usize>() * size_of(view)?;
    let stride = |d: usize| shape[d + 1..map.len()].iter().product::<usize>();
    let picked = leading.iter().map(|&d| (shape[d] - 1, stride(d))).collect();
    Some(RowsKernel { row_bytes, picked, index_dtype: indices.dtype, output_bytes: output_bytes(view) })
}

impl RowsKernel {
    /// The row that index vector `r` names.
    fn row(&self, indices: &Buffer, r: usize) -> usize {
        let at = |(d, &(limit, stride)): (usize, &(usize, usize))| {
            clamp(read_index(indices, r * self.picked.len() + d, self.index_dtype), limit) * stride
        };
        self.picked.iter().enumerate().map(at).sum()
    }
}

impl Kernel for RowsKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        allocate(cx, self.output_bytes)?;
        if self.output_bytes == 0 {
            return Ok(());
        }
        for &i in &cx.instances {
            let (table, out, indices) = (input(cx, 0, i), output(cx, i), cx.input(1, i));
            let from = |r: usize| table.offset((self.row(indices, r) * self.row_bytes) as isize);
            let to = |r: usize| out.offset((r * self.row_bytes) as isize);
            // SAFETY: rows are clamped into the operand; the output has one row for each index vector.
            unsafe { move_rows(Workers::global(), self.output_bytes / self.row_bytes, self.row_bytes, from, to) };
        }
        Ok(())
    }
}

/// Where the windows of the operand lie that index vectors name, and where they lie in the slices (gather's result,
/// scatter's updates). Strides are in elements.
struct Windows {
    index_dtype: DType,
    /// The dimensions that say which window: size, stride in the slices, stride in the indices.
    batch: Vec<[usize; 3]>,
    /// For each operand dimension: where its start is read.
    starts: Vec<Start>,
    /// Operand dimensions: size, stride, size of the window.
    dims: Vec<[usize; 3]>,
    /// The window's pieces that lie together in both: where they start in the operand and in the slices.
    runs: Vec<[usize; 2]>,
    /// Elements of a piece.
    run: usize,
    /// The window's dimensions in the operand, and their strides in the slices.
    window: Vec<(usize, usize)>,
}

/// Where a window starts along a dimension.
#[derive(Clone, Copy)]
enum Start {
    Zero,
    /// This far into the index vector.
    Index(usize),
    /// At the position along this batch dimension.
    Batch(usize),
}

impl Windows {
    fn new(
        dims: &IndexDims,
        operand: &[usize],
        indices: &[usize],
        index_dtype: DType,
        slices: &[usize],
        sizes: &[usize],
    ) -> Option<Windows> {
        let unsigned = |shape: &[usize]| row_major(shape).into_iter().map(|s| s as usize).collect::<Vec<_>>();
        let (from, at, to) = (unsigned(operand), unsigned(indices), unsigned(slices));
        let batch_dims = dims.indices_batch_dims(indices.len());
        let pairs = dims.batch_dims(slices.len()).into_iter().zip(&batch_dims);
        let batch = pairs.map(|(s, &i)| [slices[s], to[s], at[i]]).collect();
        let vector = at.get(dims.index_vector_dim).copied().unwrap_or(0);
        let start = |d: usize| {
            let component = dims.index_map.iter().position(|&m| m == d).map(|k| Start::Index(k * vector));
            component.or_else(|| {
                let k = dims.operand_batching.iter().position(|&o| o == d)?;
                batch_dims.iter().position(|&b| b == dims.indices_batching[k]).map(Start::Batch)
            })
        };
        let starts = (0..operand.len()).map(|d| start(d).unwrap_or(Start::Zero)).collect();
        let walked = dims.window_operand_dims(operand.len());
        let window: Vec<(usize, usize)> = walked.iter().zip(&dims.window).map(|(&o, &s)| (o, to[s])).collect();
        let (mut run, mut outer) = (1, window.len());
        while outer > 0 && from[window[outer - 1].0] == run && window[outer - 1].1 == run {
            outer -= 1;
            run *= sizes[window[outer].0];
            if sizes[window[outer].0] != operand[window[outer].0] {
                break;
            }
        }
        let mut runs = vec![[0, 0]];
        for &(o, stride) in &window[..outer] {
            if runs.len() * sizes[o] > MAX_RUNS {
                return None;
            }
            let step = [from[o], stride];
            runs = runs
                .iter()
                .flat_map(|&[a, b]| (0..sizes[o]).map(move |i| [a + i * step[0], b + i * step[1]]))
                .collect();
        }
        let dims = (0..operand.len()).map(|d| [operand[d], from[d], sizes[d]]).collect();
        let is_known = index_dtype.is_integer() && !operand.contains(&0);
        is_known.then_some(Windows { index_dtype, batch, starts, dims, runs, run, window })
    }

    /// Whether applying the updates window by window gives each element its updates in their row-major order: what walks
    /// outside the batch dimensions must never lead two windows to one element.
    fn keeps_order(&self, dims: &IndexDims) -> bool {
        let batch_ends =
            (0..self.batch.len() + dims.window.len()).rev().find(|d| !dims.window.contains(d)).unwrap_or(0);
        let outside = dims.window.iter().zip(&self.window).filter(|(d, _)| **d < batch_ends);
        outside.into_iter().all(|(_, &(o, _))| matches!(self.starts[o], Start::Zero))
    }

    fn count(&self) -> usize {
        self.batch.iter().map(|b| b[0]).product()
    }

    /// Where window `w` starts: in each dimension of the operand (not clamped), and in the slices.
    fn start(&self, indices: &Buffer, w: usize, at: &mut [i64]) -> usize {
        let (mut rest, mut slices, mut index) = (w, 0, 0);
        for &[size, to, from] in self.batch.iter().rev() {
            slices += rest % size * to;
            index += rest % size * from;
            rest /= size;
        }
        let position = |k: usize| w / self.batch[k + 1..].iter().map(|b| b[0]).product::<usize>() % self.batch[k][0];
        for (start, at) in self.starts.iter().zip(at) {
            *at = match *start {
                Start::Zero => 0,
                Start::Index(component) => read_index(indices, index + component, self.index_dtype),
                Start::Batch(k) => position(k) as i64,
            };
        }
        slices
    }

    /// The first element of the window, moved to where all of it is inside.
    fn clamped(&self, at: &[i64]) -> usize {
        self.dims.iter().zip(at).map(|(&[n, stride, window], &i)| clamp(i, n - window) * stride).sum()
    }

    /// Whether all of the window is inside.
    fn is_inside(&self, at: &[i64]) -> bool {
        self.dims.iter().zip(at).all(|(&[n, _, window], &i)| i >= 0 && i as u64 <= (n - window) as u64)
    }

    /// Calls `f` with the places, in operand and slices, of the elements of a window that lie inside, of this piece of
    /// each run.
    fn for_each_inside(&self, at: &[i64], piece: &Range<usize>, mut f: impl FnMut(usize, usize)) {
        let mut base = 0;
        let mut walked = self.window.iter().peekable();
        for (d, (&[n, stride, _], &i)) in self.dims.iter().zip(at).enumerate() {
            if walked.next_if(|w| w.0 == d).is_some() {
                continue;
            }
            if i < 0 || i as u64 >= n as u64 {
                return;
            }
            base += i as usize * stride;
        }
        for element in (0..self.runs.len() * self.run).filter(|e| piece.contains(&(e % self.run))) {
            let (mut rest, mut place, mut offset, mut inside) = (element, base, 0, true);
            for &(d, to) in self.window.iter().rev() {
                let [n, stride, size] = self.dims[d];
                let i = at[d].saturating_add((rest % size) as i64);
                inside &= i >= 0 && (i as u64) < n as u64;
                place = place.wrapping_add((i as usize).wrapping_mul(stride));
                offset += rest % size * to;
                rest /= size;
            }
            if inside {
                f(place, offset);
            }
        }
    }
}

struct GatherKernel {
    windows: Windows,
    size: usize,
    output_bytes: usize,
}

fn gather(view: &OpView<'_>) -> Option<GatherKernel> {
    let (dims, sizes) = (IndexDims::of_gather(view)?, view.sizes("slice_sizes"));
    let (operand, indices) = (view.operand_shape(0), view.operand_tensor(1));
    let windows = Windows::new(&dims, operand, &indices.shape, indices.dtype, view.result_shape(0), &sizes)?;
    Some(GatherKernel { windows, size: size_of(view)?, output_bytes: output_bytes(view) })
}

impl Kernel for GatherKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        allocate(cx, self.output_bytes)?;
        if self.output_bytes == 0 {
            return Ok(());
        }
        let count = self.windows.count();
        let group = (SMALL * count / self.output_bytes).max(1);
        let parts = count.div_ceil(group);
        let effort = effort(self.output_bytes * cx.instances.len());
        Workers::global().run(cx.instances.len() * parts, effort, |part| {
            let (i, part) = (cx.instances[part / parts], part % parts);
            let (from, to, indices) = (input(cx, 0, i), output(cx, i), cx.input(1, i));
            let mut at = vec![0; self.windows.dims.len()];
            for w in piece(count, group, part) {
                let slices = self.windows.start(indices, w, &mut at);
                let start = self.windows.clamped(&at);
                for run in &self.windows.runs {
                    let source = from.offset(((start + run[0]) * self.size) as isize);
                    let target = to.offset(((slices + run[1]) * self.size) as isize);
                    // SAFETY: the window is clamped into the operand; each window has its own place in the result.
                    unsafe { source.0.copy_to_nonoverlapping(target.0, self.windows.run * self.size) };
                }
            }
        });
        Ok(())
    }
}

fn effort(bytes: usize) -> Effort {
    if bytes < SMALL { Effort::Small } else { Effort::Large }
}

/// Combines `n` updates into as many elements: `to[i] = to[i] ∘ from[i]`, rounded.
pub(super) type Combine = unsafe fn(to: *mut u8, from: *const u8, n: usize);

struct ScatterKernel {
    windows: Windows,
    size: usize,
    /// `None`: updates replace elements.
    combine: Option<Combine>,
    output_bytes: usize,
    update_bytes: usize,
}

/// Of one input, by a computation that has a name.
fn scatter(view: &OpView<'_>) -> Option<ScatterKernel> {
    let [_, _, _] = view.operands() else { return None };
    let dims = IndexDims::of_scatter(view)?;
    let (operand, indices, updates) = (view.operand_tensor(0), view.operand_tensor(1), view.operand_tensor(2));
    let mut sizes = vec![1; operand.rank()];
    let walked = dims.window_operand_dims(operand.rank());
    walked.iter().zip(&dims.window).for_each(|(&o, &d)| sizes[o] = updates.shape[d]);
    let windows = Windows::new(&dims, &operand.shape, &indices.shape, indices.dtype, &updates.shape, &sizes)?;
    if !windows.keeps_order(&dims) {
        return None;
    }
    let region = view.regions()[0];
    let is_replaced = view.body.region_results(region)[0] == view.body[region].args[1];
    let combine = match is_replaced {
        true => None,
        false => {
            let kind = reducer::reduce_kind_of(view.module, view.body, region, 0)?;
            Some(combine(elem(operand.dtype)?, kind)?)
        }
    };
    let (output_bytes, update_bytes) = (output_bytes(view), updates.bytes() as usize);
    Some(ScatterKernel { windows, size: size_of(view)?, combine, output_bytes, update_bytes })
}

impl Kernel for ScatterKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for i in cx.instances.clone() {
            let target = own_or_copy(cx, 0, self.output_bytes, i)?;
            cx.outputs[0][i] = Some(target);
        }
        if self.update_bytes == 0 || self.output_bytes == 0 {
            return Ok(());
        }
        // Updates of one element are applied in order: workers share a window's columns, never the windows.
        let columns =
            if cx.instances.len() > 1 { 1 } else { (self.windows.run / 64).clamp(1, Workers::global().count()) };
        let effort = effort(self.update_bytes * cx.instances.len());
        Workers::global().run(cx.instances.len() * columns, effort, |part| {
            let (i, column) = (cx.instances[part / columns], part % columns);
            let piece = piece(self.windows.run, self.windows.run.div_ceil(columns), column);
            // SAFETY: the output is nobody else's, and parts of one instance write different columns.
            unsafe { self.apply(output(cx, i), cx.input(1, i), input(cx, 2, i), piece) };
        });
        Ok(())
    }
}

impl ScatterKernel {
    /// Applies the updates in this piece of each run.
    ///
    /// # Safety
    /// `to` and `updates` must point at the operand's and the updates' elements, and nobody else use the piece of `to`.
    unsafe fn apply(&self, to: Pointer, indices: &Buffer, updates: Pointer, piece: Range<usize>) {
        let windows = &self.windows;
        let place = |p: Pointer, element: usize| p.offset((element * self.size) as isize).0;
        let mut at = vec![0; windows.dims.len()];
        for w in 0..windows.count() {
            let slices = windows.start(indices, w, &mut at);
            if windows.is_inside(&at) {
                let start = windows.clamped(&at);
                for run in &windows.runs {
                    let (target, source) = (start + run[0] + piece.start, slices + run[1] + piece.start);
                    // SAFETY: the window is inside the operand, and the run in the updates.
                    unsafe { self.combine(place(to, target), place(updates, source), piece.len()) };
                }
            } else {
                windows.for_each_inside(&at, &piece, |element, offset| {
                    // SAFETY: the element is inside, and in this worker's piece of its run.
                    unsafe { self.combine(place(to, element), place(updates, slices + offset), 1) };
                });
            }
        }
    }

    /// # Safety
    /// `n` elements must be readable at `from` and writable at `to`, by nobody else.
    unsafe fn combine(&self, to: *mut u8, from: *const u8, n: usize) {
        // SAFETY: as the caller says.
        unsafe {
            match self.combine {
                Some(combine) => combine(to, from, n),
                None => from.copy_to_nonoverlapping(to, n * self.size),
            }
        }
    }
}

/// How a kind of reduction combines elements of this type, as the reference does: each result rounded.
pub(super) fn combine(elem: Elem, kind: ReduceKind) -> Option<Combine> {
    macro_rules! with {
        ($T:ty, $widen:expr, $op:expr, $narrow:expr) => {{
            unsafe fn each(to: *mut u8, from: *const u8, n: usize) {
                // SAFETY: as the caller says.
                unsafe { combine_each::<$T, _>(to, from, n, $widen, $op, $narrow) }
            }
            Some(each as Combine)
        }};
    }
    by_reducer!(elem, kind, with)
}

/// # Safety
/// `n` elements `T` must be at each, aligned as buffers and whole elements are.
#[inline(always)]
unsafe fn combine_each<T: Copy, A>(
    to: *mut u8,
    from: *const u8,
    n: usize,
    widen: impl Fn(T) -> A,
    op: impl Fn(A, A) -> A,
    narrow: impl Fn(A) -> T,
) {
    for i in 0..n {
        // SAFETY: as the caller says.
        unsafe {
            let to = to.cast::<T>().add(i);
            to.write(narrow(op(widen(to.read()), widen(from.cast::<T>().add(i).read()))));
        }
    }
}

#[cfg(test)]
mod tests;
