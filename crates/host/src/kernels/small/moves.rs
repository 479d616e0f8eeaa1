//! Ops of small programs that move elements, and products.

use super::build::Builder;
use crate::elem::Elem;
use crate::small::{Ins, Place, Start};
use shardwise_base::Literal;
use shardwise_ir::OpView;
use shardwise_ops::NoRegions;
use shardwise_ops::dot::DotDims;

/// A function that adds an op to a small program. Returns `None` if the op is not for small programs.
pub type Build = for<'m> fn(&mut Builder<'_, 'm>, &OpView<'m>) -> Option<()>;

/// Adds an op that only moves elements to places that are known. See [`Builder::movement`].
pub fn movement<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    builder.movement(view)
}

/// Adds an op whose results are its operands.
pub fn alias<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    for (&from, &to) in view.operands().iter().zip(view.results()) {
        let place = builder.value(from)?;
        builder.define(to, place);
    }
    Some(())
}

/// Adds a `dynamic_slice`, whose operand may be a large array.
pub fn dynamic_slice<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let (shape, window) = (view.operand_shape(0), view.result_shape(0));
    if builder.shape(view.operand(0)).is_none() {
        let array = builder.array(view.operand(0))?;
        let starts = builder.starts(view, 1, shape, window)?;
        let table = builder.code.table(window_elements(shape, window));
        let to = builder.code.place(elem, len);
        builder.code.push(Ins::Read { elem, array, to: to.at, table, starts });
        builder.define(view.result(0), to);
        return Some(());
    }
    let from = builder.dense(view, 0)?;
    let starts = builder.starts(view, 1, shape, window)?;
    let table = builder.code.table(window_elements(shape, window).into_iter().map(|w| from.at + w));
    let to = builder.code.place(elem, len);
    builder.code.push(Ins::Window { wide: elem.is_wide(), to: to.at, table, starts });
    builder.define(view.result(0), to);
    Some(())
}

/// Adds a `dynamic_update_slice`. It may change a large array if that is one which the program writes in place.
pub fn dynamic_update_slice<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (shape, window) = (view.operand_shape(0), view.operand_shape(1));
    let update = builder.value(view.operand(1))?;
    let Some((elem, len)) = builder.shape(view.result(0)) else {
        let array = builder.array(view.operand(0)).filter(|&array| builder.is_written(array))?;
        let starts = builder.starts(view, 2, shape, window)?;
        let table = builder.code.table(window_elements(shape, window));
        builder.code.push(Ins::Write { array, update, table, starts });
        builder.define_array(view.result(0), array);
        return Some(());
    };
    let from = builder.value(view.operand(0))?;
    let starts = builder.starts(view, 2, shape, window)?;
    let to = builder.code.place(elem, len);
    builder.code.push(Ins::Move { wide: elem.is_wide(), len: len as u32, to: to.at, from });
    let table = builder.code.table(window_elements(shape, window));
    builder.code.push(Ins::Update { wide: elem.is_wide(), at: to.at, update, table, starts });
    builder.define(view.result(0), to);
    Some(())
}

/// Adds a product of two arrays of one type, whose words hold the sums. Returns `None` for other types.
pub fn dot<'m>(builder: &mut Builder<'_, 'm>, view: &OpView<'m>) -> Option<()> {
    let (elem, len) = builder.shape(view.result(0))?;
    let fills = matches!(elem, Elem::F32 | Elem::F64 | Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64);
    let is_same = view.operands().iter().all(|&v| builder.shape(v).is_some_and(|(e, _)| e == elem));
    if !fills || !is_same {
        return None;
    }
    let dims = DotDims::of(view)?;
    let [left, right] = [0, 1].map(|i| builder.value(view.operand(i)));
    let (left, right) = (left?, right?);
    let factors = factors(&dims, view.operand_shape(0), view.operand_shape(1));
    let words = factors.into_iter().flat_map(|(a, b)| [left.word(a) as u32, right.word(b) as u32]);
    let table = builder.code.table(words);
    let to = builder.code.place(elem, len);
    let (wide, is_float) = (elem.is_wide(), elem.is_float());
    builder.code.push(Ins::Dot { wide, is_float, len: len as u32, to: to.at, table });
    builder.define(view.result(0), to);
    Some(())
}

impl<'m> Builder<'_, 'm> {
    /// Adds an op that only moves elements to places that are known. Where they go is what the op's reference
    /// evaluation makes of the numbers of their words. If these are consecutive or all equal, the result has the
    /// words of the operand.
    pub(super) fn movement(&mut self, view: &OpView<'m>) -> Option<()> {
        let (elem, len) = self.shape(view.result(0))?;
        let mut operands = vec![];
        for (i, &v) in view.operands().iter().enumerate() {
            let place = self.value(v)?;
            operands.push(Literal::from_fn(view.operand_shape(i), |e| place.word(e) as u32));
        }
        let moved = shardwise_ops::evaluate(view, &operands, &mut NoRegions).ok()?;
        let words = moved.first()?.to_dense();
        let words = words.as_slice::<u32>();
        let place = match consecutive(words) {
            Some(step) => Place { elem, at: words[0], step },
            None => {
                let table = self.code.table(words.iter().copied());
                let to = self.code.place(elem, len);
                self.code.push(Ins::Copy { wide: elem.is_wide(), to: to.at, table });
                to
            }
        };
        self.define(view.result(0), place);
        Some(())
    }

    /// Returns the place of an operand with one word for each element.
    fn dense(&mut self, view: &OpView<'m>, i: usize) -> Option<Place> {
        let place = self.value(view.operand(i))?;
        let (elem, len) = self.shape(view.operand(i))?;
        if place.step == 1 || len == 1 {
            return Some(place);
        }
        let to = self.code.place(elem, len);
        self.code.push(Ins::Move { wide: elem.is_wide(), len: len as u32, to: to.at, from: place });
        Some(to)
    }

    /// Returns the starts of a window of an array. Its operands from number `first` on state them.
    fn starts(
        &mut self,
        view: &OpView<'m>,
        first: usize,
        shape: &[usize],
        window: &[usize],
    ) -> Option<std::ops::Range<u32>> {
        let from = self.code.starts.len() as u32;
        for d in 0..shape.len() {
            let index = self.value(view.operand(first + d))?;
            let stride = shape[d + 1..].iter().product::<usize>() as u32;
            self.code.starts.push(Start { index, most: (shape[d] - window[d]) as u32, stride });
        }
        Some(from..self.code.starts.len() as u32)
    }
}

/// Returns the distance between neighbours if it is 0 or 1 everywhere, or 0 for a single word. Else returns `None`.
fn consecutive(words: &[u32]) -> Option<u32> {
    let all = |step: u32| words.windows(2).all(|pair| pair[1] == pair[0] + step);
    [0, 1].into_iter().find(|&step| all(step))
}

/// Returns the numbers of the elements of a window that starts at 0, in an array of this shape.
fn window_elements(shape: &[usize], window: &[usize]) -> Vec<u32> {
    let stride = |d: usize| shape[d + 1..].iter().product::<usize>() as u32;
    (0..shape.len()).fold(vec![0], |words, d| {
        words.iter().flat_map(|w| (0..window[d] as u32).map(move |i| (w, i))).map(|(w, i)| w + i * stride(d)).collect()
    })
}

/// Returns the numbers of the two elements of each product. Those of one result follow each other.
fn factors(dims: &DotDims, lhs: &[usize], rhs: &[usize]) -> Vec<(usize, usize)> {
    let stride = |shape: &[usize], d: usize| shape[d + 1..].iter().product::<usize>();
    let mut pairs = vec![(0, 0)];
    let mut extend = |size: usize, left: usize, right: usize| {
        pairs = pairs.iter().flat_map(|&(a, b)| (0..size).map(move |i| (a + i * left, b + i * right))).collect();
    };
    for (&l, &r) in dims.lhs_batch.iter().zip(&dims.rhs_batch) {
        extend(lhs[l], stride(lhs, l), stride(rhs, r));
    }
    dims.lhs_free(lhs.len()).into_iter().for_each(|d| extend(lhs[d], stride(lhs, d), 0));
    dims.rhs_free(rhs.len()).into_iter().for_each(|d| extend(rhs[d], 0, stride(rhs, d)));
    for (&l, &r) in dims.lhs_contract.iter().zip(&dims.rhs_contract) {
        extend(lhs[l], stride(lhs, l), stride(rhs, r));
    }
    pairs
}
