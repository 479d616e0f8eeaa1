//! LAPACK's routines, as JAX calls them: custom calls whose target is the name of a routine. They compute the same for
//! each matrix of a batch.
//!
//! On a CPU, JAX exports a decomposition as a call of LAPACK, with the routine's options as the characters that LAPACK
//! has for them:
//!
//! ```text
//! %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, ..}
//!     : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<4xi32>)
//! ```
//!
//! For other machines, it uses names such as `Qr` and `Eigh`, which are read as well. A call may state layouts of its
//! operands and results in memory. They are ignored, because engines choose these layouts themselves.
//!
//! [`Call`] is what a custom call asks for: the only place that knows names and options. [`Batch::run`] computes one
//! matrix, from bytes to bytes, and all engines use it. The algorithms are in `shardwise-lapack`.

mod run;

pub(crate) use run::evaluate;

pub use run::Batch;
#[cfg(test)]
mod tests;

use crate::Opcode;
use crate::check::{Check, all_tensors};
use crate::control::CustomCall;
use crate::facts::*;
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, TensorType, Type, Value};
pub use shardwise_lapack::{Form, Side, System, Triangle, Vectors};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// A routine with its options. Routines of LAPACK have its names for real matrices, without the letter of the element
/// type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routine {
    /// Cholesky factors. The other triangle is that of the operand.
    Potrf(Triangle),
    /// Cholesky factors with zeros in the other triangle: the op `cholesky`. If the leading minor of order `k` is the
    /// first that is not positive, a lower factor has NaN from column `k` on, and an upper one from row `k` on, counted
    /// from 1. The columns or rows before are those of the factor.
    Cholesky(Triangle),
    /// Solutions of triangular systems.
    Trsm(System),
    /// LU factors, with pivots that are counted from 1.
    Getrf,
    /// LU factors, with pivots that are counted from 0, and the permutation that they make.
    LuDecomposition,
    /// QR factors, with the vectors of reflectors in place of Q.
    Geqrf,
    /// QR factors of matrices whose columns are reordered, in the form of [`Routine::Geqrf`], with the order, which is
    /// counted from 1.
    Geqp3,
    /// The first columns of Q.
    Orgqr,
    /// Products with Q.
    Ormqr { side: Side, is_adjoint: bool },
    /// Eigenvalues and eigenvectors of Hermitian matrices.
    Syevd { triangle: Triangle, with_vectors: bool },
    /// Eigenvalues and eigenvectors of Hermitian matrices, without `info`.
    Eigh(Triangle),
    /// Singular value decompositions.
    Gesdd(Vectors),
    /// Eigenvalues and eigenvectors of general matrices.
    Geev { with_left: bool, with_right: bool },
    /// Schur decompositions.
    Gees { with_vectors: bool },
    /// Hessenberg forms, of the rows and columns from `low` to `high`, which are counted from 1.
    Gehrd { low: usize, high: usize },
    /// Tridiagonal forms.
    Sytrd(Triangle),
    /// Solutions of tridiagonal systems.
    Gtsv,
}

/// The routine that an op computes: a custom call, or one of the ops `cholesky` and `triangular_solve`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub routine: Routine,
    /// The element type of the matrices.
    pub dtype: DType,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The element type of the matrices.
    Same,
    /// The real type of the same precision as the matrices.
    Real,
    /// The complex type of the same precision as the matrices.
    Complex,
    /// i32.
    Int,
}

impl Kind {
    fn dtype(self, of: DType) -> DType {
        match (self, of) {
            (Kind::Int, _) => DType::I32,
            (Kind::Real, DType::C64) => DType::F32,
            (Kind::Real, DType::C128) => DType::F64,
            (Kind::Complex, DType::F32) => DType::C64,
            (Kind::Complex, DType::F64) => DType::C128,
            (_, of) => of,
        }
    }
}

/// The options of a call: the entries of its configuration.
struct Options<'a>(Option<&'a Attrs>);

impl<'a> Options<'a> {
    fn of(op: &OpView<'a>) -> Options<'a> {
        Options(CustomCall::config(op))
    }

    /// Returns the value that `choices` has for the character whose code is the option `name`, or the reason for which
    /// it has none.
    fn choice<T: Copy>(&self, name: &str, choices: &[(char, T)]) -> Result<T, String> {
        let given = self.0.and_then(|o| o.int(name));
        let found = choices.iter().find(|(c, _)| given == Some(i64::from(u32::from(*c))));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|(c, _)| format!("{} ('{c}')", u32::from(*c))).collect();
            format!("the option `{name}` must be one of {}", names.join(", "))
        })
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        let flag = self.0.and_then(|o| o.get(name)).and_then(Attr::as_bool);
        flag.ok_or_else(|| format!("the option `{name}` must be true or false"))
    }

    fn row(&self, name: &str) -> Result<usize, String> {
        self.0.and_then(|o| o.size(name)).ok_or_else(|| format!("the option `{name}` must be the number of a row"))
    }

    fn triangle(&self) -> Result<Triangle, String> {
        self.choice("uplo", &[('L', Triangle::Lower), ('U', Triangle::Upper)])
    }

    fn vectors(&self, name: &str) -> Result<bool, String> {
        self.choice(name, &[('V', true), ('N', false)])
    }

    fn system(&self) -> Result<System, String> {
        Ok(System {
            is_left: self.choice("side", &[('L', true), ('R', false)])?,
            triangle: self.triangle()?,
            form: self.choice("trans_x", &[('N', Form::Plain), ('T', Form::Transposed), ('C', Form::Adjoint)])?,
            is_unit: self.choice("diag", &[('U', true), ('N', false)])?,
        })
    }
}

/// Returns the element type and the name of the routine in a target: `(F32, "potrf")` for `lapack_spotrf_ffi`. Returns
/// `None` for a target of another form, and for a name of the other kind of numbers: `sy` and `or` are for real ones
/// (`lapack_ssyevd_ffi`, but not `lapack_csyevd_ffi`), `he` and `un` for complex ones. Does not check whether there is
/// such a routine.
fn lapack_name(target: &str) -> Option<(DType, &str)> {
    let name = target.strip_prefix("lapack_")?.strip_suffix("_ffi")?;
    let dtype = match name.chars().next()? {
        's' => DType::F32,
        'd' => DType::F64,
        'c' => DType::C64,
        'z' => DType::C128,
        _ => return None,
    };
    let routine = &name[1..];
    let is_of_other_numbers = match routine.get(..2) {
        Some("or" | "sy") => dtype.is_complex(),
        Some("un" | "he") => !dtype.is_complex(),
        _ => false,
    };
    (!is_of_other_numbers).then_some((dtype, routine))
}

/// Returns the routine of this name with the options of a call, or the reason for which the options are wrong. Returns
/// `None` if there is no routine of this name.
fn routine(name: &str, options: &Options<'_>) -> Option<Result<Routine, String>> {
    let vectors = || options.choice("mode", &[('A', Vectors::All), ('S', Vectors::Some), ('N', Vectors::None)]);
    let eigenvectors = || {
        let (with_left, with_right) = (options.vectors("compute_left")?, options.vectors("compute_right")?);
        Ok(Routine::Geev { with_left, with_right })
    };
    let schur = || {
        // Sorted eigenvalues would need a function that selects them, which no call has.
        options.choice("sort", &[('N', ())])?;
        Ok(Routine::Gees { with_vectors: options.vectors("mode")? })
    };
    let product = || {
        let side = if options.flag("left")? { Side::Left } else { Side::Right };
        Ok(Routine::Ormqr { side, is_adjoint: options.flag("transpose")? })
    };
    let hermitian = || Ok(Routine::Syevd { triangle: options.triangle()?, with_vectors: options.vectors("mode")? });
    let hessenberg = || Ok(Routine::Gehrd { low: options.row("low")?, high: options.row("high")? });
    Some(match name {
        "potrf" => options.triangle().map(Routine::Potrf),
        "trsm" => options.system().map(Routine::Trsm),
        "getrf" => Ok(Routine::Getrf),
        "geqrf" => Ok(Routine::Geqrf),
        "geqp3" => Ok(Routine::Geqp3),
        "orgqr" | "ungqr" => Ok(Routine::Orgqr),
        "ormqr" | "unmqr" => product(),
        "syevd" | "heevd" => hermitian(),
        "gesdd" | "gesvd" => vectors().map(Routine::Gesdd),
        "geev" => eigenvectors(),
        "gees" => schur(),
        "gehrd" => hessenberg(),
        "sytrd" | "hetrd" => options.triangle().map(Routine::Sytrd),
        "gtsv" => Ok(Routine::Gtsv),
        _ => return None,
    })
}

/// Returns the routine that is called by one of the names for other machines than CPUs, or `None` if it is another
/// name.
fn other_name(op: &OpView<'_>, target: &str) -> Option<Routine> {
    // The configuration of `Eigh` is a text such as "1,1,100,1e-6", whose first number says which triangle is read.
    let is_upper = || op.attrs().str("backend_config").is_some_and(|text| text.starts_with('0'));
    Some(match target {
        "Qr" => Routine::Geqrf,
        "ProductOfElementaryHouseholderReflectors" => Routine::Orgqr,
        "LuDecomposition" => Routine::LuDecomposition,
        "Eigh" => Routine::Eigh(if is_upper() { Triangle::Upper } else { Triangle::Lower }),
        _ => return None,
    })
}

impl Routine {
    /// Returns the number of dimensions of each operand behind those of the batch.
    fn ranks(self) -> &'static [usize] {
        match self {
            Routine::Trsm(_) => &[2, 2],
            Routine::Geqp3 | Routine::Orgqr => &[2, 1],
            Routine::Ormqr { .. } => &[2, 1, 2],
            Routine::Gtsv => &[1, 1, 1, 2],
            _ => &[2],
        }
    }

    /// Returns a condition that the sizes of the operands, or the rows among the options, do not meet. Returns `None`
    /// if they meet all conditions.
    fn fault(self, shapes: &[&[usize]]) -> Option<&'static str> {
        const NOT_SQUARE: Option<&str> = Some("the matrices must be square");
        let (m, n) = (shapes[0][0], shapes[0].last().copied().unwrap_or(0));
        match self {
            Routine::Potrf(_) | Routine::Cholesky(_) | Routine::Trsm(_) | Routine::Syevd { .. } if m != n => NOT_SQUARE,
            Routine::Eigh(_) | Routine::Geev { .. } | Routine::Gees { .. } if m != n => NOT_SQUARE,
            Routine::Gehrd { .. } | Routine::Sytrd(_) if m != n => NOT_SQUARE,
            Routine::Trsm(system) if shapes[1][usize::from(!system.is_left)] != m => {
                Some("the sizes of the matrix and of the right-hand sides must agree")
            }
            Routine::Geqp3 if shapes[1][0] != n => Some("there must be a number for each column"),
            Routine::Orgqr if n > m || shapes[1][0] > n => {
                Some("there may be no more reflectors than columns, and no more columns than rows")
            }
            Routine::Ormqr { side, .. }
                if shapes[2][usize::from(side == Side::Right)] != m || shapes[1][0] > n.min(m) =>
            {
                Some("the sizes of the reflectors and of the matrix must agree")
            }
            Routine::Gehrd { low, high } if low < 1 || high > n || low > high.max(1) => {
                Some("`low` and `high` must be rows, in order")
            }
            Routine::Gtsv if shapes[1][0] != m || shapes[2][0] != m || shapes[3][0] != m => {
                Some("the diagonals and the right-hand sides must have the same number of rows")
            }
            _ => None,
        }
    }

    /// Returns the types of the results for one matrix. `given` has the shapes of the results that the call states. It
    /// decides which of two sizes the vectors of a decomposition without vectors have.
    fn results(self, shapes: &[&[usize]], is_complex: bool, given: &[Vec<usize>]) -> Vec<(Kind, Vec<usize>)> {
        use Kind::{Complex, Int, Real, Same};
        let (m, n) = (shapes[0][0], shapes[0].last().copied().unwrap_or(0));
        let (k, square) = (m.min(n), vec![n, n]);
        // Eigenvalues of real matrices are given by their real and imaginary parts.
        let values = || vec![(Same, vec![n]); if is_complex { 1 } else { 2 }];
        match self {
            Routine::Potrf(_) => vec![(Same, square), (Int, vec![])],
            Routine::Cholesky(_) => vec![(Same, square)],
            Routine::Trsm(_) => vec![(Same, shapes[1].to_vec())],
            Routine::Getrf => vec![(Same, vec![m, n]), (Int, vec![k]), (Int, vec![])],
            Routine::LuDecomposition => vec![(Same, vec![m, n]), (Int, vec![k]), (Int, vec![m])],
            Routine::Geqrf => vec![(Same, vec![m, n]), (Same, vec![k])],
            Routine::Geqp3 => vec![(Same, vec![m, n]), (Int, vec![n]), (Same, vec![k])],
            Routine::Orgqr => vec![(Same, vec![m, n])],
            Routine::Ormqr { .. } => vec![(Same, shapes[2].to_vec())],
            Routine::Syevd { .. } => vec![(Same, square), (Real, vec![n]), (Int, vec![])],
            Routine::Eigh(_) => vec![(Same, square), (Real, vec![n])],
            Routine::Gesdd(vectors) => {
                let is_whole = given.get(2) == Some(&vec![m, m]) && given.get(3) == Some(&vec![n, n]);
                let is_whole = vectors == Vectors::All || (vectors == Vectors::None && is_whole);
                let (left, right) = if is_whole { (m, n) } else { (k, k) };
                let vectors = [(Same, vec![m, left]), (Same, vec![right, n])];
                [vec![(Same, vec![m, n]), (Real, vec![k])], vectors.to_vec(), vec![(Int, vec![])]].concat()
            }
            Routine::Geev { .. } => {
                [values(), vec![(Complex, square.clone()), (Complex, square), (Int, vec![])]].concat()
            }
            Routine::Gees { .. } => {
                [vec![(Same, square.clone()), (Same, square)], values(), vec![(Int, vec![]); 2]].concat()
            }
            Routine::Gehrd { .. } => vec![(Same, square), (Same, vec![n.saturating_sub(1)]), (Int, vec![])],
            Routine::Sytrd(_) => {
                let beside = vec![n.saturating_sub(1)];
                vec![(Same, square), (Real, vec![n]), (Real, beside.clone()), (Same, beside), (Int, vec![])]
            }
            Routine::Gtsv => {
                let same = shapes.iter().map(|s| (Same, s.to_vec()));
                same.chain([(Int, vec![])]).collect()
            }
        }
    }

    fn multiply_adds(self, shapes: &[&[usize]]) -> f64 {
        let (m, n) = (shapes[0][0] as f64, shapes[0].last().map_or(0.0, |&n| n as f64));
        let k = m.min(n);
        let columns = |i: usize| shapes.get(i).and_then(|s| s.last()).map_or(1.0, |&n| n as f64);
        match self {
            Routine::Potrf(_) | Routine::Cholesky(_) => n * n * n / 6.0,
            Routine::Trsm(_) => m * shapes[1].iter().product::<usize>() as f64 / 2.0,
            Routine::Getrf | Routine::LuDecomposition => k * k * (m.max(n) - k / 3.0) / 2.0,
            Routine::Geqrf | Routine::Geqp3 | Routine::Orgqr => k * k * (m.max(n) - k / 3.0),
            Routine::Ormqr { .. } => 2.0 * m * k * columns(2),
            Routine::Syevd { with_vectors: false, .. } | Routine::Sytrd(_) => 2.0 * n * n * n / 3.0,
            Routine::Syevd { .. } | Routine::Eigh(_) => 9.0 * n * n * n / 2.0,
            Routine::Gesdd(Vectors::None) => 2.0 * k * k * m.max(n),
            Routine::Gesdd(_) => 6.0 * k * k * m.max(n) + 8.0 * k * k * k,
            Routine::Geev { .. } | Routine::Gees { .. } => 13.0 * n * n * n,
            Routine::Gehrd { .. } => 5.0 * n * n * n / 3.0,
            Routine::Gtsv => m * (3.0 + 4.0 * columns(3)),
        }
    }
}

/// The dimensions of the batch, and the shapes of the operands without them.
struct Shapes<'a> {
    batch: &'a [usize],
    operands: Vec<&'a [usize]>,
}

impl<'a> Shapes<'a> {
    /// Divides the dimensions of the operands into those of the batch and the others. Returns `None` if the number of
    /// operands is not that of the routine, if an operand has too few dimensions, or if the batches differ.
    fn of(routine: Routine, operands: &[&'a TensorType]) -> Option<Shapes<'a>> {
        let ranks = routine.ranks();
        let split = |(t, &rank): (&&'a TensorType, &usize)| Some(t.shape.split_at(t.rank().checked_sub(rank)?));
        let parts: Vec<_> = operands.iter().zip(ranks).map(split).collect::<Option<_>>()?;
        let batch = parts.first()?.0;
        let is_alike = operands.len() == ranks.len() && parts.iter().all(|(other, _)| *other == batch);
        is_alike.then(|| Shapes { batch, operands: parts.into_iter().map(|(_, rest)| rest).collect() })
    }
}

impl Call {
    /// Reads a custom call that asks for a routine, or returns the reason for which the options of a call of LAPACK are
    /// wrong. Returns `None` for other ops and targets, and for calls with one of the names for other machines whose
    /// operands or results are not those of the routine.
    pub(crate) fn read(op: &OpView<'_>) -> Option<Result<Call, String>> {
        let target = CustomCall::target(op)?;
        if let Some((dtype, name)) = lapack_name(target) {
            return routine(name, &Options::of(op)).map(|found| found.map(|routine| Call { routine, dtype }));
        }
        let routine = other_name(op, target)?;
        let first = op.operands().first().and_then(|&v| op.body.ty(v).as_tensor())?;
        let call = Call { routine, dtype: first.dtype };
        let types: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
        (is_computed(first.dtype) && call.types(op).is_ok_and(|expected| expected == types)).then_some(Ok(call))
    }

    /// Returns the routine that computes a verified op: a custom call, or one of the ops `cholesky` and
    /// `triangular_solve`. Returns `None` for other ops, and for custom calls that ask for no routine.
    pub fn of(op: &OpView<'_>) -> Option<Call> {
        let routine = match Opcode::of_view(op) {
            Opcode::Cholesky => {
                Routine::Cholesky(if op.attrs().flag("lower") { Triangle::Lower } else { Triangle::Upper })
            }
            Opcode::TriangularSolve => Routine::Trsm(crate::linalg::lapack_system(op)?),
            _ => return Call::read(op)?.ok(),
        };
        Some(Call { routine, dtype: op.operand_tensor(0).dtype })
    }

    /// Returns the attributes of a custom call that asks for this routine.
    ///
    /// # Panics
    /// Panics for `Cholesky`, `Trsm`, `Ormqr`, `Eigh`, `Gees`, `Gehrd` and `Sytrd`, of which no call is written. Panics
    /// for the others but `LuDecomposition` if the matrices are not of `f32`, `f64` or complex numbers of these.
    pub fn attrs(&self) -> Attrs {
        if self.routine == Routine::LuDecomposition {
            return Attrs::new().with("call_target_name", Attr::str("LuDecomposition"));
        }
        let (name, options) = self.written();
        let letter = match self.dtype {
            DType::F32 => 's',
            DType::F64 => 'd',
            DType::C64 => 'c',
            DType::C128 => 'z',
            other => panic!("LAPACK has no matrices of {}", other.name()),
        };
        let options = options.into_iter().fold(Attrs::new(), |attrs, (name, value)| attrs.with(name, value));
        Attrs::new()
            .with("call_target_name", Attr::str(&format!("lapack_{letter}{name}_ffi")))
            .with("mhlo.backend_config", Attr::Dict(options))
    }

    /// Returns the name of the routine without the letter of the element type, and its options. Panics for the routines
    /// of which no call is written.
    fn written(&self) -> (&'static str, Vec<(&'static str, Attr)>) {
        let letter = |c: char| Attr::Int { value: i64::from(u32::from(c)), dtype: Some(DType::U8) };
        let uplo = |triangle| ("uplo", letter(if triangle == Triangle::Lower { 'L' } else { 'U' }));
        let vectors = |name, is_wanted| (name, letter(if is_wanted { 'V' } else { 'N' }));
        let is_complex = self.dtype.is_complex();
        let either = |real, complex| if is_complex { complex } else { real };
        match self.routine {
            Routine::Potrf(triangle) => ("potrf", vec![uplo(triangle)]),
            Routine::Getrf => ("getrf", vec![]),
            Routine::Geqrf => ("geqrf", vec![]),
            Routine::Geqp3 => ("geqp3", vec![]),
            Routine::Orgqr => (either("orgqr", "ungqr"), vec![]),
            Routine::Syevd { triangle, with_vectors } => {
                (either("syevd", "heevd"), vec![vectors("mode", with_vectors), uplo(triangle)])
            }
            Routine::Gesdd(kind) => {
                let mode = match kind {
                    Vectors::All => 'A',
                    Vectors::Some => 'S',
                    Vectors::None => 'N',
                };
                ("gesdd", vec![("mode", letter(mode))])
            }
            Routine::Geev { with_left, with_right } => {
                ("geev", vec![vectors("compute_left", with_left), vectors("compute_right", with_right)])
            }
            Routine::Gtsv => ("gtsv", vec![]),
            other => panic!("no call of {other:?} is written"),
        }
    }

    /// Returns the types of the results for operands of these types.
    ///
    /// # Errors
    /// Returns what is wrong with the operands.
    pub fn result_types(&self, operands: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        self.types_for(operands, &[])
    }

    fn types(&self, op: &OpView<'_>) -> Result<Vec<Type>, String> {
        let tensor = |&v| op.body.ty(v).as_tensor().ok_or("all operands must be tensors");
        let operands: Vec<&TensorType> = op.operands().iter().map(tensor).collect::<Result<_, _>>()?;
        let results: Vec<&[usize]> = op.results().iter().map(|&v| op.body.ty(v).shape()).collect();
        Ok(self.types_for(&operands, &results)?.into_iter().map(Type::Tensor).collect())
    }

    /// Returns the types of the results for these operands. If two shapes are possible, the larger one is taken if
    /// `results` has it, and the smaller one otherwise. Fails with the reason if the operands do not suit the routine.
    fn types_for(&self, operands: &[&TensorType], results: &[&[usize]]) -> Result<Vec<TensorType>, String> {
        let ranks = self.routine.ranks();
        if operands.len() != ranks.len() {
            return Err(format!("there must be {} operands", ranks.len()));
        }
        for (i, t) in operands.iter().enumerate() {
            let is_list = self.routine == Routine::Geqp3 && i == 1;
            let expected = if is_list { DType::I32 } else { self.dtype };
            if t.dtype != expected {
                return Err(format!("operand {i} must have the element type {}", expected.name()));
            }
        }
        let shapes = Shapes::of(self.routine, operands).ok_or(
            "the operands must have enough dimensions, and the same ones in front of those of the matrices and vectors",
        )?;
        if let Some(fault) = self.routine.fault(&shapes.operands) {
            return Err(fault.into());
        }
        let batch = shapes.batch.len();
        let given: Vec<Vec<usize>> = results.iter().map(|shape| shape.iter().skip(batch).copied().collect()).collect();
        let parts = self.routine.results(&shapes.operands, self.dtype.is_complex(), &given);
        let whole = |(kind, shape): (Kind, Vec<usize>)| {
            TensorType::new(kind.dtype(self.dtype), [shapes.batch, &shape].concat())
        };
        Ok(parts.into_iter().map(whole).collect())
    }
}

/// Returns true for the element types that [`Batch::run`] takes.
fn is_computed(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::C64 | DType::C128)
}

pub(crate) struct Lapack;

impl Facts for Lapack {
    answer!(
        derivative = none(
            "the factors of a decomposition have none; `cholesky`, `qr`, `eigh`, `svd`, `solve`, `inv`, `det` and `slogdet` of `linalg` state theirs"
        )
    );
    answer!(transpose = none("it is not linear"));
    /// Leaves out the attributes for layouts and shardings, which have an entry for each dimension.
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        let mut attrs = op.attrs().clone();
        for name in ["operand_layouts", "result_layouts", "sdy.sharding_rule", "mhlo.frontend_attributes"] {
            attrs.remove(name);
        }
        Batched::Leading(attrs)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        all_tensors(op)?;
        let types = Call::read(op).expect("it is a call of LAPACK").and_then(|call| call.types(op));
        match types {
            Ok(types) => Check::new(op).give(types),
            Err(why) => Err(wrong_call(op, &why).into()),
        }
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shape = |v: &Value| op.body.ty(*v).shape().to_vec();
        let (operands, results): (Vec<_>, Vec<_>) =
            (op.operands().iter().map(shape).collect(), op.results().iter().map(shape).collect());
        let batch = operands[0].len() - Call::of(op).expect("verified").routine.ranks()[0];
        let rank = |s: &Vec<usize>| s.len();
        let mut rule = RuleBuilder::new(operands.iter().map(rank), results.iter().map(rank));
        for d in 0..batch {
            let all = |count: usize| vec![Some(d); count];
            let spec = FactorSpec::pass_through(operands[0][d]);
            rule.add_factor(&all(operands.len()), &all(results.len()), spec);
        }
        for (i, shape) in operands.iter().chain(&results).enumerate() {
            for (d, &size) in shape.iter().enumerate().skip(batch) {
                let mut dims = vec![None; operands.len() + results.len()];
                dims[i] = Some(d);
                let (from, to) = dims.split_at(operands.len());
                rule.add_factor(from, to, FactorSpec::need_replication(size));
            }
        }
        RuleFact::Rule(rule.build())
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(evaluate(op, x))
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        let call = Call::of(op).expect("verified");
        let operands = all_tensors(op).expect("verified");
        let shapes = Shapes::of(call.routine, &operands).expect("verified");
        let count: usize = shapes.batch.iter().product();
        let each = if call.dtype.is_complex() { 8.0 } else { 2.0 };
        Cost::streams(op, 0.0).with_flops(each * count as f64 * call.routine.multiply_adds(&shapes.operands))
    }
    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<6x3x3xf32>) -> tensor<6x3x3xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<6x3x3xf32>) -> (tensor<6x3x3xf32>, tensor<6xi32>)
  return %0#0 : tensor<6x3x3xf32>
}"
    );
}

fn wrong_call(op: &OpView<'_>, why: &str) -> Diagnostic {
    let target = CustomCall::target(op).unwrap_or_default();
    let types = op.operands().iter().map(|&v| op.body.ty(v).to_string()).collect::<Vec<_>>().join(", ");
    Diagnostic::error("lapack-call", op.loc(), format!("the call of `{target}` is wrong: {why}"))
        .facts(format!("operands: {types}"))
        .help("calls and their options must have the form in which JAX exports them")
}
