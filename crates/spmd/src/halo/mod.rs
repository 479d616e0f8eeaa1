//! Replaces each op whose elements move along a sharded dimension by an exchange of halos and the op on what each
//! device then has.
//!
//! A device that computes a block of the result needs windows of the operands ([`Movement`]). It receives from others
//! what its own blocks lack: a halo of its neighbours for a convolution or a stencil, the mirrored block for a
//! reversal. The exchange and the op are written as a manual computation over the axes of the dimension, as a user
//! would write them. Which ops run in this way, `reshard` decides, by what is [exchanged].
//!
//! If the windows of a block all contain other whole blocks, and the op can read their total in place of their elements
//! ([`Movement::total`]), devices exchange totals: a cumulative sum runs as a blocked scan.
//!
//! A reshard between blocks that do not nest is replaced in the same way ([`boxes`]): each device receives the boxes
//! that it lacks.
//!
//! [`rounds`] plans who sends what to whom, and [`windows`] writes it down as ops. [`totals`] and [`fold`] do the same
//! for totals.

mod boxes;
mod chosen;
mod fold;
pub(crate) mod rounds;
mod shared;
mod totals;
mod windows;

use crate::reshard::without_axes;
use crate::rewrite::{facts, has_program_regions, is_manual, is_terminator, map_main, sharding_or_replicated};
pub use chosen::{STRATEGIES, strategies};
use fold::Fold;
use rounds::{Exchange, Need};
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, Diagnostics, DimSharding, Loc, Mesh, Sharding};
use shardwise_ir::rewrite::{Rewrite, open_region, rewrite_func};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::shardy::ManualComputation;
use shardwise_ops::{Blocks, Movement, Opcode, PropagationClass, Read, RuleFact, WindowsCx, WindowsDim, make};
use shardwise_sharding::cost::start;
use shardwise_sharding::{DimFactors, Exchanged, Factor, FactorKind, Mapping, Rule};
use shared::{Shared, Span};
use std::sync::Arc;
use totals::Folded;
use windows::Windows;

/// Replaces the ops of the main function that move elements along a sharded dimension, or between blocks that do not
/// nest, by manual computations. An op that cannot run in this way stays: `reshard` splits none such. Always returns
/// `Ok`.
pub fn halo(module: &Module) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    if moving(module).is_none() {
        return Ok(module.clone());
    }
    map_main(module, |func| {
        let plans = plans(module, &func.body, &mesh);
        rewrite_func(module, func, &mut Exchanges { mesh: &mesh, plans })
    })
}

fn plans(module: &Module, body: &Body, mesh: &Arc<Mesh>) -> Plans {
    let mut plans = Plans::default();
    let mut shared = Shared::default();
    let regions = || (0..body.region_count()).map(Region::new);
    let ops = || regions().flat_map(|r| body[r].ops.iter().map(move |&op| (r, op)));
    for (r, op) in ops() {
        let view = module.view(body, op);
        if let Some(dims) = plan(&view, mesh) {
            shared.add(&view, r, &dims);
            plans.insert(op, dims);
        }
    }
    shared.unite();
    for (r, op) in ops() {
        if let Some(dims) = plans.get_mut(&op) {
            shared.share(&module.view(body, op), r, dims);
        }
    }
    plans
}

/// Returns the location and the name, in backticks, of the first op of the main function that moves elements along a
/// sharded dimension, or between blocks that do not nest, or `None` if there is none.
pub(crate) fn moving(module: &Module) -> Option<(Loc, String)> {
    let func = module.main()?;
    module.main_mesh()?;
    let is_moving = |op: &Op| {
        let view = module.view(&func.body, *op);
        !moved(&view).is_empty() || boxes::of_op(&view).is_some()
    };
    let op = func.body.walk().into_iter().find(is_moving)?;
    let view = module.view(&func.body, op);
    Some((view.loc().clone(), format!("`{}`", view.name())))
}

/// Returns the blocks for which an op reads windows if it runs split along a factor. Returns `None` if it reads none,
/// if no dimension that could be split into such blocks consists of the factor alone, or if the op's regions use values
/// from around the op.
pub(crate) fn blocks_of(view: &OpView<'_>, rule: &Rule, factor: Factor) -> Option<Blocks> {
    // The body of a manual computation cannot use values from outside.
    if !view.regions().is_empty() && !view.captured().is_empty() {
        return None;
    }
    let dim_of = |m: &Mapping| m.dims.iter().position(|d| d[..] == [factor]);
    let is_read = |blocks: &Blocks| facts(view).movement(view, *blocks).is_some();
    match rule.kind(factor) {
        FactorKind::Permutation => rule.results.first().and_then(dim_of).map(Blocks::OfResults).filter(is_read),
        FactorKind::Reduction => {
            let operands = rule.operands.iter().enumerate();
            let mut blocks = operands.filter_map(|(operand, m)| Some(Blocks::OfOperand { operand, dim: dim_of(m)? }));
            blocks.find(is_read)
        }
        _ => None,
    }
}

fn moved(view: &OpView<'_>) -> Vec<Blocks> {
    let is_split = |v: &Value| view.body.sharding(*v).is_some_and(|s| s.split_axes().next().is_some());
    let tensors = || view.operands().iter().chain(view.results());
    let is_elementwise = || facts(view).propagation_class(view) == PropagationClass::Elementwise;
    if is_terminator(view)
        || has_program_regions(view)
        || is_manual(view)
        || is_elementwise()
        || !tensors().any(is_split)
    {
        return vec![];
    }
    let RuleFact::Rule(rule) = facts(view).rule(view) else { return vec![] };
    let is_moved = |blocks: &Blocks| !axes_of(view, *blocks).is_empty();
    let results = rule.results.first().into_iter().flat_map(|m| m.dims.iter().enumerate());
    let moves = |factors: &DimFactors| factors.iter().any(|&f| rule.kind(f) == FactorKind::Permutation);
    let results = results.filter(|(_, factors)| moves(factors)).map(|(dim, _)| Blocks::OfResults(dim));
    let reduced = rule.all_factors().filter(|&f| rule.kind(f) == FactorKind::Reduction);
    results.chain(reduced.filter_map(|f| blocks_of(view, &rule, f))).filter(is_moved).collect()
}

fn axes_of<'v>(view: &OpView<'v>, blocks: Blocks) -> &'v [AxisRef] {
    let (value, dim) = match blocks {
        Blocks::OfResults(dim) => (view.result(0), dim),
        Blocks::OfOperand { operand, dim } => (view.operand(operand), dim),
    };
    view.body.sharding(value).and_then(|s| s.dims.get(dim)).map_or(&[], |d| &d.axes)
}

/// A sharded dimension along which an op's elements move.
struct MovedDim {
    blocks: Blocks,
    axes: Vec<AxisRef>,
    fetched: Fetched,
    rest: WindowsDim,
    run: Run,
}

/// A function that builds an op on its windows, or the totals of arrays ([`totals_of`]).
type Run = fn(&mut WindowsCx<'_, '_>) -> Vec<Value>;

impl MovedDim {
    fn of_results(&self) -> Option<usize> {
        if let Blocks::OfResults(dim) = self.blocks { Some(dim) } else { None }
    }
}

/// Returns how an op runs whose elements move along sharded dimensions. Returns `None` if they do not, or if it cannot
/// run in this way: `reshard` splits no such op.
fn plan(view: &OpView<'_>, mesh: &Arc<Mesh>) -> Option<Vec<MovedDim>> {
    let plan_dim = |blocks: Blocks| {
        let axes = axes_of(view, blocks).to_vec();
        let movement = facts(view).movement(view, blocks)?;
        let (fetched, rest) = fetched(view, &movement, blocks, mesh, AxisRef::total_size(mesh, &axes))?;
        let is_split = |read: &Read| layout(view.body, view.operand(read.operand), mesh).dims[read.dim].axes == axes;
        let run = movement.run;
        movement.reads.iter().all(is_split).then_some(MovedDim { blocks, axes, fetched, rest, run })
    };
    moved(view).into_iter().map(plan_dim).collect::<Option<Vec<_>>>().filter(|dims| !dims.is_empty())
}

/// How the windows along one dimension are fetched.
enum Fetched {
    Elements(Vec<Fetch>),
    /// The blocks that all windows contain are replaced by their total. All inputs are read alike.
    Totals {
        reads: Vec<Read>,
        need: Need,
        folded: Folded,
        total: Run,
    },
}

/// A window of an operand along one dimension, and the exchange by which it is fetched.
struct Fetch {
    read: Read,
    need: Need,
    exchange: Exchange,
    /// For each part of an exchange that is alike on all devices, the elements that are sent: those of the part, or
    /// more if other ops need them too. Without an entry, those of the part are sent.
    sent: Vec<Span>,
}

impl Fetched {
    fn needs(&self) -> Vec<(Read, Need)> {
        match self {
            Fetched::Elements(fetches) => fetches.iter().map(|f| (f.read, f.need)).collect(),
            Fetched::Totals { reads, need, .. } => reads.iter().map(|&read| (read, *need)).collect(),
        }
    }

    /// Returns what devices exchange, if all other dimensions are whole.
    fn exchanged(&self, view: &OpView<'_>, mesh: &Mesh) -> Exchanged {
        let line = |read: &Read, need: &Need| view.operand_tensor(read.operand).bytes() / need.size as u64;
        match self {
            Fetched::Elements(fetches) => {
                let (mut received, mut collective_count) = (vec![], 0);
                for fetch in fetches {
                    let line = line(&fetch.read, &fetch.need);
                    received.resize(fetch.need.shards.max(received.len()), 0);
                    let lines = fetch.exchange.received(&fetch.need);
                    received.iter_mut().zip(lines).for_each(|(bytes, n)| *bytes += n as u64 * line);
                    collective_count += fetch.exchange.collective_count(&fetch.need);
                }
                Exchanged { bytes: received.into_iter().max().unwrap_or(0), collective_count }
            }
            Fetched::Totals { reads, need, folded, .. } => {
                let bytes: u64 = reads.iter().map(|read| line(read, need)).sum();
                let (received, collective_count) = folded.exchanged(bytes, start(mesh));
                Exchanged { bytes: received * bytes, collective_count: collective_count * reads.len() as u64 }
            }
        }
    }
}

/// Returns how the windows of an op for one of `shards` blocks are fetched, and the padding that remains around them.
/// Chooses between elements and totals the way that costs less. Returns `None` if the op cannot run in this way.
fn fetched(
    view: &OpView<'_>,
    movement: &Movement,
    blocks: Blocks,
    mesh: &Mesh,
    shards: usize,
) -> Option<(Fetched, WindowsDim)> {
    let elements = elements(view, movement, blocks, shards);
    let totals = totals(view, movement, blocks, shards);
    let price = |way: &Option<(Fetched, WindowsDim)>| {
        let exchanged = way.as_ref().map(|(fetched, _)| fetched.exchanged(view, mesh));
        exchanged.map_or(u64::MAX, |exchanged| exchanged.bytes + exchanged.price_of_starts(mesh))
    };
    if price(&totals) < price(&elements) { totals } else { elements }
}

/// Returns the size of a block, rounded up for blocks of a result, or `None` if the blocks are those of an operand and
/// are uneven.
fn block_size(view: &OpView<'_>, blocks: Blocks, shards: usize) -> Option<i128> {
    let size = match blocks {
        Blocks::OfResults(dim) => view.result_shape(0)[dim].div_ceil(shards),
        // The padding of an uneven block would count.
        Blocks::OfOperand { operand, dim } => {
            Some(view.operand_shape(operand)[dim]).filter(|n| n.is_multiple_of(shards))? / shards
        }
    };
    Some(size as i128)
}

fn elements(view: &OpView<'_>, movement: &Movement, blocks: Blocks, shards: usize) -> Option<(Fetched, WindowsDim)> {
    let block = block_size(view, blocks, shards)?;
    let mut rest = None;
    let mut found = vec![];
    for &read in &movement.reads {
        let size = view.operand_shape(read.operand)[read.dim];
        let (need, low, high) = need(&read, size, shards, block)?;
        if *rest.get_or_insert((low, high)) != (low, high) {
            return None;
        }
        found.push(Fetch { read, need, exchange: need.plan()?, sent: vec![] });
    }
    let (low, high) = rest?;
    Some((Fetched::Elements(found), WindowsDim { dim: movement.dim, low, high, folded: None }))
}

fn totals(view: &OpView<'_>, movement: &Movement, blocks: Blocks, shards: usize) -> Option<(Fetched, WindowsDim)> {
    let (total, first) = (movement.total?, movement.reads.first()?);
    let size = view.operand_shape(first.operand)[first.dim];
    let (need, low, high) = need(first, size, shards, block_size(view, blocks, shards)?)?;
    let extent = usize::try_from(first.extent).ok().filter(|_| (low, high) == (0, 0))?;
    let folded = need.fold(extent, open_ends(view, movement.dim, first, size))?;
    let (low, high) = (folded.low as i64, folded.high as i64);
    let rest = WindowsDim { dim: movement.dim, low, high, folded: Some(folded.extent) };
    Some((Fetched::Totals { reads: movement.reads.clone(), need, folded, total }, rest))
}

/// Returns two flags. The first is true if all windows start at or before the first element of the dimension, and the
/// second if all of them end at or behind its last element. The windows must move in the direction of the dimension
/// ([`Read::stride`]).
fn open_ends(view: &OpView<'_>, dim: usize, read: &Read, size: usize) -> [bool; 2] {
    let last = (view.result_shape(0)[dim] as i128 - 1) * i128::from(read.stride) - i128::from(read.low);
    [last <= 0, i128::from(read.extent) - i128::from(read.low) >= size as i128]
}

/// Returns the ranges of a dimension that blocks of `block` elements need, and the padding before and after the window
/// once it is spread. Returns `None` if the dimension, the blocks or the windows have no elements, if the ranges would
/// not start at equal distances, or if positions might overflow.
fn need(read: &Read, size: usize, shards: usize, block: i128) -> Option<(Need, i64, i64)> {
    let [stride, base, low, extent] = [read.stride, read.base, read.low, read.extent].map(i128::from);
    let advance = block * stride;
    if block == 0 || size == 0 || advance % base != 0 {
        return None;
    }
    let last_read = (block - 1) * stride - low;
    let (begin, end) = ((-low).min(last_read), (-low).max(last_read) + extent);
    let first = begin.div_euclid(base) + i128::from(begin.rem_euclid(base) != 0);
    let last = (end - 1).div_euclid(base);
    let number = |n: i128| i64::try_from(n).ok();
    let len = usize::try_from(last - first + 1).ok().filter(|&n| n > 0)?;
    // All positions stay far from overflow.
    let far = i64::MAX as i128 / 4;
    let reach = first.abs() + (advance / base).abs() * shards as i128 + len as i128;
    if reach > far {
        return None;
    }
    let inside = read.inside.unwrap_or((0, size));
    let need =
        Need { size, shards, start: number(first)?, step: number(advance / base)?, len, wraps: read.wraps, inside };
    Some((need, number(first * base - begin)?, number(end - 1 - last * base)?))
}

/// Returns the bytes that the device that receives most receives in exchanges if the op runs split along a factor over
/// these axes, with all other dimensions whole. This is 0 for factors along which the op reads no windows, except for
/// permutation factors. Returns `None` for permutation factors along which it reads none, and if the op cannot run in
/// this way.
pub fn bytes_exchanged(view: &OpView<'_>, rule: &Rule, factor: Factor, mesh: &Mesh, axes: &[AxisRef]) -> Option<u64> {
    exchanged(view, rule, factor, mesh, axes).map(|exchanged| exchanged.bytes)
}

/// Returns what devices exchange if the op runs as for [`bytes_exchanged`], or `None` if that function returns `None`.
pub(crate) fn exchanged(
    view: &OpView<'_>,
    rule: &Rule,
    factor: Factor,
    mesh: &Mesh,
    axes: &[AxisRef],
) -> Option<Exchanged> {
    let Some(blocks) = blocks_of(view, rule, factor) else {
        return (rule.kind(factor) != FactorKind::Permutation).then(Exchanged::default);
    };
    let is_major = |m: &Mapping| m.dims.iter().all(|d| d.iter().skip(1).all(|f| *f != factor));
    if !rule.mappings().all(is_major) {
        return None;
    }
    let movement = facts(view).movement(view, blocks)?;
    let (fetched, _) = fetched(view, &movement, blocks, mesh, AxisRef::total_size(mesh, axes))?;
    Some(fetched.exchanged(view, mesh))
}

/// Returns true if devices exchange totals in place of elements if the op runs split along a factor over these axes.
pub(crate) fn exchanges_totals(view: &OpView<'_>, rule: &Rule, factor: Factor, mesh: &Mesh, axes: &[AxisRef]) -> bool {
    let exchanged = || {
        let blocks = blocks_of(view, rule, factor)?;
        let movement = facts(view).movement(view, blocks)?;
        fetched(view, &movement, blocks, mesh, AxisRef::total_size(mesh, axes))
    };
    matches!(exchanged(), Some((Fetched::Totals { .. }, _)))
}

/// The ops whose elements move, with their dimensions along which they do.
type Plans = FxHashMap<Op, Vec<MovedDim>>;

struct Exchanges<'a> {
    mesh: &'a Arc<Mesh>,
    plans: Plans,
}

impl<'s> Rewrite<'s> for Exchanges<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if let Some(boxes) = boxes::of_op(view) {
            let result = self.boxes(view, &boxes, cloner, b);
            cloner.carry(view.result(0), result, b);
            return Ok(true);
        }
        let Some(dims) = self.plans.get(&view.op) else { return Ok(false) };
        let results = self.manual(view, dims, cloner, b);
        for (&old, new) in view.results().iter().zip(results) {
            cloner.carry(old, new, b);
        }
        Ok(true)
    }
}

impl Exchanges<'_> {
    fn manual(&self, view: &OpView<'_>, dims: &[MovedDim], cloner: &mut Cloner<'_>, b: &mut Builder<'_>) -> Vec<Value> {
        let manual: Vec<AxisRef> = AxisRef::union(self.mesh, dims.iter().flat_map(|d| d.axes.iter().copied()));
        let mut operands = cloner.values(view.operands());
        for (read, need) in dims.iter().flat_map(|d| d.fetched.needs()) {
            let v = &mut operands[read.operand];
            *v = with_size(*v, read.dim, need.block() * need.shards, b);
        }
        let ins: Vec<Sharding> = operands.iter().map(|&v| layout(b.body, v, self.mesh)).collect();
        let outs: Vec<Sharding> = view.results().iter().map(|&v| layout(view.body, v, self.mesh)).collect();
        let local: Vec<Type> = operands.iter().zip(&ins).map(|(&v, s)| local_type(b.body.ty(v), s, &manual)).collect();
        let whole: Vec<Type> = view.results().iter().map(|&v| even_type(view.body.ty(v), &outs[0], dims)).collect();
        let blocks: Vec<Type> = whole.iter().zip(&outs).map(|(ty, s)| local_type(ty, s, &manual)).collect();

        let (region, args) = open_region(b.body, &local, &b.loc);
        args.iter().zip(&ins).for_each(|(&arg, s)| b.set_sharding(arg, Some(without_axes(s, &manual))));
        let inner = &mut Builder::at(b.body, region, b.loc.clone());
        let results = self.body(view, dims, args, blocks, cloner, inner);
        results.iter().zip(&outs).for_each(|(&v, s)| inner.set_sharding(v, Some(without_axes(s, &manual))));
        lay_out_rest(&without_axes(&outs[0], &manual), inner);
        inner.op(Opcode::SdyReturn, results, Attrs::new(), []);

        let attrs = ManualComputation::made(ins, self.mesh, &manual);
        let op = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [region], whole);
        let mut results = b.body[op].results.to_vec();
        for (i, (v, sharding)) in results.iter_mut().zip(outs).enumerate() {
            b.set_sharding(*v, Some(sharding));
            for dim in dims.iter().filter_map(MovedDim::of_results) {
                *v = with_size(*v, dim, view.result_shape(i)[dim], b);
            }
        }
        results
    }

    fn body(
        &self,
        view: &OpView<'_>,
        dims: &[MovedDim],
        mut operands: Vec<Value>,
        result_types: Vec<Type>,
        cloner: &mut Cloner<'_>,
        b: &mut Builder<'_>,
    ) -> Vec<Value> {
        let mut fetched: Vec<Value> = vec![];
        for dim in dims {
            let mut windows = Windows::new(self.mesh, &dim.axes, view.data().reason.clone());
            fetched = match &dim.fetched {
                Fetched::Elements(fetches) => windows.fetch_all(fetches, &operands, b),
                Fetched::Totals { reads, need, folded, total } => {
                    let total = &mut |x: &[Value], b: &mut Builder<'_>| {
                        totals_of(view, dim.rest, *total, x, &operands, cloner, b)
                    };
                    let blocks: Vec<Value> = reads.iter().map(|read| operands[read.operand]).collect();
                    Fold { windows: &mut windows, need, dim: reads[0].dim, inits: &operands[reads.len()..], total }
                        .fetch(folded, &blocks, b)
                }
            };
            for ((read, _), &window) in dim.fetched.needs().iter().zip(&fetched) {
                operands[read.operand] = window;
            }
        }
        let regions = view.regions().iter().map(|&r| cloner.region(r, b)).collect();
        let rests = dims.iter().map(|d| d.rest).collect();
        let cx =
            &mut WindowsCx { op: *view, dims: rests, operands, windows: fetched, regions, result_types, builder: b };
        (dims[0].run)(cx)
    }
}

/// Sets the layouts of the results in the builder's region that have none, as [`lay_out_like`] does.
fn lay_out_rest(like: &Sharding, b: &mut Builder<'_>) {
    for op in b.body[b.region].ops.clone() {
        lay_out_like(like, op, |body, v| body.sharding(v).is_none(), &[], b);
    }
}

/// Sets the layouts of those results of an op that are `wanted`: those of the rank of `like` are split as it is, the
/// others are replicated. Floats, complex numbers and `fills` are unreduced as `like` is, and others only if an operand
/// is unreduced: positions and masks are no sums.
fn lay_out_like(like: &Sharding, op: Op, wanted: impl Fn(&Body, Value) -> bool, fills: &[Value], b: &mut Builder<'_>) {
    let is_sum = |v: &Value| b.body.sharding(*v).is_some_and(|s| !s.unreduced.is_empty());
    let has_sum = b.body[op].operands.iter().any(is_sum);
    let results = b.body[op].results.clone();
    for v in results {
        if !wanted(b.body, v) {
            continue;
        }
        let ty = b.body.ty(v);
        let rank = ty.shape().len();
        let is_sum =
            has_sum || fills.contains(&v) || ty.as_tensor().is_some_and(|t| t.dtype.is_float() || t.dtype.is_complex());
        let own = if rank == like.rank() { like.clone() } else { Sharding::replicated(&like.mesh, rank) };
        b.set_sharding(v, Some(own.with_unreduced(if is_sum { like.unreduced.clone() } else { vec![] })));
    }
}

/// Builds the totals of `inputs` along a dimension. `operands` are the operands of the op, of which those after the
/// inputs are used as they are.
fn totals_of(
    view: &OpView<'_>,
    dim: WindowsDim,
    total: Run,
    inputs: &[Value],
    operands: &[Value],
    cloner: &mut Cloner<'_>,
    b: &mut Builder<'_>,
) -> Vec<Value> {
    let one = |&v: &Value| {
        let mut ty = make::type_of(b, v);
        ty.shape[dim.dim] = 1;
        ty.into()
    };
    let result_types: Vec<Type> = inputs.iter().map(one).collect();
    let operands = [inputs, &operands[inputs.len()..]].concat();
    let regions = view.regions().iter().map(|&r| cloner.region(r, b)).collect();
    let dims = vec![WindowsDim { low: 0, high: 0, folded: None, ..dim }];
    total(&mut WindowsCx { op: *view, dims, operands, windows: vec![], regions, result_types, builder: b })
}

fn layout(body: &Body, v: Value, mesh: &Arc<Mesh>) -> Sharding {
    sharding_or_replicated(body, v, mesh).expect("an op that moves elements has tensors alone")
}

/// Returns the type with the moved dimensions of results enlarged so that the sharding divides them evenly. Panics if
/// the type is no tensor.
fn even_type(ty: &Type, sharding: &Sharding, dims: &[MovedDim]) -> Type {
    let t = ty.as_tensor().expect("a tensor");
    let (mut shape, counts) = (t.shape.clone(), sharding.shard_counts());
    for dim in dims.iter().filter_map(MovedDim::of_results) {
        shape[dim] = shape[dim].next_multiple_of(counts[dim]);
    }
    Type::tensor(t.dtype, shape)
}

/// Returns the type of the part that one device has if only the manual axes of the sharding split the value. Panics if
/// `ty` is no tensor.
fn local_type(ty: &Type, sharding: &Sharding, manual: &[AxisRef]) -> Type {
    let t = ty.as_tensor().expect("a tensor");
    let is_manual = |a: &&AxisRef| manual.iter().any(|m| m.contains(**a));
    let count = |d: &DimSharding| d.axes.iter().filter(is_manual).map(|a| a.size(&sharding.mesh)).product::<usize>();
    Type::tensor(t.dtype, t.shape.iter().zip(&sharding.dims).map(|(n, d)| n / count(d)).collect::<Vec<_>>())
}

/// Returns the value with elements added or removed at the end of a dimension, so that the dimension has `size`
/// elements. The layout of the value must split both sizes into blocks of the same size.
fn with_size(v: Value, dim: usize, size: usize, b: &mut Builder<'_>) -> Value {
    let mut shape = make::type_of(b, v).shape.clone();
    if shape[dim] == size {
        return v;
    }
    shape[dim] = size;
    let resized = make::resize(b, v, &shape);
    let sharding = b.body.sharding(v).cloned();
    b.set_sharding(resized, sharding);
    resized
}
