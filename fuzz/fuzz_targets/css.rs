//! A style sheet of any text, rewritten: nothing in it looks like a tag, and without addresses it fetches nothing.
#![no_main]

use fuzz_targets::deep::{CSS, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::rewrite::rewrite_css;
use tokio_util::sync::CancellationToken;
use url::Url;

fuzz_target!(|input: &[u8]| {
    let input = expanded_or_plain(CSS, input);
    let css = String::from_utf8_lossy(&input);
    let base = Url::parse("http://example.org/").expect("it is one");
    let never = CancellationToken::new();
    let offline = rewrite_css(&css, base.clone(), &mut |_, _| None, &never).expect("nobody cancels it");
    assert!(!offline.contains("</") && !offline.contains("<!"), "{offline}");
    let mut fetched = |url: &Url, _| panic!("{url} is still fetched by {offline}");
    rewrite_css(&offline, base, &mut fetched, &never).expect("nobody cancels it");
});
