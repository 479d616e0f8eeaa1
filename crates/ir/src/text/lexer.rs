//! Splits text into tokens, one at a time. The parser looks one token ahead, and can go back to a position.

/// The kind of a token. Punctuation is distinguished by its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// `stablehlo.add`, `tensor`, `loc`.
    Word,
    /// `@main`, `@"a b"`.
    At,
    /// `%arg0`.
    Percent,
    /// `#loc3`, `#stablehlo.gather`.
    Hash,
    /// `!stablehlo.token`.
    Bang,
    /// `^bb0`.
    Caret,
    /// Decimal, or hexadecimal with `0x`.
    Int,
    Float,
    /// A string with its quotes and escapes.
    Str,
    /// `(`, `->`, `::`, `{-#`, …
    Punct,
    /// A character that cannot start a token, a `%`, `#`, `!`, `^` or `@` without a name after it, or a string without
    /// a closing quote on its line.
    Error,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

/// Returns the token at or after `from`, and skips blanks and `//` comments before it. At the end of the text, its kind
/// is [`TokenKind::End`].
pub(super) fn token(text: &str, from: usize) -> Token {
    let bytes = text.as_bytes();
    let start = skip_blanks(bytes, from);
    let Some(&first) = bytes.get(start) else {
        return Token { kind: TokenKind::End, start, end: start };
    };
    let (kind, end) = match first {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => (TokenKind::Word, while_true(bytes, start, is_word)),
        b'0'..=b'9' => number(bytes, start),
        b'"' => string(bytes, start),
        b'%' => sigil(bytes, start, TokenKind::Percent),
        b'!' => sigil(bytes, start, TokenKind::Bang),
        b'^' => sigil(bytes, start, TokenKind::Caret),
        b'#' if bytes[start..].starts_with(b"#-}") => (TokenKind::Punct, start + 3),
        b'#' => sigil(bytes, start, TokenKind::Hash),
        b'@' if bytes.get(start + 1) == Some(&b'"') => {
            let (kind, end) = string(bytes, start + 1);
            (if kind == TokenKind::Str { TokenKind::At } else { kind }, end)
        }
        b'@' => sigil(bytes, start, TokenKind::At),
        _ => punctuation(text, start),
    };
    Token { kind, start, end }
}

/// Checks for cancellation at every 2^20th byte of a loop over a text.
#[inline]
pub(super) fn poll_at(byte: usize) {
    if byte & 0xf_ffff == 0xf_ffff {
        shardwise_base::budget::poll();
    }
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            poll_at(at);
            at += 1;
        }
        if !bytes[at.min(bytes.len())..].starts_with(b"//") {
            return at;
        }
        while bytes.get(at).is_some_and(|&b| b != b'\n') {
            poll_at(at);
            at += 1;
        }
    }
}

fn while_true(bytes: &[u8], mut at: usize, is_part: fn(u8) -> bool) -> usize {
    while bytes.get(at).is_some_and(|&b| is_part(b)) {
        poll_at(at);
        at += 1;
    }
    at
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')
}

/// Reads the token that starts with the `%`, `#`, `!`, `^` or `@` at `start`. Digits follow, or a word that may also
/// contain `.` and `-`. Returns `kind`, or [`TokenKind::Error`] if neither follows, and the token's end.
fn sigil(bytes: &[u8], start: usize, kind: TokenKind) -> (TokenKind, usize) {
    let end = match bytes.get(start + 1) {
        Some(b'0'..=b'9') => while_true(bytes, start + 1, |b| b.is_ascii_digit()),
        Some(&b) if b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'.' | b'-') => {
            let end = while_true(bytes, start + 1, |b| is_word(b) || b == b'-');
            // `%a->` is a name and an arrow.
            if bytes[end - 1] == b'-' && bytes.get(end) == Some(&b'>') { end - 1 } else { end }
        }
        _ => start + 1,
    };
    (if end > start + 1 { kind } else { TokenKind::Error }, end)
}

fn number(bytes: &[u8], start: usize) -> (TokenKind, usize) {
    let digit = |b: u8| b.is_ascii_digit();
    if bytes[start] == b'0' && bytes.get(start + 1) == Some(&b'x') {
        let end = while_true(bytes, start + 2, |b| b.is_ascii_hexdigit());
        if end > start + 2 {
            return (TokenKind::Int, end);
        }
    }
    let mut end = while_true(bytes, start, digit);
    if bytes.get(end) != Some(&b'.') {
        return (TokenKind::Int, end);
    }
    end = while_true(bytes, end + 1, digit);
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = end + 1 + sign;
        if bytes.get(digits).is_some_and(u8::is_ascii_digit) {
            end = while_true(bytes, digits, digit);
        }
    }
    (TokenKind::Float, end)
}

/// Reads the string whose opening quote is at `quote`. It ends on its line, unless there is a backslash before the line
/// end. Returns [`TokenKind::Str`] and the string's end. A string without a closing quote is a [`TokenKind::Error`]
/// that takes the rest of the line.
fn string(bytes: &[u8], quote: usize) -> (TokenKind, usize) {
    let mut at = quote + 1;
    while let Some(&b) = bytes.get(at) {
        poll_at(at);
        match b {
            b'"' => return (TokenKind::Str, at + 1),
            b'\n' => break,
            b'\\' if at + 1 < bytes.len() => at += 2,
            _ => at += 1,
        }
    }
    (TokenKind::Error, at.min(bytes.len()))
}

fn punctuation(text: &str, start: usize) -> (TokenKind, usize) {
    let rest = &text[start..];
    for long in ["{-#", "->", "::"] {
        if rest.starts_with(long) {
            return (TokenKind::Punct, start + long.len());
        }
    }
    let first = rest.chars().next().expect("not at the end");
    let kind = if "()[]{}<>,:=-+*?/|".contains(first) { TokenKind::Punct } else { TokenKind::Error };
    (kind, start + first.len_utf8())
}

/// Returns the text of a quoted string token with its escapes (`\"`, `\\`, `\n`, `\t`, `\22`) replaced. Returns `None`
/// for another escape, or if the bytes are not UTF-8.
pub(super) fn unescape(quoted: &str) -> Option<String> {
    String::from_utf8(unescape_bytes(quoted)?).ok()
}

/// Returns the bytes of a quoted string token with its escapes replaced, or `None` for an unknown escape.
pub(super) fn unescape_bytes(quoted: &str) -> Option<Vec<u8>> {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return Some(inner.into());
    }
    let bytes = inner.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let digits = inner.get(at + 1..at + 3).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
        let hex = digits.and_then(|h| u8::from_str_radix(h, 16).ok());
        let (byte, length) = match (bytes.get(at + 1)?, hex) {
            (b'n', _) => (b'\n', 2),
            (b't', _) => (b'\t', 2),
            (b'"' | b'\\', _) => (bytes[at + 1], 2),
            (_, Some(byte)) => (byte, 3),
            _ => return None,
        };
        out.push(byte);
        at += length;
    }
    Some(out)
}

/// Returns `text` in quotes, escaped as MLIR does it: a backslash as `\\`, and quotes and all bytes that are not
/// printable ASCII in hexadecimal, as `\22`.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\22"),
            c if c.is_ascii_graphic() || c == ' ' => out.push(c),
            c => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    out.push_str(&format!("\\{byte:02X}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// Returns true if a name needs no quotes after `@` or as an attribute's name.
pub(super) fn is_plain_word(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|&b| b.is_ascii_alphabetic() || b == b'_') && bytes.iter().all(|&b| is_word(b))
}
