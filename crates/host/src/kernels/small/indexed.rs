//! Gathers and scatters in small programs: one window for each slice.

use super::builder::Builder;
use super::moves::operand;
use crate::block::program::reduction;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::row_major;
use crate::small::{Action, Place, Start, Window};
use shardwise_ir::OpView;
use shardwise_ops::index::IndexDims;
use shardwise_ops::reducer::reduce_kind_of;

/// The largest number of slices. Each of them is an instruction.
const MAX_SLICES: usize = 64;

/// The slices of an op, and the windows of the operand that they are.
struct Slices<'a> {
    dims: &'a IndexDims,
    /// The shape of the operand.
    operand: &'a [usize],
    /// The shape of all slices: of the result of a gather, or of the updates of a scatter.
    slices: &'a [usize],
    /// The size of a slice along each dimension of the operand.
    sizes: Vec<usize>,
}

impl Slices<'_> {
    /// Returns the sizes along the dimensions that number the slices.
    fn batch(&self) -> Vec<usize> {
        self.dims.batch_dims(self.slices.len()).iter().map(|&d| self.slices[d]).collect()
    }

    fn count(&self) -> usize {
        self.batch().iter().product()
    }

    /// Returns the number of elements of a slice.
    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns the number, among all elements in row-major order, of each element of the slices, slice by slice.
    fn order(&self) -> Vec<usize> {
        let strides = row_major(self.slices);
        let batch = self.dims.batch_dims(self.slices.len());
        let dims: Vec<usize> = batch.iter().chain(&self.dims.window).copied().collect();
        let sizes: Vec<usize> = dims.iter().map(|&d| self.slices[d]).collect();
        indices(&sizes).map(|index| dims.iter().zip(index).map(|(&d, i)| strides[d] as usize * i).sum()).collect()
    }

    /// Returns the window that slice number `slice` is. `first` is the number of the operand's first element, and
    /// `shape` is the shape of the indices.
    fn window(&self, builder: &mut Builder<'_, '_>, slice: usize, first: u32, place: Place, shape: &[usize]) -> Window {
        let (strides, index_strides) = (row_major(self.operand), row_major(shape));
        let index = index_of(slice, &self.batch());
        let batch_dims = self.dims.indices_batch_dims(shape.len());
        let at: usize = batch_dims.iter().zip(&index).map(|(&d, i)| index_strides[d] as usize * i).sum();
        let step = index_strides.get(self.dims.index_vector_dim).map_or(0, |&step| step as usize);
        let from = builder.code.starts.len() as u32;
        for (k, &d) in self.dims.index_map.iter().enumerate() {
            let index = Place { at: place.word(at + k * step) as u32, step: 0, ..place };
            let most = (self.operand[d] - self.sizes[d]) as u32;
            builder.code.starts.push(Start { index, most, stride: strides[d] as u32 });
        }
        let mut base = first as usize;
        for (&o, &i) in self.dims.operand_batching.iter().zip(&self.dims.indices_batching) {
            let position = batch_dims.iter().position(|&d| d == i).expect("a batch dimension of the indices");
            base += index[position] * strides[o] as usize;
        }
        // The last dimension is a run if the slices have it.
        let (run, outer) = match self.sizes.split_last() {
            Some((&last, outer)) => (last, outer),
            None => (1, &[][..]),
        };
        let numbers = indices(outer).map(|index| {
            let offset: usize = index.iter().zip(&strides).map(|(&i, &stride)| i * stride as usize).sum();
            (base + offset) as u32
        });
        let table = builder.code.table(numbers);
        Window { run: run as u32, table, starts: from..builder.code.starts.len() as u32 }
    }
}

/// Returns the index of element number `i` of an array with these sizes.
fn index_of(i: usize, sizes: &[usize]) -> Vec<usize> {
    let strides = row_major(sizes);
    sizes.iter().zip(strides).map(|(&n, stride)| i / stride as usize % n).collect()
}

/// Returns the indices of all elements of an array with these sizes, in row-major order.
fn indices(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..sizes.iter().product()).map(|i| index_of(i, sizes))
}

/// Adds a `gather`, of a small or a large array. Returns `None` if it has too many slices, or if the program cannot hold
/// one of its arrays.
pub fn gather<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_gather(view)?;
    let sizes = dims.slice_sizes(view);
    let slices = Slices { dims: &dims, operand: view.operand_shape(0), slices: view.result_shape(0), sizes };
    if slices.count() > MAX_SLICES || slices.sizes.contains(&0) {
        return None;
    }
    let index = operand(builder, view.operand(1))?;
    let array = match builder.shape(view.operand(0)) {
        Some(_) => None,
        None => Some(builder.array(view.operand(0))?),
    };
    let from = match array {
        Some(_) => None,
        None => Some(operand(builder, view.operand(0))?),
    };
    if let Some(from) = from.filter(|from| from.step == 0) {
        builder.define(view.result(0), from);
        return Some(());
    }
    let read = builder.code.place(elem, len);
    for slice in 0..slices.count() {
        let first = from.map_or(0, |from| from.at);
        let window = slices.window(builder, slice, first, index, view.operand_shape(1));
        let to = read.at + (slice * slices.len()) as u32;
        let action = match array {
            Some(array) => Action::Read { elem, array, to, window },
            None => Action::Window { to, window },
        };
        builder.push(elem, action);
    }
    let mut words = vec![0; len];
    slices.order().into_iter().enumerate().for_each(|(i, element)| words[element] = read.word(i) as u32);
    builder.arrange(view.result(0), elem, &words);
    Some(())
}

/// Adds a `scatter` to a small array. Returns `None` if it has too many slices or several inputs, if its computation is
/// not a replacement or a reduction of elements that fill words, if a slice may be partly outside of the array, or if the
/// program cannot hold one of its arrays.
pub fn scatter<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let [input, indices, updates] = *view.operands() else { return None };
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_scatter(view)?;
    let (shape, update_shape) = (view.operand_shape(0), view.operand_shape(2));
    let mut sizes = vec![1; shape.len()];
    let walked = dims.window_operand_dims(shape.len());
    walked.iter().zip(&dims.window).for_each(|(&o, &d)| sizes[o] = update_shape[d]);
    let slices = Slices { dims: &dims, operand: shape, slices: update_shape, sizes };
    let is_whole = dims.index_map.iter().all(|&d| slices.sizes[d] == 1);
    if slices.count() > MAX_SLICES || slices.sizes.contains(&0) || !is_whole {
        return None;
    }
    let region = view.regions()[0];
    let is_replaced = view.body.region_results(region)[0] == view.body[region].args[1];
    let combine = match is_replaced {
        true => None,
        false if elem.fills_words() => {
            let kind = reduce_kind_of(view.module, view.body, region, 0)?;
            Some(reduction(reducer(kind), elem, elem.is_wide())?.0)
        }
        false => return None,
    };
    let [from, index, update] = [operand(builder, input)?, operand(builder, indices)?, operand(builder, updates)?];
    let to = builder.code.place(elem, len);
    builder.push(elem, Action::Move { len: len as u32, to: to.at, from });
    let words = slices.order().into_iter().map(|i| update.word(i) as u32).collect::<Vec<_>>();
    let update = builder.ordered(elem, &words);
    for slice in 0..slices.count() {
        let window = slices.window(builder, slice, 0, index, view.operand_shape(1));
        let update = Place { at: update.word(slice * slices.len()) as u32, ..update };
        builder.push(elem, Action::Put { combine, at: to.at, update, window });
    }
    builder.define(view.result(0), to);
    Some(())
}
