//! The examples of the StableHLO specification and small cases, whole and split along each factor.

use crate::Opcode;
use crate::calculus_test::{check_batch, check_derivative, check_transpose, varied};
use crate::make::{self, constant};
use crate::reducer::reduction_region;
use crate::shard_test::{module_of, run_split};
use crate::{Linear, ReduceKind, RuleFact};
use shardwise_base::{Bool8, DType, Literal};
use shardwise_ir::{Attr, Attrs, Module, Type};

fn padding(pairs: &[[i64; 2]]) -> Attr {
    Attr::Dense(Literal::new([pairs.len(), 2], &pairs.concat()))
}

fn reduce_window(x: &[Literal], kind: ReduceKind, attrs: Attrs) -> Module {
    module_of(x, |module, b, args| {
        let region = reduction_region(b, kind, x[0].dtype());
        let op = crate::build(module, b, Opcode::ReduceWindow, args.iter().copied(), attrs, [region]);
        op.unwrap_or_else(|e| panic!("{e}"))
    })
}

#[test]
fn reduce_window_of_the_specification() {
    let x = [Literal::new([3, 2], &[1i64, 2, 3, 4, 5, 6]), Literal::scalar(0i64)];
    let attrs = Attrs::new()
        .with("window_dimensions", Attr::ints([2, 1]))
        .with("window_strides", Attr::ints([4, 1]))
        .with("base_dilations", Attr::ints([2, 1]))
        .with("window_dilations", Attr::ints([3, 1]))
        .with("padding", padding(&[[2, 1], [0, 0]]));
    let module = reduce_window(&x, ReduceKind::Add, attrs);
    assert_eq!(run_split(&module, &x), [Literal::new([2, 2], &[0i64, 0, 3, 4])]);
}

#[test]
fn cumulative_sums_and_maxima() {
    let x = [Literal::new([2, 4], &[1f32, 2.0, 3.0, 4.0, 8.0, 7.0, 6.0, 5.0]), Literal::scalar(0f32)];
    let attrs = Attrs::new().with("window_dimensions", Attr::ints([1, 4])).with("padding", padding(&[[0, 0], [3, 0]]));
    let sums = run_split(&reduce_window(&x, ReduceKind::Add, attrs.clone()), &x);
    assert_eq!(sums, [Literal::new([2, 4], &[1f32, 3.0, 6.0, 10.0, 8.0, 15.0, 21.0, 26.0])]);
    let maxima = run_split(&reduce_window(&x, ReduceKind::Max, attrs), &x);
    assert_eq!(maxima, [Literal::new([2, 4], &[1f32, 2.0, 3.0, 4.0, 8.0, 8.0, 8.0, 8.0])]);
}

#[test]
fn select_and_scatter_of_the_specification() {
    let x = [
        Literal::new([4, 2], &[1i64, 5, 2, 5, 3, 6, 4, 4]),
        Literal::new([2, 2], &[5i64, 6, 7, 8]),
        Literal::scalar(0i64),
    ];
    let module = module_of(&x, |module, b, args| {
        let scalar = Type::tensor(DType::I64, vec![]);
        let select = b.region(&[scalar.clone(), scalar], |b, args| {
            let result = make::compare(b, "GE", args[0], args[1]);
            b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
        });
        let scatter = reduction_region(b, ReduceKind::Add, DType::I64);
        let attrs = Attrs::new()
            .with("window_dimensions", Attr::ints([3, 1]))
            .with("window_strides", Attr::ints([2, 1]))
            .with("padding", padding(&[[0, 1], [0, 0]]));
        let op = crate::build(module, b, Opcode::SelectAndScatter, args.iter().copied(), attrs, [select, scatter]);
        op.unwrap_or_else(|e| panic!("{e}"))
    });
    assert_eq!(run_split(&module, &x), [Literal::new([4, 2], &[0i64, 0, 0, 0, 5, 14, 7, 0])]);
}

fn wide(x: &Literal) -> Literal {
    varied(&[&[2], x.shape()].concat(), 4)
}

fn windows(is_dilated: bool) -> Vec<Attrs> {
    let attrs = |sizes: [i64; 2], strides: [i64; 2], pads: [[i64; 2]; 2]| {
        let attrs = Attrs::new().with("window_dimensions", Attr::ints(sizes)).with("padding", padding(&pads));
        attrs.with("window_strides", Attr::ints(strides))
    };
    let mut all = vec![
        attrs([2, 3], [1, 1], [[0, 0], [0, 0]]),
        attrs([2, 2], [2, 3], [[1, 0], [0, 1]]),
        attrs([1, 6], [1, 1], [[0, 0], [5, 0]]),
    ];
    if is_dilated {
        let dilations = |attrs: Attrs, base: [i64; 2], window: [i64; 2]| {
            attrs.with("base_dilations", Attr::ints(base)).with("window_dilations", Attr::ints(window))
        };
        all.push(dilations(attrs([3, 2], [2, 1], [[3, 1], [-1, -2]]), [2, 1], [1, 3]));
        all.push(dilations(attrs([2, 2], [3, 2], [[-2, 4], [1, -3]]), [1, 3], [2, 2]));
    }
    all
}

#[test]
fn sums_in_windows_are_transposed() {
    for attrs in windows(true) {
        let x = [varied(&[5, 6], 1), Literal::scalar(0.5)];
        let module = reduce_window(&x, ReduceKind::Add, attrs);
        check_derivative(&module, &x, &[0, 1]);
        check_transpose(&module, &x, &[0]);
        check_transpose(&module, &x, &[0, 1]);
        check_batch(&module, &[wide(&x[0]), x[1].clone()], &[true, false]);
    }
}

#[test]
fn extrema_in_windows_are_batched() {
    for (kind, init) in [(ReduceKind::Max, -100.0), (ReduceKind::Min, 100.0)] {
        for attrs in windows(true) {
            let x = [varied(&[5, 6], 1), Literal::scalar(init)];
            let module = reduce_window(&x, kind, attrs);
            check_batch(&module, &[wide(&x[0]), x[1].clone()], &[true, false]);
        }
    }
}

/// Returns a module that selects pairs of the arrays `x[0]` and `x[1]`. The initial values `x[2]` and `x[3]` are
/// constants if `are_known` is true, and arguments otherwise.
fn select_pairs(x: &[Literal; 4], attrs: Attrs, direction: &str, are_known: bool) -> Module {
    module_of(x, |module, b, args| {
        let mut operands = args.to_vec();
        if are_known {
            (2..4).for_each(|i| operands[i] = constant(b, x[i].clone()));
        }
        let scalar = Type::tensor(DType::F64, vec![]);
        let region = b.region(&vec![scalar; 4], |b, args| {
            let is_kept = make::compare(b, direction, args[0], args[2]);
            let pair = [0, 1].map(|i| make::select(b, is_kept, args[i], args[i + 2]));
            b.op(Opcode::RegionReturn, pair, Attrs::new(), []);
        });
        let op = crate::build(module, b, Opcode::ReduceWindow, operands, attrs, [region]);
        op.unwrap_or_else(|e| panic!("{e}"))
    })
}

#[test]
fn selected_pairs_are_transposed() {
    for (direction, init) in [("GE", f64::NEG_INFINITY), ("LT", f64::INFINITY)] {
        for attrs in windows(false) {
            let x = [varied(&[5, 6], 1), varied(&[5, 6], 2), Literal::scalar(init), Literal::scalar(0.0)];
            let module = select_pairs(&x, attrs, direction, true);
            check_derivative(&module, &x, &[0, 1]);
            check_transpose(&module, &x, &[1]);
            let batch = [wide(&x[0]), x[1].clone(), x[2].clone(), x[3].clone()];
            check_batch(&module, &batch, &[true, false, false, false]);
        }
    }
}

/// An initial value that is no identity, or not known, may win. Then the results do not depend on the elements.
#[test]
fn pairs_with_other_initial_values_are_not_linear() {
    for (init, are_known) in [(0.5, true), (f64::NEG_INFINITY, false)] {
        let x = [varied(&[5, 6], 1), varied(&[5, 6], 2), Literal::scalar(init), Literal::scalar(0.0)];
        let module = select_pairs(&x, windows(false).remove(0), "GE", are_known);
        let body = &module.main().unwrap().body;
        let mut ops = body.walk().into_iter().map(|op| module.view(body, op));
        let selection = ops.find(|op| Opcode::of_view(op) == Opcode::ReduceWindow).unwrap();
        assert_eq!(Opcode::ReduceWindow.facts().linear(&selection), Linear::No);
    }
}

#[test]
fn select_and_scatter_is_transposed() {
    for direction in ["GE", "GT", "LE"] {
        for (attrs, places) in windows(false).into_iter().zip([[4, 4], [3, 2], [5, 6]]) {
            let x = [varied(&[5, 6], 1), varied(&places, 2), Literal::scalar(0.5)];
            let module = module_of(&x, |module, b, args| {
                let scalar = Type::tensor(DType::F64, vec![]);
                let select = b.region(&[scalar.clone(), scalar], |b, args| {
                    let result = make::compare(b, direction, args[0], args[1]);
                    b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
                });
                let regions = [select, reduction_region(b, ReduceKind::Add, DType::F64)];
                let op = crate::build(module, b, Opcode::SelectAndScatter, args.iter().copied(), attrs, regions);
                op.unwrap_or_else(|e| panic!("{e}"))
            });
            check_derivative(&module, &x, &[0, 1, 2]);
            check_transpose(&module, &x, &[1, 2]);
            check_batch(&module, &[wide(&x[0]), x[1].clone(), x[2].clone()], &[true, false, false]);
            check_batch(&module, &[x[0].clone(), wide(&x[1]), x[2].clone()], &[false, true, false]);
        }
    }
}

/// Returns the dimension numbers `[b, spatial.., f]x[spatial.., i, o]->[b, spatial.., f]`.
fn conv_dims(spatial: usize) -> Attr {
    let list = |from: usize| Attr::sizes(&(from..from + spatial).collect::<Vec<_>>());
    let fields: Attrs = [
        ("input_batch_dimension", Attr::int(0)),
        ("input_feature_dimension", Attr::int(spatial as i64 + 1)),
        ("input_spatial_dimensions", list(1)),
        ("kernel_input_feature_dimension", Attr::int(spatial as i64)),
        ("kernel_output_feature_dimension", Attr::int(spatial as i64 + 1)),
        ("kernel_spatial_dimensions", list(0)),
        ("output_batch_dimension", Attr::int(0)),
        ("output_feature_dimension", Attr::int(spatial as i64 + 1)),
        ("output_spatial_dimensions", list(1)),
    ]
    .into_iter()
    .collect();
    Attr::Record { name: "stablehlo.conv".into(), fields }
}

fn convolution(x: &[Literal], spatial: usize, attrs: Attrs) -> Module {
    let attrs = attrs.with("dimension_numbers", conv_dims(spatial));
    module_of(x, |module, b, args| {
        let op = crate::build(module, b, Opcode::Convolution, args.iter().copied(), attrs, []);
        op.unwrap_or_else(|e| panic!("{e}"))
    })
}

/// Returns operands of convolutions of several forms, with the attributes of these. The operands are of type `f64`.
fn convolutions() -> Vec<([Literal; 2], Attrs)> {
    let (lhs, rhs) = (varied(&[2, 5, 4], 1), varied(&[3, 4, 4], 2));
    vec![
        ([lhs.clone(), rhs.clone()], Attrs::new().with("padding", padding(&[[1, 1]]))),
        ([lhs.clone(), varied(&[3, 2, 4], 2)], Attrs::new().with("feature_group_count", Attr::int(2))),
        ([lhs, rhs], Attrs::new().with("batch_group_count", Attr::int(2))),
    ]
}

#[test]
fn convolutions_with_wider_results_are_transposed() {
    for (x, attrs) in convolutions() {
        let same = convolution(&x, 1, attrs.clone());
        let to = same.funcs[0].result_types.clone();
        let x = x.map(|x| crate::eval::convert(&x, DType::F32));
        let module = module_of(&x, |_, b, args| {
            let attrs = attrs.with("dimension_numbers", conv_dims(1));
            b.op(Opcode::Convolution, args.iter().copied(), attrs, to)
        });
        (0..2).for_each(|i| check_transpose(&module, &x, &[i]));
    }
}

#[test]
fn convolutions_without_results_are_transposed() {
    for x in [[varied(&[1, 2, 1], 1), varied(&[3, 1, 1], 2)], [varied(&[0, 4, 1], 1), varied(&[3, 1, 2], 2)]] {
        let module = convolution(&x, 1, Attrs::new());
        (0..2).for_each(|i| check_transpose(&module, &x, &[i]));
    }
}

#[test]
fn convolutions_of_padding_of_every_size_are_transposed() {
    let (most, least) = (i64::MAX, i64::MIN);
    for pad in [[most, least], [least, most], [most, -most], [-most, most], [least + 8, most - 7]] {
        let x = [varied(&[1, 8, 1], 1), varied(&[1, 1, 1], 2)];
        let module = convolution(&x, 1, Attrs::new().with("padding", padding(&[pad])));
        (0..2).for_each(|i| check_transpose(&module, &x, &[i]));
    }
}

#[test]
fn batches_of_no_convolutions() {
    for (x, attrs) in convolutions() {
        let module = convolution(&x, 1, attrs);
        for mapped in [[true, true], [true, false], [false, true]] {
            let operand = |i: usize| if mapped[i] { varied(&[&[0], x[i].shape()].concat(), 3) } else { x[i].clone() };
            check_batch(&module, &[operand(0), operand(1)], &mapped);
        }
    }
}

fn rule(module: &Module) -> String {
    let body = &module.funcs[0].body;
    let view = module.view(body, body[body.entry()].ops[0]);
    let RuleFact::Rule(rule) = Opcode::of_view(&view).facts().rule(&view) else { panic!("no rule") };
    rule.to_string()
}

#[test]
fn convolution_of_the_specification() {
    let lhs = [1i64, 2, 5, 6, 3, 4, 7, 8, 10, 11, 14, 15, 12, 13, 16, 17];
    let x = [Literal::new([1, 4, 4, 1], &lhs), Literal::new([3, 3, 1, 1], &[1i64; 9])];
    let attrs = Attrs::new().with("window_strides", Attr::ints([4, 4])).with("lhs_dilation", Attr::ints([2, 2]));
    let module = convolution(&x, 2, attrs);
    assert_eq!(run_split(&module, &x), [Literal::new([1, 2, 2, 1], &[10i64, 26, 46, 62])]);
}

#[test]
fn a_reversal_may_be_a_dense_array() {
    let x = [Literal::new([1, 3, 1], &[1f32, 2.0, 4.0]), Literal::new([2, 1, 1], &[1f32, 10.0])];
    let reversal = Attr::Dense(Literal::new([1], &[Bool8::from(true)]));
    let module = convolution(&x, 1, Attrs::new().with("window_reversal", reversal));
    assert_eq!(run_split(&module, &x), [Literal::new([1, 2, 1], &[12f32, 24.0])]);
}

fn numbers(shape: &[usize]) -> Literal {
    let n: usize = shape.iter().product();
    Literal::new(shape, &(0..n).map(|i| (i * 7 % 11) as f32 - 5.0).collect::<Vec<_>>())
}

#[test]
fn plain_convolutions_split_along_batch_and_features() {
    let x = [numbers(&[2, 5, 4]), numbers(&[3, 4, 6])];
    let module = convolution(&x, 1, Attrs::new().with("padding", padding(&[[1, 1]])));
    let expected = "([i, j, k], [m, k, l])->([i, j, l]) {i=2, j=5, k=4, l=6, m=1} reduction={k} permutation={j}";
    assert_eq!(rule(&module), expected);
    run_split(&module, &x);
}

#[test]
fn grouped_convolutions_are_many_small_ones() {
    let (lhs, rhs) = (numbers(&[2, 3, 4]), numbers(&[2, 2, 4]));
    let attrs = Attrs::new().with("feature_group_count", Attr::int(2));
    let x = [lhs.clone(), rhs.clone()];
    let grouped = run_split(&convolution(&x, 1, attrs), &x)[0].clone();
    let half = |x: &Literal, dim: usize, i: usize| {
        let mut shape = x.shape().to_vec();
        shape[dim] /= 2;
        let mut start = vec![0; shape.len()];
        start[dim] = i * shape[dim];
        crate::eval::gather(x, &crate::eval::Layout::block(x.shape(), &start, &[1, 1, 1]), &shape)
    };
    for i in 0..2 {
        let part = [half(&lhs, 2, i), half(&rhs, 2, i)];
        let alone = run_split(&convolution(&part, 1, Attrs::new()), &part)[0].clone();
        assert_eq!(half(&grouped, 2, i), alone);
    }
    let attrs = Attrs::new().with("batch_group_count", Attr::int(2));
    let x = [lhs.clone(), numbers(&[2, 4, 4])];
    let grouped = run_split(&convolution(&x, 1, attrs), &x)[0].clone();
    for i in 0..2 {
        let part = [half(&lhs, 0, i), half(&x[1], 2, i)];
        let alone = run_split(&convolution(&part, 1, Attrs::new()), &part)[0].clone();
        assert_eq!(half(&grouped, 2, i), alone);
    }
}
