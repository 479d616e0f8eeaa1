//! Comparison of lists of axes by their major parts.

use shardwise_base::AxisRef;
use smallvec::SmallVec;

/// A list of axes, major to minor. Most factors are split by one or two.
pub type AxisList = SmallVec<[AxisRef; 2]>;

/// How one list of axes is a prefix of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefix {
    Equal,
    /// The second list continues where the first one ends, possibly within an axis.
    Strict,
    Not,
}

impl Prefix {
    /// Returns how `first` is a prefix of `second`: `["x", "y":(1)2]` is a strict prefix of `["x", "y", "z"]`.
    pub fn of(first: &[AxisRef], second: &[AxisRef]) -> Prefix {
        let Some((last, head)) = first.split_last() else {
            return if second.is_empty() { Prefix::Equal } else { Prefix::Strict };
        };
        if first.len() > second.len() || *head != second[..head.len()] {
            return Prefix::Not;
        }
        let other = second[head.len()];
        if first.len() == second.len() && *last == other {
            Prefix::Equal
        } else if last.prefix_of(other) {
            Prefix::Strict
        } else {
            Prefix::Not
        }
    }

    /// Returns true if `first` is a strict prefix of `second`.
    pub fn is_strict(first: &[AxisRef], second: &[AxisRef]) -> bool {
        Prefix::of(first, second) == Prefix::Strict
    }
}
