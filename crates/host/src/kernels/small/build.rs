//! The small program of a run of ops.

use crate::block::Program;
use crate::block::machine::Op as LaneOp;
use crate::block::program::{Node, Value as BlockValue};
use crate::elem::Elem;
use crate::kernels::context::{Fused, PlanCx};
use crate::kernels::fusion::{is_computed, is_view};
use crate::kernels::reducers::reducer;
use crate::plan::Points;
use crate::small::{Code, Each, Input, Ins, MAX_SIZE, Output, Place};
use shardwise_ir::{Op, OpView, Region, Use, Uses, Value};
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::{Opcode, constant_value};
use std::collections::HashMap;

/// The largest number of words of a small program, which then fit into the first cache, and of numbers in its tables.
const MAX_WORDS: usize = 4096;
const MAX_TABLES: usize = 1 << 14;

/// The program of a run while it is built.
pub struct Builder<'a, 'm> {
    pub plan: &'a PlanCx<'m>,
    pub code: Code,
    /// The instances of the run's results.
    pub points: Points,
    /// The arrays that the program reads from outside, in the order of the code's inputs.
    pub inputs: Vec<Value>,
    /// The views that were added because an op reads through them.
    pub views: Vec<Op>,
    uses: &'a Uses,
    places: HashMap<Value, Held>,
    /// The values that were placed, in this order.
    placed: Vec<Value>,
}

/// Where a value is: in words, or in a large array that is an input.
#[derive(Clone, Copy)]
enum Held {
    Words(Place),
    Array(u32),
}

impl<'a, 'm> Builder<'a, 'm> {
    pub fn new(plan: &'a PlanCx<'m>, uses: &'a Uses, points: Points) -> Builder<'a, 'm> {
        let (code, places) = (Code::default(), HashMap::new());
        Builder { plan, code, points, inputs: vec![], views: vec![], uses, places, placed: vec![] }
    }

    /// Adds ops, in program order. Returns `None`, and leaves the program as it was, if one of them is not for small
    /// programs or has results with other instances, or if the program would become too large.
    pub fn add(&mut self, ops: &[Op]) -> Option<()> {
        let mut results = ops.iter().flat_map(|&op| self.plan.body[op].results.iter());
        if !results.all(|&v| self.plan.points(v).axes == self.points.axes) {
            return None;
        }
        let (mark, inputs, placed) = (self.code.mark(), self.inputs.len(), self.placed.len());
        let added = ops.iter().try_for_each(|&op| self.op(op));
        let fits = self.code.word_count() <= MAX_WORDS && self.code.tables.len() <= MAX_TABLES;
        if added.is_none() || !fits {
            self.code.cut(&mark);
            self.inputs.truncate(inputs);
            for v in self.placed.drain(placed..) {
                self.places.remove(&v);
            }
            return None;
        }
        added
    }

    /// Makes a value that an op of the program defines an output. Panics if no op does.
    pub fn output(&mut self, v: Value) {
        let output = match self.places[&v] {
            Held::Words(place) => Output::Words(place, self.shape(v).expect("only small arrays are in words").1),
            Held::Array(array) => Output::Array(array as usize),
        };
        self.code.outputs.push(output);
    }

    /// Returns the element type and the number of elements of a value, or `None` if it is no array of real elements, is
    /// empty, or has more than [`MAX_SIZE`] elements.
    pub(super) fn shape(&self, v: Value) -> Option<(Elem, usize)> {
        let ty = self.plan.body.ty(v).as_tensor()?;
        let elem = Elem::of(ty.dtype).filter(|e| !e.is_complex())?;
        let size = ty.size();
        (1..=MAX_SIZE).contains(&size).then_some((elem, size))
    }

    /// Adds the views through which `v` reads a value of the program, if it does.
    fn add_views(&mut self, v: Value) -> Option<()> {
        let (mut views, mut base) = (vec![], v);
        while !self.places.contains_key(&base) {
            let Some(op) = self.plan.body.def_op(base) else { return Some(()) };
            if !is_view(self.plan, &self.plan.view(op)) {
                return Some(());
            }
            views.push(op);
            base = self.plan.body[op].operands[0];
        }
        for op in views.into_iter().rev() {
            self.movement(&self.plan.view(op))?;
            self.views.push(op);
        }
        Some(())
    }

    /// Returns the place of a small array. One that no op of the program defines becomes an input. Returns `None` for
    /// other values.
    pub(super) fn value(&mut self, v: Value) -> Option<Place> {
        self.add_views(v)?;
        if let Some(&held) = self.places.get(&v) {
            return match held {
                Held::Words(place) => Some(place),
                Held::Array(_) => None,
            };
        }
        let (elem, size) = self.shape(v)?;
        let constant = self.plan.body.def_op(v).and_then(|op| constant_value(&self.plan.view(op)).cloned());
        let place = match constant {
            Some(literal) => self.code.array(elem, literal.to_dense().raw_bytes()),
            None => {
                let place = self.code.place(elem, size);
                self.input(v, Input::Words(place, size));
                place
            }
        };
        self.define(v, place);
        Some(place)
    }

    fn input(&mut self, v: Value, input: Input) -> u32 {
        self.code.inputs.push(input);
        self.inputs.push(v);
        self.inputs.len() as u32 - 1
    }

    /// Returns the number of the input that a large array is. One that is not known becomes an input, which is only
    /// read. Returns `None` for an array whose elements are not real or cannot be counted by 32 bits, and for a small
    /// one.
    pub(super) fn array(&mut self, v: Value) -> Option<u32> {
        match self.places.get(&v) {
            Some(Held::Array(array)) => Some(*array),
            Some(Held::Words(_)) => None,
            None => {
                let array = self.new_array(v, false)?;
                self.hold(v, Held::Array(array));
                Some(array)
            }
        }
    }

    fn new_array(&mut self, v: Value, is_written: bool) -> Option<u32> {
        let bytes = self.large(v)?;
        Some(self.input(v, Input::Array { bytes, is_written }))
    }

    /// Returns the number of bytes of a large array of real elements, or `None` for other values.
    fn large(&self, v: Value) -> Option<usize> {
        let ty = self.plan.body.ty(v).as_tensor()?;
        let elem = Elem::of(ty.dtype).filter(|e| !e.is_complex())?;
        let size = ty.shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n))?;
        (size > MAX_SIZE && u32::try_from(size).is_ok()).then(|| size * elem.size())
    }

    pub(super) fn define(&mut self, v: Value, place: Place) {
        self.hold(v, Held::Words(place));
    }

    /// Makes the number of an input the place of a large array.
    pub(super) fn define_array(&mut self, v: Value, array: u32) {
        self.hold(v, Held::Array(array));
    }

    /// Returns true if an array is an input that the program writes.
    pub(super) fn is_written(&self, array: u32) -> bool {
        matches!(self.code.inputs[array as usize], Input::Array { is_written: true, .. })
    }

    fn hold(&mut self, v: Value, held: Held) {
        self.places.insert(v, held);
        self.placed.push(v);
    }

    fn op(&mut self, op: Op) -> Option<()> {
        let view = self.plan.view(op);
        // What a region computes may be the same on all devices.
        let is_here = |v: &Value| {
            let points = self.plan.points(*v);
            points.axes == self.points.axes || points.axes.is_empty()
        };
        if !view.results().iter().all(is_here) {
            return None;
        }
        match Opcode::of_view(&view) {
            Opcode::Constant => Some(()),
            Opcode::While => self.while_loop(&view),
            Opcode::Case | Opcode::If => self.case(&view),
            _ => match self.plan.fused(&view) {
                Some(Fused::View(_)) => self.movement(&view),
                Some(fused) if is_computed(self.plan, &view) => self.computed(fused, &view),
                _ => self.plan.small(&view).and_then(|build| build(self, &view)),
            },
        }
    }

    fn computed(&mut self, fused: Fused, view: &OpView<'m>) -> Option<()> {
        match fused {
            Fused::Iota => self.evaluated(view),
            Fused::Reduce => self.reduce(view),
            _ => self.elements(fused, view),
        }
    }

    /// Adds an op without operands by its reference evaluation.
    fn evaluated(&mut self, view: &OpView<'m>) -> Option<()> {
        let (elem, _) = self.shape(view.result(0))?;
        let results = shardwise_ops::evaluate(view, &[], &mut shardwise_ops::NoRegions).ok()?;
        let place = self.code.array(elem, results.first()?.to_dense().raw_bytes());
        self.define(view.result(0), place);
        Some(())
    }

    /// Adds an elementwise op.
    fn elements(&mut self, fused: Fused, view: &OpView<'m>) -> Option<()> {
        let (_, len) = self.shape(view.result(0))?;
        let mut lanes = Lanes::of(self, view)?;
        let operands = lanes.operands.clone();
        let value = match fused {
            Fused::Unary(function) => lanes.program.unary(function, operands[0]),
            Fused::Binary(function) => lanes.program.binary(function, operands[0], operands[1]),
            Fused::Elements(compute) => compute(&mut lanes.program, view, &operands),
            Fused::Iota | Fused::Reduce | Fused::View(_) => None,
        }?;
        self.finish(view, lanes, value, len, None)
    }

    /// Adds a reduction by a named reducer.
    fn reduce(&mut self, view: &OpView<'m>) -> Option<()> {
        let (_, len) = self.shape(view.result(0))?;
        let kind = reducer(reduce_kind_of_op(view)?);
        let mut lanes = Lanes::of(self, view)?;
        let (x, init) = (lanes.operands[0], lanes.operands[1]);
        let rows = Rows::of(view);
        let value = match rows.row_len * rows.count {
            1 => lanes.program.combine(kind, x, init),
            _ => lanes.program.reduce(kind, x, init),
        }?;
        self.finish(view, lanes, value, len, Some(&rows))
    }

    /// Adds the instructions of a lane program, whose result `value` has `len` elements and becomes the op's.
    fn finish(
        &mut self,
        view: &OpView<'m>,
        lanes: Lanes,
        value: BlockValue,
        len: usize,
        rows: Option<&Rows>,
    ) -> Option<()> {
        let mut emitted = Emitted { places: vec![None; lanes.program.nodes.len()], lanes: &lanes, rows };
        let place = emitted.node(&mut self.code, value.node, len);
        let place = Place { elem: value.elem, ..place };
        let place = match lanes.program.wide && !value.elem.is_wide() {
            true => {
                let count = if place.step == 0 { 1 } else { len };
                let to = self.code.place(value.elem, count);
                self.code.push(Ins::Narrow { elem: value.elem, len: count as u32, to: to.at, from: place });
                Place { step: place.step.min(to.step), ..to }
            }
            false => place,
        };
        self.define(view.result(0), place);
        Some(())
    }

    fn while_loop(&mut self, view: &OpView<'m>) -> Option<()> {
        let [cond, body] = [view.regions()[0], view.regions()[1]];
        let carried: Vec<Carried> = (0..view.results().len()).map(|i| self.carried(view, i)).collect::<Option<_>>()?;
        let shapes: Vec<(Elem, usize)> = carried.iter().filter_map(Carried::shape).collect();
        let places: Vec<Place> = shapes.iter().map(|&(elem, len)| self.code.place(elem, len)).collect();
        let initial = self.small(view.operands())?;
        self.assign(&initial, &places, &shapes);
        self.capture(view)?;
        for region in [cond, body] {
            let args = self.plan.body[region].args.clone();
            self.hold_all(&args, &carried, &places);
        }
        let at = self.code.push(Ins::While { cond: 0..0, predicate: 0, body: 0..0 });
        let predicate = self.region(cond)?[0];
        let cond_end = self.code.next();
        let results = self.region(body)?;
        self.assign(&results, &places, &shapes);
        let body_end = self.code.next();
        self.code.instructions[at as usize] =
            Ins::While { cond: at + 1..cond_end, predicate: predicate.at, body: cond_end..body_end };
        self.hold_all(view.results(), &carried, &places);
        Some(())
    }

    /// Returns where a loop keeps the array that it carries at index `i`. Returns `None` if the loop is not for small
    /// programs.
    fn carried(&mut self, view: &OpView<'m>, i: usize) -> Option<Carried> {
        let (operand, body) = (view.operand(i), view.regions()[1]);
        if let Some((elem, len)) = self.shape(operand) {
            return Some(Carried::Words(elem, len));
        }
        let arg = self.plan.body[body].args[i];
        if self.plan.body.region_results(body)[i] == arg {
            return self.array(operand).filter(|&array| !self.is_written(array)).map(Carried::Array);
        }
        if !self.is_updated_in_place(body, i) {
            return None;
        }
        match self.places.get(&operand) {
            // The array of a loop around this one, or of one before it. Nothing else may read it later.
            Some(Held::Array(array)) if self.is_written(*array) && self.uses.of(operand).len() == 1 => {
                Some(Carried::Array(*array))
            }
            Some(_) => None,
            None => self.new_array(operand, true).map(Carried::Array),
        }
    }

    /// Returns true if the array that a loop carries at index `i` only changes in windows, so that it can be written
    /// in place: each turn reads windows of the array, then an update makes the next array, and so on until the last
    /// one is carried on.
    fn is_updated_in_place(&self, region: Region, i: usize) -> bool {
        let body = self.plan.body;
        let ops = &body[region].ops;
        let position = |op: Op| ops.iter().position(|&other| other == op);
        let (mut array, last) = (body[region].args[i], body.region_results(region)[i]);
        while array != last {
            let Some(uses) =
                self.uses.of(array).iter().map(|u| Some((position(u.op)?, *u))).collect::<Option<Vec<_>>>()
            else {
                return false;
            };
            let Some(&(at, next)) = uses.iter().max_by_key(|(at, _)| *at) else { return false };
            let is_read = |(other, u): &(usize, Use)| {
                *other == at || (u.index == 0 && Opcode::of_view(&self.plan.view(u.op)) == Opcode::DynamicSlice)
            };
            let view = self.plan.view(next.op);
            let is_alone = uses.iter().filter(|(other, _)| *other == at).count() == 1;
            if !is_alone || !uses.iter().all(is_read) {
                return false;
            }
            array = match Opcode::of_view(&view) {
                Opcode::DynamicUpdateSlice if next.index == 0 => view.result(0),
                Opcode::While if self.is_updated_in_place(view.regions()[1], next.index) => view.result(next.index),
                _ => return false,
            };
        }
        self.uses.of(last).len() == 1
    }

    fn hold_all(&mut self, values: &[Value], carried: &[Carried], places: &[Place]) {
        let mut places = places.iter();
        for (&v, carried) in values.iter().zip(carried) {
            let held = match carried {
                Carried::Words(..) => Held::Words(*places.next().expect("a place for each small array")),
                Carried::Array(array) => Held::Array(*array),
            };
            self.hold(v, held);
        }
    }

    /// Returns the places of those of the values that are small arrays.
    fn small(&mut self, values: &[Value]) -> Option<Vec<Place>> {
        let mut places = vec![];
        for &v in values {
            if self.shape(v).is_some() {
                places.push(self.value(v)?);
            }
        }
        Some(places)
    }

    /// Makes what the regions of an op read from outside known before its instructions.
    fn capture(&mut self, view: &OpView<'m>) -> Option<()> {
        view.captured().into_iter().try_for_each(|v| match self.shape(v) {
            Some(_) => self.value(v).map(drop),
            None => self.array(v).map(drop),
        })
    }

    fn case(&mut self, view: &OpView<'m>) -> Option<()> {
        let is_if = Opcode::of_view(view) == Opcode::If;
        let shapes: Vec<(Elem, usize)> = view.results().iter().map(|&v| self.shape(v)).collect::<Option<_>>()?;
        let index = self.value(view.operand(0))?;
        let places: Vec<Place> = shapes.iter().map(|&(elem, len)| self.code.place(elem, len)).collect();
        self.capture(view)?;
        let at = self.code.push(Ins::Case { index, is_if, branches: vec![] });
        let mut ranges = vec![];
        for &region in view.regions() {
            let start = self.code.next();
            let results = self.region(region)?;
            self.assign(&results, &places, &shapes);
            ranges.push(start..self.code.next());
        }
        self.code.instructions[at as usize] = Ins::Case { index, is_if, branches: ranges };
        view.results().iter().zip(places).for_each(|(&v, place)| self.define(v, place));
        Some(())
    }

    /// Adds the ops of a region, and returns the places of those of its results that are small arrays.
    fn region(&mut self, region: Region) -> Option<Vec<Place>> {
        let ops = self.plan.body[region].ops.clone();
        let (_, ops) = ops.split_last()?;
        ops.iter().try_for_each(|&op| self.op(op))?;
        self.small(self.plan.body.region_results(region))
    }

    /// Copies arrays to places, as if at one time.
    fn assign(&mut self, from: &[Place], to: &[Place], shapes: &[(Elem, usize)]) {
        let is_overwritten = |place: &Place, own: &Place| {
            place != own
                && to.iter().zip(shapes).any(|(t, (_, len))| {
                    t.is_wide() == place.is_wide() && (t.at..t.at + *len as u32).contains(&place.at)
                })
        };
        let mut sources = vec![];
        for ((&from, to), &(elem, len)) in from.iter().zip(to).zip(shapes) {
            let source = match is_overwritten(&from, to) {
                true => {
                    let copy = self.code.place(elem, len);
                    self.code.push(Ins::Move { wide: elem.is_wide(), len: len as u32, to: copy.at, from });
                    copy
                }
                false => from,
            };
            sources.push(source);
        }
        for ((&from, &to), &(elem, len)) in sources.iter().zip(to).zip(shapes) {
            if from.at != to.at || (from.step == 0 && len > 1) {
                self.code.push(Ins::Move { wide: elem.is_wide(), len: len as u32, to: to.at, from });
            }
        }
    }
}

/// Where a loop keeps an array that it carries.
enum Carried {
    /// In words, of this type and number.
    Words(Elem, usize),
    /// In the large array that is the input with this number.
    Array(u32),
}

impl Carried {
    fn shape(&self) -> Option<(Elem, usize)> {
        match self {
            Carried::Words(elem, len) => Some((*elem, *len)),
            Carried::Array(_) => None,
        }
    }
}

/// The lane program of one op, and where its operands are.
struct Lanes {
    program: Program,
    operands: Vec<BlockValue>,
    /// For each input of the program, its place.
    places: Vec<Place>,
}

impl Lanes {
    /// Returns a program with the op's operands as its inputs.
    fn of(builder: &mut Builder<'_, '_>, view: &OpView<'_>) -> Option<Lanes> {
        let mut wide = false;
        for &v in view.operands().iter().chain(view.results()) {
            wide |= builder.shape(v)?.0.is_wide();
        }
        let program = Program::new(&[MAX_SIZE]);
        let mut lanes =
            Lanes { program: if wide { program.wide() } else { program }, operands: vec![], places: vec![] };
        for &v in view.operands() {
            let (elem, len) = builder.shape(v)?;
            let mut place = builder.value(v)?;
            if wide && !elem.is_wide() {
                let count = if place.step == 0 { 1 } else { len };
                let to = builder.code.place(Elem::U64, count);
                builder.code.push(Ins::Widen { len: count as u32, to: to.at, from: place });
                place = to;
            }
            lanes.operands.push(lanes.program.input(elem, &[1]));
            lanes.places.push(place);
        }
        Some(lanes)
    }
}

/// The nodes of a lane program as instructions.
struct Emitted<'l> {
    lanes: &'l Lanes,
    rows: Option<&'l Rows>,
    places: Vec<Option<Place>>,
}

impl Emitted<'_> {
    /// Returns the place of a node, whose result has `len` elements.
    fn node(&mut self, code: &mut Code, node: usize, len: usize) -> Place {
        if let Some(place) = self.places[node] {
            return place;
        }
        let wide = self.lanes.program.wide;
        let place = match self.lanes.program.nodes[node] {
            Node::Input(operand) => self.lanes.places[operand],
            Node::Constant(bits) => code.constant(word_type(wide), wide, bits),
            Node::Unary(op, a) => {
                let a = self.node(code, a, len);
                self.each(code, op, a, a, len)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.node(code, a, len), self.node(code, b, len));
                self.each(code, op, a, b, len)
            }
            Node::Select(predicate, a, b) => {
                let [predicate, a, b] = [predicate, a, b].map(|n| self.node(code, n, len));
                let count = count([predicate, a, b], len);
                let to = code.place(word_type(wide), count);
                code.push(Ins::Select { wide, len: count as u32, to: to.at, predicate, a, b });
                to
            }
            Node::Reduce { op, identity, of } => self.fold(code, op, identity, of, len),
            Node::Index(_) => unreachable!("no index is added to the program of one op"),
        };
        self.places[node] = Some(place);
        place
    }

    fn each(&self, code: &mut Code, op: LaneOp, a: Place, b: Place, len: usize) -> Place {
        let (wide, len) = (self.lanes.program.wide, count([a, b], len));
        let to = code.place(word_type(wide), len);
        code.push(Ins::Each(Each { op, wide, len: len as u32, to: to.at, a, b }));
        to
    }

    fn fold(&mut self, code: &mut Code, op: LaneOp, identity: u64, of: usize, len: usize) -> Place {
        let wide = self.lanes.program.wide;
        let rows = self.rows.expect("only a reduction has this node");
        let from = self.node(code, of, rows.elements.len());
        let table = code.table(rows.elements.iter().map(|&i| from.word(i) as u32));
        let to = code.place(word_type(wide), len);
        let (rows, row_len) = (rows.count as u32, rows.row_len as u32);
        code.push(Ins::Fold { op, wide, identity, to: to.at, rows, row_len, table });
        to
    }
}

/// Returns a type whose words have 64 or 32 bits.
fn word_type(wide: bool) -> Elem {
    if wide { Elem::U64 } else { Elem::U32 }
}

/// Returns the number of elements to compute: one if all operands are one word.
fn count<const N: usize>(operands: [Place; N], len: usize) -> usize {
    if operands.iter().all(|p| p.step == 0) { 1 } else { len }
}

/// The elements of a reduction.
struct Rows {
    /// For each result, the numbers of the elements that are combined, row by row.
    elements: Vec<usize>,
    /// The number of rows of each result, and of elements of each row.
    count: usize,
    row_len: usize,
}

impl Rows {
    fn of(view: &OpView<'_>) -> Rows {
        let (shape, dims) = (view.operand_shape(0), Reduce::dims(view));
        let large: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] != 1).collect();
        let last_kept = large.iter().rposition(|d| !dims.contains(d));
        let row_len: usize = large[last_kept.map_or(0, |i| i + 1)..].iter().map(|&d| shape[d]).product();
        let all: usize = dims.iter().map(|&d| shape[d]).product();
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).collect();
        let strides: Vec<usize> = (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect();
        let offsets = |over: &[usize]| {
            over.iter().fold(vec![0], |offsets: Vec<usize>, &d| {
                offsets
                    .iter()
                    .flat_map(|o| (0..shape[d]).map(move |i| (o, i)))
                    .map(|(o, i)| o + i * strides[d])
                    .collect()
            })
        };
        let mut reduced = dims.clone();
        reduced.sort_unstable();
        let inner = offsets(&reduced);
        let elements = offsets(&kept).iter().flat_map(|k| inner.iter().map(move |i| k + i)).collect();
        Rows { elements, count: all / row_len, row_len }
    }
}
