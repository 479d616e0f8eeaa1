//! Products whose operand is gathered, or whose result is scattered, and the loops over pieces that replace them.
//!
//! ```text
//! a' = all_gather a                 p0 = dot a, w[me]
//! out = dot a', w            ->     a1 = permute a
//!                                   p1 = p0 + dot a1, w[me + 1]
//!                                   ..
//! ```
//! A piece is multiplied while the next one is sent. The mirror image is a product whose result is reduce-scattered:
//! the sum for a device visits all others, and each adds its product to it.
//!
//! The loop is unrolled, so that the positions of the pieces are visible and pieces can be sent both ways.

use crate::ring::{Ring, Ways};
use crate::site::{Sites, joins, sums_dtype};
use shardwise_base::{AxisRef, DType, Diagnostics, Mesh};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Module, Op, OpCode, OpView, TensorType, Type, Value};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};
use shardwise_ops::{Combine, Opcode, PartialResult, ReduceKind};
use shardwise_sharding::{Factor, FactorKind, Mapping, Rule};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of pieces. More of them would be too small to hide anything.
const MAX_PIECES: usize = 32;

/// The side of a product on which its collective is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The operand with this number is gathered.
    Operand(usize),
    /// The result is reduce-scattered.
    Result,
}

/// A product and its collective.
#[derive(Clone, Debug)]
pub(crate) struct Matmul {
    pub(crate) collective: Op,
    pub(crate) product: Op,
    pub(crate) side: Side,
    /// The dimension of each operand that is cut into pieces.
    pub(crate) operands: [Option<usize>; 2],
    /// The dimension of the result that is. Without it, the products of the pieces are added.
    pub(crate) result: Option<usize>,
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) axes: Vec<AxisRef>,
    /// The number of pieces, and the size of one.
    pub(crate) count: usize,
    pub(crate) chunk: usize,
    /// The element type of the products of pieces, and that in which they are added.
    pub(crate) partial: DType,
    pub(crate) sums: DType,
    pub(crate) like: Like,
}

/// The facts on which the decision for a product depends. Products that share them are decided together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    side: Side,
    collective: CollectiveView,
    code: OpCode,
    attrs: Attrs,
    types: Vec<Type>,
}

/// Returns the products of a program that can be cut into pieces, in program order.
pub(crate) fn find(sites: &Sites<'_>) -> Vec<Matmul> {
    sites.collectives().filter_map(|view| of_collective(sites, &view)).collect()
}

fn of_collective(sites: &Sites<'_>, view: &OpView<'_>) -> Option<Matmul> {
    let collective = CollectiveView::of(view)?;
    let (side, dim, product) = match collective.kind {
        CollectiveKind::AllGather { dim } => {
            let only = sites.only_use(view.result(0))?;
            (Side::Operand(only.index), dim, view.at(only.op))
        }
        CollectiveKind::ReduceScatter { dim, reduce: Some(ReduceKind::Add) } => {
            sites.only_use(view.operand(0))?;
            (Side::Result, dim, view.operand_def(0)?)
        }
        _ => return None,
    };
    let is_beside = sites.home(product.op) == sites.home(view.op) && view.results().len() == 1;
    let Groups::Axes { mesh, axes } = &collective.groups else { return None };
    let count = AxisRef::total_size(mesh, axes);
    if !is_beside || !(2..=MAX_PIECES).contains(&count) || !shardwise_sim::is_product(&product) {
        return None;
    }
    let cut = Cut::of(&product, side, dim)?;
    let whole = if side == Side::Result { view.operand_shape(0)[dim] } else { view.result_shape(0)[dim] };
    let (partial, sums) = dtypes(&product, view, &cut)?;
    let (mesh, axes) = (mesh.clone(), axes.clone());
    let types: Vec<Type> = [0, 1].map(|i| product.operand_type(i).clone()).into_iter().collect();
    let like = Like {
        side,
        collective: CollectiveView { channel: 0, ..collective },
        code: product.data().code,
        attrs: product.attrs().clone(),
        types: [types, vec![product.result_type(0).clone()]].concat(),
    };
    let found = Matmul {
        collective: view.op,
        product: product.op,
        side,
        operands: cut.operands,
        result: cut.result,
        mesh,
        axes,
        count,
        chunk: whole / count,
        partial,
        sums,
        like,
    };
    (found.differs_along_axes(&product) && found.has_pieces(&product)).then_some(found)
}

/// Returns true if an op is a product whose result can be scattered along dimension `dim` piece by piece.
pub(crate) fn can_scatter(product: &OpView<'_>, dim: usize) -> bool {
    shardwise_sim::is_product(product) && Cut::of(product, Side::Result, dim).is_some()
}

/// Returns the element type of the products of pieces, and that of their sums. A sum is never taken in a narrower type
/// than in one product or one collective. Returns `None` if no type is known to be wide enough.
fn dtypes(product: &OpView<'_>, collective: &OpView<'_>, cut: &Cut) -> Option<(DType, DType)> {
    let [lhs, rhs] = [0, 1].map(|i| product.operand_tensor(i).dtype);
    let to = product.result_tensor(0).dtype;
    let given = collective.result_tensor(0).dtype;
    match (cut.result, cut.is_scatter) {
        (_, true) => (given == to).then_some((to, sums_dtype(&[to])?)),
        (Some(_), false) => Some((to, to)),
        (None, false) => {
            let sums = sums_dtype(&[to, lhs, rhs])?;
            Some((sums, sums))
        }
    }
}

/// The dimensions of a product that a factor is in.
struct Cut {
    operands: [Option<usize>; 2],
    result: Option<usize>,
    is_scatter: bool,
}

impl Cut {
    /// Returns the dimensions that are cut along the factor of dimension `dim` on the side of the collective. Returns
    /// `None` if the product cannot be computed piece by piece along it.
    fn of(product: &OpView<'_>, side: Side, dim: usize) -> Option<Cut> {
        let facts = Opcode::of_view(product).facts();
        let rule: Rule = facts.rule(product).rule()?.clone();
        let mapping = match side {
            Side::Operand(i) => rule.operands.get(i)?,
            Side::Result => rule.results.first()?,
        };
        let &[factor] = &mapping.dims.get(dim)?[..] else { return None };
        let operands = [place(&rule.operands[0], factor)?, place(&rule.operands[1], factor)?];
        let result = place(rule.results.first()?, factor)?;
        let is_cut = match (rule.kind(factor), result) {
            (FactorKind::PassThrough, Some(_)) => true,
            (FactorKind::Reduction, None) => {
                let is_plain =
                    matches!(facts.partial_result(product), PartialResult::OfSlices { once } if once.is_empty());
                is_plain && facts.combine(product) == Combine::With(ReduceKind::Add)
            }
            _ => false,
        };
        is_cut.then_some(Cut { operands, result, is_scatter: side == Side::Result })
    }
}

/// Returns the dimension of a tensor that is this factor, or `Some(None)` if the tensor lacks it. Returns `None` if the
/// factor is a part of a dimension, or in several.
fn place(mapping: &Mapping, factor: Factor) -> Option<Option<usize>> {
    let with: Vec<usize> = (0..mapping.rank()).filter(|&d| mapping.dims[d].contains(&factor)).collect();
    match with[..] {
        [] => Some(None),
        [d] if mapping.dims[d].len() == 1 => Some(Some(d)),
        _ => None,
    }
}

impl Matmul {
    /// Returns true if devices along the axes compute different products. If they did not, their sums, taken in other
    /// orders, could differ where they should be equal.
    fn differs_along_axes(&self, product: &OpView<'_>) -> bool {
        let varying = product.body[product.result(0)].varying.as_ref();
        let covered = varying.map(|varying| varying.axes(&self.mesh));
        covered.is_none_or(|covered| self.axes.iter().all(|axis| axis.minus(&self.mesh, &covered).is_empty()))
    }

    /// Returns true if the op accepts the types of pieces, and no piece is empty.
    fn has_pieces(&self, product: &OpView<'_>) -> bool {
        let mut body = Body::new();
        let mut b = Builder::new(&mut body);
        let args: Vec<Value> = (0..2).map(|i| b.arg(self.piece_type(product, i).into())).collect();
        let to = Type::from(self.partial_type(product));
        let op = b.op(product.data().code, args, product.attrs().clone(), [to.clone()]);
        let inferred = shardwise_ops::infer(product.module, &body, op);
        let is_full = (0..2).all(|i| product.operand_tensor(i).size() > 0) && self.chunk > 0;
        is_full && product.result_tensor(0).size() > 0 && inferred.is_ok_and(|types| types == [to])
    }

    /// Returns the type of a piece of an operand.
    pub(crate) fn piece_type(&self, product: &OpView<'_>, operand: usize) -> TensorType {
        let mut ty = product.operand_tensor(operand).clone();
        self.operands[operand].into_iter().for_each(|d| ty.shape[d] = self.chunk);
        ty
    }

    /// Returns the type of the product of pieces.
    pub(crate) fn partial_type(&self, product: &OpView<'_>) -> TensorType {
        let mut ty = product.result_tensor(0).clone();
        self.result.into_iter().for_each(|d| ty.shape[d] = self.chunk);
        ty.dtype = self.partial;
        ty
    }

    /// Returns the ways around the ring that differ from each other.
    pub(crate) fn ways(&self) -> &'static [Ways] {
        if self.count == 2 { &[Ways::One] } else { &[Ways::One, Ways::Both] }
    }

    /// Returns a description of the change: `all_gather and dot_general in 4 pieces`.
    pub(crate) fn describe(&self, module: &Module, body: &Body) -> String {
        let [collective, product] = [self.collective, self.product].map(|op| joins(&module.view(body, op)));
        match self.side {
            Side::Operand(_) => format!("{collective} and {product} in {} pieces", self.count),
            Side::Result => format!("{product} and {collective} in {} pieces", self.count),
        }
    }
}

/// Returns the program with these products cut into pieces that are sent these ways. Fails if the program cannot be
/// copied.
pub(crate) fn apply(module: &Module, chosen: &[&Matmul], ways: Ways) -> Result<Module, Diagnostics> {
    let mut pass = Rings { by_op: BTreeMap::new(), ways };
    for &matmul in chosen {
        let (first, last) = match matmul.side {
            Side::Operand(_) => (matmul.collective, matmul.product),
            Side::Result => (matmul.product, matmul.collective),
        };
        pass.by_op.insert(first, None);
        pass.by_op.insert(last, Some(matmul));
    }
    crate::site::map_main(module, |func| rewrite_func(module, func, &mut pass))
}

struct Rings<'a> {
    /// The ops that are replaced. The loop is built where the last one was.
    by_op: BTreeMap<Op, Option<&'a Matmul>>,
    ways: Ways,
}

impl<'s> Rewrite<'s> for Rings<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let Some(&role) = self.by_op.get(&view.op) else { return Ok(false) };
        if let Some(matmul) = role {
            let value = Ring::new(matmul, &view.at(matmul.product), self.ways, b).build(cloner);
            cloner.carry(view.result(0), value, b);
        }
        Ok(true)
    }
}
