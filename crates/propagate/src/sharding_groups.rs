//! Sharding groups as a program writes them: values that are to be sharded alike.

use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, Op, Region, Value};
use shardwise_ops::Opcode;
use shardwise_ops::shardy::ShardingGroup;
use std::collections::BTreeMap;

/// A member of a sharding group.
#[derive(Clone, Copy)]
pub struct Member {
    /// The index of the function in the module.
    pub func: usize,
    /// The op `sdy.sharding_group`.
    pub op: Op,
    /// The value that is in the group.
    pub value: Value,
    /// The region that the op stands in.
    pub region: Region,
    /// The innermost manual computation around the op; `None` if there is none.
    manual: Option<Op>,
}

/// Returns the members of each group of the module in program order, by the group's number.
pub fn groups(module: &Module) -> BTreeMap<i64, Vec<Member>> {
    let mut groups = BTreeMap::new();
    for (f, func) in module.funcs.iter().enumerate() {
        collect(module, f, func.body.entry(), None, &mut groups);
    }
    groups
}

fn collect(module: &Module, func: usize, region: Region, manual: Option<Op>, groups: &mut BTreeMap<i64, Vec<Member>>) {
    let body = &module.funcs[func].body;
    for &op in &body[region].ops {
        let view = module.view(body, op);
        let opcode = Opcode::of_view(&view);
        if opcode == Opcode::ShardingGroup {
            groups.entry(ShardingGroup::id(&view).unwrap_or(0)).or_default().push(Member {
                func,
                op,
                value: view.operand(0),
                region,
                manual,
            });
        }
        let within = if opcode == Opcode::ManualComputation { Some(op) } else { manual };
        view.regions().iter().for_each(|&r| collect(module, func, r, within, groups));
    }
}

/// Checks that the members of each group can be sharded alike.
///
/// # Errors
/// Fails as [`check_group`] does for the first group that fails.
pub fn check(module: &Module) -> Result<(), Diagnostics> {
    groups(module).into_iter().try_for_each(|(id, members)| check_group(module, id, &members))
}

/// Checks that the members of group `id` have one shape, and that the innermost manual computation around each is the
/// same, or that all are outside of manual computations.
///
/// # Errors
/// Fails with `sharding-group` for the first member that differs from `members[0]`.
pub fn check_group(module: &Module, id: i64, members: &[Member]) -> Result<(), Diagnostics> {
    let shape = |m: &Member| module.funcs[m.func].body.ty(m.value).shape();
    let around = |m: &Member| m.manual.map(|op| (m.func, op));
    for member in members {
        let loc = &module.funcs[member.func].body[member.op].loc;
        if shape(member) != shape(&members[0]) {
            return Err(different_shapes(loc, id).into());
        }
        if around(member) != around(&members[0]) {
            return Err(across_a_boundary(loc, id).into());
        }
    }
    Ok(())
}

fn different_shapes(loc: &Loc, id: i64) -> Diagnostic {
    Diagnostic::error("sharding-group", loc, format!("the members of sharding group {id} have different shapes"))
        .help("only values of one shape can be sharded alike")
}

fn across_a_boundary(loc: &Loc, id: i64) -> Diagnostic {
    let message =
        format!("the members of sharding group {id} are not all in the same manual computation, or all outside");
    Diagnostic::error("sharding-group", loc, message)
        .help("use one group for each manual computation, and one for the values outside")
}
