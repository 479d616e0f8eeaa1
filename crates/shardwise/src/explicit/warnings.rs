//! Where programs communicate over Explicit axes unasked: data, once for each line.

use crate::error::Diagnostic as Mistake;
use crate::runtime;
use shardwise_base::{Diagnostic, Loc};
use shardwise_ir::Module;
use shardwise_spmd::warnings::is_same_line;
use std::cell::RefCell;
use std::sync::OnceLock;

/// The warnings of a trace under way.
#[derive(Default)]
pub(crate) struct Warnings(Vec<Line>);

/// One line that communicates.
struct Line {
    loc: Loc,
    /// The functions on it.
    names: Vec<&'static str>,
    facts: Vec<String>,
    help: Vec<String>,
}

impl Warnings {
    /// Whether nothing has been said of this function on its line.
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
        let warning = Diagnostic::warning("communication", &self.loc, format!("{} {verb}", names.join(", ")));
        let warning = self.facts.into_iter().fold(warning, Diagnostic::facts);
        self.help.into_iter().fold(warning, Diagnostic::help)
    }
}

/// The warnings of a finished program; what it moves for each is worked out when somebody asks.
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

    /// With the bytes that `module`, whose they are, moves for them.
    pub fn of(&self, module: &Module) -> &[Mistake] {
        self.shown.get_or_init(|| {
            let found = self.found.iter();
            match (!self.is_empty()).then(|| runtime::table(module)) {
                Some(Ok(table)) => found.map(|w| Mistake(shardwise_spmd::warnings::with_bytes(w, &table))).collect(),
                _ => found.map(|w| Mistake(w.clone())).collect(),
            }
        })
    }

    /// The module, which carries them.
    pub fn noted(&self, module: &Module) -> Module {
        let mut module = module.clone();
        let shown: Vec<Diagnostic> = self.of(&module).iter().map(|w| w.0.clone()).collect();
        shardwise_spmd::warnings::write(&mut module, &shown);
        module
    }
}

thread_local!(static COLLECTED: RefCell<Option<Vec<Mistake>>> = const { RefCell::new(None) });

/// Runs `f`; also gives where the programs that it ran, eager functions among them, communicated over Explicit axes
/// without asking for it: once for each line. [`Lowered::warnings`](crate::Lowered::warnings) says it of a program
/// that has not run.
pub fn with_warnings<R>(f: impl FnOnce() -> R) -> (R, Vec<Mistake>) {
    struct Restore(Option<Vec<Mistake>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            COLLECTED.set(self.0.take());
        }
    }
    let _restore = Restore(COLLECTED.replace(Some(vec![])));
    let out = f();
    (out, COLLECTED.take().unwrap_or_default())
}

/// Notes that a program ran which has warnings; `at`: where it was called, if that is where it stands.
pub(crate) fn report(warned: &Warned, module: &Module, at: Option<&Loc>) {
    if COLLECTED.with_borrow(Option::is_none) {
        return;
    }
    let found = warned.of(module).iter().map(|w| {
        let loc = at.unwrap_or(&w.0.loc).clone();
        Mistake(Diagnostic { loc, ..w.0.clone() })
    });
    COLLECTED.with_borrow_mut(|all| {
        let all = all.get_or_insert_default();
        for w in found {
            if !all.iter().any(|o| is_same_line(&o.0.loc, &w.0.loc) && o.0.message == w.0.message) {
                all.push(w);
            }
        }
    });
}
