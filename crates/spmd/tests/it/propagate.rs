//! Propagation: small programs, and the recorded answers of Shardy for programs that JAX exported.

use shardwise_base::Diagnostics;
use shardwise_base::Sharding;
use shardwise_ir::text::parse;
use shardwise_ir::{Body, Module, Op, Region, Value};
use shardwise_ops::{OPS, Opcode};
use shardwise_spmd::{Options, run_until};
use shardwise_testing::corpus;
use std::collections::HashMap;

fn propagate(module: &Module) -> Result<Module, Diagnostics> {
    run_until("propagate", module, &mut Options::default())
}

/// Checks that the arguments, results and other values that [`facts`] lists have exactly Shardy's shardings: axes, open
/// dimensions, replicated and unreduced axes. Programs that cannot be parsed, or for which no answer is recorded, are
/// left out.
#[test]
fn the_corpus_has_shardys_shardings() {
    let programs = corpus();
    let text = |name: &str| programs.iter().find(|p| p.name == name).map(|p| &p.text);
    let mut compared = 0;
    for program in programs.iter().filter(|p| !p.name.contains(".shardy") && !p.name.contains(".final")) {
        let Some(recorded) = text(&format!("{}.shardy", program.name)) else { continue };
        // Programs with ops that are not read yet are the text engine's own failures.
        let (Ok(ours), Ok(theirs)) = (parse("ours", &program.text, &OPS), parse("theirs", recorded, &OPS)) else {
            continue;
        };
        let ours = propagate(&ours).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        let (ours, theirs) = (facts(&ours), facts(&theirs));
        let differences: Vec<_> = ours.iter().zip(&theirs).filter(|(a, b)| a != b).take(5).collect();
        assert!(differences.is_empty(), "{}: ours and Shardy's {differences:#?}", program.name);
        assert_eq!(ours.len(), theirs.len(), "{}", program.name);
        compared += ours.len();
    }
    assert!(compared > 500, "only {compared} shardings compared");
}

/// Returns a line with the sharding of each argument and result of the main function, and then of each result of its
/// ops and each argument of its manual computations, in program order. Scalars in the function are left out, and so are
/// the results of constants, edges and named computations, which only one of the two programs has. Panics if there is
/// no main function.
fn facts(module: &Module) -> Vec<String> {
    let main = module.main().unwrap();
    let mut out = vec![];
    for (i, &arg) in main.body.args().iter().enumerate() {
        out.push(format!("argument {i} {}", show(main.body.sharding(arg))));
    }
    for (i, sharding) in main.result_shardings.iter().enumerate() {
        out.push(format!("result {i} {}", show(sharding.as_ref())));
    }
    let edges = edges(module, &main.body);
    region_facts(module, &main.body, main.body.entry(), &edges, &mut out);
    out.retain(|line| !line.ends_with(" scalar"));
    out
}

/// Returns a sharding as text. Returns `-` if there is none, or if it states nothing: all dimensions are open and
/// without axes, and no axes are replicated or unreduced.
fn show(sharding: Option<&Sharding>) -> String {
    let says = |s: &&Sharding| {
        !(s.replicated.is_empty() && s.unreduced.is_empty()) || s.dims.iter().any(|d| !d.is_open || !d.axes.is_empty())
    };
    sharding.filter(says).map_or("-".to_string(), |s| s.to_string())
}

fn edges(module: &Module, body: &Body) -> HashMap<Value, Sharding> {
    let ops = body.walk().into_iter().filter(|&op| opcode(module, body, op) == Opcode::DataFlowEdgeOp);
    ops.filter_map(|op| Some((body[op].operands[0], body.sharding(body[op].results[0])?.clone()))).collect()
}

fn opcode(module: &Module, body: &Body, op: Op) -> Opcode {
    Opcode::of_view(&module.view(body, op))
}

fn region_facts(module: &Module, body: &Body, region: Region, edges: &HashMap<Value, Sharding>, out: &mut Vec<String>) {
    for &op in &body[region].ops {
        let code = opcode(module, body, op);
        let is_shown =
            !matches!(code, Opcode::DataFlowEdgeOp | Opcode::NamedComputation | Opcode::Constant | Opcode::SdyConstant);
        if is_shown {
            op_facts(module, body, op, edges, out);
        }
        for &inner in &body[op].regions {
            region_facts(module, body, inner, edges, out);
        }
    }
}

fn op_facts(module: &Module, body: &Body, op: Op, edges: &HashMap<Value, Sharding>, out: &mut Vec<String>) {
    let name = module.view(body, op).name();
    let is_manual = opcode(module, body, op) == Opcode::ManualComputation;
    let inside = body[op].regions.iter().filter(|_| is_manual).flat_map(|&r| &body[r].args);
    for &v in inside.chain(&body[op].results) {
        let sharding = edges.get(&v).or(body.sharding(v));
        let lies = match body.ty(v).shape() {
            [] => "scalar".to_string(),
            _ => show(sharding),
        };
        out.push(format!("{name} {} {lies}", body.ty(v)));
    }
}
