//! A copy of the program that can be changed in place, with uses in the order in which MLIR lists them.
//!
//! Shardy's results depend on its order of work, which depends on the order in which MLIR lists the uses of a value:
//! newest first, and reversed when all uses of one value are moved to another. The import steps therefore work on this
//! draft, which keeps these lists. [`super::export`] turns it into function bodies again. For everything that does not
//! change (names, attributes, types), a draft refers to the ops of the source.

use crate::names::Names;
use rustc_hash::FxHashMap;
use shardwise_base::{EntityVec, Loc, LocKind, Sharding, budget, entity};
use shardwise_ir::{Body, Func, Module, Op, OpView, Type};
use shardwise_ops::{Facts, Opcode};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

entity! {
    /// An op of a draft.
    pub(crate) OpId "op"
}
entity! {
    /// A value of a draft.
    pub(crate) ValueId "v"
}
entity! {
    /// A block of a draft.
    pub(crate) BlockId "b"
}
entity! {
    /// A body in a draft, see [`Frame`].
    pub(crate) FrameId "frame"
}

/// A body in a draft: that of a function that remains a function, or a copy of a function's body that replaces one
/// call.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'m> {
    pub func: &'m Func,
    /// The name of the copy if the function is a copy of `func` that remains a function, and `None` otherwise.
    pub copy_name: Option<Arc<str>>,
    pub block: BlockId,
    /// The location of the call, within those of the calls around it; unknown for a function that remains a function.
    pub caller: Loc,
    /// True if the body replaces a call and is a clone. The first call of a function takes its body. All other calls
    /// get clones, whose lists of uses are built anew.
    pub is_clone: bool,
}

impl Frame<'_> {
    pub fn name(&self) -> Arc<str> {
        self.copy_name.as_ref().unwrap_or(&self.func.name).clone()
    }
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    /// An op of the frame's function.
    Source(Op),
    /// A call that import replaces. Its only block holds the body of the callee.
    Call {
        callee: FrameId,
        source: Op,
    },
    Edge(Edge),
    /// An edge at an argument of a function that remains a function, or at a result of a call of one. The owner keeps a
    /// sharding of its own at first, and the sources are found from the calls later.
    FuncEdge(Edge),
    /// A constraint that import inserted for an op of the frame's function.
    Constraint(Op),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub op: OpId,
    pub index: usize,
}

/// A data-flow edge. It is an op whose operand is the owner and whose result is the tensor that the owner and the
/// targets share.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// The operands whose values flow into the owner: of the op that has the edge, and of the terminators of its
    /// regions. Those of a [`NodeKind::FuncEdge`] are operands of calls, or of the callee's terminator; the list is
    /// empty until they are found, and if there are none.
    pub sources: SmallVec<[Use; 2]>,
    /// The block arguments other than the owner that share its sharding.
    pub targets: SmallVec<[ValueId; 2]>,
    pub manual: Option<Box<shardwise_sharding::ManualEdge>>,
}

#[derive(Clone, Debug)]
pub(crate) struct OpNode {
    pub frame: FrameId,
    pub kind: NodeKind,
    pub operands: SmallVec<[ValueId; 3]>,
    pub results: SmallVec<[ValueId; 1]>,
    pub blocks: SmallVec<[BlockId; 2]>,
    pub parent: BlockId,
    /// True if the op was erased. It then counts as no user of its operands, also while its block still lists it.
    pub is_erased: bool,
    /// True if nothing needs the op. A dead op counts as no user, takes no part in propagation and is not exported.
    pub is_dead: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    Result(OpId),
    Argument(BlockId),
}

#[derive(Clone, Debug)]
pub(crate) struct ValueNode<'m> {
    pub ty: &'m Type,
    pub loc: &'m Loc,
    pub def: Def,
    pub sharding: Option<Sharding>,
    /// The uses, oldest first. An entry is stale if the operand has been set to another value, or if the op is erased
    /// or dead.
    uses: SmallVec<[Use; 1]>,
    /// The result of the edge that holds the sharding of this value; `None` if the value holds it itself.
    pub edge: Option<ValueId>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub args: Vec<ValueId>,
    pub ops: Vec<OpId>,
    pub parent: Option<OpId>,
}

pub(crate) struct Draft<'m> {
    pub module: &'m Module,
    /// True if shardings are taken as they are written. Otherwise axes of size 1 are dropped, manual axes that a
    /// sharding of a manual computation does not mention are added to its replicated axes, and edges do not take over
    /// shardings on a single device.
    pub is_as_written: bool,
    /// The functions that remain functions, and the copies of them.
    pub roots: Vec<FrameId>,
    /// The calls that remain calls, with the functions that they call.
    pub calls: BTreeMap<OpId, FrameId>,
    pub frames: EntityVec<FrameId, Frame<'m>>,
    pub ops: EntityVec<OpId, OpNode>,
    pub values: EntityVec<ValueId, ValueNode<'m>>,
    pub blocks: EntityVec<BlockId, Block>,
    /// Sets of values that must have equal shardings.
    pub groups: Vec<Vec<ValueId>>,
    /// The names of the functions of the module and of copies of them.
    pub names: Names,
}

impl<'m> Draft<'m> {
    /// Returns a draft that is empty, with room for the ops and values of the module.
    pub fn empty(module: &'m Module, is_as_written: bool) -> Draft<'m> {
        let sum = |count: fn(&Body) -> usize| module.funcs.iter().map(|f| count(&f.body)).sum();
        Draft {
            module,
            is_as_written,
            roots: vec![],
            calls: BTreeMap::new(),
            frames: EntityVec::new(),
            ops: EntityVec::with_capacity(sum(Body::op_count)),
            values: EntityVec::with_capacity(sum(Body::value_count)),
            blocks: EntityVec::new(),
            groups: vec![],
            names: Names::new(module.funcs.iter().map(|f| f.name.clone())),
        }
    }

    pub fn frame(&self, frame: FrameId) -> &Frame<'m> {
        &self.frames[frame]
    }

    /// Adds a function that remains a function, with an empty body.
    pub fn add_root(&mut self, func: &'m Func, copy_name: Option<Arc<str>>) -> FrameId {
        let block = self.add_block(None);
        let frame = self.frames.push(Frame { func, copy_name, block, caller: Loc::UNKNOWN, is_clone: false });
        self.roots.push(frame);
        frame
    }

    /// Returns the function between whose results and body propagation runs: `@main`, or the only function. Shardy does
    /// not propagate between those of other functions. Returns `None` if there is no function of this name, and not
    /// exactly one function.
    pub fn main(&self) -> Option<FrameId> {
        let named = self.roots.iter().find(|&&r| &*self.frame(r).name() == "main");
        named.or(self.roots.first().filter(|_| self.roots.len() == 1)).copied()
    }

    /// Returns, for each function that remains a function, the calls of it, in program order. Functions that are not
    /// called are left out.
    pub fn callers(&self) -> BTreeMap<FrameId, Vec<OpId>> {
        let mut callers: BTreeMap<FrameId, Vec<OpId>> = BTreeMap::new();
        if self.calls.is_empty() {
            return callers;
        }
        for op in self.walk(Order::Pre) {
            if let Some(&callee) = self.calls.get(&op) {
                callers.entry(callee).or_default().push(op);
            }
        }
        callers
    }

    pub fn op(&self, op: OpId) -> &OpNode {
        &self.ops[op]
    }

    pub fn op_mut(&mut self, op: OpId) -> &mut OpNode {
        &mut self.ops[op]
    }

    pub fn value(&self, v: ValueId) -> &ValueNode<'m> {
        &self.values[v]
    }

    pub fn value_mut(&mut self, v: ValueId) -> &mut ValueNode<'m> {
        &mut self.values[v]
    }

    pub fn block(&self, b: BlockId) -> &Block {
        &self.blocks[b]
    }

    pub fn block_mut(&mut self, b: BlockId) -> &mut Block {
        &mut self.blocks[b]
    }

    pub fn frame_of(&self, op: OpId) -> &Frame<'m> {
        self.frame(self.op(op).frame)
    }

    /// Returns the op of the source that this op was made from, or `None` for replaced calls, edges and inserted
    /// constraints.
    pub fn source(&self, op: OpId) -> Option<OpView<'m>> {
        match self.op(op).kind {
            NodeKind::Source(source) => Some(self.module.view(&self.frame_of(op).func.body, source)),
            NodeKind::Call { .. } | NodeKind::Edge(_) | NodeKind::FuncEdge(_) | NodeKind::Constraint(_) => None,
        }
    }

    pub fn opcode(&self, op: OpId) -> Option<Opcode> {
        match self.op(op).kind {
            NodeKind::Constraint(_) => Some(Opcode::ShardingConstraint),
            _ => self.source(op).map(|view| Opcode::of_view(&view)),
        }
    }

    pub fn facts(&self, op: OpId) -> Option<(OpView<'m>, &'static dyn Facts)> {
        self.source(op).map(|view| (view, Opcode::of_view(&view).facts()))
    }

    pub fn is_edge(&self, op: OpId) -> bool {
        matches!(self.op(op).kind, NodeKind::Edge(_))
    }

    pub fn is_terminator(&self, op: OpId) -> bool {
        self.source(op).is_some_and(|view| view.module.table.def(view.data().code).is_terminator())
    }

    pub fn terminator(&self, block: BlockId) -> OpId {
        *self.block(block).ops.last().expect("a block ends in a terminator")
    }

    /// Returns the value that holds the sharding of `v`: the result of its edge, or `v` itself.
    pub fn holder(&self, v: ValueId) -> ValueId {
        self.value(v).edge.unwrap_or(v)
    }

    pub fn sharding(&self, v: ValueId) -> Option<&Sharding> {
        self.value(self.holder(v)).sharding.as_ref()
    }

    pub fn def_op(&self, v: ValueId) -> Option<OpId> {
        match self.value(v).def {
            Def::Result(op) => Some(op),
            Def::Argument(_) => None,
        }
    }

    pub fn is_scalar(&self, v: ValueId) -> bool {
        self.value(v).ty.as_tensor().is_some_and(|t| t.rank() == 0)
    }

    /// Returns the uses of a value by ops that are neither erased nor dead, newest first.
    pub fn uses(&self, v: ValueId) -> impl Iterator<Item = Use> + '_ {
        self.value(v).uses.iter().rev().copied().filter(move |u| {
            let op = self.op(u.op);
            !op.is_erased && !op.is_dead && op.operands[u.index] == v
        })
    }

    pub fn has_one_use(&self, v: ValueId) -> bool {
        self.uses(v).take(2).count() == 1
    }

    /// Returns all ops in the order of the functions. `order` states whether an op comes before or after the ops in its
    /// blocks.
    pub fn walk(&self, order: Order) -> Vec<OpId> {
        let mut out = Vec::with_capacity(self.ops.len());
        for &root in &self.roots {
            self.walk_into(self.frame(root).block, order, &mut out);
        }
        out
    }

    /// Returns the ops of a block and of the blocks within, in program order.
    pub fn block_ops(&self, block: BlockId) -> Vec<OpId> {
        let mut out = vec![];
        self.walk_into(block, Order::Pre, &mut out);
        out
    }

    fn walk_into(&self, block: BlockId, order: Order, out: &mut Vec<OpId>) {
        budget::poll();
        for &op in &self.block(block).ops {
            if order == Order::Pre {
                out.push(op);
            }
            for &inner in &self.op(op).blocks {
                self.walk_into(inner, order, out);
            }
            if order == Order::Post {
                out.push(op);
            }
        }
    }

    pub fn add_value(&mut self, ty: &'m Type, loc: &'m Loc, def: Def, sharding: Option<Sharding>) -> ValueId {
        self.values.push(ValueNode { ty, loc, def, sharding, uses: SmallVec::new(), edge: None })
    }

    /// Adds an op with operands and without results. It is not in the list of any block yet.
    pub fn add_op(&mut self, frame: FrameId, kind: NodeKind, operands: &[ValueId], parent: BlockId) -> OpId {
        let id = OpId::new(self.ops.len());
        self.ops.push(OpNode {
            frame,
            kind,
            operands: operands.into(),
            results: SmallVec::new(),
            blocks: SmallVec::new(),
            parent,
            is_erased: false,
            is_dead: false,
        });
        self.add_uses(id);
        id
    }

    /// Adds the operands of `op` as the newest uses.
    pub fn add_uses(&mut self, op: OpId) {
        for (index, &v) in self.ops[op].operands.iter().enumerate() {
            self.values[v].uses.push(Use { op, index });
        }
    }

    pub fn add_block(&mut self, parent: Option<OpId>) -> BlockId {
        self.blocks.push(Block { parent, ..Block::default() })
    }

    /// Copies an op and all ops within it. The copy is not in the list of `parent` yet. `names` maps operands to values
    /// of the copy, and is extended by the results and by all values within the op. Operands that are not in it stay as
    /// they are.
    pub fn clone_op(&mut self, op: OpId, names: &mut FxHashMap<ValueId, ValueId>, parent: BlockId) -> OpId {
        let node = self.op(op).clone();
        let operands: Vec<ValueId> = node.operands.iter().map(|v| *names.get(v).unwrap_or(v)).collect();
        let copy = self.add_op(node.frame, node.kind, &operands, parent);
        if let Some(&callee) = self.calls.get(&op) {
            self.calls.insert(copy, callee);
        }
        for &block in &node.blocks {
            let new = self.add_block(Some(copy));
            self.ops[copy].blocks.push(new);
            self.clone_block(block, new, names);
        }
        for &v in &node.results {
            let new = self.clone_value(v, Def::Result(copy), names);
            self.ops[copy].results.push(new);
        }
        copy
    }

    pub fn clone_block(&mut self, from: BlockId, to: BlockId, names: &mut FxHashMap<ValueId, ValueId>) {
        for arg in self.block(from).args.clone() {
            let new = self.clone_value(arg, Def::Argument(to), names);
            self.block_mut(to).args.push(new);
        }
        for op in self.block(from).ops.clone() {
            let new = self.clone_op(op, names, to);
            self.block_mut(to).ops.push(new);
        }
    }

    fn clone_value(&mut self, v: ValueId, def: Def, names: &mut FxHashMap<ValueId, ValueId>) -> ValueId {
        let (ty, loc, sharding) = (self.value(v).ty, self.value(v).loc, self.value(v).sharding.clone());
        let new = self.add_value(ty, loc, def, sharding);
        names.insert(v, new);
        new
    }

    /// Erases an op and all ops within it. The lists of their blocks are not changed.
    pub fn erase(&mut self, op: OpId) {
        self.op_mut(op).is_erased = true;
        for block in self.op(op).blocks.clone() {
            self.block(block).ops.clone().into_iter().for_each(|inner| self.erase(inner));
        }
    }

    pub fn is_sharding_group(&self, op: OpId) -> bool {
        self.opcode(op) == Some(Opcode::ShardingGroup)
    }

    /// Sets one operand. The use becomes the newest of its new value.
    pub fn set_operand(&mut self, at: Use, v: ValueId) {
        self.ops[at.op].operands[at.index] = v;
        self.values[v].uses.push(at);
    }

    /// Moves the uses of `from` for which `pick` returns true to `to`, newest first, which reverses their order.
    pub fn replace_uses(&mut self, from: ValueId, to: ValueId, pick: impl Fn(&Draft<'m>, Use) -> bool) {
        let picked: Vec<Use> = self.uses(from).filter(|&u| pick(self, u)).collect();
        for at in picked {
            self.set_operand(at, to);
        }
    }

    pub fn reverse_uses(&mut self, v: ValueId) {
        self.values[v].uses.reverse();
    }

    /// Inserts an op after the op that defines `v`, or at the start of the block if `v` is an argument.
    pub fn place_after_value(&mut self, op: OpId, v: ValueId) {
        let (block, at) = match self.value(v).def {
            Def::Argument(block) => (block, 0),
            Def::Result(def) => {
                let block = self.op(def).parent;
                (block, 1 + self.block(block).ops.iter().position(|&o| o == def).expect("an op is in its block"))
            }
        };
        self.ops[op].parent = block;
        self.block_mut(block).ops.insert(at, op);
    }

    pub fn unlink(&mut self, op: OpId) {
        let parent = self.op(op).parent;
        self.block_mut(parent).ops.retain(|&o| o != op);
    }

    /// Returns `loc`, a location in the frame's function, combined with the location of the frame's call. If one of the
    /// two is unknown, returns the other.
    pub fn locate(&self, frame: FrameId, loc: &Loc) -> Loc {
        let caller = &self.frame(frame).caller;
        match (loc.is_unknown(), caller.is_unknown()) {
            (_, true) => loc.clone(),
            (true, false) => caller.clone(),
            (false, false) => Loc::new(LocKind::CallSite { callee: loc.clone(), caller: caller.clone() }),
        }
    }
}

/// States if a walk visits an op before (`Pre`) or after (`Post`) the ops in its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Pre,
    Post,
}
