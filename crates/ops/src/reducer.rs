//! Regions that combine two elements: recognising what they compute, and making them.

use crate::{OPS, Opcode, ReduceKind, Semantics, elementwise};
use shardwise_base::{DType, Literal, bf16, f16};
use shardwise_ir::{Attrs, Body, Builder, Module, OpTable, OpView, Region, Type, Value};

impl ReduceKind {
    pub const ALL: [ReduceKind; 6] =
        [ReduceKind::Add, ReduceKind::Mul, ReduceKind::Max, ReduceKind::Min, ReduceKind::And, ReduceKind::Or];

    /// The op that combines two elements.
    pub const fn op_name(self) -> &'static str {
        match self {
            ReduceKind::Add => "stablehlo.add",
            ReduceKind::Mul => "stablehlo.multiply",
            ReduceKind::Max => "stablehlo.maximum",
            ReduceKind::Min => "stablehlo.minimum",
            ReduceKind::And => "stablehlo.and",
            ReduceKind::Or => "stablehlo.or",
        }
    }

    /// As `sdy.all_reduce` writes it: `sum`, `max`, …
    pub const fn name(self) -> &'static str {
        match self {
            ReduceKind::Add => "sum",
            ReduceKind::Mul => "prod",
            ReduceKind::Max => "max",
            ReduceKind::Min => "min",
            ReduceKind::And => "and",
            ReduceKind::Or => "or",
        }
    }

    /// The op that combines two arrays.
    pub fn opcode(self) -> Opcode {
        Opcode::of(OPS.find(self.op_name()).expect("the table has the ops that reduce"))
    }

    /// Whether taking an element twice changes nothing.
    pub fn is_idempotent(self) -> bool {
        !matches!(self, ReduceKind::Add | ReduceKind::Mul)
    }

    /// Combines two arrays of one type element by element; `None` if the reducer does not exist on this type.
    pub fn apply(self, x: &Literal, y: &Literal) -> Option<Literal> {
        let binary = match self {
            ReduceKind::Add => &elementwise::ADD,
            ReduceKind::Mul => &elementwise::MULTIPLY,
            ReduceKind::Max => &elementwise::MAXIMUM,
            ReduceKind::Min => &elementwise::MINIMUM,
            ReduceKind::And => &elementwise::AND,
            ReduceKind::Or => &elementwise::OR,
        };
        binary.apply(x, y)
    }

    pub fn parse(name: &str) -> Option<ReduceKind> {
        ReduceKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The element that changes nothing: 0, 1, the least, the greatest, all bits, none.
    pub fn identity(self, dtype: DType) -> Literal {
        match self {
            ReduceKind::Add | ReduceKind::Or => Literal::zeros(dtype, vec![]),
            ReduceKind::Mul => one(dtype),
            ReduceKind::Max => least(dtype),
            ReduceKind::Min => greatest(dtype),
            ReduceKind::And => Literal::splat(dtype, vec![], &all_bits(dtype)),
        }
    }
}

fn all_bits(dtype: DType) -> Vec<u8> {
    if dtype.is_bool() { vec![1] } else { vec![0xff; dtype.storage_bytes()] }
}

fn one(dtype: DType) -> Literal {
    use shardwise_base::{Complex32, Complex64};
    let bytes: Vec<u8> = match dtype {
        DType::F64 => 1f64.to_le_bytes().into(),
        DType::F32 => 1f32.to_le_bytes().into(),
        DType::F16 => f16::ONE.to_le_bytes().into(),
        DType::BF16 => bf16::ONE.to_le_bytes().into(),
        DType::C64 => return Literal::scalar(Complex32::new(1.0, 0.0)),
        DType::C128 => return Literal::scalar(Complex64::new(1.0, 0.0)),
        _ => std::iter::once(1).chain(std::iter::repeat_n(0, dtype.storage_bytes() - 1)).collect(),
    };
    Literal::splat(dtype, vec![], &bytes)
}

/// Minus infinity, or the least integer.
fn least(dtype: DType) -> Literal {
    match dtype {
        DType::F64 => Literal::scalar(f64::NEG_INFINITY),
        DType::F32 => Literal::scalar(f32::NEG_INFINITY),
        DType::F16 => Literal::scalar(f16::NEG_INFINITY),
        DType::BF16 => Literal::scalar(bf16::NEG_INFINITY),
        d if d.is_signed() => {
            let mut bytes = vec![0; d.storage_bytes()];
            *bytes.last_mut().expect("a type has bytes") = 0x80;
            Literal::splat(d, vec![], &bytes)
        }
        d => Literal::zeros(d, vec![]),
    }
}

/// Infinity, or the greatest integer.
fn greatest(dtype: DType) -> Literal {
    match dtype {
        DType::F64 => Literal::scalar(f64::INFINITY),
        DType::F32 => Literal::scalar(f32::INFINITY),
        DType::F16 => Literal::scalar(f16::INFINITY),
        DType::BF16 => Literal::scalar(bf16::INFINITY),
        d => {
            let mut bytes = all_bits(d);
            if d.is_signed() {
                *bytes.last_mut().expect("a type has bytes") = 0x7f;
            }
            Literal::splat(d, vec![], &bytes)
        }
    }
}

/// What a region with two arguments combines them by, if it is one of the kinds that have a name.
pub fn reduce_kind(module: &Module, body: &Body, region: Region) -> Option<ReduceKind> {
    let args = &body[region].args;
    (args.len() == 2).then(|| reduce_kind_of(module, body, region, 0))?
}

/// What combines the arguments `index` and `n + index` of a reducer with `2n` arguments into its result `index`.
pub fn reduce_kind_of(module: &Module, body: &Body, region: Region, index: usize) -> Option<ReduceKind> {
    let args = &body[region].args;
    let n = args.len() / 2;
    let result = *body.region_results(region).get(index)?;
    let op = module.view(body, body.def_op(through_marks(module, body, result))?);
    if op.operands().len() != 2 {
        return None;
    }
    let operands = [0, 1].map(|i| through_marks(module, body, op.operand(i)));
    let (a, b) = (*args.get(index)?, *args.get(n + index)?);
    let uses_both = operands == [a, b] || operands == [b, a];
    ReduceKind::ALL.into_iter().find(|k| uses_both && k.op_name() == op.name())
}

/// The value that `v` is, past ops that only mark it.
fn through_marks(module: &Module, body: &Body, mut v: Value) -> Value {
    while let Some(op) = body.def_op(v) {
        let view = module.view(body, op);
        if Opcode::of_view(&view).facts().semantics(&view) != Semantics::Identity || view.operands().is_empty() {
            break;
        }
        v = view.operand(0);
    }
    v
}

/// The reducer of an op that has one region.
pub fn reduce_kind_of_op(op: &OpView<'_>) -> Option<ReduceKind> {
    reduce_kind(op.module, op.body, *op.regions().first()?)
}

/// A region that combines two scalars.
pub fn reduction_region(builder: &mut Builder<'_>, kind: ReduceKind, dtype: DType) -> Region {
    let ty = Type::tensor(dtype, vec![]);
    let code = OPS.find(kind.op_name()).expect("the table has the ops that reduce");
    builder.region(&[ty.clone(), ty.clone()], |b, args| {
        let result = b.value(code, args.iter().copied(), Attrs::new(), ty.clone());
        b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{self, Number};

    #[test]
    fn identities_change_nothing() {
        for kind in ReduceKind::ALL {
            for &dtype in DType::ALL.iter().filter(|d| d.is_computed()) {
                for n in [0, 1, 5, 100] {
                    let x = eval::fill(dtype, &[], |_| Number::Signed(n)).unwrap();
                    if let Some(y) = kind.apply(&x, &kind.identity(dtype)).filter(|_| !dtype.is_complex()) {
                        assert_eq!(y, x, "{kind:?} on {dtype}");
                    }
                }
            }
        }
    }
}
