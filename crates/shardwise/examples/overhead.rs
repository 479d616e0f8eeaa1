//! Measures the overhead of a call: `x + 1` of f32[8,128] on eight devices, jitted and eager.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;
use std::time::{Duration, Instant};

/// Returns the mean time of a call in the fastest of 50 rounds. Fails if a call does.
fn fastest(f: impl Fn() -> Result<Array>) -> Result<Duration> {
    const CALLS: u32 = 200;
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let start = Instant::now();
        for _ in 0..CALLS {
            let _ = f()?;
        }
        best = best.min(start.elapsed() / CALLS);
    }
    Ok(best)
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
    let x = ones([8, 128], F32).shard(P!("X", "Y"));
    let f = jit(|x: &Array| x + 1);
    println!("jitted {:?}", fastest(|| f(&x))?);
    println!("eager  {:?}", fastest(|| Ok(&x + 1))?);
    let compiled = jit(|x: &Array| x + 1).lower(&x)?.compile()?;
    println!("compiled {:?}", fastest(|| compiled(&x))?);
    Ok(())
}
