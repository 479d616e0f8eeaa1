//! The layout of a tensor on a mesh: for each dimension, the axes that split it, major to minor.

use crate::printable::printable;
use crate::{AxisRef, Mesh};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The axes over which one dimension is split, major to minor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DimSharding {
    pub axes: Vec<AxisRef>,
    /// States whether propagation may append axes to the dimension.
    pub is_open: bool,
    /// The user priority, `p<N>`: this dimension takes part in propagation after those with lower numbers.
    /// `None` is the same as 0.
    pub priority: Option<u32>,
}

impl DimSharding {
    /// Returns a closed dimension that is split over `axes`, without a priority.
    pub fn closed(axes: Vec<AxisRef>) -> DimSharding {
        DimSharding { axes, is_open: false, priority: None }
    }

    /// Returns an open dimension that is split over `axes`, without a priority.
    pub fn open(axes: Vec<AxisRef>) -> DimSharding {
        DimSharding { axes, is_open: true, priority: None }
    }

    /// Returns the dimension with these axes. A closed dimension without axes has no priority.
    fn with_axes(&self, axes: Vec<AxisRef>) -> DimSharding {
        let is_settled = axes.is_empty() && !self.is_open;
        DimSharding { axes, is_open: self.is_open, priority: self.priority.filter(|_| !is_settled) }
    }

    /// Returns the number of shards along the dimension.
    pub fn shard_count(&self, mesh: &Mesh) -> usize {
        self.axes.iter().map(|a| a.size(mesh)).product()
    }
}

/// The layout of a tensor on a mesh, as `#sdy.sharding`. Clones share the parts until one of them changes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sharding(Arc<ShardingParts>);

/// The parts of a [`Sharding`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShardingParts {
    pub mesh: Arc<Mesh>,
    /// The sharding of each dimension of the tensor.
    pub dims: Vec<DimSharding>,
    /// The axes that propagation may not use to split a dimension.
    pub replicated: Vec<AxisRef>,
    /// The axes over which the value has not been summed yet.
    pub unreduced: Vec<AxisRef>,
    /// The axes over which the value is equal and its gradient has not been summed yet. Only the types of Rust programs
    /// have them, modules do not.
    pub reduced: Vec<AxisRef>,
}

impl From<ShardingParts> for Sharding {
    fn from(parts: ShardingParts) -> Sharding {
        Sharding(Arc::new(parts))
    }
}

impl Deref for Sharding {
    type Target = ShardingParts;
    fn deref(&self) -> &ShardingParts {
        &self.0
    }
}

impl DerefMut for Sharding {
    fn deref_mut(&mut self) -> &mut ShardingParts {
        Arc::make_mut(&mut self.0)
    }
}

impl fmt::Debug for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sharding {
    /// Returns a sharding without explicitly replicated, unreduced or reduced axes.
    pub fn new(mesh: &Arc<Mesh>, dims: Vec<DimSharding>) -> Sharding {
        ShardingParts { mesh: mesh.clone(), dims, replicated: vec![], unreduced: vec![], reduced: vec![] }.into()
    }

    /// Returns a sharding whose dimensions are all unsplit and closed: every device holds the same value.
    pub fn replicated(mesh: &Arc<Mesh>, rank: usize) -> Sharding {
        Sharding::new(mesh, vec![DimSharding::closed(vec![]); rank])
    }

    /// Returns the sharding without axes of size 1, which split nothing. Parts of one axis that become neighbours are
    /// merged, and closed dimensions without axes lose their priorities. If the mesh has no axis of size 1, returns the
    /// sharding unchanged.
    pub fn without_unit_axes(&self) -> Sharding {
        let mesh = &self.mesh;
        if mesh.axes.iter().all(|a| a.size != 1) {
            return self.clone();
        }
        let keep = |axes: &[AxisRef]| {
            let mut kept = vec![];
            // Two parts of an axis may become neighbours.
            axes.iter().filter(|a| a.size(mesh) != 1).for_each(|&a| AxisRef::push_or_merge(&mut kept, a, mesh));
            kept
        };
        ShardingParts {
            mesh: mesh.clone(),
            dims: self.dims.iter().map(|d| d.with_axes(keep(&d.axes))).collect(),
            replicated: keep(&self.replicated),
            unreduced: keep(&self.unreduced),
            reduced: keep(&self.reduced),
        }
        .into()
    }

    /// Returns the sharding in which those parts of `axes` that split no dimension and are not unreduced are declared
    /// as replicated, so that propagation does not use them.
    pub fn with_rest_replicated(&self, axes: &[AxisRef]) -> Sharding {
        let used = self.split_axes().chain(self.replicated.iter().copied()).chain(self.unreduced.iter().copied());
        let used: Vec<AxisRef> = used.collect();
        let unused: Vec<AxisRef> = axes.iter().flat_map(|a| a.minus(&self.mesh, &used)).collect();
        let mut out = self.clone();
        if !unused.is_empty() {
            out.replicated.extend(unused);
            AxisRef::sort_and_merge(&mut out.replicated, &self.mesh);
        }
        out
    }

    /// Returns a sharding whose dimensions are all unsplit and open, so that propagation decides everything.
    pub fn open(mesh: &Arc<Mesh>, rank: usize) -> Sharding {
        Sharding::new(mesh, vec![DimSharding::open(vec![]); rank])
    }

    /// Returns a sharding with closed dimensions that are split over these axes.
    pub fn closed(mesh: &Arc<Mesh>, dims: Vec<Vec<AxisRef>>) -> Sharding {
        Sharding::new(mesh, dims.into_iter().map(DimSharding::closed).collect())
    }

    /// Returns the same sharding on another mesh. Axes are identified by their positions in the mesh.
    pub fn with_mesh(mut self, mesh: Arc<Mesh>) -> Sharding {
        self.mesh = mesh;
        self
    }

    /// Returns the same sharding with these dimensions.
    pub fn with_dims(mut self, dims: Vec<DimSharding>) -> Sharding {
        self.dims = dims;
        self
    }

    /// Returns the same sharding with these unreduced axes.
    pub fn with_unreduced(mut self, unreduced: Vec<AxisRef>) -> Sharding {
        if self.unreduced != unreduced {
            self.unreduced = unreduced;
        }
        self
    }

    /// Returns the same sharding with these reduced axes.
    pub fn with_reduced(mut self, reduced: Vec<AxisRef>) -> Sharding {
        if self.reduced != reduced {
            self.reduced = reduced;
        }
        self
    }

    /// Returns true if no dimension is open.
    pub fn is_closed(&self) -> bool {
        self.dims.iter().all(|d| !d.is_open)
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns true if no dimension has axes, even of size 1, and no axis is unreduced.
    pub fn is_replicated(&self) -> bool {
        self.unreduced.is_empty() && self.dims.iter().all(|d| d.axes.is_empty())
    }

    /// Returns the axes of all dimensions, in order.
    pub fn split_axes(&self) -> impl Iterator<Item = AxisRef> + '_ {
        self.dims.iter().flat_map(|d| d.axes.iter().copied())
    }

    /// Returns the number of shards along each dimension.
    pub fn shard_counts(&self) -> Vec<usize> {
        self.dims.iter().map(|d| d.shard_count(&self.mesh)).collect()
    }

    /// Returns the shape of the largest shard: each dimension divided by its number of shards, rounded up. `global`
    /// must have as many dimensions as the sharding.
    pub fn local_shape(&self, global: &[usize]) -> Vec<usize> {
        debug_assert_eq!(global.len(), self.dims.len());
        global.iter().zip(&self.dims).map(|(&n, d)| n.div_ceil(d.shard_count(&self.mesh))).collect()
    }

    /// Returns true if every shard has the same shape. `global` must have as many dimensions as the sharding.
    pub fn divides(&self, global: &[usize]) -> bool {
        global.iter().zip(&self.dims).all(|(&n, d)| n.is_multiple_of(d.shard_count(&self.mesh)))
    }

    /// Returns the index along each dimension of the shard that the device at `coordinates` of the mesh holds.
    pub fn shard_index(&self, coordinates: &[usize]) -> Vec<usize> {
        self.dims.iter().map(|d| list_index(&self.mesh, &d.axes, coordinates)).collect()
    }

    /// Returns the layout alone: dimensions are closed and have no priorities, and replicated and reduced axes are
    /// dropped.
    pub fn canonical(&self) -> Sharding {
        let is_canonical = |d: &DimSharding| !d.is_open && d.priority.is_none();
        if self.replicated.is_empty() && self.reduced.is_empty() && self.dims.iter().all(is_canonical) {
            return self.clone();
        }
        let dims = self.dims.iter().map(|d| DimSharding::closed(d.axes.clone())).collect();
        Sharding::new(&self.mesh, dims).with_unreduced(self.unreduced.clone())
    }

    /// Returns true if both have the same axes at each dimension, the same unreduced axes, and meshes with the same
    /// axes and devices. Open dimensions, priorities, and explicitly replicated or reduced axes are not compared.
    pub fn same_layout(&self, other: &Sharding) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.mesh.same_devices(&other.mesh)
                && self.unreduced == other.unreduced
                && self.dims.len() == other.dims.len()
                && self.dims.iter().zip(&other.dims).all(|(a, b)| a.axes == b.axes)
    }
}

fn list_index(mesh: &Mesh, axes: &[AxisRef], coordinates: &[usize]) -> usize {
    axes.iter().fold(0, |index, a| index * a.size(mesh) + a.coordinate(mesh, coordinates[a.axis.index()]))
}

impl AxisRef {
    /// Returns the position along a list of axes, major to minor, of the device at `coordinates` of the mesh.
    pub fn index_in(mesh: &Mesh, axes: &[AxisRef], coordinates: &[usize]) -> usize {
        list_index(mesh, axes, coordinates)
    }
}

/// Prints `<@mesh, [{"x"}p1, {?}], replicated={"y"}, unreduced={"z"}>`, and `reduced={..}` at the end. Of these three
/// lists, those without axes are left out. `?` marks an open dimension, and `p1` states the priority of a dimension.
impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<@{}, [", printable(&self.mesh.name))?;
        for (i, dim) in self.dims.iter().enumerate() {
            f.write_str(if i > 0 { ", {" } else { "{" })?;
            write_axes(f, &self.mesh, &dim.axes)?;
            if dim.is_open {
                f.write_str(if dim.axes.is_empty() { "?" } else { ", ?" })?;
            }
            f.write_str("}")?;
            if let Some(p) = dim.priority {
                write!(f, "p{p}")?;
            }
        }
        f.write_str("]")?;
        let rest = [("replicated", &self.replicated), ("unreduced", &self.unreduced), ("reduced", &self.reduced)];
        for (word, axes) in rest {
            if !axes.is_empty() {
                write!(f, ", {word}={{")?;
                write_axes(f, &self.mesh, axes)?;
                f.write_str("}")?;
            }
        }
        f.write_str(">")
    }
}

fn write_axes(f: &mut fmt::Formatter<'_>, mesh: &Mesh, axes: &[AxisRef]) -> fmt::Result {
    for (i, a) in axes.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{}", a.display(mesh))?;
    }
    Ok(())
}
