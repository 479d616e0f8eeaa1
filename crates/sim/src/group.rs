//! The work of a group of fused ops: the bytes that it reads and writes, and its flops.

use crate::Machine;
use crate::frame::{Frame, Place};
use crate::op::{Product, Work};
use shardwise_ir::{Op, OpView, Value};
use shardwise_ops::{Opcode, PropagationClass};
use std::collections::BTreeMap;

pub(crate) fn work(block: OpView<'_>, ops: &[Op], frame: &Frame<'_>, place: Place) -> Work {
    let root = block.at(*ops.last().expect("a group has an op"));
    let mut work = Work {
        product: None,
        vector_flops: 0.0,
        hbm_in: 0.0,
        hbm_out: 0.0,
        fast_bytes: 0.0,
        results: 0.0,
        result_bytes: 4.0,
    };
    for view in ops.iter().map(|&op| block.at(op)) {
        match Product::of(&view) {
            Some(product) if work.product.is_none() => work.product = Some(product),
            _ => work.vector_flops += Opcode::of_view(&view).facts().cost(&view).flops,
        }
    }
    for (v, bytes) in reads(block, ops, frame) {
        match frame.get(v).place {
            Place::Memory => work.hbm_in += bytes as f64,
            Place::Fast => work.fast_bytes += bytes as f64,
        }
    }
    let written = written_bytes(&root, frame) as f64;
    match place {
        Place::Memory => work.hbm_out = written,
        Place::Fast => work.fast_bytes += written,
    }
    if let Some(tensor) = root.results().first().and_then(|&v| block.body.ty(v).as_tensor()) {
        work.results = tensor.size() as f64;
        work.result_bytes = tensor.dtype.bits() as f64 / 8.0;
    }
    work
}

/// Returns the bytes that the group reads of each value from outside, sorted by value. An op without flops reads no
/// more of an operand than it writes. If several ops read a value, the one that reads most of it counts.
fn reads(block: OpView<'_>, ops: &[Op], frame: &Frame<'_>) -> BTreeMap<Value, u64> {
    let mut reads: BTreeMap<Value, u64> = BTreeMap::new();
    let mut members = ops.to_vec();
    members.sort_unstable();
    for view in ops.iter().map(|&op| block.at(op)) {
        let cost = Opcode::of_view(&view).facts().cost(&view);
        let most = if cost.flops == 0.0 { written_bytes(&view, frame) } else { u64::MAX };
        for &v in view.operands() {
            let is_inside = block.body.def_op(v).is_some_and(|op| members.binary_search(&op).is_ok());
            if !is_inside {
                let bytes = frame.get(v).bytes.min(most);
                let known = reads.entry(v).or_default();
                *known = bytes.max(*known);
            }
        }
    }
    reads
}

/// Returns the bytes that an op writes: those of its results, or of the part that it updates in place.
fn written_bytes(view: &OpView<'_>, frame: &Frame<'_>) -> u64 {
    let all: u64 = view.results().iter().map(|&v| frame.bytes(v)).sum();
    let facts = Opcode::of_view(view).facts();
    match facts.propagation_class(view) {
        PropagationClass::DynamicSlice => facts.cost(view).bytes_written.min(all),
        _ => all,
    }
}

/// Returns the memory for a result of this many bytes: the fast one if the result is used soon (`stays`) and takes at
/// most an eighth of it, and otherwise the main memory.
pub(crate) fn result_place(machine: &Machine, bytes: u64, stays: bool) -> Place {
    // The fast memory holds what is used soon, beside the windows of other ops.
    let fits = bytes as f64 <= machine.constants.vmem_bytes / 8.0;
    if fits && stays { Place::Fast } else { Place::Memory }
}
