//! The ops of a program that changes look for, and small facts about them.

use shardwise_base::{DType, DTypeKind, Diagnostics, EntityVec, Reason};
use shardwise_ir::{Body, Builder, Func, Module, Op, OpView, Region, Use, Uses, Value};
use shardwise_ops::collective::CollectiveView;
use shardwise_ops::control::trip_count;
use shardwise_spmd::uniform::uniform;
use std::sync::Arc;

/// The main function of a program, with the uses of its values and the regions of its ops.
pub(crate) struct Sites<'m> {
    pub(crate) module: &'m Module,
    pub(crate) body: &'m Body,
    uses: Uses,
    home: EntityVec<Op, Option<Region>>,
    ops: Vec<Op>,
}

impl<'m> Sites<'m> {
    pub(crate) fn new(module: &'m Module, body: &'m Body) -> Sites<'m> {
        let mut home = EntityVec::filled(body.op_count(), None);
        let ops = body.walk();
        for region in std::iter::once(body.entry()).chain(ops.iter().flat_map(|&op| body[op].regions.clone())) {
            body[region].ops.iter().for_each(|&op| home[op] = Some(region));
        }
        Sites { module, body, uses: Uses::compute(body), home, ops }
    }

    pub(crate) fn op_count(&self) -> usize {
        self.ops.len()
    }

    pub(crate) fn view(&self, op: Op) -> OpView<'m> {
        self.module.view(self.body, op)
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = OpView<'m>> + '_ {
        self.ops.iter().map(|&op| self.view(op))
    }

    /// Returns the collectives that are not started asynchronously, in program order.
    pub(crate) fn collectives(&self) -> impl Iterator<Item = OpView<'m>> + '_ {
        let is_plain = |view: &OpView<'_>| {
            let around = self.home[view.op].and_then(|region| self.body[region].parent);
            let is_started = around.is_some_and(|op| is_start(&self.view(op)));
            !is_started && CollectiveView::of(view).is_some()
        };
        self.views().filter(is_plain)
    }

    pub(crate) fn home(&self, op: Op) -> Option<Region> {
        self.home[op]
    }

    pub(crate) fn uses(&self, v: Value) -> &[Use] {
        self.uses.of(v)
    }

    pub(crate) fn only_use(&self, v: Value) -> Option<Use> {
        if let &[only] = self.uses.of(v) { Some(only) } else { None }
    }

    /// Returns about how often an op runs: the product of the turns of the loops around it. A loop whose turns are not
    /// known counts as one turn, and branches count as if they were taken each time.
    pub(crate) fn runs(&self, op: Op) -> u64 {
        let mut runs = 1u64;
        let mut around = self.home[op].and_then(|region| self.body[region].parent);
        while let Some(op) = around {
            runs = runs.saturating_mul(trip_count(&self.view(op)).unwrap_or(1));
            around = self.home[op].and_then(|region| self.body[region].parent);
        }
        runs
    }
}

pub(crate) fn is_start(view: &OpView<'_>) -> bool {
    shardwise_ops::Opcode::of_view(view) == shardwise_ops::Opcode::AsyncStart
}

/// Returns the module with the main function that `f` makes. If its arguments have their varying axes recorded and
/// there is a mesh, those of all its values are recorded. A module without functions is returned as it is. Fails if `f`
/// does.
pub(crate) fn map_main(
    module: &Module,
    f: impl FnOnce(&Func) -> Result<Func, Diagnostics>,
) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    let Some(index) = module.main().and_then(|main| module.func_id(&main.name)) else { return Ok(out) };
    out.funcs[index.index()] = f(&module[index])?;
    let body = &out[index].body;
    let is_recorded = out.main_mesh().is_some() && body.args().iter().all(|&v| body[v].varying.is_some());
    if is_recorded { uniform(out) } else { Ok(out) }
}

pub(crate) fn set_reason(b: &mut Builder<'_>, v: Value, reason: Option<Arc<Reason>>) {
    let op = b.body.def_op(v).expect("a collective has just made the value");
    b.body.op_mut(op).reason = reason;
}

pub(crate) fn short(view: &OpView<'_>) -> &'static str {
    let name = view.name();
    name.split_once('.').map_or(name, |(_, name)| name)
}

/// Returns the type in which sums of elements of these types are taken, so that they are rounded once: the widest type
/// for complex numbers and for floats, but at least `f32` for floats, and the first type for integers, whose sums are
/// exact. The first type is that of the result. Returns `None` for other types, and for types of several of these
/// kinds.
pub(crate) fn sums_dtype(types: &[DType]) -> Option<DType> {
    let first = types[0];
    let is_integer = |dtype: DType| matches!(dtype.kind(), DTypeKind::Signed | DTypeKind::Unsigned);
    match first.kind() {
        DTypeKind::Signed | DTypeKind::Unsigned => types.iter().all(|&dtype| is_integer(dtype)).then_some(first),
        DTypeKind::Float if types.iter().all(|dtype| dtype.kind() == DTypeKind::Float) => {
            types.iter().copied().chain([DType::F32]).max_by_key(|dtype| dtype.bits())
        }
        DTypeKind::Complex if types.iter().all(|dtype| dtype.kind() == DTypeKind::Complex) => {
            types.iter().copied().max_by_key(|dtype| dtype.bits())
        }
        _ => None,
    }
}
