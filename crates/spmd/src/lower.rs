//! Inlines calls, named computations and composites, so that one function remains. Inlines branches that are known to
//! run, and removes results of branches and values carried by loops that nothing needs.
//!
//! Callees are processed before their callers. The body that a call copies therefore contains no calls, and nothing
//! recurses over the call graph. Inlined ops keep their locations, combined with the location of the call
//! (`callsite(callee at caller)`).

use crate::cleanup::remove_unused_results;
use shardwise_base::{Diagnostic, Diagnostics, EntityVec, Loc, LocKind};
use shardwise_ir::rewrite::{Rewrite, rewrite_func, rewrite_op};
use shardwise_ir::symbols::keep_referenced;
use shardwise_ir::{Body, Builder, Cloner, Func, FuncId, Module, Op, OpView, Region, Value, Visibility};
use shardwise_ops::Opcode;
use shardwise_ops::calls::{callee, callees_first};
use shardwise_ops::control::taken_branch;

/// The largest number of ops of a function once calls are inlined into it. Nested calls can double the size of the
/// program at each level.
const MAX_OPS: usize = 4_000_000;

/// Inlines calls, named computations, composites with a decomposition, and branches that are known to run into the
/// public functions and the main function. Removes the other functions that no op refers to any more. Removes from the
/// main function's branches and loops the results that nothing needs, and dead ops if there are such results.
///
/// # Errors
/// Fails if a function gets too large (`lower-size`). Also fails if a collective of the main function moves data along
/// axes that are not manual where it is, or does not do the same at every position along these, or if a device's
/// position along such axes is read and its value matters (`collective-axes`). A program that has been partitioned
/// already is not checked for these.
pub fn lower(module: &Module) -> Result<Module, Diagnostics> {
    let inlined = if is_lowered(module) { module.clone() } else { inline(module)? };
    crate::processes::check_axes(&inlined)?;
    Ok(remove_unused_results(inlined))
}

fn inline(module: &Module) -> Result<Module, Diagnostics> {
    let mut lowered: EntityVec<FuncId, Option<Func>> = EntityVec::filled(module.funcs.len(), None);
    for id in callees_first(module, (0..module.funcs.len()).map(FuncId::new).collect()) {
        let func = rewrite_func(module, &module[id], &mut Inliner { lowered: &lowered })?;
        lowered[id] = Some(func);
    }
    let mut all = module.without_funcs();
    all.funcs = lowered.into_iter().flatten().collect();
    let mut out = module.without_funcs();
    out.funcs = all.funcs.iter().filter(|f| is_kept(module, f)).cloned().collect();
    keep_referenced(&all, &mut out);
    Ok(out)
}

/// Returns true if a function stays also if no op refers to it: if it is public or the main function.
pub(crate) fn is_kept(module: &Module, func: &Func) -> bool {
    func.visibility == Visibility::Public || module.main().is_some_and(|main| main.name == func.name)
}

fn is_lowered(module: &Module) -> bool {
    module.funcs.iter().all(|func| {
        let view = |op| module.view(&func.body, op);
        let is_plain = |op| spliced_region(&view(op)).is_none() && callee(&view(op)).is_none();
        is_kept(module, func) && func.body.walk().into_iter().all(is_plain)
    })
}

/// Returns the region whose contents take the place of the op: that of a named computation, or of the branch that is
/// known to run. Returns `None` for all other ops.
fn spliced_region(view: &OpView<'_>) -> Option<Region> {
    match Opcode::of_view(view) {
        Opcode::NamedComputation => Some(view.regions()[0]),
        _ => taken_branch(view),
    }
}

struct Inliner<'a> {
    lowered: &'a EntityVec<FuncId, Option<Func>>,
}

impl<'s> Rewrite<'s> for Inliner<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if b.body.op_count() > MAX_OPS {
            return Err(too_large(view).into());
        }
        let results = if let Some(func) = callee(view).and_then(|id| self.lowered[id].as_ref()) {
            splice(func, &cloner.values(view.operands()), view.loc(), b)
        } else if let Some(region) = spliced_region(view) {
            self.contents(view, region, cloner, b)?
        } else {
            return Ok(false);
        };
        replace(cloner, view.results(), &results, b);
        Ok(true)
    }
}

impl Inliner<'_> {
    /// Copies the ops of a region of an op to the builder's position, inlines in them what is to be inlined, and
    /// returns the values that the region returns. The op's operands take the place of the region's arguments.
    ///
    /// Fails if the function gets more than [`MAX_OPS`] ops.
    fn contents<'s>(
        &mut self,
        view: &OpView<'s>,
        region: Region,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<Vec<Value>, Diagnostics> {
        let source = cloner.source;
        for (&arg, &operand) in source[region].args.iter().zip(view.operands()) {
            cloner.set(arg, cloner.get(operand));
        }
        let (_, inner) = source[region].ops.split_last().expect("a region ends in a terminator");
        inner.iter().try_for_each(|&op| rewrite_op(view.module, op, self, cloner, b))?;
        Ok(cloner.values(source.region_results(region)))
    }
}

/// Copies the ops of `func` to the builder's position, with `args` in place of its arguments, and returns the values
/// that the function returns. Those without a sharding receive the sharding that the function states for its result.
/// The locations of the ops are combined with `call`, the location of the call.
fn splice(func: &Func, args: &[Value], call: &Loc, b: &mut Builder<'_>) -> Vec<Value> {
    let body = relocated(&func.body, call);
    let mut cloner = Cloner::new(&body);
    for (&arg, &value) in body.args().iter().zip(args) {
        cloner.set(arg, value);
    }
    let (_, ops) = body[body.entry()].ops.split_last().expect("a function ends in a return");
    for &op in ops {
        cloner.op(op, b);
    }
    let results = cloner.values(body.results());
    for (&v, wanted) in results.iter().zip(&func.result_shardings) {
        if b.body.sharding(v).is_none() {
            b.set_sharding(v, wanted.clone());
        }
    }
    results
}

/// Maps the results of an inlined op to `by`. Values without a sharding receive the sharding of the result.
fn replace(cloner: &mut Cloner<'_>, results: &[Value], by: &[Value], b: &mut Builder<'_>) {
    for (&result, &value) in results.iter().zip(by) {
        if b.body.sharding(value).is_none() {
            b.set_sharding(value, cloner.source.sharding(result).cloned());
        }
        cloner.set(result, value);
    }
}

/// Returns the body with each location `l` of its ops and values replaced by `callsite(l at caller)`, or by `caller` if
/// `l` is unknown. The locations do not change if `caller` is unknown.
fn relocated(body: &Body, caller: &Loc) -> Body {
    let mut body = body.clone();
    if caller.is_unknown() {
        return body;
    }
    let at = |callee: &Loc| match callee.is_unknown() {
        true => caller.clone(),
        false => Loc::new(LocKind::CallSite { callee: callee.clone(), caller: caller.clone() }),
    };
    for op in (0..body.op_count()).map(Op::new) {
        body.op_mut(op).loc = at(&body[op].loc);
    }
    for v in (0..body.value_count()).map(Value::new) {
        body.value_mut(v).loc = at(&body[v].loc);
    }
    body
}

fn too_large(view: &OpView<'_>) -> Diagnostic {
    Diagnostic::error(
        "lower-size",
        view.loc(),
        format!("a function has more than {MAX_OPS} ops once calls are inlined into it"),
    )
    .help("write the repetition as a `stablehlo.while`")
}
