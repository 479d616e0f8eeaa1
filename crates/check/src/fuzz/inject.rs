//! Failures injected into runs: a reservation of memory that fails, steps that end early, a panic in a part of a kernel.
//!
//! Each must end the run in an error, leave nothing reserved, and let the next run be right.

use super::execute::{Case, End, Local};
use super::{Found, MAX_BYTES, MAX_STEPS, Reached, equal, panics};
use crate::choose::Chooser;
use crate::run::on;
use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Literal, Stop};
use shardwise_host::{HostEngine, pool};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Failures that are injected into one program, of each kind.
const EACH: usize = 4;
/// Reservations, steps and parts among which failures are placed, if the program has so many.
const FIRST: usize = 40;

/// What is injected.
#[derive(Clone, Copy, Debug)]
enum Failure {
    None,
    /// The reservation of this number fails.
    Reservation(u64),
    /// The run ends after so many steps.
    Steps(u64),
    /// The part of this number panics.
    Part(u64),
}

/// How a run under a failure ended.
enum Ended {
    Results(Vec<Literal>),
    /// With an error that says why.
    Failed,
}

/// Runs a program with failures, and once more after each.
pub(super) fn run(case: &mut Case<'_>, text: &str) -> Result<(), End> {
    let local = case.local(text)?;
    let Ended::Results(want) = attempt(&local, Failure::None)? else { return Ok(()) };
    case.outcome.reached = Reached::Ran;
    let mut choose = Chooser::new(case.seed);
    for _ in 0..EACH {
        let mut nth = || 1 + choose.below(FIRST) as u64;
        for failure in [Failure::Reservation(nth()), Failure::Steps(nth()), Failure::Part(nth())] {
            expect_right(failure, attempt(&local, failure)?, &want)?;
            expect_right(failure, attempt(&local, Failure::None)?, &want)?;
        }
    }
    Ok(())
}

fn wrong(what: &str, failure: Failure, details: impl Into<String>) -> End {
    End::Wrong(Found::new(what, format!("{failure:?}\n{}", details.into())))
}

/// Either the failure was reported, or it came after the end of the run.
fn expect_right(failure: Failure, ended: Ended, want: &[Literal]) -> Result<(), End> {
    let Ended::Results(got) = ended else { return Ok(()) };
    match equal::difference(&got, want) {
        Some(details) => Err(wrong("a failure changes the results", failure, details)),
        None => Ok(()),
    }
}

/// A run on the host with one failure.
fn attempt(local: &Local, failure: Failure) -> Result<Ended, End> {
    let account = Account::with_limit(MAX_BYTES);
    let steps = if let Failure::Steps(n) = failure { n } else { MAX_STEPS };
    let budget = Budget::new(account.clone(), Some(steps), CancelToken::default());
    if let Failure::Reservation(n) = failure {
        account.fail_at(n);
    }
    if let Failure::Part(n) = failure {
        pool::panic_at(n);
    }
    let run = || budget.run(|| on(&HostEngine::default(), &local.module, &local.inputs));
    let ended = catch_unwind(AssertUnwindSafe(run));
    pool::panic_at(0);
    account.fail_at(0);
    let ended = match ended {
        Ok(stopped) => reported(stopped, failure)?,
        Err(payload) if payload.downcast_ref::<&str>() == Some(&pool::INJECTED) => {
            panics::forget();
            Ended::Failed
        }
        Err(payload) => std::panic::resume_unwind(payload),
    };
    if matches!(ended, Ended::Failed) && account.in_use() > 0 {
        return Err(wrong("a failed run keeps memory reserved", failure, format!("{} bytes", account.in_use())));
    }
    Ok(ended)
}

/// The results, or the error of the failure that was injected.
fn reported(stopped: Result<Result<Vec<Literal>, Diagnostics>, Stop>, failure: Failure) -> Result<Ended, End> {
    match stopped {
        Ok(Ok(results)) => Ok(Ended::Results(results)),
        // A program that the engine does not run.
        Ok(Err(_)) if matches!(failure, Failure::None) => Ok(Ended::Failed),
        Ok(Err(found)) if found.iter().all(|d| d.code.starts_with("run-")) => Ok(Ended::Failed),
        Ok(Err(found)) => Err(wrong("a failure is reported as something else", failure, found.to_string())),
        Err(_) => Ok(Ended::Failed),
    }
}
