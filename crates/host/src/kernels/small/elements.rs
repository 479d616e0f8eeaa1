//! Ops of small programs that compute elements or reduce arrays, by the operations of block programs.

use super::builder::Builder;
use crate::block::Program;
use crate::block::machine::Op as LaneOp;
use crate::block::program::{Node, Value as BlockValue};
use crate::elem::Elem;
use crate::kernels::context::Fused;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::{positions, row_major};
use crate::small::{Action, Code, Ins, MAX_SIZE_IN_LOOPS, Place};
use shardwise_ir::OpView;
use shardwise_mathfn::order::CHUNK;
use shardwise_ops::NoRegions;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;

/// Adds an op that block programs compute, other than a view. Returns `None` if one of its arrays is not small, if
/// block programs have no instruction for it on these types, or, for a `reduce`, as [`Rows::of`] does.
pub fn computed(builder: &mut Builder<'_, '_>, fused: Fused, view: &OpView<'_>) -> Option<()> {
    match fused {
        Fused::Iota => evaluated(builder, view),
        Fused::Reduce => reduce(builder, view),
        _ => elementwise(builder, fused, view),
    }
}

/// Adds an op without operands as words that are constant, by its reference evaluation. Returns `None` if the result
/// is no small array, or if the evaluation fails.
fn evaluated(builder: &mut Builder<'_, '_>, view: &OpView<'_>) -> Option<()> {
    let (elem, _) = builder.shape(view.result(0))?;
    let results = shardwise_ops::evaluate(view, &[], &mut NoRegions).ok()?;
    let place = builder.code.array(elem, builder.part_count(view.result(0)), results.first()?.to_dense().raw_bytes());
    builder.define(view.result(0), place);
    Some(())
}

fn elementwise(builder: &mut Builder<'_, '_>, fused: Fused, view: &OpView<'_>) -> Option<()> {
    let mut source = Source::of(builder, view)?;
    let value = fused.elementwise(&mut source.program, view, &source.operands)?;
    finish(builder, view, &source, value, None)
}

fn reduce(builder: &mut Builder<'_, '_>, view: &OpView<'_>) -> Option<()> {
    let kind = reducer(reduce_kind_of_op(view)?);
    let mut source = Source::of(builder, view)?;
    let (x, init) = (source.operands[0], source.operands[1]);
    let rows = Rows::of(view)?;
    let value = match rows.row_len * rows.count {
        1 => source.program.combine(kind, x, init),
        _ => source.program.reduce(kind, x, init),
    }?;
    finish(builder, view, &source, value, Some(&rows))
}

fn finish(
    builder: &mut Builder<'_, '_>,
    view: &OpView<'_>,
    source: &Source,
    value: BlockValue,
    rows: Option<&Rows>,
) -> Option<()> {
    let (_, len) = builder.shape(view.result(0))?;
    let place = Emitted::new(source, rows).value(&mut builder.code, value, len);
    builder.define(view.result(0), place);
    Some(())
}

fn narrowed(code: &mut Code, elem: Elem, len: usize, from: Place) -> Place {
    let count = from.count(len);
    let to = code.place(elem, count);
    code.push(Ins::Narrow { elem, len: count as u32, to: to.at, from });
    Place { step: from.step.min(to.step), ..to }
}

/// The block program of one op, and the places of its operands.
pub struct Source {
    pub program: Program,
    operands: Vec<BlockValue>,
    /// The place of each input of the program.
    places: Vec<Place>,
}

impl Source {
    fn of(builder: &mut Builder<'_, '_>, view: &OpView<'_>) -> Option<Source> {
        let mut wide = false;
        for &v in view.operands().iter().chain(view.results()) {
            wide |= builder.shape(v)?.0.is_wide();
        }
        let mut source = Source::new(wide);
        for &v in view.operands() {
            let (_, len) = builder.shape(v)?;
            let place = builder.value(v)?;
            let operands = source.operand(builder, place, len, 1);
            source.operands.extend(operands);
        }
        Some(source)
    }

    /// Returns a program without operands, whose words have 64 bits if they are `wide`, and otherwise 32.
    pub fn new(wide: bool) -> Source {
        let program = Program::new(&[MAX_SIZE_IN_LOOPS]);
        Source { program: if wide { program.wide() } else { program }, operands: vec![], places: vec![] }
    }

    /// Adds an array of `len` real elements, and returns the parts of its elements, of which there are so many.
    pub fn operand(
        &mut self,
        builder: &mut Builder<'_, '_>,
        place: Place,
        len: usize,
        parts: usize,
    ) -> Vec<BlockValue> {
        let (elem, len) = (place.elem, len / parts);
        let mut part = |k: usize| {
            let place = Place { at: place.word(k * len) as u32, ..place };
            let is_widened = self.program.wide && !elem.is_wide();
            self.places.push(if is_widened { widened(&mut builder.code, len, place) } else { place });
            self.program.input(elem, &[1])
        };
        (0..parts).map(&mut part).collect()
    }
}

fn widened(code: &mut Code, len: usize, from: Place) -> Place {
    let count = from.count(len);
    let to = code.place(Elem::U64, count);
    code.push(Ins::Widen { len: count as u32, to: to.at, from });
    to
}

/// The nodes of the program of one op as instructions.
pub struct Emitted<'l> {
    source: &'l Source,
    rows: Option<&'l Rows>,
    places: Vec<Option<Place>>,
}

impl<'l> Emitted<'l> {
    /// Returns the nodes of `source`, none of which is added yet. `rows` are those of a reduction, and `None` for another
    /// op.
    pub fn new(source: &'l Source, rows: Option<&'l Rows>) -> Emitted<'l> {
        Emitted { places: vec![None; source.program.nodes.len()], source, rows }
    }

    /// Adds the instructions that compute `len` elements, and returns their place.
    pub fn value(&mut self, code: &mut Code, value: BlockValue, len: usize) -> Place {
        let place = self.node(code, value.node, len);
        match self.source.program.wide && !value.elem.is_wide() {
            true => narrowed(code, value.elem, len, place),
            false => Place { elem: value.elem, ..place },
        }
    }

    /// Adds the instructions that compute a node of `len` elements, unless they were added before, and returns its
    /// place.
    pub fn node(&mut self, code: &mut Code, node: usize, len: usize) -> Place {
        if let Some(place) = self.places[node] {
            return place;
        }
        let wide = self.source.program.wide;
        let place = match self.source.program.nodes[node] {
            Node::Input(operand) => self.source.places[operand],
            Node::Constant(bits) => code.constant(word_type(wide), bits),
            Node::Unary(op, a) => {
                let a = self.node(code, a, len);
                self.each(code, op, [a, a], len)
            }
            Node::Binary(op, a, b) => {
                let operands = [a, b].map(|n| self.node(code, n, len));
                self.each(code, op, operands, len)
            }
            Node::Select(predicate, a, b) => {
                let operands = [predicate, a, b].map(|n| self.node(code, n, len));
                self.select(code, operands, len)
            }
            Node::Reduce { op, identity, of } => self.fold(code, op, identity, of, len),
            Node::Index(_) => unreachable!("no index is added to the program of one op"),
        };
        self.places[node] = Some(place);
        place
    }

    fn each(&self, code: &mut Code, op: LaneOp, [a, b]: [Place; 2], len: usize) -> Place {
        let (wide, len) = (self.source.program.wide, count([a, b], len));
        let to = code.place(word_type(wide), len);
        code.push(Ins::on(wide, Action::Each { op, len: len as u32, to: to.at, a, b }));
        to
    }

    fn select(&self, code: &mut Code, [predicate, a, b]: [Place; 3], len: usize) -> Place {
        let (wide, len) = (self.source.program.wide, count([predicate, a, b], len));
        let to = code.place(word_type(wide), len);
        code.push(Ins::on(wide, Action::Select { len: len as u32, to: to.at, predicate, a, b }));
        to
    }

    fn fold(&mut self, code: &mut Code, op: LaneOp, identity: u64, of: usize, len: usize) -> Place {
        let wide = self.source.program.wide;
        let rows = self.rows.expect("only a reduction has this node");
        let mut from = self.node(code, of, rows.element_count);
        if from.step == 0 && rows.element_count > 1 {
            let (all, len) = (code.place(word_type(wide), rows.element_count), rows.element_count as u32);
            code.push(Ins::on(wide, Action::Move { len, to: all.at, from }));
            from = all;
        }
        let table = code.table(rows.firsts.iter().map(|&i| from.word(i) as u32));
        let to = code.place(word_type(wide), len);
        let [rows, row_len, run, len] = [rows.count, rows.row_len, rows.run, len].map(|n| n as u32);
        code.push(Ins::on(wide, Action::Fold { op, identity, len, to: to.at, rows, row_len, run, table }));
        to
    }
}

fn word_type(wide: bool) -> Elem {
    if wide { Elem::U64 } else { Elem::U32 }
}

/// Returns the number of elements to compute: one if each operand is one word for all elements, and `len` otherwise.
fn count<const N: usize>(operands: [Place; N], len: usize) -> usize {
    operands.iter().map(|p| p.count(len)).max().unwrap_or(len)
}

/// The rows of a reduction, each of which is the words that follow each other from its first one on.
pub struct Rows {
    /// The number of elements of the operand.
    element_count: usize,
    /// The number of results of a run. The rows of the next result of a run begin one element later.
    pub run: usize,
    /// For the first result of each run, the numbers of the first elements of its rows.
    pub firsts: Vec<usize>,
    /// The number of rows of each result.
    pub count: usize,
    /// The number of elements of each row. It is 1 if a run has several results.
    pub row_len: usize,
}

impl Rows {
    /// Returns the rows of a `reduce` of small arrays. A row is along the trailing dimensions that are reduced, as in
    /// block programs. Returns `None` if a result has more than [`CHUNK`] rows.
    pub fn of(view: &OpView<'_>) -> Option<Rows> {
        let (shape, mut reduced) = (view.operand_shape(0), Reduce::dims(view));
        reduced.sort_unstable();
        let mut kept: Vec<usize> = (0..shape.len()).filter(|d| !reduced.contains(d) && shape[*d] != 1).collect();
        let trailing = kept.last().map_or(0, |&d| d + 1);
        let row_len = reduced.iter().filter(|&&d| d >= trailing).map(|&d| shape[d]).product();
        let strides = row_major(shape);
        let run = if row_len == 1 { kept.pop().map_or(1, |last| shape[last]) } else { 1 };
        let along = |dims: &[usize]| positions(0, dims.iter().map(|&d| (shape[d], strides[d])));
        reduced.retain(|&d| d < trailing);
        let inner = along(&reduced);
        (inner.len() <= CHUNK).then_some(())?;
        let firsts = along(&kept).iter().flat_map(|k| inner.iter().map(move |i| (k + i) as usize)).collect();
        let element_count = shape.iter().product();
        Some(Rows { element_count, run, firsts, count: inner.len(), row_len })
    }
}
