//! Derivatives and batches of per-device code, and inside of it.

use crate::transform::{floats, ramp};
use shardwise::prelude::*;
use shardwise::{checkpoint, collective_matmul, custom_vjp, grad, jvp, value_and_grad, vmap};

fn mesh() -> Mesh {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    mesh
}

fn assert_close(a: &Array, b: &Array) {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (floats(a), floats(b));
    let largest = b.iter().fold(1e-30f32, |m, x| m.max(x.abs()));
    for (x, y) in a.iter().zip(&b) {
        assert!((x - y).abs() <= 2e-6 * largest, "{x} {y}\n{a:?}\n{b:?}");
    }
}

fn network(w: &Array, v: &Array, x: &Array) -> Array {
    (x.matmul(w).tanh().matmul(v)).square()
}

#[test]
fn a_gradient_around_per_device_code() {
    mesh();
    let (w, v, x) = (ramp(&[6, 8], 1.0), ramp(&[8, 3], 0.5), ramp(&[16, 6], 2.0).shard(P!("X")));
    let whole = |w: &Array, v: &Array| network(w, v, &x).sum(..);
    let parallel = |w: &Array, v: &Array| {
        let step = |w: &Array, v: &Array, x: &Array| network(w, v, x).sum(..).psum("X");
        shard_map(step).in_specs((P!(), P!(), P!("X"))).out_specs(P!())(w, v, &x)
    };
    let both = |f: &(dyn Fn(&Array, &Array) -> Array + Sync)| {
        let (value, (dw, dv)) = value_and_grad(|p: &(Array, Array)| f(&p.0, &p.1))(&(w.clone(), v.clone()));
        [value, dw, dv]
    };
    for (a, b) in both(&parallel).iter().zip(both(&whole)) {
        assert_close(a, &b);
    }
    let (_, dy) = jvp(|w: &Array| parallel(w, &v), &w, &ramp(&[6, 8], 0.1));
    let (_, expected) = jvp(|w: &Array| whole(w, &v), &w, &ramp(&[6, 8], 0.1));
    assert_close(&dy, &expected);
}

#[test]
fn gradients_inside_are_summed_over_axes_that_a_value_does_not_vary_over() {
    mesh();
    let (w, v, x) = (ramp(&[6, 8], 1.0), ramp(&[8, 3], 0.5), ramp(&[16, 6], 2.0).shard(P!("X")));
    let step = |w: &Array, v: &Array, x: &Array| {
        let loss = |p: &(Array, Array)| network(&p.0, &p.1, x).sum(..);
        let (value, (dw, dv)) = value_and_grad(loss)(&(w.clone(), v.clone()));
        assert_eq!(value.ty().to_string(), "f32[]{V:X}");
        assert_eq!(dw.ty().to_string(), "f32[6,8]");
        (value.psum("X"), dw, dv)
    };
    let run = jit(|w: &Array, v: &Array, x: &Array| {
        shard_map(step).in_specs((P!(), P!(), P!("X"))).out_specs((P!(), P!(), P!()))(w, v, x)
    });
    let (value, dw, dv) = run(&w, &v, &x).unwrap();
    let whole = value_and_grad(|p: &(Array, Array)| network(&p.0, &p.1, &x).sum(..));
    let (expected, (ew, ev)) = whole(&(w.clone(), v.clone()));
    [(value, expected), (dw, ew), (dv, ev)].iter().for_each(|(a, b)| assert_close(a, b));
    let text = run.lower((&w, &v, &x)).unwrap().as_text();
    assert_eq!(text.matches("stablehlo.all_reduce").count(), 3, "one for each parameter, and the value's\n{text}");
}

#[test]
fn gradients_of_values_that_vary_stay_on_their_device() {
    mesh();
    let (w, x) = (ramp(&[8, 6], 1.0).shard(P!("X")), ramp(&[8, 6], 2.0).shard(P!("X")));
    let step = |w: &Array, x: &Array| {
        let g = grad(|w: &Array| (w * x).square().sum(..))(w);
        assert_eq!(g.ty().to_string(), "f32[2,6]{V:X}");
        g
    };
    let g = shard_map(step).in_specs((P!("X"), P!("X"))).out_specs(P!("X"))(&w, &x);
    assert_close(&g, &grad(|w: &Array| (w * &x).square().sum(..))(&w));
}

#[test]
fn reduced_values_have_unreduced_gradients() {
    mesh();
    let (w, x) = (ramp(&[6], 1.0), ramp(&[16, 6], 2.0).shard(P!("X")));
    let step = |w: &Array, x: &Array| {
        let w = w.pcast("X", Pcast::Reduced);
        let g = grad(|w: &Array| (w * x).square().sum(..))(&w);
        assert_eq!(g.ty().to_string(), "f32[6]{U:X}");
        g.psum("X")
    };
    let run = jit(|w: &Array, x: &Array| shard_map(step).in_specs((P!(), P!("X"))).out_specs(P!())(w, x));
    assert_close(&run(&w, &x).unwrap(), &grad(|w: &Array| (w * &x).square().sum(..))(&w));
    assert_eq!(run.lower((&w, &x)).unwrap().as_text().matches("stablehlo.all_reduce").count(), 1);
}

/// Tests fully sharded data parallelism: each layer's weights are gathered in the loop, and their gradients are
/// reduce-scattered in the transposed loop.
#[test]
fn weights_gathered_in_a_loop() {
    mesh();
    let (w, x) = (ramp(&[3, 8, 8], 0.6).shard(P!(None, "X")), ramp(&[16, 8], 1.0).shard(P!("X")));
    let layers = |w: &Array, x: &Array, gather: bool| {
        let (h, _) = scan(x.clone(), w.clone(), |h: Array, w: Array| {
            let w = if gather { w.all_gather("X", 0) } else { w };
            (h.matmul(&w).tanh(), ())
        });
        h.square().sum(..)
    };
    let parallel = |w: &Array| {
        let step = |w: &Array, x: &Array| layers(w, x, true).psum("X");
        shard_map(step).in_specs((P!(None, "X"), P!("X"))).out_specs(P!())(w, &x)
    };
    assert_close(&grad(parallel)(&w), &grad(|w: &Array| layers(w, &x, false))(&w));
    let text = jit(|w: &Array| grad(parallel)(w)).lower(&w).unwrap().as_text();
    assert_eq!(text.matches("stablehlo.reduce_scatter").count(), 1, "{text}");
}

#[test]
fn gradients_of_collective_matmuls() {
    mesh();
    let (a, b) = (ramp(&[16, 12], 1.0).shard(P!("X")), ramp(&[12, 8], 0.5).shard(P!(None, "X")));
    let parallel = |a: &Array, b: &Array, overlap: collective_matmul::Overlap| {
        let product = |a: &Array, b: &Array| collective_matmul::all_gather("mk,kn->mn", a, b, 'm', "X", overlap);
        shard_map(product).in_specs((P!("X"), P!(None, "X"))).out_specs(P!(None, "X"))(a, b).sin().sum(..)
    };
    let whole = grad(|p: &(Array, Array)| p.0.matmul(&p.1).sin().sum(..))(&(a.clone(), b.clone()));
    for overlap in collective_matmul::Overlap::ALL {
        let (da, db) = grad(|p: &(Array, Array)| parallel(&p.0, &p.1, overlap))(&(a.clone(), b.clone()));
        assert_close(&da, &whole.0);
        assert_close(&db, &whole.1);
    }
}

#[test]
fn batches() {
    mesh();
    let xs = ramp(&[3, 8, 6], 1.0);
    let w = ramp(&[6], 1.0);
    let normalized = |x: &Array| {
        let f = |x: &Array, w: &Array| x * w / x.square().sum(..).psum("X").sqrt();
        shard_map(f).in_specs((P!("X"), P!())).out_specs(P!("X"))(x, &w)
    };
    let together = vmap(normalized)(&xs);
    for i in 0..3 {
        assert_close(&together.i(i), &normalized(&xs.i(i)));
    }
    // The batch is inside.
    let row = |x: &Array| x / x.square().sum(..).psum("X").sqrt();
    let inside = shard_map(|xs: &Array| vmap(row)(xs)).in_specs(P!(None, "X")).out_specs(P!(None, "X"))(&xs);
    let apart = shard_map(row).in_specs(P!("X")).out_specs(P!("X"))(&xs.i(1));
    assert_close(&inside.i(1), &apart);
    let of_gradients = vmap(grad(|x: &Array| normalized(x).sin().sum(..)))(&xs);
    assert_close(&of_gradients.i(2), &grad(|x: &Array| normalized(x).sin().sum(..))(&xs.i(2)));
}

#[test]
fn second_derivatives_and_branches() {
    mesh();
    let x = ramp(&[8], 1.0).shard(P!("X"));
    let f = |x: &Array| {
        let inner = |x: &Array| {
            let total = x.square().sum(..).psum("X");
            let y = cond(total.gt(1.0), || x * &total, || x.sin());
            let z = y.ppermute("X", shift(1)) * x;
            z.sum(..).psum("X")
        };
        shard_map(inner).in_specs(P!("X")).out_specs(P!())(x)
    };
    let whole = |x: &Array| {
        let total = x.square().sum(..);
        let y = cond(total.gt(1.0), || x * &total, || x.sin());
        (y.roll(2, 0) * x).sum(..)
    };
    assert_close(&grad(f)(&x), &grad(whole)(&x));
    let twice = |f: &(dyn Fn(&Array) -> Array + Sync)| grad(|x: &Array| grad(|x: &Array| f(x))(x).sin().sum(..))(&x);
    assert_close(&twice(&f), &twice(&whole));
}

#[test]
fn explicit_mode() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    let (w, x) = (ramp(&[6, 8], 1.0).shard(P!()), ramp(&[16, 6], 2.0).shard(P!("X")));
    let parallel = |w: &Array| {
        let step = |w: &Array, x: &Array| x.matmul(w).tanh().sum(..).psum("X");
        shard_map(step).in_specs((P!(), P!("X"))).out_specs(P!())(w, &x)
    };
    let g = jit(|w: &Array| grad(parallel)(w))(&w).unwrap();
    assert_close(&g, &grad(|w: &Array| x.matmul(w).tanh().sum(..))(&w));
}

#[test]
fn a_mistake_inside_is_reported_once() {
    mesh();
    let x = ramp(&[16, 6], 2.0).shard(P!("X"));
    let step = |x: &Array| x.sum(..).psum(("X", "Y"));
    let wrong = jit(|x: &Array| grad(|x: &Array| shard_map(step).in_specs(P!("X")).out_specs(P!())(x))(x))(&x);
    let text = wrong.unwrap_err().to_string();
    assert!(text.contains("mixed-states"), "{text}");
}

#[test]
fn sums_inside_of_functions_that_are_not_differentiated_stay_replicated() {
    mesh();
    let (w, x) = (ramp(&[6], 1.0), ramp(&[16, 6], 2.0).shard(P!("X")));
    let step = |w: &Array, x: &Array| {
        let norm = checkpoint(|x: &Array| x.square().sum(..).psum("X"));
        let (value, g) = value_and_grad(|w: &Array| (w * norm(x)).sum(..))(w);
        assert_eq!((value.ty().to_string(), g.ty().to_string()), ("f32[]".into(), "f32[6]".into()));
        (value, g)
    };
    let (value, g) = shard_map(step).in_specs((P!(), P!("X"))).out_specs((P!(), P!()))(&w, &x);
    let (expected, e) = value_and_grad(|w: &Array| (w * x.square().sum(..)).sum(..))(&w);
    assert_close(&value, &expected);
    assert_close(&g, &e);
}

/// Checks gradients of a value that does not vary, where it meets one that varies and has no gradient: the results vary,
/// and their tangents do not.
#[test]
fn a_replicated_value_beside_data_has_one_gradient() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let (x, w) = (ramp(&[4, 3], 1.0).shard(mesh.sharding(P!("X"))), ramp(&[3], 0.5));
    type Body = fn(&Array, &Array) -> Array;
    let bodies: [Body; 6] = [
        |x, w| w - x,
        |x, w| (x + w).square(),
        |x, w| (fori_loop(0..3, w.clone(), |_, c: Array| c.tanh()) - x).square(),
        |x, w| x + fori_loop(0..3, zeros([3], F32), |_, c: Array| c + w.psum("X")),
        |x, w| (custom_vjp(|w: &Array| w.sin()).defvjp(|w| (w.sin(), w.clone()), |w, ct| ct * w.cos())(w) + x).square(),
        |x, w| cond(w.sum(..).lt(1e9), || x + w.sin(), || x - w),
    ];
    for (k, body) in bodies.into_iter().enumerate() {
        let on_devices = |w: &Array| {
            let step = |x: &Array, w: &Array| body(&x.i(0), w).expand_dims(0);
            shard_map(step).mesh(&mesh).in_specs((P!("X"), P!())).out_specs(P!("X"))(&x, w)
        };
        let row = |x: &Array, w: &Array| match k {
            3 => x + w * 12.0,
            _ => body(x, w),
        };
        let whole = |w: &Array| stack((0..4).map(|i| row(&x.i(i), w)).collect::<Vec<_>>(), 0);
        let weights = ramp(&[4, 3], 3.0);
        let found = grad(|w: &Array| (on_devices(w) * &weights).sum(..))(&w);
        assert_close(&found, &grad(|w: &Array| (whole(w) * &weights).sum(..))(&w));
    }
}
