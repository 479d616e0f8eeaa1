//! What a file ends with: the time, bytes and largest buffer of each variant.

use crate::chapter::report;
use shardwise::Memory;
use shardwise::prelude::*;
use std::time::{Duration, Instant};

/// A row for each variant.
#[derive(Default)]
pub struct Table(Vec<(String, Duration, u64, usize)>);

impl Table {
    /// Reports a variant, and notes it: the shortest of five times, what each device receives, and its largest value.
    pub fn add<R: Tree>(
        &mut self,
        name: &str,
        (communication, memory): (&Communication, Memory),
        run: impl Fn() -> Result<R>,
    ) -> Result<()> {
        report(name, communication, &run)?;
        let mut times = vec![];
        for _ in 0..5 {
            let start = Instant::now();
            let out = run()?;
            tree::leaves(&out).into_iter().try_for_each(|a| a.ready().map(|_| ()))?;
            times.push(start.elapsed());
        }
        let time = times.into_iter().min().unwrap_or_default();
        self.0.push((name.into(), time, communication.bytes_received(), memory.largest_bytes));
        Ok(())
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:>10}  {:>12}  {:>12}  variant", "time", "received", "largest")?;
        for (name, time, received, largest) in &self.0 {
            writeln!(f, "{:>10}  {received:>10} B  {largest:>10} B  {name}", format!("{time:.1?}"))?;
        }
        let first = self.0.first().map_or(Duration::ZERO, |row| row.1);
        for (name, time, ..) in self.0.iter().skip(1) {
            let faster = first.as_secs_f64() / time.as_secs_f64();
            writeln!(f, "{name}: {faster:.2} times as fast as {}", self.0[0].0)?;
        }
        Ok(())
    }
}
