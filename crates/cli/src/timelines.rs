//! Timelines of runs, printed or written into files.

use crate::Source;
use shardwise_base::Diagnostics;
use shardwise_view::{Timeline, check_path};
use std::path::Path;

/// The name of a file for which the timeline is printed.
pub const PRINTED: &str = "-";

/// Fails if the timeline cannot be written into the file `target` ([`check_path`]). Called before the program runs.
pub fn check(target: Option<&Path>) -> Result<(), Diagnostics> {
    target.filter(|path| *path != Path::new(PRINTED)).map_or(Ok(()), check_path)
}

/// Prints the timeline, or writes it into the file `target`, with the text of the program. Fails if the file cannot be
/// written, or if the program cannot be read again.
pub fn show(timeline: &Timeline, target: &Path, source: &Source) -> Result<(), Diagnostics> {
    if target == Path::new(PRINTED) {
        say!("{timeline}");
        return Ok(());
    }
    let text = source.text_again()?;
    timeline.save(target, text.as_ref().map(|text| &text.text[..]))
}
