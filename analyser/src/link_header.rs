//! `Link` headers (RFC 8288): `<target>; rel="next"; type="text/html", <other>`.

use seine_proto::common::v1::LinkKind;

use crate::extract::links::kind_of_rel;

/// Links of one header that are read.
const MAX_LINKS: usize = 256;

/// Targets as written, with what they are to the page.
pub(crate) fn links(value: &str) -> Vec<(LinkKind, &str)> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(start) = rest.find('<')
        && found.len() < MAX_LINKS
    {
        let Some(end) = rest[start..].find('>') else { break };
        let target = &rest[start + 1..start + end];
        rest = &rest[start + end + 1..];
        let parameters = &rest[..parameters_end(rest)];
        rest = &rest[parameters.len()..];
        let parameter = |name: &str| parameters_of(parameters).find(|(known, _)| known.eq_ignore_ascii_case(name));
        let rel = parameter("rel").map_or("", |(_, value)| value);
        let content_type = parameter("type").map(|(_, value)| value);
        found.push((kind_of_rel(rel, content_type, parameter("hreflang").is_some()), target));
    }
    found
}

/// Where the parameters of a link end: at a comma outside quotes.
fn parameters_end(text: &str) -> usize {
    let mut in_quotes = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_quotes => is_escaped = true,
            b'"' => in_quotes = !in_quotes,
            b',' if !in_quotes => return at,
            _ => {}
        }
    }
    text.len()
}

fn parameters_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(';').filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        Some((name.trim(), value.trim().trim_matches('"')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_taken_apart_with_their_parameters() {
        let value =
            r#"</a,b>; rel="next"; title="x, <y>", <https://e.org/>; rel=canonical,<c>;rel=alternate;hreflang=de"#;
        let expected =
            [(LinkKind::Sequence, "/a,b"), (LinkKind::Canonical, "https://e.org/"), (LinkKind::Alternate, "c")];
        assert_eq!(links(value), expected);
        assert_eq!(links("<style.css>; rel=preload; as=style"), [(LinkKind::Other, "style.css")]);
    }

    #[test]
    fn broken_headers_give_what_they_have() {
        assert_eq!(links(""), []);
        assert_eq!(links("<a"), []);
        assert_eq!(links("<a>; rel=\"next; <b>"), [(LinkKind::Sequence, "a")]);
    }
}
