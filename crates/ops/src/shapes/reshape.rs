//! `stablehlo.reshape`: the same elements, in row-major order, in another shape.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};

pub struct Reshape;

fn sizes_around(shape: &[usize], dim: usize) -> (usize, usize, usize) {
    (shape[..dim].iter().product(), shape[dim], shape[dim + 1..].iter().product())
}

impl Reshape {
    pub(crate) const QUANTIZED: QuantizedMove = QuantizedMove {
        operand: "reshape_i1",
        alike: "reshape_c1",
        axis: "reshape_c3",
        becomes: |op, from, to| sizes_around(op.operand_shape(0), from) == sizes_around(op.result_shape(0), to),
        scales: None,
    };

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::MovesAxis(&Self::QUANTIZED),
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Reshape {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let shape = &cx.operand_tensor(0).shape;
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                make::reshape(cx.b, ct, shape)
            })
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], to) = (check::tensors(op)?, check::declared(op)?);
        Check::new(op)
            .that("reshape_c1", x.dtype == to.dtype, "operand and result must have the same element type")
            .that("reshape_c2", x.size() == to.size(), "operand and result must have the same number of elements")
            .give([to.clone().into()])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        match reshape_rule(op.operand_shape(0), op.result_shape(0)) {
            Some(rule) => RuleFact::Rule(rule),
            None => RuleFact::None("a reshape of nothing has no factors"),
        }
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![x[0].reshaped(op.result_shape(0))])
    }

    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::Regroup
    }

    answer!(forwards = same_type);
    answer!(usual but forwards, splits, constness);
    answer!(splits = Shared);
    answer!(constness = OfOperands);
    answer!(pure);
    answer!(class = PassThrough);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    answer!(
        example = "func.func @main(%arg0: tensor<6xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"
    );
}

/// One side of a reshape, whose dimensions are divided into factors, major to minor.
struct Side<'a> {
    shape: &'a [usize],
    dim: usize,
    /// The remaining size of dimension `dim`, or 1 past the last dimension.
    rest: usize,
    /// The product of all factors so far.
    product: usize,
}

impl<'a> Side<'a> {
    fn new(shape: &'a [usize]) -> Side<'a> {
        Side { shape, dim: 0, rest: shape.first().copied().unwrap_or(1), product: 1 }
    }

    fn is_done(&self) -> bool {
        self.dim >= self.shape.len()
    }

    /// Divides the current dimension by a factor, and returns the dimension. If nothing is left of it, the next
    /// dimension becomes the current one.
    fn take(&mut self, factor: usize) -> usize {
        let dim = self.dim;
        self.product *= factor;
        self.rest /= factor;
        if self.rest == 1 {
            self.dim += 1;
            self.rest = self.shape.get(self.dim).copied().unwrap_or(1);
        }
        dim
    }

    /// Returns true if the current dimension is of size 1. Such a dimension has a factor of its own.
    fn is_at_one(&self) -> bool {
        !self.is_done() && self.rest == 1
    }
}

/// Returns the rule of a reshape: common factors where both sides can be divided at the same position, and factors of
/// one side elsewhere. Returns `None` if there are no elements.
fn reshape_rule(x: &[usize], y: &[usize]) -> Option<Rule> {
    if x.contains(&0) {
        return None;
    }
    let mut rule = RuleBuilder::new([x.len()], [y.len()]);
    let (mut a, mut b) = (Side::new(x), Side::new(y));
    while !a.is_done() || !b.is_done() {
        if a.is_at_one() {
            rule.add_factor(&[Some(a.take(1))], &[None], FactorSpec::pass_through(1));
        } else if b.is_at_one() {
            rule.add_factor(&[None], &[Some(b.take(1))], FactorSpec::pass_through(1));
        } else {
            step(&mut rule, &mut a, &mut b);
        }
    }
    Some(rule.build())
}

/// Takes the next factor (or one of each side) from the current dimensions, whose remaining sizes are above 1. One of
/// the sides may be past its last dimension.
fn step(rule: &mut RuleBuilder, a: &mut Side<'_>, b: &mut Side<'_>) {
    let common = gcd(a.rest, b.rest);
    if a.product == b.product && common > 1 {
        rule.add_factor(&[Some(a.take(common))], &[Some(b.take(common))], FactorSpec::pass_through(common));
    } else if a.product == b.product {
        let (m, n) = (a.rest, b.rest);
        rule.add_factor(&[Some(a.take(m))], &[None], FactorSpec::pass_through(m));
        rule.add_factor(&[None], &[Some(b.take(n))], FactorSpec::pass_through(n));
    } else if a.product < b.product {
        let size = catch_up(a, b.product, common);
        rule.add_factor(&[Some(a.take(size))], &[None], FactorSpec::pass_through(size));
    } else {
        let size = catch_up(b, a.product, common);
        rule.add_factor(&[None], &[Some(b.take(size))], FactorSpec::pass_through(size));
    }
}

/// Returns the next factor of the side with the smaller product. If the missing factor divides what remains of its
/// current dimension, that factor makes the products equal. Otherwise it is the part of the rest that the other side
/// cannot share, or the whole rest if the other side could share it all. `product` is the product of the other side,
/// and `common` is the greatest common divisor of the remaining sizes of both current dimensions.
fn catch_up(behind: &Side<'_>, product: usize, common: usize) -> usize {
    let missing = product / behind.product;
    let meets = product.is_multiple_of(behind.product) && behind.rest.is_multiple_of(missing);
    match behind.rest / common {
        _ if meets => missing,
        1 => behind.rest,
        own => own,
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(x: &[usize], y: &[usize], expected: &str) {
        assert_eq!(reshape_rule(x, y).unwrap().to_string(), expected);
    }

    #[test]
    fn splits_and_merges() {
        check(&[8], &[2, 4], "([ij])->([i, j]) {i=2, j=4}");
        check(&[2, 4], &[8], "([i, j])->([ij]) {i=2, j=4}");
        check(&[2, 4, 3], &[2, 12], "([i, j, k])->([i, jk]) {i=2, j=4, k=3}");
    }

    #[test]
    fn coprime_parts_are_private() {
        check(&[2, 9], &[3, 6], "([i, km])->([j, lm]) {i=2, j=3, k=3, l=2, m=3}");
        check(&[4, 6], &[6, 4], "([ij, ln])->([ik, mn]) {i=2, j=2, k=3, l=3, m=2, n=2}");
        check(&[12, 35], &[20, 21], "([ij, ln])->([ik, mn]) {i=4, j=3, k=5, l=5, m=3, n=7}");
    }

    #[test]
    fn every_small_reshape_ends_and_covers_its_dimensions() {
        let shapes = |n: usize| -> Vec<Vec<usize>> {
            let divisors: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
            let pairs = divisors.iter().map(|&d| vec![d, n / d]);
            let triples = divisors.iter().flat_map(|&d| {
                (1..=n / d).filter(move |e| (n / d).is_multiple_of(*e)).map(move |e| vec![d, e, n / d / e])
            });
            pairs.chain(triples).chain([vec![n]]).collect()
        };
        for n in [1, 6, 12, 30, 36, 60, 72] {
            for x in shapes(n) {
                for y in shapes(n) {
                    let rule = reshape_rule(&x, &y).unwrap();
                    for (mapping, shape) in rule.mappings().zip([&x, &y]) {
                        let sizes: Vec<usize> =
                            mapping.dims.iter().map(|d| d.iter().map(|&f| rule.size(f)).product()).collect();
                        assert_eq!(&sizes, shape, "{x:?} -> {y:?}: {rule}");
                    }
                }
            }
        }
    }
}
