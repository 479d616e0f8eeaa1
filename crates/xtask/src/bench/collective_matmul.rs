//! Our collective matmuls, which are compared with JAX's automatic and manual ones.

use anyhow::Result;
use shardwise::P;
use shardwise::prelude::{Array, BF16, Mesh, Overlap, collective_matmul, jit, set_mesh, shard_map, zeros};

/// Returns the text of a program with the arguments of `oracle/bench_jax.py`, whose devices each run `f` on their
/// shards. `specs` are the shardings of the arguments, and `out` is that of the result. Sets the mesh of the thread.
/// Fails if the program cannot be lowered.
fn text(specs: [P; 2], out: P, f: fn(&Array, &Array) -> Array) -> Result<String> {
    let lower = || {
        set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
        let [a_spec, w_spec] = specs;
        let a = zeros([1024, 2048], BF16).shard(a_spec.clone());
        let w = zeros([2048, 8192], BF16).shard(w_spec.clone());
        let map = shard_map(move |a: &Array, w: &Array| f(a, w)).in_specs((a_spec, w_spec)).out_specs(out);
        Ok(jit(map).lower((&a, &w))?.as_text())
    };
    lower().map_err(|e: shardwise::Error| anyhow::Error::msg(e.to_string()))
}

pub fn all_gather() -> Result<String> {
    text([P!("X", "Y"), P!(None, "Y")], P!("X", "Y"), |a, w| {
        collective_matmul::all_gather("bd,df->bf", a, w, 'd', "Y", Overlap::OneWay)
    })
}

pub fn reduce_scatter() -> Result<String> {
    text([P!("X", "Y"), P!("Y", None)], P!("X", "Y"), |a, w| {
        collective_matmul::reduce_scatter("bd,df->bf", a, w, 'f', "Y", Overlap::OneWay)
    })
}

pub fn all_reduce() -> Result<String> {
    text([P!("X", "Y"), P!("Y", None)], P!("X", None), |a, w| {
        collective_matmul::all_reduce("bd,df->bf", a, w, 'f', "Y", Overlap::OneWay)
    })
}
