//! Lower bounds of prices, from the sizes of blocks alone.
//!
//! A device holds no more of the block that it needs than the smaller of its block before and its block after along
//! each dimension. If the major axes of a dimension differ, some device holds nothing of it.

use super::{AssignInput, LeastPrice, Picks, Prices, reduction_factors};
use crate::{AxisList, Factor};
use shardwise_base::{AxisRef, Mesh};
use smallvec::SmallVec;

#[derive(Default)]
pub(super) struct Bounds {
    shards: Vec<Vec<usize>>,
    /// The tensors; `None` if nothing is known about one.
    tensors: Vec<Option<Tensor>>,
    /// The factors over which results are summed.
    summed: Vec<Factor>,
    operand_count: usize,
}

/// The blocks of a tensor.
struct Tensor {
    least: LeastPrice,
    /// True if the tensor is a result that is summed over all axes over which it is partial.
    is_summed: bool,
    /// For each summed factor, and each of its candidates, the number of devices along those parts of its axes over
    /// which the tensor should be split. The list is empty if the tensor is not summed.
    scattered: Vec<Vec<u64>>,
    /// The elements that a device has in the layout that the tensor has, or should have.
    own: u64,
    dims: SmallVec<[Dim; 4]>,
    /// True if no two dimensions consist of the same factor.
    has_factors_once: bool,
}

/// A dimension that consists of one factor.
struct Dim {
    factor: Factor,
    size: u64,
    /// The length of a block in the layout that the tensor has, or should have.
    own: u64,
    /// For each candidate of the factor, the length of a block and how much of it a device may hold both before and
    /// after.
    blocks: Vec<[u64; 2]>,
}

impl Bounds {
    pub fn new(input: &AssignInput<'_>, candidates: &[Vec<AxisList>], prices: &dyn Prices) -> Bounds {
        let rule = input.rule;
        let shards = |lists: &Vec<AxisList>| lists.iter().map(|axes| AxisRef::total_size(input.mesh, axes)).collect();
        let shards: Vec<Vec<usize>> = candidates.iter().map(shards).collect();
        let tensor = |i: usize| Tensor::new(input, i, candidates, &shards, prices);
        let tensors = (0..rule.tensor_count()).map(tensor).collect();
        Bounds { tensors, summed: reduction_factors(rule).collect(), operand_count: rule.operands.len(), shards }
    }

    pub fn all_shards(&self, factor: Factor) -> &[usize] {
        &self.shards[factor.index()]
    }

    pub fn shards(&self, factor: Factor, picks: &Picks) -> usize {
        self.shards[factor.index()][picks[factor.index()]]
    }

    /// Returns a number that is at most the price of tensor `index` for a choice. It is 0 if nothing is known about the
    /// tensor's blocks.
    pub fn of(&self, index: usize, picks: &Picks) -> u64 {
        let Some(tensor) = &self.tensors[index] else { return 0 };
        let (mut block, mut held) = (1, 1);
        for dim in &tensor.dims {
            let [length, both] = dim.blocks[picks[dim.factor.index()]];
            block *= length;
            held *= both;
        }
        if index < self.operand_count {
            return tensor.least.of(block - held);
        }
        let summed = if tensor.is_summed { self.summands(tensor, block, picks) } else { 0 };
        tensor.least.of(tensor.own - held + summed)
    }

    /// Returns a number that is at most the price of all tensors together, for all choices with these picks for the first
    /// `count` factors. The other factors split the op into at most `free` shards, which is not 0.
    pub fn of_partial(&self, picks: &Picks, count: usize, free: u64) -> u64 {
        (0..self.tensors.len()).map(|index| self.of_tensor_partial(index, picks, count, free)).sum()
    }

    fn of_tensor_partial(&self, index: usize, picks: &Picks, count: usize, free: u64) -> u64 {
        let Some(tensor) = &self.tensors[index] else { return 0 };
        let (mut block, mut held, mut rest, mut rest_own) = (1, 1, 1, 1);
        for dim in &tensor.dims {
            if dim.factor.index() < count {
                let [length, both] = dim.blocks[picks[dim.factor.index()]];
                block *= length;
                held *= both;
            } else {
                rest *= dim.size;
                rest_own *= dim.own;
            }
        }
        // Along the other dimensions, a device holds at most all of its block.
        tensor.least.of(match index < self.operand_count {
            true if tensor.has_factors_once => (block - held) * rest.div_ceil(free),
            true => (block - held) * rest.min(1),
            false => tensor.own - held * rest_own,
        })
    }

    /// Returns a number of summands that a device receives at least until a block of a result is summed: those of its
    /// part of the block in a reduce-scatter, and then those of an all-reduce of this part. The block has at most as
    /// many parts as the summed axes over which the result is split have devices.
    fn summands(&self, tensor: &Tensor, block: u64, picks: &Picks) -> u64 {
        let members = self.summed.iter().map(|&f| self.shards(f, picks) as u64).product::<u64>();
        if members == 1 {
            return 0;
        }
        let parts =
            self.summed.iter().zip(&tensor.scattered).map(|(f, sizes)| sizes[picks[f.index()]]).product::<u64>();
        let scattered = block - block.div_ceil(members);
        scattered.max((block + block / parts).saturating_sub(2 * block.div_ceil(members)))
    }
}

impl Tensor {
    /// Returns the blocks of tensor `index`. `shards` are the numbers of shards of the candidates. Returns `None` if
    /// the tensor has no sharding, if nothing is known about its price, if a dimension consists of several factors, or
    /// if the sharding or a candidate splits a dimension unevenly.
    fn new(
        input: &AssignInput<'_>,
        index: usize,
        candidates: &[Vec<AxisList>],
        shards: &[Vec<usize>],
        prices: &dyn Prices,
    ) -> Option<Tensor> {
        let AssignInput { rule, mesh, shardings, .. } = *input;
        let own = &shardings[index]?.dims;
        let least = Some(prices.least(index)).filter(|least| least.element_bytes > 0)?;
        let is_summed = index >= rule.operands.len() && prices.is_summed(index);
        let split: Vec<AxisRef> = own.iter().flat_map(|d| d.axes.iter().copied()).collect();
        let scattered = |f: Factor| candidates[f.index()].iter().map(|axes| common_size(axes, &split, mesh)).collect();
        let scattered = if is_summed { reduction_factors(rule).map(scattered).collect() } else { vec![] };
        let mut tensor = Tensor { least, is_summed, scattered, own: 1, dims: SmallVec::new(), has_factors_once: true };
        for (own, factors) in own.iter().zip(&rule.mapping(index).dims) {
            let &[factor] = &factors[..] else { return None };
            let (size, count) = (rule.size(factor), own.shard_count(mesh));
            let mut blocks = vec![];
            for (axes, &shards) in candidates[factor.index()].iter().zip(&shards[factor.index()]) {
                if !size.is_multiple_of(count) || !size.is_multiple_of(shards) {
                    return None;
                }
                let held = if are_apart(&own.axes, axes, mesh) { 0 } else { size / count.max(shards) };
                blocks.push([size / shards, held].map(|n| n as u64));
            }
            let [size, own] = [size, size / count].map(|n| n as u64);
            tensor.own *= own;
            tensor.has_factors_once &= tensor.dims.iter().all(|other| other.factor != factor);
            tensor.dims.push(Dim { factor, size, own, blocks });
        }
        Some(tensor)
    }
}

/// Returns the number of devices along those parts of `axes` that `others` cover, or a larger number.
fn common_size(axes: &[AxisRef], others: &[AxisRef], mesh: &Mesh) -> u64 {
    let of = |a: &AxisRef| match others.iter().any(|other| other.overlaps(*a)) {
        true => a.size(mesh) as u64,
        false => 1,
    };
    axes.iter().map(of).product()
}

/// Returns true if `a` and `b`, the axes of a dimension before and after, start with axes that do not overlap. Axes of
/// size 1 are ignored, and the result is false if `a` or `b` has no others. If it is true, some device has a block
/// before that has no element in common with its block after.
fn are_apart(a: &[AxisRef], b: &[AxisRef], mesh: &Mesh) -> bool {
    let [a, b] = [a, b].map(|axes| axes.iter().find(|axis| axis.size(mesh) > 1));
    a.zip(b).is_some_and(|(a, b)| !a.overlaps(*b))
}

#[cfg(test)]
mod tests {
    use super::super::Price;
    use super::*;
    use crate::Rule;
    use shardwise_base::Sharding;
    use std::borrow::Cow;
    use std::sync::Arc;

    /// Prices of which only the element's size matters.
    struct Bytes;

    impl Prices for Bytes {
        fn price(&self, _: usize, _: &[Cow<'_, [AxisRef]>], _: &[AxisRef]) -> Price {
            Price::default()
        }

        fn least(&self, _: usize) -> LeastPrice {
            LeastPrice { element_bytes: 4, start: 100, runs: 1 }
        }

        fn is_summed(&self, _: usize) -> bool {
            true
        }

        fn exchanged(&self, _: Factor, _: &[AxisRef]) -> Option<u64> {
            Some(0)
        }

        fn is_product(&self) -> bool {
            true
        }
    }

    /// Calls `take` with all choices in which no axis is used twice.
    fn choices(lists: &[Vec<AxisList>], picks: &mut Vec<usize>, take: &mut impl FnMut(&Picks)) {
        let Some(candidates) = lists.get(picks.len()) else { return take(picks) };
        for (candidate, axes) in candidates.iter().enumerate() {
            let mut used = picks.iter().enumerate().flat_map(|(f, &pick)| &lists[f][pick]);
            if used.all(|a| axes.iter().all(|b| !a.overlaps(*b))) {
                picks.push(candidate);
                choices(lists, picks, take);
                picks.pop();
            }
        }
    }

    /// Tests products of all layouts of their tensors over one dimension each: the bound of a partial choice is at most
    /// that of each choice which continues it.
    #[test]
    fn partial_bounds_are_lower() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 4)]).unwrap());
        let axes: Vec<AxisRef> = mesh.all_axes().collect();
        let lists: Vec<AxisList> =
            [&[][..], &axes[..1], &axes[1..], &axes[..]].into_iter().map(|a| a.iter().copied().collect()).collect();
        let mut checked = 0;
        for [i, j, k, l] in [[8, 16, 32, 8], [1, 8, 8, 64], [8, 0, 16, 8], [6, 8, 8, 8]] {
            let text = format!("([i, j, k], [i, k, l])->([i, j, l]) {{i={i}, j={j}, k={k}, l={l}}} reduction={{k}}");
            let rule: Rule = text.parse().unwrap();
            let candidates = vec![lists.clone(); rule.factors.len()];
            for layouts in 0..3 * 4 * 3 * 4 {
                let layout = |at: usize| {
                    let mut dims = vec![vec![]; 3];
                    dims[at % 3] = lists[at / 3 % 4].to_vec();
                    Sharding::closed(&mesh, dims)
                };
                let own = [layout(layouts % 12), layout(layouts / 12), layout(layouts % 7)];
                let shardings: Vec<Option<&Sharding>> = own.iter().map(Some).collect();
                let input =
                    AssignInput { rule: &rule, mesh: &mesh, shardings: &shardings, work: 0, summed: &[], free: &[] };
                let bounds = Bounds::new(&input, &candidates, &Bytes);
                choices(&candidates, &mut vec![], &mut |picks| {
                    let all: u64 = (0..3).map(|i| bounds.of(i, picks)).sum();
                    let mut free = mesh.size() as u64;
                    for count in 0..=picks.len() {
                        assert!(bounds.of_partial(picks, count, free) <= all, "{text} {own:?} {picks:?} {count}");
                        checked += 1;
                        let next = picks.get(count).map_or(1, |&pick| bounds.all_shards(Factor::new(count))[pick]);
                        free /= next as u64;
                    }
                });
            }
        }
        assert!(checked > 50_000, "{checked}");
    }
}
