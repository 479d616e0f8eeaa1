//! What programs may use: bytes of memory, steps of work; and how they are stopped from outside.
//!
//! Every call of this crate that computes runs under limits: those of [`with_limits`], else those of the process. What
//! reaches one ends with a diagnostic (`run-memory`, `run-steps`, `run-cancelled`), in the [`Error`] that the call returns or
//! in the array that it would have made. What was there before keeps its values, but for arrays that were given away to the
//! call: those are gone, as they are after every call.
//!
//! ```
//! # use shardwise::prelude::*;
//! use shardwise::{Limits, with_limits};
//! let small = Limits::default().max_bytes(1 << 20);
//! let e = with_limits(small, || zeros([1 << 20], F32).to_vec::<f32>()).unwrap_err();
//! assert_eq!(e.diagnostics().next().unwrap().code(), "run-memory");
//! ```

use crate::{Error, Result, context};
use shardwise_base::{Account, Budget, CancelToken, Loc, Stop};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::{LazyLock, PoisonError, RwLock};

/// Limits of memory and of work, and a way to cancel.
///
/// The default leaves everything as it is around it. For the process, where nothing else is said: four fifths of the memory
/// that the machine or its control group has, and 10^12 steps for each call.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
    cancel: Option<CancelToken>,
}

impl Limits {
    /// Bytes of data alive at one time, all devices together: arrays, constants of programs, temporaries.
    pub fn max_bytes(self, bytes: usize) -> Limits {
        Limits { max_bytes: Some(bytes), ..self }
    }

    /// Steps of one call. Each operation of a program is a step each time it runs, and so are 65,536 operations on elements,
    /// or multiply-adds.
    pub fn max_steps(self, steps: u64) -> Limits {
        Limits { max_steps: Some(steps), ..self }
    }

    /// Calls end once the token is cancelled, which another thread may do: those that run, and those that come after.
    pub fn cancel(self, token: &CancelToken) -> Limits {
        Limits { cancel: Some(token.clone()), ..self }
    }
}

/// Steps of one call where nothing else is said: days of work, even of the cheapest steps.
const DEFAULT_MAX_STEPS: u64 = 1_000_000_000_000;

/// The limits that hold somewhere.
#[derive(Clone)]
struct Scope {
    account: Account,
    max_steps: u64,
    cancel: CancelToken,
}

static PROCESS: LazyLock<RwLock<Scope>> = LazyLock::new(|| RwLock::new(Scope::new(Limits::default())));

thread_local!(static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) });

impl Scope {
    /// Of this thread: a call's, if one runs; else that of `with_limits`; else the process's.
    fn current() -> Scope {
        let of_call = Budget::current().map(|b| Scope {
            account: b.account().clone(),
            max_steps: b.max_steps(),
            cancel: b.cancel_token().clone(),
        });
        let of_process = || PROCESS.read().unwrap_or_else(PoisonError::into_inner).clone();
        of_call.or_else(|| SCOPE.with_borrow(Clone::clone)).unwrap_or_else(of_process)
    }

    /// The process's, with what `limits` do not say as it is by default.
    fn new(limits: Limits) -> Scope {
        Scope {
            account: Account::of_process().clone(),
            max_steps: limits.max_steps.unwrap_or(DEFAULT_MAX_STEPS),
            cancel: limits.cancel.unwrap_or_default(),
        }
    }

    /// With `limits` in addition.
    fn within(self, limits: Limits) -> Scope {
        Scope {
            account: self.account.within(limits.max_bytes.unwrap_or(usize::MAX)),
            max_steps: limits.max_steps.unwrap_or(u64::MAX).min(self.max_steps),
            cancel: CancelToken::any([self.cancel].into_iter().chain(limits.cancel)),
        }
    }

    fn budget(&self) -> Budget {
        Budget::new(self.account.clone(), Some(self.max_steps), self.cancel.clone())
    }
}

/// Sets the limits of this process: of all calls, on all threads, that are not under [`with_limits`]. What is not said is
/// the default again.
pub fn set_limits(limits: Limits) {
    let max_bytes = limits.max_bytes.unwrap_or_else(shardwise_base::budget::default_max_bytes);
    Account::of_process().set_limit(max_bytes);
    *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Scope::new(limits);
}

/// Runs `f`; what it calls on this thread is under these limits, and under those around it.
///
/// Memory is counted anew: what was made before does not count against `max_bytes` here, and what is made here counts
/// against the limits around as well, for as long as it is alive.
pub fn with_limits<R>(limits: Limits, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Scope>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let scope = Scope::current().within(limits);
    let _entered = Budget::current().map(|_| scope.budget().enter());
    let _restore = Restore(SCOPE.replace(Some(scope)));
    f()
}

/// Memory that data takes: the elements of arrays on all devices, the constants of programs, temporaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes alive now.
    pub in_use: usize,
    /// The most bytes that were alive at one time, since [`reset_peak_memory`].
    pub peak_bytes: usize,
    /// The limit.
    pub max_bytes: usize,
}

/// `512 of 1048576 bytes in use, 4096 at most`.
impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryUse { in_use, peak_bytes, max_bytes } = self;
        write!(f, "{in_use} of {max_bytes} bytes in use, {peak_bytes} at most")
    }
}

/// The memory that data takes: under [`with_limits`] of what was made there, else of everything in this process.
///
/// ```
/// # use shardwise::prelude::*;
/// use shardwise::{Limits, memory, with_limits};
/// with_limits(Limits::default(), || {
///     let x = zeros([1 << 20], F32);
///     assert_eq!(memory().in_use, 0, "it is made when it is needed");
///     x.ready().unwrap();
///     assert!(memory().in_use >= 4 << 20);
///     x.delete();
///     assert!(memory().in_use < 1 << 10 && memory().peak_bytes >= 4 << 20);
/// });
/// ```
pub fn memory() -> MemoryUse {
    let account = Scope::current().account;
    MemoryUse { in_use: account.in_use(), peak_bytes: account.peak(), max_bytes: account.limit() }
}

/// Starts the measurement of [`MemoryUse::peak_bytes`] anew.
pub fn reset_peak_memory() {
    Scope::current().account.reset_peak();
}

/// Runs a call under the limits of this thread, or as a part of the call under way. What stops it is an error at `at`.
pub(crate) fn run<T>(at: &'static Location<'static>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    run_at(|| context::loc(at), f)
}

/// The same, of a call whose place is found only if it is needed.
pub(crate) fn run_at<T>(loc: impl FnOnce() -> Loc, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let stopped = match Budget::current() {
        Some(_) => Stop::catch(f),
        None => Scope::current().budget().run(f),
    };
    stopped.unwrap_or_else(|stop| Err(Error::one(stop.diagnostic(&loc()))))
}
