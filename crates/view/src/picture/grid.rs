//! Grids of labelled cells, of which those that do not fit are left out.

use super::label::Label;

/// A row or a column of a grid.
#[derive(Clone, Debug)]
pub struct Track {
    /// The number of the row or column, or `None` for a gap that stands for those that are left out.
    pub index: Option<usize>,
    pub header: String,
    /// The size relative to that of the largest track, at most 1. It is 0 for a gap.
    pub share: f64,
}

impl Track {
    /// Returns a track of full size.
    pub fn new(index: usize, header: String) -> Track {
        Track { index: Some(index), header, share: 1.0 }
    }
}

/// A grid of cells.
pub struct Grid<'a> {
    pub rows: Vec<Track>,
    pub columns: Vec<Track>,
    /// Returns the label of a cell, and the number of its colour.
    pub cell: Box<dyn Fn(usize, usize) -> (Label<'a>, usize) + 'a>,
}

impl Grid<'_> {
    /// Returns the cell at a row and a column, or `None` in a gap.
    pub fn at(&self, row: &Track, column: &Track) -> Option<(Label<'_>, usize)> {
        Some((self.cell)(row.index?, column.index?))
    }
}

/// Returns all tracks if there are at most `most`, and otherwise the first and last ones with a gap between them. The
/// gap counts as one of `most`. If `most` is less than 3, these are the first track and the gap.
pub fn shown(tracks: &[Track], most: usize) -> Vec<Track> {
    if tracks.len() <= most {
        return tracks.to_vec();
    }
    let tail = (most.max(2) - 1) / 2;
    let head = most.max(2) - 1 - tail;
    let gap = Track { index: None, header: "..".into(), share: 0.0 };
    let (first, last) = (&tracks[..head], &tracks[tracks.len() - tail..]);
    [first, &[gap], last].concat()
}
