//! `stablehlo.compare`.

use crate::Opcode;
use crate::eval::{self, with_element};
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check};
use shardwise_base::{Bool8, Complex32, Complex64, DType, Diagnostic, Diagnostics, Element, Literal, bf16, f16, small};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use std::cmp::Ordering;

/// `compare`, which compares two tensors element by element. Complex numbers are compared in lexicographic order.
pub struct Compare;

fn holds(direction: &str, order: Option<Ordering>) -> bool {
    match direction {
        "EQ" => order == Some(Ordering::Equal),
        "NE" => order != Some(Ordering::Equal),
        "LT" => order == Some(Ordering::Less),
        "LE" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "GT" => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// Elements that can be compared. Floats are compared as numbers or in IEEE's total order (-NaN < -inf < … < -0 < +0 <
/// … < NaN). Other elements have one order. Complex numbers, whose order is lexicographic, have no total order.
trait Comparable: Element {
    fn order(self, other: Self) -> Option<Ordering>;
    fn total_order(self, other: Self) -> Ordering;
}

macro_rules! comparable {
    ($($t:ty: $order:expr, $total:expr;)*) => {$(
        impl Comparable for $t {
            fn order(self, other: $t) -> Option<Ordering> {
                $order(&self, &other)
            }
            fn total_order(self, other: $t) -> Ordering {
                $total(&self, &other)
            }
        }
    )*};
}
comparable! {
    Bool8: Bool8::partial_cmp, Bool8::cmp;
    i8: i8::partial_cmp, i8::cmp;
    i16: i16::partial_cmp, i16::cmp;
    i32: i32::partial_cmp, i32::cmp;
    i64: i64::partial_cmp, i64::cmp;
    u8: u8::partial_cmp, u8::cmp;
    u16: u16::partial_cmp, u16::cmp;
    u32: u32::partial_cmp, u32::cmp;
    u64: u64::partial_cmp, u64::cmp;
    f16: f16::partial_cmp, f16::total_cmp;
    bf16: bf16::partial_cmp, bf16::total_cmp;
    f32: f32::partial_cmp, f32::total_cmp;
    f64: f64::partial_cmp, f64::total_cmp;
    small::I2: small::I2::partial_cmp, small::I2::cmp;
    small::I4: small::I4::partial_cmp, small::I4::cmp;
    small::U2: small::U2::partial_cmp, small::U2::cmp;
    small::U4: small::U4::partial_cmp, small::U4::cmp;
    // Complex numbers are compared in lexicographic order. They have no total order.
    Complex32: |a: &Complex32, b: &Complex32| (a.re, a.im).partial_cmp(&(b.re, b.im)), |_, _| Ordering::Equal;
    Complex64: |a: &Complex64, b: &Complex64| (a.re, a.im).partial_cmp(&(b.re, b.im)), |_, _| Ordering::Equal;
}

/// Implements [`Comparable`] for floats of eight bits and less, which are compared as `f32`s. Each of their NaNs is the
/// same positive NaN there, so that all of them have one place in the total order.
macro_rules! comparable_floats {
    ($($t:ident)*) => {
        comparable! {$(
            small::$t: |a: &small::$t, b: &small::$t| a.to_f32().partial_cmp(&b.to_f32()),
                |a: &small::$t, b: &small::$t| a.to_f32().total_cmp(&b.to_f32());
        )*}
    };
}
comparable_floats! {
    F4E2M1FN F6E2M3FN F6E3M2FN F8E3M4 F8E4M3 F8E4M3FN F8E4M3FNUZ F8E4M3B11FNUZ F8E5M2 F8E5M2FNUZ F8E8M0FNU
}

fn kind_fits(dtype: DType, kind: &str) -> bool {
    use shardwise_base::DTypeKind;
    match dtype.kind() {
        DTypeKind::Bool | DTypeKind::Unsigned => kind == "UNSIGNED",
        DTypeKind::Signed => kind == "SIGNED",
        DTypeKind::Float => kind == "FLOAT" || kind == "TOTALORDER",
        DTypeKind::Complex => kind == "FLOAT",
        DTypeKind::Quantized => false,
    }
}

fn attrs_of(direction: &str, kind: &str) -> Attrs {
    Attrs::new()
        .with("comparison_direction", Attr::stablehlo_enum("comparison_direction", direction))
        .with("compare_type", Attr::stablehlo_enum("comparison_type", kind))
}

/// Returns the comparison kind, the word in the attribute `compare_type`. Returns `None` if the attribute is absent, is
/// not a word, or is `NOTYPE`, which MLIR writes for no kind.
fn kind<'v>(op: &OpView<'v>) -> Option<&'v str> {
    op.attrs().str("compare_type").filter(|&kind| kind != "NOTYPE")
}

fn kind_by_value(dtype: DType) -> &'static str {
    use shardwise_base::DTypeKind;
    match dtype.kind() {
        DTypeKind::Float | DTypeKind::Complex | DTypeKind::Quantized => "FLOAT",
        DTypeKind::Signed => "SIGNED",
        DTypeKind::Unsigned | DTypeKind::Bool => "UNSIGNED",
    }
}

impl Compare {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required(
                "comparison_direction",
                Some("compare_i3"),
                AttrKind::Enum(&Enumeration::stablehlo("comparison_direction", &["EQ", "NE", "GE", "GT", "LE", "LT"])),
            ),
            optional(
                "compare_type",
                Some("compare_i4"),
                AttrKind::Enum(&Enumeration::stablehlo(
                    "comparison_type",
                    &["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "NOTYPE"],
                )),
                "the element type decides",
            ),
        ],
        operands: Operands::Each,
        results: ResultLabels::both("compare_c2"),
        on_quantized: OnQuantized::Computes { which: "compare_i1", alike: "compare_c1" },
        syntax: Syntax::pieces(
            &[DIRECTION, COMMA, Piece::Operand, COMMA, Piece::Operand, Piece::Optional(&[COMMA, COMPARE_TYPE])],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the direction. If the op is verified, this is `EQ`, `NE`, `GE`, `GT`, `LE` or `LT`; otherwise it may be
    /// any word. Returns `None` if the attribute is absent or not a word.
    pub fn direction<'v>(op: &OpView<'v>) -> Option<&'v str> {
        op.attrs().str("comparison_direction")
    }

    /// Returns true if floats are compared in the total order of IEEE 754.
    pub fn is_total_order(op: &OpView<'_>) -> bool {
        kind(op) == Some("TOTALORDER")
    }

    /// Builds the attributes of a comparison of elements of this type, by value.
    pub fn attrs(direction: &str, dtype: DType) -> Attrs {
        attrs_of(direction, kind_by_value(dtype))
    }

    /// Builds the attributes of a comparison of floats by their total order.
    pub fn total_order_attrs(direction: &str) -> Attrs {
        attrs_of(direction, "TOTALORDER")
    }

    /// Changes the attributes of a comparison to compare elements of another type, by value. Attributes without
    /// `compare_type`, with which the element type decides, are unchanged.
    pub fn set_dtype(attrs: &mut Attrs, dtype: DType) {
        if attrs.contains("compare_type") {
            attrs.set("compare_type", Attr::stablehlo_enum("comparison_type", kind_by_value(dtype)));
        }
    }
}

impl Facts for Compare {
    answer!(derivative = zero("its results are booleans"));
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, y] = check::tensors(op)?;
        Check::new(op)
            .that("compare_c1", x.dtype == y.dtype, "both operands must have the same element type")
            .that("compare_c2", x.shape == y.shape, "both operands must have the same shape")
            .that(
                "compare_c3",
                kind(op).is_none_or(|k| kind_fits(x.dtype, k)),
                "`compare_type` must be FLOAT or TOTALORDER for floats, FLOAT for complex numbers, SIGNED for \
                 signed integers, and UNSIGNED for unsigned integers and booleans",
            )
            .give_tensor(DType::I1, x.shape.clone())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let direction = op.attrs().str("comparison_direction").unwrap_or("EQ");
        let is_total = Compare::is_total_order(op);
        let (a, b) = (&x[0], &x[1]);
        Ok(vec![with_element!(a.dtype(), T => match is_total {
            false => eval::zip(a, b, |a: T, b: T| Bool8::from(holds(direction, a.order(b)))),
            true => eval::zip(a, b, |a: T, b: T| Bool8::from(holds(direction, Some(a.total_order(b))))),
        })])
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xi1> {
  %0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}"
    );
}
