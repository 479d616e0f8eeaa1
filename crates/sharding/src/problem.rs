//! A program as the fixpoint sees it: places that hold a sharding, and nodes that connect them.
//!
//! The answers of propagation depend on the order of work, so a [`Problem`] fixes that order. To get Shardy's answers
//! the caller must supply what MLIR's greedy driver would see:
//!
//! - **nodes** in pre-order of the program (an op before the ops in its regions), edges directly behind the values
//!   that own them, ops without a rule left out;
//! - for each tensor its **wakes**: the nodes to look at again when its sharding changes, in the order in which MLIR
//!   meets them (see [`Tensor::wakes`]);
//! - for each node whether an operand is **shared**: counting every use of the value, terminators included.
//!
//! The worklist is a stack, so of the nodes that a change wakes the last one runs first.

use crate::{Direction, Rule};
use shardwise_base::{AxisIndex, AxisRef, DimSharding, Sharding, ShardingParts};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("a program has fewer than 2^32 of each"))
            }

            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

index!(
    /// A place that holds a sharding: a value, the targets of a data-flow edge together, or a function's result.
    TensorId,
    "t"
);
index!(
    /// A node of a [`Problem`].
    NodeId,
    "n"
);

/// A place that holds a sharding.
#[derive(Clone, Debug, Default)]
pub struct Tensor {
    pub sharding: Option<Sharding>,
    /// The nodes to look at again when the sharding changes. In this order, repetitions allowed:
    /// 1. for the tensor of a data-flow edge: the users of each target that is not the owner, target by target;
    /// 2. the node that defines the tensor (the edge itself for the tensor of an edge);
    /// 3. its users, newest use first. A use as a source of an edge means the edge; a use by an op without a node, or
    ///    by a terminator that is no source, means nothing.
    ///
    /// In a module fresh from its text the newest use is the last one in the text, where an op's operands count as
    /// newer than everything in its regions, and a later operand as newer than an earlier one. Replacing all uses
    /// of a value by another one (as the import of edges does) reverses the list.
    pub wakes: Vec<NodeId>,
    /// Tensors with the same number always have the same sharding.
    pub group: Option<u32>,
}

/// Where an op stands in the rounds of op-priority: see [`crate::Options::op_priorities`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OpClass {
    /// From the first round: elementwise ops, reshapes, transposes, edges.
    PassThrough,
    /// From the first round, but forward only: dynamic slices and their updates.
    Slice,
    /// Backward only until the last round.
    Broadcast,
    #[default]
    Other,
}

/// An op with a rule, or a data-flow edge, whose operands are its sources and whose only result is its tensor.
#[derive(Clone, Debug)]
pub struct Node {
    pub rule: Arc<Rule>,
    pub operands: SmallVec<[TensorId; 4]>,
    pub results: SmallVec<[TensorId; 2]>,
    pub class: OpClass,
    /// Elementwise as propagation means it: constraints, reshards and barriers are, reshapes and edges are not.
    pub is_elementwise: bool,
    /// Some operand that is not of rank 0 has more than one use (or none).
    pub has_shared_operand: bool,
    /// The same direction in every round, whatever the class (a propagation barrier).
    pub fixed_direction: Option<Direction>,
    /// In conservative propagation as well: edges and barriers do.
    pub splits_axes: bool,
    /// For an edge of a manual computation, how the result's sharding looks from the sources.
    pub manual: Option<ManualEdge>,
}

impl Node {
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

    /// Operands, then results.
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
/// argument or result; it says which manual axes they are.
#[derive(Clone, Debug)]
pub struct ManualEdge {
    pub manual_axes: Vec<AxisIndex>,
    pub outside: Sharding,
    /// The tensor is a block argument, whose sharding is kept without manual axes; otherwise it is a result, which
    /// keeps them, and whose source is inside.
    pub is_argument: bool,
}

impl ManualEdge {
    /// The tensor's sharding as its sources see it.
    pub fn to_sources(&self, kept: &Sharding) -> Sharding {
        if self.is_argument { self.with_manual(kept) } else { self.without_manual(kept) }
    }

    /// The sources' view as the tensor keeps it.
    pub fn from_sources(&self, seen: &Sharding) -> Sharding {
        if self.is_argument { self.without_manual(seen) } else { self.with_manual(seen) }
    }

    /// Without what is manual: the view from inside.
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

    /// With the declared manual axes in front: the view from outside.
    pub fn with_manual(&self, sharding: &Sharding) -> Sharding {
        let dims = self.outside.dims.iter().zip(&sharding.dims).map(|(outside, free)| {
            let manual = outside.axes.iter().copied().take_while(|&a| self.is_manual(a));
            DimSharding { axes: manual.chain(free.axes.iter().copied()).collect(), ..free.clone() }
        });
        ShardingParts {
            mesh: sharding.mesh.clone(),
            dims: dims.collect(),
            replicated: self.outside.replicated.clone(),
            unreduced: self.outside.unreduced.clone(),
            reduced: vec![],
        }
        .into()
    }

    fn is_manual(&self, axis: AxisRef) -> bool {
        self.manual_axes.contains(&axis.axis)
    }
}

/// Where an axis of a tensor came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub tensor: TensorId,
    pub axis: AxisRef,
    /// The node through which it came; `None` for a function's result.
    pub node: Option<NodeId>,
    /// The tensor of that node that had it.
    pub from: TensorId,
}

/// A program to propagate through; [`crate::solve`] changes the shardings of its tensors.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    pub tensors: Vec<Tensor>,
    pub nodes: Vec<Node>,
    /// The main function's results, in order: identities from the value returned to the tensor of the result. They
    /// are pushed through in both directions before and after each round, and wake nobody.
    pub results: Vec<Node>,
    /// Members of each group.
    pub groups: Vec<Vec<TensorId>>,
    /// With [`crate::Options::record_origins`], in the order in which they were found.
    pub origins: Vec<Origin>,
}

impl Problem {
    pub fn add_tensor(&mut self, sharding: Option<Sharding>) -> TensorId {
        self.tensors.push(Tensor { sharding, ..Tensor::default() });
        TensorId::new(self.tensors.len() - 1)
    }

    pub fn add_node(&mut self, node: Node) -> NodeId {
        debug_assert_eq!(node.operands.len(), node.rule.operands.len());
        debug_assert_eq!(node.results.len(), node.rule.results.len());
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    pub fn sharding(&self, tensor: TensorId) -> Option<&Sharding> {
        self.tensors[tensor.index()].sharding.as_ref()
    }

    /// Puts tensors in a group of their own: from now on their shardings are one.
    pub fn add_group(&mut self, members: Vec<TensorId>) {
        let group = self.groups.len() as u32;
        for t in &members {
            self.tensors[t.index()].group = Some(group);
        }
        self.groups.push(members);
    }

    /// The way that `axis` of `tensor` came: each step's origin, ending at the tensor that had it from the start.
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
