//! Builds the loop over the pieces of a product: products, and permutes around the ring of devices.

use crate::matmul::{Matmul, Product};
use crate::site::{set_reason, short};
use shardwise_base::{DType, Reason};
use shardwise_ir::{Builder, OpView, Value};
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
    /// Returns the numbers of steps in which pieces are sent to reach all of `n` devices: down the ring, and up.
    fn reach(self, n: usize) -> [usize; 2] {
        match self {
            Ways::One => [n - 1, 0],
            Ways::Both => [n / 2, (n - 1) / 2],
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Ways::One => "one way around the ring",
            Ways::Both => "both ways around the ring",
        }
    }
}

/// The direction in which the pieces of each entry of [`Ways::reach`] are sent: down the ring, and up.
const DIRECTIONS: [isize; 2] = [-1, 1];

/// The pieces of a gathered operand or of a sum, and where each of them belongs.
pub(crate) struct Ring<'a> {
    matmul: &'a Matmul,
    ways: Ways,
    reason: Option<Arc<Reason>>,
    /// The type of positions.
    index: DType,
    /// The position of the device along the axes.
    me: Value,
    numbers: BTreeMap<i64, Value>,
    /// The position of the first element of each piece that was needed so far, by the number of steps up the ring.
    starts: BTreeMap<usize, Value>,
    /// The gathered pieces, each with the number of steps up the ring that it came from, which is negative for steps
    /// down.
    pieces: Vec<(isize, Value)>,
}

impl<'a> Ring<'a> {
    pub(crate) fn new(matmul: &'a Matmul, collective: &OpView<'_>, ways: Ways, b: &mut Builder<'_>) -> Ring<'a> {
        let name = short(&collective.at(matmul.products[0].op));
        let reason = collective.data().reason.as_ref().map(|reason| sent_in_pieces(reason, name));
        let is_far = i32::try_from(matmul.count * matmul.chunk).is_err();
        let index = if is_far { DType::I64 } else { DType::I32 };
        let me = make::axis_index(b, &matmul.mesh, &matmul.axes);
        let me = make::convert(b, me, index);
        let (numbers, starts) = (BTreeMap::new(), BTreeMap::new());
        Ring { matmul, ways, reason, index, me, numbers, starts, pieces: vec![] }
    }

    fn number(&mut self, n: i64, b: &mut Builder<'_>) -> Value {
        *self.numbers.entry(n).or_insert_with(|| make::number(b, self.index, n))
    }

    /// Returns the position of the first element of the piece of the device `steps` steps up the ring.
    fn start(&mut self, steps: isize, b: &mut Builder<'_>) -> Value {
        let steps = steps.rem_euclid(self.matmul.count as isize) as usize;
        if let Some(&known) = self.starts.get(&steps) {
            return known;
        }
        let mut position = self.me;
        if steps > 0 {
            let (by, count) = (self.number(steps as i64, b), self.number(self.matmul.count as i64, b));
            let sum = make::add(b, self.me, by);
            position = make::remainder(b, sum, count);
        }
        let chunk = self.number(self.matmul.chunk as i64, b);
        let start = make::multiply(b, position, chunk);
        self.starts.insert(steps, start);
        start
    }

    /// Returns the position, in each dimension of a tensor of this rank, at which the piece of the device `steps` steps
    /// up the ring starts: that of [`Ring::start`] in dimension `dim`, and 0 in all others.
    fn starts_in(&mut self, rank: usize, dim: usize, steps: isize, b: &mut Builder<'_>) -> Vec<Value> {
        let (start, zero) = (self.start(steps, b), self.number(0, b));
        (0..rank).map(|d| if d == dim { start } else { zero }).collect()
    }

    /// Sends a value on: down the ring on side 0, and up on side 1.
    fn send(&self, x: Value, side: usize, b: &mut Builder<'_>) -> Value {
        let along = AxisList::new(&self.matmul.mesh, self.matmul.axes.clone());
        let permutation = Permutation::ring(along, DIRECTIONS[side]);
        let sent = make_collective::collective_permute(b, x, &permutation);
        set_reason(b, sent, self.reason.clone());
        sent
    }

    /// Builds the permutes that bring the pieces of all devices to each of them. `own` is the device's own piece.
    pub(crate) fn gather(&mut self, own: Value, b: &mut Builder<'_>) {
        let reach = self.ways.reach(self.matmul.count);
        let mut passing = [own; 2];
        self.pieces.push((0, own));
        for step in 1..=reach[0] {
            for side in (0..2).filter(|&side| step <= reach[side]) {
                passing[side] = self.send(passing[side], side, b);
                // A piece that is sent down the ring comes from further up.
                self.pieces.push((-DIRECTIONS[side] * step as isize, passing[side]));
            }
        }
    }

    pub(crate) fn product(
        &mut self,
        product: &Product,
        view: &OpView<'_>,
        others: [Option<Value>; 2],
        b: &mut Builder<'_>,
    ) -> Value {
        let mut out = None;
        for (from, piece) in self.pieces.clone() {
            let operands = [0, 1].map(|i| match others[i] {
                Some(other) => self.piece(product, view, (i, other), from, b),
                None => piece,
            });
            let part = multiply(product, view, operands, b);
            out = Some(self.put(product, view, out, part, from, b));
        }
        make::convert(b, out.expect("there is a device"), view.result_tensor(0).dtype)
    }

    /// Returns the piece of an operand that belongs to the device `steps` steps up the ring. An operand that is not cut
    /// is returned whole.
    fn piece(
        &mut self,
        product: &Product,
        view: &OpView<'_>,
        (i, x): (usize, Value),
        steps: isize,
        b: &mut Builder<'_>,
    ) -> Value {
        let Some(dim) = product.operands[i] else { return x };
        let to = product.piece_type(view, i);
        let starts = self.starts_in(to.rank(), dim, steps, b);
        make::dynamic_slice(b, x, &starts, &to.shape)
    }

    /// Returns the result `out` with `part`, the product of the piece `from` steps up the ring: written to its place if
    /// the result is cut, and added otherwise. `out` is `None` for the first part.
    fn put(
        &mut self,
        product: &Product,
        view: &OpView<'_>,
        out: Option<Value>,
        part: Value,
        from: isize,
        b: &mut Builder<'_>,
    ) -> Value {
        let Some(dim) = product.result else {
            return out.map_or(part, |sum| make::add(b, sum, part));
        };
        let whole = view.result_tensor(0);
        let out = out.unwrap_or_else(|| make::zeros(b, whole));
        let starts = self.starts_in(whole.rank(), dim, from, b);
        make::dynamic_update_slice(b, out, part, &starts)
    }

    /// Builds the sum of products whose parts visit all devices. The sum for a device starts at the device that is
    /// farthest away, or at the farthest one on each side if it is sent both ways, and ends at the device itself.
    pub(crate) fn scattered(
        mut self,
        product: &Product,
        view: &OpView<'_>,
        operands: [Value; 2],
        b: &mut Builder<'_>,
    ) -> Value {
        let reach = self.ways.reach(self.matmul.count);
        let part = |ring: &mut Ring<'a>, steps: isize, b: &mut Builder<'_>| {
            let pieces = [0, 1].map(|i| ring.piece(product, view, (i, operands[i]), steps, b));
            let part = multiply(product, view, pieces, b);
            make::convert(b, part, product.sums)
        };
        // A sum that is sent up the ring is for a device further up.
        let still = |side: usize, steps: usize| DIRECTIONS[side] * (reach[side] - steps) as isize;
        let mut sums = [0, 1].map(|side| (reach[side] > 0).then(|| part(&mut self, still(side, 0), b)));
        for step in 1..=reach[0] {
            for side in (0..2).filter(|&side| step <= reach[side]) {
                sums[side] = sums[side].map(|sum| self.send(sum, side, b));
            }
            for side in (0..2).filter(|&side| step < reach[side]) {
                let next = part(&mut self, still(side, step), b);
                sums[side] = sums[side].map(|sum| make::add(b, sum, next));
            }
        }
        let own = part(&mut self, 0, b);
        let sum = sums.into_iter().flatten().fold(own, |sum, other| make::add(b, sum, other));
        make::convert(b, sum, view.result_tensor(0).dtype)
    }
}

fn multiply(product: &Product, view: &OpView<'_>, operands: [Value; 2], b: &mut Builder<'_>) -> Value {
    let to = product.partial_type(view);
    b.value(view.data().code, operands, view.attrs().clone(), to.into())
}

fn sent_in_pieces(reason: &Reason, name: &str) -> Arc<Reason> {
    let text = format!("{}; it is sent in pieces while `{name}` runs", reason.text);
    Arc::new(Reason { text: text.into(), ..reason.clone() })
}
