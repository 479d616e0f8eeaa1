//! Mistakes: ops never return `Result`. Functions that need a value do, with every diagnostic at its line.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
    let (x, w) = (ones([8, 16], F32), ones([12, 4], F32));

    // Eager: the mistake travels in the array, and is returned where the value is needed.
    let y = x.matmul(&w).gelu() + 1.0;
    match y.to_vec::<f32>() {
        Ok(values) => println!("{values:?}"),
        Err(e) => println!("{e}"), // error[dot-contracting-size] ... --> examples/u4_errors.rs:9:15
    }

    // Traced: all mistakes of the function are returned, each once.
    let f = jit(|x: &Array, w: &Array| {
        let a = x.matmul(w); // first
        let [rows, _] = a.dims(); // still known: 8
        let b = x.reshape([rows, 17]); // second
        a.sum(0) + b.sum(0) // no third
    });
    println!("{}", f(&x, &w).unwrap_err());
    Ok(())
}
