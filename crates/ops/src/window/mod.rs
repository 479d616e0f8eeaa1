//! Ops with windows that move over tensors: `reduce_window`, `select_and_scatter`, `convolution`.

mod convolution;
mod reduce_window;
mod running;
mod select_and_gather;
mod select_and_scatter;
#[cfg(test)]
mod tests;

pub(crate) use convolution::CONV_DIMENSIONS;
pub use convolution::{ConvDims, Convolution, group_count};
pub use reduce_window::{ReduceWindow, window as reduced_window};
pub use select_and_scatter::{SelectAndScatter, window as selecting_window};

use crate::Opcode;
use crate::check::Check;
use crate::movement::{Fill, Read, WindowsCx, WindowsDim};
use crate::shapes::Pad;
use shardwise_base::Literal;
use shardwise_ir::{Attr, Attrs, OpView, Value};

/// The size, stride, padding and dilations with which a window moves along one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowDim {
    /// The number of elements of the window.
    pub size: usize,
    pub stride: usize,
    pub low: i64,
    pub high: i64,
    /// One more than the number of holes between elements of the tensor.
    pub base_dilation: usize,
    /// One more than the number of elements that are skipped between two elements of the window.
    pub dilation: usize,
}

impl WindowDim {
    /// Returns the number of positions of the window along a dimension of `n` elements. It is 0 if the window does not
    /// fit, or if nothing is left of the dimension. Returns `None` if the number overflows, or the size of the
    /// dimension or of the window with its holes.
    ///
    /// # Panics
    /// Panics if the stride is 0 and the window fits.
    pub fn count(&self, n: usize) -> Option<usize> {
        let spread = |n: usize, by: usize| n.checked_sub(1).map_or(Some(0), |n| n.checked_mul(by)?.checked_add(1));
        // The sum of all amounts may fit although a part of it does not.
        let padded = spread(n, self.base_dilation)? as i128 + i128::from(self.low) + i128::from(self.high);
        let places = padded - spread(self.size, self.dilation)? as i128;
        if padded <= 0 || places < 0 { Some(0) } else { (usize::try_from(places).ok()? / self.stride).checked_add(1) }
    }

    /// Returns the index, in a dimension of `n` elements, of element `k` of the window at position `i`. Returns `None`
    /// if padding or a hole of the base dilation is there. `i` and `k` are not checked.
    pub fn element(&self, i: usize, k: usize, n: usize) -> Option<usize> {
        // The index may be outside of 64 bits behind the dimension only. It then wraps to a negative number.
        let from_low = i.wrapping_mul(self.stride).wrapping_add(k.wrapping_mul(self.dilation));
        let at = (from_low as i64).wrapping_sub(self.low);
        let step = self.base_dilation as i64;
        let index = at.div_euclid(step) as usize;
        (at >= 0 && at % step == 0 && index < n).then_some(index)
    }

    /// The window of single elements, in order.
    const IDENTITY: WindowDim = WindowDim { size: 1, stride: 1, low: 0, high: 0, base_dilation: 1, dilation: 1 };

    /// Returns the window that moves over the `places` positions of this window, and that meets for each of the `n`
    /// elements of the dimension the positions at which this window meets the element. Returns `None` if there are no
    /// elements or positions, if this window has no elements, or if a number overflows.
    fn transposed(&self, n: usize, places: usize) -> Option<WindowDim> {
        let (elements, extent) = (size_with_holes(n, self.base_dilation)?, size_with_holes(self.size, self.dilation)?);
        let low = extent.checked_sub(self.low)?.checked_sub(1)?;
        let rest = elements.checked_add(extent)?.checked_sub(size_with_holes(places, self.stride)?)?;
        let high = rest.checked_sub(low)?.checked_sub(1)?;
        let (stride, base_dilation) = (self.base_dilation, self.stride);
        Some(WindowDim { stride, low, high, base_dilation, ..*self })
    }

    /// Returns true if the windows are the single elements, in order.
    pub fn is_identity(&self) -> bool {
        let WindowDim { size, stride, low, high, base_dilation, .. } = *self;
        size == 1 && stride == 1 && low == 0 && high == 0 && base_dilation == 1
    }
}

impl WindowDim {
    fn read(&self, operand: usize, dim: usize, fill: Fill) -> Option<Read> {
        let signed = |n: usize| i64::try_from(n).ok();
        let extent = (signed(self.size)? - 1).checked_mul(signed(self.dilation)?)?.checked_add(1)?;
        let (stride, base) = (signed(self.stride)?, signed(self.base_dilation)?);
        Some(Read { operand, dim, stride, base, low: self.low, extent, wraps: false, fill, inside: None })
    }
}

impl WindowDim {
    /// Returns the window of elements that one element of this window meets at its `places` positions: element `k`
    /// meets those from `k * dilation` on, a stride apart.
    fn by_elements(self, places: usize) -> WindowDim {
        WindowDim { size: places, stride: self.dilation, dilation: self.stride, ..self }
    }

    /// Returns the window of [`WindowDim::by_elements`] with the padding at which it has, along a dimension of `n`
    /// elements, one position for each element of this window. Returns `None` if there are no elements or positions, if
    /// this window has no elements, or if a number overflows.
    fn by_all_elements(self, n: usize, places: usize) -> Option<WindowDim> {
        let (elements, extent) = (size_with_holes(n, self.base_dilation)?, size_with_holes(self.size, self.dilation)?);
        let rest = size_with_holes(places, self.stride)?.checked_sub(elements)?.checked_add(extent)?;
        let high = rest.checked_sub(self.low)?.checked_sub(1)?;
        Some(WindowDim { high, ..self.by_elements(places) })
    }
}

/// Returns the size of `n` elements with `by - 1` holes between two of them. Returns `None` if there are no elements, or
/// if the size overflows.
fn size_with_holes(n: usize, by: usize) -> Option<i64> {
    i64::try_from(n.checked_sub(1)?.checked_mul(by)?.checked_add(1)?).ok()
}

/// Returns the op's attributes with the `padding` of `window`, in which the padding of the context's windows replaces
/// that of their dimensions. `place(dim)` is the row of dimension `dim` of the results.
fn padded_by_windows(cx: &WindowsCx<'_, '_>, window: &[WindowDim], place: impl Fn(usize) -> usize) -> Attrs {
    let mut padding: Vec<i64> = window.iter().flat_map(|w| [w.low, w.high]).collect();
    for &WindowsDim { dim, low, high, .. } in &cx.dims {
        let row = 2 * place(dim);
        padding[row..row + 2].copy_from_slice(&[low, high]);
    }
    cx.op.attrs().clone().with("padding", Attr::Dense(Literal::new(vec![window.len(), 2], &padding)))
}

impl WindowDim {
    /// Returns the window that meets the same elements as this one where the `padded` elements of its dimension are
    /// `size` elements with padding before, after and between them. Returns the window itself if all padding is 0.
    /// Returns `None` if no such window is known.
    fn before_padding(self, [low, high, interior]: [i64; 3], size: usize, padded: usize) -> Option<WindowDim> {
        if [low, high, interior] == [0; 3] {
            return Some(self);
        }
        let shows_removed = (low < 0 && self.low > 0) || (high < 0 && self.high > 0);
        if shows_removed || size == 0 || padded == 0 {
            return None;
        }
        let base = i64::try_from(self.base_dilation).ok()?;
        let widened = |own: i64, by: i64| own.checked_add(by.checked_mul(base)?);
        let step = usize::try_from(interior.checked_add(1)?).ok()?;
        Some(WindowDim {
            low: widened(self.low, low)?,
            high: widened(self.high, high)?,
            base_dilation: self.base_dilation.checked_mul(step)?,
            ..self
        })
    }
}

/// Returns the operands of the `pad`s whose results are the first `count` operands of a window op, and how the op's
/// window moves over them. The dimensions of `window` are the dimensions `dims` of the operands. `is_fill` gets the
/// index of an operand and its `pad`, and returns true if the padding has the elements that it must have. Returns
/// `None` if an operand is no such `pad`, if the `pad`s differ in their amounts, if they pad other dimensions than
/// `dims`, or if no such window is known.
///
/// ```text
/// windows of 2 over pad(x, low = 1, high = 1, interior = 1)
/// -> windows of 2 over x with low = 1, high = 1, base_dilation = 2
/// ```
fn before_paddings(
    op: &OpView<'_>,
    window: &[WindowDim],
    dims: &[usize],
    count: usize,
    is_fill: impl Fn(usize, &OpView<'_>) -> bool,
) -> Option<(Vec<Value>, Vec<WindowDim>)> {
    let pad = |i: usize| op.operand_def(i).filter(|def| Opcode::of_view(def) == Opcode::Pad && is_fill(i, def));
    let pads: Vec<OpView<'_>> = (0..count).map(pad).collect::<Option<_>>()?;
    let first = pads.first()?;
    let [low, high, interior] = Pad::amounts(first);
    let amounts = |d: usize| [low[d], high[d], interior[d]];
    let is_alike = |pad: &OpView<'_>| Pad::amounts(pad) == Pad::amounts(first);
    let is_plain = |d: usize| dims.contains(&d) || amounts(d) == [0; 3];
    if !pads.iter().all(is_alike) || !(0..low.len()).all(is_plain) {
        return None;
    }
    let (shape, padded) = (first.operand_shape(0), first.result_shape(0));
    let moved = window.iter().zip(dims).map(|(w, &d)| w.before_padding(amounts(d), shape[d], padded[d]));
    Some((pads.iter().map(|pad| pad.operand(0)).collect(), moved.collect::<Option<_>>()?))
}

fn window_attrs(window: &[WindowDim], names: [&str; 4]) -> Attrs {
    let padding: Vec<i64> = window.iter().flat_map(|w| [w.low, w.high]).collect();
    let lists: [fn(&WindowDim) -> usize; 4] = [|w| w.size, |w| w.stride, |w| w.base_dilation, |w| w.dilation];
    let named = names.into_iter().zip(lists).filter(|(name, _)| !name.is_empty());
    let attrs: Attrs =
        named.map(|(name, of)| (name, Attr::sizes(&window.iter().map(of).collect::<Vec<_>>()))).collect();
    attrs.with("padding", Attr::Dense(Literal::new(vec![window.len(), 2], &padding)))
}

fn with_window(op: &OpView<'_>, window: &[WindowDim], dilations: &str) -> Attrs {
    let padding: Vec<i64> = window.iter().flat_map(|w| [w.low, w.high]).collect();
    let steps: Vec<usize> = window.iter().map(|w| w.base_dilation).collect();
    let padding = Attr::Dense(Literal::new(vec![window.len(), 2], &padding));
    op.attrs().clone().with("padding", padding).with(dilations, Attr::sizes(&steps))
}

/// The labels of the constraints on a window. The first of two labels is for the count of numbers, the second for their
/// values.
struct WindowLabels {
    sizes: [&'static str; 2],
    strides: [&'static str; 2],
    base_dilations: [&'static str; 2],
    dilations: [&'static str; 2],
    padding: &'static str,
}

/// Reads the attributes of a window of this rank, and reports those that are broken. In their place, and in place of
/// absent ones, the sizes, strides and dilations are 1 and the padding is 0.
///
/// `names` are the names of the attributes for the sizes, the strides, the dilations of the tensor and those of the
/// window. An empty name has no attribute. `sizes` are the window's sizes if no attribute has them.
fn read_window(
    op: &OpView<'_>,
    check: &mut Check<'_, '_>,
    names: [&str; 4],
    sizes: Option<Vec<usize>>,
    rank: usize,
    labels: &WindowLabels,
) -> Vec<WindowDim> {
    let mut list = |name: &str, [count, positive]: [&'static str; 2], given: Option<Vec<usize>>| {
        let given = given.map(|l| l.iter().map(|&n| n as i64).collect());
        let read: Option<Vec<i64>> = given.or_else(|| op.attr(name).map_or_else(|| Some(vec![1; rank]), Attr::to_ints));
        let good = read.filter(|l| l.len() == rank);
        check.that(count, good.is_some(), &format!("`{name}` must have one number for each dimension of the window"));
        let good = good.unwrap_or_else(|| vec![1; rank]);
        check.that(positive, good.iter().all(|&n| n > 0), &format!("the numbers of `{name}` must be positive"));
        good.into_iter().map(|n| usize::try_from(n).unwrap_or(1).max(1)).collect::<Vec<usize>>()
    };
    let sizes = list(names[0], labels.sizes, sizes);
    let strides = list(names[1], labels.strides, None);
    let base_dilations = list(names[2], labels.base_dilations, None);
    let dilations = list(names[3], labels.dilations, None);
    let padding = read_padding(op, rank);
    let rule = "`padding` must have two numbers for each dimension of the window";
    check.that(labels.padding, padding.is_some(), rule);
    let padding = padding.unwrap_or_else(|| vec![(0, 0); rank]);
    (0..rank)
        .map(|d| WindowDim {
            size: sizes[d],
            stride: strides[d],
            low: padding[d].0,
            high: padding[d].1,
            base_dilation: base_dilations[d],
            dilation: dilations[d],
        })
        .collect()
}

/// Returns the low and high padding of each dimension, which are zero if the attribute is absent, or `None` if it is
/// broken.
fn read_padding(op: &OpView<'_>, rank: usize) -> Option<Vec<(i64, i64)>> {
    let Some(attr) = op.attr("padding") else { return Some(vec![(0, 0); rank]) };
    let flat = attr.to_ints()?;
    let is_table = attr.as_dense().is_none_or(|x| x.shape() == [rank, 2]);
    (is_table && flat.len() == 2 * rank).then(|| flat.chunks(2).map(|p| (p[0], p[1])).collect())
}

fn verified_window(op: &OpView<'_>, names: [&str; 4], sizes: Option<Vec<usize>>, rank: usize) -> Vec<WindowDim> {
    let none = ["", ""];
    let none = WindowLabels { sizes: none, strides: none, base_dilations: none, dilations: none, padding: "" };
    read_window(op, &mut Check::new(op), names, sizes, rank, &none)
}

fn places(window: &[WindowDim], shape: &[usize]) -> Option<Vec<usize>> {
    window.iter().zip(shape).map(|(w, &n)| w.count(n)).collect()
}

/// Calls `f` with the row-major position in a tensor of each element of the window at `place`, in row-major order of
/// the window. Calls it with `None` for padding or a hole.
fn for_each_element(window: &[WindowDim], shape: &[usize], place: &[usize], mut f: impl FnMut(Option<usize>)) {
    let sizes: Vec<usize> = window.iter().map(|w| w.size).collect();
    crate::index::for_each_index(&sizes, |k| {
        let at =
            (0..shape.len()).try_fold(0, |at, d| Some(at * shape[d] + window[d].element(place[d], k[d], shape[d])?));
        f(at);
    });
}
