//! Plans how the devices along a dimension fetch what they need of each other's blocks.
//!
//! A dimension of `size` elements is in blocks of `ceil(size / shards)`, one for each device in order. Each device
//! needs a range of the dimension: all ranges have the same length, and start at equal distances. This module does not
//! depend on the IR.

use crate::colour::coloured;
use shardwise_base::budget;
use std::ops::Range;

/// The largest number of permutes in [`Exchange::Rounds`], and the largest distance between the first and the last
/// block of a range in [`Exchange::Alike`]. More permutes would not be worth their latency. For windows with totals, it
/// limits the distance between the blocks before or after a total, and the totals that a device receives in steps.
pub(super) const MAX_ROUNDS: usize = 16;

/// The largest number of devices along a dimension for which ranges that do not follow the blocks are planned. The
/// tables of a plan grow with this number.
const MAX_SHARDS: usize = 4096;

/// The ranges that the devices need: `[start + p * step, start + p * step + len)` for device `p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    pub size: usize,
    pub shards: usize,
    pub start: i64,
    pub step: i64,
    pub len: usize,
    /// True if elements outside of the dimension are those of its other end.
    pub wraps: bool,
    /// The first element that is used, and the position after the last one. Others count as outside of the dimension.
    /// Ignored if elements wrap.
    pub inside: (usize, usize),
}

/// How the devices fetch what they need.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Exchange {
    /// Every device needs the same parts relative to its block, in this order.
    Alike(Vec<Part>),
    /// In each round, devices send arrays to each other or keep their own elements, and each puts them at a place of
    /// its own in its range.
    Rounds(Vec<Round>),
}

/// The elements `from..to` of the block of the device that is `ahead` positions further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub ahead: i64,
    pub from: usize,
    pub to: usize,
}

/// A permute of `len` elements, or a copy of the device's own elements.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Round {
    /// The positions of the source and of the target device of each array that is sent. The list is empty if each
    /// device keeps its own elements.
    pub pairs: Vec<(usize, usize)>,
    pub len: usize,
    /// For each source, the first element of its block that it sends; `None` for other devices.
    pub send: Vec<Option<usize>>,
    /// For each target, what it does with the elements that it receives; `None` for other devices.
    pub place: Vec<Option<Place>>,
}

/// A device's use of what it receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The position, in the device's range, of the first element that the device receives. It may be outside of the
    /// range.
    pub at: i64,
    /// The first position of the range that is taken from the array, and the position after the last.
    pub from: usize,
    pub to: usize,
}

/// A part of the range that the device `target` needs, which is in the block of the device `source`.
#[derive(Clone, Copy)]
struct Edge {
    source: usize,
    target: usize,
    /// The number of blocks from the target to the source, before they wrap.
    ahead: i64,
    /// The position of the first element in the source's block (`from`), the number of elements (`len`), and the
    /// position of the first element in the target's range (`at`).
    from: usize,
    len: usize,
    at: usize,
}

impl Need {
    pub fn block(&self) -> usize {
        self.size.div_ceil(self.shards)
    }

    /// Returns true if some device needs elements outside of `inside`. It is false if elements outside are those of the
    /// other end.
    pub fn leaves(&self) -> bool {
        let last = self.start + self.step * (self.shards as i64 - 1);
        let (first, end) = (self.start.min(last), self.start.max(last) + self.len as i64);
        !self.wraps && (first < self.inside.0 as i64 || end > self.inside.1 as i64)
    }

    /// Returns how the devices fetch their ranges. Returns `None` if this takes too many rounds, if the ranges do not
    /// follow the blocks and there are too many devices, if there are no elements, or if elements wrap around uneven
    /// blocks.
    pub fn plan(&self) -> Option<Exchange> {
        let block = self.block();
        if block == 0 || self.len == 0 || self.wraps && block * self.shards != self.size {
            return None;
        }
        if self.step == block as i64 {
            return self.alike();
        }
        if self.shards > MAX_SHARDS {
            return None;
        }
        let edges = self.edges();
        let (own, moved): (Vec<Edge>, Vec<Edge>) = edges.into_iter().partition(|e| e.source == e.target);
        let by_distance = by_key(&moved, |e| e.ahead);
        let by_colour = by_colour(&moved, self.shards);
        let price = |rounds: &Vec<Vec<Edge>>| (rounds.iter().map(|r| longest(r)).sum::<usize>(), rounds.len());
        let rounds = [by_distance, by_colour].into_iter().min_by_key(price).expect("two ways");
        if rounds.len() > MAX_ROUNDS {
            return None;
        }
        let copies = by_key(&own, |e| e.ahead).into_iter().map(|edges| self.round(&edges, true));
        Some(Exchange::Rounds(copies.chain(rounds.iter().map(|edges| self.round(edges, false))).collect()))
    }

    fn alike(&self) -> Option<Exchange> {
        let (block, end) = (self.block() as i64, self.start + self.len as i64);
        let (first, last) = (self.start.div_euclid(block), (end - 1).div_euclid(block));
        if (last - first) as u64 > MAX_ROUNDS as u64 {
            return None;
        }
        let part = |ahead: i64| {
            let at = ahead * block;
            Part { ahead, from: (self.start.max(at) - at) as usize, to: (end.min(at + block) - at) as usize }
        };
        Some(Exchange::Alike((first..=last).map(part).collect()))
    }

    fn edges(&self) -> Vec<Edge> {
        let (block, shards) = (self.block() as i64, self.shards as i64);
        let (first, last) = (self.inside.0 as i64, self.inside.1 as i64);
        let mut edges = vec![];
        for target in 0..shards {
            budget::poll();
            let start = self.start + target * self.step;
            let end = start + self.len as i64;
            let (low, high) = if self.wraps { (start, end) } else { (start.max(first), end.min(last)) };
            let mut at = low;
            while at < high {
                let source = at.div_euclid(block);
                let next = high.min((source + 1) * block);
                edges.push(Edge {
                    source: source.rem_euclid(shards) as usize,
                    target: target as usize,
                    ahead: source - target,
                    from: (at - source * block) as usize,
                    len: (next - at) as usize,
                    at: (at - start) as usize,
                });
                at = next;
            }
        }
        edges
    }

    fn round(&self, edges: &[Edge], is_copy: bool) -> Round {
        let len = longest(edges);
        let mut round = Round { pairs: vec![], len, send: vec![None; self.shards], place: vec![None; self.shards] };
        for e in edges {
            let from = e.from.min(self.block() - len);
            let at = e.at as i64 - (e.from - from) as i64;
            round.send[e.source] = Some(from);
            round.place[e.target] = Some(Place { at, from: e.at, to: e.at + e.len });
            if !is_copy {
                round.pairs.push((e.source, e.target));
            }
        }
        round
    }
}

impl Exchange {
    /// Returns the number of elements along the dimension that each device receives. A round moves as many elements to
    /// each of its targets as its longest edge has.
    pub fn received(&self, need: &Need) -> Vec<usize> {
        let mut received = vec![0; need.shards];
        match self {
            Exchange::Alike(parts) => {
                for part in parts {
                    received[part.receivers(need)].iter_mut().for_each(|n| *n += part.to - part.from);
                }
            }
            Exchange::Rounds(rounds) => {
                for round in rounds {
                    round.pairs.iter().for_each(|&(_, target)| received[target] += round.len);
                }
            }
        }
        received
    }

    /// Returns the number of permutes.
    pub fn collective_count(&self, need: &Need) -> u64 {
        let count = match self {
            Exchange::Alike(parts) => parts.iter().filter(|part| part.is_received(need)).count(),
            // A round without pairs copies the devices' own elements.
            Exchange::Rounds(rounds) => rounds.iter().filter(|round| !round.pairs.is_empty()).count(),
        };
        count as u64
    }
}

impl Part {
    /// Returns true if some device receives the part from another one.
    pub fn is_received(&self, need: &Need) -> bool {
        !self.receivers(need).is_empty()
    }

    /// Returns the positions of the devices that receive the part from another one.
    fn receivers(&self, need: &Need) -> Range<usize> {
        let shards = need.shards as i64;
        let sources = if need.wraps { 0..shards } else { -self.ahead..shards - self.ahead };
        let is_own = if need.wraps { self.ahead % shards == 0 } else { self.ahead == 0 };
        let (first, end) = (sources.start.clamp(0, shards), sources.end.clamp(0, shards));
        if is_own { 0..0 } else { first as usize..end as usize }
    }
}

fn longest(edges: &[Edge]) -> usize {
    edges.iter().map(|e| e.len).max().unwrap_or(0)
}

/// Groups the edges by a key, in the order of the keys. Each source and each target must have at most one edge of a
/// key.
fn by_key(edges: &[Edge], key: impl Fn(&Edge) -> i64) -> Vec<Vec<Edge>> {
    let mut groups: std::collections::BTreeMap<i64, Vec<Edge>> = Default::default();
    edges.iter().for_each(|e| groups.entry(key(e)).or_default().push(*e));
    groups.into_values().collect()
}

fn by_colour(edges: &[Edge], shards: usize) -> Vec<Vec<Edge>> {
    let pairs: Vec<(usize, usize)> = edges.iter().map(|e| (e.source, e.target)).collect();
    let colours = coloured(&pairs, shards);
    let count = colours.iter().max().map_or(0, |most| most + 1);
    let mut groups = vec![vec![]; count];
    colours.into_iter().zip(edges).for_each(|(colour, e)| groups[colour].push(*e));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(need: &Need, exchange: &Exchange) -> usize {
        exchange.received(need).into_iter().max().unwrap_or(0)
    }

    /// Runs an exchange on blocks of the numbers `0..size` and returns each device's range, with `None` where no number
    /// was fetched.
    fn run(need: &Need, exchange: &Exchange) -> Vec<Vec<Option<usize>>> {
        let (k, block) = (need.shards, need.block());
        let element = |device: usize, i: usize| Some(device * block + i).filter(|&e| e < need.size);
        match exchange {
            Exchange::Alike(parts) => (0..k)
                .map(|p| {
                    let of = |part: &Part| {
                        let q = p as i64 + part.ahead;
                        let q = if need.wraps { q.rem_euclid(k as i64) } else { q };
                        let is_there = (0..k as i64).contains(&q);
                        (part.from..part.to).map(move |i| if is_there { element(q as usize, i) } else { None })
                    };
                    parts.iter().flat_map(of).collect()
                })
                .collect(),
            Exchange::Rounds(rounds) => {
                let mut out = vec![vec![None; need.len]; k];
                for round in rounds {
                    let copies: Vec<(usize, usize)> =
                        (0..k).map(|p| (p, p)).filter(|&(p, _)| round.place[p].is_some()).collect();
                    let pairs = if round.pairs.is_empty() { &copies } else { &round.pairs };
                    for &(q, p) in pairs {
                        let (send, place) = (round.send[q].unwrap(), round.place[p].unwrap());
                        assert!(send + round.len <= block);
                        (place.from..place.to)
                            .for_each(|i| out[p][i] = element(q, send + (i as i64 - place.at) as usize));
                    }
                }
                out
            }
        }
    }

    fn wanted(need: &Need) -> Vec<Vec<Option<usize>>> {
        let element = |i: i64| {
            let i = if need.wraps { i.rem_euclid(need.size as i64) } else { i };
            usize::try_from(i).ok().filter(|&i| i < need.size)
        };
        let range = |p: i64| (0..need.len as i64).map(|i| element(need.start + p * need.step + i)).collect();
        (0..need.shards as i64).map(range).collect()
    }

    #[test]
    fn devices_get_what_they_need() {
        let mut tried = 0;
        for shards in [1usize, 2, 3, 4, 8] {
            for size in [1usize, 2, 5, 8, 16, 24, 31] {
                for (start, step, len) in itertools(size) {
                    for wraps in [false, true] {
                        let need = Need { size, shards, start, step, len, wraps, inside: (0, size) };
                        let Some(exchange) = need.plan() else { continue };
                        let (found, wanted) = (run(&need, &exchange), wanted(&need));
                        assert_eq!(found, wanted, "{need:?} {exchange:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 3000, "{tried}");
    }

    fn itertools(size: usize) -> Vec<(i64, i64, usize)> {
        let n = size as i64;
        let starts = [-3, -1, 0, 1, n / 2, n - 1];
        let steps = [-n / 2, -4, -1, 1, 2, 3, 4, 8, n];
        let lens = [1, 2, 4, 5, 9];
        let with = |a: i64| steps.into_iter().flat_map(move |b| lens.into_iter().map(move |c| (a, b, c)));
        starts.into_iter().flat_map(with).collect()
    }

    #[test]
    fn a_stencil_receives_its_halo_alone() {
        let need = Need { size: 64, shards: 8, start: -1, step: 8, len: 10, wraps: false, inside: (0, 64) };
        assert_eq!(most(&need, &need.plan().unwrap()), 2);
    }

    #[test]
    fn a_reversal_receives_one_block() {
        let need = Need { size: 64, shards: 8, start: 56, step: -8, len: 8, wraps: false, inside: (0, 64) };
        let exchange = need.plan().unwrap();
        assert_eq!(most(&need, &exchange), 8);
    }

    #[test]
    fn the_first_half_takes_two_rounds() {
        let need = Need { size: 64, shards: 8, start: 0, step: 4, len: 4, wraps: false, inside: (0, 64) };
        let exchange = need.plan().unwrap();
        let Exchange::Rounds(rounds) = &exchange else { panic!("the devices receive different parts") };
        // Each device receives in one of them.
        assert_eq!(rounds.iter().filter(|round| !round.pairs.is_empty()).count(), 2);
        assert_eq!(most(&need, &exchange), 4);
    }
}
