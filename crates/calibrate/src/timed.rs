//! Programs, and how long the host engine takes for them.

use shardwise_base::{DType, DTypeKind, Diagnostics, Literal, LiteralWriter, bf16, budget, f16};
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable};
use shardwise_host::HostEngine;
use shardwise_ir::{Module, TensorType, text, verify};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The least number of runs before those that count, and the largest one.
const WARM_UPS: std::ops::Range<usize> = 2..200;
/// The time after which no further run to warm up starts, once there are as many as must be.
const WARM: Duration = Duration::from_millis(6);
/// The least number of runs that count, and the largest one.
const RUNS: std::ops::Range<usize> = 5..60;
/// The time after which no further run starts, once there are as many as must be.
const ENOUGH: Duration = Duration::from_millis(8);

pub(crate) struct Timed {
    module: Module,
    program: Arc<dyn Executable>,
    args: Vec<ArrayHandle>,
}

pub(crate) fn localized(source: &str) -> Result<Module, Diagnostics> {
    let module = text::parse("calibration.mlir", source, &shardwise_ops::OPS)?;
    verify(&module).or(())?;
    Ok(shardwise_spmd::partition(&module, &mut Default::default())?.module)
}

impl Timed {
    pub(crate) fn new(source: &str) -> Result<Timed, Diagnostics> {
        let module = localized(source)?;
        let engine = HostEngine::default();
        let program = engine.compile(&module)?;
        let args = program.signature().inputs.iter().map(|ty| engine.put(&filled(&ty.ty), ty));
        let args = args.collect::<Result<Vec<ArrayHandle>, Diagnostics>>()?;
        Ok(Timed { module, program, args })
    }

    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    fn lent(&self) -> Vec<Argument> {
        self.args.iter().cloned().map(Argument::Lent).collect()
    }

    /// Returns the number of instructions, with those in loops and branches. Fails if a run does.
    pub(crate) fn instruction_count(&self) -> Result<usize, Diagnostics> {
        Ok(self.program.profile(self.lent())?.1.instructions.len())
    }

    /// Returns the time, in seconds, that the instructions outside of loops and branches take together, as a run's
    /// profile measures it: the first quartile of several runs. Loops and branches count with what is inside them.
    /// Fails if a run does.
    pub(crate) fn seconds(&self) -> Result<f64, Diagnostics> {
        let run = || {
            let profile = self.program.profile(self.lent())?.1;
            let all = profile.instructions.iter().zip(&profile.totals);
            Ok(all.filter(|(own, _)| own.depth == 0).map(|(_, total)| total.time.as_secs_f64()).sum())
        };
        repeated(run)
    }

    /// Returns the time, in seconds, of a whole call of the program: the first quartile of several runs. Fails if a run
    /// does.
    pub(crate) fn whole_seconds(&self) -> Result<f64, Diagnostics> {
        let run = || {
            let start = Instant::now();
            self.program.execute(self.lent())?;
            Ok(start.elapsed().as_secs_f64())
        };
        repeated(run)
    }
}

/// Returns the first quartile of what `run` returns, after some runs to warm up. Fails if one does.
fn repeated(run: impl Fn() -> Result<f64, Diagnostics>) -> Result<f64, Diagnostics> {
    let (start, mut count) = (Instant::now(), 0);
    while count < WARM_UPS.start || (count < WARM_UPS.end && start.elapsed() < WARM) {
        run()?;
        count += 1;
    }
    let start = Instant::now();
    let mut times = vec![];
    while times.len() < RUNS.start || (times.len() < RUNS.end && start.elapsed() < ENOUGH) {
        budget::poll();
        times.push(run()?);
    }
    Ok(quartile(times.into_iter()))
}

pub(crate) fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// Returns the first quartile of some times, or 0 if there are none.
pub(crate) fn quartile(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 4).copied().unwrap_or(0.0)
}

/// Returns an array of numbers without order. Floats of 16 bits and more are from 0.5 to 2, as are the real parts of
/// complex numbers, whose imaginary parts are 0. Integers are from 1 to 127, and every second boolean is true.
fn filled(ty: &TensorType) -> Literal {
    let mut out = LiteralWriter::new(ty.dtype, &ty.shape);
    for i in 0..ty.size() {
        let bytes = element(i, ty.dtype);
        out.push(&bytes[..ty.dtype.storage_bytes()]);
    }
    out.finish()
}

/// Returns a number from 0 to 1 that follows no order: that of the generator SplitMix64 at this position.
fn fraction(i: usize) -> f64 {
    let mut bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn element(i: usize, dtype: DType) -> [u8; 16] {
    let value = 0.5 + 1.5 * fraction(i);
    let mut out = [0; 16];
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match dtype {
        DType::BF16 => put(&bf16::from_f64(value).to_le_bytes()),
        DType::F16 => put(&f16::from_f64(value).to_le_bytes()),
        DType::F32 | DType::C64 => put(&(value as f32).to_le_bytes()),
        DType::F64 | DType::C128 => put(&value.to_le_bytes()),
        other if other.kind() == DTypeKind::Bool => put(&[(i % 2) as u8]),
        _ => put(&[1 + (127.0 * fraction(i)) as u8]),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles() {
        assert_eq!(quartile([4.0, 1.0, 3.0, 2.0].into_iter()), 2.0);
        assert_eq!(quartile([].into_iter()), 0.0);
    }
}
