//! Propagation through one op.

use crate::support::{dims, mesh, sharding};
use expect_test::{Expect, expect};
use shardwise_sharding::{Context, Direction, IfMissing, Projection, Rule, Strategy, propagate};

struct Op<'a> {
    mesh: &'a str,
    rule: &'a str,
    /// Operands, then results; `-` for none.
    shardings: &'a [&'a str],
}

impl Op<'_> {
    fn run(&self, strategy: Strategy, direction: Direction, is_elementwise: bool, expected: Expect) {
        let mesh = mesh(self.mesh);
        let rule: Rule = self.rule.parse().unwrap();
        let given: Vec<_> = self.shardings.iter().map(|s| (*s != "-").then(|| sharding(&mesh, s))).collect();
        let mut p = Projection::new(&rule, &mesh, given.iter().map(Option::as_ref), IfMissing::Open);
        let cx = Context { rule: &rule, mesh: &mesh, is_elementwise, is_conservative: false };
        propagate(&mut p, strategy, cx, |_| direction);
        let after: Vec<_> = (0..rule.tensor_count()).map(|i| dims(Some(&p.to_sharding(i, &rule, &mesh)))).collect();
        expected.assert_eq(&after.join(" "));
    }

    fn basic(&self, expected: Expect) {
        self.run(Strategy::Basic, Direction::Both, false, expected);
    }

    fn aggressive(&self, expected: Expect) {
        self.run(Strategy::Aggressive, Direction::Both, false, expected);
    }
}

const DOT: &str = "([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}";
const POINTWISE: &str = "([i, j], [i, j])->([i, j]) {i=8, j=8}";

#[test]
fn what_agrees_spreads_everywhere() {
    let op = Op { mesh: "a=2 b=2 c=2", rule: DOT, shardings: &["a | b", "? | c", "-"] };
    op.basic(expect!["[{a}, {b}] [{b, ?}, {c}] [{a, ?}, {c, ?}]"]);
    op.aggressive(expect!["[{a}, {b}] [{b, ?}, {c}] [{a, ?}, {c, ?}]"]);
}

#[test]
fn a_conflict_between_factors_stops_the_basic_strategy_only() {
    let op = Op { mesh: "a=2 b=2", rule: DOT, shardings: &["a ? | ?", "? | a ?", "-"] };
    op.basic(expect!["[{a, ?}, {?}] [{?}, {a, ?}] [{?}, {?}]"]);
    // j comes from the larger operand.
    op.aggressive(expect!["[{a, ?}, {?}] [{?}, {a, ?}] [{?}, {a, ?}]"]);
}

#[test]
fn a_conflict_within_a_factor_keeps_the_common_part() {
    let op = Op { mesh: "a=2 b=2 c=2", rule: POINTWISE, shardings: &["a b | ?", "a c | ?", "-"] };
    op.basic(expect!["[{a, b}, {?}] [{a, c}, {?}] [{a, ?}, {?}]"]);
    let op = Op { mesh: "a=8", rule: POINTWISE, shardings: &["a:(1)2 | ?", "a:(1)4 | ?", "-"] };
    op.basic(expect!["[{a:(1)2}, {?}] [{a:(1)4}, {?}] [{a:(1)2, ?}, {?}]"]);
    op.aggressive(expect!["[{a:(1)2}, {?}] [{a:(1)4}, {?}] [{a:(1)4, ?}, {?}]"]);
}

#[test]
fn closed_and_replicated_stay() {
    let op = Op { mesh: "a=2 b=2", rule: POINTWISE, shardings: &["a | b", ". | ?", "? | ? ; b"] };
    op.aggressive(expect!["[{a}, {b}] [{}, {b, ?}] [{a, ?}, {?}], replicated={b}"]);
}

#[test]
fn one_direction_only() {
    let op = Op { mesh: "a=2 b=2", rule: POINTWISE, shardings: &["a ? | ?", "-", "? | b ?"] };
    op.run(Strategy::Aggressive, Direction::Forward, false, expect!["[{a, ?}, {?}] [{a, ?}, {?}] [{a, ?}, {b, ?}]"]);
    op.run(Strategy::Aggressive, Direction::Backward, false, expect!["[{a, ?}, {b, ?}] [{?}, {b, ?}] [{?}, {b, ?}]"]);
    op.run(Strategy::Aggressive, Direction::None, false, expect!["[{a, ?}, {?}] [{?}, {?}] [{?}, {b, ?}]"]);
}

#[test]
fn elementwise_ties_go_to_more_shards_and_operands_follow_the_result() {
    let op = Op { mesh: "a=2 b=4", rule: POINTWISE, shardings: &["a ? | ?", "? | a b ?", "-"] };
    op.run(Strategy::Aggressive, Direction::Both, false, expect!["[{a, ?}, {?}] [{?}, {a, b, ?}] [{a, ?}, {?}]"]);
    op.run(Strategy::Aggressive, Direction::Both, true, expect!["[{a, ?}, {?}] [{?}, {a, b, ?}] [{?}, {a, b, ?}]"]);
    let op = Op { mesh: "a=2", rule: POINTWISE, shardings: &["a ? | ?", "-", ". | ."] };
    op.run(Strategy::Aggressive, Direction::Both, false, expect!["[{a, ?}, {?}] [{a, ?}, {?}] [{}, {}]"]);
    op.run(Strategy::Aggressive, Direction::Both, true, expect!["[{a, ?}, {?}] [{?}, {?}] [{}, {}]"]);
}

#[test]
fn reshapes_split_and_merge_axes() {
    let op = Op { mesh: "a=8 b=2", rule: "([ij])->([i, j]) {i=4, j=8}", shardings: &["a b ?", "-"] };
    op.aggressive(expect!["[{a, b, ?}] [{a:(1)4, ?}, {a:(4)2, b, ?}]"]);
    let op = Op { mesh: "a=2 b=2", rule: "([i, j])->([ij]) {i=4, j=2}", shardings: &["a ? | b ?", "-"] };
    // i is split by 2 of 4, so j behind it would need a strided view.
    op.aggressive(expect!["[{a, ?}, {b, ?}] [{a, ?}]"]);
    let op = Op { mesh: "a=3 b=2", rule: "([i, j])->([ij]) {i=4, j=6}", shardings: &["a ? | ?", "-"] };
    // 3 does not divide i, which is not the minor-most factor of the result.
    op.aggressive(expect!["[{a, ?}, {?}] [{?}]"]);
}

#[test]
fn blocked_factors_do_not_spread() {
    let rule = "([i, j])->([i, j]) {i=8, j=8} need_replication={j} blocked_propagation={j}";
    let op = Op { mesh: "a=2 b=2", rule, shardings: &["a | b", "-"] };
    op.aggressive(expect!["[{a}, {b}] [{a, ?}, {?}]"]);
}
