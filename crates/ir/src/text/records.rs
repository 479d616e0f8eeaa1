//! Reads and writes attributes that are named records: `#stablehlo.gather<offset_dims = [1], index_vector_dim = 2>`,
//! and `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`, which has a notation of its own.

use super::attr::DOTTED_ENUM;
use super::attr_print::write_attr;
use super::lexer::TokenKind;
use super::number;
use super::parser::{At, Failed, Parsed, Parser};
use crate::{Attr, Attrs};
use shardwise_base::{DType, Diagnostic, Loc, did_you_mean};
use std::fmt::Write;

/// The fields of a record, in the order in which they are printed.
pub(super) type Fields = &'static [(&'static str, Field)];

/// The values that a field of a record may have.
#[derive(Clone, Copy)]
pub(super) enum Field {
    Int,
    Ints,
    Float,
    Flag,
    /// An element type, which is kept as text.
    Type,
    /// `#stablehlo.result_accuracy_mode<..>`.
    Mode,
}
use Field::{Flag, Float, Int, Ints, Mode, Type};

impl Field {
    fn fits(self, value: &Attr) -> bool {
        match self {
            Int => matches!(value, Attr::Int { .. }),
            Ints => matches!(value, Attr::Ints { dtype: DType::I64, .. }),
            Float => matches!(value, Attr::Float { .. }),
            Flag => matches!(value, Attr::Bool(_)),
            Type => matches!(value, Attr::Opaque(_) | Attr::Type(_)),
            Mode => matches!(value, Attr::Enum { kind, .. } if **kind == DOTTED_ENUM[1..]),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Int => "an integer",
            Ints => "a list of integers",
            Float => "a float",
            Flag => "`true` or `false`",
            Type => "an element type",
            Mode => "`#stablehlo.result_accuracy_mode<..>`",
        }
    }
}

/// The known records except `stablehlo.conv`, with their fields.
const RECORDS: &[(&str, Fields)] = &[
    (
        "stablehlo.dot",
        &[
            ("lhs_batching_dimensions", Ints),
            ("rhs_batching_dimensions", Ints),
            ("lhs_contracting_dimensions", Ints),
            ("rhs_contracting_dimensions", Ints),
        ],
    ),
    (
        "stablehlo.gather",
        &[
            ("offset_dims", Ints),
            ("collapsed_slice_dims", Ints),
            ("operand_batching_dims", Ints),
            ("start_indices_batching_dims", Ints),
            ("start_index_map", Ints),
            ("index_vector_dim", Int),
        ],
    ),
    (
        "stablehlo.scatter",
        &[
            ("update_window_dims", Ints),
            ("inserted_window_dims", Ints),
            ("input_batching_dims", Ints),
            ("scatter_indices_batching_dims", Ints),
            ("scatter_dims_to_operand_dims", Ints),
            ("index_vector_dim", Int),
        ],
    ),
    (
        "stablehlo.dot_algorithm",
        &[
            ("lhs_precision_type", Type),
            ("rhs_precision_type", Type),
            ("accumulation_type", Type),
            ("lhs_component_count", Int),
            ("rhs_component_count", Int),
            ("num_primitive_operations", Int),
            ("allow_imprecise_accumulation", Flag),
        ],
    ),
    ("stablehlo.channel_handle", &[("handle", Int), ("type", Int)]),
    (
        "stablehlo.output_operand_alias",
        &[("output_tuple_indices", Ints), ("operand_index", Int), ("operand_tuple_indices", Ints)],
    ),
    ("stablehlo.result_accuracy", &[("atol", Float), ("rtol", Float), ("ulps", Int), ("mode", Mode)]),
    (
        "chlo.ragged_dot",
        &[
            ("lhs_batching_dimensions", Ints),
            ("rhs_batching_dimensions", Ints),
            ("lhs_contracting_dimensions", Ints),
            ("rhs_contracting_dimensions", Ints),
            ("lhs_ragged_dimensions", Ints),
            ("rhs_group_dimensions", Ints),
        ],
    ),
];

/// Records whose lists MLIR requires even if they are empty.
const KEEPS_EMPTY_LISTS: &[&str] = &["stablehlo.output_operand_alias"];

/// The three parts of a convolution's dimension numbers: the prefix of a field, and the letters of the dimensions that
/// are not spatial, each with the rest of its field's name.
const CONV_PARTS: [(&str, [(&str, &str); 2]); 3] = [
    ("input", [("b", "batch_dimension"), ("f", "feature_dimension")]),
    ("kernel", [("i", "input_feature_dimension"), ("o", "output_feature_dimension")]),
    ("output", [("b", "batch_dimension"), ("f", "feature_dimension")]),
];

pub(super) fn fields(name: &str) -> Option<Fields> {
    RECORDS.iter().find(|(n, _)| *n == name).map(|(_, fields)| *fields)
}

impl<'t> Parser<'t> {
    /// Reads `<field = value, ..>` after the record's name `name`. A field with an empty list is left out, except in
    /// the records of [`KEEPS_EMPTY_LISTS`].
    pub(super) fn record(&mut self, name: &str, known: &[(&str, Field)]) -> Parsed<Attr> {
        self.expect("<")?;
        self.record_fields(name, known)
    }

    fn record_fields(&mut self, name: &str, known: &[(&str, Field)]) -> Parsed<Attr> {
        let mut fields = Attrs::new();
        self.fields(name, |p, field, at| {
            let Some((_, kind)) = known.iter().find(|(known, _)| *known == field) else {
                p.report(at, |loc| unknown_field(loc, name, field, known));
                return Err(Failed);
            };
            p.expect("=")?;
            let value = p.nested(Self::field_value)?;
            let is_empty = matches!(&value, Attr::Ints { values, .. } if values.is_empty());
            if !kind.fits(&value) {
                let message = format!("field `{field}` of `{name}` must be {}", kind.in_words());
                return Err(p.fail(at, "text-attribute", message));
            }
            if !is_empty || KEEPS_EMPTY_LISTS.contains(&name) {
                fields.set(field, value);
            }
            Ok(())
        })?;
        Ok(Attr::Record { name: name.into(), fields })
    }

    /// Reads the fields of the record `record`, and the `>` after them. `field` reads one after its name. There may be
    /// a comma after the last one.
    fn fields(&mut self, record: &str, mut field: impl FnMut(&mut Self, &'t str, At) -> Parsed<()>) -> Parsed<()> {
        let mut names = vec![];
        while !self.eat(">") {
            let at = self.at();
            let name = self.word("a field's name")?;
            field(self, name, at)?;
            if names.contains(&name) {
                let message = format!("field `{name}` of `{record}` occurs twice");
                return Err(self.fail(at, "text-attribute", message));
            }
            names.push(name);
            if !self.eat(",") {
                return self.expect(">");
            }
        }
        Ok(())
    }

    /// Reads a field's value: a number without a type, a list of numbers, a word, or an attribute.
    fn field_value(&mut self) -> Parsed<Attr> {
        match (self.tok.kind, self.tok_text()) {
            // If a type follows, these are the bits of a float.
            (TokenKind::Int, _) if self.tok_text().starts_with("0x") => self.attr(),
            (TokenKind::Int, _) => self.int().map(Attr::int),
            (TokenKind::Punct, "-") if !self.is_negative_float() => self.int().map(Attr::int),
            (TokenKind::Punct, "[") => self.int_list().map(Attr::ints),
            (TokenKind::Word, "true" | "false") => self.attr(),
            (TokenKind::Word, word) if word != "dense" && word != "array" => {
                self.bump();
                Ok(Attr::Opaque(word.into()))
            }
            _ => self.attr(),
        }
    }

    fn is_negative_float(&self) -> bool {
        super::lexer::token(self.text, self.tok.end).kind == TokenKind::Float
    }

    /// Reads `<[b, 0, f]x[0, i, o]->[b, 0, f]>`, or `<raw input_batch_dimension = 0, ..>`.
    pub(super) fn conv_record(&mut self) -> Parsed<Attr> {
        self.expect("<")?;
        if self.eat("raw") {
            let known = conv_fields();
            let known: Vec<_> = known.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
            return self.record_fields("stablehlo.conv", &known);
        }
        let fields = self.conv_dimensions()?;
        self.expect(">")?;
        Ok(fields)
    }

    /// Reads `[b, 0, f]x[0, i, o]->[b, 0, f]`, and returns the corresponding record. It is a mistake if one of the
    /// three lists lacks one of its two letters, or if its other dimensions are not numbered 0, 1, … in any order.
    pub fn conv_dimensions(&mut self) -> Parsed<Attr> {
        let mut fields = Attrs::new();
        for (i, (part, letters)) in CONV_PARTS.into_iter().enumerate() {
            if i > 0 {
                self.expect(["", "x", "->"][i])?;
            }
            self.conv_part(part, letters, &mut fields)?;
        }
        Ok(Attr::Record { name: "stablehlo.conv".into(), fields })
    }

    fn conv_part(&mut self, part: &str, letters: [(&str, &str); 2], fields: &mut Attrs) -> Parsed<()> {
        let at = self.at();
        let dims = self.list("[", "]", |p| {
            let text = p.tok_text();
            match p.tok.kind {
                TokenKind::Word | TokenKind::Int => p.bump(),
                _ => return Err(p.unexpected("a dimension")),
            }
            Ok(text)
        })?;
        let place = |d: &str| dims.iter().position(|&x| x == d);
        for (letter, field) in letters {
            let Some(index) = place(letter) else {
                return Err(self.fail(
                    at,
                    "text-convolution",
                    format!("the dimensions of the {part} need one named `{letter}`"),
                ));
            };
            fields.set(format!("{part}_{field}"), Attr::int(index as i64));
        }
        let spatial: Option<Vec<i64>> =
            (0..dims.len().saturating_sub(2)).map(|d| place(&d.to_string()).map(|i| i as i64)).collect();
        let Some(spatial) = spatial else {
            let [first, second] = letters.map(|(letter, _)| letter);
            let message = format!(
                "apart from one `{first}` and one `{second}`, the dimensions of the {part} must be numbered 0, 1, …"
            );
            return Err(self.fail(at, "text-convolution", message));
        };
        if !spatial.is_empty() {
            fields.set(format!("{part}_spatial_dimensions"), Attr::ints(spatial));
        }
        Ok(())
    }
}

fn conv_fields() -> Vec<(String, Field)> {
    let own = CONV_PARTS.iter().flat_map(|(part, letters)| letters.iter().map(move |(_, f)| format!("{part}_{f}")));
    let spatial = CONV_PARTS.iter().map(|(part, _)| (format!("{part}_spatial_dimensions"), Ints));
    own.map(|name| (name, Int)).chain(spatial).collect()
}

fn unknown_field(loc: &Loc, record: &str, field: &str, known: &[(&str, Field)]) -> Diagnostic {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let d = Diagnostic::error("text-attribute", loc, format!("`{record}` has no field `{field}`"))
        .expected(names.join(", "));
    match did_you_mean(field, names.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d,
    }
}

/// Writes a record attribute by its full name, such as `#stablehlo.gather<offset_dims = [1]>`. `stablehlo.conv` has the
/// form `[b, 0, f]x[..]->[..]`, or `raw` and its fields if its numbers are inconsistent, or one is missing.
pub(super) fn write_record(out: &mut String, name: &str, values: &Attrs) {
    if name == "stablehlo.conv" {
        out.push_str("#stablehlo.conv<");
        if !write_conv_dimensions(out, values) {
            write_raw_conv(out, values);
        }
        return out.push('>');
    }
    write!(out, "#{name}").expect("writing to a string");
    write_record_body(out, name, values);
}

/// Writes `<offset_dims = [1]>`: the fields of a known record in their order, and then all other fields.
pub(super) fn write_record_body(out: &mut String, name: &str, values: &Attrs) {
    let order = fields(name).unwrap_or(&[]);
    let known = order.iter().filter_map(|&(field, _)| values.get(field).map(|v| (field, v)));
    let unknown = values.iter().filter(|(name, _)| !order.iter().any(|(field, _)| field == name));
    out.push('<');
    for (i, (field, value)) in known.chain(unknown).enumerate() {
        write!(out, "{}{field} = ", if i > 0 { ", " } else { "" }).expect("writing to a string");
        write_field(out, value);
    }
    out.push('>');
}

fn write_field(out: &mut String, value: &Attr) {
    match value {
        Attr::Int { value, .. } => write!(out, "{value}").expect("writing to a string"),
        Attr::Ints { values, .. } => write_ints(out, values),
        Attr::Float { value, dtype: DType::F64 } if value.is_finite() => number::write_float(out, *value, DType::F64),
        other => write_attr(out, other),
    }
}

pub(super) fn write_ints(out: &mut String, values: &[i64]) {
    out.push('[');
    for (i, v) in values.iter().enumerate() {
        write!(out, "{}{v}", if i > 0 { ", " } else { "" }).expect("writing to a string");
    }
    out.push(']');
}

/// Writes `[b, 0, f]x[0, i, o]->[b, 0, f]`. Returns false, and writes nothing, if the numbers are inconsistent, or one
/// is missing.
pub(super) fn write_conv_dimensions(out: &mut String, values: &Attrs) -> bool {
    let parts: Option<Vec<Vec<String>>> =
        CONV_PARTS.iter().map(|(part, letters)| conv_part_names(part, letters, values)).collect();
    let Some(parts) = parts else {
        return false;
    };
    for (dims, separator) in parts.iter().zip(["", "x", "->"]) {
        write!(out, "{separator}[{}]", dims.join(", ")).expect("writing to a string");
    }
    true
}

/// Returns the name of each dimension of one part, or `None` if the numbers are inconsistent, or one is missing.
fn conv_part_names(part: &str, letters: &[(&str, &str); 2], values: &Attrs) -> Option<Vec<String>> {
    let spatial = match values.get(&format!("{part}_spatial_dimensions")) {
        Some(list) => list.to_sizes()?,
        None => vec![],
    };
    let mut names = vec![String::new(); spatial.len() + 2];
    for (letter, field) in letters {
        *names.get_mut(values.size(&format!("{part}_{field}"))?)? = (*letter).to_string();
    }
    for (i, &d) in spatial.iter().enumerate() {
        *names.get_mut(d)? = i.to_string();
    }
    names.iter().all(|n| !n.is_empty()).then_some(names)
}

fn write_raw_conv(out: &mut String, values: &Attrs) {
    out.push_str("raw ");
    for (i, (field, value)) in values.iter().enumerate() {
        write!(out, "{}{field} = ", if i > 0 { ", " } else { "" }).expect("writing to a string");
        write_field(out, value);
    }
}
