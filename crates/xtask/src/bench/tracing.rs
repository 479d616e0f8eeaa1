//! What types cost: tracing one program in Explicit mode, in times of Auto mode.
//!
//! The modes take turns, so that what else the machine does falls on all; what counts is the ratio of the medians.

use super::lines::median;
use crate::table::Table;
use anyhow::Result;
use shardwise::P;
use shardwise::prelude::{Array, Communicate, F32, Mesh, jit, keep, with_mesh};
use std::time::Instant;

/// Name of this measurement, as `--only` takes it.
pub const NAME: &str = "tracing_cost";

const ROUNDS: usize = 101;
/// Times of Auto mode, where nothing is noted.
const MOST: f64 = 1.3;

/// The table, and whether types are cheap enough.
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

/// Medians in microseconds.
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
    let lies = |shape: [usize; 2], spec: P| Array::of_type(shape, F32).shard(mesh.sharding(spec));
    let x = lies([64, 128], P!("data", None));
    let w = [lies([128, 256], P!()), lies([256, 128], P!())];
    let f = jit(network);
    let start = Instant::now();
    with_mesh(mesh, || f.lower((&x, &w)))?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Blocks of a network: products, norms, an activation, residuals; each product says where its sum goes.
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
