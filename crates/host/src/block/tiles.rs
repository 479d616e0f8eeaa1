//! Runs the stages of a program, tile by tile.
//!
//! [`Kernel::run`] has checked that the operands have all bytes that the program reaches.
//!
//! [`Kernel::run`]: super::Kernel::run
#![expect(unsafe_code, reason = "stages follow addresses")]

use super::bound::{Binding, Bound, frame_bytes};
use super::fold::{Along, Fold};
use super::stages::{Folded, Place, Stage, Stages, Variant};
use crate::memory::Scratch;
use crate::parts::Pace;
use crate::simd::Word;
use std::marker::PhantomData;
use std::ops::Range;

/// Returns the number of bytes of the memory that a worker runs tiles in.
pub(super) fn tiles_bytes(stages: &Stages) -> usize {
    stages.bytes(frame_bytes)
}

/// The stages of a program, and the operands of all instances in one run.
pub(super) struct Tiles<'a, W> {
    binding: &'a Binding<'a>,
    stages: &'a Stages,
    /// For the two variants of the stages, the code of each stage, or `None` for a fold. Empty for a missing variant.
    codes: [Vec<Option<Binding<'a>>>; 2],
    word: PhantomData<fn() -> W>,
}

/// The stages with addresses, for one worker.
struct Worker<'a, W> {
    tiles: &'a Tiles<'a, W>,
    words: *mut u8,
    /// For the two variants of the stages, the code of each stage, or `None` for a fold. Empty for a missing variant.
    bound: [Vec<Option<Bound<'a, W>>>; 2],
    /// The addresses of the operands at the current indices of the loops around the tiles. For an operand that counts
    /// an index, this is the number there, in the form of an address.
    places: Vec<*mut u8>,
    pace: Pace,
}

impl<'a, W: Word> Tiles<'a, W> {
    pub fn new(binding: &'a Binding<'a>, stages: &'a Stages) -> Self {
        let machine = binding.machine;
        let bind = |stage: &'a Stage| match stage {
            Stage::Run { code, .. } => {
                Some(Binding { code, machine, slots: &[], operand_count: 0, pointers: &[], streaming: false })
            }
            Stage::Fold { .. } => None,
        };
        let all = |v: &'a Variant| v.all().map(bind).collect();
        let codes = [all(&stages.whole), stages.rest.as_ref().map_or_else(Vec::new, all)];
        Tiles { binding, stages, codes, word: PhantomData }
    }

    /// Runs pieces of work, which are numbered through the instances.
    pub fn run(&self, units: Range<usize>) {
        let mut memory = Scratch::new(tiles_bytes(self.stages));
        let words = memory.start();
        let stages = self.stages;
        let mut frame = words.wrapping_add(stages.words() * stages.word);
        let mut bound = [vec![], vec![]];
        for (codes, bound) in self.codes.iter().zip(&mut bound) {
            for binding in codes {
                bound.push(binding.as_ref().map(|binding| {
                    // SAFETY: the memory has room for the frames of all codes after the words.
                    let bound = unsafe { Bound::within(binding, frame) };
                    frame = frame.wrapping_add(frame_bytes(binding.code).next_multiple_of(64));
                    bound
                }));
            }
        }
        let places = vec![std::ptr::null_mut(); self.binding.code.walks.len()];
        let mut worker = Worker { tiles: self, words, bound, places, pace: Pace::default() };
        units.for_each(|unit| worker.run(unit));
    }
}

impl<'a, W: Word> Worker<'a, W> {
    fn run(&mut self, unit: usize) {
        let stages = self.tiles.stages;
        let (units, tiles) = (stages.units(), stages.tiles());
        self.point(unit / units, unit % units / tiles);
        if !stages.is_serial {
            let start = unit % tiles * stages.tile;
            let (number, variant) = self.variant(start);
            self.run_stages(number, 0..variant.stages.len() + variant.last.len(), start);
            return self.pace.spend(variant.elements);
        }
        for start in (0..stages.size).step_by(stages.tile) {
            let (number, variant) = self.variant(start);
            self.run_stages(number, 0..variant.stages.len(), start);
            self.pace.spend(variant.elements);
        }
        let first = stages.whole.stages.len();
        self.run_stages(0, first..first + stages.whole.last.len(), 0);
    }

    fn variant(&self, start: usize) -> (usize, &'a Variant) {
        let stages = self.tiles.stages;
        match &stages.rest {
            Some(rest) if start + stages.tile > stages.size => (1, rest),
            _ => (0, &stages.whole),
        }
    }

    /// Sets the addresses of the operands of an instance, given the number of the iteration of the loops around the
    /// tiles.
    fn point(&mut self, instance: usize, mut around: usize) {
        let (binding, stages) = (self.tiles.binding, self.tiles.stages);
        for (place, start) in self.places.iter_mut().zip(binding.places(instance)) {
            *place = start.map_or(std::ptr::null_mut(), |p| p.0);
        }
        for &(number, size) in stages.around.iter().rev() {
            let index = (around % size) as isize;
            for (place, walk) in self.places.iter_mut().zip(&binding.code.walks) {
                *place = place.wrapping_offset(index * walk.outer[number]);
            }
            around /= size;
        }
    }

    /// Runs some stages of a variant for the tile that starts at this index of the axis.
    fn run_stages(&mut self, variant: usize, numbers: Range<usize>, start: usize) {
        let stages = self.tiles.stages;
        let own = if variant == 0 { &stages.whole } else { stages.rest.as_ref().expect("there is a rest") };
        let (words, places, walks) = (self.words, &self.places, &self.tiles.binding.code.walks);
        let at = |place: &Place| match *place {
            Place::Operand(o) => places[o].wrapping_offset(start as isize * walks[o].outer[stages.axis]),
            Place::Scratch(word) => words.wrapping_add(word * W::SIZE),
        };
        for (number, stage) in own.all().enumerate().take(numbers.end).skip(numbers.start) {
            match stage {
                Stage::Run { places, .. } => {
                    let bound = self.bound[variant][number].as_mut().expect("code is bound");
                    // SAFETY: the operands have what the program reaches, of which the tile is a part.
                    unsafe { bound.run_at(places.iter().map(at)) }
                }
                Stage::Fold { op, from, to, count, step, along } => {
                    let along = match *along {
                        Folded::Row(len) => Along::Row(len),
                        Folded::Rows { rows, step, lanes } => {
                            Along::Rows { rows, step, lanes, goes_on: stages.is_serial && start > 0 }
                        }
                    };
                    let to = words.wrapping_add(to * W::SIZE);
                    let fold = Fold { from: at(from), to, count: *count, step: *step, along };
                    // SAFETY: as above; what is folded is in the scratch memory or in an operand.
                    unsafe { (self.tiles.binding.machine.fold)(*op, &fold) }
                }
            }
        }
    }
}
