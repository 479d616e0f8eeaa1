//! Functions of arrays: how a closure of at most eight arguments is traced, lowered, compiled and called.

use crate::array::Array;
use crate::cache::Cache;
use crate::eager::Prepared;
use crate::error::Mistakes;
use crate::explicit::Warned;
use crate::program::Communication;
use crate::runtime::{self, Compiled as Executable, Target};
use crate::spec::{self, AnySpec, SpecFor};
use crate::trace::Finished;
use crate::tree::{self, Form, Tree};
use crate::{
    Diagnostic, Error, Explanation, Key, Mesh, Result, Topology, context, eager, explicit, limits, mesh, mistakes,
    trace,
};
use shardwise_base::{self as base, Loc};
use shardwise_engine::{Argument, ShardedType};
use shardwise_ir::{Module, TensorType};
use shardwise_sim::Overlap;
use shardwise_view::Timeline;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) type At = &'static Location<'static>;

/// Types that can be arguments of a traced function: `&T` for each tree `T`, and by value an [`Array`], a `Vec`, an
/// `Option`, a `[T; N]`, a tuple of two to four trees, a struct with `#[derive(Tree)]`, the state of an optimizer, a
/// [`Key`] or a [`Static`].
///
/// An argument passed by reference is only read. One passed by value, except a [`Key`] or a [`Static`], is donated: its
/// buffers may be reused.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a traced function",
    label = "an argument is `&T` or `T`, for a tree of arrays `T`; or `Static<T>`",
    note = "a plain number would be fixed when the function is compiled: pass `&scalar(v, F32)`, or `Static(v)` to compile once for each value",
    note = "for a struct of arrays, add `#[derive(Tree)]`"
)]
pub trait Arg {
    /// The argument for any lifetime: `&'a T` or `T`.
    type Item<'a>;
    /// The tree of arrays that the library keeps of the argument: `T` for `&T` and for `T`.
    type Owned: Tree;
    /// True if the argument is donated: its buffers may be reused for results.
    const DONATED: bool;
    /// Converts the argument into the tree that the library keeps.
    fn own(item: Self::Item<'_>) -> Self::Owned;
    /// Returns the argument that the function is called with.
    fn lend(owned: &Self::Owned) -> Self::Item<'_>;
}

impl<T: Tree> Arg for &T {
    type Item<'a> = &'a T;
    type Owned = T;
    const DONATED: bool = false;
    fn own(item: &T) -> T {
        item.rebuild_clone()
    }
    fn lend(owned: &T) -> &T {
        owned
    }
}

macro_rules! by_value {
    ($([$($g:tt)*] $t:ty, $donated:literal);* $(;)?) => { $(
        impl<$($g)*> Arg for $t {
            type Item<'a> = $t;
            type Owned = $t;
            const DONATED: bool = $donated;
            fn own(item: $t) -> $t { item }
            fn lend(owned: &$t) -> $t { owned.rebuild_clone() }
        }
    )* };
}
by_value! {
    [] Array, true;
    [T: Tree] Vec<T>, true;
    [T: Tree] Option<T>, true;
    [T: Tree, const N: usize] [T; N], true;
    [A: Tree, B: Tree] (A, B), true;
    [A: Tree, B: Tree, C: Tree] (A, B, C), true;
    [A: Tree, B: Tree, C: Tree, D: Tree] (A, B, C, D), true;
    [] Key, false;
    [T: Clone + Eq + std::hash::Hash + fmt::Debug + Send + Sync + 'static] Static<T>, false;
}

/// A value that is part of the program: the function is compiled once for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Static<T>(pub T);

impl<T> Deref for Static<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Types that a traced function can return: a tree, or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "a traced function cannot return `{Self}`",
    label = "expected a tree of arrays, or `Result` of one"
)]
pub trait Returns: Sized + 'static {
    /// The tree of the results.
    type Tree: Tree;
    /// Converts the returned value into a `Result` of the tree. Fails if the value is an error.
    fn finish(self) -> Result<Self::Tree>;
    /// Converts the result of a call into the type of the call expression. If this type is a tree and no `Result`, an
    /// error ends the active trace, and panics outside of a trace.
    #[doc(hidden)]
    fn deliver(out: Result<Self::Tree>) -> Self;
}
impl<T: Tree> Returns for T {
    type Tree = T;
    fn finish(self) -> Result<T> {
        Ok(self)
    }
    /// Returns the tree. If there is none, ends the active trace. Outside of a trace, panics with the diagnostics.
    fn deliver(out: Result<T>) -> T {
        out.unwrap_or_else(|e| {
            if !trace::is_tracing() {
                panic!("the call has no result\n{e}");
            }
            trace::record(&e.into_mistakes());
            trace::end()
        })
    }
}
impl<T: Tree> Returns for Result<T> {
    type Tree = T;
    fn finish(self) -> Result<T> {
        self
    }
    fn deliver(out: Result<T>) -> Result<T> {
        out
    }
}

/// The arguments of a traced function, as a tuple of [`Arg`]s.
pub trait Args {
    /// The type that [`Jit::lower`] takes: the arguments as a tuple, or a single argument as itself.
    type Tuple<'a>;
    /// The trees that the library keeps of the arguments, in the same form. Specs are matched against them.
    type Owned: Tree;
    /// The type of the closure that `f(&x, &w)` calls.
    type Dyn<'f, R: 'static>: ?Sized + Send + Sync;
    /// Converts the arguments into the trees that the library keeps.
    fn own(args: Self::Tuple<'_>) -> Self::Owned;
    /// Returns the function that is called. `f` gets the arguments, or why they cannot be kept, and the call's
    /// location.
    #[doc(hidden)]
    fn bind<'f, R: 'static>(
        callee: Callee,
        f: impl Fn(Result<Self::Owned>, Called) -> R + Send + Sync + 'f,
    ) -> Box<Self::Dyn<'f, R>>;
    /// Returns for each leaf whether its argument is donated.
    #[doc(hidden)]
    fn donated(owned: &Self::Owned) -> Vec<bool>;
    /// Returns the number of leaves of each argument.
    #[doc(hidden)]
    fn leaf_counts(owned: &Self::Owned) -> Vec<usize>;
}

/// Arguments of a traced function that have a position `I`, counted from 0.
#[diagnostic::on_unimplemented(
    message = "the function has no argument {I}",
    label = "the positions of arguments are counted from 0"
)]
pub trait HasArgument<const I: usize>: Args {
    /// The tree of the argument at this position.
    type Argument: Tree;
    /// Returns the argument at this position.
    fn argument(owned: &Self::Owned) -> &Self::Argument;
}

/// Functions with a supported number of arguments. The trait is separate from [`Function`], so that an error message
/// names an argument of a wrong type and not the function.
#[diagnostic::on_unimplemented(
    message = "expected a function of at most 8 arguments, found `{Self}`",
    label = "not a function"
)]
pub trait Callable<M> {}

/// Functions that can be traced.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be traced", label = "expected a function of trees of arrays")]
pub trait Function<M>: Callable<M> {
    /// The arguments of the function, as a tuple of the types that it takes.
    type Args: Args;
    /// The result of the function: a tree, or a `Result` of one.
    type Out: Returns;
    #[doc(hidden)]
    fn apply(&self, args: &<Self::Args as Args>::Owned) -> Self::Out;
    #[doc(hidden)]
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }
}

fn flags<T: Tree>(tree: &T, donated: bool) -> impl Iterator<Item = bool> {
    std::iter::repeat_n(donated, tree::leaves(tree).len())
}

macro_rules! arity {
    ($tuple:ty, $owned:ty, $args:tt; $($t:ident $v:ident $l:lifetime),*) => {
        impl<$($t: Arg),*> Args for ($($t,)*) {
            type Tuple<'a> = $tuple;
            type Owned = $owned;
            type Dyn<'f, R: 'static> = dyn for<$($l),*> Fn($($t::Item<$l>),*) -> R + Send + Sync + 'f;
            fn own($args: Self::Tuple<'_>) -> Self::Owned { arity!(@each $($t::own($v)),*) }
            fn bind<'f, R: 'static>(callee: Callee, f: impl Fn(Result<Self::Owned>, Called) -> R + Send + Sync + 'f) -> Box<Self::Dyn<'f, R>> {
                Box::new(move |$($v: $t::Item<'_>),*| {
                    let called = callee.called();
                    f(tree::checked(|| called.loc(), || arity!(@each $($t::own($v)),*)), called)
                })
            }
            fn donated($args: &Self::Owned) -> Vec<bool> {
                std::iter::empty()$(.chain(flags($v, $t::DONATED)))*.collect()
            }
            fn leaf_counts($args: &Self::Owned) -> Vec<usize> {
                vec![$(tree::leaves($v).len()),*]
            }
        }
        impl<Func, $($t,)* R> Callable<fn($($t),*) -> R> for Func where Func: Fn($($t),*) -> R {}
        impl<Func, $($t: Arg,)* R: Returns> Function<fn($($t),*) -> R> for Func
        where Func: Fn($($t),*) -> R + for<$($l),*> Fn($($t::Item<$l>),*) -> R
        {
            type Args = ($($t,)*);
            type Out = R;
            fn apply(&self, $args: &<($($t,)*) as Args>::Owned) -> R {
                (self as &dyn for<$($l),*> Fn($($t::Item<$l>),*) -> R)($($t::lend($v)),*)
            }
        }
    };
    (@each) => { () };
    (@each $one:expr) => { $one };
    (@each $($many:expr),+) => { ($($many,)+) };
}
arity!((), (), (););
arity!(A::Item<'a>, A::Owned, a; A a 'b);
arity!((A::Item<'a>, B::Item<'a>), (A::Owned, B::Owned), (a, b); A a 'b, B b 'c);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>), (A::Owned, B::Owned, C::Owned), (a, b, c); A a 'b, B b 'c, C c 'd);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>), (A::Owned, B::Owned, C::Owned, D::Owned), (a, b, c, d); A a 'b, B b 'c, C c 'd, D d 'e);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>, E::Item<'a>), (A::Owned, B::Owned, C::Owned, D::Owned, E::Owned), (a, b, c, d, e); A a 'b, B b 'c, C c 'd, D d 'e, E e 'g);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>, E::Item<'a>, F::Item<'a>), (A::Owned, B::Owned, C::Owned, D::Owned, E::Owned, F::Owned), (a, b, c, d, e, f1); A a 'b, B b 'c, C c 'd, D d 'e, E e 'g, F f1 'h);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>, E::Item<'a>, F::Item<'a>, G::Item<'a>), (A::Owned, B::Owned, C::Owned, D::Owned, E::Owned, F::Owned, G::Owned), (a, b, c, d, e, f1, g); A a 'b, B b 'c, C c 'd, D d 'e, E e 'g, F f1 'h, G g 'i);
arity!((A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>, E::Item<'a>, F::Item<'a>, G::Item<'a>, H::Item<'a>), (A::Owned, B::Owned, C::Owned, D::Owned, E::Owned, F::Owned, G::Owned, H::Owned), (a, b, c, d, e, f1, g, h); A a 'b, B b 'c, C c 'd, D d 'e, E e 'g, F f1 'h, G g 'i, H h 'j);

macro_rules! arguments {
    ($all:tt $args:tt; $($i:literal $t:ident $v:ident),+) => { $(arguments!(@at $all $args $i $t $v);)+ };
    (@at [$($all:ident),+] $args:tt $i:literal $t:ident $v:ident) => {
        impl<$($all: Arg),+> HasArgument<$i> for ($($all,)+) {
            type Argument = $t::Owned;
            #[allow(unused_variables, reason = "only one of the arguments is returned")]
            fn argument($args: &Self::Owned) -> &$t::Owned { $v }
        }
    };
}
arguments!([A] a; 0 A a);
arguments!([A, B] (a, b); 0 A a, 1 B b);
arguments!([A, B, C] (a, b, c); 0 A a, 1 B b, 2 C c);
arguments!([A, B, C, D] (a, b, c, d); 0 A a, 1 B b, 2 C c, 3 D d);
arguments!([A, B, C, D, E] (a, b, c, d, e); 0 A a, 1 B b, 2 C c, 3 D d, 4 E e);
arguments!([A, B, C, D, E, F] (a, b, c, d, e, f); 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 F f);
arguments!([A, B, C, D, E, F, G] (a, b, c, d, e, f, g); 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 F f, 6 G g);
arguments!([A, B, C, D, E, F, G, H] (a, b, c, d, e, f, g, h); 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 F f, 6 G g, 7 H h);

/// The number of begun calls that a thread remembers, at most. When one more begins, the oldest is forgotten. It is
/// most likely a call that never runs because its argument failed.
const MAX_BEGUN: usize = 1024;

thread_local! {
    /// The functions that are about to be called, with the locations of the calls. The most recent call is the last.
    static BEGUN: RefCell<VecDeque<(Callee, At)>> = const { RefCell::new(VecDeque::new()) };
}

/// A function that is called, identified by the address of what it shares with its `call`.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Callee(usize);

impl Callee {
    pub(crate) fn of<T>(shared: &Arc<T>) -> Callee {
        Callee(Arc::as_ptr(shared).addr())
    }

    /// Records where a call begins. `deref` knows the location, and the call itself does not. In between, the arguments
    /// are computed, which may call other functions: `f(&g(&x)?)`.
    pub(crate) fn begin(self, at: At) {
        BEGUN.with_borrow_mut(|begun| {
            if begun.len() == MAX_BEGUN {
                begun.pop_front();
            }
            begun.push_back((self, at));
        });
    }

    /// Returns where the current call of this function began: the most recent location recorded for it, which is
    /// forgotten. The location is unknown if none is recorded.
    fn called(self) -> Called {
        BEGUN.with_borrow_mut(|begun| {
            let latest = begun.iter().rposition(|(callee, _)| *callee == self);
            Called(latest.and_then(|i| begun.remove(i)).map(|(_, at)| at))
        })
    }
}

/// The location of a call, if it is known.
#[derive(Clone, Copy, Debug)]
pub struct Called(Option<At>);

impl Called {
    pub(crate) fn or(self, made_at: At) -> At {
        self.0.unwrap_or(made_at)
    }

    fn loc(self) -> Loc {
        self.0.map_or(Loc::UNKNOWN, context::loc)
    }
}

// ── jit
/// A function that is traced, compiled and cached when it is called: `f(&x, &w)?`.
///
/// A call is traced and compiled unless the program of an earlier call is cached: one with the same form, types,
/// layouts and static values of the arguments, the same current mesh, and the same rule for communication. A cached
/// program uses the arrays that the function captured when it was traced. A call while another function is traced
/// becomes a part of that function's program instead.
#[must_use = "a function does nothing until it is called"]
pub struct Jit<'f, A: Args, R: 'static> {
    shared: Arc<Shared<'f, A::Owned, R>>,
    call: Box<A::Dyn<'f, Result<R>>>,
}

/// A function that takes all of its arguments as one tree.
type Applied<'f, T, R> = Box<dyn Fn(&T) -> Result<R> + Send + Sync + 'f>;

/// A function and how it is compiled. `T` is the tree of all its arguments.
struct Shared<'f, T, R: 'static> {
    f: Applied<'f, T, R>,
    /// Returns for each leaf of the arguments whether it is donated.
    donated: fn(&T) -> Vec<bool>,
    in_specs: Option<AnySpec<T>>,
    out_specs: Option<AnySpec<R>>,
    name: &'static str,
    /// The machine for which the program is scheduled, or `None` to leave its collectives where they are.
    target: Option<Target>,
    at: At,
    cache: Mutex<Cache<CallKey, Arc<Ready<R>>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct CallKey {
    form: Form,
    types: Vec<(TensorType, Option<base::Sharding>)>,
    /// The current mesh, to which a `P` without a mesh may refer inside the function.
    mesh: Option<Arc<base::Mesh>>,
    communicate: Option<base::Communicate>,
}

struct TracedFunction<R> {
    finished: Finished,
    out: R,
    form: Form,
    types: Vec<ShardedType>,
}

struct Ready<R> {
    prepared: Prepared,
    out: R,
    captured: Vec<Array>,
}

/// Returns a function that traces and compiles `f` when it is called ([`Jit`]).
///
/// # Errors
///
/// A call returns the mistakes of the arguments and of `f`, those of [`Array::ready`] for arguments and captured
/// arrays, an error for each op that cannot be partitioned or that fails when it runs, `mesh-mismatch` if the arguments
/// are on different meshes, and `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
#[track_caller]
pub fn jit<'f, M, F: Callable<M> + Function<M> + Send + Sync + 'f>(
    f: F,
) -> Jit<'f, F::Args, <F::Out as Returns>::Tree> {
    Jit::of(Shared {
        name: f.name(),
        f: Box::new(move |args| f.apply(args).finish()),
        donated: F::Args::donated,
        in_specs: None,
        out_specs: None,
        target: None,
        at: Location::caller(),
        cache: Mutex::default(),
    })
}

/// Returns the results of `f` as types without values, without running it: `jax.eval_shape`. The arguments are one
/// value or a tuple, as for [`Jit::lower`], and may be types themselves ([`Array::of_type`]). In Explicit mode, the
/// types have layouts.
///
/// # Errors
///
/// Those of [`Jit::lower`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::eval_shape;
/// let matmul = |x: &Array, w: &Array| x.matmul(w);
/// let large = Array::of_type([1 << 20, 1 << 20], F32);
/// assert_eq!(eval_shape(matmul, (&large, &large))?.ty().to_string(), "f32[1048576,1048576]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eval_shape<M, F: Callable<M> + Function<M> + Send + Sync>(
    f: F,
    args: <F::Args as Args>::Tuple<'_>,
) -> Result<<F::Out as Returns>::Tree> {
    Ok(jit(f).lower(args)?.result_types())
}

impl<'f, A: Args, R: Tree> Jit<'f, A, R> {
    fn of(shared: Shared<'f, A::Owned, R>) -> Jit<'f, A, R> {
        let shared = Arc::new(shared);
        let callee = shared.clone();
        let call = A::bind(Callee::of(&shared), move |args, called| callee.call(args?, called.or(callee.at)));
        Jit { shared, call }
    }

    fn with(self, change: impl FnOnce(&mut Shared<'f, A::Owned, R>)) -> Jit<'f, A, R> {
        let Jit { shared, call } = self;
        drop(call);
        let mut shared = Arc::into_inner(shared).expect("the call held the only other handle");
        change(&mut shared);
        shared.cache = Mutex::default();
        Jit::of(shared)
    }

    /// Sets the layouts of the arguments, which are moved to them before each call. `specs` is one layout for all
    /// arguments, or has their form: a tuple for several arguments.
    ///
    /// # Errors
    ///
    /// A call returns `spec-form` if the specs do not have the form of the arguments, and the errors of a spec that
    /// does not fit its argument, as for [`Array::shard`].
    pub fn in_shardings(self, specs: impl SpecFor<A::Owned>) -> Jit<'f, A, R> {
        self.with(|s| s.in_specs = Some(spec::any(specs)))
    }

    /// Sets the layouts of the results. By default, the compiler decides them, and in Explicit mode their types do.
    ///
    /// # Errors
    ///
    /// A call returns `spec-form` if the specs do not have the form of the results, and the errors of a spec that does
    /// not fit its result, as for [`Array::shard`].
    pub fn out_shardings(self, specs: impl SpecFor<R>) -> Jit<'f, A, R> {
        self.with(|s| s.out_specs = Some(spec::any(specs)))
    }

    /// Chooses the layouts for the time that they take on `topology`, and hides the collectives of the program behind
    /// other ops: gathers and sums beside matmuls are sent in pieces, and collectives are started early. With
    /// `Overlap::Auto`, this is done where it is predicted to save time, with `Overlap::Force` also where it saves
    /// none, and with `Overlap::Off` nowhere. A program for a host is not changed. By default, layouts are chosen for
    /// the bytes that they move, or for the topology of the mesh, and nothing is hidden. Sums of floats may be rounded
    /// in other places. A call from another traced function is a part of that function's program, and is not changed.
    ///
    /// # Errors
    ///
    /// A call returns `topology-mesh` if the mesh has another number of devices than the machine, and those of
    /// [`Topology::summary`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::topology;
    /// set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
    /// let a = ones([8, 16], F32).shard(P!("X", "Y"));
    /// let w = ones([16, 32], F32).shard(P!(None, "Y"));
    /// let matmul = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(P!("X", "Y"));
    /// let scheduled = matmul.scheduled_for(&Topology::tpu_v5e([2, 4]), topology::Overlap::Force);
    /// assert!(scheduled.lower((&a, &w))?.compile()?.as_text().contains("collective_permute"));
    /// assert_equal(&scheduled(&a, &w)?, &full([8, 32], 16, F32));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scheduled_for(self, topology: &Topology, overlap: Overlap) -> Jit<'f, A, R> {
        self.with(|s| s.target = Some((topology.clone(), overlap)))
    }

    /// Sets the function's name. Reports and dumps show its last part after `jit_`: `jit_step` for `train::step`. By
    /// default, it is the function's path.
    pub fn named(self, name: &'static str) -> Jit<'f, A, R> {
        self.with(|s| s.name = name)
    }

    /// Traces the function for these arguments, which may be types without values.
    ///
    /// # Errors
    ///
    /// All mistakes of the function, each once, and those of the arguments and the layouts. `mesh-mismatch` if the
    /// arguments are on different meshes, and `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn lower(&self, args: A::Tuple<'_>) -> Result<Lowered<A, R>> {
        let at = Location::caller();
        let args = tree::checked(|| context::loc(at), || A::own(args))?;
        let types = self.shared.types(&args, at)?;
        let donated = A::donated(&args);
        let mut traced = limits::run(at, || self.shared.trace(&args, types, at))?;
        let warned = Warned::new(std::mem::take(&mut traced.finished.warnings));
        let target = self.shared.target.clone();
        Ok(Lowered { traced, warned, donated, target, args: PhantomData })
    }
}

impl<T: Tree, R: Tree> Shared<'_, T, R> {
    /// Returns the arguments' types with the layouts that they are to have. Fails if an argument is a mistake, or if
    /// the `in_shardings` do not fit the arguments.
    fn types(&self, args: &T, at: At) -> Result<Vec<ShardedType>> {
        let leaves = tree::leaves(args);
        if let Some(wrong) = Mistakes::join(leaves.iter().filter_map(|a| a.mistakes())) {
            return Err(wrong.error());
        }
        let mut types: Vec<ShardedType> = leaves.iter().map(|a| a.sharded().clone()).collect();
        let Some(specs) = &self.in_specs else { return Ok(types) };
        let loc = context::loc(at);
        let specs = specs(args).map_err(|wrong| Error::one(spec::misfit("in_shardings", &wrong, &loc)))?;
        for ((ty, spec), a) in types.iter_mut().zip(specs).zip(&leaves) {
            let own = ty.sharding.as_ref().map(|s| Mesh(s.mesh.clone()));
            let wanted = spec.resolve(own.as_ref(), &ty.ty, &loc).map_err(Error::one)?;
            if let Some(d) = crate::layout::nothing_decides(&wanted, ty.sharding.as_ref(), &ty.ty.short(), &loc) {
                return Err(Error::one(d));
            }
            let wanted = crate::layout::settle(&wanted, ty.sharding.as_ref());
            let sums = match a.decide(&wanted, at)? {
                Some(decide) => decide.sums,
                None => ty.sharding.as_ref().map_or(vec![], |own| own.unreduced.clone()),
            };
            if let Some(d) = explicit::misplaced_sum(&sums, &wanted, || a.short_type(), &loc) {
                return Err(Error::one(d));
            }
            ty.sharding = Some(wanted);
        }
        Ok(types)
    }

    fn trace(&self, args: &T, types: Vec<ShardedType>, at: At) -> Result<TracedFunction<R>> {
        let loc = context::loc(at);
        let mesh = eager::common_mesh(&types, &loc)?.or_else(explicit::current_mesh);
        let paths: Vec<String> = tree::paths(args).iter().map(|(p, _)| format!("arg{p}")).collect();
        let (mut trace, (out, shardings)) = trace::run(&symbol(self.name), mesh, Loc::caller(self.at), || {
            let arrays =
                types.iter().zip(&paths).map(|(ty, path)| eager::argument(ty, &loc.clone().named(&**path), at));
            let args = tree::with_leaves(args, arrays.collect::<Vec<_>>());
            let out = context::outside(at, || (self.f)(&args))?;
            if explicit::is_typing() {
                let out = self.laid_out(out, at)?;
                let shardings = vec![None; tree::leaves(&out).len()];
                return Ok((out, shardings));
            }
            let shardings = self.out_shardings(&out, &loc)?;
            Ok((out, shardings))
        })?;
        let leaves = tree::leaves(&out);
        // An array from outside may carry mistakes, which the trace has not recorded.
        if let Some(wrong) = Mistakes::join(leaves.iter().filter_map(|a| a.mistakes())) {
            return Err(wrong.error());
        }
        let values =
            leaves.iter().map(|a| trace.operand(a, &loc)).collect::<Result<Vec<_>, _>>().map_err(Error::one)?;
        let finished = trace.finish(&values, shardings, &loc);
        // Only the form and the types are kept, because the trace's arrays are invalid after the trace.
        let out = out.rebuild(&mut |a| Array::type_only(a.sharded().clone(), at));
        Ok(TracedFunction { finished, out, form: tree::form(args), types })
    }

    /// Returns the requested sharding of each result, or `None` for each if there are no `out_shardings`. Called in the
    /// active trace, where the compiler decides layouts. Fails if the specs do not fit the results or the mesh.
    fn out_shardings(&self, out: &R, loc: &Loc) -> Result<Vec<Option<base::Sharding>>> {
        let leaves = tree::leaves(out);
        let Some(specs) = &self.out_specs else { return Ok(vec![None; leaves.len()]) };
        let specs = specs(out).map_err(|wrong| Error::one(spec::misfit("out_shardings", &wrong, loc)))?;
        let mut shardings = vec![];
        for (a, spec) in leaves.iter().zip(specs) {
            let own = trace::with(|t| t.mesh.clone());
            let sharding = spec.resolve(own.as_ref(), a.tensor(), loc).map_err(Error::one)?;
            let mesh = Mesh(sharding.mesh.clone());
            if !trace::with(|t| t.join_mesh(&mesh)) {
                let own = own.unwrap_or_else(|| mesh.clone());
                return Err(Error::one(mistakes::layout_mesh("layout", &own, &mesh, loc)));
            }
            shardings.push(Some(sharding));
        }
        Ok(shardings)
    }

    fn call(&self, args: T, at: At) -> Result<R> {
        match trace::is_tracing() {
            true => self.inline(&args, at),
            false => limits::run(at, || self.compute(args, at)),
        }
    }

    /// Runs the function as a program of its own, which is traced and compiled unless the program of an earlier call
    /// with the same key is cached. Fails with the mistakes of the arguments and of the function, or if the program
    /// cannot be compiled or run.
    fn compute(&self, args: T, at: At) -> Result<R> {
        let types = self.types(&args, at)?;
        let key = CallKey {
            form: tree::form(&args),
            types: types.iter().map(|t| (t.ty.clone(), t.sharding.clone())).collect(),
            mesh: mesh::current().map(|m| m.0),
            communicate: explicit::level(),
        };
        let found = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let ready = match found {
            Some(ready) => ready,
            None => {
                let how = |module: &Module| match &self.target {
                    Some(target) => runtime::compile_for(module, target, at),
                    None => runtime::compile(module),
                };
                let ready = Arc::new(self.trace(&args, types, at)?.compile(how)?);
                let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
                let gone = cache.insert(key, ready.clone(), ready.prepared.bytes);
                drop(cache);
                drop(gone);
                ready
            }
        };
        let donated = (self.donated)(&args);
        ready.run(args, &donated, at)
    }

    /// Runs the function as a part of the active trace. Fails with the mistakes of the function, and if a spec does not
    /// fit.
    fn inline(&self, args: &T, at: At) -> Result<R> {
        trace::run_inline(|| {
            let loc = context::loc(at);
            let args = match &self.in_specs {
                None => args.rebuild_clone(),
                Some(specs) => {
                    let specs = specs(args).map_err(|w| Error::one(spec::misfit("in_shardings", &w, &loc)))?;
                    let mut specs = specs.into_iter();
                    args.rebuild(&mut |a| a.shard_at(specs.next().expect("one for each leaf"), at))
                }
            };
            self.laid_out(context::outside(at, || (self.f)(&args))?, at)
        })
    }

    /// Returns the results in the requested layouts, by steps of the active trace. Fails if the specs do not have the
    /// form of the results.
    fn laid_out(&self, out: R, at: At) -> Result<R> {
        let Some(specs) = &self.out_specs else { return Ok(out) };
        let wrong = |w: Vec<String>| Error::one(spec::misfit("out_shardings", &w, &context::loc(at)));
        let mut specs = specs(&out).map_err(wrong)?.into_iter();
        Ok(out.rebuild(&mut |a| a.shard_at(specs.next().expect("one for each leaf"), at)))
    }
}

/// Returns the path of a function without its type parameters, or without the type and the trait of a trait's function:
/// `forward` for `<my_crate::Model as my_crate::Layer>::forward`.
pub(crate) fn plain_path(path: &str) -> &str {
    let path = if path.starts_with('<') { path.rsplit_once(">::").map_or(path, |(_, own)| own) } else { path };
    path.split('<').next().unwrap_or(path)
}

/// Returns the name of the program: `jit_step` for `my_crate::train::step` and for a closure in it. Characters other
/// than ASCII letters and digits become `_`.
fn symbol(path: &str) -> String {
    let name = plain_path(path).rsplit("::").find(|part| !part.starts_with('{')).unwrap_or("function");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("jit_{}", name.chars().map(plain).collect::<String>())
}

impl<R: Tree> TracedFunction<R> {
    fn compile(mut self, how: impl FnOnce(&Module) -> Result<Arc<Executable>>) -> Result<Ready<R>> {
        let captured = std::mem::take(&mut self.finished.captured);
        Ok(Ready { prepared: Prepared::new(self.finished, how)?, out: self.out, captured })
    }
}

impl<R: Tree> Ready<R> {
    fn run<T: Tree>(&self, args: T, donated: &[bool], at: At) -> Result<R> {
        let leaves: Vec<Array> = tree::leaves(&args).into_iter().cloned().collect();
        drop(args);
        let inputs = &self.executable().signature().inputs;
        let given = leaves.into_iter().zip(donated.iter().copied());
        let captured = self.captured.iter().map(|a| (a.clone(), false));
        let arguments = given.chain(captured).zip(inputs).map(|((a, donated), input)| argument(a, donated, input, at));
        self.prepared.report(None);
        Ok(tree::with_leaves(&self.out, self.prepared.execute(arguments.collect::<Result<_>>()?, at)?))
    }

    fn executable(&self) -> &Executable {
        &self.prepared.compiled
    }
}

/// Returns an array in the layout that the program expects. If `donated`, the array is donated, unless another handle
/// shares it or its value has not been made yet. A sum over devices that has not been reduced yet is reduced and
/// donated. Fails if the array has no value, or if its value cannot be made or moved.
fn argument(a: Array, donated: bool, input: &ShardedType, at: At) -> Result<Argument> {
    let sharding = input.sharding.as_ref();
    if !donated {
        return a.handle_as(sharding, at).map(Argument::Lent);
    }
    match a.into_handle() {
        Ok(handle) => runtime::lay_out(handle, sharding).map(Argument::Donated),
        Err(a) => a.handle_as(sharding, at).map(Argument::Lent),
    }
}

impl<'f, A: Args, R: 'static> Deref for Jit<'f, A, R> {
    type Target = A::Dyn<'f, Result<R>>;
    #[track_caller]
    fn deref(&self) -> &Self::Target {
        Callee::of(&self.shared).begin(Location::caller());
        &self.call
    }
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Wrapped<A, R>(PhantomData<(A, R)>);
impl<A: Args, R: Tree> Callable<Wrapped<A, Result<R>>> for Jit<'_, A, R> {}
impl<A: Args, R: Tree> Function<Wrapped<A, Result<R>>> for Jit<'_, A, R> {
    type Args = A;
    type Out = Result<R>;
    fn apply(&self, args: &A::Owned) -> Result<R> {
        self.shared.call(args.rebuild_clone(), self.shared.at)
    }
    fn name(&self) -> &'static str {
        self.shared.name
    }
}

// ── lowered and compiled
/// A function that was traced for one type of each argument: StableHLO with Shardy's attributes, before partitioning.
pub struct Lowered<A, R> {
    traced: TracedFunction<R>,
    warned: Warned,
    donated: Vec<bool>,
    target: Option<Target>,
    args: PhantomData<fn(A)>,
}

impl<A: Args, R: Tree> Lowered<A, R> {
    /// Returns StableHLO with Shardy's attributes, before partitioning: the text that JAX prints and reads. The text
    /// includes the warnings, which the `shardwise` command prints.
    pub fn as_text(&self) -> String {
        match self.warned.is_empty() {
            true => runtime::text(self.module()),
            false => runtime::text(&self.warned.noted(self.module())),
        }
    }

    fn module(&self) -> &Module {
        &self.traced.finished.module
    }

    /// Returns the results as types without values. In Explicit mode, they have their layouts.
    pub fn result_types(&self) -> R {
        self.traced.out.rebuild_clone()
    }

    /// Returns a warning for each line where the program communicates over Explicit axes without asking for it, and
    /// where [`Communicate::Warn`](crate::Communicate::Warn) applies. Each has the bytes that are moved, unless the
    /// program cannot be partitioned.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warned.of(self.module()).iter()
    }

    /// Returns every collective of the partitioned program, with its reason. [`Jit::scheduled_for`] has no effect here:
    /// [`Compiled::communication`] shows what it changes.
    ///
    /// # Errors
    ///
    /// Returns an error for each op that cannot be partitioned, at its line, and `run-memory`, `run-steps` or
    /// `run-cancelled` if a limit is reached.
    pub fn communication(&self) -> Result<Communication> {
        runtime::communication(self.module())
    }

    /// Writes the program and the result of every pass of the partitioner into `dir` as numbered `.mlir` files. Creates
    /// `dir` if it does not exist. [`Jit::scheduled_for`] has no effect here.
    ///
    /// # Errors
    ///
    /// `io` if the folder cannot be created or a file cannot be written, and those of [`Lowered::communication`].
    #[track_caller]
    pub fn dump(&self, dir: impl AsRef<std::path::Path>) -> Result<()> {
        let (dir, at) = (dir.as_ref(), Location::caller());
        let failed = |what: &str, path: &std::path::Path, e: std::io::Error| {
            Error::one(mistakes::unwritable(what, path, &e, &context::loc(at)))
        };
        std::fs::create_dir_all(dir).map_err(|e| failed("create the folder", dir, e))?;
        let stages = limits::run(at, || runtime::stages(self.module()))?;
        for (i, (pass, text)) in stages.into_iter().enumerate() {
            let path = dir.join(format!("{i:02}-{pass}.mlir"));
            shardwise_base::file::write(&path, text).map_err(|e| failed("write", &path, e))?;
        }
        Ok(())
    }

    /// Partitions the program and plans it for the engine.
    ///
    /// # Errors
    ///
    /// Returns an error for each op that cannot be partitioned or run, at its line, those of [`Jit::scheduled_for`],
    /// and `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn compile(self) -> Result<Compiled<A, R>> {
        let (form, types, donated) = (self.traced.form.clone(), self.traced.types.clone(), self.donated);
        let made_at = Location::caller();
        let given_away = (0..donated.len()).filter(|&i| donated[i]).collect();
        let target = self.target;
        let how = |module: &Module| match &target {
            Some(target) => runtime::compile_for(module, target, made_at),
            None => runtime::compile_own(module),
        };
        let ready = Arc::new(limits::run(made_at, || self.traced.compile(how))?);
        let callee = ready.clone();
        let call = A::bind(Callee::of(&ready), move |args, called| {
            let (args, at) = (args?, called.or(made_at));
            check_types(&args, &form, &types, at)?;
            if let Some(traced) = tree::leaves(&args).into_iter().find(|a| a.traced().is_some()) {
                return Err(Error::one(mistakes::compiled_traced(&traced.short_type(), &context::loc(at))));
            }
            limits::run(at, || callee.run(args, &donated, at))
        });
        Ok(Compiled { ready, call, given_away })
    }
}

fn check_types<T: Tree>(args: &T, form: &Form, types: &[ShardedType], at: At) -> Result<()> {
    let loc = context::loc(at);
    let leaves = tree::paths(args);
    if let Some(wrong) = Mistakes::join(leaves.iter().filter_map(|(_, a)| a.mistakes())) {
        return Err(wrong.error());
    }
    if tree::form(args) != *form || leaves.len() != types.len() {
        return Err(Error::one(mistakes::form(
            "compile",
            "the arguments of a call differ in form from those that the function was compiled for",
            &loc,
        )));
    }
    let differing = leaves.iter().zip(types).find(|((_, a), ty)| *a.tensor() != ty.ty);
    match differing {
        None => Ok(()),
        Some(((path, a), ty)) => {
            let message =
                format!("argument `arg{path}` differs in type from the one that the function was compiled for");
            let facts = format!("{}, compiled for {}", a.short_type(), ty.ty.short());
            Err(Error::one(mistakes::with_facts(
                "compiled-types",
                message,
                facts,
                "lower the function again for these types",
                &loc,
            )))
        }
    }
}

/// A function that was compiled for one mesh and one type of each argument: `f(&x, &w)?`. A call returns
/// `compiled-types` if the type of an argument differs, `tree-form` if the form of the arguments does,
/// `compiled-traced` if an argument is traced, and the errors of [`Array::ready`] for the arguments and the captured
/// arrays. It also returns `run-memory`, `run-steps` or `run-cancelled` if a limit is reached, and the errors of ops
/// that fail when they run. An argument in another layout is moved.
pub struct Compiled<A: Args, R: 'static> {
    ready: Arc<Ready<R>>,
    call: Box<A::Dyn<'static, Result<R>>>,
    /// The indices, among all leaves of the arguments, of those that a call donates.
    given_away: Vec<usize>,
}

impl<A: Args, R: 'static> Deref for Compiled<A, R> {
    type Target = A::Dyn<'static, Result<R>>;
    #[track_caller]
    fn deref(&self) -> &Self::Target {
        Callee::of(&self.ready).begin(Location::caller());
        &self.call
    }
}

impl<A: Args, R: Tree> Compiled<A, R> {
    /// Returns the per-device program as StableHLO text.
    pub fn as_text(&self) -> String {
        self.ready.executable().text()
    }

    /// Returns the per-device program as HLO text for people to read. It is shortened, and XLA's parser cannot read it.
    pub fn as_hlo(&self) -> String {
        self.ready.executable().hlo()
    }

    /// Returns every collective of the program, with its reason.
    pub fn communication(&self) -> Communication {
        self.ready.executable().communication()
    }

    /// Returns the memory that a call needs.
    pub fn memory(&self) -> Memory {
        self.ready.executable().memory(&self.given_away)
    }

    /// Predicts when each op runs on a machine that need not be here. Only collectives that the program starts
    /// asynchronously run beside other ops ([`Compiled::simulate_with`]).
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the machine, and those of [`Topology::summary`].
    #[track_caller]
    pub fn simulate(&self, topology: &Topology) -> Result<Timeline> {
        self.simulate_with(topology, Overlap::Off)
    }

    /// Predicts when each op runs on a machine if collectives run beside other ops as `overlap` says. The program that
    /// is predicted is changed so that they do, as by [`Jit::scheduled_for`], and the notes of the timeline list the
    /// changes.
    ///
    /// # Errors
    ///
    /// Fails as [`Compiled::simulate`] does.
    #[track_caller]
    pub fn simulate_with(&self, topology: &Topology, overlap: Overlap) -> Result<Timeline> {
        self.ready.executable().simulate(topology, overlap, Location::caller())
    }

    /// Explains why the program communicates, and tries changes of one layout that would save some of this
    /// communication. If the mesh states a topology, times are predicted on it, and changes are compared by time.
    /// [`Jit::scheduled_for`] has no effect here: pass its topology to [`Compiled::explain_on`].
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the topology that it states, `machine-unknown` if
    /// the machine of this topology is not known or is that of a file, `topology-grid` if the machine has no such grid,
    /// and `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn explain(&self) -> Result<Explanation> {
        self.ready.executable().explain(None, Overlap::Off, Location::caller())
    }

    /// Explains why the program communicates, and tries changes of one layout that would save communication and time on
    /// a machine on which collectives run beside other ops as `overlap` says.
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the machine, those of [`Topology::summary`], and
    /// `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn explain_on(&self, topology: &Topology, overlap: Overlap) -> Result<Explanation> {
        self.ready.executable().explain(Some(topology), overlap, Location::caller())
    }
}

/// The memory that a program needs, in bytes. All but the peak are for one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Memory {
    /// The size of the parts of the arguments, captured arrays included, that one device holds.
    pub argument_bytes: usize,
    /// The size of the parts of the results that one device holds.
    pub result_bytes: usize,
    /// The size of the largest single value on one device, arguments and results included. A value may never be in
    /// memory if the ops that make and use it are fused.
    pub largest_bytes: usize,
    /// The largest amount in use at one time by a call, on all devices together: arguments, constants, temporaries,
    /// scratch memory and results. It is exact unless data decides: the largest branch counts, and ops without a kernel
    /// may need less. It is 0 if the engine does not know it, and `usize::MAX` if it is more than can be counted.
    pub peak_bytes: usize,
}

/// Formats the numbers: `32 bytes of arguments and 8 of results on a device, 96 at most on all devices`.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { argument_bytes, result_bytes, peak_bytes, .. } = self;
        write!(
            f,
            "{argument_bytes} bytes of arguments and {result_bytes} of results on a device, {peak_bytes} at most on all \
             devices"
        )
    }
}

impl<A: Args, R: 'static> fmt::Debug for Jit<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "jit({})", self.shared.name)
    }
}
impl<A: Args, R: 'static> fmt::Debug for Compiled<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compiled")
    }
}
impl<A, R> fmt::Debug for Lowered<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lowered")
    }
}
