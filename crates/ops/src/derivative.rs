//! Derivatives as facts: the tangents of an op's results, and the transposes of ops that are linear.
//!
//! Forward mode is the only definition of a derivative. An op that is linear in its operands
//! ([`Facts::linear`](crate::Facts::linear)) is its own derivative. Any other op builds the tangents of its results
//! from those of its operands, with ops that are linear in them. Reverse mode transposes these linear ops, last to
//! first: each builds the cotangents of the operands in which it is linear from those of its results.
//!
//! Zeros are symbolic: a tangent or cotangent that is `None` is zero, and no op computes with it.

use crate::expansion::{ExpandCx, Expansion};
use crate::facts::Linear;
use crate::make;
use shardwise_base::DType;
use shardwise_ir::{Builder, Cloner, OpView, Region, TensorType, Value};

/// The derivative of an op in forward mode.
pub enum Derivative<'f> {
    /// The op is linear in the operands that its [`Facts::linear`](crate::Facts::linear) includes, and its derivative
    /// is the op itself, or a sum of such ops if it is linear in each of these operands by itself.
    Linear,
    /// The derivative is zero everywhere, for this reason.
    Zero(&'static str),
    /// This function builds the tangent of each result from ops that are linear in the operands' tangents.
    By(Tangents<'f>),
    /// The derivative is that of the ops that this function builds, which compute the same as the op.
    Expanded(Expansion<'f>),
    /// The transform knows the op: it differentiates the regions or the function that the op runs, or forwards the
    /// tangent of its operand.
    Structure,
    /// The op has no derivative, for this reason.
    None(&'static str),
}

/// Builds the tangent of each result, with `None` for zero.
pub type Tangents<'f> = Box<dyn Fn(&mut TangentCx<'_, '_, '_>) -> Vec<Option<Value>> + 'f>;

/// The transpose of an op in the operands in which it is linear.
pub enum Transposed<'f> {
    /// This function builds the cotangent of each operand that is linear ([`CotangentCx::is_linear`]).
    By(Cotangents<'f>),
    /// The transform transposes the regions of the op, or refuses the op if it cannot.
    Structure,
    /// The op is never part of a derivative, or has no transpose, for this reason.
    None(&'static str),
}

/// Builds the cotangent of each operand, with `None` for zero. Those of operands that are not linear are not used.
pub type Cotangents<'f> = Box<dyn Fn(&mut CotangentCx<'_, '_, '_>) -> Vec<Option<Cotangent>> + 'f>;

/// The cotangent of an operand.
#[derive(Clone, Debug)]
pub enum Cotangent {
    Whole(Value),
    /// Zero, except for the block `update` that begins at the scalars `starts`. The block is added in place to the
    /// cotangent that the operand has already.
    Block {
        update: Value,
        starts: Vec<Value>,
    },
}

impl From<Value> for Cotangent {
    fn from(value: Value) -> Cotangent {
        Cotangent::Whole(value)
    }
}

impl<'f> Derivative<'f> {
    /// Returns the derivative whose tangents `f` builds.
    pub fn by(f: impl Fn(&mut TangentCx<'_, '_, '_>) -> Vec<Option<Value>> + 'f) -> Derivative<'f> {
        Derivative::By(Box::new(f))
    }

    /// Returns the derivative of the ops that `f` builds. If `f` fails, the op has no derivative, for the reason that
    /// it returns.
    pub fn expanded(f: impl Fn(&mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> + 'f) -> Derivative<'f> {
        Derivative::Expanded(Box::new(f))
    }
}

impl<'f> Transposed<'f> {
    /// Returns the transpose whose cotangents `f` builds.
    pub fn by(f: impl Fn(&mut CotangentCx<'_, '_, '_>) -> Vec<Option<Cotangent>> + 'f) -> Transposed<'f> {
        Transposed::By(Box::new(f))
    }

    /// Returns this transpose, or none if `linear`, the fact of the op, says that it is linear in no operand.
    pub fn if_linear(self, linear: Linear) -> Transposed<'f> {
        if linear == Linear::No { Transposed::None("it is not linear") } else { self }
    }
}

/// Returns true if values of this type have tangents: floats and complex numbers.
pub fn has_tangent(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// The inputs of a derivative: an op, its copy in the body that is being built, and the tangents of its operands.
pub struct TangentCx<'a, 's, 'b> {
    /// The op in the function that is differentiated.
    pub op: OpView<'s>,
    /// The operands of the op's copy in the body that is being built.
    pub operands: &'a [Value],
    /// The results of the op's copy in the body that is being built.
    pub results: &'a [Value],
    pub tangents: &'a [Option<Value>],
    pub cloner: &'a mut Cloner<'s>,
    pub b: &'a mut Builder<'b>,
    /// The reason for which the op has no derivative in an operand that has a tangent, or `None` if there is no such
    /// operand.
    pub refused: Option<&'static str>,
}

impl TangentCx<'_, '_, '_> {
    /// Records that the op has no derivative in operand `i`, for this reason, if the operand has a tangent.
    pub fn refuse_tangent(&mut self, i: usize, why: &'static str) {
        if self.tangents[i].is_some() {
            self.refused = Some(why);
        }
    }

    /// Builds the same op on these operands, with results of the same types, and returns its results.
    pub fn same_op(&mut self, operands: &[Value]) -> Vec<Value> {
        same_op(&self.op, operands, self.cloner, self.b)
    }

    /// Returns the tangent of operand `i`, or an array of zeros if it is zero.
    pub fn tangent_or_zeros(&mut self, i: usize) -> Value {
        self.tangents[i].unwrap_or_else(|| make::zeros(self.b, self.op.operand_tensor(i)))
    }

    /// Returns the sum of the tangents, where `None` is zero. Returns `None` if all of them are zero.
    pub fn sum(&mut self, parts: impl IntoIterator<Item = Option<Value>>) -> Option<Value> {
        parts.into_iter().flatten().reduce(|a, b| make::add(self.b, a, b))
    }

    /// Returns the tangent of operand `i` times the factor that `f` builds, or `None` if the tangent is zero.
    pub fn times(&mut self, i: usize, f: impl FnOnce(&mut Builder<'_>) -> Value) -> Option<Value> {
        let tangent = self.tangents[i]?;
        let factor = f(self.b);
        Some(make::multiply(self.b, tangent, factor))
    }
}

/// The inputs of a transpose: a linear op, its operands that are known, and the cotangents of its results.
pub struct CotangentCx<'a, 's, 'b> {
    /// The op in the function that is transposed.
    pub op: OpView<'s>,
    /// The operands in the body that is being built, with `None` for those in which the op is transposed.
    pub operands: &'a [Option<Value>],
    pub cotangents: &'a [Option<Value>],
    /// For a collective, true if a result is one value that all members of a group hold. Its cotangent is equal on all
    /// of them. If false, each member has a result of its own, and a cotangent of its own.
    pub is_shared: bool,
    pub cloner: &'a mut Cloner<'s>,
    pub b: &'a mut Builder<'b>,
}

impl<'s> CotangentCx<'_, 's, '_> {
    /// Returns true if the cotangent of operand `i` is wanted.
    pub fn is_linear(&self, i: usize) -> bool {
        self.operands[i].is_none()
    }

    /// Returns operand `i` in the body that is being built.
    ///
    /// # Panics
    /// If the op is transposed in this operand.
    pub fn known(&self, i: usize) -> Value {
        self.operands[i].expect("the operand is not transposed")
    }

    /// Returns the cotangent of result `i`, or an array of zeros if it is zero.
    pub fn cotangent_or_zeros(&mut self, i: usize) -> Value {
        self.cotangents[i].unwrap_or_else(|| make::zeros(self.b, self.op.result_tensor(i)))
    }

    /// Returns the cotangent of the first result, or an array of zeros if it is zero. Used for ops with one result.
    pub fn cotangent(&mut self) -> Value {
        self.cotangent_or_zeros(0)
    }

    pub fn operand_tensor(&self, i: usize) -> &'s TensorType {
        self.op.operand_tensor(i)
    }

    /// Builds the same op on these operands, with results of the same types, and returns its results.
    pub fn same_op(&mut self, operands: &[Value]) -> Vec<Value> {
        same_op(&self.op, operands, self.cloner, self.b)
    }

    /// Returns the value that `f` builds as the cotangent of each linear operand, and `None` for each other operand.
    /// `f` is called once.
    pub fn for_each_linear(&mut self, f: impl FnOnce(&mut Self) -> Value) -> Vec<Option<Cotangent>> {
        let value = f(self);
        (0..self.operands.len()).map(|i| self.is_linear(i).then(|| value.into())).collect()
    }

    /// Returns copies of the op's regions, which no op holds yet.
    pub fn regions(&mut self) -> Vec<Region> {
        self.op.regions().iter().map(|&r| self.cloner.region(r, self.b)).collect()
    }
}

/// Builds the same op on these operands, with copies of its regions and results of the same types, and returns its
/// results.
pub fn same_op<'s>(op: &OpView<'s>, operands: &[Value], cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> Vec<Value> {
    let regions: Vec<Region> = op.regions().iter().map(|&r| cloner.region(r, b)).collect();
    let types: Vec<_> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
    let new = b.op_with_regions(op.data().code, operands.iter().copied(), op.attrs().clone(), regions, types);
    b.body[new].results.to_vec()
}

/// Returns the cotangent of an operand of this shape, given the cotangent `x` for the operand as the op used it:
/// repeated to the shape of `x` if it is a scalar. A scalar has the sum of all elements of `x` as its cotangent. Any
/// other operand has the shape of `x`, and its cotangent is `x`.
pub(crate) fn unbroadcast(b: &mut Builder<'_>, x: Value, shape: &[usize]) -> Value {
    let rank = b.body.ty(x).shape().len();
    if rank == shape.len() { x } else { make::reduce(b, crate::ReduceKind::Add, x, &(0..rank).collect::<Vec<_>>()) }
}
