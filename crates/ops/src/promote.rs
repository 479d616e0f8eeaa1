//! Reducers on wider elements than the operands have: for example, a sum of `i8` that is computed in `i32` and has a
//! result of `i32`.
//!
//! The specification allows the region of every reducing op to take a type that its operands promote to. Such an op is
//! equal to the op on converted operands, which have equal types. [`decompose`] builds this form, by which programs are
//! rewritten before they are partitioned. [`operand`] converts values for the reference evaluation.

use crate::eval;
use crate::facts::*;
use crate::{Opcode, make, quantized};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Attrs, Builder, OpView, Region, Type, Value};

/// Returns the element type to which operand `index` is converted before it is reduced, or `None` if it is not
/// converted.
pub fn promoted(op: &OpView<'_>, index: usize) -> Option<DType> {
    let reducer = reducer(op)?;
    let arg = *op.body[*op.regions().get(reducer.region)?].args.get((reducer.argument)(op, index)?)?;
    let to = op.body.ty(arg).as_tensor()?.dtype;
    (op.operand_type(index).as_tensor()?.dtype != to).then_some(to)
}

/// Returns true if some operand is converted to another element type before it is reduced.
pub fn is_promoted(op: &OpView<'_>) -> bool {
    reducer(op).is_some() && (0..op.operands().len()).any(|i| promoted(op, i).is_some())
}

fn reducer(op: &OpView<'_>) -> Option<Reducer> {
    Opcode::of_view(op).facts().reducer(op)
}

/// Builds the op on operands that are converted to the types that its reducer takes, and returns its results.
/// `operands` replace the operands of `op`. `regions` are its regions, already in the body.
///
/// ```text
/// reduce(%x: 8xi8, %init: i8) by a sum of i32   ->   %0 = convert %x, %1 = convert %init, reduce(%0, %1)
/// ```
///
/// An op that does not promote all elements of its operands has a form of its own: see [`Promoted`].
pub fn decompose(op: &OpView<'_>, operands: &[Value], regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
    if let Some(Reducer { promoted: Promoted::By(build), .. }) = reducer(op) {
        return build(op, operands, &regions, b);
    }
    let operands: Vec<Value> = operands.iter().enumerate().map(|(i, &x)| converted(op, i, x, b)).collect();
    let types: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
    let made = b.op_with_regions(op.data().code, operands, op.attrs().clone(), regions, types);
    b.body[made].results.to_vec()
}

pub(crate) fn converted(op: &OpView<'_>, index: usize, x: Value, b: &mut Builder<'_>) -> Value {
    promoted(op, index).map_or(x, |to| convert(b, x, to))
}

fn convert(b: &mut Builder<'_>, x: Value, to: DType) -> Value {
    match to.quantized() {
        None => make::convert(b, x, to),
        Some(_) => {
            let ty = make::type_of(b, x).with_dtype(to);
            b.value(Opcode::UniformQuantize, [x], Attrs::new(), ty.into())
        }
    }
}

pub(crate) fn operands(op: &OpView<'_>, x: &[Literal]) -> Result<Option<Vec<Literal>>, EvalError> {
    if !is_promoted(op) {
        return Ok(None);
    }
    x.iter().enumerate().map(|(i, x)| operand(op, i, x)).collect::<Result<_, _>>().map(Some)
}

/// Returns the value `x` of operand `index`, converted to the element type that the reducer takes, or unchanged if
/// [`promoted`] is `None`. Fails as the conversion to a quantized type does.
pub fn operand(op: &OpView<'_>, index: usize, x: &Literal) -> Result<Literal, EvalError> {
    match (op.operand_type(index).as_tensor(), promoted(op, index)) {
        (Some(from), Some(to)) if to.quantized().is_some() => quantized::requantized(x, from.dtype, to, op.loc()),
        (_, Some(to)) => Ok(eval::convert(x, to)),
        _ => Ok(x.clone()),
    }
}
