//! Converts the draft to a propagation problem on tensors and nodes, in the order in which MLIR's driver works.

use crate::draft::{Def, Draft, Edge, FrameId, NodeKind, OpId, Order, Use, ValueId};
use crate::rules;
use rustc_hash::FxHashSet;
use shardwise_base::{EntityVec, budget};
use shardwise_ir::OpView;
use shardwise_ops::shardy::barrier_direction;
use shardwise_ops::{Opcode, PropagationClass};
use shardwise_sharding::{Node, NodeId, OpClass, Problem, Rule, TensorId, Wakes};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builds the problem. Tensor `i` is value `i` of the draft, and the results of the functions follow.
pub(crate) fn build(draft: &Draft<'_>, is_conservative: bool) -> Problem {
    let problem = tensors(draft);
    let node_of = EntityVec::filled(draft.ops.len(), None);
    let (callers, pointwise) = (draft.callers(), rules::Pointwise::default());
    let mut graph = Graph { draft, problem, is_conservative, node_of, callers, pointwise };
    let ops = draft.walk(Order::Pre);
    for &op in ops.iter().filter(|&&op| !draft.op(op).is_dead) {
        budget::poll();
        graph.add(op);
    }
    for v in draft.values.keys() {
        graph.problem.tensors[TensorId::new(v.index())].wakes = graph.wakes(v);
    }
    graph.add_results();
    graph.add_groups();
    graph.problem
}

fn tensors(draft: &Draft<'_>) -> Problem {
    let mut problem = Problem::with_capacity(draft.values.len(), draft.ops.len());
    for value in draft.values.iter() {
        problem.add_tensor(value.sharding.clone());
    }
    problem
}

pub(crate) fn unsolved(draft: &Draft<'_>) -> Problem {
    let mut problem = tensors(draft);
    for &root in &draft.roots {
        for declared in &draft.frame(root).func.result_shardings {
            problem.add_tensor(declared.clone());
        }
    }
    problem
}

pub(crate) fn result_tensors(draft: &Draft<'_>) -> Vec<Vec<TensorId>> {
    let mut next = draft.values.len();
    let tensors = |&root: &FrameId| {
        let first = next;
        next += draft.frame(root).func.result_shardings.len();
        (first..next).map(TensorId::new).collect()
    };
    draft.roots.iter().map(tensors).collect()
}

/// The uses that are still to be followed from a changed value to the nodes that it wakes, the next one last.
type Open = SmallVec<[Follow; 8]>;

enum Follow {
    Use(Use),
    /// All uses of a value.
    Uses(ValueId),
}

struct Graph<'d, 'm> {
    draft: &'d Draft<'m>,
    problem: Problem,
    is_conservative: bool,
    node_of: EntityVec<OpId, Option<NodeId>>,
    callers: BTreeMap<FrameId, Vec<OpId>>,
    pointwise: rules::Pointwise,
}

impl Graph<'_, '_> {
    fn add(&mut self, op: OpId) {
        let node = match &self.draft.op(op).kind {
            NodeKind::Edge(edge) => Some(self.edge_node(op, edge)),
            // No call calls the function.
            NodeKind::FuncEdge(edge) if edge.sources.is_empty() => None,
            NodeKind::FuncEdge(edge) => Some(self.edge_node(op, edge)),
            NodeKind::Call { .. } => None,
            NodeKind::Constraint(_) => Some(self.constraint_node(op)),
            NodeKind::Source(_) => self.source_node(op),
        };
        // Scalars cannot be split, so a node without other tensors is left out.
        if let Some(node) = node.filter(|n| n.rule.mappings().any(|m| m.rank() > 0)) {
            self.node_of[op] = Some(self.problem.add_node(node));
        }
    }

    fn tensor(&self, v: ValueId) -> TensorId {
        TensorId::new(self.draft.holder(v).index())
    }

    fn identity(&mut self, operand_count: usize, v: ValueId) -> Arc<Rule> {
        self.pointwise.rule(operand_count, self.draft.value(v).ty.shape())
    }

    fn edge_node(&mut self, op: OpId, edge: &Edge) -> Node {
        let result = self.draft.op(op).results[0];
        let sources = edge.sources.iter().map(|u| self.tensor(self.draft.op(u.op).operands[u.index]));
        let sources: Vec<TensorId> = sources.collect();
        let mut node = Node::new(self.identity(sources.len(), result), sources, [TensorId::new(result.index())]);
        node.class = OpClass::PassThrough;
        node.manual = edge.manual.as_deref().cloned();
        node.splits_axes = true;
        node
    }

    fn constraint_node(&mut self, op: OpId) -> Node {
        let (input, result) = (self.draft.op(op).operands[0], self.draft.op(op).results[0]);
        let mut node = Node::new(self.identity(1, result), [self.tensor(input)], [self.tensor(result)]);
        node.class = OpClass::PassThrough;
        node.is_elementwise = true;
        node.has_shared_operand = !self.draft.is_scalar(input) && !self.draft.has_one_use(input);
        node
    }

    fn rule(&mut self, view: &OpView<'_>) -> Option<Arc<Rule>> {
        let pointwise = if rules::has_written_rule(view) { None } else { self.pointwise.rule_of(view) };
        pointwise.or_else(|| rules::rule_of(view, self.is_conservative).map(Arc::new))
    }

    fn source_node(&mut self, op: OpId) -> Option<Node> {
        let (view, facts) = self.draft.facts(op)?;
        if Opcode::of_view(&view) == Opcode::Reshard {
            return None;
        }
        let rule = self.rule(&view)?;
        let (operands, results) = (&self.draft.op(op).operands, &self.draft.op(op).results);
        if rule.operands.len() != operands.len() || rule.results.len() != results.len() {
            return None;
        }
        let tensors = |list: &[ValueId]| list.iter().map(|&v| self.tensor(v)).collect::<SmallVec<[_; 4]>>();
        let mut node = Node::new(rule, tensors(operands), tensors(results));
        let class = facts.propagation_class(&view);
        node.class = op_class(class);
        node.is_elementwise = class == PropagationClass::Elementwise;
        node.has_shared_operand = operands.iter().any(|&v| !self.draft.is_scalar(v) && !self.draft.has_one_use(v));
        node.fixed_direction = barrier_direction(&view);
        node.splits_axes = node.fixed_direction.is_some();
        Some(node)
    }

    /// Returns the nodes to visit when `v` changes, or none if another value holds the sharding of `v`. See
    /// [`shardwise_sharding::Tensor::wakes`].
    fn wakes(&self, v: ValueId) -> Wakes {
        let mut wakes = Wakes::new();
        if self.draft.holder(v) != v {
            return wakes;
        }
        if let Def::Result(op) = self.draft.value(v).def {
            if let NodeKind::Edge(edge) = &self.draft.op(op).kind {
                for &target in &edge.targets {
                    self.wake_users(target, &mut wakes);
                }
            }
            wakes.extend(self.node_of[op]);
        }
        self.wake_users(v, &mut wakes);
        wakes
    }

    /// Adds the nodes to visit when `v` changes because they use it, also through calls and terminators. Edges at the
    /// arguments of manual computations, named computations and inlined calls are left out: as in Shardy, they notice
    /// their operands only in the next round.
    fn wake_users(&self, v: ValueId, wakes: &mut Wakes) {
        let (mut open, mut followed) = (SmallVec::new(), FxHashSet::default());
        self.follow_uses(v, &mut open);
        while let Some(next) = open.pop() {
            match next {
                Follow::Uses(v) if followed.insert(v) => self.follow_uses(v, &mut open),
                Follow::Uses(_) => {}
                Follow::Use(at) => self.wake_user(at, wakes, &mut open),
            }
        }
    }

    /// Adds the uses of `v` to `open`, the newest one last.
    fn follow_uses(&self, v: ValueId, open: &mut Open) {
        let first = open.len();
        open.extend(self.draft.uses(v).map(Follow::Use));
        open[first..].reverse();
    }

    fn wake_user(&self, at: Use, wakes: &mut Wakes, open: &mut Open) {
        if let Some(&callee) = self.draft.calls.get(&at.op) {
            open.push(Follow::Uses(self.draft.block(self.draft.frame(callee).block).args[at.index]));
        } else if self.draft.is_terminator(at.op) {
            self.wake_owners(at, wakes, open);
        } else if !self.has_argument_edges(at.op) {
            wakes.extend(self.edge_of_result(at.op, at.index).or(self.node_of[at.op]));
        }
    }

    fn wake_owners(&self, at: Use, wakes: &mut Wakes, open: &mut Open) {
        let node = self.draft.op(at.op);
        if let Some(parent) = self.draft.block(node.parent).parent {
            return wakes.extend(self.edge_of_result(parent, at.index).or(self.node_of[parent]));
        }
        let callers = self.callers.get(&node.frame).map_or(&[][..], |calls| calls);
        open.extend(callers.iter().rev().map(|&call| Follow::Uses(self.draft.op(call).results[at.index])));
    }

    fn has_argument_edges(&self, op: OpId) -> bool {
        let node = self.draft.op(op);
        matches!(node.kind, NodeKind::Call { .. })
            || matches!(self.draft.opcode(op), Some(Opcode::ManualComputation | Opcode::NamedComputation))
    }

    fn edge_of_result(&self, op: OpId, index: usize) -> Option<NodeId> {
        let result = *self.draft.op(op).results.get(index)?;
        let edge = self.draft.value(result).edge?;
        self.node_of[self.draft.def_op(edge)?]
    }

    fn add_results(&mut self) {
        let main = self.draft.main();
        for &root in &self.draft.roots {
            let (block, func) = (self.draft.frame(root).block, self.draft.frame(root).func);
            for (i, declared) in func.result_shardings.iter().enumerate() {
                let is_as_written = self.draft.is_as_written;
                let declared = declared.as_ref().map(|s| if is_as_written { s.clone() } else { s.without_unit_axes() });
                let result = self.problem.add_tensor(declared);
                let v = self.draft.op(self.draft.terminator(block)).operands[i];
                if main == Some(root) && self.draft.value(v).ty.as_tensor().is_some() {
                    let mut node = Node::new(self.identity(1, v), [self.tensor(v)], [result]);
                    node.splits_axes = true;
                    self.problem.results.push(node);
                }
            }
        }
    }

    fn add_groups(&mut self) {
        for members in &self.draft.groups {
            self.problem.add_group(members.iter().map(|v| TensorId::new(v.index())).collect());
        }
    }
}

fn op_class(class: PropagationClass) -> OpClass {
    match class {
        PropagationClass::Elementwise | PropagationClass::PassThrough => OpClass::PassThrough,
        PropagationClass::DynamicSlice => OpClass::Slice,
        PropagationClass::Broadcast => OpClass::Broadcast,
        PropagationClass::Other => OpClass::Other,
    }
}
