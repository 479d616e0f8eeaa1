//! Op-priority propagation: which ops propagate in which direction in which round.

use crate::problem::{Node, OpClass};
use crate::{Direction, FactorKind};

pub(crate) const LAST_ROUND: usize = 4;

/// The directions along pass-through factors and along all other factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Directions {
    pass_through: Direction,
    other: Direction,
}

impl Directions {
    /// Both directions along all factors.
    pub const ALL: Directions = Directions::both(Direction::Both);

    const fn both(direction: Direction) -> Directions {
        Directions { pass_through: direction, other: direction }
    }

    /// Returns the direction along factors of a kind.
    pub fn of(self, kind: FactorKind) -> Direction {
        if kind == FactorKind::PassThrough { self.pass_through } else { self.other }
    }

    pub fn is_none(self) -> bool {
        self == Directions::both(Direction::None)
    }

    fn union(self, other: Directions) -> Directions {
        Directions { pass_through: self.pass_through.union(other.pass_through), other: self.other.union(other.other) }
    }
}

pub(crate) fn directions(node: &Node, round: usize) -> Directions {
    match node.fixed_direction {
        Some(direction) => Directions::both(direction),
        None => (0..=round).map(|r| added(node, r)).fold(Directions::both(Direction::None), Directions::union),
    }
}

fn added(node: &Node, round: usize) -> Directions {
    let backward_if_broadcast = match node.class {
        OpClass::Broadcast => Direction::Backward,
        _ => Direction::Both,
    };
    match round {
        0 if node.has_shared_operand => Directions::both(Direction::None),
        0 | 1 => Directions::both(pass_through_direction(node.class)),
        2 => Directions { pass_through: backward_if_broadcast, other: Direction::None },
        3 => Directions::both(backward_if_broadcast),
        _ => Directions::ALL,
    }
}

fn pass_through_direction(class: OpClass) -> Direction {
    match class {
        OpClass::PassThrough => Direction::Both,
        OpClass::Slice => Direction::Forward,
        OpClass::Broadcast | OpClass::Other => Direction::None,
    }
}
