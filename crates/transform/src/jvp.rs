//! Forward mode: the function with the tangents of its results.

use crate::custom::{inlined, refuse_linear_calls, without_calls};
use crate::depends::{Depends, callee};
use crate::errors;
use shardwise_base::{Diagnostics, EntityVec, Sharding};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Func, Module, OpView, Region, Type, Value};
use shardwise_ops::calls::{self, refuse_expansion};
use shardwise_ops::control::OptimizationBarrier;
use shardwise_ops::custom::{self, Custom, LinearCall, Rule};
use shardwise_ops::derivative::{Derivative, TangentCx, has_tangent, same_op};
use shardwise_ops::expansion::expand;
use shardwise_ops::remat::{self, Policy};
use shardwise_ops::shardy::{ManualComputation, in_shardings, manual_mesh_axes};
use shardwise_ops::{Linear, Opcode, make};

/// Returns the function that takes the arguments of `func`, then the tangents of the arguments `args`, and returns the
/// results, then the tangents of those results that are floats or complex numbers. Calls that use values with tangents
/// are inlined, or become named computations if they have a policy of what is computed again. `args` must name an
/// argument once: of several tangents of one argument, only the last one counts.
///
/// # Errors
/// `transform-argument` and `grad-integer` for each argument that is not there or has no tangent, `no-derivative` for
/// the first op on the way that has none, `custom-captured` if a function with a custom derivative captures a value
/// with a tangent, and `custom-vjp-forward` for each call of a function whose derivative is only known in reverse mode.
/// Fails as [`refuse_expansion`] does if the calls of `func` nest too deep or are too many.
pub fn jvp(module: &Module, func: &Func, args: &[usize]) -> Result<Func, Diagnostics> {
    let out = forward(module, func, args)?;
    refuse_linear_calls(module, &out)?;
    Ok(out)
}

/// Does the same as [`jvp`], with [linear calls](shardwise_ops::custom::LinearCall) for functions whose derivative is
/// only known in reverse mode. Fails as [`jvp`] does, but never with `custom-vjp-forward`.
pub(crate) fn forward(module: &Module, func: &Func, args: &[usize]) -> Result<Func, Diagnostics> {
    check_arguments(func, args)?;
    refuse_expansion(module, &[func], calls::callee)?;
    let mut out = func.without_body();
    let mut b = Builder::new(&mut out.body);
    let mut scope = Scope::new(module, &func.body);
    scope.cloner.args(func.body.entry(), &mut b);
    for &i in args {
        let arg = func.body.args()[i];
        let tangent = tangent_of(&mut b, &func.body, arg, |b, ty| b.arg(ty));
        scope.tangents[arg] = Some(tangent);
        out.arg_attrs.push(Attrs::new());
    }
    scope.region(func.body.entry(), &mut b)?;
    let results = func.body.results();
    let mut values = scope.cloner.values(results);
    for (i, &v) in results.iter().enumerate() {
        if is_smooth(func.body.ty(v)) {
            values.push(scope.tangent_or_zeros(v, &mut b));
            out.result_attrs.push(Attrs::new());
            out.result_shardings.push(func.result_shardings.get(i).cloned().flatten());
        }
    }
    b.ret(values.iter().copied());
    out.result_types = values.iter().map(|&v| out.body.ty(v).clone()).collect();
    // The rules of derivatives may call functions that `func` does not call.
    refuse_expansion(module, &[&out], calls::callee)?;
    Ok(out)
}

/// Checks that the arguments exist and have tangents. Fails with an error for each that does not.
pub(crate) fn check_arguments(func: &Func, args: &[usize]) -> Result<(), Diagnostics> {
    let mut wrong = Diagnostics::default();
    let all = func.body.args();
    for &i in args {
        match all.get(i) {
            None => wrong.push(errors::no_argument(i, all.len(), &func.loc)),
            Some(&v) if !is_smooth(func.body.ty(v)) => {
                wrong.push(errors::not_smooth(i, func.body.ty(v), &func.loc));
            }
            Some(_) => {}
        }
    }
    wrong.or(())
}

/// Returns true if values of this type have tangents.
pub(crate) fn is_smooth(ty: &Type) -> bool {
    ty.as_tensor().is_some_and(|t| has_tangent(t.dtype))
}

/// Returns true if values of this type are, hold or wait for arrays that have tangents.
fn has_smooth(ty: &Type) -> bool {
    match ty {
        Type::Tuple(types) | Type::Future(types) => types.iter().any(has_smooth),
        Type::Tensor(_) | Type::Token => is_smooth(ty),
    }
}

fn may_carry(ty: &Type) -> bool {
    matches!(ty, Type::Future(types) if types.iter().any(is_smooth)) || is_smooth(ty)
}

/// Makes the tangent of a value with `make`, and sets its layout, states and location to those of the value.
fn tangent_of(
    b: &mut Builder<'_>,
    source: &Body,
    v: Value,
    make: impl FnOnce(&mut Builder<'_>, Type) -> Value,
) -> Value {
    let data = source.value(v);
    let tangent = make(b, data.ty.clone());
    let to = b.body.value_mut(tangent);
    (to.sharding, to.manual, to.loc) = (data.sharding.clone(), data.manual.clone(), data.loc.clone());
    tangent
}

/// The copy of one body, with the tangents of its values.
struct Scope<'s> {
    module: &'s Module,
    body: &'s Body,
    cloner: Cloner<'s>,
    /// The tangent of each value that was visited, or `None` if it is zero or values of this type have none. That of a
    /// future is the tangent of its value.
    tangents: EntityVec<Value, Option<Value>>,
}

impl<'s> Scope<'s> {
    fn new(module: &'s Module, body: &'s Body) -> Scope<'s> {
        Scope { module, body, cloner: Cloner::new(body), tangents: EntityVec::filled(body.value_count(), None) }
    }

    fn tangent_or_zeros(&self, v: Value, b: &mut Builder<'_>) -> Value {
        self.tangents[v]
            .unwrap_or_else(|| make::zeros(b, self.body.ty(v).as_tensor().expect("only tensors have tangents")))
    }

    /// Copies the ops of a region but its terminator, with their tangents. Fails if an op has no derivative
    /// (`no-derivative`), or if a function with a custom derivative captures a value with a tangent
    /// (`custom-captured`).
    fn region(&mut self, region: Region, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let ops = &self.body[region].ops;
        for &op in &ops[..ops.len().saturating_sub(1)] {
            let view = self.module.view(self.body, op);
            b.loc = view.loc().clone();
            self.op(&view, b)?;
        }
        Ok(())
    }

    fn op(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        if !self.has_tangents(op) {
            self.cloner.op(op.op, b);
            return Ok(());
        }
        match Opcode::of(op.data().code).facts().derivative(op) {
            Derivative::Structure => self.structure(op, b),
            Derivative::Expanded(expansion) => {
                let func = expand(op, &expansion).map_err(|why| errors::no_derivative(op, why))?;
                self.cloner.op(op.op, b);
                let results = self.inlined(op, &func.body, b)?;
                let tangents = results.into_iter().map(|(_, tangent)| tangent).collect();
                self.set_tangents(op, tangents, b);
                Ok(())
            }
            Derivative::Zero(_) => {
                self.cloner.op(op.op, b);
                Ok(())
            }
            Derivative::None(why) => match op.results().iter().any(|&v| has_smooth(op.body.ty(v))) {
                true => Err(errors::no_derivative(op, why).into()),
                false => {
                    self.cloner.op(op.op, b);
                    Ok(())
                }
            },
            Derivative::Linear => {
                self.cloner.op(op.op, b);
                let tangents = self.linear(op, b);
                self.set_tangents(op, tangents, b);
                Ok(())
            }
            Derivative::By(tangents) => {
                let copy = self.cloner.op(op.op, b);
                let results = b.body[copy].results.to_vec();
                let (operands, own) = (self.cloner.values(op.operands()), self.tangents_of(op.operands()));
                let mut cx = TangentCx {
                    op: *op,
                    operands: &operands,
                    results: &results,
                    tangents: &own,
                    cloner: &mut self.cloner,
                    b,
                    refused: None,
                };
                let made = tangents(&mut cx);
                if let Some(why) = cx.refused {
                    return Err(errors::no_derivative(op, why).into());
                }
                self.set_tangents(op, made, b);
                Ok(())
            }
        }
    }

    fn has_tangents(&self, op: &OpView<'s>) -> bool {
        let is_active = |v: &Value| self.tangents[*v].is_some();
        op.operands().iter().any(is_active) || (!op.regions().is_empty() && op.captured().iter().any(is_active))
    }

    fn tangents_of(&self, values: &[Value]) -> Vec<Option<Value>> {
        values.iter().map(|&v| self.tangents[v]).collect()
    }

    /// Sets the tangents of the op's results. A new tangent without a layout or states gets those of its result. One
    /// that is also the tangent of an operand keeps its own, because a result may vary where its tangent does not. A
    /// result that is neither a float nor a complex number gets no tangent.
    fn set_tangents(&mut self, op: &OpView<'s>, tangents: Vec<Option<Value>>, b: &mut Builder<'_>) {
        for (&v, tangent) in op.results().iter().zip(tangents) {
            let tangent = tangent.filter(|_| is_smooth(op.body.ty(v)));
            let is_new = || !op.operands().iter().any(|&u| self.tangents[u] == tangent);
            if let Some(to) = tangent.filter(|_| is_new()) {
                let (from, to) = (op.body.value(v), b.body.value_mut(to));
                if to.sharding.is_none() {
                    to.sharding = from.sharding.clone();
                }
                if to.manual.is_none() {
                    to.manual = from.manual.clone();
                }
            }
            self.tangents[v] = tangent;
        }
    }

    /// Builds the tangents of the results of an op that is linear in some operands: the op with the tangents in place
    /// of these operands. An op that is linear in each operand while the others are fixed is built once for each
    /// operand that has a tangent, and the results are added. A barrier takes the tangents alone. No op is built for
    /// one that names a value: its results have the tangents of its operands.
    fn linear(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Vec<Option<Value>> {
        let linear = Opcode::of(op.data().code).facts().linear(op);
        let active: Vec<usize> = (0..op.operands().len()).filter(|&i| self.tangents[op.operand(i)].is_some()).collect();
        if Opcode::of_view(op) == Opcode::OptimizationBarrier {
            return match OptimizationBarrier::value_name(op) {
                Some(_) => self.tangents_of(op.operands()),
                None => self.barrier(op, &active, b),
            };
        }
        match linear {
            Linear::Each | Linear::EachOf(_) => {
                let mut sums: Vec<Option<Value>> = vec![None; op.results().len()];
                for &i in active.iter().filter(|&&i| linear.includes(i)) {
                    let mut operands = self.cloner.values(op.operands());
                    operands[i] = self.tangents[op.operand(i)].expect("it is active");
                    let made = same_op(op, &operands, &mut self.cloner, b);
                    for (sum, part) in sums.iter_mut().zip(made) {
                        *sum = Some(sum.map_or(part, |s| make::add(b, s, part)));
                    }
                }
                sums
            }
            _ => {
                let operand = |i: usize| {
                    let v = op.operand(i);
                    match linear.includes(i) {
                        true => self.tangents[v],
                        false => Some(self.cloner.get(v)),
                    }
                };
                let given: Vec<Option<Value>> = (0..op.operands().len()).map(operand).collect();
                let operands: Vec<Value> = given
                    .into_iter()
                    .zip(op.operands())
                    .map(|(v, &from)| v.unwrap_or_else(|| self.tangent_or_zeros(from, b)))
                    .collect();
                same_op(op, &operands, &mut self.cloner, b).into_iter().map(Some).collect()
            }
        }
    }

    fn barrier(&mut self, op: &OpView<'s>, active: &[usize], b: &mut Builder<'_>) -> Vec<Option<Value>> {
        let operands: Vec<Value> =
            active.iter().map(|&i| self.tangents[op.operand(i)].expect("it is active")).collect();
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let new = b.op(op.data().code, operands, op.attrs().clone(), types);
        let made = b.body[new].results.to_vec();
        let mut tangents = vec![None; op.results().len()];
        active.iter().zip(made).for_each(|(&i, v)| tangents[i] = Some(v));
        tangents
    }

    // ── control flow, calls and manual computations
    fn structure(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        match Opcode::of_view(op) {
            Opcode::While => self.while_loop(op, b),
            Opcode::Case | Opcode::If => self.branch(op, b),
            Opcode::ManualComputation => self.manual(op, b),
            Opcode::AsyncStart => self.start(op, b),
            Opcode::AsyncDone => {
                self.cloner.op(op.op, b);
                self.tangents[op.result(0)] = self.tangents[op.operand(0)];
                Ok(())
            }
            Opcode::NamedComputation if remat::policy(op).is_none() => {
                let inner = op.regions()[0];
                self.forward(op.operands(), &op.body[inner].args);
                self.region(inner, b)?;
                self.forward(op.body.region_results(inner), op.results());
                Ok(())
            }
            _ => match (custom::of(op), remat::policy(op)) {
                (Some(custom), _) => self.custom(op, custom, b),
                (_, Some(policy)) => self.remat(op, &policy, b),
                _ => self.call(op, b),
            },
        }
    }

    /// Differentiates a function or region with a [`Policy`], whose values are computed again. It becomes a named
    /// computation with this policy, which also takes and returns the tangents. Fails as [`region`](Scope::region)
    /// does.
    fn remat(&mut self, op: &OpView<'s>, policy: &Policy, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let operands: Vec<(Value, Option<Value>)> =
            op.operands().iter().map(|&v| (self.cloner.get(v), self.tangents[v])).collect();
        let made = match callee(op) {
            Some(func) => Scope::new(self.module, &func.body).remat_region(func.body.entry(), &operands, policy, b)?,
            None => self.remat_region(op.regions()[0], &operands, policy, b)?,
        };
        for (&v, (to, tangent)) in op.results().iter().zip(made) {
            self.cloner.carry(v, to, b);
            self.tangents[v] = tangent;
        }
        Ok(())
    }

    /// Builds a named computation with a policy from a region of this body. Returns its results, each with its tangent.
    /// Fails as [`region`](Scope::region) does.
    fn remat_region(
        &mut self,
        region: Region,
        operands: &[(Value, Option<Value>)],
        policy: &Policy,
        b: &mut Builder<'_>,
    ) -> Result<Vec<(Value, Option<Value>)>, Diagnostics> {
        let (new, loc) = (b.body.add_region(), b.loc.clone());
        let mut inner = Builder::at(b.body, new, loc.clone());
        self.cloner.args(region, &mut inner);
        for (&arg, (_, tangent)) in self.body[region].args.iter().zip(operands) {
            self.tangents[arg] = tangent.map(|_| tangent_of(&mut inner, self.body, arg, |b, ty| b.arg(ty)));
        }
        self.region(region, &mut inner)?;
        let results = self.body.region_results(region);
        let tangents = self.tangents_of(results);
        let given: Vec<Value> =
            self.cloner.values(results).into_iter().chain(tangents.iter().copied().flatten()).collect();
        let types: Vec<Type> = given.iter().map(|&v| inner.body.ty(v).clone()).collect();
        inner.op(Opcode::SdyReturn, given, Attrs::new(), []);
        b.loc = loc;
        let operands: Vec<Value> =
            operands.iter().map(|(v, _)| *v).chain(operands.iter().filter_map(|(_, t)| *t)).collect();
        let made = b.op_with_regions(Opcode::NamedComputation, operands, remat::region_attrs(policy), [new], types);
        let (values, derivatives) = b.body[made].results.split_at(results.len());
        let mut derivatives = derivatives.iter().copied();
        let tangents = tangents.iter().map(|t| t.and_then(|_| derivatives.next()));
        Ok(values.iter().copied().zip(tangents).collect())
    }

    /// Builds the results and tangents of a function with a custom derivative by its rule. For a rule of reverse mode,
    /// these are the results of the function's `fwd`, and of a linear call that `bwd` transposes. Fails with
    /// `custom-captured` if a captured operand has a tangent.
    fn custom(&mut self, op: &OpView<'s>, custom: Custom<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let (args, captured) = op.operands().split_at(custom.args);
        if let Some(&v) = captured.iter().find(|&&v| self.tangents[v].is_some()) {
            return Err(errors::custom_captured(op, op.body.ty(v)).into());
        }
        let smooth = args.iter().filter(|&&v| is_smooth(op.body.ty(v)));
        let tangents: Vec<Value> = smooth.map(|&v| self.tangent_or_zeros(v, b)).collect();
        let (args, captured) = (self.cloner.values(args), self.cloner.values(captured));
        let results = op.results();
        let (made, tangents) = match custom.rule {
            Rule::Jvp(rule) => {
                let linear: Vec<usize> = (args.len()..args.len() + tangents.len()).collect();
                let rule = without_calls(self.module, rule, &linear);
                let mut made = inlined(&rule, &[args, tangents, captured].concat(), b);
                let tangents = made.split_off(results.len());
                (made, tangents)
            }
            Rule::Vjp { fwd, bwd } => {
                let mut made = inlined(fwd, &[args, captured.clone()].concat(), b);
                let residuals = made.split_off(results.len());
                let types = results.iter().map(|&v| op.body.ty(v)).filter(|ty| is_smooth(ty)).cloned().collect();
                b.loc = op.loc().clone();
                (made, LinearCall::build(b, bwd, [&residuals, &captured, &tangents], types))
            }
        };
        results.iter().zip(made).for_each(|(&v, to)| self.cloner.set(v, to));
        let mut tangents = tangents.into_iter();
        let tangent = |&v: &Value| if is_smooth(op.body.ty(v)) { tangents.next() } else { None };
        let tangents = results.iter().map(tangent).collect();
        self.set_tangents(op, tangents, b);
        Ok(())
    }

    /// Copies an `async_start`. The tangent of its result is computed at once, without waiting, and becomes the tangent
    /// of the future. Fails as [`region`](Scope::region) does.
    fn start(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        self.cloner.op(op.op, b);
        let inner = op.regions()[0];
        self.forward(op.operands(), &op.body[inner].args);
        let from = b.body[b.region].ops.len();
        self.region(inner, b)?;
        let result = op.body.region_results(inner)[0];
        self.tangents[op.result(0)] = self.tangents[result];
        // The copy of the op is needed only if its tangent uses the result.
        let copy = self.cloner.get(result);
        let ops = b.body[b.region].ops[from..].to_vec();
        if !ops.iter().any(|&op| b.body[op].operands.contains(&copy)) {
            let made = b.body.def_op(copy);
            b.body.region_mut(b.region).ops.retain(|&op| Some(op) != made);
        }
        Ok(())
    }

    fn forward(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to) {
            self.cloner.set(t, self.cloner.get(f));
            self.tangents[t] = self.tangents[f];
        }
    }

    fn call(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let Some(func) = callee(op) else {
            return Err(errors::no_derivative(op, "it calls no function of the module").into());
        };
        let results = self.inlined(op, &func.body, b)?;
        for (&v, (to, tangent)) in op.results().iter().zip(results) {
            self.cloner.set(v, to);
            self.tangents[v] = tangent;
        }
        Ok(())
    }

    /// Copies the ops of a body on the operands of `op`, with their tangents. Returns its results and their tangents.
    /// Fails as [`region`](Scope::region) does.
    fn inlined(
        &self,
        op: &OpView<'s>,
        body: &Body,
        b: &mut Builder<'_>,
    ) -> Result<Vec<(Value, Option<Value>)>, Diagnostics> {
        let mut inner = Scope::new(self.module, body);
        for (&arg, &v) in body.args().iter().zip(op.operands()) {
            inner.cloner.set(arg, self.cloner.get(v));
            inner.tangents[arg] = self.tangents[v];
        }
        inner.region(body.entry(), b)?;
        Ok(body.results().iter().map(|&v| (inner.cloner.get(v), inner.tangents[v])).collect())
    }

    /// Returns, for each value of the body, true if it has a tangent already, is in `given`, or is made in the region
    /// from such values and may get a tangent.
    fn active(&self, region: Region, given: &[Value]) -> EntityVec<Value, bool> {
        let carries = |op: &OpView<'s>, v: Value| {
            let is_zero = || matches!(Opcode::of(op.data().code).facts().derivative(op), Derivative::Zero(_));
            may_carry(op.body.ty(v)) && (op.regions().len() == 2 || !is_zero())
        };
        let mut depends = Depends::new(self.module, self.body, carries);
        depends.values.iter_mut().zip(self.tangents.iter()).for_each(|(d, t)| *d = t.is_some());
        given.iter().for_each(|&v| depends.values[v] = true);
        depends.region(region);
        depends.values
    }

    /// Differentiates a loop: it carries the tangents beside the values. Values that no turn changes are not carried.
    /// Fails as [`region`](Scope::region) does.
    fn while_loop(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let [cond, turn] = [op.regions()[0], op.regions()[1]];
        let (args, next) = (&op.body[turn].args, op.body.region_results(turn));
        let carried: Vec<usize> = (0..args.len()).filter(|&i| next[i] != args[i]).collect();
        for i in (0..args.len()).filter(|&i| next[i] == args[i]) {
            let v = op.operand(i);
            for to in [args[i], op.body[cond].args[i], op.result(i)] {
                self.cloner.set(to, self.cloner.get(v));
                self.tangents[to] = self.tangents[v];
            }
        }
        let active = self.active_carries(op, &carried);
        let operands: Vec<Value> = carried
            .iter()
            .map(|&i| self.cloner.get(op.operand(i)))
            .chain(active.iter().map(|&i| self.tangent_or_zeros(op.operand(i), b)).collect::<Vec<_>>())
            .collect();
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let loc = b.loc.clone();
        let mut regions = vec![];
        for region in [cond, turn] {
            let new = b.body.add_region();
            let mut inner = Builder::at(b.body, new, loc.clone());
            self.cloner.args_of(carried.iter().map(|&i| op.body[region].args[i]), &mut inner);
            for &i in &active {
                let arg = op.body[region].args[i];
                self.tangents[arg] = Some(tangent_of(&mut inner, op.body, arg, |b, ty| b.arg(ty)));
            }
            let results = op.body.region_results(region);
            let values: Vec<Value> = match region == cond {
                true => {
                    active.iter().for_each(|&i| self.tangents[op.body[region].args[i]] = None);
                    self.region(region, &mut inner)?;
                    vec![self.cloner.get(results[0])]
                }
                false => {
                    self.region(region, &mut inner)?;
                    let own = carried.iter().map(|&i| self.cloner.get(results[i]));
                    own.chain(active.iter().map(|&i| self.tangent_or_zeros(results[i], &mut inner)).collect::<Vec<_>>())
                        .collect()
                }
            };
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
            regions.push(new);
        }
        b.loc = loc;
        let new = b.op_with_regions(Opcode::While, operands, op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for (k, &i) in carried.iter().enumerate() {
            self.cloner.carry(op.result(i), made[k], b);
        }
        for (k, &i) in active.iter().enumerate() {
            self.tangents[op.result(i)] = Some(made[carried.len() + k]);
        }
        Ok(())
    }

    /// Returns the indices of those of the carried values that may have tangents in some turn.
    fn active_carries(&self, op: &OpView<'s>, carried: &[usize]) -> Vec<usize> {
        let turn = op.regions()[1];
        let (args, next) = (&op.body[turn].args, op.body.region_results(turn));
        let mut active: Vec<usize> =
            carried.iter().copied().filter(|&i| self.tangents[op.operand(i)].is_some()).collect();
        loop {
            let given: Vec<Value> = active.iter().map(|&i| args[i]).collect();
            let depends = self.active(turn, &given);
            let more: Vec<usize> =
                carried.iter().copied().filter(|&i| active.contains(&i) || depends[next[i]]).collect();
            if more == active {
                return active;
            }
            active = more;
        }
    }

    /// Differentiates an `if` or a `case`: each region also returns the tangents. Fails as [`region`](Scope::region)
    /// does.
    fn branch(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let loc = b.loc.clone();
        let mut regions = vec![];
        for &branch in op.regions() {
            let new = b.body.add_region();
            let mut inner = Builder::at(b.body, new, loc.clone());
            self.region(branch, &mut inner)?;
            regions.push(new);
        }
        let results = |branch: Region| op.body.region_results(branch);
        let active: Vec<usize> = (0..op.results().len())
            .filter(|&i| op.regions().iter().any(|&r| self.tangents[results(r)[i]].is_some()))
            .collect();
        let mut types = vec![];
        for (&branch, &new) in op.regions().iter().zip(&regions) {
            let mut inner = Builder::at(b.body, new, loc.clone());
            let mut values = self.cloner.values(results(branch));
            for &i in &active {
                values.push(self.tangent_or_zeros(results(branch)[i], &mut inner));
            }
            types = values.iter().map(|&v| inner.body.ty(v).clone()).collect();
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
        }
        b.loc = loc;
        let predicate = self.cloner.get(op.operand(0));
        let new = b.op_with_regions(op.data().code, [predicate], op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for (i, &v) in op.results().iter().enumerate() {
            self.cloner.carry(v, made[i], b);
        }
        for (k, &i) in active.iter().enumerate() {
            self.tangents[op.result(i)] = Some(made[op.results().len() + k]);
        }
        Ok(())
    }

    /// Differentiates a manual computation: tangents are split as the values are. Fails as [`region`](Scope::region)
    /// does.
    fn manual(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let (source, loc) = (op.regions()[0], b.loc.clone());
        let (mesh, axes) = manual_mesh_axes(op).expect("verified");
        let active: Vec<usize> = (0..op.operands().len()).filter(|&i| self.tangents[op.operand(i)].is_some()).collect();
        let mut ins: Vec<Sharding> = in_shardings(op.attrs()).to_vec();
        let mut operands = self.cloner.values(op.operands());
        let new = b.body.add_region();
        let mut inner = Builder::at(b.body, new, loc.clone());
        self.cloner.args(source, &mut inner);
        for &i in &active {
            let arg = op.body[source].args[i];
            self.tangents[arg] = Some(tangent_of(&mut inner, op.body, arg, |b, ty| b.arg(ty)));
            operands.push(self.tangents[op.operand(i)].expect("it is active"));
            ins.push(ins[i].clone());
        }
        self.region(source, &mut inner)?;
        let results = op.body.region_results(source);
        let with: Vec<usize> = (0..results.len()).filter(|&i| self.tangents[results[i]].is_some()).collect();
        let values: Vec<Value> = self
            .cloner
            .values(results)
            .into_iter()
            .chain(with.iter().filter_map(|&i| self.tangents[results[i]]))
            .collect();
        inner.op(Opcode::SdyReturn, values, Attrs::new(), []);
        b.loc = loc;
        let types: Vec<Type> = op
            .results()
            .iter()
            .copied()
            .chain(with.iter().map(|&i| op.result(i)))
            .map(|v| op.body.ty(v).clone())
            .collect();
        let attrs = ManualComputation::attrs(ins, mesh, axes);
        let made = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [new], types);
        let made = b.body[made].results.to_vec();
        for (i, &v) in op.results().iter().enumerate() {
            self.cloner.carry(v, made[i], b);
        }
        for (k, &i) in with.iter().enumerate() {
            let tangent = made[op.results().len() + k];
            b.set_sharding(tangent, op.body.sharding(op.result(i)).cloned());
            self.tangents[op.result(i)] = Some(tangent);
        }
        Ok(())
    }
}
