//! Transforms of functions: gradients and other derivatives, and batches.
//!
//! ```
//! # use shardwise::prelude::*;
//! # use shardwise::{grad, vmap};
//! # fn main() -> Result<()> {
//! let cube = grad(|x: &Array| x * x * x);
//! assert_eq!(cube(&scalar(2.0, F32)).to_vec::<f32>()?, [12.0]);
//! let of_each = vmap(&cube);
//! assert_eq!(of_each(&array(&[1.0f32, 2.0, 3.0])).to_vec::<f32>()?, [3.0, 12.0, 27.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A transform traces its function as a function of its own, whose captured arrays become arguments that are constant
//! for the transform. The transformed function ([`shardwise_transform`]) is copied into the program, op by op, so that
//! Explicit mode types its ops as those of any other function, and transforms compose in any order.

mod arguments;
mod batch;
mod custom;
mod derivative;
mod jacobian;
pub(crate) mod remat;
mod residuals;
mod traced;

pub use arguments::{Nth, Positions};
pub use batch::{AxesFor, Batch, BatchAxes, vmap};
pub use custom::{CustomJvp, CustomVjp, custom_jvp, custom_vjp};
pub use derivative::{
    Derivative, DerivativeKind, Grad, HasAux, Linearized, Loss, Pullback, Reverse, ValueAndGrad, WithAux, float0, grad,
    jvp, jvp_with_aux, linearize, linearize_with_aux, value_and_grad, vjp, vjp_with_aux,
};
pub use jacobian::{Hessian, Jacfwd, Jacrev, hessian, jacfwd, jacrev};
pub use remat::{Remat, checkpoint, checkpoint_name};
pub use residuals::{Residual, saved_residuals};
pub use shardwise_ops::remat::Policy as CheckpointPolicy;

use crate::array::Array;
use crate::error::Mistakes;
use crate::function::{At, Callee, Wrapped};
use crate::tree::{self, Tree};
use crate::{Args, Callable, Error, Function, Result, Returns, context, control, mistakes, trace};
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use traced::join_meshes;

/// A function that a transform returned. It is called like any function: `grad(f)(&x)`.
///
/// A call that has no result, because of a mistake, ends the active trace. Outside of a trace, it panics with the
/// mistakes.
///
/// `B` holds the options of the transform, or is `()` if it has none. Methods change the options:
/// `grad(f).argnums(..)`.
///
/// # Mistakes that rustc finds
///
/// An argument that the function does not have:
///
/// ```compile_fail
/// # use shardwise::prelude::*;
/// # use shardwise::{Nth, grad};
/// let gradient = grad(|x: &Array| x.sum(..)).argnums(Nth::<1>);
/// ```
///
/// A parameter that is used after it was donated, that is, passed by value:
///
/// ```compile_fail,E0382
/// # use shardwise::prelude::*;
/// # use shardwise::grad;
/// let step = jit(|w: Array| &w - grad(|w: &Array| w.square().sum(..))(&w));
/// let w = ones([4], F32);
/// let new = step(w);
/// println!("{w}");
/// ```
#[must_use = "a function does nothing until it is called"]
pub struct Transform<'f, A: Args, R: 'static, B = ()> {
    shared: Arc<Shared<'f, A::Owned, R>>,
    call: Box<A::Dyn<'f, R>>,
    asked: B,
}

type Apply<'f, T, R> = Box<dyn Fn(&T, At) -> Result<R> + Send + Sync + 'f>;

/// A function that takes its owned arguments: one as itself, and several as a tuple.
type Source<'f, T, R> = Arc<dyn Fn(&T) -> Result<R> + Send + Sync + 'f>;

struct Shared<'f, T, R> {
    /// Builds the results in the active trace.
    apply: Apply<'f, T, R>,
    name: &'static str,
    at: At,
}

impl<'f, A: Args, R: Tree, B> Transform<'f, A, R, B> {
    fn new(
        name: &'static str,
        at: At,
        asked: B,
        apply: impl Fn(&A::Owned, At) -> Result<R> + Send + Sync + 'f,
    ) -> Self {
        let shared = Arc::new(Shared { apply: Box::new(apply), name, at });
        let callee = shared.clone();
        let call = A::bind(Callee::of(&shared), move |args, called| match args {
            Ok(args) => callee.call(&args, called.or(callee.at)),
            Err(e) => R::deliver(Err(e)),
        });
        Transform { shared, call, asked }
    }
}

impl<T: Tree, R: Tree> Shared<'_, T, R> {
    /// Calls the function as [`once`] does. If arguments carry mistakes, does not call it, and ends the trace with
    /// them, or panics outside of a trace.
    fn call(&self, args: &T, at: At) -> R {
        if let Some(wrong) = Mistakes::join(tree::leaves(args).iter().filter_map(|a| a.mistakes())) {
            return R::deliver(Err(wrong.error()));
        }
        once(self.name, at, || {
            join_meshes(args);
            (self.apply)(args, at)
        })
    }
}

impl<'f, A: Args, R: 'static, B> Deref for Transform<'f, A, R, B> {
    type Target = A::Dyn<'f, R>;
    #[track_caller]
    fn deref(&self) -> &Self::Target {
        Callee::of(&self.shared).begin(Location::caller());
        &self.call
    }
}

impl<A: Args, R: Tree, B> Callable<Wrapped<A, R>> for Transform<'_, A, R, B> {}
impl<A: Args, R: Tree, B> Function<Wrapped<A, R>> for Transform<'_, A, R, B> {
    type Args = A;
    type Out = R;
    fn apply(&self, args: &A::Owned) -> R {
        self.shared.call(args, self.shared.at)
    }
    fn name(&self) -> &'static str {
        self.shared.name
    }
}
impl<A: Args, R: Tree, B> Callable<Wrapped<A, R>> for &Transform<'_, A, R, B> {}
impl<A: Args, R: Tree, B> Function<Wrapped<A, R>> for &Transform<'_, A, R, B> {
    type Args = A;
    type Out = R;
    fn apply(&self, args: &A::Owned) -> R {
        (**self).apply(args)
    }
    fn name(&self) -> &'static str {
        (**self).name()
    }
}

impl<A: Args, R: 'static, B> fmt::Debug for Transform<'_, A, R, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shared.name)
    }
}

/// Runs `f` in the active trace, or as a program of its own. If `f` fails, ends the trace with its mistakes, or panics
/// with them outside of a trace. If `f` returns a result, and its own program is wrong or its run fails, the arrays of
/// the result carry the mistakes. If the result has no arrays, panics with them.
fn once<R: Tree>(name: &'static str, at: At, f: impl FnOnce() -> Result<R>) -> R {
    R::deliver(attempt(name, at, f))
}

/// Runs `f` in the active trace, or as a program of its own. Fails with the mistakes that leave no result.
fn attempt<R: Tree>(name: &'static str, at: At, f: impl FnOnce() -> Result<R>) -> Result<R> {
    if trace::is_tracing() {
        return trace::or_rewind(|| context::within(at, f));
    }
    control::as_program(name, at, f)
}

/// Returns the value of `out`. If it is an error, ends the active trace with it, and panics outside of a trace.
fn or_end<T>(out: Result<T>) -> T {
    out.unwrap_or_else(|e| {
        <() as Returns>::deliver(Err(e));
        unreachable!("an error has no tree")
    })
}

/// Returns true if arrays of the type of `a` have tangents.
fn is_smooth(a: &Array) -> bool {
    shardwise_ops::derivative::has_tangent(a.tensor().dtype)
}

/// Checks that each tangent, cotangent or result of a rule, which `what` names, has the shape and the dtype of what it
/// belongs to. Fails otherwise. Layouts are not compared.
fn same_types(name: &str, what: &str, pairs: &[(String, &Array, &Array)], at: At) -> Result<()> {
    let wrong = pairs.iter().filter(|(_, own, given)| own.tensor() != given.tensor());
    let wrong: Vec<[String; 3]> =
        wrong.map(|(path, own, given)| [path.clone(), given.short_type(), own.short_type()]).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Error::one(mistakes::transform_types(name, what, &wrong, &context::loc(at)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::runtime;

    fn loss(x: &Array) -> Array {
        (x.sin() * x).sum(..)
    }

    fn both(x: &Array) -> (Array, Array) {
        (x.cos() * x, x.max(..))
    }

    fn by_scan(x: &Array) -> Array {
        scan(x.clone(), x.clone(), |c: Array, r: Array| (c * r.tanh(), ())).0.sum(..)
    }

    fn compiled(f: &dyn Fn(&Array), x: &Array) -> usize {
        let before = runtime::PLANNED.get();
        f(x);
        runtime::PLANNED.get() - before
    }

    type Call = fn(&Array);

    fn read(x: &Array) {
        x.to_vec::<f32>().unwrap();
    }

    /// The names of calls, the number of programs that the first call compiles, and the calls. The test makes them with
    /// arrays of sizes that no other test uses.
    const CALLS: [(&str, usize, Call); 14] = [
        ("grad", 1, |x| read(&grad(loss)(x))),
        ("value_and_grad", 1, |x| read(&value_and_grad(loss)(x).1)),
        ("grad, has_aux", 1, |x| read(&grad(|x: &Array| (loss(x), x + 1.0)).has_aux()(x).0)),
        ("grad(grad)", 1, |x| read(&grad(|x: &Array| loss(&grad(loss)(x)))(x))),
        ("grad of a loop", 1, |x| read(&grad(by_scan)(x))),
        ("grad of a checkpoint", 1, |x| read(&grad(checkpoint(|x: &Array| loss(&x.exp())))(x))),
        ("jvp", 1, |x| read(&jvp(both, x, x).1.0)),
        ("vjp and a pullback", 2, |x| read(&vjp(|x: &Array| x.cos() * x, x).1(x))),
        ("linearize and a tangent", 2, |x| read(&linearize(|x: &Array| x.cos() * x, x).1(x))),
        ("jacfwd", 1, |x| read(&jacfwd(both)(x).0)),
        ("jacrev", 1, |x| read(&jacrev(both)(x).1)),
        ("hessian", 1, |x| read(&hessian(loss)(x))),
        ("vmap", 1, |x| read(&vmap(|x: &Array| x.sin() * x + 1.0)(x))),
        ("vmap(grad)", 1, |x| read(&vmap(grad(|x: &Array| x.sin() * x.exp()))(x))),
    ];

    #[test]
    fn calls_with_equal_types_are_compiled_once() {
        let [first, second, third, other] = [17.0, 18.0, 19.0, 20.0].map(|start| {
            let size = if start == 20.0 { 23 } else { 19 };
            (arange(0..size, F32) + start) * 0.125
        });
        for (name, count, call) in CALLS {
            let counts = [&first, &second, &third, &other, &other].map(|x| compiled(&call, x));
            assert_eq!(counts, [count, 0, 0, count, 0], "{name}");
        }
        // A constant of the function belongs to the program, and a captured array does not.
        let scaled = |factor: f64, x: &Array| compiled(&|x| read(&grad(|x: &Array| (x * factor).cos().sum(..))(x)), x);
        assert_eq!([scaled(0.75, &first), scaled(0.625, &first), scaled(0.75, &second)], [1, 1, 0]);
        let captured = |w: &Array, x: &Array| compiled(&|x| read(&grad(|x: &Array| (x * w).tan().sum(..))(x)), x);
        assert_eq!([captured(&second, &first), captured(&third, &first), captured(&first, &third)], [1, 0, 0]);
    }
}
