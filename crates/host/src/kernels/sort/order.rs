//! Orders as those of unsigned numbers.

use crate::elem::Elem;
use shardwise_ops::sort::merge_sort;
use std::convert::Infallible;

/// How elements of a type are ordered.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    elem: Elem,
    is_descending: bool,
    /// Floats are compared as numbers: NaN with nothing, zeros are equal.
    is_partial: bool,
}

/// The keys of a line as numbers that are in order where the keys are.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Of 32 bits or fewer, each with its place in the low half.
    Short(Vec<u64>),
    Long(Vec<u64>),
    /// None: NaN.
    Partial(Vec<Option<u64>>),
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Short(vec![])
    }
}

impl Order {
    /// `None` for types without an order.
    pub fn new(elem: Elem, is_descending: bool, is_total: bool) -> Option<Order> {
        let order = Order { elem, is_descending, is_partial: elem.is_float() && !is_total };
        (!elem.is_complex()).then_some(order)
    }

    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.elem.size()
    }

    /// The numbers of the elements from `start` on, `step` elements apart.
    pub fn read(&self, bytes: &[u8], start: usize, step: usize, n: usize) -> Numbers {
        macro_rules! words {
            ($T:ty) => {{
                let size = size_of::<$T>();
                let at = |i: usize| {
                    let at = (start + i * step) * size;
                    u64::from(<$T>::from_le_bytes(bytes[at..at + size].try_into().expect("an element")))
                };
                self.numbers((0..n).map(at))
            }};
        }
        match self.elem.size() {
            1 => words!(u8),
            2 => words!(u16),
            4 => words!(u32),
            _ => words!(u64),
        }
    }

    fn numbers(&self, bits: impl Iterator<Item = u64>) -> Numbers {
        let width = 8 * self.elem.size() as u32;
        let (sign, all) = (1u64 << (width - 1), u64::MAX >> (64 - width));
        let flip = if self.is_descending { all } else { 0 };
        let total = |x: u64| if x & sign == 0 { x | sign } else { !x & all };
        let number = |x: u64| match self.elem {
            e if e.is_float() => total(x) ^ flip,
            e if e.is_signed() => x ^ sign ^ flip,
            _ => x ^ flip,
        };
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
            return Numbers::Partial(bits.map(one).collect());
        }
        match width {
            64 => Numbers::Long(bits.map(number).collect()),
            _ => Numbers::Short(bits.enumerate().map(|(i, x)| number(x) << 32 | i as u64).collect()),
        }
    }
}

impl Numbers {
    /// For each place in order, the place of the number; equal ones keep their order.
    pub fn sorted(self) -> Vec<u32> {
        match self {
            Numbers::Short(mut list) => {
                list.sort_unstable();
                places(&list)
            }
            Numbers::Long(list) => sorted_by_key(&list),
            Numbers::Partial(list) => match list.iter().copied().collect::<Option<Vec<u64>>>() {
                Some(list) => sorted_by_key(&list),
                None => merged(&list),
            },
        }
    }

    /// The first `k` of [`Numbers::sorted`].
    pub fn first(self, k: usize) -> Vec<u32> {
        match self {
            Numbers::Short(list) => {
                let mut first = least(&list, k);
                first.sort_unstable();
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

/// The `k` least of different numbers, at least one, and perhaps others.
fn least(list: &[u64], k: usize) -> Vec<u64> {
    let (mut kept, mut limit) = (Vec::with_capacity(2 * k), u64::MAX);
    for &x in list {
        // Most of a long list is seen when the limit is low already.
        if x > limit {
            continue;
        }
        kept.push(x);
        if kept.len() == 2 * k {
            limit = *kept.select_nth_unstable(k - 1).1;
            kept.truncate(k);
        }
    }
    kept
}

fn places(list: &[u64]) -> Vec<u32> {
    list.iter().map(|&x| x as u32).collect()
}

fn sorted_by_key(list: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    order.sort_by_key(|&i| list[i as usize]);
    order
}

/// By the first key, then the second, and so on.
pub fn sorted_by_all(keys: &[Numbers]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys[0].len() as u32).collect();
    order.sort_by(|&a, &b| {
        let compared = keys.iter().map(|k| k.get(a as usize).cmp(&k.get(b as usize)));
        compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    order
}

/// By a comparison that is no order, as the reference goes about it.
fn merged(list: &[Option<u64>]) -> Vec<u32> {
    let is_less = |a: u32, b: u32| match (list[a as usize], list[b as usize]) {
        (Some(a), Some(b)) => Ok(a < b),
        _ => Ok(false),
    };
    let mut sorted: Vec<u32> = (0..list.len() as u32).collect();
    let Ok(()) = merge_sort::<_, Infallible>(&mut sorted, is_less);
    sorted
}
