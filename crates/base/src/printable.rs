//! Text from programs, such as the names of files and axes, as it can be shown in a terminal.

use std::borrow::Cow;
use std::fmt;

/// Returns a name, or another text of one line, with all control characters escaped, line breaks and tabs too. So a
/// terminal does not obey them, and the text stays in its line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    write_escaped(&mut shown, text, char::is_control).expect("a string can be written to");
    shown.into()
}

/// Writes text without control characters: they are escaped, so that a terminal does not obey them. Line breaks and
/// tabs are kept.
pub(crate) struct Printable<'a, W>(pub &'a mut W);

impl<W: fmt::Write> fmt::Write for Printable<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(self.0, text, |c| c.is_control() && c != '\n' && c != '\t')
    }
}

/// Writes a text in which the characters for which `is_escaped` is true are escaped. Fails if writing does.
fn write_escaped(out: &mut impl fmt::Write, text: &str, is_escaped: fn(char) -> bool) -> fmt::Result {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_escaped(c)) {
        write!(out, "{}{}", &rest[..at], c.escape_default())?;
        rest = &rest[at + c.len_utf8()..];
    }
    out.write_str(rest)
}

#[cfg(test)]
mod tests {
    use super::printable;
    use crate::{Diagnostic, Loc, Mesh, Sharding};
    use std::sync::Arc;

    #[test]
    fn terminals_obey_no_text_of_a_program() {
        let loc = Loc::file("a\x1b[31m.mlir", 1, 2);
        assert_eq!(loc.to_string(), r"a\u{1b}[31m.mlir:1:2");
        let found = Diagnostic::error("text-op", &loc, "there is no op `\x07é`").facts("\tx\r\u{9b}2J\ny");
        let expected =
            "error[text-op]: there is no op `\\u{7}é`\n  --> a\\u{1b}[31m.mlir:1:2\n   | \tx\\r\\u{9b}2J\n   | y";
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn names_stay_in_their_lines() {
        assert_eq!(printable("é x\x1b[31m\n\t"), r"é x\u{1b}[31m\n\t");
        assert_eq!(Loc::file("a\nb.mlir", 1, 2).to_string(), r"a\nb.mlir:1:2");
        assert_eq!(Loc::UNKNOWN.named("a\nb").to_string(), r#""a\nb""#);
        let mesh = Arc::new(Mesh::new("m\n", [("x\x1b[31m", 2), ("a\nb", 4)]).unwrap());
        assert_eq!(mesh.to_string(), r"x\u{1b}[31m=2, a\nb=4");
        let layout = Sharding::closed(&mesh, vec![mesh.all_axes().collect()]);
        assert_eq!(layout.to_string(), r#"<@m\n, [{"x\u{1b}[31m", "a\nb"}]>"#);
    }
}
