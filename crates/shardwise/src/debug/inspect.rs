//! Layouts that the compiler chooses, shown when a program is compiled.

use super::{Picture, picture_of, picture_per_device, print};
use crate::manual::ManualType;
use crate::{Array, context, trace};
use shardwise_base::{AxisRef, Mesh, Sharding};
use shardwise_ir::{Module, OpView, Value};
use shardwise_ops::inspect::Inspect;
use shardwise_ops::shardy::manual_axes_around;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Callback = Arc<dyn Fn(&Picture) + Send + Sync>;

/// The last functions that were passed to [`inspect`] in traces, with the titles of their pictures, by their numbers.
static CALLBACKS: Mutex<BTreeMap<i64, (String, Callback)>> = Mutex::new(BTreeMap::new());
/// The number of functions that are kept, at most. A program that is compiled again much later shows nothing.
const MAX_CALLBACKS: usize = 1024;
static NEXT: AtomicI64 = AtomicI64::new(0);

/// Calls `f` with a picture of the layout that the compiler chooses for `x`, each time that the program is compiled, or
/// that its communication or its warnings are computed. Only the last 1024 functions that were passed inside of traces
/// are kept and called.
///
/// Inside [`shard_map`](crate::shard_map), the picture shows an array for each coordinate along the axes over which `x`
/// varies, and how each of them is split over the other axes. Outside of a trace, `f` is called at once, with the
/// layout of the array ([`visualize`](super::visualize)). In Auto mode, `x` keeps the layout that it has without this
/// call. In Explicit mode, the call is a use of `x` like any other, before which `.shard` has to decide an ambiguous
/// layout. If `x` is a mistake or a `float0` array, or has an ambiguous layout outside of a trace, `f` is not called.
///
/// # Panics
///
/// Panics outside of a trace for a traced array whose layout is not known.
///
/// # Examples
///
/// ```
/// use shardwise::debug;
/// use shardwise::prelude::*;
/// use std::sync::{Arc, Mutex};
///
/// # fn main() -> Result<()> {
/// set_mesh(Mesh::auto([("X", 4)])?);
/// let seen: Arc<Mutex<Vec<String>>> = Arc::default();
/// let to = seen.clone();
/// let f = jit(move |x: &Array| {
///     let y = x * 2;
///     let to = to.clone();
///     debug::inspect(&y, move |picture| to.lock().unwrap().push(picture.sharding().unwrap().to_string()));
///     y.sum(..)
/// });
/// f(&arange(0..8, F32).shard(P!("X")))?;
/// f(&arange(0..8, F32).shard(P!("X")))?;
/// assert_eq!(*seen.lock().unwrap(), [r#"<@mesh, [{"X"}]>"#]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn inspect(x: &Array, f: impl Fn(&Picture) + Send + Sync + 'static) {
    let at = context::caller(Location::caller());
    if x.mistakes().is_some() {
        return;
    }
    if !trace::is_tracing() {
        return f(&super::visualize(x));
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let title = x.short_type();
    let axes = trace::with(|t| t.scope()).map_or(vec![], |scope| varying(&x.manual_in(&scope)));
    let gone = callbacks(|all| {
        all.insert(id, (title, Arc::new(f)));
        if all.len() > MAX_CALLBACKS { all.pop_first() } else { None }
    });
    // The oldest function is dropped without the lock, because its drop may call `inspect`.
    drop(gone);
    context::within(at, || print::effect(Inspect { id, axes }.attrs(), &[x], at));
}

fn varying(state: &ManualType) -> Vec<String> {
    let mut names: Vec<String> = state.varying.iter().map(|a| state.scope.name(a.axis).to_string()).collect();
    names.dedup();
    names
}

fn callbacks<R>(f: impl FnOnce(&mut BTreeMap<i64, (String, Callback)>) -> R) -> R {
    f(&mut CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The layouts that a program being compiled has to show.
#[derive(Default)]
pub(crate) struct Waiting(Vec<(i64, Picture)>);

/// Returns an empty list for the layouts that a program asks for, or `None` if it asks for none.
pub(crate) fn waiting(module: &Module) -> Option<Waiting> {
    marks(module).next().map(|_| Waiting::default())
}

fn marks(module: &Module) -> impl Iterator<Item = OpView<'_>> {
    module.funcs.iter().flat_map(|func| {
        let ops = func.body.walk().into_iter().map(|op| module.view(&func.body, op));
        ops.filter(|op| Inspect::of(op).is_some())
    })
}

impl Waiting {
    /// Keeps the layouts of the marked values of a module in which all values have layouts. Does nothing without a
    /// mesh.
    pub fn read(&mut self, module: &Module) {
        let Some(mesh) = module.main_mesh() else { return };
        self.0 = marks(module).filter_map(|op| Some((Inspect::of(&op)?.id, picture(&op, mesh)))).collect();
    }

    /// Calls the functions with the layouts, in the order of the program. Without a mesh, the pictures show whole
    /// arrays on one device. Functions that are no longer kept are left out.
    pub fn show(self, module: &Module) {
        let mut shown = self.0;
        if shown.is_empty() {
            // A program without a mesh runs on one device.
            let shape = |op: &OpView<'_>| op.operand_shape(0).to_vec();
            let alone = |op: OpView<'_>| Some((Inspect::of(&op)?.id, picture_of(&shape(&op), None)));
            shown = marks(module).filter_map(alone).collect();
        }
        for (id, picture) in shown {
            if let Some((title, f)) = callbacks(|all| all.get(&id).cloned()) {
                f(&picture.with_title(title));
            }
        }
    }
}

fn picture(op: &OpView<'_>, mesh: &Arc<Mesh>) -> Picture {
    let v: Value = op.operand(0);
    let shape = op.body.value(v).shape_without_padding();
    let manual = manual_axes_around(op);
    let free = |a: &AxisRef| manual.iter().all(|m| m.axis != a.axis);
    let sharding = op.body.sharding(v).cloned().unwrap_or_else(|| Sharding::replicated(mesh, shape.len())).canonical();
    let dims = sharding.dims.iter().map(|d| d.axes.iter().copied().filter(free).collect()).collect();
    let unreduced = sharding.unreduced.iter().copied().filter(free).collect();
    let sharding = Sharding::closed(mesh, dims).with_unreduced(unreduced);
    let names = Inspect::of(op).map_or(vec![], |mark| mark.axes);
    let axes: Vec<AxisRef> = names.iter().filter_map(|name| mesh.axis(name).map(AxisRef::full)).collect();
    match manual.is_empty() {
        true => picture_of(&shape, Some(&sharding)),
        false => picture_per_device(&shape, &sharding, &axes),
    }
}
