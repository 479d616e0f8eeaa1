//! `stablehlo.iota`: each element is its own index along one dimension.

use crate::facts::*;
use crate::make_collective::position_dtype;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, TensorType, Type, Value};

pub struct Iota;

impl Iota {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("iota_dimension", Some("iota_i1"), AttrKind::Int(DType::I64))],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Computes { which: "iota_i1", alike: "iota_c1" },
        syntax: Syntax::pieces(
            &[Piece::Text(" dim = "), Piece::Attr("iota_dimension", Written::Int(DType::I64))],
            Types::Result,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the dimension along which the numbers increase. Returns `None` if the attribute is missing or broken.
    pub fn dim(op: &OpView<'_>) -> Option<usize> {
        op.attrs().size("iota_dimension")
    }

    /// Builds the attributes of an iota.
    pub fn attrs(dim: usize) -> Attrs {
        Attrs::new().with("iota_dimension", Attr::int(dim as i64))
    }
}

impl Facts for Iota {
    answer!(calculus = none("it has no operands"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [] = check::tensors(op)?;
        let (to, dim) = (check::declared(op)?, check::size(op, "iota_dimension")?);
        Check::new(op)
            .that("iota_i1", !to.dtype.is_bool(), "the elements of the result must not be booleans")
            .that("iota_c1", dim < to.rank(), "`iota_dimension` must be a dimension of the result")
            .give([to.clone().into()])
    }

    fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (to, dim) = (op.result_tensor(0), op.attrs().size("iota_dimension").expect("verified"));
        let stride: usize = to.shape[dim + 1..].iter().product();
        let index = |i: usize| eval::Number::Unsigned((i / stride % to.shape[dim]) as u64);
        Ok(vec![eval::fill(to.dtype, &to.shape, index)])
    }

    /// Builds an `iota` of the local shape. If the dimension of the numbers is split, adds the start of the device's
    /// block to integers, so that the numbers are rounded once.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let dim = cx.op.attrs().size("iota_dimension").expect("verified");
        let sharding = cx.result_shardings[0].clone();
        let Some((s, axes)) = sharding.as_ref().map(|s| (s, &s.dims[dim].axes)).filter(|(_, axes)| !axes.is_empty())
        else {
            return Ok(cx.same_op());
        };
        let Some(local) = cx.result_types[0].as_tensor().cloned() else { return Ok(cx.same_op()) };
        let b = &mut *cx.builder;
        let integer = index_dtype(local.dtype, cx.op.result_shape(0)[dim]);
        let start = make::block_start(b, &s.mesh, axes, local.shape[dim], integer);
        let indices = make::iota(b, TensorType::new(integer, local.shape.clone()), dim);
        let start = make::broadcast_scalar(b, start, &local.shape);
        let shifted = make::add(b, indices, start);
        Ok(vec![make::convert(b, shifted, local.dtype)])
    }

    answer!(usual but constness);
    answer!(constness = Literal);
    answer!(pure);
    answer!(rule = none("an iota has no operands"));
    answer!(class = Other);
    answer!(combine = none);
    answer!(cost = streams(0.0));
    answer!(linear = No);
    answer!(explicit = not("an iota has the sharding that its users ask for"));
    answer!(
        example = "func.func @main() -> tensor<2x3xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}"
    );
}

fn index_dtype(dtype: DType, size: usize) -> DType {
    match dtype {
        DType::I32 | DType::I64 | DType::U32 | DType::U64 => dtype,
        _ => position_dtype(size),
    }
}
