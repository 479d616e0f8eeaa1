//! Writes the order in which the simulator issues ops into the program: collectives that run beside other ops are
//! started and awaited.

use crate::site::{is_start, map_main};
use shardwise_base::Diagnostics;
use shardwise_ir::{Attrs, Builder, Cloner, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::collective::{CollectiveKind, CollectiveView};
use shardwise_ops::{Effects, Opcode};
use shardwise_sim::{Issue, Issued, Takes};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the program with the ops that take time in the order in which `issue` has them. A collective that runs
/// beside other ops is written as an `async_start`, and an `async_done` in front of the first op that has to wait for
/// it, if an `async_start` can start it and an op that takes time is in between. Always returns `Ok`.
pub(crate) fn write(module: &Module, issue: &Issue) -> Result<Module, Diagnostics> {
    map_main(module, |func| {
        let mut out = func.without_body();
        let mut cloner = Cloner::new(&func.body);
        let mut b = Builder::new(&mut out.body);
        cloner.args(func.body.entry(), &mut b);
        Writer { module, issue }.block(func.body.entry(), &mut cloner, &mut b);
        Ok(out)
    })
}

/// An op of a block as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Run(Op),
    Start(Op),
    Wait(Op),
}

struct Writer<'m> {
    module: &'m Module,
    issue: &'m Issue,
}

impl<'m> Writer<'m> {
    fn view<'a>(&'a self, cloner: &Cloner<'a>, op: Op) -> OpView<'a> {
        self.module.view(cloner.source, op)
    }

    fn block<'s>(&self, region: Region, cloner: &mut Cloner<'s>, b: &mut Builder<'_>)
    where
        'm: 's,
    {
        let ops = &cloner.source[region].ops;
        let Some((&terminator, inner)) = ops.split_last() else { return };
        let steps = match self.issue.blocks.get(&region) {
            Some(issued) => self.steps(cloner, issued, terminator),
            None => inner.iter().map(|&op| Step::Run(op)).collect(),
        };
        let mut futures = BTreeMap::new();
        for step in steps {
            match step {
                Step::Run(op) => self.copy(op, cloner, b),
                Step::Start(op) => {
                    futures.insert(op, self.start(op, cloner, b));
                }
                Step::Wait(op) => self.wait(op, futures[&op], cloner, b),
            }
        }
        self.copy(terminator, cloner, b);
    }

    fn copy<'s>(&self, op: Op, cloner: &mut Cloner<'s>, b: &mut Builder<'_>)
    where
        'm: 's,
    {
        b.loc = cloner.source[op].loc.clone();
        let regions = cloner.source[op].regions.iter().map(|&region| self.region(region, cloner, b)).collect();
        cloner.op_with_regions(op, regions, b);
    }

    fn region<'s>(&self, from: Region, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> Region
    where
        'm: 's,
    {
        let region = b.body.add_region();
        let mut inner = Builder::at(b.body, region, b.loc.clone());
        cloner.args(from, &mut inner);
        self.block(from, cloner, &mut inner);
        region
    }

    fn start(&self, op: Op, cloner: &mut Cloner<'_>, b: &mut Builder<'_>) -> Value {
        let data = &cloner.source[op];
        b.loc = data.loc.clone();
        let operands = cloner.values(&data.operands);
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let result = cloner.source.ty(data.results[0]).clone();
        let regions: Vec<Region> = data.regions.iter().map(|&region| cloner.region(region, b)).collect();
        let region = b.region(&types, |inner, args| {
            let made =
                inner.op_with_regions(data.code, args.iter().copied(), data.attrs.clone(), regions, [result.clone()]);
            inner.body.op_mut(made).reason = data.reason.clone();
            let value = inner.body[made].results[0];
            inner.op(Opcode::RegionReturn, [value], Attrs::new(), []);
        });
        let future = Type::Future(vec![result]);
        let start = b.op_with_regions(Opcode::AsyncStart, operands, Attrs::new(), [region], [future]);
        b.body[start].results[0]
    }

    fn wait(&self, op: Op, future: Value, cloner: &mut Cloner<'_>, b: &mut Builder<'_>) {
        let result = cloner.source[op].results[0];
        b.loc = cloner.source[op].loc.clone();
        let value = b.value(Opcode::AsyncDone, [future], Attrs::new(), cloner.source.ty(result).clone());
        cloner.carry(result, value, b);
    }

    fn steps(&self, cloner: &Cloner<'_>, issued: &[Issued], terminator: Op) -> Vec<Step> {
        let mut order = Order { steps: vec![], pending: BTreeMap::new(), timed: BTreeSet::new() };
        for item in issued {
            let view = self.view(cloner, *item.ops.last().expect("an item has an op"));
            let is_late = item.takes == Takes::Nothing && is_movable(&view);
            match item.takes {
                Takes::Links if can_start(&view) => order.start(&view),
                _ if is_late || Opcode::of_view(&view) == Opcode::AsyncDone => order.postpone(&view),
                _ => {
                    let views: Vec<OpView<'_>> = item.ops.iter().map(|&op| self.view(cloner, op)).collect();
                    views.iter().for_each(|view| order.need(view));
                    order.run(&views, item.takes != Takes::Nothing);
                }
            }
        }
        order.end(&self.view(cloner, terminator))
    }
}

/// The steps of a block while they are ordered.
struct Order {
    steps: Vec<Step>,
    /// For each value that is not written yet, the step that has to be written before the value can be used.
    pending: BTreeMap<Value, Pending>,
    /// The positions in `steps` of those that take time.
    timed: BTreeSet<usize>,
}

/// A step that is written in front of the first one that needs it: the wait for a collective, or an op that takes no
/// time.
#[derive(Clone, Debug)]
struct Pending {
    step: Step,
    uses: Vec<Value>,
    results: Vec<Value>,
}

impl Order {
    fn need(&mut self, view: &OpView<'_>) {
        used(view).into_iter().for_each(|v| self.write(v));
    }

    /// Adds the step that has to come before a value is used, if it is still pending, to `steps`, after the pending
    /// ones that this step waits for.
    fn write(&mut self, v: Value) {
        enum Open {
            Value(Value),
            Step(Step),
        }
        let mut open = vec![Open::Value(v)];
        while let Some(next) = open.pop() {
            match next {
                Open::Step(step) => self.steps.push(step),
                Open::Value(v) => {
                    let Some(pending) = self.pending.get(&v).cloned() else { continue };
                    pending.results.iter().for_each(|v| _ = self.pending.remove(v));
                    open.push(Open::Step(pending.step));
                    open.extend(pending.uses.into_iter().rev().map(Open::Value));
                }
            }
        }
    }

    fn run(&mut self, views: &[OpView<'_>], takes_time: bool) {
        for view in views {
            if takes_time {
                self.timed.insert(self.steps.len());
            }
            self.steps.push(Step::Run(view.op));
        }
    }

    fn start(&mut self, view: &OpView<'_>) {
        self.need(view);
        self.timed.insert(self.steps.len());
        self.steps.push(Step::Start(view.op));
        self.add(view, Step::Wait(view.op), vec![]);
    }

    fn postpone(&mut self, view: &OpView<'_>) {
        self.add(view, Step::Run(view.op), used(view));
    }

    fn add(&mut self, view: &OpView<'_>, step: Step, uses: Vec<Value>) {
        let pending = Pending { step, uses, results: view.results().to_vec() };
        view.results().iter().for_each(|&v| _ = self.pending.insert(v, pending.clone()));
    }

    /// Returns all steps. Those that only the terminator needs, or that nothing needs, are the last ones.
    fn end(mut self, terminator: &OpView<'_>) -> Vec<Step> {
        self.need(terminator);
        while let Some((&v, _)) = self.pending.first_key_value() {
            self.write(v);
        }
        self.without_idle_starts()
    }

    /// Returns the steps, in which a collective with nothing that takes time between its start and its end runs as it
    /// is.
    fn without_idle_starts(self) -> Vec<Step> {
        let mut started: BTreeMap<Op, usize> = BTreeMap::new();
        let mut idle = BTreeSet::new();
        for (i, &step) in self.steps.iter().enumerate() {
            match step {
                Step::Start(op) => _ = started.insert(op, i),
                Step::Wait(op) if self.timed.range(started[&op] + 1..i).next().is_none() => _ = idle.insert(op),
                _ => {}
            }
        }
        let plain = |step: Step| match step {
            Step::Start(op) if idle.contains(&op) => Some(Step::Run(op)),
            Step::Wait(op) if idle.contains(&op) => None,
            step => Some(step),
        };
        self.steps.into_iter().filter_map(plain).collect()
    }
}

fn used(view: &OpView<'_>) -> Vec<Value> {
    let mut all = view.operands().to_vec();
    if !view.regions().is_empty() {
        all.extend(view.captured());
    }
    all
}

fn is_movable(view: &OpView<'_>) -> bool {
    !is_start(view) && Opcode::of_view(view).facts().effects(view) != Effects::Ordered
}

fn can_start(view: &OpView<'_>) -> bool {
    use CollectiveKind::*;
    let is_single = view.operands().len() == 1 && view.results().len() == 1;
    let kind = CollectiveView::of(view).map(|collective| collective.kind);
    is_single && kind.is_some_and(|kind| !matches!(kind, CollectiveReduce { .. } | RaggedAllToAll))
}
