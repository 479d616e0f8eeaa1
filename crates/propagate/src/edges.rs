//! Data-flow edges, which connect the values at the boundary of a loop, a branch, a call or a manual computation.
//!
//! An edge is an op after its owner (`%r = edge %owner`). It takes over all uses of the owner and holds the sharding of
//! the owner and of all other targets. Its sources are the operands and returned values that flow into the owner.

use crate::draft::{Def, Draft, Edge, FrameId, NodeKind, OpId, Order, Use, ValueId};
use shardwise_base::{AxisRef, Sharding};
use shardwise_ir::{OpView, Value};
use shardwise_ops::shardy::{in_shardings, manual_axes};
use shardwise_ops::{DataFlow, DataFlowEdge, Opcode};
use shardwise_sharding::ManualEdge;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// Adds all edges that the program does not have as ops yet, except those of calls that remain calls. Edges of
/// arguments are at the start of their block, edges of results after their op.
pub(crate) fn add_edges(draft: &mut Draft<'_>) {
    for op in draft.walk(Order::Post) {
        add_edges_of(draft, op);
    }
}

fn add_edges_of(draft: &mut Draft<'_>, op: OpId) {
    let edges = edges_of(draft, op);
    // The edges are added in reverse, because each is inserted directly after its owner or at the start of the block.
    for (owner, edge) in edges.into_iter().rev() {
        let is_there = draft.uses(owner).any(|u| draft.opcode(u.op) == Some(Opcode::DataFlowEdgeOp));
        if !is_there {
            add_edge(draft, op, owner, edge);
        }
    }
}

pub(crate) fn add_call_edges(draft: &mut Draft<'_>) {
    for op in draft.walk(Order::Post) {
        let is_named = draft.opcode(op) == Some(Opcode::NamedComputation);
        if is_named || matches!(draft.op(op).kind, NodeKind::Call { .. }) {
            add_edges_of(draft, op);
        }
    }
}

/// Adds edges at the calls that remain calls: at the arguments of all functions except the main function, and at the
/// results of calls, where these are tensors.
pub(crate) fn add_func_edges(draft: &mut Draft<'_>) {
    let main = draft.main();
    let funcs: Vec<FrameId> = draft.roots.iter().copied().filter(|&r| main != Some(r)).collect();
    for func in funcs {
        let args = draft.block(draft.frame(func).block).args.clone();
        args.into_iter().rev().for_each(|v| add_func_edge(draft, func, v));
    }
    for op in draft.walk(Order::Post) {
        if draft.calls.contains_key(&op) {
            let (frame, results) = (draft.op(op).frame, draft.op(op).results.clone());
            results.into_iter().rev().for_each(|v| add_func_edge(draft, frame, v));
        }
    }
}

fn add_func_edge(draft: &mut Draft<'_>, frame: FrameId, owner: ValueId) {
    if draft.value(owner).ty.as_tensor().is_some() {
        let edge = Edge { sources: SmallVec::new(), targets: SmallVec::new(), manual: None };
        let sharding = draft.value(owner).sharding.clone();
        put_edge(draft, frame, NodeKind::FuncEdge(edge), owner, sharding);
    }
}

pub(crate) fn tie_func_edges(draft: &mut Draft<'_>) {
    let callers = draft.callers();
    for op in draft.walk(Order::Pre) {
        let found = match draft.op(op).kind {
            NodeKind::FuncEdge(_) => func_sources(draft, draft.op(op).operands[0], &callers),
            _ => continue,
        };
        if let NodeKind::FuncEdge(edge) = &mut draft.op_mut(op).kind {
            edge.sources = found;
        }
    }
}

/// Returns the sources of an edge: for an argument of a function, this operand of each call of the function; for a
/// result of a call, the operand of the callee's terminator. Returns no sources if the function is not called, or if
/// `owner` is another value.
fn func_sources(draft: &Draft<'_>, owner: ValueId, callers: &BTreeMap<FrameId, Vec<OpId>>) -> SmallVec<[Use; 2]> {
    match draft.value(owner).def {
        Def::Argument(block) => {
            let index = draft.block(block).args.iter().position(|&v| v == owner);
            let frame = draft.roots.iter().find(|&&r| draft.frame(r).block == block);
            let (Some(index), Some(frame)) = (index, frame) else { return SmallVec::new() };
            callers.get(frame).into_iter().flatten().map(|&op| Use { op, index }).collect()
        }
        Def::Result(call) => {
            let index = draft.op(call).results.iter().position(|&v| v == owner);
            let (Some(index), Some(&callee)) = (index, draft.calls.get(&call)) else { return SmallVec::new() };
            smallvec![Use { op: draft.terminator(draft.frame(callee).block), index }]
        }
    }
}

/// Makes the owners of the edges at calls use the shardings of their edges. An edge without a sharding gets an open one
/// if its owner has a sharding.
pub(crate) fn settle_func_edges(draft: &mut Draft<'_>) {
    for op in draft.walk(Order::Pre) {
        if let NodeKind::FuncEdge(_) = draft.op(op).kind {
            let (owner, result) = (draft.op(op).operands[0], draft.op(op).results[0]);
            let open = draft.value(owner).sharding.as_ref().map(|s| Sharding::open(&s.mesh, s.rank()));
            draft.value_mut(owner).edge = Some(result);
            if draft.value(result).sharding.is_none() {
                draft.value_mut(result).sharding = open;
            }
        }
    }
}

/// Turns the ops `sdy.data_flow_edge` and `sdy.func_data_flow_edge` of a draft as written into edges. A
/// `sdy.data_flow_edge` of a value that owns no edge remains an op.
pub(crate) fn adopt_edges(draft: &mut Draft<'_>) {
    for op in draft.walk(Order::Post) {
        for (owner, edge) in edges_of(draft, op) {
            let written = draft.uses(owner).find(|u| draft.opcode(u.op) == Some(Opcode::DataFlowEdgeOp));
            let Some(written) = written else { continue };
            let result = draft.op(written.op).results[0];
            for v in [owner].into_iter().chain(edge.targets.clone()) {
                draft.value_mut(v).edge = Some(result);
            }
            draft.op_mut(written.op).kind = NodeKind::Edge(edge);
        }
        if draft.opcode(op) == Some(Opcode::FuncDataFlowEdge) {
            let edge = Edge { sources: SmallVec::new(), targets: SmallVec::new(), manual: None };
            draft.op_mut(op).kind = NodeKind::FuncEdge(edge);
        }
    }
}

/// The manual axes of a manual computation, and the shardings of its operands.
pub(crate) struct Manual {
    pub axes: Vec<AxisRef>,
    pub in_shardings: Vec<Sharding>,
}

impl Manual {
    pub fn of(draft: &Draft<'_>, op: OpId) -> Option<Manual> {
        let view = draft.source(op).filter(|v| Opcode::of_view(v) == Opcode::ManualComputation)?;
        let (axes, given) = (manual_axes(&view), in_shardings(view.attrs()));
        let normalized = |s: &Sharding| s.without_unit_axes().with_rest_replicated(axes);
        let in_shardings = if draft.is_as_written { given.to_vec() } else { given.iter().map(normalized).collect() };
        Some(Manual { axes: axes.to_vec(), in_shardings })
    }

    fn edge(&self, outside: Sharding, is_argument: bool) -> ManualEdge {
        ManualEdge { manual_axes: self.axes.iter().map(|a| a.axis).collect(), outside, is_argument }
    }

    /// Returns the declared sharding of a result, or `None` if there is none. Unless the draft is as written, the
    /// manual axes that it does not mention are replicated in it.
    fn out_sharding(&self, draft: &Draft<'_>, v: ValueId) -> Option<Sharding> {
        let given = draft.value(v).sharding.as_ref();
        given.map(|s| if draft.is_as_written { s.clone() } else { s.with_rest_replicated(&self.axes) })
    }
}

fn edges_of(draft: &Draft<'_>, op: OpId) -> Vec<(ValueId, Edge)> {
    if let NodeKind::Call { .. } = draft.op(op).kind {
        return call_edges(draft, op);
    }
    let Some((view, facts)) = draft.facts(op) else { return vec![] };
    let DataFlow::Edges(edges) = facts.data_flow(&view) else { return vec![] };
    let manual = Manual::of(draft, op);
    edges.iter().map(|e| draft_edge(draft, op, &view, e, manual.as_ref())).collect()
}

fn call_edges(draft: &Draft<'_>, op: OpId) -> Vec<(ValueId, Edge)> {
    let block = draft.op(op).blocks[0];
    let simple = |op, index| Edge { sources: smallvec![Use { op, index }], targets: SmallVec::new(), manual: None };
    let arguments = draft.block(block).args.iter().enumerate().map(|(i, &v)| (v, simple(op, i)));
    let terminator = draft.terminator(block);
    let results = draft.op(op).results.iter().enumerate().map(|(i, &v)| (v, simple(terminator, i)));
    arguments.chain(results).filter(|(v, _)| draft.value(*v).ty.as_tensor().is_some()).collect()
}

fn draft_edge(
    draft: &Draft<'_>,
    op: OpId,
    view: &OpView<'_>,
    edge: &DataFlowEdge,
    manual: Option<&Manual>,
) -> (ValueId, Edge) {
    let (owner, index) = place_of(draft, op, view, edge.owner);
    let is_argument = matches!(draft.value(owner).def, Def::Argument(_));
    let outside = manual.and_then(|m| match is_argument {
        true => Some(m.edge(m.in_shardings[index].clone(), true)),
        false => Some(m.edge(m.out_sharding(draft, owner)?, false)),
    });
    let edge = Edge {
        sources: source_places(draft, op, view, &edge.sources, index),
        targets: edge.targets.iter().map(|&t| place_of(draft, op, view, t).0).collect(),
        manual: outside.map(Box::new),
    };
    (owner, edge)
}

fn place_of(draft: &Draft<'_>, op: OpId, view: &OpView<'_>, v: Value) -> (ValueId, usize) {
    if let Some(i) = view.results().iter().position(|&r| r == v) {
        return (draft.op(op).results[i], i);
    }
    for (r, &region) in view.regions().iter().enumerate() {
        if let Some(i) = view.body[region].args.iter().position(|&a| a == v) {
            return (draft.block(draft.op(op).blocks[r]).args[i], i);
        }
    }
    unreachable!("an edge's owner and targets are results of the op and arguments of its regions")
}

/// Returns the operands that are the sources of an edge: operand `index` of the op and of the terminators of its
/// regions, if its value is one of `sources`.
fn source_places(
    draft: &Draft<'_>,
    op: OpId,
    view: &OpView<'_>,
    sources: &[Value],
    index: usize,
) -> SmallVec<[Use; 2]> {
    let own = view.operands().get(index).map(|&v| (v, Use { op, index }));
    let given = view.regions().iter().zip(&draft.op(op).blocks).filter_map(|(&r, &block)| {
        let v = *view.body.region_results(r).get(index)?;
        Some((v, Use { op: draft.terminator(block), index }))
    });
    let mut places = own.into_iter().chain(given);
    sources.iter().filter_map(|s| places.find(|(v, _)| v == s).map(|(_, at)| at)).collect()
}

fn add_edge(draft: &mut Draft<'_>, op: OpId, owner: ValueId, edge: Edge) {
    let sharding = match &edge.manual {
        Some(m) if m.is_argument => Some(m.without_manual(&m.outside)),
        Some(m) => Some(m.outside.clone()),
        None => declared(draft, op, owner),
    };
    let targets = edge.targets.clone();
    let result = put_edge(draft, draft.op(op).frame, NodeKind::Edge(edge), owner, sharding);
    if keeps_order(draft, op, owner) {
        draft.reverse_uses(result);
    }
    for v in [owner].into_iter().chain(targets) {
        draft.value_mut(v).edge = Some(result);
    }
}

/// Adds an edge after its owner, or at the start of the block if the owner is an argument. The edge takes over the uses
/// of the owner. Returns the edge's result, which has `sharding`, or none if that is on a single device
/// (`Mesh::is_maximal`) and the draft is not as written.
fn put_edge(
    draft: &mut Draft<'_>,
    frame: FrameId,
    kind: NodeKind,
    owner: ValueId,
    sharding: Option<Sharding>,
) -> ValueId {
    // Shardings on a single device do not propagate.
    let sharding = sharding.filter(|s| draft.is_as_written || !s.mesh.is_maximal());
    let (ty, loc) = (draft.value(owner).ty, draft.value(owner).loc);
    let parent = match draft.value(owner).def {
        Def::Argument(block) => block,
        Def::Result(def) => draft.op(def).parent,
    };
    let id = draft.add_op(frame, kind, &[owner], parent);
    let result = draft.add_value(ty, loc, Def::Result(id), sharding);
    draft.op_mut(id).results.push(result);
    draft.place_after_value(id, owner);
    draft.replace_uses(owner, result, |_, u| u.op != id);
    result
}

/// Returns the sharding that the program declares for the owner: for an argument of an op with `in_shardings`, the one
/// among these. Returns `None` if it declares none.
fn declared(draft: &Draft<'_>, op: OpId, owner: ValueId) -> Option<Sharding> {
    let given = draft.value(owner).sharding.clone();
    let (Def::Argument(block), Some(view)) = (draft.value(owner).def, draft.source(op)) else { return given };
    let index = draft.block(block).args.iter().position(|&a| a == owner)?;
    match in_shardings(view.attrs()) {
        [] => given,
        list => list.get(index).map(|s| if draft.is_as_written { s.clone() } else { s.without_unit_axes() }),
    }
}

/// Returns true if the uses that were moved to the edge keep their order. Moving them reverses it, unless this is
/// undone: the results of a call are moved twice (to the named computation that it becomes, and to the edge), and a
/// clone is made with its edges.
fn keeps_order(draft: &Draft<'_>, op: OpId, owner: ValueId) -> bool {
    let is_result = matches!(draft.value(owner).def, Def::Result(_));
    match draft.op(op).kind {
        NodeKind::Call { .. } => is_result,
        _ => draft.frame_of(op).is_clone,
    }
}
