//! The direction in which shardings propagate through an op.

/// From operands to results (`Forward`), from results to operands (`Backward`), both, or none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Direction {
    None,
    Forward,
    Backward,
    #[default]
    Both,
}

impl Direction {
    /// Returns the direction that allows everything that one of the two allows.
    pub fn union(self, other: Direction) -> Direction {
        if self.is_opposite(other) { Direction::Both } else { self.max(other) }
    }

    /// Returns the direction that allows only what both allow.
    pub fn intersection(self, other: Direction) -> Direction {
        if self.is_opposite(other) { Direction::None } else { self.min(other) }
    }

    fn is_opposite(self, other: Direction) -> bool {
        matches!((self, other), (Direction::Forward, Direction::Backward) | (Direction::Backward, Direction::Forward))
    }
}
