//! Which programs become machine code, and their loops.
#![forbid(unsafe_code)]

use crate::block::emit::{Class, Granularity, Layout, classify};
use crate::block::program::{Node, Program, Role};
use crate::elem::Elem;
use crate::native::{Second, Width, formula, is_native, is_slow};
use crate::simd::Level;
use shardwise_mathfn::order::{CHUNK, SEGMENT};

/// The largest number of lanes of a row of a kernel that becomes machine code, with AVX2 and with AVX-512: the block
/// machine is faster on longer rows, because its vectors are larger.
const MOST_LANES: [usize; 2] = [1 << 14, 256];
/// The largest number of lanes of a row that a kernel in machine code reduces.
const MOST_REDUCED_LANES: usize = 512;
/// The largest number of lanes of a row of a kernel in machine code that reduces leading dimensions. The code passes
/// over all reduced rows for each vector. If rows are long, their cache lines may be gone when it comes to the next
/// vector.
const MOST_COLUMNS: usize = 128;
/// The largest number of lanes of a row of a kernel in machine code for some of whose operations [`is_slow`] is true.
const MOST_SLOW_LANES: usize = 64;
/// The largest work of a turn of the outermost loop, as the number of its lanes times that of the program's nodes. The
/// budget is not polled during a turn. A turn with this work takes about a millisecond.
const MOST_WORK: usize = 1 << 20;
/// The largest number of nodes of a program that becomes machine code.
const MOST_NODES: usize = 256;

/// The loops of a program that can become machine code, and what is known of its nodes.
#[derive(Debug)]
pub struct Shape {
    pub layout: Layout,
    pub classes: Vec<Class>,
    pub width: Width,
}

impl Shape {
    /// Returns the shape of a program, or `None` if there is no machine code for it or if it would be slower.
    pub fn new(program: &Program) -> Option<Shape> {
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
    pub fn turns(&self) -> usize {
        if self.layout.kept > 0 { self.layout.outer[0] } else { 1 }
    }

    /// Returns the number of lanes of a turn of the outermost loop.
    fn turn_lanes(&self) -> usize {
        let inner = &self.layout.outer[self.layout.kept.min(1)..];
        inner.iter().fold(self.layout.row_len, |lanes, &size| lanes.saturating_mul(size))
    }

    /// Returns the number of bytes from turn to turn of the outermost loop for an operand, or that of steps of an
    /// index.
    pub fn step(&self, operand: usize) -> isize {
        if self.layout.kept > 0 { self.layout.walks[operand].outer[0] } else { 0 }
    }

    pub fn second(&self, program: &Program, node: usize) -> Second {
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
