//! How chips are interconnected, and which device of a mesh is which chip.
//!
//! | text | topology |
//! |---|---|
//! | `v5e:2x4` | 2 x 4 chips of TPU v5e, the first dimension is x |
//! | `v5p:4x4x4` | a cube, with wraps by the machine's rules |
//! | `v4:4x4x8_twisted` | a twisted torus: the wraps of x and y lead to the chips that are 4 further along z |
//! | `v5e:16x16*2` | two pods of 16 x 16 chips, over the data centre's network |
//! | `h100:2x8` | two nodes of 8 GPUs |
//! | `FILE:8` | 8 devices on the host of a file that `shardwise calibrate` has written |
//! | `host:8` | the same, with the file that the environment variable `SHARDWISE_MACHINE` names |
//!
//! Chips are numbered with x first: chip 1 of `v5e:2x4` is at x = 1, y = 0. Devices are numbered by pod, then chip,
//! then core, as in JAX.

use crate::Machine;
use shardwise_base::{Diagnostic, Diagnostics, Loc, Mesh, counted};
use shardwise_view::Torus;
use std::fmt;
use std::sync::Arc;

const MAX_DEVICES: usize = 1 << 17;

/// A number of chips of one kind and how they are interconnected, or a number of devices on a host.
///
/// # Examples
///
/// ```
/// use shardwise_sim::Topology;
///
/// let pods = Topology::parse("v5e:16x16*2").unwrap();
/// assert_eq!(pods.device_count(), 512);
/// assert_eq!(pods.to_string(), "v5e:16x16*2");
/// assert!(Topology::parse("v5f:2x4").unwrap_err().to_string().contains("did you mean `v5e`?"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    machine: Arc<Machine>,
    /// The links of a pod, x first. With switches, one dimension with the number of devices of a node, and for a host,
    /// one with the number of devices.
    torus: Torus,
    /// The number of pods, or of nodes.
    pods: usize,
}

impl Topology {
    /// Reads a topology: a machine and its grid, and the number of pods if there are several.
    ///
    /// - `v5e:2x4` is a pod of 2 x 4 chips, and `v5e:16x16*2` two pods of 16 x 16 chips.
    /// - `h100:2x8` is two nodes of 8 devices each.
    /// - `FILE:8` is 8 devices on the machine of a file that `shardwise calibrate` has written, and `host:8` is 8
    ///   devices on the machine of the file that the environment variable `SHARDWISE_MACHINE` names. Its own name can
    ///   stand in place of `host`. If the first machine of a file is a chip, its grid follows, as in `FILE:2x4`.
    ///
    /// # Errors
    /// Fails if there is no such machine (`machine-unknown`), if the file cannot be read (`machine-file`,
    /// `machine-text`), or if the text has another form or the grid is not one of the machine (`topology-grid`). A file
    /// of `SHARDWISE_MACHINE` that cannot be read matters only if no other machine has the name.
    pub fn parse(text: &str) -> Result<Topology, Diagnostics> {
        Topology::read(text, Machine::own)
    }

    /// Reads a topology as [`Topology::parse`] does. `own` is the machine that `host` and its own name mean, in place
    /// of that of the environment. A file of the same name takes precedence.
    ///
    /// # Errors
    /// Fails as [`Topology::parse`] does.
    pub fn parse_with(text: &str, own: Option<Machine>) -> Result<Topology, Diagnostics> {
        Topology::read(text, || Ok(own))
    }

    /// Reads a topology. `own` returns the machine that `host` and its own name mean, or fails if its file has
    /// mistakes, which matters only if no other machine has the name.
    fn read(text: &str, own: impl FnOnce() -> Own) -> Result<Topology, Diagnostics> {
        let Some((name, grid)) = text.rsplit_once(':') else { return Err(bad_grid(text, None).into()) };
        let machine = machine_of(name, own)?;
        let (grid, pods) = grid.split_once('*').unwrap_or((grid, "1"));
        let (grid, is_twisted) = grid.strip_suffix(TWISTED).map_or((grid, false), |plain| (plain, true));
        let sizes: Option<Vec<usize>> = grid.split('x').map(|n| n.parse().ok()).collect();
        let (Some(sizes), Ok(pods)) = (sizes, pods.parse()) else { return Err(bad_grid(text, Some(&machine)).into()) };
        let plain = Topology::new(machine, &sizes, pods)?;
        if is_twisted { plain.twisted() } else { Ok(plain) }
    }

    /// Returns the topology that a mesh states, or `None` if it states none.
    ///
    /// # Errors
    /// Fails if there is no such machine (`machine-unknown`), or if the grid is not one of the machine
    /// (`topology-grid`).
    pub fn of_mesh(mesh: &Mesh) -> Option<Result<Topology, Diagnostics>> {
        let stated = mesh.topology.as_ref()?;
        let plain = Machine::find(&stated.kind).and_then(|machine| Topology::new(machine, &stated.grid, stated.pods));
        Some(if stated.is_twisted { plain.and_then(Topology::twisted) } else { plain })
    }

    /// Returns a topology of `pods` pods with these numbers of chips along each dimension. With switches, the sizes are
    /// the number of nodes and the number of devices of each. For a host, the only size is the number of devices, and
    /// there is one pod.
    ///
    /// # Errors
    /// Fails if the machine has no such grid, or if there are no devices or too many (`topology-grid`).
    pub fn new(machine: Arc<Machine>, sizes: &[usize], pods: usize) -> Result<Topology, Diagnostics> {
        let dims = machine.constants.torus_dims as usize;
        let expected = if machine.is_host() {
            1
        } else if machine.is_switched() {
            2
        } else {
            dims
        };
        let chips = sizes.iter().try_fold(pods, |n, &size| n.checked_mul(size));
        let devices = chips.and_then(|n| n.checked_mul(machine.constants.devices_per_chip as usize));
        let is_domain = !machine.is_switched() || sizes.last() <= Some(&(machine.constants.host_chips as usize));
        let is_one_host = !machine.is_host() || pods == 1;
        let is_possible = devices.is_some_and(|n| (1..=MAX_DEVICES).contains(&n));
        if sizes.len() != expected || !is_possible || !is_domain || !is_one_host {
            let text = Grid(sizes, false, pods).to_string();
            return Err(bad_grid(&format!("{}:{text}", machine.name), Some(&machine)).into());
        }
        let (grid, pods) = match machine.is_switched() {
            true => (vec![sizes[1]], sizes[0] * pods),
            false => (sizes.to_vec(), pods),
        };
        let wraps = (0..grid.len()).map(|dim| wraps(&machine, &grid, dim)).collect();
        Ok(Topology { machine, torus: Torus::new(grid, wraps), pods })
    }

    /// Returns the twisted torus of the same chips, in which the wraps of the short dimensions are shifted. Returns a
    /// torus that is twisted already unchanged.
    ///
    /// # Errors
    /// Fails if the machine has no twisted tori, or none of this grid (`topology-grid`).
    pub fn twisted(self) -> Result<Topology, Diagnostics> {
        if self.is_twisted() {
            return Ok(self);
        }
        let c = &self.machine.constants;
        let is_possible = c.twists > 0.0 && (0..self.grid().len()).all(|dim| self.wraps(dim));
        match Torus::twisted(self.grid().to_vec()).filter(|_| is_possible) {
            Some(torus) => Ok(Topology { torus, ..self }),
            None => Err(no_twist(&self).into()),
        }
    }

    /// Returns true if the wraps of the short dimensions are shifted along the long ones.
    pub fn is_twisted(&self) -> bool {
        self.torus.twist() > 0
    }

    /// Returns the number of links between the halves of a pod, for the cut across a dimension that has the fewest. The
    /// links of one direction count. Only dimensions of even size are cut: returns 0 if there are none. Returns `None`
    /// for a host, and if switches connect the devices.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise_sim::Topology;
    ///
    /// let links = |text: &str| Topology::parse(text).unwrap().bisection();
    /// assert_eq!((links("v4:4x4x8"), links("v4:4x4x8_twisted")), (Some(32), Some(64)));
    /// ```
    pub fn bisection(&self) -> Option<usize> {
        (self.machine.constants.torus_dims > 0.0).then(|| self.torus.bisection())
    }

    /// Returns the machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the same topology of another machine, such as one with calibrated constants. Whether that machine has
    /// this grid and these wraps is not checked.
    pub fn with_machine(&self, machine: Arc<Machine>) -> Topology {
        Topology { machine, ..self.clone() }
    }

    /// Returns the sizes and the number of pods from which [`Topology::new`] makes this topology, or, for a twisted
    /// torus, the plain one of the same chips.
    pub fn sizes(&self) -> (Vec<usize>, usize) {
        match self.machine.is_switched() {
            true => (vec![self.pods, self.grid()[0]], 1),
            false => (self.grid().to_vec(), self.pods),
        }
    }

    /// Checks that a mesh has as many devices as the topology.
    ///
    /// # Errors
    /// Fails if it has another number of devices (`topology-mesh`). The message has no location.
    pub fn check_mesh(&self, mesh: &Mesh) -> Result<(), Diagnostic> {
        if mesh.size() == self.device_count() { Ok(()) } else { Err(misfit(self, mesh)) }
    }

    /// Returns the number of devices.
    pub fn device_count(&self) -> usize {
        self.devices_per_pod() * self.pods
    }

    /// Returns the grid of chips of a pod, its wraps and the number of pods, for pictures of layouts.
    pub fn chips(&self) -> shardwise_view::Chips {
        shardwise_view::Chips {
            name: self.to_string(),
            torus: self.torus.clone(),
            devices_per_chip: self.devices_per_chip(),
            pods: self.pods,
            is_switched: self.machine.is_switched(),
        }
    }

    /// Returns the number of chips of a pod along each dimension, x first. With switches, the only number is that of
    /// the devices of a node, and for a host, that of all devices.
    pub(crate) fn grid(&self) -> &[usize] {
        self.torus.grid()
    }

    pub(crate) fn torus(&self) -> &Torus {
        &self.torus
    }

    pub(crate) fn devices_per_pod(&self) -> usize {
        self.grid().iter().product::<usize>() * self.devices_per_chip()
    }

    pub(crate) fn devices_per_chip(&self) -> usize {
        self.machine.constants.devices_per_chip as usize
    }

    pub(crate) fn pod(&self, device: usize) -> usize {
        device / self.devices_per_pod()
    }

    /// Returns the coordinates of a device's chip in its pod, x first.
    pub(crate) fn coordinates(&self, device: usize) -> Vec<usize> {
        self.torus.coordinates(device % self.devices_per_pod() / self.devices_per_chip())
    }

    pub(crate) fn wraps(&self, dim: usize) -> bool {
        self.torus.is_ring(dim)
    }
}

/// The text after the grid of a twisted torus.
const TWISTED: &str = "_twisted";

fn wraps(machine: &Machine, grid: &[usize], dim: usize) -> bool {
    let c = &machine.constants;
    let is_cubes = c.wrap_multiple > 0.0 && grid.iter().all(|&n| n.is_multiple_of(c.wrap_multiple as usize));
    let is_full = c.wrap_all > 0.0 && grid.iter().all(|&n| n == c.wrap_all as usize);
    grid[dim] > 2 && (is_cubes || is_full || grid[dim] == c.wrap_axis as usize)
}

/// Prints `v5e:16x16*2`.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sizes, pods) = self.sizes();
        write!(f, "{}:{}", self.machine.name, Grid(&sizes, self.is_twisted(), pods))
    }
}

/// Prints the sizes of a grid, plain or twisted, and the number of pods unless it is 1: `16x16*2`, `4x4x8_twisted`.
struct Grid<'a>(&'a [usize], bool, usize);

impl fmt::Display for Grid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, size) in self.0.iter().enumerate() {
            write!(f, "{}{size}", if i > 0 { "x" } else { "" })?;
        }
        f.write_str(if self.1 { TWISTED } else { "" })?;
        if self.2 != 1 { write!(f, "*{}", self.2) } else { Ok(()) }
    }
}

/// The own machine, if there is one, or the mistakes in its file.
type Own = Result<Option<Machine>, Diagnostics>;

/// Returns the machine that a topology names: that of a file, the own one, or one of the table. Fails if the file
/// cannot be used, or if there is no machine of this name, with the mistakes of the own one if there are any. A name
/// with a `/` or a `.` counts as that of a file.
fn machine_of(name: &str, own: impl FnOnce() -> Own) -> Result<Arc<Machine>, Diagnostics> {
    if std::path::Path::new(name).is_file() {
        return Machine::load(name.as_ref()).map(Arc::new);
    }
    match (own(), Machine::find(name)) {
        (Ok(Some(own)), _) if name == "host" || *own.name == *name => Ok(Arc::new(own)),
        (Err(mistakes), Err(_)) => Err(mistakes),
        // No machine of the table has a name like that of a file.
        (_, Err(_)) if name.contains(['/', '.']) => Machine::load(name.as_ref()).map(Arc::new),
        (_, found) => found,
    }
}

fn no_twist(plain: &Topology) -> Diagnostic {
    let (sizes, pods) = plain.sizes();
    let text = format!("{}:{}", plain.machine.name, Grid(&sizes, true, pods));
    let can_twist = |m: &&Arc<Machine>| m.constants.twists > 0.0;
    let names: Vec<&str> = Machine::all().iter().filter(can_twist).map(|m| &*m.name).collect();
    Diagnostic::error("topology-grid", &Loc::UNKNOWN, format!("`{text}` is no topology"))
        .expected("a twisted torus has k x k x 2k or k x 2k x 2k chips, where k is a multiple of 4: `v4:4x4x8_twisted`")
        .note(format!("the machines with twisted tori are {}", names.join(", ")))
}

fn bad_grid(text: &str, machine: Option<&Machine>) -> Diagnostic {
    let d = Diagnostic::error("topology-grid", &Loc::UNKNOWN, format!("`{text}` is no topology"));
    let Some(machine) = machine else {
        let names: Vec<&str> = Machine::all().iter().map(|m| &*m.name).collect();
        return d
            .help("write a machine and its grid: `v5e:2x4`, `v5p:4x4x4`, `h100:2x8`, or `v5e:16x16*2` for two pods")
            .help(format!("the machines are {}", names.join(", ")));
    };
    if machine.is_host() {
        return d.expected(format!("the number of devices, from 1 to {MAX_DEVICES}: `{}:8`", machine.name));
    }
    let most = machine.constants.host_chips;
    let expected = match machine.constants.torus_dims as usize {
        0 => format!("the number of nodes and of devices in each, at most {most}: `{}:2x{most}`", machine.name),
        1 => format!("one size of at least 1: `{}:4`, or `{}:16*2` for two pods", machine.name, machine.name),
        2 => format!("two sizes of at least 1: `{}:2x4`, or `{}:16x16*2` for two pods", machine.name, machine.name),
        _ => format!("three sizes of at least 1: `{}:2x2x1`, or `{}:4x4x4*2` for two pods", machine.name, machine.name),
    };
    d.expected(expected).note(format!("a topology has at most {MAX_DEVICES} devices"))
}

fn misfit(topology: &Topology, mesh: &Mesh) -> Diagnostic {
    let (own, wanted) = (topology.device_count(), counted(mesh.size(), "device"));
    let message = format!("the mesh has {wanted}, and the topology `{topology}` has {own}");
    let cores = topology.devices_per_chip();
    let d = Diagnostic::error("topology-mesh", &Loc::UNKNOWN, message).mesh(mesh);
    let d = if cores > 1 { d.note(format!("each chip of {topology} has {cores} devices")) } else { d };
    d.help("choose a topology with as many devices as the mesh")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wraps(text: &str) -> Vec<bool> {
        let topology = Topology::parse(text).unwrap();
        (0..topology.grid().len()).map(|d| topology.wraps(d)).collect()
    }

    #[test]
    fn axes_wrap_by_the_rules_of_the_machine() {
        assert_eq!(wraps("v5e:2x4"), [false, false]);
        assert_eq!(wraps("v5e:8x16"), [false, true]);
        assert_eq!(wraps("v6e:16x16"), [true, true]);
        assert_eq!(wraps("v4:4x4x4"), [true, true, true]);
        assert_eq!(wraps("v5p:4x4x8"), [true, true, true]);
        assert_eq!(wraps("v5p:2x2x4"), [false, false, false]);
        assert_eq!(wraps("v4:4x4x8_twisted"), [false, false, true]);
        assert_eq!(wraps("v2:16x16"), [true, true]);
        assert_eq!(wraps("v3:16x16"), [false, false]);
    }

    #[test]
    fn a_bad_file_of_the_own_machine_matters_only_where_it_is_meant() {
        let bad = || Err(Machine::parse("chip", "own.txt").unwrap_err());
        assert_eq!(Topology::read("v5e:2x4", bad).unwrap().to_string(), "v5e:2x4");
        for text in ["host:8", "mine:8"] {
            let error = Topology::read(text, bad).unwrap_err().to_string();
            assert!(error.contains("own.txt"), "{text}: {error}");
        }
        assert!(Topology::read("host:8", || Ok(None)).unwrap_err().to_string().contains("machine-unknown"));
        assert!(Topology::read("own.txt:8", || Ok(None)).unwrap_err().to_string().contains("machine-file"));
    }

    #[test]
    fn malformed_topologies_are_explained() {
        for text in [
            "v5e",
            "v5e:",
            "v5e:2",
            "v5e:2x4x2",
            "v5e:0x4",
            "v5e:2x-4",
            "v5e:2x4*0",
            "v5e:2x4*",
            "v4:2x2",
            "h100:2x9",
            "v5e:99999x99999",
            "v5e:18446744073709551615x2",
            "v4:4x4x4_twisted",
            "v4:2x2x4_twisted",
            "v4:4x8x16_twisted",
            "v5e:4x8_twisted",
            "7x:4x4x8_twisted",
            "h100:2x8_twisted",
            "v4:_twisted",
            "v4:4x4x8*2_twisted",
        ] {
            let error = Topology::parse(text).unwrap_err().to_string();
            assert!(error.contains("topology-grid"), "{text}: {error}");
        }
        assert!(Topology::parse("a100:2x8").unwrap_err().to_string().contains("the machines are v2"));
        for text in ["v5e:2x4", "7x:2x2x1", "h100:2x8", "gb200:1x72", "v5p:4x4x8*4", "v4:4x8x8_twisted*2"] {
            assert_eq!(Topology::parse(text).unwrap().to_string(), text);
        }
        let twice = Topology::parse("v4:4x4x8_twisted").and_then(Topology::twisted);
        assert_eq!(twice.unwrap().to_string(), "v4:4x4x8_twisted");
        assert_eq!(Topology::parse("tpu-v5e:2x4").unwrap().device_count(), 8);
        assert_eq!(Topology::parse("7x:2x2x1").unwrap().device_count(), 8);
    }
}
