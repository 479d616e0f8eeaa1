//! Fusion: elementwise ops, and the reductions and broadcasts between them, become one block program.
//!
//! A group grows backwards from its root: a producer joins if all its uses are in the group. Views (broadcasts,
//! transposes, slices, reversals, reshapes that only add or drop dimensions of size 1) are never computed. A value is
//! emitted *at an access*, which states for each of its dimensions the index of the program's space that the dimension
//! follows, and a view only changes the access. A broadcast row is therefore an operand with stride 0, and a view is
//! dead if all its users read through it.

use crate::block::{self, Binary, Comparison, Program, Reducer, Unary};
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::points::Points;
use shardwise_base::DType;
use shardwise_ir::{Attr, Op, OpView, TensorType, Uses, Value};
use shardwise_ops::promote::is_promoted;
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::{Opcode, ReduceKind};
use std::collections::{HashMap, HashSet};

/// The largest number of ops of a group. Larger groups are not faster, because there are few temporaries.
const MAX_OPS: usize = 48;
/// The largest distance, in ops, from the root to a producer that joins.
const WINDOW: usize = 160;

/// Ops that run as one step, at the position of the last of them.
pub struct Group {
    /// The ops in program order. The last one is the root, whose result is the step's.
    pub ops: Vec<Op>,
    pub program: Fused,
}

/// A compiled group, and how it reads its operands.
pub struct Fused {
    pub kernel: block::Kernel,
    /// For each operand of the kernel, the value and the byte in it where the operand starts.
    pub reads: Vec<(Value, usize)>,
}

/// Returns the kernels' element type for a dtype, or `None` if there is none.
pub fn elem(dtype: DType) -> Option<Elem> {
    Some(match dtype {
        DType::I1 => Elem::Bool,
        DType::I8 => Elem::I8,
        DType::I16 => Elem::I16,
        DType::I32 => Elem::I32,
        DType::I64 => Elem::I64,
        DType::U8 => Elem::U8,
        DType::U16 => Elem::U16,
        DType::U32 => Elem::U32,
        DType::U64 => Elem::U64,
        DType::F16 => Elem::F16,
        DType::BF16 => Elem::BF16,
        DType::F32 => Elem::F32,
        DType::F64 => Elem::F64,
        DType::C64 => Elem::C64,
        DType::C128 => Elem::C128,
        _ => return None,
    })
}

/// Returns the strides of a row-major array, in elements.
pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as isize;
    }
    strides
}

/// Returns the groups of a block, in program order of their roots. Ops that are claimed are in no group.
pub fn groups(lowering: &Lowering<'_>, ops: &[Op], uses: &Uses, mut claimed: HashSet<Op>) -> Vec<Group> {
    let mut groups = vec![];
    for root in (0..ops.len()).rev() {
        if claimed.contains(&ops[root]) || !is_computed(&lowering.view(ops[root])) {
            continue;
        }
        let grown = grow(lowering, ops, root, uses, &claimed);
        let group = try_compile(lowering, grown).or_else(|| try_compile(lowering, vec![ops[root]]));
        if let Some(group) = group {
            claimed.extend(&group.ops);
            groups.push(group);
        }
    }
    groups.reverse();
    groups
}

/// Returns the root and all producers that only the group uses.
fn grow(lowering: &Lowering<'_>, ops: &[Op], root: usize, uses: &Uses, claimed: &HashSet<Op>) -> Vec<Op> {
    let root_view = lowering.view(ops[root]);
    let shape = Shape::of(&root_view);
    let points = lowering.points(root_view.result(0));
    let mut group = vec![ops[root]];
    let mut members: HashSet<Op> = HashSet::from([ops[root]]);
    for &op in ops[root.saturating_sub(WINDOW)..root].iter().rev() {
        let view = lowering.view(op);
        let is_view = is_view(&view);
        if group.len() >= MAX_OPS || claimed.contains(&op) || !(is_view || is_computed(&view)) {
            continue;
        }
        let own = uses.of(view.result(0));
        let only_here = !own.is_empty() && own.iter().all(|u| members.contains(&u.op));
        if only_here && (is_view || (joins(lowering, &view, &points) && shape.admits(&view))) {
            members.insert(op);
            group.push(op);
        }
    }
    group.reverse();
    group.retain(|&op| op == ops[root] || !is_view(&lowering.view(op)));
    group
}

fn joins(lowering: &Lowering<'_>, view: &OpView<'_>, points: &Points) -> bool {
    lowering.points(view.result(0)).axes == points.axes
}

/// The space of a group, which determines which ops are worth computing in it.
struct Shape {
    space: Vec<usize>,
    /// Whether the root folds elements.
    reduces: bool,
}

impl Shape {
    fn of(root: &OpView<'_>) -> Shape {
        match Opcode::of_view(root) {
            Opcode::Reduce => Shape { space: root.operand_shape(0).to_vec(), reduces: !folded(root).is_empty() },
            _ => Shape { space: root.result_shape(0).to_vec(), reduces: false },
        }
    }

    /// Returns whether an op may join: its value has the whole space, or at most one value for each row. A reduction
    /// must be over trailing dimensions.
    fn admits(&self, view: &OpView<'_>) -> bool {
        let size: usize = self.space.iter().product();
        let row = self.space.last().copied().unwrap_or(1).max(1);
        let own = view.result_tensor(0).size();
        match Opcode::of_view(view) {
            Opcode::Reduce => {
                !self.reduces && view.operand_shape(0) == self.space && is_trailing(&folded(view), &self.space)
            }
            _ => own == size || (own <= size / row && !self.reduces) || own <= 1,
        }
    }
}

/// Returns the dimensions along which a `reduce` folds elements. Dimensions of size 1 are only removed from the shape.
pub fn folded(reduce: &OpView<'_>) -> Vec<usize> {
    let mut dims = reduce.sizes("dimensions");
    dims.retain(|&d| reduce.operand_shape(0)[d] != 1);
    dims
}

/// Returns whether the dimensions are the last ones, apart from dimensions of size 1.
fn is_trailing(dims: &[usize], shape: &[usize]) -> bool {
    let first = dims.iter().copied().min().unwrap_or(shape.len());
    (first..shape.len()).all(|d| dims.contains(&d) || shape[d] == 1)
}

/// Returns whether the op only changes where elements are.
pub fn is_view(view: &OpView<'_>) -> bool {
    match Opcode::of_view(view) {
        Opcode::BroadcastInDim | Opcode::Transpose | Opcode::Slice | Opcode::Reverse => true,
        Opcode::Reshape => trivial_reshape(view.operand_shape(0), view.result_shape(0)).is_some(),
        _ => false,
    }
}

/// Returns for each dimension of the operand the dimension of the result that it becomes. Returns `None` if not only
/// dimensions of size 1 are added or removed.
fn trivial_reshape(from: &[usize], to: &[usize]) -> Option<Vec<Option<usize>>> {
    let mut rest = to.iter().enumerate().filter(|(_, n)| **n != 1);
    let map: Option<Vec<Option<usize>>> = from
        .iter()
        .map(|&n| match n {
            1 => Some(None),
            n => rest.next().filter(|(_, m)| **m == n).map(|(i, _)| Some(i)),
        })
        .collect();
    map.filter(|_| rest.next().is_none())
}

/// Returns whether a block program can compute the op.
pub fn is_computed(view: &OpView<'_>) -> bool {
    let is_known = match Opcode::of_view(view) {
        Opcode::Reduce => view.results().len() == 1 && reduce_kind_of_op(view).is_some() && !is_promoted(view),
        Opcode::BitcastConvert => view.operand_shape(0) == view.result_shape(0),
        Opcode::Select | Opcode::Clamp | Opcode::Compare | Opcode::Convert | Opcode::ChloSquare | Opcode::Iota => true,
        op => unary(op).is_some() || binary(op).is_some(),
    };
    let fits = |ty: &TensorType| elem(ty.dtype).is_some_and(|e| !e.is_complex());
    let mut types = view.operands().iter().chain(view.results()).map(|&v| view.body.ty(v).as_tensor());
    is_known && types.all(|t| t.is_some_and(fits))
}

fn unary(op: Opcode) -> Option<Unary> {
    Some(match op {
        Opcode::Abs => Unary::Abs,
        Opcode::Cbrt => Unary::Cbrt,
        Opcode::Ceil => Unary::Ceil,
        Opcode::CountLeadingZeros => Unary::CountLeadingZeros,
        Opcode::Cosine => Unary::Cos,
        Opcode::ChloErf => Unary::Erf,
        Opcode::ChloErfInv => Unary::ErfInv,
        Opcode::Exponential => Unary::Exp,
        Opcode::ExponentialMinusOne => Unary::Expm1,
        Opcode::Floor => Unary::Floor,
        Opcode::IsFinite => Unary::IsFinite,
        Opcode::Log => Unary::Log,
        Opcode::LogPlusOne => Unary::Log1p,
        Opcode::Logistic => Unary::Logistic,
        Opcode::Negate => Unary::Neg,
        Opcode::Not => Unary::Not,
        Opcode::Popcnt => Unary::Popcount,
        Opcode::RoundNearestAfz => Unary::RoundAway,
        Opcode::RoundNearestEven => Unary::RoundEven,
        Opcode::Rsqrt => Unary::Rsqrt,
        Opcode::Sign => Unary::Sign,
        Opcode::Sine => Unary::Sin,
        Opcode::Sqrt => Unary::Sqrt,
        Opcode::Tan => Unary::Tan,
        Opcode::Tanh => Unary::Tanh,
        _ => return None,
    })
}

fn binary(op: Opcode) -> Option<Binary> {
    Some(match op {
        Opcode::Add => Binary::Add,
        Opcode::And => Binary::And,
        Opcode::Atan2 => Binary::Atan2,
        Opcode::Divide => Binary::Div,
        Opcode::Maximum => Binary::Max,
        Opcode::Minimum => Binary::Min,
        Opcode::Multiply => Binary::Mul,
        Opcode::Or => Binary::Or,
        Opcode::Power => Binary::Pow,
        Opcode::Remainder => Binary::Rem,
        Opcode::ShiftLeft => Binary::ShiftLeft,
        Opcode::ShiftRightArithmetic => Binary::ShiftRightArithmetic,
        Opcode::ShiftRightLogical => Binary::ShiftRightLogical,
        Opcode::Subtract => Binary::Sub,
        Opcode::Xor => Binary::Xor,
        _ => return None,
    })
}

fn comparison(view: &OpView<'_>) -> Option<Comparison> {
    Some(match view.attrs().str("comparison_direction")? {
        "EQ" => Comparison::Eq,
        "NE" => Comparison::Ne,
        "LT" => Comparison::Lt,
        "LE" => Comparison::Le,
        "GT" => Comparison::Gt,
        "GE" => Comparison::Ge,
        _ => return None,
    })
    // The total order distinguishes -0 from +0, and NaNs from each other. The reference evaluation computes it.
    .filter(|_| view.attrs().str("compare_type") != Some("TOTALORDER"))
}

/// Returns the block machine's reducer for a kind of reduction.
pub fn reducer(kind: ReduceKind) -> Reducer {
    match kind {
        ReduceKind::Add => Reducer::Sum,
        ReduceKind::Mul => Reducer::Product,
        ReduceKind::Max => Reducer::Max,
        ReduceKind::Min => Reducer::Min,
        ReduceKind::And => Reducer::And,
        ReduceKind::Or => Reducer::Or,
    }
}

fn try_compile(lowering: &Lowering<'_>, ops: Vec<Op>) -> Option<Group> {
    let wide = Emitter::new(lowering, &ops, true);
    let narrow = Emitter::new(lowering, &ops, false);
    let emitter = if needs_wide(lowering, &ops) { wide } else { narrow };
    let program = emitter?.compile()?;
    Some(Group { ops, program })
}

/// Returns the scalar region of `op` as one program over a space, with operands with these strides as its arguments.
/// Returns `None` if an op of the region cannot be computed.
pub fn scalar_region(
    lowering: &Lowering<'_>,
    op: Op,
    space: &[usize],
    strides: &[Vec<isize>],
) -> Option<block::Kernel> {
    let region = lowering.body[op].regions[0];
    let (_, computed) = lowering.body[region].ops.split_last()?;
    let is_known = |&op: &Op| {
        let view = lowering.view(op);
        Opcode::of_view(&view) == Opcode::Constant || (is_computed(&view) && Opcode::of_view(&view) != Opcode::Reduce)
    };
    let args = &lowering.body[region].args;
    let args: Vec<_> = args.iter().copied().zip(strides.iter().cloned()).collect();
    let is_computed = computed.iter().all(is_known);
    is_computed.then(|| Emitter::region(lowering, op, space, &args, lowering.body.region_results(region))).flatten()
}

/// Returns a value in the region of `op`, computed from one of its arguments, as a program over a list of `count`
/// elements.
pub fn region_value(
    lowering: &Lowering<'_>,
    op: Op,
    value: Value,
    argument: Value,
    count: usize,
) -> Option<block::Kernel> {
    Emitter::region(lowering, op, &[count], &[(argument, vec![1])], &[value])
}

/// Returns whether a value, or the index from which it is computed, needs 64-bit lanes.
fn needs_wide(lowering: &Lowering<'_>, ops: &[Op]) -> bool {
    let is_wide = |&v: &Value| {
        let ty = lowering.body.ty(v).as_tensor();
        ty.and_then(|t| elem(t.dtype)).is_some_and(Elem::is_wide)
    };
    ops.iter().map(|&op| lowering.view(op)).any(|view| {
        view.operands().iter().chain(view.results()).any(is_wide)
            || (Opcode::of_view(&view) == Opcode::Iota && counted_in(&view) == Elem::I64)
    })
}

/// Returns the type of an iota's indices. In narrow types they wrap as the result does. The numbers that a float holds
/// are rounded once.
fn counted_in(iota: &OpView<'_>) -> Elem {
    let size = iota.attrs().size("iota_dimension").map_or(0, |dim| iota.result_shape(0)[dim]);
    if i32::try_from(size).is_ok() { Elem::I32 } else { Elem::I64 }
}

/// The index of the space that a dimension of a value follows: `start + step * index`, or the constant `start` if `dim`
/// is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Axis {
    dim: Option<usize>,
    step: isize,
    start: isize,
}

impl Axis {
    const ZERO: Axis = Axis { dim: None, step: 0, start: 0 };

    fn along(dim: usize) -> Axis {
        Axis { dim: Some(dim), step: 1, start: 0 }
    }

    /// Returns the index `start + step * self`.
    fn then(self, step: isize, start: isize) -> Axis {
        Axis { dim: self.dim, step: self.step * step, start: start + step * self.start }
    }
}

type Access = Vec<Axis>;

/// Builds the block program of a group.
struct Emitter<'a, 'm> {
    lowering: &'a Lowering<'m>,
    members: HashSet<Op>,
    root: Op,
    program: Program,
    space: Vec<usize>,
    /// The dimensions of the space that reductions fold.
    folded: Vec<usize>,
    reads: Vec<(Value, usize)>,
    known: HashMap<(Value, Access), block::Value>,
}

impl<'a, 'm> Emitter<'a, 'm> {
    fn new(lowering: &'a Lowering<'m>, ops: &[Op], wide: bool) -> Option<Emitter<'a, 'm>> {
        let root = *ops.last()?;
        let space = Shape::of(&lowering.view(root)).space;
        let reductions = ops.iter().map(|&op| lowering.view(op)).filter(|v| Opcode::of_view(v) == Opcode::Reduce);
        let folded = reductions.map(|v| folded(&v)).find(|dims| !dims.is_empty()).unwrap_or_default();
        let program = Program::new(&space).reducing(&folded);
        let program = if wide { program.wide() } else { program };
        let members = ops.iter().copied().collect();
        Some(Emitter { lowering, members, root, program, space, folded, reads: vec![], known: HashMap::new() })
    }

    /// Builds a program for some results of the region of `op` over a space. Its scalar arguments are operands with
    /// these strides, and the results are outputs. Returns `None` if anything else is read.
    fn region(
        lowering: &'a Lowering<'m>,
        op: Op,
        space: &[usize],
        args: &[(Value, Vec<isize>)],
        results: &[Value],
    ) -> Option<block::Kernel> {
        let ops = &lowering.body[lowering.body[op].regions[0]].ops;
        let program = Program::new(space);
        let program = if needs_wide(lowering, ops) { program.wide() } else { program };
        let mut emitter = Emitter {
            lowering,
            members: ops.iter().copied().collect(),
            root: op,
            program,
            space: space.to_vec(),
            folded: vec![],
            reads: vec![],
            known: HashMap::new(),
        };
        for (arg, strides) in args {
            let input = emitter.program.input(elem(lowering.body.ty(*arg).as_tensor()?.dtype)?, strides);
            emitter.known.insert((*arg, vec![]), input);
        }
        let values: Option<Vec<block::Value>> = results.iter().map(|&v| emitter.emit(v, &vec![])).collect();
        for value in values? {
            emitter.program.output(value, &row_major(space));
        }
        emitter.program.compile().ok().filter(|_| emitter.reads.is_empty())
    }

    fn compile(mut self) -> Option<Fused> {
        let view = self.lowering.view(self.root);
        let is_reduce = Opcode::of_view(&view) == Opcode::Reduce;
        let dropped = if is_reduce { view.sizes("dimensions") } else { vec![] };
        let access: Access = (0..self.space.len()).filter(|d| !dropped.contains(d)).map(Axis::along).collect();
        let value = self.emit(view.result(0), &access)?;
        let strides = strides_of(view.result_shape(0), &access, self.space.len()).0;
        if is_reduce && !self.folded.is_empty() && is_trailing(&self.folded, &self.space) {
            self.program.row_output(value, &strides);
        } else {
            self.program.output(value, &strides);
        }
        let kernel = self.program.compile().ok()?;
        Some(Fused { kernel, reads: self.reads })
    }

    fn emit(&mut self, v: Value, access: &Access) -> Option<block::Value> {
        let key = (v, access.clone());
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        let value = self.emit_new(v, access)?;
        self.known.insert(key, value);
        Some(value)
    }

    fn emit_new(&mut self, v: Value, access: &Access) -> Option<block::Value> {
        let Some(op) = self.lowering.body.def_op(v) else { return self.read(v, access) };
        let view = self.lowering.view(op);
        match Opcode::of_view(&view) {
            Opcode::Constant => self.constant(&view, access),
            Opcode::Iota if self.members.contains(&op) => self.iota(&view, access),
            _ if is_view(&view) => {
                let inner = through(&view, access)?;
                self.emit(view.operand(0), &inner)
            }
            _ if self.members.contains(&op) => self.compute(&view, access),
            _ => self.read(v, access),
        }
    }

    fn read(&mut self, v: Value, access: &Access) -> Option<block::Value> {
        let ty = self.lowering.body.ty(v).as_tensor()?;
        let elem = elem(ty.dtype)?;
        let (strides, start) = strides_of(&ty.shape, access, self.space.len());
        self.reads.push((v, usize::try_from(start).ok()? * elem.size()));
        Some(self.program.input(elem, &strides))
    }

    fn constant(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let literal = view.attr("value").and_then(Attr::as_dense)?;
        if literal.size() == 0 || !literal.is_uniform() {
            return self.read(view.result(0), access);
        }
        Some(self.program.constant(elem(literal.dtype())?, literal.element_bytes(0)))
    }

    fn iota(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let to = elem(view.result_tensor(0).dtype)?;
        let axis = access[view.attrs().size("iota_dimension")?];
        let counted = counted_in(view);
        let mut index = match axis.dim {
            Some(dim) => self.program.index(counted, dim),
            None => self.int(counted, 0),
        };
        if axis.step != 1 {
            let step = self.int(counted, axis.step);
            index = self.program.binary(Binary::Mul, index, step)?;
        }
        if axis.start != 0 {
            let start = self.int(counted, axis.start);
            index = self.program.binary(Binary::Add, index, start)?;
        }
        if to == counted { Some(index) } else { self.program.convert(index, to) }
    }

    fn int(&mut self, elem: Elem, value: isize) -> block::Value {
        self.program.constant(elem, &value.to_le_bytes()[..elem.size()])
    }

    fn compute(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let opcode = Opcode::of_view(view);
        if opcode == Opcode::Reduce {
            return self.reduce(view, access);
        }
        // Scalar operands of select and clamp have no dimensions.
        let of = |rank: usize| if rank == 0 { vec![] } else { access.clone() };
        let operands: Option<Vec<block::Value>> =
            (0..view.operands().len()).map(|i| self.emit(view.operand(i), &of(view.operand_shape(i).len()))).collect();
        match (opcode, &operands?[..]) {
            (Opcode::ChloSquare, &[a]) => self.program.binary(Binary::Mul, a, a),
            (Opcode::BitcastConvert, &[a]) => self.program.reinterpret(a, elem(view.result_tensor(0).dtype)?),
            (Opcode::Convert, &[a]) => self.program.convert(a, elem(view.result_tensor(0).dtype)?),
            (Opcode::Compare, &[a, b]) => self.program.binary(Binary::Compare(comparison(view)?), a, b),
            (Opcode::Select, &[p, a, b]) => Some(self.program.select(p, a, b)),
            (Opcode::Clamp, &[low, x, high]) => self.program.clamp(low, x, high),
            (op, &[a]) => self.program.unary(unary(op)?, a),
            (op, &[a, b]) => self.program.binary(binary(op)?, a, b),
            _ => None,
        }
    }

    fn reduce(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let (dims, folded) = (view.sizes("dimensions"), folded(view));
        let follows_folded = |a: &Axis| a.dim.is_some_and(|d| folded.contains(&d));
        if !(folded.is_empty() || folded == self.folded)
            || view.operand_shape(0) != self.space
            || access.iter().any(follows_folded)
        {
            return None;
        }
        let mut kept = access.iter();
        let inner: Option<Access> = (0..self.space.len())
            .map(|d| if dims.contains(&d) { Some(Axis::along(d)) } else { kept.next().copied() })
            .collect();
        let of = self.emit(view.operand(0), &inner?)?;
        let init = self.emit(view.operand(1), &vec![])?;
        let reducer = reducer(reduce_kind_of_op(view)?);
        match folded.is_empty() {
            true => self.program.combine(reducer, of, init),
            false => self.program.reduce(reducer, of, init),
        }
    }
}

/// Returns the value at the end of a chain of views, the strides of the first view's dimensions in it, and their start,
/// in elements.
pub fn view_strides(lowering: &Lowering<'_>, view: &OpView<'_>) -> Option<(Value, Vec<isize>, isize)> {
    let rank = view.result_shape(0).len();
    let mut access: Access = (0..rank).map(Axis::along).collect();
    let (mut current, mut value) = (Some(*view), view.result(0));
    while let Some(view) = current.filter(is_view) {
        access = through(&view, &access)?;
        value = view.operand(0);
        current = view.operand_def(0);
    }
    let (strides, start) = strides_of(lowering.body.ty(value).shape(), &access, rank);
    Some((value, strides, start))
}

/// Returns the strides, in elements, of a row-major value that is read at an access over a space of `rank` dimensions,
/// and its start.
fn strides_of(shape: &[usize], access: &Access, rank: usize) -> (Vec<isize>, isize) {
    let mut strides = vec![0isize; rank];
    let (mut start, mut stride) = (0, 1isize);
    for (axis, &n) in access.iter().zip(shape).rev() {
        start += axis.start * stride;
        if let Some(dim) = axis.dim {
            strides[dim] += axis.step * stride;
        }
        stride *= n as isize;
    }
    (strides, start)
}

/// Returns the access of a view's operand, given that of its result.
fn through(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let (from, to) = (view.operand_shape(0), view.result_shape(0));
    Some(match Opcode::of_view(view) {
        Opcode::BroadcastInDim => {
            let dims = view.sizes("broadcast_dimensions");
            dims.iter().zip(from).map(|(&d, &n)| if n == 1 && to[d] != 1 { Axis::ZERO } else { access[d] }).collect()
        }
        Opcode::Transpose => {
            let mut inner = vec![Axis::ZERO; from.len()];
            view.sizes("permutation").iter().zip(access).for_each(|(&d, &a)| inner[d] = a);
            inner
        }
        Opcode::Slice => {
            let (starts, strides) = (view.ints("start_indices"), view.ints("strides"));
            let step = |i: usize| strides.get(i).copied().unwrap_or(1) as isize;
            access.iter().enumerate().map(|(i, a)| a.then(step(i), starts[i] as isize)).collect()
        }
        Opcode::Reverse => {
            let dims = view.sizes("dimensions");
            let flip = |(i, a): (usize, &Axis)| if dims.contains(&i) { a.then(-1, from[i] as isize - 1) } else { *a };
            access.iter().enumerate().map(flip).collect()
        }
        Opcode::Reshape => {
            let map = trivial_reshape(from, to)?;
            map.into_iter().map(|d| d.map_or(Axis::ZERO, |d| access[d])).collect()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::parse;
    use shardwise_base::Literal;
    use shardwise_engine::Engine;

    /// Tests the largest index, and the least index as a float, where 32 bits would make them negative.
    #[test]
    fn indices_beyond_31_bits_are_counted_whole() {
        let n = (1usize << 31) + 40;
        let module = parse(&format!(
            "func.func @main() -> (tensor<i64>, tensor<f32>) {{
  %0 = stablehlo.iota dim = 0 : tensor<{n}xi64>
  %1 = stablehlo.constant dense<0> : tensor<i64>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [0] : (tensor<{n}xi64>, tensor<i64>) -> tensor<i64>
  %3 = stablehlo.iota dim = 0 : tensor<{n}xf32>
  %4 = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.minimum across dimensions = [0] : (tensor<{n}xf32>, tensor<f32>) -> tensor<f32>
  return %2, %5 : tensor<i64>, tensor<f32>
}}"
        ));
        let program = HostEngine::default().compile(&module).expect("it compiles");
        let results = program.execute(vec![]).expect("nothing of that size is made");
        assert_eq!(results[0].to_literal(), Literal::scalar(n as i64 - 1));
        assert_eq!(results[1].to_literal(), Literal::scalar(0.0f32));
    }
}
