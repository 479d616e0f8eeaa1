//! Meshes with the same number of devices, and shardings over them.

use super::Maker;
use crate::choose::Chooser;
use std::fmt::Write;

/// The axes of a mesh, by name and size.
type Axes = Vec<(&'static str, usize)>;

/// The meshes of a program. The first one is `@mesh`.
pub(super) struct Meshes(Vec<Axes>);

const SHAPES: [&[(&str, usize)]; 9] = [
    &[("x", 2)],
    &[("x", 4)],
    &[("x", 2), ("y", 2)],
    &[("x", 4), ("y", 2)],
    &[("x", 2), ("y", 3)],
    &[("x", 2), ("y", 1)],
    &[("x", 3)],
    &[("x", 2), ("y", 2), ("z", 2)],
    &[("x", 1)],
];

impl Meshes {
    pub fn draw(choose: &mut Chooser) -> Meshes {
        let first = choose.of(&SHAPES).to_vec();
        let devices = first.iter().map(|a| a.1).product::<usize>();
        let mut meshes = vec![first];
        if choose.one_in(10) {
            let halves =
                if devices.is_multiple_of(2) { vec![("a", 2), ("b", devices / 2)] } else { vec![("a", devices)] };
            meshes.push(halves);
        }
        Meshes(meshes)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn first(&self) -> &Axes {
        &self.0[0]
    }

    fn name(i: usize) -> String {
        if i == 0 { "@mesh".into() } else { format!("@mesh{i}") }
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        for (i, axes) in self.0.iter().enumerate() {
            let axes: Vec<String> = axes.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
            let _ = writeln!(out, "sdy.mesh {} = <[{}]>", Meshes::name(i), axes.join(", "));
        }
        out
    }
}

impl Maker {
    pub(super) fn sharding_in_braces(&mut self, shape: &[usize]) -> String {
        match self.maybe_sharding(shape, &[]) {
            Some(sharding) => format!(" {{sdy.sharding = #sdy.sharding{sharding}}}"),
            None => String::new(),
        }
    }

    /// Returns a sharding such as `<@mesh, [{"x"}, {?}]>`, or `None` in a third of the cases. It may split any
    /// dimensions that are not empty over any axes and parts of axes, also unevenly. It uses a random mesh or, if
    /// `taken` is not empty, the first mesh without the axes of these indices.
    pub(super) fn maybe_sharding(&mut self, shape: &[usize], taken: &[usize]) -> Option<String> {
        if self.choose.one_in(3) {
            return None;
        }
        let mesh = if taken.is_empty() { self.choose.below(self.meshes.len()) } else { 0 };
        Some(self.sharding(mesh, shape, taken))
    }

    fn sharding(&mut self, mesh: usize, shape: &[usize], taken: &[usize]) -> String {
        let mut dims: Vec<Vec<String>> = shape.iter().map(|_| vec![]).collect();
        let mut sizes: Vec<usize> = vec![1; shape.len()];
        let mut axes: Vec<(String, usize)> = self.axis_texts(mesh, taken);
        self.choose.shuffle(&mut axes);
        for (axis, size) in axes {
            if shape.is_empty() || self.choose.one_in(3) {
                continue;
            }
            let dim = self.choose.below(shape.len());
            if shape[dim] > 0 {
                // Two adjacent parts of an axis would be merged into one.
                let is_beside = dims[dim].last().is_some_and(|last| last.split(':').next() == axis.split(':').next());
                if !is_beside {
                    dims[dim].push(axis);
                    sizes[dim] *= size;
                }
            }
        }
        if shape.iter().zip(&sizes).any(|(n, k)| n % k != 0) {
            self.features.insert("uneven shardings");
        }
        let dims: Vec<String> = dims
            .into_iter()
            .map(|mut axes| {
                axes.extend(self.choose.one_in(4).then(|| "?".to_string()));
                format!("{{{}}}", axes.join(", "))
            })
            .collect();
        format!("<{}, [{}]>", Meshes::name(mesh), dims.join(", "))
    }

    /// Returns the axes of mesh `mesh` as texts, each with its size, except those whose indices are in `taken`. An axis
    /// of size 4 may be returned as its two halves.
    pub(super) fn axis_texts(&mut self, mesh: usize, taken: &[usize]) -> Vec<(String, usize)> {
        let axes = self.meshes.0[mesh].clone();
        let mut out = vec![];
        for (i, (name, size)) in axes.into_iter().enumerate() {
            if taken.contains(&i) {
                continue;
            }
            if size == 1 {
                self.features.insert("axes of size 1");
            }
            if size == 4 && self.choose.one_in(3) {
                self.features.insert("parts of axes");
                out.extend([1, 2].map(|before| (format!("\"{name}\":({before})2"), 2)));
            } else {
                out.push((format!("\"{name}\""), size));
            }
        }
        out
    }
}
