//! Functions that several passes share: changing only the main function, and queries about ops.

use shardwise_base::{Diagnostics, Mesh, Sharding};
use shardwise_ir::{Body, Func, Module, OpView, Value};
use shardwise_ops::{DataFlow, Facts, Opcode, Semantics};
use std::sync::Arc;

pub(crate) fn facts(view: &OpView<'_>) -> &'static dyn Facts {
    Opcode::of_view(view).facts()
}

/// Returns true if `func` is the main function of the module. Other functions, to which composites refer, keep their
/// global types and are not changed.
pub(crate) fn runs(module: &Module, func: &Func) -> bool {
    module.main().is_some_and(|main| main.name == func.name)
}

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

/// Returns true if the op has regions that hold parts of the program (loops, branches, manual computations) and not
/// scalar functions.
pub(crate) fn has_program_regions(view: &OpView<'_>) -> bool {
    !view.regions().is_empty() && (matches!(facts(view).data_flow(view), DataFlow::Edges(_)) || is_manual(view))
}

pub(crate) fn is_manual(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::ManualComputation
}

/// Returns true if the op is a mark of propagation, such as a constraint: its results are its operands.
pub(crate) fn is_mark(view: &OpView<'_>) -> bool {
    facts(view).semantics(view) == Semantics::Identity && !is_manual(view)
}

pub(crate) fn is_terminator(view: &OpView<'_>) -> bool {
    view.module.table.def(view.data().code).is_terminator()
}

/// Returns the layout of a tensor ([`Sharding::canonical`]), or `None` for a value of another type. The tensor is
/// replicated on `mesh` if it has no sharding, if its sharding is on a single device ([`Mesh::is_maximal`]), or if its
/// sharding has another rank.
pub(crate) fn sharding_or_replicated(body: &Body, v: Value, mesh: &Arc<Mesh>) -> Option<Sharding> {
    let rank = body.ty(v).as_tensor()?.rank();
    let given = body.sharding(v).filter(|s| !s.mesh.is_maximal() && s.rank() == rank);
    Some(given.map_or_else(|| Sharding::replicated(mesh, rank), Sharding::canonical))
}
