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

    /// Its regions see no values from around the op.
    fn is_isolated(&self) -> bool;

    /// What MLIR calls the op's values instead of numbering them.
    fn value_names(&self, op: &OpView<'_>) -> ValueNames;

    /// Every constraint that the op violates; the operands' types are known, the regions verified.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics;
}

/// Names of values, without `%`: MLIR prints them with a number behind where they are taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct ValueNames {
    /// One for each result, or none.
    pub results: &'static [&'static str],
    /// Of every argument of the op's regions.
    pub args: Option<&'static str>,
}

/// The closed list of ops, supplied by a crate above.
pub trait OpTable: Sync {
    fn find(&self, name: &str) -> Option<OpCode>;

    fn def(&self, code: OpCode) -> &'static dyn OpDef;

    /// All names, for "did you mean".
    fn names(&self) -> Vec<&'static str>;
}
