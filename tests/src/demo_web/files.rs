//! The files of the demo web, by host. A new page is a file under `tests/demo/<host>/` and a name here.

/// One host and its files: path and text.
#[derive(Debug)]
pub struct DemoHost {
    pub name: &'static str,
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! host {
    ($name:literal, $($file:literal),+ $(,)?) => {
        DemoHost {
            name: $name,
            files: &[
                ("/style.css", include_str!("../../demo/style.css")),
                $((concat!("/", $file), include_str!(concat!("../../demo/", $name, "/", $file)))),+
            ],
        }
    };
}

pub const HOSTS: [DemoHost; 3] = [
    host!(
        "river",
        "robots.txt",
        "index.html",
        "sources.html",
        "reading-water.html",
        "boats.html",
        "locks.html",
        "day-trip.html",
        "safety.html",
        "wildlife.html",
        "bridges.html",
        "knots.html",
        "glossary.html",
    ),
    host!(
        "library",
        "robots.txt",
        "index.html",
        "hours.html",
        "card.html",
        "borrowing.html",
        "children.html",
        "study-rooms.html",
        "rare-books.html",
        "events.html",
        "access.html",
        "tea.html",
        "history.html",
        "readers/account.html",
    ),
    host!(
        "garden",
        "robots.txt",
        "index.html",
        "kalendar.html",
        "vysev.html",
        "kompost.html",
        "rajcata.html",
        "jablone.html",
        "bylinky.html",
        "zavlaha.html",
        "skudci.html",
        "naradi.html",
        "zima.html",
    ),
];
