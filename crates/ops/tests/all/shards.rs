//! Each op, sharded along each factor (and each pair) of its rule by its own localisation and assembled by the rule's
//! own claim, equals the unsharded evaluation: partial results are combined only where the rule says reduction, and
//! everywhere else all devices must agree.

use crate::harness::*;
use shardwise_base::{AxisIndex, AxisRef, DType, Literal, Mesh, Sharding};
use shardwise_ir::{Body, Builder, Cloner, Module, OpView, TensorType, Type, Value};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Combine, LocalizeCx, Opcode, ReduceKind, RuleFact, Semantics, make};
use shardwise_sharding::{Factor, FactorKind, Mapping, Rule};
use std::collections::HashMap;
use std::sync::Arc;

/// An assignment of whole mesh axes to factors.
type Split = Vec<(Factor, AxisRef)>;

fn mesh() -> Arc<Mesh> {
    Arc::new(Mesh::new("mesh", [("x", 2), ("y", 3)]).unwrap())
}

/// Returns the sharding of a tensor whose factors are split like this, or `None` if a split factor of the tensor is not
/// divided evenly or is not the major one of its dimension.
fn sharding_of(mesh: &Arc<Mesh>, rule: &Rule, mapping: &Mapping, split: &Split) -> Option<Sharding> {
    let mut dims = vec![];
    for factors in &mapping.dims {
        let mut axes = vec![];
        for (place, factor) in factors.iter().enumerate() {
            for &(_, axis) in split.iter().filter(|(f, _)| f == factor) {
                // Only the major factor of a dimension can be split without touching what lies inside.
                if place > 0 || !rule.size(*factor).is_multiple_of(axis.size(mesh)) {
                    return None;
                }
                axes.push(axis);
            }
        }
        dims.push(axes);
    }
    Some(Sharding::closed(mesh, dims))
}

fn block(x: &Literal, sharding: &Sharding, coordinates: &[usize]) -> Literal {
    let local = sharding.local_shape(x.shape());
    let start: Vec<usize> = sharding.shard_index(coordinates).iter().zip(&local).map(|(i, n)| i * n).collect();
    let limit: Vec<usize> = start.iter().zip(&local).map(|(s, n)| s + n).collect();
    let t = TensorType::new(x.dtype(), x.shape());
    let m = module(&[t], |b, args| vec![make::slice(b, args[0], &start, &limit, &vec![1; limit.len()])]);
    run(&m, std::slice::from_ref(x)).remove(0)
}

fn local_type(ty: &Type, sharding: &Sharding) -> Type {
    let t = ty.as_tensor().expect("a tensor");
    Type::tensor(t.dtype, sharding.local_shape(&t.shape))
}

fn localized(op: OpView<'_>, operands: &[Sharding], results: &[Sharding]) -> (Body, Vec<Value>) {
    let mut body = Body::new();
    let mut builder = Builder::new(&mut body);
    let args: Vec<Value> =
        op.operands().iter().zip(operands).map(|(&v, s)| builder.arg(local_type(op.body.ty(v), s))).collect();
    let mut cloner = Cloner::new(op.body);
    let regions = op.regions().iter().map(|&r| cloner.region(r, &mut builder)).collect();
    let mut cx = LocalizeCx {
        op,
        operands: &args,
        regions,
        operand_shardings: operands.iter().cloned().map(Some).collect(),
        result_shardings: results.iter().cloned().map(Some).collect(),
        result_types: op.results().iter().zip(results).map(|(&v, s)| local_type(op.body.ty(v), s)).collect(),
        builder: &mut builder,
    };
    let values = Opcode::of_view(&op).facts().localize(&mut cx).expect("localizes");
    builder.ret(values.iter().copied());
    (body, values)
}

fn check_split(op: OpView<'_>, rule: &Rule, split: &Split, values: &HashMap<Value, Literal>) -> bool {
    let mesh = mesh();
    let lay = |mappings: &[Mapping]| -> Option<Vec<Sharding>> {
        mappings.iter().map(|m| sharding_of(&mesh, rule, m, split)).collect()
    };
    let (Some(operands), Some(results)) = (lay(&rule.operands), lay(&rule.results)) else { return false };
    let (body, _) = localized(op, &operands, &results);
    let per_device: Vec<(Vec<usize>, Vec<Literal>)> = (0..mesh.size())
        .map(|p| {
            let coordinates = mesh.coordinates(p);
            let blocks: Vec<Literal> =
                op.operands().iter().zip(&operands).map(|(v, s)| block(&values[v], s, &coordinates)).collect();
            let (values, coords) = (HashMap::new(), coordinates.clone());
            let mut device = Device { module: op.module, body: &body, mesh: Some(&mesh), coordinates: coords, values };
            (coordinates, device.run(body.entry(), &blocks).expect("no error"))
        })
        .collect();
    for (i, v) in op.results().iter().enumerate() {
        check_result(op, rule, split, &results[i], i, &values[v], &per_device);
    }
    true
}

fn check_result(
    op: OpView<'_>,
    rule: &Rule,
    split: &Split,
    sharding: &Sharding,
    index: usize,
    expected: &Literal,
    per_device: &[(Vec<usize>, Vec<Literal>)],
) {
    let reduced: Vec<AxisRef> =
        split.iter().filter(|(f, _)| rule.kind(*f) == FactorKind::Reduction).map(|&(_, axis)| axis).collect();
    let mesh = mesh();
    for (coordinates, _) in per_device {
        let same_block = |other: &[usize]| {
            mesh.all_axes().all(|a| reduced.contains(&a) || other[a.axis.index()] == coordinates[a.axis.index()])
        };
        let mut parts = per_device.iter().filter(|(c, _)| same_block(c)).map(|(_, r)| r[index].clone());
        let first = parts.next().expect("the device itself");
        let got = parts.fold(first, |sum, part| combine_kind(op).apply(&sum, &part).expect("a reducer of this type"));
        assert_eq!(
            got,
            block(expected, sharding, coordinates),
            "{} {rule} split {split:?} on {coordinates:?}",
            op.name()
        );
    }
}

fn combine_kind(op: OpView<'_>) -> ReduceKind {
    match Opcode::of_view(&op).facts().combine(&op) {
        Combine::With(kind) => kind,
        Combine::Gather => panic!("`{}` combines its partial results itself", op.name()),
        Combine::No(why) => panic!("`{}`: {why}", op.name()),
    }
}

/// Returns true if a module is one function of tensors, of types that are [`DType::is_computed`], with pure ops only.
pub fn is_pure(module: &Module) -> bool {
    let [func] = &*module.funcs else { return false };
    let tensors = func.body.args().iter().all(|&v| func.body.ty(v).as_tensor().is_some_and(|t| t.dtype.is_computed()));
    tensors && ops(module).into_iter().all(|op| is_pure_op(OpView::new(module, &func.body, op)))
}

fn is_pure_op(op: OpView<'_>) -> bool {
    Opcode::of_view(&op).facts().semantics(&op) == Semantics::Pure
}

/// Checks every pure op of the first function that has a rule along all factors that can be split, for four sets of
/// arguments. Returns the number of splits that were checked.
pub fn check(module: &Module) -> usize {
    let body = &module.funcs[0].body;
    let mut tried = 0;
    for seed in 0..4 {
        let args: Vec<Literal> =
            body.args().iter().map(|&v| sample(body.ty(v).as_tensor().expect("a tensor"), seed)).collect();
        let mut device = Device { module, body, mesh: None, coordinates: vec![], values: HashMap::new() };
        device.run(body.entry(), &args).expect("no error");
        for op in ops(module) {
            tried += check_op(OpView::new(module, body, op), &device.values);
        }
    }
    tried
}

fn check_op(op: OpView<'_>, values: &HashMap<Value, Literal>) -> usize {
    let facts = Opcode::of_view(&op).facts();
    if !is_pure_op(op) {
        return 0;
    }
    let rule = match facts.rule(&op) {
        RuleFact::Rule(rule) => rule,
        RuleFact::None(_) => return 0,
    };
    let runs_split = |f: &Factor| match rule.kind(*f) {
        FactorKind::PassThrough => true,
        FactorKind::Reduction => matches!(facts.combine(&op), Combine::With(_)),
        FactorKind::NeedReplication | FactorKind::Permutation => false,
    };
    let factors: Vec<Factor> = rule.all_factors().filter(runs_split).collect();
    let axis = |i| AxisRef::full(AxisIndex::new(i));
    let singles = factors.iter().flat_map(|&f| [vec![(f, axis(0))], vec![(f, axis(1))]]);
    let pairs = factors.iter().flat_map(|&f| factors.iter().map(move |&g| vec![(f, axis(0)), (g, axis(1))]));
    singles.chain(pairs).filter(|split| check_split(op, &rule, split, values)).count()
}

fn check_at_least(least: usize, args: &[TensorType], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value) {
    let m = module(args, |b, args| vec![build(b, args)]);
    let tried = check(&m);
    assert!(
        tried >= least * 4,
        "only {tried} splits of {} tried",
        OpView::new(&m, &m.funcs[0].body, ops(&m)[0]).name()
    );
}

#[test]
fn elementwise() {
    let shape = [6, 12];
    check_at_least(8, &[f32s(&shape), f32s(&shape)], |b, x| make::add(b, x[0], x[1]));
    check_at_least(8, &[f32s(&shape)], |b, x| make::tanh(b, x[0]));
    check_at_least(8, &[f32s(&shape)], |b, x| make::convert(b, x[0], DType::BF16));
    check_at_least(8, &[f32s(&shape), f32s(&shape)], |b, x| make::compare(b, "LE", x[0], x[1]));
    let scalar_pred = [TensorType::scalar(DType::I1), f32s(&shape), f32s(&shape)];
    check_at_least(8, &scalar_pred, |b, x| make::select(b, x[0], x[1], x[2]));
    check_at_least(8, &[f32s(&[]), f32s(&shape), f32s(&shape)], |b, x| make::clamp(b, x[0], x[1], x[2]));
}

#[test]
fn movement() {
    check_at_least(5, &[f32s(&[6, 1])], |b, x| make::broadcast_in_dim(b, x[0], &[12, 6, 5], &[1, 2]));
    check_at_least(3, &[f32s(&[6, 4])], |b, x| make::reshape(b, x[0], &[24]));
    check_at_least(3, &[f32s(&[36])], |b, x| make::reshape(b, x[0], &[6, 6]));
    check_at_least(8, &[f32s(&[6, 12, 5])], |b, x| make::transpose(b, x[0], &[2, 0, 1]));
    check_at_least(2, &[f32s(&[6, 7])], |b, x| make::slice(b, x[0], &[0, 1], &[6, 7], &[1, 2]));
    check_at_least(2, &[f32s(&[6, 7])], |b, x| make::reverse(b, x[0], &[1]));
    check_at_least(2, &[f32s(&[6, 7]), f32s(&[6, 2])], |b, x| make::concatenate(b, x, 1));
    check_at_least(2, &[f32s(&[6, 7]), f32s(&[])], |b, x| make::pad(b, x[0], x[1], &[0, 2], &[0, -1], &[0, 1]));
}

#[test]
fn blocks_at_computed_places() {
    let starts = [i32s(&[]), i32s(&[])];
    let of = |first: &[TensorType]| [first, &starts].concat();
    check_at_least(2, &of(&[f32s(&[6, 7])]), |b, x| make::dynamic_slice(b, x[0], &x[1..], &[6, 3]));
    // Slices that one device has, that two devices have parts of, and that cross edges in two dimensions.
    check_at_least(4, &of(&[f32s(&[6, 12])]), |b, x| make::dynamic_slice(b, x[0], &x[1..], &[6, 1]));
    check_at_least(4, &of(&[f32s(&[12, 12])]), |b, x| make::dynamic_slice(b, x[0], &x[1..], &[1, 1]));
    check_at_least(2, &of(&[f32s(&[12, 7])]), |b, x| make::dynamic_slice(b, x[0], &x[1..], &[5, 7]));
    check_at_least(4, &of(&[f32s(&[6, 6])]), |b, x| make::dynamic_slice(b, x[0], &x[1..], &[4, 5]));
    for dtype in [DType::BF16, DType::I8, DType::I1, DType::C64] {
        let types =
            vec![TensorType::new(dtype, [12, 4]), TensorType::scalar(DType::U64), TensorType::scalar(DType::U64)];
        check_at_least(2, &types, |b, x| make::dynamic_slice(b, x[0], &x[1..], &[3, 4]));
    }
    check_at_least(2, &of(&[f32s(&[6, 7]), f32s(&[6, 3])]), |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]));
    // An update that lies across the edges of blocks, in one and in two dimensions.
    check_at_least(2, &of(&[f32s(&[12, 7]), f32s(&[5, 7])]), |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]));
    check_at_least(8, &of(&[f32s(&[6, 6]), f32s(&[4, 5])]), |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]));
    let unsigned = vec![TensorType::scalar(DType::U64); 2];
    let types = [vec![f32s(&[12, 6]), f32s(&[5, 6])], unsigned].concat();
    check_at_least(2, &types, |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]));
}

#[test]
fn contractions() {
    let dims = DotDims { lhs_batch: vec![0], rhs_batch: vec![1], lhs_contract: vec![2], rhs_contract: vec![0] };
    for dtype in [DType::F32, DType::BF16, DType::I32] {
        let types = [TensorType::new(dtype, [6, 4, 12]), TensorType::new(dtype, [12, 6, 2])];
        check_at_least(10, &types, |b, x| make::dot_general(b, x[0], x[1], &dims, dtype));
    }
}

#[test]
fn reductions() {
    for kind in ReduceKind::ALL {
        let dtype = if matches!(kind, ReduceKind::And | ReduceKind::Or) { DType::I32 } else { DType::F32 };
        let types = [TensorType::new(dtype, [6, 12, 2]), TensorType::scalar(dtype)];
        // An initial value that is not the identity counts once.
        check_at_least(8, &types, |b, x| make::reduce_from(b, kind, x[0], x[1], &[0, 2]));
        check_at_least(8, &types[..1], |b, x| make::reduce(b, kind, x[0], &[1]));
    }
}

#[test]
fn constants_and_iota() {
    let mesh = mesh();
    let axis = |i| AxisRef::full(AxisIndex::new(i));
    for dtype in [DType::F32, DType::BF16, DType::I8, DType::U64] {
        let t = TensorType::new(dtype, [6, 12]);
        let value = sample(&t, 1);
        let m = module(&[], |b, _| {
            let splat = make::full(b, &[6, 12], &sample(&TensorType::scalar(dtype), 2));
            vec![splat, make::constant(b, value.clone()), make::iota(b, t.clone(), 0), make::iota(b, t.clone(), 1)]
        });
        let expected = run(&m, &[]);
        for dims in
            [vec![vec![], vec![axis(1)]], vec![vec![axis(1)], vec![axis(0)]], vec![vec![axis(1), axis(0)], vec![]]]
        {
            let sharding = Sharding::closed(&mesh, dims);
            for (op, whole) in ops(&m).into_iter().zip(&expected) {
                let op = OpView::new(&m, &m.funcs[0].body, op);
                let (body, _) = localized(op, &[], std::slice::from_ref(&sharding));
                for p in 0..mesh.size() {
                    let coordinates = mesh.coordinates(p);
                    let part = block(whole, &sharding, &coordinates);
                    let mut device =
                        Device { module: &m, body: &body, mesh: Some(&mesh), coordinates, values: HashMap::new() };
                    assert_eq!(device.run(body.entry(), &[]).unwrap(), [part], "{} on device {p}", op.name());
                }
            }
        }
    }
}
