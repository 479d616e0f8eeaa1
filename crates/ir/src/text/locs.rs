//! Reads and prints locations: `loc("f.py":3:5)`, `loc("name"(#loc1))`, `loc(callsite(#a at #b))`,
//! `loc(fused<"pass">[#a, #b])`.
//!
//! Every printed location but the unknown one is an alias, which is defined once at the end of the text. Locations in
//! attributes are written out instead.

use super::alias::LocInfo;
use super::lexer::{self, TokenKind};
use super::parser::{Failed, Parsed, Parser};
use crate::Attr;
use shardwise_base::{FilePos, Loc, LocKind, Metadata};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// The largest depth of a location, which is limited because locations are walked recursively. A deeper location is
/// replaced by its first part.
const MAX_DEPTH: usize = 256;
/// The largest size ([`LocInfo`]) of a location after the expansion of aliases. A larger location is replaced by its
/// first part, if it has parts.
const MAX_SIZE: usize = 1 << 12;

/// The largest nesting depth of locations in text, and of aliases that are defined by other aliases.
pub(super) const MAX_TEXT_NESTING: usize = 200;

impl<'t> Parser<'t> {
    /// Reads `loc(..)` if there is one. Otherwise returns `None`, and reads nothing.
    pub fn optional_loc(&mut self) -> Parsed<Option<Loc>> {
        if !self.is_all("loc(") {
            return Ok(None);
        }
        self.loc_info().map(|info| Some(info.loc))
    }

    pub(super) fn loc_info(&mut self) -> Parsed<LocInfo> {
        self.expect("loc")?;
        self.expect("(")?;
        let info = self.nested_to(MAX_TEXT_NESTING, Self::loc_body)?;
        self.expect(")")?;
        Ok(info)
    }

    fn loc_body(&mut self) -> Parsed<LocInfo> {
        let at = self.at();
        match (self.tok.kind, self.tok_text()) {
            (TokenKind::Hash, name) => {
                self.bump();
                self.loc_alias(name, at)
            }
            (TokenKind::Str, _) => self.named_or_file_loc(),
            (TokenKind::Word, "unknown") => {
                self.bump();
                Ok(LocInfo { loc: Loc::UNKNOWN, depth: 0, size: 1 })
            }
            (TokenKind::Word, "callsite") => self.callsite_loc(),
            (TokenKind::Word, "fused") => self.fused_loc(),
            (TokenKind::Word, "loc") => self.nested_to(MAX_TEXT_NESTING, Self::loc_info),
            _ => Err(self.unexpected("a location")),
        }
    }

    /// Returns the location `kind`, which is made of `parts`, with its depth and size. Returns the first part, if there
    /// is one, in place of a location that would be too deep or too large.
    fn loc_of_parts(kind: LocKind, parts: &[&LocInfo]) -> LocInfo {
        let depth = 1 + parts.iter().map(|p| p.depth).max().unwrap_or(0);
        let size = 1 + text_len(&kind) / 64 + parts.iter().map(|p| p.size).sum::<usize>();
        match parts.first() {
            Some(&first) if depth > MAX_DEPTH || size > MAX_SIZE => first.clone(),
            _ => LocInfo { loc: Loc::new(kind), depth, size },
        }
    }

    /// Reads a string of a location. Bytes that are not UTF-8, as in the name of a file, are replaced by `U+FFFD`. An
    /// invalid escape is a mistake.
    fn loc_string(&mut self) -> Parsed<Arc<str>> {
        let Some(bytes) = lexer::unescape_bytes(self.tok_text()) else {
            let at = self.at();
            return Err(self.fail(at, "text-string", "the string has an invalid escape".to_string()));
        };
        self.bump();
        Ok(String::from_utf8_lossy(&bytes).into())
    }

    fn named_or_file_loc(&mut self) -> Parsed<LocInfo> {
        let name = self.loc_string()?;
        if self.eat("(") {
            let child = self.nested_to(MAX_TEXT_NESTING, Self::loc_body)?;
            self.expect(")")?;
            let kind = LocKind::Name { name, child: child.loc.clone() };
            return Ok(Self::loc_of_parts(kind, &[&child]));
        }
        if self.is(":") {
            let pos = self.file_pos(name)?;
            return Ok(Self::loc_of_parts(LocKind::File(pos), &[]));
        }
        Ok(Self::loc_of_parts(LocKind::Name { name, child: Loc::UNKNOWN }, &[]))
    }

    /// Reads `:3:5`, `:3:5 to :9`, or `:3:5 to 4:9`. Without a column, as in `:3`, it is 0.
    fn file_pos(&mut self, file: Arc<str>) -> Parsed<FilePos> {
        self.expect(":")?;
        let line = self.line_number()?;
        let column = if self.eat(":") { self.line_number()? } else { 0 };
        let mut end = None;
        if self.eat("to") {
            let end_line = if self.is(":") { line } else { self.line_number()? };
            self.expect(":")?;
            end = Some((end_line, self.line_number()?));
        }
        Ok(FilePos { file, line, column, end })
    }

    fn line_number(&mut self) -> Parsed<u32> {
        let number = if self.is_kind(TokenKind::Int) { self.tok_text().parse().ok() } else { None };
        let number = number.ok_or_else(|| self.unexpected("a line or column number"))?;
        self.bump();
        Ok(number)
    }

    fn callsite_loc(&mut self) -> Parsed<LocInfo> {
        self.bump();
        self.expect("(")?;
        let callee = self.nested_to(MAX_TEXT_NESTING, Self::loc_body)?;
        self.expect("at")?;
        let caller = self.nested_to(MAX_TEXT_NESTING, Self::loc_body)?;
        self.expect(")")?;
        let kind = LocKind::CallSite { callee: callee.loc.clone(), caller: caller.loc.clone() };
        Ok(Self::loc_of_parts(kind, &[&callee, &caller]))
    }

    fn fused_loc(&mut self) -> Parsed<LocInfo> {
        self.bump();
        let mut metadata = None;
        if self.eat("<") {
            metadata = Some(self.metadata()?);
            self.expect(">")?;
        }
        let parts = self.list("[", "]", |p| p.nested_to(MAX_TEXT_NESTING, Self::loc_body))?;
        let locs = parts.iter().map(|p| p.loc.clone()).collect();
        let kind = LocKind::Fused { metadata, locs };
        Ok(Self::loc_of_parts(kind, &parts.iter().collect::<Vec<_>>()))
    }

    /// Reads the attribute of a fused location. A string is the name of a pass, and any other attribute is kept as
    /// text.
    fn metadata(&mut self) -> Parsed<Metadata> {
        let attr = self.attr()?;
        if let Attr::Str(name) = attr {
            return Ok(Metadata::Pass(name));
        }
        let mut text = String::new();
        super::attr_print::write_attr(&mut text, &attr);
        Ok(Metadata::Attribute(text.into()))
    }

    /// Reads a location from a separate text: the value of an attribute. If this fails, no mistake is reported.
    pub(super) fn loc_from(&mut self, text: &str) -> Parsed<Loc> {
        let mut inner = Parser::new("", text, self.table);
        match inner.loc_info() {
            Ok(info) if inner.is_kind(TokenKind::End) => Ok(info.loc),
            _ => Err(Failed),
        }
    }
}

fn text_len(kind: &LocKind) -> usize {
    match kind {
        LocKind::File(pos) => pos.file.len(),
        LocKind::Name { name, .. } => name.len(),
        LocKind::Fused { metadata: Some(Metadata::Pass(text) | Metadata::Attribute(text)), .. } => text.len(),
        LocKind::CallSite { .. } | LocKind::Fused { metadata: None, .. } => 0,
    }
}

/// Writes the inside of `loc(..)`, without aliases.
pub(super) fn write_loc(out: &mut String, loc: &Loc) {
    write_kind(out, loc, &mut |out, child| write_loc(out, child));
}

/// Writes the inside of `loc(..)`, with the parts of the location written by `part`.
fn write_kind(out: &mut String, loc: &Loc, part: &mut dyn FnMut(&mut String, &Loc)) {
    match loc.kind() {
        None => out.push_str("unknown"),
        Some(LocKind::File(pos)) => write_file_pos(out, pos),
        Some(LocKind::Name { name, child }) => {
            out.push_str(&lexer::escape(name));
            if !child.is_unknown() {
                out.push('(');
                part(out, child);
                out.push(')');
            }
        }
        Some(LocKind::CallSite { callee, caller }) => {
            out.push_str("callsite(");
            part(out, callee);
            out.push_str(" at ");
            part(out, caller);
            out.push(')');
        }
        Some(LocKind::Fused { metadata, locs }) => {
            out.push_str("fused");
            match metadata {
                Some(Metadata::Pass(name)) => write!(out, "<{}>", lexer::escape(name)).expect("writing to a string"),
                Some(Metadata::Attribute(text)) => write!(out, "<{text}>").expect("writing to a string"),
                None => {}
            }
            out.push('[');
            for (i, loc) in locs.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                part(out, loc);
            }
            out.push(']');
        }
    }
}

fn write_file_pos(out: &mut String, pos: &FilePos) {
    write!(out, "{}:{}:{}", lexer::escape(&pos.file), pos.line, pos.column).expect("writing to a string");
    match pos.end {
        Some((line, column)) if line == pos.line => write!(out, " to :{column}").expect("writing to a string"),
        Some((line, column)) => write!(out, " to {line}:{column}").expect("writing to a string"),
        None => {}
    }
}

/// The aliases of the locations of a text. Equal locations share an alias. Each location is visited once, even if it is
/// shared.
#[derive(Default)]
pub(super) struct LocTable {
    /// Aliases by the address of the location's content, which is a faster lookup than `by_text`.
    by_address: HashMap<usize, usize>,
    /// Aliases by the printed text, in which parts are already aliases.
    by_text: HashMap<String, usize>,
    definitions: Vec<String>,
}

impl LocTable {
    /// Writes `#loc3`, or `unknown` for the unknown location. The alias gets a definition if it has none yet.
    pub fn write_alias(&mut self, out: &mut String, loc: &Loc) {
        match self.alias(loc) {
            Some(n) => write!(out, "#loc{n}").expect("writing to a string"),
            None => out.push_str("unknown"),
        }
    }

    fn alias(&mut self, loc: &Loc) -> Option<usize> {
        let address = std::ptr::from_ref(loc.kind()?).addr();
        if let Some(&n) = self.by_address.get(&address) {
            return Some(n);
        }
        let mut text = String::new();
        write_kind(&mut text, loc, &mut |out, part| self.write_alias(out, part));
        let next = self.definitions.len();
        let n = *self.by_text.entry(text.clone()).or_insert(next);
        if n == next {
            self.definitions.push(text);
        }
        self.by_address.insert(address, n);
        Some(n)
    }

    /// Writes the definitions `#loc0 = loc(..)`, one on each line.
    pub fn write_definitions(&self, out: &mut String) {
        for (n, text) in self.definitions.iter().enumerate() {
            writeln!(out, "#loc{n} = loc({text})").expect("writing to a string");
        }
    }
}
