//! Random choices with given probabilities.

use super::{Key, gumbel_of, is_key, permutation_of, randint_of, uniform_of};
use crate::array::{Array, IntoShape};
use crate::eager::{call_many, create_from};
use crate::explicit;
use crate::ops::{Checked, Kinds, Site, element, site};
use crate::reduce::wide;
use crate::search::{Side, insertion_points, is_vector};
use crate::{hlo, mistakes};
use shardwise_base::DType;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;

/// The options of [`choice`]: `Choice::new().without_replacement().p(&p)`. By default, numbers may be drawn again, and
/// all are equally probable.
#[derive(Clone, Debug, Default)]
#[must_use = "pass the options to `choice`"]
pub struct Choice {
    is_without_replacement: bool,
    p: Option<Array>,
}

impl Choice {
    /// Returns the default options: with replacement, and with equal probabilities.
    pub fn new() -> Choice {
        Choice::default()
    }

    /// Draws each number at most once.
    pub fn without_replacement(self) -> Choice {
        Choice { is_without_replacement: true, ..self }
    }

    /// Draws number `i` with the probability `p[i]`. The probabilities need not add up to 1: only their proportions
    /// matter. Without replacement, each draw is in proportion to the probabilities of the numbers that are left, and
    /// numbers with probability 0 are drawn after all others. The values of the probabilities are not checked.
    pub fn p(self, p: &Array) -> Choice {
        Choice { p: Some(p.clone()), ..self }
    }
}

/// Draws numbers from `0..n`, as `jax.random.choice` does: `x.i(&choice(key, x.dim(0), [3], Choice::new()))` draws
/// three rows of `x`.
///
/// # Shapes
///
/// `i32[shape]`.
///
/// # Errors
///
/// - `choice` if there is nothing to draw from, or more numbers are to be drawn without replacement than there are.
/// - `vector` unless the probabilities have one dimension, and `choice-p` unless there is one for each number.
/// - `dtype-kind` unless the probabilities are floats.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions, or if an `i32` cannot count the numbers.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// use shardwise::Choice;
/// let three = choice(Key::new(0), 3, [3], Choice::new().without_replacement());
/// assert_eq!(three.sort(0).to_vec::<i32>()?, [0, 1, 2]);
/// let certain = choice(Key::new(0), 3, [2, 2], Choice::new().p(&array(&[0.0f32, 1.0, 0.0])));
/// assert_eq!(certain.to_vec::<i32>()?, [1; 4]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn choice(key: Key, n: usize, shape: impl IntoShape, options: Choice) -> Array {
    let ty = TensorType::new(DType::I32, shape.into_shape().0);
    let given: Vec<&Array> = std::iter::once(&key.0).chain(&options.p).collect();
    site("choice", &given, |s| {
        is_key(s, &key.0)?;
        s.fits(&ty)?;
        check(s, &key.0, n, &ty, &options)?;
        let is_once = options.is_without_replacement;
        let made = ty.clone();
        match &options.p {
            None => Ok(create_from("choice", (n, is_once, &ty), [&key.0], ty.clone(), move |[key]| {
                if made.size() == 0 { hlo::zeros(&made) } else { equally(key, n, &made, is_once) }
            })),
            Some(p) => {
                let out = call_many("choice", (n, is_once, &ty), &[&key.0, p], 1, |x| {
                    vec![explicit::silently_if_on(|| by_weight(&x[0], &x[1], &ty, is_once))]
                });
                Ok(out.into_iter().next().expect("one result"))
            }
        }
    })
}

/// Checks the arguments of [`choice`].
///
/// Errors: `choice`, `vector`, `choice-p`, `dtype-kind`, `too-large`.
fn check(s: &Site<'_>, key: &Array, n: usize, ty: &TensorType, options: &Choice) -> Checked<()> {
    let draws = ty.size();
    if (n == 0 && draws > 0) || (options.is_without_replacement && draws > n) {
        let how = if options.is_without_replacement { " without replacement" } else { "" };
        let message = format!("`choice` cannot draw {draws} of {n} numbers{how}");
        return s.fail(Some(ty.clone()), mistakes::with_facts("choice", message, ty.short(), "", &s.loc));
    }
    s.counts(options.p.as_ref().unwrap_or(key), n)?;
    let Some(p) = &options.p else { return Ok(()) };
    s.has(p, Kinds::Floats)?;
    is_vector(s, p)?;
    if p.tensor().shape != [n] {
        let message = format!("`choice` needs {n} probabilities");
        let help = "give a probability for each number";
        return s.fail(Some(ty.clone()), mistakes::with_facts("choice-p", message, p.short_type(), help, &s.loc));
    }
    Ok(())
}

fn equally(key: &Array, n: usize, ty: &TensorType, is_once: bool) -> Array {
    if !is_once {
        return randint_of(key, ty, &(0..n));
    }
    let order = permutation_of(key, &TensorType::new(DType::I32, [n]));
    hlo::reshape(&hlo::slice(&order, &[0], &[ty.size()], &[1]), &ty.shape)
}

fn by_weight(key: &Array, p: &Array, ty: &TensorType, is_once: bool) -> Array {
    let weights = p.tensor();
    if ty.size() == 0 {
        return hlo::zeros(ty);
    }
    if is_once {
        // The largest logarithms of the weights with Gumbel noise: a draw without replacement.
        let noisy = gumbel_of(key, weights) + hlo::unary(Opcode::Log, p);
        return hlo::reshape(&noisy.top_k(ty.size()).1, &ty.shape);
    }
    // Sums in 16 bits would be equal for neighbours with small probabilities.
    let dtype = wide(weights.dtype);
    let sums = hlo::cumulative(&hlo::convert(p, dtype), Opcode::Add, &element(0.0, dtype), 0);
    let n = weights.shape[0];
    let total = hlo::reshape(&hlo::slice(&sums, &[n - 1], &[n], &[1]), &[]);
    let uniform = uniform_of(key, &TensorType::new(dtype, ty.shape.clone()), 0.0, 1.0);
    insertion_points(&sums, &(total * (1.0 - uniform)), Side::Left)
}
