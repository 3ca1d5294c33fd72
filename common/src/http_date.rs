//! Dates as HTTP writes them.

/// Unix seconds of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that is still sent.
pub fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let plausible = (1970..10_000).contains(&year)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..61).contains(&second);
    plausible.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Counts years from March, so that the leap day is the last of its year.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}
