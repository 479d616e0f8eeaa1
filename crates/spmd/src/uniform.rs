//! Infers over which mesh axes each value of a localized program differs from device to device.
//!
//! It is inferred from the program and never taken from claims, except that the shardings of arguments are trusted. The
//! results of `axis_index` vary over its axes. Sums and gathers over axes are equal along them. Values in a region also
//! vary over the axes of the region's predicate. Loops are iterated to a fixpoint.

use crate::rewrite::facts;
use shardwise_base::{Diagnostics, EntityVec, Mesh, Varying, budget};
use shardwise_ir::{Body, Func, Module, OpView, Region, Value};
use shardwise_ops::collective::{AxisIndexOp, CollectiveKind, CollectiveView, Groups};
use shardwise_ops::{Effects, Opcode};
use std::sync::Arc;

/// Returns the axes over which each value of `func`, a localized function, may vary, by value. No value varies if the
/// module has no mesh.
pub fn infer(module: &Module, func: &Func) -> EntityVec<Value, Varying> {
    let Some(mesh) = module.main_mesh() else { return EntityVec::filled(func.body.value_count(), Varying::Nowhere) };
    let varying = EntityVec::filled(func.body.value_count(), Varying::Nowhere);
    let mut pass = Uniformity { module, body: &func.body, mesh, varying };
    for &arg in func.body.args() {
        pass.varying[arg] = of_argument(&func.body, arg, mesh);
    }
    pass.region(func.body.entry(), &Varying::Nowhere);
    pass.varying
}

/// Writes the axes that [`infer`] returns on each value of the main function. Always returns `Ok`. A module without
/// functions does not change.
pub fn uniform(mut module: Module) -> Result<Module, Diagnostics> {
    let Some(index) = module.main().and_then(|f| module.func_id(&f.name)) else { return Ok(module) };
    let varying = infer(&module, &module[index]);
    let body = &mut module.funcs[index.index()].body;
    for (v, varying) in varying.keys().zip(varying.iter().cloned()) {
        body.value_mut(v).varying = Some(varying);
    }
    Ok(module)
}

fn of_argument(body: &Body, arg: Value, mesh: &Mesh) -> Varying {
    match body.sharding(arg) {
        Some(s) => Varying::over(mesh, s.split_axes().chain(s.unreduced.iter().copied())),
        None => Varying::Nowhere,
    }
}

struct Uniformity<'a> {
    module: &'a Module,
    body: &'a Body,
    mesh: &'a Arc<Mesh>,
    varying: EntityVec<Value, Varying>,
}

impl Uniformity<'_> {
    fn get(&self, v: Value) -> &Varying {
        &self.varying[v]
    }

    fn add(&mut self, v: Value, varying: &Varying) -> bool {
        let union = self.get(v).union(varying, self.mesh);
        let is_new = union != *self.get(v);
        self.varying[v] = union;
        is_new
    }

    fn union(&self, values: &[Value]) -> Varying {
        values.iter().fold(Varying::Nowhere, |all, &v| all.union(self.get(v), self.mesh))
    }

    fn region(&mut self, region: Region, around: &Varying) {
        let body = self.body;
        for &op in &body[region].ops {
            budget::poll();
            let view = self.module.view(body, op);
            self.op(&view, around);
        }
    }

    fn op(&mut self, view: &OpView<'_>, around: &Varying) {
        match Opcode::of_view(view) {
            Opcode::While => self.while_loop(view, around),
            Opcode::Case | Opcode::If => self.branches(view, around),
            Opcode::AsyncStart => self.started(view, around),
            _ => {
                let varying = self.of_op(view).union(around, self.mesh);
                for &region in view.regions() {
                    self.scalar_region(region, &varying);
                }
                view.results().iter().for_each(|&v| self.varying[v] = varying.clone());
            }
        }
    }

    /// Processes a reducer, whose values are computed from all that the op reads. These vary over `varying`.
    fn scalar_region(&mut self, region: Region, varying: &Varying) {
        let body = self.body;
        body[region].args.iter().for_each(|&v| self.varying[v] = varying.clone());
        self.region(region, varying);
    }

    fn while_loop(&mut self, view: &OpView<'_>, around: &Varying) {
        let body = self.body;
        let [cond, turn] = [0, 1].map(|i| view.regions()[i]);
        // A loop around this one may come here again. Values vary more each time, so this goes on from the time before.
        let given = view.operands().iter().zip(&body[turn].args);
        let mut carried: Vec<Varying> =
            given.map(|(&v, &arg)| self.get(v).union(around, self.mesh).union(self.get(arg), self.mesh)).collect();
        loop {
            for region in [cond, turn] {
                for (i, &arg) in body[region].args.iter().enumerate() {
                    self.varying[arg] = carried[i].clone();
                }
            }
            self.region(cond, around);
            // The number of iterations varies as the predicate does, and so do all values that the loop carries.
            let predicate = self.union(body.region_results(cond)).union(around, self.mesh);
            self.region(turn, &predicate);
            let given = body.region_results(turn).to_vec();
            let mut changed = false;
            for (i, &v) in given.iter().enumerate() {
                let next = carried[i].union(self.get(v), self.mesh).union(&predicate, self.mesh);
                changed |= next != carried[i];
                carried[i] = next;
            }
            if !changed {
                break;
            }
        }
        for (&result, varying) in view.results().iter().zip(carried) {
            self.varying[result] = varying;
        }
    }

    fn branches(&mut self, view: &OpView<'_>, around: &Varying) {
        let body = self.body;
        let taken = self.get(view.operand(0)).union(around, self.mesh);
        for &v in view.results() {
            self.varying[v] = taken.clone();
        }
        for &region in view.regions() {
            self.region(region, &taken);
            for (&result, &v) in view.results().iter().zip(body.region_results(region)) {
                let varying = self.get(v).clone();
                self.add(result, &varying);
            }
        }
    }

    /// Processes the start of an asynchronous op. A future varies as the value that it will hold.
    fn started(&mut self, view: &OpView<'_>, around: &Varying) {
        let body = self.body;
        let region = view.regions()[0];
        for (&arg, &operand) in body[region].args.iter().zip(view.operands()) {
            self.varying[arg] = self.get(operand).clone();
        }
        self.region(region, around);
        let varying = self.union(body.region_results(region));
        view.results().iter().for_each(|&v| self.varying[v] = varying.clone());
    }

    fn of_op(&self, view: &OpView<'_>) -> Varying {
        let operands = self.union(view.operands());
        if let Some(collective) = CollectiveView::of(view) {
            // A reducer may capture values.
            return self.of_collective(&collective, &operands.union(&self.captured(view), self.mesh));
        }
        match Opcode::of_view(view) {
            Opcode::AxisIndex => match AxisIndexOp::axes(view) {
                Some((mesh, axes)) if self.is_own(mesh) => Varying::over(self.mesh, axes.iter().copied()),
                _ => Varying::Everywhere,
            },
            Opcode::PartitionId => Varying::Everywhere,
            Opcode::ReplicaId => Varying::Nowhere,
            Opcode::AsyncDone => operands,
            // The values that a region captures are read, too.
            _ => match facts(view).effects(view) {
                Effects::Pure => operands.union(&self.captured(view), self.mesh),
                Effects::Ordered if Opcode::of_view(view) == Opcode::OptimizationBarrier => operands,
                Effects::Ordered if view.results().is_empty() => operands,
                Effects::Ordered | Effects::PerDevice => Varying::Everywhere,
            },
        }
    }

    fn captured(&self, view: &OpView<'_>) -> Varying {
        let mut ops = vec![];
        view.regions().iter().for_each(|&r| self.body.walk_region(r, &mut ops));
        ops.iter().fold(Varying::Nowhere, |all, &op| all.union(&self.union(&self.body[op].operands), self.mesh))
    }

    fn is_own(&self, mesh: &Mesh) -> bool {
        self.mesh.same_devices(mesh)
    }

    fn of_collective(&self, collective: &CollectiveView, operand: &Varying) -> Varying {
        let Groups::Axes { mesh, axes } = &collective.groups else { return Varying::Everywhere };
        if !self.is_own(mesh) {
            return Varying::Everywhere;
        }
        let rest = operand.without(axes, self.mesh);
        let along = Varying::over(self.mesh, axes.iter().copied());
        match &collective.kind {
            CollectiveKind::AllReduce { .. }
            | CollectiveKind::AllGather { .. }
            | CollectiveKind::CollectiveBroadcast => rest,
            CollectiveKind::ReduceScatter { .. }
            | CollectiveKind::AllToAll { .. }
            | CollectiveKind::CollectiveReduce { .. }
            | CollectiveKind::RaggedAllToAll => rest.union(&along, self.mesh),
            CollectiveKind::CollectivePermute { permutation } => {
                let moved = permutation.varying(&operand.axes(self.mesh));
                rest.union(&Varying::over(self.mesh, moved), self.mesh)
            }
        }
    }
}
