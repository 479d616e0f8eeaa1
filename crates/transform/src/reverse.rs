//! Reverse mode: a function with tangents, whose linear part is transposed.
//!
//! The function with tangents has ops that do not depend on tangents, which are *known*, and ops that do, which are
//! linear. The known ops run as they are. Then the linear ones are transposed, from the last to the first: each turns
//! the cotangents of its results into cotangents of its operands, which are added up.
//!
//! A loop, a branch or a manual computation with both kinds of ops becomes two: the known one, and the transposed one,
//! which is built later. Where the transposed one uses values from inside the known one, the known one is changed to
//! return them ([`keep_rows`]): a loop stacks the values of its turns, and a branch that runs also returns zeros for
//! the values of the other branches. Values that ops without flops make from fewer bytes are made again.

mod check;
mod linear;

pub use linear::{linearize, linearize_of};

use crate::custom::inlined;
use crate::depends::{Depends, uses};
use crate::errors;
use crate::jvp::{forward, is_smooth};
use crate::states::Sums;
use shardwise_base::{AxisRef, AxisSet, DType, Diagnostics, DimSharding, EntityVec, Mesh, Sharding};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Func, Module, Op, OpView, Region, TensorType, Type, Value, ValueDef};
use shardwise_ops::control::{counter, trip_count};
use shardwise_ops::custom::LinearCall;
use shardwise_ops::derivative::{Cotangent, CotangentCx, Transposed};
use shardwise_ops::remat::{self, Policy};
use shardwise_ops::shardy::{ManualComputation, in_shardings, manual_mesh_axes, manual_mesh_axes_in};
use shardwise_ops::{Effects, Opcode, ReduceKind, make, make_collective};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns the function that takes the arguments of `func`, then a cotangent for each result that is a float or a
/// complex number, and returns the results, then the cotangents of the arguments `args`. `args` must name an argument
/// once: of several cotangents of one argument, all but the last are zero.
///
/// # Errors
/// `transform-argument`, `grad-integer`, `custom-captured`, `no-derivative` and those of calls as in [`jvp`],
/// `no-transpose` for the last op on the way that has no transpose, `loop-length` for a loop on the way whose number of
/// steps is not known, and `manual-mesh` for manual computations over different meshes.
pub fn vjp(module: &Module, func: &Func, args: &[usize]) -> Result<Func, Diagnostics> {
    vjp_of(module, func, args, usize::MAX)
}

/// Does the same as [`vjp`], but takes cotangents only for the first `count` of the results that are floats or complex
/// numbers. The cotangents of the others are zero.
///
/// # Errors
/// Those of [`vjp`].
pub fn vjp_of(module: &Module, func: &Func, args: &[usize], count: usize) -> Result<Func, Diagnostics> {
    let forward = forward(module, func, args)?;
    transposed(module, func, &forward, args, Seed::Arguments(count))
}

/// The cotangents of the results of a function that is transposed.
#[derive(Clone, Copy)]
enum Seed {
    /// New arguments for the first of the results that have tangents, at most this many, and zeros for the others.
    Arguments(usize),
    /// The number 1, of this type, for the first result, and zeros for the others.
    One(DType),
}

/// Returns the function that takes the arguments of `func` and returns its results, the first of which is a real
/// scalar, then the gradient of this result with respect to the arguments `args`. `args` must name an argument once, as
/// in [`vjp`].
///
/// # Errors
/// `grad-scalar` unless the first result is a scalar of a real float type, and those of [`vjp`].
pub fn value_and_gradient(module: &Module, func: &Func, args: &[usize]) -> Result<Func, Diagnostics> {
    let is_real = |t: &TensorType| t.rank() == 0 && t.dtype.is_float();
    let first = func.result_types.first().and_then(Type::as_tensor).filter(|t| is_real(t));
    let Some(first) = first else { return Err(errors::not_scalar(&func.result_types, &func.loc).into()) };
    let forward = forward(module, func, args)?;
    transposed(module, func, &forward, args, Seed::One(first.dtype))
}

/// Transposes `forward`, the function with tangents of `func`, for these cotangents of its results. Fails if an op has
/// no transpose, if the number of steps of a loop is not known, or if manual computations are over different meshes.
fn transposed(module: &Module, func: &Func, forward: &Func, args: &[usize], seed: Seed) -> Result<Func, Diagnostics> {
    let (source, own) = (&forward.body, func.body.args().len());
    let mut out = func.without_body();
    let mut b = Builder::new(&mut out.body);
    b.loc = func.loc.clone();
    let mut reverse = Reverse::new(module, source);
    reverse.cloner.args_of(source.args()[..own].iter().copied(), &mut b);
    let tangents = &source.results()[func.result_types.len()..];
    let mut cotangents: Vec<Option<Value>> = vec![];
    for (i, &v) in tangents.iter().enumerate() {
        cotangents.push(match seed {
            Seed::Arguments(count) if i < count => {
                let arg = b.arg(source.ty(v).clone());
                let from = source.value(v);
                let to = b.body.value_mut(arg);
                to.sharding = from.sharding.as_ref().map(of_cotangent);
                to.manual = from.manual.as_ref().map(|states| Arc::new(states.of_cotangent()));
                out.arg_attrs.push(Attrs::new());
                Some(arg)
            }
            Seed::One(dtype) if i == 0 => Some(make::number(&mut b, dtype, 1)),
            _ => None,
        });
    }
    reverse.mark(&source.args()[own..])?;
    let entry = source.entry();
    reverse.known(entry, &mut b);
    for (&v, ct) in tangents.iter().zip(cotangents) {
        if let Some(ct) = ct {
            reverse.add(v, ct.into(), AxisSet::default(), &mut b);
        }
    }
    reverse.back(entry, &mut b)?;
    b.loc = func.loc.clone();
    let mut values = reverse.cloner.values(&source.results()[..func.result_types.len()]);
    for &v in &source.args()[own..] {
        reverse.complete(v, None, &mut b);
        values.push(reverse.cotangent_or_zeros(v, &mut b));
        out.result_attrs.push(Attrs::new());
        out.result_shardings.push(source.sharding(v).cloned());
    }
    b.ret(values.iter().copied());
    out.result_types = values.iter().map(|&v| out.body.ty(v).clone()).collect();
    debug_assert_eq!(values.len(), func.result_types.len() + args.len());
    Ok(out)
}

/// The known part of an op with regions, which is changed if the transposed part needs values from inside.
#[derive(Clone)]
struct Split {
    op: Op,
    regions: Vec<Region>,
    home: Region,
}

/// The part of the turns of a loop that is computed again.
struct Again<'s> {
    ops: Vec<OpView<'s>>,
    /// The values that are not computed again, because a policy keeps them.
    kept: Vec<Value>,
    /// The positions of those carried values of the loop that its second copy carries.
    carried: Vec<usize>,
}

/// The turns of a loop.
#[derive(Clone, Copy)]
struct Turns {
    count: i64,
    /// The type in which the turns are counted: i32 if `count` fits into it, or else i64.
    dtype: DType,
}

impl Turns {
    /// Returns the turns of a loop, or `None` if their number is not known or does not fit into an i64.
    fn of(op: &OpView<'_>) -> Option<Turns> {
        let count = i64::try_from(trip_count(op)?).ok()?;
        Some(Turns { count, dtype: if i32::try_from(count).is_ok() { DType::I32 } else { DType::I64 } })
    }
}

struct Reverse<'s> {
    module: &'s Module,
    source: &'s Body,
    /// The known values in the body that is being built.
    cloner: Cloner<'s>,
    /// True for each tangent, and for each float or complex value that depends on one.
    linear: EntityVec<Value, bool>,
    cotangents: EntityVec<Value, Option<Value>>,
    split: HashMap<Op, Split>,
    /// For each loop that is computed again, the values of its turns that are kept, each with the array that has a row
    /// for each turn.
    rows: HashMap<Op, Vec<(Value, Value)>>,
    /// The sums of cotangents over manual axes, or `None` if there is no per-device code.
    sums: Option<Sums<'s>>,
}

impl<'s> Reverse<'s> {
    fn new(module: &'s Module, source: &'s Body) -> Reverse<'s> {
        let none = EntityVec::filled(source.value_count(), None);
        let linear = EntityVec::filled(source.value_count(), false);
        let (cloner, split, rows) = (Cloner::new(source), HashMap::new(), HashMap::new());
        Reverse { module, source, cloner, linear, cotangents: none, split, rows, sums: None }
    }

    /// Finds the linear values, those that depend on these tangents, and plans the sums of their cotangents. Fails as
    /// [`Reverse::check`] and [`Sums::plan`] do.
    fn mark(&mut self, tangents: &[Value]) -> Result<(), Diagnostics> {
        let mut depends = Depends::new(self.module, self.source, |op, v| is_smooth(op.body.ty(v)));
        tangents.iter().for_each(|&v| depends.values[v] = true);
        depends.region(self.source.entry());
        self.linear = depends.values;
        self.check()?;
        self.sums = Sums::plan(self.module, self.source, &self.linear)?;
        Ok(())
    }

    fn is_linear(&self, op: &OpView<'s>) -> bool {
        let is_linear = |v: &Value| self.linear[*v];
        op.operands().iter().any(is_linear) || (!op.regions().is_empty() && op.captured().iter().any(is_linear))
    }

    fn ops(&self, region: Region) -> &'s [Op] {
        let ops = &self.source[region].ops;
        &ops[..ops.len().saturating_sub(1)]
    }

    // ── the known part
    /// Copies the ops of a region that do not depend on tangents, except the terminator. Builds the known part of those
    /// that do.
    fn known(&mut self, region: Region, b: &mut Builder<'_>) {
        for &op in self.ops(region) {
            let view = self.module.view(self.source, op);
            b.loc = view.loc().clone();
            match self.is_linear(&view) {
                false => _ = self.cloner.op(op, b),
                true => self.known_of(&view, b),
            }
        }
    }

    /// Builds the known part of an op that uses linear values: a loop, a branch, or a manual or named computation
    /// without its linear ops. Does nothing for other ops.
    fn known_of(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) {
        let code = Opcode::of_view(op);
        if code == Opcode::NamedComputation {
            return self.known_of_remat(op, b);
        }
        if !matches!(code, Opcode::While | Opcode::Case | Opcode::If | Opcode::ManualComputation) {
            return;
        }
        let loc = b.loc.clone();
        let kept: Vec<usize> = (0..op.results().len()).filter(|&i| !self.linear[op.result(i)]).collect();
        let takes: Vec<usize> = match code {
            Opcode::Case | Opcode::If => vec![],
            Opcode::While => kept.clone(),
            _ => (0..op.operands().len()).filter(|&i| !self.linear[op.operand(i)]).collect(),
        };
        let mut regions = vec![];
        for (k, &region) in op.regions().iter().enumerate() {
            let new = b.body.add_region();
            let mut inner = Builder::at(b.body, new, loc.clone());
            self.cloner.args_of(takes.iter().map(|&i| self.source[region].args[i]), &mut inner);
            self.known(region, &mut inner);
            let results = self.source.region_results(region);
            let values: Vec<Value> = match code == Opcode::While && k == 0 {
                true => self.cloner.values(results),
                false => kept.iter().map(|&i| self.cloner.get(results[i])).collect(),
            };
            let end = if code == Opcode::ManualComputation { Opcode::SdyReturn } else { Opcode::RegionReturn };
            inner.op(end, values, Attrs::new(), []);
            regions.push(new);
        }
        b.loc = loc;
        let operands: Vec<Value> = match code {
            Opcode::Case | Opcode::If => vec![self.cloner.get(op.operand(0))],
            _ => takes.iter().map(|&i| self.cloner.get(op.operand(i))).collect(),
        };
        let attrs = match code {
            Opcode::ManualComputation => {
                let (mesh, axes) = manual_mesh_axes(op).expect("verified");
                let ins: Vec<Sharding> = takes.iter().map(|&i| in_shardings(op.attrs())[i].clone()).collect();
                ManualComputation::attrs(ins, mesh, axes)
            }
            _ => op.attrs().clone(),
        };
        let types: Vec<Type> = kept.iter().map(|&i| self.source.ty(op.result(i)).clone()).collect();
        let new = b.op_with_regions(op.data().code, operands, attrs, regions.clone(), types);
        for (k, &i) in kept.iter().enumerate() {
            let made = b.body[new].results[k];
            self.cloner.carry(op.result(i), made, b);
        }
        self.split.insert(op.op, Split { op: new, regions, home: b.region });
    }

    /// Copies the known ops of a named computation to the builder's position. Its region is not kept.
    fn known_of_remat(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) {
        let inner = op.regions()[0];
        self.forward(op.operands(), &self.source[inner].args);
        self.known(inner, b);
        self.forward(self.source.region_results(inner), op.results());
    }

    fn forward(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to).filter(|(f, _)| !self.linear[**f]) {
            self.cloner.set(t, self.cloner.get(f));
        }
    }

    // ── the linear part
    /// Adds `ct` to the cotangent of a value, of which it is a summand on each device along the axes `open`. Does
    /// nothing unless the value is linear.
    fn add(&mut self, v: Value, ct: Cotangent, open: AxisSet, b: &mut Builder<'_>) {
        if !self.linear[v] {
            return;
        }
        let ct = match ct {
            Cotangent::Whole(ct) => Cotangent::Whole(self.as_summand(v, ct, open, b)),
            Cotangent::Block { update, starts } => {
                Cotangent::Block { update: self.as_summand(v, update, open, b), starts }
            }
        };
        let sum = match (ct, self.cotangents[v]) {
            (Cotangent::Whole(ct), None) => ct,
            (Cotangent::Whole(ct), Some(sum)) => make::add(b, sum, ct),
            (Cotangent::Block { update, starts }, sum) => {
                let shape = b.body.ty(update).shape().to_vec();
                match sum {
                    None => {
                        let zeros = self.zeros(v, b);
                        make::dynamic_update_slice(b, zeros, update, &starts)
                    }
                    Some(sum) => {
                        let old = make::dynamic_slice(b, sum, &starts, &shape);
                        let new = make::add(b, old, update);
                        make::dynamic_update_slice(b, sum, new, &starts)
                    }
                }
            }
        };
        let sharding = self.source.sharding(v).map(of_cotangent);
        if b.body.sharding(sum).is_none() {
            b.set_sharding(sum, sharding);
        }
        self.cotangents[v] = Some(sum);
    }

    /// Returns `ct`, which is a summand on each device along the axes `open`, as a summand along all pending axes of `v`
    /// ([`Sums::pending`]): along the pending axes that are not in `open`, the device at position 0 keeps it, and the
    /// others have zeros.
    fn as_summand(&self, v: Value, ct: Value, open: AxisSet, b: &mut Builder<'_>) -> Value {
        let Some(sums) = &self.sums else { return ct };
        let missing = sums.pending(v).minus(&open, &sums.mesh);
        match missing.is_empty() {
            true => ct,
            false => make_collective::on_first(b, ct, &sums.mesh, missing.axes()),
        }
    }

    /// Adds up the cotangent of a value over the axes along which each device has a summand, or those of them that are
    /// in `within` if it is given. Does nothing if the value has no cotangent.
    fn complete(&mut self, v: Value, within: Option<&AxisSet>, b: &mut Builder<'_>) {
        let (Some(sums), Some(ct)) = (&self.sums, self.cotangents[v]) else { return };
        let axes = within.map_or(sums.pending(v).clone(), |w| sums.pending(v).and(w, &sums.mesh));
        if !axes.is_empty() {
            let sum = make_collective::all_reduce(b, ct, ReduceKind::Add, &sums.mesh, axes.axes());
            let sharding = b.body.sharding(ct).cloned();
            b.set_sharding(sum, sharding);
            self.cotangents[v] = Some(sum);
        }
    }

    fn open(&self, f: impl FnOnce(&Sums<'s>) -> AxisSet) -> AxisSet {
        self.sums.as_ref().map(f).unwrap_or_default()
    }

    /// Returns the axes over which a cotangent that passes from `from` to `to` unchanged is a summand on each device.
    fn passed(&self, from: Value, to: Value) -> AxisSet {
        self.open(|sums| sums.passed(from, to))
    }

    fn zeros(&self, v: Value, b: &mut Builder<'_>) -> Value {
        make::zeros(b, self.source.ty(v).as_tensor().expect("only tensors have cotangents"))
    }

    fn cotangent_or_zeros(&self, v: Value, b: &mut Builder<'_>) -> Value {
        self.cotangents[v].unwrap_or_else(|| self.zeros(v, b))
    }

    /// Transposes the linear ops of a region, from the last to the first. Those whose results have no cotangents are
    /// left out. Fails if an op has no transpose, or if the number of steps of a loop is not known.
    fn back(&mut self, region: Region, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        for &op in self.ops(region).iter().rev() {
            let view = self.module.view(self.source, op);
            if self.is_linear(&view) && view.results().iter().any(|&v| self.cotangents[v].is_some()) {
                b.loc = view.loc().clone();
                self.back_of(&view, b)?;
            }
        }
        Ok(())
    }

    fn back_of(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        if let Some(call) = LinearCall::of(op) {
            self.back_of_custom(op, call, b);
            return Ok(());
        }
        match Opcode::of_view(op).facts().transpose(op) {
            Transposed::None(why) => Err(errors::no_transpose(op, why).into()),
            Transposed::By(transpose) => {
                if self.sums.as_ref().is_some_and(|sums| sums.completes(op)) {
                    op.results().iter().for_each(|&v| self.complete(v, None, b));
                }
                let is_shared = self.sums.as_ref().is_some_and(|sums| sums.is_shared(op));
                let first = b.body[b.region].ops.len();
                let operands: Vec<Option<Value>> =
                    op.operands().iter().map(|&v| (!self.linear[v]).then(|| self.cloner.get(v))).collect();
                let own: Vec<Option<Value>> = op.results().iter().map(|&v| self.cotangents[v]).collect();
                let (operands, cotangents) = (&operands[..], &own[..]);
                let cloner = &mut self.cloner;
                let made = transpose(&mut CotangentCx { op: *op, operands, cotangents, is_shared, cloner, b });
                for (&v, ct) in op.operands().iter().zip(made) {
                    if let Some(ct) = ct {
                        if let (Cotangent::Whole(ct), Some(sharding)) = (&ct, self.source.sharding(v)) {
                            set_layouts(self.module, b, *ct, of_cotangent(sharding), first);
                        }
                        let open = self.open(|sums| sums.of_operand(op, v));
                        self.add(v, ct, open, b);
                    }
                }
                Ok(())
            }
            Transposed::Structure => match Opcode::of_view(op) {
                Opcode::While => self.back_of_loop(op, b),
                Opcode::Case | Opcode::If => self.back_of_branch(op, b),
                Opcode::ManualComputation => self.back_of_manual(op, b),
                Opcode::NamedComputation => self.back_of_remat(op, b),
                _ => {
                    Err(errors::no_transpose(op, "it is neither control flow nor a manual or named computation").into())
                }
            },
        }
    }

    fn back_of_custom(&mut self, op: &OpView<'s>, call: LinearCall<'s>, b: &mut Builder<'_>) {
        let (residuals, rest) = op.operands().split_at(call.residuals);
        let (captured, args) = rest.split_at(call.captured);
        op.results().iter().for_each(|&v| self.complete(v, None, b));
        let mut given = self.cloner.values(residuals);
        given.extend(op.results().iter().map(|&v| self.cotangent_or_zeros(v, b)).collect::<Vec<_>>());
        given.extend(self.cloner.values(captured));
        let made = inlined(call.bwd, &given, b);
        for ((&v, ct), &result) in args.iter().zip(made).zip(call.bwd.body.results()) {
            let states = call.bwd.body.value(result).manual.as_deref().cloned().unwrap_or_default();
            let open =
                self.open(|sums| states.varying.union(&states.unreduced, &sums.mesh).minus(sums.own(v), &sums.mesh));
            self.add(v, ct.into(), open, b);
        }
    }

    /// Builds the cotangents of a named computation, whose known ops are computed again as its policy says. Fails as
    /// [`Reverse::back`] does.
    fn back_of_remat(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let inner = op.regions()[0];
        match remat::policy(op).unwrap_or_default() {
            Policy::Everything => {}
            policy => self.run_again(op, &policy, b),
        }
        for (&v, &given) in op.results().iter().zip(self.source.region_results(inner)) {
            if let Some(ct) = self.cotangents[v] {
                self.add(given, ct.into(), self.passed(v, given), b);
            }
        }
        self.back(inner, b)?;
        for (&arg, &v) in self.source[inner].args.iter().zip(op.operands()) {
            if let Some(ct) = self.cotangents[arg] {
                self.add(v, ct.into(), self.passed(arg, v), b);
            }
        }
        Ok(())
    }

    /// Copies the known ops of a region again, as far as the linear ones need them, from the arguments and from the
    /// values that the policy keeps. A barrier holds them back until the cotangents of the results are there.
    fn run_again(&mut self, op: &OpView<'s>, policy: &Policy, b: &mut Builder<'_>) {
        let inner = op.regions()[0];
        let (mut needed, mut kept, mut again) = (HashSet::<Value>::new(), vec![], vec![]);
        for &op in self.ops(inner).iter().rev() {
            self.again(self.module.view(self.source, op), policy, &mut needed, &mut again, &mut kept);
        }
        kept.extend(self.source[inner].args.iter().filter(|v| needed.contains(v)));
        let cotangents: Vec<Value> = op.results().iter().copied().filter(|&v| self.cotangents[v].is_some()).collect();
        let given = cotangents.iter().map(|&v| self.cotangents[v].expect("it has one"));
        let held: Vec<Value> = self.cloner.values(&kept).into_iter().chain(given).collect();
        let types: Vec<Type> = held.iter().map(|&v| b.body.ty(v).clone()).collect();
        let barrier = b.op(Opcode::OptimizationBarrier, held.iter().copied(), Attrs::new(), types);
        let made = b.body[barrier].results.to_vec();
        for (&from, &to) in held.iter().zip(&made) {
            let sharding = b.body.sharding(from).cloned();
            b.set_sharding(to, sharding);
        }
        let (values, cts) = made.split_at(kept.len());
        kept.iter().zip(values).for_each(|(&v, &to)| self.cloner.set(v, to));
        cotangents.iter().zip(cts).for_each(|(&v, &to)| self.cotangents[v] = Some(to));
        for view in again.iter().rev() {
            match self.is_linear(view) && Opcode::of_view(view) == Opcode::While {
                true => self.loop_again(view, policy, &needed, b),
                false => self.op_again(view, b),
            }
        }
    }

    fn op_again(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) {
        b.loc = op.loc().clone();
        match self.is_linear(op) {
            true => self.known_of(op, b),
            false => _ = self.cloner.op(op.op, b),
        }
    }

    fn read_rows(&mut self, rows: impl IntoIterator<Item = (Value, Value)>, row: Value, b: &mut Builder<'_>) {
        for (v, stack) in rows {
            let line = read_row(b, stack, row, self.source.ty(v).shape());
            self.cloner.set(v, line);
        }
    }

    /// Builds the known part of a loop again. What the policy keeps of a turn is a row of an array that the first copy
    /// of the loop returns. `used` are the values that are needed outside of the loop. If the number of turns is not
    /// known, nothing is kept.
    fn loop_again(&mut self, op: &OpView<'s>, policy: &Policy, used: &HashSet<Value>, b: &mut Builder<'_>) {
        let Some(turns) = Turns::of(op) else { return self.op_again(op, b) };
        b.loc = op.loc().clone();
        let Again { ops, kept, carried } = self.again_of_turn(op, policy, used);
        let (loc, first) = (b.loc.clone(), self.split[&op.op].clone());
        let copies = self.cloner.values(&kept);
        let stacks = if kept.is_empty() { vec![] } else { stack_rows(b, &first, &copies, turns) };
        let mut regions = vec![];
        for (k, &region) in op.regions().iter().enumerate() {
            let new = b.body.add_region();
            let mut inner = Builder::at(b.body, new, loc.clone());
            self.cloner.args_of(carried.iter().map(|&i| self.source[region].args[i]), &mut inner);
            let row = inner.arg(Type::tensor(turns.dtype, vec![]));
            let values = match k {
                0 => {
                    self.known(region, &mut inner);
                    self.cloner.values(self.source.region_results(region))
                }
                _ => {
                    self.read_rows(kept.iter().copied().zip(stacks.iter().copied()), row, &mut inner);
                    ops.iter().for_each(|view| self.op_again(view, &mut inner));
                    inner.loc = loc.clone();
                    let one = make::number(&mut inner, turns.dtype, 1);
                    let next = make::add(&mut inner, row, one);
                    let results = self.source.region_results(region);
                    carried.iter().map(|&i| self.cloner.get(results[i])).chain([next]).collect()
                }
            };
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
            regions.push(new);
        }
        b.loc = loc;
        let mut operands: Vec<Value> = carried.iter().map(|&i| self.cloner.get(op.operand(i))).collect();
        operands.push(make::number(b, turns.dtype, 0));
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let new = b.op_with_regions(Opcode::While, operands, op.attrs().clone(), regions.clone(), types);
        for (k, &i) in carried.iter().enumerate() {
            let made = b.body[new].results[k];
            self.cloner.carry(op.result(i), made, b);
        }
        self.split.insert(op.op, Split { op: new, regions, home: b.region });
        self.rows.insert(op.op, kept.into_iter().zip(stacks).collect());
    }

    /// Returns what is computed again of the turns of a loop, so that the linear ops of the turns and the values `used`
    /// from outside of the loop have their operands.
    fn again_of_turn(&self, op: &OpView<'s>, policy: &Policy, used: &HashSet<Value>) -> Again<'s> {
        let [cond, turn] = [op.regions()[0], op.regions()[1]];
        let views = |region: Region| self.ops(region).iter().map(|&op| self.module.view(self.source, op));
        let mut decides: HashSet<Value> = views(cond).flat_map(|view| uses(&view)).collect();
        decides.extend(self.source.region_results(cond));
        let (of_cond, of_turn) = (&self.source[cond].args, &self.source[turn].args);
        let next = self.source.region_results(turn);
        // A carried value that a turn needs is needed at the end of the turn before it.
        let mut needed: HashSet<Value> =
            (0..next.len()).filter(|&i| decides.contains(&of_cond[i])).map(|i| of_turn[i]).collect();
        let ends = (0..next.len()).filter(|&i| used.contains(&op.result(i)) && !self.linear[op.result(i)]);
        let mut carried: HashSet<usize> = ends.collect();
        loop {
            needed.extend(carried.iter().map(|&i| next[i]));
            let (mut ops, mut kept) = (vec![], vec![]);
            for view in views(turn).collect::<Vec<_>>().into_iter().rev() {
                self.again(view, policy, &mut needed, &mut ops, &mut kept);
            }
            let before = carried.len();
            carried.extend((0..next.len()).filter(|&i| needed.contains(&of_turn[i])));
            if carried.len() == before {
                ops.reverse();
                let carried = (0..next.len()).filter(|i| carried.contains(i)).collect();
                return Again { ops, kept, carried };
            }
        }
    }

    /// Adds an op to `ops` if it is computed again for the values `needed`, to which its operands are then added. Adds
    /// those of its results that are needed to `kept` in place of this, if the policy keeps them, the op is not linear
    /// and has operands, and each of its results has dimensions or is a float or a complex number. The known operands
    /// of a linear op are always needed, and it is added to `ops` if it has regions.
    fn again(
        &self,
        op: OpView<'s>,
        policy: &Policy,
        needed: &mut HashSet<Value>,
        ops: &mut Vec<OpView<'s>>,
        kept: &mut Vec<Value>,
    ) {
        let is_linear = self.is_linear(&op);
        let mut wanted = op.results().iter().copied().filter(|v| needed.contains(v)).peekable();
        let is_wanted = wanted.peek().is_some();
        // Constants and counters are made again, and only tensors can be kept.
        let type_of = |v: &Value| self.source.ty(*v);
        let is_array = |v: &Value| type_of(v).as_tensor().is_some_and(|t| t.rank() > 0 || is_smooth(type_of(v)));
        let can_be_kept = !op.operands().is_empty() && op.results().iter().all(is_array);
        if !is_linear && is_wanted && can_be_kept && policy.keeps(&op) {
            kept.extend(wanted);
        } else if is_linear || is_wanted {
            drop(wanted);
            needed.extend(uses(&op).into_iter().filter(|v| !self.linear[*v]));
            if !is_linear || !op.regions().is_empty() {
                ops.push(op);
            }
        }
    }

    /// Returns the turns of a loop, for each of which values may be kept. Fails with `loop-length` if their number is not
    /// known, or if it is so large that no array can have a row for each.
    fn turns(&self, op: &OpView<'s>) -> Result<Turns, Diagnostics> {
        let Some(turns) = Turns::of(op) else { return Err(errors::unknown_length(op).into()) };
        let mut inner = vec![];
        self.source.walk_region(op.regions()[1], &mut inner);
        let values = inner.iter().flat_map(|&op| &self.source[op].results).chain(&self.source[op.regions()[1]].args);
        let bytes = values.filter_map(|&v| self.source.ty(v).as_tensor()).map(|ty| u128::from(ty.bytes())).max();
        match bytes.unwrap_or(0) * turns.count as u128 > isize::MAX as u128 {
            true => Err(errors::too_many_turns(op, turns.count).into()),
            false => Ok(turns),
        }
    }

    fn captured(&self, op: &OpView<'s>) -> Vec<Value> {
        op.captured().into_iter().filter(|&v| self.linear[v]).collect()
    }

    /// Builds the transposed loop: it runs the turns from the last to the first, and carries the cotangents of the
    /// carried values and of the values that the turns use from outside. Fails if the number of turns is not known, or
    /// if an op has no transpose.
    fn back_of_loop(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let turns = self.turns(op)?;
        let turn = op.regions()[1];
        let (args, next) = (&self.source[turn].args, self.source.region_results(turn));
        let carried: Vec<usize> = (0..args.len()).filter(|&i| self.linear[args[i]]).collect();
        let outer = self.captured(op);
        let mut operands = vec![make::number(b, turns.dtype, 0)];
        for &i in &carried {
            let ct = self.cotangent_or_zeros(op.result(i), b);
            let open = self.passed(op.result(i), args[i]);
            operands.push(self.as_summand(args[i], ct, open, b));
        }
        operands.extend(outer.iter().map(|&v| self.cotangent_or_zeros(v, b)).collect::<Vec<_>>());
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let cond = counts_to(b, &types, turns);
        let back = b.body.add_region();
        let mut inner = Builder::at(b.body, back, b.loc.clone());
        let inner_args: Vec<Value> = types.iter().map(|ty| inner.arg(ty.clone())).collect();
        let last = make::number(&mut inner, turns.dtype, turns.count - 1);
        let row = make::subtract(&mut inner, last, inner_args[0]);
        let rows = self.rows.remove(&op.op).unwrap_or_default();
        self.read_rows(rows, row, &mut inner);
        // The cotangents of this turn: of what it returns, and of what it uses from outside.
        let saved: Vec<Option<Value>> = outer.iter().map(|&v| self.cotangents[v]).collect();
        for (k, &v) in outer.iter().enumerate() {
            self.cotangents[v] = Some(inner_args[1 + carried.len() + k]);
        }
        for (k, &i) in carried.iter().enumerate() {
            self.add(next[i], inner_args[1 + k].into(), self.passed(args[i], next[i]), &mut inner);
        }
        self.back(turn, &mut inner)?;
        let one = make::number(&mut inner, turns.dtype, 1);
        let mut results = vec![make::add(&mut inner, inner_args[0], one)];
        results.extend(carried.iter().map(|&i| self.cotangent_or_zeros(args[i], &mut inner)).collect::<Vec<_>>());
        results.extend(outer.iter().map(|&v| self.cotangent_or_zeros(v, &mut inner)).collect::<Vec<_>>());
        inner.op(Opcode::RegionReturn, results, Attrs::new(), []);
        outer.iter().zip(saved).for_each(|(&v, ct)| self.cotangents[v] = ct);
        let known = &self.split[&op.op];
        keep_rows(self.module, b, known, back, row, turns);
        let new = b.op_with_regions(Opcode::While, operands, Attrs::new(), [cond, back], types);
        let made = b.body[new].results.to_vec();
        for (k, &v) in outer.iter().enumerate() {
            self.cotangents[v] = Some(made[1 + carried.len() + k]);
        }
        for (k, &i) in carried.iter().enumerate() {
            self.add(op.operand(i), made[1 + k].into(), self.passed(args[i], op.operand(i)), b);
        }
        Ok(())
    }

    /// Builds the transposed branch: each region returns the cotangents of all linear values from outside that some
    /// region uses. Fails as [`Reverse::back`] does.
    fn back_of_branch(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let outer = self.captured(op);
        let saved: Vec<Option<Value>> = outer.iter().map(|&v| self.cotangents[v]).collect();
        let known = self.split[&op.op].clone();
        let mut regions = vec![];
        for (k, &branch) in op.regions().iter().enumerate() {
            let back = b.body.add_region();
            let mut inner = Builder::at(b.body, back, b.loc.clone());
            outer.iter().for_each(|&v| self.cotangents[v] = None);
            for (i, &v) in self.source.region_results(branch).iter().enumerate() {
                if let Some(ct) = self.cotangents[op.result(i)] {
                    self.add(v, ct.into(), self.passed(op.result(i), v), &mut inner);
                }
            }
            self.back(branch, &mut inner)?;
            let results: Vec<Value> = outer.iter().map(|&v| self.cotangent_or_zeros(v, &mut inner)).collect();
            inner.op(Opcode::RegionReturn, results, Attrs::new(), []);
            keep_of_branch(self.module, b, &known, k, back);
            regions.push(back);
        }
        outer.iter().zip(saved).for_each(|(&v, ct)| self.cotangents[v] = ct);
        let types: Vec<Type> = outer.iter().map(|&v| self.source.ty(v).clone()).collect();
        let predicate = self.cloner.get(op.operand(0));
        let new = b.op_with_regions(op.data().code, [predicate], op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for (&v, ct) in outer.iter().zip(made) {
            let open = self.open(|sums| sums.pending(v).clone());
            self.add(v, ct.into(), open, b);
        }
        Ok(())
    }

    /// Returns the axes of `manual` over which devices have values of their own, for the copy of each known value that
    /// an op of a region makes.
    fn own_of_copies(&self, region: Region, manual: &AxisSet) -> HashMap<Value, AxisSet> {
        let Some(sums) = &self.sums else { return HashMap::new() };
        let made = self.source[region].ops.iter().flat_map(|&op| &self.source[op].results);
        let known = made.filter(|&&v| self.cloner.is_set(v));
        known.map(|&v| (self.cloner.get(v), sums.own(v).and(manual, &sums.mesh))).collect()
    }

    /// Builds the transposed manual computation. It takes the cotangents of the results in the layouts that
    /// [`of_cotangent`] returns for those of the results. It returns the cotangents of the arguments, split as the
    /// arguments are: they are unreduced over the manual axes over which the argument is reduced, and over no others.
    /// Fails as [`Reverse::back`] does.
    fn back_of_manual(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let inner = op.regions()[0];
        let (args, given) = (&self.source[inner].args, self.source.region_results(inner));
        let (mesh, axes) = manual_mesh_axes(op).expect("verified");
        let manual = AxisSet::new(mesh, axes.iter().copied());
        let (mut operands, mut ins) = (vec![], vec![]);
        let back = b.body.add_region();
        let mut inside = Builder::at(b.body, back, b.loc.clone());
        let with: Vec<usize> = (0..op.results().len())
            .filter(|&i| self.linear[given[i]] && self.cotangents[op.result(i)].is_some())
            .collect();
        for &i in &with {
            operands.push(self.cotangents[op.result(i)].expect("it has one"));
            ins.push(of_cotangent(self.source.sharding(op.result(i)).expect("verified")));
            let arg = inside.arg(self.source.ty(given[i]).clone());
            let sums = self.sums.as_ref().expect("there is per-device code");
            let open = sums.of_given(op, op.result(i), given[i]);
            // Each device returned the whole value, so that it has an equal share of the cotangent.
            let copies = sums.own(given[i]).and(&manual, mesh).minus(&sums.split(op, op.result(i)), mesh);
            let ct = share(&mut inside, arg, AxisRef::total_size(mesh, copies.axes()));
            self.add(given[i], ct.into(), open, &mut inside);
        }
        self.back(inner, &mut inside)?;
        inside.loc = op.loc().clone();
        let mut made = vec![];
        let mut outs = vec![];
        for (i, &arg) in args.iter().enumerate() {
            self.complete(arg, Some(&manual), &mut inside);
            if let Some(ct) = self.cotangents[arg] {
                made.push(ct);
                let cut = in_shardings(op.attrs())[i].clone();
                let is_reduced = |a: &AxisRef| self.sums.as_ref().is_some_and(|s| s.is_reduced(arg, *a));
                let unreduced: Vec<AxisRef> = axes.iter().copied().filter(is_reduced).collect();
                outs.push((i, cut.with_unreduced(unreduced).with_reduced(vec![])));
            }
        }
        inside.op(Opcode::SdyReturn, made, Attrs::new(), []);
        let known = self.split[&op.op].clone();
        let own = self.own_of_copies(inner, &manual);
        keep_of_manual(self.module, b, &known, back, (&mut operands, &mut ins), &own);
        let types: Vec<Type> = outs.iter().map(|(i, _)| op.operand_type(*i).clone()).collect();
        let attrs = ManualComputation::attrs(ins, mesh, axes);
        let new = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [back], types);
        let made = b.body[new].results.to_vec();
        for ((i, cut), ct) in outs.into_iter().zip(made) {
            b.set_sharding(ct, Some(cut));
            let open = self.open(|sums| sums.pending(args[i]).minus(&manual, mesh));
            self.add(op.operand(i), ct.into(), open, b);
        }
        Ok(())
    }
}

/// Builds the condition of a loop that carries these types: the first value, which counts turns, is less than their
/// number.
fn counts_to(b: &mut Builder<'_>, types: &[Type], turns: Turns) -> Region {
    b.region(types, |b, args| {
        let limit = make::number(b, turns.dtype, turns.count);
        let more = make::compare(b, "LT", args[0], limit);
        b.op(Opcode::RegionReturn, [more], Attrs::new(), []);
    })
}

/// Returns the layout of a cotangent of a value with this layout: that of a reduced value is unreduced, and the other
/// way around.
pub fn of_cotangent(sharding: &Sharding) -> Sharding {
    let (unreduced, reduced) = (sharding.unreduced.clone(), sharding.reduced.clone());
    sharding.clone().with_unreduced(reduced).with_reduced(unreduced)
}

/// Sets the layout of `x`, and those that follow from it for the values from which `x` is made: an operand that is no
/// scalar gets one if the result, which must be the only one, has all of its factors. Values that have a layout, and
/// those from before the op `first` of the region, stay as they are.
fn set_layouts(module: &Module, b: &mut Builder<'_>, x: Value, sharding: Sharding, first: usize) {
    let new: Vec<Op> = b.body[b.region].ops[first..].to_vec();
    let mut next = vec![(x, sharding)];
    while let Some((v, sharding)) = next.pop() {
        let made = b.body.def_op(v).filter(|op| new.contains(op) && b.body.sharding(v).is_none());
        let Some(op) = made else { continue };
        b.set_sharding(v, Some(sharding.clone()));
        let view = module.view(b.body, op);
        let fact = Opcode::of_view(&view).facts().rule(&view);
        let Some(rule) = fact.rule().filter(|_| view.results().len() == 1) else { continue };
        let result = &rule.results[0];
        for (&operand, own) in view.operands().iter().zip(&rule.operands) {
            if own.rank() > 0 && own.factors().all(|f| result.contains(f)) {
                let axes_of = |dim: usize| match &own.dims[dim][..] {
                    [factor] => result.dims.iter().position(|d| d[..] == [*factor]),
                    _ => None,
                };
                let dims = (0..own.rank()).map(|dim| match axes_of(dim) {
                    Some(to) => sharding.dims[to].clone(),
                    None => DimSharding { axes: vec![], is_open: true, priority: None },
                });
                next.push((operand, sharding.clone().with_dims(dims.collect())));
            }
        }
    }
}

fn share(b: &mut Builder<'_>, x: Value, count: usize) -> Value {
    if count == 1 {
        return x;
    }
    let ty = make::type_of(b, x);
    let count = make::number(b, ty.dtype, count as i64);
    let count = make::broadcast_scalar(b, count, &ty.shape);
    make::divide(b, x, count)
}

// ── values from inside of the known part
/// Returns the values of the known region that the ops of region `back` use, each once, in ascending order.
fn used_of(body: &Body, known: Region, back: Region) -> Vec<Value> {
    let mut ops = vec![];
    body.walk_region(back, &mut ops);
    let inside: HashSet<Op> = body[known].ops.iter().copied().collect();
    let is_inside = |v: Value| match body[v].def {
        ValueDef::Argument { region, .. } => region == known,
        ValueDef::Result { op, .. } => inside.contains(&op),
    };
    let mut used: Vec<Value> =
        ops.iter().flat_map(|&op| body[op].operands.iter().copied()).filter(|&v| is_inside(v)).collect();
    used.sort_unstable();
    used.dedup();
    used
}

fn replace(body: &mut Body, region: Region, to: &HashMap<Value, Value>) {
    let mut ops = vec![];
    body.walk_region(region, &mut ops);
    for op in ops {
        if body[op].operands.iter().any(|v| to.contains_key(v)) {
            for v in &mut body.op_mut(op).operands {
                *v = *to.get(v).unwrap_or(v);
            }
        }
    }
}

/// Returns the values of the region `known` to keep so that the values `used` can be made again, and the ops that make
/// the values `used` from them, first to last. Only ops that [`Sources::maker`] returns are run again, and only where
/// that keeps fewer bytes. The value `free` counts as 0 bytes, and may be among those to keep.
fn sources(module: &Module, body: &Body, known: Region, used: &[Value], free: Option<Value>) -> (Vec<Value>, Vec<Op>) {
    let position: HashMap<Op, usize> = body[known].ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let mut sources = Sources { module, body, known, position, free, bytes: HashMap::new() };
    sources.count();
    let (mut kept, mut again) = (HashSet::new(), HashSet::new());
    let mut open: Vec<Value> = used.to_vec();
    while let Some(v) = open.pop() {
        match sources.maker(v).filter(|_| sources.bytes[&v] < sources.own_bytes(v)) {
            Some(op) if again.insert(op.op) => open.extend(sources.inside(&op)),
            Some(_) => {}
            None => _ = kept.insert(v),
        }
    }
    let mut kept: Vec<Value> = kept.into_iter().collect();
    let mut again: Vec<Op> = again.into_iter().collect();
    kept.sort_unstable();
    again.sort_by_key(|op| sources.position[op]);
    (kept, again)
}

/// The search for values of a region to keep, of few bytes, from which others can be made again.
struct Sources<'a> {
    module: &'a Module,
    body: &'a Body,
    known: Region,
    position: HashMap<Op, usize>,
    free: Option<Value>,
    bytes: HashMap<Value, u64>,
}

impl<'a> Sources<'a> {
    /// Returns the op of the region that makes a value, if it can be run again: it is pure, has no regions, and its
    /// cost has no flops, as that of a reshape or a broadcast. Returns `None` for other ops, among them comparisons,
    /// logic, `select` and conversions, for arguments, and for values from outside of the region.
    fn maker(&self, v: Value) -> Option<OpView<'a>> {
        let op = self.body.def_op(v).filter(|op| self.position.contains_key(op))?;
        let view = self.module.view(self.body, op);
        let facts = Opcode::of_view(&view).facts();
        let is_free = facts.cost(&view).flops == 0.0 && facts.effects(&view) == Effects::Pure;
        (is_free && view.regions().is_empty()).then_some(view)
    }

    fn inside(&self, op: &OpView<'a>) -> Vec<Value> {
        let is_inside = |v: &Value| match self.body[*v].def {
            ValueDef::Argument { region, .. } => region == self.known,
            ValueDef::Result { op, .. } => self.position.contains_key(&op),
        };
        op.operands().iter().copied().filter(is_inside).collect()
    }

    fn own_bytes(&self, v: Value) -> u64 {
        if self.free == Some(v) { 0 } else { self.body.ty(v).as_tensor().map_or(u64::MAX, TensorType::bytes) }
    }

    /// Counts, for each value of the region, the bytes of the values to keep so that it can be made again. A value that
    /// is needed for several operands counts each time.
    fn count(&mut self) {
        for &v in &self.body[self.known].args {
            self.bytes.insert(v, self.own_bytes(v));
        }
        for &op in &self.body[self.known].ops {
            for &v in &self.body[op].results {
                let from =
                    |op: OpView<'a>| self.inside(&op).iter().fold(0u64, |sum, v| sum.saturating_add(self.bytes[v]));
                let own = self.own_bytes(v);
                self.bytes.insert(v, self.maker(v).map_or(own, |op| from(op).min(own)));
            }
        }
    }
}

/// Copies the ops, which have no regions, to the builder's position, with `to` in place of the values that they use.
/// Adds their results to `to`.
fn run_again(b: &mut Builder<'_>, ops: &[Op], to: &mut HashMap<Value, Value>) {
    for &op in ops {
        let data = b.body[op].clone();
        let operands: Vec<Value> = data.operands.iter().map(|v| *to.get(v).unwrap_or(v)).collect();
        let types: Vec<Type> = data.results.iter().map(|&v| b.body.ty(v).clone()).collect();
        let new = b.body.add_op(b.region, data.code, operands, data.attrs, [], types, data.loc);
        let made = b.body[new].results.to_vec();
        to.extend(data.results.iter().copied().zip(made));
    }
}

/// Moves the ops at the end of a region, from `from` on, to the position `to` in front of them.
fn move_ops(body: &mut Body, region: Region, from: usize, to: usize) {
    let ops = &mut body.region_mut(region).ops;
    let count = ops.len() - from;
    ops[to..].rotate_right(count);
}

/// Builds values with `f` at the end of a region, which its terminator returns in addition.
fn return_more(b: &mut Builder<'_>, region: Region, f: impl FnOnce(&mut Builder<'_>) -> Vec<Value>) {
    let end = b.body.terminator(region).expect("a region ends in a terminator");
    b.body.pop_op(region, end);
    let values = f(&mut Builder::at(b.body, region, b.loc.clone()));
    b.body.region_mut(region).ops.push(end);
    b.body.op_mut(end).operands.extend(values);
}

fn add_results(body: &mut Body, op: Op, types: Vec<Type>) -> Vec<Value> {
    let before = body[op].results.len();
    body.add_results(op, types);
    body[op].results[before..].to_vec()
}

/// Replaces the values from inside of the known loop that the region `back` of the transposed loop uses. The known loop
/// stacks them, or values from which they are made again, turn by turn, and `back` reads the rows at `row`. A counter
/// is computed from `row`.
fn keep_rows(module: &Module, b: &mut Builder<'_>, known: &Split, back: Region, row: Value, turns: Turns) {
    let turn = known.regions[1];
    let used = used_of(b.body, turn, back);
    if used.is_empty() {
        return;
    }
    // The counter follows from the row.
    let counter = counter(&module.view(b.body, known.op));
    let counted = counter.map(|c| b.body[turn].args[c.index]);
    let (mut kept, again) = sources(module, b.body, turn, &used, counted);
    let counted = counted.filter(|v| kept.contains(v));
    kept.retain(|v| Some(*v) != counted);
    let stacks = if kept.is_empty() { vec![] } else { stack_rows(b, known, &kept, turns) };
    // `row` is computed first in `back`.
    let place = b.body[back].ops.len();
    let at = b.body[back].ops.iter().position(|&op| b.body[op].results.contains(&row)).expect("it is made there") + 1;
    let mut inner = Builder::at(b.body, back, b.loc.clone());
    let mut to = HashMap::new();
    if let (Some(v), Some(counter)) = (counted, counter) {
        let dtype = make::type_of(&inner, v).dtype;
        let mut value = make::convert(&mut inner, row, dtype);
        if counter.step != 1 {
            let step = make::number(&mut inner, dtype, counter.step);
            value = make::multiply(&mut inner, value, step);
        }
        if counter.first != 0 {
            let first = make::number(&mut inner, dtype, counter.first);
            value = make::add(&mut inner, value, first);
        }
        to.insert(v, value);
    }
    for (&v, &stack) in kept.iter().zip(&stacks) {
        let shape = inner.body.ty(v).shape().to_vec();
        to.insert(v, read_row(&mut inner, stack, row, &shape));
    }
    run_again(&mut inner, &again, &mut to);
    move_ops(b.body, back, place, at);
    // The rows themselves use no value of the known loop.
    replace(b.body, back, &to);
}

fn read_row(b: &mut Builder<'_>, stack: Value, row: Value, shape: &[usize]) -> Value {
    let starts = row_starts(b, row, shape.len());
    let line = make::dynamic_slice(b, stack, &starts, &[&[1], shape].concat());
    make::reshape(b, line, shape)
}

/// Returns the starting indices of a row: `row`, and zeros for `rank` further dimensions.
fn row_starts(b: &mut Builder<'_>, row: Value, rank: usize) -> Vec<Value> {
    let mut starts = vec![row];
    if rank > 0 {
        let dtype = make::type_of(b, row).dtype;
        let zero = make::number(b, dtype, 0);
        starts.extend(vec![zero; rank]);
    }
    starts
}

/// Makes the known loop stack these values of its body: it carries a counter of turns, and an array with a row for each
/// turn of each value. Returns the stacks, which are results of the loop. They have a row also if there are no turns,
/// because the body writes one.
fn stack_rows(b: &mut Builder<'_>, known: &Split, kept: &[Value], turns: Turns) -> Vec<Value> {
    let (op, [cond, turn]) = (known.op, [known.regions[0], known.regions[1]]);
    let loc = b.body[op].loc.clone();
    let rows = turns.count.max(1) as usize;
    let stack_type = |ty: &TensorType| TensorType::new(ty.dtype, [&[rows], &ty.shape[..]].concat());
    let types: Vec<TensorType> =
        kept.iter().map(|&v| stack_type(b.body.ty(v).as_tensor().expect("tensors are kept"))).collect();
    let all: Vec<Type> =
        std::iter::once(Type::tensor(turns.dtype, vec![])).chain(types.iter().map(|t| t.clone().into())).collect();
    // The initial values come before the loop.
    let home = known.home;
    let from = b.body[home].ops.len();
    let mut before = Builder::at(b.body, home, loc.clone());
    let mut initial = vec![make::number(&mut before, turns.dtype, 0)];
    initial.extend(types.iter().map(|ty| make::zeros(&mut before, ty)).collect::<Vec<_>>());
    let at = b.body[home].ops.iter().position(|&o| o == op).expect("the loop is in this region");
    move_ops(b.body, home, from, at);
    b.body.op_mut(op).operands.extend(initial);
    all.iter().for_each(|ty| {
        b.body.add_arg(cond, ty.clone(), loc.clone());
    });
    let args: Vec<Value> = all.iter().map(|ty| b.body.add_arg(turn, ty.clone(), loc.clone())).collect();
    return_more(b, turn, |inner| {
        inner.loc = loc;
        let one = make::number(inner, turns.dtype, 1);
        let mut results = vec![make::add(inner, args[0], one)];
        for (&v, &stack) in kept.iter().zip(&args[1..]) {
            let shape = inner.body.ty(v).shape().to_vec();
            let line = make::reshape(inner, v, &[&[1], &shape[..]].concat());
            let starts = row_starts(inner, args[0], shape.len());
            results.push(make::dynamic_update_slice(inner, stack, line, &starts));
        }
        results
    });
    add_results(b.body, op, all).split_off(1)
}

/// Replaces the values from inside of branch `k` of the known op that region `back` of the transposed branch uses. The
/// branch returns them, or values from which they are made again. The other branches return zeros.
fn keep_of_branch(module: &Module, b: &mut Builder<'_>, known: &Split, k: usize, back: Region) {
    let used = used_of(b.body, known.regions[k], back);
    if used.is_empty() {
        return;
    }
    let (kept, again) = sources(module, b.body, known.regions[k], &used, None);
    let types: Vec<Type> = kept.iter().map(|&v| b.body.ty(v).clone()).collect();
    for (j, &region) in known.regions.iter().enumerate() {
        return_more(b, region, |inner| match j == k {
            true => kept.clone(),
            false => types.iter().map(|ty| make::zeros(inner, ty.as_tensor().expect("tensors are kept"))).collect(),
        });
    }
    let made = add_results(b.body, known.op, types);
    let mut to: HashMap<Value, Value> = kept.into_iter().zip(made).collect();
    let from = b.body[back].ops.len();
    let mut inner = Builder::at(b.body, back, b.loc.clone());
    run_again(&mut inner, &again, &mut to);
    move_ops(b.body, back, from, 0);
    replace(b.body, back, &to);
}

/// Replaces the values from inside of the known manual computation that the region `back` of the transposed one uses.
/// The transposed one takes these values, or values from which they are made again. Those of them that are arguments of
/// the known one are taken as it takes them. The known one returns the others, each with a new leading dimension along
/// which devices have values of their own. All are added to `operands`, and their layouts to `ins`. `own` has the
/// manual axes over which devices have values of their own. A value that it lacks has a row for each device.
fn keep_of_manual(
    module: &Module,
    b: &mut Builder<'_>,
    known: &Split,
    back: Region,
    (operands, ins): (&mut Vec<Value>, &mut Vec<Sharding>),
    own: &HashMap<Value, AxisSet>,
) {
    let inside = known.regions[0];
    let used = used_of(b.body, inside, back);
    if used.is_empty() {
        return;
    }
    let (kept, again) = sources(module, b.body, inside, &used, None);
    let attrs = b.body[known.op].attrs.clone();
    let (mesh, axes) = manual_mesh_axes_in(&attrs).expect("it is a manual computation");
    let from = b.body[back].ops.len();
    let mut to = HashMap::new();
    let mut returned: Vec<(Value, Type, Sharding)> = vec![];
    for v in kept {
        if let ValueDef::Argument { index, .. } = b.body[v].def {
            operands.push(b.body[known.op].operands[index as usize]);
            ins.push(in_shardings(&attrs)[index as usize].clone());
            let ty = b.body.ty(v).clone();
            to.insert(v, b.body.add_arg(back, ty, b.loc.clone()));
            continue;
        }
        let ty = make::type_of(b, v);
        let along: Vec<AxisRef> = match own.get(&v) {
            None => axes.to_vec(),
            Some(own) => axes.iter().copied().filter(|a| own.iter().any(|o| a.overlaps(o))).collect(),
        };
        let stacked = |count: usize| TensorType::new(ty.dtype, [&[count], &ty.shape[..]].concat());
        let cut = row_layout(b.body.sharding(v), mesh, axes, &along, ty.rank() + 1);
        returned.push((v, stacked(AxisRef::total_size(mesh, &along)).into(), cut));
        let arg = b.body.add_arg(back, stacked(1).into(), b.loc.clone());
        let mut start = Builder::at(b.body, back, b.loc.clone());
        to.insert(v, make::reshape(&mut start, arg, &ty.shape));
    }
    return_more(b, inside, |inner| {
        let line = |(v, ..): &(Value, Type, Sharding)| {
            let shape = [&[1], inner.body.ty(*v).shape()].concat();
            make::reshape(inner, *v, &shape)
        };
        returned.iter().map(line).collect()
    });
    let types = returned.iter().map(|(_, ty, _)| ty.clone()).collect();
    let made = add_results(b.body, known.op, types);
    for (result, (_, _, cut)) in made.into_iter().zip(returned) {
        b.set_sharding(result, Some(cut.clone()));
        operands.push(result);
        ins.push(cut);
    }
    let mut start = Builder::at(b.body, back, b.loc.clone());
    run_again(&mut start, &again, &mut to);
    move_ops(b.body, back, from, 0);
    replace(b.body, back, &to);
}

/// Returns the layout of a value that leaves a manual computation with a new leading dimension, split over `along`. The
/// other dimensions keep the layout over axes that are not manual. If the value has none, they are open where the mesh
/// has such axes.
fn row_layout(
    inner: Option<&Sharding>,
    mesh: &Arc<Mesh>,
    manual: &[AxisRef],
    along: &[AxisRef],
    rank: usize,
) -> Sharding {
    let is_free = |a: &AxisRef| !manual.iter().any(|m| m.overlaps(*a));
    let is_open = inner.is_none() && mesh.all_axes().any(|a| is_free(&a));
    let own = |dim: usize| inner.map_or(vec![], |s| s.dims[dim].axes.iter().copied().filter(is_free).collect());
    let first = DimSharding { axes: along.to_vec(), is_open: false, priority: None };
    let rest = (1..rank).map(|dim| DimSharding { axes: own(dim - 1), is_open, priority: None });
    Sharding::new(mesh, std::iter::once(first).chain(rest).collect())
}
