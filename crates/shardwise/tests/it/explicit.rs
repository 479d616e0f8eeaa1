//! Tests Explicit mode: types, choices, and requested communication.

use expect_test::{Expect, expect};
use shardwise::prelude::*;

fn mesh(level: Communicate) -> Mesh {
    Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(level)
}

fn like(mesh: &Mesh, shape: &[usize], spec: P) -> Array {
    let n: usize = shape.iter().product();
    arange(0..n, F32).reshape(shape).shard(mesh.sharding(spec))
}

fn codes(e: &Error) -> Vec<&str> {
    e.diagnostics().map(|d| d.code()).collect()
}

/// Returns the type of the result of `f`, compiled and run, or the codes of its mistakes. Checks that an eager call
/// agrees.
fn typed(mesh: &Mesh, x: &Array, f: impl Fn(&Array) -> Array + Send + Sync) -> String {
    let lowered = with_mesh(mesh, || {
        jit(|x: &Array| f(x)).lower(x).and_then(|l| l.compile()).and_then(|c| c(x)).map(|a| a.ty().to_string())
    });
    let eager = with_mesh(mesh, || f(x).check().map(|a| a.ty().to_string()));
    let word = |r: Result<String>| r.unwrap_or_else(|e| codes(&e).join(" "));
    let (lowered, eager) = (word(lowered), word(eager));
    assert_eq!(lowered, eager, "traced and eager");
    lowered
}

#[test]
fn types_print_inside_and_outside() {
    let mesh = mesh(Communicate::Warn);
    let x = arange(0..16, I32).reshape([8, 2]).shard(mesh.sharding(P!("X", "Y")));
    assert_eq!(x.ty().to_string(), "i32[8@X,2@Y]");
    let f = jit(|x: &Array| {
        let out = x * 2;
        assert_eq!((x.ty().to_string(), out.ty().to_string()), ("i32[8@X,2@Y]".into(), "i32[8@X,2@Y]".into()));
        out
    });
    let y = f(&x).unwrap();
    assert_eq!(y.ty().to_string(), "i32[8@X,2@Y]");
    assert_eq!(y.to_vec::<i32>().unwrap(), (0..16).map(|i| 2 * i).collect::<Vec<_>>());
    assert_eq!((&x + &x).ty().to_string(), "i32[8@X,2@Y]");
}

#[test]
fn one_operand() {
    let mesh = mesh(Communicate::Allow);
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let t = |f: fn(&Array) -> Array| typed(&mesh, &x, f);
    assert_eq!(t(|x| x.exp()), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.t()), "f32[16@Y,8@X]");
    assert_eq!(t(|x| x.sum(0)), "f32[16@Y]");
    assert_eq!(t(|x| x.sum(..)), "f32[]");
    assert_eq!(t(|x| x.argmax(1)), "i32[8@X]");
    assert_eq!(t(|x| x.softmax(1)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.var(0)), "f32[16@Y]");
    assert_eq!(t(|x| x.expand_dims(1)), "f32[8@X,1,16@Y]");
    assert_eq!(t(|x| x.reshape([4, 2, 2, 8])), "f32[4@X,2,2@Y,8]");
    assert_eq!(t(|x| x.reshape([128])), "f32[128@(X,Y)]");
    assert_eq!(t(|x| x.reshape([2, 4, 16])), "layout-ambiguous");
    assert_eq!(t(|x| x.i(..4)), "f32[4@X,16@Y]");
    assert_eq!(t(|x| x.i(..5)), "f32[5,16@Y]");
    assert_eq!(t(|x| x.i(3)), "f32[16@Y]");
    assert_eq!(t(|x| x.i((.., 3))), "f32[8@X]");
    assert_eq!(t(|x| x.i((ds(scalar(1, I32), 4), ..))), "f32[4@X,16@Y]");
    assert_eq!(t(|x| x.cumsum(0)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.sort(1)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.flip(0)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.roll(1, 1)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.pad([(0, 0), (1, 1)], 0.0)), "f32[8@X,18@Y]");
    assert_eq!(t(|x| x.top_k(4).0), "f32[8@X,4@Y]");
    assert_eq!(t(|x| x.broadcast_to([3, 8, 16])), "f32[3,8@X,16@Y]");
    assert_eq!(t(|x| concatenate([x, x], 0)), "f32[16@X,16@Y]");
    assert_eq!(t(|x| stack([x, x], 0)), "f32[2,8@X,16@Y]");
    assert_eq!(t(|x| x + 1.0), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.gelu()), "f32[8@X,16@Y]");
    assert_eq!(t(|x| x.i(arange(0..4, I32))), "f32[4,16@Y]");
    assert_eq!(t(|x| x.clamp(0, 1)), "f32[8@X,16@Y]");
}

#[test]
fn two_operands() {
    let mesh = mesh(Communicate::Allow);
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let t = |shape: &[usize], spec: P, f: fn(&Array, &Array) -> Array| {
        let y = like(&mesh, shape, spec);
        typed(&mesh, &x, |x| f(x, &y))
    };
    assert_eq!(t(&[8, 16], P!(None, "Y"), |x, y| x + y), "f32[8@X,16@Y]");
    assert_eq!(t(&[16], P!("Y"), |x, y| x + y), "f32[8@X,16@Y]");
    assert_eq!(t(&[16], P!("X"), |x, y| x + y), "layout-ambiguous");
    assert_eq!(t(&[8, 16], P!("Y", "X"), |x, y| x + y), "layout-ambiguous");
    assert_eq!(t(&[16, 4], P!(None, None), |x, y| x.matmul(y)), "f32[8@X,4]");
    assert_eq!(t(&[16, 4], P!("Y", None), |x, y| x.matmul(y)), "layout-ambiguous");
    assert_eq!(t(&[16, 4], P!("Y", None), |x, y| x.matmul(y).shard(P!("X", "Y"))), "f32[8@X,4@Y]");
    assert_eq!(t(&[16, 4], P!(None, "X"), |x, y| x.matmul(y)), "layout-ambiguous");
}

#[test]
fn control_flow() {
    let mesh = mesh(Communicate::Warn);
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let t = |f: fn(&Array) -> Array| typed(&mesh, &x, f);
    assert_eq!(t(|x| fori_loop(0..3, x.clone(), |_, c| c * 2.0)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| while_loop(x.clone(), |c| c.max(..).lt(1000.0), |c| c * 2.0)), "f32[8@X,16@Y]");
    assert_eq!(t(|x| scan(zeros_like(&x.i(0)), x.clone(), |c, r| (&c + r, c)).1), "f32[8,16@Y]");
    assert_eq!(t(|x| cond(x.sum(..).gt(0.0), || x * 2.0, || zeros([8, 16], F32))), "f32[8@X,16@Y]");
    assert_eq!(t(|x| cond(x.sum(..).gt(0.0), || zeros([8, 16], F32), || x * 2.0)), "f32[8@X,16@Y]");
    let f = jit(|x: &Array| fori_loop(0..3, zeros([8, 16], F32), |_, c| c + x));
    words(
        &f(&x).unwrap_err(),
        expect![[r#"
            error[carry]: `fori_loop`: the body changes the layout of the carry
              --> here
               | `carry` enters as f32[8,16] and leaves as f32[8@X,16@Y]
               = help: give the initial value the layout after the body: `.shard(P!("X", "Y"))` before the loop
               = help: give the result of the body the initial layout: `.shard(P!(None, None))` in the body"#]],
    );
    let f = jit(|x: &Array| cond(x.sum(..).gt(0.0), || x.clone(), || x.shard(P!("Y", "X"))));
    words(
        &with_mesh(&mesh, || f(&x)).unwrap_err(),
        expect![[r#"
            error[branch-types]: `cond`: the results of the branches have different layouts
              --> here
               | `result` is f32[8@Y,16@X] if false and f32[8@X,16@Y] if true
               = help: give both the same layout: `.shard(P!("Y", "X"))` or `.shard(P!("X", "Y"))`"#]],
    );
}

#[track_caller]
fn words(e: &Error, expected: Expect) {
    let text = e.to_string();
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    expected.assert_eq(&text.lines().map(places).collect::<Vec<_>>().join("\n"));
}

#[rustfmt::skip]
#[test]
fn the_chapters_einsum() {
    let mesh = mesh(Communicate::Warn);
    let x = like(&mesh, &[8, 64], P!("X", "Y"));
    let w = like(&mesh, &[64, 128], P!("Y", None));
    let ambiguous = jit(|x: &Array, w: &Array| {
        einsum!("bd,df->bf", x.square(), w)
    });
    let l = line!() - 2;
    let e = ambiguous(&x, &w).unwrap_err();
    assert_eq!(e.diagnostics().map(|d| d.location().line()).collect::<Vec<_>>(), [l]);
    words(&e, expect![[r#"
        error[layout-ambiguous]: `einsum`: the layout of the result is ambiguous
          --> here
           | f32[8@X,64@Y], f32[64@Y,128]: the contracting dimensions (dim 1 of operand 0, dim 0 of operand 1) are sharded over "Y", which leaves a sum over devices
           = mesh: X=4, Y=2
           = help: `.shard(P!("X", "Y"))`: reduce-scatter over Y, 512 B
           = help: `.shard(P!("X", None))`: all-reduce over Y, 1024 B"#]]);
    let scattered = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w).shard(P!("X", "Y")));
    let lowered = with_mesh(&mesh, || scattered.lower((&x, &w))).unwrap();
    lowered.communication().unwrap().assert_only(["reduce-scatter Y"]);
    let reduced = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x.square(), w).shard(P!("X", None)));
    let lowered = with_mesh(&mesh, || reduced.lower((&x, &w))).unwrap();
    lowered.communication().unwrap().assert_only(["all-reduce Y"]);
    let asked_at_the_end = jit(|x: &Array, w: &Array| einsum!("bd,df->bf", x, w)).out_shardings(P!("X", "Y"));
    let out = with_mesh(&mesh, || asked_at_the_end(&x, &w)).unwrap();
    assert_eq!(out.ty().to_string(), "f32[8@X,128@Y]");
    // The same eagerly.
    let y = einsum!("bd,df->bf", &x, &w);
    assert_eq!(codes(&y.check().unwrap_err()), ["layout-ambiguous"]);
    let y = y.shard(mesh.sharding(P!("X", "Y")));
    assert_equal(&y, &out);
    assert_eq!(codes(&(einsum!("bd,df->bf", &x, &w) + 1.0).check().unwrap_err()), ["layout-ambiguous"]);
}

/// Tests that the operand is named whose layout cannot stay, where an axis would split two dimensions of the result.
#[test]
fn the_operand_that_an_axis_leaves_is_named() {
    let mesh = mesh(Communicate::Deny);
    let (x, kernel) = (like(&mesh, &[8, 16, 4], P!("X")), like(&mesh, &[3, 4, 8], P!(None, None, "X")));
    let out =
        with_mesh(&mesh, || (shardwise::nn::conv(&x, &kernel, shardwise::nn::Conv::new()) + 1.0).check().map(|_| ()));
    let text = out.unwrap_err().to_string();
    assert!(text.contains("needs the whole of dim 2 of operand 1, which is sharded over \"X\""), "{text}");
}

#[test]
fn communication_is_visible() {
    let x = |level| like(&mesh(level), &[8, 16], P!("X", "Y"));
    let f = jit(|x: &Array| x.sum(1).exp());
    let warned = f.lower(&x(Communicate::Warn)).unwrap();
    let found: Vec<String> = warned.warnings().map(|d| d.message().to_string()).collect();
    assert_eq!(found, ["`sum` communicates without the program asking for it"]);
    assert_eq!(f.lower(&x(Communicate::Allow)).unwrap().warnings().count(), 0);
    let e = f.lower(&x(Communicate::Deny)).err().unwrap();
    words(
        &e,
        expect![[r#"
            error[communication-denied]: `sum` communicates without the program asking for it
              --> here
               | f32[8@X,16@Y]: partial results over "Y" are combined
               = mesh: X=4, Y=2
               = help: `.shard(P!("X"))`: all-reduce over Y, 8 B
               = help: `.shard(P!(("X", "Y")))`: reduce-scatter over Y, 4 B"#]],
    );
    let softmax = jit(|x: &Array| x.softmax(1) + 1.0);
    words(
        &softmax.lower(&x(Communicate::Deny)).err().unwrap(),
        expect![[r#"
            error[communication-denied]: `softmax` communicates without the program asking for it
              --> here
               | f32[8@X,16@Y]: partial results over "Y" are combined
               = mesh: X=4, Y=2
               = help: `.shard(P!("X", "Y"))`: all-reduce over Y, 8 B; all-reduce over Y, 8 B
               = help: `.shard(P!(("X", "Y"), None))`: all-reduce over Y, 8 B; reduce-scatter over Y, 4 B; all-to-all over Y, 32 B"#]],
    );
    let asked = jit(|x: &Array| x.sum(1).shard(P!(("X", "Y"))).exp());
    let lowered = asked.lower(&x(Communicate::Deny)).unwrap();
    lowered.communication().unwrap().assert_only(["reduce-scatter Y"]);
    let scope = jit(|x: &Array| with_communication(Communicate::Allow, || x.sum(1).exp()));
    assert_eq!(scope.lower(&x(Communicate::Deny)).unwrap().warnings().count(), 0);
    let softmax = jit(|x: &Array| x.softmax(0));
    let found: Vec<String> = softmax.lower(&x(Communicate::Warn)).unwrap().warnings().map(|d| d.to_string()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn warnings_are_printed_once() {
    let mesh = mesh(Communicate::Warn);
    let f = jit(|x: &Array| x.max(0) + x.sum(0));
    let (x, y) = (like(&mesh, &[8, 16], P!("X", "Y")), like(&mesh, &[16, 16], P!("X", "Y")));
    let eager = |x: &Array| x.min(0).to_vec::<f32>().unwrap();
    let print = || {
        let _ = f(&x).unwrap();
        let _ = f(&x).unwrap();
        let _ = f(&y).unwrap();
        eager(&x);
        eager(&y);
    };
    let first = |lines: &[String]| lines.iter().map(|l| l.lines().next().unwrap().to_string()).collect::<Vec<_>>();
    let (_, collected) = with_warnings(print);
    let (_, lines) = shardwise::debug::captured(print);
    expect![[r#"
        warning[communication]: `max`, `sum` communicate without the program asking for it
        warning[communication]: `min` communicates without the program asking for it"#]]
    .assert_eq(&first(&lines).join("\n"));
    assert_eq!(first(&collected.iter().map(|w| w.to_string()).collect::<Vec<_>>()), first(&lines));
    assert_eq!(shardwise::debug::captured(print).1, [""; 0]);
    let allowed = || with_communication(Communicate::Allow, || x.prod(0).to_vec::<f32>().unwrap());
    assert_eq!(shardwise::debug::captured(allowed).1, [""; 0]);
}

#[test]
fn batches_over_a_part_of_an_axis() {
    let mesh = mesh(Communicate::Deny);
    let x = like(&mesh, &[2, 4, 2], P!("X:(1)2", "X:(2)2"));
    let double = |x: &Array| shardwise::vmap(|x: &Array| x * 2.0)(x);
    assert_eq!(typed(&mesh, &x, double), "f32[2@X:(1)2,4@X:(2)2,2]");
    let values = with_mesh(&mesh, || double(&x).to_vec::<f32>().unwrap());
    assert_eq!(values, (0..16).map(|i| 2.0 * i as f32).collect::<Vec<_>>());
    // The layout of a row uses the part of the axis that splits the batch.
    let whole = |x: &Array| shardwise::vmap(|x: &Array| x.shard(P!("X:(1)2")))(x);
    assert_eq!(codes(&jit(|x: &Array| whole(x)).lower(&x).map(drop).unwrap_err()), ["spmd-axis"]);
}

#[test]
fn warnings_are_data() {
    let mesh = mesh(Communicate::Warn);
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let f = jit(|x: &Array| {
        let mut y = x.clone();
        for _ in 0..3 {
            y = &y - y.sum(keep(1)) * y.max(keep(0));
        }
        y.mean(0)
    });
    let lowered = f.lower(&x).unwrap();
    let found: Vec<String> = lowered.warnings().map(|d| d.to_string()).collect();
    let text = found.join("\n");
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    expect![[r#"
        warning[communication]: `sum`, `max` communicate without the program asking for it
          --> here
           | f32[8@X,16@Y]: partial results over "Y" are combined
           | f32[8@X,16@Y]: partial results over "X" are combined
           | all-reduce over Y, 3 times, 24 B in all; all-reduce over X, 3 times, 144 B in all
           = help: ask for it: `.shard(P!("X", None))`
           = help: ask for it: `.shard(P!(None, "Y"))`
        warning[communication]: `mean` communicates without the program asking for it
          --> here
           | f32[8@X,16@Y]: partial results over "X" are combined
           | all-reduce over X, 48 B
           = help: ask for it: `.shard(P!("Y"))`"#]]
    .assert_eq(&text.lines().map(places).collect::<Vec<_>>().join("\n"));
    // The text contains them. Eager calls and calls of compiled functions have them as well.
    assert!(lowered.as_text().contains("shardwise.warnings"), "{}", lowered.as_text());
    assert!(!jit(|x: &Array| x * 2.0).lower(&x).unwrap().as_text().contains("shardwise.warnings"));
    let (_, called) = with_warnings(|| f(&x).unwrap());
    assert_eq!(called.iter().map(|d| d.to_string()).collect::<Vec<_>>(), found);
    let mut lines = vec![];
    let (_, eager) = with_warnings(|| {
        for _ in 0..2 {
            lines.push(line!() + 1);
            let _ = x.sum(0);
        }
        let _ = x.sum(0);
        let _ = x.sum(0).shard(mesh.sharding(P!("Y")));
        with_communication(Communicate::Allow, || x.sum(0))
    });
    let l = lines[0];
    assert_eq!(eager.iter().map(|d| d.location().line()).collect::<Vec<_>>(), [l, l + 2, l + 3]);
    assert!(eager[1].to_string().contains("\n   | all-reduce over X, 48 B"), "{}", eager[1]);
    let (_, none) = with_warnings(|| x.sum(0).to_vec::<f32>());
    assert_eq!(none.len(), 1);
}
