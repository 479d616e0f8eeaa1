//! Whole programs.

use crate::support::{axis, dims, mesh, sharding};
use expect_test::{Expect, expect};
use shardwise_base::Mesh;
use shardwise_sharding::{ManualEdge, Node, NodeId, OpClass, Options, Problem, Rule, TensorId, solve};
use std::sync::Arc;

const DOT: &str = "([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}";
const POINTWISE: &str = "([i, j], [i, j])->([i, j]) {i=8, j=8}";
const UNARY: &str = "([i, j])->([i, j]) {i=8, j=8}";

/// A program of tensors `8x8` in the order of its text.
struct Program {
    mesh: Arc<Mesh>,
    problem: Problem,
    /// Values that leave the program.
    returned: Vec<usize>,
}

impl Program {
    fn new(mesh_text: &str, arguments: &[&str]) -> Program {
        let mut program = Program { mesh: mesh(mesh_text), problem: Problem::default(), returned: vec![] };
        for argument in arguments {
            program.tensor(argument);
        }
        program
    }

    fn tensor(&mut self, text: &str) -> TensorId {
        let sharding = (text != "-").then(|| sharding(&self.mesh, text));
        self.problem.add_tensor(sharding)
    }

    fn op(&mut self, rule: &str, operands: &[usize], result: &str) -> &mut Program {
        let result = self.tensor(result);
        let operands = operands.iter().map(|&t| TensorId::new(t));
        let mut node = Node::new(Arc::new(rule.parse::<Rule>().unwrap()), operands, [result]);
        node.is_elementwise = rule != DOT;
        node.class = if node.is_elementwise { OpClass::PassThrough } else { OpClass::Other };
        self.problem.add_node(node);
        self
    }

    fn returns(&mut self, value: usize, text: &str) -> &mut Program {
        let result = self.tensor(text);
        let identity = Arc::new(Rule::identity(&[8, 8]));
        self.problem.results.push(Node::new(identity, [TensorId::new(value)], [result]));
        self.returned.push(value);
        self
    }

    /// Sets the wakes of the tensors, and which nodes have a shared operand, as for a module that was just parsed.
    fn link(&mut self) {
        let mut uses = vec![0; self.problem.tensors.len()];
        let nodes = self.problem.nodes.clone();
        self.returned.iter().for_each(|&t| uses[t] += 1);
        for (id, node) in nodes.keys().zip(nodes.iter()) {
            node.results.iter().for_each(|&t| self.problem.tensors[t].wakes.push(id));
            node.operands.iter().for_each(|t| uses[t.index()] += 1);
        }
        for (id, node) in nodes.keys().zip(nodes.iter()).rev() {
            node.operands.iter().for_each(|&t| self.problem.tensors[t].wakes.push(id));
            self.problem.nodes[id].has_shared_operand = node.operands.iter().any(|t| uses[t.index()] != 1);
        }
    }

    fn check(&mut self, expected: Expect) {
        self.link();
        solve(&mut self.problem, &Options::default());
        let shown: Vec<String> = self.problem.tensors.iter().map(|t| dims(t.sharding.as_ref())).collect();
        expected.assert_eq(&shown.join("\n"));
    }
}

#[test]
fn through_a_chain_both_ways() {
    let mut p = Program::new("a=2 b=2", &["a | .", "-", "-"]);
    p.op(DOT, &[0, 1], "-").op(UNARY, &[3], "-").op(DOT, &[4, 2], "-").returns(5, "? | b ?");
    p.check(expect![[r#"
        [{a}, {}]
        -
        [{?}, {b, ?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {b, ?}]
        [{a, ?}, {b, ?}]"#]]);
}

#[test]
fn elementwise_ops_come_before_dots() {
    // The dot would give "a" to dimension 1 of its result; the sum has it on dimension 0, and sums come first.
    let mut p = Program::new("a=2", &["? | ?", "? | a", "a ? | ?"]);
    p.op(DOT, &[0, 1], "-").op(POINTWISE, &[3, 2], "-").returns(4, "-");
    p.check(expect![[r#"
        [{a, ?}, {?}]
        [{?}, {a}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]"#]]);
}

#[test]
fn user_priorities_come_one_after_the_other() {
    let mut p = Program::new("a=2 b=2", &["a ? p1 | b ?", "? | a ?"]);
    p.op(POINTWISE, &[0, 1], "-").returns(2, "-");
    p.check(expect![[r#"
        [{a, ?}, {b, ?}]
        [{?}, {a, ?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]"#]]);
}

#[test]
fn groups_are_one() {
    let mut p = Program::new("a=2", &["a ? | ?", "-"]);
    p.op(UNARY, &[0], "-").op(UNARY, &[1], "-").returns(2, "-").returns(3, "-");
    p.problem.add_group(vec![TensorId::new(2), TensorId::new(3)]);
    p.check(expect![[r#"
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a, ?}, {?}]"#]]);
}

#[test]
fn a_result_reaches_the_group_of_its_value() {
    let mut p = Program::new("a=2", &["-", "-"]);
    p.returns(0, "a | .").returns(1, "-");
    p.problem.add_group(vec![TensorId::new(0), TensorId::new(1)]);
    p.check(expect![[r#"
        [{a, ?}, {?}]
        [{a, ?}, {?}]
        [{a}, {}]
        [{a, ?}, {?}]"#]]);
}

#[test]
fn a_manual_axis_stays_outside() {
    let mut p = Program::new("a=2 b=2", &["a | b ?"]);
    // An argument of a manual computation over "a": split by it outside, and open to others.
    let outside = sharding(&p.mesh, "a ? | ?");
    let manual_axes = vec![axis(&p.mesh, "a").axis];
    p.op(UNARY, &[0], "? | ?");
    p.problem.nodes[NodeId::new(0)].is_elementwise = false;
    p.problem.nodes[NodeId::new(0)].manual = Some(ManualEdge { manual_axes, outside, is_argument: true });
    p.op(UNARY, &[1], "-");
    p.check(expect![[r#"
        [{a}, {b, ?}]
        [{?}, {b, ?}]
        [{?}, {b, ?}]"#]]);
}

#[test]
fn two_meshes_do_not_mix() {
    let mut p = Program::new("a=2", &["a | .", "-"]);
    let other = mesh("a=4");
    p.problem.tensors[TensorId::new(1)].sharding = Some(sharding(&other, ". | a"));
    p.op(POINTWISE, &[0, 1], "-").returns(2, "-");
    p.check(expect![[r#"
        [{a}, {}]
        [{}, {a}]
        -
        -"#]]);
}

#[test]
fn origins_lead_back_to_the_start() {
    let mut p = Program::new("a=2 b=2", &["a | .", ". | b"]);
    p.op(DOT, &[0, 1], "-").op(UNARY, &[2], "-").returns(3, "-");
    p.link();
    solve(&mut p.problem, &Options { record_origins: true, ..Options::default() });
    let path = |name: &str| {
        let path = p.problem.trace(TensorId::new(4), axis(&p.mesh, name));
        path.iter().map(|o| format!("{:?} {:?}", o.node, o.from)).collect::<Vec<_>>().join(", ")
    };
    expect!["None t3, Some(n1) t2, Some(n0) t0"].assert_eq(&path("a"));
    expect!["None t3, Some(n1) t2, Some(n0) t1"].assert_eq(&path("b"));
}

#[test]
fn the_origin_of_a_value_is_the_result_that_has_the_axis() {
    let mut p = Program::new("a=2", &["-"]);
    p.returns(0, "-").returns(0, "a | .");
    p.link();
    solve(&mut p.problem, &Options { record_origins: true, ..Options::default() });
    let path = p.problem.trace(TensorId::new(0), axis(&p.mesh, "a"));
    assert_eq!(path.iter().map(|o| (o.node, o.from)).collect::<Vec<_>>(), [(None, TensorId::new(2))]);
}

#[test]
fn the_work_grows_with_the_program_only() {
    let mut p = Program::new("a=2 b=2", &["a | .", "-"]);
    for i in 0..400 {
        let x = if i == 0 { 0 } else { 1 + i };
        if i % 2 == 0 {
            p.op(DOT, &[x, 1], "-")
        } else {
            p.op(UNARY, &[x], "-")
        };
    }
    p.link();
    let stats = solve(&mut p.problem, &Options::default());
    assert_eq!(stats.visits, 5 * 400, "no node is woken twice in a round");
    assert_eq!(stats.updates, 400, "each tensor changes once");
}
