//! Applied remedies do what they say, and every collective has a source and a reason.

use crate::{parsed, sources};
use shardwise_base::Diagnostics;
use shardwise_check::generate;
use shardwise_explain::{DeltaKind, Explanation, Options, Place, Remedy, explain};
use shardwise_ir::Module;
use shardwise_sim::Topology;
use shardwise_spmd::{Communication, partition};
use shardwise_testing::Program;

fn communication(module: &Module) -> Result<Communication, Diagnostics> {
    Ok(partition(module, &mut Default::default())?.communication)
}

/// Checks a remedy against the changed program. Changes of arguments and results are also applied to the program as it
/// was given.
fn check_remedy(name: &str, module: &Module, e: &Explanation, remedy: &Remedy) {
    let mut versions = vec![remedy.change.apply(&e.program)];
    if matches!(remedy.change.place, Place::Argument(_) | Place::Result(_)) {
        versions.push(remedy.change.apply(module));
    }
    for version in versions {
        let found = communication(&version).unwrap_or_else(|d| panic!("{name}: {d}"));
        let counted = (found.bytes_received(), found.rows.len());
        assert_eq!(counted, (remedy.after.bytes_received, remedy.after.collective_count), "{name}\n{e}");
    }
    assert_eq!(remedy.before, e.figures, "{name}");
    assert!(remedy.bytes_saved() > 0, "{name}");
    let side = |of: fn(&shardwise_explain::Delta) -> Option<shardwise_explain::Traffic>| -> u64 {
        remedy.deltas.iter().filter_map(of).map(|sum| sum.bytes_received).sum()
    };
    assert_eq!(side(|d| d.before) - side(|d| d.after), remedy.bytes_saved(), "{name}\n{e}");
    assert!(remedy.deltas.iter().any(|d| matches!(d.kind(), DeltaKind::Vanishes | DeltaKind::Shrinks)), "{name}");
}

/// Checks the explanation of a program. Returns the number of its collectives and of its remedies.
fn check(name: &str, module: &Module, options: &Options) -> (usize, usize) {
    let e = explain(module, options).unwrap_or_else(|d| panic!("{name}: {d}"));
    let table = communication(module).unwrap_or_else(|d| panic!("{name}: {d}"));
    assert_eq!((e.figures.bytes_received, e.figures.collective_count), (table.bytes_received(), table.rows.len()));
    assert_eq!(e.groups.iter().map(|g| g.bytes_received()).sum::<u64>(), table.bytes_received(), "{name}\n{e}");
    assert_eq!(e.groups.iter().map(|g| g.places * g.rows.len()).sum::<usize>(), table.rows.len(), "{name}\n{e}");
    for group in &e.groups {
        assert!(!group.rows[0].why().is_empty() && !group.rows[0].op.is_empty(), "{name}\n{e}");
        let is_own = group.rows[0].reason.is_none();
        assert_eq!(is_own, group.rows[0].why() == "written by the program", "{name}");
        if let Some(remedy) = e.remedy_of(group) {
            assert!(remedy.bytes_saved() > 0, "{name}");
        }
    }
    e.remedies.iter().for_each(|remedy| check_remedy(name, module, &e, remedy));
    let is_best = |remedy: &&Remedy| !remedy.replicates_work();
    assert_eq!(e.best().is_some(), e.remedies.iter().any(|remedy| is_best(&remedy)), "{name}\n{e}");
    assert!(e.to_string().lines().all(|line| line.chars().count() <= 100 || !line.trim().contains(' ')), "{name}\n{e}");
    (table.rows.len(), e.remedies.len())
}

#[test]
fn every_remedy_of_the_corpus_does_what_it_says() {
    let (mut collectives, mut remedies) = (0, 0);
    for Program { name, text } in sources() {
        let module = parsed(&name, &text);
        let options = Options { trials: Some(8), ..Options::default() };
        let counts = check(&name, &module, &options);
        let e = explain(&module, &Options { trials: Some(0), ..Options::default() }).expect("it was explained above");
        assert!(e.groups.iter().all(|group| !group.loc().is_unknown()), "{name}\n{e}");
        (collectives, remedies) = (collectives + counts.0, remedies + counts.1);
    }
    assert!(collectives > 30 && remedies > 20, "{collectives} collectives, {remedies} remedies");
}

/// Generated programs have uneven shards, empty arrays and scalars. They have no places in a source.
#[test]
fn every_remedy_of_a_generated_program_does_what_it_says() {
    let mut remedies = 0;
    for seed in 0..60 {
        let options = Options { trials: Some(12), ..Options::default() };
        remedies += check(&format!("seed {seed}"), &generate::case(seed).module, &options).1;
    }
    assert!(remedies > 30, "{remedies}");
}

/// With a topology, remedies save time as well as bytes, and no collective is exposed for longer than it takes.
#[test]
fn remedies_save_time() {
    let mut remedies = 0;
    for seed in 0..60 {
        let module = generate::case(seed).module;
        let devices = module.main_mesh().map_or(1, |mesh| mesh.size());
        let topology = Topology::parse(&format!("v5e:1x{devices}")).expect("a row of chips");
        let options = Options { topology: Some(topology), trials: Some(12), ..Options::default() };
        let e = explain(&module, &options).unwrap_or_else(|d| panic!("seed {seed}: {d}"));
        for remedy in &e.remedies {
            assert!(remedy.after.step_time < remedy.before.step_time, "seed {seed}\n{e}");
        }
        for group in &e.groups {
            let time = group.time().unwrap_or_else(|| panic!("seed {seed}: a collective is not simulated\n{e}"));
            assert!(time.exposed <= time.duration, "seed {seed}\n{e}");
        }
        remedies += e.remedies.len();
    }
    assert!(remedies > 30, "{remedies}");
}
