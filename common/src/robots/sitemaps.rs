//! The sitemaps that a robots.txt file names. They belong to no group: every robot may read them.

use super::lines::{Line, lines, unmarked};

/// Of one file; more is an attack.
const MAX_SITEMAPS: usize = 100;

/// Their addresses as they are written, each once, in order.
pub fn sitemaps(body: &[u8]) -> Vec<String> {
    let body = unmarked(body);
    let mut found = Vec::new();
    for (_, line) in lines(&body) {
        let Line::Sitemap(address) = line else { continue };
        let Ok(address) = std::str::from_utf8(address) else { continue };
        if found.len() < MAX_SITEMAPS && !address.is_empty() && !found.iter().any(|known| known == address) {
            found.push(address.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sitemaps_are_found_wherever_they_stand() {
        let file = "Sitemap: http://a/1.xml\nuser-agent: x\nDISALLOW: /\nsitemap:http://a/2.xml # new\nSitemap: http://a/1.xml\nsitemap:\n";
        assert_eq!(sitemaps(file.as_bytes()), ["http://a/1.xml", "http://a/2.xml"]);
        assert_eq!(sitemaps(b""), [""; 0]);
    }

    #[test]
    fn a_file_of_nothing_but_sitemaps_is_cut() {
        let file: String = (0..10_000).map(|number| format!("Sitemap: /{number}\n")).collect();
        assert_eq!(sitemaps(file.as_bytes()).len(), MAX_SITEMAPS);
    }
}
