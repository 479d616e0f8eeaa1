//! `shardwise propagate`, `partition` and `opt`: programs out of programs.

use crate::source::{SPLIT, printed};
use crate::{OptArgs, PartitionArgs, PropagateArgs, ReplicaGroups, out};
use shardwise_base::Diagnostics;
use shardwise_ir::text::PrintOptions;
use shardwise_spmd::{self as spmd, Options, run_passes};

pub fn propagate(args: &PropagateArgs) -> Result<(), Diagnostics> {
    let module = args.source.read()?;
    let mut dumper = args.source.dumper()?;
    let propagated =
        run_passes(&["propagate"], &module, &mut Options { dump: Some(&mut dumper.hook()), ..Options::default() })?;
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
    let names: Vec<&str> = args.passes.iter().map(String::as_str).collect();
    let shows_all = names.iter().any(|name| !spmd::shardy::is_name(name));
    let options = if shows_all { PrintOptions::default() } else { PrintOptions::MLIR };
    let mut dumper = args.source.dumper()?;
    for (i, module) in args.source.read_all(args.split_input_file)?.iter().enumerate() {
        let mut hook = dumper.hook();
        let mut run = Options { dump: Some(&mut hook), ..Options::default() };
        let module = run_passes(&names, module, &mut run)?;
        out::warn(run.warnings.iter());
        if i > 0 {
            show!("{}", SPLIT);
        }
        show!("{}", &*printed(&module, &options));
    }
    dumper.finish()
}
