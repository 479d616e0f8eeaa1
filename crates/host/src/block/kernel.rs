//! Compiled programs, and the loops that run them.
//!
//! A kernel is cut into parts by its shape: pieces of a long row, groups of short rows, or, where leading dimensions are
//! reduced, chunks of them by tiles of lanes. Before a row runs, the addresses of its operands are written into the code.

use super::emit::{Base, Code, Phase, Reduction, Template, Unfusable, When, emit};
use super::machine::{AHEAD, Ins, Machine, Op, PARTIALS, Strided, TEMP};
use super::program::{Node, Program, Role, read_word, write_word};
use crate::memory::Scratch;
use crate::pool::{Effort, Workers, piece};
use crate::simd::{Level, Word};
use shardwise_mathfn::order::{CHUNK, SEGMENT};

/// The lanes of a part.
const PART: usize = 32_768;
/// Lanes of a tile whose running results stay in the first cache.
const TILE: usize = 2048;
/// Memory is asked for ahead in rows of this length.
const AHEAD_LANES: usize = 2048;
/// Reductions of longer rows may share a row among parts.
const LONG_ROW: usize = 4 * SEGMENT;

const _: () = assert!(PART.is_multiple_of(SEGMENT) && TILE.is_multiple_of(128) && SEGMENT.is_multiple_of(128));

/// Where an operand is. Kernels read and write through it, from any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer(pub *mut u8);

impl Pointer {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: isize) -> Pointer {
        Pointer(self.0.wrapping_offset(bytes))
    }
}

// SAFETY: a pointer is a number; the functions that follow it say what they need.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

/// A program, compiled for its space.
#[derive(Clone, Debug)]
pub struct Kernel {
    code: Code,
    /// The pointer of each operand; indices have none.
    slots: Vec<Option<usize>>,
    single_output: bool,
}

impl Program {
    /// Code for the program, or why it has to be cut into several.
    pub fn compile(&self) -> Result<Kernel, Unfusable> {
        let mut next = 0..;
        let slot = |role| if role == Role::Index { None } else { next.next() };
        let slots = self.operands.iter().map(|o| o.role).map(slot).collect();
        let is_output = |role| matches!(role, Role::Output(_) | Role::RowOutput(_));
        let single_output = self.operands.iter().filter(|o| is_output(o.role)).count() == 1;
        debug_assert!(self.nodes.iter().all(|n| !matches!(n, Node::Reduce { .. })) || self.reduced.contains(&true));
        Ok(Kernel { code: emit(self)?, slots, single_output })
    }
}

impl Kernel {
    /// The number of pointers that a run needs: inputs and outputs in order of their creation.
    pub fn pointer_count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Whether output `output` may be the same memory as input `input`.
    pub fn in_place(&self, output: usize, input: usize) -> bool {
        let walk = |slot| self.slots.iter().position(|&s| s == Some(slot)).map(|o| &self.code.walks[o]);
        let (Some(to), Some(from)) = (walk(output), walk(input)) else { return false };
        let same = to.outer == from.outer && to.inner == from.inner && to.size() == from.size();
        let last = self.code.phases.last().is_some_and(|p| p.lanes.iter().any(|t| self.is_pointer(t, output)));
        self.single_output && same && last && !self.code.columns && to.inner != 0
    }

    fn is_pointer(&self, t: &Template, slot: usize) -> bool {
        matches!(t.base, Base::Operand(o) if self.slots[o] == Some(slot))
    }

    /// Computes the outputs of all instances; `pointers` has [`Kernel::pointer_count`] for each.
    ///
    /// `streaming` stores past the caches, for outputs that are larger than they and not read soon.
    ///
    /// # Safety
    /// Each pointer must be valid for what the program's strides reach, outputs for writing and by nobody else. Outputs
    /// overlap no input, except where [`Kernel::in_place`] allows the same pointer.
    pub unsafe fn run(&self, workers: &Workers, pointers: &[Pointer], streaming: bool) {
        // SAFETY: as the caller says.
        unsafe { self.run_at(Level::best(), workers, pointers, streaming) }
    }

    /// As `run`, at a level of the caller's choice.
    ///
    /// # Safety
    /// As `run`; the machine must have the level.
    pub(crate) unsafe fn run_at(&self, level: Level, workers: &Workers, pointers: &[Pointer], streaming: bool) {
        assert_eq!(pointers.len() % self.pointer_count().max(1), 0, "as many pointers for each instance");
        let machine = Machine::new(level, self.code.wide);
        if self.code.wide {
            Job::<u64>::new(self, machine, pointers, streaming).run(workers);
        } else {
            Job::<u32>::new(self, machine, pointers, streaming).run(workers);
        }
    }

    fn rows(&self) -> usize {
        self.code.outer[..self.code.kept].iter().product()
    }

    fn reduced_rows(&self) -> usize {
        self.code.outer[self.code.kept..].iter().product()
    }

    /// Whether nothing of the rows is needed once they are reduced.
    fn only_reduces(&self) -> bool {
        let (first, rest) = self.code.phases.split_first().expect("there is a phase");
        let stores = first.lanes.iter().any(|t| matches!(t.base, Base::Saved(_)));
        let lane_outputs = self.code.walks.iter().any(|w| matches!(w.operand.role, Role::Output(_)));
        !first.reductions.is_empty() && !stores && !lane_outputs && rest.iter().all(|p| p.lanes.is_empty())
    }

    /// A guess at the time of one instance, on one core.
    fn nanoseconds(&self) -> usize {
        let lanes = self.code.row_len * self.rows() * self.reduced_rows();
        let work: usize =
            self.code.phases.iter().flat_map(|p| &p.lanes).map(|t| if is_long(t.op) { 6 } else { 1 }).sum();
        let per_row = 8 * self.code.walks.len() + 4 * work;
        lanes.saturating_mul(work) / 48 + per_row * self.rows() * self.reduced_rows()
    }
}

fn is_long(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Exp | Expm1
            | Log
            | Log1p
            | Tanh
            | Logistic
            | Erf
            | ErfInv
            | Sin
            | Cos
            | Tan
            | Cbrt
            | Pow
            | FDiv
            | Gather
            | Scatter
    )
}

/// One run of a kernel.
struct Job<'a, W> {
    kernel: &'a Kernel,
    machine: Machine,
    pointers: &'a [Pointer],
    instances: usize,
    effort: Effort,
    streaming: bool,
    word: std::marker::PhantomData<W>,
}

impl<'a, W: Word> Job<'a, W> {
    fn new(kernel: &'a Kernel, machine: Machine, pointers: &'a [Pointer], streaming: bool) -> Self {
        let instances = pointers.len() / kernel.pointer_count().max(1);
        let small = kernel.nanoseconds().saturating_mul(instances) < 60_000;
        let effort = if small { Effort::Small } else { Effort::Large };
        Job {
            kernel,
            machine,
            pointers,
            instances,
            effort,
            streaming: streaming && !small,
            word: std::marker::PhantomData,
        }
    }

    fn run(&self, workers: &Workers) {
        let kernel = self.kernel;
        if kernel.rows() == 0 {
            return;
        }
        match () {
            () if kernel.code.columns => self.run_columns(workers, self.effort),
            () if kernel.only_reduces() && kernel.code.row_len > LONG_ROW => self.run_long_rows(workers, self.effort),
            () => self.run_rows(workers, self.effort),
        }
    }

    /// Calls `run` for each part of each instance; small kernels are bound once for all.
    fn parts(&self, workers: &Workers, effort: Effort, parts: usize, run: impl Fn(&mut Bound<W>, usize) + Sync) {
        let each = |bound: &mut Bound<W>, part: usize| {
            bound.instance = part / parts;
            run(bound, part % parts);
        };
        let all = parts * self.instances;
        if effort == Effort::Small {
            let mut bound = Bound::new(self);
            (0..all).for_each(|part| each(&mut bound, part));
        } else {
            workers.run(all, effort, |part| each(&mut Bound::new(self), part));
        }
    }

    /// Elementwise programs, and those that reduce rows.
    fn run_rows(&self, workers: &Workers, effort: Effort) {
        let (rows, row_len) = (self.kernel.rows(), self.kernel.code.row_len);
        let whole_rows = self.kernel.code.phases.len() > 1 || row_len <= PART;
        if whole_rows {
            let group = (PART / row_len.max(1)).max(1);
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

    /// Rows so long that their segments are parts.
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

    /// Programs that reduce leading dimensions.
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

/// Words that parts leave for later ones, each written once.
struct Results<W>(Vec<std::cell::UnsafeCell<W>>);

// SAFETY: parts write different words, and later parts read them after the pool has joined.
unsafe impl<W: Word> Sync for Results<W> {}

impl<W: Word> Results<W> {
    fn new(len: usize) -> Self {
        Results((0..len).map(|_| W::from_bits64(0).into()).collect())
    }

    fn set(&self, i: usize, w: W) {
        // SAFETY: only this part has word `i`.
        unsafe { *self.0[i].get() = w }
    }

    fn get(&self, i: usize) -> W {
        // SAFETY: written by a part that has ended.
        unsafe { *self.0[i].get() }
    }
}

/// Code with addresses, and the memory that it works in.
struct Bound<'a, W> {
    job: &'a Job<'a, W>,
    instance: usize,
    _frame: Scratch,
    /// Where the frame starts.
    start: usize,
    layout: Frame,
    /// The address of each operand in the current row.
    bases: Vec<usize>,
    codes: Vec<[Option<BoundCode>; 4]>,
    scalars: Vec<Vec<Ins>>,
}

/// Offsets of the frame's areas.
#[derive(Clone, Copy)]
struct Frame {
    partials: usize,
    saved: usize,
    saved_row: usize,
    accumulators: usize,
    bounces: usize,
    total: usize,
}

/// Code for full or partial blocks of one phase.
struct BoundCode {
    code: Vec<Ins>,
    patches: Vec<Patch>,
    strided: Vec<Strided>,
    /// Of partial blocks: operands' elements that go through a temporary.
    copies: Vec<Bounce>,
}

/// An instruction whose address follows the row and the lane.
#[derive(Clone, Copy)]
struct Patch {
    ins: usize,
    source: Base,
    size: isize,
}

#[derive(Clone, Copy)]
struct Bounce {
    operand: usize,
    address: usize,
    size: usize,
}

impl Frame {
    fn new(code: &Code, wide: bool) -> Frame {
        let word = if wide { 8 } else { 4 };
        let reductions = code.phases.iter().map(|p| p.reductions.len()).max().unwrap_or(0);
        let operands = code.phases.iter().map(|p| p.lanes.len()).max().unwrap_or(0);
        let saved_row = code.row_len.next_multiple_of(128) * word;
        let partials = code.temp_bytes;
        let saved = partials + reductions * PARTIALS;
        let accumulators = (saved + code.saved * saved_row).next_multiple_of(64);
        let bounces = accumulators + if code.columns { reductions * TILE * word } else { 0 };
        Frame { partials, saved, saved_row, accumulators, bounces, total: bounces + operands * TEMP }
    }
}

impl<'a, W: Word> Bound<'a, W> {
    fn new(job: &'a Job<'a, W>) -> Self {
        let code = &job.kernel.code;
        let layout = Frame::new(code, code.wide);
        let mut frame = Scratch::new(layout.total);
        let mut bound = Bound {
            job,
            instance: 0,
            start: frame.start() as usize,
            _frame: frame,
            layout,
            bases: vec![0; code.walks.len()],
            codes: code.phases.iter().map(|_| [const { None }; 4]).collect(),
            scalars: Vec::new(),
        };
        bound.scalars = code.phases.iter().map(|p| bound.scalar_code(p)).collect();
        code.constants.iter().for_each(|&(temp, bits)| bound.fill(temp, W::from_bits64(bits)));
        bound
    }

    fn code(&self) -> &'a Code {
        &self.job.kernel.code
    }

    fn address(&self, offset: usize) -> usize {
        self.start + offset
    }

    fn scalar_code(&self, phase: &Phase) -> Vec<Ins> {
        let bind = |t: &Template| match t.base {
            Base::Immediate(bits) => Ins { op: t.op, extra: t.extra, step: 0, base: bits as usize },
            Base::Temp(temp) => Ins { op: t.op, extra: t.extra, step: 0, base: self.address(temp as usize) },
            other => unreachable!("{other:?} in the code of row values"),
        };
        phase.scalar.iter().map(bind).collect()
    }

    /// Writes a word to all lanes of a temporary.
    fn fill(&mut self, temp: u32, w: W) {
        let start = self.address(temp as usize) as *mut W;
        // SAFETY: a temporary holds this many words, and the frame is ours.
        unsafe { std::slice::from_raw_parts_mut(start, TEMP / W::SIZE) }.fill(w);
    }

    fn lane_zero(&self, temp: u32) -> W {
        // SAFETY: a temporary of the frame, which is ours and initialised.
        unsafe { W::load(self.address(temp as usize) as *const u8) }
    }

    /// Points the operands to a row, given by its number among the kept and then the reduced rows.
    fn point(&mut self, row: usize, reduced_row: usize) {
        let (code, kernel) = (self.code(), self.job.kernel);
        let pointers = &self.job.pointers[self.instance * kernel.pointer_count()..];
        for ((base, walk), slot) in self.bases.iter_mut().zip(&code.walks).zip(&kernel.slots) {
            *base = slot.map_or(0, |s| pointers[s].0 as usize);
            *base = base.wrapping_add_signed(offset(&code.outer[..code.kept], &walk.outer[..code.kept], row));
            *base = base.wrapping_add_signed(offset(&code.outer[code.kept..], &walk.outer[code.kept..], reduced_row));
        }
    }

    /// Computes the row values of a phase.
    fn start_phase(&mut self, phase: usize) {
        let p = &self.code().phases[phase];
        for &(operand, temp) in &p.fills {
            let w = self.read_row_operand(operand);
            self.fill(temp, w);
        }
        self.execute_scalar(phase);
        for &(operand, temp) in &p.row_outputs {
            let (elem, w) = (self.code().walks[operand].operand.elem, self.lane_zero(temp));
            // SAFETY: the caller of `run` vouches for outputs.
            unsafe { write_word(elem, self.bases[operand] as *mut u8, w) }
        }
    }

    fn read_row_operand(&self, operand: usize) -> W {
        let (o, base) = (&self.code().walks[operand].operand, self.bases[operand]);
        if o.role == Role::Index {
            return W::from_bits64(base as u64);
        }
        // SAFETY: the caller of `run` vouches for inputs.
        unsafe { read_word(o.elem, base as *const u8) }
    }

    fn execute_scalar(&self, phase: usize) {
        if !self.scalars[phase].is_empty() {
            // SAFETY: the code works on temporaries of the frame only.
            unsafe { (self.job.machine.run)(&self.scalars[phase], 1, self.address(0) as *mut u8, 8) }
        }
    }

    fn start_row(&mut self, row: usize) {
        self.point(row, 0);
        self.start_phase(0);
    }

    fn run_row(&mut self, row: usize) {
        self.point(row, 0);
        for phase in 0..self.code().phases.len() {
            self.start_phase(phase);
            self.run_phase(phase);
        }
    }

    fn run_phase(&mut self, phase: usize) {
        let (p, row_len) = (&self.code().phases[phase], self.code().row_len);
        if p.reductions.is_empty() {
            if !p.lanes.is_empty() {
                self.run_lanes(phase, 0, 0, row_len, false);
            }
            return;
        }
        let mut totals: Vec<W> = self.reduce_segment(phase, piece(row_len, SEGMENT, 0));
        for segment in 1..row_len.div_ceil(SEGMENT) {
            let more = self.reduce_segment(phase, piece(row_len, SEGMENT, segment));
            totals.iter_mut().zip(more).zip(&p.reductions).for_each(|((t, m), r)| *t = r.op.combine(*t, m));
        }
        self.set_totals(phase, &totals);
    }

    fn set_totals(&mut self, phase: usize, totals: &[W]) {
        for (r, &w) in self.code().phases[phase].reductions.iter().zip(totals) {
            self.fill(r.temp, w);
        }
    }

    /// The phases after the first, given its results.
    fn finish_rows(&mut self, totals: &[W]) {
        self.set_totals(0, totals);
        (1..self.code().phases.len()).for_each(|phase| self.start_phase(phase));
    }

    fn reduce_segment(&mut self, phase: usize, lanes: std::ops::Range<usize>) -> Vec<W> {
        let reductions = &self.code().phases[phase].reductions;
        for (i, r) in reductions.iter().enumerate() {
            self.partials(i).fill(W::from_bits64(r.identity));
        }
        self.run_lanes(phase, lanes.start, lanes.start, lanes.len(), false);
        reductions.iter().enumerate().map(|(i, r)| r.op.fold(self.partials(i))).collect()
    }

    fn partials(&mut self, i: usize) -> &mut [W] {
        let start = self.address(self.layout.partials + i * PARTIALS) as *mut W;
        // SAFETY: the partial results are in the frame, which is ours.
        unsafe { std::slice::from_raw_parts_mut(start, PARTIALS / W::SIZE) }
    }

    /// Folds reduced rows of one kept row into the accumulators.
    fn accumulate(&mut self, row: usize, reduced: std::ops::Range<usize>, lanes: std::ops::Range<usize>) {
        if reduced.is_empty() {
            let code = self.code();
            for (i, r) in code.phases[0].reductions.iter().enumerate() {
                self.accumulator(i).fill(W::from_bits64(r.identity));
            }
        }
        for r in reduced.clone() {
            self.point(row, r);
            self.start_phase(0);
            self.run_lanes(0, lanes.start, lanes.start, lanes.len(), r == reduced.start);
        }
    }

    /// What follows the reduction of leading dimensions.
    fn finish_columns(&mut self, row: usize, lanes: std::ops::Range<usize>) {
        self.point(row, 0);
        self.start_phase(1);
        self.run_lanes(1, lanes.start, lanes.start, lanes.len(), false);
    }

    fn accumulator(&mut self, i: usize) -> &mut [W] {
        let start = self.address(self.layout.accumulators + i * TILE * W::SIZE) as *mut W;
        // SAFETY: the accumulators are in the frame, which is ours.
        unsafe { std::slice::from_raw_parts_mut(start, TILE) }
    }

    fn save_accumulators(&mut self, results: &Results<W>, at: usize, row_len: usize, lanes: std::ops::Range<usize>) {
        for i in 0..self.code().phases[0].reductions.len() {
            let accumulator = self.accumulator(i);
            lanes.clone().zip(accumulator).for_each(|(lane, w)| results.set(at + i * row_len + lane, *w));
        }
    }

    fn join_accumulators(
        &mut self,
        results: &Results<W>,
        at: usize,
        row_len: usize,
        lanes: std::ops::Range<usize>,
        first: bool,
    ) {
        let reductions = &self.code().phases[0].reductions;
        for (i, r) in reductions.iter().enumerate() {
            for (lane, w) in lanes.clone().zip(self.accumulator(i)) {
                let more = results.get(at + i * row_len + lane);
                *w = if first { more } else { r.op.combine(*w, more) };
            }
        }
    }

    /// Runs the lanes of a phase from lane `start`; accumulators begin at lane `origin`.
    fn run_lanes(&mut self, phase: usize, start: usize, origin: usize, len: usize, first: bool) {
        let width = self.job.machine.lanes;
        let (blocks, rest) = (len / width, len % width);
        if blocks > 0 {
            let bound = self.ensure_code(phase, false, first);
            self.with_code(phase, bound, |b, code| b.run_full(code, start, start - origin, blocks));
        }
        if rest > 0 {
            let bound = self.ensure_code(phase, true, first);
            let lane = start + blocks * width;
            self.with_code(phase, bound, |b, code| b.run_tail(code, lane, lane - origin, rest));
        }
        if self.job.streaming {
            fence();
        }
    }

    fn ensure_code(&mut self, phase: usize, tail: bool, first: bool) -> usize {
        let variant = usize::from(tail) + 2 * usize::from(first);
        if self.codes[phase][variant].is_none() {
            self.codes[phase][variant] = Some(self.bind(phase, tail, first));
        }
        variant
    }

    fn with_code(&mut self, phase: usize, variant: usize, run: impl FnOnce(&mut Self, &mut BoundCode)) {
        let mut code = self.codes[phase][variant].take().expect("just made");
        run(self, &mut code);
        self.codes[phase][variant] = Some(code);
    }

    fn bind(&self, phase: usize, tail: bool, first: bool) -> BoundCode {
        let wanted = |t: &&Template| match t.when {
            When::Always => true,
            When::Tail => tail,
            When::NotFirst => !first,
        };
        let mut bound = BoundCode { code: Vec::new(), patches: Vec::new(), strided: Vec::new(), copies: Vec::new() };
        for (i, t) in self.code().phases[phase].lanes.iter().enumerate().filter(|(_, t)| wanted(t)) {
            let ahead = if tail { None } else { self.ahead(phase, i) };
            if ahead.is_some() && t.op != Op::Load {
                self.bind_prefetch(&mut bound, t);
            }
            self.bind_one(&mut bound, t, tail);
            if let (Some(distance), Some(ins)) = (ahead, bound.code.last_mut().filter(|ins| ins.op == Op::Load)) {
                (ins.op, ins.extra) = (Op::LoadAhead, distance);
            }
        }
        bound
    }

    /// How far ahead the memory of an instruction is asked for, if it is the first to read an operand in long rows.
    ///
    /// Where a later phase reads the row again, the next row is asked for then, while there is more to compute.
    fn ahead(&self, phase: usize, index: usize) -> Option<u32> {
        let (code, lanes) = (self.code(), &self.code().phases[phase].lanes);
        let Base::Operand(o) = lanes[index].base else { return None };
        let is_first = lanes[..index].iter().all(|t| t.base != lanes[index].base);
        let is_memory = code.walks[o].operand.role == Role::Input;
        if !is_first || !is_memory || code.row_len < AHEAD_LANES {
            return None;
        }
        match phase {
            0 => Some(AHEAD as u32),
            1 if !code.columns => code.walks[o].outer.last().and_then(|&s| u32::try_from(s).ok()),
            _ => None,
        }
    }

    fn bind_prefetch(&self, bound: &mut BoundCode, t: &Template) {
        let (lanes, ins) = (self.job.machine.lanes, bound.code.len());
        let bytes = t.size * lanes;
        bound.patches.push(Patch { ins, source: t.base, size: t.size as isize });
        bound.code.push(Ins { op: Op::Prefetch, extra: bytes.div_ceil(64) as u32, step: bytes as isize, base: 0 });
    }

    fn bind_one(&self, bound: &mut BoundCode, t: &Template, tail: bool) {
        let step = (t.size * self.job.machine.lanes) as isize;
        let mut ins = Ins { op: t.op, extra: t.extra, step: 0, base: 0 };
        let patch = Patch { ins: bound.code.len(), source: t.base, size: t.size as isize };
        match t.base {
            Base::Immediate(bits) => ins.base = bits as usize,
            Base::Temp(temp) => ins.base = self.address(temp as usize),
            Base::Partials(i) => ins.base = self.address(self.layout.partials + i * PARTIALS),
            Base::Strided(_) => {
                let source = self.bind_strided(bound, t.base);
                bound.patches.push(Patch { source, ..patch });
            }
            Base::Operand(o) if tail && self.code().walks[o].operand.role != Role::Index => {
                ins.base = self.address(self.layout.bounces + bound.copies.len() * TEMP);
                bound.copies.push(Bounce { operand: o, address: ins.base, size: t.size });
            }
            _ => {
                (ins.op, ins.step) = (self.streaming_op(t), step);
                bound.patches.push(patch);
            }
        }
        bound.code.push(ins);
    }

    /// The place of a strided operand in the code's list.
    fn bind_strided(&self, bound: &mut BoundCode, base: Base) -> Base {
        let Base::Strided(index) = base else { unreachable!("asked for strided operands only") };
        let s = self.code().strided[index];
        let walk = &self.code().walks[s.operand];
        let temp = self.address(s.temp as usize);
        bound.strided.push(Strided { address: 0, stride: walk.inner, size: walk.size(), lanes: 0, temp });
        Base::Strided(bound.strided.len() - 1)
    }

    /// Stores go past the caches where that was asked for and all rows are aligned.
    fn streaming_op(&self, t: &Template) -> Op {
        let Base::Operand(o) = t.base else { return t.op };
        let aligned =
            |o: usize| self.bases[o].is_multiple_of(64) && self.code().walks[o].outer.iter().all(|s| s % 64 == 0);
        if t.op == Op::Store && self.job.streaming && aligned(o) { Op::StoreStreaming } else { t.op }
    }

    /// The address of a patched instruction for the block at `lane`, `local` lanes after the accumulators' first.
    fn target(&self, patch: &Patch, lane: usize, local: usize) -> usize {
        let at = |base: usize, lane: usize| base.wrapping_add_signed(patch.size * lane as isize);
        match patch.source {
            Base::Operand(o) => at(self.bases[o], lane),
            Base::Saved(row) => at(self.address(self.layout.saved + row * self.layout.saved_row), lane),
            Base::Accumulator(i) => at(self.address(self.layout.accumulators + i * TILE * W::SIZE), local),
            other => unreachable!("{other:?} does not move"),
        }
    }

    fn apply_patches(&self, bound: &mut BoundCode, lane: usize, local: usize, lanes: usize) {
        for patch in &bound.patches {
            bound.code[patch.ins].base = match patch.source {
                Base::Strided(i) => {
                    let s = &mut bound.strided[i];
                    (s.address, s.lanes) = (self.strided_address(s, bound.code[patch.ins].extra as usize, lane), lanes);
                    std::ptr::from_ref(s) as usize
                }
                _ => self.target(patch, lane, local),
            };
        }
    }

    fn strided_address(&self, s: &Strided, operand: usize, lane: usize) -> usize {
        self.bases[operand].wrapping_add_signed(s.stride * lane as isize)
    }

    fn run_full(&mut self, bound: &mut BoundCode, lane: usize, local: usize, blocks: usize) {
        self.apply_patches(bound, lane, local, self.job.machine.lanes);
        self.execute(&bound.code, blocks);
    }

    /// Runs one block of `count` lanes; operands' elements are copied from and to temporaries.
    fn run_tail(&mut self, bound: &mut BoundCode, lane: usize, local: usize, count: usize) {
        self.apply_patches(bound, lane, local, count);
        for ins in bound.code.iter_mut().filter(|ins| ins.op == Op::Keep) {
            ins.extra = count as u32;
        }
        for copy in bound.copies.iter().filter(|c| self.code().walks[c.operand].is_input()) {
            // SAFETY: the caller of `run` vouches for inputs; a temporary holds a block.
            unsafe { copy_bytes(self.lane_address(copy, lane), copy.address, count * copy.size) }
        }
        self.execute(&bound.code, 1);
        for copy in bound.copies.iter().filter(|c| !self.code().walks[c.operand].is_input()) {
            // SAFETY: the caller of `run` vouches for outputs.
            unsafe { copy_bytes(copy.address, self.lane_address(copy, lane), count * copy.size) }
        }
    }

    fn lane_address(&self, copy: &Bounce, lane: usize) -> usize {
        self.bases[copy.operand].wrapping_add(copy.size * lane)
    }

    fn execute(&self, code: &[Ins], blocks: usize) {
        // SAFETY: the addresses are those of operands, for which the caller of `run` vouches, and of the frame.
        unsafe { (self.job.machine.run)(code, blocks, self.address(0) as *mut u8, 8) }
    }
}

/// # Safety
/// As `ptr::copy_nonoverlapping`.
unsafe fn copy_bytes(from: usize, to: usize, len: usize) {
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) }
}

/// The offset of row number `row` in loops of these sizes.
fn offset(sizes: &[usize], strides: &[isize], mut row: usize) -> isize {
    let mut sum = 0;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        sum += (row % size.max(1)) as isize * stride;
        row /= size.max(1);
    }
    sum
}

/// Makes streaming stores visible to those who read after the pool has joined.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}
