//! From a request's path to what is served there, and with which status.

use super::fault::Fault;
use super::robots;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Root,
    Page(u32),
    Private(u32),
    Robots,
    MovedRobots,
    Fault(Fault),
    Missing,
}

impl Route {
    /// `path` is without its query; `visit` counts a visit and tells how many there were before.
    pub fn of(path: &str, pages: u32, visit: impl FnOnce() -> u32) -> Self {
        match path {
            "/" => Self::Root,
            "/robots.txt" => Self::Robots,
            robots::MOVED_TO => Self::MovedRobots,
            _ => {
                if let Some(page) = file_number(path, "/p/") {
                    if page < pages { Self::Page(page) } else { Self::Missing }
                } else if let Some(page) = file_number(path, "/private/") {
                    Self::Private(page)
                } else {
                    Fault::parse(path, visit).map_or(Self::Missing, Self::Fault)
                }
            }
        }
    }
}

/// The number in `<folder><number>.html`, written in the one way in which links write it.
fn file_number(path: &str, folder: &str) -> Option<u32> {
    let digits = path.strip_prefix(folder)?.strip_suffix(".html")?;
    let plain = digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    if plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_path_only() {
        let route = |path| Route::of(path, 100, || 0);
        assert_eq!(route("/p/0.html"), Route::Page(0));
        assert_eq!(route("/p/99.html"), Route::Page(99));
        for path in
            ["/p/100.html", "/p/01.html", "/p/+1.html", "/p/.html", "/p/1.htm", "/p/99999999999.html", "/P/1.html"]
        {
            assert_eq!(route(path), Route::Missing, "{path}");
        }
    }
}
