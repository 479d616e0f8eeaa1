//! Runs the derivative, the transpose and the batch of a module's only op, and compares them with differences, with the
//! op itself and with a loop over the batch.

use crate::batch::BatchCx;
use crate::derivative::{CotangentCx, TangentCx, has_tangent};
use crate::eval::{self, Layout};
use crate::facts::*;
use crate::shard_test::run;
use crate::{OPS, Opcode, make};
use shardwise_base::{DType, Literal, Loc};
use shardwise_ir::{Builder, Cloner, Func, Module, OpView, Type, Value};

fn view(module: &Module) -> OpView<'_> {
    let body = &module.funcs[0].body;
    let ops = &body[body.entry()].ops;
    module.view(body, ops[ops.len() - 2])
}

/// Builds a module whose `@main` has arguments of the types of `inputs` and returns what `f` builds.
fn built(inputs: &[Literal], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>) -> Module {
    let mut module = Module::new("test", &OPS);
    let mut func = Func::new("main", Loc::UNKNOWN);
    let mut b = Builder::new(&mut func.body);
    let args: Vec<Value> = inputs.iter().map(|x| b.arg(Type::tensor(x.dtype(), x.shape().to_vec()))).collect();
    let results = f(&mut b, &args);
    func.result_types = results.iter().map(|&v| b.body.ty(v).clone()).collect();
    b.ret(results);
    module.funcs.push(func);
    let found = shardwise_ir::verify(&module);
    assert!(found.is_empty(), "{found}");
    module
}

fn of(op: &OpView<'_>) -> &'static dyn Facts {
    Opcode::of_view(op).facts()
}

/// Returns the tangents of the results of the module's only op at `x`. `tangents` has `None` for an operand without a
/// tangent.
fn tangents(module: &Module, x: &[Literal], tangents: &[Option<Literal>]) -> Vec<Literal> {
    let op = view(module);
    let given: Vec<Literal> = tangents.iter().flatten().cloned().collect();
    let inputs = [x, &given].concat();
    let built = built(&inputs, |b, args| {
        let mut cloner = Cloner::new(op.body);
        op.operands().iter().zip(args).for_each(|(&from, &to)| cloner.set(from, to));
        let copy = cloner.op(op.op, b);
        let results = b.body[copy].results.to_vec();
        let mut next = args[x.len()..].iter().copied();
        let tangents: Vec<Option<Value>> = tangents.iter().map(|t| t.as_ref().and_then(|_| next.next())).collect();
        let (operands, refused) = (&args[..x.len()], None);
        let mut cx =
            TangentCx { op, operands, results: &results, tangents: &tangents, cloner: &mut cloner, b, refused };
        let found = match of(&op).derivative(&op) {
            Derivative::Linear if of(&op).linear(&op) == Linear::Each => {
                let parts: Vec<Value> = (0..x.len())
                    .filter_map(|i| {
                        let mut operands = operands.to_vec();
                        operands[i] = tangents[i]?;
                        Some(cx.same_op(&operands)[0])
                    })
                    .collect();
                vec![cx.sum(parts.into_iter().map(Some))]
            }
            Derivative::Linear => {
                let linear = of(&op).linear(&op);
                let pick = |i: usize| if linear.includes(i) { cx.tangent_or_zeros(i) } else { operands[i] };
                let operands: Vec<Value> = (0..x.len()).map(pick).collect();
                cx.same_op(&operands).into_iter().map(Some).collect()
            }
            Derivative::By(f) => f(&mut cx),
            _ => panic!("no derivative"),
        };
        assert_eq!(cx.refused, None);
        let zeros = |(i, v): (usize, Option<Value>)| v.unwrap_or_else(|| make::zeros(b, op.result_tensor(i)));
        found.into_iter().enumerate().map(zeros).collect()
    });
    run(&built, &inputs)
}

fn combine(x: &Literal, y: &Literal, f: impl Fn(f64, f64) -> f64) -> Literal {
    let numbers: Vec<f64> = (0..x.size()).map(|i| f(x.get_f64(i), y.get_f64(i))).collect();
    Literal::new(x.shape(), &numbers)
}

fn dot(x: &[Literal], y: &[Literal]) -> f64 {
    let numbers = |x: &Literal, y: &Literal| (0..x.size()).map(|i| x.get_f64(i) * y.get_f64(i)).sum::<f64>();
    x.iter().zip(y).map(|(x, y)| numbers(x, y)).sum()
}

/// Returns an array of numbers that are all different, and small multiples of 1/64.
pub(crate) fn varied(shape: &[usize], seed: usize) -> Literal {
    let n: usize = shape.iter().product();
    // Steps that have no factor in common with the number of elements reach all of them.
    let has_common = |step: usize| (2..=step).any(|d| n.is_multiple_of(d) && step.is_multiple_of(d));
    let step = (n / 2 + 1..).find(|&step| !has_common(step)).expect("the numbers include primes");
    let number = |i: usize| ((i * step + seed * 7) % n.max(1)) as f64 / 8.0 + 0.25 + seed as f64 / 64.0;
    Literal::new(shape, &(0..n).map(number).collect::<Vec<f64>>())
}

/// Compares the tangents of the module's only op at `x` with central differences. The operands `of` have tangents, all
/// at once, and must be of type `f64`.
pub(crate) fn check_derivative(module: &Module, x: &[Literal], of: &[usize]) {
    let step = 1.0 / 1024.0;
    let given: Vec<Option<Literal>> =
        (0..x.len()).map(|i| of.contains(&i).then(|| varied(x[i].shape(), i + 3))).collect();
    let moved = |by: f64| -> Vec<Literal> {
        let move_one = |(x, t): (&Literal, &Option<Literal>)| match t {
            Some(t) => combine(x, t, |x, t| x + by * t),
            None => x.clone(),
        };
        run(module, &x.iter().zip(&given).map(move_one).collect::<Vec<_>>())
    };
    let (above, below) = (moved(step), moved(-step));
    let found = tangents(module, x, &given);
    for (r, found) in found.iter().enumerate().filter(|(_, t)| has_tangent(t.dtype())) {
        let expected = combine(&above[r], &below[r], |a, b| (a - b) / (2.0 * step));
        for i in 0..found.size() {
            let (found, expected) = (found.get_f64(i), expected.get_f64(i));
            let is_near = (found - expected).abs() <= 1e-4 * (1.0 + expected.abs());
            assert!(is_near, "element {i} of result {r}: {found} instead of {expected}");
        }
    }
}

/// Checks the transpose of the module's only op in the operands `of`, in which it is linear jointly, by the dot-product
/// test.
pub(crate) fn check_transpose(module: &Module, x: &[Literal], of: &[usize]) {
    let op = view(module);
    let known: Vec<Literal> = (0..x.len()).filter(|i| !of.contains(i)).map(|i| x[i].clone()).collect();
    let whole = run(module, x);
    let cotangents: Vec<Literal> = whole.iter().enumerate().map(|(i, y)| varied(y.shape(), i + 5)).collect();
    let inputs = [&known[..], &cotangents].concat();
    let built = built(&inputs, |b, args| {
        let mut cloner = Cloner::new(op.body);
        let mut next = args.iter().copied();
        let operands: Vec<Option<Value>> =
            (0..x.len()).map(|i| if of.contains(&i) { None } else { next.next() }).collect();
        let cotangents: Vec<Option<Value>> = next.map(Some).collect();
        let mut cx =
            CotangentCx { op, operands: &operands, cotangents: &cotangents, is_shared: false, cloner: &mut cloner, b };
        let Transposed::By(f) = self::of(&op).transpose(&op) else { panic!("no transpose") };
        let found = f(&mut cx);
        let whole = |i: &usize| match found[*i].clone() {
            Some(Cotangent::Whole(v)) => v,
            Some(Cotangent::Block { update, starts }) => {
                let zeros = make::zeros(b, op.operand_tensor(*i));
                make::dynamic_update_slice(b, zeros, update, &starts)
            }
            None => make::zeros(b, op.operand_tensor(*i)),
        };
        of.iter().map(whole).collect()
    });
    let found = run(&built, &inputs);
    let linear: Vec<Literal> = of.iter().map(|&i| x[i].clone()).collect();
    // Results may have other summands, which do not depend on the linear operands.
    let mut without = x.to_vec();
    of.iter().for_each(|&i| without[i] = Literal::zeros(x[i].dtype(), x[i].shape()));
    let others = run(module, &without);
    let (forward, backward) = (dot(&cotangents, &whole) - dot(&cotangents, &others), dot(&found, &linear));
    assert!((forward - backward).abs() <= 1e-9 * (1.0 + forward.abs()), "{forward} and {backward}");
}

fn row(x: &Literal, i: usize) -> Literal {
    let (x, shape) = (x.to_dense(), &x.shape()[1..]);
    let base = (i * shape.iter().product::<usize>()) as isize;
    eval::gather(&x, &Layout { base, strides: eval::row_major(shape) }, shape)
}

/// Compares the batch of an op with the op on each element of the batch. `module` has the op without the batch, and
/// `mapped` says for each operand if `x` has a leading dimension for it.
pub(crate) fn check_batch(module: &Module, x: &[Literal], mapped: &[bool]) {
    let op = view(module);
    let size = x.iter().zip(mapped).find(|(_, m)| **m).map(|(x, _)| x.shape()[0]).expect("an operand is mapped");
    let built = built(x, |b, args| {
        let mut cloner = Cloner::new(op.body);
        let mut cx = BatchCx { op, operands: args, mapped, size, cloner: &mut cloner, b };
        match of(&op).batch(&op, mapped) {
            Batched::Leading(attrs) => {
                let operands: Vec<Value> = (0..x.len()).map(|i| cx.with_leading(i)).collect();
                cx.leading_op(&operands, attrs)
            }
            Batched::LeadingOf(leading, attrs) => {
                assert!((0..x.len()).all(|i| leading[i] || !mapped[i]));
                let operand = |i: usize| if leading[i] { cx.with_leading(i) } else { args[i] };
                let operands: Vec<Value> = (0..x.len()).map(operand).collect();
                cx.leading_op(&operands, attrs)
            }
            Batched::By(_, f) => f(&mut cx).unwrap_or_else(|e| panic!("{e}")),
            _ => panic!("no batch"),
        }
    });
    let found = run(&built, x);
    for i in 0..size {
        let one: Vec<Literal> = x.iter().zip(mapped).map(|(x, &m)| if m { row(x, i) } else { x.clone() }).collect();
        let expected = run(module, &one);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(row(found, i), *expected, "element {i} of the batch");
        }
    }
}

pub(crate) fn indices(shape: &[usize], numbers: &[i32]) -> Literal {
    assert_eq!(shape.iter().product::<usize>(), numbers.len());
    Literal::from_fn(shape, |i| numbers[i])
}

#[test]
fn varied_numbers_are_different() {
    let x = varied(&[3, 4], 2);
    let mut numbers: Vec<f64> = (0..12).map(|i| x.get_f64(i)).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    assert_eq!((numbers.len(), x.dtype()), (12, DType::F64));
}
