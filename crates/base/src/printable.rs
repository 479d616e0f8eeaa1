//! Text from programs, such as the names of files, as it can be shown in a terminal.

use std::fmt;

/// Writes text without control characters: they are escaped, so that a terminal does not obey them. Line breaks and
/// tabs are kept.
pub(crate) struct Printable<'a, W>(pub &'a mut W);

impl<W: fmt::Write> fmt::Write for Printable<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_escaped(c)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", c.escape_default())?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

fn is_escaped(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use crate::{Diagnostic, Loc};

    #[test]
    fn terminals_obey_no_text_of_a_program() {
        let loc = Loc::file("a\x1b[31m.mlir", 1, 2);
        assert_eq!(loc.to_string(), r"a\u{1b}[31m.mlir:1:2");
        let found = Diagnostic::error("text-op", &loc, "there is no op `\x07é`").facts("\tx\r\u{9b}2J\ny");
        let expected =
            "error[text-op]: there is no op `\\u{7}é`\n  --> a\\u{1b}[31m.mlir:1:2\n   | \tx\\r\\u{9b}2J\n   | y";
        assert_eq!(found.to_string(), expected);
    }
}
