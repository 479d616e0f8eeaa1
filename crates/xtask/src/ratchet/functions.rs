//! The functions of a Rust source and their lengths, found by matching braces outside comments and literals.

/// A function: its name, and its number of lines from `fn` to the closing brace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    pub lines: usize,
}

/// Returns all functions with bodies, in the order of their ends. The lines of inner functions also count for outer
/// ones.
pub fn functions(source: &str) -> Vec<Function> {
    let mut found = vec![];
    let mut pending: Option<(String, usize)> = None;
    let mut open: Vec<Option<(String, usize)>> = vec![];
    let (mut line, mut round) = (1, 0usize);
    let clean = without_literals(source);
    let mut words = Words { text: &clean, at: 0 };
    while let Some(word) = words.next() {
        match word {
            "\n" => line += 1,
            "fn" => pending = words.next_name().map(|name| (name.to_string(), line)).or(pending),
            "(" | "[" => round += 1,
            ")" | "]" => round = round.saturating_sub(1),
            ";" if round == 0 => pending = None,
            "{" => open.push(if round == 0 || pending.is_some() { pending.take() } else { None }),
            "}" => found.extend(open.pop().flatten().map(|(name, from)| Function { name, lines: line - from + 1 })),
            _ => {}
        }
    }
    found
}

/// A text that is split into names, and single characters for everything else, line ends among them. Other blanks are
/// skipped.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r']);
        let start = self.text.len() - rest.len();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let length = if length > 0 { length } else { rest.chars().next()?.len_utf8() };
        self.at = start + length;
        Some(&self.text[start..self.at])
    }

    /// Reads the name of a function whose `fn` has been read. Returns `None` and reads nothing if no name follows, as
    /// in the type `fn(u8)`.
    fn next_name(&mut self) -> Option<&'a str> {
        let before = self.at;
        let word = self.next()?;
        if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Some(word);
        }
        self.at = before;
        None
    }
}

/// Returns the source with comments, strings and characters replaced by blanks, except for line ends. Every byte keeps
/// its position.
pub fn without_literals(source: &str) -> String {
    blanked(source, |_| true)
}

/// Returns the source with comments replaced by blanks, except for line ends. Every byte keeps its position.
pub fn without_comments(source: &str) -> String {
    blanked(source, |text| text.starts_with('/'))
}

/// Returns the source with some comments, strings and characters replaced by blanks, except for line ends. `is_blanked`
/// chooses them by their text.
fn blanked(source: &str, is_blanked: impl Fn(&str) -> bool) -> String {
    let blank = |text: &str| text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
    let piece = |(text, is_literal): (&str, bool)| match is_literal && is_blanked(text) {
        true => blank(text),
        false => text.to_string(),
    };
    pieces(source).map(piece).collect()
}

/// Returns the string literals of a source, with their quotation marks. Raw strings are left out. Of a byte string or C
/// string, the part after the prefix is returned.
pub fn strings(source: &str) -> impl Iterator<Item = &str> {
    pieces(source).filter(|(text, is_literal)| *is_literal && text.starts_with('"')).map(|(text, _)| text)
}

/// Splits a source into comments, strings and characters, each with true, and all other characters, each with false.
fn pieces(source: &str) -> impl Iterator<Item = (&str, bool)> {
    let (mut rest, mut before) = (source, None);
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let literal = literal_length(rest, before);
        let (text, after) = rest.split_at(literal.unwrap_or(first.len_utf8()));
        (rest, before) = (after, text.chars().next_back());
        Some((text, literal.is_some()))
    })
}

/// Returns the length of the comment, string or character at the start of `text`, or `None` if there is none. `before`
/// is the character before it.
fn literal_length(text: &str, before: Option<char>) -> Option<usize> {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment_length(text));
    }
    if !in_name && text.starts_with(['r', 'b', 'c']) {
        return raw_string_length(text);
    }
    match text.as_bytes().first() {
        Some(b'"') => Some(quoted_length(text, '"')),
        Some(b'\'') => character_length(text),
        _ => None,
    }
}

fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text[at..];
        match () {
            _ if rest.is_empty() => return at,
            _ if rest.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            _ if rest.starts_with("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 {
            return at;
        }
    }
}

/// Returns the length of `r"…"` or `br#"…"#` at the start of `text`, or that of `text` if the string does not end.
/// Returns `None` if there is no raw string.
fn raw_string_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let inside_length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(text.len() - inside.len() + inside_length)
}

/// Returns the length of the literal with escapes at the start of `text`, including its quotes, or the length of `text`
/// if the literal does not end.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of `'x'` or `'\n'`, or `None` for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let mut chars = text.chars().skip(1);
    match (chars.next()?, chars.next()) {
        ('\\', _) => Some(quoted_length(text, '\'')),
        (c, Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(source: &str) -> Vec<(String, usize)> {
        functions(source).into_iter().map(|f| (f.name, f.lines)).collect()
    }

    #[test]
    fn plain_and_nested() {
        let source =
            "fn a() {\n    fn b() {}\n}\n\nimpl T {\n    fn c(\n        x: u8,\n    ) -> u8 {\n        x\n    }\n}\n";
        assert_eq!(lengths(source), [("b".into(), 1), ("a".into(), 3), ("c".into(), 5)]);
    }

    #[test]
    fn declarations_and_function_types_have_no_body() {
        let source = "trait T { fn a(&self) -> [u8; 2]; }\nfn b(f: fn(u8) -> u8) -> u8 {\n f(1)\n}";
        assert_eq!(lengths(source), [("b".into(), 3)]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let source = "fn a<'x>() {\n  '{'; \"}\\\"}\"; r#\"}\"}\"#; b\"}\"; // }\n  /* } /* } */ } */ '\\''\n}";
        assert_eq!(lengths(source), [("a".into(), 4)]);
    }
}
