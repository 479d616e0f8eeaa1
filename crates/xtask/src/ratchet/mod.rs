//! Rules of the source tree. If the tree does not follow a rule yet, the exceptions are listed in `ratchets.toml`, and
//! the list may only shrink: an entry that is no longer needed, or that could be smaller, is also a mistake.

mod english;
mod functions;
mod imports;
mod mentions;

pub use functions::{Function, functions, strings, without_literals};

use crate::{engines, repo};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The number of lines above which a function needs an entry.
const LONG_FUNCTION: usize = 70;
/// The number of lines above which a file needs an entry.
const LONG_FILE: usize = 1500;

/// The exceptions of all rules, as they are in `ratchets.toml`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    #[serde(default)]
    pub long_functions: BTreeMap<String, usize>,
    /// Long functions, as `file::function`, that are tables with an arm or entry for each item. They may grow.
    #[serde(default)]
    pub tables: BTreeSet<String>,
    #[serde(default)]
    pub long_files: BTreeMap<String, usize>,
    /// The number of times that `unsafe` occurs in each file that needs it. It must not occur in others.
    #[serde(default)]
    pub unsafe_code: BTreeMap<String, usize>,
    /// Element types for which an op that has a kernel on the host engine is evaluated, by op: `f32 i32`.
    #[serde(default)]
    pub evaluated: BTreeMap<String, String>,
    /// The number of comments and messages to reword, by crate.
    #[serde(default)]
    pub english: BTreeMap<String, usize>,
    /// Files of generic code that read or write foreign text, with the reason. They may mention ordinary ops.
    #[serde(default)]
    pub foreign_text: BTreeMap<String, String>,
    /// The number of mentions of ordinary ops in generic code, by file.
    #[serde(default)]
    pub mentions: BTreeMap<String, usize>,
    /// The number of attributes that generic code names by strings, by file.
    #[serde(default)]
    pub string_keys: BTreeMap<String, usize>,
    /// The least numbers of cells in docs/generated/coverage.md that ran in parts, and that ran whole.
    #[serde(default)]
    pub covered: Covered,
}

#[derive(Deserialize, Default, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Covered {
    pub in_parts: usize,
    pub whole: usize,
}

impl Exceptions {
    pub fn read() -> Result<Exceptions> {
        const FILE: &str = "crates/xtask/ratchets.toml";
        toml::from_str(&repo::read(FILE.as_ref())?).with_context(|| format!("cannot read {FILE}"))
    }
}

/// Returns violations of the rule on functions of more than `LONG_FUNCTION` lines: those without an entry or longer
/// than their entry, and entries that could be smaller or are not needed. Functions in `tables` may have any length,
/// and so may tests under `tests/`, which are mostly expected texts. Fails if a source cannot be read.
pub fn long_functions(exceptions: &Exceptions) -> Result<Vec<String>> {
    let mut found = BTreeMap::new();
    for (file, source) in repo::rust_sources()?.into_iter().filter(|(file, _)| !file.contains("/tests/")) {
        for f in functions(&source).into_iter().filter(|f| f.lines > LONG_FUNCTION) {
            let longest: &mut usize = found.entry(format!("{file}::{}", f.name)).or_default();
            *longest = f.lines.max(*longest);
        }
    }
    let missing = exceptions.tables.iter().filter(|name| found.remove(*name).is_none());
    let missing: Vec<String> = missing.map(|name| format!("{name}: no long table; remove its entry")).collect();
    let wrong = compare(&found, &exceptions.long_functions, LONG_FUNCTION, "lines");
    Ok(missing.into_iter().chain(wrong).collect())
}

/// Returns violations of the rule on files of more than `LONG_FILE` lines: those without an entry or longer than
/// their entry, and entries that could be smaller or are not needed. Fails if a source cannot be read.
pub fn long_files(exceptions: &Exceptions) -> Result<Vec<String>> {
    let lines = repo::rust_sources()?.into_iter().map(|(file, source)| (file, source.lines().count()));
    Ok(compare(&lines.filter(|(_, n)| *n > LONG_FILE).collect(), &exceptions.long_files, LONG_FILE, "lines"))
}

/// Returns violations of the rule on unsafe code: files with more or fewer occurrences of `unsafe` than the list says.
/// Comments and strings do not count. Fails if a source cannot be read.
pub fn unsafe_code(exceptions: &Exceptions) -> Result<Vec<String>> {
    let mut found = BTreeMap::new();
    for (file, source) in repo::rust_sources()? {
        let clean = without_literals(&source);
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let count = clean.split(|c| !is_name(c)).filter(|word| *word == "unsafe").count();
        found.extend((count > 0).then_some((file, count)));
    }
    Ok(compare(&found, &exceptions.unsafe_code, 0, "times `unsafe`"))
}

/// Returns violations of the rule on circles of imports: no files of the host crate import each other in a circle.
/// Fails if a source cannot be read. Panics if a source of the host crate cannot be parsed.
pub fn import_circles() -> Result<Vec<String>> {
    let below = |(file, source): (String, String)| Some((file.strip_prefix("crates/host/src/")?.to_string(), source));
    let sources = repo::rust_sources()?.into_iter().filter_map(below).collect();
    let wrong =
        |file| format!("crates/host/src/{file}: imports a file that imports this one, directly or through other files");
    Ok(imports::in_circles(&sources).into_iter().map(wrong).collect())
}

/// Returns violations of the rule that generic code asks for facts instead of mentioning ordinary ops, files that are
/// listed as foreign text and mention none, and modules of ops that the rule does not know. Fails if a source or the
/// example of an op cannot be read.
pub fn mentions(exceptions: &Exceptions) -> Result<Vec<String>> {
    let ordinary = mentions::ordinary_ops()?;
    let mut found = generic_counts(|source| mentions::mentions(source, &ordinary))?;
    let is_stale = |file: &&String| found.remove(*file).is_none();
    let stale: Vec<&String> = exceptions.foreign_text.keys().filter(is_stale).collect();
    let stale = stale.into_iter().map(|file| format!("{file}: mentions no ordinary op; remove its entry"));
    let unlisted = mentions::unlisted_modules(&repo::read("crates/ops/src/lib.rs".as_ref())?).into_iter();
    let unlisted =
        unlisted.map(|name| format!("{name}: list this module of ops in crates/xtask/src/ratchet/mentions.rs"));
    let wrong = compare(&found, &exceptions.mentions, 0, "mentions of ordinary ops");
    Ok(stale.chain(unlisted).chain(wrong).collect())
}

/// Returns violations of the rule that generic code reads and writes attributes through functions beside the ops. Fails
/// if a source cannot be read.
pub fn string_keys(exceptions: &Exceptions) -> Result<Vec<String>> {
    let found = generic_counts(mentions::string_keys)?;
    Ok(compare(&found, &exceptions.string_keys, 0, "attributes named by strings"))
}

/// Returns the result of `count` for each file of generic code, by file. Leaves out files with the result 0, and files
/// with the name `tests.rs`. Fails if a source cannot be read.
fn generic_counts(count: impl Fn(&str) -> usize) -> Result<BTreeMap<String, usize>> {
    let is_generic =
        |file: &str| mentions::GENERIC.iter().any(|root| file.starts_with(root)) && !file.ends_with("/tests.rs");
    let sources = repo::rust_sources()?.into_iter().filter(|(file, _)| is_generic(file));
    Ok(sources.map(|(file, source)| (file, count(&source))).filter(|(_, n)| *n > 0).collect())
}

/// Returns violations of the rule on ops with a kernel: element types for which they are evaluated and that are not
/// listed, and listed ones for which they no longer are. Ops without a kernel are listed in `docs/generated/ops.md`.
/// Always returns `Ok`.
pub fn evaluated(exceptions: &Exceptions) -> Result<Vec<String>> {
    let pairs = |lines: &BTreeMap<String, String>| -> BTreeSet<(String, String)> {
        let of = |(op, dtypes): (&String, &String)| {
            dtypes.split_whitespace().map(|d| (op.clone(), d.to_string())).collect::<Vec<_>>()
        };
        lines.iter().flat_map(of).collect()
    };
    let (found, allowed) = (pairs(&engines::evaluated()), pairs(&exceptions.evaluated));
    let new = found.difference(&allowed).map(|(op, d)| format!("{op}: {d} has no kernel; the list may only shrink"));
    let stale = allowed.difference(&found).map(|(op, d)| format!("{op}: {d} is not evaluated any more; remove it"));
    Ok(new.chain(stale).collect())
}

/// Returns a violation if `docs/generated/coverage.md` counts fewer cells than the list requires. Another test compares
/// the page with the actual runs. Fails if the page cannot be read or has no such counts.
pub fn covered(exceptions: &Exceptions) -> Result<Vec<String>> {
    let page = repo::read("docs/generated/coverage.md".as_ref())?;
    let count = |word: &str| {
        let before = page.split(word).next().and_then(|text| text.split_whitespace().last());
        before.and_then(|n| n.parse().ok()).with_context(|| format!("coverage.md has no number of{word}"))
    };
    let found = Covered { in_parts: count(" cells in parts")?, whole: count(" whole.")? };
    let least = &exceptions.covered;
    Ok(match found.in_parts >= least.in_parts && found.whole >= least.whole {
        true => vec![],
        false => vec![format!("docs/generated/coverage.md has {found:?}, and at least {least:?} is required")],
    })
}

/// Returns violations of the rules on English in `english.rs`: crates with more or fewer places to reword than the list
/// says, and the places in crates that have more. Fails if a source cannot be read or parsed.
pub fn english(exceptions: &Exceptions) -> Result<Vec<String>> {
    let places = english::places(&repo::rust_sources()?)?;
    let allowed = |name: &String| exceptions.english.get(name).copied().unwrap_or(0);
    let counts = places.iter().map(|(name, places)| (name.clone(), places.len())).collect();
    let wrong = compare(&counts, &exceptions.english, 0, "comments or messages to reword");
    let listed = places.iter().filter(|(name, places)| places.len() > allowed(name)).flat_map(|(_, places)| places);
    Ok(wrong.into_iter().chain(listed.cloned()).collect())
}

/// Returns a line for each name whose found number is not the allowed one, also if it is smaller, and for each allowed
/// name that was not found. `found` has only numbers above `limit`, which is allowed for every name without an entry.
/// `what` is the unit of the numbers.
fn compare(
    found: &BTreeMap<String, usize>,
    allowed: &BTreeMap<String, usize>,
    limit: usize,
    what: &str,
) -> Vec<String> {
    let mut wrong = vec![];
    for (name, &lines) in found {
        match allowed.get(name) {
            None => wrong.push(format!("{name}: {lines} {what}, {limit} are allowed")),
            Some(&old) if lines > old => {
                wrong.push(format!("{name}: {lines} {what}, it had {old}; it may only shrink"))
            }
            Some(&old) if lines < old => wrong.push(format!("{name}: {lines} {what} now; lower its entry from {old}")),
            Some(_) => {}
        }
    }
    let stale = allowed.keys().filter(|name| !found.contains_key(*name));
    wrong.extend(stale.map(|name| format!("{name}: not more than {limit} {what}; remove its entry")));
    wrong
}

/// Returns the places where a test is switched off or code is missing. Text in comments and strings does not count.
/// Fails if a source cannot be read.
pub fn unfinished() -> Result<Vec<String>> {
    let words = ["#[ignore", "todo!(", "unimplemented!("];
    let mut wrong = vec![];
    for (file, source) in repo::rust_sources()? {
        for (i, line) in without_literals(&source).lines().enumerate() {
            let word = words.iter().find(|w| line.contains(*w));
            wrong.extend(word.map(|w| format!("{file}:{}: `{w}`", i + 1)));
        }
    }
    Ok(wrong)
}

/// Returns the places of lines with an absolute path below a folder such as `home`, or with a registry other than the
/// public ones, in the text files of the repository. Files that cannot be read as UTF-8 are left out. Fails if the
/// files of the repository cannot be listed.
pub fn local_traces() -> Result<Vec<String>> {
    let mut wrong = vec![];
    for file in repo::files()? {
        let Ok(text) = std::fs::read_to_string(repo::root().join(&file)) else { continue };
        for (i, line) in text.lines().enumerate() {
            let trace = local_path(line).or_else(|| registry(&file, line));
            wrong.extend(trace.map(|what| format!("{}:{}: {what}", file.display(), i + 1)));
        }
    }
    Ok(wrong)
}

fn local_path(line: &str) -> Option<String> {
    // The names are separate, so that this file does not break its own rule.
    let roots = ["root", "home", "work", "Users", "mnt"].map(|r| format!("/{r}/"));
    let starts_word = |at: usize| at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
    let is_path = |root: &String| line.match_indices(root.as_str()).any(|(at, _)| starts_word(at) && !is_url(line, at));
    roots.iter().find(|root| is_path(root)).map(|root| format!("an absolute path below {root}"))
}

/// Returns true if the slash at `at` belongs to a relative path or to an address.
fn is_url(line: &str, at: usize) -> bool {
    let word = line[..at].rsplit([' ', '"', '\'', '(', '`', '=']).next().unwrap_or("");
    !word.is_empty()
}

/// Returns a description of what a line names: a source other than crates.io in a lock file, or any setting of an index
/// for pip or cargo in another file outside this crate. Returns `None` for all other lines.
fn registry(file: &Path, line: &str) -> Option<String> {
    let public = "registry+https://github.com/rust-lang/crates.io-index";
    if file.ends_with("Cargo.lock") {
        let source = line.strip_prefix("source = ")?;
        return (source.trim_matches('"') != public).then(|| format!("the source {source}"));
    }
    let words = ["index-url", "replace-with", "trusted-host"].map(|w| (w, format!("{w} =")));
    let used = words.iter().find(|(w, assigned)| line.contains(assigned) || line.contains(&format!("--{w}")));
    used.filter(|_| !file.starts_with("crates/xtask")).map(|(w, _)| format!("a registry of its own (`{w}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shrinks() {
        let found = BTreeMap::from([("a".into(), 80), ("b".into(), 90), ("c".into(), 75)]);
        let allowed = BTreeMap::from([("b".into(), 85), ("c".into(), 100), ("d".into(), 99)]);
        let wrong = compare(&found, &allowed, 70, "lines");
        let starts: Vec<_> = wrong.iter().map(|w| w.split(';').next().unwrap()).collect();
        assert_eq!(
            starts,
            ["a: 80 lines, 70 are allowed", "b: 90 lines, it had 85", "c: 75 lines now", "d: not more than 70 lines"]
        );
    }

    #[test]
    fn paths() {
        assert!(local_path(&format!("cd /{}/x", "root")).is_some());
        assert!(local_path(&format!("\"/{}/x\"", "home")).is_some());
        assert!(local_path(&format!("https://example.com/{}/x", "work")).is_none());
        assert!(local_path(&format!("a/{}/b", "work")).is_none());
    }
}
