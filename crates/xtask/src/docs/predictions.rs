//! `predictions.md`: published measurements beside the simulator's predictions, and the constants of machines with their
//! sources.

use super::{Markdown, Page};
use anyhow::{Result, anyhow};
use shardwise_sim::{Accuracy, Machine, points};

pub fn page() -> Result<Page> {
    let points = points().map_err(|e| anyhow!("{e}"))?;
    let mut table =
        Markdown::new(["what", "machine", "measured, us", "predicted, us", "error", "used to fit", "source", "note"]);
    for point in &points {
        table.row([
            point.what.clone(),
            format!("`{}`", point.topology),
            point.measured_us.to_string(),
            format!("{:.1}", point.predicted_us),
            format!("{:+.1} %", 100.0 * point.error()),
            if point.is_fit { "yes".into() } else { String::new() },
            point.source.clone(),
            point.note.clone(),
        ]);
    }
    let Accuracy { count, median, most } = Accuracy::of(&points);
    let about = format!(
        "Measured times that were published with their sizes and machine, and what `shardwise_sim` predicts. A prediction within \
         the rounding of the measurement has no error. Of the {count} points to which no constant was fitted, the median error is \
         {:.1} %, and nine of ten are within {:.1} %. These points were known when the \
         model was made, so the errors say how well it describes them, not how well it predicts what nobody has seen. The points are in `crates/sim/data/points.txt`; the constants are in \
         `crates/sim/data/machines.txt`, each with its source: {} of {} machines.",
        100.0 * median,
        100.0 * most,
        Machine::all().iter().map(|machine| machine.facts().count()).sum::<usize>(),
        Machine::all().len()
    );
    Ok(Page::of_table("predictions.md", "Predictions and measurements", &about, &table))
}
