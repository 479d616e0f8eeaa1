//! Messages to the person who wrote a program: what is wrong and where, what was given, what was expected and what to
//! do.

use crate::Loc;
use crate::printable::Printable;
use std::fmt::{self, Write};

/// How serious a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
    /// Nothing is wrong, but the reader may want to know it.
    Note,
}

/// The kind of a [`Note`]. Each line of facts is printed after `|`. The first line of the others is printed after `=`
/// and a label, and their further lines are indented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteKind {
    Facts,
    Expected,
    Mesh,
    Note,
    Help,
}

/// A part of a message after its first line, of one line or more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

/// One message to the person who wrote a program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct Diagnostic {
    pub severity: Severity,
    /// The stable code, in kebab case (`spec-uneven`), or the label of a constraint of StableHLO's specification
    /// (`quantized_type_c3`).
    pub code: &'static str,
    /// One line, lower case, no full stop.
    pub message: String,
    pub loc: Loc,
    pub notes: Vec<Note>,
}

impl Diagnostic {
    /// Returns an error without notes.
    pub fn error(code: &'static str, loc: &Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), loc: loc.clone(), notes: vec![] }
    }

    /// Returns a warning without notes.
    pub fn warning(code: &'static str, loc: &Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, loc, message) }
    }

    /// Returns a message about something that is not wrong, without notes.
    pub fn remark(code: &'static str, loc: &Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, loc, message) }
    }

    fn with(mut self, kind: NoteKind, text: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { kind, text: text.into() });
        self
    }

    /// Adds what was given, with types.
    pub fn facts(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Facts, text)
    }

    /// Adds what was expected.
    pub fn expected(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Expected, text)
    }

    /// Adds a description of the mesh, such as `X=4, Y=2`, before the first help note, or at the end if there is none.
    pub fn mesh(self, mesh: &crate::Mesh) -> Diagnostic {
        self.mesh_text(mesh.to_string())
    }

    /// Adds a description of the mesh such as `X=4 Manual, Y=2 Auto`. It is placed before the first help note, or at
    /// the end if there is none.
    pub fn mesh_text(mut self, text: impl Into<String>) -> Diagnostic {
        let place = self.notes.iter().position(|n| n.kind == NoteKind::Help).unwrap_or(self.notes.len());
        self.notes.insert(place, Note { kind: NoteKind::Mesh, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn note(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Note, text)
    }

    /// Adds what the reader can do about it.
    pub fn help(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Help, text)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let f = &mut Printable(f);
        write!(f, "{word}[{}]: {}", self.code, self.message)?;
        if !self.loc.is_unknown() {
            write!(f, "\n  --> {}", self.loc)?;
        }
        for note in &self.notes {
            for (i, line) in note.text.lines().enumerate() {
                match (note.kind, i) {
                    (NoteKind::Facts, _) => write!(f, "\n   | {line}")?,
                    (NoteKind::Expected, 0) => write!(f, "\n   = expected: {line}")?,
                    (NoteKind::Mesh, 0) => write!(f, "\n   = mesh: {line}")?,
                    (NoteKind::Note, 0) => write!(f, "\n   = note: {line}")?,
                    (NoteKind::Help, 0) => write!(f, "\n   = help: {line}")?,
                    _ => write!(f, "\n     {line}")?,
                }
            }
        }
        Ok(())
    }
}

/// Formats a count for a message, with an `s` after the word unless the count is 1: `1 operand`, `2 operands`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats a number of bytes in the smallest unit in which it is printed as less than 1024, or else in TiB: `12.5 KiB`.
pub fn byte_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value.fract() == 0.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Formats the first `most` numbers of a list for a message: `0, 1, 2`, or `0, 1, 2, and 5 more`.
pub fn listed(numbers: &[usize], most: usize) -> String {
    let shown: Vec<String> = numbers.iter().take(most).map(usize::to_string).collect();
    let more = numbers.len() - shown.len();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// Messages about a program, in the order in which they were found. A value returned as an error is never empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Returns the messages, with this location for those that have none.
    pub fn located(mut self, loc: &Loc) -> Diagnostics {
        self.0.iter_mut().filter(|d| d.loc.is_unknown()).for_each(|d| d.loc = loc.clone());
        self
    }

    /// Appends a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Returns true if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if one of the messages is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Returns an iterator over the messages.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Returns `Err(self)` if one of the messages is an error. Otherwise returns `Ok(value)` and drops the messages,
    /// which are warnings and notes.
    pub fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Diagnostics {
        Diagnostics(vec![d])
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.0.extend(iter);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_in_which_they_are_printed_as_less_than_1024() {
        let sizes = [1023, 1024, 12_800, 1_048_524, 1_048_525, 1_048_575, 1_048_576];
        assert_eq!(sizes.map(byte_size), ["1023 B", "1 KiB", "12.5 KiB", "1023.9 KiB", "1.0 MiB", "1.0 MiB", "1 MiB"]);
        assert_eq!([0, 1_500_000].map(byte_size), ["0 B", "1.4 MiB"]);
    }
}
