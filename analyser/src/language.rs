//! The language of a page: by its text where that is clear, else as the page states it.
//!
//! Text that is full of one language's commonest words is settled by counting them ([`common_words`]); that takes a
//! few microseconds, where comparing with the profiles of all languages takes more than reading the whole page.

mod common_words;

use whatlang::Lang;

/// How much of the text is looked at: enough to be sure, and the time it takes grows with it.
const SAMPLE_BYTES: usize = 1 << 10;

/// ISO 639-1 code, or empty when neither text nor page tell.
pub(crate) fn language(title: &str, text: &str, stated: Option<&str>) -> String {
    let sample = sample(if text.is_empty() { title } else { text });
    if let Some(code) = common_words::language(sample) {
        return code.to_owned();
    }
    let detected = whatlang::detect(sample).filter(whatlang::Info::is_reliable);
    let detected = detected.map(|info| iso_639_1(info.lang()).to_owned());
    detected.or_else(|| stated.and_then(primary_subtag)).unwrap_or_default()
}

/// From the middle of a long text, because menus stand at its beginning.
fn sample(text: &str) -> &str {
    if text.len() <= SAMPLE_BYTES {
        return text;
    }
    let start = text.floor_char_boundary((text.len() - SAMPLE_BYTES) / 2);
    let end = text.floor_char_boundary(start + SAMPLE_BYTES);
    &text[start..end]
}

/// The language of a tag such as `zh-Hans`, where it has a two-letter code.
fn primary_subtag(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    match primary.as_str() {
        "nb" => Some("no".to_owned()),
        "zho" | "chi" => Some("zh".to_owned()),
        code if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()) => Some(primary),
        code => Lang::from_code(code).map(|lang| iso_639_1(lang).to_owned()),
    }
}

fn iso_639_1(lang: Lang) -> &'static str {
    match lang {
        Lang::Afr => "af",
        Lang::Aka => "ak",
        Lang::Amh => "am",
        Lang::Ara => "ar",
        Lang::Aze => "az",
        Lang::Bel => "be",
        Lang::Ben => "bn",
        Lang::Bul => "bg",
        Lang::Cat => "ca",
        Lang::Ces => "cs",
        Lang::Cmn => "zh",
        Lang::Cym => "cy",
        Lang::Dan => "da",
        Lang::Deu => "de",
        Lang::Ell => "el",
        Lang::Eng => "en",
        Lang::Epo => "eo",
        Lang::Est => "et",
        Lang::Fin => "fi",
        Lang::Fra => "fr",
        Lang::Guj => "gu",
        Lang::Heb => "he",
        Lang::Hin => "hi",
        Lang::Hrv => "hr",
        Lang::Hun => "hu",
        Lang::Hye => "hy",
        Lang::Ind => "id",
        Lang::Ita => "it",
        Lang::Jav => "jv",
        Lang::Jpn => "ja",
        Lang::Kan => "kn",
        Lang::Kat => "ka",
        Lang::Khm => "km",
        Lang::Kor => "ko",
        Lang::Lat => "la",
        Lang::Lav => "lv",
        Lang::Lit => "lt",
        Lang::Mal => "ml",
        Lang::Mar => "mr",
        Lang::Mkd => "mk",
        Lang::Mya => "my",
        Lang::Nep => "ne",
        Lang::Nld => "nl",
        Lang::Nob => "no",
        Lang::Ori => "or",
        Lang::Pan => "pa",
        Lang::Pes => "fa",
        Lang::Pol => "pl",
        Lang::Por => "pt",
        Lang::Ron => "ro",
        Lang::Rus => "ru",
        Lang::Sin => "si",
        Lang::Slk => "sk",
        Lang::Slv => "sl",
        Lang::Sna => "sn",
        Lang::Spa => "es",
        Lang::Srp => "sr",
        Lang::Swe => "sv",
        Lang::Tam => "ta",
        Lang::Tel => "te",
        Lang::Tgl => "tl",
        Lang::Tha => "th",
        Lang::Tuk => "tk",
        Lang::Tur => "tr",
        Lang::Ukr => "uk",
        Lang::Urd => "ur",
        Lang::Uzb => "uz",
        Lang::Vie => "vi",
        Lang::Yid => "yi",
        Lang::Zul => "zu",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "The river rises in the hills and flows through several old towns before it reaches the sea, \
        where fishermen have cast their nets for hundreds of years.";
    const CZECH: &str = "Řeka pramení v kopcích a protéká několika starými městy, než se vlije do moře, kde rybáři \
        už stovky let vrhají své sítě.";
    const CHINESE: &str = "这条河发源于山区，流经几座古老的城镇，最后汇入大海，几百年来渔民一直在那里撒网捕鱼。";

    #[test]
    fn clear_text_tells_the_language_whatever_the_page_states() {
        assert_eq!(language("", ENGLISH, Some("cs")), "en");
        assert_eq!(language("", CZECH, None), "cs");
        assert_eq!(language("", CHINESE, Some("en")), "zh");
        assert_eq!(language(CZECH, "", None), "cs");
    }

    #[test]
    fn unclear_text_leaves_it_to_the_page() {
        assert_eq!(language("", "404", Some("DE-at")), "de");
        assert_eq!(language("", "", Some("zh-Hans-CN")), "zh");
        assert_eq!(language("", "", Some("ces")), "cs");
        assert_eq!(language("", "", Some("nb_NO")), "no");
        assert_eq!(language("", "404", None), "");
        assert_eq!(language("", "", Some("../etc")), "");
    }

    #[test]
    fn the_sample_is_bounded_and_never_splits_a_character() {
        for length in 0..40 {
            let text = format!("{}{}", "x".repeat(length), "你".repeat(SAMPLE_BYTES));
            assert!(sample(&text).len() <= SAMPLE_BYTES);
        }
    }
}
