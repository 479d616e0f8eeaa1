//! Bounds on the values of a program, which show that no value is rounded.

use shardwise_base::EntityVec;
use shardwise_ir::{Body, Module, OpView, Region, Value};
use shardwise_ops::control::trip_count;
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Opcode, reducer};

/// The largest magnitude up to which `f64` holds all integers.
const LIMIT: f64 = 9007199254740992.0;
/// The largest magnitude of an input.
const INPUT: f64 = 2.0;

/// Returns true if bounds show that all values of the main function are integers that `f64` holds, for inputs that are
/// integers from -2 to 2. Constants count as integers even if they are none, and every scatter as one that adds to a
/// single array. Values in the conditions of loops and in reducers are not looked at. Returns false if there is no main
/// function, or if a value has no bound, as that of a sine or of a loop whose number of turns is not known.
pub fn is_exact(module: &Module) -> bool {
    let Some(main) = module.main() else { return false };
    let body = &main.body;
    let mut bounds = Bounds { module, body, of: EntityVec::filled(body.value_count(), 0.0), largest: INPUT };
    body.args().iter().for_each(|&v| bounds.of[v] = INPUT);
    bounds.region(body.entry());
    bounds.largest < LIMIT
}

/// The bound on the magnitude of each value, and the largest one so far.
struct Bounds<'s> {
    module: &'s Module,
    body: &'s Body,
    of: EntityVec<Value, f64>,
    largest: f64,
}

impl<'s> Bounds<'s> {
    fn region(&mut self, region: Region) {
        for &op in &self.body[region].ops {
            self.op(&self.module.view(self.body, op));
        }
    }

    fn set(&mut self, v: Value, bound: f64) {
        self.of[v] = bound;
        self.largest = self.largest.max(bound);
    }

    fn op(&mut self, op: &OpView<'s>) {
        let body = op.body;
        match Opcode::of_view(op) {
            Opcode::While => {
                let turn = op.regions()[1];
                // Bounds only grow, so that as many rounds as there are turns bound all turns.
                let Some(count) = trip_count(op) else { return self.largest = f64::INFINITY };
                let mut carried: Vec<f64> = op.operands().iter().map(|&v| self.of[v]).collect();
                for _ in 0..count {
                    body[turn].args.iter().zip(&carried).for_each(|(&v, &bound)| self.of[v] = bound);
                    self.region(turn);
                    let next = body.region_results(turn).iter().map(|&v| self.of[v]);
                    carried = carried.iter().zip(next).map(|(a, b)| a.max(b)).collect();
                }
                op.results().iter().zip(carried).for_each(|(&v, bound)| self.set(v, bound));
            }
            Opcode::Case | Opcode::If => {
                op.regions().iter().for_each(|&r| self.region(r));
                for (i, &v) in op.results().iter().enumerate() {
                    let bound = op.regions().iter().map(|&r| self.of[body.region_results(r)[i]]).fold(0.0, f64::max);
                    self.set(v, bound);
                }
            }
            code => {
                let bound = self.bound(op, code);
                op.results().iter().for_each(|&v| self.set(v, bound));
            }
        }
    }

    /// Returns the bound on the results of an op that is not a loop or a branch, or infinity if none is known here.
    fn bound(&self, op: &OpView<'s>, code: Opcode) -> f64 {
        let x = |i: usize| self.of[op.operand(i)];
        let all = || op.operands().iter().map(|&v| self.of[v]).fold(0.0, f64::max);
        let shape = |i: usize| op.operand_shape(i);
        let size = |i: usize| shape(i).iter().product::<usize>() as f64;
        match code {
            Opcode::Constant | Opcode::Iota => largest_constant(op),
            Opcode::Compare => 1.0,
            Opcode::Add | Opcode::Subtract => x(0) + x(1),
            Opcode::Multiply => x(0) * x(1),
            Opcode::DotGeneral => {
                let dims = DotDims::of(op).expect("verified");
                let count: usize = dims.lhs_contract.iter().map(|&d| shape(0)[d]).product();
                x(0) * x(1) * count as f64
            }
            Opcode::Reduce | Opcode::ReduceWindow => match reducer::reduce_kind_of_op(op) {
                Some(shardwise_ops::ReduceKind::Add) => x(1) * (1.0 + size(0)) + x(0) * size(0),
                _ => f64::INFINITY,
            },
            Opcode::Scatter => x(0) + x(2) * size(2),
            Opcode::Select => x(1).max(x(2)),
            Opcode::Convert
            | Opcode::Negate
            | Opcode::BroadcastInDim
            | Opcode::Transpose
            | Opcode::Reshape
            | Opcode::Slice
            | Opcode::Pad
            | Opcode::Concatenate
            | Opcode::Reverse
            | Opcode::DynamicSlice
            | Opcode::DynamicUpdateSlice
            | Opcode::Gather
            | Opcode::ShardingConstraint
            | Opcode::And
            | Opcode::Or
            | Opcode::Return
            | Opcode::RegionReturn => all(),
            _ => f64::INFINITY,
        }
    }
}

/// Returns the largest magnitude of a constant's elements. For an iota, returns the largest size of its dimensions,
/// which bounds its elements.
fn largest_constant(op: &OpView<'_>) -> f64 {
    match shardwise_ops::shapes::constant_value(op) {
        Some(value) => (0..value.size()).map(|i| value.get_f64(i).abs()).fold(0.0, f64::max),
        None => op.result_shape(0).iter().map(|&n| n as f64).fold(0.0, f64::max),
    }
}
