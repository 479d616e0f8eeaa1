//! In which direction shardings spread through an op.

/// From operands to results (`Forward`), the other way, both, or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Direction {
    None,
    Forward,
    Backward,
    #[default]
    Both,
}

impl Direction {
    /// Every direction that one of the two allows.
    pub fn union(self, other: Direction) -> Direction {
        if self.is_opposite(other) { Direction::Both } else { self.max(other) }
    }

    /// Every direction that both allow.
    pub fn intersection(self, other: Direction) -> Direction {
        if self.is_opposite(other) { Direction::None } else { self.min(other) }
    }

    fn is_opposite(self, other: Direction) -> bool {
        matches!((self, other), (Direction::Forward, Direction::Backward) | (Direction::Backward, Direction::Forward))
    }
}
