//! Plans how the devices along a dimension get the totals of blocks that all their windows contain.
//!
//! If the windows of a device's results contain a whole block, its total can take the place of its elements. A
//! cumulative sum needs one number of each block before the device's own. The totals of a run of blocks are combined in
//! one of two ways ([`TotalsPlan`]). This module does not depend on the IR.
//!
//! ```text
//! cumulative sum of 16 elements, 4 devices: the windows of device 2 are 0..=8, 0..=9, 0..=10, 0..=11
//! device 2 reads [total of blocks 0 and 1, 8, 9, 10, 11]
//! ```

use super::rounds::{MAX_ROUNDS, Need, Part};

/// A window of which a run of whole blocks is replaced by their total.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Folded {
    /// The parts of the window before the total (`before`) and after it (`after`).
    pub before: Vec<Part>,
    pub after: Vec<Part>,
    /// The number of elements of the window that no device has, at its start (`low`) and at its end (`high`).
    pub low: usize,
    pub high: usize,
    /// The first and the last block of the run that the total replaces, as distances from the device's own block.
    pub first: i64,
    pub last: i64,
    /// The number of elements of each window, of which the total is one.
    pub extent: usize,
    shards: usize,
}

/// How the devices combine the totals of their runs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TotalsPlan {
    /// All totals are gathered, and each device combines those of its run.
    Gather,
    /// Totals of longer and longer runs are sent on.
    Steps(Steps),
}

/// The steps in which the total of a run of blocks is combined from totals of runs of 1, 2, 4, … blocks.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Steps {
    pub list: Vec<Step>,
    /// True if a received total is the first operand when it is combined with a total that the device has.
    pub is_received_first: bool,
}

/// A device receives the total that the device `ahead` positions further has of a run of blocks. If `ahead` is 0, it
/// takes its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub ahead: i64,
    /// True if the received total becomes a part of the total of the device's run.
    pub is_taken: bool,
    /// True if the received total is combined with the one that the device sends on, which then covers twice as many
    /// blocks.
    pub doubles: bool,
}

impl Need {
    /// Returns the window with the blocks that all windows of `extent` elements contain as one total. `is_open` states
    /// whether the windows can be continued to the left, and to the right, where the dimension has no more elements.
    /// Returns `None` if there are no elements, if the devices do not need the same parts relative to their blocks, if
    /// they need fewer than `extent` elements, if no block is in all windows, if elements wrap or are left out, if
    /// elements that no device has are not at the ends of the window, or if the rest of the window is in too many
    /// blocks.
    pub fn fold(&self, extent: usize, is_open: [bool; 2]) -> Option<Folded> {
        let (block, reach) = (self.block() as i64, self.shards as i64 - 1);
        if block == 0 || self.step != block || self.wraps || self.inside != (0, self.size) || extent > self.len {
            return None;
        }
        let spare = (self.len - extent) as i64;
        let (mut from, mut to) = (self.start + spare, self.start + extent as i64);
        if is_open[0] {
            from = from.min(-reach * block);
        }
        if is_open[1] {
            to = to.max((reach + 1) * block);
        }
        let (start, end) = (from.div_euclid(block) + i64::from(from.rem_euclid(block) != 0), to.div_euclid(block));
        let (first, last) = (start.max(-reach), (end - 1).min(reach));
        if start >= end || first > last {
            return None;
        }
        let (before, low) = self.parts(from - spare, start * block, false)?;
        let (after, high) = self.parts(end * block, to + spare, true)?;
        let extent = (to - from + spare - (end - start) * block + 1) as usize;
        Some(Folded { before, after, low, high, first, last, extent, shards: self.shards })
    }

    /// Returns the parts of the elements `from..to` that some device has, and the number of the other elements.
    /// Positions are relative to the device's own block. The other elements must be first, or last if `is_end`. Returns
    /// `None` if they are not, or if the parts are in too many blocks.
    fn parts(&self, from: i64, to: i64, is_end: bool) -> Option<(Vec<Part>, usize)> {
        let (block, shards) = (self.block() as i64, self.shards as i64);
        let (first, end) = ((1 - shards) * block, shards * block);
        let (low, high) = (from.max(first).min(to), to.min(end).max(from));
        let (cut_low, cut_high) = ((low - from).max(0), (to - high).max(0));
        if cut_low != 0 && is_end || cut_high != 0 && !is_end {
            return None;
        }
        if low >= high {
            return Some((vec![], (to - from).max(0) as usize));
        }
        let (a, b) = (low.div_euclid(block), (high - 1).div_euclid(block));
        if (b - a) as u64 > MAX_ROUNDS as u64 {
            return None;
        }
        let part = |ahead: i64| {
            let at = ahead * block;
            Part { ahead, from: (low.max(at) - at) as usize, to: (high.min(at + block) - at) as usize }
        };
        Some(((a..=b).map(part).collect(), (cut_low + cut_high) as usize))
    }
}

impl Folded {
    /// Returns the way of combining totals of `bytes` bytes for which the devices wait least, where the price of
    /// starting a collective is `start`. Steps are only chosen if a device receives at most [`MAX_ROUNDS`] totals in
    /// them.
    pub fn plan(&self, bytes: u64, start: u64) -> TotalsPlan {
        let gathered = (self.shards as u64 - 1) * bytes + start;
        let is_better = |s: &Steps| s.received() <= MAX_ROUNDS && s.received() as u64 * (bytes + start) < gathered;
        self.steps().filter(is_better).map_or(TotalsPlan::Gather, TotalsPlan::Steps)
    }

    /// Returns how many elements and totals together the device that receives most receives with [`Folded::plan`], and
    /// in how many collectives. An element of all inputs and the totals of one block have `bytes` bytes.
    pub fn exchanged(&self, bytes: u64, start: u64) -> (u64, u64) {
        let parts = self.before.iter().chain(&self.after).filter(|p| p.ahead != 0).map(|p| p.to - p.from);
        let (totals, collective_count) = match self.plan(bytes, start) {
            TotalsPlan::Gather => (self.shards - 1, 1),
            TotalsPlan::Steps(steps) => (steps.received(), steps.received()),
        };
        ((parts.clone().sum::<usize>() + totals) as u64, (parts.count() + collective_count) as u64)
    }

    /// Returns the steps in which a device receives the fewest totals. A run that has all blocks on one side may be
    /// continued where there are no blocks. Returns `None` for runs with blocks on both sides of the device's own: the
    /// device with all of these may not exist.
    fn steps(&self) -> Option<Steps> {
        let count = self.last - self.first + 1;
        let reach = self.shards as i64 - 1;
        let longer = [(count as u64 + 1).next_power_of_two() as i64 - 1, (count as u64).next_power_of_two() as i64];
        let lengths = |is_open: bool| [count].into_iter().chain(longer.into_iter().filter(move |_| is_open));
        if self.last <= 0 {
            let all = lengths(self.first == -reach).map(|n| Steps::new(n, self.last, -1, reach));
            return all.min_by_key(Steps::received);
        }
        let all = lengths(self.last == reach).map(|n| Steps::new(n, self.first, 1, reach));
        all.filter(|_| self.first >= 0).min_by_key(Steps::received)
    }
}

impl Steps {
    /// Returns the steps for a run of `count` blocks that starts at the block `anchor` and continues in the direction
    /// `sign`. No device is more than `reach` positions away from another one.
    fn new(count: i64, anchor: i64, sign: i64, reach: i64) -> Steps {
        let mut list: Vec<Step> = vec![];
        let (mut span, mut len) = (1, 0);
        while len < count {
            let rest = count - len;
            let taken = (rest & span != 0).then_some(anchor + sign * len);
            let doubled = (rest > span).then_some(sign * span);
            len += if taken.is_some() { span } else { 0 };
            match (taken, doubled) {
                (Some(t), Some(d)) if t == d => list.push(Step { ahead: t, is_taken: true, doubles: true }),
                _ => {
                    list.extend(taken.map(|ahead| Step { ahead, is_taken: true, doubles: false }));
                    list.extend(doubled.map(|ahead| Step { ahead, is_taken: false, doubles: true }));
                }
            }
            span *= 2;
        }
        list.retain(|s| s.ahead.abs() <= reach);
        Steps { list, is_received_first: sign < 0 }
    }

    /// Returns the largest number of totals that a device receives.
    fn received(&self) -> usize {
        self.list.iter().filter(|s| s.ahead != 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = Vec<i64>;

    fn joined(a: &[i64], b: &[i64]) -> Numbers {
        [a, b].concat()
    }

    /// Runs the steps with the lists of the blocks' numbers as totals.
    fn run(steps: &Steps, shards: usize) -> Vec<Numbers> {
        let mut runs: Vec<Numbers> = (0..shards as i64).map(|p| vec![p]).collect();
        let mut results: Vec<Numbers> = vec![vec![]; shards];
        for step in &steps.list {
            let sent = runs.clone();
            for p in 0..shards {
                let from = usize::try_from(p as i64 + step.ahead).ok().filter(|&q| q < shards);
                let received = from.map_or(vec![], |q| sent[q].clone());
                let with = |own: &[i64]| match steps.is_received_first {
                    true => joined(&received, own),
                    false => joined(own, &received),
                };
                if step.is_taken {
                    results[p] = with(&results[p]);
                }
                if step.doubles {
                    runs[p] = with(&runs[p]);
                }
            }
        }
        results
    }

    #[test]
    fn each_device_gets_the_total_of_its_run_in_order() {
        let mut tried = 0;
        for shards in [2usize, 3, 4, 5, 8, 13] {
            let reach = shards as i64 - 1;
            for first in -reach..=reach {
                for last in first..=reach {
                    let folded =
                        Folded { before: vec![], after: vec![], low: 0, high: 0, first, last, extent: 1, shards };
                    let Some(steps) = folded.steps() else {
                        assert!(first < 0 && last > 0);
                        continue;
                    };
                    for (p, found) in run(&steps, shards).into_iter().enumerate() {
                        let wanted: Numbers =
                            (p as i64 + first..=p as i64 + last).filter(|q| (0..=reach).contains(q)).collect();
                        assert_eq!(found, wanted, "device {p} of {shards}: {folded:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 1000, "{tried}");
    }

    #[test]
    fn a_cumulative_sum_over_eight_devices_takes_three_steps() {
        let need = Need { size: 64, shards: 8, start: -63, step: 8, len: 71, wraps: false, inside: (0, 64) };
        let folded = need.fold(64, [true, false]).unwrap();
        assert_eq!((folded.first, folded.last, folded.low, folded.high), (-7, -1, 7, 0));
        assert_eq!(folded.after, [Part { ahead: 0, from: 0, to: 8 }]);
        assert_eq!(folded.steps().unwrap().received(), 3);
        assert_eq!(folded.plan(4, 64), TotalsPlan::Gather);
        assert!(matches!(folded.plan(4096, 64), TotalsPlan::Steps(_)));
    }

    #[test]
    fn an_uneven_scan_needs_totals_alone() {
        let need = Need { size: 13, shards: 4, start: 0, step: 4, len: 16, wraps: false, inside: (0, 13) };
        let folded = need.fold(13, [false, true]).unwrap();
        assert_eq!((folded.first, folded.last, folded.high, folded.extent), (1, 3, 3, 5));
        assert_eq!((folded.before.len(), folded.after.len()), (1, 0));
        let need = Need { start: -12, ..need };
        let folded = need.fold(13, [true, false]).unwrap();
        assert_eq!((folded.first, folded.last, folded.low, folded.extent), (-3, -1, 3, 5));
    }

    #[test]
    fn a_window_of_one_block_contains_none() {
        let need = Need { size: 64, shards: 8, start: -7, step: 8, len: 15, wraps: false, inside: (0, 64) };
        assert_eq!(need.fold(8, [false; 2]), None);
        let need = Need { start: -21, len: 29, ..need };
        let folded = need.fold(22, [false; 2]).unwrap();
        assert_eq!((folded.first, folded.last, folded.extent), (-1, -1, 15));
        assert_eq!(folded.before, [Part { ahead: -3, from: 3, to: 8 }, Part { ahead: -2, from: 0, to: 8 }]);
    }
}
