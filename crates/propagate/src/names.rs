//! Names for new functions, chosen as MLIR's symbol tables do.

use std::collections::HashSet;
use std::sync::Arc;

/// The names that are taken. A new name that is among them gets a number. All names share one counter.
#[derive(Default)]
pub struct Names {
    taken: HashSet<Arc<str>>,
    next: usize,
}

impl Names {
    pub fn new(taken: impl IntoIterator<Item = Arc<str>>) -> Names {
        Names { taken: taken.into_iter().collect(), next: 0 }
    }

    /// Returns `name` if it is free, or else `name_N` with the next number of the shared counter for which this name is
    /// free. The returned name is taken from then on.
    pub fn add(&mut self, name: &Arc<str>) -> Arc<str> {
        let mut free = name.clone();
        while !self.taken.insert(free.clone()) {
            free = format!("{name}_{}", self.next).into();
            self.next += 1;
        }
        free
    }
}
