//! Injects failures into runs: a reservation of memory that fails, steps that end early, a cancellation at a poll, a
//! panic in a part of a kernel, or a write to a file that fails.
//!
//! Each failure that occurs must end the run in an error. Nothing may stay reserved, all arrays that were not donated
//! and all files must be unchanged, the pool must still be parallel, and the next run must be right. A first run counts
//! the reservations, steps, polls and parts, so that failures are placed within the run.

use super::execute::{Case, End, Local};
use super::{Found, MAX_BYTES, MAX_STEPS, Reached, equal, panics};
use crate::choose::Chooser;
use crate::run;
use shardwise_base::file::{self, NewFile};
use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Literal, Loc};
use shardwise_engine::{Argument, ArrayHandle, Engine, Signature};
use shardwise_host::{HostEngine, pool};
use shardwise_interp::InterpEngine;
use shardwise_ir::text::parse;
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

/// The number of failures of each kind that are injected into the runs of a program. Only one write fails.
const EACH: usize = 4;
/// The number of writes by which a file is filled.
const PIECES: usize = 3;
/// The time for which parts of the pool wait for each other in one attempt, and the number of attempts. On a busy
/// machine a worker may wake up late.
const PATIENCE: (Duration, usize) = (Duration::from_secs(1), 5);

/// A kind of failure that is injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    /// A reservation of memory fails.
    Reservation,
    /// The run may take fewer steps than it needs.
    Steps,
    /// The user cancels the run at a poll.
    Poll,
    /// A part of a kernel panics.
    Part,
    /// A change of permissions, write, synchronization or renaming of a file fails.
    Write,
}

use Failure::*;

impl Failure {
    fn counted_as(self, is_reported: bool) -> &'static str {
        match (self, is_reported) {
            (Reservation, true) => "reservation reported",
            (Reservation, false) => "reservation not reached",
            (Steps, true) => "end of steps reported",
            (Steps, false) => "end of steps not reached",
            (Poll, true) => "cancellation reported",
            (Poll, false) => "cancellation not reached",
            (Part, true) => "panic reported",
            (Part, false) => "panic not reached",
            (Write, true) => "write reported",
            (Write, false) => "write not reached",
        }
    }

    /// Returns the code of the diagnostic that reports the failure, or an empty text for a failed write, which is
    /// reported as an I/O error.
    fn code(self) -> &'static str {
        match self {
            Reservation => "run-memory",
            Steps => "run-steps",
            Poll => "run-cancelled",
            Part => "run-panicked",
            Write => "",
        }
    }
}

/// A failure, and the number, from 1, of the reservation, step, poll, part or operation on a file at which it occurs.
/// `None` is a run without a failure.
type Injection = Option<(Failure, u64)>;

/// Each kind of failure except [`Write`], with the number of places in a run at which it can occur.
type Counts = [(Failure, u64); 4];

/// The program into which failures are injected, and how it is run.
struct Subject<'a> {
    /// The text that is read and partitioned again in each run, or `None` if the runs use `local` as it is.
    text: Option<&'a str>,
    local: Local,
    engine: &'a dyn Engine,
    /// True for each argument that is donated.
    is_donated: Vec<bool>,
}

/// A run that has ended.
struct Run {
    /// The results, or the code of the error.
    ended: Result<Vec<Literal>, &'static str>,
    counts: Counts,
    /// The account that was charged for the run, but not for its arguments.
    account: Account,
}

/// Runs a program once without a failure, and then with [`EACH`] failures of each kind that can occur in it, each
/// followed by a run without one. Then writes its results to a file with a failure. Records each failure in the
/// outcome. Fails, with a finding, at the first of these runs or writes that does not end as it must. Injects nothing
/// if the first run does not end with results. Also ends the case if [`Case::local`] does, or if the arguments cannot
/// be placed on the engine.
pub(super) fn run(case: &mut Case<'_>, text: &str) -> Result<(), End> {
    let local = case.local(text)?;
    let mut choose = Chooser::new(case.seed);
    let host = HostEngine::default();
    let subject = Subject {
        text: choose.one_in(4).then_some(text),
        engine: if choose.one_in(4) { &InterpEngine } else { &host },
        is_donated: local.inputs.iter().map(|_| choose.one_in(2)).collect(),
        local,
    };
    let Run { ended: Ok(want), counts, .. } = subject.run(None)? else { return Ok(()) };
    case.outcome.reached = Reached::Ran;
    for (failure, count) in [counts; EACH].into_iter().flatten().filter(|(_, count)| *count > 0) {
        let is_reported = subject.expect_recovery(failure, 1 + choose.bits() % count, &want)?;
        case.outcome.injected.push(failure.counted_as(is_reported));
    }
    let is_reported = expect_whole_file(case.seed, 1 + choose.below(PIECES + 3) as u64, &want)?;
    case.outcome.injected.push(Write.counted_as(is_reported));
    Ok(())
}

fn wrong(what: &str, injection: Injection, details: impl std::fmt::Debug) -> End {
    End::Wrong(Found::new(what, format!("{injection:?}\n{details:?}")))
}

fn expect_equal(what: &str, injection: Injection, got: &[Literal], want: &[Literal]) -> Result<(), End> {
    equal::difference(got, want).map_or(Ok(()), |details| Err(wrong(what, injection, details)))
}

fn expect_unused(account: &Account, injection: Injection) -> Result<(), End> {
    match account.in_use() {
        0 => Ok(()),
        bytes => Err(wrong("memory stays reserved after a run", injection, bytes)),
    }
}

impl Subject<'_> {
    /// Runs with a failure at the `nth` place, counted from 1, and again without one. Returns true if the run with the
    /// failure ended with an error that reports it, and false if it ended with the results `want`. Fails, with a
    /// finding, for other errors and results, if memory stays reserved, if the pool is serial after a panic, or if the
    /// second run does not have the results `want`. Also fails as [`Subject::run`] does.
    fn expect_recovery(&self, failure: Failure, nth: u64, want: &[Literal]) -> Result<bool, End> {
        let injection = Some((failure, nth));
        let Run { ended, account, .. } = self.run(injection)?;
        let is_reported = match ended {
            Ok(got) => expect_equal("a failure changes the results", injection, &got, want).map(|()| false)?,
            Err(code) if code == failure.code() => true,
            Err(code) => return Err(wrong("a failure is reported as something else", injection, code)),
        };
        expect_unused(&account, injection)?;
        if failure == Part && !is_parallel() {
            return Err(wrong("the pool is serial after a failure", injection, ""));
        }
        match self.run(None)?.ended {
            Ok(got) => expect_equal("the run after a failure is wrong", injection, &got, want)?,
            Err(code) => return Err(wrong("the run after a failure fails", injection, code)),
        }
        Ok(is_reported)
    }

    /// Runs once, with the failure if there is one, and returns how the run ended. Fails, with a finding, if an
    /// argument that is not donated has changed, or if memory of the arguments stays reserved. Ends the case without a
    /// finding if the arguments cannot be placed on the engine.
    fn run(&self, injection: Injection) -> Result<Run, End> {
        let account = Account::with_limit(MAX_BYTES);
        let arguments = self.put(&account)?;
        let arrays = arguments.iter().cloned().zip(&self.local.inputs).zip(&self.is_donated);
        let lent: Vec<(ArrayHandle, &Literal)> =
            arrays.filter(|(_, donated)| !**donated).map(|(lent, _)| lent).collect();
        let run = self.run_on(arguments, injection);
        for (array, given) in &lent {
            let (now, before) = ([array.to_literal()], std::slice::from_ref(*given));
            expect_equal("a run changes an array that is not donated", injection, &now, before)?;
        }
        drop(lent);
        expect_unused(&account, injection)?;
        Ok(run)
    }

    fn put(&self, account: &Account) -> Result<Vec<ArrayHandle>, End> {
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        let put = || {
            let signature = Signature::of(self.local.module.main()?).ok()?;
            let arguments = self.local.inputs.iter().zip(&signature.inputs);
            arguments.map(|(x, ty)| self.engine.put(x, ty).ok()).collect::<Option<Vec<_>>>()
        };
        budget.run(put).ok().flatten().ok_or(End::Here)
    }

    /// Runs the program under its own budget with the failure, if there is one. Returns how the run ended, the account
    /// of its memory and, if there is no failure, how often each kind of failure could have occurred. With a failure,
    /// the count of its kind means nothing.
    fn run_on(&self, arguments: Vec<ArrayHandle>, injection: Injection) -> Run {
        let nth = |failure| injection.filter(|(f, _)| *f == failure).map_or(u64::MAX, |(_, n)| n);
        let (account, token) = (Account::with_limit(MAX_BYTES), CancelToken::at_poll(nth(Poll)));
        let budget = Budget::new(account.clone(), Some(MAX_STEPS.min(nth(Steps) - 1)), token.clone());
        account.fail_at(nth(Reservation));
        pool::panic_at(nth(Part));
        let ended = budget.run(|| self.results(arguments));
        let [parts, reservations] = [pool::panic_at(0), account.fail_at(0)].map(|left| u64::MAX - left);
        if nth(Part) < u64::MAX {
            panics::forget();
        }
        let polls = u64::MAX - token.polls_left();
        let counts = [(Reservation, reservations), (Steps, budget.steps()), (Poll, polls), (Part, parts)];
        let code = |found: &Diagnostics| found.iter().map(|d| d.code).next().unwrap_or("");
        let ended = match ended {
            Ok(ended) => ended.map_err(|found| code(&found)),
            Err(stop) => Err(stop.diagnostic(&Loc::UNKNOWN).code),
        };
        Run { ended, counts, account }
    }

    fn results(&self, arguments: Vec<ArrayHandle>) -> Result<Vec<Literal>, Diagnostics> {
        let again = self.text.map(partitioned).transpose()?;
        let program = self.engine.compile(again.as_ref().unwrap_or(&self.local.module))?;
        let give = |(array, &donated)| if donated { Argument::Donated(array) } else { Argument::Lent(array) };
        let arguments = arguments.into_iter().zip(&self.is_donated).map(give).collect();
        Ok(program.execute(arguments)?.iter().map(|r| r.to_literal()).collect())
    }
}

fn partitioned(text: &str) -> Result<Module, Diagnostics> {
    let module = parse("fuzz.mlir", text, &OPS)?;
    verify(&module).or(())?;
    Ok(run::partitioned(&module)?.module)
}

/// Returns true if the pool of the process runs parts at the same time, or has only one worker.
fn is_parallel() -> bool {
    let workers = pool::Workers::global();
    workers.count() == 1 || (0..PATIENCE.1).any(|_| pool::parts_meet(workers, PATIENCE.0))
}

/// Writes results over a file, first with a failure of the `nth` operation (the change of permissions, a write, a
/// synchronization or the renaming) and then without. Returns true if the failure was reported, and false if the first
/// attempt succeeded. Fails, with a finding, unless the file is then the old one if the failure was reported and the
/// complete new one otherwise, no other file is left beside it, and the second attempt succeeds. Also fails if the
/// failure is reported as another error. Panics if no file can be made in the folder for temporary files.
fn expect_whole_file(seed: u64, nth: u64, results: &[Literal]) -> Result<bool, End> {
    let injection = Some((Write, nth));
    let folder = std::env::temp_dir().join(format!("shardwise-inject-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let path = folder.join("results");
    let new = format!("{results:?}").repeat(PIECES).into_bytes();
    file::write(&path, "old").expect("a file in a temporary folder");
    file::fail_at(nth);
    let written = write(&path, &new);
    file::fail_at(0);
    let (now, names) = (std::fs::read(&path), std::fs::read_dir(&folder).map(Iterator::count));
    let again = write(&path, &new).and_then(|()| std::fs::read(&path));
    let _ = std::fs::remove_dir_all(&folder);
    let old = if written.is_ok() { &new[..] } else { b"old" };
    if now.ok().as_deref() != Some(old) || names.ok() != Some(1) || again.ok().as_ref() != Some(&new) {
        let what = "a file is neither the old nor the new one, another is left beside it, or writing it again fails";
        return Err(wrong(what, injection, written));
    }
    match written {
        Err(e) if e.kind() != ErrorKind::StorageFull => {
            Err(wrong("a failed write is reported as something else", injection, e))
        }
        written => Ok(written.is_err()),
    }
}

fn write(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut file = NewFile::create(path)?;
    contents.chunks(contents.len().div_ceil(PIECES)).try_for_each(|piece| {
        file.write_all(piece)?;
        file.flush()
    })?;
    file.commit()
}
