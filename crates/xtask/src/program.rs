//! Reads programs with our own libraries.

use anyhow::{Error, Result};
use shardwise_base::Diagnostics;
use shardwise_ir::Module;

/// Reads a module.
pub fn parse(name: &str, text: &str) -> Result<Module> {
    shardwise_ir::text::parse(name, text, &shardwise_ops::OPS).map_err(mistake)
}

/// Converts diagnostics into an error of this crate.
pub fn mistake(found: Diagnostics) -> Error {
    Error::msg(found.to_string())
}
