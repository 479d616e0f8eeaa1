//! Writes and reads programs as StableHLO text.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);

    // Output: text that JAX can read. Lowering needs only types, and no data.
    let x = Array::of_type([8, 2048], BF16).shard(P!("X", "Y"));
    let w = Array::of_type([2048, 8192], BF16).shard(P!("Y", None));
    let lowered = jit(|x: &Array, w: &Array| x.square().matmul(w)).lower((&x, &w))?;
    let file = std::env::temp_dir().join("matmul.mlir");
    std::fs::write(&file, lowered.as_text())?;

    // Input: the output of `jax.jit(f).lower(...).as_text()`.
    let program = Program::parse(&std::fs::read_to_string(&file)?)?;
    println!("{}", program.signature()); // (bf16[8@X,2048@Y], bf16[2048@Y,8192]) -> bf16[8,8192]
    let compiled = program.compile()?;
    let out = compiled.call(&[ones([8, 2048], BF16), ones([2048, 8192], BF16)])?;
    println!("{}", out[0]);
    Ok(())
}
