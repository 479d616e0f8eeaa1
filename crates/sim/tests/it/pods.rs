//! Programs that are partitioned for a topology.

use shardwise_ir::text;
use shardwise_ops::OPS;
use shardwise_sim::{Options, Topology, rates_on, simulate};
use shardwise_spmd::{Context, partition};

const LAYOUTS: [&str; 5] =
    ["[{}, {}]", "[{\"pod\"}, {}]", "[{}, {\"pod\"}]", "[{\"x\"}, {\"pod\"}]", "[{\"pod\"}, {\"x\"}]"];

fn product(layouts: [&str; 3]) -> String {
    let [a, b, c] = layouts.map(|layout| format!("{{sdy.sharding = #sdy.sharding<@mesh, {layout}>}}"));
    format!(
        "sdy.mesh @mesh = <[\"pod\"=2, \"x\"=4]>
func.func @main(%a: tensor<1024x4096xbf16> {a}, %b: tensor<4096x2048xbf16> {b}) -> (tensor<1024x2048xbf16> {c}) {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x4096xbf16>, tensor<4096x2048xbf16>) -> tensor<1024x2048xbf16>
  return %0 : tensor<1024x2048xbf16>
}}"
    )
}

/// Tests products on two pods. Partitioned for them, they take at least a fifth less time in all, and none takes over
/// 1 % more.
#[test]
fn layouts_for_pods_take_less_time() {
    let topology = Topology::parse("v5e:2x2*2").unwrap();
    let mut totals = [0, 0];
    for layouts in LAYOUTS.iter().flat_map(|a| LAYOUTS.iter().flat_map(move |b| LAYOUTS.map(|c| [a, b, c]))) {
        let module = text::parse("program.mlir", &product(layouts), &OPS).unwrap_or_else(|e| panic!("{e}"));
        let time = |stated: Option<Topology>| {
            let context = Context::with_rates(rates_on(stated));
            let options = &mut shardwise_spmd::Options { context, ..Default::default() };
            let local = partition(&module, options).unwrap_or_else(|e| panic!("{e}")).module;
            simulate(&local, &topology, &Options::default()).unwrap_or_else(|e| panic!("{e}")).end()
        };
        let [by_bytes, by_time] = [time(None), time(Some(topology.clone()))];
        assert!(by_time as f64 <= by_bytes as f64 * 1.01, "{layouts:?}: {by_time} for {by_bytes}");
        totals = [totals[0] + by_bytes, totals[1] + by_time];
    }
    assert!(totals[1] * 5 < totals[0] * 4, "{totals:?}");
}
