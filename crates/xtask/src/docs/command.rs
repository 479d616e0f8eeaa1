//! `command.md`: the help of the `shardwise` command and of its subcommands.

use super::{MADE, Page};
use crate::command::Profile;
use crate::{command, repo};
use anyhow::{Result, ensure};
use std::process::Command;
use std::time::Duration;

/// The time limit for the command, which may have to be built first.
const LIMIT: Duration = Duration::from_secs(900);

pub fn page() -> Result<Page> {
    let own = help(&[])?;
    let mut text = format!("# The command\n\n{MADE}\n\n```text\n{own}```\n");
    for name in subcommands(&own) {
        text += &format!("\n## `shardwise {name}`\n\n```text\n{}```\n", help(&[name])?);
    }
    Ok(Page { name: "command.md", text })
}

fn help(arguments: &[&str]) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "shardwise-cli"]).args(Profile::OWN.flags());
    cargo
        .current_dir(repo::root())
        .arg("--")
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "100")
        .env_remove("CARGO_TARGET_TMPDIR");
    let outcome = command::run(cargo, "", LIMIT)?;
    ensure!(
        outcome.is_success(),
        "`shardwise {}` with `--help` failed: {}\n{}",
        arguments.join(" "),
        outcome.reason(),
        outcome.stderr
    );
    Ok(outcome.stdout)
}

fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let entries = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    entries.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_subcommands() {
        let help = "About\n\nCommands:\n  run   Runs it\n        at length\n  opt\n  help  Help\n\nOptions:\n  -h";
        assert_eq!(subcommands(help), ["run", "opt"]);
    }
}
