//! Runs a text to the end: reads, verifies and partitions it, runs it whole, by shards and on both engines, and
//! compares.

use super::{Found, MAX_BYTES, MAX_STEPS, Outcome, Reached, equal};
use crate::choose::Chooser;
use crate::run;
use crate::single::Fill;
use shardwise_base::{Account, Budget, CancelToken, DType, Diagnostics, Literal};
use shardwise_engine::{Engine, Signature};
use shardwise_host::HostEngine;
use shardwise_interp::{InterpEngine, run_by_shards};
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::{Body, Module, TensorType, Value, difference, verify};
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::{Combine, OPS, Opcode};
use shardwise_spmd::{Options, partition, prepare, strategies};
use std::collections::BTreeSet;

/// The knowledge about a program before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The program is valid, and all its sums are exact, so its results are equal up to the bits of NaNs.
    Exact,
    /// Nothing is known about the program. Diagnostics, and results that differ by no more than rounding explains, are
    /// not a finding.
    Any,
}

/// Reads, verifies and partitions the program of a text, runs it whole and on both engines with inputs from the seed,
/// and compares the results. For [`Input::Exact`], also runs it by shards after the passes from `reshard` to `axes`
/// that change it. Checks that the program and some of the partitioner's stages, printed as texts, read back as the
/// same modules. Returns how far the program came, and the finding if there is one.
pub fn execute(text: &str, input: Input, seed: u64) -> Outcome {
    run_case(input, seed, |case| case.run(text))
}

/// Runs a case and returns its outcome. `run` records in the case how far the program came, and fails if the case ends
/// early, with the finding if there is one.
pub(super) fn run_case(input: Input, seed: u64, run: impl FnOnce(&mut Case<'_>) -> Result<(), End>) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.found =
        run(&mut Case { input, seed, max_steps: MAX_STEPS, is_claim_unproved: false, outcome: &mut outcome })
            .err()
            .and_then(|end| match end {
                End::Wrong(found) => Some(found),
                End::Here => None,
            });
    outcome
}

/// The reason why a case ends early.
pub(super) enum End {
    /// The case ended without a finding, for example with diagnostics or at a limit.
    Here,
    Wrong(Found),
}

/// A case that is running.
pub(super) struct Case<'a> {
    input: Input,
    pub seed: u64,
    /// The number of steps that each stage may take.
    pub max_steps: u64,
    /// True if the program claims that results of a manual computation are equal on several devices, and this cannot be
    /// proved. If the claim is false, each device goes on with its own value, and the program has several meanings.
    is_claim_unproved: bool,
    pub outcome: &'a mut Outcome,
}

/// A partitioned program, and its inputs as whole arrays.
pub(super) struct Local {
    pub module: Module,
    pub inputs: Vec<Literal>,
}

/// The outcome of a stage: its result, diagnostics, or `None` if it reached a limit.
type Staged<T> = Option<Result<T, Diagnostics>>;

/// Runs a stage under its own budget of `max_steps` steps and [`MAX_BYTES`]. Returns `None` if the stage reached one of
/// these limits.
fn limited<T>(max_steps: u64, stage: impl FnOnce() -> Result<T, Diagnostics>) -> Staged<T> {
    let budget = Budget::new(Account::with_limit(MAX_BYTES), Some(max_steps), CancelToken::default());
    let is_limit = |found: &Diagnostics| found.iter().any(|d| ["run-steps", "run-memory"].contains(&d.code));
    budget.run(stage).ok().filter(|made| !made.as_ref().is_err_and(is_limit))
}

/// A notation for a module's text.
type Form = (&'static str, PrintOptions);
const PLAIN: Form = ("plain", PrintOptions::EXACT);
const GENERIC: Form = ("generic", PrintOptions::EXACT.as_generic());

/// Checks that the text of a module in this notation reads back as the same module. Otherwise, ends the case with a
/// finding about `stage`.
fn expect_read_back(stage: &str, module: &Module, (form, options): &Form) -> Result<(), End> {
    let text = print(module, options);
    let wrong = match parse("fuzz.mlir", &text, &OPS) {
        Ok(back) => difference(module, &back, options.locations),
        Err(found) => Some(found.to_string()),
    };
    let Some(wrong) = wrong else { return Ok(()) };
    let what = format!("{form} text after {stage} does not read back: {}", head(&wrong));
    Err(End::Wrong(Found::new(what, format!("{wrong}\n{text}"))))
}

/// One of this many stages of a case is printed and read back, if it changed the module. The number has no common
/// divisor with the number of notations.
const STAGES_APART: usize = 5;

fn is_new(stages: &[(String, Module)], i: usize) -> bool {
    i == 0 || difference(&stages[i - 1].1, &stages[i].1, true).is_some()
}

impl Case<'_> {
    fn run(&mut self, text: &str) -> Result<(), End> {
        let module = self.read(text)?;
        [PLAIN, GENERIC].iter().try_for_each(|form| expect_read_back("input", &module, form))?;
        let module = self.stage("prepare", Reached::Verified, || prepare(&module, &mut Options::default()))?;
        let types = self.argument_types(&module)?;
        let inputs = inputs(self.seed, &types, Fill::Small);
        let want = self.whole(&module, &inputs)?;
        let stages = self.partition(&module)?;
        self.by_shards(&stages, &inputs, want.as_deref())?;
        self.engines(&module, &stages, &inputs, want.as_deref())
    }

    /// Returns the partitioned program of a text, and inputs for it from the seed. Does not check that the texts of the
    /// stages read back. Fails, with the end of the case, if the text is not a valid module with a main function, if an
    /// argument or a result is no array, if the arguments are too large, if the module cannot be prepared or
    /// partitioned, or at a limit.
    pub fn local(&mut self, text: &str) -> Result<Local, End> {
        let module = self.read(text)?;
        let module = self.stage("prepare", Reached::Verified, || prepare(&module, &mut Options::default()))?;
        let types = self.argument_types(&module)?;
        let inputs = inputs(self.seed, &types, Fill::Small);
        let local = self.stage("partition", Reached::Verified, || run::partitioned(&module))?.module;
        Ok(Local { module: local, inputs })
    }

    fn read(&mut self, text: &str) -> Result<Module, End> {
        let module = self.stage("read", Reached::Nothing, || parse("fuzz.mlir", text, &OPS))?;
        self.outcome.reached = Reached::Read;
        self.stage("verify", Reached::Read, || verify(&module).or(()))?;
        self.outcome.reached = Reached::Verified;
        let views = module.funcs.iter().flat_map(|f| f.body.walk().into_iter().map(|op| module.view(&f.body, op)));
        self.outcome.ops = views.map(|view| Opcode::of_view(&view)).collect();
        Ok(module)
    }

    /// Records `reached`, and runs a stage. Its diagnostics end the case, and are a finding if the program is known to
    /// be valid. A limit ends the case without a finding, and is recorded in place of `reached`.
    fn stage<T>(
        &mut self,
        name: &str,
        reached: Reached,
        stage: impl FnOnce() -> Result<T, Diagnostics>,
    ) -> Result<T, End> {
        self.outcome.reached = reached;
        match limited(self.max_steps, stage) {
            Some(Ok(made)) => Ok(made),
            Some(Err(found)) => Err(self.refused(name, &found)),
            None => {
                self.outcome.reached = Reached::Limit;
                Err(End::Here)
            }
        }
    }

    fn refused(&self, stage: &str, found: &Diagnostics) -> End {
        match self.input {
            Input::Exact => {
                let code = found.iter().next().map_or("", |d| d.code);
                End::Wrong(Found::new(format!("{stage} refuses a valid program: {code}"), found.to_string()))
            }
            Input::Any => End::Here,
        }
    }

    fn argument_types(&mut self, module: &Module) -> Result<Vec<TensorType>, End> {
        let Some(main) = module.main() else { return Err(End::Here) };
        let signature = self.stage("signature", Reached::Verified, || Signature::of(main))?;
        let types: Vec<TensorType> = signature.inputs.into_iter().map(|input| input.ty).collect();
        let bytes = types.iter().try_fold(0u64, |sum, ty| sum.checked_add(ty.bytes()));
        if bytes.is_none_or(|b| b > MAX_BYTES as u64 / 4) {
            self.outcome.reached = Reached::Limit;
            return Err(End::Here);
        }
        Ok(types)
    }

    /// Runs the program in the interpreter. Returns `None` if a limit is reached, or if the interpreter refuses a
    /// program that is not known to be valid. If it refuses a valid one, fails with a finding.
    fn whole(&mut self, module: &Module, inputs: &[Literal]) -> Result<Option<Vec<Literal>>, End> {
        match limited(self.max_steps, || run::whole(module, inputs)) {
            Some(Ok(results)) => Ok(Some(results)),
            Some(Err(found)) if self.input == Input::Exact => Err(self.refused("the interpreter", &found)),
            _ => Ok(None),
        }
    }

    /// Partitions the module. Returns the name of each stage and its module, in order: the input, and the module after
    /// each pass. Records the strategies of the ops, and checks that the texts of some stages read back. Ends the case
    /// if a pass fails, at a limit, or if a text does not read back.
    fn partition(&mut self, module: &Module) -> Result<Vec<(String, Module)>, End> {
        let mut stages: Vec<(String, Module)> = vec![];
        let partitioned = self.stage("partition", Reached::Verified, || {
            let mut dump = |_: usize, name: &str, module: &Module| stages.push((name.to_string(), module.clone()));
            partition(module, &mut Options { dump: Some(&mut dump), verify: true, ..Options::default() })
        })?;
        self.is_claim_unproved = partitioned.warnings.iter().any(|d| d.code == "claim-unproved");
        self.outcome.reached = Reached::Partitioned;
        let laid_out = stages.iter().find(|(name, _)| name == "reshard");
        self.outcome.strategies = laid_out.map_or(vec![], |(_, module)| strategies(module).into_iter().collect());
        self.expect_stages_read_back(&stages)?;
        Ok(stages)
    }

    /// Checks that the texts of one in [`STAGES_APART`] stages read back, in one of the notations. Leaves out stages
    /// that changed nothing. The seed chooses the stages and the notation, so that other cases check the others. Fails,
    /// with a finding that ends the case, if a text does not read back.
    fn expect_stages_read_back(&self, stages: &[(String, Module)]) -> Result<(), End> {
        let turn = self.seed as usize;
        let form = if turn.is_multiple_of(2) { PLAIN } else { GENERIC };
        let chosen = (turn % STAGES_APART..stages.len()).step_by(STAGES_APART).filter(|&i| is_new(stages, i));
        chosen.map(|i| &stages[i]).try_for_each(|(name, module)| expect_read_back(name, module, &form))
    }

    fn by_shards(
        &mut self,
        stages: &[(String, Module)],
        inputs: &[Literal],
        want: Option<&[Literal]>,
    ) -> Result<(), End> {
        let Some(want) = want.filter(|_| self.input == Input::Exact) else { return Ok(()) };
        const RUN: [&str; 7] = ["reshard", "defer", "collectives", "hoist", "halo", "pad", "axes"];
        let is_run = |i: &usize| RUN.contains(&stages[*i].0.as_str()) && is_new(stages, *i);
        for (name, module) in (0..stages.len()).filter(is_run).map(|i| &stages[i]) {
            let got = self.stage(name, Reached::Partitioned, || run_by_shards(module, inputs))?;
            self.expect_equal(&format!("by shards after {name}"), &got, want)?;
        }
        Ok(())
    }

    fn expect_equal(&self, stage: &str, got: &[Literal], want: &[Literal]) -> Result<(), End> {
        match equal::difference(got, want) {
            Some(wrong) => Err(End::Wrong(Found::new(format!("{stage} differs from the whole"), wrong))),
            None => Ok(()),
        }
    }

    fn engines(
        &mut self,
        module: &Module,
        stages: &[(String, Module)],
        inputs: &[Literal],
        want: Option<&[Literal]>,
    ) -> Result<(), End> {
        let local = &stages.last().expect("there are passes").1;
        let interp = self.on(&InterpEngine, local, inputs);
        if interp.is_err() && self.outcome.reached == Reached::Limit {
            return self.host_alone(local, inputs);
        }
        let interp = interp?;
        let host = self.on(&HostEngine::default(), local, inputs)?;
        self.outcome.reached = Reached::Ran;
        let Some(want) = want else {
            self.outcome.not_compared = Some("the whole program does not run to its end");
            return self.expect_equal_unless_rounded(module, local, &[&host, &interp]);
        };
        match self.input {
            Input::Exact => {
                self.expect_equal("interp", &interp, want)?;
                self.expect_equal("host", &host, want)
            }
            Input::Any => self.expect_equal_unless_rounded(module, local, &[&host, &interp, want]),
        }
    }

    /// Runs a program on the host alone that is too large for the interpreter, and records that a limit was reached.
    /// The results are not compared, but the program may check them itself. Ends the case if the run fails or reaches a
    /// limit.
    fn host_alone(&mut self, local: &Module, inputs: &[Literal]) -> Result<(), End> {
        self.on(&HostEngine::default(), local, inputs)?;
        self.outcome.reached = Reached::Limit;
        Ok(())
    }

    pub fn on(&mut self, engine: &dyn Engine, local: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, End> {
        self.stage(engine.name(), Reached::Partitioned, || run::on(engine, local, inputs))
    }

    /// Compares all lists of results with the first one. If some differ, runs the program again on other, smaller
    /// inputs, and ends the case with a finding if those results differ by more than rounding explains. The results of
    /// the whole program are then left out, which the outcome records, if it does not run to its end, if a claim of it
    /// is unproved, or if [`regroups`] is true for it. Also ends the case if an engine cannot run the program again.
    fn expect_equal_unless_rounded(
        &mut self,
        module: &Module,
        local: &Module,
        results: &[&[Literal]],
    ) -> Result<(), End> {
        let [first, others @ ..] = results else { return Ok(()) };
        if others.iter().all(|other| equal::difference(first, other).is_none()) {
            return Ok(());
        }
        let types = self.argument_types(module)?;
        // A summand of an unreduced array may be zero. If something is divided by it, the sum becomes NaN.
        let fill = if has_unreduced(module) { Fill::Ints(1, 2) } else { Fill::Ints(0, 1) };
        let inputs = inputs(self.seed, &types, fill);
        let host = self.on(&HostEngine::default(), local, &inputs)?;
        let interp = self.on(&InterpEngine, local, &inputs)?;
        let whole = self.whole(module, &inputs)?;
        self.outcome.reached = Reached::Ran;
        let through = equal::types_behind(module);
        expect_near("host differs from the interpreter on the partitioned program", &host, &interp, &through)?;
        self.outcome.not_compared = match &whole {
            None => Some("the whole program does not run to its end"),
            Some(_) if self.is_claim_unproved => Some("a claim is unproved"),
            Some(_) if regroups(module) => Some("a reducer may not be associative"),
            Some(_) => None,
        };
        let Some(whole) = whole.filter(|_| self.outcome.not_compared.is_none()) else { return Ok(()) };
        expect_near("the partitioned program differs from the whole", &interp, &whole, &through)
    }
}

fn has_unreduced(module: &Module) -> bool {
    let is_unreduced = |body: &Body, v: Value| body.sharding(v).is_some_and(|s| !s.unreduced.is_empty());
    module.funcs.iter().any(|f| (0..f.body.value_count()).any(|i| is_unreduced(&f.body, Value::new(i))))
}

/// Returns true if the module has a `reduce` or `reduce_window` whose reducer is none of the known ones, or another op
/// whose partial results are gathered and reduced again ([`Combine::Gather`]). Such a reducer may not be associative,
/// and its elements may be combined in any grouping.
fn regroups(module: &Module) -> bool {
    module.funcs.iter().any(|func| {
        let is_unknown = |op| {
            let view = module.view(&func.body, op);
            let (op, facts) = (Opcode::of_view(&view), Opcode::of_view(&view).facts());
            // The reducer may become a known one only when the program is prepared.
            let is_reduction = matches!(op, Opcode::Reduce | Opcode::ReduceWindow);
            is_reduction && reduce_kind_of_op(&view).is_none() || facts.combine(&view) == Combine::Gather
        };
        func.body.walk().into_iter().any(is_unknown)
    })
}

fn expect_near(what: &str, got: &[Literal], want: &[Literal], through: &[BTreeSet<DType>]) -> Result<(), End> {
    match equal::difference_beyond_rounding(got, want, through) {
        Some(wrong) => Err(End::Wrong(Found::new(what, wrong))),
        None => Ok(()),
    }
}

fn inputs(seed: u64, types: &[TensorType], fill: Fill) -> Vec<Literal> {
    let mut choose = Chooser::new(seed ^ 0x1234_5678);
    types.iter().map(|ty| fill.literal(&mut choose, ty)).collect()
}

fn head(message: &str) -> String {
    message.lines().next().unwrap_or("").chars().take(60).collect()
}
