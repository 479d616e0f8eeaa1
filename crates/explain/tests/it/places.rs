//! The places of a program whose layouts can be changed, and the changed programs.

use crate::{explained, parsed};
use shardwise_base::Sharding;
use shardwise_explain::{Change, Place, layouts, specs};
use shardwise_ir::Module;
use shardwise_ir::text::{PrintOptions, print};

const CONSTRAINED: &str = r#"sdy.mesh @mesh = <["X"=4, "Y"=2, "one"=1]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, %s: tensor<f32>)
    -> (tensor<8x8xf32>, tensor<f32>) {
  %0 = stablehlo.negate %x : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"Y"}, {}]> : tensor<8x8xf32>
  %2 = stablehlo.add %1, %0 : tensor<8x8xf32>
  return %2, %s : tensor<8x8xf32>, tensor<f32>
}"#;

fn changed(module: &Module, place: Place, layout: Option<Sharding>) -> String {
    let module = Change { place, layout }.apply(module);
    let module = shardwise_ir::verify(&module).or(module).unwrap_or_else(|e| panic!("{e}"));
    print(&module, &PrintOptions::default())
}

#[test]
fn scalars_have_no_layout() {
    let module = parsed("a.mlir", CONSTRAINED);
    let places: Vec<Place> = specs(&module).into_iter().map(|spec| spec.place).collect();
    assert!(matches!(places[..], [Place::Argument(0), Place::Result(0), Place::Constraint(..)]), "{places:?}");
}

/// Two axes split two dimensions: neither (1), one of them (2 x 2), both on different dimensions (2), or both on one
/// dimension in any order (2 x 2), which makes 11. The stated layout is left out, and the axis of size 1 is not used.
#[test]
fn layouts_are_listed_once() {
    let module = parsed("a.mlir", CONSTRAINED);
    let mesh = module.main_mesh().unwrap();
    let specs = specs(&module);
    let counts: Vec<usize> = specs.iter().map(|spec| layouts(spec, mesh).len()).collect();
    assert_eq!(counts, [10, 11, 10]);
    let all: Vec<String> = layouts(&specs[1], mesh).iter().map(|layout| layout.to_string()).collect();
    let mut unique = all.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), all.len());
    assert!(!all.iter().any(|layout| layout.contains("one")), "{all:?}");
}

/// No dimension has more shards than elements, and an empty one is not split.
#[test]
fn small_dimensions_are_split_less() {
    let of = |shape: &str| {
        let text =
            format!("sdy.mesh @mesh = <[\"X\"=4, \"Y\"=2]>\nfunc.func @main(%x: tensor<{shape}xf32>) {{\nreturn\n}}");
        let module = parsed("a.mlir", &text);
        layouts(&specs(&module)[0], module.main_mesh().unwrap()).len()
    };
    // None; "Y" on either; "X" on the second; "Y" and "X" on different ones; both orders on the second.
    assert_eq!(of("2x8"), 7);
    assert_eq!(of("3"), 2);
    assert_eq!(of("1x1"), 1);
    assert_eq!(of("0x2"), 2);
}

#[test]
fn a_new_constraint_follows_the_op_and_serves_all_uses() {
    let module = parsed("a.mlir", CONSTRAINED);
    let mesh = module.main_mesh().unwrap();
    let main = module.func_id("main").unwrap();
    let first = module[main].body[module[main].body.entry()].ops[0];
    let text = changed(&module, Place::After(main, first), Some(Sharding::replicated(mesh, 2)));
    let body: Vec<&str> =
        text.lines().filter(|line| line.contains(" = ") && line.contains('%')).map(str::trim).collect();
    assert!(body.iter().any(|line| line.starts_with("%1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]>")), "{text}");
    assert!(
        body.iter().any(|line| line.starts_with("%2 = sdy.sharding_constraint %1 <@mesh, [{\"Y\"}, {}]>")),
        "{text}"
    );
    assert!(body.iter().any(|line| line.starts_with("%3 = stablehlo.add %2, %1")), "{text}");
}

#[test]
fn a_constraint_is_changed_or_removed() {
    let module = parsed("a.mlir", CONSTRAINED);
    let place = specs(&module)[2].place;
    let without = changed(&module, place, None);
    assert!(!without.contains("sharding_constraint"), "{without}");
    assert!(without.contains("stablehlo.add %0, %0"), "{without}");
    let mesh = module.main_mesh().unwrap();
    let whole = changed(&module, place, Some(Sharding::replicated(mesh, 2)));
    assert!(whole.contains("sdy.sharding_constraint %0 <@mesh, [{}, {}]>"), "{whole}");
}

/// Shardy's collectives state how they change the layouts of the argument and of `%0`, but not that of the result.
#[test]
fn what_collectives_of_the_source_read_keeps_its_layout() {
    let text = r#"sdy.mesh @mesh = <["x"=4, "y"=4]>
func.func @main(%x: tensor<16x31xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<16x31xf32> {
  %0 = sdy.all_to_all [{"x"}: 0->1] %x out_sharding=<@mesh, [{}, {"x"}]> : tensor<16x31xf32>
  %1 = sdy.all_slice [{"y"}, {}] %0 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<16x31xf32>
  return %1 : tensor<16x31xf32>
}"#;
    let e = explained(text);
    assert_eq!(e.spec_count, 1, "{e}");
    let module = e.program.clone();
    let main = module.func_id("main").unwrap();
    let first = module[main].body[module[main].body.entry()].ops[0];
    for remedy in &e.remedies {
        let place = remedy.change.place;
        assert!(place != Place::Argument(0) && place != Place::After(main, first), "{e}");
    }
    assert!(e.notes.iter().any(|note| note.starts_with("the layouts of 1 value were kept")), "{e}");
}

/// The mesh is not declared, because the program writes it where it uses it.
#[test]
fn a_mesh_that_the_program_does_not_declare_is_named() {
    let text = r#"func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=4]>, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=4]>, [{}, {"x"}]>}) {
  return %x : tensor<8x8xf32>
}"#;
    let note = "layouts are written over the mesh @";
    let e = explained(text);
    assert!(e.notes.iter().any(|n| n.starts_with(note) && n.contains(r#""x"=4"#)), "{e}");
    assert!(explained(CONSTRAINED).notes.iter().all(|n| !n.starts_with(note)));
}

#[test]
fn manual_axes_are_not_used() {
    let text = r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"X"}, {}]>] out_shardings=[<@mesh, [{"X"}, {}]>] manual_axes={"X"} (%a: tensor<2x8xf32>) {
    %1 = sdy.sharding_constraint %a <@mesh, [{}, {"Y"}]> : tensor<2x8xf32>
    sdy.return %1 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}"#;
    let module = parsed("a.mlir", text);
    let specs = specs(&module);
    let inside = specs.iter().find(|spec| matches!(spec.place, Place::Constraint(..))).expect("there is one");
    let all: Vec<String> =
        layouts(inside, module.main_mesh().unwrap()).iter().map(|layout| layout.to_string()).collect();
    assert_eq!(all, [r#"<@mesh, [{}, {}]>"#, r#"<@mesh, [{"Y"}, {}]>"#]);
}
