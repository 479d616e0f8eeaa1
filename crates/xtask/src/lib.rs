//! Automation of this repository, run as `cargo xtask …`. Nothing here is shipped.
//!
//! - [`oracle`]: compares our command with JAX, Shardy and jaxlib's interpreter on the corpus.
//! - [`check`]: compares thousands of generated programs with their partitioned forms.
//! - [`mod@bench`]: measures JAX and ours on the same inputs together, for ratios of times.
//! - [`communication`]: measures the bytes that partitioned programs move against bounds and against XLA.
//! - [`cost`]: compares instructions and times of the command with those of another build.
//! - [`explain`]: compares the remedies of `shardwise explain` with an exhaustive search.
//! - [`host_predictions`]: compares predictions for this machine with measurements on it.
//! - [`tpu`]: compares predictions for a TPU with what libtpu's compiler expects.
//! - [`fuzz`]: runs programs from seeds to the end in worker processes, for any length of time.
//! - [`lit`]: runs MLIR's kind of test files (Shardy's) through our command and through jaxlib.
//! - [`stablehlo`]: runs StableHLO's own interpreter tests through our command.
//! - [`deny`]: checks licences, sources and versions of the dependencies.
//! - [`docs`]: writes the generated pages under `docs/generated`.
//! - [`draw`]: draws documentation comments and diagnostics for a reader.
//! - [`page`]: opens pages of timelines in a browser, and does with them what a reader does.
//! - [`engines`]: determines the element types for which the host engine has kernels, by op.
//! - [`ratchet`]: checks rules of the source tree that may only become stricter.
#![forbid(unsafe_code)]

pub mod bench;
pub mod check;
pub mod command;
pub mod communication;
pub mod cost;
pub mod deny;
pub mod docs;
pub mod draw;
pub mod engines;
pub mod explain;
pub mod fuzz;
pub mod host_predictions;
pub mod lit;
pub mod oracle;
pub mod page;
pub mod program;
pub mod ratchet;
pub mod repo;
pub mod stablehlo;
pub mod table;
pub mod tpu;
pub mod venv;
