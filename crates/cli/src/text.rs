//! Reads the text of programs. Its bytes count as memory in use.

use crate::out;
use shardwise_base::budget::poll;
use shardwise_base::{Account, Budget, CancelToken, Diagnostic, Loc, OutOfMemory, Reservation};
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A text, and the memory that is reserved for it.
pub struct Text {
    pub text: String,
    _reserved: Vec<Reservation>,
}

/// The reason why a text cannot be read.
enum Unreadable {
    System(io::Error),
    Memory(OutOfMemory),
    NoText { bytes: Vec<u8>, valid: usize },
}

impl From<io::Error> for Unreadable {
    fn from(e: io::Error) -> Unreadable {
        Unreadable::System(e)
    }
}

/// The time that a thread waits for its text before it checks whether it is cancelled.
const WAIT: Duration = Duration::from_millis(20);
/// The largest number of bytes that are read at one time, and the least by which the memory for them grows.
const CHUNK: usize = 1 << 16;

/// Reads a file, or standard input if there is no path. Messages call it `name`. Unwinds if the command is cancelled.
///
/// # Errors
/// Fails if the text cannot be read, is not UTF-8, or needs more memory than allowed.
pub fn read(path: Option<&Path>, name: &str) -> Result<Text, Diagnostic> {
    if path.is_none() && io::stdin().is_terminal() {
        out::message("reading a program from the terminal; Ctrl-D ends it");
    }
    // Another thread reads, because reading from a terminal or a pipe may block forever.
    let budget =
        Budget::current().unwrap_or_else(|| Budget::new(Account::of_process().clone(), None, CancelToken::default()));
    let (sender, receiver) = channel();
    let path = path.map(Path::to_path_buf);
    std::thread::spawn(move || {
        let text = budget.run(|| match path {
            Some(path) => read_file(&path),
            None => counted(io::stdin().lock(), 0),
        });
        let _ = sender.send(text);
    });
    loop {
        match receiver.recv_timeout(WAIT) {
            Ok(Ok(text)) => return text.map_err(|why| unreadable(name, why)),
            Ok(Err(stop)) => stop.raise(),
            Err(RecvTimeoutError::Timeout) => poll(),
            Err(RecvTimeoutError::Disconnected) => panic!("the thread that reads `{name}` panicked"),
        }
    }
}

fn read_file(path: &Path) -> Result<Text, Unreadable> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder").into());
    }
    counted(file, if found.is_file() { found.len() } else { 0 })
}

/// Reads to the end. Reserves `expected` bytes before the first read, and more as needed. Fails if a read fails, if
/// memory is refused, or if the bytes are not UTF-8.
fn counted(mut reader: impl Read, expected: u64) -> Result<Text, Unreadable> {
    let mut text = Growing { bytes: vec![], reserved: vec![] };
    text.grow(usize::try_from(expected).unwrap_or(usize::MAX))?;
    let mut chunk = [0; CHUNK];
    loop {
        poll();
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => text.push(&chunk[..n])?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    match String::from_utf8(text.bytes) {
        Ok(string) => Ok(Text { text: string, _reserved: text.reserved }),
        Err(e) => {
            let valid = e.utf8_error().valid_up_to();
            Err(Unreadable::NoText { bytes: e.into_bytes(), valid })
        }
    }
}

/// Bytes, and the memory that is reserved for them.
struct Growing {
    bytes: Vec<u8>,
    reserved: Vec<Reservation>,
}

impl Growing {
    fn push(&mut self, more: &[u8]) -> Result<(), Unreadable> {
        if self.bytes.len() + more.len() > self.bytes.capacity() {
            self.grow(self.bytes.len().max(more.len()).max(CHUNK))?;
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Reserves `more` bytes beyond the capacity. Fails if the account or the system refuses them.
    fn grow(&mut self, more: usize) -> Result<(), Unreadable> {
        let account = Account::current();
        self.reserved.push(account.reserve(more).map_err(Unreadable::Memory)?);
        let wanted = (self.bytes.capacity() - self.bytes.len()).saturating_add(more);
        self.bytes.try_reserve_exact(wanted).map_err(|_| Unreadable::Memory(account.refused_by_system(more)))
    }
}

fn unreadable(name: &str, why: Unreadable) -> Diagnostic {
    match why {
        Unreadable::System(e) => {
            Diagnostic::error("file-unreadable", &Loc::file(name, 1, 1), format!("cannot read the program: {e}"))
                .help("pass a file with StableHLO text, or `-` for standard input")
        }
        Unreadable::Memory(e) => {
            let more = if e.is_refused_by_system { "make memory available" } else { "raise --max-bytes" };
            Diagnostic::error("file-memory", &Loc::file(name, 1, 1), format!("cannot read the program: {e}"))
                .help(format!("{more}, and check with `xxd -l 16` that the file is a program"))
        }
        Unreadable::NoText { bytes, valid } => no_text(name, &bytes, valid),
    }
}

fn no_text(name: &str, bytes: &[u8], valid: usize) -> Diagnostic {
    let before = &bytes[..valid];
    let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|&&b| b != b'\n').count();
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let loc = Loc::file(name, u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX));
    let found = Diagnostic::error("file-not-text", &loc, "the program is not UTF-8 text")
        .facts(format!("byte {valid} of the file is 0x{byte:02x}"));
    match bytes {
        [b'P', b'K', 3, 4, ..] => found.help("this is a zip archive: arrays go to --inputs"),
        [b'M', b'L', 0xef, b'R', ..] => found
            .help("this is MLIR's bytecode: write the program as text, as `jax.jit(f).lower(*args).as_text()` does"),
        _ => found.help("pass a file with StableHLO text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most 1000 bytes at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(out.len()).min(1000);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn under<T>(max_bytes: usize, f: impl FnOnce() -> T) -> (T, usize) {
        let account = Account::with_limit(max_bytes);
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        (budget.run(f).unwrap(), account.peak())
    }

    #[test]
    fn texts_are_counted_while_they_are_there() {
        let long = "x".repeat(300_000);
        for expected in [0, 10, 300_000] {
            let (text, peak) = under(1 << 20, || counted(Slowly(long.as_bytes()), expected));
            assert!(text.is_ok_and(|t| t.text == long) && (300_000..700_000).contains(&peak), "{peak}");
        }
        let (text, peak) = under(100_000, || counted(Slowly(long.as_bytes()), 0));
        assert!(matches!(text, Err(Unreadable::Memory(_))) && peak <= 100_000);
    }

    #[test]
    fn a_large_file_is_refused_before_it_is_read() {
        struct Unread;
        impl Read for Unread {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("nothing is to be read")
            }
        }
        let (text, peak) = under(1000, || counted(Unread, 4 << 30));
        assert!(matches!(text, Err(Unreadable::Memory(e)) if e.requested == 4 << 30) && peak == 0);
    }

    #[test]
    fn what_is_no_text_is_named() {
        let said = |bytes: &[u8]| match counted(bytes, 0) {
            Err(why) => unreadable("a.mlir", why).to_string(),
            Ok(_) => panic!("it is a text"),
        };
        assert!(
            said(b"one\ntwo \xff").contains("a.mlir:2:5")
                && said(b"one\ntwo \xff").contains("byte 8 of the file is 0xff")
        );
        assert!(said(b"PK\x03\x04\xff").contains("--inputs"));
        assert!(said(b"ML\xefR\xff").contains("bytecode"));
    }

    #[test]
    fn a_reader_that_waits_is_cancelled() {
        let budget = Budget::new(Account::with_limit(1000), None, CancelToken::default());
        budget.cancel_token().cancel();
        assert!(budget.run(|| counted(Slowly(b"text"), 0).is_ok()).is_err());
    }
}
