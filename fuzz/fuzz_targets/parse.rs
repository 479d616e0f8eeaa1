//! Whatever stands in a text, reading it gives a module or diagnostics; a module that is read prints and comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwise_ir::difference;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::OPS;

fuzz_target!(|text: &str| {
    let Ok(module) = parse("fuzz.mlir", text, &OPS) else { return };
    for options in [PrintOptions::default(), PrintOptions::EXACT.as_generic()] {
        let printed = print(&module, &options);
        let back = parse("fuzz.mlir", &printed, &OPS).expect("what prints reads");
        assert_eq!(difference(&module, &back, options.locations), None, "{printed}");
    }
});
