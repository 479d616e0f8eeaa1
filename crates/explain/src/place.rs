//! The specs of a program that can be changed, and the programs with one changed spec.

use shardwise_base::{AxisRef, Loc, Mesh, Sharding};
use shardwise_ir::{Attrs, Body, Builder, Func, FuncId, Module, Op, Region, TensorType, Value};
use shardwise_ops::Opcode;
use shardwise_ops::shardy::{ShardyCollective, manual_axes};
use std::collections::HashSet;
use std::sync::Arc;

/// A place of a program that states a layout, or could state one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// The argument of the main function at this position.
    Argument(usize),
    /// The result of the main function at this position.
    Result(usize),
    /// An `sdy.sharding_constraint` of a function.
    Constraint(FuncId, Op),
    /// A new constraint on the first result of an op.
    After(FuncId, Op),
}

/// Another layout at one place of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The place whose layout changes.
    pub place: Place,
    /// The new layout, or `None` to state none at this place.
    pub layout: Option<Sharding>,
}

/// A place, with the facts about its value that the program states.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The place.
    pub place: Place,
    /// The type of the value in the program. In a manual computation, it is the one of a device along the manual axes.
    pub ty: TensorType,
    /// The layout that the program states, or `None` if it states none.
    pub stated: Option<Sharding>,
    /// The location of the place in the source. If the place is an argument with a name, this is the location's scope.
    pub loc: Loc,
    /// The axes that no layout at this place may use, because the place is in a manual computation over them.
    pub manual: Vec<AxisRef>,
}

/// Returns the specs of a program that can be changed: those of its arguments and results, and of the constraints in
/// all of its functions. Arrays without dimensions have no layout, and are left out.
pub fn specs(module: &Module) -> Vec<Spec> {
    let Some((_, main)) = main_of(module) else { return vec![] };
    let mut found: Vec<Spec> = vec![];
    for (i, &v) in main.body.args().iter().enumerate() {
        let (stated, loc) = (main.body.sharding(v).cloned(), main.body[v].loc.clone());
        found.extend(spec(Place::Argument(i), tensor(&main.body, v), stated, loc));
    }
    let returned = main.body.results().iter();
    for (i, (&v, stated)) in returned.zip(&main.result_shardings).enumerate() {
        found.extend(spec(Place::Result(i), tensor(&main.body, v), stated.clone(), main.body[v].loc.clone()));
    }
    for (i, func) in module.funcs.iter().enumerate() {
        constraints(module, func, FuncId::new(i), func.body.entry(), &[], &mut found);
    }
    found
}

/// Adds the constraints of a region, and of the regions inside of it, which are per device along the axes `manual`.
fn constraints(module: &Module, func: &Func, id: FuncId, region: Region, manual: &[AxisRef], found: &mut Vec<Spec>) {
    for &op in &func.body[region].ops {
        let view = module.view(&func.body, op);
        if Opcode::of_view(&view) == Opcode::ShardingConstraint {
            let stated = view.result_sharding(0).cloned();
            let made = spec(Place::Constraint(id, op), tensor(&func.body, view.result(0)), stated, view.loc().clone());
            found.extend(made.map(|spec| Spec { manual: manual.to_vec(), ..spec }));
        }
        let inner: Vec<AxisRef> = manual.iter().chain(manual_axes(&view)).copied().collect();
        for &region in view.regions() {
            constraints(module, func, id, region, &inner, found);
        }
    }
}

fn tensor(body: &Body, v: Value) -> Option<&TensorType> {
    body.ty(v).as_tensor()
}

/// The values that Shardy's collectives of a source read. Such a collective states how it changes the layout of its
/// operand, so that the source with another layout of the operand is not valid.
pub(crate) struct Required(HashSet<(FuncId, Value)>);

impl Required {
    /// Finds the values in `program`, which is `source` after [`shardwise_spmd::prepare`]. That function replaces the
    /// collectives by reshards at the same locations.
    pub fn of(program: &Module, source: &Module) -> Required {
        let mut locs: HashSet<&Loc> = HashSet::new();
        for func in &source.funcs {
            let views = func.body.walk().into_iter().map(|op| source.view(&func.body, op));
            locs.extend(views.filter(|view| ShardyCollective::of(view).is_some()).map(|view| view.loc()));
        }
        let mut values = HashSet::new();
        for (i, func) in program.funcs.iter().enumerate() {
            let views = func.body.walk().into_iter().map(|op| program.view(&func.body, op));
            let made = views.filter(|view| Opcode::of_view(view) == Opcode::Reshard && locs.contains(view.loc()));
            values.extend(made.map(|view| (FuncId::new(i), view.operand(0))));
        }
        Required(values)
    }

    /// Returns true if a collective reads the value whose layout the place states.
    pub fn includes(&self, program: &Module, place: Place) -> bool {
        let read = |func: FuncId, v: Option<&Value>| v.is_some_and(|&v| self.0.contains(&(func, v)));
        match place {
            Place::Argument(i) => main_of(program).is_some_and(|(id, main)| read(id, main.body.args().get(i))),
            // What a function returns may have another layout than its result.
            Place::Result(_) => false,
            Place::Constraint(func, op) | Place::After(func, op) => read(func, program[func].body[op].results.first()),
        }
    }
}

pub(crate) fn spec(place: Place, ty: Option<&TensorType>, stated: Option<Sharding>, loc: Loc) -> Option<Spec> {
    let ty = ty.filter(|ty| ty.rank() > 0)?.clone();
    Some(Spec { place, ty, stated, loc, manual: vec![] })
}

pub(crate) fn main_of(module: &Module) -> Option<(FuncId, &Func)> {
    let main = module.main()?;
    Some((module.func_id(&main.name)?, main))
}

impl Change {
    /// Returns the program with this change. For a constraint, no layout means that the constraint is removed. A
    /// position that no argument or result has changes nothing. Neither does stating no layout after an op, or any
    /// layout after an op that is in no region of its function.
    ///
    /// # Panics
    /// Panics if the place names a function that the program does not have, or an op without a result. Also panics if
    /// the op of a [`Place::Constraint`] has no operand or does not exist.
    pub fn apply(&self, module: &Module) -> Module {
        let mut out = module.clone();
        let Some((main, _)) = main_of(module) else { return out };
        match self.place {
            Place::Argument(i) => {
                let body = &mut out.funcs[main.index()].body;
                if let Some(&v) = body.args().get(i) {
                    body.value_mut(v).sharding = self.layout.clone();
                }
            }
            Place::Result(i) => {
                if let Some(stated) = out.funcs[main.index()].result_shardings.get_mut(i) {
                    *stated = self.layout.clone();
                }
            }
            Place::Constraint(func, op) => constrain(&mut out.funcs[func.index()].body, op, self.layout.as_ref()),
            Place::After(func, op) => {
                if let Some(layout) = &self.layout {
                    constrain_after(&mut out.funcs[func.index()].body, op, layout);
                }
            }
        }
        out
    }
}

fn constrain(body: &mut Body, op: Op, layout: Option<&Sharding>) {
    let (operand, result) = (body[op].operands[0], body[op].results[0]);
    if let Some(layout) = layout {
        body.value_mut(result).sharding = Some(layout.clone());
        return;
    }
    replace_uses(body, result, operand, op);
    if let Some(region) = region_of(body, op) {
        body.region_mut(region).ops.retain(|&other| other != op);
    }
}

/// Adds a constraint directly after an op. All other uses of the op's first result use the constraint's.
fn constrain_after(body: &mut Body, op: Op, layout: &Sharding) {
    let Some(region) = region_of(body, op) else { return };
    let (v, loc) = (body[op].results[0], body[op].loc.clone());
    let ty = body.ty(v).clone();
    let mut builder = Builder::at(body, region, loc);
    let made = builder.op(Opcode::ShardingConstraint, [v], Attrs::new(), [ty]);
    let result = body[made].results[0];
    body.value_mut(result).sharding = Some(layout.clone());
    replace_uses(body, v, result, made);
    let ops = &mut body.region_mut(region).ops;
    ops.pop();
    let at = ops.iter().position(|&other| other == op).map_or(ops.len(), |at| at + 1);
    ops.insert(at, made);
}

fn replace_uses(body: &mut Body, from: Value, to: Value, except: Op) {
    for op in body.walk() {
        if op != except && body[op].operands.contains(&from) {
            body.op_mut(op).operands.iter_mut().filter(|v| **v == from).for_each(|v| *v = to);
        }
    }
}

fn region_of(body: &Body, op: Op) -> Option<Region> {
    (0..body.region_count()).map(Region::new).find(|&region| body[region].ops.contains(&op))
}

/// Returns the ops whose first results can get a constraint: those outside of manual computations, with one result that
/// has dimensions. Constraints and manual computations themselves are left out.
pub(crate) fn open_ops(module: &Module, func: &Func) -> Vec<Op> {
    let mut found = vec![];
    collect_open(module, func, func.body.entry(), &mut found);
    found
}

fn collect_open(module: &Module, func: &Func, region: Region, found: &mut Vec<Op>) {
    for &op in &func.body[region].ops {
        let view = module.view(&func.body, op);
        let opcode = Opcode::of_view(&view);
        if opcode == Opcode::ManualComputation {
            continue;
        }
        let has_layout = |&v: &Value| tensor(&func.body, v).is_some_and(|ty| ty.rank() > 0);
        if opcode != Opcode::ShardingConstraint && view.results().len() == 1 && view.results().iter().all(has_layout) {
            found.push(op);
        }
        view.regions().iter().for_each(|&inner| collect_open(module, func, inner, found));
    }
}

/// Returns a layout as the macro `P!` of Rust programs writes it: `P!("x", None)`. Open dimensions without axes are
/// `_`, and those with axes are written as closed ones. Unreduced axes follow as in `.unreduced("x")`. Priorities and
/// replicated axes are left out.
pub fn rust_spec(layout: &Sharding) -> String {
    let name = |mesh: &Arc<Mesh>, a: &AxisRef| match a.sub {
        None => format!("{:?}", mesh.axis_name(a.axis)),
        Some(sub) => format!("\"{}:{sub}\"", mesh.axis_name(a.axis)),
    };
    let names = |axes: &[AxisRef]| axes.iter().map(|a| name(&layout.mesh, a)).collect::<Vec<_>>();
    let dims = layout.dims.iter().map(|dim| match &names(&dim.axes)[..] {
        [] if dim.is_open => "_".to_string(),
        [] => "None".to_string(),
        names => listed(names),
    });
    let spec = format!("P!({})", dims.collect::<Vec<_>>().join(", "));
    match &names(&layout.unreduced)[..] {
        [] => spec,
        names => format!("{spec}.unreduced({})", listed(names)),
    }
}

/// Returns names as one expression of Rust that `P!` accepts: a name, a tuple of two or three names, or a slice of
/// more.
fn listed(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [_, _] | [_, _, _] => format!("({})", names.join(", ")),
        _ => format!("&[{}][..]", names.join(", ")),
    }
}
