//! Typed indices into arenas.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 entities"))
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

entity! {
    /// A value of a body: the result of an op or the argument of a region.
    Value "v"
}
entity! {
    /// An operation of a body.
    Op "op"
}
entity! {
    /// A region of a body: one block.
    Region "r"
}
entity! {
    /// A function of a module.
    FuncId "fn"
}

/// The kind of an [`Op`]: a row of the [`OpTable`](crate::OpTable).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpCode(pub u16);

impl OpCode {
    /// The code of `func.return` in every table.
    pub const RETURN: OpCode = OpCode(0);
    /// The code of `func.call` in every table.
    pub const CALL: OpCode = OpCode(1);
}
