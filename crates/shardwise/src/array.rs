//! The array: a handle to a value, a step of a traced program, a type without a value, or a mistake.

use crate::error::Mistakes;
use crate::manual::ManualType;
use crate::shape::sizes;
use crate::trace::{self, Traced};
use crate::{DType, Element, Error, Mesh, P, Result, Sharding, context, explicit, limits, mistakes, runtime};
use shardwise_base::{self as base, AxisRef, AxisSet, Diagnostic};
use shardwise_engine::{ArrayHandle, ShardedType};
use shardwise_ir::TensorType;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An n-dimensional array: a value, a step of a traced program, a type without a value, or a mistake.
///
/// An array is a handle: cloning it increments a reference count.
#[derive(Clone)]
#[must_use = "an op has no effect other than its result"]
pub struct Array(Arc<Node>);

pub(crate) struct Node {
    /// `None` for a mistake whose type was not determined or not kept.
    pub ty: Option<ShardedType>,
    /// The states along the manual axes of a traced array, or of a type without a value. `None` if the array was not
    /// made in manual code, and for other arrays.
    pub manual: Option<ManualType>,
    pub state: State,
    /// The line that made the array.
    pub at: &'static Location<'static>,
}

pub(crate) enum State {
    Value(Mutex<Held>),
    Traced(Traced),
    TypeOnly,
    Mistake(Mistakes),
    /// The gradient of integers or bools: it has no elements. A use of its elements is this mistake.
    Float0(Mistakes),
    /// A result of a function that leaves a layout to `.shard`, because it is ambiguous or because the mesh denies the
    /// communication. The result is made when `.shard` states its layout.
    Undecided(Undecided),
}

/// The value of an array, how to make it, or that it was deleted.
pub(crate) enum Held {
    Made(ArrayHandle),
    /// The function that makes the value when it is needed, so that `zeros(..).shard(..)` is made in its layout at
    /// once.
    New(Make),
    /// A result that is a sum over devices and is not computed yet. Its operands are held. At the first use it is
    /// computed, with the sum reduced. `.shard` with an unreduced layout computes another array, which leaves the sum
    /// unreduced.
    Sum(Sum),
    Deleted,
}

/// Makes a result with the given layout. Fails if the computation does.
type MakeIn = Arc<dyn Fn(&base::Sharding) -> Result<Made> + Send + Sync>;

/// How to make a result when its layout is decided.
#[derive(Clone)]
pub(crate) struct Decide {
    /// Makes the result with the given layout.
    pub make: MakeIn,
    /// The axes over which the layout may be unreduced.
    pub sums: Vec<AxisRef>,
}

/// A result whose layout has been decided: a value, or only its type if an argument is a type without a value.
pub(crate) enum Made {
    Value(ArrayHandle),
    Type(ShardedType),
}

pub(crate) struct Undecided {
    /// The function that makes the array in a given layout. `None` after the array was deleted.
    pub decide: Mutex<Option<Decide>>,
    /// The mistake of a use of the elements before `.shard` has decided the layout.
    pub mistake: Mistakes,
}

pub(crate) struct Sum {
    /// Makes the result with the sum reduced.
    pub take: Box<dyn Fn() -> Result<ArrayHandle> + Send + Sync>,
    /// Makes the result with a given layout, which may leave the sum unreduced.
    pub decide: Decide,
}

/// An array's state is replaced as a whole, so unwinding cannot leave one half changed.
impl std::panic::UnwindSafe for Array {}
impl std::panic::RefUnwindSafe for Array {}

/// Makes an array in a given layout, or on one device without a mesh for `None`.
type Make = Arc<dyn Fn(Option<&base::Sharding>) -> Result<ArrayHandle> + Send + Sync>;

fn look<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The type of an array. Formats as `bf16[8@X,2048@Y]`. With `{:#}`, the mesh and its axis kinds follow if the layout
/// is known, and inside `shard_map`.
///
/// Braces list the axes that split no dimension but are part of the type, as in `bf16[2,2048]{V:X}`: `V` those over
/// which the value varies (inside `shard_map`), `U` those over which it is unreduced (each device holds a summand), and
/// `R` those over which it is reduced (its gradient is unreduced).
#[derive(Clone, PartialEq)]
pub struct ArrayType {
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the dimensions.
    pub shape: Shape,
    /// The layout, as far as it is known. It is `P!()` if nothing is known, and for an array that is not on a mesh. In
    /// Auto mode, the layout of a traced array is known only for an argument of the traced function, and where the
    /// program asked for it.
    pub sharding: P,
    mesh: Option<Mesh>,
    manual: Option<ManualType>,
}

/// The sizes of an array's dimensions. Dereferences to a slice of `usize`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(pub(crate) Vec<usize>);

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
/// Formats the sizes as in types: `[8,2048]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sizes(&self.0))
    }
}
impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self.0 == other
    }
}

/// Types that are accepted as a shape: `[8, 2048]`, `[]` for a scalar, `x.shape()`, a `Vec` or a slice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected an array of sizes, as in `[8, 2048]`"
)]
pub trait IntoShape {
    /// Converts the value into a shape.
    fn into_shape(self) -> Shape;
}
impl<const N: usize> IntoShape for [usize; N] {
    fn into_shape(self) -> Shape {
        Shape(self.to_vec())
    }
}
impl IntoShape for Vec<usize> {
    fn into_shape(self) -> Shape {
        Shape(self)
    }
}
impl IntoShape for &[usize] {
    fn into_shape(self) -> Shape {
        Shape(self.to_vec())
    }
}
impl IntoShape for Shape {
    fn into_shape(self) -> Shape {
        self
    }
}
impl IntoShape for &Shape {
    fn into_shape(self) -> Shape {
        self.clone()
    }
}

impl ArrayType {
    pub(crate) fn of(ty: &ShardedType) -> ArrayType {
        ArrayType {
            dtype: DType::of(ty.ty.dtype),
            shape: Shape(ty.ty.shape.clone()),
            sharding: ty.sharding.as_ref().map_or(P::default(), P::of),
            mesh: ty.sharding.as_ref().map(|s| Mesh(s.mesh.clone())),
            manual: None,
        }
    }
}

/// Formats a type of a program, which may be quantized.
pub(crate) fn text_of(ty: &ShardedType) -> String {
    let layout = ty.sharding.as_ref().map_or(P::default(), P::of);
    type_text(ty.ty.dtype, &ty.ty.shape, &layout, None)
}

/// Formats a type as `bf16[8@X,2048@Y]{V:X}`.
fn type_text(dtype: shardwise_base::DType, shape: &[usize], layout: &P, manual: Option<&ManualType>) -> String {
    let dims: Vec<String> = shape.iter().enumerate().map(|(i, n)| format!("{n}{}", layout.dim_suffix(i))).collect();
    let states = states(layout, manual);
    let states = if states.is_empty() { String::new() } else { format!("{{{}}}", states.join(", ")) };
    format!("{}[{}]{states}", dtype.short(), dims.join(","))
}

/// Returns the states that the dimensions do not show, each with its axes: `V:X`, `U:(Y,Z)`, `R:X`.
fn states(layout: &P, manual: Option<&ManualType>) -> Vec<String> {
    let (mut unreduced, mut reduced) = (layout.unreduced_axes().to_vec(), layout.reduced_axes().to_vec());
    let mut varying = vec![];
    if let Some(manual) = manual {
        let names = |axes: &AxisSet| axes.names(&manual.scope.mesh);
        varying = names(&manual.varying);
        unreduced.extend(names(&manual.unreduced));
        reduced.extend(names(&manual.reduced));
    }
    let shown = |(state, names): (&str, Vec<String>)| match &names[..] {
        [] => None,
        [one] => Some(format!("{state}:{one}")),
        many => Some(format!("{state}:({})", many.join(","))),
    };
    [("V", varying), ("U", unreduced), ("R", reduced)].into_iter().filter_map(shown).collect()
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&type_text(self.dtype.base(), &self.shape, &self.sharding, self.manual.as_ref()))?;
        match (&self.mesh, &self.manual) {
            (_, Some(manual)) if f.alternate() => write!(f, " on ({})", manual.scope.kinds()),
            (Some(mesh), None) if f.alternate() => {
                write!(f, " on ({})", mesh.with_kinds())
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn pieces<T: Clone>(items: &[T], count: usize, len: usize) -> Vec<Vec<T>> {
    (0..count).map(|i| items[i * len..][..len].to_vec()).collect()
}

// ── making arrays
impl Array {
    fn new(ty: Option<ShardedType>, state: State, at: &'static Location<'static>) -> Array {
        Array(Arc::new(Node { ty, manual: None, state, at }))
    }

    pub(crate) fn value(handle: ArrayHandle, at: &'static Location<'static>) -> Array {
        Array::held(handle.sharded_type().clone(), Held::Made(handle), at)
    }

    /// Returns the array of `handle`. Its type has the layout of the buffers and also those axes of `stated`, the
    /// layout that the program stated, which buffers do not show: axes of size 1, and axes over which the array is
    /// reduced.
    pub(crate) fn stated_value(
        handle: ArrayHandle,
        stated: Option<&base::Sharding>,
        at: &'static Location<'static>,
    ) -> Array {
        let mut ty = handle.sharded_type().clone();
        ty.sharding = ty.sharding.map(|own| crate::layout::as_stated(own, stated));
        Array::held(ty, Held::Made(handle), at)
    }

    pub(crate) fn type_only(ty: ShardedType, at: &'static Location<'static>) -> Array {
        Array::new(Some(ty), State::TypeOnly, at)
    }

    pub(crate) fn type_in(ty: ShardedType, manual: Option<ManualType>, at: &'static Location<'static>) -> Array {
        Array(Arc::new(Node { ty: Some(ty), manual, state: State::TypeOnly, at }))
    }

    pub(crate) fn float0(ty: TensorType, at: &'static Location<'static>) -> Array {
        let wrong = Mistakes::one(mistakes::float0(&ty, &context::loc(at)));
        Array::new(Some(ShardedType { ty, sharding: None }), State::Float0(wrong), at)
    }

    pub(crate) fn deferred(ty: ShardedType, make: Make, at: &'static Location<'static>) -> Array {
        Array::held(ty, Held::New(make), at)
    }

    pub(crate) fn undecided(
        ty: ShardedType,
        decide: Decide,
        mistake: Mistakes,
        at: &'static Location<'static>,
    ) -> Array {
        let decide = Mutex::new(Some(decide));
        Array::new(Some(ty), State::Undecided(Undecided { decide, mistake }), at)
    }

    pub(crate) fn waiting_sum(ty: ShardedType, sum: Sum, at: &'static Location<'static>) -> Array {
        Array::held(ty, Held::Sum(sum), at)
    }

    fn held(ty: ShardedType, held: Held, at: &'static Location<'static>) -> Array {
        Array::new(Some(ty), State::Value(Mutex::new(held)), at)
    }

    /// Returns the array with the type that its value has in the active trace by now. Returns it unchanged if it is not
    /// traced, or if the trace is not building the value's function.
    pub(crate) fn with_current_type(self) -> Array {
        match self.traced() {
            Some(traced) if trace::with(|t| t.is_current(traced, self.0.ty.as_ref())) => self,
            Some(traced) => Array::of_traced(traced, self.0.at).in_state(self.0.manual.clone()),
            None => self,
        }
    }

    /// Returns the array of a value of the active trace, replicated along the manual axes if there are any.
    pub(crate) fn of_traced(traced: Traced, at: &'static Location<'static>) -> Array {
        let (ty, scope) = trace::with(|t| (t.value_type(traced), t.scope()));
        let manual = scope.map(|s| ManualType::replicated(&s));
        Array(Arc::new(Node {
            ty: Some(ty.expect("it was made in this trace")),
            manual,
            state: State::Traced(traced),
            at,
        }))
    }

    /// Returns this newly made value with these states along the manual axes, and records the states in the program.
    /// Returns an array that is not traced unchanged.
    pub(crate) fn made_in(&self, manual: Option<ManualType>) -> Array {
        if let (Some(traced), Some(manual)) = (self.traced(), &manual) {
            trace::with(|t| t.set_manual(traced, manual));
        }
        self.in_state(manual)
    }

    /// Returns the same value of the trace with other states along the manual axes. No op is added. Returns an array
    /// that is not traced unchanged.
    pub(crate) fn in_state(&self, manual: Option<ManualType>) -> Array {
        match self.traced() {
            Some(_) if manual.is_none() && self.0.manual.is_none() => self.clone(),
            Some(traced) => {
                let node = Node { ty: self.known_type(), manual, state: State::Traced(traced), at: self.0.at };
                Array(Arc::new(node))
            }
            None => self.clone(),
        }
    }

    /// Returns a new mistake, and records it as [`trace::record`] does. `ty` is the type that the array would have had,
    /// or `None` if that is not known.
    pub(crate) fn mistake(mistake: Diagnostic, ty: Option<ShardedType>, at: &'static Location<'static>) -> Array {
        Array::poisoned(Mistakes::one(mistake), ty, at)
    }

    /// Returns an array with these mistakes, as [`Array::mistake`] does. A type that is too large for an array counts as
    /// not known.
    pub(crate) fn poisoned(wrong: Mistakes, ty: Option<ShardedType>, at: &'static Location<'static>) -> Array {
        trace::record(&wrong);
        let ty = ty.filter(|ty| crate::shape::fits(&ty.ty));
        Array::new(ty, State::Mistake(wrong), at)
    }

    /// Creates a type without a value, for lowering a program without its data or its hardware.
    ///
    /// # Errors
    ///
    /// `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    /// dimensions.
    #[track_caller]
    pub fn of_type(shape: impl IntoShape, dtype: DType) -> Array {
        let (ty, at) = (TensorType::new(dtype.base(), shape.into_shape().0), Location::caller());
        match crate::shape::fits(&ty) {
            true => Array::type_only(ShardedType { ty, sharding: None }, at),
            false => Array::mistake(mistakes::too_large(&ty, &context::loc(at)), None, at),
        }
    }

    /// Creates an array of this shape from the parts that devices hold. `part(offset, shape)` returns the elements, in
    /// row-major order, of the part of shape `shape` that starts at index `offset` of the whole array. If a dimension
    /// is not split evenly, the last parts along it are smaller, or empty.
    ///
    /// Devices that hold the same part share one buffer, for which `part` is called once. No full copy is made.
    ///
    /// # Errors
    ///
    /// - Those of the layout (`spec-rank` and so on). The layout must be complete (`spec-unconstrained`) and must not
    ///   be an unreduced sum (`spec-unreduced`).
    /// - `part-length` if a part does not have as many elements as its shape.
    /// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn from_parts<T: Element>(
        shape: impl IntoShape,
        sharding: Sharding,
        part: impl Fn(&[usize], &[usize]) -> Vec<T> + Sync,
    ) -> Result<Array> {
        let at = Location::caller();
        let loc = context::loc(at);
        let ty = TensorType::new(T::DTYPE.base(), shape.into_shape().0);
        if !crate::shape::fits(&ty) {
            return Err(Error::one(mistakes::too_large(&ty, &loc)));
        }
        let sharding = sharding.spec.on(&sharding.mesh, &ty, &loc).map_err(Error::one)?;
        let undecided = crate::layout::nothing_decides(&sharding, None, &ty.short(), &loc);
        let wrong = undecided.or_else(|| explicit::misplaced_sum(&[], &sharding, || ty.short(), &loc));
        if let Some(d) = wrong {
            return Err(Error::one(d));
        }
        let ty = ShardedType { ty, sharding: Some(sharding.canonical()) };
        let wrong = Mutex::new(None);
        let make = |offset: &[usize], shape: &[usize]| {
            let data = part(offset, shape);
            if data.len() != shape.iter().product::<usize>() {
                let d = mistakes::part_length(offset, shape, data.len(), &loc);
                wrong.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(d);
                return base::Literal::zeros(T::DTYPE.base(), shape);
            }
            T::to_literal(shape, &data)
        };
        let handle = limits::run(at, || Ok(runtime::engine().put_shards(&ty, &make)?))?;
        match wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(d) => Err(Error::one(d)),
            None => Ok(Array::stated_value(handle, Some(&sharding), at)),
        }
    }
}

// ── what it is
impl Array {
    pub(crate) fn node(&self) -> &Node {
        &self.0
    }

    pub(crate) fn is_same(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn traced(&self) -> Option<Traced> {
        match &self.0.state {
            State::Traced(t) => Some(*t),
            _ => None,
        }
    }

    /// Returns the mistakes that the array carries, or `None` if it carries none. A `float0` array and a result whose
    /// layout is ambiguous carry the mistake that their use is. That an array was deleted is not among its mistakes.
    pub(crate) fn mistakes(&self) -> Option<&Mistakes> {
        match &self.0.state {
            State::Mistake(wrong) | State::Float0(wrong) | State::Undecided(Undecided { mistake: wrong, .. }) => {
                Some(wrong)
            }
            _ => None,
        }
    }

    /// Returns true if this is a `float0` array: the gradient of integers or bools. It has their shape and dtype, but no
    /// values, and each use of its values is an error (`float0`).
    pub fn is_float0(&self) -> bool {
        matches!(self.0.state, State::Float0(_))
    }

    pub(crate) fn is_wrong(&self) -> bool {
        self.mistakes().is_some()
    }

    pub(crate) fn is_type_only(&self) -> bool {
        matches!(self.0.state, State::TypeOnly)
    }

    pub(crate) fn known_type(&self) -> Option<ShardedType> {
        self.0.ty.clone()
    }

    pub(crate) fn short_type(&self) -> String {
        if self.is_float0() {
            return format!("float0{:?}", self.tensor().shape).replace(' ', "");
        }
        self.array_type().map_or("?".into(), |ty| ty.to_string())
    }

    fn array_type(&self) -> Option<ArrayType> {
        let manual = self.0.manual.clone();
        self.0.ty.as_ref().map(|ty| ArrayType { manual, ..ArrayType::of(ty) })
    }

    /// Returns the tensor type.
    ///
    /// For a mistake without a type, ends the trace as [`trace::end`] does. Outside of a trace, panics with the
    /// diagnostics.
    #[track_caller]
    pub(crate) fn tensor(&self) -> &TensorType {
        &self.sharded().ty
    }

    #[track_caller]
    pub(crate) fn sharded(&self) -> &ShardedType {
        match &self.0.ty {
            Some(ty) => ty,
            None if trace::is_tracing() => {
                self.mistakes().into_iter().for_each(trace::record);
                trace::end()
            }
            None => panic!("this array has no type\n{}", self.check().expect_err("only a mistake has no type")),
        }
    }

    /// Returns the type, which formats as `bf16[8@X,2048@Y]`.
    ///
    /// # Panics
    ///
    /// For a mistake whose type cannot be known, this method and the other getters panic with the diagnostics. In a
    /// trace, they end the trace instead, and the caller of the traced function gets the diagnostics as an error. A loop
    /// or branch that runs outside of a traced function panics with them.
    #[track_caller]
    pub fn ty(&self) -> ArrayType {
        self.sharded();
        self.array_type().expect("it has a type")
    }

    /// Returns the sizes of the dimensions.
    ///
    /// # Panics
    ///
    /// Panics with the diagnostics if the array is a mistake whose type cannot be known. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn shape(&self) -> Shape {
        Shape(self.tensor().shape.clone())
    }

    /// Returns the number of dimensions.
    ///
    /// # Panics
    ///
    /// Panics with the diagnostics if the array is a mistake whose type cannot be known. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn rank(&self) -> usize {
        self.tensor().rank()
    }

    /// Returns the type of the elements.
    ///
    /// # Panics
    ///
    /// Panics with the diagnostics if the array is a mistake whose type cannot be known. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn dtype(&self) -> DType {
        DType::of(self.tensor().dtype)
    }

    /// Returns the layout, or `None` if the array is not on a mesh or its layout is not known yet.
    ///
    /// # Panics
    ///
    /// Panics with the diagnostics if the array is a mistake whose type cannot be known. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn sharding(&self) -> Option<Sharding> {
        let sharding = self.sharded().sharding.as_ref()?;
        Some(Sharding { mesh: Mesh(sharding.mesh.clone()), spec: P::of(sharding) })
    }

    /// Returns the sizes of all dimensions: `let [batch, width] = x.dims();`.
    ///
    /// # Errors
    ///
    /// `rank` if the array does not have `N` dimensions. See [`ty`](Array::ty) for how this is reported.
    #[track_caller]
    pub fn dims<const N: usize>(&self) -> [usize; N] {
        let at = Location::caller();
        let ty = self.tensor();
        <[usize; N]>::try_from(&ty.shape[..]).unwrap_or_else(|_| {
            let mistake = mistakes::rank("dims", N, &self.short_type(), &context::loc(at));
            let bad = Array::mistake(mistake, None, at);
            bad.tensor();
            unreachable!("an unknown type ends the trace or panics")
        })
    }

    /// Returns the size of one dimension.
    ///
    /// # Errors
    ///
    /// `dimension` if there is no such dimension. See [`ty`](Array::ty) for how this is reported.
    #[track_caller]
    pub fn dim(&self, i: impl crate::Dim) -> usize {
        let ty = self.tensor();
        let Some(i) = i.of(ty.rank()) else {
            let at = Location::caller();
            let mistake = mistakes::dimension(&i.to_string(), &self.short_type(), &context::loc(at));
            let bad = Array::mistake(mistake, None, at);
            bad.tensor();
            unreachable!("an unknown type ends the trace or panics")
        };
        ty.shape[i]
    }

    /// Returns the number of elements.
    ///
    /// # Panics
    ///
    /// Panics with the diagnostics if the array is a mistake whose type cannot be known. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn size(&self) -> usize {
        self.tensor().size()
    }
}

// ── its value
impl Array {
    /// Returns the value, or the reason why there is none. A value that has not been made yet is made and kept, and a
    /// sum over devices is reduced.
    pub(crate) fn handle(&self, at: &'static Location<'static>) -> Result<ArrayHandle> {
        match &self.0.state {
            State::Value(held) => {
                let mut held = look(held);
                let made = match &*held {
                    Held::Made(handle) => return Ok(handle.clone()),
                    Held::New(make) => make(self.0.ty.as_ref().and_then(|ty| ty.sharding.as_ref()))?,
                    Held::Sum(sum) => (sum.take)()?,
                    Held::Deleted => return Err(self.deleted(at)),
                };
                *held = Held::Made(made.clone());
                Ok(made)
            }
            State::Traced(t) if !trace::is_open(*t) => Err(Error::one(mistakes::escaped(self, &context::loc(at)))),
            State::Traced(_) => Err(Error::one(mistakes::traced_value(&self.short_type(), &context::loc(at)))),
            State::TypeOnly => Err(Error::one(mistakes::no_value(&self.short_type(), &context::loc(at)))),
            State::Mistake(wrong) | State::Float0(wrong) | State::Undecided(Undecided { mistake: wrong, .. }) => {
                Err(wrong.error())
            }
        }
    }

    /// Returns the value in the given layout, or on one device without a mesh for `None`. A value that is not on a mesh
    /// and has not been made yet is made in this layout, and is not kept in the array.
    ///
    /// Errors: those of [`Array::handle`], and the reason why the value cannot be moved.
    pub(crate) fn handle_as(
        &self,
        sharding: Option<&base::Sharding>,
        at: &'static Location<'static>,
    ) -> Result<ArrayHandle> {
        if let Some(make) = self.unmade()
            && self.0.ty.as_ref().is_some_and(|ty| ty.sharding.is_none())
        {
            return make(sharding);
        }
        runtime::lay_out(self.handle(at)?, sharding)
    }

    /// Moves the value out of the array. A sum over devices is reduced first.
    ///
    /// Returns an array as the error: one that carries the mistakes if a sum cannot be reduced, or the array itself if
    /// another handle shares it or if it has no value that was made.
    pub(crate) fn into_handle(self) -> Result<ArrayHandle, Array> {
        let Node { ty, manual, state, at } = Arc::try_unwrap(self.0).map_err(Array)?;
        let in_state = |state| Array(Arc::new(Node { ty, manual, state, at }));
        match state {
            State::Value(held) => match held.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Held::Made(handle) => Ok(handle),
                Held::Sum(sum) => (sum.take)().map_err(|e| in_state(State::Mistake(e.into_mistakes()))),
                held => Err(in_state(State::Value(Mutex::new(held)))),
            },
            state => Err(in_state(state)),
        }
    }

    /// Returns the array in the layout `sharding` without making it, or `None` unless this array is in the state
    /// [`Held::New`].
    pub(crate) fn deferred_as(&self, sharding: &base::Sharding, at: &'static Location<'static>) -> Option<Array> {
        let ty = ShardedType { ty: self.0.ty.as_ref()?.ty.clone(), sharding: Some(sharding.clone()) };
        Some(Array::deferred(ty, self.unmade()?, at))
    }

    fn unmade(&self) -> Option<Make> {
        let State::Value(held) = &self.0.state else { return None };
        match &*look(held) {
            Held::New(make) => Some(make.clone()),
            _ => None,
        }
    }

    /// Returns how to make the array if `.shard` decides its layout: for a result whose layout is ambiguous, or a sum
    /// that `sharding` leaves unreduced. Returns `None` for any other array.
    ///
    /// Errors: `deleted` for a deleted result whose layout was ambiguous, and for any other deleted value if `sharding`
    /// is unreduced.
    pub(crate) fn decide(&self, sharding: &base::Sharding, at: &'static Location<'static>) -> Result<Option<Decide>> {
        match &self.0.state {
            State::Undecided(u) => look(&u.decide).clone().ok_or_else(|| self.deleted(at)).map(Some),
            State::Value(held) if !sharding.unreduced.is_empty() => match &*look(held) {
                Held::Sum(sum) => Ok(Some(sum.decide.clone())),
                Held::Deleted => Err(self.deleted(at)),
                Held::Made(_) | Held::New(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn deleted(&self, at: &'static Location<'static>) -> Error {
        Error::one(mistakes::deleted(&self.short_type(), &context::loc(at)))
    }

    /// Returns the array if it carries no mistakes. That it was deleted is not one.
    ///
    /// # Errors
    ///
    /// The diagnostics of a mistake, of a `float0` array, and of a result whose layout is ambiguous.
    pub fn check(&self) -> Result<&Array> {
        self.mistakes().map_or(Ok(self), |wrong| Err(wrong.error()))
    }

    /// Waits until the value is computed. An array that is made when it is needed is made now.
    ///
    /// # Errors
    ///
    /// - The diagnostics of a mistake, of a `float0` array, and of a result whose layout is ambiguous.
    /// - `no-value` for a type without a value and for a traced array.
    /// - `traced-escaped` for a traced array that is used outside of the trace, loop or branch that made it.
    /// - `deleted` for a deleted array.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    /// - `not-finite` if a value that is computed now fails a check of [`debug`](crate::debug).
    #[track_caller]
    pub fn ready(&self) -> Result<&Array> {
        let at = Location::caller();
        limits::run(at, || self.handle(at)).map(|_| self)
    }

    #[track_caller]
    pub(crate) fn literal(&self) -> Result<base::Literal> {
        let at = Location::caller();
        limits::run(at, || self.literal_at(at))
    }

    fn literal_at(&self, at: &'static Location<'static>) -> Result<base::Literal> {
        match self.known_type().and_then(|ty| ty.sharding).filter(|s| !s.unreduced.is_empty()) {
            // The value is the sum.
            Some(s) => Ok(self.handle_as(Some(&s.with_unreduced(vec![])), at)?.to_literal()),
            None => Ok(self.handle(at)?.to_literal()),
        }
    }

    /// Returns all elements of the whole array in row-major order. For an unreduced array, these are the sums.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::ready`], and `element-type` if `T` is not the array's element type.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let at = Location::caller();
        limits::run(at, || {
            let literal = self.literal_at(at)?;
            if literal.dtype() != T::DTYPE.base() {
                return Err(Error::one(mistakes::element_type(T::DTYPE, &self.short_type(), &context::loc(at))));
            }
            Ok(T::from_literal(&literal))
        })
    }

    /// Returns the rows of a matrix.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::to_vec`], and `rank` unless the array has two dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// assert_eq!(array(&[[1, 2], [3, 4]]).to_vec2::<i32>()?, [[1, 2], [3, 4]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let [rows, columns] = self.sizes_of("to_vec2", Location::caller())?;
        Ok(pieces(&self.to_vec()?, rows, columns))
    }

    /// Returns the matrices along the first dimension, each as its rows.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::to_vec`], and `rank` unless the array has three dimensions.
    #[track_caller]
    pub fn to_vec3<T: Element>(&self) -> Result<Vec<Vec<Vec<T>>>> {
        let [count, rows, columns] = self.sizes_of("to_vec3", Location::caller())?;
        Ok(pieces(&pieces(&self.to_vec()?, count * rows, columns), count, rows))
    }

    fn sizes_of<const N: usize>(&self, name: &str, at: &'static Location<'static>) -> Result<[usize; N]> {
        self.check()?;
        let mistake = || mistakes::rank(name, N, &self.short_type(), &context::loc(at));
        <[usize; N]>::try_from(&self.tensor().shape[..]).map_err(|_| Error::one(mistake()))
    }

    /// Returns the only element of an array of size 1.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::to_vec`], and `not-one-element` if the array has any other size.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.to_vec()?[..] {
            [item] => Ok(item),
            _ => Err(Error::one(mistakes::not_one(&self.short_type(), &context::loc(Location::caller())))),
        }
    }

    /// Returns the part that each device holds, in the order of the mesh. If a dimension is not split evenly, the last
    /// parts along it are smaller, or empty. The parts of an unreduced array are summands. An array that is not on a
    /// mesh has one part, on device 0.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::ready`].
    #[track_caller]
    pub fn shards(&self) -> Result<Vec<Shard>> {
        let at = Location::caller();
        limits::run(at, || self.shards_at(at))
    }

    fn shards_at(&self, at: &'static Location<'static>) -> Result<Vec<Shard>> {
        let handle = self.handle(at)?;
        let ty = handle.sharded_type();
        let Some(sharding) = &ty.sharding else {
            return Ok(vec![Shard {
                device: 0,
                coordinates: vec![],
                offset: vec![0; ty.ty.rank()],
                data: self.clone(),
            }]);
        };
        let mesh = &sharding.mesh;
        (0..mesh.size())
            .map(|position| {
                let coordinates = mesh.coordinates(position);
                let offset = shardwise_engine::layout::shard_box(&ty.ty.shape, sharding, &coordinates).offset;
                let names = mesh.axes.iter().map(|a| a.name.to_string());
                let data = Array::value(runtime::put(&handle.shard(position), None)?, at);
                Ok(Shard { device: mesh.device(position), coordinates: names.zip(coordinates).collect(), offset, data })
            })
            .collect()
    }

    /// Frees the buffers now, even if the array has clones. Later uses of the elements of the array and its clones are
    /// mistakes (`deleted`). A result whose layout is ambiguous keeps its own mistake, and `.shard` of it is `deleted`.
    /// Buffers that another array shares are freed when that array is dropped.
    ///
    /// A traced array, a type without a value, a `float0` array and a mistake hold no buffers, and do not change.
    pub fn delete(self) {
        match &self.0.state {
            State::Value(held) => *look(held) = Held::Deleted,
            State::Undecided(u) => *look(&u.decide) = None,
            State::Traced(_) | State::TypeOnly | State::Float0(_) | State::Mistake(_) => {}
        }
    }
}

/// The part of an array that one device holds.
pub struct Shard {
    /// The device's number.
    pub device: usize,
    /// The coordinates of the device: for each axis of the mesh, its name and the position along it. Empty if the array
    /// is not on a mesh.
    pub coordinates: Vec<(String, usize)>,
    /// The index in the whole array at which the part starts.
    pub offset: Vec<usize>,
    /// The elements of the part.
    pub data: Array,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shard(device {}, offset {:?}, {:?})", self.device, self.offset, self.data)
    }
}

/// Formats the values as NumPy prints them. A traced array, a type without a value and a `float0` array are formatted
/// as their types. A mistake, a result whose layout `.shard` has to state, and an array whose value was deleted or
/// cannot be made are formatted as their diagnostics.
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.state {
            State::Traced(_) | State::TypeOnly | State::Float0(_) => f.write_str(&self.short_type()),
            State::Mistake(wrong) | State::Undecided(Undecided { mistake: wrong, .. }) => wrong.error().fmt(f),
            State::Value(_) => match self.literal() {
                Ok(literal) => f.write_str(&base::display::literal(&literal)),
                Err(e) => e.fmt(f),
            },
        }
    }
}

/// Formats the type, or the first message of a mistake or of a result whose layout `.shard` has to state. Never runs
/// anything.
impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.check() {
            Err(_) if self.is_float0() => write!(f, "Array({})", self.short_type()),
            Err(e) => write!(f, "Array(mistake: {})", e.diagnostics().next().map_or("?", |d| d.message())),
            Ok(_) => write!(f, "Array({})", self.short_type()),
        }
    }
}

/// No type implements this trait. `Array` is indexed by types that implement it, so that the compiler prints the
/// message of the attribute for `x[..]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an `Array` is indexed with `.i(…)`",
    label = "`x[..4]` is `x.i(..4)`, `x[:, 0]` is `x.i((.., 0))`; to write, `x.at(…).set(…)`"
)]
pub trait IndexWithI {}
impl<I: IndexWithI> std::ops::Index<I> for Array {
    type Output = Array;
    fn index(&self, _: I) -> &Array {
        unreachable!("no type is `IndexWithI`")
    }
}
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an `Array` is compared element by element with `.eq(…)`, `.lt(…)`, …",
    label = "the result is an array of bools; for one bool, `.all(..).item()?`; in a test, `assert_equal(&a, &b)`"
)]
pub trait CompareWithMethods {}
impl<B: CompareWithMethods> PartialEq<B> for Array {
    fn eq(&self, _: &B) -> bool {
        unreachable!("no type is `CompareWithMethods`")
    }
}
impl<B: CompareWithMethods> PartialOrd<B> for Array {
    fn partial_cmp(&self, _: &B) -> Option<std::cmp::Ordering> {
        unreachable!("no type is `CompareWithMethods`")
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn an_array_that_has_no_value_keeps_its_states() {
        set_mesh(Mesh::auto([("X", 2)]).unwrap());
        let f = |x: &Array| {
            let y = x + 1.0;
            assert_eq!(y.short_type(), "f32[2]{V:X}");
            let kept = y.into_handle().err().expect("a traced array has no value");
            assert_eq!(kept.short_type(), "f32[2]{V:X}");
            kept
        };
        let y = jit(shard_map(f).in_specs(P!("X")).out_specs(P!("X")))(&arange(0..4, F32)).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
}
