//! Which device of a topology is at each position of a mesh: the order in which JAX lays out meshes.
//!
//! Small slices have orders of their own, in which the devices form a ring. On all others, an axis of the mesh is laid
//! along one or more whole dimensions of the grid where the sizes allow it, the last axis first. If there are several
//! pods or nodes, the major parts of the first axes whose sizes allow it are laid over them, and only the rest of the
//! axes within each.
//!
//! Source of the orders and of the rule: jax, `mesh_utils.py`. Where an axis needs a part of a dimension, JAX chooses
//! among all ways; here the last dimensions are divided first.

use crate::Topology;
use shardwise_base::{Diagnostic, Mesh};

const RING_2X2: [usize; 4] = [0, 1, 3, 2];
const RING_2X4: [usize; 8] = [0, 1, 2, 3, 7, 6, 5, 4];
const RING_4X4: [usize; 16] = [0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4];
const RING_2X2X2: [usize; 8] = [0, 1, 3, 2, 6, 7, 5, 4];
/// The ring of the cores of 2x2 chips with two cores each.
const RING_CORES: [usize; 8] = [0, 1, 2, 3, 6, 7, 4, 5];

/// Returns the physical device at each position of a mesh. On chips, a mesh with a list of devices is laid out as the
/// list says. On a host, the devices are in their order.
///
/// # Errors
/// Fails if the mesh has another number of devices than the topology (`topology-mesh`).
pub(crate) fn placement(topology: &Topology, mesh: &Mesh) -> Result<Vec<usize>, Diagnostic> {
    topology.check_mesh(mesh)?;
    if topology.machine().is_host() {
        return Ok((0..mesh.size()).collect());
    }
    Ok(devices(topology, mesh))
}

fn devices(topology: &Topology, mesh: &Mesh) -> Vec<usize> {
    if let Some(ids) = &mesh.device_ids {
        return ids.iter().map(|&id| id.min(mesh.size() - 1)).collect();
    }
    let sizes: Vec<usize> = mesh.axes.iter().map(|axis| axis.size).collect();
    over_pods(topology, &sizes)
}

/// Returns the device at each position of a mesh whose axes have these sizes. Their product must be the number of
/// devices of the topology. The pods are dealt to the axes, first to last: the major part of each axis, as large as the
/// greatest common divisor of its size and of the number of pods that are left, is laid over pods. The rest of each
/// axis is laid within each pod.
fn over_pods(topology: &Topology, sizes: &[usize]) -> Vec<usize> {
    let pods = topology.device_count() / topology.devices_per_pod();
    let mut left = pods;
    let mut outer = vec![];
    for &size in sizes {
        outer.push(gcd(size, left));
        left /= gcd(size, left);
    }
    let inner: Vec<usize> = sizes.iter().zip(&outer).map(|(size, part)| size / part).collect();
    let in_pod = match ring_order(topology, &inner) {
        Some(order) => order.to_vec(),
        None => along_dimensions(topology, &inner),
    };
    let device = |position: usize| {
        let (mut rest, mut pod, mut within, mut strides) = (position, 0, 0, (1, 1));
        for (&part, &size) in outer.iter().zip(&inner).rev() {
            let coordinate = rest % (part * size);
            rest /= part * size;
            pod += coordinate / size * strides.0;
            within += coordinate % size * strides.1;
            strides = (strides.0 * part, strides.1 * size);
        }
        pod * topology.devices_per_pod() + in_pod[within]
    };
    (0..topology.device_count()).map(device).collect()
}

fn ring_order(topology: &Topology, sizes: &[usize]) -> Option<&'static [usize]> {
    let whole = sizes.contains(&topology.devices_per_pod());
    match (&*topology.machine().name, topology.grid()) {
        ("v5e", [2, 2]) => Some(&RING_2X2),
        ("v5e", [2, 4] | [4, 2]) => Some(&RING_2X4),
        ("v5e", [4, 4]) if whole => Some(&RING_4X4),
        ("v5p", [2, 2, 2]) => Some(&RING_2X2X2),
        ("v2" | "v3", [2, 2]) | ("7x", [2, 2, 1]) => Some(&RING_CORES),
        _ => None,
    }
}

/// A part of a dimension of the grid of devices, or all of it.
#[derive(Clone, Copy)]
struct Part {
    size: usize,
    /// The difference between the numbers of devices that are neighbours along the part.
    stride: usize,
}

/// Returns the device of a pod at each position of a mesh whose axes have these sizes. Each axis is laid along whole
/// dimensions, preferably several, and along parts of dimensions where that fails.
fn along_dimensions(topology: &Topology, sizes: &[usize]) -> Vec<usize> {
    let mut free = dimensions(topology);
    let mut axes: Vec<Vec<Part>> =
        sizes.iter().map(|&size| if size == 1 { vec![] } else { vec![Part { size, stride: 0 }] }).collect();
    let order: Vec<usize> = (0..sizes.len()).rev().filter(|&i| sizes[i] > 1).collect();
    let mut later = vec![];
    for &i in &order {
        match whole_dimensions(&free, sizes[i]) {
            Some(chosen) => {
                axes[i] = chosen.iter().map(|&d| free[d]).collect();
                chosen.iter().for_each(|&d| free[d].size = 1);
            }
            None => later.push(i),
        }
    }
    for i in later {
        axes[i] = parts(&mut free, sizes[i]);
    }
    (0..sizes.iter().product()).map(|p| device_at(p, sizes, &axes)).collect()
}

fn dimensions(topology: &Topology) -> Vec<Part> {
    let cores = topology.devices_per_chip();
    let mut all = vec![];
    let mut stride = cores;
    for &size in topology.grid() {
        all.push(Part { size, stride });
        stride *= size;
    }
    all.push(Part { size: cores, stride: 1 });
    all
}

/// Returns the first set of dimensions whose sizes are larger than 1 and have the product `size`: among those with the
/// most dimensions, at most three. Returns `None` if there is no such set.
fn whole_dimensions(free: &[Part], size: usize) -> Option<Vec<usize>> {
    let subsets = 1..1usize << free.len();
    let members = |set: usize| (0..free.len()).filter(|d| set >> d & 1 == 1).collect::<Vec<_>>();
    let fits = |set: &Vec<usize>| {
        set.iter().all(|&d| free[d].size > 1) && set.iter().map(|&d| free[d].size).product::<usize>() == size
    };
    let sets = subsets.map(members).filter(|set| set.len() <= 3).filter(fits);
    sets.min_by_key(|set| (usize::MAX - set.len(), set.clone()))
}

/// Takes parts whose sizes have the product `size` out of the free dimensions, as much as possible from the last ones.
/// Returns the parts major to minor.
fn parts(free: &mut [Part], mut size: usize) -> Vec<Part> {
    let mut taken = vec![];
    for part in free.iter_mut().rev() {
        let common = gcd(size, part.size);
        if common > 1 {
            taken.push(Part { size: common, stride: part.stride });
            *part = Part { size: part.size / common, stride: part.stride * common };
            size /= common;
        }
    }
    taken.reverse();
    taken
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn device_at(p: usize, sizes: &[usize], axes: &[Vec<Part>]) -> usize {
    let (mut rest, mut device) = (p, 0);
    for (&size, parts) in sizes.iter().zip(axes).rev() {
        let mut coordinate = rest % size;
        rest /= size;
        for part in parts.iter().rev() {
            device += coordinate % part.size * part.stride;
            coordinate /= part.size;
        }
    }
    device
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(topology: &str, axes: &[(&str, usize)]) -> Vec<Vec<usize>> {
        let topology = Topology::parse(topology).unwrap();
        let mesh = Mesh::new("mesh", axes.iter().copied()).unwrap();
        placement(&topology, &mesh).unwrap().into_iter().map(|d| topology.coordinates(d)).collect()
    }

    #[test]
    fn eight_chips_are_laid_out_as_jax_does() {
        // The coordinates that JAX prints for `make_mesh((2, 4))` on v5e:2x4.
        let expected = [[0, 0], [1, 0], [0, 1], [1, 1], [1, 3], [0, 3], [1, 2], [0, 2]].map(|c: [usize; 2]| c.to_vec());
        assert_eq!(coordinates("v5e:2x4", &[("X", 2), ("Y", 4)]), expected);
    }

    #[test]
    fn axes_take_whole_dimensions_where_they_can() {
        // The last axis is laid along x and y, which leaves z for the first one.
        let at = coordinates("v5p:4x4x8", &[("data", 8), ("model", 16)]);
        assert_eq!((&at[1][..], &at[4][..], &at[16][..]), (&[0, 1, 0][..], &[1, 0, 0][..], &[0, 0, 1][..]));
        let at = coordinates("v5e:16x16", &[("data", 16), ("model", 16)]);
        assert_eq!((&at[1][..], &at[16][..]), (&[1, 0][..], &[0, 1][..]));
    }

    #[test]
    fn the_first_axes_are_over_the_pods() {
        let devices = |topology: &str, axes: &[(&str, usize)]| {
            let mesh = Mesh::new("mesh", axes.iter().copied()).unwrap();
            placement(&Topology::parse(topology).unwrap(), &mesh).unwrap()
        };
        // Each pod is laid out as it is alone.
        let alone = devices("v5e:2x4", &[("X", 2), ("Y", 4)]);
        let both: Vec<usize> = alone.iter().copied().chain(alone.iter().map(|d| d + 8)).collect();
        assert_eq!(devices("v5e:2x4*2", &[("pod", 2), ("X", 2), ("Y", 4)]), both);
        assert_eq!(devices("v5e:2x4*2", &[("X", 4), ("Y", 4)]), both);
        assert_eq!(devices("h100:2x8", &[("a", 4), ("b", 4)]), (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn every_device_has_one_position() {
        let meshes: [(&str, &[(&str, usize)]); 6] = [
            ("v5e:4x4", &[("a", 2), ("b", 2), ("c", 4)]),
            ("v5e:8x8", &[("a", 2), ("b", 2), ("c", 16)]),
            ("v5e:4x4*2", &[("pod", 2), ("b", 16)]),
            ("7x:4x4x4", &[("a", 8), ("b", 16)]),
            ("h100:2x8", &[("a", 4), ("b", 4)]),
            ("v4:3x5x2", &[("a", 6), ("b", 5)]),
        ];
        for (topology, axes) in meshes {
            let topology = Topology::parse(topology).unwrap();
            let mesh = Mesh::new("mesh", axes.iter().copied()).unwrap();
            let mut found = placement(&topology, &mesh).unwrap();
            found.sort_unstable();
            assert_eq!(found, (0..topology.device_count()).collect::<Vec<_>>(), "{topology}");
        }
    }
}
