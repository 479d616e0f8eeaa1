//! Searches in vectors: positions in sorted ones, different elements, and elements that are not 0.
//!
//! The number of elements that are found is known only when a program runs. The results have a size that the caller
//! states, and are filled up.

use crate::array::Array;
use crate::eager::{call, call_many};
use crate::explicit::decided;
use crate::ops::{AsArray, Checked, Kinds, Operand, Site, checked, element, select, site};
use crate::reduce::{before, has_elements, sorted};
use crate::shape::same_dtype;
use crate::{context, hlo, mistakes};
use shardwise_base::DType;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use shardwise_ops::index::IndexDims;
use std::panic::Location;

/// The position of a value among equal elements, for [`Array::searchsorted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// In front of all equal elements.
    Left,
    /// Behind all equal elements.
    Right,
}

impl Array {
    /// Returns the positions at which the values can be inserted into this vector, which must be sorted in ascending
    /// order, so that it stays sorted. NaNs are last.
    ///
    /// # Shapes
    ///
    /// `f32[n], f32[..] -> i32[..]`. The result has the shape of the values.
    ///
    /// # Errors
    ///
    /// - `vector` unless `self` has one dimension.
    /// - `dtype-kind` unless the elements are integers or floats, and `dtype-mixed` if the values have another dtype.
    /// - `number-dtype` if a number does not fit the dtype.
    /// - `too-large` if an `i32` cannot count the positions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let sorted = array(&[1, 3, 3, 5]);
    /// assert_eq!(sorted.searchsorted(array(&[0, 3, 9]), Side::Left).to_vec::<i32>()?, [0, 1, 4]);
    /// assert_eq!(sorted.searchsorted(3, Side::Right).item::<i32>()?, 3);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(&self, values: impl Operand, side: Side) -> Array {
        let values = values.operand();
        let array = values.array().cloned();
        let given: Vec<&Array> = std::iter::once(self).chain(&array).collect();
        site("searchsorted", &given, |s| {
            is_vector(s, self)?;
            s.has(self, Kinds::Ordered)?;
            let values = s.beside(values, self)?;
            same_dtype(s, self, &values)?;
            s.counts(self, self.tensor().shape[0])?;
            Ok(call(decided("searchsorted"), side, [self, &values], |[x, values]| insertion_points(x, values, side)))
        })
    }

    /// Interpolates a function linearly: returns its values at the elements of `self`. The function is given by its
    /// values `fp` at the points `xp`, which must be sorted in ascending order. Before the first point and after the
    /// last one, the function is constant. This is `jax.numpy.interp`.
    ///
    /// # Shapes
    ///
    /// `f32[..], f32[n], f32[n] -> f32[..]`.
    ///
    /// # Errors
    ///
    /// - `vector` unless `xp` and `fp` have one dimension, and `interp` unless they have the same size.
    /// - `reduce-empty` if there are no points.
    /// - `dtype-kind` unless all elements are floats, and `dtype-mixed` if the dtypes differ.
    /// - `too-large` if an `i32` cannot count the points.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let (xp, fp) = (array(&[0.0f32, 1.0, 3.0]), array(&[10.0f32, 20.0, 0.0]));
    /// let y = array(&[-5.0f32, 0.5, 2.0, 9.0]).interp(xp, fp);
    /// assert_eq!(y.to_vec::<f32>()?, [10.0, 15.0, 10.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn interp(&self, xp: impl AsArray, fp: impl AsArray) -> Array {
        let (xp, fp) = (xp.as_array(), fp.as_array());
        site("interp", &[self, xp, fp], |s| {
            s.has(self, Kinds::Floats)?;
            for points in [xp, fp] {
                is_vector(s, points)?;
                same_dtype(s, self, points)?;
            }
            if xp.tensor().shape != fp.tensor().shape {
                let facts = format!("{} and {}", xp.short_type(), fp.short_type());
                let message = "`interp` needs as many values as points".to_string();
                return s.fail(Some(self.tensor().clone()), mistakes::with_facts("interp", message, facts, "", &s.loc));
            }
            has_elements(s, xp, &[0])?;
            s.counts(xp, xp.tensor().shape[0])?;
            Ok(call(decided("interp"), (), [self, xp, fp], |[x, xp, fp]| interpolated(x, xp, fp)))
        })
    }

    /// Returns the different elements in ascending order: the first `size` of them. If there are fewer, the rest of the
    /// result is `fill`. All NaNs count as one element, which is the last. This is `jax.numpy.unique` with a `size`.
    ///
    /// # Shapes
    ///
    /// `f32[..] -> f32[size]`.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `fill-value` if `fill` is an array that is not a scalar, `dtype-mixed` if it has another dtype, and
    ///   `number-dtype` if a number does not fit the dtype.
    /// - `too-large` if the array would have 2^59 bytes or more, or if an `i32` cannot count the elements or the size.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[3, 1, 3, 2]);
    /// assert_eq!(x.unique(4, -1).to_vec::<i32>()?, [1, 2, 3, -1]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn unique(&self, size: usize, fill: impl Operand) -> Array {
        let fill = fill.operand();
        let array = fill.array().cloned();
        let given: Vec<&Array> = std::iter::once(self).chain(&array).collect();
        site("unique", &given, |s| {
            let fill = check_unique(s, self, size, fill)?;
            Ok(call(decided("unique"), size, [self, &fill], |[x, fill]| Runs::of(x).firsts(size, fill)))
        })
    }

    /// Returns the different elements as [`Array::unique`] does, and how often each of them occurs, as `i32`: 0 times
    /// where the first result is filled up.
    ///
    /// # Shapes
    ///
    /// `f32[..] -> (f32[size], i32[size])`.
    ///
    /// # Errors
    ///
    /// Those of [`Array::unique`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let (values, counts) = array(&[3, 1, 3, 2]).unique_counts(4, -1);
    /// assert_eq!(values.to_vec::<i32>()?, [1, 2, 3, -1]);
    /// assert_eq!(counts.to_vec::<i32>()?, [1, 1, 2, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn unique_counts(&self, size: usize, fill: impl Operand) -> (Array, Array) {
        let at = context::caller(Location::caller());
        let fill = fill.operand();
        let array = fill.array().cloned();
        let given: Vec<&Array> = std::iter::once(self).chain(&array).collect();
        context::within(at, || {
            let fill = match checked("unique_counts", &given, |s| check_unique(s, self, size, fill)) {
                Ok(fill) => fill,
                Err(bad) => return (bad.clone(), bad),
            };
            let mut out = call_many(decided("unique_counts"), size, &[self, &fill], 2, |x| {
                let runs = Runs::of(&x[0]);
                vec![runs.firsts(size, &x[1]), runs.lengths(size)]
            });
            let counts = out.pop().expect("two results");
            (out.pop().expect("two results"), counts)
        })
    }

    /// Returns the positions of the elements that are true, that is, not 0, as `i32`: the first `size` of them in
    /// row-major order, in one array for each dimension. If there are fewer, the rest of the results is `fill`. This is
    /// `jax.numpy.nonzero` with a `size`.
    ///
    /// # Shapes
    ///
    /// `f32[m, n] -> i32[size], i32[size]`.
    ///
    /// # Errors
    ///
    /// - `nonzero-rank` for a scalar.
    /// - `dtype-kind` if the dtype can only be stored.
    /// - `too-large` if an array would have 2^59 bytes or more, or if an `i32` cannot count the elements or the size.
    ///
    /// The results carry the mistake. There is one result for a scalar, and for an array whose type is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let places = array(&[[0, 7], [8, 0]]).nonzero(3, -1);
    /// assert_eq!(places[0].to_vec::<i32>()?, [0, 1, -1]);
    /// assert_eq!(places[1].to_vec::<i32>()?, [1, 0, -1]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn nonzero(&self, size: usize, fill: i32) -> Vec<Array> {
        let at = context::caller(Location::caller());
        context::within(at, || {
            let rank = checked("nonzero", &[self], |s| {
                s.has(self, Kinds::Any)?;
                if self.tensor().rank() == 0 {
                    let message = "`nonzero` needs an array with at least one dimension".to_string();
                    let help = "use `.ne(0)` for a scalar";
                    return s
                        .fail(None, mistakes::with_facts("nonzero-rank", message, self.short_type(), help, &s.loc));
                }
                check_size(s, self, size, DType::I32)?;
                Ok(self.tensor().rank())
            });
            let rank = match rank {
                Ok(rank) => rank,
                Err(bad) => return vec![bad; self.node().ty.as_ref().map_or(1, |ty| ty.ty.rank().max(1))],
            };
            call_many(decided("nonzero"), (size, fill), &[self], rank, |x| nonzero(&x[0], size, fill))
        })
    }
}

/// Checks that `x` has one dimension.
///
/// Errors: `vector`.
pub(crate) fn is_vector(s: &Site<'_>, x: &Array) -> Checked<()> {
    match x.tensor().rank() {
        1 => Ok(()),
        _ => s.fail(None, mistakes::not_a_vector(s.name, &x.short_type(), &s.loc)),
    }
}

/// Returns the elements of the vector `x` at the positions. Positions out of bounds are clamped.
pub(crate) fn pick(x: &Array, positions: &Array) -> Array {
    let shape = positions.tensor().shape.clone();
    let with_vector: Vec<usize> = shape.iter().copied().chain([1]).collect();
    let windows =
        IndexDims { collapsed: vec![0], index_map: vec![0], index_vector_dim: shape.len(), ..IndexDims::default() };
    let result = TensorType::new(x.tensor().dtype, shape);
    hlo::gather(x, &hlo::reshape(positions, &with_vector), &windows, &[1], result)
}

/// Returns how many elements of the sorted vector `x` come before each value. Elements that are equal to the value
/// count for [`Side::Right`]. The number is found digit by digit in binary, the highest digit first: it is at least
/// `found + step` if element `found + step - 1` comes before the value.
pub(crate) fn insertion_points(x: &Array, values: &Array, side: Side) -> Array {
    let n = x.tensor().shape[0];
    let ty = TensorType::new(DType::I32, values.tensor().shape.clone());
    (0..usize::BITS - n.leading_zeros()).rev().fold(hlo::zeros(&ty), |found, digit| {
        let step = 1usize << digit;
        let element = pick(x, &(&found + (step - 1)));
        let is_before = match side {
            Side::Left => before(&element, values),
            Side::Right => !before(values, &element),
        };
        let is_counted = found.le(n - step) & is_before;
        select(&is_counted, &found + step, &found)
    })
}

fn interpolated(x: &Array, xp: &Array, fp: &Array) -> Array {
    let n = xp.tensor().shape[0];
    let end = |points: &Array, i: usize| hlo::reshape(&hlo::slice(points, &[i], &[i + 1], &[1]), &[]);
    if n == 1 {
        return hlo::broadcast_in_dim(&end(fp, 0), &x.tensor().shape, &[]);
    }
    let right = insertion_points(xp, x, Side::Right).clamp(1, n - 1);
    let left = &right - 1;
    let (x0, y0) = (pick(xp, &left), pick(fp, &left));
    let (dx, dy) = (pick(xp, &right) - &x0, pick(fp, &right) - &y0);
    // Equal points have no slope. The quotient must not be NaN there, since its derivative would be NaN too.
    let is_step = dx.eq(0.0);
    let part = (x - x0) / is_step.select(1.0, dx);
    let inside = is_step.select(&y0, &y0 + part * dy);
    let inside = x.lt(end(xp, 0)).select(end(fp, 0), inside);
    x.gt(end(xp, n - 1)).select(end(fp, n - 1), inside)
}

/// Checks that a result of this size and dtype can be made, and that an `i32` can count it and the elements of `x`.
///
/// Errors: `too-large`.
fn check_size(s: &Site<'_>, x: &Array, size: usize, dtype: DType) -> Checked<()> {
    s.fits(&TensorType::new(dtype, [size]))?;
    s.counts(x, size)?;
    s.counts(x, x.tensor().size())
}

/// Checks the arguments of [`Array::unique`], and returns `fill` as a scalar array of the dtype of `x`.
///
/// Errors: those of [`Array::unique`].
fn check_unique(s: &Site<'_>, x: &Array, size: usize, fill: crate::Either) -> Checked {
    s.has(x, Kinds::Ordered)?;
    check_size(s, x, size, x.tensor().dtype)?;
    let fill = s.beside(fill, x)?;
    same_dtype(s, x, &fill)?;
    if fill.tensor().rank() != 0 {
        let message = format!("`{}` needs a number or a scalar array to fill the result with", s.name);
        let facts = format!("{} filled with {}", x.short_type(), fill.short_type());
        return s.fail(None, mistakes::with_facts("fill-value", message, facts, "", &s.loc));
    }
    Ok(fill)
}

/// The runs of equal elements of a sorted vector.
struct Runs {
    sorted: Array,
    /// For each element, the number of its run, from 0.
    runs: Array,
    /// True for the first element of each run.
    is_first: Array,
}

impl Runs {
    fn of(x: &Array) -> Runs {
        let n = x.tensor().size();
        let flat = hlo::reshape(x, &[n]);
        let sorted = sorted(&[&flat], 0).swap_remove(0);
        let start = hlo::splat(&element(1.0, DType::I1), &[n.min(1)]);
        let is_first = if n < 2 {
            start
        } else {
            let part = |from: usize, to: usize| hlo::slice(&sorted, &[from], &[to], &[1]);
            hlo::concatenate(&[&start, &before(&part(0, n - 1), &part(1, n))], 0)
        };
        let runs = places(&is_first);
        Runs { sorted, runs, is_first }
    }

    /// Returns the first element of each of the first `size` runs. If there are fewer runs, the rest is `fill`.
    fn firsts(&self, size: usize, fill: &Array) -> Array {
        let filled = hlo::broadcast_in_dim(fill, &[size], &[]);
        put(&filled, &self.is_first, &self.runs, &self.sorted)
    }

    fn lengths(&self, size: usize) -> Array {
        let zeros = hlo::zeros(&TensorType::new(DType::I32, [size]));
        if size == 0 {
            return zeros;
        }
        zeros.at(&self.runs).add(1)
    }
}

/// Returns for each element of a mask how many elements up to and including it are true, less 1.
fn places(mask: &Array) -> Array {
    let counts = hlo::convert(mask, DType::I32);
    hlo::cumulative(&counts, Opcode::Add, &element(0.0, DType::I32), 0) - 1
}

/// Returns the vector `x` with the `values` for which the mask is true written to their `places`, which are different
/// positions from 0. Values whose places are beyond the end of `x` are left out.
fn put(x: &Array, mask: &Array, places: &Array, values: &Array) -> Array {
    let size = x.tensor().shape[0];
    if size == 0 {
        return x.clone();
    }
    x.at(mask.select(places, size)).set(values)
}

fn nonzero(x: &Array, size: usize, fill: i32) -> Vec<Array> {
    let shape = &x.tensor().shape;
    let n = x.tensor().size();
    let list = TensorType::new(DType::I32, [size]);
    let filled = hlo::splat(&element(f64::from(fill), DType::I32), &list.shape);
    if n == 0 {
        return vec![filled; shape.len()];
    }
    let zeros = hlo::splat(&element(0.0, x.tensor().dtype), &[n]);
    let mask = hlo::compare("NE", &hlo::reshape(x, &[n]), &zeros);
    let own = hlo::iota(TensorType::new(DType::I32, [n]), 0);
    let found = put(&hlo::splat(&element(-1.0, DType::I32), &list.shape), &mask, &places(&mask), &own);
    let is_found = found.ge(0);
    let place = |d: usize| {
        let stride: usize = shape[d + 1..].iter().product();
        is_found.select(&found / stride % shape[d], &filled)
    };
    (0..shape.len()).map(place).collect()
}
