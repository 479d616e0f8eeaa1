//! The ops that block programs compute.

use crate::block::{Binary, Comparison, Program, Value};
use crate::elem::Elem;
use crate::kernels::context::{Fused, PlanCx};
use crate::kernels::empty::is_empty;
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::Opcode;
use shardwise_ops::elementwise::Compare;
use shardwise_ops::promote::is_promoted;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;

/// Returns true if block programs can compute the op: its row has a form for them, other than a view, its result has
/// elements, and its operands and results have real types that kernels compute on. A program with the op may still fail
/// to compile.
pub fn is_computed(plan: &PlanCx<'_>, view: &OpView<'_>) -> bool {
    let is_known = plan.fused(view).is_some_and(|fused| !matches!(fused, Fused::View(_)));
    let fits = |ty: &TensorType| Elem::of(ty.dtype).is_some_and(|e| !e.is_complex());
    let mut types = view.operands().iter().chain(view.results()).map(|&v| view.body.ty(v).as_tensor());
    is_known && !is_empty(view) && types.all(|t| t.is_some_and(fits))
}

/// Returns true if the op combines one array by a named reducer, on elements of the array's type.
pub fn is_named_reduce(reduce: &OpView<'_>) -> bool {
    reduce.results().len() == 1 && reduce_kind_of_op(reduce).is_some() && !is_promoted(reduce)
}

/// Returns true if the first result of the op has the shape of its first operand.
pub fn keeps_shape(view: &OpView<'_>) -> bool {
    view.operand_shape(0) == view.result_shape(0)
}

/// Adds the comparison of two values, which must have the same type. Returns `None` if the direction is missing or not
/// known, for complex values, and for the total order, which distinguishes -0 from +0, and NaNs from each other. The
/// reference evaluation computes these.
pub fn compare(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    let comparison = match Compare::direction(view)? {
        "EQ" => Comparison::Eq,
        "NE" => Comparison::Ne,
        "LT" => Comparison::Lt,
        "LE" => Comparison::Le,
        "GT" => Comparison::Gt,
        "GE" => Comparison::Ge,
        _ => return None,
    };
    if Compare::is_total_order(view) {
        return None;
    }
    program.binary(Binary::Compare(comparison), operands[0], operands[1])
}

/// Adds the conversion of a value to the element type of the result. Returns `None` if kernels do not compute on that
/// type, or if [`Program::convert`] does.
pub fn convert(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.convert(operands[0], Elem::of(view.result_tensor(0).dtype)?)
}

/// Returns the bits of a value as the element type of the op's result. Returns `None` if kernels do not compute on that
/// type, or if one of the types is complex or does not fill a lane.
pub fn bitcast(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.reinterpret(operands[0], Elem::of(view.result_tensor(0).dtype)?)
}

/// Adds the product of a value with itself. Returns `None` for complex values. The op is not used.
pub fn square(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.binary(Binary::Mul, operands[0], operands[0])
}

/// Adds a selection: the second value where the first one is true, else the third. Never returns `None`. Panics as
/// [`Program::select`] does.
pub fn select(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    Some(program.select(operands[0], operands[1], operands[2]))
}

/// Adds the second value, limited from below by the first and from above by the third. Returns `None` for complex
/// values. Panics if the values have different types.
pub fn clamp(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.clamp(operands[0], operands[1], operands[2])
}

/// Returns the space of a program with this root: the shape of the operand of a `reduce`, or of the result of another
/// op.
pub fn space_of<'m>(root: &OpView<'m>) -> &'m [usize] {
    if Opcode::of_view(root) == Opcode::Reduce { root.operand_shape(0) } else { root.result_shape(0) }
}

/// Returns the dimensions along which a `reduce` combines several elements. Reduced dimensions of size 1 are left out,
/// because nothing is combined along them.
pub fn folded(reduce: &OpView<'_>) -> Vec<usize> {
    let mut dims = Reduce::dims(reduce);
    dims.retain(|&d| reduce.operand_shape(0)[d] != 1);
    dims
}

/// Returns true if `dims` is empty, or if all dimensions of the shape from the lowest of `dims` on are in `dims` or
/// have size 1.
pub fn is_trailing(dims: &[usize], shape: &[usize]) -> bool {
    let first = dims.iter().copied().min().unwrap_or(shape.len());
    (first..shape.len()).all(|d| dims.contains(&d) || shape[d] == 1)
}
