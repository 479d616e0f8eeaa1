//! A pass as it is asked for: `sdy-basic-propagate{conservative-propagation=true}`.

use super::{ShardyPass, mistakes};
use shardwise_base::Diagnostics;
use std::collections::BTreeMap;

/// The options given to a pass.
#[derive(Clone, Default, Debug)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Reads `{name=value other='a b'}`, braces included.
    pub(super) fn parse(pass: &ShardyPass, text: &str) -> Result<Settings, Diagnostics> {
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
            settings.0.insert(name.into(), after[..end].trim_matches(['"', '\'']).into());
            rest = after[end..].trim_start();
        }
        Ok(settings)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
