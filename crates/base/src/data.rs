//! Arrays of elements whose memory is charged to an account.

use crate::budget::{Account, Meter, Reservation, Stop};
use bytemuck::Zeroable;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Data of at most this many bytes is not charged, because it is no larger than its own description.
const UNCOUNTED_BYTES: usize = 64;

/// A fixed number of elements. If they take more than 64 bytes, their memory is charged to the [`Account`] under which
/// they were made.
///
/// Every function that makes one stops the computation ([`Stop`]) if the memory is refused.
///
/// ```
/// use shardwise_base::Data;
/// let squares = Data::from_fn(4, |i| i * i);
/// assert_eq!(*squares, [0, 1, 4, 9]);
/// ```
#[derive(Debug)]
pub struct Data<T> {
    elements: Vec<T>,
    _reserved: Option<Reservation>,
}

impl<T> Data<T> {
    /// Reserves memory for `len` elements, unless it is so little that it is not charged, then calls `allocate`. Stops
    /// the computation if the account refuses the memory, or if `allocate` returns `None`.
    fn new(len: usize, allocate: impl FnOnce() -> Option<Vec<T>>) -> Data<T> {
        let bytes = len.saturating_mul(size_of::<T>());
        let reserve = || Account::current().reserve_or_stop(bytes);
        let reserved = (bytes > UNCOUNTED_BYTES).then(reserve);
        let elements = allocate().unwrap_or_else(|| Stop::Memory(Account::current().refused_by_system(bytes)).raise());
        Data { elements, _reserved: reserved }
    }

    /// Collects an iterator of exactly `len` elements. Takes a step for each 2^16 elements.
    ///
    /// # Panics
    /// Panics if the iterator has another number of elements.
    pub fn collect(len: usize, elements: impl IntoIterator<Item = T>) -> Data<T> {
        let mut data = Data::new(len, || {
            let mut empty = Vec::new();
            empty.try_reserve_exact(len).ok().map(|()| empty)
        });
        let mut meter = Meter::default();
        for element in elements {
            assert!(data.elements.len() < len, "more elements than the {len} that were promised");
            data.elements.push(element);
            meter.add(1);
        }
        assert_eq!(data.elements.len(), len, "as many elements as were promised");
        data
    }

    /// Returns `len` elements, the `i`th of which is `element(i)`. Takes a step for each 2^16 elements.
    pub fn from_fn(len: usize, element: impl FnMut(usize) -> T) -> Data<T> {
        Data::collect(len, (0..len).map(element))
    }
}

impl<T: Zeroable> Data<T> {
    /// Returns `len` elements whose bytes are all zero.
    pub fn zeroed(len: usize) -> Data<T> {
        Data::new(len, || bytemuck::allocation::try_zeroed_vec(len).ok())
    }
}

impl<T> Deref for Data<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> DerefMut for Data<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T: PartialEq> PartialEq for Data<T> {
    fn eq(&self, other: &Data<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Data<T> {}

impl<T: Hash> Hash for Data<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Copy> Clone for Data<T> {
    fn clone(&self) -> Data<T> {
        let copy = || {
            let mut elements = Vec::new();
            elements.try_reserve_exact(self.len()).ok()?;
            elements.extend_from_slice(self);
            Some(elements)
        };
        Data::new(self.len(), copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, CancelToken};

    fn under(max_bytes: usize, max_steps: u64, f: impl FnOnce()) -> Result<(), Stop> {
        Budget::new(Account::with_limit(max_bytes), Some(max_steps), CancelToken::default()).run(f)
    }

    #[test]
    fn data_beyond_the_limit_stops() {
        let make: [fn(); 3] = [
            || drop(Data::<u64>::zeroed(1 << 10)),
            || drop(Data::from_fn(1 << 10, |i| i as u64)),
            || drop(Data::<u64>::zeroed(usize::MAX)),
        ];
        for f in make {
            assert!(matches!(under(1000, 9, f), Err(Stop::Memory(_))));
        }
        under(8 << 10, 9, || {
            let data = Data::<u64>::zeroed(1 << 10);
            assert_eq!(Account::current().in_use(), 8 << 10);
            drop(data);
            assert_eq!(Account::current().in_use(), 0);
        })
        .unwrap();
    }

    #[test]
    fn long_loops_take_steps() {
        let fill = || drop(Data::from_fn(10 << 16, |_| 0u8));
        assert_eq!(under(1 << 20, 10, fill), Ok(()));
        assert_eq!(under(1 << 20, 9, fill), Err(Stop::Steps(9)));
    }
}
