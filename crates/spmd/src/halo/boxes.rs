//! Replaces a reshard whose blocks do not nest by permutes of boxes ([`crate::plan::boxes`]).

use super::windows::{Windows, known};
use super::{Exchanges, lay_out_rest, layout, local_type, with_size};
use crate::plan::boxes::Round;
use crate::plan::{Boxes, boxes_between, layout_only, padded_size};
use crate::reshard::without_axes;
use shardwise_base::{AxisRef, DType, Literal, Sharding};
use shardwise_ir::rewrite::open_region;
use shardwise_ir::{Attrs, Builder, Cloner, OpView, TensorType, Type, Value};
use shardwise_ops::collective::{AxisList, Permutation};
use shardwise_ops::shardy::ManualComputation;
use shardwise_ops::{Opcode, make};

pub(super) fn of_op(view: &OpView<'_>) -> Option<Boxes> {
    let [from, to] = layouts(view)?;
    let ty = view.operand_tensor(0);
    boxes_between(&layout_only(from), &layout_only(to), &ty.shape, ty.dtype)
}

fn layouts<'v>(view: &OpView<'v>) -> Option<[&'v Sharding; 2]> {
    if Opcode::of_view(view) != Opcode::Exchange {
        return None;
    }
    Some([view.body.sharding(view.operand(0))?, view.body.sharding(view.result(0))?])
}

impl Exchanges<'_> {
    pub(super) fn boxes(
        &self,
        view: &OpView<'_>,
        boxes: &Boxes,
        cloner: &mut Cloner<'_>,
        b: &mut Builder<'_>,
    ) -> Value {
        let mesh = self.mesh;
        let mut v = cloner.get(view.operand(0));
        let (from, to) = (layout(view.body, view.operand(0), mesh), layout(view.body, view.result(0), mesh));
        let manual = AxisRef::union(mesh, from.split_axes().chain(to.split_axes()));
        let shape = view.operand_shape(0);
        let padded = |s: &Sharding| -> Vec<usize> {
            shape.iter().zip(s.shard_counts()).map(|(&n, count)| padded_size(n, count)).collect()
        };
        for (dim, &size) in padded(&from).iter().enumerate() {
            v = with_size(v, dim, size, b);
        }
        let whole = Type::tensor(view.operand_tensor(0).dtype, padded(&to));
        let block = local_type(&whole, &to, &manual);
        let operand = local_type(b.body.ty(v), &from, &manual);

        let (region, args) = open_region(b.body, &[operand], &b.loc);
        b.set_sharding(args[0], Some(without_axes(&from, &manual)));
        let inner = &mut Builder::at(b.body, region, b.loc.clone());
        let windows = Windows::new(mesh, &boxes.along, view.data().reason.clone());
        let result = Fetch { windows, boxes, x: args[0], block: block.shape().to_vec() }.build(inner);
        inner.set_sharding(result, Some(without_axes(&to, &manual)));
        lay_out_rest(&without_axes(&to, &manual), inner);
        inner.op(Opcode::SdyReturn, [result], Attrs::new(), []);

        let attrs = ManualComputation::made(vec![from], mesh, &manual);
        let op = b.op_with_regions(Opcode::ManualComputation, [v], attrs, [region], [whole]);
        let mut result = b.body[op].results[0];
        b.set_sharding(result, Some(to));
        for (dim, &size) in shape.iter().enumerate() {
            result = with_size(result, dim, size, b);
        }
        result
    }
}

/// An exchange of boxes, as one device runs it.
struct Fetch<'a> {
    windows: Windows,
    boxes: &'a Boxes,
    /// The device's block before the exchange.
    x: Value,
    /// The shape of the device's block after the exchange.
    block: Vec<usize>,
}

impl Fetch<'_> {
    fn build(&mut self, b: &mut Builder<'_>) -> Value {
        let dtype = make::type_of(b, self.x).dtype;
        let mut result = None;
        let boxes = self.boxes;
        for round in &boxes.rounds {
            let places = Places::new(round, &make::type_of(b, self.x).shape, &self.block, self.device_count());
            let received = self.received(round, &places, b);
            let is_all = places.is_complete() && round.shape[..] == self.block[..];
            result = Some(if is_all { received } else { self.placed(round, &places, received, result, b) });
        }
        result.unwrap_or_else(|| make::full(b, &self.block, &Literal::zeros(dtype, vec![])))
    }

    fn device_count(&self) -> usize {
        AxisRef::total_size(&self.windows.along().mesh, &self.boxes.along)
    }

    fn received(&mut self, round: &Round, places: &Places, b: &mut Builder<'_>) -> Value {
        let shape = make::type_of(b, self.x).shape.clone();
        let part = if round.shape[..] == shape[..] {
            self.x
        } else {
            let starts = self.numbers(&places.sliced, b);
            make::dynamic_slice(b, self.x, &starts, &round.shape)
        };
        if round.boxes.iter().all(|sent| sent.source == sent.target) {
            return part;
        }
        let pairs = round.boxes.iter().map(|sent| (sent.source, sent.target)).collect();
        let along: AxisList = self.windows.along().clone();
        self.windows.permute(part, Permutation::of_pairs(along, pairs), b)
    }

    /// Builds the device's block with the received boxes in place of what it has there. `result` is the block so far, or
    /// `None` if it is still zeros.
    fn placed(
        &mut self,
        round: &Round,
        places: &Places,
        received: Value,
        result: Option<Value>,
        b: &mut Builder<'_>,
    ) -> Value {
        let zero = Literal::zeros(make::type_of(b, self.x).dtype, vec![]);
        let starts = self.numbers(&places.placed, b);
        let mut part = self.shifted(round, places, received, b);
        if !places.is_complete() {
            let before = match result {
                Some(result) => make::dynamic_slice(b, result, &starts, &round.shape),
                None => make::full(b, &round.shape, &zero),
            };
            let is_valid = self.is_valid(round, places, b);
            part = make::select(b, is_valid, part, before);
        }
        let result = result.unwrap_or_else(|| make::full(b, &self.block, &zero));
        make::dynamic_update_slice(b, result, part, &starts)
    }

    /// Builds the received array with its box moved to the position that the box has in the array that the device
    /// places.
    fn shifted(&mut self, round: &Round, places: &Places, received: Value, b: &mut Builder<'_>) -> Value {
        let is_shifted = |numbers: &Vec<Option<i64>>| numbers.iter().flatten().any(|&n| n != 0);
        if !places.shifts.iter().any(is_shifted) {
            return received;
        }
        let dtype = make::type_of(b, received).dtype;
        let margins: Vec<i64> =
            round.shape.iter().zip(&places.shifts).map(|(&n, s)| if is_shifted(s) { n as i64 } else { 0 }).collect();
        let zero = make::constant(b, Literal::zeros(dtype, vec![]));
        let padded = make::pad(b, received, zero, &margins, &margins, &vec![0; margins.len()]);
        let start =
            |(shifts, margin): (&Vec<Option<i64>>, &i64)| shifts.iter().map(|s| s.map(|s| margin - s)).collect();
        let starts: Vec<Vec<Option<i64>>> = places.shifts.iter().zip(&margins).map(start).collect();
        let starts = self.numbers(&starts, b);
        make::dynamic_slice(b, padded, &starts, &round.shape)
    }

    /// Builds, for each element of the array that is placed, whether it belongs to a box that the device received.
    /// Panics if the round is complete ([`Places::is_complete`]): all elements do then.
    fn is_valid(&mut self, round: &Round, places: &Places, b: &mut Builder<'_>) -> Value {
        let mut is_valid = None;
        for (d, (first, end)) in places.valid.iter().enumerate() {
            if first.iter().zip(end).all(|(f, e)| *f == 0 && *e == round.shape[d] as i64) {
                continue;
            }
            let dtype = self.positions(b);
            let [first, end] = [first, end].map(|numbers| self.windows.number(dtype, numbers, b));
            let position = make::iota(b, TensorType::new(dtype, round.shape.to_vec()), d);
            let [first, end] = [first, end].map(|n| make::broadcast_scalar(b, n, &round.shape));
            let (after, before) = (make::compare(b, "GE", position, first), make::compare(b, "LT", position, end));
            let inside = make::and(b, after, before);
            is_valid = Some(is_valid.map_or(inside, |valid| make::and(b, valid, inside)));
        }
        is_valid.expect("it is not called for rounds that are complete")
    }

    /// Builds the device's number along each dimension. `numbers` has one for each dimension and device, or `None`
    /// where any number will do.
    fn numbers(&mut self, numbers: &[Vec<Option<i64>>], b: &mut Builder<'_>) -> Vec<Value> {
        let dtype = self.positions(b);
        numbers.iter().map(|list| self.windows.number(dtype, &known(list.iter().copied()), b)).collect()
    }

    /// Returns the element type of positions in blocks, and in arrays that are padded by their size on both sides: i32
    /// if all of them fit, and i64 otherwise.
    fn positions(&self, b: &Builder<'_>) -> DType {
        let held = &make::type_of(b, self.x).shape;
        let most = held.iter().chain(&self.block).max().map_or(0, |&n| n);
        if most < i32::MAX as usize / 3 { DType::I32 } else { DType::I64 }
    }
}

/// The positions of the boxes of a round, for each dimension and device.
struct Places {
    /// The position in its own block from which a device sends an array; `None` if it sends nothing.
    sliced: Vec<Vec<Option<i64>>>,
    /// The position in its new block at which a device places the array; `None` if it receives nothing.
    placed: Vec<Vec<Option<i64>>>,
    /// The distance by which a device moves the box within the array that it has received; `None` if it receives
    /// nothing.
    shifts: Vec<Vec<Option<i64>>>,
    /// For each dimension: the first element of each device's box in the array that the device places, and the end of
    /// it. A device that receives no box has an empty range in one dimension, and the whole dimension in all others.
    valid: Vec<(Vec<i64>, Vec<i64>)>,
    shape: Vec<i64>,
}

impl Places {
    fn new(round: &Round, held: &[usize], needed: &[usize], device_count: usize) -> Places {
        let rank = round.shape.len();
        let unknown = || vec![vec![None; device_count]; rank];
        let mut places = Places {
            sliced: unknown(),
            placed: unknown(),
            shifts: unknown(),
            valid: vec![(vec![0; device_count], vec![0; device_count]); rank],
            shape: round.shape.iter().map(|&n| n as i64).collect(),
        };
        for sent in &round.boxes {
            for d in 0..rank {
                // The array must not reach beyond the blocks.
                let from = sent.from[d].min(held[d] - round.shape[d]);
                let to = sent.to[d].min(needed[d] - round.shape[d]);
                let (before, after) = (sent.from[d] - from, sent.to[d] - to);
                places.sliced[d][sent.source] = Some(from as i64);
                places.placed[d][sent.target] = Some(to as i64);
                places.shifts[d][sent.target] = Some(after as i64 - before as i64);
                let (first, end) = &mut places.valid[d];
                (first[sent.target], end[sent.target]) = (after as i64, (after + sent.size[d]) as i64);
            }
        }
        places.mark_devices_without_box(round);
        places
    }

    /// Marks the boxes of devices that receive none as empty along one dimension only, if possible one that has to be
    /// compared anyway, so that no other dimension has to be compared because of them.
    fn mark_devices_without_box(&mut self, round: &Round) {
        let receives = |device: usize| round.boxes.iter().any(|sent| sent.target == device);
        let is_partial = |d: usize| round.boxes.iter().any(|sent| sent.size[d] < round.shape[d]);
        let marked = (0..self.shape.len()).find(|&d| is_partial(d)).unwrap_or(0);
        for device in (0..self.placed[0].len()).filter(|&device| !receives(device)) {
            for d in (0..self.shape.len()).filter(|&d| d != marked) {
                self.valid[d].1[device] = self.shape[d];
            }
        }
    }

    /// Returns true if each device receives a box that fills the whole array that it receives.
    fn is_complete(&self) -> bool {
        let is_whole = |((first, end), &n): (&(Vec<i64>, Vec<i64>), &i64)| {
            first.iter().zip(end).all(|(first, end)| *first == 0 && *end == n)
        };
        self.valid.iter().zip(&self.shape).all(is_whole)
    }
}
