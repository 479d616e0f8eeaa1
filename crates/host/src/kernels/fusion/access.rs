//! Accesses: the elements of a value that a program reads, and how views change them.

use shardwise_ir::OpView;
use shardwise_ops::dot::DotDims;
use shardwise_ops::shapes::{BroadcastInDim, Reverse, Slice, Transpose};

/// The index along one dimension of a value at each point of the space over which a program runs: `start + step *
/// index`, where `index` is the index along dimension `dim` of the space, or the constant `start` if `dim` is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Axis {
    pub dim: Option<usize>,
    pub step: isize,
    pub start: isize,
}

impl Axis {
    /// The constant index 0.
    pub const ZERO: Axis = Axis { dim: None, step: 0, start: 0 };

    /// Returns the axis whose index is that along dimension `dim` of the space.
    pub fn along(dim: usize) -> Axis {
        Axis { dim: Some(dim), step: 1, start: 0 }
    }

    /// Returns the axis whose index is `start + step * self`.
    fn then(self, step: isize, start: isize) -> Axis {
        // Where a product does not fit, the dimension has one element, whose step does not count.
        Axis { dim: self.dim, step: self.step.wrapping_mul(step), start: start + step.wrapping_mul(self.start) }
    }
}

/// The index along each dimension of a value at each point of the space over which a program runs.
pub type Access = Vec<Axis>;

/// Returns, for each dimension of a space of `rank` dimensions, the stride of a row-major value that is read at an
/// access over the space, and the offset of the element at the first point of the space. Both are in elements.
pub fn strides_of(shape: &[usize], access: &Access, rank: usize) -> (Vec<isize>, isize) {
    let mut strides = vec![0isize; rank];
    let (mut start, mut stride) = (0, 1isize);
    for (axis, &n) in access.iter().zip(shape).rev() {
        start += axis.start * stride;
        if let Some(dim) = axis.dim {
            strides[dim] = strides[dim].wrapping_add(axis.step.wrapping_mul(stride));
        }
        stride *= n as isize;
    }
    (strides, start)
}

/// Returns the access of the operand of a `broadcast_in_dim`, given the access of its result. Never returns `None`.
pub fn broadcast(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let (dims, to) = (BroadcastInDim::dims(view), view.result_shape(0));
    let axis = |(&d, &n): (&usize, &usize)| if n == 1 && to[d] != 1 { Axis::ZERO } else { access[d] };
    Some(dims.iter().zip(view.operand_shape(0)).map(axis).collect())
}

/// Returns the access of the operand of a `transpose`, given the access of its result. Never returns `None`.
pub fn transpose(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let mut inner = vec![Axis::ZERO; access.len()];
    Transpose::permutation(view).iter().zip(access).for_each(|(&d, &a)| inner[d] = a);
    Some(inner)
}

/// Returns the access of the operand of a `slice`, given the access of its result. Never returns `None`.
pub fn slice(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let (starts, strides) = (Slice::starts(view), Slice::strides(view));
    let step = |i: usize| strides.get(i).copied().unwrap_or(1) as isize;
    Some(access.iter().enumerate().map(|(i, a)| a.then(step(i), starts[i] as isize)).collect())
}

/// Returns the access of the operand of a `reverse`, given the access of its result. Never returns `None`.
pub fn reverse(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let (dims, shape) = (Reverse::dims(view), view.operand_shape(0));
    let flip = |(i, a): (usize, &Axis)| if dims.contains(&i) { a.then(-1, shape[i] as isize - 1) } else { *a };
    Some(access.iter().enumerate().map(flip).collect())
}

/// Returns the accesses of the operands of a product that contracts no dimension of more than one element, given the
/// access of its result. Returns `None` if its dimensions cannot be read.
pub fn product(view: &OpView<'_>, access: &Access) -> Option<[Access; 2]> {
    let dims = DotDims::of(view)?;
    let ranks = [0, 1].map(|i| view.operand_shape(i).len());
    let free = [dims.lhs_free(ranks[0]), dims.rhs_free(ranks[1])];
    let starts = [dims.lhs_batch.len(), dims.lhs_batch.len() + free[0].len()];
    Some([0, 1].map(|i| {
        let mut own = vec![Axis::ZERO; ranks[i]];
        let batch = [&dims.lhs_batch, &dims.rhs_batch][i];
        batch.iter().zip(access).for_each(|(&d, &axis)| own[d] = axis);
        free[i].iter().zip(&access[starts[i]..]).for_each(|(&d, &axis)| own[d] = axis);
        own
    }))
}

/// Returns the access of the operand of a `reshape` that only adds or removes dimensions of size 1, given the access of
/// its result. Returns `None` for other reshapes.
pub fn reshape(view: &OpView<'_>, access: &Access) -> Option<Access> {
    let map = trivial_reshape(view)?;
    Some(map.into_iter().map(|d| d.map_or(Axis::ZERO, |d| access[d])).collect())
}

/// Returns true if a `reshape` only adds or removes dimensions of size 1.
pub fn is_trivial_reshape(view: &OpView<'_>) -> bool {
    trivial_reshape(view).is_some()
}

/// Returns for each dimension of the operand the dimension of the result that it becomes, or `None` for a dimension of
/// size 1. Returns `None` for the whole if other dimensions are changed.
fn trivial_reshape(view: &OpView<'_>) -> Option<Vec<Option<usize>>> {
    let (from, to) = (view.operand_shape(0), view.result_shape(0));
    let mut rest = to.iter().enumerate().filter(|(_, n)| **n != 1);
    let map: Option<Vec<Option<usize>>> = from
        .iter()
        .map(|&n| match n {
            1 => Some(None),
            n => rest.next().filter(|(_, m)| **m == n).map(|(i, _)| Some(i)),
        })
        .collect();
    map.filter(|_| rest.next().is_none())
}
