//! Reshards in which each device receives exactly what it lacks.
//!
//! Positions along a dimension are written with mixed digits, major to minor. A layout with axes `[{"x", "y"}, {}]`
//! says that the first digit of dimension 0 is the device's coordinate along `x`, that the second is the one along `y`,
//! and that the device holds the elements with any further digits. If two layouts can be written with the same digits,
//! then what each device holds and needs follows from the digits alone, whatever the number of devices:
//!
//! | digit | the device holds | the device needs |
//! |---|---|---|
//! | both layouts split it, by one axis | its own | the same |
//! | both layouts split it, by two axes | its own | that of other devices |
//! | only the source splits it | its own | all |
//! | only the target splits it | all | one |
//!
//! Without the second kind, the reshard is *aligned*: a slice, one all-to-all over all dimensions, and a gather. With
//! it, devices send blocks directly to each other in rounds of permutations, one round for each combination of values
//! of the digits that only the source splits.
//!
//! Example on a mesh `x=2, y=2`: `[{}, {"x", "y"}] -> [{"y", "x"}, {}]` has two digits in each dimension. Those of
//! dimension 0 are only split by the target, and those of dimension 1 only by the source.

mod digits;
mod local;

pub(super) use local::build;

use shardwise_base::{AxisRef, Mesh, Sharding};
use std::sync::Arc;

/// The largest number of rounds of permutations in which an exchange is carried out.
pub const MAX_ROUNDS: usize = 16;
/// The largest number of devices that send blocks to each other in these rounds. Their permutations are listed.
const MAX_GROUP: usize = 256;

/// A digit of positions along a dimension, and the axes that split it in the source and in the target layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    /// The number of its values.
    pub size: usize,
    /// The axis along which the device's coordinate is the digit's value in the source layout. `None` if that layout
    /// does not split the digit.
    pub held: Option<AxisRef>,
    /// The axis along which the device's coordinate is the digit's value in the target layout. `None` if that layout
    /// does not split the digit.
    pub needed: Option<AxisRef>,
}

/// Two layouts of one value on a mesh, written in the same digits.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    mesh: Arc<Mesh>,
    /// The major digits of each dimension. Each of them is split by one of the layouts or by both.
    dims: Vec<Vec<Digit>>,
}

/// The coordinate of the sender along `held`: the coordinate of the receiver along `needed`, plus the round's shift if
/// it `turns`, modulo the size.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Source {
    held: AxisRef,
    needed: AxisRef,
    turns: bool,
}

impl Exchange {
    /// Returns the exchange between two layouts of as many dimensions on one mesh. Returns `None` if they cannot be
    /// written with the same digits: parts of axes at the same place of a dimension have sizes of which neither divides
    /// the other, such as 2 and 3, or the layouts cut an axis in contradictory ways. The digits of an exchange that is
    /// not aligned have prime sizes.
    pub fn between(from: &Sharding, to: &Sharding) -> Option<Exchange> {
        let mesh = from.mesh.clone();
        let exchange = |is_prime| Some(Exchange { dims: digits::common(from, to, is_prime)?, mesh: mesh.clone() });
        exchange(false).filter(Exchange::is_aligned).or_else(|| exchange(true))
    }

    /// Returns the mesh of both layouts.
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// Returns, for each dimension, the digits that one of the layouts or both split, major to minor. The list of a
    /// dimension that neither splits is empty.
    pub fn dims(&self) -> &[Vec<Digit>] {
        &self.dims
    }

    /// Returns true if no digit is split by one axis in the source and by another in the target. No device then needs a
    /// digit of another device in place of its own.
    pub fn is_aligned(&self) -> bool {
        self.digits().all(|d| d.held.is_none() || d.needed.is_none() || d.held == d.needed)
    }

    /// Returns the product of the sizes of the digits that only the source splits. If the exchange is not aligned, this
    /// is the number of its rounds.
    pub fn round_count(&self) -> usize {
        self.digits().filter(|d| d.is_only_held()).map(|d| d.size).product()
    }

    /// Returns the number of collectives that the exchange consists of: at most 2 if it is aligned, and otherwise the
    /// number of rounds.
    pub fn collective_count(&self) -> u64 {
        if !self.is_aligned() {
            return self.round_count() as u64;
        }
        let is_gathered = !self.sliced_and_gathered().1.is_empty();
        u64::from(is_gathered) + u64::from(!self.moved().is_empty())
    }

    /// Returns true if the exchange is aligned, or has at most [`MAX_ROUNDS`] rounds, each among at most 256 devices.
    pub fn is_small(&self) -> bool {
        self.is_aligned() || self.round_count() <= MAX_ROUNDS && self.group().1 <= MAX_GROUP
    }

    /// Returns the number of bytes that a device receives at most. `needed` is the number of bytes of a target shard.
    /// If the exchange is not aligned, the result is `needed`.
    pub fn bytes_received(&self, needed: u64) -> u64 {
        let owned = if self.is_aligned() { needed / self.round_count() as u64 } else { 0 };
        needed - owned
    }

    /// Returns the axes that leave a dimension of an aligned exchange and split another one, in the order in which the
    /// target has them.
    pub fn moved(&self) -> Vec<AxisRef> {
        let left = self.left();
        self.digits().filter(|d| d.held.is_none()).filter_map(|d| d.needed).filter(|a| left.contains(a)).collect()
    }

    /// Returns the axes that only the target has, and those that only the source has. Axes are in the parts along which
    /// the digits cut them.
    pub fn sliced_and_gathered(&self) -> (Vec<AxisRef>, Vec<AxisRef>) {
        let (held, needed): (Vec<AxisRef>, Vec<AxisRef>) =
            (self.digits().filter_map(|d| d.held).collect(), self.digits().filter_map(|d| d.needed).collect());
        let without = |a: &[AxisRef], b: &[AxisRef]| a.iter().copied().filter(|x| !b.contains(x)).collect();
        (without(&needed, &held), without(&held, &needed))
    }

    fn left(&self) -> Vec<AxisRef> {
        self.digits().filter(|d| d.needed.is_none()).filter_map(|d| d.held).collect()
    }

    fn digits(&self) -> impl Iterator<Item = &Digit> {
        self.dims.iter().flatten()
    }

    /// Returns from which device each device receives, for an exchange that is not aligned.
    ///
    /// Each part of an axis is once a coordinate of the sender and once one of the receiver. Where a digit is split by
    /// both layouts, the parts are given. The remaining parts are paired by size, if possible each with itself. Panics
    /// if that is not possible, which is so only if the digits are not of prime sizes.
    fn sources(&self) -> Vec<Source> {
        let (sliced, gathered) = self.sliced_and_gathered();
        let only = |is_only: fn(&Digit) -> bool, axis: fn(&Digit) -> Option<AxisRef>| {
            self.digits().filter(move |d| is_only(d)).filter_map(axis)
        };
        let held =
            only(Digit::is_only_held, |d| d.held).map(|a| (a, true)).chain(sliced.into_iter().map(|a| (a, false)));
        let mut rest: Vec<AxisRef> = only(Digit::is_only_needed, |d| d.needed).chain(gathered).collect();
        let given = self.digits().filter_map(|d| Some(Source { held: d.held?, needed: d.needed?, turns: false }));
        let mut sources: Vec<Source> = given.collect();
        let (own, others): (Vec<_>, Vec<_>) = held.partition(|(a, _)| rest.contains(a));
        rest.retain(|a| own.iter().all(|(b, _)| a != b));
        sources.extend(own.into_iter().map(|(held, turns)| Source { held, needed: held, turns }));
        for (held, turns) in others {
            let same_size = |a: &AxisRef| a.size(&self.mesh) == held.size(&self.mesh);
            let at = rest.iter().position(same_size).expect("both sides have parts of the same prime sizes");
            sources.push(Source { held, needed: rest.swap_remove(at), turns });
        }
        sources
    }

    /// Returns the coordinates that differ between sender and receiver in some round, and the number of devices that
    /// differ in these coordinates only.
    fn group(&self) -> (Vec<Source>, usize) {
        let moving: Vec<Source> = self.sources().into_iter().filter(|s| s.turns || s.held != s.needed).collect();
        let size = moving.iter().map(|s| s.held.size(&self.mesh)).fold(1, usize::saturating_mul);
        (moving, size)
    }
}

impl Digit {
    fn is_only_held(&self) -> bool {
        self.held.is_some() && self.needed.is_none()
    }

    fn is_only_needed(&self) -> bool {
        self.held.is_none() && self.needed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;

    fn mesh() -> Arc<Mesh> {
        Arc::new(Mesh::new("mesh", [("x", 2), ("y", 2), ("z", 3), ("w", 8)]).unwrap())
    }

    fn axis(index: usize) -> AxisRef {
        AxisRef::full(AxisIndex::new(index))
    }

    fn between(from: &[&[AxisRef]], to: &[&[AxisRef]]) -> Option<Exchange> {
        let mesh = mesh();
        let layout = |lists: &[&[AxisRef]]| Sharding::closed(&mesh, lists.iter().map(|l| l.to_vec()).collect());
        Exchange::between(&layout(from), &layout(to))
    }

    #[test]
    fn aligned_exchanges_move_what_devices_lack() {
        let (x, y) = (axis(0), axis(1));
        let two = between(&[&[y], &[], &[x], &[]], &[&[], &[y], &[], &[x]]).unwrap();
        assert!(two.is_aligned());
        assert_eq!((two.moved(), two.bytes_received(400)), (vec![y, x], 300));
        // The target is also split over `y`, so a device holds half of its shard.
        let sliced = between(&[&[x], &[]], &[&[], &[x, y]]).unwrap();
        assert_eq!((sliced.sliced_and_gathered(), sliced.bytes_received(400)), ((vec![y], vec![]), 200));
        let gathered = between(&[&[x, y], &[]], &[&[], &[x]]).unwrap();
        assert_eq!((gathered.sliced_and_gathered(), gathered.bytes_received(400)), ((vec![], vec![y]), 300));
    }

    #[test]
    fn digits_are_cut_where_either_layout_has_a_cut() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 6), ("y", 2), ("z", 3)]).unwrap());
        let (x, y, z) = (axis(0), axis(1), axis(2));
        for (needed, sizes) in [([y, z], [2, 3]), ([z, y], [3, 2])] {
            let [from, to] = [vec![x], needed.to_vec()].map(|axes: Vec<AxisRef>| Sharding::closed(&mesh, vec![axes]));
            let exchange = Exchange::between(&from, &to).unwrap();
            assert_eq!(exchange.digits().map(|d| d.size).collect::<Vec<_>>(), sizes);
            assert!(!exchange.is_aligned());
        }
    }

    #[test]
    fn other_exchanges_have_a_round_for_each_sender() {
        let (x, y, w) = (axis(0), axis(1), axis(3));
        let cross = between(&[&[x, y], &[]], &[&[y], &[x]]).unwrap();
        assert_eq!((cross.is_aligned(), cross.round_count(), cross.bytes_received(400)), (false, 2, 400));
        let many = between(&[&[x, w, y], &[]], &[&[y], &[x]]).unwrap();
        assert_eq!((many.round_count(), many.is_small()), (16, true));
        let part = between(&[&[w], &[]], &[&[x], &[]]).unwrap();
        assert_eq!(part.round_count(), 4, "a half consists of four eighths");
    }

    #[test]
    fn layouts_without_common_digits_have_no_exchange() {
        let (x, z) = (axis(0), axis(2));
        assert_eq!(between(&[&[x], &[]], &[&[z], &[]]), None);
        assert!(between(&[&[x], &[]], &[&[], &[z]]).is_some());
        let [half, rest] = [(1, 2), (4, 2)].map(|(start, size)| AxisRef::sub(&mesh(), AxisIndex::new(3), start, size));
        assert!(between(&[&[half], &[rest]], &[&[rest], &[half]]).is_some());
    }
}
