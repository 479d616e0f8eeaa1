//! Converts the draft to functions, with the shardings that propagation found.
//!
//! In the plain shape there are no edges: owners and targets have the edge's sharding. In place of each call that
//! import replaced there is the body of its callee. Ops that nothing needs are left out.

use crate::draft::{BlockId, Def, Draft, FrameId, NodeKind, OpId, ValueId};
use crate::graph::result_tensors;
use crate::names::Names;
use shardwise_base::{EntityVec, Loc, Sharding};
use shardwise_ir::{Attr, Attrs, Body, Func, Op, OpCode, OpData, Region, Value, ValueData, Visibility};
use shardwise_ops::Opcode;
use shardwise_ops::calls::remove_callee;
use shardwise_ops::shardy::{
    computation_name, in_shardings, remove_computation_attrs, set_computation_name, set_in_shardings,
};
use shardwise_ops::structure::Call;
use shardwise_sharding::{Problem, TensorId};
use std::sync::Arc;

/// How edges are exported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edges {
    /// No edge is exported as an op. Owners and targets have the edge's sharding.
    Sink,
    /// Each edge is an op `sdy.data_flow_edge` or `sdy.func_data_flow_edge`, except at ops that become functions.
    Keep,
    /// Each edge is an op `sdy.data_flow_edge`, except the edges at arguments and calls of functions that remain
    /// functions, which are exported as with `Sink`.
    SinkFuncs,
}

/// How the calls that import replaced are exported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Calls {
    /// The body of the callee replaces the call.
    Inline,
    /// Each call is an op `sdy.named_computation`.
    Named,
    /// Each call, and each `sdy.named_computation`, calls a new function of its own.
    Outline,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub edges: Edges,
    pub calls: Calls,
}

impl Shape {
    /// The shape without edges, in which the bodies of callees replace the calls that import replaced.
    pub const PLAIN: Shape = Shape { edges: Edges::Sink, calls: Calls::Inline };
    /// The shape with all edges as ops.
    pub const AS_WRITTEN: Shape = Shape { edges: Edges::Keep, calls: Calls::Inline };
}

/// The name of the attribute that holds the original name of a function on its copies, and the name of a named
/// computation on the function that was made from it.
pub const ORIGINAL_NAME: &str = "sdy.original_func_name";

/// The name of the attribute for the thread that executes a function.
const THREAD: &str = "execution_thread";

/// Returns the name that the attribute [`ORIGINAL_NAME`] of a function holds, or the function's own name if it has no
/// such attribute.
pub fn original_name(func: &Func) -> Arc<str> {
    func.attrs.str(ORIGINAL_NAME).map_or_else(|| func.name.clone(), Arc::from)
}

/// Returns the functions that remain functions, followed by the new functions.
pub(crate) fn export(draft: &Draft<'_>, problem: &Problem, shape: Shape) -> Vec<Func> {
    let names = Names::new(draft.roots.iter().map(|&r| draft.frame(r).name()));
    let values = EntityVec::filled(draft.values.len(), None);
    let mut export = Export { draft, problem, shape, body: Body::new(), names: values, symbols: names, made: vec![] };
    let mut funcs = vec![];
    for (&root, results) in draft.roots.iter().zip(result_tensors(draft)) {
        let mut func = draft.frame(root).func.without_body();
        if let Some(name) = &draft.frame(root).copy_name {
            func.attrs.set(ORIGINAL_NAME, Attr::Str(original_name(&func)));
            func.name = name.clone();
        }
        func.body = export.body_of(draft.frame(root).block, root);
        for (sharding, tensor) in func.result_shardings.iter_mut().zip(results) {
            *sharding = problem.sharding(tensor).cloned();
        }
        funcs.push(func);
    }
    funcs.append(&mut export.made);
    funcs
}

struct Export<'d, 'm> {
    draft: &'d Draft<'m>,
    problem: &'d Problem,
    shape: Shape,
    body: Body,
    names: EntityVec<ValueId, Option<Value>>,
    symbols: Names,
    /// The functions that were made from calls and named computations.
    made: Vec<Func>,
}

impl<'d> Export<'d, '_> {
    fn sharding(&self, v: ValueId) -> Option<&Sharding> {
        let holder = if self.keeps_own(v) { v } else { self.draft.holder(v) };
        self.problem.sharding(TensorId::new(holder.index()))
    }

    /// Returns true if a value has its own sharding in the export, and not that of its edge: it is at no edge, or its
    /// edge is exported as an op, whose result has the sharding of the edge.
    fn keeps_own(&self, v: ValueId) -> bool {
        let Some(edge) = self.draft.value(v).edge.and_then(|result| self.draft.def_op(result)) else { return true };
        let is_of_func = matches!(self.draft.op(edge).kind, NodeKind::FuncEdge(_));
        match self.shape.edges {
            Edges::Sink => false,
            Edges::Keep => !self.is_boundary(v),
            Edges::SinkFuncs => !is_of_func,
        }
    }

    fn is_boundary(&self, v: ValueId) -> bool {
        let op = match self.draft.value(v).def {
            Def::Result(op) => Some(op),
            Def::Argument(block) => self.draft.block(block).parent,
        };
        op.is_some_and(|op| self.is_outlined(op))
    }

    fn is_outlined(&self, op: OpId) -> bool {
        self.shape.calls == Calls::Outline
            && (matches!(self.draft.op(op).kind, NodeKind::Call { .. })
                || self.draft.opcode(op) == Some(Opcode::NamedComputation))
    }

    fn get(&self, v: ValueId) -> Value {
        self.names[v].expect("defined before it is used")
    }

    fn body_of(&mut self, block: BlockId, frame: FrameId) -> Body {
        let room = Body::with_capacity_of(&self.draft.frame(frame).func.body);
        let outer = std::mem::replace(&mut self.body, room);
        let entry = self.body.entry();
        for &v in &self.draft.block(block).args {
            let new = self.body.add_arg(entry, self.draft.value(v).ty.clone(), Loc::UNKNOWN);
            self.carry(v, new, frame);
        }
        self.ops(block, entry);
        std::mem::replace(&mut self.body, outer)
    }

    fn carry(&mut self, v: ValueId, new: Value, frame: FrameId) {
        let sharding = self.sharding(v).cloned();
        let loc = self.locate(frame, self.draft.value(v).loc);
        let data: &mut ValueData = self.body.value_mut(new);
        data.sharding = sharding;
        data.loc = loc;
        self.names[v] = Some(new);
    }

    fn locate(&self, frame: FrameId, loc: &Loc) -> Loc {
        if self.shape.calls == Calls::Inline { self.draft.locate(frame, loc) } else { loc.clone() }
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
            NodeKind::Edge(_) | NodeKind::FuncEdge(_) if self.keeps_edge(op) => self.edge(op, region),
            NodeKind::Edge(_) | NodeKind::FuncEdge(_) => {
                let (owner, result) = (self.draft.op(op).operands[0], self.draft.op(op).results[0]);
                self.names[result] = self.names[owner];
            }
            _ if self.is_outlined(op) => self.outline(op, region),
            NodeKind::Call { .. } if self.shape.calls == Calls::Named => self.named(op, region),
            NodeKind::Call { .. } => self.call(op, region),
            NodeKind::Constraint(source) => self.constraint(op, *source, region),
            NodeKind::Source(source) => self.source(op, *source, region),
        }
    }

    fn edge(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let (owner, result) = (node.operands[0], node.results[0]);
        let (ty, loc) = (self.draft.value(owner).ty.clone(), self.draft.value(owner).loc.clone());
        let is_of_func = matches!(node.kind, NodeKind::FuncEdge(_));
        let code = if is_of_func { Opcode::FuncDataFlowEdge } else { Opcode::DataFlowEdgeOp }.into();
        let new = self.body.add_op(region, code, [self.get(owner)], Attrs::new(), [], [ty], loc);
        self.carry(result, self.body[new].results[0], node.frame);
    }

    fn keeps_edge(&self, op: OpId) -> bool {
        match self.shape.edges {
            Edges::Sink => false,
            Edges::Keep => !self.is_boundary(self.draft.op(op).operands[0]),
            Edges::SinkFuncs => !matches!(self.draft.op(op).kind, NodeKind::FuncEdge(_)),
        }
    }

    /// Exports an op as a call of a new function with the op's body.
    fn outline(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let (block, operands, results) = (node.blocks[0], node.operands.clone(), node.results.clone());
        let (name, mut attrs) = self.call_attrs(op);
        remove_computation_attrs(&mut attrs);
        let thread = attrs.remove(THREAD);
        let (computation, frame) = match node.kind {
            NodeKind::Call { callee, .. } => (None, callee),
            _ => (Some(self.source_data(op)), node.frame),
        };
        let mut func = Func::new(name.clone(), self.source_data(op).loc.clone());
        func.visibility = Visibility::Private;
        func.attrs.set(ORIGINAL_NAME, Attr::str(&name));
        if let Some(thread) = thread {
            func.attrs.set(THREAD, thread);
        }
        func.body = self.body_of(block, frame);
        Self::declare(&mut func, computation);
        func.arg_attrs = vec![Attrs::new(); operands.len()];
        func.result_types = results.iter().map(|&v| self.draft.value(v).ty.clone()).collect();
        func.result_attrs = vec![Attrs::new(); results.len()];
        func.result_shardings = vec![None; results.len()];
        func.name = self.symbols.add(&name);
        Call::set_callee(&mut attrs, func.name.clone());
        let (types, loc) = (func.result_types.clone(), func.loc.clone());
        self.made.push(func);
        let operands: Vec<Value> = operands.iter().map(|&v| self.get(v)).collect();
        let new = self.body.add_op(region, Opcode::Call.into(), operands, attrs, [], types, loc);
        for (i, &v) in results.iter().enumerate() {
            self.carry(v, self.body[new].results[i], node.frame);
        }
    }

    /// Sets the shardings of a new function's arguments, which have those of the edges at first. If there are none,
    /// uses those that the named computation declares. If some arguments have a sharding, the others become open.
    fn declare(func: &mut Func, computation: Option<&OpData>) {
        let args = func.body.args().to_vec();
        let has_edges = args.iter().any(|&v| func.body.sharding(v).is_some());
        if let Some(computation) = computation.filter(|_| !has_edges) {
            for (&v, sharding) in args.iter().zip(in_shardings(&computation.attrs)) {
                func.body.value_mut(v).sharding = Some(sharding.clone());
            }
        }
        let Some(mesh) = args.iter().find_map(|&v| Some(func.body.sharding(v)?.mesh.clone())) else { return };
        for &v in &args {
            let rank = func.body.ty(v).shape().len();
            func.body.value_mut(v).sharding.get_or_insert_with(|| Sharding::open(&mesh, rank));
        }
    }

    /// Returns the original name of the callee of a replaced call, and the call's attributes without the name of the
    /// callee, but with the callee's attribute [`THREAD`] if it has one. For a named computation, returns its name and
    /// all of its attributes.
    fn call_attrs(&self, op: OpId) -> (Arc<str>, Attrs) {
        let mut attrs = self.source_data(op).attrs.clone();
        let NodeKind::Call { callee, .. } = self.draft.op(op).kind else {
            return (computation_name(&attrs).unwrap_or("").into(), attrs);
        };
        let func = self.draft.frame(callee).func;
        remove_callee(&mut attrs);
        if let Some(thread) = func.attrs.get(THREAD) {
            attrs.set(THREAD, thread.clone());
        }
        (original_name(func), attrs)
    }

    fn source_data(&self, op: OpId) -> &'d OpData {
        match self.draft.op(op).kind {
            NodeKind::Source(source) | NodeKind::Call { source, .. } => self.draft.frame_of(op).func.body.op(source),
            _ => unreachable!("a call or a named computation"),
        }
    }

    fn named(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let NodeKind::Call { callee, .. } = node.kind else { unreachable!("a call") };
        let (name, mut attrs) = self.call_attrs(op);
        set_computation_name(&mut attrs, name);
        let args = &self.draft.block(node.blocks[0]).args;
        let declared: Option<Vec<Sharding>> = args.iter().map(|&v| self.draft.value(v).sharding.clone()).collect();
        if let Some(declared) = declared.filter(|d| !d.is_empty()) {
            set_in_shardings(&mut attrs, declared);
        }
        let inner = self.region(node.blocks[0], callee);
        let operands: Vec<Value> = node.operands.iter().map(|&v| self.get(v)).collect();
        let types: Vec<_> = node.results.iter().map(|&v| self.draft.value(v).ty.clone()).collect();
        let loc = self.source_data(op).loc.clone();
        let new = self.body.add_op(region, Opcode::NamedComputation.into(), operands, attrs, [inner], types, loc);
        for (i, &v) in node.results.iter().enumerate() {
            self.carry(v, self.body[new].results[i], node.frame);
        }
    }

    fn call(&mut self, op: OpId, region: Region) {
        let node = self.draft.op(op);
        let block = node.blocks[0];
        for (i, &arg) in self.draft.block(block).args.iter().enumerate() {
            let value = self.get(node.operands[i]);
            self.names[arg] = Some(self.constrained(arg, value, region));
        }
        let (terminator, inner) = self.draft.block(block).ops.split_last().expect("a block ends in a terminator");
        self.live_ops(inner, region);
        for (i, &result) in node.results.iter().enumerate() {
            let value = self.get(self.draft.op(*terminator).operands[i]);
            self.names[result] = Some(self.constrained(result, value, region));
        }
    }

    /// Returns `value` at the boundary of a function. If the program declares a sharding there that is more than open
    /// dimensions without axes, and the layout of the value is not the one that was found for the boundary, adds a
    /// constraint to the latter and returns its result instead.
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
        let loc = self.locate(node.frame, loc);
        let wanted = self.sharding(result).cloned().expect("a constraint has a sharding");
        let new = self.add_constraint(self.get(input), wanted, loc, region);
        self.names[result] = Some(new);
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
        let loc = self.locate(node.frame, &data.loc);
        let code = self.code(op, data);
        let new = self.body.add_op(region, code, operands, self.attrs(op, data), regions, types, loc);
        self.body.op_mut(new).reason = data.reason.clone();
        for (i, &v) in node.results.iter().enumerate() {
            let result = self.body[new].results[i];
            self.carry(v, result, node.frame);
            let from = &self.draft.frame_of(op).func.body[data.results[i]];
            let to = self.body.value_mut(result);
            (to.varying, to.manual) = (from.varying.clone(), from.manual.clone());
        }
        self.open_the_others(op, new);
    }

    /// Opens the results for which no edge found a sharding, if another edge at the op's results found one. Does
    /// nothing unless edges are sunk ([`Edges::Sink`]).
    fn open_the_others(&mut self, op: OpId, new: Op) {
        let results = &self.draft.op(op).results;
        let found = |&v: &ValueId| self.draft.value(v).edge.and(self.sharding(v)).map(|s| s.mesh.clone());
        let Some(mesh) = results.iter().find_map(found) else { return };
        for (i, &v) in results.iter().enumerate() {
            let is_known = self.draft.value(v).edge.is_some() && self.sharding(v).is_some();
            if !is_known && self.shape.edges == Edges::Sink {
                let result = self.body[new].results[i];
                let open = Sharding::open(&mesh, self.draft.value(v).ty.shape().len());
                self.body.value_mut(result).sharding = Some(open);
            }
        }
    }

    /// Returns the op's code in the export. It may differ from that in the source for terminators of bodies that are
    /// outlined or that replaced a call.
    fn code(&self, op: OpId, data: &OpData) -> OpCode {
        let Some(around) = self.draft.block(self.draft.op(op).parent).parent else { return data.code };
        if !self.draft.is_terminator(op) {
            return data.code;
        }
        match self.draft.op(around).kind {
            _ if self.is_outlined(around) => OpCode::RETURN,
            NodeKind::Call { .. } => Opcode::SdyReturn.into(),
            _ => data.code,
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

    /// Returns the op's attributes. A call names its callee in the export. With [`Edges::Sink`], declared shardings of
    /// operands are replaced by those that were found. If one was found for some operands of a named computation only,
    /// those of the other operands are replaced by open ones.
    fn attrs(&self, op: OpId, data: &OpData) -> Attrs {
        let mut attrs = data.attrs.clone();
        if let Some(&callee) = self.draft.calls.get(&op) {
            Call::set_callee(&mut attrs, self.draft.frame(callee).name());
        }
        if self.shape.edges != Edges::Sink {
            return attrs;
        }
        let declared = in_shardings(&attrs);
        if !declared.is_empty() {
            let args = &self.draft.block(self.draft.op(op).blocks[0]).args;
            let any = args.iter().find_map(|&arg| self.outside(arg)).map(|s| s.mesh.clone());
            // A manual computation needs its declared shardings, because its types follow from them.
            let may_be_open = Opcode::of(data.code) != Opcode::ManualComputation;
            let or_open = |(given, &arg): (&Sharding, &ValueId)| match (self.outside(arg), &any) {
                (Some(found), _) => found,
                (None, Some(mesh)) if may_be_open => Sharding::open(mesh, given.rank()),
                (None, _) if self.draft.is_as_written => given.clone(),
                (None, _) => given.without_unit_axes(),
            };
            let found = declared.iter().zip(args).map(or_open).collect();
            set_in_shardings(&mut attrs, found);
        }
        attrs
    }

    /// Returns the sharding that the op's operand should have, according to the edge of the argument `arg`, or `None`
    /// if there is no edge or it has no sharding.
    fn outside(&self, arg: ValueId) -> Option<Sharding> {
        let edge = self.draft.def_op(self.draft.value(arg).edge?)?;
        let NodeKind::Edge(edge) = &self.draft.op(edge).kind else { return None };
        let found = self.sharding(arg)?;
        Some(edge.manual.as_ref().map_or_else(|| found.clone(), |m| m.to_sources(found)))
    }
}

/// Returns true if a sharding has a closed dimension or a replicated axis.
fn is_said(sharding: &Sharding) -> bool {
    !sharding.replicated.is_empty() || sharding.dims.iter().any(|d| !d.is_open)
}
