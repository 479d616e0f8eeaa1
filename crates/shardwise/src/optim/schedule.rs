//! Learning rates, and other numbers that depend on the step.

use crate::array::Array;
use crate::ops::{Operand, scalar_of};
use crate::{DType, context, mistakes, scalar};
use shardwise_base::{Diagnostic, Loc};
use std::f64::consts::PI;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A number for each step of training: a constant, or a function of the number of earlier steps.
///
/// Floats and scalar arrays are constant schedules, so `adamw(1e-3)` and `adamw(&lr)` are written without naming one.
///
/// ```
/// use shardwise::optim::{cosine, linear};
/// use shardwise::prelude::*;
///
/// let schedule = linear(0.0, 1.0, 10).then(10, cosine(1.0, 0.1, 90));
/// assert_eq!(schedule.at(5).item::<f32>()?, 0.5);
/// assert_eq!(schedule.at(10).item::<f32>()?, 1.0);
/// assert_eq!(schedule.at(1000).item::<f32>()?, 0.1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a schedule has no effect until it is passed to an optimizer, or `.at` is called"]
pub struct Schedule(Arc<dyn Fn(&Array) -> Array + Send + Sync>);

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schedule(..)")
    }
}

impl Schedule {
    /// Returns the schedule that `f` computes from the number of earlier steps, an `i32` scalar. `f` must return a
    /// scalar, which is not checked.
    pub fn new(f: impl Fn(&Array) -> Array + Send + Sync + 'static) -> Schedule {
        Schedule(Arc::new(f))
    }

    /// Returns the value at a step, which is an integer, or an `i32` array with one element. The first step is 0.
    ///
    /// # Errors
    ///
    /// The same errors as [`scalar`](crate::scalar) with the dtype `i32`, and those of the function that returned the
    /// schedule.
    #[track_caller]
    pub fn at(&self, step: impl Operand) -> Array {
        let at = context::caller(Location::caller());
        context::within(at, || (self.0)(&scalar(step, DType::I32)))
    }

    /// Returns the schedule that follows `self` before step `start`, and `next` from there on. For `next`, step `start`
    /// is its step 0. Both values are computed at each step, so the function of `next` also gets negative steps. If
    /// `start` does not fit an `i32`, the value is the mistake `number-dtype`. This is optax's `join_schedules`.
    #[track_caller]
    pub fn then(self, start: usize, next: Schedule) -> Schedule {
        if i32::try_from(start).is_err() {
            return Schedule::wrong(move |loc| mistakes::schedule_steps("then", start, loc));
        }
        Schedule::new(move |step| {
            let later = (next.0)(&(step - start));
            step.lt(start).select((self.0)(step), later)
        })
    }

    /// Returns the schedule whose value is `f` of a number that grows from 0 to 1 over the first `steps` steps, and
    /// then stays 1. If `steps` is 0, the value is the mistake `schedule` of the function `name`, and if it does not
    /// fit an `i32`, the mistake `number-dtype`.
    #[track_caller]
    fn of_part(name: &'static str, steps: usize, f: impl Fn(Array) -> Array + Send + Sync + 'static) -> Schedule {
        match steps {
            0 => Schedule::wrong(move |loc| mistakes::schedule(name, loc)),
            _ if i32::try_from(steps).is_err() => {
                Schedule::wrong(move |loc| mistakes::schedule_steps(name, steps, loc))
            }
            _ => Schedule::new(move |step| f(step.clamp(0, steps).astype(DType::F32) / steps)),
        }
    }

    #[track_caller]
    fn wrong(mistake: impl Fn(&Loc) -> Diagnostic + Send + Sync + 'static) -> Schedule {
        let at = context::caller(Location::caller());
        Schedule::new(move |_| Array::mistake(mistake(&context::loc(at)), None, at))
    }
}

impl From<f64> for Schedule {
    fn from(value: f64) -> Schedule {
        constant(value)
    }
}
impl From<f32> for Schedule {
    fn from(value: f32) -> Schedule {
        constant(value.into())
    }
}
impl From<&Array> for Schedule {
    fn from(value: &Array) -> Schedule {
        let value = value.clone();
        Schedule::new(move |_| value.clone())
    }
}
impl From<Array> for Schedule {
    fn from(value: Array) -> Schedule {
        Schedule::from(&value)
    }
}

/// Returns the schedule that always has this value, rounded to an `f32`.
pub fn constant(value: f64) -> Schedule {
    Schedule::new(move |_| {
        scalar_of(crate::ops::element(value, DType::F32.base()), context::caller(Location::caller()))
    })
}

/// Returns the schedule that goes from `start` to `end` in a line during the first `steps` steps, and stays at `end`.
///
/// # Errors
///
/// `schedule` if there are no steps, and `number-dtype` if they do not fit an `i32`. The value of the schedule carries
/// them.
#[track_caller]
pub fn linear(start: f64, end: f64, steps: usize) -> Schedule {
    Schedule::of_part("linear", steps, move |part| (1.0 - part) * (start - end) + end)
}

/// Returns the schedule that goes from `start` to `end` along half a cosine during the first `steps` steps, and stays
/// at `end`. This is optax's `cosine_decay_schedule(start, steps, alpha=end / start)`.
///
/// # Errors
///
/// `schedule` if there are no steps, and `number-dtype` if they do not fit an `i32`. The value of the schedule carries
/// them.
#[track_caller]
pub fn cosine(start: f64, end: f64, steps: usize) -> Schedule {
    Schedule::of_part("cosine", steps, move |part| {
        let height = ((part * PI).cos() + 1.0) * 0.5;
        height * (start - end) + end
    })
}

/// Returns the schedule that goes from 0 to `peak` in a line during the first `warmup_steps` steps, and then to `end`
/// along half a cosine until step `steps`. This is optax's `warmup_cosine_decay_schedule(0, peak, warmup_steps, steps,
/// end)`.
///
/// # Errors
///
/// `schedule` unless there are steps before and after the warm-up ends, and `number-dtype` if they do not fit an `i32`.
/// The value of the schedule carries them.
///
/// # Examples
///
/// ```
/// use shardwise::optim::{adamw, warmup_cosine};
/// let optimizer = adamw(warmup_cosine(3e-4, 3e-5, 100, 10_000));
/// # let _ = optimizer;
/// ```
#[track_caller]
pub fn warmup_cosine(peak: f64, end: f64, warmup_steps: usize, steps: usize) -> Schedule {
    let rest = steps.saturating_sub(warmup_steps);
    if warmup_steps == 0 || rest == 0 {
        return Schedule::wrong(move |loc| mistakes::warmup(warmup_steps, steps, loc));
    }
    if i32::try_from(steps).is_err() {
        return Schedule::wrong(move |loc| mistakes::schedule_steps("warmup_cosine", steps, loc));
    }
    linear(0.0, peak, warmup_steps).then(warmup_steps, cosine(peak, end, rest))
}
