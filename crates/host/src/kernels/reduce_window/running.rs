//! Results so far: windows from the start of a dimension on, each combined from the one before.
//!
//! The reference starts each window with its initial value and those in the padding, which must change nothing.

use crate::block::Pointer;
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Kernel, KernelCx};
use crate::kernels::by_reducer::by_reducer;
use crate::kernels::fuse::elem;
use crate::kernels::moves::{allocate, input, output};
use crate::memory::OutOfMemory;
use crate::pool::{Effort, Workers, piece};
use shardwise_ir::{Attr, OpView, Value};
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::window::WindowDim;
use shardwise_ops::{Opcode, ReduceKind};

/// Lines that are walked together.
const LANES: usize = 16;
/// Below this many bytes, nobody is woken.
const SMALL: usize = 1 << 17;

pub struct Running {
    walk: Walk,
    /// Elements of a line.
    len: usize,
    /// Lines whose elements lie side by side.
    inner: usize,
    /// Groups of those.
    outer: usize,
    size: usize,
}

/// Walks up to [`LANES`] lines of `len` elements, `step` elements from one to the next; lines start `lane` elements apart.
type Walk = unsafe fn(Lines);

#[derive(Clone, Copy)]
struct Lines {
    from: *const u8,
    to: *mut u8,
    init: *const u8,
    len: usize,
    step: usize,
    lanes: usize,
    lane: usize,
}

pub fn kernel(lowering: &Lowering<'_>, view: &OpView<'_>, window: &[WindowDim]) -> Option<Running> {
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
    if !others || !is_running || x.dtype != out.dtype || !changes_nothing(lowering, kind, view.operand(1)) {
        return None;
    }
    let elem = elem(x.dtype)?;
    Some(Running {
        walk: walk(elem, kind)?,
        len: n,
        inner: x.shape[dim + 1..].iter().product(),
        outer: x.shape[..dim].iter().product(),
        size: elem.size(),
    })
}

/// Whether combining an initial value with itself gives it again.
fn changes_nothing(lowering: &Lowering<'_>, kind: ReduceKind, init: Value) -> bool {
    if kind.is_idempotent() {
        return true;
    }
    let Some(op) = lowering.body.def_op(init) else { return false };
    let view = lowering.view(op);
    let value = view.attr("value").and_then(Attr::as_dense).filter(|_| Opcode::of_view(&view) == Opcode::Constant);
    value.is_some_and(|x| x.to_dense().raw_bytes() == kind.identity(x.dtype()).to_dense().raw_bytes())
}

impl Kernel for Running {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (inner, outer) = (self.inner, self.outer);
        let bytes = self.len * inner * outer * self.size;
        allocate(cx, bytes)?;
        // Lines side by side, or, where there is one in a group, those of neighbouring groups.
        let (lines, groups, lane) = if inner > 1 { (inner, outer, 1) } else { (outer, 1, self.len) };
        let parts = lines.div_ceil(LANES);
        let effort = if bytes * cx.instances.len() < SMALL { Effort::Small } else { Effort::Large };
        Workers::global().run(cx.instances.len() * groups * parts, effort, |part| {
            let (i, rest) = (cx.instances[part / (groups * parts)], part % (groups * parts));
            let some = piece(lines, LANES, rest % parts);
            let start = ((rest / parts) * self.len * inner + some.start * lane) * self.size;
            let at = |p: Pointer| p.offset(start as isize).0;
            let init = input(cx, 1, i).0;
            let (from, to) = (at(input(cx, 0, i)), at(output(cx, i)));
            // SAFETY: operand and result have these lines; parts write different ones of the new output.
            unsafe { (self.walk)(Lines { from, to, init, len: self.len, step: inner, lanes: some.len(), lane }) };
        });
        Ok(())
    }
}

/// # Safety
/// As [`Walk`]: the lines must be readable and writable, of `T`.
#[inline(always)]
unsafe fn walk_lines<T: Copy, A: Copy>(
    lines: Lines,
    widen: impl Fn(T) -> A,
    op: impl Fn(A, A) -> A,
    narrow: impl Fn(A) -> T,
) {
    let (from, to) = (lines.from.cast::<T>(), lines.to.cast::<T>());
    // SAFETY: as the caller says.
    unsafe {
        let mut totals = [widen(lines.init.cast::<T>().read()); LANES];
        for i in 0..lines.len {
            let at = i * lines.step;
            if lines.lanes == LANES && lines.lane == 1 {
                for (l, total) in totals.iter_mut().enumerate() {
                    *total = op(*total, widen(from.add(at + l).read()));
                    to.add(at + l).write(narrow(*total));
                }
            } else {
                for (l, total) in totals[..lines.lanes].iter_mut().enumerate() {
                    *total = op(*total, widen(from.add(at + l * lines.lane).read()));
                    to.add(at + l * lines.lane).write(narrow(*total));
                }
            }
        }
    }
}

fn walk(elem: Elem, kind: ReduceKind) -> Option<Walk> {
    macro_rules! with {
        ($T:ty, $widen:expr, $op:expr, $narrow:expr) => {{
            unsafe fn lines(lines: Lines) {
                // SAFETY: as the caller says.
                unsafe { walk_lines::<$T, _>(lines, $widen, $op, $narrow) }
            }
            Some(lines as Walk)
        }};
    }
    by_reducer!(elem, kind, with)
}
