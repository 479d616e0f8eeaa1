//! Tests of the messages about mistakes in per-device code.

use expect_test::{Expect, expect};
use shardwise::prelude::*;
use shardwise::vmap;

/// Checks the mistakes of `f` on X=4, Y=2, mapped over an `i32[8,8]` split as `P!("X", "Y")`, with `here` in place of
/// each location.
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
            error[manual-axis]: `psum` over axis "X", which is named twice
              --> here
               = mesh: X=4 Manual, Y=2 Manual"#]],
    );
    check_call(
        |x| jit(vmap(|x: &Array| x.psum(("i", "i"))).axis_name("i"))(x).map(|_| ()),
        expect![[r#"
            error[manual-axis]: `psum` over axis "i" of a batch, which is named twice
              --> here
               | ("i", "i")"#]],
    );
    check(
        |x| x.psum(groups("X", [[0, 3], [1, 2]])),
        expect![[r#"
            error[axis-groups]: `psum`: these groups are not the groups of a sub-axis of "X"
              --> here
               | [[0, 3], [1, 2]], axis "X" has size 4
               = expected: each position once, in groups of two or more that are ascending blocks or strides of the axis, as in [[0, 1], [2, 3]] or [[0, 2], [1, 3]]"#]],
    );
    check_call(
        |x| jit(|x: &Array| x.psum("X"))(x).map(|_| ()),
        expect![[r#"
            error[not-manual]: `psum` over "X" is called outside of `shard_map`, and no `vmap` around it has this axis
              --> here
               = help: call it in the function that `shard_map` maps, or name the axis of a batch: `vmap(..).axis_name(..)`"#]],
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
               = help: add it to `.axes(..)` of the `shard_map`"#]],
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
               | i32[2,4]{V:(X,Y)}: dim 0 has size 2, and there are 4 positions along "X"
               = help: make dim 0 a multiple of 4 (4 with padding)"#]],
    );
    check(
        |x| x.all_to_all("X", stacked(0), stacked(1)),
        expect![[r#"
            error[collective-uneven]: `all_to_all`: dimension 0 must have one element for each position along the axes
              --> here
               | i32[2,4]{V:(X,Y)}: dim 0 has size 2, and there are 4 positions along "X"
               = help: make the size of dim 0 equal to 4"#]],
    );
    check(
        |x| x.psum_scatter("Y", stacked(1)),
        expect![[r#"
            error[collective-uneven]: `psum_scatter`: dimension 1 must have one element for each position along the axes
              --> here
               | i32[2,4]{V:(X,Y)}: dim 1 has size 4, and there are 2 positions along "Y"
               = help: to split the dimension, write it as `1` in place of `stacked(..)`"#]],
    );
    check(
        |x| x.all_to_all("Y", stacked(0), 1),
        expect![[r#"
            error[dimension]: `all_to_all`: one dimension is stacked and the other is not
              --> here
               | i32[2,4]{V:(X,Y)}
               = help: make both `stacked(..)`, or neither"#]],
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
            error[permutation]: `ppermute`: position 1 is the target twice
              --> here
               | [(0, 1), (1, 1)] over "X", which has 4 positions
               = expected: each position from 0 to 3 at most once as a source, and at most once as a target"#]],
    );
    check(
        |x| x.ppermute("X", [(0, 4)]),
        expect![[r#"
            error[permutation]: `ppermute`: there is no position 4
              --> here
               | [(0, 4)] over "X", which has 4 positions
               = expected: each position from 0 to 3 at most once as a source, and at most once as a target"#]],
    );
    check(
        |x| x.pshuffle("X", [0, 1, 2]),
        expect![[r#"
            error[permutation]: `pshuffle`: 3 positions are given, and the axes have 4
              --> here
               | [0, 1, 2] over "X", which has 4 positions
               = expected: 4 positions: entry i is the position whose value position i gets"#]],
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
            error[mixed-states]: `psum` over ("X", "Y") needs a value that is in the same state along all of them
              --> here
               | i32[2,4]{V:Y}
               = help: call it once for the axes of each state: replicated values then count once for each device"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Varying),
        expect![[r#"
            error[wrong-state]: `pcast` over "X" cannot cast this value to varying
              --> here
               | i32[2,4]{V:(X,Y)}
               = expected: a value that is replicated along all of these axes, or reduced along all of them"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).square(),
        expect![[r#"
            error[unreduced]: `multiply` cannot take its operands: one is unreduced over X
              --> here
               | i32[2,4]{V:Y, U:X} and i32[2,4]{V:Y, U:X}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum("X")`"#]],
    );
    check(
        |x| x.pcast(("X", "Y"), Pcast::Unreduced).square(),
        expect![[r#"
            error[unreduced]: `multiply` cannot take its operands: one is unreduced over (X,Y)
              --> here
               | i32[2,4]{U:(X,Y)} and i32[2,4]{U:(X,Y)}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum(("X", "Y"))`"#]],
    );
    check(
        |x| x.pcast(groups("X", [[0, 1], [2, 3]]), Pcast::Unreduced).square(),
        expect![[r#"
            error[unreduced]: `multiply` cannot take its operands: one is unreduced over X:(2)2
              --> here
               | i32[2,4]{V:(X:(1)2,Y), U:X:(2)2} and i32[2,4]{V:(X:(1)2,Y), U:X:(2)2}
               = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
               = help: sum it first: `.psum(..)`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).pmax("Y"),
        expect![[r#"
        error[unreduced]: `pmax` cannot take its operands: one is unreduced over X
          --> here
           | i32[2,4]{V:Y, U:X}
           = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
           = help: sum it first: `.psum("X")`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).pmin_start("Y").done(),
        expect![[r#"
        error[unreduced]: `pmin_start` cannot take its operands: one is unreduced over X
          --> here
           | i32[2,4]{V:Y, U:X}
           = expected: a sum, or another linear op, of operands that are all unreduced over the same axes; or a product of one such operand with operands that are equal on all devices along these axes
           = help: sum it first: `.psum("X")`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced).all_gather("X", 0),
        expect![[r#"
            error[wrong-state]: `all_gather` over "X" cannot take a value that is unreduced over X
              --> here
               | i32[2,4]{V:Y, U:X}
               = help: reduce it first: `.psum(..)` or `.psum_scatter(..)`"#]],
    );
    check(
        |x| x.pcast("X", Pcast::Unreduced),
        expect![[r#"
            error[out-spec-unreduced]: shard_map of `check`, out_specs of `result`: the result is unreduced over X, and its spec does not say so
              --> here
               | i32[2,4]{V:Y, U:X}
               = mesh: X=4, Y=2
               = help: reduce it with `.psum(..)` or `.psum_scatter(..)`, or, over Explicit axes, add `.unreduced(..)` to the spec"#]],
    );
    check(
        |x| fori_loop(0..3, x.clone(), |_, x| x.pcast("X", Pcast::Unreduced)),
        expect![[r#"
            error[carry]: `fori_loop`: the carry is unreduced over different axes before and after the body
              --> here
               | `carry` enters as i32[2,4]{V:(X,Y)} and leaves as i32[2,4]{V:Y, U:X}
               = help: reduce the carry with `.psum(..)`, or make the other side unreduced: `.pcast(.., Pcast::Unreduced)` on a varying value"#]],
    );
    check(
        |x| x.shard(P!("X")),
        expect![[r#"
            error[layout-manual]: the layout uses axis "X", which is manual here
              --> here
               | i32[2,4]{V:(X,Y)}
               = mesh: X=4 Manual, Y=2 Manual
               = help: inside `shard_map` each device has its own value: use collectives to move data"#]],
    );
}

#[test]
fn where_not_all_come() {
    check(
        |x| cond(axis_index("X").lt(2), || x.psum("X"), || x.clone()),
        expect![[r#"
            error[divergent-collective]: the devices along X may not all reach this `psum` over "X", and then it never completes
              --> here
               | it is called inside the `cond` at here, which depends on a value that varies over X
               = mesh: X=4 Manual, Y=2 Manual
               = help: move it outside, or make the numbers that decide that value equal on these devices: `.pmax(..)`"#]],
    );
    check(
        |x| fori_loop(scalar(0, I32)..axis_index("Y"), x.clone(), |_, x| x.ppermute(("X", "Y"), shift(1))),
        expect![[r#"
            error[divergent-collective]: the devices along Y may not all reach this `ppermute` over ("X", "Y"), and then it never completes
              --> here
               | it is called inside the `fori_loop` at here, which depends on a value that varies over Y
               = mesh: X=4 Manual, Y=2 Manual
               = help: move it outside, or make the numbers that decide that value equal on these devices: `.pmax(..)`"#]],
    );
    check(
        |x| while_loop(x.clone(), |x| (x.sum(..).psum("X") + axis_index("X")).lt(10), |x| x + 1),
        expect![[r#"
            error[divergent-collective]: the devices along X may not all reach this `psum` over "X", and then it never completes
              --> here
               | it is called inside the `while_loop` at here, which depends on a value that varies over X
               = mesh: X=4 Manual, Y=2 Manual
               = help: move it outside, or make the numbers that decide that value equal on these devices: `.pmax(..)`"#]],
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
            error[spec-uneven]: shard_map of a closure in `specs`, in_specs of `args.0`: dimension 0 cannot be split evenly over the axes of the layout
              --> here
               | i32[6,8] as P!("X"): dim 0 has size 6, and there are 4 positions along "X"
               = mesh: X=4, Y=2
               = help: make dim 0 a multiple of 4 (8 with padding), or leave "X" out of the layout
            error[spec-rank]: shard_map of a closure in `specs`, in_specs of `args.1`: the layout has 3 entries for an array of 2 dimensions
              --> here
               | i32[8,8] as P!("X", None, "Y")
               = mesh: X=4, Y=2
               = help: write at most one entry for each dimension: P!("X", None)"#]],
    );
    check_call(
        |x| jit(shard_map(two).in_specs(P!("X")).out_specs((P!(), P!("Y"))))(x, x).map(|_| ()),
        expect![[r#"
            error[out-spec-varying]: shard_map of a closure in `specs`, out_specs of `result.0`: the spec requires a result that is replicated along X, and it varies over X
              --> here
               | i32[2,8]{V:X} as P!()
               = mesh: X=4, Y=2
               = help: make it replicated with `.psum(..)`, `.pmax(..)` or `.all_gather_replicated(..)`, or add X to the spec
            error[out-spec-varying]: shard_map of a closure in `specs`, out_specs of `result.1`: the spec requires a result that is replicated along X, and it varies over X
              --> here
               | i32[2,8]{V:X} as P!("Y")
               = mesh: X=4, Y=2
               = help: make it replicated with `.psum(..)`, `.pmax(..)` or `.all_gather_replicated(..)`, or add X to the spec"#]],
    );
    check_call(
        |x| jit(shard_map(two).out_specs(P!()))(x, x).map(|_| ()),
        expect![[r#"
            error[in-specs]: the `shard_map` of a closure in `specs` has no `in_specs`, and not all of its axes are Explicit
              --> here
               | i32[8,8], i32[8,8]
               = note: they can only be left out if all axes of the `shard_map` are Explicit
               = mesh: X=4, Y=2
               = help: add `.in_specs(..)`: one `P!(..)` for all arguments, or a tuple with one for each"#]],
    );
    check_call(
        |x| jit(shard_map(two).axes("X").in_specs(P!("Y")).out_specs(P!("X")))(x, x).map(|_| ()),
        expect![[r#"
            error[spec-not-manual]: shard_map of a closure in `specs`, in_specs of `args.0`: the spec names axis "Y", which this shard_map does not make manual
              --> here
               | i32[8,8] as P!("Y")
               = mesh: X=4 Manual, Y=2 Auto
               = help: leave the axis out of the spec: layouts over other axes stay as they are outside
               = help: or add the axis with `.axes(..)`, if no enclosing `shard_map` has made it manual
            error[spec-not-manual]: shard_map of a closure in `specs`, in_specs of `args.1`: the spec names axis "Y", which this shard_map does not make manual
              --> here
               | i32[8,8] as P!("Y")
               = mesh: X=4 Manual, Y=2 Auto
               = help: leave the axis out of the spec: layouts over other axes stay as they are outside
               = help: or add the axis with `.axes(..)`, if no enclosing `shard_map` has made it manual"#]],
    );
    check_call(
        |x| {
            let many = shard_map(|x: &Vec<Array>| x.clone()).in_specs(vec![P!(), P!()]).out_specs(P!());
            jit(many)(&vec![x.clone()]).map(|_| ())
        },
        expect![[r#"
            error[spec-form]: the form of the specs in `in_specs` differs from the arrays'
              --> here
               | 2 specs for 1 array
               = help: write one layout for all arrays, or one for each, in the form of the arrays: a tuple for a tuple, a `Vec` for a `Vec`"#]],
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
               = help: write at most one entry for each dimension: P!()"#]],
    );
}

#[test]
fn axes_of_specs() {
    let mesh = || Mesh::auto([("data", 4), ("model", 2)]);
    // Every wrong leaf is reported. For a misspelled axis, a similar one is suggested.
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
            error[future-unfinished]: the future of `ppermute_start` is dropped before it is finished
              --> here
               = help: call `.done()` on the future"#]],
    );
    check(
        |x| {
            let started = std::sync::Mutex::new(Some(x.psum_start("X")));
            fori_loop(0..2, x.clone(), |_, x| x + started.lock().unwrap().take().unwrap().done())
        },
        expect![[r#"
            error[future-elsewhere]: `psum_start` is finished in another loop, branch or function than it was started in
              --> here
               = note: it was started at here
               = help: call `.done()` where it was started, and use the result here"#]],
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
            error[out-spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: the spec requires a result that is unreduced over Y, and it is replicated along Y
              --> here
               | i32[2,4]{V:X} as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: drop Y from the spec, or count the result once for each device: `.pcast(.., Pcast::Varying)`"#]],
    );
    explicit(
        None,
        P!("X"),
        |x| x.pcast("Y", Pcast::Unreduced),
        expect![[r#"
            error[out-spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: the result is unreduced over Y, and its spec does not say so
              --> here
               | i32[2,4]{V:X, U:Y}
               = mesh: X=4, Y=2
               = help: reduce it with `.psum(..)` or `.psum_scatter(..)`, or, over Explicit axes, add `.unreduced(..)` to the spec"#]],
    );
    explicit(
        Some(unreduced()),
        P!("X"),
        |x| x.psum("Y"),
        expect![[r#"
            error[in-spec-layout]: shard_map of a closure in `summands`, in_specs of `args`: the argument's layout differs from its spec, and arrays are never moved implicitly over Explicit axes
              --> here
               | i32[8@X,8@Y] as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: an array that is not unreduced cannot become so: remove `.unreduced(..)` from the spec"#]],
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
               = help: add `.reduced(..)` to the spec for Explicit axes, or make the result replicated: use `.all_gather_replicated(..)`, or leave out `.pcast(..)`"#]],
    );
    explicit(
        None,
        P!("X").reduced("Y"),
        |x| x.psum("Y"),
        expect![[r#"
            error[out-spec-reduced]: shard_map of a closure in `summands`, out_specs of `result`: the spec requires a result that is reduced over Y, and it is not
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
            error[spec-axis-twice]: shard_map of a closure in `summands`, in_specs of `args`: the layout uses axis "Y", or a part of it, twice
              --> here
               | i32[8@X,8@Y] as P!("X", "Y").reduced("Y")
               = mesh: X=4, Y=2
               = help: name an axis once: it splits one dimension, or is in `.unreduced(..)` or `.reduced(..)`"#]],
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
               = help: add `.reduced(..)` to the spec for Explicit axes, or make the result replicated: use `.all_gather_replicated(..)`, or leave out `.pcast(..)`"#]],
    );
    check_call(
        |x| {
            jit(shard_map(|x: &Array| x.sum(1)).in_specs(P!("X", "Y")).out_specs(P!("X").unreduced("Y")))(x).map(|_| ())
        },
        expect![[r#"
            error[spec-unreduced]: shard_map of a closure in `summands`, out_specs of `result`: a layout can only be unreduced over Explicit axes, and "Y" is not Explicit
              --> here
               | i32[2]{V:(X,Y)} as P!("X").unreduced("Y")
               = mesh: X=4, Y=2
               = help: leave `.unreduced(..)` out, or make the axis Explicit when the mesh is created"#]],
    );
}
