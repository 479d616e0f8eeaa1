//! The code of small programs, and how it is built.
#![forbid(unsafe_code)]

use super::call::Call;
use super::words::{Array, Place, Words};
use crate::block::machine::{Op, word};
use crate::elem::Elem;
use std::collections::HashMap;
use std::ops::Range;

/// The number of instructions of loops after which a run takes steps for them.
pub(super) const POLLED: u32 = 256;

/// One instruction.
#[derive(Debug)]
pub(crate) enum Ins {
    /// An action on words of 32 bits.
    On32(Action),
    /// An action on words of 64 bits.
    On64(Action),
    /// Converts the words of an array of narrow elements from 32 to 64 bits.
    Widen { len: u32, to: u32, from: Place },
    /// Converts words of 64 bits, which hold elements of the narrow type `elem`, to words of 32 bits.
    Narrow { elem: Elem, len: u32, to: u32, from: Place },
    /// Calls a routine.
    Call(Call),
    /// Continues at another instruction.
    Jump { to: u32 },
    /// Continues at another instruction if the truth value at word `predicate` is false.
    Unless { predicate: u32, to: u32 },
    /// Continues at one of the targets: the one whose number is at `index`, or the last one if there is no such target.
    /// If `is_if`, `index` is a truth value, and the first target is for true.
    Branch { index: Place, is_if: bool, targets: Vec<u32> },
}

impl Ins {
    /// Returns an instruction on words of 64 bits if it is `wide`, and on words of 32 bits otherwise.
    pub fn on(wide: bool, action: Action) -> Ins {
        if wide { Ins::On64(action) } else { Ins::On32(action) }
    }
}

/// The effect of an instruction on the words of one width. Results are the words from number `to` on. Those of all
/// actions but `Move`, `Update`, `Put` and `Write` come after all words that the action reads. Starts of windows are
/// clamped, except by `Put`.
#[derive(Debug)]
pub(crate) enum Action {
    /// Computes an operation on `len` elements. Unary operations ignore `b`.
    Each { op: Op, len: u32, to: u32, a: Place, b: Place },
    /// Sets each element to that of `a` where `predicate` is true, and to that of `b` elsewhere.
    Select { len: u32, to: u32, predicate: Place, a: Place, b: Place },
    /// Copies runs of words that follow each other. The table has the number of the first word of each run.
    Copy { to: u32, run: u32, table: Range<u32> },
    /// Sets elements to the words whose numbers are in the table, each of them `times` times.
    Repeat { to: u32, times: u32, table: Range<u32> },
    /// Copies an array to words that may come before it.
    Move { len: u32, to: u32, from: Place },
    /// Sets each of `len` results to the combination of `rows` rows of `row_len` words that follow each other, in the
    /// order of `shardwise_mathfn::order`. All numbers are at least 1, and `rows` is at most `order::CHUNK`. Each run
    /// of `run` results has a part of the table, with the number of the first word of each row of its first result. The
    /// rows of the next results begin one word later each. `run` divides `len`, and is 1 unless `row_len` is.
    Fold { op: Op, identity: u64, len: u32, to: u32, rows: u32, row_len: u32, run: u32, table: Range<u32> },
    /// Sets each of `len` elements to a sum of products, of which all elements have the same number. Each run of `run`
    /// elements has a part of the table, with the numbers of both factors of each product of its first element. The
    /// numbers of the next elements are larger by `steps` each, which are 0 or 1. `run` divides `len`.
    Dot { is_float: bool, len: u32, to: u32, run: u32, steps: [u32; 2], table: Range<u32> },
    /// Copies a window of an array in words. The numbers in the window's table are those of words of the program.
    Window { to: u32, window: Window },
    /// Copies `update` into a window of the array that starts at word `at`.
    Update { at: u32, update: Place, window: Window },
    /// Copies `update` into a window of the array that starts at word `at`, or combines each word of the window with
    /// the word of `update`. Skips each slice one of whose starts is not among the numbers from 0 to the largest one.
    Put { combine: Option<Op>, at: u32, update: Place, window: Window },
    /// Sets elements to those of a window of a large array, which is input number `array`.
    Read { elem: Elem, array: u32, to: u32, window: Window },
    /// Copies `update` into a window of a large array, which is input number `array`.
    Write { array: u32, update: Place, window: Window },
}

/// A window of an array: some of its elements, which may start at indices that the program computes. Or several slices,
/// which are alike and each of which has indices of its own. Their elements follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The number of elements of a run. They follow each other in the array, and the table has the first.
    pub run: u32,
    /// The part of [`Code::tables`] with the number of the first element of each run of the first slice, if all of its
    /// starts are 0.
    pub table: Range<u32>,
    /// The part of [`Code::starts`] with the starts of the window. It is empty if the window does not move.
    pub starts: Range<u32>,
    /// The part of [`Code::tables`] with two numbers for each slice: the `base` and the `indices` of its [`Slice`]. If
    /// it is empty, there is one slice, and both numbers are 0.
    pub slices: Range<u32>,
}

/// One slice of a window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Slice {
    /// The number of elements by which the slice comes after the first one, if both have the same starts.
    pub base: u32,
    /// The number of words by which its indices come after those of the first slice.
    pub indices: u32,
}

impl Window {
    /// Returns the number of slices.
    pub fn count(&self) -> usize {
        (self.slices.len() / 2).max(1)
    }

    /// Returns the number of elements of a slice.
    pub fn slice_len(&self) -> usize {
        self.run as usize * self.table.len()
    }

    /// Returns the number of elements of all slices.
    pub fn len(&self) -> usize {
        self.count() * self.slice_len()
    }
}

/// The start of a window along one dimension of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The scalar that states the start of the first slice. Starts are clamped to the numbers from 0 to `most`, except
    /// that [`Action::Put`] skips a slice with another start.
    pub index: Place,
    pub most: u32,
    /// The number of elements of the array from one index of the dimension to the next.
    pub stride: u32,
}

impl Start {
    /// Returns the place of the start of a slice.
    #[inline(always)]
    pub fn index_of(&self, slice: Slice) -> Place {
        Place { at: self.index.at + slice.indices, ..self.index }
    }
}

/// A small program.
#[derive(Default)]
pub(crate) struct Code {
    pub instructions: Vec<Ins>,
    /// The tables of all instructions, one after the other.
    pub tables: Vec<u32>,
    /// The starts of all windows, one window after the other.
    pub starts: Vec<Start>,
    /// The words at the start of a run, among them the constants.
    pub words: Words,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// The number of the word of each constant of one word, by its width, which is true for 64 bits, and by its bits.
    constants: HashMap<(bool, u64), u32>,
}

/// An array that a program takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// A small array. It is read at the start.
    Words(Array),
    /// A large array, which stays where it is, and its number of bytes. Windows of it are read and, if `is_written`,
    /// written.
    Array { bytes: usize, is_written: bool },
}

/// An array that a program returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// A small array. It is written at the end.
    Words(Array),
    /// The large array that is the input with this number.
    Array(usize),
}

/// The sizes of a [`Code`] at one time, to which it can be cut.
pub(crate) struct Mark {
    instructions: usize,
    tables: usize,
    starts: usize,
    words: [usize; 2],
    inputs: usize,
}

impl Code {
    /// Adds words for an array of `len` elements, and returns its place.
    pub fn place(&mut self, elem: Elem, len: usize) -> Place {
        self.words.add(elem, len)
    }

    /// Returns the place of an array of type `elem`, of any length, whose elements are all one word with these bits.
    /// Adds the word unless there is a constant of this width with these bits.
    pub fn constant(&mut self, elem: Elem, bits: u64) -> Place {
        let wide = elem.is_wide();
        if let Some(&at) = self.constants.get(&(wide, bits)) {
            return Place { elem, at, step: 0 };
        }
        let place = self.place(elem, 1);
        self.words.set(wide, place.at, bits);
        self.constants.insert((wide, bits), place.at);
        place
    }

    /// Returns the place of a constant array with these bytes, one element after the other, each of so many real
    /// elements of type `elem`. If all real elements are equal, they are one word.
    pub fn array(&mut self, elem: Elem, parts: usize, bytes: &[u8]) -> Place {
        let wide = elem.is_wide();
        let bits = |e: &[u8]| if wide { word::<u64>(elem, e) } else { word::<u32>(elem, e).into() };
        let elements = || bytes.chunks_exact(elem.size());
        let words: Vec<u64> = (0..parts).flat_map(|part| elements().skip(part).step_by(parts)).map(bits).collect();
        if let Some(&first) = words.first()
            && words.iter().all(|w| *w == first)
        {
            return self.constant(elem, first);
        }
        let place = self.place(elem, words.len());
        words.iter().zip(place.at..).for_each(|(&w, at)| self.words.set(wide, at, w));
        place
    }

    /// Adds numbers to the tables, and returns where they are.
    pub fn table(&mut self, numbers: impl IntoIterator<Item = u32>) -> Range<u32> {
        let start = self.tables.len() as u32;
        self.tables.extend(numbers);
        start..self.tables.len() as u32
    }

    /// Returns the words that an instruction may set, each range with its width, which is true for 64 bits.
    pub fn written(&self, ins: &Ins) -> Vec<(bool, Range<usize>)> {
        let range = |at: u32, len: usize| at as usize..at as usize + len;
        let of_call = |array: &Array| (array.place.is_wide(), range(array.place.at, array.len));
        let (is_wide, action) = match ins {
            Ins::On32(action) => (false, action),
            Ins::On64(action) => (true, action),
            Ins::Widen { len, to, .. } => return vec![(true, range(*to, *len as usize))],
            Ins::Narrow { len, to, .. } => return vec![(false, range(*to, *len as usize))],
            Ins::Call(call) => return call.results().iter().map(of_call).collect(),
            Ins::Jump { .. } | Ins::Unless { .. } | Ins::Branch { .. } => return vec![],
        };
        let words = match *action {
            Action::Each { len, to, .. }
            | Action::Select { len, to, .. }
            | Action::Move { len, to, .. }
            | Action::Fold { len, to, .. }
            | Action::Dot { len, to, .. } => range(to, len as usize),
            Action::Copy { to, run, ref table } => range(to, run as usize * table.len()),
            Action::Repeat { to, times, ref table } => range(to, times as usize * table.len()),
            Action::Window { to, ref window } | Action::Read { to, ref window, .. } => range(to, window.len()),
            Action::Update { at, ref window, .. } | Action::Put { at, ref window, .. } => {
                self.reach(at as usize, window)
            }
            Action::Write { .. } => return vec![],
        };
        vec![(is_wide, words)]
    }

    /// Returns the words that a window of the array at word `at` may have, wherever it starts.
    pub fn reach(&self, at: usize, window: &Window) -> Range<usize> {
        let table = self.numbers(&window.table);
        let bases = || (0..window.count()).map(|k| self.slice(window, k).base);
        let moved: usize = self.starts(window).iter().map(|start| start.most as usize * start.stride as usize).sum();
        let [Some(first), Some(last)] = [table.iter().min(), table.iter().max()] else { return at..at };
        let [low, high] = [bases().min(), bases().max()].map(|base| base.unwrap_or(0) as usize);
        at + *first as usize + low..at + *last as usize + high + window.run as usize + moved
    }

    /// Returns a part of the tables.
    #[inline(always)]
    pub fn numbers(&self, table: &Range<u32>) -> &[u32] {
        &self.tables[table.start as usize..table.end as usize]
    }

    /// Returns the starts of a window.
    #[inline(always)]
    pub fn starts(&self, window: &Window) -> &[Start] {
        &self.starts[window.starts.start as usize..window.starts.end as usize]
    }

    /// Returns slice number `k` of a window.
    #[inline(always)]
    pub fn slice(&self, window: &Window, k: usize) -> Slice {
        match self.numbers(&window.slices) {
            [] => Slice::default(),
            slices => Slice { base: slices[2 * k], indices: slices[2 * k + 1] },
        }
    }

    /// Adds an instruction, and returns its number.
    pub fn push(&mut self, ins: Ins) -> u32 {
        self.instructions.push(ins);
        self.next() - 1
    }

    /// Returns the number of the next instruction.
    pub fn next(&self) -> u32 {
        self.instructions.len() as u32
    }

    /// Returns the sizes of all parts but the outputs.
    pub fn mark(&self) -> Mark {
        Mark {
            instructions: self.instructions.len(),
            tables: self.tables.len(),
            starts: self.starts.len(),
            words: self.words.counts(),
            inputs: self.inputs.len(),
        }
    }

    /// Removes all that was added after `mark` was taken, except for outputs.
    pub fn cut(&mut self, mark: &Mark) {
        self.instructions.truncate(mark.instructions);
        self.tables.truncate(mark.tables);
        self.starts.truncate(mark.starts);
        self.words.truncate(mark.words);
        self.inputs.truncate(mark.inputs);
        self.constants.retain(|(is_wide, _), at| (*at as usize) < mark.words[usize::from(*is_wide)]);
    }
}
