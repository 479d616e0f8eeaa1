//! A program as the propagation algorithm sees it: tensors that have a sharding, and nodes that connect them.
//!
//! The results of propagation depend on the order of work, so a [`Problem`] fixes that order. To get Shardy's results,
//! the caller must supply what MLIR's greedy driver would see:
//!
//! - **Nodes** are in pre-order of the program (an op before the ops in its regions), with edges directly after the
//!   values that own them. Ops without a rule are left out.
//! - Each tensor has its **wakes**: the nodes to visit again when its sharding changes, in the order in which MLIR
//!   reaches them (see [`Tensor::wakes`]).
//! - Each node states whether an operand is **shared**, where every use of the value counts, including those by
//!   terminators.
//!
//! The worklist is a stack, so of the nodes that a change wakes the last one runs first.

use crate::{Direction, Rule};
use shardwise_base::{AxisIndex, AxisRef, DimSharding, EntityVec, Sharding, ShardingParts, entity};
use smallvec::SmallVec;
use std::sync::Arc;

entity! {
    /// A tensor that can have a sharding: a value, all targets of a data-flow edge together, or a function's result.
    pub TensorId "t"
}

entity! {
    /// One of [`Problem::nodes`].
    pub NodeId "n"
}

/// The nodes to visit when a tensor changes. Most tensors have few.
pub type Wakes = SmallVec<[NodeId; 4]>;

/// A tensor that can have a sharding.
#[derive(Clone, Debug, Default)]
pub struct Tensor {
    pub sharding: Option<Sharding>,
    /// The nodes to visit again when the sharding changes, in this order, with repetitions allowed:
    /// 1. for the tensor of a data-flow edge: the users of each target that is not the owner, target by target;
    /// 2. the node that defines the tensor (the edge itself for the tensor of an edge);
    /// 3. its users, newest use first, also those behind calls and terminators. For a use as a source of an edge this
    ///    is the edge. A use by an op without a node, or by a terminator that is no source, is left out. Edges at the
    ///    arguments of manual computations, named computations and inlined calls are left out too: as in Shardy, they
    ///    notice their operands only in the next round.
    ///
    /// In a module fresh from its text the newest use is the last one in the text, where an op's operands count as
    /// newer than everything in its regions, and a later operand as newer than an earlier one. Replacing all uses
    /// of a value by another one (as the import of edges does) reverses the list.
    pub wakes: Wakes,
    /// The group of the tensor, or `None` if it is in none. Propagation sets all tensors of a group to the same
    /// sharding.
    pub group: Option<u32>,
}

/// The class of an op in the rounds of op-priority propagation: see [`crate::Options::op_priorities`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OpClass {
    /// Takes part from the first round on, or from the second if an operand is shared: elementwise ops, reshapes,
    /// transposes, edges.
    PassThrough,
    /// Takes part from the first round on, or from the second if an operand is shared. Propagates only forward before
    /// the third round, and along factors that are not pass-through only forward before the fourth: dynamic slices and
    /// their updates.
    Slice,
    /// Takes part from the third round on along pass-through factors, and from the fourth along all factors. Propagates
    /// only backward before the last round.
    Broadcast,
    /// Takes part from the third round on along pass-through factors, and from the fourth along all factors.
    #[default]
    Other,
}

/// An op with a rule, a data-flow edge, whose operands are its sources and whose only result is its tensor, or one of
/// [`Problem::results`].
#[derive(Clone, Debug)]
pub struct Node {
    pub rule: Arc<Rule>,
    pub operands: SmallVec<[TensorId; 4]>,
    pub results: SmallVec<[TensorId; 2]>,
    pub class: OpClass,
    /// True if the op is elementwise for propagation: constraints and propagation barriers are, reshapes and edges are
    /// not.
    pub is_elementwise: bool,
    /// True if an operand that is not of rank 0 has more than one use, or none. Always false for edges.
    pub has_shared_operand: bool,
    /// The direction in every round, whatever the class, for a propagation barrier; `None` for other nodes.
    pub fixed_direction: Option<Direction>,
    /// True if sub-axes propagate even in conservative propagation: for edges, propagation barriers and
    /// [`Problem::results`].
    pub splits_axes: bool,
    /// For an edge of a manual computation, how the result's sharding is converted for the sources.
    pub manual: Option<ManualEdge>,
}

impl Node {
    /// Returns a node of class [`OpClass::Other`] whose other properties are off.
    pub fn new(
        rule: Arc<Rule>,
        operands: impl IntoIterator<Item = TensorId>,
        results: impl IntoIterator<Item = TensorId>,
    ) -> Node {
        Node {
            rule,
            operands: operands.into_iter().collect(),
            results: results.into_iter().collect(),
            class: OpClass::Other,
            is_elementwise: false,
            has_shared_operand: false,
            fixed_direction: None,
            splits_axes: false,
            manual: None,
        }
    }

    /// Returns the operands, then the results.
    pub fn tensors(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.operands.iter().chain(&self.results).copied()
    }

    pub(crate) fn tensor(&self, index: usize) -> TensorId {
        match index.checked_sub(self.operands.len()) {
            None => self.operands[index],
            Some(i) => self.results[i],
        }
    }
}

/// An edge between the inside of a manual computation, where its manual axes do not exist, and the outside.
///
/// In every dimension the manual axes come first. `outside` is the sharding that the computation declares for the
/// argument or result, and includes the manual axes.
#[derive(Clone, Debug)]
pub struct ManualEdge {
    pub manual_axes: Vec<AxisIndex>,
    pub outside: Sharding,
    /// True if the tensor is a block argument, whose sharding is kept without manual axes. Otherwise it is a result,
    /// whose sharding is kept with them and whose source is inside.
    pub is_argument: bool,
}

impl ManualEdge {
    /// Converts the tensor's sharding to the one that its sources have.
    pub fn to_sources(&self, kept: &Sharding) -> Sharding {
        if self.is_argument { self.with_manual(kept) } else { self.without_manual(kept) }
    }

    /// Converts the sources' sharding to the one that the tensor has.
    pub fn from_sources(&self, seen: &Sharding) -> Sharding {
        if self.is_argument { self.without_manual(seen) } else { self.with_manual(seen) }
    }

    /// Returns the sharding without the manual axes, as it is inside. It has no reduced axes.
    pub fn without_manual(&self, sharding: &Sharding) -> Sharding {
        let free = |axes: &[AxisRef]| axes.iter().copied().filter(|&a| !self.is_manual(a)).collect();
        ShardingParts {
            mesh: sharding.mesh.clone(),
            dims: sharding.dims.iter().map(|d| DimSharding { axes: free(&d.axes), ..d.clone() }).collect(),
            replicated: free(&sharding.replicated),
            unreduced: free(&sharding.unreduced),
            reduced: vec![],
        }
        .into()
    }

    /// Returns the sharding with the declared manual axes first in each dimension, as it is outside. It has the replicated
    /// axes of the declared sharding and its own, and the unreduced axes of the declared one. It has no reduced axes.
    pub fn with_manual(&self, sharding: &Sharding) -> Sharding {
        let dims = self.outside.dims.iter().zip(&sharding.dims).map(|(outside, free)| {
            let manual = outside.axes.iter().copied().take_while(|&a| self.is_manual(a));
            DimSharding { axes: manual.chain(free.axes.iter().copied()).collect(), ..free.clone() }
        });
        ShardingParts {
            mesh: sharding.mesh.clone(),
            dims: dims.collect(),
            replicated: AxisRef::union(
                &sharding.mesh,
                self.outside.replicated.iter().chain(&sharding.replicated).copied(),
            ),
            unreduced: self.outside.unreduced.clone(),
            reduced: vec![],
        }
        .into()
    }

    fn is_manual(&self, axis: AxisRef) -> bool {
        self.manual_axes.contains(&axis.axis)
    }
}

/// The origin of a mesh axis over which a tensor is split: the tensor from which the axis was propagated, and the node
/// through which it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub tensor: TensorId,
    pub axis: AxisRef,
    /// The node through which it propagated; `None` for one of [`Problem::results`].
    pub node: Option<NodeId>,
    /// The first of the node's other tensors that had the axis or a part of it.
    pub from: TensorId,
}

/// A program to propagate through. [`crate::solve`] changes the shardings of its tensors.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    pub tensors: EntityVec<TensorId, Tensor>,
    pub nodes: EntityVec<NodeId, Node>,
    /// The main function's results that are tensors, in order: identities from the value returned to the tensor of the
    /// result. They are propagated in both directions before and after the nodes in each round, for each strategy, and
    /// wake no nodes.
    pub results: Vec<Node>,
    /// The members of each group of tensors that get the same sharding. [`Tensor::group`] is the index of a group.
    pub groups: Vec<Vec<TensorId>>,
    /// The origins of axes, in the order in which they were found. Only filled with [`crate::Options::record_origins`].
    pub origins: Vec<Origin>,
}

impl Problem {
    /// Returns an empty problem with room for these numbers of tensors and nodes.
    pub fn with_capacity(tensor_count: usize, node_count: usize) -> Problem {
        let (tensors, nodes) = (EntityVec::with_capacity(tensor_count), EntityVec::with_capacity(node_count));
        Problem { tensors, nodes, ..Problem::default() }
    }

    /// Adds a tensor with this sharding, and returns its index.
    pub fn add_tensor(&mut self, sharding: Option<Sharding>) -> TensorId {
        self.tensors.push(Tensor { sharding, ..Tensor::default() })
    }

    /// Adds a node, and returns its index. Debug builds panic unless it has as many operands and results as its rule.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        debug_assert_eq!(node.operands.len(), node.rule.operands.len());
        debug_assert_eq!(node.results.len(), node.rule.results.len());
        self.nodes.push(node)
    }

    /// Returns the sharding of a tensor, or `None` if it has none.
    pub fn sharding(&self, tensor: TensorId) -> Option<&Sharding> {
        self.tensors[tensor].sharding.as_ref()
    }

    /// Puts tensors into a new group. Their shardings stay as they are until [`crate::solve`] makes them equal and
    /// keeps them so. A tensor must be in no group yet: groups that share a tensor are not kept equal.
    pub fn add_group(&mut self, members: Vec<TensorId>) {
        let group = self.groups.len() as u32;
        for &tensor in &members {
            self.tensors[tensor].group = Some(group);
        }
        self.groups.push(members);
    }

    /// Returns the origins of the steps by which `axis` came to `tensor`, from the last step back to the tensor that
    /// had the axis from the start or got it from another member of its group. The list is empty if that is `tensor`
    /// itself, if `tensor` does not have the axis, or if no origins were recorded. A step counts if its axis contains
    /// `axis` or is a part of it.
    pub fn trace(&self, tensor: TensorId, axis: AxisRef) -> Vec<&Origin> {
        let mut path: Vec<&Origin> = vec![];
        let mut at = tensor;
        while let Some(origin) =
            self.origins.iter().rev().find(|o| o.tensor == at && (o.axis.contains(axis) || axis.contains(o.axis)))
        {
            at = origin.from;
            path.push(origin);
            if path.len() > self.tensors.len() {
                break;
            }
        }
        path
    }
}
