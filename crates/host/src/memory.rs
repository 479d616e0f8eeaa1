//! Buffers from a pool of huge pages.
//!
//! A fresh page costs more than most kernels that fill it, so memory that a buffer leaves behind is kept, by size, for the
//! next one, over all calls, until [`Memory::trim`]. Buffers start at 64-byte boundaries, and those of a mebibyte or more
//! start at different offsets within their pages, so that eight of them read together do not fall on the same cache sets.
//!
//! ```
//! use shardwise_host::memory::Memory;
//! let memory = Memory::with_limit(1 << 20);
//! let mut buffer = memory.allocate(100)?;
//! buffer.try_unique().unwrap()[0] = 7;
//! let shared = buffer.clone();
//! assert!(buffer.try_unique().is_none(), "two owners: copy before writing");
//! assert_eq!(shared.bytes()[0], 7);
//! assert!(memory.allocate(2 << 20).is_err());
//! # Ok::<(), shardwise_host::memory::OutOfMemory>(())
//! ```

pub use shardwise_base::OutOfMemory;
use shardwise_base::{Account, Reservation};
use std::collections::HashMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Every buffer starts at a multiple of this.
pub const ALIGNMENT: usize = 64;
const GRAIN: usize = 512;
const HUGE_PAGE: usize = 2 << 20;
/// Buffers of this size and more have a mapping of their own.
const LARGE: usize = 1 << 20;
/// Smaller ones are cut from arenas of this size.
const ARENA: usize = 8 << 20;
/// Large buffers start at one of this many offsets, this far apart.
const COLOURS: usize = 13;
const COLOUR_STEP: usize = 9 * 64;

/// An allocator with a limit; clones share it.
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

struct Shared {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    in_use: usize,
    mapped: usize,
    small_live: usize,
    colour: usize,
    arenas: Vec<Mapping>,
    arena_used: usize,
    free: HashMap<usize, Vec<Block>>,
}

/// A piece of memory, in a buffer or on a free list.
struct Block {
    start: NonNull<u8>,
    class: usize,
    /// Of large blocks only; unmapped with the block.
    _mapping: Option<Mapping>,
}

// SAFETY: a block is plain memory that one owner at a time holds.
unsafe impl Send for Block {}
// SAFETY: shared access to a block only reads.
unsafe impl Sync for Block {}

/// Bytes that any number of owners read, and a sole owner may write.
#[derive(Clone)]
pub struct Buffer(Arc<Owned>);

struct Owned {
    block: Option<Block>,
    len: usize,
    memory: Memory,
    _reserved: Reservation,
}

impl Memory {
    /// An allocator whose live buffers hold at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Memory {
        Memory(Arc::new(Shared { limit, state: Mutex::default() }))
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// The bytes that live buffers hold.
    pub fn in_use(&self) -> usize {
        self.state().in_use
    }

    /// Fails as `allocate` would, without allocating: for plans that know their peak.
    pub fn check(&self, requested: usize) -> Result<(), OutOfMemory> {
        self.check_state(&self.state(), requested)
    }

    /// A buffer of `len` bytes whose contents are arbitrary.
    pub fn allocate(&self, len: usize) -> Result<Buffer, OutOfMemory> {
        let mut state = self.state();
        self.check_state(&state, len)?;
        let reserved = Account::current().reserve(padded(len))?;
        let class = size_class(len);
        let block = match state.take_free(class) {
            Some(block) => block,
            None => {
                self.trim_before(&mut state, class);
                state.new_block(class).ok_or_else(|| self.error(&state, len))?
            }
        };
        state.in_use += padded(len);
        state.small_live += usize::from(class < LARGE);
        Ok(Buffer(Arc::new(Owned { block: Some(block), len, memory: self.clone(), _reserved: reserved })))
    }

    /// A buffer of zeros.
    pub fn allocate_zeroed(&self, len: usize) -> Result<Buffer, OutOfMemory> {
        let mut buffer = self.allocate(len)?;
        buffer.try_unique().expect("a new buffer has one owner").fill(0);
        Ok(buffer)
    }

    /// Gives free memory back to the system.
    pub fn trim(&self) {
        self.state().trim();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_state(&self, state: &State, requested: usize) -> Result<(), OutOfMemory> {
        let room = self.0.limit.saturating_sub(state.in_use);
        if requested > room { Err(self.error(state, requested)) } else { Ok(()) }
    }

    fn error(&self, state: &State, requested: usize) -> OutOfMemory {
        OutOfMemory { requested, limit: self.0.limit, in_use: state.in_use }
    }

    /// Memory kept for other sizes counts against the limit too.
    fn trim_before(&self, state: &mut State, class: usize) {
        if state.mapped.saturating_add(class) > self.0.limit {
            state.trim();
        }
    }

    fn release(&self, block: Block, len: usize) {
        let mut state = self.state();
        state.in_use -= padded(len);
        state.small_live -= usize::from(block.class < LARGE);
        state.free.entry(block.class).or_default().push(block);
    }
}

fn padded(len: usize) -> usize {
    len.max(1).saturating_add(GRAIN - 1) / GRAIN * GRAIN
}

/// The size of the block that a buffer of `len` bytes gets: four classes for each doubling.
fn size_class(len: usize) -> usize {
    let padded = padded(len);
    let step = (padded.next_power_of_two() / 8).max(GRAIN);
    padded.div_ceil(step).saturating_mul(step)
}

impl State {
    fn take_free(&mut self, class: usize) -> Option<Block> {
        self.free.get_mut(&class)?.pop()
    }

    fn new_block(&mut self, class: usize) -> Option<Block> {
        if class >= LARGE { self.new_large(class) } else { self.new_small(class) }
    }

    fn new_large(&mut self, class: usize) -> Option<Block> {
        self.colour = (self.colour + 1) % COLOURS;
        let offset = self.colour * COLOUR_STEP;
        let mapping = Mapping::new(class.checked_add(offset)?)?;
        self.mapped += mapping.len;
        // SAFETY: the mapping is longer than `offset`.
        let start = unsafe { mapping.start.add(offset) };
        Some(Block { start, class, _mapping: Some(mapping) })
    }

    fn new_small(&mut self, class: usize) -> Option<Block> {
        if self.arenas.is_empty() || self.arena_used + class > ARENA {
            let arena = Mapping::new(ARENA)?;
            self.mapped += arena.len;
            self.arenas.push(arena);
            self.arena_used = 0;
        }
        let arena = self.arenas.last()?;
        // SAFETY: `arena_used + class` is within the arena.
        let start = unsafe { arena.start.add(self.arena_used) };
        self.arena_used += class;
        Some(Block { start, class, _mapping: None })
    }

    fn trim(&mut self) {
        let keep_small = self.small_live > 0;
        self.free.retain(|&class, _| class < LARGE && keep_small);
        if !keep_small {
            self.arenas.clear();
        }
        // Live large blocks are still mapped; they are what is neither free nor an arena.
        self.mapped = self.in_use.max(self.arenas.len() * ARENA);
    }
}

impl Buffer {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the bytes start. Writing through this is sound only where nothing else reads or writes them.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.block.as_ref().map_or(std::ptr::null_mut(), |b| b.start.as_ptr())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block holds `len` bytes, zeroed when mapped, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len()) }
    }

    /// The bytes as elements of `T`.
    pub fn elements<T: bytemuck::AnyBitPattern>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The bytes, to be written, if this is their only owner.
    pub fn try_unique(&mut self) -> Option<&mut [u8]> {
        let owned = Arc::get_mut(&mut self.0)?;
        let start = owned.block.as_ref()?.start.as_ptr();
        // SAFETY: as in `bytes`; there is one owner, borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(start, owned.len) })
    }

    /// Whether two buffers are the same memory.
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
            self.memory.release(block, self.len);
        }
    }
}

/// Zeroed memory from the system, aligned to huge pages.
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
    fn new(len: usize) -> Option<Mapping> {
        let len = len.checked_next_multiple_of(HUGE_PAGE)?;
        let whole = len.checked_add(HUGE_PAGE)?;
        let raw = map_pages(whole)?;
        let skip = raw.align_offset(HUGE_PAGE);
        unmap_pages(raw, skip);
        let start = raw.wrapping_add(skip);
        unmap_pages(start.wrapping_add(len), HUGE_PAGE - skip);
        advise_huge(start, len);
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
        std::alloc::Layout::from_size_align(len, 4096).ok()
    }

    fn new(len: usize) -> Option<Mapping> {
        let layout = Mapping::layout(len)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Mapping { start: NonNull::new(start)?, len })
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

    #[test]
    fn buffers_are_aligned_and_padded_to_classes() {
        let memory = Memory::with_limit(1 << 30);
        for len in [0, 1, 511, 512, 513, 4097, 1 << 20, (3 << 20) + 1] {
            let buffer = memory.allocate(len).unwrap();
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.len(), len);
            assert!(size_class(len) >= len && size_class(len) <= len + len / 4 + GRAIN);
        }
        assert_eq!(memory.in_use(), 0);
    }

    #[test]
    fn freed_memory_is_used_again() {
        let memory = Memory::with_limit(1 << 30);
        for len in [100, 5 << 20] {
            let first = memory.allocate(len).unwrap().as_ptr();
            assert_eq!(memory.allocate(len).unwrap().as_ptr(), first);
        }
        memory.trim();
        assert!(memory.state().free.is_empty() && memory.state().arenas.is_empty());
    }

    #[test]
    fn trimming_keeps_what_is_live() {
        let memory = Memory::with_limit(1 << 30);
        let mut kept = memory.allocate_zeroed(1000).unwrap();
        drop(memory.allocate(2000).unwrap());
        memory.trim();
        kept.try_unique().unwrap()[999] = 1;
        assert_eq!(kept.bytes()[999], 1);
    }

    #[test]
    fn the_limit_is_an_error_with_its_numbers() {
        let memory = Memory::with_limit(4096);
        let held = memory.allocate(4000).unwrap();
        let error = memory.allocate(1000).unwrap_err();
        assert_eq!(error, OutOfMemory { requested: 1000, limit: 4096, in_use: 4096 });
        assert_eq!(memory.check(1000), Err(error));
        drop(held);
        assert!(memory.allocate(1000).is_ok());
        assert!(memory.allocate(usize::MAX).is_err());
    }

    #[test]
    fn kept_memory_gives_way_to_new_sizes() {
        let memory = Memory::with_limit(16 << 20);
        drop(memory.allocate(12 << 20).unwrap());
        drop(memory.allocate(9 << 20).unwrap());
        assert!(memory.state().mapped <= 16 << 20);
    }
}
