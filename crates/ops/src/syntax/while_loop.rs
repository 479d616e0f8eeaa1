//! The text of a loop: `stablehlo.while(%arg = %init, ..) : T, .. cond { .. } do { .. }`.

use shardwise_ir::OpView;
use shardwise_ir::text::{CustomForm, OpParts, Parsed, Parser, Printer, RegionArg};

pub(crate) struct WhileForm;

impl CustomForm for WhileForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let at = p.at();
        let mut names = vec![];
        let operands = p.list("(", ")", |p| {
            names.push(p.value_name()?);
            p.expect("=")?;
            p.operand()
        })?;
        if !operands.is_empty() {
            p.expect(":")?;
            parts.types = p.type_list()?;
        }
        p.check_operands(at, &operands, &parts.types)?;
        if p.eat("attributes") {
            parts.attrs = p.dict()?;
        }
        parts.operands = operands.into_iter().map(|(v, _)| v).collect();
        for word in ["cond", "do"] {
            p.expect(word)?;
            let typed = names.iter().zip(&parts.types);
            let args = typed.map(|(&(name, at), ty)| RegionArg { name, ty: ty.clone(), loc: None, at });
            parts.regions.push(p.region(args.collect())?);
        }
        Ok(parts)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let &[cond, body] = op.regions() else { return None };
        let types = |values: &[shardwise_ir::Value]| values.iter().map(|&v| op.body.ty(v)).collect::<Vec<_>>();
        let args = |region| &op.body.region(region).args[..];
        let operands = types(op.operands());
        // The arguments have the operands' types, and the form has no locations for them.
        let fits = [types(op.results()), types(args(cond)), types(args(body))].iter().all(|list| *list == operands);
        if !fits || p.shows_locations() {
            return None;
        }
        p.write("(");
        for (i, (&arg, &init)) in args(body).iter().zip(op.operands()).enumerate() {
            p.write(if i > 0 { ", " } else { "" });
            p.operand(arg);
            p.write(" = ");
            p.operand(init);
        }
        p.write(")");
        if !operands.is_empty() {
            p.write(" : ");
            p.types(operands);
        }
        p.dict_after(" attributes ", |_| true);
        p.line();
        p.write("cond ");
        p.region(op.body, cond, false);
        p.write(" do ");
        p.region(op.body, body, false);
        Some(())
    }
}
