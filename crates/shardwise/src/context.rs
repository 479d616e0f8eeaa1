//! The location that new ops get: the line that called the library, and the enclosing name scopes.

use crate::ambient::scoped;
use crate::{control, mistakes};
use shardwise_base::Loc;
use shardwise_ir::MAX_REGION_DEPTH;
use std::panic::Location;
use std::sync::Arc;

scoped! {
    /// The user's line, while a library function runs that calls other library functions.
    static CALLER: Option<&'static Location<'static>> = None;
    /// The number of user functions that are running inside each other.
    static NESTING: usize = 0;
    /// The location of the op that is copied, while a transformed function is copied into a program.
    static COPIED: Option<Loc> = None;
    /// The names of the enclosing scopes, joined: `encoder/softmax`.
    static SCOPE: Option<Arc<str>> = None;
}

/// Returns the line to report: the call of the outermost library function that is running, or `at` if none is. A
/// library function does not count while a user function runs inside it.
pub(crate) fn caller(at: &'static Location<'static>) -> &'static Location<'static> {
    CALLER.get().unwrap_or(at)
}

/// Returns the location for ops that are made now: the line that [`caller`] returns for `at`, with the enclosing name
/// scopes. While [`copying`] runs, it is the location of the op that is copied instead.
pub(crate) fn loc(at: &'static Location<'static>) -> Loc {
    if let Some(loc) = COPIED.read(Clone::clone) {
        return loc;
    }
    let loc = Loc::caller(caller(at));
    match SCOPE.get() {
        Some(scope) => loc.named(scope),
        None => loc,
    }
}

/// Returns the location of `at` itself, without name scopes, whichever library function is running.
pub(crate) fn loc_of(at: &'static Location<'static>) -> Loc {
    Loc::caller(at)
}

/// Runs `f`, the code of a library function that calls other library functions. Ops and mistakes made inside get the
/// location `at`, or that of the library function that is running already.
pub(crate) fn within<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    CALLER.with(Some(caller(at)), f)
}

pub(crate) fn copying<R>(loc: &Loc, f: impl FnOnce() -> R) -> R {
    COPIED.with(Some(loc.clone()), f)
}

/// Returns true while an op of a traced function is copied, as [`copying`] does.
pub(crate) fn is_copying() -> bool {
    COPIED.read(Option::is_some)
}

/// The largest number of user functions that the library runs inside each other. Each takes a few kilobytes of stack,
/// of which a thread has two megabytes. Each may also be a region, and programs nest regions at most
/// [`MAX_REGION_DEPTH`] deep.
pub(crate) const MAX_NESTING: usize = 100;
const _: () = assert!(MAX_NESTING < MAX_REGION_DEPTH);

/// Runs a user function from within a trace, so that its ops get its own lines.
///
/// Ends the trace with the mistake `trace-depth` at `at` if [`MAX_NESTING`] user functions are running already: a
/// function that calls itself would use up the stack. Outside of a trace, panics with this mistake.
pub(crate) fn outside<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    if NESTING.get() == MAX_NESTING {
        control::give_up(mistakes::nesting(MAX_NESTING, &loc(at)), at);
    }
    NESTING.counted(|| CALLER.with(None, f))
}

/// Adds a name to the ops that `f` makes, for reports, traces and profiles. Nested scopes are joined:
/// `encoder/softmax`. A program that is found in a cache keeps the names with which it was traced.
pub fn named_scope<R>(name: &str, f: impl FnOnce() -> R) -> R {
    let inner = SCOPE.read(|outer| outer.as_ref().map_or(name.into(), |outer| format!("{outer}/{name}").into()));
    SCOPE.with(Some(inner), f)
}

pub(crate) fn show(at: &Location<'_>) -> String {
    format!("{}:{}:{}", at.file(), at.line(), at.column())
}
