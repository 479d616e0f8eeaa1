//! The generated pages under `docs/generated`: everything that the code can list. A test compares them with the code.

mod attributes;
mod codes;
mod command;
mod coverage;
mod made;
mod ops;
mod passes;
mod predictions;

pub use codes::diagnostics;
pub use made::Made;

use crate::repo;
use anyhow::{Context, Result};
use shardwise_base::DType;
use std::path::PathBuf;

const MADE: &str = "<!-- Made by `cargo xtask docs`; do not edit. -->";

/// Write the generated pages under docs/generated.
#[derive(clap::Args)]
pub struct Options {
    /// Write nothing, and fail if a page is not up to date
    #[arg(long)]
    check: bool,
}

/// A page: its file name and its text.
pub struct Page {
    name: &'static str,
    text: String,
}

impl Page {
    fn of_table(name: &'static str, title: &str, about: &str, table: &Markdown) -> Page {
        Page { name, text: format!("# {title}\n\n{MADE}\n\n{about}\n\n{table}") }
    }

    fn file(&self) -> PathBuf {
        PathBuf::from("docs/generated").join(self.name)
    }

    fn is_current(&self) -> bool {
        repo::read(&self.file()).is_ok_and(|text| text == self.text)
    }

    fn write(&self) -> Result<()> {
        let path = repo::root().join(self.file());
        std::fs::create_dir_all(path.parent().expect("in a folder"))?;
        shardwise_base::file::write(&path, &self.text).with_context(|| format!("cannot write {}", repo::shown(&path)))
    }
}

/// Writes the pages that are not up to date, or only lists them with `--check`. Returns the report, and true if all
/// pages are up to date at the end. Fails if a page cannot be made or written.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let stale = stale()?;
    let names: Vec<String> = stale.iter().map(|page| page.file().display().to_string()).collect();
    if options.check {
        let lines = names.iter().map(|name| format!("{name} is not up to date; run `cargo xtask docs`\n"));
        return Ok((lines.collect(), names.is_empty()));
    }
    stale.iter().try_for_each(Page::write)?;
    Ok((names.iter().map(|name| format!("wrote {name}\n")).collect(), true))
}

fn stale() -> Result<Vec<Page>> {
    Ok(pages()?.into_iter().filter(|page| !page.is_current()).collect())
}

/// Returns the paths of the pages that are not up to date, relative to the root of the repository. Fails if a page
/// cannot be made.
pub fn stale_files() -> Result<Vec<String>> {
    Ok(stale()?.iter().map(|page| page.file().display().to_string()).collect())
}

fn pages() -> Result<Vec<Page>> {
    Ok(vec![
        ops::page()?,
        attributes::page(),
        coverage::page()?,
        passes::page(),
        passes::shardy_page(),
        codes::page()?,
        command::page()?,
        predictions::page()?,
    ])
}

/// Formats names of element types. If all types of a group are among them, the group's name replaces theirs, as in
/// `integers, f32`. Groups come first, and other types follow in the order of [`DType::ALL`]. Names of no element type
/// are left out.
pub fn dtypes_in_order(names: &[&str]) -> String {
    let mut rest: Vec<&str> = DType::ALL.iter().map(|d| d.short()).filter(|name| names.contains(name)).collect();
    let mut out = vec![];
    for (word, members) in GROUPS {
        if members.iter().all(|m| rest.contains(m)) {
            out.push(*word);
            rest.retain(|name| !members.contains(name));
        }
    }
    out.extend(rest);
    out.join(", ")
}

const GROUPS: &[(&str, &[&str])] = &[
    ("integers", &["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]),
    ("small integers", &["i2", "i4", "u2", "u4"]),
    ("floats", &["bf16", "f16", "f32", "f64"]),
    (
        "small floats",
        &[
            "f4e2m1fn",
            "f6e2m3fn",
            "f6e3m2fn",
            "f8e3m4",
            "f8e4m3",
            "f8e4m3fn",
            "f8e4m3fnuz",
            "f8e4m3b11fnuz",
            "f8e5m2",
            "f8e5m2fnuz",
            "f8e8m0fnu",
        ],
    ),
    ("complex", &["c64", "c128"]),
];

/// A table in Markdown.
pub struct Markdown {
    rows: Vec<Vec<String>>,
}

impl Markdown {
    pub fn new<const N: usize>(head: [&str; N]) -> Markdown {
        let rule = vec!["---".to_string(); N];
        Markdown { rows: vec![head.map(String::from).to_vec(), rule] }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| cell.replace('|', "\\|")).to_vec());
    }
}

impl std::fmt::Display for Markdown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}
