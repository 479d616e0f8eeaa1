//! The values that names refer to, in nested regions.

use crate::Value;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The values of a name: the results of an op, or an argument.
pub(super) type Named = SmallVec<[Value; 1]>;

/// The names in scope. Inner regions see outer names, and may redefine them until they end.
#[derive(Default)]
pub(super) struct Scope<'t> {
    names: HashMap<&'t str, (Named, usize)>,
    /// Names that the open regions have defined, with their previous values.
    undo: Vec<(&'t str, Option<(Named, usize)>)>,
    marks: Vec<usize>,
}

impl<'t> Scope<'t> {
    pub fn open(&mut self) {
        self.marks.push(self.undo.len());
    }

    pub fn close(&mut self) {
        let mark = self.marks.pop().expect("an open region");
        while self.undo.len() > mark {
            let (name, before) = self.undo.pop().expect("longer than the mark");
            match before {
                Some(named) => self.names.insert(name, named),
                None => self.names.remove(name),
            };
        }
    }

    /// Defines a name, in place of an earlier definition. Returns false if the innermost region has already defined it.
    pub fn define(&mut self, name: &'t str, values: Named) -> bool {
        let depth = self.marks.len();
        let before = self.names.insert(name, (values, depth));
        let is_new = before.as_ref().is_none_or(|(_, d)| *d < depth);
        self.undo.push((name, before));
        is_new
    }

    pub fn get(&self, name: &str) -> Option<&Named> {
        self.names.get(name).map(|(values, _)| values)
    }

    /// Returns all names in scope in alphabetical order, for "did you mean".
    pub fn names(&self) -> Vec<&'t str> {
        let mut names: Vec<&str> = self.names.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
