//! The states of values of per-device code.

use shardwise_base::{AxisSet, Mesh};

/// The states of a value of per-device code along the manual axes: the axes over which it varies, those over which it
/// is unreduced (each device holds a summand), and those over which it is reduced (replicated, with an unreduced
/// gradient). The sets must be disjoint. Along all other axes, the value is replicated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ManualAxes {
    pub varying: AxisSet,
    pub unreduced: AxisSet,
    pub reduced: AxisSet,
}

impl ManualAxes {
    /// Returns the states with these axes varying, whatever they were. Other axes keep their states.
    pub fn with_varying(&self, axes: &AxisSet, mesh: &Mesh) -> ManualAxes {
        let plain = self.without(axes, mesh);
        ManualAxes { varying: plain.varying.union(axes, mesh), ..plain }
    }

    /// Returns the states with these axes unreduced, whatever they were. Other axes keep their states.
    pub fn with_unreduced(&self, axes: &AxisSet, mesh: &Mesh) -> ManualAxes {
        let plain = self.without(axes, mesh);
        ManualAxes { unreduced: plain.unreduced.union(axes, mesh), ..plain }
    }

    /// Returns the states with these axes reduced, whatever they were. Other axes keep their states.
    pub fn with_reduced(&self, axes: &AxisSet, mesh: &Mesh) -> ManualAxes {
        let plain = self.without(axes, mesh);
        ManualAxes { reduced: plain.reduced.union(axes, mesh), ..plain }
    }

    /// Returns the states with these axes replicated.
    pub fn without(&self, axes: &AxisSet, mesh: &Mesh) -> ManualAxes {
        let [varying, unreduced, reduced] =
            [&self.varying, &self.unreduced, &self.reduced].map(|own| own.minus(axes, mesh));
        ManualAxes { varying, unreduced, reduced }
    }

    /// Returns the states of a cotangent of the value: that of a reduced value is unreduced, and the other way around.
    pub fn of_cotangent(&self) -> ManualAxes {
        let (varying, unreduced, reduced) = (self.varying.clone(), self.reduced.clone(), self.unreduced.clone());
        ManualAxes { varying, unreduced, reduced }
    }

    /// Returns the states of a value that is either a value with the states `self` or one with the states `other`, such
    /// as the result of a branch. It varies over the axes over which one of the two varies. It is reduced over the axes
    /// over which one is reduced and none varies. Returns `None` if the axes over which they are unreduced differ.
    pub fn join(&self, other: &ManualAxes, mesh: &Mesh) -> Option<ManualAxes> {
        let varying = self.varying.union(&other.varying, mesh);
        let reduced = self.reduced.union(&other.reduced, mesh).minus(&varying, mesh);
        (self.unreduced == other.unreduced).then(|| ManualAxes { varying, reduced, unreduced: self.unreduced.clone() })
    }
}
