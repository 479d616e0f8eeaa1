//! The states of the values of per-device code along the manual axes, and the axes over which cotangents still have to
//! be summed.
//!
//! Inside a manual computation, a value that does not vary over an axis counts as one value of all devices along it,
//! with one cotangent. Where it meets a value that varies, each device has a summand of its cotangent. These summands
//! are added up once for each value, as late as that moves no more data.

use crate::depends::{callee, uses};
use crate::errors;
use shardwise_base::{AxisRef, AxisSet, Diagnostics, EntityVec, Mesh, budget};
use shardwise_ir::{Body, ManualAxes, Module, Op, OpView, Region, Value};
use shardwise_ops::collective::{AxisIndexOp, CollectiveKind, CollectiveView, Groups};
use shardwise_ops::control::trip_count;
use shardwise_ops::custom::LinearCall;
use shardwise_ops::shardy::{in_shardings, manual_axes, manual_mesh_axes};
use shardwise_ops::{Opcode, calls};
use std::collections::HashSet;
use std::sync::Arc;

/// The states of all values of a body along manual axes.
///
/// The states that the program records are used. The others are inferred: arguments of a manual computation vary over
/// the axes that split them, results of an op over the axes over which an operand or the condition of a loop or branch
/// around it varies, and collectives and positions along axes as their kind says. Results are unreduced over the axes
/// over which an operand is, and reduced where an operand is and they are neither unreduced nor varying.
pub struct States {
    pub mesh: Arc<Mesh>,
    pub values: EntityVec<Value, ManualAxes>,
}

impl States {
    /// Returns the states of the values of `body`. Returns `None` if it has neither a manual computation nor a value
    /// whose state is recorded, or if only the latter and the module has no mesh.
    ///
    /// # Errors
    /// `manual-mesh` for the first manual computation, in the body or in a function that it calls, that is over another
    /// mesh than the first one of the body: an axis is known by its position in one mesh.
    pub fn of(module: &Module, body: &Body) -> Result<Option<States>, Diagnostics> {
        let values = EntityVec::filled(body.value_count(), ManualAxes::default());
        let is_inside = || values.keys().any(|v| body.value(v).manual.is_some());
        let mesh = match manual_mesh(module, body)? {
            Some(mesh) => mesh.clone(),
            None => match module.main_mesh().filter(|_| is_inside()) {
                Some(mesh) => mesh.clone(),
                None => return Ok(None),
            },
        };
        let mut infer = Infer { module, body, mesh: &mesh, values };
        for &arg in body.args() {
            infer.set(arg, ManualAxes::default());
        }
        infer.region(body.entry(), &AxisSet::default());
        let values = infer.values;
        Ok(Some(States { mesh, values }))
    }

    /// Returns the axes over which devices have values of their own: those over which the value varies, is unreduced or
    /// is reduced.
    pub(crate) fn own(&self, v: Value) -> AxisSet {
        let s = &self.values[v];
        s.varying.union(&s.unreduced, &self.mesh).union(&s.reduced, &self.mesh)
    }
}

/// Returns the mesh of the manual computations of a body, or `None` if it has none. Fails with `manual-mesh` for the
/// first one, in the body or in a function that it calls, that is over another mesh.
fn manual_mesh<'s>(module: &'s Module, body: &'s Body) -> Result<Option<&'s Arc<Mesh>>, Diagnostics> {
    let Some((_, mesh)) = manual_computations(module, body).next() else { return Ok(None) };
    let called = body.walk().into_iter().filter_map(|op| calls::callee(&module.view(body, op))).collect();
    let called = calls::callees_first(module, called).into_iter().map(|id| &module[id].body);
    let mut all = std::iter::once(body).chain(called).flat_map(|body| manual_computations(module, body));
    match all.find(|(_, other)| !mesh.same_devices(other)) {
        Some((op, other)) => Err(errors::two_meshes(&op, mesh, other).into()),
        None => Ok(Some(mesh)),
    }
}

/// Returns the manual computations of a body, each with its mesh.
fn manual_computations<'s>(module: &'s Module, body: &'s Body) -> impl Iterator<Item = (OpView<'s>, &'s Arc<Mesh>)> {
    let views = body.walk().into_iter().map(|op| module.view(body, op));
    views.filter_map(|op| manual_mesh_axes(&op).map(|(mesh, _)| (op, mesh)))
}

struct Infer<'s> {
    module: &'s Module,
    body: &'s Body,
    mesh: &'s Arc<Mesh>,
    values: EntityVec<Value, ManualAxes>,
}

impl Infer<'_> {
    fn set(&mut self, v: Value, inferred: ManualAxes) {
        let recorded = self.body.value(v).manual.as_deref();
        self.values[v] = recorded.cloned().unwrap_or(inferred);
    }

    /// Returns the state of a value that is computed from `values`.
    fn join(&self, values: &[Value]) -> ManualAxes {
        let all = |part: fn(&ManualAxes) -> &AxisSet| {
            values.iter().fold(AxisSet::default(), |set, &v| set.union(part(&self.values[v]), self.mesh))
        };
        let unreduced = all(|s| &s.unreduced);
        let varying = all(|s| &s.varying).minus(&unreduced, self.mesh);
        let reduced = all(|s| &s.reduced).minus(&unreduced, self.mesh).minus(&varying, self.mesh);
        ManualAxes { varying, unreduced, reduced }
    }

    /// Returns the state of a value that only some devices compute, if a value that varies over `around` decides which.
    /// `state` is the state that the value has if all devices compute it. The value also varies over `around`, except
    /// over the axes over which it is unreduced.
    fn decided(&self, state: ManualAxes, around: &AxisSet) -> ManualAxes {
        let axes = around.minus(&state.unreduced, self.mesh);
        if axes.is_empty() { state } else { state.with_varying(&axes, self.mesh) }
    }

    fn region(&mut self, region: Region, around: &AxisSet) {
        let body = self.body;
        for &op in &body[region].ops {
            budget::poll();
            let view = self.module.view(body, op);
            self.op(&view, around);
        }
    }

    fn op(&mut self, op: &OpView<'_>, around: &AxisSet) {
        let body = self.body;
        match Opcode::of_view(op) {
            Opcode::While => self.while_loop(op, around),
            Opcode::Case | Opcode::If => {
                let decides = self.values[op.operand(0)].varying.union(around, self.mesh);
                op.regions().iter().for_each(|&r| self.region(r, &decides));
                for (i, &v) in op.results().iter().enumerate() {
                    let given: Vec<Value> = op.regions().iter().map(|&r| body.region_results(r)[i]).collect();
                    let state = self.decided(self.join(&given), &decides);
                    self.set(v, state);
                }
            }
            Opcode::ManualComputation => self.manual(op, around),
            Opcode::NamedComputation | Opcode::AsyncStart => {
                let inner = op.regions()[0];
                self.pass(op.operands(), &body[inner].args);
                self.region(inner, around);
                match Opcode::of_view(op) {
                    Opcode::AsyncStart => {
                        let state = self.join(body.region_results(inner));
                        self.set(op.result(0), state);
                    }
                    _ => self.pass(body.region_results(inner), op.results()),
                }
            }
            Opcode::OptimizationBarrier => self.pass(op.operands(), op.results()),
            _ if callee(op).is_some() => self.call(op, around),
            _ if let Some(call) = LinearCall::of(op) => self.linear_call(op, &call, around),
            _ => {
                let state = self.decided(self.of_op(op), around);
                for &region in op.regions() {
                    body[region].args.iter().for_each(|&v| self.set(v, state.clone()));
                    self.region(region, &state.varying);
                }
                op.results().iter().for_each(|&v| self.set(v, state.clone()));
                if let Some((axes, true)) = groups(op, self.mesh) {
                    // A value is held by whole groups or by none.
                    for &v in op.results() {
                        let own = &self.values[v];
                        if !own.varying.and(&axes, self.mesh).is_empty() {
                            self.values[v] = own.with_varying(&axes, self.mesh);
                        }
                    }
                }
            }
        }
    }

    fn call(&mut self, op: &OpView<'_>, around: &AxisSet) {
        let Some(func) = callee(op) else { return };
        let values = EntityVec::filled(func.body.value_count(), ManualAxes::default());
        let mut inner = Infer { module: self.module, body: &func.body, mesh: self.mesh, values };
        for (&arg, &v) in func.body.args().iter().zip(op.operands()) {
            inner.set(arg, self.values[v].clone());
        }
        inner.region(func.body.entry(), around);
        for (&v, &given) in op.results().iter().zip(func.body.results()) {
            let state = self.decided(inner.values[given].clone(), around);
            self.set(v, state);
        }
    }

    fn pass(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to) {
            let state = self.values[f].clone();
            self.set(t, state);
        }
    }

    fn while_loop(&mut self, op: &OpView<'_>, around: &AxisSet) {
        let (body, [cond, turn]) = (self.body, [0, 1].map(|i| op.regions()[i]));
        // A loop around this one may come here again. States only grow, so this goes on from the time before.
        let given = op.operands().iter().zip(&body[turn].args);
        let mut carried: Vec<ManualAxes> = given.map(|(&v, &arg)| self.decided(self.join(&[v, arg]), around)).collect();
        loop {
            for region in [cond, turn] {
                body[region].args.iter().zip(&carried).for_each(|(&arg, state)| self.set(arg, state.clone()));
            }
            self.region(cond, around);
            let decides = self.values[body.region_results(cond)[0]].varying.union(around, self.mesh);
            self.region(turn, &decides);
            let next: Vec<ManualAxes> = (0..carried.len())
                .map(|i| {
                    let state = self.join(&[body.region_results(turn)[i], body[turn].args[i]]);
                    self.decided(state, &decides)
                })
                .collect();
            if next == carried {
                break;
            }
            carried = next;
        }
        for (&v, state) in op.results().iter().zip(carried) {
            self.set(v, state);
        }
    }

    /// Sets the states of the results of a linear call, which are those that its transpose expects of their cotangents.
    fn linear_call(&mut self, op: &OpView<'_>, call: &LinearCall<'_>, around: &AxisSet) {
        for (&v, &cotangent) in op.results().iter().zip(&call.bwd.body.args()[call.residuals..]) {
            let state = call.bwd.body.value(cotangent).manual.as_deref().cloned().unwrap_or_default();
            self.set(v, self.decided(state, around));
        }
    }

    fn manual(&mut self, op: &OpView<'_>, around: &AxisSet) {
        let (body, inner) = (self.body, op.regions()[0]);
        let own = manual_set(op, self.mesh);
        for (i, &arg) in body[inner].args.iter().enumerate() {
            let cut = &in_shardings(op.attrs())[i];
            let of = |axes: Vec<_>| AxisSet::new(self.mesh, axes).and(&own, self.mesh);
            let (split, sums) = (of(cut.split_axes().collect()), of(cut.unreduced.to_vec()));
            let outside = self.values[op.operand(i)].clone();
            let state = outside.with_varying(&split, self.mesh).with_unreduced(&sums, self.mesh);
            self.set(arg, state);
        }
        self.region(inner, around);
        for (&v, &given) in op.results().iter().zip(body.region_results(inner)) {
            let state = self.values[given].without(&own, self.mesh);
            self.set(v, state);
        }
    }

    fn of_op(&self, op: &OpView<'_>) -> ManualAxes {
        let operands = self.join(&uses(op));
        if let Some((axes, is_shared)) = groups(op, self.mesh) {
            return match is_shared {
                true => operands.without(&axes, self.mesh),
                false => operands.with_varying(&axes, self.mesh),
            };
        }
        let along = match Opcode::of_view(op) {
            Opcode::AxisIndex => AxisIndexOp::axes(op).map_or(vec![], |(_, axes)| axes.to_vec()),
            Opcode::PartitionId => self.mesh.all_axes().collect(),
            _ => return operands,
        };
        operands.with_varying(&AxisSet::new(self.mesh, along), self.mesh)
    }
}

fn manual_set(op: &OpView<'_>, mesh: &Mesh) -> AxisSet {
    AxisSet::new(mesh, manual_axes(op).iter().copied())
}

/// Returns the axes along which the members of a collective's groups differ, and true if all members of a group get the
/// same value by its kind, an all-reduce or an all-gather, and the groups are along axes. Returns `None` for other ops.
fn groups(op: &OpView<'_>, mesh: &Arc<Mesh>) -> Option<(AxisSet, bool)> {
    let view = CollectiveView::of(op)?;
    let is_shared = matches!(view.kind, CollectiveKind::AllReduce { .. } | CollectiveKind::AllGather { .. });
    match view.groups.to_axes(mesh) {
        Some(Groups::Axes { axes, .. }) => Some((AxisSet::new(mesh, axes), is_shared)),
        _ => Some((AxisSet::new(mesh, view.axes_between_members(mesh)), false)),
    }
}

/// The sums over manual axes that reverse mode adds.
pub(crate) struct Sums<'s> {
    module: &'s Module,
    body: &'s Body,
    pub mesh: Arc<Mesh>,
    states: EntityVec<Value, ManualAxes>,
    own: EntityVec<Value, AxisSet>,
    /// The axes over which the cotangent of a linear value is a summand on each device, until it is added up.
    pending: EntityVec<Value, AxisSet>,
    /// The ops before whose transposes the cotangents of their results are added up. Collectives and linear calls are
    /// such ops even if they are not in the set.
    complete: HashSet<Op>,
    /// About how often the region that defines a value runs in one run of the body: every branch counts as taken, and a
    /// loop whose number of turns is not known as one turn.
    turns: EntityVec<Value, f64>,
}

impl<'s> Sums<'s> {
    /// Plans the sums for a body with these linear values. Returns `None` where [`States::of`] does, and fails as it
    /// does.
    pub fn plan(
        module: &'s Module,
        body: &'s Body,
        linear: &EntityVec<Value, bool>,
    ) -> Result<Option<Sums<'s>>, Diagnostics> {
        let Some(states) = States::of(module, body)? else { return Ok(None) };
        let count = body.value_count();
        let mut own = EntityVec::filled(count, AxisSet::default());
        states.values.keys().for_each(|v| own[v] = states.own(v));
        let pending = EntityVec::filled(count, AxisSet::default());
        let turns = EntityVec::filled(count, 1.0);
        let (States { mesh, values: states }, complete) = (states, HashSet::new());
        let mut sums = Sums { module, body, mesh, states, own, pending, complete, turns };
        sums.count_turns(body.entry(), 1.0);
        sums.region(body.entry(), linear);
        Ok(Some(sums))
    }

    fn count_turns(&mut self, region: Region, turns: f64) {
        self.body[region].args.iter().for_each(|&v| self.turns[v] = turns);
        for &op in &self.body[region].ops {
            let view = self.module.view(self.body, op);
            view.results().iter().for_each(|&v| self.turns[v] = turns);
            let inside = match Opcode::of_view(&view) {
                Opcode::While => turns * trip_count(&view).map_or(1.0, |n| n as f64),
                _ => turns,
            };
            view.regions().iter().for_each(|&r| self.count_turns(r, inside));
        }
    }

    // ── answers
    pub fn pending(&self, v: Value) -> &AxisSet {
        &self.pending[v]
    }

    /// Returns the axes over which devices have values of their own, as [`States::own`] does.
    pub fn own(&self, v: Value) -> &AxisSet {
        &self.own[v]
    }

    /// Returns true if a value is reduced over an axis, so that its gradient is a summand on each device.
    pub fn is_reduced(&self, v: Value, axis: AxisRef) -> bool {
        self.states[v].reduced.iter().any(|a| a.contains(axis))
    }

    /// Returns true if the cotangents of the op's results are added up before the op is transposed.
    pub fn completes(&self, op: &OpView<'_>) -> bool {
        self.complete.contains(&op.op) || groups(op, &self.mesh).is_some() || LinearCall::of(op).is_some()
    }

    /// Returns true if an op is a collective, and all members of each group have the same value of each result.
    pub fn is_shared(&self, op: &OpView<'_>) -> bool {
        let is_one = |axes: &AxisSet| op.results().iter().all(|&v| self.own[v].and(axes, &self.mesh).is_empty());
        groups(op, &self.mesh).is_some_and(|(axes, _)| is_one(&axes))
    }

    /// Returns the axes over which the part of operand `u`'s cotangent that comes from an op is a summand on each
    /// device.
    pub fn of_operand(&self, op: &OpView<'_>, u: Value) -> AxisSet {
        let used = uses(op);
        let all = used.iter().chain(op.results());
        let mut axes = all.fold(AxisSet::default(), |axes, &v| axes.union(&self.own[v], &self.mesh));
        if let Some((groups, _)) = groups(op, &self.mesh) {
            axes = axes.union(&groups, &self.mesh);
        }
        if !self.completes(op) {
            axes = self.of_results(op).union(&axes, &self.mesh);
        }
        axes.minus(&self.own[u], &self.mesh)
    }

    fn of_results(&self, op: &OpView<'_>) -> AxisSet {
        op.results().iter().fold(AxisSet::default(), |axes, &v| axes.union(&self.pending[v], &self.mesh))
    }

    /// Returns the axes over which a cotangent that passes from `from` to `to` unchanged is a summand on each device.
    pub fn passed(&self, from: Value, to: Value) -> AxisSet {
        self.pending[from].union(&self.own[from], &self.mesh).minus(&self.own[to], &self.mesh)
    }

    /// Returns the axes over which the cotangent of `given`, the value inside of the manual computation `op` that is
    /// returned as `result`, is a summand on each device.
    pub fn of_given(&self, op: &OpView<'_>, result: Value, given: Value) -> AxisSet {
        self.pending[result].union(&self.split(op, result), &self.mesh).minus(&self.own[given], &self.mesh)
    }

    /// Returns the op's manual axes over which a result has parts or summands.
    pub fn split(&self, op: &OpView<'_>, result: Value) -> AxisSet {
        let cut = self.body.sharding(result);
        let axes = cut.into_iter().flat_map(|s| s.split_axes().chain(s.unreduced.iter().copied()));
        AxisSet::new(&self.mesh, axes).and(&manual_set(op, &self.mesh), &self.mesh)
    }

    // ── the plan
    fn add(&mut self, v: Value, axes: &AxisSet) {
        self.pending[v] = self.pending[v].union(axes, &self.mesh);
    }

    /// Adds the pending axes of the cotangents that pass from `from[i]` to `to[i]` unchanged.
    fn pass(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to) {
            let axes = self.passed(f, t);
            self.add(t, &axes);
        }
    }

    fn region(&mut self, region: Region, linear: &EntityVec<Value, bool>) {
        for &op in self.body[region].ops.iter().rev() {
            budget::poll();
            let view = self.module.view(self.body, op);
            self.op(&view, linear);
        }
    }

    fn op(&mut self, op: &OpView<'s>, linear: &EntityVec<Value, bool>) {
        let (body, inner) = (self.body, op.regions());
        match Opcode::of_view(op) {
            Opcode::While => self.while_loop(op, linear),
            Opcode::Case | Opcode::If => {
                for &branch in inner {
                    self.pass(op.results(), body.region_results(branch));
                    self.region(branch, linear);
                }
            }
            Opcode::ManualComputation => {
                for (&v, &given) in op.results().iter().zip(body.region_results(inner[0])) {
                    let axes = self.of_given(op, v, given);
                    self.add(given, &axes);
                }
                self.region(inner[0], linear);
                let manual = manual_set(op, &self.mesh);
                for (&arg, &v) in body[inner[0]].args.iter().zip(op.operands()) {
                    let axes = self.pending[arg].minus(&manual, &self.mesh);
                    self.add(v, &axes);
                }
            }
            Opcode::NamedComputation => {
                self.pass(op.results(), body.region_results(inner[0]));
                self.region(inner[0], linear);
                self.pass(&body[inner[0]].args, op.operands());
            }
            _ => {
                let operands: Vec<Value> = op.operands().iter().copied().filter(|&v| linear[v]).collect();
                let open = self.of_results(op);
                let larger = |v: &Value| self.bytes(op.results()) < self.bytes(&[*v]);
                if !open.is_empty() && operands.iter().any(larger) {
                    self.complete.insert(op.op);
                }
                for v in operands {
                    let axes = self.of_operand(op, v);
                    self.add(v, &axes);
                }
            }
        }
    }

    /// Finds the pending axes of what a loop carries, and of the values in its body: visits the body until those of the
    /// carried values do not change.
    fn while_loop(&mut self, op: &OpView<'s>, linear: &EntityVec<Value, bool>) {
        let (body, turn) = (self.body, op.regions()[1]);
        let (args, next) = (&body[turn].args, body.region_results(turn).to_vec());
        let carried: Vec<usize> = (0..args.len()).filter(|&i| linear[args[i]]).collect();
        for &i in &carried {
            let axes = self.passed(op.result(i), args[i]);
            self.add(args[i], &axes);
        }
        loop {
            for &i in &carried {
                let axes = self.passed(args[i], next[i]);
                self.add(next[i], &axes);
            }
            let before: Vec<AxisSet> = carried.iter().map(|&i| self.pending[args[i]].clone()).collect();
            self.region(turn, linear);
            if carried.iter().zip(before).all(|(&i, old)| self.pending[args[i]] == old) {
                break;
            }
        }
        for &i in &carried {
            let axes = self.passed(args[i], op.operand(i));
            self.add(op.operand(i), &axes);
        }
    }

    /// Returns the bytes of these values in all turns of the loops around them, by which their sums are compared.
    fn bytes(&self, values: &[Value]) -> f64 {
        let one = |v: &Value| self.body.ty(*v).as_tensor().map_or(0.0, |t| t.bytes() as f64 * self.turns[*v]);
        values.iter().map(one).sum()
    }
}
