//! Arrays in files: the formats safetensors and npz.
//!
//! Files are read and written piece by piece, so that an array need not be in memory as a whole. Files may come from
//! untrusted sources: sizes in them are checked before anything is allocated, and all memory for data is charged to the
//! current [`Account`](shardwise_base::Account).
//!
//! This crate knows nothing of trees, layouts and devices.
#![forbid(unsafe_code)]

pub mod npz;
pub mod safetensors;

use shardwise_base::budget::poll;
use shardwise_base::{DType, DTypeKind};
use std::io::{self, Read};

/// The largest number of bytes that are read, written or examined between two checks for cancellation.
const CHUNK: usize = 1 << 20;

/// Reads until `out` is full or the reader ends, and returns the number of bytes. Fails if the reader does.
fn read_as_much(reader: &mut (impl Read + ?Sized), out: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < out.len() {
        poll();
        let end = out.len().min(done + CHUNK);
        match reader.read(&mut out[done..end]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Returns the position of the first of these bytes that is not an element of `dtype`, or `None` if there is none. Only
/// types of less than eight bits do not use all bits.
///
/// ```
/// use shardwise_base::DType;
/// assert_eq!(shardwise_files::first_invalid(DType::I1, &[0, 1, 2]), Some(2));
/// ```
pub fn first_invalid(dtype: DType, bytes: &[u8]) -> Option<usize> {
    let bits = if dtype.kind() == DTypeKind::Bool { 1 } else { dtype.bits() };
    if bits >= 8 {
        return None;
    }
    let is_valid = |byte: u8| match dtype.kind() {
        DTypeKind::Signed => i32::from(byte as i8) >= -(1 << (bits - 1)) && i32::from(byte as i8) < 1 << (bits - 1),
        _ => byte >> bits == 0,
    };
    bytes.chunks(CHUNK).zip(0..).find_map(|(chunk, n)| {
        poll();
        chunk.iter().position(|&b| !is_valid(b)).map(|i| n * CHUNK + i)
    })
}
