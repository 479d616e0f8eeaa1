//! Products by a matrix unit, which multiplies tiles of words.
//!
//! The unit multiplies a tile of 16 rows of 16 words by one of 16 steps and 16 columns, and adds the products to 16 x
//! 16 sums. A word has two `bf16` or four `i8`. Two tiles of rows times two of columns stay in registers while they go
//! down two panels, whose lines are padded with zeros to whole tiles. A left panel has its tiles one after the other,
//! each row by row. A right panel has one step after the other, each with the words of all its columns, of which a tile
//! has half.

#[cfg(target_arch = "x86_64")]
mod amx;
mod emulated;
mod loops;

use super::tile::Tile;
use crate::elem::Elem;
use crate::simd::Level;

#[cfg(test)]
pub(super) use emulated::tile as emulated_tile;

/// Returns the inner loops of the matrix unit. Returns `None` if the machine has none for these types, if the process
/// may not use it, or if `level` or the environment variable `SHARDWISE_LEVEL` excludes it.
pub(super) fn tile(level: Level, elem: Elem, out: Elem) -> Option<Tile> {
    #[cfg(target_arch = "x86_64")]
    return amx::tile(elem, out).filter(|_| level.min(Level::strongest()) == Level::Avx512 && amx::is_usable());
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (level, elem, out);
        None
    }
}

/// Returns true if this process uses a matrix unit of the machine, for products whose types and sizes suit it.
pub(crate) fn is_used() -> bool {
    tile(Level::best(), Elem::BF16, Elem::BF16).is_some()
}
