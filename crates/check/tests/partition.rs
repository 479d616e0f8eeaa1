//! Tests that partitioned programs equal unpartitioned ones bit for bit, at every stage and on every engine, and that
//! mutants are killed.

use shardwise_base::{Literal, Loc, print};
use shardwise_check::choose::cases;
use shardwise_check::generate::{Case, case};
use shardwise_check::mutate::{MUTANTS, Mutant};
use shardwise_check::run;
use shardwise_engine::{Argument, Engine, NumberChecks, Signature, layout};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Body, Builder, Module, Region, Value};
use shardwise_ops::Opcode;
use shardwise_ops::print::Print;

#[test]
fn every_stage_means_what_the_program_means() {
    for seed in 0..cases(200) {
        run::check(&case(seed)).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn is_killed(mutant: &Mutant, programs: &[(Case, Module, Vec<Literal>)]) -> bool {
    programs.iter().any(|(case, module, want)| {
        let Some(wrong) = mutant.apply(module) else { return false };
        match run::on(&InterpEngine, &wrong, &case.inputs) {
            Ok(got) => got != *want,
            Err(_) => true,
        }
    })
}

#[test]
fn mutants_die() {
    let programs: Vec<(Case, Module, Vec<Literal>)> = (0..cases(600))
        .map(|seed| {
            let case = case(seed);
            let module = run::partitioned(&case.module).unwrap_or_else(|e| panic!("seed {seed}:\n{e}")).module;
            let want = run::whole(&case.module, &case.inputs).expect("it runs");
            (case, module, want)
        })
        .collect();
    let alive: Vec<&str> = MUTANTS.iter().filter(|m| !is_killed(m, &programs)).map(|m| m.name).collect();
    assert!(alive.is_empty(), "mutants live: {alive:?}");
}

/// Tests that an input that is split as its argument's sharding in the signature says, and joined again, is the same.
#[test]
fn shards_come_together_again() {
    for seed in 0..cases(200) {
        let case = case(seed);
        let signature = Signature::of(case.module.main().expect("a main")).expect("arrays");
        for (input, ty) in case.inputs.iter().zip(&signature.inputs) {
            let Some(sharding) = &ty.sharding else { continue };
            let shards = layout::split(input, sharding);
            assert_eq!(
                &layout::assemble(|p| shards[p].clone(), sharding, input.shape()).unwrap(),
                input,
                "seed {seed}"
            );
        }
    }
}

/// Returns the module with a print after each op of the main function that makes arrays, also in loops and branches.
/// Ops of manual computations and reducers print nothing.
fn with_prints(module: &Module) -> Module {
    let mut module = module.clone();
    let main = module.funcs.iter_mut().next().expect("a main");
    let entry = main.body.entry();
    let mut count = 0;
    add_prints(&mut main.body, entry, &mut count);
    module
}

fn add_prints(body: &mut Body, region: Region, count: &mut usize) {
    let ops = body[region].ops.to_vec();
    let mut out = vec![];
    for op in ops {
        out.push(op);
        if matches!(Opcode::of(body[op].code), Opcode::While | Opcode::If | Opcode::Case) {
            let regions = body[op].regions.clone();
            for inner in regions {
                add_prints(body, inner, count);
            }
        }
        let results = body[op].results.to_vec();
        let values: Vec<Value> = results.into_iter().filter(|&v| body.ty(v).as_tensor().is_some()).collect();
        if values.is_empty() {
            continue;
        }
        let mut texts = vec![format!("{count}: ")];
        texts.resize(values.len() + 1, "; ".into());
        *count += 1;
        let mut b = Builder::at(body, region, Loc::UNKNOWN);
        b.op(Opcode::CustomCall, values, Print::attrs(&texts, &[]), []);
        out.push(body.region_mut(region).ops.pop().expect("added just now"));
    }
    body.region_mut(region).ops = out;
}

#[test]
fn prints_keep_their_order_and_their_values() {
    let mut seen = 0;
    for seed in 0..cases(60) {
        let case = case(seed);
        let module = with_prints(&case.module);
        shardwise_ir::verify(&module).or(()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let (results, want) = print::captured(|| run::whole(&module, &case.inputs));
        let results = results.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        seen += want.len();
        for pass in ["reshard", "defer", "collectives", "hoist", "halo", "pad", "axes"] {
            let module = shardwise_spmd::run_until(pass, &module, &mut Default::default()).unwrap();
            let (_, lines) = print::captured(|| shardwise_interp::run_by_shards(&module, &case.inputs).unwrap());
            assert_eq!(lines, want, "seed {seed}, {pass}");
        }
        let local = run::partitioned(&module).unwrap_or_else(|e| panic!("seed {seed}:\n{e}")).module;
        for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
            let (got, lines) = print::captured(|| run::on(engine, &local, &case.inputs).unwrap());
            assert_eq!(lines, want, "seed {seed}, {}", engine.name());
            assert_eq!(got, results, "seed {seed}, {}", engine.name());
        }
        let text = shardwise_ir::text::print(&module, &Default::default());
        let again = shardwise_ir::text::parse("again", &text, &shardwise_ops::OPS).unwrap();
        assert!(shardwise_ir::difference(&again, &module, false).is_none(), "seed {seed}:\n{text}");
    }
    assert!(seen > 300, "{seen} lines were printed");
}

/// Runs a program on 1, 2, 3, 4 with both engines, which must find no NaN and no infinity.
fn expect_finite(text: &str) {
    let module = shardwise_ir::text::parse("infinite", text, &shardwise_ops::OPS).unwrap();
    let x = Literal::new([4], &[1.0f32, 2.0, 3.0, 4.0]);
    for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
        let program = engine.compile_checked(&module, NumberChecks { nans: true, infs: true }).unwrap();
        let arg = engine.put(&x, &program.signature().inputs[0]).unwrap();
        let found = program.execute(vec![Argument::Lent(arg)]).map(|_| ());
        assert!(found.is_ok(), "{}: {found:?}", engine.name());
    }
}

#[test]
fn constants_are_not_checked() {
    expect_finite(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<0x7F800000> : tensor<4xf32>
  %1 = stablehlo.minimum %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}",
    );
}

#[test]
fn the_ops_in_reducers_are_not_checked() {
    expect_finite(
        "func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %zero = stablehlo.subtract %a, %a : tensor<f32>
    %one = stablehlo.exponential %zero : tensor<f32>
    %infinite = stablehlo.divide %one, %zero : tensor<f32>
    %sum = stablehlo.add %a, %b : tensor<f32>
    %s = stablehlo.minimum %sum, %infinite : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0 : tensor<f32>
}",
    );
}
