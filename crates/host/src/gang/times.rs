//! The times of the steps of a run.

use shardwise_base::Account;
use std::time::{Duration, Instant};

/// The most runs of steps that are listed one by one. The list takes at most 8 MiB.
const MAX_RUNS: usize = 1 << 17;

/// How often each step of a plan ran and how long, and when, as far as the list of runs goes.
pub struct StepTimes {
    /// The time at which the first step started, or `None` before that.
    first: Option<Instant>,
    account: Account,
    /// The bytes that the account has in use beside the arguments and the constants.
    others: usize,
    /// For each step, by its `id`, how often it ran, and the total time.
    pub totals: Vec<(u64, Duration)>,
    /// The runs, in the order of their starts.
    pub runs: Vec<StepRun>,
    /// The turn of the innermost loop that is running, counted from 0, or `None` outside of loops.
    pub turn: Option<u64>,
}

/// One run of a step.
#[derive(Clone, Copy)]
pub struct StepRun {
    /// The `id` of the step.
    pub step: usize,
    /// The times since the first step started.
    pub start: Duration,
    pub end: Duration,
    pub turn: Option<u64>,
    /// The bytes of the program that are in use after the run.
    pub bytes_in_use: usize,
}

/// A step that is running: its start, and its index in the list if it is listed.
pub struct Begun {
    start: Duration,
    index: Option<usize>,
}

impl StepTimes {
    /// Returns empty times of a plan with this many steps, none of which has run. Its arguments and constants have
    /// `held` bytes.
    pub fn new(step_count: usize, held: usize) -> StepTimes {
        let account = Account::current();
        StepTimes {
            first: None,
            others: account.in_use().saturating_sub(held),
            account,
            totals: vec![(0, Duration::ZERO); step_count],
            runs: vec![],
            turn: None,
        }
    }

    /// Records that a step starts.
    pub fn begin(&mut self, step: usize) -> Begun {
        let start = self.elapsed();
        let index = (self.runs.len() < MAX_RUNS).then_some(self.runs.len());
        if index.is_some() {
            self.runs.push(StepRun { step, start, end: start, turn: self.turn, bytes_in_use: 0 });
        }
        Begun { start, index }
    }

    /// Records that the step has ended.
    pub fn end(&mut self, step: usize, begun: Begun) {
        let end = self.elapsed();
        let total = &mut self.totals[step];
        *total = (total.0 + 1, total.1 + (end - begun.start));
        if let Some(index) = begun.index {
            self.runs[index].end = end;
            self.runs[index].bytes_in_use = self.account.in_use().saturating_sub(self.others);
        }
    }

    /// Returns the time since the first step started, which is now if there was none.
    fn elapsed(&mut self) -> Duration {
        self.first.get_or_insert_with(Instant::now).elapsed()
    }

    /// Records that the innermost loop begins its next turn.
    pub fn next_turn(&mut self) {
        self.turn = self.turn.map(|turn| turn + 1);
    }
}
