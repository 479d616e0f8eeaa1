//! Tests of gather and scatter, whole and split along each factor.

use crate::calculus_test::{check_batch, check_derivative, check_transpose, indices, varied};
use crate::make;
use crate::reducer::reduction_region;
use crate::shard_test::{module_of, run, run_split};
use crate::{Opcode, ReduceKind, RuleFact};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Attr, Attrs, Builder, Module, Type, Value};

fn iota(shape: &[usize]) -> Literal {
    let n: usize = shape.iter().product();
    Literal::new(shape, &(1..=n as i32).collect::<Vec<_>>())
}

/// The lists `[offset, collapsed, operand batching, indices batching, index map]`.
type Dims<'a> = [&'a [usize]; 5];

fn record(name: &str, names: [&str; 5], dims: Dims<'_>, index_vector_dim: usize) -> Attr {
    let lists = names.into_iter().zip(dims).filter(|(_, d)| !d.is_empty()).map(|(n, d)| (n, Attr::sizes(d)));
    let fields: Attrs = lists.chain([("index_vector_dim", Attr::int(index_vector_dim as i64))]).collect();
    Attr::Record { name: name.into(), fields }
}

fn gather(operand: &Literal, indices: &Literal, dims: Dims<'_>, vector: usize, sizes: &[usize]) -> Module {
    let names = [
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    ];
    let attrs = Attrs::new()
        .with("dimension_numbers", record("stablehlo.gather", names, dims, vector))
        .with("slice_sizes", Attr::sizes(sizes));
    module_of(&[operand.clone(), indices.clone()], |module, b, args| {
        crate::build(module, b, Opcode::Gather, args.iter().copied(), attrs, []).unwrap_or_else(|e| panic!("{e}"))
    })
}

fn scatter(x: &[Literal; 3], dims: Dims<'_>, vector: usize, kind: Option<ReduceKind>) -> Module {
    let names = [
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    ];
    let attrs = Attrs::new().with("scatter_dimension_numbers", record("stablehlo.scatter", names, dims, vector));
    module_of(x, |module, b, args| {
        let element = Type::tensor(x[0].dtype(), vec![]);
        let region = match kind {
            Some(kind) => reduction_region(b, kind, x[0].dtype()),
            None => b.region(&[element.clone(), element], |b, args| {
                b.op(Opcode::RegionReturn, [args[1]], Attrs::new(), []);
            }),
        };
        let op = crate::build(module, b, Opcode::Scatter, args.iter().copied(), attrs, [region]);
        op.unwrap_or_else(|e| panic!("{e}"))
    })
}

fn rule(module: &Module) -> String {
    let body = &module.funcs[0].body;
    let view = module.view(body, body[body.entry()].ops[0]);
    match Opcode::of_view(&view).facts().rule(&view) {
        RuleFact::Rule(rule) => rule.to_string(),
        RuleFact::None(why) => why.into(),
    }
}

#[test]
fn gather_takes_rows_and_clamps() {
    let (table, rows) = (iota(&[4, 2]), Literal::new([4, 1], &[3i32, 0, -7, 9]));
    let module = gather(&table, &rows, [&[1], &[0], &[], &[], &[0]], 1, &[1, 2]);
    assert_eq!(rule(&module), "([k, j], [i, l])->([i, j]) {i=4, j=2, k=4, l=1} reduction={k} need_replication={l}");
    let x = run_split(&module, &[table, rows]);
    assert_eq!(x, [Literal::new([4, 2], &[7i32, 8, 1, 2, 1, 2, 7, 8])]);
}

#[test]
fn gather_takes_single_elements_of_a_matrix() {
    let (matrix, places) = (iota(&[4, 6]), Literal::new([3, 2], &[0i64, 5, 3, 2, 2, 8]));
    let module = gather(&matrix, &places, [&[], &[0, 1], &[], &[], &[0, 1]], 1, &[1, 1]);
    let x = run_split(&module, &[matrix, places]);
    assert_eq!(x, [Literal::new([3], &[6i32, 21, 18])]);
}

#[test]
fn gather_keeps_dimensions_of_size_one_and_unsigned_indices() {
    let (table, rows) = (iota(&[4, 2]), Literal::new([2], &[3u8, 1]));
    let module = gather(&table, &rows, [&[1, 2], &[], &[], &[], &[0]], 1, &[1, 2]);
    let x = run_split(&module, &[table, rows]);
    assert_eq!(x, [Literal::new([2, 1, 2], &[7i32, 8, 3, 4])]);
}

/// Computes the gather in the StableHLO specification's example.
#[test]
fn gather_with_batching_dims() {
    let operand = iota(&[2, 3, 4, 2]);
    let indices: [i64; 24] = [0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0];
    let indices = Literal::new([2, 2, 3, 2], &indices);
    let module = gather(&operand, &indices, [&[3, 4], &[1], &[0], &[1], &[2, 1]], 3, &[1, 1, 2, 2]);
    let x = run_split(&module, &[operand, indices]);
    let expected: [i32; 48] = [
        1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 33, 34, 35, 36, 35, 36, 37, 38, 41, 42, 43, 44, 1, 2, 3, 4, 13, 14, 15,
        16, 21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36, 27, 28, 29, 30,
    ];
    assert_eq!(x, [Literal::new([2, 2, 3, 2, 2], &expected)]);
}

#[test]
fn gather_of_nothing() {
    let (table, rows) = (iota(&[4, 2]), Literal::new([0, 1], &[0i32; 0]));
    let module = gather(&table, &rows, [&[1], &[0], &[], &[], &[0]], 1, &[1, 2]);
    assert_eq!(run_split(&module, &[table, rows])[0].shape(), [0, 2]);
}

#[test]
fn scatter_adds_and_drops_what_is_outside() {
    for kind in [ReduceKind::Add, ReduceKind::Max, ReduceKind::Mul] {
        let x = [iota(&[4, 2]), Literal::new([4, 1], &[1i32, 3, -1, 1]), iota(&[4, 2])];
        let module = scatter(&x, [&[1], &[0], &[], &[], &[0]], 1, Some(kind));
        assert_eq!(
            rule(&module),
            "([k, j], [i, l], [i, j])->([k, j]) {i=4, j=2, k=4, l=1} reduction={i} need_replication={l}"
        );
        let expected = match kind {
            ReduceKind::Add => [1, 2, 11, 14, 5, 6, 10, 12],
            ReduceKind::Max => [1, 2, 7, 8, 5, 6, 7, 8],
            _ => [1, 2, 21, 64, 5, 6, 21, 32],
        };
        assert_eq!(run_split(&module, &x), [Literal::new([4, 2], &expected)]);
    }
}

#[test]
fn scatter_replaces_in_order() {
    let x = [iota(&[4]), Literal::new([3, 1], &[2u32, 0, 2]), Literal::new([3], &[10i32, 20, 30])];
    let module = scatter(&x, [&[], &[0], &[], &[], &[0]], 1, None);
    assert_eq!(run_split(&module, &x), [Literal::new([4], &[20i32, 2, 30, 4])]);
}

/// Computes the scatter in the StableHLO specification's example.
#[test]
fn scatter_with_batching_dims() {
    let indices: [i64; 24] = [0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0];
    let ones = Literal::new([2, 2, 3, 2, 2], &[1i32; 48]);
    let x = [iota(&[2, 3, 4, 2]), Literal::new([2, 2, 3, 2], &indices), ones];
    let module = scatter(&x, [&[3, 4], &[1], &[0], &[1], &[2, 1]], 3, Some(ReduceKind::Add));
    let expected: [i32; 48] = [
        3, 4, 6, 7, 6, 7, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 17, 18, 19, 20, 22, 23, 24, 25, 25, 26, 28, 29, 30, 31,
        31, 32, 35, 36, 38, 39, 38, 39, 39, 40, 41, 42, 44, 45, 46, 47, 47, 48,
    ];
    assert_eq!(run_split(&module, &x), [Literal::new([2, 3, 4, 2], &expected)]);
}

#[test]
fn scatter_runs_any_computation() {
    let x = [iota(&[2]), Literal::new([2, 1], &[1i32, 1]), Literal::new([2], &[10i32, 20])];
    let module = scatter_with(&x);
    assert_eq!(run(&module, &x), [Literal::new([2], &[1i32, 48])]);
}

fn scatter_with(x: &[Literal; 3]) -> Module {
    let fields = record(
        "stablehlo.scatter",
        ["update_window_dims", "inserted_window_dims", "a", "b", "scatter_dims_to_operand_dims"],
        [&[], &[0], &[], &[], &[0]],
        1,
    );
    let element = Type::tensor(DType::I32, vec![]);
    module_of(x, |module, b, args| {
        let region = b.region(&[element.clone(), element.clone()], |b, args| {
            let double = make::add(b, args[0], args[0]);
            let sum = make::add(b, double, args[1]);
            b.op(Opcode::RegionReturn, [sum], Attrs::new(), []);
        });
        let attrs = Attrs::new().with("scatter_dimension_numbers", fields);
        crate::build(module, b, Opcode::Scatter, args.iter().copied(), attrs, [region]).unwrap()
    })
}

fn gathers() -> Vec<(Literal, Literal, Module)> {
    let make = |operand: Literal, indices: Literal, dims: Dims<'_>, vector, sizes: &[usize]| {
        let module = gather(&operand, &indices, dims, vector, sizes);
        (operand, indices, module)
    };
    vec![
        make(varied(&[4, 2], 0), indices(&[5, 1], &[3, 0, -7, 9, 3]), [&[1], &[0], &[], &[], &[0]], 1, &[1, 2]),
        make(varied(&[5, 4], 1), indices(&[2, 3], &[3, 0, 9, 1, -1, 2]), [&[1, 2], &[], &[], &[], &[1, 0]], 0, &[2, 3]),
        make(varied(&[3, 5], 2), indices(&[3, 2], &[4, 0, 1, 1, 7, 2]), [&[], &[1], &[0], &[0], &[1]], 2, &[1, 1]),
    ]
}

#[test]
fn gathers_are_transposed_and_differentiated() {
    for (operand, indices, module) in gathers() {
        check_derivative(&module, &[operand.clone(), indices.clone()], &[0]);
        check_transpose(&module, &[operand, indices], &[0]);
    }
}

fn shifted(x: &Literal) -> Literal {
    let size = x.size();
    Literal::from_fn([&[2], x.shape()].concat(), |i| (x.get_i128(i % size) as i32 + (i / size) as i32) % 4)
}

#[test]
fn gathers_of_a_batch() {
    for (operand, indices, module) in gathers() {
        let operands = varied(&[&[2], operand.shape()].concat(), 4);
        let all = shifted(&indices);
        check_batch(&module, &[operands.clone(), indices], &[true, false]);
        check_batch(&module, &[operand, all.clone()], &[false, true]);
        check_batch(&module, &[operands, all], &[true, true]);
    }
}

#[test]
fn gathers_of_an_empty_batch() {
    for (operand, at, module) in gathers() {
        let operands = varied(&[&[0], operand.shape()].concat(), 4);
        let all = indices(&[&[0], at.shape()].concat(), &[]);
        check_batch(&module, &[operands.clone(), at], &[true, false]);
        check_batch(&module, &[operand, all.clone()], &[false, true]);
        check_batch(&module, &[operands, all], &[true, true]);
    }
}

/// Returns scatters whose updates are combined by `kind`, or replace elements if it is `None`.
fn scatters(kind: Option<ReduceKind>) -> Vec<([Literal; 3], Module)> {
    let make = |x: [Literal; 3], dims: Dims<'_>, vector| {
        let module = scatter(&x, dims, vector, kind);
        (x, module)
    };
    vec![
        make(
            [varied(&[4, 2], 0), indices(&[5, 1], &[3, 0, -7, 9, 3]), varied(&[5, 2], 1)],
            [&[1], &[0], &[], &[], &[0]],
            1,
        ),
        make(
            [varied(&[5, 4], 1), indices(&[2, 3], &[3, 0, 9, 1, -1, 2]), varied(&[3, 2, 3], 2)],
            [&[1, 2], &[], &[], &[], &[1, 0]],
            0,
        ),
        make(
            [varied(&[3, 5], 2), indices(&[3, 2], &[4, 0, 1, 1, 7, 2]), varied(&[3, 2], 3)],
            [&[], &[1], &[0], &[0], &[1]],
            2,
        ),
    ]
}

#[test]
fn scatters_are_transposed_and_differentiated() {
    for kind in [None, Some(ReduceKind::Add)] {
        for (x, module) in scatters(kind) {
            check_derivative(&module, &x, &[0, 2]);
            check_transpose(&module, &x, &[0, 2]);
        }
    }
}

#[test]
fn extrema_are_differentiated() {
    for kind in [ReduceKind::Max, ReduceKind::Min] {
        for (x, module) in scatters(Some(kind)) {
            check_derivative(&module, &x, &[0, 2]);
            check_derivative(&module, &x, &[2]);
        }
    }
}

#[test]
fn products_are_differentiated() {
    for (x, module) in scatters(Some(ReduceKind::Mul)) {
        check_derivative(&module, &x, &[0]);
    }
    let x = [varied(&[4, 2], 0), indices(&[3, 1], &[3, 0, 9]), varied(&[3, 2], 1)];
    let mut module = scatter(&x, [&[1], &[0], &[], &[], &[0]], 1, Some(ReduceKind::Mul));
    let body = &mut module.funcs[0].body;
    let op = body[body.entry()].ops[0];
    let attrs = body[op].attrs.clone().with("unique_indices", Attr::Bool(true));
    body.op_mut(op).attrs = attrs;
    check_derivative(&module, &x, &[0, 2]);
}

#[test]
fn scatters_of_a_batch() {
    for kind in [None, Some(ReduceKind::Add), Some(ReduceKind::Max)] {
        for ([x, at, updates], module) in scatters(kind) {
            let wide = |x: &Literal| varied(&[&[2], x.shape()].concat(), 4);
            let (all_x, all_at, all_updates) = (wide(&x), shifted(&at), wide(&updates));
            check_batch(&module, &[all_x.clone(), at.clone(), updates.clone()], &[true, false, false]);
            check_batch(&module, &[x.clone(), at, all_updates.clone()], &[false, false, true]);
            check_batch(&module, &[x, all_at.clone(), updates], &[false, true, false]);
            check_batch(&module, &[all_x, all_at, all_updates], &[true, true, true]);
        }
    }
}

fn sliced(x: &[Literal], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value) -> Module {
    module_of(x, |_, b, args| {
        let v = f(b, args);
        b.body.def_op(v).expect("made just now")
    })
}

#[test]
fn blocks_of_a_batch() {
    let starts = |numbers: &[i32]| Literal::new([numbers.len()], numbers);
    let (one, some) = (Literal::scalar(9i32), starts(&[3, -1, 1]));
    let x = [varied(&[4, 3], 0), one.clone(), Literal::scalar(1i32)];
    let module = sliced(&x, |b, x| make::dynamic_slice(b, x[0], &x[1..], &[2, 2]));
    let xs = varied(&[3, 4, 3], 1);
    for (x, is_batch) in [(x[0].clone(), false), (xs.clone(), true)] {
        check_batch(&module, &[x.clone(), some.clone(), one.clone()], &[is_batch, true, false]);
        check_batch(&module, &[x.clone(), some.clone(), starts(&[0, 5, 1])], &[is_batch, true, true]);
    }
    check_batch(&module, &[xs.clone(), one.clone(), Literal::scalar(0i32)], &[true, false, false]);
    check_batch(&module, &[varied(&[0, 4, 3], 1), starts(&[]), starts(&[])], &[true, true, true]);
    check_derivative(&module, &x, &[0]);
    check_transpose(&module, &x, &[0]);

    let x = [varied(&[4, 3], 0), varied(&[2, 2], 1), one.clone(), Literal::scalar(1i32)];
    let module = sliced(&x, |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]));
    let (update, updates) = (x[1].clone(), varied(&[3, 2, 2], 2));
    for (x, is_batch) in [(x[0].clone(), false), (xs, true)] {
        check_batch(&module, &[x.clone(), update.clone(), some.clone(), one.clone()], &[is_batch, false, true, false]);
        check_batch(&module, &[x.clone(), updates.clone(), one.clone(), some.clone()], &[is_batch, true, false, true]);
        check_batch(&module, &[x, updates.clone(), one.clone(), one.clone()], &[is_batch, true, false, false]);
    }
    check_derivative(&module, &x, &[0, 1]);
    check_transpose(&module, &x, &[0, 1]);
}
