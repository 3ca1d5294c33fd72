use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn words(text: &str, purpose: Purpose) -> Vec<Token> {
    let mut tokenizer = WordTokenizer::new(purpose);
    let mut stream = tokenizer.token_stream(text);
    let mut found = Vec::new();
    stream.process(&mut |token| found.push(token.clone()));
    found
}

fn texts(text: &str, purpose: Purpose) -> Vec<String> {
    words(text, purpose).into_iter().map(|token| token.text).collect()
}

#[test]
fn words_are_runs_of_letters_and_digits_in_one_form() {
    assert_eq!(texts("The café, don't—über-8080!", Purpose::Index), ["the", "cafe", "don", "t", "uber", "8080"]);
    assert_eq!(texts("Donau\u{ad}dampf e\u{301}te\u{301}", Purpose::Index), ["donaudampf", "ete"]);
    assert_eq!(texts("  \u{301}… ", Purpose::Index), Vec::<String>::new());
    assert_eq!(texts("", Purpose::Index), Vec::<String>::new());
}

#[test]
fn han_runs_are_cut_into_words_and_the_words_inside_them() {
    assert_eq!(texts("我们中国iPhone手机", Purpose::Query), ["我们", "中国", "iphone", "手机"]);
    let indexed = texts("他在中国科学院工作", Purpose::Index);
    for word in ["中国科学院", "中国", "科学", "科学院", "学院", "工作"] {
        assert!(indexed.iter().any(|token| token == word), "{word} in {indexed:?}");
    }
}

#[test]
fn words_inside_a_longer_word_share_its_position() {
    let indexed = words("在中国科学院工作", Purpose::Index);
    let position = |text: &str| indexed.iter().find(|token| token.text == text).map(|token| token.position);
    assert_eq!(position("中国"), position("中国科学院"));
    assert_eq!(position("工作"), position("中国科学院").map(|at| at + 1));
    let asked = words("在中国科学院工作", Purpose::Query);
    for token in asked {
        assert_eq!(position(&token.text), Some(token.position), "{}", token.text);
    }
}

#[test]
fn a_long_word_is_cut_at_a_character() {
    let long = "ž".repeat(100) + "—" + &"x".repeat(1000) + " 中";
    let found = words(&long, Purpose::Index);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|token| token.text.len() <= MAX_WORD_BYTES));
    assert_eq!(found[1].text, "x".repeat(MAX_WORD_BYTES));
    assert_eq!(&long[found[1].offset_from..found[1].offset_to], "x".repeat(1000));
}

/// Texts as they are met and as nobody would write them.
fn any_text() -> impl Strategy<Value = String> {
    let han = "[的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严]{0,30}";
    prop_oneof![
        any::<String>(),
        "[ a-zA-Z0-9áčďéěíňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽäöüß'’.,-]{0,60}",
        han.prop_map(|text: String| text),
        (any::<String>(), han, "[a-z]{1,90}").prop_map(|(a, b, c)| format!("{a}{b}{c}")),
    ]
}

proptest! {
    #[test]
    fn offsets_are_character_boundaries_and_words_come_in_order(text in any_text()) {
        for purpose in [Purpose::Index, Purpose::Query] {
            let found = words(&text, purpose);
            for token in &found {
                prop_assert!(token.offset_from < token.offset_to);
                prop_assert!(text.get(token.offset_from..token.offset_to).is_some());
                prop_assert!(!token.text.is_empty() && token.text.len() <= MAX_WORD_BYTES);
            }
            for pair in found.windows(2) {
                prop_assert!(pair[0].position <= pair[1].position);
                if purpose == Purpose::Query {
                    prop_assert!(pair[0].offset_to <= pair[1].offset_from);
                    prop_assert_eq!(pair[0].position + 1, pair[1].position);
                }
            }
        }
    }

    #[test]
    fn a_query_for_any_indexed_word_asks_only_for_indexed_words(text in any_text()) {
        let indexed = words(&text, Purpose::Index);
        let known: HashSet<&str> = indexed.iter().map(|token| token.text.as_str()).collect();
        for token in &indexed {
            let asked = texts(&text[token.offset_from..token.offset_to], Purpose::Query);
            prop_assert!(!asked.is_empty());
            for word in &asked {
                prop_assert!(known.contains(word.as_str()), "{:?} of {:?}", word, token.text);
            }
        }
    }

    #[test]
    fn a_whole_text_as_query_asks_only_for_indexed_words(text in any_text()) {
        let known: HashSet<String> = texts(&text, Purpose::Index).into_iter().collect();
        for word in texts(&text, Purpose::Query) {
            prop_assert!(known.contains(&word), "{:?}", word);
        }
    }
}
