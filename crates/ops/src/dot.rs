//! `stablehlo.dot_general` and `stablehlo.dot`: products summed over contracted dimensions.
//!
//! Products are added one after the other, starting from zero, over the contracted dimensions in the order in which the
//! attributes list them, row-major. Sums of floats are computed in `f64` if an operand or the result is of type f64,
//! and in `f32` otherwise. Sums of complex numbers are computed in `complex<f64>`. The complete sums are rounded to the
//! type of the result. Sums of integers wrap.

use crate::batch::BatchCx;
use crate::derivative::CotangentCx;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, eval::Numeric, make};
use shardwise_base::budget::Meter;
use shardwise_base::{Bool8, Complex64, DType, DTypeKind, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub(crate) const DOT_DIMENSION_NUMBERS: AttrKind = AttrKind::Record(
    "stablehlo.dot",
    "`stablehlo.dot {lhs_batching_dimensions?, rhs_batching_dimensions?, lhs_contracting_dimensions?, \
     rhs_contracting_dimensions?: integers}`",
);

const DOT_ALGORITHM: AttrKind = AttrKind::Record(
    "stablehlo.dot_algorithm",
    "`stablehlo.dot_algorithm {lhs_precision_type, rhs_precision_type, accumulation_type: element type; \
     lhs_component_count, rhs_component_count, num_primitive_operations: integer; \
     allow_imprecise_accumulation: boolean}`",
);

/// `dot_general`, in which any dimensions may be batch dimensions or contracted.
pub struct DotGeneral;

/// `dot` of vectors and matrices: contracts the last dimension of the first operand with the first dimension of the
/// second.
pub struct Dot;

/// The pairs of dimensions of the two operands that are batch dimensions or contracted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DotDims {
    pub lhs_batch: Vec<usize>,
    pub rhs_batch: Vec<usize>,
    pub lhs_contract: Vec<usize>,
    pub rhs_contract: Vec<usize>,
}

impl DotDims {
    /// Reads the dimensions of a `dot_general` or `dot`. Returns `None` for a `dot` whose first operand is a scalar,
    /// and for any other op whose attribute `dot_dimension_numbers` is missing or broken.
    pub fn of(op: &OpView<'_>) -> Option<DotDims> {
        if Opcode::of_view(op) == Opcode::Dot {
            let rank = op.operand_shape(0).len();
            return Some(DotDims {
                lhs_contract: vec![rank.checked_sub(1)?],
                rhs_contract: vec![0],
                ..DotDims::default()
            });
        }
        let fields = op.attr("dot_dimension_numbers").and_then(Attr::as_record)?;
        // An empty list may be left out in text.
        let list = |name| fields.get(name).map_or(Some(vec![]), Attr::to_sizes);
        Some(DotDims {
            lhs_batch: list("lhs_batching_dimensions")?,
            rhs_batch: list("rhs_batching_dimensions")?,
            lhs_contract: list("lhs_contracting_dimensions")?,
            rhs_contract: list("rhs_contracting_dimensions")?,
        })
    }

    /// Returns the attribute `dot_dimension_numbers`.
    pub fn to_attr(&self) -> Attr {
        let fields = [
            ("lhs_batching_dimensions", &self.lhs_batch),
            ("rhs_batching_dimensions", &self.rhs_batch),
            ("lhs_contracting_dimensions", &self.lhs_contract),
            ("rhs_contracting_dimensions", &self.rhs_contract),
        ];
        // Empty lists are left out, as in text.
        let fields: Attrs = fields
            .into_iter()
            .filter(|(_, dims)| !dims.is_empty())
            .map(|(name, dims)| (name, Attr::sizes(dims)))
            .collect();
        Attr::Record { name: "stablehlo.dot".into(), fields }
    }

    /// Returns the dimensions of the left operand, of this rank, that are neither batch dimensions nor contracted. In
    /// the result, they come after the batch dimensions.
    pub fn lhs_free(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|d| !self.lhs_batch.contains(d) && !self.lhs_contract.contains(d)).collect()
    }

    /// Returns the dimensions of the right operand, of this rank, that are neither batch dimensions nor contracted. In
    /// the result, they come last.
    pub fn rhs_free(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|d| !self.rhs_batch.contains(d) && !self.rhs_contract.contains(d)).collect()
    }

    /// Returns the shape of the result: the batch dimensions, then the left operand's free ones, then the right
    /// operand's.
    pub fn result_shape(&self, lhs: &[usize], rhs: &[usize]) -> Vec<usize> {
        let left = self.lhs_batch.iter().copied().chain(self.lhs_free(lhs.len())).map(|d| lhs[d]);
        left.chain(self.rhs_free(rhs.len()).into_iter().map(|d| rhs[d])).collect()
    }
}

/// Returns true for a `dot` or `dot_general` whose contracted dimensions all have size 1, or that has none: an element
/// of the result is the product of an element of each operand.
pub fn has_no_sum(op: &OpView<'_>) -> bool {
    DotDims::of(op).is_some_and(|dims| dims.lhs_contract.iter().all(|&d| op.operand_shape(0)[d] == 1))
}

/// Returns the attribute with the precisions of a product for the product of its cotangent and operand `1 - i`: the
/// cotangent has the precision of operand `i`.
fn precision(op: &OpView<'_>, i: usize) -> Attrs {
    const NAME: &str = "precision_config";
    match op.attr(NAME) {
        Some(Attr::Array(of)) if i == 1 => Attrs::new().with(NAME, Attr::Array(of.iter().rev().cloned().collect())),
        Some(attr) => Attrs::new().with(NAME, attr.clone()),
        None => Attrs::new(),
    }
}

impl DotDims {
    /// Returns the cotangent of operand `i`: the product of the result's cotangent and the other operand, summed over
    /// the other operand's free dimensions, with its dimensions in the order of the operand.
    fn transposed(&self, cx: &mut CotangentCx<'_, '_, '_>, i: usize) -> Value {
        let [lhs_rank, rhs_rank] = [0, 1].map(|i| cx.operand_tensor(i).rank());
        let (batch, left, right) = (self.lhs_batch.len(), self.lhs_free(lhs_rank), self.rhs_free(rhs_rank));
        let in_result = |from: usize, dims: &[usize]| (from..from + dims.len()).collect::<Vec<_>>();
        let (own, other) = if i == 0 { (self, &right) } else { (self, &left) };
        let [own_batch, own_contract, own_free, other_batch, other_contract] = match i {
            0 => [&own.lhs_batch, &own.lhs_contract, &left, &own.rhs_batch, &own.rhs_contract],
            _ => [&own.rhs_batch, &own.rhs_contract, &right, &own.lhs_batch, &own.lhs_contract],
        };
        let summed = in_result(if i == 0 { batch + left.len() } else { batch }, other);
        let product = DotDims {
            lhs_batch: (0..batch).collect(),
            rhs_batch: other_batch.clone(),
            lhs_contract: summed,
            rhs_contract: other.clone(),
        };
        let (ct, known) = (cx.cotangent(), cx.known(1 - i));
        let to = cx.operand_tensor(i);
        let value = make::dot_general_with(cx.b, precision(&cx.op, i), [ct, known], &product, to.dtype);
        // The product has the batch dimensions, the operand's free dimensions, and the other operand's contracted
        // dimensions in their order.
        let mut contracted: Vec<usize> = (0..other_contract.len()).collect();
        contracted.sort_by_key(|&k| other_contract[k]);
        let contracted = contracted.into_iter().map(|k| own_contract[k]);
        let order: Vec<usize> = own_batch.iter().copied().chain(own_free.iter().copied()).chain(contracted).collect();
        // The cotangent has the layout of the operand, which decides where the sum over devices is taken.
        let layout = cx.op.operand_sharding(i).map(|s| {
            let dims = order.iter().map(|&d| s.dims[d].clone()).collect();
            s.clone().with_dims(dims)
        });
        cx.b.set_sharding(value, layout);
        let mut permutation: Vec<usize> = (0..order.len()).collect();
        permutation.sort_by_key(|&p| order[p]);
        if permutation.is_sorted() { value } else { make::transpose(cx.b, value, &permutation) }
    }
}

/// Builds a batch of products. If only one operand is mapped, the new dimension is free in it.
fn batch(cx: &mut BatchCx<'_, '_, '_>) -> Value {
    let dims = DotDims::of(&cx.op).expect("verified");
    let lhs_free = dims.lhs_free(cx.op.operand_shape(0).len()).len();
    let at = |is_mapped: bool, dims: &[usize]| if is_mapped { further(dims) } else { dims.to_vec() };
    let [left, right] = [cx.mapped[0], cx.mapped[1]];
    let mut own = DotDims {
        lhs_batch: at(left, &dims.lhs_batch),
        rhs_batch: at(right, &dims.rhs_batch),
        lhs_contract: at(left, &dims.lhs_contract),
        rhs_contract: at(right, &dims.rhs_contract),
    };
    if left && right {
        own.lhs_batch.insert(0, 0);
        own.rhs_batch.insert(0, 0);
    }
    let dtype = cx.op.result_tensor(0).dtype;
    let value = make::dot_general_like(cx.b, &cx.op, cx.operands[0], cx.operands[1], &own, dtype);
    let place = match (left, right) {
        (true, true) => 0,
        (true, false) => dims.lhs_batch.len(),
        _ => dims.lhs_batch.len() + lhs_free,
    };
    make::move_to_front(cx.b, value, place)
}

fn sizes(shape: &[usize], dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|&d| shape[d]).collect()
}

/// Returns [`Linear::Each`], or [`Linear::No`] if the product converts integers or booleans to another type, or other
/// numbers to integers or booleans. The summands of a number that wraps around do not wrap in another type, and the
/// fractions of summands may add up to an integer.
pub(crate) fn linear_product(op: &OpView<'_>) -> Linear {
    let to = op.result_tensor(0).dtype;
    let is_exact = |dtype: DType| !dtype.is_float() && !dtype.is_complex();
    let is_converted = |dtype: DType| dtype != to && (is_exact(dtype) || is_exact(to));
    if (0..2).any(|i| is_converted(op.operand_tensor(i).dtype)) { Linear::No } else { Linear::Each }
}

fn infer_general(op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
    let [x, y] = check::tensors(op)?;
    let dims = DotDims::of(op).ok_or_else(|| {
        check::bad_attribute(op, "dot_dimension_numbers", "lists of batching and contracting dimensions")
    })?;
    let mut c = Check::new(op);
    check_dims(&mut c, &dims, x, y)?;
    check_algorithm(&mut c, op);
    c.that(
        "dot_general_c9",
        sizes(&x.shape, &dims.lhs_batch) == sizes(&y.shape, &dims.rhs_batch),
        "the batching dimensions of both operands must have equal sizes",
    )
    .that(
        "dot_general_c10",
        sizes(&x.shape, &dims.lhs_contract) == sizes(&y.shape, &dims.rhs_contract),
        "the contracting dimensions of both operands must have equal sizes",
    )
    .that("dot_general_c11", check::precision_fits(op), check::PRECISION_RULE)
    .that("dot_general_c13", check::may_multiply(x.dtype, y.dtype), check::MULTIPLY_RULE)
    .that("dot_general_c13", check::yields_product(op, x.dtype), check::PRODUCT_RULE)
    .so_far()?;
    let shape = dims.result_shape(&x.shape, &y.shape);
    let rule = format!(
        "the result must have the shape {shape:?}: the batching dimensions, then the free ones of the left operand, \
         then those of the right one"
    );
    c.that("dot_general_c12", check::declared(op).map_or(true, |t| t.shape == shape), &rule)
        .give_tensor(check::declared_dtype(op, x.dtype), shape)
}

fn check_algorithm(c: &mut Check<'_, '_>, op: &OpView<'_>) {
    let Some(algorithm) = op.attr("algorithm").and_then(Attr::as_record) else { return };
    let is_default = match op.attr("precision_config") {
        Some(Attr::Array(items)) => items.iter().all(|a| a.as_str() == Some("DEFAULT")),
        Some(one) => one.as_str() == Some("DEFAULT"),
        None => true,
    };
    let counts = |name: &str| algorithm.int(name).is_none_or(|n| n > 0);
    c.that(
        "dot_general_c21",
        is_default,
        "if `algorithm` is given, each precision in `precision_config` must be DEFAULT",
    )
    .that("dot_general_c22", counts("lhs_component_count"), "`lhs_component_count` must be positive")
    .that("dot_general_c23", counts("rhs_component_count"), "`rhs_component_count` must be positive")
    .that("dot_general_c24", counts("num_primitive_operations"), "`num_primitive_operations` must be positive");
}

fn check_dims(c: &mut Check<'_, '_>, dims: &DotDims, x: &TensorType, y: &TensorType) -> Result<(), Diagnostics> {
    let lhs = [&dims.lhs_batch[..], &dims.lhs_contract].concat();
    let rhs = [&dims.rhs_batch[..], &dims.rhs_contract].concat();
    c.that(
        "dot_general_c1",
        dims.lhs_batch.len() == dims.rhs_batch.len(),
        "both operands must have the same number of batching dimensions",
    )
    .that(
        "dot_general_c2",
        dims.lhs_contract.len() == dims.rhs_contract.len(),
        "both operands must have the same number of contracting dimensions",
    )
    .that(
        "dot_general_c3",
        check::is_unique(&lhs),
        "the left operand's batching and contracting dimensions must all be different",
    )
    .that(
        "dot_general_c4",
        check::is_unique(&rhs),
        "the right operand's batching and contracting dimensions must all be different",
    )
    .that(
        "dot_general_c5",
        check::are_dims(&dims.lhs_batch, x.rank()),
        "left batching dimensions must be dimensions of the left operand",
    )
    .that(
        "dot_general_c6",
        check::are_dims(&dims.lhs_contract, x.rank()),
        "left contracting dimensions must be dimensions of the left operand",
    )
    .that(
        "dot_general_c7",
        check::are_dims(&dims.rhs_batch, y.rank()),
        "right batching dimensions must be dimensions of the right operand",
    )
    .that(
        "dot_general_c8",
        check::are_dims(&dims.rhs_contract, y.rank()),
        "right contracting dimensions must be dimensions of the right operand",
    )
    .so_far()
}

fn infer_matrix(op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
    let [x, y] = check::tensors(op)?;
    let mut c = Check::new(op);
    let is_matrix = |t: &TensorType| t.rank() == 1 || t.rank() == 2;
    c.that("dot_c1", check::may_multiply(x.dtype, y.dtype), check::MULTIPLY_RULE)
        .that("dot_c1", check::yields_product(op, x.dtype), check::PRODUCT_RULE)
        .that("dot_c2", is_matrix(x) && is_matrix(y), "the operands must be vectors or matrices")
        .so_far()?;
    let dims = DotDims { lhs_contract: vec![x.rank() - 1], rhs_contract: vec![0], ..DotDims::default() };
    c.that(
        "dot_c3",
        x.shape[x.rank() - 1] == y.shape[0],
        "the last dimension of the left operand must have the size of the first dimension of the right one",
    )
    .give_tensor(check::declared_dtype(op, x.dtype), dims.result_shape(&x.shape, &y.shape))
}

/// Returns the rule with its factors in Shardy's order: batch dimensions, free dimensions of the left operand, of the
/// right operand, contracted dimensions.
fn dot_rule(op: &OpView<'_>) -> RuleFact {
    let (x, y, z) = (op.operand_shape(0), op.operand_shape(1), op.result_shape(0));
    let dims = DotDims::of(op).expect("verified");
    let mut rule = RuleBuilder::new([x.len(), y.len()], [z.len()]);
    let mut result = 0..z.len();
    for (&l, &r) in dims.lhs_batch.iter().zip(&dims.rhs_batch) {
        rule.add_factor(&[Some(l), Some(r)], &[result.next()], FactorSpec::pass_through(x[l]));
    }
    for l in dims.lhs_free(x.len()) {
        rule.add_factor(&[Some(l), None], &[result.next()], FactorSpec::pass_through(x[l]));
    }
    for r in dims.rhs_free(y.len()) {
        rule.add_factor(&[None, Some(r)], &[result.next()], FactorSpec::pass_through(y[r]));
    }
    for (&l, &r) in dims.lhs_contract.iter().zip(&dims.rhs_contract) {
        rule.add_factor(&[Some(l), Some(r)], &[None], FactorSpec::reduction(x[l]));
    }
    RuleFact::Rule(rule.build())
}

fn dot_cost(op: &OpView<'_>) -> Cost {
    let dims = DotDims::of(op).expect("verified");
    let contracted: usize = sizes(op.operand_shape(0), &dims.lhs_contract).iter().product();
    Cost::streams(op, 2.0 * contracted as f64)
}

fn dot_eval(op: &OpView<'_>, x: &[Literal]) -> Result<Vec<Literal>, EvalError> {
    let dims = DotDims::of(op).expect("verified");
    Ok(vec![dot(&x[0], &x[1], &dims, op.result_tensor(0))])
}

/// Returns the zero of an operand's element type, or `None` if the type has none.
pub(crate) fn zero_of(op: &OpView<'_>, operand: usize) -> Option<Literal> {
    let dtype = op.operand_tensor(operand).dtype;
    dtype.has_zero().then(|| Literal::zeros(dtype, vec![]))
}

macro_rules! dot_facts {
    () => {
        fn rule(&self, op: &OpView<'_>) -> RuleFact {
            dot_rule(op)
        }
        fn combine(&self, _: &OpView<'_>) -> Combine {
            Combine::With(ReduceKind::Add)
        }
        /// Returns zero for both operands: if one were not zero, zero times its padding could be NaN. Returns `None` if
        /// the operand's type has no zero.
        fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal> {
            zero_of(op, index)
        }
        fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
            dot_eval(op, x)
        }
        fn cost(&self, op: &OpView<'_>) -> Cost {
            dot_cost(op)
        }
        fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
            ExplicitPolicy::AskSums(
                "a contracted dimension that is sharded alike on both sides leaves a sum to be taken",
            )
        }
        fn partial_result(&self, _: &OpView<'_>) -> PartialResult {
            PartialResult::OfSlices { once: 0..0 }
        }
        answer!(movement = none);
        answer!(read_through = none);
        answer!(pure);
        answer!(forwards = none);
        answer!(enlarged = by_types);
        answer!(splits = Anywhere);
        answer!(propagation_rule = as_rule);
        answer!(constness = by_class);
        answer!(number = none);
        answer!(reducer = none);
        answer!(eval_copies = true);
        answer!(class = Other);
        answer!(localize = same_op);
        fn linear(&self, op: &OpView<'_>) -> Linear {
            linear_product(op)
        }
        answer!(derivative = linear);
        fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
            Transposed::by(|cx| {
                let dims = DotDims::of(&cx.op).expect("verified");
                let side =
                    |cx: &mut CotangentCx<'_, '_, '_>, i: usize| cx.is_linear(i).then(|| dims.transposed(cx, i).into());
                vec![side(cx, 0), side(cx, 1)]
            })
        }
        fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
            Batched::by("its batch and free dimensions are lists", |cx| Ok(vec![batch(cx)]))
        }
    };
}

impl DotGeneral {
    const QUANTIZED: QuantizedProduct = QuantizedProduct {
        lhs: "dot_general_i1",
        which: "dot_general_c14",
        zero_points: Some("dot_general_c15"),
        axis: "dot_general_c16",
        // Dimension numbers that cannot be read are reported by the op's own checks.
        fits_axis: |op, dim| !DotDims::of(op).is_some_and(|dims| dims.rhs_contract.contains(&dim)),
        storage: "dot_general_c17",
        expressed: "dot_general_c18",
        per_tensor: "dot_general_c19",
        result_axis: None,
        hybrid: "dot_general_c20",
    };

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("dot_dimension_numbers", Some("dot_general_i3"), DOT_DIMENSION_NUMBERS),
            optional("precision_config", Some("dot_general_i7"), PRECISIONS, "every entry is `DEFAULT`"),
            optional(
                "algorithm",
                Some("dot_general_i8"),
                DOT_ALGORITHM,
                "any that is as precise as `precision_config` asks",
            ),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("dot_general_c12", "dot_general_c13"),
        on_quantized: OnQuantized::Multiplies(&Self::QUANTIZED),
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::Operand,
                COMMA,
                DOT_DIMENSIONS,
                PRECISION,
                Piece::Optional(&[
                    Piece::Text(", algorithm = "),
                    Piece::Attr("algorithm", Written::Record("stablehlo.dot_algorithm")),
                ]),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Builds the attributes of a dot with these dimension numbers.
    pub fn attrs(dims: &DotDims) -> Attrs {
        Attrs::new().with("dot_dimension_numbers", dims.to_attr())
    }
}

impl Facts for DotGeneral {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        infer_general(op)
    }
    dot_facts!();
    answer!(example = "func.func @main(%arg0: tensor<4x2x3xf32>, %arg1: tensor<4x3x5xf32>) -> tensor<4x2x5xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x2x3xf32>, tensor<4x3x5xf32>) -> tensor<4x2x5xf32>
  return %0 : tensor<4x2x5xf32>
}");
}

impl Dot {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[optional("precision_config", None, PRECISIONS, "every entry is `DEFAULT`")],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand, PRECISION], Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Dot {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        infer_matrix(op)
    }
    dot_facts!();
    answer!(
        example = "func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x5xf32>) -> tensor<2x5xf32> {
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}"
    );
}

/// An element type in which products are summed.
trait Summed: Numeric {
    fn plus_product(self, a: Self, b: Self) -> Self;
}

macro_rules! summed {
    ($($t:ty: $f:expr;)*) => {$(
        impl Summed for $t {
            #[inline(always)]
            fn plus_product(self, a: $t, b: $t) -> $t {
                $f(self, a, b)
            }
        }
    )*};
}
summed! {
    f32: |sum, a, b| sum + a * b;
    f64: |sum, a, b| sum + a * b;
    i64: |sum: i64, a: i64, b| sum.wrapping_add(a.wrapping_mul(b));
    u64: |sum: u64, a: u64, b| sum.wrapping_add(a.wrapping_mul(b));
    Complex64: |sum, a, b| sum + a * b;
    Bool8: |sum: Bool8, a: Bool8, b: Bool8| Bool8(sum.0 | a.0 & b.0);
}

pub(crate) fn dot(x: &Literal, y: &Literal, dims: &DotDims, to: &TensorType) -> Literal {
    let is_wide = [x.dtype(), y.dtype(), to.dtype].contains(&DType::F64);
    match to.dtype.kind() {
        DTypeKind::Bool => dot_in::<Bool8>(x, y, dims, to),
        DTypeKind::Signed => dot_in::<i64>(x, y, dims, to),
        DTypeKind::Unsigned => dot_in::<u64>(x, y, dims, to),
        DTypeKind::Float if is_wide => dot_in::<f64>(x, y, dims, to),
        DTypeKind::Float => dot_in::<f32>(x, y, dims, to),
        DTypeKind::Complex => dot_in::<Complex64>(x, y, dims, to),
        DTypeKind::Quantized => unreachable!("quantized values are computed as floats"),
    }
}

fn dot_in<A: Summed>(x: &Literal, y: &Literal, dims: &DotDims, to: &TensorType) -> Literal {
    let (lhs_free, rhs_free) = (dims.lhs_free(x.rank()), dims.rhs_free(y.rank()));
    // a: [batch, m, k], b: [batch, k, n]
    let a = arranged::<A>(x, &[&dims.lhs_batch, &lhs_free, &dims.lhs_contract]);
    let b = arranged::<A>(y, &[&dims.rhs_batch, &dims.rhs_contract, &rhs_free]);
    let size = |shape, dims: &[usize]| sizes(shape, dims).iter().product::<usize>();
    let (batch, m) = (size(x.shape(), &dims.lhs_batch), size(x.shape(), &lhs_free));
    let (k, n) = (size(x.shape(), &dims.lhs_contract), size(y.shape(), &rhs_free));
    let (a, b) = (a.as_slice::<A>(), b.as_slice::<A>());
    let mut product = Literal::dense_zeros(A::DTYPE, &to.shape).expect("the type was checked");
    let out = product.as_mut_slice::<A>();
    let mut meter = Meter::default();
    for row in 0..if n == 0 { 0 } else { batch * m } {
        let b = &b[row / m * k * n..][..k * n];
        multiply_row(&a[row * k..][..k], b, &mut out[row * n..][..n], &mut meter);
    }
    eval::convert(&product, to.dtype)
}

fn multiply_row<A: Summed>(row: &[A], matrix: &[A], out: &mut [A], meter: &mut Meter) {
    for (&a, b) in row.iter().zip(matrix.chunks_exact(out.len())) {
        for (sum, &b) in out.iter_mut().zip(b) {
            *sum = sum.plus_product(a, b);
        }
        meter.add(b.len() as u64);
    }
}

fn arranged<A: Summed>(x: &Literal, order: &[&[usize]; 3]) -> Literal {
    let order: Vec<usize> = order.concat();
    let own = eval::row_major(x.shape());
    let strides = order.iter().map(|&d| own[d]).collect();
    let moved = eval::gather(x, &Layout { base: 0, strides }, &sizes(x.shape(), &order)).to_dense();
    eval::convert(&moved, A::DTYPE)
}
