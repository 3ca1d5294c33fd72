//! Standard output, which may be a pipe whose reader has seen enough: `seine search … | head` must end quietly.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line; ends the process when nobody reads any more.
pub fn line(text: Arguments<'_>) {
    if writeln!(std::io::stdout().lock(), "{text}").is_err() {
        std::process::exit(0);
    }
}

/// `println!` for answers of commands.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}
