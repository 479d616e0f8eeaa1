//! Functions that all passes share: rebuilding function bodies, and queries about ops.

use shardwise_base::{Diagnostics, Loc, Mesh, Sharding};
use shardwise_ir::{Body, Builder, Cloner, Func, Module, OpCode, OpTable, OpView, Region, Type, Value};
use shardwise_ops::{DataFlow, Facts, OPS, Opcode};
use std::sync::Arc;

/// Returns the code of the op with this name.
///
/// # Panics
/// Panics if the op table has no such op.
pub(crate) fn code(name: &str) -> OpCode {
    OPS.find(name).unwrap_or_else(|| panic!("the op table has no `{name}`"))
}

pub(crate) fn facts(view: &OpView<'_>) -> &'static dyn Facts {
    Opcode::of_view(view).facts()
}

/// Returns whether this is the function that runs. Functions that composites refer to keep their global types and are
/// not changed.
pub(crate) fn runs(module: &Module, func: &Func) -> bool {
    module.main().is_some_and(|main| main.name == func.name)
}

/// Returns the module with `f` applied to the function that runs.
pub(crate) fn map_main(
    module: &Module,
    mut f: impl FnMut(&Func) -> Result<Func, Diagnostics>,
) -> Result<Module, Diagnostics> {
    let mut out = module.without_funcs();
    for func in &module.funcs {
        out.funcs.push(if runs(module, func) { f(func)? } else { func.clone() });
    }
    Ok(out)
}

/// Rebuilds a function. `f` gets a cloner of the old body and a builder at the entry of the new body, which has the
/// arguments already.
pub(crate) fn rebuild(func: &Func, f: impl FnOnce(&mut Cloner<'_>, &mut Builder<'_>)) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    cloner.args(func.body.entry(), &mut builder);
    f(&mut cloner, &mut builder);
    out
}

/// Returns whether the op's regions hold parts of the program (loops, branches, manual computations) and not scalar
/// functions.
pub(crate) fn has_program_regions(view: &OpView<'_>) -> bool {
    !view.regions().is_empty()
        && (matches!(facts(view).data_flow(view), DataFlow::Edges(_))
            || is_manual(view)
            || view.name() == "stablehlo.if")
}

pub(crate) fn is_manual(view: &OpView<'_>) -> bool {
    view.name() == "sdy.manual_computation"
}

pub(crate) fn is_terminator(view: &OpView<'_>) -> bool {
    view.module.table.def(view.data().code).is_terminator()
}

/// Adds a region with arguments of these types to the body.
pub(crate) fn open_region(body: &mut Body, types: &[Type], loc: &Loc) -> (Region, Vec<Value>) {
    let region = body.add_region();
    let args = types.iter().map(|ty| body.add_arg(region, ty.clone(), loc.clone())).collect();
    (region, args)
}

/// Returns the sharding of a tensor on `mesh`. A tensor without a sharding, or with one on a mesh of one device, is
/// replicated.
pub(crate) fn sharding_or_replicated(body: &Body, v: Value, mesh: &Arc<Mesh>) -> Option<Sharding> {
    let rank = body.ty(v).as_tensor()?.rank();
    let given = body.sharding(v).filter(|s| !s.mesh.is_maximal() && s.rank() == rank);
    Some(given.map_or_else(|| Sharding::replicated(mesh, rank), Sharding::canonical))
}

/// A pass that replaces some ops and copies the others.
pub(crate) trait Rewrite<'s> {
    /// Rewrites one op and maps its results to new values. If this returns `false`, the op is copied and its regions
    /// are rewritten.
    fn rewrite(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> bool;
}

/// Returns the function with every op passed to `pass`, in program order.
pub(crate) fn rewrite_func<'s>(module: &'s Module, func: &'s Func, pass: &mut impl Rewrite<'s>) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    cloner.args(func.body.entry(), &mut builder);
    rewrite_ops(module, func.body.entry(), pass, &mut cloner, &mut builder);
    out
}

/// Rewrites the ops of a region to the builder's position.
pub(crate) fn rewrite_ops<'s>(
    module: &'s Module,
    region: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) {
    let source = cloner.source;
    for &op in &source[region].ops {
        let view = module.view(source, op);
        b.loc = view.loc().clone();
        if pass.rewrite(&view, cloner, b) {
            continue;
        }
        let regions = view.regions().iter().map(|&r| rewrite_region(module, r, pass, cloner, b)).collect();
        cloner.op_with_regions(op, regions, b);
    }
}

/// Copies a region with its ops passed to `pass`.
pub(crate) fn rewrite_region<'s>(
    module: &'s Module,
    from: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Region {
    let region = b.body.add_region();
    let mut inner = Builder::at(b.body, region, b.loc.clone());
    cloner.args(from, &mut inner);
    rewrite_ops(module, from, pass, cloner, &mut inner);
    region
}
