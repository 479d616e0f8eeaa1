//! Small random programs, meshes and shardings. Values are small integers, so that sums are exact in any order.

use shardwise_base::{AxisRef, DType, Literal, Loc, Mesh, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, Func, Module, TensorType, Type, Value};
use shardwise_ops::collective::{AxisList, Permutation, groups_attr, groups_of_axes};
use shardwise_ops::dot::DotDims;
use shardwise_ops::reducer::reduction_region;
use shardwise_ops::{OPS, Opcode, ReduceKind, make};
use std::sync::Arc;

/// Makes pseudo-random choices, which follow from a seed.
pub struct Chooser(u64);

impl Chooser {
    pub fn new(seed: u64) -> Chooser {
        Chooser(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

pub struct Program {
    pub module: Module,
    pub args: Vec<Literal>,
}

const SIZES: [usize; 8] = [1, 2, 3, 4, 4, 6, 8, 8];

pub fn mesh(c: &mut Chooser) -> Arc<Mesh> {
    let shapes: [&[(&str, usize)]; 5] = [
        &[("x", 2), ("y", 2)],
        &[("x", 4), ("y", 2)],
        &[("x", 2), ("y", 2), ("z", 2)],
        &[("x", 3), ("y", 2)],
        &[("x", 4)],
    ];
    Arc::new(Mesh::new("mesh", c.pick(&shapes).iter().copied()).unwrap())
}

/// Returns a random layout: axes, and halves of axes of size 4, in any order, in any dimension. Some are not used.
pub fn sharding(c: &mut Chooser, mesh: &Arc<Mesh>, rank: usize) -> Sharding {
    sharding_over(c, mesh, &mesh.all_axes().collect::<Vec<_>>(), rank)
}

fn sharding_over(c: &mut Chooser, mesh: &Arc<Mesh>, axes: &[AxisRef], rank: usize) -> Sharding {
    let mut pieces = vec![];
    for &a in axes {
        match a.size(mesh) {
            4 if c.one_in(3) => pieces.extend([1, 2].map(|pre| AxisRef::sub(mesh, a.axis, pre, 2))),
            _ => pieces.push(a),
        }
    }
    let mut dims = vec![vec![]; rank];
    while rank > 0 && !pieces.is_empty() {
        let piece = pieces.remove(c.below(pieces.len()));
        if !c.one_in(3) {
            AxisRef::push_or_merge(&mut dims[c.below(rank)], piece, mesh);
        }
    }
    Sharding::closed(mesh, dims)
}

fn literal(c: &mut Chooser, shape: &[usize]) -> Literal {
    let data: Vec<f32> = (0..shape.iter().product()).map(|_| c.below(5) as f32 - 2.0).collect();
    Literal::new(shape, &data)
}

/// Returns a random program with one to three arguments and `length` steps: random ops, loops, branches and manual
/// computations. Some of its values have random shardings. Equal arguments result in equal programs.
pub fn program(seed: u64, length: usize) -> Program {
    let mut c = Chooser::new(seed);
    let mesh = mesh(&mut c);
    let mut func = Func::new("main", Loc::UNKNOWN);
    let mut args = vec![];
    let mut b = Builder::new(&mut func.body);
    let mut values: Vec<Value> = vec![];
    // Values inside of manual computations, and the axes that are free there.
    let mut bodies: Vec<(std::ops::Range<usize>, Vec<AxisRef>)> = vec![];
    for _ in 0..1 + c.below(3) {
        let rank = c.below(4);
        let shape: Vec<usize> = (0..rank).map(|_| *c.pick(&SIZES)).collect();
        values.push(b.arg(Type::tensor(DType::F32, shape.clone())));
        args.push(literal(&mut c, &shape));
    }
    for i in 0..length {
        b.loc = Loc::file("random.py", i as u32 + 1, 1);
        let first = b.body.value_count();
        let manual = if c.one_in(5) { manual(&mut c, &mut b, *values.last().unwrap(), &mesh) } else { None };
        if let Some((v, free)) = manual {
            bodies.push((first..v.index(), free));
            values.push(v);
            continue;
        }
        let v = op(&mut c, &mut b, &values, 2);
        values.push(v);
    }
    let results: Vec<Value> = values.iter().rev().take(2).copied().collect();
    b.ret(results.iter().copied());
    let ranks: Vec<usize> = results.iter().map(|&v| func.body.ty(v).shape().len()).collect();
    func.result_types = results.iter().map(|&v| func.body.ty(v).clone()).collect();
    func.result_shardings = ranks.iter().map(|&r| (!c.one_in(3)).then(|| sharding(&mut c, &mesh, r))).collect();
    func.result_attrs = vec![Attrs::new(); results.len()];
    func.arg_attrs = vec![Attrs::new(); args.len()];
    for v in (0..func.body.value_count()).map(Value::new) {
        let rank = func.body.ty(v).shape().len();
        if func.body.sharding(v).is_some() || c.one_in(3) {
            continue;
        }
        let own = match bodies.iter().find(|(range, _)| range.contains(&v.index())) {
            Some((_, free)) => sharding_over(&mut c, &mesh, free, rank),
            None => sharding(&mut c, &mesh, rank),
        };
        func.body.value_mut(v).sharding = Some(own);
    }
    let mut module = Module::new("random", &OPS);
    module.meshes.push(mesh);
    module.funcs.push(func);
    Program { module, args }
}

fn ty(b: &Builder<'_>, v: Value) -> TensorType {
    make::type_of(b, v)
}

/// Builds a computation that is manual over some axes. Returns its result and the axes that are free inside, or `None`
/// if no manual axis splits a dimension of `x`.
///
/// Devices are named by number if all axes are manual, as programs from elsewhere do, and by axes otherwise.
fn manual(c: &mut Chooser, b: &mut Builder<'_>, x: Value, mesh: &Arc<Mesh>) -> Option<(Value, Vec<AxisRef>)> {
    let t = ty(b, x);
    let (manual, mut free): (Vec<AxisRef>, Vec<AxisRef>) = mesh.all_axes().partition(|_| !c.one_in(3));
    let mut dims = vec![vec![]; t.rank()];
    let mut local = t.shape.clone();
    let mut used = vec![];
    for &a in &manual {
        let fits: Vec<usize> = (0..t.rank()).filter(|&d| local[d].is_multiple_of(a.size(mesh))).collect();
        if !fits.is_empty() && !c.one_in(4) {
            let d = *c.pick(&fits);
            dims[d].push(a);
            local[d] /= a.size(mesh);
            used.push(a);
        }
    }
    let axis = *used.first()?;
    let is_by_number = free.is_empty();
    let mut lists = dims.clone();
    if !free.is_empty() && c.one_in(2) {
        lists[c.below(t.rank())].push(free[0]);
    }
    let spec = Sharding::closed(mesh, lists);
    let region = b.region(&[Type::tensor(t.dtype, local)], |b, args| {
        let mut v = args[0];
        for _ in 0..1 + c.below(3) {
            v = per_device(c, b, v, mesh, axis, is_by_number);
        }
        b.op(Opcode::SdyReturn, [v], Attrs::new(), []);
    });
    let attrs = Attrs::new()
        .with("in_shardings", Attr::Shardings(vec![spec.clone()]))
        .with("manual_axes", Attr::Axes { mesh: mesh.clone(), axes: manual });
    let op = b.op_with_regions(Opcode::ManualComputation, [x], attrs, [region], [t.into()]);
    let result = b.body[op].results[0];
    b.set_sharding(result, Some(spec));
    free.retain(|a| a.size(mesh) > 1);
    Some((result, free))
}

/// Builds a random computation of per-device code on `v`, and returns its result, which has the type of `v`. Devices
/// are named by their numbers if `by_number` is true, and by axes otherwise.
fn per_device(
    c: &mut Chooser,
    b: &mut Builder<'_>,
    v: Value,
    mesh: &Arc<Mesh>,
    axis: AxisRef,
    by_number: bool,
) -> Value {
    let groups = |attrs: Attrs| match by_number {
        true => {
            attrs.with("replica_groups", groups_attr(&groups_of_axes(mesh, &[axis]))).with("channel_handle", channel())
        }
        false => attrs.with("replica_groups", Attr::Axes { mesh: mesh.clone(), axes: vec![axis] }),
    };
    let t = ty(b, v);
    match c.below(5) {
        0 => make::unary(b, Opcode::Negate, v),
        1 => {
            let region = reduction_region(b, ReduceKind::Max, t.dtype);
            let mut attrs = groups(Attrs::new());
            if by_number {
                attrs.set("use_global_device_ids", Attr::Unit);
            }
            let op = b.op_with_regions(Opcode::AllReduce, [v], attrs, [region], [t.into()]);
            b.body[op].results[0]
        }
        2 => {
            let index = if by_number { index_by_number(b, mesh, axis) } else { make::axis_index(b, mesh, &[axis]) };
            let index = make::convert(b, index, DType::F32);
            let index = make::broadcast_scalar(b, index, &t.shape);
            make::add(b, v, index)
        }
        3 => {
            let ring = Permutation::ring(AxisList::new(mesh, [axis]), 1);
            let mut attrs = Attrs::new();
            if by_number {
                attrs.set("channel_handle", channel());
                Permutation::Processes(ring.to_device_pairs(mesh)).write(&mut attrs);
            } else {
                ring.write(&mut attrs);
            }
            b.value(Opcode::CollectivePermute, [v], attrs, t.into())
        }
        _ => {
            let mut whole = t.shape.clone();
            whole[0] *= axis.size(mesh);
            let mut attrs = groups(Attrs::new().with("all_gather_dim", Attr::int(0)));
            if by_number {
                attrs.set("use_global_device_ids", Attr::Unit);
            }
            let gathered = b.value(Opcode::AllGather, [v], attrs, Type::tensor(t.dtype, whole.clone()));
            make::slice_dim(b, gathered, 0, whole[0] - t.shape[0], whole[0])
        }
    }
}

fn channel() -> Attr {
    let fields = Attrs::new().with("handle", Attr::int(1)).with("type", Attr::int(1));
    Attr::Record { name: "stablehlo.channel_handle".into(), fields }
}

/// Builds `partition_id / stride % size`, the position of a device along `axis`.
fn index_by_number(b: &mut Builder<'_>, mesh: &Mesh, axis: AxisRef) -> Value {
    let minor: usize = mesh.axes[axis.axis.index() + 1..].iter().map(|a| a.size).product();
    let id = b.value(Opcode::PartitionId, [], Attrs::new(), Type::tensor(DType::U32, vec![]));
    let (stride, size) =
        (make::number(b, DType::U32, minor as i64), make::number(b, DType::U32, axis.size(mesh) as i64));
    let quotient = make::binary(b, Opcode::Divide, id, stride);
    let index = make::binary(b, Opcode::Remainder, quotient, size);
    make::convert(b, index, DType::I32)
}

/// Builds a random op on some of the values, and returns its result. Loops and branches nest at most `depth` deep.
fn op(c: &mut Chooser, b: &mut Builder<'_>, values: &[Value], depth: usize) -> Value {
    let x = *c.pick(values);
    let t = ty(b, x);
    let dim = if t.rank() > 0 { c.below(t.rank()) } else { 0 };
    match c.below(if t.rank() > 0 { 16 } else { 4 }) {
        0 => binary(c, b, values, x),
        1 => make::unary(b, *c.pick(&[Opcode::Negate, Opcode::Abs, Opcode::Sign]), x),
        2 => {
            let size = *c.pick(&SIZES);
            let shape = [&t.shape[..], &[size]].concat();
            if shape.len() > 3 {
                make::unary(b, Opcode::Abs, x)
            } else {
                make::broadcast_in_dim(b, x, &shape, &(0..t.rank()).collect::<Vec<_>>())
            }
        }
        3 if depth > 0 => control(c, b, values, x, depth),
        3 | 4 => reduce(c, b, x, dim),
        5 | 6 => dot(c, b, values, x),
        7 => {
            let mut permutation: Vec<usize> = (0..t.rank()).collect();
            permutation.rotate_left(dim);
            make::transpose(b, x, &permutation)
        }
        8 | 9 => reshape(c, b, x),
        10 => {
            let limit = 1 + c.below(t.shape[dim]);
            make::slice_dim(b, x, dim, c.below(limit), limit)
        }
        11 => make::reverse(b, x, &[dim]),
        12 => make::concatenate(b, &[x, x], dim),
        13 => {
            let zero = make::float(b, DType::F32, 1.0);
            let mut low = vec![0; t.rank()];
            low[dim] = c.below(3) as i64;
            make::pad(b, x, zero, &low, &vec![0; t.rank()], &vec![0; t.rank()])
        }
        14 => {
            let iota = make::iota(b, t.clone(), dim);
            let less = make::compare(b, "LT", x, iota);
            make::select(b, less, x, iota)
        }
        _ => dynamic_slice(c, b, x, dim),
    }
}

fn binary(c: &mut Chooser, b: &mut Builder<'_>, values: &[Value], x: Value) -> Value {
    let t = ty(b, x);
    let same: Vec<Value> = values.iter().copied().filter(|&v| ty(b, v) == t).collect();
    let y = if c.one_in(3) { make::constant(b, literal(c, &t.shape)) } else { *c.pick(&same) };
    make::binary(b, *c.pick(&[Opcode::Add, Opcode::Subtract, Opcode::Maximum, Opcode::Minimum]), x, y)
}

fn reduce(c: &mut Chooser, b: &mut Builder<'_>, x: Value, dim: usize) -> Value {
    if ty(b, x).rank() == 0 {
        return make::unary(b, Opcode::Negate, x);
    }
    let kind = *c.pick(&[ReduceKind::Add, ReduceKind::Max, ReduceKind::Min]);
    if c.one_in(3) {
        let init = make::float(b, DType::F32, 3.0);
        return make::reduce_from(b, kind, x, init, &[dim]);
    }
    make::reduce(b, kind, x, &[dim])
}

/// Builds a product of `x` and a value that fits, or of `x` with itself if none fits. The elements of both are clamped
/// to the range from -2 to 2 before.
fn dot(c: &mut Chooser, b: &mut Builder<'_>, values: &[Value], x: Value) -> Value {
    let t = ty(b, x);
    // Products of products grow: keep the numbers small.
    let (low, high) = (make::float(b, DType::F32, -2.0), make::float(b, DType::F32, 2.0));
    let fits: Vec<(Value, usize, usize)> = values
        .iter()
        .flat_map(|&y| (0..t.rank()).flat_map(move |i| (0..3).map(move |j| (y, i, j))))
        .filter(|&(y, i, j)| ty(b, y).shape.get(j) == Some(&t.shape[i]) && t.rank() + ty(b, y).rank() <= 5)
        .collect();
    let x = make::clamp(b, low, x, high);
    let (y, i, j) = if fits.is_empty() { (x, 0, 0) } else { *c.pick(&fits) };
    let y = make::clamp(b, low, y, high);
    let dims = DotDims { lhs_batch: vec![], rhs_batch: vec![], lhs_contract: vec![i], rhs_contract: vec![j] };
    make::dot_general(b, x, y, &dims, DType::F32)
}

fn reshape(c: &mut Chooser, b: &mut Builder<'_>, x: Value) -> Value {
    let t = ty(b, x);
    let n = t.size();
    let divisors: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
    let d = *c.pick(&divisors);
    match c.below(3) {
        0 => make::reshape(b, x, &[n]),
        1 => make::reshape(b, x, &[d, n / d]),
        _ => make::reshape(b, x, &[&t.shape[..], &[1]].concat()),
    }
}

fn dynamic_slice(c: &mut Chooser, b: &mut Builder<'_>, x: Value, dim: usize) -> Value {
    let t = ty(b, x);
    let starts: Vec<Value> =
        (0..t.rank()).map(|d| make::number(b, DType::I32, if d == dim { c.below(3) as i64 } else { 0 })).collect();
    let mut sizes = t.shape.clone();
    sizes[dim] = 1 + c.below(t.shape[dim]);
    make::dynamic_slice(b, x, &starts, &sizes)
}

/// Builds a loop of up to three turns that carries `x`, or a branch, and returns a result of the type of `x`. `depth`,
/// which must not be 0, is the number of loops and branches that may nest, including this one.
fn control(c: &mut Chooser, b: &mut Builder<'_>, values: &[Value], x: Value, depth: usize) -> Value {
    let t = ty(b, x);
    let turn = |c: &mut Chooser, b: &mut Builder<'_>, carried: Value| {
        let inner = [values, &[carried]].concat();
        let y = op(c, b, &inner, depth - 1);
        if ty(b, y) == ty(b, carried) { make::maximum(b, carried, y) } else { make::negate(b, carried) }
    };
    if c.one_in(2) {
        let index = make::number(b, DType::I32, c.below(3) as i64);
        let branches = (0..2)
            .map(|_| {
                b.region(&[], |b, _| {
                    let y = turn(c, b, x);
                    b.op(Opcode::RegionReturn, [y], Attrs::new(), []);
                })
            })
            .collect();
        return shardwise_ops::make_collective::case(b, index, branches)[0];
    }
    let scalar = Type::tensor(DType::I32, vec![]);
    let types = [scalar, t.into()];
    let start = make::number(b, DType::I32, 0);
    let turns = c.below(4) as i64;
    let cond = b.region(&types, |b, args| {
        let limit = make::number(b, DType::I32, turns);
        let more = make::compare(b, "LT", args[0], limit);
        b.op(Opcode::RegionReturn, [more], Attrs::new(), []);
    });
    let body = b.region(&types, |b, args| {
        let one = make::number(b, DType::I32, 1);
        let next = make::add(b, args[0], one);
        let y = turn(c, b, args[1]);
        b.op(Opcode::RegionReturn, [next, y], Attrs::new(), []);
    });
    shardwise_ops::make_collective::while_loop(b, &[start, x], cond, body)[1]
}

/// Returns the values, ops and shardings of the main function as text, for the messages of failures. Panics if there
/// is no main function.
pub fn sketch(module: &Module) -> String {
    let func = module.main().unwrap();
    let show = |v: &Value| {
        let s = func.body.sharding(*v).map(|s| s.to_string()).unwrap_or_default();
        format!("{v:?}: {} {s}", func.body.ty(*v))
    };
    let list = |vs: &[Value]| vs.iter().map(show).collect::<Vec<_>>().join(", ");
    let mut out = format!("args {}\n", list(func.body.args()));
    for op in func.body.walk() {
        let view = module.view(&func.body, op);
        out += &format!("  {} = {} {:?}\n", list(view.results()), view.name(), view.operands());
    }
    out + &format!(
        "results {:?}\n",
        func.result_shardings.iter().map(|s| s.as_ref().map(|s| s.to_string())).collect::<Vec<_>>()
    )
}
