//! The sharding rules that propagation uses, which are Shardy's for every op.
//!
//! Most are facts of the op, which the partitioner uses too. In some cases Shardy propagates through more than a
//! partitioner can split, or knows a foreign function that shardwise cannot run. There the fact of the op is weaker,
//! and propagation still follows Shardy.

use shardwise_base::Diagnostic;
use shardwise_ir::{Attr, OpView, Value};
use shardwise_ops::{Opcode, PropagationClass, RuleFact};
use shardwise_sharding::{Factor, FactorKind, FactorSpec, Mapping, Rule, RuleBuilder};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the attribute that holds an op's rule.
pub const RULE: &str = "sdy.sharding_rule";

/// Returns the rule that is written on the op, or the rule of its kind. Conservative propagation does not propagate
/// along dimensions whose elements would have to be moved.
pub fn rule_of(view: &OpView<'_>, is_conservative: bool) -> Option<Rule> {
    if let Some(rule) = written_rule(view) {
        return Some(rule);
    }
    match Opcode::of_view(view) {
        Opcode::CustomCall => custom_call(view).or_else(|| fact(view)),
        _ if is_conservative => fact(view).map(|rule| conservative(view, rule)),
        Opcode::Convolution => fact(view).map(with_reduced_windows),
        Opcode::DynamicUpdateSlice if has_constant_starts(view) => fact(view).map(with_split_updates),
        _ => fact(view),
    }
}

/// Cache of the rules of ops that treat each element separately, by the number of operands and the shape.
#[derive(Default)]
pub struct Pointwise(HashMap<(usize, SmallVec<[usize; 4]>), Arc<Rule>>);

impl Pointwise {
    /// Returns the rule of an op with one result whose tensors all have this shape.
    pub fn rule(&mut self, operand_count: usize, shape: &[usize]) -> Arc<Rule> {
        let new = || Arc::new(Rule::pointwise(shape, operand_count, 1));
        self.0.entry((operand_count, shape.into())).or_insert_with(new).clone()
    }

    /// Returns the rule of an elementwise op on tensors of one shape without asking its facts, or `None` for other ops.
    pub fn rule_of(&mut self, view: &OpView<'_>) -> Option<Arc<Rule>> {
        let [result] = view.results() else { return None };
        let (shape, operands) = (view.body.ty(*result).shape(), view.operands());
        let is_plain = Opcode::of_view(view).facts().propagation_class(view) == PropagationClass::Elementwise;
        let is_one_shape = || operands.iter().all(|&v| view.body.ty(v).shape() == shape);
        (is_plain && is_one_shape()).then(|| self.rule(operands.len(), shape))
    }
}

pub fn has_written_rule(view: &OpView<'_>) -> bool {
    view.attr(RULE).is_some()
}

/// Returns the `sdy.sharding_rule` on the op, if it can be read and fits the op.
pub fn written_rule(view: &OpView<'_>) -> Option<Rule> {
    read_rule(view)?.ok()
}

/// Returns the error of a written rule that cannot be read or does not fit the op.
pub fn check_written_rule(view: &OpView<'_>) -> Option<Diagnostic> {
    let fault = read_rule(view)?.err()?;
    let message = format!("the sharding rule on `{}` is wrong: {fault}", view.name());
    let help = "list one factor for each dimension of each tensor, as in `([i, k], [k, j])->([i, j]) {i=8, j=16, k=8}`";
    Some(Diagnostic::error("sharding-rule", view.loc(), message).help(help))
}

/// Returns the rule on the op or a description of what is wrong with it; `None` if there is none.
fn read_rule(view: &OpView<'_>) -> Option<Result<Rule, String>> {
    let text = match view.attr(RULE)? {
        Attr::Opaque(text) => text.trim(),
        _ => return Some(Err("it is no `#sdy.op_sharding_rule<..>`".to_string())),
    };
    let inner = text.strip_prefix("#sdy.op_sharding_rule<").and_then(|t| t.strip_suffix('>'));
    let rule = inner.ok_or("it is no `#sdy.op_sharding_rule<..>`".to_string());
    let rule = rule.and_then(|text| text.parse::<Rule>().map_err(|e| e.to_string()));
    let shapes = |values: &[Value]| values.iter().map(|&v| view.body.ty(v).shape()).collect::<Vec<_>>();
    Some(rule.and_then(|rule| match rule.misfit(&shapes(view.operands()), &shapes(view.results())) {
        None => Ok(rule),
        Some(fault) => Err(fault),
    }))
}

fn fact(view: &OpView<'_>) -> Option<Rule> {
    match Opcode::of_view(view).facts().rule(view) {
        RuleFact::Rule(rule) => Some(rule),
        RuleFact::None(_) => None,
    }
}

/// Returns the rule with the window dimensions of a convolution as reductions, like the input features.
fn with_reduced_windows(mut rule: Rule) -> Rule {
    for spec in rule.factors.iter_mut().filter(|s| s.kind == FactorKind::NeedReplication) {
        spec.kind = FactorKind::Reduction;
    }
    rule
}

/// Returns the rule for conservative propagation. The factors of concatenated dimensions and of the windows of
/// convolutions are removed. The factors of padded, sliced and windowed dimensions are blocked.
fn conservative(view: &OpView<'_>, mut rule: Rule) -> Rule {
    match Opcode::of_view(view) {
        Opcode::Concatenate => {
            let dim = view.attrs().size("dimension").unwrap_or(0);
            without(&rule, |f| rule.results[0].dims[dim].contains(&f))
        }
        Opcode::Convolution => {
            without(&rule, |f| matches!(rule.kind(f), FactorKind::Permutation | FactorKind::NeedReplication))
        }
        Opcode::Pad | Opcode::Slice | Opcode::ReduceWindow | Opcode::SelectAndScatter => {
            rule.factors.iter_mut().for_each(|s| s.is_blocked |= s.kind != FactorKind::PassThrough);
            rule
        }
        Opcode::DynamicUpdateSlice if has_constant_starts(view) => with_split_updates(rule),
        _ => rule,
    }
}

/// Returns the rule without some factors. The dimensions of such a factor become independent of each other.
fn without(rule: &Rule, drops: impl Fn(Factor) -> bool) -> Rule {
    let ranks = |mappings: &[Mapping]| mappings.iter().map(Mapping::rank).collect::<Vec<_>>();
    let mut builder = RuleBuilder::new(ranks(&rule.operands), ranks(&rule.results));
    for factor in rule.all_factors().filter(|&f| !drops(f)) {
        let dim_of = |m: &Mapping| m.dims.iter().position(|d| d.contains(&factor));
        let dims = |mappings: &[Mapping]| mappings.iter().map(dim_of).collect::<Vec<_>>();
        builder.add_factor(&dims(&rule.operands), &dims(&rule.results), *rule.spec(factor));
    }
    builder.build()
}

/// Returns the rule of an update at a constant position, which may be split along the updated dimensions.
fn with_split_updates(mut rule: Rule) -> Rule {
    for spec in rule.factors.iter_mut().filter(|s| s.kind == FactorKind::NeedReplication && !s.is_blocked) {
        spec.kind = FactorKind::PassThrough;
    }
    rule
}

fn has_constant_starts(view: &OpView<'_>) -> bool {
    let is_constant = |&v: &Value| {
        let def = view.body.def_op(v).map(|op| Opcode::of_view(&view.at(op)));
        matches!(def, Some(Opcode::Constant | Opcode::SdyConstant))
    };
    view.operands().iter().skip(2).all(is_constant)
}

/// Returns whether the op calls a foreign function that moves a tensor between a device and its host.
pub fn is_move(view: &OpView<'_>) -> bool {
    matches!(view.attrs().str("call_target_name"), Some("MoveToHost" | "MoveToDevice"))
}

/// Returns the rules of decompositions and selections that JAX implements by foreign functions.
fn custom_call(view: &OpView<'_>) -> Option<Rule> {
    let shape = |v: Option<&Value>| v.map(|&v| view.body.ty(v).shape().to_vec());
    let first = shape(view.operands().first())?;
    let counts = (view.operands().len(), view.results().len());
    let rank = |v: &Value| view.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(view.operands().iter().map(rank), view.results().iter().map(rank));
    let batch = first.len().checked_sub(2);
    let whole = FactorSpec::need_replication;
    match (view.attrs().str("call_target_name")?, counts) {
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

/// Returns whether the result is the state of a random bit generator.
fn feeds_random_bits(view: &OpView<'_>) -> bool {
    let body = view.body;
    let mut users = body.walk().into_iter().filter(|&op| body[op].operands.contains(&view.result(0)));
    users.any(|op| Opcode::of_view(&view.at(op)) == Opcode::RngBitGenerator)
}
