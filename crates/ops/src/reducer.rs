//! Regions that combine two elements: finding out which reduction they compute, and building them.

use crate::elementwise::Compare;
use crate::eval::{self, Number};
use crate::facts::Linear;
use crate::shapes::{constant_operand, known_operand};
use crate::{NoRegions, OPS, Opcode, Promoted, ReduceKind, Reducer, Semantics, elementwise, promote, quantized};
use shardwise_base::{Complex64, DType, DTypeKind, Literal};
use shardwise_ir::{Attrs, Body, Builder, Module, OpTable, OpView, Region, Type, Value, ValueDef};
use std::collections::HashMap;

/// The use of region 0 as the reducer of an op whose operands are inputs and as many initial values: elements of operand
/// `i` are converted to the type of argument `i` of the region.
pub(crate) const OF_EACH: Reducer = Reducer { region: 0, argument: |_, index| Some(index), promoted: Promoted::SameOp };

impl ReduceKind {
    pub const ALL: [ReduceKind; 6] =
        [ReduceKind::Add, ReduceKind::Mul, ReduceKind::Max, ReduceKind::Min, ReduceKind::And, ReduceKind::Or];

    /// Returns the name of the op that combines two elements.
    pub const fn op_name(self) -> &'static str {
        match self {
            ReduceKind::Add => "stablehlo.add",
            ReduceKind::Mul => "stablehlo.multiply",
            ReduceKind::Max => "stablehlo.maximum",
            ReduceKind::Min => "stablehlo.minimum",
            ReduceKind::And => "stablehlo.and",
            ReduceKind::Or => "stablehlo.or",
        }
    }

    /// Returns the name of the reduction in `sdy.all_reduce`: `sum`, `max`, …
    pub const fn name(self) -> &'static str {
        match self {
            ReduceKind::Add => "sum",
            ReduceKind::Mul => "prod",
            ReduceKind::Max => "max",
            ReduceKind::Min => "min",
            ReduceKind::And => "and",
            ReduceKind::Or => "or",
        }
    }

    /// Returns the reduction that this one is for truth values: `And` for products and minima, `Or` for sums and maxima.
    pub const fn of_truths(self) -> ReduceKind {
        match self {
            ReduceKind::Mul | ReduceKind::And | ReduceKind::Min => ReduceKind::And,
            ReduceKind::Add | ReduceKind::Or | ReduceKind::Max => ReduceKind::Or,
        }
    }

    /// Returns the opcode of the op that combines two arrays.
    pub fn opcode(self) -> Opcode {
        Opcode::of(OPS.find(self.op_name()).expect("the table has the ops that reduce"))
    }

    /// Returns true if combining an element twice has the same result as combining it once, whatever its type. Returns
    /// false for sums and products, also of booleans.
    pub fn is_idempotent(self) -> bool {
        !matches!(self, ReduceKind::Add | ReduceKind::Mul)
    }

    /// Combines two arrays of one type element by element. Returns `None` if the reduction is not defined for this
    /// type.
    pub fn apply(self, x: &Literal, y: &Literal) -> Option<Literal> {
        let binary = match self {
            ReduceKind::Add => &elementwise::ADD,
            ReduceKind::Mul => &elementwise::MULTIPLY,
            ReduceKind::Max => &elementwise::MAXIMUM,
            ReduceKind::Min => &elementwise::MINIMUM,
            ReduceKind::And => &elementwise::AND,
            ReduceKind::Or => &elementwise::OR,
        };
        binary.apply(x, y)
    }

    /// Combines arrays of one type element by element, first to last. Returns `None` for an empty list, and for two or
    /// more arrays if the reduction is not defined for their type.
    ///
    /// Floats of 16 bits and less are combined in `f32` and rounded once, at the end. `complex<f32>` is rounded at each
    /// step.
    pub fn apply_all(self, parts: &[Literal]) -> Option<Literal> {
        let (first, rest) = parts.split_first()?;
        let total = rest.iter().try_fold(Combined::new(first.clone()), |total, x| total.with(self, x))?;
        Some(total.finish().to_dense())
    }

    /// Returns the element that leaves every other one unchanged, also a -0, as a scalar. Returns `None` if the type
    /// has no such element: there is no zero in `f8E8M0FNU`, complex numbers have no largest one, and a complex product
    /// with 1 changes infinities (`inf + i` becomes `inf + nan i`). `And` and `Or` must be asked for integers and
    /// booleans only.
    pub fn neutral(self, dtype: DType) -> Option<Literal> {
        match self {
            ReduceKind::Add => dtype.has_zero().then(|| nothing(dtype)),
            ReduceKind::Mul | ReduceKind::Max | ReduceKind::Min if dtype.is_complex() => None,
            _ => Some(self.identity(dtype)),
        }
    }

    pub fn parse(name: &str) -> Option<ReduceKind> {
        ReduceKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Returns the element that leaves the other operand unchanged, as a scalar: 0 for a sum, 1 for a product, the
    /// least value for a maximum, and so on. A sum of -0 and this 0 is 0, which [`nothing`] avoids. The result is
    /// another element if the reduction is not defined for the type or the type has no such element.
    pub fn identity(self, dtype: DType) -> Literal {
        match self {
            ReduceKind::Add | ReduceKind::Or => Literal::zeros(dtype, vec![]),
            ReduceKind::Mul => eval::fill(dtype, &[], |_| Number::Unsigned(1)),
            ReduceKind::Max => least(dtype),
            ReduceKind::Min => greatest(dtype),
            ReduceKind::And => Literal::splat(dtype, vec![], &all_bits(dtype)),
        }
    }
}

/// Arrays of one type that are combined one after the other, as [`ReduceKind::apply_all`] states. Holds one array.
pub struct Combined {
    dtype: DType,
    total: Literal,
}

impl Combined {
    pub fn new(first: Literal) -> Combined {
        Combined { dtype: first.dtype(), total: first }
    }

    /// Combines the arrays so far with the next one. Returns `None` if the reduction is not defined for the type.
    pub fn with(self, kind: ReduceKind, next: &Literal) -> Option<Combined> {
        let is_narrow = self.dtype.is_float() && self.dtype.bits() < 32;
        let computes_in = if is_narrow { DType::F32 } else { self.dtype };
        let wide = eval::convert(&self.total, computes_in);
        Some(Combined { dtype: self.dtype, total: kind.apply(&wide, &eval::convert(next, computes_in))? })
    }

    /// Returns the result, which is the array itself if there was only one.
    pub fn finish(self) -> Literal {
        eval::convert(&self.total, self.dtype)
    }
}

/// Returns an array of this shape whose elements are all [`nothing`].
pub fn nothings(dtype: DType, shape: impl Into<Vec<usize>>) -> Literal {
    Literal::splat(dtype, shape, nothing(dtype).element_bytes(0))
}

/// Returns the element that changes no other one when it is added, as a scalar: zero, which is -0 for floats and
/// complex numbers that have it, because the sum of -0 and 0 is 0. Returns another element if the type has no zero.
pub fn nothing(dtype: DType) -> Literal {
    eval::fill(dtype, &[], |_| match dtype.is_float() || dtype.is_complex() {
        true => Number::Complex(Complex64::new(-0.0, -0.0)),
        false => Number::Signed(0),
    })
}

fn all_bits(dtype: DType) -> Vec<u8> {
    let unused = 8 * dtype.storage_bytes() - dtype.bits();
    vec![if dtype.is_signed() { 0xff } else { 0xff >> unused.min(7) }; dtype.storage_bytes()]
}

fn least(dtype: DType) -> Literal {
    match dtype.kind() {
        DTypeKind::Float => limit(dtype, f64::NEG_INFINITY),
        DTypeKind::Signed => eval::fill(dtype, &[], |_| Number::Signed(i64::MIN >> (64 - dtype.bits()))),
        _ => Literal::zeros(dtype, vec![]),
    }
}

fn greatest(dtype: DType) -> Literal {
    match dtype.kind() {
        DTypeKind::Float => limit(dtype, f64::INFINITY),
        DTypeKind::Signed => eval::fill(dtype, &[], |_| Number::Signed(i64::MAX >> (64 - dtype.bits()))),
        _ => Literal::splat(dtype, vec![], &all_bits(dtype)),
    }
}

/// Returns the infinity, or the finite value nearest to it in types without infinities.
fn limit(dtype: DType, infinity: f64) -> Literal {
    let value = eval::fill(dtype, &[], |_| Number::Double(infinity));
    if !value.get_f64(0).is_nan() {
        return value;
    }
    let sign = infinity.signum();
    let values = (0..=u8::MAX).filter_map(|code| dtype.small_float(code)).filter(|x| x.is_finite());
    let nearest = values.map(|x| x * sign).fold(f64::NEG_INFINITY, f64::max);
    eval::fill(dtype, &[], |_| Number::Double(nearest * sign))
}

/// Returns the reduction whose op combines the two arguments of a region into its first result, as [`reduce_kind_of`]
/// does. Returns `None` for any other region.
pub fn reduce_kind(module: &Module, body: &Body, region: Region) -> Option<ReduceKind> {
    let args = &body[region].args;
    (args.len() == 2).then(|| reduce_kind_of(module, body, region, 0))?
}

/// Returns the reduction whose op combines the arguments `index` and `n + index` of a reducer with `2n` arguments, in
/// either order, into its result `index`. Ops that return their operand unchanged may stand between them. Returns
/// `None` if the result is made in any other way or does not exist, and for a reducer of quantized values.
pub fn reduce_kind_of(module: &Module, body: &Body, region: Region, index: usize) -> Option<ReduceKind> {
    let args = &body[region].args;
    let n = args.len() / 2;
    // Integers that represent floats are not combined as integers.
    let is_quantized = |v: Value| body.ty(v).as_tensor().is_some_and(|t| t.dtype.quantized().is_some());
    if args.iter().any(|&v| is_quantized(v)) {
        return None;
    }
    let result = *body.region_results(region).get(index)?;
    let op = module.view(body, body.def_op(through_marks(module, body, result))?);
    if op.operands().len() != 2 {
        return None;
    }
    let operands = [0, 1].map(|i| through_marks(module, body, op.operand(i)));
    let (a, b) = (*args.get(index)?, *args.get(n + index)?);
    let uses_both = operands == [a, b] || operands == [b, a];
    ReduceKind::ALL.into_iter().find(|k| uses_both && k.op_name() == op.name())
}

/// A reduction of pairs, a value and an index, to the largest or smallest value and its index, as `jnp.argmax` and
/// `jnp.argmin` write it. Of equal values, the one with the least index counts, and its index is the result.
///
/// The arguments `(a, i)` and `(b, j)` become `a` if `a > b`, else `b`, and `i` if `a > b`, or if `a = b` and `i < j`,
/// else `j`. For the smallest value, `a < b` takes the place of `a > b`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArgReduce {
    /// True for the largest value, and false for the smallest one.
    pub is_max: bool,
    /// True if `a` and `i` are the results, too, if `a` is NaN.
    pub keeps_nan: bool,
}

/// Returns the reduction to the largest or smallest value and its index that the only region of an op computes. Returns
/// `None` for other regions, and for an op with no region or several. Does not check that the op is a `reduce`.
pub fn arg_reduce(op: &OpView<'_>) -> Option<ArgReduce> {
    let &[region] = op.regions() else { return None };
    let (&[a, i, b, j], &[value, index]) = (&op.body[region].args[..], op.body.region_results(region)) else {
        return None;
    };
    let def = |v: Value| Some(op.module.view(op.body, op.body.def_op(v)?));
    let select = |v: Value, on_true: Value, on_false: Value| {
        let view = def(v).filter(|view| Opcode::of_view(view) == Opcode::Select)?;
        (view.operands()[1..] == [on_true, on_false]).then(|| view.operand(0))
    };
    let compares = |v: Value, direction: &str, operands: [Value; 2]| {
        let is_such = |view: OpView<'_>| {
            let is_direction =
                Opcode::of_view(&view) == Opcode::Compare && Compare::direction(&view) == Some(direction);
            is_direction && !Compare::is_total_order(&view) && view.operands() == operands
        };
        def(v).is_some_and(is_such)
    };
    // Both orders of the operands of an op of two truth values.
    let both = |v: Value, opcode: Opcode| {
        let view = def(v).filter(|view| Opcode::of_view(view) == opcode)?;
        let (x, y) = (view.operand(0), view.operand(1));
        Some([[x, y], [y, x]])
    };
    let (takes_value, takes_index) = (select(value, a, b)?, select(index, i, j)?);
    let is_first = |[x, y]: [Value; 2]| {
        let is_equal = |[x, y]: [Value; 2]| compares(x, "EQ", [a, b]) && compares(y, "LT", [i, j]);
        x == takes_value && both(y, Opcode::And).is_some_and(|orders| orders.into_iter().any(is_equal))
    };
    both(takes_index, Opcode::Or)?.into_iter().find(|order| is_first(*order))?;
    let is_max = |v: Value| {
        let is = |direction| compares(v, direction, [a, b]);
        if is("GT") { Some(true) } else { is("LT").then_some(false) }
    };
    if let Some(is_max) = is_max(takes_value) {
        return Some(ArgReduce { is_max, keeps_nan: false });
    }
    let kept = |[x, y]: [Value; 2]| is_max(x).filter(|_| compares(y, "NE", [a, a]));
    let is_max = both(takes_value, Opcode::Or)?.into_iter().find_map(kept)?;
    Some(ArgReduce { is_max, keeps_nan: true })
}

/// Returns the value from which `v` is made by ops that return their operands unchanged ([`Semantics::Identity`]), or
/// `v` itself if no such op defines it.
fn through_marks(module: &Module, body: &Body, mut v: Value) -> Value {
    while let ValueDef::Result { op, index } = body[v].def {
        let view = module.view(body, op);
        let is_mark = Opcode::of_view(&view).facts().semantics(&view) == Semantics::Identity;
        match view.operands().get(index as usize) {
            Some(&operand) if is_mark => v = operand,
            _ => break,
        }
    }
    v
}

pub(crate) fn linear_if_sum(op: &OpView<'_>, kind: Option<ReduceKind>, linear: Linear) -> Linear {
    // In a wider type, a sum does not wrap around where one in the operands' type does.
    let is_sum = kind == Some(ReduceKind::Add) && !promote::is_promoted(op);
    if is_sum { linear } else { Linear::No }
}

/// Returns the reduction that the first region of an op computes. Returns `None` if the op has no region, and if
/// [`reduce_kind`] does.
pub fn reduce_kind_of_op(op: &OpView<'_>) -> Option<ReduceKind> {
    reduce_kind(op.module, op.body, *op.regions().first()?)
}

/// Returns true if it is known that an op's initial values may be combined any number of times.
pub(crate) fn may_repeat_inits(op: &OpView<'_>) -> bool {
    let is_plain = !promote::is_promoted(op) && !quantized::is_quantized(op);
    let is_idempotent = || reduce_kind_of_op(op).is_some_and(ReduceKind::is_idempotent);
    is_plain && (is_idempotent() || repeatable_inits(op).is_some())
}

/// Returns the initial values if they are constants, and the reducer returns them if it combines them with themselves:
/// they may be combined any number of times. Returns `None` if this is not known.
pub(crate) fn repeatable_inits(op: &OpView<'_>) -> Option<Vec<Literal>> {
    let [region] = op.regions() else { return None };
    let n = op.operands().len() / 2;
    if promote::is_promoted(op) || quantized::is_quantized(op) || op.body[*region].args.len() != 2 * n {
        return None;
    }
    let inits: Vec<Literal> = (n..2 * n).map(|i| known_operand(op, i).cloned()).collect::<Option<_>>()?;
    let twice = run_region(op, *region, &[&inits[..], &inits[..]].concat())?;
    (twice == inits).then_some(inits)
}

/// Computes the results of a region for these arguments. Returns `None` if an op of the region has regions, is not
/// [`Semantics::Pure`], or fails, and if an op or a result needs a value from outside of the region that is not a
/// constant ([`constant_operand`]).
pub(crate) fn run_region(op: &OpView<'_>, region: Region, args: &[Literal]) -> Option<Vec<Literal>> {
    let body = op.body;
    let mut known: HashMap<Value, Literal> = body[region].args.iter().copied().zip(args.iter().cloned()).collect();
    let (&last, ops) = body[region].ops.split_last()?;
    let operands = |known: &HashMap<Value, Literal>, view: &OpView<'_>| -> Option<Vec<Literal>> {
        let operand = |(i, v): (usize, &Value)| known.get(v).or_else(|| constant_operand(view, i)).cloned();
        view.operands().iter().enumerate().map(operand).collect()
    };
    for &inner in ops {
        let view = op.at(inner);
        if !view.regions().is_empty() || Opcode::of_view(&view).facts().semantics(&view) != Semantics::Pure {
            return None;
        }
        let results = crate::evaluate(&view, &operands(&known, &view)?, &mut NoRegions).ok()?;
        known.extend(view.results().iter().copied().zip(results));
    }
    operands(&known, &op.at(last))
}

pub(crate) fn copy_region(b: &mut Builder<'_>, region: Region) -> Region {
    let types: Vec<Type> = b.body[region].args.iter().map(|&v| b.body.ty(v).clone()).collect();
    let (args, ops) = (b.body[region].args.clone(), b.body[region].ops.clone());
    b.region(&types, |b, new| {
        let mut renamed: HashMap<Value, Value> = args.into_iter().zip(new.iter().copied()).collect();
        for op in ops {
            let data = b.body[op].clone();
            let operands: Vec<Value> = data.operands.iter().map(|v| *renamed.get(v).unwrap_or(v)).collect();
            let inner: Vec<Region> = data.regions.iter().map(|&r| copy_region(b, r)).collect();
            let types: Vec<Type> = data.results.iter().map(|&v| b.body.ty(v).clone()).collect();
            let copy = b.op_with_regions(data.code, operands, data.attrs, inner, types);
            renamed.extend(data.results.iter().copied().zip(b.body[copy].results.iter().copied()));
        }
    })
}

/// Builds a region that combines two scalars of type `dtype` by `kind`.
pub fn reduction_region(builder: &mut Builder<'_>, kind: ReduceKind, dtype: DType) -> Region {
    let ty = Type::tensor(dtype, vec![]);
    let code = OPS.find(kind.op_name()).expect("the table has the ops that reduce");
    builder.region(&[ty.clone(), ty.clone()], |b, args| {
        let result = b.value(code, args.iter().copied(), Attrs::new(), ty.clone());
        b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
    })
}

/// Builds a region that takes two scalars and returns the second, which replaces the first.
pub fn replacement_region(builder: &mut Builder<'_>, dtype: DType) -> Region {
    let ty = Type::tensor(dtype, vec![]);
    builder.region(&[ty.clone(), ty], |b, args| {
        b.op(Opcode::RegionReturn, [args[1]], Attrs::new(), []);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_several_values_are_followed_value_by_value() {
        let kind = |x: &str, y: &str| {
            let text = format!(
                "func.func @main(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {{
  %r = \"stablehlo.reduce\"(%x, %c) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0:2 = stablehlo.custom_call @annotate_device_placement(%a, %b) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %1 = stablehlo.add {x}, {y} : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}"
            );
            let module = shardwise_ir::text::parse("test", &text, &OPS).unwrap();
            let body = &module.main().unwrap().body;
            reduce_kind_of_op(&module.view(body, body.walk()[0]))
        };
        assert_eq!(kind("%0#0", "%0#1"), Some(ReduceKind::Add));
        assert_eq!(kind("%0#1", "%b"), None);
    }

    #[test]
    fn nothing_keeps_zeros_of_both_signs() {
        for &dtype in DType::ALL.iter().filter(|d| d.has_zero() && !d.is_bool()) {
            for zero in [0.0, -0.0] {
                let x = eval::fill(dtype, &[], |_| Number::Complex(Complex64::new(zero, zero)));
                for parts in [[x.clone(), nothing(dtype)], [nothing(dtype), x.clone()]] {
                    assert_eq!(ReduceKind::Add.apply_all(&parts), Some(x.clone()), "{dtype}");
                }
            }
        }
    }

    #[test]
    fn neutral_elements_keep_every_element() {
        let extremes = [0.0, -0.0, 1.0, -3.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
        let pairs = || extremes.into_iter().flat_map(|re| extremes.map(|im| Complex64::new(re, im)));
        for kind in ReduceKind::ALL {
            for &dtype in DType::ALL.iter().filter(|d| d.is_float() || d.is_complex()) {
                if matches!(kind, ReduceKind::And | ReduceKind::Or) {
                    continue;
                }
                let Some(neutral) = kind.neutral(dtype) else { continue };
                let is_nan = |x: &Literal| x.get_f64(0).is_nan();
                let all = pairs().map(|z| eval::fill(dtype, &[], |_| Number::Complex(z)));
                for x in all.filter(|x| dtype.is_complex() || !is_nan(x)) {
                    for parts in [[x.clone(), neutral.clone()], [neutral.clone(), x.clone()]] {
                        assert_eq!(kind.apply_all(&parts), Some(x.clone()), "{kind:?} on {dtype}");
                    }
                }
            }
        }
        assert_eq!(ReduceKind::Mul.neutral(DType::C64), None);
    }

    #[test]
    fn identities_change_nothing() {
        for kind in ReduceKind::ALL {
            for &dtype in DType::ALL.iter().filter(|d| d.has_zero()) {
                for n in [0, 1, 5, 100] {
                    let x = eval::fill(dtype, &[], |_| Number::Signed(n));
                    if let Some(y) = kind.apply(&x, &kind.identity(dtype)).filter(|_| !dtype.is_complex()) {
                        assert_eq!(y, x, "{kind:?} on {dtype}");
                    }
                }
            }
        }
    }
}
