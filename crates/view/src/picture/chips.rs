//! The devices of a mesh on its chips, and the links over which each axis communicates.

use super::grid::{Grid, Track};
use super::label::Label;
use super::text::{Style, write_grid};
use crate::Torus;
use shardwise_base::{AxisRef, Mesh, counted, printable};

/// Chips, and how they are interconnected.
///
/// Devices are numbered by pod, then chip, x first, then core. In a machine with switches, a pod is a node.
///
/// The torus must have a dimension, and its sizes and the numbers of devices and pods must be at least 1. Otherwise,
/// the methods and pictures of the chips may panic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chips {
    /// The name of the topology: `v5e:2x4`.
    pub name: String,
    /// The links of a pod, x first. With switches, and for a host, there is one dimension with the number of devices of
    /// a node or of the host.
    pub torus: Torus,
    /// The number of devices of a chip.
    pub devices_per_chip: usize,
    /// The number of pods, or of nodes.
    pub pods: usize,
    /// True if the devices of a pod are connected by switches, each with all others.
    pub is_switched: bool,
}

/// The way from a device to the next one along an axis of the mesh.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Hop {
    SameChip,
    /// Through a switch.
    Switch,
    /// The number of links along each dimension.
    Links(Vec<usize>),
    /// Over the network, to another pod or node.
    Network,
}

impl Hop {
    fn length(&self) -> usize {
        if let Hop::Links(links) = self { links.iter().sum() } else { 0 }
    }
}

const DIMENSIONS: [&str; 3] = ["x", "y", "z"];

impl Chips {
    fn chips_per_pod(&self) -> usize {
        self.torus.grid().iter().product()
    }

    /// Returns the pod of a device, and the coordinates of its chip, x first.
    fn place(&self, device: usize) -> (usize, Vec<usize>) {
        let chip = device / self.devices_per_chip;
        (chip / self.chips_per_pod(), self.torus.coordinates(chip % self.chips_per_pod()))
    }

    fn hop(&self, from: usize, to: usize) -> Hop {
        let ((pod, a), (other, b)) = (self.place(from), self.place(to));
        if pod != other {
            return Hop::Network;
        }
        if from / self.devices_per_chip == to / self.devices_per_chip {
            return Hop::SameChip;
        }
        if self.is_switched {
            return Hop::Switch;
        }
        // Of equally long ways, one along the dimensions in which the chips differ.
        let detours = |way: &Vec<isize>| (0..a.len()).filter(|&dim| a[dim] == b[dim] && way[dim] != 0).count();
        let way = self.torus.ways(&a, &b).into_iter().min_by_key(detours).unwrap_or_default();
        Hop::Links(way.into_iter().map(isize::unsigned_abs).collect())
    }

    /// Returns over which links each axis of the mesh communicates, one line for each axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise_base::Mesh;
    /// use shardwise_view::{Chips, Torus};
    ///
    /// let mesh = Mesh::new("mesh", [("X", 4), ("Y", 2)]).unwrap();
    /// let grid = Chips {
    ///     name: "v5e:2x4".into(),
    ///     torus: Torus::new(vec![2, 4], vec![false, false]),
    ///     devices_per_chip: 1,
    ///     pods: 1,
    ///     is_switched: false,
    /// };
    /// let links = grid.links(&mesh);
    /// assert_eq!(links[0], "\"X\"=4: along y, neighbours 1 link apart, a line");
    /// assert_eq!(links[1], "\"Y\"=2: along x, neighbours 1 link apart");
    /// ```
    pub fn links(&self, mesh: &Mesh) -> Vec<String> {
        let line = |axis: AxisRef| format!("{}={}: {}", axis.display(mesh), axis.size(mesh), self.link(mesh, axis));
        mesh.all_axes().map(line).collect()
    }

    fn link(&self, mesh: &Mesh, axis: AxisRef) -> String {
        let (size, stride) = (axis.size(mesh), axis.stride(mesh));
        if size == 1 {
            return "one device, no links".into();
        }
        if let Some(ring) = self.better_ring(mesh, size, stride) {
            return ring;
        }
        let coordinate = |p: usize| p / stride % size;
        let hop = |p: usize, q: usize| self.hop(mesh.device(p), mesh.device(q));
        let inner = (0..mesh.size()).filter(|&p| coordinate(p) + 1 < size);
        let mut hops: Vec<Hop> = inner.map(|p| hop(p, p + stride)).collect();
        let ends = (0..mesh.size()).filter(|&p| coordinate(p) + 1 == size);
        let mut back: Vec<Hop> = ends.map(|p| hop(p, p - (size - 1) * stride)).collect();
        [&mut hops, &mut back].into_iter().for_each(|list| {
            list.sort();
            list.dedup();
        });
        let shape = match size > 2 {
            true if back == hops && matches!(hops[..], [Hop::Links(_)]) => ", a ring",
            true if matches!(hops[..], [Hop::Links(_)]) => ", a line",
            _ => "",
        };
        format!("{}{shape}", self.describe(&hops))
    }

    /// Describes a ring of the devices along an axis, given by its size and stride, in an order in which the farthest
    /// neighbours are closer than in that of the mesh. The order is named if it is the same everywhere. Returns `None`
    /// if a group of devices along the axis has no such ring or is in several pods, or if switches connect the devices.
    fn better_ring(&self, mesh: &Mesh, size: usize, stride: usize) -> Option<String> {
        let starts = (0..mesh.size()).filter(|p| (p / stride).is_multiple_of(size));
        let groups: Vec<Vec<usize>> =
            starts.map(|p| (0..size).map(|i| mesh.device(p + i * stride)).collect()).collect();
        let is_one_pod =
            |group: &Vec<usize>| group.iter().all(|&device| self.place(device).0 == self.place(group[0]).0);
        if self.is_switched || !groups.iter().all(is_one_pod) {
            return None;
        }
        let around = |group: &[usize], order: &[usize]| -> Vec<Hop> {
            (0..size).map(|i| self.hop(group[order[i]], group[order[(i + 1) % size]])).collect()
        };
        let longest = |hops: &[Hop]| hops.iter().map(Hop::length).max();
        let own: Vec<usize> = (0..size).collect();
        let (mut all, mut orders) = (vec![], vec![]);
        for group in &groups {
            let chips: Vec<Vec<usize>> = group.iter().map(|&device| self.place(device).1).collect();
            let order = self.torus.ring(&chips);
            let hops = around(group, &order);
            if longest(&hops) >= longest(&around(group, &own)) {
                return None;
            }
            all.extend(hops);
            orders.push(order);
        }
        all.sort();
        all.dedup();
        orders.dedup();
        let order = match &orders[..] {
            [order] => order.iter().map(usize::to_string).collect::<Vec<_>>().join(" "),
            _ => "of its own for each group of devices".into(),
        };
        Some(format!("{}, a ring in the order {order}", self.describe(&all)))
    }

    fn describe(&self, hops: &[Hop]) -> String {
        match hops {
            [Hop::SameChip] => return "within a chip".into(),
            [Hop::Switch] => return "within a node, over its switch".into(),
            [Hop::Network] => return format!("between {}, over the network", self.pod_word()),
            _ => {}
        }
        let links: Vec<&Vec<usize>> =
            hops.iter().filter_map(|h| if let Hop::Links(n) = h { Some(n) } else { None }).collect();
        let used = (0..self.torus.grid().len()).filter(|&dim| links.iter().any(|n| n[dim] > 0));
        let used: Vec<&str> = used.map(|dim| DIMENSIONS.get(dim).copied().unwrap_or("w")).collect();
        let distances = links.iter().map(|n| n.iter().sum::<usize>());
        let (least, most) = (distances.clone().min().unwrap_or(0), distances.max().unwrap_or(0));
        let mut parts = vec![];
        if hops.contains(&Hop::SameChip) {
            parts.push("within chips".to_string());
        }
        if hops.contains(&Hop::Switch) {
            parts.push("over the switch of a node".into());
        }
        if !links.is_empty() {
            let apart = if least == most { counted(most, "link") } else { format!("{least} to {most} links") };
            parts.push(format!("along {}, neighbours {apart} apart", used.join(" and ")));
        }
        if hops.contains(&Hop::Network) {
            parts.push(format!("over the network between {}", self.pod_word()));
        }
        parts.join(", ")
    }

    fn pod_word(&self) -> &'static str {
        if self.is_switched { "nodes" } else { "pods" }
    }

    /// Returns the mesh on its chips as text: the links of each axis, and the devices of each chip. Chips that do not
    /// fit the style are left out, but lines are not cut to its width.
    pub fn to_text(&self, mesh: &Mesh, style: &Style) -> String {
        self.lines(mesh, style).iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    pub(super) fn lines(&self, mesh: &Mesh, style: &Style) -> Vec<String> {
        let mut lines = vec![self.title()];
        lines.extend(self.links(mesh).into_iter().map(|line| format!("  {line}")));
        let cells = self.cells(mesh);
        let planes = self.planes(&cells);
        let most = (style.height / (2 * planes[0].1.rows.len().min(16) + 3)).max(2);
        for (name, grid) in planes.iter().take(most) {
            lines.push(name.clone());
            lines.extend(write_grid(grid, style));
        }
        if planes.len() > most {
            lines.push(format!("  .. {} ..", counted(planes.len() - most, "more plane")));
        }
        lines
    }

    pub(super) fn title(&self) -> String {
        let name = printable(&self.name);
        format!("mesh on {name}: the devices of each chip, and their coordinates on the mesh")
    }

    pub(super) fn planes<'a>(&self, cells: &'a [String]) -> Vec<(String, Grid<'a>)> {
        let size = self.torus.grid()[0] * self.row_count();
        let count = cells.len() / size;
        (0..count).map(|plane| (self.plane_name(plane, count), self.plane(cells, plane * size))).collect()
    }

    fn row_count(&self) -> usize {
        self.torus.grid().get(1).copied().unwrap_or(1)
    }

    fn plane_name(&self, plane: usize, count: usize) -> String {
        let depth = self.torus.grid().get(2).copied().unwrap_or(1);
        let pod = if self.pods > 1 {
            format!("{} {} ", self.pod_word().trim_end_matches('s'), plane / depth)
        } else {
            String::new()
        };
        let z = if depth > 1 { format!("z={}", plane % depth) } else { String::new() };
        if count == 1 { String::new() } else { format!("{pod}{z}") }
    }

    pub(super) fn cells(&self, mesh: &Mesh) -> Vec<String> {
        let positions = mesh.positions();
        let coordinates = |p: usize| mesh.coordinates(p).iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let device = |d: usize| match positions.of(d) {
            Some(p) => format!("{d} ({})", coordinates(p)),
            None => format!("{d} -"),
        };
        let chip =
            |c: usize| (c * self.devices_per_chip..(c + 1) * self.devices_per_chip).map(device).collect::<Vec<_>>();
        (0..self.chips_per_pod() * self.pods).map(|c| chip(c).join(" ")).collect()
    }

    fn plane<'a>(&self, cells: &'a [String], first: usize) -> Grid<'a> {
        let columns = self.torus.grid()[0];
        let track = |name: &'static str| move |i: usize| Track::new(i, format!("{name}={i}"));
        let rows = match self.torus.grid().len() {
            1 => vec![Track::new(0, String::new())],
            _ => (0..self.row_count()).map(track("y")).collect(),
        };
        Grid {
            rows,
            columns: (0..columns).map(track(if self.is_switched { "gpu" } else { "x" })).collect(),
            cell: Box::new(move |row, column| (Label::Text(&cells[first + row * columns + column]), 3 * row + column)),
        }
    }
}
