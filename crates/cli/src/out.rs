//! Standard output, and messages on standard error. If the reader goes away (`| head`), the command ends quietly.

use shardwise_base::file::NewFile;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use std::fmt::{Arguments, Display};
use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::path::Path;

/// The output to which a command writes its result: standard output, or the file of `-o`.
pub struct Output<'a> {
    file: Option<(NewFile, &'a Path)>,
}

impl<'a> Output<'a> {
    /// Starts the file, if there is one. It replaces an older file only in [`Output::finish`]. Fails if it cannot be
    /// created.
    pub fn new(path: Option<&'a Path>) -> Result<Output<'a>, Diagnostics> {
        let create = |path| NewFile::create(path).map(|file| (file, path)).map_err(|e| unwritable_file(path, &e));
        Ok(Output { file: path.map(create).transpose()? })
    }

    /// Writes text. Fails if the file cannot be written. If standard output cannot be written, ends the process as
    /// [`write`] does.
    pub fn write(&mut self, text: &str) -> Result<(), Diagnostics> {
        match &mut self.file {
            Some((file, path)) => Ok(file.write_all(text.as_bytes()).map_err(|e| unwritable_file(path, &e))?),
            None => {
                write(format_args!("{text}"));
                Ok(())
            }
        }
    }

    /// Moves the file to its place, if there is one. Fails if that is not possible, and leaves an older file unchanged.
    pub fn finish(self) -> Result<(), Diagnostics> {
        match self.file {
            Some((file, path)) => Ok(file.commit().map_err(|e| unwritable_file(path, &e))?),
            None => Ok(()),
        }
    }
}

/// Writes text. If that fails, ends the process: with exit code 0 if the reader has gone away, and 1 otherwise.
pub fn write(text: Arguments<'_>) {
    stdout().lock().write_fmt(text).unwrap_or_else(|e| stop(&e));
}

/// Ends the process as `write` does if a text could not be printed on standard output, which is then flushed.
pub fn printed(result: std::io::Result<()>) {
    result.unwrap_or_else(|e| stop(&e));
    flush();
}

/// Writes buffered text. If that fails, ends the process as `write` does.
pub fn flush() {
    stdout().lock().flush().unwrap_or_else(|e| stop(&e));
}

fn stop(why: &Error) -> ! {
    if why.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    message(unwritable(why));
    std::process::exit(1);
}

/// Prints a message on standard error. A failure is ignored, since there is nobody to report it to.
pub fn message(text: impl Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// Prints warnings about the program, which do not stop it.
pub fn warn<'a>(found: impl IntoIterator<Item = &'a Diagnostic>) {
    found.into_iter().for_each(message);
}

fn unwritable_file(path: &Path, why: &Error) -> Diagnostic {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    Diagnostic::error("output-unwritable", &loc, format!("cannot write the output: {why}"))
        .help("name a file in a folder that exists and can be written")
}

fn unwritable(why: &Error) -> Diagnostic {
    Diagnostic::error("output-unwritable", &Loc::UNKNOWN, format!("cannot write to standard output: {why}"))
}

/// Prints like `print!`. If that fails, ends the process as `write` does.
macro_rules! show {
    ($($text:tt)*) => { crate::out::write(format_args!($($text)*)) };
}

/// Prints like `println!`. If that fails, ends the process as `write` does.
macro_rules! say {
    ($($text:tt)*) => { crate::out::write(format_args!("{}\n", format_args!($($text)*))) };
}
