//! `map`, a computation on each element, and `get_dimension_size`.

use crate::Opcode;
use crate::check::{self, Check, MANY, counted_tensors, types_of};
use crate::facts::*;
use crate::make;
use crate::schema::*;
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_ir::{Attr, OpView, Type, Value};

pub struct Map;
pub struct GetDimensionSize;

impl Map {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[optional("dimensions", Some("map_i2"), AttrKind::Ints, "all dimensions")],
        operands: Operands::List,
        results: ResultLabels::both("map_c4"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Map {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::expanded(|cx| cx.each(cx.op.regions()[0], cx.operands))
    }
    answer!(transpose = none("it is not linear"));
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        let all: Vec<usize> = (0..=op.result_shape(0).len()).collect();
        Batched::Leading(op.attrs().clone().with("dimensions", Attr::sizes(&all)))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 1)?;
        let region = op.regions()[0];
        let scalars: Vec<Type> = types.iter().map(|t| Type::tensor(t.dtype, vec![])).collect();
        let gives = types_of(op, op.body.region_results(region));
        let element = gives.first().and_then(Type::as_tensor).filter(|t| t.rank() == 0 && gives.len() == 1);
        let takes = types_of(op, &op.body[region].args) == scalars;
        let all: Vec<usize> = (0..types[0].rank()).collect();
        let mut check = Check::new(op);
        check
            .that("map_c1", types.iter().all(|t| t.shape == types[0].shape), "all inputs must have the same shape")
            .that(
                "map_c3",
                check::sizes_or(op, "dimensions", all.clone())? == all,
                "`dimensions` must be all dimensions of the operands, in order",
            )
            .that(
                "map_c4",
                takes && element.is_some(),
                "the computation must take a scalar of each input's type, and return one scalar",
            )
            .so_far()?;
        check.give(element.map(|t| Type::tensor(t.dtype, types[0].shape.to_vec())))
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let t = op.result_tensor(0);
        let mut out = LiteralWriter::new(t.dtype, &t.shape);
        for i in 0..t.size() {
            let result = regions.region(op.regions()[0], x.iter().map(|x| x.element(i)).collect())?;
            out.push(result[0].element_bytes(0));
        }
        Ok(vec![out.finish()])
    }
    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(linear = No);
    answer!(
        example = r#"func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%arg1: tensor<f32>):
    %1 = stablehlo.add %arg1, %arg1 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}"#
    );
}

/// Returns the size of the dimension that the attribute `dimension` names.
fn dimension_size(op: &OpView<'_>) -> usize {
    op.operand_shape(0)[op.attrs().size("dimension").expect("verified")]
}

impl GetDimensionSize {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("dimension", Some("get_dimension_size_i2"), AttrKind::Int(DType::I64))],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(", dim = "), Piece::Attr("dimension", Written::Int(DType::I64))],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for GetDimensionSize {
    answer!(calculus = none("sizes are constants"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 0)?[0];
        let dim = check::size(op, "dimension")?;
        Check::new(op)
            .that("get_dimension_size_c1", dim < t.rank(), "`dimension` must be a dimension of the operand")
            .give_tensor(DType::I32, vec![])
    }
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let size = dimension_size(&cx.op);
        Ok(vec![make::number(cx.builder, DType::I32, size as i64)])
    }
    fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![Literal::scalar(dimension_size(op) as i32)])
    }
    answer!(usual);
    answer!(pure);
    answer!(rule = none("its result is a constant"));
    answer!(class = Other);
    answer!(combine = none);
    answer!(cost = streams(0.0));
    answer!(linear = No);
    answer!(explicit = by_rule);
    answer!(
        example = "func.func @main(%arg0: tensor<4x2xf32>) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<4x2xf32>) -> tensor<i32>
  return %0 : tensor<i32>
}"
    );
}
