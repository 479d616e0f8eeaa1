//! The grid of processes that a part of a program runs on.

use shardwise_base::{AxisRef, Mesh, Positions};
use std::sync::{Arc, OnceLock};

/// A grid of processes: the positions along some axes of a mesh, or, without a mesh, the partitions of some replicas.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The mesh with the axes of the grid, or `None` for a grid without a mesh.
    pub mesh: Option<Arc<Mesh>>,
    /// The axes of the grid, major to minor.
    pub axes: Vec<AxisRef>,
    pub process_count: usize,
    /// The number of processes of one replica. Without a mesh, process `r * partition_count + p` is partition `p` of
    /// replica `r`. With a mesh, there is one replica, and the partition of a process is its device.
    pub partition_count: usize,
    /// The positions of the mesh's devices, computed at the first use.
    positions: OnceLock<Arc<Positions>>,
}

/// For each process, whether it takes part.
pub type Active = Vec<bool>;

impl Frame {
    fn new(mesh: Option<Arc<Mesh>>, axes: Vec<AxisRef>, process_count: usize, partition_count: usize) -> Frame {
        Frame { mesh, axes, process_count, partition_count, positions: OnceLock::new() }
    }

    /// Returns a grid of one process that stands for all devices.
    pub fn single() -> Frame {
        Frame::new(None, vec![], 1, 1)
    }

    /// Returns a grid of `process_count` processes, one for each device, which are the partitions of one replica. It
    /// has all axes of the mesh, which must have as many devices, or no axes without a mesh.
    pub fn grid(mesh: Option<Arc<Mesh>>, process_count: usize) -> Frame {
        let axes = mesh.as_ref().map_or(vec![], |m| m.all_axes().collect());
        Frame::new(mesh, axes, process_count, process_count)
    }

    /// Returns a grid without a mesh, of `replica_count` replicas with `partition_count` processes each.
    pub fn replicas(replica_count: usize, partition_count: usize) -> Frame {
        Frame::new(None, vec![], replica_count * partition_count, partition_count)
    }

    /// Returns the grid of a manual computation over `axes` of `mesh` within this grid. Its axes are those of this grid
    /// and after them, as the minor ones, `axes`. Each process `p` of this grid becomes `n` processes, of which the
    /// first is `p * n`, where `n` is the product of the sizes of `axes`.
    pub fn nested(&self, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Frame {
        let mut all = self.axes.clone();
        all.extend(axes);
        let process_count = self.process_count * axes.iter().map(|a| a.size(mesh)).product::<usize>();
        Frame::new(Some(mesh.clone()), all, process_count, process_count)
    }

    /// Returns a list in which all processes take part.
    pub fn all_active(&self) -> Active {
        vec![true; self.process_count]
    }

    /// Returns the coordinates of process `p` along the whole axes of the mesh. They are 0 along axes that are not in
    /// the grid. The list is empty without a mesh.
    pub fn coordinates(&self, p: usize) -> Vec<usize> {
        let Some(mesh) = &self.mesh else { return vec![] };
        let mut coordinates = vec![0; mesh.axes.len()];
        let mut rest = p;
        for a in self.axes.iter().rev() {
            let size = a.size(mesh);
            let minor = mesh.axis_size(a.axis) / a.next_pre_size(mesh);
            coordinates[a.axis.index()] += rest % size * minor;
            rest /= size;
        }
        coordinates
    }

    /// Returns the process at these coordinates of the mesh, or process 0 without a mesh. Coordinates along axes that
    /// are not in the grid are ignored.
    pub fn process(&self, coordinates: &[usize]) -> usize {
        self.mesh.as_ref().map_or(0, |mesh| AxisRef::index_in(mesh, &self.axes, coordinates))
    }

    /// Returns the number of the device that process `p` stands for, or `p` without a mesh. If it stands for several
    /// devices, this is the one whose coordinates are 0 along the axes that are not in the grid.
    pub fn device(&self, p: usize) -> usize {
        match &self.mesh {
            Some(mesh) => mesh.device(mesh.position(&self.coordinates(p))),
            None => p,
        }
    }

    /// Returns the number of replicas.
    pub fn replica_count(&self) -> usize {
        self.process_count / self.partition_count
    }

    /// Returns the result of `partition_id` in process `p`: its device if there is a mesh, else its partition.
    pub fn partition(&self, p: usize) -> usize {
        if self.mesh.is_some() { self.device(p) } else { p % self.partition_count }
    }

    /// Returns the result of `replica_id` in process `p`: the number of the replica that contains it.
    pub fn replica(&self, p: usize) -> usize {
        p / self.partition_count
    }

    /// Returns the process that stands for the device with this number, or `device` itself without a mesh. `device`
    /// must be in the mesh if there is one.
    pub fn process_of_device(&self, device: usize) -> usize {
        match &self.mesh {
            Some(mesh) => {
                let positions = self.positions.get_or_init(|| Arc::new(mesh.positions()));
                let position = positions.of(device).unwrap_or(device);
                self.process(&mesh.coordinates(position))
            }
            None => device,
        }
    }
}
