//! Tests of users' kernels: their rules may be wrong, or may not hold for a result, and results stay right.

use shardwise::kernel::{Kernel, Literal, TensorType, register};
use shardwise::prelude::*;

fn scalar_of(ty: &TensorType) -> TensorType {
    TensorType::new(ty.dtype, Vec::<usize>::new())
}

fn values(x: &Literal) -> Vec<f32> {
    x.to_dense().as_slice::<f32>().to_vec()
}

fn run(text: &str, x: &Array) -> Vec<Array> {
    Program::parse(text).and_then(|p| p.compile()?.call(std::slice::from_ref(x))).unwrap_or_else(|e| panic!("{e}"))
}

/// Tests that a kernel is not called with padding along a dimension that it sums, because it may count the padding.
#[test]
fn an_uneven_sum_stays_whole() {
    let kernel = Kernel::new(
        |x, _| Ok(vec![scalar_of(&x[0])]),
        |call| {
            let sum: f32 = values(&call.operands[0]).iter().map(|x| x.exp()).sum();
            Ok(vec![Literal::new(Vec::<usize>::new(), &[sum])])
        },
    );
    register("it.sum_exp", kernel.with_rule("([i])->([]) reduction={i}")).unwrap();
    for size in [7, 8] {
        let text = format!(
            r#"sdy.mesh @mesh = <["X"=4]>
func.func public @main(%x: tensor<{size}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"X"}}]>}}) -> tensor<f32> {{
  %0 = stablehlo.custom_call @it.sum_exp(%x) : (tensor<{size}xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"#
        );
        assert_eq!(run(&text, &zeros([size], F32))[0].item::<f32>().unwrap(), size as f32);
    }
}

/// Tests that a pass-through factor that only one of two results has is not split: the devices would have different
/// totals.
#[test]
fn a_factor_of_one_result_stays_whole() {
    let kernel = Kernel::new(
        |x, _| Ok(vec![TensorType::new(x[0].dtype, vec![x[0].shape[0]]), scalar_of(&x[0])]),
        |call| {
            let x = &call.operands[0];
            let rows: Vec<f32> = values(x).chunks(x.shape()[1]).map(|r| r.iter().sum()).collect();
            let total = rows.iter().sum::<f32>();
            Ok(vec![Literal::new(vec![rows.len()], &rows), Literal::new(Vec::<usize>::new(), &[total])])
        },
    );
    register("it.rows_and_total", kernel.with_rule("([i, j])->([i], []) reduction={j}")).unwrap();
    let text = r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8xf32>, tensor<f32>) {
  %0:2 = stablehlo.custom_call @it.rows_and_total(%x) : (tensor<8x4xf32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}"#;
    let out = run(text, &arange(0..32, F32).reshape([8, 4]));
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [6.0, 22.0, 38.0, 54.0, 70.0, 86.0, 102.0, 118.0]);
    assert_eq!(out[1].item::<f32>().unwrap(), 496.0);
}

/// Tests that a reduction factor that a result has is refused in a kernel's rule, and that such a rule of an op is
/// ignored.
#[test]
fn a_result_has_no_reduction_factor() {
    let kernel = || Kernel::new(|x, _| Ok(x.to_vec()), |call| Ok(call.operands.to_vec()));
    let rule = "([i])->([i]) reduction={i}";
    let wrong = register("it.kept", kernel().with_rule(rule)).unwrap_err();
    assert_eq!(wrong.diagnostics().next().unwrap().code(), "kernel-rule");
    register("it.same", kernel()).unwrap();
    let text = r#"sdy.mesh @mesh = <["X"=4]>
func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @it.same(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8} reduction={i}>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    let x = arange(0..8, F32);
    assert_eq!(run(text, &x)[0].to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
}

/// Tests that a factor that no operand has is not split: the kernel cannot know which part to compute.
#[test]
fn a_factor_of_no_operand_stays_whole() {
    let kernel = |shape: fn(&TensorType) -> Vec<usize>| {
        Kernel::new(
            move |x, _| Ok(vec![TensorType::new(x[0].dtype, shape(&x[0]))]),
            |call| {
                let shape = call.results[0].shape.to_vec();
                let n = shape.iter().product::<usize>();
                Ok(vec![Literal::new(shape, &(0..n).map(|i| i as f32).collect::<Vec<_>>())])
            },
        )
    };
    register("it.iota", kernel(|_| vec![8]).with_rule("([])->([i])")).unwrap();
    register("it.rows", kernel(|x| vec![x.shape[0], 8]).with_rule("([i])->([i, j])")).unwrap();
    for (name, from, to, layout) in [("iota", "", "8x", r#"{"X"}"#), ("rows", "1x", "1x8x", r#"{}, {"X"}"#)] {
        let text = format!(
            r#"sdy.mesh @mesh = <["X"=4]>
func.func public @main(%x: tensor<{from}f32>) -> (tensor<{to}f32> {{sdy.sharding = #sdy.sharding<@mesh, [{layout}]>}}) {{
  %0 = stablehlo.custom_call @it.{name}(%x) : (tensor<{from}f32>) -> tensor<{to}f32>
  return %0 : tensor<{to}f32>
}}"#
        );
        let x = if from.is_empty() { scalar(1.0, F32) } else { ones([1], F32) };
        assert_eq!(run(&text, &x)[0].to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}
