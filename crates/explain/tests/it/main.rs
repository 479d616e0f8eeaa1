//! Tests of explanations.

use shardwise_explain::*;
use shardwise_ir::text::parse;

fn exhaustive(module: &shardwise_ir::Module) -> (u64, u64, usize) {
    let program = shardwise_spmd::prepare(module, &mut Default::default()).unwrap();
    let run = |m: &shardwise_ir::Module| {
        shardwise_spmd::partition(m, &mut Default::default()).ok().map(|p| p.communication.bytes_received())
    };
    let now = run(&program).unwrap();
    let mesh = program.main_mesh().unwrap().clone();
    let specs = specs(&program);
    let mut least = now;
    if specs.len() > 12 {
        return (now, u64::MAX, specs.len());
    }
    for spec in &specs {
        for layout in layouts(spec, &mesh).into_iter().map(Some).chain([None]) {
            let change = Change { place: spec.place, layout };
            least = least.min(run(&change.apply(&program)).unwrap_or(u64::MAX));
        }
    }
    (now, least, specs.len())
}

#[test]
fn show() {
    for file in std::env::var("FILES").unwrap().split(' ') {
        let text = std::fs::read_to_string(file).unwrap();
        let module = parse(file, &text, &shardwise_ops::OPS).unwrap();
        let begin = std::time::Instant::now();
        let e = match explain(&module, &Options::default()) {
            Ok(e) => e,
            Err(d) => {
                eprintln!("=== {file} {d}");
                continue;
            }
        };
        let t = begin.elapsed();
        let ops: usize = module.funcs.iter().map(|f| f.body.op_count()).sum();
        let found = [e.best(), e.best_with_more_work()]
            .into_iter()
            .flatten()
            .map(|r| r.after.bytes_received)
            .min()
            .unwrap_or(e.figures.bytes_received);
        let strict = e.best().map(|r| r.after.bytes_received);
        let (now, least, places) = if std::env::var("EX").is_ok() && e.figures.bytes_received > 0 {
            exhaustive(&module)
        } else {
            (e.figures.bytes_received, 0, 0)
        };
        eprintln!(
            "{} ops {ops} places {places} {} tried {} complete {} now {now} found {found} strict {strict:?} least {least} {t:?}",
            file.rsplit('/').next().unwrap(),
            e.spec_count,
            e.tried,
            e.is_complete
        );
        if std::env::var("SHOW").is_ok() {
            eprintln!("{e}");
        }
    }
}
