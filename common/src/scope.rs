//! Which URLs belong to a crawl. Pure; the caller keeps the list of places that joined the scope later.

use std::net::IpAddr;

use crate::url::CanonicalUrl;

/// How far a crawl goes from its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// The seeds' hosts, ignoring scheme, default port and a leading `www.`.
    Host,
    /// The seeds' registrable domains.
    Domain,
    /// The seeds' hosts, below each seed's path up to its last `/`.
    Prefix,
    Any,
}

/// A [`ScopeKind`] together with the places it starts from: the seeds, and where seeds redirected to.
#[derive(Clone, Debug)]
pub struct ScopeRules {
    kind: ScopeKind,
    places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    site: String,
    path_prefix: String,
}

impl ScopeRules {
    pub fn new<'a>(kind: ScopeKind, starts: impl IntoIterator<Item = &'a CanonicalUrl>) -> Self {
        let mut rules = Self { kind, places: Vec::new() };
        for start in starts {
            rules.join(start);
        }
        rules
    }

    /// Adds another place to start from. False when it changes nothing.
    pub fn join(&mut self, start: &CanonicalUrl) -> bool {
        let place = Place { site: self.site(start), path_prefix: self.path_prefix(start).to_owned() };
        let new = !self.places.contains(&place);
        if new {
            self.places.push(place);
        }
        new
    }

    pub fn admits(&self, url: &CanonicalUrl) -> bool {
        if self.kind == ScopeKind::Any {
            return true;
        }
        let site = self.site(url);
        self.places.iter().any(|place| place.site == site && url.as_url().path().starts_with(&place.path_prefix))
    }

    /// Whether some pages of the URL's host may belong to the crawl.
    pub fn admits_site(&self, url: &CanonicalUrl) -> bool {
        self.kind == ScopeKind::Any || self.places.iter().any(|place| place.site == self.site(url))
    }

    fn site(&self, url: &CanonicalUrl) -> String {
        let host = url.host();
        let host = host.as_str();
        if self.kind != ScopeKind::Domain || is_address(url) {
            return host.strip_prefix("www.").unwrap_or(host).to_owned();
        }
        let (name, port) = host.split_once(':').map_or((host, ""), |(name, port)| (name, port));
        let domain = psl::domain_str(name).unwrap_or(name);
        if port.is_empty() { domain.to_owned() } else { format!("{domain}:{port}") }
    }

    fn path_prefix<'a>(&self, url: &'a CanonicalUrl) -> &'a str {
        let path = url.as_url().path();
        match (self.kind, path.rfind('/')) {
            (ScopeKind::Prefix, Some(end)) => &path[..=end],
            _ => "",
        }
    }
}

fn is_address(url: &CanonicalUrl) -> bool {
    let name = url.as_url().host_str().unwrap_or_default();
    name.starts_with('[') || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn admits(kind: ScopeKind, seed: &str, candidate: &str) -> bool {
        ScopeRules::new(kind, [&url(seed)]).admits(&url(candidate))
    }

    #[test]
    fn host_scope_ignores_scheme_default_port_and_www() {
        assert!(admits(ScopeKind::Host, "http://example.org/", "https://www.example.org/a"));
        assert!(admits(ScopeKind::Host, "http://www.example.org/", "http://example.org/"));
        assert!(!admits(ScopeKind::Host, "http://example.org/", "http://news.example.org/"));
        assert!(!admits(ScopeKind::Host, "http://example.org/", "http://example.org:8080/"));
        assert!(!admits(ScopeKind::Host, "http://127.0.0.1:8091/", "http://127.0.0.1:8092/"));
    }

    #[test]
    fn domain_scope_is_the_registrable_domain() {
        assert!(admits(ScopeKind::Domain, "http://a.example.co.uk/", "https://b.c.example.co.uk/x"));
        assert!(!admits(ScopeKind::Domain, "http://a.example.co.uk/", "http://other.co.uk/"));
        assert!(!admits(ScopeKind::Domain, "http://127.0.0.1/", "http://127.0.0.2/"));
    }

    #[test]
    fn prefix_scope_is_the_seed_up_to_its_last_slash() {
        assert!(admits(ScopeKind::Prefix, "http://example.org/docs/intro", "http://example.org/docs/a/b"));
        assert!(!admits(ScopeKind::Prefix, "http://example.org/docs/intro", "http://example.org/doc"));
        assert!(!admits(ScopeKind::Prefix, "http://example.org/docs/", "http://example.com/docs/"));
        assert!(admits(ScopeKind::Prefix, "http://example.org", "http://example.org/anything"));
    }

    #[test]
    fn where_a_seed_redirects_to_joins_the_scope() {
        let mut rules = ScopeRules::new(ScopeKind::Host, [&url("http://example.org/")]);
        assert!(!rules.admits(&url("http://example.com/")));
        assert!(rules.join(&url("http://example.com/home")));
        assert!(!rules.join(&url("https://www.example.com/")));
        assert!(rules.admits(&url("http://example.com/other")));
    }
}
