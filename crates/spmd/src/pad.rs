//! Pads every sharded dimension to a size that divides evenly.
//!
//! A dimension of size `n` over `k` shards is enlarged to the next multiple of `k`. The padding is at its end, in the
//! last shards, and its values are arbitrary. They must therefore never affect a result:
//! - Where a reduction runs along the dimension, the padding of the operands is replaced by the neutral element:
//!   `select(iota < n, x, neutral)`. A product with zero would keep NaN and infinity.
//! - Where the dimension becomes whole (a gather), the padding is cut off. Where it was whole (a slice), it is padded
//!   first.
//! - Ops that depend on positions along the dimension (reverse, concatenate, …) do not run split there: `reshard` has
//!   made it whole, or `halo` has made a manual computation of the op.
//!
//! Each padded value records the padding of its dimensions ([`PaddedDim`]), and the element that the padding holds
//! where this is known, such as a neutral element. The record lasts until `localize`.
//!
//! The attribute `shardwise.global_type` of the function's arguments and results holds their types without padding.
//! Engines pad the arguments and cut the results.

use crate::plan::padded_size;
use crate::rewrite::{facts, has_program_regions, is_terminator, map_main, sharding_or_replicated};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc, Mesh, Sharding, budget};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Func, Module, OpView, PaddedDim, TensorType, Type, Value};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Enlarged, RuleFact, Semantics, make};
use shardwise_sharding::FactorKind;
use std::sync::Arc;

/// Pads the sharded dimensions of the main function that do not divide evenly, and records the padding on the values. A
/// module without a mesh is not changed.
///
/// # Errors
/// Fails if an array with its padding is larger than an array can be (`padding-size`). Also fails if an op reduces a
/// dimension that is split unevenly, and has no neutral element (`pass-order`). `reshard` splits none such.
pub fn pad(module: &Module) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| {
        let func = with_records(func, &mesh)?;
        let is_even = (0..func.body.value_count()).all(|v| func.body[Value::new(v)].padding.is_none());
        if is_even { Ok(func) } else { pad_func(module, &func, &mesh) }
    })
}

/// Returns the function with the padding that each value will have recorded on it. The types do not change. Earlier
/// records are replaced. Fails if a padded value would be larger than an array can be.
fn with_records(func: &Func, mesh: &Arc<Mesh>) -> Result<Func, Diagnostics> {
    budget::poll();
    let mut out = func.clone();
    for v in (0..func.body.value_count()).map(Value::new) {
        let (ty, sharding) = (func.body.ty(v), func.body.sharding(v));
        let uneven = sharding.filter(|s| ty.as_tensor().is_some_and(|t| !s.divides(&t.shape)));
        let padded = uneven.map(|_| value_type(&func.body, v, mesh));
        let padding = padded.as_ref().and_then(|padded| record(ty.shape(), padded.shape(), |_| None));
        if let Some(padded) = padded.as_ref().and_then(Type::as_tensor) {
            check_size(ty, padded, &func.body[v].loc)?;
        }
        if func.body[v].padding != padding {
            out.body.value_mut(v).padding = padding;
        }
    }
    Ok(out)
}

fn check_size(ty: &Type, padded: &TensorType, loc: &Loc) -> Result<(), Diagnostics> {
    if padded.checked_bytes().is_some() {
        return Ok(());
    }
    let message = format!("{ty} is too large when it is padded for its sharding");
    let found = Diagnostic::error("padding-size", loc, message).facts(format!("with padding: {padded}"));
    Err(found.help("make the sizes of the split dimensions multiples of their numbers of shards").into())
}

/// Returns the record of the padding that enlarges `shape` to `padded`, or `None` if the shapes are equal. `holds`
/// returns the element that the padding of a dimension holds, if it is known.
fn record(shape: &[usize], padded: &[usize], holds: impl Fn(usize) -> Option<Literal>) -> Option<Arc<Vec<PaddedDim>>> {
    let is_padded = |d: &usize| shape[*d] != padded[*d];
    let made = |dim| PaddedDim { dim, size: shape[dim], axes: vec![], holds: holds(dim) };
    let dims = (0..shape.len()).filter(is_padded).map(made);
    Some(dims.collect::<Vec<_>>()).filter(|dims| !dims.is_empty()).map(Arc::new)
}

fn value_type(source: &Body, v: Value, mesh: &Arc<Mesh>) -> Type {
    let ty = source.ty(v);
    match (ty.as_tensor(), sharding_or_replicated(source, v, mesh)) {
        (Some(t), Some(s)) => Type::tensor(t.dtype, padded_shape(&t.shape, &s)),
        _ => ty.clone(),
    }
}

fn pad_func(module: &Module, func: &Func, mesh: &Arc<Mesh>) -> Result<Func, Diagnostics> {
    let mut out = rewrite_func(module, func, &mut Padder { mesh })?;
    let args = func.body.args().iter().zip(out.body.args()).map(|(&old, &new)| (func.body.ty(old), out.body.ty(new)));
    out.arg_attrs.iter_mut().zip(args).for_each(|(attrs, (old, new))| keep_type(attrs, old, new));
    let results = func.result_types.iter().zip(&out.result_types);
    out.result_attrs.iter_mut().zip(results).for_each(|(attrs, (old, new))| keep_type(attrs, old, new));
    Ok(out)
}

fn keep_type(attrs: &mut Attrs, old: &Type, new: &Type) {
    if old != new {
        attrs.set(GLOBAL_TYPE, Attr::Type(old.clone()));
    }
}

struct Padder<'a> {
    mesh: &'a Arc<Mesh>,
}

impl<'s> Rewrite<'s> for Padder<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if has_program_regions(view) || is_terminator(view) {
            return Ok(false);
        }
        if ShardyCollective::of(view).is_some() {
            let result = self.collective(view, cloner, b)?;
            cloner.carry(view.result(0), result, b);
            return Ok(true);
        }
        let operands = (0..view.operands().len()).map(|i| masked(view, i, cloner, b));
        let mut operands = operands.collect::<Result<Vec<Value>, Diagnostics>>()?;
        bound_indices(view, &mut operands, b);
        let regions: Vec<_> = view.regions().iter().map(|&r| cloner.region(r, b)).collect();
        let types: Vec<Type> = view.results().iter().map(|&v| self.value_type(view.body, v)).collect();
        let operand_types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let attrs = facts(view).enlarged(view, &Enlarged { operands: &operand_types, results: &types });
        let new = b.op_with_regions(view.data().code, operands, attrs, regions, types);
        b.body.op_mut(new).reason = view.data().reason.clone();
        for (i, &old) in view.results().iter().enumerate() {
            let result = b.body[new].results[i];
            cloner.carry(old, result, b);
        }
        Ok(true)
    }

    fn value_type(&self, source: &Body, v: Value) -> Type {
        value_type(source, v, self.mesh)
    }
}

impl Padder<'_> {
    /// Copies a collective between layouts and returns its new result. Before it, each dimension is padded to the
    /// larger of its padded sizes in both layouts. After it, each dimension is cut to its padded size in the new
    /// layout. So whole dimensions that it splits are padded first, and dimensions that it makes whole are cut last.
    /// Fails if the padded array is larger than an array can be.
    fn collective(&self, view: &OpView<'_>, cloner: &Cloner<'_>, b: &mut Builder<'_>) -> Result<Value, Diagnostics> {
        let v = cloner.get(view.operand(0));
        let before = tensor(b.body, v);
        let after = self.value_type(view.body, view.result(0));
        let during: Vec<usize> = before.shape.iter().zip(after.shape()).map(|(&a, &b)| a.max(b)).collect();
        let ty = TensorType::new(before.dtype, during.clone());
        check_size(view.result_type(0), &ty, view.loc())?;
        let v = grow(v, view.operand_shape(0), &during, b);
        let op = b.op(view.data().code, [v], view.attrs().clone(), [ty.into()]);
        b.body.op_mut(op).reason = view.data().reason.clone();
        let result = b.body[op].results[0];
        b.set_sharding(result, view.result_sharding(0).cloned());
        b.body.value_mut(result).padding = record(view.result_shape(0), &during, |_| None);
        Ok(cut(result, after.shape(), b))
    }
}

/// Returns the new value of operand `index` with its padding along reduction factors that split it replaced by the
/// neutral element. Adds no ops if there is no such padding. Fails if there is, and the op has no neutral element.
fn masked(view: &OpView<'_>, index: usize, cloner: &Cloner<'_>, b: &mut Builder<'_>) -> Result<Value, Diagnostics> {
    let new = cloner.get(view.operand(index));
    let reduced = reduced_padding(view, index, b.body[new].padding.as_deref());
    if reduced.is_empty() {
        return Ok(new);
    }
    let Some(neutral) = facts(view).neutral(view, index) else {
        let message =
            format!("`{}` reduces a dimension that is split unevenly, and has no neutral element", view.name());
        let found = Diagnostic::error("pass-order", view.loc(), message);
        return Err(found.help("run the pass `reshard` first").into());
    };
    Ok(reduced.into_iter().fold(new, |v, place| mask(v, place, &neutral, b)))
}

/// Returns the positions in `record` of the split dimensions along which the op reduces. `record` is the padding of
/// operand `index`. The list is empty if the operand has no padding, or if the op is not pure or has no rule.
pub(crate) fn reduced_padding(view: &OpView<'_>, index: usize, record: Option<&Vec<PaddedDim>>) -> Vec<usize> {
    let Some(padding) = record.filter(|_| facts(view).semantics(view) == Semantics::Pure) else { return vec![] };
    let RuleFact::Rule(rule) = facts(view).rule(view) else { return vec![] };
    let is_split = |p: &PaddedDim| view.operand_sharding(index).is_some_and(|s| s.shard_counts()[p.dim] > 1);
    let is_reduced = |p: &PaddedDim| {
        rule.operands[index].dims[p.dim].iter().any(|&factor| rule.kind(factor) == FactorKind::Reduction)
    };
    padding.iter().enumerate().filter(|(_, p)| is_split(p) && is_reduced(p)).map(|(place, _)| place).collect()
}

/// Replaces indices in `operands` by their minimum with the largest index that is valid without padding, because the op
/// itself would clamp them to the padded size. Indices of dimensions without padding, and those whose type cannot hold
/// the largest valid index, do not change.
fn bound_indices(view: &OpView<'_>, operands: &mut [Value], b: &mut Builder<'_>) {
    for bound in facts(view).index_bounds(view) {
        let is_padded = b.body.ty(operands[0]).shape()[bound.dim] != view.operand_shape(0)[bound.dim];
        let index = operands[bound.operand];
        let (dtype, most) = (tensor(b.body, index).dtype, bound.most as i64);
        let value_bits = dtype.bits() - usize::from(dtype.is_signed());
        if is_padded && (value_bits >= 63 || most < 1 << value_bits) {
            let most = make::number(b, dtype, most);
            let bounded = make::minimum(b, index, most);
            let sharding = b.body.sharding(index).cloned();
            [most, bounded].into_iter().for_each(|v| b.set_sharding(v, sharding.clone()));
            operands[bound.operand] = bounded;
        }
    }
}

/// Returns `select(iota < size, v, neutral)` along the dimension at position `place` of the value's padding record,
/// where `size` is the dimension's size without padding. The result records that the padding there holds `neutral`.
fn mask(v: Value, place: usize, neutral: &Literal, b: &mut Builder<'_>) -> Value {
    let ty = tensor(b.body, v);
    let (sharding, padding) = (b.body.sharding(v).cloned(), b.body[v].padding.clone().expect("it is padded"));
    let PaddedDim { dim, size, .. } = padding[place];
    let position = make::iota(b, TensorType::new(DType::I64, ty.shape.clone()), dim);
    let size = make::full(b, &ty.shape, &Literal::scalar(size as i64));
    let is_inside = make::compare(b, "LT", position, size);
    let full = make::full(b, &ty.shape, neutral);
    let masked = make::select(b, is_inside, v, full);
    // If `v` is unreduced, each device has a summand of its elements. The mask is not a sum.
    let of_mask = sharding.clone().map(|s| s.with_unreduced(vec![]));
    for value in [position, size, is_inside, full, masked] {
        let is_summand = value == full || value == masked;
        b.set_sharding(value, if is_summand { &sharding } else { &of_mask }.clone());
        let mut padding = (*padding).clone();
        match value == masked {
            true => padding[place].holds = Some(neutral.clone()),
            // The elements that the padding of `v` holds are of another type.
            false => padding.iter_mut().for_each(|p| p.holds = None),
        }
        b.body.value_mut(value).padding = Some(Arc::new(padding));
    }
    masked
}

/// Returns the value, whose shape without padding is `unpadded`, enlarged to `shape` with zeros at the ends of its
/// dimensions. The result has a record of its whole padding. Returns `v` itself if it has this shape already.
fn grow(v: Value, unpadded: &[usize], shape: &[usize], b: &mut Builder<'_>) -> Value {
    let ty = tensor(b.body, v);
    if ty.shape == shape {
        return v;
    }
    let sharding = b.body.sharding(v).cloned();
    let zero = make::constant(b, Literal::zeros(ty.dtype, vec![]));
    // If `v` is unreduced, the padding is a sum of zeros.
    let of_zero = |s: &Sharding| Sharding::replicated(&s.mesh, 0).with_unreduced(s.unreduced.clone());
    b.set_sharding(zero, sharding.as_ref().map(of_zero));
    let high: Vec<i64> = shape.iter().zip(&ty.shape).map(|(a, b)| (a - b) as i64).collect();
    let none = vec![0; shape.len()];
    let grown = make::pad(b, v, zero, &none, &high, &none);
    b.set_sharding(grown, sharding);
    let zero = |dim: usize| (ty.shape[dim] == unpadded[dim]).then(|| Literal::zeros(ty.dtype, vec![]));
    b.body.value_mut(grown).padding = record(unpadded, shape, zero);
    grown
}

fn cut(v: Value, shape: &[usize], b: &mut Builder<'_>) -> Value {
    if tensor(b.body, v).shape == shape {
        return v;
    }
    let sharding = b.body.sharding(v).cloned();
    let cut = make::slice(b, v, &vec![0; shape.len()], shape, &vec![1; shape.len()]);
    b.set_sharding(cut, sharding);
    cut
}

fn padded_shape(shape: &[usize], sharding: &Sharding) -> Vec<usize> {
    shape.iter().zip(sharding.shard_counts()).map(|(&n, k)| padded_size(n, k)).collect()
}

fn tensor(body: &Body, v: Value) -> TensorType {
    body.ty(v).as_tensor().expect("only tensors are laid out").clone()
}
