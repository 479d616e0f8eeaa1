//! Why a collective is there: recorded at the moment it is decided, never reconstructed.

use crate::Loc;
use std::sync::Arc;

/// What made communication necessary.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReasonCause {
    /// An operand of `consumer` had to agree with the op's sharding over `factor`.
    Operand { index: usize },
    /// A contracted or reduced dimension is sharded, so partial results must be summed.
    Reduction,
    /// The result was asked for in another layout (a constraint, `out_shardings`, a function's result).
    Result,
    /// The program wrote the collective itself.
    Program,
    /// A strategy of the op needs it (a halo, an owner's row).
    Strategy,
}

/// The road not taken, and what it would have moved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alternative {
    pub what: Arc<str>,
    pub bytes_received: u64,
}

/// The record on each reshard and collective.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason {
    pub cause: ReasonCause,
    /// The op that needed it: `stablehlo.dot_general`.
    pub consumer: Arc<str>,
    pub consumer_loc: Loc,
    /// The factor of the consumer's rule at stake, as it prints: `k`; empty if there is none.
    pub factor: Arc<str>,
    /// Whose sharding decided: `operand 1 [{"Y"}, {}]`.
    pub won: Arc<str>,
    /// Whose sharding gave way.
    pub lost: Arc<str>,
    pub alternative: Option<Alternative>,
    /// Bytes that the worst device receives, of the whole reshard that this step belongs to.
    pub bytes_received: u64,
    /// One sentence for a person.
    pub text: Arc<str>,
}
