//! The per-device code of an exchange.

use super::{Digit, Exchange, Source};
use crate::collective::{AxisList, Permutation};
use crate::{make, make_collective};
use shardwise_base::{AxisRef, DType, Literal};
use shardwise_ir::{Builder, Value};

/// Builds the device's shard of the target layout, of shape `after`, from its shard `x` of the source layout.
pub fn build(b: &mut Builder<'_>, x: Value, exchange: &Exchange, after: &[usize]) -> Value {
    if exchange.is_aligned() { aligned(b, x, exchange, after) } else { rounds(b, x, exchange, after) }
}

/// A dimension of the array while its digits are dimensions of their own.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    /// The digit that this axis splits, before or after the exchange.
    Digit(AxisRef),
    /// The minor digits of this dimension, which neither layout splits.
    Rest(usize),
}

/// Builds a slice, one all-to-all over all dimensions, and a gather, each if it is needed, with the reshapes and
/// transposes between them.
fn aligned(b: &mut Builder<'_>, x: Value, exchange: &Exchange, after: &[usize]) -> Value {
    let mesh = &exchange.mesh;
    let (sliced, gathered) = exchange.sliced_and_gathered();
    let moved = exchange.moved();
    let shape = make::type_of(b, x).shape.clone();
    let (mut parts, mut rests, mut sizes) = (vec![], vec![], vec![]);
    for (d, digits) in exchange.dims.iter().enumerate() {
        let split: Vec<&Digit> = digits.iter().filter(|digit| digit.is_only_needed()).collect();
        parts.extend(split.iter().filter_map(|digit| digit.needed).map(Part::Digit));
        sizes.extend(split.iter().map(|digit| digit.size));
        rests.push(shape[d] / split.iter().map(|digit| digit.size).product::<usize>());
        parts.push(Part::Rest(d));
        sizes.push(rests[d]);
    }
    let mut x = make::reshape(b, x, &sizes);
    (x, parts) = slice(b, x, exchange, parts, &sliced);
    let size = |axes: &[AxisRef]| AxisRef::total_size(mesh, axes);
    let digits = |axes: &[AxisRef]| axes.iter().map(|&a| Part::Digit(a)).collect::<Vec<_>>();
    let others = (0..rests.len()).map(Part::Rest);
    let front: Vec<Part> = digits(&moved).into_iter().chain(others.clone()).collect();
    x = reorder(b, x, &parts, &front);
    if !moved.is_empty() {
        x = make::reshape(b, x, &[&[size(&moved)], &rests[..]].concat());
        x = make_collective::all_to_all(b, x, 0, 0, mesh, &AxisRef::merged(&moved, &exchange.mesh));
    }
    if !gathered.is_empty() {
        x = make::reshape(b, x, &[&[1, size(&moved)], &rests[..]].concat());
        x = make_collective::all_gather(b, x, 0, mesh, &AxisRef::merged(&gathered, &exchange.mesh));
    }
    let front: Vec<Part> = digits(&gathered).into_iter().chain(digits(&moved)).chain(others).collect();
    let sizes = front.iter().map(|part| match *part {
        Part::Digit(a) => a.size(mesh),
        Part::Rest(d) => rests[d],
    });
    let sizes: Vec<usize> = sizes.collect();
    x = make::reshape(b, x, &sizes);
    let own = |(d, digits): (usize, &Vec<Digit>)| {
        let left = digits.iter().filter(|digit| digit.is_only_held()).filter_map(|digit| digit.held);
        left.map(Part::Digit).chain([Part::Rest(d)]).collect::<Vec<_>>()
    };
    let last: Vec<Part> = exchange.dims.iter().enumerate().flat_map(own).collect();
    x = reorder(b, x, &front, &last);
    make::reshape(b, x, after)
}

fn slice(b: &mut Builder<'_>, x: Value, exchange: &Exchange, parts: Vec<Part>, axes: &[AxisRef]) -> (Value, Vec<Part>) {
    let is_cut = |part: &Part| matches!(part, Part::Digit(a) if axes.contains(a));
    if axes.is_empty() {
        return (x, parts);
    }
    let shape = make::type_of(b, x).shape.clone();
    let zero = make::number(b, DType::I32, 0);
    let (mut starts, mut sizes) = (vec![], vec![]);
    for (part, &n) in parts.iter().zip(&shape) {
        let start = match *part {
            Part::Digit(a) if is_cut(part) => make_collective::axis_index(b, &exchange.mesh, &[a]),
            _ => zero,
        };
        starts.push(start);
        sizes.push(if is_cut(part) { 1 } else { n });
    }
    let x = make::dynamic_slice(b, x, &starts, &sizes);
    let kept = parts.iter().zip(&sizes).filter(|(part, _)| !is_cut(part));
    let (parts, sizes): (Vec<Part>, Vec<usize>) = kept.map(|(&part, &n)| (part, n)).unzip();
    (make::reshape(b, x, &sizes), parts)
}

fn reorder(b: &mut Builder<'_>, x: Value, from: &[Part], to: &[Part]) -> Value {
    if from == to {
        return x;
    }
    let at = |part: &Part| from.iter().position(|p| p == part).expect("both have the same parts");
    make::transpose(b, x, &to.iter().map(at).collect::<Vec<_>>())
}

/// Builds the rounds, one for each combination of values of the digits that only the source splits, and joins the
/// blocks that the device receives in them.
fn rounds(b: &mut Builder<'_>, x: Value, exchange: &Exchange, after: &[usize]) -> Value {
    let plan = Rounds::new(exchange, &make::type_of(b, x).shape);
    let dtype = make::type_of(b, x).dtype;
    let x = make::reshape(b, x, &plan.shape(Digit::is_only_needed));
    let filled = plan.shape(Digit::is_only_held);
    if exchange.round_count() == 1 {
        let block = plan.received(b, x, &[]);
        return make::reshape(b, block, after);
    }
    let mut result = make::full(b, &filled, &Literal::zeros(dtype, vec![]));
    for shifts in plan.shifts() {
        let block = plan.received(b, x, &shifts);
        let starts = plan.starts(b, |digit| {
            let source = plan.sources.iter().find(|s| digit.is_only_held() && Some(s.held) == digit.held)?;
            Some((source.needed, shift_of(&shifts, source.held)))
        });
        result = make::dynamic_update_slice(b, result, block, &starts);
    }
    make::reshape(b, result, after)
}

/// The shift of each axis that turns, in one round.
type Shifts = [(AxisRef, usize)];

fn shift_of(shifts: &Shifts, axis: AxisRef) -> usize {
    shifts.iter().find(|(a, _)| *a == axis).map_or(0, |(_, shift)| *shift)
}

struct Rounds<'a> {
    exchange: &'a Exchange,
    sources: Vec<Source>,
    /// The coordinates along which sender and receiver differ in some round.
    moving: Vec<Source>,
    /// The size of each dimension of a block, which is sent in one round: the number of the minor positions that
    /// neither layout splits.
    rests: Vec<usize>,
}

impl<'a> Rounds<'a> {
    fn new(exchange: &'a Exchange, shape: &[usize]) -> Rounds<'a> {
        let split =
            |digits: &[Digit]| -> usize { digits.iter().filter(|d| d.is_only_needed()).map(|d| d.size).product() };
        let rests = exchange.dims.iter().zip(shape).map(|(digits, n)| n / split(digits)).collect();
        Rounds { exchange, sources: exchange.sources(), moving: exchange.group().0, rests }
    }

    /// Returns the shape of an array in which each dimension is divided into its digits and the rest. Digits that are
    /// not chosen have size 1.
    fn shape(&self, is_chosen: fn(&Digit) -> bool) -> Vec<usize> {
        let dims = self.exchange.dims.iter().zip(&self.rests);
        let sizes = |(digits, &rest): (&Vec<Digit>, &usize)| {
            let own = digits.iter().map(|d| if is_chosen(d) { d.size } else { 1 });
            own.chain([rest]).collect::<Vec<_>>()
        };
        dims.flat_map(sizes).collect()
    }

    fn shifts(&self) -> Vec<Vec<(AxisRef, usize)>> {
        let turning = self.sources.iter().filter(|s| s.turns).map(|s| s.held);
        turning.fold(vec![vec![]], |rounds, axis| {
            let size = axis.size(&self.exchange.mesh);
            let longer = |round: Vec<(AxisRef, usize)>| {
                (0..size).map(move |shift| [round.clone(), vec![(axis, shift)]].concat())
            };
            rounds.into_iter().flat_map(longer).collect()
        })
    }

    /// Builds the block that the device receives in a round. It sends the part of `x` that its receiver needs.
    fn received(&self, b: &mut Builder<'_>, x: Value, shifts: &Shifts) -> Value {
        let starts = self.starts(b, |digit| {
            let source = self.sources.iter().find(|s| digit.is_only_needed() && Some(s.needed) == digit.needed)?;
            let shift = if source.turns { shift_of(shifts, source.held) } else { 0 };
            Some((source.held, (digit.size - shift) % digit.size))
        });
        let block = make::dynamic_slice(b, x, &starts, &self.shape(|_| false));
        make_collective::collective_permute(b, block, &self.permutation(shifts))
    }

    /// Builds the position along each dimension of an array of the shape [`Rounds::shape`], in `i32`. `of(digit)`
    /// returns an axis and a number, whose sum with the coordinate along the axis, modulo the size, is the position
    /// along the digit. If it returns `None`, the position is 0. Along the rests, it is 0 too.
    fn starts(&self, b: &mut Builder<'_>, of: impl Fn(&Digit) -> Option<(AxisRef, usize)>) -> Vec<Value> {
        let zero = make::number(b, DType::I32, 0);
        let mut starts = vec![];
        for digits in &self.exchange.dims {
            for digit in digits {
                starts.push(of(digit).map_or(zero, |(axis, plus)| self.turned(b, axis, plus)));
            }
            starts.push(zero);
        }
        starts
    }

    fn turned(&self, b: &mut Builder<'_>, axis: AxisRef, plus: usize) -> Value {
        let mesh = &self.exchange.mesh;
        let index = make_collective::axis_index(b, mesh, &[axis]);
        if plus == 0 {
            return index;
        }
        let (plus, size) =
            (make::number(b, DType::I32, plus as i64), make::number(b, DType::I32, axis.size(mesh) as i64));
        let sum = make::add(b, index, plus);
        make::remainder(b, sum, size)
    }

    /// Returns who sends to whom in a round. Blocks move in each round, because an exchange that is not aligned has a
    /// digit that the source splits by another axis than the target.
    fn permutation(&self, shifts: &Shifts) -> Permutation {
        let mesh = &self.exchange.mesh;
        let is_moving = |s: &&Source| s.held != s.needed || shift_of(shifts, s.held) != 0 && s.turns;
        let moving: Vec<&Source> = self.moving.iter().filter(is_moving).collect();
        let list = |of: fn(&Source) -> AxisRef| AxisList::new(mesh, moving.iter().map(|s| of(s)).collect::<Vec<_>>());
        let (held, needed) = (list(|s| s.held), list(|s| s.needed));
        if moving.iter().all(|s| !s.turns || shift_of(shifts, s.held) == 0) {
            return Permutation::reorder(held, needed);
        }
        let pairs = (0..needed.size()).map(|target| (self.sender(&moving, shifts, target), target)).collect();
        Permutation::of_pairs(needed, pairs)
    }

    /// Returns the position of the sender to `target`. Both are positions along the receiver's axes.
    fn sender(&self, moving: &[&Source], shifts: &Shifts, target: usize) -> usize {
        let mesh = &self.exchange.mesh;
        let size = |s: &Source| s.needed.size(mesh);
        let mut coordinates = vec![0; moving.len()];
        moving.iter().enumerate().rev().fold(target, |rest, (i, s)| {
            coordinates[i] = rest % size(s);
            rest / size(s)
        });
        let along = |axis: AxisRef| {
            let i = moving.iter().position(|s| s.held == axis).expect("senders and receivers have the same axes");
            let shift = if moving[i].turns { shift_of(shifts, axis) } else { 0 };
            (coordinates[i] + shift) % size(moving[i])
        };
        moving.iter().fold(0, |position, s| position * size(s) + along(s.needed))
    }
}
