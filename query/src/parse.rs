//! What somebody typed, as what they ask for. Nothing typed is an error: what cannot be understood is taken as words.
//!
//! | typed | asks for |
//! |---|---|
//! | `river bank` | documents with these words, those with all of them first |
//! | `"river bank"` | the words together; required |
//! | `-bank`, `-"river bank"`, `-site:a.example` | not that |
//! | `river OR stream`, `river \| stream` | either |
//! | `title:`, `url:` | the word or phrase in the title, in the address; required |
//! | `site:`, `lang:`, `type:`, `after:2024-05`, `before:2025` | pages of a host, a language, a media type, dates |
//! | `hydro*` | words that begin so |
//!
//! Pure: knows neither index nor languages.

use time::{Date, Month};

use crate::request::{check_lang, check_site};

/// Further items are ignored: they cost time and hardly change the order.
pub const MAX_ITEMS: usize = 32;
/// Letters before the star of a prefix; fewer would mean half the dictionary.
const SHORTEST_PREFIX: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Each is something to find, in the order typed.
    pub clauses: Vec<Clause>,
    /// What must not be there.
    pub excluded: Vec<Item>,
    pub filters: Vec<Filter>,
}

/// One of these; several when joined by OR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause(pub Vec<Item>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub place: Place,
    pub form: ItemForm,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    Title,
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    Words,
    Phrase,
    Prefix,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub excluded: bool,
    pub kind: FilterKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterKind {
    Site(String),
    Lang(String),
    /// A media type or one of its halves, as `text/html`, `pdf`, `text`.
    Type(String),
    /// Unix milliseconds; that moment belongs to it.
    After(i64),
    /// Unix milliseconds; that moment does not belong to it.
    Before(i64),
}

pub fn parse(query: &str) -> Asked {
    let mut asked = Asked::default();
    let mut join_next = false;
    let mut items = 0;
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || items == MAX_ITEMS {
            return asked;
        }
        items += 1;
        let (typed, after) = next(rest);
        rest = after;
        match typed {
            Typed::Or => join_next = !asked.clauses.is_empty(),
            Typed::Filter(filter) => {
                asked.filters.push(filter);
                join_next = false;
            }
            Typed::Excluded(item) => {
                asked.excluded.push(item);
                join_next = false;
            }
            Typed::Item(item) => {
                match asked.clauses.last_mut() {
                    Some(clause) if join_next => clause.0.push(item),
                    _ => asked.clauses.push(Clause(vec![item])),
                }
                join_next = false;
            }
        }
    }
}

enum Typed {
    Or,
    Filter(Filter),
    Excluded(Item),
    Item(Item),
}

/// The first thing typed, and what follows it; `rest` neither is empty nor begins with a space.
fn next(rest: &str) -> (Typed, &str) {
    let (bare, end) = value(rest);
    if !bare.quoted && matches!(bare.text, "OR" | "|" | "||") {
        return (Typed::Or, end);
    }
    let (excluded, named) = match rest.strip_prefix('-') {
        Some(named) if named.starts_with(|c: char| c.is_alphanumeric() || is_quotation_mark(c)) => (true, named),
        _ => (false, rest),
    };
    if let Some((name, typed)) = operator(named) {
        let (value, end) = value(typed);
        if let Some(kind) = filter(name, value.text) {
            return (Typed::Filter(Filter { excluded, kind }), end);
        }
        let place = match name {
            "title" | "intitle" => Some(Place::Title),
            "url" | "inurl" => Some(Place::Address),
            _ => None,
        };
        if let Some(place) = place {
            return (in_or_out(excluded, value.item(place)), end);
        }
    }
    let (value, end) = value(named);
    (in_or_out(excluded, value.item(Place::Anywhere)), end)
}

fn in_or_out(excluded: bool, item: Item) -> Typed {
    if excluded { Typed::Excluded(item) } else { Typed::Item(item) }
}

struct Value<'a> {
    text: &'a str,
    quoted: bool,
}

impl Value<'_> {
    fn item(&self, place: Place) -> Item {
        let beginning = self.text.strip_suffix('*').filter(|text| {
            !self.quoted && text.chars().count() >= SHORTEST_PREFIX && text.chars().all(char::is_alphanumeric)
        });
        let (form, text) = match beginning {
            Some(beginning) => (ItemForm::Prefix, beginning),
            None if self.quoted => (ItemForm::Phrase, self.text),
            None => (ItemForm::Words, self.text),
        };
        Item { place, form, text: text.to_owned() }
    }
}

/// What stands between quotation marks, or up to the next space or mark; and what follows. A mark without a partner is
/// a space.
fn value(text: &str) -> (Value<'_>, &str) {
    let mut characters = text.chars();
    if characters.next().is_some_and(is_quotation_mark) {
        let inside = characters.as_str();
        return match inside.find(is_quotation_mark) {
            Some(end) => {
                let mut after = inside[end..].chars();
                after.next();
                (Value { text: &inside[..end], quoted: true }, after.as_str())
            }
            None => {
                let inside = inside.trim_start();
                let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
                (Value { text: &inside[..end], quoted: false }, &inside[end..])
            }
        };
    }
    let end = text.find(|c: char| c.is_whitespace() || is_quotation_mark(c)).unwrap_or(text.len());
    (Value { text: &text[..end], quoted: false }, &text[end..])
}

fn is_quotation_mark(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '「' | '」' | '『' | '』' | '＂')
}

/// `name:` with something behind it.
fn operator(text: &str) -> Option<(&'static str, &str)> {
    const NAMES: [&str; 10] =
        ["title", "intitle", "url", "inurl", "site", "lang", "type", "filetype", "after", "before"];
    let (name, value) = text.split_once(':')?;
    let name = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
    let says_something = value.starts_with(|c: char| c.is_alphanumeric() || is_quotation_mark(c) || c == '[');
    says_something.then_some((name, value))
}

fn filter(name: &str, value: &str) -> Option<FilterKind> {
    match name {
        "site" => check_site(value.trim_end_matches('/')).ok().map(FilterKind::Site),
        "lang" => check_lang(value).ok().map(FilterKind::Lang),
        "type" | "filetype" => media_type(value).map(FilterKind::Type),
        "after" => period(value).map(|(first, _)| FilterKind::After(first)),
        "before" => period(value).map(|(first, _)| FilterKind::Before(first)),
        _ => None,
    }
}

/// `None` when it cannot be a media type.
pub fn media_type(value: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.');
    (!value.is_empty() && value.len() <= 100 && value.chars().all(fits)).then(|| value.to_ascii_lowercase())
}

/// The first millisecond of a year, month or day, and the first one after it.
pub fn period(text: &str) -> Option<(i64, i64)> {
    let mut numbers = text.split(['-', '/']);
    let year: i32 = numbers.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month = numbers.next().map(str::parse::<u8>).transpose().ok()?;
    let day = numbers.next().map(str::parse::<u8>).transpose().ok()?;
    if numbers.next().is_some() || !(1..=9998).contains(&year) {
        return None;
    }
    let first = Date::from_calendar_date(year, Month::try_from(month.unwrap_or(1)).ok()?, day.unwrap_or(1)).ok()?;
    let next = match (month, day) {
        (None, _) => Date::from_calendar_date(year + 1, Month::January, 1).ok()?,
        (Some(_), None) if first.month() == Month::December => {
            Date::from_calendar_date(year + 1, Month::January, 1).ok()?
        }
        (Some(_), None) => Date::from_calendar_date(year, first.month().next(), 1).ok()?,
        (Some(_), Some(_)) => first.next_day()?,
    };
    let milliseconds = |date: Date| date.midnight().assume_utc().unix_timestamp() * 1_000;
    Some((milliseconds(first), milliseconds(next)))
}

#[cfg(test)]
mod tests;
