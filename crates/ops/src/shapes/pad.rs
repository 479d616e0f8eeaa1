//! `stablehlo.pad`: puts a value around and between the elements. Negative padding removes elements.

use super::Slice;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Bool8, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Pad;

#[derive(Clone, Copy)]
struct DimPadding {
    low: i64,
    high: i64,
    interior: i64,
}

impl DimPadding {
    /// The padding before and after the elements that adds, removes and moves none.
    const NONE: (i64, i64) = (0, 0);

    fn padded(self, size: usize) -> Option<usize> {
        let gaps = size.saturating_sub(1) as i128 * i128::from(self.interior);
        let padded = size as i128 + i128::from(self.low) + i128::from(self.high) + gaps;
        usize::try_from(padded).ok()
    }

    fn keeps_places(self, size: usize) -> bool {
        (self.low, self.high) == DimPadding::NONE && (self.interior == 0 || size <= 1)
    }

    /// Returns the range of elements that are kept: the first, their number, and the position of the first in the
    /// result. All are 0 if no element is kept. The dimension has `size` elements, and `padded` in the result.
    fn kept(self, size: usize, padded: usize) -> (usize, usize, usize) {
        let step = i128::from(self.interior) + 1;
        let (low, padded) = (i128::from(self.low), padded as i128);
        // Element i moves to low + i * step. It is kept if that is in [0, padded).
        let first = ((-low).max(0) + step - 1) / step;
        let end = ((padded - low).max(0) + step - 1) / step;
        let end = end.min(size as i128);
        if end <= first {
            return (0, 0, 0);
        }
        (first as usize, (end - first) as usize, (low + first * step) as usize)
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

    /// Builds the attributes of a padding.
    pub fn attrs(low: &[i64], high: &[i64], interior: &[i64]) -> Attrs {
        let list = |values: &[i64]| Attr::ints(values.iter().copied());
        Attrs::new()
            .with("edge_padding_low", list(low))
            .with("edge_padding_high", list(high))
            .with("interior_padding", list(interior))
    }
}

/// Returns the padding before and after that undoes this one. An amount of 2^63, which does not fit an `i64`, is
/// written as one element less, and the other amount as one more: the size is right, and the elements are one position
/// further to the front or back. The sum of the amounts must be at least `-2 * i64::MAX`, so that such a pair fits.
fn opposite((low, high): (&i64, &i64)) -> (i64, i64) {
    let [low, high] = [low, high].map(|n| -i128::from(*n));
    let beyond = |n: i128| (n - i128::from(i64::MAX)).max(0);
    ((low - beyond(low) + beyond(high)) as i64, (high - beyond(high) + beyond(low)) as i64)
}

impl Facts for Pad {
    answer!(derivative = linear);
    /// Returns the transpose. The cotangent of the operand consists of the elements that are not padding, with zeros
    /// for elements that negative padding removes. That of the padding value is the sum of all others.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let [low, high, interior] = Pad::amounts(op);
        Transposed::by(move |cx| {
            let ct = cx.cotangent();
            let dtype = cx.operand_tensor(0).dtype;
            let all: Vec<usize> = (0..low.len()).collect();
            let (cut_low, cut_high): (Vec<i64>, Vec<i64>) = low.iter().zip(&high).map(opposite).unzip();
            let zero = make::number(cx.b, dtype, 0);
            let edges = make::pad(cx.b, ct, zero, &cut_low, &cut_high, &vec![0; low.len()]);
            let strides: Vec<usize> = interior.iter().map(|&n| n as usize + 1).collect();
            let limits = make::type_of(cx.b, edges).shape.clone();
            let own = match strides.iter().all(|&s| s == 1) {
                true => edges,
                false => make::slice(cx.b, edges, &vec![0; low.len()], &limits, &strides),
            };
            let value = cx.is_linear(1).then(|| {
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
        let kept: Vec<_> = paddings.iter().zip(from.iter().zip(to)).map(|(p, (&m, &n))| p.kept(m, n)).collect();
        let block: Vec<usize> = kept.iter().map(|k| k.1).collect();
        if block.contains(&0) {
            return Ok(vec![out]);
        }
        let (first, place): (Vec<usize>, Vec<usize>) = kept.iter().map(|k| (k.0, k.2)).unzip();
        let steps: Vec<usize> = paddings.iter().map(|p| p.interior as usize + 1).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_undone_with_the_same_size() {
        assert_eq!(opposite((&3, &-2)), (-3, 2));
        assert_eq!(opposite((&i64::MIN, &i64::MAX)), (i64::MAX, i64::MIN + 2));
        assert_eq!(opposite((&i64::MAX, &i64::MIN)), (i64::MIN + 2, i64::MAX));
    }
}
