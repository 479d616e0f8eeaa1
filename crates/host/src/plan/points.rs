//! Instances, which are the points along the axes over which a value varies.

use shardwise_base::budget::Meter;
use shardwise_base::{AxisRef, Mesh, Varying};
use shardwise_ops::collective::with_index_in;
use std::collections::HashMap;
use std::sync::Arc;

/// Instances of one value, by number, in an order.
pub type Group = Arc<[u32]>;

/// The axes over which a value varies, in the mesh's order. Instance `i` is point `i` along them, row-major.
#[derive(Clone, PartialEq, Debug)]
pub struct Points {
    pub mesh: Option<Arc<Mesh>>,
    pub axes: Vec<AxisRef>,
}

impl Points {
    /// Returns the points along the axes of `varying`. Without a mesh, there is one point.
    pub fn new(mesh: Option<&Arc<Mesh>>, varying: &Varying) -> Points {
        let axes = mesh.map_or(vec![], |m| varying.axes(m));
        Points { mesh: mesh.cloned(), axes }
    }

    /// Returns the points of an array that is distributed over these axes, which may overlap and have any order.
    /// Without a mesh, there is one point.
    pub fn over(mesh: Option<&Arc<Mesh>>, axes: impl IntoIterator<Item = AxisRef>) -> Points {
        let axes = mesh.map_or(vec![], |m| AxisRef::union(m, axes));
        Points { mesh: mesh.cloned(), axes }
    }

    /// Returns the number of points, which is the number of instances.
    pub fn count(&self) -> usize {
        self.mesh.as_ref().map_or(1, |m| self.axes.iter().map(|a| a.size(m)).product())
    }

    /// Returns the coordinates, along the mesh's whole axes, of the first device that holds instance `i`. Without a
    /// mesh, there are none.
    pub fn coordinates(&self, i: usize) -> Vec<usize> {
        let Some(mesh) = &self.mesh else { return vec![] };
        with_index_in(mesh, &self.axes, &vec![0; mesh.axes.len()], i)
    }

    /// Returns the instance that the device at these coordinates holds. Without a mesh, this is instance 0.
    pub fn instance(&self, coordinates: &[usize]) -> usize {
        self.mesh.as_ref().map_or(0, |m| AxisRef::index_in(m, &self.axes, coordinates))
    }

    /// Returns, for each instance of `self`, the instance of `other` on the first device that holds the instance of
    /// `self`.
    pub fn map_to(&self, other: &Points) -> Vec<u32> {
        if self.axes == other.axes {
            return (0..self.count() as u32).collect();
        }
        (0..self.count()).map(|i| other.instance(&self.coordinates(i)) as u32).collect()
    }

    /// Returns, for each instance of `self`, the instances of `other` on the first device that holds it and on those
    /// that differ from this device along `axes` only. They are in row-major order along `axes`. An instance of `other`
    /// that several of these devices hold is repeated. Instances of `self` for which these devices are the same share
    /// one group. Without a mesh, there is one group, of instance 0.
    pub fn groups(&self, other: &Points, axes: &[AxisRef]) -> Vec<Group> {
        let Some(mesh) = &self.mesh else { return vec![[0].into()] };
        let size: usize = axes.iter().map(|a| a.size(mesh)).product();
        let mut found: HashMap<Vec<usize>, Group> = HashMap::new();
        let mut meter = Meter::default();
        let group = |i: usize| {
            meter.add(1);
            let first = with_index_in(mesh, axes, &self.coordinates(i), 0);
            let members = |first: &Vec<usize>| {
                meter.add(size as u64);
                (0..size).map(|k| other.instance(&with_index_in(mesh, axes, first, k)) as u32).collect()
            };
            found.entry(first).or_insert_with_key(members).clone()
        };
        (0..self.count()).map(group).collect()
    }

    /// Returns true if some device holds both instance `i` of `self` and instance `point` of `other`. Parts of one axis
    /// that cannot coexist are not compared, so the result may be true for them although no device holds both.
    pub fn is_at(&self, i: usize, other: &Points, point: usize) -> bool {
        let Some(mesh) = &self.mesh else { return true };
        let shared = self.axes.iter().flat_map(|a| other.axes.iter().filter_map(|b| a.overlap(*b)));
        let shared: Vec<AxisRef> = shared.collect();
        let at = |coordinates: &[usize]| AxisRef::index_in(mesh, &shared, coordinates);
        at(&self.coordinates(i)) == at(&other.coordinates(point))
    }

    /// Returns every device that holds instance `i`, as a position in the mesh. Without a mesh, this is position 0.
    pub fn devices(&self, i: usize) -> Vec<usize> {
        let Some(mesh) = &self.mesh else { return vec![0] };
        let first = self.coordinates(i);
        let rest: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, &self.axes)).collect();
        (0..AxisRef::total_size(mesh, &rest)).map(|k| mesh.position(&with_index_in(mesh, &rest, &first, k))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;

    fn mesh() -> Arc<Mesh> {
        Arc::new(Mesh::new("mesh", [("X", 4), ("Y", 2)]).unwrap())
    }

    #[test]
    fn groups_follow_axis_order() {
        let mesh = mesh();
        let (x, y) = (AxisRef::full(AxisIndex::new(0)), AxisRef::full(AxisIndex::new(1)));
        let all = Points::over(Some(&mesh), [x, y]);
        let over_x = Points::over(Some(&mesh), [x]);
        assert_eq!(over_x.groups(&all, &[y]), [[0, 1].into(), [2, 3].into(), [4, 5].into(), Group::from([6, 7])]);
        assert_eq!(all.map_to(&over_x), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(over_x.devices(2), [4, 5]);
    }

    #[test]
    fn instances_are_compared_with_points_of_overlapping_axes() {
        let mesh = mesh();
        let (x, y) = (AxisRef::full(AxisIndex::new(0)), AxisRef::full(AxisIndex::new(1)));
        let all = Points::over(Some(&mesh), [x, y]);
        for axes in [vec![], vec![x], vec![y], vec![x, y], vec![AxisRef::sub(&mesh, AxisIndex::new(0), 2, 2), y]] {
            let points = Points::over(Some(&mesh), axes);
            for (i, point) in (0..points.count()).flat_map(|i| (0..all.count()).map(move |p| (i, p))) {
                let is_held = points.devices(i).contains(&all.devices(point)[0]);
                assert_eq!((points.is_at(i, &all, point), all.is_at(point, &points, i)), (is_held, is_held));
            }
        }
    }

    #[test]
    fn sub_axes_are_points_too() {
        let mesh = mesh();
        let major = AxisRef::sub(&mesh, AxisIndex::new(0), 1, 2);
        let minor = AxisRef::sub(&mesh, AxisIndex::new(0), 2, 2);
        let points = Points::over(Some(&mesh), [minor]);
        assert_eq!(points.count(), 2);
        assert_eq!(with_index_in(&mesh, &[major], &[3, 1], 0), [1, 1]);
        assert_eq!(points.devices(1), [2, 3, 6, 7]);
    }
}
