//! Whatever stands in a text, it ends in diagnostics, at a limit, or in results that are equal on both engines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwise_check::fuzz::{Input, execute};

fuzz_target!(|text: &str| {
    if let Some(found) = execute(text, Input::Any, text.len() as u64).found {
        panic!("{}\n{}", found.what, found.details);
    }
});
