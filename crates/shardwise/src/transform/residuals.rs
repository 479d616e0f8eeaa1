//! The values that reverse mode keeps of a function.

use super::traced::Traced;
use super::{attempt, is_smooth, or_end};
use crate::{Args, ArrayType, Callable, Function, tree};
use shardwise_engine::ShardedType;
use shardwise_ir::ValueDef;
use std::fmt;
use std::panic::Location;

/// A value that reverse mode keeps of a function until it needs it.
#[derive(Clone, PartialEq, Debug)]
pub struct Residual {
    /// The type. A value of each turn of a loop is stacked along a new first dimension.
    pub ty: ArrayType,
    /// The origin of the value: `from the argument arg.0`, `from a captured array` or `output of stablehlo.tanh at
    /// src/main.rs:10:20`.
    pub source: String,
}

impl fmt::Display for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.source)
    }
}

/// Returns the type and the origin of each value of `f` at `primals` that reverse mode keeps until it needs it. `f` is
/// traced and does not run, so the arguments need no values. [`checkpoint`](super::checkpoint) changes what is kept.
///
/// Constants are left out, because they are made again.
///
/// Source: `jax.ad_checkpoint.print_saved_residuals`.
///
/// # Errors
///
/// Those of [`vjp`](super::vjp).
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{checkpoint, saved_residuals};
/// let x = array(&[0.5f32, 1.0]);
/// assert_eq!(saved_residuals(|x: &Array| x.sin().sin(), &x).len(), 2);
/// let kept = saved_residuals(checkpoint(|x: &Array| x.sin().sin()), &x);
/// assert_eq!(kept[0].to_string(), "f32[2] from the argument arg");
/// assert_eq!(kept.len(), 1);
/// ```
#[track_caller]
pub fn saved_residuals<M, F>(f: F, primals: <F::Args as Args>::Tuple<'_>) -> Vec<Residual>
where
    F: Callable<M> + Function<M> + Send + Sync,
{
    let at = Location::caller();
    let primals = F::Args::own(primals);
    let mut found = vec![];
    let traced = attempt("saved_residuals", at, || {
        let traced = Traced::of(|args| f.apply(args), &primals, at)?;
        let leaves = tree::paths(&primals);
        let wrt: Vec<usize> = (0..leaves.len()).filter(|&i| is_smooth(leaves[i].1)).collect();
        let count = traced.func.result_types.len();
        let derived = traced.transformed(|m, f| shardwise_transform::vjp(m, f, &wrt))?;
        let own = traced.func.body.args().len();
        let kept = traced.with_module(|m| shardwise_transform::residuals(m, &derived, own, count));
        for v in kept {
            let data = derived.body.value(v);
            let source = match data.def {
                ValueDef::Argument { index, .. } => match leaves.get(index as usize) {
                    Some((path, _)) => format!("from the argument arg{path}"),
                    None => "from a captured array".into(),
                },
                ValueDef::Result { op, .. } => traced.with_module(|m| {
                    let op = m.view(&derived.body, op);
                    format!("output of {} at {}", op.name(), op.loc())
                }),
            };
            let ty = data.ty.as_tensor().expect("traced values are tensors").clone();
            let ty = ArrayType::of(&ShardedType { ty, sharding: data.sharding.clone() });
            found.push(Residual { ty, source });
        }
        Ok(())
    });
    or_end(traced);
    found
}
