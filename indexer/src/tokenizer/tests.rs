use std::collections::HashSet;

use proptest::prelude::*;

use super::query::{Form, pieces};
use super::*;

fn terms(text: &str, language: Language) -> Vec<Token> {
    let mut tokenizer = WordTokenizer::of(language);
    let mut stream = tokenizer.token_stream(text);
    let mut found = Vec::new();
    stream.process(&mut |token| found.push(token.clone()));
    found
}

fn texts(text: &str, code: &str) -> Vec<String> {
    terms(text, Language::of(code)).into_iter().map(|token| token.text).collect()
}

/// Every term that a query would look for in the documents of one language.
fn asked(text: &str, language: Language) -> Vec<String> {
    let mut asked = Vec::new();
    for piece in pieces(text, &[language]) {
        match piece.form {
            Form::Word(word) => asked.extend(word.stems),
            Form::Compound { whole, parts } => {
                asked.extend(whole.stems);
                asked.extend(parts.into_iter().flat_map(|part| part.stems));
            }
            Form::Run(run) if run.characters > 1 => asked.extend(run.pairs.into_iter().map(|pair| pair.text)),
            // A lone character is looked for as the beginning of pairs.
            Form::Run(_) => {}
        }
    }
    asked
}

#[test]
fn words_are_runs_of_letters_and_digits_in_one_form() {
    assert_eq!(texts("The café, don't—über-8080!", ""), ["the", "cafe", "don", "t", "uber", "8080"]);
    assert_eq!(texts("Donau\u{ad}dampf e\u{301}te\u{301}", ""), ["donaudampf", "ete"]);
    assert_eq!(texts("  \u{301}… ", ""), Vec::<String>::new());
    assert_eq!(texts("", ""), Vec::<String>::new());
}

#[test]
fn words_give_their_stem_and_where_it_differs_themselves() {
    assert_eq!(texts("the rivers", "en"), ["the", "river", "=rivers"]);
    assert_eq!(texts("v Praze", "cs"), ["v", "prah", "=praze"]);
    assert_eq!(texts("rivers", ""), ["rivers"]);
    let found = terms("big rivers flow", Language::of("en"));
    let positions: Vec<usize> = found.iter().map(|token| token.position).collect();
    assert_eq!(positions, [0, 1, 1, 2]);
}

#[test]
fn identifiers_and_numbers_are_findable_whole_and_in_parts() {
    assert_eq!(texts("HttpClient x", ""), ["httpclient", "http", "client", "x"]);
    assert_eq!(texts("snake_case", ""), ["snake_case", "snake", "case"]);
    assert_eq!(texts("C++ 3.14 1,000", ""), ["c++", "c", "3.14", "3", "14", "1000", "1", "000"]);
    let found = terms("new HttpClient now", Language::Other);
    let positions: Vec<usize> = found.iter().map(|token| token.position).collect();
    assert_eq!(positions, [0, 1, 1, 1, 2]);
}

#[test]
fn a_mark_tells_the_language_and_is_no_text() {
    let mut text = "rivers".to_owned();
    mark(&mut text, "en");
    let mut tokenizer = WordTokenizer::marked();
    let mut stream = tokenizer.token_stream(&text);
    assert!(stream.advance());
    assert_eq!((stream.token().text.as_str(), stream.token().offset_from), ("river", 3));
    assert!(stream.advance());
    assert!(!stream.advance());
}

#[test]
fn a_long_word_is_cut_at_a_character() {
    let long = "ž".repeat(100) + "—" + &"x".repeat(1000) + " 中";
    let found = terms(&long, Language::Other);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|token| token.text.len() <= MAX_WORD_BYTES));
    assert_eq!(found[1].text, "x".repeat(MAX_WORD_BYTES));
    assert_eq!(&long[found[1].offset_from..found[1].offset_to], "x".repeat(1000));
}

#[test]
fn a_long_run_loses_no_pair_and_no_place() {
    let text: String = (0..500u32).filter_map(|n| char::from_u32(0x4e00 + n)).collect();
    let characters: Vec<char> = text.chars().collect();
    let found = terms(&text, Language::of("zh"));
    for (place, pair) in characters.windows(2).enumerate() {
        let pair: String = pair.iter().collect();
        assert!(found.iter().any(|token| token.text == pair && token.position == place), "{pair} at {place}");
    }
}

#[test]
fn a_query_knows_words_from_pairs_between_them() {
    let Form::Run(run) = &pieces("我们中国科学院", &[])[0].form else { panic!("a run") };
    let words: Vec<(&str, bool)> = run.pairs.iter().map(|pair| (pair.text.as_str(), pair.in_word)).collect();
    assert_eq!(
        words,
        [("我们", true), ("们中", false), ("中国", true), ("国科", true), ("科学", true), ("学院", true)]
    );
    assert_eq!(run.words, [(2, "中国科学院".to_owned())]);
}

#[test]
fn a_query_word_has_the_stems_of_all_languages() {
    let languages = [Language::of("en"), Language::of("cs"), Language::Other];
    let Form::Word(word) = &pieces("Banky", &languages)[0].form else { panic!("a word") };
    assert_eq!((word.folded.as_str(), word.written().as_str()), ("banky", "=banky"));
    assert_eq!(word.stems, ["banki", "bank", "banky"]);
}

/// Texts as they are met and as nobody would write them.
fn any_text() -> impl Strategy<Value = String> {
    let han = "[的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严]{0,30}";
    prop_oneof![
        any::<String>(),
        "[ a-zA-Z0-9áčďéěíňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽäöüß'’.,-]{0,60}",
        "[ a-cA-C0-2_.,+#é-]{0,60}",
        "[ あいカタ東京ー한국어。]{0,40}",
        han.prop_map(|text: String| text),
        (any::<String>(), han, "[a-z]{1,90}").prop_map(|(a, b, c)| format!("{a}{b}{c}")),
    ]
}

fn any_language() -> impl Strategy<Value = Language> {
    prop::sample::select(vec!["", "cs", "de", "en", "es", "fr", "ru", "zh", "ja"]).prop_map(Language::of)
}

proptest! {
    #[test]
    fn offsets_are_character_boundaries_and_positions_never_fall(text in any_text(), language in any_language()) {
        let found = terms(&text, language);
        for token in &found {
            prop_assert!(token.offset_from < token.offset_to);
            prop_assert!(text.get(token.offset_from..token.offset_to).is_some());
            prop_assert!(!token.text.is_empty() && token.text.len() <= 2 * MAX_WORD_BYTES);
        }
        for pair in found.windows(2) {
            prop_assert!(pair[0].position <= pair[1].position, "{:?}", pair);
        }
    }

    #[test]
    fn a_whole_text_as_query_asks_only_for_terms_of_its_document(text in any_text(), language in any_language()) {
        let known: HashSet<String> = terms(&text, language).into_iter().map(|token| token.text).collect();
        for term in asked(&text, language) {
            prop_assert!(known.contains(&term), "{:?} of {:?}", term, text);
        }
    }

    #[test]
    fn a_query_for_any_piece_of_a_document_asks_only_for_its_terms(text in any_text(), language in any_language()) {
        let found = terms(&text, language);
        let known: HashSet<&str> = found.iter().map(|token| token.text.as_str()).collect();
        for token in &found {
            for term in asked(&text[token.offset_from..token.offset_to], language) {
                prop_assert!(known.contains(term.as_str()), "{:?} of {:?}", term, token.text);
            }
        }
    }
}
