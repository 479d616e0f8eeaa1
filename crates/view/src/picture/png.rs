//! The file format of PNGs, as far as pictures need it: 8 bits for each of red, green and blue.

use flate2::{Compression, Crc, write::ZlibEncoder};
use std::io::Write as _;

/// Returns the PNG of an image with these pixels, row by row, three bytes for each.
pub fn encoded((width, height): (usize, usize), pixels: &[u8]) -> Vec<u8> {
    let mut header = vec![];
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    // 8 bits, colours, and the only methods of compression, filtering and order that need no decision.
    header.extend([8, 2, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, b"IHDR", &header);
    chunk(&mut out, b"IDAT", &compressed(width, pixels));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    out.extend(kind);
    out.extend(data);
    out.extend(sum.sum().to_be_bytes());
}

/// Returns the rows, each behind the number of its filter, compressed.
fn compressed(width: usize, pixels: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(vec![], Compression::default());
    for row in pixels.chunks(3 * width) {
        let written = encoder.write_all(&[0]).and_then(|()| encoder.write_all(row));
        written.expect("a list can be written");
    }
    encoder.finish().expect("a list can be written")
}
