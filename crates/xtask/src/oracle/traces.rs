//! Has Perfetto and JAX read our traces (`oracle/traces.py`).

use crate::{command, program, repo, venv};
use anyhow::{Context, Result};
use shardwise_base::{Diagnostics, Literal};
use shardwise_engine::{Argument, Engine, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::Module;
use shardwise_sim::{Options, Overlap, Topology, simulate};
use shardwise_spmd::partition;
use shardwise_view::Timeline;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);

/// The programs whose timelines are read: one without control flow, and one with a loop.
const PROGRAMS: [&str; 2] = ["testdata/transformer/tiny_train.mlir", "testdata/corpus/control/scan_rnn.mlir"];

/// Writes measured and predicted timelines in three formats, and has other readers compare them. Returns the output of
/// the comparison, and true if they find the same spans.
///
/// # Errors
/// Fails if the folder cannot be cleared, if the script cannot be started, if a program cannot be read, run or
/// simulated, or if a timeline cannot be saved.
pub fn run(python: &Path) -> Result<(String, bool)> {
    let folder = repo::target_dir("oracle/traces")?;
    std::fs::remove_dir_all(&folder).and_then(|()| std::fs::create_dir(&folder)).context("cannot clear the folder")?;
    for (i, file) in PROGRAMS.iter().enumerate() {
        let module = program::parse(file, &repo::read(file.as_ref())?)?;
        for (name, timeline) in timelines(&module).map_err(program::mistake)? {
            let path = |end: &str| folder.join(format!("{i}-{name}.{end}"));
            let saved = ["json", "pftrace", "xplane.pb"].iter().try_for_each(|end| timeline.save(path(end), None));
            saved.map_err(program::mistake)?;
        }
    }
    let mut script = venv::script(python, "traces.py");
    script.arg(&folder);
    let compared = command::run(script, "", LIMIT)?;
    let why = if compared.is_success() { String::new() } else { format!("{}\n", compared.reason()) };
    let is_equal = compared.is_success();
    Ok((compared.stdout + &why, is_equal))
}

fn timelines(module: &Module) -> Result<[(&'static str, Timeline); 2], Diagnostics> {
    let local = partition(module, &mut shardwise_spmd::Options::default())?.module;
    let options = Options { overlap: Overlap::Auto };
    let predicted = simulate(&local, &Topology::parse("v5e:2x4")?, &options)?;
    let engine = HostEngine::default();
    let compiled = engine.compile(&local)?;
    let Signature { inputs, .. } = compiled.signature();
    let zeros = inputs.iter().map(|input| engine.put(&Literal::zeros(input.ty.dtype, input.ty.shape.clone()), input));
    let args = zeros.map(|array| array.map(Argument::Lent)).collect::<Result<_, _>>()?;
    Ok([("measured", compiled.profile(args)?.1.timeline("zeros")), ("predicted", predicted)])
}
