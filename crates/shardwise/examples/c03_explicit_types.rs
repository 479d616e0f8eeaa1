//! Explicit mode: the sharding is part of the type, and can be printed during tracing.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::explicit([("X", x), ("Y", y)])?);
    let x = arange(0..64, I32).reshape([8, 8]).shard(P!("X", "Y"));

    let double = jit(|x: &Array| {
        println!("{}", x.ty()); // i32[8@X,8@Y]
        let out = x * 2;
        println!("{}", out.ty()); // i32[8@X,8@Y]
        out
    });
    let double = double.lower(&x)?.compile()?;
    println!("{}\n", double(&x)?);

    let mut table = chapter::Table::default();
    table.add("double", &double, || double(&x))?;
    println!("{table}");
    Ok(())
}
