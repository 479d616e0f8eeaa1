//! The programs that are measured.

use shardwise_base::DType;
use shardwise_ops::Opcode;

/// The number of elements of each array in a program of elementwise ops.
pub(crate) const ELEMENTS: usize = 8192;

/// The number of ops of the longer program of elementwise ops.
pub(crate) const CHAIN: usize = 6;

const ADD: &str = "({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })";

const ORDER: &str = "({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  })";

const GATHER: &str = "<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], \
    start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}>";

const SCATTER: &str = "<{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<\
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, \
    unique_indices = false}>";

/// The attributes of a convolution with a window of 3 by 3, whose result is as high and as wide as its operand.
const CONVOLUTION: &str = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} \
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}";

/// The approximate numbers of elements of the arrays in the programs of [`others`]. Programs with windows leave out the
/// largest.
const SIZES: [usize; 5] = [1 << 8, 1 << 12, 1 << 15, 1 << 18, 1 << 21];

/// Returns the text of a function `@main` of one result, `%r`, which `body` defines.
fn main(arguments: &str, body: &str, result: &str) -> String {
    format!("func.func @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}\n")
}

fn tensor(sizes: &[usize], dtype: &str) -> String {
    format!("tensor<{}{dtype}>", sizes.iter().map(|n| format!("{n}x")).collect::<String>())
}

/// The type of an array that is just too large for a small program outside of loops. Its elements take much less time
/// than an instruction.
pub(crate) const FEW: &str = "tensor<1100xi8>";

/// The type of an array that is just too large for the loop of [`turns`] to be a small program. Its elements take about
/// as long as an instruction.
pub(crate) const MANY: &str = "tensor<8192xi8>";

/// Returns a program with `count` instructions, each of which negates an array of type `ty`: [`FEW`] or [`MANY`]. The
/// program returns all of their results, so that the instructions are not fused.
pub(crate) fn chain(count: usize, ty: &str) -> String {
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

/// Returns a program with a loop of `count` turns of [`SMALL_OPS`] ops on an array of `elements` elements, which must
/// be so few that the loop is a small program. Each turn also has a condition and a counter.
pub(crate) fn small_turns(count: usize, elements: usize) -> String {
    let op = |i: usize| format!("{} %{i}, %x", if i.is_multiple_of(2) { "add" } else { "multiply" });
    looped(count, &tensor(&[elements], "f32"), &(0..SMALL_OPS).map(op).collect::<Vec<_>>())
}

/// Returns a program with a loop of `count` turns that carries an array of type `ty`. Each of `ops` names its operands:
/// `%x` is the argument, `%0` the array at the start of the turn, and `%1`, `%2`, .. are the results of the ops.
fn looped(count: usize, ty: &str, ops: &[String]) -> String {
    let lines: String =
        ops.iter().enumerate().map(|(i, op)| format!("    %{} = stablehlo.{op} : {ty}\n", i + 1)).collect();
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
    let shape = |dtype: &'static str, sizes: &[usize]| -> Vec<String> {
        let all = |m: usize| sizes.iter().flat_map(move |&k| sizes.iter().map(move |&n| [m, k, n]));
        sizes.iter().flat_map(|&m| all(m)).map(|shape| product(dtype, shape)).collect()
    };
    let mut programs = shape("f32", &[1, 8, 64, 256, 1024]);
    programs.extend(shape("bf16", &[1, 8, 64, 512]));
    programs.extend(shape("i32", &[8, 64, 512]));
    programs.extend(shape("f64", &[8, 64, 512]));
    programs
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

pub(crate) fn others() -> Vec<String> {
    let mut programs: Vec<String> = SIZES.iter().flat_map(|&n| moves(n, "f32")).collect();
    programs.extend(SIZES.iter().flat_map(|&n| indexed(n)));
    programs.extend(SIZES.iter().filter(|&&n| n <= 1 << 18).flat_map(|&n| windows(n)));
    programs
}

/// Returns the rows and columns of an almost square matrix with `elements` elements, a power of 2.
fn matrix(elements: usize) -> [usize; 2] {
    let rows = 1 << (elements.ilog2() / 2);
    [rows, elements / rows]
}

fn moves(elements: usize, dtype: &str) -> Vec<String> {
    [turns_and_joins(elements, dtype), parts(elements, dtype), folds(elements, dtype)].concat()
}

fn turns_and_joins(elements: usize, dtype: &str) -> Vec<String> {
    let [rows, columns] = matrix(elements);
    let (ty, turned) = (tensor(&[rows, columns], dtype), tensor(&[columns, rows], dtype));
    let (deep, swapped) = (tensor(&[8, rows / 8, columns], dtype), tensor(&[rows / 8, 8, columns], dtype));
    let (wide, row) = (tensor(&[rows, 2 * columns], dtype), tensor(&[columns], dtype));
    let one = |from: &str, line: &str, to: &str| {
        main(&format!("%x: {from}"), &format!("  %r = stablehlo.{line} : ({from}) -> {to}"), to)
    };
    let joined = format!("  %r = stablehlo.concatenate %x, %x, dim = 1 : ({ty}, {ty}) -> {wide}");
    vec![
        one(&ty, "transpose %x, dims = [1, 0]", &turned),
        one(&deep, "transpose %x, dims = [1, 0, 2]", &swapped),
        one(&row, "broadcast_in_dim %x, dims = [1]", &ty),
        main(&format!("%x: {ty}"), &joined, &wide),
        main(&format!("%x: {ty}"), &format!("  %r = stablehlo.reverse %x, dims = [1] : {ty}"), &ty),
    ]
}

fn parts(elements: usize, dtype: &str) -> Vec<String> {
    let [rows, columns] = matrix(elements);
    let (ty, part) = (tensor(&[rows, columns], dtype), tensor(&[rows / 2, columns], dtype));
    let (padded, scalar) = (tensor(&[rows + 2, columns + 2], dtype), tensor(&[], dtype));
    let (x, half) = (format!("%x: {ty}"), rows / 2);
    let index = "  %i = stablehlo.constant dense<1> : tensor<i32>\n";
    let pad = format!(
        "  %z = stablehlo.constant dense<0.0> : {scalar}
  %r = stablehlo.pad %x, %z, low = [1, 1], high = [1, 1], interior = [0, 0] : ({ty}, {scalar}) -> {padded}"
    );
    let slice = format!("  %r = stablehlo.slice %x [0:{half}, 0:{columns}] : ({ty}) -> {part}");
    let cut = format!(
        "{index}  %r = stablehlo.dynamic_slice %x, %i, %i, sizes = [{half}, {columns}]
    : ({ty}, tensor<i32>, tensor<i32>) -> {part}"
    );
    let update = format!(
        "{index}  %r = stablehlo.dynamic_update_slice %x, %y, %i, %i
    : ({ty}, {part}, tensor<i32>, tensor<i32>) -> {ty}"
    );
    vec![
        main(&x, &pad, &padded),
        main(&x, &slice, &part),
        main(&x, &cut, &part),
        main(&format!("{x}, %y: {part}"), &update, &ty),
    ]
}

fn folds(elements: usize, dtype: &str) -> Vec<String> {
    let [rows, columns] = matrix(elements);
    let (ty, scalar) = (tensor(&[rows, columns], dtype), tensor(&[], dtype));
    let fold = |dim: usize, kept: usize| {
        let to = tensor(&[kept], dtype);
        let body = format!(
            "  %z = stablehlo.constant dense<0.0> : {scalar}
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [{dim}] : ({ty}, {scalar}) -> {to}"
        );
        main(&format!("%x: {ty}"), &body, &to)
    };
    vec![fold(0, columns), fold(1, rows)]
}

fn indexed(elements: usize) -> Vec<String> {
    let rows = (elements / 16).max(1);
    let (ty, indices, line) = (tensor(&[rows, 16], "f32"), tensor(&[rows, 1], "i32"), tensor(&[elements], "f32"));
    let gather = format!("  %r = \"stablehlo.gather\"(%x, %i) {GATHER} : ({ty}, {indices}) -> {ty}");
    let scatter = format!("  %r = \"stablehlo.scatter\"(%x, %i, %u) {SCATTER} {ADD} : ({ty}, {indices}, {ty}) -> {ty}");
    let sort = format!("  %r = \"stablehlo.sort\"(%x) <{{dimension = 0 : i64, is_stable = true}}> {ORDER}");
    vec![
        main(&format!("%x: {ty}, %i: {indices}"), &gather, &ty),
        main(&format!("%x: {ty}, %i: {indices}, %u: {ty}"), &scatter, &ty),
        main(&format!("%x: {line}"), &format!("{sort} : ({line}) -> {line}"), &line),
    ]
}

fn windows(elements: usize) -> Vec<String> {
    let side = 1 << (elements.ilog2() / 2).saturating_sub(2).max(1);
    let (image, kernel) = (tensor(&[1, side, side, 16], "f32"), tensor(&[3, 3, 16, 16], "f32"));
    let [rows, columns] = matrix(elements);
    let ty = tensor(&[rows, columns], "f32");
    let convolution = format!("  %r = stablehlo.convolution(%x, %w) {CONVOLUTION} : ({image}, {kernel}) -> {image}");
    let before = columns - 1;
    let running = format!(
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = \"stablehlo.reduce_window\"(%x, %z) <{{window_dimensions = array<i64: 1, {columns}>,
    window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [{before}, 0]]> : tensor<2x2xi64>}}> {ADD}
    : ({ty}, tensor<f32>) -> {ty}"
    );
    vec![main(&format!("%x: {image}, %w: {kernel}"), &convolution, &image), main(&format!("%x: {ty}"), &running, &ty)]
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
    let sizes = [1 << 7, 1 << 10, 1 << 14, 1 << 18, 1 << 20];
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
    let sizes = [1 << 10, 1 << 14, 1 << 16];
    let others: Vec<String> = sizes.iter().flat_map(|&n| [moves(n, "f32"), indexed(n)].concat()).collect();
    let all = |&n: &usize| COLLECTIVES.iter().map(move |row| row.program(n));
    let collectives: Vec<String> = [1 << 9, 1 << 12, 1 << 16].iter().flat_map(all).collect();
    vec![("product", products), ("element", streams), ("op", others), ("collective", collectives)]
}
