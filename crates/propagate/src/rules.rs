//! The sharding rules that propagation uses, which are Shardy's for every op for which Shardy has one.
//!
//! A rule is written on the op or is the op's `propagation_rule`. For most ops this is the rule that the partitioner
//! uses too. Some propagate shardings through more than the partitioner can split.

use rustc_hash::FxHashMap;
use shardwise_base::Diagnostic;
use shardwise_ir::{Attr, OpView, Value};
use shardwise_ops::{Opcode, PropagationClass, RuleFact};
use shardwise_sharding::Rule;
use smallvec::SmallVec;
use std::sync::Arc;

/// The name of the attribute that holds an op's rule.
pub const RULE: &str = "sdy.sharding_rule";

/// Returns the rule that is written on the op, if it can be read and fits the op, or else the rule that the op's kind
/// provides for it, or `None` if the kind provides none. If `is_conservative` is true and the op is a slice, a padding,
/// a concatenation, a convolution or another op on windows, the latter rule does not propagate along dimensions whose
/// elements would have to be moved. For other ops, such as reversals, the rule does not depend on `is_conservative`.
pub fn rule_of(view: &OpView<'_>, is_conservative: bool) -> Option<Rule> {
    if let Some(rule) = written_rule(view) {
        return Some(rule);
    }
    match Opcode::of_view(view).facts().propagation_rule(view, is_conservative) {
        RuleFact::Rule(rule) => Some(rule),
        RuleFact::None(_) => None,
    }
}

/// Cache of the rules of ops with one result that treat each element separately, by the number of operands and the
/// shape.
#[derive(Default)]
pub struct Pointwise(FxHashMap<(usize, SmallVec<[usize; 4]>), Arc<Rule>>);

impl Pointwise {
    /// Returns the rule of an elementwise op with one result whose tensors all have this shape.
    pub fn rule(&mut self, operand_count: usize, shape: &[usize]) -> Arc<Rule> {
        let new = || Arc::new(Rule::pointwise(shape, operand_count, 1));
        self.0.entry((operand_count, shape.into())).or_insert_with(new).clone()
    }

    /// Returns the rule of an elementwise op with one result on tensors of one shape, or `None` for other ops. A rule
    /// that is written on the op is ignored.
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

/// Returns the `sdy.sharding_rule` on the op, or `None` if there is none, if it cannot be read, or if it does not fit
/// the op.
pub fn written_rule(view: &OpView<'_>) -> Option<Rule> {
    read_rule(view)?.ok()
}

/// Returns the error of a written rule that cannot be read or does not fit the op, or `None` if there is no rule or it
/// fits.
pub fn check_written_rule(view: &OpView<'_>) -> Option<Diagnostic> {
    let fault = read_rule(view)?.err()?;
    let message = format!("the sharding rule on `{}` is wrong: {fault}", view.name());
    let help = "list the factors of each dimension of each tensor, as in `([i, k], [k, j])->([i, j]) {i=8, j=16, k=8}`";
    Some(Diagnostic::error("sharding-rule", view.loc(), message).help(help))
}

/// Returns the rule that is written on the op, or a description of what is wrong with it. Returns `None` if no rule is
/// written on the op.
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
