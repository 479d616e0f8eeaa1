//! Source locations: a position in a file, a name scope, a call, or the locations that something was derived from.

use crate::printable::printable;
use std::fmt;
use std::sync::Arc;

/// A source location. It is cheap to clone and is compared by content.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Loc(Option<Arc<LocKind>>);

/// The content of a [`Loc`]. It mirrors MLIR's location attributes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LocKind {
    /// `"file":line:column`, with an end if the text has one.
    File(FilePos),
    /// `"name"(child)`: a name scope, or an argument's name.
    Name { name: Arc<str>, child: Loc },
    /// `callsite(callee at caller)`.
    CallSite { callee: Loc, caller: Loc },
    /// `fused<"pass">[a, b]`: derived from what is at these locations, by a pass if the metadata names one.
    Fused { metadata: Option<Metadata>, locs: Vec<Loc> },
}

/// The metadata of a fused location.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Metadata {
    /// The name of the pass that made the location: `"pass"`.
    Pass(Arc<str>),
    /// Another attribute, as it is written: `1 : i32`.
    Attribute(Arc<str>),
}

/// A position in a file; lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FilePos {
    pub file: Arc<str>,
    pub line: u32,
    /// The column, or 0 if the text states none.
    pub column: u32,
    /// The line and column of the end, if known.
    pub end: Option<(u32, u32)>,
}

impl Loc {
    /// The unknown location.
    pub const UNKNOWN: Loc = Loc(None);

    /// Returns the location of a position in a file. Line and column count from 1.
    pub fn file(file: impl Into<Arc<str>>, line: u32, column: u32) -> Loc {
        Loc::new(LocKind::File(FilePos { file: file.into(), line, column, end: None }))
    }

    /// Returns the location of this kind.
    pub fn new(kind: LocKind) -> Loc {
        Loc(Some(Arc::new(kind)))
    }

    /// Returns the location of a place in a Rust program, such as the caller of a `#[track_caller]` function. It is
    /// unknown if the place is in Rust's standard library, as when the function was passed to `Iterator::map` by name.
    pub fn caller(at: &std::panic::Location<'_>) -> Loc {
        let is_std = at.file().starts_with("/rustc/") || at.file().contains("/rustlib/src/rust/library/");
        if is_std { Loc::UNKNOWN } else { Loc::file(at.file(), at.line(), at.column()) }
    }

    /// Returns the same place inside a name scope (`"encoder/softmax"`) or under an argument's name.
    pub fn named(self, name: impl Into<Arc<str>>) -> Loc {
        Loc::new(LocKind::Name { name: name.into(), child: self })
    }

    /// Returns the content of the location, or `None` if it is unknown.
    pub fn kind(&self) -> Option<&LocKind> {
        self.0.as_deref()
    }

    /// Returns true if this is [`Loc::UNKNOWN`].
    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the first file position within the location, to which a diagnostic points, or `None` if there is none.
    /// In a call site, the callee comes before the caller.
    pub fn file_pos(&self) -> Option<&FilePos> {
        match self.kind()? {
            LocKind::File(pos) => Some(pos),
            LocKind::Name { child, .. } => child.file_pos(),
            LocKind::CallSite { callee, caller } => callee.file_pos().or_else(|| caller.file_pos()),
            LocKind::Fused { locs, .. } => locs.iter().find_map(Loc::file_pos),
        }
    }

    /// Returns the names ([`LocKind::Name`]) around the place, outermost first, joined by `/`; empty if there are none.
    /// For a call site these are the callee's, and for a fused location those of its first part.
    pub fn scope(&self) -> String {
        let mut names = vec![];
        self.collect_names(&mut names);
        names.join("/")
    }

    fn collect_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self.kind() {
            Some(LocKind::Name { name, child }) => {
                names.push(name);
                child.collect_names(names);
            }
            Some(LocKind::CallSite { callee, .. }) => callee.collect_names(names),
            Some(LocKind::Fused { locs, .. }) => {
                if let Some(first) = locs.first() {
                    first.collect_names(names);
                }
            }
            Some(LocKind::File(_)) | None => {}
        }
    }
}

/// Prints `file:line:column` of [`Loc::file_pos`]. If there is none, prints the scope in quotes, or `unknown` if there
/// is none either. Control characters are escaped.
impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file_pos(), self.scope()) {
            (Some(p), _) => write!(f, "{}:{}:{}", printable(&p.file), p.line, p.column),
            (None, scope) if !scope.is_empty() => write!(f, "\"{}\"", printable(&scope)),
            (None, _) => f.write_str("unknown"),
        }
    }
}

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
