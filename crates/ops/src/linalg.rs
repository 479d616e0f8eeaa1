//! `cholesky` and `triangular_solve`. Routines of LAPACK compute them ([`lapack`](crate::lapack)), in 64 bits.

use crate::check::{Check, counted_tensors};
use crate::dot::DotDims;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, lapack, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};

pub struct Cholesky;
pub struct TriangularSolve;

fn is_field(t: &TensorType) -> bool {
    t.dtype.is_float() || t.dtype.is_complex()
}

impl Cholesky {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[optional("lower", Some("cholesky_i2"), AttrKind::Flag, "`false`")],
        operands: Operands::Each,
        results: ResultLabels::both("cholesky_c1"),
        on_quantized: OnQuantized::Computes { which: "cholesky_i1", alike: "cholesky_c1" },
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Optional(&[Piece::Text(", lower = "), Piece::Attr("lower", Written::Bool)])],
            Types::Same,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Cholesky {
    /// Builds `L phi(L^-1 S L^-H)`, where `S` is the tangent of the Hermitian matrix of which one triangle is read, and
    /// `phi` keeps the lower triangle and half of the diagonal. An upper factor is the conjugate transpose of `L`.
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        let is_lower = op.attrs().flag("lower");
        Derivative::by(move |cx| vec![cx.tangents[0].map(|t| factor_tangent(cx.b, cx.results[0], t, is_lower))])
    }
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 0)?[0];
        let n = t.rank();
        let mut check = Check::new(op);
        check.that("cholesky_i1", is_field(t), "the operand must be of floats or complex numbers");
        check.that("cholesky_c2", n >= 2, "the operand must have at least two dimensions").so_far()?;
        check.that("cholesky_c3", t.shape[n - 2] == t.shape[n - 1], "the matrices must be square");
        check.give([t.clone().into()])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shape = op.operand_shape(0);
        let mut rule = RuleBuilder::new([shape.len()], [shape.len()]);
        rule.add_pointwise_with(shape, |dim, size| {
            if dim + 2 < shape.len() { FactorSpec::pass_through(size) } else { FactorSpec::need_replication(size) }
        });
        RuleFact::Rule(rule.build())
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(lapack::evaluate(op, x))
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        let n = op.operand_shape(0).last().copied().unwrap_or(1);
        Cost::streams(op, n as f64 / 3.0)
    }
    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<6x3x3xf32>) -> tensor<6x3x3xf32> {
  %0 = stablehlo.cholesky %arg0, lower = true : tensor<6x3x3xf32>
  return %0 : tensor<6x3x3xf32>
}"
    );
}

/// The form of the system of equations that a `triangular_solve` solves, from the op's attributes.
#[derive(Clone, Copy)]
struct System {
    is_left: bool,
    is_lower: bool,
    is_unit: bool,
    is_transposed: bool,
    is_conjugated: bool,
}

impl System {
    fn of(op: &OpView<'_>) -> Option<System> {
        let transpose = op.attrs().str("transpose_a").unwrap_or("NO_TRANSPOSE");
        ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"].contains(&transpose).then(|| System {
            is_left: op.attrs().flag("left_side"),
            is_lower: op.attrs().flag("lower"),
            is_unit: op.attrs().flag("unit_diagonal"),
            is_transposed: transpose != "NO_TRANSPOSE",
            is_conjugated: transpose == "ADJOINT",
        })
    }

    /// Builds the tangent of the system's matrix from the tangent `a` of the operand: the triangle that is read, with
    /// zeros on a diagonal that counts as ones, conjugated and transposed as the system says.
    fn matrix(self, b: &mut Builder<'_>, a: Value) -> Value {
        let diagonal = if self.is_unit { 0.0 } else { 1.0 };
        let a = weighted_triangle(b, a, self.is_lower, diagonal);
        let a = if self.is_conjugated { conjugate(b, a) } else { a };
        if self.is_transposed { matrix_transpose(b, a) } else { a }
    }

    fn solution(self, b: &mut Builder<'_>, a: Value, sides: Value) -> Value {
        let form = match (self.is_transposed, self.is_conjugated) {
            (false, _) => "NO_TRANSPOSE",
            (true, false) => "TRANSPOSE",
            (true, true) => "ADJOINT",
        };
        let attrs = Attrs::new()
            .with("left_side", Attr::Bool(self.is_left))
            .with("lower", Attr::Bool(self.is_lower))
            .with("transpose_a", Attr::stablehlo_enum("transpose", form))
            .with("unit_diagonal", Attr::Bool(self.is_unit));
        let to = b.body.ty(sides).clone();
        b.value(Opcode::TriangularSolve, [a, sides], attrs, to)
    }
}

pub(crate) fn lapack_system(op: &OpView<'_>) -> Option<lapack::System> {
    let system = System::of(op)?;
    Some(lapack::System {
        is_left: system.is_left,
        triangle: if system.is_lower { lapack::Triangle::Lower } else { lapack::Triangle::Upper },
        form: match (system.is_transposed, system.is_conjugated) {
            (false, _) => lapack::Form::Plain,
            (true, false) => lapack::Form::Transposed,
            (true, true) => lapack::Form::Adjoint,
        },
        is_unit: system.is_unit,
    })
}

/// Builds matrices in which the elements below the diagonal if `is_lower` is true, and otherwise above it, are those of
/// `a`. The elements of the diagonal are those of `a` times `diagonal`, and zero if `diagonal` is 0. The others are
/// zero.
fn weighted_triangle(b: &mut Builder<'_>, a: Value, is_lower: bool, diagonal: f64) -> Value {
    let t = make::type_of(b, a);
    let n = t.rank();
    let positions = TensorType::new(DType::I32, &t.shape[n - 2..]);
    let (row, column) = (make::iota(b, positions.clone(), 0), make::iota(b, positions, 1));
    let is_inside = make::compare(b, if is_lower { "GT" } else { "LT" }, row, column);
    let is_diagonal = make::compare(b, "EQ", row, column);
    let repeat = |b: &mut Builder<'_>, x: Value| make::broadcast_in_dim(b, x, &t.shape, &[n - 2, n - 1]);
    let (is_inside, is_diagonal) = (repeat(b, is_inside), repeat(b, is_diagonal));
    let zeros = make::zeros(b, &t);
    let on_diagonal = match diagonal {
        0.0 => zeros,
        1.0 => a,
        _ => {
            let factor = make::float(b, t.dtype, diagonal);
            let factor = make::broadcast_scalar(b, factor, &t.shape);
            make::multiply(b, a, factor)
        }
    };
    let others = make::select(b, is_diagonal, on_diagonal, zeros);
    make::select(b, is_inside, a, others)
}

fn conjugate(b: &mut Builder<'_>, x: Value) -> Value {
    if make::type_of(b, x).dtype.is_complex() { make::chlo_conj(b, x) } else { x }
}

fn matrix_transpose(b: &mut Builder<'_>, a: Value) -> Value {
    let n = make::type_of(b, a).rank();
    let order: Vec<usize> = (0..n - 2).chain([n - 1, n - 2]).collect();
    make::transpose(b, a, &order)
}

fn matmul(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let t = make::type_of(b, x);
    let n = t.rank();
    let batch: Vec<usize> = (0..n - 2).collect();
    let dims =
        DotDims { lhs_batch: batch.clone(), rhs_batch: batch, lhs_contract: vec![n - 1], rhs_contract: vec![n - 2] };
    make::dot_general(b, x, y, &dims, t.dtype)
}

fn factor_tangent(b: &mut Builder<'_>, factor: Value, tangent: Value, is_lower: bool) -> Value {
    let half = weighted_triangle(b, tangent, is_lower, 0.5);
    let other = matrix_transpose(b, half);
    let other = conjugate(b, other);
    let whole = make::add(b, half, other);
    let plain = System { is_left: false, is_lower, is_unit: false, is_transposed: false, is_conjugated: false };
    let adjoint = System { is_transposed: true, is_conjugated: true, ..plain };
    let [right, left] = if is_lower { [adjoint, plain] } else { [plain, adjoint] };
    let solved = right.solution(b, factor, whole);
    let solved = System { is_left: true, ..left }.solution(b, factor, solved);
    let phi = weighted_triangle(b, solved, is_lower, 0.5);
    if is_lower { matmul(b, factor, phi) } else { matmul(b, phi, factor) }
}

impl TriangularSolve {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional("left_side", Some("triangular_solve_i3"), AttrKind::Flag, "`false`"),
            optional("lower", Some("triangular_solve_i4"), AttrKind::Flag, "`false`"),
            optional("unit_diagonal", Some("triangular_solve_i5"), AttrKind::Flag, "`false`"),
            optional(
                "transpose_a",
                Some("triangular_solve_i6"),
                AttrKind::Enum(&Enumeration::stablehlo("transpose", &["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])),
                "`NO_TRANSPOSE`",
            ),
        ],
        operands: Operands::Each,
        results: ResultLabels::both("triangular_solve_c4"),
        on_quantized: OnQuantized::Computes { which: "triangular_solve_i1", alike: "triangular_solve_c1" },
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for TriangularSolve {
    /// Builds the solution for the right-hand sides `db - op(da) x`, or `db - x op(da)`.
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        let system = System::of(op).expect("verified");
        Derivative::by(move |cx| {
            let (a, x) = (cx.operands[0], cx.results[0]);
            let moved = cx.tangents[0].map(|da| {
                let da = system.matrix(cx.b, da);
                let product = if system.is_left { matmul(cx.b, da, x) } else { matmul(cx.b, x, da) };
                make::negate(cx.b, product)
            });
            let sides = cx.sum([cx.tangents[1], moved]);
            vec![sides.map(|sides| cx.same_op(&[a, sides])[0])]
        })
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let system = System::of(op).expect("verified");
        Transposed::by(move |cx| {
            let (ct, a) = (cx.cotangent(), cx.known(0));
            // No attribute names the transpose of an adjoint, which is the conjugate.
            let a = if system.is_conjugated { conjugate(cx.b, a) } else { a };
            let transposed = System { is_transposed: !system.is_transposed, is_conjugated: false, ..system };
            vec![None, Some(transposed.solution(cx.b, a, ct).into())]
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 2..=2, 0)?;
        let (a, b) = (types[0], types[1]);
        let n = a.rank();
        let mut check = Check::new(op);
        check.that("triangular_solve_i1", is_field(a), "`a` must be of floats or complex numbers");
        check.that("triangular_solve_c1", a.dtype == b.dtype, "both operands must have the same element type");
        check.that("triangular_solve_c2", n >= 2 && n == b.rank(), "both operands must have the same rank, at least 2");
        let system = System::of(op);
        check.that("triangular_solve_i6", system.is_some(), "`transpose_a` must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
        check.so_far()?;
        let side = if system.is_some_and(|s| s.is_left) { n - 2 } else { n - 1 };
        let fits = a.shape[n - 2] == a.shape[n - 1] && a.shape[n - 1] == b.shape[side];
        check.that(
            "triangular_solve_c3",
            fits && a.shape[..n - 2] == b.shape[..n - 2],
            "`a` must consist of square matrices, and `b` must have its batch dimensions and its size along the side that `left_side` selects",
        );
        check.give([b.clone().into()])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        // The right-hand sides are independent of each other.
        RuleFact::Rule(solve_rule(op, FactorSpec::pass_through))
    }
    fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
        RuleFact::Rule(solve_rule(op, FactorSpec::need_replication))
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(lapack::evaluate(op, x))
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        let n = op.operand_shape(0).last().copied().unwrap_or(1);
        Cost::streams(op, n as f64)
    }
    answer!(usual but propagation_rule, eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);
    answer!(linear = In(2));
    answer!(
        example = r#"func.func @main(%arg0: tensor<6x3x3xf32>, %arg1: tensor<6x3x2xf32>) -> tensor<6x3x2xf32> {
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<6x3x3xf32>, tensor<6x3x2xf32>) -> tensor<6x3x2xf32>
  return %0 : tensor<6x3x2xf32>
}"#
    );
}

/// Returns the rule of a triangular solve. `line` returns the factor of the dimension that counts the right-hand sides,
/// from its size.
fn solve_rule(op: &OpView<'_>, line: impl Fn(usize) -> FactorSpec) -> Rule {
    let (a, b) = (op.operand_shape(0), op.operand_shape(1));
    let system = System::of(op).expect("verified");
    let (d1, d2) = (a.len() - 2, a.len() - 1);
    let mut rule = RuleBuilder::new([a.len(), b.len()], [b.len()]);
    rule.add_pointwise(&a[..d1]);
    // `kept` is the dimension of `a` that the result does not have; `contracted` is contracted with the result.
    let (kept, contracted) = if system.is_transposed == system.is_left { (d2, d1) } else { (d1, d2) };
    let (side, free) = if system.is_left { (d1, d2) } else { (d2, d1) };
    let whole = FactorSpec::need_replication;
    let add_kept = |rule: &mut RuleBuilder| {
        rule.add_factor(&[Some(kept), Some(side)], &[None], whole(a[kept]));
    };
    if system.is_left {
        add_kept(&mut rule);
    }
    rule.add_factor(&[None, Some(free)], &[Some(free)], line(b[free]));
    if !system.is_left {
        add_kept(&mut rule);
    }
    rule.add_factor(&[Some(contracted), None], &[Some(side)], whole(a[contracted]));
    rule.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard_test::{module_of, run_split};
    use shardwise_base::Complex64;
    use shardwise_ir::{Attr, Attrs};

    fn run_op(opcode: Opcode, x: &[Literal], attrs: Attrs) -> Literal {
        let module = module_of(x, |module, b, args| {
            crate::build(module, b, opcode, args.iter().copied(), attrs, []).unwrap_or_else(|e| panic!("{e}"))
        });
        run_split(&module, x).swap_remove(0)
    }

    #[test]
    fn cholesky_of_the_specification() {
        let a = Literal::new([2, 3, 3], &[1f32, 2., 3., 2., 20., 26., 3., 26., 70.].repeat(2));
        let lower = run_op(Opcode::Cholesky, std::slice::from_ref(&a), Attrs::new().with("lower", Attr::Bool(true)));
        assert_eq!(lower, Literal::new([2, 3, 3], &[1f32, 0., 0., 2., 4., 0., 3., 5., 6.].repeat(2)));
        let upper = run_op(Opcode::Cholesky, &[a], Attrs::new());
        assert_eq!(upper, Literal::new([2, 3, 3], &[1f32, 2., 3., 0., 4., 5., 0., 0., 6.].repeat(2)));
    }

    #[test]
    fn cholesky_of_complex_matrices() {
        let z = |re, im| Complex64::new(re, im);
        let a = Literal::new([2, 2], &[z(4., 0.), z(2., -2.), z(2., 2.), z(6., 0.)]);
        let lower = run_op(Opcode::Cholesky, std::slice::from_ref(&a), Attrs::new().with("lower", Attr::Bool(true)));
        assert_eq!(lower, Literal::new([2, 2], &[z(2., 0.), z(0., 0.), z(1., 1.), z(2., 0.)]));
        let upper = run_op(Opcode::Cholesky, &[a], Attrs::new());
        assert_eq!(upper, Literal::new([2, 2], &[z(2., 0.), z(1., -1.), z(0., 0.), z(2., 0.)]));
    }

    #[test]
    fn triangular_systems_of_all_kinds() {
        let z = |re: f64, im: f64| Complex64::new(re, im);
        let triangle = |lower: bool, i: usize, j: usize| match (i == j, lower == (i > j)) {
            (true, _) => z(2.0, 0.0),
            (false, true) => z(1.0 + i as f64, j as f64 - 1.0),
            (false, false) => z(0.0, 0.0),
        };
        for code in 0..12 {
            let (left, lower) = (code % 2 == 0, code / 2 % 2 == 0);
            let transpose = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"][code / 4];
            let a = |i: usize, j: usize| match transpose {
                "NO_TRANSPOSE" => triangle(lower, i, j),
                "TRANSPOSE" => triangle(lower, j, i),
                _ => triangle(lower, j, i).conj(),
            };
            let x = |i: usize, j: usize| z(i as f64 + 1.0, 2.0 * j as f64);
            let product = |i: usize, j: usize| -> Complex64 {
                (0..3).map(|k| if left { a(i, k) * x(k, j) } else { x(i, k) * a(k, j) }).sum()
            };
            let matrix = |f: &dyn Fn(usize, usize) -> Complex64| {
                Literal::new([3, 3], &(0..9).map(|p| f(p / 3, p % 3)).collect::<Vec<_>>())
            };
            let attrs = Attrs::new()
                .with("left_side", Attr::Bool(left))
                .with("lower", Attr::Bool(lower))
                .with("unit_diagonal", Attr::Bool(false))
                .with("transpose_a", Attr::stablehlo_enum("transpose", transpose));
            let inputs = [matrix(&|i, j| triangle(lower, i, j)), matrix(&product)];
            assert_eq!(run_op(Opcode::TriangularSolve, &inputs, attrs), matrix(&x), "{left} {lower} {transpose}");
        }
    }
}
