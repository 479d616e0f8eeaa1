//! Manual computations and the collectives inside them.

use super::Maker;
use super::control::returned;
use super::scope::{Grade, Live, Scope, Surroundings, Typed};
use crate::single::Fill;
use shardwise_base::{DType, Literal};
use shardwise_ir::TensorType;

/// The attribute of a collective over the devices of one program.
const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

impl Maker {
    pub(super) fn manual(&mut self, scope: &mut Scope) {
        let axes: Vec<usize> = (0..self.meshes.first().len()).filter(|_| !self.choose.one_in(3)).collect();
        if axes.is_empty() {
            return;
        }
        let operands: Vec<Live> = (0..1 + self.choose.below(2)).map(|_| self.choose.of(&scope.live).clone()).collect();
        let place = Surroundings { is_main: false, in_manual: true, depth: scope.place.depth + 1, ..scope.place };
        let mut inner = Scope::isolated(place);
        inner.manual_axes = axes.clone();
        let (mut list, mut shardings) = (vec![], vec![]);
        for operand in &operands {
            let (local, sharding) = self.manual_operand(&operand.ty, &axes);
            let value = self.parameter(&mut inner, &local);
            list.push(format!("{}: {local}", value.name));
            shardings.push(sharding);
        }
        for _ in 0..1 + self.choose.below(4) {
            match self.choose.below(6) {
                0..=2 => self.collective(&mut inner, &axes),
                3 => self.branch(&mut inner),
                _ => self.statement(&mut inner),
            }
        }
        let (value, global, result_sharding) = self.manual_result(&mut inner, &axes);
        self.features.insert("manual computations");
        let names: Vec<&str> = operands.iter().map(|o| o.name.as_str()).collect();
        let types: Vec<String> = operands.iter().map(|o| o.ty.to_string()).collect();
        let op = format!(
            "sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{result_sharding}] manual_axes={} ({}) {{\n{}{}  }} \
             : ({}) -> {global}",
            names.join(", "),
            shardings.join(", "),
            axis_set(&self.axis_names(&axes)),
            list.join(", "),
            inner.text(),
            returned("sdy.return", std::slice::from_ref(&value)),
            types.join(", ")
        );
        self.plain(scope, &op, global, Grade::Wild);
    }

    pub(super) fn axis_names(&self, axes: &[usize]) -> Vec<String> {
        axes.iter().map(|&i| format!("\"{}\"", self.meshes.first()[i].0)).collect()
    }

    pub(super) fn axes_size(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&i| self.meshes.first()[i].1).product()
    }

    /// Returns the type of a device's part of an operand, and the sharding of the operand: over some of these axes,
    /// where they divide its dimensions.
    fn manual_operand(&mut self, ty: &TensorType, axes: &[usize]) -> (TensorType, String) {
        let mut local = ty.clone();
        let mut dims: Vec<Vec<String>> = ty.shape.iter().map(|_| vec![]).collect();
        for &axis in axes {
            let (name, size) = self.meshes.first()[axis];
            if ty.rank() == 0 || self.choose.one_in(4) {
                continue;
            }
            let dim = self.choose.below(ty.rank());
            if local.shape[dim].is_multiple_of(size) && local.shape[dim] > 0 {
                local.shape[dim] /= size;
                dims[dim].push(format!("\"{name}\""));
            }
        }
        (local, sharding(&dims))
    }

    /// Returns a result of the computation, its type outside, and how it is split there: along its first dimension over
    /// all manual axes, or not at all if all devices have the same value.
    fn manual_result(&mut self, inner: &mut Scope, axes: &[usize]) -> (Typed, TensorType, String) {
        let value = self.choose.of(&inner.live).clone();
        if self.choose.one_in(4) && value.ty.dtype.is_computed() {
            let value = self.all_reduce(inner, &value, axes);
            let dims = vec![vec![]; value.ty.rank()];
            return (value.typed(), value.ty.clone(), sharding(&dims));
        }
        let shape = if value.ty.rank() == 0 { vec![1] } else { value.ty.shape.clone() };
        let value = self.with_shape(inner, value, &shape);
        let mut global = value.ty.clone();
        global.shape[0] *= self.axes_size(axes);
        let mut dims = vec![vec![]; global.rank()];
        dims[0] = self.axis_names(axes);
        (value.typed(), global, sharding(&dims))
    }

    fn collective(&mut self, inner: &mut Scope, manual: &[usize]) {
        let mut axes: Vec<usize> = manual.iter().copied().filter(|_| self.choose.one_in(2)).collect();
        if axes.is_empty() {
            axes = manual.to_vec();
        }
        let value = self.choose.of(&inner.live).clone();
        let shape = if value.ty.rank() == 0 { vec![1] } else { value.ty.shape.clone() };
        let x = self.with_shape(inner, value, &shape);
        match self.choose.below(11) {
            7 => self.process_number(inner, &axes, manual.len() == self.meshes.first().len()),
            8 => self.collective_reduce(inner, &x, &axes),
            9 => self.ragged(inner, &x, &axes),
            0 => self.all_gather(inner, &x, &axes),
            1 => self.reduce_scatter(inner, &x, &axes),
            2 => self.all_to_all(inner, &x, &axes),
            3 | 4 => self.permute(inner, &x, &axes),
            5 => self.broadcast(inner, &x, &axes),
            _ if x.ty.dtype.is_computed() => drop(self.all_reduce(inner, &x, &axes)),
            _ => {}
        }
    }

    /// Writes a `partition_id`, a `replica_id`, or the device's position along `axes`. `is_everywhere` is true if all
    /// axes of the mesh are manual, as a `partition_id` requires.
    fn process_number(&mut self, inner: &mut Scope, axes: &[usize], is_everywhere: bool) {
        let (op, dtype) = match self.choose.below(3) {
            0 if is_everywhere => ("stablehlo.partition_id".to_string(), DType::U32),
            0 | 1 => ("stablehlo.replica_id".to_string(), DType::U32),
            _ => (format!("shardwise.axis_index <@mesh, {}>", axis_set(&self.axis_names(axes))), DType::I32),
        };
        let ty = TensorType::new(dtype, []);
        self.plain(inner, &format!("{op} : {ty}"), ty, Grade::Integers(0, 7));
    }

    /// Returns the groups of devices that differ only along these axes. The members of a group are in the order of
    /// their positions along `axes`, major to minor.
    fn groups(&self, axes: &[usize]) -> Vec<Vec<usize>> {
        let mesh = self.meshes.first();
        let coordinate = |device: usize, axis: usize| {
            let inner = mesh[axis + 1..].iter().map(|a| a.1).product::<usize>();
            device / inner % mesh[axis].1
        };
        let all: Vec<usize> = (0..mesh.len()).collect();
        let mut groups: std::collections::BTreeMap<Vec<usize>, Vec<(Vec<usize>, usize)>> = Default::default();
        for device in 0..self.axes_size(&all) {
            let along: Vec<usize> = axes.iter().map(|&a| coordinate(device, a)).collect();
            let others = all.iter().filter(|a| !axes.contains(a)).map(|&a| coordinate(device, a)).collect();
            groups.entry(others).or_default().push((along, device));
        }
        groups
            .into_values()
            .map(|mut group| {
                group.sort();
                group.into_iter().map(|(_, device)| device).collect()
            })
            .collect()
    }

    pub(super) fn groups_attr(&self, axes: &[usize]) -> String {
        let groups = self.groups(axes);
        let lists: Vec<String> = groups.iter().map(|g| format!("{g:?}")).collect();
        format!("replica_groups = dense<[{}]> : tensor<{}x{}xi64>", lists.join(", "), groups.len(), groups[0].len())
    }

    fn moved(&mut self, inner: &mut Scope, op: &str, x: &Live, attrs: &str, to: TensorType) {
        self.exchanged(inner, op, x, attrs, vec![], to, x.grade);
    }

    /// Writes a collective, sometimes as a start and a wait, and returns its result.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of an op")]
    fn exchanged(
        &mut self,
        inner: &mut Scope,
        op: &str,
        x: &Live,
        attrs: &str,
        regions: Vec<String>,
        to: TensorType,
        grade: Grade,
    ) -> Live {
        if !self.choose.one_in(6) {
            let (name, from) = (std::slice::from_ref(&x.name), std::slice::from_ref(&x.ty));
            return self.op(inner, op, name, attrs, &regions, from, &[to], grade).remove(0);
        }
        let [future, argument, value] = [(); 3].map(|()| self.name());
        let inside = if regions.is_empty() { String::new() } else { format!(" ({})", regions.join(", ")) };
        inner.line(format!(
            "{future} = \"stablehlo.async_start\"({}) ({{\n  ^bb0({argument}: {ty}):\n    \
             {value} = \"{op}\"({argument}) <{{{attrs}}}>{inside} : ({ty}) -> {to}\n    \
             stablehlo.return {value} : {to}\n  }}) : ({ty}) -> !stablehlo.future<{to}>",
            x.name,
            ty = x.ty
        ));
        let done = format!("\"stablehlo.async_done\"({future}) : (!stablehlo.future<{to}>) -> {to}");
        self.plain(inner, &done, to.clone(), grade)
    }

    fn all_gather(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let dim = self.choose.below(x.ty.rank());
        let mut to = x.ty.clone();
        to.shape[dim] *= self.axes_size(axes);
        let attrs =
            format!("all_gather_dim = {dim} : i64, {CHANNEL}, {}, use_global_device_ids", self.groups_attr(axes));
        self.moved(inner, "stablehlo.all_gather", x, &attrs, to);
    }

    fn all_reduce(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) -> Live {
        let x = self.provide_small(inner, x);
        let to = TensorType::new(self.widened(x.ty.dtype), x.ty.shape.clone());
        let attrs = format!("{CHANNEL}, {}, use_global_device_ids", self.groups_attr(axes));
        self.reduced(inner, "stablehlo.all_reduce", &x, &attrs, to)
    }

    fn reduced(&mut self, inner: &mut Scope, op: &str, x: &Live, attrs: &str, to: TensorType) -> Live {
        let region = self.plain_reducer(inner, to.dtype);
        self.exchanged(inner, op, x, attrs, vec![region], to, Grade::Wild)
    }

    fn reduce_scatter(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let (dim, size) = (self.choose.below(x.ty.rank()), self.axes_size(axes));
        if !x.ty.dtype.is_computed() || !x.ty.shape[dim].is_multiple_of(size) {
            return;
        }
        let x = self.provide_small(inner, x);
        let mut to = TensorType::new(self.widened(x.ty.dtype), x.ty.shape.clone());
        to.shape[dim] /= size;
        let groups = self.groups_attr(axes);
        let attrs = format!("{CHANNEL}, {groups}, scatter_dimension = {dim} : i64, use_global_device_ids");
        self.reduced(inner, "stablehlo.reduce_scatter", &x, &attrs, to);
    }

    /// Returns `x`, or a clamp of it to integers from -4 to 4, so that its sum over all devices is exact.
    fn provide_small(&mut self, inner: &mut Scope, x: &Live) -> Live {
        self.within(inner, x.clone(), -4, 4)
    }

    fn plain_reducer(&mut self, inner: &mut Scope, dtype: DType) -> String {
        match dtype {
            DType::I1 => "{\n  ^bb0(%p: tensor<i1>, %q: tensor<i1>):\n    %r = stablehlo.or %p, %q : tensor<i1>\n    \
                          stablehlo.return %r : tensor<i1>\n  }"
                .to_string(),
            _ if dtype.is_complex() => format!(
                "{{\n  ^bb0(%p: tensor<{dtype}>, %q: tensor<{dtype}>):\n    %r = stablehlo.add %p, %q : tensor<{dtype}>\n    \
                 stablehlo.return %r : tensor<{dtype}>\n  }}"
            ),
            _ => self.reducer(inner, dtype),
        }
    }

    /// Returns the type, or sometimes a wider one.
    fn widened(&mut self, dtype: DType) -> DType {
        let wider = match dtype {
            DType::F32 => DType::F64,
            DType::BF16 | DType::F16 => DType::F32,
            DType::I8 => DType::I32,
            DType::U8 => DType::U32,
            _ => dtype,
        };
        if wider == dtype || !self.choose.one_in(3) {
            return dtype;
        }
        self.features.insert("promoted reductions");
        wider
    }

    fn all_to_all(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let (split, concat) = (self.choose.below(x.ty.rank()), self.choose.below(x.ty.rank()));
        let size = self.axes_size(axes);
        if !x.ty.shape[split].is_multiple_of(size) {
            return;
        }
        let mut to = x.ty.clone();
        to.shape[split] /= size;
        to.shape[concat] *= size;
        let attrs = format!(
            "{CHANNEL}, concat_dimension = {concat} : i64, {}, split_count = {size} : i64, split_dimension = {split} : i64",
            self.groups_attr(axes)
        );
        self.moved(inner, "stablehlo.all_to_all", x, &attrs, to);
    }

    /// Writes a permute in which each member of a group sends to another member, or each to itself. Sometimes one sends
    /// nothing. All groups do the same: devices that differ only along axes that are not manual have the same values.
    fn permute(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let size = self.axes_size(axes);
        let shift = 1 + self.choose.below(size);
        let count = if size > 1 && self.choose.one_in(3) { size - 1 } else { size };
        let groups = self.groups(axes);
        let pairs = groups.iter().flat_map(|g| (0..count).map(|i| [g[i], g[(i + shift) % size]]));
        let pairs: Vec<[usize; 2]> = pairs.collect();
        let attrs = format!("{CHANNEL}, source_target_pairs = dense<{pairs:?}> : tensor<{}x2xi64>", pairs.len());
        let grade = x.grade.join(Grade::Integers(0, 0));
        let x = Live { grade, ..x.clone() };
        self.moved(inner, "stablehlo.collective_permute", &x, &attrs, x.ty.clone());
    }

    fn broadcast(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let attrs = format!("{CHANNEL}, {}", self.groups_attr(axes));
        self.rooted(inner, "stablehlo.collective_broadcast", x, &attrs, vec![], x.ty.clone(), axes);
    }

    /// Writes a reduction whose result only one device of each group receives. The others receive zeros. Writes nothing
    /// for types without arithmetic.
    fn collective_reduce(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        if !x.ty.dtype.is_computed() {
            return;
        }
        let x = self.provide_small(inner, x);
        let to = TensorType::new(self.widened(x.ty.dtype), x.ty.shape.clone());
        let region = self.plain_reducer(inner, to.dtype);
        let attrs = format!("{CHANNEL}, {}", self.groups_attr(axes));
        self.rooted(inner, "stablehlo.collective_reduce", &x, &attrs, vec![region], to, axes);
    }

    /// Writes a collective with a root in each group: the first member, or the one that an operand names.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of an op")]
    fn rooted(
        &mut self,
        inner: &mut Scope,
        op: &str,
        x: &Live,
        attrs: &str,
        regions: Vec<String>,
        to: TensorType,
        axes: &[usize],
    ) {
        if self.choose.one_in(2) {
            let (name, from) = (std::slice::from_ref(&x.name), std::slice::from_ref(&x.ty));
            self.op(inner, op, name, attrs, &regions, from, &[to], Grade::Wild);
            return;
        }
        let root = self.choose.below(self.axes_size(axes)) as i32;
        let root = self.constant(inner, &Literal::new([1], &[root]), Grade::Wild);
        let attrs = format!("{attrs}, has_dynamic_root");
        self.op(
            inner,
            op,
            &[x.name.clone(), root.name],
            &attrs,
            &regions,
            &[x.ty.clone(), root.ty],
            &[to],
            Grade::Wild,
        );
    }

    pub(super) fn summable(&mut self, scope: &mut Scope, ty: &TensorType) -> Live {
        self.provide(scope, ty, &Fill::Small)
    }
}

pub(super) fn axis_set(names: &[String]) -> String {
    format!("{{{}}}", names.join(", "))
}

fn sharding(dims: &[Vec<String>]) -> String {
    let dims: Vec<String> = dims.iter().map(|axes| format!("{{{}}}", axes.join(", "))).collect();
    format!("<@mesh, [{}]>", dims.join(", "))
}
