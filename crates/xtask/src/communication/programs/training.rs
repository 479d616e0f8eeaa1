//! Training steps: their bytes beside those of a formula and of XLA.
//!
//! `crates/shardwise/tests/it/training_communication.rs` traces the same steps from Rust. It reads the table that is
//! made here, and checks that a step moves at most the bytes of its formula and at most XLA's.

use super::Row;
use crate::table::Table;

/// The family of the training steps. The numbers of the other families do not contain them, because they would outweigh
/// all else.
pub const FAMILY: &str = "training";

const LAYERS: u64 = 4;
const WIDTH: u64 = 64;
const HIDDEN: u64 = 256;
const ROWS: u64 = 512;
const EXPERTS: u64 = 8;
const WORDS: u64 = 96;
/// The bytes of both weights of all layers.
const WEIGHTS: u64 = 2 * LAYERS * WIDTH * HIDDEN * 4;
/// The bytes of all activations between two layers.
const ACTIVATIONS: u64 = ROWS * WIDTH * 4;

/// Returns the bytes that each of `n` devices receives to gather parts of an array of `bytes` bytes, or to sum it into
/// parts.
fn gather(bytes: u64, n: u64) -> u64 {
    bytes * (n - 1) / n
}

fn all_reduce(bytes: u64, n: u64) -> u64 {
    2 * gather(bytes, n)
}

/// Returns what a step must move, in words and in bytes, or `None` if there is no formula for a step of this name.
fn formula(name: &str) -> Option<(&'static str, u64)> {
    let sums_of_layers = |rows: u64, n: u64| LAYERS * 2 * all_reduce(ACTIVATIONS / rows, n);
    let experts = 4 * gather(ROWS * WIDTH * 4 / 8, 8) + all_reduce(WIDTH * EXPERTS * 4, 8);
    Some(match name {
        "data_parallel" => ("each gradient summed once", all_reduce(WEIGHTS, 8)),
        "fully_sharded" => ("two gathers of each weight, one sum into parts", 3 * gather(WEIGHTS, 8)),
        "tensor_parallel" => ("a sum of the activations for each layer, forward and backward", sums_of_layers(1, 8)),
        "fully_sharded_and_tensor_parallel" => {
            ("both, on the parts that a device has", 3 * gather(WEIGHTS / 2, 4) + sums_of_layers(4, 2))
        }
        "experts" => ("tokens there and back, forward and backward; one sum of the gate's gradient", experts),
        "tied_weights" => ("one sum of the gradient of both uses", all_reduce(WORDS * WIDTH * 4, 8)),
        "accumulated_batches" => ("each gradient summed once for all batches", all_reduce(WEIGHTS, 8)),
        _ => return None,
    })
}

/// Returns the table of the training steps among `rows`.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(["step", "formula", "ours", "xla", "xla*", "what it moves"]);
    for row in rows.iter().filter(|row| row.family == FAMILY) {
        let (words, bytes) = formula(&row.name).map_or(("", "?".into()), |(words, bytes)| (words, bytes.to_string()));
        let side = |bytes: Option<u64>| bytes.map_or("?".into(), |b| b.to_string());
        let theirs = row.theirs.as_ref().ok();
        let ours = side(row.ours.as_ref().ok().map(|t| t.worst()));
        let (plain, strict) = (side(theirs.map(|t| t.plain)), side(theirs.map(|t| t.worst())));
        table.row([row.name.clone(), bytes, ours, plain, strict, words.into()]);
    }
    table
}

/// Returns a line for each training step that moves more bytes than XLA does, that one side cannot partition, or that
/// has no formula.
pub fn wrong(rows: &[Row]) -> Vec<String> {
    let why = |row: &Row| match (&row.ours, &row.theirs) {
        _ if formula(&row.name).is_none() => Some("it has no formula".to_string()),
        (Ok(ours), Ok(theirs)) if ours.worst() <= theirs.worst() => None,
        (Ok(ours), Ok(theirs)) => Some(format!("{} bytes against XLA's {}", ours.worst(), theirs.worst())),
        (Err(why), _) | (_, Err(why)) => Some(why.lines().next().unwrap_or("").to_string()),
    };
    let steps = rows.iter().filter(|row| row.family == FAMILY);
    steps.filter_map(|row| Some(format!("{FAMILY}/{}: {}", row.name, why(row)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tally::Tally;
    use super::*;

    fn row(family: &str, name: &str, ours: u64, theirs: u64) -> Row {
        let tally = |bytes: u64| {
            let mut tally = Tally::of_flops(0);
            tally.receive(bytes, bytes);
            Ok(tally)
        };
        Row { family: family.into(), name: name.into(), ours: tally(ours), theirs: tally(theirs) }
    }

    #[test]
    fn a_step_above_xla_is_wrong() {
        let rows = [
            row(FAMILY, "data_parallel", 10, 10),
            row(FAMILY, "experts", 11, 10),
            row(FAMILY, "unknown", 1, 10),
            row("fsdp", "experts", 11, 10),
            Row { theirs: Err("no text\nmore".into()), ..row(FAMILY, "tied_weights", 1, 1) },
        ];
        let expected = [
            "training/experts: 11 bytes against XLA's 10",
            "training/unknown: it has no formula",
            "training/tied_weights: no text",
        ];
        assert_eq!(wrong(&rows), expected);
        let text = table(&rows).to_string();
        assert!(text.contains("917504") && !text.contains("fsdp"), "{text}");
    }
}
