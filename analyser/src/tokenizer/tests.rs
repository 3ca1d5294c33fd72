//! Equality with html5gum, which takes longer, and an end in linear time.

mod oracle;

use proptest::prelude::*;

use oracle::{Event, Recorder, read_with_html5gum};

/// What the tokenizer says of a source.
fn events(source: &[u8]) -> Vec<Event> {
    let mut recorder = Recorder::default();
    super::tokenize(source, &mut recorder);
    recorder.events
}

fn assert_equal_to_html5gum(source: &[u8]) {
    let (ours, theirs) = (events(source), read_with_html5gum(source));
    assert!(ours == theirs, "{}\nours   {ours:?}\ntheirs {theirs:?}", source.escape_ascii());
}

/// Parts of markup, between bars.
const FRAGMENTS: &[&[u8]] = &[
    b"<script>|</script>|</script |</SCRIPT/|<script|<!--|-->|--!>|--|-|!|>|<|/|</|<!|<?|]]>|]]|]|&amp|&amp;",
    b"&notit;|&notin;|&not|&#x80;|&#0;|&#xD800;|&#x110000;|&#99999999999999;|&#13|&#x|&#|&|;|=|a|b|x|1|\r\n|\r|\n",
    b"\0|\t|\x0c| |<a b='c&amp=d'|<a b=\"c&ampd\"|<a b=c&amp;d&lt|</title|<title>|</title>|</TITLE\r\n|<TEXTAREA>",
    b"</textarea>|<style>|</style>|<noscript>|</noscript>|<svg>|<svg><![CDATA[|<![CDATA[|<![cdata[|</svg>",
    b"<plaintext>|<!DOCTYPE html>|<!doctype a PUBLIC \"|\"|'|<p>|</p>|<br/>|<br / x>|<P ID=1 Id=2>|<a\0B | =",
    b"<x-\xc3\xa9>|\xff|\xe2\x82\xac|&nbsp|&nbsp;|&COPY|&ThickSpace;|&CounterClockwiseContourIntegral;",
    b"&CounterClockwiseContourIntegral|&frac12|&frac123;|&NotEqualTilde;|script|<ScRiPt |<!-|<!->|<!--->|<!-->",
    b"text",
];

fn fragments(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let parts = FRAGMENTS.iter().flat_map(|line| line.split(|byte| *byte == b'|')).collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(parts), 0..most).prop_map(|parts| parts.concat())
}

fn bytes_of(alphabet: &'static [u8], most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(alphabet), 0..most)
}

fn named_references() -> impl Strategy<Value = Vec<u8>> {
    let name = (0..entities::ENTITIES.len()).prop_map(|number| entities::ENTITIES[number].entity);
    let end = prop::sample::select(&["", ";", "=", "a", " ", "&", "Z;"][..]);
    let one =
        (name, 0..4_usize, end).prop_map(|(name, cut, end)| [&name[..name.len().saturating_sub(cut)], end].concat());
    let place = prop::sample::select(&["", "<a b=", "<a b='", "<a b=\"", "<title>"][..]);
    (place, prop::collection::vec(one, 1..6))
        .prop_map(|(place, parts)| [place, &parts.concat(), "\"'>"].concat().into())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fragments_are_read_as_html5gum_reads_them(source in fragments(40)) {
        assert_equal_to_html5gum(&source);
    }

    #[test]
    fn few_fragments_are_read_as_html5gum_reads_them(source in fragments(6)) {
        assert_equal_to_html5gum(&source);
    }

    #[test]
    fn markup_bytes_are_read_as_html5gum_reads_them(source in bytes_of(b"<>/!-?='\"& \r\n\0\taAbx;#19]", 60)) {
        assert_equal_to_html5gum(&source);
    }

    #[test]
    fn tags_are_read_as_html5gum_reads_them(source in bytes_of(b"ab=='\"/> \r&A\0", 40)) {
        assert_equal_to_html5gum(&[b"<a ", source.as_slice(), b">z"].concat());
    }

    #[test]
    fn scripts_are_read_as_html5gum_reads_them(
        source in prop::collection::vec(
            prop::sample::select(&["<!--", "-->", "--", "-", "<", ">", "/", "</script", "<script", "script", " ", "!", "x", "\r"][..]),
            0..24,
        )
    ) {
        assert_equal_to_html5gum(["<script>", &source.concat(), "</script>z"].concat().as_bytes());
    }

    #[test]
    fn comments_are_read_as_html5gum_reads_them(source in bytes_of(b"<!--->x", 24)) {
        assert_equal_to_html5gum(&[b"a<!--", source.as_slice(), b"z"].concat());
    }

    #[test]
    fn character_references_are_read_as_html5gum_reads_them(source in named_references()) {
        assert_equal_to_html5gum(&source);
    }

    #[test]
    fn numbers_are_read_as_html5gum_reads_them(code in prop_oneof![0..0x200_u32, any::<u32>()], end in "[;0-9a-g ]?") {
        assert_equal_to_html5gum(format!("&#{code}{end}<a b='&#x{code:x}{end}'>").as_bytes());
    }

    #[test]
    fn any_bytes_are_read_as_html5gum_reads_them(source in prop::collection::vec(any::<u8>(), 0..80)) {
        assert_equal_to_html5gum(&source);
    }
}

/// In short: text as it is, tags with their attributes, `/` before what closes itself.
fn outline(source: &str) -> String {
    let attributes = |list: &[(Vec<u8>, Vec<u8>)]| {
        let one = |(name, value): &(Vec<u8>, Vec<u8>)| format!(" {}={}", name.escape_ascii(), value.escape_ascii());
        list.iter().map(one).collect::<String>()
    };
    let one = |event: &Event| match event {
        Event::Text(text) => format!("{}|", text.escape_ascii()),
        Event::StartTag { name, attributes: list, self_closing } => {
            format!("<{}{}{}|", name.escape_ascii(), attributes(list), if *self_closing { "/" } else { "" })
        }
        Event::EndTag { name, .. } => format!("</{}|", name.escape_ascii()),
    };
    events(source.as_bytes()).iter().map(one).collect()
}

#[test]
fn what_is_no_tag_is_text() {
    assert_eq!(outline("a < b &c &lt;d</"), "a < b &c <d</|");
    assert_eq!(outline("a<!--b-->c<!d>e<?f>g</ h>i<!-->j<!--k--!>l"), "acegijl|");
    assert_eq!(outline("a<![CDATA[b]]>c<svg><![CDATA[<d>&amp;]]></svg>"), "ac|<svg|<d>&amp;|</svg|");
}

#[test]
fn attributes_are_split_as_browsers_split_them() {
    assert_eq!(outline("<A HREF=b/c d='e\r\nf' g = \"h\"i/>"), "<a href=b/c d=e\\nf g=h i=/|");
    assert_eq!(outline("<a ==b c=>"), "<a ==b c=|");
    assert_eq!(outline("<a b='?c&copy=1&copy;&copy'>"), "<a b=?c&copy=1\\xc2\\xa9\\xc2\\xa9|");
    assert_eq!(outline("a<b c='d"), "a|");
}

#[test]
fn text_without_tags_ends_at_its_own_end_tag() {
    assert_eq!(outline("<title><b>&amp;</titles></TITLE >c"), "<title|<b>&</titles>|</title|c|");
    assert_eq!(outline("<style>&amp;</title></style/>"), "<style|&amp;</title>|</style|");
    let script = "<!--<script></script>--></script>";
    assert_eq!(outline(&format!("<script>{script}a")), "<script|<!--<script></script>-->|</script|a|");
    assert_eq!(outline("<script><!--</script>-->"), "<script|<!--|</script|-->|");
    assert_eq!(outline("<plaintext></plaintext>"), "<plaintext|</plaintext>|");
}

#[test]
fn every_named_reference_is_known() {
    for entity in &entities::ENTITIES {
        assert_eq!(events(entity.entity.as_bytes()), [Event::Text(entity.characters.as_bytes().to_vec())]);
        assert_equal_to_html5gum(format!("{0}<a b={0}>{0}a<a b='{0}=' c=\"{0}a\">", entity.entity).as_bytes());
    }
}

#[test]
fn bounds_of_names_are_those_of_the_data() {
    use super::character_reference::names::{MAX_BARE_BYTES, MAX_BYTES, MIN_BARE_BYTES};
    let names = || entities::ENTITIES.iter().map(|entity| &entity.entity[1..]);
    let bare = || names().filter(|name| !name.ends_with(';')).map(str::len);
    assert_eq!(names().count(), 2231);
    assert_eq!((bare().min(), bare().max()), (Some(MIN_BARE_BYTES), Some(MAX_BARE_BYTES)));
    assert_eq!(names().map(str::len).max(), Some(MAX_BYTES));
    assert!(names().all(|name| name.trim_end_matches(';').bytes().all(|byte| byte.is_ascii_alphanumeric())));
}

#[test]
fn long_names_come_cut() {
    let name = "aB".repeat(100);
    let [Event::StartTag { name, .. }] = &events(format!("<{name}>").as_bytes())[..] else { panic!("one tag") };
    assert_eq!(name.len(), super::MAX_NAME_BYTES + 1);
}

/// In quadratic time the test would not end.
#[test]
fn any_repetition_is_read_in_linear_time() {
    let repeated: &[&[u8]] = &[
        b"<a ",
        b"<a",
        b"<a b=",
        b"<a b='",
        b"<a b=\"c\" ",
        b"a=",
        b"&",
        b"&aaaa",
        b"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        b"&#",
        b"&#9",
        b"&#x",
        b"&no",
        b"&notit;",
        b"<!--",
        b"<!-->",
        b"<!-- --!>",
        b"<!-- -",
        b"--",
        b"-->",
        b"</",
        b"</a",
        b"<",
        b"<!",
        b"<?",
        b"<![CDATA[",
        b"<svg><![CDATA[",
        b"<![CDATA[]]>",
        b"]]",
        b"]]>",
        b"<!DOCTYPE a PUBLIC \"",
        b"\r",
        b"\r\n",
        b"\0",
        b"\"",
        b"'",
        b"=",
        b"/",
        b">",
        b"<script><!--<script",
        b"<script><!--<script>",
        b"<script>",
        b"<script></script>",
        b"<script><!--</script>",
        b"</script",
        b"<title>",
        b"<title></title>",
        b"</title",
        b"<title>&",
        b"<plaintext>",
        b"<a\0A",
    ];
    let openings: &[&[u8]] = &[
        b"",
        b"<a b='",
        b"<a b=\"",
        b"<a b=",
        b"<a ",
        b"<!--",
        b"<title>",
        b"<script>",
        b"<script><!--<script>",
        b"<svg><![CDATA[",
    ];
    for part in repeated {
        for opening in openings {
            let source = [opening, part.repeat(100_000).as_slice()].concat();
            super::tokenize(&source, &mut oracle::Counter::default());
        }
    }
}

#[test]
fn an_unterminated_quote_drops_its_tag() {
    let source = [b"a<b c=\"".as_slice(), &vec![b'>'; 10 << 20]].concat();
    assert_eq!(events(&source), [Event::Text(b"a".to_vec())]);
}
