//! Products whose rows are windows of an array.
#![expect(unsafe_code, reason = "products follow addresses")]

use super::choose;
use super::gemm::{Gemm, Group, Pieces, Places, Product, Row};
use super::packed;
use super::tile::Tile;
use crate::memory::Guard;
use crate::movement::gather_rows;
use crate::operand::Reach;
use crate::parts::{hold, table_bytes};
use crate::pool::{Effort, Workers};
use crate::simd::Level;

/// The largest number of rows that are multiplied together, unless one row of windows of all products has more.
const MAX_ROWS: usize = 1 << 18;
/// The largest number of bytes of rows that are gathered at a time if there is no packed kernel, unless one row has
/// more.
const GATHERED_BYTES: usize = 1 << 21;

/// Products of windows with matrices. A row of `a` is a window. The elements of all windows have the same offsets from
/// the window's start.
#[derive(Clone, Debug)]
pub struct Windows {
    gemm: Gemm,
    pieces: Pieces,
    /// The number of products side by side.
    groups: usize,
    /// The number of bytes in `a`, `b` and `c` from one of the products side by side to the next.
    group_step: [isize; 3],
    /// For each row of windows, its offset in `a` and that of its results in `c`, in bytes.
    rows: Vec<[isize; 2]>,
    /// For each window of a row, its offset and that of its result from those of the row, in bytes.
    row: Vec<[isize; 2]>,
    reaches: [Reach; 3],
}

impl Windows {
    /// Returns the products of a shape. Its number of rows and its row strides of `a` and `c` are not used. Its column
    /// stride of `a` must be 1, which is not checked.
    ///
    /// A window has `features` adjacent elements at each of some `places`, which are given in elements from its start.
    /// Together they are the shape's `k`. For `bf16`, `features` must be even if there are several places, which is not
    /// checked. Windows are at all indices of `loops`, which have sizes and strides in `a` and `c`. `groups` is the
    /// number of products side by side and the distances between them in `a`, `b` and `c`. All strides are in elements.
    ///
    /// # Panics
    /// Panics if `are_apart` cannot show that no element of a result is written twice, if there is no kernel for the
    /// types, if the shape's `k` is 0 or not the number of a window's elements, or if there are no loops.
    pub fn new(
        gemm: Gemm,
        (places, features): (&[isize], usize),
        loops: &[(usize, [isize; 2])],
        groups: (usize, [isize; 3]),
    ) -> Windows {
        assert!(gemm.is_supported(), "no kernel for {:?} to {:?}", gemm.elem, gemm.out);
        assert!(gemm.k == places.len() * features && gemm.k > 0, "rows are their pieces");
        let sizes = gemm.sizes();
        let around = |x: usize| [(groups.0, groups.1[x])].into_iter();
        let windows = |x: usize| loops.iter().map(move |l| (l.0, l.1[x]));
        let far = [places.iter().max(), places.iter().min()].map(|p| p.copied().unwrap_or(0));
        let places_reach = [(2, far[0].max(0)), (2, far[1].min(0))];
        let one = Gemm { m: 1, k: features, a: [0, 1], ..gemm };
        let all = Gemm { b: [0, gemm.b[1]], ..one };
        let a: Vec<_> = around(0).chain(windows(0)).chain(places_reach).collect();
        let b: Vec<_> = around(1).chain([(gemm.k, gemm.b[0])]).collect();
        let c: Vec<_> = around(2).chain(windows(1)).collect();
        let reaches = all.reaches([a, b, c].map(Vec::into_iter));
        let bytes = [sizes[0] as isize, sizes[2] as isize];
        let (inner, outer) = loops.split_last().expect("a loop over windows");
        Windows {
            gemm,
            pieces: in_pieces(places, features, sizes[0]),
            groups: groups.0,
            group_step: [0, 1, 2].map(|x| groups.1[x] * sizes[x] as isize),
            rows: outer.iter().fold(vec![[0, 0]], |from, dim| walk(&from, dim, bytes)),
            row: walk(&[[0, 0]], inner, bytes),
            reaches,
        }
    }

    /// Computes the products of all instances. Stops the computation if there is no memory for its tables or its
    /// scratch space.
    ///
    /// # Panics
    /// Panics if an operand has fewer bytes than are reached.
    pub fn run(&self, workers: &Workers, instances: &mut [Product<'_>]) {
        instances.iter().for_each(|instance| instance.check(&self.reaches));
        let instances: Vec<Places> = instances.iter().map(|instance| instance.places([0; 3])).collect();
        for rows in self.chunks(instances.len()) {
            let _held = hold(self.tables_bytes(rows.len(), instances.len()));
            let groups = self.groups(&instances, rows);
            let effort = self.effort(&groups);
            // SAFETY: operands have what is reached; results are apart, and borrowed mutably.
            unsafe {
                match self.tile() {
                    Some(tile) => packed::run(&self.gemm, &tile, workers, &groups, Some(&self.pieces), effort),
                    None => groups.iter().for_each(|group| self.run_gathered(workers, group)),
                }
            }
        }
    }

    /// Returns the largest number of bytes that [`Windows::run`] charges at one time for instances whose operands are
    /// at these addresses.
    pub fn scratch_bytes(&self, workers: &Workers, instances: &[[usize; 3]]) -> usize {
        let instances: Vec<Places> = instances.iter().map(|&[a, b, c]| Places::at(a, b, c)).collect();
        let tile = self.tile();
        let of_rows = |rows: &[[isize; 2]]| {
            let groups = self.groups(&instances, rows);
            let scratch = match &tile {
                Some(tile) => packed::scratch_bytes(&self.gemm, tile, workers, &groups, self.effort(&groups)),
                None => groups.iter().map(|g| self.gathered_bytes(g.rows.len())).max().unwrap_or(0),
            };
            scratch.saturating_add(self.tables_bytes(rows.len(), instances.len()))
        };
        self.chunks(instances.len()).map(of_rows).max().unwrap_or(0)
    }

    /// Returns the inner loops of these products, or `None` if there are none for their types.
    fn tile(&self) -> Option<Tile> {
        choose::tile(Level::best(), self.gemm.elem, self.gemm.out, self.gemm.k, Some(&self.pieces))
    }

    fn chunks(&self, instances: usize) -> impl Iterator<Item = &[[isize; 2]]> {
        let at_a_time = (MAX_ROWS / (self.row.len() * self.groups * instances).max(1)).max(1);
        self.rows.chunks(at_a_time)
    }

    fn tables_bytes(&self, rows: usize, instances: usize) -> usize {
        table_bytes::<Row>(rows * self.row.len() * self.groups * instances)
    }

    fn effort(&self, groups: &[Group]) -> Effort {
        Gemm { m: groups.iter().map(|g| g.rows.len()).sum(), ..self.gemm }.effort(1)
    }

    fn groups(&self, instances: &[Places], rows: &[[isize; 2]]) -> Vec<Group> {
        let mut groups: Vec<Group> = vec![];
        for instance in instances {
            let matrix = instance.b;
            let known = groups.iter().position(|g| g.matrix == matrix).unwrap_or(groups.len());
            for g in 0..self.groups {
                let Places { a, b, c } = instance.offset(self.group_step.map(|step| g as isize * step));
                let places = rows.iter().flat_map(|r| self.row.iter().map(|w| [r[0] + w[0], r[1] + w[1]]));
                let windows = places.map(|[from, to]| Row { a: a.offset(from), c: c.offset(to) });
                match groups.get_mut(known + g) {
                    Some(group) => group.rows.extend(windows),
                    None => groups.push(Group { matrix: b, rows: windows.collect() }),
                }
            }
        }
        groups
    }

    /// Returns the number of 16-byte words for the rows that are gathered at a time, given the number of all rows.
    fn gathered_words(&self, rows: usize) -> usize {
        let row_bytes = self.pieces.len * self.gemm.elem.size() * self.pieces.starts.len();
        ((GATHERED_BYTES / row_bytes).max(1).min(rows) * row_bytes).div_ceil(16)
    }

    fn gathered_bytes(&self, rows: usize) -> usize {
        table_bytes::<u128>(self.gathered_words(rows))
    }

    /// Gathers some rows at a time and multiplies them, for types without packed kernels.
    ///
    /// # Safety
    /// As for [`Gemm::run`].
    unsafe fn run_gathered(&self, workers: &Workers, group: &Group) {
        let (gemm, pieces) = (&self.gemm, &self.pieces);
        let (piece_bytes, count) = (pieces.len * gemm.elem.size(), pieces.starts.len());
        let row_bytes = piece_bytes * count;
        let at_a_time = (GATHERED_BYTES / row_bytes).max(1);
        let _held = hold(self.gathered_bytes(group.rows.len()));
        let fill = u128::from_ne_bytes([Guard::current().fill(); 16]);
        let mut space = vec![fill; self.gathered_words(group.rows.len())];
        for rows in group.rows.chunks(at_a_time) {
            let from = |i: usize| {
                let start = rows[i / count].a.offset(pieces.starts[i % count]);
                // SAFETY: the piece of a window, as the caller says.
                unsafe { std::slice::from_raw_parts(start.0.cast_const(), piece_bytes) }
            };
            let space = &mut bytemuck::cast_slice_mut(&mut space)[..rows.len() * row_bytes];
            gather_rows(workers, piece_bytes, space, from);
            let a = crate::operand::Source::of(space).pointer();
            for (start, end, stride) in self.regular(rows) {
                let gemm = Gemm { m: end - start, a: [gemm.k as isize, 1], c: [stride, gemm.c[1]], ..*gemm };
                let a = a.offset((start * row_bytes) as isize);
                // SAFETY: as the caller says.
                unsafe { gemm.run(None, workers, &[Places { a, b: group.matrix, c: rows[start].c }]) };
            }
        }
    }

    /// Returns runs of rows whose results are at equal distances, each as its first row, its end and the distance in
    /// elements.
    fn regular(&self, rows: &[Row]) -> Vec<(usize, usize, isize)> {
        let address = |i: usize| rows[i].c.0.addr() as isize;
        let distance = |i: usize| (address(i) - address(i - 1)) / self.gemm.out.size() as isize;
        let (mut runs, mut start) = (vec![], 0);
        while start < rows.len() {
            let stride = if start + 1 < rows.len() { distance(start + 1) } else { self.gemm.n as isize };
            let end = (start + 1..rows.len()).find(|&i| distance(i) != stride).unwrap_or(rows.len());
            runs.push((start, end, stride));
            start = end;
        }
        runs
    }
}

/// Returns the offsets `from`, extended along one more dimension of `count` indices, `step` elements apart. `bytes` are
/// the sizes of the elements.
fn walk(from: &[[isize; 2]], &(count, step): &(usize, [isize; 2]), bytes: [isize; 2]) -> Vec<[isize; 2]> {
    let at = |o: &[isize; 2], i: isize| [0, 1].map(|x| o[x] + i * step[x] * bytes[x]);
    from.iter().flat_map(|o| (0..count as isize).map(move |i| at(o, i))).collect()
}

/// Returns the pieces of a window, given its places in elements of `size` bytes. Places whose features are adjacent are
/// merged if all merged pieces have the same length.
fn in_pieces(places: &[isize], features: usize, size: usize) -> Pieces {
    let follows = |w: &[isize]| w[1] - w[0] == features as isize;
    let run = places.windows(2).position(|w| !follows(w)).map_or(places.len(), |i| i + 1);
    let is_even = places.len().is_multiple_of(run) && places.chunks(run).all(|c| c.windows(2).all(follows));
    let run = if is_even { run } else { 1 };
    Pieces { starts: places.iter().step_by(run).map(|p| p * size as isize).collect(), len: run * features }
}
