//! The sizes by which copies are divided.

/// About the number of bytes of a part of a copy or fill. One worker does a part. What cannot be divided may have more,
/// and the last part may have fewer.
pub const PART: usize = 1 << 19;
/// If a kernel moves fewer bytes than this in all, no worker is woken.
pub const SMALL: usize = 1 << 18;
/// Copies of at least this many bytes use the string instruction `rep movsb`, on x86-64.
pub const LONG_COPY: usize = 256 << 10;
/// The number of bytes of a cache line, which is also that of each line of a transposed tile.
pub const LINE: usize = 64;
