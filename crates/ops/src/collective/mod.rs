//! Collectives of per-device programs, in the form that engines and the communication tables read.
//!
//! ```text
//! "stablehlo.all_gather"(%x) <{all_gather_dim = 0, replica_groups = #stablehlo.replica_group_mesh_axes<..>}>
//! ```
//! An op is read once, by [`CollectiveView::of`], into a kind and its [`Groups`].

mod calculus;
mod groups;
pub mod named;
mod ops;
mod permutation;
mod ragged;
mod transfer;

pub use groups::{Groups, axes_between, axes_in_mesh, axes_of_groups, groups_of_axes, with_index_in};
pub use ops::{
    AllGather, AllReduce, AllToAll, Async, AxisIndexOp, CollectiveBroadcast, CollectivePermute, CollectiveReduce,
    ProcessId, ReduceScatter, data_operands, partition_count, process_count, set_partition_count,
};
pub use permutation::{AxisList, Permutation, Senders, permutation_of_pairs};
pub use ragged::{RAGGED_ALL_TO_ALL, RaggedAllToAll, RaggedMember, RowMove, row_moves};
pub(crate) use ragged::{is_ragged, ragged_attrs};
pub use transfer::Transfer;

use crate::{Opcode, ReduceKind, make, promote, reducer};
use shardwise_base::{AxisRef, Literal, Mesh};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Region, Value};
use std::sync::Arc;

/// The kind of a collective, with its dimensions.
#[derive(Clone, PartialEq, Debug)]
pub enum CollectiveKind {
    AllGather {
        dim: usize,
    },
    /// `reduce` is `None` if the region computes no known reduction.
    AllReduce {
        reduce: Option<ReduceKind>,
    },
    ReduceScatter {
        dim: usize,
        reduce: Option<ReduceKind>,
    },
    AllToAll {
        split_dim: usize,
        concat_dim: usize,
    },
    CollectivePermute {
        permutation: Permutation,
    },
    CollectiveBroadcast,
    /// The result is on the first member of the group, or on the one that an operand names.
    CollectiveReduce {
        reduce: Option<ReduceKind>,
    },
    RaggedAllToAll,
}

impl CollectiveKind {
    /// Returns the name of the collective in HLO, such as `all-gather`.
    pub fn name(&self) -> &'static str {
        match self {
            CollectiveKind::AllGather { .. } => "all-gather",
            CollectiveKind::AllReduce { .. } => "all-reduce",
            CollectiveKind::ReduceScatter { .. } => "reduce-scatter",
            CollectiveKind::AllToAll { .. } => "all-to-all",
            CollectiveKind::CollectivePermute { .. } => "collective-permute",
            CollectiveKind::CollectiveBroadcast => "collective-broadcast",
            CollectiveKind::CollectiveReduce { .. } => "collective-reduce",
            CollectiveKind::RaggedAllToAll => "ragged-all-to-all",
        }
    }

    /// Returns true if the result of a process that is in no group is undefined. For the other kinds it is zero.
    pub fn needs_every_process(&self) -> bool {
        use CollectiveKind::*;
        !matches!(self, CollectivePermute { .. } | CollectiveBroadcast | CollectiveReduce { .. })
    }
}

/// The meaning of the numbers in dense groups, and in the pairs of [`Permutation::Processes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdSpace {
    /// Replicas. There is one collective for each partition.
    CrossReplica,
    /// Partitions. There is one collective for each replica.
    CrossPartition,
    /// Replicas, each with all of its partitions.
    CrossReplicaAndPartition,
    /// The numbers `replica * partition_count + partition`.
    Flattened,
}

/// A collective as its attributes describe it.
#[derive(Clone, PartialEq, Debug)]
pub struct CollectiveView {
    pub kind: CollectiveKind,
    pub groups: Groups,
    /// The channel, or 0 if the op has none.
    pub channel: i64,
    pub ids: IdSpace,
}

impl CollectiveView {
    /// Reads a collective of StableHLO or a `ragged_all_to_all`. Returns `None` for any other op, and for one with
    /// attributes that cannot be read, which the verifier reports.
    pub fn of(op: &OpView<'_>) -> Option<CollectiveView> {
        let opcode = Opcode::of_view(op);
        let kind = match opcode {
            Opcode::AllGather => CollectiveKind::AllGather { dim: op.attrs().size("all_gather_dim")? },
            Opcode::AllReduce => CollectiveKind::AllReduce { reduce: reducer::reduce_kind_of_op(op) },
            Opcode::ReduceScatter => CollectiveKind::ReduceScatter {
                dim: op.attrs().size("scatter_dimension")?,
                reduce: reducer::reduce_kind_of_op(op),
            },
            Opcode::AllToAll => CollectiveKind::AllToAll {
                split_dim: op.attrs().size("split_dimension")?,
                concat_dim: op.attrs().size("concat_dimension")?,
            },
            Opcode::CollectivePermute => CollectiveKind::CollectivePermute { permutation: Permutation::of(op)? },
            Opcode::CollectiveBroadcast => CollectiveKind::CollectiveBroadcast,
            Opcode::CollectiveReduce => CollectiveKind::CollectiveReduce { reduce: reducer::reduce_kind_of_op(op) },
            Opcode::CustomCall if is_ragged(op) => CollectiveKind::RaggedAllToAll,
            _ => return None,
        };
        let channel = channel_of(op);
        let global = op.attrs().flag("use_global_device_ids");
        let ids = match (opcode, channel > 0) {
            (_, false) => IdSpace::CrossReplica,
            (Opcode::AllGather | Opcode::AllReduce | Opcode::ReduceScatter, true) if global => IdSpace::Flattened,
            (Opcode::AllGather | Opcode::AllReduce | Opcode::ReduceScatter, true) => IdSpace::CrossReplicaAndPartition,
            _ => IdSpace::CrossPartition,
        };
        let groups = match opcode {
            _ if let CollectiveKind::CollectivePermute { permutation } = &kind => permutation.groups(),
            Opcode::CustomCall => groups_of(ragged::config(op)?.get("replica_groups")?)?,
            _ => groups_of(op.attr("replica_groups")?)?,
        };
        Some(CollectiveView { kind, groups, channel, ids })
    }

    /// Returns the processes that the op names by number, in groups or as sources and targets.
    pub fn named_processes(&self) -> impl Iterator<Item = usize> {
        let in_groups = match &self.groups {
            Groups::Dense(rows) => rows.concat(),
            Groups::Axes { .. } | Groups::All => vec![],
        };
        let in_pairs = match &self.kind {
            CollectiveKind::CollectivePermute { permutation: Permutation::Processes(pairs) } => &pairs[..],
            _ => &[],
        };
        let in_pairs: Vec<usize> = in_pairs.iter().flat_map(|&(s, t)| [s, t]).collect();
        in_groups.into_iter().chain(in_pairs)
    }

    /// Returns the parts of the mesh's axes along which devices that exchange values differ. For groups over axes,
    /// these are the axes of the groups, which are not converted to another mesh. Numbers of processes are read as
    /// devices. Returns all axes if the numbers are replicas or one is no device of the mesh, and for one group of all
    /// processes without a list of pairs.
    pub fn axes_between_members(&self, mesh: &Mesh) -> Vec<AxisRef> {
        let is_of_devices = matches!(self.ids, IdSpace::CrossPartition | IdSpace::Flattened);
        let between = match (&self.kind, &self.groups) {
            (_, Groups::Axes { axes, .. }) => return axes.clone(),
            (CollectiveKind::CollectivePermute { permutation: Permutation::Processes(pairs) }, _) if is_of_devices => {
                let pairs: Vec<[usize; 2]> = pairs.iter().map(|&(s, t)| [s, t]).collect();
                axes_between(mesh, pairs.iter().map(|pair| &pair[..]))
            }
            (_, Groups::Dense(rows)) if is_of_devices => axes_between(mesh, rows.iter().map(|row| &row[..])),
            _ => None,
        };
        between.unwrap_or_else(|| mesh.all_axes().collect())
    }
}

/// Returns the mesh and the axes that the attribute `replica_groups` names, or `None` if the op has no such attribute
/// or the groups are lists of processes.
pub fn group_axes<'a>(op: &OpView<'a>) -> Option<(&'a Arc<Mesh>, &'a [AxisRef])> {
    op.attr("replica_groups")?.as_axes()
}

/// Returns true if the op is a collective with several results, which it computes independently of each other.
pub fn is_variadic(op: &OpView<'_>) -> bool {
    op.results().len() > 1 && CollectiveView::of(op).is_some()
}

/// Builds one collective for each result of a collective that has several, and returns their results. `operands` replace
/// the op's operands, and are converted to the element types that the reducer takes. If the last of them has the roots,
/// each collective gets its own root. `regions` is called once for each collective, and builds its regions.
pub fn split(
    op: &OpView<'_>,
    operands: &[Value],
    regions: &mut dyn FnMut(&mut Builder<'_>) -> Vec<Region>,
    b: &mut Builder<'_>,
) -> Vec<Value> {
    let roots = operands.get(op.results().len()).copied();
    let one = |(i, &result): (usize, &Value)| {
        let x = promote::converted(op, i, operands[i], b);
        let root = roots.map(|roots| make::slice_dim(b, roots, 0, i, i + 1));
        let (attrs, regions, ty) = (op.attrs().clone(), regions(b), op.body.ty(result).clone());
        let made = b.op_with_regions(op.data().code, [x].into_iter().chain(root), attrs, regions, [ty]);
        b.body[made].results[0]
    };
    op.results().iter().enumerate().map(one).collect()
}

/// Returns the attributes of a collective other than a permutation, with these groups and this channel in place of its
/// own. Without a channel, the groups are of replicas. With one, they are of partitions. But an `all_gather`,
/// `all_reduce` or `reduce_scatter` with a channel gets `use_global_device_ids`, so that the numbers in its groups are
/// [`IdSpace::Flattened`].
pub fn attrs_with_groups(op: &OpView<'_>, groups: Attr, channel: Option<i64>) -> Attrs {
    if is_ragged(op) {
        return ragged_attrs(groups, channel);
    }
    let mut attrs = attrs_with_channel(op.attrs().clone(), channel);
    if channel.is_some() && matches!(Opcode::of_view(op), Opcode::AllGather | Opcode::AllReduce | Opcode::ReduceScatter)
    {
        attrs.set("use_global_device_ids", Attr::Unit);
    }
    attrs.set("replica_groups", groups);
    attrs
}

/// Returns a collective's attributes with this channel in place of its own, or without a channel if it is `None`.
/// Removes `use_global_device_ids`.
pub fn attrs_with_channel(mut attrs: Attrs, channel: Option<i64>) -> Attrs {
    attrs.remove("channel_handle");
    attrs.remove("use_global_device_ids");
    if let Some(channel) = channel {
        let fields = Attrs::new().with("handle", Attr::int(channel)).with("type", Attr::int(1));
        attrs.set("channel_handle", Attr::Record { name: "stablehlo.channel_handle".into(), fields });
    }
    attrs
}

fn channel_of(op: &OpView<'_>) -> i64 {
    if let Some(config) = ragged::config(op).filter(|_| is_ragged(op)) {
        return config.int("channel_id").unwrap_or(0);
    }
    op.attr("channel_handle").and_then(Attr::as_record).and_then(|fields| fields.int("handle")).unwrap_or(0)
}

/// Reads groups from `replica_groups`: axes, or rows of ids, in which -1 pads the shorter rows. An empty array is one
/// group of all processes. Returns `None` for any other attribute, and for rows with another negative number.
pub fn groups_of(attr: &Attr) -> Option<Groups> {
    match attr {
        Attr::Axes { mesh, axes } => Some(Groups::Axes { mesh: mesh.clone(), axes: axes.clone() }),
        Attr::Dense(ids) if ids.size() == 0 => Some(Groups::All),
        Attr::Dense(ids) => {
            let [_, width] = *ids.shape() else { return None };
            let row = |row: &[i64]| row.iter().filter(|&&id| id != -1).map(|&id| usize::try_from(id).ok()).collect();
            let rows: Option<Vec<Vec<usize>>> = ids_of(attr)?.chunks(width).map(row).collect();
            Some(Groups::Dense(rows?))
        }
        _ => None,
    }
}

fn ids_of(attr: &Attr) -> Option<Vec<i64>> {
    attr.as_dense().filter(|ids| ids.dtype().is_integer()).and_then(|_| attr.to_ints())
}

/// Reads the pairs of source and target from `dense<[[0, 1], [1, 2]]>`. An empty array has no pairs. Returns `None` if
/// the attribute is not an array of rows of two integers, or if one is negative.
pub fn pairs_of(attr: &Attr) -> Option<Vec<(usize, usize)>> {
    let Attr::Dense(ids) = attr else { return None };
    if ids.size() == 0 {
        return Some(vec![]);
    }
    let [_, 2] = *ids.shape() else { return None };
    let id = |id: i64| usize::try_from(id).ok();
    ids_of(attr)?.chunks(2).map(|pair| Some((id(pair[0])?, id(pair[1])?))).collect()
}

/// Builds the attribute for pairs of source and target, such as `dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>`.
pub fn pairs_attr(pairs: &[(usize, usize)]) -> Attr {
    let ids: Vec<i64> = pairs.iter().flat_map(|&(s, t)| [s as i64, t as i64]).collect();
    Attr::Dense(Literal::new(vec![pairs.len(), 2], &ids))
}

/// Builds the attribute for groups, such as `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`. Shorter groups are padded with
/// -1. Without any member, the array is empty, which [`groups_of`] reads as one group of all processes.
pub fn groups_attr(groups: &[Vec<usize>]) -> Attr {
    let width = groups.iter().map(Vec::len).max().unwrap_or(0);
    let ids: Vec<i64> = groups.iter().flat_map(|g| (0..width).map(|i| g.get(i).map_or(-1, |&id| id as i64))).collect();
    Attr::Dense(Literal::new(vec![groups.len(), width], &ids))
}
