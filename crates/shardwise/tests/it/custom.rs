//! Functions with derivatives of their own: in every transform, in programs, loops, branches and per-device code.

use crate::transform::floats;
use shardwise::kernel::{self, Kernel, Literal};
use shardwise::prelude::*;
use shardwise::{
    Nth, Pcast, checkpoint, custom_jvp, custom_vjp, float0, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp,
    vmap,
};
use std::sync::atomic::{AtomicUsize, Ordering};

type Binary = Box<dyn Fn(&Array, &Array) -> Array + Send + Sync>;
type Unary = Box<dyn Fn(&Array) -> Array + Send + Sync>;

fn found(e: &shardwise::Error) -> Vec<(String, String)> {
    e.diagnostics().map(|d| (d.code().to_string(), d.to_string())).collect()
}

/// Returns the function `x^2 y` with a rule for forward mode whose derivative in `x` is ten times too large, so that it
/// shows where the rule is used.
fn marked_jvp() -> impl Fn(&Array, &Array) -> Array + Clone + Send + Sync {
    let f = |x: &Array, y: &Array| x * x * y;
    let rule = custom_jvp(f).defjvp(|(x, y), (dx, dy)| (x * x * y, 20.0 * x * y * dx + x * x * dy));
    let rule = std::sync::Arc::new(rule);
    move |x, y| rule(x, y)
}

/// Returns the function `x^2 y` with a rule for reverse mode whose derivative in `x` is ten times too large.
fn marked_vjp() -> impl Fn(&Array, &Array) -> Array + Clone + Send + Sync {
    let f = |x: &Array, y: &Array| x * x * y;
    let rule = custom_vjp(f)
        .defvjp(|(x, y)| (x * x * y, (x.clone(), y.clone())), |(x, y), ct| (20.0 * x * y * ct, x * x * ct));
    let rule = std::sync::Arc::new(rule);
    move |x, y| rule(x, y)
}

#[test]
fn both_modes_use_a_rule_for_tangents() {
    let f = marked_jvp();
    let (x, y) = (scalar(3.0, F32), scalar(2.0, F32));
    assert_eq!(floats(&f(&x, &y)), [18.0]);
    let (value, tangent) = jvp(|x: &Array, y: &Array| f(x, y), (&x, &y), (&ones([], F32), &ones([], F32)));
    assert_eq!((floats(&value), floats(&tangent)), (vec![18.0], vec![129.0]));
    let (dx, dy) = grad(|x: &Array, y: &Array| f(x, y)).argnums((Nth::<0>, Nth::<1>))(&x, &y);
    assert_eq!((floats(&dx), floats(&dy)), (vec![120.0], vec![9.0]));
    // The rule is differentiated like any other code: d/dx 20 x y = 20 y.
    assert_eq!(floats(&grad(grad(|x: &Array| f(x, &y)))(&x)), [40.0]);
    assert_eq!(floats(&hessian(|x: &Array| f(x, &y))(&x)), [40.0]);
}

#[test]
fn reverse_mode_uses_a_rule_for_cotangents() {
    let f = marked_vjp();
    let (x, y) = (scalar(3.0, F32), scalar(2.0, F32));
    assert_eq!(floats(&f(&x, &y)), [18.0]);
    let (dx, dy) = grad(|x: &Array, y: &Array| f(x, y) * 2.0).argnums((Nth::<0>, Nth::<1>))(&x, &y);
    assert_eq!((floats(&dx), floats(&dy)), (vec![240.0], vec![18.0]));
    assert_eq!(floats(&grad(grad(|x: &Array| f(x, &y)))(&x)), [40.0]);
    assert_eq!(floats(&jacrev(|x: &Array| f(x, &y))(&x)), [120.0]);
    let (_, pullback) = vjp(|x: &Array| f(x, &y), &x);
    assert_eq!(floats(&pullback(&scalar(3.0, F32))), [360.0]);
    // Forward mode has no rule, alone and inside of reverse mode.
    let wrong = jit(|x: &Array| jvp(|x: &Array| f(x, x), x, x).1)(&x).unwrap_err();
    assert_eq!(found(&wrong)[0].0, "custom-vjp-forward");
    assert!(found(&wrong)[0].1.contains("custom_jvp"), "{wrong}");
    let wrong = jit(|x: &Array| jacfwd(|x: &Array| f(x, x))(x))(&x).unwrap_err();
    assert_eq!(found(&wrong)[0].0, "custom-vjp-forward");
    let wrong = jit(|x: &Array| grad(|x: &Array| jvp(|x: &Array| f(x, x), x, x).1)(x))(&x).unwrap_err();
    assert_eq!(found(&wrong)[0].0, "custom-vjp-forward");
}

#[test]
fn rules_survive_programs_loops_and_branches() {
    let (x, y) = (scalar(3.0, F32), scalar(2.0, F32));
    for f in [Box::new(marked_jvp()) as Binary, Box::new(marked_vjp())] {
        let inner = jit(|x: &Array, y: &Array| f(x, y));
        let gradient = jit(|x: &Array, y: &Array| grad(|x: &Array| inner(x, y))(x));
        assert_eq!(floats(&gradient(&x, &y).unwrap()), [120.0]);
        // x -> x^2 y twice: the derivative of the second is 20 h y, with h = x^2 y.
        let looped = |x: &Array| scan(x.clone(), ones([2], F32), |h, _| (f(&h, &y), ())).0;
        assert_eq!(floats(&looped(&x)), [648.0]);
        assert_eq!(floats(&grad(looped)(&x)), [120.0 * 20.0 * 18.0 * 2.0]);
        let branch = |x: &Array| cond(x.gt(0.0), || f(x, &y), || x * 5.0);
        assert_eq!(floats(&grad(branch)(&x)), [120.0]);
        assert_eq!(floats(&grad(branch)(&-&x)), [5.0]);
        let rematerialised = |x: &Array| fori_loop(0..2, x.clone(), |_, h| f(&h, &y).sin());
        let gradient = floats(&grad(rematerialised)(&x))[0];
        assert!(gradient.is_finite());
    }
}

#[test]
fn rules_are_batched() {
    let xs = array(&[1.0f32, 2.0, 3.0]);
    let y = scalar(2.0, F32);
    for f in [Box::new(marked_jvp()) as Binary, Box::new(marked_vjp())] {
        assert_eq!(floats(&vmap(|x: &Array| f(x, &y))(&xs)), [2.0, 8.0, 18.0]);
        assert_eq!(floats(&vmap(grad(|x: &Array| f(x, &y)))(&xs)), [40.0, 80.0, 120.0]);
        // The batch, differentiated: an argument that all indices share gets the sum.
        let total = |x: &Array, y: &Array| vmap(|x: &Array, y: &Array| f(x, y)).in_axes((0, None))(x, y).sum(..);
        let (dx, dy) = grad(total).argnums((Nth::<0>, Nth::<1>))(&xs, &y);
        assert_eq!((floats(&dx), floats(&dy)), (vec![40.0, 80.0, 120.0], vec![14.0]));
        let twice = vmap(|x: &Array| grad(|x: &Array| vmap(|y: &Array| f(x, y))(&xs).sum(..))(x))(&xs);
        assert_eq!(floats(&twice), [120.0, 240.0, 360.0]);
        let looped = |x: &Array| scan(x.clone(), ones([1], F32), |h, _| (f(&h, &y), ())).0;
        assert_eq!(floats(&grad(|x: &Array| vmap(looped)(x).sum(..))(&xs)), [40.0, 80.0, 120.0]);
    }
}

#[test]
fn rules_work_in_per_device_code() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    with_mesh(&mesh, || {
        for f in [Box::new(marked_jvp()) as Binary, Box::new(marked_vjp())] {
            let mapped = shard_map(|x: &Array| f(x, x)).in_specs(P!("X")).out_specs(P!("X"));
            assert_eq!(floats(&mapped(&array(&[1.0f32, 2.0]))), [1.0, 8.0]);
            // Around the map: 20 x y + x^2 at y = x.
            assert_eq!(floats(&grad(|x: &Array| mapped(x).sum(..))(&array(&[1.0f32, 2.0]))), [21.0, 84.0]);
            // An argument that is replicated gets the sum over the devices, around the map and inside of it.
            let (x, y) = (array(&[1.0f32, 2.0]), scalar(3.0, F32));
            let mapped = shard_map(|x: &Array, y: &Array| f(x, &y.reshape([1]))).in_specs((P!("X"), P!()));
            let mapped = mapped.out_specs(P!("X"));
            let (dx, dy) = grad(|x: &Array, y: &Array| mapped(x, y).sum(..)).argnums((Nth::<0>, Nth::<1>))(&x, &y);
            assert_eq!((floats(&dx), floats(&dy)), (vec![60.0, 120.0], vec![5.0]));
            let inside = |x: &Array, y: &Array| grad(|y: &Array| f(x, &y.reshape([1])).sum(..))(y);
            let inside = shard_map(inside).in_specs((P!("X"), P!())).out_specs(P!());
            assert_eq!(floats(&inside(&x, &y)), [5.0]);
            // A batch of maps.
            let rows = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
            let own = shard_map(|x: &Array| f(x, x)).in_specs(P!("X")).out_specs(P!("X"));
            let gradient = grad(|rows: &Array| vmap(|x: &Array| own(x))(rows).sum(..))(&rows);
            assert_eq!(floats(&gradient), [21.0, 84.0, 189.0, 336.0]);
        }
    });
}

#[test]
fn eager_calls_keep_the_layouts_of_explicit_mode() {
    let mesh = Mesh::explicit([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = arange(0..64, F32).reshape([8, 8]).shard(P!("data", "model"));
        for f in [Box::new(marked_jvp()) as Binary, Box::new(marked_vjp())] {
            assert_eq!(f(&x, &x).ty().to_string(), "f32[8@data,8@model]");
        }
        assert_eq!(checkpoint(|x: &Array| x.tanh())(&x).ty().to_string(), "f32[8@data,8@model]");
    });
}

#[test]
fn in_explicit_mode_a_rule_has_the_types_of_its_arguments() {
    let mesh = Mesh::explicit([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = arange(0..64, F32).reshape([8, 8]).shard(P!("data", "model"));
        let y = ones([8, 8], F32).shard(P!("data", "model"));
        for f in [Box::new(marked_jvp()) as Binary, Box::new(marked_vjp())] {
            let value = jit(|x: &Array, y: &Array| f(x, y))(&x, &y).unwrap();
            assert_eq!(value.ty().to_string(), "f32[8@data,8@model]");
            let gradient = jit(|x: &Array, y: &Array| grad(|x: &Array| f(x, y).sum(..))(x))(&x, &y).unwrap();
            assert_eq!(gradient.ty().to_string(), "f32[8@data,8@model]");
            assert_eq!(floats(&gradient), floats(&(&x * 20.0)));
            let batch = jit(|x: &Array, y: &Array| vmap(|x: &Array, y: &Array| f(x, y))(x, y))(&x, &y).unwrap();
            assert_eq!(batch.ty().to_string(), "f32[8@data,8@model]");
            // A call that is copied, and not differentiated.
            let beside = jit(|x: &Array, y: &Array| grad(|x: &Array| (x * f(y, y)).sum(..))(x))(&x, &y).unwrap();
            assert_eq!((beside.ty().to_string(), floats(&beside)), ("f32[8@data,8@model]".into(), vec![1.0; 64]));
        }
    });
}

#[test]
fn a_rule_may_call_its_own_function() {
    // The derivative of exp is exp.
    fn exponential(x: &Array) -> Array {
        custom_jvp(|x: &Array| x.exp()).defjvp(|x, dx| {
            let y = exponential_by_value(x);
            (y.clone(), y * dx)
        })(x)
    }
    fn exponential_by_value(x: &Array) -> Array {
        x.exp()
    }
    let x = scalar(1.0, F32);
    let e = floats(&x.exp());
    assert_eq!(floats(&grad(grad(exponential))(&x)), e);
    // A rule that calls the function with the rule again.
    static RULE: std::sync::OnceLock<Unary> = std::sync::OnceLock::new();
    let scale = array(&[2.0f32]);
    let own = RULE.get_or_init(|| {
        let f = custom_jvp(move |x: &Array| x.exp() * scale.i(0)).defjvp(|x, dx| {
            let y = RULE.get().map_or_else(|| x.clone(), |f| f(x));
            (y.clone(), y * dx)
        });
        Box::new(move |x| f(x))
    });
    let third = grad(grad(grad(|x: &Array| own(x))));
    for (a, b) in floats(&third(&x)).into_iter().zip(e) {
        assert!((a - 2.0 * b).abs() < 1e-5, "{a} {b}");
    }
    assert_eq!(floats(&vmap(grad(|x: &Array| own(x)))(&zeros([2], F32))), [2.0, 2.0]);
}

#[test]
fn captured_arrays_are_constants_of_a_rule() {
    let scale = array(&[2.0f32, 3.0]);
    let f = custom_vjp(|x: &Array| x * &scale).defvjp(|x| (x * &scale, ()), |(), ct| ct * &scale * 100.0);
    let x = array(&[1.0f32, 1.0]);
    assert_eq!(floats(&grad(|x: &Array| f(x).sum(..))(&x)), [200.0, 300.0]);
    // An array of the program around the call.
    let program = jit(|x: &Array, s: &Array| {
        let s = s * 2.0;
        let f = custom_jvp(|x: &Array| x * &s).defjvp(|x, dx| (x * &s, dx * &s * 100.0));
        grad(|x: &Array| f(x).sum(..))(x)
    });
    assert_eq!(floats(&program(&x, &scale).unwrap()), [400.0, 600.0]);
    // What is differentiated cannot be captured.
    let wrong =
        jit(|s: &Array| grad(|s: &Array| custom_jvp(|x: &Array| x * s).defjvp(|x, dx| (x * s, dx * s))(&x).sum(..))(s));
    let wrong = wrong(&scale).unwrap_err();
    assert_eq!(found(&wrong)[0].0, "custom-captured");
    let stopped = grad(|s: &Array| {
        let t = s.stop_gradient();
        custom_jvp(|x: &Array| x * &t).defjvp(|x, dx| (x * &t, dx * &t))(s).sum(..)
    });
    assert_eq!(floats(&stopped(&scale)), [2.0, 3.0]);
}

#[test]
fn integers_in_rules_are_float0() {
    let f = custom_vjp(|x: &Array, i: &Array| (x.i(i), i + 1)).defvjp(
        |(x, i)| ((x.i(i), i + 1), (x.clone(), i.clone())),
        |(x, i), (ct, di)| {
            assert!(di.is_float0());
            (zeros_like(x).at(i).add(ct * 10.0), float0(i.shape()))
        },
    );
    let (x, i) = (array(&[1.0f32, 2.0, 3.0]), array(&[2i32, 2, 0]));
    let gradient = grad(|x: &Array| f(x, &i).0.sum(..));
    assert_eq!(floats(&gradient(&x)), [10.0, 0.0, 20.0]);
    let g = custom_jvp(|x: &Array, i: &Array| (x.i(i), i + 1)).defjvp(|(x, i), (dx, di)| {
        assert!(di.is_float0());
        ((x.i(i), i + 1), (dx.i(i) * 10.0, float0(i.shape())))
    });
    let gradient = grad(|x: &Array| g(x, &i).0.sum(..));
    assert_eq!(floats(&gradient(&x)), [10.0, 0.0, 20.0]);
}

#[test]
fn rules_are_printed_and_parsed() {
    for (f, name) in
        [(Box::new(marked_jvp()) as Binary, "shardwise.custom_jvp"), (Box::new(marked_vjp()), "shardwise.custom_vjp")]
    {
        let x = Array::of_type([2], F32);
        let text = jit(|x: &Array, y: &Array| f(x, y)).lower((&x, &x)).unwrap().as_text();
        assert!(text.contains(name), "{text}");
        let program = Program::parse(&text).unwrap();
        let out = program.compile().unwrap().call(&[array(&[3.0f32, 1.0]), array(&[2.0f32, 5.0])]).unwrap();
        assert_eq!(floats(&out[0]), [18.0, 5.0]);
        let broken = text.replace("args = 2", "args = 1");
        let wrong = Program::parse(&broken).and_then(|p| p.compile().map(|_| ())).unwrap_err();
        assert!(found(&wrong)[0].1.contains("must take"), "{wrong}");
    }
}

#[test]
fn wrong_rules_name_each_leaf() {
    let x = (array(&[1.0f32, 2.0]), scalar(1.0, F32));
    let f = |bwd: fn(&Array) -> (Array, Array)| {
        custom_vjp(|p: &(Array, Array)| &p.0 * &p.1).defvjp(|p| (&p.0 * &p.1, ()), move |(), ct| bwd(ct))
    };
    let called = |bwd: fn(&Array) -> (Array, Array)| {
        let f = f(bwd);
        jit(|p: &(Array, Array)| grad(|p: &(Array, Array)| f(p).sum(..))(p))(&x).unwrap_err()
    };
    let wrong = called(|ct| (ct.sum(..), ct.astype(BF16)));
    let (code, text) = &found(&wrong)[0];
    assert_eq!(code, "transform-types");
    for part in ["cotangent of arg.0: f32[]", "cotangent of arg.1: bf16[2]", "custom.rs"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Trees of other forms.
    let f = custom_vjp(|p: &Vec<Array>| &p[0] * &p[1]).defvjp(|p| (&p[0] * &p[1], ()), |(), ct| vec![ct.clone()]);
    let wrong = jit(|p: &Vec<Array>| grad(|p: &Vec<Array>| f(p))(p))(&vec![scalar(1.0, F32); 2]).unwrap_err();
    assert_eq!(found(&wrong)[0].0, "tree-form");
    // Results and tangents of a rule for forward mode.
    let f = custom_jvp(|x: &Array| x * 2.0).defjvp(|x, dx| (x.sum(..), dx * 2.0));
    let wrong = jit(|x: &Array| f(x))(&x.0).unwrap_err();
    assert!(found(&wrong)[0].1.contains("result: f32[]"), "{wrong}");
    let f = custom_jvp(|x: &Array| x * 2.0).defjvp(|x, dx| (x * 2.0, dx.sum(..)));
    let wrong = jit(|x: &Array| f(x))(&x.0).unwrap_err();
    assert!(found(&wrong)[0].1.contains("tangent: f32[]"), "{wrong}");
}

#[test]
fn kernels_have_batches_and_derivatives() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    // Adds a bias to each row, and counts its calls.
    let rows = Kernel::new(
        |x, _| Ok(vec![x[0].clone()]),
        |call| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            let [x, b] = [0, 1].map(|i| call.operands[i].to_dense());
            let mut out = x.as_slice::<f32>().to_vec();
            let width = b.shape()[0];
            out.iter_mut().enumerate().for_each(|(i, v)| *v += b.as_slice::<f32>()[i % width]);
            Ok(vec![Literal::new(x.shape(), &out)])
        },
    );
    kernel::register("it.add_rows", rows.with_rule("([i, j], [j])->([i, j]) need_replication={j}")).unwrap();
    let add = |x: &Array, b: &Array| kernel::call("it.add_rows", &[x, b]).remove(0);
    let (x, b) = (arange(0..24, F32).reshape([3, 4, 2]), array(&[100.0f32, 200.0]));
    let before = CALLS.load(Ordering::Relaxed);
    let batch = vmap(add).in_axes((0, None))(&x, &b);
    assert_eq!(floats(&batch), floats(&(&x + &b)));
    assert_eq!(CALLS.load(Ordering::Relaxed) - before, 1, "a batch is one call");
    let transposed = vmap(add).in_axes((2, None)).out_axes(2)(&arange(0..24, F32).reshape([4, 2, 3]), &b);
    assert_eq!(floats(&transposed.i(0)), [100.0, 101.0, 102.0, 203.0, 204.0, 205.0]);
    // A bias of its own for each index cannot be merged with the rows.
    let e = jit(|x: &Array, b: &Array| vmap(add)(x, b))(&x, &ones([3, 2], F32)).unwrap_err();
    assert_eq!(found(&e)[0].0, "no-batch");
    assert!(found(&e)[0].1.contains("`it.add_rows`") && found(&e)[0].1.contains("batched_by"), "{e}");
    // Its derivative is that of the function around it.
    let e = jit(|x: &Array| grad(|x: &Array| add(x, &b).sum(..))(x))(&x.i(0)).unwrap_err();
    assert_eq!(found(&e)[0].0, "no-derivative");
    assert!(found(&e)[0].1.contains("`it.add_rows`") && found(&e)[0].1.contains("help"), "{e}");
    let own = custom_vjp(add).defvjp(move |(x, b)| (add(x, b), ()), |(), ct| (ct.clone(), ct.sum(0)));
    let loss = |x: &Array, b: &Array| (vmap(&own).in_axes((0, None))(x, b) * 2.0).sum(..);
    let (dx, db) = grad(loss).argnums((Nth::<0>, Nth::<1>))(&x, &b);
    assert_eq!((floats(&dx), floats(&db)), (vec![2.0; 24], vec![24.0, 24.0]));
    // A kernel that names another one for its batch.
    let last = |batch: bool| {
        Kernel::new(
            move |x, _| {
                let rank = x[0].rank();
                Ok(vec![kernel::TensorType::new(x[0].dtype, &x[0].shape[..rank - 1])])
            },
            move |call| {
                let x = call.operands[0].to_dense();
                let width = *x.shape().last().unwrap();
                let out: Vec<f32> = x.as_slice::<f32>().chunks(width).map(|r| r.iter().product()).collect();
                assert_eq!(batch, x.shape().len() == 2);
                Ok(vec![Literal::new(&x.shape()[..x.shape().len() - 1], &out)])
            },
        )
    };
    kernel::register("it.product", last(false).batched_by("it.products")).unwrap();
    kernel::register("it.products", last(true)).unwrap();
    let product = |x: &Array| kernel::call("it.product", &[x]).remove(0);
    assert_eq!(floats(&vmap(product)(&array(&[[1.0f32, 2.0], [3.0, 4.0]]))), [2.0, 12.0]);
    let e = jit(|x: &Array| kernel::call("it.unknown", &[x]).remove(0))(&b).unwrap_err();
    assert_eq!(found(&e)[0].0, "kernel-unknown");
    let (value, _) = value_and_grad(|x: &Array| x.sum(..))(&b);
    assert_eq!(floats(&value), [300.0]);
}

/// Tests a sum over devices with a derivative of its own, as Megatron's layers have it, against the sum itself: its
/// replicated result has one cotangent for all devices.
#[test]
fn a_replicated_result_in_per_device_code_has_one_cotangent() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    with_mesh(&mesh, || {
        let (x, s) = (array(&[1.0f32, 2.0, 3.0, 4.0]), scalar(2.0, F32));
        let own = custom_vjp(|x: &Array| x.psum("X"));
        let own = own.defvjp(|x| (x.psum("X"), ()), |_, ct| ct.pcast("X", Pcast::Varying));
        let of_sum = |x: &Array, s: &Array| x.sum(..).psum("X") * s * s;
        let of_own = move |x: &Array, s: &Array| own(&x.sum(..)) * s * s;
        for f in [Box::new(of_sum) as Binary, Box::new(of_own)] {
            let mapped = shard_map(|x: &Array, s: &Array| f(x, s)).in_specs((P!("X"), P!())).out_specs(P!());
            let (dx, ds) = grad(|x: &Array, s: &Array| mapped(x, s)).argnums((Nth::<0>, Nth::<1>))(&x, &s);
            assert_eq!((floats(&dx), floats(&ds)), (vec![4.0; 4], vec![40.0]));
            let inside =
                |x: &Array, s: &Array| grad(|x: &Array, s: &Array| f(x, s)).argnums((Nth::<0>, Nth::<1>))(x, s);
            let inside = shard_map(inside).in_specs((P!("X"), P!())).out_specs((P!("X"), P!()));
            let (dx, ds) = inside(&x, &s);
            assert_eq!((floats(&dx), floats(&ds)), (vec![4.0; 4], vec![40.0]));
        }
    });
}

/// Tests that the cotangent of an argument that a batch does not map, which the batch adds up, is added up over the
/// devices too.
#[test]
fn a_batch_in_per_device_code_adds_up_cotangents_over_devices() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    with_mesh(&mesh, || {
        let (x, s) = (arange(0..8, F32), scalar(2.0, F32));
        for f in [Box::new(|x: &Array, s: &Array| x * x * s) as Binary, Box::new(marked_jvp()), Box::new(marked_vjp())]
        {
            let batch = |x: &Array, s: &Array| vmap(|x: &Array, s: &Array| f(x, s)).in_axes((0, None))(x, s);
            let mapped = shard_map(batch).in_specs((P!("X"), P!())).out_specs(P!("X"));
            let ds = grad(|x: &Array, s: &Array| mapped(x, s).sum(..)).argnums(Nth::<1>)(&x, &s);
            assert_eq!(floats(&ds), [140.0]);
        }
    });
}

/// Checks rules that pass tangents through a loop, a function that is computed again, and a function with a rule.
#[test]
fn rules_may_pass_tangents_through_other_functions() {
    let x = array(&[1.0f32, 2.0, 4.0]);
    let doubled = |x: &Array| custom_jvp(|x: &Array| x * 2.0).defjvp(|x, dx| (x * 2.0, dx * 2.0))(x);
    type Linear = fn(&Array) -> Array;
    let rules: [Linear; 3] = [
        |dx| scan(zeros([], F32), dx.clone(), |c: Array, x: Array| (&c + &x, &c + &x)).1,
        |dx| checkpoint(|x: &Array| x.cumsum(0))(dx),
        |dx| custom_jvp(|x: &Array| x.cumsum(0)).defjvp(|x, dx| (x.cumsum(0), dx.cumsum(0)))(dx),
    ];
    for rule in rules {
        let f = custom_jvp(|x: &Array| x.cumsum(0)).defjvp(move |x, dx| (x.cumsum(0), rule(dx)));
        let g = grad(|x: &Array| (f(x).square() + doubled(x)).sum(..));
        let expected = grad(|x: &Array| (x.cumsum(0).square() + x * 2.0).sum(..));
        assert_eq!(g(&x).to_vec::<f32>().unwrap(), expected(&x).to_vec::<f32>().unwrap());
    }
}

#[test]
fn rules_that_are_not_linear_have_no_gradient() {
    let f = custom_jvp(|x: &Array| x * 2.0).defjvp(|x, dx| (x * 2.0, dx.relu()));
    let wrong = jit(|x: &Array| grad(|x: &Array| f(x).sum(..))(x))(&array(&[1.0f32])).unwrap_err();
    let (code, text) = &found(&wrong)[0];
    assert_eq!(code, "no-transpose");
    assert!(text.contains("not linear in tangents") && text.contains("custom.rs"), "{text}");
}
