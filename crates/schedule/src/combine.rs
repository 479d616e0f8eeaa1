//! Small all-reduces over the same devices as one, so that their latency is paid once.

use crate::change::Site;
use crate::site::{Sites, map_main, set_reason};
use crate::times::Times;
use shardwise_base::{AxisRef, DType, Diagnostics, Mesh, Varying};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Builder, Cloner, Module, Op, OpView, Region, Value};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};
use shardwise_ops::{ReduceKind, make, make_collective};
use std::collections::BTreeMap;
use std::sync::Arc;

const MAX_MEMBERS: usize = 64;

/// All-reduces in one block, which become one at the position of the last. The results of the others are not used
/// before this position.
#[derive(Clone, Debug)]
pub(crate) struct Combine {
    pub(crate) members: Vec<Op>,
    mesh: Arc<Mesh>,
    axes: Vec<AxisRef>,
    kind: ReduceKind,
    pub(crate) like: Like,
}

/// The facts on which the decision depends, beside the sizes. All-reduces of values that vary over different axes are
/// not combined, because the results would then vary over the axes of all of them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    collective: CollectiveView,
    dtype: DType,
    varying: [Option<Varying>; 2],
}

/// Returns the groups of at least two small all-reduces that can be combined. Those of a group have the same reduction,
/// which may be any known one, such as a sum or a maximum. An all-reduce is small if latency is at least half of its
/// time.
pub(crate) fn find(sites: &Sites<'_>, times: &Times) -> Vec<Combine> {
    let mut blocks: BTreeMap<Region, Vec<Op>> = BTreeMap::new();
    for view in sites.collectives().filter(|view| times.is_small(view.op)) {
        if let Some(region) = sites.home(view.op) {
            blocks.entry(region).or_default().push(view.op);
        }
    }
    blocks.into_iter().flat_map(|(region, ops)| in_block(sites, region, &ops)).collect()
}

fn in_block(sites: &Sites<'_>, region: Region, ops: &[Op]) -> Vec<Combine> {
    let position: BTreeMap<Op, usize> = sites.body[region].ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let mut open: Vec<(Combine, usize)> = vec![];
    let mut found = vec![];
    for &op in ops {
        let Some(own) = of_sum(&sites.view(op)) else { continue };
        let first_use = first_use(sites, &position, op);
        let known = open.iter().position(|(group, _)| group.like == own.like);
        match known {
            Some(i) if open[i].1 > position[&op] && open[i].0.members.len() < MAX_MEMBERS => {
                open[i].0.members.push(op);
                open[i].1 = open[i].1.min(first_use);
            }
            Some(i) => found.push(std::mem::replace(&mut open[i], (own, first_use)).0),
            None => open.push((own, first_use)),
        }
    }
    found.extend(open.into_iter().map(|(group, _)| group));
    found.retain(|group| group.members.len() > 1);
    found
}

/// Returns the position in the block of the first op that uses the results of an op, or in whose regions they are used.
/// Returns `usize::MAX` if nothing uses them, and 0 if they are used outside of the block.
fn first_use(sites: &Sites<'_>, position: &BTreeMap<Op, usize>, op: Op) -> usize {
    let at = |mut op: Op| loop {
        if let Some(&at) = position.get(&op) {
            return at;
        }
        match sites.home(op).and_then(|region| sites.body[region].parent) {
            Some(around) => op = around,
            None => return 0,
        }
    };
    let uses = sites.view(op).results().iter().flat_map(|&v| sites.uses(v));
    uses.map(|user| at(user.op)).min().unwrap_or(usize::MAX)
}

fn of_sum(view: &OpView<'_>) -> Option<Combine> {
    let collective = CollectiveView::of(view)?;
    let CollectiveKind::AllReduce { reduce: Some(kind) } = collective.kind else { return None };
    let Groups::Axes { mesh, axes } = &collective.groups else { return None };
    let (mesh, axes) = (mesh.clone(), axes.clone());
    let [from, to] = [view.operand_type(0).as_tensor()?, view.result_type(0).as_tensor()?];
    let is_plain = view.operands().len() == 1 && from == to && from.size() > 0;
    let varying = [view.operand(0), view.result(0)].map(|v| view.body[v].varying.clone());
    let like = Like { collective: CollectiveView { channel: 0, ..collective }, dtype: from.dtype, varying };
    is_plain.then(|| Combine { members: vec![view.op], mesh, axes, kind, like })
}

pub(crate) fn apply(module: &Module, chosen: &[Site]) -> Result<Module, Diagnostics> {
    let mut pass = Combiner(BTreeMap::new());
    for site in chosen {
        let Site::Combine(group) = site else { continue };
        let (&last, others) = group.members.split_last().expect("a group has members");
        pass.0.extend(others.iter().map(|&op| (op, None)));
        pass.0.insert(last, Some(group));
    }
    map_main(module, |func| rewrite_func(module, func, &mut pass))
}

/// The sums that are combined. The last one of each group has the group.
struct Combiner<'a>(BTreeMap<Op, Option<&'a Combine>>);

impl<'s> Rewrite<'s> for Combiner<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let Some(&role) = self.0.get(&view.op) else { return Ok(false) };
        if let Some(group) = role {
            build(group, view, cloner, b);
        }
        Ok(true)
    }
}

/// Builds one all-reduce of all members, as one array of one dimension, and cuts the result up again.
fn build<'s>(group: &Combine, last: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) {
    let members: Vec<OpView<'s>> = group.members.iter().map(|&op| last.at(op)).collect();
    let flat: Vec<Value> = members
        .iter()
        .map(|view| {
            let x = cloner.get(view.operand(0));
            make::reshape(b, x, &[view.operand_tensor(0).size()])
        })
        .collect();
    let all = make::concatenate(b, &flat, 0);
    let sum = make_collective::all_reduce(b, all, group.kind, &group.mesh, &group.axes);
    set_reason(b, sum, last.data().reason.clone());
    let mut start = 0;
    for view in members {
        let ty = view.result_tensor(0);
        let part = make::slice_dim(b, sum, 0, start, start + ty.size());
        start += ty.size();
        let value = make::reshape(b, part, &ty.shape);
        cloner.carry(view.result(0), value, b);
    }
}
