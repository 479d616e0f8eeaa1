//! Limits on the memory and the steps of a computation, and cancellation from outside.
//!
//! An [`Account`] counts the bytes of live data: the elements of literals, the buffers of engines, scratch memory, the
//! text of files. [`Account::reserve`] is the one function that reserves such memory. It refuses a request that
//! exceeds the limit *before* anything is allocated. A [`Budget`] combines an account, a number of steps and a
//! [`CancelToken`] for one run.
//!
//! A computation that exceeds its budget is *stopped*: [`Stop::raise`] unwinds to the enclosing [`Budget::run`], which
//! returns the [`Stop`]. The code in between needs no error path; the values that it owns are dropped. The panic hook
//! is not called.
//!
//! ```
//! use shardwise_base::{Account, Budget, CancelToken, Literal, Stop};
//! let budget = Budget::new(Account::with_limit(1 << 20), None, CancelToken::default());
//! let stopped = budget.run(|| Literal::zeros(shardwise_base::DType::F32, [1 << 20]).to_dense()).unwrap_err();
//! assert!(matches!(stopped, Stop::Memory(e) if e.requested == 4 << 20));
//! assert_eq!(budget.account().in_use(), 0);
//! ```

use crate::{Diagnostic, Loc};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Number of element operations, or of multiply-adds, that count as one step.
pub const OPERATIONS_PER_STEP: u64 = 1 << 16;

/// Counts the bytes of live data, up to a limit. Clones share the count.
#[derive(Clone)]
pub struct Account(Arc<Counts>);

struct Counts {
    limit: AtomicUsize,
    /// An outer account, to which every reservation is charged as well.
    outer: Option<Account>,
    in_use: AtomicUsize,
    peak: AtomicUsize,
    /// Number of reservations until one is made to fail, that one included, for tests; 0 if none is to fail.
    fails_in: AtomicU64,
}

/// The error of a reservation that would exceed the memory limit, or for which the system had no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The bytes requested.
    pub requested: usize,
    /// The limit, in bytes, of the account that refused the request. If the system refused it, of the account that had
    /// accepted it.
    pub limit: usize,
    /// The bytes in use of the account whose limit is `limit`. If the system refused the request, they may include its
    /// bytes.
    pub in_use: usize,
    /// True if the account accepted the request, and the system had no memory for it.
    pub is_refused_by_system: bool,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { requested, limit, in_use, is_refused_by_system } = self;
        if *is_refused_by_system {
            return write!(
                f,
                "out of memory: {requested} bytes requested, {in_use} of {limit} bytes in use, but the system has no \
                 more memory"
            );
        }
        write!(f, "out of memory: {requested} bytes requested, {in_use} of {limit} bytes in use")
    }
}

impl std::error::Error for OutOfMemory {}

impl OutOfMemory {
    /// Returns the message for the person who ran the program; `loc` is the place of the op that needed the memory.
    pub fn diagnostic(&self, loc: &Loc) -> Diagnostic {
        let error = Diagnostic::error("run-memory", loc, self.to_string());
        if self.is_refused_by_system {
            return error
                .note("the memory limit was not reached: other programs use the memory, or the system limits this process")
                .help("use smaller arrays, or make memory available");
        }
        error
            .note("the limit is for the data of all devices together")
            .help("use smaller arrays, or raise the memory limit")
    }
}

impl Account {
    /// Returns an account whose reservations sum to at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Account {
        Account::new(limit, None)
    }

    /// Returns an account whose reservations sum to at most `limit` bytes and are charged to `self` as well.
    pub fn within(&self, limit: usize) -> Account {
        Account::new(limit, Some(self.clone()))
    }

    fn new(limit: usize, outer: Option<Account>) -> Account {
        Account(Arc::new(Counts {
            limit: AtomicUsize::new(limit),
            outer,
            in_use: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            fails_in: AtomicU64::new(0),
        }))
    }

    /// Returns the account of the process. Its limit is [`default_max_bytes`] until [`Account::set_limit`] changes it.
    /// The data of threads that run under no budget is charged to it.
    pub fn of_process() -> &'static Account {
        static PROCESS: OnceLock<Account> = OnceLock::new();
        PROCESS.get_or_init(|| Account::with_limit(default_max_bytes()))
    }

    /// Returns the account of the budget that this thread runs under, or the account of the process if there is none.
    pub fn current() -> Account {
        CURRENT
            .with_borrow(|c| c.as_ref().map(|b| b.account().clone()))
            .unwrap_or_else(|| Account::of_process().clone())
    }

    /// Returns the account's own limit, in bytes. An outer account may leave less.
    pub fn limit(&self) -> usize {
        self.0.limit.load(Relaxed)
    }

    /// Changes the account's own limit. Reservations that exist already are kept, even if they exceed the new limit.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Relaxed);
    }

    /// Returns the number of bytes that are reserved now.
    pub fn in_use(&self) -> usize {
        self.0.in_use.load(Relaxed)
    }

    /// Returns the most bytes that were reserved at one time since the account was made, or since
    /// [`Account::reset_peak`].
    pub fn peak(&self) -> usize {
        self.0.peak.load(Relaxed)
    }

    /// Sets [`Account::peak`] to the bytes that are reserved now.
    pub fn reset_peak(&self) {
        self.0.peak.store(self.in_use(), Relaxed);
    }

    /// Reserves `bytes` until the returned reservation is dropped.
    ///
    /// # Errors
    /// Fails if the sum of the reservations would exceed the limit of this account or of an outer one, or if
    /// [`Account::fail_at`] makes this reservation fail.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, OutOfMemory> {
        self.add(bytes)?;
        Ok(Reservation { account: self.clone(), bytes })
    }

    /// Counts bytes as used here and in the accounts outside of this one. Fails, and counts nothing, as
    /// [`Account::reserve`] does.
    fn add(&self, bytes: usize) -> Result<(), OutOfMemory> {
        self.add_with(bytes, &mut || Ok(()))
    }

    /// Counts bytes as used in the outermost account, then in those within it up to this one, and then calls `inner`.
    /// If an account refuses them or `inner` fails, fails and counts nothing, not even in the peaks.
    fn add_with(&self, bytes: usize, inner: &mut dyn FnMut() -> Result<(), OutOfMemory>) -> Result<(), OutOfMemory> {
        let counts = &*self.0;
        let mut own = || {
            let limit = self.limit();
            let is_injected = counts_down_to_0(&counts.fails_in);
            let sum = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit && !is_injected);
            let refused = |in_use| OutOfMemory { requested: bytes, limit, in_use, is_refused_by_system: false };
            let before = counts.in_use.fetch_update(Relaxed, Relaxed, sum).map_err(refused)?;
            if let Err(refused) = inner() {
                counts.in_use.fetch_sub(bytes, Relaxed);
                return Err(refused);
            }
            counts.peak.fetch_max(before + bytes, Relaxed);
            Ok(())
        };
        match &counts.outer {
            Some(outer) => outer.add_with(bytes, &mut own),
            None => own(),
        }
    }

    fn subtract(&self, bytes: usize) {
        self.0.in_use.fetch_sub(bytes, Relaxed);
        self.0.outer.iter().for_each(|outer| outer.subtract(bytes));
    }

    /// Reserves `bytes` as [`Account::reserve`] does, and stops the computation if the reservation is refused.
    pub fn reserve_or_stop(&self, bytes: usize) -> Reservation {
        self.reserve(bytes).unwrap_or_else(|e| Stop::Memory(e).raise())
    }

    /// Fails as [`Account::reserve`] would, but reserves nothing and ignores [`Account::fail_at`]. Plans that know
    /// their peak use it.
    pub fn check(&self, bytes: usize) -> Result<(), OutOfMemory> {
        self.0.outer.as_ref().map_or(Ok(()), |o| o.check(bytes))?;
        match self.in_use().checked_add(bytes) {
            Some(sum) if sum <= self.limit() => Ok(()),
            _ => Err(OutOfMemory { is_refused_by_system: false, ..self.refused_by_system(bytes) }),
        }
    }

    /// Returns the error for a request that the account accepts and the system refuses.
    pub fn refused_by_system(&self, requested: usize) -> OutOfMemory {
        OutOfMemory { requested, limit: self.limit(), in_use: self.in_use(), is_refused_by_system: true }
    }

    /// Makes the `n`th reservation from now fail as if the limit were reached; 0 disarms. Reservations that an outer
    /// account refuses do not count. Returns the number of reservations that were left until an earlier injected
    /// failure, that one included, or 0 if none was left. For failure injection.
    pub fn fail_at(&self, n: u64) -> u64 {
        self.0.fails_in.swap(n, Relaxed)
    }
}

/// Subtracts 1 from a counter, unless it is 0 already. Returns true if this made it 0.
pub fn counts_down_to_0(counter: &AtomicU64) -> bool {
    counter.load(Relaxed) > 0 && counter.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) == Ok(1)
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} of {} bytes)", self.in_use(), self.limit())
    }
}

/// Bytes that an account counts as used until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Account,
    bytes: usize,
}

impl Reservation {
    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.subtract(self.bytes);
    }
}

/// Asks a running computation to stop. Clones share the request.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    request: Arc<AtomicBool>,
    /// Other tokens; when one of them is cancelled, this one is cancelled too.
    of: Option<Arc<[CancelToken]>>,
    /// Number of polls until one cancels the token, that one included, for tests; 0 if none is left that does. `None`
    /// in tokens that [`CancelToken::at_poll`] did not make.
    cancels_in: Option<Arc<AtomicU64>>,
}

impl CancelToken {
    /// Asks every computation that runs under this token, and all that start under it later, to stop. Each of them
    /// stops when it next polls the token.
    pub fn cancel(&self) {
        self.request.store(true, Relaxed);
    }

    /// Returns a token that is cancelled when one of `tokens` is.
    pub fn any(tokens: impl IntoIterator<Item = CancelToken>) -> CancelToken {
        CancelToken { of: Some(tokens.into_iter().collect()), ..CancelToken::default() }
    }

    /// Returns a token that is cancelled when it is polled for the `n`th time, or never if `n` is 0. For failure
    /// injection.
    pub fn at_poll(n: u64) -> CancelToken {
        CancelToken { cancels_in: Some(Arc::new(AtomicU64::new(n))), ..CancelToken::default() }
    }

    /// Returns the number of polls until one cancels a token made by [`CancelToken::at_poll`]: 1 if the next poll does.
    /// Returns 0 if a poll has cancelled it, and for tokens that no poll cancels.
    pub fn polls_left(&self) -> u64 {
        self.cancels_in.as_ref().map_or(0, |n| n.load(Relaxed))
    }

    /// Returns the flag that [`CancelToken::cancel`] sets to true, for signal handlers.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.request.clone()
    }

    /// Returns true if this token, or one of the tokens that it was made from, was cancelled. Counts as a poll.
    pub fn is_cancelled(&self) -> bool {
        if self.cancels_in.as_ref().is_some_and(|n| counts_down_to_0(n)) {
            self.cancel();
        }
        self.request.load(Relaxed) || self.of.iter().flat_map(|of| &**of).any(CancelToken::is_cancelled)
    }
}

/// Limits of one run. Clones share the steps taken and the memory in use.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    account: Account,
    max_steps: u64,
    steps: AtomicU64,
    cancel: CancelToken,
}

/// The reason why a computation was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The account refused memory for the data, or the system had none.
    Memory(OutOfMemory),
    /// More steps would have been taken than this limit.
    Steps(u64),
    /// The run's [`CancelToken`] was cancelled.
    Cancelled,
}

thread_local! {
    static CURRENT: RefCell<Option<Budget>> = const { RefCell::new(None) };
    /// Number of calls of `Budget::run` and `Stop::catch` that are active on this thread.
    static CATCHERS: Cell<usize> = const { Cell::new(0) };
}

impl Budget {
    /// Returns a budget of the bytes of `account` and `max_steps` steps (`None`: no limit) that ends when `cancel` is
    /// cancelled.
    pub fn new(account: Account, max_steps: Option<u64>, cancel: CancelToken) -> Budget {
        let max_steps = max_steps.unwrap_or(u64::MAX);
        Budget(Arc::new(Shared { account, max_steps, steps: AtomicU64::new(0), cancel }))
    }

    /// Returns the budget that this thread runs under, or `None` if there is none.
    pub fn current() -> Option<Budget> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Returns the account that data is charged to.
    pub fn account(&self) -> &Account {
        &self.0.account
    }

    /// Returns the token that cancels the computations under this budget.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Returns the limit of steps; `u64::MAX` if there is none.
    pub fn max_steps(&self) -> u64 {
        self.0.max_steps
    }

    /// Returns the number of steps taken so far, at most `u64::MAX`.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Relaxed)
    }

    /// Runs `f` under this budget. Panics of `f` pass through.
    ///
    /// # Errors
    /// Returns the [`Stop`] that stopped `f`.
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> Result<T, Stop> {
        let _entered = self.enter();
        Stop::catch(f)
    }

    /// Puts this thread under the budget until the guard is dropped. Threads that work for another thread's run use it.
    pub fn enter(&self) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Takes `count` steps.
    ///
    /// # Errors
    /// Fails if the run is cancelled, and then counts no steps. Fails if the steps taken exceed the limit, these steps
    /// included, which stay counted.
    pub fn step(&self, count: u64) -> Result<(), Stop> {
        let shared = &*self.0;
        if shared.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let sum = |steps: u64| Some(steps.saturating_add(count));
        let before = shared.steps.fetch_update(Relaxed, Relaxed, sum).expect("there is always a sum");
        if before.saturating_add(count) > shared.max_steps {
            return Err(Stop::Steps(shared.max_steps));
        }
        Ok(())
    }
}

/// A guard that returns the thread to its previous budget when it is dropped.
#[must_use]
pub struct Entered(Option<Budget>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Takes `count` steps of the budget that this thread runs under, if there is one. Stops the computation if too few
/// steps are left or the run is cancelled. A long loop should call this at least every 10 ms.
pub fn take_steps(count: u64) {
    let taken = CURRENT.with_borrow(|c| c.as_ref().map_or(Ok(()), |b| b.step(count)));
    taken.unwrap_or_else(|stop| stop.raise());
}

/// Takes one step for each 2^16 of `operations` element operations or multiply-adds, rounded down, as [`take_steps`]
/// does.
pub fn take_operations(operations: u64) {
    take_steps(operations / OPERATIONS_PER_STEP);
}

/// Stops the computation if its run is cancelled or has exceeded its limit of steps already.
pub fn poll() {
    take_steps(0);
}

/// Counts the operations of a loop with short iterations, and takes a step for each 2^16 of them.
/// ```
/// let mut meter = shardwise_base::budget::Meter::default();
/// for _ in 0..1_000_000 {
///     meter.add(10); // takes a step about every 6,500 rounds
/// }
/// ```
#[derive(Default)]
pub struct Meter(u64);

impl Meter {
    /// Counts `operations` element operations or multiply-adds, and takes a step, as [`take_steps`] does, for each 2^16
    /// that have been counted.
    pub fn add(&mut self, operations: u64) {
        self.0 = self.0.saturating_add(operations);
        if self.0 >= OPERATIONS_PER_STEP {
            take_steps(self.0 / OPERATIONS_PER_STEP);
            self.0 %= OPERATIONS_PER_STEP;
        }
    }
}

impl Stop {
    /// Unwinds to the enclosing [`Budget::run`] or [`Stop::catch`]. Without one, this is an ordinary panic.
    pub fn raise(self) -> ! {
        if CATCHERS.get() == 0 {
            panic!("{self}");
        }
        resume_unwind(Box::new(self))
    }

    /// Runs `f` under the budget of this thread, if there is one. Panics pass through.
    ///
    /// # Errors
    /// Returns the [`Stop`] that stopped `f`.
    pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Stop> {
        let _counted = Catcher::new();
        catch_unwind(AssertUnwindSafe(f)).map_err(|payload| match payload.downcast::<Stop>() {
            Ok(stop) => *stop,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Returns the message for the person who ran the program; `loc` is the place in the program that was running.
    pub fn diagnostic(&self, loc: &Loc) -> Diagnostic {
        match self {
            Stop::Memory(e) => e.diagnostic(loc),
            Stop::Steps(max) => Diagnostic::error("run-steps", loc, format!("the program takes more than {max} steps"))
                .help("raise the limit of steps, or look for a loop whose condition never becomes false"),
            Stop::Cancelled => Diagnostic::error("run-cancelled", loc, "the run was cancelled"),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic(&Loc::UNKNOWN).message)
    }
}

/// A guard that counts as one catcher of this thread while it exists.
struct Catcher;

impl Catcher {
    fn new() -> Catcher {
        CATCHERS.set(CATCHERS.get() + 1);
        Catcher
    }
}

impl Drop for Catcher {
    fn drop(&mut self) {
        CATCHERS.set(CATCHERS.get() - 1);
    }
}

/// Returns four fifths of the memory that this process may use, in bytes: of the limit of its control group or of the
/// machine's memory, whichever is less. Returns half the address space if the system reports neither.
pub fn default_max_bytes() -> usize {
    let bytes = [machine_bytes(), group_bytes()].into_iter().flatten().min();
    bytes.map_or(usize::MAX / 2, |b| b / 5 * 4)
}

fn machine_bytes() -> Option<usize> {
    reported_bytes("/proc/meminfo", "MemTotal:")
}

/// Returns the largest resident memory that this process has had, in bytes, as Linux reports it. Returns `None` if it
/// reports none, as on other systems.
pub fn peak_resident_bytes() -> Option<usize> {
    reported_bytes("/proc/self/status", "VmHWM:")
}

/// Returns the number in the first line of the file at `path` that starts with `label`, converted from kB to bytes.
/// Returns `None` if there is no such file or line, or if the line does not have a number of kB.
fn reported_bytes(path: &str, label: &str) -> Option<usize> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(label))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// Returns the smallest memory limit, in bytes, of the control groups that this process is in and of the groups that
/// contain them. Returns `None` if none of them has a limit that can be read.
fn group_bytes() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        // The second version has one tree of groups, and the first one has a tree for each list of controllers.
        let place = match controllers {
            "" => Some(("/sys/fs/cgroup", "memory.max")),
            list if list.split(',').any(|c| c == "memory") => Some(("/sys/fs/cgroup/memory", "memory.limit_in_bytes")),
            _ => None,
        };
        let path = std::path::Path::new(path.trim_start_matches('/'));
        let files = |(root, file)| -> Vec<std::path::PathBuf> {
            path.ancestors().map(|p| std::path::Path::new(root).join(p).join(file)).collect()
        };
        let files = place.map(files).unwrap_or_default();
        files.into_iter().filter_map(|f| std::fs::read_to_string(f).ok()?.trim().parse::<usize>().ok())
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(max_bytes: usize, max_steps: u64) -> Budget {
        Budget::new(Account::with_limit(max_bytes), Some(max_steps), CancelToken::default())
    }

    #[test]
    fn reservations_are_counted_until_dropped() {
        let account = Account::with_limit(100);
        let held = account.reserve(60).unwrap();
        assert_eq!(
            account.reserve(41).unwrap_err(),
            OutOfMemory { requested: 41, limit: 100, in_use: 60, is_refused_by_system: false }
        );
        assert_eq!(account.check(41).unwrap_err(), account.reserve(41).unwrap_err());
        assert!(account.reserve(usize::MAX).is_err());
        drop(account.reserve(40).unwrap());
        drop(held);
        assert_eq!((account.in_use(), account.peak()), (0, 100));
    }

    #[test]
    fn an_account_within_another_counts_there_too() {
        let outer = Account::with_limit(100);
        let inner = outer.within(60);
        let held = outer.reserve(50).unwrap();
        assert_eq!(inner.reserve(61).unwrap_err().limit, 100);
        let part = inner.reserve(40).unwrap();
        assert_eq!((outer.in_use(), inner.in_use()), (90, 40));
        drop(held);
        assert_eq!(
            inner.reserve(21).unwrap_err(),
            OutOfMemory { requested: 21, limit: 60, in_use: 40, is_refused_by_system: false }
        );
        assert_eq!((inner.check(21).unwrap_err().limit, outer.in_use()), (60, 40));
        drop(part);
        outer.set_limit(10);
        assert_eq!((inner.check(11).unwrap_err().limit, outer.in_use()), (10, 0));
    }

    #[test]
    fn a_refused_reservation_raises_no_peak() {
        let outer = Account::with_limit(100);
        let inner = outer.within(10);
        assert!(inner.reserve(50).is_err());
        assert_eq!((outer.peak(), outer.in_use(), inner.peak()), (0, 0, 0));
        drop(inner.reserve(10).unwrap());
        assert_eq!((outer.peak(), outer.in_use(), inner.peak()), (10, 0, 10));
    }

    #[test]
    fn what_the_system_refuses_is_not_called_a_limit() {
        let account = Account::with_limit(100);
        let of_limit = Stop::Memory(account.check(101).unwrap_err()).diagnostic(&Loc::UNKNOWN).to_string();
        assert!(of_limit.contains("101 bytes requested, 0 of 100 bytes in use\n"), "{of_limit}");
        assert!(of_limit.contains("raise the memory limit"), "{of_limit}");
        let of_system = Stop::Memory(account.refused_by_system(10)).diagnostic(&Loc::UNKNOWN).to_string();
        assert!(of_system.contains("10 bytes requested, 0 of 100 bytes in use, but the system has no more memory"));
        assert!(of_system.contains("the memory limit was not reached") && !of_system.contains("raise"), "{of_system}");
    }

    #[test]
    fn a_token_of_several_is_cancelled_with_one() {
        let tokens = [CancelToken::default(), CancelToken::default()];
        let any = CancelToken::any(tokens.clone());
        assert!(!any.is_cancelled());
        tokens[1].cancel();
        assert!(any.is_cancelled() && !tokens[0].is_cancelled());
    }

    #[test]
    fn an_injected_failure_hits_one_reservation() {
        let account = Account::with_limit(100);
        account.fail_at(2);
        let outcomes: Vec<bool> = (0..4).map(|_| account.reserve(1).is_ok()).collect();
        assert_eq!(outcomes, [true, false, true, true]);
    }

    #[test]
    fn a_run_stops_where_its_steps_end() {
        let budget = budget(0, 10);
        let rounds = Cell::new(0);
        let stopped = budget.run(|| {
            loop {
                take_steps(3);
                rounds.set(rounds.get() + 1);
            }
        });
        assert_eq!((stopped, rounds.get()), (Err::<(), _>(Stop::Steps(10)), 3));
        take_steps(100); // no budget is entered here
    }

    #[test]
    fn steps_beyond_all_numbers_stay_counted() {
        let budget = budget(0, 10);
        assert_eq!(budget.step(5), Ok(()));
        assert_eq!(budget.step(u64::MAX), Err(Stop::Steps(10)));
        assert_eq!((budget.steps(), budget.step(0)), (u64::MAX, Err(Stop::Steps(10))));
        let mut meter = Meter::default();
        meter.add(1);
        meter.add(u64::MAX);
        assert!(meter.0 < OPERATIONS_PER_STEP);
    }

    #[test]
    fn a_cancelled_run_stops_at_the_next_poll() {
        let budget = budget(0, 10);
        let stopped = budget.run(|| {
            poll();
            budget.cancel_token().cancel();
            poll();
        });
        assert_eq!(stopped, Err(Stop::Cancelled));
    }

    #[test]
    fn a_cancellation_is_injected_at_a_poll() {
        let token = CancelToken::at_poll(3);
        let budget = Budget::new(Account::with_limit(0), None, CancelToken::any([token.clone()]));
        let polls = Cell::new(0);
        let stopped = budget.run(|| {
            loop {
                polls.set(polls.get() + 1);
                poll();
            }
        });
        assert_eq!((stopped, polls.get()), (Err::<(), _>(Stop::Cancelled), 3));
        assert_eq!((token.is_cancelled(), token.polls_left()), (true, 0));
        assert_eq!(CancelToken::at_poll(3).polls_left(), 3);
    }

    #[test]
    fn panics_pass_through_and_budgets_are_left() {
        let budget = budget(0, 10);
        let panicked = catch_unwind(AssertUnwindSafe(|| budget.run(|| panic!("a bug"))));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"a bug"));
        assert!(Budget::current().is_none() && CATCHERS.get() == 0);
    }

    #[test]
    fn the_default_limit_is_below_the_machines_memory() {
        assert!(default_max_bytes() > 1 << 20);
        assert!(machine_bytes().is_none_or(|all| default_max_bytes() < all));
    }
}
