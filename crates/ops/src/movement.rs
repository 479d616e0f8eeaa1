//! How an op's elements move along one dimension: the part of its operands that a block of its results needs.
//!
//! A slice, a padding, a convolution or a window reduction moves elements along a dimension, but only by so much: a
//! block of the result needs a window of the operand. A device that has a block of the operand receives what its window
//! has in addition (a halo), and runs the op on the window.

use shardwise_ir::{Builder, OpView, Region, Type, Value};

/// The dimension whose blocks the devices have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// A dimension of the results: a device computes a block of them.
    OfResults(usize),
    /// A dimension that is reduced: a device computes its share of the results from a block of this operand.
    OfOperand { operand: usize, dim: usize },
}

/// The windows of its operands that an op reads for one block along a dimension.
pub struct Movement {
    /// The dimension of the results along which the windows move. [`Movement::run`] gets its padding as a
    /// [`WindowsDim`], in place of the op's own.
    pub dim: usize,
    /// The windows, in the order in which they are fetched.
    pub reads: Vec<Read>,
    /// Builds the op on windows in place of the operands.
    pub run: fn(&mut WindowsCx<'_, '_>) -> Vec<Value>,
    /// Builds the totals of windows, which the op can read in place of the elements that they combine. `None` if it
    /// needs the elements.
    ///
    /// The operands are blocks that all windows contain, or totals of such blocks. The results have one element along
    /// the dimension.
    pub total: Option<fn(&mut WindowsCx<'_, '_>) -> Vec<Value>>,
}

impl Movement {
    /// Returns the movement of an op that needs all elements of its windows.
    pub(crate) fn new(dim: usize, reads: Vec<Read>, run: fn(&mut WindowsCx<'_, '_>) -> Vec<Value>) -> Movement {
        Movement { dim, reads, run, total: None }
    }
}

/// The windows of one operand along one of its dimensions.
///
/// The operand is first spread: `base - 1` holes come between two elements. Element `i` of the result reads the spread
/// elements from `i * stride - low` on, `extent` of them. For blocks of an operand, `i` counts that operand's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    pub operand: usize,
    pub dim: usize,
    pub stride: i64,
    pub base: i64,
    pub low: i64,
    pub extent: i64,
    /// True if the elements outside of the operand are those of its other end.
    pub wraps: bool,
    pub fill: Fill,
    /// The range `start..end` of the elements of the operand that are read, as `(start, end)`; `None` for all. Others
    /// count as outside of it.
    pub inside: Option<(usize, usize)>,
}

/// The elements of a window that are outside of the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    /// Any: they are not used.
    Any,
    Zero,
    /// The element that changes no other one when it is added: -0 for floats and complex numbers that have it, and 0
    /// for other types.
    Nothing,
    /// The value of this operand, a scalar.
    Operand(usize),
    /// The elements at the same positions of the window that was fetched before. Any, if there is none.
    Before,
}

impl Read {
    /// Returns the read in reverse order: element `i` of the result reads the window that element `count - 1 - i` had.
    /// Returns `None` if a position overflows.
    pub(crate) fn backwards(self, count: usize) -> Option<Read> {
        let last = i64::try_from(count).ok()?.checked_sub(1)?.checked_mul(self.stride)?;
        Some(Read { stride: -self.stride, low: self.low.checked_sub(last)?, ..self })
    }

    /// Returns the read of single elements of operand 0: element `i` of the result is element `i * stride - low`.
    pub fn elements(dim: usize, stride: i64, low: i64) -> Read {
        Read { operand: 0, dim, stride, base: 1, low, extent: 1, wraps: false, fill: Fill::Any, inside: None }
    }
}

/// One dimension along which an op runs on windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowsDim {
    /// The dimension of the results ([`Movement::dim`]).
    pub dim: usize,
    /// The padding at the low end of the spread window. It takes the place of the op's own, as `high` does at the high
    /// end.
    pub low: i64,
    pub high: i64,
    /// The number of elements of the op's windows if a total takes the place of some, or `None` if no total does.
    pub folded: Option<usize>,
}

/// The inputs of [`Movement::run`] and of [`Movement::total`].
pub struct WindowsCx<'a, 'b> {
    pub op: OpView<'a>,
    /// The dimensions along which the operands are windows.
    pub dims: Vec<WindowsDim>,
    /// The op's operands, with windows in place of those that are read: the last window of an operand that is read
    /// several times. For [`Movement::total`], blocks or totals are in their place.
    pub operands: Vec<Value>,
    /// The windows of all reads along the last one of `dims`, in the order of [`Movement::reads`]. Empty for
    /// [`Movement::total`].
    pub windows: Vec<Value>,
    /// The op's regions, already in the body being built.
    pub regions: Vec<Region>,
    /// The types of the blocks of the results, or of the totals for [`Movement::total`].
    pub result_types: Vec<Type>,
    pub builder: &'a mut Builder<'b>,
}

impl WindowsCx<'_, '_> {
    /// Builds the same op on the windows with these attributes, and returns its results. Moves the regions out of
    /// `self.regions`.
    pub fn same_op_with(&mut self, attrs: shardwise_ir::Attrs) -> Vec<Value> {
        let code = self.op.data().code;
        let regions = std::mem::take(&mut self.regions);
        let op = self.builder.op_with_regions(
            code,
            self.operands.iter().copied(),
            attrs,
            regions,
            self.result_types.clone(),
        );
        self.builder.body[op].results.to_vec()
    }

    /// Returns true if the first operand, a window, has the type of the first result's block, so that it may be the
    /// result itself.
    pub fn is_first_operand(&self) -> bool {
        self.builder.body.ty(self.operands[0]) == &self.result_types[0]
    }

    /// Returns the size of dimension `dim` of `self.operands[index]`, which may be a window.
    pub fn operand_size(&self, index: usize, dim: usize) -> usize {
        self.builder.body.ty(self.operands[index]).shape()[dim]
    }
}
