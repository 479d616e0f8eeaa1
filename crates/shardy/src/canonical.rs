//! `canonicalize`, as Shardy's tests and its export use it: collectives without effect are removed, neighbouring
//! collectives are merged, and unused ops are removed.
//!
//! It runs until nothing changes. It terminates because each step leaves fewer reshards and collectives, or as many of
//! them and fewer all-reduces.

use crate::collectives::equivalent;
use crate::edit::{Edit, Place};
use crate::settings::Settings;
use crate::small_passes::edit_funcs;
use shardwise_base::{AxisRef, Diagnostics, DimSharding, Mesh, Sharding};
use shardwise_ir::rewrite::{Rewrite, rewrite_funcs, rewrite_ops};
use shardwise_ir::{Attrs, Builder, Cloner, Module, Op, OpView, Type, Value};
use shardwise_ops::shapes::Transpose;
use shardwise_ops::shardy::{ShardyCollective, in_shardings, set_in_shardings};
use shardwise_ops::{Effects, Opcode, ReduceKind};
use std::collections::HashSet;
use std::sync::Arc;

/// Which kinds of ops are simplified: reshards, collectives or both. Unused ops are removed in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    All,
    Reshards,
    Collectives,
}

pub(crate) fn all(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = run(module, Steps::All)?;
    // An op that is removed from a manual computation may leave arguments unused, and so on outwards.
    while let Some(next) = manual_computations(&out)? {
        out = run(&next, Steps::All)?;
    }
    Ok(out)
}

/// Removes each reshard whose only use is another reshard, and unused ops, as Shardy's export does before it replaces
/// reshards by collectives. Always returns `Ok`.
pub(crate) fn reshards(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    run(module, Steps::Reshards)
}

/// Simplifies collectives and removes unused ops, as Shardy's export does at its end. Reshards are not merged. Always
/// returns `Ok`.
pub(crate) fn collectives(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    run(module, Steps::Collectives)
}

/// Removes the pure ops whose results are not used, except Shardy's collectives and constraints. Always returns `Ok`.
pub(crate) fn drop_unused(module: &Module) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        Canon { edit, steps: Steps::Reshards }.drop_unused();
        Ok(())
    })
}

fn run(module: &Module, steps: Steps) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        let mut canon = Canon { edit, steps };
        loop {
            canon.drop_unused();
            let mut is_done = true;
            for op in canon.edit.post_order() {
                is_done &= !canon.step(op);
            }
            if is_done {
                return Ok(());
            }
        }
    })
}

struct Canon<'a, 'm> {
    edit: &'a mut Edit<'m>,
    steps: Steps,
}

impl Canon<'_, '_> {
    fn drop_unused(&mut self) {
        for op in self.edit.post_order().into_iter().rev() {
            let is_pure = self.edit.opcode(op).facts().effects(&self.edit.view(op)) == Effects::Pure;
            let is_used = self.edit.body[op].results.iter().any(|&v| self.edit.uses(v).next().is_some());
            let is_kept = self.edit.is_terminator(op) || !is_pure || self.is_kept(op);
            if !is_used && !is_kept && !self.edit.is_erased(op) {
                self.edit.erase(op);
            }
        }
    }

    /// Returns true if Shardy keeps the op although it is pure and its result is not used. Of the collectives, it only
    /// removes all-to-alls, and not even these before reshards are replaced.
    fn is_kept(&self, op: Op) -> bool {
        match self.edit.opcode(op) {
            Opcode::SdyAllToAll => self.steps == Steps::Reshards,
            Opcode::ShardingConstraint
            | Opcode::SdyAllGather
            | Opcode::SdyAllSlice
            | Opcode::SdyCollectivePermute
            | Opcode::SdyAllReduce
            | Opcode::SdyReduceScatter
            | Opcode::ReplicatedToUnreduced
            | Opcode::ShardedToUnreduced => true,
            _ => false,
        }
    }

    /// Simplifies `op` if it is a reshard or collective of the kinds that are simplified, and one of the rules for them
    /// applies. Returns true if one did. Returns false for an erased op.
    fn step(&mut self, op: Op) -> bool {
        if self.edit.is_erased(op) {
            return false;
        }
        let (own, on_reshards) = (self.steps != Steps::Reshards, self.steps != Steps::Collectives);
        match self.edit.opcode(op) {
            Opcode::Reshard => {
                (on_reshards && self.reshard_of_reshard(op)) || (self.steps == Steps::All && self.same_reshard(op))
            }
            _ if !own => false,
            Opcode::SdyAllGather | Opcode::SdyReduceScatter => self.forward_if(op, |c| c.is_empty(op)),
            Opcode::SdyAllSlice => {
                self.forward_if(op, |c| c.is_empty(op)) || self.slice_of_gather(op) || self.scatter(op)
            }
            Opcode::SdyCollectivePermute => self.forward_if(op, |c| c.keeps_layout(op)),
            Opcode::SdyAllReduce => self.forward_if(op, |c| c.is_empty(op)) || self.sum_of_unreduced(op),
            Opcode::SdyAllToAll => self.exchange_of_exchange(op),
            _ => false,
        }
    }

    fn collective(&self, op: Op) -> Option<ShardyCollective> {
        ShardyCollective::of(&self.edit.view(op))
    }

    fn operand_op(&self, op: Op, kind: Opcode) -> Option<Op> {
        self.edit.def_op(self.edit.operand(op, 0)).filter(|&def| self.edit.opcode(def) == kind)
    }

    fn has_one_use(&self, op: Op) -> bool {
        self.edit.uses(self.edit.body[op].results[0]).count() == 1
    }

    /// Replaces the result of the op by `v` in all uses, and erases the op. Always returns true.
    fn replace(&mut self, op: Op, v: Value) -> bool {
        self.edit.replace_uses(self.edit.body[op].results[0], v, None);
        self.edit.erase(op);
        true
    }

    fn forward_if(&mut self, op: Op, does_nothing: impl Fn(&Canon<'_, '_>) -> bool) -> bool {
        does_nothing(self) && self.replace(op, self.edit.operand(op, 0))
    }

    fn is_empty(&self, op: Op) -> bool {
        self.collective(op).is_some_and(|step| step.axes().is_empty())
    }

    fn keeps_layout(&self, op: Op) -> bool {
        let from = self.edit.sharding(self.edit.operand(op, 0));
        from.is_some() && equivalent(from.as_ref(), self.edit.body.sharding(self.edit.body[op].results[0]))
    }

    fn reshard_of_reshard(&mut self, op: Op) -> bool {
        let Some(inner) = self.operand_op(op, Opcode::Reshard).filter(|&inner| self.has_one_use(inner)) else {
            return false;
        };
        self.edit.set_operand(op, 0, self.edit.operand(inner, 0));
        self.edit.erase(inner);
        true
    }

    /// Removes a slice along exactly the axes along which its operand was gathered. Returns true if it did.
    fn slice_of_gather(&mut self, op: Op) -> bool {
        let Some(gather) = self.operand_op(op, Opcode::SdyAllGather) else { return false };
        let (Some(ShardyCollective::AllGather { dims: gathered }), Some(ShardyCollective::AllSlice { dims: sliced })) =
            (self.collective(gather), self.collective(op))
        else {
            return false;
        };
        gathered == sliced && self.replace(op, self.edit.operand(gather, 0))
    }

    /// Simplifies a sum over exactly the axes along which its operand was just made unreduced: forwards the operand of
    /// a replicated-to-unreduced op, and replaces the sum of a sharded-to-unreduced op by an all-gather. Returns true
    /// if it did.
    fn sum_of_unreduced(&mut self, op: Op) -> bool {
        let Some(ShardyCollective::AllReduce { axes: summed, reduce: ReduceKind::Add }) = self.collective(op) else {
            return false;
        };
        if let Some(def) = self.operand_op(op, Opcode::ReplicatedToUnreduced) {
            let unreduced = self.collective(def).map(|step| step.axes());
            return unreduced == Some(summed) && self.replace(op, self.edit.operand(def, 0));
        }
        let Some(def) = self.operand_op(op, Opcode::ShardedToUnreduced) else { return false };
        let Some(ShardyCollective::ShardedToUnreduced { dims }) = self.collective(def) else { return false };
        let mut axes: Vec<AxisRef> = dims.iter().flatten().copied().collect();
        let Some(to) = self.edit.body.sharding(self.edit.body[op].results[0]).cloned() else { return false };
        AxisRef::sort_and_merge(&mut axes, &to.mesh);
        if axes != summed {
            return false;
        }
        let gather = ShardyCollective::AllGather { dims };
        let gathered = self.edit.insert_step(Place::Before(op), self.edit.operand(def, 0), &gather, to);
        self.replace(op, gathered)
    }

    /// Merges `op` and the all-to-all that makes its operand into one, if `op` is the only use of that operand and all
    /// source and target dimensions of both differ. Returns true if it did.
    fn exchange_of_exchange(&mut self, op: Op) -> bool {
        let Some(inner) = self.operand_op(op, Opcode::SdyAllToAll).filter(|&inner| self.has_one_use(inner)) else {
            return false;
        };
        let [Some(ShardyCollective::AllToAll { params: first }), Some(ShardyCollective::AllToAll { params: then })] =
            [self.collective(inner), self.collective(op)]
        else {
            return false;
        };
        let mut all = [first, then].concat();
        let mut dims: Vec<usize> = all.iter().flat_map(|p| [p.src_dim, p.tgt_dim]).collect();
        let count = dims.len();
        dims.sort_unstable();
        dims.dedup();
        if dims.len() < count {
            return false;
        }
        all.sort_by_key(|p| p.src_dim);
        self.edit.set_step(op, &ShardyCollective::AllToAll { params: all });
        self.edit.set_operand(op, 0, self.edit.operand(inner, 0));
        self.edit.erase(inner);
        true
    }

    /// Replaces the sum (all-reduce) that `op` slices, and all slices of it, by a reduce-scatter. The other axes of the
    /// slices are sliced after it. Returns true if it did. Returns false, and changes nothing, unless all users of the
    /// sum slice it as `op` does, along all axes that are summed over, and in each dimension along these first.
    fn scatter(&mut self, op: Op) -> bool {
        let Some(sum) = self.operand_op(op, Opcode::SdyAllReduce) else { return false };
        let users: Vec<Op> = self.edit.uses(self.edit.body[sum].results[0]).map(|(user, _)| user).collect();
        let slicing = self.collective(op);
        let is_same = |&user: &Op| self.collective(user) == slicing;
        let (Some(ShardyCollective::AllSlice { dims }), true) = (&slicing, users.iter().all(is_same)) else {
            return false;
        };
        let Some(ShardyCollective::AllReduce { axes: mut left, reduce }) = self.collective(sum) else { return false };
        let (mut scattered, mut sliced) = (vec![], vec![]);
        for axes in dims {
            let count = axes.iter().take_while(|axis| take(&mut left, axis)).count();
            scattered.push(axes[..count].to_vec());
            sliced.push(axes[count..].to_vec());
        }
        let (input, result) = (self.edit.operand(sum, 0), self.edit.body[op].results[0]);
        let Some(to) = self.edit.body.sharding(result).cloned().filter(|_| left.is_empty()) else { return false };
        let part = scattered_sharding(self.edit.body.sharding(input), &scattered, &to.mesh, &to);
        let scatter = ShardyCollective::ReduceScatter { dims: scattered, reduce };
        let mut v = self.edit.insert_step(Place::Before(sum), input, &scatter, part);
        if sliced.iter().any(|axes| !axes.is_empty()) {
            // Of the users, `op` is the first in post-order, but what is in an inner region is only seen there.
            let is_inside = self.edit.region(op) != self.edit.region(sum);
            let place = Place::Before(if is_inside { sum } else { op });
            v = self.edit.insert_step(place, v, &ShardyCollective::AllSlice { dims: sliced }, to);
        }
        users.into_iter().for_each(|user| {
            self.replace(user, v);
        });
        self.edit.erase(sum);
        true
    }

    /// Replaces a reshard by the result of an earlier reshard of the same data to a layout that counts as equal. The
    /// data may have been reshaped or transposed before this reshard, and reshaped before the earlier one. The reshapes
    /// and transposes before this reshard are repeated on the earlier result. Returns true if the reshard was replaced.
    ///
    /// The comparison of layouts is not exact, as in Shardy (see [`before`](Self::before)). Unreduced axes are ignored,
    /// transposes in front of a reshape that changes the rank are ignored, and the sizes of transposed dimensions are
    /// not permuted back. Equal layouts of arrays that are not square may be missed, and different ones count as equal.
    fn same_reshard(&mut self, op: Op) -> bool {
        let mut path = vec![];
        let mut root = self.edit.operand(op, 0);
        while let Some(def) = self.edit.def_op(root).filter(|&def| is_move(self.edit.opcode(def))) {
            path.push(def);
            root = self.edit.operand(def, 0);
        }
        let result = self.edit.body[op].results[0];
        let Some(target) = self.edit.body.sharding(result).map(|s| self.before(&path, s.clone())) else { return false };
        let Some(found) = self.reshard_of(root, &target, op) else { return false };
        let mut v = found;
        let root_type = self.edit.body.ty(root).clone();
        if *self.edit.body.ty(v) != root_type {
            v = self.edit.insert_typed(self.edit.behind(v), Opcode::Reshape.into(), v, Attrs::new(), root_type, None);
        }
        for &step in path.iter().rev() {
            let data = &self.edit.body[step];
            let (code, attrs, made) = (data.code, data.attrs.clone(), data.results[0]);
            let (ty, sharding) = (self.edit.body.ty(made).clone(), self.edit.body.sharding(made).cloned());
            v = self.edit.insert_typed(self.edit.behind(v), code, v, attrs, ty, sharding);
        }
        self.replace(op, v)
    }

    /// Returns the sharding that the result of an earlier reshard must have to replace that of a reshard to `sharding`,
    /// which comes after the steps of `path`. Steps of `path` are transposes and reshapes, of which the last one in the
    /// program is first. The dimensions are permuted back through the transposes behind the last reshape that changes
    /// the rank. As in Shardy, the steps before that reshape are ignored.
    fn before(&self, path: &[Op], mut sharding: Sharding) -> Sharding {
        for &step in path {
            match self.edit.opcode(step) {
                Opcode::Transpose => {
                    let order = Transpose::permutation(&self.edit.view(step));
                    let mut dims = sharding.dims.clone();
                    for (to, &from) in order.iter().enumerate() {
                        dims[from] = sharding.dims[to].clone();
                    }
                    sharding.dims = dims;
                }
                _ => {
                    let rank = |v: Value| self.edit.body.ty(v).shape().len();
                    if rank(self.edit.operand(step, 0)) != rank(self.edit.body[step].results[0]) {
                        break;
                    }
                }
            }
        }
        sharding
    }

    /// Returns the result of a reshard whose layout counts as equal to `target` ([`same_placement`]). Its operand is
    /// `root` or made from `root` by reshapes, and it comes before `op` in the same region. Returns `None` if there is
    /// none.
    fn reshard_of(&self, root: Value, target: &Sharding, op: Op) -> Option<Value> {
        let ty = self.edit.body.ty(self.edit.body[op].results[0]);
        let mut pending = vec![root];
        let mut seen = HashSet::new();
        while let Some(v) = pending.pop() {
            if !seen.insert(v) {
                continue;
            }
            for (user, _) in self.edit.uses(v).filter(|&(user, _)| user != op) {
                let made = self.edit.body[user].results.first().copied();
                match (self.edit.opcode(user), made) {
                    (Opcode::Reshard, Some(made)) => {
                        let own = self.edit.body.sharding(made);
                        let is_same = own.is_some_and(|own| same_placement(own, self.edit.body.ty(made), target, ty));
                        if is_same && self.edit.stands_before(user, op) {
                            return Some(made);
                        }
                    }
                    (Opcode::Reshape, Some(made)) => pending.push(made),
                    _ => {}
                }
            }
        }
        None
    }
}

fn is_move(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Reshape | Opcode::Transpose)
}

fn take(axes: &mut Vec<AxisRef>, axis: &AxisRef) -> bool {
    let found = axes.iter().position(|a| a == axis);
    found.map(|i| axes.remove(i)).is_some()
}

/// Returns the layout after a reduce-scatter of a value with the layout `from`, or without one, along the axes
/// `scattered` of each dimension. Its dimensions are closed and have no priorities. Everything but the dimensions is
/// taken from `to`.
fn scattered_sharding(
    from: Option<&Sharding>,
    scattered: &[Vec<AxisRef>],
    mesh: &Arc<Mesh>,
    to: &Sharding,
) -> Sharding {
    let own = |dim: usize| from.map_or(vec![], |s| s.dims[dim].axes.clone());
    let dims = scattered.iter().enumerate().map(|(dim, axes)| {
        let mut all = own(dim);
        axes.iter().for_each(|&axis| AxisRef::push_or_merge(&mut all, axis, mesh));
        DimSharding::closed(all)
    });
    to.clone().with_dims(dims.collect())
}

/// Returns true if two layouts are on meshes of one name and one order of devices, have the same replicated axes and the same [`strides`]. They
/// then put the same elements, in their linear order, on the same devices, if they split all dimensions evenly.
/// Unreduced axes are not compared.
fn same_placement(a: &Sharding, a_type: &Type, b: &Sharding, b_type: &Type) -> bool {
    if a == b && a_type == b_type {
        return true;
    }
    let same_devices = a.mesh.name == b.mesh.name && a.mesh.device_ids == b.mesh.device_ids;
    same_devices && a.replicated == b.replicated && strides(a, a_type) == strides(b, b_type)
}

/// Returns the axes of the dimensions of a layout, each with the distance, in elements, between neighbours along it.
/// The smallest distance comes first. Parts of an axis that follow each other are merged where their distances do so,
/// too.
fn strides(sharding: &Sharding, ty: &Type) -> Vec<(usize, AxisRef)> {
    let (mesh, mut inner, mut out) = (&sharding.mesh, 1, vec![]);
    for (dim, &size) in sharding.dims.iter().zip(ty.shape()).rev() {
        let mut stride = inner * size.div_ceil(dim.shard_count(mesh));
        for &axis in dim.axes.iter().rev() {
            out.push((stride, axis));
            stride *= axis.size(mesh);
        }
        inner *= size;
    }
    out.sort_by_key(|&(stride, _)| stride);
    let mut merged: Vec<(usize, AxisRef)> = vec![];
    for (stride, axis) in out {
        if let Some((first, minor)) = merged.last_mut() {
            let continues = axis.axis == minor.axis && axis.pre_size() * axis.size(mesh) == minor.pre_size();
            if continues && stride == *first * minor.size(mesh) {
                *minor = AxisRef::sub(mesh, axis.axis, axis.pre_size(), axis.size(mesh) * minor.size(mesh));
                continue;
            }
        }
        merged.push((stride, axis));
    }
    merged
}

// Manual computations.

/// Removes unused arguments of manual computations, and manual computations without operands and results whose body has
/// only its terminator. Returns `None` if there is nothing to remove. Never returns an error.
fn manual_computations(module: &Module) -> Result<Option<Module>, Diagnostics> {
    let mut manual = Manual { has_changed: false };
    let out = rewrite_funcs(module, &mut manual)?;
    Ok(manual.has_changed.then_some(out))
}

struct Manual {
    has_changed: bool,
}

impl<'m> Rewrite<'m> for Manual {
    fn rewrite(
        &mut self,
        view: &OpView<'m>,
        cloner: &mut Cloner<'m>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if Opcode::of_view(view) != Opcode::ManualComputation {
            return Ok(false);
        }
        let body = view.regions()[0];
        let is_empty = view.operands().is_empty() && view.results().is_empty();
        let is_gone = is_empty && view.body[body].ops.len() == 1;
        let is_handled = is_gone || self.drop_arguments(view, cloner, b)?;
        self.has_changed |= is_handled;
        Ok(is_handled)
    }
}

impl Manual {
    /// Builds the manual computation without the arguments that its body does not use, and returns true. Builds nothing
    /// and returns false if all are used, or if the op has no shardings of operands. Never returns an error.
    fn drop_arguments<'m>(
        &mut self,
        view: &OpView<'m>,
        cloner: &mut Cloner<'m>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let region = view.regions()[0];
        let mut inside = vec![];
        view.body.walk_region(region, &mut inside);
        let args = &view.body[region].args;
        let is_used = |v: &Value| inside.iter().any(|&op| view.body[op].operands.contains(v));
        let used: Vec<bool> = args.iter().map(is_used).collect();
        let ins = in_shardings(view.attrs());
        if ins.is_empty() || used.iter().all(|&u| u) {
            return Ok(false);
        }
        let kept = |i: &usize| used[*i];
        let new = b.body.add_region();
        let mut inner = Builder::at(b.body, new, b.loc.clone());
        cloner.args_of((0..args.len()).filter(kept).map(|i| args[i]), &mut inner);
        rewrite_ops(view.module, region, self, cloner, &mut inner)?;
        let operands: Vec<Value> = (0..args.len()).filter(kept).map(|i| cloner.get(view.operand(i))).collect();
        let shardings = (0..args.len()).filter(kept).map(|i| ins[i].clone()).collect();
        let mut attrs = view.attrs().clone();
        set_in_shardings(&mut attrs, shardings);
        let types: Vec<Type> = view.results().iter().map(|&v| view.body.ty(v).clone()).collect();
        let op = b.op_with_regions(view.data().code, operands, attrs, [new], types);
        for (i, &v) in view.results().iter().enumerate() {
            let made = b.body[op].results[i];
            cloner.carry(v, made, b);
        }
        Ok(true)
    }
}
