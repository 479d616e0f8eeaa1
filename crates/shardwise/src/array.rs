//! The array: a handle of a value on a mesh, of a step of a traced program, of a type without a value, or of a mistake.

use crate::error::Mistakes;
use crate::manual::{AxisSet, ManualType};
use crate::trace::{self, Traced};
use crate::{DType, Element, Error, Mesh, P, Result, Sharding, context, explicit, limits, mistakes, runtime};
use shardwise_base::{self as base, AxisRef, Diagnostic};
use shardwise_engine::{ArrayHandle, ShardedType};
use shardwise_ir::TensorType;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An n-dimensional array: a value on a mesh, a step of a traced program, a type without a value, or a mistake.
/// A handle: cloning costs a reference count.
#[derive(Clone)]
#[must_use = "an op has no effect but its result"]
pub struct Array(Arc<Node>);

pub(crate) struct Node {
    /// `None`: a mistake whose type cannot be known.
    pub ty: Option<ShardedType>,
    /// Its states along manual axes; `None` outside of manual code.
    pub manual: Option<ManualType>,
    pub state: State,
    /// The line that made it.
    pub at: &'static Location<'static>,
}

pub(crate) enum State {
    Value(Mutex<Held>),
    Traced(Traced),
    TypeOnly,
    Mistake(Mistakes),
    /// The result of a function whose layout is not clear: made when `.shard` says how it lies.
    Undecided(Undecided),
}

/// What an array with a value holds.
pub(crate) enum Held {
    Made(ArrayHandle),
    /// How it is made, when and where it is needed: `zeros(..).shard(..)` never holds all of it in one place.
    New(Make),
    /// A sum over devices: taken when it is used, unless `.shard` leaves it open.
    Sum(Sum),
    Deleted,
}

/// Makes a result, laid out so.
pub(crate) type Decide = Arc<dyn Fn(&base::Sharding) -> Result<Made> + Send + Sync>;

/// What has been decided: a value, or its type where there are no values.
pub(crate) enum Made {
    Value(ArrayHandle),
    Type(ShardedType),
}

/// A function's result that waits for its layout.
pub(crate) struct Undecided {
    /// Makes it, laid out so; `None`: deleted.
    pub make: Mutex<Option<Decide>>,
    /// What any other use is.
    pub question: Mistakes,
}

/// A function's result that is a sum over devices.
pub(crate) struct Sum {
    /// Makes it as is usual.
    pub take: Box<dyn Fn() -> Result<ArrayHandle> + Send + Sync>,
    /// Makes it, laid out so.
    pub make: Decide,
}

/// What an array is does not change but as a whole: an unwinding program leaves none half made.
impl std::panic::UnwindSafe for Array {}
impl std::panic::RefUnwindSafe for Array {}

/// Makes an array laid out in a given way.
type Make = Arc<dyn Fn(Option<&base::Sharding>) -> Result<ArrayHandle> + Send + Sync>;

/// What an array holds, whether or not another thread has panicked while it looked.
fn look<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The type of an array, printed as `bf16[8@X,2048@Y]`; with `{:#}`, mesh and axis kinds as well. In `shard_map`, as
/// `bf16[2,2048]{V:X}`: `V` names the axes that the value varies over, `U` those it is unreduced over (each device holds
/// a summand), `R` those it is reduced over (its gradient is unreduced).
#[derive(Clone, PartialEq)]
pub struct ArrayType {
    pub dtype: DType,
    pub shape: Shape,
    /// How it is laid out, as far as this is known: in Auto mode a traced array's layout is, where it was asked for.
    pub sharding: P,
    mesh: Option<Mesh>,
    manual: Option<ManualType>,
}

/// The sizes of an array's dimensions; a slice of `usize`.
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
impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self.0 == other
    }
}

/// The sizes of an array's dimensions: `[8, 2048]`, `[]` for a scalar, `x.shape()`, a `Vec` or a slice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected an array of sizes, as in `[8, 2048]`"
)]
pub trait IntoShape {
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

impl ArrayType {
    /// The axes in each state that the dimensions do not show: `V:X`, `U:(Y,Z)`, `R:X`.
    fn states(&self) -> Vec<String> {
        let mut unreduced = self.sharding.unreduced_axes().to_vec();
        let (mut varying, mut reduced) = (vec![], self.sharding.reduced_axes().to_vec());
        if let Some(manual) = &self.manual {
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
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> =
            self.shape.iter().enumerate().map(|(i, n)| format!("{n}{}", self.sharding.dim_suffix(i))).collect();
        write!(f, "{}[{}]", self.dtype, dims.join(","))?;
        let states = self.states();
        if !states.is_empty() {
            write!(f, "{{{}}}", states.join(", "))?;
        }
        match (&self.mesh, &self.manual) {
            (_, Some(manual)) if f.alternate() => write!(f, " on ({})", manual.scope.kinds()),
            (Some(mesh), None) if f.alternate() => {
                let axes: Vec<String> =
                    mesh.0.axes.iter().map(|a| format!("{}={} {:?}", a.name, a.size, a.kind)).collect();
                write!(f, " on ({})", axes.join(", "))
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

// ── making arrays
impl Array {
    fn new(ty: Option<ShardedType>, state: State, at: &'static Location<'static>) -> Array {
        Array(Arc::new(Node { ty, manual: None, state, at }))
    }

    pub(crate) fn value(handle: ArrayHandle, at: &'static Location<'static>) -> Array {
        Array::held(handle.sharded_type().clone(), Held::Made(handle), at)
    }

    /// The same, reduced over these axes: what lies on devices does not say.
    pub(crate) fn reduced_value(handle: ArrayHandle, over: &[AxisRef], at: &'static Location<'static>) -> Array {
        let mut ty = handle.sharded_type().clone();
        if let Some(sharding) = &mut ty.sharding {
            sharding.reduced = over.to_vec();
        }
        Array::held(ty, Held::Made(handle), at)
    }

    pub(crate) fn type_only(ty: ShardedType, at: &'static Location<'static>) -> Array {
        Array::new(Some(ty), State::TypeOnly, at)
    }

    pub(crate) fn deferred(ty: ShardedType, make: Make, at: &'static Location<'static>) -> Array {
        Array::held(ty, Held::New(make), at)
    }

    pub(crate) fn undecided(
        ty: ShardedType,
        make: Decide,
        question: Mistakes,
        at: &'static Location<'static>,
    ) -> Array {
        let make = Mutex::new(Some(make));
        Array::new(Some(ty), State::Undecided(Undecided { make, question }), at)
    }

    pub(crate) fn waiting_sum(ty: ShardedType, sum: Sum, at: &'static Location<'static>) -> Array {
        Array::held(ty, Held::Sum(sum), at)
    }

    fn held(ty: ShardedType, held: Held, at: &'static Location<'static>) -> Array {
        Array::new(Some(ty), State::Value(Mutex::new(held)), at)
    }

    /// The same step of the trace, with what is known of its type by now.
    pub(crate) fn with_current_type(self) -> Array {
        match self.traced() {
            Some(traced) if trace::with(|t| t.is_current(traced, self.0.ty.as_ref())) => self,
            Some(traced) => Array::of_traced(traced, self.0.at).in_state(self.0.manual.clone()),
            None => self,
        }
    }

    /// A value of the trace under way, equal along the manual axes if there are any.
    pub(crate) fn of_traced(traced: Traced, at: &'static Location<'static>) -> Array {
        let (ty, scope) = trace::with(|t| (t.value_type(traced), t.scope()));
        let manual = scope.map(|s| ManualType::uniform(&s));
        Array(Arc::new(Node {
            ty: Some(ty.expect("it was made in this trace")),
            manual,
            state: State::Traced(traced),
            at,
        }))
    }

    /// A value that has just been made, in these states along the manual axes, which the program notes.
    pub(crate) fn made_in(&self, manual: Option<ManualType>) -> Array {
        if let (Some(traced), Some(manual)) = (self.traced(), &manual) {
            trace::with(|t| t.set_manual(traced, manual));
        }
        self.in_state(manual)
    }

    /// The same value of the trace under way, in these states along the manual axes: a cast, which costs nothing.
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

    /// A new mistake, noted in the trace under way; `ty`: what the array would have been.
    pub(crate) fn mistake(mistake: Diagnostic, ty: Option<ShardedType>, at: &'static Location<'static>) -> Array {
        Array::poisoned(Mistakes::one(mistake), ty, at)
    }

    pub(crate) fn poisoned(wrong: Mistakes, ty: Option<ShardedType>, at: &'static Location<'static>) -> Array {
        trace::record(&wrong);
        Array::new(ty, State::Mistake(wrong), at)
    }

    /// A type without a value: enough to lower a program for data, or hardware, that is not here.
    ///
    /// Errors: `too-large`.
    #[track_caller]
    pub fn of_type(shape: impl IntoShape, dtype: DType) -> Array {
        let (ty, at) = (TensorType::new(dtype.base(), shape.into_shape().0), Location::caller());
        match crate::shape::fits(&ty) {
            true => Array::type_only(ShardedType { ty, sharding: None }, at),
            false => Array::mistake(mistakes::too_large(&ty, &context::loc(at)), None, at),
        }
    }

    /// Each device's part made by itself: `part(offset, shape)` gives its elements, row-major. Devices that hold the same
    /// part share one; no full copy is made.
    ///
    /// Errors: those of the layout (`spec-rank`, …), which must not be open (`spec-unconstrained`) nor a sum yet to be taken
    /// (`spec-unreduced`); `part-length` if a part has another number of elements.
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
        let wrong = undecided.or_else(|| explicit::misplaced_sum(None, &sharding, || ty.short(), &loc));
        if let Some(d) = wrong {
            return Err(Error::one(d));
        }
        let reduced = sharding.reduced.clone();
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
            None => Ok(Array::reduced_value(handle, &reduced, at)),
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

    /// What keeps the array from being used, if anything does.
    pub(crate) fn mistakes(&self) -> Option<&Mistakes> {
        match &self.0.state {
            State::Mistake(wrong) | State::Undecided(Undecided { question: wrong, .. }) => Some(wrong),
            _ => None,
        }
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

    /// The type, if known, else `?`: for messages.
    pub(crate) fn short_type(&self) -> String {
        self.array_type().map_or("?".into(), |ty| ty.to_string())
    }

    fn array_type(&self) -> Option<ArrayType> {
        let manual = self.0.manual.clone();
        self.0.ty.as_ref().map(|ty| ArrayType { manual, ..ArrayType::of(ty) })
    }

    /// The type. Of a mistake without one: ends the trace (the call that traces returns the diagnostics); outside of
    /// a trace, panics with them.
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

    /// Prints as `bf16[8@X,2048@Y]`.
    ///
    /// Of a mistake whose type cannot be known, this and the functions below end the trace, whose caller returns the
    /// diagnostics; outside of a trace they panic with them.
    #[track_caller]
    pub fn ty(&self) -> ArrayType {
        self.sharded();
        self.array_type().expect("it has a type")
    }

    #[track_caller]
    pub fn shape(&self) -> Shape {
        Shape(self.tensor().shape.clone())
    }

    #[track_caller]
    pub fn rank(&self) -> usize {
        self.tensor().rank()
    }

    #[track_caller]
    pub fn dtype(&self) -> DType {
        DType::of(self.tensor().dtype)
    }

    /// The layout, if the array lies on a mesh.
    #[track_caller]
    pub fn sharding(&self) -> Option<Sharding> {
        let sharding = self.sharded().sharding.as_ref()?;
        Some(Sharding { mesh: Mesh(sharding.mesh.clone()), spec: P::of(sharding) })
    }

    /// `let [batch, width] = x.dims();` checks the rank (`rank`) and names the sizes.
    #[track_caller]
    pub fn dims<const N: usize>(&self) -> [usize; N] {
        let at = Location::caller();
        let ty = self.tensor();
        <[usize; N]>::try_from(&ty.shape[..]).unwrap_or_else(|_| {
            let mistake = mistakes::rank(N, &self.short_type(), &context::loc(at));
            let bad = Array::mistake(mistake, None, at);
            bad.tensor();
            unreachable!("an unknown type ends the trace or panics")
        })
    }

    /// The size of one dimension.
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

    /// The number of elements.
    #[track_caller]
    pub fn size(&self) -> usize {
        self.tensor().size()
    }
}

// ── its value
impl Array {
    /// The value. `Err`: why there is none.
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
            State::Mistake(wrong) | State::Undecided(Undecided { question: wrong, .. }) => Err(wrong.error()),
        }
    }

    /// The value, laid out so; made so if it has not been made yet.
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

    /// The value, given away if no other handle holds it.
    pub(crate) fn into_handle(self) -> Result<ArrayHandle, Array> {
        let node = Arc::try_unwrap(self.0).map_err(Array)?;
        match node.state {
            State::Value(held) => match held.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Held::Made(handle) => Ok(handle),
                Held::Sum(sum) => {
                    (sum.take)().map_err(|e| Array::new(node.ty, State::Mistake(e.into_mistakes()), node.at))
                }
                held => Err(Array::new(node.ty, State::Value(Mutex::new(held)), node.at)),
            },
            state => Err(Array::new(node.ty, state, node.at)),
        }
    }

    /// The same array in another layout that has yet to be made, if it has itself yet to be made.
    pub(crate) fn deferred_as(&self, sharding: &base::Sharding, at: &'static Location<'static>) -> Option<Array> {
        let ty = ShardedType { ty: self.0.ty.as_ref()?.ty.clone(), sharding: Some(sharding.clone()) };
        Some(Array::deferred(ty, self.unmade()?, at))
    }

    /// How the array is made, if that has yet to happen.
    fn unmade(&self) -> Option<Make> {
        let State::Value(held) = &self.0.state else { return None };
        match &*look(held) {
            Held::New(make) => Some(make.clone()),
            _ => None,
        }
    }

    /// How the array is made where `.shard` decides its layout: one whose layout is not clear, or a sum that it leaves
    /// open.
    pub(crate) fn decide(&self, sharding: &base::Sharding, at: &'static Location<'static>) -> Result<Option<Decide>> {
        match &self.0.state {
            State::Undecided(u) => look(&u.make).clone().ok_or_else(|| self.deleted(at)).map(Some),
            State::Value(held) if !sharding.unreduced.is_empty() => match &*look(held) {
                Held::Sum(sum) => Ok(Some(sum.make.clone())),
                Held::Deleted => Err(self.deleted(at)),
                Held::Made(_) | Held::New(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn deleted(&self, at: &'static Location<'static>) -> Error {
        Error::one(mistakes::deleted(&self.short_type(), &context::loc(at)))
    }

    /// `Err` with the diagnostics if this array is a mistake.
    pub fn check(&self) -> Result<&Array> {
        self.mistakes().map_or(Ok(self), |wrong| Err(wrong.error()))
    }

    /// Waits until the value is there.
    ///
    /// Errors: the diagnostics of a mistake; `no-value` for a type without a value and for a traced array.
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

    /// All elements, row-major, of the whole array.
    ///
    /// Errors: as [`Array::ready`]; `element-type` if `T` is not the array's.
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

    /// The one element of an array of size 1.
    ///
    /// Errors: as [`Array::to_vec`]; `not-one-element` for another size.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.to_vec()?[..] {
            [item] => Ok(item),
            _ => Err(Error::one(mistakes::not_one(&self.short_type(), &context::loc(Location::caller())))),
        }
    }

    /// What each device holds, in the order of the mesh.
    ///
    /// Errors: as [`Array::ready`].
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

    /// Frees the buffers now, whoever else holds the handle, or what they would be made of: what uses the array afterwards
    /// is a mistake (`deleted`). A traced array, a type and a mistake hold nothing, and stay what they are.
    pub fn delete(self) {
        match &self.0.state {
            State::Value(held) => *look(held) = Held::Deleted,
            State::Undecided(u) => *look(&u.make) = None,
            State::Traced(_) | State::TypeOnly | State::Mistake(_) => {}
        }
    }
}

/// The part of an array that one device holds.
pub struct Shard {
    pub device: usize,
    /// The device's place: for each axis of the mesh, its name and the coordinate.
    pub coordinates: Vec<(String, usize)>,
    /// Where the part starts in the whole array.
    pub offset: Vec<usize>,
    pub data: Array,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shard(device {}, offset {:?}, {:?})", self.device, self.offset, self.data)
    }
}

/// The values, as NumPy prints them; the type for a traced array, the diagnostics for a mistake.
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.state {
            State::Traced(_) | State::TypeOnly => f.write_str(&self.short_type()),
            State::Mistake(wrong) | State::Undecided(Undecided { question: wrong, .. }) => wrong.error().fmt(f),
            State::Value(_) => match self.literal() {
                Ok(literal) => f.write_str(&crate::display::literal(&literal)),
                Err(e) => e.fmt(f),
            },
        }
    }
}

/// The type; never runs anything.
impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.check() {
            Err(e) => write!(f, "Array(mistake: {})", e.diagnostics().next().map_or("?", |d| d.message())),
            Ok(_) => write!(f, "Array({})", self.short_type()),
        }
    }
}

/// Never implemented: these impls are here for their messages.
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
    message = "an `Array` is compared element by element, with `.eq(…)`, `.lt(…)`, …",
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
