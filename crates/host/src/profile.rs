//! The profile of a run: what each step of the plan does, and when it ran.
#![forbid(unsafe_code)]

use crate::gang::StepTimes;
use crate::plan::{Code, Plan, Slot, Step, StepKind, Timing, measured_at_once};
use crate::pool::Workers;
use shardwise_base::counted;
use shardwise_engine::{Instruction, InstructionRun, InstructionTotal, RunProfile};
use shardwise_ir::{Func, Module, OpView};
use shardwise_ops::collective::{CollectiveView, Transfer};
use shardwise_ops::{Opcode, Semantics};
use shardwise_view::MemoryPart;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The instructions of a plan, which are its steps. They are the same in all runs.
pub struct Instructions {
    machine: Arc<str>,
    worker_count: usize,
    device_count: usize,
    all: Arc<[Instruction]>,
    /// For each step, by its `id`, the index of its instruction, or `None` for a step that was left out of the plan.
    of_step: Vec<Option<usize>>,
}

impl Instructions {
    pub fn of(plan: &Plan, module: &Module, func: &Func) -> Instructions {
        let device_count = module.main_mesh().map_or(1, |mesh| mesh.size());
        let (writers, of_step) = (Writers::of(plan), vec![None; plan.step_count]);
        let mut rows = Rows { plan, module, func, device_count, writers, instructions: vec![], of_step };
        rows.collect(&plan.code, 0);
        rows.name_writers();
        let (all, of_step, worker_count) = (rows.instructions.into(), rows.of_step, Workers::global().count());
        let machine = format!("host, {}", counted(worker_count, "worker")).into();
        Instructions { machine, worker_count, device_count, all, of_step }
    }

    /// Returns the profile of a run of the plan, and removes the periods of the workers from `times`. `at_peak` has the
    /// arrays that are in memory at the peak.
    pub fn profile(&self, plan: &Plan, times: &StepTimes, at_peak: Arc<[MemoryPart]>) -> RunProfile {
        let instruction_run =
            |run: &InstructionRun| InstructionRun { instruction: self.instruction_of(run.instruction), ..*run };
        RunProfile {
            machine: self.machine.clone(),
            device_count: self.device_count,
            worker_count: self.worker_count,
            instructions: self.all.clone(),
            totals: self.totals(plan, times),
            runs: times.runs.iter().map(instruction_run).collect(),
            worker_runs: times.take_worker_runs(),
            at_peak,
        }
    }

    /// Returns the index of the instruction of a step, by its `id`. Panics if the step was left out of the plan.
    fn instruction_of(&self, step: usize) -> usize {
        self.of_step[step].expect("a step of the plan has an instruction")
    }

    fn totals(&self, plan: &Plan, times: &StepTimes) -> Vec<InstructionTotal> {
        let mut totals = vec![InstructionTotal::default(); self.all.len()];
        for (own, &(count, time)) in self.of_step.iter().zip(&times.totals) {
            if let Some(own) = *own {
                totals[own] = InstructionTotal { count, time };
            }
        }
        self.share_times(&plan.code, &mut totals);
        totals
    }

    /// Divides the time in which small steps were measured together into equal shares, in this block and in those
    /// inside. The time of a loop or branch of small steps is divided as [`Instructions::share_inside`] does.
    fn share_times(&self, code: &Code, totals: &mut [InstructionTotal]) {
        for own in measured_at_once(&code.steps) {
            let first = &own[0];
            if first.timing == Timing::Whole {
                self.share_inside(first, totals);
            } else {
                first.kind.blocks().into_iter().for_each(|inner| self.share_times(inner, totals));
            }
            let time = totals[self.instruction_of(first.id)].time;
            for step in own {
                totals[self.instruction_of(step.id)].time = time / own.len() as u32;
            }
        }
    }

    /// Divides the time of a loop or branch of small steps equally among the runs of the steps inside.
    fn share_inside(&self, around: &Step, totals: &mut [InstructionTotal]) {
        let own = self.instruction_of(around.id);
        let (depth, time) = (self.all[own].depth, totals[own].time);
        let count = self.all[own + 1..].iter().take_while(|inner| inner.depth > depth).count();
        let inside = &mut totals[own + 1..][..count];
        let runs = inside.iter().map(|inner| inner.count).sum::<u64>();
        for inner in inside {
            inner.time = time.mul_f64(inner.count as f64 / runs.max(1) as f64);
        }
    }
}

/// The steps that write each slot, by their `id`. A parameter of a block has the writers of the values that are bound
/// to it.
struct Writers {
    of: HashMap<Slot, BTreeSet<usize>>,
}

impl Writers {
    fn of(plan: &Plan) -> Writers {
        let mut writers = Writers { of: HashMap::new() };
        // The results of a loop's body, which may be seen by loops inside of it, are known after the first round.
        while writers.block(&plan.code) {}
        writers
    }

    /// Adds the writers of the slots that the steps write or bind. Returns true if one of them is new.
    fn block(&mut self, code: &Code) -> bool {
        let mut is_changed = false;
        for step in &code.steps {
            let own = BTreeSet::from([step.id]);
            step.outputs.iter().for_each(|&slot| is_changed |= self.add(slot, &own));
            if let StepKind::While { cond, body, .. } = &step.kind {
                let bound = step.inputs.iter().map(|input| input.slot);
                for ((from, &result), (&param, &seen)) in
                    bound.zip(&body.results).zip(body.params.iter().zip(&cond.params))
                {
                    let all: BTreeSet<usize> = self.get(from).chain(self.get(result)).collect();
                    is_changed |= self.add(param, &all) | self.add(seen, &all);
                }
            }
            step.kind.blocks().into_iter().for_each(|block| is_changed |= self.block(block));
        }
        is_changed
    }

    fn add(&mut self, slot: Slot, writers: &BTreeSet<usize>) -> bool {
        let known = self.of.entry(slot).or_default();
        let before = known.len();
        known.extend(writers);
        known.len() > before
    }

    fn get(&self, slot: Slot) -> impl Iterator<Item = usize> {
        self.of.get(&slot).into_iter().flatten().copied()
    }
}

/// The instructions collected so far.
struct Rows<'a> {
    plan: &'a Plan,
    module: &'a Module,
    func: &'a Func,
    device_count: usize,
    writers: Writers,
    instructions: Vec<Instruction>,
    /// For each step, by its `id`, the index of its instruction, or `None` for a step that was left out of the plan.
    of_step: Vec<Option<usize>>,
}

impl Rows<'_> {
    fn collect(&mut self, code: &Code, depth: usize) {
        for step in &code.steps {
            self.of_step[step.id] = Some(self.instructions.len());
            self.instructions.push(self.instruction(step, depth));
            step.kind.blocks().into_iter().for_each(|inner| self.collect(inner, depth + 1));
        }
    }

    fn instruction(&self, step: &Step, depth: usize) -> Instruction {
        let views: Vec<OpView<'_>> = step.ops.iter().map(|&op| self.module.view(&self.func.body, op)).collect();
        // The op that explains the step: the first one with a reason, or else the last one.
        let main = views.iter().find(|view| view.data().reason.is_some()).or(views.last());
        let is_control = !step.kind.blocks().is_empty();
        let is_collective = step.kind.is_collective();
        let outputs = step.outputs.iter().map(|&slot| &self.plan.slots[slot].ty);
        let shapes: Vec<String> = outputs.clone().map(|ty| ty.short()).collect();
        let written = step.inputs.iter().flat_map(|input| self.writers.get(input.slot));
        let name = match step.kind {
            StepKind::Watch(_) => format!("check({})", step.name.trim_start_matches("stablehlo.")),
            _ => step.name.clone(),
        };
        Instruction {
            name,
            ops: views.iter().map(|view| view.name().to_string()).collect(),
            loc: main.map_or(&step.loc, |view| view.origin()).clone(),
            shape: shapes.join(", "),
            dtype: outputs.clone().next().map(|ty| ty.dtype),
            sharding: views.last().and_then(sharding),
            reason: main.and_then(|view| view.data().reason.as_ref()).map(|reason| reason.text.to_string()),
            depth,
            instances: step.instances.len(),
            flops: (!is_control && !is_collective).then(|| flops(step, &views)).flatten(),
            memory_bytes: self.memory_bytes(step),
            received_bytes: if is_collective { self.received_bytes(&views) } else { None },
            after: written.collect(),
            is_collective,
            is_control,
            is_fallback: matches!(step.kind, StepKind::Evaluate { .. } | StepKind::Exchange { .. }),
        }
    }

    /// Returns the bytes of the inputs and outputs of one instance. Returns `None` for a step with blocks, and for one
    /// that only passes buffers on or moves them between instances.
    fn memory_bytes(&self, step: &Step) -> Option<u64> {
        let is_moved = matches!(step.kind, StepKind::Alias | StepKind::Permute(_)) || !step.kind.blocks().is_empty();
        let slots = step.inputs.iter().map(|input| input.slot).chain(step.outputs.iter().copied());
        let bytes = slots.fold(0u64, |sum, slot| sum.saturating_add(self.plan.slots[slot].bytes as u64));
        (!is_moved).then_some(bytes)
    }

    fn received_bytes(&self, views: &[OpView<'_>]) -> Option<u64> {
        let view = started(*views.first()?);
        let collective = CollectiveView::of(&view)?;
        Some(Transfer::of(&view, &collective, self.device_count).received)
    }

    /// Replaces the steps in `after` by their instructions, in ascending order and without the instruction itself.
    fn name_writers(&mut self) {
        for (i, own) in self.instructions.iter_mut().enumerate() {
            own.after = own.after.iter().filter_map(|&step| self.of_step[step]).collect();
            own.after.sort_unstable();
            own.after.dedup();
            own.after.retain(|&writer| writer != i);
        }
    }
}

/// Returns the op inside of an asynchronous start, or any other op itself.
fn started(view: OpView<'_>) -> OpView<'_> {
    match (Opcode::of_view(&view), view.regions()) {
        (Opcode::AsyncStart, &[region]) => view.at(view.body.region(region).ops[0]),
        _ => view,
    }
}

/// Returns the flops of one instance. A step that only passes on or moves what an op needs, or checks its numbers, has
/// 0 flops. Returns `None` for a step with an op of [`Semantics::Control`], such as a loop, whose turns are not
/// counted.
fn flops(step: &Step, views: &[OpView<'_>]) -> Option<u64> {
    if matches!(step.kind, StepKind::Alias | StepKind::Watch(_)) || step.prepares {
        return Some(0);
    }
    if views.iter().any(|view| Opcode::of_view(view).facts().semantics(view) == Semantics::Control) {
        return None;
    }
    let flops: f64 = views.iter().map(|view| Opcode::of_view(view).facts().cost(view).flops).sum();
    // A cast from a float saturates.
    Some(flops.round() as u64)
}

fn sharding(view: &OpView<'_>) -> Option<String> {
    let first = *view.results().first()?;
    view.body.sharding(first).map(|sharding| sharding.to_string())
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::parse;
    use shardwise_base::{Account, Budget, CancelToken, Literal};
    use shardwise_engine::{Argument, Engine, NumberChecks, RunProfile, Signature};
    use shardwise_view::{LaneKind, SpanKind};

    fn profile(source: &str) -> RunProfile {
        let budget = Budget::new(Account::with_limit(1 << 30), None, CancelToken::default());
        budget.run(|| profile_here(source, NumberChecks::default())).expect("it ends")
    }

    fn profile_here(source: &str, checks: NumberChecks) -> RunProfile {
        let module = parse(source);
        let engine = HostEngine::default();
        let program = engine.compile_checked(&module, checks).unwrap_or_else(|e| panic!("{e}"));
        let types = Signature::of(module.main().expect("a function")).expect("arrays only").inputs;
        let zeros = |ty: &shardwise_engine::ShardedType| Literal::zeros(ty.ty.dtype, ty.ty.shape.clone());
        let args = types.iter().map(|ty| Argument::Lent(engine.put(&zeros(ty), ty).expect("it fits")));
        program.profile(args.collect()).expect("it runs").1
    }

    const CHAIN: &str = "func.func @main(%x: tensor<512x256xf32>, %y: tensor<256x128xf32>) -> tensor<512x128xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, tensor<256x128xf32>) -> tensor<512x128xf32>
  %1 = stablehlo.add %0, %0 : tensor<512x128xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<512x128xf32>
  return %2 : tensor<512x128xf32>
}";

    #[test]
    fn instructions_know_their_work() {
        let profile = profile(CHAIN);
        let [dot, fused] = &profile.instructions[..] else { panic!("{:?}", profile.instructions) };
        // 2 x 512 x 256 x 128 flops, and 4 bytes for each of 512 x 256 + 256 x 128 + 512 x 128 elements.
        assert_eq!((dot.flops, dot.memory_bytes), (Some(33_554_432), Some(917_504)));
        assert_eq!((&dot.ops[..], &dot.after[..]), (&["stablehlo.dot_general".to_string()][..], &[][..]));
        // Two operations for each of 512 x 128 elements, which are read and written.
        assert_eq!((fused.flops, fused.memory_bytes), (Some(131_072), Some(524_288)));
        assert_eq!((fused.ops.len(), &fused.after[..]), (2, &[0][..]));
        let named = |bytes: u64| profile.at_peak.iter().any(|part| part.bytes == bytes);
        // The peak is that of the product: both arguments and the result.
        assert!(named(524_288) && named(131_072) && named(262_144), "{:?}", profile.at_peak);
        assert_eq!(profile.at_peak.iter().map(|part| part.bytes).sum::<u64>(), 917_504);
        assert_eq!(profile.runs.iter().map(|run| run.peak_bytes).max(), Some(917_504));
    }

    /// Tests that the checks of numbers before and after each of three ops are instructions of their own.
    #[test]
    fn checks_of_numbers_have_names_and_no_flops() {
        let profile = profile_here(CHAIN, NumberChecks { nans: true, infs: true });
        let checks = profile.instructions.iter().filter(|own| own.name.starts_with("check("));
        let checks: Vec<(&str, Option<u64>)> = checks.map(|own| (&*own.name, own.flops)).collect();
        let names = ["check(dot_general)", "check(add)", "check(multiply)"];
        assert_eq!(checks, names.map(|name| [(name, Some(0u64)); 2]).concat());
        let all = profile.instructions.iter().filter_map(|own| own.flops).sum::<u64>();
        assert_eq!(all, 33_554_432 + 131_072);
    }

    #[test]
    fn workers_have_shares_of_the_work() {
        let profile = profile(CHAIN);
        let timeline = profile.timeline("chain");
        assert_eq!(timeline.check(), Ok(()));
        let flops = |kind: LaneKind| -> u64 {
            let own = timeline.spans.iter().filter(|span| timeline.lanes[span.lane].kind == kind);
            own.filter_map(|span| span.work.flops).sum()
        };
        assert_eq!(flops(LaneKind::Program), 33_554_432 + 131_072);
        assert_eq!(flops(LaneKind::Worker), flops(LaneKind::Program));
        assert!(!timeline.critical_path().is_empty());
    }

    /// Tests that a view through which a kernel reads, and an op whose result nothing reads, are no instructions.
    #[test]
    fn steps_that_are_left_out_have_no_totals() {
        let counts = |source: &str| -> Vec<(String, u64)> {
            let profile = profile(source);
            let all = profile.instructions.iter().zip(&profile.totals);
            all.map(|(own, total)| (own.name.clone(), total.count)).collect()
        };
        let found = counts(
            "func.func @main(%x: tensor<512x256xf32>, %y: tensor<256x128xf32>) -> tensor<128x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, tensor<256x128xf32>) -> tensor<512x128xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<512x128xf32>) -> tensor<128x512xf32>
  %2 = stablehlo.add %1, %1 : tensor<128x512xf32>
  return %2 : tensor<128x512xf32>
}",
        );
        assert_eq!(found, ["stablehlo.dot_general", "stablehlo.add"].map(|name| (name.to_string(), 1u64)));
        let found = counts(
            "func.func @main(%x: tensor<20000xf32>) -> tensor<20000xf32> {
  %0 = stablehlo.add %x, %x : tensor<20000xf32>
  return %x : tensor<20000xf32>
}",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// Tests a loop inside of another one. It starts with a value of the outer loop's carry, which is first made in
    /// front of the outer loop and then by its body.
    #[test]
    fn inner_loops_wait_for_the_carries_of_outer_loops() {
        let turns = |name: &str, i: &str, body: &str| {
            format!(
                "%{name}:2 = stablehlo.while({i}) : tensor<i32>, tensor<20000xf32>
  cond {{
    %c{name} = stablehlo.compare LT, %i{name}, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c{name} : tensor<i1>
  }} do {{
    {body}
    %j{name} = stablehlo.add %i{name}, %o : tensor<i32>
    stablehlo.return %j{name}, %b{name} : tensor<i32>, tensor<20000xf32>
  }}"
            )
        };
        let inner = turns("in", "%iin = %z, %ain = %aout", "%bin = stablehlo.sine %ain : tensor<20000xf32>");
        let body = format!("{inner}\n%bout = stablehlo.tanh %in#1 : tensor<20000xf32>");
        let outer = turns("out", "%iout = %z, %aout = %first", &body);
        let source = format!(
            "func.func @main(%x: tensor<20000xf32>, %z: tensor<i32>, %n: tensor<i32>, %o: tensor<i32>) -> tensor<20000xf32> {{
  %first = stablehlo.cosine %x : tensor<20000xf32>
  {outer}
  return %out#1 : tensor<20000xf32>
}}"
        );
        let profile = profile(&source);
        let names: Vec<&str> = profile.instructions.iter().map(|i| &*i.name).collect();
        let named = |name: &str| names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{names:?}"));
        assert_eq!(
            profile.instructions[named("stablehlo.sine")].after,
            [named("stablehlo.cosine"), named("stablehlo.tanh")],
            "{names:?}"
        );
        assert_eq!(profile.instructions[named("stablehlo.tanh")].after.len(), 1, "{names:?}");
    }

    #[test]
    fn a_loop_of_small_instructions_is_one_span_with_counts() {
        let source = "func.func @main(%x: tensor<i32>, %y: tensor<40xi32>) -> tensor<40xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<100> : tensor<i32>
  %r:2 = stablehlo.while(%i = %z, %a = %y) : tensor<i32>, tensor<40xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %o : tensor<i32>
    %b:2 = chlo.top_k(%a, k = 40) : tensor<40xi32> -> (tensor<40xi32>, tensor<40xi32>)
    stablehlo.return %j, %b#1 : tensor<i32>, tensor<40xi32>
  }
  %2 = stablehlo.negate %r#1 : tensor<40xi32>
  %3 = stablehlo.reverse %2, dims = [0] : tensor<40xi32>
  return %3 : tensor<40xi32>
}";
        let profile = profile(source);
        let timeline = profile.timeline("loop");
        assert_eq!(timeline.check(), Ok(()));
        let own = timeline.spans.iter().filter(|span| timeline.lanes[span.lane].kind == LaneKind::Program);
        let seen: Vec<(SpanKind, u64)> = own.map(|span| (span.kind, span.runs)).collect();
        // 101 conditions, and two instructions in each of 100 turns.
        let after = seen[2].1;
        assert_eq!(seen, [(SpanKind::Control, 1), (SpanKind::Compute, 301), (SpanKind::Compute, after)]);
        assert_eq!(profile.totals.iter().map(|total| total.count).sum::<u64>(), 1 + 301 + after);
        assert!(timeline.notes.is_empty(), "{:?}", timeline.notes);
    }

    #[test]
    fn a_run_of_small_ops_is_one_instruction_with_all_of_them() {
        let source = "func.func @main(%x: tensor<i32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = stablehlo.while(%i = %x, %a = %y) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<100> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %o : tensor<i32>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  %3 = stablehlo.reverse %r#1, dims = [0] : tensor<4xf32>
  return %3 : tensor<4xf32>
}";
        let profile = profile(source);
        let [run] = &profile.instructions[..] else { panic!("{:?}", profile.instructions) };
        assert_eq!((&run.name[..], profile.totals[0].count, run.flops), ("small(while, reverse)", 1, None));
        assert_eq!(run.ops, ["stablehlo.while", "stablehlo.reverse"]);
        assert_eq!(profile.timeline("loop").check(), Ok(()));
    }
}
