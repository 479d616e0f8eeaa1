//! `--check`: the partitioned program's results against the unpartitioned program's.

use crate::CheckWith;
use crate::placed::Placed;
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc, Sharding};
use shardwise_engine::layout::{self, Disagreement};
use shardwise_engine::{ArrayHandle, Engine};
use shardwise_host::HostEngine;
use shardwise_ir::Module;
use shardwise_spmd::Options;

/// Prints how near the results are; an error if they are further apart than rounding explains.
pub fn check(module: &Module, inputs: &[Literal], results: &[Literal], with: CheckWith) -> Result<(), Diagnostics> {
    // The interpreter knows Shardy's notation alone.
    let imported = shardwise_spmd::gspmd::import(module)?;
    let module = imported.as_ref().unwrap_or(module);
    let (name, expected) = match with {
        CheckWith::Single if !has_manual_regions(module) => ("one device", on_one_device(module, inputs)?),
        _ => ("the interpreter", shardwise_interp::run(module, inputs)?),
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

/// Prints that devices which should hold equal parts of an argument do; an error if they do not.
pub fn replicas(arguments: &[ArrayHandle]) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::default();
    for (i, array) in arguments.iter().enumerate() {
        let ty = array.sharded_type();
        let Some(sharding) = &ty.sharding else { continue };
        if let Err(Disagreement { first, second }) = layout::assemble(|p| array.shard(p), sharding, &ty.ty.shape) {
            found.push(unequal_replicas(i, sharding, first, second));
        }
    }
    found.or(())
}

fn has_manual_regions(module: &Module) -> bool {
    let is_manual = |name: &str| name == "sdy.manual_computation";
    module.funcs.iter().any(|f| f.body.walk().into_iter().any(|op| is_manual(module.view(&f.body, op).name())))
}

fn on_one_device(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    let single = shardwise_spmd::unsharded(module);
    let partitioned = shardwise_spmd::partition(&single, &mut Options::default())?;
    let engine = HostEngine::default();
    let program = engine.compile(&partitioned.module)?;
    Placed::new(&engine, program, inputs)?.run()
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

fn unequal_replicas(index: usize, sharding: &Sharding, first: usize, second: usize) -> Diagnostic {
    let device = |position| sharding.mesh.device(position);
    let message =
        format!("devices {} and {} should hold equal parts of argument {index}", device(first), device(second));
    Diagnostic::error("check-replicas", &Loc::UNKNOWN, message)
        .facts(format!("it is laid out as {sharding}, and their shards differ"))
        .help("the engine laid the argument out wrongly: report it with the program")
}

fn differs(index: usize, name: &str, difference: &Difference) -> Diagnostic {
    Diagnostic::error("check-differs", &Loc::UNKNOWN, format!("result {index} differs from {name}"))
        .facts(format!("{difference}, at element {} (row-major)", difference.at))
        .help("run with --dump DIR to see each stage, and with --engine interp to tell the engine from the partitioner")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::Mesh;
    use shardwise_engine::{EngineArray, ShardedType};
    use shardwise_ir::TensorType;
    use std::sync::Arc;

    /// A vector of four split over `x`, whose part on each device of the 2x2 mesh is any.
    struct Parts {
        ty: ShardedType,
        parts: [[f32; 2]; 4],
    }

    impl EngineArray for Parts {
        fn sharded_type(&self) -> &ShardedType {
            &self.ty
        }

        fn to_literal(&self) -> Literal {
            unreachable!("not asked for")
        }

        fn shard(&self, position: usize) -> Literal {
            Literal::new(vec![2], &self.parts[position])
        }

        fn as_any(&self) -> &(dyn std::any::Any + Send + Sync) {
            self
        }
    }

    fn array(parts: [[f32; 2]; 4]) -> ArrayHandle {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap());
        let sharding = Sharding::closed(&mesh, vec![vec![mesh.all_axes().next().unwrap()]]);
        Arc::new(Parts { ty: ShardedType { ty: TensorType::new(DType::F32, [4]), sharding: Some(sharding) }, parts })
    }

    #[test]
    fn replicas_must_be_equal() {
        assert!(replicas(&[array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])]).is_ok());
        let found = replicas(&[array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 5.0]])]).unwrap_err();
        assert!(found.to_string().contains("devices 2 and 3 should hold equal parts of argument 0"), "{found}");
    }
}
