//! `shardwise demo`: the first example, and everything there is to see about it.

use crate::run::times_table;
use clap::Args;
use shardwise::prelude::*;
use shardwise_base::Diagnostics;

/// `Out[B, F] = square(In[B, D]) · W[D, F]`, bf16, with the layouts given.
#[derive(Args)]
pub struct DemoArgs {
    /// Axes of the mesh and their sizes.
    #[arg(long, default_value = "X=4,Y=2")]
    mesh: String,
    /// Axes for the dimensions of In, bf16[8,2048]; `-`: not split; `X+Y`: split by both.
    #[arg(long = "in", value_name = "SPEC", default_value = "X,Y")]
    input: String,
    /// Axes for the dimensions of W, bf16[2048,8192].
    #[arg(long, value_name = "SPEC", default_value = "Y,-")]
    w: String,
    /// Axes for the dimensions of the result, bf16[8,8192].
    #[arg(long, value_name = "SPEC", default_value = "X,-")]
    out: String,
}

impl Default for DemoArgs {
    fn default() -> DemoArgs {
        DemoArgs { mesh: "X=4,Y=2".into(), input: "X,Y".into(), w: "Y,-".into(), out: "X,-".into() }
    }
}
