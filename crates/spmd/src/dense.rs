//! Rewrites a localized program for other StableHLO tools, with devices named by number.
//!
//! Axes become dense groups and pairs of device ids with channels, and `shardwise.axis_index` becomes arithmetic on
//! `partition_id`. What only shardwise reads is removed: meshes, the shardings of values, and `shardwise.*` attributes
//! of arguments and results. The size of the result grows with the number of devices. It is meant for printing and is
//! not a stage of the pipeline.

use crate::rewrite::map_main;
use shardwise_base::{AxisRef, DType, Diagnostics, Literal, Mesh};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Attrs, Builder, Cloner, Func, Module, OpView, Type, Value};
use shardwise_ops::collective::{
    AxisIndexOp, CollectiveKind, CollectiveView, Groups, Permutation, attrs_with_channel, attrs_with_groups,
    groups_attr, groups_of_axes, set_partition_count,
};
use shardwise_ops::{Opcode, make};
use std::sync::Arc;

/// Returns the module with devices named by number in the main function, and without its meshes. Sets the module's
/// number of partitions to the number of devices, which is 1 if there is no mesh, and its number of replicas to 1.
/// Always returns `Ok`.
pub fn dense(module: &Module) -> Result<Module, Diagnostics> {
    let devices = module.main_mesh().map_or(1, |mesh| mesh.size());
    let mut out = map_main(module, |func| {
        let mut func = rewrite_func(module, func, &mut Dense { next_channel: 1 })?;
        strip(&mut func);
        Ok(func)
    })?;
    out.meshes.clear();
    set_partition_count(&mut out, devices);
    Ok(out)
}

/// Removes the shardings and other facts of values and results that only shardwise reads, such attributes of arguments
/// and results, and the reshards in the reasons of ops, whose layouts need a mesh. Attributes of ops are not changed.
fn strip(func: &mut Func) {
    for v in (0..func.body.value_count()).map(Value::new) {
        let data = func.body.value_mut(v);
        (data.sharding, data.varying, data.manual, data.padding) = (None, None, None, None);
    }
    for op in func.body.walk() {
        if let Some(reason) = &mut func.body.op_mut(op).reason
            && (reason.reshard.is_some() || reason.forced.is_some())
        {
            let reason = Arc::make_mut(reason);
            (reason.reshard, reason.forced) = (None, None);
        }
    }
    func.result_shardings.iter_mut().for_each(|s| *s = None);
    for attrs in func.arg_attrs.iter_mut().chain(&mut func.result_attrs) {
        let own: Vec<String> =
            attrs.iter().map(|(name, _)| name.to_string()).filter(|n| n.starts_with("shardwise.")).collect();
        own.iter().for_each(|name| _ = attrs.remove(name));
    }
}

struct Dense {
    next_channel: i64,
}

impl<'s> Rewrite<'s> for Dense {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if let Some((mesh, axes)) = AxisIndexOp::axes(view) {
            let index = axis_index(mesh, axes, b);
            cloner.set(view.result(0), index);
            return Ok(true);
        }
        let Some(attrs) = CollectiveView::of(view).and_then(|c| self.attrs(view, &c)) else { return Ok(false) };
        let op = cloner.op(view.op, b);
        b.body.op_mut(op).attrs = attrs;
        Ok(true)
    }
}

impl Dense {
    /// Returns the collective's attributes with device ids in place of axes and with a new channel, or `None` if it
    /// names no axes.
    fn attrs(&mut self, view: &OpView<'_>, collective: &CollectiveView) -> Option<Attrs> {
        let Groups::Axes { mesh, axes } = &collective.groups else { return None };
        let channel = Some(self.channel());
        if let CollectiveKind::CollectivePermute { permutation } = &collective.kind {
            let mut attrs = attrs_with_channel(view.attrs().clone(), channel);
            Permutation::Processes(permutation.to_device_pairs(mesh)).write(&mut attrs);
            return Some(attrs);
        }
        Some(attrs_with_groups(view, groups_attr(&groups_of_axes(mesh, axes)), channel))
    }

    fn channel(&mut self) -> i64 {
        self.next_channel += 1;
        self.next_channel - 1
    }
}

/// Returns the position along `axes` of the device whose number is `partition_id`, as an i32.
fn axis_index(mesh: &Mesh, axes: &[AxisRef], b: &mut Builder<'_>) -> Value {
    let id = b.value(Opcode::PartitionId, [], Attrs::new(), Type::tensor(DType::U32, vec![]));
    let index = if mesh.device_ids.is_some() { looked_up(mesh, axes, id, b) } else { computed(mesh, axes, id, b) };
    make::convert(b, index, DType::I32)
}

fn computed(mesh: &Mesh, axes: &[AxisRef], id: Value, b: &mut Builder<'_>) -> Value {
    let mut index = make::number(b, DType::U32, 0);
    for &axis in axes {
        let [stride, size] = [axis.stride(mesh), axis.size(mesh)].map(|n| make::number(b, DType::U32, n as i64));
        let quotient = make::divide(b, id, stride);
        let own = make::remainder(b, quotient, size);
        let scaled = make::multiply(b, index, size);
        index = make::add(b, scaled, own);
    }
    index
}

/// Looks the position up in a table by device id. It is used for meshes whose devices are not in the order of their
/// numbers.
fn looked_up(mesh: &Mesh, axes: &[AxisRef], id: Value, b: &mut Builder<'_>) -> Value {
    let mut table = vec![0u32; mesh.size()];
    for position in 0..mesh.size() {
        let index = AxisRef::index_in(mesh, axes, &mesh.coordinates(position));
        if let Some(slot) = table.get_mut(mesh.device(position)) {
            *slot = index as u32;
        }
    }
    let table = make::constant(b, Literal::new(vec![mesh.size()], &table));
    let row = make::dynamic_slice(b, table, &[id], &[1]);
    make::reshape(b, row, &[])
}
