//! What `infer` is written with: operand counts and kinds, attributes, constraints with the spec's labels.
//!
//! Nothing here panics on what text can say: an op may have any operands and attributes until `infer` has looked.

use crate::{Opcode, schema};
use shardwise_base::{DType, Diagnostic, Diagnostics, Kind};
use shardwise_ir::{Attr, OpView, TensorType, Type, Value};

/// Collects the constraints that an op breaks.
pub(crate) struct Check<'a, 'v> {
    op: &'a OpView<'v>,
    found: Diagnostics,
}

impl<'a, 'v> Check<'a, 'v> {
    pub fn new(op: &'a OpView<'v>) -> Check<'a, 'v> {
        Check { op, found: Diagnostics::default() }
    }

    /// Reports constraint `label` as broken unless `holds`; `rule` says it in words.
    pub fn that(&mut self, label: &'static str, holds: bool, rule: &str) -> &mut Self {
        if !holds {
            self.found.push(constraint(self.op, label, rule));
        }
        self
    }

    /// The same; whether it holds.
    pub fn holds(&mut self, label: &'static str, holds: bool, rule: &str) -> bool {
        self.that(label, holds, rule);
        holds
    }

    /// Stops here if a constraint was broken: what follows relies on them.
    pub fn so_far(&mut self) -> Result<(), Diagnostics> {
        std::mem::take(&mut self.found).or(())
    }

    /// The result types, if no constraint was broken.
    pub fn give(&mut self, types: impl IntoIterator<Item = Type>) -> Result<Vec<Type>, Diagnostics> {
        std::mem::take(&mut self.found).or(types.into_iter().collect())
    }

    /// One tensor type, if no constraint was broken.
    pub fn give_tensor(&mut self, dtype: DType, shape: impl Into<Vec<usize>>) -> Result<Vec<Type>, Diagnostics> {
        self.give([Type::tensor(dtype, shape)])
    }
}

/// The types of exactly `N` operands, all tensors.
pub(crate) fn tensors<'v, const N: usize>(op: &OpView<'v>) -> Result<[&'v TensorType; N], Diagnostics> {
    let all = all_tensors(op)?;
    <[&TensorType; N]>::try_from(all).map_err(|all| operand_count(op, all.len(), &N.to_string()).into())
}

/// The types of all operands, all tensors.
pub(crate) fn all_tensors<'v>(op: &OpView<'v>) -> Result<Vec<&'v TensorType>, Diagnostics> {
    (0..op.operands().len())
        .map(|i| op.operand_type(i).as_tensor().ok_or_else(|| operand_not_tensor(op, i).into()))
        .collect()
}

/// Checks that the op has at least `n` operands.
pub(crate) fn at_least(op: &OpView<'_>, n: usize) -> Result<(), Diagnostics> {
    let found = op.operands().len();
    if found < n { Err(operand_count(op, found, &format!("at least {n}")).into()) } else { Ok(()) }
}

/// The op's own result type, of an op whose result is not a function of its operands (`convert`, `reshape`).
pub(crate) fn declared<'v>(op: &OpView<'v>) -> Result<&'v TensorType, Diagnostics> {
    match op.results() {
        [v] => op.body.ty(*v).as_tensor().ok_or_else(|| needs_result_type(op).into()),
        _ => Err(needs_result_type(op).into()),
    }
}

/// The declared element type of the only result if there is one already, else `otherwise`.
pub(crate) fn declared_dtype(op: &OpView<'_>, otherwise: DType) -> DType {
    declared(op).map_or(otherwise, |t| t.dtype)
}

/// A list of dimensions or sizes that must be there.
pub(crate) fn sizes(op: &OpView<'_>, name: &'static str) -> Result<Vec<usize>, Diagnostics> {
    op.attrs().sizes(name).ok_or_else(|| bad_attribute(op, name, "a list of sizes that are not negative").into())
}

/// A list of integers that must be there.
pub(crate) fn ints(op: &OpView<'_>, name: &'static str) -> Result<Vec<i64>, Diagnostics> {
    op.attrs().ints(name).ok_or_else(|| bad_attribute(op, name, "a list of integers").into())
}

/// A dimension or size that must be there.
pub(crate) fn size(op: &OpView<'_>, name: &'static str) -> Result<usize, Diagnostics> {
    op.attrs().size(name).ok_or_else(|| bad_attribute(op, name, "an integer that is not negative").into())
}

/// A word (a string, an enum's value) that must be there.
pub(crate) fn word<'v>(op: &OpView<'v>, name: &'static str) -> Result<&'v str, Diagnostics> {
    op.attrs().str(name).ok_or_else(|| bad_attribute(op, name, "a word").into())
}

/// Whether `precision_config` is absent or has an entry for each operand.
pub(crate) fn precision_fits(op: &OpView<'_>) -> bool {
    match op.attr("precision_config") {
        Some(Attr::Array(items)) => items.is_empty() || items.len() == 2,
        _ => true,
    }
}

/// Whether a computation on elements of type `to` may be given those of type `from`: of the same kind, and no wider. (The
/// specification's `is_promotable`.)
pub(crate) fn is_promotable(from: DType, to: DType) -> bool {
    match (from.quantized(), to.quantized()) {
        (Some(a), Some(b)) => a.expressed == b.expressed && a.storage.bits() <= b.storage.bits(),
        (None, None) => {
            let are_integers = [from, to].iter().all(|d| matches!(d.kind(), Kind::Signed | Kind::Unsigned));
            (from.kind() == to.kind() || are_integers) && from.bits() <= to.bits()
        }
        _ => false,
    }
}

/// Whether no number stands twice.
pub(crate) fn is_unique(list: &[usize]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|a, b| a < b)
}

/// Whether every dimension is one of a tensor of this rank.
pub(crate) fn are_dims(list: &[usize], rank: usize) -> bool {
    list.iter().all(|&d| d < rank)
}

fn types(op: &OpView<'_>, values: &[Value]) -> String {
    let types: Vec<String> = values.iter().map(|&v| op.body.ty(v).to_string()).collect();
    format!("({})", types.join(", "))
}

/// A constraint of the spec is broken.
pub(crate) fn constraint(op: &OpView<'_>, label: &'static str, rule: &str) -> Diagnostic {
    Diagnostic::error(label, op.loc(), format!("`{}`: {rule}", op.name())).facts(signature(op))
}

fn signature(op: &OpView<'_>) -> String {
    match op.results() {
        [] => format!("operands: {}", types(op, op.operands())),
        results => format!("{} -> {}", types(op, op.operands()), types(op, results)),
    }
}

pub(crate) fn operand_count(op: &OpView<'_>, found: usize, expected: &str) -> Diagnostic {
    let label = match Opcode::of_view(op) {
        Opcode::Map if found == 0 => "map_c2",
        Opcode::Sort if found == 0 => "sort_c1",
        _ => "op-operand-count",
    };
    Diagnostic::error(label, op.loc(), format!("`{}` has {found} operands", op.name()))
        .expected(format!("{expected} operands"))
}

fn operand_not_tensor(op: &OpView<'_>, index: usize) -> Diagnostic {
    let label = Opcode::of_view(op).operand_label(index);
    Diagnostic::error(label, op.loc(), format!("operand {index} of `{}` is not a tensor", op.name()))
        .facts(signature(op))
        .expected("a tensor")
}

pub(crate) fn needs_result_type(op: &OpView<'_>) -> Diagnostic {
    Diagnostic::error("op-needs-result-type", op.loc(), format!("`{}` must be given its result type", op.name()))
        .expected("one tensor type")
        .note("its operands do not determine it")
}

pub(crate) fn bad_attribute(op: &OpView<'_>, name: &str, expected: &str) -> Diagnostic {
    let label = Opcode::of_view(op).attribute(name).and_then(|spec| spec.label).unwrap_or("op-attribute");
    if op.attr(name).is_some() {
        return schema::wrong_kind(op, label, name, expected);
    }
    Diagnostic::error(label, op.loc(), format!("`{}` lacks the attribute `{name}`", op.name())).expected(expected)
}

/// Reference evaluation does not compute with this element type.
pub(crate) fn not_computed(op: &OpView<'_>, dtype: DType) -> Diagnostic {
    Diagnostic::error("eval-dtype", op.loc(), format!("`{}` is not computed for elements of type {dtype}", op.name()))
        .note("this type exists in text and files only")
        .help("convert to a wider type first")
}

/// No upper bound on the number of operands.
pub(crate) const MANY: usize = usize::MAX;

/// Checks the number of operands and of regions, on which every other check relies.
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

/// The same, of an op whose operands are all tensors: their types.
pub(crate) fn counted_tensors<'v>(
    op: &OpView<'v>,
    operands: std::ops::RangeInclusive<usize>,
    regions: usize,
) -> Result<Vec<&'v TensorType>, Diagnostics> {
    counts(op, operands, regions)?;
    all_tensors(op)
}

/// The types of a list of values.
pub(crate) fn types_of(op: &OpView<'_>, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&v| op.body.ty(v).clone()).collect()
}

/// A list of dimensions or sizes that may be absent: `default` then.
pub(crate) fn sizes_or(op: &OpView<'_>, name: &'static str, default: Vec<usize>) -> Result<Vec<usize>, Diagnostics> {
    if op.attrs().contains(name) { sizes(op, name) } else { Ok(default) }
}

/// Whether each number is greater than the one before.
pub(crate) fn is_increasing(list: &[usize]) -> bool {
    list.windows(2).all(|w| w[0] < w[1])
}

fn region_count(op: &OpView<'_>, expected: usize) -> Diagnostic {
    let message = format!("`{}` has {} regions", op.name(), op.regions().len());
    Diagnostic::error("op-region-count", op.loc(), message).expected(format!("{expected} regions"))
}
