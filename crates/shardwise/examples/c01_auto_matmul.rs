//! Auto mode: a program as for one device with sharded inputs. The compiler decides everything else.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn matmul_square(x: &Array, w: &Array) -> Array {
    einsum!("bd,df->bf", x.square(), w)
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::auto([("X", x), ("Y", y)])?);

    let x = zeros([8, 2048], BF16).shard(P!("X", "Y"));
    let w = zeros([2048, 8192], BF16).shard(P!("Y", None));

    // Compiling adds the communication: an all-reduce after the matmul.
    let matmul = jit(matmul_square).out_shardings(P!("X", None)).lower((&x, &w))?.compile()?;
    println!("{}", matmul.as_text());
    println!("{} · {} -> {}\n", x.ty(), w.ty(), matmul(&x, &w)?.ty());

    let mut table = chapter::Table::default();
    table.add("matmul_square", &matmul, || matmul(&x, &w))?;
    println!("{table}");
    Ok(())
}
