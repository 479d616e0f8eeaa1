//! Derivatives of products: the derivative by one element is the product of all others. It is not computed as a quotient
//! of the product and the element, because the element may be zero.

use crate::facts::ReduceKind;
use crate::index::IndexDims;
use crate::make;
use crate::window::{ReduceWindow, WindowDim};
use shardwise_base::DType;
use shardwise_ir::{Builder, TensorType, Type, Value};

/// Builds, for each element of `x`, the product of all other elements along the dimensions `dims`, which are sorted.
///
/// ```text
/// x = [[2, 3], [5, 7]], dims = [0, 1] -> [[105, 70], [42, 30]]
/// ```
pub(crate) fn of_others(b: &mut Builder<'_>, x: Value, dims: &[usize]) -> Value {
    let shape = make::type_of(b, x).shape.clone();
    let Some((&last, rest)) = dims.split_last() else {
        let one = make::number(b, make::type_of(b, x).dtype, 1);
        return make::broadcast_scalar(b, one, &shape);
    };
    let n = shape[last] as i64;
    let (before, after) = (products(b, x, last, (n, -1)), products(b, x, last, (-1, n)));
    let along = make::multiply(b, before, after);
    if rest.is_empty() {
        return along;
    }
    let lines = make::reduce(b, ReduceKind::Mul, x, &[last]);
    let others = of_others(b, lines, rest);
    let kept: Vec<usize> = (0..shape.len()).filter(|&d| d != last).collect();
    let others = make::broadcast_in_dim(b, others, &shape, &kept);
    make::multiply(b, along, others)
}

/// Builds, for each element of `x`, the product of the elements in a window along `dim`. The window is as long as the
/// dimension, to which `padding` adds ones before and after. Negative padding removes elements.
fn products(b: &mut Builder<'_>, x: Value, dim: usize, padding: (i64, i64)) -> Value {
    let ty = make::type_of(b, x);
    let (mut sizes, mut paddings) = (vec![1; ty.rank()], vec![(0, 0); ty.rank()]);
    (sizes[dim], paddings[dim]) = (ty.shape[dim].max(1), padding);
    let one = make::number(b, ty.dtype, 1);
    let region = crate::reducer::reduction_region(b, ReduceKind::Mul, ty.dtype);
    let attrs = ReduceWindow::attrs(&sizes, &paddings);
    let op = b.op_with_regions(crate::Opcode::ReduceWindow, [x, one], attrs, [region], [Type::from(ty)]);
    b.body[op].results[0]
}

/// Builds an array of the windows of `x`, with `fill` in padding and holes. Each dimension along which a window moves
/// becomes two: its positions and its elements. Returns the array and the dimensions of the elements.
pub(crate) fn windows(b: &mut Builder<'_>, x: Value, fill: Value, window: &[WindowDim]) -> (Value, Vec<usize>) {
    let amounts = |of: fn(&WindowDim) -> i64| window.iter().map(of).collect::<Vec<i64>>();
    let from = make::type_of(b, x).shape.clone();
    let moved: Vec<usize> = (0..window.len()).filter(|&d| !window[d].is_identity()).collect();
    let places = |d: usize| window[d].count(from[d]).expect("an op has this window");
    let elements = moved.iter().enumerate().map(|(i, d)| d + i + 1).collect();
    if moved.iter().any(|&d| places(d) == 0) {
        // Negative padding may remove more elements than there are.
        let sizes = |d: usize| if window[d].is_identity() { vec![from[d]] } else { vec![places(d), window[d].size] };
        let shape: Vec<usize> = (0..window.len()).flat_map(sizes).collect();
        return (make::broadcast_scalar(b, fill, &shape), elements);
    }
    let interior = amounts(|w| w.base_dilation as i64 - 1);
    let mut all = make::pad(b, x, fill, &amounts(|w| w.low), &amounts(|w| w.high), &interior);
    for &d in moved.iter().rev() {
        all = lines(b, all, d, places(d), &window[d]);
    }
    (all, elements)
}

fn lines(b: &mut Builder<'_>, x: Value, d: usize, places: usize, window: &WindowDim) -> Value {
    let mut sizes = make::type_of(b, x).shape.clone();
    let table = TensorType::new(DType::I64, vec![places, window.size]);
    let [first, next] = [(0, window.stride), (1, window.dilation)].map(|(dim, step)| {
        let (index, step) = (make::iota(b, table.clone(), dim), make::number(b, DType::I64, step as i64));
        let step = make::broadcast_scalar(b, step, &table.shape);
        make::multiply(b, index, step)
    });
    let indices = make::add(b, first, next);
    let dims = IndexDims {
        window: (0..=sizes.len()).filter(|&i| i != d && i != d + 1).collect(),
        collapsed: vec![d],
        index_map: vec![d],
        index_vector_dim: 2,
        ..IndexDims::default()
    };
    sizes[d] = sizes[d].min(1);
    make::gather(b, x, indices, &dims, &sizes)
}
