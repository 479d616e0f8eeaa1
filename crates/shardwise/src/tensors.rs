//! The leaves of trees as named tensors of files, which are written and read piece by piece.
//!
//! A leaf is found by its name, which is its path in the tree with dots: `layers.3.wq`. A tensor in a file is a whole
//! array, whatever the layout of the leaf. Of a tensor, at most [`PIECE`] bytes are in memory at one time, besides the
//! buffers of the devices.

pub(crate) mod mistakes;
pub(crate) mod store;

use crate::error::Mistakes;
use crate::spec::{self, LeafSpec, SpecFor};
use crate::{Array, Error, Mesh, Result, Tree, context, explicit, layout, limits, runtime, tree};
use shardwise_base::budget::poll;
use shardwise_base::{self as base, Data, Loc};
use shardwise_engine::layout::bands;
use shardwise_engine::{ArrayHandle, ShardedType};
use shardwise_files::safetensors::{METADATA, Tensor, supports};
use shardwise_ir::TensorType;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::Location;

/// The largest number of bytes of a tensor that are in memory at one time, besides the buffers of the devices, while it
/// is written or read.
pub(crate) const PIECE: usize = 16 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Safetensors,
    Npz,
}

impl Format {
    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Safetensors => "safetensors",
            Format::Npz => "npz",
        }
    }

    fn has(self, dtype: base::DType) -> bool {
        self == Format::Npz || supports(dtype)
    }
}

// ── writing
pub(crate) struct Leaf {
    pub tensor: Tensor,
    value: ArrayHandle,
}

/// Returns the leaves of a tree, each of which has a value and a name of its own. Sums over devices are reduced.
///
/// Errors: `leaf-name`, `leaf-dtype`, and `leaf-value` with the reason for each leaf that has no value.
pub(crate) fn leaves<T: Tree>(tree: &T, format: Format, at: &'static Location<'static>) -> Result<Vec<Leaf>> {
    let loc = context::loc(at);
    let named: Vec<(String, &Array)> = tree::paths(tree).into_iter().map(|(path, a)| (path.name(), a)).collect();
    let mut wrong = of_names(named.iter().map(|(name, _)| &name[..]), format, &loc);
    let types = named.iter().filter_map(|(name, array)| Some((&name[..], array.known_type()?.ty)));
    let others: Vec<(&str, TensorType)> = types.filter(|(_, ty)| !format.has(ty.dtype)).collect();
    if !others.is_empty() {
        wrong = wrong.and(Error::one(mistakes::leaf_dtype(format, &others, &loc)));
    }
    let (mut leaves, mut valueless, mut reasons) = (vec![], vec![], Error::new([]));
    for (name, array) in named {
        match limits::run(at, || value(array, at)) {
            Ok(value) => {
                let ty = &value.sharded_type().ty;
                leaves.push(Leaf { tensor: Tensor { name, dtype: ty.dtype, shape: ty.shape.clone() }, value });
            }
            Err(e) => {
                valueless.push(name);
                reasons = reasons.and(e);
            }
        }
    }
    if !valueless.is_empty() {
        wrong = wrong.and(Error::one(mistakes::leaf_value(&valueless, &loc))).and(reasons);
    }
    if wrong.is_empty() { Ok(leaves) } else { Err(wrong) }
}

/// Returns the value of an array. If the array is unreduced, returns the sum over the devices, in a layout that is
/// otherwise the same. Fails if there is no value, or if it cannot be made or moved.
fn value(array: &Array, at: &'static Location<'static>) -> Result<ArrayHandle> {
    match array.known_type().and_then(|ty| ty.sharding).filter(|s| !s.unreduced.is_empty()) {
        Some(s) => array.handle_as(Some(&s.with_unreduced(vec![])), at),
        None => array.handle(at),
    }
}

/// Returns an error that lists the names that several leaves have or that no tensor of the format can have. The error
/// is empty if there are no such names.
fn of_names<'a>(names: impl Iterator<Item = &'a str>, format: Format, loc: &Loc) -> Error {
    let mut seen = BTreeSet::new();
    let is_reserved = |name: &str| format == Format::Safetensors && name == METADATA;
    let wrong: BTreeSet<&str> = names.filter(|&name| !seen.insert(name) || is_reserved(name)).collect();
    match wrong.is_empty() {
        true => Error::new([]),
        false => Error::one(mistakes::leaf_name(&wrong, loc)),
    }
}

impl Leaf {
    /// Writes the elements of the whole array, row-major. Fails if `out` does.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let element = self.tensor.dtype.storage_bytes();
        let mut piece = Data::<u8>::zeroed(PIECE.min(self.tensor.bytes() as usize));
        for band in bands(&self.tensor.shape, element, PIECE) {
            poll();
            let bytes = &mut piece[..band.size() * element];
            self.value.read(&band, bytes);
            out.write_all(bytes)?;
        }
        Ok(())
    }
}

// ── reading
pub(crate) struct Wanted {
    pub name: String,
    ty: ShardedType,
    at: &'static Location<'static>,
}

/// Returns what is to be read for each leaf of `like`, in the layout that the leaf has.
///
/// Errors: `leaf-name`, and the mistakes of the leaves.
pub(crate) fn wanted<T: Tree>(like: &T, format: Format, at: &'static Location<'static>) -> Result<Vec<Wanted>> {
    wanted_in(like, format, at, |_, own| Ok(own.cloned()))
}

/// Returns what is to be read for each leaf of `like`, in the layouts of `specs`.
///
/// Errors: those of [`wanted`], `spec-form`, and those of [`Array::shard`] for specs.
pub(crate) fn wanted_as<T: Tree>(
    like: &T,
    specs: &impl SpecFor<T>,
    format: Format,
    at: &'static Location<'static>,
) -> Result<Vec<Wanted>> {
    let loc = context::loc(at);
    let specs = spec::collect(specs, like);
    let mut specs = specs.map_err(|wrong| Error::one(spec::misfit("restore_as", &wrong, &loc)))?.into_iter();
    wanted_in(like, format, at, |ty, own| {
        let spec = specs.next().expect("one for each leaf");
        resolve(&spec, ty, own, &loc).map(Some)
    })
}

/// Resolves the spec of a leaf, whose own layout is `own`. Fails if there is no mesh for the spec, if the spec does not
/// fit the type, if it leaves a dimension open and the leaf has no layout of its own, or if it is unreduced.
fn resolve(spec: &LeafSpec, ty: &TensorType, own: Option<&base::Sharding>, loc: &Loc) -> Result<base::Sharding> {
    let mesh = own.map(|own| Mesh(own.mesh.clone()));
    let sharding = spec.resolve(mesh.as_ref(), ty, loc).map_err(Error::one)?;
    let undecided = layout::nothing_decides(&sharding, own, &ty.short(), loc);
    let wrong = undecided.or_else(|| explicit::misplaced_sum(&[], &sharding, || ty.short(), loc));
    wrong.map_or_else(|| Ok(layout::settle(&sharding, own)), |d| Err(Error::one(d)))
}

fn wanted_in<T: Tree>(
    like: &T,
    format: Format,
    at: &'static Location<'static>,
    mut layout: impl FnMut(&TensorType, Option<&base::Sharding>) -> Result<Option<base::Sharding>>,
) -> Result<Vec<Wanted>> {
    let (paths, mut found) = (tree::paths(like), vec![]);
    let names: Vec<String> = paths.iter().map(|(path, _)| path.name()).collect();
    let mut wrong = of_names(names.iter().map(|name| &name[..]), format, &context::loc(at));
    for ((_, array), name) in paths.iter().zip(names) {
        let ty = match (array.known_type(), array.mistakes()) {
            (Some(ty), None) => layout(&ty.ty, ty.sharding.as_ref()).map(|sharding| ShardedType { sharding, ..ty }),
            (_, mistakes) => Err(mistakes.map_or_else(|| Error::new([]), Mistakes::error)),
        };
        match ty {
            Ok(ty) => found.push(Wanted { name, ty, at }),
            Err(e) => wrong = wrong.and(e),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

impl Wanted {
    /// Returns what is to be read for a leaf of this name and type, whose array is on one device.
    pub fn whole(name: &str, ty: TensorType, at: &'static Location<'static>) -> Wanted {
        Wanted { name: name.into(), ty: ShardedType { ty, sharding: None }, at }
    }

    /// Returns the type of the whole array.
    pub fn ty(&self) -> &TensorType {
        &self.ty.ty
    }

    /// Makes the array from its elements in row-major order. Each call of `next` fills its slice with the bytes of the
    /// elements that follow those of the last call. Fails if `next` does.
    pub fn read<E>(&self, mut next: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Array, E> {
        let stated = self.ty.sharding.as_ref();
        let ty = ShardedType { ty: self.ty.ty.clone(), sharding: stated.map(base::Sharding::canonical) };
        let element = ty.ty.dtype.storage_bytes();
        let mut array = runtime::engine().allocate(&ty);
        let mut piece = Data::<u8>::zeroed(PIECE.min(ty.ty.bytes() as usize));
        for band in bands(&ty.ty.shape, element, PIECE) {
            poll();
            let bytes = &mut piece[..band.size() * element];
            next(bytes)?;
            array.write(&band, bytes);
        }
        Ok(Array::stated_value(array.finish(), stated, self.at))
    }
}
