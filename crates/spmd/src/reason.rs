//! Why a reshard or a sum is there, in facts and in one sentence.

use shardwise_base::{Alternative, AxisRef, Mesh, Reason, ReasonCause, Sharding};
use shardwise_ir::OpView;

/// What was decided, as the pass that decides knows it.
pub(crate) struct Facts<'a> {
    pub cause: ReasonCause,
    pub consumer: &'a OpView<'a>,
    pub factor: String,
    pub won: String,
    pub lost: String,
    pub alternative: Option<Alternative>,
    pub bytes_received: u64,
    pub text: String,
}

impl Facts<'_> {
    pub fn into_reason(self) -> Reason {
        Reason {
            cause: self.cause,
            consumer: self.consumer.name().into(),
            consumer_loc: self.consumer.loc().clone(),
            factor: self.factor.into(),
            won: self.won.into(),
            lost: self.lost.into(),
            alternative: self.alternative,
            bytes_received: self.bytes_received,
            text: self.text.into(),
        }
    }
}

/// `[{"x"}, {}]`.
pub(crate) fn dims(sharding: &Sharding) -> String {
    let lists: Vec<String> = sharding.dims.iter().map(|d| axes(&sharding.mesh, &d.axes)).collect();
    format!("[{}]", lists.join(", "))
}

/// `{"x", "y"}`.
pub(crate) fn axes(mesh: &Mesh, list: &[AxisRef]) -> String {
    let names: Vec<String> = list.iter().map(|a| a.display(mesh).to_string()).collect();
    format!("{{{}}}", names.join(", "))
}

/// `stablehlo.dot_general` without its dialect: how a sentence calls an op.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, op)| op)
}

/// The sentence of a reason that holds for an edge of the program: an argument, a result, a loop's carry.
pub(crate) fn edge(consumer: &OpView<'_>, what: &str, lost: &Sharding, won: &Sharding, bytes: u64) -> Reason {
    let cause = if consumer.name().ends_with("return") { ReasonCause::Result } else { ReasonCause::Program };
    Facts {
        cause,
        consumer,
        factor: String::new(),
        won: format!("{what} {}", dims(won)),
        lost: dims(lost),
        alternative: None,
        bytes_received: bytes,
        text: format!(
            "{what} of `{}` is laid out as {}, the value is {}",
            short(consumer.name()),
            dims(won),
            dims(lost)
        ),
    }
    .into_reason()
}
