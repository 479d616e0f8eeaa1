//! Tests of per-device code: types, collectives, loops, mistakes.

use shardwise::prelude::*;

fn mesh() -> Mesh {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    set_mesh(&mesh);
    mesh
}

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
fn a_broadcast_keeps_the_sign_of_a_zero() {
    mesh();
    let x = (arange(0..4, F32) * 0.0 - 0.0).shard(P!("X"));
    let broadcast = shard_map(|x: &Array| (-x).pbroadcast("X", 1)).in_specs(P!("X")).out_specs(P!());
    let signs: Vec<bool> = broadcast(&x).to_vec::<f32>().unwrap().iter().map(|x| x.is_sign_negative()).collect();
    assert_eq!(signs, [true]);
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

#[test]
fn futures_are_instructions() {
    mesh();
    let x = arange(0..32, F32).reshape([8, 4]).shard(P!("X"));
    let step = |start: fn(&Array) -> shardwise::Future, plain: fn(&Array) -> Array| {
        let both = shard_map(move |x: &Array| {
            let started = start(x);
            let meanwhile = x * 2;
            let got = started.done();
            let expected = plain(x);
            assert_eq!(got.ty(), expected.ty());
            (got - expected).abs().max(..).pmax(("X", "Y")) + (meanwhile - x * 2).max(..).pmax("X")
        });
        let compiled = jit(both.in_specs(P!("X")).out_specs(P!())).lower(&x).unwrap().compile().unwrap();
        assert!(compiled.as_text().contains("async_start"), "{}", compiled.as_text());
        assert_eq!(compiled(&x).unwrap().item::<f32>().unwrap(), 0.0);
        let names: Vec<String> = profile(|| compiled(&x)).unwrap().into_iter().map(|i| i.name.clone()).collect();
        for name in ["stablehlo.async_start(", "stablehlo.async_done"] {
            assert!(names.iter().any(|n| n.starts_with(name)), "{names:?}");
        }
    };
    step(|x| x.ppermute_start("X", shift(1)), |x| x.ppermute("X", shift(1)));
    step(|x| x.psum_start("X"), |x| x.psum("X"));
    step(|x| x.all_gather_start("X", stacked(1)), |x| x.all_gather("X", stacked(1)));
    step(|x| x.psum_scatter_start("X", 1), |x| x.psum_scatter("X", 1));
    step(|x| x.all_to_all_start("X", 1, 0), |x| x.all_to_all("X", 1, 0));
    step(|x| x.pmean_start("X"), |x| x.pmean("X"));
    step(|x| x.pmax_start("X"), |x| x.pmax("X"));
    step(|x| x.pmin_start("X"), |x| x.pmin("X"));
    step(|x| x.all_gather_replicated_start("X", 0), |x| x.all_gather_replicated("X", 0));
    step(|x| x.all_gather_reduced_start("X", 0), |x| x.all_gather_reduced("X", 0));
    step(|x| x.pshuffle_start("X", [2, 0, 3, 1]), |x| x.pshuffle("X", [2, 0, 3, 1]));
    step(|x| x.pbroadcast_start("X", 2), |x| x.pbroadcast("X", 2));
    // Each device sends a row to each of the first two devices, which keep them in order.
    let exchange = |x: &Array, is_started: bool| {
        let (i, me) = (arange(0..4, I32), axis_index("X"));
        let sizes = Ragged {
            input_offsets: &i.minimum(1),
            send_sizes: &i.lt(2).astype(I32),
            output_offsets: &(zeros([4], I32) + &me),
            recv_sizes: &(zeros([4], I32) + me.lt(2).astype(I32)),
        };
        let into = zeros([4, 4], F32);
        match is_started {
            true => ragged_all_to_all_start(x, into, "X", sizes).done(),
            false => ragged_all_to_all(x, into, "X", sizes),
        }
    };
    let both = shard_map(|x: &Array| (exchange(x, true), exchange(x, false))).in_specs(P!("X")).out_specs(P!("X"));
    let (started, plain) = both(&x);
    assert_equal(&started, &plain);
    assert_eq!(started.i((..4, 0)).to_vec::<f32>().unwrap(), [0.0, 8.0, 16.0, 24.0]);
}

#[test]
fn programs_say_how_values_lie_along_manual_axes() {
    mesh();
    let f = shard_map(|x: &Array| {
        let parts = x.pcast("X", Pcast::Unreduced) * 2;
        fori_loop(0..3, zeros([2, 4], F32), |_, sum| sum + &parts.psum("X"))
    });
    let lowered = jit(f.in_specs(P!("X", "Y")).out_specs(P!(None, "Y"))).lower(&zeros([8, 8], F32)).unwrap();
    let text = lowered.as_text();
    for said in [
        r#"stablehlo.multiply %arg1, %2 {shardwise.manual = ["{V:Y, U:X}"]}"#,
        r#"shardwise.manual = ["{V:Y}"]"#,
        r#"} {shardwise.arg_manual = [["{V:(X,Y)}"]]} : "#,
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert_eq!(Program::parse(&text).unwrap().as_text(), text);
}

#[test]
fn shapes_and_states_of_collectives() {
    mesh();
    let show = |f: fn(&Array) -> Array| {
        let seen = std::sync::Mutex::new(String::new());
        let map = shard_map(|x: &Array| {
            *seen.lock().unwrap() = f(x).ty().to_string();
            x.clone()
        });
        let _ = jit(map.in_specs(P!("X", "Y")).out_specs(P!("X", "Y")))(&zeros([16, 16], F32)).unwrap();
        seen.into_inner().unwrap()
    };
    assert_eq!(show(|x| x.clone()), "f32[4,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.psum("X")), "f32[4,8]{V:Y}");
    assert_eq!(show(|x| x.psum(("Y", "X"))), "f32[4,8]");
    assert_eq!(show(|x| x.pmean("Y")), "f32[4,8]{V:X}");
    assert_eq!(show(|x| x.pmax(("X", "Y"))), "f32[4,8]");
    assert_eq!(show(|x| x.all_gather("X", 0)), "f32[16,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.all_gather(("X", "Y"), 0)), "f32[32,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.all_gather("X", stacked(-1))), "f32[4,8,4]{V:(X,Y)}");
    assert_eq!(show(|x| x.all_gather_replicated("X", 0)), "f32[16,8]{V:Y}");
    assert_eq!(show(|x| x.all_gather_reduced("X", 0)), "f32[16,8]{V:Y, R:X}");
    assert_eq!(show(|x| x.psum_scatter("X", 0)), "f32[1,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.psum_scatter("X", stacked(0))), "f32[8]{V:(X,Y)}");
    assert_eq!(show(|x| x.all_to_all("X", 0, 1)), "f32[1,32]{V:(X,Y)}");
    assert_eq!(show(|x| x.all_to_all("X", stacked(0), stacked(1))), "f32[8,4]{V:(X,Y)}");
    assert_eq!(show(|x| x.ppermute("X", shift(1))), "f32[4,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.pbroadcast("X", 1)), "f32[4,8]{V:Y}");
    assert_eq!(show(|x| x.pcast("X", Pcast::Unreduced)), "f32[4,8]{V:Y, U:X}");
    assert_eq!(show(|x| x.pcast("X", Pcast::Unreduced).psum("X")), "f32[4,8]{V:Y}");
    assert_eq!(show(|x| x.pcast("X", Pcast::Unreduced).psum_scatter("X", 0)), "f32[1,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.pcast("X", Pcast::Unreduced) * x.psum("X")), "f32[4,8]{V:Y, U:X}");
    assert_eq!(show(|x| x.psum(groups("X", [[0, 1], [2, 3]]))), "f32[4,8]{V:(X:(1)2,Y)}");
    assert_eq!(show(|_| axis_index(("X", "Y"))), "i32[]{V:(X,Y)}");
    assert_eq!(show(|_| zeros([2], F32).pcast("X", Pcast::Reduced)), "f32[2]{R:X}");
    assert_eq!(show(|x| zeros([8], F32).pcast("X", Pcast::Reduced) + x), "f32[4,8]{V:(X,Y)}");
    assert_eq!(show(|x| x.eq(0.0).psum("X")), "i32[4,8]{V:Y}");
}

#[test]
fn groups_of_an_axis_and_sums_of_equal_values() {
    mesh();
    let x = arange(0..4, I32).shard(P!("X"));
    let map = |f: fn(&Array) -> Array| flat(&shard_map(move |x: &Array| f(x)).in_specs(P!("X")).out_specs(P!("X"))(&x));
    assert_eq!(map(|x| x.psum(groups("X", [[0, 1], [2, 3]]))), [1, 1, 5, 5]);
    assert_eq!(map(|x| x.psum(groups("X", [[0, 2], [1, 3]]))), [2, 4, 2, 4]);
    assert_eq!(map(|x| ones([1], I32).psum("X") + x), [4, 5, 6, 7]);
    assert_eq!(map(|x| x.pshuffle("X", [3, 2, 1, 0])), [3, 2, 1, 0]);
}

#[test]
fn trees_and_types_without_values() {
    mesh();
    let pair = (arange(0..8, I32), ones([4], F32));
    let f = shard_map(|(a, b): &(Array, Array)| psum(&(a.clone(), b.clone()), "X"))
        .in_specs((P!("X"), P!()))
        .out_specs((P!(), P!()));
    let (a, b) = f(&pair);
    assert_eq!((flat(&a), b.to_vec::<f32>().unwrap()), (vec![12, 16], vec![4.0; 4]));
    let lowered = jit(|x: &Array| shard_map(|x: &Array| x.psum("X")).in_specs(P!("X")).out_specs(P!())(x))
        .lower(&Array::of_type([8], F32))
        .unwrap();
    lowered.communication().unwrap().assert_only(["all-reduce X"]);
}

#[test]
fn explicit_axes() {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap());
    let x = arange(0..64, I32).reshape([8, 8]).shard(P!("X", "Y"));
    // The types contain the specs.
    let double = shard_map(|x: &Array| {
        assert_eq!(x.ty().to_string(), "i32[2,4]{V:(X,Y)}");
        x * 2
    })
    .out_specs(P!("X", "Y"));
    let out = double(&x);
    assert_eq!(out.ty().to_string(), "i32[8@X,8@Y]");
    assert_eq!(flat(&out), (0..64).map(|i| 2 * i).collect::<Vec<i32>>());

    // The layout over the other axis is part of the type inside, too.
    let partly = jit(|x: &Array| {
        let f = shard_map(|x: &Array| {
            assert_eq!(format!("{:#}", x.ty()), "i32[2,8@Y]{V:X} on (X=4 Manual, Y=2 Explicit)");
            let sum = (x + 1).psum("X");
            assert_eq!(sum.ty().to_string(), "i32[2,8@Y]");
            sum
        });
        let out = f.axes("X").in_specs(P!("X")).out_specs(P!())(x);
        assert_eq!(out.ty().to_string(), "i32[2,8@Y]");
        out
    });
    let expected: Vec<i32> = (0..16).map(|i| (0..4).map(|k| 16 * k + i + 1).sum()).collect();
    assert_eq!(flat(&partly(&x).unwrap()), expected);

    let codes =
        |found: Result<Array>| found.unwrap_err().diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>();
    let moved = shard_map(|x: &Array| x.clone()).in_specs(P!("X")).out_specs(P!("X"));
    assert_eq!(codes(jit(moved)(&x)), ["in-spec-layout"]);
    let y = ones([2, 4], I32).shard(P!(None, "Y"));
    let captures = shard_map(|x: &Array| x + &y).in_specs(P!("X", "Y")).out_specs(P!("X", "Y"));
    assert_eq!(codes(jit(captures)(&x)), ["captured-layout"]);
}

#[test]
fn summands_enter_and_leave() {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap());
    let x = arange(0..64, I32).reshape([8, 8]).shard(P!("X", "Y"));
    let f = jit(|x: &Array| {
        let rows = shard_map(|x: &Array| x.sum(1)).in_specs(P!("X", "Y")).out_specs(P!("X").unreduced("Y"))(x);
        assert_eq!(rows.ty().to_string(), "i32[8@X]{U:Y}");
        let sum = |rows: &Array| {
            assert_eq!(rows.ty().to_string(), "i32[2]{V:X, U:Y}");
            (rows * 2).psum("Y")
        };
        let known = shard_map(sum).out_specs(P!("X"))(&rows);
        let said = shard_map(sum).in_specs(P!("X").unreduced("Y")).out_specs(P!("X"))(&rows);
        (known, said, rows.shard(P!("X")))
    });
    let expected: Vec<i32> = (0..8).map(|i| (0..8).map(|j| 8 * i + j).sum()).collect();
    let twice: Vec<i32> = expected.iter().map(|n| 2 * n).collect();
    let (known, said, outside) = f(&x).unwrap();
    assert_eq!([flat(&known), flat(&said), flat(&outside)], [twice.clone(), twice.clone(), expected.clone()]);

    // The reference interpreter has the same result for the whole program.
    let text = f.lower(&x).unwrap().as_text();
    let module = shardwise_ir::text::parse("program", &text, &shardwise_ops::OPS).unwrap();
    let args = [shardwise_base::Literal::new([8, 8], &(0..64).collect::<Vec<i32>>())];
    let meant = shardwise_interp::run(&module, &args).unwrap();
    let meant: Vec<&[i32]> = meant.iter().map(|l| l.as_slice::<i32>()).collect();
    assert_eq!(meant, [&twice[..], &twice, &expected]);
}

#[test]
fn what_is_reduced_enters_and_leaves() {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap());
    let x = arange(0..64, I32).reshape([8, 8]).shard(P!("X").reduced("Y"));
    let seen = |x: &Array, ty: &str| assert_eq!(x.ty().to_string(), ty);
    let f = jit(|x: &Array| {
        seen(x, "i32[8@X,8]{R:Y}");
        let double = |x: &Array| {
            seen(x, "i32[2,8]{V:X, R:Y}");
            x * 2
        };
        let spec = || P!("X").reduced("Y");
        let known = shard_map(double).out_specs(spec())(x);
        let said = shard_map(double).in_specs(spec()).out_specs(spec())(x);
        seen(&known, "i32[8@X,8]{R:Y}");
        // From inside: a captured array keeps its state, and a gathered one can be returned in this state.
        let w = ones([8, 8], I32).shard(P!().reduced(("X", "Y")));
        let captures = |x: &Array| {
            seen(&(x + w.i(..2)), "i32[2,8]{V:X, R:Y}");
            x.all_gather_reduced("X", 0) + &w
        };
        let gathered = shard_map(captures).out_specs(P!().reduced(("X", "Y")))(x);
        seen(&gathered, "i32[8,8]{R:(X,Y)}");
        // If the map is over X only, the layout over Y is part of types inside and outside.
        let partly = shard_map(|x: &Array| {
            seen(x, "i32[2,8]{V:X, R:Y}");
            x + 1
        });
        let partly = partly.axes("X").in_specs(P!("X")).out_specs(P!("X"))(x);
        seen(&partly, "i32[8@X,8]{R:Y}");
        (known, said, gathered, partly)
    });
    let (known, said, gathered, partly) = f(&x).unwrap();
    seen(&known, "i32[8@X,8]{R:Y}");
    let times = |k: i32, plus: i32| (0..64).map(|i| k * i + plus).collect::<Vec<_>>();
    let [twice, next] = [times(2, 0), times(1, 1)];
    assert_eq!([&known, &said, &gathered, &partly].map(flat), [twice.clone(), twice, next.clone(), next]);
    let text = f.lower(&x).unwrap().as_text();
    assert!(!text.contains("reduced={"), "types say it, and devices hold what is equal:\n{text}");
    assert!(text.contains(r#"{shardwise.manual = ["{V:X, R:Y}"]}"#), "{text}");
    f.lower(&x).unwrap().communication().unwrap().assert_only(["all-gather X"]);
}

#[test]
fn numbers_without_a_zero_are_moved_and_not_added() {
    set_mesh(Mesh::auto([("X", 2)]).unwrap());
    let least = 2.0f32.powi(-127);
    let convert = |x: &Array, n: usize, from: &str, to: &str| {
        let (from, to) = (format!("tensor<{n}x{from}>"), format!("tensor<{n}x{to}>"));
        let text = format!(
            "func.func @main(%a: {from}) -> {to} {{
                %0 = stablehlo.convert %a : ({from}) -> {to}
                return %0 : {to}
            }}"
        );
        let program = shardwise::Program::parse(&text).unwrap().compile().unwrap();
        program.call(std::slice::from_ref(x)).unwrap().remove(0)
    };
    let x = convert(&array(&[1.0f32, 2.0, least, 4.0]), 4, "f32", "f8E8M0FNU");
    let map = |f: fn(&Array) -> Array, out: P| jit(shard_map(f).in_specs(P!("X")).out_specs(out))(&x);
    let elements =
        |f: fn(&Array) -> Array| convert(&map(f, P!()).unwrap(), 2, "f8E8M0FNU", "f32").to_vec::<f32>().unwrap();
    assert_eq!(elements(|x| x.pbroadcast("X", 0)), [1.0, 2.0]);
    assert_eq!(elements(|x| x.pbroadcast("X", 1)), [least, 4.0]);
    assert_eq!(elements(|x| x.pbroadcast_start("X", 1).done()), [least, 4.0]);
    let sums: [fn(&Array) -> Array; 3] =
        [|x| x.psum("X"), |x| x.psum_scatter("X", 0), |x| x.pcast("X", Pcast::Unreduced)];
    let moves_to_some: [fn(&Array) -> Array; 2] =
        [|x| x.ppermute("X", [(0, 1)]), |x| x.ppermute_start("X", [(1, 0)]).done()];
    for f in sums.into_iter().chain(moves_to_some) {
        let wrong = map(f, P!("X")).unwrap_err();
        assert_eq!(wrong.diagnostics().next().unwrap().code(), "dtype-kind");
    }
    let moves_to_all: [fn(&Array) -> Array; 3] =
        [|x| x.ppermute("X", shift(1)), |x| x.ppermute("X", [(0, 1), (1, 0)]), |x| x.pshuffle("X", [1, 0])];
    for f in moves_to_all {
        let swapped = convert(&map(f, P!("X")).unwrap(), 4, "f8E8M0FNU", "f32");
        assert_eq!(swapped.to_vec::<f32>().unwrap(), [least, 4.0, 1.0, 2.0]);
    }
    // Along the mapped dimension of a batch.
    let batch = |f: fn(&Array) -> Array| jit(shardwise::vmap(f).axis_name("i"))(&x);
    let wrong = batch(|x| x.ppermute("i", [(0, 1), (2, 3)])).unwrap_err();
    assert_eq!(wrong.diagnostics().next().unwrap().code(), "dtype-kind");
    let rolled = convert(&batch(|x| x.ppermute("i", shift(1))).unwrap(), 4, "f8E8M0FNU", "f32");
    assert_eq!(rolled.to_vec::<f32>().unwrap(), [4.0, 1.0, 2.0, least]);
}

#[test]
fn loops_over_unreduced_values() {
    set_mesh(Mesh::auto([("X", 4)]).unwrap());
    let map = |f: fn(&Array) -> Array| {
        let f = jit(shard_map(f).in_specs(P!("X")).out_specs(P!()));
        f(&arange(0..16, F32)).and_then(|y| y.to_vec::<f32>())
    };
    let eight = [192.0, 224.0, 256.0, 288.0];
    let one = [24.0, 28.0, 32.0, 36.0];
    assert_eq!(map(|x| fori_loop(0..3, x.pcast("X", Pcast::Unreduced), |_, c| c * 2.0).psum("X")).unwrap(), eight);
    let whiles = map(|x| {
        let start = (scalar(0, I32), x.pcast("X", Pcast::Unreduced));
        while_loop(start, |(i, _)| i.lt(3), |(i, c)| (i + 1, c * 2.0)).1.psum("X")
    });
    assert_eq!(whiles.unwrap(), eight);
    let over = map(|x| scan(zeros([], F32), x.pcast("X", Pcast::Unreduced), |c, e| (c, e.psum("X"))).1);
    assert_eq!(over.unwrap(), one);
    let collected = map(|x| scan(zeros([], F32), x.clone(), |c, e| (c, e.pcast("X", Pcast::Unreduced))).1.psum("X"));
    assert_eq!(collected.unwrap(), one);
    // A predicate has no value before its sum.
    let wrong = map(|x| {
        let open = x.i(0).gt(0).pcast("X", Pcast::Unreduced);
        while_loop((open, x.clone()), |(test, _)| test.clone(), |c| c).1
    });
    assert_eq!(wrong.unwrap_err().diagnostics().next().unwrap().code(), "unreduced");
}
