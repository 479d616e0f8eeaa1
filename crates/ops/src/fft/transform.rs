//! The steps of a transform of an array: one for each transformed dimension.
//!
//! A step reads lines along one dimension, wherever their elements are, and writes them as the rows of a new array. So
//! the transformed dimension becomes the last one, and parts of the rows can be computed independently. The order of
//! steps is such that the last one writes the result's own order. Numbers are rounded once, at the end.

use super::line::{Plan, exchanged, room, table_len};
use crate::elementwise::complex::{narrow, widen};
use bytemuck::Pod;
use shardwise_base::budget::Meter;
use shardwise_base::{Complex64, DType, Data};
use shardwise_ir::OpView;

/// The largest number of lines that are transformed together.
const LINES: usize = 8;

/// The largest number of elements of lines that are transformed together, if there are several, with the room that
/// [`room`] returns.
const PANEL: usize = 1 << 14;

/// The least number of elements of the lines of a part of a step, except for the last part.
const PART: usize = 1 << 14;

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
}

/// Some rows that a step writes.
pub struct Part<'a> {
    first: usize,
    rows: &'a mut [u8],
}

/// Calls a function for each of some parts, in any order and perhaps at the same time.
pub type ForEachPart<'e> = &'e dyn for<'p> Fn(Vec<Part<'p>>, &(dyn for<'q> Fn(Part<'q>) + Sync));

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
            // The last dimension is real, so it is the first. It is copied at the end if another one became the last.
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
    /// depend on `for_each_part`.
    pub fn run(&self, plans: &Plans, x: &[u8], y: &mut [u8], for_each_part: ForEachPart<'_>) {
        let Some((last, steps)) = self.steps.split_last() else { return };
        let mut moved: Option<Data<Complex64>> = None;
        for step in steps {
            let mut to = Data::zeroed(step.line_count() * step.written);
            let from = moved.as_deref().map_or(x, bytemuck::cast_slice);
            step.run(self.is_inverse, plans, from, bytemuck::cast_slice_mut(&mut to), for_each_part);
            moved = Some(to);
        }
        let from = moved.as_deref().map_or(x, bytemuck::cast_slice);
        last.run(self.is_inverse, plans, from, y, for_each_part);
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
        let panels = self.steps.iter().map(|step| 2 * step.width() * room(step.n)).max().unwrap_or(0);
        let tables = self.steps.iter().fold(0, |sum: usize, step| sum.saturating_add(table_len(step.n)));
        let all = between.saturating_add(panels.saturating_mul(at_once)).saturating_add(tables);
        all.saturating_mul(size_of::<Complex64>())
    }
}

impl Step {
    /// Returns the step that reads an array of complex numbers with the dimensions `dims` (number and size of each),
    /// transforms its lines along dimension `d`, and writes the first `written` elements of each. A line has `n`
    /// elements, of which the array may have only the first. Lines are copied if `is_transformed` is false. Changes
    /// `dims` to the dimensions of the array that it writes.
    fn new(dims: &mut Vec<(usize, usize)>, d: usize, [n, written]: [usize; 2], is_transformed: bool) -> Step {
        let mut step =
            Step { from: DType::C128, to: DType::C128, others: vec![], stride: 1, n, read: n, written, is_transformed };
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
        step
    }

    fn line_count(&self) -> usize {
        self.others.iter().map(|&(size, _)| size).product()
    }

    /// Returns the largest number of lines that are transformed together.
    fn width(&self) -> usize {
        (PANEL / room(self.n)).clamp(1, LINES).min(self.line_count())
    }

    /// Returns the number of lines of each part but the last, which may have fewer.
    fn part(&self) -> usize {
        PART.div_ceil(self.n).next_multiple_of(self.width())
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

    fn run(&self, is_inverse: bool, plans: &Plans, x: &[u8], y: &mut [u8], for_each_part: ForEachPart<'_>) {
        let part = self.part();
        let bytes = part * self.written * self.to.storage_bytes();
        let rows = y.chunks_mut(bytes).enumerate();
        let parts = rows.map(|(i, rows)| Part { first: i * part, rows }).collect();
        let plan = plans.0.iter().find(|(n, _)| *n == self.n && self.is_transformed).map(|(_, plan)| plan);
        for_each_part(parts, &|part| self.run_part(is_inverse, plan, x, part));
    }

    fn run_part(&self, is_inverse: bool, plan: Option<&Plan>, x: &[u8], part: Part<'_>) {
        let row = self.written * self.to.storage_bytes();
        let len = |width: usize| width * plan.map_or(self.n, |_| room(self.n));
        let (mut own, mut other) = (Data::zeroed(len(self.width())), Data::zeroed(len(self.width())));
        let mut meter = Meter::default();
        for (i, rows) in part.rows.chunks_mut(self.width() * row).enumerate() {
            let width = rows.len() / row;
            let first = part.first + i * self.width();
            let starts: [usize; LINES] = std::array::from_fn(|l| if l < width { self.start(first + l) } else { 0 });
            let (own, other) = (&mut own[..len(width)], &mut other[..len(width)]);
            self.read(x, &starts[..width], own);
            if is_inverse {
                own[..self.n * width].iter_mut().for_each(|z| *z = exchanged(*z));
            }
            let [y, _] = match plan {
                Some(plan) => plan.run(width, [own, other], &mut meter),
                None => [own, other],
            };
            if is_inverse {
                let scale = 1.0 / self.n as f64;
                self.write(y, rows, width, |z| exchanged(z) * scale);
            } else {
                self.write(y, rows, width, |z| z);
            }
            meter.add((2 * self.n * width) as u64);
        }
    }

    /// Reads the lines with these starts, and interleaves them. Elements that the array does not have are the
    /// conjugates of those at the mirrored positions.
    fn read(&self, x: &[u8], starts: &[usize], to: &mut [Complex64]) {
        match self.from {
            DType::F32 => self.read_as(x, starts, to, |x: f32| Complex64::new(x.into(), 0.0)),
            DType::F64 => self.read_as(x, starts, to, |x: f64| Complex64::new(x, 0.0)),
            DType::C64 => self.read_as(x, starts, to, widen),
            DType::C128 => self.read_as(x, starts, to, |z: Complex64| z),
            _ => unreachable!("verified to be of floats or complex numbers"),
        }
        let width = starts.len();
        for j in self.read..self.n {
            let (given, row) = to.split_at_mut(j * width);
            let mirrored = &given[(self.n - j) * width..][..width];
            row.iter_mut().zip(mirrored).for_each(|(z, other)| *z = other.conj());
        }
    }

    fn read_as<T: Pod>(&self, x: &[u8], starts: &[usize], to: &mut [Complex64], widen: impl Fn(T) -> Complex64) {
        let x: &[T] = bytemuck::cast_slice(x);
        for (j, row) in to.chunks_exact_mut(starts.len()).take(self.read).enumerate() {
            row.iter_mut().zip(starts).for_each(|(z, start)| *z = widen(x[start + j * self.stride]));
        }
    }

    /// Writes the first elements of interleaved lines, changed by `scale`, as rows. Real rows have the real parts.
    fn write(&self, from: &[Complex64], rows: &mut [u8], width: usize, scale: impl Fn(Complex64) -> Complex64) {
        match self.to {
            DType::F32 => self.write_as(from, rows, width, |z| scale(z).re as f32),
            DType::F64 => self.write_as(from, rows, width, |z| scale(z).re),
            DType::C64 => self.write_as(from, rows, width, |z| narrow(scale(z))),
            DType::C128 => self.write_as(from, rows, width, scale),
            _ => unreachable!("verified to be of floats or complex numbers"),
        }
    }

    fn write_as<T: Pod>(&self, from: &[Complex64], rows: &mut [u8], width: usize, narrow: impl Fn(Complex64) -> T) {
        let rows: &mut [T] = bytemuck::cast_slice_mut(rows);
        for (l, row) in rows.chunks_exact_mut(self.written).enumerate() {
            row.iter_mut().zip(from.chunks_exact(width)).for_each(|(y, row)| *y = narrow(row[l]));
        }
    }
}
