//! Programs as graphs of values, before they are compiled.
//!
//! A [`Program`] runs over a space of indices. Its operands have a stride for each dimension of the space, which is 0
//! where they are broadcast, so slices, transposes and broadcasts are ordinary operands. Values have an element type,
//! and each operation is rounded or wrapped to it, so that the resulting bits are those of the single operations one
//! after the other.
#![forbid(unsafe_code)]

use super::machine::{Op, word};
use crate::elem::Elem;
use shardwise_mathfn::with_functions;
use std::collections::HashMap;

/// Declares the functions of block programs, those with formulas among them.
macro_rules! declare {
    (unary_functions { $($_op:ident $unary:ident $($_names:ident)*,)* }
     binary_functions { $($_op2:ident $binary:ident $($_names2:ident)*,)* }) => {
        /// Functions of one value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unary {
            Abs,
            Ceil,
            CountLeadingZeros,
            Floor,
            IsFinite,
            Neg,
            Not,
            Popcount,
            RoundAway,
            RoundEven,
            Rsqrt,
            Sign,
            Sqrt,
            $($unary,)*
        }

        /// Functions of two values of one type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Binary {
            Add,
            And,
            Compare(Comparison),
            Div,
            Max,
            Min,
            Mul,
            Or,
            Rem,
            ShiftLeft,
            ShiftRightArithmetic,
            ShiftRightLogical,
            Sub,
            Xor,
            $($binary,)*
        }

        /// Returns the machine's operation for a function of one float whose result is rounded, or `None` for functions
        /// that are exact or not defined on floats.
        fn unary_formula(function: Unary) -> Option<Op> {
            match function {
                Unary::Sqrt => Some(Op::Sqrt),
                Unary::Rsqrt => Some(Op::Rsqrt),
                $(Unary::$unary => Some(Op::$unary),)*
                _ => None,
            }
        }

        fn binary_formula(function: Binary) -> Option<Op> {
            match function {
                $(Binary::$binary => Some(Op::$binary),)*
                _ => None,
            }
        }
    };
}

with_functions! { declare! }

/// The kind of a comparison. Floats are compared as numbers, so NaN is equal to nothing, except by
/// [`Program::compare_total`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The operation that combines the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    Sum,
    Product,
    Max,
    Min,
    And,
    Or,
}

impl Unary {
    /// Returns true if programs with 64-bit lanes have no kernel for this function of elements of type `elem`.
    pub fn needs_narrow_lanes(self, elem: Elem) -> bool {
        is_narrow_float(elem) && self != Unary::Sqrt && unary_formula(self).is_some()
    }
}

impl Binary {
    /// Returns true if programs with 64-bit lanes have no kernel for this function of elements of type `elem`.
    pub fn needs_narrow_lanes(self, elem: Elem) -> bool {
        is_narrow_float(elem) && binary_formula(self).is_some()
    }
}

fn is_narrow_float(elem: Elem) -> bool {
    elem.is_float() && elem != Elem::F64
}

impl Reducer {
    /// Returns true if the elements must be combined in 32-bit lanes, which holds for sums and products of `f16`,
    /// `bf16` and `f32`. The result depends on the width of the lanes, because each sum or product of floats is rounded
    /// to a lane, and `shardwise_mathfn::order` defines the result.
    pub fn needs_narrow_lanes(self, elem: Elem) -> bool {
        matches!(self, Reducer::Sum | Reducer::Product) && is_narrow_float(elem)
    }
}

/// A value of a program: the result of an operation, an input, a constant or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub(crate) node: usize,
    /// The element type.
    pub elem: Elem,
}

/// A node of a program's graph: an operand, a constant, or a machine operation on earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The elements of the program's operand with this number.
    Input(usize),
    /// A constant, given by the bits of the word that all lanes have.
    Constant(u64),
    /// The index that the program's operand with this number counts. This operand has strides but no memory.
    Index(usize),
    Unary(Op, usize),
    Binary(Op, usize, usize),
    Select(usize, usize, usize),
    Reduce {
        op: Op,
        identity: u64,
        of: usize,
    },
}

/// An array that a program reads or writes, or an index that it counts.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub elem: Elem,
    /// For each dimension of the space, the stride of the operand: in elements, or in steps of the index that it
    /// counts.
    pub strides: Vec<isize>,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    /// An output that holds this node.
    Output(usize),
    /// An output that holds this node, which is the same for all lanes of a row.
    RowOutput(usize),
    Index,
}

/// A fused computation over a space of indices.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) space: Vec<usize>,
    /// For each dimension, true if it is reduced.
    pub(super) reduced: Vec<bool>,
    pub(crate) wide: bool,
    pub(crate) nodes: Vec<Node>,
    pub(super) operands: Vec<Operand>,
    known: HashMap<Node, usize>,
}

impl Program {
    /// Returns an empty elementwise program over `space` with 32-bit lanes.
    pub fn new(space: &[usize]) -> Program {
        Program {
            space: space.to_vec(),
            reduced: vec![false; space.len()],
            wide: false,
            nodes: Vec::new(),
            operands: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Returns an empty elementwise program over `space` with 64-bit lanes if `elem` needs them ([`Elem::is_wide`]),
    /// and with 32-bit lanes otherwise.
    pub fn of(elem: Elem, space: &[usize]) -> Program {
        let program = Program::new(space);
        if elem.is_wide() { program.wide() } else { program }
    }

    /// Returns the program with 64-bit lanes, which `i64`, `u64` and `f64` need. The program must not have values yet.
    /// With such lanes there are no kernels for narrower floats that compute transcendental functions, cube roots or
    /// reciprocal square roots, or that sum or multiply elements along reduced dimensions.
    pub fn wide(mut self) -> Program {
        self.wide = true;
        self
    }

    /// Returns the program with reductions over `dims`, in addition to those that it already reduces. Dimensions of
    /// size 1 do not count in what follows.
    ///
    /// If the innermost dimension is among them, all reduced dimensions must be the last ones, and each operand must
    /// access them as if they were one dimension. Otherwise [`Program::compile`] fails. Each reduction returns one
    /// value for each row, which further values of the row may use.
    ///
    /// If the innermost dimension is not among them, there is one level of reductions, whose results have lanes and
    /// vary over the other dimensions only.
    ///
    /// # Panics
    /// Panics if one of `dims` is not a dimension of the space.
    pub fn reducing(mut self, dims: &[usize]) -> Program {
        for &dim in dims {
            self.reduced[dim] = true;
        }
        self
    }

    /// Adds an input of a real type that is read with these strides, in elements, one for each dimension of the space.
    ///
    /// # Panics
    /// Panics if there is not one stride for each dimension, or if `elem` needs 64-bit lanes and the program has 32-bit
    /// lanes.
    pub fn input(&mut self, elem: Elem, strides: &[isize]) -> Value {
        let operand = self.operand(elem, strides, Role::Input);
        self.value(elem, Node::Input(operand))
    }

    /// Adds the index along `dim`, which must be a dimension of the space. It is wrapped to `elem`, which must be an
    /// integer type, and must not have 64 bits in a program with 32-bit lanes.
    pub fn index(&mut self, elem: Elem, dim: usize) -> Value {
        let strides: Vec<isize> = (0..self.space.len()).map(|d| (d == dim) as isize).collect();
        let word = if self.wide { Elem::I64 } else { Elem::I32 };
        let operand = self.operand(word, &strides, Role::Index);
        let value = self.value(word, Node::Index(operand));
        Value { node: self.wrap(elem, value.node), elem }
    }

    /// Adds a constant of a real type, given by the bytes of its element. A type that needs 64-bit lanes is only
    /// allowed in a program that has them.
    ///
    /// # Panics
    /// Panics if `bytes` does not have the size of one element of type `elem`.
    pub fn constant(&mut self, elem: Elem, bytes: &[u8]) -> Value {
        let bits = if self.wide { word::<u64>(elem, bytes) } else { word::<u32>(elem, bytes).into() };
        self.value(elem, Node::Constant(bits))
    }

    /// Adds an output that holds `value` with these strides, in elements, one for each dimension of the space. Outputs
    /// and inputs are numbered together, in the order of their creation.
    ///
    /// # Panics
    /// Panics as [`Program::input`] does.
    pub fn output(&mut self, value: Value, strides: &[isize]) {
        self.operand(value.elem, strides, Role::Output(value.node));
    }

    /// Adds an output that holds one element for each row. The strides are in elements, and those of the reduced
    /// dimensions are 0. The program must reduce rows, and `value` must be the same over each row and be computed from
    /// a reduction. Otherwise [`Program::compile`] fails.
    ///
    /// # Panics
    /// Panics as [`Program::input`] does.
    pub fn row_output(&mut self, value: Value, strides: &[isize]) {
        self.operand(value.elem, strides, Role::RowOutput(value.node));
    }

    /// Adds `function(a)`, which has the type of `a`, or `Bool` for [`Unary::IsFinite`]. Returns `None` if there is no
    /// kernel for it.
    pub fn unary(&mut self, function: Unary, a: Value) -> Option<Value> {
        let elem = if function == Unary::IsFinite { Elem::Bool } else { a.elem };
        let node = match a.elem {
            e if e.is_float() => self.unary_float(function, a)?,
            e if e.is_complex() => return None,
            _ => self.unary_int(function, a)?,
        };
        Some(Value { node, elem })
    }

    /// Adds `function(a, b)`, which has the type of `a`, or `Bool` for a comparison. Returns `None` if there is no
    /// kernel for it.
    ///
    /// # Panics
    /// Panics if `a` and `b` have different types.
    pub fn binary(&mut self, function: Binary, a: Value, b: Value) -> Option<Value> {
        assert_eq!(a.elem, b.elem, "operands of one type");
        let elem = if matches!(function, Binary::Compare(_)) { Elem::Bool } else { a.elem };
        let node = match a.elem {
            e if e.is_float() => self.binary_float(function, a, b)?,
            e if e.is_complex() => return None,
            Elem::Bool => self.binary_bool(function, a, b)?,
            _ => self.binary_int(function, a, b)?,
        };
        Some(Value { node, elem })
    }

    /// Adds the comparison of two floats in the total order of IEEE 754, which distinguishes -0 from +0, and NaNs from
    /// each other. Returns `None` if they are no floats, or if they do not fill a lane, because converting a NaN to a
    /// lane may change its bits.
    ///
    /// # Panics
    /// Panics if `a` and `b` have different types.
    pub fn compare_total(&mut self, comparison: Comparison, a: Value, b: Value) -> Option<Value> {
        assert_eq!(a.elem, b.elem, "operands of one type");
        if !a.elem.is_float() || a.elem.size() != self.word_size() {
            return None;
        }
        let (x, y) = (self.total_key(a.node), self.total_key(b.node));
        let node = self.op2(SIGNED_COMPARISONS[comparison as usize], x, y);
        Some(Value { node, elem: Elem::Bool })
    }

    /// Returns the bits of a float as a signed integer whose order is that of the floats: the magnitude of a negative
    /// number is inverted.
    fn total_key(&mut self, node: usize) -> usize {
        let sign = self.op_imm(Op::Sar, node, 8 * self.word_size() as u64 - 1);
        let magnitude = self.op_imm(Op::And, sign, !self.float_bits(-0.0));
        self.op2(Op::Xor, node, magnitude)
    }

    /// Adds the float next to `a` in the direction of `b`, which is `b` if both are equal, and NaN if one of them is
    /// NaN. Returns `None` if they are no floats or do not fill a lane.
    ///
    /// # Panics
    /// Panics if `a` and `b` have different types.
    pub fn next_after(&mut self, a: Value, b: Value) -> Option<Value> {
        assert_eq!(a.elem, b.elem, "operands of one type");
        if !a.elem.is_float() || a.elem.size() != self.word_size() {
            return None;
        }
        let (elem, sign, a, b) = (a.elem, self.float_bits(-0.0), a.node, b.node);
        let (is_up, is_negative) = (self.op2(Op::FLt, a, b), self.op_imm(Op::SLt, a, 0));
        // The bits of a number and those of the next one in magnitude differ by 1.
        let grows = self.op2(Op::Xor, is_up, is_negative);
        let two = self.op_imm(Op::And, grows, 2);
        let step = self.op_imm(Op::IAdd, two, u64::MAX);
        let next = self.op2(Op::IAdd, a, step);
        let magnitude = self.op_imm(Op::And, a, !sign);
        let is_zero = self.op_imm(Op::IEq, magnitude, 0);
        let direction = self.op_imm(Op::And, b, sign);
        let least = self.op_imm(Op::Or, direction, 1);
        let next = self.node(Node::Select(is_zero, least, next));
        let is_equal = self.op2(Op::FEq, a, b);
        let next = self.node(Node::Select(is_equal, b, next));
        let (is_a, is_b) = (self.op2(Op::FEq, a, a), self.op2(Op::FEq, b, b));
        let is_number = self.op2(Op::And, is_a, is_b);
        let nan = self.node(Node::Constant(self.float_bits(f64::NAN)));
        Some(self.value(elem, Node::Select(is_number, next, nan)))
    }

    /// Adds `predicate ? a : b`.
    ///
    /// # Panics
    /// Panics if `predicate` is not a `Bool`, or if `a` and `b` have different types.
    pub fn select(&mut self, predicate: Value, a: Value, b: Value) -> Value {
        assert!(predicate.elem == Elem::Bool && a.elem == b.elem, "a truth value, and two operands of one type");
        self.value(a.elem, Node::Select(predicate.node, a.node, b.node))
    }

    /// Adds `min(max(low, x), high)`. Returns `None` if there is no kernel for it.
    ///
    /// # Panics
    /// Panics if the operands have different types.
    pub fn clamp(&mut self, low: Value, x: Value, high: Value) -> Option<Value> {
        let above = self.binary(Binary::Max, low, x)?;
        self.binary(Binary::Min, above, high)
    }

    /// Adds the reduction of `of` along the reduced dimensions, combined with `init` at the end, in the order of
    /// `shardwise_mathfn::order`. `init` must have the type of `of`. Returns `None` if there is no kernel for it.
    ///
    /// Sums and products of `bf16` and `f16` are computed in `f32` and rounded once. A program with 64-bit lanes has no
    /// kernel for reductions that need [narrow lanes](Reducer::needs_narrow_lanes).
    pub fn reduce(&mut self, reducer: Reducer, of: Value, init: Value) -> Option<Value> {
        if self.wide && reducer.needs_narrow_lanes(of.elem) {
            return None;
        }
        let (op, identity) = reduction(reducer, of.elem, self.wide)?;
        let total = self.node(Node::Reduce { op, identity, of: of.node });
        let node = self.node(Node::Binary(op.combination(), total, init.node));
        Some(Value { node: self.fit(of.elem, node), elem: of.elem })
    }

    /// Adds the constant that changes no element with which a reduction combines it. For truth values, and for an
    /// integer type that is narrower than a lane, it may be no value of the type. Returns `None` if there is no such
    /// reduction of this type.
    pub fn identity(&mut self, reducer: Reducer, elem: Elem) -> Option<Value> {
        let (_, identity) = reduction(reducer, elem, self.wide)?;
        Some(self.value(elem, Node::Constant(identity)))
    }

    /// Adds the combination of `a` and `b`, as a reduction of the single element `a` with the initial value `b`
    /// computes it. Both must have the same type. Returns `None` if there is no such reduction of this type.
    pub fn combine(&mut self, reducer: Reducer, a: Value, b: Value) -> Option<Value> {
        let (op, _) = reduction(reducer, a.elem, self.wide)?;
        let node = self.node(Node::Binary(op.combination(), a.node, b.node));
        Some(Value { node: self.fit(a.elem, node), elem: a.elem })
    }

    /// Adds the conversion of `a` to another type. Integers wrap and floats round to nearest. Numbers that become
    /// `bf16` or `f16` are rounded to `f32` first. Conversions from floats to integers truncate and saturate, and NaN
    /// becomes 0. Conversions to truth values are true if `a` is not 0. Returns `None` if one of the types is complex,
    /// or if `to` needs 64-bit lanes and the program has 32-bit lanes.
    pub fn convert(&mut self, a: Value, to: Elem) -> Option<Value> {
        if a.elem.is_complex() || to.is_complex() || (to.is_wide() && !self.wide) {
            return None;
        }
        Some(Value { node: self.convert_node(a, to), elem: to })
    }

    /// Returns the bits of `a` as another type, or `None` if one of the types is complex or does not fill a lane.
    pub fn reinterpret(&mut self, a: Value, to: Elem) -> Option<Value> {
        let lane = if self.wide { 8 } else { 4 };
        let fills = |e: Elem| e.size() == lane && !e.is_complex();
        (fills(a.elem) && fills(to)).then_some(Value { node: a.node, elem: to })
    }

    pub(super) fn operand(&mut self, elem: Elem, strides: &[isize], role: Role) -> usize {
        assert_eq!(strides.len(), self.space.len(), "a stride for each dimension");
        assert!(self.wide || !elem.is_wide(), "{elem:?} needs wide lanes");
        self.operands.push(Operand { elem, strides: strides.to_vec(), role });
        self.operands.len() - 1
    }

    fn value(&mut self, elem: Elem, node: Node) -> Value {
        Value { node: self.node(node), elem }
    }

    pub(super) fn node(&mut self, node: Node) -> usize {
        let next = self.nodes.len();
        let index = *self.known.entry(node).or_insert(next);
        if index == next {
            self.nodes.push(node);
        }
        index
    }

    fn op(&mut self, op: Op, a: usize) -> usize {
        self.node(Node::Unary(op, a))
    }

    fn op2(&mut self, op: Op, a: usize, b: usize) -> usize {
        if op == Op::FMul && a == b { self.op(Op::Sqr, a) } else { self.node(Node::Binary(op, a, b)) }
    }

    fn op_imm(&mut self, op: Op, a: usize, bits: u64) -> usize {
        let b = self.node(Node::Constant(bits));
        self.node(Node::Binary(op, a, b))
    }

    fn float_bits(&self, x: f64) -> u64 {
        if self.wide { x.to_bits() } else { (x as f32).to_bits().into() }
    }

    /// Rounds or wraps a computed node to the element type `elem`, if a lane can hold other values, and returns the new
    /// node.
    fn fit(&mut self, elem: Elem, node: usize) -> usize {
        match elem {
            Elem::BF16 => self.op(Op::RoundBf16, node),
            Elem::F16 => self.op(Op::RoundF16, node),
            Elem::F32 if self.wide => self.op(Op::RoundF32, node),
            _ => self.wrap(elem, node),
        }
    }

    fn wrap(&mut self, elem: Elem, node: usize) -> usize {
        match elem {
            Elem::I8 => self.op(Op::WrapI8, node),
            Elem::U8 => self.op(Op::WrapU8, node),
            Elem::I16 => self.op(Op::WrapI16, node),
            Elem::U16 => self.op(Op::WrapU16, node),
            Elem::I32 if self.wide => self.op(Op::WrapI32, node),
            Elem::U32 if self.wide => self.op(Op::WrapU32, node),
            _ => node,
        }
    }

    fn unary_float(&mut self, function: Unary, a: Value) -> Option<usize> {
        let exact = match function {
            Unary::Neg => Some(self.op_imm(Op::Xor, a.node, self.float_bits(-0.0))),
            Unary::Abs => Some(self.op_imm(Op::And, a.node, !self.float_bits(-0.0))),
            Unary::Sign => Some(self.op(Op::FSign, a.node)),
            Unary::Floor => Some(self.op(Op::Floor, a.node)),
            Unary::Ceil => Some(self.op(Op::Ceil, a.node)),
            Unary::RoundEven => Some(self.op(Op::RoundEven, a.node)),
            Unary::RoundAway => Some(self.op(Op::RoundAway, a.node)),
            Unary::IsFinite => Some(self.op(Op::IsFinite, a.node)),
            _ => None,
        };
        if exact.is_some() {
            return exact;
        }
        if self.wide && function.needs_narrow_lanes(a.elem) {
            return None;
        }
        let node = self.op(unary_formula(function)?, a.node);
        Some(self.fit(a.elem, node))
    }

    fn unary_int(&mut self, function: Unary, a: Value) -> Option<usize> {
        let (elem, node) = (a.elem, a.node);
        let raw = match function {
            Unary::Not => self.op(Op::Not, node),
            _ if elem == Elem::Bool => return None,
            Unary::Neg => self.op_imm(Op::IRsub, node, 0),
            Unary::Abs if elem.is_signed() => self.op(Op::SAbs, node),
            Unary::Abs => node,
            Unary::Sign if elem.is_signed() => self.op(Op::SSign, node),
            Unary::Sign => self.op_imm(Op::UMin, node, 1),
            Unary::Popcount => {
                let bits = self.as_unsigned(elem, node);
                self.op(Op::Popcount, bits)
            }
            Unary::CountLeadingZeros => {
                let bits = self.as_unsigned(elem, node);
                let zeros = self.op(Op::LeadingZeros, bits);
                let extra = 8 * (self.word_size() - elem.size());
                self.op_imm(Op::ISub, zeros, extra as u64)
            }
            _ => return None,
        };
        Some(self.wrap(elem, raw))
    }

    fn binary_float(&mut self, function: Binary, a: Value, b: Value) -> Option<usize> {
        let (x, y) = (a.node, b.node);
        let op = match function {
            Binary::Compare(c) => return Some(self.op2(FLOAT_COMPARISONS[c as usize], x, y)),
            Binary::Max => return Some(self.op2(Op::FMax, x, y)),
            Binary::Min => return Some(self.op2(Op::FMin, x, y)),
            Binary::Add => Op::FAdd,
            Binary::Sub => Op::FSub,
            Binary::Mul => Op::FMul,
            Binary::Div => Op::FDiv,
            Binary::Rem => Op::FRem,
            _ if self.wide && function.needs_narrow_lanes(a.elem) => return None,
            _ => binary_formula(function)?,
        };
        let node = self.op2(op, x, y);
        Some(self.fit(a.elem, node))
    }

    fn binary_bool(&mut self, function: Binary, a: Value, b: Value) -> Option<usize> {
        let op = match function {
            Binary::Add | Binary::Max | Binary::Or => Op::Or,
            Binary::Mul | Binary::Min | Binary::And => Op::And,
            Binary::Xor => Op::Xor,
            Binary::Compare(c) => UNSIGNED_COMPARISONS[c as usize],
            _ => return None,
        };
        Some(self.op2(op, a.node, b.node))
    }

    fn binary_int(&mut self, function: Binary, a: Value, b: Value) -> Option<usize> {
        let (elem, x, y) = (a.elem, a.node, b.node);
        let signed = elem.is_signed();
        let pick = |s, u| if signed { s } else { u };
        let op = match function {
            Binary::Compare(c) => {
                let table = if signed { SIGNED_COMPARISONS } else { UNSIGNED_COMPARISONS };
                return Some(self.op2(table[c as usize], x, y));
            }
            Binary::ShiftRightLogical => return Some(self.shift(Op::Shr, elem, unsigned_of(elem), x, y)),
            Binary::ShiftRightArithmetic => return Some(self.shift(Op::Sar, elem, signed_of(elem), x, y)),
            Binary::Add => Op::IAdd,
            Binary::Sub => Op::ISub,
            Binary::Mul => Op::IMul,
            Binary::Div => pick(Op::SDiv, Op::UDiv),
            Binary::Rem => pick(Op::SRem, Op::URem),
            Binary::Max => pick(Op::SMax, Op::UMax),
            Binary::Min => pick(Op::SMin, Op::UMin),
            Binary::And => Op::And,
            Binary::Or => Op::Or,
            Binary::Xor => Op::Xor,
            Binary::ShiftLeft => Op::Shl,
            _ => return None,
        };
        let node = self.op2(op, x, y);
        Some(self.wrap(elem, node))
    }

    /// Shifts `x` right by `y` with `op`, after `x` is read as type `how`, which has the size of `elem`. The result is
    /// wrapped to `elem`.
    fn shift(&mut self, op: Op, elem: Elem, how: Elem, x: usize, y: usize) -> usize {
        let x = if how == elem { x } else { self.wrap(how, x) };
        let node = self.op2(op, x, y);
        self.wrap(elem, node)
    }

    fn as_unsigned(&mut self, elem: Elem, node: usize) -> usize {
        self.wrap(unsigned_of(elem), node)
    }

    fn word_size(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn convert_node(&mut self, a: Value, to: Elem) -> usize {
        let (from, node) = (a.elem, a.node);
        match () {
            () if from == to => node,
            () if to == Elem::Bool => {
                self.op(if from.is_float() { Op::TruthFromFloat } else { Op::TruthFromInt }, node)
            }
            () if from == Elem::Bool => {
                let one = if to.is_float() { self.float_bits(1.0) } else { 1 };
                self.op_imm(Op::And, node, one)
            }
            () if from.is_float() && to.is_float() => self.round(from, to, node),
            () if from.is_float() => self.truncate(to, node),
            () if to.is_float() => self.int_to_float(from, to, node),
            () => self.wrap(to, node),
        }
    }

    fn round(&mut self, from: Elem, to: Elem, node: usize) -> usize {
        let widens = to == Elem::F64 || (to == Elem::F32 && from != Elem::F64);
        if widens { node } else { self.fit(to, node) }
    }

    /// Converts a float to the integer type `to` by truncation, with saturation. NaN becomes 0.
    fn truncate(&mut self, to: Elem, node: usize) -> usize {
        let bits = 8 * to.size() as u32;
        let narrow = to.size() < self.word_size();
        if to.is_unsigned() {
            let node = self.op(Op::UnsignedFromFloat, node);
            return if narrow { self.op_imm(Op::UMin, node, (1u64 << bits) - 1) } else { node };
        }
        let node = self.op(Op::SignedFromFloat, node);
        if !narrow {
            return node;
        }
        let max = (1i64 << (bits - 1)) - 1;
        let node = self.op_imm(Op::SMin, node, max as u64);
        self.op_imm(Op::SMax, node, !max as u64)
    }

    /// Converts an integer to a float. `bf16` and `f16` are converted through `f32`.
    fn int_to_float(&mut self, from: Elem, to: Elem, node: usize) -> usize {
        let op = match (to == Elem::F64, from.is_signed()) {
            (true, true) => Op::FloatFromSigned,
            (true, false) => Op::FloatFromUnsigned,
            (false, true) if self.wide => Op::F32FromSigned,
            (false, false) if self.wide => Op::F32FromUnsigned,
            (false, false) if from == Elem::U32 => Op::FloatFromUnsigned,
            (false, _) => Op::FloatFromSigned,
        };
        let node = self.op(op, node);
        if matches!(to, Elem::BF16 | Elem::F16) { self.fit(to, node) } else { node }
    }
}

const FLOAT_COMPARISONS: [Op; 6] = [Op::FEq, Op::FNe, Op::FLt, Op::FLe, Op::FGt, Op::FGe];
const SIGNED_COMPARISONS: [Op; 6] = [Op::IEq, Op::INe, Op::SLt, Op::SLe, Op::SGt, Op::SGe];
const UNSIGNED_COMPARISONS: [Op; 6] = [Op::IEq, Op::INe, Op::ULt, Op::ULe, Op::UGt, Op::UGe];

fn unsigned_of(elem: Elem) -> Elem {
    match elem {
        Elem::I8 => Elem::U8,
        Elem::I16 => Elem::U16,
        Elem::I32 => Elem::U32,
        Elem::I64 => Elem::U64,
        other => other,
    }
}

fn signed_of(elem: Elem) -> Elem {
    match elem {
        Elem::U8 => Elem::I8,
        Elem::U16 => Elem::I16,
        Elem::U32 => Elem::I32,
        Elem::U64 => Elem::I64,
        other => other,
    }
}

/// Returns the machine's reduction and the word of its neutral element, which for integers is that of a whole lane.
/// The neutral element of a sum of floats is -0, because the sum of -0 and +0 is +0. Returns `None` for complex
/// elements, and for `And` and `Or` of floats.
pub(crate) fn reduction(reducer: Reducer, elem: Elem, wide: bool) -> Option<(Op, u64)> {
    let float = |x: f64| if wide { x.to_bits() } else { u64::from((x as f32).to_bits()) };
    let (signed, ones) = (elem.is_signed(), if wide { u64::MAX } else { u32::MAX.into() });
    let sign_bit = ones ^ (ones >> 1);
    Some(match reducer {
        _ if elem.is_complex() => return None,
        Reducer::Sum if elem.is_float() => (Op::SumF, float(-0.0)),
        Reducer::Product if elem.is_float() => (Op::ProdF, float(1.0)),
        Reducer::Max if elem.is_float() => (Op::MaxF, float(f64::NEG_INFINITY)),
        Reducer::Min if elem.is_float() => (Op::MinF, float(f64::INFINITY)),
        _ if elem.is_float() => return None,
        Reducer::Or => (Op::AnyBits, 0),
        Reducer::And => (Op::AllBits, ones),
        Reducer::Sum | Reducer::Max if elem == Elem::Bool => (Op::AnyBits, 0),
        Reducer::Product | Reducer::Min if elem == Elem::Bool => (Op::AllBits, ones),
        Reducer::Sum => (Op::SumI, 0),
        Reducer::Product => (Op::ProdI, 1),
        Reducer::Max if signed => (Op::MaxS, sign_bit),
        Reducer::Min if signed => (Op::MinS, ones >> 1),
        Reducer::Max => (Op::MaxU, 0),
        Reducer::Min => (Op::MinU, ones),
    })
}
