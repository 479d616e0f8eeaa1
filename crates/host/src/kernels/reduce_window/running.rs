//! Cumulative results: windows from the start of a dimension on, each computed from the one before.
//!
//! The reference starts each window with the initial value, and combines it with the initial values in the padding,
//! which comes before all elements. The kernel starts with the initial value alone, so combining an initial value with
//! itself must not change it.

use crate::elem::Elem;
use crate::kernels::buffers::written;
use crate::kernels::context::PlanCx;
use crate::kernels::reducers::by_reducer;
use crate::memory::OutOfMemory;
use crate::parts::{Grid, Pace};
use crate::plan::{Kernel, KernelCx};
use crate::pool::{Effort, Workers};
use crate::small::Routine;
use bytemuck::Pod;
use shardwise_base::Literal;
use shardwise_ir::{OpView, Value};
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::window::WindowDim;
use shardwise_ops::{ReduceKind, constant_value};

/// The largest number of lines that are processed together.
const LANES: usize = 16;
/// If the results of all instances have fewer bytes than this, no worker is woken.
const SMALL: usize = 1 << 17;
/// The most elements of a line that are processed between two calls of [`Pace::spend`].
const LONG: usize = 1 << 16;
/// The most rows of a matrix that are processed between two calls of [`Pace::spend`] if the lines are its columns.
const TALL: usize = LONG / LANES;

/// The kernel of cumulative results.
pub struct Running {
    walk: Walk,
    len: usize,
    /// The number of lines of a group. The lines of a group are side by side.
    inner: usize,
    /// The number of groups, which follow each other.
    outer: usize,
    size: usize,
}

/// Computes the running results of up to [`LANES`] lines from the initial value `init` on, and writes them to `to`. The
/// lines are rows of the matrix `from`, or its columns from `first` on.
type Walk = fn(from: &[u8], init: &[u8], to: Grid<'_, u8>, lines: Lines);

/// The position of some lines in a matrix.
#[derive(Clone, Copy)]
enum Lines {
    /// The rows of the matrix, which have this number of elements.
    Rows(usize),
    /// The columns of the matrix from `first` on; the matrix has `of` columns.
    Columns { first: usize, of: usize },
}

/// Returns the kernel of a `reduce_window` of one array by a named reducer whose results are cumulative along one
/// dimension: window `i` has elements 0 to `i` of the dimension, and before them only padding. Windows are single
/// elements along all other dimensions. Returns `None` for others, if combining initial values is not known to change
/// nothing, and if there is no kernel for the types.
pub fn kernel(plan: &PlanCx<'_>, view: &OpView<'_>, window: &[WindowDim]) -> Option<Running> {
    let kind = reduce_kind_of_op(view).filter(|_| view.results().len() == 1)?;
    let (x, out) = (view.operand_tensor(0), view.result_tensor(0));
    let (dim, w) = window.iter().enumerate().find(|(_, w)| !w.is_identity())?;
    let others = window.iter().enumerate().all(|(d, w)| d == dim || w.is_identity());
    let n = x.shape[dim];
    let is_running = w.stride == 1
        && w.dilation == 1
        && w.base_dilation == 1
        && w.size >= n
        && w.low >= 0
        && w.low as usize == w.size - 1
        && out.shape[dim] == n;
    if !others || !is_running || x.dtype != out.dtype || !is_repeatable(plan, kind, view.operand(1)) {
        return None;
    }
    let elem = Elem::of(x.dtype)?;
    Some(Running {
        walk: walk(elem, kind)?,
        len: n,
        inner: x.shape[dim + 1..].iter().product(),
        outer: x.shape[..dim].iter().product(),
        size: elem.size(),
    })
}

/// Returns true if it is known that combining an initial value with itself does not change it: the reducer is
/// idempotent, or the value is a constant such as the 0 of a sum.
fn is_repeatable(plan: &PlanCx<'_>, kind: ReduceKind, init: Value) -> bool {
    if kind.is_idempotent() {
        return true;
    }
    let Some(op) = plan.body.def_op(init) else { return false };
    let is_kept =
        |x: &Literal| kind.apply(x, x).is_some_and(|twice| twice.to_dense().raw_bytes() == x.to_dense().raw_bytes());
    constant_value(&plan.view(op)).is_some_and(is_kept)
}

impl Routine for Running {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        for (from, to, lines) in self.parts(operands[0], results[0]) {
            (self.walk)(from, operands[1], to, lines);
        }
    }
}

impl Kernel for Running {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.len * self.inner * self.outer * self.size)?;
        let mut parts = vec![];
        for (&i, output) in cx.instances.iter().zip(&mut outputs) {
            parts.extend(self.parts(cx.input(0, i).bytes(), written(output)).into_iter().map(|part| (i, part)));
        }
        let bytes = self.len * self.inner * self.outer * self.size * cx.instances.len();
        let effort = if bytes < SMALL { Effort::Small } else { Effort::Large };
        Workers::global().run_each(parts, effort, |(i, (from, to, lines))| {
            (self.walk)(from, cx.input(1, i).bytes(), to, lines);
        });
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.len * self.inner * self.outer * self.size, 0)
    }
}

impl Running {
    /// Divides the lines of an array into parts of up to [`LANES`] lines: lines side by side in a group, or, if a group
    /// has one line, those of neighbouring groups. A part has its matrix of the operand `from`, its elements of the
    /// result `to`, and the position of its lines in the matrix.
    fn parts<'a>(&self, from: &'a [u8], to: &'a mut [u8]) -> Vec<(&'a [u8], Grid<'a, u8>, Lines)> {
        let (of, size) = (self.inner, self.size);
        let row = if of == 1 { self.len * size } else { of * size };
        let matrix = row * if of == 1 { LANES } else { self.len };
        let matrices = from.chunks(matrix).zip(to.chunks_mut(matrix));
        let parts = matrices.flat_map(|(from, to)| {
            let columns = Grid::new(to, row).columns(if of == 1 { row } else { LANES * size }).enumerate();
            columns.map(move |(part, to)| match of {
                1 => (from, to, Lines::Rows(self.len)),
                _ => (from, to, Lines::Columns { first: part * LANES, of }),
            })
        });
        parts.collect()
    }
}

/// Processes lines as [`Walk`] does, with elements `T`. `op` combines a total with an element that `widen` converts,
/// and `narrow` converts each total to a result.
#[inline(always)]
fn walk_lines<T: Pod, A: Copy>(
    (from, init, to, lines): (&[u8], &[u8], Grid<'_, u8>, Lines),
    widen: impl Fn(T) -> A,
    op: impl Fn(A, A) -> A,
    narrow: impl Fn(A) -> T,
) {
    let (from, mut to) = (bytemuck::cast_slice::<u8, T>(from), to.cast::<T>());
    let mut pace = Pace::default();
    let mut totals = [widen(bytemuck::pod_read_unaligned(init)); LANES];
    let step = |total: &mut A, x: T| {
        *total = op(*total, widen(x));
        narrow(*total)
    };
    match lines {
        Lines::Columns { first, of } => {
            let mut to = to.each_row();
            for from in from.chunks(TALL * of) {
                for (from, to) in from.chunks_exact(of).zip(to.by_ref()) {
                    let from = &from[first..];
                    match (from.first_chunk(), to.first_chunk_mut()) {
                        (Some(from), Some(to)) => *to = step_all(&mut totals, from, step),
                        _ => step_some(&mut totals, from, to, step),
                    }
                }
                pace.spend(TALL * LANES);
            }
        }
        // One square of elements is processed at a time, so that the sums of several lines are computed at the same
        // time.
        Lines::Rows(len) if from.len() == LANES * len => {
            for start in (0..len).step_by(LANES) {
                pace.spend(LANES * LANES);
                let width = LANES.min(len - start);
                let mut square = [[T::zeroed(); LANES]; LANES];
                let line = |l: usize| l * len + start..l * len + start + width;
                (0..LANES).for_each(|l| square[l][..width].copy_from_slice(&from[line(l)]));
                for i in 0..width {
                    square.iter_mut().zip(&mut totals).for_each(|(line, total)| line[i] = step(total, line[i]));
                }
                (0..LANES).for_each(|l| to.row(l)[start..start + width].copy_from_slice(&square[l][..width]));
            }
        }
        Lines::Rows(len) => {
            for (l, (from, total)) in from.chunks_exact(len).zip(&mut totals).enumerate() {
                for (to, from) in to.row(l).chunks_mut(LONG).zip(from.chunks(LONG)) {
                    to.iter_mut().zip(from).for_each(|(to, &x)| *to = step(total, x));
                    pace.spend(LONG);
                }
            }
        }
    }
}

/// Applies `step` to the total and the next element of each line, and returns the results. A loop over arrays alone is
/// vectorised.
#[inline(always)]
fn step_all<T: Pod, A>(totals: &mut [A; LANES], from: &[T; LANES], step: impl Fn(&mut A, T) -> T) -> [T; LANES] {
    let mut to = [T::zeroed(); LANES];
    for ((to, total), &from) in to.iter_mut().zip(totals).zip(from) {
        *to = step(total, from);
    }
    to
}

fn step_some<T: Pod, A>(totals: &mut [A; LANES], from: &[T], to: &mut [T], step: impl Fn(&mut A, T) -> T) {
    to.iter_mut().zip(from).zip(totals).for_each(|((to, &x), total)| *to = step(total, x));
}

fn walk(elem: Elem, kind: ReduceKind) -> Option<Walk> {
    macro_rules! with {
        ($T:ty, $widen:expr, $op:expr, $narrow:expr) => {{
            fn lines(from: &[u8], init: &[u8], to: Grid<'_, u8>, lines: Lines) {
                walk_lines::<$T, _>((from, init, to, lines), $widen, $op, $narrow);
            }
            Some(lines as Walk)
        }};
    }
    by_reducer!(elem, kind, with)
}
