//! Linear algebra: decompositions, solutions and functions of matrices, as `jax.numpy.linalg` has them.
//!
//! The matrices are the last two dimensions, and those in front of them are the batch. Arrays that are sharded over
//! their batch need no communication. A matrix itself is computed by one device, so an array whose matrices are sharded
//! is gathered first. In Explicit mode the results are sharded as the batch is, and such a gather counts as
//! communication that the program does not ask for.
//!
//! All functions have derivatives of every order, in forward and in reverse mode, except for [`lu`] of matrices that are
//! not square, and for [`qr`] of matrices with more columns than rows. All have batches. They are defined for `F32` and
//! `F64`, except for [`norm`], and decompositions are computed in 64 bits. The results for matrices for which a function
//! is not defined have elements that are NaN or infinite, as in JAX: no function fails for the values of its operands.
//! Rounding can hide that a matrix is singular: if no pivot is exactly 0, the results are large numbers instead.
//!
//! # Examples
//!
//! ```
//! # use shardwise::prelude::*;
//! # use shardwise::linalg;
//! # fn main() -> Result<()> {
//! let a = array(&[[4.0f32, 2.0], [2.0, 3.0]]);
//! let x = linalg::solve(&a, array(&[2.0f32, 5.0]));
//! assert_eq!(x.to_vec::<f32>()?, [-0.5, 2.0]);
//! let (w, v) = linalg::eigh(&a);
//! assert_close(&a.matmul(&v), &(&v * &w));
//! # Ok(())
//! # }
//! ```

mod triangular;

pub use triangular::{Triangular, solve_triangular};

use crate::diagonal::{diagonals, mask};
use crate::eager::call_many;
use crate::ops::{AsArray, Checked, Dims, Site, checked, keep, select};
use crate::{Array, DType, Transform, context, create, custom_jvp, explicit, float0, hlo, mistakes};
use shardwise_base as base;
use shardwise_ir::{Attr, Attrs, TensorType};
use shardwise_ops::Opcode;
use shardwise_ops::lapack::{Call, Routine, Triangle, Vectors};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};
use std::panic::Location;
use std::sync::LazyLock;

/// A function of one array with a derivative of its own. Its rule calls the function itself, which therefore has
/// derivatives of every order.
type Own<R> = LazyLock<Transform<'static, (&'static Array,), R>>;

type Pair = (Array, Array);
type Three = (Array, Array, Array);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Any,
    Square,
}

fn matrices(s: &Site<'_>, a: &Array, form: Form) -> Checked<()> {
    let shape = &a.tensor().shape;
    let n = shape.len();
    if n < 2 || (form == Form::Square && shape[n - 2] != shape[n - 1]) {
        let needed = if n < 2 { "at least two dimensions" } else { "square matrices" };
        let message = format!("`{}` needs {needed}", s.name);
        return s.fail(None, mistakes::with_facts("linalg-shape", message, a.short_type(), "", &s.loc));
    }
    let is_right = |d| matches!(d, base::DType::F32 | base::DType::F64);
    s.kind(a, is_right, "an array of F32 or F64", "convert the array first: `.astype(F32)`")
}

fn system(s: &Site<'_>, a: &Array, b: &Array) -> Checked<()> {
    matrices(s, a, Form::Square)?;
    let (x, y) = (a.tensor(), b.tensor());
    // All dimensions but the last are the same: the batch, and the rows of the square matrices.
    let is_fit = match y.rank() {
        1 => y.shape.last() == x.shape.last(),
        rank => rank == x.rank() && y.shape[..rank - 1] == x.shape[..rank - 1],
    };
    if !is_fit {
        let message = format!("`{}`: the right-hand sides do not fit the matrices", s.name);
        let shown = format!("{} and {}", a.short_type(), b.short_type());
        return s.fail(None, mistakes::with_facts("linalg-shape", message, shown, "", &s.loc));
    }
    if x.dtype != y.dtype {
        let to = DType::of(x.dtype);
        return s.fail(None, mistakes::dtypes(s.name, &a.short_type(), &b.short_type(), to, &s.loc));
    }
    Ok(())
}

/// Runs a function with `N` results on operands for which `check` succeeds. Otherwise the results carry the mistakes.
/// `ranks` are the ranks of the results without the batch.
#[track_caller]
fn many<const N: usize>(
    name: &'static str,
    operands: &[&Array],
    ranks: [usize; N],
    constants: impl std::hash::Hash,
    check: impl Fn(&Site<'_>) -> Checked<()>,
    f: impl Fn(&[Array]) -> [Array; N],
) -> [Array; N] {
    let at = context::caller(Location::caller());
    context::within(at, || {
        if let Err(bad) = checked(name, operands, &check) {
            return std::array::from_fn(|_| bad.clone());
        }
        let results = call_many(name, constants, operands, N, |x| {
            explicit::by_rule(name, x, || rule(x, &ranks), |x| f(x).into())
        });
        results.try_into().unwrap_or_else(|_| unreachable!("as many results as were promised"))
    })
}

#[track_caller]
fn one(
    name: &'static str,
    operands: &[&Array],
    rank: usize,
    check: impl Fn(&Site<'_>) -> Checked<()>,
    f: impl Fn(&[Array]) -> Array,
) -> Array {
    let [result] = many(name, operands, [rank], (), check, |x| [f(x)]);
    result
}

/// Returns the layout rule of a function of matrices, `operands[0]`, and of right-hand sides if there is a second
/// operand. The results are split as the batch is, and solutions also as the columns of the right-hand sides. Matrices
/// are whole. If there is one right-hand side for all matrices, solutions have one rank less than `ranks` says.
fn rule(operands: &[Array], ranks: &[usize]) -> Rule {
    let shape = &operands[0].tensor().shape;
    let batch = shape.len() - 2;
    let is_system = operands.get(1).is_some_and(|b| b.rank() > 1);
    let missing = usize::from(operands.len() > 1 && !is_system);
    let mut rule = RuleBuilder::new(operands.iter().map(Array::rank), ranks.iter().map(|rank| batch + rank - missing));
    for (d, &size) in shape[..batch].iter().enumerate() {
        let dims: Vec<Option<usize>> = (0..operands.len()).map(|i| (i == 0 || is_system).then_some(d)).collect();
        rule.add_factor(&dims, &vec![Some(d); ranks.len()], FactorSpec::pass_through(size));
    }
    if is_system {
        let columns = Some(batch + 1);
        rule.add_factor(&[None, columns], &[columns], FactorSpec::pass_through(operands[1].tensor().shape[batch + 1]));
    }
    rule.build()
}

// ── what the functions are made of

fn routine(routine: Routine, operands: &[&Array]) -> Vec<Array> {
    let call = Call { routine, dtype: operands[0].tensor().dtype };
    let types: Vec<&TensorType> = operands.iter().map(|a| a.tensor()).collect();
    let results = call.result_types(&types).unwrap_or_else(|why| panic!("a call of LAPACK: {why}"));
    hlo::op_with(Opcode::CustomCall, operands, call.attrs(), vec![], &results)
}

fn triangular(a: &Array, b: &Array, is_left: bool, is_lower: bool, is_unit: bool) -> Array {
    let attrs = Attrs::new()
        .with("left_side", Attr::Bool(is_left))
        .with("lower", Attr::Bool(is_lower))
        .with("transpose_a", Attr::stablehlo_enum("transpose", "NO_TRANSPOSE"))
        .with("unit_diagonal", Attr::Bool(is_unit));
    hlo::op(Opcode::TriangularSolve, &[a, b], attrs, b.tensor().clone())
}

/// Returns `a` with zeros above the diagonal, and also on it if `is_strict`.
fn lower(a: &Array, is_strict: bool) -> Array {
    let direction = if is_strict { "GT" } else { "GE" };
    hlo::select(&mask(&a.tensor().shape, direction, 0), a, &hlo::zeros(a.tensor()))
}

fn upper(a: &Array) -> Array {
    hlo::select(&mask(&a.tensor().shape, "LE", 0), a, &hlo::zeros(a.tensor()))
}

fn eye(a: &Array) -> Array {
    hlo::convert(&mask(&a.tensor().shape, "EQ", 0), a.tensor().dtype)
}

fn corner(a: &Array, rows: usize, columns: usize) -> Array {
    let mut limit = a.tensor().shape.clone();
    let n = limit.len();
    (limit[n - 2], limit[n - 1]) = (rows, columns);
    hlo::slice(a, &vec![0; n], &limit, &vec![1; n])
}

fn column(x: &Array) -> Array {
    x.expand_dims(-1)
}

fn row(x: &Array) -> Array {
    x.expand_dims(-2)
}

fn sizes(a: &Array) -> [usize; 2] {
    let shape = &a.tensor().shape;
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}

// ── decompositions

/// Returns the lower triangular Cholesky factors `L` of symmetric positive definite matrices: `a = L L^T`. Both
/// triangles of a matrix are read, and their mean is taken. The factor of a matrix that is not positive definite has
/// elements that are NaN.
///
/// # Shapes
///
/// `f32[.., n, n] -> f32[.., n, n]`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let l = linalg::cholesky(array(&[[4.0f32, 2.0], [2.0, 5.0]]));
/// assert_eq!(l.to_vec2::<f32>()?, [[2.0, 0.0], [1.0, 2.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn cholesky(a: impl AsArray) -> Array {
    let a = a.as_array();
    one("cholesky", &[a], 2, |s| matrices(s, a, Form::Square), |x| cholesky_factor(&symmetric(&x[0])))
}

fn symmetric(a: &Array) -> Array {
    (a + a.t()) * 0.5
}

fn cholesky_factor(a: &Array) -> Array {
    let attrs = Attrs::new().with("lower", Attr::Bool(true));
    hlo::op(Opcode::Cholesky, &[a], attrs, a.tensor().clone())
}

/// Returns matrices `Q` with orthonormal columns and upper triangular matrices `R`, whose product is `a`. The signs are
/// those of LAPACK, as in JAX. Derivatives need matrices with at least as many rows as columns.
///
/// # Shapes
///
/// `f32[.., m, n] -> (f32[.., m, k], f32[.., k, n])`, where `k` is the smaller of `m` and `n`.
///
/// # Errors
///
/// - `linalg-shape` if there are fewer than two dimensions.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// let (q, r) = linalg::qr(array(&[[3.0f32, 1.0], [4.0, 2.0]]));
/// assert_close(&r, &array(&[[-5.0f32, -2.2], [0.0, 0.4]]));
/// assert_close(&q, &array(&[[-0.6f32, -0.8], [-0.8, 0.6]]));
/// ```
#[track_caller]
pub fn qr(a: impl AsArray) -> (Array, Array) {
    let a = a.as_array();
    let [q, r] = many(
        "qr",
        &[a],
        [2, 2],
        (),
        |s| matrices(s, a, Form::Any),
        |x| {
            let [m, n] = sizes(&x[0]);
            let pair = if m >= n { QR(&x[0]) } else { qr_factors(&x[0]) };
            pair.into()
        },
    );
    (q, r)
}

static QR: Own<Pair> = LazyLock::new(|| custom_jvp(qr_factors).defjvp(qr_rule));

fn qr_factors(a: &Array) -> Pair {
    let [m, n] = sizes(a);
    let k = m.min(n);
    let packed = routine(Routine::Geqrf, &[a]);
    let q = routine(Routine::Orgqr, &[&corner(&packed[0], m, k), &packed[1]]).swap_remove(0);
    (q, upper(&corner(&packed[0], k, n)))
}

fn qr_rule(a: &Array, da: &Array) -> (Pair, Pair) {
    let (q, r) = QR(a);
    let moved = triangular(&r, da, false, false, false);
    let inner = q.t().matmul(&moved);
    let below = lower(&inner, true);
    let turned = &below - below.t();
    let dq = q.matmul(&turned - &inner) + moved;
    let dr = (inner - turned).matmul(&r);
    ((q, r), (dq, dr))
}

/// Returns a permutation matrix `P`, a lower triangular matrix `L` with ones on its diagonal, and an upper triangular
/// matrix `U`, whose product is `a`. The pivots are those of LAPACK. Only the factors of square matrices have
/// derivatives.
///
/// # Shapes
///
/// `f32[.., m, n] -> (f32[.., m, m], f32[.., m, k], f32[.., k, n])`, where `k` is the smaller of `m` and `n`.
///
/// # Errors
///
/// - `linalg-shape` if there are fewer than two dimensions.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
/// - `too-large` if the permutation matrices would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let (p, l, u) = linalg::lu(array(&[[1.0f32, 2.0], [4.0, 4.0]]));
/// assert_eq!(p.to_vec2::<f32>()?, [[0.0, 1.0], [1.0, 0.0]]);
/// assert_eq!(l.to_vec2::<f32>()?, [[1.0, 0.0], [0.25, 1.0]]);
/// assert_eq!(u.to_vec2::<f32>()?, [[4.0, 4.0], [0.0, 1.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn lu(a: impl AsArray) -> (Array, Array, Array) {
    let a = a.as_array();
    let [p, l, u] = many(
        "lu",
        &[a],
        [2, 2, 2],
        (),
        |s| matrices(s, a, Form::Any),
        |x| {
            let [m, n] = sizes(&x[0]);
            let factors = Factors::of(&x[0]);
            let k = m.min(n);
            let left = corner(&factors.packed, m, k);
            [factors.exchange.t(), lower(&left, true) + eye(&left), upper(&corner(&factors.packed, k, n))]
        },
    );
    (p, l, u)
}

/// LU factors with pivots.
struct Factors {
    /// Both triangular factors in one matrix.
    packed: Array,
    /// The exchanges, in order: row `i` was exchanged with row `pivots[i]`. Rows count from 0.
    pivots: Array,
    /// The matrix that permutes rows as the exchanges do.
    exchange: Array,
}

static LU: Own<Three> = LazyLock::new(|| custom_jvp(packed_factors).defjvp(lu_rule));

/// Returns both triangular factors of matrices in one matrix, the pivots (row `i` was exchanged with row `pivots[i]`,
/// in order), and the order of the rows after all exchanges. Rows count from 0.
fn packed_factors(a: &Array) -> Three {
    let mut found = routine(Routine::LuDecomposition, &[a]).into_iter();
    let mut next = || found.next().expect("three results");
    (next(), next(), next())
}

fn lu_rule(a: &Array, da: &Array) -> (Three, Three) {
    let found = LU(a);
    let Factors { packed, exchange, .. } = &Factors::new(a, found.clone());
    let inner = triangular(packed, &exchange.matmul(da), true, true, true);
    let inner = triangular(packed, &inner, false, false, false);
    let left = lower(packed, true) + eye(packed);
    let change = left.matmul(lower(&inner, true)) + upper(&inner).matmul(upper(packed));
    let changes = (change, float0(found.1.shape()), float0(found.2.shape()));
    (found, changes)
}

impl Factors {
    fn of(a: &Array) -> Factors {
        let [m, n] = sizes(a);
        Factors::new(a, if m == n { LU(a) } else { packed_factors(a) })
    }

    /// Builds the factors from what [`packed_factors`] returned for `a`.
    fn new(a: &Array, (packed, pivots, order): Three) -> Factors {
        let [m, _] = sizes(a);
        let shape: Vec<usize> = order.tensor().shape.iter().copied().chain([m]).collect();
        let columns = hlo::iota(TensorType::new(base::DType::I32, &shape[..]), shape.len() - 1);
        let is_source = hlo::compare("EQ", &column(&order).broadcast_to(shape), &columns);
        Factors { packed, pivots, exchange: hlo::convert(&is_source, a.tensor().dtype) }
    }

    fn solve(&self, b: &Array) -> Array {
        let b = self.exchange.matmul(b);
        let b = triangular(&self.packed, &b, true, true, true);
        triangular(&self.packed, &b, true, false, false)
    }

    /// Returns the changes of the logarithms of the determinants if the matrices change by `da`: the traces of the
    /// solutions for `da`.
    fn change_of_log_det(&self, da: &Array) -> Array {
        diagonals(&self.solve(da), 0).sum(-1)
    }

    /// Returns 1 or -1: the determinants of the permutations.
    fn sign(&self) -> Array {
        let ty = self.pivots.tensor().clone();
        let own = hlo::iota(ty.clone(), ty.rank() - 1);
        let is_moved = hlo::compare("NE", &self.pivots, &own);
        let one = create::ones(&ty.shape[..], DType::of(self.packed.tensor().dtype));
        select(&is_moved, -&one, &one).prod(-1)
    }
}

/// Returns the eigenvalues of symmetric matrices, ascending, and the unit eigenvectors, which are the columns of the
/// second result. Both triangles of a matrix are read, and their mean is taken. Derivatives of eigenvectors are
/// infinite or NaN if eigenvalues are equal.
///
/// # Shapes
///
/// `f32[.., n, n] -> (f32[.., n], f32[.., n, n])`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// let (w, v) = linalg::eigh(array(&[[2.0f32, 1.0], [1.0, 2.0]]));
/// assert_close(&w, &array(&[1.0f32, 3.0]));
/// assert_close(&v.square(), &array(&[[0.5f32, 0.5], [0.5, 0.5]]));
/// ```
#[track_caller]
pub fn eigh(a: impl AsArray) -> (Array, Array) {
    let a = a.as_array();
    let [w, v] = many("eigh", &[a], [1, 2], (), |s| matrices(s, a, Form::Square), |x| EIGH(&symmetric(&x[0])).into());
    (w, v)
}

static EIGH: Own<Pair> = LazyLock::new(|| custom_jvp(eigenpairs).defjvp(eigh_rule));

fn eigenpairs(a: &Array) -> Pair {
    let mut found = routine(Routine::Syevd { triangle: Triangle::Lower, with_vectors: true }, &[a]);
    found.truncate(2);
    let w = found.pop().expect("two results");
    (w, found.swap_remove(0))
}

fn eigh_rule(a: &Array, da: &Array) -> (Pair, Pair) {
    let (w, v) = EIGH(a);
    let inner = v.t().matmul(da).matmul(&v);
    let one = eye(&inner);
    let weights = 1.0 / (row(&w) - column(&w) + &one) - one;
    let dv = v.matmul(weights * &inner);
    ((w, v), (diagonals(&inner, 0), dv))
}

/// Returns singular value decompositions `u diag(s) vh`. The singular values are descending, and there are as many
/// vectors as values. Derivatives of the vectors are infinite or NaN if singular values are equal, or, unless the
/// matrices are square, if one is 0.
///
/// # Shapes
///
/// `f32[.., m, n] -> (f32[.., m, k], f32[.., k], f32[.., k, n])`, where `k` is the smaller of `m` and `n`.
///
/// # Errors
///
/// - `linalg-shape` if there are fewer than two dimensions.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// let a = array(&[[3.0f32, 0.0], [4.0, 5.0]]);
/// let (u, s, vh) = linalg::svd(&a);
/// assert_close(&s.square(), &array(&[45.0f32, 5.0]));
/// assert_close(&(u * s).matmul(vh), &a);
/// ```
#[track_caller]
pub fn svd(a: impl AsArray) -> (Array, Array, Array) {
    let a = a.as_array();
    let [u, s, vh] = many("svd", &[a], [2, 1, 2], (), |s| matrices(s, a, Form::Any), |x| SVD(&x[0]).into());
    (u, s, vh)
}

static SVD: Own<Three> = LazyLock::new(|| custom_jvp(singular).defjvp(svd_rule));

fn singular(a: &Array) -> Three {
    let mut found = routine(Routine::Gesdd(Vectors::Some), &[a]).into_iter().skip(1);
    let mut next = || found.next().expect("five results");
    let (s, u) = (next(), next());
    (u, s, next())
}

fn svd_rule(a: &Array, da: &Array) -> (Three, Three) {
    let (u, s, vh) = SVD(a);
    let [m, n] = sizes(a);
    let (ut, v) = (u.t(), vh.t());
    let inner = ut.matmul(da).matmul(&v);
    let one = eye(&inner);
    let (of_row, of_column) = (column(&s), row(&s));
    let weights = 1.0 / ((&of_column + &of_row) * (&of_column - &of_row) + &one) - one;
    let (right, left) = (&of_column * &inner, &of_row * &inner);
    let mut du = u.matmul(&weights * (&right + right.t()));
    let mut dv = v.matmul(&weights * (&left + left.t()));
    if m > n {
        let moved = da.matmul(&v);
        du += (&moved - u.matmul(ut.matmul(&moved))) / &of_column;
    }
    if n > m {
        let moved = da.t().matmul(&u);
        dv += (&moved - v.matmul(vh.matmul(&moved))) / &of_column;
    }
    let ds = diagonals(&inner, 0);
    ((u, s, vh), (du, ds, dv.t()))
}

// ── solutions

/// Returns the solutions `x` of the systems `a x = b`. `b` has matrices of right-hand sides, or is one vector.
///
/// # Shapes
///
/// `f32[.., n, n], f32[.., n, k] -> f32[.., n, k]`, or `f32[n, n], f32[n] -> f32[n]`. Both have the same batch. If `b`
/// is a vector, it is that of all matrices.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square and their sizes are those of `b`.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
/// - `dtype-mixed` if the dtypes differ.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let x = linalg::solve(array(&[[0.0f32, 2.0], [4.0, 0.0]]), array(&[2.0f32, 4.0]));
/// assert_eq!(x.to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn solve(a: impl AsArray, b: impl AsArray) -> Array {
    let (a, b) = (a.as_array(), b.as_array());
    one(
        "solve",
        &[a, b],
        2,
        |s| system(s, a, b),
        |x| {
            if x[1].rank() > 1 {
                return solution(&x[0], &x[1]);
            }
            let shape = &x[0].tensor().shape;
            let sides = column(&x[1].broadcast_to(&shape[..shape.len() - 1]));
            solution(&x[0], &sides).squeeze(-1)
        },
    )
}

fn solution(a: &Array, b: &Array) -> Array {
    let plain = |a: &Array, b: &Array| Factors::of(a).solve(b);
    custom_jvp(plain).defjvp(|(a, b), (da, db)| {
        let factors = Factors::of(a);
        let x = factors.solve(b);
        let dx = factors.solve(&(db - da.matmul(&x)));
        (x, dx)
    })(a, b)
}

/// Returns the inverses of matrices.
///
/// # Shapes
///
/// `f32[.., n, n] -> f32[.., n, n]`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let inverse = linalg::inv(array(&[[0.0f32, 2.0], [4.0, 0.0]]));
/// assert_eq!(inverse.to_vec2::<f32>()?, [[0.0, 0.25], [0.5, 0.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn inv(a: impl AsArray) -> Array {
    let a = a.as_array();
    one("inv", &[a], 2, |s| matrices(s, a, Form::Square), |x| solution(&x[0], &eye(&x[0])))
}

/// Returns the determinants of matrices. The derivative at a singular matrix is NaN.
///
/// # Shapes
///
/// `f32[.., n, n] -> f32[..]`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// assert_eq!(linalg::det(array(&[[0.0f32, 2.0], [4.0, 1.0]])).item::<f32>()?, -8.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn det(a: impl AsArray) -> Array {
    let a = a.as_array();
    one(
        "det",
        &[a],
        0,
        |s| matrices(s, a, Form::Square),
        |x| {
            let value = |factors: &Factors| diagonals(&factors.packed, 0).prod(-1) * factors.sign();
            custom_jvp(move |a: &Array| value(&Factors::of(a))).defjvp(move |a, da| {
                let factors = Factors::of(a);
                let result = value(&factors);
                (result.clone(), result * factors.change_of_log_det(da))
            })(&x[0])
        },
    )
}

/// Returns the signs of the determinants of matrices, and the logarithms of their absolute values. For a singular
/// matrix, the sign is 0 and the logarithm is negative infinity.
///
/// # Shapes
///
/// `f32[.., n, n] -> (f32[..], f32[..])`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let (sign, log) = linalg::slogdet(array(&[[0.0f32, 2.0], [4.0, 1.0]]));
/// assert_eq!(sign.item::<f32>()?, -1.0);
/// assert_close(&log, &scalar(8f32.ln(), F32));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn slogdet(a: impl AsArray) -> (Array, Array) {
    let a = a.as_array();
    let [sign, log] = many(
        "slogdet",
        &[a],
        [0, 0],
        (),
        |s| matrices(s, a, Form::Square),
        |x| {
            let value = |factors: &Factors| {
                let on_diagonal = diagonals(&factors.packed, 0);
                (on_diagonal.sign().prod(-1) * factors.sign(), on_diagonal.abs().ln().sum(-1))
            };
            custom_jvp(move |a: &Array| value(&Factors::of(a))).defjvp(move |a, da| {
                let factors = Factors::of(a);
                let (sign, log) = value(&factors);
                let none = create::zeros_like(&sign);
                ((sign, log), (none, factors.change_of_log_det(da)))
            })(&x[0])
            .into()
        },
    );
    (sign, log)
}

/// Returns the pseudoinverses of matrices. Singular values that are at most `10 max(m, n) eps` of the largest one count
/// as zero, as in JAX.
///
/// # Shapes
///
/// `f32[.., m, n] -> f32[.., n, m]`.
///
/// # Errors
///
/// - `linalg-shape` if there are fewer than two dimensions.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// let p = linalg::pinv(array(&[[1.0f32, 0.0], [0.0, 0.0], [0.0, 2.0]]));
/// assert_close(&p, &array(&[[1.0f32, 0.0, 0.0], [0.0, 0.0, 0.5]]));
/// ```
#[track_caller]
pub fn pinv(a: impl AsArray) -> Array {
    let a = a.as_array();
    one("pinv", &[a], 2, |s| matrices(s, a, Form::Any), |x| PINV(&x[0]))
}

static PINV: Own<Array> = LazyLock::new(|| {
    let plain = |a: &Array| {
        let [m, n] = sizes(a);
        if m.min(n) == 0 {
            return a.t();
        }
        let eps = if a.tensor().dtype == base::DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let (u, s, vh) = singular(a);
        let least = s.max(keep(-1)) * (10.0 * m.max(n) as f64 * eps);
        let is_used = s.gt(least);
        let inverse = select(&is_used, 1.0 / select(&is_used, &s, 1.0), 0.0);
        (vh.t() * row(&inverse)).matmul(u.t())
    };
    custom_jvp(plain).defjvp(|a, da| {
        let p = PINV(a);
        let (pt, dat) = (p.t(), da.t());
        let change = p.matmul(da).matmul(&p);
        // The parts of the change that are in the null spaces of the matrix and of its transpose.
        let outer = p.matmul(&pt).matmul(&dat);
        let outer = &outer - outer.matmul(a).matmul(&p);
        let inner = dat.matmul(&pt).matmul(&p);
        let inner = &inner - p.matmul(a.matmul(&inner));
        (p, outer + inner - change)
    })
});

/// Returns the solutions of `a x = b` with the smallest norm among those with the smallest residual. `b` has matrices
/// of right-hand sides, or is one vector. Singular values count as zero as in [`pinv`].
///
/// # Shapes
///
/// `f32[.., m, n], f32[.., m, k] -> f32[.., n, k]`, or `f32[.., m, n], f32[m] -> f32[.., n]`. Batches are broadcast.
///
/// # Errors
///
/// - `linalg-shape` if there are fewer than two dimensions.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
/// - The errors of [`Array::matmul`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// // The line through (0, 1), (1, 3) and (2, 5).
/// let a = array(&[[1.0f32, 0.0], [1.0, 1.0], [1.0, 2.0]]);
/// let x = linalg::lstsq(a, array(&[[1.0f32], [3.0], [5.0]]));
/// assert_close(&x, &array(&[[1.0f32], [2.0]]));
/// ```
#[track_caller]
pub fn lstsq(a: impl AsArray, b: impl AsArray) -> Array {
    pinv(a).matmul(b)
}

// ── functions of matrices

/// Returns the square root of the sum of the squares of all elements along these dimensions. For real elements, this is
/// the norm of vectors along one dimension, and the Frobenius norm of matrices along two. Complex elements are squared
/// themselves, and not their absolute values, so the result is not a norm.
///
/// # Errors
///
/// - `dimension` and `dimension-twice`, as for [`Array::sum`].
/// - `dtype-kind` unless the elements are floats or complex numbers of a dtype that has arithmetic.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// assert_eq!(linalg::norm(array(&[[3.0f32, 4.0], [6.0, 8.0]]), 1).to_vec::<f32>()?, [5.0, 10.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn norm(a: impl AsArray, dims: impl Dims) -> Array {
    a.as_array().square().sum(dims).sqrt()
}

/// Returns powers of matrices, by repeated squaring. Power 0 is the identity matrix. A negative power is that of the
/// inverses.
///
/// # Shapes
///
/// `f32[.., n, n] -> f32[.., n, n]`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// # fn main() -> Result<()> {
/// let a = array(&[[1.0f32, 1.0], [0.0, 1.0]]);
/// assert_eq!(linalg::matrix_power(&a, 5).to_vec2::<f32>()?, [[1.0, 5.0], [0.0, 1.0]]);
/// assert_eq!(linalg::matrix_power(&a, -1).to_vec2::<f32>()?, [[1.0, -1.0], [0.0, 1.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn matrix_power(a: impl AsArray, exponent: i32) -> Array {
    let a = a.as_array();
    let check = |s: &Site<'_>| matrices(s, a, Form::Square);
    let [power] = many("matrix_power", &[a], [2], exponent, check, |x| {
        let base = if exponent < 0 { solution(&x[0], &eye(&x[0])) } else { x[0].clone() };
        [power(&base, exponent.unsigned_abs())]
    });
    power
}

fn power(a: &Array, exponent: u32) -> Array {
    let (mut square, mut rest, mut result) = (a.clone(), exponent, None);
    while rest > 0 {
        if rest & 1 == 1 {
            result = Some(result.map_or_else(|| square.clone(), |r: Array| r.matmul(&square)));
        }
        rest >>= 1;
        if rest > 0 {
            square = square.matmul(&square);
        }
    }
    result.unwrap_or_else(|| eye(a))
}

/// The largest number of squarings of [`expm`], as in JAX.
const MAX_SQUARINGS: usize = 16;

/// Returns the exponentials of matrices, by a rational function and repeated squaring. They are NaN for matrices whose
/// 1-norm is more than about 350,000.
///
/// # Shapes
///
/// `f32[.., n, n] -> f32[.., n, n]`.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg;
/// let turn = linalg::expm(array(&[[0.0f32, -1.0], [1.0, 0.0]]));
/// let (sin, cos) = 1f32.sin_cos();
/// assert_close(&turn, &array(&[[cos, -sin], [sin, cos]]));
/// ```
#[track_caller]
pub fn expm(a: impl AsArray) -> Array {
    let a = a.as_array();
    one("expm", &[a], 2, |s| matrices(s, a, Form::Square), |x| exponential(&x[0]))
}

/// The coefficients of the numerator of Padé's approximation of degree 13, that of the power 0 first.
///
/// Source: Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
const PADE: [f64; 14] = [
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
];
/// The largest 1-norm for which the error of the approximation is below the rounding of 64 bits.
const PADE_NORM: f64 = 5.371920351148152;

fn exponential(a: &Array) -> Array {
    if a.tensor().size() == 0 {
        return a.clone();
    }
    let size = a.abs().sum(-2).max(-1).stop_gradient();
    let count = (&size / PADE_NORM).maximum(1.0).ln() * std::f64::consts::LOG2_E;
    let count = column(&column(&count.ceil()));
    let mut scale = create::ones_like(&count);
    for i in 0..MAX_SQUARINGS {
        scale = select(&count.gt(i as f64), &scale * 0.5, &scale);
    }
    let scaled = a * scale;
    let (odd, even) = rational(&scaled);
    let mut result = solution(&(&even - &odd), &(even + odd));
    for i in 0..MAX_SQUARINGS {
        let is_used = count.gt(i as f64).broadcast_to(&a.tensor().shape[..]);
        result = select(&is_used, result.matmul(&result), &result);
    }
    let is_too_large = count.gt(MAX_SQUARINGS as f64).broadcast_to(&a.tensor().shape[..]);
    select(&is_too_large, f64::NAN, result)
}

/// Returns the parts of the Padé approximant's numerator with odd and with even powers.
fn rational(a: &Array) -> (Array, Array) {
    let one = eye(a);
    let a2 = a.matmul(a);
    let a4 = a2.matmul(&a2);
    let a6 = a4.matmul(&a2);
    let high = |k: usize| &a6 * PADE[k + 4] + &a4 * PADE[k + 2] + &a2 * PADE[k];
    let low = |k: usize| &a6 * PADE[k + 6] + &a4 * PADE[k + 4] + &a2 * PADE[k + 2] + &one * PADE[k];
    let odd = a.matmul(a6.matmul(high(9)) + low(1));
    (odd, a6.matmul(high(8)) + low(0))
}
