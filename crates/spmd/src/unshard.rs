//! The same program on one device: without meshes, shardings and constraints.

use shardwise_ir::{Body, Builder, Cloner, Func, Module, Op, Region};
use shardwise_ops::Opcode;

/// What the program means to one device. Manual computations stay, and cannot be run so.
pub fn unsharded(module: &Module) -> Module {
    let mut out = module.without_funcs();
    out.meshes.clear();
    out.funcs = module.funcs.iter().map(func).collect();
    out
}

fn func(func: &Func) -> Func {
    let mut out = func.without_body();
    out.result_shardings.iter_mut().for_each(|s| *s = None);
    let mut body = Body::new();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut body);
    cloner.args(func.body.entry(), &mut builder);
    region(func.body.entry(), &mut cloner, &mut builder);
    for i in 0..body.value_count() {
        body.value_mut(shardwise_ir::Value::new(i)).sharding = None;
    }
    out.body = body;
    out
}

fn region(from: Region, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) {
    for &inner in &cloner.source[from].ops {
        op(inner, cloner, builder);
    }
}

/// Constraints are their operand; everything else is copied.
fn op(op: Op, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) {
    let data = cloner.source.op(op);
    if matches!(Opcode::of(data.code), Opcode::ShardingConstraint | Opcode::Reshard) {
        let operand = cloner.get(data.operands[0]);
        return cloner.set(data.results[0], operand);
    }
    let regions = data.regions.iter().map(|&r| inner_region(r, cloner, builder)).collect();
    cloner.op_with_regions(op, regions, builder);
}

fn inner_region(from: Region, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) -> Region {
    let new = builder.body.add_region();
    let mut inner = Builder { body: builder.body, region: new, loc: builder.loc.clone() };
    cloner.args(from, &mut inner);
    region(from, cloner, &mut inner);
    new
}
