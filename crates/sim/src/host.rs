//! Programs on a host, which runs all devices on its cores.
//!
//! The host engine runs one instruction after the other. An instruction computes each distinct result once, for all
//! devices that have it, and shares the work among the workers if it is large. Collectives are copies in memory. How
//! long each of these takes was measured (`rates`).

mod cost;
mod groups;

use crate::frame::bytes;
use crate::memory::Allocation;
use crate::simulate::{described, group_name, picoseconds, short};
use crate::uncertainty::{self, Class};
use crate::{Topology, order, turns};
use cost::{Cost, Costs};
use groups::{Item, Kind, items, joined, kind};
use shardwise_base::{AxisRef, Mesh, Varying};
use shardwise_ir::{Body, Module, Op, OpView, Region, Uses, Value};
use shardwise_ops::collective::{CollectiveView, Transfer};
use shardwise_ops::control::{taken_branch, trip_count};
use shardwise_ops::{Opcode, Semantics, calls};
use shardwise_view::{Lane, LaneIndex, LaneKind, Maker, MemoryPart, Picoseconds, Span, SpanIndex, SpanKind, Timeline};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// The number of spans of a loop up to which its turns are simulated one by one. The turns after that are like the last
/// one.
const LISTED_SPANS: usize = 50_000;

pub(crate) fn simulate(module: &Module, body: &Body, topology: &Topology, mesh: &Arc<Mesh>) -> Timeline {
    let machine = topology.machine();
    let maker = Maker::Predicted { machine: format!("{} ({topology})", machine.title) };
    let mut timeline = Timeline::new(&*module.name, maker);
    timeline.device_count = mesh.size();
    let lane = timeline.lanes.push(Lane { name: "instructions".into(), kind: LaneKind::Program });
    let costs = Costs::new(machine.rates.as_ref().expect("the machine is a host"));
    let mut host = Host { module, mesh, costs, lane, spans: vec![], now: 0, turn: None, allocations: vec![] };
    for (i, &v) in body.args().iter().enumerate() {
        host.allocate(body, v, format!("argument {i}"), 0);
    }
    let mut frame = Frame::new(body);
    host.block(&mut frame, body.entry(), true);
    let mut timeline = order::finish(timeline, host.spans, &host.allocations);
    timeline.set_limits(machine.limits());
    timeline.uncertainty = uncertainty::of_run(&timeline);
    timeline
}

/// A constant of a host that the time of a program determines.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The name of the constant in a file of machines: `product.f32.64x64x64`.
    pub name: String,
    /// The work of the program, in the unit of which the constant is a rate: flops or bytes.
    pub amount: f64,
}

/// Returns the constant that a localized module of one instruction determines: that of the last instruction of its main
/// function. Returns `None` if there is none, if the engine itself runs the instruction and it is no collective, as a
/// loop, a branch, a call or an asynchronous start, and if its first operand, or its first result if it has no
/// operands, is no array.
pub fn subject(module: &Module) -> Option<Subject> {
    let body = &module.main()?.body;
    let one = || Arc::new(Mesh::of_axes("mesh", vec![]));
    let mesh = module.main_mesh().cloned().unwrap_or_else(one);
    let (&last, ops) = body.region(body.entry()).ops.split_last()?;
    let block = module.view(body, last);
    let count = |v: Value| instances(&mesh, body, v);
    let items = items(block, ops, &Uses::compute(body), &count);
    let item = items.iter().rev().find(|item| !matches!(item, Item::Free(_)))?;
    let views: Vec<OpView<'_>> = item.ops().iter().map(|&op| block.at(op)).collect();
    cost::subject(&views, &count)
}

struct Host<'m> {
    module: &'m Module,
    mesh: &'m Arc<Mesh>,
    costs: Costs<'m>,
    lane: LaneIndex,
    spans: Vec<Span>,
    now: Picoseconds,
    /// The turn of the innermost loop, counted from 0, or `None` outside of loops.
    turn: Option<u64>,
    allocations: Vec<Allocation>,
}

/// The values of a function in one call.
struct Frame<'m> {
    body: &'m Body,
    uses: Uses,
    /// The span that made each value last.
    makers: HashMap<Value, usize>,
    /// The allocation of each value that is in memory, except for the arguments of the program, which stay.
    held: HashMap<Value, usize>,
    plans: BTreeMap<Region, Rc<Plan>>,
}

/// The items of a block, and the values whose memory each of them uses last, as [`last_uses`] returns them.
struct Plan {
    items: Vec<Item>,
    last_uses: Vec<Vec<Value>>,
}

impl<'m> Frame<'m> {
    fn new(body: &'m Body) -> Frame<'m> {
        let (makers, held, plans) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Frame { body, uses: Uses::compute(body), makers, held, plans }
    }
}

fn instances(mesh: &Arc<Mesh>, body: &Body, v: Value) -> usize {
    let varying = body.value(v).varying.clone().unwrap_or(Varying::Everywhere);
    AxisRef::total_size(mesh, &varying.axes(mesh))
}

impl<'m> Host<'m> {
    fn allocate(&mut self, body: &Body, v: Value, name: String, start: Picoseconds) -> usize {
        let bytes = bytes(body.ty(v)).saturating_mul(instances(self.mesh, body, v) as u64);
        let part = MemoryPart { name, loc: body.value(v).loc.clone(), bytes };
        self.allocations.push(Allocation { start, end: None, part });
        self.allocations.len() - 1
    }

    /// Simulates the ops of a block, one group after the other. The values that the main block returns stay in memory.
    fn block(&mut self, frame: &mut Frame<'m>, region: Region, is_main: bool) {
        let body = frame.body;
        let Some((&last, ops)) = body.region(region).ops.split_last() else { return };
        let block = self.module.view(body, last);
        let plan = self.plan(frame, region, &block, ops);
        for (i, item) in plan.items.iter().enumerate() {
            let start = self.now;
            self.item(frame, &block, item);
            // A free op leaves its results in the memory of its operands.
            let makers: Vec<OpView<'_>> = match item {
                Item::Free(_) => vec![],
                Item::Small(_) => busy(&views(&block, item)),
                Item::Group(_) | Item::Engine(_) => vec![block.at(item.root())],
            };
            for view in &makers {
                for &v in view.results() {
                    let held = self.allocate(body, v, short(view), start);
                    frame.held.insert(v, held);
                }
            }
            self.release(frame, &plan.last_uses[i], start);
        }
        if !is_main {
            self.release(frame, &plan.last_uses[plan.items.len()], self.now);
        }
    }

    fn plan(&self, frame: &mut Frame<'m>, region: Region, block: &OpView<'m>, ops: &[Op]) -> Rc<Plan> {
        if let Some(known) = frame.plans.get(&region) {
            return known.clone();
        }
        let count = |v: Value| instances(self.mesh, frame.body, v);
        let mut items = items(*block, ops, &frame.uses, &count);
        if self.costs.has_small_programs() {
            items = joined(*block, items, &frame.uses, &count);
        }
        let plan = Rc::new(Plan { last_uses: last_uses(block, region, &items), items });
        frame.plans.insert(region, plan.clone());
        plan
    }

    /// Ends the allocations of the values that an item, which started at `start`, uses last. A value in whose memory
    /// the item writes its result ends where the result begins.
    fn release(&mut self, frame: &mut Frame<'m>, values: &[Value], start: Picoseconds) {
        let new: u64 = self.allocations.last().filter(|a| a.start == start).map_or(0, |a| a.part.bytes);
        let mut is_reused = false;
        for held in values.iter().filter_map(|v| frame.held.remove(v)) {
            let own = &mut self.allocations[held];
            let takes_over = !is_reused && own.part.bytes == new && own.start < start;
            is_reused |= takes_over;
            own.end = Some(if takes_over { start } else { self.now });
        }
    }

    fn item(&mut self, frame: &mut Frame<'m>, block: &OpView<'m>, item: &Item) {
        let root = block.at(item.root());
        match item {
            Item::Free(_) => self.pass_on(frame, &root),
            Item::Group(_) => self.group(frame, &views(block, item)),
            Item::Small(_) => self.small(frame, &views(block, item)),
            Item::Engine(_) => match Opcode::of_view(&root) {
                Opcode::While => self.while_loop(frame, &root),
                Opcode::Case | Opcode::If => self.branch(frame, &root),
                Opcode::Call | Opcode::Composite => self.call(frame, &root),
                Opcode::AsyncStart => self.started(frame, &root),
                _ => self.group(frame, &[root]),
            },
        }
    }

    /// Records the span that made an operand of an op that does nothing as the one that makes its results. Of several
    /// operands, takes the first one that a span made.
    fn pass_on(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) {
        let maker = view.operands().iter().find_map(|v| frame.makers.get(v).copied());
        if let Some(maker) = maker {
            view.results().iter().for_each(|&v| {
                frame.makers.insert(v, maker);
            });
        }
    }

    fn group(&mut self, frame: &mut Frame<'m>, views: &[OpView<'m>]) {
        let mesh = self.mesh;
        let cost = self.costs.of(views, &|v| instances(mesh, frame.body, v));
        let root = views.last().expect("a group has an op");
        let collective = CollectiveView::of(root);
        let kind = if collective.is_some() { SpanKind::Collective } else { SpanKind::Compute };
        let mut span = self.span(root, kind, cost.seconds);
        span.name = group_name(views);
        span.ops = views.iter().map(|view| view.name().to_string()).collect();
        self.describe(&mut span, &cost);
        if let Some(collective) = collective {
            let transfer = Transfer::of(root, &collective, self.mesh.size());
            (span.work.received_bytes, span.work.flops) = (Some(transfer.received), None);
        }
        let read: Vec<Value> = views.iter().flat_map(|view| view.operands()).copied().collect();
        self.push(frame, span, &read, root.results().iter().copied());
    }

    /// Simulates a small program. Its span has the source location of its last loop or branch, or else of its last op
    /// that does something.
    fn small(&mut self, frame: &mut Frame<'m>, views: &[OpView<'m>]) {
        let busy = busy(views);
        let root = busy.last().expect("a program has an op that does something");
        let semantics = |view: &OpView<'m>| Opcode::of_view(view).facts().semantics(view);
        let main = busy.iter().rev().find(|view| semantics(view) == Semantics::Control).unwrap_or(root);
        let count = root.results().first().map_or(1, |&v| instances(self.mesh, frame.body, v));
        let work = self.costs.small(&busy);
        let seconds = self.costs.computing() + self.costs.small_instance(work) * count as f64;
        let mut span = self.span(main, SpanKind::Compute, seconds);
        let mut names: Vec<String> = busy.iter().map(short).collect();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        span.name = format!("small({})", names.join(", "));
        span.ops = busy.iter().map(|view| view.name().to_string()).collect();
        span.instances = count;
        span.work.flops = Some(work.flops.round() as u64);
        span.uncertainty = self.costs.error(Class::Element);
        span.note =
            (!work.is_known).then(|| "loops of unknown numbers of turns and unknown branches are guesses".into());
        let made: HashSet<Value> = views.iter().flat_map(|view| view.results()).copied().collect();
        let read = views.iter().flat_map(|view| view.operands().iter().copied().chain(view.captured()));
        let read: Vec<Value> = read.filter(|v| !made.contains(v)).collect();
        self.push(frame, span, &read, made);
    }

    fn describe(&self, span: &mut Span, cost: &Cost) {
        span.instances = cost.instances;
        span.work.flops = Some(cost.flops);
        span.work.memory_bytes = Some(cost.bytes);
        span.uncertainty = self.costs.error(cost.class);
        if cost.class == Class::Unknown {
            span.note = Some("the rate of this op was not measured: that of other data movement is assumed".into());
        }
    }

    fn span(&self, view: &OpView<'m>, kind: SpanKind, seconds: f64) -> Span {
        let end = self.now.saturating_add(picoseconds(seconds));
        let dtype = view.results().iter().find_map(|&v| Some(view.body.ty(v).as_tensor()?.dtype));
        let (turn, devices) = (self.turn, self.mesh.size());
        Span { turn, devices, dtype, ..described(view, self.lane, kind, self.now..end) }
    }

    /// Adds a span that reads and makes these values.
    fn push(&mut self, frame: &mut Frame<'m>, mut span: Span, read: &[Value], made: impl IntoIterator<Item = Value>) {
        let makers = read.iter().filter_map(|v| frame.makers.get(v));
        span.after = makers.filter(|&&i| self.spans[i].end <= span.start).map(|&i| SpanIndex::new(i)).collect();
        span.after.sort_unstable();
        span.after.dedup();
        self.now = self.now.max(span.end);
        frame.makers.extend(made.into_iter().map(|v| (v, self.spans.len())));
        self.spans.push(span);
    }

    fn started(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) {
        let inner = view.at(view.body.region(view.regions()[0]).ops[0]);
        self.group(frame, &[inner]);
        let maker = self.spans.len() - 1;
        view.results().iter().for_each(|&v| {
            frame.makers.insert(v, maker);
        });
    }

    fn open(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) -> usize {
        let span = self.span(view, SpanKind::Control, 0.0);
        self.push(frame, span, view.operands(), view.results().iter().copied());
        self.spans.len() - 1
    }

    fn close(&mut self, span: usize, note: Option<String>) {
        self.spans[span].end = self.now;
        self.spans[span].note = note;
    }

    fn while_loop(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) {
        let control = self.open(frame, view);
        let (outer, trips) = (self.turn, trip_count(view));
        let [cond, body] = [view.regions()[0], view.regions()[1]];
        let (count, first) = (trips.unwrap_or(1), self.spans.len());
        let (mut listed, mut last) = (0, (first, self.now..self.now));
        while listed < count && (listed == 0 || self.spans.len() - first < LISTED_SPANS) {
            let (before, start) = (self.spans.len(), self.now);
            self.turn = Some(listed);
            self.now = start.saturating_add(picoseconds(self.costs.turn()));
            self.block(frame, cond, false);
            self.block(frame, body, false);
            last = (before, start..self.now);
            listed += 1;
        }
        self.turn = outer;
        let shift = turns::stretch(&mut self.spans[last.0..], last.1, count - listed + 1);
        self.now = self.now.saturating_add(shift);
        // The condition is computed once more than the body.
        self.block(frame, cond, false);
        self.close(control, turns::note(trips, listed));
    }

    /// Simulates a conditional. If the program does not decide which branch runs, the one that takes longest does.
    fn branch(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) {
        let control = self.open(frame, view);
        let known = taken_branch(view);
        let regions: Vec<Region> = known.map_or_else(|| view.regions().to_vec(), |region| vec![region]);
        let (now, spans, allocations) = (self.now, self.spans.len(), self.allocations.len());
        let mut longest: Option<(Picoseconds, Vec<Span>, Vec<Allocation>)> = None;
        for region in regions {
            self.now = now;
            self.block(frame, region, false);
            let taken = (self.now, self.spans.split_off(spans), self.allocations.split_off(allocations));
            frame.makers.retain(|_, maker| *maker < spans);
            frame.held.retain(|_, held| *held < allocations);
            if longest.as_ref().is_none_or(|known| taken.0 > known.0) {
                longest = Some(taken);
            }
        }
        if let Some((end, spans, allocations)) = longest {
            self.now = end;
            self.spans.extend(spans);
            self.allocations.extend(allocations);
        }
        self.close(control, known.is_none().then(|| "of all branches, the one that takes longest".to_string()));
    }

    fn call(&mut self, frame: &mut Frame<'m>, view: &OpView<'m>) {
        let Some(callee) = calls::callee(view) else { return self.pass_on(frame, view) };
        let control = self.open(frame, view);
        let body = &self.module[callee].body;
        let mut inner = Frame::new(body);
        self.block(&mut inner, body.entry(), false);
        self.close(control, None);
    }
}

fn views<'m>(block: &OpView<'m>, item: &Item) -> Vec<OpView<'m>> {
    item.ops().iter().map(|&op| block.at(op)).collect()
}

/// Returns the ops of a small program that do something.
fn busy<'m>(views: &[OpView<'m>]) -> Vec<OpView<'m>> {
    views.iter().filter(|view| kind(view) != Kind::Free).copied().collect()
}

/// Returns, for each item, the values of the block whose memory it uses last, in ascending order. One more list has the
/// values that the block returns. The results of an op that does nothing are in the memory of its operands.
fn last_uses(block: &OpView<'_>, region: Region, items: &[Item]) -> Vec<Vec<Value>> {
    // Values from outside of the block have no base: blocks around it use them, too.
    let mut bases: HashMap<Value, Value> = block.body.region(region).args.iter().map(|&v| (v, v)).collect();
    let mut last: HashMap<Value, usize> = HashMap::new();
    for (i, item) in items.iter().enumerate() {
        for view in item.ops().iter().map(|&op| block.at(op)) {
            let used = view.operands().iter().copied().chain(view.captured());
            last.extend(used.filter_map(|v| Some((*bases.get(&v)?, i))));
            for (j, &v) in view.results().iter().enumerate() {
                let read = view.operands().get(j).or(view.operands().first());
                let is_alias = matches!(item, Item::Free(_)) || kind(&view) == Kind::Free;
                let base = match read.filter(|_| is_alias) {
                    Some(read) => bases.get(read).copied(),
                    None => Some(v),
                };
                bases.extend(base.map(|base| (v, base)));
                last.extend(base.map(|base| (base, i)));
            }
        }
    }
    last.extend(block.operands().iter().filter_map(|v| Some((*bases.get(v)?, items.len()))));
    let mut by_item = vec![vec![]; items.len() + 1];
    last.into_iter().for_each(|(v, i)| by_item[i].push(v));
    by_item.iter_mut().for_each(|values| values.sort_unstable());
    by_item
}
