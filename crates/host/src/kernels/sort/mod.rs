//! Sorting by one or several keys, each of which the comparator computes from one element of each side and compares,
//! and `chlo.top_k`.
//!
//! The block machine computes the keys of all elements. A line is then sorted by unsigned numbers in the keys' order
//! ([`Order`]), with the position in the line as the last key, so that equal elements keep their order. Floats that are
//! compared as numbers have no such order if one of them is NaN. Such lines are sorted by the merge sort of the
//! reference, comparison by comparison.
//!
//! Comparators of another form run by the reference evaluation.

mod order;
#[cfg(test)]
mod tests;

use crate::block::{self, Operand};
use crate::elem::Elem;
use crate::kernels::buffers::{read, write, written};
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::region_value;
use crate::memory::{Buffer, OutOfMemory};
use crate::operand::{Source, Target};
use crate::parts::{Grid, hold, table_bytes};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::small::Routine;
use bytemuck::Pod;
use order::Order;
use shardwise_ir::OpView;
use shardwise_ops::approximate::Selection;
use shardwise_ops::sort::{self, Direction, KeyPattern, dimension};

/// The largest number of elements of a part of a sort or a `top_k` that has several lines. A part has whole lines, at
/// least one.
const PART: usize = 1 << 13;

struct Key {
    /// The operand from which the key is computed.
    input: usize,
    /// The function that computes the key; `None` if the elements are the keys.
    kernel: Option<block::Kernel>,
    order: Order,
}

/// An array of lines. Element `i` of line `l` is at `l / step * n * step + l % step + i * step`.
#[derive(Clone, Copy)]
struct Lines {
    n: usize,
    step: usize,
    count: usize,
}

impl Lines {
    fn along(shape: &[usize], dim: usize) -> Lines {
        let step = shape[dim + 1..].iter().product();
        Lines { n: shape[dim], step, count: shape[..dim].iter().product::<usize>() * step }
    }

    /// Writes element `from[i]` of a line to position `i` of its result. `source` starts with the first element of the
    /// line. `target` is a part of the result, in which `group` and `column` are the line's number among the groups of
    /// lines side by side, and within its group, both counted from the part's first one.
    fn put<T: Pod>(&self, source: &[u8], target: &mut Grid<'_, u8>, [group, column]: [usize; 2], from: &[u32]) {
        let source = bytemuck::cast_slice::<u8, T>(source);
        if self.step == 1 {
            let (row, source) = (bytemuck::cast_slice_mut::<u8, T>(target.row(group)), &source[..self.n]);
            row.iter_mut().zip(from).for_each(|(to, &from)| *to = source[from as usize]);
        } else {
            let mut target = target.borrow().cast::<T>();
            for (i, &from) in from.iter().enumerate() {
                target.row(group * self.n + i)[column] = source[from as usize * self.step];
            }
        }
    }

    /// Returns the number of elements of the matrices that are divided into parts. The last matrix may have fewer. A
    /// matrix consists of whole groups of lines side by side. It is one part, unless a group of several lines is too
    /// large for a part: then each group is a matrix, and a part is some columns of it.
    fn part(&self) -> usize {
        let lines = (PART / self.n.max(1)).max(1);
        (lines / self.step).max(1) * self.n * self.step
    }

    /// Returns the number of elements in a row of the matrices that [`Lines::part`] describes, and in a row of a part.
    /// The last part of a matrix may have shorter rows.
    fn columns(&self) -> [usize; 2] {
        match self.step {
            1 => [self.n; 2],
            step => [step, (PART / self.n).clamp(1, step)],
        }
    }

    fn part_count(&self) -> usize {
        let [row, columns] = self.columns();
        (self.n * self.count).div_ceil(self.part()) * row.div_ceil(columns)
    }

    /// Returns the parts of an array whose elements have `size` bytes. Each is given by the index of its first element
    /// in the array, and by the bytes of its lines.
    fn parts<'a>(&self, array: &'a mut [u8], size: usize) -> Vec<(usize, Grid<'a, u8>)> {
        let (part, [row, columns]) = (self.part(), self.columns());
        let matrices = array.chunks_mut(part * size).map(|matrix| Grid::new(matrix, row * size));
        let parts = matrices.enumerate().flat_map(|(i, matrix)| {
            let parts = matrix.columns(columns * size).enumerate();
            parts.map(move |(c, lines)| (i * part + c * columns, lines))
        });
        parts.collect()
    }
}

struct SortKernel {
    keys: Vec<Key>,
    lines: Lines,
    /// The number of bytes of an element of each operand.
    sizes: Vec<usize>,
}

/// Returns the step of a `sort` by keys. Returns `None` for comparators of another form, for arrays without elements,
/// for lines of more elements than a `u32` counts, for several keys of which one compares floats as numbers, and for
/// types that kernels do not compute on or order.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = kernel(plan, view)?;
    Some(plan.kernel(view, kernel))
}

/// Returns the routine for a `sort` of small arrays by keys. Returns `None` as [`step`] does.
pub fn routine(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    Some(Box::new(kernel(plan, view)?))
}

fn kernel(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<SortKernel> {
    let shape = view.operand_shape(0);
    let count: usize = shape.iter().product();
    let lines = Lines::along(shape, dimension(view)?);
    let patterns = KeyPattern::lexicographic(view)?;
    let is_only = patterns.len() == 1;
    if count == 0 || u32::try_from(lines.n).is_err() {
        return None;
    }
    let key = |p: &KeyPattern| {
        let is_argument = p.key == p.argument;
        let kernel = match is_argument {
            true => None,
            false => Some(region_value(plan, view.op, p.key, p.argument, count)?),
        };
        let elem = Elem::of(plan.body.ty(p.key).as_tensor()?.dtype)?;
        let is_descending = match p.direction {
            Direction::Less => false,
            Direction::Greater => true,
            _ => return None,
        };
        let order = Order::new(elem, is_descending, p.is_total)?;
        (is_only || !order.is_partial()).then_some(Key { input: p.input, kernel, order })
    };
    let keys = patterns.iter().map(key).collect::<Option<Vec<_>>>()?;
    let size = |i: usize| Some(Elem::of(view.operand_tensor(i).dtype)?.size());
    let sizes = (0..view.operands().len()).map(size).collect::<Option<_>>()?;
    Some(SortKernel { keys, lines, sizes })
}

/// Some lines of an instance, with their parts of each result.
struct Part<'a> {
    /// The position of the instance among those to compute.
    position: usize,
    /// The index of the first element of the first line in the array.
    start: usize,
    results: Vec<Grid<'a, u8>>,
}

impl Kernel for SortKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let count = self.lines.n * self.lines.count;
        let keys = self.keys.iter().map(|key| self.compute(cx, key, count)).collect::<Result<Vec<_>, _>>()?;
        let outputs = self.sizes.iter().map(|size| cx.allocate(count * size));
        let mut outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let parts = self.parts(cx.instances.len(), &mut outputs);
        let effort = effort(parts.len());
        let _held = hold(self.scratch_bytes(parts.len()));
        Workers::global().run_each(parts, effort, |part| self.sort(cx, &keys, part));
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let count = self.lines.n * self.lines.count;
        let mut _keys = vec![];
        for key in &self.keys {
            let Some(kernel) = &key.kernel else { continue };
            _keys.push(cx.allocate(count * key.order.size())?);
            cx.predict_scratch(kernel.scratch_bytes(Workers::global(), cx.instances.len()))?;
        }
        let outputs = self.sizes.iter().map(|size| cx.allocate(count * size)).collect::<Result<Vec<_>, _>>()?;
        cx.predict_scratch(self.scratch_bytes(self.lines.part_count() * cx.instances.len()))?;
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }
}

impl Routine for SortKernel {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        let Lines { n, step, count } = self.lines;
        let computed = |key: &Key| {
            let Some(kernel) = &key.kernel else { return vec![] };
            let mut keys = vec![0u64; (n * count * key.order.size()).div_ceil(8)];
            let from = Operand::Read(Source::of(operands[key.input]));
            let to = Operand::Write(Target::at(bytemuck::cast_slice_mut(&mut keys), 0));
            kernel.run(Workers::global(), &[from, to], false);
            keys
        };
        let own: Vec<Vec<u64>> = self.keys.iter().map(computed).collect();
        let bytes = |(key, own): (&Key, _)| match key.kernel {
            Some(_) => bytemuck::cast_slice::<u64, u8>(own),
            None => operands[key.input],
        };
        let keys: Vec<&[u8]> = self.keys.iter().zip(own.iter().map(Vec::as_slice)).map(bytes).collect();
        for line in 0..count {
            let start = line / step * n * step + line % step;
            for (i, from) in self.sorted(&keys, start).into_iter().enumerate() {
                let [to, from] = [i, from as usize].map(|i| start + i * step);
                for ((operand, result), size) in operands.iter().zip(&mut *results).zip(&self.sizes) {
                    result[to * size..][..*size].copy_from_slice(&operand[from * size..][..*size]);
                }
            }
        }
    }
}

impl SortKernel {
    fn parts<'a>(&self, instances: usize, outputs: &'a mut [Vec<Buffer>]) -> Vec<Part<'a>> {
        let mut buffers: Vec<_> = outputs.iter_mut().map(|buffers| buffers.iter_mut()).collect();
        let mut parts = vec![];
        for position in 0..instances {
            let results = buffers.iter_mut().filter_map(|b| b.next()).zip(&self.sizes);
            let mut results: Vec<_> =
                results.map(|(b, &size)| self.lines.parts(written(b), size).into_iter()).collect();
            loop {
                let next: Vec<_> = results.iter_mut().filter_map(|parts| parts.next()).collect();
                let Some(&(start, _)) = next.first() else { break };
                parts.push(Part { position, start, results: next.into_iter().map(|(_, lines)| lines).collect() });
            }
        }
        parts
    }

    fn sort(&self, cx: &KernelCx<'_>, keys: &[Vec<Buffer>], mut part: Part<'_>) {
        let Lines { n, step, .. } = self.lines;
        let keys: Vec<&[u8]> = keys.iter().map(|k| k[part.position].bytes()).collect();
        let (rows, columns) = (part.results[0].rows(), part.results[0].width() / self.sizes[0]);
        let (groups, columns) = if step == 1 { (rows, 1) } else { (rows / n, columns) };
        for (group, column) in (0..groups).flat_map(|g| (0..columns).map(move |c| (g, c))) {
            let start = part.start + group * n * step + column;
            let from = self.sorted(&keys, start);
            for (k, &size) in self.sizes.iter().enumerate() {
                let source = &cx.input(k, cx.instances[part.position]).bytes()[start * size..];
                let target = &mut part.results[k];
                match size {
                    1 => self.lines.put::<u8>(source, target, [group, column], &from),
                    2 => self.lines.put::<u16>(source, target, [group, column], &from),
                    4 => self.lines.put::<u32>(source, target, [group, column], &from),
                    8 => self.lines.put::<u64>(source, target, [group, column], &from),
                    _ => self.lines.put::<u128>(source, target, [group, column], &from),
                }
            }
        }
    }

    /// Returns the number of bytes that are charged for the numbers and positions of lines, of as many of `parts` parts
    /// as run at one time. Small tables are not charged.
    fn scratch_bytes(&self, parts: usize) -> usize {
        let line = table_bytes::<u64>((self.keys.len() + 3).saturating_mul(self.lines.n));
        line.saturating_mul(Workers::global().at_once(parts, effort(parts)))
    }

    /// Returns, for each instance that is to be computed, the keys of its `count` elements: the input itself if its
    /// elements are the keys, or a new buffer. Fails if there is no memory for the buffers.
    fn compute(&self, cx: &KernelCx<'_>, key: &Key, count: usize) -> Result<Vec<Buffer>, OutOfMemory> {
        let inputs = cx.instances.iter().map(|&i| cx.input(key.input, i));
        let Some(kernel) = &key.kernel else { return Ok(inputs.cloned().collect()) };
        let mut buffers = cx.allocate(count * key.order.size())?;
        let operands: Vec<Operand> = inputs.zip(&mut buffers).flat_map(|(x, key)| [read(x), write(key)]).collect();
        kernel.run(Workers::global(), &operands, false);
        Ok(buffers)
    }

    /// Returns, for each position of a sorted line, the position from which its element comes. The line starts at
    /// element `start` of the keys.
    fn sorted(&self, keys: &[&[u8]], start: usize) -> Vec<u32> {
        let read = |(key, bytes): (&Key, &&[u8])| key.order.read(bytes, start, self.lines.step, self.lines.n);
        match (&self.keys[..], keys) {
            ([key], [buffer]) => read((key, buffer)).sorted(),
            (several, buffers) => order::sorted_by_all(&several.iter().zip(buffers).map(read).collect::<Vec<_>>()),
        }
    }
}

/// Selects the first elements of sorted lines.
struct Approximate {
    sort: SortKernel,
    /// The number of selected elements of a line.
    k: usize,
}

/// Returns the step of an `ApproxTopK`. Returns `None` as [`Selection::of`] does, and if there is no kernel because the
/// array or the results have no elements, a line has more elements than a u32 counts, or kernels do not order the
/// element type or do not compute on that of the indices.
pub fn approximate<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let Selection { dim, direction } = Selection::of(view)?;
    let lines = Lines::along(view.operand_shape(0), dim);
    let elems = [Elem::of(view.operand_tensor(0).dtype)?, Elem::of(view.operand_tensor(1).dtype)?];
    let order = Order::new(elems[0], direction == Direction::Greater, false)?;
    let k = view.result_shape(0)[dim];
    if lines.n == 0 || lines.count == 0 || k == 0 || u32::try_from(lines.n).is_err() {
        return None;
    }
    let keys = vec![Key { input: 0, kernel: None, order }];
    let sort = SortKernel { keys, lines, sizes: elems.map(|e| e.size()).to_vec() };
    Some(plan.kernel(view, Approximate { sort, k }))
}

impl Approximate {
    fn result_size(&self) -> usize {
        self.sort.lines.count * self.k
    }

    /// Writes the results of a group of lines side by side. `start` is the index of its first element in the inputs,
    /// and `results` are the group's parts of both results.
    fn select(&self, inputs: [&Buffer; 2], start: usize, results: [&mut [u8]; 2]) {
        let Lines { step, .. } = self.sort.lines;
        let [values, indices] = results;
        for column in 0..step {
            let from = self.sort.sorted(&[inputs[0].bytes()], start + column);
            for (i, &from) in from[..self.k].iter().enumerate() {
                let (source, target) = (start + column + from as usize * step, i * step + column);
                for (k, out) in [&mut *values, &mut *indices].into_iter().enumerate() {
                    let size = self.sort.sizes[k];
                    out[target * size..][..size].copy_from_slice(&inputs[k].bytes()[source * size..][..size]);
                }
            }
        }
    }
}

impl Kernel for Approximate {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (Lines { n, step, .. }, sizes) = (self.sort.lines, &self.sort.sizes);
        let mut values = cx.allocate(self.result_size() * sizes[0])?;
        let mut indices = cx.allocate(self.result_size() * sizes[1])?;
        let mut parts = vec![];
        for ((&i, values), indices) in cx.instances.iter().zip(&mut values).zip(&mut indices) {
            let [values, indices] = [(values, sizes[0]), (indices, sizes[1])]
                .map(|(buffer, size)| written(buffer).chunks_exact_mut(self.k * step * size));
            parts.extend(values.zip(indices).enumerate().map(|(group, part)| (i, group * n * step, part)));
        }
        let effort = effort(parts.len());
        let _held = hold(self.sort.scratch_bytes(parts.len()));
        Workers::global().run_each(parts, effort, |(i, start, (values, indices))| {
            self.select([cx.input(0, i), cx.input(1, i)], start, [values, indices]);
        });
        cx.set(0, values);
        cx.set(1, indices);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let parts = self.sort.lines.count / self.sort.lines.step * cx.instances.len();
        let indices = cx.allocate(self.result_size() * self.sort.sizes[1])?;
        cx.set(1, indices);
        cx.predict(self.result_size() * self.sort.sizes[0], self.sort.scratch_bytes(parts))
    }
}

fn effort(parts: usize) -> Effort {
    if parts < 2 { Effort::Small } else { Effort::Large }
}

struct TopK {
    order: Order,
    lines: Lines,
    k: usize,
}

/// Returns the step of a `top_k`. Returns `None` if there is no kernel because the array is a scalar or empty, `k` is
/// missing or 0, a line has more elements than an i32 counts, or kernels do not order its element type.
pub fn top_k<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let shape = view.operand_shape(0);
    let lines = Lines::along(shape, shape.len().checked_sub(1)?);
    let order = Order::new(Elem::of(view.operand_tensor(0).dtype)?, true, true)?;
    let k = sort::TopK::k(view)?;
    if lines.n == 0 || lines.count == 0 || k == 0 || i32::try_from(lines.n).is_err() {
        return None;
    }
    Some(plan.kernel(view, TopK { order, lines, k }))
}

impl TopK {
    /// Returns the number of bytes that are charged for the numbers of lines, of as many of `parts` parts as run at one
    /// time. Small tables are not charged.
    fn scratch_bytes(&self, parts: usize) -> usize {
        let line = table_bytes::<u64>(self.lines.n.saturating_mul(2));
        line.saturating_mul(Workers::global().at_once(parts, effort(parts)))
    }

    fn part(&self) -> usize {
        (PART / self.lines.n).max(1)
    }
}

impl Kernel for TopK {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (Lines { n, count, .. }, k, size) = (self.lines, self.k, self.order.size());
        let mut values = cx.allocate(count * k * size)?;
        let mut indices = cx.allocate(count * k * size_of::<u32>())?;
        let lines = self.part();
        let mut parts = vec![];
        for ((&i, values), indices) in cx.instances.iter().zip(&mut values).zip(&mut indices) {
            let lines_of = cx.input(0, i).bytes().chunks(lines * n * size);
            let indices = bytemuck::cast_slice_mut::<u8, u32>(written(indices)).chunks_mut(lines * k);
            parts.extend(lines_of.zip(written(values).chunks_mut(lines * k * size)).zip(indices));
        }
        let effort = effort(parts.len());
        let _held = hold(self.scratch_bytes(parts.len()));
        Workers::global().run_each(parts, effort, |((x, values), indices)| {
            let results = values.chunks_exact_mut(k * size).zip(indices.chunks_exact_mut(k));
            for (x, (values, indices)) in x.chunks_exact(n * size).zip(results) {
                indices.copy_from_slice(&self.order.read(x, 0, 1, n).first(k));
                for (value, &i) in values.chunks_exact_mut(size).zip(&*indices) {
                    value.copy_from_slice(&x[i as usize * size..][..size]);
                }
            }
        });
        cx.set(0, values);
        cx.set(1, indices);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (Lines { count, .. }, k) = (self.lines, self.k);
        let indices = cx.allocate(count * k * size_of::<u32>())?;
        cx.set(1, indices);
        let parts = count.div_ceil(self.part()) * cx.instances.len();
        cx.predict(count * k * self.order.size(), self.scratch_bytes(parts))
    }
}
