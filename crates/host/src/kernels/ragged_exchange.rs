//! `ragged_all_to_all`: rows go straight from the members' operands to their results.

use crate::block::Pointer;
use crate::gang::lower::Lowering;
use crate::gang::points::Points;
use crate::gang::{Kernel, KernelCx, Step, StepKind};
use crate::kernels::exchange::dense_groups;
use crate::kernels::fuse::elem;
use crate::kernels::moves::{input, output, own_or_copy, read_index};
use crate::memory::OutOfMemory;
use crate::movement::move_rows;
use crate::pool::Workers;
use shardwise_base::{DType, Diagnostic, Loc};
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups, RaggedMember, RowMove, row_moves};

struct RaggedExchange {
    /// The instances of each group, in order.
    groups: Vec<Vec<u32>>,
    /// For messages, a device that holds each instance.
    devices: Vec<usize>,
    row_bytes: usize,
    rows_in: usize,
    rows_out: usize,
    /// Entries of each of the four lists, and their type.
    entries: usize,
    dtype: DType,
    loc: Loc,
}

/// The step of a `ragged_all_to_all`.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let collective = CollectiveView::of(view).filter(|c| c.kind == CollectiveKind::RaggedAllToAll)?;
    // The result varies over all that an operand varies over, and over the axes: an instance is a member.
    let points = lowering.points(view.result(0));
    let groups = match &collective.groups {
        Groups::Axes { axes, .. } => points.groups(&points, axes),
        Groups::Dense(rows) => dense_groups(rows, &points, &points)?.0,
        Groups::All => dense_groups(&[(0..lowering.mesh.as_ref()?.size()).collect()], &points, &points)?.0,
    };
    let (operand, result) = (view.operand_tensor(0), view.result_tensor(0));
    let size = elem(result.dtype)?.size();
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
    Some(lowering.step(view, StepKind::Kernel(Box::new(kernel))))
}

fn each_once(mut groups: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn device(points: &Points, i: usize) -> usize {
    points.mesh.as_ref().map_or(0, |m| m.device(m.position(&points.coordinates(i))))
}

impl RaggedExchange {
    /// The groups that take part.
    fn present<'a>(&'a self, cx: &'a KernelCx<'_>) -> impl Iterator<Item = &'a Vec<u32>> {
        self.groups.iter().filter(|g| cx.instances.contains(&(g[0] as usize)))
    }

    fn moves(&self, cx: &KernelCx<'_>, group: &[u32]) -> Result<Vec<RowMove>, Diagnostic> {
        let member = |&m: &u32| {
            let list = |i| (0..self.entries).map(|k| read_index(cx.input(i, m as usize), k, self.dtype)).collect();
            let [input_offsets, send_sizes, output_offsets, recv_sizes] = [2, 3, 4, 5].map(list);
            let device = self.devices[m as usize];
            RaggedMember { device, input_offsets, send_sizes, output_offsets, recv_sizes }
        };
        let members: Vec<RaggedMember> = group.iter().map(member).collect();
        row_moves(&members, self.rows_in, self.rows_out, &self.loc)
    }
}

impl Kernel for RaggedExchange {
    fn check(&self, cx: &KernelCx<'_>) -> Result<(), Diagnostic> {
        self.present(cx).try_for_each(|group| self.moves(cx, group).map(|_| ()))
    }

    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for i in cx.instances.clone() {
            cx.outputs[0][i] = Some(own_or_copy(cx, 1, self.rows_out * self.row_bytes, i)?);
        }
        let cx = &*cx;
        let at = |p: Pointer, row: usize| p.offset((row * self.row_bytes) as isize);
        let of_group = |group: &Vec<u32>| {
            let moves = self.moves(cx, group).expect("checked");
            let rows = |m: RowMove| {
                let from = input(cx, 0, group[m.source] as usize);
                let to = output(cx, group[m.target] as usize);
                (0..m.count).map(move |k| (at(from, m.from + k), at(to, m.to + k)))
            };
            moves.into_iter().flat_map(rows).collect::<Vec<_>>()
        };
        let rows: Vec<(Pointer, Pointer)> = self.present(cx).flat_map(of_group).collect();
        // SAFETY: rows lie within operands and results, which are new or nobody else's, and none is written twice.
        unsafe { move_rows(Workers::global(), rows.len(), self.row_bytes, |i| rows[i].0, |i| rows[i].1) };
        Ok(())
    }

    fn is_collective(&self) -> bool {
        true
    }
}
