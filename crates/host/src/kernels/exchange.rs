//! Collectives: each result instance is written once, from the instances of its group.

use crate::gang::lower::{Lowering, fill};
use crate::gang::points::Points;
use crate::gang::{Kernel, KernelCx, StepKind};
use crate::memory::OutOfMemory;
use shardwise_base::{AxisRef, Literal};
use shardwise_engine::layout::{Dense, ShardBox, cut};
use shardwise_interp::combine;
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::ReduceKind;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};

/// What a group computes from its members' values, for each member.
enum Exchange {
    AllReduce(ReduceKind),
    ReduceScatter { kind: ReduceKind, dim: usize },
    AllGather { dim: usize },
    AllToAll { split: usize, concat: usize },
    Broadcast,
}

struct ExchangeKernel {
    exchange: Exchange,
    /// Operand type, per device.
    ty: TensorType,
    /// For each instance of the result, the instances of the operand in its group, in order.
    groups: Vec<Vec<u32>>,
    /// For each instance of the result, its position in its group.
    positions: Vec<usize>,
}

/// The kernel of a collective over mesh axes.
pub fn kernel(lowering: &Lowering<'_>, view: &OpView<'_>) -> Option<StepKind> {
    let collective = CollectiveView::of(view).filter(|_| view.operands().len() == 1)?;
    let exchange = exchange(collective.kind)?;
    let mesh = lowering.mesh.as_ref()?;
    let (operand, result) = (lowering.points(view.operand(0)), lowering.points(view.result(0)));
    let (groups, positions) = match &collective.groups {
        Groups::Axes { axes, .. } => {
            let position = |i: usize| AxisRef::index_in(mesh, axes, &result.coordinates(i));
            (result.groups(&operand, axes), (0..result.count()).map(position).collect())
        }
        Groups::Dense(rows) => dense_groups(rows, &operand, &result)?,
        Groups::All => dense_groups(&[(0..mesh.size()).collect()], &operand, &result)?,
    };
    let ty = view.operand_tensor(0).clone();
    Some(StepKind::Kernel(Box::new(ExchangeKernel { exchange, ty, groups, positions })))
}

/// The groups of imported device numbers that name no axes.
fn dense_groups(rows: &[Vec<usize>], operand: &Points, result: &Points) -> Option<(Vec<Vec<u32>>, Vec<usize>)> {
    let mesh = result.mesh.as_ref()?;
    let position_of = |device: usize| (0..mesh.size()).find(|&p| mesh.device(p) == device);
    let rows: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().filter_map(|&d| position_of(d)).collect()).collect();
    let (mut groups, mut positions) = (vec![], vec![]);
    for i in 0..result.count() {
        let own = mesh.position(&result.coordinates(i));
        let row = rows.iter().find(|row| row.contains(&own))?;
        groups.push(row.iter().map(|&p| operand.instance(&mesh.coordinates(p)) as u32).collect());
        positions.push(row.iter().position(|&p| p == own)?);
    }
    Some((groups, positions))
}

fn exchange(kind: CollectiveKind) -> Option<Exchange> {
    Some(match kind {
        CollectiveKind::AllReduce { reduce } => Exchange::AllReduce(reduce?),
        CollectiveKind::ReduceScatter { dim, reduce } => Exchange::ReduceScatter { kind: reduce?, dim },
        CollectiveKind::AllGather { dim } => Exchange::AllGather { dim },
        CollectiveKind::AllToAll { split_dim, concat_dim } => {
            Exchange::AllToAll { split: split_dim, concat: concat_dim }
        }
        CollectiveKind::CollectiveBroadcast => Exchange::Broadcast,
        CollectiveKind::CollectivePermute { .. } => return None,
    })
}

impl Kernel for ExchangeKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for i in cx.instances.clone() {
            let parts: Vec<Literal> = self.groups[i]
                .iter()
                .map(|&m| {
                    let bytes = cx.inputs[0][m as usize].bytes();
                    Literal::from_bytes(self.ty.dtype, &self.ty.shape, bytes).expect("a shard's bytes")
                })
                .collect();
            let value = self.member(&parts, self.positions[i]);
            cx.outputs[0][i] = Some(fill(cx.memory, &value)?);
        }
        Ok(())
    }

    fn is_collective(&self) -> bool {
        true
    }
}

impl ExchangeKernel {
    fn member(&self, parts: &[Literal], position: usize) -> Literal {
        let n = parts.len();
        match self.exchange {
            Exchange::AllReduce(kind) => combine(kind, parts),
            Exchange::ReduceScatter { kind, dim } => piece(&combine(kind, parts), dim, position, n),
            Exchange::AllGather { dim } => concatenate(parts, dim),
            Exchange::AllToAll { split, concat } => {
                let pieces: Vec<Literal> = parts.iter().map(|p| piece(p, split, position, n)).collect();
                concatenate(&pieces, concat)
            }
            Exchange::Broadcast => parts[0].clone(),
        }
    }
}

fn piece(whole: &Literal, dim: usize, i: usize, n: usize) -> Literal {
    let mut part = ShardBox { offset: vec![0; whole.rank()], shape: whole.shape().to_vec() };
    part.shape[dim] /= n;
    part.offset[dim] = i * part.shape[dim];
    cut(whole, &part)
}

fn concatenate(parts: &[Literal], dim: usize) -> Literal {
    let mut shape = parts[0].shape().to_vec();
    shape[dim] = parts.iter().map(|p| p.shape()[dim]).sum();
    let mut out = Dense::zeros(&parts[0], &shape);
    let mut offset = vec![0; shape.len()];
    for part in parts {
        out.paste(part, &offset);
        offset[dim] += part.shape()[dim];
    }
    out.finish()
}
