//! What types cost: tracing one program in Explicit mode, in times of Auto mode. Prints the ratio of the medians.
//!
//! `tracing_cost auto 20` and `tracing_cost explicit 20` trace in one mode alone, for those who count instructions.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;
use std::time::{Duration, Instant};

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

fn trace(mesh: &Mesh) -> Result<Duration> {
    let x = Array::of_type([64, 128], F32).shard(mesh.sharding(P!("data", None)));
    let w_in = Array::of_type([128, 256], F32).shard(mesh.sharding(P!(None, None)));
    let w_out = Array::of_type([256, 128], F32).shard(mesh.sharding(P!(None, None)));
    let f = jit(network_of);
    let start = Instant::now();
    with_mesh(mesh, || f.lower((&x, &[w_in, w_out])))?;
    Ok(start.elapsed())
}

fn network_of(x: &Array, w: &[Array; 2]) -> Array {
    network(x, w)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let axes = [("data", 4), ("model", 2)];
    let (auto, explicit) = (Mesh::auto(axes)?, Mesh::explicit(axes)?.communication(Communicate::Allow));
    let warned = Mesh::explicit(axes)?;
    let args: Vec<String> = std::env::args().collect();
    if let [_, mode, count] = &args[..] {
        let mesh = if mode == "auto" { &auto } else { &explicit };
        for _ in 0..count.parse().unwrap_or(1) {
            trace(mesh)?;
        }
        return Ok(());
    }
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..201 {
        // In turns, so that what else the machine does falls on all.
        for (times, mesh) in times.iter_mut().zip([&auto, &explicit, &warned]) {
            times.push(trace(mesh)?);
        }
    }
    let [auto, explicit, warned] = times.map(median);
    let ratio = |t: Duration| t.as_secs_f64() / auto.as_secs_f64();
    println!(
        "Auto {auto:?}, Explicit {explicit:?}: {:.2}; with warnings {warned:?}: {:.2}",
        ratio(explicit),
        ratio(warned)
    );
    Ok(())
}
