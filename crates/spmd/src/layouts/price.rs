//! The price of a function under given layouts.

use super::sites::{Class, Group, Site, SiteData, SiteKind, Sites, Target};
use crate::defer::{is_copy, is_linear_in};
use crate::plan::hash_layout;
use crate::reshard::with_single_elements_whole;
use crate::rewrite::{facts, sharding_or_replicated};
use crate::strategy::{Decision, Decisions, Shardings};
use crate::summands::axes_on_summands;
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding, entity};
use shardwise_ir::{Body, Module, OpView, TensorType, Value};
use shardwise_ops::Linear;
use shardwise_sharding::{FactorKind, Price, Rule};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// The number of known ratings that take as long as a new decision.
const DECISION: usize = 100;

/// The work of planning reshards that takes as long as a known rating ([`MovePrices::work`]).
///
/// [`MovePrices::work`]: crate::plan::MovePrices::work
const PLANNING: usize = 8;

/// The price of what is not allowed. It is higher than any other, unless loops move more than a petabyte.
const FORBIDDEN: u64 = 1 << 50;

entity! {
    /// A layout among [`Layouts`].
    pub(super) Layout "layout"
}

fn saturated(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// The layouts met so far, each once.
#[derive(Default)]
pub(super) struct Layouts {
    known: FxHashMap<LayoutKey, Layout>,
    all: EntityVec<Layout, Sharding>,
}

#[derive(PartialEq, Eq)]
struct LayoutKey(Sharding);

impl Hash for LayoutKey {
    fn hash<H: Hasher>(&self, h: &mut H) {
        hash_layout(&self.0, h);
        self.0.unreduced.hash(h);
    }
}

impl Layouts {
    /// Returns the number of a layout, which is recorded if it is new.
    pub fn of(&mut self, layout: Sharding) -> Layout {
        let all = &mut self.all;
        *self.known.entry(LayoutKey(layout)).or_insert_with_key(|key| all.push(key.0.clone()))
    }
}

/// The prices of all sites under the current layouts.
pub(super) struct Prices<'a> {
    module: &'a Module,
    body: &'a Body,
    mesh: &'a Arc<Mesh>,
    pub sites: &'a Sites,
    decisions: &'a mut Decisions,
    layouts: Layouts,
    current: EntityVec<Group, Layout>,
    rated: EntityVec<Site, Rc<Rated>>,
    known: FxHashMap<RatingKey, Rc<Rated>>,
    /// The moves of each value that some site needs.
    moves: EntityVec<Value, Moves>,
    /// For each site, into how many shards the work of its product is split at the start; 0 if it is no product.
    shards: EntityVec<Site, usize>,
    /// The price of the function. Sums of prices have 128 bits, because the prices of sites in long loops, and those of
    /// forbidden sites, may fill 64 bits.
    total: u128,
    /// The bytes that a device receives in the function, with each site counted as often as it runs.
    received: u128,
    /// The price of the work of all ops but products, on one device.
    work: u128,
    /// The price of the work of all ops but products on one device, at the start.
    pub first_work: u64,
    /// The number of ratings so far, with each new decision counted as [`DECISION`], and with the work of
    /// planning ([`PLANNING`]).
    pub effort: usize,
}

/// Everything that the price of a site depends on: its class and the layouts of its values.
#[derive(PartialEq, Eq, Hash)]
struct RatingKey(Class, SmallVec<[Option<Layout>; 4]>);

/// The price of a site under certain layouts.
#[derive(Default)]
pub(super) struct Rated {
    /// The number of this rating, from 1. All ratings have different numbers.
    number: usize,
    /// The price of the site without the moves of operands.
    own: u64,
    /// The part of the price that is for bytes between devices. The moves of operands that are summed first are counted
    /// with their whole price.
    pub bytes: u64,
    /// The bytes that a device receives in all runs of the site, without those of `moves`.
    received: u64,
    /// The price of the op's work on one device, unless it is a product.
    work: u64,
    /// The moves of the operands of an op, each with the operand's index, or the move of an edge, with index 0.
    moves: SmallVec<[(usize, Move); 2]>,
    asks: SmallVec<[Ask<usize>; 2]>,
    decision: Option<Rc<Decision>>,
    /// The number of shards into which a product's work is split; `None` for other sites.
    shards: Option<usize>,
}

/// A layout in which a site needs a value, the price of moving the value there, and the bytes that a device receives,
/// both for all runs of the site.
#[derive(Clone, Copy, PartialEq)]
struct Move {
    to: Layout,
    price: u64,
    bytes: u64,
}

/// Sites with the ratings that they had.
type Changed = SmallVec<[(Site, Rc<Rated>); 4]>;

/// The moves of one value. Equal moves of several sites are one entry, with the number of these sites.
type Moves = SmallVec<[(Move, usize); 1]>;

/// A layout of a value with which a site would cost less, and the price that it would save. The value is named by its
/// index at the site, or by its group.
#[derive(Clone, Copy)]
pub(super) struct Ask<V = Group> {
    pub value: V,
    pub layout: Layout,
    pub price: u64,
}

impl<'a> Prices<'a> {
    pub fn new(
        module: &'a Module,
        body: &'a Body,
        mesh: &'a Arc<Mesh>,
        sites: &'a Sites,
        decisions: &'a mut Decisions,
    ) -> Prices<'a> {
        let mut layouts = Layouts::default();
        let mut layout = |g: Group| {
            let v = sites.groups[g].values.last().expect("a group has values");
            layouts.of(sharding_or_replicated(body, *v, mesh).expect("only tensors are in groups"))
        };
        let current = sites.groups.keys().map(&mut layout).collect();
        let mut prices = Prices {
            module,
            body,
            mesh,
            sites,
            decisions,
            layouts,
            current,
            rated: EntityVec::filled(sites.sites.len(), Rc::default()),
            known: FxHashMap::default(),
            moves: EntityVec::filled(body.value_count(), SmallVec::new()),
            shards: EntityVec::filled(sites.sites.len(), 0),
            total: 0,
            received: 0,
            work: 0,
            first_work: 0,
            effort: 0,
        };
        for site in sites.sites.keys() {
            let rated = prices.rate(site);
            prices.shards[site] = rated.shards.unwrap_or(0);
            prices.enter(site, rated);
        }
        prices.first_work = prices.work();
        prices
    }

    /// Returns into how many shards the work of a site's product was split at the start; 0 if it is no product.
    pub fn first_shards(&self, site: Site) -> usize {
        self.shards[site]
    }

    /// Returns the prices of other sites of the function, under the layouts that the function had at the start.
    pub fn of_sites<'b>(&'b mut self, sites: &'b Sites) -> Prices<'b> {
        Prices::new(self.module, self.body, self.mesh, sites, self.decisions)
    }

    /// Returns the price of the function, or `u64::MAX` if it is higher.
    pub fn total(&self) -> u64 {
        saturated(self.total)
    }

    /// Returns the bytes that a device receives in all runs of the function's sites, or `u64::MAX` if it is more.
    pub fn bytes_received(&self) -> u64 {
        saturated(self.received)
    }

    /// Returns the bytes that a device receives in all runs of the function's sites. If the mesh has rates, returns the
    /// price of the function ([`Prices::total`]) instead, because bytes alone do not tell the time that layouts take.
    pub fn all_received(&self) -> u64 {
        if self.mesh.rates.is_none() { self.bytes_received() } else { self.total() }
    }

    /// Returns the current layout of a group.
    pub fn current(&self, group: Group) -> Layout {
        self.current[group]
    }

    /// Returns a layout by its number.
    pub fn layout(&self, layout: Layout) -> &Sharding {
        &self.layouts.all[layout]
    }

    /// Returns the number of a layout.
    pub fn layout_number(&mut self, layout: Sharding) -> Layout {
        self.layouts.of(layout)
    }

    /// Returns the current layouts of all groups.
    pub fn all_current(&self) -> &EntityVec<Group, Layout> {
        &self.current
    }

    /// Returns the groups whose current layouts differ from those in `layouts` ([`Sharding::same_layout`]), each with its
    /// current layout.
    pub fn changes_since(&self, layouts: &EntityVec<Group, Layout>) -> Vec<(Group, Layout)> {
        let differs = |g: &Group| !self.layout(self.current[*g]).same_layout(self.layout(layouts[*g]));
        self.current.keys().filter(differs).map(|g| (g, self.current[g])).collect()
    }

    /// Returns the groups whose current layouts differ from those in `layouts` ([`Sharding::same_layout`]), each with its
    /// current layout.
    pub fn shardings_since(&self, layouts: &EntityVec<Group, Layout>) -> Vec<(Group, Sharding)> {
        let sharding = |(group, layout)| (group, self.layout(layout).clone());
        self.changes_since(layouts).into_iter().map(sharding).collect()
    }

    /// Changes the layouts of some groups.
    pub fn set_shardings(&mut self, changes: impl IntoIterator<Item = (Group, Sharding)>) {
        for (group, layout) in changes {
            let layout = self.layouts.of(layout);
            self.set(group, layout);
        }
    }

    /// Changes the layouts of all groups to these.
    pub fn set_all(&mut self, layouts: &EntityVec<Group, Layout>) {
        for group in layouts.keys().filter(|g| self.current[*g] != layouts[*g]).collect::<Vec<_>>() {
            self.set(group, layouts[group]);
        }
    }

    /// Returns the part of a site's price that is for bytes between devices, in all its runs.
    pub fn bytes(&self, site: Site) -> u64 {
        self.rated[site].bytes
    }

    /// Returns how an op runs, or `None` for an edge.
    pub fn decision(&self, site: Site) -> Option<&Rc<Decision>> {
        self.rated[site].decision.as_ref()
    }

    /// Returns the layouts of values with which a site would cost less, each with the price that it would save.
    pub fn asks(&self, site: Site) -> impl Iterator<Item = Ask> {
        let groups = &self.sites.sites[site].groups;
        let ask = |ask: &Ask<usize>| Some(Ask { value: groups[ask.value]?, layout: ask.layout, price: ask.price });
        self.rated[site].asks.iter().filter_map(ask)
    }

    /// Returns the number of a site's rating. Sites with the same number are of one class and have the same layouts, so
    /// the same is decided at them at the same prices.
    pub fn fingerprint(&self, site: Site) -> u64 {
        self.rated[site].number as u64
    }

    /// Returns the prices of all sites.
    pub fn all_rated(&self) -> &EntityVec<Site, Rc<Rated>> {
        &self.rated
    }

    /// Returns the bytes that a device receives at some sites with these ratings. Sites share the moves of values to
    /// equal layouts.
    pub fn received(&self, rated: &EntityVec<Site, Rc<Rated>>, sites: &[Site]) -> u64 {
        let mut moved: FxHashMap<(Value, Layout), u64> = FxHashMap::default();
        for &site in sites {
            for (index, new) in &rated[site].moves {
                let bytes = moved.entry((self.value(site, *index), new.to)).or_default();
                *bytes = new.bytes.max(*bytes);
            }
        }
        let own = sites.iter().map(|&s| u128::from(rated[s].received));
        saturated(own.chain(moved.into_values().map(u128::from)).sum())
    }

    /// Returns the price of the work of all ops but products, on one device, or `u64::MAX` if it is higher.
    pub fn work(&self) -> u64 {
        saturated(self.work)
    }

    /// Returns the op of a site and the rule of the op, or `None` for an edge.
    pub fn view(&self, site: Site) -> Option<(OpView<'a>, Arc<Rule>)> {
        match &self.sites.sites[site].kind {
            SiteKind::Op { op, kind, .. } => {
                let rule = self.decisions.kinds.rule(*kind).expect("the op has a rule");
                Some((self.module.view(self.body, *op), rule.clone()))
            }
            SiteKind::Edge { .. } => None,
        }
    }

    /// Returns the type of a group's first value.
    pub fn ty(&self, group: Group) -> &'a TensorType {
        self.body.ty(self.sites.groups[group].values[0]).as_tensor().expect("only tensors are in groups")
    }

    /// Returns the shape of a group's values.
    pub fn shape(&self, group: Group) -> &'a [usize] {
        &self.ty(group).shape
    }

    pub fn mesh(&self) -> &'a Arc<Mesh> {
        self.mesh
    }

    /// Changes the layout of a group. Returns the layout that it had.
    pub fn set(&mut self, group: Group, layout: Layout) -> Layout {
        self.set_within(group, layout, u64::MAX).expect("no price is higher")
    }

    /// Changes the layout of a group, unless the price of the function were then higher than `most`. Returns the layout
    /// that the group had, or `None` if nothing changed.
    ///
    /// Sites are rated until the price is known to be too high. Ops that must be decided anew come last.
    pub fn set_within(&mut self, group: Group, layout: Layout, most: u64) -> Option<Layout> {
        let sites = self.sites;
        let before = std::mem::replace(&mut self.current[group], layout);
        let (mut changed, mut undecided) = (Changed::new(), SmallVec::<[Site; 4]>::new());
        for &site in &sites.groups[group].sites {
            let new = self.rate_if_known(site);
            let old = self.rated[site].clone();
            if new.as_ref().is_some_and(|new| Rc::ptr_eq(new, &old)) {
                continue;
            }
            self.leave(site, &old);
            changed.push((site, old));
            match new {
                Some(new) => self.enter(site, new),
                None => undecided.push(site),
            }
        }
        let mut undecided = undecided.into_iter();
        while self.total() <= most {
            let Some(site) = undecided.next() else { return Some(before) };
            let new = self.rate(site);
            self.enter(site, new);
        }
        for (site, old) in changed {
            // The sites of a group are in ascending order.
            if undecided.as_slice().binary_search(&site).is_err() {
                let new = self.rated[site].clone();
                self.leave(site, &new);
            }
            self.enter(site, old);
        }
        self.current[group] = before;
        None
    }

    fn leave(&mut self, site: Site, rated: &Rated) {
        self.total -= u128::from(self.own(site, rated));
        self.received -= u128::from(rated.received);
        self.work -= u128::from(rated.work);
        for (index, gone) in &rated.moves {
            self.change_moves(self.value(site, *index), |list| {
                let at = list.iter().position(|(m, _)| m == gone).expect("the site entered it");
                list[at].1 -= 1;
                if list[at].1 == 0 {
                    list.swap_remove(at);
                }
            });
        }
    }

    fn enter(&mut self, site: Site, rated: Rc<Rated>) {
        self.total += u128::from(self.own(site, &rated));
        self.received += u128::from(rated.received);
        self.work += u128::from(rated.work);
        for (index, new) in &rated.moves {
            self.change_moves(self.value(site, *index), |list| match list.iter_mut().find(|(m, _)| m == new) {
                Some((_, count)) => *count += 1,
                None => list.push((*new, 1)),
            });
        }
        self.rated[site] = rated;
    }

    fn change_moves(&mut self, v: Value, change: impl FnOnce(&mut Moves)) {
        let (price, bytes) = self.price_of_moves(v);
        change(&mut self.moves[v]);
        let (new_price, new_bytes) = self.price_of_moves(v);
        self.total = self.total - price + new_price;
        self.received = self.received - bytes + new_bytes;
    }

    /// Returns the price of a site without the moves of operands. It is prohibitive if a product computes more on a
    /// device than at the start.
    fn own(&self, site: Site, rated: &Rated) -> u64 {
        let is_allowed = rated.shards.is_none_or(|shards| shards >= self.shards[site]);
        if is_allowed { rated.own } else { rated.own.saturating_add(FORBIDDEN) }
    }

    fn value(&self, site: Site, index: usize) -> Value {
        self.sites.sites[site].sources[index].value
    }

    /// Returns the price of bringing a value to all layouts in which sites need it, and the bytes that a device
    /// receives. Sites that need it in the same layout share a move.
    fn price_of_moves(&self, v: Value) -> (u128, u128) {
        let mut dearest: SmallVec<[Move; 4]> = SmallVec::new();
        for (new, _) in &self.moves[v] {
            match dearest.iter_mut().find(|known| known.to == new.to) {
                Some(known) => {
                    known.price = known.price.max(new.price);
                    known.bytes = known.bytes.max(new.bytes);
                }
                None => dearest.push(*new),
            }
        }
        dearest.iter().fold((0, 0), |(price, bytes), m| (price + u128::from(m.price), bytes + u128::from(m.bytes)))
    }

    /// Returns the rating of a site under the current layouts. Returns `None` for an op that was not rated under them
    /// yet.
    fn rate_if_known(&mut self, site: Site) -> Option<Rc<Rated>> {
        let data = &self.sites.sites[site];
        if let SiteKind::Edge { .. } = data.kind {
            return Some(self.rate(site));
        }
        let known = self.known.get(&self.rating_key(data))?.clone();
        self.effort += 1;
        Some(known)
    }

    fn rating_key(&self, data: &SiteData) -> RatingKey {
        RatingKey(data.class, data.groups.iter().map(|g| Some(self.current[(*g)?])).collect())
    }

    fn rate(&mut self, site: Site) -> Rc<Rated> {
        self.effort += 1;
        let data = &self.sites.sites[site];
        let key = self.rating_key(data);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let work = self.decisions.prices.work();
        let mut rated = match &data.kind {
            SiteKind::Op { .. } => self.rate_op(data, &key.1),
            SiteKind::Edge { .. } => self.rate_edge(data),
        };
        self.count_planning_since(work);
        rated.number = self.known.len() + 1;
        let rated = Rc::new(rated);
        self.known.insert(key, rated.clone());
        rated
    }

    fn count_planning_since(&mut self, work: usize) {
        self.effort += (self.decisions.prices.work() - work) / PLANNING;
    }

    /// Returns the result of `f`, and adds the work of planning that `f` does to the effort.
    pub fn counted<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let work = self.decisions.prices.work();
        let out = f();
        self.count_planning_since(work);
        out
    }

    fn rate_op(&mut self, data: &SiteData, current: &[Option<Layout>]) -> Rated {
        let SiteKind::Op { op, kind, served } = &data.kind else { unreachable!("the site is an op") };
        let view = self.module.view(self.body, *op);
        let count = view.operands().len();
        let mut given: Shardings = current.iter().map(|l| Some(self.layout((*l)?).clone())).collect();
        for (layout, &v) in given[count..].iter_mut().zip(view.results()) {
            *layout = layout.take().map(|l| with_single_elements_whole(l, self.body.ty(v).shape()));
        }
        let rule = self.decisions.kinds.rule(*kind).expect("the op has a rule").clone();
        let mut kept = kept_unreduced(&view, &rule, &given, self.mesh);
        let mut decide = |kept: &[AxisRef]| {
            let mut shardings = given.clone();
            for layout in shardings[..count].iter_mut().flatten().filter(|l| !l.unreduced.is_empty()) {
                *layout = layout.clone().with_unreduced(both(&layout.unreduced, kept));
            }
            let made = self.decisions.made;
            let decision = self.decisions.decide(&view, *kind, self.mesh, shardings, served.clone());
            self.effort += (self.decisions.made - made) * DECISION;
            decision
        };
        let mut decision = decide(&kept);
        if decision.splits_over(&kept) {
            kept.clear();
            decision = decide(&kept);
        }
        self.rate_decision(&view, decision, &given, &kept, data)
    }

    fn rate_edge(&mut self, data: &SiteData) -> Rated {
        let SiteKind::Edge { from, to, is_zeros } = &data.kind else { unreachable!("the site is an edge") };
        let mut rated = Rated::default();
        let group = self.sites.group(*from).expect("an edge moves a tensor");
        let own = self.current[group];
        let target = match to {
            Target::Group(to) => self.current[*to],
            Target::Layout(layout) => self.layouts.of(layout.clone()),
        };
        let [from, to] = [own, target].map(|layout| self.layout(layout));
        if from.same_layout(to) {
            return rated;
        }
        let ty = self.ty(group);
        let open = minus(&from.unreduced, &to.unreduced, self.mesh);
        let price = self.decisions.prices.of(from, &open, to, &ty.shape, ty.dtype);
        let runs = data.sources[0].runs;
        rated.bytes = price.bytes.saturating_mul(runs);
        let price = of(price).saturating_mul(runs);
        let is_opened = !minus(&to.unreduced, &from.unreduced, self.mesh).is_empty();
        if is_opened && !is_zeros {
            rated.own = FORBIDDEN;
        }
        rated.moves.push((0, Move { to: target, price, bytes: rated.bytes }));
        rated.asks.push(Ask { value: 0, layout: target, price });
        if data.groups.len() > 1 {
            rated.asks.push(Ask { value: 1, layout: own, price });
        }
        rated
    }

    /// Rates an op that runs as decided, on operands that are unreduced over `kept`.
    fn rate_decision(
        &mut self,
        view: &OpView<'_>,
        decision: Rc<Decision>,
        given: &Shardings,
        kept: &[AxisRef],
        data: &SiteData,
    ) -> Rated {
        let runs = data.runs;
        let mut rated = Rated { bytes: decision.assignment.bytes_moved.saturating_mul(runs), ..Rated::default() };
        let mut own = decision.assignment.price;
        let mut received = decision.assignment.bytes_moved;
        let mut is_allowed = true;
        // The summands of a copied element are the element and -0, of which `negate` would make 0.
        let summed = if is_copy(view) { &[] } else { &decision.partial[..] };
        for (i, layout) in decision.layouts.iter().enumerate() {
            let (Some(layout), Some(from)) = (layout, &given[i]) else { continue };
            if i >= view.operands().len() {
                let price = of(decision.task.price(i, layout, &decision.partial, &self.decisions.prices));
                if price > 0 {
                    let layout = self.layouts.of(layout.clone());
                    rated.asks.push(Ask { value: i, layout, price: price.saturating_mul(runs) });
                }
                let left = minus(&minus(&from.unreduced, kept, self.mesh), summed, self.mesh);
                is_allowed &= left.is_empty();
                continue;
            }
            let open = minus(&from.unreduced, kept, self.mesh);
            let counted = decision.task.price(i, layout, &[], &self.decisions.prices);
            let price = match open.is_empty() {
                true => counted,
                false => {
                    let ty = self.body.ty(view.operand(i)).as_tensor().expect("only tensors are laid out");
                    self.decisions.prices.of(from, &open, layout, &ty.shape, ty.dtype)
                }
            };
            own -= of(counted);
            received = received.saturating_sub(counted.bytes);
            if of(price) == 0 {
                continue;
            }
            let moves = data.sources[i].runs;
            let (price, bytes) = (of(price).saturating_mul(moves), price.bytes.saturating_mul(moves));
            rated.bytes = rated.bytes.saturating_add(if open.is_empty() { 0 } else { price });
            let to = self.layouts.of(layout.clone().with_unreduced(both(&from.unreduced, kept)));
            rated.asks.push(Ask { value: i, layout: to, price });
            if !open.is_empty() {
                self.ask_for_open(view, given, &from.unreduced, price, &mut rated.asks);
            }
            rated.moves.push((i, Move { to, price, bytes }));
        }
        rated.own = own.saturating_mul(runs);
        rated.received = received.saturating_mul(runs);
        let shards = decision.assignment.shards(self.mesh);
        if decision.task.is_product() {
            rated.shards = Some(shards);
        } else {
            // On summands, each device does the work that the sum takes from the devices.
            let shards = shards * AxisRef::total_size(self.mesh, kept);
            rated.work = (decision.task.traits.work / shards as u64).saturating_mul(runs);
        }
        if !is_allowed {
            rated.own = rated.own.saturating_add(FORBIDDEN);
        }
        rated.decision = Some(decision);
        rated
    }

    /// Adds to `asks` that the results be unreduced over `axes` too, and also the operands if the op is jointly linear.
    /// Tensors that are unreduced over the axes already, or that are split over them, are left out.
    fn ask_for_open(
        &mut self,
        view: &OpView<'_>,
        given: &Shardings,
        axes: &[AxisRef],
        price: u64,
        asks: &mut SmallVec<[Ask<usize>; 2]>,
    ) {
        let count = view.operands().len();
        let is_joint = matches!(facts(view).linear(view), Linear::Jointly | Linear::UpToZeros);
        let asked = if is_joint { 0..given.len() } else { count..given.len() };
        for value in asked {
            let Some(layout) = &given[value] else { continue };
            let is_open = axes.iter().all(|a| layout.unreduced.contains(a));
            let is_split = layout.split_axes().any(|a| axes.iter().any(|b| a.overlaps(*b)));
            if !is_open && !is_split {
                let layout = self.layouts.of(layout.clone().with_unreduced(axes.to_vec()));
                asks.push(Ask { value, layout, price });
            }
        }
    }
}

/// Returns the axes over which an op runs on summands ([`axes_on_summands`]) if that keeps all numbers
/// ([`is_linear_in`]). There are none if elements move along a factor of the rule.
fn kept_unreduced(view: &OpView<'_>, rule: &Rule, layouts: &Shardings, mesh: &Mesh) -> Vec<AxisRef> {
    let unreduced: SmallVec<[&[AxisRef]; 4]> =
        layouts.iter().map(|s| s.as_ref().map_or(&[][..], |s| &s.unreduced)).collect();
    let (operands, results) = unreduced.split_at(view.operands().len());
    let is_moved = || rule.all_factors().any(|f| rule.kind(f) == FactorKind::Permutation);
    if operands.iter().all(|axes| axes.is_empty()) || is_moved() {
        return vec![];
    }
    axes_on_summands(mesh, operands, results, |is_summand| is_linear_in(view, is_summand))
}

/// Returns the parts of axes that both lists have.
fn both(a: &[AxisRef], b: &[AxisRef]) -> Vec<AxisRef> {
    a.iter().flat_map(|axis| b.iter().filter_map(|other| axis.overlap(*other))).collect()
}

fn minus(a: &[AxisRef], b: &[AxisRef], mesh: &Mesh) -> Vec<AxisRef> {
    a.iter().flat_map(|axis| axis.minus(mesh, b)).collect()
}

fn of(price: Price) -> u64 {
    price.bytes + price.extra
}
