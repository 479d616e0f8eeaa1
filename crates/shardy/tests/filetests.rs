//! Shardy's passes by their names: a first line `// run: PASS,PASS` says which.

use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::OPS;
use shardwise_shardy::run_passes;
use shardwise_testing::check_filetests;

#[test]
fn filetests() {
    check_filetests(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests"), |text| {
        let first = text.lines().next().and_then(|l| l.strip_prefix("// run: ")).expect("a line `// run: PASS`");
        let passes: Vec<&str> = first.split(',').collect();
        let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        match run_passes(&passes, &module) {
            Ok(out) => print(&out, &PrintOptions::MLIR),
            Err(diagnostics) => diagnostics.to_string(),
        }
    });
}
