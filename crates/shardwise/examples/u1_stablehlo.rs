//! Programs leave and arrive as StableHLO text.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);

    // Out: what JAX can read. No data is needed to lower, only types.
    let x = Array::of_type([8, 2048], BF16).shard(P!("X", "Y"));
    let w = Array::of_type([2048, 8192], BF16).shard(P!("Y", None));
    let lowered = jit(|x: &Array, w: &Array| x.square().matmul(w)).lower((&x, &w))?;
    let file = std::env::temp_dir().join("matmul.mlir");
    std::fs::write(&file, lowered.as_text())?;

    // In: what `jax.jit(f).lower(...).as_text()` printed.
    let program = Program::parse(&std::fs::read_to_string(&file)?)?;
    println!("{}", program.signature()); // (bf16[8@X,2048@Y], bf16[2048@Y,8192]) -> bf16[8,8192]
    let compiled = program.compile()?;
    let out = compiled.call(&[ones([8, 2048], BF16), ones([2048, 8192], BF16)])?;
    println!("{}", out[0]);
    Ok(())
}
