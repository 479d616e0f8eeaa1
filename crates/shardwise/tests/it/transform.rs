//! Derivatives and batches of functions: composed with each other, with programs, loops and layouts.

use shardwise::prelude::*;
use shardwise::{grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap};

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec::<f32>().unwrap()
}

#[test]
fn gradients_of_gradients() {
    let cube = |x: &Array| x * x * x;
    let x = scalar(2.0, F32);
    assert_eq!(floats(&grad(cube)(&x)), [12.0]);
    assert_eq!(floats(&grad(grad(cube))(&x)), [12.0]);
    assert_eq!(floats(&grad(grad(grad(cube)))(&x)), [6.0]);
    let program = jit(|x: &Array| grad(grad(cube))(x));
    assert_eq!(floats(&program(&x).unwrap()), [12.0]);
}

#[test]
fn captured_arrays_belong_to_their_own_transform() {
    // d/dx [x * d/dy (x + y)] = 1, and with x * y in place of x + y it is 2 x.
    let f = grad(|x: &Array| x * grad(|y: &Array| x + y)(&scalar(1.0, F32)));
    assert_eq!(floats(&f(&scalar(3.0, F32))), [1.0]);
    let f = grad(|x: &Array| x * grad(|y: &Array| x * y)(&scalar(1.0, F32)));
    assert_eq!(floats(&f(&scalar(3.0, F32))), [6.0]);
    let f = grad(|x: &Array| grad(|y: &Array| grad(|z: &Array| x * y * y * z * z * x)(&(x * y)))(x));
    // d/dx d/dy d/dz (x^2 y^2 z^2) at z = x y, y = x: the inner ones are 2 x^2 y^2 z, with z held at x y.
    let at = f(&scalar(1.5, F32));
    assert!(floats(&at)[0].is_finite());
}

#[test]
fn a_batch_of_gradients_and_a_gradient_of_a_batch() {
    let f = |w: &Array, x: &Array| w.matmul(x).tanh().sum(..);
    let w = array(&[[0.5f32, -1.0], [0.25, 2.0]]);
    let xs = array(&[[1.0f32, 2.0], [0.5, -0.5], [0.0, 1.0]]);
    let each = vmap(grad(|x: &Array| f(&w, x)))(&xs);
    assert_eq!(each.shape().to_vec(), [3, 2]);
    for i in 0..3 {
        assert_eq!(floats(&each.i(i)), floats(&grad(|x: &Array| f(&w, x))(&xs.i(i))));
    }
    let total = grad(|w: &Array| vmap(|x: &Array| f(w, x))(&xs).sum(0))(&w);
    let apart = (0..3).map(|i| grad(|w: &Array| f(w, &xs.i(i)))(&w)).reduce(|a, b| a + b).unwrap();
    for (a, b) in floats(&total).into_iter().zip(floats(&apart)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn jacobians() {
    let f = |x: &Array| x.i(..2).square() * x.i(2);
    let x = array(&[1.0f32, 2.0, 3.0]);
    let expected = [6.0, 0.0, 1.0, 0.0, 12.0, 4.0];
    assert_eq!(floats(&jacfwd(f)(&x)), expected);
    assert_eq!(floats(&jacrev(f)(&x)), expected);
    assert_eq!(floats(&hessian(|x: &Array| f(x).sum(0))(&x)), [6.0, 0.0, 2.0, 0.0, 6.0, 4.0, 2.0, 4.0, 0.0]);
    let (y, dy) = jvp(f, &x, &array(&[1.0f32, 0.0, 1.0]));
    assert_eq!((floats(&y), floats(&dy)), (vec![3.0, 12.0], vec![7.0, 4.0]));
    let (_, dx) = vjp(f, &x, &array(&[1.0f32, 1.0]));
    assert_eq!(floats(&dx), [6.0, 12.0, 5.0]);
}

#[test]
fn through_scan_and_cond() {
    let f = |h: &Array, xs: &Array| {
        let (h, ys) = scan(h.clone(), xs.clone(), |h, x| {
            let h = cond(x.sum(..).gt(0.0), || (&h * &x).tanh(), || &h - &x);
            (h.clone(), h)
        });
        (h + ys.sum(0)).sum(..)
    };
    let h = array(&[0.5f32, 1.0]);
    let xs = array(&[[1.0f32, 2.0], [0.5, -0.75], [0.25, 1.0]]);
    let (value, (dh, dxs)) = value_and_grad(|both: &(Array, Array)| f(&both.0, &both.1))(&(h.clone(), xs.clone()));
    assert_eq!(floats(&value), floats(&f(&h, &xs)));
    let step = 1e-2;
    let along = |d: f32| floats(&f(&(&h + d as f64), &(&xs + d as f64)))[0];
    let difference = (along(step) - along(-step)) / (2.0 * step);
    let total: f32 = floats(&dh).iter().sum::<f32>() + floats(&dxs).iter().sum::<f32>();
    assert!((difference - total).abs() < 1e-2, "{difference} {total}");
}

#[test]
fn a_gradient_has_the_layout_of_its_parameter() {
    let mesh = Mesh::auto([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let w = (arange(0..64, F32).reshape([8, 8]) / 64.0).shard(P!(None, "model"));
        let x = (arange(0..64, F32).reshape([8, 8]) / 32.0).shard(P!("data", None));
        let loss = |w: &Array, x: &Array| x.matmul(w).tanh().mean(..);
        let step = jit(|w: &Array, x: &Array| grad(loss)(w, x)).lower((&w, &x)).unwrap().compile().unwrap();
        let on_mesh = step(&w, &x).unwrap();
        assert_eq!(on_mesh.ty().to_string(), "f32[8,8@model]");
        let whole = |a: &Array| array(&floats(a)).reshape([8, 8]);
        let alone = grad(loss)(&whole(&w), &whole(&x));
        for (a, b) in floats(&on_mesh).into_iter().zip(floats(&alone)) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        // The gradients are summed over the batch, and nothing else moves.
        assert_eq!(step.communication().into_iter().count(), 1, "{}", step.communication());
    });
}

#[test]
fn in_explicit_mode_a_gradient_has_the_type_of_its_parameter() {
    let mesh = Mesh::explicit([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let w = (arange(0..64, F32).reshape([8, 8]) / 64.0).shard(P!(None, "model"));
        let x = (arange(0..64, F32).reshape([8, 8]) / 32.0).shard(P!("data", None));
        let loss = |w: &Array, x: &Array| x.matmul(w).tanh().mean(..);
        let gradient = jit(|w: &Array, x: &Array| grad(loss)(w, x))(&w, &x).unwrap();
        assert_eq!(gradient.ty().to_string(), "f32[8,8@model]");
    });
}

#[test]
fn mistakes_name_what_is_wrong() {
    let code = |e: shardwise::Error| e.diagnostics().next().unwrap().code().to_string();
    let x = array(&[1.0f32, 2.0]);
    assert_eq!(code(jit(|x: &Array| grad(|x: &Array| x * 2.0)(x))(&x).unwrap_err()), "grad-scalar");
    let i = array(&[1i32, 2]);
    assert_eq!(code(jit(|i: &Array| grad(|i: &Array| i.astype(F32).sum(..))(i))(&i).unwrap_err()), "grad-integer");
    let endless = |x: &Array| while_loop(x.clone(), |x| x.lt(10.0), |x| &x * 2.0);
    let s = scalar(1.0, F32);
    let e = jit(|x: &Array| grad(endless)(x))(&s).unwrap_err();
    assert_eq!(code(e), "loop-length");
    assert_eq!(floats(&jvp(endless, &s, &s).1), [16.0]);
    let y = array(&[1.0f32, 2.0, 3.0]);
    let e = jit(|x: &Array, y: &Array| vmap(|x: &Array, y: &Array| x + y)(x, y))(&x, &y).unwrap_err();
    assert_eq!(code(e), "batch-size");
}
