//! `coverage.md`: how each op ran when it was split along each kind of factor.

use super::{Markdown, Page};
use anyhow::{Error, Result};
use shardwise_check::coverage::{FactorColumn, Fit, Ran, Row, coverage};

pub fn page() -> Result<Page> {
    let rows = coverage().map_err(Error::msg)?;
    let mut table = Markdown::new(["op", "pass-through", "reduction", "need replication", "permutation"]);
    for row in &rows {
        let name = format!("`{}`", row.op.name());
        table.row(match &row.none {
            Some(why) => [name, format!("none: {why}"), String::new(), String::new(), String::new()],
            None => [
                name,
                cell(row, FactorColumn::PassThrough),
                cell(row, FactorColumn::Reduction),
                cell(row, FactorColumn::NeedReplication),
                cell(row, FactorColumn::Permutation),
            ],
        });
    }
    let count = |ran: Ran| rows.iter().flat_map(|r| r.cells.values()).filter(|r| **r == ran).count();
    let about = format!(
        "Each op by the kinds of factors that its rules have. A size that stands in a cell was run: a program of the op, its \
         operands and results split along such a factor, evenly, unevenly, and where the factor has size 0 or 1, gave what \
         the whole program gives, bit for bit, in the interpreter and on the host engine. *In parts*: the op ran on the \
         devices' parts; *whole*: its operands were gathered first, as always if the factor has size 0 or 1. An empty \
         cell: no rule of the op has such a factor. In all {} cells in parts, {} whole.",
        count(Ran::InParts),
        count(Ran::Whole)
    );
    Ok(Page::of_table("coverage.md", "Coverage of sharded ops", &about, &table))
}

/// Formats a cell: `in parts: even; whole: 0, 1; not uneven; uneven: why`. Returns an empty text if no rule of the op
/// has such a factor.
fn cell(row: &Row, kind: FactorColumn) -> String {
    if !row.kinds().contains(&kind) {
        return String::new();
    }
    let mut words = vec![];
    for (ran, name) in [(Some(Ran::InParts), "in parts: "), (Some(Ran::Whole), "whole: "), (None, "not ")] {
        let fits = Fit::ALL.into_iter().filter(|&fit| row.cells.get(&(kind, fit)).copied() == ran);
        let told: Vec<&str> = fits.map(Fit::name).collect();
        if !told.is_empty() {
            words.push(format!("{name}{}", told.join(", ")));
        }
    }
    for reason in row.reasons.iter().filter(|r| r.kind == kind) {
        let fits: Vec<&str> = reason.fits.iter().map(|f| f.name()).collect();
        words.push(format!("{}: {}", fits.join(", "), reason.text));
    }
    words.join("; ")
}
