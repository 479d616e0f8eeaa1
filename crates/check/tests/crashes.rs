//! Runs the programs that once crashed something, `testdata/crashes/*.mlir`. They must end in results that are equal
//! everywhere, or in diagnostics. The first line may require one of these: `// runs` or `// refused`.

use shardwise_check::fuzz::{CaseKind, Outcome, Reached, run_text};
use std::path::Path;

#[test]
fn programs_that_crashed_end_well() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/crashes");
    let entries = std::fs::read_dir(&folder).expect("the folder of crashes");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let wrong: Vec<String> = paths.iter().filter_map(|path| wrong(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs the program of a file with several seeds, and once on guarded memory. Describes the first outcome that is
/// wrong, or returns `None` if all are right.
fn wrong(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("a text");
    let must_run = text.starts_with("// runs");
    let kind = if must_run { CaseKind::Valid } else { CaseKind::Mutants };
    let outcomes = (0..5).map(|seed| run_text(kind, seed, &text)).chain([run_text(CaseKind::Guard, 0, &text)]);
    let wrong = outcomes.into_iter().find_map(|outcome| judge(&text, &outcome))?;
    Some(format!("{}: {wrong}", path.display()))
}

fn judge(text: &str, outcome: &Outcome) -> Option<String> {
    let (runs, refused) = (text.starts_with("// runs"), text.starts_with("// refused"));
    match &outcome.found {
        Some(found) => Some(format!("{}\n{}", found.what, found.details)),
        None if runs && outcome.reached != Reached::Ran => Some(format!("it {}", outcome.reached.describes())),
        None if refused && outcome.reached >= Reached::Limit => Some("it should be refused".into()),
        None => None,
    }
}
