//! Scans that are not plain `scan`: reversed, without arrays, mapped, and associative.

use shardwise::prelude::*;
use shardwise::{grad, vmap};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn code<T>(f: impl Fn() -> T + Send + Sync) -> String {
    let found = jit(|_: &Array| {
        f();
        scalar(0, I32)
    })
    .lower(&scalar(0, I32))
    .map(|_| ());
    found.expect_err("a mistake").diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn reversed_scans_begin_with_the_last_element() {
    let step = |c: Array, (x, y): (Array, Array)| (&c * 2 + &x, (&c + y, x));
    let xs = (array(&[1, 2, 3]), array(&[10, 20, 30]));
    let (carry, (a, b)) = scan_reversed(scalar(1, I32), xs, step);
    // 1 -> 2 + 3 = 5 -> 10 + 2 = 12 -> 24 + 1 = 25
    assert_eq!(carry.item::<i32>().unwrap(), 25);
    assert_eq!(a.to_vec::<i32>().unwrap(), [12 + 10, 5 + 20, 1 + 30]);
    assert_eq!(b.to_vec::<i32>().unwrap(), [1, 2, 3]);
    let (carry, ys) = scan_reversed(scalar(5, I32), zeros([0, 2], I32), |c, x| (c, x));
    assert_eq!((carry.item::<i32>().unwrap(), ys.ty().to_string()), (5, "i32[0,2]".into()));
    assert_eq!(code(|| scan_reversed(scalar(0, I32), (), |c, ()| (c, ()))), "scan-length");
}

#[test]
fn a_reversed_scan_is_a_scan_of_flipped_arrays() {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    let x = (arange(0..32, F32) * 0.3).sin().reshape([8, 4]);
    let step = |c: Array, x: Array| ((&c * 0.5 + &x).tanh(), c * x);
    let reversed = |x: &Array| scan_reversed(ones([4], F32), x.clone(), step);
    let flipped = |x: &Array| {
        let (carry, ys) = scan(ones([4], F32), x.flip(0), step);
        (carry, ys.flip(0))
    };
    let (a, b) = (reversed(&x), flipped(&x));
    assert_equal(&a.0, &b.0);
    assert_equal(&a.1, &b.1);
    let sum = |(c, ys): (Array, Array)| c.sum(..) + ys.square().sum(..);
    assert_close(&grad(|x: &Array| sum(reversed(x)))(&x), &grad(|x: &Array| sum(flipped(x)))(&x));
    for spec in [P!("X"), P!(None, "Y"), P!("Y", "X")] {
        let out = jit(|x: &Array| reversed(x))(&x.shard(mesh.sharding(spec))).unwrap();
        assert_close(&out.1, &b.1);
    }
    let batch = stack([&x, &(&x * 2.0)], 0);
    assert_close(&vmap(|x: &Array| reversed(x).1)(&batch).i(1), &reversed(&(&x * 2.0)).1);
}

#[test]
fn scans_without_arrays_count() {
    let (carry, (steps, carries)) = scan_n(scalar(0, I32), 4, |c, i| (&c + &i, (i, c)));
    assert_eq!(carry.item::<i32>().unwrap(), 6);
    assert_eq!(steps.to_vec::<i32>().unwrap(), [0, 1, 2, 3]);
    assert_eq!(carries.to_vec::<i32>().unwrap(), [0, 0, 1, 3]);
    let (_, none) = scan_n(scalar(0, I32), 0, |c, i| (c, i));
    assert_eq!(none.ty().to_string(), "i32[0]");
    let power = grad(|x: &Array| scan_n(scalar(1.0, F32), 3, |c, _| (c * x, ())).0);
    assert_eq!(power(&scalar(2.0, F32)).item::<f32>().unwrap(), 12.0);
    assert_eq!(code(|| scan_n(scalar(0, I32), usize::MAX, |c, _| (c, ()))), "too-large");
    assert_eq!(code(|| scan_n(scalar(0, I32), 2, |c, _| (c.astype(F32), ()))), "carry");
}

#[test]
fn functions_are_mapped_over_elements() {
    let x = array(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(map(x.clone(), |r| r.sum(0)).to_vec::<f32>().unwrap(), [3.0, 7.0, 11.0]);
    let (a, b) = map((x.clone(), array(&[1, 2, 3])), |(r, n)| (r * n.astype(F32), n));
    assert_eq!((a.ty().to_string(), b.to_vec::<i32>().unwrap()), ("f32[3,2]".into(), vec![1, 2, 3]));
    let slope = grad(|x: &Array| map(x.clone(), |r| r.prod(0)).sum(..))(&x);
    assert_eq!(slope.to_vec2::<f32>().unwrap(), [[2.0, 1.0], [4.0, 3.0], [6.0, 5.0]]);
    assert_eq!(map(zeros([0, 2], F32), |r| r.sum(0)).ty().to_string(), "f32[0]");
    assert_eq!(code(|| map(scalar(1, I32), |x| x)), "scan-length");
}

#[test]
fn associative_scans_of_every_length() {
    for n in 0..20 {
        let x = arange(0..n, I32) * 7 % 5;
        assert_equal(&associative_scan(|a, b| a + b, x.clone(), 0), &x.cumsum(0));
        assert_equal(&associative_scan(|a, b| a.maximum(b), x.clone(), -1), &x.cummax(0));
        // The order of the operands: each keeps its left one.
        assert_equal(&associative_scan(|a, _| a, x.clone(), 0), &(zeros_like(&x) + x.i(..n.min(1)).sum(0)));
        assert_equal(&associative_scan(|_, b| b, x.clone(), 0), &x);
        assert_equal(&associative_scan_reversed(|a, b| a + b, x.clone(), 0), &x.flip(0).cumsum(0).flip(0));
        assert_equal(
            &associative_scan_reversed(|a, _| a, x.clone(), 0),
            &(zeros_like(&x) + x.i(n.max(1) - 1..).sum(0)),
        );
    }
    let x = (arange(0..24, F32) * 0.7).sin().reshape([2, 3, 4]);
    for dim in 0..3 {
        assert_close(&associative_scan(|a, b| a * b, x.clone(), dim), &x.cumprod(dim));
    }
}

#[test]
fn associative_scans_have_derivatives_batches_and_layouts() {
    let x = (arange(0..32, F32) * 0.7).sin().reshape([8, 4]) + 1.5;
    let products = |x: &Array| associative_scan(|a, b| a * b, x.clone(), 0);
    let slope = |f: &dyn Fn(&Array) -> Array| f(&x);
    let own = grad(|x: &Array| products(x).sin().sum(..));
    let other = grad(|x: &Array| x.cumprod(0).sin().sum(..));
    assert_close(&slope(&|x| own(x)), &slope(&|x| other(x)));
    let batch = stack([&x, &(&x * 0.5)], 0);
    assert_close(&vmap(products)(&batch), &batch.cumprod(1));
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    for spec in [P!("X"), P!(None, "X"), P!("Y", "X")] {
        assert_close(&jit(products)(&x.shard(mesh.sharding(spec))).unwrap(), &x.cumprod(0));
    }
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    let columns = x.shard(mesh.sharding(P!(None, "X")));
    let out = with_mesh(&mesh, || jit(products)(&columns)).unwrap();
    assert_eq!(out.ty().to_string(), "f32[8,4@X]");
    assert_close(&out, &x.cumprod(0));
    let rows = x.shard(mesh.sharding(P!("X")));
    assert_close(&with_mesh(&mesh, || jit(products)(&rows)).unwrap(), &x.cumprod(0));
    let on_devices = shard_map(products).mesh(&mesh).in_specs(P!(None, "X")).out_specs(P!(None, "X"));
    assert_close(&on_devices(&columns), &x.cumprod(0));
}

#[test]
fn mistakes_of_associative_scans() {
    let x = || arange(0..4, I32);
    assert_eq!(code(|| associative_scan(|a, _| a, x(), 1)), "dimension");
    assert_eq!(code(|| associative_scan(|a, _| a, (x(), zeros([3], I32)), 0)), "scan-length");
    assert_eq!(code(|| associative_scan(|(), ()| (), (), 0)), "scan-length");
    assert_eq!(code(|| associative_scan(|a: Array, _| a.astype(F32), x(), 0)), "combined-type");
    assert_eq!(code(|| associative_scan(|a: Vec<Array>, b| [a, b].concat(), vec![x()], 0)), "tree-form");
    let eager = || associative_scan_reversed(|a: Array, _| a.sum(0), x(), 0).check().map(|_| ());
    let text = match catch_unwind(AssertUnwindSafe(eager)) {
        Ok(result) => result.expect_err("a mistake").to_string(),
        Err(panic) => panic.downcast_ref::<String>().expect("a text").clone(),
    };
    assert!(
        text.contains("error[combined-type]: `associative_scan_reversed`: the function changes the type"),
        "{text}"
    );
    assert!(text.contains("`array` is i32[2] before and i32[] after"), "{text}");
}
