//! Direct exchanges between layouts whose blocks do not nest, in rounds of permutes of boxes.
//!
//! Along each dimension, the blocks of the two layouts are cut where blocks of the other layout begin. What a device
//! needs of another block is then a box, a product of such parts. Boxes of one shape are sent in rounds, in which each
//! device sends at most one box and receives at most one.
//!
//! Example: 12 elements on a mesh `x=2, y=3`, from `[{"x"}]` to `[{"y"}]`. The blocks `0..6` and `6..12` and the blocks
//! `0..4`, `4..8` and `8..12` are cut into the parts `0..4`, `4..6`, `6..8` and `8..12`. The devices with `x=0` hold
//! the first two parts. One of them needs `8..12`, another one `6..8`, and the third one nothing. One round is enough,
//! in which the device that needs two elements receives an array of four.
//!
//! The more lengths the parts have, the more shapes and rounds there are. The parts of a dimension are therefore cut in
//! one of several ways ([`Cut`]), of which some enlarge parts: a box is then the valid part of what is sent.
//!
//! The axes by which both layouts split a dimension first are left out: the exchange is the same for each coordinate
//! along them. The plan does not depend on the number of devices along these and along unused axes.

use super::{Work, is_local};
use crate::colour::coloured;
use shardwise_base::{AxisRef, DType, Mesh, Sharding, budget};
use shardwise_ops::collective::with_index_in;
use shardwise_ops::shardy::exchange::MAX_ROUNDS;
use shardwise_sharding::cost::{bytes_of_blocks, start};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The largest number of devices that may exchange boxes with each other. There is no exchange in larger groups,
/// because it lists pairs of devices.
const MAX_GROUP: usize = 256;

/// The most boxes that a device may need.
const MAX_BOXES: usize = 4 * MAX_ROUNDS;

/// The work after which the search for an exchange ends, with the best one found so far.
const MAX_WORK: usize = 40_000;

/// The number of boxes that take as long as an edge of a search for a path. Work is counted in such edges.
const BOXES: usize = 16;

/// One number for each dimension.
pub(crate) type Index = SmallVec<[usize; 4]>;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Boxes {
    /// The axes along which the devices that exchange boxes with each other are numbered, major to minor.
    pub along: Vec<AxisRef>,
    /// The rounds in which a device keeps elements of its own block, then those in which devices send to each other.
    pub rounds: Vec<Round>,
    pub price: Price,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Price {
    /// The number of permutes.
    pub round_count: u64,
    /// The price of starting one permute.
    start: u64,
    /// The bytes that the device that receives most receives.
    pub bytes_received: u64,
    /// The sum over all rounds of the bytes of the array that a device sends in the round.
    bytes_in_rounds: u64,
}

/// Boxes that are sent in arrays of one shape. Each device sends at most one of them and receives at most one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Round {
    pub shape: Index,
    pub boxes: Vec<Sent>,
}

/// A box that a device sends to another one, or keeps.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sent {
    pub source: usize,
    pub target: usize,
    /// The position of the box in the source's block.
    pub from: Index,
    /// The position of the box in the target's block.
    pub to: Index,
    /// The shape of the box, which is at most the shape of the round.
    pub size: Index,
}

/// A dimension that the source layout and the target layout split into blocks.
#[derive(Clone)]
struct Line {
    /// The sizes of the blocks of the source layout (`held`) and of the target layout (`needed`).
    held: usize,
    needed: usize,
    /// The parts of each block of the target layout, without further cuts.
    whole: Parts,
    /// The parts after each [`Cut`] of [`CUTS`] that is possible. Equal results are listed once.
    cuts: Vec<Parts>,
}

#[derive(Clone, PartialEq)]
struct Parts {
    /// The lengths in which parts are sent, the longest first.
    lengths: Vec<usize>,
    /// The parts of each block of the target layout.
    of: Vec<Vec<Part>>,
}

/// An interval of a dimension that is in one block of each layout.
#[derive(Clone, Copy, PartialEq)]
struct Part {
    /// The number of the block of the source layout that contains the interval.
    held: usize,
    low: usize,
    high: usize,
    /// The position in [`Parts::lengths`] of the length in which the part is sent.
    class: usize,
    /// True if a device receives a box of this part.
    is_moved: bool,
}

/// A way to cut parts into shorter ones, and the lengths in which these are sent.
#[derive(Clone, Copy)]
enum Cut {
    /// Parts are not cut. Each is sent in an array of its own length.
    Whole,
    /// Parts are cut into pieces of one length, the greatest common divisor of the lengths of all parts that are moved.
    Equal,
    /// Parts are not cut. All of them are sent in arrays of the length of the longest one.
    Longest,
    /// Parts are cut into pieces of the length of the longest part, of a half of it, of a quarter and so on, with this
    /// number of halvings. The last piece of a part may be sent in an array that is longer than the piece, by less than
    /// the smallest length.
    Halves(u32),
}

const CUTS: [Cut; 6] = [Cut::Whole, Cut::Equal, Cut::Longest, Cut::Halves(1), Cut::Halves(3), Cut::Halves(6)];

/// The devices that exchange boxes with each other.
struct Group {
    along: Vec<AxisRef>,
    /// The number of elements of each dimension, within one coordinate of the axes that are left out. It includes the
    /// padding of a dimension with such axes.
    shape: Index,
    /// The number of blocks of each dimension in the source layout and in the target layout.
    counts: [Index; 2],
    /// The block of each device, in the source layout and in the target layout.
    blocks: [Vec<Index>; 2],
    /// The devices that hold each block of the source layout. Blocks are numbered row-major.
    holders: Vec<Vec<usize>>,
    element_bytes: usize,
    /// The price of starting a permute.
    start: u64,
}

impl Boxes {
    /// Returns the cheapest exchange from one layout to another on the same mesh that is found with [`MAX_WORK`], among
    /// those with one of the [`CUTS`] in each dimension. `shape` is the global shape. Returns `None` if the value has
    /// no elements, if too many devices exchange boxes, if a device needs too many boxes, if all exchanges take too
    /// many rounds, or if the work ends before one is found.
    pub fn between(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Boxes> {
        let best = Best::between(from, to, shape, dtype, &mut Work::unlimited())?;
        let rounds = best.group.rounds(&best.lines, &best.chosen);
        Some(Boxes { rounds, along: best.group.along, price: best.price })
    }
}

/// The cheapest exchange that was found between two layouts.
pub(super) struct Best {
    group: Group,
    pub price: Price,
    lines: Vec<Line>,
    chosen: Vec<usize>,
}

impl Best {
    /// Returns the exchange of [`Boxes::between`], without its rounds, and adds the work of the search to `work`. If
    /// `work` is spent, the first exchange that is found is returned. If it is overspent ([`Work::is_overspent`]), the
    /// result is `None`.
    pub fn between(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, work: &mut Work) -> Option<Best> {
        if work.is_overspent() {
            return None;
        }
        let group = Group::new(from, to, shape, dtype)?;
        let most_work = work.done + MAX_WORK;
        let mut best: Option<(Price, Vec<Line>, Vec<usize>)> = None;
        for ends in group.ends() {
            work.done += group.blocks[0].len() * shape.len() / BOXES;
            let Some((lines, least)) = group.lines(&ends) else { continue };
            let price = best.as_ref().map(|(price, ..)| *price);
            let mut choice =
                Choice { group: &group, lines: &lines, least, chosen: vec![], price, best: None, work, most_work };
            let counts = |needed: &Index| {
                let has_boxes = lines.iter().zip(needed).all(|(line, &n)| !line.whole.of[n].is_empty());
                if has_boxes { (1, 1) } else { (0, 0) }
            };
            choice.choose(&group.blocks[1].iter().map(counts).collect::<Vec<_>>());
            if let (Some(price), Some(chosen)) = (choice.price, choice.best) {
                best = Some((price, lines, chosen));
            }
        }
        best.map(|(price, lines, chosen)| Best { group, price, lines, chosen })
    }
}

impl Price {
    /// Returns the price of the bytes and of starting the permutes.
    pub fn total(&self) -> u64 {
        self.bytes_received + self.round_count * self.start
    }

    /// Returns the numbers by which prices are compared: the total, and then the sum over all rounds of the bytes of
    /// the array that a device sends in the round.
    fn order(&self) -> (u64, u64) {
        (self.total(), self.bytes_in_rounds)
    }
}

/// The search for the best choice of one cut for each dimension, by position in [`Line::cuts`].
struct Choice<'a> {
    group: &'a Group,
    lines: &'a [Line],
    least: LeastPrice,
    /// The positions of the cuts chosen for the first dimensions.
    chosen: Vec<usize>,
    /// The best price so far, or `None` if no exchange was found.
    price: Option<Price>,
    /// The choice that has the best price, unless an earlier search found that price.
    best: Option<Vec<usize>>,
    work: &'a mut Work,
    /// The work at which the search ends.
    most_work: usize,
}

/// A price that no choice of cuts can be below.
#[derive(Clone, Copy)]
struct LeastPrice {
    bytes: u64,
    round_count: u64,
    start: u64,
}

impl LeastPrice {
    fn total(&self) -> u64 {
        self.bytes + self.round_count * self.start
    }
}

impl Choice<'_> {
    /// Tries the choices that begin with those made in `chosen`, and records the best one, until the search is over or
    /// hopeless. For each device, `counts` are the numbers of all its boxes and of those in its own block, in the
    /// dimensions chosen so far. Both are 0 if the device needs no elements.
    fn choose(&mut self, counts: &[(usize, usize)]) {
        budget::poll();
        self.work.done += counts.len() / BOXES + 1;
        if self.is_hopeless(counts) || self.is_over() {
            return;
        }
        let d = self.chosen.len();
        if d == self.lines.len() {
            return self.compare(counts);
        }
        for (i, parts) in self.lines[d].cuts.iter().enumerate() {
            let blocks =
                self.group.blocks[0].iter().zip(&self.group.blocks[1]).map(|(held, needed)| (held[d], needed[d]));
            let longer = |(&(all, own), (held, needed)): (&(usize, usize), (usize, usize))| {
                let parts = &parts.of[needed];
                (all * parts.len(), own * parts.iter().filter(|p| p.held == held).count())
            };
            let counts: Vec<(usize, usize)> = counts.iter().zip(blocks).map(longer).collect();
            self.chosen.push(i);
            self.choose(&counts);
            self.chosen.pop();
        }
    }

    /// Returns true if the search ends because it has used up the work for one exchange, or because the work of all
    /// planning is spent and an exchange has been found.
    fn is_over(&self) -> bool {
        self.work.done >= self.most_work || (self.work.is_spent() && self.price.is_some())
    }

    /// Returns true if no choice that begins with those made has to be tried: all of them take too many rounds or cost
    /// more than the best one so far, or no exchange can cost less than the best one. A device receives at most one box
    /// in a round, so `counts` bounds the rounds from below.
    fn is_hopeless(&self, counts: &[(usize, usize)]) -> bool {
        let received = counts.iter().map(|(all, own)| all.saturating_sub(*own) as u64).max().unwrap_or(0);
        let round_count = received.max(self.least.round_count);
        let total = LeastPrice { round_count, ..self.least }.total();
        let is_dear = |price: &Price| price.total() < total || price.total() <= self.least.total();
        round_count > MAX_ROUNDS as u64 || self.price.as_ref().is_some_and(is_dear)
    }

    fn compare(&mut self, counts: &[(usize, usize)]) {
        self.work.done += counts.iter().map(|(all, _)| all).sum::<usize>() / BOXES;
        let cut: Vec<&Parts> = self.lines.iter().zip(&self.chosen).map(|(line, &i)| &line.cuts[i]).collect();
        let Some(price) = self.group.price(&cut) else { return };
        if self.price.is_none_or(|least| price.order() < least.order()) {
            (self.price, self.best) = (Some(price), Some(self.chosen.clone()));
        }
    }
}

impl Group {
    fn new(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Group> {
        if shape.contains(&0) {
            return None;
        }
        let mesh = &*from.mesh;
        let mut group = Group {
            along: vec![],
            shape: shape.into(),
            counts: [from, to].map(|s| s.shard_counts().into()),
            blocks: [vec![], vec![]],
            holders: vec![],
            element_bytes: dtype.storage_bytes(),
            start: start(mesh),
        };
        let common = |d: usize| -> Vec<AxisRef> {
            let is_same = is_local(shape[d], group.counts[0][d], group.counts[1][d]);
            let axes = is_same.then(|| common_prefix(&from.dims[d].axes, &to.dims[d].axes));
            axes.filter(|axes| AxisRef::total_size(mesh, axes) > 1).unwrap_or_default()
        };
        let mut left_out: Vec<Vec<AxisRef>> = (0..shape.len()).map(common).collect();
        let used: Vec<AxisRef> = from.split_axes().chain(to.split_axes()).collect();
        let rest = |left_out: &[AxisRef]| AxisRef::union(mesh, used.iter().flat_map(|a| a.minus(mesh, left_out)));
        group.along = rest(&left_out.concat());
        // Parts of an axis that contradict each other are replaced by the whole axis.
        if group.along.iter().any(|a| left_out.iter().flatten().any(|b| a.overlaps(*b))) {
            left_out.iter_mut().for_each(Vec::clear);
            group.along = rest(&[]);
        }
        for (d, axes) in left_out.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
            let size = AxisRef::total_size(mesh, axes);
            group.shape[d] = shape[d].next_multiple_of(group.counts[0][d]) / size;
            group.counts.iter_mut().for_each(|counts| counts[d] /= size);
        }
        let device_count = group.along.iter().try_fold(1usize, |n, a| n.checked_mul(a.size(mesh)))?;
        if device_count > MAX_GROUP {
            return None;
        }
        group.place([from, to], mesh, device_count);
        Some(group)
    }

    fn place(&mut self, layouts: [&Sharding; 2], mesh: &Mesh, device_count: usize) {
        let origin = vec![0; mesh.axes.len()];
        let coordinates: Vec<Vec<usize>> =
            (0..device_count).map(|i| with_index_in(mesh, &self.along, &origin, i)).collect();
        self.blocks = layouts.map(|s| coordinates.iter().map(|c| s.shard_index(c).into()).collect());
        self.holders = vec![vec![]; self.counts[0].iter().product()];
        for device in 0..device_count {
            let block = self.number(self.blocks[0][device].iter().copied());
            self.holders[block].push(device);
        }
    }

    /// Returns the row-major number of a block of the source layout, given its index in each dimension.
    fn number(&self, block: impl Iterator<Item = usize>) -> usize {
        block.zip(&self.counts[0]).fold(0, |number, (i, n)| number * n + i)
    }

    /// Returns one or two versions of the ends of the dimensions: at their last elements, and, if both layouts pad some
    /// dimension, at the smaller of the two padded sizes. Boxes that contain padding differ less in shape.
    fn ends(&self) -> Vec<Index> {
        let padded = |d: usize| [0, 1].map(|side| self.shape[d].next_multiple_of(self.counts[side][d]));
        let behind: Index = (0..self.shape.len()).map(|d| padded(d)[0].min(padded(d)[1])).collect();
        if behind == self.shape { vec![behind] } else { vec![self.shape.clone(), behind] }
    }

    /// Returns the dimensions, which end at `ends`, with the ways to cut their parts, and the least price that an
    /// exchange may have. Returns `None` if a device needs too many boxes.
    fn lines(&self, ends: &Index) -> Option<(Vec<Line>, LeastPrice)> {
        let blocks = |d: usize| [0, 1].map(|side| self.shape[d].div_ceil(self.counts[side][d]));
        let mut whole: Vec<Parts> =
            (0..ends.len()).map(|d| Parts::new(blocks(d), self.counts[1][d], ends[d])).collect();
        let least = self.mark_moved(&mut whole)?;
        let line = |(d, whole): (usize, Parts)| {
            let [held, needed] = blocks(d);
            let mut cuts: Vec<Parts> = vec![];
            for cut in CUTS {
                let parts = whole.cut(cut);
                cuts.extend(parts.filter(|parts| !cuts.contains(parts)));
            }
            Line { held, needed, whole, cuts }
        };
        Some((whole.into_iter().enumerate().map(line).collect(), least))
    }

    /// Marks the parts of which a device receives a box. Returns the price of the boxes without further cuts, in as
    /// many rounds as a device receives boxes. Returns `None` if a device needs too many boxes.
    fn mark_moved(&self, whole: &mut [Parts]) -> Option<LeastPrice> {
        let mut moved: Vec<(usize, usize, usize)> = vec![];
        let (mut most_elements, mut most_boxes) = (0, 0);
        let parts: Vec<&Parts> = whole.iter().collect();
        for (held, needed) in self.blocks[0].iter().zip(&self.blocks[1]) {
            let (mut elements, mut boxes) = (0, 0);
            for_each_box(&parts, needed, |chosen| {
                if chosen.iter().zip(held).any(|(p, &h)| p.held != h) {
                    moved.extend(chosen.iter().zip(needed).enumerate().map(|(d, (p, &n))| (d, n, p.held)));
                    elements += chosen.iter().map(|p| p.high - p.low).product::<usize>() as u64;
                    boxes += 1;
                }
            })?;
            (most_elements, most_boxes) = (elements.max(most_elements), boxes.max(most_boxes));
        }
        moved.sort_unstable();
        moved.dedup();
        for (d, n, held) in moved {
            whole[d].of[n].iter_mut().filter(|p| p.held == held).for_each(|p| p.is_moved = true);
        }
        let bytes = bytes_of_blocks(most_elements, [], self.element_bytes);
        Some(LeastPrice { bytes, round_count: most_boxes, start: self.start })
    }

    /// Returns the price of an exchange of these parts, or `None` if it takes too many rounds or if a device needs too
    /// many boxes.
    fn price(&self, parts: &[&Parts]) -> Option<Price> {
        let block_count = self.holders.len();
        // The shapes that occur, each of which takes a round at least.
        let mut classes: SmallVec<[usize; MAX_ROUNDS]> = SmallVec::new();
        let mut elements: Vec<u64> = vec![];
        let mut received = vec![0usize; MAX_ROUNDS];
        let mut most_received = [0usize; MAX_ROUNDS];
        let mut wanted: Vec<usize> = vec![];
        let mut most_elements = 0;
        for (held, needed) in self.blocks[0].iter().zip(&self.blocks[1]) {
            received.fill(0);
            let own = self.number(held.iter().copied());
            let mut has_too_many = false;
            for_each_box(parts, needed, |chosen| {
                let block = self.number(chosen.iter().map(|p| p.held));
                if block == own || has_too_many {
                    return;
                }
                let class = class_of(parts, chosen);
                let known = classes.iter().position(|&c| c == class);
                if known.is_none() && classes.len() == MAX_ROUNDS {
                    has_too_many = true;
                    return;
                }
                let number = known.unwrap_or_else(|| {
                    classes.push(class);
                    elements.push(shape_of_class(parts, class).iter().product::<usize>() as u64);
                    wanted.resize(classes.len() * block_count, 0);
                    classes.len() - 1
                });
                received[number] += 1;
                wanted[number * block_count + block] += 1;
            })?;
            if has_too_many {
                return None;
            }
            most_received.iter_mut().zip(&received).for_each(|(most, n)| *most = (*most).max(*n));
            most_elements = most_elements.max(received.iter().zip(&elements).map(|(&n, e)| n as u64 * e).sum());
        }
        let sent = |class: usize| {
            let wanted = wanted[class * block_count..][..block_count].iter().zip(&self.holders);
            wanted.map(|(n, holders)| n.div_ceil(holders.len().max(1))).max().unwrap_or(0)
        };
        let counts: Vec<u64> = (0..classes.len()).map(|class| most_received[class].max(sent(class)) as u64).collect();
        let round_count = counts.iter().sum();
        let elements_in_rounds: u64 =
            counts.iter().zip(&elements).map(|(n, e)| n.saturating_mul(*e)).fold(0, u64::saturating_add);
        (round_count <= MAX_ROUNDS as u64).then_some(Price {
            round_count,
            start: self.start,
            bytes_received: bytes_of_blocks(most_elements, [], self.element_bytes),
            bytes_in_rounds: bytes_of_blocks(elements_in_rounds, [], self.element_bytes),
        })
    }

    /// Returns the rounds of an exchange. `chosen` has, for each dimension, the position in [`Line::cuts`] of its
    /// parts. The first rounds, which the price does not count, copy what devices keep of their own blocks.
    fn rounds(&self, lines: &[Line], chosen: &[usize]) -> Vec<Round> {
        let parts: Vec<&Parts> = lines.iter().zip(chosen).map(|(line, &i)| &line.cuts[i]).collect();
        let mut kept: BTreeMap<Index, Vec<Sent>> = BTreeMap::new();
        let mut moved: BTreeMap<Index, Vec<(usize, Vec<Part>)>> = BTreeMap::new();
        for (target, (held, needed)) in self.blocks[0].iter().zip(&self.blocks[1]).enumerate() {
            let of_block = |line: &Line, n: usize, h: usize| line.whole.of[n].iter().copied().find(|p| p.held == h);
            let own = lines.iter().zip(needed).zip(held).map(|((line, &n), &h)| of_block(line, n, h));
            if let Some(own) = own.collect::<Option<Vec<Part>>>() {
                let kept_box = sent(lines, &own, needed, target, target);
                kept.entry(kept_box.size.clone()).or_default().push(kept_box);
            }
            let block = self.number(held.iter().copied());
            for_each_box(&parts, needed, |chosen| {
                if self.number(chosen.iter().map(|p| p.held)) != block {
                    let shape = shape_of_class(&parts, class_of(&parts, chosen));
                    moved.entry(shape).or_default().push((target, chosen.to_vec()));
                }
            });
        }
        let kept = kept.into_iter().map(|(shape, boxes)| Round { shape, boxes });
        let moved = moved.into_iter().rev().flat_map(|(shape, boxes)| self.rounds_of_shape(lines, &shape, boxes));
        kept.chain(moved).collect()
    }

    /// Returns the rounds in which these boxes, each with the device that receives it, are sent in arrays of this
    /// shape. The devices that hold a block send its boxes in turn.
    fn rounds_of_shape(&self, lines: &[Line], shape: &Index, boxes: Vec<(usize, Vec<Part>)>) -> Vec<Round> {
        let mut turns = vec![0; self.holders.len()];
        let mut moves = Vec::with_capacity(boxes.len());
        for (target, parts) in &boxes {
            let block = self.number(parts.iter().map(|p| p.held));
            let holders = &self.holders[block];
            let source = holders[turns[block] % holders.len()];
            turns[block] += 1;
            moves.push(sent(lines, parts, &self.blocks[1][*target], source, *target));
        }
        let pairs: Vec<(usize, usize)> = moves.iter().map(|m| (m.source, m.target)).collect();
        let colours = coloured(&pairs, self.blocks[1].len());
        let count = colours.iter().max().map_or(0, |most| most + 1);
        let mut rounds = vec![Round { shape: shape.clone(), boxes: vec![] }; count];
        colours.into_iter().zip(moves).for_each(|(colour, m)| rounds[colour].boxes.push(m));
        rounds
    }
}

fn class_of(parts: &[&Parts], chosen: &[Part]) -> usize {
    parts.iter().zip(chosen).fold(0, |class, (parts, part)| class * parts.lengths.len() + part.class)
}

fn shape_of_class(parts: &[&Parts], mut class: usize) -> Index {
    let mut shape: Index = parts.iter().map(|_| 0).collect();
    for (size, parts) in shape.iter_mut().zip(parts).rev() {
        *size = parts.lengths[class % parts.lengths.len()];
        class /= parts.lengths.len();
    }
    shape
}

fn sent(lines: &[Line], parts: &[Part], needed: &Index, source: usize, target: usize) -> Sent {
    let from = parts.iter().zip(lines).map(|(p, line)| p.low - p.held * line.held).collect();
    let to = parts.iter().zip(lines).zip(needed).map(|((p, line), n)| p.low - n * line.needed).collect();
    Sent { source, target, from, to, size: parts.iter().map(|p| p.high - p.low).collect() }
}

/// Calls `f` with the parts of each box of a block of the target layout. Returns `None` without a call of `f` if the
/// boxes are too many.
fn for_each_box(parts: &[&Parts], needed: &Index, mut f: impl FnMut(&[Part])) -> Option<()> {
    let lists: SmallVec<[&[Part]; 4]> = parts.iter().zip(needed).map(|(parts, &n)| &parts.of[n][..]).collect();
    let count = lists.iter().map(|list| list.len()).fold(1, usize::saturating_mul);
    if count > MAX_BOXES {
        return None;
    }
    let mut chosen: SmallVec<[Part; 4]> = SmallVec::new();
    for number in 0..count {
        chosen.clear();
        let mut rest = number;
        for list in &lists {
            chosen.push(list[rest % list.len()]);
            rest /= list.len();
        }
        f(&chosen);
    }
    Some(())
}

impl Parts {
    /// Returns the parts of a dimension that ends at `end`, with source and target blocks of these sizes, for each of
    /// the `needed_count` target blocks. The parts are whole, have no lengths yet, and are not marked as moved.
    fn new([held, needed]: [usize; 2], needed_count: usize, end: usize) -> Parts {
        let parts_of = |n: usize| {
            let (mut low, last) = ((n * needed).min(end), ((n + 1) * needed).min(end));
            let mut parts = vec![];
            while low < last {
                let block = low / held;
                let high = last.min((block + 1) * held);
                parts.push(Part { held: block, low, high, class: 0, is_moved: false });
                low = high;
            }
            parts
        };
        Parts { lengths: vec![], of: (0..needed_count).map(parts_of).collect() }
    }

    /// Returns the parts with those that are moved cut in this way, or `None` if the shorter parts or their lengths are
    /// too many.
    fn cut(&self, cut: Cut) -> Option<Parts> {
        let all = || self.of.iter().flatten().filter(|p| p.is_moved).map(|p| p.high - p.low);
        let longest = all().max().unwrap_or(1);
        let mut lengths: Vec<usize> = match cut {
            _ if all().next().is_none() => vec![1],
            Cut::Whole => all().collect(),
            Cut::Equal => vec![all().fold(0, |size, length| gcd(length, size))],
            Cut::Longest => vec![longest],
            Cut::Halves(count) => (0..=count).map(|i| longest.div_ceil(1 << i)).collect(),
        };
        lengths.sort_unstable();
        lengths.dedup();
        lengths.reverse();
        let smallest = *lengths.last()?;
        let is_short = matches!(cut, Cut::Whole) || longest / smallest <= MAX_BOXES;
        if !is_short || lengths.len() > MAX_ROUNDS {
            return None;
        }
        let slack = if matches!(cut, Cut::Whole) { 0 } else { smallest - 1 };
        let shorter = |part: &Part| if part.is_moved { part.cut(&lengths, slack) } else { vec![*part] };
        let of = self.of.iter().map(|parts| parts.iter().flat_map(shorter).collect()).collect();
        Some(Parts { of, lengths })
    }
}

impl Part {
    /// Returns the part in pieces that are sent in these lengths, the longest first. A piece may be shorter than the
    /// length in which it is sent by at most `slack` elements.
    fn cut(self, lengths: &[usize], slack: usize) -> Vec<Part> {
        let (mut low, mut pieces) = (self.low, vec![]);
        while low < self.high {
            let rest = self.high - low;
            let class = lengths.iter().position(|&n| n <= rest + slack).expect("the smallest length fits");
            let high = self.high.min(low + lengths[class]);
            pieces.push(Part { low, high, class, ..self });
            low = high;
        }
        pieces
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the longest list of axes with which both lists begin. Its last axis may be a common major part of two axes.
fn common_prefix(a: &[AxisRef], b: &[AxisRef]) -> Vec<AxisRef> {
    let whole = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut common = a[..whole].to_vec();
    if let (Some(a), Some(b)) = (a.get(whole), b.get(whole)) {
        common.extend(a.greatest_common_prefix(*b).filter(|_| a.can_coexist(*b)));
    }
    common
}
