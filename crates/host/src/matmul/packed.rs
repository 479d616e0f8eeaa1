//! Products of packed operands, for any number of rows.
//!
//! A part has some columns of one matrix and some rows that are multiplied by it. It packs these columns once for all
//! its rows, which may belong to several instances, and keeps all its sums until they are complete, so that results are
//! written once. Rows that several parts need are packed once, before the parts run.
#![expect(unsafe_code, reason = "products follow addresses")]

use super::gemm::{Gemm, Group, Pieces, Row};
use super::tile::{Adjacent, Block, Lines, Results, Tile};
use crate::memory::{Areas, Scratch};
use crate::operand::Pointer;
use crate::parts::{Pace, hold};
use crate::pool::{Effort, Workers, piece};
use shardwise_base::budget;
use std::collections::HashMap;
use std::ops::Range;

/// The number of words of a line in a block, which is a multiple of [`Tile::unit`]. The packed data of a block fits
/// into the second cache.
const DEPTH: usize = 256;
/// The largest number of rows of a block, which has as many whole tiles as fit.
const ROWS: usize = 144;
/// The largest number of right panels of a part.
const PANELS: usize = 8;
/// The largest number of rows of a part, which is a multiple of [`Tile::rows`].
const PART_ROWS: usize = 16 * ROWS;
/// If the rows that several parts need take more memory than this in all, no rows are packed in advance. Each part then
/// packs those that it needs.
const SHARED_BYTES: usize = 1 << 26;
/// Parts are made smaller, down to a limit, until there are this many for each worker, so that all are busy to the end.
const PARTS: usize = 4;

struct Job<'a> {
    gemm: &'a Gemm,
    tile: &'a Tile,
    groups: &'a [Group],
    /// The pieces of each row, if rows are not contiguous.
    pieces: Option<&'a Pieces>,
    /// The largest number of columns of a part.
    columns: usize,
    /// The largest number of rows of a part.
    rows: usize,
    /// For each group, its packed rows, if they were packed in advance.
    packed: Vec<Option<Panels>>,
}

/// Packed rows. For each block of the depth, they have all panels.
#[derive(Clone, Copy)]
struct Panels {
    start: *mut u32,
    /// The number of rows, padded to whole tiles.
    rows: usize,
}

// SAFETY: a pointer is a number; those that follow it say what they need.
unsafe impl Send for Panels {}
// SAFETY: as above.
unsafe impl Sync for Panels {}

/// Computes the products of all groups. `pieces` states where the parts of each row are, if rows are not contiguous.
///
/// # Safety
/// The rows and matrices must be valid for the shape, and results must overlap nothing else.
pub(super) unsafe fn run(
    gemm: &Gemm,
    tile: &Tile,
    workers: &Workers,
    groups: &[Group],
    pieces: Option<&Pieces>,
    effort: Effort,
) {
    let mut job = Job::new(gemm, tile, workers, groups, pieces);
    let (shared, parts) = (job.shared(), job.parts());
    let _held = hold(job.charged_bytes(&shared, &parts, workers, effort));
    // SAFETY: as the caller says.
    let _shared = unsafe { job.share(&shared, workers, effort) };
    // SAFETY: as the caller says.
    workers.run(parts.len(), effort, |i| unsafe { job.run(&parts[i]) });
}

pub(super) fn scratch_bytes(gemm: &Gemm, tile: &Tile, workers: &Workers, groups: &[Group], effort: Effort) -> usize {
    let job = Job::new(gemm, tile, workers, groups, None);
    job.charged_bytes(&job.shared(), &job.parts(), workers, effort)
}

/// Returns the most bytes that [`run`] charges for `gemm.m` rows in `groups` groups, whose sizes are not known.
pub(super) fn most_scratch_bytes(gemm: &Gemm, tile: &Tile, workers: &Workers, groups: usize, effort: Effort) -> usize {
    let job = Job { columns: PANELS * tile.columns, rows: PART_ROWS, ..Job::new(gemm, tile, workers, &[], None) };
    let rows = gemm.m.saturating_add(groups.saturating_mul(tile.rows));
    let shared = rows.saturating_mul(job.steps(gemm.k)).saturating_mul(4).min(SHARED_BYTES);
    let part = job.part_bytes(gemm.m.min(PART_ROWS), gemm.n.min(job.columns), false);
    Scratch::charge(shared).saturating_add(part.saturating_mul(workers.at_once(usize::MAX, effort)))
}

/// Some rows of a group and some columns of its matrix.
struct Part {
    group: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<'a> Job<'a> {
    fn new(
        gemm: &'a Gemm,
        tile: &'a Tile,
        workers: &Workers,
        groups: &'a [Group],
        pieces: Option<&'a Pieces>,
    ) -> Job<'a> {
        debug_assert!(PART_ROWS.is_multiple_of(tile.rows) && DEPTH.is_multiple_of(tile.unit), "whole tiles");
        let mut job = Job { gemm, tile, groups, pieces, columns: 0, rows: 0, packed: vec![None; groups.len()] };
        job.cut(workers.count());
        job
    }

    fn charged_bytes(&self, shared: &[Vec<usize>], parts: &[Part], workers: &Workers, effort: Effort) -> usize {
        let mut is_shared = vec![false; self.groups.len()];
        shared.iter().flatten().for_each(|&group| is_shared[group] = true);
        let part = parts.iter().map(|p| self.part_bytes(p.rows.len(), p.columns.len(), is_shared[p.group]));
        let part = part.max().unwrap_or(0);
        Scratch::charge(4 * self.shared_words(shared)) + part * workers.at_once(parts.len(), effort)
    }

    /// Returns the number of bytes that the account is charged for the scratch memory of a part of this size.
    /// `is_packed` is true if its rows are packed before the parts run, in memory that is charged separately.
    fn part_bytes(&self, rows: usize, columns: usize, is_packed: bool) -> usize {
        self.part_words(rows, columns, is_packed).into_iter().map(|words| Scratch::charge(4 * words)).sum()
    }

    /// Returns the numbers of words of a part's packed columns, of its sums and of its packed rows.
    fn part_words(&self, rows: usize, columns: usize, is_packed: bool) -> [usize; 3] {
        let width = columns.next_multiple_of(self.tile.columns);
        let depth = self.steps(self.gemm.k).min(self.span_words(rows));
        let padded = rows.next_multiple_of(self.tile.rows);
        let left = if is_packed { 0 } else { padded.min(self.block_rows()) * depth.min(DEPTH) };
        [width * depth, padded * width, left]
    }

    /// Chooses the size of parts. The sums do not depend on it.
    fn cut(&mut self, workers: usize) {
        (self.columns, self.rows) = (PANELS * self.tile.columns, PART_ROWS);
        while self.count() < PARTS * workers && self.rows > self.block_rows() {
            self.rows = (self.rows / 2 / self.tile.rows * self.tile.rows).max(self.block_rows());
        }
        while self.count() < PARTS * workers && self.columns > self.tile.columns {
            self.columns /= 2;
        }
    }

    fn count(&self) -> usize {
        let rows: usize = self.groups.iter().map(|g| g.rows.len().div_ceil(self.rows)).sum();
        rows * self.gemm.n.div_ceil(self.columns)
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.count());
        for (group, g) in self.groups.iter().enumerate() {
            for c in 0..self.gemm.n.div_ceil(self.columns) {
                for r in 0..g.rows.len().div_ceil(self.rows) {
                    let (rows, columns) = (piece(g.rows.len(), self.rows, r), piece(self.gemm.n, self.columns, c));
                    parts.push(Part { group, rows, columns });
                }
            }
        }
        parts
    }

    /// Packs the rows of `lists`, which several parts need, and records their place for each group. Returns the memory
    /// that holds them, or `None` if there are none.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn share(&mut self, lists: &[Vec<usize>], workers: &Workers, effort: Effort) -> Option<Scratch> {
        let steps = self.steps(self.gemm.k);
        if lists.is_empty() {
            return None;
        }
        let mut space = Scratch::new(4 * self.shared_words(lists));
        let mut start = space.start().cast::<u32>();
        for list in lists {
            let rows = self.padded_rows(list);
            for &group in list {
                self.packed[group] = Some(Panels { start, rows });
            }
            start = start.wrapping_add(rows * steps);
        }
        let height = self.block_rows();
        let blocks: Vec<(usize, Range<usize>)> = lists
            .iter()
            .map(|list| (list[0], self.groups[list[0]].rows.len()))
            .flat_map(|(group, len)| (0..len.div_ceil(height)).map(move |b| (group, piece(len, height, b))))
            .collect();
        workers.run(blocks.len(), effort, |i| {
            let (group, rows) = &blocks[i];
            for depth in self.depths(0..self.gemm.k) {
                let to = self.packed[*group].expect("it is shared").at(self, rows.start, &depth);
                // SAFETY: as the caller says; there is room for these rows.
                unsafe { self.pack_rows(&self.groups[*group].rows[rows.clone()], &depth, to) };
                budget::poll();
            }
        });
        Some(space)
    }

    /// Returns the lists of rows that several parts need, which are packed in advance, each as the groups that have
    /// this list. Returns none at all if together they would take more than [`SHARED_BYTES`].
    fn shared(&self) -> Vec<Vec<usize>> {
        let chunks = self.gemm.n.div_ceil(self.columns);
        let mut lists = self.lists();
        lists.retain(|users| users.len() * chunks > 1);
        let words = self.shared_words(&lists);
        if words == 0 || words.saturating_mul(4) > SHARED_BYTES { vec![] } else { lists }
    }

    fn shared_words(&self, lists: &[Vec<usize>]) -> usize {
        lists.iter().map(|list| self.padded_rows(list) * self.steps(self.gemm.k)).sum()
    }

    /// Returns the number of rows that the groups of a list share, padded to whole tiles.
    fn padded_rows(&self, list: &[usize]) -> usize {
        self.groups[list[0]].rows.len().next_multiple_of(self.tile.rows)
    }

    /// Returns the lists of rows, each as the groups that have this list. Groups without rows are left out. Several
    /// returned lists may be equal if a different list begins with the same row.
    fn lists(&self) -> Vec<Vec<usize>> {
        let mut lists: Vec<Vec<usize>> = vec![];
        let mut known: HashMap<Pointer, usize> = HashMap::new();
        for (i, group) in self.groups.iter().enumerate() {
            let Some(first) = group.rows.first() else { continue };
            let list = *known.entry(first.a).or_insert(lists.len());
            let is_same = |other: &Group| {
                other.rows.len() == group.rows.len() && other.rows.iter().zip(&group.rows).all(|(x, y)| x.a == y.a)
            };
            match lists.get_mut(list) {
                Some(users) if is_same(&self.groups[users[0]]) => users.push(i),
                _ => lists.push(vec![i]),
            }
        }
        lists
    }

    /// Divides a range of the depth into blocks of [`DEPTH`] words, of which the last may have fewer.
    fn depths(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let depth = DEPTH * self.tile.step;
        range.clone().step_by(depth).map(move |start| start..range.end.min(start + depth))
    }

    /// Returns the number of words of a packed line of `depth` elements, a multiple of [`Tile::unit`]. The last word
    /// with elements may be partly filled, and those after it have none.
    fn steps(&self, depth: usize) -> usize {
        depth.div_ceil(self.tile.step).next_multiple_of(self.tile.unit)
    }

    /// Returns the number of words of a line that are packed at a time of a part's columns: those of one block if all
    /// rows are in one, and of [`Tile::depths`] blocks otherwise. Columns that one block of rows needs once then stay
    /// in the second cache.
    fn span_words(&self, rows: usize) -> usize {
        DEPTH * if rows <= self.block_rows() { 1 } else { self.tile.depths }
    }

    /// Returns the number of rows of a block.
    fn block_rows(&self) -> usize {
        ROWS / self.tile.rows * self.tile.rows
    }

    /// Packs a range of the depth of some rows to `to`, panel by panel.
    ///
    /// # Safety
    /// As for [`run`]; `to` must have room.
    unsafe fn pack_rows(&self, rows: &[Row], depth: &Range<usize>, mut to: *mut u32) {
        let stride = self.gemm.a[1] * self.gemm.elem.size() as isize;
        let runs = self.runs(depth, stride);
        let mut starts = Vec::with_capacity(self.tile.rows);
        for panel in rows.chunks(self.tile.rows) {
            let width = (self.tile.panel_rows)(panel.len());
            let mut run_to = to;
            for &(from, depth) in &runs {
                starts.clear();
                starts.extend(panel.iter().map(|row| row.a.0.wrapping_offset(from).cast_const()));
                let lines = Lines { starts: &starts, width, stride, depth };
                // SAFETY: as the caller says.
                unsafe { (self.tile.pack_rows)(&lines, run_to) };
                run_to = run_to.wrapping_add(width * self.steps(depth));
            }
            to = to.wrapping_add(self.tile.rows * self.steps(depth.len()));
        }
    }

    /// Returns the pieces of a row in a range of the depth, as their starts in bytes and their numbers of elements.
    fn runs(&self, depth: &Range<usize>, stride: isize) -> Vec<(isize, usize)> {
        let Some(pieces) = self.pieces else { return vec![(depth.start as isize * stride, depth.len())] };
        let (mut runs, mut at) = (vec![], depth.start);
        while at < depth.end {
            let (piece, within) = (at / pieces.len, at % pieces.len);
            let len = (pieces.len - within).min(depth.end - at);
            runs.push((pieces.starts[piece] + within as isize * stride, len));
            at += len;
        }
        runs
    }

    /// Packs a range of the depth of some columns of the group's matrix to `to`, panel by panel.
    ///
    /// # Safety
    /// As for [`run`]; `to` must have room.
    unsafe fn pack_columns(&self, group: &Group, columns: &Range<usize>, depth: &Range<usize>, mut to: *mut u32) {
        let size = self.gemm.elem.size() as isize;
        let [stride, column] = self.gemm.b.map(|s| s * size);
        let start = group.matrix.0.wrapping_offset(depth.start as isize * stride).cast_const();
        let line = |c: usize| start.wrapping_offset(c as isize * column);
        if column == size {
            let lines = Adjacent { start: line(columns.start), count: columns.len(), stride, depth: depth.len() };
            // SAFETY: as the caller says.
            return unsafe { (self.tile.pack_adjacent)(&lines, to) };
        }
        let width = self.tile.columns;
        for first in columns.clone().step_by(width) {
            let starts: Vec<_> = (first..columns.end.min(first + width)).map(line).collect();
            let lines = Lines { starts: &starts, width, stride, depth: depth.len() };
            // SAFETY: as the caller says.
            unsafe { (self.tile.pack_lines)(&lines, to) };
            to = to.wrapping_add(width * self.steps(depth.len()));
        }
    }

    /// Computes the results of the rows and columns of a part.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn run(&self, part: &Part) {
        let (group, shape) = (&self.groups[part.group], &self.gemm);
        let panels = part.columns.len().div_ceil(self.tile.columns);
        let width = panels * self.tile.columns;
        let words = self.part_words(part.rows.len(), part.columns.len(), self.packed[part.group].is_some());
        let mut space = Areas::new(words.map(|words| 4 * words));
        let [right, sums, left] = space.starts().map(|start| start.cast::<u32>());
        let span = self.span_words(part.rows.len()) * self.tile.step;
        let mut pace = Pace::default();
        for span in (0..shape.k).step_by(span).map(|start| start..shape.k.min(start + span)) {
            let column_block = |d: &Range<usize>| right.wrapping_add(self.steps(d.start - span.start) * width);
            for depth in self.depths(span.clone()) {
                // SAFETY: as the caller says; there is room for the columns.
                unsafe { self.pack_columns(group, &part.columns, &depth, column_block(&depth)) };
            }
            let height = self.block_rows();
            for rows in part.rows.clone().step_by(height).map(|start| start..part.rows.end.min(start + height)) {
                let sums = sums.wrapping_add((rows.start - part.rows.start) * width);
                for depth in self.depths(span.clone()) {
                    // SAFETY: as the caller says.
                    let left = unsafe { self.left(left, part.group, &rows, &depth) };
                    let block = Block {
                        left,
                        right: column_block(&depth),
                        sums,
                        rows: rows.len(),
                        panels,
                        depth: self.steps(depth.len()),
                        is_first: depth.start == 0,
                        results: (depth.end == shape.k).then(|| self.results(&group.rows[rows.clone()], &part.columns)),
                    };
                    // SAFETY: the panels were packed, there is room for the sums, and results are as the caller says.
                    unsafe { (self.tile.multiply)(&block) };
                    pace.spend(rows.len() * width * block.depth / 8);
                }
            }
        }
    }

    /// Returns the packed rows of a block. They were packed in advance, or are packed to `to`.
    ///
    /// # Safety
    /// As for [`run`]; `to` must have room.
    unsafe fn left(&self, to: *mut u32, group: usize, rows: &Range<usize>, depth: &Range<usize>) -> *const u32 {
        if let Some(panels) = self.packed[group] {
            return panels.at(self, rows.start, depth);
        }
        // SAFETY: as the caller says; there is room for the rows.
        unsafe { self.pack_rows(&self.groups[group].rows[rows.clone()], depth, to) };
        to
    }

    fn results<'r>(&self, rows: &'r [Row], columns: &Range<usize>) -> Results<'r> {
        let stride = self.gemm.c[1] * self.gemm.out.size() as isize;
        let start = columns.start as isize * stride;
        Results { rows, start, columns: columns.len(), stride, accumulate: self.gemm.accumulate }
    }
}

impl Panels {
    /// Returns the panels from a row on, in a block of the depth.
    fn at(self, job: &Job<'_>, row: usize, depth: &Range<usize>) -> *mut u32 {
        self.start.wrapping_add(self.rows * job.steps(depth.start) + row * job.steps(depth.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::Random;
    use crate::elem::Elem;
    use crate::matmul::{matrix_unit, tile};
    use half::bf16;

    /// Checks a product of `bf16` with a matrix of rows, or of columns if `by_columns`. Rows of the left operand may be
    /// in pieces, `row` elements apart.
    fn check(tile: &Tile, [m, n, k]: [usize; 3], by_columns: bool, pieces: Option<&Pieces>, row: usize) {
        let mut random = Random(k as u64);
        let mut draw = |len: usize| (0..len).map(|_| bf16::from_f32(random.dyadic())).collect::<Vec<_>>();
        let (a, b, mut c) = (draw(m * row), draw(k * n), vec![0.0f32; m * n]);
        let mut gemm = Gemm { out: Elem::F32, ..Gemm::row_major(Elem::BF16, m, n, k) };
        if by_columns {
            gemm.b = [1, k as isize];
        }
        let rows = (0..m).map(|i| Row {
            a: Pointer(a[i * row..].as_ptr().cast_mut().cast()),
            c: Pointer(c.as_mut_ptr().wrapping_add(i * n).cast()),
        });
        let group = Group { matrix: Pointer(b.as_ptr().cast_mut().cast()), rows: rows.collect() };
        // SAFETY: the operands have these shapes.
        unsafe { run(&gemm, tile, &Workers::new(2), &[group], pieces, Effort::Large) };
        let left = |p: usize| pieces.map_or(p, |pieces| pieces.starts[p / pieces.len] as usize / 2 + p % pieces.len);
        for (at, &got) in c.iter().enumerate() {
            let right = |p: usize| b[p * gemm.b[0] as usize + at % n * gemm.b[1] as usize].to_f64();
            let sum: f64 = (0..k).map(|p| a[at / n * row + left(p)].to_f64() * right(p)).sum();
            assert_eq!(f64::from(got), sum, "{m} {n} {k} at {at}");
        }
    }

    /// Tests words of two elements, as on machines that multiply pairs of `bf16`.
    #[test]
    fn pairs_are_packed_side_by_side() {
        for (layout, [m, n, k]) in [[1, 1, 1], [7, 33, 9], [5, 40, 700], [150, 20, 4200]].into_iter().enumerate() {
            check(&tile::tests::pairs(), [m, n, k], layout % 2 == 1, None, k);
        }
    }

    /// Tests rows in pieces of whole registers of a matrix unit, and that it does not get other pieces.
    #[test]
    fn a_matrix_unit_multiplies_pieces() {
        let tile = matrix_unit::emulated_tile(Elem::BF16, Elem::F32).expect("there is one");
        let (count, gap) = (12, 5);
        let pieces = |len: usize| Pieces { starts: (0..count).map(|p| (2 * p * (len + gap)) as isize).collect(), len };
        assert!(!tile.suits(count * 80, Some(&pieces(80))));
        assert!(tile.suits(80, Some(&Pieces { starts: vec![0], len: 80 })));
        let whole = pieces(96);
        assert!(tile.suits(count * 96, Some(&whole)));
        check(&tile, [37, 35, count * 96], false, Some(&whole), count * (96 + gap));
    }
}
