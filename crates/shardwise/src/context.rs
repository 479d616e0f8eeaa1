//! Where the program is while it makes ops: the line that called the library, and the name scopes around it.

use crate::{control, mistakes};
use shardwise_base::Loc;
use shardwise_ir::MAX_REGION_DEPTH;
use std::cell::{Cell, RefCell};
use std::panic::Location;

thread_local! {
    /// The program's line, while a function of the library runs that is made of other ones.
    static CALLER: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    /// How many functions of the user's own run within each other.
    static NESTING: Cell<usize> = const { Cell::new(0) };
    static SCOPES: RefCell<Vec<String>> = const { RefCell::new(vec![]) };
}

/// The line to blame: `at`, or the line that called the library function that we are in.
pub(crate) fn caller(at: &'static Location<'static>) -> &'static Location<'static> {
    CALLER.get().unwrap_or(at)
}

/// The location of what is made now.
pub(crate) fn loc(at: &'static Location<'static>) -> Loc {
    let loc = Loc::caller(caller(at));
    SCOPES.with_borrow(|scopes| if scopes.is_empty() { loc.clone() } else { loc.clone().named(scopes.join("/")) })
}

/// The location of what was made at `at`, wherever that was called from.
pub(crate) fn loc_of(at: &'static Location<'static>) -> Loc {
    Loc::caller(at)
}

/// Runs a library function made of other ones: whatever they make or find wrong is put down to `at`.
pub(crate) fn within<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<&'static Location<'static>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CALLER.set(self.0);
        }
    }
    let _restore = Restore(CALLER.replace(Some(caller(at))));
    f()
}

/// Functions of the user's own that the library runs within each other, at most. Each takes a few kilobytes of stack, of
/// which a thread has two megabytes; and each may be a region, which programs nest at most [`MAX_REGION_DEPTH`] deep.
pub(crate) const MAX_NESTING: usize = 100;
const _: () = assert!(MAX_NESTING < MAX_REGION_DEPTH);

/// Runs a function of the user's own from within a trace: its lines are its own again. `at`: the call that runs it.
///
/// Ends the trace where such functions nest too deep: one that calls itself would use up the stack.
pub(crate) fn outside<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<&'static Location<'static>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CALLER.set(self.0);
            NESTING.set(NESTING.get() - 1);
        }
    }
    if NESTING.get() == MAX_NESTING {
        control::give_up(mistakes::nesting(MAX_NESTING, &loc(at)), at);
    }
    NESTING.set(NESTING.get() + 1);
    let _restore = Restore(CALLER.replace(None));
    f()
}

/// Names the ops that `f` makes, in reports, traces and profiles; scopes nest as `encoder/softmax`.
pub fn named_scope<R>(name: &str, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| scopes.pop());
        }
    }
    SCOPES.with_borrow_mut(|scopes| scopes.push(name.to_string()));
    let _leave = Leave;
    f()
}

/// `file:line:column`.
pub(crate) fn show(at: &Location<'_>) -> String {
    format!("{}:{}:{}", at.file(), at.line(), at.column())
}
