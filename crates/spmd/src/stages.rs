//! The guarantees of each pass, as predicates that can be checked.
//!
//! A pass lists its guarantees in [`PASSES`](crate::PASSES). A guarantee holds from this pass on, up to the pass that
//! it names as the last. A pass may rely on every guarantee of the passes before it that still holds. [`verify_stage`]
//! checks them.

use crate::loops::program_ops;
use crate::lower::is_kept;
use crate::rewrite::{facts, is_manual, is_mark, is_terminator, sharding_or_replicated};
use crate::summands::axis_not_allowed;
use crate::{
    Pass, axes, cleanup, defer, dequantize, gspmd, halo, hoist, join, meshes, processes, share, simplify, uniform,
};
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Loc, Mesh, Sharding};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::symbols::keep_referenced;
use shardwise_ir::{Attr, Attrs, Body, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::promote::is_promoted;
use shardwise_ops::shardy::{ShardyCollective, in_shardings};
use shardwise_ops::{Combine, DataFlow, Effects, Opcode, RuleFact, calls, collective, is_zero};
use shardwise_sharding::{AxisList, FactorKind, IfMissing, Rule, TensorFactors};
use std::sync::Arc;

mod padding;
#[cfg(test)]
mod tests;

/// A statement about a module that holds after a pass.
#[derive(Clone, Copy)]
pub struct Guarantee {
    /// The statement, in words.
    pub says: &'static str,
    /// The name of the last pass after which the statement holds; `None` if it holds to the end.
    pub until: Option<&'static str>,
    /// Returns the first place where the statement does not hold, with a description of what is there, or `None` if it
    /// holds.
    broken_at: fn(&Module) -> Option<(Loc, String)>,
}

/// Checks the guarantees that hold after the pass with this name: its own and those of the passes before it.
///
/// # Errors
/// Fails if one of them does not hold (`stage-guarantee`).
///
/// # Panics
/// Panics if there is no pass of this name in `passes`, or if a guarantee names a last pass that is not in `passes`.
pub fn verify_stage(passes: &[Pass], name: &str, module: &Module) -> Result<(), Diagnostics> {
    let position = |name: &str| passes.iter().position(|p| p.name == name).expect("the name of a pass");
    let at = position(name);
    let holds = |g: &&Guarantee| g.until.is_none_or(|until| at <= position(until));
    let mut found = Diagnostics::default();
    for pass in &passes[..=at] {
        for guarantee in pass.ensures.iter().filter(holds) {
            found.extend((guarantee.broken_at)(module).map(|(loc, what)| broken(name, pass, guarantee, &loc, &what)));
        }
    }
    found.or(())
}

/// Returns true if the op is one of Shardy's collectives between two layouts of one value. A reshard is not.
fn is_step(view: &OpView<'_>) -> bool {
    ShardyCollective::of(view).is_some()
}

fn broken(after: &str, pass: &Pass, guarantee: &Guarantee, loc: &Loc, what: &str) -> Diagnostic {
    let message =
        format!("after the pass `{after}`, what the pass `{}` guarantees does not hold: {}", pass.name, guarantee.says);
    let help = format!("run all passes up to `{after}` in order; if they ran, this is a mistake in one of them");
    Diagnostic::error("stage-guarantee", loc, message).facts(what).help(help)
}

macro_rules! guarantees {
    ($($name:ident: $says:literal, until $until:expr, $broken_at:expr;)*) => {
        $(pub(crate) const $name: Guarantee = Guarantee { says: $says, until: $until, broken_at: $broken_at };)*
        /// The names of all guarantees, and what they say.
        #[cfg(test)]
        const NAMES: &[(&str, &str)] = &[$((stringify!($name), $says)),*];
    };
}

guarantees! {
    ONE_NOTATION: "no sharding is in XLA's older notation", until None, gspmd::remaining;
    ONE_MESH: "all shardings of the functions that run are over the main mesh", until None, meshes::other_mesh;
    PLAIN_REDUCERS: "reducers work on the element types of their operands, except in asynchronous ops", until None,
        |m| find_op(m, |v| is_promoted(v) && !is_started(v));
    SINGLE_COLLECTIVES: "collectives have one operand, except asynchronous ones", until None,
        |m| find_op(m, |v| collective::is_variadic(v) && !is_started(v));
    NUMBERED_STREAMS: "every `rng` has the number of its stream", until None, unnumbered;
    NO_STEPS_YET: "no collective of Shardy is in the program", until Some("lower"),
        |m| find_op(m, |v| ShardyCollective::of(v).is_some());
    PLAIN_TYPES: "no type is quantized", until None, |m| find_value(m, |b, v| dequantize::names_quantized(b.ty(v)));
    NO_UNUSED: "every function is public, the main function or referred to", until None, unused;
    SHARED: "no two constants of one region are equal and have one layout", until Some("share"),
        |m| main(m).and_then(|f| at(m, f, share::first_repeated(m, &f.body)?));
    JOINED: "no op along a sharded dimension could read what its operands are cut from", until Some("join"),
        join::first;
    LAID_OUT: "every tensor outside of reducers and comparators has a sharding", until Some("axes"), without_sharding;
    INLINED: "no call, named computation or composite with a decomposition is left in the main function", until None,
        |m| find_in_main(m, |v| calls::callee(v).is_some() || Opcode::of_view(v) == Opcode::NamedComputation);
    MANUAL_COLLECTIVES: "collectives move data along manual axes alone", until Some("axes"), beyond_manual_axes;
    AGREED: "operands and results of every op agree with its rule", until Some("axes"), disagreeing;
    ALLOWED_SUMMANDS: "operands are unreduced only where the op is linear in them and its results are unreduced, too",
        until Some("axes"), on_summands;
    AGREED_EDGES: "all values along an edge of a loop, a branch, a manual computation or the function have one layout",
        until Some("axes"), disagreeing_edge;
    NO_MARKS: "no constraint and no other mark of propagation is left in the main function on a mesh", until None,
        |m| m.main_mesh().and_then(|_| find_in_main(m, |v| is_mark(v) && Opcode::of_view(v) != Opcode::Reshard));
    DEFERRED: "no sum over devices takes more bytes than it would later", until Some("defer"),
        |m| main(m).and_then(|f| at(m, f, defer::first_deferrable(m, &f.body)?));
    NO_RESHARDS: "no reshard is left in the main function", until None,
        |m| find_in_main(m, |v| Opcode::of_view(v) == Opcode::Reshard);
    HOISTED: "no collective computes the same in every turn of a loop, except those that are marked to save memory",
        until Some("hoist"), |m| main(m).and_then(|f| at(m, f, hoist::first_invariant(m, &f.body)?));
    SETTLED: "no op moves elements along a sharded dimension", until Some("axes"), halo::moving;
    EVEN: "every sharded dimension divides evenly", until Some("axes"), uneven;
    PADDING_RECORDED: "values along a factor, an edge or a step between layouts record the same padding", until Some("axes"),
        padding::unrecorded;
    NEUTRAL_PADDING: "the padding along a split dimension that an op reduces holds the op's neutral element", until Some("axes"),
        padding::exposed;
    NAMED_AXES: "collectives name axes where these say the same as device numbers", until None, axes::unnamed;
    NO_SHARDY: "no op of Shardy and no step between layouts is left in the main function on a mesh", until None,
        |m| m.main_mesh().and_then(|_| find_in_main(m, |v| v.name().starts_with("sdy.") || is_step(v)));
    LOCAL_VALUES: "only arguments of the main function have shardings", until None, sharded_inside;
    LOCAL_TYPES: "arguments and results of the main function have the types of one device", until None, global_boundary;
    NO_DEAD_OPS: "every op is needed", until None, |m| main(m).and_then(|f| at(m, f, cleanup::first_dead(m, &f.body)?));
    VARYING: "every value records the axes over which it varies", until None, unrecorded;
}

fn main(module: &Module) -> Option<&Func> {
    module.main()
}

fn at(module: &Module, func: &Func, op: Op) -> Option<(Loc, String)> {
    let view = module.view(&func.body, op);
    Some((view.loc().clone(), format!("`{}`", view.name())))
}

fn find_op(module: &Module, is_wrong: impl Fn(&OpView<'_>) -> bool) -> Option<(Loc, String)> {
    module.funcs.iter().find_map(|f| find_in(module, f, &is_wrong))
}

fn find_in_main(module: &Module, is_wrong: impl Fn(&OpView<'_>) -> bool) -> Option<(Loc, String)> {
    find_in(module, main(module)?, &is_wrong)
}

fn find_in(module: &Module, func: &Func, is_wrong: &impl Fn(&OpView<'_>) -> bool) -> Option<(Loc, String)> {
    at(module, func, func.body.walk().into_iter().find(|&op| is_wrong(&module.view(&func.body, op)))?)
}

fn find_value(module: &Module, is_wrong: impl Fn(&Body, Value) -> bool) -> Option<(Loc, String)> {
    module.funcs.iter().find_map(|f| {
        let v = (0..f.body.value_count()).map(Value::new).find(|&v| is_wrong(&f.body, v))?;
        Some((f.body[v].loc.clone(), format!("a value of type {}", f.body.ty(v))))
    })
}

fn is_started(view: &OpView<'_>) -> bool {
    let holds = |r: &Region| view.body[*r].ops.contains(&view.op);
    let region = (0..view.body.region_count()).map(Region::new).find(holds);
    let parent = region.and_then(|r| view.body[r].parent);
    parent.is_some_and(|op| Opcode::of_view(&view.at(op)) == Opcode::AsyncStart)
}

fn unnumbered(module: &Module) -> Option<(Loc, String)> {
    let (f, op) = simplify::unnumbered(module)?;
    at(module, &module[f], op)
}

/// Returns the first function that is private, is not the main function, and to which neither a public function nor the
/// main function refers, directly or through other functions. Returns `None` if there is none.
fn unused(module: &Module) -> Option<(Loc, String)> {
    let mut used = module.without_funcs();
    used.funcs = module.funcs.iter().filter(|f| is_kept(module, f)).cloned().collect();
    keep_referenced(module, &mut used);
    let is_unused = |f: &&Func| used.func(&f.name).is_none();
    module.funcs.iter().find(is_unused).map(|f| (f.loc.clone(), format!("`@{}`", f.name)))
}

/// Returns an argument of the main function, or a result of an op in its program regions, that is a tensor without a
/// sharding. Returns `None` if there is none, or if the module has no mesh.
fn without_sharding(module: &Module) -> Option<(Loc, String)> {
    let (func, _) = (main(module)?, module.main_mesh()?);
    let has_none = |&&v: &&Value| func.body.ty(v).as_tensor().is_some() && func.body.sharding(v).is_none();
    let shown = |&v: &Value| (func.body[v].loc.clone(), format!("a tensor of type {}", func.body.ty(v)));
    let results = program_ops(module, func).into_iter().find_map(|op| func.body[op].results.iter().find(has_none));
    func.body.args().iter().find(has_none).or(results).map(shown)
}

fn beyond_manual_axes(module: &Module) -> Option<(Loc, String)> {
    let found = processes::check_axes(module).err()?;
    found.iter().next().map(|d| (d.loc.clone(), d.message.clone()))
}

/// Returns an op of the main function whose operands and results do not agree with its rule, or that is split without a
/// rule. Ops without a rule to agree with ([`states_layouts`]) are not looked at. Returns `None` if there is no such
/// op, or if the module has no mesh.
fn disagreeing(module: &Module) -> Option<(Loc, String)> {
    let (func, mesh) = (main(module)?, module.main_mesh()?);
    program_ops(module, func).into_iter().find_map(|op| {
        let view = module.view(&func.body, op);
        if states_layouts(&view) {
            return None;
        }
        let what = match facts(&view).rule(&view) {
            RuleFact::Rule(rule) => disagreement(&view, &rule, mesh),
            RuleFact::None(_) => split_without_rule(&view, mesh),
        }?;
        Some((view.loc().clone(), format!("`{}`: {what}", view.name())))
    })
}

/// Returns an op of the main function that may not run on summands over all axes over which its operands are unreduced
/// ([`axis_not_allowed`]). The ops that are not looked at are those of [`disagreeing`]. Returns `None` if there is no
/// such op, or if the module has no mesh.
fn on_summands(module: &Module) -> Option<(Loc, String)> {
    let (func, mesh) = (main(module)?, module.main_mesh()?);
    let unreduced = |&v: &Value| func.body.sharding(v).map_or(&[][..], |s| &s.unreduced);
    program_ops(module, func).into_iter().find_map(|op| {
        let view = module.view(&func.body, op);
        let operands: Vec<&[AxisRef]> = view.operands().iter().map(unreduced).collect();
        if operands.iter().all(|axes| axes.is_empty()) || states_layouts(&view) {
            return None;
        }
        let results: Vec<&[AxisRef]> = view.results().iter().map(unreduced).collect();
        let linear = facts(&view).linear(&view);
        let axis = axis_not_allowed(mesh, &operands, &results, |is_summand| {
            linear.holds_for(operands.len(), is_summand, |i| is_zero(&view, i))
        })?;
        let what = format!("`{}` has operands that are unreduced over {}", view.name(), axis.display(mesh));
        Some((view.loc().clone(), what))
    })
}

/// Returns true for terminators, ops that only state layouts, Shardy's collectives, manual computations, loops and
/// branches, which have no rule by which their operands and results could agree.
fn states_layouts(view: &OpView<'_>) -> bool {
    let has_edges = matches!(facts(view).data_flow(view), DataFlow::Edges(_));
    is_terminator(view) || is_mark(view) || is_manual(view) || has_edges || is_step(view)
}

/// Returns a result of the main function that is not in its stated layout, or an op along whose edges values have
/// several layouts. Of a manual computation, the operands must have the layouts that it states. Returns `None` if there
/// is none, or if the module has no mesh.
fn disagreeing_edge(module: &Module) -> Option<(Loc, String)> {
    let (func, mesh) = (main(module)?, module.main_mesh()?);
    let layout = |v: Value| sharding_or_replicated(&func.body, v, mesh);
    let agrees = |a: Value, b: Value| match (layout(a), layout(b)) {
        (Some(a), Some(b)) => a.same_layout(&b),
        _ => true,
    };
    let is_as = |v: Value, wanted: &Sharding| layout(v).is_none_or(|s| s.same_layout(wanted));
    let is_wrong = |&op: &Op| {
        let view = module.view(&func.body, op);
        if is_manual(&view) {
            return !view.operands().iter().zip(in_shardings(view.attrs())).all(|(&v, wanted)| is_as(v, wanted));
        }
        let DataFlow::Edges(edges) = facts(&view).data_flow(&view) else { return false };
        edges.iter().any(|e| e.sources.iter().chain(&e.targets).any(|&v| !agrees(v, e.owner)))
    };
    let returned = func.body.results().iter().zip(&func.result_shardings);
    if let Some((&v, _)) = returned.into_iter().find(|(v, s)| s.as_ref().is_some_and(|s| !is_as(**v, s))) {
        return Some((func.body[v].loc.clone(), "a result of the function".to_string()));
    }
    at(module, func, program_ops(module, func).into_iter().find(is_wrong)?)
}

/// Returns in words how the tensors of an op disagree about a factor, or which reduction factor is split although the
/// results are not unreduced over its axes, unless the op gathers its partial results itself. Tensors whose rank is not
/// that of the rule are left out. Returns `None` if the tensors agree with the rule.
fn disagreement(view: &OpView<'_>, rule: &Rule, mesh: &Arc<Mesh>) -> Option<String> {
    let values: Vec<Value> = view.operands().iter().chain(view.results()).copied().collect();
    let mut tensors = vec![];
    for (i, &v) in values.iter().enumerate() {
        let Some(sharding) = sharding_or_replicated(view.body, v, mesh) else { continue };
        if sharding.rank() == rule.mapping(i).rank() {
            let factors = TensorFactors::new(rule.mapping(i), rule, mesh, Some(&sharding), IfMissing::Closed);
            tensors.push((i, factors));
        }
    }
    for factor in rule.all_factors() {
        let of = |t: &TensorFactors| t.get(factor).map(|s| s.axes.clone());
        let mut lists = tensors.iter().filter_map(|(i, t)| Some((*i, of(t)?)));
        let Some((first, axes)) = lists.next() else { continue };
        if let Some((other, _)) = lists.find(|(_, list)| *list != axes) {
            return Some(format!("tensors {first} and {other} are split differently along factor {factor} of {rule}"));
        }
        let is_partial = rule.kind(factor) == FactorKind::Reduction && facts(view).combine(view) != Combine::Gather;
        if is_partial && !is_left_unreduced(view, &axes, mesh) {
            return Some(format!("the results are not unreduced over the axes of factor {factor} of {rule}"));
        }
    }
    None
}

fn is_left_unreduced(view: &OpView<'_>, axes: &AxisList, mesh: &Mesh) -> bool {
    let left = |&v: &Value| view.body.sharding(v).map_or(&[][..], |s| &s.unreduced);
    let is_tensor = |v: &&Value| view.body.ty(**v).as_tensor().is_some();
    let covers = |unreduced: &[AxisRef]| axes.iter().all(|a| a.minus(mesh, unreduced).is_empty());
    view.results().iter().filter(is_tensor).all(|v| covers(left(v)))
}

/// Returns in words which tensor of an op without a rule is split or unreduced, or `None` if all are whole. The results
/// of a pure op without operands may be either.
fn split_without_rule(view: &OpView<'_>, mesh: &Arc<Mesh>) -> Option<String> {
    let is_source = view.operands().is_empty() && facts(view).effects(view) == Effects::Pure;
    let results = if is_source { &[][..] } else { view.results() };
    let is_split = |&v: &Value| sharding_or_replicated(view.body, v, mesh).is_some_and(|s| !s.is_replicated());
    let position = view.operands().iter().chain(results).position(is_split)?;
    Some(format!("it has no rule, and tensor {position} is split or unreduced"))
}

fn uneven(module: &Module) -> Option<(Loc, String)> {
    let func = main(module)?;
    let is_uneven = |v: &Value| match (func.body.ty(*v).as_tensor(), func.body.sharding(*v)) {
        (Some(t), Some(s)) => !s.divides(&t.shape),
        _ => false,
    };
    let v = (0..func.body.value_count()).map(Value::new).find(is_uneven)?;
    let sharding = func.body.sharding(v).expect("it is split");
    Some((func.body[v].loc.clone(), format!("a tensor of type {} as {sharding}", func.body.ty(v))))
}

fn sharded_inside(module: &Module) -> Option<(Loc, String)> {
    let func = main(module)?;
    let args = func.body.args();
    let is_inside = |v: &Value| func.body.sharding(*v).is_some() && !args.contains(v);
    let v = (0..func.body.value_count()).map(Value::new).find(is_inside)?;
    Some((func.body[v].loc.clone(), format!("a value as {}", func.body.sharding(v).expect("it has one"))))
}

/// Returns the first argument or result of the main function whose type is not that of one device's part of its global
/// type ([`is_local`]). Returns `None` if there is none, or if the module has no mesh.
fn global_boundary(module: &Module) -> Option<(Loc, String)> {
    let (func, _) = (main(module)?, module.main_mesh()?);
    let args = func.body.args().iter().map(|&v| (func.body.ty(v), func.body.sharding(v)));
    let results = func.result_types.iter().zip(func.result_shardings.iter().map(Option::as_ref));
    let attrs = func.arg_attrs.iter().chain(&func.result_attrs);
    let mut boundary = args.chain(results).zip(attrs);
    let ((ty, _), _) = boundary.find(|((ty, sharding), attrs)| !is_local(ty, *sharding, attrs))?;
    Some((func.loc.clone(), format!("an argument or result of type {ty}")))
}

/// Returns true if a type has the shape of one device's part of the global type in the attributes, or if there is no
/// sharding to compare them by. Without a global type, the value must not be a tensor.
fn is_local(ty: &Type, sharding: Option<&Sharding>, attrs: &Attrs) -> bool {
    match attrs.get(GLOBAL_TYPE) {
        Some(Attr::Type(global)) => sharding.is_none_or(|s| s.local_shape(global.shape()) == ty.shape()),
        _ => ty.as_tensor().is_none(),
    }
}

fn unrecorded(module: &Module) -> Option<(Loc, String)> {
    let func = main(module)?;
    let inferred = uniform::infer(module, func);
    let v = inferred.keys().find(|&v| func.body[v].varying.as_ref() != Some(&inferred[v]))?;
    Some((func.body[v].loc.clone(), format!("a value that varies over {:?}", inferred[v])))
}
