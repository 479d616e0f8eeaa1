//! Mistakes in text: each is a diagnostic with its place, and nothing is deep, large or long enough to break the
//! parser.

use expect_test::{Expect, expect};
use shardwise_ir::difference;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::OPS;

fn mistakes(text: &str) -> String {
    match parse("t.mlir", text, &OPS) {
        Ok(_) => "no mistake".to_string(),
        Err(found) => found.to_string(),
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&mistakes(text));
}

fn check_body(body: &str, expected: Expect) {
    let mesh = "sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>";
    check(&format!("{mesh}\nfunc.func @main(%a: tensor<8x4xf32>) {{\n{body}\nreturn\n}}\n"), expected);
}

fn check_code(text: &str, code: &str) {
    let found = mistakes(text);
    let shown: String = found.chars().take(400).collect();
    assert!(found.starts_with(&format!("error[{code}]")), "expected {code}, found {shown}");
}

#[test]
fn something_else_than_expected() {
    check_body(
        "  %0 = stablehlo.add %a %a : tensor<8x4xf32>",
        expect![[r#"
        error[text-syntax]: unexpected `%a`
          --> t.mlir:3:25
           | %0 = stablehlo.add %a %a : tensor<8x4xf32>
           |                       ^
           = expected: `,`"#]],
    );
    check_body(
        "  %0 = stablehlo.add %a, %a",
        expect![[r#"
        error[text-syntax]: unexpected `return`
          --> t.mlir:3:28
           | %0 = stablehlo.add %a, %a
           |                          ^
           = expected: `:`"#]],
    );
    check_body(
        "  %0 = stablehlo.add %a, ; : tensor<8x4xf32>",
        expect![[r#"
        error[text-syntax]: unexpected `;`
          --> t.mlir:3:26
           | %0 = stablehlo.add %a, ; : tensor<8x4xf32>
           |                        ^
           = expected: a value such as %0"#]],
    );
    check(
        "func.func @main(%a: tensor<8x4xf32) {",
        expect![[r#"
        error[text-syntax]: unexpected `)`
          --> t.mlir:1:35
           | func.func @main(%a: tensor<8x4xf32) {
           |                                   ^
           = expected: `>`"#]],
    );
    check(
        "module @m {\n  stablehlo.add\n}",
        expect![[r#"
        error[text-syntax]: unexpected `stablehlo.add`
          --> t.mlir:2:3
           | stablehlo.add
           | ^
           = expected: `func.func`, `sdy.mesh` or the end of the module"#]],
    );
}

#[test]
fn an_unknown_op() {
    check_body(
        "  %0 = stablehlo.ad %a, %a : tensor<8x4xf32>",
        expect![[r#"
        error[text-op]: there is no op `stablehlo.ad`
          --> t.mlir:3:8
           | %0 = stablehlo.ad %a, %a : tensor<8x4xf32>
           |      ^
           = help: did you mean `stablehlo.add`?"#]],
    );
    check_body(
        "  %0 = tanh %a : tensor<8x4xf32>",
        expect![[r#"
        error[text-op]: there is no op `tanh`
          --> t.mlir:3:8
           | %0 = tanh %a : tensor<8x4xf32>
           |      ^
           = help: did you mean `stablehlo.tanh`?"#]],
    );
    // In the generic form the rest is read all the same, and every unknown op is reported.
    check_body(
        "  %0 = \"mhlo.dot\"(%a, %a) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %1 = \"stablehlo.gathr\"(%0) {x = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>",
        expect![[r#"
            error[text-op]: there is no op `mhlo.dot`
              --> t.mlir:3:8
               | %0 = "mhlo.dot"(%a, %a) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
               |      ^
               = help: the op is not supported: rewrite the program without it
            error[text-op]: there is no op `stablehlo.gathr`
              --> t.mlir:4:8
               | %1 = "stablehlo.gathr"(%0) {x = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
               |      ^
               = help: did you mean `stablehlo.gather`?"#]],
    );
}

#[test]
fn axes_that_do_not_fit() {
    let constraint = |sharding: &str| format!("  %0 = sdy.sharding_constraint %a {sharding} : tensor<8x4xf32>");
    check_body(
        &constraint(r#"<@mesh, [{"modle"}, {}]>"#),
        expect![[r#"
        error[sharding-axis]: mesh `@mesh` has no axis "modle"
          --> t.mlir:3:45
           | %0 = sdy.sharding_constraint %a <@mesh, [{"modle"}, {}]> : tensor<8x4xf32>
           |                                           ^
           = mesh: data=4, model=2
           = help: did you mean "model"?"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{"batch"}, {}]>"#),
        expect![[r#"
        error[sharding-axis]: mesh `@mesh` has no axis "batch"
          --> t.mlir:3:45
           | %0 = sdy.sharding_constraint %a <@mesh, [{"batch"}, {}]> : tensor<8x4xf32>
           |                                           ^
           = mesh: data=4, model=2"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{"data"}, {"data"}]>"#),
        expect![[r#"
        error[sharding-axis-twice]: axis "data" is used twice in one sharding
          --> t.mlir:3:55
           | %0 = sdy.sharding_constraint %a <@mesh, [{"data"}, {"data"}]> : tensor<8x4xf32>
           |                                                     ^
           = mesh: data=4, model=2
           = help: an axis can split one dimension, or be replicated or unreduced, once"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{"data":(1)2}, {}], replicated={"data"}>"#),
        expect![[r#"
        error[sharding-axis-twice]: axis "data" overlaps "data":(1)2 in one sharding, or splits the axis differently
          --> t.mlir:3:76
           | …ding_constraint %a <@mesh, [{"data":(1)2}, {}], replicated={"data"}> : tensor<8x4xf32>
           |                                                              ^
           = mesh: data=4, model=2
           = help: an axis can split one dimension, or be replicated or unreduced, once"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{"data":(1)3}, {}]>"#),
        expect![[r#"
        error[sharding-axis]: axis "data" has no sub-axis (1)3
          --> t.mlir:3:45
           | %0 = sdy.sharding_constraint %a <@mesh, [{"data":(1)3}, {}]> : tensor<8x4xf32>
           |                                           ^
           = mesh: data=4, model=2
           = help: a sub-axis (m)k needs m >= 1 and k >= 2, m * k must divide the axis' size, and it must not be the whole axis"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{}, {}, {"data"}]>"#),
        expect![[r#"
            error[sharding-rank]: the sharding of result 0 has 3 dimensions, and its type has 2
              --> t.mlir:3:8
               | %0 = sdy.sharding_constraint %a <@mesh, [{}, {}, {"data"}]> : tensor<8x4xf32>
               |      ^
               | its type: tensor<8x4xf32>
               = help: write one `{..}` for each dimension, and `{}` for a dimension that is not split"#]],
    );
    check_body(
        &constraint(r#"<@mush, [{}, {}]>"#),
        expect![[r#"
        error[text-mesh]: there is no mesh `@mush`
          --> t.mlir:3:36
           | %0 = sdy.sharding_constraint %a <@mush, [{}, {}]> : tensor<8x4xf32>
           |                                  ^
           = note: the module's meshes: @mesh
           = help: did you mean `@mesh`?"#]],
    );
    check_body(
        &constraint(r#"<@mesh, [{}, {}], unreduced=max{"data"}>"#),
        expect![[r#"
        error[text-unsupported]: unreduced maxima and minima are not supported
          --> t.mlir:3:63
           | %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced=max{"data"}> : tensor<8x4xf32>
           |                                                             ^
           = help: reduce the value before it leaves its op, or use a sum"#]],
    );
    check(
        "sdy.mesh @mesh = <[\"x\"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  return %a : tensor<8xf32>
}",
        expect![[r#"
            error[sharding-rank]: the sharding of result 0 has 0 dimensions, and its type has 1
              --> t.mlir:2:91
               | …32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
               |                                                              ^
               | its type: tensor<8xf32>
               = help: write one `{..}` for each dimension, and `{}` for a dimension that is not split
            error[sharding-rank]: the sharding of `%a` has 2 dimensions, and its type has 1
              --> t.mlir:2:17
               | func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8xf32> {sdy.sharding = …
               |                 ^
               | its type: tensor<8xf32>
               = help: write one `{..}` for each dimension, and `{}` for a dimension that is not split"#]],
    );
    check(
        "func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {\n  return\n}",
        expect![[r#"
        error[text-mesh]: there is no mesh `@mesh`
          --> t.mlir:1:65
           | ….func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
           |                                                              ^
           = help: define it in the module: `sdy.mesh @mesh = <["x"=2]>`"#]],
    );
    check(
        "sdy.mesh @mesh = <[\"x\"=2, \"x\"=4]>",
        expect![[r#"
        error[mesh]: the mesh has two axes named "x"
          --> t.mlir:1:18
           | sdy.mesh @mesh = <["x"=2, "x"=4]>
           |                  ^
           = help: give each axis a name of its own"#]],
    );
    check(
        "sdy.mesh @mesh = <[\"x\"=99999999, \"y\"=99999999]>",
        expect![[r#"
        error[mesh]: the mesh has more than 1048576 devices
          --> t.mlir:1:18
           | sdy.mesh @mesh = <["x"=99999999, "y"=99999999]>
           |                  ^
           = help: use a smaller mesh"#]],
    );
}

#[test]
fn values_that_do_not_fit() {
    check_body(
        "  %0 = stablehlo.abs %b : tensor<8x4xf32>",
        expect![[r#"
        error[text-value]: `%b` is not defined here
          --> t.mlir:3:22
           | %0 = stablehlo.abs %b : tensor<8x4xf32>
           |                    ^
           = help: did you mean `%a`?"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a : tensor<8x5xf32>",
        expect![[r#"
        error[text-value-type]: `%a` is used with a type that differs from its own
          --> t.mlir:3:22
           | %0 = stablehlo.abs %a : tensor<8x5xf32>
           |                    ^
           | its type: tensor<8x4xf32>
           | used as:  tensor<8x5xf32>"#]],
    );
    check_body(
        "  %0:2 = stablehlo.abs %a : tensor<8x4xf32>",
        expect![[r#"
            error[text-results]: the op has 1 result, and names for 2
              --> t.mlir:3:10
               | %0:2 = stablehlo.abs %a : tensor<8x4xf32>
               |        ^"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a#1 : tensor<8x4xf32>",
        expect![[r#"
        error[text-value]: `%a` has no result 1
          --> t.mlir:3:22
           | %0 = stablehlo.abs %a#1 : tensor<8x4xf32>
           |                    ^"#]],
    );
    check_body(
        "  %a = stablehlo.abs %a : tensor<8x4xf32>",
        expect![[r#"
        error[text-value]: `%a` is defined twice
          --> t.mlir:3:3
           | %a = stablehlo.abs %a : tensor<8x4xf32>
           | ^
           = help: rename one of them"#]],
    );
    check_body(
        "  %0 = stablehlo.reshape %a : (tensor<8x4xf32>, tensor<f32>) -> tensor<32xf32>",
        expect![[r#"
            error[text-operands]: the op has 1 operand, and types for 2
              --> t.mlir:3:26
               | %0 = stablehlo.reshape %a : (tensor<8x4xf32>, tensor<f32>) -> tensor<32xf32>
               |                        ^"#]],
    );
}

#[test]
fn numbers_in_another_notation_show_the_right_one() {
    for (elements, ty, expected) in [
        ("1e5", "f32", "`1e5` is no number in MLIR's notation"),
        ("1e5", "f32", "write a float as 1.0e5"),
        ("[-2E-5]", "1xf32", "write a float as -2.0E-5"),
        ("inf", "f32", "infinities and NaNs are written as their bits, such as 0x7F800000 for f32"),
        ("-NaN", "f32", "infinities and NaNs are written as their bits"),
        (".5", "f32", "expected: an element, or `>` after the elements"),
        ("[1.0]", "1x1xf32", "expected: `[`, which begins a list for dimension 1 of tensor<1x1xf32>"),
        ("1.0", "complex<f32>", "expected: a complex number such as (1.0, 2.0)"),
        ("1.0", "2 x f32", "expected: `x` directly after the size, and then the next size or the element type"),
    ] {
        let found = mistakes(&in_func(&format!("%0 = stablehlo.constant dense<{elements}> : tensor<{ty}>")));
        assert!(found.contains(expected), "{elements}: {found}");
    }
    let found = mistakes(&in_func("%0 = stablehlo.constant dense<0x1e5> : tensor<i32>"));
    assert!(!found.contains("notation"), "{found}");
}

#[test]
fn shardings_in_another_notation_show_the_right_one() {
    let body = r#"%0 = stablehlo.abs %p {sdy.sharding = "x"} : tensor<i32>"#;
    let found = mistakes(&in_func(body));
    assert!(found.contains("attribute `sdy.sharding` must be the shardings of the results"), "{found}");
    let text = r#"func.func @main(%a: tensor<8xf32> {sdy.sharding = "x"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}"#;
    let found = mistakes(text);
    assert!(found.contains("attribute `sdy.sharding` must be a sharding, such as `#sdy.sharding<"), "{found}");
}

#[test]
fn types_and_literals_that_do_not_fit() {
    check_body(
        "  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>",
        expect![[r#"
        error[text-literal]: a list has 3 elements, and dimension 0 of tensor<2xi32> has size 2
          --> t.mlir:3:33
           | %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>
           |                               ^"#]],
    );
    check_body(
        "  %0 = stablehlo.constant dense<1> : tensor<2xf32>",
        expect![[r#"
        error[text-literal]: an integer is not f32: write 1.0
          --> t.mlir:3:33
           | %0 = stablehlo.constant dense<1> : tensor<2xf32>
           |                               ^"#]],
    );
    check_body(
        "  %0 = stablehlo.constant dense<300> : tensor<i8>",
        expect![[r#"
        error[text-literal]: the number does not fit i8
          --> t.mlir:3:33
           | %0 = stablehlo.constant dense<300> : tensor<i8>
           |                               ^"#]],
    );
    check_body(
        "  %0 = stablehlo.constant dense<\"0x00\"> : tensor<2xf32>",
        expect![[r#"
            error[text-literal]: the hexadecimal string has 1 byte, and tensor<2xf32> needs 8
              --> t.mlir:3:33
               | %0 = stablehlo.constant dense<"0x00"> : tensor<2xf32>
               |                               ^"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a : tensor<8x4xfloat>",
        expect![[r#"
        error[text-type]: type `float` is not supported
          --> t.mlir:3:38
           | %0 = stablehlo.abs %a : tensor<8x4xfloat>
           |                                    ^"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a : f32",
        expect![[r#"
        error[text-type]: `f32` is the type of an element, not of a value
          --> t.mlir:3:27
           | %0 = stablehlo.abs %a : f32
           |                         ^
           = help: a single number is a tensor without dimensions: tensor<f32>"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a : complex<f32>",
        expect![[r#"
            error[text-type]: `complex` is the type of an element, not of a value
              --> t.mlir:3:27
               | %0 = stablehlo.abs %a : complex<f32>
               |                         ^
               = help: a single number is a tensor without dimensions: tensor<complex<..>>"#]],
    );
    check_body(
        "  %0 = stablehlo.abs %a : tensor<2xtensor<3xf32>>",
        expect![[r#"
            error[text-type]: `tensor` is the type of a value, not of an element
              --> t.mlir:3:36
               | %0 = stablehlo.abs %a : tensor<2xtensor<3xf32>>
               |                                  ^
               = help: write the type of one element, such as `f32`"#]],
    );
    for name in ["tuple<tensor<f32>>", "complex<tensor<f32>>", "!stablehlo.token"] {
        let found = mistakes(&in_func(&format!("%0 = stablehlo.iota dim = 0 : tensor<2x{name}>")));
        assert!(found.contains("is the type of a value, not of an element"), "{found}");
    }
    check_body(
        "  %0 = stablehlo.abs %a : tensor<?x4xf32>",
        expect![[r#"
        error[text-dynamic-size]: `stablehlo.abs` in `@main` has a shape that is known only when the program runs
          --> t.mlir:3:34
           | %0 = stablehlo.abs %a : tensor<?x4xf32>
           |                                ^
           = expected: a number for each dimension
           = help: export the program for fixed sizes; `stablehlo.dynamic_*` ops run where their results have fixed sizes"#]],
    );
    check_body(
        "  %0 = stablehlo.constant dense<1> : tensor<99999999999999999999xi32>",
        expect![[r#"
        error[text-size]: the size is too large
          --> t.mlir:3:45
           | %0 = stablehlo.constant dense<1> : tensor<99999999999999999999xi32>
           |                                           ^
           = help: a size and the number of bytes must fit 63 bits, and the number of elements 59 bits; sizes of 0 count as 1"#]],
    );
    check_body(
        "  %0 = stablehlo.constant dense<1> : tensor<4294967296x4294967296xi32>",
        expect![[r#"
        error[text-size]: the tensor is too large
          --> t.mlir:3:38
           | %0 = stablehlo.constant dense<1> : tensor<4294967296x4294967296xi32>
           |                                    ^
           = help: a size and the number of bytes must fit 63 bits, and the number of elements 59 bits; sizes of 0 count as 1"#]],
    );
    check_body(
        "  %0 = stablehlo.iota dim = 99999999999999999999 : tensor<2xi32>",
        expect![[r#"
            error[text-literal]: the number does not fit i64
              --> t.mlir:3:29
               | %0 = stablehlo.iota dim = 99999999999999999999 : tensor<2xi32>
               |                           ^"#]],
    );
    check_body(
        "  %0 = \"stablehlo.gather\"(%a, %a) <{dimension_numbers = #stablehlo.gather<offset_dim = [1]>}> : () -> ()",
        expect![[r#"
        error[text-attribute]: `stablehlo.gather` has no field `offset_dim`
          --> t.mlir:3:75
           | …hlo.gather"(%a, %a) <{dimension_numbers = #stablehlo.gather<offset_dim = [1]>}> : () -> ()
           |                                                              ^
           = expected: offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map, index_vector_dim
           = help: did you mean `offset_dims`?"#]],
    );
}

#[test]
fn a_text_that_stops() {
    let text = "module @m {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.constant dense<\"0x0000803F\"> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
";
    assert_eq!(mistakes(text), "no mistake");
    check(
        &text[..120],
        expect![[r#"
            error[text-syntax]: the text ends too early
              --> t.mlir:3:50
               | %0 = stablehlo.constant dense<"0x0000803F"> :
               |                                              ^
               = expected: a type"#]],
    );
    check(
        &text[..60],
        expect![[r#"
        error[text-type]: type `tenso` is not supported
          --> t.mlir:2:44
           | func.func @main(%arg0: tensor<8xf32>) -> tenso
           |                                          ^
           = help: did you mean `tensor`?"#]],
    );
    let last = text.trim_end().len();
    for end in (0..last).filter(|&end| !text[..end].trim().is_empty()) {
        assert_ne!(mistakes(&text[..end]), "no mistake", "{}", &text[..end]);
    }
}

#[test]
fn each_function_has_its_mistakes_reported() {
    check(
        "func.func @f() {\n  stablehlo.nothing\n  return\n}\nfunc.func @g() {\n  return %x : tensor<f32>\n}\nfunc.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}",
        expect![[r#"
            error[text-op]: there is no op `stablehlo.nothing`
              --> t.mlir:2:3
               | stablehlo.nothing
               | ^
               = help: the op is not supported: rewrite the program without it
            error[text-value]: `%x` is not defined here
              --> t.mlir:6:10
               | return %x : tensor<f32>
               |        ^
            error[text-function]: there are two functions `@f`
              --> t.mlir:11:1
               | func.func @f() {
               | ^"#]],
    );
}

#[test]
fn long_lines_are_shown_in_part() {
    let blob = "00".repeat(500);
    check_body(
        &format!("  %0 = stablehlo.constant dense<\"0x{blob}\"> : tensor<2xf23>"),
        expect![[r#"
        error[text-type]: type `f23` is not supported
          --> t.mlir:3:1050
           | …0000000000000000000000000000000000000000000000"> : tensor<2xf23>
           |                                                              ^
           = help: did you mean `f16`?"#]],
    );
}

// ── what would break a parser

const DEEP: usize = 100_000;

fn deep(before: &str, middle: &str, after: &str) -> String {
    before.repeat(DEEP) + middle + &after.repeat(DEEP)
}

fn in_func(body: &str) -> String {
    format!("func.func @main(%p: tensor<i32>) {{\n{body}\n  return\n}}")
}

#[test]
fn regions_without_end() {
    check_code(&in_func(&deep("\"stablehlo.case\"(%p) ({\n", "", "}) : (tensor<i32>) -> ()\n")), "region-depth");
    check_code(&in_func(&deep("stablehlo.while() cond {\n", "", "} do {\n}\n")), "region-depth");
    check_code(&"module {".repeat(DEEP), "text-unsupported");
    let fitting = |n: usize| {
        let open = "\"stablehlo.case\"(%p) ({\n".repeat(n);
        in_func(&format!("{open}stablehlo.return{}", "\n}) : (tensor<i32>) -> ()\nstablehlo.return".repeat(n)))
    };
    assert_eq!(
        mistakes(&fitting(shardwise_ir::MAX_REGION_DEPTH).replace("stablehlo.return\n  return", "return")),
        "no mistake"
    );
    check_code(&fitting(shardwise_ir::MAX_REGION_DEPTH + 1), "region-depth");
}

#[test]
fn the_deepest_program_prints_and_verifies() {
    let nest = |open: &str, close: &str| {
        let n = shardwise_ir::MAX_REGION_DEPTH;
        format!("func.func @main(%p: tensor<i1>) {{\n{}\nreturn\n}}", open.repeat(n) + &close.repeat(n))
    };
    let texts = [
        nest("stablehlo.while() cond {\nstablehlo.return %p : tensor<i1>\n} do {\n", "stablehlo.return\n}\n"),
        nest("sdy.named_computation<\"f\">() () {\n", "sdy.return\n} : () -> ()\n"),
    ];
    for text in texts {
        let module = parse("t.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let _ = shardwise_ir::verify(&module);
        for options in [PrintOptions::EXACT, PrintOptions::EXACT.as_generic()] {
            let back = parse("t.mlir", &print(&module, &options), &OPS).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(difference(&module, &back, true), None);
        }
    }
}

#[test]
fn padding_that_does_not_fit_its_value() {
    for dim in [
        "dim = 1 : i64, size = 5 : i64",
        "dim = 0 : i64, size = 8 : i64",
        "dim = 0 : i64",
        "holds = 1 : i64, size = 5 : i64",
    ] {
        check_code(&padded_iota(dim), "text-attribute");
    }
    check_code(&padded_iota("dim = 0 : i64, holds = dense<1> : tensor<i64>, size = 5 : i64"), "text-attribute");
    check_code(&padded_iota("dim = 0 : i64, size = 5 : i64}, {dim = 0 : i64, size = 5 : i64"), "text-attribute");
}

#[test]
fn padding_over_an_axis_that_is_named_often() {
    let mesh = "sdy.mesh @mesh = <[\"x\"=1048576]>\n";
    let over =
        |axes: &str| format!("{mesh}{}", padded_iota(&format!("axes = \"{axes}\", dim = 0 : i64, size = 5 : i64")));
    assert_eq!(mistakes(&over("x")), "no mistake");
    check_code(&over("x,x,x,x"), "text-attribute");
}

#[test]
fn names_of_modules_that_are_no_strings() {
    let module = |properties: &str, dict: &str| {
        let main = "func.func @main() { return }";
        format!("\"builtin.module\"() {properties}({{\n{main}\n}}) {dict}: () -> ()")
    };
    assert_eq!(mistakes(&module("<{sym_name = \"m\"}> ", "")), "no mistake");
    check_code(&module("<{sym_name = 5}> ", ""), "text-attribute");
    check_code(&module("", "{sym_name = @m} "), "text-attribute");
}

#[test]
fn axes_of_facts_that_the_mesh_does_not_have() {
    let mesh = "sdy.mesh @mesh = <[\"x\"=4, \"y\"=6]>";
    let main = |fact: &str| format!("func.func @main(%a: tensor<8xf32> {{{fact}}}) {{ return }}");
    let refused = [
        "#2",
        "#63",
        "#65536",
        "z",
        "x:(0)2",
        "x:(1)0",
        "x:(1)3",
        "x:(2)4",
        "x:(0)2,x:(1)2",
        "x:(9223372036854775807)4",
    ];
    for axes in refused {
        for fact in ["manual = \"{V:(AXES)}\"", "varying = \"{AXES}\""] {
            let main = main(&format!("shardwise.{}", fact.replace("AXES", axes)));
            check_code(&format!("{mesh}\n{main}"), "text-attribute");
            check_code(&main, "text-attribute");
        }
    }
    let accepted = ["#1", "x:(2)2", "y:(1)2,x:(1)4", "y:(1)2,y:(1)3", "x:(1)1"];
    for axes in accepted {
        let facts = format!("shardwise.manual = \"{{V:({axes})}}\", shardwise.varying = \"{{{axes}}}\"");
        assert_eq!(mistakes(&format!("{mesh}\n{}", main(&facts))), "no mistake");
    }
}

#[test]
fn an_axis_has_one_state_and_a_state_one_list() {
    let main = |manual: &str| {
        format!(
            "sdy.mesh @mesh = <[\"x\"=4, \"y\"=6]>\nfunc.func @main(%a: tensor<8xf32> {{shardwise.manual = \"{manual}\"}}) {{ return }}"
        )
    };
    let shared = ["{V:x, U:x}", "{V:(x,y), R:y}", "{U:x:(1)2, R:(y,x)}", "{V:x:(1)2, U:(x:(2)2,x:(1)2)}"];
    for manual in shared.into_iter().chain(["{V:x, V:y}", "{U:x, V:y, U:x}"]) {
        check_code(&main(manual), "text-attribute");
    }
    for manual in ["{V:x, U:y}", "{V:x:(1)2, R:x:(2)2}"] {
        assert_eq!(mistakes(&main(manual)), "no mistake");
    }
}

#[test]
fn axes_of_facts_belong_to_the_first_mesh() {
    let (first, second) = ("sdy.mesh @first = <[\"x\"=2]>", "sdy.mesh @second = <[\"x\"=8, \"y\"=2]>");
    let main = "func.func @main(%a: tensor<8xf32> {shardwise.varying = \"{#1}\"}) { return }";
    assert_eq!(mistakes(&format!("{second}\n{first}\n{main}")), "no mistake");
    check_code(&format!("{first}\n{second}\n{main}"), "text-attribute");
    // The first mesh is known only when the text reaches it, because it is not at the start of a line. This does not
    // matter to facts without axes.
    for fact in ["shardwise.varying = \"{}\"", "shardwise.padding = [{dim = 0, size = 5}]"] {
        let main = format!("func.func @main(%a: tensor<8xf32> {{{fact}}}) {{ return }}");
        assert_eq!(mistakes(&format!("module {{ {first}\n{second}\n{main} }}")), "no mistake");
    }
    check(
        &format!("module {{ {first}\n{second}\n{main} }}"),
        expect![[r#"
            error[text-mesh]: the axes here were read as axes of mesh `@second`, and the program's mesh is `@first`
              --> t.mlir:3:17
               | func.func @main(%a: tensor<8xf32> {shardwise.varying = "{#1}"}) { return } }
               |                 ^
               = mesh: x=2
               = help: define each mesh on a line of its own"#]],
    );
    check(
        &format!("module {{\n{main} {first}\n{second}\n}}"),
        expect![[r#"
            error[text-mesh]: the axes here were read as axes of mesh `@second`, and the program's mesh is `@first`
              --> t.mlir:2:17
               | func.func @main(%a: tensor<8xf32> {shardwise.varying = "{#1}"}) { return } sdy.mesh @first = <["x"=2]>
               |                 ^
               = mesh: x=2
               = help: define each mesh on a line of its own"#]],
    );
}

#[test]
fn a_window_over_a_scalar_needs_no_sizes() {
    let select = |ty: &str| {
        let regions = "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %0 = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %0 : tensor<i1> }, { ^bb0(%p: tensor<f32>, %q: tensor<f32>): %0 = stablehlo.add %p, %q : tensor<f32> stablehlo.return %0 : tensor<f32> })";
        format!(
            "func.func @main(%a: {ty}, %b: tensor<f32>) -> {ty} {{ %0 = \"stablehlo.select_and_scatter\"(%a, %a, %b) {regions} : ({ty}, {ty}, tensor<f32>) -> {ty} return %0 : {ty} }}"
        )
    };
    let found = |ty: &str| shardwise_ir::verify(&parse("t.mlir", &select(ty), &OPS).unwrap_or_else(|e| panic!("{e}")));
    assert!(found("tensor<f32>").is_empty());
    assert!(found("tensor<1xf32>").to_string().starts_with("error[select_and_scatter_i4]"));
}

fn padded_iota(dims: &str) -> String {
    let iota = format!("%0 = stablehlo.iota dim = 0 {{shardwise.padding = [[{{{dims}}}]]}} : tensor<8xi32>");
    format!("func.func @main() {{\n  {iota}\n  return\n}}\n")
}

#[test]
fn attributes_and_types_without_end() {
    let attr = |text: String| format!("module attributes {{x = {text}}} {{}}");
    check_code(&attr(deep("[", "1", "]")), "text-nesting");
    check_code(&attr(deep("{a = ", "1", "}")), "text-nesting");
    check_code(&attr(deep("[", "", "")), "text-nesting");
    let argument = |ty: String| format!("func.func @main(%a: {ty}) {{\nreturn\n}}");
    check_code(&argument(deep("tuple<", "tensor<f32>", ">")), "text-nesting");
    check_code(&attr("dense<".to_string() + &deep("[", "1", "]") + "> : tensor<1xi32>"), "text-syntax");
    check_code(
        &attr("dense<".to_string() + &deep("[", "1", "]") + &format!("> : tensor<{}1xi32>", "1x".repeat(DEEP))),
        "tensor-rank",
    );
    check_code(&attr(deep("loc(callsite(", "unknown", " at unknown))")), "text-nesting");
    check_code(&attr(deep("loc(\"a\"(", "unknown", "))")), "text-nesting");
    // Unknown attributes are passed over without recursion.
    assert_eq!(mistakes(&attr("#foo.bar".to_string() + &deep("<", "", ">"))), "no mistake");
    assert_eq!(mistakes(&attr(deep("(", "", ")"))), "no mistake");
    assert_eq!(mistakes(&attr(deep("tuple<", "tensor<f32>", ">"))), "no mistake");
    check_code(&in_func(&deep("(", "", ")")), "text-syntax");
}

#[test]
fn aliases_that_expand_without_end() {
    let chain = |first: &str, next: &dyn Fn(usize) -> String| {
        let lines: String = (1..40).map(|i| format!("#a{i} = {}\n", next(i - 1))).collect();
        format!("#a0 = {first}\n{lines}module attributes {{x = #a39}} {{}}")
    };
    check_code(&chain("1", &|i| format!("[#a{i}, #a{i}]")), "text-alias");
    check_code("#a = [#b]\n#b = [#a]\nmodule attributes {x = #a} {}", "text-alias");
    check_code("#a = loc(#a)\nmodule {} loc(#a)", "text-alias");
    check_code("module attributes {x = #nothing} {}", "text-alias");
    check_code("module attributes {x = !nothing} {}", "text-alias");
    check_code("module attributes {x = tuple<!nothing>} {}", "text-alias");
    let long: String = (1..DEEP).map(|i| format!("#l{i} = loc(callsite(#l{0} at #l{0}))\n", i - 1)).collect();
    let text = format!("module {{}} loc(#l{})\n#l0 = loc(\"a\":1:1)\n{long}", DEEP - 1);
    assert_eq!(mistakes(&text), "no mistake");
}

#[test]
fn many_of_everything() {
    let results = format!("  %0:{} = stablehlo.abs %p : tensor<i32>", 4_000_000_000u64);
    check_code(&in_func(&results), "text-results");
    check_code(&in_func(&format!("  return {}", "%p, ".repeat(DEEP))), "text-syntax");
    let mistakes = mistakes(&"func.func @f( {}\n".repeat(DEEP));
    assert!(mistakes.matches("error[").count() <= 20, "the rest is not worth reading");
    let meshes: String = (0..30_000).map(|i| format!("sdy.mesh @m{i} = <[\"x\"=2]>\n")).collect();
    check_code(&format!("{meshes}sdy.mesh @m7 = <[\"x\"=2]>"), "mesh");
}

#[test]
fn what_may_be_defined_once() {
    check(
        "#a = 1 : i32\n#b = 2 : i32 #a = 3 : i32\nmodule {}",
        expect![[r#"
        error[text-alias]: the alias `#a` is defined twice
          --> t.mlir:2:14
           | #b = 2 : i32 #a = 3 : i32
           |              ^"#]],
    );
    check_code("#a = loc(\"f\")\nmodule {}\n#a = loc(\"f\")", "text-alias");
    check_body(
        "  %0 = sdy.sharding_constraint %a <@mesh, [{?}, {}], unreduced={\"data\"}, unreduced={\"model\"}> : tensor<8x4xf32>",
        expect![[r#"
            error[text-syntax]: `unreduced` occurs twice in one sharding
              --> t.mlir:3:74
               | …arding_constraint %a <@mesh, [{?}, {}], unreduced={"data"}, unreduced={"model"}> : tensor<8x4xf32>
               |                                                              ^"#]],
    );
    let dims = "offset_dims = [], offset_dims = [0], index_vector_dim = 0";
    check_code(&format!("module attributes {{x = #stablehlo.gather<{dims}>}} {{}}"), "text-attribute");
    let dims = "input_batch_dimension = 0, input_batch_dimension = 1";
    check_code(&format!("module attributes {{x = #stablehlo.conv<raw {dims}>}} {{}}"), "text-attribute");
}

#[test]
fn names_of_inner_regions() {
    let reduce = |names: &str| {
        in_func(&format!(
            "%z = stablehlo.constant dense<0> : tensor<i32>
            %0 = \"stablehlo.reduce\"(%p, %z) <{{dimensions = array<i64>}}> ({{
            ^bb0({names}):
              stablehlo.return %x : tensor<i32>
            }}) : (tensor<i32>, tensor<i32>) -> tensor<i32>"
        ))
    };
    assert_eq!(mistakes(&reduce("%x: tensor<i32>, %y: tensor<i32>")), "no mistake");
    check_code(&reduce("%x: tensor<i32>, %z: tensor<i32>"), "text-value");
    // The names of an isolated region are its own.
    let named = "%0 = sdy.named_computation<\"f\">(%p) (%p: tensor<i32>) {
      sdy.return %p : tensor<i32>
    } : (tensor<i32>) -> tensor<i32>";
    assert_eq!(mistakes(&in_func(named)), "no mistake");
    check_code(&in_func("%x:0, %y = stablehlo.add %p, %p : tensor<i32>"), "text-results");
}

#[test]
fn facts_of_a_mesh_in_another_form() {
    for facts in [
        "shardwise.communicate = \"foo\"",
        "shardwise.axis_kinds = [\"auto\", \"implicit\"]",
        "shardwise.axis_kinds = [\"auto\"]",
        "shardwise.topology = \"ring\"",
        "shardwise.topology = {grid = array<i64: 4, 4, 8>, kind = \"v4\", twisted = 1 : i64}",
        "shardwise.topology = {grid = array<i64: 16, 16>, kind = \"v5e\", pods = -1 : i64}",
        "shardwise.topology = {grid = array<i64: 16, 16>, kind = \"v5e\", pods = \"2\"}",
        "shardwise.rates = {flops = 1 : i64, memory_bytes = 1 : i64, slowdowns = array<i64: 1>, start = 1 : i64}",
        "shardwise.rates = {flops = 1 : i64, memory_bytes = 1 : i64, slowdowns = array<i64: 1, 0>, start = 1 : i64}",
        "shardwise.rates = {flops = 1 : i64, memory_bytes = 4294967296 : i64, slowdowns = array<i64: 1, 1>, start = 1 : i64}",
        "shardwise.rates = {flops = 1 : i64, slowdowns = array<i64: 1, 1>, start = 1 : i64}",
        "shardwise.rates = {flops = 1 : i64, memory_bytes = 1 : i64, slowdowns = array<i64: 1, 1>, start = 0 : i64}",
    ] {
        check_code(&format!("sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]> {{{facts}}}"), "text-attribute");
    }
    assert_eq!(mistakes("sdy.mesh @mesh = <[\"x\"=2]> {shardwise.communicate = \"warn\"}"), "no mistake");
}

#[test]
fn shardings_are_written_in_one_way() {
    let sharding = |text: &str| {
        format!(
            "sdy.mesh @mesh = <[\"x\"=8, \"y\"=2]>
            func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {text}>}}) {{\nreturn\n}}"
        )
    };
    check_code(&sharding("[{}p0]"), "sharding-priority");
    check_code(&sharding(r#"[{?}], replicated={"y", "x"}"#), "sharding-axis-list");
    check_code(&sharding(r#"[{"x":(1)2, "x":(2)4}]"#), "sharding-axis-list");
    check_code(&sharding(r#"[{?}], replicated={"x":(1)2, "x":(2)2}"#), "sharding-axis-list");
    check_code(&sharding(r#"[{?}], replicated {"x"}"#), "text-syntax");
    for right in [
        "[{?}p0]",
        r#"[{"x"}p0]"#,
        r#"[{"y", "x":(2)4, "x":(1)2}]"#,
        r#"[{?}], replicated={"x", "y"}"#,
        r#"[{}], unreduced={"y", "x"}"#,
    ] {
        assert_eq!(mistakes(&sharding(right)), "no mistake", "{right}");
    }
}
