//! Functions with derivatives of their own.
//!
//! A call becomes a composite ([`shardwise_ops::custom`]), which names the functions of its rule, traced for the types
//! of the call. So the rule is a part of the program, and transforms find it wherever the program goes.

use super::derivative::{tangents_of, with_smooth};
use super::traced::{stand_in, typed};
use super::{Source, Transform, is_smooth};
use crate::ambient::scoped;
use crate::array::Array;
use crate::error::Mistakes;
use crate::function::At;
use crate::manual::ManualType;
use crate::trace::Traced;
use crate::tree::{self, Form, Tree};
use crate::{Args, Callable, Function, Result, Returns, context, explicit, hlo, trace};
use shardwise_base::Sharding;
use shardwise_ir::{Func, TensorType};
use shardwise_ops::Opcode;
use shardwise_ops::custom::RuleNames;
use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A function that gets a rule for forward mode: `custom_jvp(f).defjvp(rule)`.
#[must_use = "add the rule with `.defjvp(..)`"]
pub struct CustomJvp<'f, A: Args, R> {
    f: Source<'f, A::Owned, R>,
    at: At,
}

impl<A: Args, R> fmt::Debug for CustomJvp<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomJvp")
    }
}

/// A function that gets a rule for reverse mode: `custom_vjp(f).defvjp(fwd, bwd)`.
#[must_use = "add the rule with `.defvjp(..)`"]
pub struct CustomVjp<'f, A: Args, R> {
    f: Source<'f, A::Owned, R>,
    at: At,
}

impl<A: Args, R> fmt::Debug for CustomVjp<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomVjp")
    }
}

/// Wraps `f` for a derivative of its own in forward mode, from which reverse mode follows:
/// [`defjvp`](CustomJvp::defjvp) takes the rule.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{custom_jvp, grad};
/// # fn main() -> Result<()> {
/// // log(1 + exp x), whose derivative has no overflow.
/// let softplus = custom_jvp(|x: &Array| (x.exp() + 1.0).ln()).defjvp(|x, dx| {
///     ((x.exp() + 1.0).ln(), dx * (1.0 - 1.0 / (x.exp() + 1.0)))
/// });
/// assert_eq!(grad(&softplus)(&scalar(1000.0, F32)).item::<f32>()?, 1.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn custom_jvp<'f, M, F>(f: F) -> CustomJvp<'f, F::Args, <F::Out as Returns>::Tree>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: 'f,
{
    CustomJvp { f: Arc::new(move |args| f.apply(args).finish()), at: Location::caller() }
}

/// Wraps `f` for a derivative of its own in reverse mode: [`defvjp`](CustomVjp::defvjp) takes the rule. Forward mode
/// alone, as in [`jvp`](super::jvp), is then an error.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{custom_vjp, grad};
/// # fn main() -> Result<()> {
/// // The identity, whose gradient is clipped.
/// let clipped = custom_vjp(|x: &Array| x.clone()).defvjp(|x| (x.clone(), ()), |_, ct| ct.clamp(-1.0, 1.0));
/// let gradient = grad(|x: &Array| (clipped(x) * array(&[0.5f32, 30.0])).sum(..));
/// assert_eq!(gradient(&array(&[1.0f32, 1.0])).to_vec::<f32>()?, [0.5, 1.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn custom_vjp<'f, M, F>(f: F) -> CustomVjp<'f, F::Args, <F::Out as Returns>::Tree>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: 'f,
{
    CustomVjp { f: Arc::new(move |args| f.apply(args).finish()), at: Location::caller() }
}

impl<'f, A: Args + 'f, R: Tree> CustomJvp<'f, A, R> {
    /// Returns the function with this rule. `rule` takes the arguments of a call and their tangents, and returns the
    /// results and their tangents. Several arguments are a tuple, `|(x, y), (dx, dy)| ..`. The tangents of integers and
    /// bools are [`float0`](super::float0) arrays.
    ///
    /// The function and its rule may capture arrays, which count as constants. A call may trace both more than once.
    ///
    /// # Errors
    ///
    /// A call reports these mistakes, which end the trace. Outside of a trace, the call panics with them, and the
    /// results carry the mistakes of the run.
    ///
    /// - `transform-types` for each result or tangent of the rule with another shape or dtype than the result of the
    ///   function, and `tree-form` if the trees have different forms.
    /// - All mistakes of the function and of the rule.
    ///
    /// Differentiating the call reports `custom-captured` if a captured array depends on what is differentiated.
    pub fn defjvp(self, rule: impl Fn(&A::Owned, &A::Owned) -> (R, R) + Send + Sync + 'f) -> Transform<'f, A, R> {
        let at = self.at;
        let rule: Box<JvpRule<'f, A::Owned, R>> = Box::new(rule);
        let own = Arc::new(Own { f: self.f, rule: OwnRule::Jvp(rule) });
        Transform::new("custom_jvp", at, (), move |args, at| own.call(args, at))
    }
}

impl<'f, A: Args + 'f, R: Tree> CustomVjp<'f, A, R> {
    /// Returns the function with this rule. `fwd` takes the arguments of a call, several as a tuple, and returns the
    /// results and a tree of residuals. `bwd` takes the residuals and the cotangents of the results, and returns the
    /// cotangents of the arguments. The cotangents of integers and bools are [`float0`](super::float0) arrays.
    ///
    /// The function and its rule may capture arrays, which count as constants. A call may trace both more than once.
    ///
    /// # Errors
    ///
    /// A call reports these mistakes, which end the trace. Outside of a trace, the call panics with them, and the
    /// results carry the mistakes of the run.
    ///
    /// - `transform-types` for each result of `fwd` and each cotangent of `bwd` with another shape or dtype than what
    ///   it belongs to, and `tree-form` if the trees have different forms.
    /// - All mistakes of the function and of the rule.
    ///
    /// Differentiating the call reports `custom-captured` if a captured array depends on what is differentiated, and
    /// `custom-vjp-forward` in forward mode.
    pub fn defvjp<S: Tree>(
        self,
        fwd: impl Fn(&A::Owned) -> (R, S) + Send + Sync + 'f,
        bwd: impl Fn(&S, &R) -> A::Owned + Send + Sync + 'f,
    ) -> Transform<'f, A, R> {
        let at = self.at;
        let bwd: Box<Bwd<'f, A::Owned, R, S>> = Box::new(bwd);
        let rule: Box<VjpRule<'f, A::Owned, R>> = Box::new(move |trace| trace.vjp(&fwd, &*bwd));
        let own = Arc::new(Own { f: self.f, rule: OwnRule::Vjp(rule) });
        Transform::new("custom_vjp", at, (), move |args, at| own.call(args, at))
    }
}

type JvpRule<'f, T, R> = dyn Fn(&T, &T) -> (R, R) + Send + Sync + 'f;
type Bwd<'f, T, R, S> = dyn Fn(&S, &R) -> T + Send + Sync + 'f;
type VjpRule<'f, T, R> = dyn Fn(&mut Tracing<'_, T, R>) -> Result<[Func; 2]> + Send + Sync + 'f;

struct Own<'f, T, R> {
    f: Source<'f, T, R>,
    rule: OwnRule<'f, T, R>,
}

enum OwnRule<'f, T, R> {
    Jvp(Box<JvpRule<'f, T, R>>),
    Vjp(Box<VjpRule<'f, T, R>>),
}

/// A call whose rule is being traced. A rule may call its own function. With arguments of the same form, types, layouts
/// and states along manual axes, such a call is this one again.
#[derive(Clone)]
struct Started {
    function: usize,
    trace: u64,
    form: Form,
    types: Vec<(TensorType, Option<Sharding>, Option<ManualType>)>,
    call: Call,
    /// The function's results, of which only the form and the types count.
    out: Arc<dyn Any + Send + Sync>,
}

/// How a function with its rule is called: the names of the functions, and the captured arrays.
#[derive(Clone)]
struct Call {
    func: Arc<str>,
    rule: RuleNames,
    captured: Vec<Array>,
}

scoped! {
    /// The calls whose rules are being traced, outermost first.
    static STARTED: Vec<Started> = vec![];
}

impl<T: Tree, R: Tree> Own<'_, T, R> {
    fn call(self: &Arc<Self>, args: &T, at: At) -> Result<R> {
        let leaf = |a: &&Array| (a.tensor().clone(), explicit::layout(a), a.node().manual.clone());
        let types: Vec<_> = tree::leaves(args).iter().map(leaf).collect();
        let key = (Arc::as_ptr(self).addr(), trace::with(|t| t.id()), tree::form(args));
        let started = STARTED.read(|all| {
            let is_it = |s: &&Started| (s.function, s.trace, &s.form, &s.types) == (key.0, key.1, &key.2, &types);
            all.iter().rev().find(is_it).cloned()
        });
        if let Some(started) = started {
            let out = started.out.downcast_ref::<R>().expect("the same function returns the same type");
            return Ok(started.call.build(args, out, at));
        }
        let number = trace::with(|t| t.next_custom());
        let name = |part: &str| -> Arc<str> { format!("shardwise.custom{number}{part}").into() };
        let rule = match &self.rule {
            OwnRule::Jvp(_) => RuleNames::Jvp(name("_jvp")),
            OwnRule::Vjp(_) => RuleNames::Vjp { fwd: name("_fwd"), bwd: name("_bwd") },
        };
        let mut call = Call { func: name(""), rule, captured: vec![] };
        let mut keys: Vec<Traced> = vec![];
        // All functions have the same captured arrays as arguments. The functions are traced again until a round finds
        // no new captured array.
        loop {
            let before = keys.len();
            let mut tracing = Tracing { args, out: None, call: call.clone(), keys: keys.clone(), at };
            let (func, out) = tracing.function(&call.func, |trace| {
                let inner = trace.inner(args);
                let out = context::outside(at, || (self.f)(&inner))?;
                let like = out.rebuild(&mut |a| Array::type_in(typed(a), a.node().manual.clone(), at));
                Ok((tree::leaves(&out).into_iter().cloned().collect(), like))
            })?;
            tracing.out = Some(out.rebuild_clone());
            let this = Started {
                function: key.0,
                trace: key.1,
                form: key.2.clone(),
                types: types.clone(),
                call: tracing.call.clone(),
                out: Arc::new(out.rebuild_clone()),
            };
            let all = STARTED.get().into_iter().chain([this]).collect();
            let rule = STARTED.with(all, || match &self.rule {
                OwnRule::Jvp(rule) => tracing.jvp(&**rule).map(|f| vec![f]),
                OwnRule::Vjp(rule) => rule(&mut tracing).map(|fs| fs.to_vec()),
            })?;
            (call, keys) = (tracing.call, tracing.keys);
            if keys.len() == before {
                trace::with(|t| t.module.funcs.extend([func].into_iter().chain(rule)));
                return Ok(call.build(args, &out, at));
            }
        }
    }
}

impl Call {
    fn build<T: Tree, R: Tree>(&self, args: &T, out: &R, at: At) -> R {
        let own = tree::leaves(args);
        let attrs = self.rule.attrs(self.func.clone(), own.len());
        let operands: Vec<&Array> = own.into_iter().chain(&self.captured).collect();
        let leaves = tree::leaves(out);
        let types: Vec<TensorType> = leaves.iter().map(|a| a.tensor().clone()).collect();
        let made = context::within(at, || hlo::op_with(Opcode::Composite, &operands, attrs, vec![], &types));
        let layouts: Vec<_> = leaves.iter().map(|a| a.sharded().sharding.clone()).collect();
        let made = if explicit::is_typing() { explicit::lay(&made, &layouts) } else { made };
        let made = made.iter().zip(leaves).map(|(a, like)| a.made_in(like.node().manual.clone()));
        tree::with_leaves(out, made.collect::<Vec<_>>())
    }
}

/// The state of tracing the functions of one call.
struct Tracing<'a, T, R> {
    args: &'a T,
    /// The results of the function, once they are known.
    out: Option<R>,
    call: Call,
    /// The captured arrays, as values of the functions around the call.
    keys: Vec<Traced>,
    at: At,
}

impl<T: Tree, R: Tree> Tracing<'_, T, R> {
    /// Traces a function of this name. `f` first adds its arguments by the methods of [`Inputs`], of which the last one
    /// also makes the arrays captured so far arguments, and returns its results. Fails with the mistakes of `f` and of
    /// its results.
    fn function<O>(
        &mut self,
        name: &Arc<str>,
        f: impl FnOnce(&mut Inputs<'_>) -> Result<(Vec<Array>, O)>,
    ) -> Result<(Func, O)> {
        let (at, loc) = (self.at, context::loc(self.at));
        trace::with(|t| t.open_func(name, &loc));
        let mut args = Inputs { captured: &self.call.captured, at };
        let (leaves, out) = f(&mut args)?;
        let values =
            trace::operands(&leaves.iter().collect::<Vec<_>>(), at).map_err(|wrong: Mistakes| wrong.error())?;
        let (func, outer) = trace::with(|t| t.take_func_with(&values, &loc));
        for key in outer.into_iter().skip(self.keys.len()) {
            self.keys.push(key);
            self.call.captured.push(Array::of_traced(key, at));
        }
        Ok((func, out))
    }

    fn out(&self) -> &R {
        self.out.as_ref().expect("the function is traced first")
    }

    fn jvp(&mut self, rule: &JvpRule<'_, T, R>) -> Result<Func> {
        let (primals, expected, at) = (self.args, self.out().rebuild_clone(), self.at);
        let RuleNames::Jvp(name) = self.call.rule.clone() else { unreachable!("the rule is one for forward mode") };
        let traced = self.function(&name, |trace| {
            let [inner, tangents] = trace.inner_pair(primals, primals);
            let (out, tangents) = context::outside(at, || rule(&inner, &tangents));
            let own: Vec<Array> = results_of("custom_jvp", "result of the rule", &expected, &out, at)?;
            let tangents = tangents_of("custom_jvp", "tangent", "tangent", &expected, &tangents, at)?;
            Ok((own.into_iter().chain(tangents.into_iter().cloned()).collect(), ()))
        });
        Ok(traced?.0)
    }

    fn vjp<S: Tree>(&mut self, fwd: &dyn Fn(&T) -> (R, S), bwd: &Bwd<'_, T, R, S>) -> Result<[Func; 2]> {
        let (primals, expected, at) = (self.args, self.out().rebuild_clone(), self.at);
        let RuleNames::Vjp { fwd: fwd_name, bwd: bwd_name } = self.call.rule.clone() else {
            unreachable!("the rule is one for reverse mode")
        };
        let (fwd_func, residuals) = self.function(&fwd_name, |trace| {
            let inner = trace.inner(primals);
            let (out, residuals) = context::outside(at, || fwd(&inner));
            let mut all = results_of("custom_vjp", "result of `fwd`", &expected, &out, at)?;
            all.extend(tree::leaves(&residuals).into_iter().cloned());
            Ok((all, residuals.rebuild(&mut |a| Array::type_in(typed(a), a.node().manual.clone(), at))))
        })?;
        let (bwd_func, ()) = self.function(&bwd_name, |trace| {
            let residuals = trace.inner_first(&residuals);
            let cotangents = trace.inner_smooth(&expected);
            let given = context::outside(at, || bwd(&residuals, &cotangents));
            let given = tangents_of("custom_vjp", "cotangent", "cotangent of arg", primals, &given, at)?;
            Ok((given.into_iter().cloned().collect(), ()))
        })?;
        Ok([fwd_func, bwd_func])
    }
}

/// Returns the leaves of `given`, which must have the types of those of `expected`.
///
/// Errors: `tree-form`, `transform-types`.
fn results_of<R: Tree>(name: &str, what: &str, expected: &R, given: &R, at: At) -> Result<Vec<Array>> {
    let Some(pairs) = tree::pairs(expected, given) else {
        let message = format!("the {what} does not have the form of the function's");
        return Err(crate::Error::one(crate::mistakes::form(name, &message, &context::loc(at))));
    };
    let pairs: Vec<_> = pairs.into_iter().map(|(path, a, b)| (format!("result{path}"), a, b)).collect();
    super::same_types(name, what, &pairs, at)?;
    Ok(tree::leaves(given).into_iter().cloned().collect())
}

/// Adds the arguments of a function that is being traced.
struct Inputs<'a> {
    captured: &'a [Array],
    at: At,
}

impl Inputs<'_> {
    /// Adds arguments like the leaves of a tree, then the captured arrays.
    fn inner<T: Tree>(&mut self, tree: &T) -> T {
        let inner = self.inner_first(tree);
        self.capture();
        inner
    }

    /// Adds arguments like the leaves of `tree`, and then those that [`Inputs::inner_smooth`] adds for `tangents`.
    fn inner_pair<T: Tree>(&mut self, tree: &T, tangents: &T) -> [T; 2] {
        let inner = self.inner_first(tree);
        [inner, self.inner_smooth(tangents)]
    }

    fn inner_first<T: Tree>(&mut self, tree: &T) -> T {
        tree.rebuild(&mut |a| stand_in(a, self.at))
    }

    /// Adds a tangent or cotangent for each leaf that is a float or a complex number, then the captured arrays. Returns
    /// the tree of these tangents or cotangents, with `float0` arrays for the other leaves.
    fn inner_smooth<T: Tree>(&mut self, tree: &T) -> T {
        let smooth: Vec<&Array> = tree::leaves(tree).into_iter().filter(|a| is_smooth(a)).collect();
        let made: Vec<Array> = smooth.into_iter().map(|a| stand_in(a, self.at)).collect();
        self.capture();
        with_smooth(tree, &made, self.at)
    }

    fn capture(&self) {
        let loc = context::loc(self.at);
        for a in self.captured {
            trace::with(|t| t.operand(a, &loc)).expect("it was captured before");
        }
    }
}
