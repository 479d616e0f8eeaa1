//! Standard output, and messages on standard error. A reader that goes away (`| head`) ends the command quietly.

use shardwise_base::{Diagnostic, Loc};
use std::fmt::{Arguments, Display};
use std::io::{Error, ErrorKind, Write, stderr, stdout};

/// Writes, or ends the process: with 0 if nobody reads any more.
pub fn write(text: Arguments<'_>) {
    stdout().lock().write_fmt(text).unwrap_or_else(|e| stop(&e));
}

/// Writes what is still buffered, or ends the process as [`write`] does.
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

/// Says something on standard error. Nobody is left to tell if that fails.
pub fn message(text: impl Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// Says what is doubtful in the program, and does not stop it.
pub fn warn<'a>(found: impl IntoIterator<Item = &'a Diagnostic>) {
    found.into_iter().for_each(message);
}

fn unwritable(why: &Error) -> Diagnostic {
    Diagnostic::error("output-unwritable", &Loc::UNKNOWN, format!("cannot write to standard output: {why}"))
}

/// Like `print!`.
macro_rules! show {
    ($($text:tt)*) => { crate::out::write(format_args!($($text)*)) };
}

/// Like `println!`.
macro_rules! say {
    ($($text:tt)*) => { crate::out::write(format_args!("{}\n", format_args!($($text)*))) };
}
