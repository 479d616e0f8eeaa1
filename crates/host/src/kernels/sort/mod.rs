//! Sorting by keys that a comparator computes from one element each and compares, one or several, and `chlo.top_k`.
//!
//! The block machine computes the keys of all elements. A line is then sorted by unsigned numbers in the keys' order
//! ([`Order`]), with the place in the line as the last one, so equal elements keep theirs. Floats that are compared as
//! numbers have no such order if one of them is NaN: such lines are merged as the reference does, comparison by comparison.
//!
//! Comparators of another form are left to the reference evaluation.

mod order;
#[cfg(test)]
mod tests;

use crate::block;
use crate::block::Pointer;
use crate::gang::lower::Lowering;
use crate::gang::{Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, region_value};
use crate::memory::{Buffer, OutOfMemory};
use crate::pool::{Effort, Workers, piece};
use order::Order;
use shardwise_ir::OpView;
use shardwise_ops::sort::{Direction, KeyPattern, dimension};

/// Elements of a part, at least.
const PART: usize = 1 << 13;

struct Key {
    /// The operand that it is a function of.
    input: usize,
    /// The function; none if the elements are keys.
    kernel: Option<block::Kernel>,
    order: Order,
}

/// Arrays of lines: element `i` of line `l` is at `l / step * n * step + l % step + i * step`.
#[derive(Clone, Copy)]
struct Lines {
    /// Elements of a line.
    n: usize,
    step: usize,
    count: usize,
}

impl Lines {
    fn along(shape: &[usize], dim: usize) -> Lines {
        let step = shape[dim + 1..].iter().product();
        Lines { n: shape[dim], step, count: shape[..dim].iter().product::<usize>() * step }
    }

    fn start(&self, line: usize) -> usize {
        line / self.step * self.n * self.step + line % self.step
    }

    /// Calls `f` with some lines at a time.
    fn for_each_part(&self, instances: &[usize], f: impl Fn(usize, std::ops::Range<usize>) + Sync) {
        let lines = (PART / self.n.max(1)).max(1);
        let parts = self.count.div_ceil(lines);
        let total = parts * instances.len();
        let effort = if total < 2 { Effort::Small } else { Effort::Large };
        Workers::global().run(total, effort, |part| f(instances[part / parts], piece(self.count, lines, part % parts)));
    }
}

struct SortKernel {
    keys: Vec<Key>,
    lines: Lines,
    /// Bytes of an element of each operand.
    sizes: Vec<usize>,
}

/// The step of a `sort` by keys.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
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
            false => Some(region_value(lowering, view.op, p.key, p.argument, count)?),
        };
        let elem = elem(lowering.body.ty(p.key).as_tensor()?.dtype)?;
        let is_descending = match p.direction {
            Direction::Less => false,
            Direction::Greater => true,
            _ => return None,
        };
        let order = Order::new(elem, is_descending, p.is_total)?;
        (is_only || !order.is_partial()).then_some(Key { input: p.input, kernel, order })
    };
    let keys = patterns.iter().map(key).collect::<Option<Vec<_>>>()?;
    let size = |i: usize| Some(elem(view.operand_tensor(i).dtype)?.size());
    let sizes = (0..view.operands().len()).map(size).collect::<Option<_>>()?;
    Some(lowering.step(view, StepKind::Kernel(Box::new(SortKernel { keys, lines, sizes }))))
}

impl Kernel for SortKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let count = self.lines.n * self.lines.count;
        let mut keys: Vec<Vec<Buffer>> = vec![];
        for key in &self.keys {
            keys.push(self.compute(cx, key, count)?);
        }
        for (k, size) in self.sizes.iter().enumerate() {
            for i in cx.instances.clone() {
                cx.outputs[k][i] = Some(cx.memory.allocate(count * size)?);
            }
        }
        let (cx, keys) = (&*cx, &keys);
        let position = |i: usize| cx.instances.iter().position(|&other| other == i).expect("one of them");
        self.lines.for_each_part(&cx.instances, |i, lines| {
            let own: Vec<&Buffer> = keys.iter().map(|k| &k[position(i)]).collect();
            for line in lines {
                let start = self.lines.start(line);
                let from = self.sorted(&own, start);
                for (k, &size) in self.sizes.iter().enumerate() {
                    let source = Pointer(cx.input(k, i).as_ptr());
                    let target = Pointer(cx.outputs[k][i].as_ref().expect("allocated").as_ptr());
                    // SAFETY: both have these lines; each is one worker's.
                    unsafe { pick(source, target, start, self.lines.step, size, &from) };
                }
            }
        });
        Ok(())
    }
}

impl SortKernel {
    /// The keys of each instance's elements.
    fn compute(&self, cx: &KernelCx<'_>, key: &Key, count: usize) -> Result<Vec<Buffer>, OutOfMemory> {
        let inputs = cx.instances.iter().map(|&i| cx.input(key.input, i));
        let Some(kernel) = &key.kernel else { return Ok(inputs.cloned().collect()) };
        let of = |_: &usize| cx.memory.allocate(count * key.order.size());
        let buffers = cx.instances.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let pairs = inputs.zip(&buffers).flat_map(|(x, key)| [Pointer(x.as_ptr()), Pointer(key.as_ptr())]);
        // SAFETY: operand and keys have `count` elements; the keys' buffers are new.
        unsafe { kernel.run(Workers::global(), &pairs.collect::<Vec<_>>(), false) };
        Ok(buffers)
    }

    /// For each place of a sorted line, the place from which its element comes.
    fn sorted(&self, keys: &[&Buffer], start: usize) -> Vec<u32> {
        let read =
            |(key, buffer): (&Key, &&Buffer)| key.order.read(buffer.bytes(), start, self.lines.step, self.lines.n);
        let mut keys: Vec<order::Numbers> = self.keys.iter().zip(keys).map(read).collect();
        match &mut keys[..] {
            [only] => std::mem::take(only).sorted(),
            several => order::sorted_by_all(several),
        }
    }
}

/// Writes the line's elements in the order of `from`.
///
/// # Safety
/// Both arrays must have the line.
unsafe fn pick(source: Pointer, target: Pointer, start: usize, step: usize, size: usize, from: &[u32]) {
    macro_rules! as_words {
        ($T:ty) => {{
            let (source, target) =
                (source.0.cast::<$T>().wrapping_add(start), target.0.cast::<$T>().wrapping_add(start));
            for (to, &from) in from.iter().enumerate() {
                // SAFETY: as the caller says; buffers are aligned, and hold whole elements.
                unsafe { target.add(to * step).write(source.add(from as usize * step).read()) };
            }
        }};
    }
    match size {
        1 => as_words!(u8),
        2 => as_words!(u16),
        4 => as_words!(u32),
        8 => as_words!(u64),
        _ => as_words!([u64; 2]),
    }
}

struct TopK {
    order: Order,
    lines: Lines,
    k: usize,
}

/// The step of a `top_k`.
pub fn top_k<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let shape = view.operand_shape(0);
    let lines = Lines::along(shape, shape.len().checked_sub(1)?);
    let order = Order::new(elem(view.operand_tensor(0).dtype)?, true, true)?;
    let k = view.attrs().size("k")?;
    if lines.n == 0 || lines.count == 0 || k == 0 || i32::try_from(lines.n).is_err() {
        return None;
    }
    Some(lowering.step(view, StepKind::Kernel(Box::new(TopK { order, lines, k }))))
}

impl Kernel for TopK {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (k, size) = (self.k, self.order.size());
        for i in cx.instances.clone() {
            cx.outputs[0][i] = Some(cx.memory.allocate(self.lines.count * k * size)?);
            cx.outputs[1][i] = Some(cx.memory.allocate(self.lines.count * k * 4)?);
        }
        let cx = &*cx;
        self.lines.for_each_part(&cx.instances, |i, lines| {
            let x = cx.input(0, i);
            let [values, indices] = [0, 1].map(|o| Pointer(cx.outputs[o][i].as_ref().expect("allocated").as_ptr()));
            for line in lines {
                let start = self.lines.start(line);
                let first = self.order.read(x.bytes(), start, 1, self.lines.n).first(k);
                let source = Pointer(x.as_ptr()).offset((start * size) as isize);
                let target = values.offset((line * k * size) as isize);
                let to = indices.offset((line * k * 4) as isize).0.cast::<u32>();
                // SAFETY: the operand has the line, the results `k` elements for it, which are one worker's.
                unsafe {
                    pick(source, target, 0, 1, size, &first);
                    to.copy_from_nonoverlapping(first.as_ptr(), k);
                }
            }
        });
        Ok(())
    }
}
