//! What a value of the program is, for one process.

use shardwise_base::Literal;

/// One process's part of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    Tensor(Literal),
    Token,
    Tuple(Vec<Datum>),
    /// What a started collective gives when it is done.
    Future(Vec<Datum>),
}

impl Datum {
    /// The array. Panics on another kind: the verifier has seen to it.
    pub fn tensor(&self) -> &Literal {
        match self {
            Datum::Tensor(l) => l,
            other => panic!("expected a tensor, found {other:?}"),
        }
    }

    /// A boolean scalar.
    pub fn is_true(&self) -> bool {
        self.tensor().get_i128(0) != 0
    }

    /// Whether both are the same storage, so that one evaluation serves both.
    pub fn same(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Tensor(a), Datum::Tensor(b)) => a.same_storage(b),
            (Datum::Token, Datum::Token) => true,
            _ => false,
        }
    }
}
