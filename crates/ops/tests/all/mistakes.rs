//! The errors of `infer` for ops that break their constraints. Labels are the specification's.

use expect_test::{Expect, expect};
use shardwise_base::{DType, Loc};
use shardwise_ir::{Attr, Attrs, Body, Builder, Module, TensorType, Type};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{OPS, Opcode, build_as};

/// Reads types such as `f32[2,3]`, separated by spaces.
fn types(text: &str) -> Vec<TensorType> {
    let parse = |word: &str| {
        let (dtype, dims) = word.trim_end_matches(']').split_once('[').expect("a type");
        let dtype = *DType::ALL.iter().find(|d| d.short() == dtype).expect("an element type");
        TensorType::new(
            dtype,
            dims.split(',').filter(|d| !d.is_empty()).map(|d| d.parse().unwrap()).collect::<Vec<_>>(),
        )
    };
    text.split_whitespace().map(parse).collect()
}

fn outcome(opcode: Opcode, operands: &str, attrs: &[(&str, Attr)], result: &str) -> Result<String, String> {
    let module = Module::new("test", &OPS);
    let mut body = Body::new();
    let mut b = Builder::at(&mut body, shardwise_ir::Region::new(0), Loc::file("x.mlir", 3, 5));
    let args: Vec<_> = types(operands).into_iter().map(|t| b.arg(t.into())).collect();
    let attrs: Attrs = attrs.iter().cloned().collect();
    let declared = types(result).into_iter().map(Type::Tensor);
    match build_as(&module, &mut b, opcode, args, attrs, [], declared) {
        Ok(op) => Ok(b.body[op].results.iter().map(|&v| b.body.ty(v).to_string()).collect::<Vec<_>>().join(" ")),
        Err(found) => Err(found.to_string()),
    }
}

fn codes(opcode: Opcode, operands: &str, attrs: &[(&str, Attr)], result: &str, expected: &[&str]) {
    let text = outcome(opcode, operands, attrs, result).expect_err("a mistake");
    let found: Vec<&str> = text.split("error[").skip(1).map(|d| d.split(']').next().unwrap()).collect();
    assert_eq!(found, expected, "{text}");
}

fn check(opcode: Opcode, operands: &str, attrs: &[(&str, Attr)], result: &str, expected: Expect) {
    expected.assert_eq(&outcome(opcode, operands, attrs, result).expect_err("a mistake"));
}

fn sizes(name: &'static str, list: &[usize]) -> (&'static str, Attr) {
    (name, Attr::sizes(list))
}

#[test]
fn messages_say_what_is_wrong_and_where() {
    check(
        Opcode::Add,
        "f32[2] f32[3]",
        &[],
        "",
        expect![[r#"
            error[add_c1]: `stablehlo.add`: both operands must have the same type
              --> x.mlir:3:5
               | operands: (tensor<2xf32>, tensor<3xf32>)"#]],
    );
    check(
        Opcode::Tanh,
        "f32[2] f32[2]",
        &[],
        "",
        expect![[r#"
            error[op-operand-count]: `stablehlo.tanh` has 2 operands
              --> x.mlir:3:5
               = expected: 1 operand"#]],
    );
    check(
        Opcode::Add,
        "f32[2]",
        &[],
        "",
        expect![[r#"
            error[op-operand-count]: `stablehlo.add` has 1 operand
              --> x.mlir:3:5
               = expected: 2 operands"#]],
    );
    check(
        Opcode::Convert,
        "f32[2]",
        &[],
        "",
        expect![[r#"
            error[op-needs-result-type]: `stablehlo.convert` must have one result, with the type of a tensor
              --> x.mlir:3:5
               = expected: one tensor type
               = note: its operands do not determine it"#]],
    );
    check(
        Opcode::Transpose,
        "f32[2,3]",
        &[],
        "",
        expect![[r#"
            error[transpose_i2]: `stablehlo.transpose` lacks the attribute `permutation`
              --> x.mlir:3:5
               = expected: a list of 64-bit integers"#]],
    );
}

#[test]
fn elementwise() {
    codes(Opcode::Tanh, "i32[2]", &[], "", &["tanh_i1"]);
    codes(Opcode::Popcnt, "f32[2]", &[], "", &["popcnt_i1"]);
    codes(Opcode::And, "f32[2] f32[2]", &[], "", &["and_i1"]);
    codes(Opcode::Subtract, "bool[2] f32[2]", &[], "", &["subtract_c1", "subtract_i1"]);
    codes(Opcode::Select, "i32[2] f32[2] f32[3]", &[], "", &["select_i1", "select_c2"]);
    codes(Opcode::Select, "bool[3] f32[2] f32[2]", &[], "", &["select_c1"]);
    codes(Opcode::Clamp, "f32[3] f32[2] f64[]", &[], "", &["clamp_c1", "clamp_c3"]);
    codes(Opcode::Complex, "f16[2] f16[2]", &[], "", &["complex_i1"]);
    codes(Opcode::Convert, "f32[2]", &[], "f64[3]", &["convert_c1"]);
    codes(Opcode::BitcastConvert, "f32[2]", &[], "i8[2,3]", &["bitcast_convert_c1"]);
    codes(Opcode::BitcastConvert, "c64[2]", &[], "u64[2]", &["bitcast_convert_c2"]);
}

#[test]
fn compare() {
    let direction = |d| ("comparison_direction", Attr::stablehlo_enum("comparison_direction", d));
    codes(Opcode::Compare, "f32[2] f64[3]", &[direction("EQ")], "", &["compare_c1", "compare_c2"]);
    let signed = ("compare_type", Attr::stablehlo_enum("comparison_type", "SIGNED"));
    codes(Opcode::Compare, "f32[2] f32[2]", &[direction("LT"), signed], "", &["compare_c3"]);
    let total = ("compare_type", Attr::stablehlo_enum("comparison_type", "TOTALORDER"));
    codes(Opcode::Compare, "c64[2] c64[2]", &[direction("LT"), total], "", &["compare_c3"]);
}

#[test]
fn movement() {
    let dims = |list| [sizes("broadcast_dimensions", list)];
    codes(Opcode::BroadcastInDim, "f32[2]", &dims(&[1]), "f32[3]", &["broadcast_in_dim_c3"]);
    codes(Opcode::BroadcastInDim, "f32[2]", &dims(&[0]), "f32[3]", &["broadcast_in_dim_c5"]);
    codes(Opcode::BroadcastInDim, "f32[2,2]", &dims(&[0, 0]), "f32[2]", &["broadcast_in_dim_c4"]);
    codes(Opcode::Reshape, "f32[6]", &[], "f32[4]", &["reshape_c2"]);
    codes(Opcode::Transpose, "f32[2,3]", &[sizes("permutation", &[0, 0])], "", &["transpose_c2"]);
    codes(Opcode::Iota, "", &[("iota_dimension", Attr::int(1))], "i32[2]", &["iota_c1"]);
    let join = |parts: &[usize]| vec![("dimension", Attr::int(0)), sizes("parts", parts)];
    codes(Opcode::Join, "f32[2] f32[3]", &join(&[0, 1]), "", &["join_c3"]);
    codes(Opcode::Join, "f32[2] f32[3]", &join(&[0, 1, 2]), "", &["join_c3"]);
    codes(Opcode::Join, "f32[2] f32[3,4]", &join(&[]), "", &["join_c2"]);
    let with_stride = |n: i64| [join(&[0, 0, 2]), vec![("stride", Attr::int(n))]].concat();
    codes(Opcode::Join, "f32[3]", &with_stride(0), "", &["join_i4"]);
    codes(Opcode::Join, "f32[3]", &with_stride(4), "", &["join_i4"]);
    codes(Opcode::Join, "f32[2]", &with_stride(2), "", &["join_c3"]);
    codes(Opcode::Resize, "f32[2]", &[sizes("sizes", &[4, 1])], "", &["resize_c1"]);
    codes(Opcode::Reverse, "f32[2]", &[sizes("dimensions", &[0, 1, 1])], "", &["reverse_c2", "reverse_c3"]);
    codes(Opcode::Concatenate, "f32[2,3] f32[3,3]", &[("dimension", Attr::int(1))], "", &["concatenate_c2"]);
    codes(Opcode::Concatenate, "", &[("dimension", Attr::int(1))], "", &["concatenate_c3"]);
}

#[test]
fn slices_and_pads() {
    let slice =
        |start, limit, stride| [sizes("start_indices", start), sizes("limit_indices", limit), sizes("strides", stride)];
    codes(Opcode::Slice, "f32[4]", &slice(&[3], &[2], &[1]), "", &["slice_c3"]);
    codes(Opcode::Slice, "f32[4]", &slice(&[0], &[5], &[0]), "", &["slice_c3", "slice_c4"]);
    codes(Opcode::Slice, "f32[4]", &slice(&[0, 0], &[5], &[1]), "", &["slice_c2"]);
    let pad = |low, high, interior| {
        [
            ("edge_padding_low", Attr::ints([low])),
            ("edge_padding_high", Attr::ints([high])),
            ("interior_padding", Attr::ints([interior])),
        ]
    };
    codes(Opcode::Pad, "f32[4] f64[1]", &pad(0, 0, 0), "", &["pad_c1", "pad_i2"]);
    codes(Opcode::Pad, "f32[4] f32[]", &pad(0, 0, -1), "", &["pad_c3"]);
    codes(Opcode::Pad, "f32[4] f32[]", &pad(-3, -2, 0), "", &["pad_c4"]);
    codes(Opcode::Pad, "f32[4] f32[]", &pad(i64::MAX, i64::MAX, i64::MAX), "", &["pad_c4"]);
    codes(Opcode::DynamicSlice, "f32[4] f32[]", &[sizes("slice_sizes", &[5])], "", &["dynamic_slice_i2"]);
    codes(Opcode::DynamicSlice, "f32[4] i32[]", &[sizes("slice_sizes", &[5])], "", &["dynamic_slice_c4"]);
    codes(Opcode::DynamicUpdateSlice, "f32[4] f32[5] i32[]", &[], "", &["dynamic_update_slice_c6"]);
    codes(
        Opcode::DynamicUpdateSlice,
        "f32[4] f64[1,1] i32[] i32[]",
        &[],
        "",
        &["dynamic_update_slice_c4", "dynamic_update_slice_c2", "dynamic_update_slice_c3"],
    );
}

#[test]
fn dot_general() {
    let of = |lhs_contract: &[usize], rhs_contract: &[usize]| {
        let dims =
            DotDims { lhs_contract: lhs_contract.into(), rhs_contract: rhs_contract.into(), ..DotDims::default() };
        [("dot_dimension_numbers", dims.to_attr())]
    };
    codes(Opcode::DotGeneral, "f32[2,3] f32[4,5]", &of(&[1], &[0]), "", &["dot_general_c10"]);
    codes(Opcode::DotGeneral, "f32[2,3] f32[3,5]", &of(&[1], &[]), "", &["dot_general_c2"]);
    codes(Opcode::DotGeneral, "f32[2,3] f32[3,5]", &of(&[1, 1], &[0, 0]), "", &["dot_general_c3", "dot_general_c4"]);
    codes(Opcode::DotGeneral, "f32[2,3] f32[3,5]", &of(&[2], &[0]), "", &["dot_general_c6"]);
    codes(Opcode::DotGeneral, "f32[2,3] c64[3,5]", &of(&[1], &[0]), "", &["dot_general_c13"]);
    codes(Opcode::DotGeneral, "f32[2,3] f32[3,5]", &of(&[1], &[0]), "f32[5,2]", &["dot_general_c12"]);
    let swapped = outcome(Opcode::DotGeneral, "f32[2,3] f32[3,5]", &of(&[1], &[0]), "f32[5,2]").unwrap_err();
    assert!(swapped.contains("the result must have the shape [2, 5]: the batching dimensions"), "{swapped}");
    assert_eq!(
        outcome(Opcode::DotGeneral, "bf16[2,3] bf16[3,5]", &of(&[1], &[0]), "f32[2,5]").as_deref(),
        Ok("tensor<2x5xf32>")
    );
    codes(Opcode::Dot, "f32[2,3] f32[4]", &[], "", &["dot_c3"]);
}

#[test]
fn reduce() {
    let dims = |list| [sizes("dimensions", list)];
    codes(Opcode::Reduce, "f32[2]", &dims(&[0]), "", &["reduce_c3"]);
    codes(Opcode::Reduce, "f32[2] f64[]", &dims(&[1]), "", &["reduce_c2", "reduce_c4", "reduce_c6"]);
}
