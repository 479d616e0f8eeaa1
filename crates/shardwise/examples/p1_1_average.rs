//! Problem 1.1: the average within each shard, written by hand and by the compiler.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    let mesh = Mesh::auto([("X", x), ("Y", y)])?;
    set_mesh(&mesh);

    let average_map = shard_map(|a: &Array| a.mean(keep(..))).in_specs(P!("X", "Y")).out_specs(P!("X", "Y"));

    let average_jit = jit(|a: &Array| {
        let ([x, y], [s, d]) = (mesh.sizes(), a.dims());
        a.reshape([x, s / x, y, d / y]).mean([1, 3])
    })
    .out_shardings(P!("X", "Y"));

    let a = arange(0..8 * 64 * 8, I32).reshape([8 * 64, 8]).shard(P!("X", "Y"));
    println!("{} -> {}", a.ty(), average_map(&a).ty());
    println!("{}\n", average_map(&a));
    assert_equal(&average_map(&a), &average_jit(&a)?);

    // Shows whether communication was added, and how long each variant took.
    let by_hand = jit(average_map).lower(&a)?.compile()?;
    let by_compiler = average_jit.lower(&a)?.compile()?;
    by_hand.communication().assert_none();
    by_compiler.communication().assert_none();
    let mut table = chapter::Table::default();
    table.add("by hand", &by_hand, || by_hand(&a))?;
    table.add("by the compiler", &by_compiler, || by_compiler(&a))?;
    println!("{table}");
    Ok(())
}
