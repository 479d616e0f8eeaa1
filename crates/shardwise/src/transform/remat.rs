//! Functions whose values are computed again in reverse mode.

use super::traced::stand_in;
use super::{Source, Transform};
use crate::array::Array;
use crate::eager::call;
use crate::error::Result;
use crate::function::At;
use crate::tree::{self, Tree};
use crate::{Args, Callable, Function, Returns, context, explicit, hlo, trace};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use shardwise_ops::control::OptimizationBarrier;
use shardwise_ops::remat::{self, Policy};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Returns `f`, of whose values reverse mode keeps only the arguments, the captured arrays, and what the
/// [policy](Transform::policy) says. It computes the others again when it needs them, which takes time and saves
/// memory.
///
/// Results and derivatives are those of `f`. Without a derivative in reverse mode, this changes nothing. In a `scan`
/// over layers, a checkpoint of the layer keeps the carried value of each turn only. In a checkpoint of the whole loop,
/// the policy decides about the values of each turn, and those that it keeps are stacked.
///
/// Source: `jax.checkpoint`, also called `jax.remat`.
///
/// # Errors
///
/// The mistakes of the arguments, an error of `f`, and the mistakes of its results end the trace. Outside of a trace,
/// the call panics with them, and the results carry the mistakes of the run.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{CheckpointPolicy, checkpoint, grad};
/// # fn main() -> Result<()> {
/// let layer = checkpoint(|x: &Array| x.sin().tanh()).policy(CheckpointPolicy::Nothing);
/// let plain = grad(|x: &Array| x.sin().tanh().sum(..));
/// let gradient = grad(|x: &Array| layer(x).sum(..));
/// let x = array(&[0.5f32, 1.0]);
/// assert_eq!(gradient(&x).to_vec::<f32>()?, plain(&x).to_vec::<f32>()?);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn checkpoint<'f, M, F>(f: F) -> Again<'f, F::Args, <F::Out as Returns>::Tree>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: 'f,
{
    let f = Arc::new(move |args: &_| f.apply(args).finish());
    Remat { f, policy: Policy::Nothing, at: Location::caller() }.transform()
}

type Again<'f, A, R> = Transform<'f, A, R, Remat<'f, A, R>>;

/// A function whose values are computed again: what [`Transform`] keeps for `checkpoint(f).policy(..)`.
pub struct Remat<'f, A: Args, R> {
    f: Source<'f, A::Owned, R>,
    policy: Policy,
    at: At,
}

impl<A: Args, R> fmt::Debug for Remat<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remat").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl<'f, A: Args + 'f, R: Tree> Remat<'f, A, R> {
    fn transform(self) -> Transform<'f, A, R, Self> {
        let (f, policy) = (self.f.clone(), self.policy.clone());
        Transform::new("checkpoint", self.at, self, move |args, at| {
            let mut form = None;
            let given: Vec<Array> = tree::leaves(args).into_iter().cloned().collect();
            let results = composite(&given, &policy, at, |inner| {
                let out = context::outside(at, || f(&tree::with_leaves(args, inner.to_vec())))?;
                let leaves = tree::leaves(&out).into_iter().cloned().collect();
                form = Some(out);
                Ok(leaves)
            })?;
            Ok(tree::with_leaves(&form.expect("the function was traced"), results))
        })
    }
}

impl<'f, A: Args + 'f, R: Tree> Transform<'f, A, R, Remat<'f, A, R>> {
    /// Sets which values reverse mode keeps in addition to the arguments and the captured arrays. By default, these are
    /// none.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::{CheckpointPolicy, checkpoint, checkpoint_name, grad};
    /// # fn main() -> Result<()> {
    /// // Products of matrices are kept, and so is the value with the name "scores".
    /// let policy = CheckpointPolicy::Dots.or(CheckpointPolicy::names(["scores"]));
    /// let f = checkpoint(|x: &Array, w: &Array| checkpoint_name(&x.matmul(w).exp(), "scores").tanh()).policy(policy);
    /// let gradient = grad(|x: &Array, w: &Array| f(x, w).sum(..));
    /// let (x, w) = (array(&[[0.5f32, 1.0]]), array(&[[1.0f32], [2.0]]));
    /// assert_eq!(gradient(&x, &w).shape(), [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn policy(mut self, policy: Policy) -> Self {
        self.asked.policy = policy;
        self.asked.transform()
    }
}

/// Returns `x`, marked with a name for [`CheckpointPolicy::names`](Policy::names) and its like.
///
/// Source: `jax.ad_checkpoint.checkpoint_name`.
#[track_caller]
pub fn checkpoint_name(x: &Array, name: &str) -> Array {
    call("checkpoint_name", name, [x], |[x]| {
        hlo::op(Opcode::OptimizationBarrier, &[x], OptimizationBarrier::named(name), x.tensor().clone())
    })
}

/// Adds a composite op to the active trace, with which reverse mode computes the values of `f` again as `policy` says.
/// `f` is traced once, with arguments that stand for `args`. Returns the results of the op. Fails if `f` does, or if a
/// result of `f` carries a mistake or cannot be used here.
pub(crate) fn composite(
    args: &[Array],
    policy: &Policy,
    at: At,
    f: impl FnOnce(&[Array]) -> Result<Vec<Array>>,
) -> Result<Vec<Array>> {
    let loc = context::loc(at);
    trace::with(|t| t.open_func("shardwise.checkpoint", &loc));
    let out = f(&args.iter().map(|a| stand_in(a, at)).collect::<Vec<_>>())?;
    let given: Vec<&Array> = out.iter().collect();
    let values = trace::operands(&given, at).map_err(|wrong| wrong.error())?;
    let types: Vec<TensorType> = out.iter().map(|a| a.tensor().clone()).collect();
    let layouts: Vec<_> = out.iter().map(explicit::layout).collect();
    let states: Vec<_> = out.iter().map(|a| a.node().manual.clone()).collect();
    let (name, outer) = trace::with(|t| {
        let (name, outer) = t.close_func(&values, &loc);
        (name, outer.into_iter().map(|v| (t.traced(v), t.recorded(v))).collect::<Vec<_>>())
    });
    let outer: Vec<Array> = outer.into_iter().map(|(t, state)| Array::of_traced(t, at).in_state(state)).collect();
    let operands: Vec<&Array> = args.iter().chain(&outer).collect();
    let attrs = remat::composite_attrs(name, policy);
    let made = context::within(at, || hlo::op_in(Opcode::Composite, &operands, attrs, vec![], &types, &states));
    Ok(explicit::lay(&made, &layouts))
}
