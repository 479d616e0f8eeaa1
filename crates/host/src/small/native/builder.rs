//! A function of machine code while it is built, and the words that it holds in registers.
#![forbid(unsafe_code)]

use super::frame::{Frame, pay, step};
use crate::native::{Vectors, Width, flags};
use crate::small::code::POLLED;
use crate::small::words::Place;
use crate::small::{Code, Ins};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, SigRef, Value, types};
use cranelift_frontend::FunctionBuilder;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;

/// Words that follow each other, as the first lanes of a vector. The others may have any bits.
#[derive(Clone, Copy)]
struct Piece {
    lanes: usize,
    vector: Value,
}

/// The words of one width that are in registers.
#[derive(Default)]
struct Known {
    /// Pieces that do not overlap, by the number of the first word.
    pieces: BTreeMap<usize, Piece>,
    /// Vectors all of whose lanes are one word, by the number of the word.
    splats: BTreeMap<usize, Value>,
}

/// The most lanes of a vector.
const MAX_LANES: usize = 4;

impl Known {
    /// Forgets all vectors that have one of these words.
    fn forget(&mut self, words: Range<usize>) {
        let from = words.start.saturating_sub(MAX_LANES);
        let pieces = self.pieces.extract_if(from..words.end, |at, piece| at + piece.lanes > words.start);
        pieces.for_each(drop);
        self.splats.extract_if(words, |_, _| true).for_each(drop);
    }

    /// Returns the piece with a word, and the word's lane, or `None` if the word is in no register.
    fn find(&self, word: usize) -> Option<(Piece, usize)> {
        let (at, piece) = self.pieces.range(..=word).next_back()?;
        (word - at < piece.lanes).then_some((*piece, word - at))
    }
}

/// A function while it is built.
pub struct Builder<'f, 'c> {
    pub v: Vectors<'f>,
    pub code: &'c Code,
    /// For each width, true for each word that no instruction and no input sets.
    constant: &'c [Vec<bool>; 2],
    pub frame: Value,
    /// The address of the words of each width.
    areas: [Value; 2],
    known: [Known; 2],
    /// The type of [`step`] and of all functions of machine code.
    signature: SigRef,
    /// The block that returns 1.
    stop: Block,
}

impl<'f, 'c> Builder<'f, 'c> {
    /// Starts a function in a new block.
    pub fn new(mut b: FunctionBuilder<'f>, code: &'c Code, constant: &'c [Vec<bool>; 2]) -> Builder<'f, 'c> {
        let signature = b.func.signature.clone();
        let signature = b.import_signature(signature);
        let (entry, stop) = (b.create_block(), b.create_block());
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let frame = b.block_params(entry)[0];
        let mut field = |offset: usize| b.ins().load(types::I64, flags(), frame, offset as i32);
        let areas = [field(offset_of!(Frame<'_>, narrow)), field(offset_of!(Frame<'_>, wide))];
        let v = Vectors { b };
        Builder { v, code, constant, frame, areas, known: Default::default(), signature, stop }
    }

    /// Returns the second argument of the function.
    pub fn argument(&self) -> Value {
        let entry = self.v.b.func.layout.entry_block().expect("a block");
        self.v.b.block_params(entry)[1]
    }

    /// Ends the function, and returns it.
    pub fn finish(mut self) -> FunctionBuilder<'f> {
        self.v.b.switch_to_block(self.stop);
        let one = self.v.b.ins().iconst(types::I32, 1);
        self.v.b.ins().return_(&[one]);
        self.v.b
    }

    /// Adds a return from the function, with the result 0.
    pub fn exit(&mut self) {
        let zero = self.v.b.ins().iconst(types::I32, 0);
        self.v.b.ins().return_(&[zero]);
    }

    /// Continues in a block that may also be entered from other blocks than the one before it. Forgets all words.
    pub fn start(&mut self, block: Block) {
        self.v.b.switch_to_block(block);
        self.start_anew();
    }

    /// Forgets all words, which a part may have set.
    pub fn start_anew(&mut self) {
        self.known = Default::default();
    }

    /// Adds a call of the function at a constant address, and a return from this one if that one has ended the run.
    pub fn call(&mut self, address: usize, argument: u32) {
        let address = self.v.b.ins().iconst(types::I64, address as i64);
        self.call_at(address, argument);
    }

    /// Adds a call of the function whose address is at a constant address, as [`Builder::call`] does, with the argument
    /// 0.
    pub fn call_part(&mut self, address: usize) {
        let address = self.v.b.ins().iconst(types::I64, address as i64);
        let function = self.v.b.ins().load(types::I64, flags(), address, 0);
        self.call_at(function, 0);
    }

    fn call_at(&mut self, function: Value, argument: u32) {
        let argument = self.v.b.ins().iconst(types::I32, i64::from(argument));
        let call = self.v.b.ins().call_indirect(self.signature, function, &[self.frame, argument]);
        let ended = self.v.b.inst_results(call)[0];
        let next = self.v.b.create_block();
        self.v.b.ins().brif(ended, self.stop, &[], next, &[]);
        self.v.b.switch_to_block(next);
    }

    /// Adds a call of the interpreter for instruction number `at`, and forgets the words that the instruction sets.
    pub fn interpret(&mut self, at: u32, ins: &Ins) {
        self.call(step as *const () as usize, at);
        for (is_wide, words) in self.code.written(ins) {
            self.forget(Width { is_wide }, words);
        }
    }

    /// Adds code that counts instructions of loops for which no steps were taken yet, and takes the steps if there are
    /// [`POLLED`] or more.
    pub fn pay(&mut self, instructions: u32) {
        let offset = offset_of!(Frame<'_>, unpaid) as i32;
        let unpaid = self.v.b.ins().load(types::I32, flags(), self.frame, offset);
        let unpaid = self.v.b.ins().iadd_imm_s(unpaid, i64::from(instructions));
        self.v.b.ins().store(flags(), unpaid, self.frame, offset);
        let (many, next) = (self.v.b.create_block(), self.v.b.create_block());
        let is_many = self.v.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, unpaid, i64::from(POLLED));
        self.v.b.ins().brif(is_many, many, &[], next, &[]);
        self.v.b.switch_to_block(many);
        self.call(pay as *const () as usize, 0);
        self.v.b.ins().jump(next, &[]);
        self.v.b.switch_to_block(next);
    }

    /// Returns the address of input number `input`.
    pub fn input(&mut self, input: u32) -> Value {
        let offset = offset_of!(Frame<'_>, inputs) as i32;
        let inputs = self.v.b.ins().load(types::I64, flags(), self.frame, offset);
        self.v.b.ins().load(types::I64, flags(), inputs, 8 * input as i32)
    }

    /// Returns the address of the words of a width.
    pub fn area(&self, width: Width) -> Value {
        self.areas[usize::from(width.is_wide)]
    }

    fn known(&mut self, width: Width) -> &mut Known {
        &mut self.known[usize::from(width.is_wide)]
    }

    /// Forgets the words with these numbers, which were set in memory.
    pub fn forget(&mut self, width: Width, words: Range<usize>) {
        self.known(width).forget(words);
    }

    /// Returns the bits of a word that nothing sets during a run, or `None` for other words.
    pub fn constant(&self, width: Width, word: usize) -> Option<u64> {
        let is_constant = self.constant[usize::from(width.is_wide)][word];
        is_constant.then(|| self.code.words.get(width.is_wide, word))
    }

    /// Returns words that follow each other as the first lanes of a vector.
    pub fn load(&mut self, width: Width, at: usize, lanes: usize) -> Value {
        let constants: Option<Vec<u64>> = (at..at + lanes).map(|word| self.constant(width, word)).collect();
        if let Some(words) = constants {
            return self.v.vector(width, &words);
        }
        match self.known(width).find(at) {
            Some((piece, 0)) if piece.lanes >= lanes => return piece.vector,
            _ => {}
        }
        let is_known = |word: usize| self.known[usize::from(width.is_wide)].find(word).is_some();
        if lanes > 1 && (at..at + lanes).any(is_known) {
            let words: Vec<usize> = (at..at + lanes).collect();
            return self.joined(width, &words);
        }
        let (base, offset) = (self.area(width), at * width.bytes());
        let vector = self.v.load_at(width, base, offset, lanes);
        self.set(width, at, lanes, vector);
        vector
    }

    /// Sets words that follow each other to the first lanes of a vector.
    pub fn store(&mut self, width: Width, at: usize, lanes: usize, vector: Value) {
        let (base, offset) = (self.area(width), at * width.bytes());
        self.v.store_at(width, base, offset, lanes, vector);
        self.set(width, at, lanes, vector);
    }

    /// Records that words that follow each other are the first lanes of a vector.
    fn set(&mut self, width: Width, at: usize, lanes: usize, vector: Value) {
        let known = self.known(width);
        known.forget(at..at + lanes);
        known.pieces.insert(at, Piece { lanes, vector });
    }

    /// Returns words as the first lanes of a vector. There are at least one and at most as many as a vector has.
    pub fn joined(&mut self, width: Width, words: &[usize]) -> Value {
        let known = &self.known[usize::from(width.is_wide)];
        let found: Option<Vec<(Piece, usize)>> = words.iter().map(|&word| known.find(word)).collect();
        if let Some(found) = found
            && found.iter().all(|(piece, _)| piece.vector == found[0].0.vector)
        {
            let lanes: Vec<usize> = found.iter().map(|(_, lane)| *lane).collect();
            return self.v.permuted(width, found[0].0.vector, &lanes);
        }
        let first = self.float(width, words[0]);
        let mut vector = self.v.b.ins().scalar_to_vector(width.floats(), first);
        for (lane, &word) in words.iter().enumerate().skip(1) {
            let float = self.float(width, word);
            vector = self.v.b.ins().insertlane(vector, float, lane as u8);
        }
        self.v.cast(width.ints(), vector)
    }

    /// Returns the bits of a word as a float.
    fn float(&mut self, width: Width, word: usize) -> Value {
        if let Some((piece, lane)) = self.known(width).find(word) {
            let vector = self.v.cast(width.floats(), piece.vector);
            return self.v.b.ins().extractlane(vector, lane as u8);
        }
        let base = self.area(width);
        self.v.b.ins().load(width.float(), flags(), base, (word * width.bytes()) as i32)
    }

    /// Returns a word as an integer.
    pub fn scalar(&mut self, width: Width, word: usize) -> Value {
        if let Some(bits) = self.constant(width, word) {
            let bits = if width.is_wide { bits as i64 } else { i64::from(bits as u32 as i32) };
            return self.v.b.ins().iconst(width.int(), bits);
        }
        if let Some((piece, lane)) = self.known(width).find(word) {
            return self.v.b.ins().extractlane(piece.vector, lane as u8);
        }
        let base = self.area(width);
        self.v.b.ins().load(width.int(), flags(), base, (word * width.bytes()) as i32)
    }

    /// Returns a vector whose lanes are all one word of a program.
    pub fn splat(&mut self, width: Width, word: usize) -> Value {
        if let Some(bits) = self.constant(width, word) {
            return self.v.all(width, bits);
        }
        if let Some(&vector) = self.known(width).splats.get(&word) {
            return vector;
        }
        let float = self.float(width, word);
        let vector = self.v.b.ins().splat(width.floats(), float);
        let vector = self.v.cast(width.ints(), vector);
        self.known(width).splats.insert(word, vector);
        vector
    }

    /// Returns elements of an array from number `first` on as the first lanes of a vector.
    pub fn operand(&mut self, width: Width, place: Place, first: usize, lanes: usize) -> Value {
        match place.step {
            0 => self.splat(width, place.at as usize),
            _ => self.load(width, place.at as usize + first, lanes),
        }
    }
}
