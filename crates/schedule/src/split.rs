//! Sums over devices as a reduce-scatter and an all-gather, each of which can be hidden by itself.

use crate::change::Site;
use crate::matmul;
use crate::site::{Sites, map_main, set_reason};
use shardwise_base::{AxisRef, Diagnostics, Mesh};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Builder, Cloner, Module, Op, OpView, TensorType};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};
use shardwise_ops::{ReduceKind, make_collective};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) sum: Op,
    dim: usize,
    kind: ReduceKind,
    mesh: Arc<Mesh>,
    axes: Vec<AxisRef>,
    /// True if the all-reduce adds, and what it adds is a product that can be computed in pieces.
    pub(crate) is_of_product: bool,
    pub(crate) like: Like,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    collective: CollectiveView,
    ty: TensorType,
    is_of_product: bool,
}

pub(crate) fn find(sites: &Sites<'_>) -> Vec<Split> {
    sites.collectives().filter_map(|view| of_sum(sites, &view)).collect()
}

fn of_sum(sites: &Sites<'_>, view: &OpView<'_>) -> Option<Split> {
    let collective = CollectiveView::of(view)?;
    let CollectiveKind::AllReduce { reduce: Some(kind) } = collective.kind else { return None };
    let Groups::Axes { mesh, axes } = &collective.groups else { return None };
    let (mesh, axes) = (mesh.clone(), axes.clone());
    let [operand] = *view.operands() else { return None };
    let ty = view.operand_type(0).as_tensor()?.clone();
    let count = AxisRef::total_size(&mesh, &axes);
    let splits = |&d: &usize| ty.shape[d] > 0 && ty.shape[d].is_multiple_of(count);
    let dims: Vec<usize> = (0..ty.rank()).filter(splits).collect();
    let product = view
        .operand_def(0)
        .filter(|product| sites.only_use(operand).is_some() && sites.home(product.op) == sites.home(view.op));
    let of_product = product.and_then(|product| dims.iter().copied().find(|&d| matmul::can_scatter(&product, d)));
    let is_of_product = of_product.is_some() && kind == ReduceKind::Add;
    let dim = of_product.or(dims.first().copied())?;
    let fits = count > 1 && view.result_type(0).as_tensor() == Some(&ty);
    let like = Like { collective: CollectiveView { channel: 0, ..collective }, ty, is_of_product };
    fits.then_some(Split { sum: view.op, dim, kind, mesh, axes, is_of_product, like })
}

pub(crate) fn apply(module: &Module, chosen: &[Site]) -> Result<Module, Diagnostics> {
    let split = |site: &Site| if let Site::Split(split) = site { Some((split.sum, split.clone())) } else { None };
    let mut pass = Splitter(chosen.iter().filter_map(split).collect());
    map_main(module, |func| rewrite_func(module, func, &mut pass))
}

struct Splitter(BTreeMap<Op, Split>);

impl<'s> Rewrite<'s> for Splitter {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let Some(split) = self.0.get(&view.op) else { return Ok(false) };
        let x = cloner.get(view.operand(0));
        let part = make_collective::reduce_scatter(b, x, split.dim, split.kind, &split.mesh, &split.axes);
        let whole = make_collective::all_gather(b, part, split.dim, &split.mesh, &split.axes);
        for v in [part, whole] {
            set_reason(b, v, view.data().reason.clone());
        }
        cloner.carry(view.result(0), whole, b);
        Ok(true)
    }
}
