//! Builds the reasons of reshards and sums, with their facts and one sentence of text.

use crate::halo;
use crate::layouts::is_copy;
use crate::plan::local_bytes;
use crate::strategy::{Cause, Decision};
use shardwise_base::{Alternative, AxisRef, Mesh, Reason, ReasonCause, Sharding};
use shardwise_ir::OpView;
use shardwise_sharding::{Factor, FactorConflict, FactorKind};

/// The facts of a decision, as the pass that decides knows them.
pub(crate) struct Facts<'a> {
    pub cause: ReasonCause,
    pub consumer: &'a OpView<'a>,
    pub factor: String,
    pub won: String,
    pub lost: String,
    pub alternative: Option<Alternative>,
    pub bytes_received: u64,
    pub text: String,
}

impl Facts<'_> {
    pub fn into_reason(self) -> Reason {
        Reason {
            cause: self.cause,
            consumer: self.consumer.name().into(),
            consumer_loc: self.consumer.loc().clone(),
            factor: self.factor.into(),
            won: self.won.into(),
            lost: self.lost.into(),
            alternative: self.alternative,
            bytes_received: self.bytes_received,
            reshard: None,
            step: 0,
            forced: None,
            changes: vec![],
            text: self.text.into(),
        }
    }
}

/// Returns the dimensions of a sharding as text: `[{"x"}, {}]`.
pub(crate) fn dims(sharding: &Sharding) -> String {
    let lists: Vec<String> = sharding.dims.iter().map(|d| axes(&sharding.mesh, &d.axes)).collect();
    format!("[{}]", lists.join(", "))
}

/// Returns a layout as text, with the axes over which it is unreduced: `[{"x"}, {}] unreduced {"y"}`.
pub(crate) fn layout_text(sharding: &Sharding) -> String {
    match &sharding.unreduced[..] {
        [] => dims(sharding),
        open => format!("{} unreduced {}", dims(sharding), axes(&sharding.mesh, open)),
    }
}

/// Returns a list of axes as text: `{"x", "y"}`.
pub(crate) fn axes(mesh: &Mesh, list: &[AxisRef]) -> String {
    let names: Vec<String> = list.iter().map(|a| a.display(mesh).to_string()).collect();
    format!("{{{}}}", names.join(", "))
}

pub(crate) fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, op)| op)
}

/// Returns the reason for a reshard from layout `lost` to `won` at an edge of the data flow: an argument, a result, a
/// carried value of a loop. `target` names what has the layout `won`, and `value` names what has the layout `lost`.
/// `bytes` is the number of bytes that the reshard receives.
pub(crate) fn edge(
    consumer: &OpView<'_>,
    target: &str,
    value: &str,
    lost: &Sharding,
    won: &Sharding,
    bytes: u64,
) -> Reason {
    let cause = if consumer.name().ends_with("return") { ReasonCause::Result } else { ReasonCause::Program };
    let (lost, won) = (layout_text(lost), layout_text(won));
    Facts {
        cause,
        consumer,
        factor: String::new(),
        won: format!("{target} {won}"),
        alternative: None,
        bytes_received: bytes,
        text: format!("{target} is {won}, and {value} is {lost}"),
        lost,
    }
    .into_reason()
}

/// Returns a phrase for the layout that is stated by an op that does nothing else, such as a constraint, or for the
/// layout of a copy for several readers.
pub(crate) fn stated(consumer: &OpView<'_>) -> String {
    if is_copy(consumer) {
        return "what several ops read".into();
    }
    format!("the layout that `{}` asks for", short(consumer.name()))
}

/// Returns the second best assignment as an alternative, with the bytes that it would move, or `None` if there was
/// none. Its text states the axes over which it splits each factor, for the factors that it or the decision splits.
fn alternative(view: &OpView<'_>, decision: &Decision) -> Option<Alternative> {
    let (task, decided) = (&decision.task, &decision.assignment);
    let other = decision.runner_up(view)?;
    let is_split = |f: &Factor| !other.axes[f.index()].is_empty() || !decided.axes[f.index()].is_empty();
    let way = |f: Factor| match &other.axes[f.index()] {
        whole if whole.is_empty() => format!("{f} whole"),
        split => format!("{f} over {}", axes(&task.mesh, split)),
    };
    let ways: Vec<String> = task.rule.all_factors().filter(is_split).map(way).collect();
    let what = ways.join(", ");
    Some(Alternative { what: what.into(), bytes_received: other.bytes_moved })
}

/// Returns the first conflict by which the axes of tensor `index` were not kept, or `None` if there is none.
fn lost(decided: &Decision, index: usize) -> Option<&FactorConflict> {
    decided.conflicts().iter().find(|v| v.lost.contains(&index))
}

/// Returns the indices (operands, then results) of the op's tensors whose layouts led to a collective:
///
/// - If a tensor is moved, the tensor itself. For an operand whose axes were not kept because of a conflict, also the
///   first tensor that was preferred to it, or all tensors with the factor if none was.
/// - For a sum, the tensors with a split reduction factor, and all results.
/// - For an exchange, the tensors with a factor along which elements move.
pub(crate) fn concerned(decided: &Decision, cause: Cause) -> Vec<usize> {
    let (task, traits) = (&decided.task, &decided.task.traits);
    let with = |is_meant: &dyn Fn(Factor) -> bool| -> Vec<usize> {
        let holds = |i: &usize| task.rule.mapping(*i).factors().any(is_meant);
        (0..traits.types.len()).filter(holds).collect()
    };
    match cause {
        Cause::Tensor(index) if index >= traits.operand_count => vec![index],
        Cause::Tensor(index) => {
            let Some(conflict) = lost(decided, index) else { return vec![index] };
            match conflict.won.first() {
                Some(&winner) => vec![index, winner],
                None => with(&|f| f == conflict.factor),
            }
        }
        Cause::Sum => {
            let mut found = with(&|f| task.rule.kind(f) == FactorKind::Reduction && is_split(decided, f));
            let results = traits.operand_count..traits.types.len();
            found.extend(results.filter(|i| !found.contains(i)).collect::<Vec<_>>());
            found
        }
        Cause::Exchange => with(&|f| decided.moved.contains(&f)),
    }
}

fn is_split(decided: &Decision, f: Factor) -> bool {
    !decided.assignment.axes[f.index()].is_empty()
}

pub(crate) fn operand(view: &OpView<'_>, decision: &Decision, index: usize, bytes: u64) -> Reason {
    let (task, decided) = (&decision.task, &decision.assignment);
    let given = task.shardings[index].as_ref().map(dims).unwrap_or_default();
    let conflict = lost(decision, index);
    let factor = conflict.map(|v| v.factor.to_string()).unwrap_or_default();
    let winner = conflict.and_then(|v| v.won.first()).and_then(|&i| Some((i, task.shardings[i].as_ref()?)));
    let won = winner.map(|(i, s)| format!("{} {}", task.tensor_name(i), dims(s))).unwrap_or_default();
    let op = short(view.name());
    let is_whole = conflict.is_some_and(|v| task.rule.kind(v.factor) == FactorKind::NeedReplication);
    let split = conflict.map(|v| &decided.axes[v.factor.index()]).filter(|axes| !axes.is_empty());
    let way = split.map_or("whole".into(), |list| format!("over {}", axes(&task.mesh, list)));
    let text = match winner {
        _ if is_whole => {
            format!("`{op}` needs all of factor {factor} on each device, and operand {index} is {given}")
        }
        Some(_) => {
            format!("`{op}` runs with factor {factor} {way}, as {won} has it, and operand {index} is {given}")
        }
        None => format!("`{op}` runs with factor {factor} {way}, and operand {index} is {given}"),
    };
    Facts {
        cause: ReasonCause::Operand { index },
        consumer: view,
        factor,
        won,
        lost: format!("operand {index} {given}"),
        alternative: alternative(view, decision),
        bytes_received: bytes,
        text,
    }
    .into_reason()
}

pub(crate) fn result(view: &OpView<'_>, from: &Sharding, to: &Sharding, index: usize, bytes: u64) -> Reason {
    let (given, wanted) = (dims(from), dims(to));
    Facts {
        cause: ReasonCause::Result,
        consumer: view,
        factor: String::new(),
        won: format!("result {index} {wanted}"),
        text: format!("result {index} of `{}` is computed as {given} and wanted as {wanted}", short(view.name())),
        lost: given,
        alternative: None,
        bytes_received: bytes,
    }
    .into_reason()
}

pub(crate) fn reduction(view: &OpView<'_>, decision: &Decision, summed: &[AxisRef], bytes: u64) -> Reason {
    let (task, decided) = (&decision.task, &decision.assignment);
    let is_split = |f: &Factor| task.rule.kind(*f) == FactorKind::Reduction && !decided.axes[f.index()].is_empty();
    let factors: Vec<String> = task.rule.all_factors().filter(is_split).map(|f| f.to_string()).collect();
    let (factor, over) = (factors.join(","), axes(&task.mesh, summed));
    let op = short(view.name());
    Facts {
        cause: ReasonCause::Reduction,
        consumer: view,
        won: format!("factor {factor} over {over}"),
        lost: String::new(),
        alternative: alternative(view, decision),
        bytes_received: bytes,
        text: format!("`{op}` reduces factor {factor}, which is split over {over}: partial results are combined"),
        factor,
    }
    .into_reason()
}

pub(crate) fn gathered(view: &OpView<'_>, decision: &Decision) -> Reason {
    let (task, axes_of) = (&decision.task, &decision.gathered);
    let is_split =
        |f: &Factor| task.rule.kind(*f) == FactorKind::Reduction && !decision.assignment.axes[f.index()].is_empty();
    let factors: Vec<String> = task.rule.all_factors().filter(is_split).map(|f| f.to_string()).collect();
    let (factor, over) = (factors.join(","), axes(&task.mesh, axes_of));
    let others = AxisRef::total_size(&task.mesh, axes_of) as u64 - 1;
    let results = task.traits.operand_count..task.traits.types.len();
    let local = |i: usize| {
        let ty = task.traits.types[i].as_ref()?;
        Some(local_bytes(decision.layouts[i].as_ref()?, &ty.shape, ty.dtype))
    };
    let op = short(view.name());
    Facts {
        cause: ReasonCause::Reduction,
        consumer: view,
        won: format!("factor {factor} over {over}"),
        lost: String::new(),
        alternative: alternative(view, decision),
        bytes_received: others.saturating_mul(results.filter_map(local).sum()),
        text: format!(
            "`{op}` reduces factor {factor}, which is split over {over}: partial results are gathered and reduced"
        ),
        factor,
    }
    .into_reason()
}

pub(crate) fn exchange(view: &OpView<'_>, decision: &Decision, bytes: u64) -> Reason {
    let (task, decided) = (&decision.task, &decision.assignment);
    let way = |f: Factor| format!("{f} over {}", axes(&task.mesh, &decided.axes[f.index()]));
    let moved = &decision.moved;
    let ways: Vec<String> = moved.iter().map(|&f| way(f)).collect();
    let factors: Vec<String> = moved.iter().map(|f| f.to_string()).collect();
    let split = ways.join(", ");
    let op = short(view.name());
    let axes_of = |f: Factor| &decided.axes[f.index()][..];
    let sends_totals = moved.iter().any(|&f| halo::exchanges_totals(view, &task.rule, f, &task.mesh, axes_of(f)));
    let received = if sends_totals { "the totals of blocks that its windows contain" } else { "what its window lacks" };
    Facts {
        cause: ReasonCause::Strategy,
        consumer: view,
        factor: factors.join(","),
        lost: String::new(),
        alternative: alternative(view, decision),
        bytes_received: bytes,
        text: format!("`{op}` moves elements along factor {split}: each device receives {received}"),
        won: format!("factor {split}"),
    }
    .into_reason()
}

pub(crate) fn unreduced(view: &OpView<'_>, from: &Sharding, open: &[AxisRef], bytes: u64) -> Reason {
    let over = axes(&from.mesh, open);
    Facts {
        cause: ReasonCause::Reduction,
        consumer: view,
        factor: String::new(),
        won: String::new(),
        lost: format!("unreduced {over}"),
        alternative: None,
        bytes_received: bytes,
        text: format!("`{}` needs the sum over {over} that its operand leaves open", short(view.name())),
    }
    .into_reason()
}
