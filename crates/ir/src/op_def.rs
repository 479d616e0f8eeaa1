//! What this crate must know of an op: its name, how it is checked, whether it ends a region.

use crate::text::Syntax;
use crate::{OpCode, OpView};
use shardwise_base::Diagnostics;

/// One row of an [`OpTable`].
pub trait OpDef: Sync {
    /// With its dialect: `stablehlo.add`.
    fn name(&self) -> &'static str;

    /// How the op is written.
    fn syntax(&self) -> Syntax;

    /// Ends a region: its operands are what the region gives.
    fn is_terminator(&self) -> bool;

    /// Every constraint that the op violates; the operands' types are known, the regions verified.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics;
}

/// The closed list of ops, supplied by a crate above.
pub trait OpTable: Sync {
    fn find(&self, name: &str) -> Option<OpCode>;

    fn def(&self, code: OpCode) -> &'static dyn OpDef;

    /// All names, for "did you mean".
    fn names(&self) -> Vec<&'static str>;
}
