//! Inputs and outputs of kernels that compute matrix products.

use super::buffers::written;
use crate::matmul::Product;
use crate::memory::Buffer;
use crate::operand::{Source, Target};
use crate::plan::KernelCx;

/// Returns, for each instance that is to be computed, the addresses of its first two inputs and of its output.
/// `outputs` has the outputs of these instances, in order. Panics as [`KernelCx::input`] does.
pub fn addresses_of(cx: &KernelCx<'_>, outputs: &[Buffer]) -> Vec<[usize; 3]> {
    let of = |(&i, c): (&usize, &Buffer)| {
        let [a, b] = cx.addresses([0, 1], i);
        [a, b, c.address()]
    };
    cx.instances.iter().zip(outputs).map(of).collect()
}

/// Returns, for each instance that is to be computed, the operands of its product: its first two inputs and its output.
/// `outputs` has the outputs of these instances, in order.
///
/// # Panics
/// Panics as [`KernelCx::input`] does, or if an output has another owner.
pub fn products_of<'a>(cx: &'a KernelCx<'_>, outputs: &'a mut [Buffer]) -> Vec<Product<'a>> {
    let source = |input: usize, i: usize| Source::of(cx.input(input, i).bytes());
    let product = |(&i, c)| Product { a: source(0, i), b: source(1, i), c: Target::of(written(c)) };
    cx.instances.iter().zip(outputs).map(product).collect()
}
