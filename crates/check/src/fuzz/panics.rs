//! Reports panics as findings.

use super::{Found, Outcome};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, Once};

/// The first panic, of any thread, since a case began or ended or [`forget`] was called, while a case was running.
static FIRST: Mutex<Option<Found>> = Mutex::new(None);

/// The number of cases that are running. While it is 0, panics are printed as usual.
static CASES: AtomicUsize = AtomicUsize::new(0);

/// Runs a case and returns its outcome. The first panic of any thread that was not forgotten is the finding, even if an
/// engine turned it into a diagnostic or the case has another finding. If the case itself panics, the outcome has
/// nothing but the finding.
pub(super) fn catch(case: impl FnOnce() -> Outcome) -> Outcome {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |info| if CASES.load(SeqCst) > 0 { note(info) } else { others(info) }));
    });
    take();
    CASES.fetch_add(1, SeqCst);
    let run = catch_unwind(AssertUnwindSafe(case));
    CASES.fetch_sub(1, SeqCst);
    let noted = take();
    match run {
        Ok(outcome) => Outcome { found: noted.or(outcome.found), ..outcome },
        Err(_) => {
            let found = noted.unwrap_or_else(|| Found::new("a panic without a message", ""));
            Outcome { found: Some(found), ..Outcome::default() }
        }
    }
}

/// Forgets the panics so far, which were expected. The next panic counts as the first one.
pub(super) fn forget() {
    take();
}

fn take() -> Option<Found> {
    FIRST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
}

fn note(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let message = words.unwrap_or("a value that is no text");
    let start: String = message.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
    let backtrace = std::backtrace::Backtrace::force_capture();
    let found = Found::new(format!("panic at {place}: {start}"), format!("{message}\n{backtrace}"));
    FIRST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(found);
}
