//! Builds a [`Rule`] factor by factor.

use crate::{DimFactors, Factor, FactorSpec, Mapping, Rule};
use smallvec::smallvec;

/// A builder of a rule. Factors are numbered in the order in which they are added, and each dimension gets its factors
/// major to minor.
#[derive(Clone, Debug, Default)]
pub struct RuleBuilder {
    factors: Vec<FactorSpec>,
    operands: Vec<Mapping>,
    results: Vec<Mapping>,
}

impl RuleBuilder {
    /// Starts a rule for tensors of these ranks. The rank is 0 for tokens and for tensors that take no part.
    pub fn new(
        operand_ranks: impl IntoIterator<Item = usize>,
        result_ranks: impl IntoIterator<Item = usize>,
    ) -> RuleBuilder {
        let empty = |rank: usize| Mapping { dims: smallvec![DimFactors::new(); rank] };
        RuleBuilder {
            factors: vec![],
            operands: operand_ranks.into_iter().map(empty).collect(),
            results: result_ranks.into_iter().map(empty).collect(),
        }
    }

    /// Adds a factor, and maps one dimension of each operand and result to it; `None` leaves a tensor out.
    ///
    /// A factor of size 1 is not added to a dimension that has factors already.
    ///
    /// # Panics
    /// Panics if a list does not have exactly one entry for each operand or result, or if a tensor does not have the
    /// dimension.
    pub fn add_factor(
        &mut self,
        operand_dims: &[Option<usize>],
        result_dims: &[Option<usize>],
        spec: FactorSpec,
    ) -> &mut RuleBuilder {
        let factor = self.reserve(spec);
        map_dims(&mut self.operands, operand_dims, factor, spec.size);
        map_dims(&mut self.results, result_dims, factor, spec.size);
        self
    }

    /// Adds a factor to dimension `dim` of every tensor that is not a scalar.
    ///
    /// # Panics
    /// Panics if one of these tensors does not have the dimension.
    pub fn add_factor_to_all(&mut self, dim: usize, spec: FactorSpec) -> &mut RuleBuilder {
        let factor = self.reserve(spec);
        map_all(&mut self.operands, dim, factor);
        map_all(&mut self.results, dim, factor);
        self
    }

    /// Adds a factor to dimension `dim` of every operand that is not a scalar.
    ///
    /// # Panics
    /// Panics if one of these operands does not have the dimension.
    pub fn add_factor_to_operands(&mut self, dim: usize, spec: FactorSpec) -> &mut RuleBuilder {
        let factor = self.reserve(spec);
        map_all(&mut self.operands, dim, factor);
        self
    }

    /// Adds a factor to dimension `dim` of every result that is not a scalar.
    ///
    /// # Panics
    /// Panics if one of these results does not have the dimension.
    pub fn add_factor_to_results(&mut self, dim: usize, spec: FactorSpec) -> &mut RuleBuilder {
        let factor = self.reserve(spec);
        map_all(&mut self.results, dim, factor);
        self
    }

    /// Adds a pass-through factor for each dimension of `shape`, in every tensor that is not a scalar.
    ///
    /// # Panics
    /// Panics if one of these tensors has fewer dimensions than `shape`.
    pub fn add_pointwise(&mut self, shape: &[usize]) -> &mut RuleBuilder {
        self.add_pointwise_with(shape, |_, size| FactorSpec::pass_through(size))
    }

    /// Adds a factor for each dimension of `shape`, in every tensor that is not a scalar; `spec(dim, size)` returns its
    /// size and kind.
    ///
    /// # Panics
    /// Panics if one of these tensors has fewer dimensions than `shape`.
    pub fn add_pointwise_with(
        &mut self,
        shape: &[usize],
        mut spec: impl FnMut(usize, usize) -> FactorSpec,
    ) -> &mut RuleBuilder {
        for (dim, &size) in shape.iter().enumerate() {
            self.add_factor_to_all(dim, spec(dim, size));
        }
        self
    }

    /// Adds a pass-through factor for each dimension of `shape` whose index `pred` accepts, in every tensor that is not
    /// a scalar.
    ///
    /// # Panics
    /// Panics if one of these tensors does not have one of these dimensions.
    pub fn add_pointwise_if(&mut self, shape: &[usize], mut pred: impl FnMut(usize) -> bool) -> &mut RuleBuilder {
        for (dim, &size) in shape.iter().enumerate() {
            if pred(dim) {
                self.add_factor_to_all(dim, FactorSpec::pass_through(size));
            }
        }
        self
    }

    /// Adds a factor for each dimension of `operand_shape`, in every tensor that is not a scalar: pass-through where
    /// the result has the same size, else `mismatch(size)` for the operand's size.
    ///
    /// # Panics
    /// Panics if the result has fewer dimensions than the operand, or if a tensor that is not a scalar does not have
    /// one of the dimensions. Debug builds also panic if the result has more dimensions than the operand.
    pub fn add_pointwise_or(
        &mut self,
        operand_shape: &[usize],
        result_shape: &[usize],
        mut mismatch: impl FnMut(usize) -> FactorSpec,
    ) -> &mut RuleBuilder {
        debug_assert_eq!(operand_shape.len(), result_shape.len());
        self.add_pointwise_with(operand_shape, |dim, size| {
            if result_shape[dim] == size { FactorSpec::pass_through(size) } else { mismatch(size) }
        })
    }

    /// Returns the rule and leaves the builder empty. Each dimension without a factor gets a factor of size 1 of its
    /// own, along which nothing propagates.
    pub fn build(&mut self) -> Rule {
        let RuleBuilder { mut factors, mut operands, mut results } = std::mem::take(self);
        operands.iter_mut().chain(&mut results).for_each(|m| fill(m, &mut factors));
        Rule { factors, operands, results, is_custom: false }
    }

    fn reserve(&mut self, spec: FactorSpec) -> Factor {
        self.factors.push(spec);
        Factor::new(self.factors.len() - 1)
    }
}

impl Rule {
    /// Returns the rule without the factors that `drops` accepts. The dimensions of such a factor become independent of
    /// each other: one without other factors gets a factor of size 1 of its own. The remaining factors are numbered
    /// anew, the factors of each dimension are in the order of these numbers, and the rule is not custom. A factor of
    /// size 1 is removed from a dimension that has a factor of a lower number.
    ///
    /// Without `j`, `([i, j])->([i, j]) {i=4, j=8}` becomes `([i, j])->([i, k]) {i=4, j=1, k=1}`.
    pub fn without(&self, drops: impl Fn(Factor) -> bool) -> Rule {
        let ranks = |mappings: &[Mapping]| mappings.iter().map(Mapping::rank).collect::<Vec<_>>();
        let mut builder = RuleBuilder::new(ranks(&self.operands), ranks(&self.results));
        for factor in self.all_factors().filter(|&f| !drops(f)) {
            let dim_of = |m: &Mapping| m.dims.iter().position(|d| d.contains(&factor));
            let dims = |mappings: &[Mapping]| mappings.iter().map(dim_of).collect::<Vec<_>>();
            builder.add_factor(&dims(&self.operands), &dims(&self.results), *self.spec(factor));
        }
        builder.build()
    }
}

fn map_dims(mappings: &mut [Mapping], dims: &[Option<usize>], factor: Factor, size: usize) {
    assert_eq!(mappings.len(), dims.len(), "one dimension, or none, for each tensor");
    for (mapping, dim) in mappings.iter_mut().zip(dims) {
        if let Some(dim) = *dim {
            let factors = &mut mapping.dims[dim];
            if size != 1 || factors.is_empty() {
                factors.push(factor);
            }
        }
    }
}

fn map_all(mappings: &mut [Mapping], dim: usize, factor: Factor) {
    for mapping in mappings.iter_mut().filter(|m| m.rank() > 0) {
        mapping.dims[dim].push(factor);
    }
}

fn fill(mapping: &mut Mapping, factors: &mut Vec<FactorSpec>) {
    for dim in mapping.dims.iter_mut().filter(|d| d.is_empty()) {
        dim.push(Factor::new(factors.len()));
        factors.push(FactorSpec::pass_through(1));
    }
}
