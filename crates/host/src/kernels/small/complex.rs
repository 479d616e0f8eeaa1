//! Ops of small programs on complex numbers, computed from their real and imaginary parts by the operations of block
//! programs.

use super::builder::Builder;
use super::elements::{Emitted, Source};
use super::moves::operand;
use crate::block::Program;
use crate::block::program::{Binary, Comparison, Unary, Value};
use crate::elem::Elem;
use crate::kernels::factors::Factors;
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::Opcode;
use shardwise_ops::dot::DotDims;
use shardwise_ops::elementwise::Compare;

/// Returns the parts of an element of the result, given those of an element of each operand and the type of the result's
/// parts. Returns `None` if block programs have no operation for it.
pub type Function = fn(&mut Program, &[&[Value]], Elem) -> Option<Vec<Value>>;

/// Returns how the parts of the elements of an op's result are computed. Returns `None` for ops that are not computed by
/// parts.
pub fn function(view: &OpView<'_>) -> Option<Function> {
    let function: Function = match Opcode::of_view(view) {
        Opcode::Add => |program, x, _| parts(|i| program.binary(Binary::Add, x[0][i], x[1][i])),
        Opcode::Subtract => |program, x, _| parts(|i| program.binary(Binary::Sub, x[0][i], x[1][i])),
        Opcode::Negate => |program, x, _| parts(|i| program.unary(Unary::Neg, x[0][i])),
        Opcode::ChloConj => |program, x, _| Some(vec![x[0][0], program.unary(Unary::Neg, x[0][1])?]),
        Opcode::Select => |program, x, _| parts(|i| Some(program.select(x[0][0], x[1][i], x[2][i]))),
        Opcode::Compare if Compare::direction(view) == Some("EQ") => {
            |program, x, _| compared(program, x, Comparison::Eq, Binary::And)
        }
        Opcode::Compare if Compare::direction(view) == Some("NE") => {
            |program, x, _| compared(program, x, Comparison::Ne, Binary::Or)
        }
        Opcode::Convert if converts_once(view) => |program, x, elem| {
            let zero = program.constant(elem, &0f64.to_ne_bytes()[..elem.size()]);
            parts(|i| x[0].get(i).map_or(Some(zero), |&part| program.convert(part, elem)))
        },
        _ => return product_function(view),
    };
    Some(function)
}

/// Returns how products are computed, as [`function`] does. Returns `None` for other ops, and for numbers with parts of
/// `f32`: their products are computed in `f64`, which takes as long to convert them as to call the routine of the op.
fn product_function(view: &OpView<'_>) -> Option<Function> {
    if view.operands().iter().any(|&v| view.body.ty(v).as_tensor().is_none_or(|ty| ty.dtype != DType::C128)) {
        return None;
    }
    let function: Function = match Opcode::of_view(view) {
        Opcode::Multiply => |program, x, _| product(program, x[0], x[1]),
        Opcode::ChloSquare => |program, x, _| product(program, x[0], x[0]),
        Opcode::DotGeneral if is_without_sums(view) => |program, x, elem| {
            let (product, zero) = (product(program, x[0], x[1])?, program.constant(elem, &0f64.to_ne_bytes()));
            // Every sum begins with 0, also one of a single product, which may be -0.
            parts(|i| program.binary(Binary::Add, zero, product[i]))
        },
        _ => return None,
    };
    Some(function)
}

/// Returns true for a conversion to complex numbers that rounds at most once. That of integers of 64 bits rounds to
/// `f64` first.
fn converts_once(view: &OpView<'_>) -> bool {
    let (from, to) = (Elem::of(view.operand_tensor(0).dtype), Elem::of(view.result_tensor(0).dtype));
    to.is_some_and(Elem::is_complex) && from.is_some_and(|e| e.is_float() || e.is_complex() || !e.is_wide())
}

/// Returns true for a product of arrays each of whose elements is one product.
fn is_without_sums(view: &OpView<'_>) -> bool {
    let shape = view.operand_shape(0);
    DotDims::of(view).is_some_and(|dims| dims.lhs_contract.iter().all(|&d| shape[d] == 1))
}

/// Returns both parts, or `None` if `part` does for one of them.
fn parts(part: impl FnMut(usize) -> Option<Value>) -> Option<Vec<Value>> {
    (0..2).map(part).collect()
}

/// Adds a product of complex numbers. Returns `None` if block programs have no operation for it.
fn product(program: &mut Program, a: &[Value], b: &[Value]) -> Option<Vec<Value>> {
    let mut times = |i: usize, k: usize| program.binary(Binary::Mul, a[i], b[k]);
    let [real, square, first, second] = [times(0, 0)?, times(1, 1)?, times(0, 1)?, times(1, 0)?];
    Some(vec![program.binary(Binary::Sub, real, square)?, program.binary(Binary::Add, first, second)?])
}

/// Adds the comparison of both parts, combined by `both`. Returns `None` if block programs have no operation for it.
fn compared(program: &mut Program, x: &[&[Value]], comparison: Comparison, both: Binary) -> Option<Vec<Value>> {
    let compared = parts(|i| program.binary(Binary::Compare(comparison), x[0][i], x[1][i]))?;
    Some(vec![program.binary(both, compared[0], compared[1])?])
}

/// Adds an op whose result `function` computes. Returns `None` if one of its arrays is not small, if the program cannot
/// hold an operand, or if `function` does.
pub fn by_parts(builder: &mut Builder<'_, '_>, function: Function, view: &OpView<'_>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let count = len / builder.part_count(view.result(0));
    let mut places = view.operands().iter().map(|&v| operand(builder, v)).collect::<Option<Vec<_>>>()?;
    let mut lens = view.operands().iter().map(|&v| Some(builder.shape(v)?.1)).collect::<Option<Vec<_>>>()?;
    if Opcode::of_view(view) == Opcode::DotGeneral {
        let factors = Factors::of(&DotDims::of(view)?, [0, 1].map(|i| view.operand_shape(i)));
        for k in 0..2 {
            let part = lens[k] / 2;
            let elements = || factors.numbers(1).map(move |numbers| numbers[k]);
            let words = elements().chain(elements().map(|e| part + e)).map(|e| places[k].word(e) as u32);
            places[k] = builder.ordered(elem, &words.collect::<Vec<_>>());
            lens[k] = len;
        }
    }
    let is_wide = elem.is_wide() || places.iter().any(|place| place.is_wide());
    let mut source = Source::new(is_wide);
    let mut operands = vec![];
    for ((&v, place), len) in view.operands().iter().zip(places).zip(lens) {
        operands.push(source.operand(builder, place, len, builder.part_count(v)));
    }
    let operands: Vec<&[Value]> = operands.iter().map(Vec::as_slice).collect();
    let values = function(&mut source.program, &operands, elem)?;
    let mut emitted = Emitted::new(&source, None);
    // All nodes are added in the order in which `function` made them, so that the words of both parts follow each other.
    for node in 0..source.program.nodes.len() {
        emitted.node(&mut builder.code, node, count);
    }
    let parts: Vec<_> = values.iter().map(|&value| emitted.value(&mut builder.code, value, count)).collect();
    let words = parts.iter().flat_map(|part| (0..count).map(|i| part.word(i) as u32));
    builder.arrange(view.result(0), elem, &words.collect::<Vec<_>>());
    Some(())
}
