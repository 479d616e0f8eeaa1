//! Shardings as types: derives the layout of an op's results from the layouts of its operands, or the reason why it is
//! ambiguous.
//!
//! [`infer`] uses the op's rule: the axes that the operands have for a factor hold for the results. There is no search
//! and no cost. If operands contradict each other, if an axis would split two dimensions, or if a sum over devices is
//! pending, there may be several possible layouts of the results ([`candidates`](ResultLayouts::candidates)), and the
//! caller (or the user) chooses.

use crate::{AxisList, Factor, FactorKind, IfMissing, Rule, TensorFactors};
use shardwise_base::{AxisRef, Mesh, Sharding};
use smallvec::SmallVec;

/// The axes of each dimension of a tensor, major to minor.
pub type Layout = Vec<AxisList>;

/// An op and the layouts of its operands.
#[derive(Clone, Copy)]
pub struct TypingQuery<'a> {
    pub rule: &'a Rule,
    pub mesh: &'a Mesh,
    /// The sharding of each operand; `None` if it is not split.
    pub operands: &'a [Option<&'a Sharding>],
    /// The shape of each result.
    pub results: &'a [&'a [usize]],
    /// True if the caller places the sums over devices. A sum then makes the answer ambiguous.
    pub asks_sums: bool,
    /// The operand that determines the sharding of batch dimensions, if there is one.
    pub leader: Option<usize>,
    /// Returns the bytes that the device that receives most receives in exchanges if the op runs split along a factor
    /// over these axes. This is 0 if the op reads no windows along the factor. Returns `None` if elements would have to
    /// be exchanged and cannot be.
    pub exchanged: &'a dyn Fn(Factor, &[AxisRef]) -> Option<u64>,
}

/// The possible layouts of the results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultLayouts {
    /// The possible layouts, the preferred one first; never empty. Each has one layout for each result. The first is
    /// used if the user is not asked.
    pub candidates: Vec<Vec<Layout>>,
    pub verdict: Verdict,
}

/// States if the first layout can be used without asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Each device has what it needs.
    Clear,
    /// There is one obvious layout, and data moves for it.
    Moves(Move),
    Ambiguous(Ambiguity),
}

/// A communication that a layout needs. The layout may need others too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Move {
    /// Partial results over these axes are combined.
    Sum { axes: AxisList },
    /// Operand `operand` is split by `axes` along dimension `dim`. The op needs the dimension whole, another operand
    /// has it whole, or the results are not split by these axes.
    Whole { operand: usize, dim: usize, axes: AxisList },
    /// Elements move between devices along dimension `dim` of operand `operand`, which is split by `axes`. In a
    /// reshape, `axes` split a group of dimensions, of which `dim` is the first that is split.
    Shift { operand: usize, dim: usize, axes: AxisList },
    /// The devices along these axes agree when a loop ends.
    Agree { axes: AxisList },
}

/// The reason why no layout of the results can be used without asking. There may still be a single candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ambiguity {
    /// Two operands split one factor by different axes. Holds the operand, dimension and axes of both.
    Differ { first: (usize, usize, AxisList), second: (usize, usize, AxisList) },
    /// One axis would split two dimensions of the results. Holds the axis, these dimensions, and the operand and its
    /// dimension that is split by the axis for the second of them.
    Twice { axis: AxisRef, dims: [usize; 2], second: (usize, usize) },
    /// All operands with a reduced factor are split along it by the same axes, and the caller places the sum. Holds the
    /// axes of all such factors, and each operand and dimension that has one of these factors.
    Sum { axes: AxisList, holders: Vec<(usize, usize)> },
    /// In a reshape, `axes` split a group of dimensions of the operand, of which `dim` is the first that is split. They
    /// do not fit the dimensions of the result with the same elements, or only if elements move between several
    /// dimensions. Or a dimension of the group is split although the one before it is not.
    Regroup { dim: usize, axes: AxisList },
}

/// Returns the possible layouts of the results, the preferred one first, and states if this one can be used without
/// asking.
///
/// # Panics
/// Panics if the query lacks an operand of the rule, or if an operand's sharding lacks one of its dimensions.
pub fn infer(q: TypingQuery<'_>) -> ResultLayouts {
    let held = Held::new(q);
    let orders = held.orders();
    let mut candidates: Vec<Vec<Layout>> = vec![];
    let mut twice = None;
    for order in &orders {
        let chosen = held.choose(order, &mut twice);
        let candidate = held.results(&chosen);
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let verdict = match (held.differ(), twice) {
        (Some(differ), _) => Verdict::Ambiguous(differ),
        (None, Some(twice)) => Verdict::Ambiguous(twice),
        (None, None) => return held.sums(candidates),
    };
    ResultLayouts { candidates, verdict }
}

struct Holder {
    operand: usize,
    dim: usize,
    axes: AxisList,
}

/// The axes of all operands for each factor.
struct Held<'a> {
    q: TypingQuery<'a>,
    /// For each factor, every dimension of an operand that has it.
    factors: Vec<SmallVec<[Holder; 2]>>,
}

impl<'a> Held<'a> {
    fn new(q: TypingQuery<'a>) -> Held<'a> {
        let mut factors: Vec<SmallVec<[Holder; 2]>> = q.rule.all_factors().map(|_| SmallVec::new()).collect();
        for (operand, mapping) in q.rule.operands.iter().enumerate() {
            let sharding = q.operands[operand];
            let is_simple = mapping.dims.iter().all(|d| d.len() == 1);
            let dealt = (!is_simple).then(|| TensorFactors::new(mapping, q.rule, q.mesh, sharding, IfMissing::Closed));
            for (dim, dim_factors) in mapping.dims.iter().enumerate() {
                for &factor in dim_factors {
                    let axes = match &dealt {
                        Some(t) => t.get(factor).map(|f| f.axes.clone()).unwrap_or_default(),
                        None => sharding.map(|s| AxisList::from_slice(&s.dims[dim].axes)).unwrap_or_default(),
                    };
                    factors[factor.index()].push(Holder { operand, dim, axes });
                }
            }
        }
        Held { q, factors }
    }

    fn of(&self, factor: Factor) -> &[Holder] {
        &self.factors[factor.index()]
    }

    /// Returns the operands whose axes for the factor count. For a batch factor this is the leader only, if it has the
    /// factor.
    fn speakers(&self, factor: Factor) -> impl Iterator<Item = &Holder> {
        let leader = self
            .q
            .leader
            .filter(|&l| self.q.rule.is_batching(factor) && self.of(factor).iter().any(|h| h.operand == l));
        self.of(factor).iter().filter(move |h| leader.is_none_or(|l| h.operand == l))
    }

    fn is_in_results(&self, factor: Factor) -> bool {
        self.q.rule.results.iter().any(|r| r.contains(factor))
    }

    /// Returns two operands that split one factor by different axes, or `None` if there are none. The leader counts
    /// like any other operand here.
    fn differ(&self) -> Option<Ambiguity> {
        self.q.rule.all_factors().find_map(|factor| {
            let mut split = self.of(factor).iter().filter(|h| !h.axes.is_empty());
            let first = split.next()?;
            let second = split.find(|h| h.axes != first.axes)?;
            let entry = |h: &Holder| (h.operand, h.dim, h.axes.clone());
            Some(Ambiguity::Differ { first: entry(first), second: entry(second) })
        })
    }

    /// Returns the orders in which the operands that have axes are considered. If the order may matter, there is one
    /// for each of these operands, in which it is first. Otherwise there is only the order of their indices.
    fn orders(&self) -> Vec<SmallVec<[usize; 4]>> {
        let has_axes = |o: &usize| self.q.operands[*o].is_some_and(|s| s.dims.iter().any(|d| !d.axes.is_empty()));
        let speaking: SmallVec<[usize; 4]> = (0..self.q.operands.len()).filter(has_axes).collect();
        if speaking.len() < 2 || !self.is_contested() {
            return vec![speaking];
        }
        let first = |&o: &usize| std::iter::once(o).chain(speaking.iter().copied().filter(|&p| p != o)).collect();
        speaking.iter().map(first).collect()
    }

    fn is_contested(&self) -> bool {
        self.differ().is_some() || {
            let mut used = AxisList::new();
            self.q.rule.all_factors().filter(|&f| self.is_in_results(f)).any(|f| {
                let axes = self.speakers(f).find(|h| !h.axes.is_empty()).map(|h| h.axes.clone()).unwrap_or_default();
                let is_taken = overlap(&axes, &used);
                used.extend(axes);
                is_taken
            })
        }
    }

    /// Returns the axes of each factor if the operands are considered one after the other in this order, each with all
    /// of its factors. A factor without axes gets those that the operand has for it, if the operand is one of its
    /// [`speakers`](Held::speakers). If these overlap the axes that another factor has already, the factor does not get
    /// them, but may still get those of a later operand. Then `twice`, unless it is set already, is set to
    /// [`Ambiguity::Twice`] with the first of the operand's axes that overlaps those of the other factor. Factors that
    /// no result has are not split.
    fn choose(&self, order: &[usize], twice: &mut Option<Ambiguity>) -> Vec<AxisList> {
        let mut chosen = vec![AxisList::new(); self.factors.len()];
        for &operand in order {
            for factor in self.q.rule.all_factors() {
                let Some(holder) = self.speakers(factor).find(|h| h.operand == operand) else { continue };
                if holder.axes.is_empty() || !chosen[factor.index()].is_empty() {
                    continue;
                }
                // A reduced factor is not split over axes that split a result, so it is left out here.
                if !self.is_in_results(factor) {
                    continue;
                }
                match (0..chosen.len()).find(|&c| overlap(&chosen[c], &holder.axes)).map(Factor::new) {
                    Some(r) => {
                        let both = holder.axes.iter().find(|&&a| overlap(&chosen[r.index()], &[a]));
                        let axis = *both.expect("the lists overlap");
                        let dims = [self.result_dim(r), self.result_dim(factor)];
                        twice.get_or_insert(Ambiguity::Twice { axis, dims, second: (holder.operand, holder.dim) });
                    }
                    None => chosen[factor.index()] = holder.axes.clone(),
                }
            }
        }
        chosen
    }

    fn result_dim(&self, factor: Factor) -> usize {
        let in_dims = |r: &crate::Mapping| r.dims.iter().position(|d| d.contains(&factor));
        self.q.rule.results.iter().find_map(in_dims).unwrap_or(0)
    }

    /// Returns the layouts of the results for the chosen axes of each factor. In a dimension of several factors, those
    /// after the first one that is not split into single elements are not split. A dimension that its axes do not
    /// divide evenly is whole.
    fn results(&self, chosen: &[AxisList]) -> Vec<Layout> {
        let TypingQuery { rule, mesh, results, .. } = self.q;
        let dim = |factors: &[Factor], size: usize| -> AxisList {
            let mut axes = AxisList::new();
            for factor in factors {
                let own = &chosen[factor.index()];
                own.iter().for_each(|&a| AxisRef::push_or_merge(&mut axes, a, mesh));
                if AxisRef::total_size(mesh, own) < rule.size(*factor) {
                    break;
                }
            }
            let is_even = size.is_multiple_of(AxisRef::total_size(mesh, &axes));
            if is_even { axes } else { AxisList::new() }
        };
        let layout = |(mapping, shape): (&crate::Mapping, &&[usize])| {
            mapping.dims.iter().zip(shape.iter()).map(|(f, &n)| dim(f, n)).collect()
        };
        rule.results.iter().zip(results).map(layout).collect()
    }

    /// Returns the answer for operands that agree. It is clear if nothing is summed or moved. If results are summed over
    /// axes, the layout in which these axes split the first result is added at the end of `candidates`, if there is
    /// one. If the caller places the sums, it is added at the start instead, and the answer is ambiguous. Otherwise the
    /// answer is that something moves.
    fn sums(&self, candidates: Vec<Vec<Layout>>) -> ResultLayouts {
        let rule = self.q.rule;
        let mut partial = AxisList::new();
        let mut holders = vec![];
        let mut moved = None;
        for factor in rule.all_factors() {
            let Some(split) = self.of(factor).iter().find(|h| !h.axes.is_empty()) else { continue };
            let is_common = self.of(factor).iter().all(|h| h.axes == split.axes);
            let (operand, dim, axes) = (split.operand, split.dim, split.axes.clone());
            match rule.kind(factor) {
                FactorKind::PassThrough if self.keeps(factor, &candidates[0]) => {}
                FactorKind::Reduction if is_common => {
                    partial.extend(split.axes.iter().copied());
                    holders.extend(self.of(factor).iter().map(|h| (h.operand, h.dim)));
                }
                FactorKind::Permutation
                    if self.keeps(factor, &candidates[0]) && (self.q.exchanged)(factor, &axes) == Some(0) => {}
                FactorKind::Permutation => {
                    moved.get_or_insert(Move::Shift { operand, dim, axes });
                }
                _ => {
                    moved.get_or_insert(Move::Whole { operand, dim, axes });
                }
            }
        }
        if partial.is_empty() {
            return ResultLayouts { verdict: moved.map_or(Verdict::Clear, Verdict::Moves), candidates };
        }
        let scattered = self.scattered(&candidates[0], &partial);
        if self.q.asks_sums {
            let candidates = scattered.into_iter().chain(candidates).collect();
            return ResultLayouts {
                candidates,
                verdict: Verdict::Ambiguous(Ambiguity::Sum { axes: partial, holders }),
            };
        }
        let candidates = candidates.into_iter().chain(scattered).collect();
        ResultLayouts { candidates, verdict: Verdict::Moves(moved.unwrap_or(Move::Sum { axes: partial })) }
    }

    /// Returns true if no operand has axes for the factor. Otherwise, takes the first operand that has, and returns
    /// true if every result that has the factor is split over all of its axes. If no result has the factor, returns
    /// true only if the product of the sizes of these axes is 1.
    fn keeps(&self, factor: Factor, candidate: &[Layout]) -> bool {
        let rule = self.q.rule;
        let split = self.of(factor).iter().find(|h| !h.axes.is_empty()).map(|h| &h.axes);
        let mut dims = rule.results.iter().zip(candidate).flat_map(|(m, layout)| m.dims.iter().zip(layout));
        dims.all(|(factors, axes)| {
            !factors.contains(&factor) || split.is_none_or(|s| s.iter().all(|a| axes.iter().any(|b| b.contains(*a))))
        }) && (self.is_in_results(factor) || split.is_none_or(|s| AxisRef::total_size(self.q.mesh, s) == 1))
    }

    /// Returns the layouts with the partial axes added to the first unsplit dimension of the first result that they
    /// divide, or else to the first dimension that they and its own axes divide together. A dimension of size 0 is not
    /// split. Returns `None` if there is no such dimension or no result, or if a partial axis overlaps one that splits
    /// a result already.
    fn scattered(&self, candidate: &[Layout], partial: &[AxisRef]) -> Option<Vec<Layout>> {
        let (mesh, shape) = (self.q.mesh, self.q.results.first()?);
        if candidate.iter().flatten().any(|axes| overlap(axes, partial)) {
            return None;
        }
        let shards = |axes: &[AxisRef]| AxisRef::total_size(mesh, axes);
        let fits = |d: &usize| shape[*d] > 0 && shape[*d].is_multiple_of(shards(&candidate[0][*d]) * shards(partial));
        let free = (0..shape.len()).filter(|&d| candidate[0][d].is_empty()).find(fits);
        let dim = free.or_else(|| (0..shape.len()).find(fits))?;
        let mut candidate = candidate.to_vec();
        partial.iter().for_each(|&a| AxisRef::push_or_merge(&mut candidate[0][dim], a, mesh));
        Some(candidate)
    }
}

fn overlap(a: &[AxisRef], b: &[AxisRef]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.overlaps(*b)))
}

/// Returns the possible layouts of the result of a reshape from shape `from` to shape `to`. `layout` is that of the
/// operand, with a list for each dimension. Whole axes are carried over from groups of dimensions to the groups that
/// hold the same elements. Dimensions of size 1 belong to no group, and their axes are not carried over.
///
/// If the axes do not fit a group of the result, or if a dimension of the operand's group is split and the one before
/// it is not, the group of the result is not split, and the answer is ambiguous. This does not hold for groups of the
/// same sizes, which keep their layout. If the axes fit, but a shard is not one run of elements on both sides, data
/// moves if one of the groups is a single dimension, and otherwise the answer is ambiguous. An ambiguous answer has a
/// second layout, in which axes that the first one leaves out are added to dimensions that they divide, if there are
/// such dimensions.
pub fn infer_reshape(from: &[usize], layout: &[AxisList], to: &[usize], mesh: &Mesh) -> ResultLayouts {
    let mut candidate: Layout = vec![AxisList::new(); to.len()];
    let mut verdict = Verdict::Clear;
    for (xs, ys) in groups(from, to) {
        let dims = |shape: &[usize], range: std::ops::Range<usize>| -> Vec<usize> {
            range.filter(|&d| shape[d] != 1).collect()
        };
        let (xs, ys) = (dims(from, xs), dims(to, ys));
        let Some(&dim) = xs.iter().find(|&&d| !layout[d].is_empty()) else { continue };
        if xs.len() == ys.len() && xs.iter().zip(&ys).all(|(&x, &y)| from[x] == to[y]) {
            xs.iter().zip(&ys).for_each(|(&x, &y)| candidate[y] = layout[x].clone());
            continue;
        }
        let axes: AxisList = xs.iter().flat_map(|&d| layout[d].iter().copied()).collect();
        let is_prefix = xs.windows(2).all(|w| !layout[w[0]].is_empty() || layout[w[1]].is_empty());
        match deal(&axes, &ys, to, mesh).filter(|_| is_prefix) {
            Some(dealt) => {
                let stays =
                    is_contiguous(&xs, from, layout, mesh) && is_contiguous(&ys, to, &spread(&dealt, &ys, to), mesh);
                ys.iter().zip(dealt).for_each(|(&y, axes)| candidate[y] = axes);
                let merges_one = ys.len() == 1 || xs.len() == 1;
                if !stays && !merges_one {
                    verdict = regroup(dim, &axes, verdict);
                } else if !stays && verdict == Verdict::Clear {
                    verdict = Verdict::Moves(Move::Shift { operand: 0, dim, axes });
                }
            }
            None => verdict = regroup(dim, &axes, verdict),
        }
    }
    let mut candidates = vec![vec![candidate.clone()]];
    if matches!(verdict, Verdict::Ambiguous(_)) {
        let used: AxisList = candidate.iter().flatten().copied().collect();
        candidates.extend(elsewhere(&candidate, &used, layout, to, mesh).map(|layout| vec![layout]));
    }
    ResultLayouts { candidates, verdict }
}

fn regroup(dim: usize, axes: &AxisList, before: Verdict) -> Verdict {
    match before {
        Verdict::Ambiguous(_) => before,
        _ => Verdict::Ambiguous(Ambiguity::Regroup { dim, axes: axes.clone() }),
    }
}

/// Returns another layout, in which each axis of the operand's layout `from` that is not among `used` is added to the
/// first dimension of `candidate`, if any, that it and the axes there divide and whose size is not 0. Returns `None` if
/// no axis is added.
fn elsewhere(candidate: &Layout, used: &[AxisRef], from: &[AxisList], to: &[usize], mesh: &Mesh) -> Option<Layout> {
    let mut out = candidate.clone();
    let mut is_other = false;
    for &axis in from.iter().flatten().filter(|a| !used.iter().any(|u| u.contains(**a))) {
        let fits = |d: &usize| to[*d].is_multiple_of(AxisRef::total_size(mesh, &out[*d]) * axis.size(mesh));
        if let Some(d) = (0..to.len()).filter(|&d| to[d] > 0).find(fits) {
            AxisRef::push_or_merge(&mut out[d], axis, mesh);
            is_other = true;
        }
    }
    is_other.then_some(out)
}

/// Splits the dimensions of `from` and `to`, in order, into the shortest pairs of ranges that hold the same number of
/// elements. If a size is 0, the last pair may hold different numbers.
fn groups(from: &[usize], to: &[usize]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut out = vec![];
    let (mut i, mut j) = (0, 0);
    while i < from.len() || j < to.len() {
        let (start_i, start_j) = (i, j);
        let (mut a, mut b) = (1, 1);
        let mut is_first = true;
        while is_first || a != b {
            is_first = false;
            if (a <= b && i < from.len()) || j >= to.len() {
                if i >= from.len() {
                    break;
                }
                a *= from[i];
                i += 1;
            } else {
                b *= to[j];
                j += 1;
            }
        }
        out.push((start_i..i, start_j..j));
    }
    out
}

/// Distributes whole axes to the dimensions `dims` of `shape` in order, and returns the axes of each. A dimension takes
/// axes as long as they divide the rest of its size, and must be split into single elements before the next one takes
/// any. A dimension of size 0 takes none and is passed over. Returns `None` if not all axes can be distributed.
fn deal(axes: &[AxisRef], dims: &[usize], shape: &[usize], mesh: &Mesh) -> Option<Vec<AxisList>> {
    let mut rest = axes.iter().copied().peekable();
    let mut out = vec![];
    for &d in dims {
        let (mut list, mut room) = (AxisList::new(), shape[d]);
        while let Some(axis) = rest.next_if(|a| room.is_multiple_of(a.size(mesh)) && room >= a.size(mesh)) {
            room /= axis.size(mesh);
            AxisRef::push_or_merge(&mut list, axis, mesh);
        }
        out.push(list);
        if room > 1 && rest.peek().is_some() {
            return None;
        }
    }
    rest.peek().is_none().then_some(out)
}

fn spread(dealt: &[AxisList], dims: &[usize], shape: &[usize]) -> Layout {
    let mut out = vec![AxisList::new(); shape.len()];
    dims.iter().zip(dealt).for_each(|(&d, axes)| out[d] = axes.clone());
    out
}

/// Returns true if each shard of these neighbouring dimensions is one contiguous run of elements: all dimensions before
/// the last one that is split are split into single elements.
fn is_contiguous(dims: &[usize], shape: &[usize], layout: &[AxisList], mesh: &Mesh) -> bool {
    let last_split = dims.iter().rposition(|&d| !layout[d].is_empty()).unwrap_or(0);
    dims[..last_split].iter().all(|&d| AxisRef::total_size(mesh, &layout[d]) == shape[d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;
    use std::sync::Arc;

    fn mesh() -> Arc<Mesh> {
        Arc::new(Mesh::new("mesh", [("X", 4), ("Y", 2)]).unwrap())
    }

    /// Parses a layout: `X,-` is a matrix split by "X" along dimension 0.
    fn layout(text: &str) -> Layout {
        let axis = |c: char| AxisRef::full(AxisIndex::new(if c == 'X' { 0 } else { 1 }));
        let dim = |d: &str| d.chars().filter(|c| *c != '-').map(axis).collect();
        text.split(',').filter(|d| !d.is_empty()).map(dim).collect()
    }

    fn show(layout: &Layout) -> String {
        let axis = |a: &AxisRef| if a.axis.index() == 0 { 'X' } else { 'Y' };
        let dim = |d: &AxisList| if d.is_empty() { "-".to_string() } else { d.iter().map(axis).collect() };
        layout.iter().map(dim).collect::<Vec<_>>().join(",")
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Clear => "clear",
            Verdict::Moves(_) => "moves",
            Verdict::Ambiguous(_) => "ambiguous",
        }
    }

    fn check(rule: &str, operands: &[&str], results: &[&[usize]], asks: bool, expected: &str) {
        let (mesh, rule): (_, Rule) = (mesh(), rule.parse().unwrap());
        let lists = |text: &&str| layout(text).into_iter().map(|d| d.to_vec()).collect();
        let shardings: Vec<Sharding> = operands.iter().map(|o| Sharding::closed(&mesh, lists(o))).collect();
        let shardings: Vec<Option<&Sharding>> = shardings.iter().map(Some).collect();
        let q = TypingQuery {
            rule: &rule,
            mesh: &mesh,
            operands: &shardings,
            results,
            asks_sums: asks,
            leader: asks.then_some(0),
            exchanged: &|_, _| None,
        };
        let inferred = infer(q);
        let candidates: Vec<String> =
            inferred.candidates.iter().map(|c| c.iter().map(show).collect::<Vec<_>>().join(";")).collect();
        assert_eq!(format!("{} {}", word(&inferred.verdict), candidates.join(" | ")), expected, "{rule} {operands:?}");
    }

    #[test]
    fn elementwise() {
        let add = "([i, j], [i, j])->([i, j]) {i=8, j=16}";
        check(add, &["X,-", "-,-"], &[&[8, 16]], false, "clear X,-");
        check(add, &["X,-", "-,Y"], &[&[8, 16]], false, "clear X,Y");
        check(add, &["X,Y", "Y,X"], &[&[8, 16]], false, "ambiguous X,Y | Y,X");
        check(add, &["X,-", "-,X"], &[&[8, 16]], false, "ambiguous X,- | -,X");
        check(add, &["XY,-", "X,-"], &[&[8, 16]], false, "ambiguous XY,- | X,-");
    }

    #[test]
    fn products() {
        let dot = "([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}";
        check(dot, &["X,-", "-,Y"], &[&[8, 16]], true, "clear X,Y");
        check(dot, &["X,Y", "Y,-"], &[&[8, 16]], true, "ambiguous X,Y | X,-");
        check(dot, &["X,Y", "-,-"], &[&[8, 16]], true, "moves X,-");
        check(dot, &["-,X", "Y,-"], &[&[8, 16]], true, "ambiguous -,-");
        check(dot, &["X,-", "-,X"], &[&[8, 16]], true, "ambiguous X,- | -,X");
        check(dot, &["X,-", "X,-"], &[&[8, 16]], true, "moves X,-");
        let batch = "([i, j, k], [i, k, l])->([i, j, l]) {i=8, j=8, k=8, l=16} reduction={k}";
        check(batch, &["X,-,-", "-,-,-"], &[&[8, 8, 16]], true, "clear X,-,-");
        check(batch, &["-,-,-", "X,-,-"], &[&[8, 8, 16]], true, "moves -,-,-");
    }

    #[test]
    fn reductions_and_moves() {
        check("([i, j])->([i]) {i=8, j=16} reduction={j}", &["X,Y"], &[&[8]], false, "moves X | XY");
        check("([i, j])->([i, j]) {i=8, j=16} need_replication={j}", &["X,Y"], &[&[8, 16]], false, "moves X,Y");
        check("([i, j])->([i, j]) {i=8, j=16} permutation={i}", &["X,Y"], &[&[5, 16]], false, "moves -,Y");
        check("([i, j])->([i, j]) {i=8, j=16} permutation={i}", &["-,Y"], &[&[5, 16]], false, "clear -,Y");
    }

    #[test]
    fn reshapes() {
        let check = |from: &[usize], l: &str, to: &[usize], expected: &str| {
            let inferred = infer_reshape(from, &layout(l), to, &mesh());
            let candidates: Vec<String> = inferred.candidates.iter().map(|c| show(&c[0])).collect();
            assert_eq!(
                format!("{} {}", word(&inferred.verdict), candidates.join(" | ")),
                expected,
                "{from:?} {l} {to:?}"
            );
        };
        check(&[8, 16], "X,Y", &[4, 2, 2, 8], "clear X,-,Y,-");
        check(&[8, 16], "X,-", &[128], "clear X");
        check(&[8, 16], "X,Y", &[128], "moves XY");
        check(&[4, 16], "X,Y", &[64], "clear XY");
        check(&[8, 16], "-,Y", &[128], "ambiguous - | Y");
        check(&[8], "X", &[2, 4], "ambiguous -,- | -,X");
        check(&[16], "XY", &[4, 4], "clear X,Y");
        check(&[8, 16], "X,Y", &[8, 1, 16], "clear X,-,Y");
        check(&[6, 4], "Y,X", &[6, 2, 2], "ambiguous Y,-,-");
    }

    #[test]
    fn parts_of_an_axis_that_come_together_are_one() {
        let mesh = mesh();
        let half = |pre_size: usize| AxisRef::sub(&mesh, AxisIndex::new(0), pre_size, 2);
        let halves: Layout = [1, 2].map(|pre_size| AxisList::from_slice(&[half(pre_size)])).to_vec();
        let reshaped = infer_reshape(&[2, 2], &halves, &[4], &mesh);
        assert_eq!((word(&reshaped.verdict), show(&reshaped.candidates[0][0])), ("clear", "X".to_string()));
        let rule: Rule = "([i, j])->([i]) {i=8, j=16} reduction={j}".parse().unwrap();
        let sharding = Sharding::closed(&mesh, halves.iter().map(|d| d.to_vec()).collect());
        let q = TypingQuery {
            rule: &rule,
            mesh: &mesh,
            operands: &[Some(&sharding)],
            results: &[&[8]],
            asks_sums: false,
            leader: None,
            exchanged: &|_, _| None,
        };
        let summed: Vec<String> = infer(q).candidates.iter().map(|c| show(&c[0])).collect();
        assert_eq!(summed, ["X", "X"]);
    }
}
