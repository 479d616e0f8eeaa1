//! Matrix products and `einsum`.

use crate::array::Array;
use crate::eager::{call, call_many};
use crate::ops::{AsArray, Checked, Kinds, Site, site};
use crate::{DType, context, hlo, mistakes};
use shardwise_base as base;
use shardwise_ir::TensorType;
use shardwise_ops::dot::DotDims;
use std::collections::BTreeMap;
use std::panic::Location;

impl Array {
    /// Multiplies matrices: contracts the last dimension of `self` with the last but one of `b`. The dimensions before
    /// the last two are batch dimensions, which are broadcast.
    ///
    /// # Shapes
    ///
    /// `f32[.., m, k], f32[.., k, n] -> f32[.., m, n]`. A vector on the left is a row, and the result lacks `m`. A
    /// vector on the right is a column, and the result lacks `n`.
    ///
    /// # Errors
    ///
    /// - `dot-contracting-size` if the contracted dimensions have different sizes.
    /// - `matmul-rank` for a scalar.
    /// - `broadcast` if the batch dimensions cannot be broadcast.
    /// - `dtype-mixed` if the dtypes differ.
    /// - `too-large` if the result, or an operand that is broadcast to the batch dimensions, would have 2^59 bytes or
    ///   more, where a size of 0 counts as 1.
    #[track_caller]
    pub fn matmul(&self, b: impl AsArray) -> Array {
        let b = b.as_array();
        site("matmul", &[self, b], |s| matmul(s, self, b))
    }

    /// Multiplies each element of `self` with each element of `b`. Both arrays are read as vectors, in row-major order.
    ///
    /// # Shapes
    ///
    /// `f32[m], f32[n] -> f32[m, n]`.
    ///
    /// # Errors
    ///
    /// - `dtype-mixed` if the dtypes differ, and `dtype-kind` unless they are dtypes of numbers.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let product = array(&[1, 2]).outer(array(&[3, 4, 5]));
    /// assert_eq!(product.to_vec2::<i32>()?, [[3, 4, 5], [6, 8, 10]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn outer(&self, b: impl AsArray) -> Array {
        let b = b.as_array();
        site("outer", &[self, b], |s| {
            let shape = [self.tensor().size(), b.tensor().size()];
            factors(s, self, b)?;
            Ok(call("outer", (), [self, b], |[a, b]| {
                let (a, b) = (hlo::reshape(a, &shape[..1]), hlo::reshape(b, &shape[1..]));
                hlo::broadcast_in_dim(&a, &shape, &[0]) * hlo::broadcast_in_dim(&b, &shape, &[1])
            }))
        })
    }

    /// Returns the Kronecker product: each element of `self` is replaced by its product with the whole of `b`. If one of
    /// the arrays has fewer dimensions, dimensions of size 1 are added in front of it.
    ///
    /// # Shapes
    ///
    /// `f32[m, n], f32[p, q] -> f32[m * p, n * q]`.
    ///
    /// # Errors
    ///
    /// - `dtype-mixed` if the dtypes differ, and `dtype-kind` unless they are dtypes of numbers.
    /// - `too-large` if the result, or an array with two dimensions for each of its dimensions, one of each operand,
    ///   would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255 dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let product = array(&[1, 10]).kron(array(&[1, 2, 3]));
    /// assert_eq!(product.to_vec::<i32>()?, [1, 2, 3, 10, 20, 30]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn kron(&self, b: impl AsArray) -> Array {
        let b = b.as_array();
        site("kron", &[self, b], |s| {
            factors(s, self, b)?;
            let rank = self.tensor().rank().max(b.tensor().rank());
            let sizes = |x: &Array| [vec![1; rank - x.tensor().rank()], x.tensor().shape.clone()].concat();
            let (own, other) = (sizes(self), sizes(b));
            let merged: Vec<usize> = own.iter().zip(&other).map(|(m, n)| m.saturating_mul(*n)).collect();
            s.fits(&TensorType::new(self.tensor().dtype, merged.clone()))?;
            let apart: Vec<usize> = own.iter().zip(&other).flat_map(|(&m, &n)| [m, n]).collect();
            let dims = |first: usize| (0..rank).map(|d| 2 * d + first).collect::<Vec<_>>();
            Ok(call("kron", (), [self, b], |[a, b]| {
                let (a, b) = (hlo::reshape(a, &own), hlo::reshape(b, &other));
                let product = hlo::broadcast_in_dim(&a, &apart, &dims(0)) * hlo::broadcast_in_dim(&b, &apart, &dims(1));
                hlo::reshape(&product, &merged)
            }))
        })
    }
}

/// Checks that two arrays can be multiplied, whatever their shapes are.
///
/// Errors: `dtype-kind`, `dtype-mixed`.
fn factors(s: &Site<'_>, a: &Array, b: &Array) -> Checked<()> {
    s.has(a, Kinds::Numbers)?;
    s.has(b, Kinds::Numbers)?;
    if a.tensor().dtype == b.tensor().dtype {
        return Ok(());
    }
    let d = mistakes::dtypes(s.name, &a.short_type(), &b.short_type(), DType::of(a.tensor().dtype), &s.loc);
    s.fail(None, d)
}

fn matmul(s: &Site<'_>, a: &Array, b: &Array) -> Checked {
    let (x, y) = (a.tensor(), b.tensor());
    if x.rank() == 0 || y.rank() == 0 {
        let facts = format!("{} and {}", a.short_type(), b.short_type());
        return s.fail(
            None,
            mistakes::with_facts(
                "matmul-rank",
                "`matmul` needs arrays with at least one dimension".into(),
                facts,
                "",
                &s.loc,
            ),
        );
    }
    let (a_row, b_column) = (x.rank() == 1, y.rank() == 1);
    let (k, l) = (x.shape[x.rank() - 1], if b_column { y.shape[0] } else { y.shape[y.rank() - 2] });
    let (a_batch, b_batch) = (&x.shape[..x.rank().max(2) - 2], &y.shape[..y.rank().max(2) - 2]);
    let (a_batch, b_batch) = (if a_row { &[][..] } else { a_batch }, if b_column { &[][..] } else { b_batch });
    let Some(batch) = crate::ops::broadcast_shape(a_batch, b_batch) else {
        return s.fail(None, mistakes::broadcast_batch("matmul", &a.short_type(), &b.short_type(), &s.loc));
    };
    let mut shape = batch.clone();
    if !a_row {
        shape.push(x.shape[x.rank() - 2]);
    }
    if !b_column {
        shape.push(y.shape[y.rank() - 1]);
    }
    let ty = TensorType::new(x.dtype, shape);
    if x.dtype != y.dtype {
        let to = DType::of(x.dtype);
        return s.fail(Some(ty), mistakes::dtypes("matmul", &a.short_type(), &b.short_type(), to, &s.loc));
    }
    if k != l {
        return s.fail(Some(ty), contracting(a, b, k, l, &s.loc));
    }
    Ok(call("matmul", (), [a, b], |[a, b]| matmul_op(a, b, &batch)))
}

/// Multiplies each group of rows with a matrix of its own: the first `group_sizes[0]` rows with the first matrix, and
/// so on. Rows after the last group become zeros. A negative size counts as 0, and groups end at the last row.
///
/// # Shapes
///
/// `f32[m, k], f32[g, k, n], i32[g] -> f32[m, n]`.
///
/// # Errors
///
/// - `ragged-dot` if the shapes do not fit.
/// - `dtype-mixed` if the dtypes of the factors differ.
/// - `dtype-kind` unless the group sizes are integers.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
#[track_caller]
pub fn ragged_dot(lhs: impl AsArray, rhs: impl AsArray, group_sizes: impl AsArray) -> Array {
    let (lhs, rhs, sizes) = (lhs.as_array(), rhs.as_array(), group_sizes.as_array());
    site("ragged_dot", &[lhs, rhs, sizes], |s| {
        let (x, y, z) = (lhs.tensor(), rhs.tensor(), sizes.tensor());
        let shown = || format!("{}, {}, {}", lhs.short_type(), rhs.short_type(), sizes.short_type());
        let (&[m, k], &[g, l, n]) = (&x.shape[..], &y.shape[..]) else {
            return s.fail(None, mistakes::ragged_dot(&shown(), &s.loc));
        };
        let ty = TensorType::new(x.dtype, [m, n]);
        if k != l || z.shape != [g] {
            return s.fail(Some(ty), mistakes::ragged_dot(&shown(), &s.loc));
        }
        s.kind(sizes, base::DType::is_integer, "group sizes that are integers", "")?;
        if x.dtype != y.dtype {
            let to = DType::of(x.dtype);
            let d = mistakes::dtypes("ragged_dot", &lhs.short_type(), &rhs.short_type(), to, &s.loc);
            return s.fail(Some(ty), d);
        }
        Ok(call("ragged_dot", (), [lhs, rhs, sizes], |[x, y, z]| hlo::ragged_dot(x, y, z)))
    })
}

fn contracting(a: &Array, b: &Array, k: usize, l: usize, loc: &base::Loc) -> base::Diagnostic {
    let (left, right) = (a.tensor().rank() - 1, b.tensor().rank().max(2) - 2);
    let d =
        base::Diagnostic::error("dot-contracting-size", loc, "`matmul`: the sizes of the contracted dimensions differ");
    let d = d.facts(format!(
        "{} · {}: dim {left} of the left operand has size {k}, and dim {right} of the right operand has size {l}",
        a.short_type(),
        b.short_type()
    ));
    let fits = b.tensor().rank() >= 2 && b.tensor().shape.last() == Some(&k);
    if fits { d.help("the right operand fits when it is transposed: `.t()`") } else { d }
}

/// Builds the product. `batch` are the sizes of the broadcast batch dimensions.
fn matmul_op(a: &Array, b: &Array, batch: &[usize]) -> Array {
    let (x, y) = (a.tensor().clone(), b.tensor().clone());
    // A matrix on the right has no batch to repeat: its columns are free dimensions of one product.
    if y.rank() <= 2 {
        let dot = DotDims { lhs_contract: vec![x.rank() - 1], rhs_contract: vec![0], ..DotDims::default() };
        return hlo::dot_general(a, b, &dot, a.tensor().dtype);
    }
    let n = batch.len();
    let with_batch = |a: &Array, ty: &TensorType, matrix: usize| {
        let shape: Vec<usize> = batch.iter().chain(&ty.shape[ty.rank() - matrix..]).copied().collect();
        hlo::broadcast_to(a, &shape)
    };
    if x.rank() == 1 {
        let a = hlo::broadcast_to(a, &batch.iter().chain(&x.shape).copied().collect::<Vec<_>>());
        let dot = DotDims {
            lhs_batch: (0..n).collect(),
            rhs_batch: (0..n).collect(),
            lhs_contract: vec![n],
            rhs_contract: vec![n],
        };
        return hlo::dot_general(&a, b, &dot, a.tensor().dtype);
    }
    let (a, b) = (with_batch(a, &x, 2), with_batch(b, &y, 2));
    let dot = DotDims {
        lhs_batch: (0..n).collect(),
        rhs_batch: (0..n).collect(),
        lhs_contract: vec![n + 1],
        rhs_contract: vec![n],
    };
    hlo::dot_general(&a, &b, &dot, a.tensor().dtype)
}

/// Types that are accepted as the operands of an `einsum`: a Rust array of arrays or of references to them, a tuple of
/// up to five of either, or a slice of arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of arrays",
    label = "expected `[&x, &w]`, `(x, &w)` or `&[Array]`"
)]
pub trait Operands {
    #[doc(hidden)]
    fn arrays(self) -> Vec<Array>;
}
impl<const N: usize> Operands for [Array; N] {
    fn arrays(self) -> Vec<Array> {
        self.into()
    }
}
impl<const N: usize> Operands for [&Array; N] {
    fn arrays(self) -> Vec<Array> {
        self.map(Clone::clone).into()
    }
}
impl Operands for &[Array] {
    fn arrays(self) -> Vec<Array> {
        self.to_vec()
    }
}
macro_rules! operands {
    ($($t:ident $i:tt),+) => {
        impl<$($t: AsArray),+> Operands for ($($t,)+) {
            fn arrays(self) -> Vec<Array> { vec![$(self.$i.as_array().clone()),+] }
        }
    };
}
operands!(A 0);
operands!(A 0, B 1);
operands!(A 0, B 1, C 2);
operands!(A 0, B 1, C 2, D 3);
operands!(A 0, B 1, C 2, D 3, E 4);

/// Computes an einsum whose spec is known only at run time. See [`einsum!`](crate::einsum!).
///
/// # Errors
///
/// `einsum-spec` for a malformed spec or one for another number of operands, and those of the macro.
#[track_caller]
pub fn einsum(spec: &str, operands: impl Operands) -> Array {
    let arrays = operands.arrays();
    einsum_refs(spec, &arrays.iter().collect::<Vec<_>>())
}

/// Computes an einsum: `einsum!("bd,df->bf", x, w)`. The spec has a letter for each dimension. Letters that the result
/// lacks are summed over. If a letter occurs twice in an operand, the diagonal is taken.
///
/// The spec is checked when the program is compiled by rustc. Operands are borrowed.
///
/// # Errors
///
/// - `einsum-rank` if an operand does not have a dimension for each of its letters.
/// - `einsum-size` if a letter has two sizes.
/// - `dtype-mixed` if the dtypes differ.
/// - `dtype-kind` for bools and for a dtype that can only be stored, if a letter that occurs in one operand only is
///   summed over, or a diagonal is taken.
/// - `too-large` if the result, or the product of some of the operands, would have 2^59 bytes or more, where a size of
///   0 counts as 1.
#[macro_export]
macro_rules! einsum {
    ($spec:literal $(, $x:expr)+ $(,)?) => {{
        const _: () = $crate::check_einsum($spec, [$($crate::count!($x)),+].len());
        $crate::einsum_refs($spec, &[$($crate::AsArray::as_array(&$x)),+])
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! count {
    ($x:expr) => {
        ()
    };
}

const fn spec_mistake(spec: &str, operands: usize) -> Option<&'static str> {
    let s = spec.as_bytes();
    let (mut i, mut count, mut arrow) = (0, 1, usize::MAX);
    while i < s.len() {
        match s[i] {
            b',' if arrow == usize::MAX => count += 1,
            b'-' if arrow == usize::MAX && i + 1 < s.len() && s[i + 1] == b'>' => {
                arrow = i;
                i += 1;
            }
            b'a'..=b'z' | b'A'..=b'Z' => {}
            _ => {
                return Some(
                    "an einsum spec has only ASCII letters, commas between operands and one `->`: \"bd,df->bf\"",
                );
            }
        }
        i += 1;
    }
    if arrow == usize::MAX {
        return Some("the einsum spec has no `->`, which is followed by the result's letters");
    }
    if count != operands {
        return Some("the number of operands in the einsum spec differs from the number of arrays");
    }
    let mut o = arrow + 2;
    while o < s.len() {
        let (mut j, mut found) = (0, false);
        while j < arrow {
            found |= s[j] == s[o];
            j += 1;
        }
        let mut k = arrow + 2;
        while k < o {
            if s[k] == s[o] {
                return Some("a letter occurs twice in the result of the einsum spec");
            }
            k += 1;
        }
        if !found {
            return Some("a letter of the result of the einsum spec occurs in no operand");
        }
        o += 1;
    }
    None
}

#[doc(hidden)]
pub const fn check_einsum(spec: &str, operands: usize) {
    if let Some(mistake) = spec_mistake(spec, operands) {
        panic!("{}", mistake);
    }
}

#[doc(hidden)]
#[track_caller]
pub fn einsum_refs(spec: &str, operands: &[&Array]) -> Array {
    let at = context::caller(Location::caller());
    context::within(at, || {
        site("einsum", operands, |s| {
            let letters = Letters::parse(s, spec, operands.len())?;
            let shapes: Vec<&[usize]> = operands.iter().map(|a| &*a.tensor().shape).collect();
            letters.check(s, spec, operands, &shapes)?;
            let out = call_many("einsum", spec, operands, 1, |x| vec![letters.contract(x, x[0].tensor().dtype)]);
            Ok(out.into_iter().next().expect("one result"))
        })
    })
}

pub(crate) struct Letters {
    pub inputs: Vec<Vec<char>>,
    pub output: Vec<char>,
}

impl Letters {
    /// Parses a spec for `operands` operands.
    ///
    /// Errors: `einsum-spec`.
    pub fn parse(s: &Site<'_>, spec: &str, operands: usize) -> Checked<Letters> {
        if let Some(mistake) = spec_mistake(spec, operands) {
            let facts = format!("{spec:?} for {operands} arrays");
            return s.fail(None, mistakes::with_facts("einsum-spec", mistake.into(), facts, "", &s.loc));
        }
        let (inputs, output) = spec.split_once("->").expect("checked");
        let inputs = inputs.split(',').map(|l| l.chars().collect()).collect();
        Ok(Letters { inputs, output: output.chars().collect() })
    }

    /// Checks that operands of these shapes fit the spec and have one dtype, and returns the size of each letter.
    ///
    /// Errors: `einsum-rank`, `einsum-size`, `dtype-mixed`.
    pub fn check(&self, s: &Site<'_>, spec: &str, x: &[&Array], shapes: &[&[usize]]) -> Checked<BTreeMap<char, usize>> {
        let types = x.iter().map(|a| a.short_type()).collect::<Vec<_>>().join(", ");
        for (labels, shape) in self.inputs.iter().zip(shapes) {
            if labels.len() != shape.len() {
                let labels: String = labels.iter().collect();
                let message = format!(
                    "`{}` {spec}: the letters `{labels}` do not fit an array of {} dimensions",
                    s.name,
                    shape.len()
                );
                return s.fail(None, mistakes::with_facts("einsum-rank", message, types, "", &s.loc));
            }
        }
        let mut sizes = BTreeMap::new();
        let mut differing = None;
        for (labels, shape) in self.inputs.iter().zip(shapes) {
            for (&c, &n) in labels.iter().zip(*shape) {
                let m = *sizes.entry(c).or_insert(n);
                if m != n {
                    differing.get_or_insert((c, m, n));
                }
            }
        }
        let dtype = x[0].tensor().dtype;
        let ty = TensorType::new(dtype, self.output.iter().map(|c| sizes[c]).collect::<Vec<_>>());
        if let Some((c, m, n)) = differing {
            let message = format!("`{}` {spec}: `{c}` has two sizes, {m} and {n}", s.name);
            return s.fail(Some(ty), mistakes::with_facts("einsum-size", message, types, "", &s.loc));
        }
        if let Some(other) = x.iter().find(|a| a.tensor().dtype != dtype) {
            let to = DType::of(dtype);
            let d = mistakes::dtypes(s.name, &x[0].short_type(), &other.short_type(), to, &s.loc);
            return s.fail(Some(ty), d);
        }
        Ok(sizes)
    }

    /// Computes the einsum of traced operands that have been checked. The sums are rounded to `dtype`.
    pub fn contract(&self, operands: &[Array], dtype: base::DType) -> Array {
        let terms = self.inputs.iter().cloned().zip(operands.iter().cloned());
        contract(terms.map(|(labels, array)| Term { labels, array }).collect(), &self.output, dtype)
    }
}

#[derive(Clone)]
struct Term {
    labels: Vec<char>,
    array: Array,
}

/// Contracts the terms from left to right, two at a time. A letter that neither the result nor a later term has is
/// summed as early as possible.
fn contract(terms: Vec<Term>, output: &[char], dtype: base::DType) -> Array {
    let mut rest: Vec<Term> = terms.into_iter().map(diagonal).collect();
    let mut left = rest.remove(0);
    while !rest.is_empty() {
        let right = rest.remove(0);
        let needed = |c: &char| output.contains(c) || rest.iter().any(|t| t.labels.contains(c));
        left = product(left, right, needed, dtype);
    }
    let left = sum_away(left, |c| output.contains(c), dtype);
    let order: Vec<usize> = output.iter().map(|c| position(&left.labels, *c)).collect();
    hlo::transpose(&left.array, &order)
}

fn position(labels: &[char], c: char) -> usize {
    labels.iter().position(|&l| l == c).expect("the spec was checked")
}

fn sum_away(t: Term, is_kept: impl Fn(&char) -> bool, dtype: base::DType) -> Term {
    let dims: Vec<usize> = (0..t.labels.len()).filter(|&d| !is_kept(&t.labels[d])).collect();
    if dims.is_empty() {
        return t;
    }
    let labels = t.labels.iter().copied().filter(|c| is_kept(c)).collect();
    Term { labels, array: hlo::convert(&t.array, dtype).sum(dims) }
}

/// Takes the diagonal of dimensions that have the same letter, as the sum of a masked array. Bools and a dtype that can
/// only be stored are reported by the sum.
fn diagonal(t: Term) -> Term {
    let twice = (0..t.labels.len()).find_map(|i| t.labels[..i].iter().position(|c| *c == t.labels[i]).map(|j| (j, i)));
    let Some((first, second)) = twice else { return t };
    let ty = t.array.tensor().clone();
    let place = |d| hlo::iota(TensorType::new(base::DType::I32, ty.shape.clone()), d);
    let on = hlo::compare("EQ", &place(first), &place(second));
    let masked = hlo::select(&on, &t.array, &hlo::zeros(&ty));
    let mut labels = t.labels;
    labels.remove(second);
    diagonal(Term { labels, array: masked.sum(second) })
}

fn product(a: Term, b: Term, needed: impl Fn(&char) -> bool, dtype: base::DType) -> Term {
    let mut a = sum_away(a, |c| needed(c) || b.labels.contains(c), dtype);
    let mut b = sum_away(b, |c| needed(c) || a.labels.contains(c), dtype);
    if a.array.tensor().dtype != b.array.tensor().dtype {
        [&mut a, &mut b].into_iter().for_each(|t| t.array = hlo::convert(&t.array, dtype));
    }
    let common: Vec<char> = a.labels.iter().copied().filter(|c| b.labels.contains(c)).collect();
    let (batch, contracted): (Vec<char>, Vec<char>) = common.iter().partition(|c| needed(c));
    let dims = |labels: &[char], of: &[char]| -> Vec<usize> { of.iter().map(|&c| position(labels, c)).collect() };
    let dot = DotDims {
        lhs_batch: dims(&a.labels, &batch),
        rhs_batch: dims(&b.labels, &batch),
        lhs_contract: dims(&a.labels, &contracted),
        rhs_contract: dims(&b.labels, &contracted),
    };
    let free = |labels: &[char]| labels.iter().copied().filter(|c| !common.contains(c)).collect::<Vec<_>>();
    let labels = batch.iter().copied().chain(free(&a.labels)).chain(free(&b.labels)).collect();
    Term { labels, array: hlo::dot_general(&a.array, &b.array, &dot, dtype) }
}
