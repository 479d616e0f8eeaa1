//! The groups of processes that take part in a collective together: over mesh axes, or as lists of ids.
//!
//! Members of a group over axes are ordered by position along the axis list, major to minor, and those of a list as in
//! the list. The order of the groups has no meaning.

use shardwise_base::budget::Meter;
use shardwise_base::{AxisIndex, AxisRef, Mesh};
use std::sync::Arc;

/// The groups of processes that take part in a collective together.
#[derive(Clone, PartialEq, Debug)]
pub enum Groups {
    /// One group for each point of the mesh's other axes. Its members are the devices that differ along `axes` only.
    Axes { mesh: Arc<Mesh>, axes: Vec<AxisRef> },
    /// Lists of ids, as imported. [`IdSpace`](super::IdSpace) states what they are the ids of.
    Dense(Vec<Vec<usize>>),
    /// One group of all processes, in their order.
    All,
}

impl Groups {
    /// Returns the number of members of the largest group. A replica in a list counts as one member, also if all of its
    /// partitions take part. Returns `None` if there are no groups, or if the one group has all processes, whose number
    /// is not known here.
    pub fn group_size(&self) -> Option<usize> {
        match self {
            Groups::Axes { mesh, axes } => Some(AxisRef::total_size(mesh, axes)),
            Groups::Dense(groups) => groups.iter().map(Vec::len).max(),
            Groups::All => None,
        }
    }

    /// Returns the same groups over axes of `mesh`, or `None` if no axis list forms them. Ids in lists are read as
    /// devices. Groups that are over axes already are returned unchanged if their mesh has the same axes and devices as
    /// `mesh`. If their mesh differs, the result is `None`.
    pub fn to_axes(&self, mesh: &Arc<Mesh>) -> Option<Groups> {
        let axes = match self {
            Groups::Axes { mesh: own, .. } => return own.same_devices(mesh).then(|| self.clone()),
            Groups::Dense(groups) => axes_of_groups(mesh, groups)?,
            Groups::All if mesh.device_ids.is_none() => mesh.all_axes().filter(|a| a.size(mesh) > 1).collect(),
            Groups::All => axes_of_groups(mesh, &[(0..mesh.size()).collect()])?,
        };
        Some(Groups::Axes { mesh: mesh.clone(), axes })
    }

    /// Returns the same groups as lists of ids. Those of groups over axes are of devices. Lists are returned unchanged.
    /// `count` is the number of all processes, of which [`Groups::All`] makes one group.
    pub fn to_dense(&self, count: usize) -> Vec<Vec<usize>> {
        match self {
            Groups::Axes { mesh, axes } => groups_of_axes(mesh, axes),
            Groups::Dense(groups) => groups.clone(),
            Groups::All => vec![(0..count).collect()],
        }
    }
}

/// Returns the coordinates of the device at position `index` along `axes` that agrees with `coordinates` along all
/// other axes.
pub fn with_index_in(mesh: &Mesh, axes: &[AxisRef], coordinates: &[usize], index: usize) -> Vec<usize> {
    let mut out = coordinates.to_vec();
    let mut rest = index;
    for a in axes.iter().rev() {
        let size = a.size(mesh);
        let minor = mesh.axis_size(a.axis) / a.next_pre_size(mesh);
        let c = &mut out[a.axis.index()];
        *c = *c / (size * minor) * (size * minor) + rest % size * minor + *c % minor;
        rest /= size;
    }
    out
}

/// Returns the groups of device ids that an axis list forms, in the order of their first members' positions.
pub fn groups_of_axes(mesh: &Mesh, axes: &[AxisRef]) -> Vec<Vec<usize>> {
    let size = AxisRef::total_size(mesh, axes);
    let mut meter = Meter::default();
    let firsts = (0..mesh.size())
        .inspect(|_| meter.add(1))
        .map(|p| mesh.coordinates(p))
        .filter(|coordinates| AxisRef::index_in(mesh, axes, coordinates) == 0);
    let member = |c: &[usize], i: usize| mesh.device(mesh.position(&with_index_in(mesh, axes, c, i)));
    firsts.map(|c| (0..size).map(|i| member(&c, i)).collect()).collect()
}

/// Returns the axis list, with sub-axes, that forms these groups of device ids, or `None` if there is none. The order
/// of the groups does not matter, but the order in each group does.
pub fn axes_of_groups(mesh: &Mesh, groups: &[Vec<usize>]) -> Option<Vec<AxisRef>> {
    let positions = mesh.positions();
    let first: Vec<usize> = groups.first()?.iter().map(|&device| positions.of(device)).collect::<Option<_>>()?;
    let axes = axes_of_offsets(mesh, &first)?;
    let mut expected = groups_of_axes(mesh, &axes);
    let mut given = groups.to_vec();
    expected.sort_unstable();
    given.sort_unstable();
    (expected == given).then_some(axes)
}

/// Returns the axes of `to`, major to minor, along which each device has the same position as along `axes` of `from`.
/// Returns `None` if there are none. The devices are only listed if the meshes have different devices or have them in
/// different orders.
///
/// `p:(1)2, q` of `p=4, q=2` -> `x, y:(2)2` of `x=2, y=4`, if both are in the order of their numbers
pub fn axes_in_mesh(from: &Mesh, axes: &[AxisRef], to: &Mesh) -> Option<Vec<AxisRef>> {
    if from.size() != to.size() || from.device_ids != to.device_ids {
        return axes_of_groups(to, &groups_of_axes(from, axes));
    }
    let mut minor_to_major: Vec<AxisRef> = vec![];
    // The position along an axis is a digit of the device's position in the mesh: `position / stride % size`.
    let digit = |a: &AxisRef| {
        let minor_axes: usize = from.axes[a.axis.index() + 1..].iter().map(|axis| axis.size).product();
        (from.axis_size(a.axis) / a.next_pre_size(from) * minor_axes, a.size(from))
    };
    let mut digits = axes.iter().rev().map(digit).filter(|&(_, size)| size > 1).peekable();
    while let Some((stride, mut size)) = digits.next() {
        while let Some((_, more)) = digits.next_if(|&(next, _)| next == stride * size) {
            size *= more;
        }
        push_axes_of_stride(to, stride, size, &mut minor_to_major)?;
    }
    Some(major_to_minor(to, minor_to_major))
}

/// Returns the parts of axes along which some members of one of the `rows` of device ids differ, in the order of the
/// mesh. Returns `None` if an id is no device of the mesh.
///
/// `[[0, 6], [1, 7]]` on `x=2, y=2, z=2` -> `x, y`
pub fn axes_between<'a>(mesh: &Mesh, rows: impl Iterator<Item = &'a [usize]>) -> Option<Vec<AxisRef>> {
    let positions = mesh.positions();
    let mut same = mesh.prime_parts();
    for row in rows {
        let members = row.iter().map(|&id| positions.of(id).map(|position| mesh.coordinates(position)));
        let members: Vec<Vec<usize>> = members.collect::<Option<_>>()?;
        let along = |part: AxisRef, member: &[usize]| AxisRef::index_in(mesh, &[part], member);
        same.retain(|&part| members.iter().all(|member| along(part, member) == along(part, &members[0])));
    }
    Some(mesh.all_axes().flat_map(|axis| axis.minus(mesh, &same)).filter(|a| a.size(mesh) > 1).collect())
}

/// Returns the axes, major to minor, along which the positions `group` of a group run, or `None` if it finds none. The
/// positions are read as digits of mixed radix: each run of `size` steps of `stride` positions is along one or more
/// axes.
fn axes_of_offsets(mesh: &Mesh, group: &[usize]) -> Option<Vec<AxisRef>> {
    let offset = |i: usize| group[i].checked_sub(group[0]);
    let mut minor_to_major = vec![];
    let mut block = 1;
    while block < group.len() {
        let stride = offset(block)?;
        let mut size = 1;
        while (size + 1) * block <= group.len() && offset(size * block) == Some(size * stride) {
            size += 1;
        }
        if size < 2 || stride == 0 {
            return None;
        }
        push_axes_of_stride(mesh, stride, size, &mut minor_to_major)?;
        block *= size;
    }
    Some(major_to_minor(mesh, minor_to_major))
}

fn major_to_minor(mesh: &Mesh, minor_to_major: Vec<AxisRef>) -> Vec<AxisRef> {
    let mut axes = vec![];
    minor_to_major.into_iter().rev().for_each(|a| AxisRef::push_or_merge(&mut axes, a, mesh));
    axes
}

/// Appends the axes along which `size` steps of `stride` positions run, minor to major. Returns `None` if it finds
/// none, and may have appended axes then.
fn push_axes_of_stride(mesh: &Mesh, mut stride: usize, mut size: usize, out: &mut Vec<AxisRef>) -> Option<()> {
    let mut suffix = 1;
    for i in (0..mesh.axes.len()).rev() {
        let axis = AxisIndex::new(i);
        let n = mesh.axis_size(axis);
        let minor = stride / suffix;
        if size > 1 && n > 1 && stride.is_multiple_of(suffix) && minor < n && n.is_multiple_of(minor) {
            let room = n / minor;
            let part = size.min(room);
            if !room.is_multiple_of(part) || !size.is_multiple_of(part) {
                return None;
            }
            out.push(AxisRef::sub(mesh, axis, n / (minor * part), part));
            stride *= part;
            size /= part;
        }
        suffix *= n;
    }
    (size == 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(axes: &[(&str, usize)]) -> Mesh {
        Mesh::new("mesh", axes.iter().copied()).unwrap()
    }

    fn meshes() -> Vec<Mesh> {
        vec![
            mesh(&[("x", 4), ("y", 2)]),
            mesh(&[("x", 2), ("y", 1), ("z", 6)]),
            mesh(&[("x", 8)]),
            mesh(&[("x", 2), ("y", 2)]).with_device_ids(vec![0, 2, 1, 3]).unwrap(),
            mesh(&[("a", 3), ("b", 4)]),
        ]
    }

    fn axis_lists(mesh: &Mesh) -> Vec<Vec<AxisRef>> {
        let parts = mesh.prime_parts();
        let mut lists: Vec<Vec<AxisRef>> = vec![vec![]];
        let mut from = 0;
        for _ in 0..3 {
            let to = lists.len();
            for i in from..to {
                let list = lists[i].clone();
                lists.extend(parts.iter().filter(|p| !list.contains(p)).map(|&p| {
                    let mut longer = list.clone();
                    longer.push(p);
                    longer
                }));
            }
            from = to;
        }
        lists
    }

    #[test]
    fn groups_of_every_axis_list_are_recognised() {
        for mesh in meshes() {
            for axes in axis_lists(&mesh) {
                let groups = groups_of_axes(&mesh, &axes);
                assert_eq!(groups.len() * AxisRef::total_size(&mesh, &axes), mesh.size());
                let found = axes_of_groups(&mesh, &groups).unwrap_or_else(|| panic!("{axes:?} {groups:?}"));
                assert_eq!(groups_of_axes(&mesh, &found), groups);
            }
        }
    }

    #[test]
    fn axes_of_another_mesh_are_those_of_its_groups() {
        let meshes = [
            mesh(&[("x", 12)]),
            mesh(&[("x", 2), ("y", 6)]),
            mesh(&[("x", 2), ("y", 3), ("z", 2)]),
            mesh(&[("x", 4), ("y", 3)]),
            mesh(&[("x", 3), ("one", 1), ("y", 4)]),
            mesh(&[("x", 4), ("y", 3)]).with_device_ids((0..12).rev().collect()).unwrap(),
        ];
        let mut found = 0;
        for (from, to) in meshes.iter().flat_map(|from| meshes.iter().map(move |to| (from, to))) {
            for axes in axis_lists(from) {
                let expected = axes_of_groups(to, &groups_of_axes(from, &axes));
                assert_eq!(axes_in_mesh(from, &axes, to), expected, "{axes:?} of {from} in {to}");
                found += usize::from(expected.is_some());
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn axes_of_large_meshes_are_found_without_listing_devices() {
        let (from, to) = (mesh(&[("x", 1 << 12), ("y", 1 << 8)]), mesh(&[("p", 1 << 10), ("q", 1 << 10)]));
        let x = AxisRef::full(AxisIndex::new(0));
        let high = AxisRef::sub(&to, AxisIndex::new(1), 1, 1 << 2);
        assert_eq!(axes_in_mesh(&from, &[x], &to), Some(vec![AxisRef::full(AxisIndex::new(0)), high]));
        assert_eq!(Groups::All.to_axes(&Arc::new(to)).and_then(|g| g.group_size()), Some(1 << 20));
    }

    #[test]
    fn neighbours_merge_into_whole_axes() {
        let mesh = mesh(&[("x", 4), ("y", 2)]);
        let all: Vec<AxisRef> = mesh.all_axes().collect();
        assert_eq!(axes_of_groups(&mesh, &[(0..8).collect()]), Some(all.clone()));
        assert_eq!(axes_of_groups(&mesh, &[vec![0, 2, 4, 6], vec![1, 3, 5, 7]]), Some(vec![all[0]]));
        assert_eq!(
            axes_of_groups(&mesh, &[vec![0, 2, 4, 6, 1, 3, 5, 7]]),
            Some(vec![all[0], all[1]].into_iter().rev().collect())
        );
    }

    #[test]
    fn axes_between_members_are_those_along_which_they_differ() {
        let mesh = mesh(&[("x", 4), ("y", 2), ("z", 1)]);
        let [x, y] = [AxisIndex::new(0), AxisIndex::new(1)];
        let between = |rows: &[Vec<usize>]| axes_between(&mesh, rows.iter().map(|row| &row[..]));
        assert_eq!(between(&[vec![0], vec![7], vec![]]), Some(vec![]));
        assert_eq!(between(&[vec![1, 0], vec![6, 7]]), Some(vec![AxisRef::full(y)]));
        assert_eq!(between(&[vec![0, 4], vec![3, 2]]), Some(vec![AxisRef::sub(&mesh, x, 1, 2), AxisRef::full(y)]));
        assert_eq!(between(&[vec![4, 2]]), Some(vec![AxisRef::full(x)]));
        assert_eq!(between(&[vec![0, 8]]), None);
    }

    #[test]
    fn groups_that_are_no_axes_are_not() {
        let mesh = mesh(&[("x", 4), ("y", 2)]);
        for groups in [
            vec![vec![0, 3], vec![1, 2], vec![4, 7], vec![5, 6]],
            vec![vec![0, 1, 2], vec![3, 4, 5, 6, 7]],
            vec![vec![0, 1]],
            vec![vec![0, 9]],
            vec![vec![1, 0], vec![3, 2], vec![5, 4], vec![7, 6]],
        ] {
            assert_eq!(axes_of_groups(&mesh, &groups), None, "{groups:?}");
        }
    }
}
