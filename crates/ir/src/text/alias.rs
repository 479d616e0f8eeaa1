//! Names for attributes, types and locations: `#loc3 = loc(..)`, `!t = tensor<2xf32>`.
//!
//! Definitions may follow their uses (MLIR puts locations last), so a first pass records the position of each
//! definition. The first use reads the definition at that position. Aliases of aliases could expand to more than fits
//! in memory, so the size of the expansion is limited.

use super::lexer::{self, Kind};
use super::parser::{At, Parsed, Parser};
use crate::{Attr, Type};
use shardwise_base::{DType, Loc};
use std::collections::HashMap;

/// The number of attributes to which all uses of aliases together may expand.
const MAX_EXPANDED: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Aliases<'t> {
    /// The position of each alias' value, by the alias' name with its sigil.
    places: HashMap<&'t str, At>,
    attrs: HashMap<&'t str, (Attr, usize)>,
    types: HashMap<&'t str, (Type, usize)>,
    locs: HashMap<&'t str, LocInfo>,
    /// Locations in the order of the text, until the first one is needed. Then all are read, parts before the locations
    /// that contain them.
    unread_locs: Vec<&'t str>,
    /// Aliases that are being read. A use of one of them is a mistake, because it would be defined by itself.
    open: Vec<&'t str>,
    expanded: usize,
}

/// A location with its depth and size, which are limited because locations are trees that are walked recursively.
#[derive(Clone)]
pub(super) struct LocInfo {
    pub loc: Loc,
    pub depth: usize,
    pub size: usize,
}

impl<'t> Aliases<'t> {
    /// Returns true if the definition of an alias is being read.
    pub fn is_reading(&self) -> bool {
        !self.open.is_empty()
    }

    pub fn is_defined(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }
}

/// The positions of definitions that can be used before they are read.
pub(super) struct Outline {
    pub meshes: Vec<At>,
}

impl<'t> Parser<'t> {
    /// Records where aliases and meshes are defined: each is on a line of its own.
    pub(super) fn outline(&mut self) -> Outline {
        let mut meshes = vec![];
        let text = self.text;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_start();
            let at = start + (line.len() - trimmed.len());
            start += line.len();
            match trimmed.as_bytes() {
                [b'#' | b'!', ..] => self.outline_alias(at),
                _ if trimmed.starts_with("sdy.mesh ") || trimmed.starts_with("\"sdy.mesh\"") => meshes.push(At(at)),
                _ => {}
            }
        }
        Outline { meshes }
    }

    fn outline_alias(&mut self, at: usize) {
        let name = lexer::token(self.text, at);
        let equals = lexer::token(self.text, name.end);
        if matches!(name.kind, Kind::Hash | Kind::Bang) && &self.text[equals.start..equals.end] == "=" {
            let text = &self.text[name.start..name.end];
            let value = lexer::token(self.text, equals.end);
            self.aliases.places.entry(text).or_insert(At(value.start));
            if &self.text[value.start..value.end] == "loc" {
                self.aliases.unread_locs.push(text);
            }
        }
    }

    /// Skips the definition of an alias, whose name is the current token. Reads the value, so that mistakes in it are
    /// reported.
    pub(super) fn skip_alias_definition(&mut self) -> Parsed<()> {
        let is_type = self.is_kind(Kind::Bang);
        let name = self.tok_text();
        self.bump();
        self.expect("=")?;
        match (is_type, self.is("loc")) {
            (true, _) if self.is_kind(Kind::Bang) && self.tok_text() == "!quant.uniform" => {
                self.element_alias(name, At(0)).map(drop)
            }
            (true, _) => self.type_alias(name, At(0)).map(drop),
            (_, true) => self.loc_alias(name, At(0)).map(drop),
            _ => self.attr_alias(name, At(0)).map(drop),
        }?;
        self.skip_value()
    }

    /// Runs `f` at the value of the alias `name`, and returns to the current position. It is a mistake if the alias is
    /// not defined, is defined by itself, or nests too deep.
    fn at_alias<T>(&mut self, name: &'t str, at: At, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let Some(&place) = self.aliases.places.get(name) else {
            return Err(self.fail(at, "text-alias", format!("`{name}` is not defined")));
        };
        if self.aliases.open.contains(&name) {
            return Err(self.fail(at, "text-alias", format!("`{name}` is defined by itself")));
        }
        self.aliases.open.push(name);
        let result = self.nested_to(super::locs::MAX_TEXT_NESTING, |p| p.elsewhere(place, f));
        self.aliases.open.pop();
        result
    }

    /// Reads an alias of an element type: `!q = !quant.uniform<i8:f32, 2.0>`.
    pub(super) fn element_alias(&mut self, name: &'t str, at: At) -> Parsed<DType> {
        self.at_alias(name, at, Self::dtype)
    }

    fn expand(&mut self, at: At, size: usize) -> Parsed<()> {
        self.aliases.expanded = self.aliases.expanded.saturating_add(size);
        if self.aliases.expanded > MAX_EXPANDED {
            let message = format!("the aliases expand to more than {MAX_EXPANDED} attributes and types");
            return Err(self.fail(at, "text-alias", message));
        }
        Ok(())
    }

    pub(super) fn attr_alias(&mut self, name: &'t str, at: At) -> Parsed<Attr> {
        if !self.aliases.attrs.contains_key(name) {
            let attr = self.at_alias(name, at, Self::attr)?;
            let size = attr_size(&attr);
            self.aliases.attrs.insert(name, (attr, size));
        }
        let (attr, size) = self.aliases.attrs[name].clone();
        self.expand(at, size)?;
        Ok(attr)
    }

    pub(super) fn type_alias(&mut self, name: &'t str, at: At) -> Parsed<Type> {
        if !self.aliases.types.contains_key(name) {
            let ty = self.at_alias(name, at, Self::ty)?;
            let size = type_size(&ty);
            self.aliases.types.insert(name, (ty, size));
        }
        let (ty, size) = self.aliases.types[name].clone();
        if size > 1 {
            self.expand(at, size)?;
        }
        Ok(ty)
    }

    pub(super) fn loc_alias(&mut self, name: &'t str, at: At) -> Parsed<LocInfo> {
        for name in std::mem::take(&mut self.aliases.unread_locs) {
            self.loc_alias(name, at)?;
        }
        if !self.aliases.locs.contains_key(name) {
            let info = self.at_alias(name, at, Self::loc_info)?;
            self.aliases.locs.insert(name, info);
        }
        Ok(self.aliases.locs[name].clone())
    }

    /// Skips the rest of a definition's value, which is of any kind.
    pub(super) fn skip_value(&mut self) -> Parsed<()> {
        // A definition ends at the end of a line, outside of brackets.
        let mut depth = 0usize;
        loop {
            match self.tok.kind {
                Kind::End => return Ok(()),
                Kind::Error => return Err(self.unexpected("a value")),
                Kind::Punct if "([{<".contains(self.tok_text()) => depth += 1,
                Kind::Punct if ")]}>".contains(self.tok_text()) => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.unexpected("a value"))?;
                }
                _ => {}
            }
            self.bump();
            if depth == 0 && self.is_on_new_line() {
                return Ok(());
            }
        }
    }
}

fn attr_size(attr: &Attr) -> usize {
    match attr {
        Attr::Array(items) => 1 + items.iter().map(attr_size).sum::<usize>(),
        Attr::Dict(fields) | Attr::Record { fields, .. } => 1 + fields.iter().map(|(_, a)| attr_size(a)).sum::<usize>(),
        Attr::Str(s) | Attr::Opaque(s) => 1 + s.len() / 64,
        Attr::Type(ty) => type_size(ty),
        _ => 1,
    }
}

fn type_size(ty: &Type) -> usize {
    match ty {
        Type::Tuple(types) | Type::Future(types) => 1 + types.iter().map(type_size).sum::<usize>(),
        _ => 1,
    }
}
