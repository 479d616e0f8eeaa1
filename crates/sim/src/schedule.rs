//! The order in which the items of a block are issued.

use crate::frame::Frame;
use crate::fuse::Item;
use shardwise_ir::{OpView, Value};
use shardwise_ops::{Effects, Opcode};
use shardwise_view::Picoseconds;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
}

/// The items of a block, with what each of them waits for.
pub(crate) struct Plan {
    pub(crate) items: Vec<Item>,
    /// For each item, the values that it uses and does not make, sorted.
    pub(crate) inputs: Vec<Vec<Value>>,
    /// The number of items that each item waits for.
    waits: Vec<usize>,
    /// The items that wait for each item.
    dependents: Vec<Vec<usize>>,
}

impl Plan {
    /// Returns the plan of the items of the block that `block` is in. Items with ordered effects stay in their order.
    pub(crate) fn new(block: OpView<'_>, items: Vec<Item>) -> Plan {
        let inputs: Vec<Vec<Value>> = items.iter().map(|item| inputs(block, item)).collect();
        let mut maker: HashMap<Value, usize> = HashMap::new();
        for (i, item) in items.iter().enumerate() {
            maker.extend(block.body[item.root()].results.iter().map(|&v| (v, i)));
        }
        let mut plan =
            Plan { waits: vec![0; items.len()], dependents: vec![vec![]; items.len()], inputs: vec![], items: vec![] };
        let mut last_ordered = None;
        for (i, item) in items.iter().enumerate() {
            let mut before: BTreeSet<usize> = inputs[i].iter().filter_map(|v| maker.get(v).copied()).collect();
            let root = block.at(item.root());
            if Opcode::of_view(&root).facts().effects(&root) == Effects::Ordered {
                before.extend(last_ordered.replace(i));
            }
            plan.waits[i] = before.len();
            before.into_iter().for_each(|j| plan.dependents[j].push(i));
        }
        Plan { items, inputs, ..plan }
    }

    /// Returns, for each item, true if all items that wait for it come at most [`SHORT_LIFE`] places after it, or if
    /// none waits for it. In place of a free item, those that wait for that one count, if there are any.
    pub(crate) fn short_lives(&self) -> Vec<bool> {
        let mut last: Vec<usize> = (0..self.items.len()).collect();
        for i in (0..self.items.len()).rev() {
            let is_free = |&&j: &&usize| matches!(self.items[j], Item::Free(_));
            let users = self.dependents[i].iter().map(|j| if is_free(&j) { last[*j] } else { *j });
            last[i] = users.max().unwrap_or(i);
        }
        last.iter().enumerate().map(|(i, last)| last - i <= SHORT_LIFE).collect()
    }
}

fn inputs(block: OpView<'_>, item: &Item) -> Vec<Value> {
    let ops = match item {
        Item::Group(ops) => &ops[..],
        Item::Free(op) | Item::Engine(op) => std::slice::from_ref(op),
    };
    let mut made: Vec<Value> = ops.iter().flat_map(|&op| block.body[op].results.iter().copied()).collect();
    made.sort_unstable();
    let mut used: Vec<Value> = vec![];
    for &op in ops {
        used.extend(&block.body[op].operands);
        if !block.body[op].regions.is_empty() {
            used.extend(block.at(op).captured());
        }
    }
    used.sort_unstable();
    used.dedup();
    used.retain(|v| made.binary_search(v).is_err());
    used
}

/// The largest distance, in places of a block, from the first op that was not issued to one that takes time and that
/// [`simulate`] issues next. Ops that are issued together take one place. The limit keeps values from waiting long for
/// their uses.
///
/// [`simulate`]: fn@crate::simulate
pub const LOOK_AHEAD: usize = 64;

/// The largest distance between an item and its last user for which its result may stay in the fast memory.
const SHORT_LIFE: usize = 64;

/// The resource that an item needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// The item uses nothing.
    Free,
    /// The item may use links while the core runs on.
    Transfer,
    /// The item uses the core.
    Core,
}

/// The items of a block that can be issued.
pub(crate) enum Queue {
    /// The items are issued in the order of the program. Holds the index of the next one.
    InOrder(usize),
    /// The items that take no time are issued first, then, of those that could start first, the transfers and after
    /// them the others, in the order of the program.
    ByReadiness(Ready),
}

/// Items for which no other item has to be issued before.
#[derive(Default)]
pub(crate) struct Ready {
    waits: Vec<usize>,
    is_issued: Vec<bool>,
    /// The first item that was not issued.
    first: usize,
    /// The largest distance from `first` of an item that takes time and that may be issued.
    look_ahead: usize,
    /// Items that are too far behind `first`, each with its kind and the time from which its inputs can be used.
    ahead: BinaryHeap<Reverse<(usize, Kind, Picoseconds)>>,
    free: BinaryHeap<Reverse<usize>>,
    /// Items whose inputs can be used, transfers first.
    available: BinaryHeap<Reverse<(Kind, usize)>>,
    /// Items whose inputs can be used from a later time on, by that time.
    later: BinaryHeap<Reverse<(Picoseconds, Kind, usize)>>,
}

impl Queue {
    pub(crate) fn new(plan: &Plan, look_ahead: Option<usize>, frame: &Frame<'_>, kinds: &[Kind]) -> Queue {
        let Some(look_ahead) = look_ahead else { return Queue::InOrder(0) };
        let is_issued = vec![false; plan.items.len()];
        let mut ready = Ready { waits: plan.waits.clone(), is_issued, look_ahead, ..Ready::default() };
        (0..plan.items.len()).filter(|&i| plan.waits[i] == 0).for_each(|i| ready.push(i, plan, frame, kinds));
        Queue::ByReadiness(ready)
    }

    pub(crate) fn next(&mut self, plan: &Plan, core_free: Picoseconds) -> Option<usize> {
        match self {
            Queue::InOrder(next) => {
                let i = *next;
                *next += 1;
                (i < plan.items.len()).then_some(i)
            }
            Queue::ByReadiness(ready) => ready.next(core_free),
        }
    }

    /// Returns true if an item that takes time, other than the one that was returned last, could be issued next. Always
    /// returns true in the order of the program.
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Queue::InOrder(_) => true,
            Queue::ByReadiness(ready) => !ready.available.is_empty() || !ready.later.is_empty(),
        }
    }

    /// Records that item `i` was issued, and adds the items that wait for nothing else. Does nothing in the order of
    /// the program.
    pub(crate) fn issued(&mut self, i: usize, plan: &Plan, frame: &Frame<'_>, kinds: &[Kind]) {
        let Queue::ByReadiness(ready) = self else { return };
        ready.advance(i);
        for &j in &plan.dependents[i] {
            ready.waits[j] -= 1;
            if ready.waits[j] == 0 {
                ready.push(j, plan, frame, kinds);
            }
        }
    }
}

impl Ready {
    fn push(&mut self, i: usize, plan: &Plan, frame: &Frame<'_>, kinds: &[Kind]) {
        let time = frame.ready(&plan.inputs[i]).0;
        match kinds[i] {
            Kind::Free => self.free.push(Reverse(i)),
            kind if i > self.first.saturating_add(self.look_ahead) => self.ahead.push(Reverse((i, kind, time))),
            kind => self.later.push(Reverse((time, kind, i))),
        }
    }

    /// Records that an item was issued, and makes those available that are no longer too far ahead because of that.
    fn advance(&mut self, i: usize) {
        self.is_issued[i] = true;
        while self.is_issued.get(self.first) == Some(&true) {
            self.first += 1;
        }
        while let Some(&Reverse((i, kind, time))) = self.ahead.peek()
            && i <= self.first.saturating_add(self.look_ahead)
        {
            self.ahead.pop();
            self.later.push(Reverse((time, kind, i)));
        }
    }

    fn next(&mut self, core_free: Picoseconds) -> Option<usize> {
        if let Some(Reverse(i)) = self.free.pop() {
            return Some(i);
        }
        while let Some(&Reverse((time, kind, i))) = self.later.peek()
            && time <= core_free
        {
            self.later.pop();
            self.available.push(Reverse((kind, i)));
        }
        let available = self.available.pop().map(|Reverse((_, i))| i);
        available.or_else(|| self.later.pop().map(|Reverse((_, _, i))| i))
    }
}
