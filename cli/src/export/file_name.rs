//! File names for URLs, such that no page writes outside its directory or over another page, on any file system.
//!
//! A name is `host/path`, as like the URL as safety allows, and ends with the suffix it is given; a query becomes a short
//! hash in the name. A name that is
//! taken, that another page needs as a directory, or whose directory is another page's file, gets a hash of the URL.
//! File systems that do not tell upper from lower case are thought of.
//!
//! Invariant: no two calls of [`FileNames::assign`] give names that are equal, or one the directory of the other.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use seine_common::url::CanonicalUrl;
use sha1::{Digest, Sha1};

/// Longer parts are cut and get a hash.
const MAX_PART_BYTES: usize = 100;
/// Longer names are given up for a hash.
const MAX_NAME_BYTES: usize = 180;
const MAX_SUFFIX_BYTES: usize = 10;
/// Names that Windows keeps for devices.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

pub struct FileNames {
    // Fingerprints under a key of this run, of names in lower case.
    key: RandomState,
    files: HashSet<u64>,
    directories: HashSet<u64>,
}

impl FileNames {
    /// Names that no page may take.
    pub fn keeping(reserved: &[&str]) -> Self {
        let mut names = Self { key: RandomState::new(), files: HashSet::new(), directories: HashSet::new() };
        for name in reserved {
            names.files.insert(names.key.hash_one(name.to_ascii_lowercase()));
        }
        names
    }

    /// A name relative to the directory, with `/` between its parts. `suffix` is added where the URL has not got it.
    pub fn assign(&mut self, url: &CanonicalUrl, suffix: &str) -> String {
        let wanted = preferred(url, suffix);
        if self.take(&wanted) {
            return wanted;
        }
        let (hash, suffix) = (hash(url.as_str(), 16), suffix_of(&wanted));
        let other = with_mark(&wanted, &hash[..8]);
        if self.take(&other) {
            return other;
        }
        // One of these is free: there are more of them than names.
        let host = wanted.split('/').next().unwrap_or_default();
        let others = (0u64..).map(|number| format!("{host}/_other{number}/{hash}{suffix}"));
        let mut free = others.filter(|name| self.take(name));
        free.next().expect("numbers do not end")
    }

    fn take(&mut self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let parents: Vec<u64> = name.match_indices('/').map(|(at, _)| self.key.hash_one(&name[..at])).collect();
        let file = self.key.hash_one(&name);
        if self.directories.contains(&file)
            || parents.iter().any(|parent| self.files.contains(parent))
            || !self.files.insert(file)
        {
            return false;
        }
        self.directories.extend(parents);
        true
    }
}

/// The name that a URL gets when nothing is in its way.
pub fn preferred(url: &CanonicalUrl, suffix: &str) -> String {
    let host = safe_part(url.host().as_str());
    let path = url.as_url().path();
    let mut parts: Vec<String> = path.split('/').skip(1).map(safe_part).collect();
    let mut file = parts.pop().unwrap_or_default();
    if file.is_empty() {
        file = "index".to_owned();
    }
    if !has_suffix(&file, suffix) {
        file = format!("{file}.{suffix}");
    }
    if let Some(query) = url.as_url().query() {
        file = with_mark(&file, &hash(query, 8));
    }
    for part in &mut parts {
        if part.is_empty() {
            part.push('_');
        }
    }
    parts.insert(0, host);
    parts.push(file);
    let name = parts.join("/");
    if name.len() > MAX_NAME_BYTES {
        return format!("{}/_long/{}{}", parts[0], hash(url.as_str(), 16), suffix_of(&name));
    }
    name
}

/// `.htm` serves as well as `.html`; `.xhtml` does not, browsers read it by other rules.
fn has_suffix(file: &str, suffix: &str) -> bool {
    let Some((_, found)) = file.rsplit_once('.') else { return false };
    let found = found.to_ascii_lowercase();
    found == suffix || matches!((suffix, found.as_str()), ("html", "htm") | ("jpg", "jpeg"))
}

/// `.html` of `a/b.html`; nothing where there is no suffix worth the name.
fn suffix_of(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    match file.rfind('.') {
        Some(at) if at > 0 && file.len() - at <= MAX_SUFFIX_BYTES => &file[at..],
        _ => "",
    }
}

/// `a/b.html` marked with `x` is `a/b~x.html`.
fn with_mark(name: &str, mark: &str) -> String {
    let suffix = suffix_of(name);
    format!("{}~{mark}{suffix}", &name[..name.len() - suffix.len()])
}

/// A part of a path that every file system takes as it is, and that leads nowhere else.
fn safe_part(part: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.~%+=,;@!()&$".contains(c);
    let mut safe: String = part.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    if safe.starts_with('.') {
        safe.replace_range(..1, "_");
    }
    if safe.ends_with('.') {
        safe.replace_range(safe.len() - 1.., "_");
    }
    let stem = safe.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_numbered_device = stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"));
    if DEVICES.contains(&stem.as_str()) || is_numbered_device {
        safe.insert(0, '_');
    }
    if safe.len() > MAX_PART_BYTES {
        let suffix = suffix_of(&safe).to_owned();
        safe.truncate(MAX_PART_BYTES - 10 - suffix.len());
        safe = format!("{safe}~{}{suffix}", hash(part, 8));
    }
    safe
}

/// The same in every run.
fn hash(text: &str, digits: usize) -> String {
    let digest = Sha1::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..digits].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(url: &str) -> String {
        preferred(&CanonicalUrl::parse(url).unwrap(), "html")
    }

    #[test]
    fn names_are_like_their_urls() {
        assert_eq!(name("http://example.org/"), "example.org/index.html");
        assert_eq!(name("http://example.org/a/b"), "example.org/a/b.html");
        assert_eq!(name("http://example.org/a/b.htm"), "example.org/a/b.htm");
        assert_eq!(name("http://example.org/a/b.php"), "example.org/a/b.php.html");
        assert_eq!(name("http://127.0.0.1:8080/a/"), "127.0.0.1_8080/a/index.html");
        assert_eq!(name("http://example.org/a?q=1"), "example.org/a~7de36096.html");
        assert_eq!(name("http://example.org/a/b.xhtml"), "example.org/a/b.xhtml.html");
        let image = CanonicalUrl::parse("http://example.org/a/b.JPEG").unwrap();
        assert_eq!(preferred(&image, "jpg"), "example.org/a/b.JPEG");
    }

    #[test]
    fn no_part_leads_elsewhere_or_is_refused_by_a_file_system() {
        assert_eq!(name("http://a/%2e%2e/b"), "a/b.html");
        assert_eq!(name("http://a/..%2fetc/"), "a/_.%2Fetc/index.html");
        assert_eq!(name("http://a//b//c"), "a/_/b/_/c.html");
        assert_eq!(name("http://a/.htaccess/x:y|z*"), "a/_htaccess/x_y_z_.html");
        assert_eq!(name("http://a/con/LPT1.txt/dot."), "a/_con/_LPT1.txt/dot_.html");
        assert!(name(&format!("http://a/{}", "x".repeat(3000))).len() < MAX_NAME_BYTES);
        assert!(name(&format!("http://a/{}", "x/".repeat(1000))).starts_with("a/_long/"));
    }

    #[test]
    fn a_file_and_a_directory_of_one_name_both_find_a_place() {
        for urls in [["http://a/b", "http://a/b/c"], ["http://a/b/c", "http://a/b"], ["http://a/B", "http://a/b"]] {
            let mut names = FileNames::keeping(&[]);
            let mut given = BTreeSet::new();
            for url in urls {
                let name = names.assign(&CanonicalUrl::parse(url).unwrap(), "txt");
                assert!(name.starts_with("a/"), "{name}");
                given.insert(name.to_ascii_lowercase());
            }
            assert_eq!(given.len(), 2);
            let given: Vec<_> = given.into_iter().collect();
            assert!(!given[1].starts_with(&format!("{}/", given[0])), "{given:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn names_never_meet_and_never_climb(paths in proptest::collection::vec("[abB/.~%?_2e]{0,8}", 1..60)) {
            let mut names = FileNames::keeping(&["list"]);
            let mut files = BTreeSet::new();
            let mut directories = BTreeSet::new();
            let urls: BTreeSet<_> =
                paths.iter().filter_map(|path| CanonicalUrl::parse(&format!("http://h/{path}")).ok()).collect();
            for url in &urls {
                let name = names.assign(url, if url.as_str().contains('b') { "html" } else { "txt" });
                for part in name.split('/') {
                    proptest::prop_assert!(!part.is_empty() && !part.starts_with('.'), "{} {}", url, name);
                }
                let name = name.to_ascii_lowercase();
                directories.extend(name.match_indices('/').map(|(at, _)| name[..at].to_owned()));
                proptest::prop_assert!(files.insert(name.clone()), "{} twice", name);
            }
            proptest::prop_assert!(files.is_disjoint(&directories));
        }
    }
}
