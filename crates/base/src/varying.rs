//! Sets of mesh axes over which a value may differ from device to device.

use crate::{AxisRef, Mesh};
use std::fmt;
use std::sync::Arc;

/// A set of mesh axes and sub-axes over which a value may vary, or all devices.
///
/// A value that varies over `{X}` on a mesh `X=4, Y=2` has up to four distinct values. The two devices with the same
/// coordinate along `X` have the same one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Varying {
    /// The value is equal on all devices.
    #[default]
    Nowhere,
    /// There is one value for each coordinate along these axes. The list is sorted, disjoint and merged.
    Over(Arc<[AxisRef]>),
    /// Nothing is known: each device may have a value of its own.
    Everywhere,
}

impl Varying {
    /// Returns the set of these axes, or `Nowhere` if none of them is larger than 1.
    pub fn over(mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> Varying {
        let axes = AxisRef::union(mesh, axes);
        if axes.is_empty() { Varying::Nowhere } else { Varying::Over(axes.into()) }
    }

    /// Returns true if this is `Nowhere`: the value is equal on all devices.
    pub fn is_uniform(&self) -> bool {
        *self == Varying::Nowhere
    }

    /// Returns the axes over which a value computed from both varies.
    pub fn union(&self, other: &Varying, mesh: &Mesh) -> Varying {
        match (self, other) {
            (Varying::Nowhere, v) | (v, Varying::Nowhere) => v.clone(),
            (Varying::Everywhere, _) | (_, Varying::Everywhere) => Varying::Everywhere,
            (Varying::Over(a), Varying::Over(b)) if a == b => self.clone(),
            (Varying::Over(a), Varying::Over(b)) => Varying::over(mesh, a.iter().chain(&**b).copied()),
        }
    }

    /// Returns the axes over which the value varies once it no longer depends on `axes`, as after an all-reduce or
    /// all-gather over them. `Everywhere` counts as all axes of the mesh. A part of an axis in `axes` removes nothing
    /// of a part that it cannot coexist with.
    pub fn without(&self, axes: &[AxisRef], mesh: &Mesh) -> Varying {
        let own: Vec<AxisRef> = match self {
            Varying::Nowhere => return Varying::Nowhere,
            Varying::Over(own) => own.to_vec(),
            Varying::Everywhere => mesh.all_axes().collect(),
        };
        Varying::over(mesh, own.into_iter().flat_map(|a| a.minus(mesh, axes)))
    }

    /// Returns the axes as a list; `Everywhere` returns all axes of the mesh.
    pub fn axes(&self, mesh: &Mesh) -> Vec<AxisRef> {
        match self {
            Varying::Nowhere => vec![],
            Varying::Over(axes) => axes.to_vec(),
            Varying::Everywhere => mesh.all_axes().collect(),
        }
    }

    /// Returns the printed form: `{X,Y}`, `{}` or `{*}`.
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
