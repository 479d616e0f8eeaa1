//! Standard output, and messages on standard error. If the reader goes away (`| head`), the command ends quietly.

use shardwise_base::{Diagnostic, Loc};
use std::fmt::{Arguments, Display};
use std::io::{Error, ErrorKind, Write, stderr, stdout};

/// Writes text. If that fails, ends the process: with exit code 0 if the reader has gone away, and 1 otherwise.
pub fn write(text: Arguments<'_>) {
    stdout().lock().write_fmt(text).unwrap_or_else(|e| stop(&e));
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
