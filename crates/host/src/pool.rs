//! The workers of the process: one pool of threads, in which the calling thread works too.
//!
//! [`Workers::run`] calls a function for each part of a kernel. The kernel determines the parts; workers only take
//! them. Helpers spin for 50 microseconds after their last part and then sleep. There are no other threads, and nothing
//! ever waits for a part that has not begun. A call from within a part that helpers may share, or while another thread
//! uses the helpers, runs on its own thread.
//!
//! Helpers work under the caller's [`Budget`] and [`Guard`]. Between parts every worker polls this budget.
//! After a part has panicked or was stopped, no other part begins, and the caller unwinds with the panic or the stop.
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
#![expect(unsafe_code, reason = "workers share a job")]

mod recorder;

pub(crate) use recorder::{Recorder, WorkerRun};

use crate::memory::Guard;
use crate::sync::{Arc, AtomicBool, AtomicPtr, AtomicUsize, Builder, JoinHandle, Mutex, Thread, park, yield_now};
use shardwise_base::budget::counts_down_to_0;
use shardwise_base::{Budget, Stop, budget};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{OnceLock, PoisonError};
use std::time::{Duration, Instant};

const SPIN: Duration = Duration::from_micros(50);

/// The amount of work of a kernel, which decides if a helper is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Less than about 60 microseconds in all: the calling thread runs all parts.
    Small,
    /// About 60 microseconds in all or more: helpers may run parts, too.
    Large,
}

/// A pool of workers.
pub struct Workers {
    shared: Arc<Shared>,
    helpers: Vec<Helper>,
    /// Locked by the caller whose kernel the helpers work on.
    turn: Mutex<()>,
}

struct Helper {
    thread: Option<JoinHandle<()>>,
    handle: Thread,
    asleep: Arc<AtomicBool>,
}

#[derive(Default)]
struct Shared {
    /// The job of the kernel whose parts helpers may take, or null.
    job: AtomicPtr<Job<'static>>,
    /// The number of helpers that may be using the job in `job`.
    visitors: AtomicUsize,
    /// A counter that is increased when a job is opened, so that helpers notice it.
    epoch: AtomicUsize,
    stop: AtomicBool,
}

struct Job<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    parts: usize,
    next: AtomicUsize,
    /// The budget of the thread that called [`Workers::run`], if it has entered one.
    budget: Option<Budget>,
    /// The guard of the thread that called [`Workers::run`].
    guard: Guard,
    failure: Mutex<Option<Failure>>,
    /// The recorder of the workers' runs, and the key of the call. `None` if the call is not recorded.
    recorder: Option<(std::sync::Arc<Recorder>, usize)>,
}

/// The reason why a call ends early: a stop in a part or after one, or the panic of a part.
enum Failure {
    Stop(Stop),
    Panic(Box<dyn Any + Send>),
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Workers {
    /// Returns the pool of the process, which the first call starts. It has as many workers as the process may use
    /// cores, or as the environment variable `SHARDWISE_WORKERS` states, but at least 1 and at most 1024. It has fewer
    /// if the system refuses threads. A value of the variable that is not a `usize`, such as `-1`, is ignored.
    pub fn global() -> &'static Workers {
        static GLOBAL: OnceLock<Workers> = OnceLock::new();
        GLOBAL.get_or_init(|| Workers::new(default_count()))
    }

    /// Returns a pool of `count` workers, including the caller, or of fewer if the system refuses threads. For a
    /// `count` of 0 the caller is the only worker.
    pub fn new(count: usize) -> Workers {
        let shared = Arc::new(Shared::default());
        let helpers = (1..count).filter_map(|i| Helper::start(i, &shared)).collect();
        Workers { shared, helpers, turn: Mutex::new(()) }
    }

    /// Returns the number of workers, including the caller.
    pub fn count(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Returns how many of `parts` parts [`Workers::run`] runs at one time with this effort, at most.
    pub fn at_once(&self, parts: usize, effort: Effort) -> usize {
        if effort == Effort::Small { parts.min(1) } else { parts.min(self.count()) }
    }

    /// Calls `run(part)` once for each part in `0..parts`, and returns when all are done. The calling thread runs all
    /// parts, in order, if the effort is small, if there are fewer than two parts or no helpers, if this is called from
    /// within a part of a call that uses helpers, or while another thread uses the helpers.
    ///
    /// If a part ends early by a panic or a [`Stop`], no other part begins, and the panic or stop is raised here after
    /// the parts that had begun are done. A run that is cancelled or has exceeded its limit of steps is stopped in the
    /// same way after a part. With helpers, this may also be the last part.
    pub fn run(&self, parts: usize, effort: Effort, run: impl Fn(usize) + Sync) {
        let run = |part| {
            panic_if_injected();
            run(part);
        };
        if effort == Effort::Small || parts < 2 || self.helpers.is_empty() || INSIDE.get() {
            return run_alone(parts, run);
        }
        // Nothing panics while `turn` is locked.
        let turn = self.turn.try_lock();
        if turn.is_err() {
            return run_alone(parts, run);
        }
        let failure = self.run_together(parts, &run);
        drop(turn);
        match failure {
            None => {}
            Some(Failure::Stop(stop)) => stop.raise(),
            Some(Failure::Panic(payload)) => resume_unwind(payload),
        }
    }

    fn run_together(&self, parts: usize, run: &(dyn Fn(usize) + Sync)) -> Option<Failure> {
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let (budget, guard, recorder) = (Budget::current(), Guard::current(), recorder::current());
        let job = Job { run, parts, next, budget, guard, failure, recorder };
        self.open(&job);
        job.work(0);
        self.close();
        job.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, job: &Job<'_>) {
        let job = std::ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.shared.job.store(job, SeqCst);
        self.shared.epoch.fetch_add(1, SeqCst);
        for helper in self.helpers.iter().filter(|h| h.asleep.load(SeqCst)) {
            helper.handle.unpark();
        }
    }

    /// Removes the job. After this no helper uses it: a helper that has read it is counted as a visitor until it is
    /// done, and a helper that is counted later reads null. The count is read by an operation that also writes, so this
    /// operation is ordered before or after each of a helper's own.
    fn close(&self) {
        self.shared.job.store(std::ptr::null_mut(), SeqCst);
        let mut spin = Spin::new();
        while self.shared.visitors.fetch_add(0, SeqCst) > 0 {
            while self.shared.visitors.load(SeqCst) > 0 {
                spin.pause();
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        for helper in &mut self.helpers {
            helper.handle.unpark();
            if let Some(thread) = helper.thread.take() {
                // A helper catches the panics of its parts, so it has no panic of its own to report.
                let _ = thread.join();
            }
        }
    }
}

/// The number of parts until one panics, that one included, for failure injection; 0 if none is to panic.
static PANICS_IN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The message of an injected panic.
#[doc(hidden)]
pub const INJECTED: &str = "an injected panic";

/// Makes the `n`th part from now panic; 0 disarms. Returns the number of parts that were left until an earlier injected
/// panic, that one included, or 0 if none was left. For failure injection.
#[doc(hidden)]
pub fn panic_at(n: u64) -> u64 {
    PANICS_IN.swap(n, SeqCst)
}

/// Runs two parts that wait for each other, up to `patience`. Returns true if they met, which shows that the pool runs
/// two parts at one time. For tests.
#[doc(hidden)]
pub fn parts_meet(workers: &Workers, patience: Duration) -> bool {
    let (arrived, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
    workers.run(2, Effort::Large, |_| {
        arrived.fetch_add(1, SeqCst);
        let start = Instant::now();
        while arrived.load(SeqCst) < 2 && start.elapsed() < patience {
            yield_now();
        }
        met.fetch_add(usize::from(arrived.load(SeqCst) == 2), SeqCst);
    });
    met.load(SeqCst) == 2
}

fn panic_if_injected() {
    if counts_down_to_0(&PANICS_IN) {
        std::panic::panic_any(INJECTED);
    }
}

fn default_count() -> usize {
    let asked = std::env::var("SHARDWISE_WORKERS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).clamp(1, 1024)
}

fn run_alone(parts: usize, run: impl Fn(usize)) {
    for part in 0..parts {
        if part > 0 {
            budget::poll();
        }
        run(part);
    }
}

/// Waits by spinning at first and then by yielding to other threads.
struct Spin {
    start: Option<Instant>,
}

impl Spin {
    fn new() -> Spin {
        Spin { start: None }
    }

    fn pause(&mut self) {
        let start = *self.start.get_or_insert_with(Instant::now);
        if cfg!(loom) || start.elapsed() > SPIN { yield_now() } else { std::hint::spin_loop() }
    }
}

impl Job<'_> {
    /// Takes parts until none is left, one of them ends early, or the poll after one stops the run. In the last two
    /// cases no worker takes another part, and the reason is recorded as the job's failure unless there is one already.
    fn work(&self, worker: usize) {
        let start = self.recorder.as_ref().map(|_| Instant::now());
        INSIDE.set(true);
        let ended = catch_unwind(AssertUnwindSafe(|| Stop::catch(|| self.take_parts())));
        INSIDE.set(false);
        let failure = match ended {
            Ok(Ok(parts)) => return self.record(worker, start, parts),
            Ok(Err(stop)) => Failure::Stop(stop),
            Err(payload) => Failure::Panic(payload),
        };
        // After this no worker takes another part.
        self.next.store(self.parts, SeqCst);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    fn take_parts(&self) -> usize {
        for taken in 0.. {
            let part = self.next.fetch_add(1, SeqCst);
            if part >= self.parts {
                return taken;
            }
            (self.run)(part);
            budget::poll();
        }
        unreachable!("the parts end")
    }

    fn record(&self, worker: usize, start: Option<Instant>, parts: usize) {
        if let (Some((recorder, key)), Some(start)) = (&self.recorder, start) {
            recorder.add(WorkerRun { worker, key: *key, start, end: Instant::now(), parts });
        }
    }
}

impl Shared {
    fn visit(&self, worker: usize) {
        self.visitors.fetch_add(1, SeqCst);
        let job = self.job.load(SeqCst);
        if !job.is_null() {
            // SAFETY: `close` waits for visitors before the job ends, and we became one before reading the pointer.
            let job = unsafe { &*job };
            let _entered = job.budget.as_ref().map(Budget::enter);
            let _guarding = job.guard.enter();
            job.work(worker);
        }
        self.visitors.fetch_sub(1, SeqCst);
    }
}

impl Helper {
    fn start(index: usize, shared: &Arc<Shared>) -> Option<Helper> {
        let asleep = Arc::new(AtomicBool::new(false));
        let (shared, mine) = (shared.clone(), asleep.clone());
        let builder = Builder::new().name(format!("shardwise-{index}"));
        let thread = builder.spawn(move || serve(index, &shared, &mine)).ok()?;
        Some(Helper { handle: thread.thread().clone(), thread: Some(thread), asleep })
    }
}

fn serve(worker: usize, shared: &Shared, asleep: &AtomicBool) {
    let mut seen = 0;
    while !shared.stop.load(SeqCst) {
        if wait_for_epoch(shared, seen) {
            seen = shared.epoch.load(SeqCst);
            shared.visit(worker);
        } else {
            sleep(shared, asleep, seen);
        }
    }
}

/// Returns true if the epoch is not `seen`. Loom's model does not spin.
#[cfg(loom)]
fn wait_for_epoch(shared: &Shared, seen: usize) -> bool {
    shared.epoch.load(SeqCst) != seen
}

/// Spins until the epoch is not `seen` and returns true. Returns false if that takes longer than [`SPIN`].
#[cfg(not(loom))]
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

/// Sleeps until woken. Returns at once if the pool is being dropped, or if a job was opened before the opener could see
/// `asleep`. The epoch is read by an operation that also writes. So this operation either comes before the opener's,
/// and the opener sees `asleep`, or it sees the opener's epoch.
fn sleep(shared: &Shared, asleep: &AtomicBool, seen: usize) {
    asleep.store(true, SeqCst);
    if shared.epoch.fetch_add(0, SeqCst) == seen && !shared.stop.load(SeqCst) {
        park();
    }
    asleep.store(false, SeqCst);
}

/// Divides `0..len` into pieces of `size` and returns the range of piece number `part`. The last piece may be shorter,
/// and all pieces after it are empty.
pub(crate) fn piece(len: usize, size: usize, part: usize) -> std::ops::Range<usize> {
    (part * size).min(len)..((part + 1) * size).min(len)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use shardwise_base::{Account, CancelToken};

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

    fn parts_meet(workers: &Workers) -> bool {
        super::parts_meet(workers, Duration::from_secs(10))
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_stays_parallel() {
        let workers = Workers::new(2);
        assert!(parts_meet(&workers));
        for _ in 0..3 {
            let run = || workers.run(8, Effort::Large, |part| assert_ne!(part, 5, "part five"));
            let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("part five")));
            assert!(parts_meet(&workers));
        }
    }

    #[test]
    fn helpers_work_under_the_callers_budget_and_stop_with_it() {
        let workers = Workers::new(3);
        let budget = Budget::new(Account::with_limit(10), Some(10), CancelToken::default());
        let begun = AtomicUsize::new(0);
        let stopped = budget.run(|| {
            workers.run(1000, Effort::Large, |_| {
                begun.fetch_add(1, SeqCst);
                budget::take_steps(1);
            })
        });
        assert_eq!(stopped, Err(Stop::Steps(10)));
        assert!(begun.into_inner() <= 13, "each of three workers may begin one part too many");
        let refused = || {
            workers.run(9, Effort::Large, |_| drop(Account::current().reserve(11).map_err(|e| Stop::Memory(e).raise())))
        };
        assert!(matches!(budget.run(refused), Err(Stop::Memory(_) | Stop::Steps(_))));
        assert!(parts_meet(&workers));
    }

    #[test]
    fn a_cancelled_run_begins_no_more_parts() {
        for workers in [Workers::new(1), Workers::new(2)] {
            let budget = Budget::new(Account::with_limit(0), None, CancelToken::default());
            let begun = AtomicUsize::new(0);
            let stopped = budget.run(|| {
                workers.run(1000, Effort::Large, |part| {
                    begun.fetch_add(1, SeqCst);
                    if part == 3 {
                        budget.cancel_token().cancel();
                    }
                })
            });
            assert_eq!(stopped, Err(Stop::Cancelled));
            assert!(begun.into_inner() < 1000);
        }
    }
}

/// Schedules of the pool's core, explored by `RUSTFLAGS="--cfg loom" cargo test -p shardwise-host --lib --release
/// loom_` with a target folder of its own.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// Checks that each part of a call runs once and that no helper uses a job that has ended. The parts and the job
    /// are on the caller's stack, and loom reports accesses to an atomic that no longer exists.
    fn explore(parts: usize, calls: usize, helpers: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(if helpers > 1 { 2 } else { 3 });
        model.check(move || {
            let workers = Workers::new(helpers + 1);
            for _ in 0..calls {
                let seen: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                workers.run(parts, Effort::Large, |part| {
                    seen[part].fetch_add(1, SeqCst);
                });
                assert!(seen.iter().all(|s| s.load(SeqCst) == 1));
            }
        });
    }

    #[test]
    fn loom_one_helper_takes_parts() {
        explore(2, 1, 1);
    }

    #[test]
    fn loom_calls_follow_each_other() {
        explore(2, 2, 1);
    }

    #[test]
    fn loom_two_helpers_take_parts() {
        explore(3, 1, 2);
    }
}
