//! Cutting a global array into shards and assembling shards: the meaning of a sharding, on values.
//!
//! An array that is unreduced over some axes is the sum, over these axes, of what its devices hold. When a global array
//! is given such a sharding, the devices at coordinate 0 along the unreduced axes hold its shards, and all others hold
//! elements that change nothing when they are added: zeros, which are negative for floats ([`shard`]). When the global
//! array is read, the summands are added ([`join`]).

use shardwise_base::{AxisRef, Literal, Sharding};
use shardwise_ops::ReduceKind;
use shardwise_ops::reducer::Combined;
use shardwise_ops::reducer::nothings;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A box of a global array: its offset and its size along each dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardBox {
    pub offset: Vec<usize>,
    pub shape: Vec<usize>,
}

impl ShardBox {
    /// Returns the box of a whole array.
    pub fn whole(shape: &[usize]) -> ShardBox {
        ShardBox { offset: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the box of the elements that both boxes have, or `None` if there are none.
    pub fn overlap(&self, other: &ShardBox) -> Option<ShardBox> {
        let ends = |b: &ShardBox| b.offset.iter().zip(&b.shape).map(|(o, n)| o + n).collect::<Vec<_>>();
        let offset: Vec<usize> = self.offset.iter().zip(&other.offset).map(|(&a, &b)| a.max(b)).collect();
        let end = ends(self).into_iter().zip(ends(other)).map(|(a, b)| a.min(b));
        let shape: Vec<usize> = end.zip(&offset).map(|(end, &start)| end.saturating_sub(start)).collect();
        (!shape.contains(&0)).then_some(ShardBox { offset, shape })
    }
}

/// Returns boxes that together are an array of this shape, in row-major order, or none if the array has no elements.
/// The elements of each box are consecutive in the array, and take at most `max_bytes` bytes or are one element.
/// `element` is the number of bytes of an element, which is not 0.
///
/// ```
/// use shardwise_engine::layout::bands;
/// let offsets: Vec<Vec<usize>> = bands(&[2, 5], 4, 8).map(|band| band.offset).collect();
/// assert_eq!(offsets, [[0, 0], [0, 2], [0, 4], [1, 0], [1, 2], [1, 4]]);
/// ```
pub fn bands(shape: &[usize], element: usize, max_bytes: usize) -> impl Iterator<Item = ShardBox> + use<> {
    let most = (max_bytes / element).max(1);
    let (mut inner, mut split) = (1, shape.len());
    while split > 0 && shape[split - 1].saturating_mul(inner) <= most {
        split -= 1;
        inner *= shape[split];
    }
    // Dimension `split - 1` is cut into ranges of `step`, and the dimensions before it into single positions.
    let is_empty = shape.contains(&0);
    let (split, step) = (split.saturating_sub(1), if split == 0 { usize::MAX } else { most / inner });
    let shape = shape.to_vec();
    let length = shape.get(split).copied().unwrap_or(1);
    let outer: usize = if is_empty { 0 } else { shape[..split.min(shape.len())].iter().product() };
    (0..outer).flat_map(move |mut index| {
        let mut part = ShardBox::whole(&shape);
        for d in (0..split).rev() {
            (part.offset[d], part.shape[d]) = (index % shape[d], 1);
            index /= shape[d];
        }
        (0..length).step_by(step).map(move |start| {
            let mut band = part.clone();
            if let Some(offset) = band.offset.get_mut(split) {
                (*offset, band.shape[split]) = (start, step.min(length - start));
            }
            band
        })
    })
}

/// Copies the elements of `part` from the bytes of one box to those of another. Both boxes contain the part, and may be
/// larger than the array that they are boxes of. `element` is the number of bytes of an element.
pub fn copy_part(part: &ShardBox, from: (&[u8], &ShardBox), to: (&mut [u8], &ShardBox), element: usize) {
    let (rank, (from, from_box), (to, to_box)) = (part.shape.len(), from, to);
    let is_whole = |d: usize| part.shape[d] == from_box.shape[d] && part.shape[d] == to_box.shape[d];
    // The rows of the part are consecutive in both boxes: they have the dimensions from `row` on.
    let row = (1..rank).rev().take_while(|&d| is_whole(d)).last().map_or(rank, |d| d).saturating_sub(1);
    let width = part.shape[row.min(rank)..].iter().product::<usize>() * element;
    let at = |index: &[usize], of: &ShardBox| {
        let position =
            |at: usize, d: usize| at * of.shape[d] + part.offset[d] - of.offset[d] + index.get(d).copied().unwrap_or(0);
        (0..rank).fold(0, position) * element
    };
    let mut index = vec![0; row];
    for _ in 0..part.shape[..row].iter().product() {
        let (source, target) = (at(&index, from_box), at(&index, to_box));
        to[target..target + width].copy_from_slice(&from[source..source + width]);
        for d in (0..row).rev() {
            index[d] = (index[d] + 1) % part.shape[d];
            if index[d] > 0 {
                break;
            }
        }
    }
}

/// Returns the box that the device at `coordinates` of the mesh holds. Blocks have the rounded-up size, so the last
/// ones may be shorter or empty.
pub fn shard_box(global: &[usize], sharding: &Sharding, coordinates: &[usize]) -> ShardBox {
    box_at(global, sharding, &sharding.shard_index(coordinates))
}

fn box_at(global: &[usize], sharding: &Sharding, index: &[usize]) -> ShardBox {
    let block = sharding.local_shape(global);
    let offset: Vec<usize> =
        index.iter().zip(&block).zip(global).map(|((&i, &b), &n)| i.saturating_mul(b).min(n)).collect();
    let shape = offset.iter().zip(&block).zip(global).map(|((&o, &b), &n)| b.min(n - o)).collect();
    ShardBox { offset, shape }
}

/// Returns the part of `global` that is in a box. The box must be within the array.
pub fn cut(global: &Literal, part: &ShardBox) -> Literal {
    if global.is_splat() {
        return Literal::splat(global.dtype(), part.shape.clone(), global.raw_bytes());
    }
    if part.shape == global.shape() {
        return global.clone();
    }
    let mut out = dense_zeros(global, &part.shape);
    copy_box(global.raw_bytes(), global.shape(), part, out.bytes_mut(), global.dtype().storage_bytes());
    out
}

/// Returns `shard` enlarged to `shape` with elements whose bytes are zero at the end of each dimension. No dimension of
/// `shape` may be smaller than that of the shard.
///
/// # Panics
/// Panics if the shape has too many elements for a [`Literal`].
pub fn pad_to(shard: &Literal, shape: &[usize]) -> Literal {
    if shard.shape() == shape {
        return shard.clone();
    }
    let mut out = Dense::zeros(shard, shape);
    out.paste(shard, &vec![0; shape.len()]);
    out.finish()
}

/// Returns `shard` enlarged to `shape` as [`pad_to`] does, but with elements that are likely to spoil every result that
/// depends on them. All their bits are set, which is a NaN in most float types and -1 in signed integers. In types of
/// fewer than 8 bits their byte is 1. Padding may hold anything, so a correct program has the same results as with
/// zeros.
pub fn pad_with_poison(shard: &Literal, shape: &[usize]) -> Literal {
    if shard.shape() == shape {
        return shard.clone();
    }
    let dtype = shard.dtype();
    // The types of fewer than 8 bits have bits that must be zero.
    let byte = if dtype.bits() < 8 { 1 } else { 0xFF };
    let mut out = Dense(Literal::splat(dtype, shape, &vec![byte; dtype.storage_bytes()]).to_dense());
    out.paste(shard, &vec![0; shape.len()]);
    out.finish()
}

/// An array that is being assembled from parts, such as a global array from its shards.
pub struct Dense(Literal);

fn dense_zeros(like: &Literal, shape: &[usize]) -> Literal {
    Literal::dense_zeros(like.dtype(), shape).expect("the shape of an array of the program, or of a part of it")
}

impl Dense {
    /// Returns zeros of this shape, of the element type of `like`.
    ///
    /// # Panics
    /// Panics if the shape has too many elements for a [`Literal`].
    pub fn zeros(like: &Literal, shape: &[usize]) -> Dense {
        Dense(dense_zeros(like, shape))
    }

    /// Returns an array of this shape, of the element type of `like`, that changes nothing when it is added.
    ///
    /// # Panics
    /// Panics if the shape has too many elements for a [`Literal`].
    pub fn nothing(like: &Literal, shape: &[usize]) -> Dense {
        Dense(nothings(like.dtype(), shape).to_dense())
    }

    /// Writes the elements of `shard` at `offset` of the array. The shard must have the array's element type and fit
    /// into it at this offset.
    pub fn paste(&mut self, shard: &Literal, offset: &[usize]) {
        let shard = shard.to_dense();
        let part = ShardBox { offset: offset.to_vec(), shape: shard.shape().to_vec() };
        let shape = self.0.shape().to_vec();
        paste_box(self.0.bytes_mut(), &shape, &part, shard.raw_bytes(), shard.dtype().storage_bytes());
    }

    /// Returns the assembled array.
    pub fn finish(self) -> Literal {
        self.0
    }
}

fn copy_box(global: &[u8], shape: &[usize], part: &ShardBox, out: &mut [u8], element: usize) {
    for_each_row(shape, part, element, |at, row| out[row.clone()].copy_from_slice(&global[at..at + row.len()]));
}

fn paste_box(global: &mut [u8], shape: &[usize], part: &ShardBox, bytes: &[u8], element: usize) {
    for_each_row(shape, part, element, |at, row| global[at..at + row.len()].copy_from_slice(&bytes[row]));
}

/// Calls `f` for each innermost row of the box `part` of an array of this shape, whose elements have `element` bytes
/// each. `f` gets the byte position of the row in the array, and its byte range in the box.
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

/// Returns the position along the unreduced axes of the device at `coordinates`, which is the number of the summand
/// that it holds. In a sharded global array, the other summands than 0 change nothing when they are added.
pub fn summand_index(sharding: &Sharding, coordinates: &[usize]) -> usize {
    AxisRef::index_in(&sharding.mesh, &sharding.unreduced, coordinates)
}

/// Returns the shard of a global array that the device at `coordinates` of the mesh holds, without padding. If the
/// sharding has unreduced axes, only the devices at position 0 along these hold elements of the array. The others hold
/// arrays of the same shape that change nothing when they are added.
pub fn shard(global: &Literal, sharding: &Sharding, coordinates: &[usize]) -> Literal {
    let part = shard_box(global.shape(), sharding, coordinates);
    match summand_index(sharding, coordinates) {
        0 => cut(global, &part),
        _ => nothings(global.dtype(), part.shape),
    }
}

/// Returns the box of each distinct shard, row-major by the shard's index. The box of a device is at its
/// [`shard_number`].
pub fn shard_boxes(global: &[usize], sharding: &Sharding) -> Vec<ShardBox> {
    let counts = sharding.shard_counts();
    let mut index = vec![0; counts.len()];
    let mut boxes = vec![];
    for _ in 0..counts.iter().product() {
        boxes.push(box_at(global, sharding, &index));
        for (i, n) in index.iter_mut().zip(&counts).rev() {
            *i = (*i + 1) % n;
            if *i > 0 {
                break;
            }
        }
    }
    boxes
}

/// Returns the number, among the distinct shards, of the shard that the device at `coordinates` of the mesh holds.
pub fn shard_number(sharding: &Sharding, coordinates: &[usize]) -> usize {
    let counts = sharding.shard_counts();
    sharding.shard_index(coordinates).iter().zip(counts).fold(0, |number, (i, n)| number * n + i)
}

/// Returns what [`shard`] returns for each position of the mesh, in order. Each distinct shard is cut once.
pub fn split(global: &Literal, sharding: &Sharding) -> Vec<Literal> {
    let mesh = &sharding.mesh;
    let parts: Vec<Literal> = shard_boxes(global.shape(), sharding).iter().map(|part| cut(global, part)).collect();
    let shard = |coordinates: &[usize]| {
        let part = &parts[shard_number(sharding, coordinates)];
        match summand_index(sharding, coordinates) {
            0 => part.clone(),
            _ => nothings(global.dtype(), part.shape()),
        }
    };
    (0..mesh.size()).map(|position| shard(&mesh.coordinates(position))).collect()
}

/// Returns the global array of shape `global`, of the element type of `like`, whose parts have these offsets and are
/// within it. Parts with equal offsets are summands of equal shape and are added in order. The bytes of elements that
/// are in no part are zero.
///
/// # Panics
/// Panics if `global` has too many elements for a [`Literal`].
pub fn join(like: &Literal, global: &[usize], parts: impl IntoIterator<Item = (Vec<usize>, Literal)>) -> Literal {
    let mut sums: BTreeMap<Vec<usize>, Combined> = BTreeMap::new();
    for (offset, part) in parts {
        let sum = match sums.remove(&offset) {
            Some(sum) => sum.with(ReduceKind::Add, &part).expect("all element types can be added"),
            None => Combined::new(part),
        };
        sums.insert(offset, sum);
    }
    let mut out = Dense::zeros(like, global);
    sums.into_iter().for_each(|(offset, sum)| out.paste(&sum.finish(), &offset));
    out.finish()
}

/// The positions in the mesh of two devices that should hold equal shards, but do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    pub first: usize,
    pub second: usize,
}

/// Assembles the global array from the parts that `shard` returns for each position of the mesh. Padding beyond the
/// global size is cut off. The summands of an unreduced sharding are added. One literal is kept for each distinct shard
/// or summand of one.
///
/// # Errors
/// Fails if two devices that hold the same part hold different bytes.
pub fn assemble(
    mut shard: impl FnMut(usize) -> Literal,
    sharding: &Sharding,
    global: &[usize],
) -> Result<Literal, Disagreement> {
    let mesh = &sharding.mesh;
    let boxes = shard_boxes(global, sharding);
    let mut firsts: BTreeMap<(usize, usize), (usize, Literal)> = BTreeMap::new();
    for position in 0..mesh.size() {
        let coordinates = mesh.coordinates(position);
        let number = shard_number(sharding, &coordinates);
        let part = ShardBox { offset: vec![0; global.len()], shape: boxes[number].shape.clone() };
        let own = cut(&shard(position), &part);
        match firsts.entry((summand_index(sharding, &coordinates), number)) {
            Entry::Occupied(e) if e.get().1 != own => return Err(Disagreement { first: e.get().0, second: position }),
            Entry::Occupied(_) => {}
            Entry::Vacant(first) => _ = first.insert((position, own)),
        }
    }
    let like = firsts.values().next().expect("a mesh has a device").1.clone();
    let parts = firsts.into_iter().map(|((_, number), (_, own))| (boxes[number].offset.clone(), own));
    Ok(join(&like, global, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{AxisIndex, AxisRef, Mesh};
    use std::sync::Arc;

    /// Returns four shardings on `x=2, y=3`: dimension 0 over `y` and dimension 1 over `x`, dimension 0 over `y` alone,
    /// no dimension, and dimension 0 over `x` and `y`.
    fn shardings() -> Vec<Sharding> {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 3)]).unwrap());
        let [x, y] = [0, 1].map(|i| AxisRef::full(AxisIndex::new(i)));
        vec![
            Sharding::closed(&mesh, vec![vec![y], vec![x]]),
            Sharding::closed(&mesh, vec![vec![y], vec![]]),
            Sharding::closed(&mesh, vec![vec![], vec![]]),
            Sharding::closed(&mesh, vec![vec![x, y], vec![]]),
        ]
    }

    #[test]
    fn what_is_split_is_put_together_again() {
        for shape in [[6, 4], [7, 3], [2, 1], [0, 2]] {
            let values: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
            let whole = Literal::new(shape.to_vec(), &values);
            for sharding in shardings() {
                let shards = split(&whole, &sharding);
                for (p, shard) in shards.iter().enumerate() {
                    let part = shard_box(&shape, &sharding, &sharding.mesh.coordinates(p));
                    assert_eq!(*shard, cut(&whole, &part));
                }
                assert_eq!(assemble(|p| shards[p].clone(), &sharding, &shape), Ok(whole.clone()), "{sharding}");
            }
        }
    }

    fn through_bands(global: &Literal, boxes: &[ShardBox], max_bytes: usize) -> Literal {
        let (shape, element) = (global.shape(), global.dtype().storage_bytes());
        let mut out = dense_zeros(global, shape);
        let whole = ShardBox::whole(shape);
        for band in bands(shape, element, max_bytes) {
            let mut bytes = vec![0; band.size() * element];
            for part in boxes.iter().filter_map(|own| own.overlap(&band)) {
                copy_part(&part, (global.raw_bytes(), &whole), (&mut bytes, &band), element);
            }
            copy_part(&band, (&bytes, &band), (out.bytes_mut(), &whole), element);
        }
        out
    }

    #[test]
    fn bands_and_parts_are_the_whole_array() {
        for shape in [vec![], vec![1], vec![7], vec![3, 5], vec![0, 3], vec![2, 3, 4], vec![4, 1, 3, 2]] {
            let values: Vec<i32> = (1..=shape.iter().product::<usize>() as i32).collect();
            let whole = Literal::new(shape.clone(), &values);
            for max_bytes in [1, 4, 8, 12, 20, 28, 48, 1 << 20] {
                let of_bands: Vec<ShardBox> = bands(&shape, 4, max_bytes).collect();
                assert_eq!(of_bands.iter().map(ShardBox::size).sum::<usize>(), values.len());
                assert!(of_bands.iter().all(|band| band.size() * 4 <= max_bytes.max(4)), "{shape:?} {max_bytes}");
                assert_eq!(through_bands(&whole, &[ShardBox::whole(&shape)], max_bytes), whole);
            }
        }
        for sharding in shardings() {
            let values: Vec<i32> = (1..=21).collect();
            let whole = Literal::new([7, 3], &values);
            let boxes = shard_boxes(&[7, 3], &sharding);
            assert_eq!(through_bands(&whole, &boxes, 20), whole, "{sharding}");
        }
    }

    #[test]
    fn devices_that_disagree_are_named() {
        let whole = Literal::new(vec![6, 4], &(0..24).collect::<Vec<i32>>());
        let sharding = &shardings()[1];
        let mut shards = split(&whole, sharding);
        shards[4] = shards[0].clone();
        let found = assemble(|p| shards[p].clone(), sharding, &[6, 4]);
        assert_eq!(found, Err(Disagreement { first: 1, second: 4 }));
    }

    #[test]
    fn a_million_devices_with_few_shards_are_a_short_list() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 1 << 10), ("y", 1 << 10)]).unwrap());
        let sharding = Sharding::closed(&mesh, vec![vec![AxisRef::sub(&mesh, AxisIndex::new(0), 1, 4)]]);
        assert_eq!(shard_boxes(&[8], &sharding).len(), 4);
        let whole = Literal::new(vec![8], &(0..8).collect::<Vec<i32>>());
        let shards = split(&whole, &sharding);
        assert_eq!((shards.len(), &shards[1 << 19]), (1 << 20, &Literal::new(vec![2], &[4, 5])));
        assert_eq!(assemble(|p| shards[p].clone(), &sharding, &[8]), Ok(whole));
    }
}
