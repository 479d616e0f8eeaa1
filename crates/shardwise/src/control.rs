//! Control flow as ops: loops and branches whose bodies are traced once.
//!
//! A `scan`, and a loop with a known number of steps, is a composite (`shardwise.scan`) over a function that contains a
//! `while`. The composite keeps the facts about the scan until it is lowered. Outside of a trace, a loop is compiled
//! as a program of its own. If its result has no arrays, which could carry them, it panics with all mistakes and with
//! the errors of the run.

use crate::array::Array;
use crate::error::Mistakes;
use crate::manual::{self, Carried, Predicate};
use crate::ops::{EitherKind, Operand, element};
use crate::shape::as_positions;
use crate::tree::{self, Tree};
use crate::{Error, P, Result, context, eager, explicit, hlo, limits, mistakes, runtime, trace};
use shardwise_base::{self as base, DType, Diagnostic};
use shardwise_ir::{Attr, Attrs, TensorType};
use shardwise_ops::Opcode;
use shardwise_ops::control::Composite;
use std::ops::Range;
use std::panic::Location;

type At = &'static Location<'static>;

/// Types that say how often a loop runs: `0..n`, `unroll(0..n)`, or a range of scalar arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of loop steps",
    label = "expected `0..n`, `unroll(0..n)` or a range of scalar arrays"
)]
pub trait Steps {
    #[doc(hidden)]
    fn steps(self) -> StepsKind;
}

#[doc(hidden)]
#[derive(Debug)]
pub enum StepsKind {
    Known(Range<usize>),
    Unrolled { steps: Range<usize>, by: usize },
    Arrays(Range<Array>),
}

impl Steps for Range<usize> {
    fn steps(self) -> StepsKind {
        StepsKind::Known(self)
    }
}
impl Steps for Range<Array> {
    fn steps(self) -> StepsKind {
        StepsKind::Arrays(self)
    }
}
impl Steps for Unrolled {
    fn steps(self) -> StepsKind {
        StepsKind::Unrolled { steps: self.steps, by: self.by }
    }
}

/// The result of [`unroll`].
#[derive(Clone, Debug)]
pub struct Unrolled {
    steps: Range<usize>,
    by: usize,
}

/// Unrolls a loop: every step becomes separate ops of the program, as in a plain `for` loop.
pub fn unroll(steps: Range<usize>) -> Unrolled {
    Unrolled { by: steps.len(), steps }
}

impl Unrolled {
    /// Unrolls only `by` steps at a time: each turn of a loop runs `by` steps. 0 counts as 1. The steps that are left
    /// over follow the loop. If the loop would have fewer than two turns, all steps are unrolled.
    pub fn by(self, by: usize) -> Unrolled {
        Unrolled { by: by.max(1), ..self }
    }
}

/// Runs `f` in the active trace. Outside of a trace, runs it as a program of its own, whose results are values. Panics
/// with the mistakes if no result can carry them: if `f` ends the trace of this program early, or returns no arrays.
pub(crate) fn traced<R: Tree>(name: &'static str, at: At, f: impl FnOnce() -> R) -> R {
    if trace::is_tracing() {
        return trace::rewinding(|| context::within(at, f));
    }
    as_program(name, at, || Ok(f())).unwrap_or_else(|e| panic!("`{name}` has no result\n{e}"))
}

/// Runs `f` as a program of its own, whose results are values. Mistakes and errors of the run become mistakes in the
/// results.
///
/// Fails with them if `f` has no result, because it returns an error or ends its trace, or if the result has no arrays
/// that could carry them.
pub(crate) fn as_program<R: Tree>(name: &str, at: At, f: impl FnOnce() -> Result<R>) -> Result<R> {
    let loc = context::loc(at);
    let mut kept = None;
    let run = trace::run(name, None, loc.clone(), || {
        let out = kept.insert(context::within(at, f)?);
        tree::leaves(out).iter().try_for_each(|a| a.check().map(|_| ()))
    });
    let execute = |(mut trace, ()): (trace::Trace, ())| {
        let out = kept.as_ref().expect("it ran to its end");
        let values = tree::leaves(out).into_iter().map(|a| trace.operand(a, &loc));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(Error::one)?;
        let mut finished = trace.finish(&values, vec![None; values.len()], &loc);
        let captured = std::mem::take(&mut finished.captured);
        let prepared = eager::Prepared::new(finished, runtime::compile)?;
        prepared.report(None);
        prepared.execute(prepared.lend(&captured.iter().collect::<Vec<_>>(), at)?, at)
    };
    let done = run.and_then(|traced| limits::run(at, || execute(traced)));
    match (done, kept) {
        (Ok(results), Some(out)) => Ok(tree::with_leaves(&out, results)),
        (Err(e), Some(out)) if !tree::leaves(&out).is_empty() => {
            let wrong = e.into_mistakes();
            Ok(out.rebuild(&mut |a| Array::poisoned(wrong.clone(), a.known_type(), at)))
        }
        (Err(e), _) => Err(e),
        (Ok(_), None) => unreachable!("it ran to its end"),
    }
}

/// Records a mistake and ends the trace, since no result can be returned. Outside of a trace, panics.
pub(crate) fn give_up(d: Diagnostic, at: At) -> ! {
    let bad = Array::mistake(d, None, at);
    bad.tensor();
    unreachable!("an unknown type ends the trace")
}

pub(crate) fn give_up_with(wrong: &Mistakes) -> ! {
    trace::record(wrong);
    trace::end()
}

fn check_steps(name: &str, steps: &Range<usize>, at: At) {
    if i32::try_from(steps.len()).is_err() {
        give_up(mistakes::too_many(name, steps.len(), "the steps of the loop".into(), &context::loc(at)), at);
    }
    if !steps.is_empty() && i32::try_from(steps.end - 1).is_err() {
        give_up(mistakes::step_beyond(name, steps.end - 1, &format!("{steps:?}"), &context::loc(at)), at);
    }
}

fn types<T: Tree>(tree: &T) -> Vec<TensorType> {
    tree::leaves(tree).into_iter().map(|a| a.tensor().clone()).collect()
}

fn here(dtype: DType, n: i128) -> Array {
    hlo::constant(element(n as f64, dtype))
}

/// Runs `for i in steps { carry = body(i, carry) }` as one op, and returns the last carry. [`unroll`] makes separate
/// ops of the steps.
///
/// `i` is an `i32` scalar, or has the dtype of the range if that consists of arrays.
///
/// # Errors
///
/// - `carry` if the body changes the type or the layout of the carry, or, in per-device code, the axes over which it is
///   unreduced. Steps that are unrolled may change them.
/// - `tree-form` if the body changes the form of the carry. Steps that are unrolled may change it.
/// - `loop-steps` unless a range of arrays consists of integer scalars of one dtype that has arithmetic.
/// - `too-large` if the number of steps or the last step does not fit an `i32`.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
///
/// After `carry` for a type or a layout, tracing continues. Outside of a trace, the result carries this mistake. The
/// other mistakes end the trace, and outside of a trace, this function panics with them.
#[track_caller]
pub fn fori_loop<C: Tree>(steps: impl Steps, init: C, body: impl Fn(Array, C) -> C) -> C {
    let at = context::caller(Location::caller());
    match steps.steps() {
        StepsKind::Known(range) => known_loop("fori_loop", range, init, at, &body),
        StepsKind::Unrolled { steps, by } => unrolled(steps, by, init, at, &body),
        StepsKind::Arrays(range) => traced("fori_loop", at, || array_loop(range, init, at, &body)),
    }
}

fn known_loop<C: Tree>(name: &'static str, range: Range<usize>, init: C, at: At, body: &impl Fn(Array, C) -> C) -> C {
    traced(name, at, || {
        check_steps(name, &range, at);
        let (carry, ()) = scan_of(name, Turns::of(range.len()), init, (), at, |i, carry, ()| {
            let i = if range.start == 0 { i } else { i + range.start };
            (context::outside(at, || body(i, carry)), ())
        });
        carry
    })
}

fn unrolled<C: Tree>(steps: Range<usize>, by: usize, init: C, at: At, body: &impl Fn(Array, C) -> C) -> C {
    check_steps("fori_loop", &steps, at);
    let step = |i: usize, carry: C| {
        let i = context::within(at, || crate::scalar(i, crate::DType::I32));
        body(i, carry)
    };
    let (whole, rest) = (steps.len() / by.max(1), steps.len() % by.max(1));
    if whole <= 1 {
        return steps.fold(init, |carry, i| step(i, carry));
    }
    let carry = known_loop("fori_loop", 0..whole, init, at, &|block: Array, carry: C| {
        (0..by).fold(carry, |carry, k| {
            let i = context::within(at, || &block * by + (steps.start + k));
            body(i, carry)
        })
    });
    (steps.end - rest..steps.end).fold(carry, |carry, i| step(i, carry))
}

fn array_loop<C: Tree>(range: Range<Array>, init: C, at: At, body: &impl Fn(Array, C) -> C) -> C {
    let (from, to) = (range.start, range.end);
    let (a, b) = (from.tensor(), to.tensor());
    if a != b || a.rank() != 0 || !a.dtype.is_integer() || !a.dtype.is_computed() {
        let facts = format!("{}..{}", from.short_type(), to.short_type());
        let message =
            "`fori_loop`: the range must consist of integer scalars of one dtype that has arithmetic".to_string();
        give_up(mistakes::with_facts("loop-steps", message, facts, "", &context::loc(at)), at);
    }
    let (_, carry) = while_of(
        "fori_loop",
        (from, init),
        at,
        |(i, _)| i.lt(&to),
        |(i, carry)| (&i + 1, context::outside(at, || body(i, carry))),
    );
    carry
}

/// Runs `while condition(&carry) { carry = body(carry) }` as one op, and returns the last carry.
///
/// # Errors
///
/// - `condition` unless the condition is a bool scalar.
/// - `unreduced` if the condition is unreduced, in per-device code.
/// - `carry` if the body changes the type or the layout of the carry, or, in per-device code, the axes over which it is
///   unreduced.
/// - `tree-form` if the body changes the form of the carry.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
///
/// After `carry` for a type or a layout, tracing continues. Outside of a trace, the result carries this mistake. The
/// other mistakes end the trace, and outside of a trace, this function panics with them.
#[track_caller]
pub fn while_loop<C: Tree>(init: C, condition: impl Fn(&C) -> Array, body: impl Fn(C) -> C) -> C {
    let at = context::caller(Location::caller());
    traced("while_loop", at, || {
        while_of(
            "while_loop",
            init,
            at,
            |c| context::outside(at, || condition(c)),
            |c| context::outside(at, || body(c)),
        )
    })
}

/// Builds the loop, and returns the last carry. In manual code it is traced again until the states of its carries hold
/// for every turn.
fn while_of<C: Tree>(name: &'static str, init: C, at: At, condition: impl Fn(&C) -> Array, body: impl Fn(C) -> C) -> C {
    let init = usable(&init);
    let types = types(&init);
    let layouts = layouts(&tree::leaves(&init), at);
    let mut carried = carried(&tree::leaves(&init));
    let [test, step] = loop {
        let (mut decides, mut after) = (None, vec![]);
        let test = hlo::region(&types, |args| {
            trace::with(|t| t.set_predicate(carried.predicate()));
            let args = &explicit::lay(args, &layouts);
            let test = condition(&tree::with_leaves(&init, carried.apply(args)));
            check_condition(name, &test, at);
            decides = Predicate::of(&test, name, at);
            vec![test]
        });
        if carried.decide(decides) {
            continue;
        }
        let step = hlo::region(&types, |args| {
            trace::with(|t| t.set_predicate(carried.predicate()));
            let args = &explicit::lay(args, &layouts);
            let out = body(tree::with_leaves(&init, carried.apply(args)));
            check_carry(name, &init, &out, at);
            after = tree::leaves(&out).into_iter().cloned().collect();
            after.clone()
        });
        if !widen(&mut carried, name, &init, &after, at) {
            break [test, step];
        }
    };
    let results = hlo::op_with(Opcode::While, &tree::leaves(&init), Attrs::new(), vec![test, step], &types);
    tree::with_leaves(&init, carried.apply(&explicit::lay(&results, &layouts)))
}

/// Returns the tree with zeros in place of arrays that carry mistakes, which are recorded. This way the body is still
/// traced, and the types of its results are known. Ends the trace if the type of such an array is not known.
fn usable<T: Tree>(tree: &T) -> T {
    tree.rebuild(&mut |a| match a.mistakes() {
        Some(wrong) => {
            trace::record(wrong);
            hlo::zeros(a.tensor())
        }
        None => a.clone(),
    })
}

/// Returns the layouts of the arrays that a loop carries, with `None` where layouts are not part of types. Ends the
/// trace if an array cannot be used.
fn layouts(leaves: &[&Array], at: At) -> Vec<Option<base::Sharding>> {
    if let Err(wrong) = trace::operands(leaves, at) {
        trace::record(&wrong);
        trace::end();
    }
    leaves.iter().map(|a| explicit::layout(a)).collect()
}

fn carried(leaves: &[&Array]) -> Carried {
    Carried::new(trace::with(|t| t.scope()), leaves)
}

/// Widens the carries' states to those after a turn. Returns true if they changed. Ends the trace if a carry is
/// unreduced over other axes than before.
fn widen<C: Tree>(carried: &mut Carried, name: &str, init: &C, after: &[Array], at: At) -> bool {
    carried.widen(&after.iter().collect::<Vec<_>>()).unwrap_or_else(|leaf| {
        let (path, before) = &tree::paths(init)[leaf];
        let path = if path.to_string().is_empty() { "carry".into() } else { path.to_string() };
        let d =
            mistakes::carry_unreduced(name, &path, &before.short_type(), &after[leaf].short_type(), &context::loc(at));
        give_up(d, at)
    })
}

fn check_condition(name: &str, test: &Array, at: At) {
    if let Some(d) = manual::unreduced_condition(name, test, &context::loc(at)) {
        give_up(d, at);
    }
    let ty = test.tensor();
    if ty.rank() != 0 || !ty.dtype.is_bool() {
        let message = format!("`{name}`: the condition is not a bool scalar");
        give_up(mistakes::with_facts("condition", message, test.short_type(), "", &context::loc(at)), at);
    }
}

/// Ends the trace if the body changes the form of the carry, and records a mistake if it changes the type or the layout
/// of a leaf.
fn check_carry<C: Tree>(name: &str, before: &C, after: &C, at: At) {
    let loc = context::loc(at);
    if tree::form(before) != tree::form(after) {
        give_up(mistakes::form(name, "the body changes the form of the carry", &loc), at);
    }
    for ((path, a), b) in tree::paths(before).into_iter().zip(tree::leaves(after)) {
        if a.tensor() != b.tensor() && !a.is_wrong() && !b.is_wrong() {
            let path = if path.to_string().is_empty() { "carry".into() } else { path.to_string() };
            let d = mistakes::carry(name, &path, &a.tensor().short(), &b.tensor().short(), &loc);
            trace::record(&Mistakes::one(d));
        } else if let Some((before, after)) = explicit::differ(a, b) {
            let path = if path.to_string().is_empty() { "carry".into() } else { path.to_string() };
            let d = mistakes::carry_layout(name, &path, [&a.short_type(), &b.short_type()], [&before, &after], &loc);
            trace::record(&Mistakes::one(d));
        }
    }
}

/// Folds `body` over the first dimension of `xs`. Returns the last carry, and the second results of all steps, stacked
/// along a new first dimension.
///
/// # Shapes
///
/// `xs: f32[n, ..] -> ys: [n, ..]`.
///
/// # Errors
///
/// - `scan-length` if there are no `xs`, one of them is a scalar, or their first dimensions differ in size.
/// - `carry` if the body changes the type or the layout of the carry, or, in per-device code, the axes over which it is
///   unreduced.
/// - `tree-form` if the body changes the form of the carry.
/// - `too-large` if the number of steps does not fit an `i32`, or if a stacked result would have 2^59 bytes or more,
///   where a size of 0 counts as 1, or more than 255 dimensions.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
///
/// After `carry` for a type or a layout, tracing continues. Outside of a trace, the results carry this mistake. The
/// other mistakes end the trace, and outside of a trace, this function panics with them.
#[track_caller]
pub fn scan<C: Tree, X: Tree, Y: Tree>(init: C, xs: X, body: impl Fn(C, X) -> (C, Y)) -> (C, Y) {
    let at = context::caller(Location::caller());
    traced("scan", at, || {
        let turns = Turns::of(scan_length("scan", &xs, at));
        scan_of("scan", turns, init, xs, at, |_, carry, x| context::outside(at, || body(carry, x)))
    })
}

/// Folds `body` over the first dimension of `xs` from its end: `jax.lax.scan` with `reverse=True`. The first step gets
/// the last elements, and its second result is the last one of those that are stacked.
///
/// # Errors
///
/// Those of [`scan`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let x = array(&[1, 2, 3]);
/// let (sum, sums) = scan_reversed(scalar(0, I32), x, |sum, x| (&sum + &x, sum + x));
/// assert_eq!((sum.item::<i32>()?, sums.to_vec::<i32>()?), (6, vec![6, 5, 3]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scan_reversed<C: Tree, X: Tree, Y: Tree>(init: C, xs: X, body: impl Fn(C, X) -> (C, Y)) -> (C, Y) {
    let at = context::caller(Location::caller());
    traced("scan_reversed", at, || {
        let turns = Turns { is_reversed: true, ..Turns::of(scan_length("scan_reversed", &xs, at)) };
        scan_of("scan_reversed", turns, init, xs, at, |_, carry, x| context::outside(at, || body(carry, x)))
    })
}

/// Runs `body` `n` times, with the carry and the number of the step, an `i32` scalar. Returns the last carry, and the
/// second results of all steps, stacked along a new first dimension. This is `jax.lax.scan` without `xs`.
///
/// # Errors
///
/// Those of [`scan`], except for `scan-length`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let (last, powers) = scan_n(scalar(1, I32), 4, |power, _| (&power * 2, power));
/// assert_eq!((last.item::<i32>()?, powers.to_vec::<i32>()?), (16, vec![1, 2, 4, 8]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scan_n<C: Tree, Y: Tree>(init: C, n: usize, body: impl Fn(C, Array) -> (C, Y)) -> (C, Y) {
    let at = context::caller(Location::caller());
    traced("scan_n", at, || {
        scan_of("scan_n", Turns::of(n), init, (), at, |i, carry, ()| context::outside(at, || body(carry, i)))
    })
}

/// Applies `f` to each element of the first dimension of `xs`, one after the other, and stacks the results along a new
/// first dimension. This is `jax.lax.map`. It takes less memory than [`vmap`](crate::vmap()), which computes all elements
/// at once.
///
/// # Shapes
///
/// `xs: f32[n, ..] -> [n, ..]`.
///
/// # Errors
///
/// Those of [`scan`], except for those of the carry.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let x = array(&[[1, 2], [3, 4]]);
/// assert_eq!(map(x, |row| row.sum(0)).to_vec::<i32>()?, [3, 7]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn map<X: Tree, Y: Tree>(xs: X, f: impl Fn(X) -> Y) -> Y {
    let at = context::caller(Location::caller());
    traced("map", at, || {
        let turns = Turns::of(scan_length("map", &xs, at));
        let ((), ys) = scan_of("map", turns, (), xs, at, |_, (), x| ((), context::outside(at, || f(x))));
        ys
    })
}

/// The turns of a scan.
#[derive(Clone, Copy)]
struct Turns {
    length: usize,
    /// True if the first turn has the last elements.
    is_reversed: bool,
}

impl Turns {
    fn of(length: usize) -> Turns {
        Turns { length, is_reversed: false }
    }

    /// Returns the index, along the scanned dimension, of the elements that turn `i` takes and of the results that it
    /// makes.
    fn place(self, i: &Array) -> Array {
        if self.is_reversed { self.length.saturating_sub(1) - i } else { i.clone() }
    }
}

fn scan_length<X: Tree>(name: &str, xs: &X, at: At) -> usize {
    let lengths: Vec<Option<usize>> = tree::leaves(xs).iter().map(|a| a.tensor().shape.first().copied()).collect();
    match lengths.first() {
        Some(&Some(n)) if lengths.iter().all(|l| *l == Some(n)) => n,
        _ => {
            let facts: Vec<String> = tree::leaves(xs).iter().map(|a| a.short_type()).collect();
            let message = format!("`{name}` needs one or more arrays whose first dimensions have the same size");
            let help = "if there are no arrays to scan over, write `scan_n(init, n, ..)` or `fori_loop(0..n, ..)`";
            give_up(mistakes::with_facts("scan-length", message, facts.join(", "), help, &context::loc(at)), at)
        }
    }
}

/// Returns element `i` of the first dimension, without this dimension. If the dimension has size 0, no step runs, and
/// this returns zeros.
fn row(x: &Array, i: &Array) -> Array {
    let ty = x.tensor().clone();
    if ty.shape[0] == 0 {
        let zeros = hlo::zeros(&TensorType::new(ty.dtype, &ty.shape[1..])).made_in(x.node().manual.clone());
        return explicit::lay(&[zeros], &[explicit::row(x)]).remove(0);
    }
    let zero = here(DType::I32, 0);
    let start: Vec<Array> = (0..ty.rank()).map(|d| if d == 0 { i.clone() } else { zero.clone() }).collect();
    let sizes: Vec<usize> = std::iter::once(1).chain(ty.shape[1..].iter().copied()).collect();
    hlo::reshape(&hlo::dynamic_slice(x, &start, &sizes), &ty.shape[1..])
}

/// Returns `xs` with `x` as element `i` of the first dimension, or `xs` itself if this dimension has size 0.
fn with_row(xs: &Array, x: &Array, i: &Array) -> Array {
    if xs.tensor().shape[0] == 0 {
        return xs.clone();
    }
    let zero = here(DType::I32, 0);
    let rank = xs.tensor().rank();
    let start: Vec<Array> = (0..rank).map(|d| if d == 0 { i.clone() } else { zero.clone() }).collect();
    let shape: Vec<usize> = std::iter::once(1).chain(x.tensor().shape.iter().copied()).collect();
    hlo::dynamic_update_slice(xs, &hlo::reshape(x, &shape), &start)
}

/// Adds the stacked results of `length` steps as an argument of the innermost region, and returns them with `y` stored
/// as result `i`.
fn with_result(y: &Array, i: &Array, length: usize, at: At) -> Array {
    let ty = stacked(length, y.tensor());
    let ys = trace::with(|t| t.region_arg(&ty, &context::loc(at)));
    let ys = Array::of_traced(ys, at).made_in(y.node().manual.clone());
    let ys = explicit::lay(&[ys], &[explicit::stacked(y)]);
    with_row(&ys[0], y, i)
}

fn stacked(length: usize, ty: &TensorType) -> TensorType {
    TensorType::new(ty.dtype, std::iter::once(length).chain(ty.shape.iter().copied()).collect::<Vec<_>>())
}

/// Builds the composite `shardwise.scan`, and returns the last carry and the stacked results of the steps. `body` takes
/// the step's number, the carry and the step's elements.
fn scan_of<C: Tree, X: Tree, Y: Tree>(
    name: &'static str,
    turns: Turns,
    init: C,
    xs: X,
    at: At,
    body: impl Fn(Array, C, X) -> (C, Y),
) -> (C, Y) {
    let (loc, length) = (context::loc(at), turns.length);
    check_steps(name, &(0..length), at);
    let (init, xs) = (usable(&init), usable(&xs));
    let carry_types = types(&init);
    let outer_layouts = layouts(&tree::leaves(&init).into_iter().chain(tree::leaves(&xs)).collect::<Vec<_>>(), at);
    trace::with(|t| t.open_func("shardwise.scan", &loc));
    let outside: Vec<&Array> = tree::leaves(&init).into_iter().chain(tree::leaves(&xs)).collect();
    let args = explicit::lay(&arguments(&outside, &loc, at), &outer_layouts);
    let (inits, rows) = args.split_at(carry_types.len());
    let layouts: Vec<_> = std::iter::once(None).chain(outer_layouts[..carry_types.len()].iter().cloned()).collect();
    let mut carried = carried(&inits.iter().collect::<Vec<_>>());

    let types: Vec<TensorType> = std::iter::once(TensorType::scalar(DType::I32)).chain(carry_types.clone()).collect();
    let mut ys_layouts: Vec<Option<base::Sharding>> = vec![];
    let (step, y) = loop {
        let (mut exemplar, mut after) = (None, vec![]);
        let step = hlo::region(&types, |args| {
            let args = explicit::lay(args, &layouts);
            let (i, carry) = (args[0].clone(), tree::with_leaves(&init, carried.apply(&args[1..])));
            let place = turns.place(&i);
            let x = tree::with_leaves(&xs, rows.iter().map(|x| explicit::one(name, || row(x, &place))));
            let (out, y) = body(i.clone(), carry, x);
            check_carry(name, &init, &out, at);
            after = tree::leaves(&out).into_iter().cloned().collect();
            let mut results = vec![&i + 1];
            results.extend(after.iter().cloned());
            results.extend(tree::leaves(&y).into_iter().map(|y| with_result(y, &place, length, at)));
            ys_layouts = tree::leaves(&y).into_iter().map(explicit::stacked).collect();
            exemplar = Some(y);
            results
        });
        if !widen(&mut carried, name, &init, &after, at) {
            break (step, exemplar.expect("the body has run"));
        }
    };
    let ys_states = tree::leaves(&y).into_iter().map(|y| y.node().manual.clone()).collect::<Vec<_>>();
    let ys_types: Vec<TensorType> = tree::leaves(&y).iter().map(|y| stacked(length, y.tensor())).collect();

    let types: Vec<TensorType> = types.into_iter().chain(ys_types.clone()).collect();
    let test = hlo::region(&types, |args| {
        explicit::lay(&args[layouts.len()..], &ys_layouts);
        explicit::lay(&args[..layouts.len()], &layouts);
        vec![hlo::compare("LT", &args[0], &here(DType::I32, length as i128))]
    });
    let start: Vec<Array> = std::iter::once(here(DType::I32, 0))
        .chain(inits.iter().cloned())
        .chain(ys_types.iter().map(hlo::zeros))
        .collect();
    let out = hlo::op_with(Opcode::While, &start.iter().collect::<Vec<_>>(), Attrs::new(), vec![test, step], &types);
    let layouts: Vec<_> = layouts.into_iter().chain(ys_layouts).collect();
    let out = explicit::lay(&out, &layouts);
    let results: Vec<TensorType> = carry_types.into_iter().chain(ys_types).collect();
    let out = close_composite("shardwise.scan", &out[1..], length, &init, &xs, &results, at);
    let out = explicit::lay(&out, &layouts[1..]);
    let (carry, ys) = out.split_at(tree::leaves(&init).len());
    let ys = ys.iter().zip(ys_states).map(|(ys, state)| ys.made_in(state));
    (tree::with_leaves(&init, carried.apply(carry)), tree::with_leaves(&y, ys))
}

fn arguments(arrays: &[&Array], loc: &base::Loc, at: At) -> Vec<Array> {
    arrays.iter().map(|a| argument(a.tensor(), loc, at).made_in(a.node().manual.clone())).collect()
}

fn argument(ty: &TensorType, loc: &base::Loc, at: At) -> Array {
    eager::argument(&shardwise_engine::ShardedType { ty: ty.clone(), sharding: None }, loc, at)
}

/// Ends the decomposition's function with the results `out`, and builds the composite that calls it. Returns the
/// composite's results, which have these `types`. Ends the trace if one of `out` cannot be used.
fn close_composite<C: Tree, X: Tree>(
    name: &str,
    out: &[Array],
    length: usize,
    init: &C,
    xs: &X,
    types: &[TensorType],
    at: At,
) -> Vec<Array> {
    let loc = context::loc(at);
    let values = trace::operands(&out.iter().collect::<Vec<_>>(), at).unwrap_or_else(|_| trace::end());
    let (function, outer) = trace::with(|t| {
        let (name, outer) = t.close_func(&values, &loc);
        (name, outer.into_iter().map(|v| t.traced(v)).collect::<Vec<_>>())
    });
    let outer: Vec<Array> = outer.into_iter().map(|t| Array::of_traced(t, at)).collect();
    let operands: Vec<&Array> = tree::leaves(init).into_iter().chain(tree::leaves(xs)).chain(&outer).collect();
    let facts: Attrs = [
        ("carry_count", Attr::int(tree::leaves(init).len() as i64)),
        ("length", Attr::int(length as i64)),
        ("xs_count", Attr::int(tree::leaves(xs).len() as i64)),
    ]
    .into_iter()
    .collect();
    let attrs = Composite::attrs(name, function, facts);
    hlo::op_with(Opcode::Composite, &operands, attrs, vec![], types)
}

/// Returns the result of `yes` if the predicate is true, and of `no` otherwise. The functions capture the arrays that
/// they use. For an array, both functions are traced. For a Rust bool, only the chosen function is called.
///
/// # Errors
///
/// - `condition` unless the predicate is a bool scalar.
/// - `unreduced` if the predicate is unreduced, in per-device code.
/// - `branch-types` if the results have different types or layouts, or are unreduced over different axes.
/// - `tree-form` if the results have different forms.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
///
/// After `branch-types`, tracing continues. Outside of a trace, the result carries this mistake. The other mistakes end
/// the trace, and outside of a trace, this function panics with them.
#[track_caller]
pub fn cond<R: Tree>(predicate: impl Operand, yes: impl Fn() -> R, no: impl Fn() -> R) -> R {
    let at = context::caller(Location::caller());
    match predicate.operand().0 {
        EitherKind::Number(crate::dtype::Number::Bool(b)) => {
            if b {
                yes()
            } else {
                no()
            }
        }
        EitherKind::Number(n) => traced("cond", at, || {
            let message =
                "`cond`: the predicate is a number, and must be a `bool` or an array that is a bool scalar".to_string();
            give_up(
                mistakes::with_facts("condition", message, n.to_string(), "compare it: `n > 0`", &context::loc(at)),
                at,
            )
        }),
        EitherKind::Array(predicate) => traced("cond", at, || {
            check_condition("cond", &predicate, at);
            let names = &|k| if k == 1 { "if true".into() } else { "if false".into() };
            case("cond", &hlo::convert(&predicate, DType::I32), 2, at, names, &|k| if k == 1 { yes() } else { no() })
        }),
    }
}

/// Returns the result of `branch(k)`, where `k` is an integer scalar that is clamped to `0..n`. For an array, `branch`
/// is called with each number below `n`. For a Rust integer, it is called only with the clamped integer.
///
/// # Errors
///
/// - `condition` unless the index is an integer scalar.
/// - `unreduced` if the index is unreduced, in per-device code.
/// - `branch-types` if the results have different types or layouts, or are unreduced over different axes.
/// - `tree-form` if the results have different forms.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
///
/// After `branch-types` and `unreduced`, tracing continues, and the result carries `unreduced`. Outside of a trace, the
/// result carries `branch-types`. The other mistakes end the trace, and outside of a trace, this function panics with
/// them.
///
/// # Panics
///
/// Panics if `n` is 0.
#[track_caller]
pub fn switch<R: Tree>(index: impl Operand, n: usize, branch: impl Fn(usize) -> R) -> R {
    let at = context::caller(Location::caller());
    assert!(n > 0, "a switch needs at least one branch");
    match index.operand().0 {
        EitherKind::Number(crate::dtype::Number::Int(i)) => branch(i.clamp(0, n as i128 - 1) as usize),
        EitherKind::Number(other) => traced("switch", at, || {
            give_up(
                mistakes::switch_index(other.to_string(), "convert the index first: `as i32`", &context::loc(at)),
                at,
            )
        }),
        EitherKind::Array(index) => traced("switch", at, || {
            let ty = index.tensor();
            if ty.rank() != 0 || !ty.dtype.is_integer() {
                let help = match ty.rank() {
                    0 => "convert the index first: `.astype(I32)`",
                    _ => {
                        "take one element, for example with `.i(0)`, and convert it to integers if it has another dtype"
                    }
                };
                give_up(mistakes::switch_index(index.short_type(), help, &context::loc(at)), at);
            }
            // The conversion wraps an index that does not fit an `i32`, so the index is clamped before it.
            let index = hlo::convert(&as_positions(&index, n).clamp(0, n - 1), DType::I32);
            case("switch", &index, n, at, &|k| format!("of branch {k}"), &branch)
        }),
    }
}

/// Builds an op with `n` branches, and returns the results of branch `index`. `names` returns the name of a branch for
/// messages.
fn case<R: Tree>(
    name: &'static str,
    index: &Array,
    n: usize,
    at: At,
    names: &dyn Fn(usize) -> String,
    branch: &dyn Fn(usize) -> R,
) -> R {
    let mut first: Option<R> = None;
    let mut types = vec![];
    let predicate = Predicate::of(index, name, at);
    let mut given: Option<Carried> = None;
    let mut layouts: Vec<Option<Laid>> = vec![];
    let regions = (0..n)
        .map(|k| {
            hlo::region(&[], |_| {
                trace::with(|t| t.set_predicate(predicate.clone()));
                let out = context::outside(at, || branch(k));
                let leaves: Vec<Array> = tree::leaves(&out).into_iter().cloned().collect();
                let found: Vec<Option<Laid>> = leaves.iter().map(|a| Laid::of(a, k)).collect();
                match &first {
                    None => {
                        types = leaves.iter().map(|a| a.tensor().clone()).collect();
                        layouts = found;
                        let all = given.insert(carried(&leaves.iter().collect::<Vec<_>>()));
                        all.decide(predicate.clone());
                        first = Some(out);
                    }
                    Some(first) => {
                        check_branch(name, first, &types, &out, [names(0), names(k)], at);
                        check_layouts(name, &layouts, &found, &out, names, at);
                        layouts.iter_mut().zip(found).for_each(|(own, found)| *own = own.take().or(found));
                        let all = given.as_mut().expect("made with the first");
                        if let Err(leaf) = all.widen(&leaves.iter().collect::<Vec<_>>()) {
                            let before = tree::leaves(first)[leaf].short_type();
                            let path = format!("{}", tree::paths(&out)[leaf].0);
                            let found = [before, leaves[leaf].short_type()];
                            let d = mistakes::branches_unreduced(name, &path, &found, &context::loc(at));
                            trace::record(&Mistakes::one(d));
                        }
                    }
                }
                leaves
            })
        })
        .collect();
    let results = hlo::op_with(Opcode::Case, &[index], Attrs::new(), regions, &types);
    let layouts: Vec<_> = layouts.into_iter().map(|laid| Some(laid?.sharding)).collect();
    let results = given.expect("there is a branch").apply(&explicit::lay(&results, &layouts));
    tree::with_leaves(&first.expect("there is a branch"), results)
}

fn check_branch<R: Tree>(name: &str, first: &R, types: &[TensorType], out: &R, which: [String; 2], at: At) {
    let loc = context::loc(at);
    if tree::form(first) != tree::form(out) {
        give_up(mistakes::form(name, "the results of the branches have different forms", &loc), at);
    }
    for ((path, a), ty) in tree::paths(out).into_iter().zip(types) {
        if a.tensor() != ty && !a.is_wrong() {
            let path = if path.to_string().is_empty() { "result".into() } else { path.to_string() };
            let d = mistakes::branches(name, &path, &ty.short(), &a.tensor().short(), &which, &loc);
            trace::record(&Mistakes::one(d));
        }
    }
}

struct Laid {
    branch: usize,
    sharding: base::Sharding,
    shown: String,
}

impl Laid {
    /// Returns the layout of a result of branch `branch`. Returns `None` for a result without one, such as a constant,
    /// and if layouts are not part of types.
    fn of(x: &Array, branch: usize) -> Option<Laid> {
        Some(Laid { branch, sharding: explicit::given(x)?, shown: x.short_type() })
    }
}

/// Records a mistake for each result whose layout in `found` differs from that in `before`, which is the first layout
/// of this result in the branches before. A result that has no layout in one of them is left out.
fn check_layouts<R: Tree>(
    name: &str,
    before: &[Option<Laid>],
    found: &[Option<Laid>],
    out: &R,
    names: &dyn Fn(usize) -> String,
    at: At,
) {
    for (((path, _), own), other) in tree::paths(out).into_iter().zip(before).zip(found) {
        let (Some(own), Some(other)) = (own, other) else { continue };
        if !explicit::is_same_type(&own.sharding, &other.sharding) {
            let path = if path.to_string().is_empty() { "result".into() } else { path.to_string() };
            let layouts = [own, other].map(|laid| P::of(&laid.sharding));
            let which = [own, other].map(|laid| names(laid.branch));
            let types = [&*own.shown, &*other.shown];
            let d = mistakes::branch_layouts(name, &path, types, [&layouts[0], &layouts[1]], &which, &context::loc(at));
            trace::record(&Mistakes::one(d));
        }
    }
}
