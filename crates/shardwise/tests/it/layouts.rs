//! Tests layouts of values: over axes of size 1, over parts of axes, of unreduced arrays, and around per-device code.

use expect_test::expect;
use shardwise::prelude::*;

fn ramp(shape: [usize; 2], spec: P) -> Array {
    arange(0..shape[0] * shape[1], F32).reshape(shape).shard(spec)
}

fn code<T>(x: Result<T>) -> String {
    x.map_or_else(|e| e.diagnostics().next().expect("a mistake").code().to_string(), |_| "runs".into())
}

#[test]
fn axes_of_size_1_are_part_of_types() {
    for size in [4, 1] {
        let mesh = Mesh::explicit([("X", size), ("Y", 2)]).unwrap();
        with_mesh(&mesh, || {
            let x = || ramp([8, 8], P!("X", "Y"));
            let y = jit(|x: &Array| x * 2.0)(&x()).unwrap();
            assert_eq!(y.ty().to_string(), "f32[8@X,8@Y]");
            assert_eq!((&y + 1.0).ty().to_string(), "f32[8@X,8@Y]");
            let open = x().sum(0).shard(P!("Y").unreduced("X"));
            assert_eq!(open.ty().to_string(), "f32[8@Y]{U:X}");
            y.assert_sharding(P!("X", "Y")).check().unwrap();
            let _ = jit(|y: &Array| fori_loop(0..2, y.clone(), |_, c| c.shard(P!("X", "Y"))))(&y).unwrap();
            let branch = jit(|y: &Array, x: &Array| cond(y.sum(..).gt(0.0), || y * 1.0, || x * 1.0));
            let _ = branch(&y, &x()).unwrap();
            let map = shard_map(|x: &Array| x * 1.0).in_specs(P!("X", "Y")).out_specs(P!("X", "Y"));
            let _ = jit(map)(&y).unwrap();
            let sum = shard_map(|x: &Array| x.psum("X")).in_specs(P!("Y").unreduced("X")).out_specs(P!("Y"));
            let total = jit(sum)(&open).unwrap();
            assert_eq!(total.to_vec::<f32>().unwrap(), x().sum(0).to_vec::<f32>().unwrap());
        });
    }
}

/// Tests that the layout of an array that the compiler split over a part of an axis can be asked for again, and that
/// parts that an axis does not have are refused.
#[test]
fn parts_of_axes_have_names() {
    with_mesh(Mesh::auto([("X", 4)]).unwrap(), || {
        let y = jit(|x: &Array| x.reshape([2, 2, 2]))(&arange(0..8, F32).shard(P!("X"))).unwrap();
        let ty = "f32[2@X:(1)2,2@X:(2)2,2]";
        assert_eq!(y.ty().to_string(), ty);
        assert_eq!(zeros_like(&y).ty().to_string(), ty);
        let own = y.sharding().expect("it is on a mesh");
        let z = ones([2, 2, 2], F32).shard(&own);
        assert_eq!((z.ty().to_string(), z.to_vec::<f32>().unwrap()), (ty.to_string(), vec![1.0; 8]));
        y.assert_sharding(own.spec).check().unwrap();
        // Two parts that follow each other are the whole axis.
        let whole = ones([8], F32).shard(P!(("X:(1)2", "X:(2)2")));
        assert_eq!(whole.ty().to_string(), "f32[8@X]");
        for (spec, expected) in [
            (P!(("X", "X:(1)2")), "spec-axis-twice"),
            (P!("X:(1)3"), "spec-unknown-axis"),
            (P!("X:(3)2"), "spec-unknown-axis"),
            (P!("X:(0)2"), "spec-unknown-axis"),
            (P!("Z:(1)2"), "spec-unknown-axis"),
        ] {
            assert_eq!(code(ones([8], F32).shard(spec.clone()).check()), expected, "{spec}");
        }
    });
}

#[test]
fn open_dimensions_leave_reduced_axes_out() {
    with_mesh(Mesh::explicit([("X", 4)]).unwrap(), || {
        let x = arange(0..8, F32).shard(P!("X"));
        assert_eq!(x.shard(P!(_).reduced("X")).ty().to_string(), "f32[8]{R:X}");
        let traced = jit(|x: &Array| x.shard(P!(_).reduced("X")))(&x).unwrap();
        assert_eq!(traced.ty().to_string(), "f32[8]{R:X}");
    });
}

#[test]
fn zeros_like_an_unreduced_sum() {
    with_mesh(Mesh::explicit([("X", 4)]).unwrap(), || {
        let open = ramp([8, 2], P!("X")).sum(0).shard(P!().unreduced("X"));
        let zeros = zeros_like(&open);
        assert_eq!((zeros.ty().to_string(), zeros.to_vec::<f32>().unwrap()), ("f32[2]{U:X}".into(), vec![0.0; 2]));
        let sum = (&zeros + &open).shard(P!());
        assert_eq!(sum.to_vec::<f32>().unwrap(), [56.0, 64.0]);
        let ones = ones_like(&open);
        assert_eq!((ones.ty().to_string(), ones.to_vec::<f32>().unwrap()), ("f32[2]".into(), vec![1.0; 2]));
    });
}

#[test]
fn groups_are_no_layout() {
    with_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap(), || {
        let half = || groups("X", [[0, 1], [2, 3]]);
        let x = ramp([8, 8], P!("X", "Y"));
        assert_eq!(code(x.sum(0).shard(P!("Y").unreduced(half())).check()), "spec-unreduced");
        assert_eq!(code(x.shard(P!().reduced(half())).check()), "spec-unreduced");
        assert_eq!(code(jit(|x: &Array| auto_axes(half(), P!("X", None), || x * 2.0))(&x)), "axis-mode");
    });
}

/// Tests that each branch is compared with the first one that has a layout, which need not be the first one.
#[test]
fn branches_after_a_constant() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    with_mesh(&mesh, || {
        let (x, y) = (ramp([8, 8], P!("X", None)), ramp([8, 8], P!(None, "X")));
        let f = jit(|i: &Array, x: &Array, y: &Array| {
            switch(i, 3, |k| match k {
                0 => zeros([8, 8], F32),
                1 => x * 1.0,
                _ => y * 1.0,
            })
        });
        let wrong = f(&scalar(2, I32), &x, &y).unwrap_err();
        let text = wrong.to_string();
        let shown: Vec<&str> = text.lines().filter(|l| !l.contains("-->")).collect();
        expect![[r#"
            error[branch-types]: `switch`: the results of the branches have different layouts
               | `result` is f32[8@X,8] of branch 1 and f32[8,8@X] of branch 2
               = help: give both the same layout: `.shard(P!("X", None))` or `.shard(P!(None, "X"))`"#]]
        .assert_eq(&shown.join("\n"));
        assert_eq!(code(f(&scalar(2, I32), &x, &x)), "runs");
    });
}

#[test]
fn layouts_that_the_compiler_decides_are_unknown_in_loops() {
    with_mesh(Mesh::auto([("X", 4)]).unwrap(), || {
        let x = arange(0..8, F32).shard(P!("X"));
        let flat = jit(|x: &Array| {
            let b = x * 3.0;
            explicit_axes("X", x, P!("X"), |c| c + &b)
        });
        assert_eq!(code(flat(&x)), "layout-unknown");
        let looped = jit(|x: &Array| {
            let b = x * 3.0;
            fori_loop(0..2, x.clone(), |_, c| explicit_axes("X", &c, P!("X"), |c| c + &b))
        });
        assert_eq!(code(looped(&x)), "layout-unknown");
        let inner = jit(|x: &Array| {
            let b = x * 3.0;
            explicit_axes("X", x, P!("X"), |c| fori_loop(0..2, c.clone(), |_, c| c + &b))
        });
        assert_eq!(code(inner(&x)), "layout-unknown");
        let asked = jit(|x: &Array| {
            let b = x * 3.0;
            fori_loop(0..2, x.clone(), |_, c| explicit_axes("X", &c, P!("X"), |c| c + b.shard(P!("X"))))
        });
        assert_eq!(asked(&x).unwrap().to_vec::<f32>().unwrap(), (0..8).map(|i| 7.0 * i as f32).collect::<Vec<_>>());
    });
}

/// Traces a `shard_map` of `f` over X, for an array that is split over X and Y. Returns text: the type that `f`
/// returns, if it returns, and the collectives of the program, or the code of its first mistake.
fn over_x(level: Communicate, cols: usize, f: fn(&Array) -> Array, out: P) -> String {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(level);
    with_mesh(&mesh, || {
        let x = ramp([8, cols], P!("X", "Y"));
        let ty = std::sync::Mutex::new(String::new());
        let body = |x: &Array| {
            let y = f(x);
            *ty.lock().unwrap() = y.ty().to_string();
            y
        };
        let g = jit(shard_map(body).axes("X").in_specs(P!("X")).out_specs(out));
        let moved = g.lower(&x).and_then(|l| l.communication());
        let shown = match moved {
            Ok(c) => c.into_iter().map(|c| format!("{} {}", c.kind, c.groups)).collect::<Vec<_>>().join(", "),
            Err(e) => code(Err::<(), _>(e)),
        };
        drop(g);
        format!("{}: {shown}", ty.into_inner().unwrap())
    })
}

#[test]
fn collectives_beside_explicit_axes() {
    use Communicate::{Allow, Deny};
    type Case = (&'static str, usize, fn(&Array) -> Array, P);
    let cases: [Case; 10] = [
        ("psum", 8, |x| x.psum("X"), P!()),
        ("psum started", 8, |x| x.psum_start("X").done(), P!()),
        ("gather along rows", 8, |x| x.all_gather("X", 0), P!("X")),
        ("gather along columns", 8, |x| x.all_gather("X", 1), P!("X")),
        ("scatter columns", 8, |x| x.psum_scatter("X", 1), P!("X")),
        ("scatter few columns", 4, |x| x.psum_scatter("X", 1), P!("X")),
        ("exchange", 4, |x| x.all_to_all("X", 1, 0), P!("X")),
        ("max of a sum", 8, |x| x.sum(1).shard(P!().unreduced("Y")).pmax("X"), P!()),
        ("min of a sum, started", 8, |x| x.sum(1).shard(P!().unreduced("Y")).pmin_start("X").done(), P!()),
        ("sum of a sum", 8, |x| x.sum(1).shard(P!().unreduced("Y")).psum("X"), P!()),
    ];
    let shown = cases.map(|(name, cols, f, out)| {
        let [denied, allowed] = [Deny, Allow].map(|level| over_x(level, cols, f, out.clone()));
        format!("{name}\n  {denied}\n  {allowed}")
    });
    expect![[r#"
        psum
          f32[2,8@Y]: all-reduce X
          f32[2,8@Y]: all-reduce X
        psum started
          f32[2,8]: communication-denied
          f32[2,8]: all-gather Y, all-reduce X
        gather along rows
          f32[8,8@Y]{V:X}: all-gather X
          f32[8,8@Y]{V:X}: all-gather X
        gather along columns
          f32[2,32]{V:X}: communication-denied
          f32[2,32]{V:X}: all-gather Y, all-gather X
        scatter columns
          f32[2,2]{V:X}: communication-denied
          f32[2,2]{V:X}: all-gather Y, reduce-scatter X
        scatter few columns
          f32[2,1]{V:X}: communication-denied
          f32[2,1]{V:X}: all-gather Y, reduce-scatter X
        exchange
          f32[8,1]{V:X}: communication-denied
          f32[8,1]{V:X}: all-gather Y, all-to-all X
        max of a sum
          f32[2]: unreduced
          f32[2]: unreduced
        min of a sum, started
          : unreduced
          : unreduced
        sum of a sum
          f32[2]{U:Y}: all-reduce X
          f32[2]{U:Y}: all-reduce X"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn collectives_of_unreduced_values() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = ramp([8, 8], P!("X", "Y"));
        let sums: [fn(&Array) -> Array; 2] = [|x| x.psum("X"), |x| x.psum_start("X").done()];
        for (i, f) in sums.into_iter().enumerate() {
            let body = move |x: &Array| f(&x.sum(1).shard(P!().unreduced("Y"))).shard(P!());
            let cols = x.reshape([4, 2, 8]).sum([0, 2]).to_vec::<f32>().unwrap();
            let map = |x: &Array| shard_map(body).axes("X").in_specs(P!("X")).out_specs(P!())(x);
            let result = jit(map)(&x).and_then(|y| y.to_vec::<f32>());
            assert_eq!(result.unwrap(), cols, "{i}");
        }
    });
}

#[test]
fn started_collectives_have_names() {
    with_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny), || {
        let map = shard_map(|x: &Array| x.psum_start("X").done() + 1.0).axes("X").in_specs(P!("X")).out_specs(P!());
        expect![[r#"
            error[communication-denied]: `psum_start` communicates without the program asking for it
               | f32[2,8@Y]: `async_start` needs the whole of dim 1 of operand 0, which is sharded over "Y"
               = mesh: X=4, Y=2
               = help: `.shard(P!(None, None))`: moves data"#]]
        .assert_eq(&show(jit(map)(&ramp([8, 8], P!("X", "Y")))));
    });
}

#[test]
fn broadcasts_of_unreduced_values() {
    with_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny), || {
        let x = ramp([8, 8], P!("X", "Y"));
        let body = |x: &Array| x.sum(1).shard(P!().unreduced("Y")).pbroadcast("X", 3).shard(P!());
        let f = jit(shard_map(body).axes("X").in_specs(P!("X")).out_specs(P!()));
        assert_eq!(f(&x).unwrap().to_vec::<f32>().unwrap(), x.sum(1).shard(P!()).i(6..).to_vec::<f32>().unwrap());
        let moved = f.lower(&x).and_then(|l| l.communication()).unwrap();
        let moved: Vec<String> = moved.into_iter().map(|c| format!("{} {}", c.kind, c.groups)).collect();
        expect!["all-reduce X, all-reduce Y"].assert_eq(&moved.join(", "));
        let kept = jit(shard_map(|x: &Array| x.pbroadcast("X", 3)).axes("X").in_specs(P!("X")).out_specs(P!()));
        assert_eq!(kept(&x).unwrap().ty().to_string(), "f32[2,8@Y]");
    });
}

/// Tests that a `shard_map` over the minor one of two Explicit axes that split a dimension is refused: the parts along
/// it alone are not contiguous.
#[test]
fn mapped_axes_come_first() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    with_mesh(&mesh, || {
        let map = || jit(shard_map(|x: &Array| x * 2.0).axes("X").in_specs(P!("X")).out_specs(P!("X")));
        let x = |spec: P| arange(0..16, F32).shard(spec);
        let wrong = map()(&x(P!(("Y", "X")))).unwrap_err();
        let text = wrong.to_string();
        let shown: Vec<&str> = text.lines().filter(|l| !l.contains("-->")).collect();
        expect![[r#"
            error[in-spec-layout]: shard_map of a closure in `mapped_axes_come_first`, in_specs of `args`: in the argument's layout, the axes of its spec, and no others of the shard_map, must come before other Explicit axes: arrays are never moved implicitly over them
               | f32[16@(Y,X)] as P!("X")
               = expected: dimension 0 split over ("X", "Y")
               = mesh: X=4, Y=2
               = help: move it to this layout first, or name all axes of the dimension in `.axes(..)` and in the spec"#]].assert_eq(&shown.join("\n"));
        let right = map()(&x(P!(("X", "Y")))).unwrap();
        assert_eq!(right.ty().to_string(), "f32[16@(X,Y)]");
    });
}

fn show(a: Result<Array>) -> String {
    let shown = a.and_then(|a| Ok(format!("{} {:?}", a.ty(), a.to_vec::<f32>()?)));
    let text = shown.unwrap_or_else(|e| e.to_string());
    text.lines().filter(|l| !l.contains("-->")).collect::<Vec<_>>().join("\n")
}

#[test]
fn parts_of_mapped_axes() {
    let mesh = Mesh::explicit([("X", 4)]).unwrap().communication(Communicate::Deny);
    with_mesh(&mesh, || {
        let double = |ins: Option<P>, out: P| {
            let map = shard_map(|x: &Array| x * 2.0).out_specs(out);
            jit(match ins {
                Some(ins) => map.in_specs(ins),
                None => map,
            })
        };
        let x = arange(0..4, F32).shard(P!("X:(1)2"));
        let sum = arange(0..8, F32).reshape([4, 2]).shard(P!("X:(1)2")).sum(0).shard(P!().unreduced("X:(1)2"));
        let captured = jit(|x: &Array| {
            let c = x * 1.0;
            shard_map(|y: &Array| y + &c).in_specs(P!()).out_specs(P!())(&zeros([4], F32))
        });
        let part = || P!("X:(1)2");
        let shown = [
            show(double(Some(P!()), P!())(&x)),
            show(double(None, P!())(&x)),
            show(captured(&x)),
            show(double(Some(P!()), P!())(&sum)),
            show(double(Some(part()), part())(&x)),
            show(double(None, part())(&x)),
            show(double(Some(P!("X:(2)2")), part())(&x)),
            show(jit(shard_map(|x: &Array| x.psum("X")).in_specs(part()).out_specs(P!()))(&x)),
            show(jit(shard_map(|x: &Array| x.psum("X")).in_specs(P!().unreduced("X:(1)2")).out_specs(P!()))(&sum)),
        ];
        expect![[r#"
            error[in-spec-layout]: shard_map of a closure in `parts_of_mapped_axes`, in_specs of `args`: the argument's layout differs from its spec, and arrays are never moved implicitly over Explicit axes
               | f32[4@X:(1)2] as P!()
               = mesh: X=4
               = help: move it first: `.shard(P!())`, or, if all mapped axes are Explicit, leave out `.in_specs(..)`
            error[out-spec-varying]: shard_map of a closure in `parts_of_mapped_axes`, out_specs of `result`: the spec requires a result that is replicated along X:(1)2, and it varies over X:(1)2
               | f32[2]{V:X:(1)2} as P!()
               = mesh: X=4
               = help: make it replicated with `.psum(..)`, `.pmax(..)` or `.all_gather_replicated(..)`, or add X:(1)2 to the spec
            error[captured-layout]: the mapped function captures an array that is split or unreduced, and arrays are never moved implicitly over Explicit axes
               | f32[4@X:(1)2]
               = help: pass it as an argument with its own spec, or gather it first: `.shard(P!())`
            error[in-spec-layout]: shard_map of a closure in `parts_of_mapped_axes`, in_specs of `args`: the argument's layout differs from its spec, and arrays are never moved implicitly over Explicit axes
               | f32[2]{U:X:(1)2} as P!()
               = mesh: X=4
               = help: move it first: `.shard(P!())`, or, if all mapped axes are Explicit, leave out `.in_specs(..)`
            f32[4@X:(1)2] [0.0, 2.0, 4.0, 6.0]
            f32[4@X:(1)2] [0.0, 2.0, 4.0, 6.0]
            error[in-spec-layout]: shard_map of a closure in `parts_of_mapped_axes`, in_specs of `args`: the argument's layout differs from its spec, and arrays are never moved implicitly over Explicit axes
               | f32[4@X:(1)2] as P!("X:(2)2")
               = mesh: X=4
               = help: move it first: `.shard(P!("X:(2)2"))`, or, if all mapped axes are Explicit, leave out `.in_specs(..)`
            error[mixed-states]: `psum` over "X" needs a value that is in the same state along all of them
               | f32[2]{V:X:(1)2}
               = help: call it once for the axes of each state: replicated values then count once for each device
            error[mixed-states]: `psum` over "X" needs a value that is in the same state along all of them
               | f32[2]{U:X:(1)2}
               = help: call it once for the axes of each state: replicated values then count once for each device"#]].assert_eq(&shown.join("\n"));
    });
}

#[test]
fn mapped_auto_axes_come_first() {
    let mesh = Mesh::new([Axis::auto("X", 4), Axis::explicit("Y", 2)]).unwrap().communication(Communicate::Deny);
    with_mesh(&mesh, || {
        let map = |spec: P| shard_map(|x: &Array| x * 2.0).axes("X").in_specs(spec.clone()).out_specs(spec);
        let x = |spec: P| arange(0..8, F32).shard(spec);
        let moved = |spec: P, y: &Array| {
            let lowered = jit(map(spec)).lower(y).and_then(|l| l.communication());
            let kinds = lowered.map(|c| c.into_iter().map(|c| format!("{} {}", c.kind, c.groups)).collect::<Vec<_>>());
            kinds.map_or_else(|e| show(Err(e)), |kinds| format!("{} {kinds:?}", y.ty()))
        };
        let then = jit(|x: &Array| map(P!("X"))(&x.shard(P!(("X", "Y")))));
        let shown = [
            moved(P!("X"), &x(P!("Y"))),
            moved(P!("X"), &x(P!(("Y", "X")))),
            moved(P!("X"), &x(P!(("X", "Y")))),
            moved(P!(), &x(P!(("X", "Y")))),
            moved(P!(), &x(P!(("Y", "X")))),
            moved(P!(), &x(P!("Y"))),
            show(then(&x(P!("Y")))),
        ];
        expect![[r#"
            error[in-spec-layout]: shard_map of a closure in `mapped_auto_axes_come_first`, in_specs of `args`: in the argument's layout, the axes of its spec, and no others of the shard_map, must come before other Explicit axes: arrays are never moved implicitly over them
               | f32[8@Y] as P!("X")
               = expected: dimension 0 split over ("X", "Y")
               = mesh: X=4, Y=2
               = help: move it to this layout first, or name all axes of the dimension in `.axes(..)` and in the spec
            error[in-spec-layout]: shard_map of a closure in `mapped_auto_axes_come_first`, in_specs of `args`: in the argument's layout, the axes of its spec, and no others of the shard_map, must come before other Explicit axes: arrays are never moved implicitly over them
               | f32[8@(Y,X)] as P!("X")
               = expected: dimension 0 split over ("X", "Y")
               = mesh: X=4, Y=2
               = help: move it to this layout first, or name all axes of the dimension in `.axes(..)` and in the spec
            f32[8@(X,Y)] []
            error[in-spec-layout]: shard_map of a closure in `mapped_auto_axes_come_first`, in_specs of `args`: in the argument's layout, the axes of its spec, and no others of the shard_map, must come before other Explicit axes: arrays are never moved implicitly over them
               | f32[8@(X,Y)] as P!()
               = expected: dimension 0 split over "Y"
               = mesh: X=4, Y=2
               = help: move it to this layout first, or name all axes of the dimension in `.axes(..)` and in the spec
            f32[8@(Y,X)] ["all-gather X"]
            f32[8@Y] []
            f32[8@(X,Y)] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]"#]].assert_eq(&shown.join("\n"));
    });
}

#[test]
fn names_of_parts() {
    with_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap(), || {
        let reduced = arange(0..4, F32).shard(P!().reduced(("X:(2)2", "X:(1)2")));
        let x = arange(0..8, F32).reshape([4, 2]).shard(P!("X"));
        let y = || ones([4, 2], F32).shard(P!("X", "Y"));
        let chain = |x: &Array, y: &Array| einsum("ab,bc,c->a", (x.t(), y, ones([2], F32).shard(P!("Y"))));
        let product = |spec: P| move |x: &Array, y: &Array| x.t().matmul(y).shard(spec.clone());
        let shown = [
            show(Ok(&reduced + arange(0..4, F32).shard(P!().reduced("X")))),
            show(Ok(x.sum(0).shard(P!().unreduced("Y")))),
            show(jit(|x: &Array| x.sum(0).shard(P!().unreduced("Y")))(&x)),
            show(jit(|x: &Array| (arange(0..2, F32) + 0.0 * x.sum(0)).shard(P!().unreduced("Y")))(&x)),
            show(jit(|_: &Array| arange(0..2, F32).shard(P!().unreduced("Y")))(&x)),
            show(Ok(x.sum(0).shard(P!().unreduced("X")))),
            show(Ok(x.sum(0).shard(P!().unreduced("X:(1)2")))),
            show(Ok(x.sum(0).shard(P!().unreduced("X")).shard(P!().unreduced("X:(2)2")))),
            show(jit(|x: &Array| x.sum(0).shard(P!().unreduced("X")).shard(P!().unreduced("X:(2)2")))(&x)),
            show(jit(product(P!(None, "Y").unreduced("X")))(&x, &y())),
            show(jit(|x: &Array, y: &Array| chain(x, y).shard(P!().unreduced(("X", "Y"))))(&x, &y())),
        ];
        expect![[r#"
            f32[4]{R:X} [0.0, 2.0, 4.0, 6.0]
            error[spec-unreduced]: the array is not an unreduced sum over "Y"
               | f32[2]
               = help: use `.unreduced` right after the product or reduction that makes the sum: later, the sum is complete
            error[spec-unreduced]: the array is not an unreduced sum over "Y"
               | f32[2]
               = help: use `.unreduced` right after the product or reduction that makes the sum: later, the sum is complete
            error[spec-unreduced]: the array is not an unreduced sum over "Y"
               | f32[2]
               = help: use `.unreduced` right after the product or reduction that makes the sum: later, the sum is complete
            error[spec-unreduced]: the array is not an unreduced sum over "Y"
               | f32[2]
               = help: use `.unreduced` right after the product or reduction that makes the sum: later, the sum is complete
            f32[2]{U:X} [12.0, 16.0]
            f32[2]{U:X:(1)2} [12.0, 16.0]
            f32[2]{U:X:(2)2} [12.0, 16.0]
            f32[2]{U:X:(2)2} [12.0, 16.0]
            f32[2,2@Y]{U:X} [12.0, 12.0, 16.0, 16.0]
            f32[2]{U:(X,Y)} [24.0, 32.0]"#]].assert_eq(&shown.join("\n"));
    });
    with_mesh(Mesh::auto([("X", 6)]).unwrap(), || {
        let specs = [P!("X:(1)4"), P!("X:(1)2", "X:(3)2"), P!("X:(+1)2"), P!("X:(2)3", "X:(1)3")];
        let shown = specs.map(|spec| show(ones([6, 6], F32).shard(spec).check().cloned()));
        expect![[r#"
            error[spec-unknown-axis]: axis "X" of size 6 has no part "X:(1)4"
               | f32[6,6] as P!("X:(1)4")
               = mesh: X=6
               = help: in "X:(M)N", N is at least 2 and M times N divides 6
            error[spec-axis-twice]: the parts "X:(1)2" and "X:(3)2" in the layout contradict each other: no division of "X" has both
               | f32[6,6] as P!("X:(1)2", "X:(3)2")
               = mesh: X=6
               = help: a part that follows "X:(1)2" begins with "X:(2)", or with a multiple of 2
            error[spec-unknown-axis]: the mesh has no axis "X:(+1)2"
               | f32[6,6] as P!("X:(+1)2")
               = mesh: X=6
            error[spec-axis-twice]: the parts "X:(2)3" and "X:(1)3" in the layout contradict each other: no division of "X" has both
               | f32[6,6] as P!("X:(2)3", "X:(1)3")
               = mesh: X=6
               = help: a part that follows "X:(1)3" begins with "X:(3)", or with a multiple of 3"#]]
        .assert_eq(&shown.join("\n"));
    });
}

#[test]
fn stated_axes_of_size_1() {
    for size in [2, 1] {
        with_mesh(Mesh::auto([("X", size), ("Y", 2)]).unwrap(), || {
            let x = arange(0..64, F32).reshape([8, 8]).shard(P!("X", "Y"));
            let y = jit(|x: &Array| (x * 2.0).shard(P!("X", "Y")))(&x).unwrap();
            assert_eq!(y.ty().to_string(), "f32[8@X,8@Y]");
        });
    }
}

#[test]
fn like_unreduced() {
    with_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny), || {
        let open = || arange(0..16, F32).reshape([8, 2]).shard(P!("X", "Y")).sum(0).shard(P!("Y").unreduced("X"));
        let (u, v) = (open(), open());
        let per_device = |f: fn(&Array) -> Array| {
            let ins = P!("Y").unreduced("X");
            show(jit(shard_map(f).axes("X").in_specs(P!().unreduced("X")).out_specs(P!()))(&open().shard(ins)))
        };
        let shown = [
            show(Ok(zeros_like(&u))),
            show(Ok(ones_like(&u))),
            show(jit(zeros_like)(&u)),
            show(jit(ones_like)(&u)),
            show(jit(move |_: &Array| ones_like(&v))(&u)),
            show(jit(|u: &Array| fori_loop(0..2, zeros_like(u), |_, c| c + u).shard(P!("Y")))(&u)),
            per_device(|u| (zeros_like(u) + u).psum("X")),
            per_device(|u| ones_like(u) + u.psum("X")),
        ];
        expect![[r#"
            f32[2@Y]{U:X} [0.0, 0.0]
            f32[2@Y] [1.0, 1.0]
            f32[2@Y]{U:X} [0.0, 0.0]
            f32[2@Y] [1.0, 1.0]
            f32[2@Y] [1.0, 1.0]
            f32[2@Y] [112.0, 128.0]
            f32[2@Y] [56.0, 64.0]
            f32[2@Y] [57.0, 65.0]"#]]
        .assert_eq(&shown.join("\n"));
    });
    with_mesh(Mesh::auto([("X", 4)]).unwrap(), || {
        let x = arange(0..4, F32).shard(P!("X"));
        let c = x.clone();
        let shown =
            show(jit(shard_map(move |x: &Array| zeros_like(&c).i(..1) + x).in_specs(P!("X")).out_specs(P!("X")))(&x));
        assert_eq!(shown, "f32[4@X] [0.0, 1.0, 2.0, 3.0]");
    });
}

#[test]
fn loops_of_unreduced_values() {
    with_mesh(Mesh::auto([("X", 4)]).unwrap(), || {
        let map =
            |f: fn(&Array) -> Array| show(jit(shard_map(f).in_specs(P!("X")).out_specs(P!()))(&arange(0..16, F32)));
        fn open(x: &Array) -> Array {
            x.pcast("X", Pcast::Unreduced)
        }
        fn rows(x: &Array, n: usize) -> Array {
            scan(zeros([], F32), x.i(0..n), |c, e| (c, open(&e))).1.psum("X").sum(0)
        }
        fn last(x: &Array, n: usize) -> Array {
            scan(open(x).i(0), open(x).i(0..n), |_, e| (e, ())).0.psum("X")
        }
        fn branches(x: &Array, wrong: usize) -> Array {
            let branch = |k: usize| if k == wrong { open(x).exp() } else { open(x) };
            cond(x.psum("X").sum(..).gt(0.0), || branch(1), || branch(0)).psum("X")
        }
        let shown = [
            map(|x| rows(x, 1)),
            map(|x| rows(x, 0)),
            map(|x| last(x, 1)),
            map(|x| last(x, 0)),
            map(|x| fori_loop(0..2, open(x), |_, c| c.exp()).psum("X")),
            map(|x| branches(x, 0)),
            map(|x| branches(x, 1)),
            map(|x| open(x).sum(0).psum("X")),
        ];
        expect![[r#"
            f32[] [24.0]
            f32[] [0.0]
            f32[] [24.0]
            f32[] [24.0]
            error[unreduced]: `exponential` cannot take its operands: one is unreduced over X
               | f32[4]{U:X}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum("X")`
            error[unreduced]: `exponential` cannot take its operands: one is unreduced over X
               | f32[4]{U:X}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum("X")`
            error[unreduced]: `exponential` cannot take its operands: one is unreduced over X
               | f32[4]{U:X}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum("X")`
            f32[] [120.0]"#]].assert_eq(&shown.join("\n"));
    });
    with_mesh(Mesh::explicit([("X", 4)]).unwrap(), || {
        let u = arange(0..16, F32).reshape([4, 2, 2]).shard(P!("X")).sum(0).shard(P!().unreduced("X"));
        let last = |n: usize| move |u: &Array| scan(u.i(0), u.i(0..n), |_, e| (e, ())).0.shard(P!());
        expect![[r#"
            f32[2] [24.0, 28.0]
            f32[2] [24.0, 28.0]"#]]
        .assert_eq(&[show(jit(last(1))(&u)), show(jit(last(0))(&u))].join("\n"));
    });
}

#[test]
fn modes_of_groups() {
    with_mesh(Mesh::explicit([("X", 4)]).unwrap(), || {
        let f = |x: &Array| auto_axes(groups("X", [[0, 1], [2, 3]]), P!(), || x.clone());
        expect![[r#"
            error[axis-mode]: `auto_axes` needs whole axes, and only groups of "X" are given
               = mesh: X=4 Explicit
               = help: name the axis: "X"; `groups(..)` is for collectives"#]]
        .assert_eq(&show(jit(f)(&ones([4], F32))));
    });
}
