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

    /// Returns one of the items.
    ///
    /// # Panics
    /// Panics if there are none.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns a number from `low` to `high`, both included. `low` must not be larger than `high`, and `high` less than
    /// 2^32 larger.
    ///
    /// # Panics
    /// Panics if `high` is `low - 1`. With other wrong bounds, the number is unspecified.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
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
/// `default` if it is not set or holds no whole number of 64 bits.
pub fn cases(default: u64) -> u64 {
    std::env::var("SHARDWISE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}
