//! Builds the ops by which each device gets its window with a total in place of the blocks that all windows contain.

use super::rounds::{Need, Part};
use super::totals::{Folded, Steps, TotalsPlan};
use super::windows::Windows;
use shardwise_base::DType;
use shardwise_ir::{Builder, TensorType, Value};
use shardwise_ops::make;
use shardwise_sharding::cost::start;

/// Builds the totals of arrays along the dimension. The totals have one element along it.
pub(super) type Total<'a> = dyn FnMut(&[Value], &mut Builder<'_>) -> Vec<Value> + 'a;

/// The inputs of an op along one dimension that is split into blocks.
pub(super) struct Fold<'a> {
    pub windows: &'a mut Windows,
    pub need: &'a Need,
    pub dim: usize,
    /// The initial values, one for each input, which stand for elements that no device has.
    pub inits: &'a [Value],
    pub total: &'a mut Total<'a>,
}

impl Fold<'_> {
    /// Builds the device's windows of the inputs, whose blocks are `blocks`. In each window, one total stands for the
    /// blocks that all windows contain.
    pub fn fetch(&mut self, folded: &Folded, blocks: &[Value], b: &mut Builder<'_>) -> Vec<Value> {
        let (like, first) = (blocks[0], b.body[b.region].ops.len());
        let blocks: Vec<Value> = (0..blocks.len()).map(|i| self.cleared(blocks[i], i, b)).collect();
        let own = (self.total)(&blocks, b);
        let bytes: u64 = own.iter().map(|&v| make::type_of(b, v).bytes()).sum();
        let totals = match folded.plan(bytes, start(&self.windows.along().mesh)) {
            TotalsPlan::Gather => self.gathered(&own, folded, b),
            TotalsPlan::Steps(steps) => self.in_steps(own, &steps, b),
        };
        let mut windows = vec![];
        for (i, (&block, &total)) in blocks.iter().zip(&totals).enumerate() {
            let before: Vec<Value> = folded.before.iter().map(|part| self.part(block, i, part, b)).collect();
            let after: Vec<Value> = folded.after.iter().map(|part| self.part(block, i, part, b)).collect();
            windows.push(make::concatenate(b, &[before, vec![total], after].concat(), self.dim));
        }
        self.windows.lay_out(like, first, b);
        windows
    }

    /// Builds the block with the initial value in place of elements behind the end of the dimension.
    fn cleared(&mut self, block: Value, input: usize, b: &mut Builder<'_>) -> Value {
        if self.need.block() * self.need.shards == self.need.size {
            return block;
        }
        let ty = make::type_of(b, block);
        let dtype = self.need.positions();
        let start = self.windows.progression(dtype, 0, self.need.block() as i64, b);
        let size = make::number(b, dtype, self.need.size as i64);
        let left = make::subtract(b, size, start);
        let left = make::broadcast_scalar(b, left, &ty.shape);
        let position = make::iota(b, TensorType::new(dtype, ty.shape.clone()), self.dim);
        let is_inside = make::compare(b, "LT", position, left);
        let init = self.windows.fill(self.inits[input], &ty.shape, b);
        make::select(b, is_inside, block, init)
    }

    fn part(&mut self, block: Value, input: usize, part: &Part, b: &mut Builder<'_>) -> Value {
        let is_whole = (part.from, part.to) == (0, self.need.block());
        let own = if is_whole { block } else { make::slice_dim(b, block, self.dim, part.from, part.to) };
        self.received(own, input, part.ahead, b)
    }

    /// Builds the array of the device that is `ahead` positions further, or initial values if there is none.
    fn received(&mut self, own: Value, input: usize, ahead: i64, b: &mut Builder<'_>) -> Value {
        if ahead == 0 {
            return own;
        }
        let received = self.windows.receive(own, ahead, b);
        let index = self.windows.index(b);
        // Devices behind the end receive nothing.
        let (edge, side) = if ahead < 0 { (-ahead, "GE") } else { (self.need.shards as i64 - ahead, "LT") };
        let edge = make::number(b, DType::I32, edge);
        let has_source = make::compare(b, side, index, edge);
        let shape = make::type_of(b, own).shape.clone();
        let init = self.windows.fill(self.inits[input], &shape, b);
        make::select(b, has_source, received, init)
    }

    /// Builds the totals of the blocks that the device's total replaces, from `folded.first` to `folded.last`, out of
    /// the totals of all blocks, which are gathered.
    fn gathered(&mut self, own: &[Value], folded: &Folded, b: &mut Builder<'_>) -> Vec<Value> {
        let reach = self.need.shards as i64 - 1;
        let mut kept = vec![];
        for (&v, &init) in own.iter().zip(self.inits) {
            let mut all = self.windows.gather(v, self.dim, b);
            if folded.first > -reach {
                all = self.with_init(all, init, "GE", folded.first, b);
            }
            if folded.last < reach {
                all = self.with_init(all, init, "LE", folded.last, b);
            }
            kept.push(all);
        }
        (self.total)(&kept, b)
    }

    /// Builds the totals of all blocks with the initial value in place of those whose position does not compare as
    /// `side` (`GE` or `LE`) with that of the block that is `ahead` positions further than the device's own.
    fn with_init(&mut self, all: Value, init: Value, side: &str, ahead: i64, b: &mut Builder<'_>) -> Value {
        let shape = make::type_of(b, all).shape.clone();
        let edge = self.windows.progression(DType::I32, ahead, 1, b);
        let edge = make::broadcast_scalar(b, edge, &shape);
        let position = make::iota(b, TensorType::new(DType::I32, shape.clone()), self.dim);
        let is_kept = make::compare(b, side, position, edge);
        let init = self.windows.fill(init, &shape, b);
        make::select(b, is_kept, all, init)
    }

    /// Builds the totals of the blocks that the device's total replaces, by steps in which devices send each other
    /// totals of more and more blocks.
    fn in_steps(&mut self, own: Vec<Value>, steps: &Steps, b: &mut Builder<'_>) -> Vec<Value> {
        let (mut runs, mut totals): (Vec<Value>, Option<Vec<Value>>) = (own, None);
        for step in &steps.list {
            let received: Vec<Value> = (0..runs.len()).map(|i| self.received(runs[i], i, step.ahead, b)).collect();
            if step.is_taken {
                totals = Some(match totals {
                    None => received.clone(),
                    Some(known) => self.joined(&received, &known, steps.is_received_first, b),
                });
            }
            if step.doubles {
                runs = self.joined(&received, &runs, steps.is_received_first, b);
            }
        }
        totals.expect("a run has a block")
    }

    fn joined(&mut self, received: &[Value], own: &[Value], is_first: bool, b: &mut Builder<'_>) -> Vec<Value> {
        let (before, after) = if is_first { (received, own) } else { (own, received) };
        let pairs: Vec<Value> =
            before.iter().zip(after).map(|(&x, &y)| make::concatenate(b, &[x, y], self.dim)).collect();
        (self.total)(&pairs, b)
    }
}
