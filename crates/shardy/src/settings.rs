//! The options of a requested pass: `sdy-basic-propagate{conservative-propagation=true}`.

use crate::{ShardyPass, mistakes};
use shardwise_base::Diagnostics;
use std::collections::BTreeMap;

/// The options of a pass, by name.
#[derive(Clone, Default, Debug)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Parses `{name=value other='a b'}`, including the braces. Fails if the text does not have this form, if `pass`
    /// has no option of a name, or if an option cannot have its value. The value of `propagation-strategy` is not
    /// checked.
    pub(crate) fn parse(pass: &ShardyPass, text: &str) -> Result<Settings, Diagnostics> {
        let malformed = || mistakes::malformed_options(pass.name, text);
        let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) else {
            return Err(malformed().into());
        };
        let mut settings = Settings::default();
        let mut rest = inner.trim();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=').ok_or_else(malformed)?;
            if !pass.options.contains(&name) {
                return Err(mistakes::unknown_option(pass, name).into());
            }
            let end = match after.chars().next() {
                Some(quote @ ('"' | '\'')) => 2 + after[1..].find(quote).ok_or_else(malformed)?,
                _ => after.find(char::is_whitespace).unwrap_or(after.len()),
            };
            let value = after[..end].trim_matches(['"', '\'']);
            check(pass, name, value)?;
            settings.0.insert(name.into(), value.into());
            rest = after[end..].trim_start();
        }
        Ok(settings)
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub(crate) fn is_on_by_default(&self, name: &str) -> bool {
        self.get(name) != Some("false")
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Options that ask for debug notes, which are not supported here.
const NOTES: [&str; 4] = [
    "debug-sharding-origins",
    "debug-propagation-edge-sharding",
    "sink-debug-sharding-origins",
    "sink-debug-propagation-edge-sharding",
];

fn check(pass: &ShardyPass, name: &str, value: &str) -> Result<(), Diagnostics> {
    let is_flag = name != "propagation-strategy";
    if is_flag && !["true", "false"].contains(&value) {
        return Err(mistakes::no_flag(pass.name, name, value).into());
    }
    if NOTES.contains(&name) && value == "true" {
        return Err(mistakes::notes(pass.name, name).into());
    }
    Ok(())
}
