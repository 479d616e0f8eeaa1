//! Gathers and scatters in small programs: windows of one slice for each index.

use super::builder::{Builder, Held, Parts};
use super::moves::{Elements, operand, window_at};
use crate::block::program::reduction;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::{positions, row_major};
use crate::small::{Action, Place, Start, Window};
use shardwise_base::Literal;
use shardwise_ir::OpView;
use shardwise_ops::index::IndexDims;
use shardwise_ops::reducer::reduce_kind_of;

/// The largest number of slices of a gather or scatter in a small program.
const MAX_SLICES: usize = 1 << 13;

/// The largest number of real elements of the result of a scatter that is a copy of words of the input and the updates.
const MAX_COPIED: usize = 256;

/// The slices of an op, and the windows of the operand that they are.
struct Slices<'a> {
    dims: &'a IndexDims,
    /// The shape of the operand.
    operand: &'a [usize],
    /// The shape of all slices: of the result of a gather, or of the updates of a scatter.
    slices: &'a [usize],
    /// The size of a slice along each dimension of the operand.
    sizes: Vec<usize>,
    /// The real elements of the operand.
    parts: Parts,
}

impl Slices<'_> {
    fn count(&self) -> usize {
        self.dims.batch_dims(self.slices.len()).iter().map(|&d| self.slices[d]).product()
    }

    /// Returns the number, among the words of all slices as one array, of each real element of the slices, slice by
    /// slice.
    fn order(&self) -> Vec<u32> {
        let all = row_major(self.slices);
        let dim = |&d: &usize| (self.slices[d], all[d]);
        let batch = self.dims.batch_dims(self.slices.len());
        let parts = (self.parts.count, self.slices.iter().product::<usize>() as isize);
        let dims = batch.iter().map(dim).chain([parts]).chain(self.dims.window.iter().map(dim));
        positions(0, dims).into_iter().map(|e| e as u32).collect()
    }

    /// Returns the elements of the operand that the first slice has if all its starts are 0.
    fn elements(&self) -> Elements<'_> {
        Elements { shape: &self.sizes, strides: row_major(self.operand), start: 0, parts: self.parts }
    }

    /// Returns, for each slice, the number of the operand's first real element at its batch dimensions, and the number
    /// of the first of its indices. The array of all indices has the shape `shape`.
    fn bases(&self, shape: &[usize]) -> Vec<(isize, isize)> {
        let (strides, index_strides) = (row_major(self.operand), row_major(shape));
        let batch = self.dims.indices_batch_dims(shape.len());
        let batching = |d: usize| self.dims.indices_batching.iter().position(|&i| i == d);
        let base_stride = |d: usize| batching(d).map_or(0, |k| self.stride(strides[self.dims.operand_batching[k]]));
        let bases = positions(0, batch.iter().map(|&d| (shape[d], base_stride(d))));
        let indices = positions(0, batch.iter().map(|&d| (shape[d], index_strides[d])));
        bases.into_iter().zip(indices).collect()
    }

    /// Returns the number of real elements of a stride in elements.
    fn stride(&self, stride: isize) -> isize {
        stride * self.parts.element as isize
    }

    /// Returns, for each index of a slice, the dimension of the operand, the largest start, and the distance from the
    /// slice's first index to this one, in elements of the array of all indices, which has this shape.
    fn starts(&self, shape: &[usize]) -> Vec<(usize, usize, isize)> {
        let step = row_major(shape).get(self.dims.index_vector_dim).copied().unwrap_or(0);
        let start = |(k, &d): (usize, &usize)| (d, self.operand[d] - self.sizes[d], step * k as isize);
        self.dims.index_map.iter().enumerate().map(start).collect()
    }

    /// Returns the window that the slices are. `first` is the number of the operand's first real element, `place` is
    /// the place of the indices, and `shape` is the shape of the indices.
    fn window(&self, builder: &mut Builder<'_, '_>, first: u32, place: Place, shape: &[usize]) -> Window {
        let (strides, from) = (row_major(self.operand), builder.code.starts.len() as u32);
        for (d, most, index) in self.starts(shape) {
            let index = Place { at: place.word(index as usize) as u32, step: 0, ..place };
            builder.code.starts.push(Start { index, most: most as u32, stride: self.stride(strides[d]) as u32 });
        }
        let starts = from..builder.code.starts.len() as u32;
        let bases = self.bases(shape).into_iter();
        let slices = bases.flat_map(|(base, index)| [base as u32, place.step * index as u32]);
        let slices = builder.code.table(slices);
        Window { slices, ..window_at(builder, &self.elements(), first, starts) }
    }

    /// Returns the number of the operand's first real element of each slice, given the indices. `None` stands for a
    /// slice with a start that is not between 0 and the largest one. If `is_clamped`, such starts become the nearest of
    /// these.
    fn known_firsts(&self, indices: &Literal, is_clamped: bool) -> Vec<Option<isize>> {
        let (strides, starts) = (row_major(self.operand), self.starts(indices.shape()));
        let first = |(base, at): (isize, isize)| {
            starts.iter().try_fold(base, |first, &(d, most, index)| {
                let start = indices.get_i128((at + index) as usize);
                let inside = start.clamp(0, most as i128);
                (is_clamped || inside == start).then(|| first + inside as isize * self.stride(strides[d]))
            })
        };
        self.bases(indices.shape()).into_iter().map(first).collect()
    }
}

/// Adds a `gather`, of a small or a large array. Returns `None` if it has too many slices, or slices without elements,
/// if the result is not small, or if the program cannot read an operand.
pub fn gather<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_gather(view)?;
    let (sizes, parts) = (dims.slice_sizes(view), builder.parts(view.operand(0)));
    let slices = Slices { dims: &dims, operand: view.operand_shape(0), slices: view.result_shape(0), sizes, parts };
    if slices.count() > MAX_SLICES || slices.sizes.contains(&0) {
        return None;
    }
    if builder.shape(view.operand(0)).is_some()
        && let Some(indices) = builder.known(view.operand(1)).map(Literal::to_dense)
    {
        let from = operand(builder, view.operand(0))?;
        let elements = slices.elements().all();
        let firsts = slices.known_firsts(&indices, true).into_iter().flatten();
        let read = firsts.flat_map(|first| elements.iter().map(move |&e| first as usize + e as usize));
        let mut words = vec![0; len];
        slices.order().iter().zip(read).for_each(|(&at, e)| words[at as usize] = from.word(e) as u32);
        builder.arrange(view.result(0), elem, &words);
        return Some(());
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
    let (to, window) = (read.at, slices.window(builder, first, index, view.operand_shape(1)));
    let action = match from {
        Held::Words(_) => Action::Window { to, window },
        Held::Array(array) => Action::Read { elem, array, to, window },
    };
    builder.push(elem, action);
    let mut words = vec![0; len];
    slices.order().into_iter().enumerate().for_each(|(i, at)| words[at as usize] = read.word(i) as u32);
    builder.arrange(view.result(0), elem, &words);
    Some(())
}

/// Adds a `scatter` to a small array. Returns `None` if it has too many slices, slices without elements or several
/// inputs, if its computation is not a replacement or a reduction of real elements that fill words, if a slice may be
/// partly outside of the array, if one of its arrays is not small, or if the program cannot read an operand. The
/// updates are applied slice by slice, and the op is refused if this could differ from row-major order.
pub fn scatter<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let [input, indices, updates] = *view.operands() else { return None };
    let (elem, len) = builder.shape(view.result(0))?;
    let dims = IndexDims::of_scatter(view)?;
    let (shape, update_shape) = (view.operand_shape(0), view.operand_shape(2));
    let (sizes, parts) = (dims.update_sizes(shape, update_shape), builder.parts(input));
    let slices = Slices { dims: &dims, operand: shape, slices: update_shape, sizes, parts };
    if slices.count() > MAX_SLICES
        || slices.sizes.contains(&0)
        || !slices.dims.keeps_order(slices.operand.len(), slices.slices)
    {
        return None;
    }
    let known = builder.known(indices).map(|indices| slices.known_firsts(&indices.to_dense(), false));
    let inside: Option<Vec<isize>> = known.and_then(|firsts| firsts.into_iter().collect());
    let is_whole = inside.is_some() || dims.index_map.iter().all(|&d| slices.sizes[d] == 1);
    is_whole.then_some(())?;
    let region = view.regions()[0];
    let is_replaced = view.body.region_results(region)[0] == view.body[region].args[1];
    let combine = match is_replaced {
        true => None,
        false if elem.fills_words() && parts.count == 1 => {
            let kind = reduce_kind_of(view.module, view.body, region, 0)?;
            Some(reduction(reducer(kind), elem, elem.is_wide())?.0)
        }
        false => return None,
    };
    let [from, index, update] = [operand(builder, input)?, operand(builder, indices)?, operand(builder, updates)?];
    if let (Some(firsts), None) = (inside, combine)
        && len <= MAX_COPIED
    {
        let elements = slices.elements().all();
        let replaced = firsts.iter().flat_map(|&first| elements.iter().map(move |&e| first as usize + e as usize));
        let mut words: Vec<u32> = (0..len).map(|i| from.word(i) as u32).collect();
        replaced.zip(slices.order()).for_each(|(e, at)| words[e] = update.word(at as usize) as u32);
        builder.arrange(view.result(0), elem, &words);
        return Some(());
    }
    let to = builder.code.place(elem, len);
    builder.push(elem, Action::Move { len: len as u32, to: to.at, from });
    let words: Vec<u32> = slices.order().into_iter().map(|at| update.word(at as usize) as u32).collect();
    let update = builder.ordered(elem, &words);
    let window = slices.window(builder, 0, index, view.operand_shape(1));
    builder.push(elem, Action::Put { combine, at: to.at, update, window });
    builder.define(view.result(0), to);
    Some(())
}
