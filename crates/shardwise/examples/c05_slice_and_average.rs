//! Manual mode: averages the first four elements of every device's shard over the mesh.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::explicit([("x", x), ("y", y)])?);
    let (devices, data) = (x * y, arange(0..512, I32).shard(P!(("x", "y"))));

    // This runs on each device, with its part of the array.
    let slice_and_average = shard_map(|x: &Array| {
        assert_eq!(x.shape(), [512 / devices]);
        let mean = x.i(..4).pmean(("x", "y"));
        println!("on each device: {} -> {}", x.ty(), mean.ty());
        mean
    })
    .in_specs(P!(("x", "y")))
    .out_specs(P!());

    let out = slice_and_average(&data);
    assert_eq!(out.shape(), [4]);
    println!("{out}\n");

    let compiled = jit(slice_and_average).lower(&data)?.compile()?;
    let mut table = chapter::Table::default();
    table.add("slice_and_average", &compiled, || compiled(&data))?;
    println!("{table}");
    Ok(())
}
