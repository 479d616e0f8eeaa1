//! Reads programs with our own libraries.

use anyhow::{Error, Result};
use shardwise_base::Diagnostics;
use shardwise_ir::Module;

/// Parses a module, and does not verify it. `name` is the name of the text in locations. Fails with the mistakes in the
/// text.
pub fn parse(name: &str, text: &str) -> Result<Module> {
    shardwise_ir::text::parse(name, text, &shardwise_ops::OPS).map_err(mistake)
}

/// Converts diagnostics into an error of this crate.
pub fn mistake(found: Diagnostics) -> Error {
    Error::msg(found.to_string())
}
