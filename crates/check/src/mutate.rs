//! Mutants: the programs that a wrong partitioner would make. A good test suite kills all of them.

use shardwise_base::{AxisRef, Literal};
use shardwise_ir::{Body, Builder, Cloner, Module, Op, OpView, Value};
use shardwise_ops::collective::{
    AllToAll, AxisIndexOp, AxisList, CollectiveKind, CollectiveView, Groups, Permutation, group_axes,
};
use shardwise_ops::elementwise::Compare;
use shardwise_ops::shapes::DynamicSlice;
use shardwise_ops::{Opcode, ReduceKind, make, make_collective};

/// A mistake that a partitioner could make. It is made by changing ops of a localized module.
pub struct Mutant {
    pub name: &'static str,
    /// The function that returns the replacement of an op, or `None` if the op stays as it is.
    change: fn(&OpView<'_>, &[Value], &mut Builder<'_>) -> Option<Vec<Value>>,
}

/// All mutants. Each of them must be killed.
pub const MUTANTS: &[Mutant] = &[
    Mutant { name: "all_reduce is forgotten", change: |op, x, _| only(op, Opcode::AllReduce).then(|| x.to_vec()) },
    Mutant { name: "all_reduce leaves out an axis", change: all_reduce_fewer_axes },
    Mutant { name: "all_reduce takes the maximum for the sum", change: all_reduce_other_kind },
    Mutant { name: "all_gather repeats the own shard", change: all_gather_own },
    Mutant { name: "all_gather takes its axes in another order", change: all_gather_swapped },
    Mutant { name: "all_to_all pieces keep their device", change: all_to_all_local },
    Mutant {
        name: "collective_permute goes nowhere",
        change: |op, x, _| only(op, Opcode::CollectivePermute).then(|| x.to_vec()),
    },
    Mutant { name: "collective_permute goes backwards", change: permute_backwards },
    Mutant { name: "reduce_scatter is forgotten", change: reduce_scatter_own },
    Mutant { name: "axis_index is always 0", change: axis_index_zero },
    Mutant { name: "axis_index is one too large", change: axis_index_next },
    Mutant { name: "a mask is forgotten", change: mask_forgotten },
    Mutant { name: "a mask is one too narrow", change: mask_narrow },
    Mutant { name: "dynamic_slice starts at 0", change: slice_at_zero },
    Mutant { name: "all_reduce counts the own part twice", change: all_reduce_own_twice },
    Mutant { name: "all_reduce is forgotten on all but the last axis", change: all_reduce_last_axis },
    Mutant { name: "reduce_scatter returns the first piece on all devices", change: reduce_scatter_first },
    Mutant { name: "reduce_scatter takes its axes in another order", change: reduce_scatter_swapped },
    Mutant { name: "all_to_all takes its axes in another order", change: all_to_all_swapped },
    Mutant { name: "all_to_all joins where it should split", change: all_to_all_turned },
    Mutant { name: "collective_permute forgets its last pair", change: permute_short },
    Mutant { name: "a mask keeps what it should drop", change: mask_turned },
    Mutant { name: "a mask fills in ones", change: mask_ones },
    Mutant { name: "a mask is one too wide", change: mask_wide },
];

impl Mutant {
    /// Returns the module with every op of the main function that the mutant changes replaced. Returns `None` if it
    /// changes none, or if the module has no functions. Ops inside regions of other ops stay as they are, and do not
    /// count.
    pub fn apply(&self, module: &Module) -> Option<Module> {
        let mut out = module.clone();
        let index = module.funcs.iter().position(|f| std::ptr::eq(f, module.main().expect("a main")))?;
        let func = &module.funcs[index];
        let mut body = Body::new();
        let mut builder = Builder::new(&mut body);
        let mut cloner = Cloner::new(&func.body);
        cloner.args(func.body.entry(), &mut builder);
        let mut changed = false;
        for &op in &func.body[func.body.entry()].ops {
            changed |= self.op(module, op, &mut cloner, &mut builder);
        }
        out.funcs[index].body = body;
        changed.then_some(out)
    }

    fn op(&self, module: &Module, op: Op, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) -> bool {
        let source = cloner.source;
        let view = OpView::new(module, source, op);
        let operands = cloner.values(view.operands());
        match (self.change)(&view, &operands, builder) {
            Some(values) => {
                view.results().iter().zip(values).for_each(|(&from, to)| cloner.set(from, to));
                true
            }
            None => {
                cloner.op(op, builder);
                false
            }
        }
    }
}

fn only(op: &OpView<'_>, opcode: Opcode) -> bool {
    Opcode::of_view(op) == opcode
}

fn groups<'a>(op: &OpView<'a>) -> Option<(&'a std::sync::Arc<shardwise_base::Mesh>, &'a [AxisRef])> {
    group_axes(op)
}

fn gathered_dim(op: &OpView<'_>) -> Option<usize> {
    match CollectiveView::of(op)?.kind {
        CollectiveKind::AllGather { dim } => Some(dim),
        _ => None,
    }
}

fn scattered_dim(op: &OpView<'_>) -> Option<usize> {
    match CollectiveView::of(op)?.kind {
        CollectiveKind::ReduceScatter { dim, .. } => Some(dim),
        _ => None,
    }
}

fn exchanged_dims(op: &OpView<'_>) -> Option<(usize, usize)> {
    match CollectiveView::of(op)?.kind {
        CollectiveKind::AllToAll { split_dim, concat_dim } => Some((split_dim, concat_dim)),
        _ => None,
    }
}

fn all_reduce_fewer_axes(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (mesh, axes) = groups(op).filter(|g| only(op, Opcode::AllReduce) && g.1.len() > 1)?;
    Some(vec![make_collective::all_reduce(b, x[0], kind(op)?, mesh, &axes[1..])])
}

fn kind(op: &OpView<'_>) -> Option<ReduceKind> {
    shardwise_ops::reducer::reduce_kind_of_op(op)
}

fn all_reduce_other_kind(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (mesh, axes) = groups(op).filter(|_| only(op, Opcode::AllReduce) && kind(op) == Some(ReduceKind::Add))?;
    Some(vec![make_collective::all_reduce(b, x[0], ReduceKind::Max, mesh, axes)])
}

fn all_gather_own(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let dim = gathered_dim(op)?;
    let copies = op.result_shape(0)[dim] / op.operand_shape(0)[dim].max(1);
    Some(vec![make::concatenate(b, &vec![x[0]; copies.max(1)], dim)]).filter(|_| op.operand_shape(0)[dim] > 0)
}

fn all_gather_swapped(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let dim = gathered_dim(op)?;
    let (mesh, axes) = groups(op).filter(|g| g.1.len() > 1)?;
    let swapped: Vec<AxisRef> = axes.iter().rev().copied().collect();
    Some(vec![make_collective::all_gather(b, x[0], dim, mesh, &swapped)])
}

fn all_to_all_local(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (split, concat) = exchanged_dims(op)?;
    let count = AllToAll::split_count(op)?;
    let part = op.operand_shape(0)[split] / count;
    let pieces: Vec<Value> = (0..count).map(|i| make::slice_dim(b, x[0], split, i * part, (i + 1) * part)).collect();
    Some(vec![make::concatenate(b, &pieces, concat)])
}

/// Returns the axes of a `collective_permute`, and its pairs of positions along them. Returns `None` for other ops, and
/// if its groups are not axes.
fn permuted(op: &OpView<'_>) -> Option<(AxisList, Vec<(usize, usize)>)> {
    let CollectiveKind::CollectivePermute { permutation } = CollectiveView::of(op)?.kind else { return None };
    let Groups::Axes { mesh, axes } = permutation.groups() else { return None };
    Some((AxisList { mesh, axes }, permutation.to_pairs()))
}

fn permute_backwards(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (axes, pairs) = permuted(op)?;
    let back = Permutation::of_pairs(axes, pairs.into_iter().map(|(s, t)| (t, s)).collect());
    Some(vec![make_collective::collective_permute(b, x[0], &back)])
}

fn reduce_scatter_own(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let dim = scattered_dim(op)?;
    Some(vec![make::slice_dim(b, x[0], dim, 0, op.result_shape(0)[dim])])
}

fn axis_index_zero(op: &OpView<'_>, _: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::AxisIndex).then(|| vec![make::constant(b, Literal::scalar(0i32))])
}

fn axis_index_next(op: &OpView<'_>, _: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (mesh, axes) = AxisIndexOp::axes(op)?;
    let index = make_collective::axis_index(b, mesh, axes);
    let one = make::constant(b, Literal::scalar(1i32));
    Some(vec![make::add(b, index, one)])
}

/// Returns true if the op is a comparison whose first operand is an iota, or is made of one by additions and
/// broadcasts. This is the comparison in a mask: of positions along a dimension with its size. The programs' own
/// comparisons compare data.
fn is_limit(op: &OpView<'_>) -> bool {
    only(op, Opcode::Compare) && is_position(op.operand_def(0))
}

fn is_position(op: Option<OpView<'_>>) -> bool {
    op.is_some_and(|op| match Opcode::of_view(&op) {
        Opcode::Iota => true,
        Opcode::Add | Opcode::BroadcastInDim => (0..op.operands().len()).any(|i| is_position(op.operand_def(i))),
        _ => false,
    })
}

fn is_mask(op: &OpView<'_>) -> bool {
    only(op, Opcode::Select) && op.operand_def(0).is_some_and(|c| is_limit(&c))
}

fn mask_forgotten(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_mask(op).then(|| vec![x[1]])
}

fn mask_narrow(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_limit(op).then(|| {
        let ty = op.operand_tensor(1).clone();
        let one = make::number(b, ty.dtype, 1);
        let one = make::broadcast_scalar(b, one, &ty.shape);
        let limit = make::subtract(b, x[1], one);
        vec![make::compare(b, "LT", x[0], limit)]
    })
}

fn slice_at_zero(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let is_own = only(op, Opcode::DynamicSlice) && op.operands()[1..].iter().any(|v| op.body.def_op(*v).is_some());
    let sizes = Some(DynamicSlice::sizes(op)).filter(|_| is_own)?;
    let zero = make::number(b, op.operand_tensor(1).dtype, 0);
    Some(vec![make::dynamic_slice(b, x[0], &vec![zero; x.len() - 1], &sizes)])
}

fn all_reduce_own_twice(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (mesh, axes) = groups(op).filter(|_| only(op, Opcode::AllReduce) && kind(op) == Some(ReduceKind::Add))?;
    let sum = make_collective::all_reduce(b, x[0], ReduceKind::Add, mesh, axes);
    Some(vec![make::add(b, sum, x[0])])
}

fn all_reduce_last_axis(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (mesh, axes) = groups(op).filter(|g| only(op, Opcode::AllReduce) && g.1.len() > 1)?;
    Some(vec![make_collective::all_reduce(b, x[0], kind(op)?, mesh, &axes[axes.len() - 1..])])
}

/// The dimension, kind, mesh and axes of a reduce_scatter.
type Scattered<'a> = (usize, ReduceKind, &'a std::sync::Arc<shardwise_base::Mesh>, &'a [AxisRef]);

fn scattered<'a>(op: &OpView<'a>) -> Option<Scattered<'a>> {
    let dim = scattered_dim(op)?;
    let (mesh, axes) = groups(op)?;
    Some((dim, kind(op)?, mesh, axes))
}

fn reduce_scatter_first(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (dim, kind, mesh, axes) = scattered(op)?;
    let sum = make_collective::all_reduce(b, x[0], kind, mesh, axes);
    Some(vec![make::slice_dim(b, sum, dim, 0, op.result_shape(0)[dim])])
}

fn reduce_scatter_swapped(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (dim, kind, mesh, axes) = scattered(op).filter(|s| s.3.len() > 1)?;
    let swapped: Vec<AxisRef> = axes.iter().rev().copied().collect();
    Some(vec![make_collective::reduce_scatter(b, x[0], dim, kind, mesh, &swapped)])
}

fn all_to_all_swapped(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (split, concat) = exchanged_dims(op)?;
    let (mesh, axes) = groups(op).filter(|g| g.1.len() > 1)?;
    let swapped: Vec<AxisRef> = axes.iter().rev().copied().collect();
    Some(vec![make_collective::all_to_all(b, x[0], split, concat, mesh, &swapped)])
}

/// Makes an all-to-all split the dimension that it should join, and join the one that it should split. The result is
/// reshaped to its type. Returns `None` for other ops, if the groups are not axes, for empty arrays, and if the other
/// dimension cannot be split evenly.
fn all_to_all_turned(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (split, concat) = exchanged_dims(op)?;
    let (mesh, axes) = groups(op)?;
    let n = AllToAll::split_count(op)?;
    let (from, to) = (op.operand_shape(0), op.result_shape(0));
    let turns = from[concat].is_multiple_of(n) && from.iter().product::<usize>() > 0;
    let turned = turns.then(|| make_collective::all_to_all(b, x[0], concat, split, mesh, axes))?;
    Some(vec![make::reshape(b, turned, to)])
}

fn permute_short(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let (axes, mut pairs) = permuted(op)?;
    pairs.pop()?;
    Some(vec![make_collective::collective_permute(b, x[0], &Permutation::of_pairs(axes, pairs))])
}

fn mask_turned(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_mask(op).then(|| vec![make::select(b, x[0], x[2], x[1])])
}

fn mask_ones(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_mask(op).then(|| {
        let ty = op.operand_tensor(2).clone();
        let one = make::number(b, ty.dtype, 1);
        let ones = make::broadcast_scalar(b, one, &ty.shape);
        let filled = make::add(b, x[2], ones);
        vec![make::select(b, x[0], x[1], filled)]
    })
}

fn mask_wide(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    (is_limit(op) && Compare::direction(op) == Some("LT")).then(|| vec![make::compare(b, "LE", x[0], x[1])])
}
