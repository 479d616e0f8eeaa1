//! Trees in `.npz` files, numpy's format.
//!
//! ```
//! use shardwise::{npz, prelude::*};
//!
//! # fn main() -> Result<()> {
//! # let path = std::env::temp_dir().join(format!("shardwise-doc-{}.npz", std::process::id()));
//! let pair = (arange(0..6, I32).reshape([2, 3]), ones([4], BF16));
//! npz::save(&pair, &path)?;
//! let types = (Array::of_type([2, 3], I32), Array::of_type([4], BF16));
//! let read = npz::load(&types, &path)?;
//! assert_eq!(read.0.to_vec::<i32>()?, [0, 1, 2, 3, 4, 5]);
//! # std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```
//!
//! Each leaf is an array of the name that [`Path::name`](crate::Path::name) returns: this file has the arrays `0` and
//! `1`. Numpy has no names for bf16 and f8: bf16 is `V2` or `uint16` in a file, and f8 is `V1` or `uint8`. So the types
//! are always those that are asked for.

use crate::tensors::mistakes::{Fault, Faults, unreadable, unwritable};
use crate::tensors::{Format, Leaf, Wanted, leaves, wanted};
use crate::{Array, Error, Result, Tree, context, limits, tree};
use shardwise_files::npz::{Reader, Writer};
use std::io;
use std::panic::Location;
use std::path::Path;

/// Writes a tree to a file, which is not compressed. If this fails, or the process is killed, an older file at `path`
/// is unchanged.
///
/// # Memory
///
/// 16 MiB in addition to the arrays. Leaves that have not been made yet are made, and sums over devices are reduced,
/// which takes the memory of these arrays.
///
/// # Errors
///
/// - `leaf-name` if leaves have equal names.
/// - `leaf-value` and those of [`Array::ready`], for all leaves that have no value.
/// - `file-unwritable` if the file cannot be written, or cannot have an array of the name of a leaf.
/// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
#[track_caller]
pub fn save<T: Tree>(tree: &T, path: impl AsRef<Path>) -> Result<()> {
    let (at, path) = (Location::caller(), path.as_ref());
    let leaves = leaves(tree, Format::Npz, at)?;
    limits::run(at, || write(path, &leaves).map_err(|e| Error::one(unwritable(path, &e, &context::loc(at)))))
}

fn write(path: &Path, leaves: &[Leaf]) -> io::Result<()> {
    let mut archive = Writer::create(path)?;
    for leaf in leaves {
        archive.start(&leaf.tensor.name, leaf.tensor.dtype, &leaf.tensor.shape)?;
        leaf.write(&mut archive)?;
    }
    archive.commit()
}

/// Reads a tree from a file, which may be compressed. `like` is a tree of types ([`Array::of_type`]) or of arrays,
/// whose values are not used. The result has the types and layouts of `like`.
///
/// # Memory
///
/// 16 MiB in addition to the new arrays, whatever sizes the file states.
///
/// # Errors
///
/// - The mistakes that leaves of `like` carry.
/// - `file-unreadable` if the file cannot be read, or is no archive.
/// - `tensor-missing`, `tensor-dtype`, `tensor-shape`, `tensor-truncated`, `tensor-length`, `tensor-element`,
///   `tensor-unreadable` and `tensor-unused`, with all leaves for which the file does not have the right array, and all
///   arrays that no leaf asks for.
/// - `leaf-name` if leaves have equal names.
/// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
#[track_caller]
pub fn load<T: Tree>(like: &T, path: impl AsRef<Path>) -> Result<T> {
    let (at, path) = (Location::caller(), path.as_ref());
    let (wanted, loc) = (wanted(like, Format::Npz, at)?, context::loc(at));
    limits::run(at, || {
        let mut archive = Reader::open(path).map_err(|e| Error::one(unreadable(path, &e, &[], &loc)))?;
        let names = archive.names();
        let mut faults = Faults::new(path, Format::Npz, &names, &loc);
        faults.add_unused(&wanted);
        let mut arrays = vec![];
        for leaf in &wanted {
            match read(&mut archive, &names, leaf) {
                Ok(array) => arrays.push(array),
                Err(fault) => faults.add(leaf, fault),
            }
        }
        faults.or(())?;
        Ok(tree::with_leaves(like, arrays))
    })
}

fn read(archive: &mut Reader, names: &[String], leaf: &Wanted) -> Result<Array, Fault> {
    let index = names.iter().rposition(|name| *name == leaf.name).ok_or(Fault::Missing(None))?;
    let mut member = archive.member(index, leaf.ty())?;
    let array = leaf.read(|out| member.read(out).map_err(Fault::from))?;
    member.finish()?;
    Ok(array)
}
