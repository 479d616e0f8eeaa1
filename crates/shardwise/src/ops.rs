//! Operands, dimensions, operators, and elementwise functions.

#[cfg(test)]
mod tests;

use crate::array::{Array, State};
use crate::dtype::{Misfit, Number};
use crate::eager::call;
use crate::error::Mistakes;
use crate::{DType, context, hlo, mistakes, runtime, shape, trace};
use shardwise_base::{self as base, DTypeKind, Diagnostic, Literal, Loc};
use shardwise_engine::ShardedType;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use shardwise_ops::control::OptimizationBarrier;
use std::fmt::Display;
use std::ops::*;
use std::panic::Location;
use std::sync::Arc;

// ── operands
/// Types that can be an operand: an array, by value or by reference, or a Rust number or bool. Beside an array, a
/// number takes the array's dtype.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a function of arrays",
    label = "expected `Array`, `&Array`, `bool`, `f32`, `f64`, `isize`, `usize`, or an integer of 32 or 64 bits"
)]
pub trait Operand {
    #[doc(hidden)]
    fn operand(self) -> Either;
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Either(pub(crate) EitherKind);

#[derive(Debug)]
pub(crate) enum EitherKind {
    Array(Array),
    Number(Number),
}

impl Either {
    /// Returns the array, or `None` for a number.
    pub(crate) fn array(&self) -> Option<&Array> {
        match &self.0 {
            EitherKind::Array(a) => Some(a),
            EitherKind::Number(_) => None,
        }
    }
}

impl Operand for Array {
    fn operand(self) -> Either {
        Either(EitherKind::Array(self))
    }
}
impl Operand for &Array {
    fn operand(self) -> Either {
        self.clone().operand()
    }
}
impl Operand for bool {
    fn operand(self) -> Either {
        Either(EitherKind::Number(Number::Bool(self)))
    }
}
macro_rules! numbers {
    ($($t:ty => $kind:ident $as:ty),*) => { $(
        impl Operand for $t {
            fn operand(self) -> Either { Either(EitherKind::Number(Number::$kind(self as $as))) }
        }
    )* };
}
numbers!(f32 => Float f64, f64 => Float f64, i32 => Int i128, i64 => Int i128, u32 => Int i128, u64 => Int i128,
    isize => Int i128, usize => Int i128);

/// Types that can be an operand which must be an array: an array, by value or by reference. Functions that also accept
/// numbers take an [`Operand`].
///
/// ```
/// # use shardwise::prelude::*;
/// let x = ones([2, 3], F32);
/// assert_eq!(x.matmul(x.t()).shape(), x.matmul(&x.t()).shape());
/// ```
///
/// ```compile_fail,E0277
/// # use shardwise::prelude::*;
/// ones([2, 3], F32).matmul(2.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array",
    label = "expected `Array` or `&Array`",
    note = "`scalar` and `full` make an array of a number"
)]
pub trait AsArray {
    /// Returns the array.
    fn as_array(&self) -> &Array;
}
impl AsArray for Array {
    fn as_array(&self) -> &Array {
        self
    }
}
impl<T: AsArray> AsArray for &T {
    fn as_array(&self) -> &Array {
        (**self).as_array()
    }
}

// ── dimensions
/// Types that name a dimension. Negative numbers count from the last dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name a dimension",
    label = "expected `usize`, `isize`, `i32` or `i64`; negative numbers count from the last dimension"
)]
pub trait Dim: Copy + Display {
    /// Returns the index of the dimension in an array of this rank, or `None` if there is no such dimension.
    #[doc(hidden)]
    fn of(self, rank: usize) -> Option<usize>;
}

/// Types that name dimensions: one, an array of them, a `Vec<usize>`, or `..` for all. [`keep`] keeps them in the
/// result with size 1.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name dimensions",
    label = "expected `usize`, `isize`, `i32` or `i64`, an array of one of these, `..`, or `keep(…)` of these"
)]
pub trait Dims {
    /// Returns the indices of the dimensions in an array of this rank, in the given order. Fails with the text of the
    /// first one that does not exist.
    #[doc(hidden)]
    fn places(&self, rank: usize) -> Result<Vec<usize>, String>;
    #[doc(hidden)]
    fn keep(&self) -> bool {
        false
    }
}

macro_rules! dims {
    ($($t:ty),*) => { $(
        impl Dim for $t {
            fn of(self, rank: usize) -> Option<usize> {
                let i = self as i128;
                usize::try_from(if i < 0 { i + rank as i128 } else { i }).ok().filter(|&i| i < rank)
            }
        }
        impl Dims for $t {
            fn places(&self, rank: usize) -> Result<Vec<usize>, String> { [*self].places(rank) }
        }
        impl<const N: usize> Dims for [$t; N] {
            fn places(&self, rank: usize) -> Result<Vec<usize>, String> {
                self.iter().map(|d| d.of(rank).ok_or_else(|| d.to_string())).collect()
            }
        }
    )* };
}
dims!(usize, i32, i64, isize);

impl Dims for RangeFull {
    fn places(&self, rank: usize) -> Result<Vec<usize>, String> {
        Ok((0..rank).collect())
    }
}
impl Dims for Vec<usize> {
    fn places(&self, rank: usize) -> Result<Vec<usize>, String> {
        self.iter().map(|d| d.of(rank).ok_or_else(|| d.to_string())).collect()
    }
}

/// The result of [`keep`].
#[derive(Clone, Copy, Debug)]
pub struct Keep<D>(D);

impl<D: Dims> Dims for Keep<D> {
    fn places(&self, rank: usize) -> Result<Vec<usize>, String> {
        self.0.places(rank)
    }
    fn keep(&self) -> bool {
        true
    }
}

/// Names the dimensions of a reduction that keeps them with size 1: `x.sum(keep(0))`.
pub fn keep<D: Dims>(dims: D) -> Keep<D> {
    Keep(dims)
}

// ── the call of an array function
/// The result of a check or function, or an array that is a mistake.
pub(crate) type Checked<T = Array> = std::result::Result<T, Array>;

/// A call of an array function: its name and location.
pub(crate) struct Site<'a> {
    pub name: &'static str,
    pub at: &'static Location<'static>,
    pub loc: Loc,
    /// The operands, in two lists.
    operands: [&'a [&'a Array]; 2],
}

/// Runs a function of `operands`. Inside `f`, their types are known, and mistakes get the location of the caller. If
/// the type of an operand is not known, `f` does not run, and the result is an array with the operands' mistakes.
#[track_caller]
pub(crate) fn site(name: &'static str, operands: &[&Array], f: impl FnOnce(&Site<'_>) -> Checked) -> Array {
    site_of(name, [operands, &[]], f)
}

/// Checks the operands of a function with several results, as [`site`] does. There must be at least one operand.
/// Returns what `check` returns. If `check` fails or the type of an operand is not known, fails with an array of the
/// mistakes, which is to be each of the results.
#[track_caller]
pub(crate) fn checked<T>(
    name: &'static str,
    operands: &[&Array],
    check: impl FnOnce(&Site<'_>) -> Checked<T>,
) -> Result<T, Array> {
    let mut found = None;
    let bad = site(name, operands, |s| {
        found = Some(check(s)?);
        Ok(operands[0].clone())
    });
    found.ok_or(bad)
}

/// Runs a function of the operands in both lists as [`site`] does.
#[track_caller]
fn site_of(name: &'static str, operands: [&[&Array]; 2], f: impl FnOnce(&Site<'_>) -> Checked) -> Array {
    let at = context::caller(Location::caller());
    if operands.into_iter().flatten().any(|a| a.node().ty.is_none()) {
        return Array::poisoned(wrong(operands).expect("only a mistake has no type"), None, at);
    }
    let site = Site { name, at, loc: context::loc(at), operands };
    context::within(at, || f(&site)).unwrap_or_else(|bad| bad)
}

/// Returns the mistakes of the operands, or `None` if no operand is a mistake or a `float0` array. An operand whose
/// layout is not decided is not a mistake by itself.
fn wrong(operands: [&[&Array]; 2]) -> Option<Mistakes> {
    Mistakes::join(operands.into_iter().flatten().filter_map(|a| match &a.node().state {
        State::Mistake(wrong) | State::Float0(wrong) => Some(wrong),
        _ => None,
    }))
}

impl Site<'_> {
    /// Fails with an array that carries `mistake` and would have had type `ty`, which is `None` if it is not known. If
    /// operands are mistakes or `float0` arrays, the array carries their mistakes instead.
    pub fn fail<T>(&self, ty: Option<TensorType>, mistake: Diagnostic) -> Checked<T> {
        let ty = ty.map(|ty| ShardedType { ty, sharding: None });
        let wrong = wrong(self.operands).unwrap_or_else(|| Mistakes::one(mistake));
        Err(Array::poisoned(wrong, ty, self.at))
    }

    /// Checks that an array can have this type.
    ///
    /// Errors: `too-large`.
    pub fn fits(&self, ty: &TensorType) -> Checked<()> {
        if shape::fits(ty) { Ok(()) } else { self.fail(None, mistakes::too_large(ty, &self.loc)) }
    }

    /// Checks that `n`, a number of positions in `x`, is at most `i32::MAX`.
    ///
    /// Errors: `too-large`.
    pub fn counts(&self, x: &Array, n: usize) -> Checked<()> {
        match i32::try_from(n) {
            Ok(_) => Ok(()),
            Err(_) => self.fail(None, mistakes::too_many(self.name, n, x.short_type(), &self.loc)),
        }
    }

    /// Returns the index of a dimension of `x`.
    ///
    /// Errors: `dimension`.
    pub fn dim(&self, x: &Array, dim: impl Dim) -> Checked<usize> {
        match dim.of(x.tensor().rank()) {
            Some(dim) => Ok(dim),
            None => self.fail(None, mistakes::dimension(&dim.to_string(), &x.short_type(), &self.loc)),
        }
    }

    /// Returns the indices of dimensions of `x`, sorted.
    ///
    /// Errors: `dimension`, `dimension-twice`.
    pub fn dims(&self, x: &Array, dims: &impl Dims) -> Checked<Vec<usize>> {
        let mut places = self.dims_in_order(x, dims)?;
        places.sort_unstable();
        Ok(places)
    }

    /// Returns the indices of dimensions of `x` in the given order.
    ///
    /// Errors: `dimension`, `dimension-twice`.
    pub fn dims_in_order(&self, x: &Array, dims: &impl Dims) -> Checked<Vec<usize>> {
        let places = match dims.places(x.tensor().rank()) {
            Ok(places) => places,
            Err(bad) => return self.fail(None, mistakes::dimension(&bad, &x.short_type(), &self.loc)),
        };
        let mut sorted = places.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|w| w[0] == w[1]) {
            Some(w) => self.fail(None, mistakes::dimension_twice(self.name, w[0], &x.short_type(), &self.loc)),
            None => Ok(places),
        }
    }

    /// Checks that `is_right` returns true for the dtype of `x`. `expected` and `help` are for the message, and an
    /// empty `help` is left out.
    ///
    /// Errors: `dtype-kind`.
    pub fn kind(&self, x: &Array, is_right: impl Fn(base::DType) -> bool, expected: &str, help: &str) -> Checked<()> {
        if is_right(x.tensor().dtype) {
            return Ok(());
        }
        let d = mistakes::wrong_kind(self.name, &x.short_type(), expected, help, &self.loc);
        self.fail(Some(x.tensor().clone()), d)
    }

    /// Checks that the function is defined for the dtype of `x`.
    ///
    /// Errors: `dtype-kind`.
    pub fn has(&self, x: &Array, kinds: Kinds) -> Checked<()> {
        self.kind(x, |d| kinds.has(d), kinds.words(), kinds.help(x.tensor().dtype))
    }

    /// Checks that a new array of type `ty` can hold results of floating-point arithmetic.
    ///
    /// Errors: `dtype-kind`.
    pub fn makes_floats(&self, ty: &TensorType) -> Checked<()> {
        if Kinds::Floats.has(ty.dtype) {
            return Ok(());
        }
        let d = mistakes::wrong_kind(self.name, &ty.short(), "f16, bf16, f32 or f64", "", &self.loc);
        self.fail(Some(ty.clone()), d)
    }

    /// Checks that the array can be broadcast to the shape of `to`, the type of the result.
    ///
    /// Errors: `broadcast`.
    pub fn broadcasts(&self, x: &Array, to: &TensorType) -> Checked<()> {
        if broadcast_shape(&x.tensor().shape, &to.shape).as_ref() == Some(&to.shape) {
            return Ok(());
        }
        let d = mistakes::broadcast_to(self.name, &x.short_type(), &shape::sizes(&to.shape), &self.loc);
        self.fail(Some(to.clone()), d)
    }

    /// Returns the other operand as an array. A number takes the dtype of `x`.
    ///
    /// Errors: `number-dtype`.
    pub fn beside(&self, other: Either, x: &Array) -> Checked {
        match other.0 {
            EitherKind::Array(a) => Ok(a),
            EitherKind::Number(n) => self.number(n, x),
        }
    }

    fn number(&self, n: Number, x: &Array) -> Checked {
        match n.as_literal(x.tensor().dtype) {
            Ok(literal) => Ok(scalar_of(literal, self.at)),
            Err(why) => {
                self.fail(Some(x.tensor().clone()), mistakes::number(self.name, n, &x.short_type(), why, &self.loc))
            }
        }
    }

    /// Returns the shape to which both arrays broadcast. They must have the same dtype.
    ///
    /// Errors: `broadcast`, `dtype-mixed`.
    pub fn broadcast(&self, a: &Array, b: &Array) -> Checked<Vec<usize>> {
        let (x, y) = (a.tensor(), b.tensor());
        let Some(shape) = broadcast_shape(&x.shape, &y.shape) else {
            return self.fail(None, mistakes::broadcast(self.name, &a.short_type(), &b.short_type(), &self.loc));
        };
        if x.dtype != y.dtype {
            let ty = TensorType::new(x.dtype, shape);
            let to = DType::of(if x.dtype.is_computed() { x.dtype } else { y.dtype });
            let d = mistakes::dtypes(self.name, &a.short_type(), &b.short_type(), to, &self.loc);
            return self.fail(Some(ty), d);
        }
        Ok(shape)
    }
}

pub(crate) fn scalar_of(literal: Literal, at: &'static Location<'static>) -> Array {
    if trace::is_tracing() {
        return context::within(at, || hlo::constant(literal));
    }
    let ty = TensorType::scalar(literal.dtype());
    let make = move |sharding: Option<&base::Sharding>| runtime::put(&literal, sharding);
    Array::deferred(ShardedType { ty, sharding: None }, Arc::new(make), at)
}

pub(crate) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank)
        .map(|i| match (size(a, i), size(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// Runs a function of two operands, at least one of which is an array, and of the arrays `others`. A number becomes an
/// array of the other operand's dtype. Two numbers are the mistake `no-array`.
#[track_caller]
fn pair(
    name: &'static str,
    others: &[&Array],
    a: Either,
    b: Either,
    f: impl FnOnce(&Site<'_>, &Array, &Array) -> Checked,
) -> Array {
    match (a.0, b.0) {
        (EitherKind::Array(a), EitherKind::Array(b)) => site_of(name, [others, &[&a, &b]], |s| f(s, &a, &b)),
        (EitherKind::Array(a), EitherKind::Number(n)) => {
            site_of(name, [others, &[&a]], |s| f(s, &a, &s.number(n, &a)?))
        }
        (EitherKind::Number(n), EitherKind::Array(b)) => {
            site_of(name, [others, &[&b]], |s| f(s, &s.number(n, &b)?, &b))
        }
        (EitherKind::Number(_), EitherKind::Number(_)) => {
            site(name, others, |s| s.fail(None, mistakes::two_numbers(s.name, &s.loc)))
        }
    }
}

/// Runs an op of two operands that are broadcast to one shape.
///
/// Errors: `broadcast`, `dtype-mixed`, `number-dtype`, `dtype-kind` unless the dtype is one of `kinds`, `no-array` for
/// two numbers, and `too-large`.
#[track_caller]
pub(crate) fn binary(name: &'static str, a: Either, b: Either, kinds: Kinds, f: fn(&Array, &Array) -> Array) -> Array {
    binary_of(name, "", a, b, kinds, f)
}

/// Runs an op of two operands as [`binary`] does, which is the part `part` of the function `name`.
#[track_caller]
fn binary_of(
    name: &'static str,
    part: &'static str,
    a: Either,
    b: Either,
    kinds: Kinds,
    f: fn(&Array, &Array) -> Array,
) -> Array {
    pair(name, &[], a, b, |s, a, b| {
        let shape = s.broadcast(a, b)?;
        s.has(a, kinds)?;
        let constants = (part, &shape);
        Ok(call(name, constants, [a, b], |[a, b]| f(&hlo::broadcast_to(a, &shape), &hlo::broadcast_to(b, &shape))))
    })
}

/// The dtypes for which a function is defined. Dtypes that can only be stored and converted are in none of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    Any,
    /// Integers, floats, complex numbers.
    Numbers,
    /// Integers and floats.
    Ordered,
    /// Floats and complex numbers.
    Inexact,
    Floats,
    Integers,
    /// Integers and bools.
    Bits,
}

impl Kinds {
    pub fn has(self, d: base::DType) -> bool {
        let kind = d.kind();
        d.is_computed()
            && match self {
                Kinds::Any => true,
                Kinds::Numbers => kind != DTypeKind::Bool,
                Kinds::Ordered => !matches!(kind, DTypeKind::Bool | DTypeKind::Complex),
                Kinds::Inexact => matches!(kind, DTypeKind::Float | DTypeKind::Complex),
                Kinds::Floats => kind == DTypeKind::Float,
                Kinds::Integers => matches!(kind, DTypeKind::Signed | DTypeKind::Unsigned),
                Kinds::Bits => matches!(kind, DTypeKind::Bool | DTypeKind::Signed | DTypeKind::Unsigned),
            }
    }

    pub fn words(self) -> &'static str {
        match self {
            Kinds::Any => "an array of a dtype that has arithmetic",
            Kinds::Numbers => "an array of numbers",
            Kinds::Ordered => "an array of integers or floats",
            Kinds::Inexact => "an array of floats or complex numbers",
            Kinds::Floats => "an array of floats",
            Kinds::Integers => "an array of integers",
            Kinds::Bits => "an array of integers or bools",
        }
    }

    /// Returns how to convert an array of dtype `found`, or an empty text if there is no advice.
    pub fn help(self, found: base::DType) -> &'static str {
        match self {
            _ if !found.is_computed() => "this dtype has no arithmetic: convert the array first with `.astype(..)`",
            Kinds::Inexact | Kinds::Floats if !found.is_complex() => "convert the array first: `.astype(F32)`",
            Kinds::Numbers | Kinds::Ordered if found.is_bool() => {
                "convert the array first: `.astype(I32)`, or `.astype(F32)` for a float"
            }
            Kinds::Integers if found.is_bool() => "convert the array first: `.astype(I32)`",
            _ => "",
        }
    }
}

macro_rules! hlo_binary {
    ($($f:ident $op:ident),* $(,)?) => {
        mod prim { $( pub(super) fn $f(a: &super::Array, b: &super::Array) -> super::Array { super::hlo::binary(super::Opcode::$op, a, b) } )* }
    };
}
hlo_binary!(add Add, sub Subtract, mul Multiply, div Divide,
    rem Remainder, bitand And, bitor Or, bitxor Xor,
    maximum Maximum, minimum Minimum, pow Power, shl ShiftLeft,
    atan2 Atan2);

/// Implements an operator for every right-hand side, so that the type of `(x + 1e-6).rsqrt()` can be inferred.
macro_rules! operators {
    ($($op:ident $f:ident $assign:ident $g:ident $kinds:ident),* $(,)?) => { $(
        impl<B: Operand> $op<B> for Array {
            type Output = Array;
            #[track_caller]
            fn $f(self, b: B) -> Array { binary(stringify!($f), self.operand(), b.operand(), Kinds::$kinds, prim::$f) }
        }
        impl<B: Operand> $op<B> for &Array {
            type Output = Array;
            #[track_caller]
            fn $f(self, b: B) -> Array { binary(stringify!($f), self.operand(), b.operand(), Kinds::$kinds, prim::$f) }
        }
        impl<B: Operand> $assign<B> for Array {
            #[track_caller]
            fn $g(&mut self, b: B) { *self = binary(stringify!($f), (&*self).operand(), b.operand(), Kinds::$kinds, prim::$f) }
        }
    )* };
}
operators!(Add add AddAssign add_assign Numbers, Sub sub SubAssign sub_assign Numbers,
    Mul mul MulAssign mul_assign Numbers, Div div DivAssign div_assign Numbers, Rem rem RemAssign rem_assign Ordered,
    BitAnd bitand BitAndAssign bitand_assign Bits, BitOr bitor BitOrAssign bitor_assign Bits,
    BitXor bitxor BitXorAssign bitxor_assign Bits);

/// Implements operators with a number on the left. Literals get their type from these impls, so there is one float type
/// and one integer type.
macro_rules! left {
    ($($t:ty),*) => { $( left!($t: Add add Numbers, Sub sub Numbers, Mul mul Numbers, Div div Numbers, Rem rem Ordered); )* };
    ($t:ty: $($op:ident $f:ident $kinds:ident),*) => { $(
        impl $op<Array> for $t {
            type Output = Array;
            #[track_caller]
            fn $f(self, b: Array) -> Array { binary(stringify!($f), self.operand(), b.operand(), Kinds::$kinds, prim::$f) }
        }
        impl $op<&Array> for $t {
            type Output = Array;
            #[track_caller]
            fn $f(self, b: &Array) -> Array { binary(stringify!($f), self.operand(), b.operand(), Kinds::$kinds, prim::$f) }
        }
    )* };
}
left!(f64, usize);

impl Neg for Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        -&self
    }
}
impl Neg for &Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        unary("neg", self, Kinds::Numbers, |x| hlo::unary(Opcode::Negate, x))
    }
}
impl Not for Array {
    type Output = Array;
    #[track_caller]
    fn not(self) -> Array {
        !&self
    }
}
impl Not for &Array {
    type Output = Array;
    #[track_caller]
    fn not(self) -> Array {
        unary("not", self, Kinds::Bits, |x| hlo::unary(Opcode::Not, x))
    }
}
impl std::iter::Sum for Array {
    /// Sums the arrays.
    ///
    /// # Panics
    ///
    /// Panics if there are no arrays, because their sum has no type.
    #[track_caller]
    fn sum<I: Iterator<Item = Array>>(mut iter: I) -> Array {
        let mut sum = iter.next().expect("a sum of at least one array");
        for a in iter {
            sum += a;
        }
        sum
    }
}

// ── one operand
#[track_caller]
pub(crate) fn unary(name: &'static str, x: &Array, kinds: Kinds, f: fn(&Array) -> Array) -> Array {
    site(name, &[x], |s| {
        s.has(x, kinds)?;
        Ok(call(name, (), [x], |[x]| f(x)))
    })
}

macro_rules! unary {
    ($($(#[$doc:meta])* $f:ident $kinds:ident $body:expr;)*) => {
        /// Elementwise functions. The result has the shape of `self`.
        ///
        /// # Errors
        ///
        /// `dtype-kind` if the function is not defined for the dtype.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self) -> Array { unary(stringify!($f), self, Kinds::$kinds, $body) }
        )* }

        #[cfg(test)]
        pub(crate) const UNARY: &[(&str, fn(&Array) -> Array)] = &[$((stringify!($f), Array::$f)),*];
    };
}

/// Returns `ln(1 + exp(x))`. Both sides of 0 are differentiable any number of times, which `maximum` and `abs` are not
/// at 0.
fn softplus(x: &Array) -> Array {
    let is_positive = x.gt(0.0);
    is_positive.select(x, 0.0) + is_positive.select(-x, x).exp().ln_1p()
}

unary! {
    /// Returns `x * x`.
    square Numbers |x| hlo::binary(Opcode::Multiply, x, x);
    /// Returns the square root.
    sqrt Inexact |x| hlo::unary(Opcode::Sqrt, x);
    /// Returns the cube root.
    cbrt Inexact |x| hlo::unary(Opcode::Cbrt, x);
    /// Returns `1 / sqrt(x)`.
    rsqrt Inexact |x| hlo::unary(Opcode::Rsqrt, x);
    /// Returns `e^x`.
    exp Inexact |x| hlo::unary(Opcode::Exponential, x);
    /// Returns `exp(x) - 1`, accurately near 0.
    exp_m1 Inexact |x| hlo::unary(Opcode::ExponentialMinusOne, x);
    /// Returns the natural logarithm.
    ln Inexact |x| hlo::unary(Opcode::Log, x);
    /// Returns `ln(1 + x)`, accurately near 0.
    ln_1p Inexact |x| hlo::unary(Opcode::LogPlusOne, x);
    /// Returns the sine.
    sin Inexact |x| hlo::unary(Opcode::Sine, x);
    /// Returns the cosine.
    cos Inexact |x| hlo::unary(Opcode::Cosine, x);
    /// Returns the tangent.
    tan Inexact |x| hlo::unary(Opcode::Tan, x);
    /// Returns the inverse of the sine, from -π/2 to π/2; NaN for floats below -1 and above 1.
    asin Inexact |x| hlo::unary(Opcode::ChloAsin, x);
    /// Returns the inverse of the cosine, from 0 to π; NaN for floats below -1 and above 1.
    acos Inexact |x| hlo::unary(Opcode::ChloAcos, x);
    /// Returns the inverse of the tangent, from -π/2 to π/2.
    atan Inexact |x| hlo::unary(Opcode::ChloAtan, x);
    /// Returns the hyperbolic sine.
    sinh Inexact |x| hlo::unary(Opcode::ChloSinh, x);
    /// Returns the hyperbolic cosine.
    cosh Inexact |x| hlo::unary(Opcode::ChloCosh, x);
    /// Returns the inverse of the hyperbolic sine.
    asinh Inexact |x| hlo::unary(Opcode::ChloAsinh, x);
    /// Returns the inverse of the hyperbolic cosine; NaN for floats below 1.
    acosh Inexact |x| hlo::unary(Opcode::ChloAcosh, x);
    /// Returns the inverse of the hyperbolic tangent; infinite for the floats -1 and 1, and NaN for those beyond them.
    atanh Inexact |x| hlo::unary(Opcode::ChloAtanh, x);
    /// Returns the hyperbolic tangent.
    tanh Inexact |x| hlo::unary(Opcode::Tanh, x);
    /// Returns the absolute value, which is a real number for complex ones. The smallest signed integer has none and
    /// stays as it is.
    abs Numbers |x| if x.tensor().dtype.kind() == DTypeKind::Unsigned { x.clone() } else { hlo::real(Opcode::Abs, x) };
    /// Returns the real part, which is the element itself unless the elements are complex.
    real Inexact |x| hlo::real(Opcode::Real, x);
    /// Returns the imaginary part, which is 0 unless the elements are complex.
    imag Inexact |x| hlo::real(Opcode::Imag, x);
    /// Returns -1, 0 or 1, with the sign of the element. Returns NaN for NaN.
    sign Ordered |x| if x.tensor().dtype.kind() == DTypeKind::Unsigned { x.minimum(1) } else { hlo::unary(Opcode::Sign, x) };
    /// Rounds down to an integer.
    floor Floats |x| hlo::unary(Opcode::Floor, x);
    /// Rounds up to an integer.
    ceil Floats |x| hlo::unary(Opcode::Ceil, x);
    /// Rounds to the nearest integer, and halves away from zero, as Rust's `round` does.
    round Floats |x| hlo::unary(Opcode::RoundNearestAfz, x);
    /// Rounds to the nearest integer, and halves to the even one, as NumPy's `round` does.
    round_ties_even Floats |x| hlo::unary(Opcode::RoundNearestEven, x);
    /// Returns `1 / x`.
    recip Inexact |x| 1.0 / x;
    /// Returns `max(x, 0)`. The derivative at 0 is 0.
    relu Ordered |x| x.le(0).select(0, x);
    /// Returns `min(max(x, 0), 6)`. The derivative at 0 and at 6 is 0.
    relu6 Floats |x| x.le(0.0).select(0.0, x.ge(6.0).select(6.0, x));
    /// Returns `relu6(x + 3) / 6`, an approximation of `sigmoid` in straight lines.
    hard_sigmoid Floats |x| (x + 3.0).relu6() / 6.0;
    /// Returns `x * hard_sigmoid(x)`. This is also called hard swish.
    hard_silu Floats |x| x * x.hard_sigmoid();
    /// Returns -1 below -1, 1 above 1, and `x` between.
    hard_tanh Floats |x| x.gt(1.0).select(1.0, x.lt(-1.0).select(-1.0, x));
    /// Returns `x / (1 + |x|)`.
    soft_sign Floats |x| x / (x.abs() + 1.0);
    /// Returns `x * tanh(softplus(x))`.
    mish Floats |x| x * softplus(x).tanh();
    /// Returns ELU with the scale and the factor for which activations keep their mean and variance.
    ///
    /// Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    selu Floats |x| x.elu(1.673_263_242_354_377_2) * 1.050_700_987_355_480_5;
    /// Returns `1 / (1 + exp(-x))`.
    sigmoid Inexact |x| hlo::unary(Opcode::Logistic, x);
    /// Returns `x * sigmoid(x)`.
    silu Inexact |x| x * hlo::unary(Opcode::Logistic, x);
    /// Returns the tanh approximation of GELU, which is JAX's default.
    gelu Inexact |x| {
        let inner = (x + x.square() * x * 0.044715) * (2.0 / std::f64::consts::PI).sqrt();
        x * ((inner.tanh() + 1.0) * 0.5)
    };
    /// Returns GELU itself, `x * P(a standard normal number is below x)`. This is JAX's `gelu` with
    /// `approximate=False`.
    gelu_exact Floats |x| x * (hlo::unary(Opcode::ChloErfc, &(x * -std::f64::consts::FRAC_1_SQRT_2)) * 0.5);
    /// Returns `ln(sigmoid(x))`, without overflow.
    log_sigmoid Floats |x| -softplus(&-x);
    /// Returns `ln(1 + exp(x))`, without overflow.
    softplus Floats softplus;
    /// Returns the error function.
    erf Floats |x| hlo::unary(Opcode::ChloErf, x);
    /// Returns the inverse of `erf`; infinite for -1 and 1, and NaN for numbers beyond them.
    erf_inv Floats |x| hlo::unary(Opcode::ChloErfInv, x);
    /// Returns `1 - erf(x)`, accurately for large `x`.
    erfc Floats |x| hlo::unary(Opcode::ChloErfc, x);
    /// Returns the natural logarithm of the absolute value of the gamma function; infinite at its poles.
    lgamma Floats |x| hlo::unary(Opcode::ChloLgamma, x);
    /// Returns the derivative of `lgamma`; NaN at its poles.
    digamma Floats |x| hlo::unary(Opcode::ChloDigamma, x);
    /// Returns `e^-|x|` times the modified Bessel function of the first kind of order one.
    bessel_i1e Floats |x| hlo::unary(Opcode::ChloBesselI1e, x);
    /// Returns true where the element is NaN.
    is_nan Inexact |x| hlo::compare("NE", x, x);
    /// Returns true where the element is neither infinite nor NaN.
    is_finite Floats |x| hlo::op(Opcode::IsFinite, &[x], Default::default(), TensorType::new(base::DType::I1, x.tensor().shape.clone()));
}

// ── two operands
macro_rules! methods {
    ($($(#[$doc:meta])* $f:ident $kinds:ident $body:expr;)*) => {
        /// Elementwise functions of two operands, which are broadcast.
        ///
        /// # Errors
        ///
        /// - `broadcast` if the arrays cannot be broadcast together.
        /// - `dtype-mixed` if they have different dtypes.
        /// - `number-dtype` if a number does not fit the array's dtype: a float for integers, a bool for numbers, a
        ///   number for bools, an integer that is out of range, or any number for a dtype that can only be stored.
        /// - `dtype-kind` if the function is not defined for the dtype.
        /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self, b: impl Operand) -> Array {
                binary(stringify!($f), self.operand(), b.operand(), Kinds::$kinds, $body)
            }
        )* }

        /// The functions, applied to an array and itself.
        #[cfg(test)]
        pub(crate) const BINARY: &[(&str, fn(&Array) -> Array)] = &[$((stringify!($f), |x| x.$f(x))),*];
    };
}

methods! {
    /// Returns true where the elements are equal.
    eq Any |a, b| hlo::compare("EQ", a, b);
    /// Returns true where the elements differ.
    ne Any |a, b| hlo::compare("NE", a, b);
    /// Returns true where the element is less than that of `b`.
    lt Ordered |a, b| hlo::compare("LT", a, b);
    /// Returns true where the element is less than or equal to that of `b`.
    le Ordered |a, b| hlo::compare("LE", a, b);
    /// Returns true where the element is greater than that of `b`.
    gt Ordered |a, b| hlo::compare("GT", a, b);
    /// Returns true where the element is greater than or equal to that of `b`.
    ge Ordered |a, b| hlo::compare("GE", a, b);
    /// Returns the larger element of each pair, or NaN if one of them is NaN. (`max` is a reduction.)
    maximum Ordered prim::maximum;
    /// Returns the smaller element of each pair, or NaN if one of them is NaN. (`min` is a reduction.)
    minimum Ordered prim::minimum;
    /// Returns the remainder with the sign of `b`, as Python's `%` does. For a positive `b`, this is Rust's
    /// `rem_euclid`. If `b` is 0, an integer stays as it is, and the remainder of a float is NaN.
    rem_euclid Ordered rem_euclid;
    /// Raises the elements to the powers in `b`. A power of integers wraps. A power of integers with a negative
    /// exponent is rounded towards 0: it is 0 unless the base is 1 or -1.
    pow Numbers prim::pow;
    /// Returns the angle of the points with `y` in `self` and `x` in `b`, in radians.
    atan2 Inexact prim::atan2;
    /// Shifts the bits to the left by `b`. A shift by the width, by more, or by a negative number shifts all bits out.
    shl Integers prim::shl;
    /// Shifts the bits to the right by `b`: arithmetically for signed integers, and logically for others. A shift by
    /// the width, by more, or by a negative number shifts all bits out: the result is -1 for a negative number, and 0
    /// otherwise.
    shr Integers |a, b| match a.tensor().dtype.kind() {
        DTypeKind::Signed => hlo::binary(Opcode::ShiftRightArithmetic, a, b),
        _ => hlo::binary(Opcode::ShiftRightLogical, a, b),
    };
}

fn rem_euclid(a: &Array, b: &Array) -> Array {
    let rem = hlo::binary(Opcode::Remainder, a, b);
    let zero = hlo::zeros(a.tensor());
    let differs = hlo::compare("LT", &rem, &zero).ne(hlo::compare("LT", b, &zero));
    hlo::select(&(differs & hlo::compare("NE", &rem, &zero)), &prim::add(&rem, b), &rem)
}

impl Array {
    /// Converts the elements to another dtype. Numbers are rounded to floats. Floats are truncated to integers, those
    /// out of range become the nearest integer of the dtype, and NaN becomes 0. Integers wrap. A bool is `x != 0`.
    /// Complex numbers that become another dtype lose their imaginary part first, unless that dtype is complex, too.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` if `dtype` is a type that can only be stored.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
    #[track_caller]
    pub fn astype(&self, dtype: DType) -> Array {
        site("astype", &[self], |s| {
            let computed = |d: base::DType| d.is_computed();
            if !computed(dtype.base()) {
                let ty = TensorType::new(dtype.base(), self.tensor().shape.clone());
                let d = mistakes::wrong_kind("astype", &dtype.to_string(), "a dtype that has arithmetic", "", &s.loc);
                return s.fail(Some(ty), d);
            }
            Ok(call("astype", dtype, [self], |[x]| hlo::convert(x, dtype.base())))
        })
    }

    /// Returns the array itself, as a constant for derivatives: no gradient passes through the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::grad;
    /// # fn main() -> Result<()> {
    /// let f = grad(|x: &Array| x * x.stop_gradient());
    /// assert_eq!(f(&scalar(3.0, F32)).to_vec::<f32>()?, [3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn stop_gradient(&self) -> Array {
        call("stop_gradient", (), [self], |[x]| {
            hlo::op(Opcode::OptimizationBarrier, &[x], OptimizationBarrier::stop_gradient(), x.tensor().clone())
        })
    }

    /// Returns `a` where `self` is true, and `b` elsewhere. All three are broadcast.
    ///
    /// # Errors
    ///
    /// The errors of [`select`].
    #[track_caller]
    pub fn select(&self, a: impl Operand, b: impl Operand) -> Array {
        select(self, a, b)
    }

    /// Returns `min(max(self, low), high)`.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::maximum`].
    #[track_caller]
    pub fn clamp(&self, low: impl Operand, high: impl Operand) -> Array {
        let at = context::caller(Location::caller());
        let bound = |part, x: &Array, by: Either, f| binary_of("clamp", part, x.operand(), by, Kinds::Ordered, f);
        context::within(at, || {
            let raised = bound("low", self, low.operand(), prim::maximum);
            bound("high", &raised, high.operand(), prim::minimum)
        })
    }
}

/// Returns `a` where `mask` is true, and `b` elsewhere. All three are broadcast.
///
/// # Errors
///
/// - `dtype-kind` unless the mask holds bools.
/// - `broadcast` if the shapes of the mask, `a` and `b` cannot be broadcast together.
/// - `dtype-mixed` if `a` and `b` have different dtypes, and `number-dtype` if a number does not fit the other's dtype.
/// - `no-array` if both `a` and `b` are numbers.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
#[track_caller]
pub fn select(mask: &Array, a: impl Operand, b: impl Operand) -> Array {
    pair("select", &[mask], a.operand(), b.operand(), |s, a, b| {
        let shape = s.broadcast(a, b)?;
        s.kind(mask, base::DType::is_bool, "a mask of bools", "compare the array first: `.ne(0)`")?;
        let Some(shape) = broadcast_shape(&shape, &mask.tensor().shape) else {
            let others = format!("{}, {}", a.short_type(), b.short_type());
            return s.fail(None, mistakes::broadcast("select", &mask.short_type(), &others, &s.loc));
        };
        Ok(call("select", &shape, [mask, a, b], |[mask, a, b]| {
            hlo::select(&hlo::broadcast_to(mask, &shape), &hlo::broadcast_to(a, &shape), &hlo::broadcast_to(b, &shape))
        }))
    })
}

/// Returns the number as one element of the dtype: rounded for floats, without its fraction for integers, and true for
/// `bool` unless it is 0. Panics if an integer type does not contain the number, or if no ops compute with the dtype.
pub(crate) fn element(n: f64, dtype: base::DType) -> Literal {
    let number = match dtype.kind() {
        DTypeKind::Bool => Number::Bool(n != 0.0),
        DTypeKind::Float | DTypeKind::Complex | DTypeKind::Quantized => Number::Float(n),
        DTypeKind::Signed | DTypeKind::Unsigned => Number::Int(n as i128),
    };
    number.as_literal(dtype).unwrap_or_else(|why: Misfit| unreachable!("{n} in {dtype}: {why:?}"))
}
