//! Tests of the messages of diagnostics.

use expect_test::{Expect, expect};
use shardwise::prelude::*;

/// Checks the diagnostics, without the folders of files.
fn check(got: Array, expected: Expect) {
    let text = got.check().expect_err("a mistake").to_string();
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    expected.assert_eq(&text.lines().map(places).collect::<Vec<_>>().join("\n"));
}

#[test]
fn words() {
    let mesh = Mesh::auto([("X", 4), ("model", 2)]).unwrap();
    let x = ones([8, 16], F32);
    let n = ones([8], I32);
    check(
        x.matmul(ones([12, 16], F32)),
        expect![[r#"
            error[dot-contracting-size]: `matmul`: the sizes of the contracted dimensions differ
              --> here
               | f32[8,16] · f32[12,16]: dim 1 of the left operand has size 16, and dim 0 of the right operand has size 12
               = help: the right operand fits when it is transposed: `.t()`"#]],
    );
    check(
        &x + ones([3], F32),
        expect![[r#"
            error[broadcast]: `add`: the arrays cannot be broadcast together
              --> here
               | f32[8,16] and f32[3]
               = expected: sizes that are equal or 1, compared from the last dimension"#]],
    );
    check(
        &x + ones([16], BF16),
        expect![[r#"
            error[dtype-mixed]: `add` needs arrays of the same dtype
              --> here
               | f32[8,16] and bf16[16]
               = help: convert one of them: `.astype(F32)`"#]],
    );
    check(
        &n + 0.5,
        expect![[r#"
            error[number-dtype]: `add`: 0.5 cannot be a number of this dtype
              --> here
               | i32[8]
               = help: write an integer, or use a dtype of floats: arrays are converted by `.astype(F32)`"#]],
    );
    check(
        &n + 3_000_000_000u32,
        expect![[r#"
            error[number-dtype]: `add`: 3000000000 cannot be a number of this dtype
              --> here
               | i32[8]
               = note: the number is out of the range of the dtype
               = help: use a dtype whose range contains it"#]],
    );
    check(
        n.exp(),
        expect![[r#"
            error[dtype-kind]: `exp` is not defined for this dtype
              --> here
               | i32[8]
               = expected: an array of floats or complex numbers
               = help: convert the array first: `.astype(F32)`"#]],
    );
    check(
        x.reshape([4, INFER, 5]),
        expect![[r#"
            error[reshape-size]: `reshape` cannot change the number of elements
              --> here
               | f32[8,16] to [4,INFER,5]: 128 elements
               = help: one size may be `INFER` if the others determine it"#]],
    );
    check(
        x.sum(2),
        expect![[r#"
        error[dimension]: there is no dimension 2
          --> here
           | f32[8,16]"#]],
    );
    check(
        x.sum([0, -2]),
        expect![[r#"
        error[dimension-twice]: `sum` names dimension 0 twice
          --> here
           | f32[8,16]"#]],
    );
    check(
        x.i((.., 16)),
        expect![[r#"
            error[index-bounds]: index 16 is out of bounds of dimension 1, which has size 16
              --> here
               | f32[8,16]"#]],
    );
    check(
        x.i((0, 0, 0)),
        expect![[r#"
            error[index-rank]: the index has 3 entries, and the array has only 2 dimensions
              --> here
               | f32[8,16]"#]],
    );
    check(
        x.i(x.gt(0)),
        expect![[r#"
            error[index-dtype]: the index array does not hold integers: bool[8,16]; the size of a selection by bools is unknown: use `select`
              --> here
               | f32[8,16]"#]],
    );
    check(
        einsum("bd,df->bf", [&x, &ones([12, 4], F32)]),
        expect![[r#"
        error[einsum-size]: `einsum` bd,df->bf: `d` has two sizes, 16 and 12
          --> here
           | f32[8,16], f32[12,4]"#]],
    );
    check(
        x.shard(mesh.sharding(P!("modle"))),
        expect![[r#"
        error[spec-unknown-axis]: the mesh has no axis "modle"
          --> here
           | f32[8,16] as P!("modle")
           = mesh: X=4, model=2
           = help: did you mean "model"?"#]],
    );
    check(
        x.shard(mesh.sharding(P!(None, None, "X"))),
        expect![[r#"
            error[spec-rank]: the layout has 3 entries for an array of 2 dimensions
              --> here
               | f32[8,16] as P!(None, None, "X")
               = mesh: X=4, model=2
               = help: write at most one entry for each dimension: P!(None, None)"#]],
    );
    check(
        std::thread::Builder::new().name("worker".into()).spawn(move || x.shard(P!("X"))).unwrap().join().unwrap(),
        expect![[r#"
            error[no-mesh]: this layout needs a mesh, and none is current
              --> here
               | P!("X") on thread "worker", which has no current mesh
               = help: call `set_mesh(&mesh)` on this thread, wrap the code in `with_mesh(&mesh, || ..)`, or write `mesh.sharding(P!(..))`"#]],
    );
}

#[test]
fn words_of_control_flow() {
    let x = ones([2], F32);
    let f = jit(|x: &Array| fori_loop(0..3, x.clone(), |_, c| c.astype(BF16)));
    expect![[r#"
        error[carry]: `fori_loop`: the body changes the type of the carry
          --> here
           | `carry` enters as f32[2] and leaves as bf16[2]
           = help: give both the same type, for example with `.astype(..)` on the initial value"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| cond(x.sum(..).gt(0), || x.clone(), || x.sum(..)));
    expect![[r#"
        error[branch-types]: `cond`: the results of the branches have different types
          --> here
           | `result` is f32[] if false and f32[2] if true"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| while_loop(x.clone(), |c| c.gt(0), |c| c));
    expect![[r#"
        error[condition]: `while_loop`: the condition is not a bool scalar
          --> here
           | bool[2]"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
}

#[test]
fn a_switch_is_by_an_integer() {
    let x = ones([2], F32);
    let f = jit(|x: &Array| switch(2.0, 4, |k| x * k));
    expect![[r#"
        error[condition]: `switch`: the index is not an integer scalar
          --> here
           | 2.0
           = help: convert the index first: `as i32`"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| switch(true, 4, |k| x * k));
    expect![[r#"
        error[condition]: `switch`: the index is not an integer scalar
          --> here
           | true
           = help: convert the index first: `as i32`"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| switch(x.sum(..), 4, |k| x * k));
    expect![[r#"
        error[condition]: `switch`: the index is not an integer scalar
          --> here
           | f32[]
           = help: convert the index first: `.astype(I32)`"#]]
    .assert_eq(&strip(f(&x).unwrap_err()));
    assert_eq!(switch(2, 4, |k| &x * k).to_vec::<f32>().unwrap(), [2.0; 2]);
}

#[test]
fn the_value_of_a_padding_is_a_scalar() {
    let x = ones([2], F32);
    check(
        x.pad([(1, 1)], array(&[1.0f32, 2.0])),
        expect![[r#"
            error[pad-value]: `pad` needs a number or a scalar array to pad with
              --> here
               | f32[2] by f32[2]"#]],
    );
    let unknown = &x + ones([3], F32);
    for eager in [x.pad([(1, 1)], &unknown), x.pad([(1, 1)], ones([3], F32) + &unknown)] {
        let codes: Vec<String> = eager.check().unwrap_err().diagnostics().map(|d| d.code().into()).collect();
        assert_eq!(codes, ["broadcast"]);
    }
    let wrong = jit(|x: &Array| x.pad([(1, 1)], x + ones([3], F32))).lower(&x).unwrap_err();
    assert_eq!(wrong.diagnostics().map(|d| d.code()).collect::<Vec<_>>(), ["broadcast"]);
    assert_eq!(x.pad([(1, 0)], scalar(3, F32)).to_vec::<f32>().unwrap(), [3.0, 1.0, 1.0]);
}

#[test]
fn a_stack_is_named_in_its_mistakes() {
    let (x, y) = (ones([2, 3], F32), ones([2, 4], F32));
    check(
        stack([&x, &y], 0),
        expect![[r#"
            error[concatenate]: `stack` needs arrays of the same shape
              --> here
               | f32[2,3] and f32[2,4]"#]],
    );
    check(
        stack([&x, &x.astype(BF16)], 0),
        expect![[r#"
            error[dtype-mixed]: `stack` needs arrays of the same dtype
              --> here
               | f32[2,3] and bf16[2,3]
               = help: convert one of them: `.astype(F32)`"#]],
    );
    check(
        stack::<Array>([], 0),
        expect![[r#"
            error[no-arrays]: `stack` needs at least one array
              --> here
               | an empty list"#]],
    );
    check(
        stack([&x, &x], 3),
        expect![[r#"
            error[dimension]: the result has 3 dimensions: there is no dimension 3
              --> here
               | f32[2,3]"#]],
    );
    assert_eq!(stack([&x, &x], -1).shape(), [2, 3, 2]);
}

#[test]
fn a_dump_that_cannot_be_written_names_its_path() {
    let file = std::env::temp_dir().join(format!("shardwise-no-folder-{}", std::process::id()));
    std::fs::write(&file, "").unwrap();
    let lowered = || jit(|x: &Array| x + 1.0).lower(&ones([2], F32)).unwrap();
    let said = |dir: &std::path::Path| lowered().dump(dir).unwrap_err().to_string();
    let (below, beside) = (said(&file.join("stages")), said(&file));
    std::fs::remove_file(&file).unwrap();
    assert!(below.contains(&format!("cannot create the folder `{}`: ", file.join("stages").display())), "{below}");
    assert!(beside.contains(&format!("cannot create the folder `{}`: ", file.display())), "{beside}");
}

fn strip(e: Error) -> String {
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    e.to_string().lines().map(places).collect::<Vec<_>>().join("\n")
}
