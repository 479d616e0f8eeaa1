//! Manual computations on global values: cuts the operands, runs the body on the grid of the manual axes and joins the
//! results. The first device along unreduced axes gets the whole operand, and the others get elements that change
//! nothing when they are added.

use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::machine::{Env, Machine, PerProcess, Results, cannot_run};
use crate::shards::{on_first, sum};
use shardwise_base::{AxisRef, Diagnostic, Literal, Mesh, Sharding};
use shardwise_engine::layout;
use shardwise_ir::OpView;
use shardwise_ops::{ReduceKind, shardy};

impl<'m> Machine<'m> {
    pub(crate) fn manual_computation(
        &mut self,
        env: &mut Env<'m>,
        frame: &Frame,
        view: &OpView<'m>,
        active: &Active,
    ) -> Results {
        let Some((mesh, axes)) = shardy::manual_mesh_axes(view) else { return Err(cannot_run(view)) };
        if frame.mesh.as_ref().is_some_and(|outer| !outer.same_devices(mesh)) {
            return Err(other_mesh(view, mesh));
        }
        let inner = frame.nested(mesh, axes);
        let points = inner.process_count / frame.process_count;
        let ins: Vec<Sharding> = shardy::in_shardings(view.attrs()).iter().map(|s| over(s, axes)).collect();
        if ins.len() != view.operands().len() {
            return Err(cannot_run(view));
        }
        let out = |i: usize| view.result_sharding(i).map(|s| over(s, axes));
        let outs: Vec<Sharding> =
            (0..view.results().len()).map(out).collect::<Option<_>>().ok_or_else(|| cannot_run(view))?;
        let cut = |value: &PerProcess, sharding: &Sharding| -> PerProcess {
            (0..inner.process_count)
                .map(|q| value[q / points].as_ref().map(|d| cut_datum(d, sharding, &inner.coordinates(q))))
                .collect()
        };
        let enter = |v: &PerProcess, s: &Sharding| match &s.unreduced[..] {
            [] => cut(v, s),
            axes => on_first(&cut(v, s), axes, &inner),
        };
        let args = env.all(view.operands()).iter().zip(&ins).map(|(v, s)| enter(v, s)).collect();
        let inner_active: Active = (0..inner.process_count).map(|q| active[q / points]).collect();
        let results = self.region(env, &inner, view.regions()[0], args, &inner_active)?;
        let shape = |i: usize| view.result_shape(i);
        let join = |i: usize, value: PerProcess| -> PerProcess {
            let of = |p: usize| {
                active[p].then(|| join_datum(&value[p * points..(p + 1) * points], &outs[i], shape(i), &inner))
            };
            (0..frame.process_count).map(of).collect()
        };
        let leave = |(i, v): (usize, PerProcess)| match &outs[i].unreduced[..] {
            [] => Ok(join(i, v)),
            axes => Ok(join(i, sum(view, &v, axes, ReduceKind::Add, &inner)?)),
        };
        results.into_iter().enumerate().map(leave).collect()
    }
}

fn other_mesh(view: &OpView<'_>, mesh: &Mesh) -> Diagnostic {
    let message = "a manual computation is over a mesh that differs from that of the program or of the manual computation around it";
    Diagnostic::error("manual-mesh", view.loc(), message).mesh(mesh).help("use one mesh for both")
}

/// Returns the sharding with only those axes that an axis in `manual` contains. The body's types are local over them.
/// All dimensions are closed.
fn over(sharding: &Sharding, manual: &[AxisRef]) -> Sharding {
    let keep = |axes: &[AxisRef]| -> Vec<AxisRef> {
        axes.iter().copied().filter(|a| manual.iter().any(|m| m.contains(*a))).collect()
    };
    let dims = sharding.dims.iter().map(|d| keep(&d.axes)).collect();
    Sharding::closed(&sharding.mesh, dims).with_unreduced(keep(&sharding.unreduced))
}

fn cut_datum(datum: &Datum, sharding: &Sharding, coordinates: &[usize]) -> Datum {
    match datum {
        Datum::Tensor(l) => Datum::Tensor(layout::cut(l, &layout::shard_box(l.shape(), sharding, coordinates))),
        other => other.clone(),
    }
}

/// Joins the array of shape `shape` from its parts at each position along the manual axes. If several positions hold
/// the same part, that of the first one is used: an unchecked program may claim an equality that does not hold. Returns
/// the first datum if it is not an array.
fn join_datum(parts: &[Option<Datum>], sharding: &Sharding, shape: &[usize], frame: &Frame) -> Datum {
    let first = parts[0].as_ref().expect("the body ran");
    let Datum::Tensor(like) = first else { return first.clone() };
    let mut out = layout::Dense::zeros(like, shape);
    for (point, part) in parts.iter().enumerate().rev() {
        let part: &Literal = part.as_ref().expect("the body ran").tensor();
        out.paste(part, &layout::shard_box(shape, sharding, &frame.coordinates(point)).offset);
    }
    Datum::Tensor(out.finish())
}
