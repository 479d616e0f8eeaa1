//! Explicit: the sharding is part of the type, and can be printed while tracing.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    set_mesh(Mesh::explicit([("X", 2), ("Y", 2)])?);
    let x = arange(0..16, I32).reshape([8, 2]).shard(P!("X", "Y"));

    let f = jit(|x: &Array| {
        println!("{}", x.ty()); // i32[8@X,2@Y]
        let out = x * 2;
        println!("{}", out.ty()); // i32[8@X,2@Y]
        out
    });
    println!("{}", f(&x)?);
    Ok(())
}
