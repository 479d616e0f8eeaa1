//! Sends signals to the command while it writes results. Afterwards, the file must be the complete old one or the
//! complete new one.
#![cfg(unix)]

use shardwise_check::choose::{Chooser, cases};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A signal, its number, and the exit code of the command, which is `None` for signals that it does not handle.
const SIGNALS: [(&str, i32, Option<i32>); 3] = [("INT", 2, Some(130)), ("TERM", 15, None), ("KILL", 9, None)];

/// Returns a program whose result has 2 MB and differs for each factor.
fn program(factor: usize) -> String {
    format!(
        "func.func @main() -> tensor<500000xf32> {{
  %0 = stablehlo.iota dim = 0 : tensor<500000xf32>
  %1 = stablehlo.constant dense<{factor}.0> : tensor<500000xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<500000xf32>
  return %2 : tensor<500000xf32>
}}"
    )
}

/// A folder with two programs and the results of one of them. It is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("shardwise-signals-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        for factor in [1, 2] {
            std::fs::write(path.join(format!("{factor}.mlir")), program(factor)).unwrap();
        }
        Folder(path)
    }

    fn outputs(&self) -> PathBuf {
        self.0.join("out.npz")
    }

    fn start(&self, factor: usize) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardwise"));
        command.arg("run").arg(self.0.join(format!("{factor}.mlir"))).arg("--outputs").arg(self.outputs());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn written(&self, factor: usize) -> Vec<u8> {
        let ended = self.start(factor).wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        std::fs::read(self.outputs()).unwrap()
    }

    fn unfinished(&self) -> Vec<PathBuf> {
        let paths = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "tmp")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits for a random time: either from now on, or from when the command has begun to write or has ended.
fn wait_for_moment(choose: &mut Chooser, child: &mut Child, folder: &Folder) {
    let is_writing = choose.one_in(2);
    while is_writing && folder.unfinished().is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let (begin, pause) = (Instant::now(), Duration::from_micros(choose.below(4000) as u64));
    while begin.elapsed() < pause {
        std::thread::yield_now();
    }
}

fn send(signal: &str, child: &Child) {
    // The process has not been waited for, so its number cannot belong to another process.
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    sent.expect("a command `kill`");
}

/// Returns true if the signal ended the command, and false if the command succeeded. Panics if it ended in another way.
fn is_interrupted(status: ExitStatus, number: i32, code: Option<i32>, message: &str) -> bool {
    match (status.code(), status.signal()) {
        (Some(0), _) => false,
        (_, Some(by)) if by == number => true,
        (Some(130), _) if code == Some(130) => {
            assert!(message.is_empty() || message.starts_with("error[run-cancelled]"), "{message}");
            true
        }
        _ => panic!("{status}: {message}"),
    }
}

fn contents(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("results are never absent")
}

#[test]
fn results_are_the_old_or_the_new_ones_whatever_signal_comes() {
    let folder = Folder::new();
    let [new, old] = [folder.written(2), folder.written(1)];
    assert!(new != old && folder.written(1) == old);
    let (mut interrupted, rounds) = (0, cases(30));
    for round in 0..rounds {
        let mut choose = Chooser::new(round);
        let (signal, number, code) = SIGNALS[round as usize % SIGNALS.len()];
        std::fs::write(folder.outputs(), &old).unwrap();
        let mut child = folder.start(2);
        wait_for_moment(&mut choose, &mut child, &folder);
        send(signal, &child);
        let ended = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr);
        let was_interrupted = is_interrupted(ended.status, number, code, &message);
        let now = contents(&folder.outputs());
        assert!(now == new || was_interrupted && now == old, "round {round}: {signal}, {} bytes", now.len());
        let left = folder.unfinished();
        assert!(left.is_empty() || ended.status.signal().is_some(), "round {round}: {signal} leaves {left:?}");
        left.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        interrupted += u64::from(was_interrupted);
    }
    eprintln!("{interrupted} of {rounds} runs were interrupted");
    assert_eq!(folder.written(2), new, "the next run is right");
    assert!(interrupted > 0);
}
