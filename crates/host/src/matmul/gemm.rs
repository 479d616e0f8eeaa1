//! The shapes and the operands of products.

use crate::elem::Elem;
use crate::operand::{Pointer, Reach, Source, Target};

/// The shape of a product `c = a b`, with `a: [m, k]`, `b: [k, n]`, `c: [m, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// The type of `a` and `b`.
    pub elem: Elem,
    /// The type of `c`: `elem` itself, `i32` for an `elem` of `i8`, or `f32` for one of `bf16` or `f16`.
    pub out: Elem,
    /// The number of rows of `a` and `c`.
    pub m: usize,
    /// The number of columns of `b` and `c`.
    pub n: usize,
    /// The size of the summed dimension.
    pub k: usize,
    /// The row and column strides of `a`, in elements.
    pub a: [isize; 2],
    /// The row and column strides of `b`, in elements.
    pub b: [isize; 2],
    /// The row and column strides of `c`, in elements.
    pub c: [isize; 2],
    /// True if the product is added to the values in `c`.
    pub accumulate: bool,
}

/// The operands of one product, or of one batch.
#[derive(Debug)]
pub struct Product<'a> {
    /// The left operand.
    pub a: Source<'a>,
    /// The right operand.
    pub b: Source<'a>,
    /// The result.
    pub c: Target<'a>,
}

/// The addresses of the operands of one product.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub a: Pointer,
    pub b: Pointer,
    pub c: Pointer,
}

/// The addresses of a row and of its result.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub a: Pointer,
    pub c: Pointer,
}

/// The address of a matrix, and the rows that are multiplied by it.
pub(super) struct Group {
    pub matrix: Pointer,
    pub rows: Vec<Row>,
}

/// Rows that are not contiguous: windows of an array.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// The start of each piece, in bytes from the row.
    pub starts: Vec<isize>,
    /// The number of elements of a piece. It must be even for `bf16` if there are several pieces, because words may
    /// hold pairs.
    pub len: usize,
}

impl Product<'_> {
    pub(super) fn check(&self, [a, b, c]: &[Reach; 3]) {
        let has_all = self.a.has(*a) && self.b.has(*b) && self.c.has(*c);
        assert!(has_all, "the operands of {self:?} have what is reached: {a:?}, {b:?} and {c:?}");
    }

    pub(super) fn places(&self, offsets: [isize; 3]) -> Places {
        Places { a: self.a.pointer(), b: self.b.pointer(), c: self.c.pointer() }.offset(offsets)
    }
}

impl Places {
    /// Returns these addresses as places that are only compared and never accessed.
    pub(super) fn at(a: usize, b: usize, c: usize) -> Places {
        let [a, b, c] = [a, b, c].map(|at| Pointer(std::ptr::without_provenance_mut(at)));
        Places { a, b, c }
    }

    /// Returns these addresses, each moved by its offset in bytes.
    pub(super) fn offset(self, [a, b, c]: [isize; 3]) -> Places {
        Places { a: self.a.offset(a), b: self.b.offset(b), c: self.c.offset(c) }
    }
}
