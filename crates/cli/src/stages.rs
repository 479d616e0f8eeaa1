//! `shardwise propagate`, `partition` and `opt`: print transformed programs.

use crate::source::{SPLIT, printed};
use crate::{OptArgs, PartitionArgs, PropagateArgs, ReplicaGroups, out};
use shardwise_base::Diagnostics;
use shardwise_ir::text::PrintOptions;
use shardwise_spmd::{self as spmd, Options, Step, run_steps, run_until};
use shardwise_transform::{Request, split_list};

pub fn propagate(args: &PropagateArgs) -> Result<(), Diagnostics> {
    let module = args.source.read()?;
    let mut dumper = args.source.dumper()?;
    let propagated =
        run_until("propagate", &module, &mut Options { dump: Some(&mut dumper.hook()), ..Options::default() })?;
    dumper.finish()?;
    show!("{}", &*printed(&propagated, &PrintOptions::default()));
    Ok(())
}

pub fn partition(args: &PartitionArgs) -> Result<(), Diagnostics> {
    let module = args.source.read()?;
    let partitioned = args.source.partition(&module)?;
    if args.communication {
        say!("{}", partitioned.communication);
    } else if args.hlo {
        show!("{}", spmd::hlo::print(&partitioned.module));
    } else {
        let module = match args.replica_groups {
            ReplicaGroups::Axes => partitioned.module,
            ReplicaGroups::Dense => spmd::dense::dense(&partitioned.module)?,
        };
        show!("{}", &*printed(&module, &PrintOptions::default().without_varying()));
    }
    Ok(())
}

pub fn opt(args: &OptArgs) -> Result<(), Diagnostics> {
    let passes: Vec<String> = args.passes.iter().flat_map(|list| split_list(list)).collect();
    let options = match passes.is_empty() {
        true => PrintOptions { as_mlir: true, ..PrintOptions::default() },
        false if passes.iter().all(|name| is_shardys(name)) => PrintOptions::MLIR,
        false => PrintOptions::default(),
    };
    let steps: Vec<Step<'_>> = passes.iter().map(|name| step(name)).collect::<Result<_, _>>()?;
    let mut dumper = args.source.dumper()?;
    for (i, module) in args.source.read_all(args.split_input_file)?.iter().enumerate() {
        let mut hook = dumper.hook();
        let mut run = Options { dump: Some(&mut hook), verify: args.verify, ..Options::default() };
        let module = run_steps(&steps, module, &mut run)?;
        out::warn(run.context.warnings.iter());
        if i > 0 {
            show!("{}", SPLIT);
        }
        show!("{}", &*printed(&module, &options));
    }
    dumper.finish()
}

/// Returns the pass or the transform with this name and its options. In a build with the feature `shardy`, Shardy's
/// passes are found too. Fails if there is no such pass, or if the options are wrong.
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
    spmd::find(name).map(Step::from)
}

/// Returns true if the name is that of one of Shardy's passes.
#[cfg(feature = "shardy")]
fn is_shardys(name: &str) -> bool {
    shardwise_shardy::Request::parse(name).is_some()
}

#[cfg(not(feature = "shardy"))]
fn is_shardys(_: &str) -> bool {
    false
}
