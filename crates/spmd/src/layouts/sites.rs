//! The values of a function that have one layout, and the places where values are moved.

use super::copies::is_copy;
use crate::cleanup::live;
use crate::kinds::{Kinds, OpKind};
use crate::remake::Sources;
use crate::rewrite::{facts, has_program_regions, is_manual, is_mark, is_terminator};
use crate::strategy::Served;
use crate::turns::{Turns, trips};
use rustc_hash::FxHashMap;
use shardwise_base::{EntityVec, Mesh, Sharding, entity};
use shardwise_ir::{Body, Func, Module, Op, OpView, Region, TensorType, Value};
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::shardy::in_shardings;
use shardwise_ops::{Linear, Opcode, Semantics, is_zeros};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

entity! {
    /// Values that have one layout: a value, or the region arguments and the result of a loop, branch or barrier at one
    /// position.
    pub(super) Group "group"
}

entity! {
    /// A place where values may be moved: an op, or an edge of the data flow.
    pub(super) Site "site"
}

entity! {
    /// Sites that have equal prices if their values have equal layouts.
    pub(super) Class "class"
}

pub(super) struct Sites {
    pub groups: EntityVec<Group, GroupData>,
    pub sites: EntityVec<Site, SiteData>,
    group_of: EntityVec<Value, Option<Group>>,
    classes: FxHashMap<ClassKey, Class>,
}

/// Everything that the price of a site depends on, besides the layouts of its values.
#[derive(PartialEq, Eq, Hash)]
enum ClassKey {
    Op { kind: OpKind, served: Served, runs: u64 },
    Edge { ty: TensorType, to: Option<Sharding>, runs: u64, is_zeros: bool },
}

pub(super) struct GroupData {
    pub values: Vec<Value>,
    /// True if the search must not change the layout, because the program states it or a result of the function has it.
    pub is_fixed: bool,
    /// True if an op without a rule makes the values: it makes them whole, and never a summand.
    pub is_whole: bool,
    /// True if the group is a copy of a value for its readers ([`with_copies`](super::copies::with_copies)).
    pub is_copy: bool,
    /// The sites that have values of the group.
    pub sites: Vec<Site>,
}

impl GroupData {
    /// Returns the group with an empty list of sites.
    pub fn without_sites(&self) -> GroupData {
        GroupData { values: self.values.clone(), sites: vec![], ..*self }
    }
}

pub(super) struct SiteData {
    pub kind: SiteKind,
    pub class: Class,
    /// How often the site runs, by an estimate where this is not known. An op whose result stays the same in a loop may
    /// count as running in front of it.
    pub runs: u64,
    /// The groups of an op's operands and results, or of the two ends of an edge; `None` for values without one. An
    /// edge to a layout has only its first end here.
    pub groups: SmallVec<[Option<Group>; 4]>,
    /// The values that the site may move: the operands of an op, or the value of an edge.
    pub sources: SmallVec<[Source; 3]>,
}

/// A value that a site may move.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub value: Value,
    /// How often the value is moved. This is how often the site runs, unless the site stands for several that read one
    /// value ([`Folded`](super::folded::Folded)).
    pub runs: u64,
}

#[derive(Clone)]
pub(super) enum SiteKind {
    /// An op that runs along the factors of a rule.
    Op { op: Op, kind: OpKind, served: Served },
    /// An edge of the data flow. The value is moved to the layout of the target. `is_zeros` states whether it is known
    /// to be zero everywhere.
    Edge { from: Value, to: Target, is_zeros: bool },
}

/// The end of an edge.
#[derive(Clone)]
pub(super) enum Target {
    Group(Group),
    /// A layout that the program states, or that an op without a rule needs.
    Layout(Sharding),
}

impl Sites {
    /// Returns the groups and sites of a function, and adds the kinds of its ops to `kinds`. Returns `None` if a value
    /// of a group has unreduced axes, because such values keep the layouts that the program has. `mesh` is the module's
    /// main mesh.
    pub fn of(module: &Module, func: &Func, mesh: &Arc<Mesh>, kinds: &mut Kinds) -> Option<Sites> {
        let body = &func.body;
        let group_of = EntityVec::filled(body.value_count(), None);
        let (groups, sites) = (EntityVec::new(), EntityVec::new());
        let sites = Sites { groups, sites, group_of, classes: FxHashMap::default() };
        let (live, turns) = (live(module, body), Turns::new(mesh));
        let zeros = EntityVec::filled(body.value_count(), false);
        let sources = Sources::in_any_layout(module, mesh);
        let mut build = Build { module, body, mesh, kinds, sites, live, zeros, sources, turns, runs: 1 };
        for &v in body.args() {
            build.fixed(&[v]);
        }
        let results = func.result_shardings.iter().map(|s| s.as_ref().map(Sharding::canonical)).collect::<Vec<_>>();
        build.region(body.entry(), &|_, at| results.get(at).cloned().flatten().map(Target::Layout));
        let mut sites = build.sites;
        // A result without a layout of its own has the layout of the value that is returned.
        let without = |(at, _): &(usize, &Value)| results.get(*at).is_none_or(Option::is_none);
        for group in body.results().iter().enumerate().filter(without).filter_map(|(_, &v)| sites.group_of[v]) {
            sites.groups[group].is_fixed = true;
        }
        let is_unreduced = |v: &Value| body.sharding(*v).is_some_and(|s| !s.unreduced.is_empty());
        if sites.groups.iter().flat_map(|g| &g.values).any(is_unreduced) {
            return None;
        }
        sites.connect();
        Some(sites)
    }

    /// Returns the group of a value. Returns `None` if it is no tensor, if it is defined by a dead op or in a region of
    /// one, or if it is defined inside a manual computation or a scalar function such as a reducer.
    pub fn group(&self, v: Value) -> Option<Group> {
        self.group_of[v]
    }

    /// Returns these groups and sites, in which group `to[g]` has the values of group `g`.
    pub fn regrouped(
        &self,
        groups: EntityVec<Group, GroupData>,
        sites: EntityVec<Site, SiteData>,
        to: &EntityVec<Group, Group>,
    ) -> Sites {
        let group_of = self.group_of.iter().map(|g| g.map(|g| to[g])).collect();
        let mut sites = Sites { groups, sites, group_of, classes: FxHashMap::default() };
        sites.connect();
        sites
    }

    fn connect(&mut self) {
        for site in self.sites.keys() {
            let mut groups: SmallVec<[Group; 4]> = self.sites[site].groups.iter().copied().flatten().collect();
            groups.sort_unstable();
            groups.dedup();
            groups.into_iter().for_each(|g| self.groups[g].sites.push(site));
        }
    }
}

struct Build<'a> {
    module: &'a Module,
    body: &'a Body,
    mesh: &'a Arc<Mesh>,
    kinds: &'a mut Kinds,
    sites: Sites,
    live: EntityVec<Op, bool>,
    /// For each value, whether it is known to be zero everywhere.
    zeros: EntityVec<Value, bool>,
    sources: Sources<'a>,
    turns: Turns,
    /// How often the current region runs, by an estimate where this is not known.
    runs: u64,
}

impl Build<'_> {
    /// Makes a group of the tensors among the values, and records it as their group. Makes no group and returns `None`
    /// if none of the values is a tensor.
    fn group(&mut self, values: &[Value], is_fixed: bool) -> Option<Group> {
        let tensors = values.iter().copied().filter(|&v| self.body.ty(v).as_tensor().is_some());
        let values: Vec<Value> = tensors.collect();
        if values.is_empty() {
            return None;
        }
        let data = GroupData { values: values.clone(), is_fixed, is_whole: false, is_copy: false, sites: vec![] };
        let group = self.sites.groups.push(data);
        values.into_iter().for_each(|v| self.sites.group_of[v] = Some(group));
        Some(group)
    }

    fn fixed(&mut self, values: &[Value]) {
        self.group(values, true);
    }

    fn free(&mut self, values: &[Value]) -> Option<Group> {
        self.group(values, false)
    }

    fn site(&mut self, kind: SiteKind, runs: u64) {
        let (key, groups, values) = match &kind {
            SiteKind::Op { op, kind, served } => {
                let view = self.module.view(self.body, *op);
                let groups = view.operands().iter().chain(view.results()).map(|&v| self.sites.group(v)).collect();
                (ClassKey::Op { kind: *kind, served: served.clone(), runs }, groups, view.operands())
            }
            SiteKind::Edge { from, to, is_zeros } => {
                let ty = self.body.ty(*from).as_tensor().expect("an edge moves a tensor").clone();
                let mut groups: SmallVec<[Option<Group>; 4]> = smallvec![self.sites.group(*from)];
                let to = match to {
                    Target::Group(group) => {
                        groups.push(Some(*group));
                        None
                    }
                    Target::Layout(layout) => Some(layout.clone()),
                };
                (ClassKey::Edge { ty, to, runs, is_zeros: *is_zeros }, groups, std::slice::from_ref(from))
            }
        };
        let next = Class::new(self.sites.classes.len());
        let class = *self.sites.classes.entry(key).or_insert(next);
        let sources = values.iter().map(|&value| Source { value, runs }).collect();
        self.sites.sites.push(SiteData { kind, class, runs, groups, sources });
    }

    fn edge(&mut self, from: Value, to: Option<Target>) {
        if let (Some(to), Some(_)) = (to, self.sites.group_of[from]) {
            self.site(SiteKind::Edge { from, to, is_zeros: self.zeros[from] }, self.runs);
        }
    }

    /// Adds the sites of the region's live ops, and an edge for each value that the region returns. `target` returns
    /// the end of this edge for the value and its position, or `None` if there is no edge.
    fn region(&mut self, region: Region, target: &dyn Fn(Value, usize) -> Option<Target>) {
        let (&last, ops) = self.body[region].ops.split_last().expect("a region ends in a terminator");
        for op in ops.iter().copied().filter(|&op| self.live[op]).collect::<Vec<_>>() {
            self.op(&self.module.view(self.body, op));
        }
        let view = self.module.view(self.body, last);
        debug_assert!(is_terminator(&view));
        for (at, &v) in view.operands().iter().enumerate() {
            self.edge(v, target(v, at));
        }
    }

    fn op(&mut self, view: &OpView<'_>) {
        if self.makes_zeros(view) {
            view.results().iter().for_each(|&v| self.zeros[v] = true);
        }
        if is_manual(view) {
            let inside = in_shardings(view.attrs()).iter().map(|s| Target::Layout(s.canonical())).collect::<Vec<_>>();
            view.operands().iter().zip(inside).for_each(|(&v, to)| self.edge(v, Some(to)));
            return self.each_fixed(view);
        }
        if is_mark(view) {
            match is_copy(view) {
                true => self.copies(view),
                false => self.each_fixed(view),
            }
            for (&from, &result) in unchanged_operands(view).iter().zip(view.results()) {
                let to = self.sites.group_of[result].map(Target::Group);
                self.edge(from, to);
            }
            return;
        }
        if has_program_regions(view) || Opcode::of_view(view) == Opcode::OptimizationBarrier {
            return self.data_flow(view);
        }
        let kind = self.kinds.of(view);
        match self.kinds.rule(kind) {
            Some(_) => {
                view.results().iter().for_each(|&v| _ = self.free(&[v]));
                let (served, turns) = self.turns.served_by_moves(view, |v| self.sources.contains(self.body, v));
                self.site(SiteKind::Op { op: view.op, kind, served }, (self.runs / turns).max(1));
            }
            None => {
                let whole = |v: Value| Some(Sharding::replicated(self.mesh, self.body.ty(v).as_tensor()?.rank()));
                let edges: Vec<_> = view.operands().iter().map(|&v| (v, whole(v).map(Target::Layout))).collect();
                edges.into_iter().for_each(|(v, to)| self.edge(v, to));
                // A part of a whole result is cut out for nothing.
                let groups: Vec<Group> = view.results().iter().filter_map(|&v| self.free(&[v])).collect();
                groups.into_iter().for_each(|g| self.sites.groups[g].is_whole = true);
            }
        }
    }

    fn makes_zeros(&self, view: &OpView<'_>) -> bool {
        if Opcode::of_view(view) == Opcode::Constant {
            return is_zeros(view);
        }
        let is_linear =
            || facts(view).linear(view) == Linear::Jointly && facts(view).semantics(view) == Semantics::Pure;
        view.operands().iter().all(|&v| self.zeros[v]) && view.regions().is_empty() && is_linear()
    }

    fn copies(&mut self, view: &OpView<'_>) {
        let groups: Vec<Group> = view.results().iter().filter_map(|&v| self.free(&[v])).collect();
        groups.into_iter().for_each(|g| self.sites.groups[g].is_copy = true);
    }

    fn each_fixed(&mut self, view: &OpView<'_>) {
        view.results().iter().for_each(|&v| self.fixed(&[v]));
    }

    /// Adds the groups and sites of a loop, a branch or a barrier, and those of the ops in its regions. The region
    /// arguments and the result at one position have one layout. The operands of a loop or barrier are moved to it, and
    /// so are the values that branches and loop bodies return. The value that a loop's condition returns has no edge.
    fn data_flow(&mut self, view: &OpView<'_>) {
        let is_loop = Opcode::of_view(view) == Opcode::While;
        let is_branch = matches!(Opcode::of_view(view), Opcode::Case | Opcode::If);
        let mut groups = vec![];
        for (at, &result) in view.results().iter().enumerate() {
            let args = view.regions().iter().filter_map(|&r| view.body[r].args.get(at).copied());
            let values: Vec<Value> = args.chain([result]).collect();
            groups.push(self.free(&values));
        }
        if !is_branch {
            for (&v, group) in view.operands().iter().zip(&groups) {
                self.edge(v, group.map(Target::Group));
            }
        }
        let before = self.runs;
        for (i, &region) in view.regions().iter().enumerate() {
            if is_loop {
                self.runs = before.saturating_mul(trips(view));
            }
            self.turns.enter(view, region);
            let is_condition = is_loop && i == 0;
            let target =
                |_: Value, at: usize| groups.get(at).copied().flatten().map(Target::Group).filter(|_| !is_condition);
            self.region(region, &target);
            self.turns.leave();
            self.runs = before;
        }
    }
}
