//! `sdy-reshard-to-collectives`: replaces each reshard by the collectives that Shardy would choose.
//!
//! The partitioner has a pass of its own, which chooses the cheapest sequence. This pass follows Shardy's
//! greedy order: slice dimensions that are split further, permute where the number of shards remains equal, exchange
//! axes between dimensions, and gather the rest.
//!
//! First, axes are cut so that any two that overlap are equal, unless they are parts of one axis that cannot coexist.
//! Then the common prefix of source and target is dropped. Collectives are added until no axes of the source (`ins`)
//! and of the target (`outs`) are left, in at most two rounds.

use crate::edit::{Edit, Place};
use crate::reshards::bypassing_barriers;
use crate::settings::Settings;
use crate::small_passes::edit_funcs;
use shardwise_base::{AxisRef, Diagnostics, Mesh, Sharding};
use shardwise_ir::{Module, Op};
use shardwise_ops::Opcode;
use shardwise_ops::shardy::{AllToAllParam, ShardyCollective};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

pub(crate) fn run(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let keeps_redundant = settings.is_on("keep-redundant-reshards");
    edit_funcs(module, |edit, _| {
        for op in edit.post_order() {
            if edit.opcode(op) == Opcode::Reshard {
                reshard(edit, op, keeps_redundant);
            }
        }
        Ok(())
    })
}

fn reshard(edit: &mut Edit, op: Op, keeps_redundant: bool) {
    let input = bypassing_barriers(edit, edit.operand(op, 0));
    let result = edit.body[op].results[0];
    let Some(mut target) = edit.body.sharding(result).cloned() else { return };
    let source = edit.sharding(input);
    if keeps_redundant && equivalent(source.as_ref(), Some(&target)) {
        return;
    }
    let source = source.unwrap_or_else(|| Sharding::open(&target.mesh, target.rank()));
    if source.mesh.is_maximal() || target.mesh.is_maximal() || source.rank() != target.rank() {
        return;
    }
    if target.is_replicated() {
        if source.is_replicated() {
            edit.replace_uses(result, edit.operand(op, 0), None);
            edit.erase(op);
            return;
        }
        target = Sharding::replicated(&source.mesh, source.rank());
    }
    if !same_axes(&source.mesh, &target.mesh) {
        return;
    }
    let mut v = input;
    let unreduced = target.unreduced.clone();
    let shape = edit.body.ty(input).shape().to_vec();
    for (step, to) in steps(&source, &target, &shape) {
        let to = to.with_unreduced(unreduced.clone());
        v = edit.insert_step(Place::Before(op), v, &step, to);
    }
    edit.replace_uses(result, v, None);
    edit.erase(op);
}

/// Returns true if no data has to move from one layout to the other: both are replicated, or both have the same axes at
/// each dimension, the same unreduced axes, and meshes with the same axes and devices. `None`, a value without a
/// sharding, counts as replicated.
pub(crate) fn equivalent(a: Option<&Sharding>, b: Option<&Sharding>) -> bool {
    let is_replicated = |s: Option<&Sharding>| s.is_none_or(Sharding::is_replicated);
    match (a, b) {
        _ if is_replicated(a) || is_replicated(b) => is_replicated(a) && is_replicated(b),
        (Some(a), Some(b)) => a.same_layout(b),
        _ => false,
    }
}

pub(crate) fn same_axes(a: &Mesh, b: &Mesh) -> bool {
    a.axes == b.axes
}

/// Returns the collectives that turn one layout of a tensor of this shape into another, each with the layout after it.
/// The meshes must have the same axes, and may differ in the order of devices. Unreduced axes are ignored.
pub(crate) fn steps(source: &Sharding, target: &Sharding, shape: &[usize]) -> Vec<(ShardyCollective, Sharding)> {
    let mut conversion = Conversion::new(source, target, shape);
    for _ in 0..2 {
        if conversion.is_done() {
            break;
        }
        conversion.slice();
        conversion.permute();
        conversion.exchange(false);
        conversion.exchange(true);
        conversion.gather();
    }
    conversion.steps
}

type Axes = Vec<VecDeque<AxisRef>>;

struct Conversion<'a> {
    shape: &'a [usize],
    mesh: Arc<Mesh>,
    target_mesh: Arc<Mesh>,
    /// The axes of each dimension of the current layout that come after the common prefix with the target.
    ins: Axes,
    outs: Axes,
    current: Vec<Vec<AxisRef>>,
    /// The factor by which the number of shards of each dimension may still grow in the current collective. A
    /// permutation first removes the axes that it replaces.
    room: Vec<usize>,
    held: HashSet<AxisRef>,
    /// The dimension and the position in it of each axis of `outs`, as these were after the last slice or permutation,
    /// or at the start.
    goals: HashMap<AxisRef, (usize, usize)>,
    steps: Vec<(ShardyCollective, Sharding)>,
}

impl<'a> Conversion<'a> {
    fn new(source: &Sharding, target: &Sharding, shape: &'a [usize]) -> Conversion<'a> {
        let mesh = &source.mesh;
        let axes = |s: &Sharding| -> Axes { s.dims.iter().map(|d| d.axes.iter().copied().collect()).collect() };
        let (mut ins, mut outs) = (axes(source), axes(target));
        let (in_order, out_order) = (in_mesh_order(ins.iter().flatten()), in_mesh_order(outs.iter().flatten()));
        ins.iter_mut().for_each(|list| align(list, &out_order, mesh));
        outs.iter_mut().for_each(|list| align(list, &in_order, mesh));
        for (ins, outs) in ins.iter_mut().zip(&mut outs) {
            while !ins.is_empty() && ins.front() == outs.front() {
                ins.pop_front();
                outs.pop_front();
            }
        }
        Conversion {
            shape,
            mesh: mesh.clone(),
            target_mesh: target.mesh.clone(),
            held: ins.iter().flatten().copied().collect(),
            goals: goals(&outs),
            current: source.dims.iter().map(|d| d.axes.clone()).collect(),
            room: vec![1; ins.len()],
            ins,
            outs,
            steps: vec![],
        }
    }

    fn is_done(&self) -> bool {
        self.is_on_target_mesh() && self.ins.iter().all(VecDeque::is_empty) && self.outs.iter().all(VecDeque::is_empty)
    }

    fn is_on_target_mesh(&self) -> bool {
        // Meshes that are written in place have no names.
        self.mesh.name == self.target_mesh.name && self.mesh.device_ids == self.target_mesh.device_ids
    }

    fn emit(&mut self, kind: ShardyCollective) {
        self.steps.push((kind, Sharding::closed(&self.mesh, self.current.clone())));
    }

    fn size(&self, axis: AxisRef) -> usize {
        axis.size(&self.mesh)
    }

    fn total<'x>(&self, axes: impl IntoIterator<Item = &'x AxisRef>) -> usize {
        axes.into_iter().map(|a| self.size(*a)).product()
    }

    /// Returns the part of `axis` that fits into the room of `dim`, and the rest of it if there is one. Reduces the
    /// room. Returns `None` if there is no room, or if neither size divides the other.
    fn take_fitting(&mut self, dim: usize, axis: AxisRef) -> Option<(AxisRef, Option<AxisRef>)> {
        let (size, room) = (self.size(axis), self.room[dim]);
        if room <= 1 || !divisible(size, room) {
            return None;
        }
        if room >= size {
            self.room[dim] /= size;
            return Some((axis, None));
        }
        self.room[dim] = 1;
        let part = |pre, size| AxisRef::sub(&self.mesh, axis.axis, pre, size);
        Some((part(axis.pre_size(), room), Some(part(axis.pre_size() * room, size / room))))
    }

    /// Adds a slice of dimensions whose number of shards in the target does not divide the present one, also if it is
    /// smaller. A dimension whose last axis will move to another dimension may be sliced as well, by the axes that come
    /// after it there. Adds nothing if nothing can be sliced.
    fn slice(&mut self) {
        for dim in 0..self.ins.len() {
            let (ins, outs) = (self.total(&self.ins[dim]), self.total(&self.outs[dim]));
            self.room[dim] = outs / gcd(ins, outs);
        }
        let mut axes = vec![vec![]; self.ins.len()];
        for dim in 0..self.ins.len() {
            for axis in self.slice_ahead(dim) {
                self.ins[dim].push_back(axis);
                self.held.insert(axis);
                self.add_slice(&mut axes, dim, axis);
            }
        }
        let mut free = VecDeque::new();
        for dim in 0..self.ins.len() {
            self.slice_in_place(dim, &mut axes, &mut free);
        }
        let added = self.fill(Fill::Back, &mut Available::Shared(&mut free));
        for (dim, axis) in added {
            self.add_slice(&mut axes, dim, axis);
        }
        self.goals = goals(&self.outs);
        if axes.iter().any(|a| !a.is_empty()) {
            self.emit(ShardyCollective::AllSlice { dims: axes });
        }
    }

    fn add_slice(&mut self, axes: &mut [Vec<AxisRef>], dim: usize, axis: AxisRef) {
        AxisRef::push_or_merge(&mut axes[dim], axis, &self.mesh);
        AxisRef::push_or_merge(&mut self.current[dim], axis, &self.mesh);
    }

    /// Slices `dim` by the axes that it needs itself. Axes that do not fit into its room are added to `free`, for other
    /// dimensions.
    fn slice_in_place(&mut self, dim: usize, axes: &mut [Vec<AxisRef>], free: &mut VecDeque<AxisRef>) {
        let mut i = 0;
        while let Some(&axis) = self.outs[dim].get(i) {
            if self.held.contains(&axis) {
                i += 1;
                continue;
            }
            let Some((part, rest)) = self.take_fitting(dim, axis) else {
                free.push_back(axis);
                i += 1;
                continue;
            };
            self.add_slice(axes, dim, part);
            if self.ins[dim].is_empty() && i == 0 {
                self.outs[dim].pop_front();
            } else {
                self.held.insert(part);
                self.ins[dim].push_back(part);
                self.outs[dim][i] = part;
                i += 1;
            }
            if let Some(rest) = rest {
                // The rest is free and is not considered here again.
                self.outs[dim].insert(i, rest);
                free.push_back(rest);
                i += 1;
            }
        }
    }

    /// Returns axes that another dimension needs after the axes that an exchange will move to it from `source`, and
    /// reduces the room of that dimension by both. If `source` is sliced along them, they move with the exchange and no
    /// permutation is needed. Returns no axes, and changes nothing, if this is not possible.
    fn slice_ahead(&mut self, source: usize) -> Vec<AxisRef> {
        let Some(&last) = self.ins[source].back() else { return vec![] };
        let Some(&(target, _)) = self.goals.get(&last).filter(|_| self.outs[source].is_empty()) else { return vec![] };
        if !self.ins[target].is_empty() {
            return vec![];
        }
        let outs = &self.outs[target];
        let Some(start) = outs.iter().position(|a| *a == last).map(|i| i + 1) else { return vec![] };
        if outs.get(start).is_none_or(|a| self.held.contains(a)) {
            return vec![];
        }
        let pairs = self.ins[source].iter().rev().zip(outs.iter().take(start).rev());
        let common: Vec<AxisRef> = pairs.take_while(|(a, b)| a == b).map(|(a, _)| *a).collect();
        let mut others = self.ins[source].iter().rev().skip(common.len());
        if others.any(|a| self.goals.get(a).is_some_and(|&(dim, _)| dim == target)) {
            return vec![];
        }
        let added: Vec<AxisRef> = outs.iter().skip(start).take_while(|a| !self.held.contains(a)).copied().collect();
        let added_size = self.total(&added);
        if !self.shape[source].is_multiple_of(self.total(&self.current[source]) * added_size) {
            return vec![];
        }
        self.room[target] /= self.total(&common) * added_size;
        added
    }

    /// Moves available axes, or the parts of them that fit, to the front or the back of the `ins` of dimensions with
    /// room. Where it splits an axis, it cuts `outs` as well. Returns the axes that were added, with their dimensions.
    fn fill(&mut self, at: Fill, available: &mut Available<'_>) -> Vec<(usize, AxisRef)> {
        let (mut added, mut split) = (vec![], vec![]);
        for dim in 0..self.ins.len() {
            let mut at = if at == Fill::Front { 0 } else { self.ins[dim].len() };
            let list = available.of(dim);
            let mut i = 0;
            while i < list.len() && self.room[dim] > 1 {
                let Some((part, rest)) = self.take_fitting(dim, list[i]) else {
                    i += 1;
                    continue;
                };
                list.remove(i);
                self.ins[dim].insert(at, part);
                at += 1;
                self.held.insert(part);
                added.push((dim, part));
                if let Some(rest) = rest {
                    split.push(part);
                    list.push_front(rest);
                    i += 1;
                }
            }
        }
        let split = in_mesh_order(&split);
        if !split.is_empty() {
            self.outs.iter_mut().for_each(|list| align(list, &split, &self.mesh));
        }
        added
    }

    fn permute(&mut self) {
        if self.needs_permutation() {
            self.rearrange();
        } else if self.is_on_target_mesh() {
            return;
        }
        self.mesh = self.target_mesh.clone();
        self.emit(ShardyCollective::CollectivePermute);
    }

    fn needs_permutation(&self) -> bool {
        let (mut surplus, mut missing) = (None, None);
        for dim in 0..self.ins.len() {
            let (ins, outs) = (&self.ins[dim], &self.outs[dim]);
            if let (Some(&a), Some(&b)) = (ins.front(), outs.front())
                && divisible(self.size(a), self.size(b))
            {
                return true;
            }
            missing = outs.iter().rfind(|a| !self.held.contains(a)).copied().or(missing);
            let (mut last, mut seen) = (None::<(usize, usize)>, vec![false; self.ins.len()]);
            for axis in ins {
                let goal = self.goals.get(axis).copied();
                match goal {
                    Some((to, index)) => {
                        let goes_on = last.is_some_and(|(d, i)| d == to && i + 1 == index);
                        if (to == dim || seen[to]) && !goes_on {
                            return true;
                        }
                        seen[to] = true;
                    }
                    None if last.is_some() && outs.is_empty() => return true,
                    None => surplus = Some(*axis),
                }
                last = goal;
            }
        }
        matches!((surplus, missing), (Some(a), Some(b)) if divisible(self.size(a), self.size(b)))
    }

    /// Replaces the axes of each dimension of the current layout that come after the common prefix with the target by
    /// others, those of the target first as far as they fit. The number of shards of each dimension stays the same.
    fn rearrange(&mut self) {
        let rank = self.ins.len();
        self.held.clear();
        let mut free_outs = VecDeque::new();
        let mut free_ins = vec![VecDeque::new(); rank];
        for (dim, free_ins) in free_ins.iter_mut().enumerate() {
            self.room[dim] = self.total(&self.ins[dim]);
            let mut used = self.room[dim];
            pop_back(&mut self.current[dim], self.ins[dim].iter());
            while self.room[dim] > 1
                && let Some(&axis) = self.outs[dim].front()
                && let Some((part, rest)) = self.take_fitting(dim, axis)
            {
                self.outs[dim].pop_front();
                AxisRef::push_or_merge(&mut self.current[dim], part, &self.mesh);
                if let Some(rest) = rest {
                    self.outs[dim].push_front(rest);
                }
            }
            free_outs.extend(self.outs[dim].iter().copied());
            used /= self.room[dim];
            let mut left: VecDeque<AxisRef> = self.ins[dim].drain(..).filter(|a| !self.goals.contains_key(a)).collect();
            // The axes after those that were replaced remain if they fit. They come first.
            let room = std::mem::replace(&mut self.room[dim], used);
            while self.room[dim] > 1
                && let Some(&axis) = left.front()
                && let Some((part, rest)) = self.take_fitting(dim, axis)
            {
                left.pop_front();
                free_ins.push_back(part);
                if let Some(rest) = rest {
                    left.push_front(rest);
                }
            }
            self.room[dim] = room;
            left.append(free_ins);
            *free_ins = left;
        }
        self.fill(Fill::Back, &mut Available::Shared(&mut free_outs));
        self.fill(Fill::Front, &mut Available::PerDim(&mut free_ins));
        let mut free_ins: VecDeque<AxisRef> = free_ins.into_iter().flatten().collect();
        self.fill(Fill::Front, &mut Available::Shared(&mut free_ins));
        self.goals = goals(&self.outs);
        for dim in 0..rank {
            for &axis in &self.ins[dim] {
                AxisRef::push_or_merge(&mut self.current[dim], axis, &self.mesh);
            }
        }
    }

    /// Moves axes by all-to-alls to the dimensions that need them, the last ones of each dimension first. Without
    /// `allows_disorder`, axes are only moved if they are the first that the other dimension still needs, in this
    /// order.
    fn exchange(&mut self, allows_disorder: bool) {
        for source in 0..self.ins.len() {
            while let Some((count, target)) = self.exchangeable(source, allows_disorder) {
                let start = self.ins[source].len() - count;
                let moved: Vec<AxisRef> = self.ins[source].drain(start..).collect();
                pop_back(&mut self.current[source], moved.iter());
                let mut axes = vec![];
                for axis in moved {
                    AxisRef::push_or_merge(&mut axes, axis, &self.mesh);
                    AxisRef::push_or_merge(&mut self.current[target], axis, &self.mesh);
                    self.held.remove(&axis);
                    if self.ins[target].is_empty() && self.outs[target].front() == Some(&axis) {
                        self.outs[target].pop_front();
                    } else {
                        self.ins[target].push_back(axis);
                        self.held.insert(axis);
                    }
                }
                self.emit(ShardyCollective::AllToAll {
                    params: vec![AllToAllParam { axes, src_dim: source, tgt_dim: target }],
                });
            }
        }
    }

    /// Returns how many of the last axes of `source` move to one other dimension, and that dimension. Returns `None` if
    /// the last axis does not move to another dimension or, without `allows_disorder`, if the axes are not the first
    /// that the other dimension still needs, in this order.
    fn exchangeable(&self, source: usize, allows_disorder: bool) -> Option<(usize, usize)> {
        let ins = &self.ins[source];
        let goal = |a: &AxisRef| self.goals.get(a).map(|&(dim, _)| dim).filter(|&dim| dim != source);
        let target = goal(ins.back()?)?;
        let count = ins.iter().rev().take_while(|a| goal(a) == Some(target)).count();
        let is_in_place = || ins.iter().skip(ins.len() - count).eq(self.outs[target].iter().take(count));
        (allows_disorder || is_in_place()).then_some((count, target))
    }

    /// Adds an all-gather of the dimensions whose last remaining axis no dimension of the target needs, along all their
    /// remaining axes. Adds nothing if there are no such dimensions.
    fn gather(&mut self) {
        let mut axes = vec![vec![]; self.ins.len()];
        for (dim, axes) in axes.iter_mut().enumerate() {
            if self.ins[dim].back().is_none_or(|a| self.goals.contains_key(a)) {
                continue;
            }
            let gathered = std::mem::take(&mut self.ins[dim]);
            pop_back(&mut self.current[dim], gathered.iter());
            for axis in gathered {
                self.held.remove(&axis);
                AxisRef::push_or_merge(axes, axis, &self.mesh);
            }
        }
        if axes.iter().any(|a| !a.is_empty()) {
            self.emit(ShardyCollective::AllGather { dims: axes });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Front,
    Back,
}

enum Available<'a> {
    Shared(&'a mut VecDeque<AxisRef>),
    PerDim(&'a mut [VecDeque<AxisRef>]),
}

impl Available<'_> {
    fn of(&mut self, dim: usize) -> &mut VecDeque<AxisRef> {
        match self {
            Available::Shared(list) => list,
            Available::PerDim(lists) => &mut lists[dim],
        }
    }
}

fn goals(outs: &Axes) -> HashMap<AxisRef, (usize, usize)> {
    let places = |(dim, list): (usize, &VecDeque<AxisRef>)| {
        list.iter().enumerate().map(move |(i, &a)| (a, (dim, i))).collect::<Vec<_>>()
    };
    outs.iter().enumerate().flat_map(places).collect()
}

/// Removes these axes from the end of a list. They may be parts of the axes in the list.
fn pop_back<'a>(list: &mut Vec<AxisRef>, axes: impl DoubleEndedIterator<Item = &'a AxisRef>) {
    for &axis in axes.rev() {
        let Some(last) = list.last_mut() else { return };
        match last.prefix_without_overlap(axis) {
            Some(prefix) => *last = prefix,
            None => {
                list.pop();
            }
        }
    }
}

fn in_mesh_order<'a>(axes: impl IntoIterator<Item = &'a AxisRef>) -> Vec<AxisRef> {
    let mut axes: Vec<AxisRef> = axes.into_iter().copied().collect();
    axes.sort_by(|a, b| a.cmp_in_mesh(*b));
    axes
}

/// Cuts the axes of a list so that each part is within one of `others` or overlaps none of them. An axis is not cut
/// further where it meets one of `others` that it cannot coexist with. `others` is in the order of the mesh.
fn align(list: &mut VecDeque<AxisRef>, others: &[AxisRef], mesh: &Mesh) {
    for axis in std::mem::take(list) {
        let mut rest = Some(axis);
        let mut i = others.iter().position(|o| o.overlaps(axis)).unwrap_or(others.len());
        while let Some(axis) = rest {
            let cut = others.get(i).filter(|o| o.can_coexist(axis) && !o.contains(axis) && o.overlaps(axis)).copied();
            let Some(other) = cut else {
                list.push_back(axis);
                break;
            };
            list.extend(axis.prefix_without_overlap(other));
            list.extend(axis.overlap(other));
            rest = axis.suffix_without_overlap(other, mesh);
            i += 1;
        }
    }
}

fn divisible(a: usize, b: usize) -> bool {
    a.is_multiple_of(b) || b.is_multiple_of(a)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
