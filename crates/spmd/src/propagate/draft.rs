//! A copy of the program that can be changed in place, with the order of uses that MLIR would have.
//!
//! Shardy's answers depend on its order of work, and that depends on the order in which MLIR lists the uses of a value:
//! newest first, where moving all uses of one value to another reverses them. So the import steps work on this draft,
//! which keeps these lists; [`super::export`] makes a body of it again. A draft refers to the ops of the source for all
//! that does not change: names, attributes, types.

use super::names::Names;
use shardwise_base::{Loc, LocKind, Sharding, budget};
use shardwise_ir::{Func, Module, Op, OpView, Type};
use shardwise_ops::{Facts, Opcode};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($name:ident, $prefix:literal) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(super) struct $name(u32);

        impl $name {
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 entities"))
            }

            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(OpId, "op");
id!(ValueId, "v");
id!(BlockId, "b");
id!(FrameId, "frame");

/// A function's body: the function itself, or in the place of one call of it.
#[derive(Clone, Debug)]
pub(super) struct Frame<'m> {
    pub func: &'m Func,
    /// Of a copy of the function, its own name.
    pub copy_name: Option<Arc<str>>,
    pub block: BlockId,
    /// Of the call; unknown for a function that stays one.
    pub caller: Loc,
    /// The first call of the function takes its body; all others are clones, whose lists of uses are fresh.
    pub is_clone: bool,
}

impl Frame<'_> {
    pub fn name(&self) -> Arc<str> {
        self.copy_name.as_ref().unwrap_or(&self.func.name).clone()
    }
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// An op of the frame's function.
    Source(Op),
    /// A call, its callee's body in its only block.
    Call {
        callee: FrameId,
        source: Op,
    },
    Edge(Edge),
    /// An edge at an argument or a call of a function that stays one: of its operand it knows nothing but the uses.
    FuncEdge(Edge),
    /// A constraint that import inserted for an op of the frame's function.
    Constraint(Op),
}

/// A place that an op's operand stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Use {
    pub op: OpId,
    pub index: usize,
}

/// A data-flow edge: an op with the owner as operand, and as result the tensor that owner and targets share.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Operands of the op that has the edge, and of its regions' terminators.
    pub sources: SmallVec<[Use; 2]>,
    /// Block arguments other than the owner.
    pub targets: SmallVec<[ValueId; 2]>,
    pub manual: Option<Box<shardwise_sharding::ManualEdge>>,
}

#[derive(Clone, Debug)]
pub(super) struct OpNode {
    pub frame: FrameId,
    pub kind: Kind,
    pub operands: SmallVec<[ValueId; 3]>,
    pub results: SmallVec<[ValueId; 1]>,
    pub blocks: SmallVec<[BlockId; 2]>,
    pub parent: BlockId,
    /// It is in no block any more.
    pub is_erased: bool,
    /// Nobody needs it: it takes no part.
    pub is_dead: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Def {
    Result(OpId),
    Argument(BlockId),
}

#[derive(Clone, Debug)]
pub(super) struct ValueNode<'m> {
    pub ty: &'m Type,
    pub loc: &'m Loc,
    pub def: Def,
    pub sharding: Option<Sharding>,
    /// Oldest first; entries go stale when the operand is set to something else.
    uses: Vec<Use>,
    /// The result of the edge that holds the sharding instead.
    pub edge: Option<ValueId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub args: Vec<ValueId>,
    pub ops: Vec<OpId>,
    pub parent: Option<OpId>,
}

pub(super) struct Draft<'m> {
    pub module: &'m Module,
    /// Shardings are taken as they stand: what is to be tidied up was.
    pub is_as_written: bool,
    /// The functions that stay functions, in their order.
    pub roots: Vec<FrameId>,
    /// The calls that stay calls, and what they call.
    pub calls: BTreeMap<OpId, FrameId>,
    pub frames: Vec<Frame<'m>>,
    pub ops: Vec<OpNode>,
    pub values: Vec<ValueNode<'m>>,
    pub blocks: Vec<Block>,
    /// Values whose shardings are one.
    pub groups: Vec<Vec<ValueId>>,
    /// Of the functions.
    pub names: Names,
}

impl<'m> Draft<'m> {
    /// Without anything in it.
    pub fn empty(module: &'m Module, is_as_written: bool) -> Draft<'m> {
        Draft {
            module,
            is_as_written,
            roots: vec![],
            calls: BTreeMap::new(),
            frames: vec![],
            ops: vec![],
            values: vec![],
            blocks: vec![],
            groups: vec![],
            names: Names::new(module.funcs.iter().map(|f| f.name.clone())),
        }
    }

    pub fn frame(&self, frame: FrameId) -> &Frame<'m> {
        &self.frames[frame.index()]
    }

    /// The body of a function that stays one, still empty.
    pub fn add_root(&mut self, func: &'m Func, copy_name: Option<Arc<str>>) -> FrameId {
        let block = self.add_block(None);
        self.frames.push(Frame { func, copy_name, block, caller: Loc::UNKNOWN, is_clone: false });
        let frame = FrameId::new(self.frames.len() - 1);
        self.roots.push(frame);
        frame
    }

    /// The function whose results and body speak to each other: `@main`, or the only one. Shardy lets nothing go
    /// between those of other functions.
    pub fn main(&self) -> Option<FrameId> {
        let named = self.roots.iter().find(|&&r| &*self.frame(r).name() == "main");
        named.or(self.roots.first().filter(|_| self.roots.len() == 1)).copied()
    }

    /// For each function that stays one, the calls of it, in program order.
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
        &self.ops[op.index()]
    }

    pub fn op_mut(&mut self, op: OpId) -> &mut OpNode {
        &mut self.ops[op.index()]
    }

    pub fn value(&self, v: ValueId) -> &ValueNode<'m> {
        &self.values[v.index()]
    }

    pub fn value_mut(&mut self, v: ValueId) -> &mut ValueNode<'m> {
        &mut self.values[v.index()]
    }

    pub fn block(&self, b: BlockId) -> &Block {
        &self.blocks[b.index()]
    }

    pub fn block_mut(&mut self, b: BlockId) -> &mut Block {
        &mut self.blocks[b.index()]
    }

    pub fn frame_of(&self, op: OpId) -> &Frame<'m> {
        self.frame(self.op(op).frame)
    }

    /// The op of the source that this op is, or stands for.
    pub fn source(&self, op: OpId) -> Option<OpView<'m>> {
        match self.op(op).kind {
            Kind::Source(source) => Some(self.module.view(&self.frame_of(op).func.body, source)),
            Kind::Call { .. } | Kind::Edge(_) | Kind::FuncEdge(_) | Kind::Constraint(_) => None,
        }
    }

    pub fn opcode(&self, op: OpId) -> Option<Opcode> {
        match self.op(op).kind {
            Kind::Constraint(_) => Some(Opcode::ShardingConstraint),
            _ => self.source(op).map(|view| Opcode::of_view(&view)),
        }
    }

    pub fn facts(&self, op: OpId) -> Option<(OpView<'m>, &'static dyn Facts)> {
        self.source(op).map(|view| (view, Opcode::of_view(&view).facts()))
    }

    pub fn is_edge(&self, op: OpId) -> bool {
        matches!(self.op(op).kind, Kind::Edge(_))
    }

    pub fn is_terminator(&self, op: OpId) -> bool {
        self.source(op).is_some_and(|view| view.module.table.def(view.data().code).is_terminator())
    }

    pub fn terminator(&self, block: BlockId) -> OpId {
        *self.block(block).ops.last().expect("a block ends in a terminator")
    }

    /// Where the sharding of `v` is kept: with the edge, if it is at one.
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

    /// Uses, newest first.
    pub fn uses(&self, v: ValueId) -> impl Iterator<Item = Use> + '_ {
        self.value(v).uses.iter().rev().copied().filter(move |u| {
            let op = self.op(u.op);
            !op.is_erased && !op.is_dead && op.operands[u.index] == v
        })
    }

    pub fn has_one_use(&self, v: ValueId) -> bool {
        self.uses(v).take(2).count() == 1
    }

    /// All ops, in the order of the functions: before each op those in its blocks, or after them.
    pub fn walk(&self, order: Order) -> Vec<OpId> {
        let mut out = vec![];
        for &root in &self.roots {
            self.walk_into(self.frame(root).block, order, &mut out);
        }
        out
    }

    /// The ops of a block and of the blocks within.
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
        self.values.push(ValueNode { ty, loc, def, sharding, uses: vec![], edge: None });
        ValueId::new(self.values.len() - 1)
    }

    /// A new op, in no block's list yet, with operands but without results.
    pub fn add_op(&mut self, frame: FrameId, kind: Kind, operands: &[ValueId], parent: BlockId) -> OpId {
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

    /// Enters the operands of `op` as the newest uses.
    pub fn add_uses(&mut self, op: OpId) {
        for (index, v) in self.ops[op.index()].operands.iter().enumerate() {
            self.values[v.index()].uses.push(Use { op, index });
        }
    }

    pub fn add_block(&mut self, parent: Option<OpId>) -> BlockId {
        self.blocks.push(Block { parent, ..Block::default() });
        BlockId::new(self.blocks.len() - 1)
    }

    /// A copy of an op and of all within, in the block's list of `parent` yet to be put; `names` renames operands and
    /// learns the results.
    pub fn clone_op(&mut self, op: OpId, names: &mut HashMap<ValueId, ValueId>, parent: BlockId) -> OpId {
        let node = self.op(op).clone();
        let operands: Vec<ValueId> = node.operands.iter().map(|v| *names.get(v).unwrap_or(v)).collect();
        let copy = self.add_op(node.frame, node.kind, &operands, parent);
        if let Some(&callee) = self.calls.get(&op) {
            self.calls.insert(copy, callee);
        }
        for &block in &node.blocks {
            let new = self.add_block(Some(copy));
            self.ops[copy.index()].blocks.push(new);
            self.clone_block(block, new, names);
        }
        for &v in &node.results {
            let new = self.clone_value(v, Def::Result(copy), names);
            self.ops[copy.index()].results.push(new);
        }
        copy
    }

    pub fn clone_block(&mut self, from: BlockId, to: BlockId, names: &mut HashMap<ValueId, ValueId>) {
        for arg in self.block(from).args.clone() {
            let new = self.clone_value(arg, Def::Argument(to), names);
            self.block_mut(to).args.push(new);
        }
        for op in self.block(from).ops.clone() {
            let new = self.clone_op(op, names, to);
            self.block_mut(to).ops.push(new);
        }
    }

    fn clone_value(&mut self, v: ValueId, def: Def, names: &mut HashMap<ValueId, ValueId>) -> ValueId {
        let (ty, loc, sharding) = (self.value(v).ty, self.value(v).loc, self.value(v).sharding.clone());
        let new = self.add_value(ty, loc, def, sharding);
        names.insert(v, new);
        new
    }

    /// Forgets an op and all within; its block's list still has it.
    pub fn erase(&mut self, op: OpId) {
        self.op_mut(op).is_erased = true;
        for block in self.op(op).blocks.clone() {
            self.block(block).ops.clone().into_iter().for_each(|inner| self.erase(inner));
        }
    }

    pub fn is_sharding_group(&self, op: OpId) -> bool {
        self.opcode(op) == Some(Opcode::ShardingGroup)
    }

    /// Sets one operand; the use is the newest of its new value.
    pub fn set_operand(&mut self, at: Use, v: ValueId) {
        self.ops[at.op.index()].operands[at.index] = v;
        self.values[v.index()].uses.push(at);
    }

    /// Moves those uses of `from` that `pick` takes to `to`, newest first, so that they end up oldest first.
    pub fn replace_uses(&mut self, from: ValueId, to: ValueId, pick: impl Fn(&Draft<'m>, Use) -> bool) {
        let picked: Vec<Use> = self.uses(from).filter(|&u| pick(self, u)).collect();
        for at in picked {
            self.set_operand(at, to);
        }
    }

    /// Reverses the list of uses.
    pub fn reverse_uses(&mut self, v: ValueId) {
        self.values[v.index()].uses.reverse();
    }

    /// Puts an op behind the one that makes `v`, or in front of its block.
    pub fn place_after_value(&mut self, op: OpId, v: ValueId) {
        let (block, at) = match self.value(v).def {
            Def::Argument(block) => (block, 0),
            Def::Result(def) => {
                let block = self.op(def).parent;
                (block, 1 + self.block(block).ops.iter().position(|&o| o == def).expect("an op is in its block"))
            }
        };
        self.ops[op.index()].parent = block;
        self.block_mut(block).ops.insert(at, op);
    }

    /// Takes an op out of its block's list.
    pub fn unlink(&mut self, op: OpId) {
        let parent = self.op(op).parent;
        self.block_mut(parent).ops.retain(|&o| o != op);
    }

    /// `loc`, which stands in the frame's function, under the call of the frame.
    pub fn locate(&self, frame: FrameId, loc: &Loc) -> Loc {
        let caller = &self.frame(frame).caller;
        match (loc.is_unknown(), caller.is_unknown()) {
            (_, true) => loc.clone(),
            (true, false) => caller.clone(),
            (false, false) => Loc::new(LocKind::CallSite { callee: loc.clone(), caller: caller.clone() }),
        }
    }
}

/// Where a walk puts an op that has blocks: before their ops, or after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Pre,
    Post,
}
