//! Routes of messages over the directed links of a torus, and the bytes on each link.

use crate::Topology;

/// Directed links by dimension and direction: bit `2 * dim` is the direction in which coordinates grow, and the next
/// one the opposite direction. The last two bits are the links within a chip, and the network between pods.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub(crate) struct LinkSet(u8);

impl LinkSet {
    pub(crate) const EMPTY: LinkSet = LinkSet(0);
    const NETWORK: LinkSet = LinkSet(1 << 7);

    /// Returns the links between the devices of a chip.
    pub(crate) fn chip() -> LinkSet {
        LinkSet(1 << 6)
    }

    /// Returns both directions of a dimension.
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

    /// Returns the name of a lane: `links x+ y-`.
    pub(crate) fn name(self, is_switched: bool) -> String {
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
    /// The largest number of hops of a message.
    pub(crate) hops: usize,
    pub(crate) used: LinkSet,
}

impl<'t> Loads<'t> {
    pub(crate) fn new(topology: &'t Topology) -> Loads<'t> {
        let links = topology.device_count() / topology.devices_per_chip() * topology.grid().len() * 2;
        Loads { topology, links: vec![0.0; links], hops: 0, used: LinkSet::default() }
    }

    /// Adds a message between devices of one pod. If it moves along several dimensions, half of it goes by the
    /// dimensions in their order, and half in the opposite order. In a twisted torus, all shortest ways have equal parts
    /// of it.
    pub(crate) fn add(&mut self, from: usize, to: usize, bytes: f64) {
        let [start, end] = [from, to].map(|device| self.topology.coordinates(device));
        let torus = self.topology.torus();
        if torus.twist() > 0 {
            let ways = torus.ways(&start, &end);
            for way in &ways {
                let links: Vec<(usize, bool)> = way.iter().map(|&n| (n.unsigned_abs(), n > 0)).collect();
                self.both_orders((from, &start), &links, bytes / ways.len() as f64);
            }
            return;
        }
        let links: Vec<(usize, bool)> = (0..start.len()).map(|dim| self.way(start[dim], end[dim], dim)).collect();
        self.both_orders((from, &start), &links, bytes);
    }

    /// Adds bytes to the links of a way, in both orders of the dimensions.
    fn both_orders(&mut self, from: (usize, &[usize]), links: &[(usize, bool)], bytes: f64) {
        let moving = links.iter().filter(|(count, _)| *count > 0).count();
        if moving > 1 {
            self.walk(from, links, (0..links.len()).rev(), bytes / 2.0);
        }
        self.walk(from, links, 0..links.len(), if moving > 1 { bytes / 2.0 } else { bytes });
    }

    /// Adds bytes to the links of a way, one dimension after the other. The way is the number of links along each
    /// dimension, and whether coordinates grow.
    fn walk(
        &mut self,
        (from, start): (usize, &[usize]),
        links: &[(usize, bool)],
        dims: impl Iterator<Item = usize>,
        bytes: f64,
    ) {
        let mut at = start.to_vec();
        for dim in dims {
            let (count, is_up) = links[dim];
            for _ in 0..count {
                let link = self.link(from, &at, dim, is_up);
                self.links[link] += bytes;
                self.topology.torus().step(&mut at, dim, is_up);
            }
            if count > 0 {
                self.used = self.used.with(LinkSet::one(dim, is_up));
            }
        }
        self.hops = self.hops.max(links.iter().map(|(count, _)| count).sum());
    }

    /// Returns the number of hops along a dimension, and whether coordinates grow on the way. Where both ways around a
    /// ring are equally long, every second chip uses the other one.
    fn way(&self, from: usize, to: usize, dim: usize) -> (usize, bool) {
        let size = self.topology.grid()[dim];
        let up = (to + size - from) % size;
        match self.topology.wraps(dim) {
            false => (from.abs_diff(to), to > from),
            true if 2 * up == size => (up, from.is_multiple_of(2)),
            true => (up.min(size - up), 2 * up < size),
        }
    }

    fn link(&self, device: usize, at: &[usize], dim: usize, is_up: bool) -> usize {
        let grid = self.topology.grid();
        let chip = at.iter().zip(grid).rev().fold(0, |chip, (c, size)| chip * size + c);
        let chip = chip + self.topology.pod(device) * grid.iter().product::<usize>();
        (chip * grid.len() + dim) * 2 + usize::from(!is_up)
    }

    /// Returns the bytes on the link that has the most.
    pub(crate) fn most(&self) -> f64 {
        self.links.iter().copied().fold(0.0, f64::max)
    }
}
