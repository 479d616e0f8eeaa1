//! Products of a sparse matrix with a dense vector or matrix, as JAX exports them for CPUs.
//!
//! ```text
//! %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%data, %starts, %columns, %x)
//! ```
//!
//! The elements of row `r` are those from `starts[r]` to the one before `starts[r + 1]`. Element `k` is in column
//! `columns[k]`. The op fails when it runs if the elements of a row are outside of the list or end before they start,
//! or if the column of one is outside. Elements of no row are not read: JAX pads lists of elements with columns that
//! are outside.

use crate::check::{self, Check};
use crate::control::CustomCall;
use crate::eval::Number;
use crate::facts::*;
use crate::{Opcode, ReduceKind, eval};
use shardwise_base::{Complex64, Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub(crate) struct SparseProduct;

pub(crate) fn is_sparse_product(op: &OpView<'_>) -> bool {
    CustomCall::target(op) == Some("cpu_csr_sparse_dense_ffi")
}

impl Facts for SparseProduct {
    answer!(calculus = none("JAX states derivatives and batches around the call"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [data, starts, columns, x] = check::tensors::<4>(op)?;
        let out = check::declared(op)?;
        let is_list = |t: &TensorType| t.rank() == 1 && t.dtype.is_integer();
        let mut check = Check::new(op);
        check.that(
            "sparse_c1",
            data.rank() == 1 && data.dtype == x.dtype,
            "the elements must be a list of numbers of the dense operand's type",
        );
        check
            .that("sparse_c2", is_list(starts) && is_list(columns), "starts and columns must be lists of integers")
            .so_far()?;
        check.that("sparse_c3", columns.shape == data.shape, "there must be a column for each element");
        check.that("sparse_c4", starts.shape[0] > 0, "there must be a start for each row, and an end");
        check
            .that("sparse_c5", matches!(x.rank(), 1 | 2), "the dense operand must be a vector or a matrix")
            .so_far()?;
        let rows = starts.shape[0] - 1;
        let shape: Vec<usize> = [rows].into_iter().chain(x.shape[1..].iter().copied()).collect();
        let is_product = out.shape[..] == shape[..];
        check.that(
            "sparse_c6",
            is_product,
            "the result must have the dense operand's shape, but with a row for each row of the sparse matrix",
        );
        check.give([Type::tensor(x.dtype, shape)])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let ranks = |i: usize| op.operand_shape(i).len();
        let (x, rows) = (op.operand_shape(3), op.result_shape(0)[0]);
        let mut rule = RuleBuilder::new((0..4).map(ranks), [x.len()]);
        let whole = FactorSpec::need_replication;
        rule.add_factor(&[Some(0), None, Some(0), None], &[None], whole(op.operand_shape(0)[0]));
        rule.add_factor(&[None, Some(0), None, None], &[None], whole(op.operand_shape(1)[0]));
        rule.add_factor(&[None, None, None, Some(0)], &[None], whole(x[0]));
        rule.add_factor(&[None; 4], &[Some(0)], whole(rows));
        if let Some(&columns) = x.get(1) {
            rule.add_factor(&[None, None, None, Some(1)], &[Some(1)], FactorSpec::pass_through(columns));
        }
        RuleFact::Rule(rule.build())
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let x: Vec<Literal> = x.iter().map(Literal::to_dense).collect();
        let (starts, columns) = (x[1].to_i64s(), x[2].to_i64s());
        let to = op.result_tensor(0);
        let inner = x[3].shape();
        let rows = ranges(op, &starts, columns.len())?;
        let mut used = rows.iter().flat_map(|row| &columns[row.clone()]);
        if let Some(&column) = used.find(|&&c| c < 0 || c >= inner[0] as i64) {
            return Err(outside(op, format!("column {column} of {}", inner[0])));
        }
        let (data, dense) = (eval::read_numbers(&x[0]), eval::read_numbers(&x[3]));
        let width: usize = inner[1..].iter().product();
        let product = |k: usize, at: usize| eval::combine(ReduceKind::Mul, widened(data(k)), widened(dense(at)));
        let sum = |i: usize| {
            let terms = rows[i / width].clone().map(|k| product(k, columns[k] as usize * width + i % width));
            terms.reduce(|a, b| eval::combine(ReduceKind::Add, a, b)).unwrap_or_else(|| zero(to))
        };
        let sums = Data::from_fn(to.size(), sum);
        Ok(vec![eval::fill(to.dtype, &to.shape, |i| sums[i])])
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        let width: usize = op.operand_shape(3)[1..].iter().product();
        Cost::streams(op, 0.0).with_flops(2.0 * op.operand_tensor(0).size() as f64 * width as f64)
    }
    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xi32>, %arg2: tensor<3xi32>, %arg3: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%arg0, %arg1, %arg2, %arg3) : (tensor<3xf32>, tensor<3xi32>, tensor<3xi32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}"
    );
}

fn ranges(op: &OpView<'_>, starts: &[i64], count: usize) -> Result<Vec<std::ops::Range<usize>>, Diagnostic> {
    let range = |pair: &[i64]| {
        let [from, to] = [pair[0], pair[1]];
        let is_inside = 0 <= from && from <= to && to <= count as i64;
        if is_inside {
            Ok(from as usize..to as usize)
        } else {
            Err(outside(op, format!("elements {from} to {to} of {count}")))
        }
    };
    starts.windows(2).map(range).collect()
}

fn widened(n: Number) -> Number {
    match n {
        Number::Single(x) => Number::Double(f64::from(x)),
        n => n,
    }
}

fn zero(to: &TensorType) -> Number {
    match () {
        () if to.dtype.is_complex() => Number::Complex(Complex64::ZERO),
        () if to.dtype.is_float() => Number::Double(0.0),
        () => Number::Signed(0),
    }
}

fn outside(op: &OpView<'_>, what: String) -> Diagnostic {
    Diagnostic::error(
        "sparse-index",
        op.loc(),
        "a start or a column of a sparse matrix is out of bounds, or its starts are not in ascending order",
    )
    .facts(what)
    .help("starts must be ascending numbers of elements, and columns must be rows of the dense operand")
}
