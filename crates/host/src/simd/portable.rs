//! Lanes in an array. Every machine has this level, with eight lanes, and all levels use it for 64-bit lanes.

use super::vector::Vector;
use super::word::{Word, with_several};

/// Defines the methods that compute several words at once.
macro_rules! methods {
    ($($name:ident $several:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Portable(W::$several(self.0))
        }
    )*};
}

/// Words in an array.
#[derive(Clone, Copy)]
pub(crate) struct Portable<W, const N: usize = 8>([W; N]);

impl<W: Word, const N: usize> Vector for Portable<W, N> {
    type Word = W;
    const LANES: usize = N;
    const IN_REGISTERS: bool = false;

    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> W) -> Self {
        Portable(std::array::from_fn(f))
    }
    #[inline(always)]
    fn map(self, f: impl FnMut(W) -> W) -> Self {
        Portable(self.0.map(f))
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(W, W) -> W) -> Self {
        Portable(std::array::from_fn(|i| f(self.0[i], o.0[i])))
    }
    #[inline(always)]
    fn splat(w: W) -> Self {
        Portable([w; N])
    }
    #[inline(always)]
    fn fused(self, m: Self, a: Self) -> Self {
        Portable(std::array::from_fn(|i| self.0[i].fused(m.0[i], a.0[i])))
    }
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: the caller says that all lanes can be read at `p`.
        Portable(unsafe { p.cast::<[W; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller says that all lanes can be written at `p`.
        unsafe { p.cast::<[W; N]>().write_unaligned(self.0) }
    }
    with_several! { methods! }
}
