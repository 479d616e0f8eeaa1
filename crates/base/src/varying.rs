//! Over which mesh axes a value may differ from device to device: the one idea of the system, as a type.

use crate::{AxisRef, Mesh};
use std::fmt;
use std::sync::Arc;

/// A set of mesh axes and sub-axes, or everything.
///
/// A value that varies over `{X}` on a mesh `X=4, Y=2` is four values, each held by two devices.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Varying {
    /// Equal on all devices.
    #[default]
    Nowhere,
    /// One value for each point of these axes; sorted, disjoint, merged.
    Over(Arc<[AxisRef]>),
    /// Nothing is known: one value for each device.
    Everywhere,
}

impl Varying {
    pub fn over(mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> Varying {
        let axes = AxisRef::union(mesh, axes);
        if axes.is_empty() { Varying::Nowhere } else { Varying::Over(axes.into()) }
    }

    pub fn is_uniform(&self) -> bool {
        *self == Varying::Nowhere
    }

    /// What a value computed from both varies over.
    pub fn union(&self, other: &Varying, mesh: &Mesh) -> Varying {
        match (self, other) {
            (Varying::Nowhere, v) | (v, Varying::Nowhere) => v.clone(),
            (Varying::Everywhere, _) | (_, Varying::Everywhere) => Varying::Everywhere,
            (Varying::Over(a), Varying::Over(b)) if a == b => self.clone(),
            (Varying::Over(a), Varying::Over(b)) => Varying::over(mesh, a.iter().chain(&**b).copied()),
        }
    }

    /// What is left when the value no longer depends on `axes` (an all-reduce, an all-gather over them).
    pub fn without(&self, axes: &[AxisRef], mesh: &Mesh) -> Varying {
        let own: Vec<AxisRef> = match self {
            Varying::Nowhere => return Varying::Nowhere,
            Varying::Over(own) => own.to_vec(),
            Varying::Everywhere => mesh.all_axes().collect(),
        };
        Varying::over(mesh, own.into_iter().flat_map(|a| a.minus(mesh, axes)))
    }

    /// The axes as a list; everything is all the mesh's axes.
    pub fn axes(&self, mesh: &Mesh) -> Vec<AxisRef> {
        match self {
            Varying::Nowhere => vec![],
            Varying::Over(axes) => axes.to_vec(),
            Varying::Everywhere => mesh.all_axes().collect(),
        }
    }

    /// Number of distinct values.
    pub fn instance_count(&self, mesh: &Mesh) -> usize {
        self.axes(mesh).iter().map(|a| a.size(mesh)).product()
    }

    /// Which of the distinct values the device at `coordinates` holds.
    pub fn instance(&self, mesh: &Mesh, coordinates: &[usize]) -> usize {
        AxisRef::index_in(mesh, &self.axes(mesh), coordinates)
    }

    /// `{X,Y}`, `{}`, `{*}`.
    pub fn display<'a>(&'a self, mesh: &'a Mesh) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Varying::Everywhere => f.write_str("{*}"),
            _ => {
                f.write_str("{")?;
                for (i, a) in self.axes(mesh).iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, a.display(mesh).to_string().replace('"', ""))?;
                }
                f.write_str("}")
            }
        })
    }
}
