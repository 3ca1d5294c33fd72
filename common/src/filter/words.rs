//! Cuts a rule into words and values.

/// What is left of a rule.
pub(super) struct Words<'a> {
    rest: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    One(&'a str),
    /// In braces, with commas between.
    Set(Vec<&'a str>),
}

/// A quote or a brace that is opened and not closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotClosed(pub char);

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    /// Up to the next white space; empty at the end.
    pub fn word(&mut self) -> &'a str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        self.take(end, 0)
    }

    /// A word, or what stands in quotes, or the words in braces.
    pub fn value(&mut self) -> Result<Value<'a>, NotClosed> {
        let Some(first) = self.rest.chars().next() else { return Ok(Value::One("")) };
        let closing = match first {
            '{' => '}',
            '"' | '\'' => first,
            _ => return Ok(Value::One(self.word())),
        };
        let end = self.rest[1..].find(closing).ok_or(NotClosed(first))?;
        let inside = self.take(end + 1, 1)[1..].trim();
        Ok(match first {
            '{' => Value::Set(inside.split(',').map(unquoted).collect()),
            _ => Value::One(inside),
        })
    }

    fn take(&mut self, end: usize, skip: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest[skip..].trim_start();
        taken
    }
}

fn unquoted(word: &str) -> &str {
    let word = word.trim();
    let within = |quote| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_and_braces_are_told_apart() {
        let mut words = Words::of("  deny title 'Rock and Roll' and lang {en, 'cs' ,}");
        assert_eq!((words.word(), words.word()), ("deny", "title"));
        assert_eq!(words.value(), Ok(Value::One("Rock and Roll")));
        assert_eq!((words.word(), words.word()), ("and", "lang"));
        assert_eq!(words.value(), Ok(Value::Set(vec!["en", "cs", ""])));
        assert_eq!((words.word(), words.value()), ("", Ok(Value::One(""))));
        assert_eq!(Words::of("'é").value(), Err(NotClosed('\'')));
        assert_eq!(Words::of("''é").value(), Ok(Value::One("")));
    }
}
