//! One sharding of the factors for all tensors of an op.

use crate::support::{Estimate, dims, mesh, sharding};
use expect_test::{Expect, expect};
use shardwise_base::AxisRef;
use shardwise_sharding::{AssignInput, Assignment, Rule, assign, runner_up};

/// Returns the assignment for an op on f32 tensors, and a text that shows it. `shardings` are those of the operands,
/// then of the results, and `-` stands for none. `work` is in bytes. If `halo` is true, permutation factors can be
/// split at no cost. Panics if a text cannot be parsed, or if the second best assignment is equal to the best one.
fn run(mesh_text: &str, rule: &str, shardings: &[&str], work: u64, halo: bool) -> (Assignment, String) {
    let mesh = mesh(mesh_text);
    let rule: Rule = rule.parse().unwrap();
    let given: Vec<_> = shardings.iter().map(|s| (*s != "-").then(|| sharding(&mesh, s))).collect();
    let views: Vec<_> = given.iter().map(Option::as_ref).collect();
    let free: Vec<AxisRef> = mesh.all_axes().collect();
    let input = AssignInput {
        rule: &rule,
        mesh: &mesh,
        shardings: &views,
        work,
        summed: &[],
        free: &free,
        is_coarse: false,
        known: None,
    };
    let prices = Estimate { rule: &rule, shardings: &views, element_bytes: 4, moves: halo, is_product: false };
    let a = assign(input, &prices);
    if let Some(other) = runner_up(input, &prices) {
        assert_ne!(other.axes, a.axes, "the best choice is not the second best");
    }
    let tensors: Vec<_> = (0..rule.tensor_count()).map(|i| dims(Some(&a.sharding(&rule, &mesh, i)))).collect();
    let conflicts: Vec<_> = a
        .conflicts(&rule, &mesh, &views)
        .iter()
        .map(|v| format!("{}: {:?} over {:?}", v.factor, v.won, v.lost))
        .collect();
    let text = format!("{}; {} bytes; {}", tensors.join(" "), a.bytes_moved, conflicts.join(", "));
    (a, text)
}

fn check(mesh: &str, rule: &str, shardings: &[&str], expected: Expect) {
    expected.assert_eq(&run(mesh, rule, shardings, 1 << 20, false).1);
}

const DOT: &str = "([i, k], [k, j])->([i, j]) {i=64, j=64, k=64} reduction={k}";

#[test]
fn what_agrees_stays() {
    check("a=2 b=2", DOT, &["a | .", ". | b", "a | b"], expect!["[{a}, {}] [{}, {b}] [{a}, {b}]; 0 bytes; "]);
    let (a, text) = run("a=2 b=2", DOT, &["a | b", "b | .", "a | ."], 1 << 20, false);
    assert!(text.ends_with("; "), "no conflicts: {text}");
    let rule: Rule = DOT.parse().unwrap();
    assert_eq!(a.reduction_axes(&rule, &mesh("a=2 b=2")).len(), 1);
}

#[test]
fn an_axis_cannot_split_two_factors() {
    check(
        "a=4",
        DOT,
        &["a | .", ". | a", "a | ."],
        expect!["[{a}, {}] [{}, {}] [{a}, {}]; 12288 bytes; j: [2] over [1]"],
    );
    // The small operand moves.
    let tall = "([i, k], [k, j])->([i, j]) {i=4096, j=64, k=64} reduction={k}";
    check(
        "a=4",
        tall,
        &["a | .", "a | .", "a | ."],
        expect!["[{a}, {}] [{}, {}] [{a}, {}]; 12288 bytes; k: [0] over [1]"],
    );
    let wide = "([i, k], [k, j])->([i, j]) {i=64, j=4096, k=64} reduction={k}";
    check(
        "a=4",
        wide,
        &["a | .", ". | a", "-"],
        expect!["[{}, {}] [{}, {a}] [{}, {a}]; 12288 bytes; i: [2] over [0], j: [1] over [2]"],
    );
}

#[test]
fn a_sum_may_be_cheaper_than_a_gather() {
    let deep = "([i, k], [k, j])->([i, j]) {i=8, j=8, k=4096} reduction={k}";
    check(
        "a=4",
        deep,
        &[". | a", "a | .", "a | ."],
        expect!["[{}, {a}] [{a}, {}] [{}, {}]; 192 bytes; i: [0] over [2]"],
    );
}

#[test]
fn what_needs_replication_is_not_split() {
    let sort = "([i, j])->([i, j]) {i=8, j=8} need_replication={j}";
    check(
        "a=2 b=2",
        sort,
        &["a | b", "a | b"],
        expect!["[{a, b}, {}] [{a, b}, {}]; 64 bytes; i: [] over [0, 1], j: [] over [0, 1]"],
    );
    let halo = "([i, j])->([i, j]) {i=8, j=8} permutation={j}";
    check(
        "a=2 b=2",
        halo,
        &["a | b", "a | b"],
        expect!["[{a, b}, {}] [{a, b}, {}]; 64 bytes; i: [] over [0, 1], j: [] over [0, 1]"],
    );
    expect!["[{a}, {b}] [{a}, {b}]; 0 bytes; "].assert_eq(&run("a=2 b=2", halo, &["a | b", "a | b"], 1 << 20, true).1);
}

#[test]
fn reshapes_take_even_shards_only() {
    check(
        "a=8",
        "([ij])->([i, j]) {i=4, j=8}",
        &["a", "-"],
        expect!["[{a}] [{a:(1)4}, {a:(4)2}]; 0 bytes; i: [0] over [1], j: [0] over [1]"],
    );
    check("a=2", "([ij])->([i, j]) {i=3, j=2}", &["a", "a | ."], expect!["[{}] [{}, {}]; 12 bytes; i: [] over [0, 1]"]);
    check(
        "a=2 b=2",
        "([i, j])->([ij]) {i=4, j=2}",
        &["a | b", "a"],
        expect!["[{a}, {}] [{a}]; 8 bytes; j: [1] over [0]"],
    );
}

#[test]
fn without_work_bytes_alone_decide() {
    let unary = "([i])->([i]) {i=64}";
    expect!["[{a}] [{a}]; 192 bytes; i: [0] over [1]"].assert_eq(&run("a=4", unary, &["a", "."], 0, false).1);
    expect!["[{}] [{}]; 0 bytes; "].assert_eq(&run("a=4", unary, &[".", "."], 0, false).1);
}

#[test]
fn the_road_not_taken_is_known() {
    let (mesh, rule): (_, Rule) = (mesh("a=4"), DOT.parse().unwrap());
    let given = ["a | .", ". | a", "a | ."].map(|s| sharding(&mesh, s));
    let views = given.each_ref().map(Some);
    let input = AssignInput {
        rule: &rule,
        mesh: &mesh,
        shardings: &views,
        work: 1 << 20,
        summed: &[],
        free: &[],
        is_coarse: false,
        known: None,
    };
    let prices = Estimate { rule: &rule, shardings: &views, element_bytes: 4, moves: false, is_product: false };
    let (best, other) = (assign(input, &prices), runner_up(input, &prices).unwrap());
    assert!(other.bytes_moved >= best.bytes_moved && other.axes != best.axes);
}
