//! Dimensions to factors and back.

use crate::support::{dims, mesh, sharding};
use expect_test::{Expect, expect};
use shardwise_base::{AxisRef, Mesh};
use shardwise_sharding::{FactorSharding, IfMissing, Rule, TensorFactors};

fn check(mesh_text: &str, rule: &str, sharding_text: &str, expected: Expect) {
    let mesh = mesh(mesh_text);
    let rule: Rule = rule.parse().unwrap();
    let sharding = sharding(&mesh, sharding_text);
    let mapping = &rule.operands[0];
    let tensor = TensorFactors::new(mapping, &rule, &mesh, Some(&sharding), IfMissing::Open);
    let shown: Vec<String> = tensor.iter().map(|(f, s)| format!("{f}: {}", show(s, &mesh))).collect();
    expected.assert_eq(&shown.join(", "));
    let back = tensor.to_sharding(mapping, &rule, &mesh);
    assert_eq!(dims(Some(&back)), dims(Some(&sharding)), "and back");
}

fn show(sharding: &FactorSharding, mesh: &Mesh) -> String {
    let list = |axes: &[AxisRef]| axes.iter().map(|a| a.display(mesh).to_string().replace('"', "")).collect::<Vec<_>>();
    let mut text = format!("[{}]", list(&sharding.axes).join(" "));
    if !sharding.overflow.is_empty() {
        text += &format!(" overflow [{}]", list(&sharding.overflow).join(" "));
    }
    text + if sharding.is_closed { "" } else { "?" }
}

#[test]
fn each_dimension_its_own_factor() {
    check("a=4 b=2", "([i, j])->([i, j]) {i=8, j=6}", "a ? | b", expect!["i: [a]?, j: [b]"]);
}

#[test]
fn an_axis_is_split_where_a_factor_is_full() {
    check("x=4 y=2", "([ij])->([i, j]) {i=2, j=4}", "x y ?", expect!["i: [x:(1)2]?, j: [x:(2)2 y]?"]);
    check("x=16", "([ijk])->([i, j, k]) {i=2, j=2, k=8}", "x", expect!["i: [x:(1)2], j: [x:(2)2], k: [x:(4)4]"]);
}

#[test]
fn the_minor_most_factor_takes_what_does_not_divide() {
    check("x=4 y=3", "([ij])->([i, j]) {i=4, j=2}", "x y", expect!["i: [x], j: [y]"]);
    check("x=3", "([i])->([i]) {i=2}", "x", expect!["i: [x]"]);
}

#[test]
fn a_partly_split_factor_leaves_nothing_to_the_next() {
    check("x=2", "([ij])->([i, j]) {i=4, j=4}", "x ?", expect!["i: [x]?, j: []?"]);
}

#[test]
fn what_is_coprime_overflows() {
    check("x=3 y=2", "([ij])->([i, j]) {i=2, j=6}", "x y ?", expect!["i: [] overflow [x y]?, j: []"]);
    check(
        "x=6 y=2",
        "([ijk])->([i, j, k]) {i=4, j=2, k=2}",
        "x y ?",
        expect!["i: [x:(1)2] overflow [x:(2)3 y]?, j: []"],
    );
}
