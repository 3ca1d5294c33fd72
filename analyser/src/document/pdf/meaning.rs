//! What a PDF says a glyph means, as text that people search for.
//!
//! Fonts share glyphs between characters that look alike, and some programs name the wrong one of them: the radical of a
//! dictionary instead of the word, which no one ever types.

/// The words that look like the radicals U+2F00 to U+2FD5, in their order; three bytes each.
const RADICALS: &str = "\
    一丨丶丿乙亅二亠人儿入八冂冖冫几凵刀力勹匕匚匸十卜卩厂厶又口囗土士夂夊夕大女子宀寸小尢尸屮山巛工己巾干幺广廴\
    廾弋弓彐彡彳心戈戶手支攴文斗斤方无日曰月木欠止歹殳毋比毛氏气水火爪父爻爿片牙牛犬玄玉瓜瓦甘生用田疋疒癶白皮皿\
    目矛矢石示禸禾穴立竹米糸缶网羊羽老而耒耳聿肉臣自至臼舌舛舟艮色艸虍虫血行衣襾見角言谷豆豕豸貝赤走足身車辛辰辵\
    邑酉釆里金長門阜隶隹雨靑非面革韋韭音頁風飛食首香馬骨高髟鬥鬯鬲鬼魚鳥鹵鹿麥麻黃黍黑黹黽鼎鼓鼠鼻齊齒龍龜龠";
const FIRST_RADICAL: u32 = 0x2f00;
const RADICAL_BYTES: usize = 3;

/// Simplified forms and others that are not in the row above.
const FURTHER_RADICALS: [(char, &str); 24] = [
    ('\u{2e81}', "厂"),
    ('\u{2e9f}', "母"),
    ('\u{2ec5}', "见"),
    ('\u{2ec6}', "角"),
    ('\u{2ec9}', "贝"),
    ('\u{2ecb}', "车"),
    ('\u{2ed3}', "长"),
    ('\u{2ed4}', "门"),
    ('\u{2ed8}', "青"),
    ('\u{2ed9}', "韦"),
    ('\u{2eda}', "页"),
    ('\u{2edb}', "风"),
    ('\u{2edc}', "飞"),
    ('\u{2edd}', "食"),
    ('\u{2ee2}', "马"),
    ('\u{2ee5}', "鱼"),
    ('\u{2ee6}', "鸟"),
    ('\u{2ee7}', "卤"),
    ('\u{2ee8}', "麦"),
    ('\u{2ee9}', "黄"),
    ('\u{2eec}', "齐"),
    ('\u{2eee}', "齿"),
    ('\u{2ef0}', "龙"),
    ('\u{2ef3}', "龟"),
];

/// Ligatures as their letters, radicals as their words; what has no meaning outside of its font is left out.
pub(super) fn shown(text: &str) -> &str {
    match text {
        "\u{fb00}" => "ff",
        "\u{fb01}" => "fi",
        "\u{fb02}" => "fl",
        "\u{fb03}" => "ffi",
        "\u{fb04}" => "ffl",
        "\u{fb05}" | "\u{fb06}" => "st",
        "\u{a0}" => " ",
        "\u{f0b7}" => "•",
        _ if text.chars().all(is_meaningless) => "",
        _ => text.chars().next().and_then(word_of_radical).unwrap_or(text),
    }
}

fn is_meaningless(character: char) -> bool {
    character.is_control() || character == '\u{fffd}' || ('\u{e000}'..='\u{f8ff}').contains(&character)
}

fn word_of_radical(character: char) -> Option<&'static str> {
    if !('\u{2e80}'..='\u{2fd5}').contains(&character) {
        return None;
    }
    let further = FURTHER_RADICALS.iter().find(|(radical, _)| *radical == character).map(|(_, word)| *word);
    further.or_else(|| {
        let at = u32::from(character).checked_sub(FIRST_RADICAL)? as usize * RADICAL_BYTES;
        RADICALS.get(at..at + RADICAL_BYTES)
    })
}

/// Written without spaces between words.
pub(super) fn is_wide(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radicals_become_words_and_private_signs_nothing() {
        for (given, expected) in [
            ("\u{2f00}", "一"),
            ("\u{2f42}", "文"),
            ("\u{2fd5}", "龠"),
            ("\u{2ed3}", "长"),
            ("\u{2e80}", "\u{2e80}"),
            ("文", "文"),
            ("ﬁ", "fi"),
            ("\u{e123}", ""),
            ("ab", "ab"),
        ] {
            assert_eq!(shown(given), expected, "{given:?}");
        }
    }
}
