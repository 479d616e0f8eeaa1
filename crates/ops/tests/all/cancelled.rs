//! Reading, printing and verifying a program stop when they are cancelled.

use shardwise_base::{Account, Budget, CancelToken, Stop};
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::verify;
use shardwise_ops::OPS;

fn stops<T>(f: impl Fn() -> T) -> bool {
    let token = CancelToken::default();
    let budget = Budget::new(Account::with_limit(1 << 30), None, token.clone());
    assert!(budget.run(&f).is_ok());
    token.cancel();
    matches!(budget.run(f), Err(Stop::Cancelled))
}

fn reading_stops(text: &str) -> bool {
    stops(|| parse("t.mlir", text, &OPS).unwrap())
}

#[test]
fn programs_of_many_ops_are_left() {
    let text = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n";
    let module = parse("t.mlir", text, &OPS).unwrap();
    assert!(reading_stops(text));
    assert!(stops(|| print(&module, &PrintOptions::default())));
    assert!(stops(|| verify(&module)));
}

#[test]
fn texts_of_one_long_part_are_left() {
    let attribute = |value: &str| format!("module attributes {{x.y = {value}}} {{\n}}\n");
    assert!(!reading_stops(&attribute("dense<[1, 1]> : tensor<2xi32>")), "nothing in it is long");
    let ones = vec!["1"; 2000].join(", ");
    assert!(reading_stops(&attribute(&format!("dense<[{ones}]> : tensor<2000xi32>"))));
    assert!(reading_stops(&attribute(&format!("\"{}\"", "a".repeat(1 << 20)))));
    assert!(reading_stops(&" ".repeat(1 << 20)));
}

#[test]
fn printing_a_long_constant_is_left() {
    let values: Vec<i8> = (0..1 << 20).map(|i| (i % 7) as i8).collect();
    let value = shardwise_ir::Attr::Dense(shardwise_base::Literal::new(vec![1 << 20], &values));
    let mut module = parse("t.mlir", "module {\n}\n", &OPS).unwrap();
    assert!(!stops(|| print(&module, &PrintOptions::default())));
    module.attrs.set("x.y", value);
    assert!(stops(|| print(&module, &PrintOptions::default())));
}
