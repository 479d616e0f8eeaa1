//! Explicit: an ambiguous layout is an error that names the choices, and `.shard` makes one.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)])?);
    let x = zeros([8, 2048], BF16).shard(P!("X", "Y"));
    let w = zeros([2048, 8192], BF16).shard(P!("Y", None));

    let ambiguous = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w));
    println!("{}", ambiguous(&x, &w).unwrap_err());

    let decided = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w).shard(P!("X", "Y")));
    println!("{}", decided(&x, &w)?.ty()); // bf16[8@X,8192@Y]
    Ok(())
}
