//! Machine code for kernels of simple operations whose rows are not too long.
//!
//! The block machine takes several nanoseconds for each instruction of each row, whatever the row's length, and copies
//! rows that do not fill a block. Machine code has loops of its own, and keeps values in registers. Its vectors have
//! 128 bits, so the block machine is faster where larger vectors matter most.
//!
//! A kernel becomes machine code when the block machine has run it for about as long as making the code takes. The
//! resulting bits are the same, except those of NaN: reductions have the order of `shardwise_mathfn::order`.
#![expect(unsafe_code, reason = "machine code is called")]

mod body;
#[cfg(test)]
mod tests;

use super::emit::{Class, Granularity, Layout, classify};
use super::program::{Node, Program, Role};
use crate::elem::Elem;
use crate::memory::Guard;
use crate::native::{Assembler, Functions, Second, Width, formula, is_native, is_slow};
use crate::operand::Pointer;
use crate::simd::Level;
use cranelift_codegen::ir::types;
use shardwise_mathfn::order::{CHUNK, SEGMENT};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The largest number of lanes of a row of a kernel that becomes machine code, with AVX2 and with AVX-512: the block
/// machine is faster on longer rows, because its vectors are larger.
const MOST_LANES: [usize; 2] = [1 << 14, 256];
/// As [`MOST_LANES`], for reductions of rows.
const MOST_REDUCED_LANES: usize = 512;
/// As [`MOST_LANES`], for reductions of leading dimensions. Machine code passes over all reduced rows for each vector,
/// whose cache lines may not stay in the caches until the next vector if rows are long.
const MOST_COLUMNS: usize = 128;
/// As [`MOST_LANES`], for kernels with operations that [`is_slow`].
const MOST_SLOW_LANES: usize = 64;
/// The largest work of a turn of the outermost loop, as the number of its lanes times that of the program's nodes. The
/// budget is not polled during a turn, which takes about a millisecond then.
const MOST_WORK: usize = 1 << 20;
/// The largest number of nodes of a program that becomes machine code.
const MOST_NODES: usize = 256;
/// An estimate of the time that making machine code takes, in nanoseconds: for a kernel, and for each of its nodes.
const MAKING: [u64; 2] = [100_000, 5_000];

/// The machine code of a kernel, which is made when the block machine has run the kernel as long as making it takes.
#[derive(Debug)]
pub struct Tier {
    program: Program,
    shape: Shape,
    /// An estimate of the time that the block machine has run the kernel, in nanoseconds.
    done: AtomicU64,
    functions: OnceLock<Option<Functions>>,
}

impl Tier {
    /// Returns the tier of a program that has been compiled to a kernel, or `None` if the block machine is to run it
    /// always.
    pub fn new(program: &Program) -> Option<Tier> {
        let shape = Shape::new(program)?;
        Some(Tier { program: program.clone(), shape, done: AtomicU64::new(0), functions: OnceLock::new() })
    }

    /// Returns true if there is machine code, or if the block machine has run the kernel so long that machine code is
    /// made now. Otherwise, counts an estimate of the time that the block machine takes for the next run.
    pub fn is_ready(&self, nanoseconds: impl Fn() -> usize) -> bool {
        if let Some(functions) = self.functions.get() {
            return functions.is_some();
        }
        let guard = Guard::current();
        if guard.is_guarding() && guard.fill().is_multiple_of(2) {
            // Tests with guarded memory compare both ways.
            return self.functions.get_or_init(|| self.make()).is_some();
        }
        let making = MAKING[0] + MAKING[1] * self.program.nodes.len() as u64;
        let next = nanoseconds() as u64;
        let is_due = self.done.fetch_add(next, Relaxed).saturating_add(next) >= making;
        is_due && self.functions.get_or_init(|| self.make()).is_some()
    }

    /// Returns the number of turns of the outermost loop around rows, along which a run can be divided.
    pub fn turns(&self) -> usize {
        self.shape.turns()
    }

    /// Runs some turns of the outermost loop of the machine code on an instance. `slots` and `pointers` are those of a
    /// [`Binding`]: [`Kernel::run`] has checked that the operands have all bytes that the kernel reaches.
    ///
    /// # Panics
    /// Panics if there is no machine code, or if there are no such turns.
    ///
    /// [`Binding`]: super::bound::Binding
    /// [`Kernel::run`]: super::Kernel::run
    pub fn run(&self, slots: &[Option<usize>], pointers: &[Pointer], turns: Range<usize>) {
        let functions = self.functions.get().and_then(Option::as_ref).expect("machine code");
        assert_eq!(slots.len(), self.program.operands.len(), "a slot for each operand");
        assert!(turns.start < turns.end && turns.end <= self.turns(), "turns of the outermost loop");
        let place = |(operand, slot): (usize, &Option<usize>)| {
            // An operand that counts an index has no memory. The address is its first number.
            let first = slot.map_or(std::ptr::null_mut(), |slot| pointers[slot].0);
            first.wrapping_offset(turns.start as isize * self.shape.step(operand))
        };
        let places: SmallVec<[*mut u8; 16]> = slots.iter().enumerate().map(place).collect();
        // SAFETY: the function has this type. It reads the list, and accesses what the kernel reaches, which the
        // operands have.
        unsafe {
            let function: unsafe extern "sysv64" fn(*const *mut u8, usize) = std::mem::transmute(functions.address(0));
            function(places.as_ptr(), turns.len());
        }
    }

    fn make(&self) -> Option<Functions> {
        let mut assembler = Assembler::new()?;
        assembler.function([&[types::I64, types::I64], &[]], |b| body::build(b, &self.program, &self.shape))?;
        assembler.finish()
    }
}

/// The loops of a program that can become machine code, and what is known of its nodes.
#[derive(Debug)]
struct Shape {
    layout: Layout,
    classes: Vec<Class>,
    width: Width,
}

impl Shape {
    /// Returns the shape of a program, or `None` if there is no machine code for it or if it would be slower.
    fn new(program: &Program) -> Option<Shape> {
        let layout = Layout::unmerged(program).ok()?;
        let classes = classify(program, &layout).ok()?;
        let width = Width { is_wide: program.wide };
        let most = most_lanes(program, &layout, &classes)?;
        let reduced: usize = layout.outer[layout.kept..].iter().product();
        // Longer rows, and more rows, are reduced in several parts.
        let is_one_part = layout.row_len <= SEGMENT && reduced <= CHUNK;
        let has_elements = layout.row_len > 0 && !layout.outer.contains(&0);
        let is_native = program.nodes.len() <= MOST_NODES
            && program.nodes.iter().all(|node| has_code(node, width))
            && program.operands.iter().all(|operand| operand.role == Role::Index || has_form(operand.elem, width));
        let suits = layout.row_len <= most && is_one_part && has_elements && is_native;
        let shape = Shape { layout, classes, width };
        (suits && shape.turn_lanes().saturating_mul(program.nodes.len()) <= MOST_WORK).then_some(shape)
    }

    /// Returns the number of turns of the outermost loop over kept dimensions, or 1 if there is none.
    fn turns(&self) -> usize {
        if self.layout.kept > 0 { self.layout.outer[0] } else { 1 }
    }

    /// Returns the number of lanes of a turn of the outermost loop.
    fn turn_lanes(&self) -> usize {
        let inner = &self.layout.outer[self.layout.kept.min(1)..];
        inner.iter().fold(self.layout.row_len, |lanes, &size| lanes.saturating_mul(size))
    }

    /// Returns the number of bytes from turn to turn of the outermost loop for an operand, or that of steps of an
    /// index.
    fn step(&self, operand: usize) -> isize {
        if self.layout.kept > 0 { self.layout.walks[operand].outer[0] } else { 0 }
    }

    fn second(&self, program: &Program, node: usize) -> Second {
        second(program, &self.classes, node)
    }
}

/// Returns the largest number of lanes of a row with which the program becomes machine code. Returns `None` if it
/// computes functions such as exponentials on lanes: the block machine has vectors of twice the size for them.
fn most_lanes(program: &Program, layout: &Layout, classes: &[Class]) -> Option<usize> {
    let width = Width { is_wide: program.wide };
    let mut most = MOST_LANES[usize::from(Level::best() == Level::Avx512)];
    for (node, class) in program.nodes.iter().zip(classes) {
        let (op, of) = match *node {
            Node::Reduce { op, of, .. } => {
                most = most.min(if layout.columns { MOST_COLUMNS } else { MOST_REDUCED_LANES });
                (op.combination(), of)
            }
            Node::Unary(op, a) if class.kind == Granularity::Lane => (op, a),
            Node::Binary(op, _, b) if class.kind == Granularity::Lane => (op, b),
            _ => continue,
        };
        if formula(op, width.is_wide).is_some() {
            return None;
        }
        if is_slow(op, width, second(program, classes, of)) {
            most = most.min(MOST_SLOW_LANES);
        }
    }
    Some(most)
}

/// Returns what is known of a node that is the second operand of an operation on lanes.
fn second(program: &Program, classes: &[Class], node: usize) -> Second {
    match (program.nodes[node], classes[node].kind) {
        (Node::Constant(bits), _) => Second::Constant(bits),
        (_, Granularity::Lane) => Second::Any,
        _ => Second::Same,
    }
}

/// Returns true if there is machine code for a node.
fn has_code(node: &Node, width: Width) -> bool {
    match *node {
        Node::Unary(op, _) | Node::Binary(op, ..) => is_native(op, width),
        Node::Reduce { op, .. } => is_native(op.combination(), width),
        Node::Input(_) | Node::Constant(_) | Node::Index(_) | Node::Select(..) => true,
    }
}

/// Returns true if machine code loads and stores elements of this type.
fn has_form(elem: Elem, width: Width) -> bool {
    elem != Elem::F16 && !(elem == Elem::BF16 && width.is_wide)
}
