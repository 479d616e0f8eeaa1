//! Batching as a fact: an op that computes for each index of a new leading dimension what it computed before.
//!
//! Nearly every op has a factor that passes through it for each new dimension, so that the op itself computes the whole
//! batch, with attributes that name dimensions one further back. Such an op only states its attributes
//! ([`Batched::Leading`]). An op for which the attributes cannot say this builds its batch itself ([`Batched::By`]).

use crate::expansion::{ExpandCx, Expansion};
use crate::make;
use shardwise_base::Diagnostic;
use shardwise_ir::{Attrs, Builder, Cloner, OpView, Region, TensorType, Type, Value};

/// The way to build the batch of an op.
pub enum Batched<'f> {
    /// The op itself with these attributes computes the batch, if all of its operands and results have the new leading
    /// dimension.
    Leading(Attrs),
    /// The op itself with these attributes computes the batch, if the operands whose flag is true and all results have
    /// the new leading dimension. The other operands, which are not mapped, stay as they are.
    LeadingOf(Vec<bool>, Attrs),
    /// This function builds the batch, because the op with other attributes cannot compute it, for this reason.
    By(&'static str, Batch<'f>),
    /// The batch is that of the ops that this function builds, which compute the same as the op.
    Expanded(Expansion<'f>),
    /// The transform knows the op: it batches the regions or the function that the op runs, or forwards its operands.
    Structure,
    /// The op cannot be batched, for this reason.
    None(&'static str),
}

/// Builds the results of the batch. All that are tensors have the new leading dimension. Fails if the op cannot be
/// batched.
pub type Batch<'f> = Box<dyn Fn(&mut BatchCx<'_, '_, '_>) -> Result<Vec<Value>, Diagnostic> + 'f>;

impl<'f> Batched<'f> {
    /// Returns the batch that the op itself computes with these attributes, if the operands for which `is_leading`
    /// returns true and all results have the new leading dimension.
    pub(crate) fn leading_of(op: &OpView<'_>, is_leading: impl Fn(usize) -> bool, attrs: Attrs) -> Batched<'f> {
        Batched::LeadingOf((0..op.operands().len()).map(is_leading).collect(), attrs)
    }

    /// Returns the batch that `f` builds, with the reason for which the op needs it.
    pub fn by(
        why: &'static str,
        f: impl Fn(&mut BatchCx<'_, '_, '_>) -> Result<Vec<Value>, Diagnostic> + 'f,
    ) -> Batched<'f> {
        Batched::By(why, Box::new(f))
    }

    /// Returns the batch of the ops that `f` builds. If `f` fails, the op has no batch, for the reason that it returns.
    pub fn expanded(f: impl Fn(&mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> + 'f) -> Batched<'f> {
        Batched::Expanded(Box::new(f))
    }
}

/// The inputs of a batch: an op and its operands in the body that is being built, some of them with a leading
/// dimension.
pub struct BatchCx<'a, 's, 'b> {
    /// The op in the function that is batched.
    pub op: OpView<'s>,
    pub operands: &'a [Value],
    /// For each operand, true if it has the leading dimension of the batch.
    pub mapped: &'a [bool],
    /// The size of the leading dimension, which is the number of elements of the batch.
    pub size: usize,
    pub cloner: &'a mut Cloner<'s>,
    pub b: &'a mut Builder<'b>,
}

impl BatchCx<'_, '_, '_> {
    /// Returns operand `i` with the leading dimension. An operand that is not mapped is repeated along it. One that is
    /// no tensor is returned as it is. Panics if there is no operand `i`.
    pub fn with_leading(&mut self, i: usize) -> Value {
        let is_repeated = !self.mapped[i] && self.op.operand_type(i).as_tensor().is_some();
        if is_repeated { repeated(self.b, self.operands[i], self.size) } else { self.operands[i] }
    }

    /// Builds the op with these attributes on these operands, with copies of its regions, and returns its results. The
    /// results that are tensors have the leading dimension.
    pub fn leading_op(&mut self, operands: &[Value], attrs: Attrs) -> Vec<Value> {
        let types: Vec<Type> = self.op.results().iter().map(|&v| leading_type(self.op.body.ty(v), self.size)).collect();
        let regions = self.regions();
        let new = self.b.op_with_regions(self.op.data().code, operands.iter().copied(), attrs, regions, types);
        self.b.body[new].results.to_vec()
    }

    /// Returns copies of the op's regions, which no op holds yet.
    pub fn regions(&mut self) -> Vec<Region> {
        self.op.regions().iter().map(|&r| self.cloner.region(r, self.b)).collect()
    }
}

/// Returns a tensor type with a new leading dimension of this size added. Returns other types unchanged.
pub fn leading_type(ty: &Type, size: usize) -> Type {
    match ty.as_tensor() {
        Some(t) => TensorType::new(t.dtype, [&[size], &t.shape[..]].concat()).into(),
        None => ty.clone(),
    }
}

/// Builds `x` repeated along a new leading dimension of this size. Panics if `x` is not a tensor.
pub fn repeated(b: &mut Builder<'_>, x: Value, size: usize) -> Value {
    let shape = b.body.ty(x).shape().to_vec();
    let dims: Vec<usize> = (1..=shape.len()).collect();
    make::broadcast_in_dim(b, x, &[&[size], &shape[..]].concat(), &dims)
}

/// Returns each dimension plus 1, which is its number after a leading dimension is added.
pub(crate) fn further(dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|d| d + 1).collect()
}

pub(crate) fn with_first<T: Clone>(first: T, rest: &[T]) -> Vec<T> {
    [&[first], rest].concat()
}
