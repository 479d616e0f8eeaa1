//! Sets of axes and sub-axes.

use crate::{AxisRef, Mesh};
use std::collections::BTreeSet;

/// A set of axes and sub-axes of a mesh, in the mesh's order. Axes of size 1 count, because programs do not depend on
/// sizes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AxisSet(Vec<AxisRef>);

impl AxisSet {
    /// Returns the set of these axes, of which some may overlap. Parts of one axis that cannot coexist are replaced by
    /// the whole axis, as [`AxisRef::union`] states.
    pub fn new(mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> AxisSet {
        let axes: Vec<AxisRef> = axes.into_iter().collect();
        let single = axes.iter().filter(|a| mesh.axis_size(a.axis) == 1).map(|a| a.axis).collect::<BTreeSet<_>>();
        let mut all = AxisRef::union(mesh, axes);
        all.extend(single.into_iter().map(AxisRef::full));
        all.sort_by(|a, b| a.cmp_in_mesh(*b));
        AxisSet(all)
    }

    /// Returns the axes in the mesh's order.
    pub fn axes(&self) -> &[AxisRef] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = AxisRef> + '_ {
        self.0.iter().copied()
    }

    /// Returns the axes that are in either set.
    pub fn union(&self, other: &AxisSet, mesh: &Mesh) -> AxisSet {
        AxisSet::new(mesh, self.iter().chain(other.iter()))
    }

    /// Returns the axes, or parts of axes, that are not in `other`. A part of an axis in `other` removes nothing of a
    /// part that it cannot coexist with.
    pub fn minus(&self, other: &AxisSet, mesh: &Mesh) -> AxisSet {
        let rest = self.iter().flat_map(|a| match other.iter().any(|b| b.contains(a)) {
            true => vec![],
            false => a.minus(mesh, &other.0),
        });
        AxisSet(rest.collect())
    }

    /// Returns the axes, or parts of axes, that are in both sets. Parts of one axis that cannot coexist have nothing in
    /// common.
    pub fn and(&self, other: &AxisSet, mesh: &Mesh) -> AxisSet {
        self.minus(&self.minus(other, mesh), mesh)
    }

    /// Formats each axis: `X`, or `X:(1)2` for a sub-axis.
    pub fn names(&self, mesh: &Mesh) -> Vec<String> {
        self.0.iter().map(|a| a.display(mesh).to_string().replace('"', "")).collect()
    }

    /// Formats the axes as types do: `X`, `(X,Y)`, or `()` if the set is empty.
    pub fn show(&self, mesh: &Mesh) -> String {
        let names = self.names(mesh);
        if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(",")) }
    }
}
