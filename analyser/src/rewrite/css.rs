//! Addresses in CSS: `url(…)` and `@import "…"`. All else is passed on as it stands.

use url::Url;

use super::{LinkRewriter, References, Use};

/// `base` is the address of the style sheet.
pub fn rewrite_css(css: &str, base: Url, link: &mut LinkRewriter<'_>) -> String {
    rewrite(css, &mut References { base, base_is_stated: true, link })
}

pub(super) fn rewrite(css: &str, references: &mut References<'_, '_>) -> String {
    // Lower case of ASCII only, so that offsets stay.
    let lower = css.to_ascii_lowercase();
    let mut out = String::with_capacity(css.len());
    let mut at = 0;
    while let Some((start, keyword)) = next_keyword(&lower, at) {
        let behind = start + keyword.len();
        out.push_str(&css[at..start]);
        let found = if keyword == "url(" { in_brackets(&css[behind..]) } else { in_quotes(&css[behind..]) };
        let Some((reference, length)) = found else {
            out.push_str(&css[start..behind]);
            at = behind;
            continue;
        };
        // An escape could hide what the address really is.
        let target = if reference.contains('\\') { None } else { references.resolve(reference, Use::Part) };
        let target = target.unwrap_or_default().replace(['"', '\\', '\n', '\r'], "");
        out.push_str(&if keyword == "url(" { format!("url(\"{target}\")") } else { format!("@import \"{target}\"") });
        at = behind + length;
    }
    out.push_str(&css[at..]);
    out
}

fn next_keyword(lower: &str, at: usize) -> Option<(usize, &'static str)> {
    let found = ["url(", "@import"].into_iter().filter_map(|keyword| Some((lower[at..].find(keyword)? + at, keyword)));
    found.min()
}

/// What stands between the bracket and its end, and how long that is with the end.
fn in_brackets(css: &str) -> Option<(&str, usize)> {
    let inner = css.trim_start();
    let skipped = css.len() - inner.len();
    if inner.starts_with(['"', '\'']) {
        let (reference, length) = in_quotes(css)?;
        let rest = css[length..].trim_start();
        return rest.starts_with(')').then(|| (reference, css.len() - rest.len() + 1));
    }
    let end = inner.find(')')?;
    Some((inner[..end].trim(), skipped + end + 1))
}

/// What stands in the quotes that come next, and how long that is with them and the space before.
fn in_quotes(css: &str) -> Option<(&str, usize)> {
    let inner = css.trim_start();
    let quote = inner.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let end = inner[1..].find(quote)?;
    Some((&inner[1..=end], css.len() - inner.len() + end + 2))
}
