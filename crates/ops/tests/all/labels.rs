//! Constraints of the specification by their labels: result types, and what attributes say.

use expect_test::expect;
use shardwise_ir::text::parse;
use shardwise_ops::OPS;

/// Returns the codes of all mistakes of a program whose `@main` takes `%a: tensor<2x3xf32>` and `%b: tensor<3x2xf32>`
/// and contains this line. If the text cannot be read, only the mistakes of reading are returned.
fn codes(line: &str) -> Vec<String> {
    codes_in("", line)
}

fn codes_in(attributes: &str, line: &str) -> Vec<String> {
    let text = format!(
        "module {attributes} {{\nfunc.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {{\n{line}\nreturn\n}}\n}}\n"
    );
    let found = match parse("t.mlir", &text, &OPS) {
        Ok(module) => shardwise_ir::verify(&module),
        Err(found) => found,
    };
    found.iter().map(|d| d.code.to_string()).collect()
}

#[test]
fn results_of_other_types() {
    let of = |op: &str, ty: &str| codes(&format!("%0 = \"stablehlo.{op} : (tensor<2x3xf32>) -> tensor<{ty}>"));
    assert_eq!(of("tanh\"(%a)", "3x2xf32"), ["tanh_c1"]);
    assert_eq!(of("abs\"(%a)", "3x2xf32"), ["abs_c1"]);
    assert_eq!(of("abs\"(%a)", "2x3xbf16"), ["abs_c2"]);
    assert_eq!(of("transpose\"(%a) {permutation = array<i64: 1, 0>}", "2x3xf32"), ["transpose_c3"]);
    assert_eq!(of("reverse\"(%a) {dimensions = array<i64: 1>}", "2x3xf64"), ["reverse_c1"]);
    assert_eq!(of("concatenate\"(%a) {dimension = 0 : i64}", "4x3xf32"), ["concatenate_c6"]);
    assert_eq!(
        codes("%0 = \"stablehlo.constant\"() {value = dense<1> : tensor<2xi32>} : () -> tensor<3xi32>"),
        ["constant_c1"]
    );
}

#[test]
fn products_of_complex_numbers_are_complex() {
    let check = |from: &str, to: &str, is_refused: bool| {
        let types = format!(": (tensor<2x2x{from}>, tensor<2x2x{from}>) -> tensor<2x2x{to}>");
        let ops = [
            ("dot_general", "%z, %z, contracting_dims = [1] x [0]"),
            ("dot", "%z, %z"),
            (
                "convolution",
                "(%z, %z) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
            ),
        ];
        for ((op, text), label) in ops.iter().zip(["dot_general_c13", "dot_c1", "convolution_c27"]) {
            let found =
                codes(&format!("%z = stablehlo.iota dim = 0 : tensor<2x2x{from}>\n%0 = stablehlo.{op} {text} {types}"));
            let expected: &[&str] = if is_refused { &[label] } else { &[] };
            assert_eq!(found, expected, "{op} of {from} to {to}");
        }
    };
    check("complex<f32>", "f32", true);
    check("f32", "complex<f32>", true);
    check("complex<f32>", "complex<f64>", false);
    check("f32", "f64", false);
}

#[test]
fn results_that_differ_from_each_other() {
    let norm = |mean: u8, variance: u8| {
        codes(&format!(
            "%s = stablehlo.constant dense<1.0> : tensor<3xf32>\n%0:3 = \"stablehlo.batch_norm_training\"(%a, %s, %s) \
             {{epsilon = 0.0 : f32, feature_index = 1 : i64}} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> \
             (tensor<2x3xf32>, tensor<{mean}xf32>, tensor<{variance}xf32>)"
        ))
    };
    assert_eq!(norm(2, 3), ["batch_norm_training_c5"]);
    assert_eq!(norm(3, 4), ["batch_norm_training_c6"]);
    let windows = codes(
        "%i = stablehlo.constant dense<1.0> : tensor<f32>\n%0:2 = \"stablehlo.reduce_window\"(%a, %a, %i, %i) ({\n\
         ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):\n\
         stablehlo.return %x, %y : tensor<f32>, tensor<f32>\n}) {window_dimensions = array<i64: 1, 1>} : \
         (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x2xf32>)",
    );
    assert_eq!(windows, ["reduce_window_c14"]);
}

#[test]
fn no_operands_where_there_must_be_some() {
    assert_eq!(codes("\"stablehlo.sort\"() ({\n^bb0:\nstablehlo.return\n}) : () -> ()"), ["sort_c1"]);
    let map = "%0 = \"stablehlo.map\"() ({\n^bb0:\nstablehlo.return\n}) {dimensions = array<i64>} : () -> tensor<f32>";
    assert_eq!(codes(map), ["map_c2"]);
}

#[test]
fn inputs_of_another_kind() {
    let of = |op: &str, attrs: &str| {
        codes(&format!("%0 = \"stablehlo.{op}\"(%a) {{{attrs}}} : (tensor<2x3xf32>) -> tensor<2x3xf32>"))
    };
    assert_eq!(of("transpose", "permutation = dense<0.5> : tensor<2xf32>"), ["transpose_i2"]);
    assert_eq!(of("transpose", ""), ["transpose_i2"]);
    assert_eq!(of("reverse", "dimensions = \"x\""), ["reverse_i2"]);
    assert_eq!(of("cholesky", "lower = 3 : i64"), ["cholesky_i2"]);
    assert_eq!(
        of("reduce_precision", "exponent_bits = true, mantissa_bits = \"x\""),
        ["reduce_precision_i2", "reduce_precision_i3"]
    );
    assert_eq!(
        of("all_gather", "all_gather_dim = 0 : i64, channel_handle = 3 : i64"),
        ["all_gather_i3", "all_gather_i4"]
    );
    let token = "%t = stablehlo.create_token : !stablehlo.token\n";
    let abs = "%0 = \"stablehlo.abs\"(%t) : (!stablehlo.token) -> tensor<2x3xf32>";
    assert_eq!(codes(&format!("{token}{abs}")), ["abs_i1"]);
    let dot = "%0 = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], \
               rhs_contracting_dimensions = [0]>, precision_config = 3 : i64} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>";
    assert_eq!(codes(dot), ["dot_general_i7"]);
}

#[test]
fn computations_on_narrower_elements() {
    let region =
        |e: &str| format!("({{\n^bb0(%x: tensor<{e}>, %y: tensor<{e}>):\nstablehlo.return %x : tensor<{e}>\n}})");
    let reduce = |e: &str| {
        let (init, dims) = ("%i = stablehlo.constant dense<1.0> : tensor<f32>", "dimensions = array<i64: 0, 1>");
        codes(&format!(
            "{init}\n%0 = \"stablehlo.reduce\"(%a, %i) {} {{{dims}}} : (tensor<2x3xf32>, tensor<f32>) -> tensor<{e}>",
            region(e)
        ))
    };
    assert_eq!(reduce("bf16"), ["reduce_c6"]);
    assert_eq!(reduce("i32"), ["reduce_c6"]);
    assert_eq!(reduce("f64"), [] as [&str; 0]);
    let all_reduce = |e: &str| {
        let groups = "replica_groups = dense<0> : tensor<1x1xi64>";
        codes(&format!(
            "%0 = \"stablehlo.all_reduce\"(%a) {} {{{groups}}} : (tensor<2x3xf32>) -> tensor<2x3x{e}>",
            region(e)
        ))
    };
    assert_eq!(all_reduce("f16"), ["all_reduce_c5"]);
    assert_eq!(all_reduce("f64"), [] as [&str; 0]);
}

#[test]
fn a_mark_of_another_type_is_no_mark() {
    let is_mark = |ty: &str| {
        let text = format!(
            "func.func @main(%a: tensor<2xf32>) {{\n%0 = stablehlo.custom_call @Sharding(%a) : (tensor<2xf32>) -> tensor<{ty}>\n\
             return\n}}\n"
        );
        let module = parse("t.mlir", &text, &OPS).expect("it is well-formed");
        let op = module.view(&module.main().expect("a main").body, shardwise_ir::Op::new(0));
        matches!(shardwise_ops::Opcode::of_view(&op).facts().semantics(&op), shardwise_ops::Semantics::Identity)
    };
    assert!(is_mark("2xf32") && !is_mark("4xf32") && !is_mark("2xf64"));
}

#[test]
fn names_of_composites() {
    let of = |name: &str| {
        let text = format!(
            "func.func @main() {{\nstablehlo.composite \"{name}\" {{decomposition = @f}} : () -> ()\nreturn\n}}\n\
             func.func private @f() {{\nreturn\n}}\n"
        );
        let found = parse("t.mlir", &text, &OPS).and_then(|m| shardwise_ir::verify(&m).or(m)).err();
        found.map_or(vec![], |found| found.iter().map(|d| d.code).collect::<Vec<_>>())
    };
    for name in ["a", ".", "a.", ".a", "1.a", "a.b..c", "a.b-c"] {
        assert_eq!(of(name), ["composite_c1"], "{name}");
    }
    assert_eq!(of("my_lib.top_k.v1$2"), [] as [&str; 0]);
}

#[test]
fn operands_quantized_along_a_dimension() {
    let ty = "tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>";
    let of = |op: &str| {
        let text = format!("func.func @main(%a: {ty}) {{\n%0 = \"stablehlo.{op} : ({ty}) -> {ty}\nreturn\n}}\n");
        let found = parse("t.mlir", &text, &OPS).and_then(|m| shardwise_ir::verify(&m).or(m)).err();
        found.map_or(vec![], |found| found.iter().map(|d| d.code).collect::<Vec<_>>())
    };
    assert_eq!(of("optimization_barrier\"(%a)"), ["optimization_barrier_i1"]);
    let pairs = "{source_target_pairs = dense<0> : tensor<1x2xi64>}";
    assert_eq!(of(&format!("collective_permute\"(%a) {pairs}")), ["collective_permute_i1"]);
}

#[test]
fn dynamic_ops_have_labels_of_their_own() {
    let scales = |n: &str| format!("!quant.uniform<i8:f32:0, {{{n}}}>");
    let (two, three) = (scales("1.0, 2.0"), scales("1.0, 2.0, 3.0"));
    let text = format!(
        "func.func @main(%a: tensor<2x3x{two}>, %s: tensor<2xi64>) {{\n%0 = stablehlo.dynamic_reshape %a, %s : \
         (tensor<2x3x{two}>, tensor<2xi64>) -> tensor<3x2x{three}>\nreturn\n}}\n"
    );
    let found = parse("t.mlir", &text, &OPS).and_then(|m| shardwise_ir::verify(&m).or(m)).err().expect("a mistake");
    assert!(found.iter().all(|d| d.code == "dynamic_reshape_c1"), "{found}");
}

#[test]
fn attributes_of_products_and_windows() {
    let dot = |more: &str| {
        codes(&format!(
            "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]{more} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>"
        ))
    };
    let algorithm = |lhs: i64, rhs: i64, ops: i64| {
        format!(
            ", algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, \
             lhs_component_count = {lhs}, rhs_component_count = {rhs}, num_primitive_operations = {ops}, \
             allow_imprecise_accumulation = false>"
        )
    };
    assert_eq!(dot(&algorithm(1, 1, 1)), [""; 0]);
    assert_eq!(dot(&algorithm(0, -1, 0)), ["dot_general_c22", "dot_general_c23", "dot_general_c24"]);
    assert_eq!(dot(&format!(", precision = [HIGH, DEFAULT]{}", algorithm(1, 1, 1))), ["dot_general_c21"]);
    let one_precision = |word: &str| {
        let algorithm = algorithm(1, 1, 1).replace(", algorithm = <", "algorithm = #stablehlo.dot_algorithm<");
        codes(&format!(
            "%0 = \"stablehlo.dot_general\"(%a, %b) <{{dot_dimension_numbers = \
             #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, \
             precision_config = #stablehlo<precision {word}>, {algorithm}}}> \
             : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>"
        ))
    };
    assert_eq!(one_precision("DEFAULT"), [""; 0]);
    assert_eq!(one_precision("HIGH"), ["dot_general_c21"]);
    let window = |sizes: &str, strides: &str| {
        codes(&format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %0 = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: {sizes}>, window_strides = array<i64: {strides}>}}> ({{\n\
             ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %s = stablehlo.add %x, %y : tensor<f32>\n\
             stablehlo.return %s : tensor<f32>\n\
             }}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>"
        ))
    };
    assert_eq!(window("1", "1, 1"), ["reduce_window_c4"]);
    assert_eq!(window("1, 0", "1, 1"), ["reduce_window_c5"]);
    assert_eq!(window("1, 1", "1"), ["reduce_window_c6"]);
    assert_eq!(window("1, 1", "1, -1"), ["reduce_window_c7"]);
}

#[test]
fn numbers_of_groups() {
    let of = |features: i64, batches: i64| {
        codes(&format!(
            "%x = stablehlo.constant dense<1.0> : tensor<2x8x4xf32>\n\
             %k = stablehlo.constant dense<1.0> : tensor<1x4x4xf32>\n\
             %0 = \"stablehlo.convolution\"(%x, %k) <{{batch_group_count = {batches} : i64, \
             dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, \
             feature_group_count = {features} : i64}}> \
             : (tensor<2x8x4xf32>, tensor<1x4x4xf32>) -> tensor<2x8x4xf32>"
        ))
    };
    assert_eq!(of(1, 1), [""; 0]);
    for none in [0, -1, i64::MIN] {
        assert!(of(none, 1).contains(&"convolution_c21".to_string()), "{none}: {:?}", of(none, 1));
        assert!(of(1, none).contains(&"convolution_c22".to_string()), "{none}: {:?}", of(1, none));
    }
    assert_eq!(of(0, 2), ["convolution_c21"]);
    assert!(of(2, 2).contains(&"convolution_c23".to_string()), "{:?}", of(2, 2));
}

#[test]
fn functions_that_feed_programs() {
    let of = |infeed: &str| {
        let text = format!(
            "func.func @main() {{\n\
             \"interpreter.run_parallel\"() <{{{infeed}programs = [[@f]]}}> : () -> ()\nreturn\n}}\n\
             func.func private @f() {{\nreturn\n}}\nfunc.func private @g(%a: tensor<f32>) {{\nreturn\n}}"
        );
        let module = parse("t.mlir", &text, &OPS).unwrap_or_else(|found| panic!("{found}"));
        shardwise_ir::verify(&module).iter().map(|d| d.code).collect::<Vec<_>>()
    };
    for accepted in ["", "infeed = [], ", "infeed = [@f, @f], "] {
        assert_eq!(of(accepted), [""; 0], "{accepted}");
    }
    for refused in ["infeed = [@g], ", "infeed = [@h], ", "infeed = @f, ", "infeed = [1], ", "infeed = [[@f]], "] {
        assert_eq!(of(refused), ["run_parallel_c4"], "{refused}");
    }
}

#[test]
fn messages_name_the_dynamic_op() {
    let of = |lines: &str| {
        let text = format!("func.func @main(%a: tensor<2x3xf32>) {{\n{lines}\nreturn\n}}\n");
        let found = parse("t.mlir", &text, &OPS).and_then(|m| shardwise_ir::verify(&m).or(m)).err().expect("a mistake");
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        shown.join("\n")
    };
    expect![[r#"
        error[dynamic_reshape_c2]: `stablehlo.dynamic_reshape`: operand and result must have the same number of elements
          --> t.mlir:3:1
           | (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<2x2xf32>)"#]]
    .assert_eq(&of("%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>\n\
         %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>"));
    expect![[r#"
        error[dynamic_iota_c1]: `stablehlo.dynamic_iota`: `iota_dimension` must be a dimension of the result
          --> t.mlir:3:1
           | (tensor<2xi32>) -> (tensor<2x3xf32>)"#]]
    .assert_eq(&of("%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n\
         %0 = stablehlo.dynamic_iota %s, dim = 2 : (tensor<2xi32>) -> tensor<2x3xf32>"));
}

#[test]
fn sizes_that_are_operands() {
    let reshape = "%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>\n\
        %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>";
    assert_eq!(codes(reshape), ["dynamic_reshape_c2"]);
    let broadcast = "%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n\
        %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 0] : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>";
    assert_eq!(codes(broadcast)[0], "dynamic_broadcast_in_dim_c4");
    assert_eq!(
        codes("\"stablehlo.if\"(%a) ({\nstablehlo.return\n}, {\nstablehlo.return\n}) : (tensor<2x3xf32>) -> ()"),
        ["if_i1"]
    );
}

#[test]
fn groups_name_processes_that_there_are() {
    let gather = |groups: &str| {
        codes(&format!(
            "%0 = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 0 : i64, replica_groups = dense<{groups}> : tensor<1x2xi64>}}> : (tensor<2x3xf32>) -> tensor<4x3xf32>"
        ))
    };
    assert_eq!(gather("[[1, 0]]"), [""; 0]);
    assert_eq!(gather("[[0, 2]]"), ["all_gather_c4"]);
}

#[test]
fn groups_have_all_processes_that_a_module_counts() {
    let of = |counts: &str, line: &str| codes_in(&format!("attributes {{{counts}}}"), line);
    let reduce = |groups: &str, flags: &str| {
        format!(
            "%0 = \"stablehlo.all_reduce\"(%a) <{{replica_groups = dense<{groups}> : tensor<1x2xi64>{flags}}}> ({{\n\
             ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %s = stablehlo.add %x, %y : tensor<f32>\n\
             stablehlo.return %s : tensor<f32>\n\
             }}) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
        )
    };
    let flat = ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids";
    let counts = "mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32";
    assert_eq!(of(counts, &reduce("[[0, 1]]", "")), [""; 0]);
    assert_eq!(of(counts, &reduce("[[0, 1]]", flat)), ["all_reduce_c2"]);
    assert_eq!(of("", &reduce("[[0, 1]]", flat)), [""; 0]);
    let exchange = |channel: i64| {
        format!(
            "%0 = \"stablehlo.all_to_all\"(%a) <{{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, \
             replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>}}> \
             : (tensor<2x3xf32>) -> tensor<1x6xf32>"
        )
    };
    let counts = "mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 2 : i32";
    assert_eq!(of(counts, &exchange(1)), [""; 0]);
    assert_eq!(of(counts, &exchange(0)), ["all_to_all_c6"]);
}

#[test]
fn an_exchange_in_groups_of_an_unknown_size_is_one_mistake() {
    let of = |groups: &str| {
        codes(&format!(
            "%0 = \"stablehlo.all_to_all\"(%a) <{{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, \
             replica_groups = dense<{groups}xi64>}}> : (tensor<2x3xf32>) -> tensor<1x6xf32>"
        ))
    };
    assert_eq!(of("[[0, 1]]> : tensor<1x2"), [""; 0]);
    assert_eq!(of("[0, 1]> : tensor<2"), ["all_to_all_c5"]);
    assert_eq!(of("> : tensor<0x0"), ["all_to_all_c8"]);
}

#[test]
fn broadcasts_from_roots() {
    let of = |root: i32, results: &str| {
        codes(&format!(
            "%r = stablehlo.constant dense<{root}> : tensor<1xi32>\n\
             {} = \"stablehlo.collective_broadcast\"(%a, %r) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}}> \
             : (tensor<2x3xf32>, tensor<1xi32>) -> {results}",
            if results.starts_with('(') { "%0:2" } else { "%0" }
        ))
    };
    assert_eq!(of(1, "tensor<2x3xf32>"), [""; 0]);
    assert_eq!(of(2, "tensor<2x3xf32>"), ["collective_broadcast_c6"]);
    assert_eq!(of(0, "(tensor<2x3xf32>, tensor<2x3xf32>)"), ["collective_broadcast_c5"]);
}

#[test]
fn channels_to_the_host_and_from_it() {
    let send = |kind: i64, is_host: bool, more: &str| {
        codes(&format!(
            "%t = stablehlo.create_token : !stablehlo.token\n\
             %0 = \"stablehlo.send\"(%a, %t) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = {kind}>, is_host_transfer = {is_host}{more}}}> \
             : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token"
        ))
    };
    assert_eq!(send(2, true, ""), [""; 0]);
    assert_eq!(send(1, true, ""), ["send_c5"]);
    assert_eq!(send(2, false, ""), ["send_c5"]);
    let recv = |kind: i64, module: &str| {
        codes_in(
            module,
            &format!(
                "%t = stablehlo.create_token : !stablehlo.token\n\
                 %0:2 = \"stablehlo.recv\"(%t) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = {kind}>, is_host_transfer = false, \
                 source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)"
            ),
        )
    };
    assert_eq!(recv(1, ""), [""; 0]);
    assert_eq!(recv(3, ""), ["recv_c5"]);
    assert_eq!(recv(1, "attributes {mhlo.num_replicas = 2 : i32}"), ["recv_c4"]);
}

#[test]
fn what_is_fed() {
    let of = |results: &str, count: usize| {
        let names = if count > 0 { format!("%0:{count} = ") } else { String::new() };
        codes(&format!(
            "%t = stablehlo.create_token : !stablehlo.token\n\
             {names}\"stablehlo.infeed\"(%t) <{{infeed_config = \"\"}}> : (!stablehlo.token) -> ({results})"
        ))
    };
    assert_eq!(of("tensor<2xf32>, !stablehlo.token", 2), [""; 0]);
    assert_eq!(of("", 0), ["infeed_c1"]);
    assert_eq!(of("!stablehlo.token, !stablehlo.token", 2), ["infeed_c2"]);
    assert_eq!(of("tensor<2xf32>", 1), ["infeed_c3"]);
}

#[test]
fn dynamic_gathers() {
    let of = |numbers: &str, sizes: usize, result: &str| {
        codes(&format!(
            "%i = stablehlo.constant dense<0> : tensor<4x1xi32>\n\
             %s = stablehlo.constant dense<1> : tensor<{sizes}xi32>\n\
             %0 = \"stablehlo.dynamic_gather\"(%a, %i, %s) <{{dimension_numbers = #stablehlo.gather<{numbers}>}}> \
             : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<{sizes}xi32>) -> tensor<{result}>"
        ))
    };
    let rows = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1";
    assert_eq!(of(rows, 2, "4x3xf32"), [""; 0]);
    assert_eq!(of(rows, 1, "4x3xf32"), ["dynamic_gather_c11"]);
    assert_eq!(of(rows, 2, "4x5xf32"), ["dynamic_gather_c12"]);
    assert_eq!(of(rows, 2, "5x3xf32"), ["dynamic_gather_c13"]);
    assert_eq!(of(rows, 2, "4x3xf64"), ["dynamic_gather_c14"]);
    let with = |from: &str, to: &str| of(&rows.replace(from, to), 2, "4x3xf32")[0].clone();
    assert_eq!(with("collapsed_slice_dims = [0], ", ""), "dynamic_gather_c1");
    assert_eq!(with("collapsed_slice_dims = [0], ", "collapsed_slice_dims = [-1], "), "dynamic_gather_i4");
    assert_eq!(with("index_vector_dim = 1", "index_vector_dim = 3"), "dynamic_gather_c2");
    assert_eq!(with("start_index_map = [0]", "start_index_map = [0, 1]"), "dynamic_gather_c3");
    assert_eq!(with("offset_dims = [1]", "offset_dims = [2]"), "dynamic_gather_c5");
    assert_eq!(with("collapsed_slice_dims = [0]", "collapsed_slice_dims = [2]"), "dynamic_gather_c7");
    assert_eq!(with("start_index_map = [0]", "start_index_map = [2]"), "dynamic_gather_c10");
}

#[test]
fn dynamic_convolutions() {
    let of = |more: &str, padding: &str, result: &str| {
        codes(&format!(
            "%x = stablehlo.constant dense<1.0> : tensor<2x8x8x3xf32>\n\
             %k = stablehlo.constant dense<1.0> : tensor<3x3x3x4xf32>\n\
             %p = stablehlo.constant dense<1> : tensor<{padding}xi32>\n\
             %0 = \"stablehlo.dynamic_conv\"(%x, %k, %p) <{{batch_group_count = 1 : i64, \
             dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64{more}}}> \
             : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<{padding}xi32>) -> tensor<{result}>"
        ))
    };
    assert_eq!(of("", "2x2", "2x8x8x4xf32"), [""; 0]);
    assert_eq!(of("", "2x2", "2x5x0x4xf32"), [""; 0]);
    assert_eq!(of("", "2x1", "2x8x8x4xf32"), ["dynamic_conv_c4"]);
    assert_eq!(of("", "2x2", "2x8x8x5xf32"), ["dynamic_conv_c25"]);
    assert_eq!(of("", "2x2", "2x8x4xf32"), ["dynamic_conv_c26"]);
    assert_eq!(of(", window_strides = array<i64: 1>", "2x2", "2x8x8x4xf32"), ["dynamic_conv_c2"]);
    assert_eq!(of(", rhs_dilation = array<i64: 0, 1>", "2x2", "2x8x8x4xf32"), ["dynamic_conv_c8"]);
}
