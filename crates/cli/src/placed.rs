//! Compiled programs whose inputs are on the devices.

use shardwise_base::budget::Entered;
use shardwise_base::{Budget, Diagnostics, Literal};
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable, RunProfile};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A compiled program, and its inputs in the layouts that it takes.
pub struct Placed {
    program: Arc<dyn Executable>,
    pub arrays: Vec<ArrayHandle>,
}

impl Placed {
    pub fn new(engine: &dyn Engine, program: Arc<dyn Executable>, inputs: &[Literal]) -> Result<Placed, Diagnostics> {
        let types = &program.signature().inputs;
        let arrays = inputs.iter().zip(types).map(|(x, ty)| engine.put(x, ty)).collect::<Result<_, _>>()?;
        Ok(Placed { program, arrays })
    }

    fn lent(&self) -> Vec<Argument> {
        self.arrays.iter().cloned().map(Argument::Lent).collect()
    }

    pub fn execute(&self) -> Result<Vec<ArrayHandle>, Diagnostics> {
        self.program.execute(self.lent())
    }

    pub fn run(&self) -> Result<Vec<Literal>, Diagnostics> {
        Ok(self.execute()?.iter().map(|r| r.to_literal()).collect())
    }

    pub fn profile(&self) -> Result<RunProfile, Diagnostics> {
        let _entered = anew();
        Ok(self.program.profile(self.lent())?.1)
    }

    /// Returns the median time of `n` runs after one that warms up. If `n` is even, this is the longer of the two times
    /// in the middle. The time to place the inputs does not count. Each run has the limit of steps for itself. Fails if
    /// a run does.
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn median(&self, n: usize) -> Result<Duration, Diagnostics> {
        let mut times = vec![];
        for _ in 0..=n {
            let (args, _entered) = (self.lent(), anew());
            let start = Instant::now();
            self.program.execute(args)?;
            times.push(start.elapsed());
        }
        times.remove(0);
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }
}

/// Puts this thread under its own limits with no steps taken, until the guard is dropped. Returns `None` if it runs
/// under no limits.
fn anew() -> Option<Entered> {
    let now = Budget::current()?;
    Some(Budget::new(now.account().clone(), Some(now.max_steps()), now.cancel_token().clone()).enter())
}
