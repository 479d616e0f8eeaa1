//! Copies of values that have several readers and whose layouts the search must not change.
//!
//! Each reader takes such a value from its layout on its own. Where several readers together cost less if the value is
//! moved once for all of them, no change of another value's layout finds that. So all of them read a copy of the value.
//! The search may give the copy any layout. The copy costs nothing if it has the layout of the value.

use crate::cleanup::live;
use crate::rewrite::{has_program_regions, is_manual, is_mark, is_terminator, sharding_or_replicated};
use shardwise_base::{Diagnostics, EntityVec, Mesh};
use shardwise_ir::rewrite::{Rewrite, rewrite_ops};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Func, Module, Op, OpView, Uses, Value};
use shardwise_ops::Opcode;
use std::sync::Arc;

/// The attribute of the ops that [`with_copies`] adds.
const COPY: &str = "shardwise.copy";

/// Returns true if the op is a copy that [`with_copies`] made of a value for its readers. The layout of its result is
/// free.
pub(crate) fn is_copy(view: &OpView<'_>) -> bool {
    view.data().code == Opcode::Reshard.into() && view.attrs().contains(COPY)
}

/// Returns the function with a copy of each shared value ([`Copies::is_shared`]) among its arguments and among the
/// results of manual computations and of ops that state layouts. All later ops read the copy, which has the layout of
/// the value. Returns `None` if there is no such value.
pub(super) fn with_copies(module: &Module, func: &Func, mesh: &Arc<Mesh>) -> Option<Func> {
    let body = &func.body;
    let (uses, live) = (Uses::compute(body), live(module, body));
    let mut copies = Copies { module, body, mesh, uses, live, count: 0 };
    let mut out = func.without_body();
    let (mut cloner, mut b) = (Cloner::new(body), Builder::new(&mut out.body));
    cloner.args(body.entry(), &mut b);
    copies.add(body.args(), &mut cloner, &mut b);
    rewrite_ops(module, body.entry(), &mut copies, &mut cloner, &mut b).expect("it has no errors");
    (copies.count > 0).then_some(out)
}

/// Returns true if the op computes with its operands, and does not only pass them on or state layouts.
pub(crate) fn is_reader(view: &OpView<'_>) -> bool {
    !is_stated(view) && !is_terminator(view) && !has_program_regions(view)
}

fn is_stated(view: &OpView<'_>) -> bool {
    is_manual(view) || is_mark(view)
}

struct Copies<'s> {
    module: &'s Module,
    body: &'s Body,
    mesh: &'s Arc<Mesh>,
    uses: Uses,
    live: EntityVec<Op, bool>,
    /// The number of copies so far.
    count: usize,
}

impl Copies<'_> {
    /// Returns true if a value is split over devices and is read several times by live ops, of which at least one
    /// computes with it ([`is_reader`]).
    fn is_shared(&self, v: Value) -> bool {
        let layout = sharding_or_replicated(self.body, v, self.mesh);
        let users: Vec<Op> = self.uses.of(v).iter().map(|user| user.op).filter(|&op| self.live[op]).collect();
        layout.is_some_and(|layout| layout.split_axes().next().is_some())
            && users.len() > 1
            && users.iter().any(|&op| is_reader(&self.module.view(self.body, op)))
    }

    /// Builds copies of those of `values` that are shared. All later ops read the copies in place of these values. The
    /// new body has the values already.
    fn add(&mut self, values: &[Value], cloner: &mut Cloner<'_>, b: &mut Builder<'_>) {
        for &v in values {
            if !self.is_shared(v) {
                continue;
            }
            let new = cloner.get(v);
            b.loc = b.body.value(new).loc.clone();
            let (ty, layout) = (b.body.ty(new).clone(), sharding_or_replicated(b.body, new, self.mesh));
            let copy = b.value(Opcode::Reshard, [new], Attrs::new().with(COPY, Attr::Unit), ty);
            b.set_sharding(copy, layout);
            cloner.set(v, copy);
            self.count += 1;
        }
    }
}

/// Copies the ops that state layouts and manual computations, with what is inside these, and adds the copies of their
/// results.
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
