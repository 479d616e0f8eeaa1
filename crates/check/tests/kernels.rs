//! Tests users' kernels: when they are sharded as their rules allow, their results are the same as for whole operands.

use shardwise_base::Literal;
use shardwise_engine::{Argument, Engine};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use shardwise_ops::user::{Kernel, register};
use shardwise_spmd::{Options, Partitioned, partition};
use std::sync::Once;

/// Registers `test.dot`: a matrix product.
fn setup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let kernel = Kernel::new(
            |x, _| match x {
                [a, b] if a.rank() == 2 && b.rank() == 2 && a.shape[1] == b.shape[0] => {
                    Ok(vec![shardwise_ir::TensorType::new(a.dtype, vec![a.shape[0], b.shape[1]])])
                }
                _ => Err("it takes two matrices".into()),
            },
            |call| {
                let [a, b] = [0, 1].map(|i| call.operands[i].to_dense());
                let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
                let at = |x: &Literal, i: usize| x.get::<f32>(i);
                let sum = |i: usize, j: usize| (0..k).map(|l| at(&a, i * k + l) * at(&b, l * n + j)).sum::<f32>();
                let values: Vec<f32> = (0..m * n).map(|p| sum(p / n, p % n)).collect();
                Ok(vec![Literal::new([m, n], &values)])
            },
        );
        register("test.dot", kernel.with_rule("([i, k], [k, j])->([i, j]) reduction={k}")).expect("a new kernel");
    });
}

fn read(text: &str) -> Result<Module, shardwise_base::Diagnostics> {
    let module = text::parse("x.mlir", text, &OPS)?;
    verify(&module).or(module)
}

fn program(sharding: [&str; 2], attrs: &str) -> String {
    let arg = |i: usize| format!("{{sdy.sharding = #sdy.sharding<@mesh, {}>}}", sharding[i]);
    format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<5x6xf32> {}, %b: tensor<6x4xf32> {}) -> tensor<5x4xf32> {{
  %0 = stablehlo.custom_call @test.dot(%a, %b){attrs} : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}}"#,
        arg(0),
        arg(1)
    )
}

fn inputs() -> Vec<Literal> {
    let ramp = |shape: [usize; 2]| {
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i % 7) as f32 - 3.0).collect();
        Literal::new(shape, &values)
    };
    vec![ramp([5, 6]), ramp([6, 4])]
}

fn partitioned(text: &str) -> Partitioned {
    let module = read(text).unwrap_or_else(|e| panic!("{e}"));
    partition(&module, &mut Options { verify: true, ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}

fn on(engine: &dyn Engine, module: &Module) -> Literal {
    let program = engine.compile(module).unwrap_or_else(|e| panic!("{e}"));
    let types = &program.signature().inputs;
    let args = inputs().iter().zip(types).map(|(x, t)| Argument::Lent(engine.put(x, t).expect("it fits"))).collect();
    program.execute(args).unwrap_or_else(|e| panic!("{e}"))[0].to_literal()
}

#[test]
fn a_kernel_gives_the_same_however_it_is_split() {
    setup();
    let whole = shardwise_interp::run(&read(&program(["[{}, {}]"; 2], "")).expect("a program"), &inputs());
    let whole = whole.expect("it runs").remove(0);
    for sharding in [
        [r#"[{"x"}, {}]"#, r#"[{}, {"y"}]"#],
        [r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#],
        [r#"[{"y"}, {"x"}]"#, r#"[{"y"}, {"x"}]"#],
        [r#"[{"x", "y"}, {}]"#, r#"[{}, {}]"#],
    ] {
        let local = partitioned(&program(sharding, ""));
        assert_eq!(on(&InterpEngine, &local.module), whole, "{sharding:?}");
        assert_eq!(on(&HostEngine::default(), &local.module), whole, "{sharding:?}");
    }
}

#[test]
fn a_split_sum_is_one_all_reduce() {
    setup();
    let local = partitioned(&program([r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#], ""));
    let kinds: Vec<_> = local.communication.rows.iter().map(|r| r.kind.name()).collect();
    assert_eq!(kinds, ["all-reduce"]);
}

#[test]
fn the_rule_in_the_text_wins() {
    setup();
    let rule = r#" {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=5, j=4, k=6} need_replication={i, j, k}>}"#;
    let local = partitioned(&program([r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#], rule));
    let kinds: Vec<_> = local.communication.rows.iter().map(|r| r.kind.name()).collect();
    assert_eq!(kinds, ["all-gather", "all-gather"]);
}

#[test]
fn wrong_operands_are_refused_where_they_stand() {
    setup();
    let text = "func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.custom_call @test.dot(%a) : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}";
    let found = read(text).err().expect("one operand").to_string();
    assert!(found.contains("kernel-refused") && found.contains("x.mlir:2"), "{found}");
}
