//! Profiles: the time of each instruction of the programs that a function runs.

use crate::ambient::scoped;
use crate::{Result, Returns, SourceLocation};
use shardwise_engine::InstructionTime;
use std::fmt;
use std::time::Duration;

scoped! {
    static TIMES: Option<Vec<InstructionTime>> = None;
}

/// Runs `f` twice: first to compile its programs, then to time each of their instructions. The profile has the times of
/// the second run.
///
/// # Errors
///
/// Those of `f`, if it returns `Result`.
pub fn profile<R: Returns>(f: impl Fn() -> R) -> Result<Profile> {
    f().finish()?;
    TIMES.with(Some(vec![]), || {
        f().finish()?;
        Ok(Profile { rows: TIMES.take().unwrap_or_default().into_iter().map(Instruction::of).collect() })
    })
}

/// Returns true if the programs that this thread runs are timed.
pub(crate) fn is_on() -> bool {
    TIMES.read(Option::is_some)
}

pub(crate) fn add(rows: Vec<InstructionTime>) {
    TIMES.update(|times| times.iter_mut().for_each(|t| t.extend(rows.iter().cloned())));
}

/// The instructions that ran, in the order of the programs. Formats as a table.
#[derive(Clone, Debug)]
pub struct Profile {
    rows: Vec<Instruction>,
}

/// An instruction of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Instruction {
    /// The ops that ran: `stablehlo.dot_general`, `fused(multiply, add)`.
    pub name: String,
    /// The line that made the ops; `None` if it is not known.
    pub source: Option<SourceLocation>,
    /// The number of loops and branches that it is inside of.
    pub depth: usize,
    /// The total time of all runs. That of a loop or a branch includes the instructions inside, which have rows of
    /// their own.
    pub total: Duration,
    /// The number of runs. A run on all devices counts once.
    pub count: u64,
    /// True if the instruction communicates.
    pub is_collective: bool,
}

impl Instruction {
    fn of(t: InstructionTime) -> Instruction {
        let source = SourceLocation::of(&t.loc);
        let InstructionTime { name, depth, total, count, is_collective, .. } = t;
        Instruction { name, source, depth, total, count, is_collective }
    }
}

impl Profile {
    /// Returns the sum of the times of all instructions. Those inside loops and branches count as a part of these.
    pub fn total(&self) -> Duration {
        self.rows.iter().filter(|r| r.depth == 0).map(|r| r.total).sum()
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
