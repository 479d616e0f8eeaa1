//! Trees in single files of the format safetensors, which PyTorch, JAX and others read and write.
//!
//! ```
//! use shardwise::{prelude::*, safetensors};
//!
//! #[derive(Tree, Clone)]
//! struct Params<T = Array> {
//!     w: T,
//!     b: T,
//! }
//!
//! # fn main() -> Result<()> {
//! # let path = std::env::temp_dir().join(format!("shardwise-doc-{}.safetensors", std::process::id()));
//! let params = Params { w: ones([8, 4], BF16), b: zeros([4], F32) };
//! safetensors::save(&params, &path)?;
//! let types = Params { w: Array::of_type([8, 4], BF16), b: Array::of_type([4], F32) };
//! let read = safetensors::load(&types, &path)?;
//! assert_equal(&read.w, &params.w);
//! let all = safetensors::load_all(&path)?;
//! assert_eq!(all["b"].ty().to_string(), "f32[4]");
//! # std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```
//!
//! Each leaf is a tensor of the name that [`Path::name`](crate::Path::name) returns. Arrays of these types cannot be
//! saved: those of less than eight bits but `Bool`, and `C128`, `F8E3M4`, `F8E4M3` and `F8E4M3B11FNUZ`. For trees that
//! are too large for one file, and for training, see [`checkpoint`](mod@crate::checkpoint).

use crate::tensors::mistakes::{unknown_dtype, unreadable, unwritable};
use crate::tensors::store::{Store, Unused};
use crate::tensors::{Format, Leaf, Wanted, leaves, wanted};
use crate::{Array, Error, Result, Tree, context, limits, shape, tree};
use shardwise_base::file::NewFile;
use shardwise_files::safetensors::{Entry, Tensor, header};
use shardwise_ir::TensorType;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::Location;
use std::path::Path;

/// Writes a tree to one file. If this fails, or the process is killed, an older file at `path` is unchanged.
///
/// # Memory
///
/// 16 MiB in addition to the arrays. Leaves that have not been made yet are made, and sums over devices are reduced,
/// which takes the memory of these arrays.
///
/// # Errors
///
/// - `leaf-dtype` if some leaves have types that cannot be saved.
/// - `leaf-name` if leaves have equal names, or one has the name `__metadata__`.
/// - `leaf-value` and those of [`Array::ready`], for all leaves that have no value.
/// - `file-unwritable` if the file cannot be written.
/// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
#[track_caller]
pub fn save<T: Tree>(tree: &T, path: impl AsRef<Path>) -> Result<()> {
    let (at, path) = (Location::caller(), path.as_ref());
    let leaves = leaves(tree, Format::Safetensors, at)?;
    limits::run(at, || {
        let all: Vec<&Leaf> = leaves.iter().collect();
        write(path, &all).map_err(|e| Error::one(unwritable(path, &e, &context::loc(at))))
    })
}

/// Writes these leaves to a file, or leaves an older file unchanged. Fails if the file cannot be written.
pub(crate) fn write(path: &Path, leaves: &[&Leaf]) -> io::Result<()> {
    let tensors: Vec<Tensor> = leaves.iter().map(|leaf| leaf.tensor.clone()).collect();
    let (start, order) = header(&tensors);
    let mut file = NewFile::create(path)?;
    file.write_all(&start)?;
    order.into_iter().try_for_each(|i| leaves[i].write(&mut file))?;
    file.commit()
}

/// Reads a tree from a file. `like` is a tree of types ([`Array::of_type`]) or of arrays, whose values are not used.
/// The result has the types and layouts of `like`.
///
/// # Memory
///
/// 16 MiB in addition to the new arrays.
///
/// # Errors
///
/// - The mistakes that leaves of `like` carry.
/// - `file-unreadable` if the file cannot be read, or if its header is malformed.
/// - `tensor-missing`, `tensor-dtype`, `tensor-shape`, `tensor-truncated`, `tensor-element`, `tensor-unreadable` and
///   `tensor-unused`, with all leaves for which the file does not have the right tensor, and all tensors that no leaf
///   asks for.
/// - `leaf-name` if leaves have equal names, or one has the name `__metadata__`.
/// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
#[track_caller]
pub fn load<T: Tree>(like: &T, path: impl AsRef<Path>) -> Result<T> {
    let (at, path) = (Location::caller(), path.as_ref());
    let wanted = wanted(like, Format::Safetensors, at)?;
    limits::run(at, || {
        let arrays = opened(path, at)?.read(&wanted, Unused::Refused, &context::loc(at))?;
        Ok(tree::with_leaves(like, arrays))
    })
}

/// Reads all tensors of a file, by their names. The arrays are on one device.
///
/// # Errors
///
/// - `file-unreadable`, `tensor-truncated`, `tensor-element`, `tensor-unreadable`, `run-memory`, `run-steps` and
///   `run-cancelled`, as for [`load`].
/// - `tensor-dtype`, with all tensors of types that cannot be read, such as those that the format packs into less than
///   a byte.
/// - `too-large` if a tensor has 2^59 bytes or more, where a size of 0 counts as 1, or more than 255 dimensions.
#[track_caller]
pub fn load_all(path: impl AsRef<Path>) -> Result<BTreeMap<String, Array>> {
    let (at, path) = (Location::caller(), path.as_ref());
    limits::run(at, || {
        let mut store = opened(path, at)?;
        let (mut types, mut others) = (vec![], vec![]);
        for Entry { name, dtype, shape, .. } in store.entries() {
            match dtype {
                Ok(dtype) => types.push((name.clone(), TensorType::new(*dtype, shape.clone()))),
                Err(dtype) => others.push(format!("`{name}`: {dtype}")),
            }
        }
        if !others.is_empty() {
            return Err(Error::one(unknown_dtype(path, &others, &context::loc(at))));
        }
        if let Some((_, ty)) = types.iter().find(|(_, ty)| !shape::fits(ty)) {
            return Err(Error::one(crate::mistakes::too_large(ty, &context::loc(at))));
        }
        let wanted: Vec<Wanted> = types.into_iter().map(|(name, ty)| Wanted::whole(&name, ty, at)).collect();
        let arrays = store.read(&wanted, Unused::Refused, &context::loc(at))?;
        Ok(wanted.into_iter().map(|leaf| leaf.name).zip(arrays).collect())
    })
}

fn opened(path: &Path, at: &'static Location<'static>) -> Result<Store> {
    Store::open(path).map_err(|e| Error::one(unreadable(path, &e.to_string(), &[], &context::loc(at))))
}
