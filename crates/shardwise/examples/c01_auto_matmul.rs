//! Auto: a one-device program, sharded inputs, and the compiler decides the rest.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn matmul_square(x: &Array, w: &Array) -> Array {
    einsum!("bd,df->bf", x.square(), w)
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);

    let x = zeros([8, 2048], BF16).shard(P!("X", "Y"));
    let w = zeros([2048, 8192], BF16).shard(P!("Y", None));

    // Compiling adds the communication: here an all-reduce after the matmul.
    let matmul = jit(matmul_square).out_shardings(P!("X", None)).lower((&x, &w))?.compile()?;
    let out = matmul(&x, &w)?;

    println!("{}", matmul.as_text());
    println!("{}", matmul.communication());
    println!("{}", out.ty());
    Ok(())
}
