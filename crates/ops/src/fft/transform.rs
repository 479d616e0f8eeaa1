//! The steps of a transform of an array: one for each transformed dimension.
//!
//! A step reads lines along one dimension, wherever their elements are, and writes them as the rows of a new array. So
//! the transformed dimension becomes the last one, and parts of the rows can be computed independently. The order of
//! steps is such that the last one writes the result's own order. Numbers are rounded once, at the end.

use super::line::{Parts, Plan, room, table_len};
use crate::elementwise::complex::narrow;
use bytemuck::Pod;
use shardwise_base::budget::Meter;
use shardwise_base::{Complex32, Complex64, DType, Data};
use shardwise_ir::OpView;

/// The largest number of lines that are transformed together.
const LINES: usize = 8;

/// The largest number of elements of several lines that are transformed together, where a line counts as the elements
/// that [`room`] returns for it. A longer line is transformed alone.
const PANEL: usize = 1 << 14;

/// The least number of elements of the lines of a part of a step, except for the last part.
const PART: usize = 1 << 14;

/// The number of unused elements after each of the four arrays of a part. Without them, the arrays would often compete
/// for the same lines of the cache.
const APART: usize = 72;

/// A transform of arrays of one type.
pub struct Transform {
    is_inverse: bool,
    /// The steps, first to last. Empty if the result has no elements.
    steps: Vec<Step>,
}

/// A transform of the lines along one dimension.
struct Step {
    from: DType,
    to: DType,
    /// For each other dimension, in the order of the array that is written, its size and its stride in the array that
    /// is read.
    others: Vec<(usize, usize)>,
    /// The stride of the lines' elements in the array that is read.
    stride: usize,
    /// The number of elements of a line.
    n: usize,
    /// The number of elements of a line that are read. The others are the conjugates of these.
    read: usize,
    /// The number of elements of a line that are written.
    written: usize,
    /// False if lines are only copied.
    is_transformed: bool,
    /// The number of elements of an array in which a line is transformed or copied.
    room: usize,
    /// The largest number of lines that are transformed together.
    width: usize,
}

/// Some rows that a step writes.
pub struct Part<'a> {
    step: &'a Step,
    is_inverse: bool,
    plan: Option<&'a Plan>,
    /// The array that the step reads.
    x: &'a [u8],
    /// The number of the first row.
    first: usize,
    rows: &'a mut [u8],
}

/// Calls [`Part::run`] for each of some parts, in any order and perhaps at the same time.
pub type RunParts<'e> = &'e dyn for<'p> Fn(Vec<Part<'p>>);

/// The plans of all lengths of a transform.
pub struct Plans(Vec<(usize, Plan)>);

impl Transform {
    /// Returns the transform of an op, which must be a valid `fft`.
    pub fn of(op: &OpView<'_>) -> Transform {
        let kind = op.attrs().str("fft_type").unwrap_or("");
        let (from, to) = (op.operand_tensor(0), op.result_tensor(0));
        let is_inverse = kind.starts_with('I');
        if to.size() == 0 {
            return Transform { is_inverse, steps: vec![] };
        }
        let rank = from.shape.len();
        let first = rank - op.sizes("fft_length").len();
        // The dimensions of the array that the next step reads, with their sizes there.
        let mut dims: Vec<(usize, usize)> = from.shape.iter().copied().enumerate().collect();
        let mut steps = vec![];
        let mut add = |d: usize, n: usize, written: usize, is_transformed: bool| {
            steps.push(Step::new(&mut dims, d, [n, written], is_transformed));
        };
        let last = rank - 1;
        if kind == "RFFT" {
            // The numbers are real, so the last dimension must be transformed first. If others follow, a copy then
            // makes it the last one again.
            add(last, from.shape[last], to.shape[last], true);
            (first..last).for_each(|d| add(d, from.shape[d], to.shape[d], true));
            if first < last {
                add(last, to.shape[last], to.shape[last], false);
            }
        } else {
            (first..rank).for_each(|d| add(d, to.shape[d], to.shape[d], true));
        }
        steps[0].from = from.dtype;
        steps.last_mut().expect("an `fft` has a length").to = to.dtype;
        Transform { is_inverse, steps }
    }

    /// Returns the plans of the transform's lengths, with which [`Transform::run`] runs it.
    pub fn plans(&self) -> Plans {
        let mut plans: Vec<(usize, Plan)> = vec![];
        for step in self.steps.iter().filter(|step| step.is_transformed) {
            if plans.iter().all(|(n, _)| *n != step.n) {
                plans.push((step.n, Plan::new(step.n)));
            }
        }
        Plans(plans)
    }

    /// Transforms the elements of an array, row-major and given as bytes, and writes the result to `y`, which must be
    /// as long as the result. Both arrays must be aligned. `plans` are those of this transform. The result does not
    /// depend on `run_parts`.
    pub fn run(&self, plans: &Plans, x: &[u8], y: &mut [u8], run_parts: RunParts<'_>) {
        let Some((last, steps)) = self.steps.split_last() else { return };
        let mut moved: Option<Data<Complex64>> = None;
        for step in steps {
            let mut to = Data::zeroed(step.line_count() * step.written);
            let from = moved.as_deref().map_or(x, bytemuck::cast_slice);
            step.run(self.is_inverse, plans, from, bytemuck::cast_slice_mut(&mut to), run_parts);
            moved = Some(to);
        }
        let from = moved.as_deref().map_or(x, bytemuck::cast_slice);
        last.run(self.is_inverse, plans, from, y, run_parts);
    }

    /// Returns the largest number of parts of a step, or 0 if there are no steps.
    pub fn part_count(&self) -> usize {
        self.steps.iter().map(|step| step.line_count().div_ceil(step.part())).max().unwrap_or(0)
    }

    /// Returns an upper bound of the bytes of the arrays of numbers that [`Transform::plans`] and [`Transform::run`]
    /// allocate at one time if `at_once` parts are computed at one time.
    pub fn scratch_bytes(&self, at_once: usize) -> usize {
        let moved = |step: &Step| step.line_count().saturating_mul(step.written);
        // A step reads one array and writes another one. The first reads the operand, and the last writes the result.
        let count = self.steps.len().saturating_sub(1);
        let between = self.steps[..count].iter().map(moved).max().unwrap_or(0).saturating_mul(count.min(2));
        let panels = self.steps.iter().map(|step| 2 * (step.width * step.room + APART)).max().unwrap_or(0);
        let tables = self.steps.iter().fold(0, |sum: usize, step| sum.saturating_add(table_len(step.n)));
        let all = between.saturating_add(panels.saturating_mul(at_once)).saturating_add(tables);
        all.saturating_mul(size_of::<Complex64>())
    }
}

impl Step {
    /// Returns the step that transforms all lines of an array of complex numbers along dimension `d`, and writes the
    /// first `written` elements of each. `dims` lists the dimensions of the array in order, each as its index and its
    /// size. A line has `n` elements, of which the array may have only the first. Lines are copied if `is_transformed`
    /// is false. Changes `dims` to the dimensions of the array that the step writes.
    fn new(dims: &mut Vec<(usize, usize)>, d: usize, [n, written]: [usize; 2], is_transformed: bool) -> Step {
        let mut step = Step {
            from: DType::C128,
            to: DType::C128,
            others: vec![],
            stride: 1,
            n,
            read: n,
            written,
            is_transformed,
            room: if is_transformed { room(n) } else { n },
            width: 1,
        };
        let mut stride = 1;
        for &(dim, size) in dims.iter().rev() {
            if dim == d {
                (step.stride, step.read) = (stride, size);
            } else {
                step.others.insert(0, (size, stride));
            }
            stride *= size;
        }
        dims.retain(|&(dim, _)| dim != d);
        dims.push((d, written));
        step.width = (PANEL / step.room).clamp(1, LINES).min(step.line_count());
        step
    }

    fn line_count(&self) -> usize {
        self.others.iter().map(|&(size, _)| size).product()
    }

    /// Returns the number of lines of each part but the last, which may have fewer.
    fn part(&self) -> usize {
        PART.div_ceil(self.n).next_multiple_of(self.width)
    }

    /// Returns the position of the first element of a line in the array that is read.
    fn start(&self, mut line: usize) -> usize {
        let mut start = 0;
        for &(size, stride) in self.others.iter().rev() {
            start += line % size * stride;
            line /= size;
        }
        start
    }

    fn run(&self, is_inverse: bool, plans: &Plans, x: &[u8], y: &mut [u8], run_parts: RunParts<'_>) {
        let part = self.part();
        let bytes = part * self.written * self.to.storage_bytes();
        let rows = y.chunks_mut(bytes).enumerate();
        let plan = plans.0.iter().find(|(n, _)| *n == self.n && self.is_transformed).map(|(_, plan)| plan);
        let own = |(i, rows)| Part { step: self, is_inverse, plan, x, first: i * part, rows };
        run_parts(rows.map(own).collect());
    }

    /// Reads the lines with these starts, and interleaves them. Elements that the array does not have are the
    /// conjugates of those at the mirrored positions.
    #[inline(always)]
    fn read(&self, x: &[u8], starts: &[usize], to: &mut Parts<'_>) {
        match self.from {
            DType::F32 => self.read_as(x, starts, to, |x: f32| [x.into(), 0.0]),
            DType::F64 => self.read_as(x, starts, to, |x: f64| [x, 0.0]),
            DType::C64 => self.read_as(x, starts, to, |z: Complex32| [z.re.into(), z.im.into()]),
            DType::C128 => self.read_as(x, starts, to, |z: Complex64| [z.re, z.im]),
            _ => unreachable!("verified to be of floats or complex numbers"),
        }
        let width = starts.len();
        for j in self.read..self.n {
            let mirrored = (self.n - j) * width..(self.n - j + 1) * width;
            to.re.copy_within(mirrored.clone(), j * width);
            to.im.copy_within(mirrored, j * width);
            to.im[j * width..][..width].iter_mut().for_each(|im| *im = -*im);
        }
    }

    #[inline(always)]
    fn read_as<T: Pod>(&self, x: &[u8], starts: &[usize], to: &mut Parts<'_>, parts: impl Fn(T) -> [f64; 2]) {
        let x: &[T] = bytemuck::cast_slice(x);
        let width = starts.len();
        let rows = to.re.chunks_exact_mut(width).zip(to.im.chunks_exact_mut(width));
        let rows = rows.take(self.read).enumerate().map(|(j, row)| (j * self.stride, row));
        if starts.iter().copied().eq(starts[0]..starts[0] + width) {
            for (at, (re, im)) in rows {
                for ((re, im), &z) in re.iter_mut().zip(im).zip(&x[starts[0] + at..]) {
                    [*re, *im] = parts(z);
                }
            }
        } else {
            for (at, (re, im)) in rows {
                for ((re, im), start) in re.iter_mut().zip(im).zip(starts) {
                    [*re, *im] = parts(x[start + at]);
                }
            }
        }
    }

    /// Writes the first elements of interleaved lines, whose parts are changed by `scale`, as rows. Real rows have the
    /// real parts.
    #[inline(always)]
    fn write(&self, from: &Parts<'_>, rows: &mut [u8], width: usize, scale: impl Fn(f64) -> f64) {
        match self.to {
            DType::F32 => self.write_as(from, rows, width, |[re, _]| scale(re) as f32),
            DType::F64 => self.write_as(from, rows, width, |[re, _]| scale(re)),
            DType::C64 => self.write_as(from, rows, width, |[re, im]| narrow(Complex64::new(scale(re), scale(im)))),
            DType::C128 => self.write_as(from, rows, width, |[re, im]| Complex64::new(scale(re), scale(im))),
            _ => unreachable!("verified to be of floats or complex numbers"),
        }
    }

    #[inline(always)]
    fn write_as<T: Pod>(&self, from: &Parts<'_>, rows: &mut [u8], width: usize, narrow: impl Fn([f64; 2]) -> T) {
        let rows: &mut [T] = bytemuck::cast_slice_mut(rows);
        for (l, row) in rows.chunks_exact_mut(self.written).enumerate() {
            let from = from.re.chunks_exact(width).zip(from.im.chunks_exact(width));
            row.iter_mut().zip(from).for_each(|(y, (re, im))| *y = narrow([re[l], im[l]]));
        }
    }
}

impl Part<'_> {
    /// Computes the rows. All that runs for each element is inlined, so that a caller can compile it with the
    /// instructions of the machine. The result does not depend on these, but for the bits of NaN.
    #[inline(always)]
    pub fn run(self) {
        let Part { step, is_inverse, plan, x, first, rows } = self;
        let row = step.written * step.to.storage_bytes();
        let most = step.width * step.room;
        let mut arrays = Data::<f64>::zeroed(4 * (most + APART));
        let mut meter = Meter::default();
        for (i, rows) in rows.chunks_mut(step.width * row).enumerate() {
            let width = rows.len() / row;
            let first = first + i * step.width;
            let starts: [usize; LINES] = std::array::from_fn(|l| if l < width { step.start(first + l) } else { 0 });
            let mut arrays = arrays.chunks_exact_mut(most + APART).map(|array| &mut array[..width * step.room]);
            let mut parts = || Some(Parts { re: arrays.next()?, im: arrays.next()? });
            let (mut own, other) = parts().zip(parts()).expect("there are four arrays");
            step.read(x, &starts[..width], &mut own);
            let own = if is_inverse { own.exchanged() } else { own };
            let [y, _] = match plan {
                Some(plan) => plan.run(width, [own, other], &mut meter),
                None => [own, other],
            };
            if is_inverse {
                let scale = 1.0 / step.n as f64;
                step.write(&y.exchanged(), rows, width, |part| part * scale);
            } else {
                step.write(&y, rows, width, |part| part);
            }
            meter.add((2 * step.n * width) as u64);
        }
    }
}
