//! The simulator: when each op of a per-device program runs on one device, and when its collectives use the links.
//!
//! The core of the device runs one group of fused ops at a time. A collective holds the links that it uses, so that
//! those with common links follow each other. A synchronous collective also holds the core. An asynchronous one lets it
//! run on, and the first op that needs its result waits.
//!
//! With [`Overlap::Off`] everything is issued in the order of the program. Otherwise the core takes the first op, in
//! the order of the program, among those that could start first, and starts asynchronous collectives before other ops.

use crate::collective::Pattern;
use crate::frame::{Frame, Held, Place};
use crate::fuse::{Item, SCALAR_ELEMENTS, items};
use crate::group::{result_place, work};
use crate::issue::{Issue, Issued, Takes};
use crate::memory::Allocation;
use crate::op::Product;
use crate::placement::placement;
use crate::route::LinkSet;
use crate::schedule::{Done, Kind, LOOK_AHEAD, Plan, Queue};
use crate::transfer::{is_asynchronous, pattern_of};
use crate::{Topology, host, memory, order, turns, uncertainty};
use shardwise_base::{Diagnostic, Diagnostics, Loc, Mesh, Positions, Sharding, did_you_mean};
use shardwise_ir::{Body, Func, GLOBAL_TYPE, Module, Op, OpView, Region, Value};
use shardwise_ops::collective::{CollectiveView, Transfer};
use shardwise_ops::control::{CustomCall, taken_branch, trip_count};
use shardwise_ops::{Opcode, calls};
use shardwise_view::{
    Lane, LaneIndex, LaneKind, Maker, MemoryPart, Picoseconds, Span, SpanIndex, SpanKind, Timeline, Work,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// Which collectives run beside other ops. The core waits for a collective that the program does not start itself if no
/// other op that takes time could be issued next. A host, which runs one instruction after the other, ignores it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Overlap {
    /// Only the collectives that the program starts with `async_start` run beside other ops, and all ops are issued in
    /// the order of the program. With the other variants, the simulator may issue ops in another order.
    #[default]
    Off,
    /// All-gathers, permutes, broadcasts and the collectives that the program starts run beside other ops. All others
    /// do so, too, if compilers for the machine make them asynchronous. If that is no faster than [`Overlap::Off`],
    /// [`simulate`] returns the timeline of `Off`.
    Auto,
    /// All collectives run beside other ops.
    Force,
}

impl FromStr for Overlap {
    type Err = Diagnostic;

    /// Reads `off`, `auto` or `force`. Fails for any other text (`overlap-unknown`).
    fn from_str(text: &str) -> Result<Overlap, Diagnostic> {
        match text {
            "off" => Ok(Overlap::Off),
            "auto" => Ok(Overlap::Auto),
            "force" => Ok(Overlap::Force),
            _ => Err(unknown_overlap(text)),
        }
    }
}

fn unknown_overlap(text: &str) -> Diagnostic {
    let d = Diagnostic::error("overlap-unknown", &Loc::UNKNOWN, format!("`{text}` is no way to overlap"));
    let near = did_you_mean(text, ["off", "auto", "force"]);
    let d = near.map_or(d.clone(), |near| d.help(format!("did you mean `{near}`?")));
    d.help("the ways are off, auto and force")
}

/// Options of the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Which collectives run beside other ops.
    pub overlap: Overlap,
}

/// The number of turns of a loop that are simulated. The others are like the last one of these.
const SIMULATED_TURNS: u64 = 2;

/// A loop inside of this many others or more has one simulated turn, and no last run of its condition if it has a turn,
/// so that the time does not double with each of them.
const DEEP: usize = 4;

const LISTED_OPS: usize = 4;

/// Predicts the timeline of a localized module on a topology. On chips, one device stands for all. On a host, the
/// timeline has the instructions that the host runs for all devices.
///
/// # Examples
///
/// ```
/// use shardwise_sim::{Options, Summary, Topology, simulate};
///
/// let text = "func.func @main(%x: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
///   %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
///       : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
///   return %0 : tensor<4096x4096xbf16>
/// }";
/// let module = shardwise_ir::text::parse("product.mlir", text, &shardwise_ops::OPS).unwrap();
/// let topology = Topology::parse("v5e:1x1").unwrap();
/// let timeline = simulate(&module, &topology, &Options::default()).unwrap();
/// let summary = Summary::of(&timeline, &topology);
/// assert!(summary.fits() && summary.utilization.unwrap() > 0.9);
/// ```
///
/// # Errors
/// Fails if the module has no function (`module-main`), if its mesh has axes and another number of devices than the
/// topology (`topology-mesh`), if a function calls itself (`call-recursion`), or if the program was not partitioned
/// (`simulate-global`): if a function that it runs has an op on global values, such as a sharding constraint, or if an
/// argument or result of the main function is split or unreduced and has no [`GLOBAL_TYPE`]. A program without a mesh
/// can be simulated on every topology.
///
/// # Limits
/// Times are counted up to 2^64 picoseconds, which are 213 days. The timeline of a run that takes longer has no typical
/// error, and a note that says so.
pub fn simulate(module: &Module, topology: &Topology, options: &Options) -> Result<Timeline, Diagnostics> {
    let mut timeline = simulate_exactly(module, topology, options)?;
    let machine = topology.machine();
    if !machine.is_host() {
        uncertainty::set(&mut timeline, machine);
        timeline.limits = Some(machine.limits());
    }
    if timeline.end() == Picoseconds::MAX {
        say_uncounted(&mut timeline);
    }
    Ok(timeline)
}

/// States that the run takes longer than times are counted, and removes the typical errors of the times that are not
/// known: that of the run, and those of spans that end after the last time that is counted.
fn say_uncounted(timeline: &mut Timeline) {
    let days = Picoseconds::MAX / 1_000_000_000_000 / (24 * 60 * 60);
    timeline.uncertainty = None;
    timeline.spans.iter_mut().filter(|span| span.end == Picoseconds::MAX).for_each(|span| span.uncertainty = None);
    timeline.notes.push(format!(
        "the time is no prediction: the run takes longer than {days} days, and times are counted only up to there"
    ));
}

/// Predicts a timeline as [`simulate`] does. For a chip, it has no typical errors and no limits of the machine. Fails
/// as `simulate` does.
pub(crate) fn simulate_exactly(
    module: &Module,
    topology: &Topology,
    options: &Options,
) -> Result<Timeline, Diagnostics> {
    let (mesh, placement) = placed(module, topology)?;
    if topology.machine().is_host() {
        let main = module.main().ok_or_else(|| no_main(module))?;
        return Ok(host::simulate(module, &main.body, topology, &mesh));
    }
    let run = |overlap: Overlap| Simulator::run(module, topology, (&mesh, &placement), overlap, LOOK_AHEAD).timeline;
    let timeline = run(options.overlap);
    if options.overlap != Overlap::Auto {
        return Ok(timeline);
    }
    let in_order = run(Overlap::Off);
    Ok(if timeline.end() < in_order.end() { timeline } else { in_order })
}

/// Predicts the timeline as [`simulate`] does, without typical errors and limits of the machine, and returns the order
/// in which the ops of the main function are issued. [`Overlap::Auto`] is not compared with the order of the program.
///
/// Unless the order is that of the program ([`Overlap::Off`]), ops that take time are issued only if they are at most
/// `look_ahead` places behind the first ones that have not been issued, where ops that are issued together take one
/// place. So a smaller number keeps fewer values in memory.
///
/// # Errors
/// Fails as [`simulate`] does.
///
/// # Panics
/// Panics if the machine is a host, which runs ops in the order of the program.
pub fn issue(module: &Module, topology: &Topology, overlap: Overlap, look_ahead: usize) -> Result<Issue, Diagnostics> {
    assert!(!topology.machine().is_host(), "a host runs ops in the order of the program");
    let (mesh, placement) = placed(module, topology)?;
    Ok(Simulator::run(module, topology, (&mesh, &placement), overlap, look_ahead))
}

fn placed(module: &Module, topology: &Topology) -> Result<(Arc<Mesh>, Vec<usize>), Diagnostics> {
    let main = module.main().ok_or_else(|| no_main(module))?;
    calls::refuse_recursion(module)?;
    refuse_global(module, main)?;
    let one = || Arc::new(Mesh::of_axes("mesh", vec![]));
    let mesh = module.main_mesh().cloned().unwrap_or_else(one);
    let placement = if mesh.axes.is_empty() { vec![0] } else { placement(topology, &mesh)? };
    Ok((mesh, placement))
}

/// The times at which the core and the links are free. Each of several possible branches starts from the same state.
#[derive(Clone, Default)]
struct State {
    core_free: Picoseconds,
    /// The time from which each set of links that was used is free.
    links: Vec<(LinkSet, Picoseconds)>,
    /// The periods of the transfers that may still run beside the core.
    transfers: Vec<(Picoseconds, Picoseconds)>,
    /// True once the core has waited for the other devices.
    has_met: bool,
}

struct Simulator<'m> {
    module: &'m Module,
    topology: &'m Topology,
    mesh: Arc<Mesh>,
    positions: Positions,
    /// The physical device at each position of the mesh.
    placement: Vec<usize>,
    overlap: Overlap,
    look_ahead: usize,
    /// The ops that were issued in each block of the main function, in its last run that was simulated.
    blocks: BTreeMap<Region, Vec<Issued>>,
    core: LaneIndex,
    lanes: Vec<(LinkSet, LaneIndex)>,
    patterns: Vec<(CollectiveView, Pattern)>,
    /// The spans in the order in which they are found. A [`SpanIndex`] is an index of this list until the end.
    spans: Vec<Span>,
    memory: Vec<Allocation>,
    state: State,
    timeline: Timeline,
    /// The turn of the innermost loop, counted from 0, or `None` outside of loops.
    turn: Option<u64>,
    /// The number of loops around the current op.
    loops: usize,
}

/// The outcome of a branch.
struct Taken {
    state: State,
    spans: Vec<Span>,
    memory: Vec<Allocation>,
    held: Vec<Held>,
}

fn no_main(module: &Module) -> Diagnostic {
    Diagnostic::error("module-main", &module.loc, "the module has no functions")
        .help("add the function to run: `func.func public @main`")
}

/// Fails if the program was not partitioned: if the main function, or one that it runs, has an op on global values, or
/// if an argument or result of the main function is a whole array that is split or unreduced.
fn refuse_global(module: &Module, main: &Func) -> Result<(), Diagnostic> {
    let roots = module.func_id(&main.name).into_iter().collect();
    calls::callees_first(module, roots).into_iter().try_for_each(|id| refuse_global_ops(module, &module[id].body))?;
    let args = main.body.args().iter().map(|&v| main.body.sharding(v)).zip(&main.arg_attrs).enumerate();
    let results = main.result_shardings.iter().map(Option::as_ref).zip(&main.result_attrs).enumerate();
    let is_split = |s: &&Sharding| s.split_axes().chain(s.unreduced.iter().copied()).any(|a| a.size(&s.mesh) > 1);
    let parts = args.map(|part| ("argument", part)).chain(results.map(|part| ("result", part)));
    for (what, (index, (sharding, attrs))) in parts {
        if let Some(sharding) = sharding.filter(is_split).filter(|_| !attrs.contains(GLOBAL_TYPE)) {
            return Err(whole(what, index, sharding, main));
        }
    }
    Ok(())
}

fn whole(what: &str, index: usize, sharding: &Sharding, main: &Func) -> Diagnostic {
    let message =
        format!("{what} {index} of `@{}` is a whole array, and only per-device programs are simulated", main.name);
    Diagnostic::error("simulate-global", &main.loc, message)
        .facts(sharding.to_string())
        .help("partition the program first")
}

/// Fails if the function has an op on global values.
fn refuse_global_ops(module: &Module, body: &Body) -> Result<(), Diagnostic> {
    let is_global = |view: &OpView<'_>| {
        let opcode = Opcode::of_view(view);
        matches!(opcode, Opcode::ManualComputation | Opcode::NamedComputation | Opcode::ShardingConstraint)
            || opcode == Opcode::Reshard
    };
    let mut views = body.walk().into_iter().map(|op| module.view(body, op));
    let Some(found) = views.find(is_global) else { return Ok(()) };
    let message = format!("`{}` is an op on global values, and only per-device programs are simulated", found.name());
    Err(Diagnostic::error("simulate-global", found.loc(), message).help("partition the program first"))
}

pub(crate) fn picoseconds(seconds: f64) -> Picoseconds {
    // A cast from a float saturates, and no time is negative.
    (seconds * 1e12).round() as Picoseconds
}

impl<'m> Simulator<'m> {
    fn run(
        module: &'m Module,
        topology: &'m Topology,
        (mesh, placement): (&Arc<Mesh>, &[usize]),
        overlap: Overlap,
        look_ahead: usize,
    ) -> Issue {
        let maker = Maker::Predicted { machine: format!("{} ({topology})", topology.machine().title) };
        let mut timeline = Timeline::new(&*module.name, maker);
        timeline.device_count = mesh.size();
        let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
        let mut simulator = Simulator {
            module,
            topology,
            positions: mesh.positions(),
            mesh: mesh.clone(),
            placement: placement.to_vec(),
            overlap,
            look_ahead,
            blocks: BTreeMap::new(),
            core,
            lanes: vec![],
            patterns: vec![],
            spans: vec![],
            memory: vec![],
            state: State::default(),
            timeline,
            turn: None,
            loops: 0,
        };
        if let Some(main) = module.main() {
            simulator.run_main(&main.body);
        }
        let mut timeline = order::finish(simulator.timeline, simulator.spans, &simulator.memory);
        let has_ops = module.main().is_some_and(|main| main.body.region(main.body.entry()).ops.len() > 1);
        if timeline.end() == 0 && has_ops {
            timeline.notes.push(format!(
                "nothing takes time here: constants, reshapes and ops on up to {SCALAR_ELEMENTS} elements are free"
            ));
        }
        debug_assert_eq!(timeline.check(), Ok(()));
        Issue { timeline, blocks: simulator.blocks }
    }

    fn physical(&self, device: usize) -> usize {
        let position = self.positions.of(device).unwrap_or(0);
        self.placement[position.min(self.placement.len() - 1)]
    }

    fn run_main(&mut self, body: &'m Body) {
        let mut frame = Frame::new(body);
        for (i, &v) in body.args().iter().enumerate() {
            frame.set(v, frame.own(v, 0, None, Place::Memory));
            let part = MemoryPart { name: format!("argument {i}"), loc: body[v].loc.clone(), bytes: frame.bytes(v) };
            self.memory.push(Allocation { start: 0, end: None, part });
        }
        self.prefetch(&mut frame);
        self.block(&mut frame, body.entry(), true);
    }

    /// Marks the largest argument that fits into half of the fast memory as present in it, if the machine prefetches.
    fn prefetch(&self, frame: &mut Frame<'m>) {
        let c = &self.topology.machine().constants;
        let fits = |v: &Value| frame.bytes(*v) as f64 <= c.vmem_bytes / 2.0;
        let args = frame.body.args().iter().copied().filter(fits);
        let largest = args.max_by_key(|&v| (frame.bytes(v), std::cmp::Reverse(v)));
        if let Some(v) = largest.filter(|_| c.prefetches > 0.0) {
            frame.set(v, Held { place: Place::Fast, ..frame.get(v) });
        }
    }

    /// Simulates a block whose arguments are set in the frame. Returns the values that it returns.
    fn block(&mut self, frame: &mut Frame<'m>, region: Region, is_main: bool) -> Vec<Value> {
        let body = frame.body;
        let Some((&terminator, ops)) = body[region].ops.split_last() else { return vec![] };
        let block = self.module.view(body, terminator);
        let plan = Plan::new(block, items(block, ops, &frame.uses));
        let results = block.operands().to_vec();
        let kinds: Vec<Kind> = plan.items.iter().map(|item| self.kind(&block, item)).collect();
        let look_ahead = (self.overlap != Overlap::Off).then_some(self.look_ahead);
        let mut queue = Queue::new(&plan, look_ahead, frame, &kinds);
        let mut done = vec![Done { start: 0, end: 0 }; plan.items.len()];
        let mut order = Vec::with_capacity(plan.items.len());
        let returned: BTreeSet<Value> = results.iter().copied().collect();
        let short_lives = plan.short_lives();
        while let Some(i) = queue.next(&plan, self.state.core_free) {
            let is_result = block.body[plan.items[i].root()].results.iter().any(|v| returned.contains(v));
            let stays = short_lives[i] && !is_result;
            let may_overlap = kinds[i] == Kind::Transfer && queue.has_more();
            done[i] = self.item(frame, &plan, i, stays, may_overlap);
            queue.issued(i, &plan, frame, &kinds);
            order.push((i, may_overlap));
        }
        self.record(body, region, &plan, &kinds, &done, order);
        // A collective that a region starts ends in it.
        let end = if is_main { frame.ready(&results).0.max(self.state.core_free) } else { self.wait(frame, &results) };
        memory::account(&mut self.memory, block, frame, &plan, &done, (&results, end, is_main));
        results
    }

    fn record(
        &mut self,
        body: &Body,
        region: Region,
        plan: &Plan,
        kinds: &[Kind],
        done: &[Done],
        order: Vec<(usize, bool)>,
    ) {
        if !self.module.main().is_some_and(|main| std::ptr::eq(&main.body, body)) {
            return;
        }
        let issued = |(i, is_async): (usize, bool)| {
            let item = &plan.items[i];
            let view = self.module.view(body, item.root());
            let (collective, is_start) = (CollectiveView::of(&view), Opcode::of_view(&view) == Opcode::AsyncStart);
            let machine = self.topology.machine();
            let latency = collective.map(|collective| picoseconds(self.pattern(&collective).seconds(machine, 0.0)));
            let takes = match kinds[i] {
                Kind::Free => Takes::Nothing,
                Kind::Transfer if is_async || is_start => Takes::Links,
                Kind::Transfer | Kind::Core => Takes::Core,
            };
            Issued { ops: item.ops().to_vec(), takes, start: done[i].start, end: done[i].end, latency }
        };
        let issued = order.into_iter().map(issued).collect();
        self.blocks.insert(region, issued);
    }

    fn kind(&self, block: &OpView<'_>, item: &Item) -> Kind {
        let view = block.at(item.root());
        match item {
            Item::Group(_) => Kind::Core,
            Item::Free(_) => Kind::Free,
            Item::Engine(_) => match Opcode::of_view(&view) {
                Opcode::AsyncStart if CollectiveView::of(&started(&view)).is_some() => Kind::Transfer,
                Opcode::AsyncStart => Kind::Core,
                Opcode::AsyncDone => Kind::Free,
                Opcode::While | Opcode::Case | Opcode::If | Opcode::Call | Opcode::Composite => Kind::Core,
                _ => match CollectiveView::of(&view) {
                    Some(collective) if self.overlaps(&collective) => Kind::Transfer,
                    Some(_) => Kind::Core,
                    None if is_host_op(&view) => Kind::Core,
                    None => Kind::Free,
                },
            },
        }
    }

    /// Returns true if a collective that the program does not start explicitly may run beside the core.
    fn overlaps(&self, collective: &CollectiveView) -> bool {
        let has_async_reductions = self.topology.machine().constants.async_reductions > 0.0;
        match self.overlap {
            Overlap::Off => false,
            Overlap::Auto => is_asynchronous(&collective.kind, has_async_reductions),
            Overlap::Force => true,
        }
    }

    fn item(&mut self, frame: &mut Frame<'m>, plan: &Plan, i: usize, stays: bool, may_overlap: bool) -> Done {
        let inputs = &plan.inputs[i];
        match &plan.items[i] {
            Item::Group(ops) => self.group(frame, ops, inputs, stays),
            Item::Free(op) => self.free(frame, *op, inputs),
            Item::Engine(op) => {
                let view = self.module.view(frame.body, *op);
                match Opcode::of_view(&view) {
                    Opcode::While => self.while_loop(frame, &view, inputs),
                    Opcode::Case | Opcode::If => self.branch(frame, &view, inputs),
                    Opcode::Call | Opcode::Composite => self.call(frame, &view, inputs),
                    Opcode::AsyncStart => self.start(frame, &view, inputs),
                    Opcode::AsyncDone => self.wait_for(frame, *op, inputs),
                    _ => match CollectiveView::of(&view) {
                        // With nothing to run beside it, it is synchronous, and the core need not meet the others.
                        Some(collective) => self.collective(frame, &view, &collective, inputs, may_overlap),
                        None if is_host_op(&view) => self.exchange_with_host(frame, &view, inputs),
                        None => self.free(frame, *op, inputs),
                    },
                }
            }
        }
    }

    fn exchange_with_host(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>, inputs: &[Value]) -> Done {
        let bytes: u64 = view.operands().iter().chain(view.results()).map(|&v| frame.bytes(v)).sum();
        let rate = self.topology.machine().constants.host_bytes_per_s;
        let (start, end) = self.on_core(frame, inputs, picoseconds(bytes as f64 / rate));
        let mut span = self.span(view, self.core, SpanKind::Compute, start, end);
        span.note = Some("the time is that of the bytes: how long the host takes is not known".into());
        let index = self.push(frame, span, inputs);
        for &v in view.results() {
            frame.set(v, frame.own(v, end, Some(index), Place::Memory));
        }
        Done { start, end }
    }

    fn free(&mut self, frame: &mut Frame<'m>, op: Op, inputs: &[Value]) -> Done {
        let (ready, span) = frame.ready(inputs);
        let view = self.module.view(frame.body, op);
        let first = inputs.first().map(|&v| frame.get(v));
        for (i, &v) in view.results().iter().enumerate() {
            let like = view.operands().get(i).map(|&v| frame.get(v)).or(first);
            let own = frame.own(v, ready, span, Place::Fast);
            // Users compute the value from what the operands hold.
            let held = like.map_or(own, |like| Held { ready, span, bytes: like.bytes.min(own.bytes), ..like });
            frame.set(v, held);
        }
        Done { start: ready, end: ready }
    }

    /// Simulates a group of ops. `stays` is true if its results are used soon, so that they can stay in the fast
    /// memory.
    fn group(&mut self, frame: &mut Frame<'m>, ops: &[Op], inputs: &[Value], stays: bool) -> Done {
        let root = self.module.view(frame.body, *ops.last().expect("a group has an op"));
        let machine = self.topology.machine();
        let bytes = root.results().iter().map(|&v| frame.bytes(v)).sum();
        let place = result_place(machine, bytes, stays);
        let work = work(root, ops, frame, place);
        let (start, end) = self.on_core(frame, inputs, picoseconds(work.seconds(machine)));
        let mut span = self.span(&root, self.core, SpanKind::Compute, start, end);
        let views: Vec<OpView<'_>> = ops.iter().map(|&op| root.at(op)).collect();
        span.name = group_name(&views);
        span.ops = views.iter().map(|view| view.name().to_string()).collect();
        let product = views.iter().find(|view| work.product.is_some() && Product::of(view).is_some());
        if let Some(product) = product {
            span.loc = product.loc().clone();
        }
        span.work = Work {
            flops: Some(work.flops() as u64),
            memory_bytes: Some((work.hbm_in + work.hbm_out) as u64),
            received_bytes: None,
            least_time: Some(picoseconds(work.least_seconds(machine))),
        };
        if let Some(call) = views.iter().find(|view| CustomCall::is_unknown(view)) {
            span.note = Some(unknown_cost(call));
            (span.work.flops, span.work.least_time) = (None, None);
        }
        let index = self.push(frame, span, inputs);
        for &v in root.results() {
            frame.set(v, frame.own(v, end, Some(index), place));
        }
        Done { start, end }
    }

    /// Runs something on the core once the core is free and its inputs are there. It takes `time`, and longer beside
    /// transfers ([`Simulator::contention`]). Returns its start and end.
    fn on_core(&mut self, frame: &Frame<'m>, inputs: &[Value], time: Picoseconds) -> (Picoseconds, Picoseconds) {
        let start = self.wait(frame, inputs);
        let end = start.saturating_add(time).saturating_add(self.contention(start, time));
        self.state.core_free = end;
        (start, end)
    }

    /// Waits on the core until the inputs are there. Returns the time from which it is free to use them.
    fn wait(&mut self, frame: &Frame<'m>, inputs: &[Value]) -> Picoseconds {
        let (ready, cause) = frame.ready(inputs);
        let start = self.state.core_free.max(ready);
        if start > self.state.core_free
            && let Some(cause) = cause
        {
            let name = format!("wait for {}", self.spans[cause.index()].name);
            self.push_wait(name, start);
        }
        self.state.core_free = start;
        start
    }

    fn push_wait(&mut self, name: String, end: Picoseconds) {
        let mut span = Span::new(self.core, name, SpanKind::Wait, self.state.core_free..end);
        (span.devices, span.turn) = (self.mesh.size(), self.turn);
        self.spans.push(span);
    }

    /// Returns the time by which the transfers beside it slow down something on the core: a fraction of its time, and
    /// at most the time for which they run beside it.
    fn contention(&mut self, start: Picoseconds, time: Picoseconds) -> Picoseconds {
        self.state.transfers.retain(|&(_, end)| end > start);
        let beside = |&(from, to): &(Picoseconds, Picoseconds)| {
            to.min(start.saturating_add(time)).saturating_sub(from.max(start))
        };
        let beside: Picoseconds = self.state.transfers.iter().map(beside).fold(0, Picoseconds::saturating_add);
        let slower = self.topology.machine().constants.contention * time as f64;
        beside.min(slower.round() as Picoseconds)
    }

    fn collective(
        &mut self,
        frame: &mut Frame<'m>,
        view: &OpView<'m>,
        collective: &CollectiveView,
        inputs: &[Value],
        is_async: bool,
    ) -> Done {
        let pattern = self.pattern(collective);
        let machine = self.topology.machine();
        let transfer = Transfer::of(view, collective, self.mesh.size());
        let time = picoseconds(pattern.seconds(machine, transfer.bytes as f64));
        if is_async {
            self.meet();
        }
        let ready = match is_async {
            true => frame.ready(inputs).0,
            false => self.wait(frame, inputs),
        };
        // An op on the core starts it, before the next one.
        let start = self.links_free(pattern.links).max(ready).max(self.state.core_free);
        let end = start.saturating_add(time);
        let lane = self.lane(pattern.links);
        let mut span = self.span(view, lane, SpanKind::Collective, start, end);
        span.work.received_bytes = Some(transfer.received);
        span.work.least_time = Some(picoseconds(pattern.least_seconds(machine, transfer.bytes as f64)));
        let bound = transfer.is_bound.then(|| "the bytes are known only at run time: an upper bound".to_string());
        span.note = bound.or_else(|| pattern.note());
        let index = self.push(frame, span, inputs);
        self.state.links.retain(|(links, _)| *links != pattern.links);
        self.state.links.push((pattern.links, end));
        match is_async {
            true => self.state.transfers.push((start, end)),
            false => {
                self.push_wait(format!("wait for {}", short(view)), end);
                self.state.core_free = end;
            }
        }
        for &v in view.results() {
            let place = result_place(machine, frame.bytes(v), true);
            frame.set(v, frame.own(v, end, Some(index), place));
        }
        Done { start, end }
    }

    /// Lets the core wait for the other devices before the first asynchronous collective, if there are others.
    fn meet(&mut self) {
        let barrier = picoseconds(self.topology.machine().constants.barrier_s);
        if !self.state.has_met && self.mesh.size() > 1 {
            let end = self.state.core_free.saturating_add(barrier);
            self.push_wait("wait for all devices".into(), end);
            (self.state.core_free, self.state.has_met) = (end, true);
        }
    }

    fn links_free(&self, links: LinkSet) -> Picoseconds {
        let common = self.state.links.iter().filter(|(other, _)| other.overlaps(links));
        common.map(|&(_, time)| time).max().unwrap_or(0)
    }

    fn pattern(&mut self, collective: &CollectiveView) -> Pattern {
        let key = CollectiveView { channel: 0, ..collective.clone() };
        if let Some((_, pattern)) = self.patterns.iter().find(|(known, _)| *known == key) {
            return pattern.clone();
        }
        let pattern = pattern_of(self.topology, &self.mesh, &|device| self.physical(device), &key);
        self.patterns.push((key, pattern.clone()));
        pattern
    }

    fn lane(&mut self, links: LinkSet) -> LaneIndex {
        if let Some(&(_, lane)) = self.lanes.iter().find(|(known, _)| *known == links) {
            return lane;
        }
        let name = links.name(self.topology.machine().is_switched());
        let lane = self.timeline.lanes.push(Lane { name, kind: LaneKind::Link });
        self.lanes.push((links, lane));
        lane
    }

    /// Simulates an asynchronous start. A collective inside of it runs beside the core, and any other op on the core.
    fn start(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>, inputs: &[Value]) -> Done {
        let region = view.regions()[0];
        for (&arg, &operand) in view.body[region].args.iter().zip(view.operands()) {
            frame.set(arg, frame.get(operand));
        }
        let inner = started(view);
        let done = match CollectiveView::of(&inner) {
            Some(collective) => self.collective(frame, &inner, &collective, inputs, true),
            None => self.group(frame, &[inner.op], inputs, false),
        };
        let held = frame.get(inner.result(0));
        frame.set(view.result(0), Held { base: view.result(0), ..held });
        done
    }

    /// Simulates an asynchronous done, for which the core waits if the order is that of the program.
    fn wait_for(&mut self, frame: &mut Frame<'m>, op: Op, inputs: &[Value]) -> Done {
        if self.overlap == Overlap::Off {
            self.wait(frame, inputs);
        }
        self.free(frame, op, inputs)
    }

    fn while_loop(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>, inputs: &[Value]) -> Done {
        let (start, outer_turn) = (self.wait(frame, inputs), self.turn);
        let trips = trip_count(view);
        let control = self.push_control(view, frame, inputs);
        let [cond, body] = [view.regions()[0], view.regions()[1]];
        let mut carried: Vec<Held> = view.operands().iter().map(|&v| frame.get(v)).collect();
        let (count, mut last) = (trips.unwrap_or(1), (self.spans.len(), start..start));
        let is_deep = self.loops >= DEEP;
        let simulated = count.min(if is_deep { 1 } else { SIMULATED_TURNS });
        self.loops += 1;
        for turn in 0..simulated {
            let (first, before) = (self.spans.len(), self.state.core_free);
            self.turn = Some(turn);
            self.block_of_loop(frame, cond, &carried);
            let results = self.block_of_loop(frame, body, &carried);
            carried = results.iter().map(|&v| Held { place: Place::Memory, ..frame.get(v) }).collect();
            last = (first, before..self.state.core_free);
        }
        self.turn = outer_turn;
        let shift = self.stretch(last.0, last.1, count - simulated + 1);
        carried.iter_mut().for_each(|held| held.ready = held.ready.saturating_add(shift));
        // The condition is computed once more than the body. In deep loops with turns this is left out, so that the
        // time of a simulation does not double with each of them.
        if !is_deep || simulated == 0 {
            self.block_of_loop(frame, cond, &carried);
        }
        self.loops -= 1;
        let end = self.state.core_free;
        self.close_control(control, end, turns::note(trips, simulated));
        for (&v, held) in view.results().iter().zip(carried) {
            frame.set(v, Held { bytes: frame.bytes(v), base: v, place: Place::Memory, ..held });
        }
        Done { start, end }
    }

    /// Simulates a block of a loop, whose arguments are the carried values. Returns the values that it returns.
    fn block_of_loop(&mut self, frame: &mut Frame<'m>, region: Region, carried: &[Held]) -> Vec<Value> {
        let body = frame.body;
        for (&v, held) in body[region].args.iter().zip(carried) {
            frame.set(v, Held { bytes: frame.bytes(v), base: v, ..*held });
        }
        self.block(frame, region, false)
    }

    /// Makes the last turn of a loop, whose spans are those from `first` on, stand for `count` turns. The core and the
    /// links are then free later. Returns by how much. The times of allocations stay those of one turn.
    fn stretch(&mut self, first: usize, turn: Range<Picoseconds>, count: u64) -> Picoseconds {
        let shift = turns::stretch(&mut self.spans[first..], turn, count);
        let later = |time: &mut Picoseconds| *time = time.saturating_add(shift);
        later(&mut self.state.core_free);
        self.state.links.iter_mut().for_each(|(_, free)| later(free));
        self.state.transfers.iter_mut().for_each(|(from, to)| {
            later(from);
            later(to);
        });
        shift
    }

    /// Simulates a conditional. If the program does not decide which branch runs, the one that takes longest does.
    fn branch(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>, inputs: &[Value]) -> Done {
        let start = self.wait(frame, inputs);
        let control = self.push_control(view, frame, inputs);
        let known = taken_branch(view);
        let regions: Vec<Region> = known.map_or_else(|| view.regions().to_vec(), |region| vec![region]);
        let (state, span_count, memory_count) = (self.state.clone(), self.spans.len(), self.memory.len());
        let mut dearest: Option<Taken> = None;
        for region in regions {
            self.state = state.clone();
            let results = self.block(frame, region, false);
            let state = self.state.clone();
            let held = results.iter().map(|&v| frame.get(v)).collect();
            let (spans, memory) = (self.spans.split_off(span_count), self.memory.split_off(memory_count));
            if dearest.as_ref().is_none_or(|known| state.core_free > known.state.core_free) {
                dearest = Some(Taken { state, spans, memory, held });
            }
        }
        let Some(taken) = dearest else { return Done { start, end: start } };
        let (end, held) = (taken.state.core_free, taken.held);
        self.state = taken.state;
        self.spans.extend(taken.spans);
        self.memory.extend(taken.memory);
        let note = known.is_none().then(|| "of all branches, the one that takes longest".to_string());
        self.close_control(control, end, note);
        for (&v, held) in view.results().iter().zip(held) {
            frame.set(v, Held { base: v, ..held });
        }
        Done { start, end }
    }

    fn call(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>, inputs: &[Value]) -> Done {
        let Some(callee) = calls::callee(view) else { return self.free(frame, view.op, inputs) };
        let start = self.wait(frame, inputs);
        let control = self.push_control(view, frame, inputs);
        let body = &self.module[callee].body;
        let mut inner = Frame::new(body);
        for (&arg, &operand) in body.args().iter().zip(view.operands()) {
            inner.set(arg, Held { base: arg, ..frame.get(operand) });
        }
        let results = self.block(&mut inner, body.entry(), false);
        let end = self.state.core_free;
        self.close_control(control, end, None);
        for (&v, &result) in view.results().iter().zip(&results) {
            frame.set(v, Held { base: v, ..inner.get(result) });
        }
        Done { start, end }
    }

    fn push_control(&mut self, view: &OpView<'m>, frame: &Frame<'m>, inputs: &[Value]) -> usize {
        let now = self.state.core_free;
        let span = self.span(view, self.core, SpanKind::Control, now, now);
        self.push(frame, span, inputs).index()
    }

    fn close_control(&mut self, span: usize, end: Picoseconds, note: Option<String>) {
        self.spans[span].end = end;
        self.spans[span].note = note;
    }

    fn span(&self, view: &OpView<'_>, lane: LaneIndex, kind: SpanKind, start: Picoseconds, end: Picoseconds) -> Span {
        let (turn, devices) = (self.turn, self.mesh.size());
        Span { turn, devices, ..described(view, lane, kind, start..end) }
    }

    fn push(&mut self, frame: &Frame<'m>, mut span: Span, inputs: &[Value]) -> SpanIndex {
        span.after = inputs.iter().filter_map(|&v| frame.get(v).span).collect();
        span.after.sort_unstable();
        span.after.dedup();
        self.spans.push(span);
        SpanIndex::new(self.spans.len() - 1)
    }
}

pub(crate) fn described(view: &OpView<'_>, lane: LaneIndex, kind: SpanKind, time: Range<Picoseconds>) -> Span {
    let mut span = Span::new(lane, short(view), kind, time);
    span.ops = vec![view.name().to_string()];
    span.loc = view.origin().clone();
    let types = view.results().iter().filter_map(|&v| view.body.ty(v).as_tensor());
    let types: Vec<String> = types.map(|tensor| tensor.short()).collect();
    span.shape = (!types.is_empty()).then(|| types.join(", "));
    span.sharding = view.results().first().and_then(|&v| view.body.sharding(v)).map(|s| s.to_string());
    span.reason = view.data().reason.as_ref().map(|reason| reason.text.to_string());
    span
}

/// Returns the op that an asynchronous start starts.
fn started<'m>(view: &OpView<'m>) -> OpView<'m> {
    view.at(view.body[view.regions()[0]].ops[0])
}

fn is_host_op(view: &OpView<'_>) -> bool {
    matches!(Opcode::of_view(view), Opcode::Send | Opcode::Recv | Opcode::Infeed | Opcode::Outfeed)
}

pub(crate) fn short(view: &OpView<'_>) -> String {
    let name = view.name();
    name.split_once('.').map_or(name, |(_, name)| name).to_string()
}

/// Returns a name for ops that run as one: that of the only op, or `fused(dynamic_slice, dot_general, add)` with the
/// names of at most [`LISTED_OPS`] ops and the number of the others.
pub(crate) fn group_name(views: &[OpView<'_>]) -> String {
    if let [only] = views {
        return short(only);
    }
    let mut names: Vec<String> = views.iter().take(LISTED_OPS).map(short).collect();
    if views.len() > LISTED_OPS {
        names.push(format!("{} more", views.len() - LISTED_OPS));
    }
    format!("fused({})", names.join(", "))
}

fn unknown_cost(view: &OpView<'_>) -> String {
    let target = view.attrs().str("call_target_name").unwrap_or("?").to_string();
    format!("the cost of `{target}` is not known: the time is that of reading its operands and writing its results")
}
