//! One form for letters that people type in several: lower case, without diacritics, half width.
//!
//! Folded are Latin letters and ligatures (to ASCII), Greek accents, ё, and full-width ASCII. Letters whose mark makes another
//! letter of the alphabet for its readers (й, ї, dakuten) stay. Every folded form is its own folded form.

/// Marks and invisible characters inside a word: they neither end it nor count.
pub fn joins(c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => true,
        // Hebrew points and Arabic vowel marks, which most writers leave out, and the Arabic stretcher.
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' => true,
        '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' => true,
        // Indic viramas tie two consonants into one.
        '\u{94d}' | '\u{9cd}' | '\u{a4d}' | '\u{acd}' | '\u{b4d}' | '\u{bcd}' | '\u{c4d}' | '\u{ccd}' | '\u{d4d}' => {
            true
        }
        _ => false,
    }
}

/// Appends a word in its folded form.
pub fn fold_into(word: &str, folded: &mut String) {
    word.chars().filter(|&c| !joins(c)).for_each(|c| push_folded(c, folded));
}

pub fn push_folded(c: char, word: &mut String) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    match c as u32 {
        code @ 0xc0..0x250 => push_latin(c, LATIN[(code - 0xc0) as usize], word),
        code @ 0x1e00..0x1f00 => push_latin(c, LATIN_ADDITIONAL[(code - 0x1e00) as usize], word),
        code @ (0xff10..=0xff19 | 0xff21..=0xff3a | 0xff41..=0xff5a) => {
            word.push(((code - 0xfee0) as u8 as char).to_ascii_lowercase());
        }
        0xaa => word.push('a'),
        0xba => word.push('o'),
        0xfb00..=0xfb06 => word.push_str(["ff", "fi", "fl", "ffi", "ffl", "st", "st"][(c as u32 - 0xfb00) as usize]),
        _ => {
            for lower in c.to_lowercase().filter(|&lower| !joins(lower)) {
                match without_accent(lower) {
                    same if same == c => word.push(c),
                    // The small letter may be one that folds further, as that of the Ångström sign does.
                    other => push_folded(other, word),
                }
            }
        }
    }
}

fn push_latin(c: char, letter: u8, word: &mut String) {
    match letter {
        b'-' => word.extend(c.to_lowercase()),
        b'*' => word.push_str(several_letters(c)),
        letter => word.push(letter as char),
    }
}

fn several_letters(c: char) -> &'static str {
    match c {
        'Æ' | 'æ' | 'Ǣ' | 'ǣ' | 'Ǽ' | 'ǽ' => "ae",
        'Œ' | 'œ' => "oe",
        'Þ' | 'þ' => "th",
        'ß' | 'ẞ' => "ss",
        'Ĳ' | 'ĳ' => "ij",
        'Ŋ' | 'ŋ' => "ng",
        'Ǉ' | 'ǈ' | 'ǉ' => "lj",
        'Ǌ' | 'ǋ' | 'ǌ' => "nj",
        _ => "dz",
    }
}

fn without_accent(lower: char) -> char {
    match lower {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        'ё' => 'е',
        other => other,
    }
}

/// U+00C0 to U+024F: the ASCII letter without its marks, `*` where there are several, `-` where there is none.
/// From the compatibility decomposition of Unicode, and the usual transcription where that has none (ø, ł, đ, ħ …).
const LATIN: &[u8; 0x250 - 0xc0] = b"\
aaaaaa*ceeeeiiiidnooooo-ouuuuy**aaaaaa*ceeeeiiiidnooooo-ouuuuy*y\
aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii**jjkkkllllll-\
-llnnnnnn-**oooooo**rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs\
bb-----ccdddd----ffg----kkl--nn-oo--pp------tttuu-vyyzz---------\
----*********aaiioouuuuuuuuuu-aaaa**ggggkkoooo--j***gg--nnaa**oo\
aaaaeeeeiiiioooorrrruuuusstt--hhnd--zzaaeeooooooooyylntj--accl-s\
z--b--eejjqqrryy";

/// U+1E00 to U+1EFF, likewise.
const LATIN_ADDITIONAL: &[u8; 0x100] = b"\
aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm\
mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv\
wwwwwwwwwwxxxxyyzzzzzzhtwy-s--*-aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy------";

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut word = String::new();
        text.chars().filter(|&c| !joins(c)).for_each(|c| push_folded(c, &mut word));
        word
    }

    #[test]
    fn what_people_type_without_marks_is_what_was_written_with_them() {
        assert_eq!(folded("Příliš"), "prilis");
        assert_eq!(folded("Žluťoučký"), "zlutoucky");
        assert_eq!(folded("Straße"), "strasse");
        assert_eq!(folded("Ærøskøbing"), "aeroskobing");
        assert_eq!(folded("ŁÓDŹ"), "lodz");
        assert_eq!(folded("Việt"), "viet");
        assert_eq!(folded("cafe\u{301}"), "cafe");
        assert_eq!(folded("Ελλάς"), "ελλασ");
        assert_eq!(folded("Ёлка"), "елка");
        assert_eq!(folded("ＡＢｃ１２"), "abc12");
        assert_eq!(folded("İstanbul"), "istanbul");
    }

    #[test]
    fn folding_twice_is_folding_once() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_alphanumeric() && !joins(*c)) {
            let once = folded(&c.to_string());
            assert!(!once.is_empty(), "{c:?}");
            assert_eq!(folded(&once), once, "{c:?}");
        }
    }
}
