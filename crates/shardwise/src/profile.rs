//! Profiles: the time of each instruction of the programs that a function runs.

use crate::ambient::scoped;
use crate::{Result, Returns, SourceLocation};
use shardwise_engine::{InstructionTotal, RunProfile};
use shardwise_sim::Machine;
use shardwise_view::{Maker, Timeline};
use std::fmt;
use std::path::Path;
use std::time::Duration;

scoped! {
    static RUNS: Option<Vec<(String, RunProfile)>> = None;
}

/// Runs `f` twice: first to compile its programs, then to time each of their instructions. The profile has the times of
/// the second run. Programs that run on other threads are not timed. Programs that differ only in their names and
/// source lines are compiled once, so that a profile may have the name and the lines of an equal program.
///
/// # Errors
///
/// Those of `f`, if it returns `Result`.
pub fn profile<R: Returns>(f: impl Fn() -> R) -> Result<Profile> {
    f().finish()?;
    RUNS.with(Some(vec![]), || {
        f().finish()?;
        let runs = RUNS.take().unwrap_or_default();
        let rows = runs.iter().flat_map(|(_, run)| run.instructions.iter().zip(&run.totals));
        let rows = rows.map(|(own, total)| Instruction::of(own, *total)).collect();
        Ok(Profile { rows, runs })
    })
}

pub(crate) fn is_on() -> bool {
    RUNS.read(Option::is_some)
}

pub(crate) fn add(name: &str, run: RunProfile) {
    RUNS.update(|runs| runs.get_or_insert_default().push((name.to_string(), run)));
}

/// The instructions of the programs that ran, in order. Formats as a table.
#[derive(Clone, Debug)]
pub struct Profile {
    rows: Vec<Instruction>,
    runs: Vec<(String, RunProfile)>,
}

/// An instruction of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Instruction {
    /// The ops that ran: `stablehlo.dot_general`, `fused(multiply, add)`, `check(log)` for a check of numbers.
    pub name: String,
    /// The line that made the ops; `None` if it is not known.
    pub source: Option<SourceLocation>,
    /// The number of loops and branches that it is inside of.
    pub depth: usize,
    /// The total time of all runs. That of a loop or a branch includes the instructions inside, which have rows of
    /// their own. Small instructions that are measured together have equal shares.
    pub total: Duration,
    /// The number of runs, which may be 0 inside a loop or a branch. A run on all devices counts once.
    pub count: u64,
    /// True if the instruction communicates.
    pub is_collective: bool,
}

impl Instruction {
    fn of(own: &shardwise_engine::Instruction, total: InstructionTotal) -> Instruction {
        let (depth, is_collective, source) = (own.depth, own.is_collective, SourceLocation::of(&own.loc));
        Instruction { name: own.name.clone(), source, depth, total: total.time, count: total.count, is_collective }
    }
}

impl Profile {
    /// Returns the sum of the times of all instructions. Those inside loops and branches count as a part of these.
    pub fn total(&self) -> Duration {
        self.rows.iter().filter(|r| r.depth == 0).map(|r| r.total).sum()
    }

    /// Returns the times at which the instructions ran. The programs follow each other; the times between them are not
    /// part of the timeline. If the environment variable `SHARDWISE_MACHINE` names a file that `shardwise calibrate`
    /// has written, the spans say which share of the limits of the machine they reach. A file that cannot be read is
    /// ignored. If no program ran, the timeline is empty.
    pub fn timeline(&self) -> Timeline {
        let mut names: Vec<&str> = self.runs.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        let mut runs = self.runs.iter().map(|(name, run)| run.timeline(name));
        let Some(mut timeline) = runs.next() else {
            return Timeline::new("", Maker::Measured { machine: String::new() });
        };
        runs.for_each(|next| timeline.append(next));
        timeline.program = names.join(", ");
        if let Ok(Some(machine)) = Machine::own() {
            timeline.set_limits(machine.limits());
        }
        timeline
    }

    /// Writes the timeline to a file, completely or not at all: a page (`.html`), or a trace for Perfetto (`.pftrace`,
    /// `.perfetto-trace`), Chrome (`.json`) or XProf (`.xplane.pb`).
    ///
    /// # Errors
    ///
    /// `timeline-format` for another extension, and `timeline-unwritable` if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.timeline().save(path, None)?)
    }
}

impl<'a> IntoIterator for &'a Profile {
    type Item = &'a Instruction;
    type IntoIter = std::slice::Iter<'a, Instruction>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12}  {:>6}  instruction", "time", "runs")?;
        for r in &self.rows {
            let mark = if r.is_collective { "  communication" } else { "" };
            let source = r.source.as_ref().map_or("unknown".into(), SourceLocation::to_string);
            writeln!(f, "{:>12}  {:>6}  {}  {source}{mark}", format!("{:.1?}", r.total), r.count, r.name)?;
        }
        write!(f, "{:>12}  in all", format!("{:.1?}", self.total()))
    }
}
