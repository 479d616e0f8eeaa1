//! Every tensor gets a sharding. Here: what is said, and whole where nothing is.

use crate::rewrite::{map_main, sharding_or_replicated};
use shardwise_base::Diagnostics;
use shardwise_ir::{Module, Value};

/// Completes the shardings of a module.
pub fn propagate(module: &Module) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| {
        let mut func = func.clone();
        for v in (0..func.body.value_count()).map(Value::new) {
            func.body.value_mut(v).sharding = sharding_or_replicated(&func.body, v, &mesh);
        }
        Ok(func)
    })
}
