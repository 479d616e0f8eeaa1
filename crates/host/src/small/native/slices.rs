//! Loops over the slices of windows, of which there may be many: gathers and scatters.
#![forbid(unsafe_code)]

use super::builder::Builder;
use crate::block::machine::Op;
use crate::native::{Operands, Second, Width, flags};
use crate::small::Window;
use crate::small::words::Place;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};

impl Builder<'_, '_> {
    /// Sets words to the slices of a window.
    pub fn load_slices(&mut self, width: Width, to: usize, window: &Window) {
        let count = self.code.words.counts()[usize::from(width.is_wide)];
        assert!(self.code.reach(0, window).end <= count, "the window is in the words");
        let pieces = self.slice_pieces(width, window, 0);
        self.each_slice(width, window, to, window.slice_len(), |own, base, starts, to| {
            let moved = own.moved_from(base, window, starts);
            let from = own.moved_address(own.area(width), width.bytes(), moved);
            for &(element, first, lanes) in &pieces {
                let vector = own.v.load_at(width, from, element * width.bytes(), lanes);
                own.v.store_at(width, to, first * width.bytes(), lanes, vector);
            }
        });
        self.forget(width, to..to + window.len());
    }

    /// Copies the elements of `update` to the slices of a window, or combines them with the words there. Slices with a
    /// start that would be clamped are skipped. Returns `None` if the interpreter must do it.
    pub fn put_slices(
        &mut self,
        width: Width,
        combine: Option<Op>,
        at: usize,
        update: Place,
        window: &Window,
    ) -> Option<()> {
        let reach = self.code.reach(at, window);
        (!update.overlaps(window.len(), reach.start as u32, reach.len())).then_some(())?;
        assert!(reach.end <= self.code.words.counts()[usize::from(width.is_wide)], "the window is in the words");
        let pieces = self.slice_pieces(width, window, 0);
        let one = if update.step == 0 { Some(self.splat(width, update.at as usize)) } else { None };
        self.each_slice(width, window, update.at as usize, window.slice_len(), |own, base, starts, update| {
            let (inside, next) = (own.v.b.create_block(), own.v.b.create_block());
            let is_inside = own.is_inside(window, starts);
            own.v.b.ins().brif(is_inside, inside, &[], next, &[]);
            own.v.b.switch_to_block(inside);
            let moved = own.moved_from(base, window, starts);
            let to = own.moved_address(own.area(width), width.bytes(), moved);
            for &(element, first, lanes) in &pieces {
                let offset = (at + element) * width.bytes();
                let mut vector = match one {
                    Some(vector) => vector,
                    None => own.v.load_at(width, update, first * width.bytes(), lanes),
                };
                if let Some(op) = combine {
                    let a = own.v.load_at(width, to, offset, lanes);
                    let of = Operands { a, b: vector, second: Second::Any, lanes };
                    vector = own.v.apply(op.combination(), width, of);
                }
                own.v.store_at(width, to, offset, lanes, vector);
            }
            own.v.b.ins().jump(next, &[]);
            own.v.b.switch_to_block(next);
        });
        self.forget(width, reach);
        Some(())
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
        let area = self.area(width);
        let first = self.v.b.ins().iadd_imm_s(area, (word * width.bytes()) as i64);
        let (head, after) = (self.v.b.create_block(), self.v.b.create_block());
        let arguments = |values: [Value; 3]| values.map(BlockArg::Value);
        let [slice, left, word] = [0; 3].map(|_| self.v.b.append_block_param(head, types::I64));
        self.v.b.ins().jump(head, &arguments([table, count, first]));
        self.v.b.switch_to_block(head);
        let base = self.v.b.ins().uload32(flags(), slice, 0);
        let indices = self.v.b.ins().uload32(flags(), slice, 4);
        let starts =
            self.code.starts(window).iter().map(|start| self.index_at(start.index, indices)).collect::<Vec<_>>();
        body(self, base, &starts, word);
        let next_slice = self.v.b.ins().iadd_imm_s(slice, 8);
        let left = self.v.b.ins().iadd_imm_s(left, -1);
        let next_word = self.v.b.ins().iadd_imm_s(word, (step * width.bytes()) as i64);
        self.v.b.ins().brif(left, head, &arguments([next_slice, left, next_word]), after, &[]);
        self.v.b.switch_to_block(after);
    }

    /// Returns the number that a scalar holds which comes `later` words after `place`.
    fn index_at(&mut self, place: Place, later: Value) -> Value {
        let width = Width { is_wide: place.is_wide() };
        let address = self.moved_address(self.area(width), width.bytes(), later);
        let (address, offset) = self.v.near(address, place.at as usize * width.bytes());
        let word = self.v.b.ins().load(width.int(), flags(), address, offset);
        self.number(place.elem, word)
    }
}
