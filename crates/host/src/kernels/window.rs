//! Functions that kernels of sliding windows share: operands with padding, and with holes between elements, as arrays.

use crate::kernels::strides::row_major;
use shardwise_ops::window::WindowDim;
use std::collections::BTreeSet;
use std::ops::Range;

/// The positions along a dimension from the first position of the first window to the last position of the last window.
/// Some of them hold elements. Positions between windows count, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The number of these positions.
    pub extent: usize,
    /// The index of the first element that one of the positions holds, or 0 if none holds one.
    pub first: usize,
    /// The number of elements that the positions hold.
    pub count: usize,
    /// The position of the first of these elements, counted from the first position, or 0 if there are none.
    pub at: usize,
    /// The number of positions from element to element.
    pub step: usize,
}

impl Seen {
    /// Returns the positions of `windows` windows over `n` elements. There must be at least one window. Returns `None`
    /// if a number overflows, or if the window has no elements.
    pub fn new(w: &WindowDim, n: usize, windows: usize) -> Option<Seen> {
        let last =
            (windows - 1).checked_mul(w.stride)?.checked_add((w.size.checked_sub(1)?).checked_mul(w.dilation)?)?;
        let (last, step) = (i64::try_from(last).ok()?, i64::try_from(w.base_dilation).ok()?);
        let first = w.low.checked_neg()?.max(0).div_euclid(step) + i64::from(w.low.min(0).rem_euclid(step) != 0);
        let end = last.checked_sub(w.low)?.div_euclid(step).saturating_add(1).clamp(0, i64::try_from(n).ok()?);
        let count = (end - first).max(0);
        let at = if count == 0 { 0 } else { first * step + w.low };
        Some(Seen {
            extent: last as usize + 1,
            first: if count == 0 { 0 } else { first as usize },
            count: count as usize,
            at: at as usize,
            step: step as usize,
        })
    }

    /// Returns true if all positions hold elements, with the same numbers as the positions.
    pub fn is_plain(&self) -> bool {
        self.at == 0 && self.first == 0 && self.count == self.extent && (self.step == 1 || self.count == 1)
    }
}

/// A block of windows in which the same positions are inside of the operand.
pub struct Part {
    /// The number of windows along each dimension.
    pub sizes: Vec<usize>,
    /// The number of elements of the operand from window to window.
    pub strides: Vec<isize>,
    /// The number of the first window among all windows, which are numbered in row-major order.
    pub start: isize,
    /// For each position of the window, row-major, the offset in the operand of its element for the first window, in
    /// elements. It is `None` for a position in the padding or in a hole.
    pub places: Vec<Option<isize>>,
}

/// The largest number of parts that [`parts`] returns. Windows that need more have another kernel or none.
const MAX_PARTS: usize = 64;

/// Windows along one dimension: the number of the first of them, how many there are, and, for each position of a
/// window, the index of its element in the first window, or `None` if it has no element.
type Alike = (usize, usize, Vec<Option<usize>>);

/// Returns parts that together have all windows, for an operand of shape `shape` and `windows[d]` windows along
/// dimension `d`. Returns `None` if there would be too many, or if the elements of successive windows are not at equal
/// distances.
pub fn parts(window: &[WindowDim], shape: &[usize], windows: &[usize]) -> Option<Vec<Part>> {
    let (from, to) = (row_major(shape), row_major(windows));
    let whole = Part { sizes: vec![], strides: vec![], start: 0, places: vec![Some(0)] };
    let mut all = vec![whole];
    for (d, w) in window.iter().enumerate() {
        let ranges = ranges(w, shape[d], windows[d])?;
        if all.len() * ranges.len() > MAX_PARTS {
            return None;
        }
        let step = from[d].wrapping_mul(w.stride as isize) / w.base_dilation as isize;
        let extended = |part: &Part, (first, count, inside): &Alike| Part {
            sizes: [&part.sizes[..], &[*count]].concat(),
            strides: [&part.strides[..], &[step]].concat(),
            start: part.start + *first as isize * to[d],
            places: part
                .places
                .iter()
                .flat_map(|p| inside.iter().map(|i| Some((*p)? + (*i)? as isize * from[d])))
                .collect(),
        };
        all = all.iter().flat_map(|part| ranges.iter().map(|r| extended(part, r))).collect();
    }
    Some(all)
}

/// Divides the windows along a dimension of `n` elements into runs of consecutive windows in which the same positions
/// are inside. Returns `None` if there are too many, or if their elements are not at equal distances.
fn ranges(w: &WindowDim, n: usize, windows: usize) -> Option<Vec<Alike>> {
    if windows > 1 && !w.stride.is_multiple_of(w.base_dilation) {
        return None;
    }
    let mut starts: BTreeSet<usize> = (0..windows.min(1)).collect();
    for k in 0..w.size {
        let inside = windows_with(w, k, n, windows);
        starts.extend([inside.start, inside.end].iter().filter(|&&i| !inside.is_empty() && i < windows));
        if starts.len() > MAX_PARTS {
            return None;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([windows]);
    let inside = |i: usize| (0..w.size).map(|k| w.element(i, k, n)).collect::<Vec<_>>();
    Some(starts.iter().zip(ends).map(|(&start, end)| (start, end - start, inside(start))).collect())
}

/// Returns the windows whose position `k` holds one of `n` elements. They are a range, because the position moves by a
/// whole number of elements from window to window. [`ranges`] checks this if there are several windows.
fn windows_with(w: &WindowDim, k: usize, n: usize, windows: usize) -> Range<usize> {
    let (stride, step) = (w.stride as i128, w.base_dilation as i128);
    let first = k as i128 * w.dilation as i128 - i128::from(w.low);
    if n == 0 || (first % step != 0) {
        return 0..0;
    }
    let last = (n as i128 - 1) * step;
    let from = (-first).max(0).div_euclid(stride) + i128::from((-first).max(0) % stride != 0);
    let to = (last - first).div_euclid(stride) + 1;
    let [from, to] = [from, to].map(|i| i.clamp(0, windows as i128) as usize);
    from..to.max(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of different [`small`] windows.
    const SMALL: usize = 4 * 3 * 3 * 3 * 7 * 6;

    /// Returns a window with small numbers that follow from `code`, and the number of elements along its dimension.
    fn small(code: usize) -> (WindowDim, usize) {
        let mut rest = code;
        let mut draw = |n: usize| (rest % n, rest /= n).0;
        let (size, stride, dilation) = (1 + draw(4), 1 + draw(3), 1 + draw(3));
        let (base_dilation, low, n) = (1 + draw(3), draw(7) as i64 - 3, 1 + draw(6));
        (WindowDim { size, stride, low, high: 4, base_dilation, dilation }, n)
    }

    #[test]
    fn places_hold_the_elements_that_windows_find() {
        let mut cases = 0;
        for code in 0..SMALL {
            let (w, n) = small(code);
            let (size, stride, dilation) = (w.size, w.stride, w.dilation);
            let windows = w.count(n).expect("small");
            if windows == 0 {
                continue;
            }
            let seen = Seen::new(&w, n, windows).expect("small");
            for (i, k) in (0..windows).flat_map(|i| (0..size).map(move |k| (i, k))) {
                let place = i * stride + k * dilation;
                assert!(place < seen.extent);
                let holds = (0..seen.count).find(|j| seen.at + j * seen.step == place).map(|j| seen.first + j);
                assert_eq!(holds, w.element(i, k, n), "{w:?} {seen:?} {i} {k}");
            }
            cases += 1;
        }
        assert!(cases > 3000, "{cases}");
    }

    #[test]
    fn windows_of_a_range_have_the_same_positions_inside() {
        let mut cases = 0;
        for (w, n) in (0..SMALL).map(small) {
            let windows = w.count(n).expect("small");
            let inside = |i: usize| (0..w.size).map(|k| w.element(i, k, n)).collect::<Vec<_>>();
            let pattern = |i: usize| inside(i).iter().map(Option::is_some).collect::<Vec<_>>();
            let Some(ranges) = ranges(&w, n, windows) else {
                assert!(windows > 1 && w.stride % w.base_dilation != 0);
                continue;
            };
            let mut next = 0;
            for (start, count, elements) in ranges {
                assert_eq!((start, elements), (next, inside(start)), "{w:?} {n}");
                assert!((start..start + count).all(|i| pattern(i) == pattern(start)), "{w:?} {n}");
                assert!(start == 0 || pattern(start - 1) != pattern(start), "{w:?} {n}");
                next += count;
                cases += 1;
            }
            assert_eq!(next, windows);
        }
        assert!(cases > 4000, "{cases}");
    }

    #[test]
    fn many_windows_are_divided_at_once() {
        let w = WindowDim { size: 3, stride: 1, low: 1, high: 1, base_dilation: 1, dilation: 1 };
        let n = 1 << 60;
        let starts: Vec<usize> = ranges(&w, n, n).expect("few").iter().map(|range| range.0).collect();
        assert_eq!(starts, [0, 1, n - 1]);
    }
}
