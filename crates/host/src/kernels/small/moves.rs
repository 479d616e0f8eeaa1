//! Ops of small programs that move elements, and products.

use super::builder::{Builder, Held, Parts};
use crate::elem::Elem;
use crate::kernels::factors::{Factors, MIN_RUN};
use crate::kernels::fusion::{is_view, view_strides};
use crate::kernels::strides::{innermost, positions, row_major};
use crate::small::{Action, Place, Start, Window};
use shardwise_base::Literal;
use shardwise_ir::{OpView, Value};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{NoRegions, Opcode};
use std::ops::Range;

/// Makes the operands the results. Returns `None` as [`operand`] does for one of them.
pub fn alias<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    for (&from, &to) in view.operands().iter().zip(view.results()) {
        let place = operand(builder, from)?;
        builder.define(to, place);
    }
    Some(())
}

/// Returns the place of a small array. If it is computed by views from a value of the program, the views are added to
/// the program. Returns `None` as [`Builder::value`] does, and if one of these views cannot be added.
pub fn operand(builder: &mut Builder<'_, '_>, v: Value) -> Option<Place> {
    let (mut views, mut base) = (vec![], v);
    while builder.held(base).is_none() && builder.known(base).is_none() {
        let def = builder.plan.body.def_op(base).map(|op| builder.plan.view(op));
        let Some(view) = def.filter(|view| is_view(builder.plan, view)) else { return builder.value(v) };
        base = view.operand(0);
        views.push(view);
    }
    for view in views.into_iter().rev() {
        movement(builder, &view)?;
        builder.views.push(view.op);
    }
    builder.value(v)
}

/// Adds an op that moves elements to places that are known. A view may read a large array. Returns `None` if the result
/// is not small, if an operand of an op that is no view is not, or if the program cannot read an operand.
pub fn movement<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, _) = builder.shape(view.result(0))?;
    if view.operands().iter().all(|&v| builder.shape(v).is_some()) {
        let words = moved_words(builder, view)?;
        builder.arrange(view.result(0), elem, &words);
        return Some(());
    }
    if !is_view(builder.plan, view) {
        return None;
    }
    let (array, strides, start) = view_strides(builder.plan, view)?;
    let (shape, parts) = (view.result_shape(0), builder.parts(array));
    let elements = Elements { shape, strides, start, parts };
    if builder.shape(array).is_some() {
        let from = builder.value(array)?;
        let words: Vec<u32> = elements.all().iter().map(|&e| from.word(e as usize) as u32).collect();
        builder.arrange(view.result(0), elem, &words);
        return Some(());
    }
    let array = builder.array(array)?;
    let window = window_at(builder, &elements, 0, 0..0);
    builder.compute(view.result(0), |to| Action::Read { elem, array, to, window });
    Some(())
}

/// Returns the numbers of the words that the result of an op is made of. They are what the op's reference evaluation
/// makes of the numbers of the operands' words. Returns `None` if it fails, or if [`operand`] returns `None` for an
/// operand.
fn moved_words<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<Vec<u32>> {
    let places: Vec<Place> = view.operands().iter().map(|&v| operand(builder, v)).collect::<Option<_>>()?;
    let mut words = vec![];
    for part in 0..builder.part_count(view.result(0)) {
        let numbers = places.iter().enumerate().map(|(i, place)| {
            let first = part * builder.parts(view.operand(i)).part;
            Literal::from_fn(view.operand_shape(i), |e| place.word(first + e) as u32)
        });
        let moved = shardwise_ops::evaluate(view, &numbers.collect::<Vec<_>>(), &mut NoRegions).ok()?;
        words.extend_from_slice(moved.first()?.to_dense().as_slice::<u32>());
    }
    Some(words)
}

/// Adds `complex`, or `real` or `imag` of complex numbers. Returns `None` for other ops, if the result is not small,
/// and if [`operand`] returns `None` for an operand.
pub fn parts<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let places: Vec<Place> = view.operands().iter().map(|&v| operand(builder, v)).collect::<Option<_>>()?;
    let count = len / builder.part_count(view.result(0));
    let words = |place: Place, first: usize| (first..first + count).map(move |i| place.word(i) as u32);
    let words: Vec<u32> = match (Opcode::of_view(view), &places[..]) {
        (Opcode::Complex, [re, im]) => words(*re, 0).chain(words(*im, 0)).collect(),
        (Opcode::Real, [place]) => words(*place, 0).collect(),
        (Opcode::Imag, [place]) => words(*place, count).collect(),
        _ => return None,
    };
    builder.arrange(view.result(0), elem, &words);
    Some(())
}

/// Elements of an array, one for each index of a shape.
pub struct Elements<'a> {
    pub shape: &'a [usize],
    /// The number of elements from one index to the next, for each dimension.
    pub strides: Vec<isize>,
    /// The number of the element of index 0.
    pub start: isize,
    pub parts: Parts,
}

impl Elements<'_> {
    /// Returns the dimensions of the real elements, and their strides: the real parts of all elements come before the
    /// imaginary ones.
    fn dims(&self) -> Vec<(usize, isize)> {
        let Parts { count, element, part } = self.parts;
        // A dimension of one element may have any stride.
        let strides = self.strides.iter().map(|stride| stride.wrapping_mul(element as isize));
        let parts = (count > 1).then_some((count, part as isize));
        parts.into_iter().chain(self.shape.iter().copied().zip(strides)).collect()
    }

    /// Returns the numbers of the real elements at all indices of these dimensions.
    fn numbers(&self, dims: &[(usize, isize)]) -> Vec<u32> {
        let start = self.start * self.parts.element as isize;
        positions(start, dims.iter().copied()).into_iter().map(|e| e as u32).collect()
    }

    /// Returns the numbers of all real elements.
    pub fn all(&self) -> Vec<u32> {
        self.numbers(&self.dims())
    }
}

/// Returns the window of these elements of an array whose first real element has number `first`. `starts` is the range
/// of the program's starts by which it moves.
pub fn window_at(builder: &mut Builder<'_, '_>, elements: &Elements<'_>, first: u32, starts: Range<u32>) -> Window {
    let dims = elements.dims();
    let (run, outer) = match innermost(&dims) {
        ((run, 1), outer) => (run, outer),
        _ => (1, dims.len()),
    };
    let table = elements.numbers(&dims[..outer]);
    let table = builder.code.table(table.into_iter().map(|e| first + e));
    Window { run: run as u32, table, starts, slices: 0..0 }
}

/// Adds a `dynamic_slice`, of a small or a large array. Returns `None` if the result is not small, or if the program
/// cannot hold an operand.
pub fn dynamic_slice<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, _) = builder.shape(view.result(0))?;
    if builder.shape(view.operand(0)).is_none() {
        let array = builder.array(view.operand(0))?;
        let window = window(builder, view, 1, view.result_shape(0), 0)?;
        builder.compute(view.result(0), |to| Action::Read { elem, array, to, window });
        return Some(());
    }
    let from = operand(builder, view.operand(0))?;
    if from.step == 0 {
        builder.define(view.result(0), from);
        return Some(());
    }
    let window = window(builder, view, 1, view.result_shape(0), from.at)?;
    builder.compute(view.result(0), |to| Action::Window { to, window });
    Some(())
}

/// Adds a `dynamic_update_slice`. It may change a large array if the program writes that one in place. Returns `None`
/// for other large arrays, and if the program cannot hold an operand.
pub fn dynamic_update_slice<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let update = operand(builder, view.operand(1))?;
    let Some((elem, len)) = builder.shape(view.result(0)) else {
        let may_change = |builder: &Builder<'_, 'm>, array: u32| {
            builder.is_written(array) && builder.replaceable.contains(&view.operand(0))
        };
        let array = builder.array(view.operand(0)).filter(|&array| may_change(builder, array))?;
        let window = window(builder, view, 2, view.operand_shape(1), 0)?;
        builder.push(update.elem, Action::Write { array, update, window });
        builder.hold(view.result(0), Held::Array(array));
        return Some(());
    };
    let from = operand(builder, view.operand(0))?;
    let window = window(builder, view, 2, view.operand_shape(1), 0)?;
    let to = builder.code.place(elem, len);
    builder.push(elem, Action::Move { len: len as u32, to: to.at, from });
    builder.push(elem, Action::Update { at: to.at, update, window });
    builder.define(view.result(0), to);
    Some(())
}

/// Returns a window of shape `size` of the op's first operand. The operands from number `first` on state where the
/// window starts, and `at` is the number of the first operand's first real element. Returns `None` if the program
/// cannot hold one of the operands that state the start.
fn window<'m>(
    builder: &mut Builder<'_, 'm>,
    view: &OpView<'m>,
    first: usize,
    size: &[usize],
    at: u32,
) -> Option<Window> {
    let parts = builder.parts(view.operand(0));
    let (shape, from) = (view.operand_shape(0), builder.code.starts.len() as u32);
    let strides = row_major(shape);
    for (d, ((&n, &own), &stride)) in shape.iter().zip(size).zip(&strides).enumerate() {
        let index = operand(builder, view.operand(first + d))?;
        builder.code.starts.push(Start { index, most: (n - own) as u32, stride: parts.element as u32 * stride as u32 });
    }
    let starts = from..builder.code.starts.len() as u32;
    Some(window_at(builder, &Elements { shape: size, strides, start: 0, parts }, at, starts))
}

/// Adds a product of two small arrays whose elements have the type of the result, and fill a word. Returns `None` for
/// any other product, and for one with more products of elements than [`MAX_PRODUCTS`] or [`MAX_SINGLE_PRODUCTS`].
pub fn dot<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let is_same = view.operands().iter().all(|&v| builder.shape(v).is_some_and(|(e, _)| e == elem));
    if !elem.fills_words() || !is_same {
        return None;
    }
    if view.operands().iter().any(|&v| builder.shape(v).is_some_and(|(_, len)| len == 0)) {
        let zero = builder.code.constant(elem, 0);
        builder.define(view.result(0), zero);
        return Some(());
    }
    let mut factors = Factors::of(&DotDims::of(view)?, [0, 1].map(|i| view.operand_shape(i)));
    let mut places = [operand(builder, view.operand(0))?, operand(builder, view.operand(1))?];
    let has_runs = factors.results.last().is_some_and(|(size, _)| *size >= MIN_RUN);
    if factors.count() > if has_runs { MAX_PRODUCTS } else { MAX_SINGLE_PRODUCTS } {
        return None;
    }
    if has_runs {
        places = [0, 1].map(|k| arranged(builder, &mut factors, elem, k, places[k]));
    }
    let (run, steps) = factors.runs(places.map(|place| place.step));
    let numbers = factors.numbers(run);
    let words = numbers.flat_map(|pair| [0, 1].map(|k| places[k].word(pair[k]) as u32));
    let table = builder.code.table(words);
    let [len, run] = [len, run].map(|n| n as u32);
    builder.compute(view.result(0), |to| Action::Dot { is_float: elem.is_float(), len, to, run, steps, table });
    Some(())
}

/// The most products of elements in a product of arrays with runs of at least [`MIN_RUN`] results.
const MAX_PRODUCTS: usize = 1 << 15;

/// The most products of elements in other products of arrays.
const MAX_SINGLE_PRODUCTS: usize = 1 << 13;

/// Returns the place of operand `k` of a product, with its elements in an order such that those along the results' last
/// dimension follow each other. If they do not yet, this is a copy, and the operand's strides in `factors` become those
/// of the copy. Otherwise it is the given place.
fn arranged(builder: &mut Builder<'_, '_>, factors: &mut Factors, elem: Elem, k: usize, place: Place) -> Place {
    let Some((last, others)) = factors.results.split_last_mut().filter(|(last, _)| last.1[k] > 1 && place.step == 1)
    else {
        return place;
    };
    let order = others.iter_mut().chain(&mut factors.contracted).chain([last]);
    let mut dims: Vec<&mut (usize, [isize; 2])> = order.filter(|(_, strides)| strides[k] != 0).collect();
    let words = positions(place.at as isize, dims.iter().map(|(size, strides)| (*size, strides[k])));
    let to = builder.code.place(elem, words.len());
    let words: Vec<u32> = words.into_iter().map(|word| word as u32).collect();
    builder.copy(to, &words);
    let mut stride = 1;
    for (size, strides) in dims.iter_mut().rev() {
        strides[k] = stride;
        stride *= *size as isize;
    }
    to
}
