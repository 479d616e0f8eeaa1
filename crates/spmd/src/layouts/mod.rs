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
//! - [`changes`] records what changed, for the reasons of collectives.
//!
//! The layouts of arguments, results, constraints and manual computations stay as they are, and so does everything if
//! the mesh has Explicit axes. No product computes more on a device than before, and the work of all other ops and the
//! memory grow by a few percent or a small fixed amount at most.

mod changes;
mod copies;
mod price;
mod search;
mod sites;
#[cfg(test)]
mod tests;

use crate::hoist::ROOM;
use crate::live::Lives;
use crate::strategy::Decisions;
pub(crate) use changes::Changes;
use copies::with_copies;
pub(crate) use copies::{is_copy, is_reader};
use price::Prices;
pub(crate) use search::MAX_EFFORT;
use search::{Left, Limits, Shards, search};
use shardwise_base::{AxisKind, Diagnostic, Mesh};
use shardwise_ir::{Func, Module};
use sites::Sites;
use std::sync::Arc;

/// The part by which the estimated memory may grow, if it grows by more than [`ROOM`].
const MORE_MEMORY: f64 = 0.05;

#[derive(Default)]
pub(crate) struct Chosen {
    /// The function with copies of shared values ([`with_copies`]), and with other layouts if some were found with
    /// which it costs less and fits into memory. `None` if it has neither.
    pub func: Option<Func>,
    /// The layouts that changed.
    pub changes: Changes,
    /// A note if the last search ran out of effort while sites were left. Trades of dimensions and moves of copies that
    /// were cut short have none.
    pub note: Option<Diagnostic>,
}

/// Searches for layouts of the function's values with which the function costs less. The result has the function with
/// the best ones found, and with copies of shared values ([`with_copies`]). If no layouts cost less without taking too
/// much memory, or if values are unreduced, it has the function with copies alone, or none if no value is shared. It
/// also has none if the mesh has Explicit axes or a single device. `decisions` only keeps decisions that are made on
/// the way, for use by later calls. With `keeps_sums`, each sum over devices is taken where it arises, and none is
/// deferred. If the layouts found take too much memory, a second search lets no shard grow. `effort` is what each
/// search may make: for the function, and in addition for each of its sites ([`MAX_EFFORT`]).
pub(crate) fn choose(
    module: &Module,
    func: &Func,
    mesh: &Arc<Mesh>,
    decisions: &mut Decisions,
    keeps_sums: bool,
    effort: (usize, usize),
) -> Chosen {
    let mut chosen = Chosen::default();
    if mesh.axes.iter().any(|a| a.kind == AxisKind::Explicit) || mesh.size() == 1 {
        return chosen;
    }
    let copied = with_copies(module, func, mesh);
    let func = copied.as_ref().unwrap_or(func);
    chosen.func = copied.clone();
    let Some(sites) = Sites::of(module, func, mesh, &mut decisions.kinds) else { return chosen };
    let mut lives = None;
    for shards in [Shards::MayGrow, Shards::StaySmall] {
        let mut prices = Prices::new(module, func, mesh, &sites, decisions);
        let (before, propagated) = (prices.all_rated().clone(), prices.all_current().clone());
        let (found, left) = search(&mut prices, Limits { effort, keeps_sums, shards });
        chosen.note = left.map(|left| budget_ended(func, &left));
        if found.is_empty() {
            return chosen;
        }
        let mut out = func.clone();
        for (group, layout) in &found {
            for &v in &sites.groups[*group].values {
                out.body.value_mut(v).sharding = Some(prices.layout(*layout).clone());
            }
        }
        // The lives do not depend on layouts.
        let lives = lives.get_or_insert_with(|| Lives::compute(&func.body));
        let [peak, new_peak] = [&func.body, &out.body].map(|body| lives.peak(body, body.entry()));
        let more = ROOM.max((peak as f64 * MORE_MEMORY) as u64);
        if new_peak <= peak.saturating_add(more) {
            chosen.changes = Changes::of(&before, &propagated, &prices, &found);
            chosen.func = Some(out);
            return chosen;
        }
    }
    chosen
}

fn budget_ended(func: &Func, left: &Left) -> Diagnostic {
    let (name, Left { site_count, of, .. }) = (&func.name, left);
    let again = if left.is_first_round { "" } else { " again" };
    let message = format!(
        "the search for the layouts of `{name}` ended with its budget: of {of} places where data moves, {site_count} \
         were not fully looked at{again}"
    );
    Diagnostic::remark("layouts-budget", &func.loc, message)
        .note("the best layouts found so far stand: the results are correct, but more data may move than has to")
}
