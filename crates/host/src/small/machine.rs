//! The interpreter of small programs.
#![expect(unsafe_code, reason = "a function with the instructions of a level is called if the machine has them")]

use super::code::{Code, Each, Input, Ins, Output, Place};
use crate::block::machine::{Op, put_word, word};
use crate::elem::Elem;
use crate::simd::{Level, Word};
use shardwise_base::budget;
use shardwise_mathfn::order::{LANES_32, LANES_64};
use std::ops::Range;

/// The words of a run.
struct Words {
    narrow: Vec<u32>,
    wide: Vec<u64>,
}

impl Words {
    fn load(&mut self, place: Place, len: usize, bytes: &[u8]) {
        assert_eq!(bytes.len(), len * place.elem.size(), "the bytes of an input");
        let (elements, at) = (bytes.chunks_exact(place.elem.size()), place.at as usize);
        if place.is_wide() {
            self.wide[at..][..len].iter_mut().zip(elements).for_each(|(w, e)| *w = word(place.elem, e));
        } else {
            self.narrow[at..][..len].iter_mut().zip(elements).for_each(|(w, e)| *w = word(place.elem, e));
        }
    }
}

/// The words that an operation reads and writes.
pub(crate) struct Lanes<'a, W> {
    to: &'a mut [W],
    a: &'a [W],
    b: &'a [W],
}

impl<'a, W: Word> Lanes<'a, W> {
    /// Returns the lanes of an instruction. `words` are all words of its width. An operand of one word has it alone.
    #[inline(always)]
    fn of(each: &Each, words: &'a mut [W]) -> Lanes<'a, W> {
        let (old, new) = words.split_at_mut(each.to as usize);
        let len = each.len as usize;
        let operand = |place: Place| &old[place.at as usize..][..if place.step == 0 { 1 } else { len }];
        Lanes { to: &mut new[..len], a: operand(each.a), b: operand(each.b) }
    }

    #[inline(always)]
    pub(crate) fn unary(&mut self, f: impl Fn(W) -> W) {
        match self.a {
            [a] => self.to.fill(f(*a)),
            a => self.to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a)),
        }
    }

    #[inline(always)]
    pub(crate) fn binary(&mut self, f: impl Fn(W, W) -> W) {
        match (self.a, self.b) {
            ([a], [b]) => self.to.fill(f(*a, *b)),
            ([a], b) => self.to.iter_mut().zip(b).for_each(|(to, b)| *to = f(*a, *b)),
            (a, [b]) => self.to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a, *b)),
            (a, b) => self.to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = f(*a, *b)),
        }
    }
}

/// Words of one width, which the instructions of this width use.
trait Area: Word {
    fn of(words: &mut Words) -> &mut [Self];

    /// Folds `len` elements in the order of a row.
    fn fold_row(op: Op, identity: Self, len: usize, get: impl Fn(usize) -> Self) -> Self;
}

impl Area for u32 {
    #[inline(always)]
    fn of(words: &mut Words) -> &mut [u32] {
        &mut words.narrow
    }

    #[inline(always)]
    fn fold_row(op: Op, identity: u32, len: usize, get: impl Fn(usize) -> u32) -> u32 {
        op.fold_row::<u32, LANES_32>(identity, len, get)
    }
}

impl Area for u64 {
    #[inline(always)]
    fn of(words: &mut Words) -> &mut [u64] {
        &mut words.wide
    }

    #[inline(always)]
    fn fold_row(op: Op, identity: u64, len: usize, get: impl Fn(usize) -> u64) -> u64 {
        op.fold_row::<u64, LANES_64>(identity, len, get)
    }
}

/// The bytes of an input: all elements, one after the other.
pub(crate) enum Bytes<'a> {
    Read(&'a [u8]),
    Written(&'a mut [u8]),
}

impl Bytes<'_> {
    fn get(&self) -> &[u8] {
        match self {
            Bytes::Read(bytes) => bytes,
            Bytes::Written(bytes) => bytes,
        }
    }
}

/// One run of a program.
struct Run<'c, 'a> {
    code: &'c Code,
    words: Words,
    inputs: &'c mut [Bytes<'a>],
    /// The instructions that ran in loops and that no step was taken for yet.
    unpaid: u64,
}

impl Code {
    /// Runs the program. `inputs[i]` has the bytes of the code's input number `i`, for writing if the code writes it.
    /// `outputs` has the bytes of those outputs that are small arrays, in their order. May unwind if the run is
    /// cancelled or has exceeded its limit of steps.
    ///
    /// # Panics
    /// Panics if an input or output is missing, does not have the bytes of its elements, or is not for writing.
    pub fn run(&self, inputs: &mut [Bytes<'_>], outputs: &mut [&mut [u8]]) {
        assert_eq!(inputs.len(), self.inputs.len(), "all inputs");
        let words = Words { narrow: self.narrow.clone(), wide: self.wide.clone() };
        let mut run = Run { code: self, words, inputs, unpaid: 0 };
        run.load();
        run.start();
        let places = self.outputs.iter().filter_map(|output| match output {
            Output::Words(place, len) => Some((*place, *len)),
            Output::Array(_) => None,
        });
        places.zip(outputs).for_each(|((place, len), bytes)| run.store(place, len, bytes));
    }
}

impl Run<'_, '_> {
    /// Reads the small inputs.
    fn load(&mut self) {
        for (input, given) in self.code.inputs.iter().zip(&*self.inputs) {
            match *input {
                Input::Words(place, len) => self.words.load(place, len, given.get()),
                Input::Array { bytes, .. } => assert_eq!(given.get().len(), bytes, "the bytes of a large input"),
            }
        }
    }

    fn store(&self, place: Place, len: usize, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), len * place.elem.size(), "the bytes of an output");
        for (i, e) in bytes.chunks_exact_mut(place.elem.size()).enumerate() {
            if place.is_wide() {
                put_word(place.elem, e, self.words.wide[place.word(i)]);
            } else {
                put_word(place.elem, e, self.words.narrow[place.word(i)]);
            }
        }
    }

    fn start(&mut self) {
        let all = 0..self.code.next();
        #[cfg(target_arch = "x86_64")]
        if Level::best() >= Level::Avx2 {
            return Avx2::block(self, all);
        }
        Portable::block(self, all);
    }

    /// Returns the number that a scalar of an integer or truth type holds.
    #[inline(always)]
    fn index(&self, place: Place) -> i64 {
        match place.elem {
            Elem::I64 => self.words.wide[place.at as usize] as i64,
            Elem::U64 => i64::try_from(self.words.wide[place.at as usize]).unwrap_or(i64::MAX),
            elem if elem.is_signed() => i64::from(self.words.narrow[place.at as usize] as i32),
            _ => i64::from(self.words.narrow[place.at as usize]),
        }
    }

    /// Returns the number of words by which the window that starts at 0 moves.
    #[inline(always)]
    fn moved(&self, starts: &Range<u32>) -> usize {
        let offset = |start: &super::Start| {
            self.index(start.index).clamp(0, i64::from(start.most)) as usize * start.stride as usize
        };
        self.code.starts[starts.start as usize..starts.end as usize].iter().map(offset).sum()
    }

    fn branch(&self, index: Place, is_if: bool, count: usize) -> usize {
        match (is_if, self.index(index)) {
            (true, truth) => usize::from(truth == 0),
            (false, i) => usize::try_from(i).map_or(count - 1, |i| i.min(count - 1)),
        }
    }

    /// Converts narrow elements to words of 64 bits, through the bytes of the elements.
    fn widen(&mut self, len: usize, to: usize, from: Place) {
        let (mut bytes, size) = ([0; 8], from.elem.size());
        for i in 0..len {
            put_word(from.elem, &mut bytes[..size], self.words.narrow[from.word(i)]);
            self.words.wide[to + i] = word(from.elem, &bytes[..size]);
        }
    }

    /// Converts words of 64 bits that hold narrow elements to words of 32 bits.
    fn narrow(&mut self, elem: Elem, len: usize, to: usize, from: Place) {
        let (mut bytes, size) = ([0; 8], elem.size());
        for i in 0..len {
            put_word(elem, &mut bytes[..size], self.words.wide[from.word(i)]);
            self.words.narrow[to + i] = word(elem, &bytes[..size]);
        }
    }

    /// Counts the instructions of a turn of a loop as steps of the budget.
    fn pay(&mut self, instructions: usize) {
        self.unpaid += instructions as u64;
        if self.unpaid >= POLLED {
            budget::take_steps(std::mem::take(&mut self.unpaid));
        }
    }
}

/// The number of instructions after which steps are taken.
const POLLED: u64 = 64;

/// A level of vector instructions.
trait Instructions {
    /// Runs a range of instructions.
    fn block(run: &mut Run<'_, '_>, range: Range<u32>);
}

/// The instructions that every machine has.
struct Portable;

impl Instructions for Portable {
    #[inline(never)]
    fn block(run: &mut Run<'_, '_>, range: Range<u32>) {
        steps::<Portable>(run, range);
    }
}

#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    fn block(run: &mut Run<'_, '_>, range: Range<u32>) {
        // SAFETY: this level is only chosen if the machine has its instructions.
        unsafe { block_avx2(run, range) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
unsafe fn block_avx2(run: &mut Run<'_, '_>, range: Range<u32>) {
    steps::<Avx2>(run, range);
}

/// Runs a range of instructions, with the loops and branches in it.
#[inline(always)]
fn steps<I: Instructions>(run: &mut Run<'_, '_>, range: Range<u32>) {
    let code = run.code;
    let mut at = range.start;
    while at < range.end {
        match &code.instructions[at as usize] {
            Ins::While { cond, predicate, body } => {
                loop {
                    run.pay(body.end.abs_diff(at) as usize);
                    I::block(run, cond.clone());
                    if run.words.narrow[*predicate as usize] == 0 {
                        break;
                    }
                    I::block(run, body.clone());
                }
                at = body.end;
            }
            Ins::Case { index, is_if, branches } => {
                I::block(run, branches[run.branch(*index, *is_if, branches.len())].clone());
                at = branches.last().map_or(at + 1, |last| last.end);
            }
            Ins::Widen { len, to, from } => {
                run.widen(*len as usize, *to as usize, *from);
                at += 1;
            }
            Ins::Narrow { elem, len, to, from } => {
                run.narrow(*elem, *len as usize, *to as usize, *from);
                at += 1;
            }
            ins if ins.is_wide() => {
                step::<u64>(run, ins);
                at += 1;
            }
            ins => {
                step::<u32>(run, ins);
                at += 1;
            }
        }
    }
}

/// Runs one instruction on the words of one width.
#[inline(always)]
fn step<W: Area>(run: &mut Run<'_, '_>, ins: &Ins) {
    match ins {
        Ins::Each(each) => each.op.on_lanes(&mut Lanes::of(each, W::of(&mut run.words))),
        Ins::Select { len, to, predicate, a, b, .. } => {
            let (old, new) = W::of(&mut run.words).split_at_mut(*to as usize);
            for (i, to) in new[..*len as usize].iter_mut().enumerate() {
                let is_true = old[predicate.word(i)].to_bits64() != 0;
                *to = if is_true { old[a.word(i)] } else { old[b.word(i)] };
            }
        }
        Ins::Copy { to, table, .. } => {
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (old, new) = W::of(&mut run.words).split_at_mut(*to as usize);
            new.iter_mut().zip(table).for_each(|(to, &from)| *to = old[from as usize]);
        }
        Ins::Move { len, to, from, .. } => {
            let (words, to, len) = (W::of(&mut run.words), *to as usize, *len as usize);
            match from.step {
                0 => {
                    let word = words[from.at as usize];
                    words[to..to + len].fill(word);
                }
                _ => words.copy_within(from.at as usize..from.at as usize + len, to),
            }
        }
        Ins::Fold { op, identity, to, rows, row_len, table, .. } => {
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (old, new) = W::of(&mut run.words).split_at_mut(*to as usize);
            let (rows, row_len) = (*rows as usize, *row_len as usize);
            for (to, own) in new.iter_mut().zip(table.chunks_exact(rows * row_len)) {
                *to = fold(*op, W::from_bits64(*identity), row_len, own, old);
            }
        }
        Ins::Dot { is_float, len, to, table, .. } => {
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (old, new) = W::of(&mut run.words).split_at_mut(*to as usize);
            for (to, own) in new.iter_mut().zip(table.chunks_exact(table.len() / *len as usize)) {
                let factors = own.chunks_exact(2).map(|pair| (old[pair[0] as usize], old[pair[1] as usize]));
                let zero = W::from_bits64(0);
                *to = match is_float {
                    true => factors.fold(zero, |sum, (a, b)| a.fused(b, sum)),
                    false => factors.fold(zero, |sum, (a, b)| a.imul(b).iadd(sum)),
                };
            }
        }
        Ins::Window { to, table, starts, .. } => {
            let moved = run.moved(starts);
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (old, new) = W::of(&mut run.words).split_at_mut(*to as usize);
            new.iter_mut().zip(table).for_each(|(to, &from)| *to = old[from as usize + moved]);
        }
        Ins::Update { at, update, table, starts, .. } => {
            let moved = run.moved(starts) + *at as usize;
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let words = W::of(&mut run.words);
            table.iter().enumerate().for_each(|(i, &to)| words[to as usize + moved] = words[update.word(i)]);
        }
        Ins::Read { elem, array, to, table, starts } => {
            let moved = run.moved(starts);
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (bytes, size) = (run.inputs[*array as usize].get(), elem.size());
            let to = &mut W::of(&mut run.words)[*to as usize..];
            for (to, &from) in to.iter_mut().zip(table) {
                *to = word(*elem, &bytes[(from as usize + moved) * size..][..size]);
            }
        }
        Ins::Write { array, update, table, starts } => {
            let moved = run.moved(starts);
            let table = &run.code.tables[table.start as usize..table.end as usize];
            let (words, size) = (W::of(&mut run.words), update.elem.size());
            let Bytes::Written(bytes) = &mut run.inputs[*array as usize] else { unreachable!("it is for writing") };
            for (i, &to) in table.iter().enumerate() {
                put_word(update.elem, &mut bytes[(to as usize + moved) * size..][..size], words[update.word(i)]);
            }
        }
        Ins::Widen { .. } | Ins::Narrow { .. } | Ins::While { .. } | Ins::Case { .. } => {
            unreachable!("{ins:?} is no instruction of one width")
        }
    }
}

/// Folds the words with these numbers, which are rows of `row_len` elements, into one. There is at least one element.
#[inline(always)]
fn fold<W: Area>(op: Op, identity: W, row_len: usize, own: &[u32], words: &[W]) -> W {
    let row = |row: &[u32]| match row {
        [one] => words[*one as usize],
        row => W::fold_row(op, identity, row.len(), |i| words[row[i] as usize]),
    };
    let rows = own.chunks_exact(row_len).map(row);
    rows.reduce(|a, b| op.combine(a, b)).unwrap_or(identity)
}
