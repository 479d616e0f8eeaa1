//! Makes a copy of a constant for each of its uses, so that a constant does not connect the shardings of its users.
//!
//! Constants are literals, iotas, elementwise ops, broadcasts, reshapes and slices of constants, and calls of functions
//! that contain nothing else. A broadcast scalar is copied as well. Scalars themselves cannot be split over devices and
//! remain shared.

use crate::draft::{BlockId, Def, Draft, FrameId, NodeKind, OpId, Order, Use, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::FuncId;
use shardwise_ops::calls::{MAX_OPS, callees_first};
use shardwise_ops::shardy::computation_name;
use shardwise_ops::{Constness, Effects, Opcode, PropagationClass};
use std::collections::HashSet;
use std::sync::Arc;

/// Copies each constant for each of its uses. A constant is a literal, an iota, or what elementwise ops, broadcasts,
/// reshapes, slices, and calls and named computations of such ops compute from constants alone. It is copied with all
/// that it is computed from. Broadcast scalars are copied as well, and scalars remain shared. Constants and broadcasts
/// that are then without uses are erased.
///
/// # Errors
/// Fails if there are too many ops with the copies (`constant-size`).
pub(crate) fn split_constants(draft: &mut Draft<'_>) -> Result<(), Diagnostics> {
    let mut impure = Impure::default();
    let groups = sharding_groups(draft);
    let mut sizes = FxHashMap::default();
    for frame in frames(draft) {
        let func = draft.frame(frame).func.name.clone();
        let block = draft.frame(frame).block;
        let (mut named, mut ops) = (vec![], vec![]);
        walk(draft, block, &mut ops, &mut named);
        let inner = named.into_iter().map(|(op, ops)| (named_computation(draft, op), ops));
        for (name, ops) in inner.collect::<Vec<_>>().into_iter().chain([(None, ops)]) {
            let (impure, groups, sizes) = (&mut impure, &groups, &mut sizes);
            let (copied, before) = (FxHashSet::default(), FxHashMap::default());
            let split = Split { draft, impure, groups, sizes, copied, before, is_too_large: false };
            split.run(&func, name, &ops)?;
        }
        if !draft.calls.is_empty() {
            let size = size_of_copy(draft, frame, &sizes);
            sizes.insert(frame, size);
        }
    }
    Ok(())
}

/// The functions and named computations, found so far, with an op whose results need not be constants even if its
/// operands are.
#[derive(Default)]
struct Impure {
    funcs: HashSet<Arc<str>>,
    computations: HashSet<Arc<str>>,
}

/// Returns, for each value in sharding groups, the ops `sdy.sharding_group` that use it, newest first.
fn sharding_groups(draft: &Draft<'_>) -> FxHashMap<ValueId, Vec<OpId>> {
    let marks = draft.ops.keys().filter(|&op| draft.is_sharding_group(op));
    let members: FxHashSet<ValueId> = marks.flat_map(|op| draft.op(op).operands.iter().copied()).collect();
    let of = |v| draft.uses(v).map(|u| u.op).filter(|&op| draft.is_sharding_group(op)).collect();
    members.into_iter().map(|v| (v, of(v))).collect()
}

/// Returns the frames of all calls that import replaced, those imported last first, and then the functions that remain
/// functions, callees before callers.
fn frames(draft: &Draft<'_>) -> Vec<FrameId> {
    let called = draft.ops.iter().filter_map(|op| match op.kind {
        NodeKind::Call { callee, .. } => Some(callee),
        _ => None,
    });
    let mut frames: Vec<FrameId> = called.collect();
    frames.reverse();
    let funcs = draft.roots.iter().map(|&r| draft.frame(r).func);
    let funcs = funcs.filter_map(|f| draft.module.func_id(&f.name)).collect();
    let root = |id: FuncId| draft.roots.iter().find(|&&r| draft.frame(r).func.name == draft.module[id].name);
    frames.extend(callees_first(draft.module, funcs).into_iter().filter_map(|id| root(id).copied()));
    frames
}

/// Returns the number of ops that a copy of a function adds to the draft, with copies of the functions that it calls.
/// `sizes` has these numbers for the functions that it calls.
fn size_of_copy(draft: &Draft<'_>, frame: FrameId, sizes: &FxHashMap<FrameId, usize>) -> usize {
    let called = |op: &OpId| draft.calls.get(op).map_or(0, |callee| sizes[callee]);
    let ops = draft.block_ops(draft.frame(frame).block);
    ops.iter().fold(0, |sum: usize, op| sum.saturating_add(1).saturating_add(called(op)))
}

/// Adds the ops of a body to `out` in program order. The ops inside a named computation are added to `named` instead,
/// inner computations first. The bodies of replaced calls are not visited, because they are frames of their own.
fn walk(draft: &Draft<'_>, block: BlockId, out: &mut Vec<OpId>, named: &mut Vec<(OpId, Vec<OpId>)>) {
    for &op in &draft.block(block).ops {
        out.push(op);
        match draft.opcode(op) {
            Some(Opcode::NamedComputation) => {
                let mut inner = vec![];
                walk(draft, draft.op(op).blocks[0], &mut inner, named);
                named.push((op, inner));
            }
            _ if matches!(draft.op(op).kind, NodeKind::Call { .. }) => {}
            _ => draft.op(op).blocks.iter().for_each(|&inner| walk(draft, inner, out, named)),
        }
    }
}

fn named_computation(draft: &Draft<'_>, op: OpId) -> Option<Arc<str>> {
    let view = draft.source(op).filter(|v| Opcode::of_view(v) == Opcode::NamedComputation)?;
    computation_name(view.attrs()).map(Arc::from)
}

struct Split<'a, 'm> {
    draft: &'a mut Draft<'m>,
    impure: &'a mut Impure,
    groups: &'a FxHashMap<ValueId, Vec<OpId>>,
    /// The results of [`size_of_copy`] for the functions that were split so far, callees before callers, and for copies
    /// of them. Empty if no call remains a call.
    sizes: &'a mut FxHashMap<FrameId, usize>,
    /// Ops that are copied for each use: constants and broadcast scalars.
    copied: FxHashSet<OpId>,
    /// The copies to insert before each original.
    before: FxHashMap<OpId, Vec<OpId>>,
    /// True if a function was not copied because the program would have more than [`MAX_OPS`] ops.
    is_too_large: bool,
}

impl Split<'_, '_> {
    /// Splits the constants in the ops of a function, or of a named computation in it. Fails if the program has more
    /// than [`MAX_OPS`] ops then.
    fn run(mut self, func: &Arc<str>, computation: Option<Arc<str>>, ops: &[OpId]) -> Result<(), Diagnostics> {
        let (mut constants, mut expansions) = (vec![], vec![]);
        let mut known = FxHashSet::default();
        for &op in ops {
            if self.draft.is_sharding_group(op) {
                continue;
            }
            let (is_literal, preserves) = self.kind(op);
            if is_literal || (preserves && self.has_operands_of(op, &known)) {
                known.insert(op);
                self.copied.insert(op);
                constants.push(op);
                continue;
            }
            if !preserves && !self.draft.is_terminator(op) {
                self.impure.computations.extend(computation.clone());
                self.impure.funcs.insert(func.clone());
            }
            if self.is_scalar_expansion(op) {
                self.copied.insert(op);
                expansions.push(op);
            } else {
                self.copy_operands(op);
                if self.is_too_large || self.draft.ops.len() > MAX_OPS {
                    return Err(too_many_copies(self.draft, op).into());
                }
            }
        }
        self.place_copies(ops);
        self.erase_unused(expansions.into_iter().chain(constants.into_iter().rev()));
        Ok(())
    }

    /// Returns two flags. The first is true if the op is a literal. The second is true if it is not a literal, and its
    /// results are constants if all its operands are.
    fn kind(&self, op: OpId) -> (bool, bool) {
        let callee = match self.draft.op(op).kind {
            NodeKind::Call { callee, .. } => Some(callee),
            _ => self.draft.calls.get(&op).copied(),
        };
        if let Some(callee) = callee {
            return (false, !self.impure.funcs.contains(&self.draft.frame(callee).func.name));
        }
        if let Some(name) = named_computation(self.draft, op) {
            return (false, !self.impure.computations.contains(&name));
        }
        let constness = self.draft.facts(op).map(|(view, facts)| facts.constness(&view));
        (constness == Some(Constness::Literal), constness == Some(Constness::OfOperands))
    }

    fn has_operands_of(&self, op: OpId, known: &FxHashSet<OpId>) -> bool {
        self.draft.op(op).operands.iter().all(|&v| self.draft.def_op(v).is_some_and(|def| known.contains(&def)))
    }

    fn is_scalar_expansion(&self, op: OpId) -> bool {
        let class = self.draft.facts(op).map(|(view, facts)| facts.propagation_class(&view));
        class == Some(PropagationClass::Broadcast) && self.draft.is_scalar(self.draft.op(op).operands[0])
    }

    fn copy_operands(&mut self, op: OpId) {
        for index in 0..self.draft.op(op).operands.len() {
            let v = self.draft.op(op).operands[index];
            let is_copied = self.draft.def_op(v).is_some_and(|def| self.copied.contains(&def));
            if is_copied && !self.draft.is_scalar(v) {
                let mut copies = FxHashMap::default();
                self.copy(v, &mut copies);
                self.draft.set_operand(Use { op, index }, copies[&v]);
            }
        }
    }

    /// Copies the op that defines `v`, after copying the ops that define its operands, and the sharding groups that use
    /// `v`. If the op is a call that remains a call, its callee is copied as well. The copies are added to
    /// [`before`](Split::before), and the copied values to `copies`. Scalars, arguments and values in `copies` are not
    /// copied.
    fn copy(&mut self, v: ValueId, copies: &mut FxHashMap<ValueId, ValueId>) {
        let mut open = vec![(v, false)];
        while let Some((v, has_operands)) = open.pop() {
            let Def::Result(op) = self.draft.value(v).def else { continue };
            if self.draft.is_scalar(v) || copies.contains_key(&v) {
                continue;
            }
            if has_operands {
                self.copy_op(op, v, copies);
            } else {
                open.push((v, true));
                open.extend(self.draft.op(op).operands.iter().rev().map(|&operand| (operand, false)));
            }
        }
    }

    /// Copies the op, which defines `v`, and the sharding groups that use `v`. `copies` has its operands already. If
    /// the op is a call that remains a call, its callee is copied as well, unless the program would have too many ops.
    /// It then still calls the same function, and [`is_too_large`](Split::is_too_large) is set.
    fn copy_op(&mut self, op: OpId, v: ValueId, copies: &mut FxHashMap<ValueId, ValueId>) {
        let parent = self.draft.op(op).parent;
        let copy = self.draft.clone_op(op, copies, parent);
        if let Some(&callee) = self.draft.calls.get(&op) {
            self.is_too_large |= self.sizes[&callee].saturating_add(self.draft.ops.len()) > MAX_OPS;
            if !self.is_too_large {
                let clone = self.copy_func(callee);
                self.draft.calls.insert(copy, clone);
            }
        }
        let groups = self.groups.get(&v).into_iter().flatten();
        let groups: Vec<OpId> = groups.map(|&group| self.draft.clone_op(group, copies, parent)).collect();
        self.before.entry(op).or_default().extend([copy].into_iter().chain(groups));
    }

    /// Adds a function with a new name and a copy of the body of `frame`, and returns it. The functions that it calls
    /// are copied as well.
    fn copy_func(&mut self, frame: FrameId) -> FrameId {
        let first = self.draft.roots.len();
        let copy = self.copy_body(frame);
        let (id, mut open, mut done) = (copy.0, vec![copy], vec![]);
        while let Some((func, calls)) = open.last_mut() {
            if let Some(call) = calls.next() {
                let callee = self.draft.calls[&call];
                let inner = self.copy_body(callee);
                self.draft.calls.insert(call, inner.0);
                open.push(inner);
            } else {
                let func = *func;
                let original = self.draft.frame(func).func;
                let name = self.draft.names.add(&original.name);
                self.draft.frames[func].copy_name = Some(name);
                done.push(func);
                open.pop();
            }
        }
        // The copies are in the order in which they were made. A function comes behind those that it calls.
        self.draft.roots.truncate(first);
        self.draft.roots.extend(done);
        id
    }

    /// Adds a function with a copy of the body of `frame` and without a new name. Returns it, with the copies of the
    /// calls in the body, which still call the same functions.
    fn copy_body(&mut self, frame: FrameId) -> (FrameId, std::vec::IntoIter<OpId>) {
        let (func, block, size) = (self.draft.frame(frame).func, self.draft.frame(frame).block, self.sizes[&frame]);
        let copy = self.draft.add_root(func, None);
        self.sizes.insert(copy, size);
        let into = self.draft.frame(copy).block;
        self.draft.clone_block(block, into, &mut FxHashMap::default());
        let mut calls = self.draft.block_ops(into);
        calls.iter().for_each(|&op| self.draft.ops[op].frame = copy);
        calls.retain(|op| self.draft.calls.contains_key(op));
        (copy, calls.into_iter())
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

    /// Erases those of `ops` whose results have no users except ops `sdy.sharding_group`, together with these users.
    fn erase_unused(&mut self, ops: impl Iterator<Item = OpId>) {
        let mut blocks = FxHashSet::default();
        for op in ops {
            let results = self.draft.op(op).results.clone();
            let users: Vec<OpId> = results.iter().flat_map(|&v| self.draft.uses(v)).map(|u| u.op).collect();
            if users.iter().any(|&u| !self.draft.is_sharding_group(u)) {
                continue;
            }
            for gone in users.into_iter().chain([op]) {
                self.draft.erase(gone);
                blocks.insert(self.draft.op(gone).parent);
            }
        }
        for block in blocks {
            let mut ops = std::mem::take(&mut self.draft.block_mut(block).ops);
            ops.retain(|&op| !self.draft.op(op).is_erased);
            self.draft.block_mut(block).ops = ops;
        }
    }
}

fn too_many_copies(draft: &Draft<'_>, op: OpId) -> Diagnostic {
    let message =
        format!("the program and the copies of its constants, one for each use, have more than {MAX_OPS} ops");
    let of_operand = draft.op(op).operands.first().map(|&v| draft.value(v).loc.clone());
    let loc = of_operand.or_else(|| draft.source(op).map(|view| view.loc().clone())).unwrap_or(Loc::UNKNOWN);
    Diagnostic::error("constant-size", &loc, message)
        .note("a constant is also what is computed from constants alone, op by op")
        .help("compute the values outside of the program, and pass them as arguments")
}

/// Marks as dead each pure op ([`Effects::Pure`]) of the source whose results only dead ops use. Sharding constraints,
/// terminators and the ops that an `async_start` starts are not marked. MLIR's driver removes a dead op only when it
/// visits it, so in Shardy it may still count as a user in the first round. Here it never does.
pub(crate) fn mark_dead(draft: &mut Draft<'_>) {
    let mut pending = draft.walk(Order::Pre);
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
    let stays = Opcode::of_view(&view) == Opcode::ShardingConstraint || is_started(draft, op);
    !stays && !draft.is_terminator(op) && facts.effects(&view) == Effects::Pure
}

/// Returns true if the op is in the region of an `async_start`, which must keep the op that is started.
fn is_started(draft: &Draft<'_>, op: OpId) -> bool {
    let around = draft.block(draft.op(op).parent).parent;
    around.is_some_and(|around| draft.opcode(around) == Some(Opcode::AsyncStart))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::parse;

    #[test]
    fn an_op_without_operands_may_be_one_too_many() {
        let text = "func.func @main() -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1, %0 : tensor<f32>, tensor<f32>
}";
        let module = parse("x.mlir", text, &shardwise_ops::OPS).unwrap();
        let draft = crate::import::import(&module, module.main().unwrap()).unwrap();
        let places: Vec<String> =
            draft.walk(Order::Pre).into_iter().map(|op| too_many_copies(&draft, op).loc.to_string()).collect();
        assert_eq!(places, ["x.mlir:2:3", "x.mlir:2:3", "x.mlir:3:3"]);
    }

    /// Returns a program that calls the last of `count` functions with a constant. Each calls the one before it as
    /// often as `calls` says, the first one excepted.
    fn nested(count: usize, calls: usize) -> String {
        let func = |i: usize| {
            let call = |k: usize| format!("  %{} = call @f{}(%{k}) : (tensor<2xf32>) -> tensor<2xf32>\n", k + 1, i - 1);
            let calls = if i == 0 { 0 } else { calls };
            let body = (0..calls).map(call).collect::<Vec<_>>().concat();
            format!(
                "func.func private @f{i}(%0: tensor<2xf32>) -> tensor<2xf32> {{\n{body}  return %{calls} : \
                 tensor<2xf32>\n}}\n"
            )
        };
        let funcs = (0..count).map(func).collect::<Vec<_>>().concat();
        format!(
            "func.func @main() -> tensor<2xf32> {{
  %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
  %1 = call @f{}(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}}
{funcs}",
            count - 1
        )
    }

    #[test]
    fn functions_of_constants_are_copied_with_those_that_they_call_unless_these_are_too_many() {
        let split = |count: usize, calls: usize| {
            let module = parse("x.mlir", &nested(count, calls), &shardwise_ops::OPS).unwrap();
            let mut draft = crate::import::import_as_written(&module).unwrap();
            let found = split_constants(&mut draft).map_err(|e| e.0[0].code);
            found.map(|()| draft.roots.iter().map(|&r| draft.frame(r).name().to_string()).collect::<Vec<_>>())
        };
        let copied = ["main", "f0", "f1", "f2", "f0_0", "f0_1", "f1_2", "f0_3", "f0_4", "f1_5", "f2_6"];
        assert_eq!(split(3, 2), Ok(copied.map(String::from).to_vec()));
        assert_eq!(split(5000, 1).map(|funcs| funcs.len()), Ok(1 + 2 * 5000));
        assert_eq!(split(30, 2), Err("constant-size"));
    }
}
