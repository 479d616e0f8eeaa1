//! Sums of what a program moves and multiplies, on each device.

use shardwise_ops::window::WindowDim;

/// The bytes that devices receive and the work of products, over a part of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes if every collective costs its full price on every device. No all-reduce counts as a reduce-scatter.
    pub plain: u64,
    /// Bytes that every device receives by the strict count, other than through permutes.
    everywhere: u64,
    /// Bytes that each device receives in addition, through permutes. Devices beyond the end of the list receive none.
    by_device: Vec<u64>,
    /// The operations of dots and convolutions on one device.
    pub flops: u64,
    /// How many collectives run.
    pub collectives: u64,
    /// True if the trip count of a loop with collectives is not known. One iteration is counted.
    pub is_guess: bool,
}

impl Tally {
    /// Returns the tally of products that need no communication.
    #[cfg(test)]
    pub fn of_flops(flops: u64) -> Tally {
        Tally { flops, ..Tally::default() }
    }

    /// Returns the bytes that the device that receives most receives, by the strict count.
    pub fn worst(&self) -> u64 {
        self.everywhere + self.by_device.iter().max().copied().unwrap_or(0)
    }

    /// Adds a collective through which every device receives the same number of bytes: `plain` for the plain count, and
    /// `strict` for the stricter one.
    pub fn receive(&mut self, plain: u64, strict: u64) {
        self.plain += plain;
        self.everywhere += strict;
        self.collectives += 1;
    }

    /// Adds a permute of `bytes` with these pairs of source and target. A target whose source is itself receives
    /// nothing. The plain count grows by `bytes` if any target receives something.
    pub fn permute(&mut self, bytes: u64, pairs: &[(usize, usize)]) {
        let moved = || pairs.iter().filter(|(source, target)| source != target);
        self.plain += if moved().next().is_some() { bytes } else { 0 };
        self.collectives += 1;
        for &(_, target) in moved() {
            self.grow(target + 1);
            self.by_device[target] += bytes;
        }
    }

    /// Adds a part of the program that runs `times` times, or once if the number is not known. In that case, a part
    /// with collectives makes the tally a guess. So does any part that is a guess itself.
    pub fn add(&mut self, part: &Tally, times: Option<u64>) {
        let n = times.unwrap_or(1);
        self.plain += n * part.plain;
        self.everywhere += n * part.everywhere;
        self.grow(part.by_device.len());
        self.by_device.iter_mut().zip(&part.by_device).for_each(|(sum, bytes)| *sum += n * bytes);
        self.flops += n * part.flops;
        self.collectives += n * part.collectives;
        self.is_guess |= part.is_guess || (times.is_none() && part.collectives > 0);
    }

    /// Returns the tally of the branch that receives most, but with the most flops of any branch. It is a guess if the
    /// tally of any branch is one. Returns an empty tally if there are no branches.
    pub fn dearest(branches: Vec<Tally>) -> Tally {
        let flops = branches.iter().map(|b| b.flops).max().unwrap_or(0);
        let is_guess = branches.iter().any(|b| b.is_guess);
        let dearest = branches.into_iter().max_by_key(|b| (b.worst(), b.plain)).unwrap_or_default();
        Tally { flops, is_guess, ..dearest }
    }

    fn grow(&mut self, devices: usize) {
        self.by_device.resize(self.by_device.len().max(devices), 0);
    }
}

/// Returns the number of pairs of a result and a window element that meet an element of a dimension of size `n`, and
/// not padding or a hole: the products along one dimension of a convolution.
pub fn products(window: &WindowDim, n: usize) -> u64 {
    let places = window.count(n).unwrap_or(0);
    let meets = |i: usize| (0..window.size).filter(|&k| window.element(i, k, n).is_some()).count() as u64;
    (0..places).map(meets).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_device_receives_from_all_its_neighbours() {
        let mut tally = Tally::default();
        tally.receive(80, 40);
        tally.permute(10, &[(0, 1), (1, 2), (3, 3)]);
        tally.permute(10, &[(1, 0), (2, 1)]);
        assert_eq!((tally.worst(), tally.plain, tally.collectives), (60, 100, 3));
        let mut looped = Tally::default();
        looped.add(&tally, Some(3));
        looped.add(&tally, None);
        assert_eq!((looped.worst(), looped.plain, looped.collectives, looped.is_guess), (240, 400, 12, true));
    }

    #[test]
    fn the_dearer_branch_counts() {
        let branch = |bytes, flops| {
            let mut tally = Tally::of_flops(flops);
            tally.receive(bytes, bytes);
            tally
        };
        let dearest = Tally::dearest(vec![branch(5, 100), branch(9, 1), branch(3, 7)]);
        assert_eq!((dearest.worst(), dearest.flops), (9, 100));
        assert_eq!(Tally::dearest(vec![]), Tally::default());
    }

    #[test]
    fn products_leave_out_padding_and_holes() {
        let window = WindowDim { size: 3, stride: 1, low: 1, high: 1, base_dilation: 1, dilation: 1 };
        assert_eq!(products(&window, 4), 3 * 4 - 2);
        assert_eq!(products(&WindowDim { low: 0, high: 0, ..window }, 6), 3 * 4);
        // Elements 0 . 1 . 2, and windows of three from each place: two elements, one, two.
        assert_eq!(products(&WindowDim { base_dilation: 2, low: 0, high: 0, ..window }, 3), 5);
    }
}
