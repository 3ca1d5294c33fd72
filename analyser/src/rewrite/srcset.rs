//! The list of images in `srcset`: each an address, with or without a width or density behind it.

use super::{References, Use};

pub(super) fn rewrite(value: &str, references: &mut References<'_, '_>) -> String {
    let mut candidates = Vec::new();
    let mut rest = value.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', ',']);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, behind) = rest.split_at(end);
        // A comma that ends the address ends the candidate too.
        let (url, descriptor, next) = match url.strip_suffix(',') {
            Some(url) => (url, "", behind),
            None => {
                let end = behind.find(',').unwrap_or(behind.len());
                (url, behind[..end].trim(), behind[end..].trim_start_matches(','))
            }
        };
        if let Some(url) = references.resolve(url, Use::Part) {
            // Only what a descriptor can be.
            let is_descriptor = descriptor.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
            let url = url.replace(',', "%2C");
            candidates.push(if is_descriptor && !descriptor.is_empty() { format!("{url} {descriptor}") } else { url });
        }
        rest = next.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', ',']);
    }
    candidates.join(", ")
}
