//! What a computation may use: bytes of memory and steps of work; and how it is stopped from outside.
//!
//! An [`Account`] counts the bytes of all data that is alive: the elements of literals, the buffers of engines, scratch
//! memory, the text of files. [`Account::reserve`] is the one function through which such memory is had; it refuses what the
//! limit does not allow *before* anything is allocated. A [`Budget`] joins an account with a number of steps and a
//! [`CancelToken`], for one run.
//!
//! A computation that runs out is *stopped*: [`Stop::raise`] unwinds to the [`Budget::run`] that encloses it, which returns
//! the [`Stop`]. No code in between needs an error path; what it owned is dropped. No panic hook is called.
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

/// Element operations, or multiply-adds, that count as one step.
pub const OPERATIONS_PER_STEP: u64 = 1 << 16;

/// Counts the bytes of data that is alive, up to a limit; clones share the count.
#[derive(Clone)]
pub struct Account(Arc<Counts>);

struct Counts {
    limit: AtomicUsize,
    /// What is reserved here is reserved there too.
    outer: Option<Account>,
    in_use: AtomicUsize,
    peak: AtomicUsize,
    /// Reservations until one fails, for tests; 0: none does.
    fails_in: AtomicU64,
}

/// A reservation would exceed the memory limit, or the system had no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub requested: usize,
    /// The limit, in bytes.
    pub limit: usize,
    /// The bytes that were in use.
    pub in_use: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { requested, limit, in_use } = self;
        write!(f, "out of memory: {requested} bytes requested, {in_use} of {limit} bytes in use")
    }
}

impl std::error::Error for OutOfMemory {}

impl Account {
    /// An account whose reservations sum to at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Account {
        Account::new(limit, None)
    }

    /// An account whose reservations sum to at most `limit` bytes, and count against this one too.
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

    /// The account of the process, whose limit is [`default_max_bytes`]. Data that is made outside every
    /// [`Budget::run`] is charged to it.
    pub fn of_process() -> &'static Account {
        static PROCESS: OnceLock<Account> = OnceLock::new();
        PROCESS.get_or_init(|| Account::with_limit(default_max_bytes()))
    }

    /// The account of the budget that this thread runs under, else that of the process.
    pub fn current() -> Account {
        CURRENT
            .with_borrow(|c| c.as_ref().map(|b| b.account().clone()))
            .unwrap_or_else(|| Account::of_process().clone())
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit.load(Relaxed)
    }

    /// Changes the limit. What is reserved stays so.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Relaxed);
    }

    /// The bytes reserved now.
    pub fn in_use(&self) -> usize {
        self.0.in_use.load(Relaxed)
    }

    /// The most bytes that were reserved at one time since the account was made, or since [`Account::reset_peak`].
    pub fn peak(&self) -> usize {
        self.0.peak.load(Relaxed)
    }

    /// Starts the measurement of [`Account::peak`] anew.
    pub fn reset_peak(&self) {
        self.0.peak.store(self.in_use(), Relaxed);
    }

    /// Reserves `bytes` until the reservation is dropped.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, OutOfMemory> {
        let counts = &*self.0;
        let outer = counts.outer.as_ref().map(|o| o.reserve(bytes)).transpose()?.map(Box::new);
        let limit = self.limit();
        let is_injected = counts_down_to_0(&counts.fails_in);
        let add = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit && !is_injected);
        match counts.in_use.fetch_update(Relaxed, Relaxed, add) {
            Ok(before) => {
                counts.peak.fetch_max(before + bytes, Relaxed);
                Ok(Reservation { account: self.clone(), bytes, _outer: outer })
            }
            Err(in_use) => Err(OutOfMemory { requested: bytes, limit, in_use }),
        }
    }

    /// The same as [`Account::reserve`]; the computation is stopped if the bytes are refused.
    pub fn reserve_or_stop(&self, bytes: usize) -> Reservation {
        self.reserve(bytes).unwrap_or_else(|e| Stop::Memory(e).raise())
    }

    /// Fails as `reserve` would, without reserving: for plans that know their peak.
    pub fn check(&self, bytes: usize) -> Result<(), OutOfMemory> {
        self.0.outer.as_ref().map_or(Ok(()), |o| o.check(bytes))?;
        match self.in_use().checked_add(bytes) {
            Some(sum) if sum <= self.limit() => Ok(()),
            _ => Err(self.refused(bytes)),
        }
    }

    /// The error of a request that the account or the system refuses.
    pub fn refused(&self, requested: usize) -> OutOfMemory {
        OutOfMemory { requested, limit: self.limit(), in_use: self.in_use() }
    }

    /// Makes the `n`th reservation from now fail, as if the limit were reached; 0 disarms. Returns how many were left of those
    /// that were set before. For failure injection.
    pub fn fail_at(&self, n: u64) -> u64 {
        self.0.fails_in.swap(n, Relaxed)
    }
}

/// Subtracts 1 from a counter that is not 0; whether it is 0 then.
fn counts_down_to_0(counter: &AtomicU64) -> bool {
    counter.load(Relaxed) > 0 && counter.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) == Ok(1)
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} of {} bytes)", self.in_use(), self.limit())
    }
}

/// Bytes that an account counts until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Account,
    bytes: usize,
    _outer: Option<Box<Reservation>>,
}

impl Reservation {
    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.0.in_use.fetch_sub(self.bytes, Relaxed);
    }
}

/// Asks a running computation to stop; clones share the request.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    request: Arc<AtomicBool>,
    /// Tokens whose requests hold for this one too.
    of: Option<Arc<[CancelToken]>>,
    /// Polls until one makes the request, for tests; after that 0.
    cancels_in: Option<Arc<AtomicU64>>,
}

impl CancelToken {
    /// Stops every computation that runs under this token, and all that start under it later.
    pub fn cancel(&self) {
        self.request.store(true, Relaxed);
    }

    /// A token that is cancelled when one of `tokens` is.
    pub fn any(tokens: impl IntoIterator<Item = CancelToken>) -> CancelToken {
        CancelToken { of: Some(tokens.into_iter().collect()), ..CancelToken::default() }
    }

    /// A token that is cancelled when it is polled for the `n`th time, as if the user did so then. For failure injection.
    pub fn at_poll(n: u64) -> CancelToken {
        CancelToken { cancels_in: Some(Arc::new(AtomicU64::new(n))), ..CancelToken::default() }
    }

    /// The polls that are left of those of [`CancelToken::at_poll`].
    pub fn polls_left(&self) -> u64 {
        self.cancels_in.as_ref().map_or(0, |n| n.load(Relaxed))
    }

    /// The flag that is true from [`CancelToken::cancel`] on, for handlers of signals.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.request.clone()
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        if self.cancels_in.as_ref().is_some_and(|n| counts_down_to_0(n)) {
            self.cancel();
        }
        self.request.load(Relaxed) || self.of.iter().flat_map(|of| &**of).any(CancelToken::is_cancelled)
    }
}

/// What one run may use; clones share what is left.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    account: Account,
    max_steps: u64,
    steps: AtomicU64,
    cancel: CancelToken,
}

/// Why a computation was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Data did not fit into the account.
    Memory(OutOfMemory),
    /// More steps than this many would have been taken.
    Steps(u64),
    /// Somebody called [`CancelToken::cancel`].
    Cancelled,
}

thread_local! {
    static CURRENT: RefCell<Option<Budget>> = const { RefCell::new(None) };
    /// How many `Budget::run` and `Stop::catch` enclose what runs.
    static CATCHERS: Cell<usize> = const { Cell::new(0) };
}

impl Budget {
    /// Bytes of `account`, `max_steps` steps (`None`: any number), until `cancel` is cancelled.
    pub fn new(account: Account, max_steps: Option<u64>, cancel: CancelToken) -> Budget {
        let max_steps = max_steps.unwrap_or(u64::MAX);
        Budget(Arc::new(Shared { account, max_steps, steps: AtomicU64::new(0), cancel }))
    }

    /// The budget that this thread runs under.
    pub fn current() -> Option<Budget> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The account that data is charged to.
    pub fn account(&self) -> &Account {
        &self.0.account
    }

    /// The token that cancels what runs under this budget.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// The most steps that may be taken.
    pub fn max_steps(&self) -> u64 {
        self.0.max_steps
    }

    /// The steps taken so far.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Relaxed)
    }

    /// Runs `f` under this budget: what stops it is returned.
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> Result<T, Stop> {
        let _entered = self.enter();
        Stop::catch(f)
    }

    /// Puts this thread under the budget until the guard is dropped, for threads that work for a run of another one.
    pub fn enter(&self) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Takes `count` steps, or returns why not.
    pub fn step(&self, count: u64) -> Result<(), Stop> {
        let shared = &*self.0;
        if shared.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let before = shared.steps.fetch_add(count, Relaxed);
        if before.saturating_add(count) > shared.max_steps {
            return Err(Stop::Steps(shared.max_steps));
        }
        Ok(())
    }
}

/// Ends a thread's stay under a [`Budget`] when dropped.
#[must_use]
pub struct Entered(Option<Budget>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Takes `count` steps of the budget that this thread runs under; stops the computation if they are not left or it is
/// cancelled. Long loops call this at least every 10 ms.
pub fn take_steps(count: u64) {
    let taken = CURRENT.with_borrow(|c| c.as_ref().map_or(Ok(()), |b| b.step(count)));
    taken.unwrap_or_else(|stop| stop.raise());
}

/// Takes the steps of `operations` element operations or multiply-adds, rounded down.
pub fn take_operations(operations: u64) {
    take_steps(operations / OPERATIONS_PER_STEP);
}

/// Stops the computation if it is cancelled.
pub fn poll() {
    take_steps(0);
}

/// Counts the operations of a loop whose rounds are short, and takes their steps.
///
/// ```
/// let mut meter = shardwise_base::budget::Meter::default();
/// for _ in 0..1_000_000 {
///     meter.add(10); // takes a step about every 6,500 rounds
/// }
/// ```
#[derive(Default)]
pub struct Meter(u64);

impl Meter {
    /// Counts `operations` element operations or multiply-adds.
    pub fn add(&mut self, operations: u64) {
        self.0 += operations;
        if self.0 >= OPERATIONS_PER_STEP {
            take_steps(self.0 / OPERATIONS_PER_STEP);
            self.0 %= OPERATIONS_PER_STEP;
        }
    }
}

impl Stop {
    /// Unwinds to the enclosing [`Budget::run`] or [`Stop::catch`]. Without one this is an ordinary panic.
    pub fn raise(self) -> ! {
        if CATCHERS.get() == 0 {
            panic!("{self}");
        }
        resume_unwind(Box::new(self))
    }

    /// Runs `f` under the budget that is entered, if any: what stops it is returned. Panics pass through.
    pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Stop> {
        let _counted = Catcher::new();
        catch_unwind(AssertUnwindSafe(f)).map_err(|payload| match payload.downcast::<Stop>() {
            Ok(stop) => *stop,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// The message for whoever ran the program; `loc` is the place that was running.
    pub fn diagnostic(&self, loc: &Loc) -> Diagnostic {
        match self {
            Stop::Memory(e) => Diagnostic::error("run-memory", loc, e.to_string())
                .help("raise the memory limit, or split the arrays over more devices"),
            Stop::Steps(max) => {
                Diagnostic::error("run-steps", loc, format!("the program did not end within {max} steps"))
                    .help("raise the limit of steps, or look for a loop whose condition never becomes false")
            }
            Stop::Cancelled => Diagnostic::error("run-cancelled", loc, "the run was cancelled"),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic(&Loc::UNKNOWN).message)
    }
}

/// Counts this thread's catchers.
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

/// Four fifths of the memory that this process may use: of its control group's limit, or of the machine's memory. Half
/// the address space where the system does not say.
pub fn default_max_bytes() -> usize {
    let bytes = [machine_bytes(), group_bytes()].into_iter().flatten().min();
    bytes.map_or(usize::MAX / 2, |b| b / 5 * 4)
}

/// The machine's memory, as Linux tells it.
fn machine_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// The least limit of the control groups that this process is in.
fn group_bytes() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        let path = std::path::Path::new(path.trim_start_matches('/'));
        let folders: Vec<_> = path.ancestors().map(|p| std::path::Path::new(root).join(p).join(file)).collect();
        folders.into_iter().filter_map(|f| std::fs::read_to_string(f).ok()?.trim().parse::<usize>().ok())
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
        assert_eq!(account.reserve(41).unwrap_err(), OutOfMemory { requested: 41, limit: 100, in_use: 60 });
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
        assert_eq!(inner.reserve(21).unwrap_err(), OutOfMemory { requested: 21, limit: 60, in_use: 40 });
        assert_eq!((inner.check(21).unwrap_err().limit, outer.in_use()), (60, 40));
        drop(part);
        outer.set_limit(10);
        assert_eq!((inner.check(11).unwrap_err().limit, outer.in_use()), (10, 0));
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
