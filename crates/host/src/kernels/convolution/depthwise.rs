//! Convolutions whose groups have one input feature each. They are elementwise products that the block machine sums
//! over the kernel's positions. Sums over more positions than `shardwise_mathfn::order::CHUNK` are computed in chunks.
//! The usual layouts have a kernel of their own ([`Lines`]), with the same bits.

use super::conv::{Array, Conv};
use super::lines::Lines;
use crate::block::{self, Binary, Operand, Program, Reducer};
use crate::elem::Elem;
use crate::kernels::buffers::{output_bytes, read, write};
use crate::kernels::strides::row_major;
use crate::memory::OutOfMemory;
use crate::operand::Source;
use crate::plan::{Kernel, KernelCx};
use crate::pool::Workers;
use shardwise_ir::OpView;

/// The kernel of a convolution whose groups have one input feature each, as a program of the block machine.
pub struct Depthwise {
    kernel: block::Kernel,
    /// The offset of the first window's element at the first position of the kernel, in bytes.
    start: usize,
    output_bytes: usize,
}

/// Returns the kernel of a convolution with several feature groups of one input feature each and several kernel
/// positions, or `None` for others. It also returns `None` for complex types, if the types of operands and result
/// differ and are not `bf16` or `f16` and `f32`, or if the layouts do not allow one block program. `source` is how the
/// input is read ([`Conv::input`]).
pub fn kernel(conv: &Conv, source: &Array, view: &OpView<'_>) -> Option<Box<dyn Kernel>> {
    let (dims, kernel, out) = (&conv.dims, view.operand_shape(1), view.result_shape(0));
    let groups = conv.feature_groups;
    let has_kinds = conv.elem == conv.out || matches!((conv.elem, conv.out), (Elem::BF16 | Elem::F16, Elem::F32));
    let places: usize = conv.window.iter().map(|w| w.size).product();
    if groups == 1 || kernel[dims.kernel_input_feature] != 1 || places == 1 || conv.elem.is_complex() || !has_kinds {
        return None;
    }
    if let Some(lines) = Lines::new(conv, source, view) {
        return Some(Box::new(lines));
    }
    let (ks, os, xs) = (row_major(kernel), row_major(out), &source.strides);
    let per_group = out[dims.output_feature] / groups;
    let rank = conv.window.len();
    // The space has the dimensions batch, output positions, kernel positions, groups, output features of a group.
    let (mut space, mut x, mut y, mut to) =
        (vec![out[dims.output_batch]], vec![xs[0]], vec![0], vec![os[dims.output_batch]]);
    let mut start = 0;
    for (d, w) in conv.window.iter().enumerate() {
        space.push(out[dims.output_spatial[d]]);
        x.push(xs[1 + d].wrapping_mul(w.stride as isize));
        y.push(0);
        to.push(os[dims.output_spatial[d]]);
    }
    for (d, w) in conv.window.iter().enumerate() {
        let step = xs[1 + d].wrapping_mul(w.dilation as isize);
        space.push(w.size);
        x.push(if conv.reversed[d] { -step } else { step });
        y.push(ks[dims.kernel_spatial[d]]);
        to.push(0);
        start += if conv.reversed[d] { (w.size as isize - 1) * step } else { 0 };
    }
    let padded = conv.padded_features(1) as isize;
    let (column, feature) = (ks[dims.kernel_output_feature], os[dims.output_feature]);
    space.extend([groups, per_group]);
    x.extend([padded, 0]);
    y.extend([column * per_group as isize, column]);
    to.extend([feature * per_group as isize, feature]);

    let sum = conv.elem.summed();
    let mut program = Program::of(sum, &space).reducing(&(1 + rank..1 + 2 * rank).collect::<Vec<_>>());
    let [x, y] = [x, y].map(|strides| program.input(conv.elem, &strides));
    let (x, y) = (program.convert(x, sum)?, program.convert(y, sum)?);
    let (multiply, reducer) = if sum == Elem::Bool { (Binary::And, Reducer::Or) } else { (Binary::Mul, Reducer::Sum) };
    let product = program.binary(multiply, x, y)?;
    let zero = program.constant(sum, &vec![0; sum.size()]);
    let total = program.reduce(reducer, product, zero)?;
    let total = program.convert(total, conv.out)?;
    program.output(total, &to);
    let start = usize::try_from(start).ok()? * conv.elem.size();
    Some(Box::new(Depthwise { kernel: program.compile().ok()?, start, output_bytes: output_bytes(view) }))
}

impl Kernel for Depthwise {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let of = |(&i, output)| {
            let windows = Source::at(cx.input(0, i).bytes(), self.start);
            [Operand::Read(windows), read(cx.input(1, i)), write(output)]
        };
        let operands: Vec<Operand> = cx.instances.iter().zip(&mut outputs).flat_map(of).collect();
        self.kernel.run(Workers::global(), &operands, false);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, self.kernel.scratch_bytes(Workers::global(), cx.instances.len()))
    }
}
