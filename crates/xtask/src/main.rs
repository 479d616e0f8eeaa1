//! `cargo xtask …`: see [`xtask`].
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "this is a command")]

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::{
    bench, check, communication, cost, deny, docs, draw, explain, fuzz, host_predictions, lit, oracle, page, stablehlo,
    tpu,
};

/// Automation of the shardwise repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Oracle(oracle::Options),
    Page(page::Options),
    Check(check::Options),
    Bench(bench::Options),
    Communication(communication::Options),
    Cost(cost::Options),
    Deny(deny::Options),
    Docs(docs::Options),
    Draw(draw::Options),
    Explain(explain::Options),
    Fuzz(fuzz::Options),
    HostPredictions(host_predictions::Options),
    Lit(lit::Options),
    Stablehlo(stablehlo::Options),
    Tpu(tpu::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    let (report, is_good) = match Arguments::parse().task {
        Task::Oracle(options) => oracle::run(&options)?,
        Task::Page(options) => page::run(&options)?,
        Task::Check(options) => check::run(&options)?,
        Task::Bench(options) => bench::run(&options)?,
        Task::Communication(options) => communication::run(&options)?,
        Task::Cost(options) => cost::run(&options)?,
        Task::Deny(options) => deny::run(&options)?,
        Task::Docs(options) => docs::run(&options)?,
        Task::Draw(options) => draw::run(&options)?,
        Task::Explain(options) => explain::run(&options)?,
        Task::Fuzz(options) => fuzz::run(&options)?,
        Task::HostPredictions(options) => host_predictions::run(&options)?,
        Task::Lit(options) => lit::run(&options)?,
        Task::Stablehlo(options) => stablehlo::run(&options)?,
        Task::Tpu(options) => tpu::run(&options)?,
    };
    print!("{report}");
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
