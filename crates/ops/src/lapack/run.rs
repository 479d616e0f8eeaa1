//! The results of calls of LAPACK, for one matrix at a time, from the bytes of row-major arrays.

use super::{Call, Routine, Shapes, is_computed};
use crate::eval;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use shardwise_base::{Complex32, Complex64, DType, Data, Literal, bf16, f16};
use shardwise_ir::{OpView, TensorType};
use shardwise_lapack::{self as lapack, Matrix, Scalar, SchurScalar, Triangle, Vectors};
use std::marker::PhantomData;

/// An element type of matrices, with the type in which they are computed.
trait Stored: Pod {
    type Wide: SchurScalar;
    type Real: Stored<Wide = f64>;
    type Complex: Stored<Wide = Complex64>;

    fn widen(self) -> Self::Wide;

    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! stored {
    ($($t:ty: $wide:ty, $real:ty, $complex:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Stored for $t {
            type Wide = $wide;
            type Real = $real;
            type Complex = $complex;

            fn widen(self) -> $wide {
                $widen(self)
            }
            fn narrow(wide: $wide) -> $t {
                $narrow(wide)
            }
        }
    )*};
}
stored! {
    f16: f64, f16, Complex32, |x| f64::from(f16::to_f32(x)), |x: f64| f16::from_f32(x as f32);
    bf16: f64, bf16, Complex32, |x| f64::from(bf16::to_f32(x)), |x: f64| bf16::from_f32(x as f32);
    f32: f64, f32, Complex32, f64::from, |x: f64| x as f32;
    f64: f64, f64, Complex64, |x| x, |x| x;
    Complex32: Complex64, f32, Complex32,
        |z: Complex32| Complex64::new(z.re.into(), z.im.into()),
        |z: Complex64| Complex32::new(z.re as f32, z.im as f32);
    Complex64: Complex64, f64, Complex64, |z| z, |z| z;
}

/// A call and the sizes by which its arrays are divided into matrices: what [`Batch::run`] needs to know.
#[derive(Clone, Debug)]
pub struct Batch {
    pub call: Call,
    /// The number of matrices.
    pub count: usize,
    /// The shapes of the operands and of the results for one matrix.
    pub operands: Vec<Vec<usize>>,
    pub results: Vec<Vec<usize>>,
    /// The number of bytes of each operand and of each result for one matrix.
    pub operand_bytes: Vec<usize>,
    pub result_bytes: Vec<usize>,
}

impl Batch {
    /// Returns the batch of a verified op. Returns `None` if no routine computes it, and for elements that are
    /// converted before they are computed: floats of 8 bits or fewer.
    pub fn of(op: &OpView<'_>) -> Option<Batch> {
        let call = Call::of(op).filter(|call| is_computed(call.dtype))?;
        Batch::new(
            call,
            &types(op.operands().len(), |i| op.operand_tensor(i)),
            &types(op.results().len(), |i| op.result_tensor(i)),
        )
    }

    fn new(call: Call, operands: &[&TensorType], results: &[&TensorType]) -> Option<Batch> {
        let shapes = Shapes::of(call.routine, operands)?;
        let rest = |t: &&TensorType| t.shape[shapes.batch.len()..].to_vec();
        let bytes = |t: &&TensorType| rest(t).iter().product::<usize>() * t.dtype.storage_bytes();
        Some(Batch {
            call,
            count: shapes.batch.iter().product(),
            operands: operands.iter().map(rest).collect(),
            results: results.iter().map(rest).collect(),
            operand_bytes: operands.iter().map(bytes).collect(),
            result_bytes: results.iter().map(bytes).collect(),
        })
    }

    /// Returns an upper bound of the bytes in use while one matrix is computed, beside its operands and results.
    pub fn scratch_bytes(&self) -> usize {
        let elements = |shapes: &[Vec<usize>]| shapes.iter().map(|s| s.iter().product::<usize>()).sum::<usize>();
        (elements(&self.operands) + elements(&self.results)).saturating_mul(5 * size_of::<Complex64>())
    }

    /// Returns an estimate of the multiply-adds for one matrix.
    pub fn multiply_adds(&self) -> u64 {
        let shapes: Vec<&[usize]> = self.operands.iter().map(|s| &s[..]).collect();
        self.call.routine.multiply_adds(&shapes) as u64
    }

    /// Computes the results for one matrix, from the row-major bytes of its operands. All bytes of the results are
    /// written, whatever they were.
    ///
    /// # Panics
    /// May panic if an operand or result has another number of bytes, or is not aligned.
    pub fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        match self.call.dtype {
            DType::F16 => self.run_as::<f16>(operands, results),
            DType::BF16 => self.run_as::<bf16>(operands, results),
            DType::F32 => self.run_as::<f32>(operands, results),
            DType::F64 => self.run_as::<f64>(operands, results),
            DType::C64 => self.run_as::<Complex32>(operands, results),
            _ => self.run_as::<Complex64>(operands, results),
        }
    }

    fn run_as<E: Stored>(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        Run::<E> { batch: self, operands, results, stored: PhantomData }.run();
    }
}

fn types<'a>(count: usize, ty: impl Fn(usize) -> &'a TensorType) -> Vec<&'a TensorType> {
    (0..count).map(ty).collect()
}

/// Computes the results of an op for which [`Call::of`] returns a routine. Floats of 8 bits or fewer are converted to
/// f64 and back.
pub(crate) fn evaluate(op: &OpView<'_>, x: &[Literal]) -> Vec<Literal> {
    let call = Call::of(op).expect("verified to be a call");
    let types = types(op.results().len(), |i| op.result_tensor(i));
    if is_computed(call.dtype) {
        return computed(call, x, &types);
    }
    let wide = |x: &Literal| eval::convert(&x.to_dense(), DType::F64);
    let x: Vec<Literal> = x.iter().map(wide).collect();
    let wide: Vec<TensorType> = types.iter().map(|t| TensorType::new(DType::F64, &t.shape[..])).collect();
    let found = computed(Call { dtype: DType::F64, ..call }, &x, &wide.iter().collect::<Vec<_>>());
    found.iter().map(|y| eval::convert(y, call.dtype)).collect()
}

fn computed(call: Call, x: &[Literal], results: &[&TensorType]) -> Vec<Literal> {
    let x: Vec<Literal> = x.iter().map(Literal::to_dense).collect();
    let given: Vec<TensorType> = x.iter().map(|x| TensorType::new(x.dtype(), x.shape())).collect();
    let batch = Batch::new(call, &given.iter().collect::<Vec<_>>(), results).expect("verified to be a call");
    let mut out: Vec<Literal> = results.iter().map(|t| Literal::zeros(t.dtype, &t.shape[..]).to_dense()).collect();
    for i in 0..batch.count {
        let operands: Vec<&[u8]> =
            x.iter().zip(&batch.operand_bytes).map(|(x, size)| &x.raw_bytes()[i * size..(i + 1) * size]).collect();
        let sizes = &batch.result_bytes;
        let mut results: Vec<&mut [u8]> =
            out.iter_mut().zip(sizes).map(|(y, size)| &mut y.bytes_mut()[i * size..(i + 1) * size]).collect();
        batch.run(&operands, &mut results);
    }
    out
}

struct Run<'a, 'b, E> {
    batch: &'a Batch,
    operands: &'a [&'a [u8]],
    results: &'a mut [&'b mut [u8]],
    stored: PhantomData<E>,
}

impl<E: Stored> Run<'_, '_, E> {
    fn run(mut self) {
        match self.batch.call.routine {
            Routine::Potrf(triangle) => {
                let mut a = self.matrix(0);
                let info = lapack::cholesky(&mut a, triangle);
                self.set(0, &a);
                self.set_info(1, info);
            }
            Routine::Cholesky(triangle) => self.whole_cholesky(triangle),
            Routine::Trsm(system) => {
                let mut b = self.matrix(1);
                lapack::solve_triangular(system, &self.matrix(0), &mut b);
                self.set(0, &b);
            }
            Routine::Getrf | Routine::LuDecomposition => self.lu(),
            Routine::Geqrf | Routine::Geqp3 => self.qr(),
            Routine::Orgqr => {
                let mut a = self.matrix(0);
                lapack::make_q(&mut a, &self.vector(1));
                self.set(0, &a);
            }
            Routine::Ormqr { side, is_adjoint } => {
                let mut c = self.matrix(2);
                lapack::apply_q(side, is_adjoint, &self.matrix(0), &self.vector(1), &mut c);
                self.set(0, &c);
            }
            Routine::Syevd { .. } | Routine::Eigh(_) => self.eigh(),
            Routine::Gesdd(vectors) => self.svd(vectors),
            Routine::Geev { with_left, with_right } => self.eigen(with_left, with_right),
            Routine::Gees { with_vectors } => self.schur(with_vectors),
            Routine::Gehrd { low, high } => {
                let mut a = self.matrix(0);
                let taus = lapack::hessenberg(&mut a, low - 1, high);
                self.set(0, &a);
                self.set_list::<E>(1, &taus);
                self.set_info(2, 0);
            }
            Routine::Sytrd(triangle) => {
                let mut a = self.matrix(0);
                let form = lapack::tridiagonal(&mut a, triangle);
                self.set(0, &a);
                self.set_list::<E::Real>(1, &form.diagonal);
                self.set_list::<E::Real>(2, &form.other);
                self.set_list::<E>(3, &form.taus);
                self.set_info(4, 0);
            }
            Routine::Gtsv => self.solve_tridiagonal(),
        }
    }

    fn whole_cholesky(&mut self, triangle: Triangle) {
        let is_lower = triangle == Triangle::Lower;
        let mut a = self.matrix(0);
        if !is_lower {
            // An upper factor would not be complete in front of a minor that is not positive.
            a = a.adjoint();
        }
        let info = lapack::cholesky(&mut a, Triangle::Lower);
        let end = if info == 0 { a.rows() } else { info as usize - 1 };
        let element = |i: usize, j: usize| {
            let (row, column) = if is_lower { (i, j) } else { (j, i) };
            match () {
                () if row < column => E::Wide::ZERO,
                () if column >= end => E::Wide::of(f64::NAN, 0.0),
                () if is_lower || i == j => a[(row, column)],
                () => a[(row, column)].conj(),
            }
        };
        let whole = Matrix::from_fn(a.rows(), a.rows(), element);
        self.set(0, &whole);
    }

    fn lu(&mut self) {
        let mut a = self.matrix(0);
        let (pivots, info) = lapack::lu(&mut a);
        self.set(0, &a);
        if self.batch.call.routine == Routine::Getrf {
            self.set_ints(1, &pivots);
            self.set_info(2, info);
            return;
        }
        let mut order: Vec<i32> = (0..a.rows() as i32).collect();
        pivots.iter().enumerate().for_each(|(i, &p)| order.swap(i, p as usize - 1));
        self.set_ints(1, &pivots.iter().map(|p| p - 1).collect::<Vec<_>>());
        self.set_ints(2, &order);
    }

    fn qr(&mut self) {
        let mut a = self.matrix(0);
        let (taus, at) = if self.batch.call.routine == Routine::Geqp3 {
            let mut order: Vec<i32> = cast_slice(self.operands[1]).to_vec();
            let taus = lapack::pivoted_qr(&mut a, &mut order);
            self.set_ints(1, &order);
            (taus, 2)
        } else {
            (lapack::qr(&mut a), 1)
        };
        self.set(0, &a);
        self.set_list::<E>(at, &taus);
    }

    fn eigh(&mut self) {
        let (triangle, with_vectors) = match self.batch.call.routine {
            Routine::Syevd { triangle, with_vectors } => (triangle, with_vectors),
            Routine::Eigh(triangle) => (triangle, true),
            other => unreachable!("{other:?} has no eigenvalues"),
        };
        let mut a = self.matrix(0);
        let (values, info) = lapack::eigh(&mut a, triangle, with_vectors);
        self.set(0, &a);
        self.set_list::<E::Real>(1, &values);
        if self.results.len() > 2 {
            self.set_info(2, info);
        }
    }

    fn svd(&mut self, vectors: Vectors) {
        let found = lapack::svd(&self.matrix(0), vectors);
        self.results[0].copy_from_slice(self.operands[0]);
        self.set_list::<E::Real>(1, &found.s);
        if vectors == Vectors::None {
            (2..4).for_each(|i| self.results[i].fill(0));
        } else {
            self.set(2, &found.u);
            self.set(3, &found.vh);
        }
        self.set_info(4, found.info);
    }

    fn eigen(&mut self, with_left: bool, with_right: bool) {
        let found = lapack::eigen(self.matrix(0), with_left, with_right);
        let at = self.set_values(0, &found.values);
        for (i, vectors) in [found.left, found.right].iter().enumerate() {
            match vectors {
                Some(vectors) => self.set_matrix::<E::Complex>(at + i, vectors),
                None => self.results[at + i].fill(0),
            }
        }
        self.set_info(at + 2, found.info);
    }

    fn schur(&mut self, with_vectors: bool) {
        let found = lapack::schur(self.matrix(0), with_vectors);
        self.set(0, &found.t);
        if with_vectors {
            self.set(1, &found.q);
        } else {
            self.results[1].fill(0);
        }
        let at = self.set_values(2, &found.values);
        // No eigenvalues are sorted, so none are counted.
        self.set_info(at, 0);
        self.set_info(at + 1, found.info);
    }

    fn solve_tridiagonal(&mut self) {
        let [mut lower, mut diagonal, mut upper] = [0, 1, 2].map(|i| self.vector(i));
        let mut b = self.matrix(3);
        let info = lapack::solve_tridiagonal(&mut lower, &mut diagonal, &mut upper, &mut b);
        self.set_list::<E>(0, &lower);
        self.set_list::<E>(1, &diagonal);
        self.set_list::<E>(2, &upper);
        self.set(3, &b);
        self.set_info(4, info);
    }

    fn matrix(&self, i: usize) -> Matrix<E::Wide> {
        let x: &[E] = cast_slice(self.operands[i]);
        let (rows, columns) = (self.batch.operands[i][0], self.batch.operands[i][1]);
        Matrix::from_fn(rows, columns, |r, c| x[r * columns + c].widen())
    }

    fn vector(&self, i: usize) -> Data<E::Wide> {
        let x: &[E] = cast_slice(self.operands[i]);
        Data::from_fn(x.len(), |k| x[k].widen())
    }

    fn set(&mut self, i: usize, value: &Matrix<E::Wide>) {
        self.set_matrix::<E>(i, value);
    }

    fn set_matrix<R: Stored>(&mut self, i: usize, value: &Matrix<R::Wide>) {
        let columns = value.columns();
        let out: &mut [R] = cast_slice_mut(self.results[i]);
        assert_eq!(out.len(), value.rows() * columns, "the size of result {i}");
        for c in 0..columns {
            value.column(c).iter().enumerate().for_each(|(r, &x)| out[r * columns + c] = R::narrow(x));
        }
    }

    fn set_list<R: Stored>(&mut self, i: usize, values: &[R::Wide]) {
        let out: &mut [R] = cast_slice_mut(self.results[i]);
        assert_eq!(out.len(), values.len(), "the length of result {i}");
        out.iter_mut().zip(values).for_each(|(out, &x)| *out = R::narrow(x));
    }

    /// Sets eigenvalues from result `i` on: complex numbers, or their real and imaginary parts. Returns the number of
    /// the next result.
    fn set_values(&mut self, i: usize, values: &[Complex64]) -> usize {
        if self.batch.call.dtype.is_complex() {
            self.set_list::<E::Complex>(i, values);
            return i + 1;
        }
        let parts = |f: fn(&Complex64) -> f64| values.iter().map(f).collect::<Vec<_>>();
        self.set_list::<E::Real>(i, &parts(|z| z.re()));
        self.set_list::<E::Real>(i + 1, &parts(|z| z.im()));
        i + 2
    }

    fn set_ints(&mut self, i: usize, values: &[i32]) {
        cast_slice_mut::<u8, i32>(self.results[i]).copy_from_slice(values);
    }

    fn set_info(&mut self, i: usize, info: i32) {
        self.set_ints(i, &[info]);
    }
}
