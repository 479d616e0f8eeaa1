//! Compares the memory that the host engine predicts for a run with the memory that is counted during the run.

use crate::choose::Chooser;
use crate::generate::case;
use crate::program::program;
use crate::run::{budget, partitioned};
use crate::single::{Fill, single};
use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Literal};
use shardwise_engine::{Argument, Engine, Instruction, RunMemory, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use std::sync::Arc;

/// One run of a program.
struct Measured {
    predicted: RunMemory,
    /// The largest number of bytes that were counted at once.
    counted: usize,
    rows: Arc<[Instruction]>,
}

impl Measured {
    /// Returns true if the run's memory is known exactly before it starts.
    fn is_known(&self) -> bool {
        let depends = |row: &Instruction| {
            let is_control = ["stablehlo.if", "stablehlo.case", "stablehlo.while"].contains(&row.name.as_str());
            // The memory in which a decomposition or a Fourier transform works is predicted by a bound.
            let bounded = ["stablehlo.cholesky", "stablehlo.triangular_solve", "stablehlo.fft"];
            let is_bounded = bounded.contains(&row.name.as_str());
            row.is_fallback || is_control || is_bounded || row.name.contains("ragged")
        };
        !self.rows.iter().any(depends)
    }

    /// Describes how the prediction is wrong, or returns `None` if it is right. It must be exact if
    /// [`Measured::is_known`] returns true, and otherwise it may be too large.
    fn wrong(&self, what: &str) -> Option<String> {
        let Measured { predicted: RunMemory { peak_bytes, .. }, counted, rows } = self;
        let name = |r: &Instruction| format!("{}{}", r.name, if r.is_fallback { " (reference)" } else { "" });
        let is_right = if self.is_known() { counted == peak_bytes } else { counted <= peak_bytes };
        let shown = || {
            format!(
                "{what}: {counted} bytes were counted, {peak_bytes} predicted: {:?}",
                rows.iter().map(name).collect::<Vec<_>>()
            )
        };
        (!is_right).then(shown)
    }
}

fn expect_none(wrong: Vec<String>) {
    assert!(
        wrong.is_empty(),
        "{} runs need other memory than predicted, among them:\n{}",
        wrong.len(),
        wrong.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

/// Runs a partitioned program on the host engine under an account of its own. `donated` has the indices of the
/// arguments that are donated. The inputs must have the types of the arguments. Fails if the program cannot be
/// compiled, or run within a million steps. Panics if the arguments and constants take other memory than predicted.
fn measured(local: &Module, inputs: &[Literal], donated: &[usize]) -> Result<Measured, Diagnostics> {
    let account = Account::with_limit(usize::MAX);
    let budget = Budget::new(account.clone(), Some(1_000_000), CancelToken::default());
    let measure = || {
        let engine = HostEngine::default();
        let program = engine.compile(local)?;
        let types = &program.signature().inputs;
        let args = inputs.iter().zip(types).enumerate().map(|(i, (x, ty))| {
            let array = engine.put(x, ty)?;
            Ok(if donated.contains(&i) { Argument::Donated(array) } else { Argument::Lent(array) })
        });
        let args = args.collect::<Result<Vec<_>, Diagnostics>>()?;
        let lent: Vec<_> = args
            .iter()
            .map(|a| match a {
                Argument::Lent(a) => Some(a.clone()),
                Argument::Donated(_) => None,
            })
            .collect();
        let predicted = program.memory(donated).expect("the host engine plans");
        assert_eq!(account.in_use(), predicted.argument_bytes + predicted.constant_bytes, "what is there before");
        account.reset_peak();
        let (_results, profile) = program.profile(args)?;
        drop(lent);
        Ok(Measured { predicted, counted: account.peak(), rows: profile.instructions })
    };
    budget.run(measure).unwrap_or_else(|stop| Err(stop.diagnostic(&shardwise_base::Loc::UNKNOWN).into()))
}

#[test]
fn generated_programs_need_what_is_predicted() {
    let (mut known, mut wrong) = (0, vec![]);
    for seed in 0..400 {
        let case = case(seed);
        let Ok(local) = budget().run(|| partitioned(&case.module)).expect("it ends") else { continue };
        let donated: Vec<usize> = (0..case.inputs.len()).filter(|i| seed as usize >> i & 1 == 1).collect();
        for donated in [vec![], donated] {
            let run = measured(&local.module, &case.inputs, &donated).unwrap_or_else(|e| panic!("{e}"));
            wrong.extend(run.wrong(&format!("seed {seed}, donated {donated:?}")));
            known += usize::from(run.is_known());
        }
    }
    expect_none(wrong);
    assert!(known > 300, "{known}");
}

#[test]
fn programs_of_one_op_need_what_is_predicted() {
    let mut wrong = vec![];
    for seed in 0..4000 {
        let single = single(seed);
        let Ok(local) = partitioned(&single.module) else { continue };
        let Ok(run) = measured(&local.module, &single.inputs, &[]) else { continue };
        wrong.extend(run.wrong(&format!("seed {seed}, {}", single.op.name())));
    }
    expect_none(wrong);
}

#[test]
fn programs_with_loops_and_branches_need_at_most_what_is_predicted() {
    let (mut ran, mut wrong) = (0, vec![]);
    for seed in 0..600 {
        let program = program(seed);
        let Ok(module) = text::parse("memory.mlir", &program.text, &OPS).and_then(|m| verify(&m).or(m)) else {
            continue;
        };
        let Ok(local) = partitioned(&module) else { continue };
        let main = local.module.main().expect("a function");
        let mut choose = Chooser::new(seed);
        let types = Signature::of(main).expect("arrays").inputs;
        let inputs: Vec<Literal> = types.iter().map(|ty| Fill::Small.literal(&mut choose, &ty.ty)).collect();
        let Ok(run) = measured(&local.module, &inputs, &[]) else { continue };
        wrong.extend(run.wrong(&format!("seed {seed}")));
        ran += 1;
    }
    expect_none(wrong);
    assert!(ran > 300, "{ran}");
}

#[test]
fn normalization_of_narrow_numbers_needs_at_most_what_is_predicted() {
    let text = r#"func.func @main(%x: tensor<1024x16xf16>, %f: tensor<16xf16>) -> tensor<1024x16xf16> {
  %0 = "stablehlo.batch_norm_inference"(%x, %f, %f, %f, %f) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<1024x16xf16>, tensor<16xf16>, tensor<16xf16>, tensor<16xf16>, tensor<16xf16>) -> tensor<1024x16xf16>
  return %0 : tensor<1024x16xf16>
}"#;
    let module = text::parse("memory.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let local = partitioned(&module).unwrap_or_else(|e| panic!("{e}"));
    let main = local.module.main().expect("a function");
    let types = Signature::of(main).expect("arrays").inputs;
    let inputs: Vec<Literal> = types.iter().map(|ty| Fill::Small.literal(&mut Chooser::new(0), &ty.ty)).collect();
    let run = measured(&local.module, &inputs, &[]).unwrap_or_else(|e| panic!("{e}"));
    expect_none(run.wrong("a normalization").into_iter().collect());
}
