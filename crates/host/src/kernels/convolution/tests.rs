//! Generated convolutions. Elements are small integers, whose sums are exact in any order.

use crate::block::tests::Random;
use crate::kernels::testing::{run, run_by_kernels, tensor};
use shardwise_base::Literal;

fn small(shape: &[usize], random: &mut Random) -> Literal {
    let values: Vec<f32> = (0..shape.iter().product()).map(|_: usize| (random.next() % 5) as f32 - 2.0).collect();
    Literal::new(shape, &values)
}

/// Returns a permutation of `0..n`, which is the identity with a probability of at least 1/2. `below(n)` draws a number
/// from `0..n`.
fn order(below: &mut impl FnMut(usize) -> usize, n: usize) -> Vec<usize> {
    let mut list: Vec<usize> = (0..n).collect();
    if below(2) == 1 {
        (1..n).for_each(|i| list.swap(i, below(i + 1)));
    }
    list
}

/// Returns the shape in which dimension `order[i]` has size `sizes[i]`, and the list of the dimensions' names, which
/// are arranged in the same way.
fn arrange(order: &[usize], sizes: &[usize], names: &[String]) -> (Vec<usize>, String) {
    let at = |d: usize| order.iter().position(|&o| o == d).expect("a permutation");
    let shape = (0..order.len()).map(|d| sizes[at(d)]).collect();
    let names: Vec<&str> = (0..order.len()).map(|d| names[at(d)].as_str()).collect();
    (shape, format!("[{}]", names.join(", ")))
}

/// Generates a program with a convolution of up to three spatial dimensions, whose other attributes are random, and its
/// arguments. Returns `None` if a window that was drawn does not fit into the padded input.
fn generated(seed: u64) -> Option<(String, [Literal; 2])> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    (0..4).for_each(|_| _ = random.next());
    let mut below = |n: usize| random.next() as usize % n;
    let rank = below(4);
    let kind = below(4);
    let (groups, per_group, outputs) = (1 + below(3), 1 + below(3), 1 + below(3));
    let (feature_groups, batch_groups) = match kind {
        0 => (groups, 1),
        1 => (1, groups),
        2 => (2 + below(40), 1),
        _ => (1, 1),
    };
    let per_group = if kind == 2 { 1 } else { per_group };
    let batch = batch_groups * (1 + below(2));
    let outputs = outputs * feature_groups * batch_groups;
    let (mut input, mut kernel, mut result) = (vec![batch], vec![], vec![batch / batch_groups]);
    let (mut strides, mut pads, mut base, mut dilations, mut reversals) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..rank {
        let (n, k, stride, low, high) =
            (1 + below(6), 1 + below(3), 1 + below(3), below(5) as i64 - 1, below(4) as i64 - 1);
        let (by, dilation) = (1 + below(2), 1 + below(2));
        let room = ((n - 1) * by + 1) as i64 + low + high - ((k - 1) * dilation + 1) as i64;
        let seen = ((n - 1) * by + 1) as i64 + low + high;
        if room < 0 || seen <= 0 {
            return None;
        }
        input.push(n);
        kernel.push(k);
        result.push(room as usize / stride + 1);
        strides.push(stride);
        pads.push(vec![low, high]);
        base.push(by);
        dilations.push(dilation);
        reversals.push(below(2) == 1);
    }
    input.push(feature_groups * per_group);
    kernel.extend([per_group, outputs]);
    result.push(outputs);
    let elem = ["f32", "bf16", "f64", "i8", "i32", "i64", "complex<f32>", "i1", "f16", "ui8"][below(10)];
    let spatial: Vec<String> = (0..rank).map(|d| d.to_string()).collect();
    let named = |first: &[&str], last: &[&str]| -> Vec<String> {
        let own = |l: &[&str]| l.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        [own(first), spatial.clone(), own(last)].concat()
    };
    let n = rank + 2;
    let [left, right, out] = [(); 3].map(|()| order(&mut below, n));
    let (input, b) = arrange(&left, &input, &named(&["b"], &["f"]));
    let (kernel, k) = arrange(&right, &kernel, &named(&[], &["i", "o"]));
    let (result, o) = arrange(&out, &result, &named(&["b"], &["f"]));
    let window = match rank {
        0 => String::new(),
        _ => format!(
            "stride = {strides:?}, pad = {pads:?}, lhs_dilate = {base:?}, rhs_dilate = {dilations:?}, reverse = {reversals:?}"
        ),
    };
    let [given_x, given_y] = [&input, &kernel].map(|s| tensor(s, "f32"));
    let [x, y, z] = [&input, &kernel, &result].map(|s| tensor(s, elem));
    let text = format!(
        "func.func @main(%x: {given_x}, %y: {given_y}) -> {z} {{
  %a = stablehlo.convert %x : ({given_x}) -> {x}
  %b = stablehlo.convert %y : ({given_y}) -> {y}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = {b}x{k}->{o}, window = {{{window}}} \
         {{batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64}} : ({x}, {y}) -> {z}
  return %0 : {z}
}}"
    );
    let mut random = Random(seed + 1);
    Some((text, [small(&input, &mut random), small(&kernel, &mut random)]))
}

#[test]
fn anything_that_can_be_said_runs_on_a_kernel() {
    let mut cases = 0;
    for (text, args) in (0..250).filter_map(generated) {
        let times = run(&text, &args);
        let evaluated = times.iter().filter(|t| t.is_fallback && t.name == "stablehlo.convolution").count();
        assert_eq!(evaluated, 0, "{text}");
        cases += 1;
    }
    assert!(cases > 120, "{cases}");
}

/// Compares convolutions whose groups have one input feature each with the interpreter. The features are innermost.
/// Some cases have numbers of features that fill no vectors, others have lines so long that several workers share one.
#[test]
fn each_feature_alone() {
    let cases = [
        ("f32", 2, 1, 9, 1),
        ("f32", 3, 1, 5, 2),
        ("i32", 5, 1, 7, 1),
        ("f32", 11, 1, 6, 1),
        ("ui64", 19, 1, 4, 2),
        ("f32", 40, 1, 1500, 1),
        ("f32", 3, 2, 4, 1),
        ("f64", 2, 5, 5, 1),
        ("f32", 4, 9, 5, 1),
        ("i64", 2, 3, 5, 2),
        ("f32", 3, 33, 4, 1),
        ("f32", 2, 40, 3000, 1),
    ];
    for (elem, features, multiple, width, stride) in cases {
        let results = features * multiple;
        let (image, to) = ([2, 4, width, features], [2, 4, (width - 1) / stride + 1, results]);
        let kernel = [3, 3, 1, results];
        let [given_x, given_y] = [&image, &kernel].map(|s| tensor(s, "f32"));
        let [x, y, z] = [&image, &kernel, &to].map(|s| tensor(s, elem));
        let source = format!(
            "func.func @main(%x: {given_x}, %y: {given_y}) -> {z} {{
  %a = stablehlo.convert %x : ({given_x}) -> {x}
  %b = stablehlo.convert %y : ({given_y}) -> {y}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
             window = {{stride = [1, {stride}], pad = [[1, 1], [1, 1]], reverse = [true, false]}} \
             {{batch_group_count = 1 : i64, feature_group_count = {features} : i64}} : ({x}, {y}) -> {z}
  return %0 : {z}
}}"
        );
        let mut random = Random(features as u64);
        run_by_kernels(&source, &[small(&image, &mut random), small(&kernel, &mut random)]);
    }
}

#[test]
fn a_kernel_of_infinities_gives_nan_at_padding() {
    let source = "func.func @main(%x: tensor<1x3x2xf32>, %y: tensor<3x2x1xf32>) -> tensor<1x3x1xi1> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x2xf32>, tensor<3x2x1xf32>) -> tensor<1x3x1xf32>
  %1 = stablehlo.compare EQ, %0, %0, FLOAT : (tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x1xi1>
  return %1 : tensor<1x3x1xi1>
}";
    let kernel = [f32::INFINITY, 1.0, 2.0, 3.0, 4.0, 5.0];
    run_by_kernels(source, &[Literal::new([1, 3, 2], &[1f32; 6]), Literal::new([3, 2, 1], &kernel)]);
}

#[test]
fn many_rows_and_deep_windows() {
    for (elem, batch) in [("f32", 3), ("bf16", 2), ("f64", 2), ("i8", 1)] {
        let source = format!(
            "func.func @main(%x: tensor<{batch}x30x31x33xf32>, %y: tensor<3x3x33x40xf32>) -> tensor<{batch}x30x16x40x{elem}> {{
  %a = stablehlo.convert %x : (tensor<{batch}x30x31x33xf32>) -> tensor<{batch}x30x31x33x{elem}>
  %b = stablehlo.convert %y : (tensor<3x3x33x40xf32>) -> tensor<3x3x33x40x{elem}>
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = [1, 2], pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<{batch}x30x31x33x{elem}>, tensor<3x3x33x40x{elem}>) -> tensor<{batch}x30x16x40x{elem}>
  return %0 : tensor<{batch}x30x16x40x{elem}>
}}"
        );
        let mut random = Random(7);
        run_by_kernels(&source, &[small(&[batch, 30, 31, 33], &mut random), small(&[3, 3, 33, 40], &mut random)]);
    }
}
