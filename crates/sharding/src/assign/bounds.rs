//! Lower bounds of prices, from the sizes of blocks alone.
//!
//! Before a move, a device holds at most a part of the block that it needs afterwards. Along each dimension, this part
//! is at most as long as the shorter one of the device's blocks before and after the move. If the major axes of a
//! dimension differ before and after, some device holds nothing of the block that it needs.

use super::lists::{Candidates, List, Lists};
use super::{AssignInput, LeastPrice, Picks, Prices, reduction_factors};
use crate::Factor;
use shardwise_base::{AxisRef, Mesh};
use smallvec::SmallVec;

#[derive(Default)]
pub(super) struct Bounds {
    /// The number of shards of each candidate, factor after factor.
    shards: Vec<usize>,
    /// For each factor, the position of its first candidate in `shards`.
    first: SmallVec<[usize; 8]>,
    /// The tensors, operands first; `None` for a tensor of whose price no bound is known. [`Bounds::of_tensor`] leaves
    /// out those after its tensor.
    tensors: SmallVec<[Option<Tensor>; 4]>,
    /// For each factor, the dimensions of tensors that consist of it.
    dims: SmallVec<[FactorDims; 8]>,
    /// For each candidate of the factor of each dimension, the length of a block and how much of it a device may hold
    /// both before and after. The latter is 0 if some device holds nothing of it.
    blocks: Vec<[u64; 2]>,
    /// For each candidate of each summed factor of each summed tensor, the number of devices along those parts of the
    /// candidate's axes over which the tensor should be split, or a larger number.
    scattered: Vec<u64>,
    /// The reduction factors, over which results are summed if they are split.
    summed: SmallVec<[Factor; 2]>,
    operand_count: usize,
}

/// The dimensions of tensors that consist of one factor. Each has the index of its tensor, and the position of the
/// factor's first candidate in [`Bounds::blocks`].
type FactorDims = SmallVec<[(usize, usize); 3]>;

/// Everything that the lower bound of a tensor's price depends on, besides the choice.
struct Tensor {
    least: LeastPrice,
    /// For each summed factor, the position of its first candidate in [`Bounds::scattered`], if the tensor is a result
    /// that is summed over all axes over which it is partial.
    scattered: Option<SmallVec<[usize; 2]>>,
    /// The elements that a device has in the layout that the tensor has, or should have.
    own: u64,
    dims: SmallVec<[Dim; 4]>,
    /// For each number of decided factors, the elements along the dimensions of all other factors, of the whole tensor
    /// and of the block that a device has in the layout that the tensor has, or should have.
    rest: SmallVec<[[u64; 2]; 6]>,
    /// True if no two dimensions consist of the same factor.
    has_factors_once: bool,
}

/// A dimension that consists of one factor.
struct Dim {
    factor: Factor,
    /// The position of the factor's first candidate in [`Bounds::blocks`].
    first: usize,
}

/// Partial choices, each of which decides one factor more than the one before. For each of them and each tensor, the
/// list has the elements of a block along the decided factors, and of the part of it that a device may hold both before
/// and after.
pub(super) type Decided = Vec<[u64; 2]>;

impl Bounds {
    pub fn new(input: &AssignInput<'_>, lists: &Lists, candidates: &[Candidates], prices: &dyn Prices) -> Bounds {
        let mut bounds = Bounds::without_tensors(input, lists, candidates);
        for index in 0..input.rule.tensor_count() {
            let tensor = bounds.tensor(input, index, lists, candidates, prices);
            bounds.tensors.push(tensor);
        }
        bounds
    }

    /// Returns the bounds of tensor `index` alone. The others must not be asked for.
    pub fn of_tensor(
        input: &AssignInput<'_>,
        index: usize,
        lists: &Lists,
        candidates: &[Candidates],
        prices: &dyn Prices,
    ) -> Bounds {
        let mut bounds = Bounds::without_tensors(input, lists, candidates);
        bounds.tensors.extend((0..index).map(|_| None));
        let tensor = bounds.tensor(input, index, lists, candidates, prices);
        bounds.tensors.push(tensor);
        bounds
    }

    fn without_tensors(input: &AssignInput<'_>, lists: &Lists, candidates: &[Candidates]) -> Bounds {
        let rule = input.rule;
        let mut bounds = Bounds {
            summed: reduction_factors(rule).collect(),
            operand_count: rule.operands.len(),
            ..Bounds::default()
        };
        for candidates in candidates {
            bounds.first.push(bounds.shards.len());
            bounds.dims.push(SmallVec::new());
            bounds.shards.extend(candidates.iter().map(|&list| lists.shards(list)));
        }
        bounds
    }

    pub fn shards(&self, factor: Factor, picks: &Picks) -> usize {
        self.shards[self.first[factor.index()] + picks[factor.index()]]
    }

    /// Returns a number that is at most the price of tensor `index` for a choice. It is 0 if nothing is known about the
    /// tensor's blocks.
    pub fn of(&self, index: usize, picks: &Picks) -> u64 {
        let Some(tensor) = &self.tensors[index] else { return 0 };
        let mut decided = [1, 1];
        for dim in &tensor.dims {
            let [length, both] = self.blocks[dim.first + picks[dim.factor.index()]];
            decided = [decided[0] * length, decided[1] * both];
        }
        self.of_block(index, tensor, decided, picks)
    }

    /// Returns a number that is at most the price of all tensors together for the last choice of `decided`, which is
    /// complete.
    pub fn of_decided(&self, decided: &Decided, picks: &Picks) -> u64 {
        let tensors = self.tensors.iter().zip(self.last(decided)).enumerate();
        tensors.filter_map(|(i, (tensor, &block))| Some(self.of_block(i, tensor.as_ref()?, block, picks))).sum()
    }

    fn of_block(&self, index: usize, tensor: &Tensor, [block, held]: [u64; 2], picks: &Picks) -> u64 {
        if index < self.operand_count {
            return tensor.least.of(block - held);
        }
        let summed = tensor.scattered.as_ref().map_or(0, |first| self.summands(first, block, picks));
        tensor.least.of(tensor.own - held + summed)
    }

    /// Returns the choice that decides no factor.
    pub fn undecided(&self) -> Decided {
        vec![[1, 1]; self.tensors.len()]
    }

    fn last<'d>(&self, decided: &'d Decided) -> &'d [[u64; 2]] {
        &decided[decided.len() - self.tensors.len()..]
    }

    /// Adds the choice that continues the last one with candidate number `pick` of a factor.
    pub fn decide(&self, decided: &mut Decided, factor: Factor, pick: usize) {
        let first = decided.len();
        decided.extend_from_within(first - self.tensors.len()..);
        for &(tensor, blocks) in &self.dims[factor.index()] {
            let [length, both] = self.blocks[blocks + pick];
            let [block, held] = &mut decided[first + tensor];
            (*block, *held) = (*block * length, *held * both);
        }
    }

    /// Removes the last choice.
    pub fn undo(&self, decided: &mut Decided) {
        decided.truncate(decided.len() - self.tensors.len());
    }

    /// Returns a number that is at most the price of all tensors together, for all choices that continue the last one,
    /// which decides the first `count` factors. The other factors split the op into at most `free` shards, which is not
    /// 0.
    pub fn of_partial(&self, decided: &Decided, count: usize, free: u64) -> u64 {
        let of = |(index, (tensor, &[block, held])): (usize, (&Option<Tensor>, &[u64; 2]))| {
            let tensor = tensor.as_ref()?;
            let [rest, rest_own] = tensor.rest[count];
            // Along the other dimensions, a device holds at most all of its block.
            Some(tensor.least.of(match index < self.operand_count {
                true if block == held => 0,
                true if tensor.has_factors_once => (block - held) * rest.div_ceil(free),
                true => (block - held) * rest.min(1),
                false => tensor.own - held * rest_own,
            }))
        };
        self.tensors.iter().zip(self.last(decided)).enumerate().filter_map(of).sum()
    }

    /// Returns a number of summands that a device receives at least until a block of a result is summed: those of its
    /// part of the block in a reduce-scatter, and then those of an all-reduce of this part. The block has at most as
    /// many parts as the summed axes over which the result is split have devices. `first` is that of
    /// [`Tensor::scattered`].
    fn summands(&self, first: &[usize], block: u64, picks: &Picks) -> u64 {
        let members = self.summed.iter().map(|&f| self.shards(f, picks) as u64).product::<u64>();
        if members == 1 {
            return 0;
        }
        let parts = self.summed.iter().zip(first).map(|(f, first)| self.scattered[first + picks[f.index()]]);
        let parts = parts.product::<u64>();
        let scattered = block - block.div_ceil(members);
        scattered.max((block + block / parts).saturating_sub(2 * block.div_ceil(members)))
    }

    /// Returns the blocks of tensor `index`, and records what its dimensions and summed factors need. Returns `None` if
    /// the tensor has no sharding, if nothing is known about its price, if a dimension does not consist of exactly one
    /// factor, or if the sharding or a candidate splits a dimension unevenly.
    fn tensor(
        &mut self,
        input: &AssignInput<'_>,
        index: usize,
        lists: &Lists,
        candidates: &[Candidates],
        prices: &dyn Prices,
    ) -> Option<Tensor> {
        let AssignInput { rule, mesh, shardings, .. } = *input;
        let own_dims = &shardings[index]?.dims;
        let least = Some(prices.least(index)).filter(|least| least.element_bytes > 0)?;
        let (mut own, mut has_factors_once) = (1, true);
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
        let mut sizes: SmallVec<[[u64; 2]; 4]> = SmallVec::new();
        for (own_dim, factors) in own_dims.iter().zip(&rule.mapping(index).dims) {
            let &[factor] = &factors[..] else { return None };
            let (size, count) = (rule.size(factor), own_dim.shard_count(mesh));
            if !size.is_multiple_of(count) {
                return None;
            }
            let first = self.blocks.len();
            for &list in &candidates[factor.index()] {
                let shards = lists.shards(list);
                if !size.is_multiple_of(shards) {
                    return None;
                }
                let is_held = !are_apart(&own_dim.axes, lists.axes(list), mesh);
                self.blocks.push([size / shards, if is_held { size / count.max(shards) } else { 0 }].map(|n| n as u64));
            }
            own *= (size / count) as u64;
            has_factors_once &= dims.iter().all(|other| other.factor != factor);
            dims.push(Dim { factor, first });
            sizes.push([size, size / count].map(|n| n as u64));
        }
        let rest = |count: usize| {
            let undecided = dims.iter().zip(&sizes).filter(|(dim, _)| dim.factor.index() >= count);
            undecided.fold([1, 1], |rest, (_, size)| [rest[0] * size[0], rest[1] * size[1]])
        };
        let rest = (0..=candidates.len()).map(rest).collect();
        dims.iter().for_each(|dim| self.dims[dim.factor.index()].push((index, dim.first)));
        let is_summed = index >= self.operand_count && prices.is_summed(index);
        let scattered = is_summed.then(|| {
            let split: SmallVec<[AxisRef; 4]> = own_dims.iter().flat_map(|d| d.axes.iter().copied()).collect();
            let size = |&list: &List| common_size(lists.axes(list), &split, mesh);
            let add = |f: &Factor| {
                self.scattered.extend(candidates[f.index()].iter().map(size));
                self.scattered.len() - candidates[f.index()].len()
            };
            self.summed.iter().map(add).collect()
        });
        Some(Tensor { least, scattered, own, dims, rest, has_factors_once })
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
    use super::super::{Exchanged, Price};
    use super::*;
    use crate::{AxisList, Rule};
    use shardwise_base::Sharding;
    use std::borrow::Cow;
    use std::sync::Arc;

    /// Prices of which only the lower bounds are stated, which are those of elements of 4 bytes.
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

        fn exchanged(&self, _: Factor, _: &[AxisRef]) -> Option<Exchanged> {
            Some(Exchanged::default())
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

    /// Tests products of operands in all layouts that split at most one dimension: the bound of a partial choice is at
    /// most that of each choice which continues it.
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
            let mut known = Lists::new(&mesh);
            let numbers: Candidates = lists.iter().map(|axes| known.number(axes)).collect();
            let candidates = vec![numbers; rule.factors.len()];
            for layouts in 0..3 * 4 * 3 * 4 {
                let layout = |at: usize| {
                    let mut dims = vec![vec![]; 3];
                    dims[at % 3] = lists[at / 3 % 4].to_vec();
                    Sharding::closed(&mesh, dims)
                };
                let own = [layout(layouts % 12), layout(layouts / 12), layout(layouts % 7)];
                let shardings: Vec<Option<&Sharding>> = own.iter().map(Some).collect();
                let input = AssignInput {
                    rule: &rule,
                    mesh: &mesh,
                    shardings: &shardings,
                    work: 0,
                    summed: &[],
                    free: &[],
                    is_coarse: false,
                    known: None,
                };
                let bounds = Bounds::new(&input, &known, &candidates, &Bytes);
                choices(&vec![lists.clone(); rule.factors.len()], &mut vec![], &mut |picks| {
                    let all: u64 = (0..3).map(|i| bounds.of(i, picks)).sum();
                    let (mut free, mut decided) = (mesh.size() as u64, bounds.undecided());
                    for count in 0..=picks.len() {
                        assert!(bounds.of_partial(&decided, count, free) <= all, "{text} {own:?} {picks:?} {count}");
                        checked += 1;
                        let Some(&pick) = picks.get(count) else { break };
                        let factor = Factor::new(count);
                        free /= bounds.shards(factor, picks) as u64;
                        bounds.decide(&mut decided, factor, pick);
                    }
                    assert_eq!(bounds.of_decided(&decided, picks), all, "{text} {own:?} {picks:?}");
                });
            }
        }
        assert!(checked > 50_000, "{checked}");
    }
}
