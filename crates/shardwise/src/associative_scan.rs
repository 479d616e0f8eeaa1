//! Scans with an associative function, in a number of steps that is the logarithm of the length.

use crate::array::Array;
use crate::control::{give_up, traced};
use crate::ops::Dim;
use crate::tree::{self, Tree};
use crate::{context, explicit, hlo, mistakes};
use std::panic::Location;

type At = &'static Location<'static>;

/// Combines the elements along a dimension of `xs` with all elements before them, by a function that is associative:
/// `combine(combine(a, b), c)` is `combine(a, combine(b, c))`. Element `i` of the result is that of elements `0..=i` in
/// their order. As `jax.lax.associative_scan`, it applies the function to many elements at once, about twice the
/// logarithm of the length times.
///
/// The function gets parts of the arrays, and must combine them element by element along the dimension. If there are
/// fewer than two elements, it is not called. `xs` is a tree of arrays whose dimensions `dim` have the same size.
/// [`associative_scan_reversed`] begins at the end.
///
/// # Errors
///
/// - `dimension` if an array has no dimension `dim`.
/// - `scan-length` if there are no arrays, or the dimensions differ in size.
/// - `tree-form` if the function changes the form of the tree, and `combined-type` if it changes the type of an array.
///
/// These end the trace. Outside of a trace, this function panics with them.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let products = associative_scan(|a, b| a * b, array(&[1, 2, 3, 4]), 0);
/// assert_eq!(products.to_vec::<i32>()?, [1, 2, 6, 24]);
/// // The states of `s = a * s + b`: two steps are again one of this form.
/// let step = |(a, b): (Array, Array), (c, d): (Array, Array)| (a * &c, b * c + d);
/// let (_, states) = associative_scan(step, (array(&[2, 2, 2]), array(&[1, 1, 1])), 0);
/// assert_eq!(states.to_vec::<i32>()?, [1, 3, 7]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn associative_scan<T: Tree>(combine: impl Fn(T, T) -> T, xs: T, dim: impl Dim) -> T {
    let at = context::caller(Location::caller());
    let name = "associative_scan";
    traced(name, at, || {
        let scan = Scan { name, combine: &combine, dims: dims(&xs, dim, at), at };
        let length = scan.length(&xs);
        scan.prefixes(xs, length)
    })
}

/// Does the same as [`associative_scan`] from the end: element `i` of the result is the combination of the elements
/// from the last one down to `i`, in this order. This is JAX's `associative_scan` with `reverse=True`: `combine` gets
/// the later elements first.
///
/// # Errors
///
/// Those of [`associative_scan`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let sums = associative_scan_reversed(|a, b| a + b, array(&[1, 2, 3, 4]), 0);
/// assert_eq!(sums.to_vec::<i32>()?, [10, 9, 7, 4]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn associative_scan_reversed<T: Tree>(combine: impl Fn(T, T) -> T, xs: T, dim: impl Dim) -> T {
    let at = context::caller(Location::caller());
    let name = "associative_scan_reversed";
    traced(name, at, || {
        let scan = Scan { name, combine: &combine, dims: dims(&xs, dim, at), at };
        let length = scan.length(&xs);
        scan.flipped(&scan.prefixes(scan.flipped(&xs), length))
    })
}

/// Returns the index of dimension `dim` in each array of `xs`. Ends the trace if an array has no such dimension.
fn dims<T: Tree>(xs: &T, dim: impl Dim, at: At) -> Vec<usize> {
    let index = |x: &Array| match dim.of(x.tensor().rank()) {
        Some(dim) => dim,
        None => give_up(mistakes::dimension(&dim.to_string(), &x.short_type(), &context::loc(at)), at),
    };
    tree::leaves(xs).into_iter().map(index).collect()
}

struct Scan<'a, T> {
    /// The function in messages.
    name: &'static str,
    combine: &'a dyn Fn(T, T) -> T,
    /// The scanned dimension of each array.
    dims: Vec<usize>,
    at: At,
}

impl<T: Tree> Scan<'_, T> {
    /// Returns the size of the scanned dimensions of the arrays of `xs`. Ends the trace if there are no arrays, or if
    /// the sizes differ.
    fn length(&self, xs: &T) -> usize {
        let leaves = tree::leaves(xs);
        let sizes: Vec<usize> = leaves.iter().zip(&self.dims).map(|(x, &d)| x.tensor().shape[d]).collect();
        match sizes.first() {
            Some(&n) if sizes.iter().all(|&size| size == n) => n,
            _ => {
                let facts: Vec<String> = leaves.iter().map(|a| a.short_type()).collect();
                let message =
                    format!("`{}` needs one or more arrays whose scanned dimensions have the same size", self.name);
                let loc = context::loc(self.at);
                give_up(mistakes::with_facts("scan-length", message, facts.join(", "), "", &loc), self.at)
            }
        }
    }

    /// Returns the combination of each of `n` elements with all before it. Pairs of neighbours are combined first. The
    /// combinations of the pairs are those of the elements at odd positions. Each of the others is that of the one
    /// before it and its own element.
    fn prefixes(&self, xs: T, n: usize) -> T {
        if n < 2 {
            return xs;
        }
        let pairs = self.combined(self.part(&xs, 0, n - 1, 2), self.part(&xs, 1, n, 2));
        let odd = self.prefixes(pairs, n / 2);
        let first = self.part(&xs, 0, 1, 1);
        let even = match (n - 1) / 2 {
            0 => first,
            others => {
                let rest = self.combined(self.part(&odd, 0, others, 1), self.part(&xs, 2, n, 2));
                self.zip(&first, &rest, |first, rest, dim| hlo::concatenate(&[first, rest], dim))
            }
        };
        self.zip(&even, &odd, interleaved)
    }

    fn combined(&self, a: T, b: T) -> T {
        let before = a.rebuild(&mut Array::clone);
        let out = context::outside(self.at, || (self.combine)(a, b));
        let loc = context::loc(self.at);
        if tree::form(&before) != tree::form(&out) {
            give_up(mistakes::form(self.name, "the function changes the form of the tree", &loc), self.at);
        }
        for ((path, a), b) in tree::paths(&before).into_iter().zip(tree::leaves(&out)) {
            if a.tensor() != b.tensor() {
                let types = [&a, &b].map(|x| x.short_type());
                let d = mistakes::combined_type(self.name, &path.to_string(), &types, &loc);
                give_up(d, self.at);
            }
        }
        out
    }

    /// Returns every `by`-th element of `from..to` along the scanned dimension of each array.
    fn part(&self, xs: &T, from: usize, to: usize, by: usize) -> T {
        let mut dims = self.dims.iter();
        xs.rebuild(&mut |x| {
            let dim = *dims.next().expect("one for each array");
            explicit::one(self.name, || hlo::slice_dim(x, dim, from..to, by))
        })
    }

    fn flipped(&self, xs: &T) -> T {
        let mut dims = self.dims.iter();
        xs.rebuild(&mut |x| {
            let dim = *dims.next().expect("one for each array");
            explicit::one(self.name, || hlo::reverse(x, &[dim]))
        })
    }

    fn zip(&self, a: &T, b: &T, f: impl Fn(&Array, &Array, usize) -> Array) -> T {
        let mut others = tree::leaves(b).into_iter().zip(&self.dims);
        a.rebuild(&mut |a| {
            let (b, &dim) = others.next().expect("trees of one form");
            explicit::one(self.name, || f(a, b, dim))
        })
    }
}

/// Returns the elements of both arrays along `dim` in turn, beginning with `even`. `even` may have one more than `odd`.
fn interleaved(even: &Array, odd: &Array, dim: usize) -> Array {
    let shape = &odd.tensor().shape;
    let n = shape[dim];
    let both = hlo::slice_dim(even, dim, 0..n, 1);
    let (mut apart, mut merged) = (shape.clone(), shape.clone());
    apart.insert(dim + 1, 1);
    merged[dim] *= 2;
    let pairs = hlo::concatenate(&[&hlo::reshape(&both, &apart), &hlo::reshape(odd, &apart)], dim + 1);
    let pairs = hlo::reshape(&pairs, &merged);
    if even.tensor().shape == *shape {
        return pairs;
    }
    hlo::concatenate(&[&pairs, &hlo::slice_dim(even, dim, n..n + 1, 1)], dim)
}
