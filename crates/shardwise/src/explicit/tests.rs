//! Tests the examples of the op table with simple layouts: a clear layout moves nothing, and a moving one really moves
//! data. Among the ops that are left out are collectives, those that types do not describe, and those without operands,
//! or whose examples have meshes.

use super::*;
use crate::runtime;
use shardwise_ir::{Module, OpView};
use shardwise_ops::{ExplicitPolicy, OPS, Semantics};
use shardwise_sharding::Factor;

/// Returns the module of the table's example and the op in it, or `None` if the test does not apply to it.
fn example(opcode: Opcode) -> Option<(Module, Op)> {
    let text = opcode.facts().example(opcode);
    let module = shardwise_ir::text::parse("example", text, &OPS).expect("an example parses");
    let main = module.func("main")?;
    let op = main.body.walk().into_iter().find(|&op| Opcode::of_view(&module.view(&main.body, op)) == opcode)?;
    (module.meshes.is_empty() && main.body.op(op).results.iter().all(|&v| main.body.ty(v).as_tensor().is_some()))
        .then_some((module, op))
}

/// For each operand, the axes of its dimensions.
type Layouts = Vec<Layout>;

/// Returns layouts of the operands in which nothing is split, one dimension of one operand is split by one axis, or the
/// first dimension with one factor is split in each operand. Empty dimensions and those that the axis does not divide
/// are not split.
fn layouts(mesh: &shardwise_base::Mesh, view: &OpView<'_>) -> Vec<Layouts> {
    let shapes: Vec<&[usize]> = view.operands().iter().map(|&v| view.body.ty(v).shape()).collect();
    let whole: Layouts = shapes.iter().map(|s| vec![AxisList::new(); s.len()]).collect();
    let mut out = vec![whole.clone()];
    for axis in mesh.all_axes() {
        let fits = |o: usize, d: usize| shapes[o][d] > 0 && shapes[o][d].is_multiple_of(axis.size(mesh));
        let mut add = |places: Vec<(usize, usize)>| {
            let mut layouts = whole.clone();
            places.iter().filter(|&&(o, d)| fits(o, d)).for_each(|&(o, d)| layouts[o][d].push(axis));
            if !out.contains(&layouts) {
                out.push(layouts);
            }
        };
        for (o, shape) in shapes.iter().enumerate() {
            (0..shape.len()).for_each(|d| add(vec![(o, d)]));
        }
        let rule = Opcode::of_view(view).facts().rule(view);
        let Some(rule) = rule.rule() else { continue };
        let holders = |f: Factor| {
            let of = |(o, m): (usize, &shardwise_sharding::Mapping)| {
                m.dims.iter().position(|d| d.contains(&f)).map(|d| (o, d))
            };
            rule.operands.iter().enumerate().filter_map(of).collect()
        };
        rule.all_factors().for_each(|f| add(holders(f)));
    }
    out
}

#[test]
fn what_is_clear_moves_nothing() {
    let mesh = crate::Mesh::explicit([("X", 2), ("Y", 3)]).unwrap().communication(Communicate::Allow);
    let state = State::new(Some(&mesh));
    let (mut clear, mut moving, mut wrong, mut ops) = (0, 0, vec![], 0);
    for &opcode in Opcode::ALL {
        let Some((module, op)) = example(opcode) else { continue };
        let main = module.func("main").expect("seen above");
        let view = module.view(&main.body, op);
        let facts = opcode.facts();
        let is_placed = view.operands().iter().all(|&v| main.body.def_op(v).is_none());
        // It reads only the operand's type, and array functions do not use it.
        let is_known = opcode == Opcode::GetDimensionSize;
        // Collectives are typed in per-device code only, and their examples name devices.
        let is_collective = facts.semantics(&view) == Semantics::Collective;
        if matches!(facts.explicit(&view), ExplicitPolicy::Not(_))
            || is_known
            || is_collective
            || !is_placed
            || view.operands().is_empty()
        {
            continue;
        }
        ops += 1;
        for layouts in layouts(&mesh.0, &view) {
            let mut module = module.clone();
            let main = module.funcs.iter_mut().find(|f| &*f.name == "main").expect("seen above");
            for (&v, layout) in view.operands().iter().zip(&layouts) {
                main.body.value_mut(v).sharding = Some(state.sharding(layout, Sums::default()));
            }
            let main = module.func("main").expect("seen above").clone();
            let (candidates, verdict) = match type_op(&state, 0, &module.view(&main.body, op)) {
                Ok(Typed::Clear(candidates)) => (candidates.all(), Verdict::Clear),
                Ok(Typed::Pending(candidates, cause)) => match &cause.why {
                    Why::Verdict(verdict) => (candidates.all(), verdict.clone()),
                    Why::Made => continue,
                },
                Ok(Typed::Free) | Err(_) => continue,
            };
            let shown = || format!("{}: {layouts:?}, {verdict:?}", opcode.name());
            for (i, candidate) in candidates.iter().enumerate() {
                let mut module = module.clone();
                module.meshes.push(mesh.0.clone());
                let main = module.funcs.iter_mut().find(|f| &*f.name == "main").expect("seen above");
                for (&v, sharding) in view.results().iter().zip(candidate) {
                    main.body.value_mut(v).sharding = Some(sharding.clone());
                }
                let returned = main.body.walk().last().copied().map(|r| main.body.op(r).operands.to_vec());
                main.result_shardings =
                    returned.unwrap_or_default().iter().map(|&v| main.body.sharding(v).cloned()).collect();
                let is_silent = match runtime::table(&module) {
                    Ok(table) => table.rows.is_empty(),
                    Err(e) => {
                        wrong.push(format!("{}: cannot be partitioned: {e}", shown()));
                        continue;
                    }
                };
                match (&verdict, is_silent) {
                    (Verdict::Clear, true) => clear += 1,
                    (Verdict::Moves(_), false) => moving += 1,
                    (Verdict::Clear, false) => wrong.push(format!("{}: it communicates", shown())),
                    (Verdict::Moves(_), true) if i == 0 => wrong.push(format!("{}: it moves nothing", shown())),
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {clear} clear and {moving} moving ones\n{}", wrong.len(), wrong.join("\n"));
    assert!(ops > 60 && clear > 200 && moving > 40, "{ops} ops, {clear} clear, {moving} moving");
}
