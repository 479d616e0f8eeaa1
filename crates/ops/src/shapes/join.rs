//! `shardwise.join`: parts of operands, one after the other along a dimension.
//!
//! It is a concatenation of slices as one op. A device that computes a block of a roll or of a periodic padding then
//! fetches elements of the operand itself, and not of slices of it that are laid out in blocks of their own. All slices
//! have one stride.

use super::{Concatenate, Slice};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Join;

/// `size` elements of an operand along the dimension, from `start` on, with the stride of the op.
#[derive(Clone, Copy)]
struct Part {
    operand: usize,
    start: usize,
    size: usize,
}

impl Part {
    /// Returns the position after the last element, or the start if there are no elements.
    fn end(&self, stride: usize) -> usize {
        self.start + self.size.saturating_sub(1) * stride + usize::from(self.size > 0)
    }
}

/// `size` elements of a value along the dimension, from `start` on, each `stride` behind the one before.
#[derive(Clone, Copy)]
struct Piece {
    value: Value,
    start: usize,
    size: usize,
    stride: usize,
}

/// The largest number of parts of a join that takes the place of other ops.
const MAX_PARTS: usize = 16;

/// The largest number of ops that are looked at for the pieces of one. Rolls of rolls have twice as many with each roll,
/// and these are enough to read through six of them.
const MAX_OPS: usize = 256;

impl Join {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("dimension", Some("join_i2"), AttrKind::Int(DType::I64)),
            required("parts", Some("join_i3"), AttrKind::Ints),
            optional("stride", Some("join_i4"), AttrKind::Int(DType::I64), "1"),
        ],
        operands: Operands::List,
        results: ResultLabels::both("join_c4"),
        on_quantized: OnQuantized::Moves("join_i1"),
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    fn dim(op: &OpView<'_>) -> usize {
        op.attrs().size("dimension").expect("verified")
    }

    fn stride(op: &OpView<'_>) -> usize {
        op.attrs().size("stride").unwrap_or(1)
    }

    fn attrs(dim: usize, parts: &[Part], stride: usize) -> Attrs {
        let numbers: Vec<usize> = parts.iter().flat_map(|p| [p.operand, p.start, p.size]).collect();
        let attrs = Attrs::new().with("dimension", Attr::int(dim as i64)).with("parts", Attr::sizes(&numbers));
        if stride == 1 { attrs } else { attrs.with("stride", Attr::int(stride as i64)) }
    }

    /// Returns the join that takes the place of a concatenation along `dim`, or of a slice that cuts no other
    /// dimension. Each operand that is such an op, or a join along `dim`, of no more than [`MAX_PARTS`] pieces is
    /// replaced by its pieces, if no more than [`MAX_OPS`] ops have to be looked at.
    ///
    /// Returns `None` for other ops, if there are then no pieces or more than [`MAX_PARTS`], if pieces of several
    /// elements have different strides, or if all values that the join reads are operands of the op itself. Also
    /// returns `None` if the stride is not 1 and the join does not run around its only operand ([`run_around`]): blocks
    /// of such joins would fetch elements that are left out.
    pub(super) fn read_through(op: &OpView<'_>, dim: usize) -> Option<ReadThrough> {
        let pieces = pieces(op, dim, MAX_OPS).filter(|pieces| !pieces.is_empty())?;
        // Any stride suits a single element.
        let stride = pieces.iter().find(|piece| piece.size > 1).map_or(1, |piece| piece.stride);
        if pieces.iter().any(|piece| piece.size > 1 && piece.stride != stride) {
            return None;
        }
        let mut operands: Vec<Value> = vec![];
        let mut parts = vec![];
        for Piece { value, start, size, .. } in pieces {
            let operand = operands.iter().position(|&v| v == value).unwrap_or(operands.len());
            if operand == operands.len() {
                operands.push(value);
            }
            parts.push(Part { operand, start, size });
        }
        let reads_on = operands.iter().any(|v| !op.operands().contains(v));
        let is_near = || {
            let size = op.body.ty(operands[0]).shape()[dim];
            stride == 1 || run_around(&parts, stride, size).is_some()
        };
        let is_possible = reads_on && is_near();
        is_possible.then(|| ReadThrough {
            code: Opcode::Join.into(),
            operands,
            attrs: Join::attrs(dim, &parts, stride),
        })
    }
}

/// Returns the pieces of which a concatenation or a join along `dim` consists, or a slice that cuts no other dimension.
/// An operand of a concatenation or slice that is such an op, of few enough pieces, is replaced by them. Pieces without
/// elements are left out. Returns `None` for other ops, and if there are more than [`MAX_PARTS`] pieces.
///
/// Looks at no more than `most` ops, of which each operand has an equal share, and returns `None` if `most` is 0.
fn pieces(op: &OpView<'_>, dim: usize, most: usize) -> Option<Vec<Piece>> {
    let share = most.checked_sub(1)? / op.operands().len().max(1);
    let of = |i: usize| {
        let own = Piece { value: op.operand(i), start: 0, size: op.operand_shape(i)[dim], stride: 1 };
        let own = || if own.size == 0 { vec![] } else { vec![own] };
        op.operand_def(i).and_then(|def| pieces(&def, dim, share)).unwrap_or_else(own)
    };
    let pieces = match Opcode::of_view(op) {
        Opcode::Concatenate if Concatenate::dim(op) == Some(dim) => (0..op.operands().len()).flat_map(of).collect(),
        Opcode::Join if Join::dim(op) == dim => {
            let stride = Join::stride(op);
            let piece = |Part { operand, start, size }| Piece { value: op.operand(operand), start, size, stride };
            parts(op).into_iter().filter(|part| part.size > 0).map(piece).collect::<Vec<_>>()
        }
        Opcode::Slice if cuts_only(op, dim) => {
            cut(of(0), Slice::starts(op)[dim], Slice::limits(op)[dim], Slice::strides(op)[dim])
        }
        _ => return None,
    };
    (pieces.len() <= MAX_PARTS).then_some(pieces)
}

fn cuts_only(op: &OpView<'_>, dim: usize) -> bool {
    (0..op.result_shape(0).len()).all(|d| d == dim || op.operand_shape(0)[d] == op.result_shape(0)[d])
}

/// Returns the pieces of every `stride`th of the elements `from..to`, counted from the start of the first piece.
fn cut(pieces: Vec<Piece>, from: usize, to: usize, stride: usize) -> Vec<Piece> {
    let mut at = 0usize;
    let cut = |piece: Piece| {
        let (first, end) = (from + at.saturating_sub(from).next_multiple_of(stride), to.min(at + piece.size));
        let size = end.saturating_sub(first).div_ceil(stride);
        let cut = (size > 0).then(|| Piece {
            start: piece.start + (first - at) * piece.stride,
            size,
            // The stride of a single element may be large.
            stride: if size == 1 { 1 } else { piece.stride * stride },
            ..piece
        });
        at += piece.size;
        cut
    };
    pieces.into_iter().filter_map(cut).collect()
}

fn parts(op: &OpView<'_>) -> Vec<Part> {
    let numbers = op.sizes("parts");
    numbers.chunks_exact(3).map(|p| Part { operand: p[0], start: p[1], size: p[2] }).collect()
}

impl Facts for Join {
    answer!(calculus = none("only the partitioner makes it"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let (inputs, dim, numbers) = (
            check::counted_tensors(op, 0..=check::MANY, 0)?,
            check::size(op, "dimension")?,
            check::sizes(op, "parts")?,
        );
        let mut c = Check::new(op);
        c.that("join_c1", !inputs.is_empty(), "there must be at least one operand").so_far()?;
        let first = inputs[0];
        let is_alike = |t: &&&shardwise_ir::TensorType| {
            t.dtype == first.dtype
                && t.rank() == first.rank()
                && (0..t.rank()).all(|d| d == dim || t.shape[d] == first.shape[d])
        };
        c.that("join_c2", dim < first.rank(), "`dimension` must be a dimension of the operands")
            .that(
                "join_c2",
                inputs.iter().all(|t| is_alike(&t)),
                "the operands' types must differ only in the size along `dimension`",
            )
            .that("join_c3", numbers.len().is_multiple_of(3), "`parts` must have three numbers for each part")
            .so_far()?;
        let stride = if op.attrs().get("stride").is_some() { check::size(op, "stride")? } else { 1 };
        let largest = inputs.iter().map(|t| t.shape[dim]).max().unwrap_or(0).max(1);
        c.that(
            "join_i4",
            (1..=largest).contains(&stride),
            "`stride` must be positive, and at most the largest size of an operand along `dimension`",
        )
        .so_far()?;
        let is_inside = |p: &Part| {
            let size = inputs.get(p.operand).map(|t| t.shape[dim]);
            let between = p.size.saturating_sub(1).checked_mul(stride - 1);
            let end = between.and_then(|n| n.checked_add(p.size)?.checked_add(p.start));
            size.zip(end).is_some_and(|(n, end)| end <= n)
        };
        let parts = parts(op);
        c.that("join_c3", parts.iter().all(is_inside), "each part must name an operand, and be inside it").so_far()?;
        let is_read = |i: usize| inputs[i].shape[dim] == 0 || parts.iter().any(|p| p.operand == i && p.size > 0);
        c.that(
            "join_c1",
            !parts.is_empty() && (0..inputs.len()).all(is_read),
            "`parts` must have a part, and one with elements of each operand whose size along `dimension` is not 0",
        )
        .so_far()?;
        let mut shape = first.shape.clone();
        shape[dim] = parts.iter().fold(0, |n: usize, p| n.saturating_add(p.size));
        c.give_tensor(first.dtype, shape)
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (y, dim) = (op.result_shape(0), Join::dim(op));
        let mut rule = RuleBuilder::new(op.operands().iter().map(|_| y.len()), [y.len()]);
        rule.add_pointwise_with(y, |d, size| match d == dim {
            true => FactorSpec::permutation(size),
            false => FactorSpec::pass_through(size),
        });
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (shape, dim) = (op.result_shape(0), Join::dim(op));
        let mut out = Literal::zeros(op.result_tensor(0).dtype, shape).to_dense();
        let one = vec![1; shape.len()];
        let mut steps = one.clone();
        steps[dim] = Join::stride(op);
        let mut place = vec![0; shape.len()];
        for part in parts(op) {
            let (mut start, mut block) = (vec![0; shape.len()], shape.to_vec());
            (start[dim], block[dim]) = (part.start, part.size);
            let from = Layout::block(x[part.operand].shape(), &start, &steps);
            eval::copy(&x[part.operand], &from, &mut out, &Layout::block(shape, &place, &one), &block);
            place[dim] += part.size;
        }
        Ok(vec![out])
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let (dim, parts) = (Join::dim(&cx.op), parts(&cx.op));
        let stride = Join::stride(&cx.op);
        let cut =
            |p: &Part| make::slice_dim_by(cx.builder, cx.operands[p.operand], dim, p.start, p.end(stride), stride);
        let pieces: Vec<Value> = parts.iter().map(cut).collect();
        Ok(vec![make::concatenate(cx.builder, &pieces, dim)])
    }

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let mut parts = parts(op);
        parts.retain(|p| p.size > 0);
        let stride = Join::stride(op);
        let elements = |start: i64| Read::elements(dim, stride as i64, start);
        if let Some(start) = run_around(&parts, stride, op.operand_shape(0)[dim]) {
            return Some(Movement::new(dim, vec![Read { wraps: parts.len() > 1, ..elements(-start) }], of_windows));
        }
        let mut place = 0;
        let read = |(part, fill): (&Part, Fill)| {
            let low = i64::try_from(place * stride as i128 - part.start as i128).ok()?;
            place += part.size as i128;
            let inside = Some((part.start, part.end(stride)));
            Some(Read { operand: part.operand, fill, inside, ..elements(low) })
        };
        let fills = std::iter::once(Fill::Any).chain(std::iter::repeat(Fill::Before));
        Some(Movement::new(dim, parts.iter().zip(fills).map(read).collect::<Option<_>>()?, of_windows))
    }

    answer!(usual but movement);
    answer!(pure);
    answer!(class = Other);
    answer!(combine = none);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    answer!(explicit = by_rule);
    answer!(
        example = r#"func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "shardwise.join"(%arg0) <{dimension = 0 : i64, parts = array<i64: 0, 3, 1, 0, 0, 3>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#
    );
}

/// Builds the last window, which has all parts, without the elements between those that the stride takes.
fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let window = *cx.windows.last().expect("at least one part");
    let stride = Join::stride(&cx.op);
    if stride == 1 {
        return vec![window];
    }
    let dim = Join::dim(&cx.op);
    let size = cx.builder.body.ty(window).shape()[dim];
    vec![make::slice_dim_by(cx.builder, window, dim, 0, size, stride)]
}

/// Returns the start of the first part if all parts are of operand 0, of size `n`, and follow each other, with its end
/// followed by its beginning. Returns `None` otherwise, and if there are no parts.
fn run_around(parts: &[Part], stride: usize, n: usize) -> Option<i64> {
    let follows = |pair: &[Part]| (pair[0].start + pair[0].size * stride) % n == pair[1].start % n;
    let is_one = n > 0 && parts.iter().all(|p| p.operand == 0) && parts.windows(2).all(follows);
    is_one.then(|| parts.first().map(|p| p.start as i64)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the operands and parts of the join that takes the place of the last of `count` ops, each of which
    /// `write(i)` writes as `%i`. The first op reads `%0`, an argument.
    fn read_through(count: usize, write: impl Fn(usize) -> String) -> (usize, Vec<usize>) {
        let ops: String = (1..=count).map(|i| write(i) + "\n").collect();
        let text = format!("func.func @main(%0: tensor<64xf32>) {{\n{ops}return\n}}");
        let module = shardwise_ir::text::parse("x.mlir", &text, &crate::OPS).unwrap_or_else(|e| panic!("{e}"));
        let body = &module.main().unwrap().body;
        let ops = &body[body.entry()].ops;
        let read = Join::read_through(&module.view(body, ops[ops.len() - 2]), 0).expect("there is a join");
        (read.operands.len(), read.attrs.sizes("parts").unwrap())
    }

    #[test]
    fn a_long_chain_of_slices_is_read_through_in_part() {
        let slice = |i: usize| format!("%{i} = stablehlo.slice %{} [0:64] : (tensor<64xf32>) -> tensor<64xf32>", i - 1);
        for count in [2, 100, 20_000] {
            assert_eq!(read_through(count, slice), (1, vec![0, 0, 64]));
        }
    }

    #[test]
    fn a_long_chain_of_rolls_is_read_through_in_part() {
        let roll = |i: usize| {
            let x = i - 1;
            format!(
                "%a{i} = stablehlo.slice %{x} [1:64] : (tensor<64xf32>) -> tensor<63xf32>
                 %b{i} = stablehlo.slice %{x} [0:1] : (tensor<64xf32>) -> tensor<1xf32>
                 %{i} = stablehlo.concatenate %a{i}, %b{i}, dim = 0 : (tensor<63xf32>, tensor<1xf32>) -> tensor<64xf32>"
            )
        };
        assert_eq!(read_through(2, roll), (1, vec![0, 2, 62, 0, 0, 1, 0, 1, 1]));
        let (operands, parts) = read_through(200, roll);
        assert!(operands <= 2, "{operands}");
        assert_eq!(parts.chunks(3).map(|part| part[2]).sum::<usize>(), 64);
    }
}
