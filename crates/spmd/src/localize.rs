//! Global types become the types of one device: the only place where they do.
//!
//! Each op is made local by its own row of the op table (`localize`); here are loops and branches, whose regions are
//! walked, and manual computations, whose bodies are per device already and are spliced in. Inside them, collectives
//! that the program wrote over lists of device numbers come to name axes, and arithmetic on `partition_id` that gives a
//! position along axes becomes `shardwise.axis_index`.

use crate::imported;
use crate::rewrite::{
    facts, has_program_regions, is_manual, is_terminator, map_main, open_region, sharding_or_replicated,
};
use shardwise_base::{Diagnostics, Mesh, Sharding};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Attr, Attrs, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::{LocalizeCx, Semantics};
use std::sync::Arc;

/// The program of one device.
pub fn localize(module: &Module) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| localize_func(module, func, &mesh))
}

fn localize_func(module: &Module, func: &Func, mesh: &Arc<Mesh>) -> Result<Func, Diagnostics> {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut found = Diagnostics::default();
    let mut b = Builder::new(&mut out.body);
    let mut pass = Localizer { module, mesh, cloner: &mut cloner, found: &mut found };
    for (i, &old) in func.body.args().iter().enumerate() {
        let new = b.body.add_arg(b.region, pass.local_type(old), func.body[old].loc.clone());
        pass.cloner.carry(old, new, &mut b);
        keep_global_type(&mut out.arg_attrs[i], func.body.ty(old));
    }
    pass.ops(func.body.entry(), &mut b);
    for (i, ty) in func.result_types.iter().enumerate() {
        keep_global_type(&mut out.result_attrs[i], ty);
    }
    out.result_types = out.body.results().iter().map(|&v| out.body.ty(v).clone()).collect();
    found.or(out)
}

/// Padding has recorded the type without padding: that one stays.
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

    /// Of an op's results; those that lie as an operand does share its type.
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
        } else if let Some(axes) = imported::axes_of_arithmetic(&view, self.mesh) {
            vec![imported::axis_index(&view, self.mesh, &axes, b)]
        } else if let Some(attrs) = imported::axis_attrs(&view, self.mesh) {
            let regions = view.regions().iter().map(|&r| self.scalar_region(r, b)).collect();
            self.copy_with(&view, attrs, regions, b)
        } else {
            self.by_fact(&view, b)
        };
        for (&old, new) in view.results().iter().zip(results) {
            self.define(old, new, b);
        }
    }

    /// Names what `old` became. Local values have no sharding: it has been spent.
    fn define(&mut self, old: Value, new: Value, b: &mut Builder<'_>) {
        self.cloner.set(old, new);
        if b.body[new].loc.is_unknown() {
            b.body.value_mut(new).loc = self.cloner.source[old].loc.clone();
        }
    }

    /// The same op with local operands and types.
    fn copy(&mut self, view: &OpView<'s>, regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
        self.copy_with(view, view.attrs().clone(), regions, b)
    }

    fn copy_with(&mut self, view: &OpView<'s>, attrs: Attrs, regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
        let types = self.result_types(view, b);
        let operands = self.cloner.values(view.operands());
        let new = b.op_with_regions(view.data().code, operands, attrs, regions, types);
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

    /// The body in place of the op.
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
        self.cloner.values(source.region_results(region))
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

    /// A reducer or comparator, without the marks in it.
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
                self.cloner.op(op, &mut inner);
            }
        }
        region
    }
}
