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
    /// Takes out the decisions of earlier trials if the last one was on a mesh that is equal to this one. Otherwise
    /// drops them and returns none yet.
    pub(crate) fn take(&mut self, mesh: &Arc<Mesh>) -> Decisions {
        let mut decisions = match self.0.take() {
            Some((known, decisions)) if known == *mesh => decisions,
            _ => Decisions::coarse(mesh),
        };
        decisions.start_program();
        decisions
    }

    /// Keeps the decisions on this mesh, which include those of this trial.
    pub(crate) fn keep(&mut self, mesh: &Arc<Mesh>, decisions: Decisions) {
        self.0 = Some((mesh.clone(), decisions));
    }

    /// Returns the effort of the search for layouts, for the function and in addition for each of its sites.
    pub(crate) fn effort() -> (usize, usize) {
        (MAX_EFFORT.0 / EFFORT, MAX_EFFORT.1)
    }
}

/// Formats nothing of the decisions.
impl fmt::Debug for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trials").finish_non_exhaustive()
    }
}
