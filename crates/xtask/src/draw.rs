//! `cargo xtask draw SEED`: draws documentation comments and diagnostics for a reader, who says from the signature and
//! the text alone what the item does and when it fails, and then compares that with the code.

use crate::{docs, repo};
use anyhow::Result;
use std::fmt::Write;

/// Draw documentation comments and diagnostics for a reader.
#[derive(clap::Args)]
pub struct Options {
    /// The text that determines what is drawn, such as the id of the last commit
    seed: String,
    /// The number of documentation comments
    #[arg(long, default_value_t = 20)]
    comments: usize,
    /// The number of diagnostics
    #[arg(long, default_value_t = 10)]
    diagnostics: usize,
}

/// Returns what the seed draws, and true. Fails if a source cannot be read or parsed.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let sources = repo::rust_sources()?;
    let comments: Vec<Comment> = sources.iter().flat_map(|(file, source)| comments(file, source)).collect();
    let diagnostics: Vec<docs::Made> = docs::diagnostics()?.into_iter().collect();
    let mut random = Random::of(&options.seed);
    let mut out = String::new();
    for c in random.draw(comments, options.comments) {
        write!(out, "{}:{}\n{}\n    {}\n\n", c.file, c.line, c.text, c.signature)?;
    }
    for d in random.draw(diagnostics, options.diagnostics) {
        writeln!(out, "{}\n{}[{}]: {}\n", d.file, d.severity, d.code, d.message)?;
    }
    Ok((out, true))
}

/// A documentation comment and the item that it documents.
#[derive(Debug, PartialEq)]
struct Comment {
    file: String,
    /// The line of the item, from 1.
    line: usize,
    text: String,
    /// The item up to its body, or up to its first line that ends with `{`, `}`, `[`, `;` or `,`, on one line.
    signature: String,
}

/// Returns the documentation comments of a source, without those of modules (`//!`) and those at the end of the source,
/// which document nothing.
fn comments(file: &str, source: &str) -> Vec<Comment> {
    let mut found = vec![];
    let mut lines = source.lines().enumerate().peekable();
    while let Some((_, first)) = lines.next() {
        let Some(text) = doc(first) else { continue };
        let mut text = vec![text];
        while let Some(next) = lines.peek().and_then(|(_, line)| doc(line)) {
            text.push(next);
            lines.next();
        }
        while lines.next_if(|(_, line)| line.trim_start().starts_with("#[")).is_some_and(|(_, line)| {
            // An attribute may have several lines.
            let mut is_open = !line.trim_end().ends_with(']');
            while is_open && let Some((_, line)) = lines.next() {
                is_open = !line.trim_end().ends_with(']');
            }
            true
        }) {}
        let Some(&(at, _)) = lines.peek() else { break };
        let ends = |line: &str| line.ends_with(['{', '[', ';', ',', '}']) && !line.trim_start().starts_with("#[");
        let is_function = |line: &str| line.contains("fn ");
        let mut signature = vec![];
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.trim().is_empty()) {
            signature.push(line.trim());
            let is_open = is_function(&signature.join(" ")) && line.ends_with(',');
            if ends(line) && !is_open {
                break;
            }
        }
        found.push(Comment { file: file.into(), line: at + 1, text: text.join("\n"), signature: signature.join(" ") });
    }
    found
}

fn doc(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("///").filter(|rest| !rest.starts_with('/')).map(|_| line.trim_start())
}

/// Random numbers that a text determines.
struct Random(u64);

impl Random {
    fn of(seed: &str) -> Random {
        let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random(seed.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % n as u64) as usize
    }

    fn draw<T>(&mut self, mut items: Vec<T>, count: usize) -> Vec<T> {
        let count = count.min(items.len());
        (0..count).map(|_| items.swap_remove(self.below(items.len()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_with_their_items() {
        let source = "//! A module.\n\n/// Returns 1.\n///\n/// # Errors\n#[must_use]\n#[note(\n    a\n)]\npub fn f(\n    a: u8,\n) -> u8 {\n    1\n}\n\
                      struct S {\n    /// The number.\n    n: u8,\n}\n\
                      /// Names.\nconst A: &[&str] = &[\n    \"a\",\n];\n\
                      /// Ends.\n";
        let expected = [
            ("/// Returns 1.\n///\n/// # Errors", "pub fn f( a: u8, ) -> u8 {", 10),
            ("/// The number.", "n: u8,", 17),
            ("/// Names.", "const A: &[&str] = &[", 20),
        ];
        let found = comments("a.rs", source);
        let shown: Vec<(&str, &str, usize)> =
            found.iter().map(|c| (c.text.as_str(), c.signature.as_str(), c.line)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_seed_draws_the_same_items_again() {
        let draw = |seed: &str| Random::of(seed).draw((0..1000).collect(), 5);
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a"), draw("b"));
        let mut all = Random::of("a").draw((0..10).collect(), 20);
        all.sort();
        assert_eq!(all, (0..10).collect::<Vec<usize>>());
    }
}
