//! Runs programs on guarded memory: an invalid access ends the process, and results must not depend on uninitialized
//! bytes.

use super::equal;
use super::execute::{Case, End};
use super::{Found, MAX_STEPS, Reached};
use shardwise_host::HostEngine;

/// The largest number of steps of a run on guarded memory. Such memory takes system calls for each buffer, so a step
/// takes about ten times as long.
const MAX_GUARDED_STEPS: u64 = MAX_STEPS / 10;

/// Runs a program twice on the host, with different bytes in newly allocated memory. Different results are a finding.
/// Also ends the case if [`Case::local`] does, if a run fails, or at a limit.
pub(super) fn run(case: &mut Case<'_>, text: &str) -> Result<(), End> {
    let local = case.local(text)?;
    case.max_steps = MAX_GUARDED_STEPS;
    let [first, second] = [0xa5, 0x5a].map(|fill| case.on(&HostEngine::guarded(fill), &local.module, &local.inputs));
    let (first, second) = (first?, second?);
    case.outcome.reached = Reached::Ran;
    match equal::difference(&first, &second) {
        Some(wrong) => Err(End::Wrong(Found::new("results depend on what fresh memory holds", wrong))),
        None => Ok(()),
    }
}
