//! Foreign functions with which JAX implements decompositions and selections. The partitioner does not split their
//! calls, but shardings propagate through them.

use crate::control::{CustomCall, feeds_random_bits};
use shardwise_ir::{OpView, Value};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};

/// Returns the rule along which shardings propagate through a call of one of JAX's foreign functions, such as `Eigh` or
/// `ApproxTopK`. Returns `None` for other ops and targets, for calls with other numbers of operands and results, for
/// decompositions of operands of a rank less than 2, for selections whose first result has another rank than the first
/// operand, and for an `X64Combine` whose result is not the state of a random bit generator. All other ranks must be
/// those of JAX's function.
pub(crate) fn propagation_rule(view: &OpView<'_>) -> Option<Rule> {
    let shape = |v: Option<&Value>| v.map(|&v| view.body.ty(v).shape().to_vec());
    let first = shape(view.operands().first())?;
    let counts = (view.operands().len(), view.results().len());
    let rank = |v: &Value| view.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(view.operands().iter().map(rank), view.results().iter().map(rank));
    let batch = first.len().checked_sub(2);
    let whole = FactorSpec::need_replication;
    match (CustomCall::target(view)?, counts) {
        ("X64Combine", (2, 1)) if feeds_random_bits(view) => {
            rule.add_pointwise_with(&first, |_, size| whole(size).blocked_if(true));
        }
        ("Eigh", (1, 2)) => {
            let (m, n) = (batch?, batch? + 1);
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m)], &[Some(m), None], FactorSpec::pass_through(first[m]));
            rule.add_factor(&[Some(n)], &[Some(n), Some(m)], FactorSpec::pass_through(first[n]));
        }
        ("Qr" | "QrDecompositionBlock", (1, 2)) => {
            let (m, n) = (batch?, batch? + 1);
            let reflectors = *shape(view.results().get(1))?.get(m)?;
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m)], &[Some(m), None], whole(first[m]));
            rule.add_factor(&[Some(n)], &[Some(n), None], whole(first[n]));
            rule.add_factor(&[None], &[None, Some(m)], whole(reflectors));
        }
        ("ProductOfElementaryHouseholderReflectors", (2, 1)) => {
            let (m, n) = (batch?, batch? + 1);
            let reflectors = *shape(view.operands().get(1))?.get(m)?;
            rule.add_pointwise(&first[..m]);
            rule.add_factor(&[Some(m), None], &[Some(m)], whole(first[m]));
            rule.add_factor(&[Some(n), None], &[Some(n)], whole(first[n]));
            rule.add_factor(&[None, Some(m)], &[None], whole(reflectors));
        }
        ("ApproxTopK" | "PartialReduce", (4, 2)) => {
            let out = shape(view.results().first())?;
            if out.len() != first.len() {
                return None;
            }
            for (d, (&from, &to)) in first.iter().zip(&out).enumerate() {
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
