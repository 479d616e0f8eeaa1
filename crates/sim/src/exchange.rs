//! The bytes on the links in an all-to-all of any devices of a pod.
//!
//! Messages move along one dimension after the other, so the ones that use a line of links are all pairs of a device
//! that starts on it and one that ends on it. How many of them pass each link follows from how many devices start and
//! end at each place of the line. So the loads of a group take time for the links of the pod, not for its messages.
//!
//! The messages of small groups are routed one by one, and so are those of twisted tori, where the ways of a message are
//! no such pairs. Of many messages in a twisted torus, only some are routed, and count for the others. The loads of
//! single links then depend on which ones these are, so that the mean of the busiest links stands for the link that has
//! the most.

use crate::Topology;
use crate::route::Loads;
use shardwise_base::budget::Meter;

/// The time for a message that is routed alone, as a multiple of the time for a chip when all are routed at once.
const MESSAGE: usize = 32;

/// The largest number of messages in a twisted torus that are all routed. Of more, each device sends as many as its
/// part of this number, and at least one.
const MOST_MESSAGES: usize = 1 << 19;

/// The bytes on the links in all-to-alls.
pub(crate) struct Exchanged<'t> {
    pub(crate) loads: Loads<'t>,
    /// The bytes on the link that has the most.
    pub(crate) most: f64,
    /// The number of messages that are routed, and that of all messages. `None` if all are.
    pub(crate) estimated: Option<[usize; 2]>,
}

/// Returns the bytes on the links in all-to-alls that all run at the same time. Each device sends `bytes` to each other
/// one of its group. The devices of a group must be in one pod.
pub(crate) fn between_all<'t>(topology: &'t Topology, groups: &[Vec<usize>], bytes: f64) -> Exchanged<'t> {
    let mut loads = Loads::new(topology);
    let messages = |group: &Vec<usize>| group.len().saturating_mul(group.len().saturating_sub(1));
    let all = groups.iter().map(messages).fold(0, usize::saturating_add);
    let members: usize = groups.iter().map(Vec::len).sum();
    let chips: usize = topology.grid().iter().product();
    let mut routed = 0;
    for group in groups {
        let receivers = match () {
            () if topology.is_twisted() && all > MOST_MESSAGES => (MOST_MESSAGES / members).max(1),
            () if topology.is_twisted() || messages(group).saturating_mul(MESSAGE) <= chips => group.len() - 1,
            () => {
                routed += messages(group);
                at_once(&mut loads, topology, group, bytes);
                continue;
            }
        };
        routed += one_by_one(&mut loads, group, receivers.min(group.len() - 1), bytes);
    }
    let is_exact = routed == all;
    let most = if is_exact { loads.most() } else { loads.mean_of_busiest() };
    Exchanged { loads, most, estimated: (!is_exact).then_some([routed, all]) }
}

/// Adds messages from each device to as many others of its group, which together have the bytes of the messages to all
/// others. Returns the number of these messages.
///
/// Unless a device sends to all others, its receivers are drawn, in the same way in each run.
fn one_by_one(loads: &mut Loads<'_>, group: &[usize], receivers: usize, bytes: f64) -> usize {
    let mut members = group.to_vec();
    members.sort_unstable();
    let others = members.len() - 1;
    let mut meter = Meter::default();
    for turn in 0..receivers {
        for (i, &from) in members.iter().enumerate() {
            meter.add(PER_MESSAGE);
            let distance = 1 + if receivers == others { turn } else { spread(turn * members.len() + i, others) };
            loads.add(from, members[(i + distance) % members.len()], bytes * others as f64 / receivers as f64);
        }
    }
    receivers * members.len()
}

/// The operations that routing a message counts as.
const PER_MESSAGE: u64 = 512;

/// Returns element `index` of a sequence of numbers below `count` whose starts are all spread evenly: the fractional
/// parts of the multiples of the golden ratio, times `count`.
fn spread(index: usize, count: usize) -> usize {
    let fraction = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(fraction) * count as u128) >> 64) as usize
}

/// Adds the messages of a group in a pod that is no twisted torus.
fn at_once(loads: &mut Loads<'_>, topology: &Topology, group: &[usize], bytes: f64) {
    let (grid, pod) = (topology.grid(), topology.pod(group[0]));
    let mut devices = vec![0; grid.iter().product()];
    group.iter().for_each(|&d| devices[d % topology.devices_per_pod() / topology.devices_per_chip()] += 1);
    let mut meter = Meter::default();
    let mut below = 1;
    for (dim, &size) in grid.iter().enumerate() {
        let is_ring = topology.wraps(dim);
        // The devices by their coordinates along this dimension and those after it, or those before it.
        let (mut later, mut earlier) = (vec![0; devices.len() / below], vec![0; below * size]);
        for (chip, count) in devices.iter().enumerate() {
            later[chip / below] += count;
            earlier[chip % (below * size)] += count;
        }
        for line in 0..devices.len() / size {
            meter.add(8 * size as u64);
            let (low, high) = (line % below, line / below);
            // Half of a message moves along the dimensions in their order. On this line, it comes from a device with
            // the line's coordinates along later dimensions, and goes to one with those along earlier ones.
            let of_later = &later[high * size..(high + 1) * size];
            let of_earlier: Vec<u64> = (0..size).map(|at| earlier[low + at * below]).collect();
            let first = pod * devices.len() + low + high * below * size;
            for (from, to) in [(of_later, &of_earlier[..]), (&of_earlier[..], of_later)] {
                let [up, down] = passing(from, to, is_ring);
                for at in 0..size {
                    let chip = first + at * below;
                    loads.put(chip, dim, true, up[at] as f64 * bytes / 2.0);
                    loads.put(chip, dim, false, down[at] as f64 * bytes / 2.0);
                }
            }
        }
        below *= size;
    }
    loads.hops = loads.hops.max(diameter(topology, &devices));
}

/// Returns the number of messages that pass the link at each place of a line or ring, upwards and downwards. `from` and
/// `to` are the numbers of devices that start and end at each place, and each one that starts sends to each that ends.
fn passing(from: &[u64], to: &[u64], is_ring: bool) -> [Vec<u64>; 2] {
    let reversed = |x: &[u64]| -> Vec<u64> { x.iter().rev().copied().collect() };
    let up = if is_ring { up_ring } else { up_line };
    // Read backwards, a way down is one up. In a ring of even size, the places at which ways that are equally long in
    // both directions go down are then the even ones, as they are upwards.
    [up(from, to), reversed(&up(&reversed(from), &reversed(to)))]
}

/// Returns the number of messages on the link up from each place of a line.
fn up_line(from: &[u64], to: &[u64]) -> Vec<u64> {
    let (mut before, mut after) = (0, to.iter().sum::<u64>());
    let pass = |(from, to): (&u64, &u64)| {
        before += from;
        after -= to;
        before * after
    };
    from.iter().zip(to).map(pass).collect()
}

/// Returns the number of messages on the link up from each place of a ring. From an odd place, only the ways that are
/// shorter than half of the ring go up, and from an even one also those of half of it.
fn up_ring(from: &[u64], to: &[u64]) -> Vec<u64> {
    let size = from.len();
    let reach = |at: usize| if at.is_multiple_of(2) { size / 2 } else { (size - 1) / 2 };
    // The places of three turns. `ends[i]` is the number of devices that end before place i, `starts[i]` that of those
    // which start before it, and `reached[i]` the sum of the ends that these reach, counted from place 0.
    let sums = |count: usize, of: &dyn Fn(usize) -> u64| -> Vec<u64> {
        let next = |sum: &mut u64, i: usize| Some(std::mem::replace(sum, *sum + of(i)));
        (0..=count).scan(0, next).collect()
    };
    let ends = sums(3 * size, &|i| to[i % size]);
    let starts = sums(2 * size, &|i| from[i % size]);
    let reached = sums(2 * size, &|i| from[i % size] * ends[i + reach(i % size) + 1]);
    let pass = |at: usize| {
        let first = at + 1 - size / 2;
        reached[at + 1] - reached[first] - (starts[at + 1] - starts[first]) * ends[at + 1]
    };
    (size..2 * size).map(pass).collect()
}

/// Returns the largest number of links between two of the chips that have devices.
fn diameter(topology: &Topology, devices: &[u64]) -> usize {
    // The largest distance of a place from a chip with devices, along the dimensions so far.
    let mut far: Vec<Option<usize>> = devices.iter().map(|&count| (count > 0).then_some(0)).collect();
    let mut meter = Meter::default();
    let mut below = 1;
    for (dim, &size) in topology.grid().iter().enumerate() {
        for line in 0..far.len() / size {
            meter.add(8 * size as u64);
            let first = line % below + line / below * below * size;
            let along: Vec<Option<usize>> = (0..size).map(|at| far[first + at * below]).collect();
            let backwards: Vec<Option<usize>> = along.iter().rev().copied().collect();
            let up = farthest(&along, topology.wraps(dim));
            let down = farthest(&backwards, topology.wraps(dim));
            for at in 0..size {
                far[first + at * below] = up[at].max(down[size - 1 - at]);
            }
        }
        below *= size;
    }
    far.iter().zip(devices).filter(|(_, count)| **count > 0).filter_map(|(far, _)| *far).max().unwrap_or(0)
}

/// Returns, for each place, the largest sum of the distance at a place from which a shortest way leads up to it, itself
/// included, and the length of this way.
fn farthest(far: &[Option<usize>], is_ring: bool) -> Vec<Option<usize>> {
    let size = far.len();
    let (turns, reach) = if is_ring { (2, size / 2) } else { (1, size) };
    // The places within reach that are farther than all after them, the farthest first. The distance at each is that
    // from the end of the last turn.
    let mut open: std::collections::VecDeque<(usize, usize)> = Default::default();
    let mut found = vec![None; size];
    for at in 0..turns * size {
        if let Some(own) = far[at % size] {
            let whole = own + turns * size - at;
            while open.back().is_some_and(|&(_, other)| other <= whole) {
                open.pop_back();
            }
            open.push_back((at, whole));
        }
        while open.front().is_some_and(|&(place, _)| place + reach < at) {
            open.pop_front();
        }
        found[at % size] = open.front().map(|&(_, whole)| whole + at - turns * size);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Account, Budget, CancelToken};

    fn topology(text: &str) -> Topology {
        Topology::parse(text).unwrap()
    }

    /// Returns devices in an order that looks random, and is the same in each run.
    fn shuffled(devices: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..devices).collect();
        order.sort_by_key(|&d| (d as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xd129));
        order
    }

    /// Tests the loads of groups of all sizes on grids with lines and rings of even and odd size against those of the
    /// routed messages, with several cores on a chip, and in the second of two pods.
    #[test]
    fn loads_at_once_are_those_of_the_messages() {
        let texts =
            ["v5e:4x3", "v5e:16x5", "v4:4x4x4", "v4:3x5x2", "v4:8x4x4", "v3:4x2", "v3:32x3", "v5e:7x1", "v5e:4x4*2"];
        for text in texts {
            let topology = topology(text);
            let in_pod = topology.devices_per_pod();
            let first = topology.device_count() - in_pod;
            let order: Vec<usize> = shuffled(in_pod).into_iter().map(|d| first + d).collect();
            for members in [2, 3, in_pod / 2, in_pod - 1, in_pod] {
                let group = &order[..members];
                let [mut all, mut each] = [Loads::new(&topology), Loads::new(&topology)];
                at_once(&mut all, &topology, group, 0.5);
                one_by_one(&mut each, group, members - 1, 0.5);
                assert_eq!((all.hops, all.used), (each.hops, each.used), "{text} {group:?}");
                assert_eq!(all.all_links(), each.all_links(), "{text} {group:?}");
            }
        }
    }

    /// Tests that rings of odd size are as those of even size. No machine has them.
    #[test]
    fn odd_rings_have_no_ways_of_half_the_ring() {
        // From each place to each other one of 5: one way of one link and one of two in each direction.
        assert_eq!(passing(&[1; 5], &[1; 5], true), [vec![3; 5], vec![3; 5]]);
        // Of 4: from each place one link in each direction, and from the even places two links up.
        assert_eq!(passing(&[1; 4], &[1; 4], true), [vec![2; 4], vec![2; 4]]);
        assert_eq!(passing(&[0, 1, 0, 0], &[0, 0, 0, 1], true), [vec![0; 4], vec![1, 1, 0, 0]]);
    }

    fn steps(text: &str, groups: usize) -> u64 {
        let topology = topology(text);
        let order = shuffled(topology.device_count());
        let groups: Vec<Vec<usize>> = order.chunks(order.len() / groups).map(<[usize]>::to_vec).collect();
        let budget = Budget::new(Account::with_limit(1 << 30), None, CancelToken::default());
        budget.run(|| between_all(&topology, &groups, 1.0)).unwrap_or_else(|_| panic!("{text}"));
        budget.steps()
    }

    /// Tests that the work grows as the number of chips does, not as its square, and is counted as steps.
    #[test]
    fn large_groups_take_time_for_their_links() {
        let [small, large] = [steps("v5e:64x64", 1), steps("v5e:128x128", 1)];
        assert!((1..10).contains(&small) && large <= 5 * small, "{small} {large}");
        assert!(steps("v4:16x16x32", 64) < 1000);
        // Each message is 512 of the 65,536 operations of a step.
        let most = (MOST_MESSAGES as u64 * PER_MESSAGE) >> 16;
        assert!((most / 2..=most).contains(&steps("v4:8x8x16_twisted", 1)));
    }

    #[test]
    fn a_cancelled_exchange_ends() {
        let topology = topology("v5e:64x64");
        let budget = Budget::new(Account::with_limit(1 << 30), None, CancelToken::at_poll(2));
        assert!(budget.run(|| between_all(&topology, &[shuffled(4096)], 1.0).loads.hops).is_err());
    }

    /// Tests estimated loads of a twisted torus: of all devices, where all messages have a known load, and of some of
    /// them, which use the links unevenly.
    #[test]
    fn loads_of_some_messages_are_near_those_of_all() {
        let topology = topology("v4:8x8x16_twisted");
        let group = shuffled(1024);
        let found = between_all(&topology, std::slice::from_ref(&group), 1.0 / 1024.0);
        assert_eq!(found.estimated, Some([1 << 19, 1024 * 1023]));
        let block = crate::collective::all_to_all_load(&topology, &(0..1024).collect::<Vec<_>>());
        assert!((found.most / block - 1.0).abs() < 0.1, "{} {block}", found.most);
        let group: Vec<usize> = (0..800).collect();
        let found = between_all(&topology, std::slice::from_ref(&group), 1.0);
        assert!(found.estimated.is_some());
        let mut all = Loads::new(&topology);
        one_by_one(&mut all, &group, 799, 1.0);
        assert!((found.most / all.most() - 1.0).abs() < 0.1, "{} {}", found.most, all.most());
    }
}
