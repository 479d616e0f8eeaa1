//! The price of a function under given layouts.

use super::sites::{Group, Site, SiteKind, Sites, Target};
use crate::defer::is_linear_in;
use crate::plan::hash_layout;
use crate::reshard::with_single_elements_whole;
use crate::rewrite::{facts, sharding_or_replicated};
use crate::strategy::{Decision, Decisions, Served, Shardings};
use rustc_hash::FxHasher;
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding};
use shardwise_ir::{Body, Func, Module, OpView, Value};
use shardwise_ops::{Linear, Opcode, Semantics};
use shardwise_sharding::{FactorKind, Price, Rule};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// The number of known ratings that take as long as a new decision.
const DECISION: usize = 20;

/// A price that nothing is worth.
const FORBIDDEN: u64 = 1 << 50;

/// The prices of all sites under the current layouts.
pub(super) struct Prices<'a> {
    module: &'a Module,
    body: &'a Body,
    mesh: &'a Arc<Mesh>,
    pub sites: &'a Sites,
    decisions: &'a mut Decisions,
    layouts: EntityVec<Group, Sharding>,
    rated: EntityVec<Site, Rc<Rated>>,
    /// The ratings of each site made so far, by the layouts that they depend on.
    known: EntityVec<Site, Vec<(Shardings, Rc<Rated>)>>,
    /// The moves of each value that some site needs.
    moves: EntityVec<Value, Vec<Move>>,
    /// For each site, into how many shards its work is split at the start.
    shards: EntityVec<Site, usize>,
    total: u64,
    /// The price of the work of all ops but products, on one device.
    work: u64,
    /// The number of ratings so far, with each new decision counted as [`DECISION`].
    pub effort: usize,
}

/// The price of a site under certain layouts.
#[derive(Default)]
pub(super) struct Rated {
    /// The price of the site without the moves of operands.
    own: u64,
    /// The part of the price that is for bytes between devices.
    pub bytes: u64,
    /// The bytes that a device receives without those of `moves`.
    pub received: u64,
    /// The price of the op's work on one device, unless it is a product.
    work: u64,
    pub moves: SmallVec<[Move; 2]>,
    /// The layouts with which the site would cost less.
    pub asks: SmallVec<[Ask; 2]>,
    pub decision: Option<Rc<Decision>>,
    /// The number of shards into which a product's work is split.
    shards: usize,
}

impl Rated {
    /// Returns a number that is equal for sites at which the same is decided at the same prices.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (self.own, self.bytes, self.work, self.shards).hash(&mut hasher);
        self.decision.as_ref().map(|d| d.number).hash(&mut hasher);
        for ask in &self.asks {
            ask.price.hash(&mut hasher);
            hash_layout(&ask.layout, &mut hasher);
        }
        hasher.finish()
    }
}

/// A value that a site needs in a layout, the price of moving it there, and the bytes that a device receives.
#[derive(Clone, PartialEq)]
pub(super) struct Move {
    pub value: Value,
    pub to: Sharding,
    price: u64,
    pub bytes: u64,
}

/// A layout of a group with which a site would cost less, and the price that it would save.
#[derive(Clone)]
pub(super) struct Ask {
    pub group: Group,
    pub layout: Sharding,
    pub price: u64,
}

impl<'a> Prices<'a> {
    pub fn new(
        module: &'a Module,
        func: &'a Func,
        mesh: &'a Arc<Mesh>,
        sites: &'a Sites,
        decisions: &'a mut Decisions,
    ) -> Prices<'a> {
        let body = &func.body;
        let layout = |g: Group| {
            let v = sites.groups[g].values.last().expect("a group has values");
            sharding_or_replicated(body, *v, mesh).expect("only tensors are in groups")
        };
        let mut prices = Prices {
            module,
            body,
            mesh,
            sites,
            decisions,
            layouts: sites.groups.keys().map(layout).collect(),
            rated: EntityVec::filled(sites.sites.len(), Rc::default()),
            known: EntityVec::filled(sites.sites.len(), vec![]),
            moves: EntityVec::filled(body.value_count(), vec![]),
            shards: EntityVec::filled(sites.sites.len(), 0),
            total: 0,
            work: 0,
            effort: 0,
        };
        for site in sites.sites.keys() {
            let rated = prices.rate(site);
            prices.shards[site] = rated.shards;
            prices.enter(site, rated);
        }
        prices
    }

    /// Returns the price of the function.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn layout(&self, group: Group) -> &Sharding {
        &self.layouts[group]
    }

    pub fn layouts(&self) -> &EntityVec<Group, Sharding> {
        &self.layouts
    }

    pub fn rated(&self, site: Site) -> &Rc<Rated> {
        &self.rated[site]
    }

    /// Returns the prices of all sites.
    pub fn all_rated(&self) -> &EntityVec<Site, Rc<Rated>> {
        &self.rated
    }

    /// Returns the price of the work of all ops but products, on one device.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Returns the op of a site.
    pub fn view(&self, site: Site) -> Option<(OpView<'a>, &'a Rule)> {
        match &self.sites.sites[site].kind {
            SiteKind::Op { op, rule, .. } => Some((self.module.view(self.body, *op), rule)),
            SiteKind::Edge { .. } => None,
        }
    }

    /// Returns the groups of an op's operands and results, or of the two ends of an edge.
    pub fn groups(&self, site: Site) -> impl Iterator<Item = Option<Group>> {
        self.sites.around(self.module, self.body, site)
    }

    /// Returns the shape of a group's values.
    pub fn shape(&self, group: Group) -> &'a [usize] {
        self.body.ty(self.sites.groups[group].values[0]).shape()
    }

    pub fn mesh(&self) -> &'a Arc<Mesh> {
        self.mesh
    }

    /// Changes the layout of a group. Returns the layout that it had.
    pub fn set(&mut self, group: Group, layout: Sharding) -> Sharding {
        let sites = self.sites;
        let before = std::mem::replace(&mut self.layouts[group], layout);
        for &site in &sites.groups[group].sites {
            self.leave(site);
            let rated = self.rate(site);
            self.enter(site, rated);
        }
        before
    }

    fn leave(&mut self, site: Site) {
        let rated = std::mem::take(&mut self.rated[site]);
        self.total -= rated.own;
        self.work -= rated.work;
        for gone in &rated.moves {
            self.total -= self.price_of_moves(gone.value);
            let list = &mut self.moves[gone.value];
            let at = list.iter().position(|m| m == gone).expect("the site entered it");
            list.swap_remove(at);
            self.total += self.price_of_moves(gone.value);
        }
    }

    fn enter(&mut self, site: Site, rated: Rc<Rated>) {
        self.total += rated.own;
        self.work += rated.work;
        for new in &rated.moves {
            self.total -= self.price_of_moves(new.value);
            self.moves[new.value].push(new.clone());
            self.total += self.price_of_moves(new.value);
        }
        self.rated[site] = rated;
    }

    /// Returns the price of bringing a value to all layouts in which sites need it. Sites share a move.
    fn price_of_moves(&self, v: Value) -> u64 {
        let mut dearest: SmallVec<[&Move; 4]> = SmallVec::new();
        for new in &self.moves[v] {
            match dearest.iter_mut().find(|known| known.to == new.to) {
                Some(known) if known.price < new.price => *known = new,
                Some(_) => {}
                None => dearest.push(new),
            }
        }
        dearest.iter().map(|m| m.price).sum()
    }

    fn layout_of(&self, v: Value) -> Option<Sharding> {
        Some(self.layouts[self.sites.group(v)?].clone())
    }

    fn rate(&mut self, site: Site) -> Rc<Rated> {
        let sites = self.sites;
        let data = &sites.sites[site];
        self.effort += 1;
        let (op, rule, served) = match &data.kind {
            SiteKind::Edge { from, to } => return Rc::new(self.rate_edge(*from, to, data.runs)),
            SiteKind::Op { op, rule, served } => (*op, rule, served),
        };
        let view = self.module.view(self.body, op);
        let wanted = |v: Value| Some(with_single_elements_whole(self.layout_of(v)?, self.body.ty(v).shape()));
        let operands = view.operands().iter().map(|&v| self.layout_of(v));
        let layouts: Shardings = operands.chain(view.results().iter().map(|&v| wanted(v))).collect();
        if let Some((_, known)) = self.known[site].iter().find(|(given, _)| *given == layouts) {
            return known.clone();
        }
        let mut kept = kept_unreduced(&view, rule, &layouts);
        let mut decision = self.decide(&view, rule, served, &layouts, &kept);
        if decision.splits_over(&kept) {
            kept.clear();
            decision = self.decide(&view, rule, served, &layouts, &kept);
        }
        let rated = Rc::new(self.rate_op(&view, decision, &layouts, &kept, site));
        self.known[site].push((layouts, rated.clone()));
        rated
    }

    /// Decides how an op runs as `reshard` will: operands are unreduced over `kept` at most.
    fn decide(
        &mut self,
        view: &OpView<'_>,
        rule: &Arc<Rule>,
        served: &Served,
        layouts: &Shardings,
        kept: &[AxisRef],
    ) -> Rc<Decision> {
        let mut layouts = layouts.clone();
        for layout in layouts.iter_mut().take(view.operands().len()).flatten() {
            if !layout.unreduced.is_empty() {
                *layout = layout.clone().with_unreduced(both(&layout.unreduced, kept));
            }
        }
        let made = self.decisions.made;
        let decision = self.decisions.decide(view, facts(view), rule.clone(), self.mesh, layouts, served.clone());
        self.effort += (self.decisions.made - made) * DECISION;
        decision
    }

    fn rate_edge(&self, from: Value, to: &Target, runs: u64) -> Rated {
        let mut rated = Rated::default();
        let group = self.sites.group(from).expect("an edge moves a tensor");
        let (own, ty) = (&self.layouts[group], self.body.ty(from).as_tensor().expect("an edge moves a tensor"));
        let target = match to {
            Target::Group(to) => &self.layouts[*to],
            Target::Layout(layout) => layout,
        };
        if own.same_layout(target) {
            return rated;
        }
        let open = minus(&own.unreduced, &target.unreduced, self.mesh);
        let price = self.decisions.prices.of(own, &open, target, &ty.shape, ty.dtype);
        rated.bytes = price.bytes.saturating_mul(runs);
        let price = of(price).saturating_mul(runs);
        let is_opened = !minus(&target.unreduced, &own.unreduced, self.mesh).is_empty();
        if is_opened && !is_zeros(self.module, self.body, from) {
            rated.own = FORBIDDEN;
        }
        rated.moves.push(Move { value: from, to: target.clone(), price, bytes: rated.bytes });
        rated.asks.push(Ask { group, layout: target.clone(), price });
        if let Target::Group(to) = to {
            rated.asks.push(Ask { group: *to, layout: own.clone(), price });
        }
        rated
    }

    fn rate_op(
        &self,
        view: &OpView<'_>,
        decision: Rc<Decision>,
        given: &Shardings,
        kept: &[AxisRef],
        site: Site,
    ) -> Rated {
        let runs = self.sites.sites[site].runs;
        let mut rated = Rated { bytes: decision.assignment.bytes_moved.saturating_mul(runs), ..Rated::default() };
        let mut own = decision.assignment.price;
        let mut received = decision.assignment.bytes_moved;
        let values = view.operands().iter().chain(view.results());
        let mut is_allowed = true;
        for (i, &v) in values.enumerate() {
            let (Some(layout), Some(group), Some(given)) = (&decision.layouts[i], self.sites.group(v), &given[i])
            else {
                continue;
            };
            if i >= view.operands().len() {
                let price = of(decision.task.price(i, layout, &decision.partial, &self.decisions.prices));
                if price > 0 {
                    rated.asks.push(Ask { group, layout: layout.clone(), price: price.saturating_mul(runs) });
                }
                let left = minus(&minus(&given.unreduced, kept, self.mesh), &decision.partial, self.mesh);
                is_allowed &= left.is_empty();
                continue;
            }
            let open = minus(&given.unreduced, kept, self.mesh);
            let counted = decision.task.price(i, layout, &[], &self.decisions.prices);
            let price = match open.is_empty() {
                true => counted,
                false => {
                    let ty = self.body.ty(v).as_tensor().expect("only tensors are laid out");
                    self.decisions.prices.of(given, &open, layout, &ty.shape, ty.dtype)
                }
            };
            own -= of(counted);
            received = received.saturating_sub(counted.bytes);
            if of(price) == 0 {
                continue;
            }
            let (price, bytes) = (of(price).saturating_mul(runs), price.bytes.saturating_mul(runs));
            rated.bytes += if open.is_empty() { 0 } else { price };
            let layout = layout.clone().with_unreduced(both(&given.unreduced, kept));
            rated.asks.push(Ask { group, layout: layout.clone(), price });
            if !open.is_empty() {
                self.ask_for_open(view, &given.unreduced, price, &mut rated.asks);
            }
            rated.moves.push(Move { value: v, to: layout, price, bytes });
        }
        rated.own = own.saturating_mul(runs);
        rated.received = received.saturating_mul(runs);
        let shards = decision.assignment.shards(self.mesh);
        if decision.task.is_product() {
            rated.shards = shards;
            is_allowed &= shards >= self.shards[site];
        } else {
            // On summands, each device does the work that the sum takes from the devices.
            let shards = shards * AxisRef::total_size(self.mesh, kept);
            rated.work = (decision.task.work / shards as u64).saturating_mul(runs);
        }
        if !is_allowed {
            rated.own = rated.own.saturating_add(FORBIDDEN);
        }
        rated.decision = Some(decision);
        rated
    }

    /// Asks that all other tensors be unreduced over the axes too, if the op is linear in them.
    fn ask_for_open(&self, view: &OpView<'_>, axes: &[AxisRef], price: u64, asks: &mut SmallVec<[Ask; 2]>) {
        let with = |&v: &Value| {
            let group = self.sites.group(v)?;
            let layout = self.layouts[group].clone();
            let is_open = axes.iter().all(|a| layout.unreduced.contains(a));
            let is_split = layout.split_axes().any(|a| axes.iter().any(|b| a.overlap(*b).is_some()));
            (!is_open && !is_split).then(|| Ask { group, layout: layout.with_unreduced(axes.to_vec()), price })
        };
        asks.extend(view.results().iter().filter_map(with));
        if facts(view).linear(view) == Linear::Jointly {
            asks.extend(view.operands().iter().filter_map(with));
        }
    }
}

/// Returns the axes over which an op may work on unreduced values: it is linear in them, and all its results are wanted
/// unreduced over them.
fn kept_unreduced(view: &OpView<'_>, rule: &Rule, layouts: &Shardings) -> Vec<AxisRef> {
    let (operands, results) = layouts.split_at(view.operands().len());
    let mut axes: Vec<AxisRef> = vec![];
    for &a in operands.iter().flatten().flat_map(|s| &s.unreduced) {
        if !axes.contains(&a) {
            axes.push(a);
        }
    }
    let is_moved = || rule.all_factors().any(|f| rule.kind(f) == FactorKind::Permutation);
    if axes.is_empty() || is_moved() {
        return vec![];
    }
    let is_open = |s: &Option<Sharding>, a: &AxisRef| s.as_ref().is_some_and(|s| s.unreduced.contains(a));
    let is_kept = |a: &AxisRef| {
        let opened: Vec<Value> =
            view.operands().iter().zip(operands).filter(|(_, s)| is_open(s, a)).map(|(&v, _)| v).collect();
        results.iter().all(|s| is_open(s, a)) && is_linear_in(view, &|v| opened.contains(&v))
    };
    axes.into_iter().filter(is_kept).collect()
}

/// Returns whether a value is zero everywhere: a constant, or computed from such by ops that are linear.
fn is_zeros(module: &Module, body: &Body, v: Value) -> bool {
    let Some(op) = body.def_op(v) else { return false };
    let view = module.view(body, op);
    if Opcode::of_view(&view) == Opcode::Constant {
        return shardwise_ops::is_zeros(&view);
    }
    let facts = facts(&view);
    let is_linear = facts.linear(&view) == Linear::Jointly && facts.semantics(&view) == Semantics::Pure;
    is_linear && view.regions().is_empty() && view.operands().iter().all(|&x| is_zeros(module, body, x))
}

fn both(a: &[AxisRef], b: &[AxisRef]) -> Vec<AxisRef> {
    a.iter().copied().filter(|axis| b.contains(axis)).collect()
}

fn minus(a: &[AxisRef], b: &[AxisRef], mesh: &Mesh) -> Vec<AxisRef> {
    a.iter().flat_map(|axis| axis.minus(mesh, b)).collect()
}

fn of(price: Price) -> u64 {
    price.bytes + price.starts
}
