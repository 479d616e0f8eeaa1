//! The value of one process.

use shardwise_base::Literal;

/// One process's part of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    Tensor(Literal),
    Token,
    Tuple(Vec<Datum>),
    /// The results of an op that was started asynchronously, until its `async_done`.
    Future(Vec<Datum>),
}

impl Datum {
    /// Returns the array.
    ///
    /// # Panics
    /// Panics if this is no array.
    pub fn tensor(&self) -> &Literal {
        match self {
            Datum::Tensor(l) => l,
            other => panic!("expected a tensor, found {other:?}"),
        }
    }

    /// Returns true if this boolean or integer scalar is not zero.
    ///
    /// # Panics
    /// Panics if this is not an array of booleans or integers with at least one element. The verifier excludes this.
    pub fn is_true(&self) -> bool {
        self.tensor().get_i128(0) != 0
    }

    /// Returns true if both are arrays with the same storage, shape and element type, or both are tokens, so that one
    /// evaluation serves both. Arrays with equal elements in different storage are not the same. Tuples and futures are
    /// never the same.
    pub fn same(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Tensor(a), Datum::Tensor(b)) => a.same_storage(b),
            (Datum::Token, Datum::Token) => true,
            _ => false,
        }
    }
}
