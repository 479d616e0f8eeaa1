//! The words of diagnostics.

use expect_test::{Expect, expect};
use shardwise::prelude::*;

/// The diagnostics, without the directories of files.
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
    check(x.matmul(ones([12, 16], F32)), expect![[""]]);
    check(&x + ones([3], F32), expect![[""]]);
    check(&x + ones([16], BF16), expect![[""]]);
    check(&n + 0.5, expect![[""]]);
    check(&n + 3_000_000_000u32, expect![[""]]);
    check(n.exp(), expect![[""]]);
    check(x.reshape([4, INFER, 5]), expect![[""]]);
    check(x.sum(2), expect![[""]]);
    check(x.sum([0, -2]), expect![[""]]);
    check(x.i((.., 16)), expect![[""]]);
    check(x.i((0, 0, 0)), expect![[""]]);
    check(x.i(x.gt(0)), expect![[""]]);
    check(einsum("bd,df->bf", [&x, &ones([12, 4], F32)]), expect![[""]]);
    check(x.shard(mesh.sharding(P!("modle"))), expect![[""]]);
    check(x.shard(mesh.sharding(P!(None, None, "X"))), expect![[""]]);
    check(
        std::thread::Builder::new().name("worker".into()).spawn(move || x.shard(P!("X"))).unwrap().join().unwrap(),
        expect![[""]],
    );
}

#[test]
fn words_of_control_flow() {
    let x = ones([2], F32);
    let f = jit(|x: &Array| fori_loop(0..3, x.clone(), |_, c| c.astype(BF16)));
    expect![[""]].assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| cond(x.sum(..).gt(0), || x.clone(), || x.sum(..)));
    expect![[""]].assert_eq(&strip(f(&x).unwrap_err()));
    let f = jit(|x: &Array| while_loop(x.clone(), |c| c.gt(0), |c| c));
    expect![[""]].assert_eq(&strip(f(&x).unwrap_err()));
}

fn strip(e: Error) -> String {
    let places = |l: &str| if l.starts_with("  --> ") { "  --> here".to_string() } else { l.to_string() };
    e.to_string().lines().map(places).collect::<Vec<_>>().join("\n")
}
