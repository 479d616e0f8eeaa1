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
//! - [`search`] changes the layouts around the dearest sites, and [`memory`] keeps shards small where they do not fit.
//! - [`folded`] has one site for all equal ones of a function that repeats itself. It is searched first.
//! - [`changes`] records what changed, for the reasons of collectives.
//!
//! The layouts of arguments, results, constraints and manual computations stay as they are, and so does everything if
//! the mesh has Explicit axes. No product computes more on a device than before, and the work of all other ops and the
//! memory grow by a few percent or a small fixed amount at most.

mod changes;
mod copies;
mod folded;
mod memory;
mod price;
mod search;
mod sites;
#[cfg(test)]
mod tests;

use crate::strategy::Decisions;
pub(crate) use changes::Changes;
use copies::with_copies;
pub(crate) use copies::{is_copy, is_reader};
use folded::search_folded;
use memory::{Memory, search_within};
use price::Prices;
pub(crate) use search::MAX_EFFORT;
use search::{Left, Limits, STAGES, STAGES_OF_FOLDED};
use shardwise_base::{AxisKind, Diagnostic, Mesh};
use shardwise_ir::{Func, Module};
use sites::Sites;
use std::sync::Arc;

/// A search may make [`MORE_EFFORT`] times as much effort if a device receives at least this many bytes: they take ten
/// milliseconds or more at 100 GB/s, in each run of the program.
const MUCH_RECEIVED: u64 = 1 << 30;

/// How many times as much effort a search may make if much is received ([`MUCH_RECEIVED`]).
const MORE_EFFORT: usize = 4;

/// How many times the effort each search over a folded function may make. A change there saves as much as the same
/// change at each of the sites that one stands for.
const EFFORT_OF_FOLDED: f64 = 1.5;

/// The number by which the effort is divided for the search over the whole function, if a search over the folded one
/// found nothing.
const EFFORT_AFTER_NOTHING: usize = 3;

/// The number by which the effort is divided for the search over the whole function, if a search over the folded one
/// was cut short: many sites are then left, and little can be found at one of them after the other.
const EFFORT_AFTER_CUT: usize = 16;

/// The largest number of times that a function is folded. A change can make more sites equal than before.
const MAX_FOLDS: usize = 3;

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
/// deferred. `effort` is what the search may make: for the function, and in addition for each of its sites
/// ([`MAX_EFFORT`]). It may make [`MORE_EFFORT`] times as much if a device receives [`MUCH_RECEIVED`] bytes, and a few
/// times as much in all where layouts do not fit into memory and the search is repeated.
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
    let mut prices = Prices::new(module, &func.body, mesh, &sites, decisions);
    let (before, propagated) = (prices.all_rated().clone(), prices.all_current().clone());
    let mut memory = Memory::new(func, &sites);
    let more = if prices.bytes_received() >= MUCH_RECEIVED { MORE_EFFORT } else { 1 };
    let mut effort = more * (effort.0 + effort.1 * sites.sites.len());
    let mut is_first_look = true;
    for _ in 0..MAX_FOLDS {
        let of_folded = (effort as f64 * EFFORT_OF_FOLDED) as usize;
        let limits = Limits { effort: of_folded, keeps_sums, stages: &STAGES_OF_FOLDED };
        let Some(outcome) = search_folded(&mut memory, &mut prices, &propagated, limits) else { break };
        is_first_look &= outcome.is_cut;
        if outcome.is_cut || !outcome.is_better {
            effort /= if outcome.is_cut { EFFORT_AFTER_CUT } else { EFFORT_AFTER_NOTHING };
            break;
        }
    }
    let limits = Limits { effort, keeps_sums, stages: &STAGES };
    let left = search_within(&mut memory, &mut prices, limits, |prices| prices.shardings_since(&propagated));
    chosen.note = left.map(|left| budget_ended(func, &left, is_first_look));
    let changed = prices.changes_since(&propagated);
    if !changed.is_empty() {
        chosen.changes = Changes::of(&before, &propagated, &prices, &changed);
        chosen.func = Some(memory.func_with(&prices.shardings_since(&propagated)));
    }
    chosen
}

/// Returns the note that a search was cut short. `is_first_look` states whether no search before it had looked at all
/// sites.
fn budget_ended(func: &Func, left: &Left, is_first_look: bool) -> Diagnostic {
    let (name, Left { site_count, of, .. }) = (&func.name, left);
    let again = if left.is_first_round && is_first_look { "" } else { " again" };
    let message = format!(
        "the search for the layouts of `{name}` ended with its budget: of {of} places where data moves, {site_count} \
         were not fully looked at{again}"
    );
    Diagnostic::remark("layouts-budget", &func.loc, message)
        .note("the best layouts found so far stand: the results are correct, but more data may move than has to")
}
