//! Solves a propagation problem: the order in which nodes are visited until nothing changes.
//!
//! A *round* is a worklist over all nodes, which is in program order at first. A change of a tensor's sharding puts the
//! nodes that it wakes on top. Op-priority propagation has five rounds, each with more ops and directions than the one
//! before. User priorities repeat the five rounds for each priority. A node is skipped if its last visit changed
//! nothing and its tensors have not changed since, which does not affect the result.

use crate::factors::{Context, Strategy, Updated, propagate};
use crate::problem::{Node, NodeId, Origin, Problem, TensorId};
use crate::project::{IfMissing, Projection};
use crate::rule::Rule;
use crate::schedule::{self, Directions};
use crate::user_priority;
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding, budget};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How to propagate. The default is Shardy's default.
#[derive(Clone, Debug)]
pub struct Options {
    /// The strategies. In every round, each runs until nothing changes, in this order.
    pub strategies: Vec<Strategy>,
    /// True if there are five rounds, each of which adds to the ones before: pass-through ops whose operands have one
    /// use; pass-through ops; pass-through factors of all ops; all factors; everything. The first two rounds add slices
    /// forward only, and the next two add broadcasts backward only. If false, there is one round with everything.
    pub op_priorities: bool,
    /// True if dimensions of priority `p1`, `p2`, … take part only after those of lower number are done.
    pub user_priorities: bool,
    /// True if no sub-axes propagate, except through nodes with [`Node::splits_axes`], and except where the aggressive
    /// strategy cuts the new axes of an elementwise op's operand to those of a result.
    pub is_conservative: bool,
    /// True if [`Problem::origins`] is filled in.
    pub record_origins: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strategies: vec![Strategy::Aggressive],
            op_priorities: true,
            user_priorities: true,
            is_conservative: false,
            record_origins: false,
        }
    }
}

/// Counts of the work done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// How often a node was taken from the worklist.
    pub visits: usize,
    /// How often a node was visited and not skipped.
    pub propagations: usize,
    /// How often the sharding of a tensor was set, also to an equal one for the other tensors of a group.
    pub updates: usize,
}

/// Propagates shardings through the whole problem until nothing changes. Sets the shardings of its tensors, and returns
/// counts of the work done.
pub fn solve(problem: &mut Problem, options: &Options) -> Stats {
    sync_groups(problem);
    let mut solver = Solver::new(problem, options);
    if options.user_priorities {
        let later = user_priority::start(&mut solver.problem.tensors);
        solver.run_op_priorities();
        for priority in later {
            for tensor in user_priority::release(&mut solver.problem.tensors, &priority) {
                solver.touch(tensor);
            }
            solver.run_op_priorities();
        }
    } else {
        solver.run_op_priorities();
    }
    solver.stats
}

/// Sets the members of each group to the first sharding of a member that is more than open dimensions without axes.
/// Does nothing for a group without one. If several members have different shardings, the caller should have inserted
/// constraints before.
fn sync_groups(problem: &mut Problem) {
    for members in &problem.groups {
        let is_trivial = |s: &Sharding| s.replicated.is_empty() && s.unreduced.is_empty() && all_open(s);
        let mut known = members.iter().filter_map(|&t| problem.tensors[t].sharding.as_ref());
        if let Some(sharding) = known.find(|s| !is_trivial(s)).cloned() {
            members.iter().for_each(|&t| problem.tensors[t].sharding = Some(sharding.clone()));
        }
    }
}

fn all_open(sharding: &Sharding) -> bool {
    sharding.dims.iter().all(|d| d.axes.is_empty() && d.is_open)
}

/// A node that changes shardings: one of [`Problem::nodes`], or the one at this index of [`Problem::results`].
#[derive(Clone, Copy)]
enum Changer {
    Node(NodeId),
    Result(usize),
}

struct Solver<'a> {
    problem: &'a mut Problem,
    options: &'a Options,
    worklist: Vec<NodeId>,
    is_listed: EntityVec<NodeId, bool>,
    /// The number of changes so far.
    clock: u32,
    /// For each tensor, the value of the clock at its last change.
    changed: EntityVec<TensorId, u32>,
    /// For each node, the value of the clock when a visit last changed nothing, and the strategy and directions of that
    /// visit.
    quiet: EntityVec<NodeId, Option<(u32, Strategy, Directions)>>,
    known: KnownChanges,
    stats: Stats,
}

impl<'a> Solver<'a> {
    fn new(problem: &'a mut Problem, options: &'a Options) -> Solver<'a> {
        let (node_count, tensor_count) = (problem.nodes.len(), problem.tensors.len());
        Solver {
            problem,
            options,
            worklist: Vec::with_capacity(node_count),
            is_listed: EntityVec::filled(node_count, false),
            clock: 0,
            changed: EntityVec::filled(tensor_count, 0),
            quiet: EntityVec::filled(node_count, None),
            known: KnownChanges::default(),
            stats: Stats::default(),
        }
    }

    fn run_op_priorities(&mut self) {
        let first = if self.options.op_priorities { 0 } else { schedule::LAST_ROUND };
        for round in first..=schedule::LAST_ROUND {
            for &strategy in &self.options.strategies {
                self.run_round(round, strategy);
            }
        }
    }

    fn run_round(&mut self, round: usize, strategy: Strategy) {
        self.push_results(strategy);
        self.worklist.extend(self.problem.nodes.keys().rev());
        self.is_listed.iter_mut().for_each(|is_listed| *is_listed = true);
        while let Some(node) = self.worklist.pop() {
            budget::poll();
            self.is_listed[node] = false;
            self.stats.visits += 1;
            self.visit(node, round, strategy);
        }
        self.push_results(strategy);
    }

    /// Propagates between the main function's results and the values that it returns. The worklist is empty at this
    /// time. The group of a returned value gets what the value gets, and not what the result gets, whose dimensions may
    /// be open where those of the value are closed.
    fn push_results(&mut self, strategy: Strategy) {
        for i in 0..self.problem.results.len() {
            let node = &self.problem.results[i];
            let value = node.operands[0];
            let asked = Asked { node, directions: Directions::ALL, strategy, options: self.options };
            for (tensor, sharding) in self.known.changes(&asked, self.problem) {
                self.record_origins(Changer::Result(i), tensor, &sharding);
                self.set(tensor, sharding.clone());
                if tensor == value {
                    self.set_group(None, value, &sharding);
                }
            }
        }
    }

    fn visit(&mut self, id: NodeId, round: usize, strategy: Strategy) {
        let node = &self.problem.nodes[id];
        let directions = schedule::directions(node, round);
        if directions.is_none() || self.is_quiet(id, node, strategy, directions) {
            return;
        }
        self.stats.propagations += 1;
        let asked = Asked { node, directions, strategy, options: self.options };
        let changes = self.known.changes(&asked, self.problem);
        if changes.is_empty() {
            self.quiet[id] = Some((self.clock, strategy, directions));
        }
        for (tensor, sharding) in changes {
            self.record_origins(Changer::Node(id), tensor, &sharding);
            self.update(id, tensor, sharding);
        }
    }

    fn is_quiet(&self, id: NodeId, node: &Node, strategy: Strategy, directions: Directions) -> bool {
        match self.quiet[id] {
            Some((clock, s, d)) => s == strategy && d == directions && node.tensors().all(|t| self.changed[t] <= clock),
            None => false,
        }
    }

    fn update(&mut self, by: NodeId, tensor: TensorId, sharding: Sharding) {
        self.set(tensor, sharding.clone());
        self.wake(by, tensor);
        self.set_group(Some(by), tensor, &sharding);
    }

    /// Sets the other members of the tensor's group, if it has one, to `sharding`. Wakes the nodes of these members
    /// except `by`. If `by` is `None`, wakes no nodes.
    fn set_group(&mut self, by: Option<NodeId>, tensor: TensorId, sharding: &Sharding) {
        let Some(group) = self.problem.tensors[tensor].group else { return };
        for i in 0..self.problem.groups[group as usize].len() {
            let member = self.problem.groups[group as usize][i];
            if member != tensor {
                self.set(member, sharding.clone());
                if let Some(by) = by {
                    self.wake(by, member);
                }
            }
        }
    }

    fn set(&mut self, tensor: TensorId, sharding: Sharding) {
        self.problem.tensors[tensor].sharding = Some(sharding);
        self.stats.updates += 1;
        self.touch(tensor);
    }

    fn touch(&mut self, tensor: TensorId) {
        self.clock += 1;
        self.changed[tensor] = self.clock;
    }

    fn wake(&mut self, by: NodeId, tensor: TensorId) {
        for &node in &self.problem.tensors[tensor].wakes {
            if node != by && !std::mem::replace(&mut self.is_listed[node], true) {
                self.worklist.push(node);
            }
        }
    }

    /// Records, for the axes of `new` of which `tensor` has no part yet, the first of the other tensors of the node
    /// `by` that has a part of them. Does nothing unless the options ask for origins.
    fn record_origins(&mut self, by: Changer, tensor: TensorId, new: &Sharding) {
        if !self.options.record_origins {
            return;
        }
        let has = |t: TensorId, axis: AxisRef| {
            self.problem.sharding(t).is_some_and(|s| s.split_axes().any(|a| a.overlaps(axis)))
        };
        let (node, id) = match by {
            Changer::Node(id) => (&self.problem.nodes[id], Some(id)),
            Changer::Result(i) => (&self.problem.results[i], None),
        };
        let fresh = new.split_axes().filter(|&axis| !has(tensor, axis));
        let origins: Vec<Origin> = fresh
            .filter_map(|axis| {
                let from = node.tensors().find(|&t| t != tensor && has(t, axis))?;
                Some(Origin { tensor, axis, node: id, from })
            })
            .collect();
        self.problem.origins.extend(origins);
    }
}

/// The shardings of a node's tensors as the node sees them: operands, then results.
type Shardings<'a> = SmallVec<[Option<Cow<'a, Sharding>>; 4]>;
type Changes = SmallVec<[(TensorId, Sharding); 2]>;

/// A node, and how it propagates in a visit.
struct Asked<'a> {
    node: &'a Node,
    directions: Directions,
    strategy: Strategy,
    options: &'a Options,
}

/// The changes that nodes make, by everything that they depend on. Many nodes of a program have the same key.
#[derive(Default)]
struct KnownChanges(FxHashMap<NodeKey, NodeChanges>);

/// The updated tensors of the node, by index (operands, then results), and their new shardings.
type NodeChanges = SmallVec<[(usize, Sharding); 2]>;

/// Everything that the changes of a node depend on, unless it has a manual edge.
#[derive(PartialEq, Eq)]
struct NodeKey {
    rule: Arc<Rule>,
    shardings: SmallVec<[Option<Sharding>; 4]>,
    directions: Directions,
    strategy: Strategy,
    is_elementwise: bool,
    is_conservative: bool,
}

impl Hash for NodeKey {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.rule.factors.iter().for_each(|f| f.size.hash(h));
        let dims = self.shardings.iter().flatten().flat_map(|s| &s.dims);
        dims.for_each(|d| {
            d.is_open.hash(h);
            d.axes.iter().for_each(|a| (a.axis, a.pre_size()).hash(h));
        });
    }
}

impl KnownChanges {
    fn changes(&mut self, asked: &Asked<'_>, problem: &Problem) -> Changes {
        let node = asked.node;
        let seen = seen_by(node, problem);
        let is_split = seen.iter().flatten().any(|s| s.dims.iter().any(|d| !d.axes.is_empty()));
        let Some(mesh) = common_mesh(&seen).filter(|_| is_split) else { return Changes::new() };
        if node.manual.is_some() {
            return on_tensors(node, &asked.answer(&seen, mesh));
        }
        let key = NodeKey {
            rule: node.rule.clone(),
            shardings: seen.iter().map(|s| s.as_deref().cloned()).collect(),
            directions: asked.directions,
            strategy: asked.strategy,
            is_elementwise: node.is_elementwise,
            is_conservative: asked.is_conservative(),
        };
        on_tensors(node, self.0.entry(key).or_insert_with(|| asked.answer(&seen, mesh)))
    }
}

fn on_tensors(node: &Node, answer: &NodeChanges) -> Changes {
    answer.iter().map(|(i, sharding)| (node.tensor(*i), sharding.clone())).collect()
}

fn seen_by<'a>(node: &Node, problem: &'a Problem) -> Shardings<'a> {
    let mut shardings: Shardings<'_> = node.tensors().map(|t| problem.sharding(t).map(Cow::Borrowed)).collect();
    if let (Some(edge), Some(Some(target))) = (&node.manual, shardings.last_mut()) {
        *target = Cow::Owned(edge.to_sources(target));
    }
    shardings
}

impl Asked<'_> {
    fn is_conservative(&self) -> bool {
        self.options.is_conservative && !self.node.splits_axes
    }

    fn answer(&self, seen: &Shardings<'_>, mesh: &Arc<Mesh>) -> NodeChanges {
        let rule = &*self.node.rule;
        let views = seen.iter().map(|s| s.as_deref());
        let mut projection = Projection::new(rule, mesh, views, IfMissing::Open);
        let (is_elementwise, is_conservative) = (self.node.is_elementwise, self.is_conservative());
        let cx = Context { rule, mesh, is_elementwise, is_conservative };
        let updated = propagate(&mut projection, self.strategy, cx, |f| self.directions.of(rule.kind(f)));
        changes(self.node, seen, &projection, &updated, mesh)
    }
}

/// Returns the updated tensors whose new shardings differ from the old ones. A tensor that had none is left out if the
/// new one has no axes. A part of an update may be lost in the conversion to dimensions.
fn changes(node: &Node, old: &Shardings<'_>, new: &Projection, updated: &Updated, mesh: &Arc<Mesh>) -> NodeChanges {
    let mut changes = NodeChanges::new();
    for (i, old_sharding) in old.iter().enumerate().filter(|(i, _)| updated[*i]) {
        let sharding = new.to_sharding(i, &node.rule, mesh);
        let is_same = match old_sharding {
            Some(old) => **old == sharding,
            None => sharding.is_replicated() && sharding.replicated.is_empty(),
        };
        if !is_same {
            let is_target = i == node.operands.len();
            let kept = match &node.manual {
                Some(edge) if is_target => edge.from_sources(&sharding),
                _ => sharding,
            };
            // Equal shardings share one copy.
            let known = old.iter().flatten().find(|s| ***s == kept);
            changes.push((i, known.map_or(kept, |s| (**s).clone())));
        }
    }
    changes
}

/// Returns the mesh that all shardings have. An empty mesh matches any mesh. Returns `None` if there are no shardings,
/// if there are two different meshes, or if the mesh is a single device, so that nothing propagates.
fn common_mesh<'a>(shardings: &'a Shardings<'_>) -> Option<&'a Arc<Mesh>> {
    let mut common: Option<&Arc<Mesh>> = None;
    for sharding in shardings.iter().flatten() {
        let mesh = &sharding.mesh;
        match common {
            Some(c) if !is_placeholder(c) => {
                if !Arc::ptr_eq(c, mesh) && !is_placeholder(mesh) && !c.same_devices(mesh) {
                    return None;
                }
            }
            _ => common = Some(mesh),
        }
    }
    common.filter(|m| !m.is_maximal())
}

fn is_placeholder(mesh: &Mesh) -> bool {
    mesh.axes.is_empty() && mesh.device_ids.is_none()
}
