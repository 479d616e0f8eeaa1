//! Foreign functions with which JAX implements decompositions and selections. Shardings propagate through their calls
//! also along dimensions that the partitioner does not split.

use crate::control::{CustomCall, feeds_random_bits};
use shardwise_ir::{OpView, Value};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};

/// Returns the rule along which shardings propagate through a call of one of JAX's foreign functions, such as `Eigh` or
/// `ApproxTopK`. Returns `None` for other ops, for an `X64Combine` whose result no `rng_bit_generator` takes, and for
/// calls whose operands or results do not have the expected shapes.
pub(crate) fn propagation_rule(view: &OpView<'_>) -> Option<Rule> {
    let shapes = |values: &[Value]| values.iter().map(|&v| view.body.ty(v).shape().to_vec()).collect::<Vec<_>>();
    let (operands, results) = (shapes(view.operands()), shapes(view.results()));
    let first = operands.first()?;
    let ranks = |shapes: &[Vec<usize>]| shapes.iter().map(Vec::len).collect::<Vec<_>>();
    let mut rule = RuleBuilder::new(ranks(&operands), ranks(&results));
    let whole = FactorSpec::need_replication;
    // The rows and columns of the matrices, which are the last two dimensions, and a vector for each matrix.
    let matrix = first.len().checked_sub(2).map(|m| (m, m + 1));
    let is_vector = |shape: &[usize], m: usize| shape.len() == m + 1 && shape[..m] == first[..m];
    match (CustomCall::target(view)?, &operands[1..], &results[..]) {
        ("X64Combine", [second], [all]) if feeds_random_bits(view) && second == first && all == first => {
            rule.add_pointwise_with(first, |_, size| whole(size).blocked_if(true));
        }
        ("Eigh", [], [vectors, values]) => {
            let (m, n) = matrix.filter(|&(m, n)| vectors == first && is_vector(values, m) && values[m] == first[n])?;
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m)], &[Some(m), None], FactorSpec::pass_through(first[m]));
            rule.add_factor(&[Some(n)], &[Some(n), Some(m)], FactorSpec::pass_through(first[n]));
        }
        ("Qr" | "QrDecompositionBlock", [], [product, reflectors]) => {
            let (m, n) = matrix.filter(|&(m, _)| product == first && is_vector(reflectors, m))?;
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m)], &[Some(m), None], whole(first[m]));
            rule.add_factor(&[Some(n)], &[Some(n), None], whole(first[n]));
            rule.add_factor(&[None], &[None, Some(m)], whole(reflectors[m]));
        }
        ("ProductOfElementaryHouseholderReflectors", [reflectors], [product]) => {
            let (m, n) = matrix.filter(|&(m, _)| product == first && is_vector(reflectors, m))?;
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m), None], &[Some(m)], whole(first[m]));
            rule.add_factor(&[Some(n), None], &[Some(n)], whole(first[n]));
            rule.add_factor(&[None, Some(m)], &[None], whole(reflectors[m]));
        }
        ("ApproxTopK" | "PartialReduce", [indices, init, index_init], [out, out_indices]) => {
            let is_scalar = |shape: &[usize]| shape.is_empty();
            let are_pairs = indices == first && out_indices == out && is_scalar(init) && is_scalar(index_init);
            if !are_pairs || out.len() != first.len() {
                return None;
            }
            for (d, (&from, &to)) in first.iter().zip(out).enumerate() {
                let dim = Some(d);
                if from == to {
                    rule.add_factor(&[dim, dim, None, None], &[dim, dim], FactorSpec::pass_through(from));
                } else {
                    rule.add_factor(&[dim, dim, None, None], &[None, None], FactorSpec::pass_through(from));
                    rule.add_factor(&[None; 4], &[dim, dim], whole(to).blocked_if(true));
                }
            }
        }
        _ => return None,
    }
    Some(rule.build())
}
