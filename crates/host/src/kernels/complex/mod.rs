//! Reductions of complex numbers (`reduce`), and products of few of them, computed as the reference computes them.

mod reduce;

pub use reduce::step as reduce;

use super::context::PlanCx;
use super::factors::Factors;
use crate::elem::{ComplexNumber, Elem};
use crate::small::Routine;
use num_complex::{Complex32, Complex64};
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::Opcode;
use shardwise_ops::dot::DotDims;

/// The most products of elements in a product of arrays.
const MAX_PRODUCTS: usize = 1 << 13;

/// Returns the routine of a `reduce` by sums or products, or of a `dot_general`. The operands of a `dot_general` must
/// be complex, which is not checked. Returns `None` for other ops, if not all operands and results have the same
/// element type, for a `reduce` of other elements than complex numbers, and for a product without results or with more
/// than [`MAX_PRODUCTS`] products of elements.
pub fn routine(_: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    let types = view.operands().iter().chain(view.results()).map(|&v| view.body.ty(v).as_tensor().map(|ty| ty.dtype));
    let types: Vec<DType> = types.collect::<Option<_>>()?;
    types.iter().all(|ty| *ty == types[0]).then_some(())?;
    let elem = Elem::of(types[0])?;
    match Opcode::of_view(view) {
        Opcode::Reduce => reduce::routine(view),
        Opcode::DotGeneral => {
            let factors = Factors::of(&DotDims::of(view)?, [0, 1].map(|i| view.operand_shape(i)));
            let count: usize = view.result_shape(0).iter().product();
            (factors.count() <= MAX_PRODUCTS && count > 0).then_some(())?;
            let numbers: Vec<[usize; 2]> = factors.numbers(1).collect();
            Some(Box::new(Product { elem, products: numbers.len() / count, numbers }))
        }
        _ => None,
    }
}

struct Product {
    elem: Elem,
    /// The number of products of a result.
    products: usize,
    /// The numbers of both factors of each product, result by result.
    numbers: Vec<[usize; 2]>,
}

impl Product {
    fn compute<T: ComplexNumber>(&self, [a, b]: [&[u8]; 2], to: &mut [u8]) {
        let (a, b): (&[T], &[T]) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
        let to = bytemuck::cast_slice_mut::<u8, T>(to);
        for (i, to) in to.iter_mut().enumerate() {
            let numbers = &self.numbers[i * self.products..][..self.products];
            let products = numbers.iter().map(|&[i, k]| a[i].widen() * b[k].widen());
            *to = T::narrow(products.fold(Complex64::ZERO, |sum, product| sum + product));
        }
    }
}

impl Routine for Product {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        match self.elem {
            Elem::C64 => self.compute::<Complex32>([operands[0], operands[1]], results[0]),
            _ => self.compute::<Complex64>([operands[0], operands[1]], results[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::parse;
    use shardwise_engine::Engine;

    /// Checks that large ops are planned. Lists of their rows and products would not fit into memory.
    #[test]
    fn large_ops_are_planned_without_lists() {
        let module = parse(
            "func.func @main(%x: tensor<65536x65536xcomplex<f32>>, %y: tensor<8589934592x2xcomplex<f32>>)
    -> (tensor<65536x65536xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<8589934592xcomplex<f32>>) {
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<65536x65536xcomplex<f32>>, tensor<65536x65536xcomplex<f32>>) -> tensor<65536x65536xcomplex<f32>>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<8589934592x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %2 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<8589934592x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8589934592xcomplex<f32>>
  return %0, %1, %2 : tensor<65536x65536xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<8589934592xcomplex<f32>>
}",
        );
        assert!(HostEngine::default().compile(&module).is_ok());
    }
}
