//! Gathers in loops that are started in the turn before.
//!
//! ```text
//! while (i = 0, x = a) {                    w1 = all_gather w[0]
//!   w' = all_gather w[i]                    while (i = 0, x = a, w' = w1) {
//!   x' = dot x, w'                  ->        w'' = all_gather w[i + 1]
//! }                                           x' = dot x, w'
//!                                           }
//! ```
//! The operand of the gather is computed from the loop's counter and from values that no turn changes. The gather of
//! the last turn has no use, and its slice is taken inside of the array.

use crate::change::Site;
use crate::site::{Sites, map_main};
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, rewrite_func, rewrite_ops};
use shardwise_ir::{Builder, Cloner, Module, Op, OpView, Region, TensorType, Value, ValueDef};
use shardwise_ops::collective::{CollectiveKind, CollectiveView};
use shardwise_ops::control::{Counter, counter};
use shardwise_ops::{Effects, Opcode, Semantics, make};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of ops that are computed once more for the next turn's operand of one gather.
const MAX_SOURCES: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Prefetch {
    pub(crate) gather: Op,
    around: Op,
    counter: Counter,
    /// The ops that compute the gather's operand, in program order.
    sources: Vec<Op>,
    pub(crate) like: Like,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    collective: CollectiveView,
    ty: TensorType,
    turns: u64,
}

pub(crate) fn find(sites: &Sites<'_>) -> Vec<Prefetch> {
    sites.collectives().filter_map(|view| of_gather(sites, &view)).collect()
}

fn of_gather(sites: &Sites<'_>, view: &OpView<'_>) -> Option<Prefetch> {
    let collective = CollectiveView::of(view)?;
    let region = sites.home(view.op)?;
    let around = sites.view(sites.body[region].parent?);
    let is_body = Opcode::of_view(&around) == Opcode::While && around.regions()[1] == region;
    if !is_body || !matches!(collective.kind, CollectiveKind::AllGather { .. }) {
        return None;
    }
    let counter = counter(&around).filter(|counter| counter.count > 1)?;
    let mut search = Sources { sites, around, region, counter, found: BTreeSet::new(), is_counted: false };
    search.value(view.operand(0))?;
    let ops = &sites.body[region].ops;
    let sources: Vec<Op> = ops.iter().copied().filter(|op| search.found.contains(op)).collect();
    let like = Like {
        collective: CollectiveView { channel: 0, ..collective },
        ty: view.result_tensor(0).clone(),
        turns: counter.count,
    };
    let is_counted = search.is_counted;
    is_counted.then_some(Prefetch { gather: view.op, around: around.op, counter, sources, like })
}

/// Returns the gathers, and those of their `sources` whose results nothing else uses.
fn replaced(module: &Module, gathers: &[&Prefetch]) -> BTreeSet<Op> {
    let mut removed: BTreeSet<Op> = gathers.iter().map(|gather| gather.gather).collect();
    let Some(main) = module.main() else { return removed };
    let sites = Sites::new(module, &main.body);
    let sources: BTreeSet<Op> = gathers.iter().flat_map(|gather| gather.sources.iter().copied()).collect();
    for view in sites.views().collect::<Vec<_>>().into_iter().rev().filter(|view| sources.contains(&view.op)) {
        let mut uses = view.results().iter().flat_map(|&v| sites.uses(v));
        if uses.all(|user| removed.contains(&user.op)) {
            removed.insert(view.op);
        }
    }
    removed
}

/// The search for the ops of a turn from which a value is computed.
struct Sources<'a, 'm> {
    sites: &'a Sites<'m>,
    around: OpView<'m>,
    region: Region,
    counter: Counter,
    found: BTreeSet<Op>,
    /// True if a value depends on the counter.
    is_counted: bool,
}

impl Sources<'_, '_> {
    /// Adds the ops of the turn from which a value is computed. Returns `None` if it depends on what a turn computes,
    /// other than the counter, on an op that cannot run once more, or on too many ops.
    fn value(&mut self, v: Value) -> Option<()> {
        match self.sites.body[v].def {
            ValueDef::Argument { region, index } if region == self.region => {
                let index = index as usize;
                self.is_counted |= index == self.counter.index;
                let is_kept = self.sites.body.region_results(region)[index] == v;
                (is_kept || index == self.counter.index).then_some(())
            }
            ValueDef::Result { op, .. } if self.sites.home(op) == Some(self.region) => self.op(op),
            _ => Some(()),
        }
    }

    fn op(&mut self, op: Op) -> Option<()> {
        if self.found.contains(&op) {
            return Some(());
        }
        let view = self.around.at(op);
        let facts = Opcode::of_view(&view).facts();
        let is_pure = facts.effects(&view) == Effects::Pure && facts.semantics(&view) == Semantics::Pure;
        let is_plain = is_pure || Opcode::of_view(&view) == Opcode::AxisIndex;
        if !is_plain || !view.regions().is_empty() || self.found.len() >= MAX_SOURCES {
            return None;
        }
        self.found.insert(op);
        view.operands().iter().try_for_each(|&v| self.value(v))
    }
}

pub(crate) fn apply(module: &Module, chosen: &[Site]) -> Result<Module, Diagnostics> {
    let gathers: Vec<&Prefetch> = chosen.iter().filter_map(Site::as_prefetch).collect();
    let mut pass = Prefetcher { loops: BTreeMap::new(), removed: replaced(module, &gathers) };
    for gather in gathers {
        pass.loops.entry(gather.around).or_default().push(gather);
    }
    map_main(module, |func| rewrite_func(module, func, &mut pass))
}

struct Prefetcher<'a> {
    loops: BTreeMap<Op, Vec<&'a Prefetch>>,
    /// The ops that the loops no longer contain.
    removed: BTreeSet<Op>,
}

impl<'s> Rewrite<'s> for Prefetcher<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if self.removed.contains(&view.op) {
            return Ok(true);
        }
        let Some(gathers) = self.loops.remove(&view.op) else { return Ok(false) };
        self.build(view, &gathers, cloner, b)?;
        Ok(true)
    }
}

impl Prefetcher<'_> {
    /// Builds a loop that carries the gathered values of the next turn. Always returns `Ok`.
    fn build<'s>(
        &mut self,
        view: &OpView<'s>,
        gathers: &[&Prefetch],
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<(), Diagnostics> {
        let source = view.body;
        let mut operands = cloner.values(view.operands());
        let inits = operands.clone();
        for gather in gathers {
            operands.push(gathered(gather, view, &inits, cloner, b));
        }
        let carried: Vec<Value> = gathers.iter().map(|gather| source[gather.gather].results[0]).collect();
        let [cond, body] = [0, 1].map(|i| view.regions()[i]);
        let new_cond = b.body.add_region();
        let mut inner = Builder::at(b.body, new_cond, b.loc.clone());
        cloner.args(cond, &mut inner);
        cloner.args_of(carried.iter().copied(), &mut inner);
        rewrite_ops(view.module, cond, self, cloner, &mut inner)?;
        let new_body = b.body.add_region();
        let mut inner = Builder::at(b.body, new_body, b.loc.clone());
        cloner.args(body, &mut inner);
        cloner.args_of(carried.iter().copied(), &mut inner);
        self.turn(view, gathers, cloner, &mut inner)?;
        let types: Vec<_> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let attrs = view.attrs().clone();
        let made = b.op_with_regions(view.data().code, operands, attrs, [new_cond, new_body], types);
        for (i, &result) in view.results().iter().chain(&carried).enumerate() {
            let to = b.body[made].results[i];
            cloner.carry(result, to, b);
        }
        Ok(())
    }

    /// Builds a turn, which starts the gathers of the next one first. Always returns `Ok`.
    fn turn<'s>(
        &mut self,
        view: &OpView<'s>,
        gathers: &[&Prefetch],
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<(), Diagnostics> {
        let (source, body) = (view.body, view.regions()[1]);
        let args = cloner.values(&source[body].args);
        let mut next = vec![];
        for gather in gathers {
            let mut of_next = args.clone();
            let counter = &mut of_next[gather.counter.index];
            let dtype = make::type_of(b, *counter).dtype;
            let step = make::number(b, dtype, gather.counter.step);
            *counter = make::add(b, *counter, step);
            next.push(gathered(gather, view, &of_next, cloner, b));
        }
        rewrite_ops(view.module, body, self, cloner, b)?;
        let end = b.body.terminator(b.region).expect("a turn ends in a terminator");
        b.body.op_mut(end).operands.extend(next);
        Ok(())
    }
}

/// Builds a gather with the ops that compute its operand, for the values `args` that the loop carries.
fn gathered(prefetch: &Prefetch, view: &OpView<'_>, args: &[Value], cloner: &Cloner<'_>, b: &mut Builder<'_>) -> Value {
    let source = view.body;
    let mut made: BTreeMap<Value, Value> =
        source[view.regions()[1]].args.iter().copied().zip(args.iter().copied()).collect();
    for &op in prefetch.sources.iter().chain([&prefetch.gather]) {
        let data = &source[op];
        b.loc = data.loc.clone();
        let operands: Vec<Value> =
            data.operands.iter().map(|v| made.get(v).copied().unwrap_or_else(|| cloner.get(*v))).collect();
        let types = data.results.iter().map(|&v| source.ty(v).clone());
        let new = b.op(data.code, operands, data.attrs.clone(), types);
        b.body.op_mut(new).reason = data.reason.clone();
        for (i, &v) in data.results.iter().enumerate() {
            let to = b.body[new].results[i];
            made.insert(v, to);
        }
    }
    made[&source[prefetch.gather].results[0]]
}
