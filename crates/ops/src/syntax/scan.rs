//! The text of a scan: `chlo.scan(%x) inits(%c) dimension=0 attributes {..} {..} : (T, U) -> (V, U)`.

use crate::scan::{SEGMENTS, segments};
use shardwise_base::DType;
use shardwise_ir::text::{CustomForm, OpParts, Parsed, Parser, Printer};
use shardwise_ir::{Attr, OpView};

pub(crate) struct ScanForm;

impl CustomForm for ScanForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let at = p.at();
        let mut parts = OpParts::default();
        p.expect("(")?;
        let mut operands = p.operands()?;
        p.expect_all(") inits(")?;
        let inputs = operands.len();
        operands.extend(p.operands()?);
        p.expect_all(") dimension=")?;
        let dim = p.int()?;
        parts.attrs.set("dimension", Attr::Int { value: dim, dtype: Some(DType::I64) });
        if p.eat("attributes") {
            p.merge_dict(&mut parts.attrs)?;
        }
        parts.regions = vec![p.region(vec![])?];
        p.expect(":")?;
        parts.types = p.functional_types(at, &operands)?;
        let carries = operands.len() - inputs;
        parts.attrs.set(SEGMENTS[0], segments(inputs, carries));
        parts.attrs.set(SEGMENTS[1], segments(parts.types.len().saturating_sub(carries), carries));
        parts.operands = operands.into_iter().map(|(v, _)| v).collect();
        Ok(parts)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let [inputs, carries] = op.attr(SEGMENTS[0])?.to_ints()?[..] else { return None };
        let (inputs, carries) = (usize::try_from(inputs).ok()?, usize::try_from(carries).ok()?);
        let outputs = op.results().len().checked_sub(carries)?;
        let counts = [segments(inputs, carries), segments(outputs, carries)];
        let fits = inputs + carries == op.operands().len()
            && SEGMENTS.iter().zip(&counts).all(|(name, count)| op.attr(name) == Some(count));
        let Some(Attr::Int { value, dtype: Some(DType::I64) }) = op.attr("dimension") else { return None };
        if !fits || op.regions().len() != 1 {
            return None;
        }
        p.write("(");
        p.operands(op.operands()[..inputs].iter().copied());
        p.write(") inits(");
        p.operands(op.operands()[inputs..].iter().copied());
        p.write(&format!(") dimension={value}"));
        p.dict_after(" attributes ", |name| name != "dimension" && !SEGMENTS.contains(&name));
        p.write(" ");
        p.region(op.body, op.regions()[0], true);
        p.write(" : ");
        p.functional_type(op);
        Some(())
    }
}
