//! Gathers and scatters: windows of an array at positions that a tensor of indices states.

mod locate;

use crate::elem::Elem;
use crate::kernels::buffers::{element_bytes, output_bytes, own_or_copy, written};
use crate::kernels::context::PlanCx;
use crate::kernels::indices::{Indices, clamp};
use crate::kernels::reducers::by_reducer;
use crate::kernels::strides::row_major;
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{copy_short, gather_rows};
use crate::parts::{Grid, Pace};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers, piece};
use bytemuck::Pod;
use locate::{Along, OUTSIDE, locate};
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::index::IndexDims;
use shardwise_ops::{ReduceKind, reducer};
use std::ops::Range;

/// With fewer bytes to write than this, a [`GatherKernel`] or [`ScatterKernel`] wakes no worker. A worker's part of a
/// [`GatherKernel`] has at most this many bytes, unless it cannot be divided. A longer piece of a window is copied in
/// parts of this size. The windows of a [`Run`] have at most this many elements together, unless it is one window.
const SMALL: usize = 1 << 18;
/// Ops whose windows have more pieces than this run by the reference evaluation.
const MAX_RUNS: usize = 1 << 16;
/// A piece of a window of at most this many bytes is copied without a poll of the budget of its own. The work is
/// counted after each [`Run`] of windows. Gathers of longer whole rows have a kernel of their own ([`RowsKernel`]).
const SHORT: usize = 64;

/// Returns the step of a `gather`. Returns `None` if the operand has a dimension of size 0, if the slices have more
/// than [`MAX_RUNS`] pieces each, or if the dimension numbers cannot be read.
pub fn gather<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    match rows(view) {
        Some(kernel) => Some(plan.kernel(view, kernel)),
        None => Some(plan.kernel(view, windows(view)?)),
    }
}

/// Returns the step of a `scatter`. Returns `None` as [`gather`] does, for several operands, if applying the updates
/// window by window could differ from their order, if the computation is no replacement and no named reducer, and if
/// there is no kernel for the types.
pub fn scatter<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, updates(view)?))
}

/// A gather whose slices are whole rows of the operand's trailing dimensions.
struct RowsKernel {
    row_bytes: usize,
    /// For each leading dimension that is indexed, the largest index and the stride in rows.
    picked: Vec<(usize, usize)>,
    index_dtype: DType,
    output_bytes: usize,
}

fn rows(view: &OpView<'_>) -> Option<RowsKernel> {
    let dims = IndexDims::of_gather(view)?;
    let (shape, sizes) = (view.operand_shape(0), dims.slice_sizes(view));
    let (map, offset, vector_dim) = (&dims.index_map, &dims.window, dims.index_vector_dim);
    let (indices, result_rank) = (view.operand_tensor(1), view.result_shape(0).len());
    let leading: Vec<usize> = (0..map.len()).collect();
    let is_trailing = offset.iter().enumerate().all(|(i, &d)| d == result_rank - offset.len() + i);
    let is_rows = *map == leading
        && dims.collapsed == leading
        && dims.operand_batching.is_empty()
        && is_trailing
        && sizes[map.len()..] == shape[map.len()..]
        && (vector_dim + 1 == indices.rank() || (vector_dim == indices.rank() && map.len() == 1));
    if !is_rows || map.is_empty() || shape[..map.len()].contains(&0) || !indices.dtype.is_integer() {
        return None;
    }
    let row_bytes = shape[map.len()..].iter().product::<usize>() * element_bytes(view);
    if (1..=SHORT).contains(&row_bytes) {
        // Short rows take less time as windows, many of which are located at once.
        return None;
    }
    let stride = |d: usize| shape[d + 1..map.len()].iter().product::<usize>();
    let picked = leading.iter().map(|&d| (shape[d] - 1, stride(d))).collect();
    Some(RowsKernel { row_bytes, picked, index_dtype: indices.dtype, output_bytes: output_bytes(view) })
}

impl RowsKernel {
    /// Returns the number of the row that index vector `r` selects. Each index is first limited to its dimension.
    #[inline]
    fn row(&self, indices: Indices<'_>, r: usize) -> usize {
        let first = r * self.picked.len();
        let at = |(d, &(limit, stride)): (usize, &(usize, usize))| clamp(indices.get(first + d), limit) * stride;
        self.picked.iter().enumerate().map(at).sum()
    }
}

impl Kernel for RowsKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        for (&i, output) in cx.instances.iter().zip(&mut outputs) {
            let (table, indices) = (cx.input(0, i).bytes(), Indices::new(cx.input(1, i), self.index_dtype));
            let row = |r: usize| &table[self.row(indices, r) * self.row_bytes..][..self.row_bytes];
            gather_rows(Workers::global(), self.row_bytes, written(output), row);
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

/// The positions of windows in the operand, which index vectors state, and in the slices (gather's result, scatter's
/// updates). Strides are in elements.
struct Windows {
    index_dtype: DType,
    /// The dimensions that number the windows.
    batch: Vec<Batch>,
    /// For each operand dimension, how the start of a window is found.
    starts: Vec<Start>,
    /// The operand dimensions whose start is an index.
    indexed: Vec<Indexed>,
    /// For each operand dimension, its size, its stride and the size of the window, in elements.
    dims: Vec<[usize; 3]>,
    /// The window's pieces that are contiguous in the operand and in the slices, as their offsets in both, in elements.
    runs: Vec<[usize; 2]>,
    /// The number of elements of a piece.
    run: usize,
    /// The number of elements that the operand has along the dimensions of a piece. A piece is part of one row of so
    /// many elements.
    block: usize,
    /// The window's dimensions in the operand, with their strides in the slices, in elements.
    window: Vec<(usize, usize)>,
}

/// A dimension that numbers windows.
struct Batch {
    size: usize,
    /// The strides of the dimension in the slices, in the indices and in the operand. The last is 0 if no operand
    /// dimension goes with the dimension.
    strides: [usize; 3],
}

/// An operand dimension in which an index states the start of windows.
struct Indexed {
    /// The offset of the index from the first one of the index vector, in elements of the indices.
    component: usize,
    along: Along,
}

/// A window, from which an iteration over windows advances to the next ones in order.
struct Cursor<'a> {
    batch: &'a [Batch],
    at: Vec<usize>,
    /// The positions of the window in the slices, in the indices, and in the operand without the indices.
    places: [usize; 3],
}

impl<'a> Cursor<'a> {
    fn new(batch: &'a [Batch], window: usize) -> Cursor<'a> {
        let (mut rest, mut at, mut places) = (window, vec![0; batch.len()], [0; 3]);
        for (b, at) in batch.iter().zip(&mut at).rev() {
            *at = rest % b.size;
            (0..3).for_each(|k| places[k] += *at * b.strides[k]);
            rest /= b.size;
        }
        Cursor { batch, at, places }
    }

    /// Returns the number of windows from this one to the last one along the innermost dimension of the batch, both
    /// included. Returns 1 if the batch has no dimensions.
    fn ahead(&self) -> usize {
        self.batch.last().zip(self.at.last()).map_or(1, |(b, at)| b.size - at)
    }

    /// Advances by `count` windows, which are at most [`Cursor::ahead`]. The first window follows the last one.
    fn advance(&mut self, count: usize) {
        let mut count = count;
        for (b, at) in self.batch.iter().zip(&mut self.at).rev() {
            *at += count;
            (0..3).for_each(|k| self.places[k] += count * b.strides[k]);
            if *at < b.size {
                return;
            }
            *at = 0;
            (0..3).for_each(|k| self.places[k] -= b.size * b.strides[k]);
            count = 1;
        }
    }
}

/// The most windows that are located at once.
const LOCATED: usize = 256;

/// Successive windows along the innermost dimension of the batch.
struct Run<'a> {
    /// The number of the first window.
    first: usize,
    /// The positions in the operand of the windows' first elements, or [`OUTSIDE`].
    places: &'a [usize],
    /// The position of the first window in the slices.
    slices: usize,
    /// The number of elements in the slices from window to window, or 0 if the batch has no dimensions.
    step: usize,
}

/// The start of a window along a dimension.
#[derive(Clone, Copy)]
enum Start {
    Zero,
    /// A number of the index vector, given by its offset from the first one, in elements of the indices.
    Index(usize),
    /// The index along the batch dimension with this number.
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
        if !index_dtype.is_integer() || operand.contains(&0) {
            return None;
        }
        let unsigned = |shape: &[usize]| row_major(shape).into_iter().map(|s| s as usize).collect::<Vec<_>>();
        let (from, at, to) = (unsigned(operand), unsigned(indices), unsigned(slices));
        let batch_dims = dims.indices_batch_dims(indices.len());
        let vector = at.get(dims.index_vector_dim).copied().unwrap_or(0);
        let start = |d: usize| {
            let component = dims.index_map.iter().position(|&m| m == d).map(|k| Start::Index(k * vector));
            component.or_else(|| {
                let k = dims.operand_batching.iter().position(|&o| o == d)?;
                batch_dims.iter().position(|&b| b == dims.indices_batching[k]).map(Start::Batch)
            })
        };
        let mut starts: Vec<Start> = (0..operand.len()).map(|d| start(d).unwrap_or(Start::Zero)).collect();
        let with = |k: usize| starts.iter().position(|s| matches!(s, Start::Batch(b) if *b == k));
        let pairs = dims.batch_dims(slices.len()).into_iter().zip(&batch_dims).enumerate();
        let batch = pairs.map(|(k, (s, &i))| {
            let strides = [to[s], at[i], with(k).map_or(0, |d| from[d])];
            Batch { size: slices[s], strides }
        });
        let batch = merged(batch.collect(), &mut starts);
        let indexed = starts.iter().enumerate().filter_map(|(d, start)| match *start {
            Start::Index(component) => {
                Some(Indexed { component, along: Along { limit: operand[d] - sizes[d], stride: from[d] } })
            }
            _ => None,
        });
        let indexed = indexed.collect();
        let walked = dims.window_operand_dims(operand.len());
        let window: Vec<(usize, usize)> = walked.iter().zip(&dims.window).map(|(&o, &s)| (o, to[s])).collect();
        let (mut run, mut block, mut outer) = (1, 1, window.len());
        while outer > 0 && from[window[outer - 1].0] == run && window[outer - 1].1 == run {
            outer -= 1;
            run *= sizes[window[outer].0];
            block *= operand[window[outer].0];
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
        Some(Windows { index_dtype, batch, starts, indexed, dims, runs, run, block, window })
    }

    fn count(&self) -> usize {
        self.batch.iter().map(|b| b.size).product()
    }

    fn indices<'a>(&self, buffer: &'a Buffer) -> Indices<'a> {
        Indices::new(buffer, self.index_dtype)
    }

    /// Calls `f` with the windows of this range, in order, in runs of at most [`LOCATED`]. A window that is not wholly
    /// inside of the operand is first moved to the nearest place inside if `MOVES`. Otherwise its position is
    /// [`OUTSIDE`].
    #[inline]
    fn for_each_run<const MOVES: bool>(&self, indices: Indices<'_>, windows: Range<usize>, mut f: impl FnMut(Run<'_>)) {
        let (mut cursor, mut pace) = (Cursor::new(&self.batch, windows.start), Pace::default());
        let step = self.batch.last().map_or([0; 3], |b| b.strides);
        // A run of large windows would take long between two polls.
        let most = (SMALL / (self.runs.len() * self.run).max(1)).clamp(1, LOCATED);
        let (mut all, mut first) = ([0; LOCATED], windows.start);
        while first < windows.end {
            let count = cursor.ahead().min(windows.end - first).min(most);
            let places = &mut all[..count];
            let [slices, at, start] = cursor.places;
            match step[2] {
                0 => places.fill(start),
                step => places.iter_mut().enumerate().for_each(|(k, place)| *place = start + k * step),
            }
            for indexed in &self.indexed {
                locate::<MOVES>(places, indices, [at + indexed.component, step[1]], indexed.along);
            }
            f(Run { first, places, slices, step: step[0] });
            pace.spend(16 + 4 * count * self.runs.len() * self.run);
            cursor.advance(count);
            first += count;
        }
    }

    fn starts(&self, indices: Indices<'_>, cursor: &Cursor<'_>) -> Vec<i64> {
        let at = |start: &Start| match *start {
            Start::Zero => 0,
            Start::Index(component) => indices.get(cursor.places[1] + component),
            Start::Batch(k) => cursor.at[k] as i64,
        };
        self.starts.iter().map(at).collect()
    }

    /// Calls `f` with the positions of the elements of a window that are inside of the operand: in the operand, and in
    /// the slices from the start of the window. `at` is the start of the window in each dimension of the operand.
    fn for_each_inside(&self, at: &[i64], mut f: impl FnMut(usize, usize)) {
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
        for element in 0..self.runs.len() * self.run {
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

/// Returns the dimensions of a batch without those of size 1, and with neighbours as one dimension if windows along it
/// follow each other at one distance, so that runs of windows are long. Numbers the dimensions anew in `starts`. A
/// dimension that occurs there is not merged, and becomes [`Start::Zero`] there if it has size 1.
fn merged(batch: Vec<Batch>, starts: &mut [Start]) -> Vec<Batch> {
    let mut out: Vec<Batch> = vec![];
    for (k, dim) in batch.into_iter().enumerate() {
        let mut own: Vec<&mut Start> = starts.iter_mut().filter(|s| matches!(s, Start::Batch(b) if *b == k)).collect();
        if dim.size == 1 {
            own.iter_mut().for_each(|start| **start = Start::Zero);
            continue;
        }
        match out.last_mut() {
            // Two dimensions with which no operand dimension goes.
            Some(last) if dim.strides[2] == 0 && last.strides == dim.strides.map(|s| s * dim.size) => {
                *last = Batch { size: last.size * dim.size, strides: dim.strides };
            }
            _ => {
                own.iter_mut().for_each(|start| **start = Start::Batch(out.len()));
                out.push(dim);
            }
        }
    }
    out
}

struct GatherKernel {
    windows: Windows,
    layout: Layout,
    size: usize,
    output_bytes: usize,
}

/// The result as matrices, of which workers take columns. The columns of a window belong to it alone.
struct Layout {
    /// The number of elements of a matrix.
    matrix: usize,
    /// The number of columns of a matrix.
    columns: usize,
    /// The size of the major dimension of the columns, which numbers windows.
    along: usize,
    /// The number of windows for each index of the columns' major dimension.
    windows: usize,
    /// The window's pieces, as their offset in the operand, their row and their column.
    runs: Vec<[usize; 3]>,
}

impl Layout {
    fn new(windows: &Windows, result: &[usize], batch: &[usize]) -> Layout {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let leading = (0..result.len()).take_while(|&d| batch.contains(&d) || result[d] == 1).count();
        let (matrix, columns, along, later) = match batch.iter().position(|&d| d >= leading && result[d] != 1) {
            None => (product(result), product(result), windows.count(), 1),
            Some(i) => {
                let later = batch[i + 1..].iter().map(|&d| result[d]).product();
                (product(&result[leading..]), product(&result[batch[i]..]), result[batch[i]], later)
            }
        };
        let place = |&[from, to]: &[usize; 2]| [from, to / columns.max(1), to % columns.max(1)];
        Layout { matrix, columns, along, windows: later, runs: windows.runs.iter().map(place).collect() }
    }
}

fn windows(view: &OpView<'_>) -> Option<GatherKernel> {
    let dims = IndexDims::of_gather(view)?;
    let sizes = dims.slice_sizes(view);
    let (operand, indices, result) = (view.operand_shape(0), view.operand_tensor(1), view.result_shape(0));
    let windows = Windows::new(&dims, operand, &indices.shape, indices.dtype, result, &sizes)?;
    let layout = Layout::new(&windows, result, &dims.batch_dims(result.len()));
    Some(GatherKernel { windows, layout, size: element_bytes(view), output_bytes: output_bytes(view) })
}

/// The part of a gather that one worker computes.
struct GatherPart<'a> {
    instance: usize,
    windows: Range<usize>,
    /// The offset of the part's first column in the result, in elements.
    start: usize,
    columns: Grid<'a, u8>,
}

impl Kernel for GatherKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        if self.output_bytes > 0 {
            let instances = cx.instances.iter().zip(&mut outputs);
            let parts = instances.flat_map(|(&i, output)| self.parts(i, written(output))).collect();
            let effort = effort(self.output_bytes * cx.instances.len());
            Workers::global().run_each(parts, effort, |part| self.fill(cx, part));
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

impl GatherKernel {
    fn parts<'a>(&self, instance: usize, output: &'a mut [u8]) -> impl Iterator<Item = GatherPart<'a>> {
        let Layout { matrix, columns, along, windows, .. } = self.layout;
        let (width, size) = (columns / along, self.size);
        let group = (SMALL / (matrix / along * size).max(1)).max(1);
        output.chunks_mut(matrix * size).enumerate().flat_map(move |(m, bytes)| {
            Grid::new(bytes, columns * size).columns(group * width * size).enumerate().map(move |(part, columns)| {
                let range = piece(along, group, part);
                let [first, end] = [range.start, range.end].map(|i| (m * along + i) * windows);
                GatherPart { instance, windows: first..end, start: m * matrix + range.start * width, columns }
            })
        })
    }

    fn fill(&self, cx: &KernelCx<'_>, part: GatherPart<'_>) {
        match (self.windows.run, self.size) {
            (1, 1) => self.fill_elements::<u8>(cx, part),
            (1, 2) => self.fill_elements::<u16>(cx, part),
            (1, 4) => self.fill_elements::<u32>(cx, part),
            (1, 8) => self.fill_elements::<u64>(cx, part),
            (1, 16) => self.fill_elements::<u128>(cx, part),
            _ => self.fill_runs(cx, part),
        }
    }

    fn fill_elements<T: Pod>(&self, cx: &KernelCx<'_>, part: GatherPart<'_>) {
        let table = bytemuck::cast_slice::<u8, T>(cx.input(0, part.instance).bytes());
        let mut columns = part.columns.cast::<T>();
        self.windows.for_each_run::<true>(self.windows.indices(cx.input(1, part.instance)), part.windows, |run| {
            for &[from, row, column] in &self.layout.runs {
                let to = columns.row(row)[run.slices - part.start + column..].iter_mut();
                let fill = |(to, &window): (&mut T, &usize)| *to = table[window + from];
                match run.step {
                    0 | 1 => to.zip(run.places).for_each(fill),
                    step => to.step_by(step).zip(run.places).for_each(fill),
                }
            }
        });
    }

    fn fill_runs(&self, cx: &KernelCx<'_>, mut part: GatherPart<'_>) {
        let (table, size, run_bytes) = (cx.input(0, part.instance).bytes(), self.size, self.windows.run * self.size);
        let mut pace = Pace::default();
        self.windows.for_each_run::<true>(self.windows.indices(cx.input(1, part.instance)), part.windows, |run| {
            if let ([[from, row, column]], true) = (&self.layout.runs[..], run_bytes <= SHORT) {
                let (to, first) = (part.columns.row(*row), run.slices - part.start + column);
                for (k, window) in run.places.iter().enumerate() {
                    let to = &mut to[(first + k * run.step) * size..][..run_bytes];
                    copy_short(&table[(window + from) * size..][..run_bytes], to);
                }
                return;
            }
            for (k, window) in run.places.iter().enumerate() {
                let place = run.slices + k * run.step - part.start;
                for &[from, row, column] in &self.layout.runs {
                    let to = &mut part.columns.row(row)[(place + column) * size..][..run_bytes];
                    let from = &table[(window + from) * size..][..run_bytes];
                    if run_bytes <= SHORT { copy_short(from, to) } else { copy_long(from, to, &mut pace) }
                }
            }
        });
    }
}

fn effort(bytes: usize) -> Effort {
    if bytes < SMALL { Effort::Small } else { Effort::Large }
}

fn copy_long(from: &[u8], to: &mut [u8], pace: &mut Pace) {
    for (from, to) in from.chunks(SMALL).zip(to.chunks_mut(SMALL)) {
        to.copy_from_slice(from);
        pace.spend(8 + to.len() / 8);
    }
}

/// The functions that combine updates with elements. Each result is rounded to the type of the elements.
#[derive(Clone, Copy)]
struct Combine {
    /// Combines updates with the same number of elements: `to[i] = to[i] ∘ from[i]`.
    run: fn(to: &mut [u8], from: &[u8]),
    /// Combines updates of `len` elements each, in order, with the elements from some positions on:
    /// `to[at[i] + k] = to[at[i] + k] ∘ from[len * i + k]`. Nothing is done for the position [`OUTSIDE`].
    windows: fn(to: &mut [u8], at: &[usize], from: &[u8], len: usize),
}

struct ScatterKernel {
    windows: Windows,
    size: usize,
    combine: Combine,
    output_bytes: usize,
    update_bytes: usize,
}

fn updates(view: &OpView<'_>) -> Option<ScatterKernel> {
    let [_, _, _] = view.operands() else { return None };
    let dims = IndexDims::of_scatter(view)?;
    let (operand, indices, updates) = (view.operand_tensor(0), view.operand_tensor(1), view.operand_tensor(2));
    let sizes = dims.update_sizes(&operand.shape, &updates.shape);
    let windows = Windows::new(&dims, &operand.shape, &indices.shape, indices.dtype, &updates.shape, &sizes)?;
    if !dims.keeps_order(operand.shape.len(), &updates.shape) {
        return None;
    }
    let region = view.regions()[0];
    let is_replaced = view.body.region_results(region)[0] == view.body[region].args[1];
    let combine = match is_replaced {
        true => replace(element_bytes(view))?,
        false => combine(Elem::of(operand.dtype)?, reducer::reduce_kind_of(view.module, view.body, region, 0)?)?,
    };
    let (output_bytes, update_bytes) = (output_bytes(view), updates.bytes() as usize);
    Some(ScatterKernel { windows, size: element_bytes(view), combine, output_bytes, update_bytes })
}

impl Kernel for ScatterKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = own_or_copy(cx, 0, self.output_bytes)?;
        if self.update_bytes > 0 && self.output_bytes > 0 {
            // The updates of one element are applied in order. Workers therefore share the operand's columns and never
            // the windows.
            let count =
                if cx.instances.len() > 1 { 1 } else { (self.windows.run / 64).clamp(1, Workers::global().count()) };
            let row = if count == 1 { self.output_bytes } else { self.windows.block * self.size };
            let width = (row / self.size).div_ceil(count) * self.size;
            let columns = |(&i, output)| {
                let parts = Grid::new(written(output), row).columns(width).enumerate();
                parts.map(move |(part, columns)| (i, Columns { columns, start: part * width, row }))
            };
            let parts = cx.instances.iter().zip(&mut outputs).flat_map(columns).collect();
            let effort = effort(self.update_bytes * cx.instances.len());
            Workers::global().run_each(parts, effort, |(i, mut columns): (usize, Columns<'_>)| {
                self.apply(&mut columns, self.windows.indices(cx.input(1, i)), cx.input(2, i).bytes());
            });
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = own_or_copy(cx, 0, self.output_bytes)?;
        cx.set(0, outputs);
        Ok(())
    }
}

/// The columns of an operand that one worker updates, in bytes.
struct Columns<'a> {
    columns: Grid<'a, u8>,
    /// The position of the first column in a row, in bytes.
    start: usize,
    /// The number of bytes of a whole row of the operand.
    row: usize,
}

impl Columns<'_> {
    /// Returns those of the `len` bytes from byte `place` of the operand on that are in these columns, and how many of
    /// the `len` bytes are before them. All must be in one row. Returns `None` if none are in these columns.
    fn own(&mut self, place: usize, len: usize) -> Option<(&mut [u8], usize)> {
        let (row, column) = if place < self.row { (0, place) } else { (place / self.row, place % self.row) };
        let (first, end) = (column.max(self.start), (column + len).min(self.start + self.columns.width()));
        (first < end).then(|| (&mut self.columns.row(row)[first - self.start..end - self.start], first - column))
    }
}

impl ScatterKernel {
    /// Applies all updates, in order, to the elements in these columns. An update of an element that is outside of the
    /// operand is skipped.
    fn apply(&self, columns: &mut Columns<'_>, indices: Indices<'_>, updates: &[u8]) {
        let (windows, size) = (&self.windows, self.size);
        windows.for_each_run::<false>(indices, 0..windows.count(), |run| {
            if let Some(to) = self.whole(columns, &run) {
                return (self.combine.windows)(to, run.places, &updates[run.slices * size..], windows.run);
            }
            for (k, &start) in run.places.iter().enumerate() {
                let slices = run.slices + k * run.step;
                let mut update = |place: usize, from: usize, count: usize| {
                    if let Some((to, skipped)) = columns.own(place * size, count * size) {
                        (self.combine.run)(to, &updates[from * size + skipped..][..to.len()]);
                    }
                };
                match start {
                    OUTSIDE => {
                        let at = windows.starts(indices, &Cursor::new(&windows.batch, run.first + k));
                        windows.for_each_inside(&at, |element, offset| update(element, slices + offset, 1));
                    }
                    _ => windows.runs.iter().for_each(|r| update(start + r[0], slices + r[1], windows.run)),
                }
            }
        });
    }

    /// Returns the whole operand if these columns are all of it, the windows of the run have one piece each, one after
    /// the other in the updates, and all are inside of the operand or have one element. Returns `None` otherwise.
    fn whole<'a>(&self, columns: &'a mut Columns<'_>, run: &Run<'_>) -> Option<&'a mut [u8]> {
        let Windows { runs, run: len, .. } = &self.windows;
        let is_whole = columns.row == self.output_bytes && columns.columns.width() == columns.row;
        let is_single = runs.len() == 1 && (run.step == *len || run.places.len() == 1);
        let are_inside = *len == 1 || !run.places.contains(&OUTSIDE);
        (is_whole && is_single && are_inside).then(|| columns.columns.row(0))
    }
}

/// Calls `combine`, in order, with each element of the windows at positions that are not [`OUTSIDE`] and the update for
/// it. Windows have `len` elements.
#[inline]
fn combine_windows<T: Pod>(to: &mut [u8], at: &[usize], from: &[u8], len: usize, combine: impl Fn(&mut T, T)) {
    let (to, from) = (bytemuck::cast_slice_mut::<u8, T>(to), bytemuck::cast_slice::<u8, T>(from));
    if len == 1 {
        at.iter().zip(from).filter(|(at, _)| **at != OUTSIDE).for_each(|(&at, &from)| combine(&mut to[at], from));
        return;
    }
    for (&at, from) in at.iter().zip(from.chunks_exact(len)).filter(|(at, _)| **at != OUTSIDE) {
        to[at..][..len].iter_mut().zip(from).for_each(|(to, &from)| combine(to, from));
    }
}

fn replace(size: usize) -> Option<Combine> {
    fn windows<T: Pod>(to: &mut [u8], at: &[usize], from: &[u8], len: usize) {
        combine_windows::<T>(to, at, from, len, |to, from| *to = from);
    }
    let windows = match size {
        1 => windows::<u8>,
        2 => windows::<u16>,
        4 => windows::<u32>,
        8 => windows::<u64>,
        16 => windows::<u128>,
        _ => return None,
    };
    Some(Combine { run: |to, from| to.copy_from_slice(from), windows })
}

fn combine(elem: Elem, kind: ReduceKind) -> Option<Combine> {
    macro_rules! with {
        ($T:ty, $widen:expr, $op:expr, $narrow:expr) => {{
            fn one(to: &mut $T, from: $T) {
                *to = $narrow($op($widen(*to), $widen(from)));
            }
            fn run(to: &mut [u8], from: &[u8]) {
                let (to, from) = (bytemuck::cast_slice_mut::<u8, $T>(to), bytemuck::cast_slice::<u8, $T>(from));
                to.iter_mut().zip(from).for_each(|(to, &from)| one(to, from));
            }
            Some(Combine { run, windows: |to, at, from, len| combine_windows(to, at, from, len, one) })
        }};
    }
    by_reducer!(elem, kind, with)
}

#[cfg(test)]
mod tests;
