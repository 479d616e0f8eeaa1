//! The values that names refer to, in nested regions.

use crate::Value;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The values of a name: the results of an op, or an argument.
pub(super) type Named = SmallVec<[Value; 1]>;

/// The names in scope. Inner regions see outer names. Only isolated regions may redefine them, until they end.
#[derive(Default)]
pub(super) struct Scope<'t> {
    names: HashMap<&'t str, (Named, usize)>,
    /// Names that the open regions have defined, with their previous values.
    undo: Vec<(&'t str, Option<(Named, usize)>)>,
    /// The number of definitions at the start of each open region, and the depth of the innermost isolated region then.
    marks: Vec<(usize, usize)>,
    /// The depth of the innermost isolated region that is open.
    isolated_depth: usize,
}

impl<'t> Scope<'t> {
    pub fn open(&mut self, is_isolated: bool) {
        self.marks.push((self.undo.len(), self.isolated_depth));
        if is_isolated {
            self.isolated_depth = self.marks.len();
        }
    }

    pub fn close(&mut self) {
        let (mark, isolated_depth) = self.marks.pop().expect("an open region");
        self.isolated_depth = isolated_depth;
        while self.undo.len() > mark {
            let (name, before) = self.undo.pop().expect("longer than the mark");
            match before {
                Some(named) => self.names.insert(name, named),
                None => self.names.remove(name),
            };
        }
    }

    /// Defines a name, in place of an earlier definition. Returns false if an earlier definition is in scope, unless it
    /// is outside of the innermost isolated region that is open.
    pub fn define(&mut self, name: &'t str, values: Named) -> bool {
        let depth = self.marks.len();
        let before = self.names.insert(name, (values, depth));
        let is_new = before.as_ref().is_none_or(|(_, d)| *d < self.isolated_depth);
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
