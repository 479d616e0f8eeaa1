//! Copies of values that have several readers and whose layouts the search must not change.
//!
//! Each reader takes such a value from its layout on its own. Where several readers together cost less if the value is
//! moved once for all of them, no change of another value's layout finds that. So the search sees an op between the
//! value and its readers, whose result it may lay out in any way. The op does nothing if the layout stays the same.

use crate::cleanup::live;
use crate::rewrite::{facts, has_program_regions, is_manual, is_terminator, sharding_or_replicated};
use rustc_hash::FxHashSet;
use shardwise_base::{Diagnostics, Mesh};
use shardwise_ir::rewrite::{Rewrite, rewrite_ops};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Func, Module, Op, OpView, Region, Uses, Value};
use shardwise_ops::{Opcode, Semantics};
use std::sync::Arc;

/// The attribute of the ops that [`with_copies`] adds.
const COPY: &str = "shardwise.copy";

/// Returns true if the op stands between a value and its readers, so that the layout of its result is free.
pub(crate) fn is_copy(view: &OpView<'_>) -> bool {
    view.data().code == Opcode::Reshard.into() && view.attrs().contains(COPY)
}

/// Returns the function with a copy of each value that the program lays out and that has several readers, which read
/// the copy. It has the same layout. Returns `None` if there is no such value.
pub(super) fn with_copies(module: &Module, func: &Func, mesh: &Arc<Mesh>) -> Option<Func> {
    let shared = shared(module, func, mesh);
    if shared.is_empty() {
        return None;
    }
    let mut copies = Copies { shared, mesh };
    let mut out = func.without_body();
    let (mut cloner, mut b) = (Cloner::new(&func.body), Builder::new(&mut out.body));
    cloner.args(func.body.entry(), &mut b);
    copies.add(func.body.args(), &mut cloner, &mut b);
    rewrite_ops(module, func.body.entry(), &mut copies, &mut cloner, &mut b).expect("it has no errors");
    Some(out)
}

/// Returns the values that are split over devices and have several readers, among the arguments of the function and
/// the results of manual computations and of ops that only state layouts.
fn shared(module: &Module, func: &Func, mesh: &Arc<Mesh>) -> FxHashSet<Value> {
    let body = &func.body;
    let (uses, live) = (Uses::compute(body), live(module, body));
    let mut ops = vec![];
    outside_manual(module, body, body.entry(), &mut ops);
    let stated = ops.into_iter().filter(|&op| is_stated(&module.view(body, op)));
    let values = body.args().iter().chain(stated.flat_map(|op| &body[op].results)).copied();
    let is_shared = |v: &Value| {
        let is_split = sharding_or_replicated(body, *v, mesh).is_some_and(|s| s.split_axes().next().is_some());
        let users: Vec<Op> = uses.of(*v).iter().map(|user| user.op).filter(|&op| live[op]).collect();
        is_split && users.len() > 1 && users.iter().any(|&op| is_reader(&module.view(body, op)))
    };
    values.filter(is_shared).collect()
}

/// Returns true if the op computes with its operands, and does not only pass them on or state layouts.
pub(crate) fn is_reader(view: &OpView<'_>) -> bool {
    !is_stated(view) && !is_terminator(view) && !has_program_regions(view)
}

fn is_stated(view: &OpView<'_>) -> bool {
    is_manual(view) || facts(view).semantics(view) == Semantics::Identity
}

/// Adds the ops of a region to `out`, with those inside them, but without those inside manual computations.
fn outside_manual(module: &Module, body: &Body, region: Region, out: &mut Vec<Op>) {
    for &op in &body[region].ops {
        out.push(op);
        if !is_manual(&module.view(body, op)) {
            body[op].regions.iter().for_each(|&inner| outside_manual(module, body, inner, out));
        }
    }
}

struct Copies<'a> {
    shared: FxHashSet<Value>,
    mesh: &'a Arc<Mesh>,
}

impl Copies<'_> {
    /// Builds the copies of those of the values that are shared, which have been copied to the new body, and has all
    /// later ops read these.
    fn add(&self, values: &[Value], cloner: &mut Cloner<'_>, b: &mut Builder<'_>) {
        for &v in values.iter().filter(|v| self.shared.contains(v)) {
            let new = cloner.get(v);
            b.loc = b.body.value(new).loc.clone();
            let (ty, layout) = (b.body.ty(new).clone(), sharding_or_replicated(b.body, new, self.mesh));
            let copy = b.value(Opcode::Reshard, [new], Attrs::new().with(COPY, Attr::Unit), ty);
            b.set_sharding(copy, layout);
            cloner.set(v, copy);
        }
    }
}

impl<'s> Rewrite<'s> for Copies<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if !is_stated(view) {
            return Ok(false);
        }
        cloner.op(view.op, b);
        self.add(view.results(), cloner, b);
        Ok(true)
    }
}
