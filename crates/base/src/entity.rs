//! Typed indices, and tables by typed index.
//!
//! An entity is a number of its own type, so that the index of a value cannot be used for a region.
//! [`entity!`](crate::entity!) declares one. [`EntityVec`] is a vector that is indexed by an entity:
//!
//! ```
//! use shardwise_base::{EntityVec, entity};
//! entity! {
//!     /// A row of a table.
//!     pub Row "row"
//! }
//! let mut counts: EntityVec<Row, u32> = EntityVec::filled(3, 0);
//! counts[Row::new(1)] = 2;
//! assert_eq!(counts.iter().collect::<Vec<_>>(), [&0, &2, &0]);
//! assert_eq!(format!("{:?}", Row::new(1)), "row1");
//! ```

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index.
pub trait Entity: Copy {
    /// Returns the entity with this number. Panics if the type cannot hold the number.
    fn from_index(index: usize) -> Self;

    /// Returns the entity's number.
    fn to_index(self) -> usize;
}

/// Declares a type of entities, with the prefix that `Debug` prints before the number.
#[macro_export]
macro_rules! entity {
    ($(#[$doc:meta])* $vis:vis $name:ident $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name(u32);

        impl $name {
            /// Returns the entity with this number.
            ///
            /// # Panics
            /// Panics if the number is 2^32 or more.
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 entities"))
            }

            /// Returns the entity's number.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::Entity for $name {
            fn from_index(index: usize) -> $name {
                $name::new(index)
            }

            fn to_index(self) -> usize {
                self.index()
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

/// A vector that is indexed by an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityVec<K, T> {
    items: Vec<T>,
    key: PhantomData<K>,
}

impl<K: Entity, T> EntityVec<K, T> {
    /// Returns an empty table.
    pub fn new() -> EntityVec<K, T> {
        EntityVec { items: vec![], key: PhantomData }
    }

    /// Returns an empty table with room for `count` items.
    pub fn with_capacity(count: usize) -> EntityVec<K, T> {
        EntityVec { items: Vec::with_capacity(count), key: PhantomData }
    }

    /// Returns a table with `item` for each of `count` entities.
    pub fn filled(count: usize, item: T) -> EntityVec<K, T>
    where
        T: Clone,
    {
        EntityVec { items: vec![item; count], key: PhantomData }
    }

    /// Adds an item. Returns its entity.
    ///
    /// # Panics
    /// Panics if the type of the entities cannot hold the number of the new one.
    pub fn push(&mut self, item: T) -> K {
        self.items.push(item);
        K::from_index(self.items.len() - 1)
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the item of an entity, or `None` if the table has none.
    pub fn get(&self, key: K) -> Option<&T> {
        self.items.get(key.to_index())
    }

    /// Returns all entities of the table, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, T> {
        (0..self.items.len()).map(K::from_index)
    }

    /// Returns all items, in the order of their entities.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Returns all items for changes, in the order of their entities.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
}

impl<K: Entity, T> Default for EntityVec<K, T> {
    fn default() -> EntityVec<K, T> {
        EntityVec::new()
    }
}

impl<K: Entity, T> Index<K> for EntityVec<K, T> {
    type Output = T;

    fn index(&self, key: K) -> &T {
        &self.items[key.to_index()]
    }
}

impl<K: Entity, T> IndexMut<K> for EntityVec<K, T> {
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.items[key.to_index()]
    }
}

impl<K, T> FromIterator<T> for EntityVec<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> EntityVec<K, T> {
        EntityVec { items: items.into_iter().collect(), key: PhantomData }
    }
}

impl<K, T> IntoIterator for EntityVec<K, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> std::vec::IntoIter<T> {
        self.items.into_iter()
    }
}
