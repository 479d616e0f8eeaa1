//! The workers of the process: one pool, in which the caller works too.
//!
//! [`Workers::run`] calls a function for each part of a kernel. The parts are the kernel's own, cut by its shape; workers
//! only take them. Helpers spin for 50 microseconds after their last part and then sleep; there are no other threads, and
//! nothing ever waits for a part that nobody has begun. A call from within a part, or while another thread has the helpers,
//! runs on its own thread.
//!
//! ```
//! use shardwise_host::pool::{Effort, Workers};
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! let sum = AtomicUsize::new(0);
//! Workers::global().run(10, Effort::Large, |part| {
//!     sum.fetch_add(part, Ordering::Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 45);
//! ```

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

const SPIN: Duration = Duration::from_micros(50);

/// Whether a kernel is worth waking a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Below some 60 microseconds in all: run here and now.
    Small,
    /// Anything longer.
    Large,
}

/// A pool of workers.
pub struct Workers {
    shared: Arc<Shared>,
    helpers: Vec<Helper>,
    /// Held by the caller whose kernel the helpers serve.
    turn: Mutex<()>,
}

struct Helper {
    thread: Option<JoinHandle<()>>,
    handle: Thread,
    asleep: Arc<AtomicBool>,
}

#[derive(Default)]
struct Shared {
    /// The kernel that is open to helpers, or null.
    job: AtomicPtr<Job<'static>>,
    /// Helpers that may be looking at `job`.
    visitors: AtomicUsize,
    /// Rises with each kernel, so that helpers notice.
    epoch: AtomicUsize,
    stop: AtomicBool,
}

struct Job<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    parts: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Workers {
    /// The pool of the process: as many workers as the machine has cores, or as `SHARDWISE_WORKERS` says.
    pub fn global() -> &'static Workers {
        static GLOBAL: OnceLock<Workers> = OnceLock::new();
        GLOBAL.get_or_init(|| Workers::new(default_count()))
    }

    /// A pool of `count` workers, the caller included.
    pub fn new(count: usize) -> Workers {
        let shared = Arc::new(Shared::default());
        let helpers = (1..count).filter_map(|i| Helper::start(i, &shared)).collect();
        Workers { shared, helpers, turn: Mutex::new(()) }
    }

    /// The number of workers, the caller included.
    pub fn count(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls `run(part)` once for each part in `0..parts`, and returns when all are done.
    ///
    /// A panic in a part is raised here, after the others are done.
    pub fn run(&self, parts: usize, effort: Effort, run: impl Fn(usize) + Sync) {
        if effort == Effort::Small || parts < 2 || self.helpers.is_empty() || INSIDE.get() {
            return (0..parts).for_each(run);
        }
        match self.turn.try_lock() {
            Ok(_turn) => self.run_together(parts, &run),
            Err(_) => (0..parts).for_each(run),
        }
    }

    fn run_together(&self, parts: usize, run: &(dyn Fn(usize) + Sync)) {
        let job = Job { run, parts, next: AtomicUsize::new(0), panic: Mutex::new(None) };
        self.open(&job);
        job.work();
        self.close();
        let panic = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn open(&self, job: &Job<'_>) {
        let job = std::ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.shared.job.store(job, SeqCst);
        self.shared.epoch.fetch_add(1, SeqCst);
        for helper in self.helpers.iter().filter(|h| h.asleep.load(SeqCst)) {
            helper.handle.unpark();
        }
    }

    /// After this no helper holds the job: one that read it is counted as a visitor until it is done, and one that is
    /// counted later reads null.
    fn close(&self) {
        self.shared.job.store(std::ptr::null_mut(), SeqCst);
        let start = Instant::now();
        while self.shared.visitors.load(SeqCst) > 0 {
            pause(start);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        for helper in &mut self.helpers {
            helper.handle.unpark();
            if let Some(thread) = helper.thread.take() {
                // A helper catches the panics of its parts, so it has none of its own to report.
                let _ = thread.join();
            }
        }
    }
}

fn default_count() -> usize {
    let asked = std::env::var("SHARDWISE_WORKERS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).clamp(1, 1024)
}

/// Spins at first, then lets others run.
fn pause(start: Instant) {
    if start.elapsed() < SPIN { std::hint::spin_loop() } else { std::thread::yield_now() }
}

impl Job<'_> {
    fn work(&self) {
        INSIDE.set(true);
        loop {
            let part = self.next.fetch_add(1, SeqCst);
            if part >= self.parts {
                break;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.run)(part))) {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        }
        INSIDE.set(false);
    }
}

impl Shared {
    /// Takes parts of the open kernel, if there is one.
    fn visit(&self) {
        self.visitors.fetch_add(1, SeqCst);
        let job = self.job.load(SeqCst);
        if !job.is_null() {
            // SAFETY: `close` waits for visitors before the job ends, and we became one before reading the pointer.
            unsafe { (*job).work() };
        }
        self.visitors.fetch_sub(1, SeqCst);
    }
}

impl Helper {
    fn start(index: usize, shared: &Arc<Shared>) -> Option<Helper> {
        let asleep = Arc::new(AtomicBool::new(false));
        let (shared, mine) = (shared.clone(), asleep.clone());
        let builder = std::thread::Builder::new().name(format!("shardwise-{index}"));
        let thread = builder.spawn(move || serve(&shared, &mine)).ok()?;
        Some(Helper { handle: thread.thread().clone(), thread: Some(thread), asleep })
    }
}

fn serve(shared: &Shared, asleep: &AtomicBool) {
    let mut seen = 0;
    while !shared.stop.load(SeqCst) {
        if wait_for_epoch(shared, seen) {
            seen = shared.epoch.load(SeqCst);
            shared.visit();
        } else {
            sleep(shared, asleep, seen);
        }
    }
}

/// Spins until the epoch is not `seen`; false if that takes too long.
fn wait_for_epoch(shared: &Shared, seen: usize) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if shared.epoch.load(SeqCst) != seen {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}

/// Sleeps until woken, unless a kernel was opened before `asleep` could be seen.
fn sleep(shared: &Shared, asleep: &AtomicBool, seen: usize) {
    asleep.store(true, SeqCst);
    if shared.epoch.load(SeqCst) == seen && !shared.stop.load(SeqCst) {
        std::thread::park();
    }
    asleep.store(false, SeqCst);
}

/// Cuts `0..len` into pieces of `size` and gives the range of piece `part`.
pub(crate) fn piece(len: usize, size: usize, part: usize) -> std::ops::Range<usize> {
    (part * size).min(len)..((part + 1) * size).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_seen(workers: &Workers, parts: usize, effort: Effort) -> Vec<usize> {
        let seen: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
        workers.run(parts, effort, |part| {
            seen[part].fetch_add(1, SeqCst);
        });
        seen.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn each_part_runs_once_for_any_number_of_workers() {
        for count in [1, 2, 5] {
            let workers = Workers::new(count);
            for round in 0..200 {
                let parts = round % 7;
                assert_eq!(parts_seen(&workers, parts, Effort::Large), vec![1; parts]);
            }
            assert_eq!(parts_seen(&workers, 9, Effort::Small), vec![1; 9]);
        }
    }

    #[test]
    fn helpers_wake_after_a_sleep() {
        let workers = Workers::new(3);
        for _ in 0..5 {
            std::thread::yield_now();
            let start = Instant::now();
            while start.elapsed() < 4 * SPIN {}
            assert_eq!(parts_seen(&workers, 50, Effort::Large), vec![1; 50]);
        }
    }

    #[test]
    fn nested_and_concurrent_calls_run() {
        let workers = Workers::new(2);
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    workers.run(8, Effort::Large, |_| {
                        workers.run(4, Effort::Large, |_| {
                            total.fetch_add(1, SeqCst);
                        })
                    })
                });
            }
        });
        assert_eq!(total.into_inner(), 96);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let workers = Workers::new(2);
        let run = || workers.run(8, Effort::Large, |part| assert_ne!(part, 5, "part five"));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(parts_seen(&workers, 3, Effort::Large), vec![1; 3]);
    }
}
