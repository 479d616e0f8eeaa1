//! Runs other programs: captures their output, limits their time, and describes in one line what went wrong.

use crate::repo;
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The outcome of a program that has ended or was stopped.
pub struct Outcome {
    /// The status with which the program ended, or `None` if its standard output was still open at the time limit, and
    /// it was stopped.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|s| s.success())
    }

    /// Returns a line about why the program failed: the first line of standard error that describes an error, or the
    /// exit status if there is none. For a program that was stopped, says after how many seconds.
    pub fn reason(&self) -> String {
        match self.status {
            None => format!("stopped after {:.0} s", self.elapsed.as_secs_f64()),
            Some(status) => match self.stderr.lines().find(|l| is_telling(l)) {
                Some(line) => line.trim().to_string(),
                None => status.to_string(),
            },
        }
    }
}

fn is_telling(line: &str) -> bool {
    ["error", "thread '"].iter().any(|word| line.starts_with(word)) || line.contains("panicked at")
}

/// Runs a command to its end. If its standard output is still open after `limit`, kills it and the programs that it has
/// started, except those that have left its process group. Then waits until its standard output and standard error are
/// closed, also by programs that it has started. `input` is its standard input.
///
/// # Errors
/// Fails if the command cannot be started, waited for or killed. A command that itself fails is an [`Outcome`].
pub fn run(mut command: Command, input: &str, limit: Duration) -> Result<Outcome> {
    let start = Instant::now();
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    feed(&mut child, input);
    let status = wait(&mut child, &stdout, limit)?;
    let read = |end: mpsc::Receiver<String>| end.recv().unwrap_or_default();
    Ok(Outcome { status, stdout: read(stdout.1), stderr: read(stderr.1), elapsed: start.elapsed() })
}

/// Writes the input in a separate thread, because a program may end without reading it.
fn feed(child: &mut Child, input: &str) {
    let (mut stdin, input) = (child.stdin.take().expect("piped"), input.to_string());
    std::thread::spawn(move || stdin.write_all(input.as_bytes()));
}

type Collected = (mpsc::Receiver<()>, mpsc::Receiver<String>);

/// Reads a stream to its end in a thread. The first channel closes at the end, and the second one receives the text.
fn collect(mut stream: impl Read + Send + 'static) -> Collected {
    let ((end, ended), (send, text)) = (mpsc::channel(), mpsc::channel());
    std::thread::spawn(move || {
        let mut bytes = vec![];
        let _ = stream.read_to_end(&mut bytes);
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
        drop(end);
    });
    (ended, text)
}

/// Waits for the program to close its output and to end. If the output is open after `limit`, kills its process group,
/// or the program alone if that fails, and returns `None`. Fails if the system cannot wait for the program or kill it.
fn wait(child: &mut Child, stdout: &Collected, limit: Duration) -> Result<Option<ExitStatus>> {
    if let Err(mpsc::RecvTimeoutError::Timeout) = stdout.0.recv_timeout(limit) {
        let killed = kill_group(child);
        // Programs that it has started may run on if the group cannot be killed.
        killed.or_else(|_| child.kill().context("cannot stop a program"))?;
        child.wait()?;
        return Ok(None);
    }
    Ok(Some(child.wait()?))
}

/// Kills the process group of a program that leads one. Fails if the system cannot.
fn kill_group(child: &Child) -> Result<()> {
    // The program has not been waited for, so its number cannot belong to another group.
    let status = Command::new("kill").args(["-s", "KILL", "--", &format!("-{}", child.id())]).status();
    let status = status.context("cannot start kill")?;
    ensure!(status.success(), "cannot stop a program: kill failed: {status}");
    Ok(())
}

/// How a program is built.
#[derive(Clone, Copy)]
pub enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// The profile with which this program is built. Most of another program of the workspace is then built already.
    pub const OWN: Self = if cfg!(debug_assertions) { Self::Dev } else { Self::Release };

    /// Returns the flags of `cargo build`.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Dev => &[],
            Self::Release => &["--release"],
        }
    }

    /// Returns the name of the folder, in the target folder, for programs with this profile.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// Builds the `shardwise` command, and returns its path. Fails if the build does.
pub fn build_ours(profile: Profile) -> Result<PathBuf> {
    build_command(profile, &[])
}

/// Builds the `shardwise` command with optimizations and Shardy's passes, and returns its path. Fails if the build
/// does.
pub fn build_ours_with_shardy() -> Result<PathBuf> {
    build_command(Profile::Release, &["--features", "shardy"])
}

fn build_command(profile: Profile, flags: &[&str]) -> Result<PathBuf> {
    let flags = [&["-p", "shardwise-cli", "--bin", "shardwise"], profile.flags(), flags].concat();
    Ok(build(&flags)?.join(profile.folder()).join("shardwise"))
}

/// Builds examples of the library without optimizations, and returns the folder that contains them. Fails if the build
/// does.
pub fn build_examples(names: &[&str]) -> Result<PathBuf> {
    let names = names.iter().flat_map(|&name| ["--example", name]);
    let flags: Vec<&str> = ["-p", "shardwise"].into_iter().chain(names).collect();
    Ok(build(&flags)?.join("debug/examples"))
}

/// Builds the program that runs the cases of `cargo xtask fuzz`, and returns its path. Fails if the build does.
pub fn build_worker() -> Result<PathBuf> {
    let flags = [&["-p", "shardwise-check", "--bin", "fuzz-worker"], Profile::OWN.flags()].concat();
    Ok(build(&flags)?.join(Profile::OWN.folder()).join("fuzz-worker"))
}

/// Builds with these flags, and returns the target folder. Fails if the build does. `xtask` is among the selected
/// packages: dependencies then have the features with which it was built, and are not built a second time.
fn build(flags: &[&str]) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "-p", "xtask"]).args(flags).current_dir(repo::root());
    run_shown(cargo)?;
    Ok(repo::target())
}

/// Runs a command and shows its output. Fails if the command cannot be started or fails.
pub fn run_shown(mut command: Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown} failed: {status}");
    }
    Ok(())
}

/// Applies `f` to all items on as many threads as there are cores. The results are in the order of the items.
///
/// # Panics
/// Panics if `f` does.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results: Vec<_> = items.iter().map(|_| std::sync::Mutex::new(None)).collect();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            scope.spawn(|| {
                while let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
                    && i < items.len()
                {
                    *results[i].lock().expect("no thread has panicked") = Some(f(&items[i]));
                }
            });
        }
    });
    results.into_iter().map(|r| r.into_inner().expect("no panic").expect("every item was taken")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_for_programs_that_a_program_has_started() {
        for script in ["sleep 60 & wait", "sleep 60 &"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let outcome = run(command, "", Duration::from_millis(200)).unwrap();
            assert!(outcome.status.is_none() && outcome.elapsed.as_secs() < 30, "{script}: {:?}", outcome.elapsed);
        }
    }
}
