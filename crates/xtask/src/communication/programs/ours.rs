//! Counts what a program moves and multiplies as we partition it.

use super::tally::{Tally, products};
use crate::program;
use anyhow::{Context, Result};
use shardwise_base::Mesh;
use shardwise_ir::{Module, Op, OpView};
use shardwise_ops::Opcode;
use shardwise_ops::collective::{CollectiveKind, CollectiveView};
use shardwise_ops::control::trip_count;
use shardwise_ops::window::ConvDims;
use shardwise_spmd::{Options, Partitioned, Row};
use std::collections::BTreeMap;

/// Partitions a program. Fails if a pass does.
pub fn partition(module: &Module) -> Result<Partitioned> {
    shardwise_spmd::partition(module, &mut Options::default()).map_err(program::mistake)
}

/// Returns what the main function of a partitioned program moves and multiplies. Fails if there is no main function.
pub fn tally(partitioned: &Partitioned) -> Result<Tally> {
    let module = &partitioned.module;
    let func = module.main().context("no main function")?;
    // The table has a row for each collective, in the order of the ops.
    let is_collective = |op: &Op| CollectiveView::of(&module.view(&func.body, *op)).is_some();
    let collectives: Vec<Op> = func.body.walk().into_iter().filter(is_collective).collect();
    let rows: BTreeMap<usize, &Row> =
        collectives.iter().map(|op| op.index()).zip(&partitioned.communication.rows).collect();
    let counter = Counter { mesh: module.main_mesh().map(|mesh| &**mesh), rows };
    let entry = func.body.entry();
    Ok(counter.of_ops(&|op| module.view(&func.body, op), &func.body[entry].ops))
}

struct Counter<'m> {
    mesh: Option<&'m Mesh>,
    /// The rows of the table, by the index of their op.
    rows: BTreeMap<usize, &'m Row>,
}

impl Counter<'_> {
    fn of_ops<'a>(&self, view: &dyn Fn(Op) -> OpView<'a>, ops: &[Op]) -> Tally {
        let mut tally = Tally::default();
        for &op in ops {
            let at = view(op);
            let regions = at.regions().iter().map(|&region| self.of_ops(view, &at.body[region].ops));
            match Opcode::of_view(&at) {
                Opcode::While => regions.for_each(|part| tally.add(&part, trip_count(&at))),
                Opcode::If | Opcode::Case => tally.add(&Tally::dearest(regions.collect()), Some(1)),
                Opcode::Convolution => tally.flops += convolution_flops(&at),
                Opcode::DotGeneral | Opcode::Dot => tally.flops += Opcode::of_view(&at).facts().cost(&at).flops as u64,
                _ => self.add(&at, op, &mut tally),
            }
        }
        tally
    }

    fn add(&self, at: &OpView<'_>, op: Op, tally: &mut Tally) {
        let (Some(row), Some(collective)) = (self.rows.get(&op.index()), CollectiveView::of(at)) else { return };
        match (&collective.kind, self.mesh) {
            (CollectiveKind::CollectivePermute { permutation }, Some(mesh)) => {
                tally.permute(at.operand_tensor(0).bytes(), &permutation.to_device_pairs(mesh));
            }
            _ => tally.receive(row.bytes_received, row.bytes_received),
        }
    }
}

/// Returns the operations of a convolution: two for each product with an element of the input. Products with padding do
/// not count.
fn convolution_flops(at: &OpView<'_>) -> u64 {
    let dims = ConvDims::of(at).expect("verified");
    let (input, kernel, result) = (at.operand_shape(0), at.operand_shape(1), &at.result_tensor(0).shape);
    let window = dims.window(at);
    let along: u64 = window.iter().zip(&dims.input_spatial).map(|(w, &d)| products(w, input[d])).product();
    let channels = kernel[dims.kernel_input_feature] * result[dims.output_feature] * result[dims.output_batch];
    2 * along * channels as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(signature: &str, lines: &str) -> Tally {
        let text =
            format!("module {{\nsdy.mesh @mesh = <[\"x\"=8]>\nfunc.func @main({signature} {{\n{lines}\n}}\n}}\n");
        tally(&partition(&program::parse("test.mlir", &text).unwrap()).unwrap()).unwrap()
    }

    const ROWS: &str = "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    const WHOLE: &str = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}";

    #[test]
    fn a_gather_receives_what_the_device_lacks() {
        let signature = format!("%x: tensor<16x25xf32> {ROWS}) -> (tensor<16x25xf32> {WHOLE})");
        let tally = counted(&signature, "return %x : tensor<16x25xf32>");
        assert_eq!((tally.worst(), tally.plain, tally.collectives, tally.flops), (1400, 1400, 1, 0));
    }

    #[test]
    fn a_product_of_shards_is_counted_on_one_device() {
        let signature =
            format!("%x: tensor<16x25xf32> {ROWS}, %w: tensor<25x3xf32> {WHOLE}) -> (tensor<16x3xf32> {ROWS})");
        let lines = "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x25xf32>, \
                     tensor<25x3xf32>) -> tensor<16x3xf32>\nreturn %0 : tensor<16x3xf32>";
        let tally = counted(&signature, lines);
        assert_eq!((tally.worst(), tally.flops), (0, 2 * 2 * 25 * 3));
    }

    #[test]
    fn a_loop_counts_as_often_as_it_runs() {
        let signature = format!("%x: tensor<16x16xf32> {ROWS}) -> (tensor<16x16xf32> {ROWS})");
        let lines = "%zero = stablehlo.constant dense<0> : tensor<i32>
            %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<16x16xf32>
              cond {
                %n = stablehlo.constant dense<5> : tensor<i32>
                %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
              } do {
                %one = stablehlo.constant dense<1> : tensor<i32>
                %j = stablehlo.add %i, %one : tensor<i32>
                %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
                stablehlo.return %j, %d : tensor<i32>, tensor<16x16xf32>
              }
            return %r#1 : tensor<16x16xf32>";
        let tally = counted(&signature, lines);
        // In the loop, a device has 4 rows of 8 columns: each turn gathers the other columns, and the other rows. In
        // front of the loop it gets 8 columns of 2 rows, and after it 2 rows have to be whole.
        let (turn, around) = (4 * 8 * 4 + 12 * 8 * 4, 2 * 8 * 4);
        assert_eq!((tally.worst(), tally.flops, tally.is_guess), (5 * turn + 2 * around, 5 * 2 * 2 * 16 * 16, false));
    }
}
