//! Pages of an archive made safe to show: no script comes through, whatever the page is.
#![no_main]

use fuzz_targets::deep::{HTML, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::rewrite::rewrite_html;
use tokio_util::sync::CancellationToken;
use url::Url;

fuzz_target!(|input: &[u8]| {
    let input = expanded_or_plain(HTML, input);
    let html = String::from_utf8_lossy(&input);
    let base = Url::parse("http://example.org/").expect("it is one");
    let safe = rewrite_html(&html, base, &mut |link, _| Some(link.to_string()), &CancellationToken::new());
    let safe = safe.expect("nobody cancels it").to_ascii_lowercase();
    for name in ["script", "iframe", "object", "embed", "form", "base", "svg", "math", "template"] {
        assert!(!has_tag(&safe, name), "{name} in {safe}");
    }
});

/// A longer name is another element, which does nothing.
fn has_tag(html: &str, name: &str) -> bool {
    html.split('<').skip(1).filter_map(|tag| tag.strip_prefix(name)).any(|rest| {
        rest.starts_with(|next: char| next.is_ascii_whitespace() || matches!(next, '/' | '>')) || rest.is_empty()
    })
}
