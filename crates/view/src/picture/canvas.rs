//! Pictures as SVG and PNG, both of which are drawn from the same rectangles and texts.

use super::blocks::Blocks;
use super::font;
use super::grid::{Grid, Track, shown};
use super::text::{Plane, plane, plane_count};
use super::{Chips, Picture, png};
use shardwise_base::{Mesh, counted};
use std::fmt::Write as _;

/// The width of a character in pixels, which is the same in both forms.
const CHARACTER: usize = 7;
/// The height of a line of text in pixels.
const LINE: usize = 18;
const MARGIN: usize = 16;
/// The largest number of rows, and of columns, that are drawn of a grid, with the gap for those that are left out.
const MOST_TRACKS: usize = 17;
const MOST_PLANES: usize = 8;
/// The largest number of planes of an array that are drawn beside each other.
const ACROSS: usize = 4;
/// The width in pixels that the columns of a grid share. The rows share half of it. A column that needs more room for
/// its text, or a row that is lower than a line, is larger than its share.
const SIDE: usize = 240;

type Rgb = [u8; 3];
const INK: Rgb = [32, 33, 36];
const PAPER: Rgb = [255, 255, 255];
/// The colours of blocks, all light enough for black text. A block with a larger number has the colour of the
/// remainder.
const COLOURS: [Rgb; 12] = [
    [135, 215, 255],
    [255, 215, 135],
    [175, 255, 175],
    [255, 175, 215],
    [215, 175, 255],
    [175, 255, 255],
    [255, 255, 175],
    [255, 175, 175],
    [135, 215, 135],
    [255, 175, 135],
    [175, 255, 95],
    [215, 255, 175],
];

/// Rectangles and texts on white paper.
pub struct Canvas {
    width: usize,
    height: usize,
    rectangles: Vec<Rectangle>,
    /// Texts by the left end and the top of their lines.
    texts: Vec<(usize, usize, String)>,
}

struct Rectangle {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    fill: Rgb,
}

/// Returns the line for the planes beyond [`MOST_PLANES`], of `count` planes in all.
fn more_planes(count: usize) -> String {
    format!(".. {} ..", counted(count - MOST_PLANES, "more plane"))
}

/// Returns a canvas with the heading, the first [`MOST_PLANES`] planes of the array, or a line that says that it has no
/// elements, and the first [`MOST_PLANES`] planes of the chips if the picture has chips and a layout.
pub fn draw(picture: &Picture) -> Canvas {
    let mut canvas = Canvas { width: 0, height: MARGIN, rectangles: vec![], texts: vec![] };
    let blocks = Blocks::of(picture);
    picture.heading(&blocks).into_iter().for_each(|line| canvas.line(line));
    match picture.shape.contains(&0) {
        true => canvas.line("  the array has no elements".into()),
        false => canvas.planes(&blocks),
    }
    if let (Some(chips), Some(sharding)) = (&picture.chips, &picture.sharding) {
        canvas.chips(chips, &sharding.mesh);
    }
    canvas.width += MARGIN;
    canvas.height += MARGIN;
    canvas
}

impl Canvas {
    /// Returns the width and the height in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    fn text(&mut self, x: usize, y: usize, text: String) {
        self.width = self.width.max(x + CHARACTER * text.chars().count());
        self.texts.push((x, y, text));
    }

    fn line(&mut self, text: String) {
        self.text(MARGIN, self.height, text);
        self.height += LINE;
    }

    fn planes(&mut self, blocks: &Blocks<'_>) {
        let count = plane_count(blocks);
        let numbers: Vec<usize> = (0..count.min(MOST_PLANES)).collect();
        for row in numbers.chunks(ACROSS) {
            let (mut x, mut bottom) = (MARGIN, self.height);
            for &number in row {
                let plane = plane(blocks, number);
                let (right, below) = self.plane(&plane, x, self.height + LINE / 2);
                (x, bottom) = (right + MARGIN, bottom.max(below));
            }
            self.height = bottom + LINE / 2;
        }
        if count > MOST_PLANES {
            self.line(more_planes(count));
        }
    }

    fn plane(&mut self, plane: &Plane<'_>, x: usize, mut y: usize) -> (usize, usize) {
        if !plane.name.is_empty() {
            self.text(x, y, plane.name.clone());
            y += LINE;
        }
        self.grid(&plane.grid, x, y)
    }

    fn chips(&mut self, chips: &Chips, mesh: &Mesh) {
        self.height += LINE;
        [vec![chips.title()], chips.links(mesh)].concat().into_iter().for_each(|line| self.line(line));
        let cells = chips.cells(mesh);
        let planes = chips.planes(&cells);
        for (name, grid) in planes.iter().take(MOST_PLANES) {
            self.line(name.clone());
            (_, self.height) = self.grid(grid, MARGIN, self.height);
        }
        if planes.len() > MOST_PLANES {
            self.line(more_planes(planes.len()));
        }
    }

    /// Draws a grid with its upper left corner at `x`, `y`. Returns its right end, and its bottom with half a line of
    /// space.
    fn grid(&mut self, grid: &Grid<'_>, x: usize, y: usize) -> (usize, usize) {
        let (rows, columns) = (shown(&grid.rows, MOST_TRACKS), shown(&grid.columns, MOST_TRACKS));
        let margin = rows.iter().map(|r| r.header.len()).max().unwrap_or(0) * CHARACTER;
        let left = x + margin + usize::from(margin > 0) * CHARACTER;
        let has_headers = columns.iter().any(|c| !c.header.is_empty());
        let top = y + usize::from(has_headers) * LINE;
        let widths: Vec<usize> = columns.iter().map(|c| width(grid, &rows, c, columns.len())).collect();
        let heights: Vec<usize> = rows.iter().map(|r| scaled(SIDE / 2 / rows.len(), r.share).max(LINE)).collect();
        let (xs, ys) = (starts(left, &widths), starts(top, &heights));
        for ((column, &x), &w) in columns.iter().zip(&xs).zip(&widths) {
            self.centred(&column.header, (x, w), (y, LINE));
        }
        for ((row, &y), &h) in rows.iter().zip(&ys).zip(&heights) {
            self.centred(&row.header, (left - margin - usize::from(margin > 0) * CHARACTER, margin), (y, h));
            for ((column, &x), &w) in columns.iter().zip(&xs).zip(&widths) {
                self.cell(
                    grid.at(row, column).map(|(label, colour)| (label.fit(w / CHARACTER), colour)),
                    (x, w),
                    (y, h),
                );
            }
        }
        let (right, bottom) = (xs[columns.len()], ys[rows.len()]);
        self.width = self.width.max(right + 1);
        (right, bottom + LINE / 2)
    }

    fn cell(&mut self, cell: Option<(String, usize)>, x: (usize, usize), y: (usize, usize)) {
        let Some((label, colour)) = cell else { return self.centred("..", x, y) };
        self.rectangles.push(Rectangle { x: x.0, y: y.0, width: x.1 + 1, height: y.1 + 1, fill: INK });
        let fill = COLOURS[colour % COLOURS.len()];
        self.rectangles.push(Rectangle { x: x.0 + 1, y: y.0 + 1, width: x.1 - 1, height: y.1 - 1, fill });
        self.centred(&label, x, y);
    }

    fn centred(&mut self, text: &str, x: (usize, usize), y: (usize, usize)) {
        if !text.is_empty() {
            let left = x.0 + x.1.saturating_sub(text.chars().count() * CHARACTER) / 2;
            self.text(left, y.0 + y.1.saturating_sub(LINE) / 2, text.into());
        }
    }

    pub fn to_svg(&self) -> String {
        let (width, height) = self.size();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            hex(PAPER)
        );
        for Rectangle { x, y, width, height, fill } in &self.rectangles {
            let size = format!("width=\"{width}\" height=\"{height}\"");
            let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" {size} fill=\"{}\"/>", hex(*fill));
        }
        let _ = writeln!(out, "<g font-family=\"monospace\" font-size=\"11.6\" fill=\"{}\">", hex(INK));
        for (x, y, text) in &self.texts {
            let length = text.chars().count() * CHARACTER;
            let place = format!("x=\"{x}\" y=\"{}\" textLength=\"{length}\"", y + LINE * 3 / 4);
            let _ = writeln!(out, "<text {place} xml:space=\"preserve\">{}</text>", escaped(text));
        }
        out + "</g>\n</svg>\n"
    }

    pub fn to_png(&self) -> Vec<u8> {
        let mut pixels = vec![PAPER; self.width * self.height];
        for r in &self.rectangles {
            for y in r.y..r.y + r.height {
                pixels[y * self.width + r.x..][..r.width].fill(r.fill);
            }
        }
        for (x, y, text) in &self.texts {
            for (i, c) in text.chars().enumerate() {
                font::draw(c, |dx, dy| pixels[(y + 5 + dy) * self.width + x + i * CHARACTER + 1 + dx] = INK);
            }
        }
        png::encoded(self.size(), pixels.as_flattened())
    }
}

/// Returns the width of a column in pixels: what its header and its labels need, each label shortened to 16 characters
/// ([`Label::fit`](super::label::Label::fit)), or its share of [`SIDE`] if that is larger. `count` is the number of
/// columns.
fn width(grid: &Grid<'_>, rows: &[Track], column: &Track, count: usize) -> usize {
    let labels = rows.iter().filter_map(|row| Some(grid.at(row, column)?.0.fit(16).len()));
    let characters = labels.chain([column.header.len()]).max().unwrap_or(0) + 2;
    (characters * CHARACTER).max(scaled(SIDE / count, column.share))
}

fn scaled(length: usize, share: f64) -> usize {
    (length as f64 * share) as usize
}

/// Returns where boxes of these lengths start if the first one starts at `first`, and where the last one ends.
fn starts(first: usize, lengths: &[usize]) -> Vec<usize> {
    let mut at = first;
    let ends = lengths.iter().map(|length| {
        at += length;
        at
    });
    let ends: Vec<usize> = ends.collect();
    [vec![first], ends].concat()
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Returns a text with `&`, `<` and `>` escaped, and with spaces in place of control characters and of others that XML
/// forbids.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
