//! Bounds on the values of a program, which show that no value is rounded.

use shardwise_base::EntityVec;
use shardwise_ir::{Body, Module, OpView, Region, Value};
use shardwise_ops::control::trip_count;
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Opcode, ReduceKind, reducer};

/// The largest magnitude up to which `f64` holds all integers.
const LIMIT: f64 = 9007199254740992.0;
/// The largest magnitude of an input.
const INPUT: f64 = 2.0;
/// The largest number of turns of all loops together for which bounds are computed.
const MAX_TURNS: u64 = 1 << 16;

/// Returns true if bounds show that all values of the main function are integers that `f64` holds, for inputs that are
/// integers from -2 to 2. Constants count as integers even if they are none. Values in the conditions of loops and in
/// reducers are not looked at. Returns false if there is no main function, if loops take many turns, or if a value has
/// no bound, as that of a sine or of a loop whose number of turns is not known.
pub fn is_exact(module: &Module) -> bool {
    let Some(main) = module.main() else { return false };
    let body = &main.body;
    let of = EntityVec::filled(body.value_count(), 0.0);
    let mut bounds = Bounds { module, body, of, largest: INPUT, turns_left: MAX_TURNS };
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
    turns_left: u64,
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
                let count = trip_count(op).filter(|&count| count <= self.turns_left);
                let Some(count) = count else { return self.largest = f64::INFINITY };
                self.turns_left -= count;
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
                Some(ReduceKind::Add) => x(1) * (1.0 + size(0)) + x(0) * size(0),
                _ => f64::INFINITY,
            },
            Opcode::Scatter => match reducer::reduce_kind_of_op(op) {
                Some(ReduceKind::Add) => x(0) + x(2) * size(2),
                None if replaces(op) => x(0).max(x(2)),
                _ => f64::INFINITY,
            },
            Opcode::And | Opcode::Or if op.result_tensor(0).dtype.is_bool() => 1.0,
            // The result has at most as many bits as the larger operand.
            Opcode::And | Opcode::Or => 2.0 * all(),
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
            | Opcode::Return
            | Opcode::RegionReturn => all(),
            _ => f64::INFINITY,
        }
    }
}

/// Returns true if the first region of an op takes two elements and returns the second one.
fn replaces(op: &OpView<'_>) -> bool {
    let region = op.regions()[0];
    matches!(op.body[region].args[..], [_, new] if op.body.region_results(region) == [new])
}

/// Returns the largest magnitude of a constant's elements. For an iota, returns the largest size of its dimensions,
/// which bounds its elements.
fn largest_constant(op: &OpView<'_>) -> f64 {
    match shardwise_ops::shapes::constant_value(op) {
        Some(value) => (0..value.size()).map(|i| value.get_f64(i).abs()).fold(0.0, f64::max),
        None => op.result_shape(0).iter().map(|&n| n as f64).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_exact_text(text: &str) -> bool {
        let module = shardwise_ir::text::parse("test", text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
        is_exact(&module)
    }

    #[test]
    fn scatters_are_bounded_by_what_their_regions_compute() {
        let is_exact_with = |region: &str| {
            is_exact_text(&format!(
                r#"func.func @main(%x: tensor<4xf64>, %i: tensor<1x1xi32>, %u: tensor<1xf64>) -> tensor<4xf64> {{
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    {region} : tensor<f64>
  }}) : (tensor<4xf64>, tensor<1x1xi32>, tensor<1xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}}"#
            ))
        };
        assert!(is_exact_with("%c = stablehlo.add %a, %b : tensor<f64> stablehlo.return %c"));
        assert!(is_exact_with("stablehlo.return %b"));
        assert!(!is_exact_with("%c = stablehlo.multiply %a, %b : tensor<f64> stablehlo.return %c"));
    }

    #[test]
    fn bits_of_both_operands_are_bounded() {
        let is_exact_times = |number: u64| {
            is_exact_text(&format!(
                "func.func @main() -> tensor<i64> {{
  %0 = stablehlo.constant dense<1> : tensor<i64>
  %1 = stablehlo.constant dense<2> : tensor<i64>
  %2 = stablehlo.or %0, %1 : tensor<i64>
  %3 = stablehlo.constant dense<{number}> : tensor<i64>
  %4 = stablehlo.multiply %2, %3 : tensor<i64>
  return %4 : tensor<i64>
}}"
            ))
        };
        assert!(is_exact_times(1 << 40));
        assert!(!is_exact_times(3 << 50), "1 | 2 is 3");
    }

    #[test]
    fn loops_of_many_turns_are_not_followed() {
        let is_exact_to = |limit: u64| {
            is_exact_text(&format!(
                "func.func @main() -> tensor<i64> {{
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.while(%i = %0) : tensor<i64>
  cond {{
    %n = stablehlo.constant dense<{limit}> : tensor<i64>
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j : tensor<i64>
  }}
  return %1 : tensor<i64>
}}"
            ))
        };
        assert!(is_exact_to(10));
        assert!(!is_exact_to(1 << 40));
    }
}
