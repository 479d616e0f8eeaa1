//! What the chapter's examples share: the mesh that `--devices N` asks for, and what they print of a variant; with
//! `--dump FOLDER` they also write its results, to be compared with those of their twins in Python (`oracle/chapter.py`).

use shardwise::Instruction;
use shardwise::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What stands after `name` on the command line.
fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != name).nth(1)
}

/// The sizes of the two mesh axes of `--devices N`: 1, 2, 8 (unless it is given) or 64.
pub fn grid() -> [usize; 2] {
    match option("--devices").as_deref().unwrap_or("8") {
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
    let profile = profile(&run)?;
    let moving = |r: &&Instruction| r.is_collective;
    let moved: Duration = profile.into_iter().filter(moving).map(|r| r.total).sum();
    println!("── {name}: {} bytes received by each device", communication.bytes_received());
    if !communication.is_empty() {
        println!("{communication}");
    }
    println!("{profile}, {moved:.1?} of it communication\n");
    match option("--dump") {
        Some(folder) => tree::leaves(&run()?).into_iter().try_for_each(|x| dump(x, &folder)),
        None => Ok(()),
    }
}

/// Writes a result as the next of `00.npy`, `01.npy`, … of the folder.
fn dump(x: &Array, folder: &str) -> Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let file = Path::new(folder).join(format!("{:02}.npy", COUNT.fetch_add(1, Ordering::Relaxed)));
    let (ty, bytes): (_, Vec<u8>) = match x.dtype() {
        I32 => ("<i4", x.to_vec::<i32>()?.into_iter().flat_map(i32::to_le_bytes).collect()),
        _ => ("<f4", x.astype(F32).to_vec::<f32>()?.into_iter().flat_map(f32::to_le_bytes).collect()),
    };
    let sizes: String = x.shape().iter().map(|n| format!("{n}, ")).collect();
    let header = format!("{{'descr': '{ty}', 'fortran_order': False, 'shape': ({sizes})}}");
    let header = format!("{header:<117}\n");
    let start = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    std::fs::write(&file, [start, bytes].concat()).unwrap_or_else(|e| panic!("cannot write {}: {e}", file.display()));
    Ok(())
}
