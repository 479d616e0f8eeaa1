//! The memory in use: when each value is allocated, and when its memory is free again.

use crate::frame::Frame;
use crate::fuse::Item;
use crate::schedule::{Done, Plan};
use crate::simulate::short;
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;
use shardwise_view::{MemoryPart, MemoryUse, Picoseconds};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A value in the memory of a device, or of a host.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) start: Picoseconds,
    /// The time at which the value is freed, or `None` if it stays.
    pub(crate) end: Option<Picoseconds>,
    pub(crate) part: MemoryPart,
}

/// A block's results, the time from which they can be used, and true if the block is the program.
type Ends<'a> = (&'a [Value], Picoseconds, bool);

/// Adds the allocations of the items of a block that has been simulated. The results of the program stay.
pub(crate) fn account(
    allocations: &mut Vec<Allocation>,
    block: OpView<'_>,
    frame: &Frame<'_>,
    plan: &Plan,
    done: &[Done],
    (results, end, is_main): Ends<'_>,
) {
    let last = last_uses(frame, plan, done);
    let returned: BTreeSet<Value> = results.iter().map(|&v| frame.get(v).base).collect();
    // The items that write their results into the memory of an operand: each into that of one.
    let mut taking = BTreeSet::new();
    for (i, item) in plan.items.iter().enumerate() {
        let root = block.at(item.root());
        let is_alias = matches!(item, Item::Free(_)) || Opcode::of_view(&root) == Opcode::AsyncDone;
        for &v in root.results().iter().filter(|_| !is_alias) {
            let freed = match last.get(&v) {
                _ if returned.contains(&v) => (!is_main).then_some(end),
                Some(&(user, time)) => {
                    let is_taken = takes_over(block, frame, plan, user, v) && taking.insert(user);
                    Some(if is_taken { done[user].start } else { time })
                }
                None => Some(done[i].end),
            };
            let name = short(&root);
            let part = MemoryPart { name, loc: root.loc().clone(), bytes: frame.bytes(v) };
            let start = done[i].start;
            allocations.push(Allocation { start, end: freed.map(|time| time.max(start)), part });
        }
    }
}

/// Returns, for each value, the item that ends last among those that use it or another value in its memory, and the
/// time at which this item ends. A value without such items has no entry.
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

/// Returns true if the item can write its result into the memory of `v`, which no later item uses: if it is a group
/// whose results have as many bytes as `v`, and no product of it reads `v`.
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

pub(crate) fn curve(allocations: &[Allocation]) -> Vec<MemoryUse> {
    let of = |a: &Allocation| [Some((a.start, a.part.bytes as i64)), a.end.map(|end| (end, -(a.part.bytes as i64)))];
    let mut changes: Vec<(Picoseconds, i64)> = allocations.iter().flat_map(of).flatten().collect();
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

/// Returns the values that are in memory at a time, the largest first, without those of 0 bytes and those that are
/// freed at this time. Values with the same name and source location are one part.
pub(crate) fn parts(allocations: &[Allocation], time: Picoseconds) -> Vec<MemoryPart> {
    let is_held = |a: &&Allocation| a.part.bytes > 0 && a.start <= time && a.end.is_none_or(|end| end > time);
    let mut by_place: BTreeMap<(String, String), MemoryPart> = BTreeMap::new();
    for Allocation { part, .. } in allocations.iter().filter(is_held) {
        let key = (part.name.clone(), part.loc.to_string());
        let known = by_place.entry(key).or_insert(MemoryPart { bytes: 0, ..part.clone() });
        known.bytes = known.bytes.saturating_add(part.bytes);
    }
    let mut parts: Vec<MemoryPart> = by_place.into_values().collect();
    // The sort is stable, so that equal sizes stay in the order of their names.
    parts.sort_by_key(|part| Reverse(part.bytes));
    parts
}
