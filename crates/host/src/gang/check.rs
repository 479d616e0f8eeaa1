//! Checks a plan before it runs: the values that every step reads and writes must have the sizes that the step relies
//! on.
//!
//! Each buffer that is put into a slot is compared with the slot's type at that time ([`Run`](super::Run)). For
//! steps that pass buffers from slot to slot, both types are compared here, once.

use crate::plan::*;
use shardwise_base::{DType, Diagnostic};

/// Checks a plan.
///
/// # Errors
/// Returns a diagnostic for the first step that is inconsistent. Its cause is a bug of the planner or a module that is
/// not valid.
///
/// # Panics
/// Panics if the buffers of a constant do not match its slot in number or size.
pub fn check(plan: &Plan) -> Result<(), Diagnostic> {
    for (slot, buffers) in &plan.constants {
        let info = &plan.slots[*slot];
        assert_eq!(buffers.len(), info.count, "a constant has a buffer for each instance");
        assert!(buffers.iter().all(|b| b.len() == info.bytes), "a constant has the bytes of its type");
    }
    code(plan, &plan.code)
}

fn code(plan: &Plan, block: &Code) -> Result<(), Diagnostic> {
    block.steps.iter().try_for_each(|s| {
        let found = inputs(plan, s).and_then(|()| kind(plan, s));
        found.map_err(|what| inconsistent(s, &what))?;
        s.kind.blocks().into_iter().try_for_each(|inner| code(plan, inner))
    })
}

fn inputs(plan: &Plan, step: &Step) -> Result<(), String> {
    let count = step.points.count();
    for (i, input) in step.inputs.iter().enumerate() {
        let held = plan.slots[input.slot].count;
        if input.map.len() != count || input.map.iter().any(|&at| at as usize >= held) {
            return Err(format!(
                "has {count} instances and reads instances {:?} of operand {i}, which has {held}",
                input.map
            ));
        }
    }
    Ok(())
}

fn kind(plan: &Plan, step: &Step) -> Result<(), String> {
    let read: Vec<Slot> = step.inputs.iter().map(|i| i.slot).collect();
    match &step.kind {
        StepKind::Evaluate { .. } | StepKind::Kernel(_) => computed(plan, step),
        StepKind::Watch(_) => Ok(()),
        StepKind::Alias => equal(plan, "result", &read, &step.outputs, |a, b| a.bytes == b.bytes),
        StepKind::Exchange { members, .. } => {
            exchanged(plan, step, members)?;
            computed(plan, step)
        }
        StepKind::Permute(sources) => {
            let Some(&from) = read.first() else {
                return Err("has no operand whose instances it could receive".to_string());
            };
            let held = plan.slots[from].count;
            if sources.iter().flatten().any(|&s| s as usize >= held) {
                return Err(format!("receives from instances {sources:?} of an operand that has {held} instances"));
            }
            computed(plan, step)?;
            equal(plan, "result", &read, &step.outputs, SlotInfo::has_type_of)
        }
        StepKind::While { cond, body, .. } => {
            equal(plan, "body's parameter", &read, &body.params, SlotInfo::has_type_of)?;
            equal(plan, "condition's parameter", &body.params, &cond.params, SlotInfo::has_type_of)?;
            equal(plan, "next round's parameter", &body.results, &body.params, SlotInfo::has_type_of)?;
            equal(plan, "result", &body.params, &step.outputs, SlotInfo::has_type_of)?;
            decides(plan, &cond.results, &[DType::I1])
        }
        StepKind::Case { branches, is_if, .. } => {
            decides(plan, &read, if *is_if { &[DType::I1] } else { &[DType::I32] })?;
            if branches.is_empty() || *is_if && branches.len() != 2 {
                let needed = if *is_if { "2" } else { "at least 1" };
                return Err(format!("has {} branches, but needs {needed}", branches.len()));
            }
            branches.iter().try_for_each(|b| equal(plan, "result", &b.results, &step.outputs, SlotInfo::has_type_of))
        }
    }
}

fn exchanged(plan: &Plan, step: &Step, members: &Members) -> Result<(), String> {
    let held = step.inputs.first().map_or(0, |input| plan.slots[input.slot].count);
    let fits = |(group, &position): (&Group, &usize)| {
        (position < group.len() || group.is_empty()) && group.iter().all(|&m| (m as usize) < held)
    };
    let counts = [members.groups.len(), members.positions.len(), members.firsts.len()];
    let count = step.points.count();
    if counts != [count; 3]
        || members.firsts.iter().any(|&first| first >= count)
        || !members.groups.iter().zip(&members.positions).all(fits)
    {
        return Err(format!(
            "exchanges {held} instances of its operand for {count} of its result by groups {:?}, positions {:?} and \
             first instances {:?}, which do not fit",
            members.groups, members.positions, members.firsts
        ));
    }
    Ok(())
}

fn computed(plan: &Plan, step: &Step) -> Result<(), String> {
    let differs = |&&slot: &&Slot| plan.slots[slot].points != step.points;
    match step.outputs.iter().find(differs) {
        None => Ok(()),
        Some(slot) => {
            let axes = &plan.slots[*slot].points.axes;
            Err(format!("computes instances over the axes {:?} for a result over the axes {axes:?}", step.points.axes))
        }
    }
}

/// Fails if `from` and `to` have different lengths, or if `fits` refuses a slot of `from` and the one to which its
/// value is passed. Messages call the slots of `to` by the name `what`.
fn equal(
    plan: &Plan,
    what: &str,
    from: &[Slot],
    to: &[Slot],
    fits: impl Fn(&SlotInfo, &SlotInfo) -> bool,
) -> Result<(), String> {
    if from.len() != to.len() {
        return Err(format!(
            "passes on {} values, and there are {} places of the kind `{what}` for them",
            from.len(),
            to.len()
        ));
    }
    let mut pairs = from.iter().zip(to).map(|(&f, &t)| (&plan.slots[f], &plan.slots[t]));
    match pairs.position(|(f, t)| !fits(f, t)) {
        None => Ok(()),
        Some(i) => {
            let [from, to] = [from[i], to[i]].map(|s| plan.slots[s].ty.short());
            Err(format!("passes on {from} as the {what} number {i}, which has type {to}"))
        }
    }
}

fn decides(plan: &Plan, slots: &[Slot], dtypes: &[DType]) -> Result<(), String> {
    let Some(slot) = slots.first() else { return Err("has no value that decides what runs".to_string()) };
    let ty = &plan.slots[*slot].ty;
    if ty.shape.is_empty() && dtypes.contains(&ty.dtype) {
        return Ok(());
    }
    Err(format!("decides by a value of type {}, and not by a scalar of type {}", ty.short(), dtypes[0]))
}

fn inconsistent(step: &Step, what: &str) -> Diagnostic {
    let message = format!("cannot compile `{}` for this engine: its plan is inconsistent: it {what}", step.name);
    Diagnostic::error("run-inconsistent", &step.loc, message)
        .help("this is a bug of the planner, or a module that is not valid was given to the engine: please report it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gang::{Options, lower};
    use crate::kernels::testing::parse;
    use crate::memory::Memory;
    use shardwise_engine::NumberChecks;

    const PROGRAM: &str = "func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %p: tensor<i1>) -> tensor<4xf32> {
  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<4xf32> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %2 = stablehlo.tanh %y : tensor<4xf32>
    stablehlo.return %i, %2 : tensor<i32>, tensor<4xf32>
  }
  %1 = \"stablehlo.if\"(%p) ({ stablehlo.return %x : tensor<4xf32> }, { stablehlo.return %0#1 : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}";

    fn found(change: impl FnOnce(&mut Plan)) -> String {
        let module = parse(PROGRAM);
        let options = Options { runs_small: false, checks: NumberChecks::default() };
        let mut plan = lower(&module, module.main().unwrap(), &Memory::default(), options).unwrap();
        change(&mut plan);
        check(&plan).map_or_else(|d| d.message, |()| "nothing".to_string())
    }

    fn loop_body(plan: &mut Plan) -> &mut Code {
        match &mut plan.code.steps[0].kind {
            StepKind::While { body, .. } => body,
            _ => panic!("a loop"),
        }
    }

    #[test]
    fn inconsistent_plans_are_refused() {
        assert_eq!(found(|_| ()), "nothing");
        let text = found(|plan| plan.code.steps[1].inputs[0].map = vec![7]);
        assert!(text.contains("has 1 instances and reads instances [7] of operand 0, which has 1"), "{text}");
        let text = found(|plan| loop_body(plan).results.swap(0, 1));
        assert!(text.contains("passes on f32[4] as the next round's parameter number 0, which has"), "{text}");
        let text = found(|plan| loop_body(plan).results.truncate(1));
        assert!(text.contains("passes on 1 values"), "{text}");
        let slot = |plan: &Plan| Input::new(plan.params[0], vec![0]);
        let text = found(|plan| plan.code.steps[1].inputs[0] = slot(plan));
        assert!(text.contains("decides by a value of type f32[4]"), "{text}");
        let text = found(|plan| {
            let step = &mut loop_body(plan).steps[0];
            step.kind = StepKind::Permute(vec![Some(0)]);
            step.inputs.clear();
        });
        assert!(text.contains("has no operand whose instances it could receive"), "{text}");
        let mesh = shardwise_base::Mesh::new("mesh", [("x", 2)]).map(std::sync::Arc::new).unwrap();
        let all = Points::over(Some(&mesh), mesh.all_axes());
        let text = found(|plan| loop_body(plan).steps[0].points = all);
        assert!(text.contains("has 2 instances and reads instances [0]"), "{text}");
    }
}
