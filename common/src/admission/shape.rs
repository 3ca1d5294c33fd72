//! What can be read off the form of a URL alone: segments, repetition, parameters, suffixes.

use ::url::Url;

/// Suffixes of pages that a program makes on request.
const DYNAMIC_SUFFIXES: [&str; 17] = [
    "php", "php3", "php4", "php5", "phtml", "asp", "aspx", "ashx", "jsp", "jspx", "jsf", "do", "action", "cgi", "fcgi",
    "pl", "cfm",
];
/// Longer endings are part of a name (`St.Petersburg-Times`), not a type of file.
const MAX_SUFFIX_BYTES: usize = 10;
/// Paths with more segments than these are rare enough to allocate for.
const SEGMENTS_ON_STACK: usize = 32;

/// Segments of a path that begins with `/`, as all paths of http URLs do.
fn segments(path: &str) -> std::str::Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// The slash at the end opens no further segment.
pub(super) fn segment_count(path: &str) -> u32 {
    let path = path.strip_suffix('/').unwrap_or(path);
    path.bytes().filter(|byte| *byte == b'/').count() as u32
}

pub(super) fn parameter_count(query: &str) -> u32 {
    query.bytes().filter(|byte| *byte == b'&').count() as u32 + 1
}

/// Whether a segment occurs more than `most` times. Empty ones (`//`) count like others.
pub(super) fn repeats_a_segment(path: &str, most: u32) -> bool {
    let count = path.bytes().filter(|byte| *byte == b'/').count();
    // So short that not even equal segments would do; most paths are.
    if count <= most as usize {
        return false;
    }
    if count <= SEGMENTS_ON_STACK {
        let mut few = [""; SEGMENTS_ON_STACK];
        few.iter_mut().zip(segments(path)).for_each(|(place, segment)| *place = segment);
        has_run(&mut few[..count], most)
    } else {
        has_run(&mut segments(path).collect::<Vec<_>>(), most)
    }
}

fn has_run(segments: &mut [&str], most: u32) -> bool {
    segments.sort_unstable();
    segments.windows(most as usize + 1).any(|window| window.first() == window.last())
}

/// Made by a program: has a query, or a suffix of one anywhere (`/index.php/about`).
pub(super) fn is_dynamic(url: &Url) -> bool {
    url.query().is_some()
        || segments(url.path()).any(|segment| {
            let name = segment.split(';').next().unwrap_or_default();
            let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
            DYNAMIC_SUFFIXES.iter().any(|dynamic| dynamic.eq_ignore_ascii_case(suffix))
        })
}

/// The suffixes of the path's file name in lower case, longest first: `tar.gz` and `gz`. None for `/release-1.2`,
/// `/.profile` and `/St._Petersburg`, whose endings are no types of file.
pub(super) fn suffixes(path: &str) -> impl Iterator<Item = String> + '_ {
    let file = path.rsplit('/').next().unwrap_or_default();
    let file = file.split(';').next().unwrap_or_default();
    let last = file.rsplit_once('.').map_or("", |(_, last)| last);
    let any = last.bytes().any(|byte| byte.is_ascii_alphabetic());
    let dots = file.match_indices('.').filter(move |(at, _)| any && *at > 0);
    dots.map(|(at, _)| &file[at + 1..]).filter(|suffix| is_suffix(suffix)).map(str::to_ascii_lowercase)
}

/// One or two parts of letters and digits.
pub(super) fn is_suffix(text: &str) -> bool {
    let part = |part: &str| {
        (1..=MAX_SUFFIX_BYTES).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.split('.').count() <= 2 && text.split('.').all(part) && last.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(path: &str) -> Vec<String> {
        suffixes(path).collect()
    }

    #[test]
    fn suffixes_are_types_of_file_and_nothing_else() {
        assert_eq!(all("/a/report.PDF"), ["pdf"]);
        assert_eq!(all("/seine-1.2.tar.gz"), ["tar.gz", "gz"]);
        assert_eq!(all("/page.php;jsessionid=1.2"), ["php"]);
        for none in ["/", "/a.b/c", "/.profile", "/release-1.2", "/wiki/St._Petersburg", "/end.", "/a.verylongending"] {
            assert!(all(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn a_segment_may_repeat_up_to_the_limit_and_cycles_count() {
        assert!(!repeats_a_segment("/a/b/a/b/a/b", 3));
        assert!(repeats_a_segment("/a/b/a/b/a/b/a", 3));
        assert!(repeats_a_segment("/a////b", 2));
        assert!(!repeats_a_segment("/", 1));
        assert!(repeats_a_segment(&"/x/y/z".repeat(100), 99));
        assert!(!repeats_a_segment(&"/x/y/z".repeat(100), 100));
    }

    #[test]
    fn a_slash_at_the_end_is_no_segment() {
        assert_eq!(segment_count("/"), 0);
        assert_eq!(segment_count("/a"), 1);
        assert_eq!(segment_count("/a/"), 1);
        assert_eq!(segment_count("/a/b"), 2);
    }
}
