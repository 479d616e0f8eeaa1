//! Makes PNG files of browsers small: they get at most 256 colours, and are compressed well.

use anyhow::{Context, Result, ensure};
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::collections::BTreeMap;
use std::io::{Read, Write};

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// An image of three bytes for each pixel, row by row.
struct Image {
    width: usize,
    pixels: Vec<u8>,
}

/// Returns the same picture with at most 256 colours: the most frequent ones stay, and each other one becomes the
/// nearest of them.
///
/// # Errors
/// Fails if the file is no PNG of 8 bits for each of red, green, blue and perhaps opacity, which is ignored.
pub fn small(png: &[u8]) -> Result<Vec<u8>> {
    Ok(encoded(&decoded(png)?))
}

type Color = [u8; 3];

/// Returns the colors that are kept, and the number of the kept one for each color of an image.
fn palette(image: &Image) -> (Vec<Color>, BTreeMap<Color, u8>) {
    let mut counts: BTreeMap<Color, usize> = BTreeMap::new();
    image.pixels.as_chunks::<3>().0.iter().for_each(|&color| *counts.entry(color).or_default() += 1);
    let mut kept: Vec<Color> = counts.keys().copied().collect();
    kept.sort_by_key(|color| std::cmp::Reverse(counts[color]));
    kept.truncate(256);
    let far = |a: Color, b: Color| (0..3).map(|i| (i32::from(a[i]) - i32::from(b[i])).pow(2)).sum::<i32>();
    let nearest = |color: Color| (0..kept.len()).min_by_key(|&i| far(kept[i], color)).unwrap_or(0) as u8;
    let numbers = counts.into_keys().map(|color| (color, nearest(color))).collect();
    (kept, numbers)
}

fn encoded(image: &Image) -> Vec<u8> {
    let (colors, numbers) = palette(image);
    let mut out = SIGNATURE.to_vec();
    let height = image.pixels.len() / 3 / image.width;
    let sizes = [image.width as u32, height as u32].map(u32::to_be_bytes).concat();
    // 8 bits for each pixel, which are the number of a colour.
    chunk(&mut out, b"IHDR", &[&sizes[..], &[8, 3, 0, 0, 0]].concat());
    chunk(&mut out, b"PLTE", colors.as_flattened());
    let mut encoder = ZlibEncoder::new(vec![], Compression::best());
    for row in image.pixels.chunks(3 * image.width) {
        let row = row.as_chunks::<3>().0.iter().map(|color| numbers[color]);
        let row: Vec<u8> = [0].into_iter().chain(row).collect();
        encoder.write_all(&row).expect("a list can be written");
    }
    chunk(&mut out, b"IDAT", &encoder.finish().expect("a list can be written"));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
    out.extend(sum.sum().to_be_bytes());
}

fn decoded(png: &[u8]) -> Result<Image> {
    let mut rest = png.strip_prefix(SIGNATURE).context("the picture is no PNG")?;
    let (mut header, mut data) = (vec![], vec![]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        ensure!(after.len() >= length + 8, "the picture is cut off");
        let (kind, after) = after.split_at(4);
        match kind {
            b"IHDR" => header = after[..length].to_vec(),
            b"IDAT" => data.extend_from_slice(&after[..length]),
            _ => {}
        }
        rest = &after[length + 4..];
    }
    let bytes = match header.get(8..) {
        Some([8, 2, 0, 0, 0]) => 3,
        Some([8, 6, 0, 0, 0]) => 4,
        _ => anyhow::bail!("the picture is of a kind that is not known"),
    };
    let width = header[..4].iter().fold(0, |n, &byte| n << 8 | usize::from(byte));
    ensure!(width > 0, "the picture is empty");
    let mut rows = vec![];
    ZlibDecoder::new(&data[..]).read_to_end(&mut rows)?;
    let mut before = vec![0; width * bytes];
    let mut pixels = vec![];
    for row in rows.chunks_exact(1 + width * bytes) {
        before = unfiltered(row[0], &row[1..], &before, bytes);
        before.chunks(bytes).for_each(|pixel| pixels.extend_from_slice(&pixel[..3]));
    }
    Ok(Image { width, pixels })
}

/// Returns a row without its filter, which adds a prediction from the bytes to the left and above.
fn unfiltered(filter: u8, row: &[u8], above: &[u8], bytes: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(row.len());
    for (i, &byte) in row.iter().enumerate() {
        let left = if i < bytes { 0 } else { out[i - bytes] };
        let corner = if i < bytes { 0 } else { above[i - bytes] };
        let predicted = match filter {
            1 => left,
            2 => above[i],
            3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
            4 => nearest(left, above[i], corner),
            _ => 0,
        };
        out.push(byte.wrapping_add(predicted));
    }
    out
}

/// Returns the one of three neighbours that is nearest to `left + above - corner`, the first one of equally near ones.
fn nearest(left: u8, above: u8, corner: u8) -> u8 {
    let middle = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |neighbour: &u8| (middle - i16::from(*neighbour)).abs();
    [left, above, corner].into_iter().min_by_key(distance).unwrap_or(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few colours stay as they are. Each row has another filter.
    #[test]
    fn pictures_are_the_same_but_smaller() {
        let pixel = |x: usize, y: usize| [(x * 40) as u8, (y * 30) as u8, 7];
        let image = Image { width: 6, pixels: (0..5).flat_map(|y| (0..6).flat_map(move |x| pixel(x, y))).collect() };
        let mut rows = vec![];
        for (y, row) in image.pixels.chunks(18).enumerate() {
            let zeros = [0; 18];
            let above = if y == 0 { &zeros[..] } else { &image.pixels[18 * (y - 1)..18 * y] };
            let filter = y as u8;
            rows.push(filter);
            for i in 0..18 {
                // The prediction is what a row of zeros becomes behind the same bytes.
                let known = [&row[..i], &[0]].concat();
                let left = if i < 3 { 0 } else { known[i - 3] };
                let corner = if i < 3 { 0 } else { above[i - 3] };
                let half = ((u16::from(left) + u16::from(above[i])) / 2) as u8;
                let predicted = [0, left, above[i], half, nearest(left, above[i], corner)][y];
                rows.push(row[i].wrapping_sub(predicted));
            }
        }
        let mut encoder = ZlibEncoder::new(vec![], Compression::fast());
        encoder.write_all(&rows).unwrap();
        let mut png = SIGNATURE.to_vec();
        chunk(&mut png, b"IHDR", &[0, 0, 0, 6, 0, 0, 0, 5, 8, 2, 0, 0, 0]);
        chunk(&mut png, b"IDAT", &encoder.finish().unwrap());
        chunk(&mut png, b"IEND", &[]);
        assert_eq!(decoded(&png).unwrap().pixels, image.pixels);
        assert!(decoded(&png[..png.len() - 3]).is_err() && decoded(b"GIF").is_err());
        let made = small(&png).unwrap();
        assert_eq!(palette(&image).0.len(), 30);
        assert_eq!(&made[16..29], &[0, 0, 0, 6, 0, 0, 0, 5, 8, 3, 0, 0, 0]);
        assert_eq!(nearest(10, 20, 10), 20);
    }
}
