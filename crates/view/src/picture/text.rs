//! Pictures as text.

use super::Picture;
use super::blocks::{Blocks, unravel};
use super::grid::{Grid, Track, shown};
use super::label::{Label, ranges};
use shardwise_base::{AxisRef, Mesh, Sharding, counted, printable};
use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};

/// How a picture is written as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// The largest number of columns of a line. A smaller number than 24 counts as 24. A line with colours may be
    /// longer if three cells do not fit.
    pub width: usize,
    /// The number of lines that the picture should not exceed. Planes and rows are left out for this, but at least two
    /// planes and four rows are kept, so that a picture may have more lines. Of a plane, at most 16 rows are shown. The
    /// gap for rows that are left out counts as a row.
    pub height: usize,
    /// True if blocks are in colour, and boxes are drawn with characters that are not ASCII.
    pub is_rich: bool,
}

/// The width that counts if a style has a smaller one.
const LEAST_WIDTH: usize = 24;
/// The width of a grid up to which its columns are widened.
const USUAL_WIDTH: usize = 54;

impl Style {
    /// ASCII without colour, for files and pipes.
    pub const PLAIN: Style = Style { width: 80, height: 40, is_rich: false };
    /// Box drawing with colours, for terminals.
    pub const RICH: Style = Style { is_rich: true, ..Style::PLAIN };

    /// Returns the style for the standard output: [`Style::PLAIN`] if it is no terminal, and otherwise a style of the
    /// size of the terminal, but of at least 20 lines, or of the size of [`Style::PLAIN`] if that of the terminal is
    /// not known. That style is rich, unless the variable `NO_COLOR` is set to a text that is not empty, or `TERM` is
    /// `dumb`.
    pub fn of_stdout() -> Style {
        if !stdout().is_terminal() {
            return Style::PLAIN;
        }
        let is = |name: &str, test: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| test(&value));
        let is_plain = is("NO_COLOR", |v| !v.is_empty()) || is("TERM", |v| v == "dumb");
        let size = terminal_size::terminal_size();
        let width = size.map_or(Style::PLAIN.width, |(width, _)| usize::from(width.0));
        let height = size.map_or(Style::PLAIN.height, |(_, height)| usize::from(height.0).max(20));
        Style { width, height, is_rich: !is_plain }
    }

    fn room(&self) -> usize {
        self.width.max(LEAST_WIDTH)
    }
}

impl Picture {
    /// Returns the picture as text in a style. Each line ends with a line break.
    pub fn to_text(&self, style: &Style) -> String {
        let blocks = Blocks::of(self);
        let mut lines = self.heading(&blocks);
        lines.push(String::new());
        lines.extend(planes(self, &blocks, style));
        if let (Some(chips), Some(sharding)) = (&self.chips, &self.sharding) {
            lines.push(String::new());
            lines.extend(chips.lines(&sharding.mesh, style));
        }
        let mut out = String::new();
        lines.iter().for_each(|line| _ = writeln!(out, "{}", clipped(line.trim_end(), style)));
        out
    }

    pub(super) fn heading(&self, blocks: &Blocks<'_>) -> Vec<String> {
        let title = printable(&self.title);
        let Some(sharding) = &self.sharding else { return vec![format!("{title} on one device")] };
        let mesh = &sharding.mesh;
        let count = counted(mesh.size(), "device");
        let mut lines = vec![format!("{title} on mesh {}: {count}", axes_of(mesh))];
        if !self.stack.is_empty() {
            lines.push(format!("  per device: one array for each coordinate along {}", names(mesh, &self.stack)));
        }
        let dims = self.stack.len()..self.shape.len();
        lines.extend(dims.map(|dim| format!("  {}", self.dimension(sharding, blocks, dim))));
        if blocks.copies() > 1 {
            let whole = if blocks.count() == 1 { "the whole array" } else { "each block" };
            let part = if sharding.unreduced.is_empty() { whole } else { "each summand" };
            lines.push(format!("  {part} is on {}", counted(blocks.copies(), "device")));
        }
        if !sharding.unreduced.is_empty() {
            let axes = names(mesh, &sharding.unreduced);
            lines.push(format!("  unreduced over {axes}: the value is the sum of what devices joined by + hold"));
        }
        let idle = blocks.idle();
        if !idle.is_empty() {
            let each = if idle.len() == 1 { "" } else { "s" };
            lines.push(format!("  no elements on device{each} {}", ranges(&idle)));
        }
        lines
    }

    fn dimension(&self, sharding: &Sharding, blocks: &Blocks<'_>, dim: usize) -> String {
        let size = self.shape[dim];
        let axes = &sharding.dims[dim].axes;
        let start = format!("dim {}: size {size}, ", dim - self.stack.len());
        if axes.is_empty() {
            return format!("{start}whole");
        }
        let count = blocks.shard_count(dim);
        let last = blocks.range(dim, count - 1).len();
        let most = blocks.range(dim, 0).len();
        let filled = blocks.filled_count(dim);
        let over = names(&sharding.mesh, axes);
        let shards = counted(count, "shard");
        if last == most {
            format!("{start}{shards} of {most} over {over}")
        } else if filled < count {
            format!("{start}{shards} of at most {most} over {over}, {} empty", count - filled)
        } else {
            format!("{start}{shards} of {most} over {over}, the last one of {last}")
        }
    }
}

fn axes_of(mesh: &Mesh) -> String {
    let axis = |axis: AxisRef| format!("{}={}", axis.display(mesh), axis.size(mesh));
    let axes = mesh.all_axes().map(axis).collect::<Vec<_>>().join(", ");
    if axes.is_empty() { "without axes".into() } else { axes }
}

fn names(mesh: &Mesh, axes: &[AxisRef]) -> String {
    axes.iter().map(|a| a.display(mesh).to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the line, cut to the width of the style, with `..` at its end if it was cut. A line with colours is not cut.
fn clipped(line: &str, style: &Style) -> String {
    if line.contains('\x1b') || line.chars().count() <= style.room() {
        return line.to_string();
    }
    line.chars().take(style.room() - 2).chain("..".chars()).collect()
}

/// A plane of an array: the shards of the dimensions before the last two, and the grid of the last two.
pub struct Plane<'a> {
    /// The elements of the dimensions before the last two: `[0:2,4:8,:,:]`. Along an axis of per-device code, the
    /// coordinate, as in `[X=1,:,:]`. Empty if there are no such dimensions.
    pub name: String,
    pub grid: Grid<'a>,
}

/// Returns the number of planes of an array: one, or one for each combination of shards along the dimensions before the
/// last two that have elements.
pub fn plane_count(blocks: &Blocks<'_>) -> usize {
    leading(blocks).iter().product()
}

fn leading(blocks: &Blocks<'_>) -> Vec<usize> {
    (0..blocks.rank().saturating_sub(2)).map(|dim| blocks.filled_count(dim)).collect()
}

/// Returns the plane with this number, row-major among the shards that [`plane_count`] counts.
pub fn plane<'a>(blocks: &'a Blocks<'a>, number: usize) -> Plane<'a> {
    let rank = blocks.rank();
    let before = unravel(&leading(blocks), number);
    let range = |(dim, &shard): (usize, &usize)| blocks.name(dim, shard);
    let mut names: Vec<String> = before.iter().enumerate().map(range).collect();
    names.extend([":", ":"].map(String::from));
    let name = if before.is_empty() { String::new() } else { format!("[{}]", names.join(",")) };
    let single = || vec![Track::new(0, String::new())];
    let rows = if rank > 1 { tracks(blocks, rank - 2) } else { single() };
    let columns = if rank > 0 { tracks(blocks, rank - 1) } else { single() };
    let cell = move |row: usize, column: usize| {
        let tail = [row, column];
        let index: Vec<usize> = before.iter().chain(&tail[2 - rank.min(2)..]).copied().collect();
        (Label::Devices(blocks.holders(&index)), 3 * row + column + 5 * number)
    };
    Plane { name, grid: Grid { rows, columns, cell: Box::new(cell) } }
}

fn tracks(blocks: &Blocks<'_>, dim: usize) -> Vec<Track> {
    let most = blocks.range(dim, 0).len() as f64;
    let track = |i: usize| {
        let share = blocks.range(dim, i).len() as f64 / most;
        Track { index: Some(i), header: blocks.name(dim, i), share }
    };
    (0..blocks.filled_count(dim)).map(track).collect()
}

/// Returns the lines of the planes, of which those in the middle are left out if there are many. Returns a line that
/// says so if the array has no elements.
fn planes(picture: &Picture, blocks: &Blocks<'_>, style: &Style) -> Vec<String> {
    if picture.shape.contains(&0) {
        return vec!["  the array has no elements".into()];
    }
    let count = plane_count(blocks);
    let one = write_grid(&plane(blocks, 0).grid, style);
    let most = (style.height / (one.len() + 2)).max(2);
    if count == 1 {
        let name = plane(blocks, 0).name;
        return if name.is_empty() { one } else { [vec![name], one].concat() };
    }
    let (head, tail) = if count <= most { (count, 0) } else { (most - most / 2, most / 2) };
    let mut lines = vec![];
    for number in (0..head).chain(count - tail..count) {
        if number >= head && number == count - tail {
            lines.extend([format!("  .. {} ..", counted(count - head - tail, "more plane")), String::new()]);
        }
        let plane = plane(blocks, number);
        lines.push(plane.name);
        lines.extend(write_grid(&plane.grid, style));
        lines.push(String::new());
    }
    lines.pop();
    lines
}

/// The characters of boxes: horizontal and vertical lines, and the corners of the first, middle and last line.
struct Pen {
    line: char,
    side: char,
    corners: [[char; 3]; 3],
}

const ASCII: Pen = Pen { line: '-', side: '|', corners: [['+'; 3]; 3] };
const BOXES: Pen =
    Pen { line: '─', side: '│', corners: [['┌', '┬', '┐'], ['├', '┼', '┤'], ['└', '┴', '┘']] };

/// Returns the lines of a grid: headers of columns, and rows of boxes with their headers.
pub fn write_grid(grid: &Grid<'_>, style: &Style) -> Vec<String> {
    let rows = shown(&grid.rows, most_rows(style));
    let margin = rows.iter().map(|r| r.header.len()).max().unwrap_or(0);
    let indent = margin + usize::from(margin > 0);
    let (columns, widths) = fit_columns(grid, &rows, style.room().saturating_sub(indent));
    let pen = if style.is_rich { &BOXES } else { &ASCII };
    let mut lines = vec![];
    if columns.iter().any(|c| !c.header.is_empty()) {
        let headers = columns.iter().zip(&widths).map(|(c, &w)| centred(&c.header, w));
        lines.push(format!("{}{}", " ".repeat(indent + 1), headers.collect::<Vec<_>>().join(" ")));
    }
    let border = |kind: usize| " ".repeat(indent) + &border(pen, &widths, kind);
    lines.push(border(0));
    for (i, row) in rows.iter().enumerate() {
        lines.extend(write_row(grid, row, &columns, &widths, (margin, height(row, rows.len())), style));
        lines.push(border(if i + 1 == rows.len() { 2 } else { 1 }));
    }
    lines
}

fn most_rows(style: &Style) -> usize {
    (style.height / 3).clamp(4, 16)
}

/// Returns the number of lines of a row, of which `count` are shown: three if `count` is at most 3, and otherwise one.
/// A row with fewer elements than others may have fewer lines, but at least one.
fn height(row: &Track, count: usize) -> usize {
    let full = if count <= 3 { 3.0 } else { 1.0 };
    ((full * row.share).round() as usize).max(1)
}

fn border(pen: &Pen, widths: &[usize], kind: usize) -> String {
    let [left, middle, right] = pen.corners[kind];
    let lines: Vec<String> = widths.iter().map(|&w| pen.line.to_string().repeat(w)).collect();
    format!("{left}{}{right}", lines.join(&middle.to_string()))
}

fn write_row(
    grid: &Grid<'_>,
    row: &Track,
    columns: &[Track],
    widths: &[usize],
    (margin, height): (usize, usize),
    style: &Style,
) -> Vec<String> {
    let pen = if style.is_rich { &BOXES } else { &ASCII };
    let line = |at: usize| {
        let is_middle = at == (height - 1) / 2;
        let header = if is_middle { &row.header[..] } else { "" };
        let mut out = format!("{header:>margin$}{}", if margin > 0 { " " } else { "" });
        for (column, &width) in columns.iter().zip(widths) {
            let cell = grid.at(row, column);
            let text = match &cell {
                Some((label, _)) if is_middle => label.fit(width),
                None if is_middle => "..".into(),
                _ => String::new(),
            };
            out.push(pen.side);
            out += &coloured(&centred(&text, width), cell.map(|c| c.1).filter(|_| style.is_rich));
        }
        out.push(pen.side);
        out
    };
    (0..height).map(line).collect()
}

/// The colours of blocks: numbers of the 256 colours of terminals, all light enough for black text.
const COLOURS: [u8; 12] = [117, 222, 151, 218, 183, 159, 229, 174, 114, 216, 153, 187];

fn coloured(text: &str, colour: Option<usize>) -> String {
    match colour {
        Some(colour) => format!("\x1b[48;5;{};30m{text}\x1b[0m", COLOURS[colour % COLOURS.len()]),
        None => text.to_string(),
    }
}

fn centred(text: &str, width: usize) -> String {
    let text: String = text.chars().take(width).collect();
    format!("{text:^width$}")
}

/// Returns the columns that fit into `room`, and their widths without the lines between them. At most a column for each
/// four characters of `room` is kept. Labels are then shortened before more columns are left out. Up to three columns
/// are kept even if they do not fit.
fn fit_columns(grid: &Grid<'_>, rows: &[Track], room: usize) -> (Vec<Track>, Vec<usize>) {
    let all = shown(&grid.columns, room / 4);
    let widths = [room / 2, 24, 16, 12, 8].map(|most| natural_widths(grid, rows, &all, most));
    if let Some(widths) = widths.into_iter().find(|w| total(w) <= room) {
        return (all.clone(), widened(&all, widths, room));
    }
    let fits = |&count: &usize| {
        let columns = shown(&grid.columns, count);
        total(&natural_widths(grid, rows, &columns, 8)) <= room
    };
    let count = (3..=all.len()).rev().find(fits).unwrap_or(3);
    let columns = shown(&grid.columns, count);
    let widths = natural_widths(grid, rows, &columns, 8);
    (columns, widths)
}

fn total(widths: &[usize]) -> usize {
    widths.iter().map(|w| w + 1).sum::<usize>() + 1
}

/// Returns the least widths of the columns, if a label has at most `most` characters and a space on both sides.
fn natural_widths(grid: &Grid<'_>, rows: &[Track], columns: &[Track], most: usize) -> Vec<usize> {
    let width = |column: &Track| {
        let labels = rows.iter().filter_map(|row| Some(grid.at(row, column)?.0.fit(most).len() + 2));
        let least = if column.index.is_some() { 4 } else { 2 };
        labels.chain([column.header.len().max(least)]).max().unwrap_or(least)
    };
    columns.iter().map(width).collect()
}

/// Returns `widths`, enlarged if the grid is small, in proportion to the elements of the columns. Returns them
/// unchanged if the enlarged ones do not fit into `room`.
fn widened(columns: &[Track], widths: Vec<usize>, room: usize) -> Vec<usize> {
    let shares: f64 = columns.iter().map(|c| c.share).sum();
    let usual = USUAL_WIDTH.min(room).saturating_sub(columns.len() + 1);
    let least = widths.iter().copied().max().unwrap_or(0).max((usual as f64 / shares) as usize).min(24);
    let wide = columns.iter().zip(&widths).map(|(c, &w)| w.max((least as f64 * c.share).round() as usize));
    let wide: Vec<usize> = wide.collect();
    if total(&wide) <= room { wide } else { widths }
}
