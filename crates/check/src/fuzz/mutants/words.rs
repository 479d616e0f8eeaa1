//! Splits a text into words with their positions.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WordKind {
    /// Letters, digits, underscores and dots that start with a letter or an underscore: `stablehlo.add`, `dims`, `i8`.
    Name,
    /// A `%` and the letters, digits and underscores after it: `%0`, `%arg1`.
    Value,
    /// Decimal digits, without a sign or a point: `-1.5` has the numbers `1` and `5`.
    Number,
    /// A text in quotes, including the quotes. If the second quote is missing, the word ends with the text.
    Quoted,
    /// Any other character, and an `x` directly after a number.
    Sign,
}

#[derive(Clone, Debug)]
pub(super) struct Word {
    pub kind: WordKind,
    pub at: Range<usize>,
}

impl Word {
    pub fn of<'t>(&self, text: &'t str) -> &'t str {
        &text[self.at.clone()]
    }
}

/// Returns the words of a text without comments and spaces. `4x8xf32` is split into the numbers 4 and 8, a sign `x`
/// after each of them, and the name `f32`.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = vec![];
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            '/' if rest.starts_with("//") => (None, until(rest, |c| c == '\n')),
            c if c.is_whitespace() => (None, c.len_utf8()),
            '"' => (Some(WordKind::Quoted), rest[1..].find('"').map_or(rest.len(), |end| end + 2)),
            '%' => (Some(WordKind::Value), 1 + until(&rest[1..], |c| !is_of_name(c))),
            // The `x` between sizes.
            'x' if is_after_size(text, at) => (Some(WordKind::Sign), 1),
            c if c.is_ascii_digit() => (Some(WordKind::Number), until(rest, |c| !c.is_ascii_digit())),
            c if is_of_name(c) => (Some(WordKind::Name), until(rest, |c| !is_of_name(c) && c != '.')),
            c => (Some(WordKind::Sign), c.len_utf8()),
        };
        words.extend(kind.map(|kind| Word { kind, at: at..at + length }));
        at += length;
    }
    words
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn until(text: &str, ends: impl Fn(char) -> bool) -> usize {
    text.find(ends).unwrap_or(text.len())
}

fn is_after_size(text: &str, at: usize) -> bool {
    text[..at].ends_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_words() {
        let line = "%0:2 = stablehlo.add %arg0 {k = \"a b\"} : tensor<4x8xf32> // why";
        let found: Vec<&str> = words(line).iter().map(|w| w.of(line)).collect();
        let expected = "%0 : 2 = stablehlo.add %arg0 { k = \"a b\" } : tensor < 4 x 8 x f32 >";
        assert_eq!(found.join(" "), expected);
    }
}
