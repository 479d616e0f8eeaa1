//! Chooses the inner loops of a product.

use super::gemm::Pieces;
use super::matrix_unit;
use super::tile::Tile;
use crate::elem::Elem;
use crate::simd::Level;

/// Returns the inner loops for products of `elem` with results of type `out` that sum over `k` elements: those of the
/// matrix unit if it suits the product, or else those of vectors. Returns `None` if there are none for these types.
/// `pieces` states where the parts of each row are, if rows are not contiguous. No loops are of a higher level than
/// `level`.
pub fn tile(level: Level, elem: Elem, out: Elem, k: usize, pieces: Option<&Pieces>) -> Option<Tile> {
    let of_unit = matrix_unit::tile(level, elem, out);
    of_unit.filter(|tile| tile.suits(k, pieces)).or_else(|| Tile::of_vectors(level, elem, out))
}
