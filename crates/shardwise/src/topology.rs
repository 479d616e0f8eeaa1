//! Machines, how their chips are interconnected, and predictions of how long programs take on them.

use crate::{Error, Result, context};
use shardwise_base as base;
use shardwise_ir::Module;
use shardwise_schedule::{Options, Scheduled, schedule};
use shardwise_sim as sim;
use shardwise_view::Timeline;
use std::fmt;
use std::panic::Location;

pub use shardwise_sim::{Overlap, Summary};

/// A machine: its kind, and how its chips are interconnected.
///
/// Only [`Topology::parse`] checks that the machine has such a grid. For a topology that another function made, the
/// functions that predict or schedule programs report `topology-grid`.
///
/// # Examples
///
/// ```
/// use shardwise::Topology;
///
/// assert_eq!(Topology::parse("v5e:2x4")?, Topology::tpu_v5e([2, 4]));
/// assert_eq!(Topology::gpu_h100(2, 8).to_string(), "h100:2x8");
/// assert!(Topology::parse("v5e:2by4").is_err());
/// # Ok::<(), shardwise::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topology {
    kind: String,
    grid: Vec<usize>,
    is_twisted: bool,
    pods: usize,
}

impl Topology {
    /// Returns a grid of TPU v5e chips. A dimension of 16 chips is a ring.
    pub fn tpu_v5e(grid: [usize; 2]) -> Topology {
        Topology::untwisted("v5e", &grid)
    }

    /// Returns a grid of TPU v5p chips. If all dimensions are multiples of 4, they are rings.
    pub fn tpu_v5p(grid: [usize; 3]) -> Topology {
        Topology::untwisted("v5p", &grid)
    }

    /// Returns `nodes` nodes of `per_node` H100 GPUs, where all GPUs of a node are connected with each other.
    pub fn gpu_h100(nodes: usize, per_node: usize) -> Topology {
        Topology::untwisted("h100", &[nodes, per_node])
    }

    fn untwisted(kind: &str, grid: &[usize]) -> Topology {
        Topology { kind: kind.into(), grid: grid.into(), is_twisted: false, pods: 1 }
    }

    /// Reads a machine and its grid of chips, such as `v5e:2x4`, `v5p:4x4x4`, `v4:4x4x8_twisted` for a twisted torus,
    /// `v5e:16x16*2` for two pods, and `h100:2x8` for two nodes of eight GPUs. `FILE:8` is the host of a file that
    /// `shardwise calibrate` has written, with eight devices, and `host:8` is that of the file that the environment
    /// variable `SHARDWISE_MACHINE` names. `shardwise simulate --help` and the error for another machine list the
    /// machines.
    ///
    /// # Errors
    ///
    /// `machine-unknown` if there is no such machine, `machine-file` or `machine-text` if a file of machines cannot be
    /// read or has mistakes, and `topology-grid` if the text has another form or the machine has no such grid.
    #[track_caller]
    pub fn parse(text: &str) -> Result<Topology> {
        // A closure is its own caller.
        let at = Location::caller();
        let read = sim::Topology::parse(text).map_err(|found| at_caller(found, at))?;
        let (grid, pods) = read.sizes();
        // A machine that is not in the table is found again by what was stated, such as its file.
        let is_known = |name: &str| sim::Machine::find(name).is_ok_and(|m| std::ptr::eq(&*m, read.machine()));
        let stated = text.rsplit_once(':').map(|(machine, _)| machine).filter(|name| !is_known(name));
        Ok(Topology {
            kind: stated.unwrap_or(&read.machine().name).to_string(),
            grid,
            is_twisted: read.is_twisted(),
            pods,
        })
    }

    /// Returns the totals of a timeline that was predicted for this topology.
    ///
    /// # Errors
    ///
    /// `topology-grid` if the machine has no such grid. If the machine is that of a file, the file is read again,
    /// with the errors of [`Topology::parse`].
    #[track_caller]
    pub fn summary(&self, timeline: &Timeline) -> Result<Summary> {
        Ok(Summary::of(timeline, &self.checked(Location::caller())?))
    }

    /// Returns the topology as meshes keep it.
    pub(crate) fn of_mesh(&self) -> base::Topology {
        let Topology { kind, grid, is_twisted, pods } = self.clone();
        base::Topology { kind: kind.into(), grid, is_twisted, pods }
    }

    pub(crate) fn checked(&self, at: &'static Location<'static>) -> Result<sim::Topology> {
        sim::Topology::parse(&self.to_string()).map_err(|found| at_caller(found, at))
    }

    /// Hides the collectives of a per-device program behind other ops, as the overlap says. Fails as
    /// [`Topology::checked`] does, and if the mesh has another number of devices.
    pub(crate) fn schedule(
        &self,
        local: &Module,
        overlap: Overlap,
        at: &'static Location<'static>,
    ) -> Result<Scheduled> {
        let topology = self.checked(at)?;
        schedule(local, &topology, overlap, &Options::default()).map_err(|found| at_caller(found, at))
    }

    /// Predicts when each op of a per-device program runs once it is scheduled. Fails as [`Topology::schedule`] does.
    pub(crate) fn simulate(
        &self,
        local: &Module,
        overlap: Overlap,
        at: &'static Location<'static>,
    ) -> Result<Timeline> {
        let topology = self.checked(at)?;
        let scheduled = schedule(local, &topology, overlap, &Options::default());
        scheduled.and_then(|program| program.timeline(&topology)).map_err(|found| at_caller(found, at))
    }
}

/// Prints the notation that [`Topology::parse`] reads.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.grid.iter().map(usize::to_string).collect();
        write!(f, "{}:{}{}", self.kind, sizes.join("x"), if self.is_twisted { "_twisted" } else { "" })?;
        if self.pods > 1 { write!(f, "*{}", self.pods) } else { Ok(()) }
    }
}

/// Converts diagnostics into an error. Those without a location get the line `at` of the caller.
pub(crate) fn at_caller(found: base::Diagnostics, at: &'static Location<'static>) -> Error {
    found.located(&context::loc(at)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_of_a_file_is_found_again_by_its_file() {
        let v5e = sim::Machine::find("v5e").unwrap();
        let changed = v5e.with_constant("hbm_bytes", 5e9, "a test").unwrap();
        let path = std::env::temp_dir().join(format!("shardwise-chip-{}.txt", std::process::id()));
        for name in ["mine", "v5e"] {
            let text = changed.to_text().replacen("chip v5e", &format!("chip {name}"), 1);
            std::fs::write(&path, text).unwrap();
            let topology = Topology::parse(&format!("{}:2x4", path.display())).unwrap();
            let found = topology.checked(Location::caller()).unwrap();
            assert_eq!((&*found.machine().name, found.machine().constants.hbm_bytes), (name, 5e9));
        }
        std::fs::remove_file(path).unwrap();
        assert_eq!(Topology::parse("TPU-v5e:2x4").unwrap(), Topology::tpu_v5e([2, 4]));
    }
}
