//! Tensors in one or more files of the format safetensors, and reading them into leaves.

use super::mistakes::{self, Fault, Faults};
use super::{Format, PIECE, Wanted};
use crate::{Array, Result};
use shardwise_base::Loc;
use shardwise_files::first_invalid;
use shardwise_files::safetensors::{Entry, Index, Reader};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Files whose headers have been read. They stay open, so that they can be read after they have been replaced.
pub(crate) struct Store {
    /// The file, or the folder of the files.
    path: PathBuf,
    files: Vec<Reader>,
    tensors: BTreeMap<String, Place>,
    /// The files that cannot be read: the path, the reason, and the names of the tensors that the index places in the
    /// file.
    broken: Vec<(PathBuf, String, Vec<String>)>,
}

struct Place {
    /// The name of the file, or `None` if there is only one file.
    file: Option<String>,
    /// The number of the file, and the tensor. `None` if the file does not have it, although an index says so, or if
    /// the file has not been opened.
    entry: Option<(usize, Entry)>,
}

/// The treatment of tensors that no leaf is read from: `Refused` makes them an error, and `Allowed` skips them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unused {
    Refused,
    Allowed,
}

impl Store {
    /// Opens one file. Fails as [`Reader::open`] does.
    pub fn open(path: &Path) -> io::Result<Store> {
        let file = Reader::open(path)?;
        let tensors = file
            .entries()
            .iter()
            .map(|e| (e.name.clone(), Place { file: None, entry: Some((0, e.clone())) }))
            .collect();
        Ok(Store { path: path.into(), files: vec![file], tensors, broken: vec![] })
    }

    /// Opens the files of an index that have tensors of these names, or all of its files for `None`. Files that cannot
    /// be read are an error of [`Store::read`].
    pub fn of_index(folder: &Path, index: &Index, names: Option<&BTreeSet<&str>>) -> Store {
        let mut by_file: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for (tensor, file) in &index.weight_map {
            by_file.entry(file).or_default().push(tensor);
        }
        let mut store = Store { path: folder.into(), files: vec![], tensors: BTreeMap::new(), broken: vec![] };
        for (file, tensors) in by_file {
            let is_wanted = names.is_none_or(|names| tensors.iter().any(|name| names.contains(&name[..])));
            let mut found: BTreeMap<String, Entry> = BTreeMap::new();
            if is_wanted {
                let path = folder.join(file);
                match Reader::open(&path) {
                    Ok(reader) => {
                        found.extend(reader.entries().iter().map(|e| (e.name.clone(), e.clone())));
                        store.files.push(reader);
                    }
                    Err(e) => {
                        let why =
                            if e.kind() == ErrorKind::NotFound { "it does not exist".into() } else { e.to_string() };
                        store.broken.push((path, why, tensors.iter().map(|name| name.to_string()).collect()));
                    }
                }
            }
            let number = store.files.len();
            let mut place = |name: &String| Place {
                file: Some(file.into()),
                entry: found.remove(name).map(|entry| (number - 1, entry)),
            };
            store.tensors.extend(tensors.into_iter().map(|name| (name.clone(), place(name))));
        }
        store
    }

    /// Returns the number of bytes that have been read.
    #[cfg(test)]
    pub fn bytes_read(&self) -> u64 {
        self.files.iter().map(Reader::bytes_read).sum()
    }

    /// Returns the tensors of the files that were opened, in the order of their names. Of the files of an index, only
    /// the tensors that the index places in them are returned.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.tensors.values().filter_map(|place| place.entry.as_ref()).map(|(_, entry)| entry)
    }

    /// Reads the leaves, and returns their arrays in the same order. Headers are compared with all leaves before any
    /// data is read.
    ///
    /// Errors: all leaves that cannot be read, with `file-unreadable` for whole files, and the tensors that are not
    /// read if these are refused. Fails if the file is too short or cannot be read, or if an element is not a value of
    /// its type.
    pub fn read(&mut self, wanted: &[Wanted], unused: Unused, loc: &Loc) -> Result<Vec<Array>> {
        let (path, names) = (self.path.clone(), self.tensors.keys().cloned().collect::<Vec<_>>());
        let mut faults = Faults::new(&path, Format::Safetensors, &names, loc);
        if unused == Unused::Refused {
            faults.add_unused(wanted);
        }
        self.broken.iter().for_each(|(file, why, names)| {
            faults.add_other(mistakes::unreadable(file, why, names, loc));
        });
        let mut places = vec![];
        for leaf in wanted {
            match self.place(leaf) {
                Ok(Some(place)) => places.push(place),
                Ok(None) => {}
                Err(fault) => faults.add(leaf, fault),
            }
        }
        faults.or(())?;
        let mut faults = Faults::new(&path, Format::Safetensors, &names, loc);
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|&i| (places[i].0, places[i].1.range.start));
        let mut arrays: Vec<Option<Array>> = vec![None; wanted.len()];
        for i in order {
            let (file, entry) = &places[i];
            match read(&mut self.files[*file], entry, &wanted[i]) {
                Ok(array) => arrays[i] = Some(array),
                Err(fault) => faults.add(&wanted[i], fault),
            }
        }
        faults.or(())?;
        Ok(arrays.into_iter().flatten().collect())
    }

    /// Returns the place of a leaf's tensor, or `None` if its file cannot be read. Fails if there is no such tensor, if
    /// it has another type than the leaf, or if the file ends before it does.
    fn place(&self, leaf: &Wanted) -> Result<Option<(usize, Entry)>, Fault> {
        if self.broken.iter().any(|(_, _, names)| names.contains(&leaf.name)) {
            return Ok(None);
        }
        let place = self.tensors.get(&leaf.name).ok_or(Fault::Missing(None))?;
        let (file, entry) = place.entry.as_ref().ok_or_else(|| Fault::Missing(place.file.clone()))?;
        match &entry.dtype {
            Err(other) => return Err(Fault::DType(other.clone())),
            Ok(found) if *found != leaf.ty().dtype => return Err(Fault::DType(found.short().into())),
            Ok(_) => {}
        }
        if entry.shape != leaf.ty().shape {
            return Err(Fault::Shape(entry.shape.clone()));
        }
        match self.files[*file].is_complete(entry) {
            true => Ok(Some((*file, entry.clone()))),
            false => Err(Fault::Short(place.file.clone())),
        }
    }
}

/// Reads a leaf from its tensor, which has its type. Fails if the file is too short or cannot be read, or if an element
/// is not a value of its type.
fn read(file: &mut Reader, entry: &Entry, leaf: &Wanted) -> Result<Array, Fault> {
    let (ty, mut position) = (leaf.ty(), entry.range.start);
    leaf.read(|out| {
        debug_assert!(out.len() <= PIECE, "a piece");
        file.read(position, out).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Fault::Short(None),
            _ => Fault::Broken(e.to_string()),
        })?;
        let start = (position - entry.range.start) as usize;
        position += out.len() as u64;
        match first_invalid(ty.dtype, out) {
            // Such elements have one byte each.
            Some(i) => Err(Fault::element(&ty.shape, start + i, out[i])),
            None => Ok(()),
        }
    })
}
