//! Gives each use of a constant its own copy, so that a constant does not tie its users' shardings together.
//!
//! A constant is a literal, an iota, or elementwise ops, broadcasts, reshapes and slices of constants, and calls of
//! functions that do nothing else. A broadcast scalar is copied likewise. Scalars themselves are never split over
//! devices and stay shared.

use super::draft::{BlockId, Def, Draft, ENTRY, Kind, OpId, Order, Use, ValueId};
use super::import::callee;
use shardwise_ir::{FuncId, Module, OpView};
use shardwise_ops::{Effects, Opcode, PropagationClass};
use std::collections::{HashMap, HashSet};

/// Splits in every function's body, callees first.
pub(super) fn split_constants(draft: &mut Draft<'_>) {
    let pure_funcs = constant_preserving_funcs(draft.module);
    for block in frame_blocks(draft).into_iter().rev() {
        let ops = walk_frame(draft, block);
        let mut split = Split { draft, pure_funcs: &pure_funcs, copied: HashSet::new(), before: HashMap::new() };
        split.run(&ops);
    }
}

/// The block of each frame, callers first.
fn frame_blocks(draft: &Draft<'_>) -> Vec<BlockId> {
    let mut blocks = vec![ENTRY];
    blocks.extend(draft.ops.iter().filter(|op| matches!(op.kind, Kind::Call { .. })).map(|op| op.blocks[0]));
    blocks
}

/// The ops of a frame, in program order, without those of the frames within.
fn walk_frame(draft: &Draft<'_>, block: BlockId) -> Vec<OpId> {
    let mut out = vec![];
    let mut stack: Vec<OpId> = draft.block(block).ops.iter().rev().copied().collect();
    while let Some(op) = stack.pop() {
        out.push(op);
        if !matches!(draft.op(op).kind, Kind::Call { .. }) {
            for &inner in draft.op(op).blocks.iter().rev() {
                stack.extend(draft.block(inner).ops.iter().rev());
            }
        }
    }
    out
}

fn is_literal(view: &OpView<'_>) -> bool {
    matches!(Opcode::of_view(view), Opcode::Constant | Opcode::SdyConstant | Opcode::Iota)
}

/// Whether results are constants if all operands are.
fn preserves_constants(view: &OpView<'_>) -> bool {
    let (opcode, facts) = (Opcode::of_view(view), Opcode::of_view(view).facts());
    let moves = matches!(opcode, Opcode::BroadcastInDim | Opcode::Reshape | Opcode::Slice);
    let is_elementwise = facts.propagation_class(view) == PropagationClass::Elementwise;
    opcode != Opcode::ShardingConstraint && facts.effects(view) == Effects::Pure && (moves || is_elementwise)
}

/// The functions that make constants of constants.
fn constant_preserving_funcs(module: &Module) -> Vec<bool> {
    let mut known: Vec<Option<bool>> = vec![None; module.funcs.len()];
    // Import has refused recursion, so this ends; each round settles at least the functions that call nobody else.
    while known.contains(&None) {
        for i in (0..known.len()).filter(|&i| known[i].is_none()).collect::<Vec<_>>() {
            known[i] = preserves_all(module, FuncId::new(i), &known);
        }
    }
    known.into_iter().map(|k| k == Some(true)).collect()
}

/// `None` while a callee is not known.
fn preserves_all(module: &Module, id: FuncId, known: &[Option<bool>]) -> Option<bool> {
    let body = &module[id].body;
    let mut all = true;
    for op in body.walk() {
        let view = module.view(body, op);
        all &= match callee(&view) {
            Some(callee) => known[callee.index()]?,
            None => {
                is_literal(&view) || preserves_constants(&view) || module.table.def(view.data().code).is_terminator()
            }
        };
    }
    Some(all)
}

struct Split<'a, 'm> {
    draft: &'a mut Draft<'m>,
    pure_funcs: &'a [bool],
    /// Ops whose every use gets a copy: constants and broadcast scalars.
    copied: HashSet<OpId>,
    /// Copies to put in front of their originals.
    before: HashMap<OpId, Vec<OpId>>,
}

impl Split<'_, '_> {
    fn run(&mut self, ops: &[OpId]) {
        let (mut constants, mut expansions) = (vec![], vec![]);
        let mut known = HashSet::new();
        for &op in ops {
            if self.draft.is_sharding_group(op) {
                continue;
            }
            if self.is_constant(op, &known) {
                known.insert(op);
                self.copied.insert(op);
                constants.push(op);
            } else if self.is_scalar_expansion(op) {
                self.copied.insert(op);
                expansions.push(op);
            } else {
                self.copy_operands(op);
            }
        }
        self.place_copies(ops);
        self.erase_unused(expansions.into_iter().chain(constants.into_iter().rev()));
    }

    fn is_constant(&self, op: OpId, known: &HashSet<OpId>) -> bool {
        let of_constants = |op: OpId| {
            let operands = &self.draft.op(op).operands;
            operands.iter().all(|&v| self.draft.def_op(v).is_some_and(|def| known.contains(&def)))
        };
        match (self.callee(op), self.draft.source(op)) {
            (Some(callee), _) => self.pure_funcs[callee.index()] && of_constants(op),
            (_, Some(view)) => is_literal(&view) || (preserves_constants(&view) && of_constants(op)),
            _ => false,
        }
    }

    fn callee(&self, op: OpId) -> Option<FuncId> {
        match self.draft.op(op).kind {
            Kind::Call { callee } => self.draft.module.func_id(&self.draft.frames[callee.index()].func.name),
            _ => callee(&self.draft.source(op)?),
        }
    }

    fn is_scalar_expansion(&self, op: OpId) -> bool {
        let is_broadcast = self.draft.opcode(op) == Some(Opcode::BroadcastInDim);
        is_broadcast && self.draft.is_scalar(self.draft.op(op).operands[0])
    }

    fn copy_operands(&mut self, op: OpId) {
        for index in 0..self.draft.op(op).operands.len() {
            let v = self.draft.op(op).operands[index];
            let is_copied = self.draft.def_op(v).is_some_and(|def| self.copied.contains(&def));
            if is_copied && !self.draft.is_scalar(v) {
                let mut copies = HashMap::new();
                self.copy(v, &mut copies);
                self.draft.set_operand(Use { op, index }, copies[&v]);
            }
        }
    }

    /// Copies the op that makes `v`, and first what it is made of.
    fn copy(&mut self, v: ValueId, copies: &mut HashMap<ValueId, ValueId>) {
        let Def::Result(op) = self.draft.value(v).def else { return };
        if self.draft.is_scalar(v) || copies.contains_key(&v) {
            return;
        }
        for operand in self.draft.op(op).operands.clone() {
            self.copy(operand, copies);
        }
        let copy = self.draft.clone_op(op, copies, self.draft.op(op).parent);
        self.before.entry(op).or_default().push(copy);
    }

    fn place_copies(&mut self, ops: &[OpId]) {
        let mut blocks: Vec<BlockId> = ops.iter().map(|&op| self.draft.op(op).parent).collect();
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            let old = std::mem::take(&mut self.draft.block_mut(block).ops);
            let new = old.into_iter().flat_map(|op| {
                let copies = self.before.remove(&op).unwrap_or_default();
                copies.into_iter().chain([op])
            });
            self.draft.block_mut(block).ops = new.collect();
        }
    }

    fn erase_unused(&mut self, ops: impl Iterator<Item = OpId>) {
        let mut blocks = HashSet::new();
        for op in ops {
            let is_used = |v: &ValueId| self.draft.uses(*v).any(|u| !self.draft.is_sharding_group(u.op));
            if !self.draft.op(op).results.iter().any(is_used) {
                self.draft.erase(op);
                blocks.insert(self.draft.op(op).parent);
            }
        }
        for block in blocks {
            let mut ops = std::mem::take(&mut self.draft.block_mut(block).ops);
            ops.retain(|&op| !self.draft.op(op).is_erased);
            self.draft.block_mut(block).ops = ops;
        }
    }
}

/// Marks the ops that nobody needs. MLIR's driver removes each when it comes to it, so in Shardy an op that is dead may
/// still count as a user in the first round; here it never does.
pub(super) fn mark_dead(draft: &mut Draft<'_>) {
    let mut pending = draft.walk(ENTRY, Order::Pre);
    while let Some(op) = pending.pop() {
        if draft.op(op).is_dead || !is_removable(draft, op) {
            continue;
        }
        if draft.op(op).results.iter().all(|&v| draft.uses(v).next().is_none()) {
            draft.op_mut(op).is_dead = true;
            let operands = draft.op(op).operands.clone();
            pending.extend(operands.iter().filter_map(|&v| draft.def_op(v)));
        }
    }
}

fn is_removable(draft: &Draft<'_>, op: OpId) -> bool {
    let Some((view, facts)) = draft.facts(op) else { return false };
    let is_mark = Opcode::of_view(&view) == Opcode::ShardingConstraint;
    !is_mark && !draft.is_terminator(op) && facts.effects(&view) == Effects::Pure
}
