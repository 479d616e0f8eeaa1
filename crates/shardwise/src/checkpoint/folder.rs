//! The folder of a checkpoint, which always has one whole checkpoint.
//!
//! Whoever reads a folder takes the index if there is one, and `model.safetensors` otherwise. So a checkpoint of
//! several files becomes the one that is read when its index is renamed, and a checkpoint of one file when it is
//! renamed, or when the index of the one before is removed. Everything else is done before, on files that no reader
//! opens, or after, on files that no reader opens any more.
//!
//! The files of a new checkpoint must not have the names of those that the old index refers to. If they would, they are
//! first named `model.new-00001-of-00002.safetensors`. They get their usual names, and a second index, when the old
//! files have been removed. If the old index, which another program wrote, refers to `model.safetensors`, a checkpoint
//! of one file is first written as one of several files.

use crate::safetensors;
use crate::tensors::mistakes::{no_checkpoint, unreadable};
use crate::tensors::store::{Store, Unused};
use crate::tensors::{Leaf, Wanted};
use crate::{Error, Result};
use shardwise_base::Loc;
use shardwise_base::file;
use shardwise_files::safetensors::{Index, IndexMetadata};
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

/// Opening a checkpoint is tried fewer times than this, and then fails. It is tried again if the checkpoint was
/// replaced at the same time.
const MAX_TRIES: usize = 100;

// ── writing
/// The result of an operation on files. The error has the path of the file or folder that it occurred at.
type OfFile<T> = Result<T, (PathBuf, io::Error)>;

/// Returns true for the number of this process, and for those of others that are listed in `/proc`.
fn is_running(process: u32) -> bool {
    process == std::process::id() || Path::new("/proc").join(process.to_string()).exists()
}

/// Writes the leaves to the folder, in place of the checkpoint that is there. Fails if the folder cannot be made, a
/// file cannot be written, or the old index cannot be removed, and leaves the old checkpoint.
pub(super) fn write(folder: &Path, leaves: &[Leaf], max_shard_size: u64) -> OfFile<()> {
    let of = |name: &str| folder.join(name);
    fs::create_dir_all(folder).map_err(|e| (folder.to_path_buf(), e))?;
    let lock = File::open(folder).and_then(|f| f.lock().map(|()| f));
    if lock.is_ok() {
        remove(folder, |name| file::writer_of_temporary(name).is_some_and(|process| !is_running(process)));
    }
    let old = File::open(of(INDEX)).and_then(|mut f| Index::read(&mut f)).unwrap_or_default();
    let old: BTreeSet<&str> = old.weight_map.values().map(|name| &name[..]).collect();
    let shards = shards(leaves, max_shard_size);
    if let [all] = &shards[..]
        && !old.contains(SINGLE)
    {
        safetensors::write(&of(SINGLE), all).map_err(|e| (of(SINGLE), e))?;
        match fs::remove_file(of(INDEX)) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err((of(INDEX), e)),
            _ => remove(folder, is_shard),
        }
        return Ok(());
    }
    let usual = Names { prefix: "model", count: shards.len() };
    let is_free = (0..shards.len()).all(|i| !old.contains(&usual.of(i)[..]));
    let names = if is_free { usual } else { Names { prefix: "model.new", ..usual } };
    let mut new = Unfinished { folder, names: vec![] };
    for (i, leaves) in shards.iter().enumerate() {
        new.names.push(names.of(i));
        safetensors::write(&of(&names.of(i)), leaves).map_err(|e| (of(&names.of(i)), e))?;
    }
    let index = |names: &Names| file::write(&of(INDEX), names.index(&shards).text());
    index(&names).map_err(|e| (of(INDEX), e))?;
    let kept: BTreeSet<String> = std::mem::take(&mut new.names).into_iter().collect();
    remove(folder, |name| (is_shard(name) || old.contains(name) || name == SINGLE) && !kept.contains(name));
    if shards.len() == 1 {
        // If this fails, the checkpoint keeps its index.
        let linked = fs::hard_link(of(&names.of(0)), of(SINGLE));
        if linked.and_then(|()| fs::remove_file(of(INDEX))).is_ok() {
            remove(folder, is_shard);
        }
    } else if !is_free {
        // If this fails, the checkpoint keeps its names.
        let linked = (0..shards.len()).try_for_each(|i| fs::hard_link(of(&names.of(i)), of(&usual.of(i))));
        let is_usual = linked.and_then(|()| index(&usual)).is_ok();
        let unused = if is_usual { &names } else { &usual };
        let unused: BTreeSet<String> = (0..shards.len()).map(|i| unused.of(i)).collect();
        remove(folder, |name| unused.contains(name));
    }
    Ok(())
}

/// Divides the leaves into files, in order. A file has at most `max_shard_size` bytes of tensors, or only one tensor
/// that has bytes. There is at least one file.
fn shards(leaves: &[Leaf], max_shard_size: u64) -> Vec<Vec<&Leaf>> {
    let (mut shards, mut size) = (vec![vec![]], 0);
    for leaf in leaves {
        let bytes = leaf.tensor.bytes();
        if size > 0 && bytes > 0 && size + bytes > max_shard_size {
            shards.push(vec![]);
            size = 0;
        }
        shards.last_mut().expect("there is one").push(leaf);
        size += bytes;
    }
    shards
}

#[derive(Clone, Copy)]
struct Names {
    prefix: &'static str,
    count: usize,
}

impl Names {
    fn of(&self, i: usize) -> String {
        format!("{}-{:05}-of-{:05}.safetensors", self.prefix, i + 1, self.count)
    }

    fn index(&self, shards: &[Vec<&Leaf>]) -> Index {
        let total_size = shards.iter().flatten().map(|leaf| leaf.tensor.bytes()).sum();
        let files = shards.iter().enumerate();
        let places =
            files.flat_map(|(i, leaves)| leaves.iter().map(move |leaf| (leaf.tensor.name.clone(), self.of(i))));
        Index { metadata: IndexMetadata { total_size }, weight_map: places.collect() }
    }
}

/// Returns true for names such as `model-00001-of-00002.safetensors`, also with `model.new` in place of `model`.
fn is_shard(name: &str) -> bool {
    let is_number = |part: &str| part.len() >= 5 && part.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.strip_suffix(".safetensors").and_then(|name| {
        let numbers = name.strip_prefix("model-").or_else(|| name.strip_prefix("model.new-"))?;
        numbers.split_once("-of-")
    });
    numbers.is_some_and(|(i, count)| is_number(i) && is_number(count))
}

fn remove(folder: &Path, is_removed: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&is_removed) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The files of a checkpoint that is not finished. They are removed when this is dropped.
struct Unfinished<'a> {
    folder: &'a Path,
    names: Vec<String>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

// ── reading
/// Opens the files of the checkpoint that have the leaves, or all of them unless unused tensors are allowed. Opens them
/// again if the checkpoint was replaced at the same time, so that old and new files do not mix.
///
/// Errors: `checkpoint-missing` if there is none. `file-unreadable` if the index or the only file cannot be read or is
/// malformed, or if the checkpoint was replaced each time that it was opened.
pub(super) fn open(folder: &Path, wanted: &[Wanted], unused: Unused, loc: &Loc) -> Result<Store> {
    let names: BTreeSet<&str> = wanted.iter().map(|leaf| &leaf.name[..]).collect();
    let names = (unused == Unused::Allowed).then_some(&names);
    for _ in 1..MAX_TRIES {
        if let Some(store) = try_open(folder, names, loc)? {
            return Ok(store);
        }
    }
    Err(Error::one(unreadable(folder, "it is replaced again and again", &[], loc)))
}

/// Opens the files of the checkpoint that have tensors of these names, or all of them for `None`. Returns `None` if the
/// checkpoint was replaced at the same time. Fails if there is no checkpoint, or if its index or only file cannot be
/// read or is malformed.
fn try_open(folder: &Path, names: Option<&BTreeSet<&str>>, loc: &Loc) -> Result<Option<Store>> {
    let (index, single) = (folder.join(INDEX), folder.join(SINGLE));
    let wrong = |path: &Path, e: io::Error| Err(Error::one(unreadable(path, &e.to_string(), &[], loc)));
    match File::open(&index) {
        Ok(mut file) => {
            let read = match Index::read(&mut file) {
                Ok(read) => read,
                Err(e) => return wrong(&index, e),
            };
            let store = Store::of_index(folder, &read, names);
            // The old index stays open, so that no other file has its identity.
            let is_same = file.metadata().is_ok_and(|a| fs::metadata(&index).is_ok_and(|b| is_same(&a, &b)));
            Ok(is_same.then_some(store))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => match Store::open(&single) {
            Ok(store) => Ok(Some(store)),
            Err(e) if e.kind() == ErrorKind::NotFound && index.exists() => Ok(None),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(Error::one(no_checkpoint(folder, loc))),
            Err(e) => wrong(&single, e),
        },
        Err(e) => wrong(&index, e),
    }
}

fn is_same(a: &Metadata, b: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if (a.dev(), a.ino()) != (b.dev(), b.ino()) {
            return false;
        }
    }
    a.len() == b.len() && a.modified().ok() == b.modified().ok()
}
