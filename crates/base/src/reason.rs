//! The reason for a collective. It is recorded when the collective is decided and never reconstructed.

use crate::{DType, Loc, Sharding};
use std::sync::Arc;

/// The cause that made communication necessary.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReasonCause {
    /// An operand of the consumer had to agree with the consumer's sharding over a factor.
    Operand { index: usize },
    /// A contracted or reduced dimension is sharded, so partial results must be combined, or the sum of an unreduced
    /// operand is needed.
    Reduction,
    /// A result of an op, or a value that a function or region returns, was required in another layout.
    Result,
    /// An op without a rule, such as a constraint, a loop or a branch, or several readers together required a value in
    /// another layout, or the program contains the collective itself.
    Program,
    /// The way in which the op runs sharded needs the communication (a halo, the totals of blocks).
    Strategy,
}

/// An alternative that was not chosen, and the bytes that it would have moved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alternative {
    /// The axes over which the factors of the op would have been split: `k whole, j over {"Y"}`. Factors that are whole
    /// in this alternative and in the choice are left out.
    pub what: Arc<str>,
    pub bytes_received: u64,
}

/// A layout that the search over the whole function chose in place of the propagated one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LayoutChange {
    /// The consumer's name for the tensor: `operand 1`.
    pub tensor: Arc<str>,
    /// The layout that propagation chose: `[{"X"}, {}]`.
    pub propagated: Arc<str>,
    /// The layout that the search chose.
    pub chosen: Arc<str>,
    /// The number of values whose layouts the search changed together, this tensor included.
    pub value_count: u64,
    /// The bytes that the device that receives most would receive at the ops around these values if they had their
    /// propagated layouts, as the search estimates it.
    pub bytes_propagated: u64,
    /// The bytes that the device that receives most receives at the ops around these values with the layouts that the
    /// search chose, as the search estimates it.
    pub bytes_chosen: u64,
}

/// A value that changes its layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reshard {
    pub from: Sharding,
    pub to: Sharding,
    /// The global shape.
    pub shape: Vec<usize>,
    pub dtype: DType,
}

/// The record on reshards, on collectives, and on ops that communicate themselves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason {
    pub cause: ReasonCause,
    /// The op that needed the communication: `stablehlo.dot_general`.
    pub consumer: Arc<str>,
    pub consumer_loc: Loc,
    /// The factors of the consumer's rule that are concerned, separated by commas: `k`; empty if there is none.
    pub factor: Arc<str>,
    /// The tensor or op that decided, with the layout that it has or that is required of it (`operand 1 [{"Y"}, {}]`),
    /// or the split of factors that was kept (`factor k over {"Y"}`). Empty if no other tensor decided, and for the sum
    /// of an unreduced operand.
    pub won: Arc<str>,
    /// The operand or layout that was changed, or the axes over which a value was unreduced. Empty if partial results
    /// of the op are combined, or elements of its operands move.
    pub lost: Arc<str>,
    pub alternative: Option<Alternative>,
    /// The bytes that the device that receives most receives in the whole reshard, sum or exchange that this op belongs
    /// to, as they were counted when it was decided. Later passes may have changed how many they are.
    pub bytes_received: u64,
    /// The reshard that the collective belongs to, for a bound on what it has to move. `None` if it belongs to none, as
    /// a sum does, on `sdy.reshard` itself, and on the ops of a reshard in which no device receives data.
    pub reshard: Option<Arc<Reshard>>,
    /// The place of the collective among those of its reshard that receive data: 0 for the first one, and a larger
    /// number for each later one. 0 if it belongs to none.
    pub step: usize,
    /// The move that every program with the same specs makes: an argument itself is required in another layout, by a
    /// result of the function, an op that only states a layout, or a manual computation. `None` if there is no such
    /// move.
    pub forced: Option<Arc<Reshard>>,
    /// The layouts among those of the consumer's tensors that led to this collective and that the search changed.
    pub changes: Vec<LayoutChange>,
    /// One sentence for a person to read.
    pub text: Arc<str>,
}
