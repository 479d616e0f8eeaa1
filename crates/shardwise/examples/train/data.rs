//! A text of bytes, and batches of it.

use super::model::VOCAB;
use shardwise::prelude::*;
use std::io;
use std::path::{Path, PathBuf};

/// The bytes for training and those for evaluation. [`Text::new`] divides a text: the first 19 of 20 parts, whose
/// length is rounded down, are for training, and the rest is for evaluation.
pub struct Text {
    pub train: Vec<u8>,
    pub test: Vec<u8>,
}

impl Text {
    pub fn new(mut text: Vec<u8>) -> Text {
        let test = text.split_off(text.len() / 20 * 19);
        Text { train: text, test }
    }

    /// Reads a file, or the Rust files of the crates of this workspace, one after the other, in the order of their
    /// paths. Fails if one cannot be read.
    pub fn read(file: Option<&Path>) -> io::Result<Text> {
        let mut text = vec![];
        match file {
            Some(file) => text = std::fs::read(file).map_err(|e| named(file, e))?,
            None => read_sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), &mut text)?,
        }
        Ok(Text::new(text))
    }
}

fn named(file: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("cannot read {}: {e}", file.display()))
}

fn read_sources(folder: &Path, text: &mut Vec<u8>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => read_sources(&path, text)?,
            false if path.extension().is_some_and(|e| e == "rs") => text.extend(std::fs::read(path)?),
            false => {}
        }
    }
    Ok(())
}

/// Returns the batch of a step: rows of the text that begin at positions that depend on the number of the step and on
/// the lengths of the text and of a row. Panics if the text has fewer than `length` bytes.
///
/// # Shapes
///
/// `i32[microbatches, rows, length]`, where the rows are split over "data".
pub fn batch(text: &[u8], step: u64, [microbatches, rows, length]: [usize; 3]) -> Array {
    let mut state = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut row = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let start = (state % (text.len() - length + 1) as u64) as usize;
        text[start..][..length].iter().map(|&b| i32::from(b))
    };
    let bytes: Vec<i32> = (0..microbatches * rows).flat_map(|_| row()).collect();
    array(&bytes).reshape([microbatches, rows, length]).shard(P!(None, "data"))
}

/// Returns the conditional entropy of a byte given the one before it, in nats: what the best bigram model reaches.
/// Panics if the text has fewer than two bytes.
pub fn bigram_entropy(text: &[u8]) -> f64 {
    assert!(text.len() >= 2, "a text without pairs of bytes has no entropy");
    let (mut pairs, mut firsts) = (vec![0f64; VOCAB * VOCAB], vec![0f64; VOCAB]);
    for pair in text.windows(2) {
        pairs[usize::from(pair[0]) * VOCAB + usize::from(pair[1])] += 1.0;
        firsts[usize::from(pair[0])] += 1.0;
    }
    let term = |(i, &n): (usize, &f64)| if n > 0.0 { -n * (n / firsts[i / VOCAB]).ln() } else { 0.0 };
    pairs.iter().enumerate().map(term).sum::<f64>() / (text.len() - 1) as f64
}
