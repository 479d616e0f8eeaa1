//! The diagnostics of files of tensors. Each names all leaves at fault, one in each line.

use super::{Format, Wanted};
use crate::{DType, Error, Result};
use shardwise_base::compare::indices;
use shardwise_base::{self as base, DTypeKind, Diagnostic, Loc, counted, did_you_mean};
use shardwise_files::npz::{Mismatch, numpy_name};
use shardwise_ir::TensorType;
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn leaf_name(names: &BTreeSet<&str>, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("leaf-name", loc, "leaves of the tree have equal names, or a reserved name");
    names
        .iter()
        .fold(d, |d, name| d.facts(format!("`{name}`")))
        .help("a name is the path in the tree with dots: rename a key or a field; safetensors reserves `__metadata__`")
}

pub(super) fn leaf_dtype(format: Format, leaves: &[(&str, TensorType)], loc: &Loc) -> Diagnostic {
    let message = format!("these leaves have element types that cannot be saved in the format {}", format.name());
    let d = Diagnostic::error("leaf-dtype", loc, message);
    let d = leaves.iter().fold(d, |d, (name, ty)| d.facts(format!("`{name}`: {}", ty.short())));
    let conversion = |dtype: base::DType| {
        let to = match dtype.kind() {
            DTypeKind::Complex => DType::C64,
            DTypeKind::Float => DType::F32,
            _ => DType::I8,
        };
        format!("{} with `.astype({to:?})`", DType::of(dtype))
    };
    let conversions: BTreeSet<String> = leaves.iter().map(|(_, ty)| conversion(ty.dtype)).collect();
    d.help(format!("convert them first: {}", conversions.into_iter().collect::<Vec<_>>().join(", ")))
}

pub(super) fn leaf_value(names: &[String], loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("leaf-value", loc, "leaves of the tree have no value that can be saved");
    names.iter().fold(d, |d, name| d.facts(format!("`{name}`"))).note("the reasons follow")
}

pub(crate) fn unwritable(path: &Path, why: &std::io::Error, loc: &Loc) -> Diagnostic {
    Diagnostic::error("file-unwritable", loc, format!("cannot write {}: {why}", path.display()))
        .note("what was there before is unchanged")
        .help("check the permissions of the folder and the free space")
}

/// Builds the error for a file that cannot be read as a whole. `leaves` are the names of the tensors that an index
/// places in it, and there are none without an index.
pub(crate) fn unreadable(path: &Path, why: &str, leaves: &[String], loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("file-unreadable", loc, format!("cannot read {}: {why}", path.display()));
    leaves.iter().fold(d, |d, name| d.facts(format!("`{name}` is in it")))
}

pub(crate) fn no_checkpoint(folder: &Path, loc: &Loc) -> Diagnostic {
    Diagnostic::error("checkpoint-missing", loc, format!("there is no checkpoint in {}", folder.display()))
        .expected("a file `model.safetensors.index.json` or `model.safetensors`")
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// There is no tensor of the leaf's name. `Some` is the file that should have it, if an index names one.
    Missing(Option<String>),
    /// The tensor has this element type: the name in the file, or, for a type of safetensors that can be read, the
    /// short name of our type.
    DType(String),
    /// The tensor has this shape.
    Shape(Vec<usize>),
    /// The file ends before the tensor does. `Some` is the file's name, and `None` if there is only one file, or if the
    /// end was only seen when the data was read.
    Short(Option<String>),
    /// The file has more bytes for the tensor than its elements need.
    Long,
    /// The tensor has an element that is not a value of its type: its indices, and its byte.
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
    /// Returns the fault of element `index`, row-major, of an array of this shape, whose byte is `byte`.
    pub fn element(shape: &[usize], index: usize, byte: u8) -> Fault {
        Fault::Element(indices(shape, index), byte)
    }
}

pub(crate) struct Faults<'a> {
    /// The file or folder that is read.
    path: &'a Path,
    format: Format,
    /// The names of the tensors that the file or its index lists.
    names: &'a [String],
    loc: &'a Loc,
    leaves: Vec<(&'a Wanted, Fault)>,
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

    /// Adds a fault for each listed tensor whose name none of the leaves `wanted` has.
    pub fn add_unused(&mut self, wanted: &[Wanted]) {
        let wanted: BTreeSet<&str> = wanted.iter().map(|w| &w.name[..]).collect();
        self.unused.extend(self.names.iter().map(|name| &name[..]).filter(|name| !wanted.contains(name)));
    }

    /// Returns `value` if nothing has been added. Otherwise, returns an error with the diagnostics of whole files, then
    /// one for each kind of fault.
    pub fn or<T>(self, value: T) -> Result<T> {
        let kinds = [
            self.list(missing, |_, fault| match fault {
                Fault::Missing(file) => Some(file.as_ref().map(|file| format!("; {file} has no such tensor"))),
                _ => None,
            }),
            self.list(other_dtype, |ty, fault| match fault {
                Fault::DType(given) if self.format == Format::Npz => {
                    Some(Some(format!(" ({}), found {given}", numpy_name(ty.dtype))))
                }
                Fault::DType(given) => Some(Some(format!(", found {given}"))),
                _ => None,
            }),
            self.list(other_shape, |_, fault| match fault {
                Fault::Shape(given) => Some(Some(format!(", found the shape {given:?}"))),
                _ => None,
            }),
            self.list(truncated, |_, fault| match fault {
                Fault::Short(file) => Some(file.as_ref().map(|file| format!(" in {file}"))),
                _ => None,
            }),
            self.list(longer, |_, fault| (*fault == Fault::Long).then_some(None)),
            self.list(other_element, |_, fault| match fault {
                Fault::Element(position, byte) => Some(Some(format!(", byte {byte} at {position:?}"))),
                _ => None,
            }),
            self.list(broken, |_, fault| match fault {
                Fault::Broken(why) => Some(Some(format!(": {why}"))),
                _ => None,
            }),
            (!self.unused.is_empty()).then(|| unused(self.path, self.format, &self.unused, self.loc)),
        ];
        let all = self.others.iter().cloned().chain(kinds.into_iter().flatten());
        let error = all.fold(Error::new([]), |error, d| error.and(Error::one(d)));
        if error.is_empty() { Ok(value) } else { Err(error) }
    }

    /// Returns the diagnostic of one kind of fault, with a line for each leaf that has it, or `None` if no leaf has it.
    /// `new` takes the number of leaves. `more` returns `None` for a fault of another kind. Otherwise, it returns the
    /// text after the leaf's type, or `Some(None)` if [`Faults::near`] makes the text.
    fn list(
        &self,
        new: impl FnOnce(&Path, usize, &Loc) -> Diagnostic,
        more: impl Fn(&TensorType, &Fault) -> Option<Option<String>>,
    ) -> Option<Diagnostic> {
        let line = |(leaf, fault): &(&Wanted, Fault)| {
            let more = more(leaf.ty(), fault)?.or_else(|| self.near(leaf, fault)).unwrap_or_default();
            Some(format!("`{}`: {}{more}", leaf.name, leaf.ty().short()))
        };
        let lines: Vec<String> = self.leaves.iter().filter_map(line).collect();
        (!lines.is_empty()).then(|| with_facts(new(self.path, lines.len(), self.loc), lines))
    }

    /// Returns a text that asks whether a tensor with a similar name was meant, for a leaf whose tensor is missing.
    /// Returns `None` if there is no such tensor, and for other faults.
    fn near(&self, leaf: &Wanted, fault: &Fault) -> Option<String> {
        let names = self.names.iter().map(|name| &name[..]);
        let near = did_you_mean(&leaf.name, names).filter(|_| matches!(fault, Fault::Missing(_)))?;
        Some(format!("; did you mean `{near}`?"))
    }
}

/// Returns the diagnostic with these facts before its other notes.
fn with_facts(diagnostic: Diagnostic, facts: Vec<String>) -> Diagnostic {
    let notes = diagnostic.notes.clone();
    let mut d = facts.into_iter().fold(Diagnostic { notes: vec![], ..diagnostic }, Diagnostic::facts);
    d.notes.extend(notes);
    d
}

fn missing(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    let leaves = if n == 1 { "1 leaf".to_string() } else { format!("{n} leaves") };
    Diagnostic::error("tensor-missing", loc, format!("{} has no tensors for {leaves}", path.display()))
        .help("a leaf is read from the tensor of its name, which is its path in the tree with dots")
}

fn other_dtype(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    let message =
        format!("{} has {} of another element type than asked for, or of an unknown one", path.display(), tensors(n));
    Diagnostic::error("tensor-dtype", loc, message)
        .help("ask for the type in the file, and convert the array with `.astype(..)`; an unknown type cannot be read")
}

/// Builds the error for tensors of types that we do not have, where no type is asked for.
pub(crate) fn unknown_dtype(path: &Path, tensors: &[String], loc: &Loc) -> Diagnostic {
    let message = format!("{} has {} of a type that cannot be read", path.display(), self::tensors(tensors.len()));
    let d = Diagnostic::error("tensor-dtype", loc, message);
    let d = tensors.iter().fold(d, Diagnostic::facts);
    d.help("convert them to another type where the file is written")
}

fn other_shape(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    let message = format!("{} has {} of another shape than asked for", path.display(), tensors(n));
    Diagnostic::error("tensor-shape", loc, message)
}

fn truncated(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tensor-truncated", loc, format!("the data of {} is cut off in {}", tensors(n), path.display()))
        .help("the file was not written or copied completely: write it again")
}

fn longer(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    let tensors = tensors(n);
    let message = format!("{} has more data for {tensors} than the shapes in the file need", path.display());
    Diagnostic::error("tensor-length", loc, message).help("the file is damaged: write it again")
}

fn other_element(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    let message = format!("{} has {} with bytes that are no values of the element type", path.display(), tensors(n));
    Diagnostic::error("tensor-element", loc, message).help(
        "the byte of a boolean is 0 or 1, and that of another type of fewer than 8 bits is in the range of the type",
    )
}

fn broken(path: &Path, n: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tensor-unreadable", loc, format!("{} has {} that cannot be read", path.display(), tensors(n)))
}

fn unused(path: &Path, format: Format, names: &[&str], loc: &Loc) -> Diagnostic {
    let message = format!("{} has {} that the tree does not have", path.display(), tensors(names.len()));
    let d = Diagnostic::error("tensor-unused", loc, message);
    let help = match format {
        Format::Safetensors => {
            "add leaves of these names; a whole safetensors file is read with `safetensors::load_all`, and a part of a \
             checkpoint's folder with `checkpoint::Options::allow_unused`"
        }
        Format::Npz => "add leaves of these names",
    };
    names.iter().fold(d, |d, name| d.facts(format!("`{name}`"))).help(help)
}

fn tensors(n: usize) -> String {
    counted(n, "tensor")
}
