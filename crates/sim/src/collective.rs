//! The times of collectives: a latency for each step and hop, and the bytes on the link that has the most.
//!
//! n is the number of chips along an axis, V the bytes of the whole array on a group, and W the rate of a link in one
//! direction.
//!
//! | collective | ring | line |
//! |---|---|---|
//! | all-gather, reduce-scatter | V (n-1) / 2nW in n/2 steps | V (n-1) / nW in n-1 steps |
//! | all-reduce | twice that | twice that |
//! | all-to-all of B bytes a chip | B n / 8W | B n / 4W |
//! | broadcast | V / 2W | V / W |
//!
//! Over several axes the links of all axes are used at once: V (N-1) / NW divided by the number of directions of all
//! axes, two for a ring and one for a line. Small blocks of an even number of chips without rings are gathered around
//! one cycle of links instead. Permutes are routed message by message ([`crate::route`]), and so are groups that are no
//! blocks of the grid, except for large all-to-alls ([`crate::exchange`]). Such a group is gathered around a ring: in the
//! order of the mesh, or in another one in which neighbours are closer.
//!
//! Over the network of the data centre, n pods gather in log2(n) steps, rounded up, by recursive doubling. An
//! all-reduce takes twice as many, and an all-to-all takes one.
//!
//! In a twisted torus, the short dimensions are rings for groups that contain the chips to which their shifted wraps
//! lead.
//!
//! Sources: scaling book, sharding.md and gpus.md. The sum of latency and bytes fits measurements better than the
//! larger of both, which the book uses.

use crate::exchange::{Exchanged, between_all};
use crate::route::{LinkSet, Loads};
use crate::{Machine, Topology};
use shardwise_base::counted;
use shardwise_view::Torus;
use std::collections::BTreeMap;

/// The kind of a collective, as far as its time depends on it. Each kind says which are the bytes of the collective
/// ([`Pattern::seconds`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Exchange {
    /// An all-gather or reduce-scatter. The bytes are those of the whole array.
    Gather,
    /// An all-reduce. The bytes are those of the array on one device.
    AllReduce,
    /// An all-to-all. The bytes are those that a device has.
    AllToAll,
    /// A broadcast from one device to all, or a reduction of the arrays of all to one. The bytes are those of the array
    /// on one device.
    Broadcast,
}

/// The fraction of a link's rate that applies, by the name of the machine's constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Efficiency {
    Ring,
    Line,
    Permute,
}

/// The time of a collective as a function of its bytes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pattern {
    /// The number of steps, each with [`crate::machine::Constants::step_latency_s`].
    pub(crate) steps: f64,
    /// The time beside steps and bytes, without the latency of the network between pods.
    pub(crate) extra_s: f64,
    /// The bytes on the link that has the most, for each byte of the collective. With switches, a device has one link.
    pub(crate) link_load: f64,
    pub(crate) efficiency: Efficiency,
    /// The number of steps over the network between pods, each with [`crate::machine::Constants::nic_latency_s`].
    pub(crate) network_steps: f64,
    /// The bytes of a device over the network between pods, for each byte of the collective.
    pub(crate) network_load: f64,
    /// The bytes that a device receives from the others of its chip, for each byte of the collective. It is 0 for
    /// groups that are no blocks.
    pub(crate) core_load: f64,
    pub(crate) links: LinkSet,
    /// The largest distances, in links, of neighbours in the ring that is used and in the order of the mesh. `None` if
    /// the order of the mesh is used, or no ring of which the order could be chosen.
    pub(crate) shorter: Option<[usize; 2]>,
    /// The number of messages from which the loads of all are estimated, and that of all messages. `None` if the loads
    /// are exact.
    pub(crate) estimated: Option<[usize; 2]>,
}

impl Pattern {
    const NOTHING: Pattern = Pattern {
        steps: 0.0,
        extra_s: 0.0,
        link_load: 0.0,
        efficiency: Efficiency::Line,
        network_steps: 0.0,
        network_load: 0.0,
        core_load: 0.0,
        links: LinkSet::EMPTY,
        shorter: None,
        estimated: None,
    };

    pub(crate) fn seconds(&self, machine: &Machine, bytes: f64) -> f64 {
        let c = &machine.constants;
        let efficiency = match self.efficiency {
            Efficiency::Ring => c.ring_efficiency,
            Efficiency::Line => c.line_efficiency,
            Efficiency::Permute => c.permute_efficiency,
        };
        let moved = (self.link_load / (c.link_bytes_per_s * efficiency)).max(self.core_load / c.core_bytes_per_s);
        let inside = self.steps * c.step_latency_s + self.extra_s + bytes * moved;
        let between = self.network_steps * c.nic_latency_s + self.network_load * bytes / c.nic_bytes_per_s;
        // The switches of a node and the network work at the same time on different parts.
        if machine.is_switched() { inside.max(between) } else { inside + between }
    }

    /// Returns the time of the bytes alone at nominal rates, without steps, latency and efficiency. Links, chips and
    /// the network count as working at the same time.
    pub(crate) fn least_seconds(&self, machine: &Machine, bytes: f64) -> f64 {
        let c = &machine.constants;
        let inside = (self.link_load / c.link_bytes_per_s).max(self.core_load / c.core_bytes_per_s);
        bytes * inside.max(self.network_load / c.nic_bytes_per_s)
    }

    fn worst(self, other: Pattern) -> Pattern {
        Pattern {
            steps: self.steps.max(other.steps),
            extra_s: self.extra_s.max(other.extra_s),
            link_load: self.link_load.max(other.link_load),
            efficiency: if self.link_load >= other.link_load { self.efficiency } else { other.efficiency },
            network_steps: self.network_steps.max(other.network_steps),
            network_load: self.network_load.max(other.network_load),
            core_load: self.core_load.max(other.core_load),
            links: self.links.with(other.links),
            shorter: self.shorter.or(other.shorter),
            estimated: self.estimated.or(other.estimated),
        }
    }

    /// Returns a note on the loads if they are estimated, or on the ring if it is not in the order of the mesh. Returns
    /// `None` otherwise.
    pub(crate) fn note(&self) -> Option<String> {
        if let Some([routed, all]) = self.estimated {
            return Some(format!(
                "an estimate: its bytes on a link are the mean of many links, from {routed} of its {all} messages"
            ));
        }
        let [own, of_mesh] = self.shorter?;
        let links = counted(own, "link");
        Some(format!("its ring is not in the order of the mesh: neighbours are at most {links} apart, not {of_mesh}"))
    }
}

/// Returns the pattern of an exchange in these groups of devices, which all run at the same time: of each number, the
/// largest of any group. Groups of fewer than 2 devices do not count. For a group in several pods, the loads of links
/// within pods are those of its members in the pod that has the most of them.
pub(crate) fn pattern(topology: &Topology, groups: &[Vec<usize>], exchange: Exchange) -> Pattern {
    let mut found = Pattern::NOTHING;
    let mut irregular = vec![];
    for group in groups.iter().filter(|g| g.len() > 1) {
        let (inner, pods) = inner_members(topology, group);
        let (network_steps, network_load) = network(exchange, group.len(), pods);
        let inside = match topology.machine().is_switched() {
            // A member that is alone in its pod uses the network only.
            _ if inner.len() < 2 => Some(Pattern::NOTHING),
            true => Some(switched(topology, inner.len(), exchange)),
            false => Block::of(topology, &inner).map(|block| block.pattern(topology, exchange)),
        };
        let links = if pods > 1 { LinkSet::network() } else { LinkSet::EMPTY };
        found = found.worst(Pattern { network_steps, network_load, links, ..Pattern::NOTHING });
        match inside {
            Some(inside) => found = found.worst(inside),
            None => irregular.push(inner),
        }
    }
    if irregular.is_empty() { found } else { found.worst(routed(topology, &irregular, exchange)) }
}

pub(crate) fn permute_pattern(topology: &Topology, pairs: &[(usize, usize)]) -> Pattern {
    let c = &topology.machine().constants;
    let (inside, across): (Vec<_>, Vec<_>) =
        pairs.iter().filter(|(a, b)| a != b).partition(|(a, b)| topology.pod(*a) == topology.pod(*b));
    let mut found = Pattern { efficiency: Efficiency::Permute, ..Pattern::NOTHING };
    if !across.is_empty() {
        (found.network_steps, found.network_load) = (1.0, 1.0);
        found.links = LinkSet::network();
    }
    if inside.is_empty() {
        return found;
    }
    if topology.machine().is_switched() {
        let links = found.links.with(LinkSet::both(0));
        return Pattern { extra_s: c.permute_latency_s, link_load: 1.0, links, ..found };
    }
    let mut loads = Loads::new(topology);
    inside.iter().for_each(|&&(from, to)| loads.add(from, to, 1.0));
    let extra_s = c.permute_latency_s + c.hop_latency_s * loads.hops.saturating_sub(1) as f64;
    let is_one_chip = |&&&(a, b): &&&(usize, usize)| topology.coordinates(a) == topology.coordinates(b);
    let core_load = if inside.iter().any(|pair| is_one_chip(&pair)) { 1.0 } else { 0.0 };
    let own = if core_load > 0.0 { LinkSet::chip() } else { LinkSet::EMPTY };
    let links = found.links.with(loads.used).with(own);
    Pattern { extra_s, core_load, link_load: loads.most(), links, ..found }
}

/// Returns the members of a group in the pod that has the most of them, and in the first such pod of several. Also
/// returns the number of pods that the group is in.
fn inner_members(topology: &Topology, group: &[usize]) -> (Vec<usize>, usize) {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    group.iter().for_each(|&device| members.entry(topology.pod(device)).or_default().push(device));
    let pods = members.len();
    (members.into_values().rev().max_by_key(Vec::len).unwrap_or_default(), pods)
}

/// Returns the number of steps over the network, and the bytes of a device over it for each byte of the exchange, in a
/// group of `members` devices in `pods` pods. In each step of a gather, a pod has twice as much as before. In an
/// all-to-all, all pods send to all at once.
fn network(exchange: Exchange, members: usize, pods: usize) -> (f64, f64) {
    if pods == 1 {
        return (0.0, 0.0);
    }
    let (members, pods) = (members as f64, pods as f64);
    let (steps, others) = (pods.log2().ceil(), pods - 1.0);
    match exchange {
        Exchange::Gather => (steps, others / members),
        Exchange::AllReduce => (2.0 * steps, 2.0 * others / members),
        Exchange::AllToAll => (1.0, others / pods),
        Exchange::Broadcast => (steps, pods / members),
    }
}

fn switched(topology: &Topology, members: usize, exchange: Exchange) -> Pattern {
    let rest = (members as f64 - 1.0) / members as f64;
    let load = match exchange {
        Exchange::Gather | Exchange::AllToAll => rest,
        Exchange::AllReduce => 2.0 * rest,
        Exchange::Broadcast => 1.0,
    };
    let steps = members as f64 - 1.0;
    let extra_s = if members > 1 { topology.machine().constants.permute_latency_s } else { 0.0 };
    let links = if members > 1 { LinkSet::both(0) } else { LinkSet::EMPTY };
    Pattern { steps, extra_s, link_load: load, efficiency: Efficiency::Ring, links, ..Pattern::NOTHING }
}

/// An axis of a block: the chips of a group along one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockAxis {
    dim: usize,
    size: usize,
    is_ring: bool,
    /// The distance between neighbours. The groups in between share the links.
    stride: usize,
}

impl BlockAxis {
    /// Returns the number of directions from which a chip receives different data.
    fn directions(&self) -> f64 {
        if self.is_ring { 2.0 } else { 1.0 }
    }

    fn steps(&self) -> usize {
        if self.is_ring { self.size / 2 } else { self.size - 1 }
    }

    /// Returns the bytes on a link in an all-to-all along the axis, for each byte that a chip has.
    fn all_to_all(&self) -> f64 {
        let n = self.size;
        let pairs = if self.is_ring { (n * n - n % 2) as f64 / 8.0 } else { (n / 2 * n.div_ceil(2)) as f64 };
        pairs / n as f64
    }
}

/// The chips of a group if they are a block of the grid: all combinations of evenly spaced coordinates.
#[derive(Clone, PartialEq, Debug)]
struct Block {
    axes: Vec<BlockAxis>,
    chips: usize,
    /// The number of devices of the group on each chip. If it differs, the mean, rounded down.
    cores: usize,
    /// The number of groups like this one, itself included, that use the same chips.
    groups_per_chip: f64,
    /// The changes by the wraps of a twisted torus, if the block has a whole short dimension and all long ones.
    twisted: Option<Twisted>,
}

/// A part of a twisted torus in which all chips see the same distances.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Twisted {
    /// The largest number of links between two chips.
    diameter: usize,
    /// The bytes on the link that has the most in an all-to-all, for each byte that a chip has.
    all_to_all: f64,
}

impl Twisted {
    /// Returns the diameter and the load of an all-to-all of a group of chips. The links from each chip to the others
    /// must be like those from the first one.
    fn of(torus: &Torus, chips: &[Vec<usize>]) -> Twisted {
        let (mut loads, mut diameter) = (vec![[0.0; 2]; torus.grid().len()], 0);
        for to in chips {
            let ways = torus.ways(&chips[0], to);
            for way in &ways {
                diameter = diameter.max(way.iter().map(|links| links.unsigned_abs()).sum());
                for (load, &links) in loads.iter_mut().zip(way) {
                    load[usize::from(links < 0)] += links.unsigned_abs() as f64 / ways.len() as f64;
                }
            }
        }
        let most = loads.into_iter().flatten().fold(0.0, f64::max);
        Twisted { diameter, all_to_all: most / chips.len() as f64 }
    }
}

impl Block {
    /// Returns the block of these devices, at least one and all of one pod, or `None` if their chips are no block.
    fn of(topology: &Topology, members: &[usize]) -> Option<Block> {
        let mut chips: Vec<Vec<usize>> = members.iter().map(|&device| topology.coordinates(device)).collect();
        chips.sort_unstable();
        chips.dedup();
        let axes: Vec<BlockAxis> =
            (0..topology.grid().len()).map(|dim| axis(topology, &chips, dim)).collect::<Option<Vec<_>>>()?;
        if axes.iter().map(|axis| axis.size).product::<usize>() != chips.len() {
            return None;
        }
        let cores = members.len() / chips.len();
        let groups_per_chip = topology.devices_per_chip() as f64 / cores as f64;
        let axes: Vec<BlockAxis> = axes.into_iter().filter(|axis| axis.size > 1).collect();
        let mut block = Block { axes, chips: chips.len(), cores, groups_per_chip, twisted: None };
        if topology.is_twisted() {
            block.twist(topology.torus(), &chips);
        }
        Some(block)
    }

    /// Makes rings of short dimensions of a twisted torus if the block contains the chips to which their wraps lead:
    /// whole long dimensions, or one short dimension at two opposite places of the long one.
    fn twist(&mut self, torus: &Torus, chips: &[Vec<usize>]) {
        let is_full = |axis: &BlockAxis| axis.size * axis.stride == torus.grid()[axis.dim];
        let is_whole = |long: usize| self.axes.iter().any(|axis| axis.dim == long && is_full(axis) && axis.stride == 1);
        let is_half = |axis: &BlockAxis| is_full(axis) && axis.stride == torus.twist();
        let is_ring = |axis: &BlockAxis| torus.is_twisted(axis.dim) && is_full(axis) && axis.stride == 1;
        let Some(short) = self.axes.iter().position(is_ring) else { return };
        if torus.long_dims().all(is_whole) {
            self.axes.iter_mut().filter(|axis| is_ring(axis)).for_each(|axis| axis.is_ring = true);
            self.twisted = Some(Twisted::of(torus, chips));
            return;
        }
        // A short dimension at two opposite places of the long one is a ring of twice its size.
        let halves: Vec<usize> = (0..self.axes.len()).filter(|&i| is_half(&self.axes[i])).collect();
        if let [half] = halves[..]
            && self.axes.len() == 2
            && torus.long_dims().count() == 1
        {
            self.axes[short] = BlockAxis { size: 2 * self.axes[short].size, is_ring: true, ..self.axes[short] };
            self.axes.remove(half);
        }
    }

    /// Returns true if the chips are gathered around one cycle of links, as JAX has ring orders for such blocks: an
    /// even number of at most 16 neighbouring chips along several dimensions, along none of which they form a ring.
    fn is_cycle(&self) -> bool {
        let is_plain = self.axes.iter().all(|axis| !axis.is_ring && axis.stride == 1);
        is_plain && self.axes.len() > 1 && self.chips <= 16 && self.chips.is_multiple_of(2)
    }

    fn pattern(&self, topology: &Topology, exchange: Exchange) -> Pattern {
        let core_load = self.between_cores(exchange);
        if self.chips == 1 {
            return Pattern { steps: 1.0, core_load, links: LinkSet::chip(), ..Pattern::NOTHING };
        }
        let c = &topology.machine().constants;
        let stride = self.axes.iter().map(|axis| axis.stride).max().unwrap_or(1);
        let shared = self.groups_per_chip * stride as f64;
        let is_rings = self.axes.iter().all(|axis| axis.is_ring);
        let efficiency = if is_rings { Efficiency::Ring } else { Efficiency::Line };
        let own = if self.cores > 1 { LinkSet::chip() } else { LinkSet::EMPTY };
        let links = self.axes.iter().fold(own, |links, axis| links.with(LinkSet::both(axis.dim)));
        let (steps, load) = self.gathered(topology);
        let along_axes = || self.axes.iter().map(|axis| axis.steps() * axis.stride).sum::<usize>();
        let hops = self.twisted.map_or_else(along_axes, |twisted| twisted.diameter);
        let directions: f64 = self.axes.iter().map(BlockAxis::directions).sum();
        let once = c.hop_latency_s * (hops - 1) as f64;
        let (steps, extra_s, load) = match exchange {
            Exchange::Gather => (steps, 0.0, load),
            Exchange::AllReduce => (2.0 * steps, 0.0, 2.0 * load),
            Exchange::AllToAll => (1.0, once, self.all_to_all(topology) / self.groups_per_chip),
            Exchange::Broadcast => (1.0, once, 1.0 / directions),
        };
        let far = c.hop_latency_s * (stride - 1) as f64 * steps;
        Pattern {
            steps,
            extra_s: extra_s + far,
            link_load: load * shared,
            efficiency,
            core_load,
            links,
            ..Pattern::NOTHING
        }
    }

    /// Returns the bytes that a device receives from the others of its chip, for each byte of the exchange.
    fn between_cores(&self, exchange: Exchange) -> f64 {
        let (cores, members) = (self.cores as f64, (self.cores * self.chips) as f64);
        let others = (cores - 1.0) / cores;
        match exchange {
            Exchange::Gather => others,
            Exchange::AllReduce => 2.0 * others,
            Exchange::AllToAll => (cores - 1.0) / members,
            Exchange::Broadcast => {
                if self.cores > 1 {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }

    /// Returns the bytes on a link in an all-to-all in which all devices of each chip take part, for each byte that a
    /// device has.
    fn all_to_all(&self, topology: &Topology) -> f64 {
        let of_axes = || self.axes.iter().map(BlockAxis::all_to_all).fold(0.0, f64::max);
        self.twisted.map_or_else(of_axes, |twisted| twisted.all_to_all) * topology.devices_per_chip() as f64
    }

    /// Returns the number of steps of an all-gather, and the bytes on a link for each byte of the whole array.
    fn gathered(&self, topology: &Topology) -> (f64, f64) {
        let n = self.chips as f64;
        let rest = (n - 1.0) / n;
        if self.is_cycle() {
            let is_two_way = topology.machine().constants.two_way_blocks > 0.0;
            return if is_two_way { ((n / 2.0).floor(), rest / 2.0) } else { (n - 1.0, rest) };
        }
        let directions: f64 = self.axes.iter().map(BlockAxis::directions).sum();
        let steps = || self.axes.iter().map(BlockAxis::steps).sum::<usize>();
        (self.twisted.map_or_else(steps, |twisted| twisted.diameter) as f64, rest / directions)
    }
}

/// Returns the chips' coordinates along a dimension as an axis, or `None` if they are not evenly spaced.
fn axis(topology: &Topology, chips: &[Vec<usize>], dim: usize) -> Option<BlockAxis> {
    let mut at: Vec<usize> = chips.iter().map(|chip| chip[dim]).collect();
    at.sort_unstable();
    at.dedup();
    let stride = at.get(1).map_or(1, |next| next - at[0]);
    let is_even = at.windows(2).all(|pair| pair[1] - pair[0] == stride);
    let grid = topology.grid()[dim];
    let is_ring = topology.wraps(dim) && at.len() * stride == grid && at.len() > 2;
    is_even.then_some(BlockAxis { dim, size: at.len(), is_ring, stride })
}

/// Returns the bytes on the links if each device sends a byte to the next one of its group, and the last to the first.
fn around<'t>(topology: &'t Topology, groups: &[Vec<usize>]) -> Loads<'t> {
    let mut loads = Loads::new(topology);
    for group in groups {
        (0..group.len()).for_each(|i| loads.add(group[i], group[(i + 1) % group.len()], 1.0));
    }
    loads
}

/// Returns the bytes on the links if each device sends a byte to the next one of a ring of its group: in the order of
/// the mesh, or in one in which neighbours are closer. With such a one, also returns the largest distances of
/// neighbours in it and in the order of the mesh.
fn best_rings<'t>(topology: &'t Topology, groups: &[Vec<usize>]) -> (Loads<'t>, Option<[usize; 2]>) {
    let ring = |group: &Vec<usize>| -> Vec<usize> {
        let chips: Vec<Vec<usize>> = group.iter().map(|&device| topology.coordinates(device)).collect();
        topology.torus().ring(&chips).into_iter().map(|i| group[i]).collect()
    };
    let rings: Vec<Vec<usize>> = groups.iter().map(ring).collect();
    let (own, better) = (around(topology, groups), around(topology, &rings));
    let is_better = better.most() <= own.most() && better.hops < own.hops;
    let distances = is_better.then_some([better.hops, own.hops]);
    (if is_better { better } else { own }, distances)
}

/// Returns the pattern of groups that are no blocks. Messages are routed: in an all-to-all from each member to each
/// other one, which are one part in the number of members of what a device has, and in all other exchanges from each
/// member of a group to the next one, around a ring of the group.
fn routed(topology: &Topology, groups: &[Vec<usize>], exchange: Exchange) -> Pattern {
    let c = &topology.machine().constants;
    let members = groups.iter().map(Vec::len).max().unwrap_or(1);
    let n = members as f64;
    let (Exchanged { loads, most, estimated }, shorter) = match exchange {
        Exchange::AllToAll => (between_all(topology, groups, 1.0 / n), None),
        _ => {
            let (loads, shorter) = best_rings(topology, groups);
            (Exchanged { most: loads.most(), loads, estimated: None }, shorter)
        }
    };
    let far = c.hop_latency_s * loads.hops.saturating_sub(1) as f64;
    let (steps, times) = match exchange {
        Exchange::Gather => (n - 1.0, (n - 1.0) / n),
        Exchange::AllReduce => (2.0 * (n - 1.0), 2.0 * (n - 1.0) / n),
        Exchange::AllToAll | Exchange::Broadcast => (1.0, 1.0),
    };
    let link_load = most * times;
    let efficiency = Efficiency::Line;
    let (extra_s, links) = (far * steps, loads.used);
    Pattern { steps, extra_s, link_load, efficiency, links, shorter, estimated, ..Pattern::NOTHING }
}

/// Returns the bytes on a link in an all-to-all of these devices, for each byte that a device has. They must be a block.
#[cfg(test)]
pub(crate) fn all_to_all_load(topology: &Topology, block: &[usize]) -> f64 {
    Block::of(topology, block).expect("a block").pattern(topology, Exchange::AllToAll).link_load
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Topology {
        Topology::parse(text).unwrap()
    }

    /// Returns the bandwidth term of the pattern of one group, in microseconds at the nominal rate.
    fn nominal(text: &str, group: &[usize], exchange: Exchange, bytes: f64) -> f64 {
        let topology = topology(text);
        pattern(&topology, &[group.to_vec()], exchange).least_seconds(topology.machine(), bytes) * 1e6
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.03, "{found} is not {expected}");
    }

    /// Returns the devices of the first `rows` rows along x of `v4:4x4x4`, which are at z = 0 if there are at most 4.
    fn plane(rows: usize) -> Vec<usize> {
        (0..4 * rows).collect()
    }

    #[test]
    fn the_books_answers() {
        let bytes = 2.0 * 1024.0 * 4096.0;
        // sharding.md, question 2, on TPU v4 4x4x4.
        close(nominal("v4:4x4x4", &plane(1), Exchange::Gather, bytes / 4.0), 23.3 * 3.0 / 4.0);
        close(nominal("v4:4x4x4", &plane(4), Exchange::Gather, bytes), 46.6 * 15.0 / 16.0);
        close(nominal("v4:4x4x4", &plane(1), Exchange::AllReduce, bytes), 186.4 * 3.0 / 4.0);
        // Question 3: two hops of about 1 us each.
        assert_eq!(pattern(&topology("v4:4x4x4"), &[plane(1)], Exchange::Gather).steps, 2.0);
        // The pop quiz: 377 us if the axis were a ring, and 560 us on the line that it is.
        let bytes = 2.0 * 2048.0 * 8192.0;
        close(nominal("v4:4x4x4", &plane(1), Exchange::Gather, bytes), 373.0 * 3.0 / 4.0);
        close(nominal("v5e:4x2", &plane(1), Exchange::Gather, bytes), 560.0);
        // gpus.md: an all-gather of 33.5 MB on a node of eight H100.
        close(nominal("h100:1x8", &[0, 1, 2, 3, 4, 5, 6, 7], Exchange::Gather, bytes), 65.0);
    }

    #[test]
    fn nodes_of_gpus_are_as_fast_as_their_slowest_level() {
        // gpus.md: V times the largest (D - 1) / (D W) of a level: 8 GPUs of 450 GB/s, and nodes of 400 GB/s.
        for nodes in [1, 2, 4, 32] {
            let count = nodes as f64;
            let expected = (7.0 / 8.0 / 450e9f64).max((count - 1.0) / count / 400e9);
            let group: Vec<usize> = (0..8 * nodes).collect();
            let found = nominal(&format!("h100:{nodes}x8"), &group, Exchange::Gather, 1e9);
            close(found, expected * 1e15);
        }
    }

    #[test]
    fn a_message_between_corners_uses_two_routes() {
        // tpus.md, question 5: 188 us for the bytes and 6 us for six hops.
        let topology = topology("v5e:4x4");
        let found = permute_pattern(&topology, &[(0, 15)]);
        close(found.least_seconds(topology.machine(), 1.7e7) * 1e6, 188.0);
        let mut loads = Loads::new(&topology);
        loads.add(0, 15, 1.0);
        assert_eq!((loads.hops, loads.most()), (6, 0.5));
        // Question 6: 8 GB over eight links to the host.
        close(8e9 / 8.0 / topology.machine().constants.host_bytes_per_s * 1e3, 66.0);
    }

    #[test]
    fn shifts_load_each_link_once() {
        let cases: [(&str, Vec<usize>, usize); 4] = [
            ("v5e:4x1", vec![0, 1, 2, 3], 3),
            // The first row of a mesh of 2x4 on 2x4 chips, in raster order.
            ("v5e:2x4", vec![0, 1, 2, 3], 2),
            ("v5e:2x4", vec![0, 1, 3, 2], 1),
            ("v5e:16x1", (0..16).collect(), 1),
        ];
        for (text, ring, hops) in cases {
            let topology = topology(text);
            for by in [1, ring.len() - 1] {
                let mut loads = Loads::new(&topology);
                (0..ring.len()).for_each(|i| loads.add(ring[i], ring[(i + by) % ring.len()], 1.0));
                assert_eq!((loads.most(), loads.hops), (1.0, hops), "{text} {ring:?} by {by}");
            }
        }
    }

    /// Tests that the closed formulas of all-to-alls have the same load on links as routing every message.
    #[test]
    fn all_to_alls_are_routed_messages() {
        for (text, count) in [("v5e:16x1", 16), ("v5e:4x1", 4), ("v5e:5x1", 5), ("v4:4x4x4", 64), ("v4:8x4x4", 128)] {
            let topology = topology(text);
            let group: Vec<usize> = (0..count).collect();
            let closed = pattern(&topology, std::slice::from_ref(&group), Exchange::AllToAll);
            let routed = routed(&topology, &[group], Exchange::AllToAll);
            assert!((closed.link_load - routed.link_load).abs() < 1e-9, "{text}: {closed:?} {routed:?}");
        }
    }

    /// Tests that all-to-alls of twisted tori have the load of routed messages, and are faster than those of plain
    /// ones, where the long dimension is the limit.
    #[test]
    fn all_to_alls_of_twisted_tori_are_routed_messages() {
        for (text, plain_load) in [("v4:4x4x8_twisted", 1.0), ("v4:4x8x8_twisted", 1.0)] {
            let twisted = topology(text);
            let group: Vec<usize> = (0..twisted.device_count()).collect();
            let closed = pattern(&twisted, std::slice::from_ref(&group), Exchange::AllToAll);
            let all = between_all(&twisted, std::slice::from_ref(&group), 1.0 / group.len() as f64).loads;
            assert!((closed.link_load - all.most()).abs() < 1e-9, "{text}: {closed:?} {}", all.most());
            let plain = pattern(&topology(text.trim_end_matches("_twisted")), &[group], Exchange::AllToAll);
            assert_eq!(plain.link_load, plain_load, "{text}");
            // All six links of a chip share the distance of 3.4375 or 4.3125 links, where they are equally loaded.
            assert!(plain.link_load / closed.link_load > 1.39, "{text}: {closed:?}");
        }
    }

    /// Tests the rings of 4x4x8: z alone, x at two opposite places of z, the plane of x and z, and all chips. Alone, x
    /// is a line.
    #[test]
    fn short_dimensions_of_twisted_tori_are_rings_with_their_opposites() {
        let twisted = topology("v4:4x4x8_twisted");
        let at = |x: usize, z: usize| x + 16 * z;
        let of = |group: Vec<usize>| {
            let found = pattern(&twisted, &[group], Exchange::Gather);
            (found.steps, found.link_load, found.efficiency)
        };
        assert_eq!(of((0..8).map(|z| at(0, z)).collect()), (4.0, 7.0 / 16.0, Efficiency::Ring));
        assert_eq!(of((0..4).map(|x| at(x, 0)).collect()), (3.0, 0.75, Efficiency::Line));
        let opposite = (0..8).map(|i| at(i % 4, i / 4 * 4)).collect();
        assert_eq!(of(opposite), (4.0, 7.0 / 16.0, Efficiency::Ring));
        let plane = (0..32).map(|i| at(i % 4, i / 4)).collect();
        assert_eq!(of(plane), (4.0, 31.0 / 32.0 / 4.0, Efficiency::Ring));
        assert_eq!(of((0..128).collect()), (6.0, 127.0 / 128.0 / 6.0, Efficiency::Ring));
    }

    #[test]
    fn rings_may_differ_from_the_order_of_the_mesh() {
        // Eight chips around another one are no block.
        let around = topology("v5e:4x4");
        let ring = [0, 1, 2, 6, 10, 9, 8, 4];
        let crossed = [0, 2, 10, 8, 1, 6, 9, 4];
        let of = |group: &[usize]| pattern(&around, &[group.to_vec()], Exchange::Gather);
        assert_eq!(of(&ring).shorter, None);
        assert_eq!(of(&crossed).shorter, Some([1, 3]));
        assert_eq!(of(&crossed).link_load, of(&ring).link_load);
        assert_eq!(of(&crossed).extra_s, 0.0);
        assert!(of(&crossed).note().unwrap().contains("at most 1 link apart, not 3"));
    }

    /// Tests that a gather around a ring in both directions takes half as many steps as in one direction, rounded up.
    /// Each link carries one shard in a step, and half of one in the last step of a ring of even size.
    #[test]
    fn gathers_are_steps_of_neighbours() {
        for n in [4, 8, 16] {
            let topology = topology(&format!("v4:{n}x4x4"));
            let mut loads = Loads::new(&topology);
            for i in 0..n {
                loads.add(i, (i + 1) % n, 1.0);
                loads.add(i, (i + n - 1) % n, 1.0);
            }
            let whole_steps = (n - 1) as f64 / 2.0;
            let found = pattern(&topology, &[(0..n).collect()], Exchange::Gather);
            assert_eq!(found.link_load, loads.most() * whole_steps / n as f64);
            assert_eq!(found.steps, whole_steps.ceil());
        }
    }

    #[test]
    fn pods_are_left_over_the_network_only() {
        let topology = topology("v5e:4x4*2");
        let group: Vec<usize> = (0..32).collect();
        let found = pattern(&topology, &[group], Exchange::Gather);
        assert_eq!((found.network_load, found.link_load), (1.0 / 32.0, 15.0 / 16.0));
        let of_pods = |pods: &str, exchange| {
            let topology = self::topology(&format!("v5e:1x1*{pods}"));
            pattern(&topology, &[(0..topology.device_count()).collect()], exchange).network_steps
        };
        assert_eq!(["1", "2", "5", "64"].map(|pods| of_pods(pods, Exchange::Gather)), [0.0, 1.0, 3.0, 6.0]);
        assert_eq!((of_pods("4", Exchange::AllReduce), of_pods("4", Exchange::AllToAll)), (4.0, 1.0));
        let pairs: Vec<(usize, usize)> = (0..16).map(|i| (i, i + 16)).collect();
        let found = permute_pattern(&topology, &pairs);
        assert_eq!((found.network_load, found.link_load), (1.0, 0.0));
    }

    /// Tests groups with one chip in each pod: they use the network only, and take no steps on links.
    #[test]
    fn chips_that_are_alone_in_their_pods_use_the_network_only() {
        for (text, is_switched) in [("v5e:4x4*2", false), ("h100:2x8", true)] {
            let topology = topology(text);
            let own = topology.devices_per_pod();
            let groups: Vec<Vec<usize>> = (0..own).map(|i| vec![i, i + own]).collect();
            for exchange in [Exchange::Gather, Exchange::AllReduce, Exchange::AllToAll, Exchange::Broadcast] {
                let found = pattern(&topology, &groups, exchange);
                assert_eq!(found.links.name(is_switched), "links network", "{text} {exchange:?}");
                assert_eq!((found.steps, found.link_load, found.core_load), (0.0, 0.0, 0.0), "{text} {exchange:?}");
                assert!(found.network_load > 0.0);
            }
        }
    }

    #[test]
    fn interleaved_groups_share_links() {
        // Every second chip of a ring of 16: two groups, whose neighbours are two hops apart.
        let topology = topology("v5e:16x1");
        let groups = [0, 1].map(|first| (0..8).map(|i| 2 * i + first).collect::<Vec<_>>());
        let found = pattern(&topology, &groups, Exchange::Gather);
        let mut loads = Loads::new(&topology);
        for group in &groups {
            for i in 0..8 {
                loads.add(group[i], group[(i + 1) % 8], 1.0);
                loads.add(group[i], group[(i + 7) % 8], 1.0);
            }
        }
        assert_eq!(found.link_load, loads.most() * 3.5 / 8.0);
    }
}
