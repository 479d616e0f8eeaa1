//! Tests of pages that the code can check.

use std::collections::BTreeSet;
use xtask::{docs, repo};

#[test]
fn generated_pages_are_current() {
    let stale = docs::stale_files().unwrap();
    assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
}

#[test]
fn each_dependency_has_its_line() {
    let manifest: toml::Table = toml::from_str(&repo::read("Cargo.toml".as_ref()).unwrap()).unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let is_foreign = |value: &toml::Value| value.get("path").is_none();
    let used: BTreeSet<&str> = dependencies.iter().filter(|(_, v)| is_foreign(v)).map(|(name, _)| &**name).collect();
    let page = repo::read("docs/design/dependencies.md".as_ref()).unwrap();
    let name = |line: &'_ str| line.strip_prefix("- **").and_then(|rest| rest.split("**").next().map(str::to_owned));
    let told: BTreeSet<String> = page.lines().filter_map(name).collect();
    assert_eq!(used, told.iter().map(|s| &**s).collect());
}

#[test]
fn checklists_are_short() {
    for file in repo::files().unwrap().iter().filter(|f| f.starts_with("docs/checklists")) {
        let lines = repo::read(file).unwrap().lines().count();
        assert!(lines <= 28, "{}: {lines} lines", file.display());
    }
}
