//! The memory in use: when each value is allocated, and when its memory is free again.

use crate::frame::Frame;
use crate::fuse::Item;
use crate::schedule::{Done, Plan};
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;
use shardwise_view::{MemoryUse, Picoseconds};
use std::collections::{BTreeMap, BTreeSet};

/// A block's results, when they are there, and whether it is the program.
type Ends<'a> = (&'a [Value], Picoseconds, bool);

/// Adds the changes of memory by the items of a block that has been simulated. The results of the program stay.
pub(crate) fn account(
    changes: &mut Vec<(Picoseconds, i64)>,
    block: OpView<'_>,
    frame: &Frame<'_>,
    plan: &Plan,
    done: &[Done],
    (results, end, is_main): Ends<'_>,
) {
    let last = last_uses(frame, plan, done);
    let returned: BTreeSet<Value> = results.iter().map(|&v| frame.get(v).base).collect();
    for (i, item) in plan.items.iter().enumerate() {
        let root = block.at(item.root());
        let is_alias = matches!(item, Item::Free(_)) || Opcode::of_view(&root) == Opcode::AsyncDone;
        for &v in root.results().iter().filter(|_| !is_alias) {
            let bytes = frame.bytes(v) as i64;
            let freed = match last.get(&v) {
                _ if returned.contains(&v) => (!is_main).then_some(end),
                Some(&(user, time)) => {
                    Some(if takes_over(block, frame, plan, user, v) { done[user].start } else { time })
                }
                None => Some(done[i].end),
            };
            changes.push((done[i].start, bytes));
            changes.extend(freed.map(|time| (time.max(done[i].start), -bytes)));
        }
    }
}

/// Returns the item that ends last among those that use each value, or a value in its memory.
fn last_uses(frame: &Frame<'_>, plan: &Plan, done: &[Done]) -> BTreeMap<Value, (usize, Picoseconds)> {
    let mut last: BTreeMap<Value, (usize, Picoseconds)> = BTreeMap::new();
    for (i, inputs) in plan.inputs.iter().enumerate() {
        for &v in inputs {
            let known = last.entry(frame.get(v).base).or_insert((i, done[i].end));
            if done[i].end >= known.1 {
                *known = (i, done[i].end);
            }
        }
    }
    last
}

/// Returns true if the item writes its result into the memory of `v`, which no later item uses.
fn takes_over(block: OpView<'_>, frame: &Frame<'_>, plan: &Plan, item: usize, v: Value) -> bool {
    let Item::Group(ops) = &plan.items[item] else { return false };
    let root = block.at(plan.items[item].root());
    let bytes: u64 = root.results().iter().map(|&v| frame.bytes(v)).sum();
    // A product reads its operands while it writes.
    let reads_late = |op: &shardwise_ir::Op| {
        let view = block.at(*op);
        view.operands().contains(&v) && crate::op::Product::of(&view).is_some()
    };
    bytes == frame.bytes(v) && !ops.iter().any(reads_late)
}

/// Returns the memory in use from each time on, for these changes in any order.
pub(crate) fn curve(mut changes: Vec<(Picoseconds, i64)>) -> Vec<MemoryUse> {
    changes.sort_unstable();
    let (mut uses, mut bytes): (Vec<MemoryUse>, i64) = (vec![], 0);
    for (start, change) in changes {
        bytes = bytes.saturating_add(change);
        let now = MemoryUse { start, bytes: bytes.max(0) as u64 };
        match uses.last_mut() {
            Some(last) if last.start == start => *last = now,
            Some(last) if last.bytes == now.bytes => {}
            _ => uses.push(now),
        }
    }
    uses
}
