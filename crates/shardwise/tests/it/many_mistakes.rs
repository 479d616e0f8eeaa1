//! Tests what follows from a mistake: it is reported once, and each op on a wrong array costs the same, however many
//! came before.

use shardwise::prelude::*;

/// The number of layers, for which a cost that grows with each layer would be too high.
const LAYERS: usize = 5_000;

fn layers(mut x: Array) -> Array {
    for _ in 0..LAYERS {
        x = &x + x.tanh();
    }
    x
}

/// Functions whose results are mistakes: the first of a known type, and the second of an unknown type.
const WRONG: [fn(&Array) -> Array; 2] = [|x| x.reshape([3, 5]), |x| x + ones([7], F32)];

#[track_caller]
fn assert_one<T>(result: Result<T>) {
    let Err(e) = result else { panic!("no mistake was found") };
    assert_eq!(e.diagnostics().count(), 1, "{e}");
}

#[test]
fn eager() {
    for wrong in WRONG {
        let x = layers(wrong(&ones([16], F32)));
        assert_one(x.check());
        assert_one(x.to_vec::<f32>());
        assert_one(jit(|x: &Array| x + 1.0)(&x));
    }
}

#[test]
fn traced() {
    for wrong in WRONG {
        assert_one(jit(|x: &Array| layers(wrong(x))).lower(&ones([16], F32)));
    }
}

#[test]
fn traced_with_layouts_in_types() {
    let mesh = Mesh::explicit([("X", 4)]).unwrap();
    let x = ones([16, 16], F32).shard(mesh.sharding(P!("X")));
    assert_one(jit(|x: &Array| layers(x.reshape([3, 5]))).lower(&x));
    assert_one(
        jit(|x: &Array| layers(x.t().matmul(x.t().shard(P!(None, "X"))).matmul(x.t()) + ones([7], F32))).lower(&x),
    );
    assert_one(layers(x.reshape([3, 5])).check());
}

#[test]
fn in_loops_branches_and_per_device_code() {
    let body = |x: Array| layers(x.reshape([3, 5])).reshape([16]);
    let x = ones([16], F32);
    assert_one(jit(|x: &Array| fori_loop(0..4, x.clone(), |_, x| body(x))).lower(&x));
    assert_one(jit(|x: &Array| cond(x.sum(..).gt(0.0), || body(x.clone()), || x.clone())).lower(&x));
    assert_one(jit(|x: &Array| scan(x.clone(), x.clone(), |carry, x| (body(carry), x)).0).lower(&x));
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let mapped = shard_map(|x: &Array| layers(x.reshape([3]))).mesh(&mesh).in_specs(P!("X")).out_specs(P!("X"));
    assert_one(jit(mapped).lower(&x));
}

#[test]
fn a_wrong_operand_with_a_type_is_reported_once() {
    let functions: [fn(&Array) -> Array; 6] = [
        |wrong| select(wrong, ones([2], F32), zeros([2], F32)),
        |wrong| ones([2], F32).i(wrong),
        |wrong| ones([2], F32).i(ds(wrong, 1)),
        |wrong| ones([2], F32).at(wrong).add(1.0),
        |wrong| array(&[1, 2]).at(..).set(wrong),
        |wrong| ones([2], F32).pad([(1, 1)], wrong),
    ];
    let x = ones([2], F32);
    for (i, f) in functions.into_iter().enumerate() {
        let wrong = |x: &Array| f(&(x + ones([2], I32)));
        let errors = [wrong(&x).check().unwrap_err(), jit(wrong).lower(&x).unwrap_err()];
        for e in errors {
            assert!(e.diagnostics().count() == 1 && e.to_string().contains("`add` needs"), "function {i}\n{e}");
        }
    }
}

#[test]
fn arrays_with_different_mistakes_are_joined() {
    let x = ones([16], F32);
    // Every layer adds its own mistake to those before it.
    let count = 1_000;
    let sum = (0..count).fold(x.clone(), |sum, i| &sum + sum.tanh() + x.reshape([i, 3]));
    assert_eq!(sum.check().unwrap_err().diagnostics().count(), count);
    let all: Vec<Array> = (0..count).map(|i| x.reshape([i, 3])).collect();
    let joined = layers(concatenate(&all, 0));
    assert_eq!(joined.check().unwrap_err().diagnostics().count(), count);
    let traced = jit(|x: &Array| (0..count).fold(x.clone(), |sum, i| &sum + sum.tanh() + x.reshape([i, 3])));
    assert_eq!(traced.lower(&x).unwrap_err().diagnostics().count(), count);
}
