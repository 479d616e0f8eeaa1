//! The words of small programs, and the places of arrays in them.
#![forbid(unsafe_code)]

use crate::block::machine::{Op, put_words, words};
use crate::elem::Elem;
use crate::simd::Word;
use bytemuck::Pod;
use shardwise_mathfn::order::{LANES_32, LANES_64};

/// The words of an array: one for each element, or a single one that all elements have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The element type. It determines whether the words have 64 or 32 bits ([`Elem::is_wide`]).
    pub elem: Elem,
    /// The number of the first word.
    pub at: u32,
    /// The number of words from one element to the next: 1, or 0 if all elements are one word.
    pub step: u32,
}

impl Place {
    pub fn is_wide(self) -> bool {
        self.elem.is_wide()
    }

    /// Returns the number of the word of element `i`.
    pub fn word(self, i: usize) -> usize {
        self.at as usize + self.step as usize * i
    }

    /// Returns the number of words of an array with `len` elements: one if all elements are one word.
    pub fn count(self, len: usize) -> usize {
        if self.step == 0 { 1 } else { len }
    }

    /// Returns true if one of the words of an array here, which has `len` elements, is among the `count` words from
    /// number `at` on. Both have the same width. If either has no words, the result may be true, too.
    pub fn overlaps(self, len: usize, at: u32, count: usize) -> bool {
        let own = self.at as usize..self.at as usize + self.count(len);
        own.start < at as usize + count && (at as usize) < own.end
    }
}

/// An array of real or complex elements in the words of a program. The words of a complex array are its real parts, and
/// then its imaginary ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub place: Place,
    /// The number of real elements.
    pub len: usize,
    /// The number of real elements that an element is: 2 if it is complex, and 1 otherwise. Complex elements have parts
    /// that fill a word.
    pub parts: usize,
}

impl Array {
    pub fn bytes(self) -> usize {
        self.len * self.place.elem.size()
    }
}

/// All words of a program, by their width.
#[derive(Clone, Default)]
pub(crate) struct Words {
    narrow: Vec<u32>,
    wide: Vec<u64>,
}

impl Words {
    /// Returns the numbers of narrow and of wide words.
    pub fn counts(&self) -> [usize; 2] {
        [self.narrow.len(), self.wide.len()]
    }

    /// Removes the last words, so that at most these numbers of narrow and of wide words are left.
    pub fn truncate(&mut self, [narrow, wide]: [usize; 2]) {
        self.narrow.truncate(narrow);
        self.wide.truncate(wide);
    }

    /// Adds words for an array of `len` elements, all bits 0, and returns its place. Its step is 1, or 0 if `len` is 1.
    pub fn add(&mut self, elem: Elem, len: usize) -> Place {
        let at = self.counts()[usize::from(elem.is_wide())];
        if elem.is_wide() {
            self.wide.resize(at + len, 0);
        } else {
            self.narrow.resize(at + len, 0);
        }
        Place { elem, at: u32::try_from(at).expect("small programs are small"), step: u32::from(len != 1) }
    }

    /// Sets word number `at`: of the words of 64 bits if `wide`, and otherwise of those of 32 bits, to the low half of
    /// `bits`.
    pub fn set(&mut self, wide: bool, at: u32, bits: u64) {
        if wide {
            self.wide[at as usize] = bits;
        } else {
            self.narrow[at as usize] = bits as u32;
        }
    }

    /// Returns the bits of word number `at`: of the words of 64 bits if `wide`, and otherwise of those of 32 bits.
    pub fn get(&self, wide: bool, at: usize) -> u64 {
        if wide { self.wide[at] } else { self.narrow[at].into() }
    }

    /// Returns the addresses of the narrow and of the wide words.
    pub fn addresses(&mut self) -> (*mut u32, *mut u64) {
        (self.narrow.as_mut_ptr(), self.wide.as_mut_ptr())
    }

    /// Reads an array from the bytes of its elements. Panics if there are not as many bytes as it has.
    pub fn load(&mut self, array: Array, bytes: &[u8]) {
        if array.place.is_wide() {
            load_array(&mut self.wide, array, bytes)
        } else {
            load_array(&mut self.narrow, array, bytes)
        }
    }

    /// Writes an array to the bytes of its elements. Panics if there are not as many bytes as it has.
    pub fn store(&self, array: Array, bytes: &mut [u8]) {
        if array.place.is_wide() {
            store_array(&self.wide, array, bytes)
        } else {
            store_array(&self.narrow, array, bytes)
        }
    }

    /// Converts the `len` narrow elements at `from` to words of 64 bits, which are written from word number `to` on.
    pub fn widen(&mut self, len: usize, to: usize, from: Place) {
        let (from, elem, to) =
            (&self.narrow[from.at as usize..][..from.count(len)], from.elem, &mut self.wide[to..][..len]);
        match elem {
            _ if elem.is_float() => rewrite(from, to, |word| f64::from(f32::from_bits(word)).to_bits()),
            _ if elem.is_unsigned() => rewrite(from, to, u64::from),
            // Truth values are numbers, too: true is -1.
            _ => rewrite(from, to, |word| i64::from(word as i32) as u64),
        }
    }

    /// Converts `len` words of 64 bits at `from`, which hold elements of the narrow type `elem`, to words of 32 bits,
    /// which are written from word number `to` on.
    pub fn narrow(&mut self, elem: Elem, len: usize, to: usize, from: Place) {
        let (from, to) = (&self.wide[from.at as usize..][..from.count(len)], &mut self.narrow[to..][..len]);
        match elem.is_float() {
            true => rewrite(from, to, |word| (f64::from_bits(word) as f32).to_bits()),
            false => rewrite(from, to, |word| word as u32),
        }
    }

    /// Returns the number that a scalar of an integer or truth type holds, or `i64::MAX` for larger ones. A truth value
    /// that is true is not 0.
    #[inline(always)]
    pub fn index(&self, place: Place) -> i64 {
        match place.elem {
            Elem::I64 => self.wide[place.at as usize] as i64,
            Elem::U64 => i64::try_from(self.wide[place.at as usize]).unwrap_or(i64::MAX),
            elem if elem.is_signed() => i64::from(self.narrow[place.at as usize] as i32),
            _ => i64::from(self.narrow[place.at as usize]),
        }
    }

    /// Returns the truth value in a narrow word.
    #[inline(always)]
    pub fn is_true(&self, at: u32) -> bool {
        self.narrow[at as usize] != 0
    }
}

/// Sets words to what `convert` returns for those of the other width. If `from` is a single word, this is its result for
/// all.
fn rewrite<A: Copy, B: Copy>(from: &[A], to: &mut [B], convert: impl Fn(A) -> B) {
    match from {
        [word] => to.fill(convert(*word)),
        _ => to.iter_mut().zip(from).for_each(|(to, word)| *to = convert(*word)),
    }
}

fn load_array<W: Area>(words: &mut [W], array: Array, bytes: &[u8]) {
    let Array { place, len, parts } = array;
    assert_eq!(bytes.len(), array.bytes(), "the bytes of an input");
    let words = &mut words[place.at as usize..][..len];
    if parts == 1 {
        return load(words, place.elem, bytes);
    }
    let (re, im) = words.split_at_mut(len / 2);
    let pairs = bytes.chunks_exact(2 * W::SIZE).map(bytemuck::pod_read_unaligned::<[W; 2]>);
    re.iter_mut().zip(im).zip(pairs).for_each(|((re, im), pair)| [*re, *im] = pair);
}

fn store_array<W: Area>(words: &[W], array: Array, bytes: &mut [u8]) {
    let Array { place, len, parts } = array;
    assert_eq!(bytes.len(), array.bytes(), "the bytes of an output");
    if parts == 1 || place.step == 0 {
        return store(words, place, bytes);
    }
    let (re, im) = words[place.at as usize..][..len].split_at(len / 2);
    let pairs = bytes.chunks_exact_mut(2 * W::SIZE);
    re.iter().zip(im).zip(pairs).for_each(|((re, im), pair)| pair.copy_from_slice(bytemuck::bytes_of(&[*re, *im])));
}

/// Sets the words in `to` to the elements of type `elem` with these bytes, one word for each.
#[inline(always)]
pub(super) fn load<W: Area>(to: &mut [W], elem: Elem, bytes: &[u8]) {
    if elem.size() == W::SIZE {
        return bytemuck::cast_slice_mut(to).copy_from_slice(bytes);
    }
    words(elem, bytes, to);
}

/// Writes the elements from a place on to their bytes, as many as there are bytes for. If the step of the place is 0,
/// writes its single element again and again.
#[inline(always)]
pub(super) fn store<W: Area>(words: &[W], place: Place, bytes: &mut [u8]) {
    let (elem, words) = (place.elem, &words[place.at as usize..]);
    if place.step == 0 {
        let mut done = elem.size().min(bytes.len());
        put_words(elem, &mut bytes[..done], &words[..done.div_ceil(elem.size())]);
        while done < bytes.len() {
            let more = done.min(bytes.len() - done);
            bytes.copy_within(..more, done);
            done += more;
        }
        return;
    }
    if elem.size() == W::SIZE {
        return bytes.copy_from_slice(&bytemuck::cast_slice(words)[..bytes.len()]);
    }
    let count = bytes.len() / elem.size();
    put_words(elem, bytes, &words[..count]);
}

/// The largest number of words of a row that is folded with this many partial results, or fewer. Longer rows have more.
const SHORT_ROW: usize = 8;

/// Words of one width, on which the actions of this width work.
pub(crate) trait Area: Word + Pod {
    fn of(words: &mut Words) -> &mut [Self];

    /// Returns the narrow words, and the words of this width before number `to` and from it on. The narrow words end
    /// there, too, if they are of this width.
    fn around(words: &mut Words, to: usize) -> (&[u32], &[Self], &mut [Self]);

    /// Folds the words into one, in the order that `shardwise_mathfn::order` states for a row of at least two words and
    /// at most a segment.
    fn fold_row(op: Op, identity: Self, row: &[Self]) -> Self;
}

impl Area for u32 {
    #[inline(always)]
    fn of(words: &mut Words) -> &mut [u32] {
        &mut words.narrow
    }

    #[inline(always)]
    fn around(words: &mut Words, to: usize) -> (&[u32], &[u32], &mut [u32]) {
        let (old, new) = words.narrow.split_at_mut(to);
        (old, old, new)
    }

    #[inline(always)]
    fn fold_row(op: Op, identity: u32, row: &[u32]) -> u32 {
        fold_row::<u32, LANES_32>(op, identity, row)
    }
}

impl Area for u64 {
    #[inline(always)]
    fn of(words: &mut Words) -> &mut [u64] {
        &mut words.wide
    }

    #[inline(always)]
    fn around(words: &mut Words, to: usize) -> (&[u32], &[u64], &mut [u64]) {
        let (old, new) = words.wide.split_at_mut(to);
        (&words.narrow, old, new)
    }

    #[inline(always)]
    fn fold_row(op: Op, identity: u64, row: &[u64]) -> u64 {
        fold_row::<u64, LANES_64>(op, identity, row)
    }
}

/// Folds words as [`Op::fold_row`] does, with fewer partial results if the row is short.
#[inline(always)]
fn fold_row<W: Area, const N: usize>(op: Op, identity: W, row: &[W]) -> W {
    match *row {
        [a, b] => op.combine(a, b),
        [a, b, c] => op.combine(op.combine(a, c), b),
        [a, b, c, d] => op.combine(op.combine(a, c), op.combine(b, d)),
        _ if row.len() <= SHORT_ROW => op.fold_row::<W, SHORT_ROW>(identity, row),
        _ => op.fold_row::<W, N>(identity, row),
    }
}
