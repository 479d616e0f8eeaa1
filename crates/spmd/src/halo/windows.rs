//! Builds the ops by which each device fetches its window.

use super::rounds::{Exchange, Need, Part, Place, Round};
use super::shared::Span;
use super::{Fetch, lay_out_like};
use shardwise_base::{AxisRef, DType, Literal, Mesh, Reason};
use shardwise_ir::{Builder, TensorType, Value};
use shardwise_ops::collective::{AxisList, Permutation};
use shardwise_ops::reducer::nothing;
use shardwise_ops::{Fill, make, make_collective};
use std::sync::Arc;

/// Builds the ops by which devices, numbered along the axes `along`, fetch windows or boxes from each other.
pub(super) struct Windows {
    along: AxisList,
    /// The reason of the next op that moves data.
    reason: Option<Arc<Reason>>,
    /// The device's position along the axes, or `None` until it is needed.
    index: Option<Value>,
    /// The values that stand for elements which no device has.
    fills: Vec<Value>,
}

impl Windows {
    pub fn new(mesh: &Arc<Mesh>, axes: &[AxisRef], reason: Option<Arc<Reason>>) -> Windows {
        Windows { along: AxisList::new(mesh, axes), reason, index: None, fills: vec![] }
    }

    /// Builds the device's windows, in order.
    pub fn fetch_all(&mut self, fetches: &[Fetch], operands: &[Value], b: &mut Builder<'_>) -> Vec<Value> {
        let mut fetched: Vec<Value> = vec![];
        for fetch in fetches {
            fetched.push(self.fetch(fetch, operands, fetched.last().copied(), b));
        }
        fetched
    }

    /// Builds the device's window of an operand. `operands` are the values of the op's operands, and `before` is the
    /// window that was fetched before.
    fn fetch(&mut self, fetch: &Fetch, operands: &[Value], before: Option<Value>, b: &mut Builder<'_>) -> Value {
        let Fetch { read, need, exchange, sent } = fetch;
        let v = operands[read.operand];
        let first = b.body[b.region].ops.len();
        let fill = match read.fill {
            Fill::Operand(i) => Outside::Scalar(operands[i]),
            Fill::Zero => Outside::Zero,
            Fill::Nothing => Outside::Scalar(make::constant(b, nothing(make::type_of(b, v).dtype))),
            Fill::Before => before.map_or(Outside::Any, Outside::Array),
            Fill::Any => Outside::Any,
        };
        let mut line = Line { windows: self, need, sent, dim: read.dim, block: make::type_of(b, v) };
        let window = match exchange {
            Exchange::Alike(parts) => {
                let window = line.join(v, parts, b);
                line.filled(window, fill, b)
            }
            Exchange::Rounds(rounds) => line.rounds(v, rounds, fill, b),
        };
        self.lay_out(v, first, b);
        window
    }

    /// Sets the layouts of the results of the ops from position `first` on in the builder's region, as
    /// [`lay_out_like`] does. Does nothing if `like` has no layout.
    pub fn lay_out(&self, like: Value, first: usize, b: &mut Builder<'_>) {
        let Some(sharding) = b.body.sharding(like).cloned() else { return };
        let made = b.body[b.region].ops[first..].to_vec();
        for op in made {
            lay_out_like(&sharding, op, |_, _| true, &self.fills, b);
        }
    }

    /// Builds an array all of whose elements are a scalar, which stands for elements that no device has.
    pub fn fill(&mut self, scalar: Value, shape: &[usize], b: &mut Builder<'_>) -> Value {
        let fill = make::broadcast_scalar(b, scalar, shape);
        self.fills.push(fill);
        fill
    }

    /// Returns the axes along which the devices that fetch from each other are numbered. For windows these split one
    /// dimension. For boxes they may split several.
    pub fn along(&self) -> &AxisList {
        &self.along
    }

    pub fn index(&mut self, b: &mut Builder<'_>) -> Value {
        *self.index.get_or_insert_with(|| make_collective::axis_index(b, &self.along.mesh, &self.along.axes))
    }

    /// Builds the number of the device in a list with one number for each position along the axes.
    pub fn number(&mut self, dtype: DType, numbers: &[i64], b: &mut Builder<'_>) -> Value {
        let step = numbers.get(1).map_or(0, |n| n - numbers[0]);
        if numbers.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return self.progression(dtype, numbers[0], step, b);
        }
        let index = self.index(b);
        let table = make::constant(b, Literal::new(vec![numbers.len()], numbers));
        let entry = make::dynamic_slice(b, table, &[index], &[1]);
        let entry = make::convert(b, entry, dtype);
        make::reshape(b, entry, &[])
    }

    /// Builds the scalar `start + step * index`, where `index` is the position of the device along the axes.
    pub fn progression(&mut self, dtype: DType, start: i64, step: i64, b: &mut Builder<'_>) -> Value {
        let start = make::number(b, dtype, start);
        if step == 0 {
            return start;
        }
        let index = self.index(b);
        let (index, step) = (make::convert(b, index, dtype), make::number(b, dtype, step));
        let steps = make::multiply(b, index, step);
        make::add(b, start, steps)
    }

    pub fn permute(&mut self, v: Value, permutation: Permutation, b: &mut Builder<'_>) -> Value {
        let received = make_collective::collective_permute(b, v, &permutation);
        self.explain(b);
        received
    }

    /// Records the reason of the exchange on the op that was built last. If the exchange is a reshard, the ops after
    /// this one are further steps of it.
    fn explain(&mut self, b: &mut Builder<'_>) {
        if let Some(reason) = &mut self.reason {
            let op = *b.body[b.region].ops.last().expect("made just now");
            b.set_reason(op, reason.clone());
            if reason.reshard.is_some() {
                Arc::make_mut(reason).step += 1;
            }
        }
    }

    /// Builds the value of the device that is `ahead` positions further. A device without such a device gets zeros.
    pub fn receive(&mut self, v: Value, ahead: i64, b: &mut Builder<'_>) -> Value {
        let along = self.along.clone();
        self.permute(v, Permutation::Shift { along, by: -ahead as isize, wraps: false }, b)
    }

    /// Builds the values of all devices, one after the other along `dim`.
    pub fn gather(&mut self, v: Value, dim: usize, b: &mut Builder<'_>) -> Value {
        let all = make_collective::all_gather(b, v, dim, &self.along.mesh, &self.along.axes);
        self.explain(b);
        all
    }
}

/// The values of the elements of a window that are outside of the operand.
#[derive(Clone, Copy)]
enum Outside {
    Any,
    Zero,
    Scalar(Value),
    Array(Value),
}

/// A dimension that is split into blocks, along which the device's window is built.
struct Line<'a> {
    windows: &'a mut Windows,
    need: &'a Need,
    /// For each part that is alike on all devices, the elements that are sent, as in [`Fetch`].
    sent: &'a [Span],
    dim: usize,
    block: TensorType,
}

impl Line<'_> {
    fn with_len(&self, len: usize) -> Vec<usize> {
        let mut shape = self.block.shape.clone();
        shape[self.dim] = len;
        shape
    }

    fn zeros(&self, len: usize, b: &mut Builder<'_>) -> Value {
        make::full(b, &self.with_len(len), &Literal::zeros(self.block.dtype, vec![]))
    }

    fn join(&mut self, v: Value, parts: &[Part], b: &mut Builder<'_>) -> Value {
        let sent = |i: usize, part: &Part| self.sent.get(i).copied().unwrap_or((part.from, part.to));
        let sent: Vec<Span> = parts.iter().enumerate().map(|(i, part)| sent(i, part)).collect();
        let pieces: Vec<Value> = parts.iter().zip(sent).map(|(part, sent)| self.part(v, part, sent, b)).collect();
        if pieces.len() == 1 { pieces[0] } else { make::concatenate(b, &pieces, self.dim) }
    }

    /// Builds the elements of a part. If a device receives them, they are cut out of `sent`, which contains them. On a
    /// device whose part no device has, they are zeros.
    fn part(&mut self, v: Value, part: &Part, sent: Span, b: &mut Builder<'_>) -> Value {
        let is_own = part.ahead == 0 || self.need.wraps && part.ahead % self.need.shards as i64 == 0;
        if !is_own && !part.is_received(self.need) {
            return self.zeros(part.to - part.from, b);
        }
        if is_own {
            return self.slice(v, part.from, part.to, b);
        }
        let own = self.slice(v, sent.0, sent.1, b);
        let (along, by) = (self.windows.along.clone(), -part.ahead as isize);
        let shift = match self.need.wraps {
            true => Permutation::ring(along, by),
            false => Permutation::Shift { along, by, wraps: false },
        };
        let received = self.windows.permute(own, shift, b);
        if sent == (part.from, part.to) {
            return received;
        }
        make::slice_dim(b, received, self.dim, part.from - sent.0, part.to - sent.0)
    }

    fn slice(&self, v: Value, from: usize, to: usize, b: &mut Builder<'_>) -> Value {
        if (from, to) == (0, self.block.shape[self.dim]) { v } else { make::slice_dim(b, v, self.dim, from, to) }
    }

    /// Builds the window with the elements outside of the operand replaced by `outside`. Returns the window itself if
    /// it has no such elements, if they may have any value, or if they have the right value already.
    fn filled(&mut self, window: Value, outside: Outside, b: &mut Builder<'_>) -> Value {
        let Need { size, shards, inside: (from, to), .. } = *self.need;
        let has_garbage = self.need.block() * shards != size;
        match outside {
            Outside::Any => return window,
            // A device that receives nothing gets zeros.
            Outside::Zero if !has_garbage && (from, to) == (0, size) => return window,
            _ if !self.need.leaves() => return window,
            _ => {}
        }
        let dtype = self.need.positions();
        let start = self.windows.progression(dtype, self.need.start, self.need.step, b);
        let [first, end] = [from, to].map(|n| make::number(b, dtype, n as i64));
        let (first, end) = (make::subtract(b, first, start), make::subtract(b, end, start));
        let is_inside = self.between(first, end, b);
        let outside = self.array(outside, b);
        make::select(b, is_inside, window, outside)
    }

    fn array(&mut self, outside: Outside, b: &mut Builder<'_>) -> Value {
        match outside {
            Outside::Any | Outside::Zero => self.zeros(self.need.len, b),
            Outside::Scalar(v) => {
                let shape = self.with_len(self.need.len);
                self.windows.fill(v, &shape, b)
            }
            Outside::Array(v) => v,
        }
    }

    fn between(&self, from: Value, to: Value, b: &mut Builder<'_>) -> Value {
        let shape = self.with_len(self.need.len);
        let dtype = self.need.positions();
        let position = make::iota(b, TensorType::new(dtype, shape.clone()), self.dim);
        let (from, to) = (make::broadcast_scalar(b, from, &shape), make::broadcast_scalar(b, to, &shape));
        let (is_after, is_before) = (make::compare(b, "GE", position, from), make::compare(b, "LT", position, to));
        make::and(b, is_after, is_before)
    }

    fn rounds(&mut self, v: Value, rounds: &[Round], outside: Outside, b: &mut Builder<'_>) -> Value {
        let window = self.array(outside, b);
        rounds.iter().fold(window, |window, round| self.round(v, window, round, b))
    }

    fn round(&mut self, v: Value, window: Value, round: &Round, b: &mut Builder<'_>) -> Value {
        let mut part = self.sent(v, round, b);
        if !round.pairs.is_empty() {
            let along = self.windows.along.clone();
            part = self.windows.permute(part, Permutation::of_pairs(along, round.pairs.clone()), b);
        }
        let len = self.need.len;
        let at = known(round.place.iter().map(|p| p.map(|p| p.at)));
        let placed = self.placed(part, round.len, &at, b);
        let takes_all = |p: &Option<Place>| p.is_some_and(|p| (p.from, p.to) == (0, len));
        if round.place.iter().all(takes_all) {
            return placed;
        }
        let dtype = self.need.positions();
        let numbers = |of: fn(&Place) -> usize| -> Vec<i64> {
            round.place.iter().map(|p| p.as_ref().map_or(0, of) as i64).collect()
        };
        let from = self.windows.number(dtype, &numbers(|p| p.from), b);
        let to = self.windows.number(dtype, &numbers(|p| p.to), b);
        let is_placed = self.between(from, to, b);
        make::select(b, is_placed, placed, window)
    }

    fn sent(&mut self, v: Value, round: &Round, b: &mut Builder<'_>) -> Value {
        let from = known(round.send.iter().map(|s| s.map(|s| s as i64)));
        match from.iter().all(|&n| n == from[0]) {
            true => self.slice(v, from[0] as usize, from[0] as usize + round.len, b),
            false => {
                let dtype = self.need.positions();
                let start = self.windows.number(dtype, &from, b);
                self.dynamic(v, start, dtype, round.len, b)
            }
        }
    }

    fn dynamic(&self, v: Value, start: Value, dtype: DType, len: usize, b: &mut Builder<'_>) -> Value {
        let zero = make::number(b, dtype, 0);
        let mut starts = vec![zero; self.block.rank()];
        starts[self.dim] = start;
        make::dynamic_slice(b, v, &starts, &self.with_len(len))
    }

    /// Builds an array of the window's length in which the first element of `part` is at position `at`, for each
    /// device. All other elements are zeros.
    fn placed(&mut self, part: Value, len: usize, at: &[i64], b: &mut Builder<'_>) -> Value {
        let (wanted, rank) = (self.need.len as i64, self.block.rank());
        let zero = make::constant(b, Literal::zeros(self.block.dtype, vec![]));
        let pad = |b: &mut Builder<'_>, before: i64, after: i64| {
            let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
            (low[self.dim], high[self.dim]) = (before, after);
            make::pad(b, part, zero, &low, &high, &vec![0; rank])
        };
        if at.iter().all(|&n| n == at[0]) {
            let after = wanted - at[0] - len as i64;
            return if (at[0], after) == (0, 0) { part } else { pad(b, at[0], after) };
        }
        let padded = pad(b, wanted, wanted);
        let dtype = self.need.positions();
        let starts: Vec<i64> = at.iter().map(|at| wanted - at).collect();
        let start = self.windows.number(dtype, &starts, b);
        self.dynamic(padded, start, dtype, self.need.len, b)
    }
}

impl Need {
    /// Returns the element type of positions along the dimension: i32 if all of them fit, and i64 otherwise.
    pub fn positions(&self) -> DType {
        let most = self.size as i64 + self.len as i64;
        let reach = self.start.abs() + self.step.abs() * self.shards as i64;
        if most + reach < i64::from(i32::MAX) { DType::I32 } else { DType::I64 }
    }
}

/// Returns the numbers with the unknown ones replaced by the first known one, or by 0 if none is known.
pub(super) fn known(numbers: impl Iterator<Item = Option<i64>> + Clone) -> Vec<i64> {
    let first = numbers.clone().flatten().next().unwrap_or(0);
    numbers.map(|n| n.unwrap_or(first)).collect()
}
