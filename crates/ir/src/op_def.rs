//! The facts about an op that this crate needs: its name, its notation, how it is verified, and whether it ends a
//! region.

use crate::text::Syntax;
use crate::{OpCode, OpView};
use shardwise_base::Diagnostics;

/// A row of an [`OpTable`].
pub trait OpDef: Sync {
    /// Returns the name with its dialect: `stablehlo.add`.
    fn name(&self) -> &'static str;

    /// Returns the notation of the op.
    fn syntax(&self) -> Syntax;

    /// Returns true if the op ends a region: its operands are the results of the region.
    fn is_terminator(&self) -> bool;

    /// Returns the name of the op that ends each of the op's regions: `stablehlo.return`.
    fn region_end(&self) -> &'static str;

    /// Returns true if the op may end the body of a function.
    fn ends_functions(&self) -> bool;

    /// Returns true if the op's regions cannot use values from around the op.
    fn is_isolated(&self) -> bool;

    /// Returns the names that MLIR prints for the op's values instead of numbers.
    fn value_names(&self, op: &OpView<'_>) -> ValueNames;

    /// Returns an error for each constraint that was found to be violated. The list is empty if the op keeps all of
    /// them. If one is violated, others may not be checked. The operands' types are known, and the op's regions have
    /// been verified, though they may have errors.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics;
}

/// Names of values, without `%`. MLIR appends a number if a name is taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct ValueNames {
    /// A name for each result. The results are numbered if there are more or fewer names than results.
    pub results: &'static [&'static str],
    /// The name of every argument of the op's regions, or `None` if the arguments are numbered.
    pub args: Option<&'static str>,
}

/// The closed list of ops, which a crate above supplies.
pub trait OpTable: Sync {
    fn find(&self, name: &str) -> Option<OpCode>;

    fn def(&self, code: OpCode) -> &'static dyn OpDef;

    /// Returns all names, for "did you mean".
    fn names(&self) -> Vec<&'static str>;
}
