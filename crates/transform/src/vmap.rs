//! Batches: a function that computes for each index of a new leading dimension what it computed before.

use crate::depends::{Depends, callee};
use crate::errors;
use shardwise_base::{Diagnostics, DimSharding, EntityVec, Sharding};
use shardwise_ir::{Attrs, Builder, Cloner, Func, Module, OpView, Region, Type, Value};
use shardwise_ops::batch::{BatchCx, Batched, leading_type, repeated};
use shardwise_ops::shardy::{ManualComputation, in_shardings, manual_mesh_axes};
use shardwise_ops::{Opcode, ReduceKind, make};

/// Returns the function of which the arguments `args` have a new leading dimension of size `size`, and all results. It
/// computes `func` for each index of the dimension. Layouts stay on the old dimensions. Calls are inlined.
///
/// # Errors
/// `transform-argument` if an argument is not there, and `no-batch` for an op that has no batch.
pub fn vmap(module: &Module, func: &Func, args: &[usize], size: usize) -> Result<Func, Diagnostics> {
    let all = func.body.args();
    if let Some(&i) = args.iter().find(|&&i| i >= all.len()) {
        return Err(errors::no_argument(i, all.len(), &func.loc).into());
    }
    let mut out = func.without_body();
    let mut b = Builder::new(&mut out.body);
    let mut scope = Scope::new(module, &func.body, size);
    for (i, &v) in all.iter().enumerate() {
        scope.arg(v, args.contains(&i), &mut b);
    }
    scope.region(func.body.entry(), &mut b)?;
    let values: Vec<Value> = func.body.results().iter().map(|&v| scope.with_leading(v, &mut b)).collect();
    b.ret(values.iter().copied());
    out.result_types = values.iter().map(|&v| out.body.ty(v).clone()).collect();
    out.result_shardings.iter_mut().flatten().for_each(|s| *s = leading_sharding(s));
    Ok(out)
}

/// Returns a sharding with a leading dimension that is not split.
fn leading_sharding(sharding: &Sharding) -> Sharding {
    let first = DimSharding { axes: vec![], is_open: true, priority: None };
    let dims = std::iter::once(first).chain(sharding.dims.iter().cloned()).collect();
    sharding.clone().with_dims(dims)
}

/// The copy of one body, of which some values have the leading dimension.
struct Scope<'s> {
    module: &'s Module,
    body: &'s shardwise_ir::Body,
    size: usize,
    cloner: Cloner<'s>,
    mapped: EntityVec<Value, bool>,
}

impl<'s> Scope<'s> {
    fn new(module: &'s Module, body: &'s shardwise_ir::Body, size: usize) -> Scope<'s> {
        Scope { module, body, size, cloner: Cloner::new(body), mapped: EntityVec::filled(body.value_count(), false) }
    }

    /// Maps `v` to `to`, which has the leading dimension if `is_mapped`.
    fn set(&mut self, v: Value, to: Value, is_mapped: bool, b: &mut Builder<'_>) {
        self.mapped[v] = is_mapped;
        self.cloner.carry(v, to, b);
        if is_mapped {
            let sharding = self.body.sharding(v).map(leading_sharding);
            b.set_sharding(to, sharding);
        }
    }

    fn arg(&mut self, v: Value, is_mapped: bool, b: &mut Builder<'_>) {
        let ty = self.body.ty(v);
        let arg = b.arg(if is_mapped { leading_type(ty, self.size) } else { ty.clone() });
        self.set(v, arg, is_mapped, b);
    }

    fn with_leading(&self, v: Value, b: &mut Builder<'_>) -> Value {
        let to = self.cloner.get(v);
        if self.mapped[v] { to } else { repeated(b, to, self.size) }
    }

    /// Copies the ops of a region but its terminator, as batches where they need to be. Fails if an op has no batch.
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
        let is_mapped = |v: &Value| self.mapped[*v];
        let captures = !op.regions().is_empty() && op.captured().iter().any(is_mapped);
        if !captures && !op.operands().iter().any(is_mapped) {
            self.cloner.op(op.op, b);
            return Ok(());
        }
        let mapped: Vec<bool> = op.operands().iter().map(is_mapped).collect();
        let batched = Opcode::of_view(op).facts().batch(op, &mapped);
        if captures && !matches!(batched, Batched::Structure) {
            return Err(errors::no_batch(op, "its region uses a value that differs along the batch").into());
        }
        let operands = self.cloner.values(op.operands());
        let mut cx = BatchCx {
            op: *op,
            operands: &operands,
            mapped: &mapped,
            size: self.size,
            cloner: &mut self.cloner,
            b: &mut *b,
        };
        let made = match batched {
            Batched::None(why) => return Err(errors::no_batch(op, why).into()),
            Batched::Structure => return self.structure(op, b),
            Batched::Leading(attrs) => {
                let operands: Vec<Value> = (0..operands.len()).map(|i| cx.with_leading(i)).collect();
                cx.leading_op(&operands, attrs)
            }
            Batched::LeadingOf(mask, attrs) => {
                let has_bit = |i: usize| i < 64 && mask >> i & 1 == 1;
                let operands: Vec<Value> =
                    (0..operands.len()).map(|i| if has_bit(i) { cx.with_leading(i) } else { operands[i] }).collect();
                cx.leading_op(&operands, attrs)
            }
            Batched::By(_, batch) => batch(&mut cx)?,
        };
        for (&v, to) in op.results().iter().zip(made) {
            self.set(v, to, true, b);
        }
        Ok(())
    }

    fn structure(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        match Opcode::of_view(op) {
            Opcode::While => self.while_loop(op, b),
            Opcode::Case | Opcode::If => self.branch(op, b),
            Opcode::ManualComputation => self.manual(op, b),
            // The batch is computed at once, and the future's value is ready.
            Opcode::AsyncStart => {
                let inner = op.regions()[0];
                self.forward(op.operands(), &op.body[inner].args);
                self.region(inner, b)?;
                self.forward(op.body.region_results(inner), op.results());
                Ok(())
            }
            Opcode::AsyncDone => {
                self.forward(op.operands(), op.results());
                Ok(())
            }
            Opcode::NamedComputation => {
                let inner = op.regions()[0];
                self.forward(op.operands(), &op.body[inner].args);
                self.region(inner, b)?;
                self.forward(op.body.region_results(inner), op.results());
                Ok(())
            }
            _ => self.call(op, b),
        }
    }

    /// Builds the batch of a manual computation. The new dimension is whole on each device. Fails if an op has no
    /// batch.
    fn manual(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let (region, loc) = (op.regions()[0], b.loc.clone());
        let (mesh, axes) = manual_mesh_axes(op).expect("verified");
        let layout = |sharding: &Sharding, is_mapped: bool| match is_mapped {
            true => leading_sharding(sharding),
            false => sharding.clone(),
        };
        let ins = in_shardings(op.attrs()).iter().zip(op.operands()).map(|(s, &v)| layout(s, self.mapped[v])).collect();
        let new = b.body.add_region();
        let mut inner = Builder::at(b.body, new, loc.clone());
        for (&arg, &v) in op.body[region].args.iter().zip(op.operands()) {
            self.arg(arg, self.mapped[v], &mut inner);
        }
        self.region(region, &mut inner)?;
        let given = op.body.region_results(region);
        inner.op(Opcode::SdyReturn, self.cloner.values(given), Attrs::new(), []);
        b.loc = loc;
        let batched = |v: Value, is_mapped: bool| match is_mapped {
            true => leading_type(op.body.ty(v), self.size),
            false => op.body.ty(v).clone(),
        };
        let types: Vec<Type> = op.results().iter().zip(given).map(|(&v, &g)| batched(v, self.mapped[g])).collect();
        let (operands, attrs) = (self.cloner.values(op.operands()), ManualComputation::attrs(ins, mesh, axes));
        let made = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [new], types);
        let made = b.body[made].results.to_vec();
        for ((&v, &g), to) in op.results().iter().zip(given).zip(made) {
            self.set(v, to, self.mapped[g], b);
        }
        Ok(())
    }

    fn forward(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to) {
            self.cloner.set(t, self.cloner.get(f));
            self.mapped[t] = self.mapped[f];
        }
    }

    /// Inlines a function as a batch. Fails if an op has no batch.
    fn call(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let Some(func) = callee(op) else {
            return Err(errors::no_batch(op, "it calls no function of the module").into());
        };
        let mut inner = Scope::new(self.module, &func.body, self.size);
        for (&arg, &v) in func.body.args().iter().zip(op.operands()) {
            inner.cloner.set(arg, self.cloner.get(v));
            inner.mapped[arg] = self.mapped[v];
        }
        inner.region(func.body.entry(), b)?;
        for (&f, &t) in func.body.results().iter().zip(op.results()) {
            self.cloner.set(t, inner.cloner.get(f));
            self.mapped[t] = inner.mapped[f];
        }
        Ok(())
    }

    fn depends(&self, region: Region, given: &[Value]) -> EntityVec<Value, bool> {
        let mut depends = Depends::new(self.module, self.body, |op, v| op.body.ty(v).as_tensor().is_some());
        depends.values.iter_mut().zip(self.mapped.iter()).for_each(|(d, &m)| *d = m);
        given.iter().for_each(|&v| depends.values[v] = true);
        depends.region(region);
        depends.values
    }

    /// Builds the batch of a loop. If the condition differs along the batch, the loop runs while it holds for any
    /// index, and the values of indices for which it does not hold stay. Fails if an op has no batch.
    fn while_loop(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let [cond, turn] = [op.regions()[0], op.regions()[1]];
        let (count, next) = (op.operands().len(), op.body.region_results(turn));
        let mut carried: Vec<usize> = (0..count).filter(|&i| self.mapped[op.operand(i)]).collect();
        let mut is_any;
        loop {
            let of = |region: Region| carried.iter().map(|&i| op.body[region].args[i]).collect::<Vec<_>>();
            is_any = self.depends(cond, &of(cond))[op.body.region_results(cond)[0]];
            let depends = self.depends(turn, &of(turn));
            let more: Vec<usize> = (0..count).filter(|&i| is_any || carried.contains(&i) || depends[next[i]]).collect();
            if more == carried {
                break;
            }
            carried = more;
        }
        let operand = |i: usize, b: &mut Builder<'_>| match carried.contains(&i) {
            true => self.with_leading(op.operand(i), b),
            false => self.cloner.get(op.operand(i)),
        };
        let operands: Vec<Value> = (0..count).map(|i| operand(i, b)).collect();
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let loc = b.loc.clone();
        let (first, second) = (b.body.add_region(), b.body.add_region());
        for (region, new) in [(cond, first), (turn, second)] {
            let mut inner = Builder::at(b.body, new, loc.clone());
            for i in 0..count {
                self.arg(op.body[region].args[i], carried.contains(&i), &mut inner);
            }
        }
        let mut inner = Builder::at(b.body, first, loc.clone());
        self.region(cond, &mut inner)?;
        let test = op.body.region_results(cond)[0];
        let holds = self.cloner.get(test);
        let holds = if self.mapped[test] { make::reduce(&mut inner, ReduceKind::Or, holds, &[0]) } else { holds };
        inner.op(Opcode::RegionReturn, [holds], Attrs::new(), []);
        let mut inner = Builder::at(b.body, second, loc.clone());
        let old: Vec<Value> = self.cloner.values(&op.body[turn].args);
        let runs = match is_any {
            true => {
                self.forward(&op.body[turn].args.clone(), &op.body[cond].args.clone());
                self.region(cond, &mut inner)?;
                Some(self.with_leading(test, &mut inner))
            }
            false => None,
        };
        self.region(turn, &mut inner)?;
        let mut results = vec![];
        for i in 0..count {
            let new = match carried.contains(&i) {
                true => self.with_leading(next[i], &mut inner),
                false => self.cloner.get(next[i]),
            };
            results.push(match runs {
                Some(runs) => {
                    let shape = inner.body.ty(new).shape().to_vec();
                    let mask = make::broadcast_in_dim(&mut inner, runs, &shape, &[0]);
                    make::select(&mut inner, mask, new, old[i])
                }
                None => new,
            });
        }
        inner.op(Opcode::RegionReturn, results, Attrs::new(), []);
        b.loc = loc;
        let new = b.op_with_regions(Opcode::While, operands, op.attrs().clone(), [first, second], types);
        let made = b.body[new].results.to_vec();
        for (i, to) in made.into_iter().enumerate() {
            self.set(op.result(i), to, carried.contains(&i), b);
        }
        Ok(())
    }

    /// Builds the batch of a branch. If the predicate differs along the batch, all branches run, and each index takes
    /// the results of its own. Fails if an op has no batch.
    fn branch(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        if self.mapped[op.operand(0)] {
            return self.all_branches(op, b);
        }
        let loc = b.loc.clone();
        let mut regions = vec![];
        for &branch in op.regions() {
            let new = b.body.add_region();
            let mut inner = Builder::at(b.body, new, loc.clone());
            self.region(branch, &mut inner)?;
            let results = op.body.region_results(branch);
            let values: Vec<Value> = results.iter().map(|&v| self.with_leading(v, &mut inner)).collect();
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
            regions.push(new);
        }
        b.loc = loc;
        let types: Vec<Type> = op.results().iter().map(|&v| leading_type(op.body.ty(v), self.size)).collect();
        let predicate = self.cloner.get(op.operand(0));
        let new = b.op_with_regions(op.data().code, [predicate], op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for (&v, to) in op.results().iter().zip(made) {
            self.set(v, to, true, b);
        }
        Ok(())
    }

    fn all_branches(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        for &branch in op.regions() {
            self.region(branch, b)?;
        }
        let index = self.cloner.get(op.operand(0));
        let is_if = Opcode::of_view(op) == Opcode::If;
        let last = op.regions().len() - 1;
        for (i, &result) in op.results().iter().enumerate() {
            let of = |k: usize| op.body.region_results(op.regions()[k])[i];
            let mut chosen = self.with_leading(of(last), b);
            let shape = b.body.ty(chosen).shape().to_vec();
            for k in (0..last).rev() {
                let is_own = match is_if {
                    true => index,
                    false => {
                        let own = make::number(b, shardwise_base::DType::I32, k as i64);
                        let own = repeated(b, own, self.size);
                        make::compare(b, "EQ", index, own)
                    }
                };
                let mask = make::broadcast_in_dim(b, is_own, &shape, &[0]);
                let own = self.with_leading(of(k), b);
                chosen = make::select(b, mask, own, chosen);
            }
            self.set(result, chosen, true, b);
        }
        Ok(())
    }
}
