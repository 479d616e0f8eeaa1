//! Every pass, and every search that a pass relies on, stops when it is cancelled.

use shardwise_base::{Account, AxisRef, Budget, CancelToken, DType, Mesh, Sharding, Stop};
use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_spmd::plan::plan_reshard;
use shardwise_spmd::{Context, PASSES};
use std::sync::Arc;

const PROGRAM: &str = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<7x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<7x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %1 = stablehlo.add %0, %x : tensor<7x7xf32>
  return %1 : tensor<7x7xf32>
}
"#;

fn cancelled() -> Budget {
    let token = CancelToken::default();
    token.cancel();
    Budget::new(Account::with_limit(1 << 30), None, token)
}

#[test]
fn every_pass_is_left() {
    let mut module = parse("t.mlir", PROGRAM, &OPS).unwrap();
    // Sizes are odd, so that there is something to pad.
    for pass in PASSES {
        let stopped = cancelled().run(|| (pass.run)(module.clone(), &mut Context::default()).is_ok());
        assert_eq!(stopped, Err(Stop::Cancelled), "{}", pass.name);
        module = (pass.run)(module, &mut Context::default()).unwrap();
    }
}

#[test]
fn a_search_for_a_plan_is_left() {
    let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 3)]).unwrap());
    let [x, y]: [AxisRef; 2] = mesh.all_axes().collect::<Vec<_>>().try_into().unwrap();
    let [from, to] = [vec![vec![x], vec![y]], vec![vec![y], vec![x]]].map(|dims| Sharding::closed(&mesh, dims));
    let stopped = cancelled().run(|| plan_reshard(&from, &to, &[6, 6], DType::F32));
    assert_eq!(stopped, Err(Stop::Cancelled));
}
