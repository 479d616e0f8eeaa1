//! All ops of small programs, with loops and branches.

use super::builder::{Builder, Held};
use super::complex::{Function, by_parts, function};
use super::elements::computed;
use super::indexed::{gather, scatter};
use super::moves::{alias, dot, dynamic_slice, dynamic_update_slice, movement, operand, parts};
use crate::kernels::complex;
use crate::kernels::context::{Fused, PlanCx, Small};
use crate::kernels::empty::is_empty;
use crate::kernels::fusion::{is_computed, is_view};
use crate::kernels::rows;
use crate::small::{Action, Call, Ins, MAX_SIZE, MAX_SIZE_IN_LOOPS, Place, Routine};
use shardwise_base::Literal;
use shardwise_ir::{Op, OpView, Region, Use, Value};
use shardwise_ops::elementwise::Rows;
use shardwise_ops::{NoRegions, Opcode, constant_value};

/// Adds ops, in program order. Returns `None`, and leaves the program as it was, if one of them is not for small
/// programs or has results with other instances, or if the program would become too large.
pub fn add(builder: &mut Builder<'_, '_>, ops: &[Op]) -> Option<()> {
    let plan = builder.plan;
    let mut results = ops.iter().flat_map(|&op| plan.body[op].results.iter());
    if !results.all(|&v| plan.points(v).axes == builder.points.axes) {
        return None;
    }
    let state = builder.state();
    let added = add_ops(builder, ops);
    if added.is_none() {
        builder.return_to(&state);
    }
    added
}

fn add_ops(builder: &mut Builder<'_, '_>, ops: &[Op]) -> Option<()> {
    ops.iter().try_for_each(|&op| add_op(builder, op).filter(|()| builder.fits()))
}

/// How a small program runs an op.
enum Kind {
    /// A constant, which becomes a part of the program if an op reads it.
    Constant,
    /// An op that computes nothing, because its results have no elements.
    Empty,
    Loop,
    Branch,
    View,
    /// An op that makes complex numbers of their parts, or returns a part.
    Parts,
    /// An op on complex numbers that block programs compute from their parts.
    ByParts(Function),
    /// An op that block programs compute, other than a view.
    Computed(Fused),
    Small(Small),
}

fn kind(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Kind> {
    match Opcode::of_view(view) {
        Opcode::While => return Some(Kind::Loop),
        Opcode::Case | Opcode::If => return Some(Kind::Branch),
        _ if constant_value(view).is_some() => return Some(Kind::Constant),
        _ if is_empty(view) => return Some(Kind::Empty),
        _ => {}
    }
    if values(view).any(|v| is_complex(plan, v)) {
        return complex_kind(plan, view);
    }
    match plan.fused(view) {
        Some(Fused::View(_)) => Some(Kind::View),
        // Products have a form of their own here.
        Some(Fused::Product) => plan.small(view).map(Kind::Small),
        Some(fused) if is_computed(plan, view) => Some(Kind::Computed(fused)),
        _ => plan.small(view).map(Kind::Small),
    }
}

/// Returns how a small program runs an op on complex numbers, or `None` if it does not.
fn complex_kind(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Kind> {
    if !values(view).all(|v| plan.body.ty(v).as_tensor().is_some()) {
        return None;
    }
    if is_view(plan, view) {
        return Some(Kind::View);
    }
    match Opcode::of_view(view) {
        Opcode::Complex | Opcode::Real | Opcode::Imag => Some(Kind::Parts),
        _ if let Some(function) = function(view) => Some(Kind::ByParts(function)),
        Opcode::DotGeneral | Opcode::Reduce => Some(Kind::Small(Small::Call(complex::routine))),
        _ => match plan.small(view) {
            None => Rows::of(view).map(|_| Kind::Small(Small::Call(rows::routine))),
            Some(Small::Dot) => None,
            small => small.map(Kind::Small),
        },
    }
}

/// Returns the operands and the results of an op.
fn values<'v>(view: &'v OpView<'_>) -> impl Iterator<Item = Value> + 'v {
    view.operands().iter().chain(view.results()).copied()
}

fn is_complex(plan: &PlanCx<'_>, v: Value) -> bool {
    plan.body.ty(v).as_tensor().is_some_and(|ty| ty.dtype.is_complex())
}

fn add_op(builder: &mut Builder<'_, '_>, op: Op) -> Option<()> {
    let view = builder.plan.view(op);
    // The results of ops in a region may be the same on all devices.
    let is_here = |v: &Value| {
        let axes = builder.plan.points(*v).axes;
        axes == builder.points.axes || axes.is_empty()
    };
    if !view.results().iter().all(is_here) {
        return None;
    }
    // The op was added in front of the loop around it.
    if !view.results().is_empty() && view.results().iter().all(|&v| builder.held(v).is_some()) {
        return Some(());
    }
    let kind = kind(builder.plan, &view)?;
    if let Some(elements) = folded(builder, &kind, &view) {
        builder.set_known(view.result(0), elements);
        return Some(());
    }
    match kind {
        Kind::Constant => Some(()),
        Kind::Empty => view.results().iter().try_for_each(|&v| builder.define_empty(v)),
        // Inside of a region, this is known from the outermost loop or branch.
        Kind::Branch if !builder.is_in_region && !may_join(builder, &view) => None,
        Kind::Loop if !builder.is_in_region => outer_loop(builder, &view),
        Kind::Loop => while_loop(builder, &view),
        Kind::Branch => case(builder, &view),
        Kind::View => movement(builder, &view),
        Kind::Parts => parts(builder, &view),
        Kind::ByParts(_) | Kind::Computed(_) | Kind::Small(_) if makes_elements(builder, &kind, &view) => None,
        Kind::ByParts(function) => by_parts(builder, function, &view),
        Kind::Computed(fused) => {
            view.operands().iter().try_for_each(|&v| operand(builder, v).map(drop))?;
            computed(builder, fused, &view)
        }
        Kind::Small(own) => small(builder, own, &view),
    }
}

/// Returns true if an op that is neither a movement nor a product reads an array without elements.
fn makes_elements(builder: &Builder<'_, '_>, kind: &Kind, view: &OpView<'_>) -> bool {
    !matches!(kind, Kind::Small(Small::Movement | Small::Dot))
        && view.operands().iter().any(|&v| builder.shape(v).is_some_and(|(_, len)| len == 0))
}

/// Returns the result of an op without regions, of [`Kind::View`] or one that computes elements, that computes one small
/// array from nothing or from small arrays that are known ([`Builder::known`]). Returns `None` for other ops, and if the
/// evaluation fails.
fn folded(builder: &Builder<'_, '_>, kind: &Kind, view: &OpView<'_>) -> Option<Literal> {
    let is_kind = matches!(kind, Kind::View | Kind::ByParts(_) | Kind::Computed(_) | Kind::Small(_));
    let is_plain = is_kind && view.regions().is_empty();
    let &[result] = view.results() else { return None };
    builder.shape(result).filter(|_| is_plain)?;
    let small = |&v: &Value| builder.known(v).filter(|_| builder.shape(v).is_some()).cloned();
    let operands: Vec<Literal> = view.operands().iter().map(small).collect::<Option<_>>()?;
    shardwise_ops::evaluate(view, &operands, &mut NoRegions).ok()?.pop()
}

/// Adds the views and the ops that compute elements in a loop's region, and in the loops in it, that read only what is
/// there before the loop ([`is_invariant`]), so that they run once. Returns `None` if an op of these regions is not for
/// small programs, or if the program would become too large.
fn hoist(builder: &mut Builder<'_, '_>, region: Region) -> Option<()> {
    let plan = builder.plan;
    for &op in body_ops(plan, region) {
        let view = plan.view(op);
        match kind(plan, &view)? {
            Kind::Loop => view.regions().iter().try_for_each(|&inner| hoist(builder, inner))?,
            Kind::View | Kind::ByParts(_) | Kind::Computed(_) | Kind::Small(_) if is_invariant(builder, &view) => {
                add_op(builder, op).filter(|()| builder.fits())?;
            }
            _ => {}
        }
    }
    Some(())
}

/// Returns true if each value that an op reads is in words of the program, or is known ([`Builder::known`]).
fn is_invariant(builder: &Builder<'_, '_>, view: &OpView<'_>) -> bool {
    let is_there = |v: &Value| matches!(builder.held(*v), Some(Held::Words(_))) || builder.known(*v).is_some();
    view.operands().iter().chain(&view.captured()).all(is_there)
}

/// Adds an op that small programs compute in a way of their own. Returns `None` if the op is not for small programs.
fn small<'m>(builder: &mut Builder<'_, 'm>, small: Small, view: &OpView<'m>) -> Option<()> {
    match small {
        Small::Alias => alias(builder, view),
        Small::Movement => movement(builder, view),
        Small::DynamicSlice => dynamic_slice(builder, view),
        Small::DynamicUpdateSlice => dynamic_update_slice(builder, view),
        Small::Gather => gather(builder, view),
        Small::Scatter => scatter(builder, view),
        Small::Dot => dot(builder, view),
        // A routine may list all elements.
        Small::Call(_) if !values(view).all(|v| builder.shape(v).is_some()) => None,
        Small::Call(routine) => call(builder, routine(builder.plan, view)?, view),
    }
}

/// Adds a call of the routine that computes the results of an op. Returns `None` if one of the op's arrays is not
/// small, or if [`operand`] returns `None` for an operand.
fn call<'m>(builder: &mut Builder<'_, 'm>, routine: Box<dyn Routine>, view: &OpView<'m>) -> Option<()> {
    let (mut operands, mut results) = (vec![], vec![]);
    for &v in view.operands() {
        let place = operand(builder, v)?;
        operands.push(builder.array_at(v, place)?);
    }
    for &v in view.results() {
        let (elem, len) = builder.shape(v)?;
        let place = builder.code.place(elem, len);
        builder.define(v, place);
        results.push(builder.array_at(v, place)?);
    }
    builder.code.push(Ins::Call(Call::new(routine, operands, results)));
    Some(())
}

/// Returns true if a loop or branch, or an op in one, and the ops in its regions have a form for small programs, and
/// all their results are small or may be large arrays that change in place. A large constant in a region is neither,
/// and has no buffer that the program could read. This is quick, and says nothing else about whether they can be added.
fn may_join(builder: &Builder<'_, '_>, view: &OpView<'_>) -> bool {
    let Some(kind) = kind(builder.plan, view) else { return false };
    let may_be_large = matches!(kind, Kind::Loop | Kind::Small(Small::DynamicUpdateSlice));
    let regions: &[Region] = if matches!(kind, Kind::Loop | Kind::Branch) { view.regions() } else { &[] };
    let mut inner = regions.iter().flat_map(|&region| body_ops(builder.plan, region));
    (may_be_large || view.results().iter().all(|&v| builder.shape(v).is_some()))
        && inner.all(|&op| may_join(builder, &builder.plan.view(op)))
}

fn body_ops<'m>(plan: &PlanCx<'m>, region: Region) -> &'m [Op] {
    plan.body[region].ops.split_last().map_or(&[], |(_, ops)| ops)
}

/// Adds a loop that is in no other loop or branch. Its arrays may have [`MAX_SIZE_IN_LOOPS`] elements if the results of
/// the ops in it have at most [`MAX_SIZE`] on average. Returns `None` if the loop is not for small programs.
fn outer_loop<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let mut ops = vec![];
    view.regions().iter().for_each(|&region| builder.plan.body.walk_region(region, &mut ops));
    let results = ops.iter().flat_map(|&op| builder.plan.body[op].results.iter());
    let elements: usize = results.filter_map(|&v| builder.elements(v)).map(|(_, size)| size).sum();
    builder.max_size = if elements <= MAX_SIZE * ops.len() { MAX_SIZE_IN_LOOPS } else { MAX_SIZE };
    let added = if may_join(builder, view) { while_loop(builder, view) } else { None };
    builder.max_size = MAX_SIZE;
    added
}

fn while_loop<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let [cond, body] = [view.regions()[0], view.regions()[1]];
    let carried: Vec<Carried> = (0..view.results().len()).map(|i| carried(builder, view, i)).collect::<Option<_>>()?;
    let initial = places(builder, view.operands())?;
    let targets = own_places(builder, view.operands());
    assign(builder, &initial, &targets)?;
    capture(builder, view)?;
    for region in [cond, body] {
        hoist(builder, region)?;
    }
    let plan = builder.plan;
    for region in [cond, body] {
        hold_all(builder, &plan.body[region].args, &carried, &targets);
    }
    let start = builder.code.next();
    let predicate = add_region(builder, cond)?[0].at;
    let exit = builder.code.push(Ins::Unless { predicate, to: 0 });
    let results = add_region(builder, body)?;
    assign(builder, &results, &targets)?;
    builder.code.push(Ins::Jump { to: start });
    builder.code.instructions[exit as usize] = Ins::Unless { predicate, to: builder.code.next() };
    hold_all(builder, view.results(), &carried, &targets);
    Some(())
}

/// The form in which a loop holds an array that it carries.
enum Carried {
    /// A small array, in words that each turn sets.
    Words,
    /// A large array: the input with this number.
    Array(u32),
}

fn carried(builder: &mut Builder<'_, '_>, view: &OpView<'_>, i: usize) -> Option<Carried> {
    let (initial, body) = (view.operand(i), view.regions()[1]);
    if builder.shape(initial).is_some() {
        return Some(Carried::Words);
    }
    if builder.plan.body.region_results(body)[i] == builder.plan.body[body].args[i] {
        return builder.array(initial).filter(|&array| !builder.is_written(array)).map(Carried::Array);
    }
    let replaced = replaced_in(builder, body, i)?;
    let array = match builder.held(initial) {
        None => builder.new_array(initial, true)?,
        // A loop around this one, or one before it, writes the array.
        Some(Held::Array(array)) if builder.is_written(array) && may_replace(builder, initial) => array,
        Some(_) => return None,
    };
    builder.replaceable.extend(replaced);
    Some(Carried::Array(array))
}

/// Returns true if it is known that nothing reads a large array after the op that replaces it. An array from outside of
/// a region may be read again when the region runs again.
fn may_replace(builder: &Builder<'_, '_>, array: Value) -> bool {
    builder.replaceable.contains(&array) || (!builder.is_in_region && builder.uses.of(array).len() == 1)
}

/// Returns the arrays that a turn of a loop replaces if the array that the loop carries at index `i` only changes in
/// windows, so that it can be written in place: each turn reads windows of the array, then an update makes the next
/// array, and so on until the last one is carried on. Returns `None` if it changes in another way, or if something else
/// uses the last one.
fn replaced_in(builder: &Builder<'_, '_>, region: Region, i: usize) -> Option<Vec<Value>> {
    let (body, mut replaced) = (builder.plan.body, vec![]);
    let (mut array, last) = (body[region].args[i], body.region_results(region)[i]);
    while array != last {
        replaced.push(array);
        array = replacement(builder, region, array)?;
    }
    (builder.uses.of(last).len() == 1).then_some(replaced)
}

/// Returns the array that replaces `array` in a region: the result of the last op that uses it, which is a
/// `dynamic_update_slice` of it or a loop that replaces it in turn. Returns `None` for other last ops, if no op uses
/// it, and unless all other uses are windows that are read before.
fn replacement(builder: &Builder<'_, '_>, region: Region, array: Value) -> Option<Value> {
    let ops = &builder.plan.body[region].ops;
    let position = |u: &Use| Some((ops.iter().position(|&op| op == u.op)?, *u));
    let uses: Vec<(usize, Use)> = builder.uses.of(array).iter().map(position).collect::<Option<_>>()?;
    let &(at, next) = uses.iter().max_by_key(|(at, _)| *at)?;
    let opcode = |u: &Use| Opcode::of_view(&builder.plan.view(u.op));
    let is_read = |u: &Use| u.index == 0 && matches!(opcode(u), Opcode::DynamicSlice | Opcode::Slice);
    if !uses.iter().all(|(other, u)| *u == next || (*other < at && is_read(u))) {
        return None;
    }
    let view = builder.plan.view(next.op);
    match Opcode::of_view(&view) {
        Opcode::DynamicUpdateSlice if next.index == 0 => Some(view.result(0)),
        Opcode::While => replaced_in(builder, view.regions()[1], next.index).map(|_| view.result(next.index)),
        _ => None,
    }
}

fn hold_all(builder: &mut Builder<'_, '_>, values: &[Value], carried: &[Carried], places: &[Words]) {
    let mut places = places.iter();
    for (&v, carried) in values.iter().zip(carried) {
        let held = match carried {
            Carried::Words => Held::Words(places.next().expect("a place for each small array").place),
            Carried::Array(array) => Held::Array(*array),
        };
        builder.hold(v, held);
    }
}

fn capture<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    view.captured().into_iter().try_for_each(|v| match builder.shape(v) {
        Some(_) => operand(builder, v).map(drop),
        None => builder.array(v).map(drop),
    })
}

fn case<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let index = operand(builder, view.operand(0))?;
    let targets = own_places(builder, view.results());
    capture(builder, view)?;
    let branch = builder.code.push(Ins::Jump { to: 0 });
    let (mut starts, mut ends) = (vec![], vec![]);
    for &region in view.regions() {
        starts.push(builder.code.next());
        let results = add_region(builder, region)?;
        assign(builder, &results, &targets)?;
        ends.push(builder.code.push(Ins::Jump { to: 0 }));
    }
    let (is_if, after) = (Opcode::of_view(view) == Opcode::If, builder.code.next());
    builder.code.instructions[branch as usize] = Ins::Branch { index, is_if, targets: starts };
    ends.into_iter().for_each(|end| builder.code.instructions[end as usize] = Ins::Jump { to: after });
    view.results().iter().zip(targets).for_each(|(&v, words)| builder.define(v, words.place));
    Some(())
}

fn add_region(builder: &mut Builder<'_, '_>, region: Region) -> Option<Vec<Place>> {
    let (plan, is_inner) = (builder.plan, std::mem::replace(&mut builder.is_in_region, true));
    add_ops(builder, body_ops(plan, region))?;
    let results = places(builder, plan.body.region_results(region));
    builder.is_in_region = is_inner;
    results
}

/// Returns the places of those of the values that are small arrays, or `None` if the program cannot hold one of them.
fn places(builder: &mut Builder<'_, '_>, values: &[Value]) -> Option<Vec<Place>> {
    let mut places = vec![];
    for &v in values {
        if builder.shape(v).is_some() {
            places.push(operand(builder, v)?);
        }
    }
    Some(places)
}

/// The words of a small array that a loop or branch sets.
#[derive(Clone, Copy)]
struct Words {
    place: Place,
    len: usize,
}

fn own_places(builder: &mut Builder<'_, '_>, values: &[Value]) -> Vec<Words> {
    let mut places = vec![];
    for &v in values {
        if let Some((elem, len)) = builder.shape(v) {
            places.push(Words { place: builder.code.place(elem, len), len });
        }
    }
    places
}

/// Copies each array of `from` to the words of `to` with the same index. The result is as if all were read before any
/// words are written. Returns `None` if there are not as many arrays as words: then the program holds a large array
/// where a small one is needed.
fn assign(builder: &mut Builder<'_, '_>, from: &[Place], to: &[Words]) -> Option<()> {
    if from.len() != to.len() {
        return None;
    }
    let mut sources = from.to_vec();
    for (k, (source, own)) in sources.iter_mut().zip(to).enumerate() {
        let overwrites = |(other, words): (usize, &Words)| {
            other != k
                && words.place.is_wide() == source.is_wide()
                && source.overlaps(own.len, words.place.at, words.len)
        };
        if to.iter().enumerate().any(overwrites) {
            let copy = builder.code.place(own.place.elem, own.len);
            shift(builder, *source, Words { place: copy, ..*own });
            *source = copy;
        }
    }
    sources.into_iter().zip(to).for_each(|(source, &own)| shift(builder, source, own));
    Some(())
}

fn shift(builder: &mut Builder<'_, '_>, from: Place, to: Words) {
    let is_there = to.len == 0 || (from.at == to.place.at && (from.step == 1 || to.len == 1));
    if !is_there {
        builder.push(to.place.elem, Action::Move { len: to.len as u32, to: to.place.at, from });
    }
}
