//! Pages of an archive made safe to show: no script comes through, whatever the page is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seine_analyser::rewrite::rewrite_html;
use url::Url;

fuzz_target!(|html: &str| {
    let base = Url::parse("http://example.org/").expect("it is one");
    let safe = rewrite_html(html, base, &mut |link, _| Some(link.to_string()));
    assert!(!safe.to_ascii_lowercase().contains("<script"), "{safe}");
});
