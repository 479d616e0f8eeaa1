//! Fuzzing: makes a program from a seed, runs it, and reports what must not happen.
//!
//! A case is a [`CaseKind`] and a seed. [`run`] makes the case's program, runs it under limits, and returns how far it
//! came and what is wrong. `cargo xtask fuzz` calls it in child processes, so that a crash or a hang is also a finding.
//!
//! ```
//! use shardwise_check::fuzz::{CaseKind, run};
//! let outcome = run(CaseKind::Valid, 1);
//! assert!(outcome.found.is_none_or(|found| !found.what.is_empty()));
//! ```

mod corpus;
mod equal;
mod execute;
mod guard;
mod inject;
mod mutants;
mod panics;
pub mod shares;
mod worker;

pub use corpus::corpus;
pub use execute::{Input, execute};
pub use worker::{Report, work};

use crate::program::{Program, far_program, moving_program, program};
use shardwise_ops::Opcode;
use std::str::FromStr;

/// The largest number of steps that each stage of a case may take. Runs on guarded memory may take a tenth of it.
pub const MAX_STEPS: u64 = 100_000;
/// The number of bytes that each stage of a case may hold.
pub const MAX_BYTES: usize = 64 << 20;

/// One of this many valid programs has positions beyond 2^31.
const FAR: u64 = 10_000;

/// In one of this many valid programs, many ops move elements along sharded dimensions.
const MOVING: u64 = 4;

/// The origin of a case's program, and how it is run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CaseKind {
    /// A generated program, whose results must be equal everywhere, up to the bits of NaNs.
    Valid,
    /// A program of the corpus or a generated one, changed in a few places.
    Mutants,
    /// A generated program or, for an even seed, a changed one as for [`CaseKind::Mutants`]. It runs on guarded memory
    /// with two fills.
    Guard,
    /// A generated program, with failures injected into its runs.
    Inject,
}

impl CaseKind {
    /// Every kind.
    pub const ALL: [CaseKind; 4] = [CaseKind::Valid, CaseKind::Mutants, CaseKind::Guard, CaseKind::Inject];

    /// Returns the name of the kind on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CaseKind::Valid => "valid",
            CaseKind::Mutants => "mutants",
            CaseKind::Guard => "guard",
            CaseKind::Inject => "inject",
        }
    }
}

impl FromStr for CaseKind {
    type Err = String;

    fn from_str(name: &str) -> Result<CaseKind, String> {
        let found = CaseKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("there is no kind of case `{name}`"))
    }
}

/// How far a program came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Reached {
    /// The text could not be read, or a panic ended the case.
    #[default]
    Nothing,
    /// The text was read, and the module does not verify.
    Read,
    /// The module verifies. It has no main function, an argument or a result is no array, its text does not read back,
    /// the partitioner refused it, the interpreter refused it although it is known to be valid, or, in a case of
    /// [`CaseKind::Inject`], its arguments could not be placed, or its first run, without failures, ended without
    /// results or with a finding.
    Verified,
    /// The module was partitioned. An engine or the interpreter refused the partitioned program, or there is a finding
    /// about it or about the text of a stage.
    Partitioned,
    /// A stage reached a limit of steps or memory, or the arguments are too large. The interpreter may reach a limit on
    /// the whole program without ending the case here.
    Limit,
    /// The program ran to the end: on both engines, or on one if the kind of case uses only one.
    Ran,
}

impl Reached {
    /// All stages, from the first to the last.
    pub const ALL: [Reached; 6] =
        [Reached::Nothing, Reached::Read, Reached::Verified, Reached::Partitioned, Reached::Limit, Reached::Ran];

    /// Describes the programs of [`CaseKind::Valid`] and [`CaseKind::Mutants`] that came to this stage and no further.
    pub fn describes(self) -> &'static str {
        match self {
            Reached::Nothing => "not read",
            Reached::Read => "not well-formed",
            Reached::Verified => "refused by the partitioner or the interpreter",
            Reached::Partitioned => "refused by an engine",
            Reached::Limit => "ended at a limit",
            Reached::Ran => "ran to the end",
        }
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How far the program came.
    pub reached: Reached,
    /// Each op of the program, once for each place where it occurs. Empty if the program does not verify, or if a panic
    /// ended the case.
    pub ops: Vec<Opcode>,
    /// The names of the generated program's features. Empty for changed programs, for programs with positions beyond
    /// 2^31, for [`run_text`], and if a panic ended the case.
    pub features: Vec<&'static str>,
    /// The names of the strategies by which the main function's ops run, of their special cases, and of some of these
    /// ops, as in `halo of slice`, each once. Empty if the program was not partitioned or has no mesh, if a panic ended
    /// the case, and for the kinds [`CaseKind::Guard`] and [`CaseKind::Inject`].
    pub strategies: Vec<String>,
    /// The name of each injected failure, which also says whether the run reported it: `write reported` or `write not
    /// reached`. Empty for all kinds but [`CaseKind::Inject`].
    pub injected: Vec<&'static str>,
    /// The reason why the partitioned program's results were not compared with the whole program's, if they were not
    /// although both engines ran it. `None` for the kinds [`CaseKind::Guard`] and [`CaseKind::Inject`], which never
    /// compare them.
    pub not_compared: Option<&'static str>,
    /// The finding, if there is one.
    pub found: Option<Found>,
}

/// A finding: something that must not happen.
#[derive(Clone, Debug)]
pub struct Found {
    /// A line that says what is wrong, by which findings with the same cause are grouped. For a panic, it has the
    /// location and the start of the message, if they are known.
    pub what: String,
    /// The details, on any number of lines. May be empty.
    pub details: String,
}

impl Found {
    pub(crate) fn new(what: impl Into<String>, details: impl Into<String>) -> Found {
        Found { what: what.into(), details: details.into() }
    }
}

/// Returns the text of the program of a case.
pub fn text(kind: CaseKind, seed: u64) -> String {
    made(kind, seed).0.text
}

fn made(kind: CaseKind, seed: u64) -> (Program, Input) {
    match kind {
        CaseKind::Mutants => (mutants::mutant(seed), Input::Any),
        CaseKind::Guard if seed.is_multiple_of(2) => (mutants::mutant(seed), Input::Any),
        CaseKind::Valid if seed % FAR == FAR / 2 => (far_program(seed), Input::Exact),
        CaseKind::Valid if seed % MOVING == MOVING - 1 => (moving_program(seed), Input::Exact),
        CaseKind::Valid | CaseKind::Guard | CaseKind::Inject => (program(seed), Input::Exact),
    }
}

/// Runs a case and returns its outcome. A panic is a finding, except one that was injected, or that was caught while
/// the program was made. A signal, such as that of an invalid access to guarded memory, ends the process.
pub fn run(kind: CaseKind, seed: u64) -> Outcome {
    panics::catch(|| {
        let (program, input) = made(kind, seed);
        // Texts at which the reader panics may be tried while a mutant is made. The text that is chosen panics again.
        panics::forget();
        Outcome { features: program.features, ..run_program(kind, seed, &program.text, input) }
    })
}

/// Runs a program as if it were the program of the case, and returns the outcome. The program counts as valid only for
/// [`CaseKind::Valid`]: for the other kinds, diagnostics are no findings.
pub fn run_text(kind: CaseKind, seed: u64, text: &str) -> Outcome {
    let input = if kind == CaseKind::Valid { Input::Exact } else { Input::Any };
    panics::catch(|| run_program(kind, seed, text, input))
}

fn run_program(kind: CaseKind, seed: u64, text: &str, input: Input) -> Outcome {
    match kind {
        CaseKind::Valid | CaseKind::Mutants => execute(text, input, seed),
        CaseKind::Guard => execute::run_case(input, seed, |case| guard::run(case, text)),
        CaseKind::Inject => execute::run_case(input, seed, |case| inject::run(case, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_beyond_32_bits_are_right_on_the_host() {
        let outcome = run(CaseKind::Valid, FAR / 2);
        assert!(outcome.found.is_none(), "{outcome:?}");
        assert_eq!(outcome.reached, Reached::Limit);
    }

    #[test]
    fn what_the_interpreter_cannot_hold_is_checked_by_the_program_itself() {
        let text = |last: usize| {
            format!(
                "func.func @main() -> tensor<i64> {{
  %0 = stablehlo.iota dim = 0 : tensor<9000000xi64>
  %1 = stablehlo.constant dense<0> : tensor<i64>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [0] : (tensor<9000000xi64>, tensor<i64>) -> tensor<i64>
  %3 = stablehlo.constant dense<{last}> : tensor<i64>
  check.expect_eq %2, %3 : tensor<i64>
  return %2 : tensor<i64>
}}"
            )
        };
        let found = |last| run_text(CaseKind::Valid, 0, &text(last)).found.map(|f| f.what);
        assert_eq!(found(8_999_999), None);
        assert!(found(9_000_000).is_some_and(|what| what.starts_with("host refuses a valid program")));
    }
}
