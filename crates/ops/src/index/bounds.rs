//! Bounds of integers that are known before the program runs.

use crate::{Opcode, constant_value};
use shardwise_base::{DType, Literal};
use shardwise_ir::{OpView, Value};

/// The smallest and the largest number that elements may have.
type Bounds = [i128; 2];

const UNKNOWN: Bounds = [i128::MIN, i128::MAX];

/// The largest number of ops that are looked at for the bounds of an array.
const MAX_OPS: usize = 64;

/// The largest number of elements of a constant that is looked at.
const MAX_ELEMENTS: usize = 1 << 16;

/// Elements of an array.
#[derive(Clone, Copy)]
pub(super) enum Part {
    All,
    /// The elements at one position along a dimension.
    At {
        dim: usize,
        position: usize,
    },
}

/// Returns true if a part of the integers in operand `i` is known to consist of zeros.
pub(super) fn is_zero(op: &OpView<'_>, i: usize, part: Part) -> bool {
    let mut left = MAX_OPS;
    bounds(op, op.operand(i), part, &mut left) == [0, 0]
}

/// Returns the bounds of a part of `v`, a value in the body of `op`, or [`UNKNOWN`]. Looks at no more than `left` ops,
/// and subtracts their number from it.
fn bounds(op: &OpView<'_>, v: Value, part: Part, left: &mut usize) -> Bounds {
    let Some(def) = op.body.def_op(v).map(|def| op.at(def)).filter(|_| *left > 0) else { return UNKNOWN };
    *left -= 1;
    let mut of = |i: usize, part: Part| bounds(&def, def.operand(i), part, left);
    let mut same = |i: usize| of(i, if def.operand_shape(i).is_empty() { Part::All } else { part });
    match Opcode::of_view(&def) {
        Opcode::Convert => {
            let (from, dtype) = (same(0), def.result_tensor(0).dtype);
            if def.operand_tensor(0).dtype.is_integer() && fits(from, dtype) { from } else { UNKNOWN }
        }
        Opcode::Minimum => least(same(0), same(1)),
        Opcode::Maximum => greatest(same(0), same(1)),
        Opcode::Clamp => least(greatest(same(1), same(0)), same(2)),
        Opcode::BroadcastInDim => of(0, before_broadcast(&def, part)),
        Opcode::Concatenate => joined(&def, part, &mut of),
        _ => constant_value(&def).map_or(UNKNOWN, |literal| of_literal(literal, part)),
    }
}

fn least(a: Bounds, b: Bounds) -> Bounds {
    [a[0].min(b[0]), a[1].min(b[1])]
}

fn greatest(a: Bounds, b: Bounds) -> Bounds {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// Returns true if `dtype` is an integer type that has all numbers within the bounds.
fn fits(bounds: Bounds, dtype: DType) -> bool {
    let is_within = |(least, greatest): (i128, i128)| bounds[0] >= least && bounds[1] <= greatest;
    dtype.is_integer() && is_within(dtype.integer_range())
}

/// Returns the part of a broadcast's operand that a part of its result repeats.
fn before_broadcast(op: &OpView<'_>, part: Part) -> Part {
    let Part::At { dim, position } = part else { return Part::All };
    let Some(from) = op.sizes("broadcast_dimensions").iter().position(|&d| d == dim) else { return Part::All };
    // A dimension of size 1 is repeated.
    Part::At { dim: from, position: position.min(op.operand_shape(0)[from].saturating_sub(1)) }
}

/// Returns the bounds of a part of a concatenation, given those of parts of its operands.
fn joined(op: &OpView<'_>, part: Part, of: &mut dyn FnMut(usize, Part) -> Bounds) -> Bounds {
    let along = op.attrs().size("dimension");
    let operands = 0..op.operands().len();
    if let Part::At { dim, mut position } = part
        && along == Some(dim)
    {
        for i in operands {
            let size = op.operand_shape(i)[dim];
            if position < size {
                return of(i, Part::At { dim, position });
            }
            position -= size;
        }
        return UNKNOWN;
    }
    operands.map(|i| of(i, part)).reduce(around).unwrap_or(UNKNOWN)
}

fn around(a: Bounds, b: Bounds) -> Bounds {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn of_literal(literal: &Literal, part: Part) -> Bounds {
    if !literal.dtype().is_integer() || literal.size() > MAX_ELEMENTS || literal.size() == 0 {
        return UNKNOWN;
    }
    let shape = literal.shape();
    let is_inside = |i: &usize| match part {
        Part::All => true,
        Part::At { dim, position } => i / shape[dim + 1..].iter().product::<usize>() % shape[dim] == position,
    };
    let numbers = (0..literal.size()).filter(is_inside).map(|i| literal.get_i128(i));
    numbers.map(|n| [n, n]).reduce(around).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::{Module, text};

    fn is_zero_at(module: &Module, part: Part) -> bool {
        let body = &module.main().unwrap().body;
        let last = module.view(body, *body[body.entry()].ops.last().unwrap());
        is_zero(&last, 0, part)
    }

    #[test]
    fn components_of_clamped_indices() {
        let source = |bound: i32| {
            format!(
                "func.func @main(%i: tensor<4x1xi32>, %j: tensor<4x2xi32>) -> tensor<4x3xi64> {{
  %0 = stablehlo.concatenate %i, %j, dim = 1 : (tensor<4x1xi32>, tensor<4x2xi32>) -> tensor<4x3xi32>
  %c = stablehlo.constant dense<[63, 0, {bound}]> : tensor<3xi32>
  %m = stablehlo.constant dense<100> : tensor<3xi32>
  %1 = stablehlo.minimum %c, %m : tensor<3xi32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xi32>) -> tensor<4x3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
  %4 = stablehlo.clamp %3, %0, %2 : tensor<4x3xi32>
  %5 = stablehlo.convert %4 : (tensor<4x3xi32>) -> tensor<4x3xi64>
  return %5 : tensor<4x3xi64>
}}"
            )
        };
        let at = |bound: i32, dim, position| {
            let module = text::parse("test", &source(bound), &crate::OPS).unwrap();
            is_zero_at(&module, Part::At { dim, position })
        };
        assert!(at(0, 1, 1) && at(0, 1, 2) && !at(0, 1, 0) && !at(0, 0, 0));
        assert!(!at(1, 1, 2) && !at(-1, 1, 2));
    }

    #[test]
    fn parts_of_concatenations() {
        let source = "func.func @main(%i: tensor<2x1xui8>) -> tensor<2x3xui8> {
  %c = stablehlo.constant dense<[[0, 1], [0, 0]]> : tensor<2x2xui8>
  %0 = stablehlo.concatenate %c, %i, dim = 1 : (tensor<2x2xui8>, tensor<2x1xui8>) -> tensor<2x3xui8>
  return %0 : tensor<2x3xui8>
}";
        let module = text::parse("test", source, &crate::OPS).unwrap();
        let at = |position| is_zero_at(&module, Part::At { dim: 1, position });
        assert!(at(0) && !at(1) && !at(2) && !is_zero_at(&module, Part::All));
    }

    #[test]
    fn numbers_that_a_conversion_changes() {
        assert!(fits([-128, 127], DType::I8) && !fits([-129, 0], DType::I8) && !fits([0, 128], DType::I8));
        assert!(fits([0, 255], DType::U8) && !fits([-1, 0], DType::U8) && !fits(UNKNOWN, DType::I64));
        assert!(!fits([0, 0], DType::F32));
    }
}
