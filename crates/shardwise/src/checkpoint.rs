//! Checkpoints: trees in folders of safetensors files, as Hugging Face's libraries write and read them.
//!
//! ```
//! use shardwise::prelude::*;
//!
//! #[derive(Tree, Clone)]
//! struct Params<T = Array> {
//!     w: T,
//!     b: T,
//! }
//!
//! # fn main() -> Result<()> {
//! # let folder = std::env::temp_dir().join(format!("shardwise-doc-checkpoint-{}", std::process::id()));
//! set_mesh(Mesh::auto([("data", 2), ("model", 4)])?);
//! let params = Params { w: ones([8, 16], BF16).shard(P!("data", "model")), b: zeros([16], F32).shard(P!("model")) };
//! checkpoint::save(&params, &folder)?;
//!
//! // Another run, on another mesh.
//! set_mesh(Mesh::auto([("x", 8)])?);
//! let types = Params { w: Array::of_type([8, 16], BF16), b: Array::of_type([16], F32) };
//! let params = checkpoint::restore_as(&types, Params { w: P!(None, "x"), b: P!() }, &folder)?;
//! assert_eq!(params.w.ty().to_string(), "bf16[8,16@x]");
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! A leaf is a tensor of the name that [`Path::name`](crate::Path::name) returns, such as `layers.3.wq`. Each tensor is
//! whole and in one file, whatever the layout of the leaf:
//!
//! - A tree of at most [`Options::max_shard_size`] bytes, or with only one tensor that has bytes, is one file,
//!   `model.safetensors`.
//! - Any other is `model-00001-of-00003.safetensors` and so on, and `model.safetensors.index.json`, which has the file
//!   of each tensor (`weight_map`) and the number of bytes of all tensors (`metadata.total_size`).
//!
//! # Replacing a checkpoint
//!
//! The folder has the old checkpoint until all of the new one is on the disk, and the new one after that: also if the
//! process is killed at any time, or if the disk is full. The renaming or removal of one file decides. What a killed
//! process leaves of an unfinished checkpoint is removed by the next call that saves to the folder. Other files in the
//! folder do not change, but names such as `model-00001-of-00002.safetensors` belong to the checkpoint.
//!
//! If several processes save to one folder, one waits for the other. This needs a file system that has locks.

mod folder;
#[cfg(test)]
mod tests;

use crate::tensors::mistakes::unwritable;
use crate::tensors::store::Unused;
use crate::tensors::{Format, Leaf, Wanted, leaves, wanted, wanted_as};
use crate::{Error, Result, SpecFor, Tree, context, limits, tree};
use shardwise_base::Loc;
use std::panic::{Location, resume_unwind};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// Writes a tree to a folder with the default [`Options`]. See [`Options::save`].
///
/// # Errors
///
/// Those of [`Options::save`].
#[track_caller]
pub fn save<T: Tree>(tree: &T, folder: impl AsRef<Path>) -> Result<()> {
    Options::default().save(tree, folder)
}

/// Writes a tree to a folder while the program goes on, with the default [`Options`]. See
/// [`Options::save_in_background`].
///
/// # Errors
///
/// Those of [`Options::save_in_background`].
#[track_caller]
pub fn save_in_background<T: Tree>(tree: &T, folder: impl AsRef<Path>) -> Result<Saving> {
    Options::default().save_in_background(tree, folder)
}

/// Reads a tree from a folder with the default [`Options`]. See [`Options::restore`].
///
/// # Errors
///
/// Those of [`Options::restore`].
#[track_caller]
pub fn restore<T: Tree>(like: &T, folder: impl AsRef<Path>) -> Result<T> {
    Options::default().restore(like, folder)
}

/// Reads a tree from a folder in the layouts of `specs`, with the default [`Options`]. See [`Options::restore_as`].
///
/// # Errors
///
/// Those of [`Options::restore_as`].
#[track_caller]
pub fn restore_as<T: Tree>(like: &T, specs: impl SpecFor<T>, folder: impl AsRef<Path>) -> Result<T> {
    Options::default().restore_as(like, specs, folder)
}

/// How checkpoints are written and read.
///
/// ```
/// # use shardwise::prelude::*;
/// # fn main() -> Result<()> {
/// # let folder = std::env::temp_dir().join(format!("shardwise-doc-options-{}", std::process::id()));
/// let weights = vec![ones([256], F32), ones([256], F32), ones([256], F32)];
/// checkpoint::Options::default().max_shard_size(2048).save(&weights, &folder)?;
/// assert!(folder.join("model-00002-of-00002.safetensors").exists());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "options have no effect until they are passed to a function"]
pub struct Options {
    max_shard_size: u64,
    unused: Unused,
}

impl Default for Options {
    /// Returns the options by which files have at most 5 GB of tensors, and tensors that the tree does not have are a
    /// mistake.
    fn default() -> Options {
        Options { max_shard_size: 5_000_000_000, unused: Unused::Refused }
    }
}

impl Options {
    /// Sets the number of bytes of tensors that a file has at most. The default is 5 GB (5·10^9). A larger tensor is in
    /// a file of its own.
    pub fn max_shard_size(self, bytes: u64) -> Options {
        Options { max_shard_size: bytes, ..self }
    }

    /// Allows the folder to have tensors that the tree does not have, which are not read.
    pub fn allow_unused(self) -> Options {
        Options { unused: Unused::Allowed, ..self }
    }

    /// Writes a tree to a folder, which is made if it does not exist. A checkpoint in the folder is replaced.
    ///
    /// # Memory
    ///
    /// 16 MiB in addition to the arrays: no array is gathered. Leaves that have not been made yet are made, and sums
    /// over devices are reduced, which takes the memory of these arrays.
    ///
    /// # Errors
    ///
    /// - `leaf-dtype` if some leaves have types that cannot be saved.
    /// - `leaf-name` if leaves have equal names, or one has the name `__metadata__`.
    /// - `leaf-value` and those of [`Array::ready`](crate::Array::ready), for all leaves that have no value.
    /// - `file-unwritable` if the folder cannot be made, or a file in it cannot be written or replaced. An older
    ///   checkpoint is then unchanged.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn save<T: Tree>(&self, tree: &T, folder: impl AsRef<Path>) -> Result<()> {
        let at = Location::caller();
        let leaves = leaves(tree, Format::Safetensors, at)?;
        limits::run(at, || self.write(&leaves, folder.as_ref(), &context::loc(at)))
    }

    /// Writes a tree to a folder while the program goes on. The arrays can be used, and donated to functions: their
    /// buffers are kept until they are written.
    ///
    /// # Memory
    ///
    /// As for [`Options::save`]. A donated array is copied where it would have been overwritten.
    ///
    /// # Errors
    ///
    /// Those of [`Options::save`] that are about leaves, and `io` if no thread can be started. [`Saving::wait`] returns
    /// those of writing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # fn main() -> Result<()> {
    /// # let folder = std::env::temp_dir().join(format!("shardwise-doc-background-{}", std::process::id()));
    /// let mut weights = ones([1000], F32);
    /// let saving = checkpoint::save_in_background(&weights, &folder)?;
    /// weights = weights * 0.5;
    /// saving.wait()?;
    /// assert_eq!(checkpoint::restore(&weights, &folder)?.i(0).item::<f32>()?, 1.0);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn save_in_background<T: Tree>(&self, tree: &T, folder: impl AsRef<Path>) -> Result<Saving> {
        let at = Location::caller();
        let (leaves, loc) = (leaves(tree, Format::Safetensors, at)?, context::loc(at));
        let (options, folder) = (self.clone(), folder.as_ref().to_path_buf());
        let path = folder.clone();
        let write = move || limits::run_at(|| loc.clone(), || options.write(&leaves, &path, &loc));
        let thread = thread::Builder::new().name("checkpoint".into()).spawn(limits::carried(write))?;
        Ok(Saving { folder, thread: Some(thread) })
    }

    fn write(&self, leaves: &[Leaf], folder: &Path, loc: &Loc) -> Result<()> {
        let written = folder::write(folder, leaves, self.max_shard_size);
        written.map_err(|(path, e)| Error::one(unwritable(&path, &e, loc)))
    }

    /// Reads a tree from a folder. `like` is a tree of types ([`Array::of_type`](crate::Array::of_type)) or of arrays,
    /// whose values are not used. The result has the types and layouts of `like`, on whatever mesh the checkpoint was
    /// written.
    ///
    /// # Memory
    ///
    /// 16 MiB in addition to the new arrays.
    ///
    /// # Cost
    ///
    /// Each byte of the tensors is read once, also if several devices hold it, and the header of each file.
    ///
    /// # Errors
    ///
    /// - The mistakes that leaves of `like` carry.
    /// - `checkpoint-missing` if there is no checkpoint in the folder.
    /// - `file-unreadable` if a file does not exist, cannot be read or is malformed, with the tensors in it.
    /// - `tensor-missing`, `tensor-dtype`, `tensor-shape`, `tensor-truncated`, `tensor-element` and
    ///   `tensor-unreadable`, with all leaves for which the folder does not have the right tensor, or whose tensor
    ///   cannot be read.
    /// - `tensor-unused` with all tensors that no leaf asks for, unless they are [allowed](Options::allow_unused).
    /// - `leaf-name` if leaves have equal names, or one has the name `__metadata__`.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn restore<T: Tree>(&self, like: &T, folder: impl AsRef<Path>) -> Result<T> {
        let at = Location::caller();
        self.read(like, &wanted(like, Format::Safetensors, at)?, folder.as_ref(), at)
    }

    /// Reads a tree from a folder as [`Options::restore`] does, in the layouts of `specs`. A leaf is laid out on the
    /// mesh of its spec ([`Mesh::sharding`](crate::Mesh::sharding)). If that is a `P` without a mesh, it is laid out on
    /// its own mesh, or, if it has none, on the current one of this thread. To continue on another mesh, pass the types
    /// of the leaves ([`Array::of_type`](crate::Array::of_type)) in place of the old arrays.
    ///
    /// # Errors
    ///
    /// Those of [`Options::restore`], `spec-form` if the specs do not have the form of the tree, and those of
    /// [`Array::shard`](crate::Array::shard).
    #[track_caller]
    pub fn restore_as<T: Tree>(&self, like: &T, specs: impl SpecFor<T>, folder: impl AsRef<Path>) -> Result<T> {
        let at = Location::caller();
        self.read(like, &wanted_as(like, &specs, Format::Safetensors, at)?, folder.as_ref(), at)
    }

    fn read<T: Tree>(&self, like: &T, wanted: &[Wanted], folder: &Path, at: &'static Location<'static>) -> Result<T> {
        limits::run(at, || {
            let mut store = folder::open(folder, wanted, self.unused, &context::loc(at))?;
            let arrays = store.read(wanted, self.unused, &context::loc(at))?;
            Ok(tree::with_leaves(like, arrays))
        })
    }
}

/// A checkpoint that is being written in the background. If it is dropped, the program waits for it, and its errors are
/// lost.
#[must_use = "the errors of writing are those of `.wait()`"]
pub struct Saving {
    folder: PathBuf,
    /// `None` once [`Saving::wait`] has taken it.
    thread: Option<JoinHandle<Result<()>>>,
}

impl Saving {
    /// Waits until the checkpoint is on the disk.
    ///
    /// # Errors
    ///
    /// - `file-unwritable` if the folder cannot be made, or a file in it cannot be written or replaced. An older
    ///   checkpoint is then unchanged.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    ///
    /// # Panics
    ///
    /// Passes on a panic of the thread that writes.
    pub fn wait(mut self) -> Result<()> {
        let thread = self.thread.take().expect("it is waited for once");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns true if the checkpoint is on the disk or has failed, so that [`Saving::wait`] returns at once.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns the folder that is written.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        self.thread.take().map(JoinHandle::join);
    }
}

impl std::fmt::Debug for Saving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Saving({})", self.folder.display())
    }
}
