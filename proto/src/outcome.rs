//! What became of a page, in one word.

use crate::monitor::v1::OutcomeKind;

impl OutcomeKind {
    /// As metrics and logs name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Saved => "saved",
            Self::Redirected => "redirected",
            Self::NotFound => "not_found",
            Self::ClientError => "client_error",
            Self::ServerError => "server_error",
            Self::SlowDown => "slow_down",
            Self::RefusedByRobots => "refused_by_robots",
            Self::RobotsUnavailable => "robots_unavailable",
            Self::Timeout => "timeout",
            Self::ConnectionFailed => "connection_failed",
            Self::NameNotFound => "name_not_found",
            Self::AddressNotAllowed => "address_not_allowed",
            Self::TooLarge => "too_large",
            Self::UnwantedType => "unwanted_type",
            Self::TooManyRedirects => "too_many_redirects",
            Self::NotModified => "not_modified",
            Self::Excluded => "excluded",
            Self::HostFailed => "host_failed",
            Self::Gone => "gone",
            Self::SitemapRead => "sitemap_read",
            Self::NotKept => "not_kept",
        }
    }
}
