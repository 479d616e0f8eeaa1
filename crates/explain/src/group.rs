//! The collectives of a program, in groups of one reshard.

use crate::figures::Key;
use crate::times::{Time, Times};
use shardwise_base::Loc;
use shardwise_spmd::{Communication, Row};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The collectives of one reshard, or one other collective. Several places of the program with equal collectives for
/// equal reasons at one source line are one group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The collectives, in the order in which they run.
    pub rows: Vec<Row>,
    /// The number of places of the program that these collectives stand for.
    pub places: usize,
    /// The predicted mean time of one run of each collective, or `None` if it is not known.
    pub times: Vec<Option<Time>>,
    /// The index among [`Explanation::remedies`](crate::Explanation::remedies) of the best change for these
    /// collectives: of the changes that save bytes of theirs and of the whole program, and time if times are predicted,
    /// the one that leaves the fewest bytes of theirs. Changes with which no device computes over 1 % more come first.
    /// `None` if no change that was tried saves all of these.
    pub remedy: Option<usize>,
}

impl Group {
    /// Returns the location of the op that needed the collectives.
    pub fn loc(&self) -> &Loc {
        &self.rows[0].loc
    }

    /// Returns the bytes that the device that receives most receives, over all places and all runs in loops. An unknown
    /// number of runs counts as one.
    pub fn bytes_received(&self) -> u64 {
        self.sum(|row| row.bytes_received_in_all())
    }

    /// Returns the bytes that the device that receives most has to receive for these moves, however they are done, over
    /// all places and runs, of which an unknown number counts as one; `None` if this is not known.
    pub fn bytes_least(&self) -> Option<u64> {
        let known = self.rows.iter().all(|row| row.bytes_least().is_some());
        known.then(|| self.sum(|row| row.bytes_least().unwrap_or(0).saturating_mul(row.count.unwrap_or(1))))
    }

    /// Returns the predicted time over all places and runs, of which an unknown number counts as one. Returns `None` if
    /// the time of one of the collectives is not known.
    pub fn time(&self) -> Option<Time> {
        let each = self.rows.iter().zip(&self.times).map(|(row, time)| Some((*time)?.times(row.count.unwrap_or(1))));
        let all = each.collect::<Option<Vec<Time>>>()?;
        Some(all.into_iter().fold(Time::default(), Time::plus).times(self.places as u64))
    }

    fn sum(&self, of: impl Fn(&Row) -> u64) -> u64 {
        let once = self.rows.iter().map(of).fold(0, u64::saturating_add);
        once.saturating_mul(self.places as u64)
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.rows.iter().map(Key::of).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn signature(&self) -> Vec<Signature> {
        let of = |row: &Row| {
            let types = format!("{} -> {}", row.operand_type.short(), row.result_type.short());
            (Key::of(row), row.axes(), types, row.count, row.why().to_string())
        };
        self.rows.iter().map(of).collect()
    }
}

/// The key, the axes, the types, the number of runs and the reason of a collective.
type Signature = (Key, String, String, Option<u64>, String);

pub(crate) fn groups(communication: &Communication, times: Option<&Times>) -> Vec<Group> {
    let mut apart: Vec<Group> = vec![];
    for row in &communication.rows {
        let time = times.and_then(|times| times.get(row));
        let is_later = row.reason.as_ref().is_some_and(|reason| reason.step > 0);
        match apart.iter_mut().rev().find(|group| is_later && continues(group, row)) {
            Some(group) => {
                group.rows.push(row.clone());
                group.times.push(time);
            }
            None => apart.push(Group { rows: vec![row.clone()], places: 1, times: vec![time], remedy: None }),
        }
    }
    let mut groups: Vec<Group> = vec![];
    let mut index: BTreeMap<Vec<Signature>, usize> = BTreeMap::new();
    for group in apart {
        match index.entry(group.signature()) {
            Entry::Occupied(known) => groups[*known.get()].places += 1,
            Entry::Vacant(new) => {
                new.insert(groups.len());
                groups.push(group);
            }
        }
    }
    groups
}

/// Returns true if the collective is a later step of the group's reshard.
fn continues(group: &Group, row: &Row) -> bool {
    let (Some(last), Some(reason)) = (group.rows.last().and_then(|r| r.reason.as_ref()), row.reason.as_ref()) else {
        return false;
    };
    reason.reshard.is_some()
        && reason.step > last.step
        && reason.reshard == last.reshard
        && reason.text == last.text
        && group.loc() == &row.loc
}
