//! Functions whose values are computed again in reverse mode.

use crate::transform::{floats, ramp};
use shardwise::prelude::*;
use shardwise::{CheckpointPolicy, checkpoint, checkpoint_name, grad, vmap};

fn layer(h: &Array, w: &Array) -> Array {
    checkpoint_name(&h.matmul(w).sin(), "angle").tanh() * h
}

fn policies() -> [CheckpointPolicy; 6] {
    let names = CheckpointPolicy::names(["angle"]);
    let both = CheckpointPolicy::DotsWithNoBatchDims.or(CheckpointPolicy::other_names(["angle"]));
    let all_but = CheckpointPolicy::all_but(["angle"]);
    [CheckpointPolicy::Nothing, CheckpointPolicy::Everything, CheckpointPolicy::Dots, names, both, all_but]
}

fn network(w: &Array, x: &Array, policy: Option<CheckpointPolicy>) -> Array {
    let again = policy.map(|p| checkpoint(layer).policy(p));
    let (h, _) = scan(x.clone(), w.clone(), |h: Array, w: Array| {
        let h = match &again {
            Some(layer) => layer(&h, &w),
            None => layer(&h, &w),
        };
        (h, ())
    });
    h.square().sum(..)
}

#[test]
fn gradients_and_batches_are_those_without() {
    let (w, x) = (ramp(&[3, 4, 4], 0.8), ramp(&[2, 4], 1.0));
    let expected = floats(&grad(|w: &Array| network(w, &x, None))(&w));
    let xs = ramp(&[5, 2, 4], 1.0);
    let each = |policy: Option<CheckpointPolicy>| {
        floats(&grad(|w: &Array| vmap(|x: &Array| network(w, x, policy.clone()))(&xs).sum(..))(&w))
    };
    let of_batch = each(None);
    for policy in policies() {
        assert_eq!(floats(&grad(|w: &Array| network(w, &x, Some(policy.clone())))(&w)), expected, "{policy:?}");
        assert_eq!(each(Some(policy.clone())), of_batch, "{policy:?}");
    }
}

#[test]
fn layouts_and_per_device_code() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    let (w, x) = (ramp(&[3, 4, 4], 0.8).shard(P!()), ramp(&[8, 4], 1.0).shard(P!("X")));
    let expected = floats(&grad(|w: &Array| network(w, &x, None))(&w));
    for policy in policies() {
        let found = grad(|w: &Array| network(w, &x, Some(policy.clone())))(&w);
        assert_eq!(floats(&found), expected, "{policy:?}");
        let manual = |w: &Array| {
            let step = |w: &Array, x: &Array| network(w, x, Some(policy.clone())).psum("X");
            shard_map(step).in_specs((P!(), P!("X"))).out_specs(P!())(w, &x)
        };
        let found = floats(&grad(manual)(&w));
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        assert!(found.iter().zip(&expected).all(close), "{policy:?}\n{found:?}\n{expected:?}");
    }
}

#[test]
fn memory_falls_by_what_is_not_kept() {
    let (w, x) = (ramp(&[8, 64, 64], 0.1), ramp(&[256, 64], 1.0));
    let peak = |policy: Option<CheckpointPolicy>| {
        let program = jit(|w: &Array, x: &Array| grad(|w: &Array| network(w, x, policy.clone()))(w));
        program.lower((&w, &x)).unwrap().compile().unwrap().memory().peak_bytes
    };
    let value = 256 * 64 * 4;
    let [plain, nothing, dots] =
        [None, Some(CheckpointPolicy::Nothing), Some(CheckpointPolicy::Dots)].map(peak).map(|bytes| bytes as i64);
    // Each turn keeps the layer's argument. With `Dots`, it keeps the product as well.
    let kept = (dots - nothing) as f64 / (8 * value) as f64;
    assert!((0.9..=1.1).contains(&kept), "{plain} {nothing} {dots}");
    assert!(plain - nothing >= 2 * 8 * value, "{plain} {nothing} {dots}");
}

/// Returns a scalar from layers in a loop that also returns a value of each turn, and has a loop and a branch inside.
fn turns(w: &Array, x: &Array) -> Array {
    let (h, ys) = scan(x.clone(), w.clone(), |h: Array, w: Array| {
        let h = layer(&h, &w);
        let (inner, ()) = scan(h.clone(), stack([&w, &(&w * 0.5)], 0), |h: Array, w: Array| (layer(&h, &w).sin(), ()));
        let b = checkpoint_name(&inner.cos(), "other");
        let y = cond(b.sum(..).gt(0.0), || b.sin() * &h, || b.exp());
        (b.tanh(), y)
    });
    (h * ys.sum(0)).sum(..)
}

#[test]
fn a_loop_that_is_computed_again() {
    let (w, x) = (ramp(&[3, 4, 4], 0.8), ramp(&[2, 4], 1.0));
    let close = |found: &[f32], expected: &[f32]| {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs()))
    };
    let plain = |w: &Array, x: &Array| network(w, x, None);
    for f in [turns, plain] {
        let expected = floats(&grad(|w: &Array| f(w, &x))(&w));
        let twice = |f: &(dyn Fn(&Array) -> Array + Sync)| floats(&shardwise::jvp(|w: &Array| f(w), &w, &w.cos()).1);
        let second = twice(&|w| grad(|w: &Array| f(w, &x))(w));
        for policy in policies() {
            let again = checkpoint(f).policy(policy.clone());
            let found = floats(&grad(|w: &Array| again(w, &x))(&w));
            assert!(close(&found, &expected), "{policy:?}\n{found:?}\n{expected:?}");
            let nested = checkpoint(|w: &Array, x: &Array| again(w, x).sin());
            let of_sin = floats(&grad(|w: &Array| f(w, &x).sin())(&w));
            assert!(close(&floats(&grad(|w: &Array| nested(w, &x))(&w)), &of_sin), "{policy:?}, nested");
            let found = twice(&|w| grad(|w: &Array| again(w, &x))(w));
            assert!(close(&found, &second), "{policy:?}, second order\n{found:?}\n{second:?}");
        }
    }
}

#[test]
fn a_loop_that_is_computed_again_on_devices() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    let (w, x) = (ramp(&[3, 4, 4], 0.8).shard(P!()), ramp(&[8, 4], 1.0).shard(P!("X")));
    let close = |found: &[f32], expected: &[f32]| {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs()))
    };
    let expected = floats(&grad(|w: &Array| network(w, &x, None))(&w));
    let xs = ramp(&[5, 2, 4], 1.0);
    let of_batch = floats(&grad(|w: &Array| vmap(|x: &Array| network(w, x, None))(&xs).sum(..))(&w));
    for policy in policies() {
        let again = checkpoint(|w: &Array, x: &Array| network(w, x, None)).policy(policy.clone());
        let found = grad(|w: &Array| again(w, &x))(&w);
        assert!(close(&floats(&found), &expected), "{policy:?}\n{found}\n{expected:?}");
        let step = |w: &Array, x: &Array| again(w, x).psum("X");
        let manual = |w: &Array| shard_map(step).in_specs((P!(), P!("X"))).out_specs(P!())(w, &x);
        let found = grad(manual)(&w);
        assert!(close(&floats(&found), &expected), "{policy:?} in per-device code\n{found}\n{expected:?}");
        let found = grad(|w: &Array| vmap(|x: &Array| again(w, x))(&xs).sum(..))(&w);
        assert!(close(&floats(&found), &of_batch), "{policy:?} in a batch\n{found}\n{of_batch:?}");
    }
}

#[test]
fn kept_products_of_a_loop_are_computed_once() {
    let (w, x) = (ramp(&[8, 64, 64], 0.1), ramp(&[256, 64], 1.0));
    let products = |policy: CheckpointPolicy| {
        let again = checkpoint(|w: &Array, x: &Array| network(w, x, None)).policy(policy);
        let program = jit(|w: &Array, x: &Array| grad(|w: &Array| again(w, x))(w));
        let compiled = program.lower((&w, &x)).unwrap().compile().unwrap();
        compiled.as_text().matches("stablehlo.dot_general").count()
    };
    // One product forward, two for its cotangents, and the one that is computed again.
    assert_eq!([CheckpointPolicy::Nothing, CheckpointPolicy::Dots].map(products), [4, 3]);
}

#[test]
fn a_name_is_given_to_values_and_to_mistakes() {
    let named = |x: &Array| checkpoint_name(x, "a");
    assert_eq!(floats(&named(&ones([2], F32))), [1.0, 1.0]);
    let wrong = |x: &Array| named(&(x + ones([3], F32)));
    let errors = [wrong(&ones([2], F32)).check().err(), jit(wrong)(&ones([2], F32)).err()];
    for error in errors {
        let error = error.expect("a mistake");
        assert_eq!(error.diagnostics().map(|d| d.code()).collect::<Vec<_>>(), ["broadcast"]);
    }
}
