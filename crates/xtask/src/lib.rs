//! Automation of this repository, run as `cargo xtask …`. Nothing here is shipped.
//!
//! - [`oracle`]: our command against JAX, Shardy and jaxlib's interpreter, over the corpus.
//! - [`check`]: thousands of generated programs, partitioned and not.
//! - [`mod@bench`]: JAX and ours on the same inputs in one go; ratios, not times.
//! - [`cost`]: instructions and times of the command against another build of it.
//! - [`fuzz`]: programs from seeds, run to the end by worker processes; for as long as one likes.
//! - [`lit`]: test files of MLIR's kind (Shardy's) through our command and through jaxlib.
//! - [`stablehlo`]: StableHLO's own interpreter tests, through our command.
//! - [`deny`]: licences, sources and versions of the dependencies.
//! - [`docs`]: the generated pages under `docs/generated`.
//! - [`engines`]: which ops the host engine has kernels for, on which element types.
//! - [`ratchet`]: rules of the source tree that hold today and may only get stricter.
#![forbid(unsafe_code)]

pub mod bench;
pub mod check;
pub mod command;
pub mod cost;
pub mod deny;
pub mod docs;
pub mod engines;
pub mod fuzz;
pub mod lit;
pub mod oracle;
pub mod program;
pub mod ratchet;
pub mod repo;
pub mod stablehlo;
pub mod table;
pub mod venv;
