//! Chooses the layouts of values over a whole function.
//!
//! Propagation lays out each value, and [`reshard`](crate::reshard) decides at each op what is moved to and from these
//! layouts. Op by op, each decision is the cheapest, but the layout of a value between two ops may suit neither. This
//! module starts with the propagated layouts and changes the layouts of values along chains, through loops and around
//! shared values, as long as the price of the whole function falls:
//!
//! - [`sites`] lists where values are moved: at ops, and along the edges of loops, branches and results.
//! - [`price`] computes what each site costs under given layouts, with the decisions that `reshard` will make. Sites
//!   that need a value in the same layout share its move.
//! - [`search`] changes the layouts around the dearest sites.
//!
//! The layouts of arguments, results, constraints and manual computations stay as they are, and so does everything if
//! the mesh has Explicit axes. No product computes more on a device than before, and the work of all other ops and the
//! memory grow by a few percent at most.

mod price;
mod search;
mod sites;

use crate::hoist::ROOM;
use crate::live::Lives;
use crate::strategy::Decisions;
use price::Prices;
use search::{Limits, Shards, search};
use shardwise_base::{AxisKind, Mesh};
use shardwise_ir::{Body, Func, Module};
use sites::Sites;
use std::sync::Arc;

/// The part by which the estimated memory may grow, if it grows by more than [`ROOM`].
const MORE_MEMORY: f64 = 0.05;

/// Returns the function with other layouts of its values if it then costs less, or `None` if none were found. With
/// `keeps_sums`, sums over devices are taken where they arise.
pub(crate) fn choose(
    module: &Module,
    func: &Func,
    mesh: &Arc<Mesh>,
    decisions: &mut Decisions,
    keeps_sums: bool,
) -> Option<Func> {
    if mesh.axes.iter().any(|a| a.kind == AxisKind::Explicit) || mesh.size() == 1 {
        return None;
    }
    let sites = Sites::of(module, func, mesh, &mut decisions.kinds)?;
    for shards in [Shards::MayGrow, Shards::StaySmall] {
        let mut prices = Prices::new(module, func, mesh, &sites, decisions);
        let changes = search(&mut prices, Limits { keeps_sums, shards });
        if changes.is_empty() {
            return None;
        }
        let mut out = func.clone();
        for (group, layout) in changes {
            for &v in &sites.groups[group].values {
                out.body.value_mut(v).sharding = Some(layout.clone());
            }
        }
        let before = memory(&func.body);
        let more = ROOM.max((before as f64 * MORE_MEMORY) as u64);
        if memory(&out.body) <= before.saturating_add(more) {
            return Some(out);
        }
    }
    None
}

/// Returns an estimate of the bytes that a device holds at once.
fn memory(body: &Body) -> u64 {
    Lives::compute(body).peak(body, body.entry())
}
