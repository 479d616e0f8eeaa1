//! Functions with derivatives of their own, in programs in text form.

mod common;

use common::{check, numbers, parse, printed, run, values, with_main};
use shardwise_base::Literal;
use shardwise_ir::verify;
use shardwise_transform::{Batch, BatchAxis, Request, jvp, value_and_gradient, vjp, vmap, vmap_with};

/// Returns a program that computes x^2 y, for the sine of the argument as x, by a function with a custom derivative.
/// Its rule is one for tangents if `rule` is "jvp", or else for cotangents. By the rule, the derivative in x is
/// `factor` x y, which is right for 2.
fn program(rule: &str, factor: f64) -> String {
    let attributes = match rule {
        "jvp" => "{args = 2 : i64, jvp = @rule}",
        _ => "{args = 2 : i64, bwd = @bwd, fwd = @fwd}",
    };
    format!(
        r#"func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {{
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.composite "shardwise.custom_{rule}" %0, %y {{composite_attributes = {attributes}, decomposition = @f}} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}}
func.func private @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {{
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  return %1 : tensor<3xf64>
}}
func.func private @rule(%x: tensor<3xf64>, %y: tensor<3xf64>, %dx: tensor<3xf64>, %dy: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {{
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  %2 = stablehlo.multiply %x, %y : tensor<3xf64>
  %3 = stablehlo.constant dense<{factor:?}> : tensor<3xf64>
  %4 = stablehlo.multiply %2, %3 : tensor<3xf64>
  %5 = stablehlo.multiply %4, %dx : tensor<3xf64>
  %6 = stablehlo.multiply %0, %dy : tensor<3xf64>
  %7 = stablehlo.add %5, %6 : tensor<3xf64>
  return %1, %7 : tensor<3xf64>, tensor<3xf64>
}}
func.func private @fwd(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {{
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  return %1, %x, %y : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}}
func.func private @bwd(%x: tensor<3xf64>, %y: tensor<3xf64>, %ct: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {{
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.multiply %x, %y : tensor<3xf64>
  %2 = stablehlo.constant dense<{factor:?}> : tensor<3xf64>
  %3 = stablehlo.multiply %1, %2 : tensor<3xf64>
  %4 = stablehlo.multiply %3, %ct : tensor<3xf64>
  %5 = stablehlo.multiply %0, %ct : tensor<3xf64>
  return %4, %5 : tensor<3xf64>, tensor<3xf64>
}}"#
    )
}

#[test]
fn a_true_rule_agrees_with_differences() {
    check(&program("jvp", 2.0));
}

#[test]
fn transforms_use_the_rule() {
    let plain = parse(&program("jvp", 2.0));
    for rule in ["jvp", "vjp"] {
        let marked = parse(&program(rule, 20.0));
        let gradient = |module: &shardwise_ir::Module| {
            let back = with_main(module, vjp(module, module.main().unwrap(), &[0, 1]).unwrap());
            let out = run(&back, &numbers(&back, 0));
            (values(&out[1]), values(&out[2]))
        };
        let ((dx, dy), (own_dx, own_dy)) = (gradient(&plain), gradient(&marked));
        assert!(dx.iter().zip(&own_dx).all(|(a, b)| (10.0 * a - b).abs() < 1e-12), "{dx:?} {own_dx:?}");
        assert_eq!(dy, own_dy);
    }
}

#[test]
fn a_rule_for_cotangents_has_no_forward_mode() {
    let module = parse(&program("vjp", 2.0));
    let wrong = jvp(&module, module.main().unwrap(), &[0]).unwrap_err().to_string();
    assert!(wrong.contains("custom-vjp-forward") && wrong.contains("test.mlir:3"), "{wrong}");
    // Arguments that are not differentiated do not need it.
    let module = parse(&program("vjp", 2.0).replace(
        "stablehlo.composite \"shardwise.custom_vjp\" %0, %y",
        "stablehlo.composite \"shardwise.custom_vjp\" %y, %y",
    ));
    assert!(jvp(&module, module.main().unwrap(), &[0]).is_ok());
}

#[test]
fn batches_have_batched_rules() {
    for rule in ["jvp", "vjp"] {
        let module = parse(&program(rule, 20.0));
        let batch = Request::parse("vmap{args=0,size=2}").unwrap().unwrap().run(&module).unwrap();
        assert!(verify(&batch).is_empty());
        let batch = parse(&printed(&batch));
        assert_eq!(batch.funcs.len(), module.funcs.len() - if rule == "jvp" { 2 } else { 1 });
        let args = numbers(&batch, 0);
        let each = vjp(&module, module.main().unwrap(), &[0, 1]).unwrap();
        let each = with_main(&module, each);
        let all = vjp(&batch, batch.main().unwrap(), &[0, 1]).unwrap();
        let all = with_main(&batch, all);
        let ct = numbers(&all, 1).pop().unwrap();
        let found = run(&all, &[args[0].clone(), args[1].clone(), ct.clone()]);
        let mut sum = [0.0; 3];
        for i in 0..2 {
            let row =
                |x: &shardwise_base::Literal| shardwise_base::Literal::new(vec![3usize], &values(x)[3 * i..3 * i + 3]);
            let own = run(&each, &[row(&args[0]), args[1].clone(), row(&ct)]);
            assert_eq!(values(&own[1]), values(&found[1])[3 * i..3 * i + 3]);
            sum.iter_mut().zip(values(&own[2])).for_each(|(s, v)| *s += v);
        }
        // `y` is the same for both indices, so that its cotangents add up.
        assert!(sum.iter().zip(values(&found[2])).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

#[test]
fn batched_rules_are_returned_with_the_batch() {
    let module = parse(&program("jvp", 2.0));
    let batch = vmap(&module, module.main().unwrap(), &[0], 2).unwrap();
    assert_eq!(batch.added.iter().map(|f| &*f.name).collect::<Vec<_>>(), ["f_batch", "rule_batch"]);
}

#[test]
fn batches_of_one_function_with_two_rules_are_two() {
    let rule = |name: &str, factor: f64| {
        format!(
            r#"func.func private @{name}(%x: tensor<f64>, %dx: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
  %c = stablehlo.constant dense<{factor:?}> : tensor<f64>
  %0 = stablehlo.multiply %c, %dx : tensor<f64>
  return %x, %0 : tensor<f64>, tensor<f64>
}}
"#
        )
    };
    let call = |result: &str, x: &str, rule: &str| {
        format!(
            "  {result} = stablehlo.composite \"shardwise.custom_jvp\" {x} {{composite_attributes = {{args = 1 : i64, \
             jvp = @{rule}}}, decomposition = @f}} : (tensor<f64>) -> tensor<f64>\n"
        )
    };
    let module = parse(&format!(
        "func.func public @main(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{\n{}{}  \
         return %0, %1 : tensor<f64>, tensor<f64>\n}}\n\
         func.func private @f(%x: tensor<f64>) -> tensor<f64> {{\n  return %x : tensor<f64>\n}}\n{}{}",
        call("%0", "%x", "first"),
        call("%1", "%x", "second"),
        rule("first", 2.0),
        rule("second", 3.0),
    ));
    let made = vmap(&module, module.main().unwrap(), &[0], 2).unwrap();
    let mut whole = module.clone();
    whole.funcs.extend(made.added);
    let batch = with_main(&whole, made.func);
    let tangents = with_main(&batch, jvp(&batch, batch.main().unwrap(), &[0]).unwrap());
    let found = run(&tangents, &[Literal::new([2], &[1.0f64, 1.0]), Literal::new([2], &[1.0f64, 1.0])]);
    let found: Vec<f64> = found[2..].iter().flat_map(|x| x.as_slice::<f64>().to_vec()).collect();
    assert_eq!(found, [2.0, 2.0, 3.0, 3.0]);
}

#[test]
fn a_batch_over_a_manual_axis_is_one_of_its_own() {
    let call = |x: &str| {
        format!(
            "stablehlo.composite \"shardwise.custom_jvp\" {x} {{composite_attributes = {{args = 1 : i64, jvp = @rule}}, \
             decomposition = @f}} : (tensor<4xf64>) -> tensor<4xf64>"
        )
    };
    let module = parse(&format!(
        r#"sdy.mesh @mesh = <["x"=2]>
func.func public @main(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {{
  %0 = {}
  %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{}}]>] out_shardings=[<@mesh, [{{}}]>] manual_axes={{"x"}} (%a: tensor<4xf64>) {{
    %2 = {}
    sdy.return %2 : tensor<4xf64>
  }} : (tensor<4xf64>) -> tensor<4xf64>
  return %0, %1 : tensor<4xf64>, tensor<4xf64>
}}
func.func private @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %0 = stablehlo.sine %x {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}]>]>}} : tensor<4xf64>
  return %0 : tensor<4xf64>
}}
func.func private @rule(%x: tensor<4xf64>, %dx: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {{
  %0 = stablehlo.sine %x : tensor<4xf64>
  %1 = stablehlo.cosine %x : tensor<4xf64>
  %2 = stablehlo.multiply %1, %dx : tensor<4xf64>
  return %0, %2 : tensor<4xf64>, tensor<4xf64>
}}"#,
        call("%x"),
        call("%a")
    ));
    // Three indices cannot be split over two devices, so that each device has the whole batch where `x` is manual.
    let batch = Batch { size: 3, has_all: true, axis: None, layout: &[BatchAxis::whole("x")] };
    let made = vmap_with(&module, module.main().unwrap(), &[0], batch).unwrap();
    let batches = made.added.iter().filter(|f| f.name.starts_with("f_batch"));
    let sharding = |f: &shardwise_ir::Func| f.body.sharding(f.body.results()[0]).unwrap().dims[0].axes.len();
    assert_eq!(batches.map(sharding).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn functions_that_do_not_fit_are_refused() {
    let refused = |text: &str| match shardwise_ir::text::parse("test.mlir", text, &shardwise_ops::OPS) {
        Ok(module) => verify(&module).to_string(),
        Err(e) => e.to_string(),
    };
    let program = program("vjp", 2.0);
    for (from, to) in [
        ("args = 2", "args = 1"),
        ("args = 2", "args = 3"),
        ("bwd = @bwd", "bwd = @fwd"),
        ("fwd = @fwd", "fwd = @none"),
    ] {
        let found = refused(&program.replacen(from, to, 1));
        assert!(found.contains("custom-rule"), "{to}: {found}");
    }
    assert_eq!(refused(&program), "");
    let gradient = value_and_gradient(&parse(&program), parse(&program).main().unwrap(), &[0]);
    assert!(gradient.is_err(), "the result is no scalar");
}

/// Checks that reverse mode refuses rules that are not linear in tangents, however they use them.
#[test]
fn rules_that_are_not_linear_have_no_reverse_mode() {
    let uses = [
        ("%5 = stablehlo.multiply %dx, %dx : tensor<3xf64>", "multiply"),
        ("%5 = stablehlo.divide %x, %dx : tensor<3xf64>", "divide"),
        ("%5 = stablehlo.sine %dx : tensor<3xf64>", "sine"),
        ("%5 = stablehlo.maximum %dx, %x : tensor<3xf64>", "maximum"),
        (
            "%a = stablehlo.compare GT, %dx, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  %5 = stablehlo.select %a, %x, %dx : tensor<3xi1>, tensor<3xf64>",
            "compare",
        ),
        (
            "%a = stablehlo.constant dense<1.0> : tensor<f64>
  %b = stablehlo.reduce(%dx init: %a) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  %5 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f64>) -> tensor<3xf64>",
            "reduce",
        ),
        (
            "%a = stablehlo.convert %dx : (tensor<3xf64>) -> tensor<3xi32>
  %5 = stablehlo.convert %a : (tensor<3xi32>) -> tensor<3xf64>",
            "convert",
        ),
    ];
    for (line, op) in uses {
        let source = program("jvp", 2.0).replace("%5 = stablehlo.multiply %4, %dx : tensor<3xf64>", line);
        let module = parse(&source);
        assert_eq!(verify(&module).to_string(), "", "{source}");
        let wrong = vjp(&module, module.main().unwrap(), &[0]).unwrap_err().to_string();
        assert!(wrong.contains("no-transpose") && wrong.contains(op), "{wrong}");
        assert!(jvp(&module, module.main().unwrap(), &[0]).is_ok());
    }
    // An op whose results nothing uses does no harm.
    let unused = program("jvp", 2.0)
        .replace("%7 = stablehlo.add", "%8 = stablehlo.sine %dx : tensor<3xf64>\n  %7 = stablehlo.add");
    check(&unused);
}

/// Checks a rule that passes tangents to functions, one of which has a rule of its own and a loop.
#[test]
fn rules_may_pass_tangents_to_functions() {
    let source = program("jvp", 2.0).replace(
        "%5 = stablehlo.multiply %4, %dx : tensor<3xf64>",
        r#"%8 = stablehlo.composite "test.twice" %dx {decomposition = @twice} : (tensor<3xf64>) -> tensor<3xf64>
  %9 = stablehlo.divide %4, %3 : tensor<3xf64>
  %5 = stablehlo.multiply %9, %8 : tensor<3xf64>"#,
    );
    let functions = r#"
func.func private @twice(%x: tensor<3xf64>) -> tensor<3xf64> {
  %from = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf64>
  %w:2 = stablehlo.while(%i = %from, %sum = %zero) : tensor<i32>, tensor<3xf64> cond {
    %to = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %to : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %next = func.call @sum(%sum, %x) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    stablehlo.return %j, %next : tensor<i32>, tensor<3xf64>
  }
  return %w#1 : tensor<3xf64>
}
func.func private @sum(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.add %x, %y : tensor<3xf64>
  return %0 : tensor<3xf64>
}"#;
    check(&(source + functions));
}
