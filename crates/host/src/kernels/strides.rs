//! Strides of arrays and of some of their dimensions, in elements.

/// Returns the strides of a row-major array, in elements.
pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as isize;
    }
    strides
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
