//! `sdy-insert-explicit-reshards`: inserts the reshards and sums that ops need to run on shards, as Shardy chooses
//! them.
//!
//! The partitioner has a pass of its own, which compares bytes. The *full version* makes every op agree with
//! its rule. Without it, only some ops are processed: those with unreduced values, calls, concatenations of operands
//! whose layouts differ from the result's, ragged products, and products whose result is better resharded than an
//! operand.

use crate::calls::arg_shardings;
use crate::collectives::{equivalent, same_axes};
use crate::common_axes::{FactorAxes, common_axes, common_axes_of_reshape};
use crate::edit::{Edit, Place};
use crate::settings::Settings;
use crate::small_passes::{edit_funcs, rule_of};
use shardwise_base::{AxisRef, Diagnostics, Mesh, Sharding};
use shardwise_ir::{Func, Module, Op, Value, ValueDef};
use shardwise_ops::ReduceKind;
use shardwise_ops::shardy::{ShardyCollective, in_shardings, manual_axes};
use shardwise_ops::structure::Call;
use shardwise_ops::{DataFlow, Opcode};
use shardwise_sharding::{AxisList, FactorKind, IfMissing, Prefix, Projection, Rule};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn run(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    insert(module, settings.is_on("enable-full-version"))
}

pub(crate) fn run_fully(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    insert(module, true)
}

fn insert(module: &Module, is_full: bool) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, func| {
        let mut pass = Inserter { edit, is_full };
        for op in pass.edit.post_order() {
            if !pass.edit.is_terminator(op) {
                pass.op(op);
            }
        }
        pass.returns(func);
        Ok(())
    })
}

pub(crate) fn bypassing_barriers(edit: &Edit<'_>, mut v: Value) -> Value {
    while let Some(op) = edit.def_op(v).filter(|&op| edit.opcode(op) == Opcode::PropagationBarrier) {
        v = edit.operand(op, 0);
    }
    v
}

struct Inserter<'a, 'm> {
    edit: &'a mut Edit<'m>,
    is_full: bool,
}

/// An op with its rule and its mesh.
struct Ruled {
    op: Op,
    rule: Rule,
    mesh: Arc<Mesh>,
    /// The shardings of the operands, then of the results; `None` for values without one. An operand behind propagation
    /// barriers has that of the value in front of them.
    shardings: Vec<Option<Sharding>>,
}

impl Ruled {
    fn operand_count(&self) -> usize {
        self.rule.operands.len()
    }

    fn sizes(&self, edit: &Edit<'_>) -> Vec<u64> {
        let values = edit.body[self.op].operands.iter().chain(&edit.body[self.op].results);
        values.map(|&v| edit.body.ty(v).as_tensor().map_or(0, |t| t.shape.iter().product::<usize>() as u64)).collect()
    }
}

impl Inserter<'_, '_> {
    fn op(&mut self, op: Op) {
        let is_full = self.is_full_for(op);
        let view = self.edit.view(op);
        if let DataFlow::Edges(_) = Opcode::of_view(&view).facts().data_flow(&view) {
            return self.data_flow(op, is_full);
        }
        match self.edit.opcode(op) {
            Opcode::Call => return self.call(op, is_full),
            Opcode::Reshard if self.unreduced_reshard(op) => return,
            _ => {}
        }
        self.reduce_operands(op);
        let Some(ruled) = self.ruled(op) else { return };
        let views = ruled.shardings.iter().map(Option::as_ref);
        let mut projection = Projection::new(&ruled.rule, &ruled.mesh, views, IfMissing::Closed);
        let axes = if is_full {
            self.agree(&ruled, &mut projection)
        } else {
            if matches!(self.edit.opcode(op), Opcode::DotGeneral | Opcode::Dot) {
                self.reshard_product(&ruled, &mut projection);
            }
            FactorAxes::new()
        };
        self.reduce_result(&ruled, &projection, &axes, is_full);
    }

    fn is_full_for(&self, op: Op) -> bool {
        self.is_full
            || match self.edit.opcode(op) {
                Opcode::Call => true,
                Opcode::Concatenate => {
                    let wanted = self.edit.sharding(self.edit.body[op].results[0]);
                    self.edit.body[op].operands.iter().any(|&v| self.edit.sharding(v) != wanted)
                }
                _ => self.edit.view(op).name() == "chlo.ragged_dot",
            }
    }

    fn ruled(&self, op: Op) -> Option<Ruled> {
        let rule = rule_of(&self.edit.view(op), false).filter(|r| !r.is_custom)?;
        let data = &self.edit.body[op];
        let values = data.operands.iter().chain(&data.results);
        let shardings: Vec<Option<Sharding>> =
            values.map(|&v| self.edit.sharding(bypassing_barriers(self.edit, v))).collect();
        let mesh = op_mesh(&shardings)?;
        let fits = rule.operands.len() == data.operands.len() && rule.results.len() == data.results.len();
        fits.then_some(Ruled { op, rule, mesh, shardings })
    }

    /// Reshards the operands and results of an op so that all of them have the same axes for each factor, on the mesh of
    /// `ruled`. Those that have these axes there already stay. The uses of a result that is resharded keep its layout.
    /// Returns the axes of each factor.
    fn agree(&mut self, ruled: &Ruled, projection: &mut Projection) -> FactorAxes {
        let Ruled { op, rule, mesh, shardings } = ruled;
        let is_overfull = projection.tensors.iter().any(|t| t.has_overflow());
        let mut is_new = vec![false; projection.tensors.len()];
        let axes = if is_overfull && self.edit.opcode(*op) == Opcode::Reshape {
            let axes = common_axes_of_reshape(rule, mesh, projection);
            for (factor, axes) in rule.all_factors().zip(&axes) {
                projection.tensors.iter_mut().for_each(|t| {
                    t.set(factor, axes.clone(), vec![]);
                });
            }
            for (i, is_new) in is_new.iter_mut().enumerate() {
                *is_new = !equivalent(shardings[i].as_ref(), Some(&projection.to_sharding(i, rule, mesh)));
            }
            axes
        } else {
            let axes = common_axes(rule, mesh, projection, &ruled.sizes(self.edit));
            for (factor, axes) in rule.all_factors().zip(&axes) {
                for (tensor, is_new) in projection.tensors.iter_mut().zip(&mut is_new) {
                    *is_new |= tensor.set(factor, axes.clone(), vec![]);
                }
            }
            axes
        };
        let mut behind = Place::After(*op);
        for (i, sharding) in shardings.iter().enumerate() {
            let moves = sharding.as_ref().is_some_and(|s| !s.is_replicated() && s.mesh.device_ids != mesh.device_ids);
            if is_new[i] || moves {
                self.move_tensor(ruled, i, projection.to_sharding(i, rule, mesh), &mut behind);
            }
        }
        axes
    }

    /// Makes operand (or result) `index` of the op have the sharding `to`. Reshards an operand before the op. Reshards
    /// a result at `behind`, and moves `behind` after this, so that the reshards of results are in the order of the
    /// results.
    fn move_tensor(&mut self, ruled: &Ruled, index: usize, to: Sharding, behind: &mut Place) {
        let Some(index) = index.checked_sub(ruled.operand_count()) else {
            let v = self.edit.operand(ruled.op, index);
            let moved = self.reshard(Place::Before(ruled.op), v, to);
            return self.edit.set_operand(ruled.op, index, moved);
        };
        let result = self.edit.body[ruled.op].results[index];
        let asked = self.sharding_or_replicated(result, &ruled.mesh);
        let moved = self.reshard(*behind, result, asked);
        self.replace(behind, result, moved);
        // If one result gets a sharding, the results without one become open.
        for other in self.edit.body[ruled.op].results.clone() {
            if self.edit.body.ty(other).as_tensor().is_none() {
                continue;
            }
            let open = Sharding::open(&to.mesh, self.edit.body.ty(other).shape().len());
            self.edit.body.value_mut(other).sharding.get_or_insert(open);
        }
        self.edit.body.value_mut(result).sharding = Some(to);
    }

    fn replace(&mut self, place: &mut Place, v: Value, new: Value) {
        let made = self.edit.def_op(new).expect("just made");
        self.edit.replace_uses(v, new, Some(made));
        *place = Place::After(made);
    }

    fn reshard(&mut self, place: Place, v: Value, to: Sharding) -> Value {
        self.edit.insert_reshard(place, v, to)
    }

    fn sharding_or_replicated(&self, v: Value, mesh: &Arc<Mesh>) -> Sharding {
        let rank = self.edit.body.ty(v).shape().len();
        self.edit.body.sharding(v).cloned().unwrap_or_else(|| Sharding::replicated(mesh, rank))
    }

    /// Sums the results over the axes of reduction factors that the first result does not keep unreduced. If `is_full`
    /// is false, does so only if the first result has unreduced axes.
    fn reduce_result(&mut self, ruled: &Ruled, projection: &Projection, axes: &FactorAxes, is_full: bool) {
        let Ruled { op, rule, mesh, .. } = ruled;
        let results = self.edit.body[*op].results.clone();
        let Some(&first) = results.first() else { return };
        let unreduced = self.unreduced(first);
        let reductions = rule.all_factors().filter(|&f| rule.kind(f) == FactorKind::Reduction);
        let all: Vec<AxisRef> = if is_full {
            reductions.flat_map(|f| axes[f.index()].clone()).collect()
        } else if unreduced.is_empty() {
            return;
        } else {
            let own = |f| projection.tensors.iter().find_map(|t| t.get(f)).map(|s| s.axes.clone());
            reductions.filter_map(own).flatten().collect()
        };
        let mut sums: Vec<AxisRef> = all.iter().flat_map(|a| a.minus(mesh, &unreduced)).collect();
        if sums.is_empty() {
            return;
        }
        AxisRef::sort_and_merge(&mut sums, mesh);
        let mut behind = Place::After(*op);
        for v in results {
            let to = self.sharding_or_replicated(v, mesh);
            let sum = self.edit.insert_step(behind, v, &sum_over(&sums), to);
            self.replace(&mut behind, v, sum);
        }
    }

    fn unreduced(&self, v: Value) -> Vec<AxisRef> {
        self.edit.body.sharding(v).map_or(vec![], |s| s.unreduced.clone())
    }

    fn reduce_operands(&mut self, op: Op) {
        let Some(&first) = self.edit.body[op].results.first() else { return };
        let wanted = self.edit.body.sharding(first).cloned();
        for index in 0..self.edit.body[op].operands.len() {
            self.reduce_operand(op, index, wanted.as_ref(), Place::Before(op));
        }
    }

    /// Sums one operand over its unreduced axes that are not unreduced in `wanted`.
    fn reduce_operand(&mut self, op: Op, index: usize, wanted: Option<&Sharding>, place: Place) {
        let v = self.edit.operand(op, index);
        let Some(sharding) = self.edit.sharding(v).filter(|s| !s.unreduced.is_empty()) else { return };
        let (mesh, kept) = (&sharding.mesh, wanted.map_or(&[][..], |s| &s.unreduced));
        let sums: Vec<AxisRef> = sharding.unreduced.iter().flat_map(|a| a.minus(mesh, kept)).collect();
        if sums.is_empty() {
            return;
        }
        let left = sharding.unreduced.iter().flat_map(|a| a.minus(mesh, &sums)).collect();
        let sum = self.edit.insert_step(place, v, &sum_over(&sums), sharding.clone().with_unreduced(left));
        self.edit.set_operand(op, index, sum);
    }

    /// Replaces a reshard that makes axes unreduced by the ops for this, and returns true. Returns false, and changes
    /// nothing, if [`Self::make_unreduced`] returns false.
    fn unreduced_reshard(&mut self, op: Op) -> bool {
        let result = self.edit.body[op].results[0];
        let target = self.edit.body.sharding(result).cloned();
        if !self.make_unreduced(op, 0, target.as_ref(), Place::Before(op)) {
            return false;
        }
        let v = self.edit.operand(op, 0);
        self.edit.replace_uses(result, v, None);
        self.edit.erase(op);
        true
    }

    /// Makes the axes of an operand unreduced that are unreduced in the target but not in the operand. Sharded axes at
    /// the end of a dimension are converted directly, other axes are made replicated first. Returns true if there were
    /// any. Returns false, and changes nothing, if the operand or the target has no sharding, or if the axes of the
    /// meshes differ.
    fn make_unreduced(&mut self, op: Op, index: usize, target: Option<&Sharding>, place: Place) -> bool {
        let input = self.edit.operand(op, index);
        let (Some(source), Some(target)) = (self.edit.sharding(input), target) else { return false };
        let mesh = &source.mesh.clone();
        let wanted: Vec<AxisRef> = target.unreduced.iter().flat_map(|a| a.minus(mesh, &source.unreduced)).collect();
        if wanted.is_empty() || !same_axes(mesh, &target.mesh) {
            return false;
        }
        let (mut dims, mut needs_reshard) = (target.dims.clone(), false);
        let mut from_sharded = vec![vec![]; dims.len()];
        for (dim, (own, to)) in source.dims.iter().zip(&target.dims).enumerate() {
            match Prefix::of(&to.axes, &own.axes) {
                Prefix::Strict => {
                    let rest = rest_of(&own.axes, &to.axes, mesh);
                    if rest.iter().all(|a| a.minus(mesh, &wanted).is_empty()) {
                        from_sharded[dim] = rest;
                        dims[dim] = own.clone();
                    } else {
                        needs_reshard = true;
                    }
                }
                Prefix::Not => needs_reshard = true,
                Prefix::Equal => {}
            }
        }
        let mut v = input;
        let mut place = place;
        if needs_reshard {
            v = self.edit.insert_reshard(place, v, source.clone().with_dims(dims.clone()));
            place = self.edit.following(place, v);
        }
        let all_sharded: Vec<AxisRef> = from_sharded.iter().flatten().copied().collect();
        let replicated: Vec<AxisRef> = wanted.iter().flat_map(|a| a.minus(mesh, &all_sharded)).collect();
        if !replicated.is_empty() {
            let mut unreduced = [source.unreduced.clone(), replicated.clone()].concat();
            AxisRef::sort_and_merge(&mut unreduced, mesh);
            let to = target.clone().with_mesh(mesh.clone()).with_dims(dims).with_unreduced(unreduced);
            v = self.edit.insert_step(place, v, &ShardyCollective::ReplicatedToUnreduced { axes: replicated }, to);
            place = self.edit.following(place, v);
        }
        if !all_sharded.is_empty() {
            let step = ShardyCollective::ShardedToUnreduced { dims: from_sharded };
            v = self.edit.insert_step(place, v, &step, target.clone());
        }
        if v != input {
            self.edit.set_operand(op, index, v);
        }
        v != input
    }

    /// Converts an operand to the layout of its target: sums it, makes axes unreduced and, if `is_full` is true,
    /// reshards it, as needed. A target of `None` counts as replicated. The ops are inserted at `place`. If `place` is
    /// `None`, they are inserted after the definition of the operand.
    fn conform(&mut self, op: Op, index: usize, target: Option<&Sharding>, place: Option<Place>, is_full: bool) {
        let here = |edit: &Edit<'_>| place.unwrap_or_else(|| edit.behind(edit.operand(op, index)));
        self.reduce_operand(op, index, target, here(self.edit));
        self.make_unreduced(op, index, target, here(self.edit));
        let v = self.edit.operand(op, index);
        let own = self.edit.sharding(v);
        // A value without a sharding matches a target that splits no dimension, even if the target is unreduced.
        let is_whole = |s: &Sharding| s.dims.iter().all(|d| d.axes.is_empty());
        let is_there = own.is_none() && target.is_none_or(is_whole);
        if is_full && !is_there && !equivalent(own.as_ref(), target) {
            let to = match (target, &own) {
                (Some(target), _) => target.clone(),
                (None, Some(own)) => Sharding::replicated(&own.mesh, own.rank()),
                (None, None) => return,
            };
            let moved = self.reshard(here(self.edit), v, to);
            self.edit.set_operand(op, index, moved);
        }
    }

    fn returns(&mut self, func: &Func) {
        let Some(op) = self.edit.body.terminator(self.edit.body.entry()) else { return };
        for index in 0..self.edit.body[op].operands.len() {
            let target = func.result_shardings.get(index).and_then(Option::as_ref);
            self.conform(op, index, target, Some(Place::Before(op)), self.is_full);
        }
    }

    fn call(&mut self, op: Op, is_full: bool) {
        let view = self.edit.view(op);
        let callee = Call::callee(&view).and_then(|name| self.edit.module.func(name));
        let Some(callee) = callee else { return };
        let operands = self.edit.body[op].operands.clone();
        let mut of_operands = operands.iter().filter_map(|&v| self.edit.sharding(v)).map(|s| s.mesh.clone());
        let targets = arg_shardings(callee).or_else(|| {
            let mesh = of_operands.find(|m| !m.is_maximal())?;
            let rank = |&v: &Value| self.edit.body.ty(v).shape().len();
            Some(operands.iter().map(|v| Sharding::replicated(&mesh, rank(v))).collect())
        });
        for (index, target) in targets.into_iter().flatten().enumerate() {
            self.conform(op, index, Some(&target), None, is_full);
        }
    }

    /// Converts the sources of each edge to the layout of its owner, as [`Self::conform`] does.
    fn data_flow(&mut self, op: Op, is_full: bool) {
        let view = self.edit.view(op);
        let DataFlow::Edges(edges) = Opcode::of_view(&view).facts().data_flow(&view) else { return };
        let (of_results, of_arguments): (Vec<_>, Vec<_>) =
            edges.into_iter().partition(|e| matches!(self.edit.body[e.owner].def, ValueDef::Result { .. }));
        for edge in of_results.into_iter().chain(of_arguments) {
            let target = self.owner_sharding(op, edge.owner);
            for (source, index) in self.source_places(op, edge.owner, &edge.sources) {
                self.conform(source, index, target.as_ref(), None, is_full);
            }
        }
    }

    /// Returns the operands that flow to an owner: of the op itself, and of the terminators of its regions.
    fn source_places(&self, op: Op, owner: Value, sources: &[Value]) -> Vec<(Op, usize)> {
        let index = match self.edit.body[owner].def {
            ValueDef::Result { index, .. } | ValueDef::Argument { index, .. } => index as usize,
        };
        let terminators = self.edit.body[op].regions.iter().filter_map(|&r| self.edit.body.terminator(r));
        let places = [op].into_iter().chain(terminators).map(|op| (op, index));
        let mut left = sources.to_vec();
        let is_source = |&(op, index): &(Op, usize)| {
            let operand = self.edit.body[op].operands.get(index);
            let found = left.iter().position(|s| Some(s) == operand);
            found.map(|i| left.remove(i)).is_some()
        };
        places.filter(is_source).collect()
    }

    /// Returns the sharding of an edge's owner, as its sources see it. In a manual or named computation that declares
    /// shardings of operands, this is the declared one if the owner is an argument, and the sharding without the manual
    /// axes if it is a result. Returns `None` if the owner has no sharding.
    fn owner_sharding(&self, op: Op, owner: Value) -> Option<Sharding> {
        let view = self.edit.view(op);
        let given = self.edit.body.sharding(owner).cloned();
        let ins = in_shardings(view.attrs());
        if ins.is_empty() {
            return given;
        }
        if let ValueDef::Argument { index, .. } = self.edit.body[owner].def {
            return ins.get(index as usize).cloned();
        }
        let manual = manual_axes(&view);
        given.map(|s| without_axes(&s, manual))
    }

    /// Reshards the result of a product instead of an operand if the result is sharded over the operands' reduction
    /// axes and is not larger than the operand. Does nothing if the operands disagree on a factor that both have, if
    /// factors that only one operand has share an axis, or if the result disagrees with an operand on more than one
    /// factor.
    fn reshard_product(&mut self, ruled: &Ruled, projection: &mut Projection) {
        let Ruled { op, rule, mesh, shardings } = ruled;
        let [_, _, Some(asked)] = &shardings[..] else { return };
        let sizes = ruled.sizes(self.edit);
        let axes_of = |i: usize, f| projection.tensors[i].get(f).map(|s| s.axes.clone());
        let (mut conflict, mut reduction, mut seen) = (None, AxisList::new(), AxisList::new());
        for factor in rule.all_factors() {
            let (own, size) = match (axes_of(0, factor), axes_of(1, factor)) {
                (Some(left), Some(right)) => {
                    if left != right {
                        return;
                    }
                    if rule.kind(factor) == FactorKind::Reduction {
                        reduction.extend(left);
                        continue;
                    }
                    (left, sizes[0].max(sizes[1]))
                }
                (Some(own), None) | (None, Some(own)) => {
                    if own.iter().any(|a| seen.iter().any(|s| s.overlaps(*a))) {
                        return;
                    }
                    seen.extend_from_slice(&own);
                    (own, if axes_of(0, factor).is_some() { sizes[0] } else { sizes[1] })
                }
                (None, None) => continue,
            };
            if axes_of(2, factor).is_some_and(|a| a != own) {
                if own.is_empty() || conflict.is_some() || sizes[2] > size {
                    return;
                }
                conflict = Some((factor, own));
            }
        }
        let Some((factor, own)) = conflict else { return };
        if axes_of(2, factor).is_none_or(|a| a.is_empty() || a != reduction) {
            return;
        }
        projection.tensors[2].set(factor, own, vec![]);
        let (to, asked) = (projection.to_sharding(2, rule, mesh), asked.clone());
        let result = self.edit.body[*op].results[0];
        self.edit.body.value_mut(result).sharding = Some(to);
        let moved = self.reshard(Place::After(*op), result, asked);
        self.replace(&mut Place::After(*op), result, moved);
    }
}

/// Returns the part of `axes` after `prefix`, which must be a prefix of `axes`. Axes may be cut.
fn rest_of(axes: &[AxisRef], prefix: &[AxisRef], mesh: &Mesh) -> Vec<AxisRef> {
    let Some((&last, head)) = prefix.split_last() else { return axes.to_vec() };
    let cut = axes[head.len()].suffix_without_overlap(last, mesh);
    cut.into_iter().chain(axes[prefix.len()..].iter().copied()).collect()
}

/// Returns the sharding without the axes that are equal to an axis in `manual` or a part of one, as it is inside a
/// manual computation. An axis of which only a part is in `manual` stays whole. Reduced axes are not changed.
pub(crate) fn without_axes(sharding: &Sharding, manual: &[AxisRef]) -> Sharding {
    let free = |axes: &mut Vec<AxisRef>| axes.retain(|a| !manual.iter().any(|m| m.contains(*a)));
    let mut out = sharding.clone();
    out.dims.iter_mut().for_each(|d| free(&mut d.axes));
    free(&mut out.replicated);
    free(&mut out.unreduced);
    out
}

/// Returns the mesh that an op runs on, or `None` if it has no shardings, if the axes of their meshes differ, or if a
/// mesh is a single device. Meshes without axes and devices are ignored if there are others. If the orders of devices
/// differ, returns the mesh of the largest number of tensors that are split or unreduced.
fn op_mesh(shardings: &[Option<Sharding>]) -> Option<Arc<Mesh>> {
    let mut common: Option<Arc<Mesh>> = None;
    for mesh in shardings.iter().flatten().map(|s| &s.mesh) {
        match &common {
            Some(c) if c.axes.is_empty() && c.device_ids.is_none() => common = Some(mesh.clone()),
            None => common = Some(mesh.clone()),
            Some(_) if mesh.axes.is_empty() && mesh.device_ids.is_none() => {}
            Some(c) if !same_axes(c, mesh) || c.is_maximal() || mesh.is_maximal() => return None,
            Some(_) if mesh.device_ids.is_none() => common = Some(mesh.clone()),
            Some(_) => {}
        }
    }
    let mut best = common.filter(|m| !m.is_maximal())?;
    let (mut counts, mut most) = (BTreeMap::new(), 0);
    for sharding in shardings.iter().flatten().filter(|s| !s.is_replicated()) {
        // Meshes that are written in place have no names.
        let count: &mut usize = counts.entry((&sharding.mesh.name, &sharding.mesh.device_ids)).or_default();
        *count += 1;
        if *count > most {
            (most, best) = (*count, sharding.mesh.clone());
        }
    }
    Some(best)
}

fn sum_over(axes: &[AxisRef]) -> ShardyCollective {
    ShardyCollective::AllReduce { axes: axes.to_vec(), reduce: ReduceKind::Add }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;

    #[test]
    fn orders_of_devices_of_meshes_without_names_are_counted_apart() {
        let layout = |ids: [usize; 3]| {
            let mesh = Mesh::new("", [("x", 3)]).unwrap().with_device_ids(ids.to_vec()).unwrap();
            Some(Sharding::closed(&Arc::new(mesh), vec![vec![AxisRef::full(AxisIndex::new(0))]]))
        };
        let (many, few) = (layout([2, 1, 0]), layout([1, 2, 0]));
        let mesh = op_mesh(&[many.clone(), many, few]).unwrap();
        assert_eq!(mesh.device_ids, Some(vec![2, 1, 0]));
    }
}
