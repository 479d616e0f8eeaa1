//! Mentions of ordinary ops in generic code, and attributes that are read by their names, counted in the text of the
//! sources.
//!
//! Generic code is code that treats all ops alike by their facts. An op is *ordinary* if generic code has no reason to
//! know it: it is evaluated from its operands, and is no constant, call or terminator and none of Shardy's ops.

use super::functions::{without_comments, without_literals};
use crate::program;
use anyhow::{Context, Result};
use shardwise_ir::OpView;
use shardwise_ops::{Effects, Opcode, Semantics};
use std::collections::BTreeSet;

/// The folders of generic code, which asks for facts and mentions no ordinary op.
pub const GENERIC: [&str; 7] = [
    "crates/explain/src/",
    "crates/interp/src/",
    "crates/propagate/src/",
    "crates/schedule/src/",
    "crates/sharding/src/",
    "crates/spmd/src/",
    "crates/transform/src/",
];

/// The modules of `shardwise-ops` that treat ordinary ops, but for `quantized`. Naming one behind `ops::` or
/// `shardwise_ops::` is a mention; names in braces are not found.
const ORDINARY_MODULES: [&str; 17] = [
    "approximate",
    "batch_norm",
    "dot",
    "dynamic",
    "elementwise",
    "fft",
    "index",
    "lapack",
    "linalg",
    "ragged",
    "random",
    "reduce",
    "scalar_ops",
    "scan",
    "shapes",
    "sort",
    "window",
];

/// The other public modules of `shardwise-ops`: `quantized`, and those that treat all ops alike, make ops, or treat ops
/// that are not ordinary.
const GENERIC_MODULES: [&str; 22] = [
    "batch",
    "calls",
    "collective",
    "control",
    "custom",
    "derivative",
    "expansion",
    "expect",
    "inspect",
    "make",
    "make_collective",
    "make_shardy",
    "print",
    "promote",
    "quantized",
    "reducer",
    "remat",
    "shardy",
    "structure",
    "syntax",
    "token",
    "user",
];

/// Methods of attributes and ops that take the name of an attribute first.
const ACCESSORS: [&str; 11] = ["attr", "flag", "get", "int", "ints", "remove", "set", "size", "sizes", "str", "with"];

/// Returns the ops that generic code must not mention. Fails if the example of an op cannot be read or does not contain
/// the op.
pub fn ordinary_ops() -> Result<BTreeSet<Opcode>> {
    let mut found = BTreeSet::new();
    for &op in Opcode::ALL {
        if is_ordinary(op)? {
            found.insert(op);
        }
    }
    Ok(found)
}

fn is_ordinary(op: Opcode) -> Result<bool> {
    let is_of_dialect = |dialect: &str| op.name().split('.').next() == Some(dialect);
    let is_constant = op.name().ends_with(".constant");
    if is_constant || ["sdy", "func", "check"].iter().any(|d| is_of_dialect(d)) || op == Opcode::CustomCall {
        return Ok(false);
    }
    let module = program::parse(op.name(), op.facts().example(op))?;
    let body = &module.main().context("the example has no function")?.body;
    let mut views = body.walk().into_iter().map(|o| OpView::new(&module, body, o));
    let view = views
        .find(|v| Opcode::of_view(v) == op)
        .with_context(|| format!("the example of {0} does not contain {0}", op.name()))?;
    let (semantics, effects) = (op.facts().semantics(&view), op.facts().effects(&view));
    Ok(semantics == Semantics::Pure && effects == Effects::Pure && !view.results().is_empty())
}

/// Returns the public modules of `shardwise-ops` that are in neither [`ORDINARY_MODULES`] nor [`GENERIC_MODULES`].
/// `lib` is the source of the crate's root.
pub fn unlisted_modules(lib: &str) -> Vec<String> {
    let clean = without_literals(lib);
    let declared = clean.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let is_known = |name: &&str| ORDINARY_MODULES.contains(name) || GENERIC_MODULES.contains(name);
    declared.filter(|name| !is_known(name)).map(str::to_string).collect()
}

/// Returns how often a source mentions an ordinary op outside of its tests: by opcode, by an import of several or all
/// opcodes, by name, by the end of its name, or by its module.
pub fn mentions(source: &str, ordinary: &BTreeSet<Opcode>) -> usize {
    let source = without_tests(source);
    let names: BTreeSet<&str> = ordinary.iter().map(|op| op.name()).collect();
    let variants: BTreeSet<String> = ordinary.iter().map(|op| format!("{op:?}")).collect();
    let code = without_literals(&source);
    let opcodes = paths(&code, "Opcode").filter(|next| variants.contains(*next) || !is_name_start(next));
    let views = ["shardwise_ops", "ops"].into_iter().flat_map(|krate| paths(&code, krate));
    let views = views.filter(|next| ORDINARY_MODULES.contains(next));
    let text = without_comments(&source);
    let named = text.split(|c: char| !is_name(c) && c != '.').filter(|word| names.contains(word));
    let is_short = |word: &&str| names.iter().any(|name| name.split('.').nth(1) == Some(word));
    let short = text.split("ends_with(\"").skip(1).filter_map(|rest| rest.split('"').next()).filter(is_short);
    opcodes.count() + views.count() + named.count() + short.count()
}

/// Returns how often a source reads or writes an attribute by a name that it spells out, outside of its tests.
pub fn string_keys(source: &str) -> usize {
    let text = without_comments(&without_tests(source));
    let is_access = |before: &str| {
        let before = before.strip_suffix('(').unwrap_or("");
        let method = before.rsplit(|c| !is_name(c)).next().unwrap_or("");
        ACCESSORS.contains(&method) && before[..before.len() - method.len()].ends_with('.')
    };
    text.match_indices("(\"").filter(|(at, _)| is_access(&text[..at + 1])).count()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name_start(word: &str) -> bool {
    word.starts_with(is_name)
}

/// Returns the text after every `start::` in the code: a name, or one character such as `*` or `{`.
fn paths<'a>(code: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(start).filter_map(move |(at, _)| {
        let is_whole = !code[..at].ends_with(is_name);
        let rest = code[at + start.len()..].strip_prefix("::").filter(|_| is_whole)?;
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        Some(&rest[..length.max(1)])
    })
}

fn without_tests(source: &str) -> String {
    let clean = without_literals(source);
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in clean.match_indices("#[cfg(test)]") {
        if at >= from {
            out.push_str(&source[from..at]);
            from = at + item_length(&clean[at..]);
        }
    }
    out.push_str(&source[from..]);
    out
}

/// Returns the length of the item at the start of a source without literals: up to the first semicolon outside of
/// braces, or up to the brace that closes the first one. The semicolon of an array type counts, too. Returns the length
/// of the source if it has neither.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(source: &str) -> usize {
        mentions(source, &BTreeSet::from([Opcode::Slice, Opcode::Reduce]))
    }

    #[test]
    fn mentions_are_opcodes_names_and_views() {
        assert_eq!(count("fn f(op: Opcode) -> bool { matches!(op, Opcode::Slice | Opcode::Call) }"), 1);
        assert_eq!(count("use shardwise_ops::Opcode::*;"), 1);
        assert_eq!(count("let is = view.name() == \"stablehlo.reduce\" || name.ends_with(\"slice\");"), 2);
        assert_eq!(count("use shardwise_ops::dot::DotDims; use shardwise_ops::shardy::manual_axes;"), 1);
        assert_eq!(count("ops::reduce::identity(x); crate::reduce::x()"), 1);
    }

    #[test]
    fn comments_tests_and_other_words_do_not_count() {
        assert_eq!(count("// Opcode::Slice\n/// `stablehlo.slice`\nlet x = \"a slice of it\";"), 0);
        assert_eq!(count("#[cfg(test)]\nmod tests { fn f() { let _ = (Opcode::Slice, \"{\"); } }\nfn g() {}"), 0);
        assert_eq!(count("make::slice(b, x); MyOpcode::Slice; Opcode::of_view(v); Opcode::SliceOther"), 0);
    }

    #[test]
    fn keys_are_strings_given_to_accessors_of_attributes() {
        assert_eq!(string_keys("view.attr(\"value\"); attrs.set(\"callee\", x); attrs().int(\"group_id\")"), 3);
        assert_eq!(string_keys("set(\"a\"); view.attr(RULE); text.starts_with(\"a\"); // x.attr(\"a\")"), 0);
    }
}
