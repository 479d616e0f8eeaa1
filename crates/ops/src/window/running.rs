//! Derivatives of running products, maxima and minima.
//!
//! Element `i` of a running product is the product of the elements up to and including `i`, or of those from `i` on.
//! After step `k` of its computation, each element is that of a window of at most `2^k` elements. Each step combines two
//! such windows. So all elements take a number of ops that grows with the logarithm of their number. The windows
//! themselves have a square of it.

use super::WindowDim;
use crate::make;
use shardwise_base::Literal;
use shardwise_ir::{Builder, Value};

/// Shorter lines are computed by their windows, with fewer ops.
const MIN_LEN: usize = 17;

/// A dimension along which windows have all elements up to each one, or from each one on.
#[derive(Clone, Copy)]
pub(super) struct Running {
    dim: usize,
    /// True if windows have the elements from each one on.
    is_reversed: bool,
}

impl Running {
    /// Returns the dimension, if windows of an array of this shape are of this kind along one dimension, and are single
    /// elements along the others. Returns `None` for other windows, and if there are few elements.
    pub fn of(window: &[WindowDim], shape: &[usize]) -> Option<Running> {
        let mut others = window.iter().enumerate().filter(|(_, w)| !w.is_identity());
        let (dim, w) = others.next()?;
        let n = shape[dim];
        let is_dense = w.stride == 1 && w.dilation == 1 && w.base_dilation == 1;
        let is_reversed = w.low == 0;
        let [padding, other] = if is_reversed { [w.high, w.low] } else { [w.low, w.high] };
        let is_running = n >= MIN_LEN && w.size == n && is_dense && padding == n as i64 - 1 && other == 0;
        (is_running && others.next().is_none()).then_some(Running { dim, is_reversed })
    }

    /// Returns the array with its elements `by` places later, or earlier if the windows are reversed, and with `identity`
    /// in the places that are left.
    fn moved(self, b: &mut Builder<'_>, x: Value, by: usize, identity: Value) -> Value {
        let mut low = vec![0; make::type_of(b, x).rank()];
        low[self.dim] = if self.is_reversed { -(by as i64) } else { by as i64 };
        let high: Vec<i64> = low.iter().map(|n| -n).collect();
        make::pad(b, x, identity, &low, &high, &vec![0; low.len()])
    }

    /// Combines pairs of elements, step by step: `combine` has the pair of the earlier window, and that of the later one.
    fn combined(
        self,
        b: &mut Builder<'_>,
        pair: [Value; 2],
        identities: [Value; 2],
        combine: impl Fn(&mut Builder<'_>, [Value; 2], [Value; 2]) -> [Value; 2],
    ) -> [Value; 2] {
        let n = make::type_of(b, pair[0]).shape[self.dim];
        let steps = std::iter::successors(Some(1), |by| Some(2 * by)).take_while(|by| *by < n);
        steps.fold(pair, |pair, by| {
            let moved = [0, 1].map(|i| self.moved(b, pair[i], by, identities[i]));
            if self.is_reversed { combine(b, pair, moved) } else { combine(b, moved, pair) }
        })
    }

    /// Returns the tangents of running products of `x`, whose tangents are `t`.
    pub fn product_tangent(self, b: &mut Builder<'_>, x: Value, t: Value) -> Value {
        let identities = [1, 0].map(|n| make::number(b, make::type_of(b, x).dtype, n));
        let [_, tangent] = self.combined(b, [x, t], identities, |b, [x, t], [y, u]| {
            let [left, right] = [make::multiply(b, t, y), make::multiply(b, x, u)];
            [make::multiply(b, x, y), make::add(b, left, right)]
        });
        tangent
    }

    /// Returns the tangents of running maxima (`direction` is `GE`) or minima (`LE`) of `x`, whose tangents are `t`: those
    /// of the first element that is equal to each result, and zero where a result is `worst`, with which they start.
    pub fn selected_tangent(self, b: &mut Builder<'_>, [x, t]: [Value; 2], direction: &str, worst: Literal) -> Value {
        let [ty, t_type] = [x, t].map(|v| make::type_of(b, v));
        let identities = [make::constant(b, worst), make::number(b, t_type.dtype, 0)];
        let [best, tangent] = self.combined(b, [x, t], identities, |b, [x, t], [y, u]| {
            let is_kept = make::compare(b, direction, x, y);
            [make::select(b, is_kept, x, y), make::select(b, is_kept, t, u)]
        });
        let worst = make::broadcast_scalar(b, identities[0], &ty.shape);
        let is_worst = make::compare(b, "EQ", best, worst);
        let zeros = make::zeros(b, &t_type);
        make::select(b, is_worst, zeros, tangent)
    }
}
