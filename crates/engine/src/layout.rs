//! Cutting a global array into shards and putting shards together: the meaning of a sharding, on values.
//!
//! An array that is unreduced over some axes is the sum, over these axes, of what its devices hold. When a global array is
//! given such a sharding, the devices at coordinate 0 along the unreduced axes hold its shards, and all others hold zeros
//! ([`shard`]). When the global array is read, the summands are added ([`join`]).

use shardwise_base::{AxisRef, Literal, Sharding};
use shardwise_ops::ReduceKind;
use std::collections::BTreeMap;

/// A box of a global array: where it starts, and its size along each dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardBox {
    pub offset: Vec<usize>,
    pub shape: Vec<usize>,
}

/// The box that the device at `coordinates` of the mesh holds; ceil-division blocks, so that the last ones may be
/// shorter or empty.
pub fn shard_box(global: &[usize], sharding: &Sharding, coordinates: &[usize]) -> ShardBox {
    let block = sharding.local_shape(global);
    let offset: Vec<usize> = sharding
        .shard_index(coordinates)
        .iter()
        .zip(&block)
        .zip(global)
        .map(|((&i, &b), &n)| i.saturating_mul(b).min(n))
        .collect();
    let shape = offset.iter().zip(&block).zip(global).map(|((&o, &b), &n)| b.min(n - o)).collect();
    ShardBox { offset, shape }
}

/// The part of `global` in a box.
pub fn cut(global: &Literal, part: &ShardBox) -> Literal {
    if global.is_splat() {
        return Literal::splat(global.dtype(), part.shape.clone(), global.raw_bytes());
    }
    if part.shape == global.shape() {
        return global.clone();
    }
    let mut bytes = vec![0; part.shape.iter().product::<usize>() * global.dtype().storage_bytes()];
    copy_box(global.raw_bytes(), global.shape(), part, &mut bytes, global.dtype().storage_bytes());
    Literal::from_bytes(global.dtype(), &part.shape, &bytes).expect("the box has this many bytes")
}

/// `shard` enlarged with zeros at the end of each dimension to `shape`.
pub fn pad_to(shard: &Literal, shape: &[usize]) -> Literal {
    if shard.shape() == shape {
        return shard.clone();
    }
    let mut out = Dense::zeros(shard, shape);
    out.paste(shard, &vec![0; shape.len()]);
    out.finish()
}

/// A global array being put together from its shards.
pub struct Dense {
    template: Literal,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Dense {
    /// Zeros of this shape, of the element type of `like`.
    pub fn zeros(like: &Literal, shape: &[usize]) -> Dense {
        let size = shape.iter().product::<usize>() * like.dtype().storage_bytes();
        Dense { template: like.clone(), shape: shape.to_vec(), bytes: vec![0; size] }
    }

    /// Writes `shard` at `offset`.
    pub fn paste(&mut self, shard: &Literal, offset: &[usize]) {
        let shard = shard.to_dense();
        let part = ShardBox { offset: offset.to_vec(), shape: shard.shape().to_vec() };
        let bytes = shard.raw_bytes();
        paste_box(&mut self.bytes, &self.shape, &part, bytes, self.template.dtype().storage_bytes());
    }

    pub fn finish(self) -> Literal {
        Literal::from_bytes(self.template.dtype(), &self.shape, &self.bytes).expect("allocated for this shape")
    }
}

/// Copies the rows of a box out of a global array.
fn copy_box(global: &[u8], shape: &[usize], part: &ShardBox, out: &mut [u8], element: usize) {
    for_each_row(shape, part, element, |at, row| out[row.clone()].copy_from_slice(&global[at..at + row.len()]));
}

/// Copies the rows of a box into a global array.
fn paste_box(global: &mut [u8], shape: &[usize], part: &ShardBox, bytes: &[u8], element: usize) {
    for_each_row(shape, part, element, |at, row| global[at..at + row.len()].copy_from_slice(&bytes[row]));
}

/// Calls `f` with the byte position in the global array and the byte range in the box, for each innermost row.
fn for_each_row(shape: &[usize], part: &ShardBox, element: usize, mut f: impl FnMut(usize, std::ops::Range<usize>)) {
    if part.shape.contains(&0) {
        return;
    }
    let rank = shape.len();
    let width = part.shape.last().map_or(element, |n| n * element);
    let rows: usize = part.shape[..rank.saturating_sub(1)].iter().product();
    let mut index = vec![0usize; rank.saturating_sub(1)];
    for row in 0..rows {
        let mut at = 0;
        for (d, &n) in shape.iter().enumerate() {
            at = at * n + part.offset[d] + index.get(d).copied().unwrap_or(0);
        }
        f(at * element, row * width..(row + 1) * width);
        for d in (0..index.len()).rev() {
            index[d] += 1;
            if index[d] < part.shape[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

/// Returns the position along the unreduced axes of the device at `coordinates`: which summand of the array it holds.
/// Only summand 0 of a global array is not zero.
pub fn summand_index(sharding: &Sharding, coordinates: &[usize]) -> usize {
    AxisRef::index_in(&sharding.mesh, &sharding.unreduced, coordinates)
}

/// Returns what the device at `coordinates` holds of a global array, without padding.
pub fn shard(global: &Literal, sharding: &Sharding, coordinates: &[usize]) -> Literal {
    let part = shard_box(global.shape(), sharding, coordinates);
    match summand_index(sharding, coordinates) {
        0 => cut(global, &part),
        _ => Literal::zeros(global.dtype(), part.shape),
    }
}

/// The shard of every position of the mesh, in order; unpadded.
pub fn split(global: &Literal, sharding: &Sharding) -> Vec<Literal> {
    let mesh = &sharding.mesh;
    (0..mesh.size()).map(|position| shard(global, sharding, &mesh.coordinates(position))).collect()
}

/// Returns the global array whose parts have these offsets. Parts with equal offsets are summands, and are added in their
/// order.
pub fn join(like: &Literal, global: &[usize], parts: impl IntoIterator<Item = (Vec<usize>, Literal)>) -> Literal {
    let mut summands: BTreeMap<Vec<usize>, Vec<Literal>> = BTreeMap::new();
    for (offset, part) in parts {
        summands.entry(offset).or_default().push(part);
    }
    let mut out = Dense::zeros(like, global);
    for (offset, parts) in summands {
        match &parts[..] {
            [only] => out.paste(only, &offset),
            all => out.paste(&ReduceKind::Add.apply_all(all).expect("all element types can be added"), &offset),
        }
    }
    out.finish()
}

/// Two devices that should hold equal shards, and do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    pub first: usize,
    pub second: usize,
}

/// The global array of which `shards` (one for each position of the mesh; padding beyond the global size is cut off) are
/// the parts. Devices that hold the same part must hold equal bytes.
pub fn assemble(shards: &[Literal], sharding: &Sharding, global: &[usize]) -> Result<Literal, Disagreement> {
    let mesh = &sharding.mesh;
    let mut seen: Vec<Part> = vec![];
    for (position, shard) in shards.iter().enumerate() {
        let coordinates = mesh.coordinates(position);
        let ShardBox { offset, shape } = shard_box(global, sharding, &coordinates);
        let value = cut(shard, &ShardBox { offset: vec![0; global.len()], shape });
        let summand = summand_index(sharding, &coordinates);
        match seen.iter().find(|p| p.summand == summand && p.offset == offset) {
            Some(p) if p.value != value => return Err(Disagreement { first: p.position, second: position }),
            Some(_) => {}
            None => seen.push(Part { summand, offset, value, position }),
        }
    }
    seen.sort_by_key(|p| p.summand);
    Ok(join(&shards[0], global, seen.into_iter().map(|p| (p.offset, p.value))))
}

/// What the first of the devices that hold a part holds.
struct Part {
    summand: usize,
    offset: Vec<usize>,
    value: Literal,
    position: usize,
}
