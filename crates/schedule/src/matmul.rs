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
use crate::site::{Sites, short, sums_dtype};
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

/// The side of products on which their collective is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// An operand of each product is gathered.
    Operand,
    /// The result of the only product is reduce-scattered.
    Result,
}

/// Products and their collective.
#[derive(Clone, Debug)]
pub(crate) struct Matmul {
    pub(crate) collective: Op,
    pub(crate) side: Side,
    pub(crate) products: Vec<Product>,
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) axes: Vec<AxisRef>,
    /// The number of pieces, which is that of the devices of a group.
    pub(crate) count: usize,
    /// The size of a piece of the gathered or scattered dimension.
    pub(crate) chunk: usize,
    pub(crate) like: Like,
}

/// A product that is cut into pieces.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) op: Op,
    /// For each operand, its dimension that is cut into pieces, or `None` if the operand stays whole.
    pub(crate) operands: [Option<usize>; 2],
    /// The dimension of the result that is cut into pieces. Without it, the products of the pieces are added.
    pub(crate) result: Option<usize>,
    /// The operand that is gathered, if one is.
    pub(crate) gathered: Option<usize>,
    /// The size of a piece along the dimensions that are cut.
    pub(crate) chunk: usize,
    /// The element type of the products of pieces.
    pub(crate) partial: DType,
    /// The element type in which the products of pieces are added, if they are.
    pub(crate) sums: DType,
}

/// The facts on which the decision depends. Products that share them are decided together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    side: Side,
    collective: CollectiveView,
    products: Vec<LikeProduct>,
}

/// The code and the attributes of a product, its types, and the operand that is gathered.
type LikeProduct = (OpCode, Attrs, [Type; 3], Option<usize>);

pub(crate) fn find(sites: &Sites<'_>) -> Vec<Matmul> {
    sites.collectives().filter_map(|view| of_collective(sites, &view)).collect()
}

/// Returns the products of the result of an all-gather, or the product whose result a reduce-scatter adds, if they can
/// be cut into pieces, and `None` otherwise. No other op may use the gathered array, or the summands.
fn of_collective(sites: &Sites<'_>, view: &OpView<'_>) -> Option<Matmul> {
    let collective = CollectiveView::of(view)?;
    let Groups::Axes { mesh, axes } = &collective.groups else { return None };
    let count = AxisRef::total_size(mesh, axes);
    if !(2..=MAX_PIECES).contains(&count) || view.results().len() != 1 {
        return None;
    }
    let (side, dim, uses) = match collective.kind {
        CollectiveKind::AllGather { dim } => {
            let uses = sites.uses(view.result(0)).iter();
            (Side::Operand, dim, uses.map(|user| (view.at(user.op), Some(user.index))).collect())
        }
        CollectiveKind::ReduceScatter { dim, reduce: Some(ReduceKind::Add) } => {
            sites.only_use(view.operand(0))?;
            (Side::Result, dim, vec![(view.operand_def(0)?, None)])
        }
        _ => return None,
    };
    let whole = if side == Side::Result { view.operand_shape(0)[dim] } else { view.result_shape(0)[dim] };
    let mut products: Vec<Product> = vec![];
    for (op, gathered) in uses {
        let is_known = products.iter().any(|known| known.op == op.op);
        if is_known || sites.home(op.op) != sites.home(view.op) || !shardwise_sim::is_product(&op) {
            return None;
        }
        let product = Product::of(&op, gathered, dim, whole / count, view)?;
        products.push(product.differs_along(&op, mesh, axes).then_some(product)?);
    }
    let like = Like {
        side,
        collective: CollectiveView { channel: 0, ..collective.clone() },
        products: products.iter().map(|product| product.like(&view.at(product.op))).collect(),
    };
    let (mesh, axes, chunk) = (mesh.clone(), axes.clone(), whole / count);
    let is_used = !products.is_empty();
    is_used.then_some(Matmul { collective: view.op, side, products, mesh, axes, count, chunk, like })
}

pub(crate) fn can_scatter(product: &OpView<'_>, dim: usize) -> bool {
    shardwise_sim::is_product(product) && Cut::of(product, None, dim).is_some()
}

/// Returns the element type of the products of pieces, and that of their sums. A sum is never taken in a narrower type
/// than in one product or one collective. Returns `None` if there are no such types.
fn dtypes(product: &OpView<'_>, collective: &OpView<'_>, cut: &Cut, is_scatter: bool) -> Option<(DType, DType)> {
    let [lhs, rhs] = [0, 1].map(|i| product.operand_tensor(i).dtype);
    let to = product.result_tensor(0).dtype;
    let given = collective.result_tensor(0).dtype;
    match (cut.result, is_scatter) {
        (_, true) => (given == to).then_some((to, sums_dtype(&[to])?)),
        (Some(_), false) => Some((to, to)),
        (None, false) => {
            let sums = sums_dtype(&[to, lhs, rhs])?;
            Some((sums, sums))
        }
    }
}

/// The dimensions of a product's operands and result that consist of one factor, along which the product is cut. `None`
/// for a tensor without the factor.
struct Cut {
    operands: [Option<usize>; 2],
    result: Option<usize>,
}

impl Cut {
    /// Returns the dimensions that are cut along the factor of dimension `dim` of an operand, or of the result if
    /// `operand` is `None`. Returns `None` if the product cannot be computed piece by piece along the factor.
    fn of(product: &OpView<'_>, operand: Option<usize>, dim: usize) -> Option<Cut> {
        let facts = Opcode::of_view(product).facts();
        let rule: Rule = facts.rule(product).rule()?.clone();
        let mapping = match operand {
            Some(i) => rule.operands.get(i)?,
            None => rule.results.first()?,
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
        is_cut.then_some(Cut { operands, result })
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

impl Product {
    /// Returns the product of an op whose operand `gathered`, or whose result, is cut along dimension `dim` into pieces
    /// of this size. Returns `None` if the op cannot be computed in pieces.
    fn of(
        view: &OpView<'_>,
        gathered: Option<usize>,
        dim: usize,
        chunk: usize,
        collective: &OpView<'_>,
    ) -> Option<Product> {
        let cut = Cut::of(view, gathered, dim)?;
        let (partial, sums) = dtypes(view, collective, &cut, gathered.is_none())?;
        let Cut { operands, result } = cut;
        let product = Product { op: view.op, operands, result, gathered, chunk, partial, sums };
        product.has_pieces(view).then_some(product)
    }

    fn like(&self, view: &OpView<'_>) -> LikeProduct {
        let types = [view.operand_type(0), view.operand_type(1), view.result_type(0)].map(Type::clone);
        (view.data().code, view.attrs().clone(), types, self.gathered)
    }

    /// Returns true if the products may differ along every part of the axes, or if it is not recorded whether they do.
    /// Products that are equal along a part of the axes must stay so, and their sums in other orders could differ.
    fn differs_along(&self, view: &OpView<'_>, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> bool {
        let varying = view.body[view.result(0)].varying.as_ref();
        let covered = varying.map(|varying| varying.axes(mesh));
        covered.is_none_or(|covered| axes.iter().all(|axis| axis.minus(mesh, &covered).is_empty()))
    }

    /// Returns true if the op accepts the types of pieces, and no piece is empty.
    fn has_pieces(&self, view: &OpView<'_>) -> bool {
        let mut body = Body::new();
        let mut b = Builder::new(&mut body);
        let args: Vec<Value> = (0..2).map(|i| b.arg(self.piece_type(view, i).into())).collect();
        let to = Type::from(self.partial_type(view));
        let op = b.op(view.data().code, args, view.attrs().clone(), [to.clone()]);
        let inferred = shardwise_ops::infer(view.module, &body, op);
        let is_full = (0..2).all(|i| view.operand_tensor(i).size() > 0) && self.chunk > 0;
        is_full && view.result_tensor(0).size() > 0 && inferred.is_ok_and(|types| types == [to])
    }

    pub(crate) fn piece_type(&self, product: &OpView<'_>, operand: usize) -> TensorType {
        let mut ty = product.operand_tensor(operand).clone();
        self.operands[operand].into_iter().for_each(|d| ty.shape[d] = self.chunk);
        ty
    }

    pub(crate) fn partial_type(&self, product: &OpView<'_>) -> TensorType {
        let mut ty = product.result_tensor(0).clone();
        self.result.into_iter().for_each(|d| ty.shape[d] = self.chunk);
        ty.dtype = self.partial;
        ty
    }
}

impl Matmul {
    pub(crate) fn ways(&self) -> &'static [Ways] {
        if self.count == 2 { &[Ways::One] } else { &[Ways::One, Ways::Both] }
    }

    /// Returns a description of the change: `all_gather and dot_general in 4 pieces`.
    pub(crate) fn describe(&self, module: &Module, body: &Body) -> String {
        let collective = short(&module.view(body, self.collective));
        let product = short(&module.view(body, self.products[0].op));
        let products =
            if self.products.len() > 1 { format!("{} products", self.products.len()) } else { product.into() };
        match self.side {
            Side::Operand => format!("{collective} and {products} in {} pieces", self.count),
            Side::Result => format!("{products} and {collective} in {} pieces", self.count),
        }
    }
}

/// Returns the program with the products of `chosen` cut into pieces, which are sent around the ring as `ways` says. An
/// item of `chosen` that shares a product with an earlier one changes nothing. Always returns `Ok`.
pub(crate) fn apply(module: &Module, chosen: &[&Matmul], ways: Ways) -> Result<Module, Diagnostics> {
    let mut pass = Rings { by_op: BTreeMap::new(), rings: BTreeMap::new(), ways };
    for &matmul in chosen {
        if matmul.products.iter().any(|product| pass.by_op.contains_key(&product.op)) {
            continue;
        }
        match matmul.side {
            Side::Operand => {
                pass.by_op.insert(matmul.collective, Role::Gather(matmul));
                let parts = matmul.products.iter().map(|product| (product.op, Role::Product(matmul, product)));
                pass.by_op.extend(parts);
            }
            Side::Result => {
                pass.by_op.insert(matmul.products[0].op, Role::Later);
                pass.by_op.insert(matmul.collective, Role::Scatter(matmul, &matmul.products[0]));
            }
        }
    }
    crate::site::map_main(module, |func| rewrite_func(module, func, &mut pass))
}

#[derive(Clone, Copy)]
enum Role<'a> {
    /// The gather of an operand, whose pieces are kept apart for the products.
    Gather(&'a Matmul),
    /// A product of an operand that is gathered in pieces.
    Product(&'a Matmul, &'a Product),
    /// The product whose result is scattered, which is built at the position of the scatter.
    Later,
    /// A sum of products that visits all devices.
    Scatter(&'a Matmul, &'a Product),
}

struct Rings<'a> {
    by_op: BTreeMap<Op, Role<'a>>,
    /// The rings of the gathers so far.
    rings: BTreeMap<Op, Ring<'a>>,
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
        match role {
            Role::Later => {}
            Role::Gather(matmul) => {
                let ring = Ring::new(matmul, view, self.ways, b);
                self.rings.insert(view.op, ring);
                let ring = self.rings.get_mut(&view.op).expect("just inserted");
                ring.gather(cloner.get(view.operand(0)), b);
            }
            Role::Product(matmul, product) => {
                let ring = self.rings.get_mut(&matmul.collective).expect("the gather comes first");
                let others = [0, 1].map(|i| (product.gathered != Some(i)).then(|| cloner.get(view.operand(i))));
                let value = ring.product(product, view, others, b);
                cloner.carry(view.result(0), value, b);
            }
            Role::Scatter(matmul, product) => {
                let source = view.at(product.op);
                let operands = [0, 1].map(|i| cloner.get(source.operand(i)));
                let value = Ring::new(matmul, view, self.ways, b).scattered(product, &source, operands, b);
                cloner.carry(view.result(0), value, b);
            }
        }
        Ok(true)
    }
}
