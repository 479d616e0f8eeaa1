//! `oracle/known.toml`: the known failures, each with a class and a reason. The list may only shrink.

use super::check::Check;
use crate::repo;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A check of a program that does not pass yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The program, as `family/name`.
    pub program: String,
    pub check: Check,
    /// A short name that failures of the same cause share.
    pub class: String,
    pub reason: String,
    /// True if the outcome is arbitrary, so that the entry is not out of date if the check passes.
    #[serde(default)]
    pub by_chance: bool,
}

/// An op for which the interpreter's values differ from JAX's and ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherValues {
    pub op: String,
    pub reason: String,
}

/// A function whose derivatives or batches differ from JAX's, or which JAX cannot transform.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherDerivative {
    pub function: String,
    /// A part of the message that reports the difference, or of JAX's.
    pub message: String,
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<Known>,
    #[serde(default)]
    values: Vec<OtherValues>,
    #[serde(default)]
    derivatives: Vec<OtherDerivative>,
    #[serde(default)]
    refused: Vec<OtherDerivative>,
}

/// Returns the listed checks that do not pass.
///
/// # Errors
/// Fails if the list cannot be read, or if a check is listed twice, or without a class or a reason.
pub fn read() -> Result<Vec<Known>> {
    checked(file()?.known)
}

/// Returns the listed ops whose values differ. Fails if the list cannot be read.
pub fn values() -> Result<Vec<OtherValues>> {
    Ok(file()?.values)
}

/// Returns the listed functions whose derivatives differ. Fails if the list cannot be read.
pub fn derivatives() -> Result<Vec<OtherDerivative>> {
    Ok(file()?.derivatives)
}

/// Returns the listed functions that JAX itself cannot transform in some way. Fails if the list cannot be read.
pub fn refused() -> Result<Vec<OtherDerivative>> {
    Ok(file()?.refused)
}

fn file() -> Result<File> {
    toml::from_str(&repo::read("oracle/known.toml".as_ref())?).context("cannot read oracle/known.toml")
}

fn checked(known: Vec<Known>) -> Result<Vec<Known>> {
    for (i, entry) in known.iter().enumerate() {
        let is_same = |k: &Known| k.program == entry.program && k.check == entry.check;
        ensure!(!known[..i].iter().any(is_same), "{} {} is listed twice", entry.program, entry.check.name());
        let is_stated = !entry.class.is_empty() && !entry.reason.is_empty();
        ensure!(is_stated, "{} {} needs a class and a reason", entry.program, entry.check.name());
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[[known]]\nprogram = \"a/b\"\ncheck = \"host\"\nclass = \"c\"\nreason = \"r\"\n";

    fn parse(text: &str) -> Result<Vec<Known>> {
        checked(toml::from_str::<File>(text)?.known)
    }

    #[test]
    fn reads() {
        assert_eq!(parse("").unwrap().len(), 0);
        assert_eq!(parse(ENTRY).unwrap()[0].check, Check::Host);
        assert!(parse(&ENTRY.repeat(2)).is_err());
        assert!(parse(&ENTRY.replace("\"r\"", "\"\"")).is_err());
        assert!(parse(&ENTRY.replace("host", "hots")).is_err());
    }
}
