//! Programs to transform: ops, loops and branches on arrays of `f64`.

use crate::choose::Chooser;
use crate::generate::{Generator, Live, mesh};
use shardwise_base::{DType, Literal, Loc};
use shardwise_ir::{Attrs, Builder, Func, Module, Region, Type, Value};
use shardwise_ops::index::IndexDims;
use shardwise_ops::window::ReduceWindow;
use shardwise_ops::{OPS, Opcode, ReduceKind, make, reducer};

/// A program before its transforms.
pub(super) struct Source {
    pub module: Module,
}

/// The bound on the magnitudes of the sums, differences and products that [`Maker`] adds as statements. It leaves room
/// for derivatives. Larger values may come from the statements that [`Generator`] makes, from statements that move such
/// values, and from the sum that makes the result a scalar.
const MAX_BOUND: u64 = 1 << 14;

/// The number with which values are compared. No integer is equal to it, and no function of an integer that programs
/// use.
const THRESHOLD: f64 = 0.4375;

/// Draws a program of at most `size` statements. Its ops are exact on integers if `is_exact`. It returns a scalar if
/// `wants_scalar`.
pub(super) fn source(choose: &mut Chooser, size: usize, is_exact: bool, wants_scalar: bool) -> Source {
    let mesh = mesh(choose);
    let mut func = Func::new("main", Loc::UNKNOWN);
    let mut maker =
        Maker { inner: Generator::new(Chooser::new(choose.bits()), mesh.clone()), branches: vec![], is_exact };
    let mut builder = Builder::new(&mut func.body);
    let b = &mut builder;
    let count = 1 + maker.inner.choose.below(3);
    (0..count).for_each(|_| maker.arg(b));
    let has_branches = maker.inner.choose.one_in(2);
    if has_branches {
        let index = b.arg(Type::tensor(DType::I32, vec![]));
        maker.branches.push(index);
    }
    (0..size).for_each(|_| maker.statement(b));
    let mut result = maker.inner.live.last().expect("there are arguments").value;
    if wants_scalar {
        let dims: Vec<usize> = (0..b.body.ty(result).shape().len()).collect();
        result = make::reduce(b, ReduceKind::Add, result, &dims);
    }
    builder.ret([result]);
    func.arg_attrs = vec![Attrs::new(); count + usize::from(has_branches)];
    func.result_attrs = vec![Attrs::new()];
    func.result_types = vec![func.body.ty(result).clone()];
    func.result_shardings = vec![maker.inner.maybe_sharding(func.body.ty(result).shape())];
    let mut module = Module::new("calculus", &OPS);
    module.meshes.push(mesh);
    module.funcs.push(func);
    Source { module }
}

struct Maker {
    inner: Generator,
    /// The argument that chooses among the branches, if the program has one. There is at most one.
    branches: Vec<Value>,
    is_exact: bool,
}

impl Maker {
    fn arg(&mut self, b: &mut Builder<'_>) {
        let rank = 1 + self.inner.choose.below(3);
        let shape: Vec<usize> = (0..rank).map(|_| *self.inner.choose.of(&[1, 2, 3, 3, 4, 5])).collect();
        let value = b.arg(Type::tensor(DType::F64, shape.clone()));
        let sharding = self.inner.maybe_sharding(&shape);
        b.set_sharding(value, sharding);
        self.inner.push(value, 2);
    }

    fn statement(&mut self, b: &mut Builder<'_>) {
        let x = self.inner.any();
        let ty = make::type_of(b, x.value);
        if ty.size() == 0 || ty.size() > 400 {
            return;
        }
        let kinds = if self.is_exact { 26 } else { 29 };
        match self.inner.choose.below(kinds) {
            0..=2 => self.binary(b, x),
            3 => self.inner.dot(b, x, &ty),
            4 | 5 => self.sum(b, x),
            6 => self.inner.broadcast(b, x, &ty),
            7 => self.inner.transpose(b, x, &ty),
            8 => self.inner.reshape(b, x, &ty),
            9 => self.inner.slice(b, x, &ty),
            10 => self.inner.pad(b, x, &ty),
            11 => self.inner.concatenate(b, x, &ty),
            12 => self.inner.reverse(b, x, &ty),
            13 => self.inner.dynamic_slice(b, x, &ty),
            14 => self.inner.scattered_sum(b, x, &ty),
            15 => self.inner.constraint(b, x, &ty),
            16 | 17 => self.chosen(b, x),
            18 => self.update(b, x),
            19 => self.rows(b, x),
            20 => self.running_sum(b, x),
            21 | 22 => self.repeat(b, x),
            23..=25 => self.branch(b, x),
            26 => self.smooth(b, x, Opcode::Sine),
            27 => self.smooth(b, x, Opcode::Tanh),
            _ => self.smooth(b, x, Opcode::Logistic),
        }
    }

    fn alike(&mut self, b: &Builder<'_>, x: Live) -> Live {
        let ty = make::type_of(b, x.value);
        self.inner.alike(b, x, &ty)
    }

    fn binary(&mut self, b: &mut Builder<'_>, x: Live) {
        let y = self.alike(b, x);
        let (opcode, bound) = match self.inner.choose.below(4) {
            0 | 1 if x.bound * y.bound <= MAX_BOUND => (Opcode::Multiply, x.bound * y.bound),
            2 => (Opcode::Subtract, x.bound + y.bound),
            _ => (Opcode::Add, x.bound + y.bound),
        };
        if bound <= MAX_BOUND {
            let value = make::binary(b, opcode, x.value, y.value);
            self.inner.push(value, bound);
        }
    }

    fn sum(&mut self, b: &mut Builder<'_>, x: Live) {
        let shape = make::type_of(b, x.value).shape.clone();
        let dims: Vec<usize> = (0..shape.len()).filter(|_| self.inner.choose.one_in(2)).collect();
        let bound = x.bound * dims.iter().map(|&d| shape[d] as u64).product::<u64>();
        if bound <= MAX_BOUND && !dims.is_empty() {
            let value = make::reduce(b, ReduceKind::Add, x.value, &dims);
            self.inner.push(value, bound);
        }
    }

    fn chosen(&mut self, b: &mut Builder<'_>, x: Live) {
        let (y, by) = (self.alike(b, x), self.alike(b, x));
        let ty = make::type_of(b, x.value);
        let half = make::float(b, ty.dtype, THRESHOLD);
        let half = make::broadcast_scalar(b, half, &ty.shape);
        let is_positive = make::compare(b, "GT", by.value, half);
        let other = match self.inner.choose.one_in(2) {
            true => make::zeros(b, &ty),
            false => y.value,
        };
        let value = make::select(b, is_positive, x.value, other);
        self.inner.push(value, x.bound.max(y.bound));
    }

    fn update(&mut self, b: &mut Builder<'_>, x: Live) {
        let y = self.alike(b, x);
        let shape = make::type_of(b, x.value).shape.clone();
        let sizes: Vec<usize> = shape.iter().map(|&n| 1 + self.inner.choose.below(n)).collect();
        let zeros = vec![0; shape.len()];
        let part = make::slice(b, y.value, &zeros, &sizes, &vec![1; shape.len()]);
        let starts: Vec<Value> =
            shape.iter().map(|_| make::number(b, DType::I32, self.inner.choose.below(3) as i64)).collect();
        let value = make::dynamic_update_slice(b, x.value, part, &starts);
        self.inner.push(value, x.bound.max(y.bound));
    }

    /// Reads rows of `x`, perhaps some of them twice, or adds these rows to the same rows of `x`. Does nothing unless
    /// `x` has one or two dimensions.
    fn rows(&mut self, b: &mut Builder<'_>, x: Live) {
        let shape = make::type_of(b, x.value).shape.clone();
        if shape.is_empty() || shape.len() > 2 {
            return;
        }
        let count = 1 + self.inner.choose.below(4);
        let rows: Vec<i32> = (0..count).map(|_| self.inner.choose.below(shape[0]) as i32).collect();
        let indices = make::constant(b, Literal::new(vec![count, 1], &rows));
        let mut dims = IndexDims {
            window: (1..shape.len()).collect(),
            collapsed: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..IndexDims::default()
        };
        let mut sizes = shape.clone();
        sizes[0] = 1;
        let read = make::gather(b, x.value, indices, &dims, &sizes);
        if self.inner.choose.one_in(2) || x.bound * (1 + count as u64) > MAX_BOUND {
            return self.inner.push(read, x.bound);
        }
        dims.window = (1..shape.len()).collect();
        let value = make::scatter(b, Some(ReduceKind::Add), x.value, indices, read, dims.scatter_attrs());
        self.inner.push(value, x.bound * (1 + count as u64));
    }

    fn running_sum(&mut self, b: &mut Builder<'_>, x: Live) {
        let ty = make::type_of(b, x.value);
        if ty.rank() == 0 {
            return;
        }
        let d = self.inner.choose.below(ty.rank());
        let n = ty.shape[d];
        if x.bound * n as u64 > MAX_BOUND {
            return;
        }
        let (mut window, mut padding) = (vec![1; ty.rank()], vec![(0, 0); ty.rank()]);
        (window[d], padding[d]) = (n, (n as i64 - 1, 0));
        let zero = make::number(b, ty.dtype, 0);
        let region = reducer::reduction_region(b, ReduceKind::Add, ty.dtype);
        let attrs = ReduceWindow::attrs(&window, &padding);
        let op = b.op_with_regions(Opcode::ReduceWindow, [x.value, zero], attrs, [region], [ty.into()]);
        let value = b.body[op].results[0];
        self.inner.push(value, x.bound * n as u64);
    }

    /// Writes a loop of one to three turns, which uses a value from outside, or a row of it in each turn, and stacks
    /// what it carries. Does nothing if `x` is a scalar, or if a value might become larger than [`MAX_BOUND`].
    fn repeat(&mut self, b: &mut Builder<'_>, x: Live) {
        let w = self.alike(b, x);
        let ty = make::type_of(b, x.value);
        let turns = 1 + self.inner.choose.below(3);
        let kind = self.inner.choose.below(4);
        let bound = match kind {
            0 => x.bound + w.bound * turns as u64,
            1 => x.bound * w.bound.max(1).saturating_pow(turns as u32),
            2 => 3 * x.bound.max(w.bound) * turns as u64,
            _ => x.bound.max(w.bound) * (1 << turns),
        };
        if bound > MAX_BOUND || ty.rank() == 0 {
            return;
        }
        let stacked = Type::tensor(DType::F64, [&[turns], &ty.shape[..]].concat());
        let types = [Type::tensor(DType::I32, vec![]), ty.clone().into(), stacked.clone()];
        let start = make::number(b, DType::I32, 0);
        let empty = make::zeros(b, stacked.as_tensor().expect("a tensor"));
        let cond = b.region(&types, |b, args| {
            let limit = make::number(b, DType::I32, turns as i64);
            let more = make::compare(b, "LT", args[0], limit);
            b.op(Opcode::RegionReturn, [more], Attrs::new(), []);
        });
        let turn = b.region(&types, |b, args| {
            let one = make::number(b, DType::I32, 1);
            let zero = make::number(b, DType::I32, 0);
            let next = make::add(b, args[0], one);
            let carried = match kind {
                0 => make::add(b, args[1], w.value),
                1 => make::multiply(b, args[1], w.value),
                2 => {
                    let starts: Vec<Value> = (0..ty.rank()).map(|d| if d == 0 { args[0] } else { zero }).collect();
                    let mut sizes = ty.shape.clone();
                    sizes[0] = 1;
                    let row = make::dynamic_slice(b, w.value, &starts, &sizes);
                    let dims: Vec<usize> = (0..ty.rank()).collect();
                    let row = make::broadcast_in_dim(b, row, &ty.shape, &dims);
                    make::add(b, args[1], row)
                }
                _ => {
                    let reversed = make::reverse(b, args[1], &[0]);
                    make::subtract(b, reversed, w.value)
                }
            };
            let line = make::reshape(b, carried, &[&[1], &ty.shape[..]].concat());
            let starts: Vec<Value> = (0..=ty.rank()).map(|d| if d == 0 { args[0] } else { zero }).collect();
            let stack = make::dynamic_update_slice(b, args[2], line, &starts);
            b.op(Opcode::RegionReturn, [next, carried, stack], Attrs::new(), []);
        });
        let new = b.op_with_regions(Opcode::While, [start, x.value, empty], Attrs::new(), [cond, turn], types);
        let (last, stack) = (b.body[new].results[1], b.body[new].results[2]);
        self.inner.push(last, bound);
        if self.inner.choose.one_in(2) && ty.rank() < 4 {
            self.inner.push(stack, bound);
        }
    }

    fn branch(&mut self, b: &mut Builder<'_>, x: Live) {
        let Some(&index) = self.branches.first() else { return };
        let y = self.alike(b, x);
        let bound = (x.bound * y.bound).max(x.bound + y.bound);
        if bound > MAX_BOUND {
            return;
        }
        let count = 2 + self.inner.choose.below(2);
        let branch = |b: &mut Builder<'_>, k: usize| -> Region {
            b.region(&[], |b, _| {
                let value = match k {
                    0 => make::multiply(b, x.value, y.value),
                    1 => make::subtract(b, y.value, x.value),
                    _ => y.value,
                };
                b.op(Opcode::RegionReturn, [value], Attrs::new(), []);
            })
        };
        let regions: Vec<Region> = (0..count).map(|k| branch(b, k)).collect();
        let ty = b.body.ty(x.value).clone();
        let new = b.op_with_regions(Opcode::Case, [index], Attrs::new(), regions, [ty]);
        let value = b.body[new].results[0];
        self.inner.push(value, bound);
    }

    fn smooth(&mut self, b: &mut Builder<'_>, x: Live, opcode: Opcode) {
        let value = make::unary(b, opcode, x.value);
        self.inner.push(value, 1);
    }
}
