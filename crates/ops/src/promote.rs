//! Reducers on wider elements than the operands have: for example, a sum of `i8` that is computed in `i32` and has a
//! result of `i32`.
//!
//! The specification allows the region of every reducing op to take a type that its operands promote to. Such an op is
//! equal to the op on converted operands, which have equal types. [`decompose`] is the only place that builds this
//! form: programs are rewritten with it before they are partitioned, and reference evaluation computes it.

use crate::eval;
use crate::facts::*;
use crate::{Opcode, collective, make, quantized, reducer};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Attrs, Builder, OpView, Region, Type, Value};

/// Returns the element type to which operand `index` is converted before it is reduced, or `None` if it is not
/// converted.
pub fn promoted(op: &OpView<'_>, index: usize) -> Option<DType> {
    let arg = *op.body[*op.regions().get(region(op)?)?].args.get(argument(op, index)?)?;
    let to = op.body.ty(arg).as_tensor()?.dtype;
    (op.operand_type(index).as_tensor()?.dtype != to).then_some(to)
}

/// Returns true if some operand is converted.
pub fn is_promoted(op: &OpView<'_>) -> bool {
    region(op).is_some() && (0..op.operands().len()).any(|i| promoted(op, i).is_some())
}

/// Returns the index of the region of a reducing op that is the reducer.
fn region(op: &OpView<'_>) -> Option<usize> {
    match Opcode::of_view(op) {
        Opcode::SelectAndScatter => Some(1),
        Opcode::Reduce
        | Opcode::ReduceWindow
        | Opcode::Scatter
        | Opcode::AllReduce
        | Opcode::ReduceScatter
        | Opcode::CollectiveReduce => Some(0),
        _ => None,
    }
}

/// Returns the index of the reducer's argument that takes elements of operand `index`.
fn argument(op: &OpView<'_>, index: usize) -> Option<usize> {
    match Opcode::of_view(op) {
        Opcode::Scatter => {
            let indices = op.operands().len() / 2;
            (index != indices).then(|| index - usize::from(index > indices))
        }
        // The operand from which elements are selected is only compared.
        Opcode::SelectAndScatter => (index > 0).then_some(0),
        Opcode::Reduce | Opcode::ReduceWindow => Some(index),
        _ => (index < collective::data_operands(op).len()).then_some(0),
    }
}

/// Builds the op on operands of equal types. `operands` replace its operands; `regions` are its regions, already in the
/// body.
///
/// ```text
/// reduce(%x: 8xi8, %init: i8) by a sum of i32   ->   %0 = convert %x, %1 = convert %init, reduce(%0, %1)
/// ```
///
/// `select_and_scatter` compares elements that it does not promote: see [`select_and_scatter`].
pub fn decompose(op: &OpView<'_>, operands: &[Value], regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
    if Opcode::of_view(op) == Opcode::SelectAndScatter {
        return vec![select_and_scatter(op, operands, &regions, b)];
    }
    let operands: Vec<Value> = operands.iter().enumerate().map(|(i, &x)| converted(op, i, x, b)).collect();
    let types: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
    let made = b.op_with_regions(op.data().code, operands, op.attrs().clone(), regions, types);
    b.body[made].results.to_vec()
}

/// Builds a `select_and_scatter` on operands of a type that can represent the numbers of both the operand's and the
/// reducer's type. The regions convert from it without loss, and the result is converted from it.
fn select_and_scatter(op: &OpView<'_>, operands: &[Value], regions: &[Region], b: &mut Builder<'_>) -> Value {
    let (from, to) = (op.operand_tensor(0).dtype, op.result_tensor(0));
    let both = holds_both(from, to.dtype);
    let source = make::convert(b, operands[1], to.dtype);
    let init = make::convert(b, operands[2], to.dtype);
    let operands = [operands[0], source, init].map(|x| make::convert(b, x, both));
    let select = on_wider(b, regions[0], [both, from], DType::I1);
    let scatter = match reducer::reduce_kind(op.module, op.body, op.regions()[1]) {
        _ if both == to.dtype => regions[1],
        // Sums of narrow floats are computed in `f32` and rounded once.
        Some(kind) => reducer::reduction_region(b, kind, both),
        None => on_wider(b, regions[1], [both, to.dtype], both),
    };
    let ty = Type::tensor(both, to.shape.clone());
    let made = b.op_with_regions(op.data().code, operands, op.attrs().clone(), vec![select, scatter], [ty]);
    let result = b.body[made].results[0];
    make::convert(b, result, to.dtype)
}

/// Returns a type that can represent every number of both types. If both are of one kind, `to` must not be narrower.
fn holds_both(from: DType, to: DType) -> DType {
    match to {
        DType::F64 => DType::F64,
        _ if from.is_float() => DType::F32,
        _ => to,
    }
}

/// Builds a region with arguments of another type, which are converted to the region's own type. Its result is
/// converted to `result`.
fn on_wider(b: &mut Builder<'_>, region: Region, [wide, own]: [DType; 2], result: DType) -> Region {
    let args = b.body[region].args.clone();
    let ops = std::mem::take(&mut b.body.region_mut(region).ops);
    let last = *ops.last().expect("a region has a terminator");
    let scalar = Type::tensor(wide, vec![]);
    b.region(&[scalar.clone(), scalar], |b, given| {
        let converted: Vec<Value> = given.iter().map(|&x| make::convert(b, x, own)).collect();
        b.body.region_mut(b.region).ops.extend(&ops[..ops.len() - 1]);
        let mut all = vec![last];
        b.body.walk_region(b.region, &mut all);
        for op in all {
            for operand in &mut b.body.op_mut(op).operands {
                if let Some(i) = args.iter().position(|a| a == operand) {
                    *operand = converted[i];
                }
            }
        }
        let value = b.body[last].operands[0];
        b.body.op_mut(last).operands[0] = make::convert(b, value, result);
        b.body.region_mut(b.region).ops.push(last);
    })
}

/// Builds operand `index`, which is `x`, in the element type that the reducer takes.
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

/// Returns the operands in the element types that the reducer takes, or `None` if no operand is converted.
pub(crate) fn operands(op: &OpView<'_>, x: &[Literal]) -> Result<Option<Vec<Literal>>, EvalError> {
    if !is_promoted(op) {
        return Ok(None);
    }
    x.iter().enumerate().map(|(i, x)| operand(op, i, x)).collect::<Result<_, _>>().map(Some)
}

/// Returns one operand in the element type that the reducer takes.
pub fn operand(op: &OpView<'_>, index: usize, x: &Literal) -> Result<Literal, EvalError> {
    match (op.operand_type(index).as_tensor(), promoted(op, index)) {
        (Some(from), Some(to)) if to.quantized().is_some() => quantized::requantized(x, from.dtype, to, op.loc()),
        (_, Some(to)) => Ok(eval::convert(x, to)),
        _ => Ok(x.clone()),
    }
}
