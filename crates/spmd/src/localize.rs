//! Turns global types into the types of one device. No other pass does.
//!
//! Each op is made local by the `localize` function of its row in the op table. This module handles loops and branches,
//! whose regions it walks, and manual computations, whose bodies are per device already and replace the op.
//!
//! The result shardings that a manual computation claims are compared with what is inferred of the results
//! ([`uniform`]), because an imported program may claim what is not true.

use crate::rewrite::{facts, has_program_regions, is_manual, is_terminator, map_main, sharding_or_replicated};
use crate::uniform;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Loc, Mesh, Sharding};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::rewrite::{Rewrite, rewrite_func, rewrite_op, rewrite_regions};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Func, Module, OpView, PaddedDim, Type, Value, ValueData};
use shardwise_ops::LocalizeCx;
use shardwise_ops::shardy::{ManualComputation, manual_axes};
use std::sync::Arc;

/// Returns the module with the main function turned into the program of one device. A module without a mesh is not
/// changed.
///
/// Unless it fails, adds a warning `claim-unproved` to `warnings` for each result of the program's manual computations
/// whose sharding claims that it is equal along axes over which it may vary.
///
/// # Errors
/// Fails if an op cannot run on the shards that its layouts require, with one error for each such op.
pub fn localize(module: &Module, warnings: &mut Diagnostics) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| localize_func(module, func, &mesh, warnings))
}

fn localize_func(
    module: &Module,
    func: &Func,
    mesh: &Arc<Mesh>,
    warnings: &mut Diagnostics,
) -> Result<Func, Diagnostics> {
    let mut pass = Localizer { mesh, found: Diagnostics::default(), claims: vec![] };
    let mut out = rewrite_func(module, func, &mut pass)?;
    let args = func.body.args().iter().map(|&v| func.body.ty(v));
    out.arg_attrs.iter_mut().zip(args).for_each(|(attrs, ty)| keep_global_type(attrs, ty));
    out.result_attrs.iter_mut().zip(&func.result_types).for_each(|(attrs, ty)| keep_global_type(attrs, ty));
    without_global_facts(&mut out.body);
    let Localizer { found, claims, .. } = pass;
    if !found.has_errors() && !claims.is_empty() {
        let varying = uniform::infer(module, &out);
        warnings.extend(claims.iter().filter_map(|c| c.doubt(&varying[c.value].axes(mesh), mesh)));
    }
    found.or(out)
}

fn without_global_facts(body: &mut Body) {
    let count = body.args().len();
    debug_assert!(body.args().iter().all(|v| v.index() < count));
    for v in (0..body.value_count()).map(Value::new) {
        let data = body.value_mut(v);
        // The values that this pass made have no sharding, and their padding is recorded by devices already.
        if let Some(sharding) = &data.sharding {
            data.padding = local_padding(data, sharding);
        }
        if v.index() >= count {
            data.sharding = None;
        }
    }
}

/// Returns the padding of a value with a global type as the program of one device records it: with the axes that split
/// each dimension, and without what the padding holds. Returns `None` if the value has none.
fn local_padding(global: &ValueData, sharding: &Sharding) -> Option<Arc<Vec<PaddedDim>>> {
    let local = |p: &PaddedDim| PaddedDim { axes: sharding.dims[p.dim].axes.clone(), holds: None, ..p.clone() };
    Some(Arc::new(global.padding.as_ref()?.iter().map(local).collect()))
}

/// The claim that a result of a manual computation is equal along some axes.
struct Claim {
    value: Value,
    index: usize,
    sharding: Sharding,
    equal: Vec<AxisRef>,
    loc: Loc,
}

impl Claim {
    /// Returns a warning if the value may vary over an axis along which it is claimed to be equal. `varying` are the
    /// axes over which it may vary. Axes of size 1 are ignored. Returns `None` if there is no such axis.
    fn doubt(&self, varying: &[AxisRef], mesh: &Mesh) -> Option<Diagnostic> {
        let without = |axes: &[AxisRef], others: &[AxisRef]| axes.iter().flat_map(|a| a.minus(mesh, others)).collect();
        let proved: Vec<AxisRef> = without(&self.equal, varying);
        let mut doubted: Vec<AxisRef> = without(&self.equal, &proved);
        doubted.retain(|a| a.size(mesh) > 1);
        (!doubted.is_empty()).then(|| unproved(self, &doubted, mesh))
    }
}

fn unproved(claim: &Claim, axes: &[AxisRef], mesh: &Mesh) -> Diagnostic {
    let names: Vec<String> = axes.iter().map(|a| a.display(mesh).to_string()).collect();
    let names = names.join(", ");
    let message = format!("a manual computation claims a result that is equal along {names}, which cannot be proved");
    Diagnostic::warning("claim-unproved", &claim.loc, message)
        .facts(format!("result {} as {}", claim.index, claim.sharding))
        .mesh(mesh)
        .note("each device goes on with its own value")
        .help(format!("sum or gather it over {names}, or split a dimension of the result over {names}"))
}

/// Records `ty` as the global type in the attributes of an argument or result. Records nothing if `ty` is no tensor, or
/// if there is a global type already: the pass `pad` has then recorded the type without padding.
fn keep_global_type(attrs: &mut Attrs, ty: &Type) {
    if ty.as_tensor().is_some() && !attrs.contains(GLOBAL_TYPE) {
        attrs.set(GLOBAL_TYPE, Attr::Type(ty.clone()));
    }
}

struct Localizer<'a> {
    mesh: &'a Arc<Mesh>,
    found: Diagnostics,
    claims: Vec<Claim>,
}

impl<'s> Rewrite<'s> for Localizer<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let results = if is_manual(view) {
            self.manual(view, cloner, b)?
        } else if is_terminator(view) || has_program_regions(view) {
            return Ok(false);
        } else {
            self.by_fact(view, cloner, b)?
        };
        for (&old, new) in view.results().iter().zip(results) {
            cloner.set(old, new);
            let global = &view.body[old];
            let data = b.body.value_mut(new);
            if data.loc.is_unknown() {
                data.loc = global.loc.clone();
            }
            if let Some(sharding) = &global.sharding {
                data.padding = local_padding(global, sharding);
            }
        }
        Ok(true)
    }

    fn value_type(&self, source: &Body, v: Value) -> Type {
        let ty = source.ty(v);
        match (ty.as_tensor(), sharding_or_replicated(source, v, self.mesh)) {
            (Some(t), Some(s)) => Type::tensor(t.dtype, s.local_shape(&t.shape)),
            _ => ty.clone(),
        }
    }
}

impl Localizer<'_> {
    /// Returns the local types of an op's results. A result with the global type and sharding of an operand shares the
    /// operand's local type.
    fn result_types(&self, view: &OpView<'_>, cloner: &Cloner<'_>, b: &Builder<'_>) -> Vec<Type> {
        let seen = |v: Value| (view.body.ty(v), view.body.sharding(v));
        let like = |v: Value| view.operands().iter().find(|&&operand| seen(operand) == seen(v));
        let of_operand = |&operand: &Value| b.body.ty(cloner.get(operand)).clone();
        view.results().iter().map(|&v| like(v).map_or_else(|| self.value_type(view.body, v), of_operand)).collect()
    }

    /// Inserts the body of a manual computation, with its ops made local, in place of the op and returns its results.
    /// Records what is claimed of the results, unless a pass made the computation. Always returns `Ok`: the errors of
    /// ops in the body are recorded in `found`.
    fn manual<'s>(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<Vec<Value>, Diagnostics> {
        let (source, region) = (cloner.source, view.regions()[0]);
        for (&arg, &operand) in source[region].args.iter().zip(view.operands()) {
            cloner.set(arg, cloner.get(operand));
        }
        let (_, ops) = source[region].ops.split_last().expect("a region ends in a terminator");
        ops.iter().try_for_each(|&op| rewrite_op(view.module, op, self, cloner, b))?;
        let results = cloner.values(source.region_results(region));
        if !ManualComputation::is_made(view.attrs()) {
            self.claim(view, &results);
        }
        Ok(results)
    }

    /// Records along which axes the results are claimed to be equal: the manual axes over which the sharding of a
    /// result neither splits it nor leaves it unreduced. Results without a sharding or without such axes have no claim.
    fn claim(&mut self, view: &OpView<'_>, results: &[Value]) {
        let manual = manual_axes(view);
        for (index, &value) in results.iter().enumerate() {
            let Some(sharding) = view.result_sharding(index).cloned() else { continue };
            let told: Vec<AxisRef> = sharding.split_axes().chain(sharding.unreduced.iter().copied()).collect();
            let equal: Vec<AxisRef> = manual.iter().flat_map(|a| a.minus(self.mesh, &told)).collect();
            if !equal.is_empty() {
                self.claims.push(Claim { value, index, sharding, equal, loc: view.loc().clone() });
            }
        }
    }

    fn by_fact<'s>(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<Vec<Value>, Diagnostics> {
        let regions = rewrite_regions(view, self, cloner, b)?;
        let operands = cloner.values(view.operands());
        let shardings =
            |values: &[Value]| values.iter().map(|&v| sharding_or_replicated(view.body, v, self.mesh)).collect();
        let mut cx = LocalizeCx {
            op: *view,
            operands: &operands,
            regions,
            operand_shardings: shardings(view.operands()),
            result_shardings: shardings(view.results()),
            result_types: self.result_types(view, cloner, b),
            builder: b,
        };
        Ok(facts(view).localize(&mut cx).unwrap_or_else(|diagnostic| {
            self.found.push(diagnostic);
            cx.same_op()
        }))
    }
}
