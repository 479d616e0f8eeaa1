//! The order in which ops are issued: the program's own.

use shardwise_base::Diagnostics;
use shardwise_ir::Module;

/// Keeps the order of the program.
pub fn schedule(module: Module) -> Result<Module, Diagnostics> {
    Ok(module)
}
