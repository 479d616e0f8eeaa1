//! Strides of arrays and of some of their dimensions, in elements, and positions at such strides.

/// Returns the strides of a row-major array, in elements.
pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as isize;
    }
    strides
}

/// Returns the positions of the elements of a block, in row-major order. The first element is at `start`, and each
/// dimension of the block, major to minor, has a size and a stride.
pub fn positions(start: isize, dims: impl IntoIterator<Item = (usize, isize)>) -> Vec<isize> {
    dims.into_iter().fold(vec![start], |outer, (size, stride)| {
        outer.into_iter().flat_map(|at| (0..size as isize).map(move |i| at + i * stride)).collect()
    })
}

/// Merges the innermost of some dimensions (sizes and strides, major to minor) as far as possible. Returns the merged
/// dimension as its size and stride, and the number of dimensions in the list before those that were merged. Dimensions
/// of size 1 are merged with any others. If all have size 1, the merged dimension has size and stride 1.
pub fn innermost(dims: &[(usize, isize)]) -> ((usize, isize), usize) {
    let mut whole: Option<(usize, isize)> = None;
    for (i, &(size, stride)) in dims.iter().enumerate().rev().filter(|(_, dim)| dim.0 != 1) {
        whole = match whole {
            None => Some((size, stride)),
            Some((n, inner)) if stride == inner * n as isize => Some((n * size, inner)),
            Some(inner) => return (inner, i + 1),
        };
    }
    (whole.unwrap_or((1, 1)), 0)
}
