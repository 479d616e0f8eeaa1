//! Collectives of one operand, other than permutes and ragged exchanges. Each instance of the result is written once,
//! from the instances of its group, or is the buffer of one of them.

use crate::block::{self, Operand};
use crate::collective::reduction;
use crate::elem::Elem;
use crate::kernels::buffers::{output_bytes, targets, write, written};
use crate::kernels::context::PlanCx;
use crate::kernels::members::members;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::row_major;
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{Move, fill, streams};
use crate::operand::Source;
use crate::plan::{Group, Kernel, KernelCx, Members, Step};
use crate::pool::Workers;
use shardwise_ir::OpView;
use shardwise_ops::ReduceKind;
use shardwise_ops::collective::{CollectiveKind, CollectiveView};

/// The largest number of sources that one pass over instances reads, unless a single instance reads more. The addresses
/// of all sources of a pass are listed, so this number limits the memory of the lists, which is not charged. Without
/// it, the lists would grow with the square of the number of devices.
const SOURCES: usize = 1 << 14;

/// How the instances of the operand in a group become a result of the group.
enum Exchange {
    /// One pass combines all instances of the group by a reducer. The result at position `i` of its group reads each
    /// source from byte `i * scatter_bytes` on. With `to_first`, only the first of the group gets the result, and the
    /// others get zeros.
    Combine { kernel: Box<block::Kernel>, scatter_bytes: usize, to_first: bool },
    /// A block of the group's instance `k` is moved to position `k` of the result. The result at position `i` of its
    /// group reads each block from byte `i * from_bytes` on.
    Move { blocks: Move, from_bytes: usize },
    /// Every member of the group gets the buffer of the first one, without a copy.
    HandOver,
}

struct ExchangeKernel {
    exchange: Exchange,
    output_bytes: usize,
    /// For each instance of the result, the instances of the operand in its group, in order.
    groups: Vec<Group>,
    /// For each instance of the result, the position in its group of the first device that holds the instance.
    positions: Vec<usize>,
    /// The largest number of instances of the result that one pass computes, at least 1.
    at_once: usize,
}

/// Returns the step of a collective of one operand whose groups all have the same size of at least 1. Returns `None`
/// for all other ops and collectives, and if its reducer is no named one or has no kernel for the element types.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let collective = CollectiveView::of(view).filter(|_| view.operands().len() == 1)?;
    let Members { groups, positions, .. } = members(plan, view)?;
    let size = groups.first().map_or(1, |group| group.len());
    if size == 0 || groups.iter().any(|group| group.len() != size) {
        return None;
    }
    let exchange = exchange(view, &collective.kind, size)?;
    let at_once = (SOURCES / size).max(1);
    Some(plan.kernel(view, ExchangeKernel { exchange, output_bytes: output_bytes(view), groups, positions, at_once }))
}

fn exchange(view: &OpView<'_>, kind: &CollectiveKind, n: usize) -> Option<Exchange> {
    let (from, to) = (view.operand_shape(0), view.result_shape(0));
    Some(match *kind {
        CollectiveKind::AllReduce { reduce } => combine(view, reduce?, n, to, from, None)?,
        CollectiveKind::CollectiveReduce { reduce } => match combine(view, reduce?, n, to, from, None)? {
            Exchange::Combine { kernel, .. } => Exchange::Combine { kernel, scatter_bytes: 0, to_first: true },
            other => other,
        },
        CollectiveKind::ReduceScatter { dim, reduce } => combine(view, reduce?, n, to, from, Some(dim))?,
        CollectiveKind::AllGather { dim } => blocks(view, from, n, None, dim)?,
        CollectiveKind::AllToAll { split_dim, concat_dim } => {
            let mut block = from.to_vec();
            block[split_dim] /= n;
            blocks(view, &block, n, Some(split_dim), concat_dim)?
        }
        CollectiveKind::CollectiveBroadcast => Exchange::HandOver,
        CollectiveKind::CollectivePermute { .. } | CollectiveKind::RaggedAllToAll => return None,
    })
}

fn combine(
    view: &OpView<'_>,
    kind: ReduceKind,
    n: usize,
    shape: &[usize],
    from: &[usize],
    scattered: Option<usize>,
) -> Option<Exchange> {
    let elems = [Elem::of(view.operand_tensor(0).dtype)?, Elem::of(view.result_tensor(0).dtype)?];
    let strides = row_major(from);
    let kernel = match scattered {
        None => reduction(elems, reducer(kind), n, &[shape.iter().product()], &[1], &[1])?,
        Some(_) => reduction(elems, reducer(kind), n, shape, &strides, &row_major(shape))?,
    };
    let scatter_bytes = scattered.map_or(0, |d| shape[d] * strides[d] as usize * elems[0].size());
    Some(Exchange::Combine { kernel: Box::new(kernel), scatter_bytes, to_first: false })
}

/// Returns the move of `n` blocks of this shape to a result, in which they are adjacent along `concat`. If there is
/// `split`, the blocks of a source are adjacent along it. Otherwise a source is one block. Always returns `Some`.
fn blocks(view: &OpView<'_>, block: &[usize], n: usize, split: Option<usize>, concat: usize) -> Option<Exchange> {
    let size = view.operand_tensor(0).dtype.storage_bytes();
    let (from, to) = (row_major(view.operand_shape(0)), row_major(view.result_shape(0)));
    let apart = |dim: usize, strides: &[isize]| block[dim] as isize * strides[dim];
    let from_bytes = split.map_or(0, |d| apart(d, &from) as usize * size);
    Some(Exchange::Move { blocks: Move::joining(size, block, &from, &to, (n, apart(concat, &to))), from_bytes })
}

impl Kernel for ExchangeKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = match &self.exchange {
            Exchange::HandOver => self.first(cx),
            exchange => {
                let mut outputs = cx.allocate(self.output_bytes)?;
                self.fill(cx, exchange, &mut outputs);
                outputs
            }
        };
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let scratch = match &self.exchange {
            Exchange::HandOver => {
                let outputs = self.first(cx);
                cx.set(0, outputs);
                return Ok(());
            }
            Exchange::Combine { kernel, to_first, .. } => {
                kernel.scratch_bytes(Workers::global(), self.combined(cx, *to_first).min(self.at_once))
            }
            Exchange::Move { .. } => 0,
        };
        cx.predict(self.output_bytes, scratch)
    }

    fn is_collective(&self) -> bool {
        true
    }
}

impl ExchangeKernel {
    fn first(&self, cx: &KernelCx<'_>) -> Vec<Buffer> {
        cx.instances.iter().map(|&i| cx.instance(0, self.groups[i][0]).clone()).collect()
    }

    /// Returns the number of instances of the result for which [`Exchange::Combine`] combines operands. With
    /// `to_first`, it does not do this for those that get zeros.
    fn combined(&self, cx: &KernelCx<'_>, to_first: bool) -> usize {
        cx.instances.iter().filter(|&&i| !to_first || self.positions[i] == 0).count()
    }

    fn fill(&self, cx: &KernelCx<'_>, exchange: &Exchange, outputs: &mut [Buffer]) {
        let sources = |i: usize, bytes: usize| {
            let start = self.positions[i] * bytes;
            self.groups[i].iter().map(move |&member| Source::at(cx.instance(0, member).bytes(), start))
        };
        match exchange {
            Exchange::Combine { kernel, scatter_bytes, to_first } => {
                let combined = self.combined(cx, *to_first);
                let streaming = streams(self.output_bytes * combined);
                let run = |operands: &[Operand<'_>]| kernel.run(Workers::global(), operands, streaming);
                let most = self.at_once.min(combined) * kernel.operand_count();
                let mut operands: Vec<Operand<'_>> = Vec::with_capacity(most);
                for (&i, output) in cx.instances.iter().zip(outputs) {
                    if *to_first && self.positions[i] != 0 {
                        fill(Workers::global(), written(output), &[0]);
                        continue;
                    }
                    if operands.len() == most {
                        run(&operands);
                        operands.clear();
                    }
                    operands.extend(sources(i, *scatter_bytes).map(Operand::Read));
                    operands.push(write(output));
                }
                run(&operands);
            }
            Exchange::Move { blocks, from_bytes } => {
                for (instances, outputs) in cx.instances.chunks(self.at_once).zip(outputs.chunks_mut(self.at_once)) {
                    let sources: Vec<Source> = instances.iter().flat_map(|&i| sources(i, *from_bytes)).collect();
                    blocks.run(Workers::global(), &sources, &mut targets(outputs, 0));
                }
            }
            Exchange::HandOver => {}
        }
    }
}
