//! `sdy-explicit-gather-scatter-batching`: if the component of the index of a gather or scatter for the operand's first
//! dimension only counts along the first dimension of the indices, both become batching dimensions.

use crate::canonical;
use crate::settings::Settings;
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, rewrite_funcs};
use shardwise_ir::{Attr, Attrs, Builder, Cloner, Module, OpView, Type, Value};
use shardwise_ops::shapes::{Concatenate, Iota};
use shardwise_ops::{Opcode, make};

pub(crate) fn run(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    canonical::drop_unused(&rewrite_funcs(module, &mut Batching)?)
}

struct Batching;

/// The names of the attributes that describe a gather or a scatter.
struct Names {
    record: &'static str,
    /// The name of the list of the operand's dimensions, other than batching dimensions, that the result of a gather or
    /// the updates of a scatter lack.
    collapsed: &'static str,
    batching: &'static str,
    index_batching: &'static str,
    map: &'static str,
}

const GATHER: Names = Names {
    record: "dimension_numbers",
    collapsed: "collapsed_slice_dims",
    batching: "operand_batching_dims",
    index_batching: "start_indices_batching_dims",
    map: "start_index_map",
};

const SCATTER: Names = Names {
    record: "scatter_dimension_numbers",
    collapsed: "inserted_window_dims",
    batching: "input_batching_dims",
    index_batching: "scatter_indices_batching_dims",
    map: "scatter_dims_to_operand_dims",
};

impl<'s> Rewrite<'s> for Batching {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let (names, indices) = match Opcode::of_view(view) {
            Opcode::Gather => (&GATHER, 1),
            // The operands are the inputs, the indices and as many updates as inputs.
            Opcode::Scatter => (&SCATTER, view.operands().len() / 2),
            _ => return Ok(false),
        };
        let Some((attrs, index, dim)) = explicit(view, names, indices) else { return Ok(false) };
        let mut operands = cloner.values(view.operands());
        operands[indices] = without_index(view, view.operand(indices), index, dim, cloner, b);
        let regions: Vec<_> = view.regions().iter().map(|&r| cloner.region(r, b)).collect();
        let types: Vec<Type> = view.results().iter().map(|&v| view.body.ty(v).clone()).collect();
        let op = b.op_with_regions(view.data().code, operands, attrs, regions, types);
        for (i, &v) in view.results().iter().enumerate() {
            let made = b.body[op].results[i];
            cloner.carry(v, made, b);
        }
        Ok(true)
    }
}

/// Returns the attributes with the first dimension of the operand and of the indices as batching dimensions, the
/// component of the index that is no longer needed, and the dimension of the indices that holds the components. Returns
/// `None` if the first dimensions cannot become batching ones, or if the op has batching dimensions already. Other
/// dimensions are not considered.
fn explicit(view: &OpView<'_>, names: &Names, indices: usize) -> Option<(Attrs, usize, usize)> {
    let Attr::Record { name, fields } = view.attr(names.record)? else { return None };
    let list = |name: &str| fields.sizes(name).unwrap_or_default();
    let (operand, starts) = (view.operand_shape(0), view.operand_shape(indices));
    let dim = fields.size("index_vector_dim").unwrap_or(0);
    // A dimension that holds the components is no batching dimension.
    let fits = dim != 0
        && list(names.batching).is_empty()
        && starts.get(dim).is_some_and(|&count| count > 1)
        && operand.first().is_some_and(|size| Some(size) == starts.first());
    let index = list(names.map).iter().position(|&d| d == 0).filter(|_| fits)?;
    if !counts(view, view.operand(indices), dim, index) || !list(names.collapsed).contains(&0) {
        return None;
    }
    let less = |dims: Vec<usize>| dims.into_iter().filter(|&d| d != 0).collect::<Vec<_>>();
    let mut fields = fields.clone();
    for (list, dims) in [
        (names.map, less(list(names.map))),
        (names.collapsed, less(list(names.collapsed))),
        (names.batching, vec![0]),
        (names.index_batching, vec![0]),
    ] {
        match dims.is_empty() {
            true => fields.remove(list),
            false => fields.set(list, Attr::sizes(&dims)),
        };
    }
    let record = Attr::Record { name: name.clone(), fields };
    Some((view.attrs().clone().with(names.record, record), index, dim))
}

/// Returns true if component `index` of the indices, along their dimension `dim`, is made from an iota along the iota's
/// dimension 0 by reshapes, broadcasts, clamps and selects. A select counts as its value for false if that is an iota,
/// and as its value for true otherwise. If the indices are a concatenation along `dim`, its operand number `index` is
/// taken for the component. Other concatenations do not match. Indices that are not a concatenation must be made from
/// such an iota as a whole. This is Shardy's test, and the shapes are not compared.
fn counts(view: &OpView<'_>, indices: Value, dim: usize, index: usize) -> bool {
    let def = |v: Value| view.body.def_op(v).map(|op| view.at(op));
    let mut v = indices;
    if let Some(concat) = def(v).filter(|d| Opcode::of_view(d) == Opcode::Concatenate) {
        if Concatenate::dim(&concat) != Some(dim) || index >= concat.operands().len() {
            return false;
        }
        v = concat.operand(index);
    }
    loop {
        let Some(op) = def(v) else { return false };
        let is_iota = |v: Value| def(v).is_some_and(|d| Opcode::of_view(&d) == Opcode::Iota);
        v = match Opcode::of_view(&op) {
            Opcode::Iota => return Iota::dim(&op) == Some(0),
            Opcode::Reshape | Opcode::BroadcastInDim => op.operand(0),
            Opcode::Clamp => op.operand(1),
            Opcode::Select if is_iota(op.operand(2)) => op.operand(2),
            Opcode::Select => op.operand(1),
            _ => return false,
        };
    }
}

/// Returns the indices without component `index` of their dimension `dim`. Builds slices and a concatenation for it
/// with `b`, as far as they are needed: if the indices are a concatenation of single components, no slices, and if a
/// single slice or component holds what is left, no concatenation.
fn without_index<'s>(
    view: &OpView<'s>,
    indices: Value,
    index: usize,
    dim: usize,
    cloner: &Cloner<'s>,
    b: &mut Builder<'_>,
) -> Value {
    let ty = view.body.ty(indices).as_tensor().expect("indices are a tensor");
    let total = ty.shape[dim];
    let concat = view.body.def_op(indices).map(|op| view.at(op)).filter(|d| {
        let is_single = |&v: &Value| view.body.ty(v).shape()[dim] == 1;
        Opcode::of_view(d) == Opcode::Concatenate
            && Concatenate::dim(d) == Some(dim)
            && d.operands().iter().all(is_single)
    });
    let parts: Vec<Value> = match concat {
        Some(concat) => {
            let others = concat.operands().iter().enumerate().filter(|(i, _)| *i != index);
            others.map(|(_, &v)| cloner.get(v)).collect()
        }
        None => {
            let v = cloner.get(indices);
            let ranges = [(0, index), (index + 1, total)];
            ranges
                .into_iter()
                .filter(|(from, to)| from < to)
                .map(|range| make::slice_dim(b, v, dim, range.0, range.1))
                .collect()
        }
    };
    match parts[..] {
        [only] => only,
        _ => make::concatenate(b, &parts, dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::{PrintOptions, parse, print};
    use shardwise_ops::OPS;

    #[test]
    fn the_dimension_of_the_components_is_no_batching_dimension() {
        let text = r#"
func.func @main(%a: tensor<2x5xf32>, %j: tensor<1x3xi32>) -> tensor<3xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<1x3xi32>
  %1 = stablehlo.concatenate %0, %j, dim = 0 : (tensor<1x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %2 = "stablehlo.gather"(%a, %1) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>} : (tensor<2x5xf32>, tensor<2x3xi32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}"#;
        let module = parse("test.mlir", text, &OPS).unwrap();
        let found = run(&module, &Settings::default()).unwrap();
        assert_eq!(print(&found, &PrintOptions::MLIR), print(&module, &PrintOptions::MLIR));
    }
}
