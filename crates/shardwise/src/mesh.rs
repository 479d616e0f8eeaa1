//! Meshes: devices in a grid with named axes. A thread may have a current mesh. A `P` refers to it if neither the
//! program nor the array has a mesh.

use crate::ambient::scoped;
use crate::{Error, P, Result, Sharding};
pub use shardwise_base::Communicate;
use shardwise_base::{self as base, AxisKind, Loc, MeshAxis, MeshError};
use std::borrow::Borrow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Devices in a grid with named axes. Cloning is cheap.
#[derive(Clone, PartialEq)]
pub struct Mesh(pub(crate) Arc<base::Mesh>);

/// An axis of a mesh: its name, its size, and its kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Axis {
    name: String,
    size: usize,
    kind: AxisKind,
}

impl Axis {
    /// Returns an Auto axis: the compiler decides how arrays are sharded over it.
    pub fn auto(name: &str, size: usize) -> Axis {
        Axis { name: name.into(), size, kind: AxisKind::Auto }
    }

    /// Returns an Explicit axis: the sharding over it is part of an array's type.
    pub fn explicit(name: &str, size: usize) -> Axis {
        Axis { name: name.into(), size, kind: AxisKind::Explicit }
    }

    /// Returns the name of the axis.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of devices along the axis.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns true if shardings over the axis are part of the types of arrays.
    pub fn is_explicit(&self) -> bool {
        self.kind == AxisKind::Explicit
    }
}

/// Formats the axis with its kind: `X=4 Explicit`.
impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} {:?}", self.name, self.size, self.kind)
    }
}

impl Mesh {
    /// Creates a mesh of Auto axes, over which the compiler decides shardings.
    ///
    /// # Errors
    ///
    /// `mesh` if two axes have the same name, a size is 0, or there are more than 64 axes or 2^20 devices.
    #[track_caller]
    pub fn auto<const N: usize>(axes: [(&str, usize); N]) -> Result<Mesh> {
        Mesh::new(axes.map(|(name, size)| Axis::auto(name, size)))
    }

    /// Creates a mesh of Explicit axes, over which shardings are part of array types. Where a result's sharding is
    /// ambiguous, the program has to state it.
    ///
    /// # Errors
    ///
    /// The same as [`Mesh::auto`].
    #[track_caller]
    pub fn explicit<const N: usize>(axes: [(&str, usize); N]) -> Result<Mesh> {
        Mesh::new(axes.map(|(name, size)| Axis::explicit(name, size)))
    }

    /// Sets whether programs may communicate over Explicit axes where they do not ask for it. The default is
    /// [`Communicate::Warn`]: warnings are printed when a program runs, once for each line, unless
    /// [`with_warnings`](crate::with_warnings) collects them.
    pub fn communication(self, level: Communicate) -> Mesh {
        Mesh(Arc::new(base::Mesh { communicate: level, ..base::Mesh::clone(&self.0) }))
    }

    /// Creates a mesh from axes that each have a kind of their own.
    ///
    /// # Errors
    ///
    /// The same as [`Mesh::auto`].
    #[track_caller]
    pub fn new(axes: impl IntoIterator<Item = Axis>) -> Result<Mesh> {
        let axes = axes.into_iter().map(|a| MeshAxis { name: a.name.into(), size: a.size, kind: a.kind }).collect();
        checked(base::Mesh::of_axes("mesh", axes).checked(), Location::caller())
    }

    /// Places the mesh on `devices`, in the order of the grid. Without this call, it is on the devices 0, 1, 2, ….
    ///
    /// # Errors
    ///
    /// `mesh` unless the ids of the devices are the numbers below the number of positions, each once. A mesh without
    /// axes can be on any one device.
    #[track_caller]
    pub fn on(self, devices: impl IntoIterator<Item = Device>) -> Result<Mesh> {
        let ids: Vec<usize> = devices.into_iter().map(|d| d.id).collect();
        checked(base::Mesh::clone(&self.0).with_device_ids(ids), Location::caller())
    }

    /// Sets the topology that connects the devices. If it has as many devices as the mesh, layouts are chosen for the
    /// time that they take there, not for the bytes that they move. A host has no such times, and those of a machine of
    /// a file are not used. A topology that the machine cannot have is not reported here, and has no effect.
    pub fn with_topology(self, topology: &crate::Topology) -> Mesh {
        Mesh(Arc::new(base::Mesh { topology: Some(topology.of_mesh()), ..base::Mesh::clone(&self.0) }))
    }

    /// Returns the axes, major to minor.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let mesh = Mesh::auto([("data", 4), ("model", 2)])?;
    /// let names: Vec<String> = mesh.axes().iter().map(|axis| axis.name().to_string()).collect();
    /// assert_eq!(names, ["data", "model"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn axes(&self) -> Vec<Axis> {
        self.0.axes.iter().map(|a| Axis { name: a.name.to_string(), size: a.size, kind: a.kind }).collect()
    }

    /// Returns the sizes of all axes: `let [x, y] = mesh.sizes();`.
    ///
    /// # Panics
    ///
    /// Panics if the mesh does not have `N` axes.
    #[track_caller]
    pub fn sizes<const N: usize>(&self) -> [usize; N] {
        let sizes: Vec<usize> = self.0.axes.iter().map(|a| a.size).collect();
        sizes.try_into().unwrap_or_else(|_| panic!("the mesh ({self}) has {} axes, not {N}", self.0.axes.len()))
    }

    /// Returns the size of an axis.
    ///
    /// # Panics
    ///
    /// Panics if the mesh has no axis of this name.
    #[track_caller]
    pub fn size(&self, axis: &str) -> usize {
        let found = self.0.axes.iter().find(|a| &*a.name == axis);
        found.unwrap_or_else(|| panic!("the mesh ({self}) has no axis \"{axis}\"")).size
    }

    /// Returns the sharding `spec` on this mesh, which need not be the current mesh.
    pub fn sharding(&self, spec: P) -> Sharding {
        Sharding { mesh: self.clone(), spec }
    }

    /// Returns true if one program may use arrays of both meshes: they have the same axes, of the same sizes and kinds,
    /// and the same devices.
    pub(crate) fn fits(&self, other: &Mesh) -> bool {
        let kinds = |m: &Mesh| m.0.axes.iter().map(|a| a.kind).collect::<Vec<_>>();
        self.0.same_devices(&other.0) && kinds(self) == kinds(other)
    }

    pub(crate) fn is_explicit(&self) -> bool {
        self.0.explicit_axes().next().is_some()
    }

    /// Formats the axes with their kinds: `X=4 Explicit, Y=2 Auto`.
    pub(crate) fn with_kinds(&self) -> String {
        let axes: Vec<String> = self.axes().iter().map(Axis::to_string).collect();
        axes.join(", ")
    }

    /// Returns the devices, in the order of the grid.
    pub fn devices(&self) -> Vec<Device> {
        (0..self.0.size()).map(|position| Device { id: self.0.device(position) }).collect()
    }
}

fn checked(mesh: Result<base::Mesh, MeshError>, at: &Location<'_>) -> Result<Mesh> {
    mesh.map(|m| Mesh(Arc::new(m))).map_err(|e| Error::one(e.diagnostic(&Loc::caller(at))))
}

/// Formats the mesh as `X=4, Y=2`.
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

scoped! {
    static CURRENT: Option<Mesh> = None;
}

/// Sets the current mesh of this thread, to which a `P` refers if neither the program nor the array has a mesh.
pub fn set_mesh(mesh: impl Borrow<Mesh>) {
    CURRENT.set(Some(mesh.borrow().clone()));
}

/// Runs `f` with `mesh` as the current mesh of this thread, then restores the previous one.
pub fn with_mesh<R>(mesh: impl Borrow<Mesh>, f: impl FnOnce() -> R) -> R {
    CURRENT.with(Some(mesh.borrow().clone()), f)
}

/// Returns the current mesh of this thread, or `None` if none has been set.
#[doc(alias = "current_mesh")]
pub fn get_mesh() -> Option<Mesh> {
    current()
}

pub(crate) fn current() -> Option<Mesh> {
    CURRENT.get()
}

/// A device of a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Device {
    id: usize,
}

impl Device {
    /// Returns the number that identifies the device.
    pub fn id(self) -> usize {
        self.id
    }
}

/// A list of virtual devices, numbered from 0, on which meshes can be placed. It owns nothing: all programs run on the
/// one engine of the process, and devices with the same number are equal, whichever client they come from.
#[derive(Clone, Debug)]
pub struct Client {
    devices: usize,
}

impl Client {
    /// Returns a client of the embedded engine with `devices` virtual devices.
    pub fn host(devices: usize) -> Client {
        Client { devices }
    }

    /// Returns the devices of this client.
    pub fn devices(&self) -> Vec<Device> {
        (0..self.devices).map(|id| Device { id }).collect()
    }

    /// Returns the name of the engine that runs programs.
    pub fn platform(&self) -> &str {
        crate::runtime::engine().name()
    }
}
