//! Counts the turns of loops that one move of a value serves.
//!
//! A value that a loop does not change is moved once, in front of the loop ([`crate::hoist`]). At an op in the loop,
//! its move therefore costs less than the move of a value that changes in each turn.

use crate::carried::carried_unchanged;
use crate::hoist;
use crate::rewrite::{facts, is_manual, is_mark, is_terminator};
use crate::strategy::{NEVER, Served};
use rustc_hash::{FxHashMap, FxHashSet};
use shardwise_base::{AxisKind, Mesh};
use shardwise_ir::{Body, OpView, Region, Value};
use shardwise_ops::control::{trip_count, unchanged_operands};
use shardwise_ops::{Effects, Opcode, Semantics};

/// The number of turns that is assumed of a loop whose trip count is not known.
const MANY: u64 = 1000;

/// The loops around the op that is being processed, and the memory that is left for values moved in front of loops.
pub(crate) struct Turns {
    scopes: Vec<Scope>,
    /// The bytes that values moved in front of loops may still take on each device. 0 if the mesh has Explicit axes.
    room: u64,
}

/// A region around an op.
enum Scope {
    Loop(Turn),
    /// A region that no value is moved out of: a branch, or a manual computation.
    Closed,
}

struct Turn {
    trips: u64,
    /// The arguments of the region and the results of its ops that are not known to be the same in every turn.
    changing: FxHashSet<Value>,
    /// The results of the region's ops that are known to be the same in every turn.
    computed: FxHashSet<Value>,
    /// For each argument that is carried unchanged, its value in front of the loop.
    initial: FxHashMap<Value, Value>,
}

impl Turns {
    pub fn new(mesh: &Mesh) -> Turns {
        // Nothing is moved over Explicit axes that the program does not move there.
        let is_explicit = mesh.axes.iter().any(|a| a.kind == AxisKind::Explicit);
        Turns { scopes: vec![], room: if is_explicit { 0 } else { hoist::ROOM } }
    }

    /// Enters a region of an op. Each call needs a call of [`leave`](Turns::leave).
    pub fn enter(&mut self, view: &OpView<'_>, region: Region) {
        self.scopes.push(match Opcode::of_view(view) {
            Opcode::While => Scope::Loop(Turn::new(view, region)),
            _ => Scope::Closed,
        });
    }

    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Returns the number of turns of loops that one move of a value of so many bytes serves at the current op: the
    /// product of the [`trips`] of the loops around the op, from the innermost one outwards until one changes the
    /// value. It is 1 if the innermost loop changes it, if there is no room to keep it, or if the op is in no loop.
    /// Loops around a branch or manual computation with the op, and around the loop that computes the value, do not
    /// count.
    pub fn served(&self, v: Value, bytes: u64) -> u64 {
        let (mut served, mut v) = (1u64, v);
        for scope in self.scopes.iter().rev() {
            let Scope::Loop(turn) = scope else { break };
            if turn.changing.contains(&v) || bytes > self.room {
                break;
            }
            served = served.saturating_mul(turn.trips);
            if turn.computed.contains(&v) {
                break;
            }
            v = turn.initial.get(&v).copied().unwrap_or(v);
        }
        served
    }

    /// Returns how often the op runs for each move of each operand, and how many turns of loops one run of the op
    /// serves. The former is [`NEVER`] for an operand for which `is_source` returns true, and 1 for a stack of which
    /// each turn reads a part. The latter is the least number of turns that a move of an operand which is no source
    /// serves, so that the op itself can be moved in front of these loops. It is 1 if one of these numbers is 1, if the
    /// innermost loop changes a source, and if all operands are sources. Otherwise the op counts as run once for each
    /// move of an operand that is no source.
    pub fn served_by_moves(&self, view: &OpView<'_>, is_source: impl Fn(Value) -> bool) -> (Served, u64) {
        if self.scopes.is_empty() {
            return (view.operands().iter().map(|&v| if is_source(v) { NEVER } else { 1 }).collect(), 1);
        }
        let reads_part = self.reads_changing_part(view);
        let of = |(i, &v): (usize, &Value)| match is_source(v) {
            true => NEVER,
            false if i == 0 && reads_part => 1,
            false => self.served(v, whole_bytes(view.body, v)),
        };
        let served: Served = view.operands().iter().enumerate().map(of).collect();
        let changes = || view.operands().iter().any(|&v| is_source(v) && self.served(v, 0) == 1);
        let turns = served.iter().copied().min().unwrap_or(1);
        if turns == NEVER || turns == 1 || changes() {
            return (served, 1);
        }
        // All operands stay the same, and so does the result.
        (served.into_iter().map(|n| if n == NEVER { n } else { 1 }).collect(), turns)
    }

    /// Returns true if the op is like a dynamic slice whose positions change in the innermost loop, as one that reads
    /// one layer of a stack in each turn: its only result has the rank of the first operand and is smaller, and all
    /// other operands are scalars. In a branch or a manual computation, all scalars count as changing. The first
    /// operand is then not moved as a whole in front of the loop.
    fn reads_changing_part(&self, view: &OpView<'_>) -> bool {
        let ([stack, positions @ ..], [part]) = (view.operands(), view.results()) else { return false };
        let shape = |v: &Value| view.body.ty(*v).shape();
        let is_part = shape(stack).len() == shape(part).len()
            && shape(stack).iter().zip(shape(part)).all(|(whole, part)| part <= whole)
            && shape(stack) != shape(part);
        is_part && positions.iter().all(|v| shape(v).is_empty()) && positions.iter().any(|&v| self.served(v, 0) == 1)
    }

    /// Records that a value of so many bytes on each device is kept during a loop, so that less room is left for
    /// others.
    pub fn keep(&mut self, bytes: u64) {
        self.room = self.room.saturating_sub(bytes);
    }
}

impl Turn {
    fn new(view: &OpView<'_>, region: Region) -> Turn {
        let trips = trips(view);
        let mut turn = Turn {
            trips,
            changing: FxHashSet::default(),
            computed: FxHashSet::default(),
            initial: FxHashMap::default(),
        };
        for (i, &arg) in view.body[region].args.iter().enumerate() {
            match carried_unchanged(view, i, marked) {
                Some(initial) => _ = turn.initial.insert(arg, initial),
                None => _ = turn.changing.insert(arg),
            }
        }
        for &op in &view.body[region].ops {
            let inner = view.at(op);
            let is_same = is_function(&inner) && inner.operands().iter().all(|v| !turn.changing.contains(v));
            let list = if is_same { &mut turn.computed } else { &mut turn.changing };
            list.extend(inner.results());
        }
        turn
    }
}

/// Returns the number of turns by which a loop multiplies prices: its trip count, or [`MANY`] if this is not known, and
/// at least 1.
pub(crate) fn trips(view: &OpView<'_>) -> u64 {
    trip_count(view).unwrap_or(MANY).max(1)
}

/// Returns true if the op's results are known to depend on its operands alone. It is false for all ops with regions.
fn is_function(view: &OpView<'_>) -> bool {
    let facts = facts(view);
    let is_computed = matches!(facts.semantics(view), Semantics::Pure | Semantics::Identity) && !is_manual(view);
    is_computed && facts.effects(view) == Effects::Pure && view.regions().is_empty() && !is_terminator(view)
}

/// Returns the operand of an op that returns it unchanged as its only result ([`Semantics::Identity`]), or `None` for
/// other ops.
fn marked(view: &OpView<'_>) -> Option<Value> {
    if is_mark(view) && view.results().len() == 1 { unchanged_operands(view).first().copied() } else { None }
}

pub(crate) fn whole_bytes(body: &Body, v: Value) -> u64 {
    body.ty(v).as_tensor().map_or(0, |t| t.bytes())
}
