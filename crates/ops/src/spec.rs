//! Checking an op against the constraints of its specification.

use crate::Cost;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{OpView, TensorType, Type, Value};
use std::ops::RangeInclusive;

/// The constraints that an op breaks, collected; labels are the specification's (`gather_c12`).
///
/// ```text
/// let mut spec = Spec::new(op, 2..=2, 0)?;
/// spec.that("gather_c6", sorted(&offset_dims), "`offset_dims` must be sorted and distinct");
/// spec.done(vec![result])
/// ```
pub struct Spec<'a> {
    pub op: OpView<'a>,
    found: Diagnostics,
}

/// No upper bound on the number of operands.
pub const MANY: usize = usize::MAX;

impl<'a> Spec<'a> {
    /// Checks first what all other checks rely on: the number of operands and regions.
    pub fn new(op: &OpView<'a>, operands: RangeInclusive<usize>, regions: usize) -> Result<Spec<'a>, Diagnostics> {
        if !operands.contains(&op.operands().len()) {
            return Err(operand_count(op, &operands).into());
        }
        if op.regions().len() != regions {
            return Err(region_count(op, regions).into());
        }
        Ok(Spec { op: *op, found: Diagnostics::default() })
    }

    /// The same, for ops whose operands are all tensors.
    pub fn tensors(op: &OpView<'a>, operands: RangeInclusive<usize>, regions: usize) -> Result<Spec<'a>, Diagnostics> {
        let spec = Spec::new(op, operands, regions)?;
        match op.operands().iter().position(|&v| op.body.ty(v).as_tensor().is_none()) {
            Some(i) => Err(not_a_tensor(op, i).into()),
            None => Ok(spec),
        }
    }

    /// Records that the constraint `label` is broken unless it holds. Returns whether it does.
    pub fn that(&mut self, label: &'static str, holds: bool, demand: impl Into<String>) -> bool {
        if !holds {
            self.found.push(broken(&self.op, label, &demand.into()));
        }
        holds
    }

    pub fn push(&mut self, d: Diagnostic) {
        self.found.push(d);
    }

    /// Stops here if anything is broken: what follows relies on it.
    pub fn so_far(&mut self) -> Result<(), Diagnostics> {
        if self.found.has_errors() { Err(std::mem::take(&mut self.found)) } else { Ok(()) }
    }

    /// The result types, if every constraint holds.
    pub fn done(self, types: Vec<Type>) -> Result<Vec<Type>, Diagnostics> {
        self.found.or(types)
    }

    /// An attribute that must be there as a dimension or size.
    pub fn size(&mut self, name: &'static str) -> Result<usize, Diagnostics> {
        self.op.attrs().size(name).ok_or_else(|| attr_kind(&self.op, name, "an integer that is not negative").into())
    }

    /// A list of dimensions or sizes; `default` if absent.
    pub fn sizes_or(&mut self, name: &'static str, default: Vec<usize>) -> Result<Vec<usize>, Diagnostics> {
        match self.op.attr(name) {
            None => Ok(default),
            Some(a) => a.to_sizes().ok_or_else(|| attr_kind(&self.op, name, "a list of sizes").into()),
        }
    }

    pub fn tensor(&self, i: usize) -> &'a TensorType {
        self.op.operand_tensor(i)
    }
}

/// The types of a list of values.
pub fn types_of(op: &OpView<'_>, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&v| op.body.ty(v).clone()).collect()
}

/// Bytes of all tensors among the operands, and among the results.
pub fn traffic(op: &OpView<'_>) -> Cost {
    let bytes = |values: &[Value]| -> u64 {
        values.iter().filter_map(|&v| op.body.ty(v).as_tensor()).map(TensorType::bytes).sum()
    };
    Cost { flops: 0.0, bytes_read: bytes(op.operands()), bytes_written: bytes(op.results()) }
}

/// Whether the list has no element twice.
pub fn is_unique(list: &[usize]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|w| w[0] != w[1])
}

/// Whether each element is greater than the one before.
pub fn is_increasing(list: &[usize]) -> bool {
    list.windows(2).all(|w| w[0] < w[1])
}

fn type_list(types: &[Type]) -> String {
    let names: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("({})", names.join(", "))
}

/// The operand types of an op, as they print.
pub fn operand_types(op: &OpView<'_>) -> String {
    type_list(&types_of(op, op.operands()))
}

fn broken(op: &OpView<'_>, label: &'static str, demand: &str) -> Diagnostic {
    Diagnostic::error(label, op.loc(), format!("`{}`: {demand}", op.name()))
        .facts(format!("operands: {}", operand_types(op)))
}

fn operand_count(op: &OpView<'_>, expected: &RangeInclusive<usize>) -> Diagnostic {
    let (lo, hi) = (*expected.start(), *expected.end());
    let count = if lo == hi {
        lo.to_string()
    } else if hi == MANY {
        format!("at least {lo}")
    } else {
        format!("{lo} to {hi}")
    };
    let message = format!("`{}` has {} operands", op.name(), op.operands().len());
    Diagnostic::error("op-operands", op.loc(), message).facts(format!("operands: {}", operand_types(op))).expected(count)
}

fn region_count(op: &OpView<'_>, expected: usize) -> Diagnostic {
    let message = format!("`{}` has {} regions", op.name(), op.regions().len());
    Diagnostic::error("op-regions", op.loc(), message).expected(expected.to_string())
}

fn not_a_tensor(op: &OpView<'_>, index: usize) -> Diagnostic {
    let message = format!("operand {index} of `{}` must be a tensor", op.name());
    Diagnostic::error("op-operands", op.loc(), message).facts(format!("operands: {}", operand_types(op)))
}

/// An attribute that is missing or of another kind.
pub fn attr_kind(op: &OpView<'_>, name: &str, expected: &str) -> Diagnostic {
    let message = match op.attr(name) {
        None => format!("`{}` needs the attribute `{name}`", op.name()),
        Some(_) => format!("the attribute `{name}` of `{}` is of another kind", op.name()),
    };
    Diagnostic::error("op-attribute", op.loc(), message).expected(expected)
}
