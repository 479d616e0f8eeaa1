//! Names for functions that are made, as MLIR's symbol tables make them.

use std::collections::HashSet;
use std::sync::Arc;

/// The names that are taken. A name that is taken gets a number, and one counter serves all names.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<Arc<str>>,
    next: usize,
}

impl Names {
    pub fn new(taken: impl IntoIterator<Item = Arc<str>>) -> Names {
        Names { taken: taken.into_iter().collect(), next: 0 }
    }

    /// `name`, or `name_N` if it is taken; it is now.
    pub fn add(&mut self, name: &Arc<str>) -> Arc<str> {
        let mut free = name.clone();
        while !self.taken.insert(free.clone()) {
            free = format!("{name}_{}", self.next).into();
            self.next += 1;
        }
        free
    }
}
