//! Collectives on a grid of processes: what each group computes from its members' values.

use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::machine::{Env, Machine, PerProcess, Results, cannot_run, processes};
use shardwise_base::{AxisRef, Bool8, Complex32, Complex64, DType, Diagnostic, Element, Literal, bf16, f16};
use shardwise_engine::layout::{self, ShardBox};
use shardwise_ir::{Attr, OpView, Region};
use shardwise_ops::collective::{self as ops, CollectiveKind, CollectiveView, IdSpace};
use shardwise_ops::{Opcode, ReduceKind};
use std::collections::BTreeMap;

/// Processes that exchange values, in the order of their positions.
type Groups = Vec<Vec<usize>>;

/// Wrapping arithmetic of an integer type.
macro_rules! int_op {
    ($kind:expr, $t:ty) => {
        move |a: $t, b: $t| match $kind {
            ReduceKind::Add => a.wrapping_add(b),
            ReduceKind::Mul => a.wrapping_mul(b),
            ReduceKind::Max => a.max(b),
            ReduceKind::Min => a.min(b),
            ReduceKind::And => a & b,
            ReduceKind::Or => a | b,
        }
    };
}

impl<'m> Machine<'m> {
    pub(crate) fn collective(
        &mut self,
        env: &mut Env<'m>,
        frame: &Frame,
        view: &OpView<'m>,
        active: &Active,
    ) -> Results {
        match Opcode::of_view(view) {
            Opcode::PartitionId => return Ok(vec![each(frame, |p| Literal::scalar(frame.device(p) as u32))]),
            Opcode::ReplicaId => return Ok(vec![each(frame, |_| Literal::scalar(0u32))]),
            Opcode::AxisIndex => return Ok(vec![axis_index(view, frame)?]),
            Opcode::AsyncStart => return self.async_start(env, frame, view, active),
            Opcode::AsyncDone => return Ok(async_done(env.get(view.operand(0)), view.results().len())),
            _ => {}
        }
        if view.name().starts_with("sdy.") {
            // In global view these do not change the value.
            return Ok(env.all(view.operands()));
        }
        let collective = CollectiveView::of(view).ok_or_else(|| cannot_run(view))?;
        if let CollectiveKind::CollectivePermute { pairs } = &collective.kind {
            return permute(env, frame, view, &moves(pairs, &collective.groups, frame), active);
        }
        let groups = groups(&collective, frame);
        complete(view, frame, &groups, active)?;
        let operands = env.all(view.operands());
        let mut results = vec![vec![None; frame.process_count]; view.results().len()];
        for group in groups.iter().filter(|g| g.iter().all(|&p| active[p])) {
            for (i, result) in results.iter_mut().enumerate() {
                let parts: Vec<Literal> = group.iter().map(|&p| datum(&operands[i], p)).collect();
                let values = self.exchange(env, view, &collective.kind, &parts)?;
                group.iter().zip(values).for_each(|(&p, v)| result[p] = Some(Datum::Tensor(v)));
            }
        }
        Ok(results)
    }

    /// What each member of a group gets, from what all members bring.
    fn exchange(
        &mut self,
        env: &mut Env<'m>,
        view: &OpView<'m>,
        kind: &CollectiveKind,
        parts: &[Literal],
    ) -> Result<Vec<Literal>, Diagnostic> {
        let n = parts.len();
        Ok(match *kind {
            CollectiveKind::AllGather { dim } => vec![concatenate(parts, dim); n],
            CollectiveKind::AllReduce { reduce } => vec![self.reduce(env, view, reduce, parts)?; n],
            CollectiveKind::ReduceScatter { dim, reduce } => {
                let sum = self.reduce(env, view, reduce, parts)?;
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
            CollectiveKind::CollectivePermute { .. } => return Err(cannot_run(view)),
        })
    }

    /// Combines the parts in the order of the group.
    fn reduce(
        &mut self,
        env: &mut Env<'m>,
        view: &OpView<'m>,
        kind: Option<ReduceKind>,
        parts: &[Literal],
    ) -> Result<Literal, Diagnostic> {
        match kind {
            Some(kind) => Ok(combine(kind, parts)),
            None => self.reduce_by_region(env, view.regions()[0], parts),
        }
    }

    /// An arbitrary reducer, element by element.
    fn reduce_by_region(
        &mut self,
        env: &mut Env<'m>,
        region: Region,
        parts: &[Literal],
    ) -> Result<Literal, Diagnostic> {
        let frame = Frame::single();
        let scalar = |l: &Literal, i: usize| {
            let bytes = Literal::from_bytes(l.dtype(), &[], l.element_bytes(i)).expect("one element");
            vec![Some(Datum::Tensor(bytes))]
        };
        let mut bytes = vec![];
        for i in 0..parts[0].size() {
            let mut sum = scalar(&parts[0], i);
            for part in &parts[1..] {
                sum = self.region(env, &frame, region, vec![sum, scalar(part, i)], &vec![true])?.remove(0);
            }
            bytes.extend_from_slice(sum[0].as_ref().expect("it ran").tensor().element_bytes(0));
        }
        Ok(Literal::from_bytes(parts[0].dtype(), parts[0].shape(), &bytes).expect("one result for each element"))
    }

    /// The body runs at once; the future holds what it gave.
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

/// Values move from source to target; who receives nothing gets zeros.
fn permute(env: &Env<'_>, frame: &Frame, view: &OpView<'_>, moves: &[(usize, usize)], active: &Active) -> Results {
    let mut results = vec![];
    for operand in &env.all(view.operands()) {
        let mut result: PerProcess = (0..frame.process_count).map(|p| active[p].then(|| zeros(&operand[p]))).collect();
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

fn zeros(like: &Option<Datum>) -> Datum {
    let l = like.as_ref().expect("active").tensor();
    Datum::Tensor(Literal::zeros(l.dtype(), l.shape()))
}

fn axis_index(view: &OpView<'_>, frame: &Frame) -> Result<PerProcess, Diagnostic> {
    let (mesh, axes) = view.attr("axes").and_then(Attr::as_axes).ok_or_else(|| cannot_run(view))?;
    Ok(each(frame, |p| Literal::scalar(AxisRef::index_in(mesh, axes, &frame.coordinates(p)) as i32)))
}

fn async_done(future: &PerProcess, result_count: usize) -> Vec<PerProcess> {
    let part = |d: &Datum, i: usize| match d {
        Datum::Future(parts) => parts[i].clone(),
        other => panic!("expected a future, found {other:?}"),
    };
    (0..result_count).map(|i| future.iter().map(|f| f.as_ref().map(|d| part(d, i))).collect()).collect()
}

/// The groups of a collective, as processes of this grid.
fn groups(collective: &CollectiveView, frame: &Frame) -> Groups {
    match &collective.groups {
        ops::Groups::Axes { axes, .. } => groups_over(axes, frame),
        // Groups of replicas, of which there is one: every process by itself.
        ops::Groups::Dense(_) if collective.ids == IdSpace::CrossReplica => {
            (0..frame.process_count).map(|p| vec![p]).collect()
        }
        ops::Groups::Dense(rows) => dense_groups(rows, frame),
        ops::Groups::All => vec![(0..frame.process_count).collect()],
    }
}

/// Processes that differ only along `axes`, major to minor.
pub(crate) fn groups_over(axes: &[AxisRef], frame: &Frame) -> Groups {
    let Some(mesh) = &frame.mesh else { return (0..frame.process_count).map(|p| vec![p]).collect() };
    let rest: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, axes)).collect();
    // By the point along the other axes, then by position along these.
    let mut groups: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for p in 0..frame.process_count {
        let coordinates = frame.coordinates(p);
        let group = groups.entry(AxisRef::index_in(mesh, &rest, &coordinates)).or_default();
        group.insert(AxisRef::index_in(mesh, axes, &coordinates), p);
    }
    groups.into_values().map(|group| group.into_values().collect()).collect()
}

/// Groups given by device numbers; devices that one process stands for count once.
fn dense_groups(rows: &[Vec<usize>], frame: &Frame) -> Groups {
    let mut groups: Groups = vec![];
    for row in rows {
        let mut group: Vec<usize> = vec![];
        for p in row.iter().map(|&d| frame.process_of_device(d)).filter(|&p| p < frame.process_count) {
            if !group.contains(&p) {
                group.push(p);
            }
        }
        if !group.is_empty() && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// Who sends to whom, as processes.
fn moves(pairs: &[(usize, usize)], groups: &ops::Groups, frame: &Frame) -> Vec<(usize, usize)> {
    let mut moves: Vec<(usize, usize)> = match groups {
        ops::Groups::Axes { axes, .. } => {
            let groups = groups_over(axes, frame);
            pairs.iter().flat_map(|&(s, t)| groups.iter().map(move |g| (g[s], g[t]))).collect()
        }
        _ => pairs.iter().map(|&(s, t)| (frame.process_of_device(s), frame.process_of_device(t))).collect(),
    };
    moves.sort_unstable();
    moves.dedup();
    moves
}

/// Every group is either whole or not there at all.
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

fn incomplete(view: &OpView<'_>, group: &[usize], active: &Active, frame: &Frame) -> Diagnostic {
    let name = |p: &usize| frame.device(*p);
    let here = processes(group.iter().filter(|&&p| active[p]).map(name));
    let away = processes(group.iter().filter(|&&p| !active[p]).map(name));
    let message = format!("`{}` can never complete: some devices of its group do not arrive", view.name());
    let d = Diagnostic::error("collective-incomplete", view.loc(), message)
        .facts(format!("arrived and waiting at {}: devices {here}", view.loc()))
        .facts(format!("took another way at the predicate around it: devices {away}"))
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

/// Piece `i` of `n` equal ones along `dim`.
fn piece(whole: &Literal, dim: usize, i: usize, n: usize) -> Literal {
    let mut part = ShardBox { offset: vec![0; whole.rank()], shape: whole.shape().to_vec() };
    part.shape[dim] /= n;
    part.offset[dim] = i * part.shape[dim];
    layout::cut(whole, &part)
}

/// Combines arrays element by element, first to last; sums of 16-bit floats in f32, rounded once.
pub fn combine(kind: ReduceKind, parts: &[Literal]) -> Literal {
    use DType::*;
    match parts[0].dtype() {
        I1 => fold::<Bool8>(parts, |a, b| bool_op(kind, a, b)),
        I8 => fold::<i8>(parts, int_op!(kind, i8)),
        I16 => fold::<i16>(parts, int_op!(kind, i16)),
        I32 => fold::<i32>(parts, int_op!(kind, i32)),
        I64 => fold::<i64>(parts, int_op!(kind, i64)),
        U8 => fold::<u8>(parts, int_op!(kind, u8)),
        U16 => fold::<u16>(parts, int_op!(kind, u16)),
        U32 => fold::<u32>(parts, int_op!(kind, u32)),
        U64 => fold::<u64>(parts, int_op!(kind, u64)),
        F32 => fold::<f32>(parts, |a, b| {
            float_op(kind, f64::from(a), f64::from(b), || f64::from(arith(kind, a, b))) as f32
        }),
        F64 => fold::<f64>(parts, |a, b| float_op(kind, a, b, || if kind == ReduceKind::Add { a + b } else { a * b })),
        BF16 => fold_wide::<bf16>(kind, parts, bf16::to_f32, bf16::from_f32),
        F16 => fold_wide::<f16>(kind, parts, f16::to_f32, f16::from_f32),
        C64 => fold::<Complex32>(parts, |a, b| if kind == ReduceKind::Add { a + b } else { a * b }),
        C128 => fold::<Complex64>(parts, |a, b| if kind == ReduceKind::Add { a + b } else { a * b }),
        other => panic!("{other} is not computed on"),
    }
}

/// Element by element, first to last.
fn fold<T: Element>(parts: &[Literal], op: impl Fn(T, T) -> T) -> Literal {
    let mut sum = parts[0].to_dense();
    for part in &parts[1..] {
        let part = part.to_dense();
        for (a, b) in sum.as_mut_slice::<T>().iter_mut().zip(part.as_slice::<T>()) {
            *a = op(*a, *b);
        }
    }
    sum
}

/// The same in f32, rounded once at the end.
fn fold_wide<T: Element>(
    kind: ReduceKind,
    parts: &[Literal],
    widen: impl Fn(T) -> f32,
    round: impl Fn(f32) -> T,
) -> Literal {
    let wide: Vec<Literal> = parts
        .iter()
        .map(|p| {
            let values: Vec<f32> = p.to_dense().as_slice::<T>().iter().map(|&x| widen(x)).collect();
            Literal::new(p.shape(), &values)
        })
        .collect();
    let values: Vec<T> = combine(kind, &wide).as_slice::<f32>().iter().map(|&x| round(x)).collect();
    Literal::new(parts[0].shape(), &values)
}

fn arith(kind: ReduceKind, a: f32, b: f32) -> f32 {
    if kind == ReduceKind::Add { a + b } else { a * b }
}

/// Maximum and minimum propagate NaN and order -0 before +0.
fn float_op(kind: ReduceKind, a: f64, b: f64, arith: impl Fn() -> f64) -> f64 {
    let pick = |first: bool| if first { a } else { b };
    match kind {
        ReduceKind::Add | ReduceKind::Mul => arith(),
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        ReduceKind::Max => pick(a > b || (a == b && a.is_sign_positive())),
        ReduceKind::Min => pick(a < b || (a == b && a.is_sign_negative())),
        ReduceKind::And | ReduceKind::Or => panic!("and, or have no meaning for floats"),
    }
}

fn bool_op(kind: ReduceKind, a: Bool8, b: Bool8) -> Bool8 {
    match kind {
        ReduceKind::And | ReduceKind::Min | ReduceKind::Mul => Bool8(a.0 & b.0),
        ReduceKind::Or | ReduceKind::Max | ReduceKind::Add => Bool8(a.0 | b.0),
    }
}
