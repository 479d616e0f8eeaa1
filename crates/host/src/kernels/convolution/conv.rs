//! Convolutions as their attributes and types state them, and their operands in the layouts that kernels read.

use crate::elem::Elem;
use crate::kernels::copies::Moves;
use crate::kernels::strides::{innermost, row_major};
use crate::kernels::window::Seen;
use crate::movement::Move;
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::window::{ConvDims, WindowDim, group_count};

/// If the copy of an input would have more than this many times the bytes of the two operands and the result together,
/// the reference evaluation runs instead.
const MAX_SPREAD: usize = 16;

/// The parameters of a convolution whose operands and result have elements.
pub struct Conv {
    pub dims: ConvDims,
    pub window: Vec<WindowDim>,
    pub reversed: Vec<bool>,
    pub feature_groups: usize,
    pub batch_groups: usize,
    pub elem: Elem,
    pub out: Elem,
}

/// An operand in the layout in which it is read: its strides in elements. [`Conv::input`] and [`Conv::matrix`] state
/// which dimensions they belong to.
pub struct Array {
    pub strides: Vec<isize>,
    /// The copy that has the strides, if the operand does not have them.
    pub copy: Option<(Moves, TensorType)>,
}

impl Conv {
    /// Reads the parameters of a convolution. Returns `None` if it has no valid dimension numbers, if an array has no
    /// elements, if the operands have different types, or if kernels do not compute on a type.
    pub fn new(view: &OpView<'_>) -> Option<Conv> {
        let dims = ConvDims::of(view)?;
        let (a, b, c) = (view.operand_tensor(0), view.operand_tensor(1), view.result_tensor(0));
        let is_empty = [a, b, c].iter().any(|t| t.shape.contains(&0));
        (!is_empty && a.dtype == b.dtype).then_some(())?;
        Some(Conv {
            window: dims.window(view),
            reversed: dims.reversed(view),
            dims,
            feature_groups: group_count(view, "feature_group_count"),
            batch_groups: group_count(view, "batch_group_count"),
            elem: Elem::of(a.dtype)?,
            out: Elem::of(c.dtype)?,
        })
    }

    /// Returns the number of input features for which a feature group has room in memory, given that it has `features`.
    /// For `bf16` elements and a kernel with several positions, `features` is rounded up to an even number, because
    /// pieces of windows consist of whole pairs. Otherwise it is `features`.
    pub fn padded_features(&self, features: usize) -> usize {
        let places: usize = self.window.iter().map(|w| w.size).product();
        if self.elem == Elem::BF16 && places > 1 { features.next_multiple_of(2) } else { features }
    }

    /// Returns how the input is read: its strides along batch, spatial dimensions and features. The features of a group
    /// are adjacent. The input is copied if padding or holes are among the positions from the first window to the last,
    /// if the low padding is negative, or if its features are not adjacent or need padding. Returns `None` if a size
    /// overflows, or if the copy would be too large ([`MAX_SPREAD`]).
    pub fn input(&self, view: &OpView<'_>) -> Option<Array> {
        let (ty, out, dims) = (view.operand_tensor(0), view.result_shape(0), &self.dims);
        let spatial = dims.input_spatial.iter().zip(&dims.output_spatial).zip(&self.window);
        let seen = spatial.map(|((&i, &o), w)| Seen::new(w, ty.shape[i], out[o])).collect::<Option<Vec<_>>>()?;
        let (batch, features) = (ty.shape[dims.input_batch], ty.shape[dims.input_feature]);
        let per_group = features / self.feature_groups;
        let padded = self.padded_features(per_group);
        let strides = row_major(&ty.shape);
        let order = |s: &[isize]| -> Vec<isize> {
            let spatial = dims.input_spatial.iter().map(|&d| s[d]);
            std::iter::once(s[dims.input_batch]).chain(spatial).chain([s[dims.input_feature]]).collect()
        };
        let fits = seen.iter().all(Seen::is_plain);
        if fits && padded == per_group && (features == 1 || strides[dims.input_feature] == 1) {
            let mut strides = order(&strides);
            *strides.last_mut().expect("features") = 1;
            return Some(Array { strides, copy: None });
        }
        let extents = seen.iter().map(|s| s.extent);
        let sizes: Vec<usize> = [batch].into_iter().chain(extents).chain([self.feature_groups * padded]).collect();
        let elements = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s))?;
        let bytes = elements.checked_mul(self.elem.size())?;
        let known: u64 = [ty, view.operand_tensor(1), view.result_tensor(0)].iter().map(|t| t.bytes()).sum();
        if bytes / MAX_SPREAD > known as usize {
            return None;
        }
        let to = row_major(&sizes);
        let from = order(&strides);
        let (mut shape, mut start, mut at) = (vec![batch], 0, 0);
        let (mut read, mut write) = (vec![from[0]], vec![to[0]]);
        for (d, s) in seen.iter().enumerate() {
            shape.push(s.count);
            read.push(from[d + 1]);
            write.push(to[d + 1] * s.step as isize);
            start += s.first * from[d + 1] as usize;
            at += s.at * to[d + 1] as usize;
        }
        shape.extend([self.feature_groups, per_group]);
        let feature = from[from.len() - 1];
        read.extend([feature * per_group as isize, feature]);
        write.extend([padded as isize, 1]);
        let size = self.elem.size();
        let elements = Move::new(size, &shape, &read, &write);
        let is_full = shape.iter().product::<usize>() * size == bytes;
        let offsets = [start, at].map(|o| o * size);
        let moves = if is_full {
            Moves::whole(elements, offsets[0], bytes)
        } else {
            Moves::among_zeros(elements, offsets, bytes)
        };
        Some(Array { strides: to, copy: Some((moves, TensorType::new(ty.dtype, sizes))) })
    }

    /// Returns how the kernel is read as a matrix: the strides of its rows (kernel positions, then input features) and
    /// of its columns (output features). It is copied if its rows have no single stride or need padding.
    pub fn matrix(&self, view: &OpView<'_>) -> Array {
        let (ty, dims) = (view.operand_tensor(1), &self.dims);
        let strides = row_major(&ty.shape);
        let order = [&dims.kernel_spatial[..], &[dims.kernel_input_feature, dims.kernel_output_feature]].concat();
        let from: Vec<isize> = order.iter().map(|&d| strides[d]).collect();
        let shape: Vec<usize> = order.iter().map(|&d| ty.shape[d]).collect();
        let rows = order.len() - 1;
        let padded = self.padded_features(shape[rows - 1]);
        let summed: Vec<(usize, isize)> = shape[..rows].iter().copied().zip(from[..rows].iter().copied()).collect();
        if let (((_, row), 0), true) = (innermost(&summed), padded == shape[rows - 1]) {
            return Array { strides: vec![row, from[rows]], copy: None };
        }
        let mut sizes = shape.clone();
        sizes[rows - 1] = padded;
        let (to, size) = (row_major(&sizes), self.elem.size());
        let elements = Move::new(size, &shape, &from, &to);
        let bytes = sizes.iter().product::<usize>() * size;
        let moves =
            if sizes == shape { Moves::whole(elements, 0, bytes) } else { Moves::among_zeros(elements, [0, 0], bytes) };
        Array { strides: vec![shape[rows] as isize, 1], copy: Some((moves, TensorType::new(ty.dtype, sizes))) }
    }

    /// Returns the offset of a window's element from the window's start at each position of the kernel, row-major, in
    /// elements. `spatial` has the strides of the spatial dimensions of the input.
    pub fn places(&self, spatial: &[isize]) -> Vec<isize> {
        let mut places = vec![0];
        for (d, w) in self.window.iter().enumerate() {
            let along = |k: usize| if self.reversed[d] { w.size - 1 - k } else { k };
            let step = spatial[d].wrapping_mul(w.dilation as isize);
            places = places.iter().flat_map(|&p| (0..w.size).map(move |k| p + along(k) as isize * step)).collect();
        }
        places
    }
}
