//! What a page allows robots to do with it, from `<meta name=robots>` and `X-Robots-Tag`.
//!
//! Of several statements that apply, the most restrictive holds. Not responsible for robots.txt; the collector is.

use std::ops::BitOrAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RobotsDirectives {
    pub noindex: bool,
    pub nofollow: bool,
    /// No archived copy may be shown.
    pub noarchive: bool,
    /// No extract may be shown.
    pub nosnippet: bool,
}

/// Directives that carry a value behind a colon, and so look like the name of a robot.
const WITH_VALUE: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

impl RobotsDirectives {
    /// A list such as `noindex, follow`.
    pub fn of_list(list: &str) -> Self {
        let mut directives = Self::default();
        for word in list.split(',') {
            directives |= Self::of_word(word);
        }
        directives
    }

    fn of_word(word: &str) -> Self {
        let word = word.trim();
        let is = |name| word.eq_ignore_ascii_case(name);
        Self {
            noindex: is("noindex") || is("none"),
            nofollow: is("nofollow") || is("none"),
            noarchive: is("noarchive") || is("nocache"),
            nosnippet: is("nosnippet"),
        }
    }

    /// The directives that hold, by name.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.noindex, "noindex"),
            (self.nofollow, "nofollow"),
            (self.noarchive, "noarchive"),
            (self.nosnippet, "nosnippet"),
        ];
        all.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name)
    }

    /// The value of an `X-Robots-Tag` header: a list, of which parts may be for one robot: `otherbot: noindex`.
    pub fn of_header(value: &str, product_token: &str) -> Self {
        let mut directives = Self::default();
        let mut is_for_us = true;
        for item in value.split(',') {
            let mut word = item.trim();
            if let Some((name, rest)) = word.split_once(':')
                && !WITH_VALUE.iter().any(|directive| name.trim().eq_ignore_ascii_case(directive))
            {
                is_for_us = name.trim().eq_ignore_ascii_case(product_token) || name.trim() == "*";
                word = rest;
            }
            if is_for_us {
                directives |= Self::of_word(word);
            }
        }
        directives
    }
}

impl BitOrAssign for RobotsDirectives {
    fn bitor_assign(&mut self, other: Self) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
        self.nosnippet |= other.nosnippet;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> (bool, bool) {
        let directives = RobotsDirectives::of_header(value, "seine");
        (directives.noindex, directives.nofollow)
    }

    #[test]
    fn lists_are_read_whatever_their_case_and_spacing() {
        let directives = RobotsDirectives::of_list(" NoIndex ,follow,, max-snippet:-1");
        assert_eq!(directives.names().collect::<Vec<_>>(), ["noindex"]);
        assert_eq!(RobotsDirectives::of_list("none").names().collect::<Vec<_>>(), ["noindex", "nofollow"]);
        assert_eq!(
            RobotsDirectives::of_list("nosnippet,noarchive").names().collect::<Vec<_>>(),
            ["noarchive", "nosnippet"]
        );
        assert_eq!(RobotsDirectives::of_list("all, noindexing"), RobotsDirectives::default());
    }

    #[test]
    fn a_header_may_speak_to_one_robot() {
        assert_eq!(header("noindex, nofollow"), (true, true));
        assert_eq!(header("otherbot: noindex, nofollow"), (false, false));
        assert_eq!(header("Seine: nofollow"), (false, true));
        assert_eq!(header("otherbot: none, seine: noindex"), (true, false));
        assert_eq!(header("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"), (true, false));
    }
}
