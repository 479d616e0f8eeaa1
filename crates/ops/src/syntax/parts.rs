//! Attributes that are written together, in a form of their own.

use shardwise_base::DType;
use shardwise_ir::text::{Parsed, Parser, Part, Printer};
use shardwise_ir::{Attr, Attrs, OpView};

/// `[0:4, 1:9:2]`: the start, the limit and the stride of a slice in each dimension. A stride of 1 may be left out.
pub(crate) struct Ranges;
/// `e5m10`: the bits that `reduce_precision` keeps.
pub(crate) struct Bits;
/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`. Batching dimensions are left out if there are none.
pub(crate) struct DotDimensions;

impl Part for Ranges {
    fn attrs(&self) -> &'static [&'static str] {
        &["start_indices", "limit_indices", "strides"]
    }

    fn parse(&self, p: &mut Parser<'_>, attrs: &mut Attrs) -> Parsed<()> {
        let mut lists = [vec![], vec![], vec![]];
        p.list("[", "]", |p| {
            lists[0].push(p.int()?);
            p.expect(":")?;
            lists[1].push(p.int()?);
            lists[2].push(if p.eat(":") { p.int()? } else { 1 });
            Ok(())
        })?;
        for (name, list) in self.attrs().iter().zip(lists) {
            attrs.set(*name, Attr::ints(list));
        }
        Ok(())
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let list = |name: &str| match op.attr(name)? {
            Attr::Ints { values, dtype: DType::I64 } => Some(values),
            _ => None,
        };
        let (start, limit, stride) = (list("start_indices")?, list("limit_indices")?, list("strides")?);
        if start.len() != limit.len() || start.len() != stride.len() {
            return None;
        }
        let ranges = start.iter().zip(limit).zip(stride).map(|((s, l), step)| match step {
            1 => format!("{s}:{l}"),
            _ => format!("{s}:{l}:{step}"),
        });
        p.write(&format!("[{}]", ranges.collect::<Vec<_>>().join(", ")));
        Some(())
    }
}

impl Part for Bits {
    fn attrs(&self) -> &'static [&'static str] {
        &["exponent_bits", "mantissa_bits"]
    }

    fn parse(&self, p: &mut Parser<'_>, attrs: &mut Attrs) -> Parsed<()> {
        let at = p.at();
        let word = p.word("a format, as e5m10")?;
        let parts = word.strip_prefix('e').and_then(|w| w.split_once('m'));
        let bits = parts.and_then(|(e, m)| Some([e.parse::<i32>().ok()?, m.parse().ok()?]));
        let Some(bits) = bits else {
            return Err(p.fail(at, "text-syntax", format!("a format, as e5m10, is expected, not `{word}`")));
        };
        for (name, value) in self.attrs().iter().zip(bits) {
            attrs.set(*name, Attr::Int { value: value.into(), dtype: Some(DType::I32) });
        }
        Ok(())
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let bits = |name: &str| match op.attr(name)? {
            Attr::Int { value, dtype: Some(DType::I32) } if *value >= 0 => Some(*value),
            _ => None,
        };
        p.write(&format!("e{}m{}", bits("exponent_bits")?, bits("mantissa_bits")?));
        Some(())
    }
}

impl Part for DotDimensions {
    fn attrs(&self) -> &'static [&'static str] {
        &["dot_dimension_numbers"]
    }

    fn parse(&self, p: &mut Parser<'_>, attrs: &mut Attrs) -> Parsed<()> {
        let mut fields = Attrs::new();
        if p.eat("batching_dims") {
            pair(p, &mut fields, "batching")?;
            p.expect(",")?;
        }
        p.expect("contracting_dims")?;
        pair(p, &mut fields, "contracting")?;
        attrs.set("dot_dimension_numbers", Attr::Record { name: "stablehlo.dot".into(), fields });
        Ok(())
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let fields = op.attr("dot_dimension_numbers")?.as_record()?;
        let list = |side: &str, kind: &str| fields.ints(&format!("{side}_{kind}_dimensions")).unwrap_or_default();
        for kind in ["batching", "contracting"] {
            let (lhs, rhs) = (list("lhs", kind), list("rhs", kind));
            if kind == "batching" && lhs.is_empty() && rhs.is_empty() {
                continue;
            }
            p.write(kind);
            p.write("_dims = ");
            p.ints(&lhs);
            p.write(" x ");
            p.ints(&rhs);
            p.write(if kind == "batching" { ", " } else { "" });
        }
        Some(())
    }
}

/// Reads ` = [0] x [0]`, the dimensions of both sides, into `fields`. An empty list is not stored. Fails on any other
/// text.
fn pair(p: &mut Parser<'_>, fields: &mut Attrs, kind: &str) -> Parsed<()> {
    p.expect("=")?;
    for side in ["lhs", "rhs"] {
        if side == "rhs" {
            p.expect("x")?;
        }
        let dims = p.int_list()?;
        if !dims.is_empty() {
            fields.set(format!("{side}_{kind}_dimensions"), Attr::ints(dims));
        }
    }
    Ok(())
}
