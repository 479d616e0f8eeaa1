//! The programs of ops that are neither elementwise nor products of matrices nor collectives: one op each, for arrays
//! of several sizes.

use crate::text::{ADD, main, tensor};

const LARGEST: &str = "({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })";

/// The region of a reduction to the largest number and its index, as JAX exports `argmax`.
const SEARCH: &str = "({
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
    %g = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %o = stablehlo.or %g, %q : tensor<i1>
    %e = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %p = stablehlo.or %o, %f : tensor<i1>
    %v = stablehlo.select %o, %a, %b : tensor<i1>, tensor<f32>
    %w = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  })";

const GATHER: &str = "<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], \
    start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}>";

const GATHER_SINGLE: &str = "<{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], \
    start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}>";

const SCATTER_SINGLE: &str = "<{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<\
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}>";

const SCATTER: &str = "<{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<\
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, \
    unique_indices = false}>";

/// The attributes of a convolution with a window of 3 by 3, whose result is as high and as wide as its operand.
const CONVOLUTION: &str = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}";

/// The approximate numbers of elements of the arrays in the programs of [`others`]. There are no programs with windows
/// of more than `1 << 18`.
const SIZES: [usize; 7] = [1 << 8, 1 << 11, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// Returns the programs for all sizes.
pub(crate) fn others() -> Vec<String> {
    let mut programs: Vec<String> = SIZES.iter().flat_map(|&n| moves(n)).collect();
    programs.extend(SIZES.iter().flat_map(|&n| indexed(n)));
    programs.extend(SIZES.iter().filter(|&&n| n <= 1 << 18).flat_map(|&n| windows(n)));
    programs
}

/// Returns the rows and columns of an almost square matrix with `elements` elements, a power of 2.
fn matrix(elements: usize) -> [usize; 2] {
    let rows = 1 << (elements.ilog2() / 2);
    [rows, elements / rows]
}

/// Returns a program of one op with one operand: `%r = stablehlo.LINE : (FROM) -> TO`.
fn one(from: &str, line: &str, to: &str) -> String {
    main(&format!("%x: {from}"), &format!("  %r = stablehlo.{line} : ({from}) -> {to}"), to)
}

pub(crate) fn moves(elements: usize) -> Vec<String> {
    [orders(elements), parts(elements), folds(elements)].concat()
}

/// Returns programs of one transpose, broadcast, concatenation or reversal each.
fn orders(elements: usize) -> Vec<String> {
    let [rows, columns] = matrix(elements);
    let (ty, turned) = (tensor(&[rows, columns], "f32"), tensor(&[columns, rows], "f32"));
    let (deep, swapped) = (tensor(&[8, rows / 8, columns], "f32"), tensor(&[rows / 8, 8, columns], "f32"));
    let (row, column) = (tensor(&[columns], "f32"), tensor(&[rows], "f32"));
    let joined = |dim: usize, sizes: [usize; 2]| {
        let to = tensor(&sizes, "f32");
        let line = format!("  %r = stablehlo.concatenate %x, %x, dim = {dim} : ({ty}, {ty}) -> {to}");
        main(&format!("%x: {ty}"), &line, &to)
    };
    let reversed =
        |dim: usize| main(&format!("%x: {ty}"), &format!("  %r = stablehlo.reverse %x, dims = [{dim}] : {ty}"), &ty);
    vec![
        one(&ty, "transpose %x, dims = [1, 0]", &turned),
        one(&deep, "transpose %x, dims = [1, 0, 2]", &swapped),
        one(&row, "broadcast_in_dim %x, dims = [1]", &ty),
        one(&column, "broadcast_in_dim %x, dims = [0]", &ty),
        joined(0, [2 * rows, columns]),
        joined(1, [rows, 2 * columns]),
        reversed(0),
        reversed(1),
    ]
}

/// Returns programs of one padding, slice, dynamic slice or update of a slice each, for both dimensions of a matrix.
fn parts(elements: usize) -> Vec<String> {
    let sizes = matrix(elements);
    let (ty, scalar, x) = (tensor(&sizes, "f32"), tensor(&[], "f32"), format!("%x: {}", tensor(&sizes, "f32")));
    let mut programs = vec![];
    for dim in [0, 1] {
        let (mut part, mut padded, mut edge) = (sizes, sizes, [0, 0]);
        (part[dim], padded[dim], edge[dim]) = (sizes[dim] / 2, sizes[dim] + 2, 1);
        let [a, b] = part;
        let (part, padded) = (tensor(&part, "f32"), tensor(&padded, "f32"));
        let pad = format!(
            "  %z = stablehlo.constant dense<0.0> : {scalar}
  %r = stablehlo.pad %x, %z, low = {edge:?}, high = {edge:?}, interior = [0, 0] : ({ty}, {scalar}) -> {padded}"
        );
        let index = "  %i = stablehlo.constant dense<1> : tensor<i32>\n";
        let cut = format!(
            "{index}  %r = stablehlo.dynamic_slice %x, %i, %i, sizes = [{a}, {b}]
    : ({ty}, tensor<i32>, tensor<i32>) -> {part}"
        );
        let update = format!(
            "{index}  %r = stablehlo.dynamic_update_slice %x, %y, %i, %i
    : ({ty}, {part}, tensor<i32>, tensor<i32>) -> {ty}"
        );
        programs.extend([
            main(&x, &pad, &padded),
            one(&ty, &format!("slice %x [0:{a}, 0:{b}]"), &part),
            main(&x, &cut, &part),
            main(&format!("{x}, %y: {part}"), &update, &ty),
        ]);
    }
    programs
}

/// Returns programs of one sum, or of one search for the largest element and its index, for both dimensions of a
/// matrix.
fn folds(elements: usize) -> Vec<String> {
    let [rows, columns] = matrix(elements);
    let ty = |dtype: &str| tensor(&[rows, columns], dtype);
    let (values, places) = (ty("f32"), ty("i32"));
    let fold = |dim: usize, kept: usize| {
        let to = tensor(&[kept], "f32");
        let body = format!(
            "  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [{dim}] : ({values}, tensor<f32>) -> {to}"
        );
        main(&format!("%x: {values}"), &body, &to)
    };
    let search = |dim: usize, kept: usize| {
        let [to, place] = ["f32", "i32"].map(|dtype| tensor(&[kept], dtype));
        let body = format!(
            "  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %m, %r = \"stablehlo.reduce\"(%x, %y, %z, %n) <{{dimensions = array<i64: {dim}>}}> {SEARCH}
    : ({values}, {places}, tensor<f32>, tensor<i32>) -> ({to}, {place})"
        );
        main(&format!("%x: {values}, %y: {places}"), &body, &place)
    };
    vec![fold(0, columns), fold(1, rows), search(0, columns), search(1, rows)]
}

pub(crate) fn indexed(elements: usize) -> Vec<String> {
    let rows = (elements / 16).max(1);
    let (ty, line) = (tensor(&[rows, 16], "f32"), tensor(&[elements], "f32"));
    let indices = |count: usize| tensor(&[count, 1], "i32");
    let gather = |from: &str, attributes: &str, count: usize| {
        let places = indices(count);
        let body = format!("  %r = \"stablehlo.gather\"(%x, %i) {attributes} : ({from}, {places}) -> {from}");
        main(&format!("%x: {from}, %i: {places}"), &body, from)
    };
    let scatter = |to: &str, attributes: &str, count: usize| {
        let places = indices(count);
        let types = format!("({to}, {places}, {to}) -> {to}");
        let body = format!("  %r = \"stablehlo.scatter\"(%x, %i, %u) {attributes} {ADD} : {types}");
        main(&format!("%x: {to}, %i: {places}, %u: {to}"), &body, to)
    };
    let mut programs = vec![
        gather(&ty, GATHER, rows),
        gather(&line, GATHER_SINGLE, elements),
        scatter(&ty, SCATTER, rows),
        scatter(&line, SCATTER_SINGLE, elements),
    ];
    programs.extend(sorts(elements));
    programs
}

/// Returns programs that sort a line, the columns of a matrix, or a line of pairs, of f32 and of i32.
fn sorts(elements: usize) -> Vec<String> {
    let order = |dtype: &str| if dtype == "f32" { ", TOTALORDER" } else { "" };
    let sort = |sizes: &[usize], dtype: &str| {
        let (ty, order) = (tensor(sizes, dtype), order(dtype));
        let body = format!(
            "  %r = \"stablehlo.sort\"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>):
    %s = stablehlo.compare LT, %a, %b{order} : (tensor<{dtype}>, tensor<{dtype}>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}) : ({ty}) -> {ty}"
        );
        main(&format!("%x: {ty}"), &body, &ty)
    };
    let pairs = |dtype: &str| {
        let [ty, places] = [dtype, "i32"].map(|dtype| tensor(&[elements], dtype));
        let order = order(dtype);
        let body = format!(
            "  %m, %r = \"stablehlo.sort\"(%x, %y) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.compare LT, %a, %b{order} : (tensor<{dtype}>, tensor<{dtype}>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}) : ({ty}, {places}) -> ({ty}, {places})"
        );
        main(&format!("%x: {ty}, %y: {places}"), &body, &places)
    };
    let columns = [elements / 16, 16];
    ["f32", "i32"].iter().flat_map(|dtype| [sort(&[elements], dtype), sort(&columns, dtype), pairs(dtype)]).collect()
}

/// Returns programs of one convolution, running sum, or op on the windows of an image each.
fn windows(elements: usize) -> Vec<String> {
    let side = 1 << (elements.ilog2() / 2).saturating_sub(2).max(1);
    let image = tensor(&[1, side, side, 32], "f32");
    let convolution = |inputs: usize, groups: usize| {
        let kernel = tensor(&[3, 3, inputs, 32], "f32");
        let attributes = format!("{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}");
        let types = format!("({image}, {kernel}) -> {image}");
        let body = format!("  %r = stablehlo.convolution(%x, %w) {CONVOLUTION} {attributes} : {types}");
        main(&format!("%x: {image}, %w: {kernel}"), &body, &image)
    };
    let [rows, columns] = matrix(elements);
    let ty = tensor(&[rows, columns], "f32");
    let running = |[a, b]: [usize; 2]| {
        let body = format!(
            "  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = \"stablehlo.reduce_window\"(%x, %z) <{{window_dimensions = array<i64: {a}, {b}>,
    window_strides = array<i64: 1, 1>, padding = dense<[[{}, 0], [{}, 0]]> : tensor<2x2xi64>}}> {ADD}
    : ({ty}, tensor<f32>) -> {ty}",
            a - 1,
            b - 1
        );
        main(&format!("%x: {ty}"), &body, &ty)
    };
    let mut programs = vec![convolution(32, 1), convolution(1, 32), running([1, columns]), running([rows, 1])];
    programs.extend(pools(side));
    programs
}

/// Returns the largest elements of the windows of 2 by 2 of an image, and sums at their places.
fn pools(side: usize) -> [String; 2] {
    const WINDOWS: &str = "<{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}>";
    let [image, pooled] = [side, side / 2].map(|side| tensor(&[1, side, side, 16], "f32"));
    let zero = "  %z = stablehlo.constant dense<0.0> : tensor<f32>";
    let pool = format!(
        "{zero}
  %r = \"stablehlo.reduce_window\"(%x, %z) {WINDOWS} {LARGEST} : ({image}, tensor<f32>) -> {pooled}"
    );
    let scatter = format!(
        "{zero}
  %r = \"stablehlo.select_and_scatter\"(%x, %y, %z) {WINDOWS} ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : ({image}, {pooled}, tensor<f32>) -> {image}"
    );
    [main(&format!("%x: {image}"), &pool, &pooled), main(&format!("%x: {image}, %y: {pooled}"), &scatter, &image)]
}
