//! The code of a kernel with addresses, for one worker, which runs one row after the other.
//!
//! The addresses are those of the frame and of the operands. [`Kernel::run`] has checked that the operands have all
//! bytes that the kernel reaches.
//!
//! [`Kernel::run`]: super::Kernel::run
#![expect(unsafe_code, reason = "the machine follows addresses")]

use super::emit::{Base, Code, Phase, Template, When};
use super::machine::{AHEAD, Ins, Machine, Op, PARTIALS, Strided, TEMP, read_words, write_words};
use super::program::Role;
use super::results::Results;
use crate::memory::Scratch;
use crate::operand::Pointer;
use crate::parts::Pace;
use crate::pool::piece;
use crate::simd::{Word, fence};
use shardwise_mathfn::order::SEGMENT;
use std::marker::PhantomData;
use std::ops::Range;

/// Memory is prefetched only in rows of at least this number of lanes.
const AHEAD_LANES: usize = 2048;
/// The most work of full blocks that run before a call of [`Pace::spend`]: the number of lanes times the number of
/// instructions that run on each. Some instructions take 30 ns for a lane. A block that has more work runs in one
/// piece. Partial blocks are not counted.
const POLLED: usize = 1 << 17;

/// The number of lanes of a tile in a kernel that reduces leading dimensions. The last tile may have fewer. The
/// intermediate results of a tile fit into the first cache.
pub(super) const TILE: usize = 2048;

/// The code of a kernel and the operands of all instances in one run. Or the code of a stage, without operands.
pub(super) struct Binding<'a> {
    pub code: &'a Code,
    pub machine: Machine,
    /// For each of the program's operands, its index among the operands of an instance. It is `None` for an operand
    /// that counts an index, which has no memory. Empty for a stage, whose operands [`Bound::run_at`] gets.
    pub slots: &'a [Option<usize>],
    /// The number of operands of an instance, or 0 for a stage.
    pub operand_count: usize,
    /// The addresses of the operands of all instances: those of the first instance, then those of the next ones. Empty
    /// for a stage.
    pub pointers: &'a [Pointer],
    /// True if stores of whole words bypass the caches, except those of partial blocks and those to rows that are not
    /// aligned to 64 bytes.
    pub streaming: bool,
}

impl Binding<'_> {
    /// Returns the address of each of the program's operands in an instance. It is `None` for an operand that counts an
    /// index, which has no memory.
    pub fn places(&self, instance: usize) -> impl Iterator<Item = Option<Pointer>> {
        let own = &self.pointers[instance * self.operand_count..];
        self.slots.iter().map(|slot| slot.map(|s| own[s]))
    }
}

/// The code with addresses, and the memory that it works in.
pub(super) struct Bound<'a, W> {
    binding: &'a Binding<'a>,
    pub(super) instance: usize,
    /// The address of each of the program's operands. For an operand that counts an index, this is its first number.
    places: Vec<*mut u8>,
    _frame: Option<Scratch>,
    /// The start of the frame, which is accessed through this pointer alone.
    memory: *mut u8,
    layout: Frame,
    /// For each of the program's operands, the address of its first element in the current row. For an operand that
    /// counts an index, this is the number at that place, in the form of an address.
    bases: Vec<*mut u8>,
    phases: Vec<BoundPhase>,
    pace: Pace,
    word: PhantomData<W>,
}

/// The offsets of the areas of the frame, in bytes from its start. `saved_row` and `total` are lengths in bytes.
#[derive(Clone, Copy)]
struct Frame {
    partials: usize,
    saved: usize,
    saved_row: usize,
    accumulators: usize,
    bounces: usize,
    total: usize,
}

/// The code of a phase: for its row values, and for its lanes. For lanes there are four variants, each of which is made
/// when it is first needed: for full or partial blocks, and with accumulators that are combined or overwritten.
struct BoundPhase {
    scalar: Vec<Ins>,
    lanes: [Option<BoundCode>; 4],
}

/// The code for the full or partial blocks of one phase.
struct BoundCode {
    code: Vec<Ins>,
    patches: Vec<Patch>,
    strided: Vec<Strided>,
    /// For partial blocks, the operands whose elements are copied through a temporary.
    copies: Vec<Bounce>,
}

/// An instruction whose address is written into the code before blocks run, because it depends on the row and the lane.
#[derive(Clone, Copy)]
struct Patch {
    ins: usize,
    source: Base,
    size: isize,
}

#[derive(Clone, Copy)]
struct Bounce {
    operand: usize,
    temp: *mut u8,
    size: usize,
}

pub(super) fn frame_bytes(code: &Code) -> usize {
    Frame::new(code, code.wide).total
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
    pub(super) fn new(binding: &'a Binding<'a>) -> Self {
        let mut frame = Scratch::new(frame_bytes(binding.code));
        // SAFETY: the frame has this size, and the bound code keeps it.
        let mut bound = unsafe { Bound::within(binding, frame.start()) };
        bound._frame = Some(frame);
        bound.select(0);
        bound
    }

    /// Binds the code to a frame at `memory`. The operands have no places yet.
    ///
    /// # Safety
    /// There must be [`frame_bytes`] bytes at `memory`, at a multiple of 64, which nothing else accesses as long as the
    /// bound code is used.
    pub(super) unsafe fn within(binding: &'a Binding<'a>, memory: *mut u8) -> Self {
        let code = binding.code;
        let layout = Frame::new(code, code.wide);
        let mut bound = Bound {
            binding,
            instance: 0,
            places: vec![std::ptr::null_mut(); code.walks.len()],
            memory,
            _frame: None,
            layout,
            bases: vec![std::ptr::null_mut(); code.walks.len()],
            phases: Vec::with_capacity(code.phases.len()),
            pace: Pace::default(),
            word: PhantomData,
        };
        for phase in &code.phases {
            let scalar = bound.scalar_code(phase);
            bound.phases.push(BoundPhase { scalar, lanes: [const { None }; 4] });
        }
        code.constants.iter().for_each(|&(temp, bits)| bound.fill(temp, W::from_bits64(bits)));
        bound
    }

    /// Sets the addresses of the operands to those of an instance.
    pub(super) fn select(&mut self, instance: usize) {
        self.instance = instance;
        let own = self.binding.places(instance).map(|p| p.map_or(std::ptr::null_mut(), |p| p.0));
        self.places.iter_mut().zip(own).for_each(|(place, own)| *place = own);
    }

    /// Runs the code for all rows, with its operands at these addresses. For an operand that counts an index, this is
    /// its first number.
    ///
    /// # Safety
    /// The operands must have all bytes that the code reaches from there.
    pub(super) unsafe fn run_at(&mut self, places: impl Iterator<Item = *mut u8>) {
        self.places.iter_mut().zip(places).for_each(|(place, new)| *place = new);
        (0..self.code().outer.iter().product()).for_each(|row| self.run_row(row));
    }

    fn code(&self) -> &'a Code {
        self.binding.code
    }

    fn address(&self, offset: usize) -> *mut u8 {
        self.memory.wrapping_add(offset)
    }

    fn words(&mut self, offset: usize, count: usize) -> &mut [W] {
        assert!(offset.is_multiple_of(W::SIZE) && offset + count * W::SIZE <= self.layout.total, "words of the frame");
        // SAFETY: the frame has these bytes, which are initialised, aligned and ours; `self` is borrowed with them.
        unsafe { std::slice::from_raw_parts_mut(self.address(offset).cast(), count) }
    }

    fn scalar_code(&self, phase: &Phase) -> Vec<Ins> {
        let bind = |t: &Template| match t.base {
            Base::Immediate(bits) => Ins { op: t.op, extra: t.extra, step: 0, base: immediate(bits) },
            Base::Temp(temp) => Ins { op: t.op, extra: t.extra, step: 0, base: self.address(temp as usize) },
            other => unreachable!("{other:?} in the code of row values"),
        };
        phase.scalar.iter().map(bind).collect()
    }

    fn fill(&mut self, temp: u32, w: W) {
        self.words(temp as usize, TEMP / W::SIZE).fill(w);
    }

    /// Sets the addresses of the operands for a row, given by its number among the kept rows and then among the reduced
    /// rows.
    fn point(&mut self, row: usize, reduced_row: usize) {
        let code = self.code();
        for ((base, walk), start) in self.bases.iter_mut().zip(&code.walks).zip(&self.places) {
            let kept = offset(&code.outer[..code.kept], &walk.outer[..code.kept], row);
            let reduced = offset(&code.outer[code.kept..], &walk.outer[code.kept..], reduced_row);
            *base = start.wrapping_offset(kept).wrapping_offset(reduced);
        }
    }

    /// Reads the row operands of a phase, computes its row values and writes its row outputs. [`Bound::point`] must
    /// have set the addresses.
    fn start_phase(&mut self, phase: usize) {
        let p = &self.code().phases[phase];
        for &(operand, temp) in &p.fills {
            let w = self.read_row_operand(operand);
            self.fill(temp, w);
        }
        self.execute_scalar(phase);
        for &(operand, temp) in &p.row_outputs {
            let (elem, w) = (self.code().walks[operand].operand.elem, self.words(temp as usize, 1)[0]);
            // SAFETY: the output has what the kernel reaches, this row's element among it.
            unsafe { write_words(elem, self.bases[operand], &[w]) }
        }
    }

    fn read_row_operand(&self, operand: usize) -> W {
        let (o, base) = (&self.code().walks[operand].operand, self.bases[operand]);
        if o.role == Role::Index {
            return W::from_bits64(base.addr() as u64);
        }
        let mut word = [W::from_bits64(0)];
        // SAFETY: the input has what the kernel reaches, this row's element among it.
        unsafe { read_words(o.elem, base, &mut word) };
        word[0]
    }

    fn execute_scalar(&self, phase: usize) {
        if !self.phases[phase].scalar.is_empty() {
            self.execute(&self.phases[phase].scalar, 1);
        }
    }

    pub(super) fn start_row(&mut self, row: usize) {
        self.point(row, 0);
        self.start_phase(0);
    }

    pub(super) fn run_row(&mut self, row: usize) {
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

    /// Computes the row values and writes the row outputs of the phases after the first one, given the results of the
    /// reductions of the first one. The lanes of these phases are not run.
    pub(super) fn finish_rows(&mut self, totals: &[W]) {
        self.set_totals(0, totals);
        (1..self.code().phases.len()).for_each(|phase| self.start_phase(phase));
    }

    pub(super) fn reduce_segment(&mut self, phase: usize, lanes: Range<usize>) -> Vec<W> {
        let reductions = &self.code().phases[phase].reductions;
        for (i, r) in reductions.iter().enumerate() {
            self.partials(i).fill(W::from_bits64(r.identity));
        }
        self.run_lanes(phase, lanes.start, lanes.start, lanes.len(), false);
        reductions.iter().enumerate().map(|(i, r)| r.op.fold(self.partials(i))).collect()
    }

    fn partials(&mut self, i: usize) -> &mut [W] {
        self.words(self.layout.partials + i * PARTIALS, PARTIALS / W::SIZE)
    }

    /// Sets the accumulators of these lanes to the combination of the reduced rows `reduced` of kept row `row`, or to
    /// the neutral elements if `reduced` is empty.
    pub(super) fn accumulate(&mut self, row: usize, reduced: Range<usize>, lanes: Range<usize>) {
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

    /// Runs the phase after a reduction of leading dimensions, for these lanes of kept row `row`.
    pub(super) fn finish_columns(&mut self, row: usize, lanes: Range<usize>) {
        self.point(row, 0);
        self.start_phase(1);
        self.run_lanes(1, lanes.start, lanes.start, lanes.len(), false);
    }

    fn accumulator(&mut self, i: usize) -> &mut [W] {
        self.words(self.layout.accumulators + i * TILE * W::SIZE, TILE)
    }

    pub(super) fn save_accumulators(&mut self, results: &Results<W>, at: usize, row_len: usize, lanes: Range<usize>) {
        for i in 0..self.code().phases[0].reductions.len() {
            let accumulator = self.accumulator(i);
            lanes.clone().zip(accumulator).for_each(|(lane, w)| results.set(at + i * row_len + lane, *w));
        }
    }

    pub(super) fn join_accumulators(
        &mut self,
        results: &Results<W>,
        at: usize,
        row_len: usize,
        lanes: Range<usize>,
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

    /// Runs `len` lanes of a phase from lane `start`. The first element of each accumulator belongs to lane `origin`.
    /// If `first` is true, values overwrite the accumulators instead of being combined with them.
    pub(super) fn run_lanes(&mut self, phase: usize, start: usize, origin: usize, len: usize, first: bool) {
        let width = self.binding.machine.lanes;
        let (blocks, rest) = (len / width, len % width);
        if blocks > 0 {
            let bound = self.ensure_code(phase, false, first);
            self.with_code(phase, bound, |b, code| {
                let work = width * code.code.len();
                if blocks * work <= POLLED {
                    b.run_full(code, start, start - origin, blocks);
                    return b.pace.spend(blocks * work);
                }
                let at_a_time = (POLLED / work).max(1);
                for done in (0..blocks).step_by(at_a_time) {
                    let (lane, count) = (start + done * width, at_a_time.min(blocks - done));
                    b.run_full(code, lane, lane - origin, count);
                    b.pace.spend(count * work);
                }
            });
        }
        if rest > 0 {
            let bound = self.ensure_code(phase, true, first);
            let lane = start + blocks * width;
            self.with_code(phase, bound, |b, code| b.run_tail(code, lane, lane - origin, rest));
        }
        if self.binding.streaming {
            fence();
        }
    }

    fn ensure_code(&mut self, phase: usize, tail: bool, first: bool) -> usize {
        let variant = usize::from(tail) + 2 * usize::from(first);
        if self.phases[phase].lanes[variant].is_none() {
            self.phases[phase].lanes[variant] = Some(self.bind(phase, tail, first));
        }
        variant
    }

    fn with_code(&mut self, phase: usize, variant: usize, run: impl FnOnce(&mut Self, &mut BoundCode)) {
        let mut phases = std::mem::take(&mut self.phases);
        run(self, phases[phase].lanes[variant].as_mut().expect("just made"));
        self.phases = phases;
    }

    fn bind(&self, phase: usize, tail: bool, first: bool) -> BoundCode {
        let wanted = |t: &&Template| match t.when {
            When::Always => true,
            When::Tail => tail,
            When::NotFirst => !first,
        };
        let len = self.code().phases[phase].lanes.len();
        let (code, patches) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let mut bound = BoundCode { code, patches, strided: Vec::new(), copies: Vec::new() };
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

    /// Returns the distance in bytes at which an instruction prefetches what it reads, or `None` if it does not. Only
    /// loads of whole words use the distance. Other instructions prefetch [`AHEAD`] bytes ahead.
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
        let (lanes, ins) = (self.binding.machine.lanes, bound.code.len());
        let bytes = t.size * lanes;
        bound.patches.push(Patch { ins, source: t.base, size: t.size as isize });
        bound.code.push(Ins {
            op: Op::Prefetch,
            extra: bytes.div_ceil(64) as u32,
            step: bytes as isize,
            base: std::ptr::null_mut(),
        });
    }

    fn bind_one(&self, bound: &mut BoundCode, t: &Template, tail: bool) {
        let step = (t.size * self.binding.machine.lanes) as isize;
        let mut ins = Ins { op: t.op, extra: t.extra, step: 0, base: std::ptr::null_mut() };
        let patch = Patch { ins: bound.code.len(), source: t.base, size: t.size as isize };
        match t.base {
            Base::Immediate(bits) => ins.base = immediate(bits),
            Base::Temp(temp) => ins.base = self.address(temp as usize),
            Base::Partials(i) => ins.base = self.address(self.layout.partials + i * PARTIALS),
            Base::Strided(_) => {
                let source = self.bind_strided(bound, t.base);
                bound.patches.push(Patch { source, ..patch });
            }
            Base::Operand(o) if tail && self.code().walks[o].operand.role != Role::Index => {
                ins.base = self.address(self.layout.bounces + bound.copies.len() * TEMP);
                bound.copies.push(Bounce { operand: o, temp: ins.base, size: t.size });
            }
            _ => {
                (ins.op, ins.step) = (self.streaming_op(t), step);
                bound.patches.push(patch);
            }
        }
        bound.code.push(ins);
    }

    fn bind_strided(&self, bound: &mut BoundCode, base: Base) -> Base {
        let Base::Strided(index) = base else { unreachable!("asked for strided operands only") };
        let s = self.code().strided[index];
        let walk = &self.code().walks[s.operand];
        let temp = self.address(s.temp as usize);
        bound.strided.push(Strided {
            row: std::ptr::null_mut(),
            stride: walk.inner,
            run: self.code().run,
            run_stride: walk.run,
            size: walk.size(),
            lane: 0,
            lanes: 0,
            temp,
        });
        Base::Strided(bound.strided.len() - 1)
    }

    /// Returns the op of a template. A store of whole words bypasses the caches if the binding asks for this and each
    /// row that it writes begins at a multiple of 64 bytes.
    fn streaming_op(&self, t: &Template) -> Op {
        let Base::Operand(o) = t.base else { return t.op };
        let aligned = |o: usize| {
            self.bases[o].addr().is_multiple_of(64) && self.code().walks[o].outer.iter().all(|s| s % 64 == 0)
        };
        if t.op == Op::Store && self.binding.streaming && aligned(o) { Op::StoreStreaming } else { t.op }
    }

    /// Returns the address of a patched instruction for the block at `lane`, which is `local` lanes after the first
    /// lane of the accumulators.
    fn target(&self, patch: &Patch, lane: usize, local: usize) -> *mut u8 {
        let at = |base: *mut u8, lane: usize| base.wrapping_offset(patch.size * lane as isize);
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
                    (s.row, s.lane, s.lanes) = (self.bases[bound.code[patch.ins].extra as usize], lane, lanes);
                    std::ptr::from_mut(s).cast()
                }
                _ => self.target(patch, lane, local),
            };
        }
    }

    fn run_full(&mut self, bound: &mut BoundCode, lane: usize, local: usize, blocks: usize) {
        self.apply_patches(bound, lane, local, self.binding.machine.lanes);
        self.execute(&bound.code, blocks);
    }

    /// Runs one block of `count` lanes. The elements of contiguous inputs are copied to temporaries before, and those
    /// of contiguous outputs from temporaries afterwards.
    fn run_tail(&mut self, bound: &mut BoundCode, lane: usize, local: usize, count: usize) {
        self.apply_patches(bound, lane, local, count);
        for ins in bound.code.iter_mut().filter(|ins| ins.op == Op::Keep) {
            ins.extra = count as u32;
        }
        self.bounce(bound, lane, count, true);
        self.execute(&bound.code, 1);
        self.bounce(bound, lane, count, false);
    }

    fn bounce(&self, bound: &BoundCode, lane: usize, count: usize, inputs: bool) {
        let walks = &self.code().walks;
        for copy in bound.copies.iter().filter(|c| walks[c.operand].is_input() == inputs) {
            let operand = self.bases[copy.operand].wrapping_add(copy.size * lane);
            let (from, to) = if inputs { (operand, copy.temp) } else { (copy.temp, operand) };
            // SAFETY: the operand has what the kernel reaches, and a temporary holds a block.
            unsafe { std::ptr::copy_nonoverlapping(from, to, count * copy.size) }
        }
    }

    fn execute(&self, code: &[Ins], blocks: usize) {
        // SAFETY: the addresses are those of the frame, and of operands, which have what the kernel reaches.
        unsafe { (self.binding.machine.run)(code, blocks, self.memory, 8) }
    }
}

fn immediate(bits: u64) -> *mut u8 {
    std::ptr::without_provenance_mut(bits as usize)
}

/// Returns the offset of row number `row` in nested loops with these sizes and strides, of which the last is the
/// innermost. Rows are numbered row-major.
pub(crate) fn offset(sizes: &[usize], strides: &[isize], mut row: usize) -> isize {
    let mut sum = 0;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        sum += (row % size.max(1)) as isize * stride;
        row /= size.max(1);
    }
    sum
}
