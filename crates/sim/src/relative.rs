//! How fast a topology moves data along the axes of a mesh, beside its other work, for the choices of the partitioner.

use crate::Topology;
use crate::collective::{Exchange, pattern};
use crate::placement::placement;
use shardwise_base::{AxisRef, Mesh, Rates};
use shardwise_ops::collective::groups_of_axes;

/// The bytes of a collective that is large enough for its latency not to count.
const MANY: f64 = 1e12;

/// Returns the rates of a mesh on a topology, relative to the time of a byte along the fastest axis. The time of a byte
/// along an axis is that of a large all-gather over the axis, divided by the bytes that a device receives in it. An
/// axis of one device counts as fastest. A collective starts in the time of an all-gather of no bytes along the axis
/// where that is shortest. Returns `None` if the mesh has another number of devices than the topology, if no axis has
/// more than one device, and for a host, whose devices have one memory.
///
/// ```
/// use shardwise_base::Mesh;
/// use shardwise_sim::{Topology, rates};
///
/// let topology = Topology::parse("v5e:4x4*2").unwrap();
/// let mesh = Mesh::new("mesh", [("pod", 2), ("x", 4), ("y", 4)]).unwrap();
/// let rates = rates(&topology, &mesh).unwrap();
/// assert!(rates.slowdowns[0] > 10 && rates.slowdowns[1..] == [1, 1]);
/// ```
pub fn rates(topology: &Topology, mesh: &Mesh) -> Option<Rates> {
    let machine = topology.machine();
    let placement = placement(topology, mesh).ok().filter(|_| !machine.is_host())?;
    let positions = mesh.positions();
    let gather = |axis: AxisRef| {
        let size = axis.size(mesh) as f64;
        let physical = |&device: &usize| Some(placement[positions.of(device)?]);
        let groups = groups_of_axes(mesh, &[axis]);
        let groups = groups.iter().map(|group| group.iter().map(physical).collect()).collect::<Option<Vec<_>>>()?;
        let received = MANY * (size - 1.0) / size;
        let pattern = (size > 1.0).then(|| pattern(topology, &groups, Exchange::Gather))?;
        Some([pattern.seconds(machine, MANY) / received, pattern.seconds(machine, 0.0)])
    };
    let times: Vec<Option<[f64; 2]>> = mesh.all_axes().map(gather).collect();
    let [fastest, start] = times.iter().flatten().copied().reduce(|[a, b], [c, d]| [a.min(c), b.min(d)])?;
    let whole = |n: f64| n.round().clamp(1.0, f64::from(u32::MAX)) as u32;
    let c = &machine.constants;
    Some(Rates {
        slowdowns: times.iter().map(|time| time.map_or(1, |[time, _]| whole(time / fastest))).collect(),
        start: whole(start / fastest),
        flops: whole(c.peak_flops * fastest),
        memory_bytes: whole(c.hbm_bytes_per_s * fastest),
    })
}

/// Returns a function that returns the rates of a mesh on this topology ([`rates`]), or, without one, on the topology
/// that the mesh states. It returns `None` if that is not known, or if `rates` does.
pub fn rates_on(stated: Option<Topology>) -> impl Fn(&Mesh) -> Option<Rates> {
    move |mesh| match &stated {
        Some(topology) => rates(topology, mesh),
        None => rates(&Topology::of_mesh(mesh)?.ok()?, mesh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_lines_and_networks_have_rates_of_their_own() {
        let rates = |text: &str, axes: &[(&str, usize)]| {
            rates(&Topology::parse(text).unwrap(), &Mesh::new("mesh", axes.iter().copied()).unwrap())
        };
        let of = |text: &str, axes: &[(&str, usize)]| rates(text, axes).map(|rates| (rates.slowdowns, rates.flops));
        let start = |text: &str, axes: &[(&str, usize)]| rates(text, axes).unwrap().start;
        // A ring of 16 moves 90 GB/s, and the line of 2 takes one step of 1.8 us. The network between pods takes longer
        // to start, so it does not count.
        assert!((50_000..400_000).contains(&start("v5e:2x16", &[("x", 2), ("y", 16)])));
        assert_eq!(start("v5e:4x4*2", &[("pod", 2), ("x", 4), ("y", 4)]), start("v5e:4x4", &[("x", 4), ("y", 4)]));
        // 197 Tflop/s, and 45 GB/s over a link, of which a ring uses two.
        let (slowdowns, flops) = of("v5e:16x16", &[("x", 16), ("y", 16)]).unwrap();
        assert_eq!(slowdowns, [1, 1]);
        assert!((2000..3000).contains(&flops), "{flops}");
        assert_eq!(of("v5e:2x16", &[("x", 2), ("y", 16)]).map(|(slowdowns, _)| slowdowns), Some(vec![2, 1]));
        let (slowdowns, _) = of("h100:4x8", &[("nodes", 4), ("gpus", 8)]).unwrap();
        assert!(slowdowns[0] > 5 && slowdowns[1] == 1, "{slowdowns:?}");
        assert_eq!(of("v5e:2x4", &[("x", 4)]), None);
        assert_eq!(of("v5e:1x1", &[("x", 1)]), None);
    }
}
