//! `stablehlo.pad`: puts a value around and between the elements. Negative padding removes elements.

use super::Slice;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Bool8, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Pad;

#[derive(Clone, Copy)]
struct DimPadding {
    low: i64,
    high: i64,
    interior: i64,
}

/// The elements along a dimension that a padding keeps, counted in its operand and in its result.
struct Kept {
    first: usize,
    count: usize,
    /// The position of the first one in the result, and the distance to the next.
    place: usize,
    step: usize,
}

impl DimPadding {
    /// The padding before and after the elements that adds, removes and moves none.
    const NONE: (i64, i64) = (0, 0);

    /// Returns the size of a dimension of this size after padding, or `None` if it would be negative or does not fit.
    fn padded(self, size: usize) -> Option<usize> {
        let gaps = size.saturating_sub(1) as i128 * i128::from(self.interior);
        let padded = size as i128 + i128::from(self.low) + i128::from(self.high) + gaps;
        usize::try_from(padded).ok()
    }

    fn keeps_places(self, size: usize) -> bool {
        (self.low, self.high) == DimPadding::NONE && (self.interior == 0 || size <= 1)
    }

    /// Returns the elements that are kept. The dimension has `size` elements, and `padded` in the result.
    fn kept(self, size: usize, padded: usize) -> Kept {
        let step = i128::from(self.interior) + 1;
        let (low, padded) = (i128::from(self.low), padded as i128);
        // Element i moves to low + i * step. It is kept if that is in [0, padded).
        let first = ((-low).max(0) + step - 1) / step;
        let end = ((padded - low).max(0) + step - 1) / step;
        let count = (end.min(size as i128) - first).max(0) as usize;
        let (first, place) = if count == 0 { (0, 0) } else { (first as usize, (low + first * step) as usize) };
        // The step behind a single element may be larger than the array.
        Kept { first, count, place, step: if count > 1 { step as usize } else { 1 } }
    }
}

fn paddings(op: &OpView<'_>) -> Vec<DimPadding> {
    let [low, high, interior] = Pad::amounts(op);
    low.into_iter().zip(high).zip(interior).map(|((low, high), interior)| DimPadding { low, high, interior }).collect()
}

impl Pad {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("edge_padding_low", Some("pad_i3"), AttrKind::Ints),
            required("edge_padding_high", Some("pad_i4"), AttrKind::Ints),
            required("interior_padding", Some("pad_i5"), AttrKind::Ints),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("pad_c4", "pad_c1"),
        on_quantized: OnQuantized::Moves("pad_i1"),
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::Operand,
                Piece::Text(", low = "),
                Piece::Attr("edge_padding_low", Written::Ints),
                Piece::Text(", high = "),
                Piece::Attr("edge_padding_high", Written::Ints),
                Piece::Text(", interior = "),
                Piece::Attr("interior_padding", Written::Ints),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the padding before the first element, after the last one and between two, for each dimension. Negative
    /// padding removes elements.
    pub fn amounts(op: &OpView<'_>) -> [Vec<i64>; 3] {
        ["edge_padding_low", "edge_padding_high", "interior_padding"].map(|name| op.ints(name))
    }

    /// Returns the padding with the result of `slice`, a slice of the result of `op`, or `None` if the slice has
    /// strides other than 1 or an amount of padding overflows.
    pub(super) fn cut(op: &OpView<'_>, slice: &OpView<'_>) -> Option<ReadThrough> {
        let [mut low, mut high, interior] = Pad::amounts(op);
        if Slice::strides(slice).iter().any(|&s| s != 1) {
            return None;
        }
        let (starts, limits) = (Slice::starts(slice), Slice::limits(slice));
        for (d, &size) in op.result_shape(0).iter().enumerate() {
            low[d] = low[d].checked_sub(starts[d] as i64)?;
            high[d] = high[d].checked_sub((size - limits[d]) as i64)?;
        }
        let attrs = Pad::attrs(&low, &high, &interior);
        Some(ReadThrough { code: Opcode::Pad.into(), operands: op.operands().to_vec(), attrs })
    }

    /// Returns the shape of an array of this shape after padding, or `None` if a size would be negative or does not fit.
    /// Each list has an amount for each dimension.
    pub(crate) fn padded_shape(shape: &[usize], [low, high, interior]: [&[i64]; 3]) -> Option<Vec<usize>> {
        let padding = |d: usize| DimPadding { low: low[d], high: high[d], interior: interior[d] };
        shape.iter().enumerate().map(|(d, &n)| padding(d).padded(n)).collect()
    }

    /// Builds the attributes of a padding.
    pub fn attrs(low: &[i64], high: &[i64], interior: &[i64]) -> Attrs {
        let list = |values: &[i64]| Attr::ints(values.iter().copied());
        Attrs::new()
            .with("edge_padding_low", list(low))
            .with("edge_padding_high", list(high))
            .with("interior_padding", list(interior))
    }
}

/// Builds the cotangent of a padding's operand of this shape: the elements of `ct`, the result's cotangent, that come
/// from the operand, and zeros for those that negative padding removes.
fn unpadded(b: &mut Builder<'_>, ct: Value, kept: &[Kept], shape: &[usize]) -> Value {
    let ty = make::type_of(b, ct);
    let starts: Vec<usize> = kept.iter().map(|k| k.place).collect();
    let limits: Vec<usize> =
        kept.iter().map(|k| k.place + k.count.min(1) + k.count.saturating_sub(1) * k.step).collect();
    let steps: Vec<usize> = kept.iter().map(|k| k.step).collect();
    let is_whole = limits == ty.shape && starts.iter().all(|&n| n == 0) && steps.iter().all(|&n| n == 1);
    let inside = if is_whole { ct } else { make::slice(b, ct, &starts, &limits, &steps) };
    let low: Vec<i64> = kept.iter().map(|k| k.first as i64).collect();
    let high: Vec<i64> = kept.iter().zip(shape).map(|(k, &n)| (n - k.first - k.count) as i64).collect();
    if low.iter().chain(&high).all(|&n| n == 0) {
        return inside;
    }
    let zero = make::number(b, ty.dtype, 0);
    make::pad(b, inside, zero, &low, &high, &vec![0; shape.len()])
}

impl Facts for Pad {
    answer!(derivative = linear);
    /// Returns the transpose. The cotangent of the operand consists of the elements that are not padding, with zeros
    /// for elements that negative padding removes. That of the padding value is the sum of all others.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let paddings = paddings(op);
        Transposed::by(move |cx| {
            let (from, ct) = (&cx.operand_tensor(0).shape, cx.cotangent());
            let to = make::type_of(cx.b, ct).shape.clone();
            let kept: Vec<Kept> = (0..from.len()).map(|d| paddings[d].kept(from[d], to[d])).collect();
            let own = unpadded(cx.b, ct, &kept, from);
            let value = cx.is_linear(1).then(|| {
                let all: Vec<usize> = (0..from.len()).collect();
                let [sum, kept] = [ct, own].map(|x| make::reduce(cx.b, ReduceKind::Add, x, &all));
                make::subtract(cx.b, sum, kept).into()
            });
            vec![cx.is_linear(0).then(|| own.into()), value]
        })
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let [low, high, interior] = Pad::amounts(op).map(|n| with_first(0, &n));
        if !mapped[1] {
            return Batched::leading_of(op, |i| i == 0, Pad::attrs(&low, &high, &interior));
        }
        Batched::by("its padding is one element, and each index of the batch has another", move |cx| {
            let (x, attrs) = (cx.with_leading(0), Pad::attrs(&low, &high, &interior));
            let zero = make::number(cx.b, cx.op.operand_tensor(0).dtype, 0);
            let padded = cx.leading_op(&[x, zero], attrs.clone())[0];
            // true where the padding is
            let shape = make::type_of(cx.b, x).shape.clone();
            let [inside, outside] =
                [false, true].map(|v| make::constant(cx.b, Literal::from_fn::<Bool8>(&[], |_| v.into())));
            let inside = make::broadcast_scalar(cx.b, inside, &shape);
            let mask = make::pad(cx.b, inside, outside, &low, &high, &interior);
            let to = make::type_of(cx.b, padded).shape.clone();
            let value = make::broadcast_in_dim(cx.b, cx.operands[1], &to, &[0]);
            Ok(vec![make::select(cx.b, mask, value, padded)])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, value] = check::tensors(op)?;
        let mut c = Check::new(op);
        let lists = ["edge_padding_low", "edge_padding_high", "interior_padding"];
        let same_length = lists.iter().all(|name| op.ints(name).len() == x.rank());
        c.that("pad_c1", value.dtype == x.dtype, "the padding value must have the operand's element type")
            .that("pad_i2", value.rank() == 0, "the padding value must be a scalar")
            .that("pad_c2", same_length, "low, high and interior padding must have a number for each dimension")
            .so_far()?;
        let paddings = paddings(op);
        c.that("pad_c3", paddings.iter().all(|p| p.interior >= 0), "interior padding must not be negative").so_far()?;
        let shape: Option<Vec<usize>> = x.shape.iter().zip(&paddings).map(|(&n, p)| p.padded(n)).collect();
        c.that(
            "pad_c4",
            shape.is_some(),
            "no dimension of the result may have a negative size, or one that does not fit 64 bits",
        )
        .so_far()?;
        c.give_tensor(x.dtype, shape.unwrap_or_default())
    }

    /// Lets dimensions without padding pass through. The others need their neighbours' elements.
    ///
    /// Padding that only shifts (1 on one side, -1 on the other) keeps the size but not the positions. Shardy lets it
    /// pass through, which spreads shardings in the same way but cannot be run shard by shard.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, paddings) = (op.operand_shape(0), paddings(op));
        let mut rule = RuleBuilder::new([x.len(), 0], [x.len()]);
        rule.add_pointwise_with(x, |d, size| match paddings[d].keeps_places(size) {
            true => FactorSpec::pass_through(size),
            false => FactorSpec::permutation(size),
        });
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (from, to) = (x[0].shape(), op.result_shape(0));
        let mut out = Literal::splat(x[1].dtype(), to, x[1].element_bytes(0));
        let paddings = paddings(op);
        let kept: Vec<Kept> = paddings.iter().zip(from.iter().zip(to)).map(|(p, (&m, &n))| p.kept(m, n)).collect();
        let block: Vec<usize> = kept.iter().map(|k| k.count).collect();
        if block.contains(&0) {
            return Ok(vec![out]);
        }
        let (first, place): (Vec<usize>, Vec<usize>) = kept.iter().map(|k| (k.first, k.place)).unzip();
        let steps: Vec<usize> = kept.iter().map(|k| k.step).collect();
        let source = Layout::block(from, &first, &vec![1; from.len()]);
        eval::copy(&x[0], &source, &mut out, &Layout::block(to, &place, &steps), &block);
        Ok(vec![out])
    }

    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        let adds_nothing = ["edge_padding_low", "edge_padding_high"].iter().all(|n| op.ints(n).iter().all(|&p| p == 0));
        (has_operand_type(op) && adds_nothing).then(|| op.operand(0))
    }

    answer!(usual but forwards, movement, propagation_rule);

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let DimPadding { low, interior, .. } = paddings(op)[dim];
        let read = Read { base: interior.checked_add(1)?, fill: Fill::Operand(1), ..Read::elements(dim, 1, low) };
        Some(Movement::new(dim, vec![read], of_windows))
    }

    answer!(propagation_rule = blocked_if_conservative);
    answer!(moves_elements = Other);
    answer!(example = "func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<2x8xf32> {
  %0 = stablehlo.pad %arg0, %arg1, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}");
}

/// Builds the padding of windows, or returns the window if nothing is added. Along the dimensions of the windows, which
/// contain the padding around the elements, their own padding takes the place of the op's.
fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let [mut low, mut high, interior] = Pad::amounts(&cx.op);
    for WindowsDim { dim, low: before, high: after, .. } in cx.dims.clone() {
        (low[dim], high[dim]) = (before, after);
    }
    let is_unchanged = [&low, &high, &interior].iter().all(|list| list.iter().all(|&n| n == 0));
    if is_unchanged { vec![cx.operands[0]] } else { cx.same_op_with(Pad::attrs(&low, &high, &interior)) }
}
