//! Converts shardings of dimensions to shardings of factors and back.
//!
//! A dimension `[ij]` of size 8, `i=2`, `j=4`, split by `"x", "y"` on a mesh `x=4, y=2`, is split along `i` by
//! `"x":(1)2` and along `j` by `"x":(2)2, "y"`. Axes are distributed to the factors, major to minor, and each factor
//! takes what its size has room for. The minor-most factor takes all that is left, whether or not it is divided evenly.
//! If a factor has room left that has no divisor in common with the next axis, it keeps that axis and all further ones
//! as *overflow*: nothing propagates through them, but they are part of the dimension when it is assembled again.

use crate::{AxisList, DimFactors, Factor, Mapping, Prefix, Rule};
use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding, ShardingParts};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The sharding of one factor of one tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FactorSharding {
    pub axes: AxisList,
    /// The axes of the dimension that are left over although the factor has room left, because the first of them has no
    /// divisor in common with the room. Empty if there are none, and always for the minor-most factor.
    pub overflow: Vec<AxisRef>,
    pub is_closed: bool,
    pub is_minor_most: bool,
}

/// The shardings of the factors of one tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TensorFactors {
    /// The factors in the order of the tensor's dimensions. Factors after one with overflow may be missing.
    factors: SmallVec<[(Factor, FactorSharding); 4]>,
    pub replicated: Vec<AxisRef>,
    pub unreduced: Vec<AxisRef>,
}

/// How a tensor without a sharding is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfMissing {
    Open,
    Closed,
}

/// The axes over which each dimension of a tensor is split, major to minor.
pub type DimAxes<'a> = SmallVec<[Cow<'a, [AxisRef]>; 4]>;

impl Mapping {
    /// Returns the closed sharding of the tensor if its factors are split over these axes. In a dimension of several
    /// factors, those after the first one that is not split into single elements do not count, since a shard would need
    /// a strided view.
    pub fn sharding<'a>(&self, rule: &Rule, mesh: &Arc<Mesh>, axes: impl Fn(Factor) -> &'a [AxisRef]) -> Sharding {
        let lists = self.axes(rule, mesh, axes);
        Sharding::closed(mesh, lists.into_iter().map(Cow::into_owned).collect())
    }

    /// Returns the axes of each dimension of [`sharding`](Mapping::sharding). Nothing is copied for dimensions of one
    /// factor.
    pub fn axes<'a>(&self, rule: &Rule, mesh: &Mesh, axes: impl Fn(Factor) -> &'a [AxisRef]) -> DimAxes<'a> {
        let dim = |factors: &DimFactors| {
            if let &[factor] = &factors[..] {
                return Cow::Borrowed(axes(factor));
            }
            let mut list = vec![];
            for &factor in factors {
                append(&mut list, axes(factor), mesh);
                if AxisRef::total_size(mesh, axes(factor)) < rule.size(factor) {
                    break;
                }
            }
            Cow::Owned(list)
        };
        self.dims.iter().map(dim).collect()
    }
}

impl TensorFactors {
    /// Distributes the axes of each dimension of `sharding` to its factors. Without a sharding, no factor has axes, and
    /// `missing` states if the factors are open. Behind a factor with overflow, the next one is closed and has no axes,
    /// and further ones are left out.
    ///
    /// # Panics
    /// Panics if `sharding` has fewer dimensions than the tensor.
    pub fn new(
        mapping: &Mapping,
        rule: &Rule,
        mesh: &Mesh,
        sharding: Option<&Sharding>,
        missing: IfMissing,
    ) -> TensorFactors {
        let mut tensor = TensorFactors::default();
        for (dim, factors) in mapping.dims.iter().enumerate() {
            match sharding {
                Some(s) => tensor.deal(factors, rule, mesh, &s.dims[dim].axes, !s.dims[dim].is_open),
                None => tensor.deal(factors, rule, mesh, &[], missing == IfMissing::Closed),
            }
        }
        if let Some(s) = sharding {
            tensor.replicated.clone_from(&s.replicated);
            tensor.unreduced.clone_from(&s.unreduced);
        }
        tensor
    }

    /// Distributes the axes of one closed dimension to its factors, as [`new`](TensorFactors::new) does.
    pub(crate) fn of_dim(factors: &DimFactors, rule: &Rule, mesh: &Mesh, axes: &[AxisRef]) -> TensorFactors {
        let mut tensor = TensorFactors::default();
        tensor.deal(factors, rule, mesh, axes, true);
        tensor
    }

    fn deal(&mut self, factors: &DimFactors, rule: &Rule, mesh: &Mesh, axes: &[AxisRef], is_closed: bool) {
        let mut rest = Rest { mesh, axes, taken: None };
        let mut is_behind_overflow = false;
        for (i, &factor) in factors.iter().enumerate() {
            let is_minor_most = i + 1 == factors.len();
            if is_behind_overflow {
                let closed = FactorSharding { is_closed: true, is_minor_most, ..FactorSharding::default() };
                self.factors.push((factor, closed));
                return;
            }
            let sharding = if is_minor_most {
                FactorSharding { axes: rest.take_all(), overflow: vec![], is_closed, is_minor_most }
            } else {
                rest.take_fitting(rule.size(factor), is_closed)
            };
            is_behind_overflow = !sharding.overflow.is_empty();
            self.factors.push((factor, sharding));
        }
    }

    /// Returns the sharding of the tensor, whose dimensions are assembled from their factors. In a dimension of several
    /// factors, those after the first one that has overflow or is not split into single elements do not count, since a
    /// shard would need a strided view. A dimension is open if all factors that count are open. The sharding has no
    /// reduced axes, and its dimensions have no priorities.
    pub fn to_sharding(&self, mapping: &Mapping, rule: &Rule, mesh: &Arc<Mesh>) -> Sharding {
        ShardingParts {
            mesh: mesh.clone(),
            dims: mapping.dims.iter().map(|factors| self.to_dim(factors, rule, mesh)).collect(),
            replicated: self.replicated.clone(),
            unreduced: self.unreduced.clone(),
            reduced: vec![],
        }
        .into()
    }

    fn to_dim(&self, factors: &DimFactors, rule: &Rule, mesh: &Mesh) -> DimSharding {
        let mut dim = DimSharding::open(vec![]);
        for &factor in factors {
            let Some(sharding) = self.get(factor) else { break };
            dim.is_open &= !sharding.is_closed;
            append(&mut dim.axes, &sharding.axes, mesh);
            append(&mut dim.axes, &sharding.overflow, mesh);
            let is_full = AxisRef::total_size(mesh, &sharding.axes) >= rule.size(factor);
            if !sharding.overflow.is_empty() || !is_full {
                break;
            }
        }
        dim
    }

    /// Returns the sharding of a factor, or `None` if the tensor does not have the factor or [`new`] left it out.
    ///
    /// [`new`]: TensorFactors::new
    pub fn get(&self, factor: Factor) -> Option<&FactorSharding> {
        self.factors.iter().find(|(f, _)| *f == factor).map(|(_, s)| s)
    }

    /// Returns the sharding of a factor for changes, and `None` as [`get`](TensorFactors::get) does.
    pub fn get_mut(&mut self, factor: Factor) -> Option<&mut FactorSharding> {
        self.factors.iter_mut().find(|(f, _)| *f == factor).map(|(_, s)| s)
    }

    /// Returns an iterator over the factors and their shardings, in the order of the tensor's dimensions.
    pub fn iter(&self) -> impl Iterator<Item = (Factor, &FactorSharding)> {
        self.factors.iter().map(|(f, s)| (*f, s))
    }

    /// Sets the axes and the overflow of `factor`, if the tensor has it. Returns true if one of them changed.
    pub fn set(&mut self, factor: Factor, axes: AxisList, overflow: Vec<AxisRef>) -> bool {
        let Some(sharding) = self.get_mut(factor) else { return false };
        let is_new = sharding.axes != axes || sharding.overflow != overflow;
        (sharding.axes, sharding.overflow) = (axes, overflow);
        is_new
    }

    /// Returns true if some axes of a dimension do not fit its factors.
    pub fn has_overflow(&self) -> bool {
        self.iter().any(|(_, s)| !s.overflow.is_empty())
    }

    /// Sets the axes of `factor` if they extend its current axes. Returns true if they did.
    pub fn expand(&mut self, factor: Factor, axes: &[AxisRef]) -> bool {
        match self.get_mut(factor) {
            Some(sharding) if Prefix::is_strict(&sharding.axes, axes) => {
                sharding.axes = axes.into();
                true
            }
            _ => false,
        }
    }
}

/// Appends `axes` to `list`. In both, no neighbours can merge, so only the first of `axes` may merge, with the last
/// axis of `list`.
fn append(list: &mut Vec<AxisRef>, axes: &[AxisRef], mesh: &Mesh) {
    if let Some((&first, rest)) = axes.split_first() {
        AxisRef::push_or_merge(list, first, mesh);
        list.extend_from_slice(rest);
    }
}

/// The axes of a dimension that no factor has taken yet.
struct Rest<'a> {
    mesh: &'a Mesh,
    axes: &'a [AxisRef],
    /// The rest of the first of `axes`, if a part of it has been taken.
    taken: Option<AxisRef>,
}

impl Rest<'_> {
    fn first(&self) -> Option<AxisRef> {
        self.taken.or_else(|| self.axes.first().copied())
    }

    fn drop_first(&mut self) {
        self.taken = None;
        self.axes = &self.axes[1..];
    }

    /// Takes the axes for a factor of `size` that is not the minor-most. If the factor then has room left, all other
    /// axes of the dimension are its overflow.
    fn take_fitting(&mut self, size: usize, is_closed: bool) -> FactorSharding {
        let mut sharding = FactorSharding { is_closed, ..FactorSharding::default() };
        let mut room = size;
        while let Some(axis) = self.first() {
            let axis_size = axis.size(self.mesh);
            let common = gcd(room, axis_size);
            if common == 1 && axis_size != 1 {
                break;
            }
            room /= common;
            if common == axis_size {
                sharding.axes.push(axis);
                self.drop_first();
            } else {
                let pre_size = axis.pre_size();
                sharding.axes.push(AxisRef::sub(self.mesh, axis.axis, pre_size, common));
                let rest = AxisRef::sub(self.mesh, axis.axis, pre_size * common, axis_size / common);
                self.taken = Some(rest);
            }
        }
        if room > 1 {
            sharding.overflow = self.take_all().into_vec();
        }
        sharding
    }

    fn take_all(&mut self) -> AxisList {
        let mut all = AxisList::new();
        while let Some(axis) = self.first() {
            AxisRef::push_or_merge(&mut all, axis, self.mesh);
            self.drop_first();
        }
        all
    }
}

pub fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The factor shardings of all tensors of an op: operands, then results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projection {
    pub tensors: SmallVec<[TensorFactors; 4]>,
    pub operand_count: usize,
}

impl Projection {
    /// Converts the shardings of the operands, then of the results, to shardings of the rule's factors. `missing`
    /// states how a tensor without a sharding is treated.
    ///
    /// # Panics
    /// Panics if a sharding has fewer dimensions than its tensor.
    pub fn new<'a>(
        rule: &Rule,
        mesh: &Mesh,
        shardings: impl IntoIterator<Item = Option<&'a Sharding>>,
        missing: IfMissing,
    ) -> Projection {
        let tensors = rule.mappings().zip(shardings).map(|(m, s)| TensorFactors::new(m, rule, mesh, s, missing));
        Projection { tensors: tensors.collect(), operand_count: rule.operands.len() }
    }

    /// Returns the operands.
    pub fn operands(&self) -> &[TensorFactors] {
        &self.tensors[..self.operand_count]
    }

    /// Returns the results.
    pub fn results(&self) -> &[TensorFactors] {
        &self.tensors[self.operand_count..]
    }

    /// Returns the sharding of tensor `index`, operands first, as [`TensorFactors::to_sharding`] does.
    pub fn to_sharding(&self, index: usize, rule: &Rule, mesh: &Arc<Mesh>) -> Sharding {
        self.tensors[index].to_sharding(rule.mapping(index), rule, mesh)
    }
}
