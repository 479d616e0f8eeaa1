//! Whatever verifies is partitioned and planned, or refused with diagnostics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_ir::text::parse;
use shardwise_ir::verify;
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition};

fuzz_target!(|text: &str| {
    let Ok(module) = parse("fuzz.mlir", text, &OPS) else { return };
    if !verify(&module).is_empty() || module.main_mesh().is_some_and(|m| m.size() > 64) {
        return;
    }
    if let Ok(partitioned) = partition(&module, &mut Options::default()) {
        let engine = HostEngine::new(1 << 26);
        let _ = engine.compile(&partitioned.module);
    }
});
