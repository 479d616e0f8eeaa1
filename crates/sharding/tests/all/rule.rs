//! Rules: building, printing, parsing.

use expect_test::{Expect, expect};
use shardwise_sharding::{Factor, FactorSpec, Rule, RuleBuilder};

fn check(rule: &Rule, expected: Expect) {
    let text = rule.to_string();
    expected.assert_eq(&text);
    assert_eq!(text.parse::<Rule>().as_ref(), Ok(rule), "a rule parses back");
}

#[test]
fn a_batched_dot() {
    let mut b = RuleBuilder::new([3, 3], [3]);
    b.add_factor(&[Some(0), Some(0)], &[Some(0)], FactorSpec::pass_through(4));
    b.add_factor(&[Some(1), None], &[Some(1)], FactorSpec::pass_through(8));
    b.add_factor(&[None, Some(2)], &[Some(2)], FactorSpec::pass_through(16));
    b.add_factor(&[Some(2), Some(1)], &[None], FactorSpec::reduction(32));
    let rule = b.build();
    check(&rule, expect!["([i, j, l], [i, l, k])->([i, j, k]) {i=4, j=8, k=16, l=32} reduction={l}"]);
    let batching: Vec<Factor> = rule.all_factors().filter(|&f| rule.is_batching(f)).collect();
    assert_eq!(batching, [Factor::new(0)]);
}

#[test]
fn a_dimension_without_factor_gets_one_of_size_1() {
    let mut b = RuleBuilder::new([2, 0], [2]);
    b.add_factor(&[Some(0), None], &[Some(0)], FactorSpec::pass_through(4));
    check(&b.build(), expect!["([i, j], [])->([i, k]) {i=4, j=1, k=1}"]);
}

#[test]
fn a_factor_of_size_1_is_not_appended() {
    let mut b = RuleBuilder::new([1], [2]);
    b.add_factor(&[Some(0)], &[Some(0)], FactorSpec::pass_through(2));
    b.add_factor(&[Some(0)], &[Some(1)], FactorSpec::pass_through(1));
    check(&b.build(), expect!["([i])->([i, j]) {i=2, j=1}"]);
}

#[test]
fn pointwise_with_a_scalar_and_kinds_by_size() {
    let mut b = RuleBuilder::new([2, 0], [2]);
    b.add_pointwise_or(&[8, 4], &[8, 2], |size| FactorSpec::permutation(size).blocked_if(true));
    check(&b.build(), expect!["([i, j], [])->([i, j]) {i=8, j=4} permutation={j} blocked_propagation={j}"]);
}

#[test]
fn factors_of_operands_and_of_results_only() {
    let mut b = RuleBuilder::new([2], [2]);
    b.add_pointwise_if(&[2, 4], |dim| dim == 0);
    b.add_factor_to_operands(1, FactorSpec::need_replication(4));
    b.add_factor_to_results(1, FactorSpec::need_replication(8));
    check(&b.build(), expect!["([i, j])->([i, k]) {i=2, j=4, k=8} need_replication={j, k}"]);
}

#[test]
fn many_factors_and_compound_dimensions() {
    let shape = [2; 20];
    check(
        &Rule::identity(&shape),
        expect![
            "([i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1, z_2])->([i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1, z_2]) {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}"
        ],
    );
    check(&Rule::identity(&[]), expect!["([])->([])"]);
    let merge: Rule = "([i, j, z_1z_2])->([ijz_2]) {i=2, j=4, k=1, l=1, m=1, n=1, o=1, p=1, q=1, r=1, s=1, t=1, u=1, \
         v=1, w=1, x=1, y=1, z=1, z_1=3, z_2=5}, custom"
        .parse()
        .unwrap();
    assert!(merge.is_custom && merge.has_compound_dims());
    assert_eq!(merge.operands[0].dims[2].as_slice(), [Factor::new(18), Factor::new(19)]);
}

#[test]
fn what_is_not_a_rule_says_where() {
    let check = |text: &str, expected: Expect| {
        let error = text.parse::<Rule>().unwrap_err();
        expected.assert_eq(&format!("{}: {error}", error.offset));
    };
    check("([i)->([i])", expect!["3: expected `,` or the end of the list"]);
    check("([a])->([i]) {i=2}", expect!["2: expected a factor (`i` to `z`, `z_1`, …)"]);
    check("([i])->([j]) {i=2}", expect!["18: factor `j` has no size"]);
    check("([i])->([j]) {j=2, i=2}", expect!["14: factor sizes must be listed in order: expected `i` here"]);
    check("([i, i])->([i]) {i=2}", expect!["21: factor `i` stands twice in one tensor"]);
    check("([ij])->([i]) {i=2, j=1}", expect!["24: factor `j` has size 1 and shares its dimension with other factors"]);
    check("([i])->([i]) {i=2} reduction={i} permutation={i}", expect!["48: factor `i` is given a kind twice"]);
    check("([i])->([i]) {i=2} foo", expect!["19: expected the end of the rule"]);
    check("([z_0])->([])", expect!["5: expected a number from 1 after `z_`"]);
    check("([i])->([i]) {i=99999999999999999999}", expect!["16: expected a number less than 2^64"]);
}
