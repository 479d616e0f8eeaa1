//! Text: what prints reads back as the same module, for the corpus and for every op's example.

use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::{Module, difference};
use shardwise_ops::ragged::RaggedDot;
use shardwise_ops::{OPS, Opcode};
use shardwise_testing::{check_filetests, corpus};

fn read(name: &str, text: &str) -> Module {
    parse(name, text, &OPS).unwrap_or_else(|e| panic!("{name}:\n{e}\n{text}"))
}

fn check_round_trip(name: &str, module: &Module) {
    for options in [PrintOptions::default(), PrintOptions::EXACT] {
        for options in [options, options.as_generic()] {
            let text = print(module, &options);
            let back = read(name, &text);
            if let Some(found) = difference(module, &back, options.locations) {
                panic!("{name}, {options:?}: {found}\n{text}");
            }
            assert_eq!(print(&back, &options), text, "{name}");
        }
    }
}

#[test]
fn corpus_reads_and_comes_back() {
    for program in corpus() {
        check_round_trip(&program.name, &read(&program.name, &program.text));
    }
}

#[test]
fn examples_read_and_come_back() {
    for &op in Opcode::ALL {
        check_round_trip(op.name(), &read(op.name(), op.facts().example(op)));
    }
}

#[test]
fn dimension_numbers_are_built_as_they_are_read() {
    let module = read("ragged.mlir", Opcode::RaggedDot.facts().example(Opcode::RaggedDot));
    let body = &module.main().unwrap().body;
    assert_eq!(*module.view(body, body.walk()[0]).attrs(), RaggedDot::row_group_attrs());
}

#[test]
fn integers_of_quantized_types_keep_their_sign() {
    let text = "func.func @main() attributes {x = -1 : !quant.uniform<i8:f32, 2.0>} {\n  return\n}";
    assert_eq!(read("t.mlir", text).main().unwrap().attrs.int("x"), Some(-1));
}

#[test]
fn an_op_without_the_result_that_has_its_sharding_comes_back() {
    let op = r#""sdy.sharding_constraint"(%arg0) : (tensor<4xf32>) -> ()"#;
    let text = format!("func.func @main(%arg0: tensor<4xf32>) {{\n  {op}\n  return\n}}");
    let module = read("t.mlir", &text);
    check_round_trip("t.mlir", &module);
    assert!(print(&module, &PrintOptions::default()).contains(op));
}

/// Returns the text of a program in the form of `options`. Checks that all forms of the program are read back.
fn printed(text: &str, options: PrintOptions) -> String {
    let module = read("t.mlir", text);
    check_round_trip("t.mlir", &module);
    print(&module, &options)
}

#[test]
fn filetests() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/text");
    check_filetests(dir, |text| printed(text, PrintOptions::default()));
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/text_locations");
    check_filetests(dir, |text| printed(text, PrintOptions::EXACT));
}
