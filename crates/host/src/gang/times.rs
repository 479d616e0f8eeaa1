//! The times of the steps of a run.
//!
//! The clock is read once for each step that is timed alone: the end of a step is the start of the next one. Small
//! steps that follow each other are timed together, and so is a loop of small steps only (`plan::Timing`). So a run
//! that is measured takes little longer than one that is not.

use crate::pool::{Recorder, WorkerRun};
use shardwise_base::Account;
use shardwise_engine::{InstructionRun, WorkerTime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most runs of steps that are listed one by one. The list takes at most 12 MiB.
const MAX_RUNS: usize = 1 << 17;

/// How often each step of a plan ran and how long, and when, as far as the list of runs goes.
pub struct StepTimes {
    /// The time at which the first step started, or `None` before that.
    first: Option<Instant>,
    /// The time of the last reading of the clock, since `first`.
    now: Duration,
    /// True if nothing has run since the last reading.
    is_now: bool,
    account: Account,
    /// The bytes that the account had in use beside the arguments and the constants before the run.
    others: usize,
    recorder: Arc<Recorder>,
    /// The index of the run that began last, if it is listed.
    last: Option<usize>,
    /// For each step, by its `id`, how often it ran, and the total time. The time of small steps that were timed
    /// together counts as that of the first one. Steps inside of a loop or branch whose steps are not timed have no
    /// time.
    pub totals: Vec<(u64, Duration)>,
    /// The runs that are listed, in the order of their starts. The `instruction` of each is the `id` of its first step.
    pub runs: Vec<InstructionRun>,
    /// The turn of the innermost loop that is running, counted from 0, or `None` outside of loops.
    pub turn: Option<u64>,
    /// True inside of a loop or branch whose steps are not timed.
    pub is_quiet: bool,
    /// The number of runs of steps that were not timed, without those inside of a listed run that has ended: such a run
    /// has taken them over.
    quiet_runs: u64,
}

/// A run of one step, or of small steps that are timed together, that has begun: its start, its index in the list if it
/// is listed, and the runs that were not timed and that no run had contained before.
pub struct Begun {
    start: Duration,
    index: Option<usize>,
    quiet_runs: u64,
}

impl StepTimes {
    /// Returns empty times of a plan with this many steps, none of which has run. Its arguments and constants have
    /// `held` bytes.
    pub fn new(step_count: usize, held: usize) -> StepTimes {
        let account = Account::current();
        StepTimes {
            first: None,
            now: Duration::ZERO,
            is_now: false,
            others: account.in_use().saturating_sub(held),
            account,
            recorder: Arc::new(Recorder::default()),
            last: None,
            totals: vec![(0, Duration::ZERO); step_count],
            runs: vec![],
            turn: None,
            is_quiet: false,
            quiet_runs: 0,
        }
    }

    /// Returns the recorder of what the workers do.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Removes and returns the periods in which workers worked on the runs of the list, sorted by run and then by time.
    pub fn take_worker_runs(&self) -> Vec<WorkerTime> {
        let Some(first) = self.first else { return vec![] };
        let since = |time: Instant| time.saturating_duration_since(first);
        let of = |WorkerRun { worker, key, start, end, parts }| WorkerTime {
            run: key,
            worker,
            start: since(start),
            end: since(end),
            parts,
        };
        let mut runs: Vec<WorkerTime> = self.recorder.take().into_iter().map(of).collect();
        runs.sort_by_key(|run| (run.run, run.start, run.end, run.worker));
        runs
    }

    /// Records that `count` steps start, of which the first is `step`.
    pub fn begin(&mut self, step: usize, count: usize, instances: usize) -> Begun {
        let start = if self.is_now { self.now } else { self.read() };
        let index = (self.runs.len() < MAX_RUNS).then_some(self.runs.len());
        if index.is_some() {
            self.runs.push(InstructionRun {
                instruction: step,
                count,
                instances,
                start,
                end: start,
                turn: self.turn,
                peak_bytes: 0,
                bytes_in_use: 0,
                quiet_runs: 0,
            });
        }
        self.recorder.set_key(index);
        self.last = index;
        Begun { start, index, quiet_runs: self.quiet_runs }
    }

    /// Counts the bytes that are in use now in the peak of the run that began last. This is called when a step has
    /// computed its results and has not released what it read. Does nothing if the run is not listed, and inside of a
    /// loop or branch whose steps are not timed.
    pub fn computed(&mut self) {
        if let Some(index) = self.last.filter(|_| !self.is_quiet) {
            let bytes = self.in_use();
            let peak = &mut self.runs[index].peak_bytes;
            *peak = bytes.max(*peak);
        }
    }

    /// Records that the steps have ended, of which the first is `step`. The time of all counts as that of `step`, and
    /// the run is counted if it was timed alone.
    pub fn end(&mut self, step: usize, is_alone: bool, begun: Begun) {
        let end = self.read();
        self.is_now = true;
        let total = &mut self.totals[step];
        *total = (total.0 + u64::from(is_alone), total.1 + (end - begun.start));
        if let Some(index) = begun.index {
            let bytes_in_use = self.in_use();
            let run = &mut self.runs[index];
            let quiet_runs = std::mem::replace(&mut self.quiet_runs, begun.quiet_runs) - begun.quiet_runs;
            (run.end, run.bytes_in_use, run.quiet_runs) = (end, bytes_in_use, quiet_runs);
            run.peak_bytes = run.peak_bytes.max(bytes_in_use);
        }
    }

    /// Records a run of a step that is not timed alone.
    pub fn count(&mut self, step: usize) {
        self.totals[step].0 += 1;
        self.quiet_runs += u64::from(self.is_quiet);
    }

    fn in_use(&self) -> usize {
        self.account.in_use().saturating_sub(self.others)
    }

    /// Reads the clock. Returns the time since the first step started, which is now if there was none.
    fn read(&mut self) -> Duration {
        self.now = self.first.get_or_insert_with(Instant::now).elapsed();
        self.now
    }

    /// Records that something runs, so that the clock must be read again for the next start.
    pub fn runs_on(&mut self) {
        self.is_now = false;
    }

    /// Records that the innermost loop begins its next turn.
    pub fn next_turn(&mut self) {
        self.turn = self.turn.map(|turn| turn + 1);
        self.is_now = false;
    }
}
