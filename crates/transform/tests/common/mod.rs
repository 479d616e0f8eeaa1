//! Checks of derivatives and batches.
#![allow(dead_code, reason = "each test uses a part of it")]

use shardwise_base::Literal;
use shardwise_ir::text::PrintOptions;
use shardwise_ir::{Func, Module, text, verify};
use shardwise_ops::OPS;
use shardwise_transform::{jvp, vjp, vmap};

pub fn parse(source: &str) -> Module {
    text::parse("test.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

pub fn printed(module: &Module) -> String {
    text::print(module, &PrintOptions::default())
}

/// Returns a module with `func` in place of the first function of `module`, printed and read again. Panics if the
/// module is not valid.
pub fn with_main(module: &Module, func: Func) -> Module {
    let mut out = module.without_funcs();
    out.funcs.push(func);
    module.funcs.iter().skip(1).for_each(|f| out.funcs.push(f.clone()));
    let found = verify(&out);
    assert!(found.is_empty(), "{found}\n{}", printed(&out));
    parse(&printed(&out))
}

pub fn run(module: &Module, args: &[Literal]) -> Vec<Literal> {
    shardwise_interp::run(module, args).unwrap_or_else(|e| panic!("{e}\n{}", printed(module)))
}

/// Returns an array of f64 numbers between 0.2 and 1.5 for each argument of `@main`, in its shape. The numbers of an
/// array repeat after 101. Those at the same position differ for seeds below 101.
pub fn numbers(module: &Module, seed: usize) -> Vec<Literal> {
    let main = module.main().unwrap();
    let types = main.body.args().iter().map(|&v| main.body.ty(v).as_tensor().unwrap());
    types
        .enumerate()
        .map(|(k, ty)| {
            let value = |i: usize| ((i * 37 + k * 71 + seed * 29 + 3) % 101) as f64 / 83.0 + 0.2617;
            let values: Vec<f64> = (0..ty.shape.iter().product()).map(value).collect();
            Literal::new(&ty.shape[..], &values)
        })
        .collect()
}

pub fn values(x: &Literal) -> Vec<f64> {
    x.to_dense().as_slice::<f64>().to_vec()
}

/// Checks the derivatives of the main function of a program in MLIR's text form, whose arguments are tensors of f64:
/// forward mode against central differences, and reverse mode against forward mode. Panics if they differ, or if the
/// program has no derivatives.
pub fn check(source: &str) {
    let module = parse(source);
    let main = module.main().unwrap();
    let count = main.body.args().len();
    let all: Vec<usize> = (0..count).collect();
    let (x, dx) = (numbers(&module, 0), numbers(&module, 1));
    let forward = with_main(&module, jvp(&module, main, &all).unwrap());
    let tangents = run(&forward, &[&x[..], &dx[..]].concat());
    let results = main.result_types.len();
    let h = 1e-6;
    let moved = |sign: f64| -> Vec<Literal> {
        let step = |(a, d): (&Literal, &Literal)| {
            let sum: Vec<f64> = values(a).iter().zip(values(d)).map(|(a, d)| a + sign * h * d).collect();
            Literal::new(a.shape(), &sum)
        };
        run(&module, &x.iter().zip(&dx).map(step).collect::<Vec<_>>())
    };
    let (after, before) = (moved(1.0), moved(-1.0));
    for i in 0..results {
        let differences = values(&after[i]).into_iter().zip(values(&before[i])).map(|(a, b)| (a - b) / (2.0 * h));
        for (difference, tangent) in differences.zip(values(&tangents[results + i])) {
            assert!(
                (difference - tangent).abs() <= 1e-6 * (1.0 + difference.abs()),
                "{difference} {tangent}\n{source}"
            );
        }
    }
    let cotangents: Vec<Literal> = (0..results).map(|i| tangents[i].clone()).collect();
    let back = with_main(&module, vjp(&module, main, &all).unwrap());
    let gradients = run(&back, &[&x[..], &cotangents[..]].concat());
    let dot = |a: &[Literal], b: &[Literal]| -> f64 {
        let terms = |(a, b): (&Literal, &Literal)| values(a).iter().zip(values(b)).map(|(a, b)| a * b).sum::<f64>();
        a.iter().zip(b).map(terms).sum()
    };
    let (forward, back) = (dot(&cotangents, &tangents[results..]), dot(&gradients[results..], &dx));
    assert!((forward - back).abs() <= 1e-12 * (1.0 + forward.abs()), "{forward} {back}\n{source}");
    assert_eq!(gradients[..results], tangents[..results], "{source}");
}

/// Checks, for each choice of at least one argument to be mapped, the batch of three against one run for each index. A
/// number may differ from the expected one by `part` of one plus its absolute value. Panics if one differs by more, or
/// if the program has no batch.
pub fn check_batch(source: &str, part: f64) {
    let module = parse(source);
    let main = module.main().unwrap();
    let count = main.body.args().len();
    let runs: Vec<Vec<Literal>> = (0..3).map(|seed| numbers(&module, seed)).collect();
    for mask in 1..1usize << count {
        let mapped: Vec<usize> = (0..count).filter(|i| mask >> i & 1 == 1).collect();
        let batch = with_main(&module, vmap(&module, main, &mapped, runs.len()).unwrap().func);
        let stacked = |i: usize| {
            let all: Vec<f64> = runs.iter().flat_map(|r| values(&r[i])).collect();
            Literal::new([&[runs.len()], runs[0][i].shape()].concat(), &all)
        };
        let arg = |i: usize| if mapped.contains(&i) { stacked(i) } else { runs[0][i].clone() };
        let together = run(&batch, &(0..count).map(arg).collect::<Vec<_>>());
        let one = |r: &Vec<Literal>| {
            let arg = |i: usize| if mapped.contains(&i) { r[i].clone() } else { runs[0][i].clone() };
            run(&module, &(0..count).map(arg).collect::<Vec<_>>())
        };
        let apart: Vec<Vec<Literal>> = runs.iter().map(one).collect();
        for (i, result) in together.iter().enumerate() {
            let expected: Vec<f64> = apart.iter().flat_map(|r| values(&r[i])).collect();
            let found = values(result);
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= part * (1.0 + b.abs());
            let is_same = found.len() == expected.len() && found.iter().zip(&expected).all(is_near);
            assert!(is_same, "mapped {mapped:?}: {found:?} in place of {expected:?}\n{source}");
        }
    }
}
