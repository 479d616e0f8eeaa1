//! Mistakes: what the program did wrong, each once, each at the line that made it.

use shardwise_base::{self as base, Loc};
use std::panic::Location;
use std::{fmt, sync::Arc};

/// Everything that went wrong, each mistake once, each at the line that made it.
#[derive(Clone)]
pub struct Error(Vec<Arc<Diagnostic>>);

/// `Result` with this crate's [`Error`], unless another is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One mistake: its code, its place, and what to do about it.
#[derive(PartialEq, Eq, Debug)]
pub struct Diagnostic(pub(crate) base::Diagnostic);

/// Where a mistake was made: a line of a Rust program, or of a program that came as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    file: Arc<str>,
    line: u32,
    column: u32,
}

impl Place {
    pub fn file(&self) -> &str {
        &self.file
    }

    /// From 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// From 1; 0 if unknown.
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl Error {
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().map(|d| &**d)
    }

    /// Each diagnostic once, in the order given.
    pub(crate) fn new(diagnostics: impl IntoIterator<Item = Arc<Diagnostic>>) -> Error {
        let mut once: Vec<Arc<Diagnostic>> = vec![];
        for d in diagnostics {
            if !once.iter().any(|o| Arc::ptr_eq(o, &d) || **o == *d) {
                once.push(d);
            }
        }
        Error(once)
    }

    pub(crate) fn one(diagnostic: base::Diagnostic) -> Error {
        Error(vec![Arc::new(Diagnostic(diagnostic))])
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Arc<Diagnostic>> {
        self.0
    }
}

impl Diagnostic {
    /// Kebab-case and stable: `dot-contracting-size`.
    pub fn code(&self) -> &str {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn location(&self) -> Place {
        match self.0.loc.file_pos() {
            Some(p) => Place { file: p.file.clone(), line: p.line, column: p.column },
            None => Place { file: "".into(), line: 0, column: 0 },
        }
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

/// The rendered diagnostics: what `fn main() -> Result<()>` prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0.len();
        write!(f, "{n} mistake{}\n\n{self}", if n == 1 { "" } else { "s" })
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
        Error::one(base::Diagnostic::error("io", &Loc::caller(Location::caller()), e.to_string()))
    }
}
