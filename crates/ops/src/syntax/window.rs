//! The text of a convolution's window: `{stride = [2, 2], pad = [[1, 1], [0, 0]], reverse = [false, true]}`.

use shardwise_base::{DType, Literal};
use shardwise_ir::text::{Parsed, Parser, Part, Printer};
use shardwise_ir::{Attr, Attrs, OpView};

pub(crate) struct Window;

/// The words of a window, and the attributes that they are written for.
const WINDOW_FIELDS: [(&str, &str); 5] = [
    ("stride", "window_strides"),
    ("pad", "padding"),
    ("lhs_dilate", "lhs_dilation"),
    ("rhs_dilate", "rhs_dilation"),
    ("reverse", "window_reversal"),
];

impl Part for Window {
    fn attrs(&self) -> &'static [&'static str] {
        &["window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal"]
    }

    fn parse(&self, p: &mut Parser<'_>, attrs: &mut Attrs) -> Parsed<()> {
        p.list("{", "}", |p| {
            let at = p.at();
            let word = p.word("a part of the window")?;
            let Some((_, name)) = WINDOW_FIELDS.iter().find(|(w, _)| *w == word) else {
                let known = WINDOW_FIELDS.map(|(w, _)| w).join(", ");
                return Err(p.fail(at, "text-syntax", format!("a window has {known}, and no `{word}`")));
            };
            p.expect("=")?;
            let attr = window_field(p, name)?;
            attrs.set(*name, attr);
            Ok(())
        })?;
        Ok(())
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        p.write("{");
        let mut separator = "";
        for (word, name) in WINDOW_FIELDS {
            let Some(attr) = op.attr(name) else {
                continue;
            };
            p.write(&format!("{separator}{word} = {}", window_text(attr)?));
            separator = ", ";
        }
        p.write("}");
        Some(())
    }
}

fn window_field(p: &mut Parser<'_>, name: &str) -> Parsed<Attr> {
    match name {
        "padding" => {
            let at = p.at();
            let pairs = p.list("[", "]", Parser::int_list)?;
            if pairs.iter().any(|pair| pair.len() != 2) {
                return Err(p.fail(at, "text-syntax", "padding is a list of pairs, as [[0, 0], [1, 1]]".to_string()));
            }
            Ok(Attr::Dense(Literal::new(vec![pairs.len(), 2], &pairs.concat())))
        }
        "window_reversal" => Ok(Attr::Bools(p.list("[", "]", flag)?)),
        _ => p.int_list().map(Attr::ints),
    }
}

fn flag(p: &mut Parser<'_>) -> Parsed<bool> {
    if p.eat("true") {
        return Ok(true);
    }
    if p.eat("false") {
        return Ok(false);
    }
    p.int().map(|v| v != 0)
}

fn window_text(attr: &Attr) -> Option<String> {
    Some(match attr {
        Attr::Ints { values, dtype: DType::I64 } => format!("{values:?}"),
        Attr::Bools(values) => format!("{values:?}"),
        Attr::Dense(padding) if padding.dtype() == DType::I64 && padding.rank() == 2 && padding.shape()[1] == 2 => {
            let values = attr.to_ints()?;
            let pairs: Vec<&[i64]> = values.chunks(2).collect();
            format!("{pairs:?}")
        }
        _ => return None,
    })
}
