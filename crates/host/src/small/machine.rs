//! The interpreter of small programs.
#![forbid(unsafe_code)]

use super::call::Call;
use super::code::{Action, Code, Input, Ins, Output, POLLED, Window};
use super::interpreter::Interpreter;
use super::products::Products;
use super::tier::Tier;
use super::words::{Area, Place, Words, load, store};
use crate::block::lanes::Lanes;
use crate::block::machine::Op;
use crate::elem::Elem;
use crate::simd::{AtLevel, Portable, Vector, Word, run_words};
use shardwise_base::budget;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

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

    /// Returns the address of the bytes. They may be written only if the input is for writing.
    fn address(&mut self) -> *mut u8 {
        match self {
            Bytes::Read(bytes) => bytes.as_ptr().cast_mut(),
            Bytes::Written(bytes) => bytes.as_mut_ptr(),
        }
    }

    fn get_mut(&mut self) -> &mut [u8] {
        match self {
            Bytes::Read(_) => unreachable!("only inputs for writing are written"),
            Bytes::Written(bytes) => bytes,
        }
    }
}

/// A small program that can run.
pub(crate) struct Program {
    pub code: Code,
    tier: Tier,
    /// The memory of runs that have ended, for the next ones.
    spare: Mutex<Vec<Memory>>,
}

/// The memory of a run.
struct Memory {
    words: Words,
    /// The bytes of the arrays of one call.
    scratch: Vec<u64>,
}

impl Memory {
    fn new(code: &Code) -> Memory {
        let calls =
            code.instructions.iter().filter_map(|ins| if let Ins::Call(call) = ins { Some(call) } else { None });
        Memory { words: code.words.clone(), scratch: vec![0; calls.map(Call::scratch).max().unwrap_or(0)] }
    }
}

/// One run of a program.
struct Run<'c, 'a> {
    code: &'c Code,
    tier: &'c Tier,
    memory: Memory,
    inputs: &'c mut [Bytes<'a>],
    /// The number of instructions in loops for which no step was taken yet.
    unpaid: u32,
    /// The number of the instruction at which the interpreter begins.
    at: u32,
    /// True if the interpreter runs one instruction only.
    is_single: bool,
    /// The instruction at which machine code goes on, if the interpreter has stopped for it.
    goes_on: Option<u32>,
}

impl Program {
    pub fn new(code: Code) -> Program {
        Program { code, tier: Tier::default(), spare: Mutex::default() }
    }

    /// Returns true if the program is machine code, or becomes it when it runs next.
    #[cfg(test)]
    pub fn is_hot(&self) -> bool {
        self.tier.is_hot(&self.code)
    }

    /// Runs the program, by machine code if it has run often or if `is_eager`, and if machine code can be made.
    /// `inputs[i]` has the bytes of the code's input number `i`, which must be for writing if the code writes it.
    /// `outputs` has the bytes of those outputs that are small arrays, in their order. Outputs for which it has none
    /// are not written. May unwind if the run is cancelled or has exceeded its limit of steps.
    ///
    /// # Panics
    /// Panics if there are not as many inputs as the code has, if an input or output does not have the bytes of its
    /// elements, or if an input that the code writes is not for writing.
    pub fn run(&self, inputs: &mut [Bytes<'_>], outputs: &mut [&mut [u8]], is_eager: bool) {
        let Program { code, tier, spare } = self;
        assert_eq!(inputs.len(), code.inputs.len(), "all inputs");
        // Runs change no constants and set all other words before they read them, so the memory of one serves the next.
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = spare().pop().unwrap_or_else(|| Memory::new(code));
        let mut run = Run { code, tier, memory, inputs, unpaid: 0, at: 0, is_single: false, goes_on: None };
        run.load();
        run.finish(is_eager);
        let arrays = code.outputs.iter().filter_map(|output| match output {
            Output::Words(array) => Some(*array),
            Output::Array(_) => None,
        });
        arrays.zip(outputs).for_each(|(array, bytes)| run.memory.words.store(array, bytes));
        spare().push(run.memory);
    }
}

impl AtLevel for &mut Run<'_, '_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        let code = self.code;
        let (mut at, is_single) = (self.at, self.is_single);
        while let Some(ins) = code.instructions.get(at as usize) {
            at = self.instruction::<V>(at, ins);
            if is_single {
                return;
            }
        }
    }
}

impl Interpreter for Run<'_, '_> {
    fn words(&mut self) -> &mut Words {
        &mut self.memory.words
    }

    fn inputs(&mut self) -> SmallVec<[*mut u8; 8]> {
        self.inputs.iter_mut().map(Bytes::address).collect()
    }

    fn unpaid(&mut self) -> &mut u32 {
        &mut self.unpaid
    }

    fn step(&mut self, at: u32) {
        (self.at, self.is_single) = (at, true);
        run_words(self);
    }
}

impl Run<'_, '_> {
    /// Runs all instructions. A loop that runs for long changes to machine code.
    fn finish(&mut self, is_eager: bool) {
        let (code, tier) = (self.code, self.tier);
        let mut at = 0;
        if !is_eager && !tier.is_hot(code) {
            run_words(&mut *self);
            tier.count(code.instructions.len() as u64);
            let Some(goes_on) = self.goes_on.take() else { return };
            at = goes_on;
        }
        match tier.native(code) {
            Some(native) => native.run(self, at),
            None => {
                self.at = at;
                run_words(self);
            }
        }
    }

    fn load(&mut self) {
        for (input, given) in self.code.inputs.iter().zip(&*self.inputs) {
            match *input {
                Input::Words(array) => self.memory.words.load(array, given.get()),
                Input::Array { bytes, is_written } => {
                    assert_eq!(given.get().len(), bytes, "the bytes of a large input");
                    let may_write = matches!(given, Bytes::Written(_));
                    assert!(may_write || !is_written, "an input that the code writes is for writing");
                }
            }
        }
    }

    #[inline(always)]
    fn instruction<V: Vector<Word = u32>>(&mut self, at: u32, ins: &Ins) -> u32 {
        match *ins {
            Ins::On32(ref action) => self.action::<V>(action),
            Ins::On64(ref action) => self.action::<Portable<u64>>(action),
            Ins::Widen { len, to, from } => self.memory.words.widen(len as usize, to as usize, from),
            Ins::Narrow { elem, len, to, from } => self.memory.words.narrow(elem, len as usize, to as usize, from),
            Ins::Call(ref call) => call.run(&mut self.memory.words, &mut self.memory.scratch),
            Ins::Jump { to } => {
                self.pay(at.saturating_sub(to));
                if self.unpaid == 0 && to < at && self.tier.is_hot(self.code) {
                    self.goes_on = Some(to);
                    return u32::MAX;
                }
                return to;
            }
            Ins::Unless { predicate, to } => return if self.memory.words.is_true(predicate) { at + 1 } else { to },
            Ins::Branch { index, is_if, ref targets } => return self.target(index, is_if, targets),
        }
        at + 1
    }

    #[inline(always)]
    fn action<V: Vector<Word: Area>>(&mut self, action: &Action) {
        let code = self.code;
        let words = Area::of(&mut self.memory.words);
        match *action {
            Action::Each { op, len, to, a, b } => op.on_lanes::<V>(&mut lanes(words, len, to, a, b)),
            Action::Select { len, to, predicate, a, b } => select(words, len as usize, to, predicate, a, b),
            Action::Copy { to, run, ref table } => gather(words, to, code.numbers(table), 0, run as usize),
            Action::Repeat { to, times, ref table } => repeat(words, to, code.numbers(table), times as usize),
            Action::Move { len, to, from } => shift(words, len as usize, to as usize, from),
            Action::Fold { op, identity, len, to, rows, row_len, run, ref table } => {
                let (old, new) = words.split_at_mut(to as usize);
                let (identity, sizes) = (V::Word::from_bits64(identity), [rows, row_len, run].map(|n| n as usize));
                fold(old, &mut new[..len as usize], op, identity, sizes, code.numbers(table));
            }
            Action::Dot { is_float, len, to, run, steps, ref table } => {
                let (old, new) = words.split_at_mut(to as usize);
                let products = Products { run: run as usize, steps, is_float, table: code.numbers(table) };
                products.sum::<V>([old, old], &mut new[..len as usize]);
            }
            Action::Window { to, ref window } if window.slice_len() == 1 && self.has_short_indices(window) => {
                pick(V::Word::around(&mut self.memory.words, to as usize), code, window);
            }
            Action::Window { to, ref window } => {
                let (table, len) = (code.numbers(&window.table), window.slice_len() as u32);
                for k in 0..window.count() {
                    let moved = self.moved(window, k);
                    let words = V::Word::of(&mut self.memory.words);
                    gather(words, to + k as u32 * len, table, moved, window.run as usize);
                }
            }
            Action::Update { at, update, ref window } => {
                let moved = at as usize + self.moved(window, 0);
                let words = V::Word::of(&mut self.memory.words);
                scatter(words, update, code.numbers(&window.table), moved, window.run as usize);
            }
            Action::Put { combine, at, update, ref window } => {
                for k in 0..window.count() {
                    let update = Place { at: update.word(k * window.slice_len()) as u32, ..update };
                    if self.is_inside(window, k) {
                        self.put::<V::Word>(combine, at as usize + self.moved(window, k), update, window);
                    }
                }
            }
            Action::Read { elem, array, to, ref window } => self.read::<V::Word>(elem, array, to, window),
            Action::Write { array, update, ref window } => self.write::<V::Word>(array, update, window),
        }
    }

    /// Returns the number of elements by which slice number `k` of a window comes later than the first slice does if
    /// all its starts are 0. The starts of the slice are clamped.
    #[inline(always)]
    fn moved(&self, window: &Window, k: usize) -> usize {
        let slice = self.code.slice(window, k);
        let mut moved = slice.base as usize;
        // Loops here are faster than iterators, whose functions are not compiled into the interpreter.
        for s in self.code.starts(window) {
            let index = self.memory.words.index(s.index_of(slice));
            moved += index.clamp(0, i64::from(s.most)) as usize * s.stride as usize;
        }
        moved
    }

    /// Returns true if no start of slice number `k` is clamped.
    #[inline(always)]
    fn is_inside(&self, window: &Window, k: usize) -> bool {
        let slice = self.code.slice(window, k);
        for s in self.code.starts(window) {
            if !(0..=i64::from(s.most)).contains(&self.memory.words.index(s.index_of(slice))) {
                return false;
            }
        }
        true
    }

    /// Returns true if the starts of a window are signed integers of 32 bits or fewer.
    #[inline(always)]
    fn has_short_indices(&self, window: &Window) -> bool {
        for s in self.code.starts(window) {
            if s.index.is_wide() || !s.index.elem.is_signed() {
                return false;
            }
        }
        true
    }

    /// Copies elements to a slice that has moved, or combines them with it.
    #[inline(always)]
    fn put<W: Area>(&mut self, combine: Option<Op>, moved: usize, update: Place, window: &Window) {
        let (run, table) = (window.run as usize, self.code.numbers(&window.table));
        let words = W::of(&mut self.memory.words);
        match combine {
            None => scatter(words, update, table, moved, run),
            Some(op) => accumulate(words, op, update, table, moved, run),
        }
    }

    #[inline(always)]
    fn read<W: Area>(&mut self, elem: Elem, array: u32, to: u32, window: &Window) {
        let (size, run, len) = (elem.size(), window.run as usize, window.slice_len());
        for k in 0..window.count() {
            let moved = self.moved(window, k);
            let bytes = self.inputs[array as usize].get();
            let to = W::of(&mut self.memory.words)[to as usize + k * len..].chunks_exact_mut(run);
            for (to, &from) in to.zip(self.code.numbers(&window.table)) {
                load(to, elem, &bytes[(from as usize + moved) * size..][..run * size]);
            }
        }
    }

    #[inline(always)]
    fn write<W: Area>(&mut self, array: u32, update: Place, window: &Window) {
        let (moved, size, run) = (self.moved(window, 0), update.elem.size(), window.run as usize);
        let bytes = self.inputs[array as usize].get_mut();
        let words = W::of(&mut self.memory.words);
        for (i, &to) in self.code.numbers(&window.table).iter().enumerate() {
            let update = Place { at: update.word(i * run) as u32, ..update };
            store(words, update, &mut bytes[(to as usize + moved) * size..][..run * size]);
        }
    }

    #[inline(always)]
    fn target(&self, index: Place, is_if: bool, targets: &[u32]) -> u32 {
        let (index, last) = (self.memory.words.index(index), targets.len() - 1);
        targets[match is_if {
            true => usize::from(index == 0),
            false => usize::try_from(index).map_or(last, |i| i.min(last)),
        }]
    }

    /// Counts the instructions of a turn of a loop. Takes them as steps of the budget once there are [`POLLED`].
    #[inline(always)]
    fn pay(&mut self, instructions: u32) {
        self.unpaid += instructions;
        if self.unpaid >= POLLED {
            self.tier.count(self.unpaid.into());
            budget::take_steps(std::mem::take(&mut self.unpaid).into());
        }
    }
}

/// Returns the lanes of an operation on `len` elements. An operand whose elements are all one word has this word alone.
#[inline(always)]
fn lanes<W: Area>(words: &mut [W], len: u32, to: u32, a: Place, b: Place) -> Lanes<'_, W> {
    let (old, new) = words.split_at_mut(to as usize);
    let len = len as usize;
    let operand = |place: Place| &old[place.at as usize..][..place.count(len)];
    Lanes { to: &mut new[..len], a: operand(a), b: operand(b) }
}

#[inline(always)]
fn select<W: Area>(words: &mut [W], len: usize, to: u32, predicate: Place, a: Place, b: Place) {
    let (old, new) = words.split_at_mut(to as usize);
    let operand = |place: Place| &old[place.at as usize..][..place.count(len)];
    let (predicate, a, b, to) = (operand(predicate), operand(a), operand(b), &mut new[..len]);
    let one = |p: W, a: W, b: W| if p.to_bits64() != 0 { a } else { b };
    match (predicate, a, b) {
        ([p], a, b) => match if p.to_bits64() != 0 { a } else { b } {
            [x] => to.fill(*x),
            x => to.copy_from_slice(x),
        },
        (p, [a], [b]) => to.iter_mut().zip(p).for_each(|(to, p)| *to = one(*p, *a, *b)),
        (p, [a], b) => to.iter_mut().zip(p).zip(b).for_each(|((to, p), b)| *to = one(*p, *a, *b)),
        (p, a, [b]) => to.iter_mut().zip(p).zip(a).for_each(|((to, p), a)| *to = one(*p, *a, *b)),
        (p, a, b) => {
            to.iter_mut().zip(p).zip(a).zip(b).for_each(|(((to, p), a), b)| *to = one(*p, *a, *b));
        }
    }
}

/// Sets the words from number `to` on to runs of words. The first one of each has a number that is `moved` more than
/// that of the table.
#[inline(always)]
fn gather<W: Area>(words: &mut [W], to: u32, table: &[u32], moved: usize, run: usize) {
    let (old, new) = words.split_at_mut(to as usize);
    if run == 1 {
        return new.iter_mut().zip(table).for_each(|(to, &from)| *to = old[from as usize + moved]);
    }
    let new = new.chunks_exact_mut(run).zip(table);
    new.for_each(|(to, &from)| to.copy_from_slice(&old[from as usize + moved..][..run]));
}

/// Sets words to slices of one element each, whose indices are in narrow words.
#[inline(always)]
fn pick<W: Area>((narrow, old, new): (&[u32], &[W], &mut [W]), code: &Code, window: &Window) {
    let (first, starts) = (code.numbers(&window.table)[0] as usize, code.starts(window));
    for (k, to) in new.iter_mut().enumerate().take(window.count()) {
        let slice = code.slice(window, k);
        let mut from = first + slice.base as usize;
        for s in starts {
            let index = narrow[(s.index.at + slice.indices) as usize] as i32;
            from += i64::from(index).clamp(0, s.most.into()) as usize * s.stride as usize;
        }
        *to = old[from];
    }
}

/// Sets the words from number `to` on to the words whose numbers are in the table, each of them `times` times in a row.
/// All of these numbers are less than `to`.
#[inline(always)]
fn repeat<W: Area>(words: &mut [W], to: u32, table: &[u32], times: usize) {
    let (old, new) = words.split_at_mut(to as usize);
    new.chunks_exact_mut(times).zip(table).for_each(|(to, &from)| to.fill(old[from as usize]));
}

/// Sets runs of words to the elements of `update`. The first word of each run has a number that is `moved` more than
/// that of the table.
#[inline(always)]
fn scatter<W: Area>(words: &mut [W], update: Place, table: &[u32], moved: usize, run: usize) {
    for (i, &to) in table.iter().enumerate() {
        let from = Place { at: update.word(i * run) as u32, ..update };
        shift(words, run, to as usize + moved, from);
    }
}

/// Combines runs of words with the elements of `update`, as [`scatter`] sets them.
#[inline(always)]
fn accumulate<W: Area>(words: &mut [W], op: Op, update: Place, table: &[u32], moved: usize, run: usize) {
    for (i, &to) in table.iter().enumerate() {
        for k in 0..run {
            let at = to as usize + moved + k;
            words[at] = op.combine(words[at], words[update.word(i * run + k)]);
        }
    }
}

#[inline(always)]
fn shift<W: Area>(words: &mut [W], len: usize, to: usize, from: Place) {
    let at = from.at as usize;
    if from.step == 0 {
        let word = words[at];
        words[to..to + len].fill(word);
    } else {
        words.copy_within(at..at + len, to);
    }
}

#[inline(always)]
fn fold<W: Area>(old: &[W], new: &mut [W], op: Op, identity: W, sizes: [usize; 3], table: &[u32]) {
    let [rows, row_len, run] = sizes;
    for (to, firsts) in new.chunks_exact_mut(run).zip(table.chunks_exact(rows)) {
        let row = |first: u32| &old[first as usize..][..run * row_len];
        match row_len {
            1 => {
                to.copy_from_slice(row(firsts[0]));
                // Loops here are faster than iterators, whose functions are not compiled into the interpreter.
                for &first in &firsts[1..] {
                    op.combine_each(to, row(first));
                }
            }
            _ => {
                to[0] = W::fold_row(op, identity, row(firsts[0]));
                for &first in &firsts[1..] {
                    to[0] = op.combine(to[0], W::fold_row(op, identity, row(first)));
                }
            }
        }
    }
}
