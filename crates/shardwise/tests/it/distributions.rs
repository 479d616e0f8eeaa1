//! Tests of distributions that are drawn by rejection. The numbers are those of JAX 0.10.2 on a CPU.

use shardwise::prelude::*;
use shardwise::{grad, jvp, vmap};

fn code(x: &Array) -> String {
    let wrong = x.check().expect_err("a mistake");
    wrong.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

fn close(x: &Array, expected: &[f64]) {
    let x = x.astype(F64).to_vec::<f64>().unwrap_or_else(|e| panic!("{e}"));
    let is_close = |(x, e): (&f64, &f64)| (x - e).abs() <= 1e-5 * e.abs();
    assert!(x.len() == expected.len() && x.iter().zip(expected).all(is_close), "{x:?}, not {expected:?}");
}

#[test]
fn the_numbers_of_jax() {
    let alphas = array(&[0.1f32, 0.5, 1.0, 2.5, 30.0]);
    close(
        &gamma(Key::new(1), &alphas, [5], F32),
        &[9.863318162217638e-09, 0.5580998659133911, 2.1694462299346924, 2.7027130126953125, 39.42860794067383],
    );
    let numbers = [
        1.1408746242523193,
        1.3275864124298096,
        1.0576175451278687,
        7.214148044586182,
        1.32158625125885,
        2.6415016651153564,
    ];
    close(&gamma(Key::new(2), 2.0, [2, 3], F32), &numbers);
    let numbers = [
        0.009357552044093609,
        0.25834202766418457,
        0.05627807602286339,
        0.15047885477542877,
        0.6656448245048523,
        0.025486640632152557,
    ];
    close(&beta(Key::new(3), 0.5, array(&[1.0f32, 2.0, 8.0]), [2, 3], F32), &numbers);
    let numbers = [
        0.01393875665962696,
        0.3156554698944092,
        0.6704057455062866,
        0.030811700969934464,
        0.175648033618927,
        0.7935402989387512,
        7.5367051977082156e-06,
        0.14826908707618713,
        0.8517233729362488,
    ];
    close(&dirichlet(Key::new(4), array(&[0.1f32, 1.0, 5.0]), [3], F32), &numbers);
    close(&gamma(Key::new(8), 0.7, [3], F64), &[3.022691321559437, 0.12651480454873218, 0.46186828114786027]);
    let rates = array(&[0.0f32, 0.5, 3.0, 9.9, 10.0, 50.0, 1000.0]);
    let ints = |x: Array| x.to_vec::<i32>().unwrap();
    assert_eq!(ints(poisson(Key::new(5), rates, [7], I32)), [0, 0, 4, 14, 14, 49, 999]);
    assert_eq!(ints(poisson(Key::new(6), 4.0, [12], I32)), [2, 6, 2, 3, 5, 4, 4, 2, 4, 4, 4, 2]);
    assert_eq!(ints(poisson(Key::new(7), 40, [12], I32)), [43, 47, 25, 52, 39, 40, 46, 31, 47, 41, 38, 46]);
    // In 16 bits a number may be rounded differently, and one place is enough to reject it.
    let small = gamma(Key::new(9), 1.5, [4], BF16);
    assert_eq!(small.ty().to_string(), "bf16[4]");
    assert!(small.gt(0.0).all(..).item::<bool>().unwrap());
}

#[test]
fn numbers_that_are_no_parameters_end() {
    let odd = [0.0f32, -0.5, -1.0, -3.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-30, 1e30];
    assert_eq!(gamma(Key::new(0), array(&odd), [9], F32).to_vec::<f32>().unwrap()[0], 0.0);
    assert_eq!(poisson(Key::new(0), array(&odd), [9], I32).to_vec::<i32>().unwrap()[..5], [0, -1, -1, -1, -1]);
    for shape in [vec![], vec![0, 3], vec![1]] {
        assert_eq!(
            gamma(Key::new(0), 1.0, &shape[..], F32).to_vec::<f32>().unwrap().len(),
            shape.iter().product::<usize>()
        );
        assert_eq!(
            poisson(Key::new(0), 1.0, &shape[..], I64).to_vec::<i64>().unwrap().len(),
            shape.iter().product::<usize>()
        );
    }
}

#[test]
fn batches_programs_and_layouts() {
    let keys = || vmap(|i: &Array| Key::new(0).fold_in(i))(&arange(0..3, I32));
    let alphas = array(&[0.3f32, 1.0, 7.0]);
    let batch = vmap(|key: &Key, a: &Array| gamma(key.reuse(), a, [2], F32))(&keys(), &alphas);
    let one = |i: usize| gamma(Key::new(0).fold_in(i), alphas.i(i), [2], F32);
    assert_close(&batch, &stack([one(0), one(1), one(2)], 0));
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let alpha = linspace(0.5, 8.0, 8, F32);
    let expected = gamma(Key::new(1), &alpha, [8], F32);
    let split = alpha.shard(mesh.sharding(P!("X")));
    assert_close(&jit(|a: &Array| gamma(Key::new(1), a, [8], F32))(&split).unwrap(), &expected);
    let explicit = |level| Mesh::explicit([("X", 2)]).unwrap().communication(level);
    let drawn = |mesh: &Mesh| {
        let split = alpha.shard(mesh.sharding(P!("X")));
        with_mesh(mesh, || jit(|a: &Array| gamma(Key::new(1), a, [8], F32))(&split))
    };
    let out = drawn(&explicit(Communicate::Allow)).unwrap();
    assert_eq!(out.ty().to_string(), "f32[8@X]");
    assert_close(&out, &expected);
    // The devices have to know when all numbers are drawn.
    let denied = drawn(&explicit(Communicate::Deny)).map(drop).unwrap_err();
    assert_eq!(denied.diagnostics().next().unwrap().code(), "communication-denied");
    // Each device draws from its own parameters.
    let own = shard_map(|a: &Array| gamma(Key::new(1), a, [4], F32)).mesh(&mesh).in_specs(P!("X")).out_specs(P!("X"));
    assert_close(&own(&alpha).i(..4), &gamma(Key::new(1), alpha.i(..4), [4], F32));
}

#[test]
fn parameters_have_no_derivative() {
    let sum = |a: &Array| gamma(Key::new(1), a, [2], F32).sum(..);
    let codes = |e: Error| e.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>();
    let alpha = ones([2], F32);
    assert_eq!(jit(|a: &Array| grad(sum)(a))(&alpha).map(drop).map_err(codes), Err(vec!["no-derivative".into()]));
    let forward = jit(|a: &Array| jvp(sum, a, a).1);
    assert_eq!(forward(&alpha).map(drop).map_err(codes), Err(vec!["no-derivative".into()]));
    let stopped = |a: &Array| gamma(Key::new(1), a.stop_gradient(), [2], F32).sum(..) + a.sum(..);
    assert_eq!(grad(stopped)(&alpha).to_vec::<f32>().unwrap(), [1.0, 1.0]);
    let counted = |a: &Array| poisson(Key::new(1), a, [2], I32).astype(F32).sum(..) + a.sum(..);
    assert_eq!(grad(counted)(&alpha).to_vec::<f32>().unwrap(), [1.0, 1.0]);
}

#[test]
fn mistakes() {
    let key = || Key::new(0);
    assert_eq!(code(&gamma(key(), 1.0, [2], I32)), "dtype-kind");
    assert_eq!(code(&gamma(key(), true, [2], F32)), "number-dtype");
    assert_eq!(code(&gamma(key(), ones([2], F64), [2], F32)), "dtype-mixed");
    assert_eq!(code(&beta(key(), 1.0, ones([3], F32), [2], F32)), "broadcast");
    assert_eq!(code(&dirichlet(key(), scalar(1.0, F32), [2], F32)), "dimension");
    assert_eq!(code(&poisson(key(), 1.0, [2], F32)), "dtype-kind");
    assert_eq!(code(&poisson(key(), ones([2], Bool), [2], I32)), "dtype-kind");
    assert_eq!(code(&poisson(key(), 1.0, [1 << 60], I32)), "too-large");
}
