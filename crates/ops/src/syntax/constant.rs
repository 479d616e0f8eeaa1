//! The text of a constant: `stablehlo.constant dense<1.0> : tensor<f32>`.

use shardwise_ir::text::{CustomForm, OpParts, Parsed, Parser, Printer};
use shardwise_ir::{Attr, OpView, Type};

pub(crate) struct ConstantForm;

impl CustomForm for ConstantForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        // If the types differ, MLIR writes the generic form after the name.
        if p.is("(") {
            return p.generic_parts();
        }
        let mut parts = OpParts::default();
        p.merge_dict(&mut parts.attrs)?;
        let (literal, ty) = p.typed_dense()?;
        parts.types = vec![ty.into()];
        parts.attrs.set("value", Attr::Dense(literal));
        Ok(parts)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let literal = op.attr("value")?.as_dense()?;
        let [result] = op.results() else { return None };
        let ty = Type::tensor(literal.dtype(), literal.shape());
        if *op.body.ty(*result) != ty || !op.operands().is_empty() {
            return None;
        }
        p.dict(|name| name != "value");
        p.write(" ");
        p.dense(literal);
        p.write(" : ");
        p.types([&ty]);
        Some(())
    }
}
