//! The diagnostics of files of tensors. Each names all leaves at fault, one in each line.

use super::{Format, Wanted};
use crate::{Error, Result};
use shardwise_base::compare::indices;
use shardwise_base::{Diagnostic, Loc, did_you_mean};
use shardwise_files::npz::{Mismatch, numpy_name};
use shardwise_ir::TensorType;
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn leaf_name(names: &BTreeSet<&str>, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("leaf-name", loc, "leaves of the tree cannot be told apart by their names");
    names.iter().fold(d, |d, name| d.facts(format!("`{name}`"))).help(
        "a name is the path in the tree with dots: rename a key of a map, or a field; no leaf can be `__metadata__`",
    )
}

pub(super) fn leaf_dtype(format: Format, leaves: &[(&str, TensorType)], loc: &Loc) -> Diagnostic {
    let message = format!("the format {} does not have the element types of these leaves", format.name());
    let d = Diagnostic::error("leaf-dtype", loc, message);
    let d = leaves.iter().fold(d, |d, (name, ty)| d.facts(format!("`{name}`: {}", ty.short())));
    d.help("convert them before, for example with `.astype(I8)`")
}

/// Builds the error that names the leaves without a value. The reasons follow as errors of their own.
pub(super) fn leaf_value(names: &[String], loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("leaf-value", loc, "leaves of the tree have no value that can be saved");
    names.iter().fold(d, |d, name| d.facts(format!("`{name}`"))).note("the reasons follow")
}

pub(crate) fn unwritable(path: &Path, why: &std::io::Error, loc: &Loc) -> Diagnostic {
    Diagnostic::error("file-unwritable", loc, format!("cannot write {}: {why}", path.display()))
        .note("what was there before is unchanged")
        .help("check the permissions of the folder and the free space")
}

/// Builds the error for a file that cannot be read as a whole. `leaves` are those that are in it.
pub(crate) fn unreadable(path: &Path, why: &str, leaves: &[String], loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("file-unreadable", loc, format!("cannot read {}: {why}", path.display()));
    leaves.iter().fold(d, |d, name| d.facts(format!("`{name}` is in it")))
}

pub(crate) fn no_checkpoint(folder: &Path, loc: &Loc) -> Diagnostic {
    Diagnostic::error("checkpoint-missing", loc, format!("there is no checkpoint in {}", folder.display()))
        .expected("a file `model.safetensors.index.json` or `model.safetensors`")
}

/// The reason why a leaf cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// There is no tensor of its name, although an index names a file for it if there is one here.
    Missing(Option<String>),
    /// The tensor has this element type, by the name that the format has for it.
    DType(String),
    Shape(Vec<usize>),
    /// The file, which has a name if there are several, has fewer bytes than the tensor.
    Short(Option<String>),
    /// The file has more bytes than the tensor.
    Long,
    /// The tensor has an element that is not a value of its type: its position, row-major, and its byte.
    Element(Vec<usize>, u8),
    /// The tensor cannot be read, for this reason.
    Broken(String),
}

impl From<Mismatch> for Fault {
    fn from(why: Mismatch) -> Fault {
        match why {
            Mismatch::Broken(why) => Fault::Broken(why),
            Mismatch::DType { given, .. } => Fault::DType(given),
            Mismatch::Shape { shape, .. } => Fault::Shape(shape),
            Mismatch::Fewer(_) => Fault::Short(None),
            Mismatch::More => Fault::Long,
            Mismatch::Range { position, byte } => Fault::Element(position, byte),
        }
    }
}

impl Fault {
    /// Returns the fault of element `index`, row-major, of an array of this shape.
    pub fn element(shape: &[usize], index: usize, byte: u8) -> Fault {
        Fault::Element(indices(shape, index), byte)
    }
}

/// Collects the faults of leaves, and builds an error that lists all of them.
pub(crate) struct Faults<'a> {
    /// The file or folder that is read.
    path: &'a Path,
    format: Format,
    /// The names of the tensors that are there.
    names: &'a [String],
    loc: &'a Loc,
    leaves: Vec<(&'a Wanted, Fault)>,
    /// The tensors that are there and are not wanted.
    unused: Vec<&'a str>,
    others: Vec<Diagnostic>,
}

impl<'a> Faults<'a> {
    pub fn new(path: &'a Path, format: Format, names: &'a [String], loc: &'a Loc) -> Faults<'a> {
        Faults { path, format, names, loc, leaves: vec![], unused: vec![], others: vec![] }
    }

    /// Adds the fault of a leaf.
    pub fn add(&mut self, leaf: &'a Wanted, fault: Fault) {
        self.leaves.push((leaf, fault));
    }

    /// Adds a diagnostic of a file as a whole.
    pub fn add_other(&mut self, diagnostic: Diagnostic) {
        self.others.push(diagnostic);
    }

    /// Adds a fault for each tensor that no leaf is read from.
    pub fn add_unused(&mut self, wanted: &[Wanted]) {
        let wanted: BTreeSet<&str> = wanted.iter().map(|w| &w.name[..]).collect();
        self.unused.extend(self.names.iter().map(|name| &name[..]).filter(|name| !wanted.contains(name)));
    }

    /// Returns `value` if nothing has been added, and else an error with one diagnostic for each kind of fault.
    pub fn or<T>(self, value: T) -> Result<T> {
        let kinds = [
            self.missing(),
            self.dtypes(),
            self.shapes(),
            self.short(),
            self.long(),
            self.elements(),
            self.broken(),
            self.unused(),
        ];
        let all = self.others.iter().cloned().chain(kinds.into_iter().flatten());
        let error = all.fold(Error::new([]), |error, d| error.and(Error::one(d)));
        if error.is_empty() { Ok(value) } else { Err(error) }
    }

    /// Returns a diagnostic with a line for each leaf for which `line` returns one, or `None` if there is no line.
    fn list(
        &self,
        diagnostic: impl FnOnce(usize) -> Diagnostic,
        line: impl Fn(&Wanted, &Fault) -> Option<String>,
    ) -> Option<Diagnostic> {
        let lines = self.leaves.iter().filter_map(|(leaf, fault)| Some((leaf, line(leaf, fault)?)));
        let lines: Vec<String> = lines.map(|(leaf, line)| format!("`{}`: {line}", leaf.name)).collect();
        let new = || lines.iter().fold(diagnostic(lines.len()), |d, line| d.facts(line.clone()));
        (!lines.is_empty()).then(new)
    }

    fn missing(&self) -> Option<Diagnostic> {
        let message = |n| format!("{} has no tensors for {}", self.path.display(), counted(n, "leaf", "leaves"));
        let line = |leaf: &Wanted, fault: &Fault| {
            let Fault::Missing(file) = fault else { return None };
            let near = did_you_mean(&leaf.name, self.names.iter().map(|name| &name[..]));
            let more = match (file, near) {
                (Some(file), _) => format!("; {file} does not have it, although the index says so"),
                (None, Some(near)) => format!("; did you mean `{near}`?"),
                (None, None) => String::new(),
            };
            Some(leaf.ty().short() + &more)
        };
        let d = self.list(|n| Diagnostic::error("tensor-missing", self.loc, message(n)), line)?;
        Some(d.help("a leaf is read from the tensor of its name, which is its path in the tree with dots"))
    }

    fn dtypes(&self) -> Option<Diagnostic> {
        let message = |n| format!("{} has {} of another element type", self.path.display(), tensors(n));
        let line = |leaf: &Wanted, fault: &Fault| match (fault, self.format) {
            (Fault::DType(given), Format::Safetensors) => Some(format!("{}, found {given}", leaf.ty().short())),
            (Fault::DType(given), Format::Npz) => {
                Some(format!("{} ({}), found {given}", leaf.ty().short(), numpy_name(leaf.ty().dtype)))
            }
            _ => None,
        };
        let d = self.list(|n| Diagnostic::error("tensor-dtype", self.loc, message(n)), line)?;
        Some(d.help("ask for the type that is in the file, and convert the array afterwards with `.astype(..)`"))
    }

    fn shapes(&self) -> Option<Diagnostic> {
        let message = |n| format!("{} has {} of another shape", self.path.display(), tensors(n));
        let line = |leaf: &Wanted, fault: &Fault| match fault {
            Fault::Shape(given) => Some(format!("{}, found the shape {given:?}", leaf.ty().short())),
            _ => None,
        };
        self.list(|n| Diagnostic::error("tensor-shape", self.loc, message(n)), line)
    }

    fn short(&self) -> Option<Diagnostic> {
        let message = |n| format!("the data of {} is cut off in {}", tensors(n), self.path.display());
        let line = |leaf: &Wanted, fault: &Fault| match fault {
            Fault::Short(None) => Some(leaf.ty().short()),
            Fault::Short(Some(file)) => Some(format!("{} in {file}", leaf.ty().short())),
            _ => None,
        };
        let d = self.list(|n| Diagnostic::error("tensor-truncated", self.loc, message(n)), line)?;
        Some(d.help("the file was not written or copied completely: write it again"))
    }

    fn long(&self) -> Option<Diagnostic> {
        let message = |n| format!("{} has more data than the shapes of {} say", self.path.display(), tensors(n));
        let line = |leaf: &Wanted, fault: &Fault| (*fault == Fault::Long).then(|| leaf.ty().short());
        self.list(|n| Diagnostic::error("tensor-length", self.loc, message(n)), line)
    }

    fn elements(&self) -> Option<Diagnostic> {
        let message =
            |n| format!("{} has {} with elements that their types do not have", self.path.display(), tensors(n));
        let line = |leaf: &Wanted, fault: &Fault| match fault {
            Fault::Element(position, byte) => Some(format!("{}, byte {byte} at {position:?}", leaf.ty().short())),
            _ => None,
        };
        self.list(|n| Diagnostic::error("tensor-element", self.loc, message(n)), line)
    }

    fn broken(&self) -> Option<Diagnostic> {
        let message = |n| format!("{} has {} that cannot be read", self.path.display(), tensors(n));
        let line = |leaf: &Wanted, fault: &Fault| match fault {
            Fault::Broken(why) => Some(format!("{}: {why}", leaf.ty().short())),
            _ => None,
        };
        self.list(|n| Diagnostic::error("tensor-unreadable", self.loc, message(n)), line)
    }

    fn unused(&self) -> Option<Diagnostic> {
        let message = format!("{} has {} that the tree does not have", self.path.display(), tensors(self.unused.len()));
        let d = Diagnostic::error("tensor-unused", self.loc, message);
        let d = self.unused.iter().fold(d, |d, name| d.facts(format!("`{name}`")));
        let help = "to read only a part of the tensors, use `checkpoint::Options::allow_unused`";
        (!self.unused.is_empty()).then(|| d.help(help))
    }
}

fn tensors(n: usize) -> String {
    counted(n, "tensor", "tensors")
}

/// Formats a number of things: `1 leaf`, `2 leaves`.
fn counted(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}
