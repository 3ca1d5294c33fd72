//! Resolves character references: `&amp;`, `&#38;`, `&#x26;`, and the old names that need no semicolon.

pub(super) mod names;

/// What a reference stands for, and how long it is.
pub(super) struct CharacterReference {
    characters: Characters,
    len: usize,
}

enum Characters {
    Named(&'static str),
    Numbered { utf8: [u8; 4], len: usize },
}

impl CharacterReference {
    /// The reference that begins before `source`: the ampersand has been read.
    pub fn in_text(source: &[u8]) -> Option<Self> {
        if source.first() == Some(&b'#') {
            return numbered(source);
        }
        let run = names::run(source);
        let mut bare = (names::MIN_BARE_BYTES..=run.min(names::MAX_BARE_BYTES)).rev();
        named_with_semicolon(source, run).or_else(|| bare.find_map(|len| named(source, len)))
    }

    /// Like [`CharacterReference::in_text`]. In values, an old name without its semicolon is none where more letters or
    /// an equals sign follow: it would be the next parameter of a URL.
    pub fn in_value(source: &[u8]) -> Option<Self> {
        if source.first() == Some(&b'#') {
            return numbered(source);
        }
        let run = names::run(source);
        let may_be_bare =
            (names::MIN_BARE_BYTES..=names::MAX_BARE_BYTES).contains(&run) && source.get(run) != Some(&b'=');
        named_with_semicolon(source, run).or_else(|| if may_be_bare { named(source, run) } else { None })
    }

    pub fn characters(&self) -> &[u8] {
        match &self.characters {
            Characters::Named(characters) => characters.as_bytes(),
            Characters::Numbered { utf8, len } => &utf8[..*len],
        }
    }

    /// Without the ampersand.
    pub fn len(&self) -> usize {
        self.len
    }
}

/// By a name of letters and digits, `run` of them, that its semicolon follows.
fn named_with_semicolon(source: &[u8], run: usize) -> Option<CharacterReference> {
    if source.get(run) == Some(&b';') { named(source, run + 1) } else { None }
}

fn named(source: &[u8], len: usize) -> Option<CharacterReference> {
    let characters = names::find(&source[..len])?;
    Some(CharacterReference { characters: Characters::Named(characters), len })
}

/// By number, from the `#` on.
fn numbered(source: &[u8]) -> Option<CharacterReference> {
    let (radix, start) = if matches!(source.get(1), Some(b'x' | b'X')) { (16, 2) } else { (10, 1) };
    let digits = source[start..].iter().map_while(|byte| char::from(*byte).to_digit(radix));
    let (mut code, mut len) = (0_u32, start);
    for digit in digits {
        // What is too large for a character stays so.
        code = code.saturating_mul(radix).saturating_add(digit);
        len += 1;
    }
    if len == start {
        return None;
    }
    len += usize::from(source.get(len) == Some(&b';'));
    let mut utf8 = [0; 4];
    let characters = character(code).encode_utf8(&mut utf8).len();
    Some(CharacterReference { characters: Characters::Numbered { utf8, len: characters }, len })
}

/// The characters that windows-1252 has where Unicode has controls. Where it has none, the control stands.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', //
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn character(code: u32) -> char {
    match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252[code as usize - 0x80],
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}
