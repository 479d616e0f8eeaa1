//! Limits on what programs may use: bytes of memory and steps of work. Also the way to stop them from outside.
//!
//! Every call of this crate that computes runs under limits: those of [`with_limits`], or else those of the process. A
//! call that reaches a limit ends with a diagnostic (`run-memory`, `run-steps`, `run-cancelled`). The diagnostic is in
//! the [`Error`] that the call returns, or in the array that it would have made. Arrays that existed before keep their
//! values, except for arrays that were donated to the call, which are consumed by every call.
//!
//! ```
//! # use shardwise::prelude::*;
//! use shardwise::{Limits, with_limits};
//! let small = Limits::default().max_bytes(1 << 20);
//! let e = with_limits(small, || zeros([1 << 20], F32).to_vec::<f32>()).unwrap_err();
//! assert_eq!(e.diagnostics().next().unwrap().code(), "run-memory");
//! ```

use crate::ambient::scoped;
use crate::{Error, Result, context};
use shardwise_base::{Account, Budget, CancelToken, Loc, Stop};
use std::fmt;
use std::panic::Location;
use std::sync::{LazyLock, PoisonError, RwLock};

/// Limits on memory and work, and a token to cancel calls.
///
/// [`with_limits`] keeps a limit that is not set as it is around the call. [`set_limits`] sets it to the default: four
/// fifths of the memory that the machine or its control group has, whichever is less, or half the address space if the
/// system reports neither; 10^12 steps for each call; and no token.
#[derive(Clone, Debug, Default)]
#[must_use = "limits have no effect until they are set with `set_limits` or `with_limits`"]
pub struct Limits {
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
    cancel: Option<CancelToken>,
}

impl Limits {
    /// Sets the limit on the bytes that are alive at one time on all devices together: arrays, constants of programs,
    /// temporaries.
    pub fn max_bytes(self, bytes: usize) -> Limits {
        Limits { max_bytes: Some(bytes), ..self }
    }

    /// Sets the limit on the steps of one call. Each run of an operation is a step, and so are each 65,536 operations
    /// on elements, or multiply-adds.
    pub fn max_steps(self, steps: u64) -> Limits {
        Limits { max_steps: Some(steps), ..self }
    }

    /// Stops calls once the token is cancelled, which another thread may do. This applies to active and to later calls.
    pub fn cancel(self, token: &CancelToken) -> Limits {
        Limits { cancel: Some(token.clone()), ..self }
    }
}

/// The default limit on the steps of one call: days of work, even of the cheapest steps.
const DEFAULT_MAX_STEPS: u64 = 1_000_000_000_000;

/// The limits that apply at some point of the program.
#[derive(Clone)]
struct Scope {
    account: Account,
    max_steps: u64,
    cancel: CancelToken,
}

static PROCESS: LazyLock<RwLock<Scope>> = LazyLock::new(|| RwLock::new(Scope::new(Limits::default())));

scoped! {
    static SCOPE: Option<Scope> = None;
}

impl Scope {
    /// Returns the limits of this thread: those of the active call, or else of `with_limits`, or else of the process.
    fn current() -> Scope {
        let of_call = Budget::current().map(|b| Scope {
            account: b.account().clone(),
            max_steps: b.max_steps(),
            cancel: b.cancel_token().clone(),
        });
        let of_process = || PROCESS.read().unwrap_or_else(PoisonError::into_inner).clone();
        of_call.or_else(|| SCOPE.get()).unwrap_or_else(of_process)
    }

    /// Returns the limits of the process, with defaults for the steps and the token that `limits` does not set.
    /// `limits.max_bytes` is ignored: the account of the process has its own limit.
    fn new(limits: Limits) -> Scope {
        Scope {
            account: Account::of_process().clone(),
            max_steps: limits.max_steps.unwrap_or(DEFAULT_MAX_STEPS),
            cancel: limits.cancel.unwrap_or_default(),
        }
    }

    /// Returns these limits with `limits` in addition. Bytes are counted anew, and also count against these limits.
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

/// Sets the limits of this process: of all calls on all threads that begin later and are not inside [`with_limits`]. A
/// limit that is not set gets its default value.
///
/// The limit on bytes takes effect at once, and also inside [`with_limits`].
pub fn set_limits(limits: Limits) {
    let max_bytes = limits.max_bytes.unwrap_or_else(shardwise_base::budget::default_max_bytes);
    Account::of_process().set_limit(max_bytes);
    *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Scope::new(limits);
}

/// Runs `f` with these limits for its calls on this thread, in addition to the limits around it.
///
/// Memory is counted anew: data that existed before does not count against `max_bytes`. Data that is made inside also
/// counts against the limits around it, for as long as it is alive. Within an active call, the steps are counted anew
/// as well.
pub fn with_limits<R>(limits: Limits, f: impl FnOnce() -> R) -> R {
    let scope = Scope::current().within(limits);
    let _entered = Budget::current().map(|_| scope.budget().enter());
    SCOPE.with(Some(scope), f)
}

/// The memory that data takes: the elements of arrays on all devices, the constants of programs, and temporaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MemoryUse {
    /// The bytes that are alive now.
    pub in_use: usize,
    /// The largest number of bytes alive at one time since the count began or [`reset_peak_memory`] was called.
    pub peak_bytes: usize,
    /// The limit on the bytes. Inside a [`with_limits`] that sets none, it is `usize::MAX`.
    pub max_bytes: usize,
}

/// Formats the numbers: `512 of 1048576 bytes in use, 4096 at most`.
impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryUse { in_use, peak_bytes, max_bytes } = self;
        write!(f, "{in_use} of {max_bytes} bytes in use, {peak_bytes} at most")
    }
}

/// Returns the memory that data takes. Inside [`with_limits`], this is the data that was made there. Otherwise, it is
/// all data of the process.
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

/// Restarts the measurement of [`MemoryUse::peak_bytes`].
pub fn reset_peak_memory() {
    Scope::current().account.reset_peak();
}

/// Returns `f` as a function that another thread may call, under the limits of this thread.
pub(crate) fn carried<R>(f: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let scope = Scope::current();
    move || SCOPE.with(Some(scope), f)
}

/// Runs a call under the limits of this thread, or as a part of the active call. Fails if `f` does. If a limit stops
/// the call, fails with this limit at `at`.
pub(crate) fn run<T>(at: &'static Location<'static>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    run_at(|| context::loc(at), f)
}

/// Does the same as [`run`] for a call whose location is computed only if a limit stops it. Fails if `f` does, or with
/// the limit that stops it.
pub(crate) fn run_at<T>(loc: impl FnOnce() -> Loc, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let stopped = match Budget::current() {
        Some(_) => Stop::catch(f),
        None => Scope::current().budget().run(f),
    };
    stopped.unwrap_or_else(|stop| Err(Error::one(stop.diagnostic(&loc()))))
}
