//! Generated programs: scheduled, they compute the same and keep what was promised. `SHARDWISE_CASES=10000` runs more,
//! and `SHARDWISE_FIRST=5240 SHARDWISE_CASES=1` runs one seed again.

use crate::products::inputs;
use crate::programs::{agree, check, predicted, shown};
use shardwise_check::choose::cases;
use shardwise_check::fuzz::{CaseKind, text};
use shardwise_check::generate::case;
use shardwise_check::run::{budget, partitioned};
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::OPS;
use shardwise_schedule::{Options, schedule};
use shardwise_sim::{Overlap, Topology};
use shardwise_spmd::partition;
use std::collections::BTreeMap;
use std::ops::Range;

/// Checks the program of a seed on a topology, and adds the number of changes that were made to `made`, by their kinds.
/// Fails if the program cannot be partitioned or scheduled, or if a scheduled program does not keep what was promised.
fn check_case(seed: u64, made: &mut BTreeMap<&'static str, usize>) -> Result<(), String> {
    let case = case(seed);
    let module = partition(&case.module, &mut Default::default()).map_err(|e| e.to_string())?.module;
    let n = module.main_mesh().map_or(1, |mesh| mesh.size());
    let names = [format!("v5e:{n}x1"), format!("h100:{n}x1"), format!("7x:1x1x{}", n / 2)];
    let topology = names
        .iter()
        .cycle()
        .skip(seed as usize)
        .take(3)
        .find_map(|name| Topology::parse(name).ok().filter(|topology| topology.device_count() == n));
    let topology = topology.ok_or("there is no topology")?;
    for overlap in [Overlap::Auto, Overlap::Force] {
        let at = |what: &str| format!("{overlap:?} on {topology}: {what}");
        let run = || schedule(&module, &topology, overlap, &Options::default()).map_err(|e| at(&e.to_string()));
        let (out, again) = (run()?, run()?);
        check(&out, &topology).map_err(|e| at(&format!("{e}\n{}", shown(&out.module))))?;
        let exact = |module| print(module, &PrintOptions::EXACT);
        if exact(&out.module) != exact(&again.module) || out.decisions != again.decisions {
            return Err(at("it differs from run to run"));
        }
        let before = [Overlap::Off, Overlap::Auto].map(|overlap| predicted(&module, &topology, overlap).end());
        // A value stays in fast memory if its users are near, and the written order has other distances.
        let most = before[0].min(before[1] + before[1] / 20);
        if overlap == Overlap::Auto && out.after > most {
            return Err(at(&format!("it takes {}, and {before:?} before\n{}", out.after, shown(&out.module))));
        }
        if overlap == Overlap::Auto {
            let tight = Options { memory_share: 0.0, ..Options::default() };
            let out = schedule(&module, &topology, overlap, &tight).map_err(|e| at(&e.to_string()))?;
            if out.peak_after as f64 > out.peak_before as f64 * 1.05 {
                return Err(at(&format!("it needs {} bytes in place of {}", out.peak_after, out.peak_before)));
            }
        }
        agree(&module, &out.module, &case.inputs).map_err(|e| at(&format!("{e}\n{}", shown(&out.module))))?;
        for decision in out.decisions.iter().filter(|decision| decision.is_taken) {
            *made.entry(kind(&decision.what)).or_default() += 1;
        }
    }
    Ok(())
}

const KINDS: [&str; 5] = ["all_gather and", "and reduce_scatter in", "as reduce_scatter", "as one", "in a loop"];

fn kind(what: &str) -> &'static str {
    KINDS.into_iter().find(|kind| what.contains(kind)).unwrap_or_else(|| panic!("an unknown kind of change: {what}"))
}

fn seeds(count: u64) -> Range<u64> {
    let first = std::env::var("SHARDWISE_FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    first..first + cases(count)
}

#[test]
fn scheduled_programs_compute_the_same() {
    let mut made = BTreeMap::new();
    let seeds = seeds(400);
    for seed in seeds.clone() {
        check_case(seed, &mut made).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    // The generator makes no loops.
    let is_made = |kind: &&str| made.contains_key(*kind);
    assert!(
        seeds.end - seeds.start < 100 || KINDS[..4].iter().all(is_made),
        "not all kinds of changes were made: {made:?}"
    );
}

/// Schedules the program of a seed that has everything that StableHLO allows: loops, branches, manual computations,
/// collectives that the program starts. Returns false if the program cannot be partitioned, or if the partitioned one
/// cannot be run or has other results on the other engine. Fails if the program cannot be read or scheduled, or if a
/// scheduled program does not keep what was promised.
fn check_any(seed: u64) -> Result<bool, String> {
    let source = text(CaseKind::Valid, seed);
    let at = |what: &str| format!("seed {seed}: {what}\n{source}");
    let module = parse("any.mlir", &source, &OPS).map_err(|e| at(&e.to_string()))?;
    let Ok(local) = partitioned(&module).map(|partitioned| partitioned.module) else { return Ok(false) };
    let n = local.main_mesh().map_or(1, |mesh| mesh.size());
    let topology = Topology::parse(&format!("v5e:{n}x1")).map_err(|e| at(&e.to_string()))?;
    let inputs = inputs(&local, seed);
    if agree(&local, &local, &inputs).is_err() {
        return Ok(false);
    }
    for overlap in [Overlap::Auto, Overlap::Force] {
        let out = schedule(&local, &topology, overlap, &Options::default()).map_err(|e| at(&e.to_string()))?;
        check(&out, &topology).map_err(|e| at(&format!("{overlap:?}: {e}\n{}", shown(&out.module))))?;
        agree(&local, &out.module, &inputs).map_err(|e| at(&format!("{overlap:?}: {e}\n{}", shown(&out.module))))?;
    }
    Ok(true)
}

#[test]
fn scheduled_programs_of_all_ops_compute_the_same() {
    let mut ran = 0;
    let seeds = seeds(120);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        // A program that reaches a limit is left out.
        match budget().run(|| check_any(seed)) {
            Ok(found) => ran += u64::from(found.unwrap_or_else(|e| panic!("{e}"))),
            Err(_) => continue,
        }
    }
    assert!(2 * ran > count, "only {ran} of {count} ran");
}
