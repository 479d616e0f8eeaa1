//! A training step of many layers on a pod.

use crate::programs::{localized, scheduled, shown, topology};
use shardwise_check::choose::cases;
use shardwise_sim::Overlap;
use std::fmt::Write;

/// Returns a program with the products of a training step: `layers` layers, each `x + tanh(x w1) w2`, and then the
/// products of the backward pass, with tokens split over `data` and weights over both axes. Its results have the types
/// of the weights. Their numbers are no gradients, because the derivative of `tanh` is simplified.
fn step(layers: usize, [tokens, width, hidden]: [usize; 3]) -> String {
    let (x, w1, w2) = (ty(&[tokens, width]), ty(&[width, hidden]), ty(&[hidden, width]));
    let h = ty(&[tokens, hidden]);
    let split = |a: &str, b: &str| format!("{{sdy.sharding = #sdy.sharding<@mesh, [{a}, {b}]>}}");
    let (of_w1, of_w2) = (split("{\"data\"}", "{\"model\"}"), split("{\"model\"}", "{\"data\"}"));
    let weights: Vec<String> =
        (0..layers).flat_map(|i| [format!("%a{i}: {w1} {of_w1}"), format!("%b{i}: {w2} {of_w2}")]).collect();
    let results: Vec<String> = (0..layers).flat_map(|_| [format!("{w1} {of_w1}"), format!("{w2} {of_w2}")]).collect();
    let mut body = String::new();
    let dot = |out: &str, l: &str, r: &str, dims: &str, types: [&str; 3]| {
        format!(
            "  %{out} = stablehlo.dot_general %{l}, %{r}, contracting_dims = {dims} : ({}, {}) -> {}\n",
            types[0], types[1], types[2]
        )
    };
    for i in 0..layers {
        body += &dot(&format!("u{i}"), &format!("x{i}"), &format!("a{i}"), "[1] x [0]", [&x, &w1, &h]);
        let _ = writeln!(body, "  %h{i} = stablehlo.tanh %u{i} : {h}");
        body += &dot(&format!("y{i}"), &format!("h{i}"), &format!("b{i}"), "[1] x [0]", [&h, &w2, &x]);
        let _ = writeln!(body, "  %x{} = stablehlo.add %x{i}, %y{i} : {x}", i + 1);
    }
    let _ = writeln!(body, "  %g{layers} = stablehlo.negate %x{layers} : {x}");
    for i in (0..layers).rev() {
        let g = format!("g{}", i + 1);
        body += &dot(&format!("db{i}"), &format!("h{i}"), &g, "[0] x [0]", [&h, &x, &w2]);
        body += &dot(&format!("dh{i}"), &g, &format!("b{i}"), "[1] x [1]", [&x, &w2, &h]);
        let _ = writeln!(body, "  %dt{i} = stablehlo.multiply %dh{i}, %h{i} : {h}");
        let _ = writeln!(body, "  %du{i} = stablehlo.subtract %dh{i}, %dt{i} : {h}");
        body += &dot(&format!("da{i}"), &format!("x{i}"), &format!("du{i}"), "[0] x [0]", [&x, &h, &w1]);
        body += &dot(&format!("dx{i}"), &format!("du{i}"), &format!("a{i}"), "[1] x [1]", [&h, &w1, &x]);
        let _ = writeln!(body, "  %g{i} = stablehlo.add %g{}, %dx{i} : {x}", i + 1);
    }
    let returned: Vec<String> = (0..layers).flat_map(|i| [format!("%da{i}"), format!("%db{i}")]).collect();
    let types: Vec<String> = (0..layers).flat_map(|_| [w1.clone(), w2.clone()]).collect();
    format!(
        "sdy.mesh @mesh = <[\"data\"=16, \"model\"=16]>\nfunc.func @main(%x0: {x} {}, {}) -> ({}) {{\n{body}  return {} : {}\n}}",
        split("{\"data\"}", "{}"),
        weights.join(", "),
        results.join(", "),
        returned.join(", "),
        types.join(", ")
    )
}

fn ty(sizes: &[usize]) -> String {
    format!("tensor<{}xbf16>", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x"))
}

/// Schedules 16 layers. `SHARDWISE_CASES=80` schedules 80.
#[test]
fn a_training_step_on_a_pod() {
    let module = localized(&step(cases(16) as usize, [16384, 4096, 16384]));
    let out = scheduled(&module, &topology("v5e:16x16"), Overlap::Auto);
    let decisions: String = out.decisions.iter().map(|decision| format!("{decision}\n")).collect();
    assert!(out.after < out.before, "{decisions}{}", shown(&out.module).lines().count());
    assert!(out.decisions.iter().any(|decision| decision.is_taken && decision.count >= 16), "{decisions}");
    assert!(out.decisions.len() < 20, "layers are decided together:\n{decisions}");
}
