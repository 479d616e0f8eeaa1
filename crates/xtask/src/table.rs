//! Tables in plain text.

/// Rows under a head. Each column is as wide as its widest cell. The first column is aligned left, the others right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        Table { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths = self.widths();
        for (i, row) in self.rows.iter().enumerate() {
            let cell = |(c, text): (usize, &String)| match c {
                0 => format!("{text:<w$}", w = widths[c]),
                _ => format!("{text:>w$}", w = widths[c]),
            };
            let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
            writeln!(f, "{}", line.trim_end())?;
            if i == 0 {
                writeln!(f, "{}", widths.iter().map(|&w| "-".repeat(w)).collect::<Vec<_>>().join("  "))?;
            }
        }
        Ok(())
    }
}
