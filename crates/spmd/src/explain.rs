//! The communication of a partitioned program and its reasons, with one row for each collective.
//!
//! | kind | bytes that the device that receives most receives |
//! |---|---|
//! | all-reduce | 2(n-1)/n of its operand |
//! | all-gather | (n-1)/n of its result |
//! | reduce-scatter, all-to-all | (n-1)/n of its operand |
//! | collective-permute | its operand, or nothing if no device receives from another one |
//! | broadcast | its operand, or nothing if each group has one device |
//! | collective-reduce | n-1 times its operand |
//! | ragged all-to-all | at most its output, and at most the operands of the others: known exactly only at run time |
//!
//! Beside these stand lower bounds ([`Row::bytes_least`]): the bytes that the device that receives most has to receive
//! however the move is done. For a reshard these are the bytes of its target that a device lacks ([`bytes_missing`]). A
//! sum over n devices that all of them need takes at least 2(n-1) messages for each element, which is what an
//! all-reduce receives. If each of two devices needs a part, a reduce-scatter receives the least; for more devices,
//! padding may be among what it receives, and the bound is not known. The bounds hold for the moves that were chosen. A
//! bound for all programs with the same arguments and results is only known if an argument itself is required in
//! another layout ([`Communication::bytes_forced`]).

use crate::loops::run_counts;
use crate::plan::bytes_missing;
use shardwise_base::{AxisRef, LayoutChange, Loc, Mesh, Reason, Reshard, byte_size, printable};
use shardwise_ir::{Module, OpView, TensorType};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};
use shardwise_sharding::cost::CollectiveCost;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// One collective of a per-device program.
#[derive(Clone, Debug)]
pub struct Row {
    pub kind: CollectiveKind,
    pub groups: Groups,
    /// The type of the first operand on one device.
    pub operand_type: TensorType,
    /// The type of the first result on one device.
    pub result_type: TensorType,
    /// The bytes that the device that receives most receives each time the collective runs.
    pub bytes_received: u64,
    /// True if the numbers of bytes are only upper bounds.
    pub is_bound: bool,
    /// The bytes that all devices together receive each time the collective runs.
    pub bytes_total: u64,
    /// How often the collective runs; `None` if the trip count of a loop around it is not known.
    pub count: Option<u64>,
    /// The op that needed the collective, such as `stablehlo.dot_general`, or the collective itself if the program
    /// contains it.
    pub op: Arc<str>,
    /// The location of `op` in the source.
    pub loc: Loc,
    pub reason: Option<Arc<Reason>>,
    /// True if it is known that no other way to combine the values of the devices receives less.
    pub is_tight: bool,
}

impl Row {
    /// Returns the axes, such as `x,y`. If the groups are not along axes, returns their number and the size of the
    /// first one, or `all` if all devices are one group or a permute names devices by number.
    pub fn axes(&self) -> String {
        match &self.groups {
            Groups::Axes { mesh, axes } => axis_names(mesh, axes).join(","),
            Groups::Dense(groups) => format!("{} groups of {}", groups.len(), groups.first().map_or(0, Vec::len)),
            Groups::All => "all".into(),
        }
    }

    /// Returns the text of the reason why the collective is needed, or `written by the program` if it has no reason.
    pub fn why(&self) -> &str {
        self.reason.as_ref().map_or("written by the program", |r| &r.text)
    }

    /// Returns the bytes that the device that receives most has to receive each time, however the move is done; `None`
    /// if this is not known. The first collective of a reshard counts for the whole reshard, and the others count
    /// nothing.
    pub fn bytes_least(&self) -> Option<u64> {
        let reason = self.reason.as_ref()?;
        match &reason.reshard {
            Some(_) if reason.step > 0 => Some(0),
            Some(moved) => Some(missing(moved)),
            None => self.is_tight.then_some(self.bytes_received),
        }
    }

    /// Returns the bytes that the device that receives most receives in all runs, or an upper bound
    /// ([`Row::is_bound`]). If the number of runs is not known, one is counted.
    pub fn bytes_received_in_all(&self) -> u64 {
        self.bytes_received.saturating_mul(self.count.unwrap_or(1))
    }
}

/// All collectives of a program, in program order.
#[derive(Clone, Debug, Default)]
pub struct Communication {
    pub rows: Vec<Row>,
}

impl Communication {
    /// Returns the sum over all rows of [`Row::bytes_received_in_all`].
    pub fn bytes_received(&self) -> u64 {
        total(self.rows.iter().map(Row::bytes_received_in_all))
    }

    /// Returns the sum over all rows of [`Row::bytes_least`] in all runs, which is a lower bound of
    /// [`Communication::bytes_received`] for these moves. A row for which it is not known counts nothing, and an
    /// unknown number of runs counts as one. Other layouts or strategies may need less.
    pub fn bytes_least(&self) -> u64 {
        total(self.rows.iter().map(|r| r.bytes_least().unwrap_or(0).saturating_mul(r.count.unwrap_or(1))))
    }

    /// Returns a number of bytes that some device has to receive in every program with these layouts of arguments,
    /// results and constraints, or `None` if no bound is known.
    pub fn bytes_forced(&self) -> Option<u64> {
        self.rows.iter().filter_map(|r| r.reason.as_ref()?.forced.as_deref()).map(missing).max()
    }

    /// Returns the bytes that all devices together receive in all runs, with the upper bounds of rows for which only
    /// these are known ([`Row::is_bound`]). If a number of runs is not known, one is counted.
    pub fn bytes_total(&self) -> u64 {
        total(self.rows.iter().map(|r| r.bytes_total.saturating_mul(r.count.unwrap_or(1))))
    }

    /// Returns how many rows are of this kind (`all-reduce`).
    pub fn count_of(&self, kind: &str) -> usize {
        self.rows.iter().filter(|r| r.kind.name() == kind).count()
    }
}

fn total(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

fn missing(moved: &Reshard) -> u64 {
    bytes_missing(&moved.from, &moved.to, &moved.shape, moved.dtype)
}

/// Returns the table of the collectives in the main function of a localized module. It is empty if the module has no
/// mesh or no main function.
pub fn communication(module: &Module) -> Communication {
    let (Some(mesh), Some(func)) = (module.main_mesh(), module.main()) else { return Communication::default() };
    let counts = run_counts(module, func);
    let row = |op: shardwise_ir::Op| Some(row(&module.view(&func.body, op), mesh, counts[op.index()]));
    Communication { rows: func.body.walk().into_iter().filter_map(|op| row(op)?).collect() }
}

fn row(view: &OpView<'_>, mesh: &Mesh, count: Option<u64>) -> Option<Row> {
    let collective = CollectiveView::of(view)?;
    let devices = mesh.size() as u64;
    let n = collective.groups.group_size().unwrap_or(mesh.size()) as u64;
    let (operand, result) = (view.operand_tensor(0).clone(), view.result_tensor(0).clone());
    let bytes = |values: &[shardwise_ir::Value]| {
        total(values.iter().filter_map(|&v| view.body.ty(v).as_tensor()).map(TensorType::bytes))
    };
    let (taken, given) = (bytes(view.operands()), bytes(view.results()));
    // The sum over all groups of the bytes that a group of this size receives.
    let of_groups = |bytes: &dyn Fn(u64) -> u64| match &collective.groups {
        Groups::Dense(rows) => total(rows.iter().map(|row| bytes(row.len() as u64))),
        Groups::Axes { .. } | Groups::All => bytes(n).saturating_mul(devices / n.max(1)),
    };
    let everywhere = |cost: CollectiveCost| {
        let received = |n: u64| cost.bytes_received(taken.max(given), n);
        (received(n), of_groups(&|n| received(n).saturating_mul(n)))
    };
    let to_one = |n: u64| taken.saturating_mul(n.saturating_sub(1));
    let (bytes_received, bytes_total) = match &collective.kind {
        CollectiveKind::AllReduce { .. } => everywhere(CollectiveCost::AllReduce),
        CollectiveKind::AllGather { .. } => everywhere(CollectiveCost::AllGather),
        CollectiveKind::ReduceScatter { .. } => everywhere(CollectiveCost::ReduceScatter),
        CollectiveKind::AllToAll { .. } => everywhere(CollectiveCost::AllToAll),
        CollectiveKind::CollectivePermute { permutation } => {
            let moved = permutation.moved_count() as u64;
            let copies = if matches!(collective.groups, Groups::Axes { .. }) { devices / n.max(1) } else { 1 };
            (if moved > 0 { taken } else { 0 }, taken.saturating_mul(moved).saturating_mul(copies))
        }
        CollectiveKind::CollectiveReduce { .. } => (to_one(n), of_groups(&to_one)),
        CollectiveKind::RaggedAllToAll => {
            let most = |n: u64| given.min(operand.bytes().saturating_mul(n.saturating_sub(1)));
            (most(n), of_groups(&|n| most(n).saturating_mul(n)))
        }
        CollectiveKind::CollectiveBroadcast => (taken.min(to_one(n)), of_groups(&to_one)),
    };
    let reason = view.data().reason.clone();
    let is_tight = match &collective.kind {
        // The first block of a padded dimension is full, and the devices with these blocks receive most.
        CollectiveKind::AllReduce { .. } => true,
        CollectiveKind::ReduceScatter { .. } => n == 2,
        _ => false,
    };
    Some(Row {
        is_bound: collective.kind == CollectiveKind::RaggedAllToAll,
        kind: collective.kind,
        groups: collective.groups,
        operand_type: operand,
        result_type: result,
        bytes_received,
        bytes_total,
        count,
        op: reason.as_ref().map_or(view.name().into(), |r| r.consumer.clone()),
        loc: reason.as_ref().map_or(view.loc(), |r| &r.consumer_loc).clone(),
        reason,
        is_tight,
    })
}

/// Returns the names of axes, major to minor, with the position and size of a part of an axis: `x`, `y:(2)4`.
pub fn axis_names(mesh: &Mesh, axes: &[AxisRef]) -> Vec<String> {
    axes.iter().map(|a| a.display(mesh).to_string().replace('"', "")).collect()
}

/// Prints a table with one line for each collective, its reason below it and the sums at the end, or the line
/// `no communication` if there are no rows.
impl fmt::Display for Communication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return writeln!(f, "no communication");
        }
        let cells: Vec<[String; 7]> =
            std::iter::once(HEAD.map(str::to_string)).chain(self.rows.iter().map(cells)).collect();
        let widths: Vec<usize> =
            (0..7).map(|i| cells.iter().map(|c| c[i].chars().count()).max().unwrap_or(0)).collect();
        for (i, line) in cells.iter().enumerate() {
            let padded: Vec<String> = line.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}")).collect();
            writeln!(f, "{}", padded.join("  ").trim_end())?;
            if let Some(row) = i.checked_sub(1).map(|i| &self.rows[i]) {
                write_why(f, row)?;
            }
        }
        let once = match self.rows.iter().any(|r| r.count.is_none()) {
            true => "; `?` is counted once: the data decides how often",
            false => "",
        };
        let (received, total) = (byte_size(self.bytes_received()), byte_size(self.bytes_total()));
        writeln!(f, "in all: {received} received by the worst device, {total} over the mesh{once}")?;
        let unknown = self.rows.iter().filter(|r| r.bytes_least().is_none()).count();
        let but = match (unknown, self.rows.len()) {
            (0, _) => String::new(),
            (unknown, all) if unknown == all => return Ok(()),
            (unknown, all) => format!(", not counting {unknown} of the {all} collectives, whose least is not known"),
        };
        writeln!(f, "least for these moves: {}{but}", byte_size(self.bytes_least()))?;
        match self.bytes_forced() {
            Some(forced) => writeln!(f, "least with these arguments, constraints and results: {}", byte_size(forced)),
            None => Ok(()),
        }
    }
}

const HEAD: [&str; 7] = ["kind", "axes", "local type", "received", "over the mesh", "times", "for"];

fn cells(row: &Row) -> [String; 7] {
    let ty = if row.operand_type == row.result_type {
        row.operand_type.short()
    } else {
        format!("{} -> {}", row.operand_type.short(), row.result_type.short())
    };
    let loc = if row.loc.is_unknown() { String::new() } else { format!(" at {}", row.loc) };
    let bounded = |bytes: u64| format!("{}{}", if row.is_bound { "at most " } else { "" }, byte_size(bytes));
    [
        row.kind.name().into(),
        row.axes(),
        ty,
        bounded(row.bytes_received),
        bounded(row.bytes_total),
        row.count.map_or("?".into(), |n| n.to_string()),
        format!("{}{loc}", crate::reason::short(&row.op)),
    ]
    .map(|cell| printable(&cell).into_owned())
}

fn write_why(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    let mut line = |label: &str, text: &str| writeln!(f, "  {label}: {}", printable(text));
    line("why", row.why())?;
    let Some(reason) = &row.reason else { return Ok(()) };
    if let Some(a) = &reason.alternative {
        line("instead of", &format!("{}, {}", a.what, byte_size(a.bytes_received)))?;
    }
    match (&reason.reshard, row.bytes_least()) {
        (_, None) => {}
        (Some(_), _) if reason.step > 0 => line("least", "counted above, for the whole reshard")?,
        (Some(moved), Some(least)) => {
            let [from, to] = [&moved.from, &moved.to].map(crate::reason::dims);
            line("least", &format!("{} from {from} to {to}", byte_size(least)))?;
        }
        (None, Some(least)) => line("least", &format!("{} to combine these values", byte_size(least)))?,
    }
    let changes = if reason.step == 0 { &reason.changes[..] } else { &[] };
    changes.iter().try_for_each(|change| line("layout", &describe(change)))
}

/// Returns a sentence about a layout that the search changed, with the bytes that the ops around it receive now and
/// would have received before.
pub fn describe(change: &LayoutChange) -> String {
    let LayoutChange { tensor, propagated, chosen, value_count, bytes_propagated, bytes_chosen } = change;
    let (before, after) = (byte_size(*bytes_propagated), byte_size(*bytes_chosen));
    let others = match value_count - 1 {
        0 => "around it".to_string(),
        1 => "around it and another value that changed with it".to_string(),
        n => format!("around it and {n} values that changed with it"),
    };
    let gain = match bytes_chosen.cmp(bytes_propagated) {
        Ordering::Less => format!("receive about {after} instead of {before}"),
        Ordering::Equal => format!("receive about {after} with both, in fewer collectives or with less work"),
        Ordering::Greater => {
            format!("receive about {after} instead of {before}, but in fewer collectives or with less work")
        }
    };
    format!("{tensor} is {chosen}, where propagation had {propagated}: the ops {others} {gain}")
}
