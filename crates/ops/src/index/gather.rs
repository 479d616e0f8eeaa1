//! `gather`: slices that start at the positions in a tensor of indices. Each start is clamped so that the slice is
//! within the operand.

use super::GATHER_DIMENSIONS;
use super::IndexDims;
use super::dims::{IndexFactor, Kinds, Labels, Starts, for_each_index};
use crate::Opcode;
use crate::check::{self, Check, counted_tensors};
use crate::eval::{self, Layout};
use crate::facts::*;
use crate::make;
use crate::make_collective::position_dtype;
use crate::reducer::nothing;
use crate::schema::*;
use crate::shapes::combine_parts;
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Builder, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};
use std::sync::Arc;

pub struct Gather;

const LABELS: Labels = Labels {
    rank: "gather_c1",
    vector_dim: "gather_c2",
    map_size: "gather_c3",
    window_sorted: "gather_c4",
    window_range: "gather_c5",
    dropped_unique: "gather_c6",
    collapsed_sorted: "gather_c7",
    collapsed_range: "gather_c8",
    batching_sorted: "gather_c10",
    batching_range: "gather_c11",
    indices_batching_unique: "gather_c13",
    indices_batching_range: "gather_c14",
    indices_batching_vector: "gather_c15",
    batching_count: "gather_c16",
    batching_sizes: "gather_c17",
    map_unique: "gather_c18",
    map_range: "gather_c19",
};

fn dims(op: &OpView<'_>) -> IndexDims {
    IndexDims::of_gather(op).expect("verified")
}

/// Returns the factors of a window dimension: `o` of size `full` in the operand, and `d` of size `size` in the slices.
/// One factor passes through if the sizes are equal. If slices have one element, that of the operand is a reduction.
/// Otherwise the dimension cannot be split.
fn window_factors(o: usize, full: usize, d: usize, size: usize) -> Vec<IndexFactor> {
    let factor = |operand, slices, spec| IndexFactor { operand, indices: None, slices, spec };
    if full == size {
        vec![factor(Some(o), Some(d), FactorSpec::pass_through(full))]
    } else if size == 1 {
        // The device that has the element returns it, and the others return `nothing`.
        vec![
            factor(Some(o), None, FactorSpec::reduction(full)),
            factor(None, Some(d), FactorSpec::need_replication(size)),
        ]
    } else {
        vec![factor(Some(o), Some(d), FactorSpec::need_replication(full).blocked_if(true))]
    }
}

impl Gather {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("dimension_numbers", Some("gather_i3"), GATHER_DIMENSIONS),
            required("slice_sizes", Some("gather_i9"), AttrKind::Ints),
            optional("indices_are_sorted", Some("gather_i10"), AttrKind::Flag, "`false`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("gather_c22", "gather_c23"),
        on_quantized: OnQuantized::Moves("gather_i1"),
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Gather {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let dims = dims(op);
        let sizes = dims.slice_sizes(op);
        Transposed::by(move |cx| {
            let (ct, operand, indices) = (cx.cotangent(), cx.operand_tensor(0), cx.known(1));
            let indices = dims.clamped(cx.b, indices, &operand.shape, &sizes);
            let zeros = make::zeros(cx.b, operand);
            let sum = make::scatter(cx.b, Some(ReduceKind::Add), zeros, indices, ct, dims.scatter_attrs());
            vec![Some(sum.into()), None]
        })
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let (dims, sizes) = (dims(op).batched(mapped[0], mapped[1]), op.sizes("slice_sizes"));
        // The indices of a batch may be unsorted although those of each element are sorted.
        let attrs = op.attrs().clone().with("indices_are_sorted", Attr::Bool(false));
        match mapped {
            [true, true] => Batched::by("its slices have no element of a batch of size 0", move |cx| {
                let attrs = dims.in_gather(&attrs, &with_first(cx.size.min(1), &sizes));
                Ok(cx.leading_op(cx.operands, attrs))
            }),
            [false, _] => Batched::leading_of(op, |i| i == 1, dims.in_gather(&attrs, &sizes)),
            _ => Batched::by("its slices have the whole batch, whose size is an attribute", move |cx| {
                let attrs = dims.in_gather(cx.op.attrs(), &with_first(cx.size, &sizes));
                Ok(cx.leading_op(cx.operands, attrs))
            }),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 2..=2, 0)?;
        let (operand, indices) = (types[0], types[1]);
        let dims = IndexDims::expect(op, IndexDims::of_gather(op), "dimension_numbers")?;
        let sizes = check::sizes(op, "slice_sizes")?;
        let mut check = Check::new(op);
        check.that("gather_i2", indices.dtype.is_integer(), "the indices must be integers");
        check.that(
            "gather_c20",
            sizes.len() == operand.rank(),
            "`slice_sizes` must have one size for each dimension of the operand",
        );
        let fits = sizes.iter().zip(&operand.shape).all(|(s, n)| s <= n);
        check.that("gather_c21", fits, "`slice_sizes` must not exceed the operand's sizes");
        dims.check(&mut check, &LABELS, &operand.shape, &indices.shape);
        check.so_far()?;
        let one = |list: &[usize]| list.iter().all(|&d| sizes[d] <= 1);
        check.that("gather_c9", one(&dims.collapsed), "`slice_sizes` must be at most 1 in collapsed dimensions");
        check.that("gather_c12", one(&dims.operand_batching), "`slice_sizes` must be at most 1 in batching dimensions");
        let windows: Vec<usize> = dims.window_operand_dims(operand.rank()).iter().map(|&d| sizes[d]).collect();
        check.so_far()?;
        check.give_tensor(operand.dtype, dims.slices_shape(&windows, &indices.shape))
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (operand, indices, slices) = (op.operand_shape(0), op.operand_shape(1), op.result_shape(0));
        let collapsed = |size| if size == 1 { FactorSpec::need_replication(1) } else { FactorSpec::reduction(size) };
        let kinds = Kinds { window: &window_factors, batch: &FactorSpec::pass_through, collapsed: &collapsed };
        let mut rule = RuleBuilder::new([operand.len(), indices.len()], [slices.len()]);
        for f in dims(op).factors(operand, indices, slices, &kinds) {
            rule.add_factor(&[f.operand, f.indices], &[f.slices], f.spec);
        }
        RuleFact::Rule(rule.build())
    }

    answer!(usual but enlarged, eval_copies);
    answer!(enlarged = sizes("slice_sizes"));
    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);

    /// Returns how the results of devices are combined. Each element comes from one device, and all others have
    /// [`nothing`].
    fn combine(&self, op: &OpView<'_>) -> Combine {
        combine_parts(op.operand_tensor(0).dtype)
    }

    /// Returns `None`: an index is clamped by the size of the dimension, so that padding would change the result.
    fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
        None
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(vec![localize(cx)])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let dims = dims(op);
        Ok(vec![gather(&dims, &dims.slice_sizes(op), &x[0], &x[1], op.result_shape(0))])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let (out, indices) = (op.result_tensor(0).bytes(), op.operand_tensor(1).bytes());
        Cost { flops: 0.0, bytes_read: out + indices, bytes_written: out }
    }

    answer!(linear = In(1));
    answer!(explicit = by_rule);
    answer!(
        example = r#"func.func @main(%arg0: tensor<6x12xf32>, %arg1: tensor<6x1xi32>) -> tensor<6x12xf32> {
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 12>}> : (tensor<6x12xf32>, tensor<6x1xi32>) -> tensor<6x12xf32>
  return %0 : tensor<6x12xf32>
}"#
    );
}

fn gather(dims: &IndexDims, sizes: &[usize], operand: &Literal, indices: &Literal, shape: &[usize]) -> Literal {
    let starts = Starts::new(dims, indices, operand.rank());
    let (from, to) = (eval::row_major(operand.shape()), eval::row_major(shape));
    let windows = dims.window_operand_dims(operand.rank());
    let batches = dims.batch_dims(shape.len());
    let window_shape: Vec<usize> = windows.iter().map(|&d| sizes[d]).collect();
    let batch_shape: Vec<usize> = batches.iter().map(|&d| shape[d]).collect();
    let mut out = Literal::zeros(operand.dtype(), shape);
    if out.size() == 0 || operand.size() == 0 {
        return out;
    }
    for_each_index(&batch_shape, |batch| {
        let start = starts.of(batch);
        let within = |d: usize| start[d].clamp(0, (operand.shape()[d] - sizes[d]) as i64) as isize;
        let base = (0..start.len()).map(|d| within(d) * from[d]).sum();
        let source = Layout { base, strides: windows.iter().map(|&d| from[d]).collect() };
        let base = batches.iter().zip(batch).map(|(&d, &i)| to[d] * i as isize).sum();
        let target = Layout { base, strides: dims.window.iter().map(|&d| to[d]).collect() };
        eval::copy(operand, &source, &mut out, &target, &window_shape);
    });
    out
}

/// Returns the dimensions of the operand that are split and of which slices do not have all elements, with their axes.
/// Batching dimensions are not among them.
fn split_dims<'c>(cx: &'c LocalizeCx<'_, '_>, dims: &IndexDims) -> Vec<(usize, &'c [AxisRef])> {
    let sharding = cx.operand_shardings[0].as_ref().expect("a tensor has a sharding");
    let sizes = dims.slice_sizes(&cx.op);
    let is_split = |d: usize| !sharding.dims[d].axes.is_empty() && !dims.operand_batching.contains(&d);
    let chosen = |d: usize| sizes[d] != cx.op.operand_shape(0)[d];
    (0..sizes.len()).filter(|&d| is_split(d) && chosen(d)).map(|d| (d, &sharding.dims[d].axes[..])).collect()
}

/// Builds the gather of one device. Slices of whole dimensions become slices of whole local ones. Where an index
/// chooses in a split dimension, each device looks for it in its own part, and has [`nothing`] where it is not found.
fn localize(cx: &mut LocalizeCx<'_, '_>) -> Value {
    let mut dims = dims(&cx.op);
    let global: Vec<usize> = cx.op.operand_shape(0).to_vec();
    let mut sizes = dims.slice_sizes(&cx.op);
    let local: Vec<usize> = cx.builder.body.ty(cx.operands[0]).shape().to_vec();
    for d in 0..sizes.len() {
        if sizes[d] == global[d] {
            sizes[d] = local[d];
        }
    }
    let attrs = cx.op.attrs().clone().with("slice_sizes", Attr::sizes(&sizes));
    let split: Vec<(usize, Vec<AxisRef>)> = split_dims(cx, &dims).iter().map(|&(d, a)| (d, a.to_vec())).collect();
    let mesh = cx.operand_shardings[0].as_ref().expect("a tensor has a sharding").mesh.clone();
    if split.is_empty() {
        return cx.same_op_with(attrs)[0];
    }
    let b = &mut *cx.builder;
    let mut parts = IndexParts::split(b, cx.operands[1], &dims, &global);
    let mut found: Option<Value> = None;
    for (d, axes) in &split {
        let k = parts.component(b, &mut dims, *d);
        let within = parts.shift(b, k, &mesh, axes, local[*d], Some(global[*d] - sizes[*d]));
        let mask = is_within(b, within, local[*d] - sizes[*d]);
        found = Some(found.map_or(mask, |f| make::and(b, f, mask)));
    }
    let indices = parts.join(b);
    let attrs = dims.mapped(&attrs, "dimension_numbers", "start_index_map");
    let code = cx.op.data().code;
    let x = b.value(code, [cx.operands[0], indices], attrs, cx.result_types[0].clone());
    match found {
        None => x,
        Some(mask) => masked(b, &dims, mask, x),
    }
}

fn masked(b: &mut Builder<'_>, dims: &IndexDims, mask: Value, x: Value) -> Value {
    let t = make::type_of(b, x);
    let mask = make::broadcast_in_dim(b, mask, &t.shape, &dims.batch_dims(t.rank()));
    let hidden = make::full(b, &t.shape, &nothing(t.dtype));
    make::select(b, mask, x, hidden)
}

/// The components of index vectors, each a tensor over the batch dimensions.
pub(super) struct IndexParts {
    parts: Vec<Value>,
    dtype: DType,
    batch: Vec<usize>,
    /// The dimension of the components, or `None` if there is one component without a dimension.
    dim: Option<usize>,
}

impl IndexParts {
    /// Splits index vectors, which are positions in an operand of shape `operand`, into components. These are signed
    /// integers that are wide enough for the positions.
    pub fn split(b: &mut Builder<'_>, indices: Value, dims: &IndexDims, operand: &[usize]) -> IndexParts {
        let t = make::type_of(b, indices);
        let largest = operand.iter().copied().max().unwrap_or(0);
        let dtype = if t.dtype == DType::I32 { position_dtype(largest) } else { DType::I64 };
        // The largest unsigned positions must not wrap to negative ones.
        let bounded = if t.dtype == DType::U64 { at_most(b, indices, i64::MAX) } else { indices };
        let wide = make::convert(b, bounded, dtype);
        let dim = dims.index_vector_dim;
        let mut batch = t.shape.to_vec();
        if dim == t.rank() {
            return IndexParts { parts: vec![wide], dtype, batch, dim: None };
        }
        let count = batch.remove(dim);
        let part = |i| {
            let one = make::slice_dim(b, wide, dim, i, i + 1);
            make::reshape(b, one, &batch)
        };
        IndexParts { parts: (0..count).map(part).collect(), dtype, batch, dim: Some(dim) }
    }

    /// Returns the number of the component that chooses in dimension `d` of the operand. If there is none, the index
    /// along `d` is 0: adds a component of zeros, also to the dimension numbers.
    pub fn component(&mut self, b: &mut Builder<'_>, dims: &mut IndexDims, d: usize) -> usize {
        dims.index_map.iter().position(|&m| m == d).unwrap_or_else(|| {
            let zeros = make::full(b, &self.batch, &Literal::zeros(self.dtype, vec![]));
            self.parts.push(zeros);
            self.dim.get_or_insert(self.batch.len());
            dims.index_map.push(d);
            dims.index_map.len() - 1
        })
    }

    /// Makes component `k` relative to the start of the device's part, of size `local`, of a dimension that `axes`
    /// split, and returns it. Clamps it first to `0..=most` if `most` is given.
    pub fn shift(
        &mut self,
        b: &mut Builder<'_>,
        k: usize,
        mesh: &Arc<shardwise_base::Mesh>,
        axes: &[AxisRef],
        local: usize,
        most: Option<usize>,
    ) -> Value {
        let part = most.map_or(self.parts[k], |most| clamp_index(b, self.parts[k], most));
        let t = make::type_of(b, part);
        let offset = make::block_start(b, mesh, axes, local, t.dtype);
        let offset = make::broadcast_scalar(b, offset, &t.shape);
        self.parts[k] = make::subtract(b, part, offset);
        self.parts[k]
    }

    pub fn join(self, b: &mut Builder<'_>) -> Value {
        let Some(dim) = self.dim else { return self.parts[0] };
        let one = |&p: &Value| {
            let mut shape = make::type_of(b, p).shape.to_vec();
            shape.insert(dim, 1);
            make::reshape(b, p, &shape)
        };
        let ones: Vec<Value> = self.parts.iter().map(one).collect();
        if ones.len() == 1 { ones[0] } else { make::concatenate(b, &ones, dim) }
    }
}

fn at_most(b: &mut Builder<'_>, x: Value, most: i64) -> Value {
    let t = make::type_of(b, x);
    let most = make::number(b, t.dtype, most);
    let most = make::broadcast_scalar(b, most, &t.shape);
    make::minimum(b, x, most)
}

fn clamp_index(b: &mut Builder<'_>, x: Value, most: usize) -> Value {
    let dtype = make::type_of(b, x).dtype;
    let (low, high) = (make::number(b, dtype, 0), make::number(b, dtype, most as i64));
    make::clamp(b, low, x, high)
}

fn is_within(b: &mut Builder<'_>, x: Value, most: usize) -> Value {
    let t = make::type_of(b, x);
    let bounds = [0, most as i64].map(|n| {
        let n = make::number(b, t.dtype, n);
        make::broadcast_scalar(b, n, &t.shape)
    });
    let (above, below) = (make::compare(b, "GE", x, bounds[0]), make::compare(b, "LE", x, bounds[1]));
    make::and(b, above, below)
}
