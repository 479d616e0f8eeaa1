//! Instructions of small programs as machine code.
#![forbid(unsafe_code)]

use super::builder::Builder;
use super::slices::Put;
use crate::block::machine::Op;
use crate::elem::Elem;
use crate::native::{Operands, Second, Width, formula, is_native};
use crate::small::words::Place;
use crate::small::{Action, Input, Ins, Window};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::ops::Range;

/// The largest number of vectors that the elements of an instruction fill for which there is machine code, and no call
/// of the interpreter, which is as fast for more. For conversions between widths and accesses to narrow elements, it is
/// the largest number of elements. Folds and products may use a few times as many vectors.
const MOST: usize = 16;
/// The largest number of vectors to which machine code applies a formula that takes vectors. The interpreter is faster
/// for more, because its vectors have twice as many lanes.
const MOST_IN_FORMULA: usize = 4;

impl<'c> Builder<'_, 'c> {
    /// Adds an instruction that is no jump, as machine code or as a call of the interpreter.
    pub fn instruction(&mut self, at: u32, ins: &Ins) {
        let is_done = match ins {
            Ins::On32(action) => self.action(Width { is_wide: false }, action),
            Ins::On64(action) => self.action(Width { is_wide: true }, action),
            Ins::Widen { len, to, from } => self.widen(*len as usize, *to as usize, *from),
            Ins::Narrow { elem, len, to, from } => self.narrow(*elem, *len as usize, *to as usize, *from),
            _ => None,
        };
        if is_done.is_none() {
            self.interpret(at, ins);
        }
    }

    /// Adds an action, or returns `None` if the interpreter must run it.
    fn action(&mut self, width: Width, action: &Action) -> Option<()> {
        let vectors = |len: u32| (len as usize).div_ceil(width.lanes());
        let few = |len: u32| vectors(len) <= MOST;
        let takes_vectors = |op: Op| formula(op, width.is_wide).is_some_and(|formula| formula.vector.is_some());
        let most = |op: Op| if takes_vectors(op) { MOST_IN_FORMULA } else { MOST };
        match *action {
            Action::Each { op, len, to, a, b } if is_native(op, width) && vectors(len) <= most(op) => {
                self.each(width, op, len as usize, to as usize, [a, b]);
            }
            Action::Select { len, to, predicate, a, b } if few(len) => {
                self.select(width, len as usize, to as usize, [predicate, a, b]);
            }
            Action::Copy { to, run, ref table } if few(run * table.len() as u32) => {
                let words = self.table(table).iter().flat_map(|&from| from..from + run).map(|n| n as usize).collect();
                self.copy(width, to as usize, words);
            }
            Action::Repeat { to, times, ref table } if few(times * table.len() as u32) => {
                let words = self.table(table).iter().flat_map(|&from| (0..times).map(move |_| from as usize)).collect();
                self.copy(width, to as usize, words);
            }
            Action::Move { len, to, from } if few(len) => self.move_words(width, len as usize, to as usize, from),
            Action::Fold { op, identity, len, to, rows, row_len, run, ref table } => {
                let table = self.table(table);
                return match row_len {
                    1 => self.fold_rows(width, op, [len, to, rows, run].map(|n| n as usize), table),
                    _ => self.fold_row(width, op, identity, [len, to, rows, row_len].map(|n| n as usize), table),
                };
            }
            Action::Dot { is_float, len, to, run, steps, ref table } => {
                let table = self.table(table);
                return self.dot(width, is_float, [len, to, run].map(|n| n as usize), steps, table);
            }
            Action::Window { to, ref window } if few(window.len() as u32) => self.window(width, to as usize, window),
            Action::Window { to, ref window } if few(window.slice_len() as u32) => {
                self.load_slices(width, to as usize, window);
            }
            Action::Update { at, update, ref window } if few(window.len() as u32) => {
                let put = Put { window, at: at as usize, combine: None, is_conditional: false };
                return self.put(width, put, update);
            }
            Action::Put { combine, at, update, ref window } if few(window.len() as u32) => {
                let put = Put { window, at: at as usize, combine, is_conditional: true };
                return self.put(width, put, update);
            }
            Action::Put { combine, at, update, ref window } if few(window.slice_len() as u32) => {
                let put = Put { window, at: at as usize, combine, is_conditional: true };
                return self.put_slices(width, put, update);
            }
            Action::Read { elem, array, to, ref window } if few(window.len() as u32) => {
                return self.read(width, elem, array, to as usize, window);
            }
            Action::Write { array, update, ref window } if few(window.len() as u32) => {
                return self.write(width, array, update, window);
            }
            _ => return None,
        }
        Some(())
    }

    pub fn table(&self, range: &Range<u32>) -> &'c [u32] {
        self.code.numbers(range)
    }

    fn each(&mut self, width: Width, op: Op, len: usize, to: usize, [a, b]: [Place; 2]) {
        let second = match self.constant(width, b.at as usize) {
            _ if b.step != 0 => Second::Any,
            Some(bits) => Second::Constant(bits),
            None => Second::Same,
        };
        for (first, lanes) in width.pieces(len) {
            let [a, b] = [a, b].map(|place| self.operand(width, place, first, lanes));
            let result = self.v.apply(op, width, Operands { a, b, second, lanes });
            self.store(width, to + first, lanes, result);
        }
    }

    fn select(&mut self, width: Width, len: usize, to: usize, places: [Place; 3]) {
        for (first, lanes) in width.pieces(len) {
            let [predicate, a, b] = places.map(|place| self.operand(width, place, first, lanes));
            let result = self.v.b.ins().bitselect(predicate, a, b);
            self.store(width, to + first, lanes, result);
        }
    }

    fn copy(&mut self, width: Width, to: usize, words: Vec<usize>) {
        for (k, words) in words.chunks(width.lanes()).enumerate() {
            let vector = self.words(width, words);
            self.store(width, to + k * width.lanes(), words.len(), vector);
        }
    }

    /// Returns words as the first lanes of a vector.
    fn words(&mut self, width: Width, words: &[usize]) -> Value {
        if words.windows(2).all(|pair| pair[1] == pair[0] + 1) {
            return self.load(width, words[0], words.len());
        }
        if words.iter().all(|word| *word == words[0]) {
            return self.splat(width, words[0]);
        }
        self.joined(width, words)
    }

    fn move_words(&mut self, width: Width, len: usize, to: usize, from: Place) {
        let of = |own: &mut Self, (first, lanes)| own.operand(width, from, first, lanes);
        let vectors: Vec<Value> = width.pieces(len).map(|piece| of(self, piece)).collect();
        for ((first, lanes), vector) in width.pieces(len).zip(vectors) {
            self.store(width, to + first, lanes, vector);
        }
    }

    /// Combines rows of one word each. Returns `None` if there are too many.
    fn fold_rows(&mut self, width: Width, op: Op, sizes: [usize; 4], table: &[u32]) -> Option<()> {
        let [len, to, rows, run] = sizes;
        let op = op.combination();
        (len / run * run.div_ceil(width.lanes()) * rows <= 4 * MOST).then_some(())?;
        for (k, firsts) in table.chunks_exact(rows).enumerate() {
            for (first, lanes) in width.pieces(run) {
                let mut result = self.load(width, firsts[0] as usize + first, lanes);
                for &row in &firsts[1..] {
                    let b = self.load(width, row as usize + first, lanes);
                    result = self.v.apply(op, width, Operands { a: result, b, second: Second::Any, lanes });
                }
                self.store(width, to + k * run + first, lanes, result);
            }
        }
        Some(())
    }

    /// Folds rows of two or more words, in the order of `shardwise_mathfn::order`. Returns `None` if there are too many
    /// rows or words.
    fn fold_row(&mut self, width: Width, op: Op, identity: u64, sizes: [usize; 4], table: &[u32]) -> Option<()> {
        let [len, to, rows, row_len] = sizes;
        let op = op.combination();
        // All words of a row are partial results.
        (row_len <= MOST * width.lanes() && len * rows * row_len.div_ceil(width.lanes()) <= 2 * MOST).then_some(())?;
        for (k, firsts) in table.chunks_exact(rows).enumerate() {
            let mut total = None;
            for &first in firsts {
                let row = self.folded(width, op, identity, first as usize, row_len);
                total = Some(match total {
                    None => row,
                    Some(a) => self.v.apply(op, width, Operands { a, b: row, second: Second::Any, lanes: 1 }),
                });
            }
            self.store(width, to + k, 1, total?);
        }
        Some(())
    }

    /// Folds words that follow each other into the first lane of a vector.
    fn folded(&mut self, width: Width, op: Op, identity: u64, at: usize, len: usize) -> Value {
        let all = width.lanes();
        let mut partials: Vec<Value> = vec![];
        for (first, lanes) in width.pieces(len) {
            let vector = self.load(width, at + first, lanes);
            partials.push(if lanes < all { self.v.filled(width, vector, lanes, identity) } else { vector });
        }
        self.v.folded(width, op, partials, len.next_power_of_two())
    }

    fn dot(
        &mut self,
        width: Width,
        is_float: bool,
        [len, to, run]: [usize; 3],
        steps: [u32; 2],
        table: &[u32],
    ) -> Option<()> {
        let runs = len / run;
        (run.div_ceil(width.lanes()) * table.len() / 2 <= 4 * MOST).then_some(())?;
        for (k, products) in table.chunks_exact(table.len() / runs).enumerate() {
            for (first, lanes) in width.pieces(run) {
                let mut sum = self.v.all(width, 0);
                for pair in products.chunks_exact(2) {
                    let place = |i: usize| Place { elem: Elem::F32, at: pair[i], step: steps[i] };
                    let step = |i: usize| if run == 1 { Place { step: 1, ..place(i) } } else { place(i) };
                    let [a, b] = [0, 1].map(|i| self.operand(width, step(i), first, lanes));
                    sum = self.product(width, is_float, [a, b, sum]);
                }
                self.store(width, to + k * run + first, lanes, sum);
            }
        }
        Some(())
    }

    /// Adds the product of two vectors to a third.
    fn product(&mut self, width: Width, is_float: bool, [a, b, sum]: [Value; 3]) -> Value {
        if !is_float {
            let product = self.v.b.ins().imul(a, b);
            return self.v.b.ins().iadd(product, sum);
        }
        let [a, b, sum] = [a, b, sum].map(|vector| self.v.cast(width.floats(), vector));
        let sum = self.v.b.ins().fma(a, b, sum);
        self.v.cast(width.ints(), sum)
    }

    /// Returns the number that a scalar holds, as [`crate::small::words::Words::index`] does.
    pub fn index(&mut self, place: Place) -> Value {
        let word = self.scalar(Width { is_wide: place.is_wide() }, place.at as usize);
        self.number(place.elem, word)
    }

    /// Returns an integer or a truth value, given as a word, as an index.
    pub fn number(&mut self, elem: Elem, word: Value) -> Value {
        match elem {
            Elem::I64 => word,
            Elem::U64 => {
                let most = self.v.b.ins().iconst(types::I64, i64::MAX);
                self.v.b.ins().umin(word, most)
            }
            elem if elem.is_signed() => self.v.b.ins().sextend(types::I64, word),
            _ => self.v.b.ins().uextend(types::I64, word),
        }
    }

    /// Sets words to a window of an input, or returns `None` if the interpreter must do it.
    fn read(&mut self, width: Width, elem: Elem, array: u32, to: usize, window: &Window) -> Option<()> {
        is_accessed(width, elem, window).then_some(())?;
        let base = self.array(array, elem, window);
        for k in 0..window.count() {
            let (address, to) = (self.address(base, elem.size(), window, k), to + k * window.slice_len());
            if elem.size() == width.bytes() {
                self.load_slice(width, address, to, window);
                continue;
            }
            let runs = self.table(&window.table).iter();
            for (i, from) in runs.flat_map(|&from| from..from + window.run).enumerate() {
                let word = self.v.load_element(width, elem, address, from as usize * elem.size());
                let vector = self.v.b.ins().scalar_to_vector(width.ints(), word);
                self.store(width, to + i, 1, vector);
            }
        }
        Some(())
    }

    /// Returns the address of a large input, of which a window is accessed.
    fn array(&mut self, array: u32, elem: Elem, window: &Window) -> Value {
        let Input::Array { bytes, .. } = self.code.inputs[array as usize] else { unreachable!("a large input") };
        assert!(self.code.reach(0, window).end * elem.size() <= bytes, "the window is in the input");
        self.input(array)
    }

    /// Copies an array to a window of an input, or returns `None` if the interpreter must do it.
    fn write(&mut self, width: Width, array: u32, update: Place, window: &Window) -> Option<()> {
        let elem = update.elem;
        is_accessed(width, elem, window).then_some(())?;
        let base = self.array(array, elem, window);
        let address = self.address(base, elem.size(), window, 0);
        if elem.size() == width.bytes() {
            for (to, first, lanes) in self.slice_pieces(width, window, 0) {
                let vector = self.operand(width, update, first, lanes);
                self.v.store_at(width, address, to * elem.size(), lanes, vector);
            }
            return Some(());
        }
        let runs = self.table(&window.table).iter();
        for (i, to) in runs.flat_map(|&to| to..to + window.run).enumerate() {
            let word = self.scalar(width, update.word(i));
            self.v.store_element(width, elem, address, to as usize * elem.size(), word);
        }
        Some(())
    }

    fn widen(&mut self, len: usize, to: usize, from: Place) -> Option<()> {
        (len <= MOST).then_some(())?;
        let [narrow, wide] = [false, true].map(|is_wide| Width { is_wide });
        for i in 0..len {
            let word = self.scalar(narrow, from.word(i));
            let word = match from.elem {
                elem if elem.is_float() => {
                    let float = self.v.b.ins().bitcast(types::F32, MemFlagsData::new(), word);
                    let float = self.v.b.ins().fpromote(types::F64, float);
                    self.v.b.ins().bitcast(types::I64, MemFlagsData::new(), float)
                }
                elem if elem.is_unsigned() => self.v.b.ins().uextend(types::I64, word),
                _ => self.v.b.ins().sextend(types::I64, word),
            };
            let vector = self.v.b.ins().scalar_to_vector(types::I64X2, word);
            self.store(wide, to + i, 1, vector);
        }
        Some(())
    }

    fn narrow(&mut self, elem: Elem, len: usize, to: usize, from: Place) -> Option<()> {
        (len <= MOST).then_some(())?;
        let [narrow, wide] = [false, true].map(|is_wide| Width { is_wide });
        for i in 0..len {
            let word = self.scalar(wide, from.word(i));
            let word = if elem.is_float() {
                let float = self.v.b.ins().bitcast(types::F64, MemFlagsData::new(), word);
                let float = self.v.b.ins().fdemote(types::F32, float);
                self.v.b.ins().bitcast(types::I32, MemFlagsData::new(), float)
            } else {
                self.v.b.ins().ireduce(types::I32, word)
            };
            let vector = self.v.b.ins().scalar_to_vector(types::I32X4, word);
            self.store(narrow, to + i, 1, vector);
        }
        Some(())
    }
}

/// Returns true if machine code loads and stores the elements of a window of a large array, and not the interpreter:
/// whole words, or few integers.
fn is_accessed(width: Width, elem: Elem, window: &Window) -> bool {
    let is_integer = elem == Elem::Bool || elem.is_signed() || elem.is_unsigned();
    elem.size() == width.bytes() || (is_integer && window.len() <= MOST)
}
