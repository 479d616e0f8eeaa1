//! Constructors of the reshards and steps that a partitioner inserts, each with the reason for which it is inserted.

use crate::Opcode;
use crate::shardy::ShardyCollective;
use shardwise_base::{Reason, Sharding};
use shardwise_ir::{Attrs, Builder, Value};
use std::sync::Arc;

/// Adds an `sdy.reshard` of `v` to the sharding `to`, with `reason`. Returns its result.
pub fn reshard(b: &mut Builder<'_>, v: Value, to: &Sharding, reason: &Arc<Reason>) -> Value {
    identity(b, Opcode::Reshard, v, Attrs::new(), to, reason)
}

/// Adds the op of `step` on `v`, with `reason`. Its result, which is returned, has the sharding `to`.
pub fn step(b: &mut Builder<'_>, v: Value, step: &ShardyCollective, to: &Sharding, reason: &Arc<Reason>) -> Value {
    identity(b, step.opcode(), v, step.attrs(&to.mesh), to, reason)
}

fn identity(b: &mut Builder<'_>, code: Opcode, v: Value, attrs: Attrs, to: &Sharding, reason: &Arc<Reason>) -> Value {
    let ty = b.body.ty(v).clone();
    let op = b.op(code, [v], attrs, [ty]);
    b.set_reason(op, reason.clone());
    let result = b.body[op].results[0];
    b.set_sharding(result, Some(to.clone()));
    result
}
