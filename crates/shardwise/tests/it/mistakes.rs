//! Tests of the messages of diagnostics.

use expect_test::{Expect, expect};
use shardwise::prelude::*;

fn check(got: Array, expected: Expect) {
    let text = got.check().expect_err("a mistake").to_string();
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    expected.assert_eq(&text.lines().map(places).collect::<Vec<_>>().join("\n"));
}

#[test]
fn functions_that_call_others_are_named() {
    let named = |got: Array, code: &str, name: &str| {
        let text = got.check().expect_err("a mistake").to_string();
        assert!(text.starts_with(&format!("error[{code}]: `{name}`")), "{text}");
        assert_eq!(text.matches("error[").count(), 1, "{text}");
    };
    let (x, n) = (ones([8, 16], F32), ones([8], I32));
    named(x.clamp(ones([3], F32), 1), "broadcast", "clamp");
    named(x.clamp(0, ones([3], F32)), "broadcast", "clamp");
    named(x.clamp(0, ones([16], BF16)), "dtype-mixed", "clamp");
    named(n.clamp(0.5, 1), "number-dtype", "clamp");
    named(n.clamp(0, 1.5), "number-dtype", "clamp");
    named(n.gt(0).clamp(n.gt(0), n.gt(0)), "dtype-kind", "clamp");
    let wide = Array::of_type([2, 1 << 31], F32);
    named(shardwise::categorical(Key::new(0), &wide, 1), "too-large", "categorical");
    named(shardwise::categorical(Key::new(0), &ones([2, 0], F32), 1), "reduce-empty", "categorical");
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
            error[dtype-mixed]: `add` needs a single dtype, and is given different ones
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
               = help: use a number in this range, or a dtype whose range contains it"#]],
    );
    check(
        n.exp(),
        expect![[r#"
            error[dtype-kind]: `exp` cannot take this dtype here
              --> here
               | i32[8]
               = expected: an array of floats or complex numbers
               = help: convert the array first: `.astype(F32)`"#]],
    );
    check(
        x.reshape([4, INFER, 5]),
        expect![[r#"
            error[reshape-size]: `reshape`: the elements cannot be arranged in this shape
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
            error[index-rank]: the index has entries for 3 dimensions, and the array has only 2
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
           = help: give both the same shape and dtype: a dtype is converted by `.astype(..)` on the initial value"#]]
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
    let f = jit(|x: &Array| fori_loop(zeros([], I4)..zeros([], I4), x.clone(), |_, c| c));
    expect![[r#"
        error[number-dtype]: `zeros`: 0 cannot be a number of this dtype
          --> here
           | i4[]
           = note: arrays of this dtype can only be stored, and converted to other dtypes: no number can be used with them
        error[number-dtype]: `zeros`: 0 cannot be a number of this dtype
          --> here
           | i4[]
           = note: arrays of this dtype can only be stored, and converted to other dtypes: no number can be used with them
        error[loop-steps]: `fori_loop`: the range must consist of integer scalars of one dtype that has arithmetic
          --> here
           | i4[]..i4[]"#]]
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
            error[dtype-mixed]: `stack` needs a single dtype, and is given different ones
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

#[test]
fn words_of_layers() {
    use shardwise::nn::{self, Attention, Conv, Pool, init};
    let x = ones([8, 16], F32);
    check(
        nn::rms_norm(&x, &ones([8], F32), 1e-6),
        expect![[r#"
        error[norm-scale]: `rms_norm`: the scale does not fit the array
          --> here
           | f32[8] for f32[8,16]
           = expected: a scale with one dimension, of the size of the last dimension of the array"#]],
    );
    check(
        nn::dropout(Key::new(0), &x, 1.5),
        expect![[r#"
        error[dropout-rate]: `dropout`: the rate 1.5 is not between 0 and 1
          --> here
           | f32[8,16]
           = help: the rate is the probability that an element is set to 0, as 0.1 for one in ten"#]],
    );
    check(
        nn::softmax_cross_entropy(&x, &zeros([8, 16], I32)),
        expect![[r#"
        error[labels]: `softmax_cross_entropy`: the labels do not fit the logits
          --> here
           | logits f32[8,16], labels i32[8,16]
           = expected: labels of shape [8]
           = help: integer labels have a class for each example; labels of floats have a probability for each logit"#]],
    );
    check(
        nn::softmax_cross_entropy(&x, &zeros([8], F32)),
        expect![[r#"
        error[labels]: `softmax_cross_entropy`: the labels do not fit the logits
          --> here
           | logits f32[8,16], labels f32[8]
           = expected: labels of shape [8, 16]
           = help: integer labels have a class for each example; labels of floats have a probability for each logit"#]],
    );
    check(
        nn::softmax_cross_entropy(&ones([], F32), &zeros([], I32)),
        expect![[r#"
        error[labels]: `softmax_cross_entropy`: the labels do not fit the logits
          --> here
           | logits f32[], labels i32[]
           = expected: logits whose last dimension is the classes"#]],
    );
    check(
        nn::softmax_cross_entropy(&ones([8, 0], F32), &zeros([8], I32)),
        expect![[r#"
            error[index-bounds]: `softmax_cross_entropy`: there are examples, and no classes to choose from
              --> here
               | logits f32[8,0], labels i32[8]"#]],
    );
    let none = nn::softmax_cross_entropy(&ones([0, 0], F32), &zeros([0], I32));
    assert_eq!(none.to_vec::<f32>().unwrap(), [0f32; 0]);
    let (q, kv) = (ones([2, 5, 8, 4], F32), ones([2, 5, 3, 4], F32));
    check(
        nn::dot_product_attention(&q, &kv, &kv, Attention::new()),
        expect![[r#"
        error[attention-heads]: `dot_product_attention`: 8 heads of queries cannot be divided among 3 heads of keys
          --> here
           | query f32[2,5,8,4], key f32[2,5,3,4], value f32[2,5,3,4]
           = help: the number of heads of keys must be positive, and divide that of heads of queries"#]],
    );
    check(
        nn::dot_product_attention(&q, &q, &kv, Attention::new()),
        expect![[r#"
        error[attention-shapes]: `dot_product_attention`: the arrays do not fit each other
          --> here
           | query f32[2,5,8,4], key f32[2,5,8,4], value f32[2,5,3,4]
           = expected: query [b,q,heads,d], key [b,k,kv_heads,d] and value [b,k,kv_heads,e], or all without b"#]],
    );
    check(
        nn::dot_product_attention(&q, &q, &q, Attention::new().mask(&ones([5, 6], Bool))),
        expect![[r#"
        error[attention-mask]: `dot_product_attention`: the mask cannot be broadcast to the scores
          --> here
           | bool[5,6]
           = expected: a shape that is broadcast to [2, 8, 5, 5]: batch, heads, queries, keys"#]],
    );
    check(
        nn::dot_product_attention(&q, &q, &q, Attention::new().mask(&ones([5, 5], F32))),
        expect![[r#"
        error[dtype-kind]: `dot_product_attention` cannot take this dtype here
          --> here
           | f32[5,5]
           = expected: a mask of bools
           = help: compare the mask first: `.ne(0)`"#]],
    );
    let (image, kernel) = (ones([1, 4, 4, 6], F32), ones([3, 3, 6, 4], F32));
    check(
        nn::conv(&image, &kernel, Conv::new().groups(4)),
        expect![[r#"
        error[conv-groups]: `conv`: 6 features of the input and 4 of the result cannot be split into 4 groups
          --> here
           | input f32[1,4,4,6], kernel f32[3,3,6,4]
           = help: the number of groups must divide both"#]],
    );
    check(
        nn::conv(&image, &kernel, Conv::new().groups(0)),
        expect![[r#"
        error[conv-groups]: `conv`: 6 features of the input and 4 of the result cannot be split into 0 groups
          --> here
           | input f32[1,4,4,6], kernel f32[3,3,6,4]
           = help: the number of groups must divide both"#]],
    );
    check(
        nn::conv(&image, &kernel, Conv::new().groups(2)),
        expect![[r#"
        error[conv-shapes]: `conv`: the kernel takes 6 features, and each of 2 groups of the input has 3
          --> here
           | input f32[1,4,4,6], kernel f32[3,3,6,4]
           = expected: input [batch, spatial.., features] and kernel [spatial.., features / groups, results]"#]],
    );
    check(
        nn::conv(&image, &kernel, Conv::new().strides([2])),
        expect![[r#"
        error[window]: `conv`: the windows or their options do not fit the array
          --> here
           | strides: [2], for f32[1,4,4,6]
           = expected: an array [batch, spatial.., features], 2 entries, and no 0 in windows, strides and dilations"#]],
    );
    check(
        nn::conv(&image, &kernel, Conv::new().padding([(1, 1)])),
        expect![[r#"
        error[window]: `conv`: the windows or their options do not fit the array
          --> here
           | the padding: [(1, 1)], for f32[1,4,4,6]
           = expected: an array [batch, spatial.., features], 2 entries, and no 0 in windows, strides and dilations"#]],
    );
    check(
        nn::max_pool(&image, Pool::new([2, 0])),
        expect![[r#"
        error[window]: `max_pool`: the windows or their options do not fit the array
          --> here
           | the window: [2, 0], for f32[1,4,4,6]
           = expected: an array [batch, spatial.., features], 2 entries, and no 0 in windows, strides and dilations"#]],
    );
    check(
        nn::avg_pool(&ones([4], F32), Pool::new([2])),
        expect![[r#"
        error[window]: `avg_pool`: the windows or their options do not fit the array
          --> here
           | no spatial dimension, for f32[4]
           = expected: an array [batch, spatial.., features], 1 entry, and no 0 in windows, strides and dilations"#]],
    );
    check(
        init::he_normal(Key::new(0), [4], F32),
        expect![[r#"
        error[init-fans]: `he_normal`: the shape lacks a dimension of the inputs or of the outputs
          --> here
           | f32[4]
           = help: the inputs are the last dimension but one, and the outputs the last one, unless `Scaling::inputs` and `Scaling::outputs` name others"#]],
    );
    check(
        truncated_normal(Key::new(0), 1.0, -1.0, [4], F32),
        expect![[r#"
        error[truncated-normal]: `truncated_normal`: the lower limit 1 is not less than the upper limit -1
          --> here
           | f32[4]
           = help: the lower limit must be less than the upper one"#]],
    );
    // Both limits are excluded, and these are neighbours in f32.
    check(
        truncated_normal(Key::new(0), 1.0, 1.0 + f64::from(f32::EPSILON), [4], F32),
        expect![[r#"
        error[truncated-normal]: `truncated_normal`: there is no f32 between 1 and 1.0000001192092896
          --> here
           | f32[4]
           = help: draw in a dtype with more digits, or choose limits that are further apart"#]],
    );
    assert!(truncated_normal(Key::new(0), 1.0, 1.0 + 1e-12, [4], F32).check().is_err());
    assert!(truncated_normal(Key::new(0), 1.0, 1.0 + 1e-12, [4], F64).check().is_ok());
    assert!(truncated_normal(Key::new(0), -1e-9, 1e-9, [4], F16).check().is_err());
    let [low, high] = [1.0, 1.0 + 2.0 * f64::from(f32::EPSILON)];
    assert_eq!(truncated_normal(Key::new(0), low, high, [1], F32).to_vec::<f32>().unwrap(), [1.0 + f32::EPSILON]);
}

#[test]
fn words_of_optimizers() {
    use shardwise::optim::{adamw, linear, sgd, warmup_cosine};
    let params = vec![ones([4], F32), ones([8, 2], F32)];
    let grads = vec![ones([4], F32), ones([2], F32)];
    let updated = |optimizer: shardwise::optim::Adam| optimizer.update(&grads, optimizer.init(&params), &params).0;
    check(
        updated(adamw(0.1)).remove(1),
        expect![[r#"
        error[gradient-type]: the gradient of `[1]` does not have the parameter's type
          --> here
           | the gradient is f32[2], and the parameter f32[8,2]
           = help: compute the gradient for these parameters; a gradient of another dtype is converted by `.astype(..)`"#]],
    );
    check(
        updated(adamw(0.1).b1(1.5)).remove(0),
        expect![[r#"
        error[optimizer-setting]: the optimizer's `b1` cannot be 1.5
          --> here
           = expected: a number from 0 up to, but not including, 1"#]],
    );
    check(
        updated(adamw(linear(0.0, 1.0, 0))).remove(0),
        expect![[r#"
        error[schedule]: `linear`: the schedule has no steps
          --> here
           = help: pass a positive number of steps"#]],
    );
    for (warmup_steps, steps) in [(0, 10), (10, 10), (10, 9), (0, 0)] {
        let text = warmup_cosine(1.0, 0.0, warmup_steps, steps).at(20).check().unwrap_err().to_string();
        assert!(
            text.starts_with("error[schedule]: `warmup_cosine` needs steps in the warm-up and after it\n"),
            "{text}"
        );
        assert!(text.contains(&format!("{steps} steps in all, {warmup_steps} of them")), "{text}");
    }
    check(
        sgd(0.1).update(&params, adamw(0.1).init(&params), &params).0.remove(0),
        expect![[r#"
        error[tree-form]: `update`: the state is that of another optimizer, or of other options
          --> here
           = note: the form is all but the arrays: lengths of vectors, keys of maps, which options are `Some`, fixed values
           = help: give both the same form; values that the program computes belong in arrays"#]],
    );
}

#[test]
fn words_of_functions_that_rearrange_and_count() {
    let x = ones([4, 6], F32);
    let v = ones([5], F32);
    check(
        x.split(4, 1).remove(0),
        expect![[r#"
        error[split]: `split`: dimension 1 of size 6 cannot be split into 4 parts
          --> here
           | f32[4,6]
           = help: `array_split` makes parts whose sizes differ by one"#]],
    );
    check(
        x.moveaxis([0, 1], 1),
        expect![[r#"
        error[moveaxis]: `moveaxis` is to move 2 dimensions to 1 place
          --> here
           | f32[4,6]
           = help: name one place for each dimension"#]],
    );
    check(
        ones([2, 2, 2], F32).diag(0),
        expect![[r#"
        error[diag-rank]: `diag` needs a vector or a matrix
          --> here
           | f32[2,2,2]
           = help: use `.diagonal(k)` for the diagonals of a batch of matrices"#]],
    );
    check(
        meshgrid([&v, &x], Indexing::Ij)[0].clone(),
        expect![[r#"
        error[vector]: `meshgrid` needs an array with one dimension here
          --> here
           | f32[4,6]
           = help: arrange the elements along one dimension: `.reshape([INFER])`"#]],
    );
    check(
        v.diff(2000, 0) + ones([5000], F32).diff(2000, 0).sum(0),
        expect![[r#"
        error[too-large]: `diff` takes differences at most 1024 times, and is to take them 2000 times
          --> here
           | f32[5000]"#]],
    );
    check(
        x.unique(3, &v),
        expect![[r#"
        error[fill-value]: `unique` needs a number or a scalar array to fill the result with
          --> here
           | f32[4,6] filled with f32[5]"#]],
    );
    check(
        scalar(1, I32).nonzero(3, 0).remove(0),
        expect![[r#"
        error[nonzero-rank]: `nonzero` needs an array with at least one dimension
          --> here
           | i32[]
           = help: use `.ne(0)` for a scalar"#]],
    );
    check(
        v.interp(&v, ones([4], F32)),
        expect![[r#"
        error[interp]: `interp` needs as many values as points
          --> here
           | f32[5] and f32[4]"#]],
    );
    check(
        x.quantile(1.5, 0),
        expect![[r#"
        error[quantile]: `quantile` needs a number between 0 and 1, and is given 1.5
          --> here
           | f32[4,6]"#]],
    );
    check(
        x.quantile(&x, 0),
        expect![[r#"
        error[quantile]: `quantile` needs a scalar or a vector of quantiles
          --> here
           | f32[4,6]"#]],
    );
    check(
        ones([2, 2, 2], F32).cov(1),
        expect![[r#"
        error[cov-rank]: `cov` needs a vector, or a matrix with a row for each variable
          --> here
           | f32[2,2,2]"#]],
    );
    check(
        choice(Key::new(0), 3, [4], Choice::new().without_replacement()),
        expect![[r#"
        error[choice]: `choice` cannot draw 4 of 3 numbers without replacement
          --> here
           | i32[4]"#]],
    );
    check(
        choice(Key::new(0), 3, [4], Choice::new().p(&v)),
        expect![[r#"
        error[choice-p]: `choice` needs 3 probabilities
          --> here
           | f32[5]
           = help: give a probability for each number"#]],
    );
    check(
        nn::group_norm(&x, &ones([6], F32), &ones([6], F32), 4, 1e-6),
        expect![[r#"
        error[group-norm]: `group_norm`: the features cannot be split into 4 groups
          --> here
           | f32[4,6]
           = help: the last dimension is the features, the first is the batch, and the number of groups must divide that of features"#]],
    );
    check(
        x.i((.., ..3)).glu(1),
        expect![[r#"
        error[split]: `glu`: dimension 1 of size 3 cannot be split into 2 parts
          --> here
           | f32[4,3]
           = help: one half is multiplied with the other: the size must be even"#]],
    );
    check(
        tree::ravel(&(v.clone(), v)).1.tree(&ones([9], F32)).0,
        expect![[r#"
        error[ravel-size]: `unravel`: the tree needs a vector of 10 elements
          --> here
           | f32[9]"#]],
    );
}
