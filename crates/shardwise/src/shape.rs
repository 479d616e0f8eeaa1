//! Functions that reshape, move, repeat and split arrays.

use crate::array::{Array, IntoShape};
use crate::eager::{call, call_many};
use crate::explicit::decided;
use crate::ops::{AsArray, Checked, Dim, Dims, EitherKind, Operand, Site, checked, site};
use crate::{DType, context, explicit, hlo, mistakes};
use shardwise_base::{self as base, counted};
use shardwise_ir::TensorType;
use std::borrow::Borrow;
use std::ops::Range;
use std::panic::Location;

/// The size in a shape for [`Array::reshape`] or [`Array::from_vec`] that is computed from the others.
pub const INFER: usize = usize::MAX;

const MAX_RANK: usize = 255;

/// Returns true if an array can have this type: it has at most 255 dimensions and less than 2^59 bytes. A dimension of
/// size 0 counts as size 1 here, so that no product of sizes overflows.
pub(crate) fn fits(ty: &TensorType) -> bool {
    let bytes = ty.shape.iter().try_fold(ty.dtype.storage_bytes(), |bytes, &n| bytes.checked_mul(n.max(1)));
    ty.rank() <= MAX_RANK && bytes.is_some_and(|bytes| bytes <= isize::MAX as usize / 16)
}

/// Returns a dtype for the positions below `n`: `i32` if it can represent `n`, and `i64` otherwise.
pub(crate) fn position_dtype(n: usize) -> base::DType {
    if n <= i32::MAX as usize { base::DType::I32 } else { base::DType::I64 }
}

/// Converts integers to [`position_dtype`] of `n`. Returns them as they are if their own type has arithmetic and can
/// represent `n`.
pub(crate) fn as_positions(x: &Array, n: usize) -> Array {
    let own = x.tensor().dtype;
    let fits = own.is_computed() && own.integer_range().1 >= n as i128;
    if fits { x.clone() } else { hlo::convert(x, position_dtype(n)) }
}

/// Returns `shape` with [`INFER`] replaced by the size with which the shape has `size` elements. Returns `None` if
/// there is no such size, if several sizes are [`INFER`], or if another size is 0.
///
/// Without [`INFER`], returns `shape` if it has `size` elements, and `None` otherwise.
pub(crate) fn infer_shape(shape: &[usize], size: usize) -> Option<Vec<usize>> {
    let mut sizes = shape.iter().filter(|&&n| n != INFER);
    let known = if shape.contains(&0) { 0 } else { sizes.try_fold(1usize, |a, &n| a.checked_mul(n))? };
    match shape.iter().filter(|&&n| n == INFER).count() {
        0 => (known == size).then(|| shape.to_vec()),
        1 if known > 0 && size.is_multiple_of(known) => {
            Some(shape.iter().map(|&n| if n == INFER { size / known } else { n }).collect())
        }
        _ => None,
    }
}

/// Formats the sizes of a shape: `[2,INFER]`.
pub(crate) fn sizes(shape: &[usize]) -> String {
    let words: Vec<String> = shape.iter().map(|&n| if n == INFER { "INFER".into() } else { n.to_string() }).collect();
    format!("[{}]", words.join(","))
}

impl Array {
    /// Returns the elements in another shape, in row-major order as in NumPy. One size may be [`INFER`].
    ///
    /// # Errors
    ///
    /// - `reshape-size` if the number of elements differs, or a size that is `INFER` cannot be computed.
    /// - `too-large` if the array would have more than 255 dimensions, or 2^59 bytes or more, where a size of 0 counts
    ///   as 1.
    #[track_caller]
    pub fn reshape(&self, shape: impl IntoShape) -> Array {
        let shape = shape.into_shape().0;
        site("reshape", &[self], |s| {
            let x = self.tensor();
            let Some(to) = infer_shape(&shape, x.size()) else {
                let ty = (!shape.contains(&INFER)).then(|| TensorType::new(x.dtype, shape.clone()));
                let facts = format!("{} to {}: {} elements", self.short_type(), sizes(&shape), x.size());
                let message = "`reshape`: the elements cannot be arranged in this shape".to_string();
                let help = "one size may be `INFER` if the others determine it";
                return s.fail(ty, mistakes::with_facts("reshape-size", message, facts, help, &s.loc));
            };
            Ok(call("reshape", &to, [self], |[x]| hlo::reshape(x, &to)))
        })
    }

    /// Permutes the dimensions. Dimension `i` of the result is dimension `order[i]` of `self`.
    ///
    /// # Errors
    ///
    /// `transpose-order` unless `order` names each dimension exactly once.
    #[track_caller]
    pub fn transpose<const N: usize>(&self, order: [usize; N]) -> Array {
        site("transpose", &[self], |s| {
            let mut sorted = order;
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..self.tensor().rank()) {
                let message = format!("`transpose`: {order:?} is not a permutation of the dimensions");
                return s.fail(None, mistakes::with_facts("transpose-order", message, self.short_type(), "", &s.loc));
            }
            Ok(call("transpose", order, [self], |[x]| hlo::transpose(x, &order)))
        })
    }

    /// Swaps the last two dimensions.
    ///
    /// # Errors
    ///
    /// `dimension` if there are fewer than two dimensions.
    #[track_caller]
    pub fn t(&self) -> Array {
        site("t", &[self], |s| {
            let rank = self.tensor().rank();
            s.dim(self, -2)?;
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(rank - 1, rank - 2);
            Ok(call("t", (), [self], |[x]| hlo::transpose(x, &order)))
        })
    }

    /// Broadcasts the array to `shape`. Dimensions are matched from the last one, and those of size 1 are repeated.
    ///
    /// # Errors
    ///
    /// - `broadcast` if the shapes do not match.
    /// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Array {
        let shape = shape.into_shape().0;
        site("broadcast_to", &[self], |s| {
            s.broadcasts(self, &TensorType::new(self.tensor().dtype, shape.clone()))?;
            Ok(call("broadcast_to", &shape, [self], |[x]| hlo::broadcast_to(x, &shape)))
        })
    }

    /// Removes a dimension of size 1.
    ///
    /// # Errors
    ///
    /// `dimension` if there is no such dimension, and `squeeze` if its size is not 1.
    #[track_caller]
    pub fn squeeze(&self, dim: impl Dim) -> Array {
        site("squeeze", &[self], |s| {
            let dim = s.dim(self, dim)?;
            let mut shape = self.tensor().shape.clone();
            if shape.remove(dim) != 1 {
                let message = format!("`squeeze` needs a dimension of size 1, and dimension {dim} has another size");
                return s.fail(None, mistakes::with_facts("squeeze", message, self.short_type(), "", &s.loc));
            }
            Ok(call("squeeze", dim, [self], |[x]| hlo::reshape(x, &shape)))
        })
    }

    /// Inserts a dimension of size 1 at index `dim` of the result.
    ///
    /// # Errors
    ///
    /// - `dimension` if `dim` is out of range.
    /// - `too-large` if the result would have more than 255 dimensions.
    #[track_caller]
    pub fn expand_dims(&self, dim: impl Dim) -> Array {
        site("expand_dims", &[self], |s| {
            let dim = new_dim(s, self, dim)?;
            let mut shape = self.tensor().shape.clone();
            shape.insert(dim, 1);
            Ok(call("expand_dims", dim, [self], |[x]| hlo::reshape(x, &shape)))
        })
    }

    /// Repeats each element `times` times along `dim`.
    ///
    /// # Shapes
    ///
    /// `f32[n, d] -> f32[n * times, d]` for `dim` 0.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `too-large` if the array with a further dimension of size `times` would have 2^59 bytes or more, where a size
    ///   of 0 counts as 1, or more than 255 dimensions.
    #[track_caller]
    pub fn repeat(&self, times: usize, dim: impl Dim) -> Array {
        site("repeat", &[self], |s| {
            let dim = s.dim(self, dim)?;
            Ok(call(decided("repeat"), (times, dim), [self], |[x]| {
                let mut shape = x.tensor().shape.clone();
                let dims: Vec<usize> = (0..shape.len()).map(|d| if d > dim { d + 1 } else { d }).collect();
                shape.insert(dim + 1, times);
                let repeated = hlo::broadcast_in_dim(x, &shape, &dims);
                shape.remove(dim + 1);
                shape[dim] = shape[dim].saturating_mul(times);
                hlo::reshape(&repeated, &shape)
            }))
        })
    }

    /// Rotates the elements along `dim` by `by` positions towards higher indices.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `roll-shift` unless `by` is an integer or a scalar array of integers.
    /// - `too-large` if `by` is an array, and an array of twice the size along `dim` would have 2^59 bytes or more,
    ///   where a size of 0 counts as 1.
    #[track_caller]
    pub fn roll(&self, by: impl Operand, dim: impl Dim) -> Array {
        match by.operand().0 {
            EitherKind::Number(crate::dtype::Number::Int(by)) => site("roll", &[self], |s| {
                let dim = s.dim(self, dim)?;
                let n = self.tensor().shape[dim];
                let by = by.rem_euclid(n.max(1) as i128) as usize;
                Ok(call(decided("roll"), (by, dim), [self], |[x]| roll_known(x, by, dim)))
            }),
            EitherKind::Array(by) => site("roll", &[self, &by], |s| {
                let dim = s.dim(self, dim)?;
                if by.tensor().rank() != 0 || !by.tensor().dtype.is_integer() {
                    return s.fail(Some(self.tensor().clone()), bad_shift(&by.short_type(), &s.loc));
                }
                Ok(call(decided("roll"), dim, [self, &by], |[x, by]| roll_by(x, by, dim)))
            }),
            EitherKind::Number(n) => {
                site("roll", &[self], |s| s.fail(Some(self.tensor().clone()), bad_shift(&n.to_string(), &s.loc)))
            }
        }
    }

    /// Exchanges two dimensions.
    ///
    /// # Errors
    ///
    /// `dimension` if a dimension does not exist.
    #[track_caller]
    pub fn swapaxes(&self, a: impl Dim, b: impl Dim) -> Array {
        site("swapaxes", &[self], |s| {
            let (a, b) = (s.dim(self, a)?, s.dim(self, b)?);
            let mut order: Vec<usize> = (0..self.tensor().rank()).collect();
            order.swap(a, b);
            Ok(call("swapaxes", (a, b), [self], |[x]| hlo::transpose(x, &order)))
        })
    }

    /// Moves the dimensions `from` to the indices `to` of the result. The others keep their order.
    ///
    /// # Shapes
    ///
    /// `f32[a, b, c] -> f32[b, c, a]` for `from` 0 and `to` -1.
    ///
    /// # Errors
    ///
    /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
    /// - `moveaxis` unless `from` and `to` name equally many dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = zeros([2, 3, 4], F32);
    /// assert_eq!(x.moveaxis([0, 1], [-1, 0]).ty().to_string(), "f32[3,4,2]");
    /// ```
    #[track_caller]
    pub fn moveaxis(&self, from: impl Dims, to: impl Dims) -> Array {
        site("moveaxis", &[self], |s| {
            let (from, to) = (s.dims_in_order(self, &from)?, s.dims_in_order(self, &to)?);
            if from.len() != to.len() {
                let message = format!(
                    "`moveaxis` is to move {} to {}",
                    counted(from.len(), "dimension"),
                    counted(to.len(), "place")
                );
                let help = "name one place for each dimension";
                return s.fail(None, mistakes::with_facts("moveaxis", message, self.short_type(), help, &s.loc));
            }
            let mut others = (0..self.tensor().rank()).filter(|d| !from.contains(d));
            let source = |d: usize| {
                to.iter().position(|&t| t == d).map_or_else(|| others.next().expect("the rest"), |i| from[i])
            };
            let order: Vec<usize> = (0..self.tensor().rank()).map(source).collect();
            Ok(call("moveaxis", &order, [self], |[x]| hlo::transpose(x, &order)))
        })
    }

    /// Repeats the whole array `times[d]` times along dimension `d`. If there are fewer numbers than dimensions, they
    /// are for the last dimensions. If there are more, dimensions of size 1 are added in front of the array.
    ///
    /// # Shapes
    ///
    /// `f32[m, n] -> f32[m * times[0], n * times[1]]`.
    ///
    /// # Errors
    ///
    /// `too-large` if the result, or an array with a further dimension for each number that is not 1, would have 2^59
    /// bytes or more, where a size of 0 counts as 1, or more than 255 dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// assert_eq!(array(&[1, 2]).tile([2, 2]).to_vec2::<i32>()?, [[1, 2, 1, 2], [1, 2, 1, 2]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn tile(&self, times: impl AsRef<[usize]>) -> Array {
        let times = times.as_ref();
        site("tile", &[self], |s| {
            let own = &self.tensor().shape;
            let rank = own.len().max(times.len());
            s.fits(&TensorType::new(self.tensor().dtype, vec![1; rank]))?;
            let padded = |list: &[usize]| [vec![1; rank - list.len()], list.to_vec()].concat();
            let (own, times) = (padded(own), padded(times));
            let sizes = own.iter().zip(&times).map(|(&n, &by)| n.saturating_mul(by));
            s.fits(&TensorType::new(self.tensor().dtype, sizes.collect::<Vec<_>>()))?;
            Ok(call(decided("tile"), &times, [self], |[x]| tile(&hlo::reshape(x, &own), &times)))
        })
    }

    /// Splits the array along `dim`: into a number of equal parts, `x.split(3, 0)`, or before each of the given
    /// positions, `x.split([2, 5], 0)`. As in NumPy, positions beyond the end count as the end, and a part is empty if
    /// the next position is not above its own.
    ///
    /// # Shapes
    ///
    /// `f32[6, d] -> 3 of f32[2, d]`, or `f32[6, d] -> f32[2, d], f32[3, d], f32[1, d]` for the positions 2 and 5.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `split` unless the number of parts divides the size of the dimension. [`Array::array_split`] makes parts whose
    ///   sizes differ by one.
    /// - `too-large` for more than 2^20 parts.
    ///
    /// The parts carry the mistake. If their number is 0 or too large, there is one part.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let parts = arange(0..6, I32).split(3, 0);
    /// assert_eq!(parts[2].to_vec::<i32>()?, [4, 5]);
    /// let parts = arange(0..6, I32).split([2, 5], 0);
    /// assert_eq!(parts[1].to_vec::<i32>()?, [2, 3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn split(&self, parts: impl Parts, dim: impl Dim) -> Vec<Array> {
        split_of("split", self, parts.kind(), dim)
    }

    /// Splits the array along `dim` into `parts` parts. The first ones are larger by one if the size of the dimension
    /// is not a multiple of their number.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `split` if `parts` is 0.
    /// - `too-large` for more than 2^20 parts.
    ///
    /// The parts carry the mistake. If their number is 0 or too large, there is one part.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let sizes = |parts: Vec<Array>| parts.iter().map(|x| x.dim(0)).collect::<Vec<_>>();
    /// assert_eq!(sizes(zeros([8], F32).array_split(3, 0)), [3, 3, 2]);
    /// ```
    #[track_caller]
    pub fn array_split(&self, parts: usize, dim: impl Dim) -> Vec<Array> {
        split_of("array_split", self, PartsKind::Uneven(parts), dim)
    }

    /// Pads the array with `value`. `by` has the numbers of elements before and after, for each dimension.
    ///
    /// # Errors
    ///
    /// - `pad-dims` unless there is a pair for each dimension.
    /// - `pad-value` if the value is an array that is not a scalar.
    /// - `number-dtype` and `dtype-mixed` if the value does not fit the array's dtype.
    /// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1.
    #[track_caller]
    pub fn pad(&self, by: impl AsRef<[(usize, usize)]>, value: impl Operand) -> Array {
        let (by, value) = (by.as_ref(), value.operand());
        let array = value.array().cloned();
        let given: Vec<&Array> = std::iter::once(self).chain(&array).collect();
        site("pad", &given, |s| {
            let x = self.tensor();
            if by.len() != x.rank() {
                let (pairs, dimensions) = (counted(by.len(), "pair"), counted(x.rank(), "dimension"));
                let message = format!("`pad` has {pairs}, and the array has {dimensions}");
                return s.fail(None, mistakes::with_facts("pad-dims", message, self.short_type(), "", &s.loc));
            }
            let value = s.beside(value, self)?;
            if value.tensor().rank() != 0 {
                let facts = format!("{} by {}", self.short_type(), value.short_type());
                let message = "`pad` needs a number or a scalar array to pad with".to_string();
                return s.fail(None, mistakes::with_facts("pad-value", message, facts, "", &s.loc));
            }
            same_dtype(s, self, &value)?;
            Ok(call("pad", by, [self, &value], |[x, value]| hlo::pad(x, value, by)))
        })
    }

    /// Counts how often each of `0..n` occurs. Other values are not counted.
    ///
    /// # Shapes
    ///
    /// `i32[..] -> i32[n]`.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` unless the elements are integers.
    /// - `too-large` if the array's one-hot encoding, which has `n` times its elements, or an array that is computed
    ///   for it would have 2^59 bytes or more, where a size of 0 counts as 1.
    #[track_caller]
    pub fn bincount(&self, n: usize) -> Array {
        site("bincount", &[self], |s| {
            s.kind(self, base::DType::is_integer, "an array of integers", "")?;
            Ok(call(decided("bincount"), n, [self], |[x]| {
                hlo::reshape(x, &[x.tensor().size()]).one_hot(n, DType::I32).sum(0)
            }))
        })
    }

    /// Appends a dimension that is 1 at the index of the element's value and 0 elsewhere. A value that is out of range
    /// makes only zeros.
    ///
    /// # Shapes
    ///
    /// `i32[b] -> dtype[b, n]`.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` unless the elements are integers.
    /// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0
    ///   counts as 1, or more than 255 dimensions.
    #[track_caller]
    pub fn one_hot(&self, n: usize, dtype: DType) -> Array {
        site("one_hot", &[self], |s| {
            s.kind(self, base::DType::is_integer, "an array of integers", "")?;
            Ok(call(decided("one_hot"), (n, dtype), [self], |[x]| {
                let mut shape = x.tensor().shape.clone();
                shape.push(n);
                let x = &as_positions(x, n);
                let last = shape.len() - 1;
                let classes = hlo::iota(TensorType::new(x.tensor().dtype, shape.clone()), last);
                let x = hlo::broadcast_over(x, &shape, &[last]);
                hlo::convert(&hlo::compare("EQ", &x, &classes), dtype.base())
            }))
        })
    }
}

/// Returns the index `dim` of a new dimension in the result of its insertion into `x`, counted from the front.
///
/// Errors: `dimension`.
fn new_dim(s: &Site<'_>, x: &Array, dim: impl Dim) -> Checked<usize> {
    let rank = x.tensor().rank() + 1;
    let missing = || {
        let message = format!("the result has {}: there is no dimension {dim}", counted(rank, "dimension"));
        s.fail(None, mistakes::with_facts("dimension", message, x.short_type(), "", &s.loc))
    };
    dim.of(rank).map_or_else(missing, Ok)
}

pub(crate) fn same_dtype(s: &Site<'_>, x: &Array, y: &Array) -> Checked<()> {
    if x.tensor().dtype == y.tensor().dtype {
        return Ok(());
    }
    let to = DType::of(x.tensor().dtype);
    s.fail(Some(x.tensor().clone()), mistakes::dtypes(s.name, &x.short_type(), &y.short_type(), to, &s.loc))
}

fn bad_shift(by: &str, loc: &base::Loc) -> base::Diagnostic {
    let message = "`roll` needs a shift that is an integer or an integer scalar".to_string();
    mistakes::with_facts("roll-shift", message, by.to_string(), "", loc)
}

fn roll_known(x: &Array, by: usize, dim: usize) -> Array {
    if by == 0 {
        return x.clone();
    }
    explicit::like(x, dim, || roll_by_parts(x, by, dim))
}

fn roll_by_parts(x: &Array, by: usize, dim: usize) -> Array {
    let n = x.tensor().shape[dim];
    let part = |range| hlo::slice_dim(x, dim, range, 1);
    hlo::concatenate(&[&part(n - by..n), &part(0..n - by)], dim)
}

/// Rotates the elements along `dim` towards higher indices, by the number of positions in a scalar array of integers:
/// takes a window of the array repeated twice.
fn roll_by(x: &Array, by: &Array, dim: usize) -> Array {
    let shape = x.tensor().shape.clone();
    let n = shape[dim];
    if n == 0 {
        return x.clone();
    }
    explicit::like(x, dim, || {
        let twice = hlo::concatenate(&[x, x], dim);
        let by = &as_positions(by, n);
        let zero = hlo::zeros(by.tensor());
        let start = (n - by.rem_euclid(n)).rem_euclid(n);
        let start: Vec<Array> = (0..shape.len()).map(|d| if d == dim { start.clone() } else { zero.clone() }).collect();
        hlo::dynamic_slice(&twice, &start, &shape)
    })
}

/// Repeats the whole of `x` `times[d]` times along dimension `d`. `times` has one number for each dimension.
fn tile(x: &Array, times: &[usize]) -> Array {
    let own = &x.tensor().shape;
    // A dimension that is repeated gets one in front of it, with which it is merged.
    let (mut apart, mut dims) = (vec![], vec![]);
    for (&n, &by) in own.iter().zip(times) {
        if by != 1 {
            apart.push(by);
        }
        dims.push(apart.len());
        apart.push(n);
    }
    let merged: Vec<usize> = own.iter().zip(times).map(|(n, by)| n * by).collect();
    hlo::reshape(&hlo::broadcast_in_dim(x, &apart, &dims), &merged)
}

/// Types that say how to split an array: a number of equal parts, or the positions at which all parts but the first
/// begin.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to split an array",
    label = "expected a number of parts (`usize`), or positions: `[usize; N]`, `&[usize]` or `Vec<usize>`"
)]
pub trait Parts {
    #[doc(hidden)]
    fn kind(self) -> PartsKind;
}

#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum PartsKind {
    Equal(usize),
    Uneven(usize),
    Before(Vec<usize>),
}

impl Parts for usize {
    fn kind(self) -> PartsKind {
        PartsKind::Equal(self)
    }
}
impl<const N: usize> Parts for [usize; N] {
    fn kind(self) -> PartsKind {
        PartsKind::Before(self.into())
    }
}
impl Parts for &[usize] {
    fn kind(self) -> PartsKind {
        PartsKind::Before(self.into())
    }
}
impl Parts for Vec<usize> {
    fn kind(self) -> PartsKind {
        PartsKind::Before(self)
    }
}

/// The largest number of parts into which an array is split.
const MAX_PARTS: usize = 1 << 20;

impl PartsKind {
    fn count(&self) -> usize {
        match self {
            PartsKind::Equal(n) | PartsKind::Uneven(n) => *n,
            PartsKind::Before(positions) => positions.len() + 1,
        }
    }

    /// Returns the start and the end of each part of a dimension of size `n`.
    fn ranges(&self, n: usize) -> Vec<Range<usize>> {
        match self {
            PartsKind::Equal(parts) | PartsKind::Uneven(parts) => {
                let start = |i: usize| i * (n / parts) + i.min(n % parts);
                (0..*parts).map(|i| start(i)..start(i + 1)).collect()
            }
            PartsKind::Before(positions) => {
                let ends = positions.iter().map(|&p| p.min(n)).chain([n]);
                let starts = std::iter::once(0).chain(positions.iter().map(|&p| p.min(n)));
                starts.zip(ends).map(|(start, end)| start..end.max(start)).collect()
            }
        }
    }
}

#[track_caller]
fn split_of(name: &'static str, x: &Array, parts: PartsKind, dim: impl Dim) -> Vec<Array> {
    let at = context::caller(Location::caller());
    context::within(at, || {
        let found = checked(name, &[x], |s| {
            let dim = s.dim(x, dim)?;
            check_parts(s, x, &parts, dim).map(|()| dim)
        });
        let dim = match found {
            Ok(dim) => dim,
            Err(bad) => {
                let count = parts.count();
                return vec![bad; if count > MAX_PARTS { 1 } else { count.max(1) }];
            }
        };
        let ranges = parts.ranges(x.tensor().shape[dim]);
        call_many(decided(name), (dim, &ranges), &[x], ranges.len(), |x| {
            ranges.iter().map(|range| hlo::slice_dim(&x[0], dim, range.clone(), 1)).collect()
        })
    })
}

/// Checks that `x` can be split into these parts along `dim`, which must exist.
///
/// Errors: `split`, `too-large`.
fn check_parts(s: &Site<'_>, x: &Array, parts: &PartsKind, dim: usize) -> Checked<()> {
    let (count, n) = (parts.count(), x.tensor().shape[dim]);
    if count > MAX_PARTS {
        let message = format!("`{}` makes at most {MAX_PARTS} parts", s.name);
        let help = "reshape the array, so that the parts become a dimension";
        return s.fail(None, mistakes::with_facts("too-large", message, counted(count, "part"), help, &s.loc));
    }
    if count == 0 || (matches!(parts, PartsKind::Equal(_)) && !n.is_multiple_of(count)) {
        let message = format!("`{}`: dimension {dim} of size {n} cannot be split into {count} parts", s.name);
        let help = if count == 0 {
            "ask for at least one part"
        } else {
            "`array_split` makes parts whose sizes differ by one"
        };
        return s.fail(None, mistakes::with_facts("split", message, x.short_type(), help, &s.loc));
    }
    Ok(())
}

/// Concatenates arrays along `dim`.
///
/// # Shapes
///
/// `f32[a, d], f32[b, d] -> f32[a + b, d]` for `dim` 0.
///
/// # Errors
///
/// - `no-arrays` for an empty list.
/// - `dimension` if there is no dimension `dim`.
/// - `concatenate` if the arrays differ in another dimension, or in their number of dimensions.
/// - `dtype-mixed` if the dtypes differ.
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1.
#[track_caller]
pub fn concatenate<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>, dim: impl Dim) -> Array {
    let arrays: Vec<Array> = arrays.into_iter().map(|a| a.borrow().clone()).collect();
    let refs: Vec<&Array> = arrays.iter().collect();
    site("concatenate", &refs, |s| {
        let Some(first) = refs.first() else { return no_arrays(s) };
        joined(s, &refs, s.dim(first, dim)?)
    })
}

/// Returns the arrays, of which there is at least one, concatenated along `dim`.
///
/// Errors: `concatenate`, `dtype-mixed`, `too-large`.
fn joined(s: &Site<'_>, arrays: &[&Array], dim: usize) -> Checked {
    let rest = |x: &TensorType| {
        let mut shape = x.shape.clone();
        shape.iter_mut().skip(dim).take(1).for_each(|n| *n = 0);
        shape
    };
    let first = arrays[0];
    for x in arrays {
        same_dtype(s, first, x)?;
        if rest(x.tensor()) != rest(first.tensor()) {
            let facts = format!("{} and {}", first.short_type(), x.short_type());
            let message = format!(
                "`{}` along dimension {dim} needs arrays of one rank, with equal sizes in all other dimensions",
                s.name
            );
            return s.fail(None, mistakes::with_facts("concatenate", message, facts, "", &s.loc));
        }
    }
    let out = call_many(s.name, dim, arrays, 1, |x| {
        vec![if x.len() == 1 { x[0].clone() } else { hlo::concatenate(&x.iter().collect::<Vec<_>>(), dim) }]
    });
    Ok(out.into_iter().next().expect("one result"))
}

/// Concatenates arrays along dimension 1, and those of one dimension along dimension 0. A scalar counts as an array of
/// one element. The first array decides which it is.
///
/// # Shapes
///
/// `f32[n, a], f32[n, b] -> f32[n, a + b]`, or `f32[a], f32[b] -> f32[a + b]`.
///
/// # Errors
///
/// - `no-arrays` for an empty list.
/// - `concatenate` if the arrays differ in another dimension, or in their number of dimensions.
/// - `dtype-mixed` if the dtypes differ.
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// assert_eq!(hstack([array(&[1, 2]), array(&[3])]).to_vec::<i32>()?, [1, 2, 3]);
/// let x = array(&[[1], [2]]);
/// assert_eq!(hstack([&x, &x]).to_vec2::<i32>()?, [[1, 1], [2, 2]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hstack<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>) -> Array {
    let row = |shape: &[usize]| if shape.is_empty() { vec![1] } else { shape.to_vec() };
    stacked("hstack", arrays, row, |rank| usize::from(rank > 1))
}

/// Concatenates arrays along dimension 0. An array of one dimension counts as a row, and a scalar as a row of one
/// element.
///
/// # Shapes
///
/// `f32[a, n], f32[n] -> f32[a + 1, n]`.
///
/// # Errors
///
/// The errors of [`hstack`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let rows = vstack([array(&[1, 2]), array(&[3, 4])]);
/// assert_eq!(rows.to_vec2::<i32>()?, [[1, 2], [3, 4]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn vstack<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>) -> Array {
    let row = |shape: &[usize]| match shape {
        [] => vec![1, 1],
        [n] => vec![1, *n],
        shape => shape.to_vec(),
    };
    stacked("vstack", arrays, row, |_| 0)
}

/// Concatenates arrays along dimension 1. An array of one dimension counts as a column, and a scalar as a column of one
/// element.
///
/// # Shapes
///
/// `f32[n, a], f32[n] -> f32[n, a + 1]`.
///
/// # Errors
///
/// The errors of [`hstack`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let columns = column_stack([array(&[1, 2]), array(&[3, 4])]);
/// assert_eq!(columns.to_vec2::<i32>()?, [[1, 3], [2, 4]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn column_stack<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>) -> Array {
    let column = |shape: &[usize]| match shape {
        [] => vec![1, 1],
        [n] => vec![*n, 1],
        shape => shape.to_vec(),
    };
    stacked("column_stack", arrays, column, |_| 1)
}

/// Concatenates arrays, each reshaped to what `shape` returns for its own shape, along the dimension that `dim` returns
/// for the rank of the first one.
///
/// Errors: `no-arrays`, `concatenate`, `dtype-mixed`, `too-large`.
#[track_caller]
fn stacked<A: Borrow<Array>>(
    name: &'static str,
    arrays: impl IntoIterator<Item = A>,
    shape: impl Fn(&[usize]) -> Vec<usize>,
    dim: impl Fn(usize) -> usize,
) -> Array {
    let arrays: Vec<Array> = arrays.into_iter().map(|a| a.borrow().clone()).collect();
    site(name, &arrays.iter().collect::<Vec<_>>(), |s| {
        let reshaped: Vec<Array> = arrays.iter().map(|a| a.reshape(shape(&a.tensor().shape))).collect();
        let Some(first) = reshaped.first() else { return no_arrays(s) };
        joined(s, &reshaped.iter().collect::<Vec<_>>(), dim(first.tensor().rank()))
    })
}

fn no_arrays(s: &Site<'_>) -> Checked {
    let message = format!("`{}` needs at least one array", s.name);
    s.fail(None, mistakes::with_facts("no-arrays", message, "an empty list".into(), "", &s.loc))
}

/// Stacks arrays along a new dimension, which is dimension `dim` of the result.
///
/// # Shapes
///
/// `f32[d], f32[d] -> f32[2, d]` for `dim` 0.
///
/// # Errors
///
/// - `no-arrays` for an empty list.
/// - `dimension` if the result has no dimension `dim`.
/// - `concatenate` if the arrays differ in their shapes.
/// - `dtype-mixed` if the dtypes differ.
/// - `too-large` if the array would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
///   dimensions.
#[track_caller]
pub fn stack<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>, dim: impl Dim) -> Array {
    let arrays: Vec<Array> = arrays.into_iter().map(|a| a.borrow().clone()).collect();
    let refs: Vec<&Array> = arrays.iter().collect();
    site("stack", &refs, |s| {
        let Some(first) = refs.first() else { return no_arrays(s) };
        let dim = new_dim(s, first, dim)?;
        for x in &refs {
            same_dtype(s, first, x)?;
            if x.tensor().shape != first.tensor().shape {
                let facts = format!("{} and {}", first.short_type(), x.short_type());
                let message = "`stack` needs arrays of the same shape".to_string();
                return s.fail(None, mistakes::with_facts("concatenate", message, facts, "", &s.loc));
            }
        }
        Ok(concatenate(arrays.iter().map(|x| x.expand_dims(dim)), dim))
    })
}

/// The order of the dimensions of grids that [`meshgrid`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// The first two dimensions of the grids are exchanged: rows belong to the second array, and columns to the first
    /// one, as coordinates `x` and `y` are drawn. This is JAX's default.
    Xy,
    /// Dimension `i` of the grids belongs to array `i`.
    Ij,
}

/// Repeats the elements of arrays over a grid that has a dimension for each array. Together, the results have at each
/// point of the grid one combination of elements of the arrays.
///
/// # Shapes
///
/// `f32[n], f32[m] -> f32[n, m], f32[n, m]` for [`Indexing::Ij`], and `f32[m, n], f32[m, n]` for [`Indexing::Xy`].
///
/// # Errors
///
/// - `vector` unless each array has one dimension.
/// - `too-large` if the grid would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255 dimensions.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::Indexing;
/// let [x, y] = meshgrid([&array(&[1, 2, 3]), &array(&[10, 20])], Indexing::Xy);
/// assert_eq!((x + y).to_vec2::<i32>()?, [[11, 12, 13], [21, 22, 23]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn meshgrid<const N: usize>(arrays: [impl AsArray; N], indexing: Indexing) -> [Array; N] {
    let at = context::caller(Location::caller());
    let arrays = arrays.each_ref().map(|a| a.as_array());
    let dim = |i: usize| if indexing == Indexing::Xy && i < 2 && N > 1 { 1 - i } else { i };
    context::within(at, || std::array::from_fn(|i| grid(&arrays, i, dim)))
}

/// Returns array `i` repeated over the grid in which array `j` has the dimension `dim(j)`.
fn grid(arrays: &[&Array], i: usize, dim: impl Fn(usize) -> usize) -> Array {
    site("meshgrid", arrays, |s| {
        if let Some(wrong) = arrays.iter().find(|a| a.tensor().rank() != 1) {
            return s.fail(None, mistakes::not_a_vector("meshgrid", &wrong.short_type(), &s.loc));
        }
        let mut shape = vec![0; arrays.len()];
        arrays.iter().enumerate().for_each(|(j, a)| shape[dim(j)] = a.tensor().shape[0]);
        let own = dim(i);
        Ok(call("meshgrid", (&shape, own), [arrays[i]], |[x]| hlo::broadcast_in_dim(x, &shape, &[own])))
    })
}
