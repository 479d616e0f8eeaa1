//! Reads attributes. What is not understood is kept verbatim ([`Attr::Opaque`]).

use super::dense;
use super::lexer::{self, TokenKind};
use super::mistakes;
use super::number::{self, Scalar};
use super::parser::{At, Failed, Parsed, Parser, shorten};
use super::{records, types};
use crate::{Attr, Attrs};
use shardwise_base::DType;
use std::sync::Arc;

/// The kind, after a dot, of the only enum that is written as `#stablehlo.kind<VALUE>`, and not as
/// `#stablehlo<kind VALUE>`.
pub(super) const DOTTED_ENUM: &str = ".result_accuracy_mode";

impl<'t> Parser<'t> {
    pub fn attr(&mut self) -> Parsed<Attr> {
        self.nested(Self::attr_inner)
    }

    fn attr_inner(&mut self) -> Parsed<Attr> {
        let at = self.at();
        let text = self.tok_text();
        match self.tok.kind {
            TokenKind::Str if self.has_type() => self.opaque(),
            TokenKind::Str => self.string_attr(),
            TokenKind::Int | TokenKind::Float => self.number_attr(),
            TokenKind::At => self.symbol_attr(),
            TokenKind::Bang => self.type_attr(),
            TokenKind::Hash => self.hash_attr(text, at),
            TokenKind::Punct => match text {
                "-" => self.number_attr(),
                "[" => self.list("[", "]", Self::attr).map(Attr::Array),
                "{" => self.inner_dict().map(Attr::Dict),
                "(" => self.type_attr(),
                _ => self.opaque(),
            },
            TokenKind::Word => match text {
                "true" | "false" => {
                    self.bump();
                    Ok(Attr::Bool(text == "true"))
                }
                "unit" => {
                    self.bump();
                    Ok(Attr::Unit)
                }
                "dense" => self.dense_attr(),
                "array" => self.array_attr(),
                "loc" => self.loc_attr(),
                "tensor" | "tuple" => self.type_attr(),
                _ => self.opaque(),
            },
            _ => Err(self.unexpected("an attribute")),
        }
    }

    fn string_attr(&mut self) -> Parsed<Attr> {
        let quoted = self.tok_text();
        self.bump();
        // Bytes that are not text (a serialized configuration) are kept as they are written.
        Ok(lexer::unescape(quoted).map_or_else(|| Attr::Opaque(quoted.into()), |s| Attr::Str(s.into())))
    }

    /// Reads a string. One that is not UTF-8 or has an invalid escape is a mistake. So is another token, with a message
    /// that says that `what` was expected.
    pub fn string(&mut self, what: &str) -> Parsed<Arc<str>> {
        let at = self.at();
        if !self.is_kind(TokenKind::Str) {
            return Err(self.unexpected(what));
        }
        match self.string_attr()? {
            Attr::Str(s) => Ok(s),
            _ => Err(self.fail(at, "text-string", "the string is not UTF-8, or has an invalid escape".to_string())),
        }
    }

    /// Reads `@name` or `@"name"`, and returns the name without `@`, quotes and escapes. Another token is a mistake,
    /// and so is a name that is not UTF-8 or has an invalid escape.
    pub fn symbol(&mut self) -> Parsed<Arc<str>> {
        let text = self.tok_text();
        if !self.is_kind(TokenKind::At) {
            return Err(self.unexpected("a name after `@`"));
        }
        let name = match text.strip_prefix("@\"") {
            Some(_) => lexer::unescape(&text[1..]),
            None => Some(text[1..].to_string()),
        };
        let at = self.at();
        self.bump();
        let name = name.ok_or_else(|| {
            self.fail(at, "text-string", "the name is not UTF-8, or has an invalid escape".to_string())
        })?;
        Ok(name.into())
    }

    fn symbol_attr(&mut self) -> Parsed<Attr> {
        let start = self.at();
        let name = self.symbol()?;
        if self.is("::") {
            return self.opaque_from(start);
        }
        Ok(Attr::Symbol(name))
    }

    fn opaque_from(&mut self, start: At) -> Parsed<Attr> {
        self.jump(start.0);
        self.opaque()
    }

    /// Reads an integer without a type, decimal or hexadecimal, which may be negative. One that does not fit `i64` is a
    /// mistake.
    pub fn int(&mut self) -> Parsed<i64> {
        let at = self.at();
        let is_negative = self.eat("-");
        if !self.is_kind(TokenKind::Int) {
            return Err(self.unexpected("an integer"));
        }
        let value = number::integer(is_negative, self.tok_text()).and_then(|v| i64::try_from(v).ok());
        self.bump();
        value.ok_or_else(|| self.fail(at, "text-size", "the number does not fit i64".to_string()))
    }

    /// Reads `[1, 2]`.
    pub fn int_list(&mut self) -> Parsed<Vec<i64>> {
        self.list("[", "]", Self::int)
    }

    fn has_type(&self) -> bool {
        let next = lexer::token(self.text, self.tok.end);
        &self.text[next.start..next.end] == ":"
    }

    /// Reads `1`, `1 : i32`, `1.5 : f32`, or `0x7F800000 : f32`. Without a type, the number is an `i64`, or an `f64` if
    /// it has a point. A number of type `i1` is a boolean. A number of a builtin type that no tensor here has
    /// ([`types::is_other_builtin`]) is kept as text, and one of type `index` is an integer without a type.
    fn number_attr(&mut self) -> Parsed<Attr> {
        let at = self.at();
        let scalar = self.scalar()?;
        let given = if self.eat(":") {
            if self.eat("index") {
                return self.int_attr(at, scalar, None);
            }
            if types::is_other_builtin(self.tok_text()) {
                return self.opaque_from(at);
            }
            Some(self.dtype()?)
        } else {
            None
        };
        let default = if matches!(scalar, Scalar::Float { .. }) { DType::F64 } else { DType::I64 };
        let dtype = given.unwrap_or(default);
        if !dtype.is_float() {
            return self.int_attr(at, scalar, Some(dtype));
        }
        let value = number::float_attr(scalar, dtype).map_err(|m| self.fail(at, "text-literal", m))?;
        Ok(Attr::Float { value, dtype })
    }

    /// Reads `1.5`, or the bits `0x3FC00000`, as a float of this type.
    pub(super) fn bare_float(&mut self, dtype: DType) -> Parsed<Attr> {
        let at = self.at();
        let scalar = self.scalar()?;
        let value = number::float_attr(scalar, dtype).map_err(|m| self.fail(at, "text-literal", m))?;
        Ok(Attr::Float { value, dtype })
    }

    fn int_attr(&mut self, at: At, scalar: Scalar<'_>, dtype: Option<DType>) -> Parsed<Attr> {
        // A number of a quantized type is the integer that is stored.
        let stored = dtype.map_or(DType::I64, |d| d.quantized().map_or(d, |q| q.storage));
        if stored.is_complex() {
            let message = "a number of complex type must be written as `dense<(1.0, 2.0)> : tensor<complex<f32>>`";
            return Err(self.fail(at, "text-literal", message.to_string()));
        }
        let bytes = number::encode(scalar, stored).map_err(|message| self.fail(at, "text-literal", message))?;
        if dtype == Some(DType::I1) {
            return Ok(Attr::Bool(bytes[0] != 0));
        }
        let fill = if stored.is_signed() && bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..bytes.len()].copy_from_slice(&bytes);
        Ok(Attr::Int { value: i64::from_le_bytes(wide), dtype })
    }

    fn dense_attr(&mut self) -> Parsed<Attr> {
        let start = self.at();
        // `dense<..> : vector<..>`, and tensors of `index` and of other types that no tensor here has, are kept as
        // text.
        let kept = self.elsewhere(start, |p| {
            p.expect_all("dense<")?;
            p.skip_elements()?;
            p.expect(":")?;
            Ok(!p.is("tensor") && !p.is_kind(TokenKind::Bang) || p.is_tensor_of_other_builtin())
        })?;
        if kept { self.opaque() } else { self.dense().map(Attr::Dense) }
    }

    fn is_tensor_of_other_builtin(&self) -> bool {
        let rest = &self.text[self.tok.start..];
        let dims = rest.strip_prefix("tensor<").map(|r| r.trim_start_matches(|c: char| c.is_ascii_digit() || c == 'x'));
        let element = dims.and_then(|d| d.split_once('>')).map(|(element, _)| element);
        element.is_some_and(|name| name == "index" || types::is_other_builtin(name))
    }

    /// Reads `array<i64: 1, 2>`. The elements of `array<i1: ..>` are booleans. An array of floats or complex numbers is
    /// kept as opaque text.
    fn array_attr(&mut self) -> Parsed<Attr> {
        let start = self.at();
        self.bump();
        self.expect("<")?;
        let dtype = self.dtype()?;
        if dtype.is_float() || dtype.is_complex() {
            return self.opaque_from(start);
        }
        let items = if self.eat(":") {
            self.list_until(">", |p| p.int_of(dtype))?
        } else {
            self.expect(">")?;
            vec![]
        };
        if dtype.is_bool() {
            return Ok(Attr::Bools(items.into_iter().map(|v| v != 0).collect()));
        }
        Ok(Attr::Ints { values: items, dtype })
    }

    /// Reads an integer of type `dtype`, where the type is not written. `true` and `false` are 1 and 0 of type `i1`. A
    /// `ui64` that does not fit `i64` wraps, and so does a number that fits only the unsigned type of the same size as
    /// a signed `dtype`: 255 of type `i8` is -1.
    pub(super) fn int_of(&mut self, dtype: DType) -> Parsed<i64> {
        let at = self.at();
        let scalar = self.scalar()?;
        match self.int_attr(at, scalar, Some(dtype))? {
            Attr::Int { value, .. } => Ok(value),
            Attr::Bool(b) => Ok(i64::from(b)),
            _ => Err(Failed),
        }
    }

    /// Reads a location inside an attribute, and returns it as opaque text. Its aliases are expanded, because they are
    /// not kept.
    fn loc_attr(&mut self) -> Parsed<Attr> {
        let at = self.at();
        let info = self.loc_info()?;
        self.expand(at, info.size)?;
        let mut text = "loc(".to_string();
        super::locs::write_loc(&mut text, &info.loc);
        text.push(')');
        Ok(Attr::Opaque(text.into()))
    }

    fn hash_attr(&mut self, name: &'t str, at: At) -> Parsed<Attr> {
        if self.aliases.is_defined(name) {
            self.bump();
            return self.attr_alias(name, at);
        }
        match name {
            "#sdy.sharding" => self.sharding().map(Attr::Sharding),
            "#sdy.sharding_per_value" => {
                self.bump();
                self.expect("<")?;
                let list = self.list("[", "]", Self::sharding)?;
                self.expect(">")?;
                Ok(Attr::Shardings(list))
            }
            "#stablehlo.replica_group_mesh_axes" => {
                self.bump();
                self.mesh_axes()
            }
            "#stablehlo.conv" => {
                self.bump();
                self.conv_record()
            }
            _ => self.other_hash_attr(name),
        }
    }

    fn other_hash_attr(&mut self, name: &'t str) -> Parsed<Attr> {
        if let Some(fields) = records::fields(&name[1..]) {
            self.bump();
            return self.record(&name[1..], fields);
        }
        if let Some(dialect) = name[1..].strip_suffix(DOTTED_ENUM) {
            self.bump();
            self.expect("<")?;
            let value = self.word("a word in capitals")?.into();
            self.expect(">")?;
            return Ok(Attr::Enum { dialect: dialect.into(), kind: DOTTED_ENUM[1..].into(), value });
        }
        // `#stablehlo<precision DEFAULT>`
        let mut ahead = [self.tok; 4];
        for i in 0..4 {
            ahead[i] = lexer::token(self.text, if i == 0 { self.tok.end } else { ahead[i - 1].end });
        }
        let [open, kind, value, close] = ahead.map(|t| &self.text[t.start..t.end]);
        let is_enum = !name.contains('.')
            && (open, close) == ("<", ">")
            && ahead[1].kind == TokenKind::Word
            && ahead[2].kind == TokenKind::Word;
        if is_enum {
            self.jump(ahead[3].start);
            self.bump();
            return Ok(Attr::Enum { dialect: name[1..].into(), kind: kind.into(), value: value.into() });
        }
        if open != "<" && !name.contains('.') {
            return Err(self.undefined_alias());
        }
        self.opaque()
    }

    /// Returns true if the current token, which starts with `!`, names an alias and no type of a dialect.
    fn names_type_alias(&self) -> bool {
        !self.tok_text().contains('.') && !self.text[self.tok.end..].starts_with('<')
    }

    /// Reports that the current token is an alias that is not defined.
    fn undefined_alias(&mut self) -> Failed {
        let (name, at) = (self.tok_text(), self.at());
        self.fail(at, "text-alias", format!("the alias `{name}` is not defined"))
    }

    /// Reads one value of any kind and returns it as text on one line without comments: `#foo.bar<..>`,
    /// `affine_map<..>`, `1 : i128`, `(i32) -> i32`, `@a::@b`. A defined alias, or any alias of a type, inside is a
    /// mistake.
    fn opaque(&mut self) -> Parsed<Attr> {
        let start = self.tok.start;
        self.skip_part_of_value()?;
        loop {
            match self.tok_text() {
                "<" | "[" | "(" | "{" => self.skip_brackets()?,
                ":" | "::" | "->" => {
                    self.bump();
                    self.skip_part_of_value()?;
                }
                _ => return Ok(Attr::Opaque(on_one_line(&self.text[start..self.last_end]).into())),
            }
        }
    }

    /// Skips a word, a name, a number, a string, or brackets with their contents, and an optional `-` before it.
    fn skip_part_of_value(&mut self) -> Parsed<()> {
        self.eat("-");
        match self.tok.kind {
            TokenKind::Punct => self.skip_brackets(),
            TokenKind::Word
            | TokenKind::At
            | TokenKind::Hash
            | TokenKind::Bang
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Str => self.skip_token(),
            _ => Err(self.unexpected("an attribute")),
        }
    }

    /// Skips an opening bracket, everything up to its closing one, and that one. The `<` of `<=` is no bracket, nor is
    /// a `>` whose innermost open bracket is not `<`, as in `affine_set<(d0) : (d0 > 0)>`.
    fn skip_brackets(&mut self) -> Parsed<()> {
        let mut closing = vec![];
        loop {
            let text = self.tok_text();
            let compares = || self.text[self.tok.end..].starts_with('=');
            match text {
                "<" if compares() => {}
                "(" => closing.push(")"),
                "[" => closing.push("]"),
                "{" => closing.push("}"),
                "<" => closing.push(">"),
                _ if closing.is_empty() => return Err(self.unexpected("an attribute")),
                _ if closing.last() == Some(&text) => _ = closing.pop(),
                ")" | "]" | "}" => return Err(self.unexpected("an attribute")),
                _ => {}
            }
            self.skip_token()?;
            if closing.is_empty() {
                return Ok(());
            }
        }
    }

    /// Skips a token of a value that is kept as text. A defined alias, any alias of a type, an invalid token, or the
    /// end of the text, is a mistake.
    fn skip_token(&mut self) -> Parsed<()> {
        match self.tok.kind {
            TokenKind::End | TokenKind::Error => Err(self.unexpected("an attribute")),
            TokenKind::Hash | TokenKind::Bang if self.aliases.is_defined(self.tok_text()) => {
                let at = self.at();
                let way_out = "replace the alias by its definition";
                self.report(at, |loc| mistakes::unsupported(loc, "aliases inside unknown attributes", way_out));
                Err(Failed)
            }
            TokenKind::Bang if self.names_type_alias() => Err(self.undefined_alias()),
            _ => {
                self.bump();
                Ok(())
            }
        }
    }

    /// Reads an attribute with `f`. If that fails, drops the mistakes that `f` has reported, and reads the attribute as
    /// text.
    fn known_or_opaque(&mut self, f: impl FnOnce(&mut Self) -> Parsed<Attr>) -> Parsed<Attr> {
        let (start, found) = (self.at(), self.found.clone());
        f(self).or_else(|Failed| {
            self.found = found;
            self.jump(start.0);
            self.opaque()
        })
    }

    /// Reads a type. Types of elements and of functions are kept as text, and so is a type that cannot be understood.
    /// It is a mistake if a quantized type cannot be read, if an alias is not defined, or if a type that cannot be
    /// understood contains a defined alias, an invalid token, or brackets without a partner.
    fn type_attr(&mut self) -> Parsed<Attr> {
        let (name, at) = (self.tok_text(), self.at());
        match self.tok.kind {
            TokenKind::Bang if self.aliases.is_defined(name) => {
                self.bump();
                self.attr_alias(name, at)
            }
            TokenKind::Bang if name == "!quant.uniform" => {
                self.dtype().map(|dtype| Attr::Opaque(dtype.to_string().into()))
            }
            TokenKind::Bang if self.names_type_alias() => Err(self.undefined_alias()),
            TokenKind::Punct => self.known_or_opaque(|p| {
                let ty = p.function_type()?;
                let mut text = String::new();
                types::write_function_type(&mut text, &ty.operands, &ty.results);
                Ok(Attr::Opaque(text.into()))
            }),
            _ => self.known_or_opaque(|p| p.ty().map(Attr::Type)),
        }
    }

    /// Reads `{name = value, flag}`. A name that occurs twice is a mistake.
    pub fn dict(&mut self) -> Parsed<Attrs> {
        self.dict_with(|_, _| Ok(None))
    }

    /// Reads a dictionary. `special` may read a value by the name of its attribute. If it returns `None`, having read
    /// nothing, the value is read as for any other attribute. A name that occurs twice is a mistake.
    pub(super) fn dict_with(
        &mut self,
        mut special: impl FnMut(&mut Self, &str) -> Parsed<Option<Attr>>,
    ) -> Parsed<Attrs> {
        let mut places = vec![];
        self.expect("{")?;
        let entries = self.list_until("}", |p| {
            places.push(p.at());
            let name: Arc<str> =
                if p.is_kind(TokenKind::Str) { p.string("a name")? } else { p.word("an attribute's name")?.into() };
            let value = if p.eat("=") {
                match special(p, &name)? {
                    Some(value) => value,
                    None => p.attr_of(&name)?,
                }
            } else {
                Attr::Unit
            };
            Ok((name, value))
        })?;
        Attrs::from_entries(entries).map_err(|(i, name)| {
            let message = format!("attribute `{}` occurs twice", shorten(&name));
            self.fail(places[i], "text-attribute", message)
        })
    }

    /// Reads a dictionary that is the value of an attribute. Axes without a mesh stay opaque text in it.
    fn inner_dict(&mut self) -> Parsed<Attrs> {
        let outer = self.deferred.len();
        let attrs = self.dict()?;
        self.deferred.truncate(outer);
        Ok(attrs)
    }

    /// Reads the value of the attribute `name`. Axes without a mesh are opaque text at first, and are read later, when
    /// the op's mesh is known.
    fn attr_of(&mut self, name: &Arc<str>) -> Parsed<Attr> {
        let at = self.at();
        if self.is_axes_without_mesh() {
            self.deferred.push((name.clone(), at));
            return self.opaque();
        }
        self.attr()
    }

    /// Reads `{..}` if there is one, and otherwise returns an empty dictionary.
    pub fn optional_dict(&mut self) -> Parsed<Attrs> {
        if self.is("{") { self.dict() } else { Ok(Attrs::new()) }
    }
}

/// Returns the text without comments, and with line ends and blanks between tokens replaced by one space. A text that
/// contains neither a line end nor `//` is returned unchanged.
fn on_one_line(text: &str) -> String {
    if !text.contains('\n') && !text.contains("//") {
        return text.to_string();
    }
    let mut out = String::new();
    let mut at = 0;
    loop {
        let token = lexer::token(text, at);
        if token.kind == TokenKind::End {
            return out;
        }
        if token.start > at && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&text[token.start..token.end]);
        at = token.end;
    }
}

pub(super) fn write_dense_attr(out: &mut String, literal: &shardwise_base::Literal) {
    dense::write_dense(out, literal);
    let ty = crate::TensorType::new(literal.dtype(), literal.shape());
    out.push_str(" : ");
    out.push_str(&ty.to_string());
}
