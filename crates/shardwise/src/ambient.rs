//! Ambient state: values that each thread has for itself, and that functions replace while they run.
//!
//! All ambient state of the crate is declared with [`scoped!`], except for the stack of traces (`trace.rs`), the calls
//! that have begun (`function.rs`), and the remembered answers of Explicit mode (`explicit/memo.rs`):
//!
//! | value | file | replaced by |
//! |---|---|---|
//! | the current mesh | `mesh.rs` | `set_mesh`, `with_mesh` |
//! | the user's line, the copied op's location, the nesting of user functions | `context.rs` | library functions |
//! | the name scope | `context.rs` | `named_scope` |
//! | the level of communication over Explicit axes | `explicit.rs` | `with_communication` |
//! | the collected warnings | `explicit/warnings.rs` | `with_warnings` |
//! | the limits | `limits.rs` | `with_limits` |
//! | the collected times | `profile.rs` | `profile` |
//! | the checks for numbers that are not finite | `debug/checks.rs` | `debug::with_checks` |
//! | whether mistakes are recorded | `trace.rs` | `trace::run`, `trace::quietly` |
//! | the named axes of batches | `named.rs` | `vmap` |
//! | the calls whose rules are being traced | `transform/custom.rs` | `custom_jvp`, `custom_vjp` |
//! | the nesting of trees and of their checks, whether `float0` arrays are leaves | `tree.rs` | functions of trees |

use std::cell::RefCell;
use std::thread::LocalKey;

/// Declares a [`Scoped`] value: `scoped!(static CURRENT: Option<Mesh> = None);`.
macro_rules! scoped {
    ($($(#[$doc:meta])* static $name:ident: $ty:ty = $first:expr;)*) => { $(
        $(#[$doc])*
        static $name: $crate::ambient::Scoped<$ty> = {
            std::thread_local!(static VALUE: std::cell::RefCell<$ty> = const { std::cell::RefCell::new($first) });
            $crate::ambient::Scoped::new(&VALUE)
        };
    )* };
}
pub(crate) use scoped;

/// A value that each thread has for itself.
pub(crate) struct Scoped<T: 'static>(&'static LocalKey<RefCell<T>>);

impl<T> Scoped<T> {
    pub const fn new(value: &'static LocalKey<RefCell<T>>) -> Scoped<T> {
        Scoped(value)
    }

    /// Runs `f` with `value` in place of the thread's value, which is restored afterwards, also if `f` panics.
    pub fn with<R>(&self, value: T, f: impl FnOnce() -> R) -> R {
        restoring(self.0.replace(value), |before| self.0.set(before), f)
    }

    /// Replaces the thread's value until the next change.
    pub fn set(&self, value: T) {
        self.0.set(value);
    }

    /// Returns a copy of the thread's value.
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.0.with_borrow(T::clone)
    }

    /// Calls `f` with the thread's value. Panics if `f` changes the value.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with_borrow(f)
    }

    /// Calls `f` to change the thread's value. Panics if `f` reads or changes the value in another way than by its
    /// argument.
    pub fn update<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.0.with_borrow_mut(f)
    }

    /// Takes the thread's value, and leaves the default in its place.
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.0.take()
    }
}

impl Scoped<usize> {
    /// Runs `f` with a count that is one larger. The count is restored afterwards, also if `f` panics.
    pub fn counted<R>(&self, f: impl FnOnce() -> R) -> R {
        self.with(self.get() + 1, f)
    }
}

/// Runs `f`, and then passes `before` to `restore`, also if `f` panics.
pub(crate) fn restoring<T, R>(before: T, restore: impl FnOnce(T), f: impl FnOnce() -> R) -> R {
    struct Guard<T, F: FnOnce(T)>(Option<(T, F)>);
    impl<T, F: FnOnce(T)> Drop for Guard<T, F> {
        fn drop(&mut self) {
            if let Some((before, restore)) = self.0.take() {
                restore(before);
            }
        }
    }
    let _guard = Guard(Some((before, restore)));
    f()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    scoped! {
        static NUMBER: usize = 1;
    }

    #[test]
    fn a_value_is_restored() {
        assert_eq!(NUMBER.with(2, || NUMBER.with(3, || NUMBER.get()) * 10 + NUMBER.get()), 32);
        assert_eq!(NUMBER.get(), 1);
    }

    #[test]
    fn a_value_is_restored_after_a_panic() {
        assert!(catch_unwind(|| NUMBER.with(2, || panic!("the test"))).is_err());
        assert_eq!(NUMBER.get(), 1);
    }
}
