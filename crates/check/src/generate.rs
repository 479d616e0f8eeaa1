//! Generates programs, meshes and shardings from a seed.
//!
//! Floats are small integers, and the magnitude of every value is bounded, so that all sums are exact in any order.
//! Whatever the partitioner does, the results must be equal bit for bit. Size 1, primes and uneven sizes are as likely
//! as others, and some sizes are 0.

use crate::choose::Chooser;
use shardwise_base::{AxisIndex, AxisRef, DType, DimSharding, Literal, Mesh, Rates, Sharding};
use shardwise_ir::{Attrs, Builder, Func, Module, TensorType, Type, Value};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{OPS, Opcode, ReduceKind, make};
use std::sync::Arc;

/// A program and inputs for it.
pub struct Case {
    pub seed: u64,
    pub module: Module,
    pub inputs: Vec<Literal>,
}

/// The largest bound on the magnitudes of a value's elements. Up to it, f32 holds every sum exactly.
const MAX_BOUND: u64 = 1 << 20;
const SIZES: [usize; 10] = [1, 2, 3, 4, 4, 5, 6, 7, 8, 8];

/// Returns the program of a seed, with inputs.
pub fn case(seed: u64) -> Case {
    let mut choose = Chooser::new(seed);
    let mesh = with_rates(mesh(&mut choose), seed);
    let mut func = Func::new("main", shardwise_base::Loc::UNKNOWN);
    let mut generator = Generator::new(choose, mesh.clone());
    let mut builder = Builder::new(&mut func.body);
    let inputs = generator.args(&mut builder);
    let op_count = 3 + generator.choose.below(10);
    for _ in 0..op_count {
        generator.op(&mut builder);
    }
    let results = generator.results();
    builder.ret(results.iter().copied());
    func.arg_attrs = vec![Attrs::new(); inputs.len()];
    func.result_attrs = vec![Attrs::new(); results.len()];
    func.result_types = results.iter().map(|&v| func.body.ty(v).clone()).collect();
    func.result_shardings = results.iter().map(|&v| generator.maybe_sharding(func.body.ty(v).shape())).collect();
    let mut module = Module::new(format!("case_{seed}"), &OPS);
    module.meshes.push(mesh);
    module.funcs.push(func);
    Case { seed, module, inputs }
}

/// Returns the mesh with rates for every eighth seed, so that layouts are chosen for times. One axis is slow, and
/// collectives start fast or slowly.
fn with_rates(mut mesh: Arc<Mesh>, seed: u64) -> Arc<Mesh> {
    if seed % 8 == 7 {
        let (axes, at) = (mesh.axes.len(), seed as usize / 8);
        let slowdowns = (0..axes).map(|axis| if axis == at % axes { 2 + at as u32 % 30 } else { 1 }).collect();
        let start = 1 << (at % 20);
        Arc::make_mut(&mut mesh).rates = Some(Rates { slowdowns, start, flops: 2000, memory_bytes: 24 });
    }
    mesh
}

pub(crate) fn mesh(choose: &mut Chooser) -> Arc<Mesh> {
    let shapes: [&[(&str, usize)]; 9] = [
        &[("x", 2)],
        &[("x", 4)],
        &[("x", 2), ("y", 2)],
        &[("x", 4), ("y", 2)],
        &[("x", 2), ("y", 4)],
        &[("x", 2), ("y", 3)],
        &[("x", 2), ("y", 2), ("z", 2)],
        &[("x", 6)],
        &[("x", 12)],
    ];
    Arc::new(Mesh::new("mesh", choose.of(&shapes).iter().copied()).expect("a mesh"))
}

/// A value, and the bound on the magnitudes of its elements.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    pub value: Value,
    pub bound: u64,
}

pub(crate) struct Generator {
    pub choose: Chooser,
    mesh: Arc<Mesh>,
    pub live: Vec<Live>,
}

impl Generator {
    pub fn new(choose: Chooser, mesh: Arc<Mesh>) -> Generator {
        Generator { choose, mesh, live: vec![] }
    }

    fn args(&mut self, b: &mut Builder<'_>) -> Vec<Literal> {
        let count = 1 + self.choose.below(3);
        (0..count).map(|_| self.arg(b)).collect()
    }

    fn arg(&mut self, b: &mut Builder<'_>) -> Literal {
        let rank = 1 + self.choose.below(3);
        let shape: Vec<usize> = (0..rank).map(|_| self.size()).collect();
        let dtype = if self.choose.one_in(5) { DType::I32 } else { DType::F32 };
        let value = b.arg(Type::tensor(dtype, shape.clone()));
        let sharding = self.maybe_sharding(&shape);
        b.set_sharding(value, sharding);
        self.live.push(Live { value, bound: 2 });
        self.small_integers(dtype, &shape)
    }

    fn size(&mut self) -> usize {
        if self.choose.one_in(40) { 0 } else { *self.choose.of(&SIZES) }
    }

    fn small_integers(&mut self, dtype: DType, shape: &[usize]) -> Literal {
        let count = shape.iter().product();
        let values: Vec<i32> = (0..count).map(|_| self.choose.below(5) as i32 - 2).collect();
        match dtype {
            DType::I32 => Literal::new(shape, &values),
            _ => Literal::new(shape, &values.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        }
    }

    /// Returns a sharding with any axes on any dimensions that are not empty, including sub-axes and uneven splits.
    /// Returns `None` in a third of the cases.
    pub fn maybe_sharding(&mut self, shape: &[usize]) -> Option<Sharding> {
        if self.choose.one_in(3) {
            return None;
        }
        let mut dims: Vec<DimSharding> = shape.iter().map(|_| DimSharding::closed(vec![])).collect();
        let mut axes: Vec<AxisRef> = self.axes();
        self.choose.shuffle(&mut axes);
        for axis in axes {
            if shape.is_empty() || self.choose.one_in(3) {
                continue;
            }
            let dim = self.choose.below(shape.len());
            if shape[dim] > 0 {
                AxisRef::push_or_merge(&mut dims[dim].axes, axis, &self.mesh);
            }
        }
        for dim in &mut dims {
            dim.is_open = self.choose.one_in(4);
        }
        Some(Sharding::new(&self.mesh, dims))
    }

    /// Returns all axes of the mesh. An axis of composite size may be returned as its two parts, in any factorisation.
    fn axes(&mut self) -> Vec<AxisRef> {
        let mesh = self.mesh.clone();
        let mut axes = vec![];
        for (i, axis) in mesh.axes.iter().enumerate() {
            let index = AxisIndex::new(i);
            let majors: Vec<usize> = (2..axis.size).filter(|major| axis.size % major == 0).collect();
            if majors.is_empty() || !self.choose.one_in(3) {
                axes.push(AxisRef::full(index));
                continue;
            }
            let major = *self.choose.of(&majors);
            axes.push(AxisRef::sub(&mesh, index, 1, major));
            axes.push(AxisRef::sub(&mesh, index, major, axis.size / major));
        }
        axes
    }

    pub fn any(&mut self) -> Live {
        *self.choose.of(&self.live)
    }

    pub fn push(&mut self, value: Value, bound: u64) {
        self.live.push(Live { value, bound });
    }

    fn results(&mut self) -> Vec<Value> {
        let mut results = vec![self.live.last().expect("there are arguments").value];
        if self.choose.one_in(2) {
            let other = self.any().value;
            if !results.contains(&other) {
                results.push(other);
            }
        }
        results
    }

    fn op(&mut self, b: &mut Builder<'_>) {
        let x = self.any();
        let ty = b.body.ty(x.value).as_tensor().expect("only tensors are made").clone();
        match self.choose.below(19) {
            0 | 1 => self.binary(b, x, &ty),
            2 | 17 => self.unary(b, x),
            3 => self.dot(b, x, &ty),
            4 | 5 => self.reduce(b, x, &ty),
            6 => self.broadcast(b, x, &ty),
            7 => self.transpose(b, x, &ty),
            8 | 9 => self.reshape(b, x, &ty),
            10 => self.slice(b, x, &ty),
            11 => self.pad(b, x, &ty),
            12 => self.concatenate(b, x, &ty),
            13 => self.reverse(b, x, &ty),
            14 => self.select(b, x, &ty),
            15 => self.dynamic_slice(b, x, &ty),
            18 => self.scattered_sum(b, x, &ty),
            _ => self.constraint(b, x, &ty),
        }
    }

    /// Returns one of the live values of exactly this type, which may be `x` itself, or `x` if there are none.
    pub fn alike(&mut self, b: &Builder<'_>, x: Live, ty: &TensorType) -> Live {
        let same: Vec<Live> =
            self.live.iter().copied().filter(|l| b.body.ty(l.value).as_tensor() == Some(ty)).collect();
        if same.is_empty() { x } else { *self.choose.of(&same) }
    }

    fn binary(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let y = self.alike(b, x, ty);
        let (opcode, bound) = match self.choose.below(5) {
            0 if x.bound * y.bound <= MAX_BOUND => (Opcode::Multiply, x.bound * y.bound),
            1 => (Opcode::Maximum, x.bound.max(y.bound)),
            2 => (Opcode::Minimum, x.bound.max(y.bound)),
            3 if x.bound + y.bound <= MAX_BOUND => (Opcode::Subtract, x.bound + y.bound),
            _ if x.bound + y.bound <= MAX_BOUND => (Opcode::Add, x.bound + y.bound),
            _ => (Opcode::Maximum, x.bound.max(y.bound)),
        };
        let value = make::binary(b, opcode, x.value, y.value);
        self.push(value, bound);
    }

    /// Negates `x`, takes its absolute value or its sign, or adds 1, after which padding is no longer zero.
    fn unary(&mut self, b: &mut Builder<'_>, x: Live) {
        if self.choose.one_in(2) && x.bound < MAX_BOUND {
            let ty = make::type_of(b, x.value);
            let one = make::number(b, ty.dtype, 1);
            let one = make::broadcast_scalar(b, one, &ty.shape);
            let value = make::add(b, x.value, one);
            return self.push(value, x.bound + 1);
        }
        let opcode = *self.choose.of(&[Opcode::Negate, Opcode::Abs, Opcode::Sign]);
        let value = make::unary(b, opcode, x.value);
        self.push(value, x.bound.max(1));
    }

    /// Contracts one dimension of `x` with a dimension of the same size of a live value of the same element type, which
    /// may be `x` itself. Does nothing if `x` is a scalar, or if the bound on elements or the rank would become too
    /// large.
    pub fn dot(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let Some(contracted) = (0..ty.rank()).find(|&d| ty.shape[d] as u64 * x.bound * 2 <= MAX_BOUND) else { return };
        let candidates: Vec<(Live, usize)> = self
            .live
            .iter()
            .flat_map(|l| {
                let t = b.body.ty(l.value).as_tensor().expect("a tensor");
                let fits = |d: &usize| t.shape[*d] == ty.shape[contracted] && t.dtype == ty.dtype;
                (0..t.rank()).filter(fits).map(|d| (*l, d)).collect::<Vec<_>>()
            })
            .collect();
        let (y, other) = *self.choose.of(&candidates);
        let bound = x.bound * y.bound * ty.shape[contracted].max(1) as u64;
        let rank = ty.rank() + b.body.ty(y.value).shape().len() - 2;
        if bound > MAX_BOUND || rank > 4 {
            return;
        }
        let dims =
            DotDims { lhs_batch: vec![], rhs_batch: vec![], lhs_contract: vec![contracted], rhs_contract: vec![other] };
        let value = make::dot_general(b, x.value, y.value, &dims, ty.dtype);
        self.push(value, bound);
    }

    fn reduce(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let dims: Vec<usize> = (0..ty.rank()).filter(|_| self.choose.one_in(2)).collect();
        let count: u64 = dims.iter().map(|&d| ty.shape[d] as u64).product();
        let kind = *self.choose.of(&[ReduceKind::Add, ReduceKind::Add, ReduceKind::Max, ReduceKind::Min]);
        let bound = if kind == ReduceKind::Add { x.bound * count.max(1) } else { x.bound };
        // The maximum of no elements is minus infinity, which is not a small integer.
        if bound > MAX_BOUND || dims.is_empty() || (count == 0 && kind != ReduceKind::Add) {
            return;
        }
        let value = make::reduce(b, kind, x.value, &dims);
        self.push(value, bound);
    }

    /// Sums over a dimension that all axes of the mesh split, and splits another dimension over these axes in any
    /// order: a reduce-scatter. Does nothing if there are fewer than two axes or parts of axes, if there are fewer than
    /// two dimensions of more than one element, or if the bound on elements would become too large.
    pub fn scattered_sum(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let mut axes = self.axes();
        let mut dims: Vec<usize> = (0..ty.rank()).filter(|&d| ty.shape[d] > 1).collect();
        self.choose.shuffle(&mut dims);
        let &[summed, kept, ..] = &dims[..] else { return };
        let bound = x.bound * ty.shape[summed] as u64;
        if axes.len() < 2 || bound > MAX_BOUND {
            return;
        }
        let split = self.split(b, x.value, summed, &axes);
        let sum = make::reduce(b, ReduceKind::Add, split, &[summed]);
        self.choose.shuffle(&mut axes);
        let value = self.split(b, sum, if kept > summed { kept - 1 } else { kept }, &axes);
        self.push(value, bound);
    }

    fn split(&self, b: &mut Builder<'_>, x: Value, dim: usize, axes: &[AxisRef]) -> Value {
        let ty = make::type_of(b, x);
        let mut sharding = Sharding::replicated(&self.mesh, ty.rank());
        axes.iter().for_each(|&a| AxisRef::push_or_merge(&mut sharding.dims[dim].axes, a, &self.mesh));
        let value = b.value(Opcode::ShardingConstraint, [x], Attrs::new(), Type::Tensor(ty));
        b.set_sharding(value, Some(sharding));
        value
    }

    pub fn broadcast(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        if ty.rank() >= 3 {
            return;
        }
        let at = self.choose.below(ty.rank() + 1);
        let mut shape = ty.shape.clone();
        shape.insert(at, *self.choose.of(&SIZES));
        let dims: Vec<usize> = (0..shape.len()).filter(|&d| d != at).collect();
        let value = make::broadcast_in_dim(b, x.value, &shape, &dims);
        self.push(value, x.bound);
    }

    pub fn transpose(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let mut permutation: Vec<usize> = (0..ty.rank()).collect();
        self.choose.shuffle(&mut permutation);
        let value = make::transpose(b, x.value, &permutation);
        self.push(value, x.bound);
    }

    /// Splits a dimension, or merges two dimensions, and makes the result live. Does nothing if `x` is a scalar, or if
    /// the dimension to split is empty.
    pub fn reshape(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        if ty.rank() == 0 {
            return;
        }
        let mut shape = ty.shape.clone();
        let d = self.choose.below(ty.rank());
        if ty.rank() > 1 && (ty.rank() > 3 || self.choose.one_in(2)) {
            let d = d.min(ty.rank() - 2);
            shape[d] *= shape.remove(d + 1);
        } else {
            let factors: Vec<usize> = (1..=shape[d]).filter(|&f| shape[d].is_multiple_of(f)).collect();
            let Some(&f) = factors.get(self.choose.below(factors.len().max(1))) else { return };
            shape[d] /= f;
            shape.insert(d + 1, f);
        }
        let value = make::reshape(b, x.value, &shape);
        self.push(value, x.bound);
    }

    pub fn slice(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let (mut start, mut limit, mut strides) = (vec![], ty.shape.clone(), vec![]);
        for (d, &n) in ty.shape.iter().enumerate() {
            let whole = self.choose.one_in(2);
            start.push(if whole { 0 } else { self.choose.below(n / 2 + 1) });
            limit[d] = if whole { n } else { start[d] + self.choose.below(n - start[d] + 1) };
            strides.push(if whole { 1 } else { 1 + self.choose.below(2) });
        }
        let value = make::slice(b, x.value, &start, &limit, &strides);
        self.push(value, x.bound);
    }

    pub fn pad(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let amount = |g: &mut Generator| (0..ty.rank()).map(|_| g.choose.below(3) as i64).collect::<Vec<i64>>();
        let (low, high) = (amount(self), amount(self));
        let interior: Vec<i64> = (0..ty.rank()).map(|_| i64::from(self.choose.one_in(4))).collect();
        let one = make::number(b, ty.dtype, 1);
        let value = make::pad(b, x.value, one, &low, &high, &interior);
        self.push(value, x.bound.max(1));
    }

    pub fn concatenate(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        if ty.rank() == 0 {
            return;
        }
        let y = self.alike(b, x, ty);
        let dim = self.choose.below(ty.rank());
        let value = make::concatenate(b, &[x.value, y.value], dim);
        self.push(value, x.bound.max(y.bound));
    }

    pub fn reverse(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let dims: Vec<usize> = (0..ty.rank()).filter(|_| self.choose.one_in(2)).collect();
        let value = make::reverse(b, x.value, &dims);
        self.push(value, x.bound);
    }

    fn select(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let y = self.alike(b, x, ty);
        let pred = make::compare(b, "LT", x.value, y.value);
        let value = make::select(b, pred, x.value, y.value);
        self.push(value, x.bound.max(y.bound));
    }

    pub fn dynamic_slice(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let sizes: Vec<usize> = ty
            .shape
            .iter()
            .map(|&n| if n > 1 && self.choose.one_in(2) { 1 + self.choose.below(n) } else { n })
            .collect();
        let starts: Vec<Value> =
            (0..ty.rank()).map(|_| make::number(b, DType::I32, self.choose.below(4) as i64)).collect();
        let value = make::dynamic_slice(b, x.value, &starts, &sizes);
        self.push(value, x.bound);
    }

    pub fn constraint(&mut self, b: &mut Builder<'_>, x: Live, ty: &TensorType) {
        let Some(sharding) = self.maybe_sharding(&ty.shape) else { return };
        let value = b.value(Opcode::ShardingConstraint, [x.value], Attrs::new(), Type::Tensor(ty.clone()));
        b.set_sharding(value, Some(sharding));
        self.push(value, x.bound);
    }
}
