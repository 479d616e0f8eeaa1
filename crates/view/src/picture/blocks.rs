//! The blocks into which a layout divides an array, and the devices that hold them.

use super::Picture;
use shardwise_base::{AxisRef, printable};
use std::ops::Range;

/// A block of elements of an array, and the devices that hold it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The elements along each dimension. A range is empty if the shards before it have all elements of the dimension.
    pub ranges: Vec<Range<usize>>,
    /// The devices that hold the block, in ascending order. If the array is unreduced, there is a list for each summand
    /// of the block, and otherwise there is one list.
    pub holders: Vec<Vec<usize>>,
}

impl Block {
    /// Returns the number of elements.
    pub fn element_count(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).product()
    }
}

/// The blocks of an array, and the devices that hold them.
pub struct Blocks<'a> {
    shape: &'a [usize],
    /// The names of the first dimensions, if these are the axes of per-device code.
    stack: Vec<&'a str>,
    /// The number of shards along each dimension, with the empty ones.
    counts: Vec<usize>,
    /// For each block, row-major, the devices that hold each summand.
    holders: Vec<Vec<Vec<usize>>>,
}

impl Picture {
    /// Returns all blocks of the array, row-major, with the empty ones.
    pub fn blocks(&self) -> Vec<Block> {
        let blocks = Blocks::of(self);
        (0..blocks.count()).map(|i| blocks.block(&blocks.index(i))).collect()
    }
}

impl<'a> Blocks<'a> {
    pub fn of(picture: &'a Picture) -> Blocks<'a> {
        let shape = &picture.shape[..];
        let Some(sharding) = &picture.sharding else {
            return Blocks { shape, stack: vec![], counts: vec![1; shape.len()], holders: vec![vec![vec![0]]] };
        };
        let mesh = &sharding.mesh;
        let counts = sharding.shard_counts();
        let summand_count: usize = sharding.unreduced.iter().map(|a| a.size(mesh)).product();
        let mut holders = vec![vec![vec![]; summand_count]; counts.iter().product()];
        for position in 0..mesh.size() {
            let at = mesh.coordinates(position);
            let block = linear(&counts, &sharding.shard_index(&at));
            holders[block][AxisRef::index_in(mesh, &sharding.unreduced, &at)].push(mesh.device(position));
        }
        holders.iter_mut().flatten().for_each(|devices| devices.sort_unstable());
        let stack = picture.stack.iter().map(|a| mesh.axis_name(a.axis)).collect();
        Blocks { shape, stack, counts, holders }
    }

    /// Returns the number of devices that hold the same summand of the same block, which is equal for all.
    pub fn copies(&self) -> usize {
        self.holders[0][0].len()
    }

    /// Returns the number of blocks, with the empty ones.
    pub fn count(&self) -> usize {
        self.holders.len()
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn shard_count(&self, dim: usize) -> usize {
        self.counts[dim]
    }

    /// Returns the number of shards along a dimension that have elements. These are the first ones.
    pub fn filled_count(&self, dim: usize) -> usize {
        (0..self.counts[dim]).take_while(|&i| !self.range(dim, i).is_empty()).count()
    }

    /// Returns the elements of shard `shard` along dimension `dim`.
    pub fn range(&self, dim: usize, shard: usize) -> Range<usize> {
        let size = self.shape[dim];
        let most = size.div_ceil(self.counts[dim]);
        (shard * most).min(size)..((shard + 1) * most).min(size)
    }

    /// Returns the name of shard `shard` along dimension `dim`: its elements, `0:4`, or its coordinate, `X=1`.
    pub fn name(&self, dim: usize, shard: usize) -> String {
        match self.stack.get(dim) {
            Some(axis) => format!("{}={shard}", printable(axis)),
            None => {
                let range = self.range(dim, shard);
                format!("{}:{}", range.start, range.end)
            }
        }
    }

    /// Returns the devices that hold each summand of the block at `index`, one shard number for each dimension.
    pub fn holders(&self, index: &[usize]) -> &[Vec<usize>] {
        &self.holders[linear(&self.counts, index)]
    }

    pub fn block(&self, index: &[usize]) -> Block {
        let ranges = index.iter().enumerate().map(|(dim, &shard)| self.range(dim, shard)).collect();
        Block { ranges, holders: self.holders(index).to_vec() }
    }

    /// Returns the shard numbers of block `linear`, row-major.
    pub fn index(&self, linear: usize) -> Vec<usize> {
        unravel(&self.counts, linear)
    }

    /// Returns the devices whose blocks have no elements, in ascending order.
    pub fn idle(&self) -> Vec<usize> {
        let is_empty = |i: &usize| self.block(&self.index(*i)).element_count() == 0;
        let mut idle: Vec<usize> = (0..self.count()).filter(is_empty).flat_map(|i| self.holders[i].concat()).collect();
        idle.sort_unstable();
        idle
    }
}

fn linear(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |all, (&n, &i)| all * n + i)
}

/// Returns the index at a row-major position in an array of this shape.
pub fn unravel(shape: &[usize], mut linear: usize) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|&n| (linear % n, linear /= n).0).collect();
    index.reverse();
    index
}
