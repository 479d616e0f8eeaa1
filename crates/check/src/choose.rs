//! A chooser: a stream of small decisions from a seed, so that every failure can be reproduced.

use shardwise_base::threefry::Stream;

pub struct Chooser(Stream);

impl Chooser {
    pub fn new(seed: u64) -> Chooser {
        Chooser(Stream::new(seed, 0))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        u64::from(self.0.next_u32()) << 32 | u64::from(self.0.next_u32())
    }

    /// Returns a number below `n` and below 2^32.
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    /// Returns true once in `n` times on average.
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns a random one of the items.
    ///
    /// # Panics
    /// Panics if there are none.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns a number from `low` to `high`, both included.
    ///
    /// # Panics
    /// Panics unless `low` is at most `high`, and `high` less than 2^32 larger.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high && high.abs_diff(low) < 1 << 32, "no number can be drawn from {low} to {high}");
        low + self.below((high - low + 1) as usize) as i64
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Returns the number of generated cases that a test runs: the number in the environment variable `SHARDWISE_CASES`, or
/// `default` if it is not set or is no whole number from 0 to 2^64 - 1.
pub fn cases(default: u64) -> u64 {
    std::env::var("SHARDWISE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_between_bounds_in_order() {
        let drawn = |low, high| std::panic::catch_unwind(|| Chooser::new(1).between(low, high));
        for (low, high) in [(0, 0), (-3, 5), (i64::MAX - 1, i64::MAX), (i64::MIN, i64::MIN), (-5, (1 << 32) - 6)] {
            assert!(drawn(low, high).is_ok_and(|n| (low..=high).contains(&n)), "{low} to {high}");
        }
        for (low, high) in [(1, 0), (5, -5), (0, 1 << 32), (i64::MIN, i64::MAX)] {
            assert!(drawn(low, high).is_err(), "{low} to {high}");
        }
    }
}
