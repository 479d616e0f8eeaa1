//! Differences between the collectives of two programs.
//!
//! Collectives are matched by their source, op and kind. Those that are left are matched by their name scopes in place
//! of their source, and then without it, so that two files with shifted lines can be compared.

use crate::figures::{Figures, Key, Traffic, Version};
use crate::{Options, show};
use shardwise_base::Diagnostics;
use shardwise_ir::Module;
use shardwise_sim::Topology;
use std::collections::BTreeMap;
use std::fmt;

/// Collectives of one op and kind in two programs, matched by their source, by their name scopes, or by neither.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    /// The key of the first program's collectives, or of the second program's if only it has them.
    pub key: Key,
    /// The collectives of the first program, or `None` if it has none.
    pub before: Option<Traffic>,
    /// The collectives of the second program, or `None` if it has none.
    pub after: Option<Traffic>,
}

/// How collectives differ between two programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DeltaKind {
    /// Only the first program has the collectives.
    Vanishes,
    /// The second program receives fewer bytes for its collectives.
    Shrinks,
    /// The second program receives more bytes for its collectives.
    Grows,
    /// Only the second program has the collectives.
    Appears,
    /// Both programs receive the same number of bytes for their collectives.
    Stays,
}

impl DeltaKind {
    /// Returns the word for this kind, such as `vanishes`.
    pub fn name(self) -> &'static str {
        match self {
            DeltaKind::Vanishes => "vanishes",
            DeltaKind::Shrinks => "shrinks",
            DeltaKind::Grows => "grows",
            DeltaKind::Appears => "appears",
            DeltaKind::Stays => "stays",
        }
    }
}

impl Delta {
    /// Returns how the collectives differ.
    pub fn kind(&self) -> DeltaKind {
        match (self.before, self.after) {
            (_, None) => DeltaKind::Vanishes,
            (None, _) => DeltaKind::Appears,
            (Some(a), Some(b)) if a.bytes_received > b.bytes_received => DeltaKind::Shrinks,
            (Some(a), Some(b)) if a.bytes_received < b.bytes_received => DeltaKind::Grows,
            _ => DeltaKind::Stays,
        }
    }
}

/// Returns the name by which a collective is matched with others, or `None` if it has no such name.
type Naming = fn(&Key) -> Option<String>;

/// Matches collectives of equal op and kind by their sources only, in two versions of one program.
pub(crate) const BY_SOURCE: &[Naming] = &[|key| Some(key.source.clone())];

/// Matches collectives of equal op and kind by their sources, then by their scopes, and then without a name.
const BY_ANYTHING: &[Naming] = &[
    |key| Some(key.source.clone()),
    |key| Some(key.scope.clone()).filter(|scope| !scope.is_empty()),
    |_| Some(String::new()),
];

/// Returns the collectives of two programs, matched with each other, in the order of their [`DeltaKind`] and then by
/// key. Those that receive as many bytes in both programs come last.
pub(crate) fn deltas(before: &BTreeMap<Key, Traffic>, after: &BTreeMap<Key, Traffic>, by: &[Naming]) -> Vec<Delta> {
    let (mut left, mut right) = (before.clone(), after.clone());
    let mut found = vec![];
    for name in by {
        match_by(*name, &mut left, &mut right, &mut found);
    }
    found.extend(left.into_iter().map(|(key, sum)| Delta { key, before: Some(sum), after: None }));
    found.extend(right.into_iter().map(|(key, sum)| Delta { key, before: None, after: Some(sum) }));
    found.sort_by(|a, b| (a.kind(), &a.key).cmp(&(b.kind(), &b.key)));
    found
}

/// Moves the collectives with an equal name, op and kind into `found`. Those without a name are left.
fn match_by(
    name: Naming,
    left: &mut BTreeMap<Key, Traffic>,
    right: &mut BTreeMap<Key, Traffic>,
    found: &mut Vec<Delta>,
) {
    for key in left.keys().cloned().collect::<Vec<_>>() {
        let Some(wanted) = name(&key) else { continue };
        let is_same = |other: &&Key| {
            other.op == key.op && other.kind == key.kind && name(other).as_deref() == Some(wanted.as_str())
        };
        let Some(other) = right.keys().find(is_same).cloned() else { continue };
        found.push(Delta { before: left.remove(&key), after: right.remove(&other), key });
    }
}

/// The differences between two programs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The names of the two programs.
    pub names: [String; 2],
    /// The totals of the first program.
    pub before: Figures,
    /// The totals of the second program.
    pub after: Figures,
    /// The collectives of both programs. Those for which the bytes differ come first.
    pub deltas: Vec<Delta>,
    /// The topology on which the times are predicted, or `None` if none are.
    pub topology: Option<Topology>,
}

/// Partitions two programs and compares their collectives, bytes, memory and, with a topology, times.
///
/// # Errors
/// Fails if one of them cannot be partitioned, or does not fit the topology (`topology-mesh`).
pub fn compare(first: &Module, second: &Module, options: &Options) -> Result<Comparison, Diagnostics> {
    let (before, after) = (Version::of(first, options)?, Version::of(second, options)?);
    let deltas = deltas(&before.outcome.traffic, &after.outcome.traffic, BY_ANYTHING);
    Ok(Comparison {
        names: [first, second].map(|module| module.name.to_string()),
        before: before.outcome.figures,
        after: after.outcome.figures,
        deltas,
        topology: options.topology.clone(),
    })
}

/// Prints the totals of both programs, and the collectives that only one program has or by which other numbers of bytes
/// are received: the first 12, and the number of the others. The alternate form has colours.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show::comparison(f, self)
    }
}
