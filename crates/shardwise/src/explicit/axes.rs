//! Parts of a program in which other axes are Explicit: [`auto_axes`], [`explicit_axes`].

use crate::collective::{Axes, AxisName};
use crate::control::{give_up, traced};
use crate::spec::{self, SpecFor};
use crate::trace::{self, Trace};
use crate::tree::{self, Tree};
use crate::{ambient, context, mesh, mistakes};
use shardwise_base::{AxisIndex, AxisKind};
use shardwise_ir::Value;
use shardwise_ops::Opcode;
use std::panic::Location;

/// The axes whose mode differs from the mesh's in a part of the program.
#[derive(Clone, Default)]
pub(super) struct Modes {
    pub auto: Vec<AxisIndex>,
    pub explicit: Vec<AxisIndex>,
    /// The functions that were open when axes became Explicit, with their numbers of values then. Empty if no axes
    /// became Explicit. The compiler chooses those layouts of these values that are open.
    from: Vec<(u64, usize)>,
}

impl Modes {
    /// Returns true if the value was made before axes became Explicit. Returns false if no axes became Explicit.
    /// [`auto_axes`] changes nothing here.
    fn is_older(&self, frame: u64, value: Value) -> bool {
        self.from.iter().any(|&(home, count)| frame == home && value.index() < count)
    }
}

/// Runs `f` with some Explicit axes treated as Auto axes: the compiler decides layouts over them. `out` states the
/// layouts of the results.
///
/// # Errors
///
/// - `axis-mode` unless the axes are whole Explicit axes of the mesh, and not manual.
/// - `no-mesh` if neither the program nor the thread has a mesh.
/// - `spec-form` if `out` does not have the form of the result.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
/// - The errors of [`crate::Array::shard`], which the results carry.
///
/// The first four end the trace. Outside of a trace, this function panics with them.
#[track_caller]
pub fn auto_axes<R: Tree>(axes: impl Axes, out: impl SpecFor<R>, f: impl FnOnce() -> R) -> R {
    let at = context::caller(Location::caller());
    traced("auto_axes", at, || {
        let axes = find("auto_axes", &axes, AxisKind::Explicit, at);
        let result = with_modes(|m, _| m.auto.extend(axes), || context::outside(at, f));
        laid_out("auto_axes", &result, &out, at)
    })
}

fn laid_out<T: Tree>(name: &'static str, tree: &T, specs: &impl SpecFor<T>, at: &'static Location<'static>) -> T {
    let specs = match spec::collect(specs, tree) {
        Ok(specs) => specs,
        Err(wrong) => give_up(spec::misfit(name, &wrong, &context::loc(at)), at),
    };
    let leaves = tree::leaves(tree).into_iter().zip(specs);
    tree::with_leaves(tree, leaves.map(|(a, spec)| a.shard_at(spec, at)).collect::<Vec<_>>())
}

/// Runs `f` on `inputs` with some Auto axes treated as Explicit axes: layouts over them are part of types. `ins` states
/// the layouts of the inputs.
///
/// For other arrays that were computed before, the compiler decides the layout. They need a `.shard` where they are
/// first used.
///
/// # Errors
///
/// - `axis-mode` unless the axes are whole Auto axes of the mesh, and not manual.
/// - `no-mesh` if neither the program nor the thread has a mesh.
/// - `spec-form` if `ins` does not have the form of the inputs.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
/// - `layout-unknown` if an array from outside, other than a scalar, a constant, an `arange` or a broadcast, is used
///   without `.shard`.
/// - `layout-ambiguous` and `communication-denied` for a result that needs a `.shard`.
/// - The errors of [`crate::Array::shard`].
///
/// The first four end the trace, and so does a result that carries a mistake or needs a `.shard`. Outside of a trace,
/// this function panics with them.
#[track_caller]
pub fn explicit_axes<T: Tree, R: Tree>(
    axes: impl Axes,
    inputs: &T,
    ins: impl SpecFor<T>,
    f: impl FnOnce(&T) -> R,
) -> R {
    let at = context::caller(Location::caller());
    traced("explicit_axes", at, || {
        let axes = find("explicit_axes", &axes, AxisKind::Auto, at);
        let result = with_modes(
            |m, t| {
                m.explicit.extend(axes);
                m.from = t.value_counts();
            },
            || {
                let inputs = laid_out("explicit_axes", inputs, &ins, at);
                context::outside(at, || f(&inputs))
            },
        );
        trace::operands(&tree::leaves(&result), at).unwrap_or_else(|_| trace::end());
        result
    })
}

/// Returns the axes with these names on the mesh of the program, or else of the thread, which becomes that of the
/// program. Records a mistake and ends the trace if there is no mesh, or unless all are whole axes of kind `kind` that
/// are not manual.
fn find(callee: &'static str, axes: &impl Axes, kind: AxisKind, at: &'static Location<'static>) -> Vec<AxisIndex> {
    let loc = context::loc(at);
    let mesh = trace::with(|t| t.mesh.clone()).or_else(mesh::current);
    let Some(mesh) = mesh else { give_up(mistakes::no_mesh_for(callee, &loc), at) };
    trace::with(|t| t.join_mesh(&mesh));
    let scope = trace::with(|t| t.scope());
    let is_manual = |a: &AxisIndex| scope.as_ref().is_some_and(|s| s.axes.contains(a));
    let kinds = scope.as_ref().map_or_else(|| mesh.with_kinds(), |s| s.kinds());
    let place = |name: &AxisName| {
        let axis = name.name();
        let AxisName::Whole(_) = name else { give_up(mistakes::axis_mode_groups(callee, axis, &kinds, &loc), at) };
        let found = mesh.0.axis(axis).filter(|a| mesh.0.axes[a.index()].kind == kind && !is_manual(a));
        found.unwrap_or_else(|| give_up(mistakes::axis_mode(callee, axis, kind, &kinds, &loc), at))
    };
    axes.names().iter().map(place).collect()
}

fn with_modes<R>(change: impl FnOnce(&mut Modes, &mut Trace), f: impl FnOnce() -> R) -> R {
    let before = trace::with(|t| {
        let before = t.explicit.modes.clone();
        let mut modes = before.clone();
        change(&mut modes, t);
        t.set_modes(modes);
        before
    });
    ambient::restoring(before, |before| trace::with(|t| t.set_modes(before)), f)
}

/// Returns true if the value was made before the code that [`explicit_axes`] runs, and its layout is open, so that the
/// compiler chooses the layout and types do not contain it. Returns false for scalars, constants, iotas and broadcasts.
pub(super) fn is_unknown(t: &Trace, frame: u64, value: Value) -> bool {
    if t.explicit.modes.from.is_empty() {
        return false;
    }
    let (frame, value) = t.origin(frame, value);
    if !t.explicit.modes.is_older(frame, value) {
        return false;
    }
    let Some((module, body)) = t.home(frame) else { return false };
    let is_constant = body.def_op(value).is_some_and(|op| {
        matches!(Opcode::of_view(&module.view(body, op)), Opcode::Constant | Opcode::Iota | Opcode::BroadcastInDim)
    });
    let is_open = body.sharding(value).is_none_or(|s| s.dims.iter().any(|d| d.is_open));
    is_open && !is_constant && !body.ty(value).shape().is_empty()
}

impl Trace {
    fn set_modes(&mut self, modes: Modes) {
        self.explicit.modes = modes;
        self.narrow_types();
    }
}
