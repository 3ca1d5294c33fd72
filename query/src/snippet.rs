//! The piece of a page that shows why it was found, as HTML.
//!
//! The piece is the window with the most different words of the query, with some text before it, begun at a line or a
//! sentence where one is near. Lines become spaces. Invariant: the result is text with `& < > " '` escaped, and `<mark>`
//! and `</mark>` in turns, each closed; nothing of the page can be more than text in it.

use std::collections::HashMap;
use std::ops::Range;

use seine_indexer::tokenizer::{Language, WORD_SIGN, WordTokenizer};
use tantivy::tokenizer::{TokenStream, Tokenizer};

use crate::plan::{Matcher, Plan, Shown};

/// Columns of a snippet; a Han character takes two.
const WIDTH: usize = 220;
/// Columns shown before the first match.
const LEAD: usize = 60;
/// Bytes in which the words of the query are looked for together.
const SPAN_BYTES: usize = 200;
/// A line of fewer bytes is more likely a heading or part of a menu.
const PROSE_BYTES: usize = 60;
/// Only the beginning of a long page is looked at.
const SEARCHED_BYTES: usize = 256 << 10;
/// Matches beyond these do not change the choice.
const MAX_MATCHES: usize = 2_000;

/// Terms that are marked; a prefix may stand for many.
const MAX_WORDS: usize = 2_000;

/// Finds the words of one query in many texts.
pub struct Highlighter {
    words: HashMap<String, Word>,
    tokenizer: WordTokenizer,
}

/// A term that is marked.
#[derive(Clone, Copy)]
struct Word {
    /// The same for all forms of a word.
    number: usize,
    first_character_only: bool,
}

struct Found {
    range: Range<usize>,
    word: usize,
}

impl Highlighter {
    pub fn new(plan: &Plan) -> Self {
        let mut words = HashMap::new();
        let mut add = |term: &str, number: usize, first_character_only: bool| {
            if words.len() < MAX_WORDS {
                words.entry(term.to_owned()).or_insert(Word { number, first_character_only });
            }
        };
        let mut number = 0;
        for unit in plan.units.iter().filter(|unit| unit.shown != Shown::Nothing) {
            let first_only = unit.shown == Shown::FirstCharacter;
            for matcher in &unit.matchers {
                match matcher {
                    // Whatever form stands in the text, it is the same word.
                    Matcher::Term { text, .. } => add(text, number, first_only),
                    Matcher::Phrase(terms) => {
                        for (_, term) in terms {
                            number += 1;
                            add(term, number, first_only);
                        }
                    }
                }
            }
            number += 1;
        }
        Self { words, tokenizer: WordTokenizer::of(Language::Other) }
    }

    /// Of the main text; of the rest of the page where only that has any of the words.
    pub fn snippet(&mut self, language: Language, text: &str, rest: &str) -> String {
        self.tokenizer.set_language(language);
        let beginning = |text: &'_ str| text.floor_char_boundary(SEARCHED_BYTES);
        let (mut text, rest) = (&text[..beginning(text)], &rest[..beginning(rest)]);
        let mut found = self.find(text);
        if found.is_empty() && !rest.is_empty() {
            let elsewhere = self.find(rest);
            if !elsewhere.is_empty() || text.is_empty() {
                (text, found) = (rest, elsewhere);
            }
        }
        let first = best_window(text, &found).unwrap_or(0);
        let start = match found.get(first) {
            Some(first) => start_before(text, first.range.start),
            None => text.len() - text.trim_start().len(),
        };
        let end = end_after(text, start);
        let marks: Vec<Range<usize>> = found.into_iter().map(|found| found.range).collect();
        render(text, start..end, &marks)
    }

    /// How a text writes a folded word, in lower case; `None` when it does not have it.
    pub fn written(&mut self, language: Language, text: &str, folded: &str) -> Option<String> {
        self.tokenizer.set_language(language);
        let text = &text[..text.floor_char_boundary(SEARCHED_BYTES)];
        let mut stream = self.tokenizer.token_stream(text);
        while stream.advance() {
            let token = stream.token();
            let piece = &text[token.offset_from..token.offset_to];
            if token.text.strip_prefix(WORD_SIGN).unwrap_or(&token.text) == folded
                && piece.chars().count() == folded.chars().count()
            {
                return Some(piece.to_lowercase());
            }
        }
        None
    }

    fn find(&mut self, text: &str) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let words = &self.words;
        let mut stream = self.tokenizer.token_stream(text);
        while found.len() < MAX_MATCHES && stream.advance() {
            let token = stream.token();
            if let Some(word) = words.get(&token.text) {
                let mut range = token.offset_from..token.offset_to;
                if word.first_character_only {
                    range.end = range.start + text[range.clone()].chars().next().map_or(0, char::len_utf8);
                }
                found.push(Found { range, word: word.number });
            }
        }
        // Parts of a compound come after it, and words of a run between its pairs.
        found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        found.dedup_by(|next, found| next.range == found.range);
        found
    }
}

/// Where the window with the most different words begins; of equals rather in a sentence than in a menu or heading, with
/// more matches, and early.
fn best_window(text: &str, found: &[Found]) -> Option<usize> {
    let worth = |first: usize| {
        let start = found[first].range.start;
        let window = found[first..].iter().take_while(|next| next.range.end <= start + SPAN_BYTES);
        let (mut seen, mut count) = (0u64, 0usize);
        for next in window {
            seen |= 1 << (next.word % 64);
            count += 1;
        }
        (seen.count_ones(), stands_in_prose(text, start), count.min(4))
    };
    (0..found.len()).max_by_key(|&first| (worth(first), std::cmp::Reverse(first)))
}

/// Whether the line around this place is long, as sentences are.
fn stands_in_prose(text: &str, at: usize) -> bool {
    let near = text.floor_char_boundary(at.saturating_sub(PROSE_BYTES));
    let before = text[near..at].rfind('\n').map_or(at - near, |line_end| at - near - line_end - 1);
    let far = text.floor_char_boundary(at.saturating_add(PROSE_BYTES));
    let after = text[at..far].find('\n').unwrap_or(far - at);
    before + after >= PROSE_BYTES
}

fn start_before(text: &str, match_start: usize) -> usize {
    // Near the end of the text there is more room before the match.
    let behind: usize = text[match_start..].chars().map(columns).take(WIDTH).sum();
    let room = LEAD.max(WIDTH.saturating_sub(behind));
    let mut used = 0;
    let mut reached = match_start;
    let mut word_start = match_start;
    let mut sentence_start = None;
    for (at, c) in text[..match_start].char_indices().rev() {
        used += columns(c);
        if used > room {
            break;
        }
        let after = at + c.len_utf8();
        if c == '\n' && used + behind > WIDTH / 2 {
            // What stands before belongs to another block, and there is enough to show without it.
            return after;
        }
        if c == '\n'
            || matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?') && text[after..].starts_with(' '))
        {
            sentence_start = Some(after);
        }
        if c.is_whitespace() || columns(c) == 2 {
            word_start = after;
        }
        reached = at;
    }
    if reached == 0 { 0 } else { sentence_start.unwrap_or(word_start) }
}

fn end_after(text: &str, start: usize) -> usize {
    let mut used = 0;
    let mut word_end = start;
    for (at, c) in text[start..].char_indices() {
        used += columns(c);
        if used > WIDTH {
            // A word longer than the whole snippet is cut.
            return if word_end > start { word_end } else { start + at };
        }
        if c.is_whitespace() {
            word_end = start + at;
        } else if columns(c) == 2 {
            word_end = start + at + c.len_utf8();
        }
    }
    text.len()
}

/// How wide a character is shown, in columns.
fn columns(c: char) -> usize {
    match c as u32 {
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 => 2,
        0x1f300..=0x1faff | 0x20000..=0x3ffff => 2,
        _ => 1,
    }
}

/// `marks` are sorted by their start; they may overlap and may lie outside.
fn render(text: &str, shown: Range<usize>, marks: &[Range<usize>]) -> String {
    let mut html = String::with_capacity(shown.len() + 64);
    if !text[..shown.start].trim_end().is_empty() && !begins_a_sentence(text, shown.start) {
        html.push_str("… ");
    }
    let mut marks = marks.iter().peekable();
    // Where the mark that is open now ends.
    let mut open_until: Option<usize> = None;
    let mut space_due = false;
    let mut empty = true;
    for (at, c) in text[shown.clone()].char_indices().map(|(at, c)| (shown.start + at, c)) {
        if open_until.is_some_and(|end| at >= end) && !marks.peek().is_some_and(|next| next.contains(&at)) {
            html.push_str("</mark>");
            open_until = None;
        }
        if c.is_whitespace() || c.is_control() {
            space_due = true;
            continue;
        }
        if std::mem::take(&mut space_due) && !empty {
            html.push(' ');
        }
        empty = false;
        while let Some(mark) = marks.next_if(|mark| mark.start <= at) {
            if mark.end <= at {
                continue;
            }
            if open_until.is_none() {
                html.push_str("<mark>");
            }
            open_until = Some(open_until.map_or(mark.end, |end| end.max(mark.end)));
        }
        push_escaped(c, &mut html);
    }
    if open_until.is_some() {
        html.push_str("</mark>");
    }
    if !text[shown.end..].trim_start().is_empty() {
        html.push_str(" …");
    }
    html
}

fn begins_a_sentence(text: &str, start: usize) -> bool {
    let before = &text[..start];
    let last = before.trim_end_matches([' ', '\t']).chars().next_back();
    last.is_none_or(|c| matches!(c, '\n' | '.' | '!' | '?' | '。' | '！' | '？'))
}

fn push_escaped(c: char, html: &mut String) {
    match c {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        '\'' => html.push_str("&#39;"),
        other => html.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::plan_without_index;

    fn snippet(query: &str, text: &str) -> String {
        snippet_in("", query, text)
    }

    fn snippet_in(lang: &str, query: &str, text: &str) -> String {
        Highlighter::new(&plan_without_index(query, lang)).snippet(Language::of(lang), text, "")
    }

    #[test]
    fn matches_are_marked_in_whatever_form_they_stand() {
        assert_eq!(snippet("reka", "Velká Řeka teče.\nDomů"), "Velká <mark>Řeka</mark> teče. Domů");
        assert_eq!(snippet("科学", "他在中国科学院工作"), "他在中国<mark>科学</mark>院工作");
        assert_eq!(snippet("\"big river\"", "A big river"), "A <mark>big</mark> <mark>river</mark>");
    }

    #[test]
    fn other_forms_phrases_and_compounds_are_marked() {
        assert_eq!(snippet_in("en", "rivers", "The river and its bank"), "The <mark>river</mark> and its bank");
        assert_eq!(snippet_in("cs", "praha", "Bydlí v Praze."), "Bydlí v <mark>Praze</mark>.");
        assert_eq!(
            snippet("HttpClient", "an HTTP client or HttpClient"),
            "an <mark>HTTP</mark> <mark>client</mark> or <mark>HttpClient</mark>"
        );
        assert_eq!(snippet("C++", "C++ is not C."), "<mark>C++</mark> is not C.");
        assert_eq!(snippet("\"科学院 工作\"", "他在中国科学院工作"), "他在中国<mark>科学院工作</mark>");
    }

    #[test]
    fn the_rest_of_a_page_is_shown_where_only_it_has_the_words() {
        let mut highlighter = Highlighter::new(&plan_without_index("imprint", ""));
        assert_eq!(highlighter.snippet(Language::Other, "Main text", "Imprint"), "<mark>Imprint</mark>");
        assert_eq!(highlighter.snippet(Language::Other, "Main text", "Menu"), "Main text");
        assert_eq!(highlighter.snippet(Language::Other, "", "Menu"), "Menu");
    }

    #[test]
    fn overlapping_matches_make_one_mark() {
        assert_eq!(snippet("中国科学院 科学", "中国科学院"), "<mark>中国科学院</mark>");
    }

    #[test]
    fn nothing_of_the_page_becomes_markup() {
        assert_eq!(
            snippet("script", "<script>alert('x') & \"y\"</script>"),
            "&lt;<mark>script</mark>&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/<mark>script</mark>&gt;"
        );
    }

    #[test]
    fn the_window_with_the_most_different_words_is_shown() {
        let text = format!("river {} The river and its bank. {}", "water ".repeat(100), "tail ".repeat(100));
        let shown = snippet("river bank", &text);
        assert!(shown.contains("<mark>river</mark> and its <mark>bank</mark>"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn a_sentence_is_shown_rather_than_a_menu() {
        let sentence = "The river is a natural stream of water that flows towards another one, a lake or the sea.";
        let text = &format!("Home\nThe river\nAbout\n{sentence} {sentence}");
        let shown = snippet("river", text);
        assert!(shown.starts_with("The <mark>river</mark> is a natural stream"), "{shown}");
    }

    #[test]
    fn a_page_without_a_match_shows_its_beginning() {
        assert_eq!(snippet("absent", "\n  Welcome\n\n here "), "Welcome here");
        assert_eq!(snippet("absent", ""), "");
    }

    /// Reads a snippet back: its text, and the marked pieces. Panics on anything but text and closed marks.
    fn read_back(html: &str) -> (String, Vec<String>) {
        let (mut text, mut marked, mut open) = (String::new(), Vec::new(), None::<String>);
        let mut rest = html;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("<mark>") {
                assert!(open.replace(String::new()).is_none(), "nested mark in {html}");
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix("</mark>") {
                marked.push(open.take().expect("an open mark"));
                rest = after;
                continue;
            }
            let entities = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\'')];
            let entity = entities.iter().find(|(name, _)| rest.starts_with(name));
            assert!(entity.is_some() || !matches!(c, '<' | '>' | '&' | '"' | '\''), "bare {c} in {html}");
            let (length, c) = entity.map_or((c.len_utf8(), c), |(name, c)| (name.len(), *c));
            text.push(c);
            if let Some(open) = &mut open {
                open.push(c);
            }
            rest = &rest[length..];
        }
        assert!(open.is_none(), "unclosed mark in {html}");
        (text, marked)
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "([a-e]{1,3}[ \n.<>&'\"]){0,200}",
            "[中国科学院的人我们。\n <&]{0,300}",
            "(ab|Á|ß|e\u{301}|\u{ad}|<b>|\\.|。| ){0,200}",
        ]
    }

    proptest! {
        #[test]
        fn any_snippet_is_escaped_text_with_closed_marks_of_asked_words(text in text(), query in text()) {
            let mut highlighter = Highlighter::new(&plan_without_index(&query, "en"));
            let (shown, marked) = read_back(&highlighter.snippet(Language::of("en"), &text, &query));
            let collapsed = |text: &str| {
                text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
                    .collect::<Vec<_>>().join(" ")
            };
            let inner = shown.trim_start_matches("… ").trim_end_matches(" …");
            let of_either = [&text, &query].iter().any(|text| collapsed(text).contains(&collapsed(inner)));
            prop_assert!(of_either, "{:?} of {:?}", inner, text);
            for piece in marked {
                prop_assert!(piece.chars().any(char::is_alphanumeric), "{:?}", piece);
            }
        }
    }
}
