//! Block programs of groups of ops and of regions of elementwise ops.

use super::access::{Access, Axis, strides_of};
use super::ops::{folded, is_computed, is_trailing, space_of};
use super::views::is_view;
use crate::block::{self, Binary, Program};
use crate::elem::Elem;
use crate::kernels::context::{Fused, PlanCx};
use crate::kernels::reducers::reducer;
use crate::kernels::strides::row_major;
use shardwise_base::DType;
use shardwise_ir::{Op, OpView, Value};
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::shapes::Iota;
use shardwise_ops::{Opcode, ReduceKind, constant_value};
use std::collections::{HashMap, HashSet};

/// A compiled group, and how it reads its operands.
pub struct Compiled {
    pub kernel: block::Kernel,
    /// For each operand that the kernel reads, the value and the byte in it where the operand starts.
    pub reads: Vec<(Value, usize)>,
}

/// Compiles some ops, given in program order, to one block program that computes the result of the last of them.
/// Returns `None` if there are no ops, or if they cannot be one program.
pub fn compile(plan: &PlanCx<'_>, ops: &[Op]) -> Option<Compiled> {
    let wide = needs_wide(plan, ops);
    let emitter = || Emitter::new(plan, ops, wide);
    let packed = compile_truths(plan, ops);
    packed.or_else(|| emitter()?.compile_short_rows()).or_else(|| emitter()?.compile())
}

/// Compiles a reduction of an array of truth values, four of which are combined as one word. Returns `None` for other
/// ops, for an operand that a view makes, for an initial value that is not known to change nothing, if no dimension is
/// reduced or one has size 0, and if the dimensions after those that are reduced do not fill whole words.
fn compile_truths(plan: &PlanCx<'_>, ops: &[Op]) -> Option<Compiled> {
    let [op] = *ops else { return None };
    let view = plan.view(op);
    let of = view.operands().first().filter(|_| Opcode::of_view(&view) == Opcode::Reduce)?;
    let is_array = plan.body.def_op(*of).is_none_or(|def| !is_view(plan, &plan.view(def)));
    let kind = reduce_kind_of_op(&view).filter(|_| is_array && view.result_tensor(0).dtype == DType::I1)?;
    let kind = kind.of_truths();
    let init = constant_value(&plan.view(plan.body.def_op(view.operand(1))?))?;
    let (shape, folded) = (view.operand_shape(0), folded(&view));
    let first = folded.iter().max()? + 1;
    let inner: usize = shape[first..].iter().product();
    const WORD: usize = 4;
    let changes_nothing = (init.element_bytes(0) == [1]) == (kind == ReduceKind::And);
    if !changes_nothing || shape.contains(&0) || !inner.is_multiple_of(WORD) {
        return None;
    }
    let space = [&shape[..first], &[inner / WORD]].concat();
    let kept: Vec<usize> = (0..space.len()).filter(|d| !folded.contains(d)).collect();
    let result: Vec<usize> = kept.iter().map(|&d| space[d]).collect();
    let mut to = vec![0; space.len()];
    kept.iter().zip(row_major(&result)).for_each(|(&d, stride)| to[d] = stride);
    let mut program = Program::new(&space).reducing(&folded);
    let words = program.input(Elem::U32, &row_major(&space));
    let identity = program.identity(reducer(kind), Elem::U32)?;
    let total = program.reduce(reducer(kind), words, identity)?;
    program.output(total, &to);
    Some(Compiled { kernel: program.compile().ok()?, reads: vec![(*of, 0)] })
}

/// Compiles one op to a program that reads its operands as arrays, also those that are made by views. Only operands
/// that are constants of equal elements are not read. Returns `None` if there is no such program.
pub fn compile_on_arrays(plan: &PlanCx<'_>, op: Op) -> Option<Compiled> {
    let emitter = Emitter::new(plan, &[op], needs_wide(plan, &[op]))?;
    Emitter { reads_through: false, ..emitter }.compile()
}

/// Returns the first region of `op`, which consists of scalar ops, as one program over a space. Its operands are the
/// arguments of the region, each with its list of `strides`, followed by the results, which are row-major arrays over
/// the space. Returns `None` if an op of the region cannot be computed, if an argument is complex or of a type that
/// kernels do not compute on, if the region reads anything but its arguments and constants, or if it is too large
/// ([`MAX_REGION_VALUES`]).
pub fn scalar_region(plan: &PlanCx<'_>, op: Op, space: &[usize], strides: &[Vec<isize>]) -> Option<block::Kernel> {
    repeated_region(plan, op, space, strides, 1)
}

/// Returns the first region of `op` as [`scalar_region`] does, applied `times` times. Each time but the first, the
/// results of the time before are the first arguments. So the operands are these first arguments, then the other
/// arguments of each time, and then the last results. Returns `None` as `scalar_region` does.
pub fn repeated_region(
    plan: &PlanCx<'_>,
    op: Op,
    space: &[usize],
    strides: &[Vec<isize>],
    times: usize,
) -> Option<block::Kernel> {
    let region = plan.body[op].regions[0];
    let (_, computed) = plan.body[region].ops.split_last()?;
    let is_known = |&op: &Op| {
        let view = plan.view(op);
        Opcode::of_view(&view) == Opcode::Constant
            || (is_computed(plan, &view) && Opcode::of_view(&view) != Opcode::Reduce)
    };
    let args = &plan.body[region].args;
    let args: Vec<_> = args.iter().copied().zip(strides.iter().cloned()).collect();
    let is_computed = computed.iter().all(is_known);
    is_computed.then(|| Emitter::region(plan, op, space, &args, plan.body.region_results(region), times)).flatten()
}

/// Returns a program that computes a value in the first region of `op` for each of `count` elements, which are the
/// values of one of its arguments. Returns `None` if an op that the value depends on cannot be computed, if the value
/// depends on anything but this argument and constants, if the argument is complex or of a type that kernels do not
/// compute on, or if more than [`MAX_REGION_VALUES`] values are needed.
pub fn region_value(plan: &PlanCx<'_>, op: Op, value: Value, argument: Value, count: usize) -> Option<block::Kernel> {
    Emitter::region(plan, op, &[count], &[(argument, vec![1])], &[value], 1)
}

/// Returns true if an operand or result of one of the ops, or the index of an iota, needs 64-bit lanes.
pub(super) fn needs_wide(plan: &PlanCx<'_>, ops: &[Op]) -> bool {
    let is_wide = |&v: &Value| {
        let ty = plan.body.ty(v).as_tensor();
        ty.and_then(|t| Elem::of(t.dtype)).is_some_and(Elem::is_wide)
    };
    ops.iter().map(|&op| plan.view(op)).any(|view| {
        view.operands().iter().chain(view.results()).any(is_wide)
            || (Opcode::of_view(&view) == Opcode::Iota && counted_in(&view) == Elem::I64)
    })
}

/// Returns, in program order, the results of `ops` that are among `results` or from which these are computed.
fn needed(plan: &PlanCx<'_>, ops: &[Op], results: &[Value]) -> Vec<Value> {
    let mut open: HashSet<Value> = results.iter().copied().collect();
    let mut found = vec![];
    for &op in ops.iter().rev() {
        let view = plan.view(op);
        let used: Vec<Value> = view.results().iter().copied().filter(|v| open.contains(v)).collect();
        if !used.is_empty() {
            open.extend(view.operands());
        }
        found.extend(used);
    }
    found.reverse();
    found
}

/// Returns the type in which an iota's indices are counted: `i32`, or `i64` if the dimension is too long. They are then
/// converted to the type of the result, in which integers wrap and floats are rounded.
fn counted_in(iota: &OpView<'_>) -> Elem {
    let size = Iota::dim(iota).map_or(0, |dim| iota.result_shape(0)[dim]);
    if i32::try_from(size).is_ok() { Elem::I32 } else { Elem::I64 }
}

/// The largest number of values that the program of a region computes, all its repetitions together. To compile a chain
/// of values takes a recursion as deep as the chain is long.
const MAX_REGION_VALUES: usize = 256;

/// The largest number of elements of a row of which each is computed on its own.
const SHORT: usize = 16;

/// The largest number of values that are computed for the elements of one short row: their number times that of the
/// ops.
const MAX_SHORT_VALUES: usize = 96;

/// Builds the block program of a group of ops, or of a region of scalar ops.
struct Emitter<'a, 'm> {
    plan: &'a PlanCx<'m>,
    members: HashSet<Op>,
    root: Op,
    program: Program,
    /// True if the lanes of the program have 64 bits.
    wide: bool,
    space: Vec<usize>,
    /// The dimensions of the space that reductions fold.
    folded: Vec<usize>,
    /// True if views are read through. Otherwise their results are read.
    reads_through: bool,
    reads: Vec<(Value, usize)>,
    known: HashMap<(Value, Access), block::Value>,
}

fn program_over(space: &[usize], wide: bool) -> Program {
    let program = Program::new(space);
    if wide { program.wide() } else { program }
}

impl<'a, 'm> Emitter<'a, 'm> {
    fn new(plan: &'a PlanCx<'m>, ops: &[Op], wide: bool) -> Option<Emitter<'a, 'm>> {
        let root = *ops.last()?;
        let space = space_of(&plan.view(root)).to_vec();
        let reductions = ops.iter().map(|&op| plan.view(op)).filter(|v| Opcode::of_view(v) == Opcode::Reduce);
        let folded = reductions.map(|v| folded(&v)).find(|dims| !dims.is_empty()).unwrap_or_default();
        let program = program_over(&space, wide).reducing(&folded);
        let members = ops.iter().copied().collect();
        let (reads, known) = (vec![], HashMap::new());
        Some(Emitter { plan, members, root, program, wide, space, folded, reads_through: true, reads, known })
    }

    /// Builds a program for some results of the first region of `op` over a space, applied `times` times as
    /// [`repeated_region`] says. The scalar arguments `args` are operands with these strides, and the results are
    /// row-major outputs. Returns `None` if there is no such program, or if it would need more than
    /// [`MAX_REGION_VALUES`] values.
    fn region(
        plan: &'a PlanCx<'m>,
        op: Op,
        space: &[usize],
        args: &[(Value, Vec<isize>)],
        results: &[Value],
        times: usize,
    ) -> Option<block::Kernel> {
        let ops = &plan.body[plan.body[op].regions[0]].ops;
        let wide = needs_wide(plan, ops);
        let mut emitter = Emitter {
            plan,
            members: ops.iter().copied().collect(),
            root: op,
            program: program_over(space, wide),
            wide,
            space: space.to_vec(),
            folded: vec![],
            reads_through: true,
            reads: vec![],
            known: HashMap::new(),
        };
        let needed = needed(plan, ops, results);
        if needed.len().saturating_mul(times) > MAX_REGION_VALUES {
            return None;
        }
        let mut last: Vec<block::Value> = vec![];
        for _ in 0..times {
            emitter.known.clear();
            for (i, (arg, strides)) in args.iter().enumerate() {
                let value = match last.get(i) {
                    Some(&value) => value,
                    None => emitter.argument(*arg, strides)?,
                };
                emitter.known.insert((*arg, vec![]), value);
            }
            // Values are emitted before their users, so that the recursion is not deep.
            for &v in &needed {
                emitter.emit(v, &vec![])?;
            }
            last = results.iter().map(|&v| emitter.emit(v, &vec![])).collect::<Option<_>>()?;
        }
        for value in last {
            emitter.program.output(value, &row_major(space));
        }
        emitter.program.compile().ok().filter(|_| emitter.reads.is_empty())
    }

    fn argument(&mut self, arg: Value, strides: &[isize]) -> Option<block::Value> {
        // A block program has no lanes for complex numbers, even if it only copies them.
        let elem = Elem::of(self.plan.body.ty(arg).as_tensor()?.dtype).filter(|e| !e.is_complex())?;
        Some(self.program.input(elem, strides))
    }

    fn compile(mut self) -> Option<Compiled> {
        let view = self.plan.view(self.root);
        let is_reduce = Opcode::of_view(&view) == Opcode::Reduce;
        let dropped = if is_reduce { Reduce::dims(&view) } else { vec![] };
        let access: Access = (0..self.space.len()).filter(|d| !dropped.contains(d)).map(Axis::along).collect();
        let value = self.emit(view.result(0), &access)?;
        let strides = strides_of(view.result_shape(0), &access, self.space.len()).0;
        // A reduction over no dimension has the whole space, even if it reads one that folds.
        if is_reduce && !folded(&view).is_empty() && is_trailing(&self.folded, &self.space) {
            self.program.row_output(value, &strides);
        } else {
            self.program.output(value, &strides);
        }
        let kernel = self.program.compile().ok()?;
        Some(Compiled { kernel, reads: self.reads })
    }

    /// Compiles a reduction of rows of a few elements along the last dimension: the elements at each place of the rows
    /// are computed for all rows, and then combined. Returns `None` if the root is no such reduction of elements that
    /// fill words or are truth values, if it is not the only reduction, if the rows are longer than [`SHORT`] or more
    /// than [`MAX_SHORT_VALUES`] values would be computed, and if there is no kernel for it.
    fn compile_short_rows(mut self) -> Option<Compiled> {
        let view = self.plan.view(self.root);
        let [dim] = self.folded[..] else { return None };
        // Narrower numbers would be rounded or wrapped after each element.
        let elem = Elem::of(view.result_tensor(0).dtype).filter(|elem| elem.fills_words() || *elem == Elem::Bool)?;
        let (len, count) = (self.space[dim], self.members.len());
        let is_short = is_trailing(&[dim], &self.space) && len <= SHORT && len * count <= MAX_SHORT_VALUES;
        let is_only_one = |&op: &Op| op == self.root || Opcode::of_view(&self.plan.view(op)) != Opcode::Reduce;
        if Opcode::of_view(&view) != Opcode::Reduce || !is_short || !self.members.iter().all(is_only_one) {
            return None;
        }
        let (reducer, dropped) = (reducer(reduce_kind_of_op(&view)?), Reduce::dims(&view));
        if self.wide && reducer.needs_narrow_lanes(elem) {
            return None;
        }
        let along = |d: usize| if dropped.contains(&d) { Axis::ZERO } else { Axis::along(d) };
        let rows: Access = (0..self.space.len()).map(along).collect();
        // A row is one element of the space of the program.
        self.space[dim] = 1;
        self.program = program_over(&self.space, self.wide);
        let identity = self.program.identity(reducer, elem)?;
        let mut values = vec![identity; len.next_power_of_two()];
        for (i, value) in values.iter_mut().enumerate().take(len) {
            let mut access = rows.clone();
            access[dim].start = i as isize;
            let element = self.emit(view.operand(0), &access)?;
            *value = self.program.combine(reducer, identity, element)?;
        }
        // The order is that of `shardwise_mathfn::order`.
        while values.len() > 1 {
            let upper = values.split_off(values.len() / 2);
            for (low, high) in values.iter_mut().zip(upper) {
                *low = self.program.combine(reducer, *low, high)?;
            }
        }
        let init = self.emit(view.operand(1), &vec![])?;
        let total = self.program.combine(reducer, values[0], init)?;
        let kept: Access =
            rows.iter().enumerate().filter(|(d, _)| !dropped.contains(d)).map(|(_, axis)| *axis).collect();
        let strides = strides_of(view.result_shape(0), &kept, self.space.len()).0;
        self.program.output(total, &strides);
        let kernel = self.program.compile().ok()?;
        Some(Compiled { kernel, reads: self.reads })
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
        let Some(op) = self.plan.body.def_op(v) else { return self.read(v, access) };
        let view = self.plan.view(op);
        match self.plan.fused(&view) {
            _ if Opcode::of_view(&view) == Opcode::Constant => self.constant(&view, access),
            Some(Fused::View(through)) if self.reads_through => {
                let inner = through(&view, access)?;
                self.emit(view.operand(0), &inner)
            }
            Some(fused) if self.members.contains(&op) => self.compute(fused, &view, access),
            _ => self.read(v, access),
        }
    }

    fn compute(&mut self, fused: Fused, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        match fused {
            Fused::Iota => self.iota(view, access),
            Fused::Reduce => self.reduce(view, access),
            Fused::Product => self.product(view, access),
            _ => self.elements(fused, view, access),
        }
    }

    fn read(&mut self, v: Value, access: &Access) -> Option<block::Value> {
        let ty = self.plan.body.ty(v).as_tensor()?;
        let elem = Elem::of(ty.dtype)?;
        let (strides, start) = strides_of(&ty.shape, access, self.space.len());
        self.reads.push((v, usize::try_from(start).ok()? * elem.size()));
        Some(self.program.input(elem, &strides))
    }

    fn constant(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let literal = constant_value(view)?;
        if literal.size() == 0 || !literal.is_uniform() {
            return self.read(view.result(0), access);
        }
        Some(self.program.constant(Elem::of(literal.dtype())?, literal.element_bytes(0)))
    }

    fn iota(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let to = Elem::of(view.result_tensor(0).dtype)?;
        let axis = access[Iota::dim(view)?];
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

    fn elements(&mut self, fused: Fused, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        // Scalar operands of select and clamp have no dimensions.
        let of = |rank: usize| if rank == 0 { vec![] } else { access.clone() };
        let operands: Option<Vec<block::Value>> =
            (0..view.operands().len()).map(|i| self.emit(view.operand(i), &of(view.operand_shape(i).len()))).collect();
        fused.elementwise(&mut self.program, view, &operands?)
    }

    fn product(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let to = Elem::of(view.result_tensor(0).dtype)?;
        let [a, b] = super::access::product(view, access)?;
        let sum = to.summed();
        let mut element = |i: usize, access: &Access| {
            let value = self.emit(view.operand(i), access)?;
            let is_same = Elem::of(view.operand_tensor(i).dtype) == Some(sum);
            if is_same { Some(value) } else { self.program.convert(value, sum) }
        };
        let (a, b) = (element(0, &a)?, element(1, &b)?);
        let mut total = self.program.binary(Binary::Mul, a, b)?;
        if to.is_float() {
            // The sum starts from +0, so that a product of -0 becomes +0.
            let zero = self.program.constant(sum, &[0; 16][..sum.size()]);
            total = self.program.binary(Binary::Add, total, zero)?;
        }
        if sum == to { Some(total) } else { self.program.convert(total, to) }
    }

    fn reduce(&mut self, view: &OpView<'_>, access: &Access) -> Option<block::Value> {
        let (dims, folded) = (Reduce::dims(view), folded(view));
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

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::{parse, run, run_by_kernels, tensor};
    use shardwise_base::{DType, Literal, LiteralWriter};
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

    /// Tests that rows of several lengths up to `SHORT`, and longer ones, have the bits of the interpreter, also with
    /// zeros of both signs, NaN and infinities, and behind views and other ops.
    #[test]
    fn short_rows_are_folded_in_the_documented_order() {
        let numbers = [0.1f32, -0.0, 3e7, f32::INFINITY, -1.5, 0.0, 1e-7, f32::NAN, -3e7, 7.25, 1e30];
        let value = |i: usize| if i < 33 { -0.0 } else { numbers[i * i % 97 % numbers.len()] };
        for len in [2, 3, 4, 5, 7, 8, 11, 16, 17] {
            for (elem, op) in [
                ("f32", "add"),
                ("f32", "multiply"),
                ("f32", "maximum"),
                ("f64", "add"),
                ("i32", "add"),
                ("bf16", "add"),
                ("i1", "or"),
                ("i1", "and"),
                ("i64", "minimum"),
                ("ui32", "maximum"),
            ] {
                let (x, y) = (format!("tensor<37x{len}xf32>"), format!("tensor<5x37x{len}x1x{elem}>"));
                let (converted, init) = (format!("tensor<37x{len}x{elem}>"), format!("tensor<{elem}>"));
                let source = format!(
                    "func.func @main(%x: {x}, %i: tensor<f32>) -> tensor<5x37x{elem}> {{
  %0 = stablehlo.convert %x : ({x}) -> {converted}
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : ({converted}) -> {y}
  %2 = stablehlo.reverse %1, dims = [1] : {y}
  %3 = stablehlo.{op} %1, %2 : {y}
  %4 = stablehlo.convert %i : (tensor<f32>) -> {init}
  %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.{op} across dimensions = [2, 3] : ({y}, {init}) -> tensor<5x37x{elem}>
  return %5 : tensor<5x37x{elem}>
}}"
                );
                let x = Literal::from_fn([37, len], value);
                for init in [0.0f32, -0.0] {
                    run_by_kernels(&source, &[x.clone(), Literal::scalar(init)]);
                }
            }
        }
    }

    /// Tests reductions of truth values in words, beside those whose rows do not fill words and those with other
    /// initial values.
    #[test]
    fn truths_are_folded_in_words() {
        for (shape, dims, kept) in [
            ([3, 5, 12], "1", "3x12"),
            ([4, 2, 6], "0", "2x6"),
            ([5, 2, 8], "0, 1", "8"),
            ([3, 4, 5], "1", "3x5"),
            ([3, 0, 8], "1", "3x8"),
        ] {
            let ops = ["or", "and", "maximum", "minimum", "add", "multiply"];
            for (op, init) in ops.into_iter().flat_map(|op| [(op, "false"), (op, "true")]) {
                let x = tensor(&shape, "i1");
                let source = format!(
                    "func.func @main(%x: {x}) -> tensor<{kept}xi1> {{
  %0 = stablehlo.constant dense<{init}> : tensor<i1>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.{op} across dimensions = [{dims}] : ({x}, tensor<i1>) -> tensor<{kept}xi1>
  return %1 : tensor<{kept}xi1>
}}"
                );
                for step in [1, 7] {
                    let mut truths = LiteralWriter::new(DType::I1, &shape);
                    let count = shape.iter().product::<usize>();
                    (0..count).for_each(|i| truths.push(&[u8::from((i * i % 11 == 3) == (step == 1))]));
                    run_by_kernels(&source, &[truths.finish()]);
                }
            }
        }
    }

    /// Tests that regions with chains of many ops are left to the interpreter. Compiling such a region recurses along
    /// the chain, and would exceed the thread's stack.
    #[test]
    fn regions_of_many_ops_run() {
        let n = 40_000;
        let ops: String = (0..n).map(|i| format!("    %{} = stablehlo.negate %{i} : tensor<f32>\n", i + 1)).collect();
        let region = format!(
            "({{\n  ^bb0(%0: tensor<f32>, %y: tensor<f32>):\n{ops}    %s = stablehlo.add %{n}, %y : tensor<f32>\n    \
             stablehlo.return %s : tensor<f32>\n  }})"
        );
        // It compares the results with those of the interpreter.
        let times = run(&format!(
            "func.func @main(%a: tensor<2xf32>, %z: tensor<f32>) -> (tensor<f32>, tensor<1xf32>) {{
  %r = \"stablehlo.reduce\"(%a, %z) <{{dimensions = array<i64: 0>}}> {region} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %w = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: 2>}}> {region} : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  return %r, %w : tensor<f32>, tensor<1xf32>
}}"
        ), &[Literal::new([2], &[1f32, 2.0]), Literal::scalar(0f32)]);
        assert_eq!(times.iter().filter(|t| t.is_fallback).count(), 2);
    }
}
