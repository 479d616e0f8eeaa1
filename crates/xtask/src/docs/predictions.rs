//! `predictions.md`: published measurements beside the simulator's predictions, and the numbers of constants and
//! machines of the simulator.

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
        "This page compares published measurements with the predictions of `shardwise_sim`. Published times are rounded. A \
         prediction that differs by no more than this rounding has the error 0. No constant was fitted to {count} of the \
         points. The median of their errors is {:.1} %, and nine of ten are at most {:.1} %. These points were known when the \
         model was made. So the errors show how well the model describes known times, and not how well it predicts others. \
         The points are in `crates/sim/data/points.txt`. The {} constants of {} machines are in \
         `crates/sim/data/machines.txt`, each with its source.",
        100.0 * median,
        100.0 * most,
        Machine::all().iter().map(|machine| machine.facts().count()).sum::<usize>(),
        Machine::all().len()
    );
    Ok(Page::of_table("predictions.md", "Predictions and measurements", &about, &table))
}
