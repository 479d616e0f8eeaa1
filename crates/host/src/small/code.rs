//! The code of small programs, and how it is built.
#![forbid(unsafe_code)]

use crate::block::machine::{Op, word};
use crate::elem::Elem;
use std::collections::HashMap;
use std::ops::Range;

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
}

/// The operands of an operation on `len` elements. Unary operations ignore `b`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each {
    pub op: Op,
    pub wide: bool,
    pub len: u32,
    /// The number of the first word of the result, which comes after all words of the operands.
    pub to: u32,
    pub a: Place,
    pub b: Place,
}

/// The start of a window along one dimension of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The scalar that states the start. It is clamped to the numbers from 0 to `most`.
    pub index: Place,
    pub most: u32,
    /// The number of elements of the array from one index of the dimension to the next.
    pub stride: u32,
}

/// One instruction. `wide` states whether its words have 64 bits.
#[derive(Clone, Debug)]
pub(crate) enum Ins {
    Each(Each),
    /// Sets each element to that of `a` where `predicate` is true, and to that of `b` elsewhere. The predicate's words
    /// have the width of the others.
    Select {
        wide: bool,
        len: u32,
        to: u32,
        predicate: Place,
        a: Place,
        b: Place,
    },
    /// Sets each element to the word whose number is in the table.
    Copy {
        wide: bool,
        to: u32,
        table: Range<u32>,
    },
    /// Copies an array to words that may come before it.
    Move {
        wide: bool,
        len: u32,
        to: u32,
        from: Place,
    },
    /// Converts the words of an array of narrow elements from 32 to 64 bits, or back.
    Widen {
        len: u32,
        to: u32,
        from: Place,
    },
    Narrow {
        elem: Elem,
        len: u32,
        to: u32,
        from: Place,
    },
    /// Sets each result to the combination of the `rows * row_len` words whose numbers are in its part of the table, in
    /// the order of `shardwise_mathfn::order`. Both numbers are at least 1.
    Fold {
        op: Op,
        wide: bool,
        identity: u64,
        to: u32,
        rows: u32,
        row_len: u32,
        table: Range<u32>,
    },
    /// Sets each of `len` elements to a sum of products. The table has the number of the first and of the second factor
    /// for each product, and as many products for each element.
    Dot {
        wide: bool,
        is_float: bool,
        len: u32,
        to: u32,
        table: Range<u32>,
    },
    /// Copies a window of the array `from`. The table has the words of the window that starts at 0, and `starts` moves
    /// it.
    Window {
        wide: bool,
        to: u32,
        table: Range<u32>,
        starts: Range<u32>,
    },
    /// Sets elements to those of a window of a large array, which is input number `array`. The table has the numbers of
    /// the elements of the window that starts at 0.
    Read {
        elem: Elem,
        array: u32,
        to: u32,
        table: Range<u32>,
        starts: Range<u32>,
    },
    /// Copies `update` into a window of a large array, which is input number `array`.
    Write {
        array: u32,
        update: Place,
        table: Range<u32>,
        starts: Range<u32>,
    },
    /// Copies `update` into a window of the array that starts at word `at`. The table and `starts` are as for a window.
    Update {
        wide: bool,
        at: u32,
        update: Place,
        table: Range<u32>,
        starts: Range<u32>,
    },
    /// Runs the instructions of `body` as long as those of `cond` set the truth value at word `predicate`. Both follow
    /// this instruction.
    While {
        cond: Range<u32>,
        predicate: u32,
        body: Range<u32>,
    },
    /// Runs one of the branches, which follow this instruction: the one whose number is at `index`, or the last one if
    /// there is no such branch. With `is_if`, `index` is a truth value, and true is the first one.
    Case {
        index: Place,
        is_if: bool,
        branches: Vec<Range<u32>>,
    },
}

impl Ins {
    /// Returns true if the instruction uses words of 64 bits only.
    pub fn is_wide(&self) -> bool {
        match self {
            Ins::Each(each) => each.wide,
            Ins::Select { wide, .. }
            | Ins::Copy { wide, .. }
            | Ins::Move { wide, .. }
            | Ins::Fold { wide, .. }
            | Ins::Dot { wide, .. }
            | Ins::Window { wide, .. }
            | Ins::Update { wide, .. } => *wide,
            Ins::Read { elem, .. } => elem.is_wide(),
            Ins::Write { update, .. } => update.is_wide(),
            Ins::Widen { .. } | Ins::Narrow { .. } | Ins::While { .. } | Ins::Case { .. } => false,
        }
    }
}

/// A small program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub instructions: Vec<Ins>,
    pub tables: Vec<u32>,
    pub starts: Vec<Start>,
    /// The words at the start of a run, among them the constants.
    pub narrow: Vec<u32>,
    pub wide: Vec<u64>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    constants: HashMap<(bool, u64), u32>,
}

/// An array that a program is given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// A small array, and its number of elements. It is read at the start.
    Words(Place, usize),
    /// A large array, which stays where it is, and its number of bytes. Windows of it are read and, if `is_written`,
    /// written.
    Array { bytes: usize, is_written: bool },
}

/// An array that a program returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// A small array, and its number of elements. It is written at the end.
    Words(Place, usize),
    /// The large array that is the input with this number.
    Array(usize),
}

/// The sizes of a [`Code`] at one time, to which it can be cut.
pub(crate) struct Mark([usize; 7]);

impl Code {
    /// Returns a place for an array of `len` elements.
    pub fn place(&mut self, elem: Elem, len: usize) -> Place {
        let words = |count: usize| u32::try_from(count).expect("small programs are small");
        let at = words(if elem.is_wide() { self.wide.len() } else { self.narrow.len() });
        if elem.is_wide() {
            self.wide.resize(self.wide.len() + len, 0);
        } else {
            self.narrow.resize(self.narrow.len() + len, 0);
        }
        Place { elem, at, step: u32::from(len != 1) }
    }

    /// Returns the place of a word that all elements have, in an array of type `elem`. With `wide`, words have 64 bits,
    /// whatever the type.
    pub fn constant(&mut self, elem: Elem, wide: bool, bits: u64) -> Place {
        if let Some(&at) = self.constants.get(&(wide, bits)) {
            return Place { elem, at, step: 0 };
        }
        let place = self.place(if wide { Elem::U64 } else { Elem::U32 }, 1);
        self.set(wide, place.at, bits);
        self.constants.insert((wide, bits), place.at);
        Place { elem, at: place.at, step: 0 }
    }

    /// Returns the place of an array with these bytes, one element after the other.
    pub fn array(&mut self, elem: Elem, bytes: &[u8]) -> Place {
        let elements = bytes.chunks_exact(elem.size());
        let bits = |e: &[u8]| if elem.is_wide() { word::<u64>(elem, e) } else { word::<u32>(elem, e).into() };
        let words: Vec<u64> = elements.map(bits).collect();
        if let [first, rest @ ..] = &words[..]
            && rest.iter().all(|w| w == first)
        {
            return self.constant(elem, elem.is_wide(), *first);
        }
        let place = self.place(elem, words.len());
        words.iter().enumerate().for_each(|(i, &w)| self.set(elem.is_wide(), place.at + i as u32, w));
        place
    }

    fn set(&mut self, wide: bool, at: u32, bits: u64) {
        if wide {
            self.wide[at as usize] = bits;
        } else {
            self.narrow[at as usize] = bits as u32;
        }
    }

    /// Adds numbers of words, and returns where they are.
    pub fn table(&mut self, words: impl IntoIterator<Item = u32>) -> Range<u32> {
        let start = self.tables.len() as u32;
        self.tables.extend(words);
        start..self.tables.len() as u32
    }

    /// Adds an instruction, and returns its number.
    pub fn push(&mut self, ins: Ins) -> u32 {
        self.instructions.push(ins);
        self.instructions.len() as u32 - 1
    }

    /// Returns the number of the next instruction.
    pub fn next(&self) -> u32 {
        self.instructions.len() as u32
    }

    /// Returns the number of words.
    pub fn word_count(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    pub fn mark(&self) -> Mark {
        Mark([
            self.instructions.len(),
            self.tables.len(),
            self.starts.len(),
            self.narrow.len(),
            self.wide.len(),
            self.inputs.len(),
            self.outputs.len(),
        ])
    }

    /// Removes all that was added after `mark` was taken.
    pub fn cut(&mut self, Mark([instructions, tables, starts, narrow, wide, inputs, outputs]): &Mark) {
        self.instructions.truncate(*instructions);
        self.tables.truncate(*tables);
        self.starts.truncate(*starts);
        self.narrow.truncate(*narrow);
        self.wide.truncate(*wide);
        self.inputs.truncate(*inputs);
        self.outputs.truncate(*outputs);
        self.constants.retain(|(is_wide, _), at| (*at as usize) < if *is_wide { *wide } else { *narrow });
    }
}
