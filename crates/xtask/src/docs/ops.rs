//! `ops.md`: the op table with its facts, as in each op's example, and how the ops run.

use super::{Markdown, Page};
use crate::engines::{self, Runs};
use crate::program;
use anyhow::{Context, Result};
use shardwise_ir::OpView;
use shardwise_ops::{Combine, Effects, ExplicitPolicy, Facts, Linear, Opcode, RuleFact, Semantics};
use shardwise_spmd::{RunMode, run_modes};

pub fn page() -> Result<Page> {
    let head = [
        "op",
        "dtypes",
        "rule of its example",
        "strategies",
        "engines",
        "rounds",
        "reduction",
        "effects",
        "linear in",
        "Explicit mode",
    ];
    let mut table = Markdown::new(head);
    for (op, runs) in engines::all() {
        table.row(cells(*op, runs).with_context(|| op.name())?);
    }
    let about = "Every op that the library knows. The facts may depend on types and attributes; here they are those of the \
                 op's example, which is a test too. *Dtypes* are those that the example may have in place of its own; \
                 *strategies* say how the op runs where operands are split along each factor of the rule; *engines* who \
                 runs it on the host engine: a kernel, or the op's reference evaluation (which is also what the \
                 interpreter runs) for want of one. *Rounds* is when the op takes part in propagation. How each op ran \
                 split stands in [coverage.md](coverage.md).";
    Ok(Page::of_table("ops.md", "Ops", about, &table))
}

fn cells(op: Opcode, runs: &Runs) -> Result<[String; 10]> {
    let module = program::parse(op.name(), op.facts().example(op))?;
    let func = module.main().context("the example has no @main")?;
    let is_it = |view: &OpView<'_>| Opcode::of_view(view) == op;
    let mut views = func.body.walk().into_iter().map(|o| OpView::new(&module, &func.body, o));
    let view = views.find(is_it).context("the example does not hold the op")?;
    let facts: &dyn Facts = op.facts();
    Ok([
        format!("`{}`", op.name()),
        dtypes(runs),
        rule(facts.rule(&view)),
        strategies(&view),
        engines_of(facts.semantics(&view), runs),
        format!("{:?}", facts.propagation_class(&view)),
        combine(facts.combine(&view)),
        effects(facts.effects(&view)).to_string(),
        linear(facts.linear(&view), view.operands().len()),
        explicit(facts.explicit(&view)),
    ])
}

fn dtypes(runs: &Runs) -> String {
    let all: Vec<&str> = runs.kernels.iter().chain(&runs.evaluated).chain(&runs.others).map(|d| d.short()).collect();
    super::dtypes_in_order(&all)
}

/// Describes how the op runs where its operands are split along each factor of its rule. Returns an empty text for ops
/// without a rule or without factors, and for those whose semantics are not [`Semantics::Pure`].
fn strategies(view: &OpView<'_>) -> String {
    let RuleFact::Rule(rule) = Opcode::of_view(view).facts().rule(view) else { return String::new() };
    if Opcode::of_view(view).facts().semantics(view) != Semantics::Pure {
        return String::new();
    }
    let told = |mode: RunMode| match mode {
        RunMode::Parts => "in parts".to_string(),
        RunMode::Combined(kind) => format!("in parts, then all-reduce ({})", format!("{kind:?}").to_lowercase()),
        RunMode::Gathered => "in parts, then all-gather and again".to_string(),
        RunMode::Exchanged => "in parts, after an exchange with neighbours".to_string(),
        RunMode::Whole(why) => format!("whole: {why}"),
    };
    let run_modes = run_modes(view, &rule);
    let mut groups: Vec<(String, Vec<String>)> = vec![];
    for (factor, way) in run_modes {
        let text = told(way);
        match groups.iter_mut().find(|g| g.0 == text) {
            Some(group) => group.1.push(factor.to_string()),
            None => groups.push((text, vec![factor.to_string()])),
        }
    }
    groups.iter().map(|(text, factors)| format!("{}: {text}", factors.join(", "))).collect::<Vec<_>>().join("; ")
}

fn engines_of(semantics: Semantics, runs: &Runs) -> String {
    let short =
        |list: &[shardwise_base::DType]| super::dtypes_in_order(&list.iter().map(|d| d.short()).collect::<Vec<_>>());
    match semantics {
        Semantics::Control => "the engine itself".into(),
        Semantics::Collective => "the engine itself: devices exchange values".into(),
        Semantics::Identity => "nobody: a mark".into(),
        Semantics::Pure if runs.kernels.is_empty() => "evaluation".into(),
        Semantics::Pure if runs.evaluated.is_empty() => "kernel".into(),
        Semantics::Pure => format!("kernel; evaluation of {}", short(&runs.evaluated)),
    }
}

fn rule(fact: RuleFact) -> String {
    match fact {
        RuleFact::Rule(rule) => format!("`{rule}`"),
        RuleFact::None(why) => format!("none: {why}"),
    }
}

fn combine(fact: Combine) -> String {
    match fact {
        Combine::With(kind) => format!("{kind:?}").to_lowercase(),
        Combine::Gather => "gathered and reduced again".into(),
        Combine::No(why) => format!("no: {why}"),
    }
}

fn effects(fact: Effects) -> &'static str {
    match fact {
        Effects::Pure => "",
        Effects::Ordered => "ordered",
        Effects::PerDevice => "per device",
    }
}

fn linear(fact: Linear, operand_count: usize) -> String {
    let listed = || {
        let listed: Vec<String> = (0..operand_count).filter(|&i| fact.includes(i)).map(|i| i.to_string()).collect();
        listed.join(", ")
    };
    match fact {
        Linear::No => String::new(),
        Linear::Jointly => "all".into(),
        Linear::UpToZeros => "all, up to the signs of zeros".into(),
        Linear::Each => "each".into(),
        Linear::EachOf(_) => format!("each of {}", listed()),
        Linear::In(_) => listed(),
    }
}

fn explicit(fact: ExplicitPolicy) -> String {
    match fact {
        ExplicitPolicy::ByRule => "by rule".into(),
        ExplicitPolicy::ByPropagation => "by the rule of propagation".into(),
        ExplicitPolicy::AskSums(why) => format!("asks where sums go: {why}"),
        ExplicitPolicy::Regroup => "by groups of dimensions".into(),
        ExplicitPolicy::Not(why) => format!("no: {why}"),
    }
}
