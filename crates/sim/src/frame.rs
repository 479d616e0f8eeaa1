//! The values of a function while it is simulated: when they are there, and in which memory.

use shardwise_ir::{Body, Type, Uses, Value};
use shardwise_view::{Picoseconds, SpanIndex};

/// The memory that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The main memory.
    Memory,
    /// The memory from which the units compute.
    Fast,
}

/// A value that an op can use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Held {
    /// The time from which the value can be used.
    pub(crate) ready: Picoseconds,
    /// The span that makes the value, or for the result of an op that takes no time, that of its input that is ready
    /// last. `None` if no span makes it.
    pub(crate) span: Option<SpanIndex>,
    pub(crate) place: Place,
    /// The bytes that are read with the value. They may be fewer than those of its type if its users compute it from
    /// other values.
    pub(crate) bytes: u64,
    /// The value in whose memory this value is: itself, or another one.
    pub(crate) base: Value,
}

/// The values of a function in one call.
pub(crate) struct Frame<'m> {
    pub(crate) body: &'m Body,
    pub(crate) uses: Uses,
    held: Vec<Option<Held>>,
}

impl<'m> Frame<'m> {
    pub(crate) fn new(body: &'m Body) -> Frame<'m> {
        Frame { body, uses: Uses::compute(body), held: vec![None; body.value_count()] }
    }

    pub(crate) fn own(&self, v: Value, ready: Picoseconds, span: Option<SpanIndex>, place: Place) -> Held {
        Held { ready, span, place, bytes: self.bytes(v), base: v }
    }

    pub(crate) fn set(&mut self, v: Value, held: Held) {
        self.held[v.index()] = Some(held);
    }

    /// Returns the value `v`. One that was not set can be used from the start, and has main memory of its own.
    pub(crate) fn get(&self, v: Value) -> Held {
        self.held[v.index()].unwrap_or_else(|| self.own(v, 0, None, Place::Memory))
    }

    pub(crate) fn bytes(&self, v: Value) -> u64 {
        bytes(self.body.ty(v))
    }

    pub(crate) fn ready(&self, values: &[Value]) -> (Picoseconds, Option<SpanIndex>) {
        let last = values.iter().map(|&v| self.get(v)).max_by_key(|held| held.ready);
        last.map_or((0, None), |held| (held.ready, held.span))
    }
}

pub(crate) fn bytes(ty: &Type) -> u64 {
    match ty {
        Type::Tensor(tensor) => tensor.bytes(),
        Type::Tuple(types) | Type::Future(types) => types.iter().map(bytes).sum(),
        _ => 0,
    }
}
