//! Records which worker worked when, for profiles.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A call is not recorded if the list has this many runs or more when the call begins. This many take 28 MiB.
const MAX_RUNS: usize = 1 << 19;

/// The key that stands for none.
const NO_KEY: usize = usize::MAX;

/// A list of what the workers did.
pub(crate) struct Recorder {
    /// The key of the calls that come next, or [`NO_KEY`] if they are not recorded.
    key: AtomicUsize,
    runs: Mutex<Vec<WorkerRun>>,
}

/// A period in which a worker took parts of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WorkerRun {
    /// The number of the worker. The caller is number 0.
    pub(crate) worker: usize,
    pub(crate) key: usize,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// The number of parts, at least 1.
    pub(crate) parts: usize,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Recorder>>> = const { RefCell::new(None) };
}

/// Returns the recorder that this thread has entered, and the key of the next call. Returns `None` if the call is not
/// recorded: there is no recorder or no key, or the list of runs is full.
pub(super) fn current() -> Option<(Arc<Recorder>, usize)> {
    let recorder = CURRENT.with_borrow(Option::clone)?;
    let key = recorder.key.load(Relaxed);
    let is_full = || recorder.list().len() >= MAX_RUNS;
    (key != NO_KEY && !is_full()).then_some((recorder, key))
}

/// Ends the recording of calls of this thread when it is dropped.
pub(crate) struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { key: AtomicUsize::new(NO_KEY), runs: Mutex::default() }
    }
}

impl Recorder {
    /// Records the calls of this thread that use helpers until the result is dropped, as far as they have a key and the
    /// list of runs is not full.
    pub(crate) fn enter(self: &Arc<Recorder>) -> Entered {
        CURRENT.set(Some(self.clone()));
        Entered
    }

    /// Sets the key of the calls that come next. They are not recorded if it is `None`.
    pub(crate) fn set_key(&self, key: Option<usize>) {
        self.key.store(key.unwrap_or(NO_KEY), Relaxed);
    }

    pub(super) fn add(&self, run: WorkerRun) {
        if run.parts > 0 {
            self.list().push(run);
        }
    }

    pub(crate) fn take(&self) -> Vec<WorkerRun> {
        std::mem::take(&mut self.list())
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<WorkerRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::{Effort, Workers};

    #[test]
    fn all_parts_of_recorded_calls_are_found() {
        let workers = Workers::new(3);
        let recorder = Arc::new(Recorder::default());
        let run = |parts| workers.run(parts, Effort::Large, |_| {});
        {
            let _recording = recorder.enter();
            run(5);
            recorder.set_key(Some(7));
            run(100);
            workers.run(9, Effort::Small, |_| {});
            recorder.set_key(Some(8));
            run(40);
        }
        run(3);
        let runs = recorder.take();
        let parts = |key: usize| runs.iter().filter(|run| run.key == key).map(|run| run.parts).sum::<usize>();
        assert_eq!((parts(7), parts(8), runs.iter().map(|run| run.parts).sum::<usize>()), (100, 40, 140));
        assert!(runs.iter().all(|run| run.worker < 3 && run.start <= run.end && run.parts > 0));
    }
}
