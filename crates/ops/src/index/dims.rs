//! The dimension numbers of gather and scatter, which differ only in their names.
//!
//! The *operand* is the array that slices are read from or written to. The *slices* are the result of gather or the
//! updates of scatter. A dimension of the slices is either a window dimension, which is a dimension within a slice, or
//! a batch dimension, which numbers the slices and is also a dimension of the indices.

use crate::check::{self, Check, bad_attribute, is_increasing, is_unique};
use crate::eval::{self, Number};
use crate::facts::{ReduceKind, further, with_first};
use crate::make;
use crate::schema::AttrKind;
use shardwise_base::budget::Meter;
use shardwise_base::{DType, Data, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Value};
use shardwise_sharding::FactorSpec;

pub(crate) const GATHER_DIMENSIONS: AttrKind = AttrKind::Record(
    "stablehlo.gather",
    "`stablehlo.gather {offset_dims?, collapsed_slice_dims?, operand_batching_dims?, start_indices_batching_dims?, \
     start_index_map?: integers; index_vector_dim?: integer (0)}`",
);

pub(crate) const SCATTER_DIMENSIONS: AttrKind = AttrKind::Record(
    "stablehlo.scatter",
    "`stablehlo.scatter {update_window_dims?, inserted_window_dims?, input_batching_dims?, \
     scatter_indices_batching_dims?, scatter_dims_to_operand_dims?: integers; index_vector_dim?: integer (0)}`",
);

/// The names of the lists of a gather's dimension numbers but `start_index_map`, in the order of the fields of
/// [`IndexDims`].
const GATHER_LISTS: [&str; 4] =
    ["offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims"];

/// The names of the lists of a scatter's dimension numbers but `scatter_dims_to_operand_dims`, in the order of the
/// fields of [`IndexDims`].
const SCATTER_LISTS: [&str; 4] =
    ["update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims"];

/// The dimension numbers of a gather or a scatter. Each field states its name in the attribute of gather, and that of
/// scatter in parentheses.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct IndexDims {
    /// `offset_dims` (`update_window_dims`): the slices' window dimensions.
    pub window: Vec<usize>,
    /// `collapsed_slice_dims` (`inserted_window_dims`): operand dimensions that slices do not have.
    pub collapsed: Vec<usize>,
    /// `operand_batching_dims` (`input_batching_dims`): the operand's batching dimensions.
    pub operand_batching: Vec<usize>,
    /// `start_indices_batching_dims` (`scatter_indices_batching_dims`): the dimensions of the indices that correspond
    /// to the operand's batching dimensions, in the same order.
    pub indices_batching: Vec<usize>,
    /// `start_index_map` (`scatter_dims_to_operand_dims`): the operand dimension of each component of an index.
    pub index_map: Vec<usize>,
    pub index_vector_dim: usize,
}

/// The labels of the constraints that both ops have.
pub(super) struct Labels {
    pub rank: &'static str,
    pub window_sorted: &'static str,
    pub window_range: &'static str,
    pub dropped_unique: &'static str,
    pub collapsed_sorted: &'static str,
    pub collapsed_range: &'static str,
    pub batching_sorted: &'static str,
    pub batching_range: &'static str,
    pub indices_batching_unique: &'static str,
    pub indices_batching_range: &'static str,
    pub indices_batching_vector: &'static str,
    pub batching_count: &'static str,
    pub batching_sizes: &'static str,
    pub map_size: &'static str,
    pub map_unique: &'static str,
    pub map_range: &'static str,
    pub vector_dim: &'static str,
}

impl IndexDims {
    pub fn of_gather(op: &OpView<'_>) -> Option<IndexDims> {
        IndexDims::read(op, "dimension_numbers", GATHER_LISTS, "start_index_map")
    }

    /// Returns the sizes of a gather's slices, one for each dimension of the operand.
    ///
    /// A dimension that the slices do not keep contributes one element, even where the program says that its size is 0:
    /// a start index is clamped so that this element exists. It contributes none if the operand is empty along it.
    pub fn slice_sizes(&self, op: &OpView<'_>) -> Vec<usize> {
        let mut sizes = op.sizes("slice_sizes");
        for &d in self.collapsed.iter().chain(&self.operand_batching) {
            sizes[d] = op.operand_shape(0)[d].min(1);
        }
        sizes
    }

    pub fn of_scatter(op: &OpView<'_>) -> Option<IndexDims> {
        IndexDims::read(op, "scatter_dimension_numbers", SCATTER_LISTS, "scatter_dims_to_operand_dims")
    }

    fn read(op: &OpView<'_>, name: &str, lists: [&str; 4], map: &str) -> Option<IndexDims> {
        let fields = op.attr(name)?.as_record()?;
        let list = |name: &str| fields.get(name).map_or(Some(vec![]), Attr::to_sizes);
        let index_vector_dim = fields.get("index_vector_dim").map_or(Some(0), |a| usize::try_from(a.as_int()?).ok());
        Some(IndexDims {
            window: list(lists[0])?,
            collapsed: list(lists[1])?,
            operand_batching: list(lists[2])?,
            indices_batching: list(lists[3])?,
            index_map: list(map)?,
            index_vector_dim: index_vector_dim?,
        })
    }

    pub(super) fn expect(op: &OpView<'_>, dims: Option<IndexDims>, name: &str) -> Result<IndexDims, Diagnostics> {
        dims.ok_or_else(|| bad_attribute(op, name, "dimension numbers").into())
    }

    pub(super) fn mapped(&self, attrs: &Attrs, name: &str, map: &str) -> Attrs {
        let Some(Attr::Record { name: kind, fields }) = attrs.get(name).filter(|_| !self.index_map.is_empty()) else {
            return attrs.clone();
        };
        let fields = fields.clone().with(map, Attr::sizes(&self.index_map));
        attrs.clone().with(name, Attr::Record { name: kind.clone(), fields })
    }

    /// Returns true if an operand dimension has no window dimension.
    pub fn is_dropped(&self, operand_dim: usize) -> bool {
        self.collapsed.contains(&operand_dim) || self.operand_batching.contains(&operand_dim)
    }

    /// Returns the operand's dimensions that have a window dimension, in the order of the window dimensions.
    pub fn window_operand_dims(&self, operand_rank: usize) -> Vec<usize> {
        (0..operand_rank).filter(|&d| !self.is_dropped(d)).collect()
    }

    /// Returns the slices' batch dimensions.
    pub fn batch_dims(&self, slices_rank: usize) -> Vec<usize> {
        (0..slices_rank).filter(|d| !self.window.contains(d)).collect()
    }

    /// Returns true if applying a scatter's updates window by window is known to apply those of each element in
    /// row-major order. This is so if, along each window dimension of the updates that is in front of a batch dimension
    /// with several windows, windows have at most one element or all start at 0.
    pub fn keeps_order(&self, operand_rank: usize, updates: &[usize]) -> bool {
        let several = self.batch_dims(updates.len()).into_iter().filter(|&d| updates[d] > 1);
        let last = several.max().unwrap_or(0);
        let mut walked = self.window_operand_dims(operand_rank).into_iter().zip(&self.window);
        walked.all(|(of_operand, &d)| d >= last || updates[d] <= 1 || !self.index_map.contains(&of_operand))
    }

    /// Returns the dimensions of the indices that are batch dimensions, in the order of the slices' batch dimensions.
    pub fn indices_batch_dims(&self, indices_rank: usize) -> Vec<usize> {
        (0..indices_rank).filter(|&d| d != self.index_vector_dim).collect()
    }

    pub(super) fn check(&self, check: &mut Check<'_, '_>, l: &Labels, operand: &[usize], indices: &[usize]) {
        let (rank, indices_rank) = (operand.len(), indices.len());
        self.check_operand(check, l, rank, indices_rank);
        let mapped = [&self.index_map[..], &self.operand_batching].concat();
        check
            .that(
                l.indices_batching_unique,
                is_unique(&self.indices_batching),
                "batching dimensions of the indices must all be different",
            )
            .that(
                l.indices_batching_range,
                check::are_dims(&self.indices_batching, indices_rank),
                "batching dimensions of the indices must be less than their rank",
            )
            .that(
                l.indices_batching_vector,
                !self.indices_batching.contains(&self.index_vector_dim),
                "`index_vector_dim` must not be a batching dimension of the indices",
            )
            .that(
                l.batching_count,
                self.operand_batching.len() == self.indices_batching.len(),
                "operand and indices must have the same number of batching dimensions",
            )
            .that(
                l.map_unique,
                is_unique(&mapped),
                "indexed dimensions and batching dimensions of the operand must all be different",
            )
            .that(
                l.map_range,
                check::are_dims(&self.index_map, rank),
                "indexed dimensions must be dimensions of the operand",
            );
        let vector = indices.get(self.index_vector_dim).copied().unwrap_or(1);
        let rule = "an index must have one component for each indexed dimension";
        check.that(l.map_size, self.index_map.len() == vector, rule);
        let mut sizes = self.operand_batching.iter().zip(&self.indices_batching);
        let same = sizes.all(|(&o, &i)| operand.get(o) == indices.get(i));
        check.that(l.batching_sizes, same, "batching dimensions of operand and indices must have the same sizes");
    }

    fn check_operand(&self, check: &mut Check<'_, '_>, l: &Labels, rank: usize, indices_rank: usize) {
        let dropped = [&self.collapsed[..], &self.operand_batching].concat();
        let window_count = self.window.len() + dropped.len();
        check
            .that(
                l.rank,
                window_count == rank,
                "window dimensions, collapsed or inserted ones, and batching dimensions of the operand must together \
                 be as many as the operand's dimensions",
            )
            .that(
                l.vector_dim,
                self.index_vector_dim <= indices_rank,
                "`index_vector_dim` must be a dimension of the indices, or their rank",
            )
            .that(l.window_sorted, is_increasing(&self.window), "window dimensions must be sorted, none twice")
            .that(
                l.window_range,
                check::are_dims(&self.window, self.slices_rank(indices_rank)),
                "window dimensions must be dimensions of the slices: of a gather's result, or of a scatter's updates",
            )
            .that(
                l.dropped_unique,
                is_unique(&dropped),
                "collapsed or inserted dimensions and batching dimensions of the operand must all be different",
            )
            .that(l.collapsed_sorted, self.collapsed.is_sorted(), "collapsed or inserted dimensions must be sorted")
            .that(
                l.collapsed_range,
                check::are_dims(&self.collapsed, rank),
                "collapsed or inserted dimensions must be dimensions of the operand",
            )
            .that(
                l.batching_sorted,
                self.operand_batching.is_sorted(),
                "batching dimensions of the operand must be sorted",
            )
            .that(
                l.batching_range,
                check::are_dims(&self.operand_batching, rank),
                "batching dimensions of the operand must be less than its rank",
            );
    }

    /// Returns the rank of the slices.
    pub fn slices_rank(&self, indices_rank: usize) -> usize {
        self.window.len() + indices_rank - usize::from(self.index_vector_dim < indices_rank)
    }

    /// Returns the shape of the slices, from the sizes of their windows and the shape of the indices.
    ///
    /// # Panics
    /// If there are fewer sizes than window dimensions, or if a window dimension occurs twice or is not a dimension of
    /// the slices.
    pub fn slices_shape(&self, window_sizes: &[usize], indices: &[usize]) -> Vec<usize> {
        let mut batch = self.indices_batch_dims(indices.len()).into_iter().map(|d| indices[d]);
        let mut window = window_sizes.iter().copied();
        let dim = |d| if self.window.contains(&d) { window.next() } else { batch.next() };
        (0..self.slices_rank(indices.len())).map(dim).map(|n| n.expect("as many as the rank")).collect()
    }

    /// Returns the factors, each with its dimensions of operand, indices and slices, as Shardy's registry lists them
    /// for both ops.
    pub(super) fn factors(
        &self,
        operand: &[usize],
        indices: &[usize],
        slices: &[usize],
        kinds: &Kinds,
    ) -> Vec<IndexFactor> {
        let window_dims = self.window_operand_dims(operand.len());
        let batch_dims = self.indices_batch_dims(indices.len());
        let (mut window, mut batch) = (window_dims.iter(), batch_dims.iter());
        let mut out = vec![];
        for (d, &size) in slices.iter().enumerate() {
            if self.window.contains(&d) {
                let o = *window.next().expect("one for each window dimension");
                out.extend((kinds.window)(o, operand[o], d, size));
            } else {
                let i = *batch.next().expect("one for each batch dimension");
                let o = self.indices_batching.iter().position(|&b| b == i).map(|k| self.operand_batching[k]);
                let spec = if o.is_some() { FactorSpec::pass_through(size) } else { (kinds.batch)(size) };
                out.push(IndexFactor { operand: o, indices: Some(i), slices: Some(d), spec });
            }
        }
        for &o in &self.collapsed {
            out.push(IndexFactor {
                operand: Some(o),
                indices: None,
                slices: None,
                spec: (kinds.collapsed)(operand[o]),
            });
        }
        if let Some(&size) = indices.get(self.index_vector_dim) {
            let spec = FactorSpec::need_replication(size);
            out.push(IndexFactor { operand: None, indices: Some(self.index_vector_dim), slices: None, spec });
        }
        out
    }

    /// Builds the attributes of a gather of slices of these sizes, with these dimension numbers.
    pub fn gather_attrs(&self, slice_sizes: &[usize]) -> Attrs {
        self.in_gather(&Attrs::new(), slice_sizes)
    }

    /// Builds the attributes of a scatter with these dimension numbers.
    pub fn scatter_attrs(&self) -> Attrs {
        self.in_scatter(&Attrs::new())
    }

    pub(crate) fn unique_scatter_attrs(&self) -> Attrs {
        self.scatter_attrs().with("unique_indices", Attr::Bool(true))
    }

    pub(super) fn in_gather(&self, attrs: &Attrs, slice_sizes: &[usize]) -> Attrs {
        let dims = self.to_attr("stablehlo.gather", GATHER_LISTS, "start_index_map");
        attrs.clone().with("dimension_numbers", dims).with("slice_sizes", Attr::sizes(slice_sizes))
    }

    pub(super) fn in_scatter(&self, attrs: &Attrs) -> Attrs {
        let dims = self.to_attr("stablehlo.scatter", SCATTER_LISTS, "scatter_dims_to_operand_dims");
        attrs.clone().with("scatter_dimension_numbers", dims)
    }

    /// Returns the dimension numbers of the op with a leading dimension in the operand, the indices or both, and in the
    /// slices. It is a window dimension if only the operand has it, a batch dimension if only the indices have it, and
    /// a batching dimension if both have it.
    pub(super) fn batched(&self, operand: bool, indices: bool) -> IndexDims {
        let moved = |is_moved: bool, dims: &[usize]| if is_moved { further(dims) } else { dims.to_vec() };
        let first = |is_first: bool, dims: Vec<usize>| if is_first { with_first(0, &dims) } else { dims };
        let both = operand && indices;
        IndexDims {
            window: first(!indices, further(&self.window)),
            collapsed: moved(operand, &self.collapsed),
            operand_batching: first(both, moved(operand, &self.operand_batching)),
            indices_batching: first(both, moved(indices, &self.indices_batching)),
            index_map: moved(operand, &self.index_map),
            index_vector_dim: self.index_vector_dim + usize::from(indices),
        }
    }

    /// Builds an array of the type `indices`, which is that of the array of indices. It has `numbers[i]` where that
    /// array has component `i` of an index. Numbers that exceed the element type become its greatest one.
    fn for_components(&self, b: &mut Builder<'_>, indices: &TensorType, numbers: &[i64]) -> Value {
        let bits = indices.dtype.bits() - usize::from(indices.dtype.is_signed());
        let greatest = if bits < 63 { (1 << bits) - 1 } else { i64::MAX };
        let number = |i: usize| Number::Signed(numbers[i].min(greatest));
        if self.index_vector_dim == indices.rank() {
            let scalar = make::constant(b, eval::fill(indices.dtype, &[], number));
            return make::broadcast_scalar(b, scalar, &indices.shape);
        }
        let vector = make::constant(b, eval::fill(indices.dtype, &[numbers.len()], number));
        make::broadcast_in_dim(b, vector, &indices.shape, &[self.index_vector_dim])
    }

    pub(crate) fn clamped(&self, b: &mut Builder<'_>, indices: Value, operand: &[usize], sizes: &[usize]) -> Value {
        let ty = make::type_of(b, indices);
        let most: Vec<i64> = self.index_map.iter().map(|&d| (operand[d] - sizes[d]) as i64).collect();
        let (zeros, most) = (make::zeros(b, &ty), self.for_components(b, &ty, &most));
        make::clamp(b, zeros, indices, most)
    }

    /// Builds a boolean for each index, which is true if the index is inside an operand of shape `operand`. The result
    /// has the batch dimensions of the indices.
    fn inside(&self, b: &mut Builder<'_>, indices: Value, operand: &[usize]) -> Value {
        let ty = make::type_of(b, indices);
        let last: Vec<i64> = self.index_map.iter().map(|&d| operand[d] as i64 - 1).collect();
        let (zeros, last) = (make::zeros(b, &ty), self.for_components(b, &ty, &last));
        let (above, below) = (make::compare(b, "GE", indices, zeros), make::compare(b, "LE", indices, last));
        let inside = make::and(b, above, below);
        let is_vector = self.index_vector_dim < ty.rank();
        if is_vector { make::reduce(b, ReduceKind::And, inside, &[self.index_vector_dim]) } else { inside }
    }

    /// Returns the sizes of a scatter's updates, one for each dimension of the operand, from the shapes of both. A
    /// dimension that the updates do not have contributes one element, or none if the operand is empty along it.
    pub fn update_sizes(&self, operand: &[usize], updates: &[usize]) -> Vec<usize> {
        let mut sizes: Vec<usize> = operand.iter().map(|&n| n.min(1)).collect();
        for (&o, &d) in self.window_operand_dims(operand.len()).iter().zip(&self.window) {
            sizes[o] = updates[d];
        }
        sizes
    }

    /// Builds an array of shape `updates` with the elements of `x` to which a scatter with these dimension numbers
    /// writes updates of this shape. It is zero for updates outside of `x`, which a scatter drops.
    pub(super) fn read_scattered(&self, b: &mut Builder<'_>, x: Value, indices: Value, updates: &[usize]) -> Value {
        let operand = make::type_of(b, x);
        let sizes = self.update_sizes(&operand.shape, updates);
        if self.index_map.iter().any(|&d| sizes[d] > 1) {
            return self.read_padded(b, x, indices, &sizes);
        }
        let read = make::gather(b, x, indices, self, &sizes);
        let (inside, zeros) = (self.inside(b, indices, &operand.shape), TensorType::new(operand.dtype, updates));
        let inside = make::broadcast_in_dim(b, inside, updates, &self.batch_dims(updates.len()));
        let zeros = make::zeros(b, &zeros);
        make::select(b, inside, read, zeros)
    }

    /// Builds the gather of slices of `x` that may begin or end outside of `x`. The elements outside of `x` are zero.
    fn read_padded(&self, b: &mut Builder<'_>, x: Value, indices: Value, sizes: &[usize]) -> Value {
        let operand = make::type_of(b, x);
        let numbers = |of: &dyn Fn(usize) -> i64| self.index_map.iter().map(|&d| of(d)).collect::<Vec<i64>>();
        // Unsigned 64-bit indices may exceed i64, so they are clamped before the conversion.
        let ty = make::type_of(b, indices);
        let end = numbers(&|d| operand.shape[d] as i64);
        let bound = self.for_components(b, &ty, &end);
        let below = make::minimum(b, indices, bound);
        let wide = make::convert(b, below, DType::I64);
        let ty = TensorType::new(DType::I64, ty.shape.clone());
        let margin = numbers(&|d| sizes[d] as i64);
        let margins = self.for_components(b, &ty, &margin);
        let (shifted, zeros) = (make::add(b, wide, margins), make::zeros(b, &ty));
        let shifted = make::maximum(b, shifted, zeros);
        let mut padding = vec![0; operand.rank()];
        self.index_map.iter().zip(margin).for_each(|(&d, margin)| padding[d] = margin);
        let zero = make::zeros(b, &TensorType::new(operand.dtype, vec![]));
        let padded = make::pad(b, x, zero, &padding, &padding, &vec![0; padding.len()]);
        make::gather(b, padded, shifted, self, sizes)
    }

    fn to_attr(&self, record: &str, lists: [&str; 4], map: &str) -> Attr {
        let all = [&self.window, &self.collapsed, &self.operand_batching, &self.indices_batching];
        let named = lists.into_iter().zip(all).chain([(map, &self.index_map)]);
        let fields: Attrs =
            named.filter(|(_, dims)| !dims.is_empty()).map(|(name, dims)| (name, Attr::sizes(dims))).collect();
        let fields = fields.with("index_vector_dim", Attr::int(self.index_vector_dim as i64));
        Attr::Record { name: record.into(), fields }
    }
}

pub(super) struct IndexFactor {
    pub operand: Option<usize>,
    pub indices: Option<usize>,
    pub slices: Option<usize>,
    pub spec: FactorSpec,
}

/// The differences between the factors of gather and of scatter.
pub(super) struct Kinds<'a> {
    /// The factors of a window dimension, from operand dimension and size, slices dimension and size.
    pub window: &'a dyn Fn(usize, usize, usize, usize) -> Vec<IndexFactor>,
    /// The factor of a batch dimension that the operand does not have.
    pub batch: &'a dyn Fn(usize) -> FactorSpec,
    pub collapsed: &'a dyn Fn(usize) -> FactorSpec,
}

/// The start of each slice: the components of the indices by batch index.
pub(super) struct Starts<'a> {
    dims: &'a IndexDims,
    indices: Data<i64>,
    strides: Vec<isize>,
    batch_dims: Vec<usize>,
    operand_rank: usize,
}

impl<'a> Starts<'a> {
    pub fn new(dims: &'a IndexDims, indices: &Literal, operand_rank: usize) -> Starts<'a> {
        let clamp = |i| indices.get_i128(i).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Starts {
            dims,
            indices: Data::from_fn(indices.size(), clamp),
            strides: crate::eval::row_major(indices.shape()),
            batch_dims: dims.indices_batch_dims(indices.rank()),
            operand_rank,
        }
    }

    /// Returns the operand index at which the slice of this batch index starts, not yet clamped.
    pub fn of(&self, batch: &[usize]) -> Vec<i64> {
        let mut start = vec![0; self.operand_rank];
        let base: isize = self.batch_dims.iter().zip(batch).map(|(&d, &i)| self.strides[d] * i as isize).sum();
        let step = self.strides.get(self.dims.index_vector_dim).copied().unwrap_or(0);
        for (k, &d) in self.dims.index_map.iter().enumerate() {
            start[d] = self.indices[(base + step * k as isize) as usize];
        }
        for (&o, &i) in self.dims.operand_batching.iter().zip(&self.dims.indices_batching) {
            let position = self.batch_dims.iter().position(|&d| d == i).expect("a batch dimension of the indices");
            start[o] = batch[position] as i64;
        }
        start
    }
}

pub(crate) fn for_each_index(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let f: &mut dyn FnMut(&[usize]) = &mut f;
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0; shape.len()];
    let mut meter = Meter::default();
    loop {
        f(&index);
        meter.add(1);
        let Some(d) = (0..shape.len()).rev().find(|&d| index[d] + 1 < shape[d]) else { return };
        index[d] += 1;
        index[d + 1..].fill(0);
    }
}
