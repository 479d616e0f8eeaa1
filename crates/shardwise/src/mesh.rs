//! Meshes: devices in a grid with named axes, and which mesh a bare `P` means.

use crate::{Error, P, Result, Sharding};
pub use shardwise_base::Communicate;
use shardwise_base::{self as base, AxisKind, Diagnostic, Loc, MeshAxis, MeshError};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Devices in a grid with named axes. Cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Mesh(pub(crate) Arc<base::Mesh>);

/// One axis of a mesh: its name, its size, and who decides shardings over it.
#[derive(Clone, Debug)]
pub struct Axis {
    name: String,
    size: usize,
    kind: AxisKind,
}

impl Axis {
    /// The compiler decides shardings over it.
    pub fn auto(name: &str, size: usize) -> Axis {
        Axis { name: name.into(), size, kind: AxisKind::Auto }
    }

    /// Shardings over it are part of the types of arrays.
    pub fn explicit(name: &str, size: usize) -> Axis {
        Axis { name: name.into(), size, kind: AxisKind::Explicit }
    }
}

impl Mesh {
    /// The compiler decides shardings.
    ///
    /// Errors: `mesh` if a name stands twice, a size is 0, or there are too many devices.
    #[track_caller]
    pub fn auto<const N: usize>(axes: [(&str, usize); N]) -> Result<Mesh> {
        Mesh::new(axes.map(|(name, size)| Axis::auto(name, size)))
    }

    /// Shardings are part of the types of arrays: what is ambiguous is a mistake that names the choices.
    ///
    /// Errors: as [`Mesh::auto`].
    #[track_caller]
    pub fn explicit<const N: usize>(axes: [(&str, usize); N]) -> Result<Mesh> {
        Mesh::new(axes.map(|(name, size)| Axis::explicit(name, size)))
    }

    /// What programs may do over Explicit axes where they do not ask for communication; [`Communicate::Warn`] if nothing
    /// is said.
    pub fn communication(self, level: Communicate) -> Mesh {
        Mesh(Arc::new(base::Mesh { communicate: level, ..base::Mesh::clone(&self.0) }))
    }

    /// With a mode for each axis.
    ///
    /// Errors: as [`Mesh::auto`].
    #[track_caller]
    pub fn new(axes: impl IntoIterator<Item = Axis>) -> Result<Mesh> {
        let axes = axes.into_iter().map(|a| MeshAxis { name: a.name.into(), size: a.size, kind: a.kind }).collect();
        checked(base::Mesh::of_axes("mesh", axes).checked(), Location::caller())
    }

    /// On these devices, in the order of the grid, in place of as many virtual ones as it needs.
    ///
    /// Errors: `mesh` unless they are as many as the mesh has places, each once.
    #[track_caller]
    pub fn on(self, devices: impl IntoIterator<Item = Device>) -> Result<Mesh> {
        let ids: Vec<usize> = devices.into_iter().map(|d| d.id).collect();
        checked(base::Mesh::clone(&self.0).with_device_ids(ids), Location::caller())
    }

    /// The same mesh, on devices that are wired like this.
    pub fn with_topology(self, topology: &Topology) -> Mesh {
        Mesh(Arc::new(base::Mesh { topology: Some(topology.0.clone()), ..base::Mesh::clone(&self.0) }))
    }

    /// The sizes of all axes: `let [x, y] = mesh.sizes();`. Panics if the mesh has another number of axes.
    #[track_caller]
    pub fn sizes<const N: usize>(&self) -> [usize; N] {
        let sizes: Vec<usize> = self.0.axes.iter().map(|a| a.size).collect();
        sizes.try_into().unwrap_or_else(|_| panic!("the mesh ({self}) has {} axes, not {N}", self.0.axes.len()))
    }

    /// The size of one axis. Panics if there is none of this name.
    #[track_caller]
    pub fn size(&self, axis: &str) -> usize {
        let found = self.0.axes.iter().find(|a| &*a.name == axis);
        found.unwrap_or_else(|| panic!("the mesh ({self}) has no axis \"{axis}\"")).size
    }

    /// A layout on this mesh, whichever is in scope.
    pub fn sharding(&self, spec: P) -> Sharding {
        Sharding { mesh: self.clone(), spec }
    }

    /// Whether arrays of both may meet in one program: the same devices, and the same say over shardings.
    pub(crate) fn fits(&self, other: &Mesh) -> bool {
        let kinds = |m: &Mesh| m.0.axes.iter().map(|a| a.kind).collect::<Vec<_>>();
        self.0.same_devices(&other.0) && kinds(self) == kinds(other)
    }

    /// Whether shardings over some axis are types.
    pub(crate) fn is_explicit(&self) -> bool {
        self.0.explicit_axes().next().is_some()
    }

    /// `X=4 Explicit, Y=2 Auto`.
    pub(crate) fn with_kinds(&self) -> String {
        let axes: Vec<String> = self.0.axes.iter().map(|a| format!("{}={} {:?}", a.name, a.size, a.kind)).collect();
        axes.join(", ")
    }

    /// The devices, in the order of the grid.
    pub fn devices(&self) -> Vec<Device> {
        (0..self.0.size()).map(|position| Device { id: self.0.device(position) }).collect()
    }
}

fn checked(mesh: Result<base::Mesh, MeshError>, at: &Location<'_>) -> Result<Mesh> {
    mesh.map(|m| Mesh(Arc::new(m))).map_err(|e| Error::one(Diagnostic::error("mesh", &Loc::caller(at), e.to_string())))
}

/// `X=4, Y=2`.
impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh({self})")
    }
}

thread_local!(static CURRENT: RefCell<Option<Mesh>> = const { RefCell::new(None) });

/// Makes this the mesh that a bare `P` refers to, on this thread, from here on.
pub fn set_mesh(mesh: impl Borrow<Mesh>) {
    CURRENT.set(Some(mesh.borrow().clone()));
}

/// The same, for as long as `f` runs.
pub fn with_mesh<R>(mesh: impl Borrow<Mesh>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Mesh>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(Some(mesh.borrow().clone())));
    f()
}

/// The mesh of this thread.
pub(crate) fn current() -> Option<Mesh> {
    CURRENT.with_borrow(Clone::clone)
}

/// A device of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    id: usize,
}

impl Device {
    pub fn id(self) -> usize {
        self.id
    }
}

/// An engine.
pub struct Client {
    devices: usize,
}

impl Client {
    /// The embedded engine, with `devices` virtual devices.
    pub fn host(devices: usize) -> Client {
        Client { devices }
    }

    pub fn devices(&self) -> Vec<Device> {
        (0..self.devices).map(|id| Device { id }).collect()
    }

    pub fn platform(&self) -> &str {
        crate::runtime::engine().name()
    }
}

/// What devices are wired as.
#[derive(Clone, PartialEq, Debug)]
pub struct Topology(base::Topology);

impl Topology {
    /// Chips in a torus of two dimensions.
    pub fn tpu_v5e(grid: [usize; 2]) -> Topology {
        Topology(base::Topology { kind: "tpu-v5e".into(), grid: grid.into() })
    }

    /// Chips in a torus of three dimensions.
    pub fn tpu_v5p(grid: [usize; 3]) -> Topology {
        Topology(base::Topology { kind: "tpu-v5p".into(), grid: grid.into() })
    }

    /// Nodes of GPUs that all reach each other.
    pub fn gpu_h100(nodes: usize, per_node: usize) -> Topology {
        Topology(base::Topology { kind: "h100".into(), grid: vec![nodes, per_node] })
    }
}
