//! Collectives on a grid of processes: computes what each group makes of its members' values.

use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::machine::{Env, Machine, PerProcess, Regions, Results, cannot_run, processes};
use shardwise_base::{AxisRef, Diagnostic, Literal, LiteralWriter, budget};
use shardwise_engine::layout::{self, ShardBox};
use shardwise_ir::OpView;
use shardwise_ops::collective::{self as ops, CollectiveKind, CollectiveView, IdSpace, Permutation, RaggedMember};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Opcode, ReduceKind, RegionEval, promote};
use std::collections::{BTreeMap, HashSet};

/// Groups of processes that exchange values, each in the order of the positions in the group.
type Groups = Vec<Vec<usize>>;

impl<'m> Machine<'m> {
    pub(crate) fn collective(
        &mut self,
        env: &mut Env<'m>,
        frame: &Frame,
        view: &OpView<'m>,
        active: &Active,
    ) -> Results {
        match Opcode::of_view(view) {
            Opcode::PartitionId => return Ok(vec![each(frame, |p| Literal::scalar(frame.partition(p) as u32))]),
            Opcode::ReplicaId => return Ok(vec![each(frame, |p| Literal::scalar(frame.replica(p) as u32))]),
            Opcode::AxisIndex => return Ok(vec![axis_index(view, frame)?]),
            Opcode::AsyncStart => return self.async_start(env, frame, view, active),
            Opcode::AsyncDone => return Ok(async_done(env.get(view.operand(0)), view.results().len())),
            _ => {}
        }
        if ShardyCollective::of(view).is_some() {
            // In the global view these ops do not change the value.
            return Ok(env.all(view.operands()));
        }
        budget::take_steps(frame.process_count.saturating_sub(1) as u64);
        let collective = CollectiveView::of(view).ok_or_else(|| cannot_run(view))?;
        if let CollectiveKind::CollectivePermute { permutation } = &collective.kind {
            return permute(env, frame, view, &moves(permutation, collective.ids, frame), active);
        }
        let groups = groups(&collective, frame);
        complete(view, frame, &groups, active)?;
        let operands = env.all(view.operands());
        let results_count = view.results().len();
        // A process that is in no group gets zeros.
        let zeros = |i: usize, p: usize| active[p].then(|| zeros(view, i));
        let mut results: Vec<PerProcess> =
            (0..view.results().len()).map(|i| (0..frame.process_count).map(|p| zeros(i, p)).collect()).collect();
        for group in groups.iter().filter(|g| g.iter().all(|&p| active[p])) {
            if collective.kind == CollectiveKind::RaggedAllToAll {
                if group.len() != named_size(&collective, frame).unwrap_or(group.len()) {
                    return Err(other_size(view, group.len()));
                }
                let values = ragged_all_to_all(view, &operands, group, frame)?;
                group.iter().zip(values).for_each(|(&p, v)| results[0][p] = Some(Datum::Tensor(v)));
                continue;
            }
            for (i, result) in results.iter_mut().enumerate() {
                let parts: Vec<Literal> = group.iter().map(|&p| datum(&operands[i], p)).collect();
                let roots = operands.get(results_count).map(|roots| datum(roots, group[0]));
                let mut regions = Regions { machine: self, env, process: group[0], process_count: frame.process_count };
                let part = parts[0].shape().to_vec();
                let values = exchange(view, i, parts, roots.as_ref(), &mut regions)?;
                if values.iter().any(|value| !is_resized_as_typed(view, i, &part, value.shape())) {
                    return Err(other_size(view, group.len()));
                }
                group.iter().zip(values).for_each(|(&p, v)| result[p] = Some(Datum::Tensor(v)));
            }
        }
        Ok(results)
    }

    /// Runs the body of an asynchronous op at once. Returns one value: for each process, a future that holds the
    /// results of the body, or `None` if the process lacks one of them. Fails if the body does.
    fn async_start(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let args = env.all(view.operands());
        let values = self.region(env, frame, view.regions()[0], args, active)?;
        let future = |p: usize| {
            let parts: Option<Vec<Datum>> = values.iter().map(|v| v[p].clone()).collect();
            parts.map(Datum::Future)
        };
        Ok(vec![(0..frame.process_count).map(future).collect()])
    }
}

/// Returns result `index` of a collective for each member of a group, in the order of the members. `parts` holds
/// operand `index` of each member and must not be empty.
///
/// If the op has an operand that states the roots, `roots` is that operand: element `index` is the root's position in
/// the group. Otherwise the first member is the root. A reduction combines the root's part first, then the others in
/// the order of the group. `regions` evaluates a reducer that is a region.
///
/// # Errors
/// Fails if the op is not a collective, if it is a permutation or a ragged all-to-all, if the root is not a position in
/// the group, or if a part cannot be converted to the type of the reducer or the reducer cannot be evaluated.
pub fn exchange(
    view: &OpView<'_>,
    index: usize,
    parts: Vec<Literal>,
    roots: Option<&Literal>,
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, Diagnostic> {
    let collective = CollectiveView::of(view).ok_or_else(|| cannot_run(view))?;
    let root = roots.map_or(Ok(0), |roots| root_of(view, roots.get_i128(index), parts.len()))?;
    let mut parts: Vec<Literal> = parts.iter().map(|x| promote::operand(view, index, x)).collect::<Result<_, _>>()?;
    parts[..=root].rotate_right(1);
    let mut values = exchanged(view, &collective.kind, &parts, regions)?;
    values[..=root].rotate_left(1);
    Ok(values)
}

/// Returns the result of a collective for each member of a group, given the operands of all members, which have been
/// converted to the types of the reduction. The root's part is first, and so is its result. If only the root receives
/// the result of a reduction, the others get zeros. Fails for a permutation and for a ragged all-to-all, and if a
/// reducer cannot be evaluated.
fn exchanged(
    view: &OpView<'_>,
    kind: &CollectiveKind,
    parts: &[Literal],
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, Diagnostic> {
    let n = parts.len();
    Ok(match *kind {
        CollectiveKind::AllGather { dim } => vec![concatenate(parts, dim); n],
        CollectiveKind::AllReduce { reduce } => vec![combine(view, reduce, parts, regions)?; n],
        CollectiveKind::ReduceScatter { dim, reduce } => {
            let sum = combine(view, reduce, parts, regions)?;
            (0..n).map(|i| piece(&sum, dim, i, n)).collect()
        }
        CollectiveKind::AllToAll { split_dim, concat_dim } => {
            let of = |i: usize| {
                let pieces: Vec<Literal> = parts.iter().map(|p| piece(p, split_dim, i, n)).collect();
                concatenate(&pieces, concat_dim)
            };
            (0..n).map(of).collect()
        }
        CollectiveKind::CollectiveBroadcast => vec![parts[0].clone(); n],
        CollectiveKind::CollectiveReduce { reduce } => {
            let sum = combine(view, reduce, parts, regions)?;
            (0..n).map(|i| if i == 0 { sum.clone() } else { Literal::zeros(sum.dtype(), sum.shape()) }).collect()
        }
        CollectiveKind::CollectivePermute { .. } | CollectiveKind::RaggedAllToAll => return Err(cannot_run(view)),
    })
}

/// Combines the parts of one type and shape element by element, first to last. Uses the reducer `kind` if it is given
/// and exists for their type, and otherwise runs the op's first region. Fails if the region does.
fn combine(
    view: &OpView<'_>,
    kind: Option<ReduceKind>,
    parts: &[Literal],
    regions: &mut dyn RegionEval,
) -> Result<Literal, Diagnostic> {
    if let Some(total) = kind.and_then(|kind| kind.apply_all(parts)) {
        return Ok(total);
    }
    let (first, rest) = parts.split_first().expect("a group has members");
    let mut out = LiteralWriter::new(first.dtype(), first.shape());
    for i in 0..first.size() {
        let mut sum = first.element(i);
        for part in rest {
            sum = regions.region(view.regions()[0], vec![sum, part.element(i)])?.remove(0);
        }
        out.push(sum.element_bytes(0));
    }
    Ok(out.finish())
}

fn root_of(view: &OpView<'_>, root: i128, n: usize) -> Result<usize, Diagnostic> {
    usize::try_from(root).ok().filter(|&r| r < n).ok_or_else(|| no_such_root(view, root, n))
}

/// Returns the result of each member of a group, in the order of `group`: the member's operand 1, in which the rows
/// that members send to it are overwritten. Fails if [`ops::row_moves`] refuses the offsets and sizes.
fn ragged_all_to_all(
    view: &OpView<'_>,
    operands: &[PerProcess],
    group: &[usize],
    frame: &Frame,
) -> Result<Vec<Literal>, Diagnostic> {
    let list = |i: usize, p: usize| datum(&operands[i], p).to_dense().to_i64s();
    let member = |&p: &usize| RaggedMember {
        device: frame.device(p),
        input_offsets: list(2, p),
        send_sizes: list(3, p),
        output_offsets: list(4, p),
        recv_sizes: list(5, p),
    };
    let members: Vec<RaggedMember> = group.iter().map(member).collect();
    let [rows_in, rows_out] = [0, 1].map(|i| view.operand_shape(i)[0]);
    let start = |&p: &usize| {
        let output = datum(&operands[1], p);
        let mut result = layout::Dense::zeros(&output, output.shape());
        result.paste(&output, &vec![0; output.rank()]);
        result
    };
    let mut results: Vec<layout::Dense> = group.iter().map(start).collect();
    for m in ops::row_moves(&members, rows_in, rows_out, view.loc())? {
        let operand = datum(&operands[0], group[m.source]);
        let mut rows = ShardBox { offset: vec![0; operand.rank()], shape: operand.shape().to_vec() };
        (rows.offset[0], rows.shape[0]) = (m.from, m.count);
        let mut at = vec![0; operand.rank()];
        at[0] = m.to;
        results[m.target].paste(&layout::cut(&operand, &rows), &at);
    }
    Ok(results.into_iter().map(layout::Dense::finish).collect())
}

/// Returns the operands after each target has received the values of its source. `moves` holds pairs of source and
/// target processes. An active process that receives nothing gets zeros, and an inactive one has no value. Fails if
/// only one process of a pair is active.
fn permute(env: &Env<'_>, frame: &Frame, view: &OpView<'_>, moves: &[(usize, usize)], active: &Active) -> Results {
    let mut results = vec![];
    for operand in &env.all(view.operands()) {
        let mut result: PerProcess =
            (0..frame.process_count).map(|p| active[p].then(|| zeros_like(&operand[p]))).collect();
        for &(source, target) in moves {
            match (active[source], active[target]) {
                (true, true) => result[target] = operand[source].clone(),
                (false, false) => {}
                _ => return Err(incomplete(view, &[source, target], active, frame)),
            }
        }
        results.push(result);
    }
    Ok(results)
}

fn each(frame: &Frame, f: impl Fn(usize) -> Literal) -> PerProcess {
    (0..frame.process_count).map(|p| Some(Datum::Tensor(f(p)))).collect()
}

fn datum(value: &PerProcess, p: usize) -> Literal {
    value[p].as_ref().expect("active processes have every operand").tensor().clone()
}

fn zeros(view: &OpView<'_>, result: usize) -> Datum {
    let t = view.result_tensor(result);
    Datum::Tensor(Literal::zeros(t.dtype, t.shape.clone()))
}

fn zeros_like(like: &Option<Datum>) -> Datum {
    let l = like.as_ref().expect("active").tensor();
    Datum::Tensor(Literal::zeros(l.dtype(), l.shape()))
}

fn axis_index(view: &OpView<'_>, frame: &Frame) -> Result<PerProcess, Diagnostic> {
    let (mesh, axes) = ops::AxisIndexOp::axes(view).ok_or_else(|| cannot_run(view))?;
    frame.mesh.as_ref().ok_or_else(|| no_position(view))?;
    Ok(each(frame, |p| Literal::scalar(AxisRef::index_in(mesh, axes, &frame.coordinates(p)) as i32)))
}

fn async_done(future: &PerProcess, result_count: usize) -> Vec<PerProcess> {
    let part = |d: &Datum, i: usize| match d {
        Datum::Future(parts) => parts[i].clone(),
        other => panic!("expected a future, found {other:?}"),
    };
    (0..result_count).map(|i| future.iter().map(|f| f.as_ref().map(|d| part(d, i))).collect()).collect()
}

/// Returns the groups of a collective as processes of this grid. A collective that states neither groups nor axes has
/// one group of all processes, in the order of their devices. If it is across replicas and the grid has several, it has
/// one group of replicas for each partition.
fn groups(collective: &CollectiveView, frame: &Frame) -> Groups {
    match &collective.groups {
        ops::Groups::Axes { axes, .. } => groups_over(axes, frame),
        ops::Groups::Dense(rows) => dense_groups(rows, collective.ids, frame),
        ops::Groups::All if collective.ids == IdSpace::CrossReplica && frame.replica_count() > 1 => {
            dense_groups(&[(0..frame.replica_count()).collect()], collective.ids, frame)
        }
        // In the order of the numbers of the devices.
        ops::Groups::All => {
            let devices = frame.mesh.as_ref().map_or(frame.process_count, |mesh| mesh.size());
            dense_groups(&[(0..devices).collect()], IdSpace::Flattened, frame)
        }
    }
}

/// Returns the groups of processes that differ only in their position along `axes`. Each group is ordered by this
/// position, major to minor. Without a mesh, each process is a group of its own.
pub(crate) fn groups_over(axes: &[AxisRef], frame: &Frame) -> Groups {
    let Some(mesh) = &frame.mesh else { return (0..frame.process_count).map(|p| vec![p]).collect() };
    let rest: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, axes)).collect();
    // The outer key is the position along the other axes, the inner key the position along these.
    let mut groups: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for p in 0..frame.process_count {
        let coordinates = frame.coordinates(p);
        let group = groups.entry(AxisRef::index_in(mesh, &rest, &coordinates)).or_default();
        group.insert(AxisRef::index_in(mesh, axes, &coordinates), p);
    }
    groups.into_values().map(|group| group.into_values().collect()).collect()
}

/// Returns the groups of processes for rows of ids: one group for each row and each of its [`repetitions`]. Ids without
/// a process are skipped. A process occurs once in a group, also if it stands for several of the devices. Equal groups
/// are returned once, and empty ones not at all.
fn dense_groups(rows: &[Vec<usize>], ids: IdSpace, frame: &Frame) -> Groups {
    let mut seen: HashSet<Vec<usize>> = HashSet::new();
    let mut groups: Groups = vec![];
    for each in rows.iter().flat_map(|row| repetitions(ids, frame).into_iter().map(move |each| (row, each))) {
        let (row, others) = each;
        let members = others.iter().flat_map(|&other| row.iter().filter_map(move |&id| process(ids, id, other, frame)));
        let mut own = HashSet::new();
        let group: Vec<usize> = members.filter(|&p| own.insert(p)).collect();
        if !group.is_empty() && seen.insert(group.clone()) {
            groups.push(group);
        }
    }
    groups
}

/// Returns the lists of replicas or partitions for which a row of ids is repeated. Each list makes one group, whose
/// members are the processes of all ids for the first number in the list, then for the second, and so on. For ids of
/// devices, there is one list with one number, which [`process`] ignores.
fn repetitions(ids: IdSpace, frame: &Frame) -> Vec<Vec<usize>> {
    match ids {
        IdSpace::CrossReplica => (0..frame.partition_count).map(|p| vec![p]).collect(),
        IdSpace::CrossPartition => (0..frame.replica_count()).map(|r| vec![r]).collect(),
        IdSpace::CrossReplicaAndPartition => {
            vec![(0..frame.mesh.as_ref().map_or(frame.partition_count, |mesh| mesh.size())).collect()]
        }
        IdSpace::Flattened => vec![vec![0]],
    }
}

/// Returns the process of an id, or `None` if the grid has no such process. `other` is the partition if the id is a
/// replica, the replica if it is a partition, and ignored if it is a device. A grid with a mesh has one replica, whose
/// partitions are the devices. There an id that is a partition or a device must be a device of the mesh. For
/// [`IdSpace::CrossReplica`], `other` is then the number of a process instead of a device.
fn process(ids: IdSpace, id: usize, other: usize, frame: &Frame) -> Option<usize> {
    let p = match ids {
        IdSpace::CrossPartition | IdSpace::Flattened if frame.mesh.is_some() => frame.process_of_device(id),
        IdSpace::CrossReplicaAndPartition if frame.mesh.is_some() => {
            (id == 0).then(|| frame.process_of_device(other))?
        }
        IdSpace::CrossReplica | IdSpace::CrossReplicaAndPartition => {
            if id >= frame.replica_count() {
                return None;
            }
            id * frame.partition_count + other
        }
        IdSpace::CrossPartition => {
            if id >= frame.partition_count {
                return None;
            }
            other * frame.partition_count + id
        }
        IdSpace::Flattened => id,
    };
    Some(p).filter(|&p| p < frame.process_count)
}

/// Returns the pairs of source and target of a permutation as processes, sorted, each pair once. Pairs with an id that
/// has no process are left out. Without a mesh, a permutation that is not a list of pairs has none.
fn moves(permutation: &Permutation, ids: IdSpace, frame: &Frame) -> Vec<(usize, usize)> {
    let mut moves: Vec<(usize, usize)> = match (permutation, &frame.mesh) {
        (Permutation::Processes(pairs), _) => {
            let each = repetitions(ids, frame).concat();
            let at = |id: usize, other: usize| process(ids, id, other, frame);
            each.iter().flat_map(|&o| pairs.iter().filter_map(move |&(s, t)| Some((at(s, o)?, at(t, o)?)))).collect()
        }
        (_, Some(mesh)) => {
            let senders = ops::Senders::new(permutation, mesh);
            let source = |p: usize| senders.sender(&frame.coordinates(p)).map(|c| frame.process(&c));
            (0..frame.process_count).filter_map(|p| Some((source(p)?, p))).collect()
        }
        (_, None) => vec![],
    };
    moves.sort_unstable();
    moves.dedup();
    moves
}

/// Fails with the first group of which some processes are active and others are not.
fn complete(view: &OpView<'_>, frame: &Frame, groups: &Groups, active: &Active) -> Result<(), Diagnostic> {
    let broken = groups.iter().find(|g| {
        let here = g.iter().filter(|&&p| active[p]).count();
        here != 0 && here != g.len()
    });
    match broken {
        Some(group) => Err(incomplete(view, group, active, frame)),
        None => Ok(()),
    }
}

/// Returns true if a collective changes each size of a part by the same factor as its type says. `part` is the shape of
/// operand `i` of one process, and `made` that of result `i`. The values may be smaller than their types, which are
/// those of all devices along axes that are not manual.
fn is_resized_as_typed(view: &OpView<'_>, i: usize, part: &[usize], made: &[usize]) -> bool {
    let (from, to) = (view.operand_shape(i), view.result_shape(i));
    let product = |a: usize, b: usize| a as u128 * b as u128;
    (0..to.len()).all(|d| product(made[d], from[d]) == product(part[d], to[d]))
}

/// Returns the number of devices that a collective names for each of its groups. Returns `None` if it names none and
/// the grid has no mesh: then it has a group of all processes.
fn named_size(collective: &CollectiveView, frame: &Frame) -> Option<usize> {
    collective.groups.group_size().or_else(|| Some(frame.mesh.as_ref()?.size()))
}

/// Returns the error for a collective whose types are for another number of processes than its group has. This happens
/// if several members of a group are one process of this grid. `size` is the number of processes in the group.
fn other_size(view: &OpView<'_>, size: usize) -> Diagnostic {
    let message = format!("`{}` runs in a group of {size} processes, and its types are for another size", view.name());
    Diagnostic::error("collective-axes", view.loc(), message)
        .help("name devices that differ only along manual axes in each group")
}

fn no_position(view: &OpView<'_>) -> Diagnostic {
    let message = format!("`{}` is run without a mesh: the process has no position along its axes", view.name());
    Diagnostic::error("op-unsupported", view.loc(), message)
        .help("use the op inside of a `sdy.manual_computation`, or run the partitioned program")
}

fn no_such_root(view: &OpView<'_>, root: i128, size: usize) -> Diagnostic {
    Diagnostic::error(
        "collective-root",
        view.loc(),
        format!("`{}` has the root {root}, which is not a position in its group", view.name()),
    )
    .expected(format!("0 to {}, a position in the group", size - 1))
}

fn incomplete(view: &OpView<'_>, group: &[usize], active: &Active, frame: &Frame) -> Diagnostic {
    let name = |p: &usize| frame.device(*p);
    let here = processes(group.iter().filter(|&&p| active[p]).map(name));
    let away = processes(group.iter().filter(|&&p| !active[p]).map(name));
    let message =
        format!("`{}` can never complete: some of the devices that take part in it do not arrive", view.name());
    let d = Diagnostic::error("collective-incomplete", view.loc(), message)
        .facts(format!("arrived and waiting at {}: devices {here}", view.loc()))
        .facts(format!("did not reach it: devices {away}"))
        .help("move the collective out of the branch or loop, or make the predicate equal on all devices of the group");
    match &frame.mesh {
        Some(mesh) => d.mesh(mesh),
        None => d,
    }
}

fn concatenate(parts: &[Literal], dim: usize) -> Literal {
    let mut shape = parts[0].shape().to_vec();
    shape[dim] = parts.iter().map(|p| p.shape()[dim]).sum();
    let mut out = layout::Dense::zeros(&parts[0], &shape);
    let mut offset = vec![0; shape.len()];
    for part in parts {
        out.paste(part, &offset);
        offset[dim] += part.shape()[dim];
    }
    out.finish()
}

fn piece(whole: &Literal, dim: usize, i: usize, n: usize) -> Literal {
    let mut part = ShardBox { offset: vec![0; whole.rank()], shape: whole.shape().to_vec() };
    part.shape[dim] /= n;
    part.offset[dim] = i * part.shape[dim];
    layout::cut(whole, &part)
}

#[cfg(test)]
mod tests {
    use crate::frame::Frame;
    use shardwise_base::{DType, Literal};
    use shardwise_ir::text::parse;
    use shardwise_ops::OPS;
    use shardwise_ops::collective::IdSpace;

    #[test]
    fn a_group_of_all_devices_has_each_process_once() {
        let text = r#"sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>]
      manual_axes={"a"} (%y: tensor<2xf32>) {
    %1 = "stablehlo.all_reduce"(%y) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %2 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
        let module = parse("sum.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let x = Literal::new(vec![4], &[1.0f32, 2.0, 3.0, 4.0]);
        let found = crate::run(&module, &[x]).unwrap_or_else(|e| panic!("{e}"));
        let sums: Vec<f32> = (0..4).map(|i| found[0].get::<f32>(i)).collect();
        assert_eq!(sums, [4.0, 6.0, 4.0, 6.0]);
    }

    #[test]
    fn a_ragged_all_to_all_is_for_as_many_processes_as_its_group_names() {
        let text = r#"sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>, %l: tensor<4xi32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x, %l) in_shardings=[<@mesh, [{}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{}]>]
      manual_axes={"a"} (%y: tensor<4xf32>, %m: tensor<4xi32>) {
    %1 = stablehlo.custom_call @ragged_all_to_all(%y, %y, %m, %m, %m, %m) {api_version = 4 : i32,
      backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
        let module = parse("ragged.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let args = [Literal::zeros(DType::F32, [4]), Literal::zeros(DType::I32, [4])];
        let why = crate::run(&module, &args).unwrap_err().to_string();
        assert!(why.contains("error[collective-axes]") && why.contains("a group of 2 processes"), "{why}");
    }

    #[test]
    fn a_partition_of_another_replica_is_no_process() {
        let frame = Frame::replicas(2, 2);
        let process = |id, replica| super::process(IdSpace::CrossPartition, id, replica, &frame);
        assert_eq!([process(1, 0), process(0, 1), process(1, 1)], [Some(1), Some(2), Some(3)]);
        assert_eq!([process(2, 0), process(3, 0), process(2, 1)], [None; 3]);
    }
}
