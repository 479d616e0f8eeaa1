//! Messages to the person who wrote a program: what and where, what was given, what was expected, the way out.
//!
//! A diagnostic prints in one shape everywhere:
//! ```text
//! error[spec-uneven]: argument `x` cannot be split as the spec asks
//!   --> examples/mlp.rs:41:13
//!    | x: f32[12,64], in_specs[0] = P!("data", None): dim 0 has size 12, axis "data" has size 8
//!    = mesh: data=8, model=2
//!    = help: make dim 0 a multiple of 8 (16 with padding), or drop "data" from in_specs[0]
//! ```

use crate::Loc;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// What kind of line a [`Note`] is: facts stand behind `|`, the others behind `=` and a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteKind {
    Facts,
    Expected,
    Mesh,
    Note,
    Help,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

/// One message; made by functions that take raw facts, never by a literal at the place that finds the mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct Diagnostic {
    pub severity: Severity,
    /// Kebab-case and stable: `spec-uneven`.
    pub code: &'static str,
    /// One line, lower case, no full stop.
    pub message: String,
    pub loc: Loc,
    pub notes: Vec<Note>,
}

impl Diagnostic {
    pub fn error(code: &'static str, loc: &Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), loc: loc.clone(), notes: vec![] }
    }

    pub fn warning(code: &'static str, loc: &Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, loc, message) }
    }

    fn with(mut self, kind: NoteKind, text: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { kind, text: text.into() });
        self
    }

    /// What was given, with types.
    pub fn facts(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Facts, text)
    }

    pub fn expected(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Expected, text)
    }

    pub fn mesh(self, mesh: &crate::Mesh) -> Diagnostic {
        self.mesh_text(mesh.to_string())
    }

    /// The mesh in other words: `X=4 Manual, Y=2 Auto`. It stands before the way out, whoever adds it.
    pub fn mesh_text(mut self, text: impl Into<String>) -> Diagnostic {
        let place = self.notes.iter().position(|n| n.kind == NoteKind::Help).unwrap_or(self.notes.len());
        self.notes.insert(place, Note { kind: NoteKind::Mesh, text: text.into() });
        self
    }

    pub fn note(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Note, text)
    }

    /// The way out.
    pub fn help(self, text: impl Into<String>) -> Diagnostic {
        self.with(NoteKind::Help, text)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
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

/// All that was found wrong, in the order of the program; never empty when it is an error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// `Err(self)` if there is an error among them, else `Ok(value)`; warnings are dropped.
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
