//! What the chapter's examples share: the mesh that `--devices N` asks for, and what they print of a variant.

use shardwise::Instruction;
use shardwise::prelude::*;
use std::time::Duration;

/// The sizes of the two mesh axes of `--devices N`: 1, 2, 8 (unless it is given) or 64.
pub fn grid() -> [usize; 2] {
    let args: Vec<String> = std::env::args().collect();
    let given = args.iter().position(|a| a == "--devices").and_then(|i| args.get(i + 1));
    match given.map_or("8", |n| n.as_str()) {
        "1" => [1, 1],
        "2" => [2, 1],
        "8" => [4, 2],
        "64" => [8, 8],
        other => {
            eprintln!("usage: --devices N, where N is 1, 2, 8 or 64; found {other}");
            std::process::exit(2);
        }
    }
}

/// A variant: what it moves, and where its time goes. `run` runs what was compiled.
pub fn report<R: Tree>(name: &str, communication: &Communication, run: impl Fn() -> Result<R>) -> Result<()> {
    let profile = profile(run)?;
    let moving = |r: &&Instruction| r.is_collective;
    let moved: Duration = profile.into_iter().filter(moving).map(|r| r.total).sum();
    println!("── {name}: {} bytes received by each device", communication.bytes_received());
    if !communication.is_empty() {
        println!("{communication}");
    }
    println!("{profile}, {moved:.1?} of it communication\n");
    Ok(())
}
