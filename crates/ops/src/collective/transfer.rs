//! The bytes that a collective moves.

use super::{CollectiveKind, CollectiveView};
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_sharding::cost::CollectiveCost;

/// The bytes that a collective moves for each device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The bytes of the arrays that are gathered, reduced or exchanged: all results of a gather, the first operand of a
    /// ragged all-to-all, and all operands of other collectives. The operands of an `all_reduce` or `reduce_scatter`
    /// count with the element types of its results if these are wider. It is 0 for a permutation that moves nothing.
    pub bytes: u64,
    /// The bytes that the device that receives most receives in the collective.
    pub received: u64,
    /// True if `received` is only an upper bound.
    pub is_bound: bool,
}

impl Transfer {
    /// Returns how much a collective of a program on this many devices moves.
    pub fn of(view: &OpView<'_>, collective: &CollectiveView, device_count: usize) -> Transfer {
        let bytes = |values: &[Value]| -> u64 {
            values.iter().filter_map(|&v| view.body.ty(v).as_tensor()).map(TensorType::bytes).sum()
        };
        let (taken, given) = (bytes(view.operands()), bytes(view.results()));
        let members = collective.groups.group_size().unwrap_or(device_count) as u64;
        let received = |cost: CollectiveCost, whole: u64| (whole, cost.bytes_received(whole, members));
        // The operands of the other members.
        let others = taken.saturating_mul(members.saturating_sub(1));
        let (bytes, received) = match &collective.kind {
            CollectiveKind::AllGather { .. } => received(CollectiveCost::AllGather, given),
            CollectiveKind::AllReduce { .. } => received(CollectiveCost::AllReduce, taken.max(given)),
            CollectiveKind::ReduceScatter { .. } => {
                received(CollectiveCost::ReduceScatter, taken.max(given.saturating_mul(members)))
            }
            CollectiveKind::AllToAll { .. } => received(CollectiveCost::AllToAll, taken),
            // The other operands are the array for the rows that are received, and where each part of the rows is.
            CollectiveKind::RaggedAllToAll => {
                let rows = bytes(&view.operands()[..1]);
                (rows, given.min(rows.saturating_mul(members.saturating_sub(1))))
            }
            CollectiveKind::CollectivePermute { permutation } if permutation.moved_count() == 0 => (0, 0),
            CollectiveKind::CollectivePermute { .. } => (taken, taken),
            CollectiveKind::CollectiveBroadcast | CollectiveKind::CollectiveReduce { .. } => (taken, taken.min(others)),
        };
        Transfer { bytes, received, is_bound: collective.kind == CollectiveKind::RaggedAllToAll }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that a device receives in a broadcast of 8 floats in these groups.
    fn received(groups: &str) -> u64 {
        let source = format!(
            r#"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = "stablehlo.collective_broadcast"(%x) <{{replica_groups = dense<{groups}>}}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}"#
        );
        let module = shardwise_ir::text::parse("broadcast", &source, &crate::OPS).unwrap();
        let func = module.main().unwrap();
        let view = module.view(&func.body, func.body.walk()[0]);
        Transfer::of(&view, &CollectiveView::of(&view).unwrap(), 4).received
    }

    /// Tests that the array for the result, the offsets and the sizes do not count.
    #[test]
    fn a_ragged_all_to_all_moves_its_rows() {
        use crate::Facts;
        use crate::collective::RaggedAllToAll;
        let source = RaggedAllToAll.example(crate::Opcode::CustomCall);
        let module = shardwise_ir::text::parse("ragged", source, &crate::OPS).unwrap();
        let func = module.main().unwrap();
        let ops = func.body.walk();
        let view = module.view(&func.body, ops[ops.len() - 2]);
        let of = |v: Value| view.body.ty(v).as_tensor().unwrap().bytes();
        let found = Transfer::of(&view, &CollectiveView::of(&view).unwrap(), 2);
        assert_eq!((found.bytes, found.is_bound), (of(view.operand(0)), true));
        assert!(view.operands().len() == 6 && found.received <= of(view.result(0)));
    }

    #[test]
    fn a_group_of_one_device_receives_nothing() {
        assert_eq!(received("[[0], [1]]> : tensor<2x1xi64"), 0);
        assert_eq!(received("[[0, 1], [2, 3]]> : tensor<2x2xi64"), 32);
    }
}
