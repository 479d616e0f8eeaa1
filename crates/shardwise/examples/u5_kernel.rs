//! A user-defined kernel: a custom call with a shape function, a sharding rule and a function of arrays.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::kernel::{Call, Kernel, Literal, register};
use shardwise::prelude::*;

fn rms_norm(call: &Call<'_>) -> std::result::Result<Vec<Literal>, String> {
    let [x, scale] = [0, 1].map(|i| call.operands[i].to_dense());
    let width = x.shape()[1];
    let mut out = x.as_slice::<f32>().to_vec();
    for row in out.chunks_mut(width) {
        let mean = row.iter().map(|v| v * v).sum::<f32>() / width as f32;
        row.iter_mut().zip(scale.as_slice::<f32>()).for_each(|(v, s)| *v *= s / mean.sqrt());
    }
    Ok(vec![Literal::new(x.shape(), &out)])
}

fn main() -> Result<()> {
    let kernel = Kernel::new(
        |operands, _| match operands {
            [x, scale] if x.rank() == 2 && scale.shape == x.shape[1..] => Ok(vec![x.clone()]),
            _ => Err("it takes rows and a scale for each column".into()),
        },
        rms_norm,
    );
    // Rows may be split over devices, and columns must be whole.
    register("example.rms_norm", kernel.with_rule("([i, j], [j])->([i, j]) need_replication={j}"))?;

    let program = Program::parse(
        r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func public @main(
    %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %scale: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @example.rms_norm(%x, %scale) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#,
    )?;
    let compiled = program.compile()?;
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
    let out = compiled.call(&[full([8, 4], 3.0, F32), ones([4], F32)])?;
    println!("{}", out[0]);
    assert_close(&out[0], &ones([8, 4], F32));
    Ok(())
}
