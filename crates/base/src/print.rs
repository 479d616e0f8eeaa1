//! The output of programs that print while they run.
//!
//! A line goes to the sink of the thread, else to that of the process, else to the standard error output. The thread is
//! the one that runs the program.
//!
//! ```
//! use shardwise_base::print;
//! let lines = print::captured(|| print::line("x = 1")).1;
//! assert_eq!(lines, ["x = 1"]);
//! ```

use std::cell::RefCell;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A function that takes the text of a line, without the line break that ends it. The text may have line breaks itself.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

thread_local! {
    static OF_THREAD: RefCell<Option<Sink>> = const { RefCell::new(None) };
}

static OF_PROCESS: RwLock<Option<Sink>> = RwLock::new(None);

/// Sets the sink of the process. `None` is the standard error output.
pub fn set_sink(sink: Option<Sink>) {
    *OF_PROCESS.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Runs `f` with `sink` as the sink of this thread. The sink before is restored afterwards, also if `f` panics.
pub fn with_sink<R>(sink: Sink, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Sink>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OF_THREAD.set(self.0.take());
        }
    }
    let _restore = Restore(OF_THREAD.replace(Some(sink)));
    f()
}

/// Runs `f`, and returns its result and the lines that were printed on this thread meanwhile, except for those that
/// another sink took, which `f` set.
pub fn captured<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let to = lines.clone();
    let sink: Sink = Arc::new(move |line| to.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_string()));
    let result = with_sink(sink, f);
    let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    (result, lines)
}

/// Passes a line to the sink of this thread, or else to that of the process. If there is neither, writes it to the
/// standard error output, and ignores an error.
pub fn line(text: &str) {
    let of_process = || OF_PROCESS.read().unwrap_or_else(PoisonError::into_inner).clone();
    match OF_THREAD.with_borrow(Clone::clone).or_else(of_process) {
        Some(sink) => sink(text),
        // A program does not fail because its output is closed.
        None => _ = writeln!(std::io::stderr(), "{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_nest_and_are_restored() {
        let ((), outer) = captured(|| {
            line("before");
            let ((), inner) = captured(|| line("inside\nof it"));
            assert_eq!(inner, ["inside\nof it"]);
            let caught = std::panic::catch_unwind(|| captured(|| std::panic::resume_unwind(Box::new(()))).1);
            assert!(caught.is_err());
            line("after");
        });
        assert_eq!(outer, ["before", "after"]);
    }
}
