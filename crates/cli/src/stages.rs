//! `shardwise propagate`, `partition` and `opt`: print transformed programs.

use crate::simulate::needed_topology;
use crate::source::{SPLIT, printed};
use crate::{Format, OptArgs, PartitionArgs, PropagateArgs, ReplicaGroups, communication, out};
use shardwise_base::Diagnostics;
use shardwise_ir::Module;
use shardwise_ir::text::PrintOptions;
use shardwise_schedule as schedule;
use shardwise_sim::Topology;
use shardwise_spmd::{self as spmd, Options, Step, run_steps};
use shardwise_transform::{Request, split_list};

pub fn propagate(args: &PropagateArgs) -> Result<(), Diagnostics> {
    let mut output = args.target.open()?;
    let module = args.source.read()?;
    let propagated = args.source.run_until("propagate", &module)?;
    output.write(&printed(&propagated, &PrintOptions::default()))?;
    output.finish()
}

pub fn partition(args: &PartitionArgs) -> Result<(), Diagnostics> {
    let mut output = args.target.open()?;
    let module = args.source.read()?;
    let topology = args.topology.as_deref().map(Topology::parse).transpose()?;
    let partitioned = args.source.partition(&module, topology)?;
    if args.communication {
        let text = match args.format {
            Format::Text => partitioned.communication.to_string(),
            Format::Json => communication::json(&partitioned.communication),
        };
        output.write(&format!("{text}\n"))?;
    } else if args.hlo {
        output.write(&spmd::hlo::print(&partitioned.module).to_string())?;
    } else {
        let module = match args.replica_groups {
            ReplicaGroups::Axes => partitioned.module,
            ReplicaGroups::Dense => spmd::dense::dense(&partitioned.module)?,
        };
        output.write(&printed(&module, &PrintOptions::default().without_varying()))?;
    }
    output.finish()
}

pub fn opt(args: &OptArgs) -> Result<(), Diagnostics> {
    let mut output = args.target.open()?;
    let Some(source) = args.source.as_ref().filter(|_| !args.list_passes) else {
        output.write(&list_of_passes())?;
        return output.finish();
    };
    let passes: Vec<String> = args.passes.iter().flat_map(|list| split_list(list)).collect();
    let options = match passes.is_empty() {
        true => PrintOptions { as_mlir: true, ..PrintOptions::default() },
        false if passes.iter().all(|name| is_shardys(name)) => PrintOptions::MLIR,
        false => PrintOptions::default(),
    };
    let steps: Vec<Step<'_>> = passes.iter().map(|name| step(name)).collect::<Result<_, _>>()?;
    source.dumper()?.finish()?;
    for (i, module) in source.read_all(args.split_input_file)?.iter().enumerate() {
        let part = args.split_input_file.then(|| source.part(i));
        let mut dumper = part.as_ref().unwrap_or(source).dumper()?;
        let mut hook = dumper.hook();
        let mut run = Options { dump: Some(&mut hook), verify: args.verify, ..Options::default() };
        let module = run_steps(&steps, module, &mut run)?;
        out::warn(run.context.warnings.iter());
        drop(hook);
        dumper.finish()?;
        if i > 0 {
            output.write(SPLIT)?;
        }
        output.write(&printed(&module, &options))?;
    }
    output.finish()
}

fn list_of_passes() -> String {
    let passes = spmd::PASSES.iter().map(|pass| (pass.name, pass.describes));
    let all: Vec<(&str, &str)> = passes.chain([schedule::Request::LIST]).chain(Request::LIST).collect();
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    all.iter().map(|(name, describes)| format!("{name:width$}  {describes}\n")).collect()
}

fn step(name: &str) -> Result<Step<'_>, Diagnostics> {
    #[cfg(feature = "shardy")]
    if let Some(request) = shardwise_shardy::Request::parse(name) {
        let request = request?;
        return Ok(Step { name: request.pass.name, run: Box::new(move |module, _| request.run(&module)) });
    }
    if let Some(request) = Request::parse(name) {
        let request = request?;
        return Ok(Step { name: request.name(), run: Box::new(move |module, _| request.run(&module)) });
    }
    if let Some(request) = schedule::Request::parse(name) {
        let request = request?;
        return Ok(Step { name: schedule::Request::LIST.0, run: Box::new(move |m, cx| scheduled(&request, &m, cx)) });
    }
    let transforms = Request::LIST.map(|(name, _)| name);
    spmd::find_among(name, &[&[schedule::Request::LIST.0], &transforms[..]].concat()).map(Step::from)
}

fn scheduled(request: &schedule::Request, module: &Module, cx: &mut spmd::Context) -> Result<Module, Diagnostics> {
    let topology = needed_topology(request.topology.clone(), module)?;
    let found = schedule::schedule(module, &topology, request.overlap, &schedule::Options::default())?;
    found.decisions.iter().for_each(|decision| cx.warnings.push(decision.note()));
    Ok(found.module)
}

#[cfg(feature = "shardy")]
fn is_shardys(name: &str) -> bool {
    shardwise_shardy::Request::parse(name).is_some()
}

#[cfg(not(feature = "shardy"))]
fn is_shardys(_: &str) -> bool {
    false
}
