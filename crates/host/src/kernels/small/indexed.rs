//! Gathers and scatters in small programs: one window for each slice.

use super::builder::{Builder, Held};
use super::moves::{operand, window_at};
use crate::block::program::reduction;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::{positions, row_major};
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
    fn count(&self) -> usize {
        self.dims.batch_dims(self.slices.len()).iter().map(|&d| self.slices[d]).product()
    }

    /// Returns the number of elements of a slice.
    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns the number, among all elements in row-major order, of each element of the slices, slice by slice.
    fn order(&self) -> Vec<isize> {
        let strides = row_major(self.slices);
        let batch = self.dims.batch_dims(self.slices.len());
        positions(0, batch.iter().chain(&self.dims.window).map(|&d| (self.slices[d], strides[d])))
    }

    /// Returns the windows that the slices are, one after the other. `first` is the number of the operand's first
    /// element, `place` is that of the indices, and `shape` is their shape.
    fn windows(&self, builder: &mut Builder<'_, '_>, first: u32, place: Place, shape: &[usize]) -> Vec<Window> {
        let (strides, index_strides) = (row_major(self.operand), row_major(shape));
        let batch = self.dims.indices_batch_dims(shape.len());
        let batching = |d: usize| self.dims.indices_batching.iter().position(|&i| i == d);
        let base_stride = |d: usize| batching(d).map_or(0, |k| strides[self.dims.operand_batching[k]]);
        let bases = positions(first as isize, batch.iter().map(|&d| (shape[d], base_stride(d))));
        let indices = positions(0, batch.iter().map(|&d| (shape[d], index_strides[d])));
        let step = index_strides.get(self.dims.index_vector_dim).copied().unwrap_or(0);
        let window = |(base, index): (isize, isize)| {
            let from = builder.code.starts.len() as u32;
            for (k, &d) in self.dims.index_map.iter().enumerate() {
                let at = place.word((index + step * k as isize) as usize) as u32;
                let most = (self.operand[d] - self.sizes[d]) as u32;
                let start = Start { index: Place { at, step: 0, ..place }, most, stride: strides[d] as u32 };
                builder.code.starts.push(start);
            }
            let starts = from..builder.code.starts.len() as u32;
            window_at(builder, &self.sizes, &strides, base, starts)
        };
        bases.into_iter().zip(indices).map(window).collect()
    }
}

/// Adds a `gather`, of a small or a large array. Returns `None` if it has too many slices, or if the program cannot
/// hold one of its arrays.
pub fn gather<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_gather(view)?;
    let sizes = dims.slice_sizes(view);
    let slices = Slices { dims: &dims, operand: view.operand_shape(0), slices: view.result_shape(0), sizes };
    if slices.count() > MAX_SLICES || slices.sizes.contains(&0) {
        return None;
    }
    let index = operand(builder, view.operand(1))?;
    let from = match builder.shape(view.operand(0)) {
        Some(_) => Held::Words(operand(builder, view.operand(0))?),
        None => Held::Array(builder.array(view.operand(0))?),
    };
    let first = match from {
        Held::Words(place) if place.step == 0 => {
            builder.define(view.result(0), place);
            return Some(());
        }
        Held::Words(place) => place.at,
        Held::Array(_) => 0,
    };
    let read = builder.code.place(elem, len);
    let windows = slices.windows(builder, first, index, view.operand_shape(1));
    for (slice, window) in windows.into_iter().enumerate() {
        let to = read.at + (slice * slices.len()) as u32;
        let action = match from {
            Held::Words(_) => Action::Window { to, window },
            Held::Array(array) => Action::Read { elem, array, to, window },
        };
        builder.push(elem, action);
    }
    let mut words = vec![0; len];
    slices.order().into_iter().enumerate().for_each(|(i, at)| words[at as usize] = read.word(i) as u32);
    builder.arrange(view.result(0), elem, &words);
    Some(())
}

/// Adds a `scatter` to a small array. Returns `None` if it has too many slices or several inputs, if its computation is
/// not a replacement or a reduction of elements that fill words, if a slice may be partly outside of the array, or if
/// the program cannot hold one of its arrays.
pub fn scatter<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let [input, indices, updates] = *view.operands() else { return None };
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_scatter(view)?;
    let (shape, update_shape) = (view.operand_shape(0), view.operand_shape(2));
    let sizes = dims.update_sizes(shape, update_shape);
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
    let words: Vec<u32> = slices.order().into_iter().map(|at| update.word(at as usize) as u32).collect();
    let update = builder.ordered(elem, &words);
    let windows = slices.windows(builder, 0, index, view.operand_shape(1));
    for (slice, window) in windows.into_iter().enumerate() {
        let update = Place { at: update.word(slice * slices.len()) as u32, ..update };
        builder.push(elem, Action::Put { combine, at: to.at, update, window });
    }
    builder.define(view.result(0), to);
    Some(())
}
