//! Tests programs for more devices than can be listed at each op.

use shardwise_base::{Account, Budget, CancelToken};
use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition};

/// Partitions a program under a limit of 1 MiB. A table with an entry for each of 2^20 devices does not fit. Returns
/// the text of the errors, or an empty text if there are none. Panics if the program cannot be read or the limit is
/// reached.
fn errors(text: &str) -> String {
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let budget = Budget::new(Account::with_limit(1 << 20), None, CancelToken::default());
    let made = budget.run(|| partition(&module, &mut Options::default()));
    made.expect("the limit is not reached").err().map_or(String::new(), |e| e.to_string())
}

/// Returns the errors of a program in which each device along the axis `x` adds a number that is computed from the
/// device's number by `op` with `operand`. The axis `y` is not manual.
fn position(mesh: &str, op: &str, operand: usize) -> String {
    errors(&format!(
        r#"sdy.mesh @mesh = <[{mesh}]>
func.func @main(%a: tensor<i32>) -> tensor<i32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, [], unreduced={{"x"}}>] manual_axes={{"x"}} (%p: tensor<i32>) {{
    %i = stablehlo.partition_id : tensor<ui32>
    %n = stablehlo.constant dense<{operand}> : tensor<ui32>
    %m = stablehlo.{op} %i, %n : tensor<ui32>
    %k = stablehlo.convert %m : (tensor<ui32>) -> tensor<i32>
    %r = stablehlo.add %p, %k : tensor<i32>
    sdy.return %r : tensor<i32>
  }} : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}}"#
    ))
}

/// Tests on meshes of 2^18 devices that a number computed from a device's number is accepted if it depends on the
/// position along `x` alone, and refused otherwise. The devices with one position along `x`, which have to agree, are
/// every second device or one half of the devices.
#[test]
fn positions_are_followed_on_meshes_of_every_size() {
    let refused = |text: String| text.contains("reads the device's position along \"y\"");
    let (small, large) = (r#""y"=131072, "x"=2"#, r#""x"=2, "y"=131072"#);
    assert_eq!(position(small, "remainder", 2), "");
    assert!(refused(position(small, "remainder", 4)));
    assert_eq!(position(large, "divide", 131_072), "");
    assert!(refused(position(large, "divide", 65_536)));
    // Only the last device of each group differs.
    assert!(refused(position(large, "divide", 131_071)));
}

#[test]
fn reshards_of_a_million_devices_need_no_list_of_them() {
    let bits: Vec<String> = (0..20).map(|i| format!("\"a{i}\"=2")).collect();
    let names = |numbers: &[usize]| numbers.iter().map(|i| format!("\"a{i}\"")).collect::<Vec<_>>().join(", ");
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..20).partition(|i| i % 2 == 0);
    let split = |first: &[usize], second: &[usize]| format!("[{{{}}}, {{{}}}]", names(first), names(second));
    let all: Vec<usize> = (0..20).collect();
    let two = r#""x"=1024, "y"=1024"#.to_string();
    let twenty = bits.join(", ");
    let cases = [
        (&two, r#"[{"x"}, {"y"}]"#.into(), r#"[{"y"}, {"x"}]"#.into()),
        (&two, r#"[{"x", "y"}, {}]"#.into(), r#"[{}, {"y", "x"}]"#.into()),
        (&two, r#"[{"x"}, {}]"#.into(), r#"[{}, {}]"#.into()),
        (&two, r#"[{"y":(1)32}, {"x":(32)32}]"#.into(), r#"[{"x":(1)32, "y"}, {}]"#.into()),
        (&twenty, split(&even, &odd), split(&odd, &even)),
        (&twenty, split(&all, &[]), split(&[], &all)),
    ];
    for (mesh, from, to) in cases {
        let text = format!(
            "sdy.mesh @mesh = <[{mesh}]>\nfunc.func @main(%x: tensor<1048576x1048576xf32> {{sdy.sharding = \
             #sdy.sharding<@mesh, {from}>}}) -> (tensor<1048576x1048576xf32> {{sdy.sharding = #sdy.sharding<@mesh, \
             {to}>}}) {{\n  return %x : tensor<1048576x1048576xf32>\n}}"
        );
        assert_eq!(errors(&text), "", "{from} -> {to}");
    }
}
