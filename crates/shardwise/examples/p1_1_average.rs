//! Problem 1.1: the average within each shard, by the compiler.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)])?;
    set_mesh(&mesh);

    let average = jit(|a: &Array| {
        let ([x, y], [s, d]) = (mesh.sizes(), a.dims());
        a.reshape([x, s / x, y, d / y]).mean([1, 3])
    })
    .out_shardings(P!("X", "Y"));

    let a = arange(0..8 * 64 * 8, I32).reshape([8 * 64, 8]).shard(P!("X", "Y"));
    println!("{}", average(&a)?);

    // Was any communication added?
    average.lower(&a)?.compile()?.communication().assert_none();
    Ok(())
}
