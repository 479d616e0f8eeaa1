//! `cargo xtask deny`: checks the dependencies against `deny.toml`: licences, sources, versions and bans. This is a
//! part of `cargo deny` that needs no installation. `cargo deny` reads the same file, and also knows advisories.

use crate::{command, repo};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

/// Check the dependencies against `deny.toml`.
#[derive(clap::Args)]
pub struct Options {}

/// Returns a report of the violations of the policy, and true if there are none. Fails as [`violations`] does.
pub fn run(_: &Options) -> Result<(String, bool)> {
    let found = violations()?;
    let report = match &found[..] {
        [] => "the dependencies comply with deny.toml\n".to_string(),
        lines => format!("{}\n", lines.join("\n")),
    };
    Ok((report, found.is_empty()))
}

/// Returns a line for each violation of the policy. Versions and sources are checked of all crates in the lock file.
/// Licences are checked only of the crates that are built for this machine, because cargo does not know those of crates
/// that it has not downloaded. Of the crates that only the fuzzer uses, only the sources are checked. Fails if the
/// policy, a lock file or the list of packages cannot be read.
pub fn violations() -> Result<Vec<String>> {
    let policy = Policy::parse(&repo::read("deny.toml".as_ref())?)?;
    let locked = Lock::parse(&repo::read("Cargo.lock".as_ref())?)?;
    let fuzzing = Lock::parse(&repo::read("fuzz/Cargo.lock".as_ref())?)?;
    let mut found = policy.of_versions(&locked);
    found.extend(policy.of_sources(&locked));
    found.extend(policy.of_sources(&fuzzing));
    found.extend(policy.of_licences(&packages()?));
    Ok(found)
}

/// The parts of `deny.toml` that are checked here.
#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    sources: Sources,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Named>,
    deny: Vec<Named>,
}

/// A crate, or one version of it: `syn@3.0.9`.
#[derive(Deserialize)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    /// The source of the crate, or `None` for a crate of the workspace.
    source: Option<String>,
    checksum: Option<String>,
}

/// A package as `cargo metadata` describes it.
#[derive(Deserialize)]
struct Package {
    name: String,
    license: Option<String>,
}

/// Returns the packages that are built for this machine, including those of the workspace. Fails if `rustc` or `cargo
/// metadata` does.
fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let mut version = Command::new("rustc");
    version.arg("-vV");
    let version = command::run(version, "", Duration::from_secs(60))?.stdout;
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).context("rustc does not print its host")?;
    let mut metadata = Command::new("cargo");
    metadata
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
        .current_dir(repo::root());
    let outcome = command::run(metadata, "", Duration::from_secs(120))?;
    ensure!(outcome.is_success(), "cargo metadata failed: {}", outcome.stderr);
    let metadata: Metadata =
        serde_json::from_str(&outcome.stdout).context("cannot read the output of cargo metadata")?;
    Ok(metadata.packages)
}

impl Lock {
    fn parse(text: &str) -> Result<Lock> {
        toml::from_str(text).context("cannot read a lock file")
    }
}

impl Policy {
    fn parse(text: &str) -> Result<Policy> {
        toml::from_str(text).context("cannot read deny.toml")
    }

    /// Returns a line for each banned crate in the lock file, for each crate that is used in several versions besides
    /// the exceptions, and for each exception that is not in the lock file.
    fn of_versions(&self, lock: &Lock) -> Vec<String> {
        let mut found = vec![];
        let is_named = |p: &Locked, name: &str| p.name == name || format!("{}@{}", p.name, p.version) == name;
        for Named { name, reason } in &self.bans.deny {
            if lock.package.iter().any(|p| is_named(p, name)) {
                found.push(format!("{name}: banned, because it {reason}"));
            }
        }
        let is_skipped = |p: &Locked| self.bans.skip.iter().any(|s| is_named(p, &s.name));
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for p in lock.package.iter().filter(|p| !is_skipped(p)) {
            versions.entry(&p.name).or_default().push(&p.version);
        }
        let several = versions.into_iter().filter(|(_, v)| v.len() > 1);
        found.extend(several.map(|(name, v)| format!("{name}: several versions, {}", v.join(" and "))));
        let stale = self.bans.skip.iter().filter(|s| !lock.package.iter().any(|p| is_named(p, &s.name)));
        found.extend(stale.map(|s| format!("{}: no longer in the lock file; remove it from deny.toml", s.name)));
        found
    }

    fn of_sources(&self, lock: &Lock) -> Vec<String> {
        let wrong = |p: &&Locked| match &p.source {
            None => false,
            Some(source) => {
                let registry = source.strip_prefix("registry+");
                !registry.is_some_and(|r| self.sources.allow_registry.iter().any(|a| a == r)) || p.checksum.is_none()
            }
        };
        let line = |p: &Locked| {
            let source = p.source.as_deref().unwrap_or("");
            format!("{}: its source {source} is not allowed, or it has no checksum", p.name)
        };
        lock.package.iter().filter(wrong).map(line).collect()
    }

    fn of_licences(&self, packages: &[Package]) -> Vec<String> {
        let wrong = |p: &&Package| !p.license.as_deref().is_some_and(|l| is_allowed(l, &self.licenses.allow));
        let line = |p: &Package| format!("{}: its licence is {}", p.name, p.license.as_deref().unwrap_or("not stated"));
        packages.iter().filter(wrong).map(line).collect()
    }
}

/// Returns true if a licence expression can be satisfied with the licences of a list: `(MIT OR Apache-2.0) AND Zlib`.
/// In the older notation `MIT/Apache-2.0`, the slash is an `OR`. Returns false if the expression is malformed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = &words[..];
    any_of(&mut words, allowed) == Some(true) && words.is_empty()
}

/// Reads alternatives from the start of `words`, and removes them. Returns true if one of them is allowed, false if
/// none is, or `None` if they are malformed.
fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut value = all_of(words, allowed)?;
    while let ["OR", rest @ ..] = words {
        *words = rest;
        value |= all_of(words, allowed)?;
    }
    Some(value)
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut value = one(words, allowed)?;
    while let ["AND", rest @ ..] = words {
        *words = rest;
        value &= one(words, allowed)?;
    }
    Some(value)
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let value = any_of(words, allowed)?;
            *words = words.strip_prefix(&[")"])?;
            Some(value)
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            Some(allowed.contains(&format!("{licence} WITH {exception}")))
        }
        [licence, rest @ ..] => {
            *words = rest;
            Some(allowed.contains(*licence))
        }
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        [licenses]
        allow = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]
        [sources]
        allow-registry = ["https://here"]
        [bans]
        skip = [{ crate = "old@1.0.0", reason = "others use it" }]
        deny = [{ crate = "bad", reason = "is bad" }, { crate = "far@1.0.0", reason = "is far" }]
    "#;

    #[test]
    fn licence_expressions_are_understood() {
        let policy = Policy::parse(POLICY).unwrap();
        let allowed = |text| is_allowed(text, &policy.licenses.allow);
        for text in
            ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND Zlib", "Apache-2.0 WITH LLVM-exception"]
        {
            assert!(allowed(text), "{text}");
        }
        for text in ["GPL-3.0", "MIT AND GPL-3.0", "MIT OR", "(MIT", "MIT)", "", "Apache-2.0", "Apache-2.0 WITH other"]
        {
            assert!(!allowed(text), "{text}");
        }
    }

    #[test]
    fn what_breaks_the_policy_is_named() {
        let policy = Policy::parse(POLICY).unwrap();
        let package = |name: &str, version: &str, source: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\nchecksum = \"1\"\n"
            )
        };
        let here = "registry+https://here";
        let lock = [
            package("bad", "1.0.0", here),
            package("two", "1.0.0", here),
            package("two", "2.0.0", here),
            package("far", "1.0.0", "git+https://there"),
        ];
        let lock = Lock::parse(&lock.concat()).unwrap();
        assert_eq!(
            policy.of_versions(&lock),
            [
                "bad: banned, because it is bad",
                "far@1.0.0: banned, because it is far",
                "two: several versions, 1.0.0 and 2.0.0",
                "old@1.0.0: no longer in the lock file; remove it from deny.toml"
            ]
        );
        assert_eq!(
            policy.of_sources(&lock),
            ["far: its source git+https://there is not allowed, or it has no checksum"]
        );
        let packages = [
            Package { name: "free".into(), license: Some("MIT".into()) },
            Package { name: "none".into(), license: None },
        ];
        assert_eq!(policy.of_licences(&packages), ["none: its licence is not stated"]);
    }
}
