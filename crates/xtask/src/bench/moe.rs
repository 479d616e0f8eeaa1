//! Our mixture of experts, which is compared with both of JAX's.

use anyhow::Result;
use shardwise::prelude::{Array, F32, I32, Mesh, jit, ragged_dot, set_mesh};
use shardwise::{P, zeros};

/// Computes a mixture of experts: tokens are grouped by expert, and each group is multiplied by its expert's matrix.
fn moe(w: &Array, a: &Array, b: &Array) -> Array {
    let by_expert = b.argsort(0);
    let out = ragged_dot(a.i(&by_expert), w, b.bincount(w.dim(0)));
    out.i(by_expert.argsort(0))
}

/// Returns the program, with the arguments of `oracle/bench_jax.py`. Sets the mesh of the thread. Fails if the program
/// cannot be lowered.
pub fn text() -> Result<String> {
    let lower = || {
        set_mesh(Mesh::auto([("X", 8)])?);
        let w = zeros([16, 512, 1024], F32).shard(P!("X"));
        let a = zeros([4096, 512], F32).shard(P!("X"));
        let b = zeros([4096], I32).shard(P!("X"));
        Ok(jit(moe).out_shardings(P!("X")).lower((&w, &a, &b))?.as_text())
    };
    lower().map_err(|e: shardwise::Error| anyhow::Error::msg(e.to_string()))
}
