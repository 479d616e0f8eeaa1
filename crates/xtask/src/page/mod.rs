//! `cargo xtask page`: opens pages of timelines in a browser, and does with them what a reader does.
//!
//! The pages are those of a training step, predicted and measured, a program of many ops, and a timeline of many spans.
//! The first two have to pass all [`checks`], and the others have to open fast.

mod browser;
mod checks;

use crate::command::{self, Profile};
use crate::repo;
use crate::table::Table;
use anyhow::{Context, Result, ensure};
use browser::Browser;
use checks::{CHECKS, SIZE};
use shardwise_base::{Loc, counted, file};
use shardwise_view::{Lane, LaneKind, Maker, Span, SpanKind, Timeline};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Test the pages of timelines in a browser
#[derive(clap::Args)]
pub struct Options {
    /// Write pictures of the pages into docs/pictures
    #[arg(long)]
    pictures: bool,
    /// Make the pages in target/page, and start no browser
    #[arg(long, conflicts_with = "pictures")]
    only_make: bool,
}

/// The program of the training step, and its inputs.
const STEP: [&str; 2] = ["testdata/transformer/tiny_train.mlir", "testdata/transformer/tiny_train.in.npz"];

/// The machine of the predicted step.
const TOPOLOGY: &str = "v5e:2x4";

/// The number of ops of the large program, and of lines of the text beside the large timeline.
const OPS: usize = 50_000;

/// The number of spans of the large timeline.
const SPANS: usize = 100_000;

/// The longest time in which a page has to be drawn, in milliseconds.
const MOST_MS: f64 = 2_000.0;

/// How often a page is opened.
const OPENINGS: usize = 3;

/// The longest time for making a page.
const LIMIT: Duration = Duration::from_secs(600);

/// A page to open.
struct Page {
    name: &'static str,
    file: PathBuf,
    /// True if all checks are made of it.
    is_checked: bool,
}

/// Makes the pages, opens them and checks them. Returns the report, and true if all checks pass, all pages open in
/// time, and none writes to the console. With `--only-make`, returns the paths of the pages, and true. Fails if a page
/// cannot be made, if there is no browser, if the browser cannot open a page, or if a picture cannot be written.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let folder = repo::target_dir("page")?;
    let pages = make(&folder)?;
    if options.only_make {
        let files: Vec<String> = pages.iter().map(|page| repo::shown(&page.file) + "\n").collect();
        return Ok((files.concat(), true));
    }
    let browser = Browser::open()?;
    browser.resize(SIZE)?;
    let mut table = Table::new(["page", "KiB", "opens in ms"]);
    let mut faults = String::new();
    for page in &pages {
        let time = open(&browser, page, &mut faults)?;
        let size = std::fs::metadata(&page.file)?.len() / 1024;
        table.row([page.name.to_string(), size.to_string(), format!("{time:.0}")]);
        if options.pictures && page.is_checked {
            take_pictures(&browser, page.name)?;
        }
    }
    let count = CHECKS.len() * pages.iter().filter(|page| page.is_checked).count();
    let found = counted(faults.lines().count(), "fault");
    let report = format!("{table}{count} checks of what a reader does, {found}\n{faults}");
    Ok((report, faults.is_empty()))
}

/// Opens a page, makes its checks, and adds what is wrong to `faults`. Returns the milliseconds until it was drawn, the
/// least of some openings. Fails if the page cannot be opened or its console cannot be read. If the browser fails in a
/// check, that is a fault.
fn open(browser: &Browser, page: &Page, faults: &mut String) -> Result<f64> {
    let mut time = f64::INFINITY;
    for _ in 0..OPENINGS {
        browser.go(&page.file)?;
        time = time.min(browser.after_frames()?);
    }
    if time > MOST_MS {
        writeln!(faults, "{}: it takes {time:.0} ms to open, more than {MOST_MS:.0}", page.name)?;
    }
    for (name, check) in CHECKS.iter().filter(|_| page.is_checked) {
        if let Err(fault) = check(browser) {
            writeln!(faults, "{}, {name}: {fault:#}", page.name)?;
        }
    }
    for message in browser.messages()? {
        writeln!(faults, "{}, console: {message}", page.name)?;
    }
    Ok(time)
}

/// Writes pictures of the open page in light and in dark, in which the longest collective is selected. Fails if the
/// browser does, or if a picture cannot be written.
fn take_pictures(browser: &Browser, name: &str) -> Result<()> {
    let folder = repo::root().join("docs/pictures");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    browser.run("document.querySelector('#collectives td.name button').click(); scrollTo(0, 0)")?;
    browser.run("document.getElementById('text').scrollLeft = 0")?;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme)?;
        browser.after_frames()?;
        let target = folder.join(format!("timeline-{}-{scheme}.webp", name.replace(' ', "-")));
        file::write(&target, browser.screenshot()?).with_context(|| format!("cannot write {}", target.display()))?;
    }
    browser.prefer("light")
}

fn make(folder: &Path) -> Result<Vec<Page>> {
    let ours = command::build_ours(Profile::OWN)?;
    let predicted = folder.join("predicted.html");
    simulate(&ours, Path::new(STEP[0]), &predicted)?;
    let measured = folder.join("measured.html");
    let mut run = Command::new(&ours);
    run.args(["run", STEP[0], "--inputs", STEP[1]]).arg(format!("--profile={}", measured.display()));
    done(run)?;
    let program = folder.join("large.mlir");
    file::write(&program, large_program(OPS)).context("cannot write the large program")?;
    let large = folder.join("large.html");
    simulate(&ours, &program, &large)?;
    let many = folder.join("many.html");
    let text = (0..OPS).map(|i| format!("  %{i} = stablehlo.dot_general\n")).collect::<String>();
    file::write(&many, large_timeline(SPANS).to_html(Some(&text))).context("cannot write the large page")?;
    let page = |name, file, is_checked| Page { name, file, is_checked };
    Ok(vec![
        page("predicted step", predicted, true),
        page("measured step", measured, true),
        page("50,000 ops", large, false),
        page("100,000 spans", many, false),
    ])
}

fn simulate(ours: &Path, program: &Path, page: &Path) -> Result<()> {
    let mut command = Command::new(ours);
    command.arg("simulate").arg(program).args(["--topology", TOPOLOGY, "--output"]).arg(page);
    done(command)
}

fn done(mut command: Command) -> Result<()> {
    command.current_dir(repo::root());
    let outcome = command::run(command, "", LIMIT)?;
    ensure!(outcome.is_success(), "{}", outcome.reason());
    Ok(())
}

/// Returns a program for eight devices with this number of ops. Every second op is a product.
fn large_program(ops: usize) -> String {
    let (ty, layout) = ("tensor<64x64xf32>", "{sdy.sharding = #sdy.sharding<@mesh, [{\"X\"}, {}]>}");
    let mut text = format!(
        "module {{\n  sdy.mesh @mesh = <[\"X\"=8]>\n  \
         func.func public @main(%0: {ty} {layout}, %w: {ty}) -> {ty} {{\n"
    );
    for i in 0..ops {
        let op = match i % 2 {
            0 => format!("dot_general %{i}, %w, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}"),
            _ => format!("tanh %{i} : {ty}"),
        };
        text += &format!("    %{} = stablehlo.{op}\n", i + 1);
    }
    text + &format!("    return %{ops} : {ty}\n  }}\n}}\n")
}

/// Returns a timeline of this number of spans in eight lanes. Span `i` is of line `i % OPS + 1`.
fn large_timeline(spans: usize) -> Timeline {
    let mut timeline = Timeline::new("many.mlir", Maker::Predicted { machine: "a machine".into() });
    let lanes: Vec<_> =
        (0..8).map(|i| timeline.lanes.push(Lane { name: format!("core {i}"), kind: LaneKind::Core })).collect();
    for i in 0..spans {
        let start = (i / lanes.len()) as u64 * 1_000_000;
        let kind = if i % 5 == 0 { SpanKind::Collective } else { SpanKind::Compute };
        let end = start + 200_000 + (i * 7919 % 800_000) as u64;
        let mut span = Span::new(lanes[i % lanes.len()], "dot_general", kind, start..end);
        span.loc = Loc::file("many.mlir", (i % OPS) as u32 + 1, 3);
        span.ops = vec!["stablehlo.dot_general".into()];
        span.work.flops = Some(1_000_000 + i as u64);
        span.work.memory_bytes = Some(1_000 + i as u64);
        timeline.spans.push(span);
    }
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_inputs_are_well_formed() {
        let text = large_program(10);
        assert_eq!(text.matches("stablehlo.").count(), 10);
        let module = crate::program::parse("large.mlir", &text).unwrap();
        shardwise_spmd::partition(&module, &mut Default::default()).unwrap();
        let timeline = large_timeline(1_000);
        assert_eq!(timeline.check(), Ok(()));
        assert_eq!(timeline.spans.len(), 1_000);
    }
}
