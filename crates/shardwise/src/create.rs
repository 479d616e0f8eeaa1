//! Arrays made from nothing or from Rust data. An array without operands is made directly in the layout of `.shard`.

use crate::array::{Array, IntoShape, State};
use crate::dtype::Number;
use crate::eager::create;
use crate::ops::{Checked, EitherKind, Operand, Site, element, site};
use crate::reduce::wide;
use crate::shape::{infer_shape, position_dtype, same_dtype, sizes};
use crate::{DType, Element, Layout, Mesh, P, context, diagonal, explicit, hlo, limits, mistakes, runtime, trace};
use shardwise_base::{self as base, Sharding};
use shardwise_engine::ShardedType;
use shardwise_ir::TensorType;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

#[track_caller]
fn filled(name: &'static str, shape: Vec<usize>, number: Number, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape);
    site(name, &[], |s| {
        let literal = match number.as_literal(ty.dtype) {
            Ok(literal) => literal,
            Err(why) => return s.fail(Some(ty.clone()), mistakes::number(name, number, &ty.short(), why, &s.loc)),
        };
        s.fits(&ty)?;
        if trace::is_tracing() {
            return Ok(hlo::broadcast_in_dim(&hlo::constant(literal), &ty.shape, &[]));
        }
        let value = base::Literal::splat(ty.dtype, ty.shape.clone(), literal.element_bytes(0));
        let make = move |sharding: Option<&base::Sharding>| runtime::put(&value, sharding);
        Ok(Array::deferred(ShardedType { ty: ty.clone(), sharding: None }, Arc::new(make), s.at))
    })
}

fn number(n: u8, dtype: DType) -> Number {
    if dtype == DType::Bool { Number::Bool(n != 0) } else { Number::Int(n.into()) }
}

/// Creates an array of zeros (false for bools).
///
/// # Errors
///
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than
///   255 dimensions.
/// - `number-dtype` if the dtype can only be stored.
#[track_caller]
pub fn zeros(shape: impl IntoShape, dtype: DType) -> Array {
    filled("zeros", shape.into_shape().0, number(0, dtype), dtype)
}

/// Creates an array of ones (true for bools).
///
/// # Errors
///
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than
///   255 dimensions.
/// - `number-dtype` if the dtype can only be stored.
#[track_caller]
pub fn ones(shape: impl IntoShape, dtype: DType) -> Array {
    filled("ones", shape.into_shape().0, number(1, dtype), dtype)
}

/// Creates an array whose elements are all `value`: a number, or a scalar array of dtype `dtype`. Any other array of
/// this dtype is broadcast to `shape`. A number that a float dtype cannot represent is rounded.
///
/// # Errors
///
/// - `number-dtype` for a number in a dtype that can only be stored, an integer out of the range of an integer dtype, a
///   float in an integer dtype, a bool in a dtype of numbers, and a number in `Bool`.
/// - `dtype-mixed` if an array has another dtype.
/// - `broadcast` if an array cannot be broadcast to `shape`.
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
///   dimensions.
#[track_caller]
pub fn full(shape: impl IntoShape, value: impl Operand, dtype: DType) -> Array {
    let shape = shape.into_shape();
    match value.operand().0 {
        EitherKind::Number(n) => filled("full", shape.0, n, dtype),
        EitherKind::Array(a) => {
            let at = context::caller(Location::caller());
            context::within(at, || a.astype_checked("full", dtype).broadcast_to(shape))
        }
    }
}

/// Creates an array of zeros with the type and the layout of `x`. In Auto mode, the layout of a traced array is not
/// taken over. If `x` is unreduced, the array is too: each device holds zeros.
///
/// # Errors
///
/// `number-dtype` if the dtype can only be stored, and `mesh-mismatch` if `x` is on a mesh that is not the active
/// program's.
#[track_caller]
pub fn zeros_like(x: &Array) -> Array {
    like("zeros_like", x, |dtype| number(0, dtype))
}

/// Creates an array of ones with the type and the layout of `x`. In Auto mode, the layout of a traced array is not
/// taken over. If `x` is unreduced, the array is replicated over those axes: ones on each device would add up to more.
///
/// # Errors
///
/// `number-dtype` if the dtype can only be stored, and `mesh-mismatch` if `x` is on a mesh that is not the active
/// program's.
#[track_caller]
pub fn ones_like(x: &Array) -> Array {
    like("ones_like", x, |dtype| number(1, dtype))
}

/// Creates an array with the type and the layout of `x` whose elements are all `value`: a number, or a scalar array of
/// the dtype of `x`. Any other array of this dtype is broadcast to the shape of `x`. In Auto mode, the layout of a
/// traced array is not taken over. If `x` is unreduced, the array is replicated over those axes, unless `value` is the
/// number 0. A number that a float dtype cannot represent is rounded.
///
/// # Errors
///
/// - `number-dtype` for a number in a dtype that can only be stored, an integer out of the range of an integer dtype, a
///   float in an integer dtype, a bool in a dtype of numbers, and a number in `Bool`.
/// - `dtype-mixed` if an array has another dtype.
/// - `broadcast` if an array cannot be broadcast to the shape of `x`.
/// - `mesh-mismatch` if `x` is on a mesh that is not the active program's.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let x = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(full_like(&x, 0.5).to_vec2::<f32>()?, [[0.5, 0.5], [0.5, 0.5]]);
/// assert_eq!(full_like(&x, array(&[7.0f32, 8.0])).to_vec2::<f32>()?, [[7.0, 8.0], [7.0, 8.0]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn full_like(x: &Array, value: impl Operand) -> Array {
    match value.operand().0 {
        EitherKind::Number(n) => like("full_like", x, |_| n),
        EitherKind::Array(a) => site("full_like", &[x, &a], |s| {
            let to = x.tensor();
            is_right(s, x)?;
            s.broadcasts(&a, to)?;
            same_dtype(s, x, &a)?;
            Ok(in_layout_of(x, a.broadcast_to(&to.shape[..]), false, s.at))
        }),
    }
}

/// Creates an array like `x` of the number that `number` returns for its dtype.
#[track_caller]
fn like(name: &'static str, x: &Array, number: impl FnOnce(DType) -> Number) -> Array {
    site(name, &[x], |s| {
        is_right(s, x)?;
        let ty = x.tensor();
        let dtype = DType::of(ty.dtype);
        let number = number(dtype);
        let is_zero = matches!(number, Number::Bool(false) | Number::Int(0)) || number == Number::Float(0.0);
        Ok(in_layout_of(x, filled(name, ty.shape.clone(), number, dtype), is_zero, s.at))
    })
}

/// Fails with the mistakes of `x`, of which only the type is used otherwise.
fn is_right(s: &Site<'_>, x: &Array) -> Checked<()> {
    match &x.node().state {
        State::Mistake(wrong) => Err(Array::poisoned(wrong.clone(), x.known_type(), s.at)),
        _ => Ok(()),
    }
}

/// Returns `made`, a new array with the type of `x`, in its layout. In Auto mode, the layout of a traced `x` is not
/// taken over. Zeros are unreduced over the axes over which `x` is, and other numbers are not.
fn in_layout_of(x: &Array, made: Array, is_zero: bool, at: &'static Location<'static>) -> Array {
    if trace::is_tracing() {
        return traced_like(made, x, is_zero, at);
    }
    let Some(own) = x.sharded().sharding.as_ref().map(|own| summands(own, is_zero)) else { return made };
    made.deferred_as(&own, at).unwrap_or_else(|| in_layout(&made, &own, at))
}

/// Does the same as [`in_layout_of`] for an array of the active trace.
fn traced_like(made: Array, x: &Array, is_zero: bool, at: &'static Location<'static>) -> Array {
    let scope = trace::with(|t| t.scope());
    let inner = |own: &Sharding| scope.as_ref().map_or_else(|| own.clone(), |s| s.inner_sharding(own));
    let own = x.sharded().sharding.as_ref().filter(|_| x.traced().is_none() || explicit::is_typing());
    let made = match own {
        Some(own) if trace::with(|t| t.join_mesh(&Mesh(own.mesh.clone()))) => {
            let summands =
                explicit::given(x).map(|own| summands(&inner(&own), is_zero)).filter(|s| !s.unreduced.is_empty());
            match summands {
                Some(layout) => explicit::lay(&[made], &[Some(layout)]).remove(0),
                None => in_layout(&made, &inner(own).with_unreduced(vec![]), at),
            }
        }
        Some(own) => in_layout(&made, own, at),
        None => made,
    };
    match scope {
        Some(scope) if is_zero => {
            let unreduced = x.manual_in(&scope).states.unreduced;
            let state = made.manual_in(&scope).with_unreduced(&unreduced);
            made.made_in(Some(state))
        }
        _ => made,
    }
}

fn in_layout(made: &Array, layout: &Sharding, at: &'static Location<'static>) -> Array {
    let layout = crate::Sharding { mesh: Mesh(layout.mesh.clone()), spec: P::of(layout) };
    made.shard_at(layout.layout(), at)
}

/// Returns the layout for an array that is made like one in the layout `own`: `own` itself for zeros, and `own` without
/// its unreduced axes for other numbers, which cannot be the summands of all devices.
fn summands(own: &Sharding, is_zero: bool) -> Sharding {
    if is_zero { own.clone() } else { own.clone().with_unreduced(vec![]) }
}

/// Creates an array with one element and no dimensions from a number, or from an array with one element. A number that
/// a float dtype cannot represent is rounded.
///
/// # Errors
///
/// - `number-dtype` for a number in a dtype that can only be stored, an integer out of the range of an integer dtype, a
///   float in an integer dtype, a bool in a dtype of numbers, and a number in `Bool`.
/// - `dtype-mixed` if an array has another dtype.
/// - `reshape-size` if an array does not have exactly one element.
#[track_caller]
pub fn scalar(value: impl Operand, dtype: DType) -> Array {
    match value.operand().0 {
        EitherKind::Number(n) => filled("scalar", vec![], n, dtype),
        EitherKind::Array(a) => {
            let at = context::caller(Location::caller());
            context::within(at, || a.astype_checked("scalar", dtype).reshape([]))
        }
    }
}

impl Array {
    /// Creates an array of this shape from its elements in row-major order. One size may be [`INFER`](crate::INFER).
    ///
    /// # Errors
    ///
    /// - `data-size` if the shape does not have as many elements as `data`, or does not determine the size that is
    ///   `INFER`: there are several, or another size is 0.
    /// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, INFER]);
    /// assert_eq!(x.to_vec2::<i32>()?, [[1, 2, 3], [4, 5, 6]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn from_vec<T: Element>(data: Vec<T>, shape: impl IntoShape) -> Array {
        let given = shape.into_shape().0;
        site("from_vec", &[], |s| {
            let Some(shape) = infer_shape(&given, data.len()) else {
                return s.fail(None, mistakes::data_size(data.len(), &sizes(&given), &s.loc));
            };
            s.fits(&TensorType::new(T::DTYPE.base(), shape.clone()))?;
            Ok(of_elements(shape, &data, s.at))
        })
    }

    /// Returns `self`, which must have this dtype.
    ///
    /// Errors: `dtype-mixed`.
    #[track_caller]
    fn astype_checked(&self, name: &'static str, dtype: DType) -> Array {
        site(name, &[self], |s| {
            if self.tensor().dtype == dtype.base() {
                return Ok(self.clone());
            }
            let ty = TensorType::new(dtype.base(), self.tensor().shape.clone());
            s.fail(Some(ty), mistakes::dtypes(name, &self.short_type(), &dtype.to_string(), dtype, &s.loc))
        })
    }
}

/// Creates a one-dimensional array of the integers in `range`. An integer that a float dtype cannot represent is
/// rounded.
///
/// # Shapes
///
/// `dtype[end - start]`.
///
/// # Errors
///
/// - `number-dtype` for bools, for a dtype that can only be stored, and if the last integer exceeds the range of an
///   integer dtype. An empty range is never this mistake.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more.
#[track_caller]
pub fn arange(range: Range<usize>, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), [range.len()]);
    site("arange", &[], |s| {
        s.fits(&ty)?;
        let last = Number::Int(range.end.saturating_sub(1) as i128);
        if let Some(why) = last.as_literal(ty.dtype).err().filter(|_| !range.is_empty()) {
            return s.fail(Some(ty.clone()), mistakes::number("arange", last, &ty.short(), why, &s.loc));
        }
        let (made, range) = (ty.clone(), range.clone());
        Ok(create("arange", (range.start, range.end, dtype), ty.clone(), move || {
            let start = if range.is_empty() { 0 } else { range.start };
            if start == 0 && !made.dtype.is_bool() {
                return hlo::iota(made.clone(), 0);
            }
            // The sums are integers, so that each element is rounded once.
            let wide = if i32::try_from(range.end).is_ok() { base::DType::I32 } else { base::DType::U64 };
            let exact = made.dtype.is_integer() && made.dtype.is_computed();
            let dtype = if exact { made.dtype } else { wide };
            let positions = hlo::iota(TensorType::new(dtype, made.shape.clone()), 0);
            hlo::convert(&(positions + start), made.dtype)
        }))
    })
}

/// Creates a matrix with ones on its `k`-th diagonal and zeros elsewhere. Diagonal 0 is the main one, positive numbers
/// count from it to the right, and negative ones count downwards. If there is no such diagonal, all elements are 0.
///
/// # Shapes
///
/// `dtype[rows, columns]`.
///
/// # Errors
///
/// - `number-dtype` if the dtype can only be stored.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// assert_eq!(eye(2, 3, 1, I32).to_vec2::<i32>()?, [[0, 1, 0], [0, 0, 1]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eye(rows: usize, columns: usize, k: isize, dtype: DType) -> Array {
    by_place("eye", "EQ", [rows, columns], k, dtype)
}

/// Creates a square matrix with ones on its main diagonal and zeros elsewhere. [`eye`] creates those of other shapes,
/// and with ones on other diagonals.
///
/// # Shapes
///
/// `dtype[n, n]`.
///
/// # Errors
///
/// - `number-dtype` if the dtype can only be stored.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1.
#[track_caller]
pub fn identity(n: usize, dtype: DType) -> Array {
    by_place("identity", "EQ", [n, n], 0, dtype)
}

/// Creates a matrix with ones on and below its `k`-th diagonal and zeros above it. Diagonals are numbered as in
/// [`eye`].
///
/// # Shapes
///
/// `dtype[rows, columns]`.
///
/// # Errors
///
/// - `number-dtype` if the dtype can only be stored.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// assert_eq!(tri(2, 3, 0, I32).to_vec2::<i32>()?, [[1, 0, 0], [1, 1, 0]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tri(rows: usize, columns: usize, k: isize, dtype: DType) -> Array {
    by_place("tri", "GE", [rows, columns], k, dtype)
}

/// Creates a matrix with ones where the number of the row plus `k` compares with that of the column as `direction`
/// says, and zeros elsewhere.
#[track_caller]
fn by_place(name: &'static str, direction: &'static str, shape: [usize; 2], k: isize, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape);
    site(name, &[], |s| {
        s.fits(&ty)?;
        let one = number(1, dtype);
        if let Err(why) = one.as_literal(ty.dtype) {
            return s.fail(Some(ty.clone()), mistakes::number(name, one, &ty.short(), why, &s.loc));
        }
        let make = move || hlo::convert(&diagonal::mask(&shape, direction, k), dtype.base());
        Ok(create(name, (shape, k, dtype), ty.clone(), make))
    })
}

/// Creates `n` numbers from `start` to `stop`, which are the first and the last one, at equal distances. A single number
/// is `start`.
///
/// The numbers are those of `jax.numpy.linspace`, except that `bf16` and `f16` are computed in `f32` and rounded once.
///
/// # Shapes
///
/// `dtype[n]`.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// assert_eq!(linspace(-1.0, 1.0, 5, F32).to_vec::<f32>()?, [-1.0, -0.5, 0.0, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn linspace(start: f64, stop: f64, n: usize, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), [n]);
    site("linspace", &[], |s| {
        s.fits(&ty)?;
        s.makes_floats(&ty)?;
        let made = ty.clone();
        let constants = (&ty, start.to_bits(), stop.to_bits());
        Ok(create("linspace", constants, ty.clone(), move || evenly_spaced(start, stop, &made)))
    })
}

fn evenly_spaced(start: f64, stop: f64, ty: &TensorType) -> Array {
    let n = ty.shape[0];
    if n < 2 {
        return hlo::splat(&element(start, ty.dtype), &ty.shape);
    }
    let part = hlo::iota(TensorType::new(wide(ty.dtype), ty.shape.clone()), 0) / (n - 1) as f64;
    let between = (1.0 - &part) * start + part * stop;
    // Rounding would move the last number away from `stop`.
    let is_last = hlo::iota(TensorType::new(position_dtype(n), ty.shape.clone()), 0).eq(n - 1);
    hlo::convert(&is_last.select(stop, between), ty.dtype)
}

/// Rust data that can be made into an array: a slice or `Vec` of elements, or a Rust array of elements, nested up to
/// three deep.
pub trait Data {
    /// The type of one element.
    type Element: Element;
    #[doc(hidden)]
    fn sizes(&self) -> Vec<usize>;
    #[doc(hidden)]
    fn elements(&self) -> &[Self::Element];
}
impl<T: Element> Data for [T] {
    type Element = T;
    fn sizes(&self) -> Vec<usize> {
        vec![self.len()]
    }
    fn elements(&self) -> &[T] {
        self
    }
}
impl<T: Element> Data for Vec<T> {
    type Element = T;
    fn sizes(&self) -> Vec<usize> {
        vec![self.len()]
    }
    fn elements(&self) -> &[T] {
        self
    }
}
impl<T: Element, const N: usize> Data for [T; N] {
    type Element = T;
    fn sizes(&self) -> Vec<usize> {
        vec![N]
    }
    fn elements(&self) -> &[T] {
        self
    }
}
impl<T: Element, const N: usize, const M: usize> Data for [[T; N]; M] {
    type Element = T;
    fn sizes(&self) -> Vec<usize> {
        vec![M, N]
    }
    fn elements(&self) -> &[T] {
        self.as_flattened()
    }
}
impl<T: Element, const N: usize, const M: usize, const L: usize> Data for [[[T; N]; M]; L] {
    type Element = T;
    fn sizes(&self) -> Vec<usize> {
        vec![L, M, N]
    }
    fn elements(&self) -> &[T] {
        self.as_flattened().as_flattened()
    }
}

/// Creates an array from Rust data: `array(&[1.0f32, 2.0])`, `array(&[[1, 2], [3, 4]])`. [`Array::from_vec`] creates an
/// array of any shape.
///
/// # Errors
///
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1.
/// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
///
/// The array carries the error.
#[track_caller]
pub fn array<D: Data + ?Sized>(data: &D) -> Array {
    site("array", &[], |s| {
        s.fits(&TensorType::new(D::Element::DTYPE.base(), data.sizes()))?;
        Ok(of_elements(data.sizes(), data.elements(), s.at))
    })
}

fn of_elements<T: Element>(shape: Vec<usize>, elements: &[T], at: &'static Location<'static>) -> Array {
    match limits::run(at, || Ok(T::to_literal(&shape, elements))) {
        Ok(literal) => from_literal(literal, at),
        Err(e) => {
            let ty = TensorType::new(T::DTYPE.base(), shape);
            Array::poisoned(e.into_mistakes(), Some(ShardedType { ty, sharding: None }), at)
        }
    }
}

/// Creates a constant of the active trace. Outside of a trace, creates a value, which becomes an argument of the
/// programs that use it.
pub(crate) fn from_literal(literal: base::Literal, at: &'static Location<'static>) -> Array {
    if trace::is_tracing() {
        return context::within(at, || hlo::constant(literal));
    }
    let ty = TensorType::new(literal.dtype(), literal.shape());
    let make = move |sharding: Option<&base::Sharding>| runtime::put(&literal, sharding);
    Array::deferred(ShardedType { ty, sharding: None }, Arc::new(make), at)
}
