//! Moves collectives that compute the same in every turn of a loop in front of the loop.
//!
//! ```text
//! while (i = 0, x = a) {                          w' = sdy.all_gather w
//!   w' = sdy.all_gather w               ->        while (i = 0, x = a) {
//!   x' = dot x, w'                                  x' = dot x, w'
//! }                                               }
//! ```
//!
//! A value is *invariant* in a loop if it comes from outside of the loop, if the loop carries it and returns it
//! unchanged, or if it is a pure function of invariant values. A collective of an invariant value is moved, together
//! with the ops that its operand is computed by. From a nested loop it moves as far out as its operands are invariant.
//! Only collectives that the partitioner inserted are moved, and none over Explicit axes, whose communication is where
//! the program states it.
//!
//! The result of a moved collective is held during the whole loop. A collective stays where it is if all that is held
//! would take more memory than before by more than [`GROWTH`] of it, and by more than [`ROOM`]. It is then marked
//! ([`shardy::stays_in_loop`]), and the mark states that this was decided.
//!
//! [`shardy::stays_in_loop`]: shardwise_ops::shardy::stays_in_loop

use crate::carried::{carried_unchanged, same_value};
use crate::live::{Lives, bytes};
use crate::rewrite::{facts, has_program_regions, is_terminator};
use rustc_hash::{FxHashMap, FxHashSet};
use shardwise_base::{AxisKind, AxisRef, Diagnostics, Reason, budget};
use shardwise_ir::{Body, Module, Op, OpView, Region, Value, ValueDef};
use shardwise_ops::control::trip_count;
use shardwise_ops::shardy::{ShardyCollective, set_stays_in_loop, stays_in_loop};
use shardwise_ops::{Effects, Opcode, Semantics};
use std::sync::Arc;

/// The part of the estimated memory by which moved values may enlarge it, if they enlarge it by more than [`ROOM`].
const GROWTH: f64 = 0.05;

/// The number of bytes by which moved values may enlarge the memory of a program in any case. Other layouts may do so
/// too, and prices count larger values as moved in each turn of a loop.
pub(crate) const ROOM: u64 = 16 << 20;

/// Moves Shardy's collectives of the main function that move data, over no Explicit axes, out of loops in which they
/// are invariant, with the ops that compute their operands, as far as memory allows. Marks those that stay for lack of
/// memory. One that is marked already only leaves together with others. Nothing leaves a loop that is known to run at
/// most once. Always returns `Ok`.
pub fn hoist(mut module: Module) -> Result<Module, Diagnostics> {
    let Some(main) = module.main().and_then(|f| module.func_id(&f.name)) else { return Ok(module) };
    if !has_loop(&module, &module[main].body) {
        return Ok(module);
    }
    let mut body = std::mem::take(&mut module.funcs[main.index()].body);
    let lives = Lives::compute(&body);
    let args: u64 = body.args().iter().map(|&v| bytes(&body, v)).sum();
    let before = lives.peak(&body, body.entry()).saturating_add(args);
    let limit = before.saturating_add(ROOM.max((before as f64 * GROWTH) as u64));
    let entry = body.entry();
    Hoist { module: &module, body: &mut body, lives, limit }.region(entry, args);
    module.funcs[main.index()].body = body;
    Ok(module)
}

fn has_loop(module: &Module, body: &Body) -> bool {
    body.walk().into_iter().any(|op| is_loop(&module.view(body, op)))
}

fn is_loop(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::While
}

/// Returns the first collective that [`hoist`] would move out of a loop or mark, or `None` if there is none.
pub(crate) fn first_invariant(module: &Module, body: &Body) -> Option<Op> {
    let left = |op: Op| {
        let view = module.view(body, op);
        let regions = if runs_often(&view) { view.regions() } else { &[] };
        let mut collectives = regions.iter().flat_map(|&r| Turn::new(&view, r).collectives());
        collectives.find(|&op| !stays_in_loop(&body[op].attrs))
    };
    body.walk().into_iter().find_map(left)
}

fn runs_often(view: &OpView<'_>) -> bool {
    is_loop(view) && trip_count(view).is_none_or(|n| n > 1)
}

struct Hoist<'a> {
    module: &'a Module,
    body: &'a mut Body,
    /// The lives of the body's values as it is now.
    lives: Lives,
    /// The largest number of bytes that a device may hold.
    limit: u64,
}

impl Hoist<'_> {
    /// Processes the loops of a region, the innermost first. `outside` is the number of bytes that a device holds while
    /// the region runs, without the values of the region.
    fn region(&mut self, region: Region, outside: u64) {
        let ops = self.body[region].ops.clone();
        if !ops.iter().any(|&op| has_program_regions(&self.module.view(self.body, op))) {
            return;
        }
        let own = self.lives.own(self.body, region);
        for (&op, own) in ops.iter().zip(own) {
            let view = self.module.view(self.body, op);
            if !has_program_regions(&view) {
                continue;
            }
            let (outside, is_loop) = (outside.saturating_add(own), runs_often(&view));
            for inner in self.body[op].regions.clone() {
                self.region(inner, outside);
            }
            let moved = if is_loop { self.leave(op, outside) } else { vec![] };
            if !moved.is_empty() {
                let list = &mut self.body.region_mut(region).ops;
                let at = list.iter().position(|&other| other == op).expect("it is one of them");
                list.splice(at..at, moved);
                self.lives = Lives::compute(self.body);
            }
        }
    }

    /// Removes from a loop the ops that are moved in front of it, and returns them in their order. Marks the invariant
    /// collectives that stay. Before that, calls [`return_unchanged`](Self::return_unchanged). `outside` is the number
    /// of bytes that a device holds while the loop runs, without the values in it.
    fn leave(&mut self, op: Op, outside: u64) -> Vec<Op> {
        let mut moved = vec![];
        self.return_unchanged(op);
        for region in self.body[op].regions.clone() {
            let turn = Turn::new(&self.module.view(self.body, op), region);
            if turn.collectives().is_empty() {
                continue;
            }
            let (taken, kept) = Room::new(&turn, &self.lives, self.limit.saturating_sub(outside)).choose();
            let sources: Vec<(Op, Vec<Value>)> = taken.iter().map(|&op| (op, turn.sources(op))).collect();
            for op in kept {
                let data = self.body.op_mut(op);
                set_stays_in_loop(&mut data.attrs);
                data.reason = data.reason.take().map(|reason| with_text(&reason, EACH_TURN));
            }
            for (op, operands) in sources {
                let data = self.body.op_mut(op);
                data.operands = operands.into_iter().collect();
                data.reason = data.reason.take().map(|reason| with_text(&reason, ONCE));
            }
            self.body.region_mut(region).ops.retain(|op| !taken.contains(op));
            moved.extend(taken);
        }
        moved
    }
}

impl Hoist<'_> {
    /// Makes the body of a loop return an argument directly where it returns the argument after steps between layouts
    /// that lead back to its own. The value may also pass through inner loops that carry it unchanged.
    fn return_unchanged(&mut self, op: Op) {
        let view = self.module.view(self.body, op);
        let Some(&region) = view.regions().last() else { return };
        let Some(terminator) = view.body.terminator(region) else { return };
        let args = view.body[region].args.clone();
        let returned = view.body.region_results(region);
        let is_arg: Vec<bool> =
            returned.iter().zip(&args).map(|(&v, &arg)| same_value(&view, v, moved_by) == arg).collect();
        let data = self.body.op_mut(terminator);
        for ((operand, arg), _) in data.operands.iter_mut().zip(args).zip(is_arg).filter(|(_, is_arg)| *is_arg) {
            *operand = arg;
        }
    }
}

/// The end of the reasons of collectives that were moved in front of a loop.
const ONCE: &str = "; no turn of the loop changes it, so this is done once, in front of the loop";

/// The end of the reasons of collectives that stay in a loop to save memory.
const EACH_TURN: &str = "; this is repeated in each turn, because holding the result during the loop takes more memory";

fn with_text(reason: &Arc<Reason>, text: &str) -> Arc<Reason> {
    if reason.text.ends_with(text) {
        return reason.clone();
    }
    Arc::new(Reason { text: format!("{}{text}", reason.text).into(), ..(**reason).clone() })
}

/// One region of a loop: its condition, or its body.
struct Turn<'a> {
    view: OpView<'a>,
    region: Region,
    /// The ops of the region, but not those of the regions in it.
    ops: FxHashSet<Op>,
    /// The ops of the region that may run in front of the loop: their results are the same in every turn.
    invariant: FxHashSet<Op>,
}

impl<'a> Turn<'a> {
    fn new(view: &OpView<'a>, region: Region) -> Turn<'a> {
        let mut turn = Turn { view: *view, region, ops: FxHashSet::default(), invariant: FxHashSet::default() };
        for &op in &view.body[region].ops {
            budget::poll();
            turn.ops.insert(op);
            let inner = view.at(op);
            if may_move(&inner) && inner.operands().iter().all(|&v| turn.source(v).is_some()) {
                turn.invariant.insert(op);
            }
        }
        turn
    }

    /// Returns the value in front of the loop that is equal to `v` in every turn: `v` itself if it comes from there or
    /// is made by an invariant op, or the initial value of what the loop carries unchanged. Returns `None` if `v` may
    /// change.
    fn source(&self, v: Value) -> Option<Value> {
        match self.view.body[v].def {
            ValueDef::Argument { region, index } if region == self.region => {
                carried_unchanged(&self.view, index as usize, moved_by)
            }
            ValueDef::Result { op, .. } if self.invariant.contains(&op) => Some(v),
            ValueDef::Result { op, .. } if self.ops.contains(&op) => None,
            _ => Some(v),
        }
    }

    fn sources(&self, op: Op) -> Vec<Value> {
        let source = |&v: &Value| self.source(v).expect("the op is invariant");
        self.view.body[op].operands.iter().map(source).collect()
    }

    fn collectives(&self) -> Vec<Op> {
        let moves = |op: &&Op| self.invariant.contains(op) && moves_data(&self.view.at(**op));
        self.view.body[self.region].ops.iter().filter(moves).copied().collect()
    }

    /// Returns the op, the invariant ops of the region that it is computed by, and the invariant steps between layouts
    /// whose operands are results of steps in this set. The set is empty if the op is not invariant.
    fn unit(&self, op: Op) -> FxHashSet<Op> {
        let (mut unit, mut open) = (FxHashSet::default(), vec![op]);
        while let Some(op) = open.pop() {
            if self.invariant.contains(&op) && unit.insert(op) {
                open.extend(self.view.body[op].operands.iter().filter_map(|&v| self.view.body.def_op(v)));
            }
        }
        for &next in &self.view.body[self.region].ops {
            let reads =
                |v: &Value| self.view.body.def_op(*v).is_some_and(|def| unit.contains(&def) && is_step(self, def));
            if self.invariant.contains(&next) && is_step(self, next) && self.view.body[next].operands.iter().all(reads)
            {
                unit.insert(next);
            }
        }
        unit
    }
}

fn is_step(turn: &Turn<'_>, op: Op) -> bool {
    ShardyCollective::of(&turn.view.at(op)).is_some()
}

/// Returns true if an op may run in front of a loop instead of in it if its operands are the same there. One of
/// Shardy's collectives may if it is over no Explicit axis, also one that moves no data, or if its result has no
/// sharding. One that names no axes counts as over all axes that split the value before or after it. Other ops may if
/// they are pure, have no regions and are no terminators.
fn may_move(view: &OpView<'_>) -> bool {
    if let Some(step) = ShardyCollective::of(view) {
        let Some(to) = view.result_sharding(0) else { return true };
        // A permute or an exchange names no axes: it may move data along all that split the value.
        let split = || view.body.sharding(view.operand(0)).into_iter().chain([to]).flat_map(|s| s.split_axes());
        let axes: Vec<AxisRef> = if step.axes().is_empty() { split().collect() } else { step.axes().to_vec() };
        return !axes.iter().any(|a| to.mesh.axes[a.axis.index()].kind == AxisKind::Explicit);
    }
    let facts = facts(view);
    let is_pure = facts.semantics(view) == Semantics::Pure && facts.effects(view) == Effects::Pure;
    is_pure && view.regions().is_empty() && !is_terminator(view)
}

fn moves_data(view: &OpView<'_>) -> bool {
    use ShardyCollective::*;
    match ShardyCollective::of(view) {
        None | Some(AllSlice { .. } | ReplicatedToUnreduced { .. } | ShardedToUnreduced { .. }) => false,
        Some(
            AllGather { .. } | AllToAll { .. } | CollectivePermute | Exchange | AllReduce { .. } | ReduceScatter { .. },
        ) => true,
    }
}

/// Returns the operand of a step that only moves the parts of a value, or `None` for other ops.
fn moved_by(view: &OpView<'_>) -> Option<Value> {
    use ShardyCollective::*;
    match ShardyCollective::of(view)? {
        AllGather { .. } | AllSlice { .. } | AllToAll { .. } | CollectivePermute | Exchange => Some(view.operand(0)),
        AllReduce { .. } | ReduceScatter { .. } | ReplicatedToUnreduced { .. } | ShardedToUnreduced { .. } => None,
    }
}

/// The choice of the collectives that leave a loop, within a limit of memory.
struct Room<'t, 'a> {
    turn: &'t Turn<'a>,
    lives: &'t Lives,
    limit: u64,
    /// The bytes that are held at each op of the region.
    profile: Vec<u64>,
    /// For each value, the ops of the region that read it, themselves or in their regions.
    readers: FxHashMap<Value, Vec<Op>>,
}

impl<'t, 'a> Room<'t, 'a> {
    fn new(turn: &'t Turn<'a>, lives: &'t Lives, limit: u64) -> Room<'t, 'a> {
        let (body, region) = (turn.view.body, turn.region);
        Room { turn, lives, limit, profile: lives.profile(body, region), readers: readers(body, region) }
    }

    /// Returns the ops that leave the loop, in program order, and the collectives that stay for lack of memory.
    /// Collectives that are marked to stay already are not among the latter.
    fn choose(&self) -> (Vec<Op>, Vec<Op>) {
        let (mut taken, mut kept) = (FxHashSet::default(), vec![]);
        for op in self.turn.collectives().into_iter().filter(|op| !stays_in_loop(&self.turn.view.body[*op].attrs)) {
            budget::poll();
            if taken.contains(&op) {
                continue;
            }
            let more: FxHashSet<Op> = taken.union(&self.turn.unit(op)).copied().collect();
            match self.fits(&more) {
                true => taken = more,
                false => kept.push(op),
            }
        }
        let in_order = self.turn.view.body[self.turn.region].ops.iter().filter(|op| taken.contains(op));
        let taken_in_order = in_order.copied().collect();
        kept.retain(|op| !taken.contains(op));
        (taken_in_order, kept)
    }

    /// Returns true if the memory is enough if these ops leave the loop. What other ops of the loop read of them is
    /// held during all of it.
    fn fits(&self, taken: &FxHashSet<Op>) -> bool {
        let body = self.turn.view.body;
        let mut held = 0u64;
        // What a value adds to the positions at which it is held already.
        let mut change = vec![0i128; self.profile.len() + 1];
        for &v in taken.iter().flat_map(|&op| &body[op].results).filter(|v| self.is_read_by_others(**v, taken)) {
            let ((first, last), size) = (self.lives.span(body, v), bytes(body, v));
            held = held.saturating_add(size);
            change[first] += i128::from(size);
            change[last + 1] -= i128::from(size);
        }
        let mut counted = 0;
        self.profile.iter().zip(change).all(|(&now, change)| {
            counted += change;
            i128::from(now) + i128::from(held) - counted <= i128::from(self.limit)
        })
    }

    fn is_read_by_others(&self, v: Value, taken: &FxHashSet<Op>) -> bool {
        self.readers.get(&v).is_some_and(|ops| ops.iter().any(|op| !taken.contains(op)))
    }
}

fn readers(body: &Body, region: Region) -> FxHashMap<Value, Vec<Op>> {
    let mut readers: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
    for &op in &body[region].ops {
        let mut inner = vec![op];
        body[op].regions.iter().for_each(|&r| body.walk_region(r, &mut inner));
        for &v in inner.iter().flat_map(|&op| &body[op].operands) {
            readers.entry(v).or_default().push(op);
        }
    }
    readers
}
