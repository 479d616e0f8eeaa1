//! Helpers of the chapter's examples: the mesh for `--devices N`, and the table at the end. With `--dump FOLDER` they
//! also write the results of their variants, which are compared with those of the twins in Python
//! (`oracle/chapter.py`).

use shardwise::prelude::*;
use shardwise::{Args, Instruction};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != name).nth(1)
}

/// Returns the sizes of the two mesh axes for `--devices N`, where N is 1, 2, 8 (the default) or 64. For another N,
/// prints an error and ends the process.
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

/// A row for each variant: its name, its shortest time, the bytes that it receives
/// ([`Communication::bytes_received`]), and the bytes of the largest value on a device.
#[derive(Default)]
pub struct Table(Vec<(String, Duration, u64, usize)>);

impl Table {
    /// Prints what a variant moves and where its time goes, and adds a row with the shortest time of five runs. `run`
    /// calls the variant. With `--dump FOLDER`, also writes its results. Fails if a run does, and panics if a file
    /// cannot be written.
    pub fn add<A: Args, R: Tree>(
        &mut self,
        name: &str,
        variant: &Compiled<A, R>,
        run: impl Fn() -> Result<R>,
    ) -> Result<()> {
        let communication = variant.communication();
        report(name, &communication, &run)?;
        let times: Vec<Duration> = (0..5).map(|_| timed(&run)).collect::<Result<_>>()?;
        let time = times.into_iter().min().unwrap_or_default();
        self.0.push((name.into(), time, communication.bytes_received(), variant.memory().largest_bytes));
        match option("--dump") {
            Some(folder) => tree::leaves(&run()?).into_iter().try_for_each(|x| dump(x, &folder)),
            None => Ok(()),
        }
    }
}

fn report<R: Tree>(name: &str, communication: &Communication, run: &impl Fn() -> Result<R>) -> Result<()> {
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

fn timed<R: Tree>(run: &impl Fn() -> Result<R>) -> Result<Duration> {
    let start = Instant::now();
    let out = run()?;
    tree::leaves(&out).into_iter().try_for_each(|a| a.ready().map(|_| ()))?;
    Ok(start.elapsed())
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10}  {:>12}  {:>12}  variant", "time", "received", "largest")?;
        for (name, time, received, largest) in &self.0 {
            writeln!(f, "{:>10}  {received:>10} B  {largest:>10} B  {name}", format!("{time:.1?}"))?;
        }
        for (name, time, ..) in self.0.iter().skip(1) {
            let (first, first_time, ..) = &self.0[0];
            let faster = first_time.as_secs_f64() / time.as_secs_f64();
            writeln!(f, "{name}: {faster:.2} times as fast as {first}")?;
        }
        Ok(())
    }
}

/// Writes a result as the next of `00.npy`, `01.npy`, … in the folder, as 32-bit integers if it is `I32` and as f32
/// otherwise. Fails if the result has no value, and panics if the file cannot be written.
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
