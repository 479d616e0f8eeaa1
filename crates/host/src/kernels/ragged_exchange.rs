//! `ragged_all_to_all`: rows are copied directly from the members' operands to their results.

use crate::kernels::buffers::{own_or_copy, written};
use crate::kernels::context::PlanCx;
use crate::kernels::indices::Indices;
use crate::kernels::members::{dense_groups, rows_of_devices};
use crate::memory::OutOfMemory;
use crate::movement::copy;
use crate::plan::{Group, Kernel, KernelCx, Points, Step};
use crate::pool::Workers;
use shardwise_base::{DType, Diagnostic, Loc};
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups, RaggedMember, RowMove, row_moves};

struct RaggedExchange {
    /// The instances of each group, in order. Each group is listed once.
    groups: Vec<Group>,
    /// For each instance, the id of the first device that holds it, for messages.
    devices: Vec<usize>,
    row_bytes: usize,
    rows_in: usize,
    rows_out: usize,
    /// The number of entries of each of the four lists of offsets and sizes.
    entries: usize,
    /// The type of the lists' entries.
    dtype: DType,
    loc: Loc,
}

/// Returns the step of a `ragged_all_to_all`. Returns `None` for other ops, and if there is no kernel because an
/// instance is in no group or the groups are lists of replicas on a mesh.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let collective = CollectiveView::of(view).filter(|c| c.kind == CollectiveKind::RaggedAllToAll)?;
    // The result varies over everything that an operand varies over, and over the axes of the groups. Each instance is
    // therefore one member.
    let points = plan.points(view.result(0));
    let groups = match &collective.groups {
        Groups::Axes { axes, .. } => points.groups(&points, axes),
        _ => dense_groups(&rows_of_devices(plan, &collective)?, &points, &points).groups,
    };
    if groups.iter().any(|group| group.is_empty()) {
        return None;
    }
    let (operand, result) = (view.operand_tensor(0), view.result_tensor(0));
    let size = result.dtype.storage_bytes();
    let kernel = RaggedExchange {
        groups: each_once(groups),
        devices: (0..points.count()).map(|i| device(&points, i)).collect(),
        row_bytes: result.shape[1..].iter().product::<usize>() * size,
        rows_in: operand.shape[0],
        rows_out: result.shape[0],
        entries: view.operand_shape(2)[0],
        dtype: view.operand_tensor(2).dtype,
        loc: view.loc().clone(),
    };
    Some(plan.kernel(view, kernel))
}

fn each_once(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn device(points: &Points, i: usize) -> usize {
    points.mesh.as_ref().map_or(0, |m| m.device(m.position(&points.coordinates(i))))
}

impl RaggedExchange {
    fn present<'a>(&'a self, cx: &'a KernelCx<'_>) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(|g| cx.instances.binary_search(&(g[0] as usize)).is_ok())
    }

    fn moves(&self, cx: &KernelCx<'_>, group: &[u32]) -> Result<Vec<RowMove>, Diagnostic> {
        let member = |&m: &u32| {
            let list = |i| {
                let numbers = Indices::new(cx.input(i, m as usize), self.dtype);
                (0..self.entries).map(|k| numbers.get(k)).collect()
            };
            let [input_offsets, send_sizes, output_offsets, recv_sizes] = [2, 3, 4, 5].map(list);
            let device = self.devices[m as usize];
            RaggedMember { device, input_offsets, send_sizes, output_offsets, recv_sizes }
        };
        let members: Vec<RaggedMember> = group.iter().map(member).collect();
        row_moves(&members, self.rows_in, self.rows_out, &self.loc)
    }
}

/// Pairs each piece of data with the part of `array` that starts at its position, in bytes, and has its length. The
/// pairs are in the order of the positions, without those of empty pieces. Panics if pieces overlap or go beyond the
/// array.
fn placed<'a>(array: &'a mut [u8], mut pieces: Vec<(usize, &'a [u8])>) -> Vec<(&'a [u8], &'a mut [u8])> {
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces.sort_unstable_by_key(|(start, _)| *start);
    let (mut rest, mut at) = (array, 0);
    let place = |(start, piece): (usize, &'a [u8])| {
        let (own, behind) = std::mem::take(&mut rest)[start - at..].split_at_mut(piece.len());
        (rest, at) = (behind, start + piece.len());
        (piece, own)
    };
    pieces.into_iter().map(place).collect()
}

impl Kernel for RaggedExchange {
    fn check(&self, cx: &KernelCx<'_>) -> Result<(), Diagnostic> {
        self.present(cx).try_for_each(|group| self.moves(cx, group).map(|_| ()))
    }

    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = own_or_copy(cx, 1, self.rows_out * self.row_bytes)?;
        let mut targets: Vec<Vec<(usize, &[u8])>> = outputs.iter().map(|_| vec![]).collect();
        for group in self.present(cx) {
            for m in self.moves(cx, group).expect("checked") {
                let source = cx.input(0, group[m.source] as usize).bytes();
                let rows = &source[m.from * self.row_bytes..][..m.count * self.row_bytes];
                let target = group[m.target] as usize;
                let position = cx.instances.binary_search(&target).expect("all of a group take part");
                targets[position].push((m.to * self.row_bytes, rows));
            }
        }
        let pieces = outputs.iter_mut().zip(targets).flat_map(|(output, rows)| placed(written(output), rows));
        copy(Workers::global(), pieces);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = own_or_copy(cx, 1, self.rows_out * self.row_bytes)?;
        cx.set(0, outputs);
        Ok(())
    }

    fn is_collective(&self) -> bool {
        true
    }
}
