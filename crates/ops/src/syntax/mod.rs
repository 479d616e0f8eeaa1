//! How each op is written: one line for each op that has a form of its own.

use crate::Opcode;

/// The form of an op's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// `"stablehlo.gather"(%a, %b) <{..}> : (..) -> ..`
    Generic,
}

/// The form of `op`.
pub fn of(_op: Opcode) -> Syntax {
    Syntax::Generic
}
