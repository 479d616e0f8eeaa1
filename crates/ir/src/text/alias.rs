//! Names for attributes, types and locations: `#loc3 = loc(..)`, `!t = tensor<2xf32>`.
//!
//! Definitions may follow their uses (MLIR puts locations last), so a first pass records the position of each
//! definition on a line that starts with one. The first use reads the definition at that position. Aliases of aliases
//! could expand to more than fits in memory, so the size of the expansion is limited.

use super::lexer::{self, TokenKind};
use super::parser::{At, Parsed, Parser};
use super::types::FunctionType;
use crate::{Attr, Type};
use shardwise_base::{DType, Loc, Sharding};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The size to which all uses of aliases of attributes, tuples, futures and function types together may expand: the
/// number of attributes, types and elements of lists, plus one for every 64 bytes of text and every 8 bytes of a dense
/// constant. Locations count inside of attributes only.
const MAX_EXPANDED: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Aliases<'t> {
    /// The position of each alias' value, by the alias' name with its sigil.
    places: HashMap<&'t str, At>,
    /// The position after each alias' value, if the value has been read.
    ends: HashMap<&'t str, usize>,
    attrs: HashMap<&'t str, (Attr, usize)>,
    types: HashMap<&'t str, (Type, usize)>,
    function_types: HashMap<&'t str, (FunctionType, usize)>,
    locs: HashMap<&'t str, LocInfo>,
    /// The aliases of locations in the order of the text, until the first one is needed. Then all are read in this
    /// order, which does not recurse if parts are defined before the locations that contain them.
    unread_locs: Vec<&'t str>,
    /// Aliases that are being read. A use of one of them is a mistake, because it would be defined by itself.
    open: Vec<&'t str>,
    expanded: usize,
}

/// A location with its depth and size, which are limited because locations are trees that are walked recursively. The
/// size is the number of locations in the tree, this one included, plus one for every 64 bytes of the text of each.
#[derive(Clone)]
pub(super) struct LocInfo {
    pub loc: Loc,
    pub depth: usize,
    pub size: usize,
}

impl<'t> Aliases<'t> {
    pub fn is_defined(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }
}

/// The positions of definitions that can be used before they are read.
pub(super) struct Outline {
    pub meshes: Vec<At>,
}

impl<'t> Parser<'t> {
    /// Records where aliases are defined: at the starts of lines, and after other aliases. Returns the positions of the
    /// meshes that are defined at the starts of lines. Definitions elsewhere are recorded when the text reaches them.
    pub(super) fn outline(&mut self) -> Outline {
        let mut meshes = vec![];
        let text = self.text;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_start();
            let at = start + (line.len() - trimmed.len());
            start += line.len();
            match trimmed.as_bytes() {
                [b'#' | b'!', ..] => self.outline_aliases(at, start),
                _ if trimmed.starts_with("sdy.mesh ") || trimmed.starts_with("\"sdy.mesh\"") => meshes.push(At(at)),
                _ => {}
            }
        }
        Outline { meshes }
    }

    /// Records the aliases that are defined from `at` on, outside of brackets, before the end of the line at `end`.
    fn outline_aliases(&mut self, at: usize, end: usize) {
        let text = self.text;
        let of = |token: lexer::Token| &text[token.start..token.end];
        let mut depth = 0usize;
        let mut token = lexer::token(text, at);
        while token.start < end && !matches!(token.kind, TokenKind::End | TokenKind::Error) {
            let next = lexer::token(text, token.end);
            match token.kind {
                TokenKind::Hash | TokenKind::Bang if depth == 0 && of(next) == "=" => {
                    let value = lexer::token(text, next.end);
                    if let Entry::Vacant(place) = self.aliases.places.entry(of(token)) {
                        place.insert(At(value.start));
                        if of(value) == "loc" {
                            self.aliases.unread_locs.push(of(token));
                        }
                    }
                }
                TokenKind::Punct if "([{<".contains(of(token)) => depth += 1,
                TokenKind::Punct if ")]}>".contains(of(token)) => depth = depth.saturating_sub(1),
                _ => {}
            }
            token = next;
        }
    }

    /// Reads the definition of an alias, whose name is the current token, and its value. It is a mistake if another
    /// definition of the alias has been recorded.
    pub(super) fn alias_definition(&mut self) -> Parsed<()> {
        let (name, at) = (self.tok_text(), self.at());
        self.bump();
        self.expect("=")?;
        let value = self.at();
        if *self.aliases.places.entry(name).or_insert(value) != value {
            return Err(self.fail(at, "text-alias", format!("the alias `{name}` is defined twice")));
        }
        if self.is("loc") {
            self.loc_alias(name, at).map(drop)?;
        } else {
            self.attr_alias(name, at).map(drop)?;
        }
        let end = self.aliases.ends[name];
        self.jump(end);
        Ok(())
    }

    /// Runs `f` at the value of the alias `name`, and returns to the current position. Fails if `f` does. It is a
    /// mistake if the alias is not defined, is defined by itself, or nests too deep.
    fn at_alias<T>(&mut self, name: &'t str, at: At, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let Some(&place) = self.aliases.places.get(name) else {
            return Err(self.fail(at, "text-alias", format!("the alias `{name}` is not defined")));
        };
        if self.aliases.open.contains(&name) {
            return Err(self.fail(at, "text-alias", format!("the alias `{name}` is defined by itself")));
        }
        self.aliases.open.push(name);
        let result = self.nested_to(super::locs::MAX_TEXT_NESTING, |p| {
            p.elsewhere(place, |p| f(p).map(|value| (value, p.last_end)))
        });
        self.aliases.open.pop();
        let (value, end) = result?;
        self.aliases.ends.insert(name, end);
        Ok(value)
    }

    /// Reads an alias of an element type: `!q = !quant.uniform<i8:f32, 2.0>`, `!e = f32`.
    pub(super) fn element_alias(&mut self, name: &'t str, at: At) -> Parsed<DType> {
        self.at_alias(name, at, Self::dtype)
    }

    /// Counts a use of an alias of this size. It is a mistake if all uses together are larger than [`MAX_EXPANDED`].
    pub(super) fn expand(&mut self, at: At, size: usize) -> Parsed<()> {
        self.aliases.expanded = self.aliases.expanded.saturating_add(size);
        if self.aliases.expanded > MAX_EXPANDED {
            let message = format!(
                "the aliases expand to more than {MAX_EXPANDED} attributes, types, elements and pieces of text"
            );
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

    pub(super) fn function_type_alias(&mut self, name: &'t str, at: At) -> Parsed<FunctionType> {
        if !self.aliases.function_types.contains_key(name) {
            let ty = self.at_alias(name, at, Self::function_type)?;
            let size = 1 + ty.operands.iter().chain(&ty.results).map(type_size).sum::<usize>();
            self.aliases.function_types.insert(name, (ty, size));
        }
        let (ty, size) = self.aliases.function_types[name].clone();
        self.expand(at, size)?;
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
}

fn attr_size(attr: &Attr) -> usize {
    match attr {
        Attr::Array(items) => 1 + items.iter().map(attr_size).sum::<usize>(),
        Attr::Dict(fields) | Attr::Record { fields, .. } => 1 + fields.iter().map(|(_, a)| attr_size(a)).sum::<usize>(),
        Attr::Str(s) | Attr::Opaque(s) => 1 + s.len() / 64,
        Attr::Type(ty) => type_size(ty),
        Attr::Dense(literal) => 1 + literal.raw_bytes().len() / 8,
        Attr::Ints { values, .. } => 1 + values.len(),
        Attr::Bools(values) => 1 + values.len(),
        Attr::Sharding(sharding) => sharding_size(sharding),
        Attr::Shardings(list) => 1 + list.iter().map(sharding_size).sum::<usize>(),
        Attr::Axes { axes, .. } => 1 + axes.len(),
        Attr::AxesPerDim { dims, .. } => 1 + dims.iter().map(|axes| 1 + axes.len()).sum::<usize>(),
        _ => 1,
    }
}

fn sharding_size(sharding: &Sharding) -> usize {
    1 + sharding.dims.iter().map(|dim| 1 + dim.axes.len()).sum::<usize>()
}

fn type_size(ty: &Type) -> usize {
    match ty {
        Type::Tuple(types) | Type::Future(types) => 1 + types.iter().map(type_size).sum::<usize>(),
        _ => 1,
    }
}
