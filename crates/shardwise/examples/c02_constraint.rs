//! Auto mode, with the layout of one intermediate value fixed.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn mlp(x: &Array, w_in: &Array, w_out: &Array) -> Array {
    let hidden = einsum!("bd,df->bf", x, w_in).shard(P!("X", "Y"));
    einsum!("bf,df->bd", hidden, w_out)
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::auto([("X", x), ("Y", y)])?);
    let (x, w) = (ones([8, 2048], BF16), ones([2048, 8192], BF16));
    let mlp = jit(mlp).lower((&x, &w, &w))?.compile()?;

    let mut table = chapter::Table::default();
    table.add("mlp", &mlp, || mlp(&x, &w, &w))?;
    println!("{table}");
    Ok(())
}
