//! The loops of a kernel as machine code.
//!
//! The code has a loop for each dimension around the rows, and a loop over the vectors of a row. Its last vector may
//! have fewer lanes. Values that are the same along a row are computed before the row's loop, in the first lane of a
//! vector. Level by level, as [`Class::level`] says, a row is passed over once for the reductions and the outputs that
//! its lanes are computed for, and lanes are computed again where a later level needs them.
//!
//! If leading dimensions are reduced, the loops over them are inside the loop over vectors, and their results stay in
//! registers.
//!
//! [`Class::level`]: crate::block::emit::Class
#![forbid(unsafe_code)]

use super::shape::Shape;
use crate::block::emit::{Granularity, operands};
use crate::block::machine::{Op, PARTIALS};
use crate::block::program::{Node, Program, Role};
use crate::block::stages::live;
use crate::elem::Elem;
use crate::native::{Operands, Second, VECTOR_BYTES, Vectors, Width, flags};
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::FunctionBuilder;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Adds the body of a function, and returns it. Its arguments are the address of a list, with the address of each of
/// the program's operands, and the number of turns of the outermost loop over kept dimensions, which is at least one.
pub fn build<'f>(mut b: FunctionBuilder<'f>, program: &Program, shape: &Shape) -> FunctionBuilder<'f> {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let &[list, turns] = b.block_params(entry) else { unreachable!("two arguments") };
    let mut body = Body { v: Vectors { b }, program, shape, turns, rows: HashMap::new(), splats: HashMap::new() };
    let places = body.places(list);
    let kept = 0..shape.layout.kept;
    body.nest(kept, places, vec![], &mut |body, places, carried| {
        if shape.layout.columns {
            body.columns(places);
        } else {
            body.row(places);
        }
        carried
    });
    body.v.b.ins().return_(&[]);
    body.v.b
}

struct Body<'p, 'f> {
    v: Vectors<'f>,
    program: &'p Program,
    shape: &'p Shape,
    /// The number of turns of the outermost loop over kept dimensions.
    turns: Value,
    /// The values that are the same along the current row, by node, each in the first lane of a vector. Unused if
    /// leading dimensions are reduced.
    rows: HashMap<usize, Value>,
    /// The values that are the same along the current row and that lanes need, each in all lanes of a vector.
    splats: HashMap<usize, Value>,
}

/// Some lanes of a row: one vector of each value.
struct Lanes<'a> {
    /// The address of the first of these lanes of each of the program's operands.
    places: &'a [Value],
    /// The number of lanes, which is that of a vector or less.
    count: usize,
    /// The values that have been computed, by node.
    known: HashMap<usize, Value>,
}

/// Computes the code in a loop, given the addresses of the operands and values that are passed from turn to turn.
/// Returns the values for the next turn.
type Turn<'t, 'p, 'f> = &'t mut dyn FnMut(&mut Body<'p, 'f>, &[Value], Vec<Value>) -> Vec<Value>;

/// Computes the code for a vector of a row, as [`Turn`] does for a turn of a loop. The last argument is the number of
/// lanes.
type VectorTurn<'t, 'p, 'f> = &'t mut dyn FnMut(&mut Body<'p, 'f>, &[Value], Vec<Value>, usize) -> Vec<Value>;

/// The number of turns of a loop.
#[derive(Clone, Copy)]
enum Count {
    Known(usize),
    /// The number that the code has as this value.
    Given(Value),
}

/// A reduction of the program: the number of its node, and the fields of the node.
#[derive(Clone, Copy)]
struct Reduction {
    node: usize,
    op: Op,
    identity: u64,
    of: usize,
}

/// A reduction of the current row.
struct RowFold {
    reduction: Reduction,
    /// The value that is passed to the first vector: the partial results, if their order does not matter, and otherwise
    /// the offset of those of the vector in `partials`.
    first: Value,
    /// The memory of partial results that have an order.
    partials: Option<StackSlot>,
}

impl<'p, 'f> Body<'p, 'f> {
    fn width(&self) -> Width {
        self.shape.width
    }

    /// Returns the address of the first element of each operand, or the first number of an index, from a list.
    fn places(&mut self, list: Value) -> Vec<Value> {
        let mut place = |i: usize| self.v.b.ins().load(types::I64, flags(), list, 8 * i as i32);
        (0..self.program.operands.len()).map(&mut place).collect()
    }

    /// Adds loops over these dimensions around the rows, the first one outermost. Returns the values that the last turn
    /// passes on, or `carried` if there is no dimension.
    fn nest(
        &mut self,
        dims: Range<usize>,
        places: Vec<Value>,
        carried: Vec<Value>,
        turn: Turn<'_, 'p, 'f>,
    ) -> Vec<Value> {
        if dims.is_empty() {
            return turn(self, &places, carried);
        }
        let steps: Vec<isize> = self.shape.layout.walks.iter().map(|walk| walk.outer[dims.start]).collect();
        let inner = dims.start + 1..dims.end;
        let count = if dims.start == 0 && self.shape.layout.kept > 0 {
            Count::Given(self.turns)
        } else {
            Count::Known(self.shape.layout.outer[dims.start])
        };
        self.repeat(count, &steps, places, carried, &mut |body, places, carried| {
            body.nest(inner.clone(), places.to_vec(), carried, turn)
        })
        .1
    }

    /// Adds a loop, which must have at least one turn. After each turn, the addresses grow by `steps`. Returns
    /// the addresses and the passed values after the last turn.
    fn repeat(
        &mut self,
        count: Count,
        steps: &[isize],
        places: Vec<Value>,
        carried: Vec<Value>,
        turn: Turn<'_, 'p, 'f>,
    ) -> (Vec<Value>, Vec<Value>) {
        if let Count::Known(1) = count {
            let carried = turn(self, &places, carried);
            return (self.moved(&places, steps), carried);
        }
        let moving: Vec<usize> = (0..steps.len()).filter(|&i| steps[i] != 0).collect();
        let count = match count {
            Count::Known(count) => self.v.b.ins().iconst(types::I64, count as i64),
            Count::Given(count) => count,
        };
        let passed = |places: &[Value], carried: Vec<Value>| -> Vec<Value> {
            moving.iter().map(|&i| places[i]).chain(carried).collect()
        };
        let turns = self.v.start_loop(count, &passed(&places, carried));
        let mut here = places;
        moving.iter().zip(&turns.passed).for_each(|(&i, param)| here[i] = *param);
        let carried = turn(self, &here, turns.passed[moving.len()..].to_vec());
        let here = self.moved(&here, steps);
        self.v.end_loop(&turns, &passed(&here, carried.clone()));
        (here, carried)
    }

    /// Returns addresses that are one step further.
    fn moved(&mut self, places: &[Value], steps: &[isize]) -> Vec<Value> {
        places.iter().zip(steps).map(|(&place, &step)| self.v.later(place, step)).collect()
    }

    /// Adds code that runs `turn` for each vector of a row.
    fn vectors(&mut self, places: &[Value], carried: Vec<Value>, turn: VectorTurn<'_, 'p, 'f>) -> Vec<Value> {
        let (len, all) = (self.shape.layout.row_len, self.width().lanes());
        let steps: Vec<isize> = self.shape.layout.walks.iter().map(|walk| walk.inner * all as isize).collect();
        let (mut places, mut carried) = (places.to_vec(), carried);
        if len >= all {
            let whole = &mut |body: &mut Body<'p, 'f>, places: &[Value], carried| turn(body, places, carried, all);
            (places, carried) = self.repeat(Count::Known(len / all), &steps, places, carried, whole);
        }
        if !len.is_multiple_of(all) {
            carried = turn(self, &places, carried, len % all);
        }
        carried
    }

    /// Adds the code of a row.
    fn row(&mut self, places: &[Value]) {
        self.rows.clear();
        self.splats.clear();
        let last = self.shape.classes.iter().map(|class| class.level).max().unwrap_or(0);
        for level in 0..=last {
            self.row_outputs(places, level);
            let (outputs, reductions) =
                (self.outputs(|n| self.shape.classes[n].level == level), self.reductions(level));
            if !outputs.is_empty() || !reductions.is_empty() {
                self.pass(places, &outputs, &reductions);
            }
        }
    }

    /// Returns the reductions of lanes of a level, if an output depends on them.
    fn reductions(&self, level: usize) -> Vec<Reduction> {
        let live = live(self.program);
        let wanted = |(node, reduce): (usize, &Node)| match *reduce {
            Node::Reduce { op, identity, of } if live[node] && self.shape.classes[of].level == level => {
                Some(Reduction { node, op, identity, of })
            }
            _ => None,
        };
        self.program.nodes.iter().enumerate().filter_map(wanted).collect()
    }

    /// Returns the outputs on lanes whose node `is_wanted`: the number of each operand, and its node.
    fn outputs(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
        let wanted = |(o, role)| match role {
            Role::Output(n) if is_wanted(n) => Some((o, n)),
            _ => None,
        };
        self.program.operands.iter().map(|operand| operand.role).enumerate().filter_map(wanted).collect()
    }

    /// Writes the row outputs of a level.
    fn row_outputs(&mut self, places: &[Value], level: usize) {
        for (o, operand) in self.program.operands.iter().enumerate() {
            if let Role::RowOutput(n) = operand.role
                && self.shape.classes[n].level == level
            {
                let value = self.row_value(places, n);
                self.store(operand.elem, places[o], operand.elem.size() as isize, 1, value);
            }
        }
    }

    /// Passes over a row once: writes outputs, and computes reductions.
    fn pass(&mut self, places: &[Value], outputs: &[(usize, usize)], reductions: &[Reduction]) {
        self.splats(places, outputs.iter().map(|o| o.1).chain(reductions.iter().map(|r| r.of)));
        let folds: Vec<RowFold> = reductions.iter().map(|&reduction| self.start(reduction)).collect();
        let first = folds.iter().map(|fold| fold.first).collect();
        let width = self.width();
        let totals = self.vectors(places, first, &mut |body, places, mut carried, count| {
            let mut lanes = Lanes { places, count, known: HashMap::new() };
            for (fold, value) in folds.iter().zip(&mut carried) {
                let mut element = body.lanes(&mut lanes, fold.reduction.of);
                if count < width.lanes() {
                    element = body.v.filled(width, element, count, fold.reduction.identity);
                }
                *value = body.fold(fold, *value, element);
            }
            body.write(&mut lanes, outputs);
            carried
        });
        for (fold, total) in folds.iter().zip(totals) {
            let total = self.total(fold, total);
            self.rows.insert(fold.reduction.node, total);
        }
    }

    /// Computes the nodes of outputs for some lanes, and then writes them: an output may be in the memory of an input.
    fn write(&mut self, lanes: &mut Lanes<'_>, outputs: &[(usize, usize)]) {
        let values: Vec<Value> = outputs.iter().map(|&(_, n)| self.lanes(lanes, n)).collect();
        for (&(o, _), value) in outputs.iter().zip(values) {
            let walk = &self.shape.layout.walks[o];
            self.store(walk.operand.elem, lanes.places[o], walk.inner, lanes.count, value);
        }
    }

    /// Adds the code for one index of the kept dimensions around the lanes, of a program that reduces leading
    /// dimensions.
    fn columns(&mut self, places: &[Value]) {
        let (reductions, outputs) = (self.reductions(0), self.outputs(|_| true));
        let dims = self.shape.layout.kept..self.shape.layout.outer.len();
        self.vectors(places, vec![], &mut |body, places, carried, count| {
            let identities = reductions.iter().map(|r| body.v.all(body.shape.width, r.identity)).collect();
            let totals = body.nest(dims.clone(), places.to_vec(), identities, &mut |body, places, mut totals| {
                let mut lanes = Lanes { places, count, known: HashMap::new() };
                for (reduction, total) in reductions.iter().zip(&mut totals) {
                    let b = body.lanes(&mut lanes, reduction.of);
                    *total = body.combined(reduction.op, *total, b, count);
                }
                totals
            });
            let known = reductions.iter().map(|r| r.node).zip(totals).collect();
            body.write(&mut Lanes { places, count, known }, &outputs);
            carried
        });
    }

    fn combined(&mut self, op: Op, a: Value, b: Value, lanes: usize) -> Value {
        self.v.apply(op.combination(), self.width(), Operands { a, b, second: Second::Any, lanes })
    }

    /// Returns the value of a node in the first lane of a vector. The node must be the same along the row.
    fn row_value(&mut self, places: &[Value], node: usize) -> Value {
        if let Some(&value) = self.rows.get(&node) {
            return value;
        }
        let width = self.width();
        let value = match self.program.nodes[node] {
            Node::Constant(bits) => return self.v.all(width, bits),
            Node::Input(o) => self.load(self.program.operands[o].elem, places[o], 0, 1),
            Node::Index(o) => self.index(places[o], 0),
            _ => self.operation(node, 1, |own, n| own.row_value(places, n)),
        };
        self.rows.insert(node, value);
        value
    }

    /// Computes the values that are the same along the row and that lanes of these nodes are computed from.
    fn splats(&mut self, places: &[Value], nodes: impl Iterator<Item = usize>) {
        let (mut open, mut seen): (Vec<usize>, BTreeSet<usize>) = (nodes.collect(), BTreeSet::new());
        while let Some(n) = open.pop() {
            if !seen.insert(n) {
                continue;
            }
            match self.shape.classes[n].kind {
                Granularity::Constant => {}
                Granularity::Lane => open.extend(operands(self.program.nodes[n])),
                Granularity::Row if self.splats.contains_key(&n) => {}
                Granularity::Row => {
                    let value = self.row_value(places, n);
                    let splat = self.v.permuted(self.width(), value, &vec![0; self.width().lanes()]);
                    self.splats.insert(n, splat);
                }
            }
        }
    }

    /// Returns the value of a node for some lanes.
    fn lanes(&mut self, lanes: &mut Lanes<'_>, node: usize) -> Value {
        let width = self.width();
        if let Some(&value) = lanes.known.get(&node).or_else(|| self.splats.get(&node)) {
            return value;
        }
        let count = lanes.count;
        let value = match self.program.nodes[node] {
            Node::Constant(bits) => self.v.all(width, bits),
            Node::Input(o) => {
                let walk = &self.shape.layout.walks[o];
                self.load(walk.operand.elem, lanes.places[o], walk.inner, count)
            }
            Node::Index(o) => self.index(lanes.places[o], self.shape.layout.walks[o].inner),
            _ => self.operation(node, count, |own, n| own.lanes(lanes, n)),
        };
        lanes.known.insert(node, value);
        value
    }

    /// Returns the result of an operation on the first `count` lanes, given the values of the nodes that it is applied
    /// to. Panics for other nodes: reductions are known when they are used.
    fn operation(&mut self, node: usize, count: usize, mut value: impl FnMut(&mut Self, usize) -> Value) -> Value {
        let (op, [a, b], second) = match self.program.nodes[node] {
            Node::Unary(op, a) => (op, [value(self, a); 2], Second::Any),
            Node::Binary(op, a, b) => (op, [a, b].map(|n| value(self, n)), self.shape.second(self.program, b)),
            Node::Select(p, a, b) => {
                let [p, a, b] = [p, a, b].map(|n| value(self, n));
                return self.v.b.ins().bitselect(p, a, b);
            }
            ref other => unreachable!("{other:?} is no operation"),
        };
        self.v.apply(op, self.width(), Operands { a, b, second, lanes: count })
    }

    /// Returns the numbers of an index for the lanes of a vector, given that of its first lane and the distance from
    /// lane to lane.
    fn index(&mut self, first: Value, step: isize) -> Value {
        let width = self.width();
        let word = if width.is_wide { first } else { self.v.b.ins().ireduce(types::I32, first) };
        let all = self.v.b.ins().splat(width.ints(), word);
        if step == 0 {
            return all;
        }
        let steps: Vec<u64> = (0..width.lanes()).map(|lane| (lane as isize * step) as u64).collect();
        let steps = self.v.vector(width, &steps);
        self.v.b.ins().iadd(all, steps)
    }

    /// Returns elements in memory, at distances of `stride` bytes, as the first lanes of a vector.
    fn load(&mut self, elem: Elem, place: Value, stride: isize, count: usize) -> Value {
        let width = self.width();
        let is_dense = stride == elem.size() as isize || count == 1;
        if is_dense && elem.size() == width.bytes() {
            return self.v.load_at(width, place, 0, count);
        }
        if is_dense && count == 4 {
            return self.v.load_narrow(elem, place);
        }
        if stride == 0 {
            let word = self.v.load_element(width, elem, place, 0);
            return self.v.b.ins().splat(width.ints(), word);
        }
        self.v.by_lane(width, count, |v, lane| {
            let place = v.later(place, stride * lane as isize);
            v.load_element(width, elem, place, 0)
        })
    }

    /// Writes the first lanes of a vector as elements at distances of `stride` bytes.
    fn store(&mut self, elem: Elem, place: Value, stride: isize, count: usize, value: Value) {
        let width = self.width();
        let is_dense = stride == elem.size() as isize || count == 1;
        if is_dense && elem.size() == width.bytes() {
            return self.v.store_at(width, place, 0, count, value);
        }
        if is_dense && count == 4 {
            return self.v.store_narrow(elem, place, value);
        }
        for lane in 0..count {
            let place = self.v.later(place, stride * lane as isize);
            let word = self.v.b.ins().extractlane(value, lane as u8);
            self.v.store_element(width, elem, place, 0, word);
        }
    }

    /// Returns the number of partial results of a row that may not be the identity, which is a power of two.
    fn live_partials(&self, is_ordered: bool) -> usize {
        let most = if is_ordered { PARTIALS / self.width().bytes() } else { self.width().lanes() };
        self.shape.layout.row_len.next_power_of_two().min(most)
    }

    /// Starts the reduction of a row.
    fn start(&mut self, reduction: Reduction) -> RowFold {
        let all = self.v.all(self.width(), reduction.identity);
        if !is_ordered(reduction.op) {
            return RowFold { reduction, first: all, partials: None };
        }
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, PARTIALS as u32, 4);
        let slot = self.v.b.create_sized_stack_slot(data);
        for offset in (0..self.live_partials(true) * self.width().bytes()).step_by(VECTOR_BYTES) {
            self.v.b.ins().stack_store(types::I64, all, slot, offset as i32);
        }
        RowFold { reduction, first: self.v.b.ins().iconst(types::I64, 0), partials: Some(slot) }
    }

    /// Folds a vector into the partial results, and returns the value for the next vector.
    fn fold(&mut self, fold: &RowFold, passed: Value, element: Value) -> Value {
        let (width, all) = (self.width(), self.width().lanes());
        let Some(slot) = fold.partials else { return self.combined(fold.reduction.op, passed, element, all) };
        let start = self.v.b.ins().stack_addr(types::I64, slot, 0);
        let place = self.v.b.ins().iadd(start, passed);
        let partials = self.v.load_at(width, place, 0, all);
        let partials = self.combined(fold.reduction.op, partials, element, all);
        self.v.store_at(width, place, 0, all, partials);
        let next = self.v.b.ins().iadd_imm_s(passed, VECTOR_BYTES as i64);
        self.v.b.ins().band_imm_s(next, PARTIALS as i64 - 1)
    }

    /// Returns the result of the reduction of a row in the first lane of a vector.
    fn total(&mut self, fold: &RowFold, passed: Value) -> Value {
        let (width, live) = (self.width(), self.live_partials(fold.partials.is_some()));
        let partials = match fold.partials {
            None => vec![passed],
            Some(slot) => {
                let offsets = (0..live * width.bytes()).step_by(VECTOR_BYTES);
                offsets.map(|offset| self.v.b.ins().stack_load(types::I64, width.ints(), slot, offset as i32)).collect()
            }
        };
        self.v.folded(width, fold.reduction.op.combination(), partials, live)
    }
}

/// Returns true if the result of a reduction depends on the order in which it combines its elements.
fn is_ordered(op: Op) -> bool {
    matches!(op, Op::SumF | Op::ProdF)
}
