//! Lets ops that read a value at several offsets share what they receive.
//!
//! A filter written as four slices of one padded sequence reads 0, 1, 2 and 3 elements of the device before. Each slice
//! has an exchange of its own. If all of them send the same 3 elements, their permutes are equal, and one is left after
//! equal ops are merged.

use super::rounds::{Exchange, Part};
use super::{Fetch, Fetched, MovedDim};
use rustc_hash::FxHashMap;
use shardwise_base::AxisRef;
use shardwise_ir::{OpView, Region, Value};

/// Elements of a block: the first one, and the one after the last.
pub(super) type Span = (usize, usize);

/// A direction in which elements of a value are sent. Equal permutes of one region can be merged.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Direction {
    region: Region,
    value: Value,
    dim: usize,
    axes: Vec<AxisRef>,
    block: usize,
    wraps: bool,
    ahead: i64,
}

/// The elements that are sent in each direction.
#[derive(Default)]
pub(super) struct Shared(FxHashMap<Direction, Vec<Span>>);

impl Shared {
    /// Adds the elements that an op in `region` fetches along the first of its dimensions, if all devices fetch the
    /// same parts relative to their blocks. Along the others, it fetches parts of a window that no other op has.
    pub fn add(&mut self, view: &OpView<'_>, region: Region, dims: &[MovedDim]) {
        let Fetched::Elements(fetches) = &dims[0].fetched else { return };
        for fetch in fetches {
            for part in fetch.parts().iter().filter(|part| part.is_received(&fetch.need)) {
                let direction = fetch.direction(view, region, &dims[0].axes, part);
                self.0.entry(direction).or_default().push((part.from, part.to));
            }
        }
    }

    /// Unites the elements that overlap. Elements that do not are sent apart.
    pub fn unite(&mut self) {
        for spans in self.0.values_mut() {
            spans.sort_unstable();
            let mut united: Vec<Span> = vec![];
            for &(from, to) in spans.iter() {
                match united.last_mut() {
                    Some(last) if from < last.1 => last.1 = last.1.max(to),
                    _ => united.push((from, to)),
                }
            }
            *spans = united;
        }
    }

    /// Makes an op that was added send, for each part that it fetches along the first of its dimensions, all of the
    /// united elements that contain the part ([`unite`](Shared::unite)).
    pub fn share(&self, view: &OpView<'_>, region: Region, dims: &mut [MovedDim]) {
        let MovedDim { axes, fetched: Fetched::Elements(fetches), .. } = &mut dims[0] else { return };
        for fetch in fetches {
            let sent = |part: &Part| {
                let spans = self.0.get(&fetch.direction(view, region, axes, part));
                let covers = |span: &&Span| span.0 <= part.from && part.to <= span.1;
                spans.and_then(|spans| spans.iter().find(covers)).map_or((part.from, part.to), |&span| span)
            };
            fetch.sent = fetch.parts().iter().map(sent).collect();
        }
    }
}

impl Fetch {
    fn parts(&self) -> &[Part] {
        if let Exchange::Alike(parts) = &self.exchange { parts } else { &[] }
    }

    fn direction(&self, view: &OpView<'_>, region: Region, axes: &[AxisRef], part: &Part) -> Direction {
        Direction {
            region,
            value: view.operand(self.read.operand),
            dim: self.read.dim,
            axes: axes.to_vec(),
            block: self.need.block(),
            wraps: self.need.wraps,
            ahead: part.ahead,
        }
    }
}
