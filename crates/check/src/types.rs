//! Programs whose types are unusual, sharded: the interpreter's results for the whole are those of both engines for the
//! partitioned program, types included.

use crate::run::agreed;
use shardwise_base::{DType, Literal};

/// `@main` of one `tensor<8x6xi32>`, sharded so, on a mesh of four devices, `x` and `y`; `%x` is its argument.
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

/// Runs lines that give `%r` of a type under every sharding.
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

/// `%v`: the argument as elements of `t`.
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

/// Indices of every integer type, some of them negative, some beyond the end, and the largest there is.
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

/// Groups of a convolution that more devices split than there are groups.
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

/// Products of operands of two types, with results of a third.
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
