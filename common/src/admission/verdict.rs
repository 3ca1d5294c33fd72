//! What admission answers: which rule excluded or admitted a URL, and which pattern of the settings is wrong.

use std::fmt;
use std::sync::Arc;

/// The rules, named as the settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleName {
    AllowHosts,
    DenyHosts,
    AllowUrls,
    DenyUrls,
    AllowSuffixes,
    DenySuffixes,
    MaxDepth,
    MaxDepthDynamic,
    MaxUrlBytes,
    MaxPathSegments,
    MaxRepeatedSegments,
    MaxQueryParameters,
    /// Not a setting: no crawl asks such a port.
    RefusedPort,
    /// These exclude nothing; they only name a wrong pattern.
    StripParameters,
    Hosts,
}

impl RuleName {
    /// Stable: it is stored, counted and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowHosts => "allow-hosts",
            Self::DenyHosts => "deny-hosts",
            Self::AllowUrls => "allow-urls",
            Self::DenyUrls => "deny-urls",
            Self::AllowSuffixes => "allow-suffixes",
            Self::DenySuffixes => "deny-suffixes",
            Self::MaxDepth => "max-depth",
            Self::MaxDepthDynamic => "max-depth-dynamic",
            Self::MaxUrlBytes => "max-url-bytes",
            Self::MaxPathSegments => "max-path-segments",
            Self::MaxRepeatedSegments => "max-repeated-segments",
            Self::MaxQueryParameters => "max-query-parameters",
            Self::RefusedPort => "refused-port",
            Self::StripParameters => "strip-parameters",
            Self::Hosts => "hosts",
        }
    }

    fn is_limit(self) -> bool {
        matches!(
            self,
            Self::MaxDepth
                | Self::MaxDepthDynamic
                | Self::MaxUrlBytes
                | Self::MaxPathSegments
                | Self::MaxRepeatedSegments
                | Self::MaxQueryParameters
                | Self::RefusedPort
        )
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a URL is not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    pub rule: RuleName,
    /// The pattern that matched, as written, or the limit that was exceeded. `None` when no allow pattern matched.
    pub pattern: Option<Arc<str>>,
}

impl Exclusion {
    pub(super) fn by_pattern(rule: RuleName, pattern: &Arc<str>) -> Self {
        Self { rule, pattern: Some(pattern.clone()) }
    }

    pub(super) fn by_no_pattern(rule: RuleName) -> Self {
        Self { rule, pattern: None }
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(limit) if self.rule.is_limit() => write!(f, "{} {limit}", self.rule),
            Some(pattern) => write!(f, "{} {pattern:?}", self.rule),
            None => write!(f, "{}, of which none matches", self.rule),
        }
    }
}

/// Why a URL is taken in: the allow pattern of each list that asked for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub by: Vec<(RuleName, Arc<str>)>,
}

impl fmt::Display for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by.is_empty() {
            return f.write_str("no rule excludes it");
        }
        for (number, (rule, pattern)) in self.by.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{rule} {pattern:?}")?;
        }
        Ok(())
    }
}

/// All that is wrong with the settings, one sentence a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct AdmissionError {
    pub wrong: Vec<WrongPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongPattern {
    #[error("{rule} has an empty pattern; remove it, or write * to match everything")]
    Empty { rule: RuleName },
    #[error("{rule} has a pattern of {bytes} bytes that begins with {start:?}; at most {most} are allowed")]
    TooLong { rule: RuleName, start: String, bytes: usize, most: usize },
    #[error("{rule} has {count} patterns, and at most {most} are allowed; join some by *, or list plain host names")]
    TooMany { rule: RuleName, count: usize, most: usize },
    #[error(
        "{rule} has {value:?}, which is not a regular expression ({reason}); correct it, or write a glob without re:"
    )]
    NotARegex { rule: RuleName, value: String, reason: String },
    #[error("{rule} has {value:?}, which is too large when compiled; repeat less in it, or split it")]
    TooLarge { rule: RuleName, value: String },
    #[error("{rule} has patterns that are too large together; use fewer or simpler ones")]
    TooLargeTogether { rule: RuleName },
    #[error("{rule} has {value:?}, which can match no URL; begin it with http://, https:// or *")]
    MatchesNoUrl { rule: RuleName, value: String },
    #[error(
        "{rule} has {value:?}, which is not a host; write a name such as example.org or *.example.org, without scheme and path"
    )]
    NotAHost { rule: RuleName, value: String },
    #[error("{rule} has {value:?}, which is not a file name suffix; write letters and digits such as pdf or tar.gz")]
    NotASuffix { rule: RuleName, value: String },
}

impl WrongPattern {
    /// The rule in which it stands.
    pub fn rule(&self) -> RuleName {
        match self {
            Self::Empty { rule }
            | Self::TooLong { rule, .. }
            | Self::TooMany { rule, .. }
            | Self::NotARegex { rule, .. }
            | Self::TooLarge { rule, .. }
            | Self::TooLargeTogether { rule }
            | Self::MatchesNoUrl { rule, .. }
            | Self::NotAHost { rule, .. }
            | Self::NotASuffix { rule, .. } => *rule,
        }
    }
}
