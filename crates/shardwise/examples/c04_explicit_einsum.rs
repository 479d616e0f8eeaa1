//! Explicit mode: an ambiguous layout is an error that lists the choices, and `.shard` selects one of them.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::explicit([("X", x), ("Y", y)])?);
    let x = zeros([8, 2048], BF16).shard(P!("X", "Y"));
    let w = zeros([2048, 8192], BF16).shard(P!("Y", None));

    let ambiguous = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w));
    println!("{}\n", ambiguous(&x, &w).unwrap_err());

    let decided = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w).shard(P!("X", "Y")));
    let decided = decided.lower((&x, &w))?.compile()?;
    println!("{}\n", decided(&x, &w)?.ty()); // bf16[8@X,8192@Y]

    let mut table = chapter::Table::default();
    table.add("decided", &decided, || decided(&x, &w))?;
    println!("{table}");
    Ok(())
}
