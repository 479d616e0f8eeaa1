//! Attention.

use crate::array::Array;
use crate::eager::call_many;
use crate::explicit::decided;
use crate::ops::{Checked, Kinds, Site, broadcast_shape, element, site};
use crate::{DType, hlo, mistakes};
use shardwise_base as base;
use shardwise_ir::TensorType;
use shardwise_ops::dot::DotDims;

/// The options of [`dot_product_attention`]: `Attention::new().causal()`. By default, each query attends to all keys,
/// and the scale is `1 / sqrt(head size)`.
#[derive(Clone, Debug, Default)]
#[must_use = "pass the options to `dot_product_attention`"]
pub struct Attention {
    bias: Option<Array>,
    mask: Option<Array>,
    scale: Option<f64>,
    is_causal: bool,
}

impl Attention {
    /// Returns the default options: no mask, no bias, and the scale `1 / sqrt(head size)`.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Lets the query at a position attend only to the keys up to and including this position.
    pub fn causal(self) -> Attention {
        Attention { is_causal: true, ..self }
    }

    /// Lets a query attend only to the keys for which the mask is true. The mask is broadcast to `[batch, heads,
    /// queries, keys]`. If a query attends to no key, all keys have the same weight.
    pub fn mask(self, mask: &Array) -> Attention {
        Attention { mask: Some(mask.clone()), ..self }
    }

    /// Adds a bias to the scores, after they are scaled. It is broadcast to `[batch, heads, queries, keys]`.
    pub fn bias(self, bias: &Array) -> Attention {
        Attention { bias: Some(bias.clone()), ..self }
    }

    /// Multiplies the scores by this number in place of `1 / sqrt(head size)`.
    pub fn scale(self, scale: f64) -> Attention {
        Attention { scale: Some(scale), ..self }
    }
}

/// Computes attention: `softmax(query · key * scale + bias) · value`, where the softmax is over the keys. This is
/// `jax.nn.dot_product_attention`.
///
/// Keys and values may have fewer heads than queries, a divisor of their number: query head `h` uses head `h / (query
/// heads / key heads)` (grouped-query attention). Scores and their softmax are computed in `f32` if the arrays are
/// `bf16` or `f16`, and the weights are rounded to the dtype of the values.
///
/// # Shapes
///
/// `f32[b, q, heads, d], f32[b, k, kv_heads, d], f32[b, k, kv_heads, e] -> f32[b, q, heads, e]`, or the same without
/// `b`.
///
/// # Errors
///
/// - `attention-shapes` unless the shapes fit.
/// - `attention-heads` unless the number of key heads divides the number of query heads.
/// - `attention-mask` if a mask or bias cannot be broadcast to `[b, heads, q, k]`.
/// - `dtype-kind` unless the arrays and the bias are floats and the mask holds bools.
/// - `dtype-mixed` if query, key and value have different dtypes.
/// - `too-large` if the result or the scores, `[b, heads, q, k]`, would have 2^59 bytes or more, where a size of 0
///   counts as 1.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// use shardwise::nn::Attention;
/// let q = normal(Key::new(0), [2, 5, 8, 4], F32); // 8 heads of queries share 2 heads of keys
/// let kv = normal(Key::new(1), [2, 5, 2, 4], F32);
/// let out = nn::dot_product_attention(&q, &kv, &kv, Attention::new().causal());
/// assert_eq!(out.shape(), [2, 5, 8, 4]);
/// // The first query attends only to the first key.
/// assert_close(&out.i((.., 0, 0)), &kv.i((.., 0, 0)));
/// ```
#[track_caller]
pub fn dot_product_attention(query: &Array, key: &Array, value: &Array, options: Attention) -> Array {
    let Attention { bias, mask, scale, is_causal } = options;
    let mut operands = vec![query, key, value];
    operands.extend(bias.iter().chain(&mask));
    site("dot_product_attention", &operands, |s| {
        let sizes = Sizes::of(s, query, key, value)?;
        sizes.check_extra(s, bias.as_ref(), mask.as_ref())?;
        let scale = scale.unwrap_or_else(|| 1.0 / (sizes.d as f64).sqrt());
        let constants = (scale.to_bits(), is_causal, bias.is_some(), mask.is_some());
        let out = call_many(decided("dot_product_attention"), constants, &operands, 1, |x| {
            let mut extra = x[3..].iter();
            let extra = Extra {
                bias: bias.as_ref().and_then(|_| extra.next()),
                mask: mask.as_ref().and_then(|_| extra.next()),
                is_causal,
            };
            vec![sizes.attend([&x[0], &x[1], &x[2]], scale, &extra)]
        });
        Ok(out.into_iter().next().expect("one result"))
    })
}

struct Extra<'a> {
    bias: Option<&'a Array>,
    mask: Option<&'a Array>,
    is_causal: bool,
}

/// The sizes of the dimensions of query, key and value. `d` is the last one of query and key, and `e` that of value.
struct Sizes {
    /// True if query, key and value have a batch dimension. If it is false, `batch` is 1.
    is_batched: bool,
    batch: usize,
    queries: usize,
    keys: usize,
    heads: usize,
    kv_heads: usize,
    d: usize,
    e: usize,
}

impl Sizes {
    fn of(s: &Site<'_>, query: &Array, key: &Array, value: &Array) -> Checked<Sizes> {
        let is_batched = query.tensor().rank() == 4;
        let four = |x: &Array| {
            let shape = &x.tensor().shape;
            let shape = if is_batched { shape.clone() } else { [&[1], &shape[..]].concat() };
            <[usize; 4]>::try_from(shape).ok()
        };
        let types = || format!("query {}, key {}, value {}", query.short_type(), key.short_type(), value.short_type());
        let wrong = || s.fail(None, mistakes::attention_shapes(&types(), &s.loc));
        let (Some([batch, queries, heads, d]), Some(k), Some([vb, vk, vh, e])) = (four(query), four(key), four(value))
        else {
            return wrong();
        };
        let [_, keys, kv_heads, _] = k;
        if k != [batch, keys, kv_heads, d] || [vb, vk, vh] != [batch, keys, kv_heads] {
            return wrong();
        }
        let sizes = Sizes { is_batched, batch, queries, keys, heads, kv_heads, d, e };
        let ty = Some(TensorType::new(query.tensor().dtype, sizes.result()));
        if kv_heads == 0 || heads % kv_heads != 0 {
            return s.fail(ty, mistakes::attention_heads(heads, kv_heads, &types(), &s.loc));
        }
        s.has(query, Kinds::Floats)?;
        match [key, value].into_iter().find(|x| x.tensor().dtype != query.tensor().dtype) {
            Some(x) => {
                let to = DType::of(query.tensor().dtype);
                s.fail(ty, mistakes::dtypes(s.name, &query.short_type(), &x.short_type(), to, &s.loc))
            }
            None => Ok(sizes),
        }
    }

    fn result(&self) -> Vec<usize> {
        let shape = [self.batch, self.queries, self.heads, self.e];
        shape[usize::from(!self.is_batched)..].to_vec()
    }

    fn check_extra(&self, s: &Site<'_>, bias: Option<&Array>, mask: Option<&Array>) -> Checked<()> {
        let scores = [self.batch, self.heads, self.queries, self.keys];
        for (what, x) in [("bias", bias), ("mask", mask)].into_iter().filter_map(|(what, x)| Some((what, x?))) {
            if broadcast_shape(&x.tensor().shape, &scores).is_none_or(|shape| shape != scores) {
                return s.fail(None, mistakes::attention_mask(what, &x.short_type(), &scores, &s.loc));
            }
        }
        if let Some(mask) = mask {
            s.kind(mask, base::DType::is_bool, "a mask of bools", "compare the mask first: `.ne(0)`")?;
        }
        bias.map_or(Ok(()), |bias| s.has(bias, Kinds::Floats))
    }

    /// Computes the attention. Inside, `heads` is split into `kv_heads` and the group of query heads that share one.
    fn attend(&self, [query, key, value]: [&Array; 3], scale: f64, extra: &Extra<'_>) -> Array {
        let Sizes { batch, queries, keys, heads, kv_heads, d, e, .. } = *self;
        let group = heads / kv_heads;
        let dtype = query.tensor().dtype;
        let wide = if dtype == base::DType::F64 { dtype } else { base::DType::F32 };
        let query = hlo::reshape(query, &[batch, queries, kv_heads, group, d]);
        let key = hlo::reshape(key, &[batch, keys, kv_heads, d]);
        let value = hlo::reshape(value, &[batch, keys, kv_heads, e]);
        // scores: [batch, kv_heads, queries, group, keys]
        let dot =
            DotDims { lhs_batch: vec![0, 2], rhs_batch: vec![0, 2], lhs_contract: vec![4], rhs_contract: vec![3] };
        let scores = hlo::dot_general(&query, &key, &dot, wide) * scale;
        let weights = hlo::convert(&self.masked(scores, extra).softmax(-1), dtype);
        // out: [batch, kv_heads, queries, group, e]
        let dot =
            DotDims { lhs_batch: vec![0, 1], rhs_batch: vec![0, 2], lhs_contract: vec![4], rhs_contract: vec![1] };
        let out = hlo::transpose(&hlo::dot_general(&weights, &value, &dot, dtype), &[0, 2, 1, 3, 4]);
        hlo::reshape(&out, &self.result())
    }

    /// Adds the bias to the scores, and sets those that are masked to a large negative number. It is finite, so that
    /// the softmax for a query whose keys are all masked is not NaN.
    fn masked(&self, scores: Array, extra: &Extra<'_>) -> Array {
        let ty = scores.tensor().clone();
        let scores = match extra.bias {
            Some(bias) => scores + hlo::convert(&self.grouped(bias), ty.dtype),
            None => scores,
        };
        let causal = extra.is_causal.then(|| {
            let place = |dim| hlo::iota(TensorType::new(base::DType::I32, ty.shape.clone()), dim);
            hlo::compare("GE", &place(2), &place(4))
        });
        let mask = extra.mask.map(|mask| self.grouped(mask));
        let mask = match (mask, causal) {
            (Some(a), Some(b)) => a & b,
            (Some(mask), None) | (None, Some(mask)) => mask,
            (None, None) => return scores,
        };
        let largest = if ty.dtype == base::DType::F64 { f64::MAX } else { f64::from(f32::MAX) };
        mask.select(scores, hlo::constant(element(-0.7 * largest, ty.dtype)))
    }

    /// Returns `x`, which can be broadcast to `[batch, heads, queries, keys]`, with its dimensions split and moved so
    /// that it can be broadcast to the scores: `[batch, kv_heads, queries, group, keys]`.
    fn grouped(&self, x: &Array) -> Array {
        let shape = [&vec![1; 4 - x.tensor().rank()], &x.tensor().shape[..]].concat();
        let split = if shape[1] == 1 { [1, 1] } else { [self.kv_heads, self.heads / self.kv_heads] };
        let x = hlo::reshape(x, &[shape[0], split[0], split[1], shape[2], shape[3]]);
        hlo::transpose(&x, &[0, 1, 3, 2, 4])
    }
}
