//! The draft as a function again, with the shardings that propagation found.
//!
//! Edges are gone: owners and targets carry the edge's sharding. Calls are gone too: their bodies stand in their place.
//! And so are the ops that nobody needs.

use super::draft::{BlockId, Draft, ENTRY, FrameId, Kind, MAIN, OpId, ValueId};
use super::graph::result_tensor;
use shardwise_base::{Loc, Sharding};
use shardwise_ir::{Attr, Attrs, Body, Func, Op, OpData, Region, Value, ValueData};
use shardwise_ops::Opcode;
use shardwise_sharding::{Problem, TensorId};

/// What becomes of the edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edges {
    /// Owners and targets carry the edge's sharding.
    Sink,
    /// Each is an op `sdy.data_flow_edge`.
    Keep,
}

/// The main function with a sharding on every tensor that has one.
pub(super) fn export(draft: &Draft<'_>, problem: &Problem, edges: Edges) -> Func {
    let source = draft.frames[MAIN.index()].func;
    let mut func = source.without_body();
    let mut export = Export { draft, problem, edges, body: Body::new(), names: vec![None; draft.values.len()] };
    let entry = export.body.entry();
    export.args(ENTRY, entry);
    export.ops(ENTRY, entry);
    func.body = export.body;
    for (i, sharding) in func.result_shardings.iter_mut().enumerate() {
        *sharding = problem.sharding(result_tensor(draft, i)).cloned();
    }
    func
}

struct Export<'d, 'm> {
    draft: &'d Draft<'m>,
    problem: &'d Problem,
    edges: Edges,
    body: Body,
    names: Vec<Option<Value>>,
}

impl<'d> Export<'d, '_> {
    fn sharding(&self, v: ValueId) -> Option<&Sharding> {
        let holder = if self.edges == Edges::Keep { v } else { self.draft.holder(v) };
        self.problem.sharding(TensorId::new(holder.index()))
    }

    fn get(&self, v: ValueId) -> Value {
        self.names[v.index()].expect("defined before it is used")
    }

    fn args(&mut self, block: BlockId, region: Region) {
        for &v in &self.draft.block(block).args {
            let (ty, loc) = (self.draft.value(v).ty.clone(), self.draft.value(v).loc.clone());
            let new = self.body.add_arg(region, ty, loc);
            self.carry(v, new, MAIN);
        }
    }

    /// Gives the new value what is known of the old one.
    fn carry(&mut self, v: ValueId, new: Value, frame: FrameId) {
        let sharding = self.sharding(v).cloned();
        let loc = self.draft.locate(frame, self.draft.value(v).loc);
        let data: &mut ValueData = self.body.value_mut(new);
        data.sharding = sharding;
        data.loc = loc;
        self.names[v.index()] = Some(new);
    }

    fn ops(&mut self, block: BlockId, region: Region) {
        self.live_ops(&self.draft.block(block).ops, region);
    }

    fn live_ops(&mut self, ops: &[OpId], region: Region) {
        for &op in ops.iter().filter(|&&op| !self.draft.op(op).is_dead) {
            self.op(op, region);
        }
    }

    fn op(&mut self, op: OpId, region: Region) {
        match &self.draft.op(op).kind {
            Kind::Edge(_) if self.edges == Edges::Keep => self.edge(op, region),
            Kind::Edge(_) => {
                let (owner, result) = (self.draft.op(op).operands[0], self.draft.op(op).results[0]);
                self.names[result.index()] = self.names[owner.index()];
            }
            Kind::Call { .. } => self.call(op, region),
            Kind::Constraint(source) => self.constraint(op, *source, region),
            Kind::Source(source) => self.source(op, *source, region),
        }
    }

    fn edge(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let (owner, result) = (node.operands[0], node.results[0]);
        let (ty, loc) = (self.draft.value(owner).ty.clone(), self.draft.value(owner).loc.clone());
        let code = Opcode::DataFlowEdgeOp.into();
        let new = self.body.add_op(region, code, [self.get(owner)], Attrs::new(), [], [ty], loc);
        self.carry(result, self.body[new].results[0], node.frame);
    }

    fn call(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let block = node.blocks[0];
        for (i, &arg) in self.draft.block(block).args.iter().enumerate() {
            let value = self.get(node.operands[i]);
            self.names[arg.index()] = Some(self.constrained(arg, value, region));
        }
        let (terminator, inner) = self.draft.block(block).ops.split_last().expect("a block ends in a terminator");
        self.live_ops(inner, region);
        for (i, &result) in node.results.iter().enumerate() {
            let value = self.get(self.draft.op(*terminator).operands[i]);
            self.names[result.index()] = Some(self.constrained(result, value, region));
        }
    }

    /// `value` as it lies at the boundary of a function: where the program says how, and that differs, a constraint.
    fn constrained(&mut self, boundary: ValueId, value: Value, region: Region) -> Value {
        let is_declared =
            self.draft.value(boundary).sharding.as_ref().is_some_and(|s| !s.is_replicated() || is_said(s));
        let Some(wanted) = self.sharding(boundary).filter(|_| is_declared).cloned() else { return value };
        if self.body.sharding(value).is_some_and(|s| s.same_layout(&wanted)) {
            return value;
        }
        let loc = self.body[value].loc.clone();
        self.add_constraint(value, wanted, loc, region)
    }

    fn constraint(&mut self, op: OpId, source: Op, region: Region) {
        let node = self.draft.op(op);
        let (input, result) = (node.operands[0], node.results[0]);
        let loc = &self.draft.frame_of(op).func.body[source].loc;
        let loc = self.draft.locate(node.frame, loc);
        let wanted = self.sharding(result).cloned().expect("a constraint has a sharding");
        let new = self.add_constraint(self.get(input), wanted, loc, region);
        self.names[result.index()] = Some(new);
    }

    fn add_constraint(&mut self, value: Value, wanted: Sharding, loc: Loc, region: Region) -> Value {
        let ty = self.body.ty(value).clone();
        let code = Opcode::ShardingConstraint.into();
        let op = self.body.add_op(region, code, [value], Attrs::new(), [], [ty], loc);
        let result = self.body[op].results[0];
        self.body.value_mut(result).sharding = Some(wanted);
        result
    }

    fn source(&mut self, op: OpId, source: Op, region: Region) {
        let node = self.draft.op(op);
        let data: &OpData = self.draft.frame_of(op).func.body.op(source);
        let regions: Vec<Region> = node.blocks.iter().map(|&block| self.region(block, node.frame)).collect();
        let operands: Vec<Value> = node.operands.iter().map(|&v| self.get(v)).collect();
        let types: Vec<_> = node.results.iter().map(|&v| self.draft.value(v).ty.clone()).collect();
        let loc = self.draft.locate(node.frame, &data.loc);
        let new = self.body.add_op(region, data.code, operands, self.attrs(op, data), regions, types, loc);
        self.body.op_mut(new).reason = data.reason.clone();
        for (i, &v) in node.results.iter().enumerate() {
            let result = self.body[new].results[i];
            self.carry(v, result, node.frame);
            let from = &self.draft.frame_of(op).func.body[data.results[i]];
            let to = self.body.value_mut(result);
            (to.varying, to.manual) = (from.varying.clone(), from.manual.clone());
        }
    }

    fn region(&mut self, block: BlockId, frame: FrameId) -> Region {
        let region = self.body.add_region();
        for &v in &self.draft.block(block).args {
            let new = self.body.add_arg(region, self.draft.value(v).ty.clone(), Loc::UNKNOWN);
            self.carry(v, new, frame);
        }
        self.ops(block, region);
        region
    }

    /// The op's attributes; of a region that declares how its operands lie, with what was found.
    fn attrs(&self, op: OpId, data: &OpData) -> Attrs {
        let mut attrs = data.attrs.clone();
        if self.edges == Edges::Keep {
            return attrs;
        }
        if let Some(Attr::Shardings(declared)) = attrs.get("in_shardings") {
            let args = &self.draft.block(self.draft.op(op).blocks[0]).args;
            let found =
                declared.iter().zip(args).map(|(given, &arg)| self.outside(arg).unwrap_or_else(|| given.clone()));
            let found = found.collect();
            attrs.set("in_shardings", Attr::Shardings(found));
        }
        attrs
    }

    /// An argument's sharding as the op's operand should lie.
    fn outside(&self, arg: ValueId) -> Option<Sharding> {
        let edge = self.draft.def_op(self.draft.value(arg).edge?)?;
        let Kind::Edge(edge) = &self.draft.op(edge).kind else { return None };
        let found = self.sharding(arg)?;
        Some(edge.manual.as_ref().map_or_else(|| found.clone(), |m| m.to_sources(found)))
    }
}

/// Whether a sharding without axes still says something: a closed dimension, a replicated axis.
fn is_said(sharding: &Sharding) -> bool {
    !sharding.replicated.is_empty() || sharding.dims.iter().any(|d| !d.is_open)
}
