//! Philox-4x32: random bits from a key and a counter, ten rounds.
//!
//! Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// The numbers that each round adds to the key.
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Returns four words of random bits for a key of two words and a counter of four words.
pub fn philox4x32(mut key: [u32; 2], mut x: [u32; 4]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let product = |i: usize| u64::from(MULTIPLIERS[i]) * u64::from(x[2 * i]);
        let (a, b) = (product(0), product(1));
        x = [(b >> 32) as u32 ^ x[1] ^ key[0], b as u32, (a >> 32) as u32 ^ x[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the known answers of the authors' library.
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32([0; 2], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([u32::MAX; 2], [u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }
}
