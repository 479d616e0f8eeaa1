//! Tests sharded programs with unusual types: both engines must return the interpreter's results for the whole program
//! when they run the partitioned program, with the same types.

use crate::run::{self, agreed};
use shardwise_base::{DType, Literal};
use shardwise_ir::text;
use shardwise_ops::OPS;

/// Returns a program whose `@main` has an argument `%x` of type `tensor<8x6xi32>` with this sharding, on a mesh of four
/// devices with the axes `x` and `y`. Its body is `lines`, and it returns the values `given` of the types `types`.
fn main(sharding: &str, lines: &str, given: &str, types: &str) -> String {
    format!(
        "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n\
         func.func @main(%x: tensor<8x6xi32> {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}) -> ({types}) {{\n\
         {lines}\nreturn {given} : {types}\n}}"
    )
}

const SHARDINGS: [&str; 5] =
    ["[{}, {}]", "[{\"x\"}, {}]", "[{}, {\"y\"}]", "[{\"x\"}, {\"y\"}]", "[{\"x\", \"y\"}, {}]"];

fn input() -> Literal {
    Literal::from_fn([8, 6], |i| ((i * 37 + i * i) % 23) as i32 - 11)
}

/// Runs lines that make `%r` of one type, or `%r#0` and `%r#1` of two, with every sharding. Returns a message for each
/// sharding with which the program fails or has a wrong result.
fn check(name: &str, lines: &str, types: &str) -> Vec<String> {
    let given = if types.contains(", ") { "%r#0, %r#1" } else { "%r" };
    let run = |s: &&str| agreed(&main(s, lines, given, types), &[input()]).err();
    SHARDINGS.iter().filter_map(run).map(|e| format!("{name}: {e}")).collect()
}

fn expect_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
}

fn real_types() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|t| !t.is_complex() && *t != DType::F8E8M0FNU)
}

fn integer_types() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|t| t.is_integer())
}

fn converted(t: DType) -> String {
    format!("%v = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6x{t}>\n")
}

#[test]
fn conversions_comparisons_and_choices() {
    let mut wrong = vec![];
    for t in real_types() {
        let v = converted(t);
        for to in real_types().filter(|u| (t.bits() + u.bits()) % 3 == 0) {
            let line = format!("{v}%r = stablehlo.convert %v : (tensor<8x6x{t}>) -> tensor<8x6x{to}>");
            wrong.extend(check("convert", &line, &format!("tensor<8x6x{to}>")));
        }
        let scalars = format!(
            "{v}%s = stablehlo.slice %v [1:2, 2:3] : (tensor<8x6x{t}>) -> tensor<1x1x{t}>\n\
             %lo = stablehlo.reshape %s : (tensor<1x1x{t}>) -> tensor<{t}>\n\
             %u = stablehlo.slice %v [4:5, 4:5] : (tensor<8x6x{t}>) -> tensor<1x1x{t}>\n\
             %hi = stablehlo.reshape %u : (tensor<1x1x{t}>) -> tensor<{t}>\n"
        );
        let clamp = format!(
            "{scalars}%r = stablehlo.clamp %lo, %v, %hi : (tensor<{t}>, tensor<8x6x{t}>, tensor<{t}>) -> tensor<8x6x{t}>"
        );
        let select = format!(
            "{scalars}%p = stablehlo.compare LT, %lo, %hi : (tensor<{t}>, tensor<{t}>) -> tensor<i1>\n\
             %w = stablehlo.reverse %v, dims = [0] : tensor<8x6x{t}>\n\
             %r = stablehlo.select %p, %v, %w : tensor<i1>, tensor<8x6x{t}>"
        );
        let pad = format!(
            "{scalars}%r = stablehlo.pad %v, %lo, low = [-1, 2], high = [1, -1], interior = [1, 0] : \
             (tensor<8x6x{t}>, tensor<{t}>) -> tensor<15x7x{t}>"
        );
        let top_k = format!("{v}%r:2 = chlo.top_k(%v, k = 3) : tensor<8x6x{t}> -> (tensor<8x3x{t}>, tensor<8x3xi32>)");
        wrong.extend(check("clamp", &clamp, &format!("tensor<8x6x{t}>")));
        wrong.extend(check("select", &select, &format!("tensor<8x6x{t}>")));
        wrong.extend(check("pad", &pad, &format!("tensor<15x7x{t}>")));
        wrong.extend(check("top_k", &top_k, &format!("tensor<8x3x{t}>, tensor<8x3xi32>")));
        let sort = format!(
            "{v}%r:2 = \"stablehlo.sort\"(%v, %x) <{{dimension = 0 : i64, is_stable = true}}> ({{\n\
             ^bb0(%a: tensor<{t}>, %b: tensor<{t}>, %c: tensor<i32>, %d: tensor<i32>):\n\
             %q = stablehlo.compare GT, %a, %b : (tensor<{t}>, tensor<{t}>) -> tensor<i1>\n\
             stablehlo.return %q : tensor<i1>\n}}) : (tensor<8x6x{t}>, tensor<8x6xi32>) -> (tensor<8x6x{t}>, tensor<8x6xi32>)"
        );
        wrong.extend(check("sort", &sort, &format!("tensor<8x6x{t}>, tensor<8x6xi32>")));
    }
    expect_none(&wrong);
}

#[test]
fn bits_under_other_types() {
    let mut wrong = vec![];
    let all = || DType::ALL.iter().copied().filter(|t| t.bits().is_multiple_of(8) && !t.is_bool());
    for from in all().filter(|t| !t.is_complex() && *t != DType::F8E8M0FNU) {
        for to in all() {
            let (shape, ratio) = (from.bits().cmp(&to.bits()), from.bits().max(to.bits()) / from.bits().min(to.bits()));
            let (given, result) = match shape {
                std::cmp::Ordering::Equal => ("8x6".to_string(), "8x6".to_string()),
                std::cmp::Ordering::Greater => ("8x6".to_string(), format!("8x6x{ratio}")),
                std::cmp::Ordering::Less if 48 % ratio == 0 => {
                    (format!("{}x{ratio}", 48 / ratio), format!("{}", 48 / ratio))
                }
                std::cmp::Ordering::Less => continue,
            };
            if from.is_complex() != to.is_complex() {
                continue;
            }
            let line = format!(
                "{}%w = stablehlo.reshape %v : (tensor<8x6x{from}>) -> tensor<{given}x{from}>\n\
                 %r = stablehlo.bitcast_convert %w : (tensor<{given}x{from}>) -> tensor<{result}x{to}>",
                converted(from)
            );
            wrong.extend(check("bitcast_convert", &line, &format!("tensor<{result}x{to}>")));
        }
    }
    expect_none(&wrong);
}

/// Tests indices of every integer type. Some are out of bounds, some are negative if the type has a sign, and some are
/// the largest of the type otherwise.
#[test]
fn positions_of_any_integer_type() {
    let mut wrong = vec![];
    for t in integer_types() {
        let indices = format!(
            "%i = stablehlo.slice %x [0:4, 0:1] : (tensor<8x6xi32>) -> tensor<4x1xi32>\n\
             %j = stablehlo.convert %i : (tensor<4x1xi32>) -> tensor<4x1x{t}>\n\
             %one = stablehlo.constant dense<1> : tensor<2x1x{t}>\n\
             %zero = stablehlo.constant dense<0> : tensor<2x1x{t}>\n\
             %most = stablehlo.subtract %zero, %one : tensor<2x1x{t}>\n\
             %at = stablehlo.concatenate %j, %most, dim = 0 : (tensor<4x1x{t}>, tensor<2x1x{t}>) -> tensor<6x1x{t}>\n"
        );
        let gather = format!(
            "{indices}%r = \"stablehlo.gather\"(%x, %at) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], \
             collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}}> : \
             (tensor<8x6xi32>, tensor<6x1x{t}>) -> tensor<6x6xi32>"
        );
        let scatter = format!(
            "{indices}%u = stablehlo.slice %x [1:7, 0:6] : (tensor<8x6xi32>) -> tensor<6x6xi32>\n\
             %r = \"stablehlo.scatter\"(%x, %at, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], \
             inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{\n\
             ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%c = stablehlo.add %a, %b : tensor<i32>\nstablehlo.return %c : tensor<i32>\n}}) : \
             (tensor<8x6xi32>, tensor<6x1x{t}>, tensor<6x6xi32>) -> tensor<8x6xi32>"
        );
        wrong.extend(check("gather", &gather, "tensor<6x6xi32>"));
        wrong.extend(check("scatter", &scatter, "tensor<8x6xi32>"));
        for row in [0, 4] {
            let start = format!(
                "{indices}%k = stablehlo.slice %at [{row}:{}, 0:1] : (tensor<6x1x{t}>) -> tensor<1x1x{t}>\n\
                 %s = stablehlo.reshape %k : (tensor<1x1x{t}>) -> tensor<{t}>\n",
                row + 1
            );
            let slice = format!(
                "{start}%r = stablehlo.dynamic_slice %x, %s, %s, sizes = [3, 2] : \
                 (tensor<8x6xi32>, tensor<{t}>, tensor<{t}>) -> tensor<3x2xi32>"
            );
            let update = format!(
                "{start}%u = stablehlo.slice %x [1:4, 0:2] : (tensor<8x6xi32>) -> tensor<3x2xi32>\n\
                 %r = stablehlo.dynamic_update_slice %x, %u, %s, %s : \
                 (tensor<8x6xi32>, tensor<3x2xi32>, tensor<{t}>, tensor<{t}>) -> tensor<8x6xi32>"
            );
            wrong.extend(check("dynamic_slice", &slice, "tensor<3x2xi32>"));
            wrong.extend(check("dynamic_update_slice", &update, "tensor<8x6xi32>"));
        }
    }
    expect_none(&wrong);
}

/// Tests convolutions with one, two and four batch groups, and with as many feature groups, with `%x` split in each of
/// [`SHARDINGS`]. A dimension with groups is then also split over more devices than there are groups.
#[test]
fn groups_of_convolutions_split_within() {
    let mut wrong = vec![];
    let x = "%v = stablehlo.reshape %x : (tensor<8x6xi32>) -> tensor<8x1x6xi32>\n\
             %w = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xi32>) -> tensor<6x8xi32>\n";
    for groups in [1, 2, 4] {
        let line = format!(
            "{x}%k = stablehlo.reshape %w : (tensor<6x8xi32>) -> tensor<1x6x8xi32>\n\
             %r = stablehlo.convolution(%v, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}} \
             {{batch_group_count = {groups} : i64, feature_group_count = 1 : i64}} : \
             (tensor<8x1x6xi32>, tensor<1x6x8xi32>) -> tensor<{}x1x8xi32>",
            8 / groups
        );
        wrong.extend(check("batch groups", &line, &format!("tensor<{}x1x8xi32>", 8 / groups)));
        let line = format!(
            "%v = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xi32>) -> tensor<6x8xi32>\n\
             %u = stablehlo.reshape %v : (tensor<6x8xi32>) -> tensor<6x1x8xi32>\n\
             %s = stablehlo.slice %x [0:{0}, 0:4] : (tensor<8x6xi32>) -> tensor<{0}x4xi32>\n\
             %k = stablehlo.reshape %s : (tensor<{0}x4xi32>) -> tensor<1x{0}x4xi32>\n\
             %r = stablehlo.convolution(%u, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}} \
             {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : \
             (tensor<6x1x8xi32>, tensor<1x{0}x4xi32>) -> tensor<6x1x4xi32>",
            8 / groups
        );
        wrong.extend(check("feature groups", &line, "tensor<6x1x4xi32>"));
    }
    expect_none(&wrong);
}

#[test]
fn products_of_mixed_types() {
    let mut wrong = vec![];
    let types = [
        ("i8", "i32", "i32"),
        ("i8", "i8", "i32"),
        ("i4", "i4", "i32"),
        ("bf16", "f32", "f32"),
        ("f32", "bf16", "f32"),
        ("bf16", "bf16", "f32"),
        ("f32", "f64", "f64"),
        ("f32", "f32", "f64"),
    ];
    for (a, b, to) in types {
        let operands = format!(
            "%a = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6x{a}>\n\
             %b = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6x{b}>\n"
        );
        let dot = format!(
            "{operands}%r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : \
             (tensor<8x6x{a}>, tensor<8x6x{b}>) -> tensor<6x6x{to}>"
        );
        wrong.extend(check("dot_general", &dot, &format!("tensor<6x6x{to}>")));
        if a == b {
            let conv = format!(
                "{operands}%v = stablehlo.reshape %a : (tensor<8x6x{a}>) -> tensor<8x1x6x{a}>\n\
                 %k = stablehlo.slice %b [0:6, 0:6] : (tensor<8x6x{b}>) -> tensor<6x6x{b}>\n\
                 %l = stablehlo.reshape %k : (tensor<6x6x{b}>) -> tensor<1x6x6x{b}>\n\
                 %r = stablehlo.convolution(%v, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}} \
                 {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : \
                 (tensor<8x1x6x{a}>, tensor<1x6x6x{b}>) -> tensor<8x1x6x{to}>"
            );
            wrong.extend(check("convolution", &conv, &format!("tensor<8x1x6x{to}>")));
        }
    }
    expect_none(&wrong);
}

/// Tests reductions of empty arrays, and along no dimensions: an initial value counts once for each result.
#[test]
fn reductions_of_nothing_and_along_nothing() {
    let mut wrong = vec![];
    for (from, to) in [("i8", "i32"), ("i32", "i32"), ("bf16", "f32"), ("f32", "f32"), ("i1", "i1")] {
        for (name, dims, kept) in
            [("add", "", "8x6x"), ("maximum", "", "8x6x"), ("add", "1", "8x"), ("minimum", "0, 1", "")]
        {
            let reduce = |x: &str| {
                format!(
                    "%s = stablehlo.slice %v [3:4, 1:2] : (tensor<8x6x{from}>) -> tensor<1x1x{from}>\n\
                     %i = stablehlo.reshape %s : (tensor<1x1x{from}>) -> tensor<{from}>\n\
                     %r = \"stablehlo.reduce\"({x}, %i) <{{dimensions = array<i64{}{dims}>}}> ({{\n\
                     ^bb0(%a: tensor<{to}>, %b: tensor<{to}>):\n%c = stablehlo.{name} %a, %b : tensor<{to}>\n\
                     stablehlo.return %c : tensor<{to}>\n}}) : ",
                    if dims.is_empty() { "" } else { ": " }
                )
            };
            let v = format!("%v = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6x{from}>\n");
            let whole = format!("{v}{}(tensor<8x6x{from}>, tensor<{from}>) -> tensor<{kept}{to}>", reduce("%v"));
            // Sums of few small numbers are exact.
            wrong.extend(check("reduce", &whole, &format!("tensor<{kept}{to}>")));
            let kept = kept.replace('6', "0");
            let empty = format!(
                "{v}%e = stablehlo.slice %v [0:8, 6:6] : (tensor<8x6x{from}>) -> tensor<8x0x{from}>\n\
                 {}(tensor<8x0x{from}>, tensor<{from}>) -> tensor<{kept}{to}>",
                reduce("%e")
            );
            wrong.extend(check("reduce of nothing", &empty, &format!("tensor<{kept}{to}>")));
        }
    }
    expect_none(&wrong);
}

#[test]
fn parts_of_complex_numbers() {
    let mut wrong = vec![];
    for (t, c) in [("f32", "complex<f32>"), ("f64", "complex<f64>")] {
        let z = format!(
            "%v = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6x{t}>\n\
             %w = stablehlo.reverse %v, dims = [0, 1] : tensor<8x6x{t}>\n\
             %z = stablehlo.complex %v, %w : tensor<8x6x{c}>\n"
        );
        for name in ["real", "imag", "abs"] {
            let line = format!("{z}%r = stablehlo.{name} %z : (tensor<8x6x{c}>) -> tensor<8x6x{t}>");
            wrong.extend(check(name, &line, &format!("tensor<8x6x{t}>")));
        }
        // Products of this number of elements are exact in 64 bits.
        for name in if t == "f64" { &["add", "multiply"][..] } else { &["add"] } {
            let line = format!(
                "{z}%i = stablehlo.constant dense<(1.0, 2.0)> : tensor<{c}>\n\
                 %r = stablehlo.reduce(%z init: %i) applies stablehlo.{name} across dimensions = [1] : \
                 (tensor<8x6x{c}>, tensor<{c}>) -> tensor<8x{c}>"
            );
            wrong.extend(check(name, &line, &format!("tensor<8x{c}>")));
        }
        let line = format!(
            "{z}%q = stablehlo.transpose %z, dims = [1, 0] : (tensor<8x6x{c}>) -> tensor<6x8x{c}>\n\
             %e = stablehlo.reshape %q : (tensor<6x8x{c}>) -> tensor<8x6x{c}>\n\
             %r = stablehlo.compare NE, %z, %e : (tensor<8x6x{c}>, tensor<8x6x{c}>) -> tensor<8x6xi1>"
        );
        wrong.extend(check("compare", &line, "tensor<8x6xi1>"));
    }
    expect_none(&wrong);
}

#[test]
fn random_bits_of_any_type() {
    let mut wrong = vec![];
    for (algorithm, words) in [("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2)] {
        for t in ["i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f16", "bf16", "f32", "f64"] {
            let line = format!(
                "%k = stablehlo.slice %x [0:1, 0:{words}] : (tensor<8x6xi32>) -> tensor<1x{words}xi32>\n\
                 %l = stablehlo.reshape %k : (tensor<1x{words}xi32>) -> tensor<{words}xi32>\n\
                 %s = stablehlo.convert %l : (tensor<{words}xi32>) -> tensor<{words}xui64>\n\
                 %g:2 = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : (tensor<{words}xui64>) -> (tensor<{words}xui64>, tensor<8x6x{t}>)\n\
                 %r = stablehlo.transpose %g#1, dims = [1, 0] : (tensor<8x6x{t}>) -> tensor<6x8x{t}>"
            );
            wrong.extend(check("rng_bit_generator", &line, &format!("tensor<6x8x{t}>")));
        }
    }
    expect_none(&wrong);
}

#[test]
fn sorts_of_many_operands() {
    let types = ["i32", "i8", "f64", "i1", "bf16", "ui64", "complex<f32>", "i4"];
    let n = types.len();
    let list = |item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<Vec<_>>().join(", ");
    let lines: String = (0..n)
        .map(|i| {
            let t = types[i];
            let turned = format!("%t{i} = stablehlo.reverse %x, dims = [{}] : tensor<8x6xi32>\n", i % 2);
            turned + &format!("%v{i} = stablehlo.convert %t{i} : (tensor<8x6xi32>) -> tensor<8x6x{t}>\n")
        })
        .collect();
    let line = format!(
        "{lines}%o:{n} = \"stablehlo.sort\"({}) <{{dimension = 1 : i64, is_stable = true}}> ({{\n^bb0({}):\n\
         %e = stablehlo.compare EQ, %a1, %b1 : (tensor<i8>, tensor<i8>) -> tensor<i1>\n\
         %f = stablehlo.compare LT, %a1, %b1 : (tensor<i8>, tensor<i8>) -> tensor<i1>\n\
         %g = stablehlo.compare GT, %a2, %b2 : (tensor<f64>, tensor<f64>) -> tensor<i1>\n\
         %h = stablehlo.select %e, %g, %f : tensor<i1>, tensor<i1>\nstablehlo.return %h : tensor<i1>\n}}) : ({}) -> ({})\n",
        list(&|i| format!("%v{i}")),
        list(&|i| format!("%a{i}: tensor<{0}>, %b{i}: tensor<{0}>", types[i])),
        list(&|i| format!("tensor<8x6x{}>", types[i])),
        list(&|i| format!("tensor<8x6x{}>", types[i])),
    );
    let mut wrong = vec![];
    for i in (0..n).step_by(2) {
        let line = format!(
            "{line}%r:2 = stablehlo.optimization_barrier %o#{i}, %o#{} : tensor<8x6x{}>, tensor<8x6x{}>",
            i + 1,
            types[i],
            types[i + 1]
        );
        wrong.extend(check("sort", &line, &format!("tensor<8x6x{}>, tensor<8x6x{}>", types[i], types[i + 1])));
    }
    expect_none(&wrong);
}

#[test]
fn quantized_numbers_are_rescaled_for_their_reducer() {
    let (narrow, wide) = ("!quant.uniform<i8:f32, 0.5:-3>", "!quant.uniform<i32:f32, 0.25:1>");
    let line = format!(
        "%f = stablehlo.convert %x : (tensor<8x6xi32>) -> tensor<8x6xf32>\n\
         %v = stablehlo.uniform_quantize %f : (tensor<8x6xf32>) -> tensor<8x6x{narrow}>\n\
         %o = stablehlo.constant dense<2.5> : tensor<f32>\n\
         %i = stablehlo.uniform_quantize %o : (tensor<f32>) -> tensor<{narrow}>\n\
         %s = \"stablehlo.reduce\"(%v, %i) <{{dimensions = array<i64: 1>}}> ({{\n\
         ^bb0(%a: tensor<{wide}>, %b: tensor<{wide}>):\n%c = stablehlo.add %a, %b : tensor<{wide}>\n\
         stablehlo.return %c : tensor<{wide}>\n}}) : (tensor<8x6x{narrow}>, tensor<{narrow}>) -> tensor<8x{wide}>\n\
         %r = stablehlo.uniform_dequantize %s : (tensor<8x{wide}>) -> tensor<8xf32>"
    );
    expect_none(&check("reduce", &line, "tensor<8xf32>"));
    let sums = agreed(&main(SHARDINGS[0], &line, "%r", "tensor<8xf32>"), &[input()]).expect("it runs");
    let row = |r: usize| (0..6).map(|c| input().get::<i32>(r * 6 + c) as f32).sum::<f32>() + 2.5;
    assert_eq!(sums[0], Literal::from_fn([8], row));
}

/// Tests collectives over groups that are not axes: of different sizes, or without some devices, which get zeros.
#[test]
fn groups_of_any_devices() {
    let body = "({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%c = stablehlo.add %a, %b : tensor<i32>\n\
                stablehlo.return %c : tensor<i32>\n})";
    let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
    let collectives = [
        format!(
            "all_reduce\"(%l) <{{{channel}, use_global_device_ids, replica_groups = dense<[[2, 0, 1], [3, -1, -1]]> : tensor<2x3xi64>}}> {body}"
        ),
        format!("collective_broadcast\"(%l) <{{{channel}, replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>}}>"),
        format!(
            "collective_reduce\"(%l) <{{{channel}, replica_groups = dense<[[3, 1, 0]]> : tensor<1x3xi64>}}> {body}"
        ),
    ];
    let mut wrong = vec![];
    for collective in collectives {
        let sharding = "<@mesh, [{\"x\", \"y\"}, {}]>";
        let line = format!(
            "%r = sdy.manual_computation(%x) in_shardings=[{sharding}] out_shardings=[{sharding}] manual_axes={{\"x\", \"y\"}} \
             (%l: tensor<2x6xi32>) {{\n%g = \"stablehlo.{collective} : (tensor<2x6xi32>) -> tensor<2x6xi32>\n\
             sdy.return %g : tensor<2x6xi32>\n}} : (tensor<8x6xi32>) -> tensor<8x6xi32>"
        );
        wrong.extend(check("groups", &line, "tensor<8x6xi32>"));
    }
    expect_none(&wrong);
}

/// Tests positions along dimensions that do not fit 32 bits. Nothing of that size is made.
#[test]
fn devices_count_long_dimensions_in_64_bits() {
    let partitioned = |sharding: &str, lines: &str, ty: &str| {
        let text = format!(
            "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main() -> ({ty} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}) {{\n\
             {lines}\nreturn %r : {ty}\n}}"
        );
        let module = text::parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let module = run::partitioned(&module).unwrap_or_else(|e| panic!("{e}\n{text}")).module;
        text::print(&module, &text::PrintOptions { facts: false, ..text::PrintOptions::default() })
    };
    let floats =
        partitioned("[{\"x\"}]", "%r = stablehlo.iota dim = 0 : tensor<6000000000xf32>", "tensor<6000000000xf32>");
    assert!(floats.contains("iota dim = 0 : tensor<3000000000xi64>"), "{floats}");
    assert!(floats.contains("dense<3000000000> : tensor<i64>"), "{floats}");
    let small = partitioned("[{\"x\"}]", "%r = stablehlo.iota dim = 0 : tensor<600xf32>", "tensor<600xf32>");
    assert!(small.contains("iota dim = 0 : tensor<300xi32>"), "{small}");
}
