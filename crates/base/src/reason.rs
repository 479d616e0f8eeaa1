//! The reason for a collective. It is recorded when the collective is decided and never reconstructed.

use crate::Loc;
use std::sync::Arc;

/// The cause that made communication necessary.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReasonCause {
    /// An operand of the consumer had to agree with the consumer's sharding over a factor.
    Operand { index: usize },
    /// A contracted or reduced dimension is sharded, so partial results must be summed.
    Reduction,
    /// The result was required in another layout (by a constraint, by `out_shardings`, by a function's result).
    Result,
    /// The program contains the collective itself.
    Program,
    /// A strategy of the op needs it (a halo, the row of an owner).
    Strategy,
}

/// An alternative that was not chosen, and the bytes that it would have moved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alternative {
    pub what: Arc<str>,
    pub bytes_received: u64,
}

/// The record on each reshard and collective.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason {
    pub cause: ReasonCause,
    /// The op that needed the communication: `stablehlo.dot_general`.
    pub consumer: Arc<str>,
    pub consumer_loc: Loc,
    /// The factor of the consumer's rule that is concerned, as it prints: `k`; empty if there is none.
    pub factor: Arc<str>,
    /// The operand or result whose sharding was kept: `operand 1 [{"Y"}, {}]`.
    pub won: Arc<str>,
    /// The operand or result whose sharding was changed.
    pub lost: Arc<str>,
    pub alternative: Option<Alternative>,
    /// The bytes that the device that receives most receives, in the whole reshard that this step belongs to.
    pub bytes_received: u64,
    /// One sentence for a person to read.
    pub text: Arc<str>,
}
