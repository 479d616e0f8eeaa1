//! What goes wrong in per-device code, in words.

use expect_test::{Expect, expect};
use shardwise::prelude::*;

/// The mistakes of `f` on X=4, Y=2, mapped over an `i32[8,8]` split as `P!("X", "Y")`, without the directories of files.
fn check(f: impl Fn(&Array) -> Array + Send + Sync, expected: Expect) {
    let map = shard_map(move |x: &Array| f(x)).in_specs(P!("X", "Y")).out_specs(P!("X", "Y"));
    check_call(|x| jit(map)(x).map(|_| ()), expected);
}

fn check_call(call: impl FnOnce(&Array) -> Result<()>, expected: Expect) {
    check_on(Mesh::auto([("X", 4), ("Y", 2)]), call, expected);
}

fn check_on(mesh: Result<Mesh>, call: impl FnOnce(&Array) -> Result<()>, expected: Expect) {
    set_mesh(mesh.unwrap());
    let text = call(&zeros([8, 8], I32)).expect_err("a mistake").to_string();
    let in_file = |l: &str| match l.find("crates/") {
        Some(i) => format!("{}here{}", &l[..i], l.find(", which").map_or("", |rest| &l[rest..])),
        None => l.to_string(),
    };
    expected.assert_eq(&text.lines().map(in_file).collect::<Vec<_>>().join("\n"));
}

#[test]
fn axes() {
    check(
        |x| x.psum("x"),
        expect![[r#"
            error[manual-axis]: `psum` over axis "x", which the mesh does not have
              --> here
               = mesh: X=4 Manual, Y=2 Manual
               = help: did you mean "X"?"#]],
    );
    check(
        |x| x.psum("data"),
        expect![[r#"
            error[manual-axis]: `psum` over axis "data", which the mesh does not have
              --> here
               = mesh: X=4 Manual, Y=2 Manual"#]],
    );
    check(
        |x| x.psum(("X", "X")),
        expect![[r#"
            error[manual-axis]: `psum` over axis "X", which stands twice
              --> here
               = mesh: X=4 Manual, Y=2 Manual"#]],
    );
    check(
        |x| x.psum(groups("X", [[0, 3], [1, 2]])),
        expect![[r#"
        error[axis-groups]: `psum`: these groups are no part of axis "X"
          --> here
           | [[0, 3], [1, 2]], axis "X" has size 4
           = expected: each position once, in groups of one size that lie at equal steps, as in [[0, 1], [2, 3]] or [[0, 2], [1, 3]]"#]],
    );
    check_call(
        |x| jit(|x: &Array| x.psum("X"))(x).map(|_| ()),
        expect![[r#"
        error[not-manual]: `psum` speaks of devices, and there is one program for all of them here
          --> here
           = help: call it in the function that `shard_map` maps"#]],
    );
    check_call(
        |x| {
            let f = shard_map(|x: &Array| x + axis_index("Y")).axes("X").in_specs(P!("X")).out_specs(P!("X"));
            jit(f)(x).map(|_| ())
        },
        expect![[r#"
            error[manual-axis]: `axis_index` over axis "Y", which is not manual here
              --> here
               = mesh: X=4 Manual, Y=2 Auto
               = help: name it in `.axes(..)` of the `shard_map` too"#]],
    );
    check_call(
        |x| jit(shard_map(|x: &Array| x.clone()).axes("Z").in_specs(P!()).out_specs(P!()))(x).map(|_| ()),
        expect![[r#"
            error[manual-axis]: the shard_map of a closure in `axes` over axis "Z", which the mesh does not have
              --> here
               = mesh: X=4, Y=2
               = help: did you mean "X"?"#]],
    );
}

#[test]
fn dimensions_and_permutations() {
    check(
        |x| x.psum_scatter("X", 0),
        expect![[r#"
        error[collective-uneven]: `psum_scatter` cannot split a dimension evenly over "X"
          --> here
           | i32[2,4]{V:(X,Y)}: dim 0 has size 2, there are 4 devices along "X"
           = help: make dim 0 a multiple of 4 (4 with padding)"#]],
    );
    check(
        |x| x.all_to_all("X", stacked(0), stacked(1)),
        expect![[r#"
        error[collective-uneven]: `all_to_all`: dimension 0 must have one element for each device
          --> here
           | i32[2,4]{V:(X,Y)}: dim 0 has size 2, there are 4 devices along "X"
           = help: name the dimension as `0` to split it in parts"#]],
    );
    check(
        |x| x.all_to_all("Y", stacked(0), 1),
        expect![[r#"
        error[dimension]: `all_to_all`: one dimension is stacked and the other is not
          --> here
           | i32[2,4]{V:(X,Y)}
           = help: make both `stacked(..)`, or none"#]],
    );
    check(
        |x| x.all_gather("X", 2),
        expect![[r#"
        error[dimension]: there is no dimension 2
          --> here
           | i32[2,4]{V:(X,Y)}"#]],
    );
    check(
        |x| x.ppermute("X", [(0, 1), (1, 1)]),
        expect![[r#"
            error[permutation]: `ppermute`: position 1 is a target twice
              --> here
               | [(0, 1), (1, 1)] over "X", which has 4 positions
               = expected: each position from 0 to 3 at most once as a source, and once as a target"#]],
    );
    check(
        |x| x.ppermute("X", [(0, 4)]),
        expect![[r#"
            error[permutation]: `ppermute`: there is no position 4
              --> here
               | [(0, 4)] over "X", which has 4 positions
               = expected: each position from 0 to 3 at most once as a source, and once as a target"#]],
    );
    check(
        |x| x.pshuffle("X", [0, 1, 2]),
        expect![[r#"
            error[permutation]: `pshuffle`: 3 positions are given
              --> here
               | [0, 1, 2] over "X", which has 4 positions
               = expected: 4 positions: for each device the one that it takes the value of"#]],
    );
    check(
        |x| x.pbroadcast("X", 9),
        expect![[r#"
            error[permutation]: `pbroadcast`: there is no position 9
              --> here
               | 9 over "X", which has 4 positions
               = expected: a position from 0 to 3"#]],
    );
}

#[test]
fn states() {
    check(
        |x| x.psum("X").psum(("X", "Y")),
        expect![[r#"
        error[mixed-states]: `psum` over ("X", "Y"), along which the value is not in one state
          --> here
           | i32[2,4]{V:Y}
           = help: where it is equal and each device shall count, say so: `.pcast(.., Pcast::Varying)`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Varying),
        expect![[r#"
        error[wrong-state]: `pcast to varying` over "X" of a value that is in another state along them
          --> here
           | i32[2,4]{V:(X,Y)}
           = help: free casts: equal to varying or reduced, varying to unreduced, reduced to varying"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).square(),
        expect![[r#"
        error[unreduced]: `multiply` of a value that is still to be summed over X
          --> here
           | i32[2,4]{V:Y, U:X} and i32[2,4]{V:Y, U:X}
           = expected: an op that is linear in the summands, of values that are equal along these axes otherwise
           = help: sum it first: `.psum("X")`"#]],
    );
    check(
        |x| x.pcast(("X", "Y"), Pcast::Unreduced).square(),
        expect![[r#"
        error[unreduced]: `multiply` of a value that is still to be summed over (X,Y)
          --> here
           | i32[2,4]{U:(X,Y)} and i32[2,4]{U:(X,Y)}
           = expected: an op that is linear in the summands, of values that are equal along these axes otherwise
           = help: sum it first: `.psum(("X", "Y"))`"#]],
    );
    check(
        |x| x.pcast(groups("X", [[0, 1], [2, 3]]), Pcast::Unreduced).square(),
        expect![[r#"
        error[unreduced]: `multiply` of a value that is still to be summed over X:(2)2
          --> here
           | i32[2,4]{V:(X:(1)2,Y), U:X:(2)2} and i32[2,4]{V:(X:(1)2,Y), U:X:(2)2}
           = expected: an op that is linear in the summands, of values that are equal along these axes otherwise
           = help: sum it first: `.psum(..)`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).all_gather("X", 0),
        expect![[r#"
        error[wrong-state]: `all_gather` over "X" of a value that is unreduced along them
          --> here
           | i32[2,4]{V:Y, U:X}
           = help: sum it: `.psum(..)` or `.psum_scatter(..)`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced),
        expect![[r#"
            error[out-spec-unreduced]: shard_map of `check`, out_specs of `result`: the result is still to be summed over X
              --> here
               | i32[2,4]{V:Y, U:X}
               = mesh: X=4, Y=2
               = help: sum it: `.psum(..)`, `.psum_scatter(..)`"#]],
    );
    check(
        |x| fori_loop(0..3, x.clone(), |_, x| x.pcast("X", Pcast::Unreduced)),
        expect![[r#"
        error[carry]: `fori_loop`: the carry is a summand on one side of the body only
          --> here
           | `carry` enters as i32[2,4]{V:(X,Y)} and leaves as i32[2,4]{V:Y, U:X}
           = help: sum what is unreduced with `.psum(..)`, or start from a summand: `.pcast(.., Pcast::Unreduced)` of what varies"#]],
    );
    check(
        |x| x.shard(P!("X")),
        expect![[r#"
            error[layout-manual]: a layout over axis "X", which is manual here
              --> here
               | i32[2,4]{V:(X,Y)}
               = mesh: X=4 Manual, Y=2 Manual
               = help: in `shard_map` a value is one device's own; use the collectives"#]],
    );
}

#[test]
fn where_not_all_come() {
    check(
        |x| cond(axis_index("X").lt(2), || x.psum("X"), || x.clone()),
        expect![[r#"
            error[divergent-collective]: `psum` over "X" where the devices along X do not all come: it could not complete
              --> here
               | it stands in `cond` at here, which decides on what varies over X
               = mesh: X=4 Manual, Y=2 Manual
               = help: take it out of there, or decide on what is equal on these devices: `.pmax(..)` of what varies"#]],
    );
    check(
        |x| fori_loop(scalar(0, I32)..axis_index("Y"), x.clone(), |_, x| x.ppermute(("X", "Y"), shift(1))),
        expect![[r#"
            error[divergent-collective]: `ppermute` over ("X", "Y") where the devices along Y do not all come: it could not complete
              --> here
               | it stands in `fori_loop` at here, which decides on what varies over Y
               = mesh: X=4 Manual, Y=2 Manual
               = help: take it out of there, or decide on what is equal on these devices: `.pmax(..)` of what varies"#]],
    );
    check(
        |x| while_loop(x.clone(), |x| (x.sum(..).psum("X") + axis_index("X")).lt(10), |x| x + 1),
        expect![[r#"
            error[divergent-collective]: `psum` over "X" where the devices along X do not all come: it could not complete
              --> here
               | it stands in `while_loop` at here, which decides on what varies over X
               = mesh: X=4 Manual, Y=2 Manual
               = help: take it out of there, or decide on what is equal on these devices: `.pmax(..)` of what varies"#]],
    );
}

#[test]
fn specs() {
    let two = |x: &Array, y: &Array| (x.clone(), y.clone());
    check_call(
        |_| {
            let f = shard_map(two).in_specs((P!("X"), P!("X", None, "Y"))).out_specs(P!());
            jit(f)(&zeros([6, 8], I32), &zeros([8, 8], I32)).map(|_| ())
        },
        expect![[r#"
            error[spec-uneven]: shard_map of a closure in `specs`, in_specs of `args.0`: dimension 0 cannot be split as the layout asks
              --> here
               | i32[6,8] as P!("X"): dim 0 has size 6, there are 4 devices along "X"
               = mesh: X=4, Y=2
               = help: make dim 0 a multiple of 4 (8 with padding), or leave "X" out of the layout
            error[spec-rank]: shard_map of a closure in `specs`, in_specs of `args.1`: the layout has 3 entries for an array of 2 dimensions
              --> here
               | i32[8,8] as P!("X", None, "Y")
               = mesh: X=4, Y=2
               = help: give at most one entry for each dimension: P!("X", None)"#]],
    );
    check_call(
        |x| jit(shard_map(two).in_specs(P!("X")).out_specs((P!(), P!("Y"))))(x, x).map(|_| ()),
        expect![[r#"
            error[out-spec-varying]: shard_map of a closure in `specs`, out_specs of `result.0`: the spec claims a result that is equal along X, and it varies over X
              --> here
               | i32[2,8]{V:X} as P!()
               = mesh: X=4, Y=2
               = help: make it equal with `.psum(..)`, `.pmax(..)` or `.all_gather_equal(..)`, or put X into the spec
            error[out-spec-varying]: shard_map of a closure in `specs`, out_specs of `result.1`: the spec claims a result that is equal along X, and it varies over X
              --> here
               | i32[2,8]{V:X} as P!("Y")
               = mesh: X=4, Y=2
               = help: make it equal with `.psum(..)`, `.pmax(..)` or `.all_gather_equal(..)`, or put X into the spec"#]],
    );
    check_call(
        |x| jit(shard_map(two).out_specs(P!()))(x, x).map(|_| ()),
        expect![[r#"
            error[in-specs]: the shard_map of a closure in `specs` does not say how its arguments are split
              --> here
               | i32[8,8], i32[8,8]
               = mesh: X=4, Y=2
               = help: add `.in_specs(..)`: one `P!(..)` for all, or one for each in a tuple"#]],
    );
    check_call(
        |x| jit(shard_map(two).axes("X").in_specs(P!("Y")).out_specs(P!("X")))(x, x).map(|_| ()),
        expect![[r#"
            error[spec-not-manual]: shard_map of a closure in `specs`, in_specs of `args.0`: the spec names axis "Y", which is not manual here
              --> here
               | i32[8,8] as P!("Y")
               = mesh: X=4 Manual, Y=2 Auto
               = help: add it with `.axes(..)`, or leave it out of the spec: the others lie as they do outside
            error[spec-not-manual]: shard_map of a closure in `specs`, in_specs of `args.1`: the spec names axis "Y", which is not manual here
              --> here
               | i32[8,8] as P!("Y")
               = mesh: X=4 Manual, Y=2 Auto
               = help: add it with `.axes(..)`, or leave it out of the spec: the others lie as they do outside"#]],
    );
    check_call(
        |x| {
            let many = shard_map(|x: &Vec<Array>| x.clone()).in_specs(vec![P!(), P!()]).out_specs(P!());
            jit(many)(&vec![x.clone()]).map(|_| ())
        },
        expect![[r#"
            error[spec-form]: the specs in `in_specs` have another form than the arrays
              --> here
               | 2 specs for 1 array
               = help: give one layout for all arrays, or one for each in the form of the arrays: a tuple for a tuple, a `Vec` for a `Vec`"#]],
    );
    check_call(
        |x| {
            let scalar = shard_map(|x: &Array| x.sum(..)).in_specs(P!("X")).out_specs(P!("X"));
            jit(scalar)(x).map(|_| ())
        },
        expect![[r#"
            error[spec-rank]: shard_map of a closure in `specs`, out_specs of `result`: the layout has 1 entry for an array of 0 dimensions
              --> here
               | i32[]{V:X} as P!("X")
               = mesh: X=4, Y=2
               = help: give at most one entry for each dimension: P!()"#]],
    );
}

#[test]
fn axes_of_specs() {
    let mesh = || Mesh::auto([("data", 4), ("model", 2)]);
    // Every leaf that is wrong is told; a misspelt axis has the near one beside it.
    let step = |x: &(Array, Array), w: &Array| x.0.matmul(w) + &x.1;
    check_on(
        mesh(),
        |x| {
            let specs = ((P!("date"), P!("data")), P!(None, "modle"));
            let f = shard_map(step).in_specs(specs).out_specs(P!("data", "model"));
            jit(f)(&(x.clone(), x.clone()), x).map(|_| ())
        },
        expect![[r#"
            error[spec-unknown-axis]: shard_map of a closure in `axes_of_specs`, in_specs of `args.0.0`: the mesh has no axis "date"
              --> here
               | i32[8,8] as P!("date")
               = mesh: data=4, model=2
               = help: did you mean "data"?
            error[spec-unknown-axis]: shard_map of a closure in `axes_of_specs`, in_specs of `args.1`: the mesh has no axis "modle"
              --> here
               | i32[8,8] as P!(None, "modle")
               = mesh: data=4, model=2
               = help: did you mean "model"?"#]],
    );
    check_on(
        mesh(),
        |x| {
            let two = shard_map(|x: &Array| (x.clone(), x.clone())).in_specs(P!("data"));
            jit(two.out_specs((P!("data", "expert"), P!("Data"))))(x).map(|_| ())
        },
        expect![[r#"
            error[spec-unknown-axis]: shard_map of a closure in `axes_of_specs`, out_specs of `result.0`: the mesh has no axis "expert"
              --> here
               | i32[2,8]{V:data} as P!("data", "expert")
               = mesh: data=4, model=2
            error[spec-unknown-axis]: shard_map of a closure in `axes_of_specs`, out_specs of `result.1`: the mesh has no axis "Data"
              --> here
               | i32[2,8]{V:data} as P!("Data")
               = mesh: data=4, model=2
               = help: did you mean "data"?"#]],
    );
}

#[test]
fn futures() {
    check(
        |x| {
            let _started = x.ppermute_start("X", shift(1));
            x.clone()
        },
        expect![[r#"
            error[future-unfinished]: `ppermute_start` is never finished
              --> here
               = help: call `.done()` on what it gives"#]],
    );
    check(
        |x| {
            let started = std::sync::Mutex::new(Some(x.psum_start("X")));
            fori_loop(0..2, x.clone(), |_, x| x + started.lock().unwrap().take().unwrap().done())
        },
        expect![[r#"
            error[future-elsewhere]: `psum_start` is finished in another loop, branch or function
              --> here
               = note: it was started at here
               = help: finish it where it was started, and use the result here"#]],
    );
}

#[test]
fn a_call_without_jit_panics_with_the_mistakes() {
    set_mesh(Mesh::auto([("X", 4)]).unwrap());
    let f = shard_map(|x: &Array| x.clone()).in_specs(P!("X")).out_specs(P!("X"));
    let text = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(&zeros([6], I32))))
        .unwrap_err()
        .downcast::<String>()
        .unwrap();
    assert!(text.contains("error[spec-uneven]"), "{text}");
    let result = shard_map(|x: &Array| -> Result<Array> { Ok(x.clone()) }).in_specs(P!("X")).out_specs(P!("X"));
    let found = result(&zeros([6], I32)).unwrap_err();
    assert_eq!(found.diagnostics().map(|d| d.code()).collect::<Vec<_>>(), ["spec-uneven"]);
}

#[test]
fn summands() {
    let explicit = |in_specs: Option<P>, out_specs: P, f: fn(&Array) -> Array, expected: Expect| {
        check_call(
            |_| {
                set_mesh(Mesh::explicit([("X", 4), ("Y", 2)])?);
                let map = shard_map(move |x: &Array| f(x));
                let map = if let Some(specs) = in_specs { map.in_specs(specs) } else { map };
                jit(map.out_specs(out_specs))(&zeros([8, 8], I32).shard(P!("X", "Y"))).map(|_| ())
            },
            expected,
        );
    };
    let unreduced = || P!("X").unreduced("Y");
    explicit(
        None,
        unreduced(),
        |x| x.psum("Y"),
        expect![[r#"
            error[out-spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: the spec leaves the result to be summed over Y, and it is equal along Y
              --> here
               | i32[2,4]{V:X} as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: drop Y from the spec; or let it count once for each device: `.pcast(.., Pcast::Varying)`"#]],
    );
    explicit(
        None,
        P!("X"),
        |x| x.pcast("Y", Pcast::Unreduced),
        expect![[r#"
            error[out-spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: the result is still to be summed over Y
              --> here
               | i32[2,4]{V:X, U:Y}
               = mesh: X=4, Y=2
               = help: sum it: `.psum(..)`, `.psum_scatter(..)`"#]],
    );
    explicit(
        Some(unreduced()),
        P!("X"),
        |x| x.psum("Y"),
        expect![[r#"
            error[in-spec-layout]: shard_map of a closure in `summands`, in_specs of `args`: the argument is laid out otherwise than its spec, and nothing is moved unasked over explicit axes
              --> here
               | i32[8@X,8@Y] as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: a sum that has been taken cannot be opened again: take `.unreduced(..)` from the spec"#]],
    );
    explicit(
        None,
        P!("X"),
        |x| x.psum("Y").pcast("Y", Pcast::Reduced),
        expect![[r#"
            error[out-spec-reduced]: shard_map of a closure in `summands`, out_specs of `result`: the result is reduced over Y, and its spec does not say so
              --> here
               | i32[2,4]{V:X, R:Y} as P!("X")
               = mesh: X=4, Y=2
               = help: say it with `.reduced(..)` of Explicit axes; or make the result equal: `.all_gather_equal(..)`, or no `.pcast(..)`"#]],
    );
    explicit(
        None,
        P!("X").reduced("Y"),
        |x| x.psum("Y"),
        expect![[r#"
            error[out-spec-reduced]: shard_map of a closure in `summands`, out_specs of `result`: the spec claims a result that is reduced over Y, and it is not
              --> here
               | i32[2,4]{V:X} as P!("X").reduced("Y")
               = mesh: X=4, Y=2
               = help: drop Y from `.reduced(..)`, or cast the result: `.pcast(.., Pcast::Reduced)`"#]],
    );
    explicit(
        Some(P!("X", "Y").reduced("Y")),
        P!("X"),
        |x| x.clone(),
        expect![[r#"
            error[spec-axis-twice]: shard_map of a closure in `summands`, in_specs of `args`: the layout uses axis "Y" twice
              --> here
               | i32[8@X,8@Y] as P!("X", "Y").reduced("Y")
               = mesh: X=4, Y=2
               = help: an axis splits at most one dimension"#]],
    );
    check_call(
        |x| {
            let f = shard_map(|x: &Array| x.all_gather_reduced("X", 0)).in_specs(P!("X")).out_specs(P!());
            jit(f)(x).map(|_| ())
        },
        expect![[r#"
            error[out-spec-reduced]: shard_map of a closure in `summands`, out_specs of `result`: the result is reduced over X, and its spec does not say so
              --> here
               | i32[8,8]{R:X} as P!()
               = mesh: X=4, Y=2
               = help: say it with `.reduced(..)` of Explicit axes; or make the result equal: `.all_gather_equal(..)`, or no `.pcast(..)`"#]],
    );
    check_call(
        |x| {
            jit(shard_map(|x: &Array| x.sum(1)).in_specs(P!("X", "Y")).out_specs(P!("X").unreduced("Y")))(x).map(|_| ())
        },
        expect![[r#"
            error[spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: an array is unreduced over Explicit axes only, "Y" is none
              --> here
               | i32[2]{V:(X,Y)} as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: leave `.unreduced(..)` out, or make the axis Explicit where the mesh is made"#]],
    );
}
