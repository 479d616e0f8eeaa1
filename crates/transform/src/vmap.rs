//! Batches: a function that computes for each index of a new leading dimension what it computed before.

use crate::depends::{Depends, callee};
use crate::errors;
use shardwise_base::{AxisRef, AxisSet, DType, Diagnostics, DimSharding, EntityVec, Loc, Mesh, Sharding, SubAxis};
use shardwise_ir::{Attrs, Builder, Cloner, Func, Module, OpView, Region, TensorType, Type, Value};
use shardwise_ops::batch::{BatchCx, Batched as How, leading_type, repeated};
use shardwise_ops::calls::{self, refuse_expansion};
use shardwise_ops::collective::named::NamedOp;
use shardwise_ops::custom::{self, Custom, Rule, RuleNames};
use shardwise_ops::expansion::expand;
use shardwise_ops::reducer::nothing;
use shardwise_ops::remat::{self, Policy};
use shardwise_ops::shardy::{ManualComputation, in_shardings, manual_mesh_axes};
use shardwise_ops::{Opcode, ReduceKind, make};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Returns the function whose arguments `args` and all results have a new leading dimension of size `size`, except for
/// tokens and tuples. It computes `func` for each index of the dimension. Layouts are those of the old dimensions, and
/// the new one is open. Calls that use values with the new dimension are inlined, or become named computations if they
/// have a policy of what is computed again. Functions with derivatives of their own are batched too, and are
/// [added](Batched::added).
///
/// # Errors
/// `transform-argument` if an argument is not there, `no-batch` for an argument that is neither an array nor a token,
/// such as a tuple, and for the first op that has no batch, and `transform-options` for the first array that would be
/// too large with the new dimension. Fails as [`refuse_expansion`] does if the calls of `func` nest too deep or are too
/// many, and with `call-depth` if functions with derivatives of their own do.
pub fn vmap(module: &Module, func: &Func, args: &[usize], size: usize) -> Result<Batched, Diagnostics> {
    vmap_with(module, func, args, Batch { size, has_all: true, axis: None, layout: &[] })
}

/// The new dimension of a function that is batched.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The size of the new leading dimension.
    pub size: usize,
    /// True if arrays among the results that are the same for all indices have the leading dimension, too.
    pub has_all: bool,
    /// The name of the dimension in [named ops](shardwise_ops::collective::named), which the batch replaces, if it has
    /// one.
    pub axis: Option<&'a str>,
    /// The axes over which the new dimension is split where the function states a layout, major to minor. Axes that the
    /// mesh of a layout does not have are left out. If none is left, the dimension is open.
    pub layout: &'a [BatchAxis],
}

/// An axis of a mesh, or a part of one, over which the new dimension of a batch is split.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BatchAxis {
    pub name: String,
    /// The part of the axis, or `None` for the whole axis.
    pub part: Option<SubAxis>,
}

impl BatchAxis {
    pub fn whole(name: impl Into<String>) -> BatchAxis {
        BatchAxis { name: name.into(), part: None }
    }

    /// Returns the axis in a mesh, or `None` if the mesh has no axis of this name with such a part.
    fn on(&self, mesh: &Mesh) -> Option<AxisRef> {
        let axis = mesh.axis(&self.name)?;
        let has = |p: SubAxis| mesh.axis_size(axis).is_multiple_of(p.pre_size() * p.size());
        match self.part {
            Some(part) => has(part).then(|| AxisRef::sub(mesh, axis, part.pre_size(), part.size())),
            None => Some(AxisRef::full(axis)),
        }
    }
}

/// Formats the axis as in layouts: `"x"`, or `"x":(1)2` for a part.
impl fmt::Display for BatchAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.name)?;
        self.part.map_or(Ok(()), |part| write!(f, ":{part}"))
    }
}

/// A function that was batched.
#[derive(Clone, Debug)]
pub struct Batched {
    pub func: Func,
    /// Functions to which `func` refers, directly or through others of them, and which the module does not have yet.
    pub added: Vec<Func>,
    /// For each result, whether it has the leading dimension. The others are the same for all indices.
    pub mapped: Vec<bool>,
}

/// Returns the batch of a function, as [`vmap`] does, with a new dimension as `batch` states it: it may have a name and
/// be split, and results that are the same for all indices may lack it.
///
/// # Errors
/// Fails as [`vmap`] does. It also fails with `spmd-axis` if a value or a result gets the new dimension and has a
/// layout that is split, unreduced or reduced over an axis of this dimension. Layouts of other values may be.
pub fn vmap_with(module: &Module, func: &Func, args: &[usize], batch: Batch<'_>) -> Result<Batched, Diagnostics> {
    let all = func.body.args();
    let mut out = func.without_body();
    let mut b = Builder::new(&mut out.body);
    let mut scope = Scope::new(module, &func.body, Leading::of(batch), Rc::default());
    check_arguments(&scope, func, args, batch.has_all)?;
    refuse_expansion(module, &[func], calls::callee)?;
    for (i, &v) in all.iter().enumerate() {
        scope.arg(v, args.contains(&i), &mut b);
    }
    scope.region(func.body.entry(), &mut b)?;
    let results = func.body.results();
    let is_mapped = |v: Value| scope.mapped[v] || (batch.has_all && array_type(func.body.ty(v)).is_some());
    let mapped: Vec<bool> = results.iter().map(|&v| is_mapped(v)).collect();
    let values = scope.with_leading_where(results, &mapped, &mut b);
    b.ret(values.iter().copied());
    out.result_types = values.iter().map(|&v| out.body.ty(v).clone()).collect();
    drop_other_aliases(&mut out);
    for ((sharding, is_mapped), &v) in out.result_shardings.iter_mut().zip(&mapped).zip(results) {
        if let (Some(s), true) = (sharding, is_mapped) {
            scope.add_to_result(v, s, &func.loc);
        }
    }
    match scope.wrong.is_empty() {
        true => Ok(Batched { func: out, added: scope.made.take().added, mapped }),
        false => Err(scope.wrong),
    }
}

/// Checks that the function has the arguments `args`, each of which is a token or an array that can have the dimension
/// of the batch, and that its results can have it if all of them get it (`has_all`). Fails with `transform-argument` if
/// an argument is not there, with `no-batch` if its type cannot have the dimension, and with `transform-options` if an
/// array would be too large.
fn check_arguments(scope: &Scope<'_>, func: &Func, args: &[usize], has_all: bool) -> Result<(), Diagnostics> {
    let all = func.body.args();
    for &i in args {
        let Some(&v) = all.get(i) else {
            return Err(errors::no_argument(i, all.len(), &func.loc).into());
        };
        let ty = func.body.ty(v);
        if array_type(ty).is_none() && *ty != Type::Token {
            return Err(errors::no_leading(i, ty, &func.loc).into());
        }
        scope.check_size(ty, &func.loc)?;
    }
    match has_all {
        true => func.result_types.iter().try_for_each(|ty| scope.check_size(ty, &func.loc)),
        false => Ok(()),
    }
}

/// The attribute of an argument whose memory a result may use: the number of the result.
const ALIASING_OUTPUT: &str = "tf.aliasing_output";

/// Removes the attribute that names a result with the memory of an argument where their types differ, because only one
/// of them has the leading dimension.
fn drop_other_aliases(func: &mut Func) {
    for (attrs, &arg) in func.arg_attrs.iter_mut().zip(func.body.args()) {
        let Some(result) = attrs.size(ALIASING_OUTPUT) else { continue };
        if func.result_types.get(result) != Some(func.body.ty(arg)) {
            attrs.remove(ALIASING_OUTPUT);
        }
    }
}

/// Returns a sharding with a leading dimension that is split over those of these axes that its mesh has, and open if it
/// has none. An element of the batch may be replicated over these axes: the batch is not.
fn leading_sharding(sharding: &Sharding, axes: &[BatchAxis]) -> Sharding {
    let axes: Vec<AxisRef> = axes.iter().filter_map(|a| a.on(&sharding.mesh)).collect();
    let replicated = sharding.replicated.iter().flat_map(|a| a.minus(&sharding.mesh, &axes)).collect();
    let first = DimSharding { is_open: axes.is_empty(), axes, priority: None };
    let dims = std::iter::once(first).chain(sharding.dims.iter().cloned()).collect();
    let mut out = sharding.clone().with_dims(dims);
    out.replicated = replicated;
    out
}

/// Returns one of `axes` over which, or over a part of which, a sharding splits, sums or has summed values already.
/// Returns `None` if there is none.
fn used_axis<'a>(sharding: &Sharding, axes: &'a [BatchAxis]) -> Option<&'a BatchAxis> {
    let stated = [&sharding.unreduced, &sharding.reduced];
    let used = sharding.dims.iter().map(|d| &d.axes).chain(stated).flatten();
    let used: Vec<AxisRef> = used.copied().collect();
    let is_used = |a: &&BatchAxis| a.on(&sharding.mesh).is_some_and(|a| used.iter().any(|u| u.overlaps(a)));
    axes.iter().find(is_used)
}

/// The copy of one body, of which some values have the leading dimension.
struct Scope<'s> {
    module: &'s Module,
    body: &'s shardwise_ir::Body,
    leading: Leading<'s>,
    cloner: Cloner<'s>,
    mapped: EntityVec<Value, bool>,
    made: Rc<RefCell<Made>>,
    wrong: Diagnostics,
}

/// The leading dimension at one place of the program. In a manual computation it may be a part of the batch.
#[derive(Clone)]
struct Leading<'s> {
    size: usize,
    /// The name of the dimension in [named ops](shardwise_ops::collective::named), if it has one.
    axis: Option<&'s str>,
    /// The axes over which the dimension is split where the function states a layout ([`Batch::layout`]).
    layout: Rc<[BatchAxis]>,
    /// The manual axes over which the batch is split, inside a manual computation, or `None` if it is not split.
    split: Option<(Arc<Mesh>, AxisSet)>,
}

impl<'s> Leading<'s> {
    fn of(batch: Batch<'s>) -> Leading<'s> {
        Leading { size: batch.size, axis: batch.axis, layout: batch.layout.into(), split: None }
    }

    /// Returns the dimension in the body of a computation that is manual over the axes `manual`, and the axes over
    /// which it is split where values enter and leave the body.
    ///
    /// If the manual ones of its axes divide its size, each device has a part along them, unless `is_whole` is true. If
    /// they do not, the dimension is whole along them. Its other axes split it outside and inside.
    fn inside(&self, mesh: &Arc<Mesh>, manual: &[AxisRef], is_whole: bool) -> (Leading<'s>, Rc<[BatchAxis]>) {
        let is_manual = |own: &BatchAxis| own.on(mesh).is_some_and(|a| manual.iter().any(|m| m.contains(a)));
        let (own, rest): (Vec<BatchAxis>, Vec<BatchAxis>) = self.layout.iter().cloned().partition(is_manual);
        let split: Vec<AxisRef> = own.iter().filter_map(|a| a.on(mesh)).collect();
        let parts = AxisRef::total_size(mesh, &split);
        let mut inside = Leading { layout: rest.clone().into(), ..self.clone() };
        if is_whole || split.is_empty() || !self.size.is_multiple_of(parts) {
            return (inside, rest.into());
        }
        let all = self.split.iter().flat_map(|(_, axes)| axes.iter()).chain(split);
        inside.split = Some((mesh.clone(), AxisSet::new(mesh, all)));
        inside.size /= parts;
        // Manual axes come first in the layout of a dimension.
        (inside, [own, rest].concat().into())
    }
}

/// Everything on which the batch of a function with a derivative of its own depends.
#[derive(PartialEq, Eq, Hash)]
struct Mapped {
    func: Arc<str>,
    rule: RuleNames,
    /// The number of operands that are arguments.
    args: usize,
    /// For each operand, whether it is mapped.
    operands: Vec<bool>,
    size: usize,
    layout: Vec<BatchAxis>,
    split: Option<(Arc<Mesh>, AxisSet)>,
}

/// Functions that were batched, which the module does not have.
#[derive(Default)]
struct Made {
    added: Vec<Func>,
    /// The names of the batches of functions with derivatives of their own, and of those of their rules.
    names: HashMap<Mapped, (Arc<str>, RuleNames)>,
    taken: HashSet<Arc<str>>,
    /// The number of batches of functions with derivatives of their own that are being made now, one inside the other.
    depth: usize,
}

impl Made {
    fn fresh(&mut self, module: &Module, name: &str) -> Arc<str> {
        let names = (0..).map(|i| if i == 0 { format!("{name}_batch") } else { format!("{name}_batch_{i}") });
        let is_free = |n: &String| module.func(n).is_none() && !self.taken.contains(n.as_str());
        let name: Arc<str> = names.into_iter().find(is_free).expect("one of them is free").into();
        self.taken.insert(name.clone());
        name
    }
}

impl<'s> Scope<'s> {
    fn new(
        module: &'s Module,
        body: &'s shardwise_ir::Body,
        leading: Leading<'s>,
        made: Rc<RefCell<Made>>,
    ) -> Scope<'s> {
        let mapped = EntityVec::filled(body.value_count(), false);
        let (cloner, wrong) = (Cloner::new(body), Diagnostics::default());
        Scope { module, body, leading, cloner, mapped, made, wrong }
    }

    /// Maps `v` to `to`, which has the leading dimension if `is_mapped` and `v` is an array. Then its layout gets the
    /// dimension, too, with the mistake `spmd-axis` if it uses an axis of the batch ([`used_axis`]).
    fn set(&mut self, v: Value, to: Value, is_mapped: bool, b: &mut Builder<'_>) {
        let is_mapped = is_mapped && array_type(self.body.ty(v)).is_some();
        self.mapped[v] = is_mapped;
        self.cloner.carry(v, to, b);
        if is_mapped {
            let sharding = self.body.sharding(v);
            if let Some(axis) = sharding.and_then(|s| used_axis(s, &self.leading.layout)) {
                self.wrong.push(errors::spmd_axis(axis, &b.loc));
            }
            let sharding = sharding.map(|s| leading_sharding(s, &self.leading.layout));
            b.set_sharding(to, sharding);
            if let (Some((mesh, axes)), Some(states)) = (&self.leading.split, &self.body.value(v).manual) {
                b.body.value_mut(to).manual = Some(Arc::new(states.with_varying(axes, mesh)));
            }
        }
    }

    /// Adds the leading dimension to the layout that the function states for a result, whose value is `v`. Records the
    /// mistake `spmd-axis` if it uses an axis of the batch, unless it is recorded of the value already.
    fn add_to_result(&mut self, v: Value, sharding: &mut Sharding, loc: &Loc) {
        let layout = &self.leading.layout;
        let used = |s: &Sharding| used_axis(s, layout);
        if !self.mapped[v] || self.body.sharding(v).and_then(used).is_none() {
            self.wrong.extend(used(sharding).map(|axis| errors::spmd_axis(axis, loc)));
        }
        *sharding = leading_sharding(sharding, layout);
    }

    fn arg(&mut self, v: Value, is_mapped: bool, b: &mut Builder<'_>) {
        let ty = self.body.ty(v);
        let arg = b.arg(if is_mapped { batch_type(ty, self.leading.size) } else { ty.clone() });
        self.set(v, arg, is_mapped, b);
    }

    /// Returns the copy of a value with the leading dimension, along which it is repeated if it is not mapped. For a
    /// future that is not mapped, waits for its array and repeats that. Tokens and tuples are returned as they are.
    fn with_leading(&self, v: Value, b: &mut Builder<'_>) -> Value {
        let (to, ty) = (self.cloner.get(v), self.body.ty(v));
        match array_type(ty) {
            Some(array) if !self.mapped[v] => {
                let is_future = ty.as_tensor().is_none();
                let done =
                    if is_future { b.value(Opcode::AsyncDone, [to], Attrs::new(), array.clone().into()) } else { to };
                repeated(b, done, self.leading.size)
            }
            _ => to,
        }
    }

    /// Returns the copies of values, with the leading dimension where `mapped` is true.
    fn with_leading_where(&self, values: &[Value], mapped: &[bool], b: &mut Builder<'_>) -> Vec<Value> {
        let one =
            |(&v, &is_mapped): (&Value, &bool)| if is_mapped { self.with_leading(v, b) } else { self.cloner.get(v) };
        values.iter().zip(mapped).map(one).collect()
    }

    /// Checks that an array of this type can have the dimension of the batch. Fails with `transform-options` if it
    /// would be too large.
    fn check_size(&self, ty: &Type, loc: &Loc) -> Result<(), Diagnostics> {
        let with_batch = batch_type(ty, self.leading.size);
        match with_batch.as_tensor().is_none_or(|array| array.checked_bytes().is_some()) {
            true => Ok(()),
            false => Err(errors::batch_too_large(self.leading.size, ty, loc).into()),
        }
    }

    /// Copies the ops of a region but its terminator, as batches where they need to be. Fails if an op has no batch
    /// (`no-batch`), if an array would be too large with the new dimension (`transform-options`), or if a manual
    /// computation states a layout of an operand that uses an axis over which the new dimension is split
    /// (`spmd-axis`). Other such layouts are recorded in `wrong`.
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
        if let Some((kind, axis)) = NamedOp::of(op)
            && Some(axis) == self.leading.axis
        {
            self.named(op, kind, b);
            return Ok(());
        }
        let captures = !op.regions().is_empty() && op.captured().iter().any(is_mapped);
        let has_axis = || self.leading.axis.is_some_and(|axis| spreads(self.module, op, axis));
        if !captures && !op.operands().iter().any(is_mapped) && !has_axis() {
            self.cloner.op(op.op, b);
            return Ok(());
        }
        let mapped: Vec<bool> = op.operands().iter().map(is_mapped).collect();
        op.operands().iter().chain(op.results()).try_for_each(|&v| self.check_size(op.body.ty(v), op.loc()))?;
        if Opcode::of_view(op) == Opcode::OptimizationBarrier {
            self.barrier(op, &mapped, b);
            return Ok(());
        }
        let batched = Opcode::of_view(op).facts().batch(op, &mapped);
        if captures && !matches!(batched, How::Structure) {
            return Err(errors::no_batch(op, "its region uses a value that differs along the batch").into());
        }
        let operands = self.cloner.values(op.operands());
        let mut cx = BatchCx {
            op: *op,
            operands: &operands,
            mapped: &mapped,
            size: self.leading.size,
            cloner: &mut self.cloner,
            b: &mut *b,
        };
        let made = match batched {
            How::None(why) => return Err(errors::no_batch(op, why).into()),
            How::Structure => return self.structure(op, b),
            How::Expanded(expansion) => {
                let func = expand(op, &expansion).map_err(|why| errors::no_batch(op, why))?;
                return self.inlined(op, &func.body, b);
            }
            How::Leading(attrs) => {
                let operands: Vec<Value> = (0..operands.len()).map(|i| cx.with_leading(i)).collect();
                cx.leading_op(&operands, attrs)
            }
            How::LeadingOf(leading, attrs) => {
                let operand = |i: usize| if leading[i] { cx.with_leading(i) } else { operands[i] };
                let operands: Vec<Value> = (0..operands.len()).map(operand).collect();
                cx.leading_op(&operands, attrs)
            }
            How::By(_, batch) => batch(&mut cx)?,
        };
        for (&v, to) in op.results().iter().zip(made) {
            self.set(v, to, true, b);
        }
        Ok(())
    }

    /// Builds a barrier of the operands as they are: a result has the leading dimension if its operand has it.
    fn barrier(&mut self, op: &OpView<'s>, mapped: &[bool], b: &mut Builder<'_>) {
        let operands = self.cloner.values(op.operands());
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let new = b.op(op.data().code, operands, op.attrs().clone(), types);
        let made = b.body[new].results.to_vec();
        for ((&v, to), &is_mapped) in op.results().iter().zip(made).zip(mapped) {
            self.set(v, to, is_mapped, b);
        }
    }

    /// Replaces a named op along the dimension of the batch. A gather returns its operand with the leading dimension,
    /// which is the same for all indices. Each index of a spread gets the row of its own: the leading dimension of the
    /// operand becomes that of the batch.
    fn named(&mut self, op: &OpView<'s>, kind: NamedOp, b: &mut Builder<'_>) {
        let (v, result) = (op.operand(0), op.result(0));
        match (kind, self.mapped[v]) {
            (NamedOp::Gather, _) => {
                let all = self.with_leading(v, b);
                self.cloner.set(result, all);
            }
            (NamedOp::Spread, false) => {
                self.cloner.set(result, self.cloner.get(v));
                self.mapped[result] = true;
            }
            // Each index has a list of its own: [b, n, s..] -> [b, s..], along b = n.
            (NamedOp::Spread, true) => {
                let own = diagonal(b, self.cloner.get(v));
                self.set(result, own, true, b);
            }
        }
    }

    fn structure(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        match Opcode::of_view(op) {
            Opcode::While => self.while_loop(op, b),
            Opcode::Case | Opcode::If => self.branch(op, b),
            Opcode::ManualComputation => self.manual(op, b),
            Opcode::AsyncStart => self.start(op, b),
            Opcode::AsyncDone => {
                self.forward(op.operands(), op.results());
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

    /// Builds the batch of what an `async_start` starts. It is computed at once, and takes the place of the future.
    /// Fails as [`region`](Scope::region) does, and if the future waits for another number of arrays than one.
    fn start(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let (inner, future) = (op.regions()[0], op.result(0));
        if array_type(op.body.ty(future)).is_none() {
            return Err(errors::no_batch(op, "its future waits for another number of arrays than one").into());
        }
        self.forward(op.operands(), &op.body[inner].args);
        self.region(inner, b)?;
        let ready = self.with_leading(op.body.region_results(inner)[0], b);
        self.cloner.set(future, ready);
        self.mapped[future] = true;
        Ok(())
    }

    /// Builds the batch of a manual computation. Each device has a part of the batch along those of its axes that are
    /// manual, if they divide its size and no named op in the body uses its dimension ([`Leading::inside`]). Fails as
    /// [`region`](Scope::region) does.
    fn manual(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let (region, loc) = (op.regions()[0], b.loc.clone());
        let (mesh, axes) = manual_mesh_axes(op).expect("verified");
        let outer = self.leading.clone();
        let has_axis = outer.axis.is_some_and(|axis| spreads(self.module, op, axis) || gathers(self.module, op, axis));
        let (inside, boundary) = outer.inside(mesh, axes, has_axis);
        let mut wrong = vec![];
        let mut layout = |sharding: &Sharding, is_mapped: bool| match is_mapped {
            true => {
                wrong.extend(used_axis(sharding, &boundary));
                leading_sharding(sharding, &boundary)
            }
            false => sharding.clone(),
        };
        let ins: Vec<Sharding> =
            in_shardings(op.attrs()).iter().zip(op.operands()).map(|(s, &v)| layout(s, self.mapped[v])).collect();
        if let Some(axis) = wrong.first() {
            return Err(errors::spmd_axis(axis, &loc).into());
        }
        self.leading = inside;
        let new = b.body.add_region();
        let mut inner = Builder::at(b.body, new, loc.clone());
        for (&arg, &v) in op.body[region].args.iter().zip(op.operands()) {
            self.arg(arg, self.mapped[v], &mut inner);
        }
        let made = self.region(region, &mut inner);
        self.leading = outer.clone();
        made?;
        let given = op.body.region_results(region);
        inner.op(Opcode::SdyReturn, self.cloner.values(given), Attrs::new(), []);
        b.loc = loc;
        let batched = |v: Value, is_mapped: bool| match is_mapped {
            true => batch_type(op.body.ty(v), self.leading.size),
            false => op.body.ty(v).clone(),
        };
        let types: Vec<Type> = op.results().iter().zip(given).map(|(&v, &g)| batched(v, self.mapped[g])).collect();
        let (operands, attrs) = (self.cloner.values(op.operands()), ManualComputation::attrs(ins, mesh, axes));
        let made = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [new], types);
        let made = b.body[made].results.to_vec();
        self.leading.layout = boundary;
        for ((&v, &g), to) in op.results().iter().zip(given).zip(made) {
            self.set(v, to, self.mapped[g], b);
        }
        self.leading = outer;
        Ok(())
    }

    fn forward(&mut self, from: &[Value], to: &[Value]) {
        for (&f, &t) in from.iter().zip(to) {
            self.cloner.set(t, self.cloner.get(f));
            self.mapped[t] = self.mapped[f];
        }
    }

    fn custom(&mut self, op: &OpView<'s>, custom: Custom<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let mapped: Vec<bool> = op.operands().iter().map(|&v| self.mapped[v]).collect();
        let (func, rule) = self.custom_functions(op, custom, &mapped)?;
        let operands = self.cloner.values(op.operands());
        let types: Vec<Type> = op.results().iter().map(|&v| batch_type(op.body.ty(v), self.leading.size)).collect();
        let new = b.op(Opcode::Composite, operands, rule.attrs(func, custom.args), types);
        let made = b.body[new].results.to_vec();
        for (&v, to) in op.results().iter().zip(made) {
            self.set(v, to, true, b);
        }
        Ok(())
    }

    /// Batches a function with a custom derivative, whose operands are mapped as given, and the functions of its rule.
    /// Returns the names of the batches. If it was batched in the same way before, or a rule calls its own function,
    /// returns those names again. Fails as [`region`](Scope::region) does.
    fn custom_functions(
        &mut self,
        op: &OpView<'s>,
        custom: Custom<'s>,
        mapped: &[bool],
    ) -> Result<(Arc<str>, RuleNames), Diagnostics> {
        let key = Mapped {
            func: custom.func.name.clone(),
            rule: custom.rule.names(),
            args: custom.args,
            operands: mapped.to_vec(),
            size: self.leading.size,
            layout: self.leading.layout.to_vec(),
            split: self.leading.split.clone(),
        };
        if let Some(names) = self.made.borrow().names.get(&key) {
            return Ok(names.clone());
        }
        let fresh = |func: &Func| self.made.borrow_mut().fresh(self.module, &func.name);
        let names = match custom.rule {
            Rule::Jvp(jvp) => (fresh(custom.func), RuleNames::Jvp(fresh(jvp))),
            Rule::Vjp { fwd, bwd } => (fresh(custom.func), RuleNames::Vjp { fwd: fresh(fwd), bwd: fresh(bwd) }),
        };
        self.made.borrow_mut().names.insert(key, names.clone());
        let (args, captured) = mapped.split_at(custom.args);
        let is_smooth = |i: &usize| crate::jvp::is_smooth(op.operand_type(*i));
        let smooth: Vec<bool> = (0..custom.args).filter(is_smooth).map(|i| mapped[i]).collect();
        self.add_batch(custom.func, &names.0, mapped, &[])?;
        match (custom.rule, &names.1) {
            (Rule::Jvp(jvp), RuleNames::Jvp(name)) => {
                self.add_batch(jvp, name, &[args, &smooth, captured].concat(), &[])?;
            }
            (Rule::Vjp { fwd, bwd }, RuleNames::Vjp { fwd: fwd_name, bwd: bwd_name }) => {
                self.add_batch(fwd, fwd_name, mapped, &[])?;
                let given = vec![true; bwd.body.args().len() - captured.len()];
                // An argument that is not mapped has one cotangent, the sum over the batch.
                let sums: Vec<bool> = smooth.iter().map(|m| !m).collect();
                self.add_batch(bwd, bwd_name, &[&given[..], captured].concat(), &sums)?;
            }
            _ => unreachable!("the names are those of the rule"),
        }
        Ok(names)
    }

    /// Adds the batch of a function under this name. All results have the leading dimension, except those that are
    /// summed over it. Fails as [`region`](Scope::region) does, as [`refuse_expansion`] does, and with `call-depth` if
    /// batches of functions with derivatives of their own nest too deep.
    fn add_batch(
        &mut self,
        func: &'s Func,
        name: &Arc<str>,
        mapped: &[bool],
        sums: &[bool],
    ) -> Result<(), Diagnostics> {
        refuse_expansion(self.module, &[func], calls::callee)?;
        self.made.borrow_mut().depth += 1;
        if self.made.borrow().depth > calls::MAX_DEPTH {
            return Err(calls::too_deep(&func.loc, "functions with derivatives of their own").into());
        }
        let mut out = func.without_body();
        out.name = name.clone();
        let mut b = Builder::new(&mut out.body);
        let mut scope = Scope::new(self.module, &func.body, self.leading.clone(), self.made.clone());
        for (&v, &is_mapped) in func.body.args().iter().zip(mapped) {
            scope.arg(v, is_mapped, &mut b);
        }
        scope.region(func.body.entry(), &mut b)?;
        let mut values = vec![];
        for (i, &v) in func.body.results().iter().enumerate() {
            let whole = scope.with_leading(v, &mut b);
            values.push(if sums.get(i) == Some(&true) {
                let sum = make::reduce(&mut b, ReduceKind::Add, whole, &[0]);
                b.body.value_mut(sum).manual = func.body.value(v).manual.clone();
                sum
            } else {
                whole
            });
        }
        b.ret(values.iter().copied());
        out.result_types = values.iter().map(|&v| out.body.ty(v).clone()).collect();
        for (i, (sharding, &v)) in out.result_shardings.iter_mut().zip(func.body.results()).enumerate() {
            if let Some(s) = sharding.as_mut().filter(|_| sums.get(i) != Some(&true)) {
                scope.add_to_result(v, s, &func.loc);
            }
        }
        self.wrong.extend(scope.wrong);
        let mut made = self.made.borrow_mut();
        made.added.push(out);
        made.depth -= 1;
        Ok(())
    }

    fn call(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let Some(func) = callee(op) else {
            return Err(errors::no_batch(op, "it calls no function of the module").into());
        };
        self.inlined(op, &func.body, b)
    }

    /// Copies the ops of a body on the operands of `op`, as batches where they need to be. Its results are those of the
    /// op. Fails as [`region`](Scope::region) does.
    fn inlined(&mut self, op: &OpView<'s>, body: &shardwise_ir::Body, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let mut inner = Scope::new(self.module, body, self.leading.clone(), self.made.clone());
        for (&arg, &v) in body.args().iter().zip(op.operands()) {
            inner.cloner.set(arg, self.cloner.get(v));
            inner.mapped[arg] = self.mapped[v];
        }
        inner.region(body.entry(), b)?;
        self.wrong.extend(inner.wrong);
        for (&f, &t) in body.results().iter().zip(op.results()) {
            self.cloner.set(t, inner.cloner.get(f));
            self.mapped[t] = inner.mapped[f];
        }
        Ok(())
    }

    /// Builds the batch of a function whose values are computed again: it stays a region of its own. Fails as
    /// [`region`](Scope::region) does.
    fn remat(&mut self, op: &OpView<'s>, policy: &Policy, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let mapped: Vec<bool> = op.operands().iter().map(|&v| self.mapped[v]).collect();
        let (new, loc) = (b.body.add_region(), b.loc.clone());
        let mut inside = Builder::at(b.body, new, loc.clone());
        let made = match callee(op) {
            Some(func) => {
                let mut inner = Scope::new(self.module, &func.body, self.leading.clone(), self.made.clone());
                let made = inner.remat_region(func.body.entry(), &mapped, &mut inside);
                self.wrong.extend(inner.wrong);
                made?
            }
            None => self.remat_region(op.regions()[0], &mapped, &mut inside)?,
        };
        let types: Vec<Type> = made.iter().map(|(v, _)| inside.body.ty(*v).clone()).collect();
        inside.op(Opcode::SdyReturn, made.iter().map(|(v, _)| *v), Attrs::new(), []);
        b.loc = loc;
        let (operands, attrs) = (self.cloner.values(op.operands()), remat::region_attrs(policy));
        let new = b.op_with_regions(Opcode::NamedComputation, operands, attrs, [new], types);
        let results = b.body[new].results.to_vec();
        for ((&v, to), (_, is_mapped)) in op.results().iter().zip(results).zip(made) {
            self.set(v, to, is_mapped, b);
        }
        Ok(())
    }

    /// Copies a region of this body, of whose arguments some are mapped. Returns its results, and which are mapped.
    /// Fails as [`region`](Scope::region) does.
    fn remat_region(
        &mut self,
        region: Region,
        mapped: &[bool],
        b: &mut Builder<'_>,
    ) -> Result<Vec<(Value, bool)>, Diagnostics> {
        for (&arg, &is_mapped) in self.body[region].args.iter().zip(mapped) {
            self.arg(arg, is_mapped, b);
        }
        self.region(region, b)?;
        Ok(self.body.region_results(region).iter().map(|&v| (self.cloner.get(v), self.mapped[v])).collect())
    }

    /// Returns true for each value that has the leading dimension already, or that may have it in the batch of this op:
    /// a result of the op, or a value in its regions.
    fn depends(&self, op: &OpView<'s>) -> EntityVec<Value, bool> {
        let (module, axis) = (self.module, self.leading.axis);
        let gathers = |op: &OpView<'_>| NamedOp::of(op).is_some_and(|(k, a)| k == NamedOp::Gather && Some(a) == axis);
        let mut depends = Depends::new(module, self.body, |op, v| array_type(op.body.ty(v)).is_some() && !gathers(op));
        depends.by_control = true;
        depends.source = Box::new(move |op| axis.is_some_and(|axis| spreads(module, op, axis)));
        depends.values.iter_mut().zip(self.mapped.iter()).for_each(|(d, &m)| *d = m);
        depends.op(op);
        depends.values
    }

    /// Builds the batch of a loop. If the condition differs along the batch, the loop runs while it holds for any
    /// index, and the values of indices for which it does not hold stay. Fails as [`region`](Scope::region) does, and
    /// if a value that would have to stay is neither an array nor a token.
    fn while_loop(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let [cond, turn] = [op.regions()[0], op.regions()[1]];
        let depends = self.depends(op);
        let carried: Vec<bool> = op.body[turn].args.iter().map(|&v| depends[v]).collect();
        let is_any = depends[op.body.region_results(cond)[0]];
        if is_any {
            check_choice(op)?;
        }
        let operands = self.with_leading_where(op.operands(), &carried, b);
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let loc = b.loc.clone();
        let (first, second) = (b.body.add_region(), b.body.add_region());
        for (region, new) in [(cond, first), (turn, second)] {
            let mut inner = Builder::at(b.body, new, loc.clone());
            for (&arg, &is_carried) in op.body[region].args.iter().zip(&carried) {
                self.arg(arg, is_carried, &mut inner);
            }
        }
        self.condition(op, is_any, &mut Builder::at(b.body, first, loc.clone()))?;
        self.turn(op, &carried, is_any, &mut Builder::at(b.body, second, loc.clone()))?;
        b.loc = loc;
        let new = b.op_with_regions(Opcode::While, operands, op.attrs().clone(), [first, second], types);
        let made = b.body[new].results.to_vec();
        for ((&v, to), is_carried) in op.results().iter().zip(made).zip(carried) {
            self.set(v, to, is_carried, b);
        }
        Ok(())
    }

    /// Builds the condition of a loop, which holds if it holds for any index. `is_any` is true if it may differ along
    /// the batch. Fails as [`region`](Scope::region) does.
    fn condition(&mut self, op: &OpView<'s>, is_any: bool, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let cond = op.regions()[0];
        self.region(cond, b)?;
        let test = op.body.region_results(cond)[0];
        assert!(is_any || !self.mapped[test], "vmap: a condition differs along the batch, and this was not expected");
        let holds = self.cloner.get(test);
        let holds = if self.mapped[test] { make::reduce(b, ReduceKind::Or, holds, &[0]) } else { holds };
        b.op(Opcode::RegionReturn, [holds], Attrs::new(), []);
        Ok(())
    }

    /// Builds the body of a loop, of whose values those have the leading dimension that are `carried`. If `is_any` is
    /// true, the values of indices for which the condition does not hold stay. Fails as [`region`](Scope::region) does.
    fn turn(
        &mut self,
        op: &OpView<'s>,
        carried: &[bool],
        is_any: bool,
        b: &mut Builder<'_>,
    ) -> Result<(), Diagnostics> {
        let [cond, turn] = [op.regions()[0], op.regions()[1]];
        let old: Vec<Value> = self.cloner.values(&op.body[turn].args);
        let mut runs = None;
        if is_any {
            self.forward(&op.body[turn].args, &op.body[cond].args);
            self.region(cond, b)?;
            runs = Some(self.with_leading(op.body.region_results(cond)[0], b));
        }
        self.region(turn, b)?;
        let next = op.body.region_results(turn);
        let is_expected = next.iter().zip(carried).all(|(&v, &is_carried)| is_carried || !self.mapped[v]);
        assert!(is_expected, "vmap: a value of a loop differs along the batch, and this was not expected");
        let mut results = self.with_leading_where(next, carried, b);
        if let Some(runs) = runs {
            for ((new, &old), _) in results.iter_mut().zip(&old).zip(carried).filter(|(_, is_carried)| **is_carried) {
                let shape = b.body.ty(*new).shape().to_vec();
                let mask = make::broadcast_in_dim(b, runs, &shape, &[0]);
                *new = make::select(b, mask, *new, old);
            }
        }
        b.op(Opcode::RegionReturn, results, Attrs::new(), []);
        Ok(())
    }

    /// Builds the batch of a branch. If the predicate differs along the batch, all branches run, and each index takes
    /// the results of its own. Otherwise those results have the leading dimension that have it in some branch. Fails
    /// as [`region`](Scope::region) does, and if a result that is chosen is neither an array nor a token.
    fn branch(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        if self.mapped[op.operand(0)] {
            return self.all_branches(op, b);
        }
        let loc = b.loc.clone();
        let mut regions = vec![];
        for &branch in op.regions() {
            let new = b.body.add_region();
            self.region(branch, &mut Builder::at(b.body, new, loc.clone()))?;
            regions.push(new);
        }
        let results = |branch: Region| op.body.region_results(branch);
        let is_mapped = |i: usize| op.regions().iter().any(|&branch| self.mapped[results(branch)[i]]);
        let mapped: Vec<bool> = (0..op.results().len()).map(is_mapped).collect();
        let mut types = vec![];
        for (&branch, &new) in op.regions().iter().zip(&regions) {
            let mut inner = Builder::at(b.body, new, loc.clone());
            let values = self.with_leading_where(results(branch), &mapped, &mut inner);
            types = values.iter().map(|&v| inner.body.ty(v).clone()).collect::<Vec<Type>>();
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
        }
        b.loc = loc;
        let predicate = self.cloner.get(op.operand(0));
        let new = b.op_with_regions(op.data().code, [predicate], op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for ((&v, to), is_mapped) in op.results().iter().zip(made).zip(mapped) {
            self.set(v, to, is_mapped, b);
        }
        Ok(())
    }

    /// Builds all branches one after another, and chooses the results of one for each index. A token is that of all
    /// branches. Fails as [`branch`](Scope::branch) does.
    fn all_branches(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        check_choice(op)?;
        for &branch in op.regions() {
            self.region(branch, b)?;
        }
        let index = self.cloner.get(op.operand(0));
        let is_if = Opcode::of_view(op) == Opcode::If;
        let last = op.regions().len() - 1;
        for (i, &result) in op.results().iter().enumerate() {
            let of = |k: usize| op.body.region_results(op.regions()[k])[i];
            if *op.body.ty(result) == Type::Token {
                let tokens: Vec<Value> = (0..=last).map(|k| self.cloner.get(of(k))).collect();
                let all = b.value(Opcode::AfterAll, tokens, Attrs::new(), Type::Token);
                self.set(result, all, false, b);
                continue;
            }
            let mut chosen = self.with_leading(of(last), b);
            let shape = b.body.ty(chosen).shape().to_vec();
            for k in (0..last).rev() {
                let is_own = match is_if {
                    true => index,
                    false => {
                        let own = make::number(b, shardwise_base::DType::I32, k as i64);
                        let own = repeated(b, own, self.leading.size);
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

/// Returns the type of the array that a value of this type is, or for which a future of one array waits. Returns `None`
/// for tokens, tuples and other futures, which have no leading dimension.
fn array_type(ty: &Type) -> Option<&TensorType> {
    match ty {
        Type::Tensor(array) => Some(array),
        Type::Future(types) if types.len() == 1 => types[0].as_tensor(),
        Type::Future(_) | Type::Token | Type::Tuple(_) => None,
    }
}

/// Returns the type that a value of this type has in a batch of this size: that of its array with the leading
/// dimension. A future becomes its array. Types without an array are returned unchanged.
fn batch_type(ty: &Type, size: usize) -> Type {
    array_type(ty).map_or_else(|| ty.clone(), |array| leading_type(&Type::from(array.clone()), size))
}

/// Checks that the batch of a loop or a branch can choose its results for each index. Fails with `no-batch` if one is
/// neither an array nor a token.
fn check_choice(op: &OpView<'_>) -> Result<(), Diagnostics> {
    let can_choose = |ty: &Type| array_type(ty).is_some() || *ty == Type::Token;
    match op.results().iter().all(|&v| can_choose(op.body.ty(v))) {
        true => Ok(()),
        false => {
            let why = "its condition differs along the batch, and it has a result that is neither an array nor a token";
            Err(errors::no_batch(op, why).into())
        }
    }
}

fn spreads(module: &Module, op: &OpView<'_>, axis: &str) -> bool {
    contains(module, op, NamedOp::Spread, axis)
}

fn gathers(module: &Module, op: &OpView<'_>, axis: &str) -> bool {
    contains(module, op, NamedOp::Gather, axis)
}

fn contains(module: &Module, op: &OpView<'_>, kind: NamedOp, axis: &str) -> bool {
    let is_it = |op: &OpView<'_>| NamedOp::of(op) == Some((kind, axis));
    let mut ops = vec![];
    op.regions().iter().for_each(|&r| op.body.walk_region(r, &mut ops));
    let calls = |op: &OpView<'_>| {
        let inside =
            |f: &Func| f.body.walk().into_iter().any(|o| contains(module, &module.view(&f.body, o), kind, axis));
        callee(op).is_some_and(inside)
    };
    is_it(op) || calls(op) || ops.into_iter().map(|o| op.at(o)).any(|o| is_it(&o) || calls(&o))
}

/// Builds the elements with equal first and second indices: `[n, n, s..] -> [n, s..]`.
fn diagonal(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.body.ty(x).as_tensor().expect("lists are tensors").clone();
    let [row, column] = [0, 1].map(|dim| make::iota(b, TensorType::new(DType::I32, ty.shape.clone()), dim));
    let own = make::compare(b, "EQ", row, column);
    // In a sum of an element and this one, zeros of both signs stay as they are.
    let nothing = nothing(ty.dtype);
    let others = make::full(b, &ty.shape, &nothing);
    let alone = make::select(b, own, x, others);
    let kind = if ty.dtype.is_bool() { ReduceKind::Or } else { ReduceKind::Add };
    let init = make::constant(b, nothing);
    make::reduce_from(b, kind, alone, init, &[1])
}
