//! Records which layouts a search changed and what the function moved before, for the reasons of collectives.

use super::price::{Layout, Prices, Rated};
use super::search::Change;
use super::sites::{Group, Site};
use crate::reason::layout_text;
use rustc_hash::FxHashMap;
use shardwise_base::{EntityVec, LayoutChange};
use shardwise_ir::Value;
use std::rc::Rc;

/// The prices of all sites at one time.
type Ratings = EntityVec<Site, Rc<Rated>>;

/// The changed layouts of a function, by value.
#[derive(Default)]
pub(crate) struct Changes(FxHashMap<Value, LayoutChange>);

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the change of a value's layout, or `None` if it did not change. `tensor` is the name that the consumer
    /// has for the value.
    pub fn get(&self, v: Value, tensor: &str) -> Option<LayoutChange> {
        self.0.get(&v).map(|change| LayoutChange { tensor: tensor.into(), ..change.clone() })
    }

    /// Records the changes that a search made. `before` holds the prices with the propagated layouts.
    ///
    /// Layouts change together: a layout in the middle of a chain pays off only with those around it. So the bytes are
    /// those of all sites around the values that are connected by sites and changed.
    pub(super) fn of(
        before: &Ratings,
        propagated: &EntityVec<Group, Layout>,
        prices: &Prices<'_>,
        changes: &[Change],
    ) -> Changes {
        let sites = prices.sites;
        let mut is_open = EntityVec::filled(sites.groups.len(), false);
        let mut is_seen = EntityVec::filled(sites.sites.len(), false);
        changes.iter().for_each(|(g, _)| is_open[*g] = true);
        let mut known = FxHashMap::default();
        for (start, _) in changes {
            if !std::mem::take(&mut is_open[*start]) {
                continue;
            }
            let (mut members, mut around, mut next) = (vec![*start], vec![], 0);
            while let Some(&member) = members.get(next) {
                next += 1;
                for &site in &sites.groups[member].sites {
                    if std::mem::replace(&mut is_seen[site], true) {
                        continue;
                    }
                    around.push(site);
                    let groups = sites.sites[site].groups.iter().copied().flatten();
                    members.extend(groups.filter(|&g| std::mem::take(&mut is_open[g])));
                }
            }
            let value_count = members.iter().map(|&g| sites.groups[g].values.len() as u64).sum();
            let [bytes_propagated, bytes_chosen] =
                [before, prices.all_rated()].map(|rated| prices.received(rated, &around));
            for member in members {
                let change = LayoutChange {
                    tensor: "".into(),
                    propagated: layout_text(prices.layout(propagated[member])).into(),
                    chosen: layout_text(prices.layout(prices.current(member))).into(),
                    value_count,
                    bytes_propagated,
                    bytes_chosen,
                };
                known.extend(sites.groups[member].values.iter().map(|&v| (v, change.clone())));
            }
        }
        Changes(known)
    }
}
