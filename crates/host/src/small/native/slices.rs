//! Slices of windows: how they are found, loaded and put into arrays. Few slices are code one after the other, and many
//! are a loop.
#![forbid(unsafe_code)]

use super::builder::Builder;
use crate::block::machine::Op;
use crate::native::{Operands, Second, Width, flags};
use crate::small::Window;
use crate::small::code::Slice;
use crate::small::words::Place;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::ops::Range;

/// The slices of an array into which another one is put.
#[derive(Clone, Copy)]
pub struct Put<'w> {
    pub window: &'w Window,
    /// The first word of the array.
    pub at: usize,
    /// The operation that combines the words there with the new ones, or `None` if these replace them.
    pub combine: Option<Op>,
    /// True if a slice with a start that would be clamped is skipped. Otherwise, starts are clamped.
    pub is_conditional: bool,
}

impl Builder<'_, '_> {
    /// Sets words to the slices of a window, of which there are few.
    pub fn window(&mut self, width: Width, to: usize, window: &Window) {
        self.check(width, &self.code.reach(0, window));
        for k in 0..window.count() {
            let address = self.address(self.area(width), width.bytes(), window, k);
            self.load_slice(width, address, to + k * window.slice_len(), window);
        }
    }

    /// Sets words to the slices of a window, of which there may be many.
    pub fn load_slices(&mut self, width: Width, to: usize, window: &Window) {
        self.check(width, &self.code.reach(0, window));
        let pieces = self.slice_pieces(width, window, 0);
        self.each_slice(width, window, to, window.slice_len(), |own, base, starts, to| {
            let moved = own.moved(base, window, starts);
            let from = own.moved_address(own.area(width), width.bytes(), moved);
            for &(element, first, lanes) in &pieces {
                let vector = own.v.load_at(width, from, element * width.bytes(), lanes);
                own.v.store_at(width, to, first * width.bytes(), lanes, vector);
            }
        });
        self.forget(width, to..to + window.len());
    }

    /// Puts an array into the slices of a window, of which there are few. Returns `None` if the interpreter must do it.
    pub fn put(&mut self, width: Width, put: Put<'_>, update: Place) -> Option<()> {
        let reach = self.reach(width, put, update)?;
        for k in 0..put.window.count() {
            let slice = self.code.slice(put.window, k);
            let starts = self.starts(put.window, slice);
            let of = |own: &mut Self, (_, first, lanes)| own.operand(width, update, first, lanes);
            let pieces = self.slice_pieces(width, put.window, k);
            let vectors: Vec<Value> = pieces.into_iter().map(|piece| of(self, piece)).collect();
            let base = self.v.b.ins().iconst(types::I64, i64::from(slice.base));
            self.put_slice(width, put, base, &starts, &vectors);
        }
        self.forget(width, reach);
        Some(())
    }

    /// Puts an array into the slices of a window, of which there may be many. Returns `None` if the interpreter must do
    /// it.
    pub fn put_slices(&mut self, width: Width, put: Put<'_>, update: Place) -> Option<()> {
        let reach = self.reach(width, put, update)?;
        let pieces = self.slice_pieces(width, put.window, 0);
        let one = if update.step == 0 { Some(self.splat(width, update.at as usize)) } else { None };
        self.each_slice(width, put.window, update.at as usize, put.window.slice_len(), |own, base, starts, update| {
            let of = |&(_, first, lanes): &(usize, usize, usize)| {
                one.unwrap_or_else(|| own.v.load_at(width, update, first * width.bytes(), lanes))
            };
            let vectors: Vec<Value> = pieces.iter().map(of).collect();
            own.put_slice(width, put, base, starts, &vectors);
        });
        self.forget(width, reach);
        Some(())
    }

    /// Puts vectors into a slice, given its base and its starts before they are clamped. The vectors are those of
    /// [`Builder::slice_pieces`].
    fn put_slice(&mut self, width: Width, put: Put<'_>, base: Value, starts: &[Value], vectors: &[Value]) {
        // What is computed in a conditional block is not known after it.
        let next = self.v.b.create_block();
        if put.is_conditional {
            let is_inside = self.is_inside(put.window, starts);
            let inside = self.v.b.create_block();
            self.v.b.ins().brif(is_inside, inside, &[], next, &[]);
            self.v.b.switch_to_block(inside);
        }
        let moved = self.moved(base, put.window, starts);
        let address = self.moved_address(self.area(width), width.bytes(), moved);
        for ((element, _, lanes), &vector) in self.slice_pieces(width, put.window, 0).into_iter().zip(vectors) {
            let offset = (put.at + element) * width.bytes();
            let vector = match put.combine {
                None => vector,
                Some(op) => {
                    let a = self.v.load_at(width, address, offset, lanes);
                    self.v.apply(op.combination(), width, Operands { a, b: vector, second: Second::Any, lanes })
                }
            };
            self.v.store_at(width, address, offset, lanes, vector);
        }
        self.v.b.ins().jump(next, &[]);
        self.v.b.switch_to_block(next);
    }

    /// Returns the words that may be replaced, or `None` if `update` has some of them.
    fn reach(&self, width: Width, put: Put<'_>, update: Place) -> Option<Range<usize>> {
        let reach = self.code.reach(put.at, put.window);
        self.check(width, &reach);
        (!update.overlaps(put.window.len(), reach.start as u32, reach.len())).then_some(reach)
    }

    /// Panics unless there are these words.
    fn check(&self, width: Width, reach: &Range<usize>) {
        assert!(reach.end <= self.code.words.counts()[usize::from(width.is_wide)], "the window is in the words");
    }

    /// Adds a loop over the slices of a window, of which there must be at least two. `body` gets the base of a slice,
    /// its starts before they are clamped, and the address of a word, which is number `word` for the first slice and
    /// comes `step` words later for each of the next ones.
    fn each_slice(
        &mut self,
        width: Width,
        window: &Window,
        word: usize,
        step: usize,
        body: impl FnOnce(&mut Self, Value, &[Value], Value),
    ) {
        let slices = self.table(&window.slices);
        assert!(slices.len() >= 4, "at least two slices");
        // The program has the table, which does not change, as long as the machine code.
        let table = self.v.b.ins().iconst(types::I64, slices.as_ptr().addr() as i64);
        let count = self.v.b.ins().iconst(types::I64, slices.len() as i64 / 2);
        let first = self.v.later(self.area(width), (word * width.bytes()) as isize);
        let turns = self.v.start_loop(count, &[table, first]);
        let &[slice, word] = &*turns.passed else { unreachable!("two values") };
        let [base, indices] = [0, 4].map(|offset| self.v.b.ins().uload32(flags(), slice, offset));
        let starts = self.code.starts(window).iter().map(|start| self.index_at(start.index, indices));
        let starts: Vec<Value> = starts.collect();
        body(self, base, &starts, word);
        let next = [self.v.later(slice, 8), self.v.later(word, (step * width.bytes()) as isize)];
        self.v.end_loop(&turns, &next);
    }

    /// Returns the number that a scalar holds which comes `later` words after `place`.
    fn index_at(&mut self, place: Place, later: Value) -> Value {
        let width = Width { is_wide: place.is_wide() };
        let address = self.moved_address(self.area(width), width.bytes(), later);
        let (address, offset) = self.v.near(address, place.at as usize * width.bytes());
        let word = self.v.b.ins().load(width.int(), flags(), address, offset);
        self.number(place.elem, word)
    }

    /// Sets words to the runs of a slice. The numbers in the window's table count from an address.
    pub fn load_slice(&mut self, width: Width, address: Value, to: usize, window: &Window) {
        let run = window.run as usize;
        for (k, &from) in self.table(&window.table).iter().enumerate() {
            for (first, lanes) in width.pieces(run) {
                let offset = (from as usize + first) * width.bytes();
                let vector = self.v.load_at(width, address, offset, lanes);
                self.store(width, to + k * run + first, lanes, vector);
            }
        }
    }

    /// Returns, for each vector of a slice, the number of its first element in the array as if the slice were the first
    /// and all starts were 0, the number of that element among those of all slices, and the number of lanes.
    pub fn slice_pieces(&self, width: Width, window: &Window, k: usize) -> Vec<(usize, usize, usize)> {
        let (run, first) = (window.run as usize, k * window.slice_len());
        let of_run = |(i, &to): (usize, &u32)| {
            width.pieces(run).map(move |(at, lanes)| (to as usize + at, first + i * run + at, lanes))
        };
        self.table(&window.table).iter().enumerate().flat_map(of_run).collect()
    }

    /// Returns the starts of a slice as integers of 64 bits, before they are clamped.
    fn starts(&mut self, window: &Window, slice: Slice) -> Vec<Value> {
        self.code.starts(window).iter().map(|start| self.index(start.index_of(slice))).collect()
    }

    /// Returns the number of elements by which a slice moves, given its base and its starts.
    fn moved(&mut self, base: Value, window: &Window, starts: &[Value]) -> Value {
        let mut moved = base;
        for (&index, start) in starts.iter().zip(self.code.starts(window)) {
            let [zero, most, stride] =
                [0, i64::from(start.most), i64::from(start.stride)].map(|n| self.v.b.ins().iconst(types::I64, n));
            let index = self.v.b.ins().smax(index, zero);
            let index = self.v.b.ins().smin(index, most);
            let by = self.v.b.ins().imul(index, stride);
            moved = self.v.b.ins().iadd(moved, by);
        }
        moved
    }

    /// Returns the address from which the numbers in the window's table count for slice number `k`. `base` is this
    /// address for the first slice if all starts are 0, and `size` is the number of bytes of an element.
    pub fn address(&mut self, base: Value, size: usize, window: &Window, k: usize) -> Value {
        let slice = self.code.slice(window, k);
        let starts = self.starts(window, slice);
        let base_of_slice = self.v.b.ins().iconst(types::I64, i64::from(slice.base));
        let moved = self.moved(base_of_slice, window, &starts);
        self.moved_address(base, size, moved)
    }

    fn moved_address(&mut self, base: Value, size: usize, moved: Value) -> Value {
        let bytes = self.v.b.ins().imul_imm_s(moved, size as i64);
        self.v.b.ins().iadd(base, bytes)
    }

    /// Returns a truth value that is true if none of the starts of a slice would be clamped.
    fn is_inside(&mut self, window: &Window, starts: &[Value]) -> Value {
        let mut result = self.v.b.ins().iconst(types::I8, 1);
        for (&index, start) in starts.iter().zip(self.code.starts(window)) {
            let most = self.v.b.ins().iconst(types::I64, i64::from(start.most));
            // A negative start is a large unsigned number.
            let is_inside = self.v.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, index, most);
            result = self.v.b.ins().band(result, is_inside);
        }
        result
    }
}
