//! Warnings about communication over Explicit axes that the program did not ask for, once for each line: as data for
//! those who collect them, and as lines of output otherwise.

use crate::ambient::scoped;
use crate::error::Diagnostic as Mistake;
use crate::runtime;
use shardwise_base::{Diagnostic, Loc, print};
use shardwise_ir::Module;
use shardwise_spmd::warnings::is_same_line;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// The warnings of an active trace.
#[derive(Default)]
pub(crate) struct Warnings(Vec<Line>);

/// A line that communicates.
struct Line {
    loc: Loc,
    /// The functions called on the line that communicate.
    names: Vec<&'static str>,
    facts: Vec<String>,
    help: Vec<String>,
}

impl Warnings {
    /// Returns true if the function `name` has no warning yet on the line of `loc`, or if this line is not known.
    pub fn is_news(&self, loc: &Loc, name: &'static str) -> bool {
        !self.0.iter().any(|line| line.names.contains(&name) && is_same_line(&line.loc, loc))
    }

    pub fn add(&mut self, loc: &Loc, name: &'static str, facts: String, help: String) {
        let place = self.0.iter().position(|line| is_same_line(&line.loc, loc)).unwrap_or_else(|| {
            self.0.push(Line { loc: loc.clone(), names: vec![], facts: vec![], help: vec![] });
            self.0.len() - 1
        });
        let line = &mut self.0[place];
        line.names.push(name);
        line.facts.push(facts);
        line.help.push(help);
    }

    pub fn finish(self) -> Vec<Diagnostic> {
        self.0.into_iter().map(Line::finish).collect()
    }
}

impl Line {
    fn finish(self) -> Diagnostic {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let verb = if names.len() == 1 { "communicates" } else { "communicate" };
        let warning = Diagnostic::warning(
            "communication",
            &self.loc,
            format!("{} {verb} without the program asking for it", names.join(", ")),
        );
        let warning = self.facts.into_iter().fold(warning, Diagnostic::facts);
        self.help.into_iter().fold(warning, Diagnostic::help)
    }
}

/// The warnings of a finished program. The bytes that it moves are computed when somebody reads the warnings.
pub(crate) struct Warned {
    found: Vec<Diagnostic>,
    shown: OnceLock<Vec<Mistake>>,
}

impl Warned {
    pub fn new(found: Vec<Diagnostic>) -> Warned {
        Warned { found, shown: OnceLock::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the warnings, with the bytes that `module` moves for them. The warnings must belong to `module`. The
    /// bytes are left out if the module cannot be partitioned.
    pub fn of(&self, module: &Module) -> &[Mistake] {
        self.shown.get_or_init(|| {
            let found = self.found.iter();
            match (!self.is_empty()).then(|| runtime::table(module)) {
                Some(Ok(table)) => found.map(|w| Mistake(shardwise_spmd::warnings::with_bytes(w, &table))).collect(),
                _ => found.map(|w| Mistake(w.clone())).collect(),
            }
        })
    }

    /// Returns the module with the warnings recorded in it.
    pub fn noted(&self, module: &Module) -> Module {
        let mut module = module.clone();
        let shown: Vec<Diagnostic> = self.of(&module).iter().map(|w| w.0.clone()).collect();
        shardwise_spmd::warnings::write(&mut module, &shown);
        module
    }
}

scoped! {
    static COLLECTED: Option<Vec<Mistake>> = None;
}

/// Runs `f`. Also returns the warnings about communication over Explicit axes that programs in `f` did not ask for,
/// once for each line and message. Eager functions are programs, too. An inner call of this function keeps its warnings
/// to itself. There are only warnings where [`Communicate::Warn`](crate::Communicate::Warn) applies.
///
/// Outside of this function, a process prints each warning once for each line and message, when a program with this
/// warning first runs: to the standard error output, or where
/// [`set_print_sink`](crate::debug::set_print_sink) and [`with_print_sink`](crate::debug::with_print_sink) say.
///
/// [`Lowered::warnings`](crate::Lowered::warnings) returns the warnings of a program that has not run.
pub fn with_warnings<R>(f: impl FnOnce() -> R) -> (R, Vec<Mistake>) {
    COLLECTED.with(Some(vec![]), || (f(), COLLECTED.take().unwrap_or_default()))
}

/// The largest number of printed warnings that are remembered. When it is reached, all are forgotten, so that they may
/// be printed again.
const MAX_PRINTED: usize = 1 << 16;

/// The lines and messages of the warnings that were printed.
static PRINTED: LazyLock<Mutex<HashSet<(String, u32, String)>>> = LazyLock::new(Mutex::default);

/// Returns true if a warning with this message was not printed yet for the line of `loc`, and records that it is now. A
/// warning whose line is not known is printed once for each message.
fn is_first(message: &str, loc: &Loc) -> bool {
    let line = loc.file_pos().map_or((String::new(), 0), |p| (p.file.to_string(), p.line));
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.len() >= MAX_PRINTED {
        printed.clear();
    }
    printed.insert((line.0, line.1, message.to_string()))
}

/// Reports that a program with warnings runs: to [`with_warnings`], or else by printing those that are new. `at` is the
/// call, if the warnings are to be reported there.
pub(crate) fn report(warned: &Warned, module: &Module, at: Option<&Loc>) {
    let found = |i: usize| {
        let warning = warned.of(module)[i].0.clone();
        Mistake(Diagnostic { loc: at.unwrap_or(&warning.loc).clone(), ..warning })
    };
    if COLLECTED.read(Option::is_none) {
        let news = warned.found.iter().enumerate().filter(|(_, w)| is_first(&w.message, at.unwrap_or(&w.loc)));
        news.for_each(|(i, _)| print::line(&found(i).to_string()));
        return;
    }
    COLLECTED.update(|all| {
        let all = all.get_or_insert_default();
        for w in (0..warned.found.len()).map(found) {
            if !all.iter().any(|o| is_same_line(&o.0.loc, &w.0.loc) && o.0.message == w.0.message) {
                all.push(w);
            }
        }
    });
}
