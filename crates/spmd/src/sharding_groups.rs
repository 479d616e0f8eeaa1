//! Sharding groups as a program writes them: values that are to be sharded alike.

use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Body, Func, Module, Op, Region, Value};
use shardwise_ops::Opcode;
use std::collections::BTreeMap;

/// A member of a group: the function's number, the op `sdy.sharding_group` and the value that it names.
pub(crate) type Member = (usize, Op, Value);

/// Returns the members of each group of the module, by the group's number.
pub(crate) fn groups(module: &Module) -> BTreeMap<i64, Vec<Member>> {
    let mut groups: BTreeMap<i64, Vec<Member>> = BTreeMap::new();
    for (f, func) in module.funcs.iter().enumerate() {
        for op in func.body.walk() {
            let view = module.view(&func.body, op);
            if Opcode::of_view(&view) == Opcode::ShardingGroup {
                let id = view.attrs().int("group_id").unwrap_or(0);
                groups.entry(id).or_default().push((f, op, view.operand(0)));
            }
        }
    }
    groups
}

/// Checks that the members of each group can be sharded alike.
///
/// Errors: `sharding-group`.
pub(crate) fn check(module: &Module) -> Result<(), Diagnostics> {
    groups(module).into_iter().try_for_each(|(id, members)| check_group(module, id, &members))
}

/// Checks that the members of a group have one shape and are in the same manual computation, or in none.
pub(crate) fn check_group(module: &Module, id: i64, members: &[Member]) -> Result<(), Diagnostics> {
    let (f, op, v) = members[0];
    let manual = |f: usize, op: Op| manual_around(module, &module.funcs[f], op);
    let shape = module.funcs[f].body.ty(v).shape();
    let around = manual(f, op);
    for &(g, other, w) in members {
        let loc = &module.funcs[g].body[other].loc;
        if module.funcs[g].body.ty(w).shape() != shape {
            return Err(different_shapes(loc, id).into());
        }
        if manual(g, other) != around {
            return Err(across_a_boundary(loc, id).into());
        }
    }
    Ok(())
}

/// Returns the region that the op stands in.
pub(crate) fn region_of(body: &Body, op: Op) -> Region {
    let mut all = (0..body.region_count()).map(Region::new);
    all.find(|&r| body[r].ops.contains(&op)).expect("an op stands in a region")
}

fn manual_around(module: &Module, func: &Func, op: Op) -> Option<Op> {
    let body = &func.body;
    let parent = |op: Op| body[region_of(body, op)].parent;
    let around = std::iter::successors(parent(op), |&op| parent(op));
    let mut around = around.filter(|&op| Opcode::of_view(&module.view(body, op)) == Opcode::ManualComputation);
    around.next()
}

fn different_shapes(loc: &Loc, id: i64) -> Diagnostic {
    Diagnostic::error("sharding-group", loc, format!("the members of sharding group {id} have different shapes"))
        .help("only values of one shape can be sharded alike")
}

fn across_a_boundary(loc: &Loc, id: i64) -> Diagnostic {
    let message = format!("sharding group {id} has members inside and outside of a manual computation");
    Diagnostic::error("sharding-group", loc, message).help("give each side a group of its own")
}
