//! Along which factors an op runs sharded: the op as [`assign`] wants to see it.

use shardwise_base::{AxisRef, Mesh, Sharding};
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::{Combine, Facts, Opcode};
use shardwise_sharding::{Assignment, Factor, FactorKind, Parties, Rule, assign};
use std::sync::Arc;

/// Bytes of local memory that are moved while one byte is moved between devices.
const MEMORY_BYTES_PER_BYTE: u64 = 24;

/// Floating-point operations that are done while one byte is moved between devices.
const FLOPS_PER_BYTE: f64 = 2000.0;

/// An op that is to run sharded.
pub(crate) struct Task<'a> {
    pub mesh: &'a Arc<Mesh>,
    /// With factors that cannot be split marked so.
    pub rule: Rule,
    /// Of operands as they lie, then of results as they are wanted; `None`: takes no part.
    pub shardings: Vec<Option<Sharding>>,
    pub types: Vec<Option<&'a TensorType>>,
    pub operand_count: usize,
    work: u64,
}

impl<'a> Task<'a> {
    pub fn new(
        view: &OpView<'a>,
        facts: &dyn Facts,
        rule: &Rule,
        mesh: &'a Arc<Mesh>,
        shardings: Vec<Option<Sharding>>,
    ) -> Task<'a> {
        let values = view.operands().iter().chain(view.results());
        let types: Vec<Option<&TensorType>> = values.map(|&v| view.body.ty(v).as_tensor()).collect();
        let takes_part = |i: usize| types[i].is_some_and(|t| t.rank() == rule.mapping(i).rank());
        let keep = |(i, s): (usize, Option<Sharding>)| s.filter(|_| takes_part(i));
        let shardings: Vec<Option<Sharding>> = shardings.into_iter().enumerate().map(keep).collect();
        let cost = facts.cost(view);
        let work =
            (cost.flops / FLOPS_PER_BYTE) as u64 + (cost.bytes_read + cost.bytes_written) / MEMORY_BYTES_PER_BYTE;
        let operand_count = view.operands().len();
        let mut task = Task { mesh, rule: rule.clone(), shardings, types, operand_count, work };
        task.restrict(view, facts);
        task
    }

    pub fn decide(&self) -> Assignment {
        let bytes: Vec<u64> = self.types.iter().map(|t| t.map_or(0, |t| t.bytes())).collect();
        let shardings: Vec<Option<&Sharding>> = self.shardings.iter().map(Option::as_ref).collect();
        let parties =
            Parties { rule: &self.rule, mesh: self.mesh, shardings: &shardings, bytes: &bytes, work: self.work };
        assign(parties, |_| false)
    }

    /// How tensor `index` lies under an assignment; `None` if it takes no part.
    pub fn sharding(&self, assignment: &Assignment, index: usize) -> Option<Sharding> {
        self.shardings[index].as_ref()?;
        Some(assignment.sharding(&self.rule, self.mesh, index).canonical())
    }

    /// Axes over which results are partial.
    pub fn reduction_axes(&self, assignment: &Assignment) -> Vec<AxisRef> {
        assignment.reduction_axes(&self.rule, self.mesh)
    }

    /// `operand 1`, `result 0`.
    pub fn tensor_name(&self, index: usize) -> String {
        match index.checked_sub(self.operand_count) {
            None => format!("operand {index}"),
            Some(i) => format!("result {i}"),
        }
    }

    /// Marks factors that cannot be split as such.
    fn restrict(&mut self, view: &OpView<'_>, facts: &dyn Facts) {
        let can_reduce = matches!(facts.combine(view), Combine::With(_));
        // Random bits depend on their position in the whole, padding included.
        let needs_even = Opcode::of_view(view) == Opcode::RngBitGenerator;
        // A reshape makes no part of its result out of nothing.
        let needs_all = Opcode::of_view(view) == Opcode::Reshape;
        for factor in self.rule.all_factors() {
            let is_reduction = self.rule.kind(factor) == FactorKind::Reduction;
            let fits = !is_reduction || can_reduce && self.can_pad(view, facts, factor);
            let fits = fits && self.is_same_size_everywhere(factor) && !(needs_even && self.is_uneven(factor));
            if !fits || needs_all && !self.rule.mappings().all(|m| m.contains(factor)) {
                self.rule.factors[factor.index()].kind = FactorKind::NeedReplication;
            }
        }
    }

    /// Whether a split along a reduction factor is even, or can be padded with elements that add nothing.
    fn can_pad(&self, view: &OpView<'_>, facts: &dyn Facts, factor: Factor) -> bool {
        let holds = |i: &usize| self.rule.operands[*i].contains(factor);
        !self.is_uneven(factor) || (0..self.operand_count).filter(holds).all(|i| facts.neutral(view, i).is_some())
    }

    /// Whether some tensor is split unevenly along a dimension of this factor.
    fn is_uneven(&self, factor: Factor) -> bool {
        let is_uneven = |i: usize| {
            let (Some(sharding), Some(ty)) = (&self.shardings[i], self.types[i]) else { return false };
            let dims = self.rule.mapping(i).dims.iter().enumerate().filter(|(_, d)| d.contains(&factor));
            dims.into_iter().any(|(d, _)| !ty.shape[d].is_multiple_of(sharding.dims[d].shard_count(self.mesh)))
        };
        (0..self.types.len()).any(is_uneven)
    }

    /// Whether each dimension that is this factor alone has its size: blocks are equal in all tensors.
    fn is_same_size_everywhere(&self, factor: Factor) -> bool {
        let size = self.rule.size(factor);
        (0..self.types.len()).all(|i| {
            let Some(ty) = self.types[i] else { return true };
            let mut dims = self.rule.mapping(i).dims.iter().enumerate();
            dims.all(|(d, factors)| factors[..] != [factor] || ty.shape[d] == size)
        })
    }
}
