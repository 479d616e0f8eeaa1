//! Records over which axes the values that a change made vary. Those of the other values are known.

use shardwise_base::{Mesh, Varying};
use shardwise_ir::{Body, Module, OpView, Region, Value};
use shardwise_ops::Opcode;
use shardwise_ops::collective::{AxisIndexOp, CollectiveKind, CollectiveView, Groups};
use std::sync::Arc;

/// Records the axes of all values of the main function that have no record. Does nothing for a program without a mesh,
/// and for one in which no argument has a record.
pub(crate) fn record(module: &mut Module) {
    let (Some(mesh), Some(main)) = (module.main_mesh().cloned(), module.main()) else { return };
    let index = module.func_id(&main.name).expect("a module has its main function");
    let is_recorded = main.body.args().iter().all(|&v| main.body[v].varying.is_some());
    if !is_recorded {
        return;
    }
    let mut body = std::mem::take(&mut module.funcs[index.index()].body);
    let entry = body.entry();
    Recorder { module, body: &mut body, mesh }.region(entry, &Varying::Nowhere);
    module.funcs[index.index()].body = body;
}

struct Recorder<'a> {
    module: &'a Module,
    body: &'a mut Body,
    mesh: Arc<Mesh>,
}

impl Recorder<'_> {
    fn of(&self, v: Value) -> Varying {
        self.body[v].varying.clone().unwrap_or(Varying::Everywhere)
    }

    fn union(&self, values: &[Value]) -> Varying {
        values.iter().fold(Varying::Nowhere, |all, &v| all.union(&self.of(v), &self.mesh))
    }

    fn set(&mut self, v: Value, varying: &Varying) {
        if self.body[v].varying.is_none() {
            self.body.value_mut(v).varying = Some(varying.clone());
        }
    }

    /// Records the values of a region. `around` are the axes along which devices may differ in running it.
    fn region(&mut self, region: Region, around: &Varying) {
        for op in self.body[region].ops.clone() {
            let view = self.module.view(self.body, op);
            match Opcode::of_view(&view) {
                Opcode::AsyncStart => self.started(op, around),
                Opcode::While => self.while_loop(op, around),
                Opcode::Case | Opcode::If => {
                    let taken = self.of(view.operand(0)).union(around, &self.mesh);
                    self.body[op].regions.clone().into_iter().for_each(|inner| self.region(inner, &taken));
                }
                _ => {
                    let varying = self.of_op(&view).union(around, &self.mesh);
                    let inner = view.regions().to_vec();
                    inner.into_iter().for_each(|region| self.reducer(region, &varying));
                }
            }
            let view = self.module.view(self.body, op);
            let varying = self.of_op(&view).union(around, &self.mesh);
            self.body[op].results.clone().iter().for_each(|&v| self.set(v, &varying));
        }
    }

    fn reducer(&mut self, region: Region, varying: &Varying) {
        self.body[region].args.clone().iter().for_each(|&v| self.set(v, varying));
        self.region(region, varying);
    }

    fn started(&mut self, op: shardwise_ir::Op, around: &Varying) {
        let region = self.body[op].regions[0];
        let pairs: Vec<(Value, Value)> =
            self.body[region].args.iter().copied().zip(self.body[op].operands.iter().copied()).collect();
        for (arg, operand) in pairs {
            let varying = self.of(operand);
            self.set(arg, &varying);
        }
        self.region(region, around);
        let varying = self.union(self.body.region_results(region));
        self.body[op].results.clone().iter().for_each(|&v| self.set(v, &varying));
    }

    /// Records the values of a loop. The values that it carries have records.
    fn while_loop(&mut self, op: shardwise_ir::Op, around: &Varying) {
        let [cond, turn] = [0, 1].map(|i| self.body[op].regions[i]);
        self.region(cond, around);
        let predicate = self.union(self.body.region_results(cond)).union(around, &self.mesh);
        self.region(turn, &predicate);
    }

    fn of_op(&self, view: &OpView<'_>) -> Varying {
        let operands = self.union(view.operands());
        let Some(collective) = CollectiveView::of(view) else {
            return match AxisIndexOp::axes(view) {
                Some((_, axes)) => Varying::over(&self.mesh, axes.iter().copied()),
                None => operands,
            };
        };
        let Groups::Axes { axes, .. } = &collective.groups else { return Varying::Everywhere };
        let along = Varying::over(&self.mesh, axes.iter().copied());
        match &collective.kind {
            CollectiveKind::AllReduce { .. }
            | CollectiveKind::AllGather { .. }
            | CollectiveKind::CollectiveBroadcast => operands.without(axes, &self.mesh),
            CollectiveKind::CollectivePermute { permutation } => {
                let moved = permutation.varying(&operands.axes(&self.mesh));
                operands.without(axes, &self.mesh).union(&Varying::over(&self.mesh, moved), &self.mesh)
            }
            _ => operands.union(&along, &self.mesh),
        }
    }
}
