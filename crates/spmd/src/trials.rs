//! The decisions that trials of similar programs share.

use crate::layouts::MAX_EFFORT;
use crate::strategy::Decisions;
use shardwise_base::Mesh;
use std::fmt;
use std::sync::Arc;

/// The number by which the effort for a function is divided in the search for the layouts of a trial. The effort for
/// each site is not divided. Decisions that an earlier trial made are no effort.
const EFFORT: usize = 8;

/// The decisions for ops that trials of similar programs made so far. A trial looks for the layouts of its program with
/// less effort than usual and without the finest choices for products, and does not make a decision again that an
/// earlier trial on an equal mesh made. Only the decisions on the mesh of the last trial are kept.
#[derive(Default)]
pub struct Trials(Option<(Arc<Mesh>, Decisions)>);

impl Trials {
    /// Takes out the decisions of earlier trials if the last trial was on a mesh that is equal to `mesh`. Otherwise
    /// drops them, and returns an empty store of decisions.
    pub(crate) fn take(&mut self, mesh: &Arc<Mesh>) -> Decisions {
        let mut decisions = match self.0.take() {
            Some((known, decisions)) if known == *mesh => decisions,
            _ => Decisions::coarse(mesh),
        };
        decisions.start_program();
        decisions
    }

    /// Keeps `decisions`, which are those of the last trial and of earlier ones on `mesh`, for the next trial.
    pub(crate) fn keep(&mut self, mesh: &Arc<Mesh>, decisions: Decisions) {
        self.0 = Some((mesh.clone(), decisions));
    }

    /// Returns the effort that a trial's search for layouts may make ([`MAX_EFFORT`]): for a function, and in addition
    /// for each of its sites.
    pub(crate) fn effort() -> (usize, usize) {
        (MAX_EFFORT.0 / EFFORT, MAX_EFFORT.1)
    }
}

/// Formats the name of the type, and none of the decisions.
impl fmt::Debug for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trials").finish_non_exhaustive()
    }
}
