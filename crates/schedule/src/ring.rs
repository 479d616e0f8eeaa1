//! Builds the loop over the pieces of a product: products, and permutes around the ring of devices.

use crate::matmul::{Matmul, Side};
use shardwise_base::{DType, Reason};
use shardwise_ir::{Builder, Cloner, OpView, Value};
use shardwise_ops::collective::{AxisList, Permutation};
use shardwise_ops::{make, make_collective};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ways in which pieces are sent around the ring of `n` devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    /// To one neighbour, in `n - 1` steps.
    One,
    /// To both neighbours, in `n / 2` steps.
    Both,
}

impl Ways {
    /// Returns how far pieces are sent to reach all of `n` devices: down the ring, and up.
    fn reach(self, n: usize) -> [usize; 2] {
        match self {
            Ways::One => [n - 1, 0],
            Ways::Both => [n / 2, (n - 1) / 2],
        }
    }

    /// Returns the words for it in a decision.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Ways::One => "one way around the ring",
            Ways::Both => "both ways around the ring",
        }
    }
}

/// The direction in which the pieces of each entry of [`Ways::reach`] are sent: down the ring, and up.
const DIRECTIONS: [isize; 2] = [-1, 1];

/// A loop that is being built.
pub(crate) struct Ring<'a, 's, 'b, 'c> {
    matmul: &'a Matmul,
    product: OpView<'s>,
    ways: Ways,
    b: &'b mut Builder<'c>,
    reason: Option<Arc<Reason>>,
    /// The type of positions.
    index: DType,
    /// The position of the device along the axes.
    me: Value,
    numbers: BTreeMap<i64, Value>,
    /// The first element of each piece, by the number of steps up the ring.
    starts: BTreeMap<usize, Value>,
}

impl<'a, 's, 'b, 'c> Ring<'a, 's, 'b, 'c> {
    /// Returns the loop of a product, whose ops are appended to the builder.
    pub(crate) fn new(matmul: &'a Matmul, product: &OpView<'s>, ways: Ways, b: &'b mut Builder<'c>) -> Self {
        let collective = product.at(matmul.collective);
        let reason = collective.data().reason.as_ref().map(|reason| sent_in_pieces(reason, product));
        let is_far = i32::try_from(matmul.count * matmul.chunk).is_err();
        let index = if is_far { DType::I64 } else { DType::I32 };
        let me = make::axis_index(b, &matmul.mesh, &matmul.axes);
        let me = make::convert(b, me, index);
        let (numbers, starts) = (BTreeMap::new(), BTreeMap::new());
        Ring { matmul, product: *product, ways, b, reason, index, me, numbers, starts }
    }

    /// Builds the loop, and returns its result, which replaces that of the product or of the collective after it.
    pub(crate) fn build(mut self, cloner: &Cloner<'_>) -> Value {
        let collective = self.product.at(self.matmul.collective);
        let mut operands = [0, 1].map(|i| self.product.operand(i));
        match self.matmul.side {
            Side::Operand(i) => {
                operands[i] = collective.operand(0);
                self.gathered(i, operands.map(|v| cloner.get(v)))
            }
            Side::Result => self.scattered(operands.map(|v| cloner.get(v))),
        }
    }

    fn number(&mut self, n: i64) -> Value {
        let (b, index) = (&mut *self.b, self.index);
        *self.numbers.entry(n).or_insert_with(|| make::number(b, index, n))
    }

    /// Returns the first element of the piece of the device `steps` steps up the ring.
    fn start(&mut self, steps: isize) -> Value {
        let steps = steps.rem_euclid(self.matmul.count as isize) as usize;
        if let Some(&known) = self.starts.get(&steps) {
            return known;
        }
        let mut position = self.me;
        if steps > 0 {
            let (by, count) = (self.number(steps as i64), self.number(self.matmul.count as i64));
            let sum = make::add(self.b, self.me, by);
            position = make::remainder(self.b, sum, count);
        }
        let chunk = self.number(self.matmul.chunk as i64);
        let start = make::multiply(self.b, position, chunk);
        self.starts.insert(steps, start);
        start
    }

    /// Returns the start in each dimension of a tensor of this rank, of the piece of the device `steps` steps up the
    /// ring.
    fn starts_in(&mut self, rank: usize, dim: usize, steps: isize) -> Vec<Value> {
        let (start, zero) = (self.start(steps), self.number(0));
        (0..rank).map(|d| if d == dim { start } else { zero }).collect()
    }

    /// Returns the piece of operand `i` that is multiplied with that of the device `steps` steps up the ring. An operand
    /// that is not cut, or that is a piece, is returned whole.
    fn piece(&mut self, i: usize, x: Value, steps: isize) -> Value {
        let Some(dim) = self.matmul.operands[i] else { return x };
        let to = self.matmul.piece_type(&self.product, i);
        if self.b.body.ty(x).shape()[dim] == self.matmul.chunk {
            return x;
        }
        let starts = self.starts_in(to.shape.len(), dim, steps);
        make::dynamic_slice(self.b, x, &starts, &to.shape)
    }

    fn multiply(&mut self, operands: [Value; 2]) -> Value {
        let (code, attrs) = (self.product.data().code, self.product.attrs().clone());
        let to = self.matmul.partial_type(&self.product);
        self.b.value(code, operands, attrs, to.into())
    }

    /// Sends a value on: down the ring on side 0, and up on side 1.
    fn send(&mut self, x: Value, side: usize) -> Value {
        let along = AxisList::new(&self.matmul.mesh, self.matmul.axes.clone());
        let permutation = Permutation::ring(along, DIRECTIONS[side]);
        let sent = make_collective::collective_permute(self.b, x, &permutation);
        let op = self.b.body.def_op(sent).expect("it was just made");
        self.b.body.op_mut(op).reason = self.reason.clone();
        sent
    }

    /// Builds the product of an operand whose pieces are sent around.
    fn gathered(&mut self, operand: usize, operands: [Value; 2]) -> Value {
        let reach = self.ways.reach(self.matmul.count);
        let mut passing = [operands[operand]; 2];
        let mut pieces = vec![(0, operands[operand])];
        let mut out = None;
        for step in 1..=reach[0] + 1 {
            let sides = [0, 1].into_iter().filter(|&side| step <= reach[side]);
            let mut next = vec![];
            for side in sides {
                passing[side] = self.send(passing[side], side);
                // A piece that is sent down the ring comes from further up.
                next.push((-DIRECTIONS[side] * step as isize, passing[side]));
            }
            for (from, own) in pieces {
                let mut parts = operands;
                parts[operand] = own;
                parts[1 - operand] = self.piece(1 - operand, operands[1 - operand], from);
                let part = self.multiply(parts);
                out = Some(self.put(out, part, from));
            }
            pieces = next;
        }
        make::convert(self.b, out.expect("there is a device"), self.product.result_tensor(0).dtype)
    }

    /// Adds a part to the result, or writes it where it belongs.
    fn put(&mut self, out: Option<Value>, part: Value, from: isize) -> Value {
        let Some(dim) = self.matmul.result else {
            return out.map_or(part, |sum| make::add(self.b, sum, part));
        };
        let whole = self.product.result_tensor(0);
        let out = out.unwrap_or_else(|| make::zeros(self.b, whole));
        let starts = self.starts_in(whole.rank(), dim, from);
        make::dynamic_update_slice(self.b, out, part, &starts)
    }

    /// Builds the sum of products whose parts visit all devices. The sum for a device starts at the devices that are
    /// farthest away, one on each side, and ends at the device itself.
    fn scattered(&mut self, operands: [Value; 2]) -> Value {
        let reach = self.ways.reach(self.matmul.count);
        // A sum that is sent up the ring is for a device further up.
        let still = |side: usize, steps: usize| DIRECTIONS[side] * (reach[side] - steps) as isize;
        let mut sums = [0, 1].map(|side| (reach[side] > 0).then(|| self.part(operands, still(side, 0))));
        let mut own = None;
        for step in 1..=reach[0] {
            for side in 0..2 {
                let flying = sums[side].filter(|_| step <= reach[side]);
                sums[side] = flying.map(|sum| self.send(sum, side)).or(sums[side]);
            }
            let next = [0, 1].map(|side| (step < reach[side]).then(|| self.part(operands, still(side, step))));
            if step == reach[0] {
                own = Some(self.part(operands, 0));
            }
            for side in 0..2 {
                sums[side] = match (sums[side], next[side]) {
                    (Some(sum), Some(next)) => Some(make::add(self.b, sum, next)),
                    (sum, _) => sum,
                };
            }
        }
        let all = own.into_iter().chain(sums.into_iter().flatten()).collect::<Vec<_>>();
        let sum = all.into_iter().reduce(|sum, other| make::add(self.b, sum, other)).expect("there is a device");
        make::convert(self.b, sum, self.product.result_tensor(0).dtype)
    }

    /// Builds the device's summand for the device `steps` steps up the ring.
    fn part(&mut self, operands: [Value; 2], steps: isize) -> Value {
        let [lhs, rhs] = [0, 1].map(|i| self.piece(i, operands[i], steps));
        let part = self.multiply([lhs, rhs]);
        make::convert(self.b, part, self.matmul.sums)
    }
}

fn sent_in_pieces(reason: &Reason, product: &OpView<'_>) -> Arc<Reason> {
    let name = crate::site::joins(product);
    let text = format!("{}; it is sent in pieces while `{name}` runs", reason.text);
    Arc::new(Reason { text: text.into(), ..reason.clone() })
}
