//! Tables of text, and numbers as people read them.

use crate::Picoseconds;
use shardwise_base::printable;

pub(crate) struct Table {
    /// True for each column that is aligned at the right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table with a heading. The columns whose heading starts with `>`, which is not shown, are aligned at
    /// the right.
    pub fn new(heading: &[&str]) -> Table {
        let right = heading.iter().map(|cell| cell.starts_with('>')).collect();
        Table { right, rows: vec![heading.iter().map(|cell| cell.trim_start_matches('>').into()).collect()] }
    }

    /// Adds a row, which must have a cell for each column. Control characters in its cells are escaped. Spaces at the
    /// start of a cell are kept.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.right.len());
        self.rows.push(row.iter().map(|cell| printable(cell).into_owned()).collect());
    }

    /// Returns the lines, the heading first. A column whose cells below the heading are all empty is left out.
    pub fn lines(&self) -> Vec<String> {
        let is_used = |column: usize| self.rows.iter().skip(1).any(|row| !row[column].is_empty());
        let columns: Vec<usize> = (0..self.right.len()).filter(|&column| is_used(column)).collect();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = columns.iter().map(|&column| width(column)).collect();
        let line = |row: &Vec<String>| {
            let cells = columns.iter().zip(&widths).map(|(&column, &width)| match self.right[column] {
                true => format!("{:>width$}", row[column]),
                false => format!("{:<width$}", row[column]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        self.rows.iter().map(line).collect()
    }
}

/// Returns a time as text in the smallest unit in which it is printed as less than 1000, or in seconds: `222.5 us`.
pub(crate) fn time(time: Picoseconds) -> String {
    let (value, unit) = in_units(time as f64, ["ps", "ns", "us", "ms", "s"]);
    let digits = usize::from(unit != "ps");
    format!("{value:.digits$} {unit}")
}

/// Returns a number in the first unit in which it is printed as less than 1000, or else in the last one, and the unit.
/// Each unit is 1000 times the one before.
fn in_units<const N: usize>(mut value: f64, units: [&str; N]) -> (f64, &str) {
    let mut unit = 0;
    // 999.95 would be printed as 1000.0.
    while value >= 999.95 && unit + 1 < N {
        value /= 1000.0;
        unit += 1;
    }
    (value, units[unit])
}

pub(crate) fn rate(flops: f64) -> String {
    let (value, unit) = in_units(flops, ["", "k", "M", "G", "T"]);
    format!("{value:.1} {unit}flop/s")
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

pub(crate) fn known<T>(fact: Option<T>, text: impl Fn(T) -> String) -> String {
    fact.map(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let times = [0, 999, 1_500, 999_949_999, 999_950_000, 222_500_000, 3_600_000_000_000_000];
        assert_eq!(times.map(time), ["0 ps", "999 ps", "1.5 ns", "999.9 us", "1.0 ms", "222.5 us", "3600.0 s"]);
        assert_eq!([0.0, 999.96, 2.5e13].map(rate), ["0.0 flop/s", "1.0 kflop/s", "25.0 Tflop/s"]);
        assert_eq!(percent(0.2864), "28.6 %");
    }

    #[test]
    fn columns_without_facts_are_left_out() {
        let mut table = Table::new(&[">time", "bytes", "name"]);
        table.push(vec!["1".into(), String::new(), "a\u{1b}[31m\n".into()]);
        table.push(vec!["12345".into(), String::new(), "  b".into()]);
        assert_eq!(table.lines(), [" time  name", "    1  a\\u{1b}[31m\\n", "12345    b"]);
    }
}
