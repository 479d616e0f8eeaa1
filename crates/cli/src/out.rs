//! Standard output, and warnings on standard error. A reader that goes away (`| head`) ends the command quietly.

use shardwise_base::Diagnostic;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};

/// Writes, or ends the process: with 0 if nobody reads any more.
pub fn write(text: Arguments<'_>) {
    if let Err(e) = stdout().lock().write_fmt(text) {
        std::process::exit(i32::from(e.kind() != ErrorKind::BrokenPipe));
    }
}

/// Says what is doubtful in the program, and does not stop it.
pub fn warn<'a>(found: impl IntoIterator<Item = &'a Diagnostic>) {
    for warning in found {
        eprintln!("{warning}");
    }
}

/// Like `print!`.
macro_rules! show {
    ($($text:tt)*) => { crate::out::write(format_args!($($text)*)) };
}

/// Like `println!`.
macro_rules! say {
    ($($text:tt)*) => { crate::out::write(format_args!("{}\n", format_args!($($text)*))) };
}
