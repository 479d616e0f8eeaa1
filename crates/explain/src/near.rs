//! How near the values of a program are to the ops that communicate. Changes of near layouts are tried first.

use crate::place::{Place, Spec, main_of};
use shardwise_base::{EntityVec, Loc};
use shardwise_ir::{Body, Module, Op, Value};
use std::collections::{BTreeSet, VecDeque};

/// The factor of a source's weight at a value that no path connects with the source. For other values, it is 1 divided
/// by 1 more than the number of ops in between.
const UNKNOWN: f64 = 0.1;

/// The largest number of ops in [`Nearness::around`].
const MAX_AROUND: usize = 64;

/// The values of the main function, with the weight of the communication around each.
pub(crate) struct Nearness {
    weights: EntityVec<Value, f64>,
    /// The weight of a place outside of the main function, and of an argument or result that this does not have.
    elsewhere: f64,
    /// The ops that communicate or make an operand of one that does, the heaviest first, each once, at most
    /// [`MAX_AROUND`].
    pub around: Vec<Op>,
}

impl Nearness {
    /// Computes how near each value is to the ops at these locations, of which each has a weight: the sum of the
    /// weights, each divided by 1 more than the number of ops in between, or multiplied by [`UNKNOWN`] if no path
    /// connects them. Paths lead through arrays with dimensions only.
    pub fn compute(module: &Module, sources: &[(Loc, f64)]) -> Nearness {
        let Some((_, main)) = main_of(module) else {
            return Nearness { weights: EntityVec::new(), elsewhere: 0.0, around: vec![] };
        };
        let graph = Graph::of(&main.body);
        let mut weights = EntityVec::filled(main.body.value_count(), 0.0);
        let (mut elsewhere, mut around) = (0.0, vec![]);
        for (loc, weight) in sources {
            let seeds: Vec<Op> = main.body.walk().into_iter().filter(|&op| main.body[op].loc == *loc).collect();
            elsewhere += UNKNOWN * weight;
            for (v, distance) in graph.distances(&seeds) {
                weights[v] += weight * distance.map_or(UNKNOWN, |n| 1.0 / (1.0 + n as f64));
            }
            let operands = seeds.iter().flat_map(|&op| main.body[op].operands.iter());
            let makers: Vec<Op> = operands.filter_map(|&v| main.body.def_op(v)).collect();
            around.extend(makers.into_iter().chain(seeds));
        }
        let mut seen = BTreeSet::new();
        around.retain(|&op| seen.insert(op));
        around.truncate(MAX_AROUND);
        Nearness { weights, elsewhere, around }
    }

    /// Returns the weight of the communication around a place: that of its value in the main function.
    pub fn of(&self, module: &Module, spec: &Spec) -> f64 {
        let Some((id, main)) = main_of(module) else { return 0.0 };
        match spec.place {
            Place::Argument(i) => self.value(main.body.args().get(i)),
            Place::Result(i) => self.value(main.body.results().get(i)),
            Place::Constraint(func, op) | Place::After(func, op) if func == id => {
                self.value(main.body[op].results.first())
            }
            Place::Constraint(..) | Place::After(..) => self.elsewhere,
        }
    }

    fn value(&self, v: Option<&Value>) -> f64 {
        v.map_or(self.elsewhere, |&v| self.weights[v])
    }
}

/// The ops of a function that use or make each array with dimensions, or have it at the edge of a region.
struct Graph<'a> {
    body: &'a Body,
    touching: EntityVec<Value, Vec<Op>>,
}

impl Graph<'_> {
    fn of(body: &Body) -> Graph<'_> {
        let mut touching = EntityVec::filled(body.value_count(), vec![]);
        for op in body.walk() {
            for v in values_of(body, op) {
                touching[v].push(op);
            }
        }
        Graph { body, touching }
    }

    /// Returns each value with the number of ops between it and the nearest of these ops, or `None` if none is reached.
    fn distances(&self, seeds: &[Op]) -> Vec<(Value, Option<usize>)> {
        let body = self.body;
        let mut distance: EntityVec<Value, Option<usize>> = EntityVec::filled(body.value_count(), None);
        let mut is_done: EntityVec<Op, bool> = EntityVec::filled(body.op_count(), false);
        let mut queue: VecDeque<(Op, usize)> = seeds.iter().map(|&op| (op, 0)).collect();
        while let Some((op, steps)) = queue.pop_front() {
            if std::mem::replace(&mut is_done[op], true) {
                continue;
            }
            // The return of a function uses all results, which does not make them neighbours.
            if steps > 0 && body.terminator(body.entry()) == Some(op) {
                continue;
            }
            for v in values_of(body, op) {
                if distance[v].is_none() {
                    distance[v] = Some(steps);
                    queue.extend(self.touching[v].iter().map(|&next| (next, steps + 1)));
                }
            }
        }
        distance.keys().map(|v| (v, distance[v])).collect()
    }
}

fn values_of(body: &Body, op: Op) -> Vec<Value> {
    let data = &body[op];
    let inner = data.regions.iter().flat_map(|&r| body[r].args.iter().chain(body.region_results(r)));
    let all = data.operands.iter().chain(&data.results).chain(inner).copied();
    all.filter(|&v| body.ty(v).as_tensor().is_some_and(|ty| ty.rank() > 0)).collect()
}
