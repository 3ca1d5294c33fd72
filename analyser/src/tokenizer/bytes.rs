//! What bytes are within tags, and the searches of the tokenizer. All begin within a slice and give positions in it.

/// Ends a tag's name.
pub(super) const ENDS_TAG_NAME: u8 = 1;
/// Ends an attribute's name, unless it is the first of it.
pub(super) const ENDS_ATTRIBUTE_NAME: u8 = 2;
/// Ends a value without quotes.
const ENDS_UNQUOTED_VALUE: u8 = 4;
const WHITESPACE: u8 = 8;
/// Is something else in a name than in the source: capitals and NUL.
const CHANGES_IN_NAME: u8 = 16;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    // A carriage return is the end of a line or a part of one; either way it is read as whitespace.
    let mut at = 0;
    while at < 5 {
        classes[b"\t\n\x0c\r "[at] as usize] = WHITESPACE | ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_UNQUOTED_VALUE;
        at += 1;
    }
    classes[b'/' as usize] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME;
    classes[b'>' as usize] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_UNQUOTED_VALUE;
    classes[b'=' as usize] = ENDS_ATTRIBUTE_NAME;
    classes[0] = CHANGES_IN_NAME;
    let mut capital = b'A';
    while capital <= b'Z' {
        classes[capital as usize] = CHANGES_IN_NAME;
        capital += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

/// Whether a byte ends the name of an end tag in text without tags.
#[inline]
pub(super) fn ends_tag_name(byte: u8) -> bool {
    class(byte) & ENDS_TAG_NAME != 0
}

/// Goes to the first byte that is not whitespace, and returns it.
#[inline]
pub(super) fn skip_whitespace(source: &[u8], position: &mut usize) -> Option<u8> {
    loop {
        let byte = *source.get(*position)?;
        if byte > b' ' || class(byte) & WHITESPACE == 0 {
            return Some(byte);
        }
        *position += 1;
    }
}

/// Where the name ends that begins at `from`, and whether it may be something else in the source than in lower case.
// Inlined by force: it is called for every name, and with most names a call takes as long as the loop.
#[inline(always)]
pub(super) fn name_end(source: &[u8], from: usize, ending: u8) -> (usize, bool) {
    // Most names are short: within a block of known length no byte is checked to be within the source.
    if let Some(block) = source[from..].first_chunk::<8>() {
        for (offset, byte) in block.iter().enumerate() {
            let class = class(*byte);
            if class != 0 {
                if class & ending != 0 {
                    return (from + offset, false);
                }
                break;
            }
        }
    }
    long_name_end(source, from, ending)
}

#[inline(never)]
fn long_name_end(source: &[u8], from: usize, ending: u8) -> (usize, bool) {
    let mut seen = 0;
    for (offset, byte) in source[from..].iter().enumerate() {
        let class = class(*byte);
        if class & ending != 0 {
            return (from + offset, seen & CHANGES_IN_NAME != 0);
        }
        seen |= class;
    }
    (source.len(), seen & CHANGES_IN_NAME != 0)
}

/// Where the value without quotes ends that begins at `from`.
#[inline]
pub(super) fn unquoted_value_end(source: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| class(*byte) & ENDS_UNQUOTED_VALUE != 0;
    source[from..].iter().position(ends).map_or(source.len(), |found| from + found)
}

/// Where the byte is, at or after `from`.
#[inline]
pub(super) fn find(byte: u8, source: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(byte, &source[from..]).map(|found| from + found)
}

/// Where the first of two bytes is, at or after `from`.
#[inline]
pub(super) fn find_either(one: u8, other: u8, source: &[u8], from: usize) -> Option<usize> {
    memchr::memchr2(one, other, &source[from..]).map(|found| from + found)
}

/// Like [`find`], faster where the byte is mostly near.
#[inline]
pub(super) fn find_near(byte: u8, source: &[u8], from: usize) -> Option<usize> {
    // Compares less at once than `memchr` does, but begins without a call through a pointer.
    #[cfg(target_arch = "x86_64")]
    if let Some(searcher) = memchr::arch::x86_64::sse2::memchr::One::new(byte) {
        return searcher.find(&source[from..]).map(|found| from + found);
    }
    find(byte, source, from)
}

/// Like [`find_either`], faster where one of them is mostly near.
#[inline]
pub(super) fn find_either_near(one: u8, other: u8, source: &[u8], from: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(searcher) = memchr::arch::x86_64::sse2::memchr::Two::new(one, other) {
        return searcher.find(&source[from..]).map(|found| from + found);
    }
    find_either(one, other, source, from)
}
