//! Trip counts of loops whose counter determines them.

use shardwise_ir::{Op, OpView, ValueDef};
use shardwise_ops::Opcode;

/// Returns the number of iterations of a `while` that counts a carried scalar up from a constant by a constant to a
/// constant, or `None` if it has another form.
pub fn trip_count(view: &OpView<'_>) -> Option<u64> {
    let [cond, body] = *view.regions() else { return None };
    let test = view.at(view.body.def_op(*view.body.region_results(cond).first()?)?);
    let direction = test.attrs().str("comparison_direction").filter(|_| test.name() == "stablehlo.compare")?;
    let counter = argument(&test, 0, view, cond)?;
    let (limit, init) = (constant(&test, 1)?, constant(view, counter)?);
    let next = *view.body.region_results(body).get(counter)?;
    let step = view.at(view.body.def_op(next)?);
    if step.name() != "stablehlo.add" || argument(&step, 0, view, body) != Some(counter) {
        return None;
    }
    let step = constant(&step, 1).filter(|&s| s > 0)?;
    let distance = match direction {
        "LT" => limit - init,
        "LE" => limit - init + 1,
        _ => return None,
    };
    u64::try_from((distance.max(0) + step - 1) / step).ok()
}

/// Returns the index of the argument of `region` that operand `i` is, or `None` if it is none.
fn argument(op: &OpView<'_>, i: usize, of: &OpView<'_>, region: shardwise_ir::Region) -> Option<usize> {
    match of.body[*op.operands().get(i)?].def {
        ValueDef::Argument { region: r, index } if r == region => Some(index as usize),
        _ => None,
    }
}

fn constant(op: &OpView<'_>, i: usize) -> Option<i128> {
    let def = op.operand_def(i).filter(|d| d.name() == "stablehlo.constant")?;
    let value = def.attr("value")?.as_dense().filter(|l| l.size() == 1 && l.dtype().is_integer())?;
    Some(value.get_i128(0))
}

/// Returns how often each op of a function runs, or `None` for ops in a loop whose trip count is not known.
pub fn run_counts(module: &shardwise_ir::Module, func: &shardwise_ir::Func) -> Vec<Option<u64>> {
    let mut counts = vec![Some(1); func.body.op_count()];
    let entry = func.body.entry();
    count_region(&|op| module.view(&func.body, op), &func.body[entry].ops, Some(1), &mut counts);
    counts
}

fn count_region<'a>(view: &dyn Fn(Op) -> OpView<'a>, ops: &[Op], times: Option<u64>, counts: &mut [Option<u64>]) {
    for &op in ops {
        counts[op.index()] = times;
        let op = view(op);
        let inner = match Opcode::of_view(&op) {
            Opcode::While => times.zip(trip_count(&op)).map(|(a, b)| a.saturating_mul(b)),
            _ => times,
        };
        for &region in op.regions() {
            count_region(view, &op.body[region].ops, inner, counts);
        }
    }
}
