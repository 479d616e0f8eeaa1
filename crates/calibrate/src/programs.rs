//! The programs that are measured.

use crate::others::{indexed, moves};
use crate::text::{ADD, main, tensor};
use shardwise_base::DType;
use shardwise_ops::Opcode;

/// The number of elements of each array in a program of elementwise ops.
pub(crate) const ELEMENTS: usize = 8192;

/// The number of ops of the longer program of elementwise ops.
pub(crate) const CHAIN: usize = 6;

/// The type of an array that is just too large for the loop of [`turns`] to be a small program. Its elements take about
/// as long as an instruction.
pub(crate) const MANY: &str = "tensor<8192xi8>";

/// Returns a program with `count` instructions, each of which negates an array of type [`MANY`]. The program returns
/// all of their results, so that the instructions are not fused.
pub(crate) fn chain(count: usize) -> String {
    let ty = MANY;
    let line = |i: usize| {
        let operand = if i == 0 { "%x".to_string() } else { format!("%{}", i - 1) };
        format!("  %{i} = stablehlo.negate {operand} : {ty}\n")
    };
    let body: String = (0..count).map(line).collect();
    let names: Vec<String> = (0..count).map(|i| format!("%{i}")).collect();
    let types = vec![ty; count].join(", ");
    let results = names.join(", ");
    format!("func.func @main(%x: {ty}) -> ({types}) {{\n{body}  return {results} : {types}\n}}\n")
}

/// Returns a program with a loop of so many turns with three instructions each: the condition, the counter, and one
/// that negates an array of type [`MANY`].
pub(crate) fn turns(count: usize) -> String {
    looped(count, MANY, &["negate %0".into()])
}

/// The number of ops on the array in a turn of [`small_turns`].
pub(crate) const SMALL_OPS: usize = 20;

/// The ops in a turn of [`small_turns`].
#[derive(Clone, Copy)]
pub(crate) enum Small {
    /// Sums and products of two arrays of so many elements.
    Elements(usize),
    /// A transpose of a square matrix with [`SMALL_SIDE`] rows after each sum.
    Moves,
    /// Products of square matrices with [`SMALL_SIDE`] rows.
    Products,
}

/// The number of rows of the matrices of [`Small`].
pub(crate) const SMALL_SIDE: usize = 16;

/// Returns a program with a loop of `count` turns of [`SMALL_OPS`] ops on an array of few elements, so that the loop is
/// a small program. Each turn also has a condition and a counter.
pub(crate) fn small_turns(count: usize, small: Small) -> String {
    let square = tensor(&[SMALL_SIDE, SMALL_SIDE], "f32");
    let (ty, ops): (String, Vec<String>) = match small {
        Small::Elements(elements) => {
            let op = |i: usize| format!("{} %{i}, %x", if i.is_multiple_of(2) { "add" } else { "multiply" });
            (tensor(&[elements], "f32"), (0..SMALL_OPS).map(op).collect())
        }
        Small::Moves => {
            let op = |i: usize| match i % 2 {
                0 => format!("add %{i}, %x"),
                _ => format!("transpose %{i}, dims = [1, 0]"),
            };
            (square, (0..SMALL_OPS).map(op).collect())
        }
        Small::Products => {
            let op = |i: usize| format!("dot_general %{i}, %x, contracting_dims = [1] x [0]");
            (square, (0..SMALL_OPS).map(op).collect())
        }
    };
    looped(count, &ty, &ops)
}

/// Returns a program that adds one to an array of this shape on each of `devices` devices.
pub(crate) fn additions(devices: usize, shape: &[usize]) -> String {
    let own = tensor(&[&[devices], shape].concat(), "f32");
    format!(
        "module {{
 sdy.mesh @mesh = <[\"X\"={devices}]>
 func.func public @main(%x: {own} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"X\"}}, {{}}]>}})
     -> ({own} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"X\"}}, {{}}]>}}) {{
  %c = stablehlo.constant dense<1.0> : {own}
  %r = stablehlo.add %x, %c : {own}
  return %r : {own}
 }}
}}
"
    )
}

/// Returns a program of one instruction that does almost nothing: eight devices exchange what they have.
pub(crate) fn idle() -> String {
    COLLECTIVES[COLLECTIVES.len() - 1].program(1 << 10)
}

/// Returns a program with a loop of `count` turns that carries an array of type `ty`. Each of `ops` names its operands:
/// `%x` is the argument, `%0` the array at the start of the turn, and `%1`, `%2`, .. are the results of the ops.
fn looped(count: usize, ty: &str, ops: &[String]) -> String {
    let types = |op: &str| match op.split_once(' ') {
        Some(("transpose", _)) => format!("({ty}) -> {ty}"),
        Some(("dot_general", _)) => format!("({ty}, {ty}) -> {ty}"),
        _ => ty.to_string(),
    };
    let line = |(i, op): (usize, &String)| format!("    %{} = stablehlo.{op} : {}\n", i + 1, types(op));
    let lines: String = ops.iter().enumerate().map(line).collect();
    let body = format!(
        "  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<{count}> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %z, %0 = %x) : tensor<i32>, {ty}
  cond {{
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %o : tensor<i32>
{lines}    stablehlo.return %j, %{} : tensor<i32>, {ty}
  }}",
        ops.len()
    );
    format!("func.func @main(%x: {ty}) -> {ty} {{\n{body}\n  return %r#1 : {ty}\n}}\n")
}

/// Returns a program of one op and one of [`CHAIN`] ops, for f32, bf16, f64 and i32 and each elementwise op of
/// StableHLO and CHLO that takes one or two arrays of the type, returns an array of the type, and needs no attributes.
/// Adds such programs for comparisons and selections.
pub(crate) fn elements() -> Vec<(&'static str, DType, [String; 2])> {
    let mut programs = vec![];
    let is_known = |name: &&str| name.starts_with("stablehlo.") || name.starts_with("chlo.");
    for name in Opcode::ALL.iter().map(|op| op.name()).filter(is_known) {
        for dtype in [DType::F32, DType::BF16, DType::F64, DType::I32] {
            let plain = [1, 2].map(|operands| {
                (name, dtype, [1, CHAIN].map(|count| element_chain(name, dtype.name(), operands, count)))
            });
            let all = plain.into_iter().chain(special(name, dtype));
            programs.extend(all.filter(|(_, _, texts)| is_elementwise(&texts[0])));
        }
    }
    programs
}

fn is_elementwise(text: &str) -> bool {
    let Ok(local) = crate::timed::localized(text) else { return false };
    shardwise_sim::subject(&local).is_some_and(|subject| subject.name.starts_with("stream."))
}

fn element_chain(name: &str, dtype: &str, operands: usize, count: usize) -> String {
    let ty = tensor(&[ELEMENTS], dtype);
    let line = |i: usize| {
        let last = if i == 0 { "%x".to_string() } else { format!("%{}", i - 1) };
        let result = if i + 1 == count { "%r".to_string() } else { format!("%{i}") };
        let operands: Vec<String> = [last, "%y".into()].into_iter().take(operands).collect();
        let types = vec![&ty[..]; operands.len()].join(", ");
        format!("  {result} = \"{name}\"({}) : ({types}) -> {ty}", operands.join(", "))
    };
    let body: Vec<String> = (0..count).map(line).collect();
    main(&format!("%x: {ty}, %y: {ty}"), &body.join("\n"), &ty)
}

/// Returns a program of one op and one of [`CHAIN`] ops if the op is `stablehlo.compare` or `stablehlo.select`, whose
/// operands or results have several types. A comparison is followed by a selection. Returns `None` for other ops.
fn special(name: &'static str, dtype: DType) -> Option<(&'static str, DType, [String; 2])> {
    let (ty, truth) = (tensor(&[ELEMENTS], dtype.name()), tensor(&[ELEMENTS], "i1"));
    let compare = |a: &str, r: &str| format!("  {r} = stablehlo.compare LT, {a}, %y : ({ty}, {ty}) -> {truth}");
    let select = |p: &str, a: &str, r: &str| format!("  {r} = stablehlo.select {p}, {a}, %y : {truth}, {ty}");
    let chain = |count: usize| -> String {
        let last = |i: usize| if i == 0 { "%x".to_string() } else { format!("%s{}", i - 1) };
        let is_compare = name.ends_with("compare");
        let line = |i: usize| {
            let result = if i + 1 == count { "%r".to_string() } else { format!("%s{i}") };
            // A comparison is measured with the selection that uses it.
            let compared = if is_compare { compare(&last(i), &format!("%p{i}")) + "\n" } else { String::new() };
            let predicate = if is_compare { format!("%p{i}") } else { "%p".to_string() };
            compared + &select(&predicate, &last(i), &result)
        };
        let body: Vec<String> = (0..count).map(line).collect();
        main(&format!("%p: {truth}, %x: {ty}, %y: {ty}"), &body.join("\n"), &ty)
    };
    let is_special = ["stablehlo.compare", "stablehlo.select"].contains(&name);
    is_special.then(|| (name, dtype, [chain(1), chain(CHAIN)]))
}

pub(crate) fn products() -> Vec<String> {
    let shapes = |sizes: &[usize]| -> Vec<[usize; 3]> {
        let all = |m: usize| sizes.iter().flat_map(move |&k| sizes.iter().map(move |&n| [m, k, n]));
        sizes.iter().flat_map(|&m| all(m)).collect()
    };
    let shape = |dtype: &'static str, sizes: &[usize]| -> Vec<String> {
        shapes(sizes).into_iter().map(|shape| product(dtype, shape)).collect()
    };
    let mut programs = shape("f32", &[1, 8, 64, 256, 1024]);
    programs.extend(shape("bf16", &[1, 8, 64, 256, 1024]));
    programs.extend(shape("i32", &[8, 64, 512]));
    programs.extend(shape("f64", &[8, 64, 512]));
    programs.extend(shapes(&[2, 8, 32]).into_iter().map(batch));
    programs
}

/// Returns a batch of small products that together take much longer than an instruction, but not so long that they are
/// shared among workers.
fn batch([m, k, n]: [usize; 3]) -> String {
    const MULTIPLY_ADDS: usize = 1 << 16;
    let count = (MULTIPLY_ADDS / (m * k * n)).clamp(2, 1 << 10);
    let [a, b, c] = [[count, m, k], [count, k, n], [count, m, n]].map(|sizes| tensor(&sizes, "f32"));
    let dims = "batching_dims = [0] x [0], contracting_dims = [2] x [1]";
    let body = format!("  %r = stablehlo.dot_general %x, %y, {dims} : ({a}, {b}) -> {c}");
    main(&format!("%x: {a}, %y: {b}"), &body, &c)
}

fn product(dtype: &str, [m, k, n]: [usize; 3]) -> String {
    let [a, b, c] = [[m, k], [k, n], [m, n]].map(|sizes| tensor(&sizes, dtype));
    let body = format!("  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}");
    main(&format!("%x: {a}, %y: {b}"), &body, &c)
}

pub(crate) fn streams() -> Vec<String> {
    (6..=24).step_by(2).map(|power| stream(1 << power)).collect()
}

fn stream(elements: usize) -> String {
    let ty = tensor(&[elements], "f32");
    main(&format!("%x: {ty}"), &format!("  %r = stablehlo.negate %x : {ty}"), &ty)
}

struct Collective {
    name: &'static str,
    attributes: &'static str,
    reduces: bool,
    /// The number of elements of a device's result divided by that of its operand, as a fraction: `[8, 1]` for an
    /// all-gather.
    elements: [usize; 2],
    /// True if the result is the same on all devices.
    is_whole: bool,
}

const GROUPS: &str = "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>";
const PAIRS: &str = "source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> \
    : tensor<8x2xi64>";

const COLLECTIVES: [Collective; 5] = [
    Collective {
        name: "all_gather",
        attributes: "all_gather_dim = 0 : i64, GROUPS, use_global_device_ids",
        reduces: false,
        elements: [8, 1],
        is_whole: true,
    },
    Collective {
        name: "all_reduce",
        attributes: "GROUPS, use_global_device_ids",
        reduces: true,
        elements: [1, 1],
        is_whole: true,
    },
    Collective {
        name: "reduce_scatter",
        attributes: "scatter_dimension = 0 : i64, GROUPS, use_global_device_ids",
        reduces: true,
        elements: [1, 8],
        is_whole: false,
    },
    Collective {
        name: "all_to_all",
        attributes: "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 8 : i64, GROUPS",
        reduces: false,
        elements: [1, 1],
        is_whole: false,
    },
    Collective { name: "collective_permute", attributes: "PAIRS", reduces: false, elements: [1, 1], is_whole: false },
];

pub(crate) fn collectives() -> Vec<String> {
    let sizes = [1 << 3, 1 << 7, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22];
    sizes.iter().flat_map(|&n| COLLECTIVES.iter().map(move |row| row.program(n))).collect()
}

impl Collective {
    fn program(&self, elements: usize) -> String {
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        let attributes = self.attributes.replace("GROUPS", GROUPS).replace("PAIRS", PAIRS);
        let (part, whole) = (tensor(&[elements], "f32"), tensor(&[8 * elements], "f32"));
        let count = elements * self.elements[0] / self.elements[1];
        let result = tensor(&[if self.is_whole { count } else { 8 * count }], "f32");
        let own = tensor(&[count], "f32");
        let (name, out) = (self.name, if self.is_whole { "{}" } else { "{\"X\"}" });
        let region = if self.reduces { ADD } else { "" };
        format!(
            "module {{
 sdy.mesh @mesh = <[\"X\"=8]>
 func.func public @main(%x: {whole} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"X\"}}]>}}) -> {result} {{
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{\"X\"}}]>] out_shardings=[<@mesh, [{out}]>]
      manual_axes={{\"X\"}} (%p: {part}) {{
   %1 = \"stablehlo.{name}\"(%p) <{{{attributes}, {channel}}}> {region} : ({part}) -> {own}
   sdy.return %1 : {own}
  }} : ({whole}) -> {result}
  return %0 : {result}
 }}
}}
"
        )
    }
}

/// Returns programs of sizes that are not measured otherwise, by class of instructions.
pub(crate) fn checks() -> Vec<(&'static str, Vec<String>)> {
    let shapes = [[32, 96, 200], [300, 300, 300], [12, 700, 40], [128, 1000, 128], [500, 30, 700], [3, 400, 400]];
    let mut products: Vec<String> = shapes.iter().map(|&shape| product("f32", shape)).collect();
    products.extend([[100, 100, 100], [20, 400, 300]].map(|shape| product("bf16", shape)));
    let ty = |n: usize| tensor(&[n], "f32");
    let formula = |n: usize| {
        let lines = ["%0 = stablehlo.tanh %x", "%1 = stablehlo.multiply %0, %x", "%2 = stablehlo.exponential %1"];
        let body: String = lines.iter().map(|line| format!("  {line} : {}\n", ty(n))).collect();
        main(&format!("%x: {}", ty(n)), &format!("{body}  %r = stablehlo.add %2, %x : {}", ty(n)), &ty(n))
    };
    let elements = [500, 3000, 20_000, 100_000, 600_000, 3_000_000];
    let mut streams: Vec<String> = elements.iter().map(|&n| stream(n)).collect();
    streams.extend(elements[..4].iter().map(|&n| formula(n)));
    let sizes = [1 << 10, 1 << 15, 1 << 17];
    let others: Vec<String> = sizes.iter().flat_map(|&n| [moves(n), indexed(n)].concat()).collect();
    let all = |&n: &usize| COLLECTIVES.iter().map(move |row| row.program(n));
    let collectives: Vec<String> = [1 << 9, 1 << 12, 1 << 16].iter().flat_map(all).collect();
    vec![("product", products), ("element", streams), ("op", others), ("collective", collectives)]
}
