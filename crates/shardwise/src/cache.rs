//! Maps that keep programs, which are costly to make. They are bounded by number and by bytes.
//!
//! All caches of this crate use them. Two belong to the process: programs by their structure (`runtime`), and library
//! functions by name and types (`eager`). Each [`Jit`](crate::Jit) has one for what it has compiled. Explicit mode also
//! remembers answers, in a store of its own: a fixed number of layouts for each op code and thread, and no arrays.

use shardwise_ir::Module;
use shardwise_ops::shapes;
use std::collections::HashMap;
use std::hash::Hash;

/// The largest number of entries of a map. A map that has this many entries is cleared before the next one is inserted,
/// and so is a map that would get more bytes than [`MOST_BYTES`].
const MOST_ENTRIES: usize = 4096;
const MOST_BYTES: usize = 64 << 20;

pub(crate) struct Cache<K, V> {
    /// The values, each with the number of bytes with which it was inserted.
    entries: HashMap<K, (V, usize)>,
    bytes: usize,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Cache<K, V> {
        Cache { entries: HashMap::new(), bytes: 0 }
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    /// Returns the value of a key, or `None` if the map does not have the key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    /// Inserts a value of `bytes` bytes, which replaces that of an equal key. If the map has [`MOST_ENTRIES`] entries,
    /// or if its bytes and `bytes` are more than [`MOST_BYTES`], all entries are removed first. Returns the values that
    /// were removed or replaced. The caller drops them after it has released its locks.
    #[must_use = "the removed values may be large, and are dropped by the caller"]
    pub fn insert(&mut self, key: K, value: V, bytes: usize) -> Vec<V> {
        let is_full = self.entries.len() >= MOST_ENTRIES || self.bytes.saturating_add(bytes) > MOST_BYTES;
        let mut gone: Vec<(V, usize)> =
            if is_full { std::mem::take(self).entries.into_values().collect() } else { vec![] };
        if let Some((replaced, freed)) = self.entries.insert(key, (value, bytes)) {
            self.bytes -= freed;
            gone.push((replaced, freed));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        gone.into_iter().map(|(value, _)| value).collect()
    }
}

/// Estimates the bytes that a program takes together with everything that is made from it: 1 KiB for each op, and the
/// bytes of its constants.
pub(crate) fn program_bytes(module: &Module) -> usize {
    const OP_BYTES: usize = 1 << 10;
    let ops: usize = module.funcs.iter().map(|f| f.body.op_count()).sum();
    ops * OP_BYTES + constant_bytes(module)
}

/// Returns the number of bytes that the constants of a program store. A splat stores one element.
pub(crate) fn constant_bytes(module: &Module) -> usize {
    let ops = module.funcs.iter().flat_map(|f| f.body.walk().into_iter().map(|op| module.view(&f.body, op)));
    ops.filter_map(|op| shapes::constant_value(&op)).map(|literal| literal.raw_bytes().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_anew_when_it_is_full() {
        let mut cache = Cache::default();
        for i in 0..10 {
            assert_eq!(cache.insert(i, i, MOST_BYTES / 10).len(), 0);
        }
        assert_eq!(cache.get(&9), Some(&9));
        assert_eq!(cache.insert(10, 10, MOST_BYTES / 2).len(), 10);
        assert_eq!((cache.get(&9), cache.get(&10)), (None, Some(&10)));
        // An entry that is larger than the whole cache is kept alone.
        assert_eq!(cache.insert(11, 11, usize::MAX).len(), 1);
        assert_eq!(cache.insert(12, 12, 1).len(), 1);
        // A value that replaces another takes its place.
        for _ in 0..20 {
            assert_eq!(cache.insert(12, 12, MOST_BYTES / 10), [12]);
        }
    }
}
