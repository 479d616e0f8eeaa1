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
use shardwise_ir::rewrite::open_region;
use shardwise_ir::{Attr, Attrs, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::shardy::manual_axes;
use shardwise_ops::{LocalizeCx, Semantics};
use std::sync::Arc;

/// Returns the program of one device.
///
/// Warnings: `claim-unproved`.
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
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut found = Diagnostics::default();
    let mut b = Builder::new(&mut out.body);
    let mut pass = Localizer { module, mesh, cloner: &mut cloner, found: &mut found, claims: vec![] };
    for (i, &old) in func.body.args().iter().enumerate() {
        let new = b.body.add_arg(b.region, pass.local_type(old), func.body[old].loc.clone());
        pass.cloner.carry(old, new, &mut b);
        keep_global_type(&mut out.arg_attrs[i], func.body.ty(old));
    }
    pass.ops(func.body.entry(), &mut b);
    let claims = pass.claims;
    for (i, ty) in func.result_types.iter().enumerate() {
        keep_global_type(&mut out.result_attrs[i], ty);
    }
    out.result_types = out.body.results().iter().map(|&v| out.body.ty(v).clone()).collect();
    if !found.has_errors() && !claims.is_empty() {
        let varying = uniform::infer(module, &out);
        warnings.extend(claims.iter().filter_map(|c| c.doubt(&varying[c.value.index()].axes(mesh), mesh)));
    }
    found.or(out)
}

/// The claim that a result of a manual computation is equal along some axes.
struct Claim {
    value: Value,
    /// The position among the results.
    index: usize,
    sharding: Sharding,
    equal: Vec<AxisRef>,
    loc: Loc,
}

impl Claim {
    /// Returns the warning if the value may vary over axes along which it is claimed to be equal.
    fn doubt(&self, varying: &[AxisRef], mesh: &Mesh) -> Option<Diagnostic> {
        let without = |axes: &[AxisRef], others: &[AxisRef]| axes.iter().flat_map(|a| a.minus(mesh, others)).collect();
        let proved: Vec<AxisRef> = without(&self.equal, varying);
        let doubted: Vec<AxisRef> = without(&self.equal, &proved);
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

/// Records the global type of an argument or result. If padding has recorded the type without padding, that type is
/// kept.
fn keep_global_type(attrs: &mut Attrs, ty: &Type) {
    if ty.as_tensor().is_some() && !attrs.contains(GLOBAL_TYPE) {
        attrs.set(GLOBAL_TYPE, Attr::Type(ty.clone()));
    }
}

struct Localizer<'a, 'c, 's> {
    module: &'s Module,
    mesh: &'a Arc<Mesh>,
    cloner: &'c mut Cloner<'s>,
    found: &'c mut Diagnostics,
    claims: Vec<Claim>,
}

impl<'s> Localizer<'_, '_, 's> {
    fn sharding(&self, v: Value) -> Option<Sharding> {
        sharding_or_replicated(self.cloner.source, v, self.mesh)
    }

    fn local_type(&self, v: Value) -> Type {
        let ty = self.cloner.source.ty(v);
        match (ty.as_tensor(), self.sharding(v)) {
            (Some(t), Some(s)) => Type::tensor(t.dtype, s.local_shape(&t.shape)),
            _ => ty.clone(),
        }
    }

    /// Returns the local types of an op's results. A result with the global type and sharding of an operand shares the
    /// operand's local type.
    fn result_types(&self, view: &OpView<'s>, b: &Builder<'_>) -> Vec<Type> {
        let seen = |v: Value| (view.body.ty(v), view.body.sharding(v));
        let like = |v: Value| view.operands().iter().find(|&&operand| seen(operand) == seen(v));
        let of_operand = |&operand: &Value| b.body.ty(self.cloner.get(operand)).clone();
        view.results().iter().map(|&v| like(v).map_or_else(|| self.local_type(v), of_operand)).collect()
    }

    fn ops(&mut self, region: Region, b: &mut Builder<'_>) {
        let source = self.cloner.source;
        for &op in &source[region].ops {
            self.op(op, b);
        }
    }

    fn op(&mut self, op: Op, b: &mut Builder<'_>) {
        let view = self.module.view(self.cloner.source, op);
        b.loc = view.loc().clone();
        let results = if is_terminator(&view) {
            self.copy(&view, vec![], b)
        } else if is_manual(&view) {
            self.manual(&view, b)
        } else if has_program_regions(&view) {
            let regions = view.regions().iter().map(|&r| self.region(r, b)).collect();
            self.copy(&view, regions, b)
        } else {
            self.by_fact(&view, b)
        };
        for (&old, new) in view.results().iter().zip(results) {
            self.define(old, new, b);
        }
    }

    /// Records that `new` is the local value of `old`. Local values have no sharding.
    fn define(&mut self, old: Value, new: Value, b: &mut Builder<'_>) {
        self.cloner.set(old, new);
        if b.body[new].loc.is_unknown() {
            b.body.value_mut(new).loc = self.cloner.source[old].loc.clone();
        }
    }

    /// Copies the op with local operands and types.
    fn copy(&mut self, view: &OpView<'s>, regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
        let types = self.result_types(view, b);
        let operands = self.cloner.values(view.operands());
        let new = b.op_with_regions(view.data().code, operands, view.attrs().clone(), regions, types);
        b.body.op_mut(new).reason = view.data().reason.clone();
        b.body[new].results.to_vec()
    }

    fn region(&mut self, from: Region, b: &mut Builder<'_>) -> Region {
        let args = &self.cloner.source[from].args;
        let types: Vec<Type> = args.iter().map(|&v| self.local_type(v)).collect();
        let (region, new) = open_region(b.body, &types, &b.loc);
        for (&old, &new) in args.iter().zip(&new) {
            self.define(old, new, b);
        }
        self.ops(from, &mut Builder::at(b.body, region, b.loc.clone()));
        region
    }

    /// Inserts the body of a manual computation in place of the op.
    fn manual(&mut self, view: &OpView<'s>, b: &mut Builder<'_>) -> Vec<Value> {
        let source = self.cloner.source;
        let region = view.regions()[0];
        for (&arg, &operand) in source[region].args.iter().zip(view.operands()) {
            self.cloner.set(arg, self.cloner.get(operand));
        }
        let (_, ops) = source[region].ops.split_last().expect("a region ends in a terminator");
        for &op in ops {
            self.op(op, b);
        }
        let results = self.cloner.values(source.region_results(region));
        self.claim(view, &results);
        results
    }

    /// Records along which of the manual axes the results are claimed to be equal.
    fn claim(&mut self, view: &OpView<'s>, results: &[Value]) {
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

    fn by_fact(&mut self, view: &OpView<'s>, b: &mut Builder<'_>) -> Vec<Value> {
        let regions = view.regions().iter().map(|&r| self.scalar_region(r, b)).collect();
        let operands = self.cloner.values(view.operands());
        let shardings = |values: &[Value]| values.iter().map(|&v| self.sharding(v)).collect();
        let mut cx = LocalizeCx {
            op: *view,
            operands: &operands,
            regions,
            operand_shardings: shardings(view.operands()),
            result_shardings: shardings(view.results()),
            result_types: self.result_types(view, b),
            builder: b,
        };
        match facts(view).localize(&mut cx) {
            Ok(values) => values,
            Err(diagnostic) => {
                self.found.push(diagnostic);
                self.copy(view, vec![], b)
            }
        }
    }

    /// Copies a reducer or comparator. Ops that are identities, such as sharding constraints, are removed from it.
    fn scalar_region(&mut self, from: Region, b: &mut Builder<'_>) -> Region {
        let source = self.cloner.source;
        let types: Vec<Type> = source[from].args.iter().map(|&v| source.ty(v).clone()).collect();
        let (region, new) = open_region(b.body, &types, &b.loc);
        for (&old, &new) in source[from].args.iter().zip(&new) {
            self.cloner.set(old, new);
        }
        let mut inner = Builder::at(b.body, region, b.loc.clone());
        for &op in &source[from].ops {
            let view = self.module.view(source, op);
            if facts(&view).semantics(&view) == Semantics::Identity {
                let pairs = view.results().iter().zip(view.operands());
                pairs.for_each(|(&result, &operand)| self.cloner.set(result, self.cloner.get(operand)));
            } else {
                let new = self.cloner.op(op, &mut inner);
                for v in inner.body[new].results.clone() {
                    inner.body.value_mut(v).sharding = None;
                }
            }
        }
        region
    }
}
