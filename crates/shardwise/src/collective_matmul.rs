//! Matmuls that hide the communication they need: while one piece is multiplied, the next one travels.
//!
//! In per-device code, with the parts that the device holds. A product is an einsum of two operands, `letter` is the
//! dimension that lies in parts along the axes `Y`, and `·` sums over the letters that the result lacks:
//!
//! | function | contracting | free | batch |
//! |---|---|---|---|
//! | [`all_gather`] | `A[B, D_Y] · W[D, F] -> Out[B, F]` | `A[B_Y, D] · W[D, F] -> Out[B, F]` | `A[G_Y, B, D] · W[G, D, F] -> Out[G, B, F]` |
//! | [`reduce_scatter`] | `A[B, D_Y] · W[D_Y, F]`, and so below | `-> Out[B, F_Y]`, `-> Out[B_Y, F]` | `-> Out[G_Y, B, F]` |
//! | [`all_reduce`] | | `-> Out[B, F]`, tiled over `F` or `B` | `-> Out[G, B, F]`, tiled over `G` |
//!
//! Each has three [`Way`]s, which give equal results, for they add the same products in the dtype that sums are taken in:
//! `f32` for `bf16` and `f16`, rounded once at the end, and the operands' own otherwise. Sums of floats that are not exact
//! differ by the order in which they are taken.
//!
//! ```
//! # use shardwise::prelude::*;
//! # fn main() -> Result<()> {
//! set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
//! let (a, w) = (ones([8, 16], BF16).shard(P!("X", "Y")), ones([16, 32], BF16).shard(P!(None, "Y")));
//! let out = shard_map(|a: &Array, w: &Array| {
//!     collective_matmul::all_gather("bd,df->bf", a, w, 'd', "Y", Way::BothWays)
//! })
//! .in_specs((P!("X", "Y"), P!(None, "Y")))
//! .out_specs(P!("X", "Y"));
//! assert_equal(&out(&a, &w), &full([8, 32], 16, BF16));
//! # Ok(())
//! # }
//! ```

use crate::array::Array;
use crate::collective::{Axes, AxisName, Future, Over, axis_index, shift};
use crate::einsum::Letters;
use crate::ops::{Checked, Kinds, Site, element, site};
use crate::{hlo, mistakes, reduce};
use shardwise_base::DType;
use shardwise_ir::TensorType;

/// How the pieces travel, around the ring of `n` devices along the axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Not in pieces: the plain counterpart, one collective before or after one matmul.
    Blocking,
    /// To one neighbour, `n - 1` steps: one direction of each link is used.
    OneWay,
    /// To both neighbours, `n / 2` steps: half of the pieces go up the ring, half down.
    BothWays,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 3] = [Way::Blocking, Way::OneWay, Way::BothWays];

    /// How far pieces go to come to all of `n` devices: down the ring, and up.
    fn reach(self, n: usize) -> [usize; 2] {
        match self {
            Way::BothWays => [n / 2, (n - 1) / 2],
            _ => [n - 1, 0],
        }
    }
}

/// The direction in which the pieces of each entry of [`Way::reach`] go: down the ring, and up.
const DIRECTIONS: [isize; 2] = [-1, 1];

/// The product of all of `a` with `b`, where each device holds a part of `a` along `letter`: `a` is gathered.
///
/// Shape:  with `letter` = `d`: `[b, d/n], [d, f] -> [b, f]`; with `b`: `[b/n, d], [d, f] -> [b, f]`
/// State:  varies over `axes`, as what [`Array::all_gather`] gives
/// Hides:  each piece of `a` travels to the neighbour while it is multiplied: `n` matmuls, `n - 1` transfers under them.
///         To gather the right operand, name it first.
/// Units:  each device receives `n - 1` parts of `a`
/// Errors: `matmul-letter` if `a` lacks `letter`; `einsum-spec`, `einsum-rank`, `einsum-size`, `dtype-mixed`, `dtype-kind`;
///         those of a collective
#[track_caller]
pub fn all_gather(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, way: Way) -> Array {
    site("collective_matmul::all_gather", &[a, b], |s| {
        let over = s.over(&axes, None)?;
        let letters = Letters::parse(s, spec, 2)?;
        let dim = s.letter(&letters, &letters.inputs[0], spec, letter, "once in the left operand")?;
        let mut whole = a.tensor().shape.clone();
        if let Some(size) = whole.get_mut(dim) {
            *size *= over.count();
        }
        let m = Matmul::new(s, spec, letters, [a, b], &whole, (letter, over, axes.names(), way))?;
        Ok(match way {
            Way::Blocking => m.letters.contract(&[a.all_gather(m.axes.clone(), dim), b.clone()], m.dtype),
            _ => m.gathered(a, b, a.tensor().shape[dim]),
        })
    })
}

/// The sum over the devices of the product of what each holds, of which each keeps its part along `letter`.
///
/// Shape:  with `letter` = `f`: `[b, d/n], [d/n, f] -> [b, f/n]`
/// State:  varies over `axes`
/// Hides:  a partial sum visits all devices and ends at its owner; while it travels, the part that it will be added to
///         is multiplied: `n` matmuls, `n - 1` transfers under them.
/// Units:  each device receives `n - 1` parts of the result, in the dtype that sums are taken in
/// Errors: `matmul-letter` if the result lacks `letter`; `collective-uneven`; else as [`all_gather`]
#[track_caller]
pub fn reduce_scatter(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, way: Way) -> Array {
    site("collective_matmul::reduce_scatter", &[a, b], |s| {
        let m = Matmul::of_sum(s, spec, a, b, letter, &axes, way)?;
        let size = m.size;
        if !size.is_multiple_of(m.n) {
            let (i, x) = if m.letters.inputs[0].contains(&letter) { (0, a) } else { (1, b) };
            let dim = m.place(i).expect("the result has its letters from the operands");
            s.splits(x, dim, false, &m.over)?;
        }
        let sum = match way {
            Way::Blocking => m.product(a, b).psum_scatter(m.axes.clone(), m.out_dim()),
            _ => m.scattered(a, b, 0, size / m.n, &mut None),
        };
        Ok(m.rounded(&sum))
    })
}

/// The sum over the devices of the product of what each holds, on all of them, taken in tiles along `letter`.
///
/// Shape:  `[b, d/n], [d/n, f] -> [b, f]`; the size of `letter` need not be a multiple of anything
/// State:  equal along `axes`
/// Hides:  the result is made in two tiles, each scattered as by [`reduce_scatter`] under its matmuls and then gathered;
///         the gather of the first also runs under the matmuls of the second, that of the second under nothing.
/// Units:  each device receives `n - 1` of `n` parts of the result twice: as sums, and as results
/// Errors: `matmul-letter` if the result lacks `letter`; else as [`all_gather`]
#[track_caller]
pub fn all_reduce(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, way: Way) -> Array {
    site("collective_matmul::all_reduce", &[a, b], |s| {
        let m = Matmul::of_sum(s, spec, a, b, letter, &axes, way)?;
        Ok(match way {
            Way::Blocking => m.rounded(&m.product(a, b).psum(m.axes.clone())),
            _ => m.reduced(a, b),
        })
    })
}

impl Site<'_> {
    /// Where `letter` stands among `labels`: once, and at most once in each operand.
    fn letter(&self, letters: &Letters, labels: &[char], spec: &str, letter: char, expected: &str) -> Checked<usize> {
        let count = |labels: &[char]| labels.iter().filter(|&&c| c == letter).count();
        if count(labels) != 1 || letters.inputs.iter().any(|labels| count(labels) > 1) {
            return self.fail(None, mistakes::matmul_letter(self.name, letter, spec, expected, &self.loc));
        }
        Ok(labels.iter().position(|&c| c == letter).expect("it stands there once"))
    }
}

/// A checked product, and the ring that its pieces travel around.
struct Matmul {
    letters: Letters,
    /// What lies in parts, and its whole size.
    letter: char,
    size: usize,
    over: Over,
    axes: Vec<AxisName>,
    /// Devices along the axes, and the position of this one.
    n: usize,
    me: Array,
    way: Way,
    /// What the result has, and what sums are taken in.
    dtype: DType,
    sums: DType,
}

impl Matmul {
    fn new(
        s: &Site<'_>,
        spec: &str,
        letters: Letters,
        [a, b]: [&Array; 2],
        a_shape: &[usize],
        (letter, over, axes, way): (char, Over, Vec<AxisName>, Way),
    ) -> Checked<Matmul> {
        s.has(a, Kinds::Numbers)?;
        let sizes = letters.check(s, spec, &[a, b], &[a_shape, &b.tensor().shape])?;
        let (n, me, dtype) = (over.count(), axis_index(axes.clone()), a.tensor().dtype);
        let sums = reduce::wide(dtype);
        Ok(Matmul { letters, letter, size: sizes[&letter], over, axes, n, me, way, dtype, sums })
    }

    /// Of a product that is summed over the devices.
    fn of_sum(
        s: &Site<'_>,
        spec: &str,
        a: &Array,
        b: &Array,
        letter: char,
        axes: &impl Axes,
        way: Way,
    ) -> Checked<Matmul> {
        let over = s.over(axes, None)?;
        let letters = Letters::parse(s, spec, 2)?;
        s.letter(&letters, &letters.output, spec, letter, "in the result, and at most once in each operand")?;
        Matmul::new(s, spec, letters, [a, b], &a.tensor().shape, (letter, over, axes.names(), way))
    }

    // ── pieces
    /// Where the letter stands in an operand.
    fn place(&self, operand: usize) -> Option<usize> {
        self.letters.inputs[operand].iter().position(|&c| c == self.letter)
    }

    /// Where the letter stands in the result.
    fn out_dim(&self) -> usize {
        self.letters.output.iter().position(|&c| c == self.letter).expect("it was checked")
    }

    /// The position of the device so many steps up the ring.
    fn device(&self, steps: isize) -> Array {
        match steps.rem_euclid(self.n as isize) {
            0 => self.me.clone(),
            steps => (&self.me + steps) % self.n,
        }
    }

    /// The product of pieces, not rounded.
    fn product(&self, a: &Array, b: &Array) -> Array {
        self.letters.contract(&[a.clone(), b.clone()], self.sums)
    }

    fn rounded(&self, sum: &Array) -> Array {
        hlo::convert(sum, self.dtype)
    }

    /// Of an operand, the piece of `chunk` that starts at `start` along the letter; all of one without the letter.
    fn piece(&self, operand: usize, x: &Array, start: &Array, chunk: usize) -> Array {
        let Some(dim) = self.place(operand) else { return x.clone() };
        let mut sizes = x.tensor().shape.clone();
        if sizes[dim] == chunk {
            return x.clone();
        }
        sizes[dim] = chunk;
        hlo::dynamic_slice(x, &starts(sizes.len(), dim, start), &sizes)
    }

    // ── algorithms
    /// All of `a`, a part of `chunk` at a time, each multiplied when it comes.
    fn gathered(&self, a: &Array, b: &Array, chunk: usize) -> Array {
        let is_summed = !self.letters.output.contains(&self.letter);
        let mut out: Option<Array> = None;
        let mut ring = Gather::new(self, a);
        let mut pieces = vec![(0, a.clone())];
        while !pieces.is_empty() {
            ring.send();
            for (from, a) in &pieces {
                let start = self.device(*from) * chunk;
                let b = self.piece(1, b, &start, chunk);
                let so_far = out.take();
                out = Some(match (is_summed, so_far) {
                    (true, None) => self.product(a, &b),
                    (true, Some(sum)) => sum + self.product(a, &b),
                    (false, so_far) => {
                        let own = self.letters.contract(&[a.clone(), b], self.dtype);
                        self.put(so_far, &own, &start, self.size)
                    }
                });
            }
            pieces = ring.receive();
        }
        self.rounded(&out.expect("there is a device"))
    }

    /// Writes a piece of the result into it, made with `size` along the letter if it is the first.
    fn put(&self, out: Option<Array>, piece: &Array, start: &Array, size: usize) -> Array {
        let dim = self.out_dim();
        let mut shape = piece.tensor().shape.clone();
        if shape[dim] == size {
            return piece.clone();
        }
        shape[dim] = size;
        let out = out.unwrap_or_else(|| hlo::zeros(&TensorType::new(piece.tensor().dtype, shape.clone())));
        hlo::dynamic_update_slice(&out, piece, &starts(shape.len(), dim, start))
    }

    /// This device's part of the sum, not rounded: `chunk` along the letter, of the parts that start at `base`.
    ///
    /// A sum for a device starts as far from it as pieces go, one from each side, and ends there. What `under` gathers
    /// travels at the same time.
    fn scattered(&self, a: &Array, b: &Array, base: usize, chunk: usize, under: &mut Option<Gather<'_>>) -> Array {
        let part = |steps: isize| {
            let start = self.device(steps) * chunk;
            let start = if base == 0 { start } else { start + base };
            self.product(&self.piece(0, a, &start, chunk), &self.piece(1, b, &start, chunk))
        };
        let reach = self.way.reach(self.n);
        // A sum that goes up the ring is for a device further up.
        let still = |side: usize, steps: usize| DIRECTIONS[side] * (reach[side] - steps) as isize;
        let mut sums = [0, 1].map(|side| (reach[side] > 0).then(|| part(still(side, 0))));
        let mut own = (reach[0] == 0).then(|| part(0));
        for i in 1..=reach[0] {
            let flights = [0, 1].map(|side| (i <= reach[side]).then(|| self.step(&sums[side], side)));
            under.iter_mut().for_each(Gather::send);
            let next = [0, 1].map(|side| (i < reach[side]).then(|| part(still(side, i))));
            if i == reach[0] {
                own = Some(part(0));
            }
            for (side, (flight, next)) in flights.into_iter().zip(next).enumerate() {
                let came = flight.map(Future::done);
                sums[side] = match (came, next) {
                    (Some(sum), Some(next)) => Some(sum + next),
                    (came, _) => came.or(sums[side].take()),
                };
            }
            under.iter_mut().for_each(Gather::keep);
        }
        sums.into_iter().flatten().fold(own.expect("the last step makes it"), |sum, other| sum + other)
    }

    fn step(&self, x: &Option<Array>, side: usize) -> Future {
        let x = x.as_ref().expect("it has further to go");
        x.ppermute_start(self.axes.clone(), shift(DIRECTIONS[side]))
    }

    /// The whole sum on all devices: two tiles, each scattered and then gathered.
    fn reduced(&self, a: &Array, b: &Array) -> Array {
        let tiles = if self.size >= 2 * self.n { 2 } else { 1 };
        let chunk = self.size.div_ceil(tiles * self.n);
        let [a, b] = [(0, a), (1, b)].map(|(i, x)| match self.place(i) {
            Some(dim) => padded(x, dim, tiles * self.n * chunk),
            None => x.clone(),
        });
        let mut whole = vec![];
        let mut gather = None;
        for tile in 0..tiles {
            let part = self.scattered(&a, &b, tile * self.n * chunk, chunk, &mut gather);
            let before = gather.replace(Gather::new(self, &self.rounded(&part)));
            whole.extend(before.map(|g| g.joined(chunk)));
        }
        whole.extend(gather.map(|g| g.joined(chunk)));
        let out = hlo::concatenate(&whole.iter().collect::<Vec<_>>(), self.out_dim());
        let (rank, mut limit) = (out.tensor().rank(), out.tensor().shape.clone());
        limit[self.out_dim()] = self.size;
        let out = hlo::slice(&out, &vec![0; rank], &limit, &vec![1; rank]);
        // Each part was summed on one device and copied to the others.
        out.in_state(Some(out.manual_in(&self.over.scope).without(&self.over.set)))
    }
}

/// A gather, a step at a time: the pieces that pass this device.
struct Gather<'a> {
    m: &'a Matmul,
    /// The last that came from each side, to be sent on.
    passing: [Array; 2],
    flights: [Option<Future>; 2],
    steps: usize,
    /// What has come: from how many steps up the ring.
    kept: Vec<(isize, Array)>,
}

impl<'a> Gather<'a> {
    fn new(m: &'a Matmul, own: &Array) -> Gather<'a> {
        let passing = [own.clone(), own.clone()];
        Gather { m, passing, flights: [None, None], steps: 0, kept: vec![(0, own.clone())] }
    }

    /// Sends on what passes, if it has further to go.
    fn send(&mut self) {
        self.steps += 1;
        let reach = self.m.way.reach(self.m.n);
        let passing = |side: usize| Some(self.passing[side].clone());
        self.flights = [0, 1].map(|side| (self.steps <= reach[side]).then(|| self.m.step(&passing(side), side)));
    }

    /// The pieces that were sent here. What goes down the ring comes from further up.
    fn receive(&mut self) -> Vec<(isize, Array)> {
        let mut pieces = vec![];
        for side in [0, 1] {
            if let Some(piece) = self.flights[side].take().map(Future::done) {
                self.passing[side] = piece.clone();
                pieces.push((-DIRECTIONS[side] * self.steps as isize, piece));
            }
        }
        pieces
    }

    fn keep(&mut self) {
        let pieces = self.receive();
        self.kept.extend(pieces);
    }

    /// All pieces, of `chunk` along the letter of the result.
    fn joined(mut self, chunk: usize) -> Array {
        while self.kept.len() < self.m.n {
            self.send();
            self.keep();
        }
        let put = |out, (from, piece): &(isize, Array)| {
            Some(self.m.put(out, piece, &(self.m.device(*from) * chunk), self.m.n * chunk))
        };
        self.kept.iter().fold(None, put).expect("there is a device")
    }
}

/// The start of a slice along one dimension.
fn starts(rank: usize, dim: usize, start: &Array) -> Vec<Array> {
    let zero = hlo::constant(element(0.0, DType::I32));
    (0..rank).map(|d| if d == dim { start.clone() } else { zero.clone() }).collect()
}

/// With zeros at the end, so that `dim` has this size.
fn padded(x: &Array, dim: usize, size: usize) -> Array {
    let mut by = vec![(0, 0); x.tensor().rank()];
    by[dim].1 = size - x.tensor().shape[dim];
    if by[dim].1 == 0 { x.clone() } else { hlo::pad(x, &hlo::constant(element(0.0, x.tensor().dtype)), &by) }
}
