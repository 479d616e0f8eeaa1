//! The grid of processes that a piece of program runs on.

use shardwise_base::{AxisRef, Mesh, Positions};
use std::sync::{Arc, OnceLock};

/// Processes as points of some axes of a mesh.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The mesh whose axes span the grid; `None` for one process, or a grid without a mesh.
    pub mesh: Option<Arc<Mesh>>,
    /// The axes that span the grid, major to minor.
    pub axes: Vec<AxisRef>,
    pub process_count: usize,
    /// Processes of one replica; process `r * partition_count + p` is partition `p` of replica `r`.
    pub partition_count: usize,
    /// The positions of the mesh's devices, once somebody asks.
    positions: OnceLock<Arc<Positions>>,
}

/// Which processes take part.
pub type Active = Vec<bool>;

impl Frame {
    fn new(mesh: Option<Arc<Mesh>>, axes: Vec<AxisRef>, process_count: usize, partition_count: usize) -> Frame {
        Frame { mesh, axes, process_count, partition_count, positions: OnceLock::new() }
    }

    /// One process that stands for all devices.
    pub fn single() -> Frame {
        Frame::new(None, vec![], 1, 1)
    }

    /// A process for every device.
    pub fn grid(mesh: Option<Arc<Mesh>>, process_count: usize) -> Frame {
        let axes = mesh.as_ref().map_or(vec![], |m| m.all_axes().collect());
        Frame::new(mesh, axes, process_count, process_count)
    }

    /// Replicas of a program for several partitions, without a mesh.
    pub fn replicas(replica_count: usize, partition_count: usize) -> Frame {
        Frame::new(None, vec![], replica_count * partition_count, partition_count)
    }

    /// The processes of a manual computation over `axes`, within this grid.
    pub fn nested(&self, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Frame {
        let mut all = self.axes.clone();
        all.extend(axes);
        let process_count = self.process_count * axes.iter().map(|a| a.size(mesh)).product::<usize>();
        Frame::new(Some(mesh.clone()), all, process_count, process_count)
    }

    pub fn all_active(&self) -> Active {
        vec![true; self.process_count]
    }

    /// Coordinates along the whole axes of the mesh of process `p`; 0 along axes that do not span the grid.
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

    /// The process at these coordinates of the mesh.
    pub fn process(&self, coordinates: &[usize]) -> usize {
        self.mesh.as_ref().map_or(0, |mesh| AxisRef::index_in(mesh, &self.axes, coordinates))
    }

    /// The device number that process `p` stands for: where axes do not span the grid, the first of its devices.
    pub fn device(&self, p: usize) -> usize {
        match &self.mesh {
            Some(mesh) => mesh.device(mesh.position(&self.coordinates(p))),
            None => p,
        }
    }

    pub fn replica_count(&self) -> usize {
        self.process_count / self.partition_count
    }

    /// What `partition_id` gives.
    pub fn partition(&self, p: usize) -> usize {
        if self.mesh.is_some() { self.device(p) } else { p % self.partition_count }
    }

    /// What `replica_id` gives.
    pub fn replica(&self, p: usize) -> usize {
        p / self.partition_count
    }

    /// The process that stands for a device.
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
