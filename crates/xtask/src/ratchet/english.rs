//! The English of comments, documentation and messages, as far as simple rules can check it.
//!
//! - A word of [`FIGURES`] in a comment or a text. It is used as a figure of speech, such as for an array that rests on
//!   a mesh: write that the array is sharded, or has a layout.
//! - A documentation comment that starts as a fragment: `Whether ..`, `What ..`, `That ..`, `Of ..`, `Gives ..`,
//!   `The same ..`.
//! - A function, other than a test, whose summary does not start with a verb in the third person: `Returns ..`,
//!   `Checks ..`.
//! - A function whose comment does not say when it returns an error or `None`. Implementations of traits are left out:
//!   the trait says it.

use super::without_literals;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItemFn, ItemFn, ItemImpl, Lit, Meta, ReturnType, Signature, TraitItemFn, Type};

/// Words that are figures of speech wherever they occur. They are in two pieces so that this file keeps its own rule.
const FIGURES: [&str; 2] = [concat!("l", "ie"), concat!("l", "ies")];

/// The starts of documentation comments that are fragments.
const FRAGMENTS: [&str; 6] = ["Gives ", "What ", "Whether ", "That ", "Of ", "The same"];

/// Words that end in `s` and are not verbs.
const NOT_VERBS: [&str; 26] = [
    "Arguments",
    "Arrays",
    "As",
    "Axes",
    "Bits",
    "Bytes",
    "Devices",
    "Dimensions",
    "Elements",
    "Entries",
    "Inputs",
    "Its",
    "Lists",
    "Ones",
    "Ops",
    "Operands",
    "Positions",
    "Results",
    "Shapes",
    "Shardings",
    "Sizes",
    "Steps",
    "This",
    "Types",
    "Values",
    "Zeros",
];

/// A line of a file, and what is wrong with it.
pub type Place = (usize, String);

/// Returns what breaks the rules under `src` of each crate: places as `file:line: reason`, by the name of the crate's
/// folder. Crates without such places are left out. Fails if a source cannot be parsed.
pub fn places(sources: &[(String, String)]) -> Result<BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, source) in sources {
        let Some((name, _)) = file.strip_prefix("crates/").and_then(|f| f.split_once("/src/")) else { continue };
        let places = in_source(source).with_context(|| format!("cannot parse {file}"))?;
        let shown = places.into_iter().map(|(line, why)| format!("{file}:{line}: {why}"));
        found.entry(name.into()).or_default().extend(shown);
    }
    found.retain(|_, places| !places.is_empty());
    Ok(found)
}

fn in_source(source: &str) -> Result<Vec<Place>> {
    let mut functions = Functions { source, found: vec![], is_in_trait_impl: false };
    functions.visit_file(&syn::parse_file(source)?);
    let mut found = functions.found;
    found.extend(figures(source));
    found.extend(fragments(source));
    found.sort();
    Ok(found)
}

fn figures(source: &str) -> Vec<Place> {
    let clean = without_literals(source);
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let words = source.split(|c| !is_letter(c)).filter(|word| FIGURES.contains(word));
    let in_words = words.map(|word| (word.as_ptr() as usize - source.as_ptr() as usize, word));
    let is_text = |at: &usize| clean.as_bytes()[*at] == b' ';
    in_words.filter(|(at, _)| is_text(at)).map(|(at, word)| (line_of(source, at), format!("`{word}`"))).collect()
}

fn line_of(source: &str, at: usize) -> usize {
    1 + source[..at].matches('\n').count()
}

fn fragments(source: &str) -> Vec<Place> {
    let mut found = vec![];
    let mut is_inside = false;
    for (i, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(start) = text.filter(|_| !is_inside).and_then(|text| fragment(text.trim_start())) {
            found.push((i + 1, format!("the comment starts with `{}`", start.trim_end())));
        }
        is_inside = text.is_some();
    }
    found
}

fn fragment(text: &str) -> Option<&'static str> {
    FRAGMENTS.into_iter().find(|start| text.starts_with(start))
}

/// A search for functions, other than tests, whose summary does not start with a verb, or whose comment does not say
/// when they return an error or `None`.
struct Functions<'s> {
    source: &'s str,
    found: Vec<Place>,
    is_in_trait_impl: bool,
}

/// Parts of words, one of which is in a comment that says when a function returns an error.
const FAILURES: [&str; 12] = [
    "ail",
    "rror",
    "mistake",
    "iagnos",
    "refus",
    "`Ok`",
    "`Err`",
    "reason",
    "report",
    "essage",
    "eturns what",
    "nds the case",
];

/// Words, one of which is in a comment that says when a function returns `None`.
const ABSENCES: [&str; 4] = ["None", "`Some`", " if ", "nothing"];

/// Returns what the comment of a function leaves out, as far as words tell: when a `Result` is an error, or an `Option`
/// is `None`. Returns `None` if it says so, if there is no comment, and for `fmt::Result` and all other types.
fn unsaid(text: &str, output: &ReturnType) -> Option<&'static str> {
    let ReturnType::Type(_, ty) = output else { return None };
    let Type::Path(path) = &**ty else { return None };
    let names: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
    let says = |words: &[&str]| text.is_empty() || words.iter().any(|word| text.contains(word));
    match names.last().map(String::as_str) {
        Some("Result") if names[0] != "fmt" && !says(&FAILURES) => Some("it does not say when it fails"),
        Some("Option") if !says(&ABSENCES) => Some("it does not say when it returns `None`"),
        _ => None,
    }
}

impl Functions<'_> {
    fn check(&mut self, attributes: &[Attribute], signature: &Signature) {
        if attributes.iter().any(|a| a.path().is_ident("test")) {
            return;
        }
        let name = &signature.ident;
        let text: Vec<String> = attributes.iter().filter_map(doc_line).collect();
        if let Some(why) = unsaid(&text.join(" "), &signature.output).filter(|_| !self.is_in_trait_impl) {
            let line = self.source.find(&format!("fn {name}")).map_or(1, |at| line_of(self.source, at));
            self.found.push((line, format!("the comment on `{name}`: {why}")));
        }
        let mut lines = attributes.iter().filter_map(doc_line);
        if let Some(summary) = lines.find(|text| !text.trim().is_empty())
            && !starts_with_verb(summary.trim())
        {
            // The first function of this name: close enough to find the place.
            let line = self.source.find(&format!("fn {name}")).map_or(1, |at| line_of(self.source, at));
            self.found.push((line, format!("the summary of `{name}` does not start with a verb: {}", summary.trim())));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, f: &'ast ItemFn) {
        self.check(&f.attrs, &f.sig);
        visit::visit_item_fn(self, f);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let outer = std::mem::replace(&mut self.is_in_trait_impl, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.is_in_trait_impl = outer;
    }

    fn visit_impl_item_fn(&mut self, f: &'ast ImplItemFn) {
        self.check(&f.attrs, &f.sig);
        visit::visit_impl_item_fn(self, f);
    }

    fn visit_trait_item_fn(&mut self, f: &'ast TraitItemFn) {
        self.check(&f.attrs, &f.sig);
        visit::visit_trait_item_fn(self, f);
    }
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    match &value.lit {
        Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

/// Returns true if the first word is a verb in the third person, as far as its letters show: it starts with a capital,
/// ends in `s`, and is not in [`NOT_VERBS`].
fn starts_with_verb(summary: &str) -> bool {
    let word = summary.split([' ', ',', ':', '.']).next().unwrap_or_default();
    let is_word = word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphabetic());
    is_word && word.ends_with('s') && !NOT_VERBS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found = in_source(source).unwrap();
        let shown: Vec<String> = found.iter().map(|(line, why)| format!("{line}: {why}")).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn summaries_of_functions_start_with_a_verb() {
        check("/// Returns 1.\npub fn f() -> u8 { 1 }\n", &[]);
        check("/// The number.\n#[test]\nfn f() -> u8 { 1 }\npub fn g() {}\n", &[]);
        let of_trait = "trait A {\n    /// The number.\n    fn f();\n}\n";
        check(of_trait, &["3: the summary of `f` does not start with a verb: The number."]);
        let found = ["2: the summary of `f` does not start with a verb: The number."];
        check("/// The number.\npub fn f() -> u8 { 1 }\n", &found);
        let found = ["5: the summary of `f` does not start with a verb: Axes of it."];
        check("struct A;\nimpl A {\n    ///\n    /// Axes of it.\n    pub fn f() -> u8 { 1 }\n}\n", &found);
    }

    #[test]
    fn comments_say_when_functions_fail() {
        check(
            "/// Reads it.\npub fn f() -> io::Result<u8> { g() }\n",
            &["2: the comment on `f`: it does not say when it fails"],
        );
        check("/// Reads it. Fails if it is empty.\nfn f() -> Result<u8> { g() }\nfn h() -> Result<u8> { g() }\n", &[]);
        let found = ["2: the comment on `f`: it does not say when it returns `None`"];
        check("/// Returns the first.\nfn f() -> Option<u8> { g() }\n", &found);
        check("/// Returns the first, or `None`.\nfn f() -> Option<u8> { g() }\n", &[]);
        check("impl A for B {\n    /// Returns the first.\n    fn f() -> Option<u8> { g() }\n}\n", &[]);
        check("/// Writes it.\nfn f() -> fmt::Result { g() }\n", &[]);
    }

    #[test]
    fn comments_do_not_start_as_fragments() {
        check("/// Returns it.\n/// What follows is fine.\nfn f() {}\n", &[]);
        check(
            "/// Whether it is.\nfn f() {}\n",
            &[
                "1: the comment starts with `Whether`",
                "2: the summary of `f` does not start with a verb: Whether it is.",
            ],
        );
        check("macro_rules! m { () => {\n    /// Of all.\n    fn f() {}\n} }\n", &["2: the comment starts with `Of`"]);
    }

    #[test]
    fn figures_are_found_in_comments_and_strings() {
        let word = FIGURES[1];
        check(&format!("fn {word}() {{}}\n"), &[]);
        check(&format!("// where it {word}\nfn f() {{}}\n"), &[&format!("1: `{word}`")]);
        check(&format!("fn f() -> &'static str {{\n    \"it {word}\"\n}}\n"), &[&format!("2: `{word}`")]);
    }
}
