//! Checks the derivative, the transpose and the batch of every op of the table on the op's own example, with elements
//! of `f64`: against differences, by the dot-product test, and against a loop.

use crate::calculus_test::{check_batch, check_derivative, check_transpose, varied};
use crate::expansion::expand;
use crate::facts::*;
use crate::shard_test::{module_of, run};
use crate::{OPS, Opcode};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Cloner, Module, OpView, Region, Type, text};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Ops that the walk leaves out, each with the place of its cases.
const ELSEWHERE: &[(Opcode, &str)] = &[
    (Opcode::Cholesky, "the tests of `linalg`: its operand is positive definite"),
    (Opcode::Convert, "the oracle against JAX: its results are rounded to another type"),
    (Opcode::ReducePrecision, "the oracle against JAX: its results are rounded"),
    (Opcode::Scan, "the tests of the crate `transform`: it becomes a loop"),
    (Opcode::AllGather, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::AllReduce, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::ReduceScatter, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::AllToAll, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::CollectivePermute, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::CollectiveBroadcast, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::CollectiveReduce, "the tests of the crate `transform`: devices exchange values"),
    (Opcode::DynamicBroadcastInDim, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::DynamicConv, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::DynamicGather, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::DynamicIota, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::DynamicPad, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::DynamicReshape, "the tests of the crate `transform`: its sizes are constants"),
    (Opcode::RealDynamicSlice, "the tests of the crate `transform`: its sizes are constants"),
];

/// Returns the example of an op as a module whose only op it is, with elements of `f64` in place of `f32` where the op
/// allows them, and with an argument for each operand. Returns `None` if no valid module of this form can be made of
/// the example.
fn alone(opcode: Opcode) -> Option<(Module, Vec<Type>)> {
    let text = opcode.facts().example(opcode);
    of_text(opcode, &text.replace("f32", "f64")).or_else(|| of_text(opcode, text))
}

fn of_text(opcode: Opcode, text: &str) -> Option<(Module, Vec<Type>)> {
    let module = text::parse("example.mlir", text, &OPS).ok()?;
    let body = &module.main()?.body;
    let op = body[body.entry()].ops.iter().copied().find(|&op| Opcode::of(body[op].code) == opcode)?;
    let view = module.view(body, op);
    let types: Vec<Type> = view.operands().iter().map(|&v| body.ty(v).clone()).collect();
    let inputs: Vec<Literal> =
        types.iter().map(|ty| ty.as_tensor().map(|t| Literal::zeros(t.dtype, &t.shape[..]))).collect::<Option<_>>()?;
    let made = module_of(&inputs, |_, b, args| {
        let mut cloner = Cloner::new(body);
        let regions: Vec<Region> = view.regions().iter().map(|&r| cloner.region(r, b)).collect();
        let results: Vec<Type> = view.results().iter().map(|&v| body.ty(v).clone()).collect();
        b.op_with_regions(view.data().code, args.iter().copied(), view.attrs().clone(), regions, results)
    });
    shardwise_ir::verify(&made).is_empty().then_some((made, types))
}

fn interval(opcode: Opcode, i: usize) -> (f64, f64) {
    match (opcode, i) {
        (Opcode::ChloAcosh, _) => (1.3, 2.0),
        (Opcode::ChloZeta, 0) => (2.0, 3.0),
        (Opcode::TriangularSolve, 0) => (1.0, 2.0),
        // These stay away from the steps of the functions.
        (Opcode::Remainder, 0) => (0.7, 0.8),
        (Opcode::Remainder, 1) => (0.3, 0.34),
        (Opcode::Clamp, 0) => (0.1, 0.2),
        (Opcode::Clamp, 2) => (0.8, 0.85),
        _ => (0.3, 0.9),
    }
}

/// Returns values for operand `i` of type `ty`, with a new leading dimension of size `batch` if that is given. Elements
/// of `f64`, other than orders of polygamma functions, are in the op's [`interval`].
fn operand(opcode: Opcode, i: usize, ty: &Type, batch: Option<usize>) -> Literal {
    let t = ty.as_tensor().expect("operands are arrays");
    let shape: Vec<usize> = batch.into_iter().chain(t.shape.iter().copied()).collect();
    let n = shape.iter().product::<usize>().max(1) as f64;
    let (low, high) = interval(opcode, i);
    match t.dtype {
        DType::F64 if opcode == Opcode::ChloPolygamma && i == 0 => Literal::from_fn(&shape[..], |k| (1 + k % 2) as f64),
        DType::F64 => {
            let numbers = varied(&shape, i);
            let first = 0.25 + i as f64 / 64.0;
            Literal::from_fn(&shape[..], |k| low + (high - low) * (numbers.get_f64(k) - first) * 8.0 / n)
        }
        dtype => crate::eval::fill(dtype, &shape, |k| crate::eval::Number::Signed((k % 2) as i64)),
    }
}

fn view(module: &Module) -> OpView<'_> {
    let body = &module.funcs[0].body;
    let ops = &body[body.entry()].ops;
    module.view(body, ops[ops.len() - 2])
}

fn check_expansion(module: &Module, x: &[Literal], expansion: &crate::expansion::Expansion<'_>) {
    let func = expand(&view(module), expansion).unwrap_or_else(|why| panic!("{why}"));
    let mut built = Module::new("expansion", &OPS);
    let name = module.funcs[0].name.clone();
    let mut main = shardwise_ir::Func::new(name, shardwise_base::Loc::UNKNOWN);
    (main.body, main.result_types) = (func.body, func.result_types);
    built.funcs.push(main);
    let found = shardwise_ir::verify(&built);
    assert!(found.is_empty(), "{found}");
    for (found, expected) in run(&built, x).iter().zip(run(module, x)) {
        assert_eq!(found.shape(), expected.shape());
        for i in 0..found.size() {
            let (found, expected) = (found.get_f64(i), expected.get_f64(i));
            assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} in place of {expected}");
        }
    }
}

/// Checks the derivative and the transpose that the facts of the module's only op state, and panics if one is wrong. Of
/// an expansion, only the results are compared with those of the op. Does not check a derivative that is zero everywhere,
/// nor one that the transform builds by itself. Returns true if the facts state a derivative other than these two.
fn check(opcode: Opcode, module: &Module, types: &[Type]) -> bool {
    let op = view(module);
    let facts = opcode.facts();
    let x: Vec<Literal> = types.iter().enumerate().map(|(i, ty)| operand(opcode, i, ty, None)).collect();
    let smooth: Vec<usize> = (0..x.len()).filter(|&i| x[i].dtype() == DType::F64).collect();
    let linear = facts.linear(&op);
    let has_derivative = match facts.derivative(&op) {
        Derivative::Expanded(expansion) => {
            check_expansion(module, &x, &expansion);
            true
        }
        Derivative::Linear => {
            let of: Vec<usize> = smooth.iter().copied().filter(|&i| linear.includes(i)).collect();
            match linear {
                Linear::Each => of.iter().for_each(|&i| check_derivative(module, &x, &[i])),
                _ => check_derivative(module, &x, &of),
            }
            true
        }
        Derivative::By(_) => {
            // The order of a polygamma function has no derivative.
            let of = smooth.iter().filter(|&&i| (opcode, i) != (Opcode::ChloPolygamma, 0));
            of.filter(|&&i| (opcode, i) != (Opcode::ChloZeta, 0)).for_each(|&i| check_derivative(module, &x, &[i]));
            true
        }
        Derivative::Zero(_) | Derivative::Structure | Derivative::None(_) => false,
    };
    if let Transposed::By(_) = facts.transpose(&op) {
        let of: Vec<usize> = smooth.iter().copied().filter(|&i| linear.includes(i)).collect();
        match linear {
            Linear::Each | Linear::EachOf(_) => of.iter().for_each(|&i| check_transpose(module, &x, &[i])),
            Linear::No => {}
            _ => check_transpose(module, &x, &of),
        }
    }
    has_derivative
}

/// Checks the batch of the module's only op, with all operands batched and with each alone. If the batch is that of an
/// expansion, only checks the expansion, without a batch.
fn check_batches(opcode: Opcode, module: &Module, types: &[Type]) {
    let count = types.len();
    let all = std::iter::once(vec![true; count]).chain((0..count).map(|i| (0..count).map(|k| k == i).collect()));
    for mapped in all.filter(|m| m.contains(&true)) {
        let batch = |i: usize| mapped[i].then_some(3);
        let x: Vec<Literal> = types.iter().enumerate().map(|(i, ty)| operand(opcode, i, ty, batch(i))).collect();
        match opcode.facts().batch(&view(module), &mapped) {
            Batched::Leading(_) | Batched::LeadingOf(..) | Batched::By(..) => check_batch(module, &x, &mapped),
            Batched::Expanded(expansion) => {
                let x: Vec<Literal> = types.iter().enumerate().map(|(i, ty)| operand(opcode, i, ty, None)).collect();
                check_expansion(module, &x, &expansion);
            }
            Batched::Structure | Batched::None(_) => {}
        }
    }
}

#[test]
fn every_op_is_consistent_with_its_derivative_its_transpose_and_its_batch() {
    let mut wrong = vec![];
    let (mut checked, mut batched) = (0, 0);
    for &opcode in Opcode::ALL {
        if ELSEWHERE.iter().any(|(op, _)| *op == opcode) {
            continue;
        }
        let made = catch_unwind(AssertUnwindSafe(|| alone(opcode))).ok().flatten();
        let Some((module, types)) = made else { continue };
        let smooth = types.iter().any(|ty| ty.as_tensor().is_some_and(|t| t.dtype == DType::F64));
        let told = |why: Box<dyn std::any::Any + Send>| {
            why.downcast_ref::<String>().cloned().or_else(|| why.downcast_ref::<&str>().map(|s| s.to_string()))
        };
        if smooth {
            match catch_unwind(AssertUnwindSafe(|| check(opcode, &module, &types))) {
                Ok(has_derivative) => checked += usize::from(has_derivative),
                Err(why) => wrong.push(format!("{}: {}", opcode.name(), told(why).unwrap_or_default())),
            }
        }
        match catch_unwind(AssertUnwindSafe(|| check_batches(opcode, &module, &types))) {
            Ok(()) => batched += 1,
            Err(why) => wrong.push(format!("the batch of {}: {}", opcode.name(), told(why).unwrap_or_default())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 79 && batched >= 120, "{checked} derivatives and {batched} batches");
}

#[test]
fn every_op_with_a_derivative_has_a_case() {
    let has_case = |opcode: Opcode| {
        let is_elsewhere = ELSEWHERE.iter().any(|(op, _)| *op == opcode);
        is_elsewhere || catch_unwind(AssertUnwindSafe(|| alone(opcode))).ok().flatten().is_some()
    };
    let missing: Vec<&str> = Opcode::ALL
        .iter()
        .filter(|&&opcode| {
            let text = opcode.facts().example(opcode);
            let module = text::parse("example.mlir", text, &OPS).ok();
            let derives = module.as_ref().is_some_and(|module| {
                module.funcs.iter().any(|f| {
                    f.body.walk().into_iter().map(|op| module.view(&f.body, op)).any(|view| {
                        let is_op = Opcode::of_view(&view) == opcode;
                        let derivative = || opcode.facts().derivative(&view);
                        is_op
                            && matches!(derivative(), Derivative::By(_) | Derivative::Linear | Derivative::Expanded(_))
                    })
                })
            });
            derives && !has_case(opcode)
        })
        .map(|opcode| opcode.name())
        .collect();
    assert!(missing.is_empty(), "no case: {missing:?}");
}
