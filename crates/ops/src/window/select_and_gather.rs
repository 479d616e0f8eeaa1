//! The windows of two arrays from which one element is selected by the first array: the derivative of a maximum or
//! minimum, and the transpose of `select_and_scatter`.
//!
//! This is a `reduce_window` whose region selects one of two pairs by comparing their first elements. It is linear in
//! the second array, and its transpose there is `select_and_scatter`.

use super::{WindowDim, reduce_window, select_and_scatter, window_attrs};
use crate::facts::*;
use crate::{Opcode, make, reducer};
use shardwise_ir::{Attrs, Builder, OpView, Region, Type, Value};

/// Returns the direction (`GE`, `GT`, `LE` or `LT`) in which the region of a `reduce_window` compares the first
/// elements of two pairs, the earlier one on the left, to select one of them. Returns `None` if the region does
/// anything else, also if it compares the second elements or in the total order.
pub(super) fn direction(op: &OpView<'_>) -> Option<&'static str> {
    let &[region] = op.regions() else { return None };
    let &[x, t, y, u] = &op.body[region].args[..] else { return None };
    let selects = op.body.region_results(region).iter().map(|&v| op.body.def_op(v).map(|op_of| op.at(op_of)));
    let selects: Vec<OpView<'_>> = selects.collect::<Option<_>>()?;
    let is_select = |i: usize, a: Value, b: Value| {
        let select = &selects[i];
        Opcode::of_view(select) == Opcode::Select && select.operands()[1..] == [a, b]
    };
    let is_pair = selects.len() == 2 && is_select(0, x, y) && is_select(1, t, u);
    if !is_pair || selects[0].operand(0) != selects[1].operand(0) {
        return None;
    }
    let compare = op.at(op.body.def_op(selects[0].operand(0))?);
    if compare.operands() == [x, y] { select_and_scatter::direction_of(&compare) } else { None }
}

/// Builds the elements of `t` at the positions of the elements of `x` that windows select by comparing in `direction`.
/// A window of padding only has 0. So may a window of elements that are all the least value of their type (for `GE` and
/// `GT`) or the greatest one, because padding has that value too. A window whose last element is NaN and has padding
/// after it also has 0, because no comparison with NaN holds.
pub(super) fn build(b: &mut Builder<'_>, x: Value, t: Value, window: &[WindowDim], direction: &str) -> Value {
    let (x_type, t_type) = (make::type_of(b, x), make::type_of(b, t));
    let kind = if direction.starts_with('G') { ReduceKind::Max } else { ReduceKind::Min };
    let worst = make::constant(b, kind.identity(x_type.dtype));
    let zero = make::number(b, t_type.dtype, 0);
    let shape = super::places(window, &x_type.shape).expect("an op has this window");
    let scalars = [x_type.dtype, t_type.dtype].map(|dtype| Type::tensor(dtype, vec![]));
    let region = b.region(&[&scalars[..], &scalars].concat(), |b, args| {
        let is_kept = make::compare(b, direction, args[0], args[2]);
        let pair = [0, 1].map(|i| make::select(b, is_kept, args[i], args[i + 2]));
        b.op(Opcode::RegionReturn, pair, Attrs::new(), []);
    });
    let types = [x_type.dtype, t_type.dtype].map(|dtype| Type::tensor(dtype, shape.clone()));
    let attrs = window_attrs(window, reduce_window::NAMES);
    let op = b.op_with_regions(Opcode::ReduceWindow, [x, t, worst, zero], attrs, [region], types);
    b.body[op].results[1]
}

/// Builds the transpose: a `select_and_scatter` that adds the elements of `ct` at the positions of the elements of `x`
/// that windows select by comparing in `direction`.
pub(super) fn transposed(b: &mut Builder<'_>, x: Value, ct: Value, window: &[WindowDim], direction: &str) -> Value {
    let (x_type, ct_type) = (make::type_of(b, x), make::type_of(b, ct));
    let zero = make::number(b, ct_type.dtype, 0);
    let regions = [comparison(b, direction, &x_type), reducer::reduction_region(b, ReduceKind::Add, ct_type.dtype)];
    let attrs = window_attrs(window, select_and_scatter::NAMES);
    let to = Type::tensor(ct_type.dtype, x_type.shape.clone());
    let op = b.op_with_regions(Opcode::SelectAndScatter, [x, ct, zero], attrs, regions, [to]);
    b.body[op].results[0]
}

fn comparison(b: &mut Builder<'_>, direction: &str, x: &shardwise_ir::TensorType) -> Region {
    let scalar = Type::tensor(x.dtype, vec![]);
    b.region(&[scalar.clone(), scalar], |b, args| {
        let is_kept = make::compare(b, direction, args[0], args[1]);
        b.op(Opcode::RegionReturn, [is_kept], Attrs::new(), []);
    })
}
