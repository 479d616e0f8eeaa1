//! Typed indices into arenas.

use shardwise_base::entity;

entity! {
    /// A value of a body: the result of an op or the argument of a region.
    pub Value "v"
}
entity! {
    /// An operation of a body.
    pub Op "op"
}
entity! {
    /// A region of a body: one block.
    pub Region "r"
}
entity! {
    /// A function of a module.
    pub FuncId "fn"
}

/// The kind of an [`Op`]: the number of its row in the [`OpTable`](crate::OpTable).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpCode(pub u16);

impl OpCode {
    /// The code of `func.return` in every table.
    pub const RETURN: OpCode = OpCode(0);
    /// The code of `func.call` in every table.
    pub const CALL: OpCode = OpCode(1);
}
