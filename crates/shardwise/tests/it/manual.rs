//! Per-device code: types, collectives, loops, mistakes.

use shardwise::prelude::*;

fn mesh() -> Mesh {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    mesh
}

/// The value of `f` mapped over `x`, as JAX would say it: flat.
fn flat(x: &Array) -> Vec<i32> {
    x.to_vec().unwrap()
}

#[test]
fn the_chapters_first_one() {
    mesh();
    let x = arange(0..512, I32).shard(P!(("X", "Y")));
    let slice_and_average = shard_map(|x: &Array| {
        assert_eq!(x.shape(), [512 / 8]);
        assert_eq!(x.ty().to_string(), "i32[64]{V:(X,Y)}");
        x.i(..4).pmean(("X", "Y"))
    })
    .in_specs(P!(("X", "Y")))
    .out_specs(P!());
    let out = slice_and_average(&x);
    assert_eq!(out.to_vec::<f32>().unwrap(), [224.0, 225.0, 226.0, 227.0]);
    let jitted = jit(slice_and_average);
    assert_eq!(jitted(&x).unwrap().to_vec::<f32>().unwrap(), [224.0, 225.0, 226.0, 227.0]);
    assert!(jitted.lower(&x).unwrap().as_text().contains("sdy.manual_computation"));
}

#[test]
fn captured_arrays_are_whole() {
    mesh();
    let x = arange(0..32, I32).shard(P!("X"));
    let w = arange(0..8, I32).shard(P!("Y"));
    let add = |x: &Array| x + &w;
    let f = shard_map(add).in_specs(P!("X")).out_specs(P!("X"));
    let expected: Vec<i32> = (0..32).map(|i| i + i % 8).collect();
    assert_eq!(flat(&f(&x)), expected);
    let f = jit(|x: &Array| shard_map(|x: &Array| x + &w).in_specs(P!("X")).out_specs(P!("X"))(x));
    assert_eq!(flat(&f(&x).unwrap()), expected);
}

#[test]
fn a_ring_in_a_loop() {
    mesh();
    let x = arange(0..8, I32).shard(P!("X"));
    let sum = |steps: fn(Array) -> Array| {
        shard_map(move |x: &Array| steps(x.clone())).in_specs(P!("X")).out_specs(P!("X"))(&x)
    };
    let expected = [12, 16, 12, 16, 12, 16, 12, 16];
    let plain = |x: Array| {
        let (mut x, mut acc) = (x, zeros([2], I32));
        for _ in 0..4 {
            acc += &x;
            x = x.ppermute("X", shift(-1));
        }
        acc
    };
    assert_eq!(flat(&sum(plain)), expected);
    let scanned = |x: Array| {
        let (acc, x) = fori_loop(0..4, (zeros([2], I32), x), |_, (acc, x)| (acc + &x, x.ppermute("X", shift(-1))));
        assert_eq!(acc.ty().to_string(), "i32[2]{V:X}");
        assert_eq!(x.ty().to_string(), "i32[2]{V:X}");
        acc
    };
    assert_eq!(flat(&sum(scanned)), expected);
    let while_ = |x: Array| {
        let start = (scalar(0, I32), zeros([2], I32), x);
        let (i, acc, _) =
            while_loop(start, |(i, ..)| i.lt(4), |(i, acc, x)| (i + 1, acc + &x, x.ppermute("X", shift(1))));
        assert_eq!(i.ty().to_string(), "i32[]");
        acc
    };
    assert_eq!(flat(&sum(while_)), expected);
}

#[test]
fn what_a_varying_predicate_decides_varies() {
    mesh();
    let f = shard_map(|x: &Array| {
        let me = axis_index("X");
        let chosen = switch(&me, 4, |k| scalar(10 * k, I32));
        assert_eq!(chosen.ty().to_string(), "i32[]{V:X}");
        let counted = while_loop(scalar(0, I32), |i| i.lt(&me), |i| i + 1);
        assert_eq!(counted.ty().to_string(), "i32[]{V:X}");
        let looped = fori_loop(scalar(0, I32)..me.clone(), zeros([1], I32), |_, c| c + 1);
        assert_eq!(looped.ty().to_string(), "i32[1]{V:X}");
        let either = cond(me.lt(2), || ones([1], I32), || zeros([1], I32));
        assert_eq!(either.ty().to_string(), "i32[1]{V:X}");
        x + chosen + counted + looped + either
    })
    .in_specs(P!("X"))
    .out_specs(P!("X"));
    assert_eq!(flat(&f(&zeros([4], I32).shard(P!("X")))), [1, 13, 24, 36]);
}

#[test]
fn partly_manual_and_nested() {
    mesh();
    let x = arange(0..64, I32).reshape([8, 8]).shard(P!("X", "Y"));
    let f = jit(|x: &Array| {
        shard_map(|x: &Array| {
            assert_eq!(format!("{:#}", x.ty()), "i32[2,8]{V:X} on (X=4 Manual, Y=2 Auto)");
            let inner = shard_map(|x: &Array| {
                assert_eq!(x.ty().to_string(), "i32[2,4]{V:(X,Y)}");
                x.psum("Y")
            })
            .in_specs(P!(None, "Y"))
            .out_specs(P!());
            let sum = inner(x);
            assert_eq!(sum.ty().to_string(), "i32[2,4]{V:X}");
            sum.psum("X")
        })
        .axes("X")
        .in_specs(P!("X"))
        .out_specs(P!())(x)
    });
    let out = f(&x).unwrap();
    let expected: Vec<i32> =
        (0..2).flat_map(|i| (0..4).map(move |j| (0..4).map(|k| (2 * k + i) * 16 + 2 * j + 4).sum::<i32>())).collect();
    assert_eq!(flat(&out), expected);
}
