//! The record of a run: a line on the terminal, a table of losses, and a picture of them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The losses of a step. `train` is what training minimizes, on the batch of the step and before the weights change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The number of the step, from 1.
    pub step: usize,
    pub train: f32,
    /// The loss on the text for evaluation after the step. `None` if it was not computed, as in most steps.
    pub test: Option<f32>,
}

/// The losses of a run, which are shown and written while it goes on.
pub struct Record {
    pub rows: Vec<Row>,
    steps: usize,
    /// The entropy of a bigram model, which the picture compares with.
    bigram: f64,
    files: Option<(PathBuf, File)>,
    first: usize,
    begin: Instant,
    is_terminal: bool,
}

impl Record {
    /// Begins or continues a record after `first` of `steps` steps. `folder` gets `loss.csv` and `loss.svg`. Rows of
    /// steps after `first` are dropped: they will be made again. Fails if a file cannot be read or written.
    pub fn new(folder: Option<&Path>, first: usize, steps: usize, bigram: f64) -> io::Result<Record> {
        let (mut rows, mut files) = (vec![], None);
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
            let (path, new) = (folder.join("loss.csv"), folder.join("loss.csv.new"));
            if first > 0 && path.exists() {
                rows = parse(&fs::read_to_string(&path)?).into_iter().filter(|row| row.step <= first).collect();
            }
            // The old table is replaced in one go, so that a run that is killed here loses no row.
            fs::write(&new, format!("step,train,test\n{}", rows.iter().map(line).collect::<String>()))?;
            fs::rename(&new, &path)?;
            files = Some((folder.into(), File::options().append(true).open(path)?));
        }
        let is_terminal = io::stdout().is_terminal();
        Ok(Record { rows, steps, bigram, files, first, begin: Instant::now(), is_terminal })
    }

    /// Adds a row to the table, and prints it. Its step must be after the record's first one, and not after its last.
    /// If it has no loss of the evaluation, it is printed only on a terminal, as a line that the next row replaces. If
    /// it has one and the record has a folder, the picture is drawn anew. Fails if a file cannot be written, and fails
    /// or panics if the output cannot be written.
    pub fn add(&mut self, row: Row) -> io::Result<()> {
        self.rows.push(row);
        if let Some((folder, table)) = &mut self.files {
            table.write_all(line(&row).as_bytes())?;
            if row.test.is_some() {
                fs::write(folder.join("loss.svg"), picture(&self.rows, self.bigram))?;
            }
        }
        let time = self.begin.elapsed().as_secs_f64() / (row.step - self.first) as f64;
        let losses = row.test.map_or(String::new(), |test| format!(", test {test:.4}"));
        let text = format!("step {:5}: loss {:.4}{losses}, {:.0} ms a step", row.step, row.train, 1e3 * time);
        let left = (time * (self.steps - row.step) as f64) as u64;
        let full = 24 * row.step / self.steps;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(24 - full));
        match (self.is_terminal, row.test) {
            (true, Some(_)) => println!("\r\x1b[K{text}"),
            (true, None) => print!("\r\x1b[K{bar} {text}, {}:{:02} left", left / 60, left % 60),
            (false, Some(_)) => println!("{text}"),
            (false, None) => {}
        }
        io::stdout().flush()
    }
}

/// Writes the settings of a run to `settings.txt` in its folder. If the run is resumed, returns the settings that
/// differ from those in the older file, and none if that cannot be read. Fails if the folder cannot be made or the
/// file cannot be written.
pub fn write_settings(folder: &Path, settings: &str, resume: bool) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let path = folder.join("settings.txt");
    let old = fs::read_to_string(&path).ok().filter(|_| resume);
    fs::write(&path, settings)?;
    let pairs = old.iter().flat_map(|old| old.lines().zip(settings.lines()));
    Ok(pairs.filter(|(old, new)| old != new).map(|(old, new)| format!("{new} (it was {old})")).collect())
}

fn line(row: &Row) -> String {
    format!("{},{},{}\n", row.step, row.train, row.test.map_or(String::new(), |x| x.to_string()))
}

/// Reads the rows of a table. Lines that are not complete rows are left out: the names of the columns, and the line in
/// which the table of a killed run may end.
pub fn parse(table: &str) -> Vec<Row> {
    let row = |line: &str| {
        let [step, train, test] = line.strip_suffix('\n')?.split(',').collect::<Vec<_>>().try_into().ok()?;
        Some(Row { step: step.parse().ok()?, train: train.parse().ok()?, test: test.parse().ok() })
    };
    table.split_inclusive('\n').filter_map(row).collect()
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// The space around the axes: left and below for numbers, right for names.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 80.0;
const BELOW: f64 = 40.0;
const ABOVE: f64 = 16.0;

const STYLE: &str = "
    svg { background: #fff; font: 13px sans-serif; fill: #333 } path { fill: none; stroke-width: 1.5 }
    .grid { stroke: #ddd } .train { stroke: #8ab4e8 } .test { stroke: #c2410c; stroke-width: 2.5 }
    .bigram { stroke: #666; stroke-dasharray: 6 4 }
    @media (prefers-color-scheme: dark) {
      svg { background: #16181d; fill: #ccc } .grid { stroke: #333 } .train { stroke: #3f6fa8 }
      .test { stroke: #fb923c } .bigram { stroke: #999 }
    }";

/// Draws the losses against the steps, and the entropy of a bigram model, as SVG that can be read on light and dark
/// pages.
pub fn picture(rows: &[Row], bigram: f64) -> String {
    let steps = rows.last().map_or(1, |row| row.step).max(1) as f64;
    let test: Vec<(f64, f64)> = rows.iter().filter_map(|r| Some((r.step as f64, f64::from(r.test?)))).collect();
    let train: Vec<(f64, f64)> = rows.iter().map(|r| (r.step as f64, f64::from(r.train))).collect();
    let top = train.iter().chain(&test).map(|p| p.1).filter(|y| y.is_finite()).fold(bigram, f64::max).ceil().max(1.0);
    let x = |step: f64| LEFT + step / steps * (WIDTH - LEFT - RIGHT);
    let y = |loss: f64| HEIGHT - BELOW - loss / top * (HEIGHT - BELOW - ABOVE);
    let curve = |points: &[(f64, f64)]| {
        let finite = points.iter().filter(|p| p.1.is_finite());
        let points: Vec<String> = finite.map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        if points.is_empty() { String::new() } else { format!("M{}", points.join(" L")) }
    };
    let mut out = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">");
    let mut add = |element: String| writeln!(out, "{element}").expect("text can be written");
    add(format!("<style>{STYLE}\n</style>"));
    // A number for each unit of the loss, or at most eleven numbers in all.
    let spacing = (top / 10.0).ceil();
    for i in 0..=(top / spacing) as usize {
        let loss = spacing * i as f64;
        let at = y(loss);
        add(format!("<path class=\"grid\" d=\"M{LEFT} {at:.1} H{:.1}\"/>", x(steps)));
        add(format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{loss}</text>", LEFT - 8.0, at + 4.0));
    }
    for part in 0..=4 {
        let step = (steps * f64::from(part) / 4.0).round();
        add(format!("<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{step}</text>", x(step), HEIGHT - BELOW + 20.0));
    }
    // The name of the lower curve is below it, so that the names do not overlap.
    let lower = test.last().map_or(bigram, |p| p.1).min(bigram);
    let curves = [("train", train), ("bigram", vec![(0.0, bigram), (steps, bigram)]), ("test", test)];
    for (name, points) in curves {
        add(format!("<path class=\"{name}\" d=\"{}\"><title>{name}</title></path>", curve(&points)));
        if let Some((_, loss)) = points.last().filter(|p| name != "train" && p.1.is_finite()) {
            let below = if *loss == lower { 14.0 } else { -4.0 };
            add(format!("<text x=\"{:.1}\" y=\"{:.1}\">{name} {loss:.2}</text>", x(steps) + 6.0, y(*loss) + below));
        }
    }
    out + "</svg>\n"
}
