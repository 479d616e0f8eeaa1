//! The sizes by which copies are divided.

/// Number of bytes of a part.
pub const PART: usize = 1 << 19;
/// With fewer bytes than this in all, no worker is woken.
pub const SMALL: usize = 1 << 18;
/// Copies of at least this many bytes use the string instruction.
pub const LONG_COPY: usize = 256 << 10;
/// Number of bytes of a cache line, which is the side of a transposed tile.
pub const LINE: usize = 64;
