//! `cargo xtask communication`: measures the bytes that partitioned programs move against bounds and against XLA.
//!
//! Bytes are those that the device that receives most receives. Padding is counted, and what a loop moves is multiplied
//! by its trip count.

mod dots;
mod programs;
pub(crate) mod random;
mod reshards;

use anyhow::Result;

/// Measure the bytes that partitioned programs move against bounds and against XLA.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    study: Study,
}

#[derive(clap::Subcommand)]
enum Study {
    Dots(dots::Options),
    Programs(programs::Options),
    Reshards(reshards::Options),
}

/// Runs the study that the options select. Returns its tables, and true if everything is right. Fails if the study
/// does.
pub fn run(options: &Options) -> Result<(String, bool)> {
    match &options.study {
        Study::Dots(options) => dots::run(options),
        Study::Programs(options) => programs::run(options),
        Study::Reshards(options) => reshards::run(options),
    }
}
