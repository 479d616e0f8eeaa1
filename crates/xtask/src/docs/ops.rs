//! `ops.md`: the op table with its facts, as each op's example shows them.

use super::{Markdown, Page};
use crate::program;
use anyhow::{Context, Result};
use shardwise_ir::OpView;
use shardwise_ops::{Combine, Effects, ExplicitPolicy, Facts, Linear, Opcode, RuleFact, Semantics};

pub fn page() -> Result<Page> {
    let head = ["op", "rule of its example", "rounds", "reduction", "meaning", "effects", "linear in", "Explicit mode"];
    let mut table = Markdown::new(head);
    for &op in Opcode::ALL {
        table.row(cells(op).with_context(|| op.name())?);
    }
    let about = "Every op that the library knows. The facts may depend on types and attributes; here they are those of the \
                 op's example, which is a test too. *Rounds* is when the op takes part in propagation; *meaning* says who \
                 runs it: its reference evaluation, the engine, or nobody.";
    Ok(Page::of_table("ops.md", "Ops", about, &table))
}

/// The row of an op.
fn cells(op: Opcode) -> Result<[String; 8]> {
    let module = program::parse(op.name(), op.facts().example(op))?;
    let func = module.main().context("the example has no @main")?;
    let is_it = |view: &OpView<'_>| Opcode::of_view(view) == op;
    let mut views = func.body.walk().into_iter().map(|o| OpView::new(&module, &func.body, o));
    let view = views.find(is_it).context("the example does not hold the op")?;
    let facts: &dyn Facts = op.facts();
    Ok([
        format!("`{}`", op.name()),
        rule(facts.rule(&view)),
        format!("{:?}", facts.propagation_class(&view)),
        combine(facts.combine(&view)),
        meaning(facts.semantics(&view)).to_string(),
        effects(facts.effects(&view)).to_string(),
        linear(facts.linear(&view), view.operands().len()),
        explicit(facts.explicit(&view)),
    ])
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
        Combine::No(why) => format!("no: {why}"),
    }
}

fn meaning(fact: Semantics) -> &'static str {
    match fact {
        Semantics::Pure => "evaluation",
        Semantics::Control => "engine (control)",
        Semantics::Collective => "engine (collective)",
        Semantics::Identity => "a mark",
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
    match fact {
        Linear::No => String::new(),
        Linear::Jointly => "all".into(),
        Linear::Each => "each".into(),
        Linear::In(bits) => {
            let listed: Vec<String> =
                (0..operand_count).filter(|i| bits >> i & 1 == 1).map(|i| i.to_string()).collect();
            listed.join(", ")
        }
    }
}

fn explicit(fact: ExplicitPolicy) -> String {
    match fact {
        ExplicitPolicy::ByRule => "by rule".into(),
        ExplicitPolicy::AskSums(why) => format!("asks where sums go: {why}"),
        ExplicitPolicy::Regroup => "by groups of dimensions".into(),
        ExplicitPolicy::Not(why) => format!("no: {why}"),
    }
}
