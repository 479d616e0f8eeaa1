//! Copies of functions: each op is added to the active trace as if the program had called it, so that Explicit mode
//! types it, and values of per-device code get their states along the manual axes.

use crate::function::At;
use crate::layout::{decided_or_constrained, settle};
use crate::manual::{ManualType, Scope};
use crate::transform::remat::composite;
use crate::{Array, context, explicit, hlo, trace};
use shardwise_base::{AxisRef, EntityVec, Sharding};
use shardwise_ir::{Body, Cloner, Func, Op, OpData, Region, TensorType, Value};
use shardwise_ops::Opcode;
use shardwise_ops::remat;
use shardwise_ops::shardy::manual_mesh_axes_in;
use shardwise_transform::States;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

pub(crate) fn copy(func: &Func, args: &[Array], at: At) -> Vec<Array> {
    let states = trace::with(|t| States::of(&t.module, &func.body)).expect("a trace has one mesh");
    let values = EntityVec::filled(func.body.value_count(), None);
    let mut copier = Copier { body: &func.body, states, values, started: HashMap::new() };
    for (&v, a) in func.body.args().iter().zip(args) {
        copier.values[v] = Some(a.in_state(copier.state(v)));
    }
    context::within(at, || copier.ops(func.body.entry()));
    copier.arrays(func.body.results())
}

struct Copier<'s> {
    body: &'s Body,
    /// The states of the values, or `None` if there is no per-device code.
    states: Option<States>,
    values: EntityVec<Value, Option<Array>>,
    /// The ops that were started, by their futures.
    started: HashMap<Value, hlo::Future>,
}

impl Copier<'_> {
    fn arrays(&self, values: &[Value]) -> Vec<Array> {
        values.iter().map(|&v| self.values[v].clone().expect("ops are copied in order")).collect()
    }

    fn state(&self, v: Value) -> Option<ManualType> {
        let scope = trace::with(|t| t.scope())?;
        let states = self.states.as_ref()?.values[v].clone();
        Some(ManualType { scope, states })
    }

    /// Records `array` as the copy of value `v`, with the states that `v` has in the function, and with its layout as
    /// [`laid_out`] sets it.
    fn set(&mut self, v: Value, array: &Array) {
        let array = match self.state(v) {
            Some(state) => array.made_in(Some(state)),
            None => array.clone(),
        };
        self.values[v] = Some(match self.body.sharding(v) {
            Some(sharding) => laid_out(&array, sharding),
            None => array,
        });
    }

    fn ops(&mut self, region: Region) {
        let ops = &self.body[region].ops;
        for &op in &ops[..ops.len().saturating_sub(1)] {
            context::copying(&self.body[op].loc, || self.op(op));
        }
    }

    fn op(&mut self, op: Op) {
        let data = &self.body[op];
        match Opcode::of(data.code) {
            Opcode::ManualComputation => return self.manual(data),
            Opcode::NamedComputation => return self.named(op),
            Opcode::AsyncStart => return self.start(data),
            Opcode::AsyncDone => return self.finish(data),
            Opcode::ShardingConstraint if explicit::is_typing() => return self.constraint(data),
            _ => {}
        }
        let operands = self.arrays(&data.operands);
        let given: Vec<&Array> = operands.iter().collect();
        let opcode = Opcode::of(data.code);
        let layouts: Vec<_> = given.iter().map(|a| explicit::layout(a)).collect();
        let is_loop = opcode == Opcode::While;
        let regions = data.regions.iter().map(|&r| self.region(r, if is_loop { &layouts } else { &[] })).collect();
        let states: Vec<_> = data.results.iter().map(|&v| self.state(v)).collect();
        let made = hlo::op_in(opcode, &given, data.attrs.clone(), regions, &self.types(&data.results), &states);
        let made = match opcode {
            Opcode::While => explicit::lay(&made, &layouts),
            // Explicit mode does not type the function that it runs.
            Opcode::Composite if explicit::is_typing() => {
                let own: Vec<_> = data.results.iter().map(|&v| self.body.sharding(v).cloned()).collect();
                explicit::lay(&made, &own)
            }
            _ => made,
        };
        for (&v, array) in data.results.iter().zip(made) {
            self.set(v, &array);
        }
    }

    /// Copies a sharding constraint: moves its operand to the layout that the function states for its result. Without
    /// such a layout, the copy is the operand itself.
    fn constraint(&mut self, data: &OpData) {
        let (operand, result) = (&self.arrays(&data.operands)[0], data.results[0]);
        let moved = match self.body.sharding(result) {
            Some(sharding) => reshard(operand, sharding),
            None => operand.clone(),
        };
        self.set(result, &moved);
    }

    fn types(&self, values: &[Value]) -> Vec<TensorType> {
        let ty = |&v: &Value| self.body.ty(v).as_tensor().expect("traced values are tensors").clone();
        values.iter().map(ty).collect()
    }

    fn region(&mut self, region: Region, layouts: &[Option<Sharding>]) -> Region {
        hlo::region(&self.types(&self.body[region].args), |args| {
            let args = explicit::lay(args, layouts);
            for (&v, array) in self.body[region].args.iter().zip(args) {
                self.values[v] = Some(array.made_in(self.state(v)));
            }
            self.ops(region);
            self.arrays(self.body.region_results(region))
        })
    }

    fn manual(&mut self, data: &OpData) {
        let (at, region) = (context::caller(Location::caller()), data.regions[0]);
        let (mesh, axes) = manual_mesh_axes_in(&data.attrs).expect("it is verified");
        let around = trace::with(|t| t.scope()).map_or_else(Default::default, |s| s.axes.clone());
        let axes = axes.iter().map(|a| a.axis).chain(around).collect();
        let scope = Arc::new(Scope { mesh: mesh.clone(), axes });
        let operands = self.arrays(&data.operands);
        let types = self.types(&self.body[region].args);
        let args = trace::with(|t| {
            let args = t.open_manual(&types, scope.clone(), &context::loc(at));
            for (&arg, a) in args.iter().zip(&operands) {
                if let Some(sharding) = a.sharded().sharding.as_ref().filter(|_| t.explicit.is_on()) {
                    t.set_sharding(arg, scope.inner_sharding(sharding));
                }
            }
            args
        });
        for (&v, arg) in self.body[region].args.iter().zip(args) {
            self.values[v] = Some(Array::of_traced(arg, at).made_in(self.state(v)));
        }
        self.ops(region);
        let given = self.arrays(self.body.region_results(region));
        hlo::terminate(Opcode::SdyReturn, &given.iter().collect::<Vec<_>>());
        let (body, _) = trace::with(|t| t.close_manual());
        let operands: Vec<&Array> = operands.iter().collect();
        let types = self.types(&data.results);
        let made = hlo::op_with(Opcode::ManualComputation, &operands, data.attrs.clone(), vec![body], &types);
        for (&v, array) in data.results.iter().zip(made) {
            let array = match self.body.sharding(v) {
                Some(sharding) => hlo::laid_out(&array, sharding),
                None => array,
            };
            self.values[v] = Some(array.made_in(self.state(v)));
        }
    }

    /// Copies a region with a name: as a composite if reverse mode computes its values again, and else its ops.
    fn named(&mut self, op: Op) {
        let (data, at) = (&self.body[op], context::caller(Location::caller()));
        let region = data.regions[0];
        let policy = trace::with(|t| remat::policy(&t.module.view(self.body, op)));
        let operands = self.arrays(&data.operands);
        let mut inner = |args: &[Array]| {
            for (&v, a) in self.body[region].args.iter().zip(args) {
                self.values[v] = Some(a.clone());
            }
            self.ops(region);
            self.arrays(self.body.region_results(region))
        };
        let made = match policy {
            Some(policy) => composite(&operands, &policy, at, |args| Ok(inner(args))).unwrap_or_else(|_| trace::end()),
            None => inner(&operands),
        };
        for (&v, array) in data.results.iter().zip(made) {
            self.values[v] = Some(array);
        }
    }

    fn start(&mut self, data: &OpData) {
        let operands = self.arrays(&data.operands);
        let body = self.body;
        let inner = data.regions[0];
        let future = hlo::started(&operands.iter().collect::<Vec<_>>(), |b, args| {
            let mut cloner = Cloner::new(body);
            body[inner].args.iter().zip(args).for_each(|(&from, &to)| cloner.set(from, to));
            let ops = &body[inner].ops;
            for &op in &ops[..ops.len().saturating_sub(1)] {
                cloner.op(op, b);
            }
            cloner.get(body.region_results(inner)[0])
        });
        match future {
            Ok(future) => _ = self.started.insert(data.results[0], future),
            Err(wrong) => self.values[data.results[0]] = Some(wrong),
        }
    }

    fn finish(&mut self, data: &OpData) {
        let (future, result) = (data.operands[0], data.results[0]);
        let done = match self.started.remove(&future) {
            Some(started) => {
                let scope = trace::with(|t| t.scope());
                let state = self.state(result).or_else(|| scope.map(|s| ManualType::replicated(&s)));
                hlo::finished(started, state.expect("an op is started in per-device code"))
            }
            None => self.values[future].clone(),
        };
        self.values[result] = done;
    }
}

/// Returns `array`, the copy of a value, in the layout `sharding` that the value has in the function. In Explicit mode,
/// only a copy whose layout is pending gets this layout, and any other is returned unchanged.
fn laid_out(array: &Array, sharding: &Sharding) -> Array {
    if !explicit::is_typing() {
        return hlo::laid_out(array, sharding);
    }
    if explicit::waits(array) { reshard(array, sharding) } else { array.clone() }
}

/// Returns the array in a layout that a traced function states for it: a value whose layout is pending is computed in
/// this layout, and any other is constrained to it by a step. Over an axis over which the layout is unreduced and no
/// sum is left to take, one device has the whole value as its summand. Mistakes are returned unchanged.
///
/// A dimension that the layout leaves open is not split over Explicit axes.
pub(crate) fn reshard(array: &Array, sharding: &Sharding) -> Array {
    if array.is_wrong() {
        return array.clone();
    }
    let layout = match trace::with(|t| t.explicit.is_mixed()) {
        true => sharding.clone(),
        false => settle(sharding, None),
    };
    let sums = array.traced().map_or_else(Vec::new, |v| trace::with(|t| explicit::sums(t, v)));
    let left: Vec<AxisRef> = layout.unreduced.iter().copied().filter(|a| sums.iter().any(|b| b.contains(*a))).collect();
    let is_sum = left.len() == layout.unreduced.len();
    let first = layout.clone().with_unreduced(left);
    let moved = decided_or_constrained(array, &first, array.node().at);
    if is_sum { moved } else { hlo::constrain(&moved, &layout) }
}
