//! Rewrites imported per-device code to use mesh axes.
//!
//! Programs name devices by number: `replica_groups = dense<[[0, 1], [2, 3]]>`, `partition_id / 2 % 4`. Where the
//! numbers are positions along mesh axes, they are replaced by these axes. Code that is not recognised is not changed.

use crate::rewrite::{facts, has_program_regions, is_terminator, map_main};
use shardwise_base::budget::Meter;
use shardwise_base::{AxisRef, DType, Diagnostics, Literal, Loc, Mesh, budget};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Module, Op, OpView, Type, Use, Uses, Value};
use shardwise_ops::collective::{
    AxisList, CollectiveKind, CollectiveView, Groups, IdSpace, Permutation, attrs_with_channel, attrs_with_groups,
    axes_of_groups, permutation_of_pairs, with_index_in,
};
use shardwise_ops::{NoRegions, Opcode, PropagationClass, Semantics, constant_value, evaluate, make, make_collective};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

/// The largest number of devices of a mesh for which arithmetic on device numbers is replaced by axes.
const MAX_DEVICES: usize = 1 << 16;

/// Replaces device numbers by axes of the main mesh in the main function where both name the same devices: in
/// collectives, and in arithmetic on `partition_id`. Always returns `Ok`.
pub fn axes(module: &Module) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| {
        budget::poll();
        let mut pass = Axes { mesh: &mesh, uses: OnceCell::new(), is_changed: false };
        let out = rewrite_func(module, func, &mut pass)?;
        Ok(if pass.is_changed { out } else { func.clone() })
    })
}

struct Axes<'a> {
    mesh: &'a Arc<Mesh>,
    /// The uses of the function's values, once they are needed.
    uses: OnceCell<Uses>,
    is_changed: bool,
}

impl<'s> Rewrite<'s> for Axes<'_> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if let Some(axes) = axes_of_arithmetic(view, self.mesh, &self.uses) {
            let index = axis_index(view, self.mesh, &axes, b);
            cloner.carry(view.result(0), index, b);
        } else if let Some(attrs) = axis_attrs(view, self.mesh) {
            let op = cloner.op(view.op, b);
            b.body.op_mut(op).attrs = attrs;
        } else if is_terminator(view) || has_program_regions(view) || Opcode::of_view(view) == Opcode::AsyncStart {
            return Ok(false);
        } else {
            cloner.op(view.op, b);
            return Ok(true);
        }
        self.is_changed = true;
        Ok(true)
    }
}

/// Returns the location and the name, in backticks, of the first collective of the main function whose device numbers
/// can be replaced by axes of the main mesh, or `None` if there is none.
pub(crate) fn unnamed(module: &Module) -> Option<(Loc, String)> {
    let (func, mesh) = (module.main()?, module.main_mesh()?);
    let is_unnamed = |&op: &Op| axis_attrs(&module.view(&func.body, op), mesh).is_some();
    let op = func.body.walk().into_iter().find(is_unnamed)?;
    let view = module.view(&func.body, op);
    Some((view.loc().clone(), format!("`{}`", view.name())))
}

/// Returns the collective's attributes with axes of `mesh` in place of the numbers of devices or replicas, and without
/// its channel. Returns `None` if the op is no collective, if it names axes already, or if no axes form its groups or
/// pairs.
fn axis_attrs(view: &OpView<'_>, mesh: &Arc<Mesh>) -> Option<Attrs> {
    let collective = CollectiveView::of(view)?;
    if matches!(collective.groups, Groups::Axes { .. }) {
        return None;
    }
    // There is one replica, 0, so each device is alone in a group of replicas.
    let is_of_replicas = collective.ids == IdSpace::CrossReplica;
    if let CollectiveKind::CollectivePermute { permutation: Permutation::Processes(pairs) } = &collective.kind {
        let mut attrs = attrs_with_channel(view.attrs().clone(), None);
        let permutation = match is_of_replicas {
            true => Permutation::of_pairs(AxisList::new(mesh, []), pairs.clone()),
            false => permutation_of_pairs(mesh, pairs)?,
        };
        permutation.write(&mut attrs);
        return Some(attrs);
    }
    let groups = match &collective.groups {
        Groups::Dense(rows) if is_of_replicas => {
            (rows.concat() == [0]).then(|| Groups::Axes { mesh: mesh.clone(), axes: vec![] })?
        }
        groups => groups.to_axes(mesh)?,
    };
    let Groups::Axes { mesh, axes } = groups else { return None };
    Some(attrs_with_groups(view, Attr::axes(&mesh, &axes), None))
}

/// Returns the axes along which the op computes the position of a device: `partition_id / stride % size`, where the
/// division may be absent, or `partition_id / stride` for the axes from the most major one on. Returns `None` if no
/// such axes are found, for a division that is only divided further, and if the mesh has more than [`MAX_DEVICES`]
/// devices. `uses` holds the uses of the op's body, once they are needed.
fn axes_of_arithmetic(view: &OpView<'_>, mesh: &Mesh, uses: &OnceCell<Uses>) -> Option<Vec<AxisRef>> {
    if mesh.size() > MAX_DEVICES || view.results().len() != 1 || !view.result_shape(0).is_empty() {
        return None;
    }
    let (stride, size) = match view.name() {
        "stablehlo.remainder" => (stride_of(&view.operand_def(0)?)?, scalar(view, 1)?),
        // A division without a remainder is the position along the axes from the most major one.
        "stablehlo.divide" => {
            let stride = stride_of(view).filter(|_| !is_only_divided_on(view, mesh, uses))?;
            (stride, mesh.size().checked_div(stride)?)
        }
        _ => return None,
    };
    let period = stride.checked_mul(size).filter(|&p| p > 0 && mesh.size().is_multiple_of(p))?;
    let firsts = (0..mesh.size()).filter(|d| d % period < stride);
    let groups: Vec<Vec<usize>> = firsts.map(|d| (0..size).map(|i| d + i * stride).collect()).collect();
    axes_of_groups(mesh, &groups)
}

/// Returns true if all readers of the result of a division are `stablehlo.remainder` ops that divide it further, with
/// which the division is recognised together as a position along axes. A result without readers counts as well.
fn is_only_divided_on(view: &OpView<'_>, mesh: &Mesh, uses: &OnceCell<Uses>) -> bool {
    let is_divided = |user: &Use| {
        let reader = view.at(user.op);
        let is_first = user.index == 0 && reader.name() == "stablehlo.remainder";
        is_first && axes_of_arithmetic(&reader, mesh, uses).is_some()
    };
    uses.get_or_init(|| Uses::compute(view.body)).of(view.result(0)).iter().all(is_divided)
}

/// The largest number of devices whose numbers are compared with those of the first ones of their groups at one time.
const MAX_COMPARED: usize = 1 << 14;

/// Returns true if the result of `view`, which is `number` on each device of the mesh, is equal on all devices with the
/// same position along `along`, or is only read to compute numbers that are. Returns false if this is not so, and also
/// if [`scalars`] cannot compute a number that has to be followed. `number` takes the coordinates of a device. `uses`
/// holds the uses of the op's body, once they are needed.
pub(crate) fn is_read_along(
    view: &OpView<'_>,
    number: impl Fn(&[usize]) -> usize,
    mesh: &Mesh,
    along: &[AxisRef],
    uses: &OnceCell<Uses>,
) -> bool {
    let free: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, along)).collect();
    let others: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, &free)).collect();
    let [group_size, group_count] = [&free, &others].map(|axes| AxisRef::total_size(mesh, axes));
    let origin = vec![0; mesh.axes.len()];
    let number = |group: usize, member: usize| {
        number(&with_index_in(mesh, &free, &with_index_in(mesh, &others, &origin, group), member))
    };
    // Each group is compared with its first member. A large group is compared in parts.
    let (groups, members) = ((MAX_COMPARED / group_size).max(1), group_size.min(MAX_COMPARED));
    let mut meter = Meter::default();
    (0..group_count).step_by(groups).all(|group| {
        (0..group_size).step_by(members).all(|member| {
            let group_end = group_count.min(group + groups);
            let rest = (member + usize::from(member == 0)..group_size.min(member + members)).collect::<Vec<_>>();
            let groups = (group..group_end).map(|g| {
                meter.add(rest.len() as u64 + 1);
                std::iter::once(0).chain(rest.iter().copied()).map(|m| number(g, m)).collect()
            });
            is_read_alike(view, &groups.collect::<Vec<_>>(), uses)
        })
    })
}

/// Returns true if the result of `view` is equal in each group, or is only read to compute numbers that are. Returns
/// false if this is not so, and also if [`scalars`] cannot compute a number. `groups` has the results of the op for
/// the devices of each group.
fn is_read_alike(view: &OpView<'_>, groups: &[Vec<usize>], uses: &OnceCell<Uses>) -> bool {
    let numbers: Vec<usize> = groups.concat();
    let numbers = match view.result_tensor(0).dtype {
        DType::I32 => Literal::from_fn([numbers.len()], |i| numbers[i] as i32),
        _ => Literal::from_fn([numbers.len()], |i| numbers[i] as u32),
    };
    let mut open = vec![(view.result(0), numbers)];
    let mut seen: HashSet<Op> = HashSet::new();
    while let Some((number, values)) = open.pop() {
        budget::poll();
        let values = values.to_dense();
        let mut start = 0;
        let mut is_alike = |count: usize| {
            let first = start;
            start += count;
            (first..start).all(|i| values.element_bytes(i) == values.element_bytes(first))
        };
        if groups.iter().all(|group| is_alike(group.len())) {
            continue;
        }
        for user in uses.get_or_init(|| Uses::compute(view.body)).of(number) {
            if seen.insert(user.op) {
                let user = view.at(user.op);
                let Some(values) = scalars(&user, number, &values) else { return false };
                open.push((user.result(0), values));
            }
        }
    }
    true
}

/// Returns the results of a pure elementwise op or a reshape that computes one scalar from the scalar `number` and
/// constants: one for each of `values`, the values of `number`. Returns `None` for other ops, and if the evaluation
/// fails.
fn scalars(view: &OpView<'_>, number: Value, values: &Literal) -> Option<Literal> {
    let is_scalar = |v: &Value| view.body.ty(*v).as_tensor().is_some_and(|t| t.rank() == 0);
    let are_scalars = view.operands().iter().chain(view.results()).all(is_scalar) && view.results().len() == 1;
    let is_copy = Opcode::of_view(view) == Opcode::Reshape;
    let is_elementwise = is_copy || facts(view).propagation_class(view) == PropagationClass::Elementwise;
    if !are_scalars || !is_elementwise || facts(view).semantics(view) != Semantics::Pure {
        return None;
    }
    let others = (0..view.operands().len()).map(|i| match view.operand(i) == number {
        true => Some(None),
        false => constant_value(&view.operand_def(i)?).map(Some),
    });
    let others: Vec<Option<&Literal>> = others.collect::<Option<_>>()?;
    let (dtype, count) = (view.result_tensor(0).dtype, values.size());
    let operands = others.iter().map(|constant| match constant {
        Some(c) => Literal::splat(c.dtype(), [count], c.to_dense().element_bytes(0)),
        None => values.clone(),
    });
    let operands: Vec<Literal> = operands.collect();
    let mut body = Body::new();
    let entry = body.entry();
    let add = |(i, x): (usize, &Literal)| {
        let ty = Type::tensor(view.operand_tensor(i).dtype, x.shape());
        body.add_arg(entry, ty, view.loc().clone())
    };
    let args: Vec<Value> = operands.iter().enumerate().map(add).collect();
    let results = [Type::tensor(dtype, [count])];
    let op = body.add_op(entry, view.data().code, args, view.attrs().clone(), [], results, view.loc().clone());
    evaluate(&view.module.view(&body, op), &operands, &mut NoRegions).ok()?.pop()
}

/// Returns `stride` if the op computes `partition_id / stride` with a constant `stride`, 1 if it is `partition_id`, and
/// `None` otherwise. A conversion of the quotient or of `partition_id` to an element type of at least 32 bits counts as
/// well, but a quotient of a converted `partition_id` does not.
fn stride_of(view: &OpView<'_>) -> Option<usize> {
    let is_id = |view: &OpView<'_>| Opcode::of_view(view) == Opcode::PartitionId;
    match view.name() {
        _ if is_id(view) => Some(1),
        "stablehlo.divide" if is_id(&view.operand_def(0)?) => scalar(view, 1),
        "stablehlo.convert" if view.result_tensor(0).dtype.bits() >= 32 => stride_of(&view.operand_def(0)?),
        _ => None,
    }
}

fn scalar(view: &OpView<'_>, operand: usize) -> Option<usize> {
    let constant = view.operand_def(operand)?;
    let value = constant_value(&constant).filter(|_| Opcode::of_view(&constant) == Opcode::Constant)?;
    let is_count = value.dtype().is_integer() && value.size() == 1;
    is_count.then(|| usize::try_from(value.get_i128(0)).ok())?
}

fn axis_index(view: &OpView<'_>, mesh: &Arc<Mesh>, axes: &[AxisRef], b: &mut Builder<'_>) -> Value {
    let index = make_collective::axis_index(b, mesh, axes);
    b.set_sharding(index, view.result_sharding(0).cloned());
    match view.result_tensor(0).dtype {
        DType::I32 => index,
        dtype => make::convert(b, index, dtype),
    }
}
