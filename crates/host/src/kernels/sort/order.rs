//! Orders of elements as orders of unsigned numbers.

use crate::elem::Elem;
use shardwise_base::budget;
use shardwise_ops::sort::merge_sort;
use std::cmp::Ordering;
use std::convert::Infallible;

/// The number of elements above which a list is divided into parts, between which the budget is polled. A list that the
/// reference's merge sort sorts is not divided.
const LONG: usize = 1 << 18;
/// The approximate number of parts into which a list of more than [`LONG`] elements is divided when it is sorted. The
/// bounds of these parts are elements of the list.
const MARKS: usize = 256;

/// The order of the elements of a type.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    elem: Elem,
    is_descending: bool,
    /// True if floats are compared as numbers: NaN compares with nothing, and zeros are equal.
    is_partial: bool,
}

/// The keys of a line as numbers in the same order.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Keys of 32 bits or fewer, in the high halves, unless they are [`Numbers::Partial`]. Each has its position in the
    /// line in the low half.
    Short(Vec<u64>),
    /// Keys of 64 bits, without positions, unless they are [`Numbers::Partial`].
    Long(Vec<u64>),
    /// Keys of floats that are compared as numbers, without positions. `None` is NaN.
    Partial(Vec<Option<u64>>),
}

impl Order {
    /// Returns the order, or `None` for complex types, which have none. Floats are compared in their total order if
    /// `is_total`, else as numbers. For other types, `is_total` has no effect.
    pub fn new(elem: Elem, is_descending: bool, is_total: bool) -> Option<Order> {
        let order = Order { elem, is_descending, is_partial: elem.is_float() && !is_total };
        (!elem.is_complex()).then_some(order)
    }

    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the number of bytes of an element.
    pub fn size(&self) -> usize {
        self.elem.size()
    }

    /// Reads `n` elements, which are `step` elements apart from element `start` on. Returns numbers that compare as the
    /// elements do in this order.
    pub fn read(&self, bytes: &[u8], start: usize, step: usize, n: usize) -> Numbers {
        macro_rules! words {
            ($T:ty) => {{
                let elements = &bytemuck::cast_slice::<u8, $T>(bytes)[start..];
                self.numbers(n, |i| u64::from(<$T>::from_le(elements[i * step])))
            }};
        }
        match self.elem.size() {
            1 => words!(u8),
            2 => words!(u16),
            4 => words!(u32),
            _ => words!(u64),
        }
    }

    fn numbers(&self, n: usize, bits: impl Fn(usize) -> u64) -> Numbers {
        let width = 8 * self.elem.size() as u32;
        let (sign, all) = (1u64 << (width - 1), u64::MAX >> (64 - width));
        let flip = if self.is_descending { all } else { 0 };
        // The bits that change, for numbers without the sign bit and with it.
        let [positive, negative] = match self.elem {
            e if e.is_float() => [sign ^ flip, all ^ flip],
            e if e.is_signed() => [sign ^ flip; 2],
            _ => [flip; 2],
        };
        let number = |x: u64| x ^ if x & sign == 0 { positive } else { negative };
        if self.is_partial {
            let infinity = match self.elem {
                Elem::BF16 => 0x7F80,
                Elem::F16 => 0x7C00,
                Elem::F32 => 0x7F80_0000,
                _ => f64::INFINITY.to_bits(),
            };
            let without_sign = |x: u64| x & !sign;
            let one = |x: u64| match without_sign(x) {
                0 => Some(number(0)),
                m if m > infinity => None,
                _ => Some(number(x)),
            };
            return Numbers::Partial(collected(n, |i| one(bits(i))));
        }
        match width {
            64 => Numbers::Long(collected(n, |i| number(bits(i)))),
            _ => Numbers::Short(collected(n, |i| number(bits(i)) << 32 | i as u64)),
        }
    }
}

impl Numbers {
    /// Returns, for each position in the sorted line, the position of its number in the line. Equal numbers keep their
    /// order. In a partial order, a line with NaN is in the order in which the reference's merge sort leaves it.
    pub fn sorted(self) -> Vec<u32> {
        match self {
            Numbers::Short(list) => places(&sorted_in_parts(list, &u64::cmp, &|part| part.sort_unstable())),
            Numbers::Long(list) => sorted_by_key(&list),
            Numbers::Partial(list) => match list.iter().copied().collect::<Option<Vec<u64>>>() {
                Some(list) => sorted_by_key(&list),
                None => merged(&list),
            },
        }
    }

    /// Returns the first `k` positions of [`Numbers::sorted`], or all if there are fewer. `k` is at least one.
    pub fn first(self, k: usize) -> Vec<u32> {
        match self {
            Numbers::Short(list) => {
                let mut first = sorted_in_parts(least(&list, k), &u64::cmp, &|part| part.sort_unstable());
                first.truncate(k);
                places(&first)
            }
            other => {
                let mut all = other.sorted();
                all.truncate(k);
                all
            }
        }
    }

    fn get(&self, i: usize) -> u64 {
        match self {
            Numbers::Short(list) => list[i] >> 32,
            Numbers::Long(list) => list[i],
            Numbers::Partial(list) => list[i].unwrap_or(u64::MAX),
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Short(list) | Numbers::Long(list) => list.len(),
            Numbers::Partial(list) => list.len(),
        }
    }
}

/// Returns the `k` least of distinct numbers, and possibly others, in any order. Returns all if there are fewer. `k` is
/// at least one.
fn least(list: &[u64], k: usize) -> Vec<u64> {
    let (mut kept, mut limit) = (Vec::with_capacity(2 * k), u64::MAX);
    for (i, part) in list.chunks(LONG).enumerate() {
        if i > 0 {
            budget::poll();
        }
        for &x in part {
            // Most of a long list is processed when the limit is low already.
            if x > limit {
                continue;
            }
            kept.push(x);
            if kept.len() == 2 * k {
                limit = *kept.select_nth_unstable(k - 1).1;
                kept.truncate(k);
            }
        }
    }
    kept
}

/// Returns `element(i)` for each `i` in `0..n`. A long list is collected in parts, between which the run can be
/// cancelled.
fn collected<T>(n: usize, element: impl Fn(usize) -> T) -> Vec<T> {
    if n <= LONG {
        return (0..n).map(element).collect();
    }
    let mut list = Vec::with_capacity(n);
    for start in (0..n).step_by(LONG) {
        budget::poll();
        list.extend((start..n.min(start + LONG)).map(&element));
    }
    list
}

/// Sorts distinct elements. Both `compare` and `sort`, which sorts a list, have the order that is wanted. A long list
/// is sorted in parts, between which the run can be cancelled.
fn sorted_in_parts<T: Copy>(
    mut list: Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
    sort: &impl Fn(&mut [T]),
) -> Vec<T> {
    let len = list.len();
    if len <= LONG {
        sort(&mut list);
        return list;
    }
    let mut marks: Vec<T> = list.iter().step_by(len / (16 * MARKS)).copied().collect();
    sort(&mut marks);
    let marks: Vec<T> = marks.into_iter().skip(8).step_by(16).collect();
    let mut parts: Vec<Vec<T>> = vec![vec![]; marks.len() + 1];
    for piece in list.chunks(LONG) {
        piece.iter().for_each(|x| parts[marks.partition_point(|m| compare(m, x).is_lt())].push(*x));
        budget::poll();
    }
    list.clear();
    for mut part in parts {
        // A part that is still too large is not divided again.
        if part.len() > len / 2 {
            sort(&mut part);
        } else {
            part = sorted_in_parts(part, compare, sort);
        }
        list.extend(part);
        budget::poll();
    }
    list
}

fn places(list: &[u64]) -> Vec<u32> {
    collected(list.len(), |i| list[i] as u32)
}

/// Returns the positions `0..n` sorted by `compare`, which compares the elements at two positions. Positions of equal
/// elements stay in ascending order.
fn places_by(n: usize, compare: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let different = |a: &u32, b: &u32| compare(*a, *b).then(a.cmp(b));
    sorted_in_parts(collected(n, |i| i as u32), &different, &|part| part.sort_unstable_by(different))
}

fn sorted_by_key(list: &[u64]) -> Vec<u32> {
    places_by(list.len(), |a, b| list[a as usize].cmp(&list[b as usize]))
}

/// Returns, for each position in the sorted line, the position from which its element comes. The line is sorted by the
/// first key, then by the second, and so on. Elements with equal keys keep their order. No key may be
/// [`Numbers::Partial`]. Panics if there are no keys.
pub fn sorted_by_all(keys: &[Numbers]) -> Vec<u32> {
    places_by(keys[0].len(), |a, b| {
        let compared = keys.iter().map(|k| k.get(a as usize).cmp(&k.get(b as usize)));
        compared.fold(Ordering::Equal, Ordering::then)
    })
}

/// Sorts a list in which `None` is not less than any element, and no element is less than `None`. Returns positions as
/// [`Numbers::sorted`] does. This is no order, so the reference's algorithm is used.
fn merged(list: &[Option<u64>]) -> Vec<u32> {
    let is_less = |a: u32, b: u32| match (list[a as usize], list[b as usize]) {
        (Some(a), Some(b)) => Ok(a < b),
        _ => Ok(false),
    };
    let mut sorted: Vec<u32> = (0..list.len() as u32).collect();
    let Ok(()) = merge_sort::<_, Infallible>(&mut sorted, is_less);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_sorted_in_parts() {
        let n = 3 * LONG + 5;
        let mixed = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let lists: [&dyn Fn(usize) -> u64; 4] =
            [&mixed, &|i| mixed(i) % 5, &|i| (n - i) as u64, &|i| if i % 300 == 0 { i as u64 } else { 7 }];
        for list in lists {
            let list: Vec<u64> = (0..n).map(list).collect();
            let mut expected: Vec<u32> = (0..n as u32).collect();
            expected.sort_by_key(|&i| list[i as usize]);
            assert!(Numbers::Long(list).sorted() == expected);
        }
    }
}
