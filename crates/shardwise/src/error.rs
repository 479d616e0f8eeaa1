//! Mistakes in programs. Each mistake is reported once, at the line that made it.

use shardwise_base::{self as base, Loc, counted};
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::{fmt, sync::Arc};

/// All mistakes that were found, each once, at the line that made it.
#[derive(Clone)]
pub struct Error(Vec<Arc<Diagnostic>>);

/// `Result` with this crate's [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One mistake or warning: its code, its message, its location, and often how to correct it.
#[derive(PartialEq, Eq, Debug)]
pub struct Diagnostic(pub(crate) base::Diagnostic);

/// A source location: a line of a Rust program, or of a program in text form. Formats as `src/main.rs:12:5`, or as
/// `unknown` if the file is unknown.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    file: Arc<str>,
    line: u32,
    column: u32,
}

impl SourceLocation {
    pub(crate) fn of(loc: &Loc) -> Option<SourceLocation> {
        loc.file_pos().map(|p| SourceLocation { file: p.file.clone(), line: p.line, column: p.column })
    }

    /// Returns the path of the file. It is empty if the file is unknown.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line number, which starts at 1. It is 0 if the line is unknown.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the column number, which starts at 1. It is 0 if the column is unknown.
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl Error {
    /// Returns the mistakes in the order in which they were found.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().map(|d| &**d)
    }

    /// Returns the error of these diagnostics. Each is kept once, in the order of its first occurrence.
    pub(crate) fn new(diagnostics: impl IntoIterator<Item = Arc<Diagnostic>>) -> Error {
        let mut found = Found::default();
        diagnostics.into_iter().for_each(|d| found.add(&d));
        found.into_error()
    }

    pub(crate) fn one(diagnostic: base::Diagnostic) -> Error {
        Error(vec![Arc::new(Diagnostic(diagnostic))])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn and(self, other: Error) -> Error {
        Error::new(self.0.into_iter().chain(other.0))
    }

    /// Returns the error with `loc` as the location of failed checks of numbers. A library function, whose program is
    /// shared by all its calls, fails at the call.
    pub(crate) fn of_check_at(self, loc: &Loc) -> Error {
        let moved = |d: Arc<Diagnostic>| match d.0.code {
            "not-finite" => Arc::new(Diagnostic(base::Diagnostic { loc: loc.clone(), ..d.0.clone() })),
            _ => d,
        };
        Error(self.0.into_iter().map(moved).collect())
    }

    pub(crate) fn into_mistakes(self) -> Mistakes {
        Mistakes(Arc::new(Carried::Made(self.0)))
    }
}

/// Equal diagnostics have equal codes, messages and locations, so these alone are hashed.
impl Hash for Diagnostic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.code, &self.0.message, &self.0.loc).hash(state);
    }
}

impl Diagnostic {
    /// Returns the stable code. It is in kebab case, such as `dot-contracting-size`, or the label of a constraint of
    /// StableHLO's specification, such as `quantized_type_c3`.
    pub fn code(&self) -> &str {
        self.0.code
    }

    /// Returns the message, without location and notes.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the location of the mistake or warning. It formats as `unknown` if it is not known.
    pub fn location(&self) -> SourceLocation {
        let unknown = || SourceLocation { file: "".into(), line: 0, column: 0 };
        SourceLocation::of(&self.0.loc).unwrap_or_else(unknown)
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.is_empty() {
            return f.write_str("unknown");
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

/// Formats the number of mistakes, and then the rendered diagnostics, as `fn main() -> Result<()>` prints them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n{self}", counted(self.0.len(), "mistake"))
    }
}

impl std::error::Error for Error {}

impl From<base::Diagnostics> for Error {
    fn from(found: base::Diagnostics) -> Error {
        Error::new(found.into_iter().map(|d| Arc::new(Diagnostic(d))))
    }
}

impl From<std::io::Error> for Error {
    #[track_caller]
    fn from(e: std::io::Error) -> Error {
        Error::one(base::Diagnostic::error(
            "io",
            &Loc::caller(Location::caller()),
            format!("an operation of the system failed: {e}"),
        ))
    }
}

// ── what arrays carry
/// The mistakes that an array carries. There is at least one.
///
/// This is a handle: everything that follows from a mistake shares it, and an op of several wrong arrays refers to
/// their handles. So an op costs the same however many mistakes were made before it.
#[derive(Clone)]
pub(crate) struct Mistakes(Arc<Carried>);

enum Carried {
    Made(Vec<Arc<Diagnostic>>),
    Joined(Vec<Mistakes>),
}

impl Mistakes {
    pub fn one(diagnostic: base::Diagnostic) -> Mistakes {
        Error::one(diagnostic).into_mistakes()
    }

    /// Joins the mistakes of all of `parts`. Returns `None` if there are no parts.
    pub fn join<'a>(parts: impl IntoIterator<Item = &'a Mistakes>) -> Option<Mistakes> {
        let mut seen = HashSet::new();
        let mut parts: Vec<&Mistakes> = parts.into_iter().filter(|m| seen.insert(m.address())).collect();
        match parts.len() {
            0 | 1 => parts.pop().cloned(),
            _ => Some(Mistakes(Arc::new(Carried::Joined(parts.into_iter().cloned().collect())))),
        }
    }

    /// Returns an error with each mistake once.
    pub fn error(&self) -> Error {
        let mut found = Found::default();
        found.add_all(self);
        found.into_error()
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl Carried {
    fn take_parts(&mut self) -> Vec<Mistakes> {
        match self {
            Carried::Made(_) => vec![],
            Carried::Joined(parts) => std::mem::take(parts),
        }
    }
}

/// Drops a long chain of handles one by one, in constant stack.
impl Drop for Carried {
    fn drop(&mut self) {
        let mut rest = self.take_parts();
        while let Some(Mistakes(part)) = rest.pop() {
            if let Some(mut last) = Arc::into_inner(part) {
                rest.append(&mut last.take_parts());
            }
        }
    }
}

/// Collects mistakes, each once.
#[derive(Default)]
pub(crate) struct Found {
    list: Vec<Arc<Diagnostic>>,
    known: HashSet<Arc<Diagnostic>>,
    /// The handles that have been added, by address. They are kept so that no other handle gets the same address.
    added: HashMap<usize, Mistakes>,
}

impl Found {
    fn add(&mut self, diagnostic: &Arc<Diagnostic>) {
        if self.known.insert(diagnostic.clone()) {
            self.list.push(diagnostic.clone());
        }
    }

    /// Adds the mistakes that are new. Each handle is visited only once.
    pub fn add_all(&mut self, mistakes: &Mistakes) {
        let mut rest = vec![mistakes.clone()];
        while let Some(next) = rest.pop() {
            if self.added.insert(next.address(), next.clone()).is_some() {
                continue;
            }
            match &*next.0 {
                Carried::Made(made) => made.iter().for_each(|d| self.add(d)),
                Carried::Joined(parts) => rest.extend(parts.iter().rev().cloned()),
            }
        }
    }

    /// Adds everything that `other` has collected.
    pub fn append(&mut self, other: &Found) {
        other.list.iter().for_each(|d| self.add(d));
        self.added.extend(other.added.iter().map(|(&k, m)| (k, m.clone())));
    }

    pub fn error(&self) -> Error {
        Error(self.list.clone())
    }

    pub fn into_error(self) -> Error {
        Error(self.list)
    }
}
