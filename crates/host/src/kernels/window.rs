//! Functions that kernels of sliding windows share: operands with padding, and with holes between elements, as arrays.

use crate::kernels::strides::row_major;
use shardwise_ops::window::WindowDim;

/// The positions along a dimension that windows cover, some of which hold elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The number of positions from the first of the first window to the last of the last window.
    pub extent: usize,
    /// The first element that is covered.
    pub first: usize,
    /// The number of elements that are covered.
    pub count: usize,
    /// The position of the first covered element.
    pub at: usize,
    /// The number of positions from element to element.
    pub step: usize,
}

impl Seen {
    /// Returns what `windows` windows cover of `n` elements. There must be at least one window. Returns `None` if a
    /// number overflows, or if the window has no elements.
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
    /// The offset of the first window, in elements of the result.
    pub start: isize,
    /// For each position of the window, row-major, the offset of its element for the first window; `None` outside of
    /// the operand.
    pub places: Vec<Option<isize>>,
}

/// Windows that need more parts than this have no kernel of this kind.
const MAX_PARTS: usize = 64;

/// Windows along one dimension: the first of them, their number, and for each position the index of its element in the
/// first.
type Range = (usize, usize, Vec<Option<usize>>);

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
        let step = from[d] * w.stride as isize / w.base_dilation as isize;
        let extended = |part: &Part, (first, count, inside): &Range| Part {
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
fn ranges(w: &WindowDim, n: usize, windows: usize) -> Option<Vec<Range>> {
    let inside = |i: usize| (0..w.size).map(|k| w.element(i, k, n)).collect::<Vec<_>>();
    if windows > 1 && !w.stride.is_multiple_of(w.base_dilation) {
        return None;
    }
    let mut ranges: Vec<Range> = vec![];
    let mut i = 0;
    while i < windows {
        if ranges.len() == MAX_PARTS {
            return None;
        }
        let first = inside(i);
        let is_alike = |i: usize| first.iter().zip(inside(i)).all(|(a, b)| a.is_some() == b.is_some());
        let count = (i + 1..windows).find(|&i| !is_alike(i)).unwrap_or(windows) - i;
        ranges.push((i, count, first));
        i += count;
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_hold_the_elements_that_windows_find() {
        let mut cases = 0;
        for code in 0..4 * 3 * 3 * 3 * 7 * 6 {
            let mut rest = code;
            let mut draw = |n: usize| (rest % n, rest /= n).0;
            let (size, stride, dilation) = (1 + draw(4), 1 + draw(3), 1 + draw(3));
            let (base_dilation, low, n) = (1 + draw(3), draw(7) as i64 - 3, 1 + draw(6));
            let w = WindowDim { size, stride, low, high: 4, base_dilation, dilation };
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
}
