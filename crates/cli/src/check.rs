//! `--check`: the partitioned program's results against the unpartitioned program's.

use crate::{CheckWith, run};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc};
use shardwise_engine::{Argument, Engine, Limits};
use shardwise_ir::Module;
use shardwise_spmd::Options;

/// Prints how near the results are; an error if they are further apart than rounding explains.
pub fn check(
    module: &Module,
    inputs: &[Literal],
    results: &[Literal],
    with: CheckWith,
    limits: Limits,
) -> Result<(), Diagnostics> {
    let (name, expected) = match with {
        CheckWith::Single if !has_manual_regions(module) => ("one device", on_one_device(module, inputs, limits)?),
        _ => ("the interpreter", shardwise_interp::run(module, inputs, limits)?),
    };
    let mut found = Diagnostics::default();
    for (i, (got, want)) in results.iter().zip(&expected).enumerate() {
        let difference = Difference::between(got, want);
        say!("out{i} against {name}: {difference}");
        if !difference.is_rounding(got.dtype()) {
            found.push(differs(i, name, &difference));
        }
    }
    found.or(())
}

fn has_manual_regions(module: &Module) -> bool {
    let is_manual = |name: &str| name == "sdy.manual_computation";
    module.funcs.iter().any(|f| f.body.walk().into_iter().any(|op| is_manual(module.view(&f.body, op).name())))
}

fn on_one_device(module: &Module, inputs: &[Literal], limits: Limits) -> Result<Vec<Literal>, Diagnostics> {
    let single = shardwise_spmd::unsharded(module);
    let partitioned = shardwise_spmd::partition(&single, &mut Options::default())?;
    let engine = run::host(limits.max_bytes);
    let program = engine.compile(&partitioned.module, limits)?;
    let args = inputs.iter().zip(&program.signature().inputs);
    let args = args.map(|(x, ty)| Ok(Argument::Lent(engine.put(x, ty)?))).collect::<Result<_, Diagnostics>>()?;
    Ok(program.execute(args)?.iter().map(|r| r.to_literal()).collect())
}

/// How far two arrays are apart.
pub struct Difference {
    is_bitwise: bool,
    max_absolute: f64,
    /// Relative to the largest magnitude of the expected array.
    max_relative: f64,
    /// Row-major position of the largest difference.
    at: usize,
}

impl Difference {
    pub fn between(got: &Literal, want: &Literal) -> Difference {
        let size = got.size();
        let parts = |l: &Literal, i: usize| (l.get_f64(i), l.imaginary_f64(i));
        let scale = (0..size).map(|i| parts(want, i).0.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        let apart = |i: usize| {
            let (a, b) = (parts(got, i), parts(want, i));
            distance(a.0, b.0).max(distance(a.1, b.1))
        };
        let (at, max_absolute) =
            (0..size).map(|i| (i, apart(i))).fold((0, 0.0), |worst, x| if x.1 > worst.1 { x } else { worst });
        let max_relative = if max_absolute == 0.0 { 0.0 } else { max_absolute / scale.max(f64::MIN_POSITIVE) };
        Difference { is_bitwise: got == want, max_absolute, max_relative, at }
    }

    /// Whether another order of summation may explain it.
    pub fn is_rounding(&self, dtype: DType) -> bool {
        let tolerance = match dtype {
            DType::BF16 => 2e-2,
            DType::F16 => 4e-3,
            DType::F32 | DType::C64 => 1e-4,
            DType::F64 | DType::C128 => 1e-10,
            _ => 0.0,
        };
        self.is_bitwise || self.max_relative <= tolerance
    }
}

/// 0 for two NaNs or equal infinities.
fn distance(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (true, false) | (false, true) => f64::INFINITY,
        _ if a == b => 0.0,
        _ => (a - b).abs(),
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_bitwise {
            return f.write_str("equal, bit for bit");
        }
        write!(f, "largest difference {:.3e} ({:.3e} of the largest element)", self.max_absolute, self.max_relative)
    }
}

fn differs(index: usize, name: &str, difference: &Difference) -> Diagnostic {
    Diagnostic::error("check-differs", &Loc::UNKNOWN, format!("result {index} differs from {name}"))
        .facts(format!("{difference}, at element {} (row-major)", difference.at))
        .help("run with --dump DIR to see each stage, and with --engine interp to tell the engine from the partitioner")
}
