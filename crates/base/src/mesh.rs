//! Meshes: devices in a grid with named axes.

use crate::printable::printable;
use crate::{AxisIndex, AxisRef, Diagnostic, Loc, did_you_mean};
use std::fmt;
use std::sync::Arc;

/// Who decides the shardings over an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AxisKind {
    /// The compiler decides, by propagation.
    #[default]
    Auto,
    /// The types of the program state the shardings.
    Explicit,
    /// The program is written per device.
    Manual,
}

/// Says what the compiler does over Explicit axes if communication is needed that the program does not ask for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Communicate {
    /// The compiler may communicate without a message.
    Allow,
    /// The compiler may communicate, with a warning.
    #[default]
    Warn,
    /// The compiler may not communicate; the program has to state where data moves.
    Deny,
}

/// An axis of a mesh.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeshAxis {
    pub name: Arc<str>,
    pub size: usize,
    pub kind: AxisKind,
}

/// How the devices are interconnected. It is kept and printed with the mesh. Predictions of times use it if no other
/// machine is stated, and [`Rates`] follow from it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topology {
    /// The name of the kind of machine (`v5e`, `tpu-v5e`, `h100`), or the file that describes it.
    pub kind: Arc<str>,
    /// The number of chips along each physical dimension, x first. For GPUs, the number of nodes and that of the GPUs
    /// in each. For a host, the number of devices.
    pub grid: Vec<usize>,
    /// True if the links around the short dimensions are shifted along the long ones.
    pub is_twisted: bool,
    /// The number of grids of chips of this form, which the network of the data centre connects.
    pub pods: usize,
}

/// The work of a device in the time in which it receives a byte in an all-gather along the fastest axis of a mesh. With
/// rates, layouts are chosen for the time that they take, and otherwise for the bytes that they move.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rates {
    /// For each axis of the mesh, how many times as long a byte takes along it as along the fastest axis: 1 for the
    /// fastest one.
    pub slowdowns: Vec<u32>,
    /// The bytes that a device receives along the fastest axis while a collective starts, at least 1.
    pub start: u32,
    /// The floating-point operations that a device does in the time of one byte along the fastest axis, at least 1.
    pub flops: u32,
    /// The bytes that a device reads from or writes to its memory in the time of one byte along the fastest axis, at
    /// least 1.
    pub memory_bytes: u32,
}

impl Rates {
    /// Returns the slowdown of the slowest of some axes, or 1 if there are none.
    pub fn slowdown(&self, axes: impl IntoIterator<Item = AxisRef>) -> u32 {
        axes.into_iter().map(|a| self.slowdowns[a.axis.index()]).max().unwrap_or(1)
    }

    /// Returns true if the rates are ones of a mesh with this number of axes: there is a slowdown for each axis, and no
    /// number is 0.
    pub fn fit(&self, axis_count: usize) -> bool {
        let numbers = || self.slowdowns.iter().chain([&self.start, &self.flops, &self.memory_bytes]);
        self.slowdowns.len() == axis_count && numbers().all(|&n| n > 0)
    }
}

/// Devices in a grid with named axes, row-major.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mesh {
    /// The symbol by which text refers to the mesh, without `@`.
    pub name: Arc<str>,
    pub axes: Vec<MeshAxis>,
    /// The device at each position of the grid; `None` means 0, 1, 2, …
    pub device_ids: Option<Vec<usize>>,
    /// How the devices are interconnected, or `None` if that is not stated.
    pub topology: Option<Topology>,
    /// The rates of the devices, which fit the axes, or `None` if the partitioner should compare bytes.
    pub rates: Option<Rates>,
    pub communicate: Communicate,
}

/// The positions of a mesh's devices: the inverse of [`Mesh::device`].
#[derive(Clone, Debug)]
pub struct Positions {
    size: usize,
    /// Pairs of device and position, sorted by device. `None` if the mesh has no list of devices: each device is then
    /// at the position of its own number.
    by_device: Option<Vec<(usize, usize)>>,
}

impl Positions {
    /// Returns the position of `device` in the grid, or `None` if the mesh does not have the device.
    pub fn of(&self, device: usize) -> Option<usize> {
        match &self.by_device {
            None => (device < self.size).then_some(device),
            Some(list) => list.binary_search_by_key(&device, |e| e.0).ok().map(|i| list[i].1),
        }
    }
}

/// The reason why a mesh cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MeshError {
    DuplicateAxis { name: String },
    EmptyAxis { name: String },
    TooManyDevices,
    TooManyAxes { count: usize },
    DeviceIds { expected: usize, found: usize },
    NoSuchDevice { device: usize, count: usize },
    DeviceTwice { device: usize },
}

impl Mesh {
    /// The largest number of devices of a mesh. It keeps products of sizes far from overflow.
    pub const MAX_DEVICES: usize = 1 << 20;
    /// The largest number of axes of a mesh.
    pub const MAX_AXES: usize = 64;

    /// Returns a mesh of the devices 0, 1, 2, …, with axes given by their names and sizes. The axes are
    /// [`AxisKind::Auto`].
    ///
    /// # Errors
    /// Fails if the mesh is not valid, see [`Mesh::checked`].
    pub fn new<'a>(
        name: impl Into<Arc<str>>,
        axes: impl IntoIterator<Item = (&'a str, usize)>,
    ) -> Result<Mesh, MeshError> {
        let axes =
            axes.into_iter().map(|(name, size)| MeshAxis { name: name.into(), size, kind: AxisKind::Auto }).collect();
        Mesh::of_axes(name, axes).checked()
    }

    /// Returns a mesh of the devices 0, 1, 2, …, without a check ([`Mesh::checked`]).
    pub fn of_axes(name: impl Into<Arc<str>>, axes: Vec<MeshAxis>) -> Mesh {
        Mesh {
            name: name.into(),
            axes,
            device_ids: None,
            topology: None,
            rates: None,
            communicate: Communicate::default(),
        }
    }

    /// Returns the mesh with these devices at the positions of its grid. The identity is stored as `None`, except on a
    /// mesh without axes, which may have any single device and always keeps its id.
    ///
    /// # Errors
    /// Fails if the mesh is not valid or `ids` is no permutation of its devices.
    pub fn with_device_ids(mut self, ids: Vec<usize>) -> Result<Mesh, MeshError> {
        let is_identity = ids.iter().enumerate().all(|(i, &d)| i == d);
        self.device_ids = Some(ids);
        let mut mesh = self.checked()?;
        if is_identity && !mesh.axes.is_empty() {
            mesh.device_ids = None;
        }
        Ok(mesh)
    }

    /// Returns the mesh if it is valid.
    ///
    /// # Errors
    /// Fails if there are too many axes or devices, if two axes have the same name, if an axis has size 0, or if the
    /// device ids are no permutation of the devices. The single device of a mesh without axes may have any id.
    pub fn checked(self) -> Result<Mesh, MeshError> {
        if self.axes.len() > Mesh::MAX_AXES {
            return Err(MeshError::TooManyAxes { count: self.axes.len() });
        }
        let mut size = 1usize;
        for (i, axis) in self.axes.iter().enumerate() {
            if self.axes[..i].iter().any(|a| a.name == axis.name) {
                return Err(MeshError::DuplicateAxis { name: axis.name.to_string() });
            }
            if axis.size == 0 {
                return Err(MeshError::EmptyAxis { name: axis.name.to_string() });
            }
            size = size.checked_mul(axis.size).filter(|&n| n <= Mesh::MAX_DEVICES).ok_or(MeshError::TooManyDevices)?;
        }
        self.check_device_ids(size)?;
        Ok(self)
    }

    fn check_device_ids(&self, size: usize) -> Result<(), MeshError> {
        let Some(ids) = &self.device_ids else {
            return Ok(());
        };
        if self.is_maximal() {
            return Ok(());
        }
        if ids.len() != size {
            return Err(MeshError::DeviceIds { expected: size, found: ids.len() });
        }
        let mut seen = vec![false; size];
        for &id in ids {
            if id >= size {
                return Err(MeshError::NoSuchDevice { device: id, count: size });
            }
            if std::mem::replace(&mut seen[id], true) {
                return Err(MeshError::DeviceTwice { device: id });
            }
        }
        Ok(())
    }

    /// Returns true if the mesh has no axes and lists a single device: `[], device_ids=[k]`. A mesh without axes and
    /// without a list of devices is not maximal.
    pub fn is_maximal(&self) -> bool {
        self.axes.is_empty() && self.device_ids.as_ref().is_some_and(|ids| ids.len() == 1)
    }

    /// Returns the number of devices.
    pub fn size(&self) -> usize {
        self.axes.iter().map(|a| a.size).product()
    }

    /// Returns the axis with this name, or `None`.
    pub fn axis(&self, name: &str) -> Option<AxisIndex> {
        self.axes.iter().position(|a| &*a.name == name).map(AxisIndex::new)
    }

    /// Returns the help text for a name that no axis has, which names the most similar axis, or `None` if no axis is
    /// similar enough ([`did_you_mean`]).
    pub fn near_axis(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.axes.iter().map(|a| &*a.name)).map(|near| format!("did you mean \"{near}\"?"))
    }

    /// Returns the name of an axis, which must be an axis of this mesh.
    pub fn axis_name(&self, axis: AxisIndex) -> &str {
        &self.axes[axis.index()].name
    }

    /// Returns the size of an axis, which must be an axis of this mesh.
    pub fn axis_size(&self, axis: AxisIndex) -> usize {
        self.axes[axis.index()].size
    }

    /// Returns every axis as a whole, in the order of the mesh.
    pub fn all_axes(&self) -> impl Iterator<Item = AxisRef> + '_ {
        (0..self.axes.len()).map(|i| AxisRef::full(AxisIndex::new(i)))
    }

    /// Returns every axis as sub-axes of prime size, in the order of the mesh and major to minor. An axis whose size is
    /// prime is returned whole, and axes of size 1 are left out.
    pub fn prime_parts(&self) -> Vec<AxisRef> {
        let mut parts = vec![];
        for a in self.all_axes() {
            let (mut pre, mut rest) = (1, a.size(self));
            while rest > 1 {
                let p = (2..).take_while(|p| p * p <= rest).find(|p| rest.is_multiple_of(*p)).unwrap_or(rest);
                parts.push(AxisRef::sub(self, a.axis, pre, p));
                pre *= p;
                rest /= p;
            }
        }
        parts
    }

    /// Returns the position in the grid (the logical id), row-major, of a list of coordinates, one for each axis.
    pub fn position(&self, coordinates: &[usize]) -> usize {
        self.axes.iter().zip(coordinates).fold(0, |p, (axis, c)| p * axis.size + c)
    }

    /// Returns the coordinates of position `position` of the grid, one for each axis. The position must be less than
    /// the number of devices.
    pub fn coordinates(&self, position: usize) -> Vec<usize> {
        let mut rest = position;
        let mut coordinates: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let c = rest % axis.size;
                rest /= axis.size;
                c
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// Returns the device at a position of the grid. The position must be less than the number of devices.
    pub fn device(&self, position: usize) -> usize {
        self.device_ids.as_ref().map_or(position, |ids| ids[position])
    }

    /// Returns the position in the grid of each device.
    pub fn positions(&self) -> Positions {
        let ids = self.device_ids.as_ref();
        let by_device = ids.map(|ids| {
            let mut by_device: Vec<(usize, usize)> = ids.iter().enumerate().map(|(p, &device)| (device, p)).collect();
            by_device.sort_unstable();
            by_device
        });
        Positions { size: self.size(), by_device }
    }

    /// Returns the Explicit axes, each as a whole, in the order of the mesh.
    pub fn explicit_axes(&self) -> impl Iterator<Item = AxisRef> + '_ {
        self.all_axes().filter(|a| self.axes[a.axis.index()].kind == AxisKind::Explicit)
    }

    /// Returns true if two meshes have the same axes by name and size, and equal lists of devices or both none. The
    /// names of the meshes, the kinds of the axes, the topologies, the rates and the rules for communication may
    /// differ.
    pub fn same_devices(&self, other: &Mesh) -> bool {
        std::ptr::eq(self, other)
            || self.axes.len() == other.axes.len()
                && self.axes.iter().zip(&other.axes).all(|(a, b)| a.name == b.name && a.size == b.size)
                && self.device_ids == other.device_ids
    }
}

/// Prints `X=4, Y=2`.
impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, axis) in self.axes.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}={}", printable(&axis.name), axis.size)?;
        }
        Ok(())
    }
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshError::DuplicateAxis { name } => {
                write!(f, "the mesh has two axes named \"{name}\"")
            }
            MeshError::EmptyAxis { name } => write!(f, "axis \"{name}\" has size 0"),
            MeshError::TooManyDevices => {
                write!(f, "the mesh has more than {} devices", Mesh::MAX_DEVICES)
            }
            MeshError::TooManyAxes { count } => {
                write!(f, "the mesh has {count} axes, more than {}", Mesh::MAX_AXES)
            }
            MeshError::DeviceIds { expected, found } => {
                write!(f, "the mesh has {expected} positions and {found} device ids")
            }
            MeshError::NoSuchDevice { device, count } => {
                write!(f, "device id {device} is not below {count}, the number of devices")
            }
            MeshError::DeviceTwice { device } => write!(f, "the mesh lists device {device} twice"),
        }
    }
}

impl std::error::Error for MeshError {}

impl MeshError {
    /// Returns the message for the person who wrote the mesh at `loc`.
    pub fn diagnostic(&self, loc: &Loc) -> Diagnostic {
        let help = match self {
            MeshError::DuplicateAxis { .. } => "give each axis a name of its own",
            MeshError::EmptyAxis { .. } => "give the axis one device or more, or leave it out",
            MeshError::TooManyDevices => "use a smaller mesh",
            MeshError::TooManyAxes { .. } => "join axes: an axis of size 6 serves for axes of sizes 2 and 3",
            MeshError::DeviceIds { .. } | MeshError::NoSuchDevice { .. } | MeshError::DeviceTwice { .. } => {
                "list each device once, from 0 on, or leave out the list: the devices are then in order"
            }
        };
        Diagnostic::error("mesh", loc, self.to_string()).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_the_inverse_of_devices() {
        let mesh = Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap();
        for mesh in [mesh.clone().with_device_ids(vec![3, 1, 0, 2]).unwrap(), mesh] {
            let positions = mesh.positions();
            assert!((0..4).all(|p| positions.of(mesh.device(p)) == Some(p)));
            assert_eq!(positions.of(4), None);
        }
        let maximal = Mesh { device_ids: Some(vec![7]), ..Mesh::of_axes("one", vec![]) };
        assert_eq!((maximal.positions().of(7), maximal.positions().of(0)), (Some(0), None));
    }

    #[test]
    fn an_identity_is_a_permutation_too() {
        let mesh = || Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap();
        assert_eq!(mesh().with_device_ids(vec![0, 1, 2, 3]), Ok(mesh()));
        for found in [0, 1, 3, 5] {
            let ids = (0..found).collect();
            assert_eq!(mesh().with_device_ids(ids), Err(MeshError::DeviceIds { expected: 4, found }));
        }
    }
}
