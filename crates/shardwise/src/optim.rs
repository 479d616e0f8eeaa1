//! Optimizers as pure functions of gradients, state and parameters.
//!
//! ```
//! use shardwise::optim::{adamw, chain, clip_by_global_norm, warmup_cosine};
//! use shardwise::prelude::*;
//!
//! # fn main() -> Result<()> {
//! let schedule = warmup_cosine(3e-4, 3e-5, 100, 10_000);
//! let optimizer = chain((clip_by_global_norm(1.0), adamw(schedule).b2(0.95).weight_decay(0.1)));
//!
//! let params = vec![ones([8, 4], F32), zeros([4], F32)];
//! let state = optimizer.init(&params);
//! let step = jit(|params: Vec<Array>, state: optim::State<Vec<Array>>, grads: &Vec<Array>| {
//!     optimizer.update(grads, state, &params)
//! });
//! let grads = tree::map(&params, |p| p + 1.0);
//! let (params, state) = step(params, state, &grads)?;
//! assert_eq!(state.steps().unwrap().item::<i32>()?, 1);
//! # let _ = params;
//! # Ok(())
//! # }
//! ```
//!
//! Names, defaults and numbers are optax's. An optimizer is a transformation of gradients, and [`chain`] runs several
//! transformations one after the other. The [`State`] has one type for all optimizers, so that it is easy to store.
//!
//! **Layouts.** Each array of the state has the layout of its parameter, or is split over one more axis
//! ([`Optimizer::states_over`]). One that lacks a dimension of its parameter ([`adafactor`]) has the layout of the
//! other dimensions. An update keeps the layouts of the parameters and of the state where they are known: outside of
//! traces, in Explicit mode, and in Auto mode for arguments of the traced function. In Auto mode, state the layouts of
//! a traced function's results: [`specs`] makes those of the state.
//!
//! **Other leaves.** Parameters that are not floats, such as integers and complex numbers, or that have no elements,
//! are not updated. Their gradients may be any arrays, also `float0`.

mod adafactor;
mod adam;
mod chain;
mod clip;
mod decay;
mod multi_steps;
mod rms;
mod schedule;
mod settings;
mod sgd;
mod state;

pub use adafactor::{Adafactor, adafactor};
pub use adam::{Adam, Lion, adam, adamw, lamb, lion};
pub use chain::{Chain, Transforms, chain};
pub use clip::{Clip, ClipByGlobalNorm, clip, clip_by_global_norm, global_norm};
pub use decay::{AddDecayedWeights, Scale, add_decayed_weights, scale};
pub use multi_steps::MultiSteps;
pub use rms::{Adagrad, RmsProp, adagrad, rmsprop};
pub use schedule::{Schedule, constant, cosine, linear, warmup_cosine};
pub use sgd::{Sgd, sgd};
pub use state::{Part, Parts, State, StateSpecs, specs};

use crate::array::Array;
use crate::error::Mistakes;
use crate::tree::{self, Path, Tree, form, with_leaves};
use crate::{DType, P, context, mistakes, trace, zeros};
use shardwise_base::{Diagnostic, Loc};
use shardwise_engine::ShardedType;
use state::{Like, split_further};
use std::panic::Location;
use std::sync::Arc;

/// The parameters that are updated, with their paths.
#[doc(hidden)]
#[derive(Debug)]
pub struct Params {
    /// The parameters with their paths. During an update, each has the layout of its array of the same shape in the
    /// state, if there is one and its layout is known.
    pub(crate) leaves: Vec<(Path, Array)>,
    /// The axis over which arrays of the state are split in addition to their parameters' layouts. It is `None` if
    /// there is no such axis, and during an update.
    pub(crate) states_over: Option<String>,
}

impl Params {
    fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.leaves.iter().map(|(_, x)| x)
    }
}

/// An optimizer, or another transformation of gradients.
///
/// The hidden methods work on lists of arrays. They are called by [`init`](Optimizer::init) and
/// [`update`](Optimizer::update), which check the trees, leave out what is not updated, and keep layouts.
pub trait Optimizer: Send + Sync {
    /// Returns the names of the transformation's parts of the state.
    #[doc(hidden)]
    fn part_names(&self) -> Vec<&'static str>;

    #[doc(hidden)]
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>>;

    /// Transforms the updates, which are gradients at first, and replaces the transformation's parts of the state.
    #[doc(hidden)]
    fn transform(&self, updates: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array>;

    /// Returns the first setting that is found out of range: its name, its value, and what is expected. Returns `None`
    /// if there is none. Not all settings are checked.
    #[doc(hidden)]
    fn wrong_setting(&self) -> Option<[String; 3]> {
        None
    }

    #[doc(hidden)]
    fn axis_of_states(&self) -> Option<String> {
        None
    }

    /// Returns the state before the first step. Its arrays have the layouts of their parameters, split over one more
    /// axis if [`states_over`](Optimizer::states_over) names one. Within a `jit` in Auto mode, arrays with the shape of
    /// their parameter that are not split in this way have no layout of their own: the compiler chooses it.
    ///
    /// # Errors
    ///
    /// `optimizer-setting` if a setting is out of range, `spec-unknown-axis` if the mesh does not have the axis of
    /// [`states_over`](Optimizer::states_over), the mistakes of parameters whose types are not known, and those of
    /// [`zeros_like`](crate::zeros_like), such as `number-dtype` for floats that can only be stored. The arrays of the
    /// state carry them.
    #[track_caller]
    fn init<P: Tree>(&self, params: &P) -> State<P>
    where
        Self: Sized,
    {
        let at = context::caller(Location::caller());
        context::within(at, || init(self, params, at))
    }

    /// Returns the parameters and the state after a step with these gradients.
    ///
    /// # Errors
    ///
    /// The new parameters carry them. If a setting or a form is wrong, the state is returned unchanged.
    ///
    /// - `gradient-type` if the gradient of a parameter that is updated does not have its shape and dtype.
    /// - `tree-form` if the gradients or the state do not have the form of the parameters, or the state is that of
    ///   another optimizer.
    /// - `optimizer-setting` if a setting is out of range: momenta, `b1`, `b2` and the `decay` of [`rmsprop`] are at
    ///   least 0 and less than 1, the steps of [`every`](Optimizer::every) are positive and fit an `i32`, and other
    ///   numbers that are checked are finite and not negative.
    /// - The errors of the learning rate, such as `schedule` if [`linear`] has no steps, and the mistakes of the
    ///   arguments.
    #[track_caller]
    fn update<P: Tree>(&self, grads: &P, state: State<P>, params: &P) -> (P, State<P>)
    where
        Self: Sized,
    {
        let at = context::caller(Location::caller());
        context::within(at, || update(self, grads, state, params, at))
    }

    /// Splits each array of the state over one more axis of the mesh, on the first dimension that it splits evenly.
    /// This is ZeRO, stage 1: along the axis "data", where parameters are replicated, each device holds a part of the
    /// state.
    ///
    /// Gradients are brought to the layout of the state, which is a reduce-scatter if they are sums over the axis, and
    /// updates to that of the parameters, which is an all-gather.
    ///
    /// An array that is split along this axis already, or of which the axis splits no dimension evenly, stays as it is.
    /// So do the arrays that [`adafactor`] has for a parameter for which it keeps means over dimensions.
    ///
    /// A state is split over one such axis: that of the last call. In a [`chain`], the first axis of its
    /// transformations applies to the arrays of all of them.
    ///
    /// In Auto mode, the layouts of traced parameters are only known for arguments of the traced function, and where
    /// the program asked for them. Elsewhere, state the layouts of the state with [`specs`]`(..).over(axis)`.
    fn states_over(self, axis: &str) -> StatesOver<Self>
    where
        Self: Sized,
    {
        StatesOver { inner: self, axis: axis.into() }
    }

    /// Updates the parameters only every `steps` steps, with the mean of the gradients since the update before. If
    /// `steps` is 0 or does not fit an `i32`, [`Optimizer::init`] and [`Optimizer::update`] report `optimizer-setting`.
    /// This is `optax.MultiSteps`.
    fn every(self, steps: usize) -> MultiSteps<Self>
    where
        Self: Sized,
    {
        MultiSteps::new(self, steps)
    }
}

/// The result of [`Optimizer::states_over`].
#[derive(Clone, Debug)]
pub struct StatesOver<T> {
    inner: T,
    axis: String,
}

impl<T: Optimizer> Optimizer for StatesOver<T> {
    fn part_names(&self) -> Vec<&'static str> {
        self.inner.part_names()
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        self.inner.init_parts(params)
    }
    fn transform(&self, updates: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        self.inner.transform(updates, state, params)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        self.inner.wrong_setting()
    }
    fn axis_of_states(&self) -> Option<String> {
        Some(self.axis.clone())
    }
}

impl<T: Optimizer + ?Sized> Optimizer for Arc<T> {
    fn part_names(&self) -> Vec<&'static str> {
        (**self).part_names()
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        (**self).init_parts(params)
    }
    fn transform(&self, updates: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        (**self).transform(updates, state, params)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        (**self).wrong_setting()
    }
    fn axis_of_states(&self) -> Option<String> {
        (**self).axis_of_states()
    }
}

type At = &'static Location<'static>;

/// Returns true if a parameter is updated: it holds floats, and has elements.
fn is_updated(param: &Array) -> bool {
    param.known_type().is_some_and(|ty| ty.ty.dtype.is_float() && ty.ty.size() > 0)
}

/// Returns for each parameter whether it is updated.
fn active<P: Tree>(params: &P) -> Vec<bool> {
    tree::leaves(params).into_iter().map(is_updated).collect()
}

fn of_active<P: Tree>(params: &P, is_active: &[bool], states_over: Option<String>) -> Params {
    let leaves = tree::paths(params).into_iter().zip(is_active);
    let leaves = leaves.filter(|(_, active)| **active).map(|((path, x), _)| (path, x.clone()));
    Params { leaves: leaves.collect(), states_over }
}

/// Returns what keeps the optimizer from being used for these parameters: a setting that is out of range, or parameters
/// whose types are not known because they are mistakes. Returns `None` if nothing does.
fn unusable<P: Tree>(optimizer: &impl Optimizer, params: &P, loc: &Loc) -> Option<Mistakes> {
    if let Some([name, value, expected]) = optimizer.wrong_setting() {
        return Some(Mistakes::one(mistakes::optimizer_setting(&name, &value, &expected, loc)));
    }
    let untyped = tree::leaves(params).into_iter().filter(|x| x.known_type().is_none());
    Mistakes::join(untyped.filter_map(Array::mistakes))
}

fn init<P: Tree>(optimizer: &impl Optimizer, params: &P, at: At) -> State<P> {
    if let Some(wrong) = unusable(optimizer, params, &context::loc(at)) {
        let number = Array::poisoned(wrong.clone(), None, at);
        let tree = params.rebuild(&mut |x| Array::poisoned(wrong.clone(), x.known_type(), at));
        return State::poisoned(number, tree);
    }
    let is_active = active(params);
    let given = of_active(params, &is_active, optimizer.axis_of_states());
    let none = zeros([0], DType::F32);
    let parts =
        optimizer.init_parts(&given).into_iter().map(|part| laid_out(part, &given).to_trees(params, &is_active, &none));
    State { parts: parts.collect(), params: types(params, at) }
}

/// Returns the types of parameters, whose types are known, without their layouts.
fn types<P: Tree>(params: &P, at: At) -> P {
    let ty = |x: &Array| ShardedType { ty: x.tensor().clone(), sharding: None };
    params.rebuild(&mut |x| Array::type_only(ty(x), at))
}

/// Returns a new part with its numbers replicated on the mesh of the first parameter whose layout is known. If there is
/// an axis of states, arrays like their parameter are split over it where the parameter's layout is known and
/// [`Part::is_split_further`] returns true.
fn laid_out(mut part: Part<Vec<Array>>, params: &Params) -> Part<Vec<Array>> {
    let layouts: Vec<Option<crate::Sharding>> = params.arrays().map(known_layout).collect();
    if let Some(layout) = layouts.iter().flatten().next() {
        part.numbers.iter_mut().for_each(|(_, x)| *x = x.shard(layout.mesh.sharding(P::default())));
    }
    let Some(axis) = &params.states_over else { return part };
    for (i, layout) in layouts.iter().enumerate() {
        let Some(layout) = layout.as_ref().filter(|_| part.is_split_further(i)) else { continue };
        for slot in part.slots.iter_mut().filter(|slot| slot.likes[i] == Like::Whole) {
            let x = &mut slot.tree[i];
            let spec = split_further(&layout.spec, &x.tensor().shape, &layout.mesh, axis);
            *x = x.shard(layout.mesh.sharding(spec));
        }
    }
    part
}

/// Returns the layout of an array. Returns `None` if it is not known or the array has none, inside `shard_map`, and for
/// a mistake.
fn known_layout(x: &Array) -> Option<crate::Sharding> {
    let is_manual = trace::is_tracing() && trace::with(|t| t.scope().is_some());
    x.known_type().filter(|_| !is_manual && !x.is_wrong())?;
    x.sharding()
}

fn in_layout_of(x: Array, like: &Array) -> Array {
    match known_layout(like) {
        Some(layout) if known_layout(&x).is_none_or(|own| own.spec != layout.spec) => x.shard(layout),
        _ => x,
    }
}

fn update<P: Tree>(optimizer: &impl Optimizer, grads: &P, state: State<P>, params: &P, at: At) -> (P, State<P>) {
    let loc = context::loc(at);
    let is_active = active(params);
    let given = of_active(params, &is_active, None);
    // The gradient of a parameter that is not updated may be `float0`.
    let filled = tree::without_float0(grads, params, |path, g, p| match is_updated(p) {
        true => wrong_gradient(g, p, path, &loc, at),
        false => p.clone(),
    });
    let grads = filled.as_ref().unwrap_or(grads);
    let wrong = unusable(optimizer, params, &loc).or_else(|| state.mistakes().cloned());
    if let Some(wrong) = wrong.or_else(|| form_mistake(optimizer, grads, &state, params, &loc).map(Mistakes::one)) {
        let params = params.rebuild(&mut |x| Array::poisoned(wrong.clone(), x.known_type(), at));
        return (params, state);
    }
    let old: Vec<Part<Vec<Array>>> = state.parts.iter().map(|part| part.to_leaves(&is_active)).collect();
    // Where the state is split further than the parameter, only a part of the gradient is needed.
    let near_state = |i: usize, x: Array| {
        let mut slots = old.iter().flat_map(|part| &part.slots);
        let whole = slots.find(|slot| slot.likes[i] == Like::Whole);
        in_layout_of(x, whole.map_or(&given.leaves[i].1, |slot| &slot.tree[i]))
    };
    let grads = tree::leaves(grads).into_iter().zip(&is_active).filter(|(_, active)| **active);
    let grads = grads.zip(&given.leaves).enumerate();
    let grads = grads.map(|(i, ((g, _), (path, p)))| near_state(i, checked(g, p, path, &loc, at))).collect();
    let leaves = given.leaves.iter().enumerate().map(|(i, (path, p))| (path.clone(), near_state(i, p.clone())));
    let mut parts = Parts::new(old.clone());
    let updates = optimizer.transform(grads, &mut parts, &Params { leaves: leaves.collect(), states_over: None });
    let mut updated = updates.into_iter().zip(given.arrays()).map(|(u, p)| in_layout_of(p + in_layout_of(u, p), p));
    let all = tree::leaves(params).into_iter().zip(&is_active);
    let all = all.map(|(p, active)| if *active { updated.next().expect("one for each") } else { p.clone() });
    let all: Vec<Array> = all.collect();
    let none = zeros([0], DType::F32);
    let new = parts.new.into_iter().zip(&old).map(|(new, old)| kept(new, old).to_trees(params, &is_active, &none));
    (with_leaves(params, all), State { parts: new.collect(), params: state.params })
}

/// Returns the new part with its arrays in the layouts of the old ones, where these are known. Its numbers are
/// unchanged.
fn kept(mut new: Part<Vec<Array>>, old: &Part<Vec<Array>>) -> Part<Vec<Array>> {
    for (new, old) in new.slots.iter_mut().zip(&old.slots) {
        new.tree.iter_mut().zip(&old.tree).for_each(|(x, old)| *x = in_layout_of(x.clone(), old));
    }
    new
}

fn checked(grad: &Array, param: &Array, path: &Path, loc: &Loc, at: At) -> Array {
    match (grad.known_type(), param.known_type()) {
        (Some(g), Some(p)) if g.ty != p.ty => wrong_gradient(grad, param, path, loc, at),
        (None, p) => Array::poisoned(grad.mistakes().expect("it has no type").clone(), p, at),
        _ => grad.clone(),
    }
}

/// Returns the mistake `gradient-type`, with the type of the parameter.
fn wrong_gradient(grad: &Array, param: &Array, path: &Path, loc: &Loc, at: At) -> Array {
    let d = mistakes::gradient_type(&path.to_string(), &grad.short_type(), &param.short_type(), loc);
    Array::mistake(d, param.known_type(), at)
}

fn form_mistake<P: Tree>(
    optimizer: &impl Optimizer,
    grads: &P,
    state: &State<P>,
    params: &P,
    loc: &Loc,
) -> Option<Diagnostic> {
    let own = form(params);
    if form(grads) != own {
        return Some(mistakes::form("update", "the gradients do not have the form of the parameters", loc));
    }
    if !state.parts.iter().map(|part| part.name).eq(optimizer.part_names()) {
        return Some(mistakes::form("update", "the state is that of another optimizer, or of other options", loc));
    }
    let mut trees = state.parts.iter().flat_map(|part| &part.slots);
    let fits = trees.all(|slot| form(&slot.tree) == own);
    (!fits).then(|| mistakes::form("update", "the state does not have the form of the parameters", loc))
}
