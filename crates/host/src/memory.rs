//! Buffers from a pool of huge pages.
//!
//! Every buffer is charged to the [`Account`] that is current where it is allocated; there are no other limits. A fresh
//! page costs more than most kernels that fill it, so memory that a buffer frees is kept, by size, for the next buffer.
//! The kept memory is bounded: the written pages exceed the most bytes that buffers held at one time by about 32 MiB at
//! most, whatever sizes come later. Only blocks of less than 64 KiB may add to that, if other blocks of their arenas
//! are in use. Buffers that are not guarded start at 64-byte boundaries. Those of 64 KiB or more start at different
//! offsets within their pages, so that eight of them that are read together do not compete for the same cache sets.
//!
//! **Guarded memory** ([`Memory::guarded`], or the variable `SHARDWISE_GUARD` for [`Memory::default`]) is for tests.
//! Each buffer has its own mapping, is filled with a given byte when it is made, ends at an inaccessible page, and is
//! unmapped when it is freed. A read or write after the end, or after the buffer is freed, ends the process. Bytes that
//! were changed before the start are detected when the buffer is freed. Results that depend on bytes that were never
//! written differ between two fills. The scratch memory of the kernels of a run is guarded as the run's buffers are
//! ([`Guard`]). It starts at a 64-byte boundary, so up to 63 bytes may follow it; they are checked when it is freed.
#![expect(unsafe_code, reason = "pages come from the system")]

pub use shardwise_base::OutOfMemory;
use shardwise_base::{Account, Reservation, Stop};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The alignment, in bytes, of the start of scratch memory and of each buffer that is not guarded. A guarded buffer
/// ends at a page instead.
pub const ALIGNMENT: usize = 64;
const GRAIN: usize = 512;
const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;
/// If a mapping lacks at most this many bytes to whole huge pages, it is enlarged to whole huge pages.
const LACKING: usize = HUGE_PAGE / 8;
/// Blocks of at least this size have a mapping of their own.
const LARGE: usize = HUGE_PAGE;
/// The size of the arenas from which smaller blocks are allocated.
const ARENA: usize = 16 << 20;
/// Large blocks start at one of this many offsets in their mappings, which are a `COLOUR_STEP` apart.
const COLOURS: usize = 13;
const COLOUR_STEP: usize = 9 * 64;
/// Blocks of at least this size are followed by a gap of `COLOUR_STEP` bytes in an arena.
const SPREAD: usize = 64 << 10;
/// Kept blocks of at least this size return pages to the system if too many bytes are written ([`SLACK`]). Smaller
/// blocks contain few whole pages.
const DISCARDED: usize = 64 << 10;
/// If the written bytes would exceed the peak of live buffers, or the account's limit if that is less, by more than
/// this many bytes, kept blocks are returned to the system.
const SLACK: usize = 32 << 20;

/// An allocator. Clones share its memory.
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kind: BufferSource,
    state: Mutex<State>,
}

/// The source of the bytes of buffers.
#[derive(Clone, Copy, Default)]
enum BufferSource {
    /// Blocks that are kept for later buffers.
    #[default]
    Kept,
    /// A mapping for each buffer, filled with a byte. Buffers start at a multiple of `alignment`.
    Guarded { fill: u8, alignment: usize },
    /// None: buffers are only counted.
    Counted,
}

#[derive(Default)]
struct State {
    /// The number of bytes that live buffers hold, each rounded up to a multiple of 512, and at least 512. Buffers that
    /// are only counted hold none.
    in_use: usize,
    /// The largest value of `in_use` so far.
    peak: usize,
    /// The number of bytes of blocks, live or kept, that may have been written. Guarded blocks are not counted.
    written: usize,
    colour: usize,
    arenas: Vec<Option<Arena>>,
    /// The index, in `arenas`, of the arena from which new small blocks are taken, if there is one at this index.
    open: usize,
    /// The address of the next buffer that is only counted.
    next: usize,
    free: BTreeMap<usize, Vec<Block>>,
}

/// Memory from which small blocks are allocated.
struct Arena {
    mapping: Mapping,
    used: usize,
    /// The number of blocks that buffers hold.
    live: usize,
}

/// A piece of memory in a buffer or on a free list.
struct Block {
    start: NonNull<u8>,
    class: usize,
    /// The number of bytes that may have been written. It is 0 for a guarded block, whose bytes are not counted.
    written: usize,
    home: Home,
}

/// The origin of a block's memory.
enum Home {
    /// A mapping of its own, which is unmapped with the block.
    Own(#[expect(dead_code, reason = "it is dropped with the block")] Mapping),
    /// The arena of this number.
    Arena(usize),
    /// A mapping of its own, with this fill before and after the block.
    Guarded(Mapping, u8),
}

// SAFETY: a block is plain memory that one owner at a time holds.
unsafe impl Send for Block {}
// SAFETY: shared access to a block only reads.
unsafe impl Sync for Block {}

/// Bytes that any number of owners may read and a sole owner may write.
#[derive(Clone)]
pub struct Buffer(Arc<Owned>);

struct Owned {
    /// The memory; `None` if the buffer is only counted.
    block: Option<Block>,
    /// The address where the bytes start, or would start.
    address: usize,
    len: usize,
    memory: Memory,
    _reserved: Option<Reservation>,
}

/// Returns the memory of the process, which all engines share except those with guarded memory of their own. It is
/// guarded if `SHARDWISE_GUARD` is set to the byte that fills buffers, in hexadecimal (`5a` or `0x5a`) and not 0, or to
/// `1` or `0x1`, which mean `a5`. Any other value is ignored.
impl Default for Memory {
    fn default() -> Memory {
        memory_of_process().clone()
    }
}

fn memory_of_process() -> &'static Memory {
    static PROCESS: OnceLock<Memory> = OnceLock::new();
    PROCESS.get_or_init(|| guard_of_process().map_or_else(Memory::new, Memory::guarded))
}

fn guard_of_process() -> Option<u8> {
    let text = std::env::var("SHARDWISE_GUARD").ok()?;
    let text = text.trim().trim_start_matches("0x");
    if text == "1" { Some(0xa5) } else { u8::from_str_radix(text, 16).ok().filter(|&fill| fill != 0) }
}

impl Memory {
    /// Returns memory that shares nothing with that of the process and is never guarded.
    pub fn new() -> Memory {
        Memory(Arc::default())
    }

    /// Returns memory that finds accesses outside of buffers. Each buffer ends at an inaccessible page. The buffer, and
    /// the bytes in front of it from the start of its first page on, are filled with `fill`. Dropping the last owner of
    /// a buffer panics if the bytes in front were changed.
    pub fn guarded(fill: u8) -> Memory {
        Memory::of_kind(BufferSource::Guarded { fill, alignment: 1 })
    }

    /// Returns memory whose buffers are charged to the account but have no bytes: [`Buffer::len`] is the requested
    /// length, and slices are empty. With it, a plan can be run to find what it allocates.
    pub fn counted() -> Memory {
        Memory::of_kind(BufferSource::Counted)
    }

    fn of_kind(kind: BufferSource) -> Memory {
        Memory(Arc::new(Shared { kind, state: Mutex::default() }))
    }

    #[cfg(test)]
    fn in_use(&self) -> usize {
        self.state().in_use
    }

    #[cfg(test)]
    fn peak_bytes(&self) -> usize {
        self.state().peak
    }

    /// Returns a buffer of `len` bytes whose contents are arbitrary. It has no bytes if this is [`Memory::counted`].
    /// Until it is freed, `len` rounded up to a multiple of 512, but at least 512 bytes, is charged to the current
    /// account.
    ///
    /// # Errors
    /// Fails if the account refuses the bytes or the system has no memory.
    pub fn allocate(&self, len: usize) -> Result<Buffer, OutOfMemory> {
        let account = Account::current();
        let reserved = account.reserve(padded(len))?;
        self.buffer(len, &account, Some(reserved))
    }

    fn buffer(&self, len: usize, account: &Account, _reserved: Option<Reservation>) -> Result<Buffer, OutOfMemory> {
        let refused = || account.refused_by_system(len);
        let block = match self.0.kind {
            BufferSource::Kept => Some(self.state().block(len, account.limit()).ok_or_else(refused)?),
            BufferSource::Guarded { fill, alignment } => {
                Some(self.state().guarded(len, fill, alignment).ok_or_else(refused)?)
            }
            BufferSource::Counted => None,
        };
        let address = block.as_ref().map_or_else(|| self.state().next_address(len), |b| b.start.as_ptr().addr());
        Ok(Buffer(Arc::new(Owned { block, address, len, memory: self.clone(), _reserved })))
    }

    /// Returns a buffer of `len` bytes, all of them 0. It has no bytes if this is [`Memory::counted`].
    ///
    /// # Errors
    /// Fails as [`Memory::allocate`] does.
    pub fn allocate_zeroed(&self, len: usize) -> Result<Buffer, OutOfMemory> {
        let mut buffer = self.allocate(len)?;
        buffer.try_unique().expect("a new buffer has one owner").fill(0);
        Ok(buffer)
    }

    /// Returns the kept memory to the system. Small blocks are kept if buffers use their arenas.
    #[cfg(test)]
    fn trim(&self) {
        self.state().evict(0);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn padded(len: usize) -> usize {
    len.max(1).saturating_add(GRAIN - 1) / GRAIN * GRAIN
}

/// Returns the size of the block for a buffer of `len` bytes. There are at most four sizes for each doubling.
fn size_class(len: usize) -> usize {
    let padded = padded(len);
    let step = (padded.checked_next_power_of_two().unwrap_or(1 << 63) / 8).max(GRAIN);
    padded.div_ceil(step).saturating_mul(step)
}

impl State {
    /// Returns a block for `len` bytes: a kept block of the right size, or else a new one. Other kept blocks are
    /// evicted before if the written bytes would exceed the peak of live buffers, this one included, or `limit` if that
    /// is less, by more than [`SLACK`]. As many as possible are evicted if the system has no memory. Returns `None` if
    /// it has none after that either.
    fn block(&mut self, len: usize, limit: usize) -> Option<Block> {
        let (bytes, class) = (padded(len), size_class(len));
        let bound = self.peak.max(self.in_use.saturating_add(bytes)).min(limit).saturating_add(SLACK);
        let kept = self.free.get_mut(&class).and_then(Vec::pop);
        // An arena with a block that is in use is not evicted.
        kept.iter().for_each(|block| self.add_to_arena(block));
        let more = bytes.saturating_sub(kept.as_ref().map_or(0, |block| block.written));
        self.evict(bound.saturating_sub(more));
        let mut block = match kept {
            Some(block) => block,
            None => {
                let block = self.new_block(class).or_else(|| {
                    self.evict(0);
                    self.new_block(class)
                })?;
                self.add_to_arena(&block);
                block
            }
        };
        self.write(&mut block, bytes, bound);
        self.count(bytes);
        Some(block)
    }

    /// Counts a block as one that is in use, if it is in an arena.
    fn add_to_arena(&mut self, block: &Block) {
        if let Home::Arena(i) = block.home {
            self.arena(i).live += 1;
        }
    }

    /// Returns the address of a counted buffer of `len` bytes, which no other one of this memory has.
    fn next_address(&mut self, len: usize) -> usize {
        let address = self.next;
        self.next = address.saturating_add(padded(len));
        address
    }

    fn guarded(&mut self, len: usize, fill: u8, alignment: usize) -> Option<Block> {
        let block = Block::guarded(len, fill, alignment)?;
        self.count(padded(len));
        Some(block)
    }

    fn count(&mut self, bytes: usize) {
        self.in_use += bytes;
        self.peak = self.peak.max(self.in_use);
    }

    /// Records that the first `bytes` of a block will be written. If more than `bound` bytes of all blocks are written,
    /// the block's other pages are returned to the system, as [`Block::give_back`] does.
    fn write(&mut self, block: &mut Block, bytes: usize, bound: usize) {
        if block.written > bytes && self.written > bound {
            self.written -= block.give_back(bytes);
        }
        let more = bytes.saturating_sub(block.written);
        block.written += more;
        self.written += more;
    }

    fn arena(&mut self, i: usize) -> &mut Arena {
        self.arenas[i].as_mut().expect("an arena outlives its blocks")
    }

    fn new_block(&mut self, class: usize) -> Option<Block> {
        if class >= LARGE { self.new_large(class) } else { self.new_small(class) }
    }

    fn new_large(&mut self, class: usize) -> Option<Block> {
        self.colour = (self.colour + 1) % COLOURS;
        let offset = self.colour * COLOUR_STEP;
        let mapping = Mapping::new(class.checked_add(offset)?)?;
        // SAFETY: the mapping is longer than `offset`.
        let start = unsafe { mapping.start.add(offset) };
        Some(Block { start, class, written: 0, home: Home::Own(mapping) })
    }

    fn new_small(&mut self, class: usize) -> Option<Block> {
        let has_room = |a: &Option<Arena>| a.as_ref().is_some_and(|a| a.used + class <= ARENA);
        if !self.arenas.get(self.open).is_some_and(has_room) {
            self.open = self.arenas.iter().position(Option::is_none).unwrap_or(self.arenas.len());
            let arena = Some(Arena { mapping: Mapping::new(ARENA)?, used: 0, live: 0 });
            match self.arenas.get_mut(self.open) {
                Some(gap) => *gap = arena,
                None => self.arenas.push(arena),
            }
        }
        let home = Home::Arena(self.open);
        let arena = self.arena(self.open);
        // SAFETY: `used + class` is within the arena.
        let start = unsafe { arena.mapping.start.add(arena.used) };
        arena.used += class + if class >= SPREAD { COLOUR_STEP } else { 0 };
        Some(Block { start, class, written: 0, home })
    }

    /// Takes back the block of a buffer of `len` bytes. A guarded block is checked, which may panic, and unmapped. All
    /// others are kept.
    fn release(&mut self, block: Block, len: usize) {
        self.in_use -= padded(len);
        match block.home {
            Home::Guarded(..) => return block.check_guard(len),
            Home::Arena(i) => self.arena(i).live -= 1,
            Home::Own(_) => {}
        }
        self.free.entry(block.class).or_default().push(block);
    }

    /// Returns kept blocks to the system until at most `bytes` of all blocks are written: large blocks one by one, the
    /// largest first, and then as many small ones as possible. More stay written if this is not enough.
    fn evict(&mut self, bytes: usize) {
        while self.written > bytes
            && let Some(mut class) = self.free.last_entry().filter(|c| *c.key() >= LARGE)
        {
            self.written -= class.get_mut().pop().map_or(0, |block| block.written);
            if class.get().is_empty() {
                class.remove();
            }
        }
        if self.written > bytes {
            self.evict_small();
        }
    }

    /// Returns arenas without buffers to the system, and the pages of kept blocks of at least [`DISCARDED`] bytes in
    /// the others.
    fn evict_small(&mut self) {
        let (arenas, written) = (&mut self.arenas, &mut self.written);
        let is_idle = |arenas: &[Option<Arena>], i: usize| arenas[i].as_ref().is_some_and(|a| a.live == 0);
        self.free.retain(|_, blocks| {
            blocks.retain_mut(|block| {
                let Home::Arena(i) = block.home else { return true };
                let stays = !is_idle(arenas, i);
                *written -= if stays { block.give_back(0) } else { block.written };
                stays
            });
            !blocks.is_empty()
        });
        for i in 0..arenas.len() {
            if is_idle(arenas, i) {
                arenas[i] = None;
            }
        }
    }
}

impl Block {
    /// Returns the whole written pages after the first `keep` bytes to the system, and returns the number of bytes that
    /// were written from the first of these pages on. Does nothing and returns 0 for blocks of fewer than [`DISCARDED`]
    /// bytes, or if there is no such page.
    fn give_back(&mut self, keep: usize) -> usize {
        let address = self.start.as_ptr() as usize;
        let from = (address + keep).next_multiple_of(PAGE);
        let to = (address + self.written) / PAGE * PAGE;
        if from >= to || self.class < DISCARDED {
            return 0;
        }
        discard_pages(self.start.as_ptr().wrapping_add(from - address), to - from);
        let given = self.written - (from - address);
        self.written -= given;
        given
    }

    /// Returns a block of `len` bytes with a mapping of its own, which is filled with `fill`. The block starts at a
    /// multiple of `alignment`. Its end is followed by fewer bytes than that, and then by an inaccessible page. Returns
    /// `None` if the system does not have so much memory.
    fn guarded(len: usize, fill: u8, alignment: usize) -> Option<Block> {
        let whole = len.checked_next_multiple_of(alignment)?;
        let mapping = Mapping::guarded(whole)?;
        let room = mapping.len - PAGE;
        // SAFETY: the mapping starts with `room` bytes that may be written, at least `whole`.
        let start = unsafe {
            mapping.start.write_bytes(fill, room);
            mapping.start.add(room - whole)
        };
        Some(Block { start, class: len, written: 0, home: Home::Guarded(mapping, fill) })
    }

    /// Panics if bytes before or after a guarded block of `len` bytes were changed. Does nothing for other blocks.
    fn check_guard(&self, len: usize) {
        let Home::Guarded(mapping, fill) = &self.home else { return };
        // SAFETY: these are the accessible bytes of the mapping; the block is no longer in use.
        let bytes = unsafe { std::slice::from_raw_parts(mapping.start.as_ptr(), mapping.len - PAGE) };
        let start = self.start.as_ptr().addr() - mapping.start.as_ptr().addr();
        let is_unchanged = |bytes: &[u8]| bytes.iter().all(|b| b == fill);
        assert!(is_unchanged(&bytes[..start]), "bytes were written in front of a buffer of {len} bytes");
        assert!(is_unchanged(&bytes[start + len..]), "bytes were written after a buffer of {len} bytes");
    }
}

impl Buffer {
    /// Returns the number of bytes that were requested when the buffer was made.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns the number of bytes that were charged to the account when the buffer was made.
    pub fn reserved_bytes(&self) -> usize {
        padded(self.0.len)
    }

    /// Returns the address of the first byte, which is null for a buffer of [`Memory::counted`]. Writing through it is
    /// sound only while nothing else reads or writes the bytes.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.block.as_ref().map_or(std::ptr::null_mut(), |b| b.start.as_ptr())
    }

    /// Returns the address at which the bytes start, or would start in a buffer of [`Memory::counted`]. No two buffers
    /// of one memory that are alive have the same address.
    pub fn address(&self) -> usize {
        self.0.address
    }

    /// Returns the bytes, which are empty for a buffer of [`Memory::counted`].
    pub fn bytes(&self) -> &[u8] {
        let Some(block) = &self.0.block else { return &[] };
        // SAFETY: the block holds `len` bytes, zeroed when mapped, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(block.start.as_ptr(), self.len()) }
    }

    /// Returns the bytes as elements of `T`.
    ///
    /// # Panics
    /// Panics if the bytes are not a whole number of elements or are not aligned to them.
    pub fn elements<T: bytemuck::AnyBitPattern>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// Returns the bytes for writing, or `None` if there are other owners. The bytes are empty for a buffer of
    /// [`Memory::counted`].
    pub fn try_unique(&mut self) -> Option<&mut [u8]> {
        let owned = Arc::get_mut(&mut self.0)?;
        let Some(block) = &owned.block else { return Some(&mut []) };
        let start = block.start.as_ptr();
        // SAFETY: as in `bytes`; there is one owner, borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(start, owned.len) })
    }

    pub(crate) fn owners(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Returns true if both are owners of the same buffer.
    pub fn same_as(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.memory.state().release(block, self.len);
        }
    }
}

thread_local! {
    static GUARD: Cell<Guard> = const { Cell::new(Guard(None)) };
}

/// How kernels on a thread allocate their scratch memory: if a run's buffers are guarded, its scratch memory is, too.
#[derive(Clone, Copy)]
pub struct Guard(Option<u8>);

/// Restores the guard of a thread when it is dropped.
pub struct Guarding(Guard);

impl Guard {
    /// Returns the guard for the kernels of a run whose buffers come from `memory`.
    pub fn of(memory: &Memory) -> Guard {
        match memory.0.kind {
            BufferSource::Guarded { fill, .. } => Guard(Some(fill)),
            BufferSource::Kept | BufferSource::Counted => Guard(None),
        }
    }

    /// Returns the guard that the thread has entered. If it has entered none, or one that does not guard, returns that
    /// of the memory of the process.
    pub fn current() -> Guard {
        Guard(GUARD.get().0.or_else(|| Guard::of(memory_of_process()).0))
    }

    /// Uses this guard on the thread until the result is dropped.
    pub fn enter(self) -> Guarding {
        Guarding(GUARD.replace(self))
    }

    /// Returns true if memory is guarded.
    pub fn is_guarding(self) -> bool {
        self.0.is_some()
    }

    /// Returns the byte with which scratch memory is to be filled: that of the guard, or 0 if it does not guard.
    pub fn fill(self) -> u8 {
        self.0.unwrap_or(0)
    }
}

impl Drop for Guarding {
    fn drop(&mut self) {
        GUARD.set(self.0);
    }
}

/// The size of the blocks for small frames of kernels. Threads keep these blocks, and they are not charged.
const FRAME: usize = 128 << 10;
/// The largest number of small frames that a thread keeps.
const FRAMES: usize = 4;

thread_local! {
    static KEPT: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "memory that is only pointed into")] [u8; ALIGNMENT]);

/// Memory that a part of a kernel works in. Its contents are arbitrary.
///
/// It is not charged: the code that runs a kernel reserves [`Scratch::charge`] for all parts that run at one time
/// before the first of them starts.
pub struct Scratch(Frame);

enum Frame {
    Kept(Vec<Line>),
    Own(Buffer),
}

impl Scratch {
    /// Returns the number of bytes to charge for scratch memory of `len` bytes, which is 0 up to 128 KiB.
    pub fn charge(len: usize) -> usize {
        if len <= FRAME { 0 } else { len.saturating_add(ALIGNMENT) }
    }

    /// Returns at least `len` bytes at a 64-byte boundary. Stops the computation if there is no memory.
    pub fn new(len: usize) -> Scratch {
        if let Guard(Some(fill)) = Guard::current() {
            return Scratch::own(&Memory::of_kind(BufferSource::Guarded { fill, alignment: ALIGNMENT }), len);
        }
        if len <= FRAME {
            let kept = KEPT.with_borrow_mut(Vec::pop);
            let new = || vec![Line([0; ALIGNMENT]); FRAME / ALIGNMENT];
            return Scratch(Frame::Kept(kept.unwrap_or_else(new)));
        }
        Scratch::own(memory_of_process(), len.next_multiple_of(ALIGNMENT))
    }

    fn own(memory: &Memory, len: usize) -> Scratch {
        let buffer = memory.buffer(len, &Account::current(), None);
        Scratch(Frame::Own(buffer.unwrap_or_else(|e| Stop::Memory(e).raise())))
    }

    /// Returns the address of the first byte. The holder of `self` may write the bytes.
    pub fn start(&mut self) -> *mut u8 {
        match &mut self.0 {
            Frame::Kept(lines) => lines.as_mut_ptr().cast(),
            Frame::Own(buffer) => buffer.as_ptr(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Frame::Kept(lines) = &mut self.0 {
            let lines = std::mem::take(lines);
            KEPT.with_borrow_mut(|kept| {
                if kept.len() < FRAMES {
                    kept.push(lines)
                }
            });
        }
    }
}

/// Several areas that a part of a kernel works in, as [`Scratch`]. They share one small frame if they fit into it and
/// are not guarded.
pub struct Areas<const N: usize> {
    frames: [Option<Scratch>; N],
    lens: [usize; N],
}

impl<const N: usize> Areas<N> {
    /// Returns areas of at least these numbers of bytes, each at a 64-byte boundary. Stops the computation if there is
    /// no memory.
    pub fn new(lens: [usize; N]) -> Areas<N> {
        let padded = lens.map(|len| len.next_multiple_of(ALIGNMENT));
        let all = padded.iter().fold(0, |sum: usize, &len| sum.saturating_add(len));
        let is_one = all <= FRAME && Guard::current().0.is_none();
        let mut frames = [const { None }; N];
        for (i, frame) in frames.iter_mut().enumerate().take(if is_one { 1 } else { N }) {
            *frame = Some(Scratch::new(if is_one { all } else { lens[i] }));
        }
        Areas { frames, lens }
    }

    /// Returns the address of each area. The holder of `self` may write the areas.
    pub fn starts(&mut self) -> [*mut u8; N] {
        let (mut starts, mut next) = ([std::ptr::null_mut(); N], std::ptr::null_mut());
        for ((start, frame), len) in starts.iter_mut().zip(&mut self.frames).zip(self.lens) {
            *start = frame.as_mut().map_or(next, Scratch::start);
            next = start.wrapping_add(len.next_multiple_of(ALIGNMENT));
        }
        starts
    }
}

/// Zeroed memory from the system.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is plain memory.
unsafe impl Send for Mapping {}
// SAFETY: as above; it has no shared operations.
unsafe impl Sync for Mapping {}

#[cfg(unix)]
impl Mapping {
    /// Maps at least `len` bytes that start at the boundary of a huge page. Advises the system to use huge pages for
    /// the bytes that fill whole ones. Returns `None` if the system does not have so much memory.
    fn new(len: usize) -> Option<Mapping> {
        let len = len.checked_next_multiple_of(PAGE)?;
        let huge = len.checked_add(LACKING)? / HUGE_PAGE * HUGE_PAGE;
        let len = len.max(huge);
        let whole = len.checked_add(HUGE_PAGE)?;
        let raw = map_pages(whole)?;
        let skip = raw.align_offset(HUGE_PAGE);
        unmap_pages(raw, skip);
        let start = raw.wrapping_add(skip);
        unmap_pages(start.wrapping_add(len), HUGE_PAGE - skip);
        advise_huge(start, huge);
        Some(Mapping { start: NonNull::new(start)?, len })
    }

    /// Maps whole pages for `len` bytes, followed by an inaccessible page. Returns `None` if the system does not have
    /// so much memory. Panics if the system cannot make the page inaccessible.
    fn guarded(len: usize) -> Option<Mapping> {
        let len = len.checked_next_multiple_of(PAGE)?.checked_add(PAGE)?;
        let start = map_pages(len)?;
        // SAFETY: the last page of a mapping that we own and have not used.
        let protected = unsafe { libc::mprotect(start.wrapping_add(len - PAGE).cast(), PAGE, libc::PROT_NONE) };
        assert_eq!(protected, 0, "the last page of a mapping can be made inaccessible");
        Some(Mapping { start: NonNull::new(start)?, len })
    }
}

#[cfg(unix)]
fn map_pages(len: usize) -> Option<*mut u8> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: an anonymous mapping at an address of the system's choice touches no memory of ours.
    let raw = unsafe { libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0) };
    (raw != libc::MAP_FAILED).then_some(raw.cast())
}

#[cfg(unix)]
fn unmap_pages(start: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: callers pass parts of a mapping that they own and no longer use.
        unsafe { libc::munmap(start.cast(), len) };
    }
}

/// Returns pages to the system. They are zero when they are used again.
#[cfg(target_os = "linux")]
fn discard_pages(start: *mut u8, len: usize) {
    // SAFETY: callers pass whole pages of blocks that no buffer holds.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_DONTNEED) };
}

#[cfg(not(target_os = "linux"))]
fn discard_pages(_start: *mut u8, _len: usize) {}

#[cfg(target_os = "linux")]
fn advise_huge(start: *mut u8, len: usize) {
    // SAFETY: advice about a mapping that we own; failure is harmless.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(all(unix, not(target_os = "linux")))]
fn advise_huge(_start: *mut u8, _len: usize) {}

#[cfg(unix)]
impl Drop for Mapping {
    fn drop(&mut self) {
        unmap_pages(self.start.as_ptr(), self.len);
    }
}

#[cfg(not(unix))]
impl Mapping {
    fn layout(len: usize) -> Option<std::alloc::Layout> {
        std::alloc::Layout::from_size_align(len, PAGE).ok()
    }

    fn new(len: usize) -> Option<Mapping> {
        let layout = Mapping::layout(len)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Mapping { start: NonNull::new(start)?, len })
    }

    /// Maps whole pages for `len` bytes and one more. All pages are accessible on this system. Returns `None` if the
    /// system does not have so much memory.
    fn guarded(len: usize) -> Option<Mapping> {
        Mapping::new(len.checked_next_multiple_of(PAGE)?.checked_add(PAGE)?)
    }
}

#[cfg(not(unix))]
impl Drop for Mapping {
    fn drop(&mut self) {
        let layout = Mapping::layout(self.len).expect("the layout was valid when it was allocated");
        // SAFETY: allocated by `new` with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Effort, Workers};
    use shardwise_base::{Budget, CancelToken};

    fn kept(memory: &Memory) -> usize {
        memory.state().free.values().map(Vec::len).sum()
    }

    #[test]
    fn buffers_are_aligned_and_padded_to_classes() {
        let memory = Memory::new();
        for len in [0, 1, 511, 512, 513, 4097, 1 << 20, (3 << 20) + 1] {
            let buffer = memory.allocate(len).unwrap();
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.len(), len);
            assert!(size_class(len) >= len && size_class(len) <= len + len / 4 + GRAIN);
        }
        assert_eq!((memory.in_use(), memory.peak_bytes()), (0, (3 << 20) + GRAIN));
    }

    #[test]
    fn freed_memory_is_used_again() {
        let memory = Memory::new();
        for len in [100, 5 << 20] {
            let first = memory.allocate(len).unwrap().as_ptr();
            assert_eq!(memory.allocate(len).unwrap().as_ptr(), first);
        }
        memory.trim();
        let state = memory.state();
        assert!(state.free.is_empty() && state.arenas.iter().all(Option::is_none));
        assert_eq!(state.written, 0);
    }

    #[test]
    fn trimming_keeps_what_is_live() {
        let memory = Memory::new();
        let mut live = memory.allocate_zeroed(1000).unwrap();
        let large = memory.allocate_zeroed(3 << 20).unwrap();
        drop(memory.allocate_zeroed(200_000).unwrap());
        memory.trim();
        assert_eq!((kept(&memory), large.bytes()[(3 << 20) - 1]), (1, 0));
        let written = memory.state().written;
        assert!(written <= memory.in_use() + 2 * PAGE, "{written} bytes for {}", memory.in_use());
        live.try_unique().unwrap()[999] = 1;
        assert_eq!(live.bytes()[999], 1);
        assert!(memory.allocate_zeroed(200_000).unwrap().bytes().iter().all(|&b| b == 0));
    }

    #[test]
    fn the_limit_of_the_current_account_holds() {
        let (memory, account) = (Memory::new(), Account::with_limit(4096));
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        let held = budget.run(|| memory.allocate(4000).unwrap()).unwrap();
        let error = budget.run(|| memory.allocate(1000)).unwrap().unwrap_err();
        assert_eq!(error, OutOfMemory { requested: 1024, limit: 4096, in_use: 4096, is_refused_by_system: false });
        drop(held);
        assert_eq!(account.in_use(), 0);
        assert!(budget.run(|| memory.allocate(1000)).unwrap().is_ok());
        assert!(memory.allocate(usize::MAX).is_err() && memory.allocate(isize::MAX as usize / 2).is_err());
        assert_eq!(memory.in_use(), 0);
    }

    #[test]
    fn more_bytes_than_can_be_counted_are_refused() {
        let memory = Memory::new();
        let held = memory.allocate(1000).unwrap();
        let budget = Budget::new(Account::with_limit(usize::MAX), None, CancelToken::default());
        let error = budget.run(|| memory.allocate(usize::MAX)).unwrap().unwrap_err();
        assert!(error.is_refused_by_system);
        drop(held);
        assert_eq!((memory.in_use(), budget.account().in_use()), (0, 0));
    }

    /// Allocates large, small and mixed buffers one after the other and checks that the written memory of live and kept
    /// blocks stays within the bound.
    #[test]
    fn kept_memory_gives_way_to_other_sizes() {
        let memory = Memory::new();
        let peak = 24 << 20;
        for round in 0..60usize {
            let len = [1 << 16, 3 << 20, 12 << 20, 700_001, 5_000_001, 40_000][round % 6] + round * 1000;
            let held: Vec<_> = (0..peak / padded(len)).map(|_| memory.allocate(len).unwrap()).collect();
            let state = memory.state();
            let room = state.peak + SLACK + PAGE * held.len();
            assert!(state.written <= room, "round {round}: {} of {room}", state.written);
        }
        assert!(memory.peak_bytes() <= peak && memory.in_use() == 0);
    }

    /// Allocates buffers that fill kept blocks further than before, while other kept blocks are as many as may be.
    #[test]
    fn kept_memory_gives_way_to_larger_buffers_in_kept_blocks() {
        let memory = Memory::new();
        let (len, count) = (8 << 20, 8);
        let allocate = |len: usize, count: usize| -> Vec<Buffer> {
            let one = |_| {
                let buffer = memory.allocate(len).unwrap();
                let state = memory.state();
                assert!(state.written <= state.peak + SLACK + PAGE * count, "{} of {}", state.written, state.peak);
                buffer
            };
            (0..count).map(one).collect()
        };
        drop(allocate(len * 7 / 8 + 1, count));
        drop(allocate(SLACK, 1));
        drop(allocate(len, count));
    }

    #[test]
    fn guarded_buffers_end_at_a_page() {
        let memory = Memory::guarded(0xa5);
        for len in [0, 1, 4, 4095, 4096, 10_000] {
            let mut buffer = memory.allocate(len).unwrap();
            assert_eq!((buffer.as_ptr() as usize + len) % PAGE, 0);
            assert!(buffer.bytes().iter().all(|&b| b == 0xa5));
            buffer.try_unique().unwrap().fill(1);
        }
        assert_eq!((memory.in_use(), kept(&memory)), (0, 0));
    }

    #[test]
    fn writes_around_guarded_memory_are_found() {
        for (alignment, at) in [(1, -1), (ALIGNMENT, -1), (ALIGNMENT, 100)] {
            let buffer = Memory::of_kind(BufferSource::Guarded { fill: 0xa5, alignment }).allocate(100).unwrap();
            // SAFETY: the byte belongs to the mapping of the buffer, and not to the buffer.
            unsafe { buffer.as_ptr().offset(at).write(0) };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(buffer))).is_err());
        }
    }

    #[test]
    fn scratch_memory_is_guarded_in_every_part_of_a_guarded_run() {
        let guarding = Guard::of(&Memory::guarded(0x5a)).enter();
        Workers::new(3).run(20, Effort::Large, |part| {
            let mut areas = Areas::new([1000 + part, 0, 64]);
            for (start, frame) in areas.starts().into_iter().zip(&mut areas.frames) {
                let Some(Scratch(Frame::Own(buffer))) = frame else { panic!("each area has its own frame") };
                let end = start as usize + buffer.len();
                assert_eq!((start as usize % ALIGNMENT, end.next_multiple_of(ALIGNMENT) % PAGE), (0, 0));
                let bytes = buffer.try_unique().unwrap();
                assert!(bytes.iter().all(|&b| b == 0x5a));
                bytes.fill(1);
            }
        });
        drop(guarding);
        assert_ne!(Guard::current().fill(), 0x5a);
    }

    #[test]
    fn areas_are_apart() {
        for lens in [[100, 0, 64], [FRAME, 1, 1], [0, 0, FRAME / 2]] {
            let mut areas = Areas::new(lens);
            let mut starts: Vec<_> = areas.starts().into_iter().map(|start| start as usize).zip(lens).collect();
            assert!(starts.iter().all(|s| s.0.is_multiple_of(ALIGNMENT)));
            starts.retain(|s| s.1 > 0);
            starts.sort_unstable();
            assert!(starts.is_sorted_by(|a, b| a.0 + a.1 <= b.0), "{starts:?}");
        }
    }

    #[test]
    fn scratch_is_charged_by_whoever_runs_the_parts() {
        let account = Account::with_limit(0);
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        budget.run(|| [FRAME, 1 << 20].map(|len| assert_eq!(Scratch::new(len).start().addr() % ALIGNMENT, 0))).unwrap();
        assert_eq!((account.peak(), Scratch::charge(FRAME)), (0, 0));
        assert!(Scratch::charge(1 << 20) >= 1 << 20);
    }

    #[test]
    fn counted_buffers_have_a_size_and_no_bytes() {
        let account = Account::with_limit(4096);
        Budget::new(account.clone(), None, CancelToken::default())
            .run(|| {
                let memory = Memory::counted();
                let [mut a, b] = [100, 1000].map(|len| memory.allocate(len).unwrap());
                assert_eq!((a.len(), a.bytes(), account.in_use()), (100, &[][..], padded(100) + padded(1000)));
                assert!(a.address() != b.address() && a.try_unique().is_some_and(|bytes| bytes.is_empty()));
                let other = a.clone();
                assert_eq!((a.owners(), a.try_unique()), (2, None));
                drop((a, other));
                assert_eq!(account.in_use(), padded(1000));
                assert!(memory.allocate_zeroed(1 << 40).is_err());
            })
            .unwrap();
    }

    #[test]
    fn shared_buffers_are_not_written_and_allocations_are_charged() {
        let memory = Memory::default();
        let mut buffer = memory.allocate(100).unwrap();
        buffer.try_unique().unwrap()[0] = 7;
        let shared = buffer.clone();
        assert!(buffer.try_unique().is_none(), "two owners: copy before writing");
        assert_eq!(shared.bytes()[0], 7);
        let budget = Budget::new(Account::with_limit(1 << 20), None, CancelToken::default());
        assert!(budget.run(|| memory.allocate(2 << 20)).unwrap().is_err());
    }
}
