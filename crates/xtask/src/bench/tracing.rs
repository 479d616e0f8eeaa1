//! Measures the cost of types: the time to trace a program in Explicit mode, relative to Auto mode.
//!
//! The modes alternate, so that other load on the machine affects both. The ratio of the medians is what counts.

use super::lines::median;
use crate::table::Table;
use anyhow::Result;
use shardwise::P;
use shardwise::prelude::{Array, Communicate, F32, Mesh, jit, keep, with_mesh};
use std::time::Instant;

/// The name of this measurement for `--only`.
pub const NAME: &str = "tracing_cost";

const ROUNDS: usize = 101;
/// The largest allowed ratio to Auto mode, for a program without warnings.
const MOST: f64 = 1.3;

/// Returns the table, and true if tracing in Explicit mode without warnings takes at most [`MOST`] times as long as in
/// Auto mode. Fails if a program cannot be traced.
pub fn measure() -> Result<(String, bool)> {
    let found = trace_all().map_err(|e| anyhow::Error::msg(e.to_string()))?;
    let mut table = Table::new(["types", "median", "of Auto mode", "<="]);
    let [auto, explicit, warned] = found;
    for (name, us, most) in [("none", auto, None), ("Explicit", explicit, Some(MOST)), ("Explicit, Warn", warned, None)]
    {
        let most = most.map_or(String::new(), |m| m.to_string());
        table.row([name.to_string(), format!("{us:.0} us"), format!("{:.2}", us / auto), most]);
    }
    Ok((format!("tracing in Explicit mode\n\n{table}"), explicit / auto <= MOST))
}

/// Returns the median times to trace the program in microseconds: in Auto mode, in Explicit mode, and in Explicit mode
/// with warnings about communication. Fails if a program cannot be traced.
fn trace_all() -> shardwise::Result<[f64; 3]> {
    let axes = [("data", 4), ("model", 2)];
    let meshes = [Mesh::auto(axes)?, Mesh::explicit(axes)?.communication(Communicate::Allow), Mesh::explicit(axes)?];
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (times, mesh) in times.iter_mut().zip(&meshes) {
            times.push(trace(mesh)?);
        }
    }
    Ok(times.map(|times| median(&times)))
}

fn trace(mesh: &Mesh) -> shardwise::Result<f64> {
    let sharded = |shape: [usize; 2], spec: P| Array::of_type(shape, F32).shard(mesh.sharding(spec));
    let x = sharded([64, 128], P!("data", None));
    let w = [sharded([128, 256], P!()), sharded([256, 128], P!())];
    let f = jit(network);
    let start = Instant::now();
    with_mesh(mesh, || f.lower((&x, &w)))?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Computes eight blocks of a network: products, norms, an activation, residuals. The second product of each block
/// states the sharding of its result.
fn network(x: &Array, w: &[Array; 2]) -> Array {
    let [w_in, w_out] = w;
    (0..8).fold(x.clone(), |x, _| {
        let norm = &x * (x.square().mean(keep(-1)) + 1e-6).rsqrt();
        let hidden = norm.matmul(w_in).gelu();
        let scores = hidden.softmax(0).exp().reshape([4, 16, 256]).transpose([1, 0, 2]).sum(1);
        let out = (hidden * scores.sum(keep(0)).tanh().broadcast_to([64, 256])).matmul(w_out);
        x + out.shard(P!("data", None))
    })
}
