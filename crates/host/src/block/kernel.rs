//! Compiled programs and the loops that run them.
//!
//! A kernel is divided into parts by its shape alone: pieces of a long row, groups of short rows, or, if leading
//! dimensions are reduced, chunks of them for each tile of lanes. Before a row runs, the addresses of its operands are
//! written into the code. If rows that are reduced are short, or if few lanes of leading dimensions are kept, the
//! kernel runs in [`Stages`] instead, each of which is one pass over a tile of many rows. Machine code is divided along
//! its outermost loop.
#![forbid(unsafe_code)]

use super::bound::{Binding, Bound, TILE, frame_bytes};
use super::emit::{Base, Code, Phase, Reduction, Template, Unfusable, Walk, emit};
use super::machine::Machine;
#[cfg(target_arch = "x86_64")]
use super::native::Tier;
use super::program::{Node, Program, Role};
use super::results::Results;
use super::stages::Stages;
use super::tiles::{Tiles, tiles_bytes};
use crate::memory::Scratch;
use crate::operand::{Pointer, Reach, Source, Target, are_apart};
use crate::parts::{hold, table_bytes};
use crate::pool::{Effort, Workers, piece};
use crate::simd::{Level, Word};
use shardwise_mathfn::order::{CHUNK, SEGMENT};
use std::marker::PhantomData;
#[cfg(target_arch = "x86_64")]
use std::sync::Arc;

/// The largest number of lanes of a part of a kernel that is divided by [`By::Rows`], unless the part is one long row.
/// Rows are grouped up to it, and longer rows are cut into pieces of this length if the kernel has one phase. Tiles
/// ([`By::Tiles`]) are grouped up to as many elements.
const PART: usize = 32_768;
/// A kernel is about this many times faster as machine code.
#[cfg(target_arch = "x86_64")]
const NATIVE_SPEED: usize = 2;
/// If a kernel only reduces rows, and these are longer than this, each segment of a row is a part.
const LONG_ROW: usize = 4 * SEGMENT;

const _: () = assert!(PART.is_multiple_of(SEGMENT) && TILE.is_multiple_of(128) && SEGMENT.is_multiple_of(128));

/// An operand of one instance of a kernel.
#[derive(Debug)]
pub enum Operand<'a> {
    /// An input.
    Read(Source<'a>),
    /// An output.
    Write(Target<'a>),
    /// An input in the memory of the only output, as [`Kernel::in_place`] allows.
    InPlace,
}

/// A program that has been compiled for its space.
#[derive(Clone, Debug)]
pub struct Kernel {
    code: Code,
    /// For each of the program's operands, its index among the operands of an instance. It is `None` for an operand
    /// that counts an index, which has no memory.
    slots: Vec<Option<usize>>,
    /// For each operand of an instance, its number among the program's operands, and the bytes that the kernel reaches.
    operands: Vec<(usize, Reach)>,
    single_output: bool,
    /// The program that runs in place of `code`, if [`Stages::new`] finds that this is better: for reductions of short
    /// rows, or of leading dimensions of which few lanes are kept.
    stages: Option<Stages>,
    /// Machine code that runs in place of both, if the kernel has run often.
    #[cfg(target_arch = "x86_64")]
    tier: Option<Arc<Tier>>,
}

impl Program {
    /// Compiles the program to one kernel.
    ///
    /// # Errors
    /// Returns the reason if one kernel cannot compute the program, for example because elements of an output would be
    /// written several times.
    ///
    /// # Panics
    /// Panics in debug builds if the program has a reduction and no reduced dimensions ([`Program::reducing`]).
    pub fn compile(&self) -> Result<Kernel, Unfusable> {
        debug_assert!(self.nodes.iter().all(|n| !matches!(n, Node::Reduce { .. })) || self.reduced.contains(&true));
        let code = emit(self)?;
        let outputs: Vec<usize> = (0..code.walks.len()).filter(|&o| code.walks[o].is_output()).collect();
        if !outputs.iter().all(|&o| code.is_written_once(o)) {
            return Err(Unfusable::Output);
        }
        let memory = (0..code.walks.len()).filter(|&o| code.walks[o].operand.role != Role::Index);
        let operands: Vec<(usize, Reach)> = memory.map(|o| (o, code.reach(o))).collect();
        let slot = |o: usize| operands.iter().position(|operand| operand.0 == o);
        Ok(Kernel {
            slots: (0..code.walks.len()).map(slot).collect(),
            operands,
            single_output: outputs.len() == 1,
            stages: Stages::new(self),
            code,
            #[cfg(target_arch = "x86_64")]
            tier: Tier::new(self).map(Arc::new),
        })
    }
}

impl Code {
    /// Returns the bytes that the phases reach of the program's operand number `operand`.
    fn reach(&self, operand: usize) -> Reach {
        let of = |(i, phase): (usize, &Phase)| {
            let (rows, size) = (self.loops(i), self.walks[operand].size());
            let row = phase.fills.iter().chain(&phase.row_outputs).any(|r| r.0 == operand);
            match (self.has_lanes(phase, operand), row) {
                (true, _) => Reach::of(self.walked(operand, rows, self.row_len), size),
                (false, true) => Reach::of(self.walked(operand, rows, 1), size),
                (false, false) => Reach::default(),
            }
        };
        self.phases.iter().enumerate().map(of).fold(Reach::default(), Reach::or)
    }

    /// Returns true if the strides show that each element of output `operand`, numbered among the program's operands,
    /// is written at most once. Returns false for a row output of the first phase, and for one in a program that
    /// reduces leading dimensions, because several parts would write its elements.
    fn is_written_once(&self, operand: usize) -> bool {
        self.phases.iter().enumerate().all(|(i, phase)| {
            let size = self.walks[operand].size();
            let row = phase.row_outputs.iter().any(|r| r.0 == operand);
            // In these phases, all parts of a row, or of its tiles, compute the values of the whole row.
            let is_shared = i == 0 || self.columns;
            let lanes_apart = || are_apart(self.walked(operand, self.loops(i), self.row_len), size);
            let rows_apart = || !is_shared && are_apart(self.walked(operand, self.kept, 1), size);
            (!self.has_lanes(phase, operand) || lanes_apart()) && (!row || rows_apart())
        })
    }

    fn loops(&self, phase: usize) -> usize {
        if phase == 0 { self.outer.len() } else { self.kept }
    }

    fn has_lanes(&self, phase: &Phase, operand: usize) -> bool {
        phase.lanes.iter().any(|t| self.operand_of(t.base) == Some(operand))
    }

    /// Returns the sizes of the outermost `loops` loops and the operand's strides in them, in bytes. The last two items
    /// are for the runs of a row and for the lanes of a run. They cover the first `lanes` lanes of a row: one lane, or
    /// all.
    fn walked(&self, operand: usize, loops: usize, lanes: usize) -> impl Iterator<Item = (usize, isize)> {
        let walk = &self.walks[operand];
        let rows = self.outer.iter().copied().zip(walk.outer.iter().copied()).take(loops);
        let run = self.run.clamp(1, lanes.max(1));
        rows.chain([(lanes / run, walk.run), (lanes.min(run), walk.inner)])
    }

    fn operand_of(&self, base: Base) -> Option<usize> {
        match base {
            Base::Operand(o) => Some(o),
            Base::Strided(i) => Some(self.strided[i].operand),
            _ => None,
        }
    }
}

impl Kernel {
    /// Returns the number of operands of an instance: all inputs and outputs of the program, in the order of their
    /// creation.
    pub fn operand_count(&self) -> usize {
        self.operands.len()
    }

    #[cfg(test)]
    pub(super) fn has_stages(&self) -> bool {
        self.stages.is_some()
    }

    /// Computes the outputs by machine code, in parts of at most `part` lanes. Returns false if there is none.
    #[cfg(test)]
    pub(crate) fn run_as_machine_code(&self, workers: &Workers, operands: &[Operand<'_>], part: usize) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(tier) = self.tier.as_ref().filter(|tier| tier.is_ready(|| usize::MAX / 2)) {
            self.run_native(tier, workers, operands, Effort::Large, part);
            return true;
        }
        false
    }

    /// Returns the kernel without stages, which runs row by row.
    #[cfg(test)]
    pub(super) fn without_stages(mut self) -> Kernel {
        self.stages = None;
        self
    }

    /// Returns true if the output with index `output` may use the same memory as the input with index `input`. Both are
    /// indices among the operands of an instance. This requires that there is no other output, that the output is
    /// contiguous along the rows and written by the last phase, that no leading dimensions are reduced, and that both
    /// have the same strides and element size. Returns false for arrays of one element.
    ///
    /// # Panics
    /// Panics if one of the indices is out of range.
    pub fn in_place(&self, output: usize, input: usize) -> bool {
        let (to, from) = (self.walk(output), self.walk(input));
        let same = to.outer == from.outer && to.inner == from.inner && to.run == from.run && to.size() == from.size();
        let last = self.code.phases.last().is_some_and(|p| p.lanes.iter().any(|t| self.is_pointer(t, output)));
        self.single_output && same && last && !self.code.columns && to.inner != 0
    }

    fn is_pointer(&self, t: &Template, slot: usize) -> bool {
        matches!(t.base, Base::Operand(o) if self.slots[o] == Some(slot))
    }

    /// Computes the outputs of all instances, of which there must be at least one. `operands` has
    /// [`Kernel::operand_count`] operands for the first instance, followed by those of the next ones.
    ///
    /// With `streaming`, stores to aligned rows may bypass the caches if the kernel is not small. This is for outputs
    /// that are larger than the caches and are not read soon.
    ///
    /// # Panics
    /// Panics if the last instance lacks operands, or if an operand does not match the program or has fewer bytes than
    /// its strides reach.
    pub fn run(&self, workers: &Workers, operands: &[Operand<'_>], streaming: bool) {
        #[cfg(target_arch = "x86_64")]
        if let Some(tier) = self.tier.as_ref().filter(|_| !streaming) {
            let nanoseconds = || self.nanoseconds().saturating_mul(operands.len() / self.operand_count().max(1));
            if tier.is_ready(nanoseconds) {
                let effort = effort(nanoseconds() / NATIVE_SPEED);
                let part = if effort == Effort::Small { usize::MAX } else { PART };
                return self.run_native(tier, workers, operands, effort, part);
            }
        }
        self.run_at(Level::best(), workers, operands, streaming);
    }

    /// Computes the outputs of all instances by machine code, which must be there. The work is divided into parts of at
    /// most `part` lanes, but of at least one turn of the outermost loop.
    #[cfg(target_arch = "x86_64")]
    fn run_native(&self, tier: &Tier, workers: &Workers, operands: &[Operand<'_>], effort: Effort, part: usize) {
        let (pointers, count) = (self.pointers(operands), self.operand_count().max(1));
        if self.is_empty() {
            return;
        }
        let (instances, turns) = (operands.len() / count, tier.turns());
        let lanes = self.code.row_len * self.rows() * self.reduced_rows();
        let group = (part / (lanes / turns).max(1)).clamp(1, turns);
        let parts = turns.div_ceil(group);
        workers.run(instances * parts, effort, |part| {
            tier.run(&self.slots, &pointers[part / parts * count..], piece(turns, group, part % parts));
        });
    }

    pub(crate) fn run_at(&self, level: Level, workers: &Workers, operands: &[Operand<'_>], streaming: bool) {
        let pointers = self.pointers(operands);
        let machine = Machine::new(level, self.code.wide);
        if self.code.wide {
            Job::<u64>::new(self, machine, &pointers, streaming).run(workers);
        } else {
            Job::<u32>::new(self, machine, &pointers, streaming).run(workers);
        }
    }

    /// Returns the addresses of the operands of all instances. Panics as [`Kernel::run`] does.
    fn pointers(&self, operands: &[Operand<'_>]) -> Vec<Pointer> {
        let count = self.operand_count().max(1);
        assert_eq!(operands.len() % count, 0, "as many operands for each instance");
        let mut pointers = Vec::with_capacity(operands.len());
        operands.chunks(count).for_each(|instance| self.add_pointers(instance, &mut pointers));
        pointers
    }

    /// Adds the addresses of an instance's operands to `pointers`. Panics if an operand is not of the kind that the
    /// program has in its place, if it does not have all bytes that the kernel reaches, or if [`Kernel::in_place`] does
    /// not allow an [`Operand::InPlace`].
    ///
    /// A `Target` is the only access to its array while it is borrowed, so an output overlaps no operand except an
    /// [`Operand::InPlace`].
    fn add_pointers(&self, operands: &[Operand<'_>], pointers: &mut Vec<Pointer>) {
        let is_written = |slot: usize| self.walk(slot).is_output();
        for (slot, (operand, reach)) in operands.iter().zip(self.operands.iter().map(|o| o.1)).enumerate() {
            let (pointer, suits) = match operand {
                Operand::Read(source) => (source.pointer(), !is_written(slot) && source.has(reach)),
                Operand::Write(target) => (target.pointer(), is_written(slot) && target.has(reach)),
                Operand::InPlace => {
                    let output = operands.iter().position(|o| matches!(o, Operand::Write(_))).expect("an output");
                    let Operand::Write(target) = &operands[output] else { unreachable!("just found") };
                    (target.pointer(), !is_written(slot) && self.in_place(output, slot) && target.has(reach))
                }
            };
            assert!(suits, "operand {slot} of a kernel, {operand:?}, does not have {reach:?}");
            pointers.push(pointer);
        }
    }

    fn walk(&self, slot: usize) -> &Walk {
        &self.code.walks[self.operands[slot].0]
    }

    fn rows(&self) -> usize {
        self.code.outer[..self.code.kept].iter().product()
    }

    fn reduced_rows(&self) -> usize {
        self.code.outer[self.code.kept..].iter().product()
    }

    /// Returns true if a run writes nothing, because the outputs have no elements.
    fn is_empty(&self) -> bool {
        let has_row_outputs = || self.code.phases.iter().any(|phase| !phase.row_outputs.is_empty());
        self.rows() == 0 || (self.code.row_len == 0 && !has_row_outputs())
    }

    /// Returns the largest number of bytes that a run of this many instances charges at one time, for frames and for
    /// results that parts save. The run does not charge its operands.
    pub fn scratch_bytes(&self, workers: &Workers, instances: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let (parts, results) = self.parts();
        let frames = self.frames_bytes(workers, parts.saturating_mul(instances), self.effort(instances));
        frames.saturating_add(table_bytes::<u64>(results.saturating_mul(instances)))
    }

    /// Returns the number of bytes that are charged for the frames of `parts` parts: one frame for each part that runs
    /// at one time.
    fn frames_bytes(&self, workers: &Workers, parts: usize, effort: Effort) -> usize {
        let bytes = self.stages.as_ref().map_or_else(|| frame_bytes(&self.code), tiles_bytes);
        let frame = Scratch::charge(bytes);
        frame.saturating_mul(workers.at_once(parts, effort))
    }

    /// Returns, for one instance, the number of parts of the step that has most of them, and the number of words that
    /// they save for later steps.
    fn parts(&self) -> (usize, usize) {
        let (rows, reduced, row_len) = (self.rows(), self.reduced_rows(), self.code.row_len);
        let count = self.code.phases[0].reductions.len();
        match self.by() {
            By::Tiles(stages) => (stages.units(), 0),
            By::Columns => {
                let (chunks, tiles) = (reduced.div_ceil(CHUNK), row_len.div_ceil(TILE));
                let results = if chunks <= 1 { 0 } else { rows * chunks * count * row_len };
                (rows * tiles * chunks.max(1), results)
            }
            By::Segments => (rows * row_len.div_ceil(SEGMENT), rows * row_len.div_ceil(SEGMENT) * count),
            By::Rows if self.has_whole_rows() => (rows.div_ceil(self.row_group()), 0),
            By::Rows => (rows * row_len.div_ceil(PART), 0),
        }
    }

    fn by(&self) -> By<'_> {
        match &self.stages {
            Some(stages) => By::Tiles(stages),
            None if self.code.columns => By::Columns,
            None if self.only_reduces() && self.code.row_len > LONG_ROW => By::Segments,
            None => By::Rows,
        }
    }

    /// Returns true if the parts of a kernel that is divided by [`By::Rows`] consist of whole rows, and false if they
    /// are pieces of rows.
    fn has_whole_rows(&self) -> bool {
        self.code.phases.len() > 1 || self.code.row_len <= PART
    }

    fn row_group(&self) -> usize {
        (PART / self.code.row_len.max(1)).max(1)
    }

    fn effort(&self, instances: usize) -> Effort {
        effort(self.nanoseconds().saturating_mul(instances))
    }

    /// Returns true if the first phase reduces rows and nothing else is computed on lanes.
    fn only_reduces(&self) -> bool {
        let (first, rest) = self.code.phases.split_first().expect("there is a phase");
        let stores = first.lanes.iter().any(|t| matches!(t.base, Base::Saved(_)));
        let lane_outputs = self.code.walks.iter().any(|w| matches!(w.operand.role, Role::Output(_)));
        !first.reductions.is_empty() && !stores && !lane_outputs && rest.iter().all(|p| p.lanes.is_empty())
    }

    /// Returns an estimate of the time of one instance on one core, in nanoseconds: that of computing, or that of
    /// reading and writing operands which do not fit into the core's own caches, if it is longer.
    fn nanoseconds(&self) -> usize {
        let bytes: usize = self.operands.iter().map(|operand| operand.1.bytes()).fold(0, usize::saturating_add);
        let moving = if bytes > OWN_CACHE { bytes / BYTES_PER_NANOSECOND } else { 0 };
        let lanes = self.code.row_len * self.rows() * self.reduced_rows();
        let work: usize =
            self.code.phases.iter().flat_map(|p| &p.lanes).map(|t| if t.op.is_long() { 6 } else { 1 }).sum();
        if self.stages.is_some() {
            return moving.max(lanes.saturating_mul(work) / 32 + 2 * self.rows() + 500);
        }
        let per_row = 8 * self.code.walks.len() + 4 * work;
        moving.max(lanes.saturating_mul(work) / 48 + per_row * self.rows() * self.reduced_rows())
    }
}

/// Returns whether work that takes this time on one core is divided among threads.
fn effort(nanoseconds: usize) -> Effort {
    if nanoseconds < 60_000 { Effort::Small } else { Effort::Large }
}

/// The largest number of bytes of operands that are taken to be in a core's own caches.
const OWN_CACHE: usize = 1 << 19;

/// The bytes that a core reads or writes in a nanosecond outside of its own caches.
const BYTES_PER_NANOSECOND: usize = 16;

/// How the work of a kernel is divided into parts.
enum By<'a> {
    /// A part is one or more tiles of many short rows. Tiles along a reduced axis are in one part.
    Tiles(&'a Stages),
    /// Leading dimensions are reduced. A part is a tile of columns and, if there are many reduced rows, a chunk of
    /// these.
    Columns,
    /// Long rows are reduced. A part is a segment of a row.
    Segments,
    /// A part is a group of whole rows, or a piece of one row.
    Rows,
}

/// One run of a kernel.
struct Job<'a, W> {
    kernel: &'a Kernel,
    binding: Binding<'a>,
    instances: usize,
    effort: Effort,
    word: PhantomData<W>,
}

impl<'a, W: Word> Job<'a, W> {
    fn new(kernel: &'a Kernel, machine: Machine, pointers: &'a [Pointer], streaming: bool) -> Self {
        let instances = pointers.len() / kernel.operand_count().max(1);
        let effort = kernel.effort(instances);
        let streaming = streaming && effort == Effort::Large;
        let (code, slots, operand_count) = (&kernel.code, &kernel.slots, kernel.operand_count());
        let binding = Binding { code, machine, slots, operand_count, pointers, streaming };
        Job { kernel, binding, instances, effort, word: PhantomData }
    }

    fn run(&self, workers: &Workers) {
        let kernel = self.kernel;
        if kernel.is_empty() {
            return;
        }
        match kernel.by() {
            By::Tiles(stages) => self.run_tiles(workers, stages),
            By::Columns => self.run_columns(workers, self.effort),
            By::Segments => self.run_long_rows(workers, self.effort),
            By::Rows => self.run_rows(workers, self.effort),
        }
    }

    /// Calls `run` with the bound code and the number of a part in `0..parts`, for each part of each instance. With
    /// [`Effort::Small`], all parts share one binding and run on this thread. Otherwise each part is bound again by the
    /// worker that runs it.
    fn parts(&self, workers: &Workers, effort: Effort, parts: usize, run: impl Fn(&mut Bound<W>, usize) + Sync) {
        let each = |bound: &mut Bound<W>, part: usize| {
            if bound.instance != part / parts {
                bound.select(part / parts);
            }
            run(bound, part % parts);
        };
        let all = parts * self.instances;
        let _frames = hold(self.kernel.frames_bytes(workers, all, effort));
        if effort == Effort::Small {
            let mut bound = Bound::new(&self.binding);
            (0..all).for_each(|part| each(&mut bound, part));
        } else {
            workers.run(all, effort, |part| each(&mut Bound::new(&self.binding), part));
        }
    }

    fn run_tiles(&self, workers: &Workers, stages: &Stages) {
        let units = stages.units() * self.instances;
        let _frames = hold(self.kernel.frames_bytes(workers, units, self.effort));
        let tiles = Tiles::<W>::new(&self.binding, stages);
        if self.effort == Effort::Small {
            return tiles.run(0..units);
        }
        let group = (PART / stages.tile_elements()).max(1);
        workers.run(units.div_ceil(group), self.effort, |part| tiles.run(piece(units, group, part)));
    }

    fn run_rows(&self, workers: &Workers, effort: Effort) {
        let (rows, row_len) = (self.kernel.rows(), self.kernel.code.row_len);
        if self.kernel.has_whole_rows() {
            let group = self.kernel.row_group();
            self.parts(workers, effort, rows.div_ceil(group), |bound, part| {
                piece(rows, group, part).for_each(|row| bound.run_row(row));
            });
        } else {
            let pieces = row_len.div_ceil(PART);
            self.parts(workers, effort, rows * pieces, |bound, part| {
                bound.start_row(part / pieces);
                let lanes = piece(row_len, PART, part % pieces);
                bound.run_lanes(0, lanes.start, 0, lanes.len(), false);
            });
        }
    }

    fn run_long_rows(&self, workers: &Workers, effort: Effort) {
        let (rows, row_len) = (self.kernel.rows(), self.kernel.code.row_len);
        let (segments, count) = (row_len.div_ceil(SEGMENT), self.kernel.code.phases[0].reductions.len());
        let results = Results::<W>::new(self.instances * rows * segments * count);
        self.parts(workers, effort, rows * segments, |bound, part| {
            bound.start_row(part / segments);
            let totals = bound.reduce_segment(0, piece(row_len, SEGMENT, part % segments));
            let at = (bound.instance * rows * segments + part) * count;
            totals.into_iter().enumerate().for_each(|(i, w)| results.set(at + i, w));
        });
        self.parts(workers, Effort::Small, rows, |bound, row| {
            let at = (bound.instance * rows + row) * segments * count;
            let reductions = &self.kernel.code.phases[0].reductions;
            let total = |(i, r): (usize, &Reduction)| {
                (0..segments).map(|s| results.get(at + s * count + i)).reduce(|a, b| r.op.combine(a, b))
            };
            let totals: Vec<W> = reductions.iter().enumerate().filter_map(total).collect();
            bound.start_row(row);
            bound.finish_rows(&totals);
        });
    }

    fn run_columns(&self, workers: &Workers, effort: Effort) {
        let kernel = self.kernel;
        let (rows, reduced, row_len) = (kernel.rows(), kernel.reduced_rows(), kernel.code.row_len);
        let (chunks, tiles) = (reduced.div_ceil(CHUNK), row_len.div_ceil(TILE));
        if chunks <= 1 {
            return self.parts(workers, effort, rows * tiles, |bound, part| {
                let lanes = piece(row_len, TILE, part % tiles);
                bound.accumulate(part / tiles, 0..reduced, lanes.clone());
                bound.finish_columns(part / tiles, lanes);
            });
        }
        let count = kernel.code.phases[0].reductions.len();
        let partial = count * row_len;
        let results = Results::<W>::new(self.instances * rows * chunks * partial);
        self.parts(workers, effort, rows * chunks * tiles, |bound, part| {
            let (row, chunk, lanes) =
                (part / tiles / chunks, part / tiles % chunks, piece(row_len, TILE, part % tiles));
            bound.accumulate(row, piece(reduced, CHUNK, chunk), lanes.clone());
            let at = ((bound.instance * rows + row) * chunks + chunk) * partial;
            bound.save_accumulators(&results, at, row_len, lanes);
        });
        self.parts(workers, effort, rows * tiles, |bound, part| {
            let (row, lanes) = (part / tiles, piece(row_len, TILE, part % tiles));
            for chunk in 0..chunks {
                let at = ((bound.instance * rows + row) * chunks + chunk) * partial;
                bound.join_accumulators(&results, at, row_len, lanes.clone(), chunk == 0);
            }
            bound.finish_columns(row, lanes);
        });
    }
}
