//! Threefry-2x32: the random bits of `jax.random`, from a key and a counter.
//!
//! Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); 20 rounds, as JAX uses it.

const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// Returns two words of random bits for a key and a counter of two words each.
pub fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let mut x = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for round in 0..5 {
        for rotation in ROTATIONS[round % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(rotation) ^ x[0];
        }
        x[0] = x[0].wrapping_add(keys[(round + 1) % 3]);
        x[1] = x[1].wrapping_add(keys[(round + 2) % 3]).wrapping_add(round as u32 + 1);
    }
    x
}

/// A stream of random words from a seed. Streams with different numbers are independent.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    counter: u64,
}

impl Stream {
    /// Returns stream number `number` of a seed.
    pub fn new(seed: u64, number: u64) -> Stream {
        let seed = [(seed >> 32) as u32, seed as u32];
        Stream { key: threefry2x32(seed, [(number >> 32) as u32, number as u32]), counter: 0 }
    }

    /// Returns the next random word.
    pub fn next_u32(&mut self) -> u32 {
        let [a, b] = threefry2x32(self.key, [(self.counter >> 32) as u32, self.counter as u32]);
        self.counter += 1;
        a ^ b
    }

    /// Returns the next random word modulo `bound`.
    ///
    /// # Panics
    /// Panics if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.next_u32() as usize % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the known answers that JAX's own tests use.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry2x32([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }
}
