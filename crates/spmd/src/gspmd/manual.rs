//! Imports per-device regions in the older notation: the ops between `SPMDFullToShardShape` and `SPMDShardToFullShape`
//! become a manual computation over all axes. Only data flow connects the ops of such a region.

use crate::rewrite::facts;
use shardwise_base::{AxisIndex, AxisRef, Diagnostic, Diagnostics, Loc, Mesh, Sharding};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Func, Module, Op, OpView, Region, Value};
use shardwise_ops::control::CustomCall;
use shardwise_ops::shardy::{set_in_shardings, set_manual_axes};
use shardwise_ops::{Effects, Opcode};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const ENTER: &str = "SPMDFullToShardShape";
const LEAVE: &str = "SPMDShardToFullShape";

/// States whether an op begins or ends a per-device region, or only marks a sharding. This follows from the target of
/// the custom call alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Enters,
    Leaves,
    /// `@Sharding`. On a value within a region it only repeats `{manual}`, which follows from the value's position.
    Marks,
    /// Any other op, inside of a region or not.
    None,
}

pub(super) fn role(op: &OpView<'_>) -> Role {
    let target = CustomCall::target(op).filter(|_| Opcode::of_view(op) == Opcode::CustomCall);
    match target {
        Some(ENTER) => Role::Enters,
        Some(LEAVE) => Role::Leaves,
        Some("Sharding") => Role::Marks,
        _ => Role::None,
    }
}

/// Checks that a marker has one operand and one result, and that `@Sharding` keeps the type. Fails if this is not so
/// (`gspmd-marker`). Ops that are no markers pass.
pub(super) fn check_values(op: &OpView<'_>, role: Role) -> Result<(), Diagnostic> {
    let is_pair = op.operands().len() == 1 && op.results().len() == 1;
    let (fits, expected) = match role {
        Role::None => (true, ""),
        Role::Enters | Role::Leaves => (is_pair, "one operand and one result"),
        Role::Marks => (is_pair && op.operand_type(0) == op.result_type(0), "one operand, and one result of its type"),
    };
    if fits {
        return Ok(());
    }
    let target = CustomCall::target(op).unwrap_or_default();
    let message = format!("the custom call `@{target}` has other operands or results than it must have");
    Err(Diagnostic::error("gspmd-marker", op.loc(), message).expected(expected))
}

/// Turns every per-device region of the module into a manual computation over the axes of `mesh`, in place. A region
/// without a result and without effects is removed with all of its ops. The shardings must be in Shardy's form already.
///
/// # Errors
/// Fails if a marker does not have the operands and results that it must have (`gspmd-marker`), or if a region cannot
/// become a manual computation (`gspmd-manual`).
pub(super) fn close(module: &mut Module, mut mesh: impl FnMut() -> Arc<Mesh>) -> Result<(), Diagnostics> {
    for f in 0..module.funcs.len() {
        let parts = Parts::of(module, &module.funcs[f].body)?;
        if !parts.ops.is_empty() {
            module.funcs[f] = Closing { module, parts: &parts, mesh: &mesh() }.func(&module.funcs[f])?;
        }
    }
    Ok(())
}

/// The ops and values that are within regions. A region is identified by a number. If regions turn out to be one, their
/// numbers are joined.
#[derive(Default)]
struct Parts {
    of_op: HashMap<Op, usize>,
    of_value: HashMap<Value, usize>,
    /// For a number that was joined with another, that other number.
    joined: HashMap<usize, usize>,
    ops: HashMap<usize, Vec<Op>>,
}

impl Parts {
    fn of(module: &Module, body: &Body) -> Result<Parts, Diagnostics> {
        let mut parts = Parts::default();
        let ops = &body[body.entry()].ops;
        let top: HashSet<Op> = ops.iter().copied().collect();
        let nested = body.walk().into_iter().filter(|op| !top.contains(op));
        for op in nested.map(|op| module.view(body, op)) {
            if matches!(role(&op), Role::Enters | Role::Leaves) {
                return Err(refused(op.loc(), "begins or ends inside the region of another op").into());
            }
        }
        for (number, &op) in ops.iter().enumerate() {
            parts.add(&module.view(body, op), number)?;
        }
        for &op in ops {
            if let Some(part) = parts.part_of(op) {
                parts.ops.entry(part).or_default().push(op);
            }
        }
        Ok(parts)
    }

    fn part_of(&self, op: Op) -> Option<usize> {
        self.of_op.get(&op).map(|&part| self.last(part))
    }

    fn last(&self, mut part: usize) -> usize {
        while let Some(&next) = self.joined.get(&part) {
            part = next;
        }
        part
    }

    fn add(&mut self, op: &OpView<'_>, number: usize) -> Result<(), Diagnostics> {
        let role = role(op);
        check_values(op, role)?;
        let met: Vec<usize> = used(op).iter().filter_map(|v| self.of_value.get(v)).map(|&p| self.last(p)).collect();
        let Some(&part) = met.first().or((role == Role::Enters).then_some(&number)) else {
            return if role == Role::Leaves {
                Err(refused(op.loc(), "ends here but does not begin").into())
            } else {
                Ok(())
            };
        };
        if role == Role::Enters && !met.is_empty() {
            return Err(refused(op.loc(), "begins inside another one").into());
        }
        if op.body[op.body.entry()].ops.last() == Some(&op.op) {
            return Err(refused(op.loc(), "does not end before its function returns").into());
        }
        self.joined.extend(met.into_iter().filter(|&other| other != part).map(|other| (other, part)));
        self.of_op.insert(op.op, part);
        if role != Role::Leaves {
            self.of_value.extend(op.results().iter().map(|&v| (v, part)));
        }
        Ok(())
    }
}

/// Returns the values that an op, or an op in its regions, uses and that no op in its regions defines. The arguments of
/// its regions are among them if they are used.
fn used(op: &OpView<'_>) -> Vec<Value> {
    let mut ops = vec![op.op];
    op.regions().iter().for_each(|&r| op.body.walk_region(r, &mut ops));
    let within: HashSet<Op> = ops.iter().copied().collect();
    let values = ops.iter().flat_map(|&inner| op.body[inner].operands.iter().copied());
    values.filter(|&v| op.body.def_op(v).is_none_or(|maker| !within.contains(&maker))).collect()
}

struct Closing<'a> {
    module: &'a Module,
    parts: &'a Parts,
    mesh: &'a Arc<Mesh>,
}

impl Closing<'_> {
    fn func(&self, func: &Func) -> Result<Func, Diagnostics> {
        let mut out = func.without_body();
        let mut cloner = Cloner::new(&func.body);
        let mut b = Builder::new(&mut out.body);
        let entry = func.body.entry();
        cloner.args(entry, &mut b);
        for &op in &func.body[entry].ops {
            let Some(part) = self.parts.part_of(op) else {
                cloner.op(op, &mut b);
                continue;
            };
            if self.place(part, &func.body) == Some(op) {
                self.close(part, &func.body[op].loc, &mut cloner, &mut b)?;
            }
        }
        Ok(out)
    }

    /// Returns the op at whose position a region becomes a manual computation: that of its first result, or its last op
    /// if it has no result. Returns `None` if the region has neither a result nor effects.
    fn place(&self, part: usize, body: &Body) -> Option<Op> {
        let ops = &self.parts.ops[&part];
        let view = |op: &Op| self.module.view(body, *op);
        let has_effects = |op: &Op| facts(&view(op)).effects(&view(op)) == Effects::Ordered;
        let first_result = ops.iter().find(|op| role(&view(op)) == Role::Leaves);
        first_result.or_else(|| ops.last().filter(|_| ops.iter().any(has_effects))).copied()
    }

    /// Builds the manual computation of a region at its [place](Closing::place). Fails if a value that enters the
    /// region is computed after this position, if a per-device type does not fit its global type, or if an op uses a
    /// value of outside that cannot be copied into the region.
    fn close(&self, part: usize, loc: &Loc, cloner: &mut Cloner<'_>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let body = cloner.source;
        let ops: Vec<OpView<'_>> = self.parts.ops[&part].iter().map(|&op| self.module.view(body, op)).collect();
        let with = |wanted: Role| ops.iter().filter(move |op| role(op) == wanted);
        if let Some(late) = with(Role::Enters).find(|op| !cloner.is_set(op.operand(0))) {
            return Err(refused(late.loc(), "takes a value that is computed after its first result").into());
        }
        for op in &ops {
            self.check_types(op)?;
        }
        b.loc = loc.clone();
        let operands: Vec<Value> = with(Role::Enters).map(|op| cloner.get(op.operand(0))).collect();
        let ins = with(Role::Enters).map(|op| self.sharding(body, op.operand(0))).collect();
        let axes: Vec<AxisRef> = (0..self.mesh.axes.len()).map(|i| AxisRef::full(AxisIndex::new(i))).collect();
        let mut attrs = Attrs::new();
        set_in_shardings(&mut attrs, ins);
        set_manual_axes(&mut attrs, self.mesh, &axes);
        let region = self.region(body, &ops, b)?;
        let types: Vec<_> = with(Role::Leaves).map(|op| op.result_type(0).clone()).collect();
        let made = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [region], types);
        for (op, to) in with(Role::Leaves).zip(b.body[made].results.clone()) {
            cloner.set(op.result(0), to);
            b.set_sharding(to, Some(self.sharding(body, op.result(0))));
        }
        Ok(())
    }

    /// Checks that the per-device type at a boundary of the region is the global type split evenly by the sharding.
    /// Fails if it is not (`gspmd-manual`).
    fn check_types(&self, op: &OpView<'_>) -> Result<(), Diagnostic> {
        let (global, local) = match role(op) {
            Role::Enters => (op.operand(0), op.result(0)),
            Role::Leaves => (op.result(0), op.operand(0)),
            Role::Marks | Role::None => return Ok(()),
        };
        let sharding = self.sharding(op.body, global);
        let (whole, part) = (op.body.ty(global), op.body.ty(local));
        let is_part = sharding.rank() == whole.shape().len()
            && sharding.divides(whole.shape())
            && sharding.local_shape(whole.shape()) == part.shape();
        if is_part && whole.as_tensor().map(|t| t.dtype) == part.as_tensor().map(|t| t.dtype) {
            return Ok(());
        }
        Err(refused(op.loc(), &format!("has {part} on each device, which is not {whole} split evenly by {sharding}")))
    }

    fn sharding(&self, body: &Body, v: Value) -> Sharding {
        let whole = || Sharding::replicated(self.mesh, body.ty(v).shape().len());
        body.value(v).sharding.clone().unwrap_or_else(whole)
    }

    fn region(&self, body: &Body, ops: &[OpView<'_>], b: &mut Builder<'_>) -> Result<Region, Diagnostics> {
        let region = b.body.add_region();
        let mut inner = Builder::at(b.body, region, b.loc.clone());
        let mut cloner = Cloner::new(body);
        for op in ops.iter().filter(|op| role(op) == Role::Enters) {
            let arg = inner.arg(op.result_type(0).clone());
            cloner.set(op.result(0), arg);
        }
        let mut given = vec![];
        for op in ops {
            match role(op) {
                Role::Enters => {}
                Role::Marks => cloner.set(op.result(0), cloner.get(op.operand(0))),
                Role::Leaves => given.push(cloner.get(op.operand(0))),
                Role::None => {
                    self.bring_in(op, &mut cloner, &mut inner)?;
                    cloner.op(op.op, &mut inner);
                }
            }
        }
        inner.op(Opcode::SdyReturn, given, Attrs::new(), []);
        Ok(region)
    }

    /// Copies the ops outside of the region that define values used by `op` into the region. Fails if `op` uses another
    /// value of outside: an argument of the function, or the result of an op with operands or regions.
    fn bring_in(&self, op: &OpView<'_>, cloner: &mut Cloner<'_>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let needs_nothing = |maker: Op| op.body[maker].operands.is_empty() && op.body[maker].regions.is_empty();
        for v in used(op) {
            if cloner.is_set(v) {
                continue;
            }
            match op.body.def_op(v) {
                Some(maker) if needs_nothing(maker) => {
                    cloner.op(maker, b);
                }
                // An argument of a region within the op.
                None if !op.body.args().contains(&v) => {}
                _ => {
                    return Err(refused(
                        op.loc(),
                        "uses a value from outside that does not enter it through `@SPMDFullToShardShape`",
                    )
                    .into());
                }
            }
        }
        Ok(())
    }
}

fn refused(loc: &Loc, what: &str) -> Diagnostic {
    Diagnostic::error("gspmd-manual", loc, format!("a per-device region in XLA's older notation {what}"))
        .help(super::EXPORT_WITH_SHARDY)
}
