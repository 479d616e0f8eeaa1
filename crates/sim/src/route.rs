//! Routes of messages over the directed links of a torus, and the bytes on each link.

use crate::Topology;

/// Directed links by dimension and direction: bit `2 * dim` is the direction in which coordinates grow, and the next
/// one the opposite direction. The last two bits are the links within a chip, and the network between pods.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub(crate) struct LinkSet(u8);

impl LinkSet {
    pub(crate) const EMPTY: LinkSet = LinkSet(0);
    const NETWORK: LinkSet = LinkSet(1 << 7);

    pub(crate) fn chip() -> LinkSet {
        LinkSet(1 << 6)
    }

    pub(crate) fn both(dim: usize) -> LinkSet {
        LinkSet(0b11 << (2 * dim))
    }

    pub(crate) fn network() -> LinkSet {
        LinkSet::NETWORK
    }

    fn one(dim: usize, is_up: bool) -> LinkSet {
        LinkSet(1 << (2 * dim + usize::from(!is_up)))
    }

    pub(crate) fn with(self, other: LinkSet) -> LinkSet {
        LinkSet(self.0 | other.0)
    }

    pub(crate) fn overlaps(self, other: LinkSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the name of a lane: `links x+ y-`, `links switch` if switches connect the devices, or `no links`.
    pub(crate) fn name(self, is_switched: bool) -> String {
        if self == LinkSet::EMPTY {
            return "no links".into();
        }
        let names = match is_switched {
            true => ["switch", "switch", "", "", "", "", "chip", "network"],
            false => ["x+", "x-", "y+", "y-", "z+", "z-", "chip", "network"],
        };
        let mut used: Vec<&str> = (0..8).filter(|bit| self.0 >> bit & 1 == 1).map(|bit| names[bit]).collect();
        used.dedup();
        format!("links {}", used.join(" "))
    }
}

/// The bytes on each directed link, for messages that all move at the same time.
pub(crate) struct Loads<'t> {
    topology: &'t Topology,
    /// The bytes on each link, by chip, dimension and direction. The cores of a chip share its links.
    links: Vec<f64>,
    pub(crate) hops: usize,
    pub(crate) used: LinkSet,
}

impl<'t> Loads<'t> {
    pub(crate) fn new(topology: &'t Topology) -> Loads<'t> {
        let links = topology.device_count() / topology.devices_per_chip() * topology.grid().len() * 2;
        Loads { topology, links: vec![0.0; links], hops: 0, used: LinkSet::default() }
    }

    /// Adds a message between devices of one pod. If it moves along several dimensions, half of it goes by the
    /// dimensions in their order, and half in the opposite order. In a twisted torus, all shortest ways have equal
    /// parts of it.
    pub(crate) fn add(&mut self, from: usize, to: usize, bytes: f64) {
        let [start, end] = [from, to].map(|device| self.topology.coordinates(device));
        let ways = match self.topology.is_twisted() {
            true => self.topology.torus().ways(&start, &end),
            false => vec![(0..start.len()).map(|dim| self.links_along(start[dim], end[dim], dim)).collect()],
        };
        let part = bytes / ways.len() as f64;
        for way in &ways {
            let has_orders = way.iter().filter(|links| **links != 0).count() > 1;
            if has_orders {
                self.walk(from, &start, way, (0..way.len()).rev(), part / 2.0);
            }
            self.walk(from, &start, way, 0..way.len(), if has_orders { part / 2.0 } else { part });
        }
    }

    /// Adds a message to the links of a way, as [`Torus::ways`](shardwise_view::Torus::ways) returns it, one dimension
    /// after the other in the order of `dims`, and records the directions and the number of links in `used` and `hops`.
    /// Each link gets all of `bytes`. The way leads from the coordinates `start` in the pod of the device `from`.
    fn walk(&mut self, from: usize, start: &[usize], way: &[isize], dims: impl Iterator<Item = usize>, bytes: f64) {
        let mut at = start.to_vec();
        for dim in dims {
            let (links, is_up) = (way[dim].unsigned_abs(), way[dim] > 0);
            for _ in 0..links {
                let link = self.link(from, &at, dim, is_up);
                self.links[link] += bytes;
                self.topology.torus().step(&mut at, dim, is_up);
            }
            if links > 0 {
                self.used = self.used.with(LinkSet::one(dim, is_up));
            }
        }
        self.hops = self.hops.max(way.iter().map(|links| links.unsigned_abs()).sum());
    }

    /// Returns the number of links along a dimension, which is negative against the direction of the coordinates. Where
    /// both ways around a ring are equally long, every second chip uses the other one.
    fn links_along(&self, from: usize, to: usize, dim: usize) -> isize {
        let straight = to as isize - from as isize;
        if !self.topology.wraps(dim) {
            return straight;
        }
        let size = self.topology.grid()[dim] as isize;
        let up = straight.rem_euclid(size);
        let is_up = if 2 * up == size { from.is_multiple_of(2) } else { 2 * up < size };
        if is_up { up } else { up - size }
    }

    fn link(&self, device: usize, at: &[usize], dim: usize, is_up: bool) -> usize {
        let grid = self.topology.grid();
        let chip = at.iter().zip(grid).rev().fold(0, |chip, (c, size)| chip * size + c);
        self.index(chip + self.topology.pod(device) * grid.iter().product::<usize>(), dim, is_up)
    }

    /// Returns the index of a link in `links`. Chips are numbered through all pods.
    fn index(&self, chip: usize, dim: usize, is_up: bool) -> usize {
        (chip * self.topology.grid().len() + dim) * 2 + usize::from(!is_up)
    }

    /// Adds bytes to the link of a chip along a dimension in one direction. Chips are numbered through all pods. Adding
    /// none does not count as using the link.
    pub(crate) fn put(&mut self, chip: usize, dim: usize, is_up: bool, bytes: f64) {
        if bytes > 0.0 {
            let link = self.index(chip, dim, is_up);
            self.links[link] += bytes;
            self.used = self.used.with(LinkSet::one(dim, is_up));
        }
    }

    #[cfg(test)]
    pub(crate) fn all_links(&self) -> &[f64] {
        &self.links
    }

    /// Returns the mean bytes on those links along one dimension in one direction that have the most: one in 16 of the
    /// links that are used. The dimension and direction are those for which it is largest.
    pub(crate) fn mean_of_busiest(&self) -> f64 {
        let directions = self.topology.grid().len() * 2;
        let mean = |direction: usize| {
            let links = self.links.iter().copied().skip(direction).step_by(directions);
            let mut used: Vec<f64> = links.filter(|&bytes| bytes > 0.0).collect();
            used.sort_unstable_by(|a, b| b.total_cmp(a));
            used.truncate(used.len().div_ceil(16));
            used.iter().sum::<f64>() / used.len().max(1) as f64
        };
        (0..directions).map(mean).fold(0.0, f64::max)
    }

    pub(crate) fn most(&self) -> f64 {
        self.links.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_name_their_links() {
        assert_eq!(LinkSet::EMPTY.name(false), "no links");
        assert_eq!(LinkSet::both(0).with(LinkSet::one(1, false)).name(false), "links x+ x- y-");
        assert_eq!(LinkSet::both(0).name(true), "links switch");
    }
}
