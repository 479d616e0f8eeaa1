//! Auto, with one intermediate pinned.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn mlp(x: &Array, w_in: &Array, w_out: &Array) -> Array {
    let hidden = einsum!("bd,df->bf", x, w_in).shard(P!("X", "Y"));
    einsum!("bf,df->bd", hidden, w_out)
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
    let (x, w) = (ones([8, 2048], BF16), ones([2048, 8192], BF16));
    println!("{}", jit(mlp).lower((&x, &w, &w))?.compile()?.communication());
    Ok(())
}
