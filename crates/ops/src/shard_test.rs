//! Runs an op whole and split along each factor of its rule by its own `localize`, and compares the results.
//!
//! Shards are joined as the rule says: along the dimensions that have the factor. Otherwise they are combined if the
//! factor is a reduction, and must all be equal if it is not.

use crate::collective::with_index_in;
use crate::eval::{self, Layout};
use crate::facts::*;
use crate::{OPS, Opcode};
use shardwise_base::{AxisIndex, AxisRef, Literal, Mesh, Sharding};
use shardwise_ir::{Attr, Body, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_sharding::{Factor, FactorKind, Mapping, Rule};
use std::sync::Arc;

/// Builds a module whose `@main` takes arguments of the types of `inputs` and returns the results of the op that `make`
/// builds on them. The module is not verified.
pub(crate) fn module_of(inputs: &[Literal], make: impl FnOnce(&Module, &mut Builder<'_>, &[Value]) -> Op) -> Module {
    let mut module = Module::new("test", &OPS);
    let mut func = Func::new("main", shardwise_base::Loc::UNKNOWN);
    let mut b = Builder::new(&mut func.body);
    let args: Vec<Value> = inputs.iter().map(|x| b.arg(type_of(x))).collect();
    let op = make(&module, &mut b, &args);
    let results = b.body[op].results.to_vec();
    func.result_types = results.iter().map(|&v| b.body.ty(v).clone()).collect();
    b.ret(results);
    module.funcs.push(func);
    module
}

fn type_of(x: &Literal) -> Type {
    Type::tensor(x.dtype(), x.shape().to_vec())
}

/// An interpreter of code without control flow, on one device.
struct Machine<'a> {
    module: &'a Module,
    body: &'a Body,
    values: Vec<Option<Literal>>,
    coordinates: Vec<usize>,
}

impl Machine<'_> {
    fn op(&mut self, op: Op) {
        let view = self.module.view(self.body, op);
        let opcode = Opcode::of_view(&view);
        let x: Vec<Literal> = view.operands().iter().map(|v| self.values[v.index()].clone().unwrap()).collect();
        let results = if opcode == Opcode::AxisIndex {
            let (mesh, axes) = view.attr("axes").and_then(Attr::as_axes).unwrap();
            vec![Literal::scalar(AxisRef::index_in(mesh, axes, &self.coordinates) as i32)]
        } else {
            crate::evaluate(&view, &x, self).unwrap_or_else(|e| panic!("{e}"))
        };
        for (v, x) in view.results().iter().zip(results) {
            assert_eq!(*view.body.ty(*v), type_of(&x), "{}", view.name());
            self.values[v.index()] = Some(x);
        }
    }
}

impl RegionEval for Machine<'_> {
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        for (v, x) in self.body[region].args.iter().zip(args) {
            self.values[v.index()] = Some(x);
        }
        let (&last, ops) = self.body[region].ops.split_last().unwrap();
        ops.iter().for_each(|&op| self.op(op));
        Ok(self.body[last].operands.iter().map(|v| self.values[v.index()].clone().unwrap()).collect())
    }
}

fn run_body(module: &Module, body: &Body, inputs: &[Literal], coordinates: Vec<usize>) -> Vec<Literal> {
    let mut machine = Machine { module, body, values: vec![None; body.value_count()], coordinates };
    machine.region(body.entry(), inputs.to_vec()).unwrap()
}

pub(crate) fn run(module: &Module, inputs: &[Literal]) -> Vec<Literal> {
    run_body(module, &module.funcs[0].body, inputs, vec![])
}

/// Verifies a module whose `@main` consists of one op and the return, such as one that [`module_of`] builds. Runs the
/// op whole and split along each factor that can be split, checks that the results are equal, and returns them.
pub(crate) fn run_split(module: &Module, inputs: &[Literal]) -> Vec<Literal> {
    let found = shardwise_ir::verify(module);
    assert!(found.is_empty(), "{found}");
    let whole = run(module, inputs);
    let body = &module.funcs[0].body;
    let view = module.view(body, body[body.entry()].ops[0]);
    if let RuleFact::Rule(rule) = Opcode::of_view(&view).facts().rule(&view) {
        for factor in rule.all_factors().filter(|&f| can_split(&view, &rule, f)) {
            let joined = run_along(module, &view, &rule, factor, inputs);
            assert_eq!(joined, whole, "split along {factor} of {rule}");
        }
    }
    whole
}

fn can_split(view: &OpView<'_>, rule: &Rule, factor: Factor) -> bool {
    let facts = Opcode::of_view(view).facts();
    let kind = match rule.kind(factor) {
        FactorKind::PassThrough => true,
        FactorKind::Reduction => matches!(facts.combine(view), Combine::With(_)),
        _ => false,
    };
    let leads = |m: &Mapping| m.dims.iter().all(|d| !d.contains(&factor) || d[0] == factor);
    kind && rule.size(factor).is_multiple_of(2) && rule.size(factor) > 0 && rule.mappings().all(leads)
}

fn sharding(mesh: &Arc<Mesh>, mapping: &Mapping, factor: Factor) -> Sharding {
    let x = AxisRef::full(AxisIndex::new(0));
    let dims = mapping.dims.iter().map(|d| if d.contains(&factor) { vec![x] } else { vec![] });
    Sharding::closed(mesh, dims.collect())
}

fn shard(x: &Literal, sharding: &Sharding, coordinates: &[usize]) -> Literal {
    let local = sharding.local_shape(x.shape());
    let start: Vec<usize> = sharding.shard_index(coordinates).iter().zip(&local).map(|(i, n)| i * n).collect();
    eval::gather(&x.to_dense(), &Layout::block(x.shape(), &start, &vec![1; local.len()]), &local)
}

fn run_along(module: &Module, view: &OpView<'_>, rule: &Rule, factor: Factor, inputs: &[Literal]) -> Vec<Literal> {
    let mesh = Arc::new(Mesh::new("mesh", [("x", 2)]).unwrap());
    let operands: Vec<Sharding> = rule.operands.iter().map(|m| sharding(&mesh, m, factor)).collect();
    let results: Vec<Sharding> = rule.results.iter().map(|m| sharding(&mesh, m, factor)).collect();
    let body = localized(view, &operands, &results);
    let per_device: Vec<Vec<Literal>> = (0..2)
        .map(|device| {
            let coordinates = with_index_in(&mesh, &[AxisRef::full(AxisIndex::new(0))], &[0], device);
            let args = inputs.iter().zip(&operands).map(|(x, s)| shard(x, s, &coordinates));
            run_body(module, &body, &args.collect::<Vec<_>>(), coordinates.clone())
        })
        .collect();
    let kind = (rule.kind(factor) == FactorKind::Reduction).then(|| Opcode::of_view(view).facts().combine(view));
    (0..results.len())
        .map(|i| {
            let parts = [&per_device[0][i], &per_device[1][i]];
            match rule.results[i].dims.iter().position(|d| d.contains(&factor)) {
                Some(dim) => join(parts, dim),
                None => match kind {
                    Some(Combine::With(kind)) => combined(kind, parts),
                    _ => {
                        assert_eq!(parts[0], parts[1], "result {i} must be the same on both devices");
                        parts[0].clone()
                    }
                },
            }
        })
        .collect()
}

fn localized(view: &OpView<'_>, operands: &[Sharding], results: &[Sharding]) -> Body {
    let local = |v: Value, s: &Sharding| {
        let t = view.body.ty(v).as_tensor().unwrap();
        Type::tensor(t.dtype, s.local_shape(&t.shape))
    };
    let mut body = Body::new();
    let mut b = Builder::new(&mut body);
    let args: Vec<Value> = view.operands().iter().zip(operands).map(|(&v, s)| b.arg(local(v, s))).collect();
    let mut cloner = Cloner::new(view.body);
    let regions = view.regions().iter().map(|&r| cloner.region(r, &mut b)).collect();
    let wrap = |list: &[Sharding]| list.iter().cloned().map(Some).collect();
    let mut cx = LocalizeCx {
        op: *view,
        operands: &args,
        regions,
        operand_shardings: wrap(operands),
        result_shardings: wrap(results),
        result_types: view.results().iter().zip(results).map(|(&v, s)| local(v, s)).collect(),
        builder: &mut b,
    };
    let out = Opcode::of_view(view).facts().localize(&mut cx).unwrap_or_else(|e| panic!("{e}"));
    b.ret(out);
    body
}

fn join([a, b]: [&Literal; 2], dim: usize) -> Literal {
    let mut shape = a.shape().to_vec();
    shape[dim] += b.shape()[dim];
    let mut out = Literal::zeros(a.dtype(), shape.clone());
    let ones = vec![1; shape.len()];
    let mut start = vec![0; shape.len()];
    for part in [a, b] {
        let part = part.to_dense();
        eval::copy(&part, &Layout::whole(part.shape()), &mut out, &Layout::block(&shape, &start, &ones), part.shape());
        start[dim] += part.shape()[dim];
    }
    out
}

fn combined(kind: ReduceKind, [a, b]: [&Literal; 2]) -> Literal {
    let (a, b) = (a.to_dense(), b.to_dense());
    let (x, y) = (eval::read_numbers(&a), eval::read_numbers(&b));
    eval::fill(a.dtype(), a.shape(), |i| eval::combine(kind, x(i), y(i)))
}
