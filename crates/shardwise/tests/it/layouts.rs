//! Tests layouts of values: over axes of size 1, over parts of axes, of unreduced arrays, and around per-device code.

use expect_test::expect;
use shardwise::prelude::*;

fn ramp(shape: [usize; 2], spec: P) -> Array {
    arange(0..shape[0] * shape[1], F32).reshape(shape).shard(spec)
}

fn code<T>(x: Result<T>) -> String {
    x.map_or_else(|e| e.diagnostics().next().expect("a mistake").code().to_string(), |_| "runs".into())
}

/// Tests that the same programs run whatever the size of an Explicit axis.
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

/// Tests that the layout of an array that the compiler split over a part of an axis can be asked for again.
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

/// Tests that a layout names whole axes.
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

/// Tests that `explicit_axes` asks for the layouts of arrays from outside, also inside of a loop.
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

/// Returns what a `shard_map` over X moves, for an array that is split over X and Y, and the type that its function
/// returns.
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
            Ok(c) => c.into_iter().map(|c| format!("{} {}", c.kind, c.axes)).collect::<Vec<_>>().join(", "),
            Err(e) => code(Err::<(), _>(e)),
        };
        drop(g);
        format!("{}: {shown}", ty.into_inner().unwrap())
    })
}

/// Tests that collectives over some axes are typed over the others.
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

/// Tests that a collective that takes an unreduced value has its sum as the result, at once or started.
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
            error[in-spec-layout]: shard_map of a closure in `mapped_axes_come_first`, in_specs of `args`: the axes of the shard_map must come first in the argument's layout: arrays are never moved implicitly over Explicit axes
               | f32[16@(Y,X)] as P!("X"): dimension 0 is split over "Y" before "X"
               = mesh: X=4, Y=2
               = help: move it first, with "X" before "Y", or add "Y" to `.axes(..)`"#]].assert_eq(&shown.join("\n"));
        let right = map()(&x(P!(("X", "Y")))).unwrap();
        assert_eq!(right.ty().to_string(), "f32[16@(X,Y)]");
    });
}
