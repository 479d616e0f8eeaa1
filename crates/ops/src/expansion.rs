//! Ops in terms of others: an op whose derivative or batch is that of ops that compute the same.
//!
//! The transform differentiates or batches the expansion in place of the op, so the ops of the expansion must have a
//! derivative or a batch. Ops with a region, such as a reduction by any associative function, then need none of their
//! own.

use crate::batch::{BatchCx, Batched};
use crate::facts::Effects;
use crate::{Opcode, calls, make};
use shardwise_base::DType;
use shardwise_ir::{Body, Builder, Cloner, Func, Module, OpView, Region, Type, Value};
use std::collections::HashMap;

/// A function that builds the results of an op from other ops. Fails with the reason why they cannot be built.
pub type Expansion<'f> = Box<dyn Fn(&mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> + 'f>;

/// The inputs of an expansion: an op, and its operands in the body that is being built.
pub struct ExpandCx<'a, 's, 'b> {
    /// The op in the source.
    pub op: OpView<'s>,
    pub operands: &'a [Value],
    pub cloner: &'a mut Cloner<'s>,
    pub b: &'a mut Builder<'b>,
}

/// Returns a function that takes the operands of an op and returns its results, which `expansion` builds.
///
/// # Errors
/// Fails with the reason why the op cannot be built from others, such as a region that uses values from outside.
pub fn expand(op: &OpView<'_>, expansion: &Expansion<'_>) -> Result<Func, &'static str> {
    if !op.regions().is_empty() && !op.captured().is_empty() {
        return Err("its region uses values from outside");
    }
    let mut func = Func::new("expansion", op.loc().clone());
    let mut b = Builder::new(&mut func.body);
    b.loc = op.loc().clone();
    let mut cloner = Cloner::new(op.body);
    let operands: Vec<Value> = op.operands().iter().map(|&v| b.arg(op.body.ty(v).clone())).collect();
    let results = expansion(&mut ExpandCx { op: *op, operands: &operands, cloner: &mut cloner, b: &mut b })?;
    func.result_types = results.iter().map(|&v| b.body.ty(v).clone()).collect();
    b.ret(results);
    Ok(func)
}

impl ExpandCx<'_, '_, '_> {
    /// Builds the results of one of the op's regions, which computes with scalars, for each element of these arrays,
    /// which have one shape. Fails if an op of the region cannot be computed for many elements at once, has a region of
    /// its own or effects, if the region uses values from outside, or if it is empty. Panics if there are no arrays.
    pub fn each(&mut self, region: Region, args: &[Value]) -> Result<Vec<Value>, &'static str> {
        let shape = make::type_of(self.b, args[0]).shape.clone();
        each(self.b, self.op.module, self.op.body, region, args, &shape)
    }

    /// Combines the rows of `n` arrays with a region that combines two elements of each, and returns the one row that
    /// is left of each. The rows, along the leading dimension, are combined pair by pair and keep their order. There
    /// must be at least one array and one row. Fails if [`ExpandCx::each`] does.
    pub fn fold(&mut self, region: Region, mut x: Vec<Value>) -> Result<Vec<Value>, &'static str> {
        loop {
            let shape = make::type_of(self.b, x[0]).shape.clone();
            let (count, pairs) = (shape[0], shape[0] / 2);
            if count == 1 {
                return Ok(x.into_iter().map(|v| make::reshape(self.b, v, &shape[1..])).collect());
            }
            let strides: Vec<usize> = (0..shape.len()).map(|d| if d == 0 { 2 } else { 1 }).collect();
            let mut limit = shape.clone();
            limit[0] = 2 * pairs;
            let mut parts = vec![];
            for first in [0, 1] {
                let mut start = vec![0; shape.len()];
                start[0] = first;
                parts.extend(x.iter().map(|&v| make::slice(self.b, v, &start, &limit, &strides)).collect::<Vec<_>>());
            }
            let combined = self.each(region, &parts)?;
            x = match count % 2 {
                0 => combined,
                _ => {
                    let last: Vec<Value> = x.iter().map(|&v| make::slice_dim(self.b, v, 0, count - 1, count)).collect();
                    combined.into_iter().zip(last).map(|(v, last)| make::concatenate(self.b, &[v, last], 0)).collect()
                }
            };
        }
    }

    /// Builds the reduction of `n` arrays over `dims` with a region and `n` initial values. Elements are converted to
    /// the types of the region first. Fails if [`ExpandCx::each`] does, unless a dimension in `dims` has size 0: then
    /// the results are the initial values. Panics if there are no arrays.
    pub fn reduced(
        &mut self,
        region: Region,
        inputs: &[Value],
        inits: &[Value],
        dims: &[usize],
    ) -> Result<Vec<Value>, &'static str> {
        let types: Vec<_> = self
            .op
            .body
            .region_results(region)
            .iter()
            .map(|&v| self.op.body.ty(v).as_tensor().map(|t| t.dtype))
            .collect();
        let wide = |b: &mut Builder<'_>, (&v, dtype): (&Value, &Option<_>)| match dtype {
            Some(dtype) => make::convert(b, v, *dtype),
            None => v,
        };
        let inputs: Vec<Value> = inputs.iter().zip(&types).map(|pair| wide(self.b, pair)).collect();
        let inits: Vec<Value> = inits.iter().zip(&types).map(|pair| wide(self.b, pair)).collect();
        let shape = make::type_of(self.b, inputs[0]).shape.clone();
        let mut reduced = dims.to_vec();
        reduced.sort_unstable();
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !reduced.contains(d)).collect();
        let sizes: Vec<usize> = kept.iter().map(|&d| shape[d]).collect();
        let count: usize = reduced.iter().map(|&d| shape[d]).product();
        let first: Vec<Value> = inits.iter().map(|&v| make::broadcast_scalar(self.b, v, &sizes)).collect();
        if count == 0 {
            return Ok(first);
        }
        let order = [&reduced[..], &kept].concat();
        let rows = |b: &mut Builder<'_>, v: Value| {
            let moved = make::transpose(b, v, &order);
            make::reshape(b, moved, &[&[count], &sizes[..]].concat())
        };
        let rows: Vec<Value> = inputs.iter().map(|&v| rows(self.b, v)).collect();
        let total = self.fold(region, rows)?;
        self.each(region, &[first, total].concat())
    }
}

/// Builds the results of a region that computes with scalars, for each element of arrays of this shape. Fails if the
/// region has an op that cannot be computed so, if it uses values from outside, or if it is empty.
fn each(
    b: &mut Builder<'_>,
    module: &Module,
    body: &Body,
    region: Region,
    args: &[Value],
    shape: &[usize],
) -> Result<Vec<Value>, &'static str> {
    let mut map: HashMap<Value, Value> = body[region].args.iter().copied().zip(args.iter().copied()).collect();
    let (_, ops) = body[region].ops.split_last().ok_or("its region is empty")?;
    for &op in ops {
        let view = module.view(body, op);
        let operands: Option<Vec<Value>> = view.operands().iter().map(|v| map.get(v).copied()).collect();
        let operands = operands.ok_or("its region uses values from outside")?;
        let made = match calls::called(&view) {
            Some(id) => {
                let called = &module[id].body;
                each(b, module, called, called.entry(), &operands, shape)?
            }
            None => each_of_op(b, &view, &operands, shape)?,
        };
        map.extend(view.results().iter().copied().zip(made));
    }
    let results = body.region_results(region).iter().map(|v| map.get(v).copied());
    results.collect::<Option<_>>().ok_or("its region returns values from outside")
}

/// Builds an op on scalars for each element of arrays of this shape. Fails if the op does more than arithmetic with
/// scalars, or if it cannot be computed for many elements at once.
fn each_of_op(
    b: &mut Builder<'_>,
    op: &OpView<'_>,
    operands: &[Value],
    shape: &[usize],
) -> Result<Vec<Value>, &'static str> {
    let facts = Opcode::of_view(op).facts();
    let is_scalar = |v: &Value| op.body.ty(*v).as_tensor().is_some_and(|t| t.rank() == 0);
    let is_plain = op.regions().is_empty() && facts.effects(op) == Effects::Pure;
    if !is_plain || !op.results().iter().chain(op.operands()).all(is_scalar) {
        return Err("its region does more than arithmetic with scalars");
    }
    let build = |b: &mut Builder<'_>, shape: &[usize]| {
        let types: Vec<Type> =
            (0..op.results().len()).map(|i| Type::tensor(op.result_tensor(i).dtype, shape)).collect();
        let made = b.op_with_regions(op.data().code, operands.iter().copied(), op.attrs().clone(), [], types);
        b.body[made].results.to_vec()
    };
    if operands.is_empty() {
        let scalars = build(b, &[]);
        return Ok(scalars.into_iter().map(|v| make::broadcast_scalar(b, v, shape)).collect());
    }
    match facts.batch(op, &vec![true; operands.len()]) {
        Batched::Leading(attrs) if attrs == *op.attrs() => Ok(build(b, shape)),
        Batched::LeadingOf(leading, attrs) if attrs == *op.attrs() && !leading.contains(&false) => Ok(build(b, shape)),
        Batched::By(_, batch) => {
            let size = shape.iter().product();
            let lines: Vec<Value> = operands.iter().map(|&v| make::reshape(b, v, &[size])).collect();
            let (mapped, mut cloner) = (vec![true; lines.len()], Cloner::new(op.body));
            let mut cx = BatchCx { op: *op, operands: &lines, mapped: &mapped, size, cloner: &mut cloner, b };
            let made = batch(&mut cx).map_err(|_| "its region has an op without a batch")?;
            Ok(made.into_iter().map(|v| make::reshape(b, v, shape)).collect())
        }
        _ => Err("its region has an op that does not work element by element"),
    }
}

/// Builds a loop that runs `count` times over carried values, and returns their last values. `turn` builds the body
/// once: it takes the number of the turn, an `i64` from 0 on, and the carried values, and returns their next values.
pub(crate) fn repeat(
    b: &mut Builder<'_>,
    count: usize,
    carried: Vec<Value>,
    turn: impl FnOnce(&mut Builder<'_>, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let dtype = DType::I64;
    let operands = [vec![make::number(b, dtype, 0)], carried].concat();
    let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
    let cond = b.region(&types, |b, args| {
        let limit = make::number(b, dtype, count as i64);
        let more = make::compare(b, "LT", args[0], limit);
        b.op(Opcode::RegionReturn, [more], Default::default(), []);
    });
    let body = b.region(&types, |b, args| {
        let one = make::number(b, dtype, 1);
        let next = make::add(b, args[0], one);
        let results = turn(b, args[0], &args[1..]);
        b.op(Opcode::RegionReturn, [vec![next], results].concat(), Default::default(), []);
    });
    let new = b.op_with_regions(Opcode::While, operands, Default::default(), [cond, body], types);
    b.body[new].results[1..].to_vec()
}
