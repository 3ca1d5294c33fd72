//! Standard output, which may be a pipe whose reader has seen enough: `seine search … | head` must end quietly.

use std::fmt::Arguments;
use std::io::Write;

use seine_proto::filesaver::v1::DamagedStretch;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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

/// Unix milliseconds as RFC 3339; `None` for times that were never set.
pub fn time_text(ms: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp(ms / 1000).ok()?;
    (ms > 0).then(|| time.format(&Rfc3339).ok()).flatten()
}

/// What a damaged part of the description log means to a person.
pub fn damage_text(stretch: &DamagedStretch) -> String {
    let DamagedStretch { start, end, reason } = stretch;
    let bytes = end.saturating_sub(*start);
    format!("the description log is damaged at offset {start} ({reason}): what stood in {bytes} bytes there is lost")
}
