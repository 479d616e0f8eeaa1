//! Convolutions whose groups have one input feature each, where the features of all arrays are innermost. The results
//! along the last spatial dimension, which are a line, are computed one after the other, in vectors of output features.

use super::conv::{Array, Conv};
use crate::kernels::buffers::{output_bytes, written};
use crate::kernels::strides::{positions, row_major};
use crate::memory::OutOfMemory;
use crate::parts::Pace;
use crate::plan::{Kernel, KernelCx};
use crate::pool::{Effort, Workers};
use crate::simd::{AtLevel, Portable, Vector, Word, run_words};
use shardwise_ir::OpView;
use shardwise_mathfn::order;

/// The largest number of products that a worker computes before it takes the next part of the lines, unless the part is
/// one window.
const PART: usize = 1 << 17;

/// The most lines of a result. The kernel knows the start of each.
const MAX_LINES: usize = 1 << 20;

/// The least number of products that several workers share.
const LARGE: usize = 1 << 19;

/// The kernel of a convolution whose groups have one input feature each, and whose arrays all have features innermost.
pub struct Lines {
    is_float: bool,
    is_wide: bool,
    /// For each position of the kernel, the offset of its element of a window from the window's start, and the offset
    /// of its weights, in elements.
    places: Vec<[usize; 2]>,
    /// The start of the first window of each line of the result, in elements of the input.
    starts: Vec<usize>,
    /// The number of results of a line, of all features.
    line: usize,
    /// The distance between the starts of neighbouring windows of a line, in elements of the input.
    step: usize,
    /// The number of groups, which is that of input features.
    groups: usize,
    /// The number of output features of a group.
    per_group: usize,
    output_bytes: usize,
}

impl Lines {
    /// Returns the kernel of a convolution with as many feature groups as input features, at least two. Returns `None`
    /// if it has no spatial dimensions, more lines than [`MAX_LINES`], or more kernel positions than are summed in one
    /// chunk, if the elements do not fill words, if the types of operands and result differ, if output features are
    /// not innermost in the kernel, or if features are not innermost, batches outermost and spatial dimensions in order
    /// in the result. `source` is how the input is read ([`Conv::input`]).
    pub fn new(conv: &Conv, source: &Array, view: &OpView<'_>) -> Option<Lines> {
        let (dims, kernel, out) = (&conv.dims, view.operand_shape(1), view.result_shape(0));
        let (groups, features) = (conv.feature_groups, out[dims.output_feature]);
        let (xs, ks) = (&source.strides, row_major(kernel));
        let (&last, outer) = dims.output_spatial.split_last()?;
        let places: usize = conv.window.iter().map(|w| w.size).product();
        let result = [&[dims.output_batch], &dims.output_spatial[..], &[dims.output_feature]].concat();
        let is_usual = result.into_iter().eq(0..out.len()) && ks[dims.kernel_output_feature] == 1;
        let is_of_words = conv.elem == conv.out && conv.elem.fills_words();
        let lines = outer.iter().fold(out[dims.output_batch], |lines, &dim| lines.saturating_mul(out[dim]));
        if !is_usual || !is_of_words || places > order::CHUNK || lines > MAX_LINES {
            return None;
        }
        let window = |d: usize| xs[1 + d].wrapping_mul(conv.window[d].stride as isize);
        let walked = outer.iter().enumerate().map(|(d, &dim)| (out[dim], window(d)));
        let starts = positions(0, [(out[dims.output_batch], xs[0])].into_iter().chain(walked));
        let spatial = dims.kernel_spatial.iter().zip(&conv.window);
        let weights = positions(0, spatial.map(|(&dim, w)| (w.size, ks[dim])));
        let elements = conv.places(&xs[1..xs.len() - 1]);
        Some(Lines {
            is_float: conv.elem.is_float(),
            is_wide: conv.elem.is_wide(),
            places: elements.iter().zip(&weights).map(|(&x, &w)| [x as usize, w as usize]).collect(),
            starts: starts.iter().map(|&start| start as usize).collect(),
            line: out[last] * features,
            step: window(outer.len()) as usize,
            groups,
            per_group: features / groups,
            output_bytes: output_bytes(view),
        })
    }

    fn features(&self) -> usize {
        self.groups * self.per_group
    }

    /// Returns the number of products of a line.
    fn products(&self) -> usize {
        self.line * self.places.len()
    }

    /// Adds the parts of a result, which are some of its lines or a part of a long line.
    fn divide<'a>(&'a self, from: [&'a [u8]; 2], to: &'a mut [u8], parts: &mut Vec<Part<'a>>) {
        let line = self.output_bytes / self.starts.len();
        let lines = (PART / self.products()).max(1);
        let windows = (PART / (self.features() * self.places.len())).clamp(1, self.line / self.features());
        let window = line / (self.line / self.features());
        for (starts, to) in self.starts.chunks(lines).zip(to.chunks_mut(line * lines)) {
            if lines > 1 {
                parts.push(Part { kernel: self, from, starts, first: 0, to });
                continue;
            }
            let pieces = to.chunks_mut(windows * window).enumerate();
            parts.extend(pieces.map(|(i, to)| Part { kernel: self, from, starts, first: i * windows, to }));
        }
    }
}

impl Kernel for Lines {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let mut parts = vec![];
        for (&i, output) in cx.instances.iter().zip(&mut outputs) {
            self.divide([0, 1].map(|k| cx.input(k, i).bytes()), written(output), &mut parts);
        }
        let all = self.products().saturating_mul(self.starts.len()).saturating_mul(cx.instances.len());
        let effort = if all < LARGE { Effort::Small } else { Effort::Large };
        Workers::global().run_each(parts, effort, run_words);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

/// Some lines of a result, or neighbouring windows of one line.
struct Part<'a> {
    kernel: &'a Lines,
    /// The input and the weights.
    from: [&'a [u8]; 2],
    /// For each line, the start of its first window, in elements of the input.
    starts: &'a [usize],
    /// The number of windows of the line before those that are computed.
    first: usize,
    to: &'a mut [u8],
}

impl AtLevel for Part<'_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        if self.kernel.is_wide { self.with_words::<Portable<u64>>() } else { self.with_words::<V>() }
    }
}

impl Part<'_> {
    #[inline(always)]
    fn with_words<V: Vector<Word: bytemuck::Pod>>(self) {
        let Lines { per_group, groups, .. } = *self.kernel;
        // The vectors are those of all features, or of the features of a group. There are at least two.
        match if per_group == 1 { groups } else { per_group } {
            2 | 3 => self.with_vectors::<Portable<V::Word, 2>, 2>(),
            n if n < V::LANES => self.with_vectors::<Portable<V::Word, 4>, 2>(),
            n if n < 2 * V::LANES => self.with_vectors::<V, 2>(),
            _ => self.with_vectors::<V, 4>(),
        }
    }

    /// Computes the lines, `VECTORS` vectors of features at a time. There is at least one vector of features.
    #[inline(always)]
    fn with_vectors<V: Vector<Word: bytemuck::Pod>, const VECTORS: usize>(self) {
        if self.kernel.is_float {
            self.lines::<V, VECTORS>(|a, b| a.fmul(b), |a, b| a.fadd(b));
        } else {
            self.lines::<V, VECTORS>(|a, b| a.imul(b), |a, b| a.iadd(b));
        }
    }

    #[inline(always)]
    fn lines<V: Vector<Word: bytemuck::Pod>, const VECTORS: usize>(
        self,
        multiply: impl Fn(V, V) -> V,
        add: impl Fn(V, V) -> V,
    ) {
        let Lines { ref places, step, groups, per_group, .. } = *self.kernel;
        let [x, weights]: [&[V::Word]; 2] = self.from.map(bytemuck::cast_slice);
        let to: &mut [V::Word] = bytemuck::cast_slice_mut(self.to);
        let (features, line) = (groups * per_group, to.len() / self.starts.len());
        for (&start, to) in self.starts.iter().zip(to.chunks_exact_mut(line)) {
            for (i, to) in to.chunks_exact_mut(features).enumerate() {
                let x = &x[start + (self.first + i) * step..];
                if per_group == 1 {
                    let element = |of_x: usize, at: usize| V::read(&x[of_x + at..]);
                    window::<V, VECTORS>(places, weights, to, element, &multiply, &add);
                } else {
                    for (g, to) in to.chunks_exact_mut(per_group).enumerate() {
                        let element = |of_x: usize, _: usize| V::splat(x[of_x + g]);
                        window::<V, VECTORS>(places, &weights[g * per_group..], to, element, &multiply, &add);
                    }
                }
            }
        }
    }
}

/// Computes results of one window, and polls the budget if they are many. `element(of_x, at)` returns the factors by
/// which the weights of the output features from number `at` on are multiplied. `of_x` is the offset in the window of
/// the kernel position of these weights.
#[inline(always)]
fn window<V: Vector, const VECTORS: usize>(
    places: &[[usize; 2]],
    weights: &[V::Word],
    to: &mut [V::Word],
    element: impl Fn(usize, usize) -> V,
    multiply: &impl Fn(V, V) -> V,
    add: &impl Fn(V, V) -> V,
) {
    let (zero, mut pace) = (V::splat(V::Word::from_bits64(0)), Pace::default());
    let product =
        |[of_x, of_weights]: [usize; 2], at: usize| multiply(element(of_x, at), V::read(&weights[of_weights + at..]));
    for first in (0..to.len()).step_by(VECTORS * V::LANES) {
        // The last vectors may be computed again.
        let at: [usize; VECTORS] = std::array::from_fn(|j| (first + j * V::LANES).min(to.len() - V::LANES));
        let mut sums = [zero; VECTORS];
        for j in 0..VECTORS {
            sums[j] = product(places[0], at[j]);
        }
        for &place in &places[1..] {
            for j in 0..VECTORS {
                sums[j] = add(sums[j], product(place, at[j]));
            }
        }
        for j in 0..VECTORS {
            add(zero, sums[j]).write(&mut to[at[j]..]);
        }
        pace.spend(VECTORS * places.len());
    }
}
