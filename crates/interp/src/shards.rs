//! Runs a program by shards: values are distributed over the devices as their shardings state, and each op is applied
//! to what each device holds.
//!
//! A device's part of a result follows from the op's *rule*, not from how the op will be made local. Pass-through
//! factors are cut from the whole result. Along a sharded reduction factor the device uses only its own slice of the
//! operands, so that its result is partial until an `sdy.all_reduce` combines it. Every op checks that devices that
//! should hold equal parts do.

use crate::collective::groups_over;
use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::machine::{Env, Machine, PerProcess, Results, cannot_run};
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_engine::layout::{Dense, ShardBox, cut, pad_with_poison, shard_box, shard_number};
use shardwise_ir::{Func, Module, OpView, PaddedDim, Value};
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::reducer::nothings;
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Combine, Opcode, PartialResult, ReduceKind, Semantics};
use shardwise_sharding::{FactorKind, IfMissing, Rule, TensorFactors};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// Runs `func` with one process for each device of the module's mesh. Arguments and results are global arrays without
/// padding. A module without a mesh is run in the global view. Fails if the arguments do not have the types of the
/// function's parameters, if an op fails, if calls and regions nest too deep, if the run is stopped, if devices that
/// should hold equal parts of an operand or result do not, or if padding does not hold what is recorded.
pub fn run(module: &Module, func: &Func, args: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    let Some(mesh) = module.main_mesh() else { return crate::run(module, args) };
    let args = &with_padding(func, args)[..];
    crate::check_args(func, args)?;
    let frame = Frame::grid(Some(mesh.clone()), mesh.size());
    let mut machine = Machine::new(module).by_shards();
    let spread = |v: &Value, arg: &Literal| -> PerProcess { scatter(arg, func.body.sharding(*v), &frame) };
    let args = func.body.args().iter().zip(args).map(|(v, a)| spread(v, a)).collect();
    let results = machine.run(func, &frame, args)?;
    let gather = |(i, value): (usize, PerProcess)| {
        let sharding = func.result_shardings[i].as_ref().or_else(|| func.body.sharding(func.body.results()[i]));
        let all: Vec<usize> = (0..frame.process_count).collect();
        let value = match sharding {
            Some(s) if !s.unreduced.is_empty() => {
                combined(&value, &s.unreduced, ReduceKind::Add, &frame).expect("all element types can be added")
            }
            _ => value,
        };
        let whole = join(&value, &all, sharding, func.result_types[i].shape(), &frame);
        let whole = whole.map_err(|d| Diagnostics::from(disagree(&func.loc, "the function's result", d)))?;
        let shape = func.body[func.body.results()[i]].shape_without_padding();
        Ok(cut(&whole, &ShardBox { offset: vec![0; shape.len()], shape }))
    };
    results.into_iter().enumerate().map(gather).collect()
}

/// Returns the arguments with the padding that the function's parameters record. It holds poison, so that a program
/// whose results depend on it has wrong results. An argument that does not have the parameter's shape without padding
/// is returned unchanged.
fn with_padding(func: &Func, args: &[Literal]) -> Vec<Literal> {
    let params = func.body.args();
    let padded = |(i, arg): (usize, &Literal)| match params.get(i).map(|&v| func.body.value(v)) {
        Some(param) if param.shape_without_padding() == arg.shape() => pad_with_poison(arg, param.ty.shape()),
        _ => arg.clone(),
    };
    args.iter().enumerate().map(padded).collect()
}

/// Returns the part of a whole value that each device has, which is the whole value if there is no sharding. If the
/// sharding is unreduced, only the first devices along the unreduced axes have their parts. The others have elements
/// that change nothing when they are added.
fn scatter(whole: &Literal, sharding: Option<&Sharding>, frame: &Frame) -> PerProcess {
    let parts = (0..frame.process_count).map(|p| Some(Datum::Tensor(part(whole, sharding, frame, p)))).collect();
    match sharding {
        Some(s) if !s.unreduced.is_empty() => on_first(&parts, &s.unreduced, frame),
        _ => parts,
    }
}

fn part(whole: &Literal, sharding: Option<&Sharding>, frame: &Frame, p: usize) -> Literal {
    sharding.map_or_else(|| whole.clone(), |s| cut(whole, &shard_box(whole.shape(), s, &frame.coordinates(p))))
}

fn has_all(value: &PerProcess, devices: &[usize]) -> bool {
    devices.iter().all(|&p| value[p].is_some())
}

/// Joins the whole value from the parts of some devices, which must have the value. Without a sharding, each part is
/// the whole value. Elements that no part contains are set to elements that change nothing when they are added. Fails
/// with two devices that should hold equal parts and do not. Summands of an unreduced value must have been added up.
fn join(
    value: &PerProcess,
    devices: &[usize],
    sharding: Option<&Sharding>,
    shape: &[usize],
    frame: &Frame,
) -> Result<Literal, (usize, usize)> {
    let own = |p: usize| value[p].as_ref().expect("every device has it").tensor();
    let Some(sharding) = sharding else {
        let differing = devices.iter().find(|&&p| own(p) != own(devices[0]));
        return differing.map_or_else(|| Ok(own(devices[0]).clone()), |&p| Err((devices[0], p)));
    };
    let mut out = Dense::nothing(own(devices[0]), shape);
    let mut first_of: HashMap<usize, usize> = HashMap::new();
    for &p in devices {
        let coordinates = frame.coordinates(p);
        match first_of.entry(shard_number(sharding, &coordinates)) {
            Entry::Occupied(first) if own(*first.get()) != own(p) => return Err((*first.get(), p)),
            Entry::Occupied(_) => {}
            Entry::Vacant(first) => {
                out.paste(own(p), &shard_box(shape, sharding, &coordinates).offset);
                first.insert(p);
            }
        }
    }
    Ok(out.finish())
}

impl<'m> Machine<'m> {
    pub(crate) fn op_by_shards(
        &mut self,
        env: &mut Env<'m>,
        frame: &Frame,
        view: &OpView<'m>,
        active: &Active,
    ) -> Results {
        match Opcode::of_view(view).facts().semantics(view) {
            Semantics::Pure => self.pure_by_shards(env, frame, view),
            Semantics::Identity => {
                let number = |v: Value| view.operands().iter().position(|&o| o == v).expect("it is an operand");
                let each = unchanged_operands(view).iter().enumerate();
                each.map(|(i, &v)| self.relayout(env.get(v), frame, view, (number(v), i))).collect()
            }
            Semantics::Control if Opcode::of_view(view) == Opcode::ManualComputation => {
                self.manual_by_shards(env, frame, view, active)
            }
            Semantics::Control => self.control(env, frame, view, active),
            Semantics::Collective if ShardyCollective::of(view).is_some() => self.shardy_collective(env, frame, view),
            Semantics::Collective => self.collective(env, frame, view, active),
        }
    }

    /// Runs a manual computation. Its body uses what each device holds: the values are local over the manual axes.
    /// Fails if the body does, or if the op states no manual axes on a mesh.
    fn manual_by_shards(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let (_, axes) = shardwise_ops::shardy::manual_mesh_axes(view).ok_or_else(|| cannot_run(view))?;
        let depth = self.manual.len();
        self.manual.extend(axes);
        let args = env.all(view.operands());
        let results = self.region(env, frame, view.regions()[0], args, active);
        self.manual.truncate(depth);
        results
    }

    /// Returns the sets of devices that hold the same global values: those with equal coordinates along the manual axes
    /// and along the unreduced axes.
    fn views(&self, frame: &Frame, unreduced: &[AxisRef]) -> Vec<Vec<usize>> {
        let mesh = frame.mesh.as_ref().expect("by shards there is a mesh");
        let apart = [&self.manual[..], unreduced].concat();
        let free: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, &apart)).collect();
        groups_over(&free, frame)
    }

    /// Returns operand `from`, whose data are `value`, in the layout of result `to`. A value that is not an array is
    /// returned unchanged. If a device has no operand, no device that holds the same global value has a result. Fails
    /// if devices that should hold equal parts of the operand do not.
    fn relayout(
        &self,
        value: &PerProcess,
        frame: &Frame,
        view: &OpView<'m>,
        (from, to): (usize, usize),
    ) -> Result<PerProcess, Diagnostic> {
        if !value.iter().flatten().all(|datum| matches!(datum, Datum::Tensor(_))) {
            return Ok(value.clone());
        }
        let mut out = vec![None; frame.process_count];
        let unreduced = view.result_sharding(to).map_or(vec![], |s| s.unreduced.clone());
        for devices in self.views(frame, &unreduced).into_iter().filter(|devices| has_all(value, devices)) {
            let whole = self.whole(value, &devices, view, from, frame)?;
            for p in devices {
                out[p] = Some(Datum::Tensor(part(&whole, view.result_sharding(to), frame, p)));
            }
        }
        Ok(out)
    }

    fn whole(
        &self,
        value: &PerProcess,
        devices: &[usize],
        view: &OpView<'m>,
        i: usize,
        frame: &Frame,
    ) -> Result<Literal, Diagnostic> {
        join(value, devices, view.operand_sharding(i), view.operand_shape(i), frame)
            .map_err(|d| disagree(view.loc(), &format!("operand {i} of `{}`", view.name()), d))
    }

    fn shardy_collective(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>) -> Results {
        let value = env.get(view.operand(0)).clone();
        let combined = match ShardyCollective::of(view) {
            Some(ShardyCollective::AllReduce { axes, reduce }) => sum(view, &value, &axes, reduce, frame)?,
            Some(ShardyCollective::ReduceScatter { dims, reduce }) => {
                let axes: Vec<AxisRef> = dims.iter().flatten().copied().collect();
                sum(view, &value, &axes, reduce, frame)?
            }
            Some(ShardyCollective::ReplicatedToUnreduced { axes }) => on_first(&value, &axes, frame),
            _ => value,
        };
        self.relayout(&combined, frame, view, (0, 0)).map(|v| vec![v])
    }

    fn pure_by_shards(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>) -> Results {
        let operands = env.all(view.operands());
        let mut results: Vec<PerProcess> = vec![vec![None; frame.process_count]; view.results().len()];
        let partial = Partial::of(view);
        let sums =
            (0..operands.len()).filter_map(|i| view.operand_sharding(i)).flat_map(|s| s.unreduced.iter().copied());
        for devices in self.views(frame, &sums.collect::<Vec<_>>()) {
            // Devices that do not take a branch have no results of a branch inside it.
            if !operands.iter().all(|value| has_all(value, &devices)) {
                continue;
            }
            let whole = (0..operands.len())
                .map(|i| self.whole(&operands[i], &devices, view, i, frame))
                .collect::<Result<Vec<_>, _>>()?;
            let mut known: HashMap<usize, Vec<Literal>> = HashMap::new();
            for &p in &devices {
                let values = match known.entry(partial.index(frame, p)) {
                    Entry::Occupied(values) => values.into_mut(),
                    Entry::Vacant(none) => none.insert(self.evaluate_partial(env, view, &partial, &whole, frame, p)?),
                };
                for (i, result) in results.iter_mut().enumerate() {
                    check_padding(view, i, &values[i])?;
                    result[p] = Some(Datum::Tensor(part(&values[i], view.result_sharding(i), frame, p)));
                }
            }
        }
        Ok(results)
    }

    /// Returns the results that device `p` computes, which are one of the partial results of the op. The op is
    /// evaluated on the device's slice along reduction factors and on the whole operands along all others. Unless this
    /// is partial result 0, initial values are replaced by neutral elements of the reducer, and so are sums that are
    /// not computed from slices. Other results that are not computed from slices are kept, because their reducers are
    /// idempotent. Fails if the evaluation does.
    fn evaluate_partial(
        &mut self,
        env: &mut Env<'m>,
        view: &OpView<'m>,
        partial: &Partial,
        whole: &[Literal],
        frame: &Frame,
        p: usize,
    ) -> Result<Vec<Literal>, Diagnostic> {
        let sliced: Vec<PerProcess> = (0..whole.len())
            .map(|i| {
                let own = match partial.kind {
                    Some(kind) if partial.once.contains(&i) && partial.index(frame, p) != 0 => {
                        kind.neutral(whole[i].dtype()).expect("partial results are combined")
                    }
                    _ => partial.slice(&whole[i], view.operand_sharding(i), i, &frame.coordinates(p)),
                };
                let mut value = vec![None; frame.process_count];
                value[p] = Some(Datum::Tensor(own));
                value
            })
            .collect();
        let values: Vec<Literal> =
            self.pure_once(env, view, &sliced, p)?.into_iter().map(|d| d.tensor().clone()).collect();
        Ok(match partial.kind {
            Some(kind) if !partial.is_sliced && partial.index(frame, p) != 0 => {
                values.iter().map(|v| neutral(kind, v)).collect()
            }
            _ => values,
        })
    }
}

/// How the sharded reduction factors of an op make its result partial.
struct Partial {
    /// The axes that split reduction factors.
    axes: Vec<AxisRef>,
    /// For each operand, whether each dimension belongs to a reduction factor.
    dims: Vec<Vec<bool>>,
    /// True if a partial result is computed from sliced operands. Otherwise it is the whole result, which for sums is
    /// replaced by neutral elements except in partial result 0.
    is_sliced: bool,
    /// The operands that are initial values, which only one of the partial results may include.
    once: Range<usize>,
    /// The reducer that combines partial results. `None` if the op has no rule, or no such reducer: then `axes` and
    /// `dims` are empty, and the op is evaluated on whole operands.
    kind: Option<ReduceKind>,
}

impl Partial {
    fn of(view: &OpView<'_>) -> Partial {
        let facts = Opcode::of_view(view).facts();
        let rule = facts.rule(view);
        let none = Partial { axes: vec![], dims: vec![], is_sliced: true, once: 0..0, kind: None };
        let (Some(rule), Combine::With(kind)) = (rule.rule(), facts.combine(view)) else { return none };
        let dims: Vec<Vec<bool>> =
            rule.operands.iter().map(|m| m.dims.iter().map(|d| is_reduced(rule, d)).collect()).collect();
        let mut axes: Vec<AxisRef> = vec![];
        for (i, mapping) in rule.operands.iter().enumerate() {
            let Some(sharding) = view.operand_sharding(i) else { continue };
            let factors = TensorFactors::new(mapping, rule, &sharding.mesh, Some(sharding), IfMissing::Closed);
            let reduced = factors.iter().filter(|(factor, _)| rule.kind(*factor) == FactorKind::Reduction);
            for &axis in reduced.flat_map(|(_, split)| &split.axes) {
                if !axes.contains(&axis) {
                    axes.push(axis);
                }
            }
        }
        let (is_sliced, once) = match facts.partial_result(view) {
            PartialResult::OfSlices { once } => (true, once),
            PartialResult::Rewritten => (false, 0..0),
        };
        Partial { axes, dims, is_sliced, once, kind: Some(kind) }
    }

    /// Returns the number of the partial result that device `p` computes: its position along the axes that split
    /// reduction factors. It is 0 without a mesh.
    fn index(&self, frame: &Frame, p: usize) -> usize {
        frame.mesh.as_ref().map_or(0, |mesh| AxisRef::index_in(mesh, &self.axes, &frame.coordinates(p)))
    }

    /// Returns the part of operand `i` that the device at `coordinates` uses: its own slice along the dimensions of
    /// reduction factors, and all of the other dimensions. It is the whole operand if it has no sharding or the op is
    /// not evaluated on slices.
    fn slice(&self, whole: &Literal, sharding: Option<&Sharding>, i: usize, coordinates: &[usize]) -> Literal {
        let (Some(sharding), Some(dims), true) = (sharding, self.dims.get(i), self.is_sliced) else {
            return whole.clone();
        };
        let own = shard_box(whole.shape(), sharding, coordinates);
        let mut place = ShardBox { offset: vec![0; whole.rank()], shape: whole.shape().to_vec() };
        for (d, _) in dims.iter().enumerate().filter(|(_, reduced)| **reduced) {
            (place.offset[d], place.shape[d]) = (own.offset[d], own.shape[d]);
        }
        cut(whole, &place)
    }
}

fn is_reduced(rule: &Rule, factors: &[shardwise_sharding::Factor]) -> bool {
    factors.iter().any(|&f| rule.kind(f) == FactorKind::Reduction)
}

/// Returns neutral elements of addition in the shape of `value` for sums, and `value` itself for all other kinds, which
/// must be idempotent.
fn neutral(kind: ReduceKind, value: &Literal) -> Literal {
    match kind {
        ReduceKind::Add => nothings(value.dtype(), value.shape()),
        _ => value.clone(),
    }
}

/// Returns the value with the data of the devices at position 0 along `axes`. The other devices that have the value get
/// elements that change nothing when they are added.
pub(crate) fn on_first(value: &PerProcess, axes: &[AxisRef], frame: &Frame) -> PerProcess {
    let mesh = frame.mesh.as_ref().expect("by shards there is a mesh");
    let is_first = |p: usize| AxisRef::index_in(mesh, axes, &frame.coordinates(p)) == 0;
    let other = |d: &Datum| Datum::Tensor(nothings(d.tensor().dtype(), d.tensor().shape()));
    let own = |(p, d): (usize, &Option<Datum>)| d.as_ref().map(|d| if is_first(p) { d.clone() } else { other(d) });
    value.iter().enumerate().map(own).collect()
}

pub(crate) fn sum(
    view: &OpView<'_>,
    value: &PerProcess,
    axes: &[AxisRef],
    kind: ReduceKind,
    frame: &Frame,
) -> Result<PerProcess, Diagnostic> {
    combined(value, axes, kind, frame).ok_or_else(|| cannot_run(view))
}

/// Combines each device's value with those of its group, the devices that differ from it only along `axes`. A group in
/// which a device has no value gets none. Returns `None` if the reducer does not exist for the values' type.
fn combined(value: &PerProcess, axes: &[AxisRef], kind: ReduceKind, frame: &Frame) -> Option<PerProcess> {
    let mut out = vec![None; frame.process_count];
    for group in groups_over(axes, frame) {
        let parts: Option<Vec<Literal>> = group.iter().map(|&p| Some(value[p].as_ref()?.tensor().clone())).collect();
        let Some(parts) = parts else { continue };
        let total = kind.apply_all(&parts)?;
        group.iter().for_each(|&p| out[p] = Some(Datum::Tensor(total.clone())));
    }
    Some(out)
}

/// Fails if the padding of result `index` does not hold the elements that are recorded for it. Padding that may hold
/// anything is not checked.
fn check_padding(view: &OpView<'_>, index: usize, value: &Literal) -> Result<(), Diagnostic> {
    let Some(padding) = &view.body[view.result(index)].padding else { return Ok(()) };
    for PaddedDim { dim, size, holds, .. } in padding.iter() {
        let Some(element) = holds else { continue };
        let mut place = ShardBox { offset: vec![0; value.rank()], shape: value.shape().to_vec() };
        (place.offset[*dim], place.shape[*dim]) = (*size, value.shape()[*dim] - size);
        if cut(value, &place) != Literal::splat(value.dtype(), place.shape, element.element_bytes(0)) {
            return Err(wrong_padding(view, index, *dim));
        }
    }
    Ok(())
}

fn wrong_padding(view: &OpView<'_>, index: usize, dim: usize) -> Diagnostic {
    let message =
        format!("the padding of result {index} of `{}` along dimension {dim} is not as recorded", view.name());
    Diagnostic::error("shards-padding", view.loc(), message)
        .help("the pass that recorded what the padding holds is wrong")
}

fn disagree(loc: &shardwise_base::Loc, what: &str, (a, b): (usize, usize)) -> Diagnostic {
    let message = format!("positions {a} and {b} of the mesh should hold equal parts of {what}, and do not");
    Diagnostic::error("shards-disagree", loc, message)
        .help(format!("add the collective that makes {what} equal on these devices, or correct its sharding"))
}
