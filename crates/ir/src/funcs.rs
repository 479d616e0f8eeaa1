//! The functions of a module, found by name.

use crate::{Func, FuncId};
use std::collections::HashMap;
use std::ops::{Deref, Index, IndexMut};
use std::sync::Arc;

/// Functions in the order in which they were added. A function must not be renamed once it is in this list.
#[derive(Clone, Debug, Default)]
pub struct Funcs {
    list: Vec<Func>,
    /// The first function of each name.
    by_name: HashMap<Arc<str>, FuncId>,
}

impl Funcs {
    pub fn push(&mut self, func: Func) {
        self.by_name.entry(func.name.clone()).or_insert(FuncId::new(self.list.len()));
        self.list.push(func);
    }

    /// Returns the functions for changes to anything but their names.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Func> {
        self.list.iter_mut()
    }

    pub fn id(&self, name: &str) -> Option<FuncId> {
        let id = *self.by_name.get(name)?;
        debug_assert_eq!(&*self.list[id.index()].name, name, "a function keeps its name");
        Some(id)
    }
}

impl Deref for Funcs {
    type Target = [Func];
    fn deref(&self) -> &[Func] {
        &self.list
    }
}

impl Index<usize> for Funcs {
    type Output = Func;
    fn index(&self, index: usize) -> &Func {
        &self.list[index]
    }
}

impl IndexMut<usize> for Funcs {
    fn index_mut(&mut self, index: usize) -> &mut Func {
        &mut self.list[index]
    }
}

impl Extend<Func> for Funcs {
    fn extend<I: IntoIterator<Item = Func>>(&mut self, funcs: I) {
        funcs.into_iter().for_each(|func| self.push(func));
    }
}

impl FromIterator<Func> for Funcs {
    fn from_iter<I: IntoIterator<Item = Func>>(funcs: I) -> Funcs {
        let mut made = Funcs::default();
        made.extend(funcs);
        made
    }
}

impl IntoIterator for Funcs {
    type Item = Func;
    type IntoIter = std::vec::IntoIter<Func>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Funcs {
    type Item = &'a Func;
    type IntoIter = std::slice::Iter<'a, Func>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a mut Funcs {
    type Item = &'a mut Func;
    type IntoIter = std::slice::IterMut<'a, Func>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter_mut()
    }
}
