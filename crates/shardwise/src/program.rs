//! Reports, programs in text form, and comparisons for tests.

use crate::array::{self, Array, ArrayType};
use crate::error::{Diagnostic as Mistake, SourceLocation};
use crate::runtime::{self, Compiled};
use crate::{Error, Explanation, Result, Topology, context, limits, mistakes};
use shardwise_base::compare::{self, Elements, Mismatch, Tolerance, compare_one};
use shardwise_base::{DType, Diagnostic, Literal, counted};
use shardwise_engine::{Argument, ShardedType};
use shardwise_ir::Module;
use shardwise_ops::collective::{self, Groups};
use shardwise_sim::Overlap;
use shardwise_spmd::explain::axis_names;
use shardwise_view::Timeline;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

// ── communication
/// Every collective of a program. Formats as a table, can be iterated, and has assertions for tests.
#[derive(Clone, Debug, Default)]
pub struct Communication {
    rows: Vec<Collective>,
    bytes_forced: Option<u64>,
    table: String,
}

/// A collective, and the reason for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Collective {
    /// The kind of the collective.
    pub kind: CollectiveKind,
    /// The devices that communicate with each other.
    pub groups: DeviceGroups,
    /// The type of its first operand on one device: `f32[2,8192]`.
    pub ty: ArrayType,
    /// The bytes that the device that receives the most receives in all runs, or in one run if `count` is `None`. An
    /// upper bound for a ragged exchange, and in a conditional, each branch of which counts as if it were always taken.
    pub bytes_received: u64,
    /// The number of runs; `None` if a loop around it does not have a known number of steps. Sums count such a
    /// collective once.
    pub count: Option<u64>,
    /// The op that needed the collective, or the collective itself if the program contains it.
    pub op: String,
    /// The line of that op; `None` if it is not known.
    pub source: Option<SourceLocation>,
    /// The name scopes around the op: `encoder/softmax`. Empty if there are none.
    pub scope: String,
    /// Why the collective is needed: `written by the program` if the program contains it.
    pub reason: String,
    /// The alternative that was not chosen, or `None` if there was none.
    pub rejected: Option<Rejected>,
    /// The bytes that the device that receives the most has to receive for this move in all runs, or in one run if
    /// `count` is `None`; `None` if this is not known. The first collective of a reshard counts for the whole reshard,
    /// and the others count nothing.
    pub bytes_least: Option<u64>,
    /// The layouts that led to this collective and that are not those that propagation chose, one sentence for each.
    pub layouts: Vec<String>,
}

/// An alternative that was not chosen, and the bytes that it would have moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// How the op would have run: the axes over which each factor of its rule would have been split, such as `k whole,
    /// j over {"Y"}`. Factors that are split neither in this way nor in the chosen one are left out.
    pub what: String,
    /// An estimate of the bytes that the device that receives the most would have received in one run of the op.
    pub bytes_received: u64,
}

/// The groups of devices that take part in a collective together. Formats as in tables: `X,Y`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceGroups {
    /// Devices that differ only in their positions along these mesh axes, major to minor. A part of an axis is written
    /// with the size of the more major parts, and its own size: `X:(2)4`.
    Along(Vec<String>),
    /// The lists of devices of a program in text form that are not along axes.
    Listed {
        /// The number of groups.
        count: usize,
        /// The number of devices of the first group, or 0 if there are no groups.
        size: usize,
    },
    /// One group of all devices, or the devices of a permute that names them by number.
    All,
}

impl DeviceGroups {
    fn of(groups: &Groups) -> DeviceGroups {
        match groups {
            Groups::Axes { mesh, axes } => DeviceGroups::Along(axis_names(mesh, axes)),
            Groups::Dense(groups) => {
                DeviceGroups::Listed { count: groups.len(), size: groups.first().map_or(0, Vec::len) }
            }
            Groups::All => DeviceGroups::All,
        }
    }

    /// Returns the mesh axes along which the devices communicate, major to minor. It is empty unless the groups are
    /// along axes.
    pub fn axes(&self) -> &[String] {
        match self {
            DeviceGroups::Along(axes) => axes,
            DeviceGroups::Listed { .. } | DeviceGroups::All => &[],
        }
    }
}

impl fmt::Display for DeviceGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceGroups::Along(axes) => f.write_str(&axes.join(",")),
            DeviceGroups::Listed { count, size } => write!(f, "{count} groups of {size}"),
            DeviceGroups::All => f.write_str("all"),
        }
    }
}

/// The kinds of collectives. In their descriptions, the devices are those of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CollectiveKind {
    /// Combines the values of all devices; all of them get the result.
    AllReduce,
    /// Concatenates the values of all devices; all of them get the result.
    AllGather,
    /// Combines the values of all devices; each gets a part of the result.
    ReduceScatter,
    /// Sends a part of each device's value to each other device.
    AllToAll,
    /// Sends values from device to device.
    Permute,
    /// Copies one device's value to all others.
    Broadcast,
    /// Combines the values of all devices; one of them gets the result.
    Reduce,
    /// Sends parts of different sizes, which the program computes.
    RaggedAllToAll,
}

impl CollectiveKind {
    fn of(kind: &collective::CollectiveKind) -> CollectiveKind {
        use collective::CollectiveKind::*;
        match kind {
            AllReduce { .. } => CollectiveKind::AllReduce,
            AllGather { .. } => CollectiveKind::AllGather,
            ReduceScatter { .. } => CollectiveKind::ReduceScatter,
            AllToAll { .. } => CollectiveKind::AllToAll,
            CollectivePermute { .. } => CollectiveKind::Permute,
            CollectiveBroadcast => CollectiveKind::Broadcast,
            CollectiveReduce { .. } => CollectiveKind::Reduce,
            RaggedAllToAll => CollectiveKind::RaggedAllToAll,
        }
    }
}

/// Formats the kind: `all-reduce`.
impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CollectiveKind::AllReduce => "all-reduce",
            CollectiveKind::AllGather => "all-gather",
            CollectiveKind::ReduceScatter => "reduce-scatter",
            CollectiveKind::AllToAll => "all-to-all",
            CollectiveKind::Permute => "collective-permute",
            CollectiveKind::Broadcast => "collective-broadcast",
            CollectiveKind::Reduce => "collective-reduce",
            CollectiveKind::RaggedAllToAll => "ragged-all-to-all",
        })
    }
}

impl Communication {
    pub(crate) fn of_table(table: &shardwise_spmd::Communication) -> Communication {
        let row = |r: &shardwise_spmd::Row| Collective {
            kind: CollectiveKind::of(&r.kind),
            groups: DeviceGroups::of(&r.groups),
            ty: ArrayType::of(&ShardedType { ty: r.operand_type.clone(), sharding: None }),
            bytes_received: r.bytes_received_in_all(),
            count: r.count,
            op: r.op.to_string(),
            source: SourceLocation::of(&r.loc),
            scope: r.loc.scope(),
            reason: r.why().to_string(),
            rejected: r
                .reason
                .as_ref()
                .and_then(|reason| reason.alternative.as_ref())
                .map(|a| Rejected { what: a.what.to_string(), bytes_received: a.bytes_received }),
            bytes_least: r.bytes_least().map(|n| n.saturating_mul(r.count.unwrap_or(1))),
            layouts: r
                .reason
                .iter()
                .flat_map(|reason| &reason.changes)
                .map(shardwise_spmd::explain::describe)
                .collect(),
        };
        Communication {
            rows: table.rows.iter().map(row).collect(),
            bytes_forced: table.bytes_forced(),
            table: table.to_string(),
        }
    }

    /// Returns true if there are no collectives.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of collectives.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the bytes that the whole program receives, counted for each collective on the device that receives the
    /// most. An unknown number of runs counts as one, and a ragged exchange counts with its upper bound.
    pub fn bytes_received(&self) -> u64 {
        self.rows.iter().map(|c| c.bytes_received).fold(0, u64::saturating_add)
    }

    /// Returns the sum of [`Collective::bytes_least`] over the collectives for which it is known: what these moves
    /// take, however they are done. An unknown number of runs counts as one. Other layouts may need less.
    pub fn bytes_least(&self) -> u64 {
        self.rows.iter().filter_map(|c| c.bytes_least).fold(0, u64::saturating_add)
    }

    /// Returns a number of bytes that some device has to receive at least in every program with the same layouts of
    /// arguments, constraints and results, or `None` if no bound is known.
    pub fn bytes_forced(&self) -> Option<u64> {
        self.bytes_forced
    }

    /// Returns the collectives of one kind.
    pub fn of(&self, kind: CollectiveKind) -> impl Iterator<Item = &Collective> {
        self.rows.iter().filter(move |c| c.kind == kind)
    }

    /// Asserts that there are no collectives.
    ///
    /// # Panics
    ///
    /// Panics with the table if there are any.
    #[track_caller]
    pub fn assert_none(&self) {
        assert!(self.is_empty(), "expected no communication, found\n{self}");
    }

    /// Asserts that there are exactly these collectives, in any order: `["all-reduce model", "all-gather data x4"]`.
    ///
    /// Each has the kind, the [groups](DeviceGroups) and, unless it runs once, the number of runs, which is `x?` if it
    /// is not known. Equal ones are listed as often as they occur.
    ///
    /// # Panics
    ///
    /// Panics with the table if there are others or one of these is missing.
    #[track_caller]
    pub fn assert_only<const N: usize>(&self, expected: [&str; N]) {
        let mut found: Vec<String> = self.rows.iter().map(short).collect();
        let mut wanted = expected.map(String::from).to_vec();
        found.sort();
        wanted.sort();
        assert!(found == wanted, "expected {wanted:?}, found {found:?}\n{self}");
    }
}

/// Formats a collective as `all-gather data x4`: the kind, the groups, and the number of runs unless it is 1.
fn short(c: &Collective) -> String {
    let times = match c.count {
        Some(1) => String::new(),
        Some(n) => format!(" x{n}"),
        None => " x?".into(),
    };
    format!("{} {}{times}", c.kind, c.groups)
}

impl fmt::Display for Communication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.trim_end())
    }
}

impl<'a> IntoIterator for &'a Communication {
    type Item = &'a Collective;
    type IntoIter = std::slice::Iter<'a, Collective>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

// ── programs in text form
/// A program in text form: StableHLO, with or without Shardy's attributes.
#[must_use = "a program does nothing until it is compiled and called"]
pub struct Program {
    module: Module,
}

/// Formats the types of the function that runs: `Program((f32[8]) -> f32[])`.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({})", self.signature())
    }
}

impl Program {
    /// Parses and verifies a program as `jax.jit(f).lower(..).as_text()` and
    /// [`Lowered::as_text`](crate::Lowered::as_text) print it.
    ///
    /// # Errors
    ///
    /// Those of the text and of what is not valid in the program, each at its line. `run-memory`, `run-steps` or
    /// `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn parse(text: &str) -> Result<Program> {
        limits::run(Location::caller(), || {
            let module = runtime::parse(text)?;
            let found = shardwise_ir::verify(&module);
            found.or(Program { module }).map_err(Error::from)
        })
    }

    /// Formats the types of the function that runs, with the layouts that the program states: `(bf16[8@X,2048@Y],
    /// bf16[2048@Y,8192]) -> bf16[8,8192]`. The function that runs is `@main`, or else the first public one, or else
    /// the first one. Returns `() -> ()` if there are no functions.
    pub fn signature(&self) -> String {
        let Some(main) = self.module.main() else { return "() -> ()".into() };
        let show = |ty: &shardwise_ir::Type, sharding: Option<&shardwise_base::Sharding>| match ty.as_tensor() {
            Some(t) => array::text_of(&ShardedType { ty: t.clone(), sharding: sharding.cloned() }),
            None => ty.to_string(),
        };
        let args: Vec<String> =
            main.body.args().iter().map(|&v| show(main.body.ty(v), main.body.sharding(v))).collect();
        let results = main.result_types.iter().zip(&main.result_shardings).map(|(ty, s)| show(ty, s.as_ref()));
        let results: Vec<String> = results.collect();
        match &results[..] {
            [one] => format!("({}) -> {one}", args.join(", ")),
            many => format!("({}) -> ({})", args.join(", "), many.join(", ")),
        }
    }

    /// Returns the text of the program.
    pub fn as_text(&self) -> String {
        runtime::text(&self.module)
    }

    /// Partitions the program and plans it for the engine.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be partitioned or run, such as an op, with an error at its line. Fails with
    /// `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn compile(&self) -> Result<CompiledProgram> {
        let compiled = limits::run(Location::caller(), || runtime::compile_own(&self.module))?;
        Ok(CompiledProgram { compiled })
    }
}

/// A compiled program whose argument types are checked when it is called.
pub struct CompiledProgram {
    compiled: Arc<Compiled>,
}

impl fmt::Debug for CompiledProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompiledProgram")
    }
}

impl CompiledProgram {
    /// Runs the program. The arguments are moved to the layouts that the program requires.
    ///
    /// # Errors
    ///
    /// - `call-arguments` if the number of arguments differs.
    /// - `call-types` if the type of an argument differs.
    /// - The mistakes of the arguments, and `no-value`, `traced-escaped` or `deleted` for an argument without a value.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    /// - Those of ops that fail when they run, and `not-finite` if a check of [`debug`](crate::debug) fails.
    #[track_caller]
    pub fn call(&self, args: &[Array]) -> Result<Vec<Array>> {
        let at = Location::caller();
        let inputs = &self.compiled.signature().inputs;
        if args.len() != inputs.len() {
            let arguments = counted(inputs.len(), "argument");
            let message = format!("the program takes {arguments}, and is called with {}", args.len());
            return Err(Error::one(Diagnostic::error("call-arguments", &context::loc(at), message)));
        }
        for (i, (a, input)) in args.iter().zip(inputs).enumerate() {
            a.check()?;
            if *a.tensor() != input.ty {
                let message = format!("argument {i} differs in type from the program's");
                let facts = format!("{}, expected {}", a.short_type(), input.ty.short());
                return Err(Error::one(mistakes::with_facts("call-types", message, facts, "", &context::loc(at))));
            }
        }
        limits::run(at, || {
            let lend =
                |(a, input): (&Array, &ShardedType)| a.handle_as(input.sharding.as_ref(), at).map(Argument::Lent);
            let given = args.iter().zip(inputs).map(lend).collect::<Result<_>>()?;
            Ok(self.compiled.execute(given)?.into_iter().map(|h| Array::value(h, at)).collect())
        })
    }

    /// Returns every collective of the program, with its reason.
    pub fn communication(&self) -> Communication {
        self.compiled.communication()
    }

    /// Returns the memory that a call needs.
    pub fn memory(&self) -> crate::Memory {
        self.compiled.memory(&[])
    }

    /// Returns the warnings of the partitioner: claims about values that cannot be proved, layouts that are replicated
    /// because the program's mesh cannot express them, and calls of Python code that are skipped. Also returns a note
    /// if the search for layouts ended before it had looked at everything.
    pub fn warnings(&self) -> impl Iterator<Item = Mistake> + '_ {
        self.compiled.warnings().iter().cloned().map(Mistake)
    }

    /// Returns the per-device program as StableHLO text.
    pub fn as_text(&self) -> String {
        self.compiled.text()
    }

    /// Predicts when each op runs on a machine that need not be here. Only collectives that the program starts
    /// asynchronously run beside other ops ([`CompiledProgram::simulate_with`]).
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the machine, and those of [`Topology::summary`].
    #[track_caller]
    pub fn simulate(&self, topology: &Topology) -> Result<Timeline> {
        self.simulate_with(topology, Overlap::Off)
    }

    /// Predicts when each op runs on a machine if collectives run beside other ops as `overlap` says. The program that
    /// is predicted is changed so that they do, and the notes of the timeline list the changes.
    ///
    /// # Errors
    ///
    /// Fails as [`CompiledProgram::simulate`] does.
    #[track_caller]
    pub fn simulate_with(&self, topology: &Topology, overlap: Overlap) -> Result<Timeline> {
        self.compiled.simulate(topology, overlap, Location::caller())
    }

    /// Explains why the program communicates, and tries changes of one layout that would save some of this
    /// communication. If the mesh states a topology, times are predicted on it, and changes are compared by time.
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the topology that it states, `machine-unknown` if
    /// the machine of this topology is not known or is that of a file, `topology-grid` if the machine has no such grid,
    /// and `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn explain(&self) -> Result<Explanation> {
        self.compiled.explain(None, Overlap::Off, Location::caller())
    }

    /// Explains why the program communicates, and tries changes of one layout that would save communication and time on
    /// a machine on which collectives run beside other ops as `overlap` says.
    ///
    /// # Errors
    ///
    /// `topology-mesh` if the mesh has another number of devices than the machine, those of [`Topology::summary`], and
    /// `run-memory`, `run-steps` or `run-cancelled` if a limit is reached.
    #[track_caller]
    pub fn explain_on(&self, topology: &Topology, overlap: Overlap) -> Result<Explanation> {
        self.compiled.explain(Some(topology), overlap, Location::caller())
    }
}

// ── comparisons
/// Asserts that the element types, the shapes and the values are equal. The layouts may differ. NaN equals NaN, and 0
/// equals -0.
///
/// # Panics
///
/// Panics with the types, or with an element that differs and the devices that hold it. Panics with the diagnostics if
/// an array has no value.
#[track_caller]
pub fn assert_equal(a: &Array, b: &Array) {
    let (x, y) = literals(a, b);
    expect(a, b, compare_one(0, &x, &y, Tolerance::Numbers));
}

/// Asserts that the element types and shapes are equal, and that the values are close for their dtype. Two elements may
/// differ by about 8 units in the last place of the larger of them, plus 8 of the largest finite element of both
/// arrays. For `bf16` and `f16`, these are 4 units each, and 1 unit each for floats of 8 bits and less. Infinities,
/// integers and bools must be equal, and NaN equals NaN.
///
/// # Panics
///
/// Panics with the types, or with an element that differs and the devices that hold it. Panics with the diagnostics if
/// an array has no value.
#[track_caller]
pub fn assert_close(a: &Array, b: &Array) {
    let (x, y) = literals(a, b);
    if x.shape() != y.shape() {
        return expect(a, b, compare_one(0, &x, &y, Tolerance::Exact));
    }
    let epsilon = match x.dtype() {
        DType::BF16 | DType::F16 => compare::epsilon(x.dtype()) / 2.0,
        dtype if dtype.bits() <= 8 => compare::epsilon(dtype) / 8.0,
        dtype => compare::epsilon(dtype),
    };
    let scale = compare::largest(&x).max(compare::largest(&y));
    let larger = |i: usize| compare::magnitude(&x, i).max(compare::magnitude(&y, i));
    let bounds: Vec<f64> = (0..x.size()).map(|i| 8.0 * epsilon * (larger(i) + scale)).collect();
    expect(a, b, compare_one(0, &x, &y, Tolerance::Bounds(&bounds)));
}

#[track_caller]
fn literals(a: &Array, b: &Array) -> (Literal, Literal) {
    match (a.literal(), b.literal()) {
        (Ok(x), Ok(y)) => (x, y),
        (Err(e), _) | (_, Err(e)) => panic!("cannot compare\n{e}"),
    }
}

#[track_caller]
fn expect(a: &Array, b: &Array, compared: Result<(), Mismatch>) {
    match compared {
        Ok(()) => {}
        Err(Mismatch::Elements { elements: Elements { count, size, indices, got, want, .. }, .. }) => panic!(
            "{count} of {size} elements differ, the first at {indices:?}: {got} ({}) and {want} ({})",
            holders(a, &indices),
            holders(b, &indices)
        ),
        Err(_) => panic!("the types differ: {} and {}", a.short_type(), b.short_type()),
    }
}

/// Formats the devices that hold an element: `device 0, 1`, or `one device` without a mesh.
fn holders(a: &Array, place: &[usize]) -> String {
    let Some(sharding) = a.known_type().and_then(|ty| ty.sharding) else { return "one device".into() };
    let shape = a.shape();
    let holds = |position: &usize| {
        let part = shardwise_engine::layout::shard_box(&shape, &sharding, &sharding.mesh.coordinates(*position));
        place.iter().zip(part.offset.iter().zip(&part.shape)).all(|(i, (o, n))| (*o..o + n).contains(i))
    };
    let devices: Vec<String> =
        (0..sharding.mesh.size()).filter(holds).map(|p| sharding.mesh.device(p).to_string()).collect();
    format!("device {}", devices.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_collectives_that_run_very_often_are_bounded() {
        let row = Collective {
            kind: CollectiveKind::AllReduce,
            groups: DeviceGroups::All,
            ty: ArrayType::of(&ShardedType { ty: shardwise_ir::TensorType::scalar(DType::F32), sharding: None }),
            bytes_received: u64::MAX,
            count: Some(u64::MAX),
            op: String::new(),
            source: None,
            scope: String::new(),
            reason: String::new(),
            rejected: None,
            bytes_least: Some(u64::MAX),
            layouts: vec![],
        };
        let all = Communication { rows: vec![row.clone(), row], ..Communication::default() };
        assert_eq!((all.bytes_received(), all.bytes_least()), (u64::MAX, u64::MAX));
    }
}
