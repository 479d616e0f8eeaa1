//! The ops of a function that are part of the program, and how often each op runs.

use crate::rewrite::has_program_regions;
use shardwise_ir::{Func, Module, Op, OpView};
use shardwise_ops::Opcode;
use shardwise_ops::control::trip_count;

/// Returns how often each op of a function runs in one call of the function, by the op's index. It is `None` for ops in
/// a loop whose trip count is not known. Each branch of a conditional counts as if it were always taken. In each run of
/// a loop, the ops of its condition run once more than those of its body. Ops in a reducer or another scalar function
/// count as often as the op that has it.
pub fn run_counts(module: &Module, func: &Func) -> Vec<Option<u64>> {
    let mut counts = vec![Some(1); func.body.op_count()];
    let entry = func.body.entry();
    count_region(&|op| module.view(&func.body, op), &func.body[entry].ops, Some(1), &mut counts);
    counts
}

/// Returns the ops of a function's own region and of the program regions in it, region by region. The ops of reducers
/// and comparators are left out.
pub fn program_ops(module: &Module, func: &Func) -> Vec<Op> {
    let mut ops = vec![];
    let mut regions = vec![func.body.entry()];
    while let Some(region) = regions.pop() {
        for &op in &func.body[region].ops {
            ops.push(op);
            let view = module.view(&func.body, op);
            if has_program_regions(&view) {
                regions.extend(view.regions());
            }
        }
    }
    ops
}

fn count_region<'a>(view: &dyn Fn(Op) -> OpView<'a>, ops: &[Op], times: Option<u64>, counts: &mut [Option<u64>]) {
    for &op in ops {
        counts[op.index()] = times;
        let op = view(op);
        let trips = (Opcode::of_view(&op) == Opcode::While).then(|| trip_count(&op));
        for (i, &region) in op.regions().iter().enumerate() {
            // The condition of a loop, its first region, also runs after the last trip.
            let runs = trips.map_or(Some(1), |trips| Some(trips?.saturating_add(u64::from(i == 0))));
            let inner = times.zip(runs).map(|(a, b)| a.saturating_mul(b));
            count_region(view, &op.body[region].ops, inner, counts);
        }
    }
}
