//! The guarantees about padding: values record it, and what is reduced is padded with neutral elements.

use super::{at, main, program_ops};
use crate::pad::reduced_padding;
use crate::rewrite::{facts, is_manual};
use shardwise_base::Loc;
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Attr, Attrs, Body, Func, Module, OpView, Value};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{DataFlow, Semantics, Splits};
use shardwise_sharding::FactorKind;

/// Returns the location and a description of the first mistake in the padding that the main function records: an
/// argument or result that does not record the padding that its global type shows, or else an op whose tensors record
/// different padding where it must be equal. Returns `None` if there is no mistake, or if the module has no mesh.
pub(super) fn unrecorded(module: &Module) -> Option<(Loc, String)> {
    let (func, _) = (main(module)?, module.main_mesh()?);
    if boundary(func).any(|(v, attrs)| !is_recorded(&func.body, v, attrs)) {
        return Some((func.loc.clone(), "an argument or result of the function".to_string()));
    }
    let differs = |&op: &_| differs(&module.view(&func.body, op));
    at(module, func, program_ops(module, func).into_iter().find(differs)?)
}

fn boundary(func: &Func) -> impl Iterator<Item = (Value, &Attrs)> {
    let args = func.body.args().iter().zip(&func.arg_attrs);
    args.chain(func.body.results().iter().zip(&func.result_attrs)).map(|(&v, attrs)| (v, attrs))
}

/// Returns true if an argument or result records the padding that its global type shows, or records none and has no
/// global type.
fn is_recorded(body: &Body, v: Value, attrs: &Attrs) -> bool {
    let without = body[v].shape_without_padding();
    match attrs.get(GLOBAL_TYPE) {
        Some(Attr::Type(global)) => global.shape() == without,
        _ => body.ty(v).shape() == without,
    }
}

/// Returns true if tensors of the op record different padding: before and after a collective between layouts, along an
/// edge of a loop or of another op with edges, or, for other ops, along a factor. Factors are only compared for pure
/// ops which do not work on blocks alone ([`Splits::InSameBlocks`]). Returns false for manual computations.
fn differs(view: &OpView<'_>) -> bool {
    let size = |v: Value| view.body[v].shape_without_padding();
    if ShardyCollective::of(view).is_some() {
        return size(view.operand(0)) != size(view.result(0));
    }
    if is_manual(view) {
        return false;
    }
    if let DataFlow::Edges(edges) = facts(view).data_flow(view) {
        return edges.iter().any(|e| e.sources.iter().chain(&e.targets).any(|&v| size(v) != size(e.owner)));
    }
    let keeps_padding = facts(view).splits(view) != Splits::InSameBlocks;
    keeps_padding && facts(view).semantics(view) == Semantics::Pure && differs_along_factor(view)
}

/// Returns true if two dimensions that consist of the same factor alone have the same size with padding and different
/// sizes without it. Only factors that are passed through or reduced count.
fn differs_along_factor(view: &OpView<'_>) -> bool {
    let fact = facts(view).rule(view);
    let Some(rule) = fact.rule() else { return false };
    let mut seen = vec![];
    for (i, &v) in view.operands().iter().chain(view.results()).enumerate() {
        let without = view.body[v].shape_without_padding();
        let dims = rule.mapping(i).dims.iter().zip(view.body.ty(v).shape().iter().zip(without));
        for (factors, (&padded, size)) in dims {
            let [factor] = factors[..] else { continue };
            if matches!(rule.kind(factor), FactorKind::PassThrough | FactorKind::Reduction) {
                seen.push((factor, padded, size));
            }
        }
    }
    seen.iter().enumerate().any(|(i, a)| seen[..i].iter().any(|b| (a.0, a.1) == (b.0, b.1) && a.2 != b.2))
}

/// Returns the location of a pure op of the main function that reduces padding along a split dimension of an operand,
/// and has no neutral element or one that the padding does not hold, and a description of the operand. Returns `None`
/// if there is no such op, or if the module has no mesh.
pub(super) fn exposed(module: &Module) -> Option<(Loc, String)> {
    let (func, _) = (main(module)?, module.main_mesh()?);
    program_ops(module, func).into_iter().find_map(|op| {
        let view = module.view(&func.body, op);
        let index = (0..view.operands().len()).find(|&i| is_exposed(&view, i))?;
        Some((view.loc().clone(), format!("operand {index} of `{}`", view.name())))
    })
}

fn is_exposed(view: &OpView<'_>, index: usize) -> bool {
    let Some(padding) = &view.body[view.operand(index)].padding else { return false };
    let reduced = reduced_padding(view, index, Some(padding));
    !reduced.is_empty() && {
        let neutral = facts(view).neutral(view, index);
        reduced.iter().any(|&place| neutral.is_none() || padding[place].holds != neutral)
    }
}
