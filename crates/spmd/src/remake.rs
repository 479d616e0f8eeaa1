//! Makes constants, iotas and what is computed from them again where they are wanted in another layout.
//!
//! A value is a *source* if each device can compute any part of it without data of other devices: a constant, an iota,
//! and broadcasts, reshapes, slices and elementwise functions of such values and of small values that each device has.
//! It costs less to compute a source again in the wanted layout than to move it.

use crate::rewrite::{facts, sharding_or_replicated};
use crate::strategy::{RunMode, run_mode};
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, Mesh, Sharding};
use shardwise_ir::{Body, Builder, Module, OpView, Value};
use shardwise_ops::{Constness, Effects, Semantics, Splits};
use shardwise_sharding::{AxisList, Factor, IfMissing, Rule, TensorFactors};
use std::cell::RefCell;
use std::sync::Arc;

/// The largest number of ops by which a source is computed, with each op counted as often as its result is used, and
/// the largest number of values that are looked at to find them.
const MAX_OPS: usize = 16;

/// An operand with at least this many times fewer elements than the source, or with at most one, may be used as it is.
const MUCH_SMALLER: usize = 8;

/// The sources of a body. Their layouts do not change.
pub(crate) struct Sources<'a> {
    module: &'a Module,
    mesh: &'a Arc<Mesh>,
    /// True if a value that is much smaller than the result may be used as it is where each device has all of it.
    uses_small: bool,
    /// The number of ops by which a value is computed, for the values asked about so far. With more than [`MAX_OPS`],
    /// the value is no source.
    counts: RefCell<FxHashMap<Value, usize>>,
}

impl<'a> Sources<'a> {
    /// Returns an empty record of the sources of a body, whose layouts do not change. A source may also be computed
    /// from much smaller values that each device has whole.
    pub fn new(module: &'a Module, mesh: &'a Arc<Mesh>) -> Sources<'a> {
        Sources { module, mesh, uses_small: true, counts: RefCell::default() }
    }

    /// Returns an empty record of those values of a body that are sources whatever the layouts of other values are.
    pub fn in_any_layout(module: &'a Module, mesh: &'a Arc<Mesh>) -> Sources<'a> {
        Sources { uses_small: false, ..Sources::new(module, mesh) }
    }

    /// Returns true if the value is a source that is computed by at most [`MAX_OPS`] ops, each counted as often as its
    /// result is used. Returns false if more than [`MAX_OPS`] values have to be looked at to know.
    pub fn contains(&self, body: &Body, v: Value) -> bool {
        self.count(body, v, &mut { MAX_OPS }).is_some_and(|count| count <= MAX_OPS)
    }

    /// Returns the number of ops by which the value is computed, each counted as often as its result is used, or
    /// `MAX_OPS + 1` if there are more or if the value is no source. Returns `None` if more than `left` values have to
    /// be looked at. `left` is reduced by one for each of them. Values whose number is known take none.
    fn count(&self, body: &Body, v: Value, left: &mut usize) -> Option<usize> {
        if let Some(count) = self.counts.borrow().get(&v) {
            return Some(*count);
        }
        *left = left.checked_sub(1)?;
        let mut count = MAX_OPS + 1;
        if let Some(view) = self.computed_by(body, v) {
            let is_whole = |x: Value| self.layout(body, x).is_some_and(|s| s.is_replicated());
            let is_at_hand = |x: Value| self.uses_small && is_much_smaller(body, x, v) && is_whole(x);
            count = 1;
            for &x in view.operands().iter().filter(|&&x| !is_at_hand(x)) {
                count = (count + self.count(body, x, left)?).min(MAX_OPS + 1);
            }
        }
        self.counts.borrow_mut().insert(v, count);
        Some(count)
    }

    /// Inserts ops that compute the value again in the layout `to`, from sources and from much smaller values that have
    /// the needed layouts already, and returns their result. Inserts nothing and returns `None` if this is not
    /// possible, if more than [`MAX_OPS`] values have to be looked at, or if `to` has unreduced axes.
    pub fn remake(&self, v: Value, to: &Sharding, b: &mut Builder<'_>) -> Option<Value> {
        self.is_made_of(b.body, v, to, &mut { MAX_OPS }).then(|| self.make(v, to, &mut vec![], b))
    }

    /// Returns true if the value in the layout `to` can be computed from sources, or from much smaller values that have
    /// the layouts that are needed. Returns false if `to` has unreduced axes, or if more than `left` values have to be
    /// looked at. `left` is reduced by one for each of them.
    fn is_made_of(&self, body: &Body, v: Value, to: &Sharding, left: &mut usize) -> bool {
        if !to.unreduced.is_empty() {
            return false;
        }
        let Some(view) = self.counted(body, v, left) else { return false };
        let Some(layouts) = self.operand_layouts(&view, to) else { return false };
        let is_at_hand = |x: Value, to: &Sharding| {
            is_much_smaller(body, x, v)
                && self.layout(body, x).is_some_and(|s| s.unreduced.is_empty() && s.same_layout(to))
        };
        let mut operands = view.operands().iter().zip(&layouts);
        operands.all(|(&x, to)| is_at_hand(x, to) || self.is_made_of(body, x, to, left))
    }

    /// Returns the value, which is known to be made of sources, in the layout `to`: from `made` if it is there, and
    /// otherwise by new ops, which are added to `made`. Operands that have the needed layouts already are used as they
    /// are.
    fn make(&self, v: Value, to: &Sharding, made: &mut Vec<(Value, Sharding, Value)>, b: &mut Builder<'_>) -> Value {
        if let Some((.., known)) = made.iter().find(|(of, layout, _)| *of == v && layout.same_layout(to)) {
            return *known;
        }
        let view = self.computed_by(b.body, v).expect("known to be made of sources");
        let layouts = self.operand_layouts(&view, to).expect("known to be made of sources");
        let (data, ty, loc) = (view.data().clone(), view.result_type(0).clone(), b.body[v].loc.clone());
        let mut operands = vec![];
        for (&x, to) in data.operands.iter().zip(&layouts) {
            let is_there = self.layout(b.body, x).is_some_and(|s| s.same_layout(to));
            operands.push(if is_there { x } else { self.make(x, to, made, b) });
        }
        let op = b.body.add_op(b.region, data.code, operands, data.attrs, [], [ty], loc);
        let result = b.body[op].results[0];
        b.set_sharding(result, Some(to.clone()));
        made.push((v, to.clone(), result));
        result
    }

    /// Returns the op that computes the value, if the op may run again for another layout and `left`, which is reduced
    /// by one, is not 0. Returns `None` otherwise.
    fn counted<'b>(&self, body: &'b Body, v: Value, left: &mut usize) -> Option<OpView<'b>>
    where
        'a: 'b,
    {
        *left = left.checked_sub(1)?;
        self.computed_by(body, v)
    }

    /// Returns the layouts of the operands from which each device computes its part of the result, in the layout `to`,
    /// alone. Returns an empty list for an op without operands. Returns `None` if no such layouts are found, or if the
    /// op has operands but no rule.
    fn operand_layouts(&self, view: &OpView<'_>, to: &Sharding) -> Option<Vec<Sharding>> {
        let count = view.operands().len();
        if count == 0 {
            return Some(vec![]);
        }
        let (fact, facts) = (facts(view).rule(view), facts(view));
        let rule = fact.rule()?;
        let axes = self.factor_axes(rule, count, to)?;
        let runs = |f: Factor| axes[f.index()].is_empty() || run_mode(view, facts, rule, f) == RunMode::Parts;
        if !rule.all_factors().all(runs) || !self.fits_compounds(rule, &axes) {
            return None;
        }
        let layout = |i: usize| self.sharding(rule, i, &axes);
        let layouts: Vec<Sharding> = (0..count).map(layout).collect();
        if !(0..count).all(|i| self.has_axes(rule, i, &layouts[i], &axes)) {
            return None;
        }
        let divides = |i: usize| layouts[i].divides(view.operand_shape(i));
        let is_even =
            facts.splits(view) == Splits::Anywhere || ((0..count).all(divides) && to.divides(view.result_shape(0)));
        (self.sharding(rule, count, &axes).same_layout(to) && is_even).then_some(layouts)
    }

    /// Returns the axes that split each factor if tensor `index` has this sharding, or `None` if some axes do not fit
    /// the factors.
    fn factor_axes(&self, rule: &Rule, index: usize, sharding: &Sharding) -> Option<Vec<AxisList>> {
        let factors = TensorFactors::new(rule.mapping(index), rule, self.mesh, Some(sharding), IfMissing::Closed);
        let is_whole = factors.iter().all(|(_, f)| f.overflow.is_empty());
        let axes = |f: Factor| factors.get(f).map_or_else(AxisList::new, |own| own.axes.clone());
        is_whole.then(|| rule.all_factors().map(axes).collect())
    }

    /// Returns true if a sharding of tensor `index` splits its factors over these axes. A dimension of several factors
    /// cannot be split along all of them in every way.
    fn has_axes(&self, rule: &Rule, index: usize, sharding: &Sharding, axes: &[AxisList]) -> bool {
        let Some(own) = self.factor_axes(rule, index, sharding) else { return false };
        rule.mapping(index).factors().all(|f| own[f.index()] == axes[f.index()])
    }

    fn fits_compounds(&self, rule: &Rule, axes: &[AxisList]) -> bool {
        let is_even = |f: &Factor| rule.size(*f).is_multiple_of(AxisRef::total_size(self.mesh, &axes[f.index()]));
        let mut dims = rule.mappings().flat_map(|m| &m.dims).filter(|dim| dim.len() > 1);
        dims.all(|dim| dim.iter().all(is_even))
    }

    fn sharding(&self, rule: &Rule, index: usize, axes: &[AxisList]) -> Sharding {
        let mapping = rule.mapping(index);
        mapping.sharding(rule, self.mesh, |f| &axes[f.index()])
    }

    fn layout(&self, body: &Body, v: Value) -> Option<Sharding> {
        sharding_or_replicated(body, v, self.mesh)
    }

    /// Returns the op that computes the value, if it may run again for another layout: it is pure and cheap, and has no
    /// regions and one result. Returns `None` otherwise.
    fn computed_by<'b>(&self, body: &'b Body, v: Value) -> Option<OpView<'b>>
    where
        'a: 'b,
    {
        let view = self.module.view(body, body.def_op(v)?);
        let facts = facts(&view);
        let is_cheap = facts.constness(&view) != Constness::No;
        let is_pure = facts.semantics(&view) == Semantics::Pure && facts.effects(&view) == Effects::Pure;
        let is_plain = view.regions().is_empty() && view.results().len() == 1;
        (is_cheap && is_pure && is_plain).then_some(view)
    }
}

fn is_much_smaller(body: &Body, x: Value, than: Value) -> bool {
    let size = |v: Value| body.ty(v).as_tensor().map_or(usize::MAX, |t| t.size());
    size(x) <= 1 || size(x).saturating_mul(MUCH_SMALLER) <= size(than)
}
