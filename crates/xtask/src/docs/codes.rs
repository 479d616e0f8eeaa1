//! `diagnostics.md`: the codes of all diagnostics, found in the sources where they are made.

use super::{Markdown, Page};
use crate::{ratchet, repo};
use anyhow::Result;
use std::collections::BTreeSet;

/// A place where a diagnostic is made.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Made {
    code: String,
    severity: &'static str,
    /// As in the source, with `{..}` for what is filled in; empty if it is put together elsewhere.
    message: String,
    file: String,
}

pub fn page() -> Result<Page> {
    let mut made = BTreeSet::new();
    let mut labels = BTreeSet::new();
    for (file, source) in repo::rust_sources()?.into_iter().filter(|(file, _)| is_shipped(file)) {
        let source = without_tests(&source);
        made.extend(diagnostics(&file, source));
        labels.extend(literals(source).into_iter().filter(|text| is_label(text)));
    }
    let mut table = Markdown::new(["code", "", "message", "made in"]);
    for m in made {
        table.row([format!("`{}`", m.code), m.severity.into(), m.message.replace('<', "\\<"), format!("`{}`", m.file)]);
    }
    let about = "The codes are stable. A check of an op that the StableHLO specification numbers has the label of the \
                 specification as its code.";
    let mut page = Page::of_table("diagnostics.md", "Diagnostics", about, &table);
    let labels: Vec<String> = labels.into_iter().map(|label| format!("`{label}`")).collect();
    page.text += &format!("\nThe specification's labels: {}.\n", labels.join(", "));
    Ok(page)
}

/// True for sources that users run.
fn is_shipped(file: &str) -> bool {
    !file.starts_with("crates/xtask/") && !file.starts_with("crates/testing/") && !file.contains("/tests/")
}

/// A source up to its test module, which is its end.
fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The diagnostics that a source makes.
fn diagnostics(file: &str, source: &str) -> Vec<Made> {
    let clean = ratchet::without_literals(source);
    let mut found = vec![];
    for severity in ["error", "warning"] {
        let call = format!("Diagnostic::{severity}(");
        for (at, _) in clean.match_indices(&call) {
            let from = at + call.len();
            let arguments = &source[from..from + arguments_length(&clean[from..])];
            found.extend(made(file, severity, arguments));
        }
    }
    found
}

/// The length of what stands before the closing parenthesis.
fn arguments_length(clean: &str) -> usize {
    let mut depth = 0;
    for (at, c) in clean.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    clean.len()
}

/// A diagnostic from its arguments; none if the code is not a literal.
fn made(file: &str, severity: &'static str, arguments: &str) -> Option<Made> {
    let mut texts = literals(arguments).into_iter();
    let is_literal = arguments.trim_start().starts_with('"');
    let code = texts.next().filter(|_| is_literal)?;
    let message = texts.next().unwrap_or_default();
    Some(Made { code, severity, message, file: file.to_string() })
}

/// The string literals of a source, without escapes resolved.
fn literals(source: &str) -> Vec<String> {
    let clean = ratchet::without_literals(source);
    let mut found = vec![];
    let mut at = 0;
    while let Some(start) = next_blanked(source, &clean, at) {
        let blanked = clean.as_bytes()[start..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let literal = source[start..start + blanked].trim();
        if let Some(text) = literal.strip_prefix('"') {
            found.push(text.split('"').next().unwrap_or("").to_string());
        }
        at = start + blanked;
    }
    found
}

/// The first byte from `at` that was blanked out.
fn next_blanked(source: &str, clean: &str, at: usize) -> Option<usize> {
    let differs = |i: &usize| source.as_bytes()[*i] != clean.as_bytes()[*i];
    (at..source.len()).find(differs)
}

/// True for the labels of the specification's constraints and inputs: `dot_general_c12`, `transpose_i2`.
fn is_label(text: &str) -> bool {
    let Some((op, number)) = text.rsplit_once("_c").or_else(|| text.rsplit_once("_i")) else { return false };
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '2';
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    is_number && !op.is_empty() && op.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_codes_and_messages() {
        let source = "// Diagnostic::error(\"not\")\nfn f() { Diagnostic::error(\"a-b\", loc, format!(\"é `{x}` (so)\"))\
                      .help(\"h\"); Diagnostic::warning(\n  \"w\",\n  l,\n  message) }\nDiagnostic::error(code, l, \"m\")";
        let found = diagnostics("f.rs", source);
        let told: Vec<_> = found.iter().map(|m| (m.code.as_str(), m.severity, m.message.as_str())).collect();
        assert_eq!(told, [("a-b", "error", "é `{x}` (so)"), ("w", "warning", "")]);
    }

    #[test]
    fn tests_are_no_part_of_a_source() {
        assert_eq!(without_tests("fn f() {}\n#[cfg(test)]\nmod tests {\n}\n"), "fn f() {}");
        assert_eq!(without_tests("fn f() {}\n"), "fn f() {}\n");
    }

    #[test]
    fn labels() {
        assert!(is_label("dot_general_c12") && is_label("atan2_c1") && is_label("transpose_i2"));
        assert!(!is_label("add_c") && !is_label("call-types") && !is_label("x_c1a"));
    }
}
