//! Checks that `infer` is written with: operand counts and kinds, attributes, and constraints with the specification's
//! labels.
//!
//! No function here panics on an op that was read from text: such an op may have any operands, and any attributes of
//! the kinds that its schema states, until `infer` has checked them.

use crate::{Opcode, schema};
use shardwise_base::{DType, DTypeKind, Diagnostic, Diagnostics, counted};
use shardwise_ir::{Attr, OpView, TensorType, Type, Value};

/// The constraints that an op breaks, of those that were checked so far.
pub(crate) struct Check<'a, 'v> {
    op: &'a OpView<'v>,
    found: Diagnostics,
}

impl<'a, 'v> Check<'a, 'v> {
    pub fn new(op: &'a OpView<'v>) -> Check<'a, 'v> {
        Check { op, found: Diagnostics::default() }
    }

    /// Reports that the constraint `label` is broken if `holds` is false. `rule` is the constraint in words.
    pub fn that(&mut self, label: &'static str, holds: bool, rule: &str) -> &mut Self {
        if !holds {
            self.found.push(constraint(self.op, label, rule));
        }
        self
    }

    /// Reports that the constraint `label` is broken if the elements of an input cannot be promoted to those with which
    /// the region computes. Each of the `pairs` consists of the element type of an input and that of the region.
    pub fn promotes(&mut self, label: &'static str, mut pairs: impl Iterator<Item = (DType, DType)>) -> &mut Self {
        let rule = "the region must compute with elements of the inputs' kind that are no narrower than the inputs': \
                    integers, floats, complex numbers, booleans, or quantized elements of one expressed type";
        self.that(label, pairs.all(|(from, to)| is_promotable(from, to)), rule)
    }

    /// Returns `holds`. If it is false, reports that the constraint `label` is broken. `rule` is the constraint in
    /// words.
    pub fn holds(&mut self, label: &'static str, holds: bool, rule: &str) -> bool {
        self.that(label, holds, rule);
        holds
    }

    /// Returns the diagnostics so far as an error if a constraint was broken, and forgets them. Later checks may rely
    /// on the earlier constraints.
    pub fn so_far(&mut self) -> Result<(), Diagnostics> {
        std::mem::take(&mut self.found).or(())
    }

    /// Returns the result types if no constraint was broken, and the diagnostics so far as an error otherwise. Forgets
    /// the diagnostics.
    pub fn give(&mut self, types: impl IntoIterator<Item = Type>) -> Result<Vec<Type>, Diagnostics> {
        std::mem::take(&mut self.found).or(types.into_iter().collect())
    }

    /// Returns one tensor type, or the errors of the constraints that were broken, as [`Check::give`] does.
    pub fn give_tensor(&mut self, dtype: DType, shape: impl Into<Vec<usize>>) -> Result<Vec<Type>, Diagnostics> {
        self.give([Type::tensor(dtype, shape)])
    }
}

/// Returns the codes of the errors that the verifier finds in a module.
#[cfg(test)]
pub(crate) fn codes(text: &str) -> Vec<&'static str> {
    let module = shardwise_ir::text::parse("x.mlir", text, &crate::OPS).unwrap_or_else(|e| panic!("{e}"));
    shardwise_ir::verify(&module).iter().map(|d| d.code).collect()
}

/// Returns the types of exactly `N` operands, which must all be tensors, of an op without regions. Fails otherwise,
/// with one diagnostic.
pub(crate) fn tensors<'v, const N: usize>(op: &OpView<'v>) -> Result<[&'v TensorType; N], Diagnostics> {
    counts(op, 0..=MANY, 0)?;
    let all = all_tensors(op)?;
    <[&TensorType; N]>::try_from(all).map_err(|all| operand_count(op, all.len(), &N.to_string()).into())
}

pub(crate) fn all_tensors<'v>(op: &OpView<'v>) -> Result<Vec<&'v TensorType>, Diagnostics> {
    (0..op.operands().len())
        .map(|i| op.operand_type(i).as_tensor().ok_or_else(|| operand_not_tensor(op, i).into()))
        .collect()
}

pub(crate) fn declared<'v>(op: &OpView<'v>) -> Result<&'v TensorType, Diagnostics> {
    match op.results() {
        [v] => op.body.ty(*v).as_tensor().ok_or_else(|| needs_result_type(op).into()),
        _ => Err(needs_result_type(op).into()),
    }
}

pub(crate) fn declared_dtype(op: &OpView<'_>, otherwise: DType) -> DType {
    declared(op).map_or(otherwise, |t| t.dtype)
}

pub(crate) fn sizes(op: &OpView<'_>, name: &'static str) -> Result<Vec<usize>, Diagnostics> {
    op.attrs().sizes(name).ok_or_else(|| bad_attribute(op, name, "a list of sizes that are not negative").into())
}

pub(crate) fn size(op: &OpView<'_>, name: &'static str) -> Result<usize, Diagnostics> {
    op.attrs().size(name).ok_or_else(|| bad_attribute(op, name, "an integer that is not negative").into())
}

pub(crate) const PRECISION_RULE: &str = "a list in `precision_config` must be empty or have two entries";

pub(crate) fn precision_fits(op: &OpView<'_>) -> bool {
    match op.attr("precision_config") {
        Some(Attr::Array(items)) => items.is_empty() || items.len() == 2,
        _ => true,
    }
}

pub(crate) const MULTIPLY_RULE: &str =
    "the operands' element types must be integers or floats, or both booleans, or both complex numbers";

/// Returns true if a product of elements of these types is defined. As in XLA, integers and floats of different types
/// may be multiplied. Booleans, complex numbers and quantized elements may only be multiplied with their own kind.
pub(crate) fn may_multiply(x: DType, y: DType) -> bool {
    let is_real = |dtype: DType| matches!(dtype.kind(), DTypeKind::Signed | DTypeKind::Unsigned | DTypeKind::Float);
    x.kind() == y.kind() || is_real(x) && is_real(y)
}

pub(crate) const PRODUCT_RULE: &str =
    "the result must have complex elements if the operands have, and may not have them otherwise";

/// Returns true if sums of products of elements of type `from` may be elements of the type that the op declares for its
/// result, if it declares one: complex numbers are converted to no other kind, and no other kind to them.
pub(crate) fn yields_product(op: &OpView<'_>, from: DType) -> bool {
    declared_dtype(op, from).is_complex() == from.is_complex()
}

/// Returns true if a computation on elements of type `to` accepts elements of type `from`: if both are integers, or of
/// one other kind, and `to` has at least as many bits. Quantized types must also represent the same float type. This is
/// the specification's `is_promotable`.
pub(crate) fn is_promotable(from: DType, to: DType) -> bool {
    match (from.quantized(), to.quantized()) {
        (Some(a), Some(b)) => a.expressed == b.expressed && a.storage.bits() <= b.storage.bits(),
        (None, None) => {
            let are_integers = [from, to].iter().all(|d| matches!(d.kind(), DTypeKind::Signed | DTypeKind::Unsigned));
            (from.kind() == to.kind() || are_integers) && from.bits() <= to.bits()
        }
        _ => false,
    }
}

pub(crate) fn is_unique(list: &[usize]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|a, b| a < b)
}

pub(crate) fn are_dims(list: &[usize], rank: usize) -> bool {
    list.iter().all(|&d| d < rank)
}

fn types(op: &OpView<'_>, values: &[Value]) -> String {
    let types: Vec<String> = values.iter().map(|&v| op.body.ty(v).to_string()).collect();
    format!("({})", types.join(", "))
}

pub(crate) fn constraint(op: &OpView<'_>, label: &'static str, rule: &str) -> Diagnostic {
    Diagnostic::error(label, op.loc(), format!("`{}`: {rule}", op.name())).facts(signature(op))
}

/// Returns the types of the operands and results, as messages show them.
pub(crate) fn signature(op: &OpView<'_>) -> String {
    signature_with(op, op.operands())
}

pub(crate) fn signature_with(op: &OpView<'_>, operands: &[Value]) -> String {
    match op.results() {
        [] => format!("operands: {}", types(op, operands)),
        results => format!("{} -> {}", types(op, operands), types(op, results)),
    }
}

pub(crate) fn operand_count(op: &OpView<'_>, found: usize, expected: &str) -> Diagnostic {
    let label = match Opcode::of_view(op) {
        Opcode::Map if found == 0 => "map_c2",
        Opcode::Sort if found == 0 => "sort_c1",
        _ => "op-operand-count",
    };
    let operands = counted(found, "operand");
    let noun = if ["1", "at least 1"].contains(&expected) { "operand" } else { "operands" };
    Diagnostic::error(label, op.loc(), format!("`{}` has {operands}", op.name())).expected(format!("{expected} {noun}"))
}

fn operand_not_tensor(op: &OpView<'_>, index: usize) -> Diagnostic {
    let label = Opcode::of_view(op).operand_label(index);
    Diagnostic::error(label, op.loc(), format!("operand {index} of `{}` is not a tensor", op.name()))
        .facts(signature(op))
        .expected("a tensor")
}

pub(crate) fn needs_result_type(op: &OpView<'_>) -> Diagnostic {
    Diagnostic::error(
        "op-needs-result-type",
        op.loc(),
        format!("`{}` must have one result, with the type of a tensor", op.name()),
    )
    .expected("one tensor type")
    .note("its operands do not determine it")
}

pub(crate) fn bad_attribute(op: &OpView<'_>, name: &str, expected: &str) -> Diagnostic {
    let label = Opcode::of_view(op).attribute(name).map_or("op-attribute", |spec| spec.code());
    schema::wrong_kind(op, label, name, expected)
}

/// The upper bound for an op that takes any number of operands.
pub(crate) const MANY: usize = usize::MAX;

pub(crate) fn counts(
    op: &OpView<'_>,
    operands: std::ops::RangeInclusive<usize>,
    regions: usize,
) -> Result<(), Diagnostics> {
    let found = op.operands().len();
    if !operands.contains(&found) {
        let (lo, hi) = (*operands.start(), *operands.end());
        let expected = match hi {
            _ if lo == hi => lo.to_string(),
            MANY => format!("at least {lo}"),
            _ => format!("{lo} to {hi}"),
        };
        return Err(operand_count(op, found, &expected).into());
    }
    if op.regions().len() != regions {
        return Err(region_count(op, regions).into());
    }
    Ok(())
}

pub(crate) fn counted_tensors<'v>(
    op: &OpView<'v>,
    operands: std::ops::RangeInclusive<usize>,
    regions: usize,
) -> Result<Vec<&'v TensorType>, Diagnostics> {
    counts(op, operands, regions)?;
    all_tensors(op)
}

pub(crate) fn types_of(op: &OpView<'_>, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&v| op.body.ty(v).clone()).collect()
}

pub(crate) fn sizes_or(op: &OpView<'_>, name: &'static str, default: Vec<usize>) -> Result<Vec<usize>, Diagnostics> {
    if op.attrs().contains(name) { sizes(op, name) } else { Ok(default) }
}

pub(crate) fn is_increasing(list: &[usize]) -> bool {
    list.windows(2).all(|w| w[0] < w[1])
}

fn region_count(op: &OpView<'_>, expected: usize) -> Diagnostic {
    let regions = counted(op.regions().len(), "region");
    let message = format!("`{}` has {regions}", op.name());
    Diagnostic::error("op-region-count", op.loc(), message).expected(counted(expected, "region"))
}
