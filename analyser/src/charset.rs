//! Bytes to characters. What says more exactly which characters are meant goes first: byte order mark, header,
//! `<meta>` in the first 1,024 bytes, and last a guess from the bytes.
//!
//! Valid UTF-8 is not copied.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far `<meta charset>` is looked for, as browsers do.
const PRESCAN_BYTES: usize = 1024;
/// How much of a page without a label the guess looks at.
const GUESS_BYTES: usize = 64 << 10;

pub(crate) struct Decoded<'b> {
    pub text: Cow<'b, str>,
    /// Lower case.
    pub charset: String,
}

/// `meta_label` finds the label in the first bytes of the page; it is asked only when nothing else tells.
pub(crate) fn to_text<'b>(
    bytes: &'b [u8],
    header_label: Option<&str>,
    meta_label: impl FnOnce(&[u8]) -> Option<String>,
) -> Decoded<'b> {
    let (encoding, mark_length) = match Encoding::for_bom(bytes) {
        Some(found) => found,
        None => {
            let stated = header_label.and_then(labelled);
            let prefix = &bytes[..bytes.len().min(PRESCAN_BYTES)];
            let encoding =
                stated.or_else(|| meta_label(prefix).and_then(|label| labelled(&label)).map(ascii_compatible));
            (encoding.unwrap_or_else(|| guess(bytes)), 0)
        }
    };
    let (text, _) = encoding.decode_without_bom_handling(&bytes[mark_length..]);
    Decoded { text, charset: encoding.name().to_ascii_lowercase() }
}

fn labelled(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes())
}

/// A label that could be read as ASCII cannot stand in UTF-16 text.
fn ascii_compatible(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    const ESCAPE: u8 = 0x1b;
    // ISO-2022-JP is the one encoding in use whose text is valid UTF-8; it needs escapes.
    if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&ESCAPE) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(GUESS_BYTES)], bytes.len() <= GUESS_BYTES);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], header: Option<&str>, meta: Option<&str>) -> (String, String) {
        let decoded = to_text(bytes, header, |_| meta.map(str::to_owned));
        (decoded.text.into_owned(), decoded.charset)
    }

    #[test]
    fn the_byte_order_mark_wins_over_the_header_and_that_over_the_meta_tag() {
        assert_eq!(read(b"\xef\xbb\xbf\xc3\xa9", Some("gbk"), None), ("é".into(), "utf-8".into()));
        assert_eq!(read(b"\xff\xfea\0", Some("utf-8"), None), ("a".into(), "utf-16le".into()));
        assert_eq!(read(b"\xe9", Some("latin1"), Some("gbk")), ("é".into(), "windows-1252".into()));
        assert_eq!(read(b"\xc4\xe3", Some("no such label"), Some("gb2312")), ("你".into(), "gbk".into()));
        assert_eq!(read(b"abc", None, Some("utf-16")), ("abc".into(), "utf-8".into()));
    }

    #[test]
    fn text_without_a_label_is_guessed() {
        assert_eq!(read("už není".as_bytes(), None, None), ("už není".into(), "utf-8".into()));
        let (czech, _, _) = encoding_rs::WINDOWS_1250.encode("Příliš žluťoučký kůň úpěl ďábelské ódy, řekl šéf.");
        assert_eq!(read(&czech, None, None).0, "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl šéf.");
        let (chinese, _, _) = encoding_rs::GBK.encode("今天天气很好，我们去公园散步吧。他们正在学习中文。");
        assert_eq!(read(&chinese, None, None).0, "今天天气很好，我们去公园散步吧。他们正在学习中文。");
    }

    #[test]
    fn pages_of_many_charsets_come_out_right_with_and_without_a_label() {
        const CHINESE: &str = "今天天气很好，我们去公园散步吧。他们正在学习中文，希望以后可以去北京工作。";
        const TRADITIONAL: &str = "今天天氣很好，我們去公園散步吧。他們正在學習中文，希望以後可以去臺北工作。";
        const JAPANESE: &str = "今日は天気がいいので、公園を散歩しましょう。彼らは日本語を勉強しています。";
        const KOREAN: &str = "오늘은 날씨가 좋아서 공원에서 산책을 합시다. 그들은 한국어를 공부하고 있습니다.";
        const CZECH: &str = "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl šéf a šel domů, kde už na něj čekala večeře.";
        for (label, name, text) in [
            ("gb18030", "gb18030", CHINESE),
            ("gb2312", "gbk", CHINESE),
            ("big5", "big5", TRADITIONAL),
            ("shift_jis", "shift_jis", JAPANESE),
            ("euc-jp", "euc-jp", JAPANESE),
            ("euc-kr", "euc-kr", KOREAN),
            ("iso-8859-2", "iso-8859-2", CZECH),
            ("windows-1250", "windows-1250", CZECH),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let (bytes, _, lossy) = encoding.encode(text);
            assert!(!lossy, "{label}");
            assert_eq!(read(&bytes, Some(label), None), (text.to_owned(), name.to_owned()), "header {label}");
            assert_eq!(read(&bytes, None, Some(label)), (text.to_owned(), name.to_owned()), "meta {label}");
            // Without a label the text must come out right; which of several fitting names it gets does not matter.
            assert_eq!(read(&bytes, None, None).0, text, "guessed {label}");
        }
    }

    #[test]
    fn valid_utf8_is_not_copied() {
        let text = "grüße".repeat(100);
        assert!(matches!(to_text(text.as_bytes(), Some("utf-8"), |_| None).text, Cow::Borrowed(_)));
        assert!(matches!(to_text(text.as_bytes(), None, |_| None).text, Cow::Borrowed(_)));
    }

    #[test]
    fn broken_text_becomes_replacement_characters() {
        assert_eq!(read(b"a\xffb", Some("utf-8"), None).0, "a\u{fffd}b");
    }
}
