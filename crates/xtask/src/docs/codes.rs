//! `diagnostics.md`: the codes of all diagnostics, found in the sources that make them.

use super::made::{self, Made};
use super::{Markdown, Page};
use crate::{ratchet, repo};
use anyhow::Result;
use shardwise_ops::Opcode;
use std::collections::BTreeSet;

pub fn page() -> Result<Page> {
    let sources = sources()?;
    let literals = sources.iter().flat_map(|(_, source)| literals(without_tests(source)));
    let of_ops = Opcode::ALL.iter().flat_map(|op| op.schema().labels()).map(str::to_string);
    let labels: BTreeSet<String> = literals.chain(of_ops).filter(|text| is_label(text)).collect();
    let mut table = Markdown::new(["code", "", "message", "made in"]);
    for m in codes(&sources)? {
        table.row([format!("`{}`", m.code), m.severity.into(), m.message.replace('<', "\\<"), format!("`{}`", m.file)]);
    }
    let about = "The codes are stable. A check of an op that the StableHLO specification numbers has the label of the \
                 specification as its code.";
    let mut page = Page::of_table("diagnostics.md", "Diagnostics", about, &table);
    let labels: Vec<String> = labels.into_iter().map(|label| format!("`{label}`")).collect();
    page.text += &format!("\nThe specification's labels: {}.\n", labels.join(", "));
    Ok(page)
}

fn sources() -> Result<Vec<(String, String)>> {
    Ok(repo::rust_sources()?.into_iter().filter(|(file, _)| is_shipped(file)).collect())
}

/// Returns the diagnostics that sources make for which [`is_shipped`] is true. Fails if a source cannot be read or
/// parsed.
pub fn diagnostics() -> Result<BTreeSet<Made>> {
    made::diagnostics(&sources()?)
}

fn codes(sources: &[(String, String)]) -> Result<Vec<Made>> {
    Ok(made::diagnostics(sources)?.into_iter().filter(|m| !is_label(&m.code)).collect())
}

/// Returns true for all sources but those in folders of tests and those of the crates `xtask` and `testing`, which
/// users do not run.
fn is_shipped(file: &str) -> bool {
    !file.starts_with("crates/xtask/") && !file.starts_with("crates/testing/") && !file.contains("/tests/")
}

fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

fn literals(source: &str) -> Vec<String> {
    ratchet::strings(source).map(|literal| literal.trim_matches('"').to_string()).collect()
}

/// Returns true for texts in the form of the specification's labels of constraints, inputs and outputs:
/// `dot_general_c12`, `transpose_i2`, `uniform_quantize_o1`.
fn is_label(text: &str) -> bool {
    let Some((op, label)) = text.rsplit_once('_') else { return false };
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '2';
    let number = label.strip_prefix(['c', 'i', 'o']).unwrap_or_default();
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    is_number && !op.is_empty() && op.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_words() {
        let has_words = |m: &Made| {
            let said = m.message.split('{').map(|part| part.rsplit('}').next().unwrap_or_default());
            said.flat_map(str::chars).any(char::is_alphabetic)
                && !m.message.ends_with('\\')
                && m.message != made::UNTRACED
        };
        let wrong: Vec<Made> = codes(&sources().unwrap()).unwrap().into_iter().filter(|m| !has_words(m)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn tests_are_no_part_of_a_source() {
        assert_eq!(without_tests("fn f() {}\n#[cfg(test)]\nmod tests {\n}\n"), "fn f() {}");
        assert_eq!(without_tests("fn f() {}\n"), "fn f() {}\n");
    }

    #[test]
    fn literals_after_comments_and_literals() {
        let source = "f(\"a_c1\" \"b_c2\", // \"no\"\n\"c_c3\", /* \"no\" */ \"d_c4\", 'x', \"e\\\"f\", r\"no\")";
        assert_eq!(literals(source), ["a_c1", "b_c2", "c_c3", "d_c4", "e\\\"f"]);
    }

    #[test]
    fn labels() {
        assert!(is_label("dot_general_c12") && is_label("atan2_c1") && is_label("transpose_i2"));
        assert!(is_label("custom_call_i2") && is_label("rng_bit_generator_o2"));
        assert!(!is_label("add_c") && !is_label("call-types") && !is_label("x_c1a"));
    }
}
